"""Properties of worlds: kept with a version, carried on by the next, compared by find, recall and queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Conditions, Database, InputError, ManualClock, Query

NOON = worlddb.parse_time("2025-06-01T12:00:00Z")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="ada", clock=ManualClock(NOON), embedder=None) as opened:
        yield opened


def names(found: Any) -> list[str]:
    return sorted(each.name for each in found)


def tasks(db: Database) -> str:
    board: str = db.create("Topic", "board").ref
    for name, given in {
        "paint": {"state": "open", "priority": 1, "place": {"city": "Porto"}},
        "mend": {"state": "open", "priority": 3, "place": {"city": "Lisbon"}},
        "clean": {"state": "done", "priority": 2},
        "rest": None,
    }.items():
        db.create("Task", name, content=f"{name} the boat", world=board, properties=given)
    return board


@pytest.mark.parametrize(
    ("wanted", "fitting"),
    [
        ({"state": "open"}, ["mend", "paint"]),
        ({"state": "open", "priority": {"$gte": 2}}, ["mend"]),
        ({"priority": {"$gt": 1, "$lt": 3}}, ["clean"]),
        ({"place.city": "Porto"}, ["paint"]),
        ({"place": {"city": "Lisbon"}}, ["mend"]),
        ({"state": {"$ne": "open"}}, ["clean", "rest"]),
        ({"priority": {"$lt": "two"}}, []),
        ({"state": None}, ["rest"]),
        ({}, ["clean", "mend", "paint", "rest"]),
    ],
)
def test_every_read_chooses_alike(db: Database, wanted: dict[str, Any], fitting: list[str]) -> None:
    board, view = tasks(db), db.view()
    assert names(view.find(type="Task", properties=wanted)) == fitting
    assert names(view.find(world=board, properties=wanted)) == fitting
    assert names(view.recall("boat", type="Task", properties=wanted)) == fitting
    assert names(view.confined(board).recall("the boat", type="Task", properties=wanted)) == fitting
    if wanted:
        query = Query.of().filter_type("Task").filter_properties(wanted)
        assert names(view.run(query).nodes) == names(view.run(Query.from_json(query.to_json())).nodes) == fitting


def test_a_recall_finds_what_fits_however_far_behind_it_lies(db: Database) -> None:
    with db.batch() as tx:
        for number in range(200):
            tx.create("Task", str(number), content="boat boat boat", properties={"state": "done"})
        tx.create("Task", "mine", content="something long that once names the boat", properties={"state": "open"})
    assert names(db.view().recall("boat", k=1, properties={"state": "open"})) == ["mine"]


def test_a_revision_keeps_them_replaces_them_or_takes_them_away(db: Database) -> None:
    ref = db.create("Task", "t", content="one", properties={"a": 1, "b": 2}, valid_from="2025-01-01").ref
    db.revise(ref, content="two", why="said so", valid_from="2025-02-01")
    db.revise(ref, properties={"a": 3}, source={"file": "x"}, valid_from="2025-03-01")
    db.revise(ref, content="early", valid_from="2025-01-10", valid_to="2025-01-20")
    db.revise(ref, properties={"a": None}, valid_from="2025-04-01")
    db.retire(ref, at="2025-05-01")
    db.reassert(ref, content="again", at="2025-05-05")
    told = [(each.content, each.properties, each.why, each.source) for each in db.view().history(ref)]
    assert told == [
        ("one", {"a": 1, "b": 2}, "", {}),
        ("two", {"a": 1, "b": 2}, "said so", {}),
        ("two", {"a": 3}, "", {"file": "x"}),
        ("early", {"a": 1, "b": 2}, "", {}),
        ("two", {}, "", {}),
        ("again", {}, "", {}),
    ]
    assert db.view(valid="2025-02-10").get(ref).properties == {"a": 1, "b": 2}  # type: ignore[union-attr]
    assert db.view(valid="2025-03-10").recall("two").hits[0].properties == {"a": 3}
    assert db.verify(deep=True).ok


def test_a_retry_under_its_key_compares_them_and_a_known_key_says_that_they_stay(db: Database) -> None:
    first = db.create("Task", "t", properties={"a": 1}, key="k", idempotency_key="i")
    assert db.create("Task", "t", properties={"a": 1}, key="k", idempotency_key="i") == first
    with pytest.raises(worlddb.IdempotencyConflict):
        db.create("Task", "t", properties={"a": 2}, key="k", idempotency_key="i")
    again = db.create("Task", "t", properties={"a": 2}, key="k")
    assert [(note.code, note.refs[1:]) for note in again.notes] == [("not_changed", ("properties",))]
    revised = db.revise(first, content="more", idempotency_key="j")
    assert db.revise(first, content="more", idempotency_key="j") == revised
    changed = db.create("Task", "t", content="other", properties={"a": 5}, key="k")
    assert changed.revised == 1 and db.view().get(first).properties == {"a": 5}  # type: ignore[union-attr]


def test_they_go_with_an_erasure_and_travel_in_bundles_and_replays(db: Database, tmp_path: Path) -> None:
    noise = db.create("Task", "noise")
    board = tasks(db)
    (mend,) = db.view().find(name="mend")
    db.revise(mend, content="mend it well")
    db.export(board, tmp_path / "board.wdb")
    with worlddb.open(tmp_path / "other", clock=ManualClock(NOON + 10**6), embedder=None) as other:
        assert other.import_bundle(tmp_path / "board.wdb")
        assert names(other.view().find(properties={"priority": {"$gte": 2}})) == ["clean", "mend"]
        found = other.view().get(mend)
        assert found is not None and found.properties == mend.properties
        other.revise(mend, content="and again")
        found = other.view().get(mend)
        assert found is not None and found.properties == mend.properties
    db.replay(tmp_path / "then", without=[noise.seq])
    with worlddb.open(tmp_path / "then", clock=ManualClock(NOON + 10**6), embedder=None) as then:
        assert names(then.view().find(properties={"place.city": "Lisbon"})) == ["mend"]
    before = [(world.name, world.properties) for world in db.view().find()]
    db.rebuild()
    assert [(world.name, world.properties) for world in db.view().find()] == before
    db.erase(mend, reason="request 1")
    assert names(db.view().find(properties={"place.city": "Lisbon"})) == []
    assert {str(version.properties) for version in db.view().history(mend)} == {"{}"}


@pytest.mark.parametrize("wrong", [["a"], {1: 2}, {"a": {"$like": "x"}}, {"a": {"$gt": 1, "b": 2}}, "a"])
def test_wrong_conditions_are_refused(db: Database, wrong: Any) -> None:
    for call in (
        lambda: Conditions.of(wrong),
        lambda: db.view().find(properties=wrong),
        lambda: db.view().recall("x", properties=wrong),
        lambda: Query.of().filter_properties(wrong),
    ):
        with pytest.raises(InputError):
            call()


@pytest.mark.parametrize("wrong", [["a"], {"a": object()}, {"imported": {}}, {1: 2}])
def test_wrong_properties_are_refused(db: Database, wrong: Any) -> None:
    head = db.head()
    with pytest.raises(InputError):
        db.create("Task", "t", properties=wrong)
    assert db.head() == head
