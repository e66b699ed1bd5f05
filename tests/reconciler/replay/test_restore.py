"""Restores a whole store without what was erased since, never half of one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

import worlddb
from tests.reconciler.replay.test_backup import Interrupted, fill
from tests.support.faults.traces import find_traces
from tests.support.running import LocalRunner
from worlddb import BackupMismatch, DamagedStore, Database, PlaceTaken, ReadOnlyBackup
from worlddb.log.store import copies, environment
from worlddb.reconciler.backup import commit_copier


@pytest.fixture
def store_and_backup(tmp_path: Path) -> tuple[Path, Path, list[str]]:
    """A store with a backup of all but its last commits, one of which erases a world."""
    with worlddb.open(tmp_path / "store", author="ada") as db:
        refs = fill(db, "walrus", 4) + fill(db, "Perishable", 1)
        db.create("Note", "once", idempotency_key="only once")
        db.backup(tmp_path / "backup")
        db.erase(refs[-1], reason="request 7", everywhere=True)
    return tmp_path / "store", tmp_path / "backup", refs


def state(db: Database) -> tuple[object, ...]:
    return db.head(), [(world.name, world.content, world.erased) for world in db.view().children()]


def test_a_restored_store_is_the_backup_and_goes_on_as_the_original_would(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    made = worlddb.restore(store_and_backup[1], tmp_path / "new")
    assert (made.seq, made.erasures) == (7, 0)
    with worlddb.open(tmp_path / "new") as db, worlddb.open(store_and_backup[1]) as copy:
        assert state(db) == state(copy)
        assert made.root == db.view().hash()
        assert db.verify(deep=True).findings == ()
        again = db.create("Note", "once", idempotency_key="only once")
        assert again.seq == 7 == db.head().seq
        assert db.create("Note", "more").seq == 8
        erasure = db.erase(store_and_backup[2][0], reason="request 8")
        assert f"backup at {store_and_backup[1]}" in db.erasure_receipt(erasure).not_reached


def test_what_the_original_has_erased_since_does_not_come_back(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    store, backup, refs = store_and_backup
    assert worlddb.restore(backup, tmp_path / "new", erasures_of=store).erasures == 1
    assert find_traces(backup, ["Perishable"]) and find_traces(tmp_path / "new", ["Perishable"]) == []
    with worlddb.open(tmp_path / "new") as db:
        found = db.view().get(refs[-1])
        assert found is not None and found.erased and found.erasure is not None
        assert (found.name, found.erasure.reason) == ("", "request 7")
        db.revise(refs[0], content="after")
        db.revise(refs[0], content="and again")
        assert db.verify(deep=True).findings == ()
        db.backup(tmp_path / "its own")
    assert worlddb.restore(tmp_path / "its own", tmp_path / "once more").erasures == 1
    with worlddb.open(tmp_path / "once more") as db:
        assert db.verify(deep=True).findings == ()


def test_an_original_that_went_on_differently_is_asked_only_about_what_both_have(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    _, backup, refs = store_and_backup
    worlddb.restore(backup, tmp_path / "twin")
    worlddb.restore(backup, tmp_path / "new")
    with worlddb.open(tmp_path / "twin") as twin, worlddb.open(tmp_path / "new") as db:
        twin.erase(twin.create("Note", "only there"), reason="of its own")
        twin.erase(refs[1], reason="of both")
        db.create("Note", "only here", content="stays")
        db.create("Note", "here too", content="stays as well")
        db.backup(tmp_path / "backup of new")
    assert worlddb.restore(tmp_path / "backup of new", tmp_path / "last", erasures_of=tmp_path / "twin").erasures == 2
    with worlddb.open(tmp_path / "last") as db:
        assert db.verify(deep=True).findings == ()
        names = [world.name for world in db.view().children()]
        assert names == ["walrus 0", "", "walrus 2", "walrus 3", "Perishable 0", "once", "only here", "here too"]


def test_only_a_backup_is_restored_and_only_into_an_empty_directory(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    store, backup, _ = store_and_backup
    with pytest.raises(BackupMismatch):
        worlddb.restore(store, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    for full in (store, backup):
        with pytest.raises(PlaceTaken):
            worlddb.restore(backup, full)
    with worlddb.open(tmp_path / "other"):
        pass
    with pytest.raises(BackupMismatch):
        worlddb.restore(backup, tmp_path / "second", erasures_of=tmp_path / "other")
    assert not (tmp_path / "second").exists()
    (tmp_path / "nothing").mkdir()
    with pytest.raises(BackupMismatch):
        worlddb.restore(store, tmp_path / "nothing")
    assert worlddb.restore(backup, tmp_path / "nothing").seq == 7


def test_a_restore_that_breaks_off_leaves_nothing_that_can_be_written_to(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_copier, "CHUNK_COMMITS", 2)
    passed: list[str] = []

    def step(name: str) -> None:
        passed.append(name)
        if passed.count("locked") == 4:
            raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(environment, "_skip_crash_point", step)
        with pytest.raises(Interrupted):
            worlddb.restore(store_and_backup[1], tmp_path / "new")
    with worlddb.open(tmp_path / "new") as db:
        assert db.head().seq == 6 and db.verify(deep=True).ok
        with pytest.raises(ReadOnlyBackup, match="an interrupted restore"):
            db.create("Note", "x")
        with pytest.raises(BackupMismatch):
            worlddb.restore(tmp_path / "new", tmp_path / "newer")
    symptom = next(each for each in worlddb.diagnose(tmp_path / "new").symptoms if each.code == "restore_unfinished")
    assert symptom.wrong and symptom.command.startswith("worlddb restore ")
    assert worlddb.restore(store_and_backup[1], tmp_path / "new").seq == 7
    with worlddb.open(tmp_path / "new") as db:
        assert db.verify(deep=True).ok and db.create("Note", "x").seq == 8


@pytest.mark.parametrize("erasures", [False, True])
def test_a_restore_that_breaks_off_at_any_point_is_gone_on_with(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, erasures: bool
) -> None:
    monkeypatch.setattr(commit_copier, "CHUNK_COMMITS", 2)
    original = store_and_backup[0] if erasures else None
    whole = worlddb.restore(store_and_backup[1], tmp_path / "whole", erasures_of=original)
    with worlddb.open(tmp_path / "whole") as db:
        expected = state(db)
    steps: list[str] = []
    cut = 0

    def step(name: str) -> None:
        steps.append(name)
        if len(steps) == cut:
            raise Interrupted

    for at in range(1, 1_000):
        into = tmp_path / f"cut at {at}"
        steps.clear()
        with monkeypatch.context() as patched:
            cut = at
            patched.setattr(environment, "_skip_crash_point", step)
            with suppress(Interrupted):
                worlddb.restore(store_and_backup[1], into, erasures_of=original)
        is_over = len(steps) < at
        if at % 2 and not is_over:
            require_sound(into)
        try:
            assert worlddb.restore(store_and_backup[1], into, erasures_of=original) == whole
        except PlaceTaken:
            assert is_over or steps[-1] == "committed", "it was whole by then"
        with worlddb.open(into) as db:
            assert state(db) == expected and db.verify(deep=True).findings == ()
            assert (
                f"backup at {store_and_backup[1]}"
                in db.erasure_receipt(db.erase(store_and_backup[2][0], reason="x")).not_reached
            )
        assert not erasures or find_traces(into, ["Perishable"]) == []
        if is_over:
            break
    assert at > 10


def require_sound(folder: Path) -> None:
    with suppress(worlddb.NotAStore), worlddb.open(folder, create=False) as db:
        assert db.verify(deep=True).findings == ()


def test_a_restore_whose_mark_alone_was_left_is_made_whole(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, backup, refs = store_and_backup
    with monkeypatch.context() as patched:
        patched.setattr(copies, "note_copy", interrupt)
        with pytest.raises(Interrupted):
            worlddb.restore(backup, tmp_path / "new", erasures_of=store)
    with worlddb.open(store) as db:
        db.erase(refs[1], reason="request 9")
    made = worlddb.restore(backup, tmp_path / "new", erasures_of=store)
    assert (made.seq, made.erasures) == (7, 2)
    with worlddb.open(tmp_path / "new") as db:
        assert db.verify(deep=True).findings == ()
        assert [world.name for world in db.view().children()][:2] == ["walrus 0", ""]
        assert db.head().seq == 9 and db.create("Note", "after").seq == 10
    assert find_traces(tmp_path / "new", ["Perishable", "walrus 1"]) == []


def interrupt(*_: object) -> None:
    raise Interrupted


def test_another_restore_does_not_go_on_with_what_one_has_begun(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, backup, _ = store_and_backup
    with worlddb.open(tmp_path / "other") as db:
        db.create("Note", "another store")
        db.backup(tmp_path / "other's")
    with monkeypatch.context() as patched:
        patched.setattr(copies, "note_copy", interrupt)
        with pytest.raises(Interrupted):
            worlddb.restore(backup, tmp_path / "new", erasures_of=store)
    for wrong in (tmp_path / "other's", backup):
        with pytest.raises(PlaceTaken, match="an unfinished restore of another backup") as told:
            worlddb.restore(wrong, tmp_path / "new")
        assert "restore again to finish it" in told.value.remedy
    assert worlddb.restore(backup, tmp_path / "new", erasures_of=store).erasures == 1
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(PlaceTaken, match="is not empty"):
        worlddb.restore(backup, tmp_path / "full")
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["notes.txt"]


def test_a_backup_with_a_changed_text_is_not_restored(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    file = store_and_backup[1] / "data.mdb"
    stored = file.read_bytes()
    assert b"walrus number 2" in stored
    file.write_bytes(stored.replace(b"walrus number 2", b"walrus number 9"))
    with pytest.raises(DamagedStore) as told:
        worlddb.restore(store_and_backup[1], tmp_path / "new")
    assert told.value.details["seq"] == 4


def test_nothing_is_added_to_a_backup_that_a_verification_found_damaged(
    store_and_backup: tuple[Path, Path, list[str]],
) -> None:
    store, backup, _ = store_and_backup
    file = backup / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"walrus number 2", b"walrus number 9"))
    with worlddb.open(store) as db, worlddb.open(backup) as copied:
        assert db.backup(backup).commits == 1, "what it has already is not read again, as the command says"
        assert copied.verify().first_bad_seq == 4
        db.create("Fact", "", content="new")
        with pytest.raises(DamagedStore, match="damaged, so nothing was added"):
            db.backup(backup)
        assert copied.head().seq == 8


def test_both_commands_say_where_the_copy_ends_and_its_root(
    store_and_backup: tuple[Path, Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, backup, _ = store_and_backup
    run = LocalRunner(capsys, store)
    root = run.json("head")["root"]
    assert run.json("backup", backup) == {"seq": 8, "root": root, "commits": 1, "into": str(backup)}
    told = run("backup", backup).out
    assert "it was up to date" in told
    assert f"commits 1 to 8 were there and not read again: `worlddb --store {backup} verify` checks all" in told
    made = run.json("restore", backup, "--into", tmp_path / "new", "--erasures-from", store)
    assert made == {"seq": 8, "root": root, "erasures": 0, "into": str(tmp_path / "new"), "notes": []}
    there = LocalRunner(capsys, backup)
    assert (there("bookmark", "x").code, there("bookmark", "x").error) == (3, "read_only_backup")
    again = run("restore", backup, "--into", tmp_path / "new")
    assert (again.code, again.error) == (2, "place_taken")
    other = LocalRunner(capsys, tmp_path / "new")
    other("bookmark", "mine")
    parted = run("backup", tmp_path / "new")
    assert (parted.code, parted.error) == (2, "not_a_backup")
    (tmp_path / "empty").mkdir()
    none = run("restore", tmp_path / "empty", "--into", tmp_path / "third")
    assert (none.code, none.error) == (2, "not_a_store") and "that `worlddb backup` wrote to" in none.err


def test_what_the_original_has_forbidden_since_stays_forbidden_in_every_copy_that_knows_of_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        world = db.create("Note", "A", content="never again")
        db.backup(tmp_path / "backup")
        db.erase(world, reason="request 7", forbid=True)
        db.replay(tmp_path / "then", seq=2)
    worlddb.restore(tmp_path / "backup", tmp_path / "new", erasures_of=tmp_path / "store")
    with worlddb.open(tmp_path / "then") as db:
        db.replay(tmp_path / "copy of a copy", seq=2)
    for name in ("new", "then", "copy of a copy"):
        with worlddb.open(tmp_path / name) as db:
            for call in (
                lambda db: db.create("Note", "B", content="never again"),
                lambda db: db.create("Note", "B", aliases=["never again"]),
                lambda db: _in_a_batch(db, "never again"),
            ):
                assert not call(db), name
            assert _in_a_batch(db, "something else")
            assert db.rebuild("tables").rebuilt and not db.create("Note", "B", content="never again")
            assert db.verify(deep=True).findings == ()
    worlddb.restore(tmp_path / "backup", tmp_path / "without")
    with worlddb.open(tmp_path / "without") as db:
        assert db.create("Note", "B", content="never again"), "nothing says here that it was erased"


def _in_a_batch(db: Database, content: str) -> worlddb.Receipt:
    with suppress(worlddb.RefusedError), db.batch() as tx:
        tx.create("Note", "one", resolve=False)
        tx.create("Note", "other", content=content, resolve=False)
    return tx.receipt
