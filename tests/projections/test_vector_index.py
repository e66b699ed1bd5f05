"""Tests the vector index: exact when small, a graph when large, never the only copy."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb.projections.indexes import vector_base
from worlddb.projections.indexes import vector_base as vector_search
from worlddb.projections.indexes.fields import Marker
from worlddb.projections.indexes.vector_index import VectorFollower, VectorSet
from worlddb.projections.indexes.vector_rows import VectorRow, best_of_each, cosines, widen_to_float32

DIMENSION = 16
STORE = b"s" * 16


class Recorded:
    """A log that holds vectors and nothing else: commit ``n`` recorded row ``n - 1``."""

    def __init__(self, count: int, seed: int = 1) -> None:
        draw = np.random.default_rng(seed)
        found = draw.normal(size=(count, DIMENSION)).astype(np.float32)
        self.matrix = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype("<f2").astype(np.float32)
        self.asked: list[tuple[int, int]] = []

    def feed(self, after: int, through: int) -> Any:
        self.asked.append((after, through))
        for seq in range(after + 1, min(through, len(self.matrix)) + 1):
            # Worlds are embedded in another order than they were numbered in.
            yield VectorRow(self.node(seq), 1, seq, self.matrix[seq - 1].astype("<f2").tobytes())

    def node(self, seq: int) -> int:
        return (seq * 7919) % 100_003

    def chain(self, seq: int) -> bytes | None:
        return seq.to_bytes(32, "big") if seq <= len(self.matrix) else None

    def best(self, query: Any, limit: int, nodes: set[int] | None = None) -> list[int]:
        order = np.argsort(-cosines(self.matrix, query), kind="stable")
        ranked = [self.node(int(place) + 1) for place in order]
        return [node for node in ranked if nodes is None or node in nodes][:limit]


def follower(folder: Path, log: Recorded, store: bytes = STORE) -> VectorFollower:
    return VectorFollower(folder / "vectors-1", store, DIMENSION, log.feed, log.chain)


def query(seed: int) -> Any:
    found = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return found / np.linalg.norm(found)


def found_nodes(index: VectorFollower, asked: Any, head: int, limit: int, nodes: set[int] | None = None) -> list[int]:
    return [hit.node for hit in index.find(asked, head=head, limit=limit, nodes=nodes)]


@pytest.fixture
def short_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worlddb.projections.indexes.vector_index.SHORT_TAIL", 10)


def test_a_search_finds_the_nearest_with_and_without_a_base(tmp_path: Path, short_tails: None) -> None:
    log = Recorded(500)
    index = follower(tmp_path, log)
    wanted = log.best(query(2), 10)
    assert found_nodes(index, query(2), 500, 10) == wanted
    assert index.checkpoint() == 0
    assert index.catch_up(500)
    assert index.checkpoint() == 500
    assert found_nodes(index, query(2), 500, 10) == wanted
    assert found_nodes(follower(tmp_path, log), query(2), 500, 10) == wanted


def test_what_came_after_the_base_is_searched_with_it(tmp_path: Path, short_tails: None) -> None:
    log = Recorded(500)
    index = follower(tmp_path, log)
    index.find(query(1), head=300, limit=1)
    assert index.catch_up(300)
    for seed in range(5):
        assert found_nodes(index, query(seed), 500, 10) == log.best(query(seed), 10)
    pairs = [(log.node(seq), 1) for seq in (1, 299, 301, 500)]
    scores = index.scores(query(3), [*pairs, (4, 9)], head=500)
    assert list(scores) and set(scores) == set(pairs)
    for (node, _), score in scores.items():
        place = next(seq - 1 for seq in range(1, 501) if log.node(seq) == node)
        assert score == pytest.approx(float(cosines(log.matrix[place : place + 1], query(3))[0]), abs=1e-6)


def test_a_filter_by_worlds_is_exact_whatever_it_leaves(tmp_path: Path, short_tails: None) -> None:
    log = Recorded(400)
    index = follower(tmp_path, log)
    index.find(query(1), head=300, limit=1)
    index.catch_up(300)
    for share in (1, 2, 10, 100, 400):
        nodes = {log.node(seq) for seq in range(1, 401) if seq % share == 0}
        assert found_nodes(index, query(share), 400, 10, nodes) == log.best(query(share), 10, nodes)
    assert found_nodes(index, query(1), 400, 10, set()) == []


def test_an_opened_base_is_not_read_from_the_log_again(tmp_path: Path, short_tails: None) -> None:
    log = Recorded(200)
    follower(tmp_path, log).catch_up(200)
    log.asked.clear()
    index = follower(tmp_path, log)
    index.find(query(1), head=200, limit=5)
    assert log.asked == []


@pytest.mark.parametrize("name", ["current.json", "rows.npy", "order.npy", "vectors.faiss"])
@pytest.mark.parametrize("damage", ["gone", "torn", "empty", "other"])
def test_a_base_that_cannot_be_read_is_left_aside_and_made_anew(
    tmp_path: Path, short_tails: None, name: str, damage: str
) -> None:
    log = Recorded(200)
    follower(tmp_path, log).catch_up(200)
    (path,) = (tmp_path / "vectors-1").rglob(name)
    held = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"torn": held[: len(held) // 2], "empty": b"", "other": b"{}" * 100}[damage])
    index = follower(tmp_path, log)
    assert found_nodes(index, query(1), 200, 10) == log.best(query(1), 10)
    assert index.catch_up(200)
    assert follower(tmp_path, log).checkpoint() == 200


def test_a_base_of_another_store_or_another_history_is_left_aside(tmp_path: Path, short_tails: None) -> None:
    follower(tmp_path, Recorded(200)).catch_up(200)
    other = Recorded(200, seed=9)
    assert found_nodes(follower(tmp_path, other, b"t" * 16), query(1), 200, 10) == other.best(query(1), 10)
    shorter = Recorded(150, seed=9)
    assert found_nodes(follower(tmp_path, shorter), query(1), 150, 10) == shorter.best(query(1), 10)


def test_a_rebuild_makes_the_same_base(tmp_path: Path, short_tails: None) -> None:
    log = Recorded(200)
    index = follower(tmp_path, log)
    index.catch_up(200)
    before = index.find(query(1), head=200, limit=20)
    index.rebuild(200)
    assert index.checkpoint() == 200
    assert index.find(query(1), head=200, limit=20) == before


def test_a_vector_that_was_erased_meanwhile_is_not_written_from_memory(tmp_path: Path, short_tails: None) -> None:
    log = Recorded(200)
    index = follower(tmp_path, log)
    erased, kept = log.matrix[49].astype("<f2").tobytes(), log.matrix[50].astype("<f2").tobytes()
    assert len(index.find(query(1), head=200, limit=200)) == 200
    feed = log.feed
    index._feed = lambda after, through: (row for row in feed(after, through) if row.seq != 50)
    assert index.catch_up(200)
    (stored,) = [path.read_bytes() for path in (tmp_path / "vectors-1").rglob("vectors.faiss")]
    assert kept in stored and erased not in stored
    assert log.node(50) not in found_nodes(index, query(1), 200, 200)


def test_a_base_grows_by_what_came_and_its_graph_is_not_made_again(
    tmp_path: Path, short_tails: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worlddb.projections.indexes.vector_index.EXACT_VECTORS", 300)
    monkeypatch.setattr(vector_search, "COMPARED_A_STEP", 1)
    made: list[bool] = []
    new_index = vector_search.new_index

    def counted(dimension: int, *, graph: bool) -> Any:
        made.append(graph)
        return new_index(dimension, graph=graph)

    monkeypatch.setattr(vector_base, "new_index", counted)
    log = Recorded(900)
    index = follower(tmp_path, log)
    for head, kinds in ((200, [False]), (400, [False, True]), (600, [False, True]), (900, [False, True])):
        assert index.catch_up(head)
        assert index.checkpoint() == head
        assert made == kinds
        right = 0
        for seed in range(20):
            nodes = {log.node(seq) for seq in range(1, head + 1) if seq % (1 + seed % 4) == 0}
            wanted = log.best(query(seed), 10, nodes)
            right += len(set(found_nodes(index, query(seed), head, 10, nodes)) & set(wanted))
        assert right >= 195


def test_a_tail_of_many_commits_is_moved_however_few_vectors_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens the store would go through a million commits in search of three vectors, again and again."""
    monkeypatch.setattr("worlddb.projections.indexes.vector_index.LONG_STRETCH", 50)
    log = Recorded(200)
    sparse = log.feed
    monkeypatch.setattr(log, "feed", lambda *span: (row for row in sparse(*span) if row.seq % 40 == 1))
    index = follower(tmp_path, log)
    assert index.catch_up(45)
    assert index.checkpoint() == 0
    assert index.catch_up(70)
    assert index.checkpoint() == 70
    log.asked.clear()
    assert len(found_nodes(follower(tmp_path, log), query(1), 200, 10)) == 5
    assert log.asked == [(70, 200)]


def test_a_long_tail_goes_into_the_base_without_being_held_first(
    tmp_path: Path, short_tails: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that embedded a million texts would hold a gigabyte of vectors, and read each of them twice."""
    log, read = Recorded(300), list[int]()
    feed = log.feed

    def counted(after: int, through: int) -> Iterator[VectorRow]:
        for row in feed(after, through):
            read.append(row.seq)
            yield row

    monkeypatch.setattr(log, "feed", counted)
    index = follower(tmp_path, log)
    assert index.catch_up(300)
    assert index.checkpoint() == 300
    assert len(read) == 300 + 10
    assert index._tail is not None and not len(index._tail.seen())
    assert found_nodes(index, query(1), 300, 10) == log.best(query(1), 10)


def test_searches_go_on_while_a_base_is_written(
    tmp_path: Path, short_tails: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Recorded(300)
    index = follower(tmp_path, log)
    begun, done = threading.Event(), threading.Event()
    write = vector_base.write

    def slow(*given: Any, **chosen: Any) -> None:
        begun.set()
        assert done.wait(180)
        write(*given, **chosen)

    monkeypatch.setattr("worlddb.projections.indexes.vector_base.write", slow)
    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(index.catch_up, 300)
        try:
            assert begun.wait(180)
            assert threads.submit(found_nodes, index, query(1), 300, 10).result(60) == log.best(query(1), 10)
            assert index.checkpoint() == 0
        finally:
            done.set()
        assert writing.result(60)
    assert index.checkpoint() == 300
    assert found_nodes(index, query(1), 300, 10) == log.best(query(1), 10)


def _search(folder: Path, answers: Any) -> None:
    log = Recorded(300)
    index = follower(folder, log)
    for _ in range(20):
        index.catch_up(300, wait_seconds=0)
        answers.put(found_nodes(index, query(1), 300, 10))


def test_processes_that_write_and_search_at_once_all_find_the_nearest(tmp_path: Path, short_tails: None) -> None:
    log = Recorded(300)
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    others = [context.Process(target=_search, args=(tmp_path, answers)) for _ in range(2)]
    for other in others:
        other.start()
    seen = [answers.get(timeout=240) for _ in range(40)]
    for other in others:
        other.join(timeout=180)
        assert other.exitcode == 0
    assert all(each == log.best(query(1), 10) for each in seen)


def test_a_graph_finds_nearly_all_of_the_nearest_at_every_selectivity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_search, "COMPARED_A_STEP", 1)
    draw = np.random.default_rng(5)
    # Texts lie in clusters: of random directions no two are near.
    centres = draw.normal(size=(60, DIMENSION))
    points = (centres[draw.integers(60, size=6_000)] + 0.4 * draw.normal(size=(6_000, DIMENSION))).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    rows = np.stack([np.arange(6_000), np.ones(6_000), np.arange(6_000)], axis=1).astype(np.int64)
    vector_base.write(tmp_path, Marker(STORE, 6_000, b"c"), DIMENSION, [(rows, points)], graph=True)
    base = vector_base.load(tmp_path)
    assert base is not None
    for share in (1.0, 0.5, 0.1, 0.01, 0.001):
        selected = np.sort(draw.choice(6_000, size=int(6_000 * share), replace=False))
        right = total = 0
        for asked in points[:40]:
            exact = selected[np.argsort(-(points[selected] @ asked), kind="stable")[:10]]
            hits = base.search(asked, 10, None if share == 1.0 else selected)
            right += len({hit.node for hit in hits} & set(exact.tolist()))
            total += len(exact)
        assert right / total >= 0.95, share


def test_vectors_that_are_the_same_are_given_in_log_order_however_they_are_searched(tmp_path: Path) -> None:
    """Forty texts say the same; which of them are among the first ten must not depend on how they are compared."""
    draw = np.random.default_rng(3)
    points = draw.normal(size=(2_000, DIMENSION)).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    same = np.arange(7, 2_000, 50)
    points[same] = points[7]
    rows = np.stack([np.arange(2_000), np.ones(2_000), np.arange(2_000)], axis=1).astype(np.int64)
    for graph in (False, True):
        vector_base.write(tmp_path, Marker(STORE, 2_000, b"c"), DIMENSION, [(rows, points)], graph=graph)
        base = vector_base.load(tmp_path)
        assert base is not None
        first = same[:10].tolist()
        few = same[1:4]
        assert [hit.node for hit in base.search(points[7], 3, few)] == few.tolist()
        for some in (same, np.arange(1_000), np.arange(2_000)):
            assert [hit.node for hit in base.search(points[7], 10, some)] == [n for n in first if n in some][:10]
        assert [hit.node for hit in base.search_before(points[7], 5, 1_500)] == first[:5]


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 2**32))
def test_a_set_in_memory_ranks_as_comparing_each_does(count: int, limit: int, seed: int) -> None:
    log = Recorded(count, seed)
    pairs = [(node, 1) for node in range(count)]
    rows = [VectorRow(node, 1, 1, row.astype("<f2").tobytes()) for node, row in enumerate(log.matrix)]
    vectors = VectorSet(rows, DIMENSION)
    asked = query(seed)
    scores = cosines(log.matrix, asked)
    hits = vectors.search(asked, limit)
    assert [hit.node for hit in hits] == np.argsort(-scores, kind="stable")[:limit].tolist()
    assert vectors.scores(asked, [*pairs, (count, 1)]) == {pair: float(scores[pair[0]]) for pair in pairs}


@given(st.integers(2, 60), st.integers(0, 2**32))
def test_a_cosine_does_not_depend_on_what_it_is_computed_with(count: int, seed: int) -> None:
    log = Recorded(count, seed)
    whole = cosines(log.matrix, query(seed))
    assert [float(cosines(log.matrix[place : place + 1], query(seed))[0]) for place in range(count)] == whole.tolist()


def test_numbers_of_16_bits_are_widened_as_numpy_does_each_of_them() -> None:
    every = np.arange(2**16, dtype="<u2").view("<f2").reshape(256, 256)
    finite = np.where(np.isfinite(every), every, np.float16(0))
    assert widen_to_float32(finite).tobytes() == finite.astype(np.float32).tobytes()


def test_the_best_of_each_version_is_its_highest_score_wherever_it_stands() -> None:
    numbers = np.array([(7, 1, 3), (2, 1, 1), (7, 1, 3), (7, 2, 4), (2, 1, 1)], dtype=np.int64)
    scores = np.array([0.25, -0.5, 0.75, 0.5, -0.75], dtype=np.float32)
    assert best_of_each(numbers, scores) == {(7, 1): 0.75, (2, 1): -0.5, (7, 2): 0.5}
    assert best_of_each(numbers[:0], scores[:0]) == {}
