"""Tests law 7 for the vector lane: recall inside a world as if there were nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import worlddb
from tests.support.isolation.inside import Inside
from tests.support.isolation.structures import Structure, containers_first
from worlddb.projections.indexes.composition import attention_pool
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.query.recall.scoring import NEWER
from worlddb.query.snapshot import confined_tables, snapshot, visible

LETTERS = "abdeglnrtu"
QUERIES = ("red boat", "green", "blue boats are great")
STRUCTURES = 10


class LetterCounts:
    """A model that is easy to foresee: how often each of ten letters occurs."""

    model = "letter counts/1"
    dimension = len(LETTERS)

    def mean(self) -> Any:
        return np.zeros(self.dimension, dtype=np.float32)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        return [[text.count(letter) for letter in LETTERS] for text in texts]


def stored(text: str) -> Any:
    """A text's vector as it is kept: of length 1, in 16-bit floats."""
    counted = np.array([text.count(letter) for letter in LETTERS], dtype=np.float32)
    return (counted / np.linalg.norm(counted)).astype("<f2").astype(np.float32)


def nearest(found: Inside, query: str) -> dict[str, float]:
    """The worlds inside that have a text now, with the cosine of each."""
    asked = np.array([query.count(letter) for letter in LETTERS], dtype=np.float32)
    asked /= np.linalg.norm(asked)
    expected: dict[str, float] = {}
    for number in found.inside - {found.top}:
        at = found.reads.version_at(number)
        content = "" if at is None else found.state.worlds[number].versions[at - 1].content
        if content:
            expected[found.names.refs[number]] = float(stored(content) @ asked)
    return expected


def composed_inside(found: Inside, view: worlddb.View) -> None:
    """Compute from the model the composed embeddings of what is inside."""
    made: dict[int, Any] = {}

    def vector(number: int) -> Any:
        at = found.reads.version_at(number)
        if at is None:
            return None
        if number not in made:
            content = found.state.worlds[number].versions[at - 1].content
            held = sorted(edge.target for edge in found.state.edges.values() if holds(edge, number))
            below = [vector(member) for member in dict.fromkeys(held) if found.reads.version_at(member) is not None]
            own = stored(content) if content else None
            made[number] = attention_pool(own, [each for each in below if each is not None]) if below else own
        return made[number]

    def holds(edge: Any, number: int) -> bool:
        is_seen: bool = edge.in_force(found.reads.valid)
        return edge.type == "contains" and edge.source == number and is_seen

    for number in found.inside:
        told, expected = view.composed(found.names.refs[number]), vector(number)
        assert (told is None) == (expected is None)
        assert told is None or np.allclose(told.vector, expected, atol=1e-3)
    ranked = view.query(text=QUERIES[0], composed="attention", k=100).run()
    assert set(ranked.refs) <= {found.names.refs[number] for number in found.inside - {found.top}}


def looked_through(folder: Path, seed: int) -> int:
    """Every confined view of one structure, asked by meaning; how many worlds were found in all."""
    structure, hits = Structure(folder, seed), 0
    try:
        with worlddb.open(structure.db(1).path, embedder=LetterCounts(), clock=structure.clock) as db:
            db.embed()
            for top in containers_first(structure):
                found = Inside(structure, top, structure.head, structure.db(1).view().valid)
                view = db.view(world=found.names.refs[top], valid=found.view.valid)
                composed_inside(found, view)
                for query in QUERIES:
                    expected = nearest(found, query)
                    answer = view.recall(query, lanes=["vector"], k=100)
                    # A fact that is newer than one it contradicts is lifted to that one's place, also without a text.
                    lifted = {hit.ref: hit.score - hit.scores[NEWER] for hit in answer if NEWER in hit.scores}
                    assert all(abs(own - expected.get(ref, 0.0)) < 1e-3 for ref, own in lifted.items())
                    cosines = [expected[hit.ref] for hit in answer if hit.ref not in lifted]
                    inside = {found.names.refs[number] for number in found.inside}
                    assert lifted.keys() <= inside
                    assert {hit.ref for hit in answer} - (lifted.keys() - expected.keys()) == expected.keys()
                    assert all(one >= other - 1e-3 for one, other in pairwise(cosines))
                    assert answer.pending == 0
                    unconfined = db.view(valid=found.view.valid).recall(
                        query, world=found.names.refs[top], lanes=["vector"], k=100
                    )
                    beside = {hit.ref for hit in unconfined if NEWER in hit.scores} - expected.keys()
                    assert beside <= inside and {hit.ref for hit in unconfined} - beside == expected.keys()
                    hits += len(expected)
    finally:
        structure.close()
    return hits


def test_a_recall_by_meaning_finds_all_that_is_inside_and_nothing_else(tmp_path: Path, seed: int) -> None:
    seeds = random.Random(seed)
    found = [looked_through(tmp_path / str(number), seeds.randrange(2**32)) for number in range(STRUCTURES)]
    assert sum(found) >= 5 * STRUCTURES, found


def test_canary_vectors_from_outside_are_noticed(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    members_below = snapshot.members_below
    monkeypatch.setattr(snapshot.Scope, "sees", lambda inside, node: True)
    for module in (visible, confined_tables):
        monkeypatch.setattr(
            module, "members_below", lambda tables, world, moment: members_below(tables, ROOT_NODE, moment)
        )
    seeds = random.Random(seed)
    with pytest.raises((AssertionError, KeyError, worlddb.WorldDBError)):
        for number in range(STRUCTURES):
            looked_through(tmp_path / str(number), seeds.randrange(2**32))
