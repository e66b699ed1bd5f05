"""An erasure while others have the store open, and one that is killed on its way."""

from __future__ import annotations

import os
import re
import shlex
import signal
import threading
import time
from pathlib import Path

import pytest

import worlddb
from tests.log.test_processes import wait_until_stopped
from tests.support.faults.children import Acknowledged, barrier, start, wait_for_exit
from tests.support.faults.jobs import race, write_and_find
from tests.support.faults.points import SCRUB_STEPS
from tests.support.faults.remote import Remote
from tests.support.faults.traces import find_traces
from tests.support.running import LocalRunner
from worlddb import UnavailableError
from worlddb.projections.indexes.text_index import index_lock
from worlddb.tools.cli.main import main


def test_a_process_that_had_the_store_open_reads_and_writes_on_after_an_erasure(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, author="here") as db, Remote(store) as there:
        kept = there.ask("create", "kept", "the walrus is patient").ref
        gone = there.ask("create", "gone", "the narwhal is not").ref
        there.ask("pin")
        assert there.ask("recall", "narwhal") == ["gone"]
        for number in range(3):
            old = os.stat(store / "data.mdb").st_ino
            assert (db if number % 2 else there.ask("head")) is not None
            db.erase(gone, reason=f"request {number}") if number % 2 == 0 else there.ask("erase", gone, "again")
            assert number or os.stat(store / "data.mdb").st_ino != old
            assert there.ask("recall", "narwhal") == []
            assert there.ask("recall", "walrus") == ["kept"]
            assert there.ask("names") == ["kept", "", *(f"after {n}" for n in range(number))]
            receipt = there.ask("create", f"after {number}", "written on the new file")
            assert db.head() == there.ask("head") and db.head().seq == receipt.seq
            gone = db.create("Fact", "", content=f"the narwhal, number {number}").ref if number < 0 else gone
            db.link(kept, "refers_to", gone, why="something new to erase")
        assert there.ask("pinned", "narwhal")[0] == ["kept", ""]
        assert there.ask("verify").findings == () == db.verify(deep=True).findings
        assert find_traces(store, ["narwhal"]) == []


def test_processes_that_read_and_write_without_a_pause_lose_nothing_over_many_erasures(tmp_path: Path) -> None:
    store, rounds = tmp_path / "store", 12
    with worlddb.open(store, author="eraser", timeout_seconds=60) as db:
        files = [tmp_path / f"writer-{number}" for number in range(2)]
        running = [start(write_and_find, store, file, file.name, tmp_path / "stop") for file in files]
        erased = []
        for number in range(rounds):
            word = f"Perishable{number}"
            world = db.create("Note", word, content=f"{word} is what it says", aliases=[f"{word}s"])
            db.view().recall(word)
            db.erase(world, reason=f"request {number}")
            erased.append(word)
            assert find_traces(store, [word]) == []
        # On a quick disk the erasures are over before the writers have begun in earnest.
        patience = time.monotonic() + 180
        while sum(len(Acknowledged(file).lines()) for file in files if file.exists()) <= rounds:
            assert time.monotonic() < patience, "the writers wrote next to nothing"
            time.sleep(0.01)
        (tmp_path / "stop").touch()
        assert [wait_for_exit(process) for process in running] == [0, 0]
        lines = [line for file in files for line in Acknowledged(file).lines()]
        names = [world.name for world in db.view().children()]
        assert len(lines) > rounds and sorted(lines) == sorted(name for name in names if name)
        assert find_traces(store, erased) == []
        assert db.verify(deep=True).findings == ()


def test_a_read_within_a_read_does_not_go_back_in_time_when_the_data_file_is_replaced_meanwhile(
    tmp_path: Path,
) -> None:
    """It saw the last commit but one of the old file whenever others had made an odd number of commits on the new one,
    so that a search which had learned of a commit did not find it: "The events of commit 12 is missing"."""
    with worlddb.open(tmp_path / "store") as db, Remote(tmp_path / "store") as there:
        world = db.create("Note", "short lived")
        old = os.stat(tmp_path / "store" / "data.mdb").st_ino
        with db._env.read():
            erased = there.ask("erase", world.ref, "request 1")
            assert os.stat(tmp_path / "store" / "data.mdb").st_ino != old
            seen = [db.head().seq]
            for number in range(4):
                there.ask("create", f"after {number}")
                seen.append(db.head().seq)
            assert seen == [erased.seq] * 5
        assert db.head().seq == erased.seq + 4
        assert db.verify(deep=True).findings == ()


@pytest.mark.parametrize("since", [1, 2, 3])
def test_a_writer_that_comes_from_the_old_file_after_one_was_killed_on_the_new_one_loses_none_of_its_commits(
    since: int, tmp_path: Path
) -> None:
    """It took over the lock of the dead one while it had the old file open, LMDB counted on from where that one ended,
    and what had been committed since was no longer found."""
    store = tmp_path / "store"
    # As long as a third process has the store open, LMDB does not begin its lock file anew.
    with Remote(store), Remote(store) as late, Remote(store) as killed:
        world = killed.ask("create", "short lived")
        assert late.ask("names") == ["short lived"]
        killed.ask("erase", world.ref, "request 1")
        expected = ["", *(killed.ask("create", f"after {n}") and f"after {n}" for n in range(since)), "late"]
        killed.ask("signal_at", "applied", signal.SIGKILL)
        killed.tell("create", "never")
        assert wait_for_exit(killed.process) == -signal.SIGKILL
        assert late.ask("last_in_a_write") == since + 3
        late.ask("create", "late")
        assert late.ask("names") == expected
    with worlddb.open(store) as db:
        assert [world.name for world in db.view().children()] == expected
        assert db.verify(deep=True).findings == ()


def test_threads_that_share_a_handle_follow_an_erasure_too(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db, Remote(tmp_path / "store") as there:
        world = db.create("Note", "short lived")
        failures: list[BaseException] = []
        stop = threading.Event()

        def read() -> None:
            try:
                while not stop.is_set():
                    assert len(list(db.view().children())) >= 1
            except BaseException as error:
                failures.append(error)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(6):
            there.ask("erase", world.ref, f"request {number}")
            world = db.create("Note", f"short lived {number}")
        stop.set()
        for reader in readers:
            reader.join()
        assert failures == []
        assert db.verify(deep=True).findings == ()


@pytest.mark.parametrize("step", SCRUB_STEPS)
def test_an_erasure_that_is_killed_on_its_way_is_finished_by_whoever_comes_next(step: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store) as db, Remote(store) as there:
        world = db.create("Note", "name", content="the okapi is shy")
        db.catch_up()
        there.ask("signal_at", step, signal.SIGKILL)
        there.tell("erase", world.ref, "request 1")
        assert wait_for_exit(there.process) == -signal.SIGKILL
        receipt = db.create("Note", "a write finishes it")
        assert receipt.seq == 4
        assert find_traces(store, ["okapi"]) == []
        assert not (store / ".scrub" / "data.mdb").exists()
        assert db.verify(deep=True).findings == ()


@pytest.mark.parametrize("step", SCRUB_STEPS)
def test_behind_a_process_that_is_stopped_in_an_erasure_readers_go_on_and_it_is_finished_when_that_goes_on(
    step: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, timeout_seconds=0.5) as db, Remote(store) as there:
        world = db.create("Note", "name", content="the okapi is shy")
        there.ask("signal_at", step, signal.SIGSTOP)
        there.tell("erase", world.ref, "request 1")
        wait_until_stopped(there.pid)
        assert [each.name for each in db.view().children()] == [""] and db.view().recall("okapi").hits == ()
        if step in ("copied", "replaced", "settled"):
            with pytest.raises(worlddb.WriterBusy, match=f"process {there.pid} "):
                db.create("Note", "too late")
        there.signal(signal.SIGCONT)
        assert there.answer().seq == 3
        assert db.create("Note", "after").seq == 4
        assert find_traces(store, ["okapi"]) == [] and db.verify(deep=True).findings == ()


def test_processes_that_race_to_create_write_rebuild_and_erase_leave_one_whole_store(tmp_path: Path) -> None:
    store, count = tmp_path / "store", 6
    together = barrier(4)
    kinds = ["write", "rebuild", "erase", "erase"]
    files = [tmp_path / f"acks-{number}" for number in range(len(kinds))]
    running = [start(race, store, file, kind, count, together) for file, kind in zip(files, kinds, strict=True)]
    assert [wait_for_exit(process) for process in running] == [0] * len(kinds)
    kept = [name for file in files for name in Acknowledged(file).lines()]
    with worlddb.open(store) as db:
        assert len(kept) == len(kinds) * count
        assert sorted(world.name for world in db.view().children() if world.name) == sorted(kept)
        assert db.verify(deep=True).findings == ()
    assert find_traces(store, ["perishable"]) == []


def test_opening_finishes_an_erasure_and_verify_names_one_that_is_not_finished(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store) as db, Remote(store) as there:
        world = db.create("Note", "name", content="the okapi is shy")
        there.ask("signal_at", "copied", signal.SIGKILL)
        there.tell("erase", world.ref, "request 1")
        wait_for_exit(there.process)
        assert find_traces(store, ["okapi"])
        found = db.verify()
        assert not found.ok and found.first_bad_seq == 3 and "may still lie" in found.findings[0].problem
        (command,) = re.findall("`worlddb (.+)`", found.findings[0].problem)
        assert main(shlex.split(command)) == 0
        with worlddb.open(store) as another:
            assert another.verify().ok
        assert find_traces(store, ["okapi"]) == []
        assert db.verify(deep=True).ok


def test_verify_calls_an_unfinished_erasure_no_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "the store"
    with worlddb.open(store) as db:
        world = db.create("Note", "name", content="the okapi is shy")
        (store / ".scrub").write_text("in the way")
        assert db.erase(world, reason="request 1")
        run = LocalRunner(capsys, store)
        told = run("verify")
        assert told.code == 1 and "not finished" in told.out and f"--store '{store}' stats" in told.out
        assert "damaged  " not in told.out and "Restore" not in told.out + told.err
        (store / ".scrub").unlink()
        assert run("stats").code == 0
        assert run("verify").code == 0


def test_an_erasure_that_finds_the_index_or_the_disk_in_its_way_is_made_good_later(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store) as db:
        world = db.create("Note", "name", content="the okapi is shy")
        db.catch_up()
        (store / ".scrub").write_text("in the way")
        assert db.erase(world, reason="request 1")
        assert db.view().recall("okapi").hits == ()
        assert not db.verify().ok
        (store / ".scrub").unlink()
        with index_lock(store / "indexes" / "text", 1.0):
            assert not db.finish_erasures(wait_seconds=0)
        assert db.finish_erasures()
        assert find_traces(store, ["okapi"]) == [] and db.verify(deep=True).ok


def test_a_reader_that_never_ends_keeps_its_process_from_following_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worlddb.log.store.shared_environment._PATIENCE_SECONDS", 0.05)
    with worlddb.open(tmp_path / "store") as db, Remote(tmp_path / "store") as there:
        world = db.create("Note", "name", content="the okapi is shy")
        entered, leave = threading.Event(), threading.Event()

        def stay() -> None:
            with db._env.read():
                entered.set()
                leave.wait(180)

        reader = threading.Thread(target=stay)
        reader.start()
        entered.wait(180)
        there.ask("erase", world.ref, "request 1")
        with pytest.raises(UnavailableError, match="was rewritten"):
            db.head()
        with pytest.raises(UnavailableError, match="was rewritten"):
            db.create("Note", "never on the old file")
        leave.set()
        reader.join()
        assert db.head().seq == 3 and db.verify(deep=True).ok
