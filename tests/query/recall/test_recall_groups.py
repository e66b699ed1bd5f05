"""Recall by containers: which session or document answers, with the best hits of each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from tests.support.model.stores import new_store
from worlddb import Database, ManualClock, Turn
from worlddb.query.records.records import SHARPNESS, soft_maximum

DOGS = ["My dog Rex is ill since the weekend", "The puppy sees the veterinarian on Monday", "Rex barks at the cat"]
MONEY = ["Interest rates are rising again", "The bank sold my dog insurance", "I paid the rent"]
TRIPS = ["We travel to the seaside by train", "I repaired the bicycle"]
QUESTION = "How is my sick dog?"


def fill(db: Database) -> None:
    for session, said in (("dogs", DOGS), ("money", MONEY), ("trips", TRIPS)):
        db.ingest([Turn(speaker="user", text=text) for text in said], conversation="talk", session=session)
    db.embed()


def opened_then(store: Path) -> Database:
    return worlddb.open(store, clock=ManualClock(worlddb.parse_time("2024-06-01T12:00:00Z")))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store, closed."""
    with opened_then(tmp_path_factory.mktemp("made") / "store") as opened:
        fill(opened)
        return opened.path


@pytest.fixture
def db(made: Path, tmp_path: Path) -> Iterator[Database]:
    """A copy of it, opened."""
    shutil.copytree(made, tmp_path / "store")
    with opened_then(tmp_path / "store") as opened:
        yield opened


def named(found: worlddb.Recall) -> list[str]:
    return [group.name for group in found.groups]


def test_a_hit_names_the_container_that_was_searched(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        first, second = db.create("Topic", "first").ref, db.create("Topic", "second").ref
        inner = db.create("Topic", "inner", world=second).ref
        note = db.create("Note", "note", content="a heron by the river", world=first).ref
        db.link(inner, "contains", note)
        view = db.view()
        for world, told in ((None, first), (first, first), (second, inner), (inner, inner)):
            (hit,) = view.recall("heron", world=world)
            assert (hit.ref, hit.world) == (note, told)
            (group,) = view.recall("heron", world=world, group=1).groups[:1]
            assert group.hits[0].world == told
        assert view.confined(second).recall("heron").hits[0].world == inner


@pytest.mark.parametrize("exact", [False, True])
def test_the_best_sessions_come_with_the_best_turns_of_each(db: Database, exact: bool) -> None:
    view = db.view()
    found = view.recall(QUESTION, k=2, group=2, exact=exact)
    assert named(found) == ["dogs", "money"]
    best = found.groups[0]
    assert (best.type, len(best.hits)) == ("Session", 2)
    assert best.count == len(DOGS) + 1  # The session's own name is a hit too.
    assert {hit.world for hit in best.hits} == {best.ref}
    assert [group.score for group in found.groups] == sorted((group.score for group in found.groups), reverse=True)
    assert found.hits == tuple(hit for group in found.groups for hit in group.hits)
    singly = {hit.ref: hit.score for hit in view.recall(QUESTION, k=20, exact=exact).hits}
    assert all(hit.score == pytest.approx(singly[hit.ref], abs=0.01) for hit in found.hits)


def test_without_groups_there_are_none(db: Database) -> None:
    assert db.view().recall(QUESTION).groups == ()


def test_two_turns_that_are_near_outweigh_one_that_is_a_little_nearer(db: Database) -> None:
    one, two = db.create("Topic", "one"), db.create("Topic", "two")
    db.create("Fact", "a", content="heron" + 29 * " word", world=one)
    for name in "bc":
        db.create("Fact", name, content="heron" + 30 * " word", world=two)
    found = db.view().recall("heron", lanes=["text"], group=5)
    assert named(found) == ["two", "one"]
    assert found.groups[0].hits[0].score < found.groups[1].hits[0].score < found.groups[0].score


@pytest.mark.parametrize("options", [{"lanes": ["text"]}, {"lanes": ["vector"]}, {"fusion": "rrf"}])
def test_any_lane_and_any_fusion_can_be_grouped(db: Database, options: dict[str, Any]) -> None:
    assert db.view().recall("the dog and the puppy", group=1, **options).groups[0].name == "dogs"


def test_a_title_speaks_for_what_stands_under_it(db: Database) -> None:
    topic = db.create("Document", "Herons in winter")
    db.create("Paragraph", "first", content="They stay where the water does not freeze", world=topic)
    db.create("Fact", "note", content="The water in the kettle does not freeze")
    (best, *_) = db.view().recall("herons where water does not freeze", lanes=["text"], group=3).groups
    assert (best.ref, [hit.name for hit in best.hits]) == (topic.ref, ["first", "Herons in winter"])


def test_what_lies_directly_in_the_world_that_is_searched_stands_for_itself(db: Database) -> None:
    for name in "ab":
        db.create("Fact", name, content="the heron flies")
    assert named(db.view().recall("heron", group=3, lanes=["text"])) == ["a", "b"]


def test_more_is_looked_at_until_there_are_as_many_groups_as_are_asked_for(db: Database) -> None:
    db.ingest([Turn(speaker="user", text=f"heron heron heron {n}") for n in range(300)], session="long")
    db.ingest([Turn(speaker="user", text="once I saw a heron beside a lot of other birds by the sea")], session="short")
    found = db.view().recall("heron", k=2, lanes=["text"], group=1)
    assert named(found) == ["long", "short"]
    assert found.groups[0].count == 300


def test_a_group_is_judged_at_the_moment_of_the_view(db: Database) -> None:
    (hit,) = db.view().recall("barks at the cat", k=1).hits
    before = db.head().seq
    (trips,) = db.view().find(name="trips")
    db.move(hit.ref, trips.ref)
    assert db.view().recall("barks at the cat", k=1, group=1).groups[0].name == "trips"
    assert db.view(seq=before).recall("barks at the cat", k=1, group=1).groups[0].name == "dogs"
    ended = db.retire(trips.ref, at="2024-06-02")
    assert db.view(valid="2024-06-03").recall("barks at the cat", k=1, group=1).groups[0].ref == ended.ref


def test_nothing_outside_of_the_world_that_is_searched_is_a_group(db: Database) -> None:
    inner = db.create("Topic", "inner")
    (hit,) = db.view().recall("barks at the cat", k=1).hits
    db.link(inner, "contains", hit.ref)
    everywhere = db.view().recall("barks at the cat", lanes=["text"], group=1)
    assert sorted(named(everywhere)) == ["dogs", "inner"]
    for found in (
        db.view().recall("barks at the cat", world=inner, lanes=["text"], group=1),
        db.view(world=inner).recall("barks at the cat", lanes=["text"], group=1),
    ):
        assert [(group.ref, [each.ref for each in group.hits]) for group in found.groups] == [(hit.ref, [hit.ref])]


def test_containers_of_one_identity_are_one_group() -> None:
    with new_store(embedder=None) as db:
        pair = [db.create("Project", name, resolve=False).ref for name in ("Atlas", "ATLAS 2")]
        for ref in pair:
            db.create("Fact", f"in {ref[:6]}", content="the budget of the project", world=ref)
        db.accept(db.link(pair[1], "same_as", pair[0]))
        assert len(db.view().recall("budget", group=5).groups) == 2
        (one,) = db.view(unify=True).recall("budget", group=5).groups
        assert (one.ref in pair, one.count) == (True, 2)


def test_an_erased_container_has_no_name(db: Database) -> None:
    topic = db.create("Topic", "herons")
    db.create("Fact", "note", content="a heron by the river", world=topic)
    db.erase(topic, reason="a request", members=False)
    (group,) = db.view().recall("heron", lanes=["text"], group=1).groups
    assert (group.ref, group.name, group.type) == (topic.ref, "", "")


def test_hits_are_grouped_by_any_key_and_scored_as_containers_are(db: Database) -> None:
    found = db.view().recall(QUESTION, k=10, lanes=["text"], group=10)
    by_world = {group.ref: group.score for group in found.groups}
    singly = db.view().recall(QUESTION, k=20, lanes=["text"]).hits
    turns = [hit for hit in singly if hit.world in by_world]
    grouped = {group.key: group for group in worlddb.group_hits(turns, lambda hit: [hit.world])}
    assert grouped and all(len(group.hits) == sum(hit.world == key for hit in turns) for key, group in grouped.items())
    best = worlddb.group_hits(singly, lambda hit: [hit.type, hit.type])
    assert [group.score for group in best] == sorted((group.score for group in best), reverse=True)
    assert sum(len(group.hits) for group in best) == len(singly)
    assert worlddb.group_hits(singly, lambda hit: []) == worlddb.group_hits([], lambda hit: [1]) == []


def test_hits_that_stand_for_their_containers_are_grouped_as_recall_does(db: Database) -> None:
    for session in "ab":
        topic = db.create("Topic", session)
        for number in range(3):
            db.create("Fact", f"{session}{number}", content="the heron flies" + number * " again", world=topic)
    found = db.view().recall("heron", lanes=["text"], k=10, group=9)
    grouped = worlddb.group_hits(db.view().recall("heron", lanes=["text"], k=50), lambda hit: [hit.world])
    assert [(group.key, round(group.score, 4)) for group in grouped] == [
        (group.ref, round(group.score, 4)) for group in found.groups
    ]


@pytest.mark.parametrize("wrong", [0, -1, 10_001, "3", True, 2.0])
def test_a_number_of_hits_that_makes_no_sense_is_refused(db: Database, wrong: Any) -> None:
    with pytest.raises(worlddb.InputError, match="group"):
        db.view().recall("dog", group=wrong)


@examples(3, deadline=None)
@given(st.lists(st.sampled_from([*DOGS, *MONEY]), min_size=2, max_size=6), st.integers(1, 4))
def test_exact_groups_of_the_past_are_those_of_a_store_replayed_to_it(texts: list[str], sessions: int) -> None:
    with new_store() as db:
        for number, text in enumerate(texts):
            db.ingest([Turn(speaker="user", text=text)], session=f"session {number % sessions}")
        db.embed()
        moment = db.head()
        db.ingest([Turn(speaker="user", text=QUESTION)], session="session 0")
        there = db.path.with_name(f"{db.path.name}-replayed")
        db.replay(there, seq=moment.seq)
        with worlddb.open(there) as replayed:
            view = db.view(seq=moment.seq)
            then = replayed.view(seq=moment.seq, valid=view.valid)
            one = view.recall(QUESTION, exact=True, group=2)
            assert one.groups and one.groups == then.recall(QUESTION, exact=True, group=2).groups


@given(st.lists(st.floats(0, 10), min_size=1, max_size=20), st.floats(0.1, 100))
def test_a_soft_maximum_is_a_little_more_than_the_best_and_knows_no_scale(scores: list[float], scale: float) -> None:
    most = max(*scores, 0.1)
    soft = soft_maximum(scores, most)
    assert max(scores) <= soft <= max(scores) + log(len(scores)) * most / SHARPNESS + 1e-9
    assert soft_maximum([*scores, 0.0], most) >= soft
    assert soft_maximum([scale * score for score in scores], scale * most) == pytest.approx(scale * soft, rel=1e-6)
    assert soft_maximum([-0.5, -0.25], -0.25) == -0.25
