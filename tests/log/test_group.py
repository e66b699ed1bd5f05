"""Tests durability ``group``: threads share transactions, and each write stands alone."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import lmdb
import pytest

import worlddb
from tests.support.faults.children import Acknowledged, start, wait_for_exit
from tests.support.faults.jobs import write_together
from tests.support.faults.traces import find_traces
from worlddb import Database, IdempotencyConflict, InputError, UnavailableError, WriterBusy
from worlddb.log.store import lock
from worlddb.log.store.lock import CommitQueue
from worlddb.log.store.log import LmdbLog

PATIENCE_SECONDS = 180.0


class Interrupted(BaseException):
    """Stands for a KeyboardInterrupt."""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", durability="group", timeout_seconds=PATIENCE_SECONDS) as opened:
        yield opened


class Together:
    """Holds the first write until the others queue up, so that one transaction decides them."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.transactions = 0

    def run(self, writes: list[Callable[[], Any]], lead: Callable[[], Any] | None = None) -> list[Any]:
        """What each of the writes returned or raised; ``lead`` is the write that holds them up."""
        group = self.db._writer.group
        assert group is not None
        entered, go_on = threading.Event(), threading.Event()

        def step(name: str) -> None:
            if name == "begun" and not entered.is_set():
                entered.set()
                assert go_on.wait(PATIENCE_SECONDS)
            self.transactions += name == "begun"

        self.db._env.step = step
        with ThreadPoolExecutor(len(writes) + 1) as pool:
            first = pool.submit(lead or (lambda: self.db.create("Note", "first")))
            assert entered.wait(PATIENCE_SECONDS)
            waiting = []
            for write in writes:
                waiting.append(pool.submit(write))
                until(lambda: len(group._waiting) == len(waiting))
            go_on.set()
            first.exception(PATIENCE_SECONDS)
            return [done.exception(PATIENCE_SECONDS) or done.result() for done in waiting]


def creating(db: Database, *names: str) -> list[Callable[[], Any]]:
    return [partial(db.create, "Note", name) for name in names]


def until(holds: Callable[[], bool]) -> None:
    tick = threading.Event()
    for _ in range(int(PATIENCE_SECONDS * 1000)):
        if holds():
            return
        tick.wait(0.001)
    raise AssertionError("it never came to that")


def test_writes_that_wait_together_are_commits_of_their_own_in_one_transaction(db: Database) -> None:
    together = Together(db)
    receipts = together.run(creating(db, *(f"n{n}" for n in range(9))))
    assert together.transactions == 2
    assert [receipt.seq for receipt in receipts] == list(range(3, 12))
    assert sorted({receipt.ingest_time for receipt in receipts}) == [receipt.ingest_time for receipt in receipts]
    assert [world.name for world in db.view().children()] == ["first", *(f"n{n}" for n in range(9))]
    assert [receipt.root for receipt in receipts] == [db.view(seq=seq).hash() for seq in range(3, 12)]
    assert db.verify(deep=True).findings == ()


def test_one_refusal_or_error_leaves_the_others_whole(db: Database) -> None:
    ref = db.create("Note", "one").ref
    db.create("Note", "keyed", idempotency_key="key")
    told = Together(db).run(
        [
            lambda: db.create("Note", "a"),
            lambda: db.move(ref, ref),
            lambda: db.revise("f" * 32, content="x"),
            lambda: db.create("Note", "other", idempotency_key="key"),
            lambda: db.create("Note", "keyed", idempotency_key="key"),
            lambda: db.create("Note", "twice", idempotency_key="new key"),
            lambda: db.create("Note", "twice", idempotency_key="new key"),
            lambda: db.retire(ref),
            lambda: db.revise(ref, content="too late"),
            lambda: db.create("Note", "b"),
        ]
    )
    a, refused, unknown, conflict, again, once, twice, retired, late, b = told
    assert (a.seq, once.seq, retired.seq, b.seq) == (5, 6, 7, 8)
    assert not refused and refused.outcome.code == "containment_cycle" and refused.seq == 5
    assert isinstance(unknown, InputError) and isinstance(conflict, IdempotencyConflict)
    assert (again.seq, once, once) == (3, twice, once)
    assert not late and late.seq == 7
    names = [world.name for world in db.view().children(include_superseded=True)]
    assert names == ["one", "keyed", "first", "a", "twice", "b"]
    assert db.verify(deep=True).findings == ()


def test_a_batch_that_aborts_among_others_leaves_nothing(db: Database) -> None:
    ref = db.create("Note", "one").ref

    def batch() -> None:
        with db.batch() as tx:
            tx.create("Note", "half")
            tx.move(ref, ref)

    told = Together(db).run([lambda: db.create("Note", "a"), batch, lambda: db.create("Note", "b")])
    assert isinstance(told[1], worlddb.RefusedError)
    assert [world.name for world in db.view().children()] == ["one", "first", "a", "b"]
    assert db.verify(deep=True).findings == ()


def test_a_commit_that_fails_half_way_costs_only_its_own_request(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    append = LmdbLog.append

    def failing(self: LmdbLog, record: Any, seq: int, expected: Any) -> Any:
        head = append(self, record, seq, expected)
        if any(b"unlucky" in blob for blob in record.blobs if blob):
            raise ValueError("half way")
        return head

    monkeypatch.setattr(LmdbLog, "append", failing)
    told = Together(db).run(creating(db, "a", "unlucky", "b"))
    assert isinstance(told[1], ValueError)
    assert [told[0].seq, told[2].seq] == [3, 4]
    assert [world.name for world in db.view().children()] == ["first", "a", "b"]
    assert db.verify(deep=True).findings == ()


def test_a_map_that_is_full_grows_and_all_of_them_are_decided_again(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, full = LmdbLog.append, ["once"]

    def failing(self: LmdbLog, record: Any, seq: int, expected: Any) -> Any:
        if seq == 4 and full:
            raise lmdb.MapFullError(full.pop())
        return append(self, record, seq, expected)

    monkeypatch.setattr(LmdbLog, "append", failing)
    told = Together(db).run(creating(db, "a", "b", "c"))
    assert [receipt.seq for receipt in told] == [3, 4, 5] and not full
    assert db.verify(deep=True).findings == ()


def test_what_keeps_one_of_them_from_writing_is_told_to_all(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store) as other, worlddb.open(store, durability="group", timeout_seconds=0.05) as db:
        with other._env._lock.held(), ThreadPoolExecutor(4) as pool:
            waiting = [pool.submit(db.create, "Note", f"n{n}") for n in range(4)]
            errors = [done.exception(PATIENCE_SECONDS) for done in waiting]
        assert all(isinstance(error, WriterBusy) for error in errors)
        assert len(set(map(id, errors))) == 4
        assert db.head().seq == 1
        assert db.create("Note", "after").seq == 2


def test_an_erasure_among_others_removes_its_bytes_before_it_is_acknowledged(db: Database) -> None:
    gone = db.create("Note", "Perishable", content="Perishable goods").ref
    told = Together(db).run(
        [lambda: db.create("Note", "a"), lambda: db.erase(gone, reason="x"), lambda: db.create("Note", "b")]
    )
    assert [receipt.seq for receipt in told] == [4, 5, 6]
    assert find_traces(db.path, ["Perishable"]) == []
    assert db.verify(deep=True).findings == ()


def test_a_thread_that_is_interrupted_while_it_writes_for_others_leaves_nobody_waiting(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = db._writer.group
    assert group is not None
    serve = group._serve_batch
    served: list[int] = []

    def interrupted(leader: Any, work: Any) -> None:
        def and_stop(tasks: Any) -> Any:
            answers = work(tasks)
            served.append(len(tasks))
            if len(served) == 2:
                raise Interrupted
            return answers

        serve(leader, and_stop)

    monkeypatch.setattr(group, "_serve_batch", interrupted)
    told = Together(db).run(creating(db, "a", "b", "c"))
    assert [type(answer) for answer in told] == [Interrupted, UnavailableError, UnavailableError]
    assert served == [1, 3]
    assert db.create("Note", "after").seq == 6
    assert db.verify(deep=True).findings == ()


def test_a_request_whose_turn_does_not_come_in_time_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    group: CommitQueue[int, int] = CommitQueue(0.01)
    inside, go_on, served = threading.Event(), threading.Event(), []

    def serve(requests: Any) -> list[int]:
        served.extend(requests)
        inside.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return [2 * request for request in requests]

    monkeypatch.setattr(lock, "MAX_TOGETHER", 1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(group.submit, 1, serve)
        assert inside.wait(PATIENCE_SECONDS)
        with pytest.raises(WriterBusy):
            group.submit(2, serve)
        go_on.set()
        assert first.result(PATIENCE_SECONDS) == 2
    assert group.submit(3, serve) == 6 and served == [1, 3]


@pytest.mark.parametrize("delay_ms", [5, 40, 120, 250])
def test_a_kill_loses_nothing_that_any_of_the_threads_had_been_told(delay_ms: int, tmp_path: Path) -> None:
    killed(tmp_path, delay_ms / 1000)


@pytest.mark.soak
def test_soak_kills_at_random_instants_lose_nothing_that_any_of_the_threads_had_been_told(
    tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    told = [killed(tmp_path, draw.random() / 4, deep=kill == 49) for kill in range(50)]
    assert told[-1] > 50 * 8


def killed(folder: Path, after_seconds: float, *, deep: bool = True) -> int:
    """Kill a process whose threads write in groups; return how many acknowledged writes stayed."""
    store, lines = folder / "store", Acknowledged(folder / "lines")
    before = len(lines.lines())
    process = start(write_together, store, lines.file, 8)
    until(lambda: len(lines.lines()) > before + 8)
    threading.Event().wait(after_seconds)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    assert wait_for_exit(process) == -signal.SIGKILL
    told = lines.lines()
    with worlddb.open(store, create=False) as db:
        names = [world.name for world in db.view().children()]
        assert set(told) <= set(names) and len(set(names)) == len(names)
        assert db.head().seq == len(names) + 1
        assert db.verify(deep=deep).findings == ()
    return len(told)


def test_many_threads_without_a_pause_each_see_their_own_writes(db: Database) -> None:
    def write(thread: int) -> None:
        ref = ""
        for number in range(12):
            receipt = db.create("Note", f"{thread}-{number}", idempotency_key=f"{thread}-{number}")
            assert db.create("Note", f"{thread}-{number}", idempotency_key=f"{thread}-{number}") == receipt
            assert db.view().get(receipt.ref) is not None
            assert not ref or db.link(ref, "precedes", receipt.ref)
            ref = receipt.ref

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(write, thread) for thread in range(8)]:
            done.result(PATIENCE_SECONDS)
    assert db.head().seq == 1 + 8 * (12 + 11)
    assert db.verify(deep=True).findings == ()


def test_a_durability_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="commit, group"):
        worlddb.open(tmp_path / "store", durability="never")  # type: ignore[arg-type]
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("durability", ["commit", "group"])
def test_handles_of_other_authors_write_under_their_own_names_from_many_threads(
    tmp_path: Path, durability: worlddb.database.Durability
) -> None:
    with worlddb.open(tmp_path / "store", author="host", durability=durability, embedder=None) as db:
        handles = [db.as_author(f"guest-{number}") for number in range(4)]
        with ThreadPoolExecutor(8) as pool:
            tasks = [pool.submit(handle.create, "Note", handle.author) for handle in handles for _ in range(10)]
            assert all(task.result(PATIENCE_SECONDS).outcome for task in tasks)
        db.create("Note", "host")
        found = list(db.view().find(type="Note"))
        assert len(found) == 41 and all(note.name == note.author for note in found)
        assert db.author == "host" and db.verify(deep=True).ok
    with pytest.raises(worlddb.StoreClosed):
        handles[0].create("Note", "late")
    with pytest.raises(InputError):
        handles[0].as_author("")
