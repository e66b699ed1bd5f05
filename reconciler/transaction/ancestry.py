"""Containment remembered while nothing is written, so that each way up is walked once.

Worlds that each have one container are kept as paths: of two worlds on one path, their places tell which contains the
other. A chain of thousands of worlds is one path; where worlds have several containers, paths part.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Final

MOST_KEPT: Final = 64
"""The members of a world are kept if they are not more: in a deep structure most worlds have few."""


class _Path:
    """A path of worlds, each in the one before it and in no other; ``above`` contain the first."""

    def __init__(self, above: Sequence[int]) -> None:
        self.above = above
        self.length = 0


class Ancestry:
    """Containment as ``containers`` and ``members`` tell it.

    Their answers must not change while this is used.
    """

    def __init__(self, containers: Callable[[int], Sequence[int]], members: Callable[[int], Iterable[int]]) -> None:
        self._read = containers
        self._members = members
        self._above: dict[int, Sequence[int]] = {}
        self._places: dict[int, tuple[_Path, int]] = {}
        self._known: dict[int, list[int]] = {}

    def containers(self, node: int) -> Sequence[int]:
        """The worlds that contain a world, read once."""
        known = self._above.get(node)
        if known is None:
            known = self._above[node] = self._read(node)
        return known

    def members(self, world: int) -> Iterable[int]:
        """The members of a world; those of a world with few are read once."""
        known = self._known.get(world)
        if known is None:
            rest = iter(self._members(world))
            known = list(islice(rest, MOST_KEPT + 1))
            if len(known) > MOST_KEPT:
                return chain(known, rest)
            self._known[world] = known
        return known

    def is_inside(self, node: int, world: int) -> bool:
        """True if a world contains another, directly or through others, or is it."""
        pending, passed = [node], set[_Path]()
        while pending:
            path, place = self._place(pending.pop())
            there = self._places.get(world)
            if there is not None and there[0] is path and there[1] <= place:
                return True
            if path not in passed:
                passed.add(path)
                pending.extend(path.above)
        return False

    def _place(self, node: int) -> tuple[_Path, int]:
        """The path of a world and its place on it, counted from above."""
        walked: list[int] = []
        above: Sequence[int] = (node,)
        while len(above) == 1 and above[0] not in self._places:
            walked.append(above[0])
            above = self.containers(above[0])
        if walked:
            known = self._places.get(above[0]) if len(above) == 1 else None
            if known is not None and known[1] + 1 == known[0].length:
                path = known[0]
            else:
                path = _Path(above)
            for here in reversed(walked):
                self._places[here] = (path, path.length)
                path.length += 1
        return self._places[node]
