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


def test_the_author_counts(db: worlddb.Database) -> None:
    db.as_author("Ben").create("Note", "", content="Ben says that Dave buys a tent")
    assert texts(db, k=9, author="Ben") == ["Ben says that Dave buys a tent"]
    assert texts(db, k=9, author="nobody") == []


def test_a_name_that_nobody_has_is_told_and_finds_nothing(db: worlddb.Database) -> None:
    found = db.view().recall("What did Dave buy?", about="Dvae")
    assert not found.hits and "no world here has the name 'Dvae'" in found.note


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


@pytest.mark.parametrize("unify", [False, True])
def test_who_is_one_with_somebody_is_meant_by_either_name(unify: bool) -> None:
    """A filter by one name of two that an accepted proposal made one left out half of what is known."""
    with new_store() as db:
        assert db.ingest([{"speaker": "Rob", "text": "I sail."}, {"speaker": "Peter Hale", "text": "I climb."}])
        rob, peter = (db.view().find(name=name)[0].ref for name in ("Rob", "Peter Hale"))
        for subject, town in ((rob, "Lisbon"), (peter, "Faro")):
            fact = db.create("Note", "", content=f"Rob lives in {town}.")
            db.link(fact, "refers_to", subject)
        db.alias(peter, "Bob")
        proposal = db.link(rob, "same_as", peter)

        def found(**asked: Any) -> set[str]:
            return {
                hit.content
                for hit in db.view(unify=unify).recall("Who sails, climbs, lives?", k=20, **asked)
                if hit.content
            }

        apart = [
            found(speaker="Rob"),
            found(speaker="Bob"),
            found(about=rob, type="Note"),
            found(about=peter, type="Note"),
        ]
        assert [len(each) for each in apart] == [1, 1, 1, 1]
        db.accept(proposal)
        assert found(speaker="Rob") == found(speaker=peter) == found(speaker="Bob") == apart[0] | apart[1]
        assert found(about="Rob", type="Note") == found(about="Bob", type="Note") == apart[2] | apart[3]
        near = db.view(unify=unify).near("Peter Hale lives in Porto.", about="Peter Hale")
        assert {each.text for each in near} == apart[2] | apart[3]
        db.undo(proposal)
        assert found(about="Rob", type="Note") == apart[2]


def say_plans(db: worlddb.Database) -> None:
    """A plan of which another version was published than what holds, one of which that ended, and one with none."""
    for name, said in (("ship", ("Ship on Friday.", "Ship on Monday.")), ("ferry", ("The ship is painted red.", ""))):
        plan = db.create("Plan", name, content=said[0])
        db.tag(plan, "published")
        assert db.revise(plan, content=said[1]) if said[1] else db.retire(plan)
    db.create("Plan", "", content="Ship whenever.")


@pytest.mark.parametrize("confined", [False, True])
def test_a_tag_finds_the_versions_that_it_stands_for_whether_they_hold_or_not(confined: bool) -> None:
    with new_store() as db:
        say_plans(db)
        db.embed()
        home = db.create("Topic", "home")
        for plan in db.view().find(type="Plan", include_superseded=True):
            db.link(home, "contains", plan.ref, valid_from="2020-01-01")
        view = db.view(world=home) if confined else db.view()
        found = {"Ship on Friday.", "The ship is painted red."}
        for lanes in (["text"], ["vector"], list(worlddb.LANES)):
            for k in (2, 9):
                for question in ("ship", "did it use to ship on Friday?"):
                    hits = view.recall(question, tag="Published", k=k, lanes=lanes, exact=not confined).hits
                    assert {hit.content for hit in hits} == found and not any(hit.others for hit in hits)
        shown = {hit.content for hit in view.recall("ship", tag="current")}
        assert shown == {"Ship on Monday.", "Ship whenever."}
        db.untag(db.view().find(name="ship")[0].ref, "published")
        later = db.view(world=home) if confined else db.view()
        assert [hit.content for hit in later.recall("ship", tag="published")] == ["The ship is painted red."]
        assert {hit.content for hit in view.recall("ship", tag="published")} == found, "as it was known then"


def test_an_unknown_reference_is_reported() -> None:
    """Who asks for tags where they put labels finds nothing, and is to be told why."""
    with new_store() as db:
        inside, other = db.create("Topic", "one"), db.create("Topic", "other")
        db.create("Fact", "", content="The gate code is 4711.", labels=["home"], world=inside)
        for view in (db.view(), db.view(world=inside)):
            found = view.recall("gate code", tag="home")
            assert not found.hits and found.note == "nothing here has the tag 'home', so nothing was found"
            found = view.recall("gate code", label=["house", "HOME"], type=["Facts", "Topics"])
            assert found.note.startswith("nothing here has the type 'Facts' and no type 'Topics' and no label 'house'")
            assert not view.recall("gate code", label="home", type=["Facts", "Fact"]).note
            assert view.recall("gate code", label="home").hits
        assert "label 'home'" in db.view(world=other).recall("gate code", label="home").note


WRONG: list[dict[str, Any]] = [
    {"type": 5},
    {"author": [b"x"]},
    {"source": "file"},
    {"source": {5: 6}},
    {"since": "never"},
    {"since": "2024-01-02", "until": "2024-01-02"},
    {"about": 5.5},
    {"tag": 5},
    {"tag": ["a"]},
    {"tag": "a", "include_superseded": True},
    {"tag": "a", "during": ("2024-01-01", "2024-02-01")},
]


@pytest.mark.parametrize("asked", WRONG, ids=repr)
def test_an_invalid_filter_is_refused(db: worlddb.Database, asked: dict[str, Any]) -> None:
    with pytest.raises(worlddb.InputError):
        texts(db, **asked)
