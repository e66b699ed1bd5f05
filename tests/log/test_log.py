"""Tests the log by itself: appends, reads, the hash chain, times and the lock."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import lmdb
import pytest

import worlddb
from tests.support.faults.script import SECOND, OwnEntropy, Run
from worlddb.log.model.codec import chain_hash, events_hash, is_struck, named_id
from worlddb.log.model.hashing import GENESIS
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import EMPTY_HEAD, Head, LmdbLog


@pytest.fixture
def store(tmp_path: Path) -> Path:
    Run(tmp_path / "store", lambda line: None).whole()
    return tmp_path / "store"


@pytest.fixture
def env(store: Path) -> Iterator[Environment]:
    opened = Environment(store, author="tests", timeout_seconds=1)
    yield opened
    opened.close()


def test_an_append_on_another_head_than_the_expected_one_is_a_conflict_and_writes_nothing(env: Environment) -> None:
    with env.read() as txn:
        head = LmdbLog(txn).head()
        record = next(LmdbLog(txn).read(head.seq, head.seq))[1]
    wrong = [
        (Head(head.seq - 1, head.chain), head.seq),
        (Head(head.seq, GENESIS), head.seq + 1),
        (Head(head.seq + 1, head.chain), head.seq + 2),
        (head, head.seq + 2),
        (EMPTY_HEAD, 1),
    ]
    for expected, seq in wrong:

        def append(txn: lmdb.Transaction, seq: int = seq, expected: Head = expected) -> Head:
            return LmdbLog(txn).append(record, seq, expected)

        with pytest.raises(worlddb.Conflict, match=f"ends at {head.seq}, not at {expected.seq}"):
            env.write(append)
    with env.read() as txn:
        assert LmdbLog(txn).head() == head
        assert LmdbLog(txn).last_stored() == head.seq


def test_what_is_read_from_a_commit_on_can_be_appended_elsewhere_and_is_the_same_log(
    env: Environment, tmp_path: Path
) -> None:
    (tmp_path / "copy").mkdir()
    copy = Environment(tmp_path / "copy", author="tests", timeout_seconds=1)
    with env.read() as source:
        log = LmdbLog(source)
        end = log.head()

        def append_all(txn: lmdb.Transaction) -> Head:
            head = EMPTY_HEAD
            for seq, record in log.read(1, end.seq):
                head = LmdbLog(txn).append(record, seq, head)
            return head

        assert copy.write(append_all) == end
        with copy.read() as txn:
            copied = LmdbLog(txn)
            assert copied.check_format()
            for first, last in ((1, end.seq), (5, 9), (end.seq, end.seq + 100), (end.seq + 1, end.seq + 2), (3, 2)):
                records = list(log.read(first, last))
                assert [seq for seq, _ in records] == list(range(first, min(last, end.seq) + 1))
                assert list(copied.read(first, last)) == records
    copy.close()


def test_headers_form_a_chain_and_name_their_events_blobs_and_roots(env: Environment, store: Path) -> None:
    with worlddb.open(store, author="tests") as db, env.read() as txn:
        log = LmdbLog(txn)
        previous, last_time = GENESIS, 0
        erased = {tuple(blob) for entry in db.log() for blob in entry.data.get("blobs", ())}
        for seq in range(1, log.head().seq + 1):
            stored_chain, stored = log.stored_header(seq)
            header = log.header(seq)
            assert stored_chain == chain_hash(stored) == log.chain(seq)
            assert (header.seq, header.previous) == (seq, previous)
            assert header.ingest_time > last_time
            assert header.events_hash == events_hash(log.stored_events(seq))
            events = log.events(seq)
            assert header.event_count == len(events.events)
            for position in range(events.blob_count):
                blob = log.blob(seq, position)
                assert (blob is None or is_struck(blob)) == ((seq, position) in erased)
                assert blob is None or named_id(blob) == events.blob(position)
            assert db.view(seq=seq).hash() == header.root.hex()
            previous, last_time = stored_chain, header.ingest_time
        assert log.head() == Head(log.head().seq, previous)
        assert log.chain(0) == GENESIS


def test_a_commit_that_is_not_there_is_a_typed_error_that_names_it(env: Environment) -> None:
    with env.read() as txn:
        log = LmdbLog(txn)
        for seq in (0, log.head().seq + 1, 10**9):
            for read in (log.header, log.events, log.stored_header, log.stored_events):
                with pytest.raises(worlddb.DamagedStore) as caught:
                    read(seq)
                assert caught.value.details["seq"] == seq
        assert log.blob(1, 10**6) is None


def test_the_commit_at_a_time_is_the_last_one_at_or_before_it(tmp_path: Path) -> None:
    clock = worlddb.ManualClock()
    with worlddb.open(tmp_path / "store", author="tests", clock=clock) as db:
        times = [db.head().ingested_at]
        for number in range(40):
            clock.advance(SECOND * (number % 3))
            times.append(db.create("Fact", str(number)).ingest_time)
        assert all(one < other for one, other in pairwise(times))
        with db._env.read() as txn:
            log = LmdbLog(txn)
            for seq, time in enumerate(times, 1):
                assert log.seq_at(time) == seq
                assert log.seq_at(time - 1) == (seq - 1 if time - 1 not in times else times.index(time - 1) + 1)
                assert log.seq_at(time + 1) == (seq if time + 1 not in times else seq + 1)
            assert log.seq_at(0) == log.seq_at(times[0] - 1) == 0
            assert log.seq_at(times[-1] + 10**15) == len(times)
        assert db.view(ingested=times[4]).seq == 5
        assert list(db.view(ingested=times[0] - 1).children()) == []


def test_time_never_stands_still_or_goes_back_and_the_clock_is_recorded_as_it_was(tmp_path: Path) -> None:
    clock = worlddb.ManualClock()
    with worlddb.open(tmp_path / "store", author="tests", clock=clock) as db:
        start = clock.value
        for back in (0, 0, 1, 5 * SECOND):
            clock.value = start - back
            db.create("Fact", "again")
        clock.value = start + SECOND
        db.create("Fact", "again")
        with db._env.read() as txn:
            headers = [LmdbLog(txn).header(seq) for seq in range(1, 7)]
    assert [header.ingest_time - start for header in headers] == [0, 1, 2, 3, 4, SECOND]
    assert [header.wall_time - start for header in headers] == [0, 0, 0, -1, -5 * SECOND, SECOND]


def test_idempotency_keys_are_known_again_after_the_tables_were_rebuilt_from_the_log(store: Path) -> None:
    run = Run(store, lambda line: None)
    with worlddb.open(store, author="tests") as db:
        head = db.head()
        assert db.rebuild("tables").root == head.root
        with db._env.read() as txn:
            keyed = [seq for seq in range(1, head.seq + 1) if LmdbLog(txn).header(seq).key]
        assert len(keyed) >= 20
        with pytest.raises(worlddb.IdempotencyConflict):
            db.create("Place", "another place", idempotency_key="script-1")
    assert run.whole() == head


def test_an_idempotency_key_stands_in_the_log_as_a_keyed_digest_only(tmp_path: Path) -> None:
    for name in ("one", "other"):
        with worlddb.open(tmp_path / name, author="tests", entropy=OwnEntropy()) as db:
            db.create("Fact", "a fact", idempotency_key="a-very-telling-key")
        assert b"telling" not in (tmp_path / name / "data.mdb").read_bytes()


def test_the_holder_file_names_the_last_writer(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with worlddb.open(store, author="first"):
        found = json.loads((store / "writer.json").read_bytes())
        assert (found["pid"], found["author"]) == (os.getpid(), "first")
        assert found["host"]
    with worlddb.open(store, author="zwölf 🦉") as db:
        assert json.loads((store / "writer.json").read_bytes())["author"] == "first"
        db.create("Fact", "a fact")
        assert json.loads((store / "writer.json").read_bytes())["author"] == "zwölf 🦉"


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b'{"pid": 1'])
def test_a_holder_file_that_says_nothing_does_not_spoil_the_error(content: bytes, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with (
        worlddb.open(store, author="one", timeout_seconds=0.05) as one,
        worlddb.open(store, author="other", timeout_seconds=0.05) as other,
    ):

        def write_meanwhile(name: str) -> None:
            if name == "begun":
                (store / "writer.json").write_bytes(content)
                with other._env._lock.held():
                    raise AssertionError("two writers at once")

        one._env.step = write_meanwhile
        with pytest.raises(worlddb.WriterBusy, match=r"process \?"):
            one.create("Fact", "never")
        one._env.step = lambda name: None
        assert one.create("Fact", "ever")
