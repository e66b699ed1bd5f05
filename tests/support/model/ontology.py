"""Finds by brute force which registration holds for an edge, and lists types to register."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from worlddb import HandledEdge, HandlerContext, Insert, PlainHandler

ROOT = 0


class Tagged(PlainHandler):
    """An edge type whose version says which handler decided."""

    def __init__(self, name: str, version: int, log: list[str] | None = None) -> None:
        self.name = name
        self.version = version
        self.log = log

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        if self.log is not None:
            self.log.append(f"{self.name} {self.version}")
        return Insert.WRITE


class Showing(Tagged):
    """Edges of it are shown as conflicts."""

    def on_query_rewrite(self, query: Any) -> Any:
        return query.show_conflicts(self.name)


class Widening(Tagged):
    """A filter by type sees what is below along it."""

    def on_query_rewrite(self, query: Any) -> Any:
        return query.widen_types(self.name)


class Registered(NamedTuple):
    """A registration in the model: commit, world, version, and whether it is functional."""

    seq: int
    world: int
    version: int
    functional: bool


def steps_up(containers: dict[int, set[int]], start: int) -> dict[int, int]:
    """The fewest steps from a world to each of its containers, relaxed to a fixed point."""
    found = {start: 0}
    changed = True
    while changed:
        changed = False
        for world, steps in list(found.items()):
            for above in containers.get(world, set()):
                if steps + 1 < found.get(above, 1_000_000):
                    found[above] = steps + 1
                    changed = True
    return found


def nearest(containers: dict[int, set[int]], known: list[Registered], home: int) -> Registered | None:
    """The registration that holds in a world: fewest steps, earliest commit, oldest world."""
    steps = steps_up(containers, home)
    ranked = sorted((steps[one.world], one.seq, one.world) for one in known if one.world in steps)
    return next(iter([one for one in known if ranked and (one.seq, one.world) == ranked[0][1:]]), None)


def overlapping(edges: list[tuple[int, int, int, int]], start: int, end: int, target: int) -> Iterator[int]:
    """The other targets of (number, target, start, end) edges valid during ``[start, end)``."""
    for _, other, begins, ends in edges:
        if other != target and any(begins <= moment < ends for moment in range(start, end)):
            yield other
