"""A scheduler of actors in simulated time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

from worlddb import ManualClock

Actor = Iterator[int]
"""What takes turns; each turn ends with how many microseconds to wait until the next."""


class _Turn(NamedTuple):
    due: int
    order: int
    actor: Actor


class Schedule:
    """Decides whose turn it is; of those due at one time, the one that waited longest."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.skew = 0
        """How far the clock that everybody reads is from the time that really passes, in microseconds."""
        self._now = clock.value
        self._turns: list[_Turn] = []
        self._order = 0

    def start(self, actor: Actor, delay: int) -> None:
        """Give an actor its first turn after a delay."""
        self._order += 1
        heapq.heappush(self._turns, _Turn(self._now + delay, self._order, actor))

    def run(self, turns: int) -> None:
        """Run a number of turns, or fewer if no actor wants one."""
        for _ in range(turns):
            if not self._turns:
                return
            due, _, actor = heapq.heappop(self._turns)
            self._now = due
            self.clock.value = due + self.skew
            delay = next(actor, None)
            if delay is not None:
                self.start(actor, delay)
