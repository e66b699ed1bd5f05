"""Worlds leave one container for another, and the edges between them go along."""

from __future__ import annotations

from worlddb.log.model.errors import AmbiguousReference
from worlddb.log.model.ids import short
from worlddb.projections.tables.storage.schema import CONTAINS, LIVE, ROOT_NODE
from worlddb.reconciler import commands as cmd
from worlddb.reconciler.context import Context
from worlddb.reconciler.draft import Decided
from worlddb.reconciler.references import node_ref


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
