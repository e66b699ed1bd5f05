"""``worlddb doctor`` finds, explains and mends each thing that is broken on purpose."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.reconciler.replay.test_upgrade import age
from tests.support.faults import forge
from tests.support.faults.remote import Remote
from tests.support.running import DAY, LocalRunner, SmallRefs
from worlddb import ManualClock, PlainHandler, Symptom, offline
from worlddb.log.model.clock import pause
from worlddb.log.store import environment, lock, scratch, shared_environment
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes import tail
from worlddb.projections.indexes import vector_index as vectors_module
from worlddb.projections.tables.storage.schema import FIRST_TABLE_BYTE
from worlddb.reconciler.background.worker import background_lease
from worlddb.reconciler.diagnostics import installation, location, stored_state
from worlddb.tools.cli.main import main


@pytest.fixture(scope="module")
def prepared(made: tuple[Path, SmallRefs], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small store with its indexes level and its vectors made."""
    folder = tmp_path_factory.mktemp("doctor") / "memory"
    shutil.copytree(made[0], folder)
    with pytest.MonkeyPatch.context() as patch, worlddb.open(folder) as db:
        patch.setattr(tail, "STRETCH_DOCUMENTS", 1)
        db.embed()
        db.rebuild("text")
    return folder


@pytest.fixture
def store(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "memory"))


@pytest.fixture(autouse=True)
def few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading every library takes a second; what is installed here is no matter of stores. Few texts are indexed."""
    monkeypatch.setattr(installation, "CHECKS", (("python", installation.python),))
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 1)


LATER = ManualClock(max(ManualClock().now(), worlddb.SystemClock().now()) + 100 * DAY)
"""After all that is written here, by whichever of the two clocks."""


def symptoms_by_code(store: Path, **settings: Any) -> dict[str, Symptom]:
    settings.setdefault("clock", LATER)
    return {symptom.code: symptom for symptom in worlddb.diagnose(store, **settings).symptoms}


def wrong_codes(store: Path, **settings: Any) -> set[str]:
    return {code for code, symptom in symptoms_by_code(store, **settings).items() if symptom.wrong}


def run_named_command(symptom: Symptom) -> int:
    """Type the command that is named, which is one of ours."""
    program, *words = shlex.split(symptom.command)
    assert program == "worlddb"
    return main(words)


def state(folder: Path) -> dict[str, bytes]:
    """Every file and what it holds, but for what readers enter themselves in."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("lock.mdb", ".tantivy-meta.lock")
    }


# -- whole


def test_a_whole_store_is_well_in_every_check_and_is_not_touched(store: Path) -> None:
    before = state(store)
    diagnosis = worlddb.diagnose(store, deep=True, clock=LATER)
    assert (diagnosis.ok, diagnosis.symptoms, diagnosis.skipped) == (True, (), ())
    assert {"pages", "log", "tables", "text index", "vectors", "locks"} <= set(diagnosis.checked)
    assert state(store) == before


def test_a_store_in_use_and_being_written_to_is_well(store: Path) -> None:
    with worlddb.open(store) as db:
        db.create("Note", "while it is looked at", resolve=False)
        assert wrong_codes(store) == set()
        db.create("Note", "and afterwards", resolve=False)


def test_the_command_ends_with_1_if_something_is_wrong_and_explains_it(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(offline, "SystemClock", lambda: LATER)
    run = LocalRunner(capsys, store)
    assert run("doctor").code == 0
    assert run.json("doctor")["ok"] is True
    os.truncate(store / "data.mdb", 5 * 4096)
    told = run.json("doctor", code=1)
    assert (told["ok"], [symptom["code"] for symptom in told["symptoms"] if symptom["wrong"]]) == (False, ["damaged"])
    shown = run("doctor")
    assert shown.code == 1 and "worlddb restore BACKUP --into" in shown.out and "not checked" in shown.out
    assert main(["doctor", str(store)]) == 1
    assert main(["--store", str(store), "doctor", str(store)]) == 2
    monkeypatch.delenv("WORLDDB_STORE", raising=False)
    capsys.readouterr()
    assert main(["doctor"]) == 0 and "no store was given" in capsys.readouterr().out


# -- the place


def test_a_network_file_system_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "the share" / "memory"
    folder.mkdir(parents=True)
    mounts = tmp_path / "mountinfo"
    share = str(folder.parent).replace(" ", r"\040")
    mounts.write_text(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"31 22 0:40 / {share} rw,relatime shared:2 - nfs4 server:/export rw,vers=4.2\n"
        f"32 22 0:41 / {share}/memory2 rw - ext4 /dev/sdb1 rw\n",
        "utf-8",
    )
    (symptom,) = location.file_system(folder, mounts)
    assert symptom.code == "network_file_system" and "nfs4" in symptom.what
    assert list(location.file_system(tmp_path, mounts)) == []
    assert list(location.file_system(folder, tmp_path / "nothing")) == []


def test_a_full_disk_and_one_without_room_for_a_second_file_are_told(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(store)
    for free, code in ((1000, "disk_full"), (location.LEAST_BYTES + 1, "little_room")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=free))
        os.truncate(store / "data.mdb", location.LEAST_BYTES + 10_000)
        assert code in {symptom.code for symptom in location.disk_space(store)}


def test_what_ended_processes_left_behind_is_told_and_what_running_ones_use_is_not(store: Path) -> None:
    names = (".new-abcd", f".check-{os.getpid()}-x", ".scratch-x", ".held-x", ".scrub")
    for name in names:
        (store / name).mkdir()
    with scratch.temporary_folder(store):
        told = {symptom.where for symptom in location.leftovers(store)}
    assert told == {str(store / name) for name in names}
    assert wrong_codes(store) == set() and "leftover" in symptoms_by_code(store)


# -- locks


def test_a_lock_is_told_with_who_holds_it_and_a_stopped_holder_is_wrong(store: Path) -> None:
    import signal

    assert list(location.locks(store)) == []
    with Remote(store, author="the other") as other:
        other.ask("create", "one")
        other.ask("signal_at", "locked", signal.SIGSTOP)
        other.tell("create", "two")
        told = _wait_for_symptom(store)
        assert told.code == "writer_stopped" and told.wrong and f"process {other.pid}" in told.what
        assert "the other" in told.what and told.command == f"kill -CONT {other.pid}"
        assert "writer_stopped" in wrong_codes(store), "the rest is looked at all the same"
        other.signal(signal.SIGCONT)
        other.answer()
    assert list(location.locks(store)) == []


def _wait_for_symptom(store: Path) -> Symptom:
    """The process stops at a moment of its own."""
    for _ in range(2000):
        told = [symptom for symptom in location.locks(store) if symptom.wrong]
        if told:
            return told[0]
        pause(0.005)
    raise AssertionError("nobody was found to hold the lock")


def test_the_lease_and_an_indexs_lock_are_told(store: Path) -> None:
    from worlddb.projections.indexes.text_index import index_lock

    with background_lease(store) as mine, index_lock(store / "indexes" / "text", 0.0):
        assert mine
        told = {symptom.code: symptom for symptom in location.locks(store)}
    assert told.keys() == {"lease_held", "index_held"}
    assert not any(symptom.wrong for symptom in told.values())
    assert str(store / environment.LEASE_FILE) == told["lease_held"].where


def test_a_writer_on_another_machine_is_named_as_such(store: Path) -> None:
    import filelock

    (store / lock.HOLDER_FILE).write_text('{"pid": 7, "host": "elsewhere", "author": "agent"}')
    with filelock.FileLock(store / lock.LOCK_FILE):
        (told,) = location.locks(store)
    assert "process 7 on elsewhere" in told.what


def test_the_state_of_a_process_is_read_whatever_its_name_is(tmp_path: Path) -> None:
    for number, state_ in ((5, "T"), (6, "S")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "stat").write_text(f"{number} (a) T (b)) {state_} 1 1")
    assert location.is_stopped(5, tmp_path)
    assert not location.is_stopped(6, tmp_path) and not location.is_stopped(8, tmp_path)


# -- the data file


def test_a_store_without_its_data_file_is_reported(store: Path) -> None:
    (store / "data.mdb").write_bytes(b"")
    assert wrong_codes(store) == {"data_file_gone"}
    (store / "data.mdb").unlink()
    assert wrong_codes(store) == {"data_file_gone"}
    assert not (store / "data.mdb").exists()


def test_a_path_without_a_store_is_reported(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear all")
    for folder in (tmp_path, tmp_path / "letter.txt", tmp_path / "nothing"):
        assert wrong_codes(folder) == {"not_a_store"}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "data.mdb").write_bytes(b"something else" * 1000)
    assert wrong_codes(tmp_path / "other") == {"not_a_store"}


@pytest.mark.parametrize("how", ["cut short", "overwritten", "a page"])
def test_a_store_too_damaged_to_open_is_reported(store: Path, how: str) -> None:
    data = store / "data.mdb"
    if how == "cut short":
        os.truncate(data, 5 * 4096)
    else:
        with data.open("r+b") as file:
            file.seek(0 if how == "overwritten" else 3 * 4096)
            file.write(b"\xff" * 4096 * (2 if how == "overwritten" else data.stat().st_size // 4096 - 3))
    diagnosis = worlddb.diagnose(store, deep=True)
    assert {symptom.code for symptom in diagnosis.symptoms if symptom.wrong} == {"damaged"}
    assert diagnosis.skipped


def test_a_changed_commit_is_named_and_what_follows_from_the_log_is_still_looked_at(store: Path) -> None:
    key, value = next(pair for pair in forge.pairs(store) if pair[0][0] == forge.BLOBS and forge.seq_of(pair[0]) == 5)
    forge.rewrite(store, [(key, forge.flip_bit(value, 40))])
    symptom = symptoms_by_code(store)["damaged"]
    assert symptom.where.endswith("commit 5") and "is not what was written" in symptom.what
    assert "text index" in worlddb.diagnose(store).checked


def test_a_newer_store_is_reported(store: Path) -> None:
    import msgspec

    forge.rewrite(store, [(b"\x01format", msgspec.msgpack.encode(("worlddb", 99)))])
    assert wrong_codes(store) == {"newer_format"}


def test_an_erasure_that_was_not_finished_is_told_and_the_command_finishes_it(store: Path) -> None:
    env = Environment(store, author="x", timeout_seconds=5.0)
    env.write(lambda txn: LmdbLog(txn).mark_scrub(11))
    env.close()
    symptom = symptoms_by_code(store)["erasure_unfinished"]
    assert symptom.wrong and wrong_codes(store) == {"erasure_unfinished"}
    assert run_named_command(symptom) == 0
    assert wrong_codes(store) == set()


def test_a_clock_behind_the_last_commit_is_reported(store: Path) -> None:
    with worlddb.open(store) as db:
        last = db.head().ingested_at
    symptom = symptoms_by_code(store, clock=ManualClock(last - 90_061_000_000))["clock_behind"]
    assert symptom.wrong and wrong_codes(store, clock=ManualClock(last - 90_061_000_000)) == {"clock_behind"}
    assert "it is 1 day, 1:01:01 behind" in symptom.what and worlddb.format_time(last) in symptom.what
    assert "stands still" in symptom.why and "Set the clock" in symptom.remedy
    with worlddb.open(store, clock=ManualClock(last - 90_061_000_000)) as db:
        assert db.view().valid == last, "what is said of now is true"
    assert wrong_codes(store, clock=ManualClock(last - 1_000_000)) == set()


def test_a_nearly_full_map_is_reported(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_environment, "_MAP_BYTES", (store / "data.mdb").stat().st_size)
    symptom = symptoms_by_code(store)["map_nearly_full"]
    assert not symptom.wrong


def test_a_backup_and_a_hypothetical_store_are_told_for_what_they_are(store: Path, tmp_path: Path) -> None:
    with worlddb.open(store) as db:
        db.backup(tmp_path / "backup")
        db.replay(tmp_path / "what-if", without=[4])
    assert "is_copy" in symptoms_by_code(tmp_path / "backup") and wrong_codes(tmp_path / "backup") == set()
    assert "hypothetical" in symptoms_by_code(tmp_path / "what-if") and wrong_codes(tmp_path / "what-if") == set()


# -- what is derived


def test_older_tables_are_told_and_the_command_upgrades_them(store: Path) -> None:
    age(store)
    symptom = symptoms_by_code(store)["older_tables"]
    assert wrong_codes(store) == {"older_tables"}
    assert run_named_command(symptom) == 0
    assert wrong_codes(store) == set()


def test_tables_that_are_not_what_the_log_says_are_told_and_the_command_derives_them(store: Path) -> None:
    forge.delete(store, lambda key: key[0] == FIRST_TABLE_BYTE + 6)
    assert "tables_wrong" in wrong_codes(store, deep=True)
    assert run_named_command(symptoms_by_code(store, deep=True)["tables_wrong"]) == 0
    assert wrong_codes(store, deep=True) == set()


def test_a_damaged_index_is_told_and_the_command_makes_it_anew(store: Path) -> None:
    (segment,) = (store / "indexes" / "text").glob("*.store")
    stored = bytearray(segment.read_bytes())
    stored[8] ^= 1
    segment.write_bytes(stored)
    symptom = symptoms_by_code(store)["index_damaged"]
    assert segment.name in symptom.what and wrong_codes(store) == {"index_damaged"}
    assert run_named_command(symptom) == 0
    assert wrong_codes(store) == set()


def test_an_index_of_another_store_is_reported(store: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other") as db:
        db.create("Note", "a", content="words")
        db.rebuild("text")
    shutil.rmtree(store / "indexes" / "text")
    shutil.copytree(tmp_path / "other" / "indexes" / "text", store / "indexes" / "text")
    assert "another store" in symptoms_by_code(store)["index_damaged"].what


def test_an_index_far_behind_is_reported(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_state, "FAR_BEHIND", 2)
    assert "index_behind" not in symptoms_by_code(store)
    with worlddb.open(store) as db:
        for name in ("a", "b", "c"):
            db.create("Note", name, resolve=False)
    symptom = symptoms_by_code(store)["index_behind"]
    assert not symptom.wrong and run_named_command(symptom) == 0
    assert "index_behind" not in symptoms_by_code(store)


def test_a_damaged_vector_index_is_told_and_the_command_makes_it_anew(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_module, "SHORT_TAIL", 1)
    with worlddb.open(store) as db:
        db.rebuild("vectors")
    (vectors,) = (store / "indexes" / "vectors-1").glob("base-*/vectors*")
    os.truncate(vectors, 10)
    symptom = symptoms_by_code(store)["index_damaged"]
    assert "vectors-1" in symptom.where
    assert run_named_command(symptom) == 0
    assert wrong_codes(store) == set()


def test_texts_without_vectors_are_told_and_the_command_gives_them(store: Path) -> None:
    with worlddb.open(store) as db:
        db.create("Note", "new", content="It has no vector yet.")
    symptom = symptoms_by_code(store)["vectors_pending"]
    assert not symptom.wrong and run_named_command(symptom) == 0
    assert "vectors_pending" not in symptoms_by_code(store)


class Likes(PlainHandler):
    name = "likes"
    version = 1


def test_a_registered_type_without_its_handler_is_reported(store: Path) -> None:
    with worlddb.open(store, edge_types=[Likes()]) as db:
        db.register(Likes())
    assert "likes" in symptoms_by_code(store)["handler_missing"].what
    assert "handler_missing" not in symptoms_by_code(store, edge_types=[Likes()])
