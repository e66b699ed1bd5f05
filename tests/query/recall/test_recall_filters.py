"""Filters of a recall: what does not fit is not found, and what fits is found however far behind it lies."""

from collections.abc import Iterator
from typing import Any

import pytest

import worlddb
from tests.support.model.stores import new_store
from worlddb.query.recall import filters

NAMES = ("Dave", "Audrey", "Gina")


@pytest.fixture(scope="module")
def db() -> Iterator[worlddb.Database]:
    """Three people who all buy things, hundreds of times, in two sessions; Dave only twice, and in other words."""
    with new_store() as db:
        turns: list[dict[str, Any]] = []
        for number in range(300):
            name = NAMES[1 + number % 2]
            turns.append({"speaker": name, "text": f"What did I buy? I bought thing {number}.", "session": "1"})
        turns.append({"speaker": "Dave", "text": "A kayak is mine now.", "session": "2", "at": "2024-05-01"})
        turns.append({"speaker": "Dave", "text": "Paddling is fun.", "session": "2", "at": "2024-06-01"})
        assert db.ingest(turns, conversation="c", at="2023-01-01")
        dave = db.view().find(name="Dave")[0]
        for number in range(3):
            fact = db.create("Note", "", content=f"Dave bought map {number}", source={"file": f"{number}.txt"})
            db.link(fact, "refers_to", dave)
        yield db


def texts(db: worlddb.Database, text: str = "What did Dave buy?", k: int = 2, **asked: Any) -> list[str]:
    return [hit.content for hit in db.view().recall(text, k=k, **asked)]


def test_two_hits_are_found_though_hundreds_of_others_come_before_them(db: worlddb.Database) -> None:
    """A filter behind the best k lost with k=2 what k=100 found."""
    assert sorted(texts(db, speaker="Dave")) == ["Dave: A kayak is mine now.", "Dave: Paddling is fun."]
    assert texts(db, k=1, source={"file": "1.txt"}) == ["Dave bought map 1"]
    assert set(texts(db, k=3, type="Note")) == {f"Dave bought map {number}" for number in range(3)}
    assert set(texts(db, k=100, about="Dave", type="Turn")) == {"Dave: A kayak is mine now.", "Dave: Paddling is fun."}
    assert texts(db, k=10, since="2024-05-15", until="2024-06-15") == ["Dave: Paddling is fun."]
    assert texts(db, k=10, about=["Dave", "Audrey"]) == []


@pytest.mark.parametrize("lanes", [["text"], ["vector"], ["text", "vector"], ["text", "vector", "entity"]])
@pytest.mark.parametrize("exact", [False, True])
def test_every_hit_of_every_lane_fits(db: worlddb.Database, lanes: list[str], exact: bool) -> None:
    db.embed()
    found = db.view().recall("What thing did I buy?", k=400, lanes=lanes, exact=exact, speaker="Gina")
    assert found.hits and all(hit.content.startswith("Gina: ") for hit in found)
    grouped = db.view().recall("kayak", k=5, lanes=lanes, exact=exact, group=2, speaker="Dave")
    assert {hit.content[:5] for group in grouped.groups for hit in group.hits} <= {"Dave:"}


def test_what_is_not_listed_is_looked_at_one_by_one(db: worlddb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = [
        {"speaker": "Gina"},
        {"about": "Dave"},
        {"type": ["Note", "Entity"]},
        {"author": "a"},
    ]
    few = [texts(db, k=30, **each) for each in asked]
    monkeypatch.setattr(filters, "MAX_LISTED", 1)
    assert [texts(db, k=30, **each) for each in asked] == few


def test_who_wrote_it_counts(db: worlddb.Database) -> None:
    db.signed("Ben").create("Note", "", content="Ben says that Dave buys a tent")
    assert texts(db, k=9, author="Ben") == ["Ben says that Dave buys a tent"]
    assert texts(db, k=9, author="nobody") == []


def test_a_name_that_nobody_has_is_told_and_finds_nothing(db: worlddb.Database) -> None:
    found = db.view().recall("What did Dave buy?", about="Dvae")
    assert not found.hits and "nothing here is called 'Dvae'" in found.note


def test_a_confined_view_knows_only_those_inside() -> None:
    with new_store() as db:
        one, other = db.create("Topic", "one"), db.create("Topic", "other")
        for home, name in ((one, "Dave"), (other, "Audrey")):
            entity = db.create("Entity", name, world=home)
            db.link(db.create("Note", "", content="bought a tent", world=home), "refers_to", entity)
        inside = db.view(world=one)
        assert len(inside.recall("tent", about="Dave")) == 1
        asked = inside.recall("tent", about="Audrey"), inside.recall("tent", about="Nobody")
        assert [found.note.replace("Audrey", "Nobody") for found in asked] == [asked[1].note] * 2
        assert not any(found.hits for found in asked)


WRONG: list[dict[str, Any]] = [
    {"type": 5},
    {"author": [b"x"]},
    {"source": "file"},
    {"source": {5: 6}},
    {"since": "never"},
    {"since": "2024-01-02", "until": "2024-01-02"},
    {"about": 5.5},
]


@pytest.mark.parametrize("asked", WRONG, ids=repr)
def test_what_is_no_filter_is_refused(db: worlddb.Database, asked: dict[str, Any]) -> None:
    with pytest.raises(worlddb.InputError):
        texts(db, **asked)
