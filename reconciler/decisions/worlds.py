"""Decide the commands about worlds: create, revise, retire, reassert, alias and move.

A world that moves takes along the interior edges whose both ends move.
"""

from typing import Final, NoReturn

from worlddb.log.model import blobs, errors, ids, limits, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.storage.schema import CONTAINS, LIVE, ROOT_NODE
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.edge_types.handler import WorldText
from worlddb.reconciler.edge_types.supersession import began_by, end_predecessors, predecessors_left
from worlddb.reconciler.entity_resolution.namesakes import UNRESOLVED, Resolution
from worlddb.reconciler.transaction import context, draft

PAST_ITS_END: Final = "Retire it at its end, then reassert it as a new lineage"
"""What leads past an end that was set, which is never opened again (law 8)."""


def create(ctx: context.Context, command: cmd.Create, details: int, resolution: Resolution) -> draft.Decision:
    world = ROOT_NODE if command.world is None else context.node_ref(ctx, command.world)
    if resolution.keyed is None:
        lineage = ids.Lineage(ctx.draft.nonce("lineage", len(ctx.draft.commands))[: ids.LINEAGE_BYTES])
    else:
        lineage, existing, ended = resolution.keyed
        if existing is not None:
            return _found_again(ctx, command, existing, details)
        if ended:
            ctx.note("begun_anew", lineage, ended)
    begins = ctx.now if command.valid_from is None else command.valid_from
    validity = times.checked_interval(begins, times.FOREVER if command.valid_to is None else command.valid_to)
    text = WorldText(command.type, command.name, command.content)
    node, body = ctx.add_world(lineage, text, command.aliases, details, validity, world)
    for match in resolution.matches:
        ctx.propose(node, match.node, evidence=match.evidence)
    return draft.Decision(lineage, body)


def _found_again(ctx: context.Context, command: cmd.Create, node: int, details: int) -> draft.Decision:
    """Decide a create whose key is known.

    Unchanged text changes nothing, changed text is a revision, an end stays an end, and erased text stays erased unless
    ``revive`` asks for it.
    """
    row = ctx.tables.node(node)
    body = ctx.body(node)
    if body is not None and (body.type, body.name, body.content) == (command.type, command.name, command.content):
        return draft.Decision(row.lineage)
    if row.ended:
        ctx.note("not_revived", row.lineage)
        return draft.Decision(row.lineage)
    if body is None and not command.revive:
        ctx.note("not_restored", row.lineage)
        return draft.Decision(row.lineage)
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


def revise(ctx: context.Context, command: cmd.Revise, details: int) -> draft.Decision:
    node = context.node_ref(ctx, command.ref)
    row = ctx.tables.node(node)
    if row.ended:
        ctx.refuse(
            "ended", f"{ids.short(row.lineage)} has ended and takes no further versions", "Reassert it as a new lineage"
        )
    if node == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world cannot be revised")
    body = ctx.body(node)
    if body is None:
        _refuse_erased(ctx, row.lineage)
    return _revised(ctx, command, details, node, body)


def _revised(
    ctx: context.Context, command: cmd.Revise, details: int, node: int, body: blobs.Body | None
) -> draft.Decision:
    """Write a new version on top of ``body``.

    If that was erased, the command gives all of the text.
    """
    row = ctx.tables.node(node)
    newest = ctx.tables.version(node, row.versions)
    begins = ctx.now if command.valid_from is None else command.valid_from
    end = newest.valid_to if command.valid_to is None else min(command.valid_to, newest.valid_to)
    if newest.valid_to != times.FOREVER and begins > newest.valid_to:
        ctx.refuse("closed", f"{ids.short(row.lineage)} is closed before the revision would begin", PAST_ITS_END)
    validity = times.checked_interval(begins, end)
    before = body or blobs.Body(b"", "", "", "")
    name = before.name if command.name is None else command.name
    content = before.content if command.content is None else command.content
    position = ctx.draft.add_body(before.type if command.type is None else command.type, name, content)
    began = began_by(ctx, node, validity.start)
    latest = next(ctx.spans(node), None)
    if latest is not None and latest.start > validity.start:
        ctx.note("later_never_valid", row.lineage)
    if validity.is_empty:
        ctx.note("revision_never_valid", row.lineage)
    ctx.close(node, validity.start)
    if not (began or validity.is_empty):
        end_predecessors(ctx, node, validity.start, row.lineage)
    ctx.draft.emit(ev.Revised(row.lineage, position, details, validity.start, validity.end))
    return draft.Decision(row.lineage, position)


def retire(ctx: context.Context, command: cmd.Retire, details: int) -> draft.Decision:
    at = ctx.now if command.at is None else command.at
    found = context.node_or_edge_ref(ctx, command.ref)
    if isinstance(found, bytes):
        ctx.close_edge(found, at)
        return draft.Decision(found)
    if found == ROOT_NODE:
        ctx.refuse("root_is_permanent", "The root world cannot be retired")
    before = predecessors_left(ctx, found)
    ctx.end(found, at, details=details)
    if next(ctx.spans(found), None) is None:
        for earlier in before:
            ctx.note("ends_unreplaced", ctx.lineage(earlier), ctx.lineage(found))
    return draft.Decision(ctx.tables.node(found).lineage)


def reassert(ctx: context.Context, command: cmd.Reassert, details: int) -> draft.Decision:
    node = context.node_ref(ctx, command.ref)
    row = ctx.tables.node(node)
    if not row.ended:
        is_open = ctx.tables.version(node, row.versions).valid_to == times.FOREVER
        remedy = "Revise it instead" if is_open else PAST_ITS_END
        ctx.refuse("not_ended", f"{ids.short(row.lineage)} has not ended", remedy)
    body = ctx.body(node)
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
    made = create(ctx, again, details, UNRESOLVED)
    new = ctx.tables.node_of(made.ref)
    assert new is not None
    ctx.link(new, "derived_from", node)
    return made


def alias(ctx: context.Context, command: cmd.Alias, details: int) -> draft.Decision:
    node = context.node_ref(ctx, command.ref)
    lineage = ctx.tables.node(node).lineage
    aliases = command.aliases
    if ctx.body(node) is None:
        _refuse_erased(ctx, lineage)
    if ctx.tables.node(node).aliases + len(aliases) > limits.MAX_ALIASES:
        ctx.refuse("too_many_aliases", f"{ids.short(lineage)} would have more than {limits.MAX_ALIASES} aliases")
    for position in range(len(aliases)):
        ctx.draft.emit(ev.Named(lineage, details, position))
    return draft.Decision(lineage)


def unalias(ctx: context.Context, command: cmd.Unalias, details: int) -> draft.Decision:
    node = context.node_ref(ctx, command.ref)
    lineage = ctx.tables.node(node).lineage
    for text in command.aliases:
        digest = name_digest(text)
        found = [number for number, row in ctx.tables.aliases(node) if row.name == digest and row.removed == LIVE]
        if not found:
            raise errors.UnknownReference(
                f"{ids.short(lineage)} has no alias {text[:80]!r}", "Look at its aliases with show"
            )
        for number in found:
            ctx.draft.emit(ev.Unnamed(lineage, number))
    return draft.Decision(lineage)


def _refuse_erased(ctx: context.Context, lineage: bytes) -> NoReturn:
    ctx.refuse(
        "erased",
        f"The text of {ids.short(lineage)} was erased",
        "Create another, or this one under its key with revive",
    )


def move(ctx: context.Context, command: cmd.Move, details: int) -> draft.Decision:
    moved = [context.node_ref(ctx, ref) for ref in command.refs]
    to = context.node_ref(ctx, command.to)
    out_of = None if command.out_of is None else context.node_ref(ctx, command.out_of)
    leaving = {node: _leaving(ctx, node, out_of) for node in moved}
    for node, (_, edge) in leaving.items():
        ctx.link(to, CONTAINS, node, valid_from=command.valid_from, details=details)
        ctx.unlink(edge)
    _carry_edges(ctx, set(moved), {source for source, _ in leaving.values()}, to)
    return draft.Decision(ctx.tables.node(moved[0]).lineage)


def _leaving(ctx: context.Context, node: int, out_of: int | None) -> tuple[int, bytes]:
    """The container that a move takes a node out of, and the contains edge that it retracts."""
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
        names = [ids.short(ctx.tables.node(source).lineage) for source in edges]
        raise errors.AmbiguousReference(
            f"{ctx.shown(node)} is in {len(edges)} worlds: {', '.join(names)}",
            "Say which one it leaves",
            candidates=names,
        )
    return next(iter(edges.items()))


def _carry_edges(ctx: context.Context, moved: set[int], left: set[int], to: int) -> None:
    """Carry along the interior edges whose both ends move, under new identities.

    List the others, which stay.
    """
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
