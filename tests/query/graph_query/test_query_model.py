"""Compares every query operator with a plain reading of its definition."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.faults.growth import EDGES, TYPES, Growth
from worlddb import Edge, Query, View, World
from worlddb.query.graph_query.traversal import Ground

STORES = 3
QUERIES = 60


class Plain:
    """A query, worked out world by world."""

    def __init__(self, view: View, closed: bool, world: str | None) -> None:
        self.view = view
        self.closed = closed
        self.world: str | None = None
        self.inside: set[str] | None = None
        if world is not None:
            self.stay_inside(world)
        self.order = [each.ref for each in view.find(world=world, include_superseded=closed)]
        self.walked: set[str] = set()

    def stay_inside(self, world: str) -> None:
        self.world = world
        self.inside = {each.ref for each in self.view.find(world=world, include_superseded=True)} | {world}

    def get(self, ref: str) -> World | None:
        return self.view.get(ref, include_superseded=self.closed)

    def sees(self, ref: str) -> bool:
        return self.inside is None or ref in self.inside

    def steps(self, ref: str, types: tuple[str, ...], direction: str) -> Iterator[tuple[Edge, str]]:
        """The edges that may be walked from a world, and where they lead."""
        for edge in self.view.edges(ref, direction=direction, include_superseded=self.closed):
            if edge.type not in types if types else edge.type == "contains":
                continue
            forwards = edge.source == ref
            end = edge.target if forwards else edge.source
            may_go = self.sees(end) or (forwards and edge.type == "refers_to")
            if may_go and self.get(end) is not None:
                yield edge, end

    def traverse(self, types: tuple[str, ...], depth: int, direction: str, keep: bool) -> None:
        found = dict.fromkeys(self.order if keep else ())
        level, visited = self.order, set(self.order)
        for _ in range(depth):
            arrived: dict[str, None] = {}
            for ref in level:
                for edge, end in self.steps(ref, types, direction):
                    self.walked.add(edge.ref)
                    found[end] = arrived[end] = None
            level = [ref for ref in arrived if ref not in visited]
            visited.update(arrived)
        self.order = list(found)

    def keep(self, fits: Callable[[str], bool]) -> None:
        self.order = [ref for ref in self.order if fits(ref)]

    def sort(self, key: Callable[[World], Any], backwards: bool) -> None:
        log = {each.ref: place for place, each in enumerate(self.view.find(include_superseded=True))}
        worlds = sorted((self.shown(ref) for ref in self.order), key=lambda world: log.get(world.ref, -1))
        self.order = [world.ref for world in sorted(worlds, key=key, reverse=backwards)]

    def shown(self, ref: str) -> World:
        world = self.get(ref)
        assert world is not None
        return world


def drawn(rng: random.Random, view: View, refs: list[str]) -> tuple[Query, Plain]:
    """A query of up to four operators, and the same worked out plainly."""
    closed, world = rng.random() < 0.4, rng.choice([None, None, *refs[:6]])
    query, plain = Query.of(world=world), Plain(view, closed, world)
    if rng.random() < 0.5:
        seeds = rng.sample(refs, 3)
        query = Query.of(seeds=seeds, world=world)
        plain.order = [ref for ref in seeds if plain.sees(ref) and plain.get(ref) is not None]
    query = query.include_superseded() if closed else query
    for _ in range(rng.randint(1, 4)):
        query = rng.choice(OPERATORS)(query, plain, rng, refs)
    return query, plain


def _walk(query: Query, plain: Plain, rng: random.Random, refs: list[str]) -> Query:
    types = tuple(rng.sample(EDGES, rng.choice((0, 1, 3))))
    depth, direction, keep = rng.randint(1, 3), rng.choice(("out", "in", "both")), rng.random() < 0.3
    plain.traverse(types, depth, direction, keep)
    return query.traverse(*types, depth=depth, direction=direction, keep=keep)


def _type(query: Query, plain: Plain, rng: random.Random, refs: list[str]) -> Query:
    """Compare a filter by type with ``find``, which looks strictly inside."""
    held = {each.ref for each in plain.view.find(world=plain.world, include_superseded=True)}
    if not held.issuperset(plain.order):
        return query
    names = rng.sample(TYPES, rng.randint(1, 2))
    found = [plain.view.find(type=name, world=plain.world, include_superseded=plain.closed) for name in names]
    fitting = {each.ref for some in found for each in some}
    plain.keep(fitting.__contains__)
    return query.filter_type(*names)


def _connected(query: Query, plain: Plain, rng: random.Random, refs: list[str]) -> Query:
    name, direction, absent = rng.choice(EDGES), rng.choice(("out", "in", "both")), rng.random() < 0.4
    to = rng.choice([None, None, *refs])

    def connected(ref: str) -> bool:
        return any(to in (None, end) for _, end in plain.steps(ref, (name,), direction))

    plain.keep(lambda ref: connected(ref) != absent)
    return query.where_connected(name, direction, to, absent=absent)


def _inside(query: Query, plain: Plain, rng: random.Random, refs: list[str]) -> Query:
    world = rng.choice(refs)
    held = {each.ref for each in plain.view.find(world=world, include_superseded=True)}
    plain.keep(lambda ref: ref in held and plain.sees(ref))
    if plain.sees(world):
        plain.stay_inside(world)
    return query.in_world(world)


def _order(query: Query, plain: Plain, rng: random.Random, refs: list[str]) -> Query:
    name, backwards = rng.choice(list(KEYS)), rng.random() < 0.5
    plain.sort(KEYS[name], backwards)
    return query.order(name, descending=backwards)


def _limit(query: Query, plain: Plain, rng: random.Random, refs: list[str]) -> Query:
    count = rng.randint(0, 12)
    plain.order = plain.order[:count]
    return query.limit(count)


KEYS: dict[str, Callable[[World], Any]] = {
    "name": lambda world: world.name.casefold(),
    "type": lambda world: world.type,
    "valid_from": lambda world: world.valid.start,
    "valid_to": lambda world: world.valid.end,
    "learned": lambda world: world.seq,
}
OPERATORS = (_walk, _walk, _walk, _type, _connected, _inside, _order, _limit)


def compared(folder: Path, seed: int, queries: int) -> Counter[str]:
    """So many queries of a store that grew at random, each held against its plain reading."""
    rng, clock, seen = random.Random(seed), worlddb.ManualClock(), Counter[str]()
    with worlddb.open(folder, clock=clock, entropy=worlddb.SeededEntropy(seed)) as db:
        growth = Growth(db, clock, seed)
        growth.grow(70)
        view, refs = db.view(), list(dict.fromkeys(growth.worlds))
        for _ in range(queries):
            query, plain = drawn(rng, view, refs)
            found = view.run(query)
            assert list(found.refs) == plain.order, str(query)
            assert {edge.ref for edge in found.edges} <= plain.walked, str(query)
            assert {end for edge in found.edges for end in (edge.source, edge.target)} <= {*found.refs, *found.passed}
            assert [world for world in found] == [plain.shown(ref) for ref in plain.order]
            seen["found"] += bool(found.refs)
            seen["walked"] += bool(found.edges)
    return seen


def test_every_operator_does_what_it_says(tmp_path: Path, seed: int) -> None:
    seen = Counter[str]()
    for number in range(STORES):
        seen += compared(tmp_path / str(number), seed + number, QUERIES)
    assert seen["found"] > STORES * QUERIES // 4 and seen["walked"] > STORES * QUERIES // 10, seen


def test_canary_a_walk_that_ignores_direction_is_caught(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = Ground.arrivals
    monkeypatch.setattr(Ground, "arrivals", lambda self, node, types, direction: walk(self, node, types, "both"))
    with pytest.raises(AssertionError):
        compared(tmp_path / "store", seed, QUERIES)


@pytest.mark.soak
def test_every_operator_does_what_it_says_in_ten_thousand_queries(tmp_path: Path, seed: int) -> None:
    for number in range(100):
        compared(tmp_path / str(number), seed + number, 100)
        shutil.rmtree(tmp_path / str(number))
