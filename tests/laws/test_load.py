"""Reads beside writers: nobody fails or sees an old state, and writers hardly notice."""

from __future__ import annotations

from pathlib import Path

import lmdb
import pytest

import worlddb
from tests.support.faults.load import Load, load

WRITERS, READERS, SHARE = 2, 8, 0.2


def check(found: Load) -> None:
    """What eight readers may cost. What writers get done is compared for the processor time that they had: on a machine
    with fewer free cores than processes, readers take some of that from them, as anything else does."""
    assert found.reads >= READERS
    assert found.beside / found.beside_seconds >= found.alone / found.alone_seconds / 2, str(found)


def test_readers_see_every_acknowledged_write_and_do_not_halve_what_writers_get_done(memory: Path) -> None:
    found = load(memory, writers=WRITERS, readers=READERS, share=SHARE, slices=2, slice_seconds=0.75)
    check(found)
    # A reader that loses its processor in the middle of a read keeps the pages of what is written meanwhile. A view
    # that kept pages would keep those of all that was written.
    assert found.spare <= (found.alone + found.beside) / 2, str(found)


@pytest.mark.soak
def test_readers_and_writers_get_along_for_two_minutes(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = load(memory, writers=WRITERS, readers=READERS, share=SHARE, slices=12, slice_seconds=5.0)
    with capsys.disabled():
        print(f"\n{READERS} readers, {WRITERS} writers: {found}")
    check(found)
    assert found.file_bytes <= 3 * found.used_bytes, str(found)
    assert found.reading_seconds <= 1.5 * SHARE * found.seconds


def test_a_view_that_is_held_keeps_no_pages_and_a_transaction_would(tmp_path: Path) -> None:
    def grown(folder: Path, *, transaction: bool) -> int:
        with worlddb.open(folder) as db:
            world = db.create("Note", "revised again and again")
            view = db.view()
            before = (view.hash(), (folder / "data.mdb").stat().st_size)
            held: lmdb.Transaction | None = db._env._shared.env.begin() if transaction else None
            for number in range(120):
                db.revise(world, content=f"{number} " * 10)
            assert view.hash() == before[0]
            if held is not None:
                held.abort()
            return (folder / "data.mdb").stat().st_size - before[1]

    assert grown(tmp_path / "view", transaction=False) < grown(tmp_path / "transaction", transaction=True) / 2
