"""Shares a store among processes and threads: nothing is lost, nobody waits for the dead."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

import worlddb
from tests.support.faults.children import PATIENCE_SECONDS, Acknowledged, barrier, call, start, wait_for_exit
from tests.support.faults.jobs import fork_and_use, write_and_read
from tests.support.faults.remote import Failed, Remote

STEPS_BEFORE_THE_COMMIT = ("locked", "begun", "applied")
MANY_READS = 2_000
"""Five refusals take some tens of them; in a minute of waiting there were tens of thousands."""


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_that_race_to_create_a_store_and_write_to_it_lose_nothing(processes: int, tmp_path: Path) -> None:
    store, count, together = tmp_path / "store", 25, barrier(processes)
    files = [tmp_path / f"acks-{number}" for number in range(processes)]
    running = [start(write_and_read, store, file, file.name, count, together) for file in files]
    assert [wait_for_exit(process) for process in running] == [0] * processes
    lines = [line.split() for file in files for line in Acknowledged(file).lines()]
    assert len(lines) == processes * count
    with worlddb.open(store, author="reader") as db:
        assert db.head().seq == processes * count + 1
        by_seq = sorted(lines, key=lambda line: int(line[1]))
        assert [int(line[1]) for line in by_seq] == list(range(2, processes * count + 2))
        times = [int(line[2]) for line in by_seq]
        assert all(one < other for one, other in pairwise(times))
        view = db.view()
        assert [world.name for world in view.children()] == [line[0] for line in by_seq]
        for name, seq, _, ref in lines:
            world = view.get(ref)
            assert world is not None
            assert (world.name, world.seq, world.author) == (name, int(seq), name.rpartition("-")[0])
        verified = db.verify(deep=True)
        assert verified.ok, verified.findings


def test_each_process_sees_the_others_commits_at_its_next_read(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, author="here") as db, Remote(store) as there:
        written: list[str] = []
        for number in range(12):
            name = f"turn {number}"
            receipt = db.create("Fact", name) if number % 2 else there.ask("create", name)
            written.append(name)
            assert [world.name for world in db.view().children()] == there.ask("names") == written
            assert db.head() == there.ask("head")
            assert db.head().seq == receipt.seq == number + 2
            assert there.ask("recall", name)[0] == db.view().recall(name).hits[0].name == name
        assert there.ask("verify").ok


def test_a_view_pinned_in_one_process_stays_as_it_is_while_another_writes(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, author="here") as db, Remote(store) as there:
        first = db.create("Fact", "first", content="the oldest fact of all")
        second = db.create("Fact", "second", content="a fact")
        there.ask("pin")
        before = there.ask("pinned", "oldest fact")
        assert before[0] == ["first", "second"]
        db.revise(first, content="no longer the oldest")
        db.create("Fact", "third", content="the very oldest fact, oldest by far")
        db.retire(second)
        db.rebuild()
        assert there.ask("pinned", "oldest fact") == before
        there.ask("pin")
        assert there.ask("pinned", "oldest fact") != before


@pytest.mark.parametrize("step", STEPS_BEFORE_THE_COMMIT)
def test_a_process_killed_in_the_middle_of_a_write_does_not_block_the_rest(step: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, author="here", timeout_seconds=5) as db, Remote(store) as there:
        there.ask("create", "whole")
        there.ask("signal_at", step, signal.SIGKILL)
        there.tell("create", "never")
        assert wait_for_exit(there.process) == -signal.SIGKILL
        assert db.create("Fact", "after").seq == 3
        assert [world.name for world in db.view().children()] == ["whole", "after"]
        with Remote(store) as another:
            assert another.ask("names") == ["whole", "after"]
            another.ask("create", "later")
        assert db.verify(deep=True).ok


@pytest.mark.parametrize("step", STEPS_BEFORE_THE_COMMIT)
def test_behind_a_process_that_is_stopped_in_a_write_writers_fail_with_its_name_and_readers_go_on(
    step: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, author="here", timeout_seconds=0.5) as db, Remote(store, author="sleeper") as there:
        db.create("Fact", "before", content="written before the stop")
        pinned = db.view()
        there.ask("signal_at", step, signal.SIGSTOP)
        there.tell("create", "slept over")
        wait_until_stopped(there.pid)
        began = time.monotonic()
        with pytest.raises(worlddb.WriterBusy, match=rf"process {there.pid} .*'sleeper'") as caught:
            db.create("Fact", "too late")
        assert 0.4 < time.monotonic() - began < PATIENCE_SECONDS
        assert caught.value.details["holder"]["pid"] == there.pid
        assert (caught.value.code, caught.value.exit_code) == ("writer_busy", 5)
        # The handle that was open, and a process that opens the store only now, read on.
        assert [world.name for world in db.view().children()] == ["before"]
        assert pinned.recall("written before the stop").hits[0].name == "before"
        assert db.verify(deep=True).ok
        with Remote(store, timeout_seconds=0.5) as reader:
            assert reader.ask("names") == ["before"]
            assert reader.ask("recall", "stop") == ["before"]
            with pytest.raises(Failed, match=rf"WriterBusy: .*process {there.pid} "):
                reader.ask("create", "too late as well")
            assert not there.has_answered(0)
            there.signal(signal.SIGCONT)
            assert there.answer().seq == 3
            assert reader.ask("names") == ["before", "slept over"]
            assert reader.ask("create", "awake").seq == 4
        assert db.create("Fact", "last").seq == 5
        assert db.verify(deep=True).ok


def test_a_process_of_another_container_with_the_same_number_is_told_so_and_harms_nobody(tmp_path: Path) -> None:
    """Both are process 1 of a name space of their own, which a user may not be allowed to make."""
    hold = "import sys, worlddb; db = worlddb.open(sys.argv[1]); db.create('Note', 'kept'); print('open', flush=True)"
    hold += "; input(); db.create('Note', 'kept too')"
    isolated = [
        "unshare",
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        sys.executable,
        "-c",
        hold,
        str(tmp_path / "store"),
    ]
    if shutil.which("unshare") is None or subprocess.run([*isolated[:5], "true"], check=False, timeout=180).returncode:
        pytest.skip("no process can have a name space of its own here")
    pipe = subprocess.PIPE
    with subprocess.Popen(isolated, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "open\n"
        second = subprocess.run(isolated, input="\n", capture_output=True, text=True, timeout=180, check=False)
        _, errors = first.communicate("\n", timeout=180)
    assert first.returncode == 0, errors
    assert second.returncode == 1
    assert "UnavailableError" in second.stderr and "another process with the number 1" in second.stderr
    with worlddb.open(tmp_path / "store") as db:
        assert [world.name for world in db.view().children()] == ["kept", "kept too"]
        assert db.verify(deep=True).ok


def wait_until_stopped(pid: int) -> None:
    """Wait, a bounded time, until the kernel says that the process is stopped."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "T":
            return
        time.sleep(0.005)
    raise AssertionError(f"process {pid} did not stop")


def test_threads_share_one_handle_and_lose_nothing(tmp_path: Path) -> None:
    threads, count = 4, 15
    failures: list[BaseException] = []
    receipts: list[worlddb.Receipt] = []
    with worlddb.open(tmp_path / "store", author="threads", timeout_seconds=60) as db:

        def work(thread: int) -> None:
            try:
                for number in range(count):
                    receipt = db.create("Fact", f"{thread}-{number}", content=f"thread {thread}")
                    receipts.append(receipt)
                    names = {world.name for world in db.view().children()}
                    assert {f"{thread}-{before}" for before in range(number + 1)} <= names
                    assert db.view().recall(f"thread {thread}", k=threads * count).hits
            except BaseException as error:
                failures.append(error)

        running = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(180)
        assert not failures
        assert sorted(receipt.seq for receipt in receipts) == list(range(2, threads * count + 2))
        assert len({receipt.ingest_time for receipt in receipts}) == threads * count
        assert db.verify(deep=True).ok


def test_two_handles_in_one_process_are_one_environment_and_either_may_be_closed_first(tmp_path: Path) -> None:
    one = worlddb.open(tmp_path / "store", author="one")
    other = worlddb.open(tmp_path / "store", author="other")
    one.create("Fact", "by one")
    view = other.view()
    one.close()
    with pytest.raises(worlddb.StoreClosed):
        one.head()
    other.create("Fact", "by the other")
    assert [world.name for world in view.children()] == ["by one"]
    assert [entry.author for entry in other.log(2) if entry.event == "created"] == ["one", "other"]
    other.close()
    with worlddb.open(tmp_path / "store", author="again") as again:
        assert again.head().seq == 3


def test_a_handle_from_before_a_fork_is_refused_in_the_child_and_unharmed_in_the_parent(tmp_path: Path) -> None:
    assert call(fork_and_use, tmp_path / "store") == 0


def test_processes_follow_each_other_when_the_map_grows(tmp_path: Path) -> None:
    """The map begins at one megabyte and has to grow again and again, now here, now there."""
    store, small = tmp_path / "store", 1 << 20
    with Remote(store, author="one", map_bytes=small) as one, Remote(store, author="two", map_bytes=small) as two:
        assert one.ask("map_bytes") == two.ask("map_bytes") == small
        written: list[str] = []
        for number in range(16):
            writer, reader = (one, two) if number % 4 < 2 else (two, one)
            name = f"large {number}"
            writer.ask("create", name, f"{number} " * 120_000)
            written.append(name)
            assert reader.ask("names") == writer.ask("names") == written
        assert min(one.ask("map_bytes"), two.ask("map_bytes")) >= 4 * small
        assert one.ask("verify").ok
        assert two.ask("verify").ok


def test_the_map_grows_under_threads_that_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worlddb.log.store.shared_environment._MAP_BYTES", 1 << 20)
    with worlddb.open(tmp_path / "store", author="threads") as db:
        first = db.create("Fact", "first", content="x" * 50_000)
        with reading_threads(db, first):
            for number in range(30):
                db.create("Fact", f"more {number}", content="y" * 200_000)
        assert db._env._shared.env.info()["map_size"] >= 8 << 20
        assert db.verify(deep=True).ok


def test_a_refusal_does_not_wait_for_a_moment_in_which_no_thread_reads(tmp_path: Path) -> None:
    """Undoing a transaction waited in LMDB's binding until no thread was reading, for a minute and more under three
    busy readers, and held every other process's writes up meanwhile."""
    with worlddb.open(tmp_path / "store", author="threads") as db:
        first = db.create("Fact", "first", content="x" * 50_000)
        with reading_threads(db, first) as reads:
            before = sum(reads)
            for _ in range(5):
                assert not db.link(first, "contains", first)
            assert sum(reads) - before < MANY_READS
        assert db.head().seq == first.seq


@contextmanager
def reading_threads(db: worlddb.Database, receipt: worlddb.Receipt) -> Iterator[list[int]]:
    """Three threads that read a world as fast as they can, and how often each has; what failed in them fails at the
    end."""
    failures: list[BaseException] = []
    reads = [0, 0, 0]
    done = threading.Event()

    def read(reader: int) -> None:
        try:
            while not done.is_set():
                world = db.view().get(receipt)
                assert world is not None and world.content == "x" * 50_000
                reads[reader] += 1
        except BaseException as error:
            failures.append(error)

    running = [threading.Thread(target=read, args=(reader,)) for reader in range(3)]
    for thread in running:
        thread.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while not (all(reads) or failures):
            assert time.monotonic() < deadline, "a thread did not come to read"
            time.sleep(0.001)
        yield reads
    finally:
        done.set()
        for thread in running:
            thread.join(PATIENCE_SECONDS)
    assert not failures
