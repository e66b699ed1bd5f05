"""Dispatch each command to the function that decides it as events on the draft.

Commands about edges, identities and bookmarks are decided here, those about worlds in
:mod:`worlddb.reconciler.decisions.worlds`, the others in the modules that ``_DECIDE`` names. A bookmark names a commit;
it moves only with ``move``.
"""

from collections.abc import Callable
from typing import Any, Final

from worlddb.log.model import errors, ids, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply.log_marks import bookmark_at
from worlddb.projections.tables.storage.schema import ACCEPTED, CONTAINS, PENDING, STATUS_NAMES, ProposalRow
from worlddb.reconciler.accounts import account_changes
from worlddb.reconciler.beliefs import belief_changes
from worlddb.reconciler.bundle_import.bundle_importer import import_bundle
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.decisions import configuration, marking, worlds
from worlddb.reconciler.embedding import spaces, vectors_of_texts
from worlddb.reconciler.entity_resolution import equivalence, namesakes
from worlddb.reconciler.erasure.erasure_plan import erase as record_erasure
from worlddb.reconciler.statements import statement_changes
from worlddb.reconciler.transaction import context, draft


def decide_bookmark(ctx: context.Context, command: cmd.Bookmark) -> tuple[int, int]:
    """Decide a bookmark.

    Returns the commit that it stands for, and the position of the blob with its name, which is :data:`~.events.NONE` if
    the bookmark exists already and nothing changes.

    Raises:
        InputError: there is no such commit, or nothing had been committed by then.
    """
    marked = _seq_to_mark(ctx, command)
    existing = bookmark_at(ctx.tables, command.name, ctx.draft.seq)
    if existing is not None and existing[1].marked == marked:
        return marked, ev.NONE
    if existing is not None and not command.move:
        ctx.refuse(
            "bookmark_exists",
            f"The bookmark {command.name[:80]!r} stands for commit {existing[1].marked}, set by commit {existing[0]}",
            "Choose another name, or move it with move=True",
        )
    return marked, ctx.draft.add_body("Bookmark", command.name, "")


def _seq_to_mark(ctx: context.Context, command: cmd.Bookmark) -> int:
    head = ctx.draft.head.seq
    if command.at is not None:
        marked = min(ctx.draft.log.seq_at(command.at), head)  # In a redecision the log has later commits too.
        if not marked:
            raise errors.InputError(
                f"Nothing had been committed by {times.format_time(command.at)}", "Name a later time"
            )
        return marked
    marked = head if command.seq is None else command.seq
    if marked > head:
        raise errors.InputError(f"There is no commit {marked}", f"The store has commits 1 to {head}")
    return marked


_REMEDIES: Final = {
    "pending": "Accept or reject it",
    "accepted": "Undo it if it was wrong",
    "rejected": "If you know something new about one of the two, revise it and link the pair by same_as again",
    "undone": "If the two are the same after all, link them by same_as again",
}
"""The remedy where a proposal's status does not allow the decision, by status."""


def decide(
    ctx: context.Context, command: cmd.Command, details: int, resolution: namesakes.Resolution
) -> draft.Decision:
    """Decide one command, on top of those decided before it in the same request."""
    if isinstance(command, cmd.Create):
        return worlds.create(ctx, command, details, resolution)
    return _DECIDE[type(command)](ctx, command, details)


# -- edges


def link(ctx: context.Context, command: cmd.Link, details: int) -> draft.Decision:
    source, target = context.node_ref(ctx, command.source_ref), context.node_ref(ctx, command.target_ref)
    home = None if command.home is None else context.node_ref(ctx, command.home)
    if command.type == CONTAINS and home not in (None, source):
        ctx.refuse(
            "container_is_home",
            f"The home of this {CONTAINS} edge can only be {ids.short(ctx.tables.node(source).lineage)}, its container",
            "Leave out home",
        )
    if isinstance(command.key, str | cmd.BoundKey) and not ctx.is_ingest:
        said = context.EdgeStatement(
            command.type, source, target, home, command.valid_from, command.valid_to, command.properties
        )
        ctx.refuse_conflicting_key(command.key, said)
    written = ctx.link(
        source,
        command.type,
        target,
        home=home,
        valid_from=command.valid_from,
        valid_to=times.FOREVER if command.valid_to is None else command.valid_to,
        details=details,
        key=command.key,
        versions=_edge_versions(ctx, command, (source, target)) if isinstance(command, cmd.LinkVersions) else None,
    )
    if command.valid_to is not None and not written.staged:
        ctx.note_never_valid(written.id)
    return draft.Decision(written.id, staged=written.staged)


def _edge_versions(ctx: context.Context, command: cmd.LinkVersions, ends: tuple[int, int]) -> tuple[int, int]:
    """The versions that an edge names at its ends, the newest where the command gives 0.

    Raises:
        UnknownReference: an end has no such version.
    """
    newest = [ctx.tables.node(node).versions for node in ends]
    for node, version, last in zip(ends, command.versions, newest, strict=True):
        if version > last:
            raise errors.UnknownReference(
                f"{ctx.shown(node)} has no version {version}", "Look at its versions with history"
            )
    return command.versions[0] or newest[0], command.versions[1] or newest[1]


def unlink(ctx: context.Context, command: cmd.Unlink, details: int) -> draft.Decision:
    edge = context.edge_ref(ctx, command.edge)
    if ctx.tables.proposal(edge) is not None:
        ctx.refuse("is_a_proposal", f"{ids.short(edge)} is an accepted proposal", "Undo it")
    ctx.unlink(edge)
    return draft.Decision(edge)


# -- identity


def accept(ctx: context.Context, command: cmd.Accept, details: int) -> draft.Decision:
    proposal, row = _require_proposal(ctx, command.proposal, (PENDING,))
    equivalence.refuse_joined_strangers(ctx, row)
    ctx.draft.emit(ev.Decided(proposal, "accepted", details))
    ctx.write_accepted(proposal, row)
    return draft.Decision(proposal)


def reject(ctx: context.Context, command: cmd.Reject, details: int) -> draft.Decision:
    proposal, row = _require_proposal(ctx, command.proposal, (PENDING,))
    equivalence.refuse_if_joined(ctx, row)
    ctx.draft.emit(ev.Decided(proposal, "rejected", details))
    return draft.Decision(proposal)


def undo(ctx: context.Context, command: cmd.Undo, details: int) -> draft.Decision:
    proposal, _ = _require_proposal(ctx, command.proposal, (ACCEPTED,))
    ctx.unlink(proposal)
    ctx.draft.emit(ev.Decided(proposal, "undone", details))
    return draft.Decision(proposal)


def _require_proposal(ctx: context.Context, ref: cmd.Ref, wanted: tuple[int, ...]) -> tuple[bytes, ProposalRow]:
    proposal = context.proposal_ref(ctx, ref)
    row = ctx.tables.proposal(proposal)
    assert row is not None
    if row.status not in wanted:
        needed = " or ".join(STATUS_NAMES[status] for status in wanted)
        status = STATUS_NAMES[row.status]
        ctx.refuse(
            "already_decided", f"The proposal {ids.short(proposal)} is {status}, not {needed}", _REMEDIES[status]
        )
    return proposal, row


# -- moments


def bookmark(ctx: context.Context, command: cmd.Bookmark, details: int) -> draft.Decision:
    marked, body = decide_bookmark(ctx, command)
    if body != ev.NONE:
        ctx.draft.emit(ev.Bookmarked(body, details, marked))
    return draft.Decision(ctx.draft.log.chain(marked), body)


# -- texts


def erase(ctx: context.Context, command: cmd.Erase, details: int) -> draft.Decision:
    return draft.Decision(record_erasure(ctx, command, details))


# -- other stores


def import_(ctx: context.Context, command: cmd.Import, details: int) -> draft.Decision:
    return draft.Decision(import_bundle(ctx, command))


# -- forks: their module is loaded on first use, since few requests need it


def fork(ctx: context.Context, command: cmd.Fork, details: int) -> draft.Decision:
    from worlddb.reconciler.forks import forking

    return draft.Decision(forking.fork(ctx, command, details))


def merge(ctx: context.Context, command: cmd.Merge, details: int) -> draft.Decision:
    from worlddb.reconciler.forks import forking

    return draft.Decision(forking.record_merge(ctx, command, details))


# -- settings of a world


def _decide_for_world(
    setter: Callable[[context.Context, Any, int], bytes],
) -> Callable[[context.Context, Any, int], draft.Decision]:
    """Wrap a function that returns a world's reference as a decision."""
    return lambda ctx, command, details: draft.Decision(setter(ctx, command, details))


def trust(ctx: context.Context, command: cmd.Trust, details: int) -> draft.Decision:
    return draft.Decision(*configuration.set_trust(ctx, command, details))


# -- vectors


def embed(ctx: context.Context, command: cmd.Embed, details: int) -> draft.Decision:
    vectors_of_texts.embed(ctx, command)
    return draft.Decision(ctx.draft.log.chain(command.through))


def change_space(ctx: context.Context, command: cmd.UseSpace | cmd.DropSpace, details: int) -> draft.Decision:
    return draft.Decision(*spaces.change(ctx, command, details))


# -- reclustering


def recluster(ctx: context.Context, command: cmd.Recluster, details: int) -> draft.Decision:
    equivalence.stage_reclustered(ctx, command)
    return draft.Decision(ctx.draft.log.chain(command.through))


_DECIDE: Final[dict[type[cmd.Command], Callable[[context.Context, Any, int], draft.Decision]]] = {
    cmd.Revise: worlds.revise,
    cmd.Retire: worlds.retire,
    cmd.Reassert: worlds.reassert,
    cmd.Move: worlds.move,
    cmd.Alias: worlds.alias,
    cmd.Unalias: worlds.unalias,
    cmd.Restate: worlds.restate,
    cmd.Expire: marking.expire,
    cmd.Refresh: marking.refresh,
    cmd.Sweep: marking.sweep,
    cmd.Label: marking.label,
    cmd.Unlabel: marking.unlabel,
    cmd.Pin: marking.pin,
    cmd.Tag: marking.tag,
    cmd.Untag: marking.untag,
    cmd.Deprecate: marking.deprecate,
    cmd.Believe: belief_changes.believe,
    cmd.Contract: belief_changes.contract,
    cmd.Rollback: belief_changes.rollback,
    cmd.TakeBack: belief_changes.take_back,
    cmd.SetBeliefs: belief_changes.set_beliefs,
    cmd.KeepReceipt: marking.keep_receipt,
    cmd.Access: marking.access,
    cmd.Erase: erase,
    cmd.Link: link,
    cmd.LinkVersions: link,
    cmd.Unlink: unlink,
    cmd.Accept: accept,
    cmd.Reject: reject,
    cmd.Undo: undo,
    cmd.Bookmark: bookmark,
    cmd.Import: import_,
    cmd.Fork: fork,
    cmd.Merge: merge,
    cmd.Register: _decide_for_world(configuration.register_type),
    cmd.Unregister: _decide_for_world(configuration.unregister_type),
    cmd.Embed: embed,
    cmd.Recluster: recluster,
    cmd.SetProfile: _decide_for_world(configuration.set_profile),
    cmd.Tune: _decide_for_world(configuration.set_thresholds),
    cmd.Untune: _decide_for_world(configuration.unset_thresholds),
    cmd.Trust: trust,
    cmd.Guard: _decide_for_world(configuration.set_guard),
    cmd.SetPlan: account_changes.set_plan,
    cmd.SetAccount: account_changes.set_account,
    cmd.MakeKey: account_changes.make_key,
    cmd.EndKey: account_changes.end_key,
    cmd.UseSpace: change_space,
    cmd.DropSpace: change_space,
    cmd.State: statement_changes.state,
    cmd.Unstate: statement_changes.unstate,
    cmd.EraseLiteral: statement_changes.erase_literal,
}
