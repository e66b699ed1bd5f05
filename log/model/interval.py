"""The algebra of half-open validity intervals ``[start, end)`` (paper §2.3)."""

from __future__ import annotations

from typing import NamedTuple

from worlddb.log.model.errors import InvalidInterval
from worlddb.log.model.times import FOREVER, format_time


class Interval(NamedTuple):
    """``[start, end)`` in microseconds; ``end`` is :data:`FOREVER` while open, ``start == end`` is empty."""

    start: int
    end: int

    @property
    def is_open(self) -> bool:
        return self.end == FOREVER

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end

    def contains(self, moment: int) -> bool:
        """True exactly for ``start <= moment < end``: at the closing instant the fact is gone."""
        return self.start <= moment < self.end

    def overlaps(self, other: Interval) -> bool:
        """True if some instant lies in both; an empty interval overlaps nothing."""
        return max(self.start, other.start) < min(self.end, other.end)

    def covers(self, other: Interval) -> bool:
        """True if every instant of ``other`` lies in this one; an empty interval is covered by nothing."""
        return self.start <= other.start < other.end <= self.end

    def intersect(self, other: Interval) -> Interval:
        """The instants in both; empty intervals are normalised to ``[start, start)``."""
        start = max(self.start, other.start)
        return Interval(start, max(start, min(self.end, other.end)))

    def tighten(self, end: int) -> Interval:
        """The interval closed at ``end``: never later than before, never before its own start (law 8)."""
        return Interval(self.start, max(self.start, min(self.end, end)))


def checked_interval(start: int, end: int, what: str = "valid") -> Interval:
    """The interval, if it does not end before it begins.

    Raises:
        InvalidInterval: ``end < start``.
    """
    if end < start:
        raise InvalidInterval(
            f"{what}_to {format_time(end)} lies before {what}_from {format_time(start)}",
            "Swap the two, or leave the end open",
        )
    return Interval(start, end)
