"""Recall by several lanes: words, meaning, and who a question is about."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from tests.support.model.stores import new_store
from worlddb import Database, ManualClock, Turn
from worlddb.log.store.environment import Environment
from worlddb.query.question.question import ASKED, ASKERS, possible_names, sides, without_names
from worlddb.query.question.question_dates import parse_times
from worlddb.query.recall.scoring import (
    TEXT_WEIGHT,
    VECTOR_CALIBRATION,
    WORD_WEIGHT_BY_MODEL,
    Evidence,
    reciprocal_rank_scores,
    weighted_parts,
)

SAID = [
    Turn(speaker="user", text="My dog Rex is ill since the weekend", at="2024-03-02"),
    Turn(speaker="assistant", text="The animal hospital in Main Street is open on Sundays", at="2024-03-02"),
    Turn(speaker="user", text="Interest rates are rising again", at="2024-04-02"),
    Turn(speaker="assistant", text="Yes, the central bank decided it yesterday", at="2024-04-02"),
    Turn(speaker="user", text="I repaired the bicycle", at="2024-05-02"),
]


def opened_then(store: Path) -> Database:
    return worlddb.open(store, clock=ManualClock(worlddb.parse_time("2024-06-01T12:00:00Z")))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store, closed."""
    with opened_then(tmp_path_factory.mktemp("made") / "store") as opened:
        opened.ingest(SAID)
        opened.embed()
        return opened.path


@pytest.fixture
def db(made: Path, tmp_path: Path) -> Iterator[Database]:
    """A copy of it, opened."""
    shutil.copytree(made, tmp_path / "store")
    with opened_then(tmp_path / "store") as opened:
        yield opened


def contents(found: worlddb.Recall) -> list[str]:
    return [hit.content.partition(": ")[2] for hit in found.hits]


def test_a_text_is_found_by_its_meaning_without_a_word_in_common(db: Database) -> None:
    question = "Where can a sick puppy see a veterinarian?"
    assert db.view().recall(question, lanes=["text"]).hits == ()
    assert set(contents(db.view().recall(question, k=2))) == {SAID[0].text, SAID[1].text}


def test_who_a_question_is_about_speaks_for_what_they_said(db: Database) -> None:
    mine = db.view().recall("What about my animal?", k=1)
    yours = db.view().recall("Which animal place did you recommend?", k=1)
    assert contents(mine) == [SAID[0].text]
    assert contents(yours) == [SAID[1].text]
    assert mine.hits[0].scores["entity"] == pytest.approx(0.2)


def test_a_time_that_a_question_names_speaks_for_what_was_said_then(db: Database) -> None:
    scores = {
        hit.content: hit.scores.get("when", 0.0)
        for hit in db.view().recall("What happened last month?", asked="2024-06-05").hits
    }
    assert scores[f"user: {SAID[4].text}"] == pytest.approx(0.6)
    assert scores[f"user: {SAID[2].text}"] < 0.1


def test_what_is_said_after_the_question_is_asked_comes_last_unless_asked_for_by_its_time(db: Database) -> None:
    db.create(type="Note", name="", content="I repair the other bicycle", valid_from="2024-05-30")
    repaired = f"user: {SAID[4].text}"

    def when(asked: str, question: str = "What did I do with the bicycle?") -> float:
        found = db.view().recall(question, asked=asked)
        return {hit.content: hit.scores.get("when", 0.0) for hit in found.hits}[repaired]

    assert when("2024-05-02") == when("2024-06-01") == 0.0
    assert when("2024-04-30") == pytest.approx(-0.2)
    assert when("2024-04-30", "What did I do with the bicycle on 2 May 2024?") == pytest.approx(0.2)
    (planned,) = (hit for hit in db.view().recall("bicycle", asked="2024-04-30").hits if hit.type == "Note")
    assert "when" not in planned.scores


def test_every_hit_says_which_lanes_found_it_at_which_rank_and_what_each_added(db: Database) -> None:
    found = db.view().recall("my sick dog")
    assert found.lanes == ("text", "vector", "entity")
    best = found.hits[0]
    assert best.lanes == {"text": 1, "vector": 1, "entity": 1}
    assert best.score == pytest.approx(sum(best.scores.values()), abs=1e-5)
    assert best.reason.startswith("text: dog; close in meaning; by or about")


def test_a_reason_is_told_only_of_what_speaks_for_a_hit(db: Database) -> None:
    seen = {"near": 0, "far": 0}
    for question in ("my sick dog", "What did I do last month?", "What happened two years ago?"):
        for hit in db.view().recall(question, k=50, asked="2024-06-05").hits:
            near = hit.scores.get("vector", 0.0) >= 0.1
            assert ("close in meaning" in hit.reason) is near
            assert ("near the time" in hit.reason) is (hit.scores.get("when", 0.0) >= 0.02)
            assert hit.reason
            seen["near" if near else "far"] += 1
    assert min(seen.values()) > 0


def test_the_stronger_of_words_and_meaning_is_a_fusion_too(db: Database) -> None:
    view = db.view()
    sums = {hit.ref: hit.scores for hit in view.recall("my sick dog", k=20).hits}
    found = view.recall("my sick dog", fusion="combmax", k=20).hits
    assert found and {hit.ref for hit in found} <= sums.keys()
    for hit in found:
        shares = sums[hit.ref].get("text", 0) / TEXT_WEIGHT, sums[hit.ref].get("vector", 0) * VECTOR_CALIBRATION
        assert hit.score == pytest.approx(max(shares), abs=1e-6)
        assert hit.score == pytest.approx(sum(hit.scores.values()), abs=1e-6) and len(hit.scores) <= 1
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_reciprocal_ranks_are_a_fusion_too(db: Database) -> None:
    found = db.view().recall("my sick dog", fusion="rrf")
    assert found.hits[0].score == pytest.approx(3 / 61, abs=1e-6)


def test_lanes_that_were_not_available_are_named_with_the_reason(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.create("Fact", "one", content="the dog is ill")
        found = db.view().recall("sick dog")
        assert (found.lanes, contents(found)) == (("text", "entity"), [""])
        assert "no text has been embedded" in found.unavailable["vector"]
        db.embed()
        assert db.view().recall("sick dog").unavailable == {}
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        assert "without an embedder" in db.view().recall("sick dog").unavailable["vector"]
        assert db.view().recall("sick dog").hits


def test_what_has_no_vector_yet_is_found_by_its_words_and_counted(db: Database) -> None:
    db.create("Fact", "late", content="A hedgehog lives in the garden")
    found = db.view().recall("hedgehog", k=1)
    assert found.pending == 1
    assert found.hits[0].name == "late"
    db.embed()
    assert db.view().recall("hedgehog", k=1).pending == 0


@pytest.mark.parametrize("options", [{}, {"exact": True}], ids=str)
def test_what_waits_for_a_vector_is_counted_also_where_meaning_cannot_be_compared(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    with worlddb.open(tmp_path / "store") as db:
        home = db.create("Topic", "home").ref
        for number in range(3):
            db.create("Fact", f"fact {number}", content="the dog is ill", world=home if number else None)
        assert db.view().recall("sick dog", **options).pending == 3
        assert db.view(world=home).recall("sick dog", **options).pending == 2
        assert db.view().recall("sick dog", lanes=["text"], **options).pending == 0
        db.embed()
        assert db.view().recall("sick dog", **options).pending == 0
        db.create("Fact", "late", content="and so is the cat", world=home)
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        answer = db.view().recall("sick dog", **options)
        assert (answer.pending, list(answer.unavailable)) == (1, ["vector"])
        assert db.view(world=home).recall("sick dog", **options).pending == 1


def test_a_new_version_is_found_by_its_own_meaning_alone(db: Database) -> None:
    made = db.create("Fact", "plan", content="We travel to the seaside by train")
    db.embed()
    db.revise(made, content="The parliament votes on the budget")
    db.embed()
    found = {hit.name: hit for hit in db.view().recall("holiday at the ocean", lanes=["vector"], k=20).hits}
    assert found["plan"].content.startswith("The parliament")
    past = db.view(seq=made.seq)
    assert past.recall("holiday at the ocean", lanes=["vector"], k=1).hits[0].content.startswith("We travel")


def test_a_world_that_is_searched_gives_nothing_from_outside_by_any_lane(db: Database) -> None:
    place = db.create("Topic", "animals")
    inside = db.create("Fact", "cat", content="The cat sleeps on the roof", world=place)
    db.embed()
    for lanes in (["text"], ["vector"], ["entity"], ["text", "vector", "entity"]):
        found = db.view().recall("my dog or my cat, user", world=place, lanes=lanes)
        assert {hit.ref for hit in found.hits} <= {inside.ref}
    confined = db.view(world=place).recall("my dog or my cat")
    assert [hit.ref for hit in confined.hits] == [inside.ref]
    assert confined.pending == 0


@examples(5, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "Rex the dog is ill",
                "a puppy was sick",
                "the bank raised the rates",
                "I like trains",
                "the bicycle is repaired",
            ]
        ),
        min_size=2,
        max_size=8,
    ),
    st.integers(0, 7),
    st.sampled_from(["my sick dog", "money", "what did you repair last week?"]),
)
def test_an_exact_recall_of_the_past_is_that_of_a_store_replayed_to_it(
    texts: list[str], embedded_after: int, question: str
) -> None:
    with new_store() as db:
        for number, text in enumerate(texts):
            db.create("Fact", f"fact {number}", content=text)
            if number == embedded_after:
                db.embed()
        moment = db.head()
        db.create("Fact", "afterwards", content="my sick dog has money")
        db.embed()
        there = db.path.with_name(f"{db.path.name}-replayed")
        db.replay(there, seq=moment.seq)
        with worlddb.open(there) as replayed:
            view = db.view(seq=moment.seq)
            then = replayed.view(seq=moment.seq, valid=view.valid)
            for lanes in (["text", "vector", "entity"], ["vector"], ["text"]):
                one = view.recall(question, exact=True, lanes=lanes)
                other = then.recall(question, exact=True, lanes=lanes)
                assert one.hits == other.hits


def test_every_exact_answer_is_the_same_after_a_rebuild(db: Database) -> None:
    before = db.view().recall("my sick dog", exact=True)
    db.rebuild()
    assert db.view().recall("my sick dog", exact=True).hits == before.hits
    assert db.view().recall("my sick dog").hits[0].ref == before.hits[0].ref


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"lanes": ["smell"]}, "There is no lane 'smell'"),
        ({"lanes": []}, "No lane was named"),
        ({"lanes": "text"}, "not a list of lanes"),
        ({"fusion": "mean"}, "There is no fusion 'mean'"),
        ({"asked": "noon"}, "asked"),
        ({"k": 0}, "k is 0"),
    ],
)
def test_an_impossible_query_is_a_typed_error(db: Database, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(worlddb.InputError, match=told):
        db.view().recall("dog", **wrong)


@pytest.mark.parametrize("text", ["", " ", "?", "a" * 100_000, "x " * 50_000, '"(+-*:^~', "\x00", "東京", "\ud800"])
def test_any_text_is_a_question(db: Database, text: str) -> None:
    assert len(db.view().recall(text, k=3)) <= 5
    assert len(db.view().recall(text, k=3, exact=True)) <= 5


def test_half_a_character_takes_no_lane_away(db: Database) -> None:
    answer = db.view().recall("dog\ud800")
    assert not answer.unavailable and {"text", "vector"} <= set(answer.lanes)


class Silent:
    """A model that has stopped."""

    model, dimension = worlddb.StaticEmbedder().model, worlddb.StaticEmbedder().dimension

    def mean(self) -> Any:
        return np.zeros(self.dimension)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        raise TimeoutError("no answer within 5 seconds")


def test_a_model_that_fails_takes_its_lane_away_and_nothing_else(db: Database) -> None:
    with worlddb.open(db.path, embedder=Silent()) as other:
        found = other.view().recall("dog", k=1)
        assert "no answer within 5 seconds" in found.unavailable["vector"]
        assert (found.lanes, contents(found)) == (("text", "entity"), [SAID[0].text])
        for lanes in (["text", "entity"], ["text", "vector", "entity"]):
            again = other.view().recall("What did I say of Sunday in March?", lanes=lanes, asked="2024-06-05")
            assert (
                again.lanes == ("text", "entity") and len(again.times) == 1 and again.note.startswith("read as times")
            )
            parts = {hit.content.partition(": ")[2]: hit.scores for hit in again.hits}
            assert parts[SAID[0].text]["entity"] == pytest.approx(0.2)
            assert parts[SAID[1].text]["text"] > 0 and "entity" not in parts[SAID[1].text]
            assert parts[SAID[0].text]["when"] == pytest.approx(0.2)


def test_whom_a_question_is_about() -> None:
    assert sides("Where did I park?") == sides("what is my name") == ASKERS
    assert sides("What did you recommend for dinner?") == sides("In our last chat, which book was it?") == ASKED
    assert sides("Who is the president?") == ()
    assert "Sarah Chen" in set(possible_names("Where does Sarah Chen's brother live?"))


def test_fusions_are_sums() -> None:
    assert weighted_parts(Evidence(0.5, 0.25, 1.0, 0.5)) == {"text": 0.3, "vector": 0.25, "entity": 0.2, "when": 0.1}
    assert weighted_parts(Evidence(0.0, 0.0, 0.0, 0.0)) == {}
    assert reciprocal_rank_scores({"a": [1, 2], "b": [2]}) == {1: 1 / 61, 2: 1 / 62 + 1 / 61}


def test_what_was_erased_is_in_no_vector_index_and_found_by_no_lane(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worlddb.projections.indexes.vector_index.SHORT_TAIL", 1)
    assert db.catch_up()
    gone = next(hit for hit in db.view().recall("my sick dog").hits if "Rex" in hit.content)
    with worlddb.open(db.path) as other:
        assert other.view().recall("my sick dog").hits[0].ref == gone.ref
        db.erase(gone.ref, reason="request 7")
        for reader in (db, other):
            assert gone.ref not in {hit.ref for hit in reader.view().recall("my sick dog", lanes=["vector"]).hits}
            assert len(reader.view().recall("my sick dog", lanes=["vector"]).hits) == len(SAID) - 1
    db.embed()
    assert db.verify(deep=True).ok


def test_names_of_entities_are_no_part_of_a_meaning() -> None:
    assert without_names("What did Sarah Chen's brother buy?", ("Sarah Chen", "Sarah")).split() == [
        *("What", "did", "brother", "buy?")
    ]
    assert without_names("Sarah", ("Sarah",)) == "Sarah"
    assert without_names("Annual report", ("Ann",)) == "Annual report"
    assert without_names("What now?", ()) == "What now?"


def test_a_name_in_a_question_does_not_bring_near_all_that_it_stands_in(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        said = [
            Turn(speaker="Caroline", text="Good morning to you"),
            Turn(speaker="Caroline", text="Thanks, Melanie"),
            Turn(speaker="Melanie", text="My puppy had to see the veterinarian again"),
        ]
        db.ingest(said)
        db.embed()
        found = db.view().recall("Did Caroline hear about the sick dog?", lanes=["vector"], k=1)
        assert contents(found) == [said[2].text]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"exact": True},
        {"group": 2},
        {"lanes": ["text"]},
        {"fusion": "rrf", "neighbours": 2},
        {"during": ("2024-03-01", "2024-04-01")},
    ],
)
def test_a_recall_parses_its_question_once_and_opens_three_transactions_at_most(
    db: Database, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    view = db.view()
    view.recall("my sick dog")  # what a handle does once: compare its model with what is stored
    calls = Counter[str]()

    def counted(name: str, function: Any) -> Any:
        def called(*given: Any) -> Any:
            calls[name] += 1
            return function(*given)

        return called

    monkeypatch.setattr(Environment, "read", counted("read", Environment.read))
    monkeypatch.setattr("worlddb.query.question.question.parse_times", counted("parse", parse_times))
    assert view.recall("Who was ill two weeks ago?", **how).lanes
    assert 1 <= calls["read"] <= 3
    assert calls["parse"] == 1


class Named:
    """A model of one direction, called as one that was measured, or otherwise."""

    dimension = 1

    def __init__(self, model: str) -> None:
        self.model = model

    def mean(self) -> Any:
        return np.zeros(1, np.float32)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        return np.ones((len(texts), 1), np.float32)


def test_words_weigh_less_beside_a_model_whose_cosines_scatter_less(tmp_path: Path) -> None:
    (measured,) = WORD_WEIGHT_BY_MODEL
    assert measured == worlddb.MultilingualEmbedder().model
    parts: dict[str, dict[str, float]] = {}
    for model in (measured, "another"):
        with worlddb.open(tmp_path / str(len(parts)), embedder=Named(model)) as db:
            db.create("Fact", "", content="The kettle is green.")
            db.embed()
            shown, exact = (db.view().recall("green kettle", exact=exact).hits[0].scores for exact in (False, True))
            assert shown == exact
            parts[model] = shown
            alone = db.view().recall("green kettle", lanes=("text",)).hits[0].score
            assert alone == db.view().recall("green kettle", lanes=("text",), exact=True).hits[0].score
    assert parts[measured]["text"] == pytest.approx(WORD_WEIGHT_BY_MODEL[measured] * parts["another"]["text"], abs=1e-5)
    assert parts[measured]["vector"] == parts["another"]["vector"]
