"""Functional relations: one source, one target at a time; a second one is a conflict of the two (paper §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from worlddb.log.model.interval import Interval
from worlddb.reconciler.handler import HandledEdge

if TYPE_CHECKING:
    from worlddb.reconciler.context import Context

NEVER_FUNCTIONAL: Final = frozenset({"contains", "same_as", "supersedes", "contradicts"})
"""Types of which several edges from one source are no contradiction, or which are how one is recorded."""


def record_conflicts(ctx: Context, edge: HandledEdge, scope: int) -> None:
    """Record that the targets of two edges contradict each other, for as long as both edges are valid.

    The edge that was written is compared with every other one of its type and source that the same registration, that
    of the world ``scope``, governs. Nothing is closed or hidden: which of the two holds is for somebody to say.
    """
    written = Interval(edge.valid_from, edge.valid_to)
    for other in list(ctx.edges(edge.source, edge.type)):
        both = written.intersect(Interval(other.valid_from, other.valid_to))
        if other.id == edge.id or other.target == edge.target or both.is_empty:
            continue
        if ctx.scopes.functional(edge.type, other.home) == scope:
            conflict = _recorded(ctx, edge.target, other.target) or ctx.conflict(
                edge.target, other.target, home=edge.home, valid_from=both.start, valid_to=both.end
            )
            ctx.note("functional_conflict", conflict)


def _recorded(ctx: Context, one: int, other: int) -> bytes | None:
    """The edge that already records a conflict of two nodes, whichever came first."""
    for source, target in ((one, other), (other, one)):
        for known in ctx.edges(source, "contradicts"):
            if known.target == target:
                return known.id
    return None
