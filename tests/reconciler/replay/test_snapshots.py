"""Snapshots: a replay starts from the nearest one and comes to the same; a damaged one is made again; none outlives an
erasure."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import msgspec
import pytest

import worlddb
from tests.support.faults.growth import Growth
from tests.support.faults.traces import find_traces
from tests.support.running import LocalRunner
from worlddb import Database, InputError, ManualClock, ReadOnlyBackup, Symptom
from worlddb.log.model.codec import Header
from worlddb.log.store import environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections import check
from worlddb.projections.check import SEAL_FILE, list_snapshots
from worlddb.projections.runner import apply_commit
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.backup import commit_copier
from worlddb.reconciler.diagnostics import installation


@pytest.fixture(autouse=True)
def libraries_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at a store would load all libraries in a process of its own, which takes longer than the look."""
    monkeypatch.setattr(installation, "CHECKS", ())


@pytest.fixture(scope="module")
def grown_store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The store, closed, and when it was."""
    clock = ManualClock()
    with worlddb.open(tmp_path_factory.mktemp("grown_store") / "store", clock=clock) as opened:
        Growth(opened, clock, 5).grow(60)
        return opened.path, clock.value


@pytest.fixture
def db(grown_store: tuple[Path, int], tmp_path: Path) -> Iterator[Database]:
    """A copy of it, opened."""
    shutil.copytree(grown_store[0], tmp_path / "store")
    with worlddb.open(tmp_path / "store", clock=ManualClock(grown_store[1])) as opened:
        yield opened


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The commits that were derived anew."""
    seen: list[int] = []

    def counted(log: LmdbLog, tables: Tables, seq: int) -> Header:
        seen.append(seq)
        return apply_commit(log, tables, seq)

    monkeypatch.setattr(commit_copier, "apply_commit", counted)
    return seen


def holds(db: Database, folder: Path, seq: int) -> None:
    """A replay to a commit that starts from whatever there is comes to the store as it was."""
    made = db.replay(folder, seq=seq)
    assert made.matches_recorded and made.root == db.view(seq=seq).hash()
    with worlddb.open(folder, clock=ManualClock()) as then:
        # Texts of these commits that were erased later are told by one more.
        last = seq + any(entry.event == "erased" for entry in db.log(seq + 1))
        assert then.head().seq == last
        assert then.verify(deep=True).findings == ()
        assert then.create("Note", "its own").seq == last + 1


def test_a_replay_derives_only_what_came_after_the_nearest_snapshot(
    db: Database, tmp_path: Path, applied: list[int]
) -> None:
    head = db.head().seq
    first = db.snapshot(seq=10)
    assert (first.seq, first.root) == (10, db.view(seq=10).hash())
    assert db.snapshot().seq == head
    assert applied == list(range(1, head + 1)), "the second starts from the first"
    assert list_snapshots(db.path) == [10, head]
    for until, begins in ((9, 1), (10, 11), (head - 1, 11), (head, head + 1)):
        applied.clear()
        holds(db, tmp_path / f"until {until}", until)
        assert applied == list(range(begins, until + 1))
    assert db.verify(deep=True).findings == ()


def flipped(place: Path) -> None:
    stored = bytearray((place / "data.mdb").read_bytes())
    for at in range(3 * 4096 + 700, len(stored), 1111):
        stored[at] ^= 4
    (place / "data.mdb").write_bytes(stored)


def other_tables(place: Path) -> None:
    env = environment.Environment(place, author="forger", timeout_seconds=1)
    env.write(lambda txn: txn.put(b"\x45" + bytes(24), bytes(8)))
    env.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "bits": flipped,
    "cut": lambda place: (place / "data.mdb").write_bytes((place / "data.mdb").read_bytes()[:9000]),
    "emptied": lambda place: (place / "data.mdb").write_bytes(b""),
    "without its data": lambda place: (place / "data.mdb").unlink(),
    "without its seal": lambda place: (place / SEAL_FILE).unlink(),
    "torn seal": lambda place: (place / SEAL_FILE).write_bytes(b'{"chain"'),
    "another commit": lambda place: shutil.copytree(place.parent / "8", place, dirs_exist_ok=True),
    "other tables": other_tables,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_snapshot_is_not_used_and_made_again(
    damage: str, db: Database, tmp_path: Path, applied: list[int]
) -> None:
    for seq in (8, 20):
        db.snapshot(seq=seq)
    DAMAGE[damage](db.path / "snapshots" / "20")
    applied.clear()
    holds(db, tmp_path / "first", 25)
    assert applied == list(range(9, 26))
    applied.clear()
    holds(db, tmp_path / "second", 25)
    assert applied == list(range(21, 26))


def reseal(place: Path) -> bytes:
    """The digest of a snapshot as it lies there, which its seal says now: by whoever can write to the directory."""
    env = environment.Environment(place, author="forger", timeout_seconds=1)
    with env.read() as txn:
        digest = check.digest_of(txn)
    env.close()
    seal = msgspec.json.decode((place / SEAL_FILE).read_bytes())
    (place / SEAL_FILE).write_bytes(msgspec.json.encode(seal | {"pairs": digest.hex()}))
    return digest


def snapshot_symptoms(db: Database, *, deep: bool = False) -> list[Symptom]:
    return [each for each in worlddb.diagnose(db.path, deep=deep).symptoms if each.code == "snapshot_damaged"]


def hide_name(place: Path) -> None:
    """A world's name is taken out of the tables: whoever looks for it finds nothing."""
    env = environment.Environment(place, author="forger", timeout_seconds=1)

    def hide(txn: lmdb.Transaction) -> None:
        tables = Tables(txn)
        key, _ = next(tables.by_name()["names"].scan(b""))
        assert tables.by_name()["names"].get(key) is not None
        tables.by_name()["names"].put(key, None)
        tables.flush()

    env.write(hide)
    env.close()


@pytest.mark.parametrize("harm", [hide_name, other_tables])
def test_a_snapshot_that_was_altered_and_sealed_anew_is_told_and_not_used(
    harm: Callable[[Path], None], db: Database, tmp_path: Path, applied: list[int]
) -> None:
    """Its seal had nothing to be held against, so a replay took it, and said that it has the recorded root."""
    for seq in (8, 20):
        db.snapshot(seq=seq)
    harm(db.path / "snapshots" / "20")
    reseal(db.path / "snapshots" / "20")
    report = db.verify()
    assert report.ok and "snapshot of commit 20" in report.remarks[0]
    (symptom,) = snapshot_symptoms(db)
    assert not symptom.wrong and symptom.command == f"rm -r {db.path}/snapshots/20"
    applied.clear()
    made = db.replay(tmp_path / "then", seq=25)
    assert applied == list(range(9, 26)) and made.snapshot == 20, "made again, from the one before it"
    with worlddb.open(tmp_path / "then", clock=ManualClock()) as then:
        assert then.verify(deep=True).findings == ()
    assert db.verify(deep=True).remarks == () and snapshot_symptoms(db) == []
    applied.clear()
    assert db.replay(tmp_path / "from the log", seq=7).snapshot == 0
    assert db.replay(tmp_path / "from 8", seq=19).snapshot == 8


@pytest.mark.parametrize("harm", [hide_name, other_tables])
def test_a_snapshot_whose_note_in_the_store_was_altered_too_is_found_by_the_deep_checks(
    harm: Callable[[Path], None], db: Database
) -> None:
    db.snapshot(seq=20)
    harm(db.path / "snapshots" / "20")
    digest = reseal(db.path / "snapshots" / "20")
    assert len(digest) == 32
    db._env.write(lambda txn: LmdbLog(txn).note_snapshot(20, digest))
    assert db.verify().ok
    for report in (db.verify(deep=True), db.verify(deep=True)):
        assert not report.ok and "snapshot of commit 20" in report.findings[0].problem
    (symptom,) = snapshot_symptoms(db, deep=True)
    assert symptom.wrong and symptom.command == f"rm -r {db.path}/snapshots/20"
    shutil.rmtree(db.path / "snapshots" / "20")
    assert db.verify(deep=True).ok and snapshot_symptoms(db, deep=True) == []


def test_the_deep_checks_find_nothing_wrong_with_snapshots_that_texts_were_filled_into_later(
    db: Database, tmp_path: Path
) -> None:
    """A bundle may bring a text long after its hash: a snapshot of the time between has it or not."""
    with worlddb.open(tmp_path / "other", clock=ManualClock()) as other:
        far = other.create("Topic", "far")
        near = other.create("Topic", "near")
        other.link(near, "refers_to", far)
        other.export(near, tmp_path / "near.bundle")
        other.export(far, tmp_path / "far.bundle")
    seq = db.import_bundle(tmp_path / "near.bundle").seq
    db.snapshot(seq=seq)
    assert db.import_bundle(tmp_path / "far.bundle").events
    db.snapshot()
    assert db.verify(deep=True).ok
    shutil.rmtree(db.path / "snapshots")
    db.snapshot(seq=seq)
    assert db.verify(deep=True).ok and snapshot_symptoms(db, deep=True) == []
    holds(db, tmp_path / "then", db.head().seq)


def test_the_deep_checks_find_nothing_wrong_with_snapshots_of_times_before_an_erasure(
    db: Database, tmp_path: Path
) -> None:
    gone = db.create("Note", "n", content="Perishable")
    after = db.create("Note", "after").seq
    db.erase(gone, reason="request")
    for seq in (gone.seq, after, db.head().seq):
        db.snapshot(seq=seq)
    assert db.verify(deep=True).ok and snapshot_symptoms(db, deep=True) == []
    env = environment.Environment(db.path / "snapshots" / str(after), author="forger", timeout_seconds=1)
    env.write(lambda txn: LmdbLog(txn).erase([(2, 0)], 2))
    env.close()
    digest = reseal(db.path / "snapshots" / str(after))
    db._env.write(lambda txn: LmdbLog(txn).note_snapshot(after, digest))
    assert "blob 0 of its commit 2" in db.verify(deep=True).findings[0].problem


def test_a_note_of_a_snapshot_goes_with_the_erasure_that_deletes_it(db: Database) -> None:
    gone = db.create("Note", "n", content="Perishable").ref
    db.snapshot()
    with db._env.read() as txn:
        assert [seq for seq, _ in LmdbLog(txn).snapshots()] == [db.head().seq]
    db.erase(gone, reason="request")
    with db._env.read() as txn:
        assert LmdbLog(txn).snapshots() == []
    db._env.write(lambda txn: txn.put(b"\x07" + (5).to_bytes(8, "big"), b"short"))
    assert "snapshot" in db.verify().findings[0].problem


def test_a_snapshot_of_a_history_that_was_another_is_not_used(db: Database, tmp_path: Path, applied: list[int]) -> None:
    db.backup(tmp_path / "backup")
    worlddb.restore(tmp_path / "backup", tmp_path / "twin")
    seq = db.create("Note", "here").seq
    with worlddb.open(tmp_path / "twin") as twin:
        assert twin.create("Note", "there").seq == seq
        twin.snapshot()
    shutil.copytree(tmp_path / "twin" / "snapshots", db.path / "snapshots")
    applied.clear()
    holds(db, tmp_path / "then", seq)
    assert applied == list(range(1, seq + 1))


@pytest.mark.parametrize(("commits", "at"), [(256, 2), (256, 4), (30, 6), (30, 8)])
def test_an_erasure_reaches_every_snapshot_also_one_that_is_being_made(
    commits: int, at: int, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = [db.create("Note", f"Perishable{n}", content=f"Perishable{n} goods").ref for n in range(2)]
    db.snapshot()
    db.create("Note", "later")
    assert find_traces(db.path / "snapshots", ["Perishable0"])
    db.erase(gone[0], reason="request")
    assert list_snapshots(db.path) == [] and find_traces(db.path, ["Perishable0"]) == []
    left = [at]

    def step(name: str) -> None:
        left[0] -= 1
        if not left[0]:
            db.erase(gone[1], reason="request")

    with monkeypatch.context() as patched:
        patched.setattr(environment, "_skip_crash_point", step)
        patched.setattr(commit_copier, "CHUNK_COMMITS", commits)
        made = db.snapshot(seq=db.head().seq)
    assert left[0] <= 0 and list_snapshots(db.path) == [made.seq]
    assert find_traces(db.path, ["Perishable1"]) == []
    holds(db, tmp_path / "then", made.seq)


def test_a_snapshot_cannot_be_written_to_and_none_is_made_of_what_is_not_there(db: Database) -> None:
    db.snapshot(seq=5)
    with worlddb.open(db.path / "snapshots" / "5") as kept, pytest.raises(ReadOnlyBackup, match="snapshot"):
        kept.create("Note", "x")
    with pytest.raises(InputError):
        db.snapshot(seq=10_000)
    with pytest.raises(InputError):
        db.snapshot(seq=0)


def test_the_command_takes_a_moment(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    run = LocalRunner(capsys, db.path)
    made = run.json("snapshot", "--at", "7")
    assert (made["seq"], made["root"]) == (7, db.view(seq=7).hash())
    assert made["bytes"] > 0
    assert "commit 7" in run("snapshot", "--at", "7").out
    assert run.json("snapshot")["seq"] == db.head().seq
