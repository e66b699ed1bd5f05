"""An erasure everywhere takes the names of bookmarks that hold an erased name; the plan lists them in any case."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.faults.traces import find_traces
from worlddb import UnknownReference


def marked(folder: Path) -> tuple[worlddb.Database, str]:
    """A store with a person, and bookmarks that name her by name, by alias, in the reason and not at all."""
    db = worlddb.open(folder, author="ada")
    ref = db.create("Person", "Walpurga Quist", aliases=["Wally Q"]).ref
    db.create("Note", "other")
    db.bookmark("before Walpurga  QUIST left")
    db.bookmark("monday", why="wally q came back")
    db.bookmark("the quisten", why="no name of hers")
    return db, ref


def test_an_erasure_everywhere_reaches_bookmarks_that_hold_a_name(tmp_path: Path) -> None:
    db, ref = marked(tmp_path / "store")
    with db:
        plan = db.erasure_plan(ref, everywhere=True)
        assert plan.bookmarks == ("before Walpurga  QUIST left", "monday")
        receipt = db.erase(ref, reason="request 7", everywhere=True)
        assert [mark.name for mark in db.bookmarks()] == ["the quisten"]
        for gone in ("before Walpurga  QUIST left", "monday"):
            with pytest.raises(UnknownReference):
                db.view(bookmark=gone)
        told = db.erasure_receipt(receipt)
        assert sum(len(world.texts) for world in told.worlds) == plan.texts and db.check_erasure(told).ok
        assert db.verify(deep=True).findings == ()
        assert db.rebuild("tables").root == db.view().hash()
        assert [mark.name for mark in db.bookmarks()] == ["the quisten"]
        assert db.verify(deep=True).findings == ()
        # The name of a bookmark is no text that may not come again.
        assert db.bookmark("monday")
        db.replay(tmp_path / "then", seq=6)
        db.backup(tmp_path / "backup")
    for copy in ("then", "backup"):
        with worlddb.open(tmp_path / copy) as other:
            assert other.verify(deep=True).findings == ()
            assert "the quisten" in [mark.name for mark in other.bookmarks()]
    for folder in ("store", "then", "backup"):
        assert find_traces(tmp_path / folder, ["QUIST left", "wally q came"]) == []


def test_other_erasures_leave_bookmarks_and_the_plan_lists_them(tmp_path: Path) -> None:
    db, ref = marked(tmp_path / "store")
    with db:
        assert db.erasure_plan(ref).bookmarks == ("before Walpurga  QUIST left", "monday")
        db.erase(ref, reason="request 7")
        assert [mark.name for mark in db.bookmarks()] == ["before Walpurga  QUIST left", "monday", "the quisten"]
        assert db.verify(deep=True).findings == ()


def test_bookmarks_that_one_commit_set_lose_their_names_as_in_a_replay(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        ref = db.create("Person", "Walpurga").ref
        with db.batch() as tx:
            for name in ("z Walpurga", "a walpurga", "m WALPURGA"):
                tx.bookmark(name)
        db.erase(ref, reason="request 7", everywhere=True)
        assert db.bookmarks() == [] and db.verify(deep=True).findings == ()
