"""Begins, updates, breaks off and refuses backups; an erasure reaches them too."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import worlddb
from tests.support.bundling import build_sample_store
from tests.support.faults.children import PATIENCE_SECONDS, Acknowledged, call, start, wait_for_exit
from tests.support.faults.growth import Growth
from tests.support.faults.jobs import cut_backup, write_and_find
from tests.support.faults.points import EXIT_STATUS
from tests.support.faults.traces import find_traces
from worlddb import BackupMismatch, DamagedStore, Database, ManualClock, ReadOnlyBackup
from worlddb.log.store import environment
from worlddb.reconciler.backup import commit_copier


class Interrupted(Exception):
    """Stands for whatever ends a backup on its way."""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="ada", timeout_seconds=PATIENCE_SECONDS) as opened:
        yield opened


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few commits in each transaction, so that a short history takes several."""
    monkeypatch.setattr(commit_copier, "CHUNK_COMMITS", 3)
    monkeypatch.setattr(commit_copier, "SEARCH_COMMITS", 2)


def fill(db: Database, word: str, count: int) -> list[str]:
    return [
        db.create("Note", f"{word} {n}", content=f"{word} number {n}", aliases=[f"{word}s"]).ref for n in range(count)
    ]


def same(backup: Path, db: Database) -> None:
    """The backup is whole and stands where the store does."""
    with worlddb.open(backup, create=False) as copy:
        assert copy.verify(deep=True).findings == ()
        assert copy.head() == db.head()
        # The two have clocks of their own.
        now = db.view()
        then = copy.view(valid=now.valid)
        assert [world.name for world in then.children()] == [world.name for world in now.children()]


def test_a_backup_is_a_store_that_reads_as_the_original_and_takes_only_what_is_new(
    db: Database, tmp_path: Path
) -> None:
    fill(db, "walrus", 5)
    first = db.backup(tmp_path / "backup")
    assert (first.seq, first.root, first.commits) == (6, db.view().hash(), 6)
    same(tmp_path / "backup", db)
    fill(db, "narwhal", 2)
    assert db.backup(tmp_path / "backup").commits == 2
    assert db.backup(tmp_path / "backup").commits == 0
    same(tmp_path / "backup", db)
    with worlddb.open(tmp_path / "backup") as copy:
        assert [hit.name for hit in copy.view().recall("narwhal number 1", k=1)] == ["narwhal 1"]
        assert copy.backup(tmp_path / "of the backup").root == db.view().hash()


def test_a_backup_copies_up_to_the_head_that_it_found_and_not_what_is_written_meanwhile(
    db: Database, tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(db, "walrus", 9)
    monkeypatch.setattr(
        environment, "_skip_crash_point", lambda name: fill(db, "late", 1) if name == "locked" else None
    )
    assert db.backup(tmp_path / "backup").seq == 10
    monkeypatch.undo()
    assert db.head().seq > 13
    db.backup(tmp_path / "backup")
    same(tmp_path / "backup", db)


def test_a_backup_while_another_process_writes_is_whole_each_time(db: Database, tmp_path: Path) -> None:
    lines, stop = Acknowledged(tmp_path / "lines"), tmp_path / "stop"
    process = start(write_and_find, tmp_path / "store", lines.file, "writer", stop)
    for number in range(4):
        gone = fill(db, f"Perishable{number}", 1)
        db.backup(tmp_path / "backup")
        db.erase(gone[0], reason="request")
        db.backup(tmp_path / "backup")
        with worlddb.open(tmp_path / "backup", create=False) as copy:
            assert copy.verify(deep=True).findings == ()
        assert find_traces(tmp_path / "backup", [f"Perishable{number}"]) == []
    stop.touch()
    assert wait_for_exit(process) == 0
    assert lines.lines()
    db.backup(tmp_path / "backup")
    same(tmp_path / "backup", db)


@pytest.mark.parametrize("seed", range(6))
def test_a_backup_that_breaks_off_anywhere_holds_at_every_moment_and_is_gone_on_with(
    seed: int, tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, backup = random.Random(seed), tmp_path / "backup"
    clock = ManualClock()
    with worlddb.open(tmp_path / "store", clock=clock) as db:
        growth = Growth(db, clock, seed)
        erased: list[str] = []
        for round_number in range(4):
            growth.grow(12)
            for word in [f"Perishable{round_number}x{number}" for number in range(2)]:
                fill(db, word, 1)
            left = draw.randint(2, 30)

            def step(name: str, at: int = left) -> None:
                nonlocal left
                left -= 1
                if not left:
                    raise Interrupted(name, at)
                if left % 7 == 3 and name == "locked" and draw.random() < 0.5:
                    _erase_one(db, erased)

            with monkeypatch.context() as patched:
                patched.setattr(environment, "_skip_crash_point", step)
                try:
                    db.backup(backup)
                except Interrupted:
                    pass
            if (backup / "data.mdb").exists():
                _holds(backup)
            if draw.random() < 0.7:
                _erase_one(db, erased)
        db.backup(backup)
        same(backup, db)
        assert erased and find_traces(backup, erased) == []


def _erase_one(db: Database, erased: list[str]) -> None:
    worlds = [world for world in db.view().find(type="Note") if world.name.startswith("Perishable")]
    if worlds:
        erased.append(worlds[0].name.split(" ")[0])
        db.erase(worlds[0].ref, reason="request", everywhere=True)


def _holds(backup: Path) -> None:
    try:
        copy = worlddb.open(backup, create=False)
    except worlddb.NotAStore:
        return
    with copy:
        assert copy.verify(deep=True).findings == ()


def test_a_process_that_is_killed_at_any_point_of_a_backup_leaves_one_that_holds_and_is_gone_on_with(
    db: Database, tmp_path: Path
) -> None:
    gone = fill(db, "Perishable", 4)
    fill(db, "walrus", 3)
    cut_short, points = tmp_path / "begun", tmp_path / "points"
    db.backup(cut_short)
    db.erase(gone[0], reason="request", everywhere=True)
    fill(db, "late", 8)
    assert call(cut_backup, tmp_path / "store", tmp_path / "probe", points, 0, "exit") == 0
    passed = points.read_text("utf-8").splitlines()
    assert {"locked", "begun", "applied", "committed", "LmdbLog.append", "Tables.flush"} <= set(passed)
    for at in range(1, len(passed), max(1, len(passed) // 10)):
        into = tmp_path / f"cut at {at}"
        how = "kill" if at % 2 else "exit"
        assert call(cut_backup, tmp_path / "store", into, points, at, how) == (-9 if at % 2 else EXIT_STATUS)
        _holds(into)
        db.backup(into)
        same(into, db)
        assert find_traces(into, ["Perishable 0"]) == []
    assert call(cut_backup, tmp_path / "store", cut_short, points, 20, "kill") == -9
    _holds(cut_short)
    db.backup(cut_short)
    same(cut_short, db)
    assert find_traces(cut_short, ["Perishable 0"]) == []


def test_a_text_that_came_after_its_hash_comes_into_the_backup_too(tmp_path: Path, few: None) -> None:
    told = build_sample_store(tmp_path / "whole")
    with worlddb.open(tmp_path / "whole") as db:
        db.export(told.team, tmp_path / "team.bundle")
        db.export(told.outer, tmp_path / "outer.bundle")
    with worlddb.open(tmp_path / "store") as db:
        db.import_bundle(tmp_path / "team.bundle")
        db.backup(tmp_path / "backup")
        db.import_bundle(tmp_path / "outer.bundle")
        assert "filled" in [entry.event for entry in db.log()]
        db.backup(tmp_path / "backup")
        same(tmp_path / "backup", db)
        db.backup(tmp_path / "at once")
        same(tmp_path / "at once", db)
        with worlddb.open(tmp_path / "backup") as copy:
            assert copy.view().get(told.outer) == db.view().get(told.outer)


# -- what is refused


def test_a_backup_of_another_store_or_of_none_is_refused_and_left_alone(db: Database, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other") as other:
        other.backup(tmp_path / "backup")
        for folder, since in ((tmp_path / "backup", 1), (tmp_path / "other", 0), (tmp_path / "store", 0)):
            head = db.head() if folder.name == "store" else other.head()
            with pytest.raises(BackupMismatch) as told:
                db.backup(folder)
            assert told.value.details["since"] == since
            with worlddb.open(folder, create=False) as there:
                assert there.head() == head
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").touch()
    with pytest.raises(worlddb.NotAStore):
        db.backup(tmp_path / "full")


def test_a_store_that_has_parted_from_its_backup_is_told_since_when(db: Database, tmp_path: Path) -> None:
    fill(db, "walrus", 3)
    db.backup(tmp_path / "backup")
    worlddb.restore(tmp_path / "backup", tmp_path / "twin")
    fill(db, "here", 2)
    db.backup(tmp_path / "backup")
    with worlddb.open(tmp_path / "twin") as twin:
        with pytest.raises(BackupMismatch, match=r"commit 5 .* not in the store") as behind:
            twin.backup(tmp_path / "backup")
        fill(twin, "there", 1)
        with pytest.raises(BackupMismatch, match=r"commit 5 .* another one") as parted:
            twin.backup(tmp_path / "backup")
    assert behind.value.details["since"] == parted.value.details["since"] == 5
    same(tmp_path / "backup", db)


WRITES: dict[str, Callable[[Database, str], object]] = {
    "create": lambda db, ref: db.create("Note", "x", idempotency_key="k"),
    "revise": lambda db, ref: db.revise(ref, content="x"),
    "retire": lambda db, ref: db.retire(ref),
    "bookmark": lambda db, ref: db.bookmark("x"),
    "erase": lambda db, ref: db.erase(ref, reason="x"),
    "ingest": lambda db, ref: db.ingest([{"text": "x", "speaker": "y"}]),
}


@pytest.mark.parametrize("what", WRITES)
def test_a_backup_cannot_be_written_to_until_it_is_restored(what: str, db: Database, tmp_path: Path) -> None:
    ref = fill(db, "walrus", 1)[0]
    db.backup(tmp_path / "backup")
    with worlddb.open(tmp_path / "backup") as copy:
        with pytest.raises(ReadOnlyBackup):
            WRITES[what](copy, ref)
        assert copy.head() == db.head()
        copy.rebuild()
    worlddb.restore(tmp_path / "backup", tmp_path / "restored")
    with worlddb.open(tmp_path / "restored") as restored:
        WRITES[what](restored, ref)
        assert restored.head().seq == db.head().seq + 1


@pytest.mark.parametrize("table", ["header", "events", "blob"])
def test_a_damaged_commit_is_not_backed_up_and_the_backup_ends_before_it(
    table: str, db: Database, tmp_path: Path, few: None
) -> None:
    fill(db, "walrus", 10)
    key = {
        "header": b"\x02" + (8).to_bytes(8, "big"),
        "events": b"\x03" + (8).to_bytes(8, "big"),
        "blob": b"\x04" + (8).to_bytes(8, "big") + (1).to_bytes(4, "big"),
    }[table]
    db._env.write(lambda txn: txn.put(key, bytes(txn.get(key, b""))[:-1] + b"\x7f"))
    with pytest.raises(DamagedStore) as told:
        db.backup(tmp_path / "backup")
    assert told.value.details["seq"] == 8
    with worlddb.open(tmp_path / "backup", create=False) as copy:
        assert copy.head().seq == 6
        assert copy.verify(deep=True).ok
    db._env.write(lambda txn: txn.delete(key))
    with pytest.raises(DamagedStore):
        db.backup(tmp_path / "backup")


def test_a_receipt_names_the_backup_until_the_erasure_has_reached_it(db: Database, tmp_path: Path) -> None:
    ref = fill(db, "walrus", 1)[0]
    db.backup(tmp_path / "backup")
    erasure = db.erase(ref, reason="request")
    told = f"backup at {tmp_path / 'backup'}"
    assert told in db.erasure_receipt(erasure).not_reached
    db.backup(tmp_path / "backup")
    assert told not in db.erasure_receipt(erasure).not_reached
