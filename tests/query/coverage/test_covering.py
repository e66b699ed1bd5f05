"""A question that asks for all of something is known by its words, and answered by exchanges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, Recall, Turn
from worlddb.query.coverage.covering import covering
from worlddb.query.question.question import Question

ORDER = "Can you list the order in which I brought up different aspects of the harbour garden throughout our chats?"
SUMMARY = "Can you give me a clear summary of how my harbour garden has developed over time?"
OFTEN = 12


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with worlddb.open(tmp_path / "store", author="ana") as opened:
        yield opened


def talk(db: Database, asker: str = "user", answerer: str = "assistant") -> None:
    """Sessions about a garden and about trains, each of which asks shortly and is answered at length."""
    for number in range(OFTEN):
        about = ("harbour garden", "night train")[number % 2]
        told = f"Part {number} of the {about}: first plan it, then pay for it, then enjoy the {about}."
        said = [
            Turn(text=f"What next for the {about}, part {number}?", speaker=asker),
            Turn(text=told, speaker=answerer),
        ]
        db.ingest(said, session=f"talk {number}")
    db.embed()


def speakers(found: Recall) -> list[str]:
    return [hit.content.partition(":")[0] for hit in found.hits]


@pytest.mark.parametrize(
    ("text", "topic", "own"),
    [
        (ORDER, "the harbour garden ?", True),
        ("Walk me through the order in which I mentioned ways to save, in order.", "to save .", True),
        ("How did my focus on tables develop in order?", "did my focus on tables develop ?", True),
        (SUMMARY, "my harbour garden has developed ?", False),
        ("Please summarise what we said about Leah.", "what we said about Leah.", False),
        ("Give me an overview of our budget", "our budget", False),
        ("Summarize our discussions", "our discussions", False),
    ],
)
def test_a_question_for_all_of_something_is_known_by_its_words(text: str, topic: str, own: bool) -> None:
    found = covering(text)
    assert found is not None and Question(text, 0).may_ask_for_all
    assert (found.topic, found.own) == (topic, own)
    assert found.words.casefold() in text.casefold()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Which chair did I order in May?",
        "In which order do the trains leave?",
        "In order to pay, what did I bring up?",
        "Which summary did Leah write?",
        "Summarise the French Revolution",
        "What is an overview effect?",
        "Who brought up the garden?",
    ],
)
def test_other_questions_ask_for_less(text: str) -> None:
    assert covering(text) is None


def test_an_order_is_answered_by_what_the_asker_said(db: Database) -> None:
    talk(db)
    found = db.view().recall(ORDER, k=6)
    assert speakers(found) == ["user"] * 6
    assert all("harbour garden" in hit.content for hit in found.hits)
    assert "order in which I brought up" in found.note and f"{OFTEN} such hits" in found.note


def test_a_summary_is_answered_by_whole_exchanges(db: Database) -> None:
    talk(db)
    found = db.view().recall(SUMMARY, k=8)
    assert speakers(found) == ["user", "assistant"] * 4
    asked, answered = found.hits[::2], found.hits[1::2]
    assert [hit.score for hit in asked] == [hit.score for hit in answered]
    assert [hit.world for hit in asked] == [hit.world for hit in answered]
    for hit in found.hits:
        assert hit.score == pytest.approx(sum(hit.scores.values()), abs=1e-5) and "exchange" in hit.scores
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_what_is_brought_up_early_in_a_session_comes_before_what_goes_into_it_later(db: Database) -> None:
    said = [
        Turn(text=text, speaker=speaker)
        for _ in range(OFTEN)
        for speaker, text in (("user", "What next for the harbour garden?"), ("assistant", "Plant the harbour garden."))
    ]
    db.ingest(said, session="talk")
    db.embed()
    for question, step in ((ORDER, 2), (SUMMARY, 1)):
        found = db.view().recall(question, k=6).hits
        assert [hit.scores.get("place", 0.0) for hit in found] == pytest.approx([-0.005 * step * at for at in range(6)])


def test_the_answer_to_fewer_is_the_beginning_of_that_to_more(db: Database) -> None:
    talk(db)
    view = db.view()
    for question in (ORDER, SUMMARY):
        all_of_it = view.recall(question, k=20).hits
        for k in (1, 5, 9):
            assert view.recall(question, k=k).hits == all_of_it[:k]
        assert {hit.ref for hit in view.recall(question, k=20, exact=True)} == {hit.ref for hit in all_of_it}


@pytest.mark.parametrize("options", [{"group": 1}, {"fusion": "rrf"}, {"lanes": ("vector",)}, {"lanes": ("text",)}])
def test_what_is_ranked_otherwise_is_not_judged_by_exchanges(db: Database, options: dict[str, Any]) -> None:
    talk(db)
    found = db.view().recall(ORDER, **options)
    assert "asks for all of" not in found.note
    assert all("exchange" not in hit.scores for hit in found.hits)


def test_where_nobody_is_known_as_the_asker_hits_are_those_of_any_question(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(db, "Leah", "Bryan")
    found = db.view().recall(SUMMARY, k=6)
    monkeypatch.setattr(Question, "may_ask_for_all", False)
    assert found == db.view().recall(SUMMARY, k=6)
    assert "asks for all of" not in found.note and found.hits


def test_an_erased_answer_is_judged_no_more(db: Database) -> None:
    talk(db)
    answer = next(hit for hit in db.view().recall(SUMMARY, k=8).hits if hit.content.startswith("assistant"))
    db.erase(answer.ref, reason="asked to")
    found = db.view().recall(SUMMARY, k=20)
    assert answer.ref not in {hit.ref for hit in found.hits} and len(found.hits) > OFTEN
