"""Searches that are begun in another thread, before their hits are needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import worlddb
from worlddb import Turn, store
from worlddb.projections.indexes import text_snapshot
from worlddb.projections.indexes.analysis import query_terms
from worlddb.projections.indexes.fields import TextHit
from worlddb.projections.indexes.tail import RetriedSearch
from worlddb.projections.indexes.text_snapshot import IndexUnreadable, SearchFuture, TextSearch
from worlddb.query.lanes.text_lane import PresentTextLane
from worlddb.query.records.records import Recall
from worlddb.query.snapshot.snapshot import Snapshot

WAIT_SECONDS = 30.0
HIT = TextHit(1, 1, 1, 0.5)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def unreadable() -> list[TextHit]:
    raise IndexUnreadable("cut short")


def test_what_was_begun_is_found_and_what_it_raises_is_raised(threads: ThreadPoolExecutor) -> None:
    assert SearchFuture(threads, lambda: 7).result() == 7
    assert SearchFuture(None, lambda: 7).result() == 7
    with pytest.raises(IndexUnreadable):
        SearchFuture(threads, unreadable).result()
    SearchFuture(threads, unreadable).cancel()


def test_without_a_free_thread_the_caller_searches(threads: ThreadPoolExecutor) -> None:
    free = threading.Event()
    busy = threads.submit(free.wait, WAIT_SECONDS)
    try:
        assert SearchFuture(threads, threading.get_ident).result() == threading.get_ident()
        ran: list[int] = []
        SearchFuture(threads, lambda: ran.append(1)).cancel()
    finally:
        free.set()
    assert busy.result(WAIT_SECONDS)
    assert threads.submit(lambda: list(ran)).result(WAIT_SECONDS) == []


def test_a_search_of_a_damaged_index_is_done_again() -> None:
    assert RetriedSearch(SearchFuture(None, unreadable), lambda: [HIT]).result() == [HIT]
    assert RetriedSearch(SearchFuture(None, lambda: [HIT]), unreadable).result() == [HIT]


def test_a_search_that_was_begun_gives_what_the_same_one_gives_later(
    tmp_path: Path, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_snapshot, "FEW_TEXTS", 0)
    with worlddb.open(tmp_path / "store") as db:
        texts = db._reader.text

        def lane() -> PresentTextLane:
            return PresentTextLane(texts, db.view().seq, threads)

        def same(**asked: list[int]) -> bool:
            begun, plain = lane(), lane()
            through = begun.indexed
            begun.begin("garden gate", limit=5, through=through, nodes=asked.get("nodes"))
            found = begun.search("garden gate", limit=5, through=through, nodes=asked.get("nodes"))
            other = plain.search("garden gate", limit=5, through=through, nodes=asked.get("nodes"))
            assert other == texts.find(
                TextSearch(query_terms("garden gate"), 5, None, asked.get("nodes")), head=through
            )
            return found == other and bool(found)

        for number in range(12):
            db.create("Note", f"note {number}", content=f"the garden {'gate ' * (number % 3)}in spring")
        assert same()
        assert db.catch_up()
        assert same()
        db.create("Note", "late", content="the garden gate, at last")
        assert same()
        assert same(nodes=[2, 5, 13])
        begun = lane()
        begun.begin("garden", limit=5, through=begun.indexed)
        # Another question than the one that was begun; what was begun is over when the lane is closed.
        assert begun.search("gate", limit=5, through=begun.indexed)
        begun.close()
        assert (
            texts.begin(
                TextSearch(query_terms("nothing like it"), 5, begun.indexed), head=begun.indexed, threads=threads
            ).result()
            == []
        )


def test_few_texts_are_searched_by_who_needs_their_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with worlddb.open(tmp_path / "store") as db, ThreadPoolExecutor(1) as pool:
        db.create("Note", "garden", content="the garden gate " * 4_000)
        assert db.catch_up()
        for few, in_thread in ((2, False), (0, True)):
            monkeypatch.setattr(text_snapshot, "FEW_TEXTS", few)
            lane = PresentTextLane(db._reader.text, db.view().seq, pool)
            lane.begin("gate", limit=5, through=lane.indexed)
            assert bool(pool._threads) == in_thread
            assert len(lane.search("gate", limit=5, through=lane.indexed)) == 1


def test_a_recall_is_the_same_with_one_processor_and_with_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[Recall]] = []
    for processors in (1, 8):
        monkeypatch.setattr(store, "usable_processors", lambda processors=processors: processors)
        monkeypatch.setattr(text_snapshot, "FEW_TEXTS", 0)
        with worlddb.open(tmp_path / "store") as db:
            if not found:
                said = [Turn(text=f"The garden gate number {number} creaks.") for number in range(30)]
                db.ingest(said, conversation="c", session="s")
                db.embed()
            view = db.view(valid="2100-01-01")
            found.append([view.recall("Which gate creaks in the garden?", k=3, group=group) for group in (None, 2)])
            assert (db._reader.text_lane(db.head().seq)._threads is None) == (processors == 1)
    assert found[0] == found[1]
    assert found[0][0].hits


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system binds no process to some processors")
def test_a_process_that_may_run_on_one_processor_begins_nothing_in_another_thread(tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with worlddb.open(tmp_path / "store") as db:
            assert db._reader.text_lane(db.head().seq)._threads is None
    finally:
        os.sched_setaffinity(0, allowed)


def test_the_threads_of_a_handle_end_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lived on until the handle was collected: of sixty that were closed, and still named, sixty threads."""
    monkeypatch.setattr(store, "usable_processors", lambda: 2)
    monkeypatch.setattr(text_snapshot, "FEW_TEXTS", 0)
    before = set(threading.enumerate())
    with worlddb.open(tmp_path / "store") as db:
        db.create("Note", "garden", content="the garden gate " * 4_000)
        assert db.catch_up()
        assert db.view().recall("garden gate").hits
        begun = set(threading.enumerate()) - before
        assert begun
    for thread in begun:
        thread.join(WAIT_SECONDS)
    assert not any(thread.is_alive() for thread in begun)
    with pytest.raises(worlddb.StoreClosed):
        db.view()


def test_a_search_is_done_where_no_thread_can_be_had_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of a program, and where a system allows no further thread, a pool refuses what it is given."""
    monkeypatch.setattr(text_snapshot, "FEW_TEXTS", 0)
    with worlddb.open(tmp_path / "store") as db, ThreadPoolExecutor(1) as pool:
        db.create("Note", "garden", content="the garden gate " * 4_000)
        assert db.catch_up()
        pool.shutdown()
        lane = PresentTextLane(db._reader.text, db.view().seq, pool)
        lane.begin("gate", limit=5, through=lane.indexed)
        assert len(lane.search("gate", limit=5, through=lane.indexed)) == 1


def test_a_recall_by_words_reads_in_one_transaction_unless_the_index_is_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    begin = store.StoreReader._begun

    def counted(self: store.StoreReader) -> AbstractContextManager[Snapshot]:
        begun.append("read")
        return begin(self)

    monkeypatch.setattr(store.StoreReader, "_begun", counted)
    with worlddb.open(tmp_path / "store", background=False) as db:
        db.create("Note", "garden", content="the garden gate")
        for names in (["garden"], ["garden", "yard"]):
            view, found = db.view(), []
            for _ in range(2):
                begun.clear()
                found.append(view.recall("gate", lanes=["text"]))
                assert [hit.name for hit in found[-1].hits] == names
            assert begun == ["read"] and found[0] == found[1]
            db.create("Note", "yard", content="a gate that is in the yard")
