"""Standing instructions and tastes are found by what they govern, and not by what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, Turn
from worlddb.projections.indexes.analysis import governed_stems, instruction_stems, standing_instruction
from worlddb.query.question.question import Question, answer_form
from worlddb.query.recall.ranking import PLACES_OF_RULES, PLACES_OF_TASTES
from worlddb.query.recall.scoring import GOVERNS, GOVERNS_WEIGHT, KEPT, TASTE_WEIGHT, prefers

RULE = "Always name the version when I ask about libraries."


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with worlddb.open(tmp_path / "store", author="ana") as opened:
        yield opened


def said(db: Database, *texts: str, speaker: str = "user") -> None:
    db.ingest([Turn(text=text, speaker=speaker) for text in texts], session=f"{speaker} talks")
    db.embed()


@pytest.mark.parametrize(
    "text",
    [
        RULE,
        "user: Always name the version when I ask about libraries",
        "That is fine. When I ask about trains, give times in 24 hours.",
        "From now on, answer in French.",
        "Please use metric units from now on.",
        "Never show me prices.",
        "Please remember to greet me by my first name.",
        "I'd like you to always cite your sources.",
    ],
)
def test_a_standing_instruction_is_known_by_its_form(text: str) -> None:
    assert standing_instruction(text) and standing_instruction(text) in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Always a pleasure.",
        "Never mind me.",
        "I always take the train.",
        "When I asked about libraries, nobody knew.",
        "From now on I run every day.",
        "assistant: Always name the version when I ask about libraries.",
        "Do you always name the version when I ask about libraries?",
    ],
)
def test_what_only_has_such_words_is_no_standing_instruction(text: str) -> None:
    assert standing_instruction(text) == ""


def test_a_standing_instruction_is_found_by_what_it_governs(db: Database) -> None:
    said(db, *(f"My notes on tables, part {number}" for number in range(20)), RULE)
    hits = db.view().recall("Which libraries read tables?", k=10).hits
    (rule,) = (hit for hit in hits if hit.content.endswith(RULE))
    assert rule.scores["governs"] == GOVERNS_WEIGHT
    assert "standing instruction" in rule.reason
    assert rule.score == pytest.approx(sum(rule.scores.values()), abs=1e-5)


@pytest.mark.parametrize(
    ("instruction", "subject"),
    [
        (RULE, {"librari"}),
        ("Give times in 24 hours when I am asking you about trains and trams.", {"train", "tram"}),
        ("From now on, answer in French.", {"now", "answer", "french"}),
    ],
)
def test_a_standing_instruction_is_about_what_is_asked_when_it_holds(instruction: str, subject: set[str]) -> None:
    assert instruction_stems(instruction) >= subject
    assert len(instruction_stems(instruction)) <= len(subject) + 1


FOR_RECIPES = "Before I forget, if I ever ask you for recipes: cashews are out."


def test_an_instruction_for_something_governs_nothing_else(db: Database) -> None:
    """One about recipes stood among the first hits of every question, and came first where no other hit was near."""
    said(db, FOR_RECIPES, *(f"Jonas and I moved box number {number} today" for number in range(20)))
    marks = {GOVERNS, KEPT}

    def governs(question: str, **options: Any) -> bool:
        hits = db.view().recall(question, k=10, **options).hits
        return any(marks & hit.scores.keys() for hit in hits if "cashews" in hit.content)

    assert governs("Is there a recipe with nuts?") and governs("Which dishes have nuts?")
    assert not governs("Who is my boyfriend?") and not governs("Where do I live?")
    assert governs("Who is my boyfriend?", lanes=["text", "entity"]), "where meaning is not compared it may be near"


@pytest.mark.parametrize(
    ("instruction", "subject"),
    [
        (FOR_RECIPES, {"recip"}),
        (RULE, {"librari"}),
        ("Whenever we talk about Python 3.9, be brief.", {"python", "3", "9"}),
        ("When I ask a question, be brief.", set()),
        ("If I ask you anything in future, answer in French.", set()),
        ("From now on, answer in French.", set()),
    ],
)
def test_an_instruction_says_what_it_is_for_or_is_for_all(instruction: str, subject: set[str]) -> None:
    assert governed_stems(instruction) == subject


NEARER = tuple(
    f"Part {number}: which parser reads tables of numbers, and which library is it in?" for number in range(20)
)


def test_a_place_is_kept_for_the_instruction_that_is_about_what_is_asked(db: Database) -> None:
    others = [f"Always give me tables of numbers when I ask about {each}." for each in ("recipes", "trains")]
    said(db, *NEARER, RULE, *others)
    view = db.view()
    found = view.recall("Which parser library reads tables of numbers?", k=10)
    governing = [place for place, hit in enumerate(found.hits) if "governs" in hit.scores]
    assert len(governing) == len(PLACES_OF_RULES) and max(governing) <= max(PLACES_OF_RULES)
    assert any(hit.content.endswith(RULE) for hit in found.hits)
    assert all(hit.score == pytest.approx(sum(hit.scores.values()), abs=1e-5) for hit in found.hits)
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    for k in (1, 5, 6, 8, 20):
        fewer = [hit.ref for hit in view.recall("Which parser library reads tables of numbers?", k=k).hits]
        assert fewer[:10] == [hit.ref for hit in found.hits][:k]


def test_an_instruction_comes_behind_what_has_more_of_the_words(db: Database) -> None:
    """By what it gains it came first in a small store, whatever was asked."""
    rules = "Please always answer me in short sentences.", "Never schedule anything for me before 9 on Sundays."
    said(db, *rules)
    loaf = "A rye loaf costs 4.60 euros."
    for text in (loaf, "Tom works at the hospital as a nurse."):
        db.create("Note", "", content=text)
    db.embed()
    view = db.view()
    found = view.recall("How much is a rye loaf?", k=4).hits
    assert found[0].content == loaf
    assert {hit.content for hit in found if GOVERNS in hit.scores} == {f"user: {rule}" for rule in rules}
    assert all(hit.score == pytest.approx(sum(hit.scores.values()), abs=1e-5) for hit in found)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    for k in (1, 2, 3):
        assert [hit.ref for hit in view.recall("How much is a rye loaf?", k=k).hits] == [hit.ref for hit in found][:k]


def test_a_place_is_kept_for_what_somebody_likes_where_advice_is_asked_for(db: Database) -> None:
    trips = (f"Can you suggest a weekend trip by train to town number {number}?" for number in range(20))
    said(db, *trips, "I prefer places where I can swim, so the train should go near a lake")
    view = db.view()
    hits = view.recall("Can you suggest a weekend trip by train?", k=10).hits
    (liked,) = (place for place, hit in enumerate(hits) if "prefer" in hit.content)
    assert liked == PLACES_OF_TASTES[0]
    assert KEPT in hits[liked].scores and "a place is reserved" in hits[liked].reason
    assert hits[liked].score == hits[liked + 1].score
    asked = view.recall("Which weekend trip by train did you suggest?", k=10).hits
    assert all(KEPT not in hit.scores for hit in asked)


def test_what_says_of_nobody_what_they_like_is_read_once_and_anew_where_it_is_revised(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, read = "Can you suggest a weekend trip by train?", list[str]()
    said(db, *(f"Can you suggest a weekend trip by train to town number {number}?" for number in range(20)))
    note = db.create("Note", "train", content="The weekend trip by train goes near a lake").ref

    def counted(text: str) -> bool:
        read.append(text)
        return prefers(text)

    monkeypatch.setattr("worlddb.query.recall.candidates.prefers", counted)

    def liked() -> list[str]:
        read.clear()
        return [hit.content for hit in db.view().recall(question) if "taste" in hit.scores]

    assert not liked() and len(read) == 21
    assert not liked() and not read
    taste = "I prefer a weekend trip by train that goes near a lake"
    db.revise(note, content=taste)
    assert liked() == [taste] == read


@pytest.mark.parametrize(
    ("question", "may"),
    [
        ("Which library reads tables?", True),
        ("What is the difference between a tram and a train?", True),
        ("How many days passed between when I planned the review and the launch?", False),
        ("How many weeks are there between the two deadlines?", False),
        ("Which library have we recently bought?", False),
        ("How do I feed a sourdough?", True),
    ],
)
def test_what_somebody_did_or_how_long_it_took_is_answered_by_no_instruction(question: str, may: bool) -> None:
    assert Question(question, 0).may_be_instructed is may


def test_an_instruction_is_not_looked_for_where_it_is_asked_what_was_said(db: Database) -> None:
    said(db, "I read about the parser library", RULE)
    view = db.view()
    for question in ("Which library have I read about?", "I read about a new library today."):
        assert all("governs" not in hit.scores for hit in view.recall(question, k=5))
    for ranked in (view.recall("Which library reads tables?", fusion="rrf"), view.recall("Which library?", group=1)):
        assert all("governs" not in hit.scores for hit in ranked.hits)


def test_an_instruction_that_was_erased_or_lies_elsewhere_governs_nothing(db: Database) -> None:
    here, there = db.create("Topic", "here"), db.create("Topic", "there")
    db.create("Note", "", content="The parser library reads tables", world=here)
    rule = db.create("Note", "", content=RULE, world=there)
    question = "Which library reads tables?"
    assert any(hit.ref == rule.ref for hit in db.view().recall(question))
    assert all(hit.ref != rule.ref for hit in db.view().recall(question, world=here))
    assert all(hit.ref != rule.ref for hit in db.view(world=here).recall(question))
    db.erase(rule, reason="asked for")
    assert all("governs" not in hit.scores for hit in db.view().recall(question))


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("What would you suggest I cook?", True),
        ("Can you help me plan my week?", True),
        ("What did you suggest I cook?", False),
        ("What does Ana like to cook?", False),
    ],
)
def test_advice_for_oneself_wants_what_one_likes(question: str, wants: bool) -> None:
    assert answer_form(question).taste is wants


def test_of_two_turns_that_come_close_the_one_that_says_what_somebody_likes_is_first(db: Database) -> None:
    said(db, "There are trains to the coast in the evening", "I prefer trains to the coast in the morning")
    said(db, "I prefer trains to the coast", speaker="assistant")
    hits = {hit.content: hit for hit in db.view().recall("Can you suggest trains to the coast?", k=5)}
    liked = [content for content, hit in hits.items() if "taste" in hit.scores]
    assert liked == ["user: I prefer trains to the coast in the morning"]
    assert hits[liked[0]].scores["taste"] == TASTE_WEIGHT and "preference" in hits[liked[0]].reason


def test_a_past_time_is_asked_about_beside_an_instruction_that_was_given_later(db: Database) -> None:
    home = db.create("Note", "flat", content="Ana rents a flat", valid_from="2023-05-01", valid_to="2023-09-01")
    db.create("Note", "rule", content=RULE, valid_from="2024-01-01")
    db.embed()
    found = db.view().recall("Which flat does Ana rent in July 2023?", asked="2024-06-01")
    assert found.hits[0].ref == home.ref
