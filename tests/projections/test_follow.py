"""Follows the log: every event of every process, once, in order, from any place."""

from __future__ import annotations

import threading
from itertools import islice
from unittest import mock

import pytest

import worlddb
from tests.support.running import LocalRunner, run_process, small_store
from worlddb import InputError, UnknownReference
from worlddb.query.history import journal

PATIENCE = 180.0
"""Seconds without news after which a follower in these tests gives up."""


def test_what_is_there_is_told_first_and_is_what_the_log_says(tmp_path):
    small_store(tmp_path)
    with worlddb.open(tmp_path) as db:
        assert list(db.follow(1, patience_seconds=0)) == list(db.log())
        assert list(db.follow(patience_seconds=0)) == []
        assert {entry.seq for entry in db.follow(9, patience_seconds=0)} == {9, 10, 11}


def test_a_few_events_of_a_large_commit_are_told_without_reading_the_rest(tmp_path, monkeypatch):
    with worlddb.open(tmp_path) as db:
        events = {1: len(list(db.log(1, 1)))}
        for size in (1, 300, 1_500, 2):
            with db.batch() as tx:
                for number in range(size):
                    tx.create("Note", f"{size}/{number}", resolve=False)
            events[tx.receipt.seq] = tx.receipt.events
        whole = [(entry.seq, entry.index) for entry in db.log()]
        assert whole == [(seq, index) for seq, some in events.items() for index in range(some)]
        within = db.create("Area", "within", resolve=False).ref
        with db.batch() as tx:
            for number in range(700):
                tx.create("Note", f"inside {number}", world=within, resolve=False)
        inside = [entry.index for entry in db.view(world=within).log() if entry.seq == tx.receipt.seq]
        assert inside == list(range(tx.receipt.events))
        last = next(iter(db.view().find(name="inside 699")))
        assert [entry.event for entry in db.log(ref=last)] == ["created", "linked"]
        for view in (db.view(), db.view(world=within)):
            for how in ({}, {"ref": last}, {"first": 3}):
                told = list(view.log(**how))
                for skip in (0, 1, 3, 299, 700, len(told) - 1, len(told), len(told) + 5):
                    assert list(view.log(**how, skip=skip)) == told[skip:], (how, skip)
        entry = mock.Mock(wraps=journal._entry)
        monkeypatch.setattr(journal, "_entry", entry)
        assert len(list(islice(db.log(), 5))) == 5 and entry.call_count < 50


def test_commits_of_other_threads_are_told_once_and_in_order_while_they_are_made(tmp_path):
    with worlddb.open(tmp_path / "memory") as db:

        def write(worker):
            for number in range(10):
                db.create("Note", f"{worker}/{number}", resolve=False)

        followed = db.follow(patience_seconds=PATIENCE)
        threads = [threading.Thread(target=write, args=(worker,)) for worker in range(3)]
        for thread in threads:
            thread.start()
        told = []
        for entry in followed:
            told.append(entry)
            if len(told) == 60:
                break
        for thread in threads:
            thread.join()
        assert told == list(db.log(2))


def test_the_commit_of_another_process_wakes_a_follower(tmp_path):
    with worlddb.open(tmp_path / "memory") as db:
        told = db.follow(patience_seconds=PATIENCE)
        lines = tmp_path / "talk.jsonl"
        lines.write_text('{"speaker": "Ann", "text": "hello"}\n')
        assert run_process("--store", db.path, "ingest", lines, cwd=tmp_path).code == 0
        assert next(told).author == "local"


def test_a_follower_can_keep_to_what_names_one_world(tmp_path):
    small = small_store(tmp_path)
    with worlddb.open(tmp_path) as db:
        assert list(db.follow(1, ref=small.porto, patience_seconds=0)) == list(db.log(ref=small.porto))
        with pytest.raises(UnknownReference):
            db.follow(ref="00000bad")


@pytest.mark.parametrize("wrong", [{"first": -1}, {"first": "1"}, {"patience_seconds": -1}, {"patience_seconds": "x"}])
def test_a_wrong_argument_is_told_when_following_begins(wrong, tmp_path):
    with worlddb.open(tmp_path / "memory") as db, pytest.raises(InputError):
        db.follow(**wrong)


def test_the_command_line_follows_as_well(tmp_path, capsys):
    small_store(tmp_path / "memory")
    run = LocalRunner(capsys, tmp_path / "memory")
    assert run("log", "--follow", "--patience", "0", "--json", "--from", "1").out == run("log", "--json").out
    assert run("log", "--follow", "--to", "3").code == 2
