"""Standing instructions and tastes are found by what they govern, and not by what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, Turn
from worlddb.projections.indexes.analysis import standing
from worlddb.query.question.question import answer_form
from worlddb.query.recall.scoring import GOVERNS_WEIGHT, TASTE_WEIGHT

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
    assert standing(text) and standing(text) in text


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
    assert standing(text) == ""


def test_a_standing_instruction_is_found_by_what_it_governs(db: Database) -> None:
    said(db, *(f"My notes on tables, part {number}" for number in range(20)), RULE)
    hits = db.view().recall("Which parser reads tables?", k=10).hits
    (rule,) = (hit for hit in hits if hit.content.endswith(RULE))
    assert rule.scores["governs"] == GOVERNS_WEIGHT
    assert "standing instruction" in rule.reason
    assert rule.score == pytest.approx(sum(rule.scores.values()), abs=1e-5)


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
    assert hits[liked[0]].scores["taste"] == TASTE_WEIGHT and "prefers" in hits[liked[0]].reason
