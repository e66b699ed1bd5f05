"""The word of a type in a question finds what is of that type, by words, everywhere that words are searched.

A question that names a type and asks for all of it gets all of that type, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import worlddb
from worlddb import View

TASK = "which tasks are left?"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        with store.batch() as tx:
            home = tx.create("Topic", "Home", key="home")
            for type, text in (
                ("Fact", "The kitchen is green."),
                ("Task", "Paint the fence."),
                ("HouseRule", "Shoes stay outside."),
                ("Präferenz", "Tea rather than coffee."),
                ("Fact", "A task was to sweep."),
            ):
                tx.create(type, "", content=text, world=home, resolve=False)
        yield store


def found(view: View, question: str, **options: object) -> list[str]:
    return [hit.content for hit in view.recall(question, lanes=["text"], **options).hits]  # type: ignore[arg-type]


def test_a_type_finds_its_worlds_behind_a_text_that_has_the_word(db: worlddb.Database) -> None:
    assert found(db.view(), TASK) == ["A task was to sweep.", "Paint the fence."]
    assert found(db.view(), "the rules of the house") == ["Shoes stay outside."]
    assert found(db.view(), "meine Präferenzen und Präferenz") == ["Tea rather than coffee."]


@pytest.mark.parametrize("rebuilt", [False, True])
def test_it_is_the_same_from_an_index_the_tail_and_a_world_of_its_own(db: worlddb.Database, rebuilt: bool) -> None:
    then, home = db.view(), db.view().find(name="Home")[0].ref
    told = [(hit.content, hit.score) for hit in then.recall(TASK).hits]
    if rebuilt:
        db.rebuild("text")
    assert [(hit.content, hit.score) for hit in db.view().recall(TASK).hits] == told
    assert found(db.view(world=home), TASK) == [content for content, _ in told]
    db.create("Task", "", content="Feed the cat.", world=home)
    assert found(db.view(seq=then.seq), TASK, exact=True) == [content for content, _ in told]
    assert "Feed the cat." in found(db.view(world=home), TASK)


ALL: Final = (
    "List all claims",
    "list the claims",
    "Please list every claim.",
    "Show me all of the claims that are recorded",
    "all claims",
    "What claims are there?",
    "Which claims do we have so far?",
    "what are the claims?",
    "what are all our claims?",
    "Can you give me a full list of our claims?",
    "List all CLAIMS",
)
MANY: Final = 14


@pytest.fixture
def claimed(tmp_path: Path) -> Iterator[worlddb.Database]:
    with worlddb.open(tmp_path / "claims", author="assistant") as store:
        annex = store.create("Topic", "Annex", content="A list of all claims", key="annex")
        for number, text in enumerate(("All claims are listed in the annex", "List the guests", "Claims, claims")):
            store.create("Note", f"note {number}", content=text, world=annex)
        for number in range(MANY):
            text = f"The pump of house {number} failed"
            store.create("Claim", f"pump {number}", content=text, world=annex, valid_from=f"2026-01-{number + 1:02}")
        store.create("BugReport", "crash", content="It stops at nine")
        store.create("claim", "small", content="of another spelling", valid_from="2025-01-01")
        store.embed()
        yield store


@pytest.mark.parametrize("question", ALL)
def test_a_question_for_all_of_a_type_gets_all_of_it_and_is_not_weak(claimed: worlddb.Database, question: str) -> None:
    found = claimed.view().recall(question, k=30)
    assert {hit.type for hit in found.hits} == {"Claim", "claim"} and len(found.hits) == MANY + 1
    assert not found.weak and found.confidence == 1.0
    assert [hit.name for hit in found.hits][:2] == ["pump 13", "pump 12"], "the latest first"
    assert "all of type claim and Claim" in found.note and f"{MANY + 1} such hits" in found.note
    few = claimed.view().recall(question, k=5)
    assert few.hits == found.hits[:5] and few.note == found.note and not few.weak
    assert claimed.view().recall(question, k=30, exact=True).hits == found.hits


def test_all_of_a_type_keeps_to_the_view_and_its_filters(claimed: worlddb.Database) -> None:
    annex = claimed.view().find(name="Annex")[0].ref
    assert len(claimed.view(world=annex).recall("list all claims", k=30).hits) == MANY
    assert len(claimed.view().recall("list all claims", world=annex, k=30).hits) == MANY
    assert [hit.name for hit in claimed.view().recall("list all claims", type="claim").hits] == ["small"]
    assert len(claimed.view().recall("list all claims", k=30, since="2026-01-10").hits) == 5
    assert len(claimed.view(valid="2026-01-03").recall("list all claims", k=30).hits) == 4
    last = claimed.view().find(name="pump 13")[0]
    claimed.retire(last.ref, at="2026-02-01")
    assert len(claimed.view(valid="2026-03-01").recall("list all claims", k=30).hits) == MANY
    made = claimed.view().recall("list all claims", exact=True, receipt=True)
    assert made.receipt is not None and claimed.check_recall(made.receipt, "list all claims").ok
    assert [hit.name for hit in claimed.view().recall("Show me all bug reports").hits] == ["crash"]


@pytest.mark.parametrize(
    "question",
    [
        "List all guests",
        "what is on the list of claims?",
        "list all claims about the pump of house 3",
        "What is a claim?",
        "Show me a claim",
        "Did all claims fail?",
        "list all pumps",
        "What are my claims?",
        "what are our claims so far?",
    ],
)
def test_a_question_that_names_no_type_or_asks_for_less_is_answered_as_others_are(
    claimed: worlddb.Database, question: str
) -> None:
    assert "all of type" not in claimed.view().recall(question, k=30).note
