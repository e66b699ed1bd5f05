"""The word of a type in a question finds what is of that type, by words, everywhere that words are searched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
