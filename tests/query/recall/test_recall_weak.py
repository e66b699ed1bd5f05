"""Recall says when its nearest hits rest on little, and changes no answer by that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.running import Here
from tests.tools.mcp.test_mcp_tools import call
from worlddb import Database, Turn
from worlddb.query.recall.answer import SCATTER, asks_something, chance_level
from worlddb.tools.mcp.session import Session

SAID = (
    "Sarah lives in Porto.",
    "The animal hospital in Main Street is open on Sundays.",
    "Interest rates are rising again.",
    "I repaired the bicycle.",
    "The lease allows pets.",
    "Tom prefers tea to coffee.",
)
ANSWERED = ("Who fixed the bike?", "What does Tom drink?", "Where does Sarah live?", "Are pets allowed by the lease?")
UNRELATED = ("What is the boiling point of tungsten?", "asdf qwer zxcv", "How do submarines dive?")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store") as opened:
        for text in SAID:
            opened.create("Fact", "", content=text)
        opened.embed()
        yield opened


def test_the_default_model_is_one_that_was_measured() -> None:
    assert set(SCATTER) == {worlddb.StaticEmbedder().model}


@pytest.mark.parametrize("exact", [False, True])
def test_an_answer_that_rests_on_nothing_says_so(db: Database, exact: bool) -> None:
    for question in UNRELATED:
        found = db.view().recall(question, exact=exact)
        assert found.hits and found.weak
        assert found.note.startswith("perhaps nothing here is about that")
    for question in ANSWERED:
        found = db.view().recall(question, exact=exact)
        assert (found.weak, found.note) == (False, "")


def test_a_name_or_a_time_in_the_question_is_something_to_rest_on(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.ingest([Turn(speaker="Ada", text=text) for text in SAID], at="2024-04-01")
        db.embed()
        view = db.view()
        assert view.recall("tungsten boils").weak
        assert not view.recall("What did Ada say of tungsten?").weak
        assert not view.recall("tungsten in April 2024", asked="2024-05-01").weak
        assert view.recall("tungsten in April 2021", asked="2024-05-01").weak


@pytest.mark.parametrize(
    "options", [{"lanes": ["text"]}, {"fusion": "combmax"}, {"lanes": ["text", "entity"]}], ids=str
)
def test_where_meaning_was_not_compared_or_not_weighed_nothing_is_called_weak(
    db: Database, options: dict[str, Any]
) -> None:
    assert not any(db.view().recall(question, **options).weak for question in UNRELATED)


def test_a_model_that_nobody_measured_is_never_called_weak(tmp_path: Path) -> None:
    flat = worlddb.CallableEmbedder(lambda texts: [[1.0, float(len(text))] for text in texts], "flat/1")
    with worlddb.open(tmp_path / "store", embedder=flat) as db:
        db.create("Fact", "", content=SAID[0])
        db.embed()
        assert not db.view().recall("tungsten", lanes=["vector"]).weak


def test_what_is_weak_in_a_confined_view_depends_on_nothing_outside(db: Database) -> None:
    place = db.create("Topic", "place")
    db.create("Fact", "", content="The heron stands in the pond.", world=place)
    db.embed()
    before = [db.view(world=place).recall(question).weak for question in UNRELATED]
    with db.batch() as tx:
        for number in range(300):
            tx.create("Note", "", content=f"note {number} says how submarines dive")
    db.embed()
    assert [db.view(world=place).recall(question).weak for question in UNRELATED] == before == [True] * 3
    assert not db.view().recall("How do submarines dive?").weak


def test_by_chance_the_nearest_of_more_texts_is_nearer() -> None:
    levels = [chance_level(0.1, count) for count in (0, 1, 2, 8, 100, 3_000, 10**6)]
    assert levels == sorted(levels)
    assert levels[3] == pytest.approx(0.204, abs=0.001) and levels[5] == pytest.approx(0.400, abs=0.001)


# -- a question without a word


@pytest.mark.parametrize("text", ["", " \n", "?", "…!", "\x00", "\ud800", "()+-*", "\u0301"])
def test_a_question_without_a_word_is_answered_by_nothing_and_says_that_nothing_was_asked(
    db: Database, text: str
) -> None:
    for options in ({}, {"exact": True}, {"group": 3}, {"during": (None, None)}):
        found = db.view().recall(text, **options)
        assert (found.hits, found.groups, found.lanes, found.weak) == ((), (), (), False)
        assert found.note == "nothing was asked: there is no word in the question"
    assert db.view().query(text=text).run().refs == ()


@pytest.mark.parametrize("text", ["a", "7", "東京", "🐶", "the"])
def test_a_word_a_number_or_a_pictogram_asks_something(text: str) -> None:
    assert asks_something(text)


@given(st.text(max_size=30))
def test_what_is_asked_does_not_depend_on_what_is_around_it(text: str) -> None:
    assert asks_something(f" {text} ?") == asks_something(text)


def test_the_command_line_and_the_server_say_both(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    notes = call(Session(db), "memory_recall", query=UNRELATED[0])["notes"]
    assert any("perhaps nothing here is about that" in note for note in notes)
    assert any("nothing was asked" in note for note in call(Session(db), "memory_recall", query=" ?")["notes"])
    db.close()
    run = Here(capsys, db.path)
    assert "note: perhaps nothing here is about that" in run("recall", UNRELATED[0]).out.replace("\n", " ")
    assert run.json("recall", UNRELATED[0])["weak"] is True
    empty = run("recall", "")
    assert (empty.code, empty.out.splitlines()[0]) == (0, "Nothing was asked.")
