"""Functional relations: one source has one target at a time (paper §6).

A second target is a conflict of the two.
"""

from collections.abc import Iterator
from typing import Final

from worlddb.log.model.times import Interval
from worlddb.reconciler.edge_types.handler import HandledEdge, HandlerContext
from worlddb.reconciler.edge_types.scopes import Scopes

NEVER_FUNCTIONAL: Final = frozenset({"contains", "same_as", "supersedes", "contradicts"})
"""Types of which several edges from one source are no contradiction, or which are how one is recorded."""

RELATION: Final = "functional"
"""The property of a recorded conflict that names the functional relation that it comes from."""


def record_conflicts(
    ctx: HandlerContext, scopes: Scopes, edge: HandledEdge, scope: int, *, before: int | None = None
) -> None:
    """Record that the targets of two edges contradict each other.

    The conflict lasts for as long as both edges are valid. The edge that was written is compared with every other one
    of its type and source that the same registration, that of the world ``scope``, governs; with ``before`` only with
    those of commits before that one. Nothing is closed or hidden: which of the two holds is for somebody to say.
    """
    written = _validity(edge)
    for other in list(ctx.edges(edge.source, edge.type)):
        both = written.intersect(_validity(other))
        if other.id == edge.id or other.target == edge.target or both.is_empty:
            continue
        if before is not None and other.seq >= before:
            continue
        if scopes.functional(edge.type, other.home) == scope:
            conflict = _recorded(ctx, edge.target, other.target, both)
            if conflict is None:
                conflict = ctx.link(
                    edge.target,
                    "contradicts",
                    other.target,
                    home=edge.home,
                    valid_from=both.start,
                    valid_to=both.end,
                    properties={RELATION: edge.type},
                ).id
            ctx.note("functional_conflict", conflict)


def end_conflicts(ctx: HandlerContext, scopes: Scopes, edge: HandledEdge, end: int | None) -> None:
    """End the conflicts that an edge caused.

    The edge was closed at ``end`` or (``None``) unlinked. Each conflict is closed where the last pair of edges that
    still bears it out ends. If none does, it is closed with the edge, or unlinked with it. Conflicts that somebody
    recorded are left to them.
    """
    if edge.type in NEVER_FUNCTIONAL:
        return
    for conflict in list(_conflicts(ctx, edge.target)):
        if ctx.properties(conflict).get(RELATION) != edge.type:
            continue
        last = max((both.end for both in _borne_out(ctx, scopes, conflict, edge.type)), default=end)
        if last is None:
            ctx.unlink(conflict.id)
        elif not ctx.close_edge(conflict.id, last):
            continue
        ctx.note("conflict_ended", conflict.id)


def _borne_out(ctx: HandlerContext, scopes: Scopes, conflict: HandledEdge, type_name: str) -> Iterator[Interval]:
    """When two functional edges bear out a conflict.

    These are the times of the conflict at which two functional edges under one registration lead to its two sides.
    """
    here = scopes.functional(type_name, conflict.home)
    for one in ctx.edges(conflict.source, type_name, incoming=True):
        scope = scopes.functional(type_name, one.home)
        if scope is None and here is not None:
            continue
        for other in ctx.edges(one.source, type_name):
            if other.target == conflict.target and scopes.functional(type_name, other.home) == scope:
                both = _validity(conflict).intersect(_validity(one)).intersect(_validity(other))
                if not both.is_empty:
                    yield both


def _recorded(ctx: HandlerContext, one: int, other: int, when: Interval) -> bytes | None:
    """The edge that already records a conflict of two nodes, in either direction.

    It does so at some time of ``when``.
    """
    for known in _conflicts(ctx, one):
        if other in (known.source, known.target) and _validity(known).overlaps(when):
            return known.id
    return None


def _conflicts(ctx: HandlerContext, node: int) -> Iterator[HandledEdge]:
    """The contradictions recorded for a node, in either direction."""
    yield from ctx.edges(node, "contradicts")
    yield from ctx.edges(node, "contradicts", incoming=True)


def _validity(edge: HandledEdge) -> Interval:
    return Interval(edge.valid_from, edge.valid_to)
