"""Why a world is not among the hits of a recall, by step and lane."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, InputError, UnknownReference

QUESTION = "When does the night train leave?"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store, closed."""
    with worlddb.open(tmp_path_factory.mktemp("made") / "store", author="ana") as opened:
        for number in range(100):
            opened.create("Note", f"train {number}", content=f"The night train leaves from platform {number}")
        opened.create("Note", "cat", content="The cat sleeps on the sofa")
        opened.embed()
        return opened.path


@pytest.fixture
def db(made: Path, tmp_path: Path) -> Iterator[Database]:
    """A copy of it, opened."""
    shutil.copytree(made, tmp_path / "store")
    with worlddb.open(tmp_path / "store", author="ana") as opened:
        yield opened


def test_a_hit_is_shown_with_its_place(db: Database) -> None:
    view = db.view()
    second = view.recall(QUESTION, k=3).hits[1]
    absence = view.why_not(second.ref, QUESTION, k=3)
    assert (absence.step, absence.rank, absence.score) == ("", 2, second.score)


def test_what_others_outscore_is_told_by_how_much(db: Database) -> None:
    view = db.view()
    hits = view.recall(QUESTION, k=20).hits
    absence = view.why_not(hits[15].ref, QUESTION, k=5)
    assert absence.step == "score" and absence.rank > 5
    assert absence.score <= absence.least == view.recall(QUESTION, k=5).hits[-1].score
    assert f"rank {absence.rank}" in absence.reason


def test_what_no_lane_proposes_among_its_first_is_told_so(db: Database) -> None:
    absence = db.view().why_not("cat", QUESTION, k=3)
    assert absence.step == "lanes" and "no lane" in absence.reason


def test_what_the_view_or_the_filters_leave_out_is_told_so(db: Database) -> None:
    hit, other = db.view().recall(QUESTION, k=2).hits
    assert db.view().why_not(hit.ref, QUESTION, type="Task").step == "filters"
    db.retire(other.ref)
    assert db.view().why_not(other.ref, QUESTION).step == "view"
    assert db.view().why_not(other.ref, QUESTION, include_superseded=True).step == ""


def test_a_confined_view_says_nothing_of_what_lies_outside(db: Database) -> None:
    inside = db.create("Topic", "inside")
    with pytest.raises(UnknownReference):
        db.view(world=inside).why_not("cat", QUESTION)


@pytest.mark.parametrize("option", [{"group": 1}, {"receipt": True}])
def test_groups_and_receipts_are_refused(db: Database, option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(option))):
        db.view().why_not("cat", QUESTION, **option)
