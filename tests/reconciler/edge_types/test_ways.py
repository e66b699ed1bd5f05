"""Containment that is read once equals a walk from each world, at the cost of one walk."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.model.stores import new_store
from worlddb.reconciler.transaction import interiors
from worlddb.reconciler.transaction.interiors import MAX_KEPT, Ancestry


def random_containers(sizes: list[int], seed: int) -> dict[int, list[int]]:
    """Worlds contained in some of those before them, numbered in any order."""
    draw = random.Random(seed)
    numbers = list(range(len(sizes)))
    draw.shuffle(numbers)
    return {
        numbers[at]: sorted({numbers[draw.randrange(max(0, at - 4), at)] for _ in range(size)} if at else ())
        for at, size in enumerate(sizes)
    }


def leads_to(containers: dict[int, list[int]], node: int, world: int) -> bool:
    return node == world or any(leads_to(containers, above, world) for above in containers[node])


@given(st.lists(st.sampled_from([0, 1, 1, 1, 1, 2, 3]), min_size=1, max_size=24), st.integers(0, 2**32))
def test_it_says_of_any_two_worlds_what_a_walk_says(sizes: list[int], seed: int) -> None:
    containers = random_containers(sizes, seed)
    interiors = Ancestry(containers.__getitem__, lambda world: ())
    asked = [(node, world) for node in containers for world in containers]
    random.Random(seed).shuffle(asked)
    assert [interiors.is_inside(*pair) for pair in asked] == [leads_to(containers, *pair) for pair in asked]


def test_a_chain_is_walked_once_whoever_is_asked_about() -> None:
    read: Counter[int] = Counter()

    def containers(node: int) -> list[int]:
        read[node] += 1
        return [node - 1] if node else []

    interiors = Ancestry(containers, lambda world: ())
    draw = random.Random(1)
    pairs = [(draw.randrange(3_000), draw.randrange(3_000)) for _ in range(20_000)]
    assert all(interiors.is_inside(node, world) == (world <= node) for node, world in pairs)
    assert max(read.values()) == 1


def test_members_are_read_once_and_those_of_a_large_world_are_not_kept() -> None:
    read: Counter[int] = Counter()

    def members(world: int) -> range:
        read[world] += 1
        return range(world)

    interiors = Ancestry(lambda node: [], members)
    for world in (0, 3, MAX_KEPT, MAX_KEPT + 1, 500):
        assert [list(interiors.members(world)) for _ in range(2)] == [list(range(world))] * 2
    assert read == {0: 1, 3: 1, MAX_KEPT: 1, MAX_KEPT + 1: 2, 500: 2}


@pytest.mark.parametrize("names", [1, 3, 20])
def test_reclustering_proposes_the_same_pairs_with_it_as_without(names: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def proposed() -> set[tuple[int, int]]:
        draw = random.Random(names)
        with new_store() as db:
            with db.batch() as tx:
                made: list[Any] = []
                for _ in range(120):
                    world = draw.choice(made[-3:]) if made else None
                    made.append(
                        tx.create("Topic", f"Archive {draw.choice('abcdefghijklmnopqrst'[:names])}", world=world)
                    )
                for _ in range(10):
                    inner, outer = sorted(draw.sample(range(120), 2), reverse=True)
                    tx.link(made[outer], "contains", made[inner])
            places = {ref: place for place, ref in enumerate(tx.receipt.refs)}
            db.recluster()
            return {(places[each.source], places[each.target]) for each in db.proposals()}

    found = proposed()
    monkeypatch.setattr(interiors, "Ancestry", lambda *given: None)
    assert found == proposed() and len(found) > 20
