"""A step function from valid time to what a lineage says: a version by its number, a hole, or nothing.

It is written from the design, and knows nothing of rows, events or tables of the engine. The plain model has one for
each world; :class:`Timeline` is one by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from worlddb.log.model.times import ALWAYS, FOREVER

NOTHING = 0
"""Nobody has said anything of these times."""
HOLE = -1
"""Somebody has said that nothing holds."""

Line = tuple[tuple[int, int], ...]
"""Moments in order, and what is so from each of them on."""
UNSAID: Line = ((ALWAYS, NOTHING),)


def _start(step: tuple[int, int]) -> int:
    return step[0]


class Span(NamedTuple):
    start: int
    end: int
    what: int


def at(line: Line, moment: int) -> int:
    """What is so at a moment."""
    return line[bisect_right(line, moment, key=_start) - 1][1]


def versions_at(line: Line, moments: Sequence[int]) -> list[int]:
    """The version that holds at each moment, 0 for none."""
    starts = [start for start, _ in line]
    return [max(NOTHING, line[bisect_right(starts, moment) - 1][1]) for moment in moments]


def spans(line: Line) -> list[Span]:
    """The spans in which the same is so."""
    ends = [start for start, _ in line[1:]] + [FOREVER]
    return [Span(start, end, what) for (start, what), end in zip(line, ends, strict=True)]


def with_value(line: Line, start: int, end: int, what: int) -> Line:
    """The line with another value in a window."""
    moments = sorted({moment for moment, _ in line} | ({start, end} - {FOREVER} if start < end else set()))
    versions_at = [(moment, what if start <= moment < end else at(line, moment)) for moment in moments]
    return tuple(step for number, step in enumerate(versions_at) if not number or versions_at[number - 1][1] != step[1])


Pieces = tuple[tuple[int, int], ...]
"""Half-open spans in order, none empty, no two of which touch."""


def subtract(pieces: Pieces, start: int, end: int) -> Pieces:
    """The spans without a window."""
    if start >= end:
        return pieces
    left = [half for one, until in pieces for half in ((one, min(until, start)), (max(one, end), until))]
    return tuple((one, until) for one, until in left if one < until)


class Start(NamedTuple):
    """Where a statement begins, and whether somebody said so."""

    at: int
    stated: bool | None


def times_of(line: Line, what: int) -> Pieces:
    """When something is so."""
    return tuple((span.start, span.end) for span in spans(line) if span.what == what)


def window(
    line: Line, starts: Sequence[Start], start: int, end: int | None, *, replace_later: bool = False
) -> tuple[int, int]:
    """The window that a statement takes: up to its end, else to the next stated start or hole.

    ``starts`` are those of the versions, in the order of their numbers.
    """
    if end is not None:
        return start, end
    stops = [span.start for span in spans(line) if span.what == HOLE]
    if replace_later:
        stops = stops[-1:] if line[-1][1] == HOLE else []
    else:
        holding = [starts[span.what - 1] for span in spans(line) if span.what > 0]
        stops += [begun.at for begun in holding if begun.stated]
    return start, min((stop for stop in stops if stop > start), default=FOREVER)


class Timeline:
    """What one lineage says. Statements are numbered from 1 on."""

    def __init__(self) -> None:
        self.line = UNSAID
        self.starts: list[Start] = []

    def say(self, start: Start, end: int | None, *, replace_later: bool = False) -> int:
        """A statement; its number."""
        taken = window(self.line, self.starts, start.at, end, replace_later=replace_later)
        self.starts.append(start)
        self.take(*taken, len(self.starts))
        return len(self.starts)

    def take(self, start: int, end: int, what: int) -> None:
        """Let something, or a hole, be in a window, and what was before and behind go on."""
        self.line = with_value(self.line, start, end, what)

    @property
    def last_hole(self) -> int:
        """Where the hole begins that nothing follows; for ever, if there is none."""
        start, what = self.line[-1]
        return start if what == HOLE else FOREVER

    def spans(self, number: int) -> list[tuple[int, int]]:
        """When a statement holds."""
        return list(times_of(self.line, number))

    def held(self) -> dict[int, list[tuple[int, int]]]:
        """When each statement holds that holds at any time."""
        found: dict[int, list[tuple[int, int]]] = {}
        for start, end, what in spans(self.line):
            if what > NOTHING:
                found.setdefault(what, []).append((start, end))
        return found
