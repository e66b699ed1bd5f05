"""A lineage as a timeline, said plainly: a dictionary from valid time to what holds from there, one a commit.

It is written from the design, and knows nothing of versions' rows, events or tables.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from worlddb import FOREVER

BEGINNING: Final = -(2**63)
HOLE: Final = -1
"""It was said that nothing holds."""


class Start(NamedTuple):
    """Where a statement begins, and whether somebody said so."""

    at: int
    stated: bool


class Timeline:
    """What one lineage says. Statements are numbered from 1 on; 0 is nothing, :data:`HOLE` what was taken back."""

    def __init__(self) -> None:
        self.line: dict[int, int] = {BEGINNING: 0}
        self.starts: dict[int, Start] = {}

    def at(self, valid: int) -> int:
        """What holds at a time."""
        return self.line[max(start for start in self.line if start <= valid)]

    @property
    def ends_with(self) -> int:
        """What holds for ever after."""
        return self.line[max(self.line)]

    @property
    def last_hole(self) -> int:
        """Where the hole begins that nothing follows; for ever, if there is none."""
        if self.ends_with != HOLE:
            return FOREVER
        found = FOREVER
        for start in sorted(self.line, reverse=True):
            if self.line[start] != HOLE:
                return found
            found = start
        return found

    def window(self, start: int, end: int | None, *, replace_later: bool = False) -> tuple[int, int]:
        """The window that a statement takes."""
        if end is not None:
            return start, end
        if replace_later:
            return start, max(start, self.last_hole)
        holding = set(self.line.values())
        stops = [said.at for number, said in self.starts.items() if said.stated and number in holding]
        before = 0
        for at in sorted(self.line):
            if self.line[at] == HOLE and before != HOLE:
                stops.append(at)
            before = self.line[at]
        return start, min((stop for stop in stops if stop > start), default=FOREVER)

    def say(self, start: Start, end: int | None, *, replace_later: bool = False) -> int:
        """A statement; its number."""
        window = self.window(start.at, end, replace_later=replace_later)
        number = len(self.starts) + 1
        self.starts[number] = start
        self.take(*window, number)
        return number

    def take(self, start: int, end: int, what: int) -> None:
        """Let something, or nothing, hold in a window, and what held before and behind go on."""
        if start >= end:
            return
        behind = {} if end == FOREVER else {end: self.at(end)}
        kept = {at: number for at, number in self.line.items() if at < start or end < at < FOREVER}
        self.line = kept | {start: what} | behind if end < FOREVER else self._before(start) | {start: what}

    def _before(self, start: int) -> dict[int, int]:
        return {at: number for at, number in self.line.items() if at < start}

    def spans(self, number: int) -> list[tuple[int, int]]:
        """When a statement holds."""
        found: list[tuple[int, int]] = []
        order = sorted(self.line)
        for at, start in enumerate(order):
            end = order[at + 1] if at + 1 < len(order) else FOREVER
            if self.line[start] == number:
                if found and found[-1][1] == start:
                    found[-1] = found[-1][0], end
                else:
                    found.append((start, end))
        return found
