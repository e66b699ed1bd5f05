"""One function a command: what it decides, as events on the draft. Each returns the reference for the receipt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body
from worlddb.log.model.errors import AmbiguousReference, UnknownReference
from worlddb.log.model.ids import LINEAGE_BYTES, Lineage, short
from worlddb.log.model.interval import checked_interval
from worlddb.log.model.limits import MAX_ALIASES
from worlddb.log.model.times import FOREVER
from worlddb.projections.tables.names import name_digest
from worlddb.projections.tables.schema import ACCEPTED, CONTAINS, LIVE, PENDING, ROOT_NODE, STATUS_NAMES, ProposalRow
from worlddb.reconciler import classes, embedding, marking, spaces, staging
from worlddb.reconciler import commands as cmd
from worlddb.reconciler.context import Context
from worlddb.reconciler.erasing import erase as erase_planned
from worlddb.reconciler.erasing import refuse_forbidden
from worlddb.reconciler.importing import import_bundle
from worlddb.reconciler.references import edge_ref, node_or_edge_ref, node_ref, proposal_ref
from worlddb.reconciler.registering import register_type, unregister_type
from worlddb.reconciler.resolver import Match
from worlddb.reconciler.tuning import set_thresholds, take_thresholds_back


class Decided(NamedTuple):
    """What a command came to: its reference, and where its body and details went."""

    ref: bytes
    body: int = ev.NONE
    staged: bool = False


def decide(ctx: Context, command: cmd.Command, details: int, matches: Sequence[Match]) -> Decided:
    """Decide one command on top of everything decided so far; ``matches`` are those whom it may already be."""
    if isinstance(command, cmd.Create):
        return create(ctx, command, details, matches)
    return _DECIDE[type(command)](ctx, command, details)


# -- worlds


def create(ctx: Context, command: cmd.Create, details: int, matches: Sequence[Match]) -> Decided:
    world = ROOT_NODE if command.world is None else node_ref(ctx, command.world)
    if command.key is None:
        lineage = Lineage(ctx.draft.nonce("lineage", len(ctx.draft.commands))[:LINEAGE_BYTES])
    else:
        lineage = ctx.lineage_of(command.key)
        existing = ctx.tables.node_of(lineage)
        if existing is not None:
            return _found_again(ctx, command, existing, details)
    begins = ctx.now if command.valid_from is None else command.valid_from
    validity = checked_interval(begins, FOREVER if command.valid_to is None else command.valid_to)
    refuse_forbidden(ctx, command.name, command.content)
    body = ctx.draft.add_body(command.type, command.name, command.content)
    node = ctx.draft.applier.next_node
    ctx.draft.emit(ev.Created(lineage, body, details, validity.start, validity.end))
    for position in range(len(command.aliases)):
        ctx.draft.emit(ev.Named(lineage, details, position))
    ctx.link(world, CONTAINS, node, valid_from=validity.start)
    for match in matches:
        ctx.stage(node, match.node, evidence=match.evidence)
    return Decided(lineage, body)


def _found_again(ctx: Context, command: cmd.Create, node: int, details: int) -> Decided:
    """A key that is known: unchanged text changes nothing, changed text is a revision, an end stays an end, and erased
    text stays erased unless it is asked for."""
    row = ctx.tables.node(node)
    body = current_body(ctx, node)
    if body is not None and (body.type, body.name, body.content) == (command.type, command.name, command.content):
        return Decided(row.lineage)
    if row.ended:
        ctx.note("not_revived", row.lineage)
        return Decided(row.lineage)
    if body is None and not command.revive:
        ctx.note("not_restored", row.lineage)
        return Decided(row.lineage)
    revision = cmd.Revise(
        ref=row.lineage,
        type=command.type,
        name=command.name,
        content=command.content,
        valid_from=command.valid_from,
        valid_to=command.valid_to,
    )
    if body is None:
        for position in range(len(command.aliases)):
            ctx.draft.emit(ev.Named(row.lineage, details, position))
    return _revised(ctx, revision, details, node, body)


def revise(ctx: Context, command: cmd.Revise, details: int) -> Decided:
    node = node_ref(ctx, command.ref)
    row = ctx.tables.node(node)
    if row.ended:
        ctx.refuse(
            "ended", f"{short(row.lineage)} has ended and takes no further versions", "Reassert it as a new lineage"
        )
    if node == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world cannot be revised")
    body = current_body(ctx, node)
    if body is None:
        _refuse_erased(ctx, row.lineage)
    return _revised(ctx, command, details, node, body)


def _revised(ctx: Context, command: cmd.Revise, details: int, node: int, body: Body | None) -> Decided:
    """A new version on top of ``body``; where that was erased, the command gives all of the text."""
    row = ctx.tables.node(node)
    newest = ctx.tables.version(node, row.versions)
    begins = ctx.now if command.valid_from is None else command.valid_from
    end = newest.valid_to if command.valid_to is None else min(command.valid_to, newest.valid_to)
    if newest.valid_to != FOREVER and begins > newest.valid_to:
        ctx.refuse(
            "closed", f"{short(row.lineage)} is closed before the revision would begin", "Reassert it as a new lineage"
        )
    validity = checked_interval(begins, end)
    before = body or Body(b"", "", "", "")
    name = before.name if command.name is None else command.name
    content = before.content if command.content is None else command.content
    refuse_forbidden(ctx, name, content)
    position = ctx.draft.add_body(before.type if command.type is None else command.type, name, content)
    ctx.close(node, validity.start)
    ctx.draft.emit(ev.Revised(row.lineage, position, details, validity.start, validity.end))
    return Decided(row.lineage, position)


def retire(ctx: Context, command: cmd.Retire, details: int) -> Decided:
    at = ctx.now if command.at is None else command.at
    found = node_or_edge_ref(ctx, command.ref)
    if isinstance(found, bytes):
        ctx.close_edge(found, at)
        return Decided(found)
    if found == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world cannot be retired")
    ctx.end(found, at, details=details)
    return Decided(ctx.tables.node(found).lineage)


def reassert(ctx: Context, command: cmd.Reassert, details: int) -> Decided:
    node = node_ref(ctx, command.ref)
    row = ctx.tables.node(node)
    if not row.ended:
        ctx.refuse("not_ended", f"{short(row.lineage)} has not ended", "Revise it instead")
    body = current_body(ctx, node)
    if body is None:
        _refuse_erased(ctx, row.lineage)
    content = body.content if command.content is None else command.content
    again = cmd.Create(
        type=body.type,
        name=body.name,
        content=content,
        world=ctx.tables.node(ctx.home_of(node)).lineage,
        valid_from=command.valid_from,
        valid_to=command.valid_to,
        resolve=False,
    )
    made = create(ctx, again, details, ())
    new = ctx.tables.node_of(made.ref)
    assert new is not None
    ctx.link(new, "derived_from", node)
    return made


def move(ctx: Context, command: cmd.Move, details: int) -> Decided:
    moved = [node_ref(ctx, ref) for ref in command.refs]
    to = node_ref(ctx, command.to)
    out_of = None if command.out_of is None else node_ref(ctx, command.out_of)
    leaving = {node: _leaving(ctx, node, out_of) for node in moved}
    for node, (_, edge) in leaving.items():
        ctx.link(to, CONTAINS, node, valid_from=command.valid_from, details=details)
        ctx.unlink(edge)
    _carry_edges(ctx, set(moved), {source for source, _ in leaving.values()}, to)
    return Decided(ctx.tables.node(moved[0]).lineage)


def _leaving(ctx: Context, node: int, out_of: int | None) -> tuple[int, bytes]:
    """The container that a move takes the node out of, and the contains edge that it retracts."""
    if node == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world cannot be moved")
    code = ctx.tables.type_code(CONTAINS)
    incoming = ctx.tables.incoming(node, code, known_after=ctx.draft.seq)
    edges = {place.source: row.edge for place, row in incoming}
    if out_of is not None:
        if out_of not in edges:
            ctx.refuse("not_a_member", f"{ctx.shown(node)} is not a member of {ctx.shown(out_of)}")
        return out_of, edges[out_of]
    if len(edges) != 1:
        names = [short(ctx.tables.node(source).lineage) for source in edges]
        raise AmbiguousReference(
            f"{ctx.shown(node)} is in {len(edges)} worlds: {', '.join(names)}",
            "Say which one it leaves",
            candidates=names,
        )
    return next(iter(edges.items()))


def _carry_edges(ctx: Context, moved: set[int], left: set[int], to: int) -> None:
    """Interior edges whose both ends move go along under a new identity; the others stay and are listed."""
    carried: list[bytes] = []
    behind: list[bytes] = []
    contains = ctx.tables.type_code(CONTAINS)
    interior = {}
    for node in moved:
        for place, row in (*ctx.tables.outgoing(node), *ctx.tables.incoming(node, known_after=ctx.draft.seq)):
            if row.unlinked == LIVE and place.type != contains and row.home in left:
                interior[row.edge] = (place, row)
    for edge, (place, row) in interior.items():
        is_identity = ctx.tables.proposal(edge) is not None
        if place.source in moved and row.target in moved and not is_identity:
            ctx.rehome(place, row, to)
            carried.append(edge)
        else:
            behind.append(edge)
    if carried:
        ctx.note("edges_carried", *carried)
    if behind:
        ctx.note("edges_left_behind", *behind)


def alias(ctx: Context, command: cmd.Alias, details: int) -> Decided:
    node = node_ref(ctx, command.ref)
    lineage = ctx.tables.node(node).lineage
    aliases = command.aliases
    if current_body(ctx, node) is None:
        _refuse_erased(ctx, lineage)
    if ctx.tables.node(node).aliases + len(aliases) > MAX_ALIASES:
        ctx.refuse("too_many_aliases", f"{short(lineage)} would have more than {MAX_ALIASES} aliases")
    for position in range(len(aliases)):
        ctx.draft.emit(ev.Named(lineage, details, position))
    return Decided(lineage)


def unalias(ctx: Context, command: cmd.Unalias, details: int) -> Decided:
    node = node_ref(ctx, command.ref)
    lineage = ctx.tables.node(node).lineage
    for text in command.aliases:
        digest = name_digest(text)
        found = [number for number, row in ctx.tables.aliases(node) if row.name == digest and row.removed == LIVE]
        if not found:
            raise UnknownReference(f"{short(lineage)} has no alias {text[:80]!r}", "Look at its aliases with show")
        for number in found:
            ctx.draft.emit(ev.Unnamed(lineage, number))
    return Decided(lineage)


def erase(ctx: Context, command: cmd.Erase, details: int) -> Decided:
    return Decided(erase_planned(ctx, command, details))


def _refuse_erased(ctx: Context, lineage: bytes) -> NoReturn:
    ctx.refuse(
        "erased", f"The text of {short(lineage)} was erased", "Create another, or this one under its key with revive"
    )


def current_body(ctx: Context, node: int) -> Body | None:
    """The newest body of a node, in this draft or in the log; ``None`` once erased."""
    return ctx.body(node)


# -- edges


def link(ctx: Context, command: cmd.Link, details: int) -> Decided:
    source, target = node_ref(ctx, command.source_ref), node_ref(ctx, command.target_ref)
    home = None if command.home is None else node_ref(ctx, command.home)
    written = ctx.link(
        source,
        command.type,
        target,
        home=home,
        valid_from=command.valid_from,
        valid_to=FOREVER if command.valid_to is None else command.valid_to,
        details=details,
        key=command.key,
    )
    return Decided(written.id, staged=written.staged)


def unlink(ctx: Context, command: cmd.Unlink, details: int) -> Decided:
    edge = edge_ref(ctx, command.edge)
    if ctx.tables.proposal(edge) is not None:
        ctx.refuse("is_a_proposal", f"{short(edge)} is an accepted proposal", "Undo it")
    ctx.unlink(edge)
    return Decided(edge)


# -- identity


def accept(ctx: Context, command: cmd.Accept, details: int) -> Decided:
    proposal, row = _proposal(ctx, command.proposal, (PENDING,))
    classes.refuse_joined_strangers(ctx, row)
    ctx.draft.emit(ev.Decided(proposal, "accepted", details))
    ctx.write_accepted(proposal, row)
    return Decided(proposal)


def reject(ctx: Context, command: cmd.Reject, details: int) -> Decided:
    proposal, row = _proposal(ctx, command.proposal, (PENDING,))
    classes.refuse_if_joined(ctx, row)
    ctx.draft.emit(ev.Decided(proposal, "rejected", details))
    return Decided(proposal)


def undo(ctx: Context, command: cmd.Undo, details: int) -> Decided:
    proposal, _ = _proposal(ctx, command.proposal, (ACCEPTED,))
    ctx.unlink(proposal)
    ctx.draft.emit(ev.Decided(proposal, "undone", details))
    return Decided(proposal)


def _proposal(ctx: Context, ref: cmd.Ref, wanted: tuple[int, ...]) -> tuple[bytes, ProposalRow]:
    proposal = proposal_ref(ctx, ref)
    row = ctx.tables.proposal(proposal)
    assert row is not None
    if row.status not in wanted:
        needed = " or ".join(STATUS_NAMES[status] for status in wanted)
        ctx.refuse("already_decided", f"The proposal {short(proposal)} is {STATUS_NAMES[row.status]}, not {needed}")
    return proposal, row


# -- moments


def bookmark(ctx: Context, command: cmd.Bookmark, details: int) -> Decided:
    marked, body = marking.bookmark(ctx, command)
    if body != ev.NONE:
        ctx.draft.emit(ev.Bookmarked(body, details, marked))
    return Decided(ctx.draft.log.chain(marked), body)


# -- other stores


def import_(ctx: Context, command: cmd.Import, details: int) -> Decided:
    return Decided(import_bundle(ctx, command))


# -- what holds in a world


def _for_world(set_it: Callable[[Context, Any, int], bytes]) -> Callable[[Context, Any, int], Decided]:
    """A command that comes to the reference of a world."""
    return lambda ctx, command, details: Decided(set_it(ctx, command, details))


# -- vectors


def embed(ctx: Context, command: cmd.Embed, details: int) -> Decided:
    embedding.embed(ctx, command)
    return Decided(ctx.draft.log.chain(command.through))


def change_space(ctx: Context, command: cmd.UseSpace | cmd.DropSpace, details: int) -> Decided:
    return Decided(*spaces.change(ctx, command, details))


# -- another look


def recluster(ctx: Context, command: cmd.Recluster, details: int) -> Decided:
    staging.stage_found(ctx, command)
    return Decided(ctx.draft.log.chain(command.through))


_DECIDE: Final[dict[type[cmd.Command], Callable[[Context, Any, int], Decided]]] = {
    cmd.Revise: revise,
    cmd.Retire: retire,
    cmd.Reassert: reassert,
    cmd.Move: move,
    cmd.Alias: alias,
    cmd.Unalias: unalias,
    cmd.Erase: erase,
    cmd.Link: link,
    cmd.Unlink: unlink,
    cmd.Accept: accept,
    cmd.Reject: reject,
    cmd.Undo: undo,
    cmd.Bookmark: bookmark,
    cmd.Import: import_,
    cmd.Register: _for_world(register_type),
    cmd.Unregister: _for_world(unregister_type),
    cmd.Embed: embed,
    cmd.Recluster: recluster,
    cmd.Tune: _for_world(set_thresholds),
    cmd.Untune: _for_world(take_thresholds_back),
    cmd.UseSpace: change_space,
    cmd.DropSpace: change_space,
}
