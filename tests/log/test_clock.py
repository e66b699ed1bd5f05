"""A clock that is set back: time goes on, and the receipt says so."""

from __future__ import annotations

from pathlib import Path

import worlddb
from worlddb import ManualClock

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
