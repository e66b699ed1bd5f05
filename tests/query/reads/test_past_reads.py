"""A read of the past costs what there was then: what came later is passed over unread."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.query.recall.test_exact_past import Letters
from tests.support.model.stores import day, new_store, worlds
from worlddb.log.model.hashing import GENESIS
from worlddb.projections.indexes import vector_base
from worlddb.projections.indexes.vector_index import VectorFollower
from worlddb.projections.indexes.vector_rows import VectorRow
from worlddb.projections.tables.storage.rows import Tables

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


@pytest.mark.parametrize(("graph_from", "moments"), [(10**6, [40]), (1_000, [40, 1_900, 5_000])])
def test_the_nearest_of_the_oldest_worlds_are_found_in_a_base_a_graph_and_a_tail(
    tmp_path: Path, graph_from: int, moments: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a base all of which is compared, in a graph few and many of whose rows count, and where all do."""
    monkeypatch.setattr("worlddb.projections.indexes.vector_index.EXACT_VECTORS", graph_from)
    monkeypatch.setattr(vector_base, "COMPARED_A_STEP", 1)
    drawn = np.random.default_rng(1).standard_normal((2_100, 8)).astype(np.float32)
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    follower = _follower(tmp_path / "vectors", vectors)
    assert follower.catch_up(2_000)
    for before in moments:
        found = follower.find(vectors[7], head=2_100, limit=10, before=before)
        scores = vectors[: before - 1] @ vectors[7]
        nearest = {int(place) + 1 for place in np.argsort(-scores)[:10]}
        assert len({hit.node for hit in found} & nearest) >= 9, before
        assert all(hit.node < before for hit in found), before


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


@given(st.data())
def test_the_edges_between_worlds_are_those_of_all_edges_that_lead_there(data: st.DataObject) -> None:
    with new_store() as db:
        refs = worlds(db, 4)
        link = st.tuples(st.sampled_from(["refers_to", "implies"]), st.sampled_from(refs), st.sampled_from(refs))
        links = data.draw(st.lists(link.filter(lambda ends: ends[1] != ends[2]), max_size=12))
        edges = [db.link(source, kind, target).ref for kind, source, target in links]
        for edge in data.draw(st.lists(st.sampled_from(edges), unique=True)) if edges else ():
            db.unlink(edge)
        head = db.view().seq
        with db._reader.snapshot() as snapshot:
            tables = snapshot.tables
            nodes = {tables.node_of(bytes.fromhex(ref)) or 0 for ref in refs}
            wanted, known = data.draw(st.sets(st.sampled_from(sorted(nodes)))), data.draw(st.integers(1, head))
            every = [edge for node in nodes for edge in tables.outgoing(node, 2, known_by=known)]
            those = [(place, row) for place, row in every if row.target in wanted]
            assert list(tables.between(nodes, 2, wanted, known_by=known)) == those


def test_a_history_takes_no_more_calls_than_before_versions_had_spans_and_reasons_to_be_stale(
    tmp_path: Path,
) -> None:
    """A history took a fifth more than when a version was one span: each version looked for what most have not."""
    calls = dict.fromkeys((1, 41), 0)
    with worlddb.open(tmp_path / "store", author="x") as db:
        refs = {count: db.create("Rate", f"rate {count}", content="0").ref for count in calls}
        for number in range(1, 41):
            db.revise(refs[41], content=str(number))
        view = db.view()
        for count, ref in refs.items():
            assert len(view.history(ref)) == count

            def counted(_frame: object, event: str, _argument: object, count: int = count) -> None:
                calls[count] += event == "call"

            sys.setprofile(counted)
            try:
                view.history(ref)
            finally:
                sys.setprofile(None)
    assert calls[1] <= 116, "110 when a version was one span, and 125 later"
    assert calls[41] - calls[1] <= 40 * 25, "23 for each version, and 29 later"


def test_what_a_walk_looks_up_together_is_what_each_read_says_by_itself(root_seed: int) -> None:
    draw = random.Random(root_seed)
    with new_store() as db:
        homes = [db.create("Place", f"home {end}", valid_from=day(0), valid_to=day(end)).ref for end in (9, 5)]
        notes = [
            db.create("Note", f"note {at}", world=homes[at % 2], valid_from=day(0), resolve=False).ref
            for at in range(16)
        ]
        assert db.link(homes[0], "contains", notes[1], valid_from=day(0))
        before = db.head().seq
        for kind in ("derived_from", "contradicts", "refers_to"):
            for _ in range(3):
                assert db.link(draw.choice(notes[4:]), kind, draw.choice(notes[:4]), valid_from=day(0))
        for seq, at in [(before, 1), (None, 1), (None, 6), (None, 10)] * 2:
            start = db.view(seq=seq, valid=day(at)).query(seeds=notes).traverse("contains", direction="in")
            walked = start.traverse("contains").run().nodes
            with worlddb.open(db.path, embedder=None) as other:
                alone = other.view(seq=seq, valid=day(at))
                assert list(walked) == [alone.get(world.ref) for world in walked]
            assert len(walked) == {1: 16, 6: 9, 10: 0}[at]


def test_what_is_kept_of_a_world_without_edges_is_true_of_its_commit_and_its_times_alone() -> None:
    with new_store() as db:
        home = db.create("Place", "home", valid_from=day(0), valid_to=day(6)).ref
        note, other, base = (
            db.create("Note", name, world=home, valid_from=day(0), resolve=False).ref
            for name in ("note", "other", "base")
        )

        def told(seq: int | None, at: int) -> tuple[tuple[str, ...], int, str]:
            found = db.view(seq=seq, valid=day(at)).get(note)
            assert found is not None
            return found.conflicts, len(found.rests_on), found.in_ended

        before = db.head().seq
        assert [told(None, at) for at in (1, 1, 7, 1)] == [((), 0, ""), ((), 0, ""), ((), 0, home), ((), 0, "")]
        assert db.link(note, "contradicts", other, valid_from=day(0))
        assert told(None, 1) == ((other,), 0, "")
        assert db.link(note, "derived_from", base, valid_from=day(0))
        assert told(None, 1) == ((other,), 1, "")
        assert db.retire(home, at=day(1))
        assert [told(None, 1), told(before, 1), told(before, 7)] == [((other,), 1, home), ((), 0, ""), ((), 0, home)]
