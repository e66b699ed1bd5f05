"""Remarks: what is said without asking brings to mind what somebody told of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import worlddb
from worlddb import Database, Turn
from worlddb.projections.indexes.analysis import is_remark
from worlddb.projections.indexes.vector_rows import VectorRow
from worlddb.projections.tables.reads.asof import SeenVersion
from worlddb.query.lanes.vector_lane import ExactVectorLane, VectorQuery, WorldVectors
from worlddb.query.question.question import Question
from worlddb.query.recall.candidates import Passed
from worlddb.query.recall.ranking import (
    COMMON,
    NEAREST,
    ON_SUBJECT,
    OUTSTANDING,
    STATING,
    STATING_ALONE,
    propose_by_meaning,
)

NOTHING: Any = None
REMARK = "I booked the train, but only seats that face forward."
QUESTION = "Which seats did I book on the train?"
CHAT = (
    "Hey Ana! That sounds great! What else is new?",
    "Wow, the garden looks amazing! How long did that take you?",
    "Nice seats! Did you like the concert? We should go there some day!",
)
TOLD = "I get sick in the back of a car."


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with worlddb.open(tmp_path / "store", author="ana") as opened:
        said = [text for number in range(40) for text in CHAT + ((TOLD,) if number == 20 else ())]
        opened.ingest([Turn(speaker="Ben", text=text) for text in said], session="talk")
        opened.embed()
        yield opened


class Recording:
    """A lane that keeps how it was asked; what it proposes has these scores."""

    def __init__(self, scores: list[float]) -> None:
        self.scores_given = scores
        self.asked: list[float] = []
        self.stating = 0.0
        self.taken: list[tuple[int, float]] = []

    def weighing(self, stating: float) -> Any:
        self.stating = stating
        return self

    def apart(self, nearest: list[tuple[int, int]], stored: Any, share: float) -> Any:
        self.taken.append((len(nearest), share))
        return self

    def propose(self, lane: Any) -> list[Passed]:
        assert lane is self
        self.asked.append(self.stating)
        seen: Any = SeenVersion
        return [Passed(node, seen, score) for node, score in enumerate(self.scores_given)]


def asked_how(text: str, scores: list[float]) -> list[float]:
    lane: Any = Recording(scores)
    propose_by_meaning(lane, Question(text, 0), lane.propose)
    return list(lane.asked)


def test_a_remark_states_something_and_asks_nothing() -> None:
    assert is_remark(REMARK)
    assert not any(map(is_remark, ("", QUESTION, "train seats", "Trains are late.", f"{REMARK} What do you think?")))


def test_a_question_is_asked_of_all_texts_alike() -> None:
    assert asked_how(QUESTION, [0.3] * NEAREST) == asked_how("", []) == [0.0]


def test_where_something_stands_out_statements_count_less() -> None:
    flat = [0.3] * (NEAREST - 1)
    assert asked_how(REMARK, [0.3 + OUTSTANDING + 0.01, *flat]) == [STATING]
    assert asked_how(REMARK, [0.3 + OUTSTANDING - 0.01, *flat]) == [STATING, STATING_ALONE]
    assert asked_how(REMARK, []) == [STATING, STATING_ALONE]


def test_what_the_nearest_have_in_common_is_taken_from_a_remark_alone() -> None:
    cases: Any = ((REMARK, 0.3, [(NEAREST, COMMON)]), (REMARK, ON_SUBJECT, []), (QUESTION, 0.3, []))
    for text, near, taken in cases:
        lane: Any = Recording([near] * (NEAREST + 1))
        propose_by_meaning(lane, Question(text, 0), lane.propose, lambda *_: None)
        assert lane.taken == taken


def test_a_query_is_apart_from_what_texts_have_in_common() -> None:
    rows = {node: np.array(values, "<f2").tobytes() for node, values in ((7, (1, 0.5, 0)), (9, (1, -0.5, 0)))}
    query = VectorQuery(1, 3, np.array([0.8, 0, 0.6], np.float32), "space", "model")

    def stored(space: int, node: int, version: int) -> VectorRow | None:
        return VectorRow(node, version, 1, rows[node]) if node in rows else None

    lane = ExactVectorLane(WorldVectors(NOTHING), query)
    apart = lane.apart([(9, 1), (7, 1), (8, 1)], stored, 0.8)
    assert np.allclose(apart.query.vector, [0, 0, 1], atol=1e-6)
    same = lane.apart([(8, 1)], stored, 0.8)
    assert same.query is query


@pytest.mark.parametrize("exact", [False, True])
def test_a_remark_brings_to_mind_what_was_told_of_oneself(db: Database, exact: bool) -> None:
    def first(text: str) -> str:
        return db.view().recall(text, k=1, exact=exact).hits[0].content

    assert first(REMARK) == f"Ben: {TOLD}"
    assert first(QUESTION) != f"Ben: {TOLD}"


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("text", ["田中さんはいつ京都大学へ移りますか", "Когда Таня переезжает в Киото"])
def test_where_the_model_knows_no_meaning_the_words_alone_decide(db: Database, text: str, exact: bool) -> None:
    """Any statement of oneself came before what a question in another script asks for."""
    for told in ("田中さんは来年の四月に京都大学へ移ります。", "Таня переезжает в Киото в апреле."):
        db.create("Fact", "", content=told)
    for told in ("I believe that sleep merely accompanies memory.", "I moved to Porto last week."):
        db.create("Belief", "", content=told)
    db.embed()
    assert db.view().recall(text, k=1, exact=exact).hits[0].content[:2] == {"田": "田中", "К": "Та"}[text[0]]
    assert all("vector" not in hit.scores for hit in db.view().recall(text, exact=exact).hits)


def test_a_lane_alone_and_reciprocal_ranks_are_what_they_are_for_any_text(db: Database) -> None:
    view = db.view()
    for options in ({"lanes": ["vector"]}, {"fusion": "rrf"}):
        hits = view.recall(REMARK, k=3, **options).hits
        assert TOLD not in {hit.content.partition(": ")[2] for hit in hits}


@pytest.mark.parametrize(
    "question",
    [
        "where did I park my car",
        "how much did my lamp cost",
        "Tell me what I said about the lamp",
        "remind me when my flight leaves",
        "I am going to Denver soon. Any suggestions on what to do there",
        "I was wondering if you could remind me of the name of my hotel",
        "Which plays have I seen with my sister",
        "At which university did I present my poster",
    ],
)
def test_a_question_is_one_without_its_mark(question: str) -> None:
    assert not is_remark(question) and not is_remark(f"user: {question}.")


@pytest.mark.parametrize(
    "text",
    [
        "I booked the train, but only seats that face forward.",
        "When I got home my keys were gone.",
        "What I love about my garden is the quiet.",
        "I keep wondering if my holiday was worth it.",
    ],
)
def test_what_is_told_is_a_remark_whatever_it_begins_with(text: str) -> None:
    assert is_remark(text)
