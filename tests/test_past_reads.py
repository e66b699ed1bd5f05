"""A read of the past costs what there was then: what came later is passed over unread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import worlddb
from tests.test_exact_past import Letters
from worlddb.log.model.hashing import GENESIS
from worlddb.projections.indexes import vector_search
from worlddb.projections.indexes.vector_rows import VectorRow
from worlddb.projections.indexes.vectors import VectorFollower
from worlddb.projections.tables.tables import Tables

LATER = 300


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the rows of edges and versions that are read one by one."""
    read: Counter[str] = Counter()
    for name in ("edge", "version"):
        monkeypatch.setattr(Tables, name, _counted(getattr(Tables, name), name, read))
    return read


def _counted(function: Any, name: str, read: Counter[str]) -> Any:
    def counted(*arguments: Any) -> Any:
        read[name] += 1
        return function(*arguments)

    return counted


def test_edges_and_versions_that_came_later_are_not_read(tmp_path: Path, rows_read: Counter[str]) -> None:
    with worlddb.open(tmp_path / "store") as db:
        hub = db.create("Topic", "hub", valid_from="2024-01-01")
        some = [db.create("Note", f"note {number}", world=hub, valid_from="2024-01-01") for number in range(3)]
        for note in some:
            db.link(note, "refers_to", hub, valid_from="2024-01-01")
        db.link(some[0], "implies", hub, valid_from="2024-01-01")
        then = db.view()

        def told() -> list[Any]:
            return [
                then.get(hub),
                then.history(hub),
                then.edges(hub),
                list(then.children(hub)),
                then.query(seeds=hub.ref).traverse(depth=2, direction="in").run(),
            ]

        before = told()
        rows_read.clear()
        assert told() == before
        cost = rows_read.copy()
        with db.batch() as tx:
            for number in range(LATER):
                later = tx.create("Note", f"later {number}", world=hub)
                tx.link(later, "refers_to", hub)
                tx.link(later, "implies", hub)
                tx.revise(hub, content=f"revised {number}")
        rows_read.clear()
        assert told() == before
        assert rows_read.total() < 2 * cost.total() + 100 < LATER, (rows_read, cost)


def _follower(folder: Path, vectors: Sequence[Any]) -> VectorFollower:
    def feed(after: int, through: int) -> list[VectorRow]:
        rows = enumerate(vectors, 1)
        return [VectorRow(n, 1, n, np.asarray(v, "<f2").tobytes()) for n, v in rows if after < n <= through]

    return VectorFollower(folder, b"s" * 16, 8, feed, lambda seq: GENESIS)


@pytest.mark.parametrize(("before", "graph_from"), [(40, 10**6), (40, 1_000), (1_900, 1_000), (5_000, 1_000)])
def test_the_nearest_of_the_oldest_worlds_are_found_in_a_base_a_graph_and_a_tail(
    tmp_path: Path, before: int, graph_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a base all of which is compared, in a graph few and many of whose rows count, and where all do."""
    monkeypatch.setattr("worlddb.projections.indexes.vectors.EXACT_VECTORS", graph_from)
    monkeypatch.setattr(vector_search, "COMPARED_A_STEP", 1)
    drawn = np.random.default_rng(1).standard_normal((2_100, 8)).astype(np.float32)
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    follower = _follower(tmp_path / "vectors", vectors)
    assert follower.catch_up(2_000)
    found = follower.find(vectors[7], head=2_100, limit=10, before=before)
    scores = vectors[: before - 1] @ vectors[7]
    nearest = {int(place) + 1 for place in np.argsort(-scores)[:10]}
    assert len({hit.node for hit in found} & nearest) >= 9
    assert all(hit.node < before for hit in found)


def test_a_recall_by_meaning_of_the_past_asks_for_no_later_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with worlddb.open(tmp_path / "store", embedder=Letters()) as db:
        old = db.create("Note", "", content="a bad cab", valid_from="2024-01-01")
        then = db.view()
        with db.batch() as tx:
            for _ in range(LATER):
                tx.create("Note", "", content="a bad cab", resolve=False)
        db.embed()
        asked: list[int] = []
        find = VectorFollower.find

        def counted(follower: VectorFollower, *arguments: Any, **chosen: Any) -> Any:
            asked.append(chosen["limit"])
            return find(follower, *arguments, **chosen)

        monkeypatch.setattr(VectorFollower, "find", counted)
        assert [hit.ref for hit in then.recall("bad cab", lanes=("vector",))] == [old.ref]
        assert len(asked) == 1
