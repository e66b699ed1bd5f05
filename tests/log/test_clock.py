"""A clock that is set back: time goes on, and the receipt says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import InvalidTime, ManualClock, parse_time

SECOND = 1_000_000


def test_a_clock_that_is_set_back_is_told_with_the_receipt_and_again_with_a_retry(tmp_path: Path) -> None:
    clock = ManualClock()
    with worlddb.open(tmp_path / "store", clock=clock) as db:
        before = db.create("Note", "before")
        assert before.notes == ()
        clock.advance(-60 * SECOND)
        receipts = [db.create("Note", f"after {number}", idempotency_key=str(number)) for number in range(3)]
        assert [receipt.ingest_time - before.ingest_time for receipt in receipts] == [1, 2, 3]
        assert [[note.code for note in receipt.notes] for receipt in receipts] == [["clock_behind"]] * 3
        clock.advance(120 * SECOND)
        assert db.create("Note", "after 1", idempotency_key="1") == receipts[1]
        late = db.create("Note", "late")
        assert (late.notes, late.ingest_time) == ((), clock.value)
        assert [world.name for world in db.view(ingested=before.ingest_time + 2).children()] == [
            "before",
            "after 0",
            "after 1",
        ]
        assert db.verify(deep=True).ok


def test_commits_of_the_same_instant_are_no_news(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", clock=ManualClock()) as db:
        assert [db.create("Note", f"note {number}").notes for number in range(20)] == [()] * 20


@pytest.mark.parametrize(
    "said", [True, 1.5, "x", None, float("nan"), 2**63 - 1, 2**63, -(2**63), 10**40, 253_402_300_800_000_000]
)
def test_a_clock_that_gives_no_time_is_refused_before_anything_is_written(tmp_path: Path, said: Any) -> None:
    """A boolean made a header that nothing could read again, and a far time one that could not be shown."""
    clock = ManualClock()
    wrong = ManualClock(said)
    with pytest.raises(InvalidTime, match="clock"):
        worlddb.open(tmp_path / "other", clock=wrong, max_clock_jump_days=10**9)
    with worlddb.open(tmp_path / "store", clock=clock, max_clock_jump_days=10**9) as db:
        clock.value = said
        for asked in (lambda: db.create("Note", "a"), db.view):
            with pytest.raises(InvalidTime, match="clock"):
                asked()
        clock.value = ManualClock().value
        assert db.create("Note", "b").seq == 2
        assert db.verify(deep=True).ok


def test_nothing_is_written_after_the_end_of_time(tmp_path: Path) -> None:
    clock = ManualClock(parse_time("9999-12-31T23:59:59.999998Z"))
    with worlddb.open(tmp_path / "store", clock=clock, max_clock_jump_days=10**7) as db:
        assert db.create("Note", "last")
        with pytest.raises(InvalidTime, match="9999"):
            db.create("Note", "after")
        assert [world.name for world in db.view().children()] == ["last"] and db.verify(deep=True).ok
        db.checkpoint()
