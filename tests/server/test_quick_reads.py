"""Small reads on the loop: what was quick lately is answered there, in one snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from worlddb.tools.server import rest


def test_what_was_quick_is_answered_on_the_loop_for_some_time_and_what_was_not_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(rest, "monotonic", lambda: now)
    quick = rest.QuickReads()
    assert not quick.has(1)
    quick.note(1, 0.0)
    quick.note(2, rest.QUICK_SECONDS * 2)
    assert quick.has(1) and not quick.has(2)
    now += rest.KNOWN_SECONDS / 2
    quick.note(1, 0.0)
    now += rest.KNOWN_SECONDS / 2
    assert not quick.has(1), "it is looked at again in a thread, however often it is asked"
    quick.note(1, 0.0)
    quick.note(1, rest.QUICK_SECONDS * 2)
    assert not quick.has(1)


def test_as_many_reads_as_there_may_be_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "MAX_KNOWN", 3)
    quick = rest.QuickReads()
    for number in range(5):
        quick.note(number, 0.0)
    assert [quick.has(number) for number in range(5)] == [False, False, True, True, True]


def test_reads_of_one_block_see_one_state_of_the_store(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db, worlddb.open(tmp_path / "store") as other:
        ref = db.create("Fact", "first").ref
        with db.reading():
            before = db.view()
            other.create("Fact", "second")
            with db.reading():
                assert db.view().seq == before.seq and len(db.view().find(type="Fact")) == 1
            assert db.view().hash() == before.hash()
        assert len(db.view().find(type="Fact")) == 2 and db.view().get(ref) is not None
        with pytest.raises(worlddb.UnknownReference), db.reading():
            db.view().hash("f" * 64)
        assert db.view().seq == other.view().seq
