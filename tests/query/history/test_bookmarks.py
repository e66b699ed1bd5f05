"""Tests names for moments: what they stand for, erasure, and use on the command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from worlddb import InputError, InvalidText, ManualClock, SeededEntropy, UnknownReference

DAY = 86_400_000_000


@pytest.fixture
def db(tmp_path):
    clock = ManualClock()
    with worlddb.open(tmp_path / "memory", clock=clock, entropy=SeededEntropy(1)) as opened:
        for name in ("one", "two", "three"):
            clock.advance(DAY)
            opened.create("Thing", name)
        clock.advance(DAY)
        yield opened


@pytest.fixture
def run(writing):
    return writing


def names(view):
    return [world.name for world in view.children()]


def test_a_name_stands_for_the_head_a_commit_or_a_time(db):
    db.bookmark("now")
    db.bookmark("earlier", seq=2)
    db.bookmark("at that time", at=db.view(seq=3).ingested + 1)
    assert names(db.view(bookmark="now")) == ["one", "two", "three"]
    assert names(db.view(bookmark="earlier")) == ["one"]
    assert names(db.view(bookmark="at that time")) == ["one", "two"]
    assert [(mark.name, mark.seq, mark.set_by) for mark in db.bookmarks()] == [
        ("now", 4, 5),
        ("earlier", 2, 6),
        ("at that time", 3, 7),
    ]


def test_the_receipt_names_the_commit_by_its_chain_hash(db):
    chain = db.head().chain
    assert db.bookmark("now").ref == chain


def test_a_name_is_found_whatever_its_case_and_spacing(db):
    db.bookmark("Before the  Move")
    assert db.view(bookmark="before the move").seq == 4


def test_a_taken_name_is_refused_and_moves_only_when_told_to(db):
    db.bookmark("mark", seq=2)
    head = db.head()
    assert db.bookmark("mark", seq=3).outcome.code == "bookmark_exists"
    assert db.head() == head
    again = db.bookmark("mark", seq=2)
    assert again and not again.events and db.head() == head
    assert db.bookmark("mark", seq=3, move=True)
    assert db.view(bookmark="mark").seq == 3
    assert [mark.seq for mark in db.bookmarks()] == [3]


def test_what_a_name_stood_for_is_still_known_to_views_of_then(db):
    before = db.head().seq
    db.bookmark("mark", seq=2, why="first")
    set_by = db.head().seq
    db.bookmark("mark", seq=3, move=True, why="second")
    assert db.view(seq=before).bookmarks() == []
    (then,) = db.view(seq=set_by).bookmarks()
    (now,) = db.bookmarks()
    assert (then.seq, then.why, now.seq, now.why) == (2, "first", 3, "second")


def test_a_bookmark_can_be_set_in_a_batch_and_its_retry_has_the_same_receipt(db):
    for _ in range(2):
        with db.batch(idempotency_key="k") as tx:
            tx.create("Thing", "four")
            tx.bookmark("before four", why="a batch")
        assert tx.receipt.seq == 5
    assert db.view(bookmark="before four").seq == 4


@pytest.mark.parametrize("name", ["", " ", "7", "2026-01-01", "2026-13-99 or so", "\u200b" * 0 + "\ud800"])
def test_a_name_that_would_be_taken_for_something_else_is_an_error(db, name):
    head = db.head()
    with pytest.raises((InputError, InvalidText)):
        db.bookmark(name)
    assert db.head() == head


def test_moments_that_never_were_are_errors(db):
    for wrong in ({"seq": 99}, {"seq": 0}, {"at": "1999-01-01"}, {"seq": 1, "at": "2030-01-01"}):
        with pytest.raises(InputError):
            db.bookmark("mark", **wrong)
    with pytest.raises(UnknownReference, match="no bookmark 'mark'"):
        db.view(bookmark="mark")
    with pytest.raises(InputError, match="Both seq and bookmark"):
        db.view(bookmark="mark", seq=1)
    assert db.bookmarks() == []


def test_a_replay_ends_at_a_bookmark(db, tmp_path):
    db.bookmark("mark", seq=2)
    assert db.replay(tmp_path / "then", bookmark="mark").seq == 2


@examples(8, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4)), max_size=8))
def test_rebuilding_and_looking_back_give_what_was_set(tmp_path_factory, marks):
    with worlddb.open(tmp_path_factory.mktemp("marks") / "s", entropy=SeededEntropy(2)) as db:
        for name in "wxy":
            db.create("Thing", name)
        known: dict[str, int] = {}
        steps = [(db.head().seq, dict(known))]
        for name, seq in marks:
            db.bookmark(name, seq=seq, move=True)
            known[name] = seq
            steps.append((db.head().seq, dict(known)))
        db.rebuild("tables")
        assert db.verify(deep=True).ok
        for head, then in steps:
            assert {mark.name: mark.seq for mark in db.view(seq=head).bookmarks()} == then


def test_a_command_in_the_past_answers_as_its_own_option_does(run):
    direct = run.json("children", "Search team", "--ingested", "5")
    assert run.json("at", "5", "children", "Search team") == direct
    run("bookmark", "the start", "--at", "5")
    assert run.json("at", "the start", "children", "Search team") == direct
    assert run.json("children", "Search team", "--ingested", "the start") == direct
    assert run("at", "the start", "log").out == run("log", "--to", "5").out


def test_bookmarks_are_listed_and_a_taken_one_is_refused(run):
    assert run("bookmark").out == "No bookmarks.\n"
    made = run.json("bookmark", "audit", "--at", "5", "--why", "yearly")
    assert (made["seq"], made["why"], made["set_by"]) == (5, "yearly", 12)
    assert run.json("bookmark")["bookmarks"] == [made]
    assert run("bookmark", "audit", "--at", "6").code == 3
    assert run("bookmark", "audit", "--at", "6", "--move").code == 0
    assert run.json("bookmark")["bookmarks"][0]["seq"] == 6


@pytest.mark.parametrize("at", ["2000-01-01", "0"])
def test_a_moment_before_the_first_commit_gets_no_name_and_is_told_so(at, run):
    refused = run("bookmark", "early", "--at", at)
    assert refused.code == 2 and f"Nothing had been committed by {at}" in refused.err


def test_a_view_before_the_first_commit_says_so_and_names_no_world(db):
    root = next(db.log(1, 1)).data["root"]
    early = db.view(ingested="2000-01-01")
    assert list(early.children()) == early.find() == []
    for read in (
        early.get,
        early.hash,
        early.edges,
        early.history,
        early.confined,
        lambda ref: list(early.children(ref)),
    ):
        with pytest.raises(worlddb.UnknownReference, match="Nothing had been committed yet") as raised:
            read(root)
        assert root not in str(raised.value)
    with pytest.raises(worlddb.UnknownReference, match="Nothing had been committed yet"):
        early.get("a name")


@pytest.mark.parametrize(
    "words",
    [["5"], ["5", "verify"], ["5", "children", "--ingested", "3"], ["5", "nonsense"], ["soon", "children"]],
)
def test_an_impossible_past_moment_is_reported(words, run):
    refused = run("at", *words)
    assert refused.code in (1, 2) and refused.err and not refused.out
