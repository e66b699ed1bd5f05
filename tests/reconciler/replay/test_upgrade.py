"""Upgrades a store of older tables in place after a backup, at once or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import lmdb
import pytest

import worlddb
from tests.log.test_frozen import frozen_answers, thawed, upgraded
from tests.support.faults.children import call, start, wait_for_exit
from tests.support.faults.jobs import cut_upgrade
from tests.support.faults.points import EXIT_STATUS
from worlddb import NewerFormat, OlderTables
from worlddb.log.store import environment
from worlddb.log.store.log import LmdbLog
from worlddb.log.store.shared_environment import acquire, release
from worlddb.projections import check
from worlddb.projections.tables.storage import schema
from worlddb.tools.cli.main import main

APPLIED = bytes([schema.FIRST_TABLE_BYTE]) + b"applied"
NAMES = bytes([schema.FIRST_TABLE_BYTE + schema.TABLES.index("names")])
OLD_BYTES = schema.PROGRESS.size - schema.LAYOUT_BYTES


def aged(folder: Path) -> Path:
    """The frozen store as an older release left it: no layout, no table of names."""
    return age(thawed(1, folder))


def age(folder: Path) -> Path:
    """Take the layout and the table of names away from a store."""
    env = lmdb.open(str(folder))
    with env.begin(write=True) as txn:
        txn.put(APPLIED, bytes(txn.get(APPLIED) or b"")[:OLD_BYTES])
        gone = [key for key, _ in txn.cursor() if key.startswith(NAMES)]
        assert gone and all([txn.delete(key) for key in gone])
    env.close()
    return folder


def is_whole(folder: Path) -> None:
    """The store is of today, and every table is what its log leads to."""
    with worlddb.open(folder, create=False, embedder=None) as db:
        assert db.verify(deep=True).findings == ()
        assert db.head().root == frozen_answers(1)["head"][2]
        assert len(db.view().find(name="Search team")) == 1


def is_old_or_whole(folder: Path) -> bool:
    """True if the store still waits for its upgrade; else it has had all of it."""
    try:
        is_whole(folder)
    except OlderTables:
        return True
    return False


def test_older_tables_are_refused_with_the_remedy_until_they_are_upgraded(tmp_path: Path) -> None:
    store = aged(tmp_path / "store")
    before = (store / "data.mdb").read_bytes()
    with pytest.raises(OlderTables, match="layout 0") as refused:
        worlddb.open(store, create=False)
    assert "worlddb upgrade" in refused.value.remedy
    assert (store / "data.mdb").read_bytes() == before
    made = worlddb.upgrade(store)
    place = tmp_path / f"store.before-upgrade-{schema.LAYOUT}"
    assert made[:5] == (0, schema.LAYOUT, frozen_answers(1)["head"][0], frozen_answers(1)["head"][2], str(place))
    is_whole(store)
    is_whole(place)
    with worlddb.open(store, create=False, embedder=None) as db:
        assert db.create("Note", "a later one").events


def test_tables_of_the_layout_before_are_upgraded_in_place(tmp_path: Path) -> None:
    store = thawed(1, tmp_path / "store")
    with pytest.raises(OlderTables, match="layout 3"):
        worlddb.open(store, create=False)
    made = worlddb.upgrade(store)
    assert made[:4] == (3, schema.LAYOUT, frozen_answers(1)["head"][0], frozen_answers(1)["head"][2])
    is_whole(store)


def test_a_store_of_today_is_left_alone_and_no_backup_is_made(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        head = db.head()
    before = (tmp_path / "store" / "data.mdb").read_bytes()
    made = worlddb.upgrade(tmp_path / "store")
    assert made[:5] == (schema.LAYOUT, schema.LAYOUT, head.seq, head.root, "")
    assert (tmp_path / "store" / "data.mdb").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_tables_of_a_newer_release_are_refused_by_reads_writes_and_upgrades_and_left_alone(tmp_path: Path) -> None:
    store = upgraded(1, tmp_path / "store")
    with worlddb.open(store, create=False, embedder=None) as db:
        env = db._env

        def make_newer(txn: lmdb.Transaction) -> None:
            txn.put(APPLIED, bytes(txn.get(APPLIED) or b"")[:OLD_BYTES] + schema.U16.pack(schema.LAYOUT + 1))

        env.write(make_newer)
        for refused in (lambda: db.view().hash(), lambda: db.create("Note", "x"), lambda: db.rebuild("tables")):
            with pytest.raises(NewerFormat, match="layout"):
                refused()
    for refused in (lambda: worlddb.open(store, create=False), lambda: worlddb.upgrade(store)):
        with pytest.raises(NewerFormat, match="layout"):
            refused()


@pytest.mark.parametrize(
    "row", [b"", b"\0" * schema.PROGRESS.size, schema.PROGRESS.pack(1, 2, 3, schema.LAYOUT) + b"x"]
)
def test_a_row_that_no_release_wrote_is_damage_and_the_tables_are_derived_again(tmp_path: Path, row: bytes) -> None:
    env = lmdb.open(str(thawed(1, tmp_path / "store")))
    with env.begin(write=True) as txn:
        txn.put(APPLIED, row)
    env.close()
    is_whole(tmp_path / "store")


def test_an_upgrade_that_is_cut_short_anywhere_leaves_the_old_or_the_new_and_the_next_one_ends_it(
    tmp_path: Path,
) -> None:
    points = tmp_path / "points"
    assert call(cut_upgrade, aged(tmp_path / "probe"), points, 0, "exit") == 0
    passed = points.read_text("utf-8").splitlines()
    assert {"locked", "begun", "applied", "committed", "Tables.clear"} <= set(passed)
    cleared = len(passed) - passed[::-1].index("Tables.clear")
    cuts = {1, *range(4, cleared, max(1, cleared // 3)), cleared, len(passed) - 1, len(passed)}
    waiting = 0
    for at in sorted(cuts):
        store = aged(tmp_path / f"cut at {at}")
        how = "kill" if at % 2 else "exit"
        assert call(cut_upgrade, store, points, at, how) == (-9 if at % 2 else EXIT_STATUS)
        waiting += is_old_or_whole(store)
        worlddb.upgrade(store)
        is_whole(store)
    assert 0 < waiting < len(cuts)


def test_a_backup_that_an_upgrade_has_made_is_not_made_again(tmp_path: Path) -> None:
    store, place = aged(tmp_path / "store"), tmp_path / "kept"
    worlddb.upgrade(store, backup=place)
    copied = (place / "data.mdb").stat().st_ino
    again = aged(tmp_path / "again")
    steps: list[tuple[int, int]] = []
    worlddb.upgrade(again, backup=place, progress=lambda done, whole: steps.append((done, whole)))
    seq = frozen_answers(1)["head"][0]
    assert steps[0] == (seq, seq), "the backup had everything at its first step"
    assert (place / "data.mdb").stat().st_ino == copied
    is_whole(place)


def test_what_an_older_release_commits_meanwhile_comes_into_the_backup_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = aged(tmp_path / "store")
    other = upgraded(1, tmp_path / "other")
    with worlddb.open(other, create=False, embedder=None) as db:
        db.create("Note", "a late one")
        late = db.head()
    env = lmdb.open(str(other))
    with env.begin() as txn:
        rows = [(bytes(key), bytes(value)) for key, value in txn.cursor() if key[0] < schema.FIRST_TABLE_BYTE]
    env.close()
    written: list[str] = []

    def write_late(name: str) -> None:
        if name == "committed" and not written:
            written.append(name)
            shared = acquire(store)
            with shared.env.begin(write=True) as txn:
                for key, value in rows:
                    txn.put(key, value)
            release(shared)

    monkeypatch.setattr(environment, "_skip_crash_point", write_late)
    made = worlddb.upgrade(store, backup=tmp_path / "kept")
    monkeypatch.undo()
    assert (made.seq, made.root) == (late.seq, late.root)
    with worlddb.open(tmp_path / "kept", create=False, embedder=None) as copy:
        assert copy.head() == late


def test_of_two_upgrades_at_once_both_end_well(tmp_path: Path) -> None:
    store = aged(tmp_path / "store")
    running = [start(cut_upgrade, store, tmp_path / f"points {n}", 0, "exit") for n in range(2)]
    assert [wait_for_exit(each) for each in running] == [0, 0]
    is_whole(store)


def test_a_snapshot_of_an_older_layout_is_made_again(tmp_path: Path) -> None:
    with worlddb.open(upgraded(1, tmp_path / "store"), create=False, embedder=None) as db:
        kept = tmp_path / "store" / "snapshots" / str(db.snapshot().seq)
        seal = json.loads((kept / "seal.json").read_text("utf-8"))
        env = lmdb.open(str(age(kept)))
        with env.begin() as txn:
            digest = check.digest_of(txn)
        env.close()
        db._env.write(lambda txn: LmdbLog(txn).note_snapshot(int(kept.name), digest))
        seal["pairs"] = digest.hex()
        (kept / "seal.json").write_text(json.dumps(seal), "utf-8")
        assert db.replay(tmp_path / "then").matches_recorded
    is_whole(tmp_path / "then")


def test_the_command_says_what_it_did_and_then_that_there_is_nothing_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = aged(tmp_path / "store")
    assert main(["--store", str(store), "stats"]) == 4
    assert "worlddb upgrade" in capsys.readouterr().err
    assert main(["--store", str(store), "upgrade", "--backup", str(tmp_path / "kept")]) == 0
    assert str(tmp_path / "kept") in capsys.readouterr().out
    assert main(["--store", str(store), "--json", "upgrade"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["before"], found["after"], found["backup"]) == (schema.LAYOUT, schema.LAYOUT, None)
