"""Supersession: which worlds end, and which follow, when one statement replaces another.

A statement may begin before the one that it corrects had begun, or take a place that another takes from later on.
"""

from collections import Counter
from typing import Final, NamedTuple

from worlddb.log.model.times import FOREVER, Interval
from worlddb.reconciler.edge_types.handler import HandledEdge, HandlerContext

SUPERSEDES: Final = "supersedes"
CONTRADICTS: Final = "contradicts"
MAX_CONFLICTS_TOLD: Final = 20
"""How many of the worlds that one contradicted are told of when it ends, of each world that says so."""


class Takeover(NamedTuple):
    """The time from which something is taken, and the world that takes it."""

    begins: int
    world: int


class Successor(NamedTuple):
    """The world that takes another's place, from when, and the home of the edge that says so."""

    begins: int
    world: int
    home: int


def began_by(ctx: HandlerContext, world: int, at: int) -> bool:
    """True if a world is valid at some time, and began at or before ``at``."""
    return any(span.start <= at for span in ctx.spans(world))


def first_held(ctx: HandlerContext, world: int) -> int | None:
    """The earliest start of validity of a world; ``None`` if it is valid at no time."""
    return min((span.start for span in ctx.spans(world)), default=None)


def end_predecessors(ctx: HandlerContext, world: int, at: int, by: bytes) -> None:
    """End all predecessors of a world, at any remove, no later than ``at``.

    ``at`` is a time before that world began.

    What it replaced had been closed where it began, and would hold beside the one that begins earlier now; ``by`` is
    the full reference of that one. Beyond what had begun by then nothing is looked at: its own predecessors had ended.
    """
    pending, seen = [world], {world}
    for node in pending:
        for edge in list(ctx.edges(node, SUPERSEDES)):
            if edge.target in seen or not _is_in_force(edge):
                continue
            seen.add(edge.target)
            began = began_by(ctx, edge.target, at)
            note_conflicts_left(ctx, edge.target, at, by)
            if ctx.close(edge.target, at, by=by):
                ctx.note("ends_earlier" if began else "never_valid", ctx.lineage(edge.target))
            if not began:
                pending.append(edge.target)


def first_takeover(ctx: HandlerContext, world: int, begins: int) -> Takeover:
    """The earliest takeover of the place of a world that begins at ``begins``.

    It is the world itself, or a successor that took its place before it had begun.
    """
    found = Takeover(begins, world)
    pending, seen = [world], {world}
    for node in pending:
        for edge in ctx.edges(node, SUPERSEDES, incoming=True):
            if edge.source in seen or not _is_in_force(edge) or began_by(ctx, node, edge.valid_from):
                continue
            seen.add(edge.source)
            pending.append(edge.source)
            if edge.valid_from < found.begins:
                found = Takeover(edge.valid_from, edge.source)
    return found


def next_successor(ctx: HandlerContext, world: int, after: int) -> Successor | None:
    """The next successor of a world after a time at which it still holds.

    Of several, it is the first in log order.

    What was to take it, and holds at no time, leaves it to what took its own place.
    """
    ends = next((span.end for span in ctx.spans(world)), FOREVER)
    if ends == FOREVER or ends <= after:
        return None
    found: list[Successor] = []
    pending, seen = [world], {world}
    for node in pending:
        for edge in ctx.edges(node, SUPERSEDES, incoming=True):
            if edge.source in seen or not _is_in_force(edge):
                continue
            seen.add(edge.source)
            starts = [span.start for span in ctx.spans(edge.source)]
            if starts:
                found.append(Successor(max(ends, min(starts)), edge.source, edge.home))
            else:
                pending.append(edge.source)
    return min(found, key=lambda heir: heir.begins, default=None)


def predecessors_left(ctx: HandlerContext, world: int) -> list[int]:
    """The predecessors of a world that ended just where it begins.

    They include those reached by way of worlds that are never valid. If the world comes to be valid at no time either,
    nothing follows them.
    """
    begins = first_held(ctx, world)
    found: list[int] = []
    pending, seen = [world] if begins is not None else [], {world}
    for node in pending:
        for edge in ctx.edges(node, SUPERSEDES):
            if edge.target in seen or not _is_in_force(edge):
                continue
            seen.add(edge.target)
            ends = next((span.end for span in ctx.spans(edge.target)), None)
            if ends is None:
                pending.append(edge.target)
            elif ends == begins:
                found.append(edge.target)
    return found


def note_conflicts_left(ctx: HandlerContext, world: int, at: int, by: bytes) -> None:
    """Note which contradictions of a world end from ``at`` on, where it is about to be closed.

    A contradiction is of two statements that hold, so it is over with one of them, and nobody has said of what takes
    its place that it contradicts the other one. What takes it is not told of itself.
    """
    lost = [piece for span in ctx.spans(world) if not (piece := span.intersect(Interval(at, FOREVER))).is_empty]
    told: Counter[int] = Counter()
    for incoming in (False, True):
        for edge in ctx.edges(world, CONTRADICTS, incoming=incoming) if lost else ():
            other = edge.source if incoming else edge.target
            if ctx.lineage(other) == by or told[edge.home] == MAX_CONFLICTS_TOLD:
                continue
            if not _is_open(ctx, edge, other, lost):
                continue
            told[edge.home] += 1
            ctx.note("conflict_left", ctx.lineage(world), ctx.lineage(other))


def _is_open(ctx: HandlerContext, edge: HandledEdge, other: int, pieces: list[Interval]) -> bool:
    """True if a contradiction is in force at some time of these pieces."""
    said = Interval(edge.valid_from, edge.valid_to)
    return any(not piece.intersect(said).intersect(span).is_empty for piece in pieces for span in ctx.spans(other))


def _is_in_force(edge: HandledEdge) -> bool:
    """True if an edge is in force at any time."""
    return edge.valid_from < edge.valid_to
