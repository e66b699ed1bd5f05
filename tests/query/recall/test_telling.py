"""Rescores the first hits by their form and by when in their session they were said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from worlddb import Database, ManualClock, Turn
from worlddb.query.question.question import ANY_FORM, AnswerForm, Question, answer_form
from worlddb.query.recall.candidates import FIRST_PLACES
from worlddb.query.recall.scoring import (
    AGE_WEIGHT,
    ASKS_WEIGHT,
    LATER_IN_GROUPS,
    LATER_WEIGHT,
    MONEY_WEIGHT,
    NUMBER_WEIGHT,
    TASTE_WEIGHT,
    TIME_WEIGHT,
    asking_share,
    form_scores,
    place_penalty,
)

NOON = worlddb.parse_time("2024-06-01T12:00:00Z")


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with worlddb.open(tmp_path / "store", clock=ManualClock(NOON)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How many lamps did I buy?", AnswerForm(number=True)),
        ("How much did the lamp cost?", AnswerForm(number=True, money=True)),
        ("How much water do the ferns get?", AnswerForm(number=True)),
        ("How much did we pay for the ferry?", AnswerForm(number=True, money=True)),
        ("When did I buy the lamp?", AnswerForm(time=True)),
        ("How many days ago did I buy it?", AnswerForm(number=True, time=True)),
        ("How old is my sister?", AnswerForm(number=True, age=True)),
        ("Who is the older of my cousins?", AnswerForm(age=True)),
        ("Which lamp did I buy?", ANY_FORM),
        ("", ANY_FORM),
    ],
)
def test_the_words_of_a_question_say_what_an_answer_has_to_tell(question: str, asked: AnswerForm) -> None:
    assert answer_form(question) == asked


_OF_AGES = "turned the big 30 fifty-two years old I'm she was aged just in my early 40s ninetieth birthday born % of"
_OF_TASTES = "I my OUR i'd don't really love prefer favourite a fan of like to you chose allergic am value stand"


@given(st.lists(st.sampled_from([*_OF_AGES.split(), *_OF_TASTES.split(), "\n", "x"]), max_size=9).map(" ".join))
def test_an_age_and_a_taste_are_found_in_ascii_as_in_any_letters(text: str) -> None:
    other = f"{text} é"
    for wanted, weight in ((AnswerForm(age=True), AGE_WEIGHT), (AnswerForm(taste=True), TASTE_WEIGHT)):
        assert form_scores(text, wanted) == form_scores(other, wanted)
        assert set(form_scores(text, wanted).values()) <= {weight}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("It cost 40 euros", NUMBER_WEIGHT + MONEY_WEIGHT),
        ("It was $1,200 with the shade", NUMBER_WEIGHT + MONEY_WEIGHT),
        ("I have three of them", NUMBER_WEIGHT),
        ("I bought it on Monday.", TIME_WEIGHT),
        ("We met on the 14th", NUMBER_WEIGHT + TIME_WEIGHT),
        ("Bought two weeks ago!", NUMBER_WEIGHT + TIME_WEIGHT),
        ("I just turned 32", NUMBER_WEIGHT + AGE_WEIGHT),
        ("My niece is seven and a half", NUMBER_WEIGHT),
        ("a 78-year-old gardener", NUMBER_WEIGHT + TIME_WEIGHT + AGE_WEIGHT),
        ("She's in her early forties, I guess", AGE_WEIGHT),
        ("He turned the big Ninety", AGE_WEIGHT),
        ("my 30th birthday", NUMBER_WEIGHT + TIME_WEIGHT + AGE_WEIGHT),
        ("where she was born", AGE_WEIGHT),
        ("\u0130\u2019m just seventeen", AGE_WEIGHT),
        ("I'm 40 minutes late", NUMBER_WEIGHT),
        ("It turned 5% cheaper", NUMBER_WEIGHT),
        ("It was cheap", 0.0),
        ("", 0.0),
    ],
)
def test_a_text_tells_a_number_a_time_an_age_or_a_price_by_its_words(text: str, told: float) -> None:
    wanted = AnswerForm(number=True, time=True, age=True, money=True)
    assert form_scores(text, wanted).get("told", 0.0) == pytest.approx(told)
    assert "told" not in form_scores(text, ANY_FORM)


@given(st.text(max_size=200), st.integers(0, FIRST_PLACES), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_form_decides_little_and_each_of_its_reasons_has_one_sign(
    text: str, place: int, number: bool, time: bool, age: bool, money: bool
) -> None:
    parts = form_scores(text, AnswerForm(number, time, age, money)) | place_penalty(place)
    assert 0 <= asking_share(text) <= 1
    assert 0 < parts.get("told", 0.01) <= NUMBER_WEIGHT + TIME_WEIGHT + AGE_WEIGHT + MONEY_WEIGHT
    assert parts.get("asks", -ASKS_WEIGHT) == -ASKS_WEIGHT
    assert parts.get("later", 0.0) == pytest.approx(-LATER_WEIGHT * place)
    assert all(parts.values())


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("I saw a vase.", 0.0),
        ("Did you see it?", 1.0),
        ("I saw it. Did you?", 9 / 18),
        ("Did you?! I saw it!", 8 / 19),
        ("Why? It is red\nIs it old? No.", 14 / 29),
        ("", 0.0),
    ],
)
def test_of_a_text_the_sentences_that_end_with_a_question_mark_ask(text: str, asks: float) -> None:
    assert asking_share(text) == pytest.approx(asks)


def test_between_people_what_asks_counts_less_the_more_of_it_asks(db: Database) -> None:
    said = ["Which vase did you buy?", "The blue vase. Which vase did you buy?", "The blue vase."]
    db.ingest([Turn(text=text, speaker="Ana") for text in said], session="people")
    db.embed()
    hits = {hit.content.partition(": ")[2]: hit for hit in db.view().recall("Which vase is it?", k=9).hits}
    assert all(hits[text].scores["asks"] < -ASKS_WEIGHT for text in said[:2]) and "asks" not in hits[said[2]].scores
    assert hits[said[0]].scores["asks"] < hits[said[1]].scores["asks"]
    assert all(hit.scores["talk"] > 0 for hit in hits.values())


def test_sessions_are_ranked_by_what_their_turns_tell_too(db: Database) -> None:
    db.ingest([Turn(text="What does a lamp from the market cost?", speaker="user")], session="asks")
    db.ingest([Turn(text="The lamp from the market was 40 euros", speaker="user")], session="tells")
    db.embed()
    view = db.view()
    tells, asks = view.recall("How much was the lamp from the market?", k=2, group=1).groups
    assert (tells.name, asks.name) == ("tells", "asks")
    assert tells.hits[0].scores["told"] == NUMBER_WEIGHT
    assert asks.hits[0].scores["asks"] == -ASKS_WEIGHT


def test_what_a_session_begins_with_counts_more_where_sessions_are_asked_for(db: Database) -> None:
    db.ingest([Turn(text="Good morning"), Turn(text="The kettle whistles")], session="late")
    db.ingest([Turn(text="The kettle whistles"), Turn(text="Good morning")], session="early")
    db.embed()
    view = db.view()
    early, late = view.recall("Does the kettle whistle?", k=2, group=1).groups
    assert (early.name, late.name) == ("early", "late")
    assert late.hits[0].scores["later"] == -LATER_IN_GROUPS
    turns = [hit for hit in view.recall("Does the kettle whistle?", k=4).hits if "kettle" in hit.content]
    assert [hit.scores.get("later") for hit in turns] == [None, -LATER_WEIGHT]


def test_of_two_turns_that_come_close_the_one_that_tells_the_number_is_first(db: Database) -> None:
    db.ingest([Turn(text="The lamp from the market is lovely")], session="one")
    db.ingest([Turn(text="The lamp from the market was 40 euros")], session="two")
    db.embed()
    view = db.view()
    lovely, price = view.recall("How much was the lamp from the market?", k=2).hits[::-1]
    assert "40" in price.content and price.scores["told"] == NUMBER_WEIGHT
    assert "has a number, a time" in price.reason and "told" not in lovely.scores
    assert price.score == pytest.approx(sum(price.scores.values()), abs=1e-5)
    assert all("told" not in hit.scores for hit in view.recall("What about the lamp?", k=2).hits)


def test_what_was_said_first_is_ahead_of_the_same_said_later_and_of_the_question_for_it(db: Database) -> None:
    said = ["My bicycle is blue", "My bicycle is blue", "My bicycle is blue?"]
    db.ingest([Turn(text=text) for text in said], session="talk")
    db.embed()
    first, second, question = db.view().recall("the blue bicycle", k=3).hits
    assert [first.scores.get("later"), second.scores["later"]] == [None, -LATER_WEIGHT]
    assert question.content.endswith("?") and question.scores["asks"] == -ASKS_WEIGHT


def test_turns_far_into_a_session_are_told_apart_no_more_and_other_worlds_have_no_place(db: Database) -> None:
    db.ingest([Turn(text=f"The ferry leaves from pier {n}") for n in range(FIRST_PLACES + 5)], session="long")
    world = db.create("Topic", "ferries")
    for number in range(3):
        db.create("Fact", f"fact {number}", content=f"The ferry is late, case {number}", world=world)
    db.embed()
    hits = db.view().recall("the ferry", k=50).hits
    later = sorted((hit.scores.get("later", 0.0) for hit in hits if hit.type == "Turn"), reverse=True)
    steps = [-LATER_WEIGHT * min(place, FIRST_PLACES) for place in range(FIRST_PLACES + 5)]
    assert later == pytest.approx(steps)
    assert all("later" not in hit.scores for hit in hits if hit.type == "Fact")


def test_an_erased_text_tells_nothing_and_stops_nobody(db: Database) -> None:
    dear = db.create("Fact", "dear", content="The lamp was 40 euros")
    db.create("Fact", "cheap", content="The lamp was cheap")
    db.embed()
    db.erase(dear, reason="asked for")
    hits = db.view().recall("How much was the lamp?", k=5).hits
    assert any("cheap" in hit.content for hit in hits)
    assert all("told" not in hit.scores for hit in hits)


def test_ranks_take_no_second_look(db: Database) -> None:
    db.ingest([Turn(text="The lamp was 40 euros"), Turn(text="Is the lamp nice?")], session="talk")
    db.embed()
    for fusion in ("rrf", "combmax"):
        for hit in db.view().recall("How much was the lamp?", fusion=fusion, k=5).hits:
            assert not {"told", "asks", "later"} & hit.scores.keys()


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("Which plays have I seen in the past three months?", "Which plays have I seen in ?"),
        ("What did I plant two weeks ago?", "What did I plant ?"),
        ("Who came on 21 November, 2023?", "Who came on ?"),
        ("Which shoes did I clean last month?", "Which shoes did I clean ?"),
        ("What did I do last week?", "What did I do last week?"),
        ("Which lamp did I buy?", "Which lamp did I buy?"),
    ],
)
def test_a_question_without_its_times_keeps_what_it_is_about(question: str, rest: str) -> None:
    assert Question(question, NOON).without_times == rest


@given(st.text(max_size=80), st.sampled_from(["two weeks ago", "last month", "in March 2023", "yesterday"]))
def test_a_question_that_names_a_time_names_none_without_it(words: str, time: str) -> None:
    question = f"Which lamp {words} did I buy {time} ?"
    rest = Question(question, NOON).without_times
    assert "lamp" in rest
    assert time not in rest
    assert Question(question, NOON).times


def test_sessions_are_asked_for_without_the_times_that_the_question_names(db: Database) -> None:
    db.ingest([Turn(text="We saw Hamlet at the theatre", speaker="user")], session="plays", at="2024-04-20")
    db.ingest(
        [Turn(text="In the past three months I have read six books", speaker="user")], session="books", at="2024-05-02"
    )
    db.embed()
    question = "Which play at the theatre have I seen in the past three months?"
    view = db.view()
    found = view.recall(question, k=4, group=1, asked=NOON)
    assert [group.name for group in found.groups if group.type == "Session"] == ["plays", "books"]
    books = {hit.content: hit.scores for hit in view.recall(question, k=5, asked=NOON).hits}
    ungrouped = next(scores for content, scores in books.items() if "books" in content)
    grouped = next(hit.scores for hit in found.hits if "books" in hit.content)
    assert grouped.get("text", 0.0) < ungrouped["text"]
    assert grouped["when"] == ungrouped["when"] > 0
    by_ranks = view.recall(question, k=4, group=1, asked=NOON, fusion="rrf")
    both = {hit.content for hit in by_ranks.hits if "text" in hit.lanes}
    assert any("books" in content for content in both), "it shares words with the whole question"


@given(before=st.text(max_size=40), after=st.text(max_size=40))
def test_a_number_that_is_a_word_is_told_whatever_letters_are_around(before: str, after: str) -> None:
    asked = AnswerForm(number=True)
    assert form_scores(f"{before} Three\u00a0{after}", asked)["told"] == NUMBER_WEIGHT
    assert "told" not in form_scores("thréee threes", asked)
