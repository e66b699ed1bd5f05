"""Vectors follow in the background: the lease holder makes them, and nobody waits."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, due_work
from worlddb.projections.indexes import vector_index
from worlddb.reconciler.background import embedding_backfill, worker
from worlddb.reconciler.background.worker import BackgroundWorker, background_lease
from worlddb.tools.mcp import read_tools
from worlddb.tools.mcp.session import Call, Session
from worlddb.tools.mcp.tool_arguments import AsOf, Recall

PATIENCE = 180.0


class Letters:
    """How often some letters occur; it may be held up, or fail."""

    model, dimension = "letters/1", 4

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.error: Exception | None = None
        self.batches: list[int] = []

    def mean(self) -> Any:
        return [0.0] * 4

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        if not query:
            self.batches.append(len(texts))
            assert self.may_go_on.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return [[text.count(letter) for letter in "abcd"] for text in texts]


@pytest.fixture
def model() -> Letters:
    return Letters()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "AGAIN_SECONDS", 0.02)


def open_with_background(folder: Path, model: Letters) -> Database:
    return worlddb.open(folder / "store", embedder=model, background=True)


def pending(db: Database) -> int:
    return db.view().recall("a").pending


def test_a_text_is_found_by_its_words_at_once_and_by_its_meaning_a_little_later(tmp_path: Path, model: Letters) -> None:
    with open_with_background(tmp_path, model) as db:
        db.create("Fact", "first", content="a")
        assert db.keep_up(wait_seconds=PATIENCE)
        model.may_go_on.clear()
        db.create("Fact", "second", content="bbb")
        found = db.view().recall("bbb")
        assert (found.hits[0].name, found.pending) == ("second", 1)
        assert not db.keep_up(wait_seconds=0.05)
        model.may_go_on.set()
        assert db.keep_up(wait_seconds=PATIENCE)
        found = db.view().recall("bb", lanes=("vector",), k=1)
        assert (found.hits[0].name, found.pending) == ("second", 0)


def test_writes_of_every_kind_are_followed_by_their_vectors(tmp_path: Path, model: Letters) -> None:
    with open_with_background(tmp_path, model) as db:
        assert db.background
        made = db.create("Fact", "one", content="a")
        db.revise(made, content="aab")
        with db.batch() as tx:
            tx.create("Fact", "two", content="b")
        db.ingest([{"text": "c", "speaker": "Ann"}])
        assert db.keep_up(wait_seconds=PATIENCE)
        assert (db.spaces()[0].texts, pending(db)) == (4, 0)


def test_a_fork_and_an_import_wake_the_thread_too(
    tmp_path: Path, model: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_with_background(tmp_path, model) as db:
        assert db._due.thread is not None
        made, nudges = db.create("Fact", "one", content="a"), list[bool]()
        db.export(made, tmp_path / "one.wdb")
        monkeypatch.setattr(db._due.thread, "nudge", lambda **_: nudges.append(True))
        assert db.fork(made, "another") and len(nudges) == 1
        with worlddb.open(tmp_path / "other", embedder=model) as other:
            other.create("Fact", "two", content="b")
            other.export(None, tmp_path / "two.wdb")
        assert db.import_bundle(tmp_path / "two.wdb") and len(nudges) == 2


def test_a_memory_asked_at_once_has_what_it_wrote_by_its_meaning_unless_that_takes_long(
    tmp_path: Path, model: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written and asked at once, a statement came behind an older one, and a second later before it."""
    with open_with_background(tmp_path, model) as db:
        mem = worlddb.memory(db, user="mia")
        mem.add("a")
        assert mem.recall("aa", k=1).pending == 0
        model.may_go_on.clear()
        written = mem.add("bbb")
        threading.Timer(0.1, model.may_go_on.set).start()
        found = mem.recall("bb", lanes=("vector",), k=1)
        assert (found.hits[0].ref, found.pending) == (written.id, 0)
        monkeypatch.setattr(due_work, "VECTORS_SECONDS", 0.05)
        model.may_go_on.clear()
        mem.add("ccc")
        assert mem.recall("cc").pending == 1
        monkeypatch.setattr(BackgroundWorker, "wait_until", None)
        assert mem.recall("cc").pending == 1, "after one wait in vain none waits"
        monkeypatch.undo()
        model.may_go_on.set()
        assert db.keep_up(wait_seconds=PATIENCE)
        model.error = RuntimeError("no answer")
        mem.add("ddd")
        assert mem.recall("ddd").hits, "a model that fails is not waited for"


def test_a_recall_waits_for_no_vector_that_it_cannot_have(
    tmp_path: Path, model: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What asked of the past, by words alone, or after a change without a text waited up to a second."""
    with open_with_background(tmp_path, model) as db:
        mem = worlddb.memory(db, user="mia")
        old = mem.add("a", since="2020-01-01")
        assert db.keep_up(wait_seconds=PATIENCE)
        before, waits, wait_until = db.last_written, list[float](), BackgroundWorker.wait_until

        def waiting(self: BackgroundWorker, reached: Callable[[], bool], seconds: float) -> bool:
            waits.append(seconds)
            return wait_until(self, reached, seconds)

        monkeypatch.setattr(BackgroundWorker, "wait_until", waiting)
        db.label(old.id, "kept")
        mem.recall("a")
        mem.forget(old)
        mem.recall("a")
        model.may_go_on.clear()
        mem.add("bbb")
        for told in (mem.as_of("2021-01-01"), mem.as_of(known=before)):
            assert told.recall("a").hits
        assert mem.recall("bbb", lanes=["text"]).hits and not waits
        call = Call("a client", "memory_as_of")
        assert read_tools.as_of(Session(db), AsOf(id=old.id, valid="2021-01-01"), call).memories
        assert read_tools.as_of(Session(db), AsOf(query="a", valid="2021-01-01"), call).memories and not waits
        threading.Timer(0.1, model.may_go_on.set).start()
        found = read_tools.recall(Session(db), Recall(query="bb"), Call("a client", "memory_recall"))
        assert waits and found.space is not None


def test_a_recall_hardly_waits_while_the_thread_does_something_else(
    tmp_path: Path, model: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a long job ran on the thread, every pair of a write and a recall took a second."""
    go_on, begun = threading.Event(), threading.Event()
    with open_with_background(tmp_path, model) as db:
        mem = worlddb.memory(db, user="mia")

        def dream(*_: object) -> bool:
            begun.set()
            return go_on.wait(PATIENCE)

        monkeypatch.setattr(due_work, "VECTORS_SECONDS", 10 * PATIENCE)
        monkeypatch.setattr(due_work.DueWork, "_dream_if_due", dream)
        mem.add("a")
        assert begun.wait(PATIENCE)
        mem.add("bbb")
        assert mem.recall("bb").pending == 1
        go_on.set()
        assert db.keep_up(wait_seconds=PATIENCE)
        assert mem.recall("bb").pending == 0


def test_an_index_that_somebody_deleted_is_made_again_although_nothing_waits_for_a_vector(
    tmp_path: Path, model: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "SHORT_TAIL", 1)
    folder = tmp_path / "store" / "indexes" / "vectors-1"
    with open_with_background(tmp_path, model) as db:
        db.create("Fact", "one", content="a")
        assert db.keep_up(wait_seconds=PATIENCE) and (folder / "current.json").exists()
    shutil.rmtree(folder)
    with open_with_background(tmp_path, model) as db:
        assert db.view().recall("a", lanes=["vector"]).hits
        assert db.keep_up(wait_seconds=PATIENCE) and (folder / "current.json").exists()


def test_while_another_process_has_the_lease_nothing_is_done_twice_and_afterwards_nothing_is_left(
    tmp_path: Path, model: Letters
) -> None:
    with open_with_background(tmp_path, model) as db:
        db.create("Fact", "one", content="a")
        assert db.keep_up(wait_seconds=PATIENCE)
        model.batches.clear()
        with background_lease(tmp_path / "store") as leased:
            assert leased
            db.create("Fact", "two", content="b")
            assert not db.keep_up(wait_seconds=0.3)
            assert (model.batches, pending(db)) == ([], 1)
        assert db.keep_up(wait_seconds=PATIENCE)
        assert (model.batches, pending(db)) == ([1], 0)


def test_closing_does_not_wait_for_what_another_process_is_at(tmp_path: Path, model: Letters) -> None:
    db = open_with_background(tmp_path, model)
    with background_lease(tmp_path / "store"):
        db.create("Fact", "one", content="a")
        closing = threading.Thread(target=db.close)
        closing.start()
        closing.join(PATIENCE / 4)
        assert not closing.is_alive()


def test_a_question_that_finds_texts_of_others_without_vectors_has_them_embedded(
    tmp_path: Path, model: Letters
) -> None:
    with open_with_background(tmp_path, model) as db:
        db.create("Fact", "one", content="a")
        assert db.keep_up(wait_seconds=PATIENCE)
        with worlddb.open(tmp_path / "store", embedder=None) as other:
            other.create("Fact", "two", content="bb")
        assert pending(db) == 1
        assert db._due.thread is not None and db._due.thread.wait(PATIENCE)
        assert pending(db) == 0


def test_a_model_that_fails_holds_nobody_up_and_is_tried_again_with_the_next_write(
    tmp_path: Path, model: Letters
) -> None:
    model.error = RuntimeError("no model today")
    with open_with_background(tmp_path, model) as db:
        db.create("Fact", "one", content="a")
        assert db.keep_up(wait_seconds=PATIENCE)
        assert "no model today" in str(db.background_error)
        assert db.view().recall("a").hits
        model.error = None
        db.create("Fact", "two", content="b")
        assert db.keep_up(wait_seconds=PATIENCE)
        assert (db.background_error, pending(db), db.spaces()[0].texts) == (None, 0, 2)


def test_a_handle_without_a_thread_keeps_up_when_it_is_asked_to(tmp_path: Path, model: Letters) -> None:
    with worlddb.open(tmp_path / "store", embedder=model) as db:
        db.create("Fact", "one", content="a")
        assert not db.background and model.batches == []
        assert db.keep_up() and pending(db) == 0
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        db.create("Fact", "two", content="b")
        assert db.keep_up()
    with open_with_background(tmp_path, model) as db, pytest.raises(worlddb.InputError):
        db.keep_up(wait_seconds=-1)


def test_how_much_is_embedded_for_one_commit_follows_from_how_long_the_model_takes(
    tmp_path: Path, model: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def slow(texts: Sequence[str], *, query: bool) -> Any:
        nonlocal now
        now += len(texts)
        model.batches.append(len(texts))
        return [[1.0] * 4 for _ in texts]

    monkeypatch.setattr(embedding_backfill, "monotonic", lambda: now)
    monkeypatch.setattr(embedding_backfill, "FIRST_TEXTS", 8)
    monkeypatch.setattr(model, "embed", slow)
    with worlddb.open(tmp_path / "store", embedder=model) as db:
        with db.batch() as tx:
            for number in range(20):
                tx.create("Fact", str(number), content=f"text {number}")
        assert db.embed().commits == 4
        assert model.batches == [8, 5, 5, 2]  # A second each, and five seconds a commit.


def test_work_that_somebody_else_is_at_is_tried_again_until_it_is_done() -> None:
    answers = [False, False, True]
    work = BackgroundWorker(lambda: answers.pop(0))
    work.nudge()
    assert work.wait(PATIENCE)
    assert answers == []
    work.finish()


def test_work_rests_while_others_go_on_to_nudge_unless_somebody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LULL_SECONDS", 60.0), ("RESTS", 10**9), ("LONGEST_REST_SECONDS", 60.0)):
        monkeypatch.setattr(worker, name, value)
    begun, ends = threading.Event(), threading.Event()
    works: list[int] = []

    def work() -> bool:
        works.append(1)
        begun.set()
        return ends.wait(60)

    chores = worker.BackgroundWorker(work)
    chores.nudge()
    assert begun.wait(60), "the first nudge waits for nobody"
    chores.nudge()
    ends.set()
    until = time.monotonic() + 60
    while not chores._resting and time.monotonic() < until:
        time.sleep(0.001)
    chores.nudge()
    assert chores._resting and len(works) == 1
    assert chores.wait(10) and len(works) == 2
    chores.finish()
    assert chores.stopped() and len(works) == 2


def test_what_can_wait_is_begun_at_a_lull_or_when_somebody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LULL_SECONDS", 60.0)
    monkeypatch.setattr(worker, "LONGEST_REST_SECONDS", 60.0)
    works: list[int] = []
    done = threading.Event()

    def work() -> bool:
        works.append(1)
        done.set()
        return True

    chores = worker.BackgroundWorker(work, lingers=False)
    for _ in range(3):
        chores.nudge(at_lull=True)
    assert not done.wait(0.1) and not works, "those who nudge may not be done"
    assert chores.wait(PATIENCE) and len(works) == 1, "several nudges are one"
    done.clear()
    chores.nudge(at_lull=True)
    chores.nudge()
    assert done.wait(PATIENCE), "one that cannot wait is not held up by those that can"
    done.clear()
    chores.nudge()
    chores.nudge(at_lull=True)
    assert done.wait(PATIENCE) and chores.wait(PATIENCE)
    done.clear()
    monkeypatch.setattr(worker, "LULL_SECONDS", 0.01)
    monkeypatch.setattr(worker, "LONGEST_REST_SECONDS", 0.02)
    chores.nudge(at_lull=True)
    assert done.wait(PATIENCE), "the lull has come"
    chores.nudge(at_lull=True)
    chores.finish()
    assert chores.stopped()
