"""A step function from valid time to what a lineage says: a version by its number, a hole, or nothing."""

from __future__ import annotations

from typing import NamedTuple

from worlddb.log.model.times import ALWAYS, FOREVER

NOTHING = 0
"""Nobody has said anything of these times."""
HOLE = -1
"""Somebody has said that nothing holds."""

Line = tuple[tuple[int, int], ...]
"""Moments in order, and what is so from each of them on."""
UNSAID: Line = ((ALWAYS, NOTHING),)


class Span(NamedTuple):
    start: int
    end: int
    what: int


def at(line: Line, moment: int) -> int:
    """What is so at a moment."""
    return [what for start, what in line if start <= moment][-1]


def spans(line: Line) -> list[Span]:
    """The spans in which the same is so."""
    ends = [start for start, _ in line[1:]] + [FOREVER]
    return [Span(start, end, what) for (start, what), end in zip(line, ends, strict=True)]


def changed(line: Line, start: int, end: int, what: int) -> Line:
    """The line with something else in a window."""
    moments = sorted({moment for moment, _ in line} | ({start, end} - {FOREVER} if start < end else set()))
    told = [(moment, what if start <= moment < end else at(line, moment)) for moment in moments]
    return tuple(step for number, step in enumerate(told) if not number or told[number - 1][1] != step[1])


Pieces = tuple[tuple[int, int], ...]
"""Half-open spans in order, none empty, no two of which touch."""


def without(pieces: Pieces, start: int, end: int) -> Pieces:
    """What is left of spans when a window is taken away."""
    if start >= end:
        return pieces
    left = [half for one, until in pieces for half in ((one, min(until, start)), (max(one, end), until))]
    return tuple((one, until) for one, until in left if one < until)
