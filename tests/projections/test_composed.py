"""Tests composed embeddings: their parts, no drift, and following equals starting anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import worlddb
from tests.query.reads.test_isolation_vectors import LETTERS, LetterCounts, stored
from tests.support.examples import examples
from tests.support.faults.growth import DAY, Growth
from tests.support.model.stores import new_store
from worlddb import Database, InputError, UnknownReference, View
from worlddb.log.model.events import AnyEvent
from worlddb.projections.indexes import composition as pooling
from worlddb.projections.indexes.composed_vectors import stored_anchors
from worlddb.projections.indexes.composition import POOLS, Composition, is_same
from worlddb.projections.tables.storage import schema

units = arrays(np.float32, 4, elements=st.floats(-1, 1, width=32)).filter(lambda v: np.linalg.norm(v) > 0.1)


mean_pool: Any = pooling.mean_pool
attention_pool: Any = pooling.attention_pool
pools: dict[str, Any] = dict(POOLS)


def unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)


# -- the pools


@given(anchor=units.map(unit), members=st.lists(units.map(unit), min_size=1, max_size=6))
def test_the_pools_are_the_papers_equations(anchor: Any, members: list[Any]) -> None:
    wide = [np.asarray(each, dtype=np.float64) for each in (anchor, *members)]
    mean = sum(wide) / len(wide)
    scores = np.array([wide[0] @ each for each in wide[1:]]) / np.sqrt(4)
    weights = np.exp(scores) / np.exp(scores).sum()
    attended = wide[0] + sum(weight * each for weight, each in zip(weights, wide[1:], strict=True))
    for found, expected in ((mean_pool(anchor, members), mean), (attention_pool(anchor, members), attended)):
        if np.linalg.norm(expected) > 1e-3:
            assert found is not None and np.allclose(found, unit(expected), atol=1e-5)
            assert abs(np.linalg.norm(found) - 1) < 1e-6


@given(anchor=units.map(unit))
def test_a_world_without_members_or_without_a_text_is_about_what_there_is(anchor: Any) -> None:
    for pool in pools.values():
        assert np.allclose(pool(anchor, []), anchor, atol=1e-6)
        assert np.allclose(pool(None, [anchor]), anchor, atol=1e-6)
        assert pool(None, []) is None
        assert pool(None, [anchor, -anchor]) is None


# -- worlds


@pytest.fixture
def db() -> Iterator[Database]:
    with new_store(embedder=LetterCounts()) as store:
        yield store


def vector(view: View, ref: str, pool: str = "attention") -> Any:
    found = view.composed(ref, pool=pool)
    return None if found is None else np.array(found.vector, dtype=np.float32)


def test_a_world_is_composed_of_its_text_and_of_its_members_composed_alike(db: Database) -> None:
    outer = db.create("Topic", "outer", content="red boat").ref
    inner = db.create("Topic", "inner", world=outer).ref
    for text in ("green", "blue"):
        db.create("Fact", text, content=text, world=inner)
    db.create("Fact", "no text", world=outer)
    assert db.view().composed(outer) is None
    db.embed()
    view = db.view()
    below = mean_pool(None, [stored("green"), stored("blue")])
    assert np.array_equal(vector(view, inner), below)
    for name, pool in pools.items():
        assert np.array_equal(vector(view, outer, name), pool(stored("red boat"), [below]))
    found = view.composed(outer)
    assert found is not None and found.anchor is not None and (found.inside, found.model) == (4, LetterCounts.model)
    assert np.array_equal(np.array(found.anchor, dtype=np.float32), stored("red boat"))
    with pytest.raises(InputError, match="pool"):
        view.composed(outer, pool="max")
    with pytest.raises(UnknownReference):
        view.composed("0123456789abcdef")


def test_a_composed_embedding_follows_both_time_axes(db: Database) -> None:
    world = db.create("Topic", "world", valid_from="2020-01-01").ref
    first = db.create("Fact", "first", content="red", world=world, valid_from="2020-01-01").ref
    db.embed()
    known = db.head().seq
    db.create("Fact", "second", content="blue", world=world, valid_from="2024-01-01")
    db.retire(first, at="2025-01-01")
    db.embed()
    red, blue = (mean_pool(None, [stored(text)]) for text in ("red", "blue"))
    assert np.array_equal(vector(db.view(valid="2023-06-01"), world), red)
    assert np.array_equal(vector(db.view(valid="2024-06-01"), world), mean_pool(None, [stored("red"), stored("blue")]))
    assert np.array_equal(vector(db.view(valid="2025-06-01"), world), blue)
    assert np.array_equal(vector(db.view(seq=known, valid="2025-06-01"), world), red)
    assert vector(db.view(seq=2, valid="2025-06-01"), world) is None


def test_a_confined_view_composes_nothing_from_outside(db: Database) -> None:
    tenant = db.create("Topic", "tenant").ref
    shared = db.create("Topic", "shared", world=tenant).ref
    db.create("Fact", "own", content="red", world=shared)
    db.embed()
    confined = db.view(world=tenant)
    alone = vector(confined, shared)
    other = db.create("Topic", "other", content="blue").ref
    db.link(other, "contains", shared)
    db.create("Fact", "theirs", content="green", world=other)
    db.embed()
    assert np.array_equal(vector(db.view(world=tenant), shared), alone)
    assert np.array_equal(vector(db.view(world=tenant), tenant), alone)
    with pytest.raises(UnknownReference):
        db.view(world=tenant).composed(other)
    query = db.view(world=tenant).query(text="blue green", composed="attention")
    assert query.run().refs == (shared,)


def test_a_query_starts_from_the_worlds_that_are_as_a_whole_about_a_text(db: Database) -> None:
    boats, birds = (db.create("Topic", name).ref for name in ("boats", "birds"))
    for world, texts in ((boats, ("boat", "a boat", "boats")), (birds, ("gull", "a gull", "legless lull"))):
        for text in texts:
            db.create("Fact", text, content=text, world=world)
    assert db.view().query(text="boat", composed="mean").run().note == "no text has been embedded yet"
    db.embed()
    query = db.view().query(text="boat", composed="attention", k=1)
    assert str(query) == "start from the 1 worlds that are most about 'boat' by attention"
    assert query.run().refs == (boats,) and query.run().exact
    assert len(query.traverse("contains").run()) == 3
    gull = [float("gull".count(letter)) for letter in LETTERS]
    assert db.view().query(vector=gull, composed="mean", k=1).run().refs == (birds,)
    assert db.view().query(vector=gull, composed="mean", world=boats).run().refs == ()
    with pytest.raises(InputError, match="pool"):
        db.view().query(text="boat", composed="max")


def test_what_was_erased_is_in_no_composed_embedding(db: Database) -> None:
    world = db.create("Topic", "world").ref
    secret = db.create("Fact", "secret", content="red", world=world).ref
    db.create("Fact", "open", content="blue", world=world)
    db.embed()
    query = db.view().query(text="red", composed="attention")
    before = query.run().scores[world]
    db.erase(secret, reason="request 7")
    assert np.array_equal(vector(db.view(), world), mean_pool(None, [stored("blue")]))
    assert db.view().query(text="red", composed="attention").run().scores[world] < before


# -- following the log


class Following:
    """A composition that follows commits, and one made anew beside it."""

    def __init__(self, db: Database, pool: str) -> None:
        self.db = db
        self.followed = Composition(POOLS[pool])
        self.pool = POOLS[pool]

    def step(self) -> None:
        """Move on to the present, and hold both against each other, bit by bit."""
        moment = self.db.view().moment
        with self.db._reader.snapshot() as snapshot:
            log, tables = snapshot.log, snapshot.tables
            anchors = stored_anchors(log, tables, 1)
            nodes = range(tables.progress().next_node)
            if self.followed.moment is None:
                self.followed.fill(tables, anchors, nodes, moment)
            else:
                later = range(self.followed.moment.seq + 1, moment.seq + 1)
                events: list[AnyEvent] = [event for seq in later for event in log.events(seq).events]
                self.followed.advance(tables, anchors, events, moment)
            anew = Composition(self.pool)
            anew.fill(tables, anchors, nodes, moment)
        assert vector_bytes(self.followed) == vector_bytes(anew)


def vector_bytes(composition: Composition) -> dict[int, bytes | None]:
    return {node: None if each is None else each.tobytes() for node, each in composition.effective.items()}


@pytest.mark.parametrize("pool", POOLS)
def test_following_the_log_gives_the_same_bits_as_beginning_anew(pool: str, tmp_path: Path, seed: int) -> None:
    clock = worlddb.ManualClock()
    composed = 0
    for number in range(4):
        entropy = worlddb.SeededEntropy(seed + number)
        with worlddb.open(tmp_path / str(number), embedder=LetterCounts(), clock=clock, entropy=entropy) as db:
            growth, following = Growth(db, clock, seed + number), Following(db, pool)
            for _ in range(12):
                growth.grow(6)
                if growth.rng.random() < 0.6:
                    db.embed()
                if growth.rng.random() < 0.3:
                    clock.advance(growth.rng.randint(1, 40) * DAY)
                following.step()
            composed += following.followed.composed
    assert composed > 60


def nested(db: Database, depth: int, members: int) -> list[str]:
    """Worlds inside worlds, each with some facts; outermost first."""
    worlds: list[str] = []
    with db.batch() as tx:
        inside: Any = None
        for level in range(depth):
            inside = tx.create("Topic", f"level {level}", content="a red boat", world=inside)
            for number in range(members):
                tx.create("Fact", f"{level}.{number}", content=LETTERS[number % 7 :], world=inside)
    db.embed()
    for level in range(depth):
        worlds.append(db.view().find(name=f"level {level}")[0].ref)
    return worlds


def test_a_change_composes_each_world_on_the_way_up_once_however_many_members_changed(db: Database) -> None:
    depth, members = 6, 5
    worlds = nested(db, depth, members)
    following = Following(db, "attention")
    following.step()
    assert following.followed.composed == depth
    leaf = next(iter(db.view().children(worlds[-1])))
    db.revise(leaf, content="blue")
    db.embed()
    following.step()
    assert following.followed.composed == 2 * depth
    with db.batch() as tx:
        for world in (worlds[2], worlds[3]):
            for member in db.view().children(world):
                if member.type == "Fact":
                    tx.revise(member, content="a turned table")
    db.embed()
    following.step()
    assert following.followed.composed == 2 * depth + 4
    db.create("Note", "elsewhere", content="red")
    db.embed()
    following.step()
    assert following.followed.composed == 2 * depth + 4


def test_a_hundred_recompositions_of_what_did_not_change_change_nothing(db: Database) -> None:
    nested(db, 4, 4)
    moment = db.view().moment
    with db._reader.snapshot() as snapshot:
        log, tables = snapshot.log, snapshot.tables
        anchors, nodes = stored_anchors(log, tables, 1), range(tables.progress().next_node)
        events = [event for seq in range(1, moment.seq + 1) for event in log.events(seq).events]
        for pool in POOLS.values():
            composition = Composition(pool)
            composition.fill(tables, anchors, nodes, moment)
            first, once = vector_bytes(composition), composition.composed
            assert once == len(first) == 4
            for _ in range(100):
                composition.advance(tables, anchors, events, moment)
                assert vector_bytes(composition) == first
            assert composition.composed == 101 * once


def test_a_world_is_composed_without_those_around_it_if_only_it_is_asked_for(db: Database) -> None:
    """A consolidation composed all 900 worlds around each of as many that lay in one another."""
    nested(db, 12, 2)
    moment = db.view().moment
    with db._reader.snapshot() as snapshot:
        tables, anchors = snapshot.tables, stored_anchors(snapshot.log, snapshot.tables, 1)
        pool = POOLS["attention"]
        for node in range(2, tables.progress().next_node):
            inside = {row.target for _, row in tables.outgoing(node, schema.CONTAINS_CODE)}
            found, alone = Composition(pool), Composition(pool)
            found.fill(tables, anchors, {node, *inside}, moment)
            alone.fill(tables, anchors, {node, *inside}, moment, top=node)
            vectors = [each.vector(tables, anchors, node) for each in (found, alone)]
            assert is_same(*vectors)
            assert alone.composed <= 1 + len(inside) and alone.composed <= found.composed


def test_canary_feeding_a_result_back_as_the_anchor_drifts() -> None:
    anchor, members = stored("a red boat"), [stored("blue"), stored("turned")]
    start = attention_pool(anchor, members)
    drifting = start
    for _ in range(1_000):
        drifting = attention_pool(drifting, members)
    assert start is not None and drifting is not None
    assert float(start @ drifting) < 0.99


@examples(3)
@given(order=st.permutations(range(5)))
def test_the_order_in_which_members_came_makes_no_difference_to_what_a_world_is_about(order: list[int]) -> None:
    with new_store(embedder=LetterCounts()) as db:
        world = db.create("Topic", "world", content="red").ref
        for number in order:
            db.create("Fact", str(number), content=LETTERS[number:], world=world)
        db.embed()
        found = vector(db.view(), world)
    expected = attention_pool(stored("red"), [stored(LETTERS[number:]) for number in range(5)])
    assert np.allclose(found, expected, atol=1e-6)
