"""Decide the commands that mark worlds: expire, refresh, sweep, label, unlabel, pin, tag, untag and deprecate.

Marks say what is worth looking at, and change nothing that is true: see ``projections/tables/apply/mark_rows.py``.
"""

from worlddb.log.beliefs import recall_receipt
from worlddb.log.model import errors, ids, limits, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply import mark_rows
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage.schema import LIVE, ROOT_NODE
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.decisions import worlds
from worlddb.reconciler.transaction import context, draft


def expire(ctx: context.Context, command: cmd.Expire, details: int) -> draft.Decision:
    """Hide a world from a time on, past or future. It does not change when an ended world has ended."""
    node, lineage = _world_to_mark(ctx, command.ref, is_given=command.at is not None or bool(command.lasts))
    at = times.FOREVER if command.at is None else command.at
    if command.lasts:
        if command.at is not None:
            raise errors.InputError("Both expires_at and ttl were given", "Give one of them")
        at = min(ctx.now + command.lasts, times.FOREVER)
    before = mark_rows.deadline_at(ctx.tables, node, ctx.draft.seq)
    stands = (times.FOREVER, 0) if before is None else (before.at, before.lasts)
    if stands != (at, command.lasts):
        ctx.draft.emit(ev.Expires(lineage, at, command.lasts, details))
    return draft.Decision(lineage)


def refresh(ctx: context.Context, command: cmd.Refresh, details: int) -> draft.Decision:
    """Move a deadline by its duration. A deadline that has passed, or was set to a fixed time, stays."""
    node, lineage = _world_to_mark(ctx, command.ref)
    before = mark_rows.deadline_at(ctx.tables, node, ctx.draft.seq)
    used = ctx.now if command.at is None else min(command.at, ctx.now)
    if before is None or not before.lasts or before.at <= used:
        return draft.Decision(lineage)
    at = min(used + before.lasts, times.FOREVER)
    if at > before.at:
        ctx.draft.emit(ev.Expires(lineage, at, before.lasts, details))
    return draft.Decision(lineage)


def sweep(ctx: context.Context, command: cmd.Sweep, details: int) -> draft.Decision:
    """Retire a world whose deadline has passed. One that has ended, or was refreshed or pinned meanwhile, stays."""
    node, lineage = _world_to_mark(ctx, command.ref)
    if not mark_rows.is_hidden(ctx.tables, node, ctx.draft.seq, ctx.now) or ctx.has_ended(node):
        return draft.Decision(lineage)
    return worlds.retire(ctx, cmd.Retire(ref=lineage), details)


def label(ctx: context.Context, command: cmd.Label, details: int) -> draft.Decision:
    """Put labels on a world; labels that it has already change nothing."""
    node, lineage = _world_to_mark(ctx, command.ref, is_given=True)
    for position, text in enumerate(command.labels):
        if mark_rows.has_labels(ctx.tables, node, [name_digest(text)], ctx.draft.seq):
            continue
        if mark_rows.count_names_given(ctx.tables, mark_rows.LABELS, node) >= limits.MAX_LABELS:
            ctx.refuse(
                "too_many_labels",
                f"{ids.short(lineage)} would have been given more than {limits.MAX_LABELS} labels",
                "Removed labels count: use one that the world had before",
            )
        ctx.draft.emit(ev.Labelled(lineage, details, position))
    return draft.Decision(lineage)


def unlabel(ctx: context.Context, command: cmd.Unlabel, details: int) -> draft.Decision:
    """Take labels off a world."""
    node, lineage = _world_to_mark(ctx, command.ref)
    for text in command.labels:
        digest = name_digest(text)
        held = [
            number
            for number, row in mark_rows.names_of(ctx.tables, mark_rows.LABELS, node)
            if (row.name, row.removed) == (digest, LIVE)
        ]
        if not held:
            raise errors.UnknownReference(
                f"{ids.short(lineage)} has no label {text[:80]!r}", "Look at its labels with show"
            )
        for number in held:
            ctx.draft.emit(ev.Unlabelled(lineage, number, details))
    return draft.Decision(lineage)


def pin(ctx: context.Context, command: cmd.Pin, details: int) -> draft.Decision:
    """Pin a world, or take the pin off."""
    node, lineage = _world_to_mark(ctx, command.ref, is_given=command.is_pinned)
    if mark_rows.is_pinned(ctx.tables, node, ctx.draft.seq) != command.is_pinned:
        ctx.draft.emit(ev.Pinned(lineage, command.is_pinned, details))
    return draft.Decision(lineage)


def tag(ctx: context.Context, command: cmd.Tag, details: int) -> draft.Decision:
    """Point a tag to a version, whether or not that holds; a tag that does so already changes nothing."""
    node, lineage = _world_to_mark(ctx, command.ref, is_given=True)
    version, tables = command.version, ctx.tables
    if version is None:
        held = asof.version_at(tables, node, asof.Moment(ctx.draft.seq, ctx.draft.ingest_time))
        if held is None:
            ctx.refuse("holds_no_more", f"No version of {ids.short(lineage)} holds now", "Name the version")
        version = held.number
    if not any(number == version for number, _ in tables.version_rows(node)):
        raise errors.UnknownReference(
            f"{ids.short(lineage)} has no version {version}", "Look at its versions with history"
        )
    number, stands = _find_tag(ctx, node, command.labels[0])
    if number == 0:
        number = mark_rows.count_names_given(tables, mark_rows.TAGS, node) + 1
        if number > limits.MAX_TAGS:
            ctx.refuse(
                "too_many_tags",
                f"{ids.short(lineage)} would have been given more than {limits.MAX_TAGS} tags",
                "Removed tags count: use one that the world had before",
            )
    if stands != version:
        ctx.draft.emit(ev.Tagged(lineage, number, version, details))
    return draft.Decision(lineage)


def untag(ctx: context.Context, command: cmd.Untag, details: int) -> draft.Decision:
    """Remove a tag; its history is kept."""
    node, lineage = _world_to_mark(ctx, command.ref)
    number, stands = _find_tag(ctx, node, command.labels[0])
    if not stands:
        raise errors.UnknownReference(
            f"{ids.short(lineage)} has no tag {command.labels[0][:80]!r}", "Look at its tags with show"
        )
    ctx.draft.emit(ev.Tagged(lineage, number, 0, details))
    return draft.Decision(lineage)


def _find_tag(ctx: context.Context, node: int, text: str) -> tuple[int, int]:
    """The number of a tag of a world, and the version that it points to; 0 and 0 if the world has no such tag."""
    digest = name_digest(text)
    for number, row in mark_rows.names_of(ctx.tables, mark_rows.TAGS, node):
        if row.name == digest:
            return number, mark_rows.assigned(ctx.tables, node, number, ctx.draft.seq)
    return 0, 0


def deprecate(ctx: context.Context, command: cmd.Deprecate, details: int) -> draft.Decision:
    """Deprecate a world, or undo that; its validity does not change."""
    node, lineage = _world_to_mark(ctx, command.ref, is_given=command.is_deprecated)
    if mark_rows.is_deprecated(ctx.tables, node, ctx.draft.seq) != command.is_deprecated:
        ctx.draft.emit(ev.Deprecated(lineage, command.is_deprecated, details))
    return draft.Decision(lineage)


def keep_receipt(ctx: context.Context, command: cmd.KeepReceipt, details: int) -> draft.Decision:
    """Store the receipt of a recall. Its worlds must exist; its contents are not checked."""
    receipt = recall_receipt.receipt_from_plain(command.properties["receipt"])
    head = receipt.head
    world = bytes.fromhex(head.world) if isinstance(head, recall_receipt.WorldHead) else b""
    shown = [bytes.fromhex(ref) for ref in receipt.refs]
    for lineage in (world, *shown) if world else shown:
        context.node_ref(ctx, lineage)
    ctx.draft.emit(ev.Recalled(world, shown, details))
    return draft.Decision(ctx.tables.node(ROOT_NODE).lineage)


def access(ctx: context.Context, command: cmd.Access, details: int) -> draft.Decision:
    """Record when worlds were used; unknown and erased worlds are skipped."""
    used: list[bytes] = []
    at: list[int] = []
    for ref, when in zip(command.refs, command.at, strict=True):
        node = context.node_ref(ctx, ref)
        if node != ROOT_NODE and not ctx.lacks_text(node):
            used.append(ctx.tables.node(node).lineage)
            at.append(min(when, ctx.now))
    if used:
        ctx.draft.emit(ev.Accessed(used, at))
    return draft.Decision(ctx.tables.node(ROOT_NODE).lineage)


def _world_to_mark(ctx: context.Context, ref: cmd.Ref, *, is_given: bool = False) -> tuple[int, bytes]:
    """Return the world that a command is about. An erased world gets no marks; its own may be removed."""
    node = context.node_ref(ctx, ref)
    lineage = ctx.tables.node(node).lineage
    if node == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world cannot have marks", "Name a world inside it")
    if is_given and ctx.lacks_text(node):
        ctx.refuse("erased", f"The text of {ids.short(lineage)} was erased", "Create another")
    return node, lineage
