"""Supersession: which worlds end, and which follow, when one statement replaces another.

A statement may begin before the one that it corrects had begun, or take a place that another takes from later on. Of
the worlds that ``supersedes`` joins at most one holds at a time, whatever the order in which they were joined: beneath
one that replaces another, directly or not, nothing holds from where it begins; of two of which neither replaces the
other, the one that begins later holds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from worlddb.log.model.times import ALWAYS, FOREVER, Interval
from worlddb.reconciler.edge_types.handler import HandledEdge, HandlerContext

SUPERSEDES: Final = "supersedes"
CONTRADICTS: Final = "contradicts"
MAX_CONFLICTS_TOLD: Final = 20
"""How many of the worlds that one contradicted are told of when it ends, of each world that says so."""


class Takeover(NamedTuple):
    """The time from which something is taken, and the world that takes it."""

    begins: int
    world: int


class Statement(NamedTuple):
    """A span in which a version of a world holds.

    The order is that of succession: of two statements the one that begins later holds, and of two that begin at one
    time the one that was written later.
    """

    begins: int
    seq: int
    world: int
    span: Interval


class Succession(HandlerContext, Protocol):
    """What deciding a succession needs beyond what every handler may do."""

    def held(self, node: int, /) -> list[Statement]: ...

    def starts(self, node: int, /) -> set[int]: ...

    def lose(self, node: int, window: Interval, /, *, by: bytes = b"") -> bool: ...

    def void(self, node: int, window: Interval, /) -> None: ...
    def times_of(self, edge: HandledEdge, /) -> tuple[Interval, ...]: ...


def began_by(ctx: HandlerContext, world: int, at: int) -> bool:
    """True if a world is valid at some time, and began at or before ``at``."""
    return any(span.start <= at for span in ctx.spans(world))


def first_held(ctx: HandlerContext, world: int) -> int | None:
    """The earliest start of validity of a world; ``None`` if it is valid at no time."""
    return min((span.start for span in ctx.spans(world)), default=None)


def end_predecessors(ctx: Succession, world: int, at: int, by: bytes) -> None:
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
            window = Interval(at, FOREVER)
            note_conflicts_left(ctx, edge.target, window, by)
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


def is_joined(ctx: HandlerContext, world: int) -> bool:
    """True if ``supersedes`` joins a world with another one."""
    return next(_said_of(ctx, world), None) is not None


def replaces_from(ctx: HandlerContext, world: int, at: int) -> bool:
    """True if a world is said to replace another just from ``at`` on.

    While no version of it begins there, the two hold beside each other until then; once one does, that is said no more.
    """
    return any(edge.valid_from == at for edge in ctx.edges(world, SUPERSEDES))


def _said_of(ctx: HandlerContext, world: int) -> Iterator[HandledEdge]:
    """The ``supersedes`` edges of a world, in both directions."""
    for incoming in (False, True):
        yield from ctx.edges(world, SUPERSEDES, incoming=incoming)


def joined(ctx: Succession, worlds: Iterable[int], from_when: dict[tuple[int, int], int]) -> list[int]:
    """Some worlds, and those that ``supersedes`` joins with them, in either direction and at any remove.

    ``from_when`` is told of pairs, newer and older, from when the one replaces the other, where that is not when a
    version of the newer one begins.
    """
    found = list(dict.fromkeys(worlds))
    seen = set(found)
    for node in found:
        for incoming in (False, True):
            for edge in ctx.edges(node, SUPERSEDES, incoming=incoming):
                if not _is_in_force(edge):
                    continue
                other = edge.source if incoming else edge.target
                if other not in seen:
                    seen.add(other)
                    found.append(other)
                if not incoming:
                    # Each edge goes out from one of them.
                    _say_when(ctx, node, other, edge.valid_from, from_when)
    return found


def _say_when(ctx: Succession, newer: int, older: int, at: int, from_when: dict[tuple[int, int], int]) -> None:
    begins = ALWAYS if at in ctx.starts(newer) else at
    from_when[newer, older] = min(begins, from_when.get((newer, older), FOREVER))


def replace(ctx: Succession, source: int, target: int, at: int) -> None:
    """End a world where another one, or what had taken that one's place before it began, takes its place."""
    begins, first = first_takeover(ctx, source, at)
    by = ctx.lineage(first)
    whole = covers(ctx.held(target), Interval(begins, FOREVER)) and not began_by(ctx, source, begins - 1)
    # What held all that time held alone, but for what somebody said to hold beside it.
    alone = not is_joined(ctx, source) and not any(edge.valid_from > begins for edge in _said_of(ctx, target))
    began = began_by(ctx, target, begins)
    ctx.end(target, begins, by=by)
    if not began:
        end_predecessors(ctx, target, begins, by)
    if not (whole and alone):
        settle(ctx, source, target, at)


def settle(ctx: Succession, world: int, target: int | None = None, at: int = ALWAYS) -> None:
    """See that of the worlds that are joined with one at most one holds at a time.

    Where two would, the statement that begins later holds, and the other one loses the time that both had. Only who
    said that one replaces another later than it begins, said that they hold beside each other until then. The world is
    about to replace ``target`` from ``at`` on, if there is one.
    """
    from_when: dict[tuple[int, int], int] = {}
    nodes = joined(ctx, [world] if target is None else [world, target], from_when)
    if target is not None:
        _say_when(ctx, world, target, at, from_when)
    statements = sorted((statement for node in nodes for statement in ctx.held(node)), key=lambda each: each.span)
    moments = sorted({moment for each in statements for moment in each.span} | {*from_when.values()})
    lost: dict[tuple[int, int], list[Interval]] = {}
    holding: list[Statement] = []
    following = 0
    for begins, ends in pairwise(moments):
        holding = [each for each in holding if each.span.end > begins]
        while following < len(statements) and statements[following].span.start <= begins:
            holding.append(statements[following])
            following += 1
        _divide(holding, Interval(begins, ends), from_when, lost)
    for loser, winner in sorted(lost):
        by = ctx.lineage(winner)
        for window in lost[loser, winner]:
            note_conflicts_left(ctx, loser, window, by)
            ctx.lose(loser, window, by=by)
        ctx.note("until_successor", ctx.lineage(loser), by)


def _divide(
    holding: list[Statement],
    window: Interval,
    from_when: dict[tuple[int, int], int],
    lost: dict[tuple[int, int], list[Interval]],
) -> None:
    """Say who of those that hold throughout a window loses it, and to whom."""
    stay: list[int] = []
    for each in sorted(holding, reverse=True) if len(holding) > 1 else ():
        for winner in stay:
            pairs = (winner, each.world), (each.world, winner)
            if window.start >= max(from_when.get(pair, ALWAYS) for pair in pairs):
                windows = lost.setdefault((each.world, winner), [])
                begins = windows.pop().start if windows and windows[-1].end == window.start else window.start
                windows.append(Interval(begins, window.end))
                break
        else:
            stay.append(each.world)


def settle_apart(ctx: Succession, source: int, target: int) -> None:
    """See to two worlds of which it is no longer said that one replaces the other: others may still join them."""
    one, other = ctx.held(source), ctx.held(target)
    if any(each.span.overlaps(another.span) for each in one for another in other):
        settle(ctx, source)
        settle(ctx, target)


def covers(statements: Sequence[Statement], window: Interval) -> bool:
    """True if a world's statements leave no time of a window to others."""
    at = window.start
    for statement in statements:
        if statement.span.start <= at < statement.span.end:
            at = statement.span.end
    return at >= window.end


def predecessors_left(ctx: HandlerContext, world: int) -> list[int]:
    """The worlds that ended just where a world begins, of those that ``supersedes`` joins with it.

    They are its predecessors, and what took their place until it begins. If the world comes to be valid at no time,
    nothing follows them.
    """
    begins = first_held(ctx, world) if is_joined(ctx, world) else None
    found: list[int] = []
    pending, seen = [world] if begins is not None else [], {world}
    for node in pending:
        for edge in _said_of(ctx, node):
            other = edge.target if edge.source == node else edge.source
            if other in seen or not _is_in_force(edge):
                continue
            seen.add(other)
            pending.append(other)
            if max((span.end for span in ctx.spans(other)), default=None) == begins:
                found.append(other)
    return found


def note_conflicts_left(ctx: Succession, world: int, window: Interval, by: bytes) -> None:
    """Note which contradictions of a world end in a window, which it is about to lose.

    A contradiction is of two statements that hold, so it is over with one of them, and nobody has said of what takes
    its place that it contradicts the other one. What takes it is not told of itself.
    """
    lost: list[Interval] | None = None
    told: Counter[int] = Counter()
    for incoming in (False, True):
        for edge in ctx.edges(world, CONTRADICTS, incoming=incoming):
            if lost is None:
                lost = [piece for span in ctx.spans(world) if not (piece := span.intersect(window)).is_empty]
            other = edge.source if incoming else edge.target
            if ctx.lineage(other) == by or told[edge.home] == MAX_CONFLICTS_TOLD:
                continue
            if not _is_open(ctx, edge, other, lost):
                continue
            told[edge.home] += 1
            ctx.note("conflict_left", ctx.lineage(world), ctx.lineage(other))


def _is_open(ctx: Succession, edge: HandledEdge, other: int, pieces: list[Interval]) -> bool:
    """True if a contradiction is in force at some time of these pieces."""
    spans = list(ctx.spans(other))
    together = (piece.intersect(said) for piece in pieces for said in ctx.times_of(edge))
    return any(both.overlaps(span) for both in together for span in spans)


def _is_in_force(edge: HandledEdge) -> bool:
    """True if an edge is in force from some time on; one for a while makes a hole, and joins nothing."""
    return edge.valid_from < edge.valid_to == FOREVER
