"""Compares queries inside a world with the model, worked out one edge at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.support.model.reads import Reads
from tests.support.model.state import ROOT
from worlddb import Query, View

if TYPE_CHECKING:
    from tests.support.isolation.inside import Inside

DEPTH = 2
DIRECTIONS = ("out", "both", "in")
"""Which one is asked about is drawn by number: all of them, of one world or another."""


def reachable_worlds(reads: Reads, start: int, direction: str, inside: Callable[[int], bool]) -> set[int]:
    """The worlds up to :data:`DEPTH` edges away by steps inside or along ``refers_to``."""
    found: set[int] = set()
    level, visited = {start}, {start}
    for _ in range(DEPTH):
        arrived: set[int] = set()
        for edge in reads.state.edges.values():
            if edge.type == "contains" or not edge.in_force(reads.valid):
                continue
            ways = ([(edge.source, edge.target, True)] if direction != "in" else []) + (
                [(edge.target, edge.source, False)] if direction != "out" else []
            )
            for origin, end, forwards in ways:
                may_go = inside(end) or (forwards and edge.type == "refers_to")
                if origin in level and may_go and reads.version_at(end) is not None:
                    arrived.add(end)
        found |= arrived
        level = arrived - visited
        visited |= arrived
    return found


def check_confined(found: Inside) -> None:
    """Queries that name nothing, and traversals from every world, equal the reduced model's."""
    view, reads, refs = found.view, found.reads, found.names.refs
    seen = {number for number in found.inside - {found.top} if reads.version_at(number) is not None}
    everything = view.query().run()
    assert set(everything.refs) == {refs[number] for number in seen}
    assert set(view.query().unify().run().refs) <= set(everything.refs)
    assert view.query().facets("world").run().facets["world"].keys() <= {refs[number] for number in found.inside}
    for number in found.inside:
        if reads.version_at(number) is None:
            assert view.query(seeds=refs[number]).run().refs == ()
            continue
        direction = DIRECTIONS[number % len(DIRECTIONS)]
        answer = view.query(seeds=refs[number]).traverse(direction=direction, depth=DEPTH).run()
        expected = reachable_worlds(reads, number, direction, lambda end: end in found.inside)
        assert set(answer.refs) == {refs[end] for end in expected}
        assert set(answer.passed) <= {refs[each] for each in found.inside}
    earlier = max(1, view.seq - 2)
    shown = set(view.query().include_superseded().run().refs) | {refs[found.top]}
    past = view.run(Query.of().include_superseded().as_of(seq=earlier, valid=view.valid))
    assert set(past.refs) <= shown


def check_scoped(view: View, reads: Reads, top: int) -> None:
    """Queries inside a world see nothing from outside, except along ``refers_to``."""
    refs = reads.names.refs
    inside = reads.inside(top)
    seen = {refs[number] for number in inside if reads.version_at(number) is not None}
    assert set(view.query(world=refs[top]).run().refs) == seen
    assert set(view.query().in_world(refs[top]).run().refs) == seen
    for number in inside | {top}:
        direction = DIRECTIONS[(number + top) % len(DIRECTIONS)]
        answer = view.query(seeds=refs[number], world=refs[top]).traverse(direction=direction, depth=DEPTH).run()
        expected: set[int] = set()
        if reads.version_at(number) is not None:
            expected = reachable_worlds(reads, number, direction, lambda end: top in (end, ROOT) or end in inside)
        assert set(answer.refs) == {refs[end] for end in expected}
