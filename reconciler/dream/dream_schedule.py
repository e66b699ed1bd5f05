"""When Dream State runs by itself: after a number of events, on a schedule, or when the store is idle. Pure.

Times are seconds of a clock that only goes on; nothing here reads one.
"""

from collections.abc import Callable
from datetime import timedelta

import msgspec

from worlddb.log.model import errors, limits, times


class DreamSchedule(msgspec.Struct, frozen=True, kw_only=True, metaclass=limits.TypedFields):
    """When a handle with ``background=True`` runs Dream State (Kumiho, §9): as soon as one condition holds.

    ``events``: after this many new events; ``every``: after this time, a ``timedelta`` or seconds; ``idle``: when
    nothing was written for this time. Without new events it never runs.
    """

    events: int | None = None
    every: timedelta | float | None = None
    idle: timedelta | float | None = None


def checked(given: DreamSchedule | int) -> DreamSchedule:
    """A given schedule, checked; a number alone counts events.

    Raises:
        InputError: it is none, says nothing, or one of its fields is out of range.
    """
    schedule = given if isinstance(given, DreamSchedule) else DreamSchedule(events=given)
    if schedule.events is not None:
        limits.checked_number(schedule.events, "dream", 1, limits.HIGHEST_SEQ)
    for what in ("every", "idle"):
        if (length := getattr(schedule, what)) is not None:
            times.parse_duration(length, what)
    if schedule == DreamSchedule():
        raise errors.InputError("The schedule has no condition", "Give events, every or idle")
    return schedule


class DreamAlarm:
    """Decides from the last run and the events since when a handle runs again."""

    def __init__(self, schedule: DreamSchedule, now: float) -> None:
        self._schedule = schedule
        self._every, self._idle = (_seconds(length) for length in (schedule.every, schedule.idle))
        self._dreamt = self._head = 0
        self._ran_at = self._written_at = self._looked_at = now

    @property
    def is_timed(self) -> bool:
        """True if the schedule needs a timer, and not only writes."""
        return self._every is not None or self._idle is not None

    def is_due(self, now: float, head: int, events_after: Callable[[int], int]) -> bool:
        """True if a run is due; ``events_after`` counts the events of the commits after one, up to ``head``."""
        self._looked_at = now
        if head != self._head:
            self._head, self._written_at = head, now
        if head <= self._dreamt:
            return False
        if self._every is not None and now - self._ran_at >= self._every:
            return True
        if self._idle is not None and now - self._written_at >= self._idle:
            return True
        return self._schedule.events is not None and events_after(self._dreamt) >= self._schedule.events

    def ran(self, now: float, head: int) -> None:
        """Record a run, and the last commit that it covered."""
        self._dreamt = self._head = head
        self._ran_at = self._written_at = now

    def seconds_left(self, now: float) -> float | None:
        """Seconds until the next check; ``None`` if only writes can make a run due."""
        ends = [
            since + length
            for since, length in ((self._ran_at, self._every), (self._written_at, self._idle))
            if length is not None
        ]
        if not ends:
            return None
        ahead = [end for end in ends if end > self._looked_at]
        # What is over and was looked at had nothing new; only a write makes it due, which others may do unseen.
        soonest = min(ahead) if ahead else self._looked_at + min(filter(None, (self._every, self._idle)))
        return max(soonest - now, 0.0)


def _seconds(length: timedelta | float | None) -> float | None:
    return None if length is None else times.parse_duration(length) / 1_000_000
