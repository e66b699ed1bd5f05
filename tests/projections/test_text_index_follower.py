"""The follower: reads see every commit, whatever state the index on disk is in."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import worlddb
from worlddb import Database, database, store
from worlddb.log.model.errors import UnavailableError, WriterBusy
from worlddb.projections.indexes import catchup, tail
from worlddb.projections.indexes.catchup import Status, TextFollower
from worlddb.projections.indexes.fields import TextDocument
from worlddb.projections.indexes.text_index import TextIndex, segment_sizes
from worlddb.projections.indexes.text_snapshot import TextSearch

STORE = b"store-1"
SHORT = pytest.mark.usefixtures("short_stretches")
"""Every tenth text ends a stretch."""


@pytest.fixture
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 10)


class Log:
    """A log of texts, one commit each by default, that remembers what was asked of it."""

    def __init__(self, *, branch: bytes = b"") -> None:
        self.documents: list[TextDocument] = []
        self.head = 0
        self.branch = branch
        self.asked: list[tuple[int, int]] = []

    def add(self, *contents: str) -> None:
        for content in contents:
            self.commit(content)

    def commit(self, *contents: str) -> None:
        self.head += 1
        for content in contents:
            self.documents.append(TextDocument(len(self.documents) + 1, 1, self.head, "", content))

    def feed(self, after: int, through: int) -> Iterator[TextDocument]:
        self.asked.append((after, through))
        return iter([each for each in self.documents if after < each.seq <= through])

    def chain(self, seq: int) -> bytes | None:
        return b"%b%d" % (self.branch, seq) if seq <= self.head else None


def follower(folder: Path, log: Log, store_id: bytes = STORE) -> TextFollower:
    folder.mkdir(exist_ok=True)
    return TextFollower(folder / "indexes" / "text", store_id, log.feed, log.chain)


def seqs(texts: TextFollower, log: Log, query: str, *, limit: int = 2000, through: int | None = None) -> list[int]:
    return [hit.seq for hit in texts.search(query, head=log.head, limit=limit, through=through)]


def test_a_read_sees_its_own_write_before_anything_is_on_disk(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    assert seqs(texts, log, "boston") == []
    log.add("she moved to boston", "he stayed")
    assert seqs(texts, log, "boston") == [1]
    log.add("boston again")
    assert sorted(seqs(texts, log, "boston")) == [1, 3]
    assert list(tmp_path.iterdir()) == []


def test_the_tail_is_extended_and_not_read_again(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    log.add("boston", "boston")
    seqs(texts, log, "boston")
    seqs(texts, log, "boston")
    log.add("boston")
    seqs(texts, log, "boston")
    assert log.asked == [(0, 2), (2, 3)]


@SHORT
def test_what_is_searched_for_again_is_found_once_in_the_same_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[TextSearch] = []

    class Counted(tail.CorpusSearch):
        def __init__(self, views: Sequence[tail.View], search: TextSearch) -> None:
            made.append(search)
            super().__init__(views, search)

    monkeypatch.setattr(tail, "CorpusSearch", Counted)
    log = Log()
    texts = follower(tmp_path, log)
    log.add(*["boston"] * 12)
    assert texts.catch_up(log.head)
    assert seqs(texts, log, "boston") == seqs(texts, log, "boston") == [*range(1, 13)] and len(made) == 1
    assert seqs(texts, log, "boston", limit=2) == [1, 2] and len(made) == 2
    assert seqs(texts, log, "boston", limit=2, through=1) == [1] and len(made) == 3
    log.add("boston")
    assert seqs(texts, log, "boston") == [*range(1, 14)]
    log.add(*["boston"] * 8)
    assert texts.catch_up(log.head)
    assert seqs(texts, log, "boston") == [*range(1, 22)] and len(made) == 5


@SHORT
def test_the_index_and_the_tail_are_searched_as_one(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    log.add(*["the weather was fine"] * 30, "boston in spring")
    assert texts.catch_up(log.head)
    assert texts.status() == Status(30, 30)
    log.add("boston in spring", "the weather was fine")
    assert seqs(texts, log, "boston") == [31, 32]
    assert seqs(texts, log, "weather") == [*range(1, 31), 33]
    assert seqs(texts, log, "weather", limit=3) == [1, 2, 3]


def test_what_was_written_last_is_weighed_by_the_whole_corpus(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    log.add(*[f"the weather was fine on day {day}" for day in range(300)], "ships in the harbour")
    texts.catch_up(log.head)
    log.add("a zeppelin over the harbour")
    # Alone in the tail, its rare words would weigh next to nothing.
    assert seqs(texts, log, "zeppelin harbour", limit=2) == [302, 301]


@SHORT
def test_an_older_view_still_has_its_answers(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    log.add(*["boston"] * 20)
    texts.catch_up(10)
    for through in (0, 1, 9, 10, 11, 15, 20, 99):
        assert sorted(seqs(texts, log, "boston", through=through)) == list(range(1, min(through, 20) + 1))


@SHORT
def test_a_view_at_or_before_the_checkpoint_needs_no_tail(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    log.add(*["boston"] * 20)
    texts.catch_up(10)
    log.asked.clear()
    seqs(texts, log, "boston", through=10)
    assert log.asked == []


@SHORT
def test_a_head_behind_the_checkpoint_is_an_older_view_and_no_reason_to_start_over(tmp_path: Path) -> None:
    log = Log()
    texts, late = follower(tmp_path, log), follower(tmp_path, log)
    log.add(*["boston"] * 20)
    texts.catch_up(20)
    assert [hit.seq for hit in late.search("boston", head=5, limit=50)] == [1, 2, 3, 4, 5]
    assert late.catch_up(5)
    assert texts.status() == Status(20, 20)


def test_a_boundary_in_the_tail_is_indexed_before_it_is_searched(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    log.add(*["boston"] * (tail.STRETCH_DOCUMENTS - 1))
    assert len(seqs(texts, log, "boston")) == log.head
    assert texts.status() == Status(0, 0)
    log.commit("boston", "boston", "boston")
    assert len(seqs(texts, log, "boston")) == log.head + 2
    assert texts.status() == Status(log.head, log.head + 2), "a commit is not divided"
    log.add("boston")
    assert len(seqs(texts, log, "boston")) == log.head + 2
    assert texts.status().checkpoint == log.head - 1


def test_few_but_enormous_texts_end_a_stretch_too(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    log.add("boston", "x " * tail.STRETCH_CHARACTERS)
    assert seqs(texts, log, "boston") == [1]
    assert texts.status() == Status(2, 2)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 40))])
def test_the_index_ends_at_the_same_place_however_it_came_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The last boundary follows from the log alone, whoever asked for what and when."""
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 7)
    monkeypatch.setattr(tail, "STRETCH_CHARACTERS", 120)
    monkeypatch.setattr(tail, "STRETCH_COMMITS", 9)
    monkeypatch.setattr(catchup, "BATCH_DOCUMENTS", 15)
    chance = random.Random(seed)
    log = Log()
    handles = [follower(tmp_path / "a", log), follower(tmp_path / "a", log)]
    for _ in range(60):
        log.commit(*["boston " * chance.randint(1, 12) for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 9)))])
        for texts in chance.sample(handles, chance.randint(0, 2)):
            if chance.random() < 0.4:
                assert texts.catch_up(log.head)
            else:
                seqs(texts, log, "boston")
            if chance.random() < 0.1:
                texts.close()
    expected = follower(tmp_path / "b", log)
    expected.rebuild(log.head)
    assert handles[0].catch_up(log.head)
    assert handles[0].status() == handles[1].status() == expected.status()
    walk = tail.StretchWalk(0)
    indexed = [each for document in log.documents for each in walk.add(document)] + walk.end(log.head)
    assert expected.status() == Status(walk.boundary, len(indexed))
    assert log.documents == indexed + walk.held
    found = [each.search("boston", head=log.head, limit=2000) for each in (*handles, expected)]
    assert found[0] == found[1] == found[2] != []


def test_catching_up_goes_in_batches_that_follow_the_size_of_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catchup, "BATCH_DOCUMENTS", 10)
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 10)
    log = Log()
    texts = follower(tmp_path, log)
    for _ in range(12):
        log.commit(*["boston"] * 10)
    log.commit()
    reached: list[int] = []
    assert texts.catch_up(log.head, progress=reached.append)
    assert reached == sorted(set(reached))
    assert reached[-1] == log.head
    assert len(reached) > 3
    assert texts.status() == Status(12, 120)


@SHORT
def test_a_batch_goes_on_reading_where_the_last_one_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catchup, "BATCH_DOCUMENTS", 10)
    log = Log()
    log.add(*["boston"] * 55)
    reached: list[int] = []
    assert follower(tmp_path, log).catch_up(log.head, progress=reached.append)
    assert reached[:-1] == [10, 20, 30, 40, 50]
    looked_for_a_boundary = [(begin, log.head) for begin in (0, *reached[:-1])]
    assert sorted(log.asked) == sorted([(0, log.head), *looked_for_a_boundary])


@SHORT
def test_what_was_read_ahead_is_dropped_if_another_handle_began_the_index_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catchup, "BATCH_DOCUMENTS", 10)
    log = Log()
    log.add(*["boston"] * 20, "secret", *["boston"] * 20)
    other = follower(tmp_path, log)

    def erase(reached: int) -> None:
        if reached == 10:
            del log.documents[20]
            other.rebuild(reached)
            assert other.status() == Status(10, 10), "the index ends where it did before"

    texts = follower(tmp_path, log)
    assert texts.catch_up(log.head, progress=erase)
    assert texts.status() == Status(41, 40)
    assert seqs(texts, log, "secret") == []


def test_many_commits_without_texts_move_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "STRETCH_COMMITS", 4)
    log = Log()
    texts = follower(tmp_path, log)
    for _ in range(5):
        log.commit()
    assert texts.catch_up(log.head)
    assert texts.status() == Status(0, 0), "an index without a text has no place for a marker"
    log.add("boston")
    for expected in (6, 6, 6, 6, 10, 10, 10, 10, 14):
        assert texts.catch_up(log.head)
        assert texts.status() == Status(expected, 1)
        log.commit()
    assert seqs(follower(tmp_path, log), log, "boston") == [6]
    assert texts.catch_up(log.head)


@pytest.mark.parametrize("length", [10, 600])
@SHORT
def test_an_index_of_another_store_is_left_aside_and_made_anew(tmp_path: Path, length: int) -> None:
    theirs, ours = Log(), Log()
    theirs.add(*["boston in their words"] * length)
    follower(tmp_path, theirs, b"store-2").catch_up(theirs.head)
    ours.add(*["boston in ours"] * length)
    texts = follower(tmp_path, ours)
    assert seqs(texts, ours, "boston") == list(range(1, length + 1))
    assert seqs(texts, ours, "their words") == []
    assert texts.catch_up(ours.head)
    assert texts.status() == Status(length, length)
    assert seqs(follower(tmp_path, ours), ours, "words") == []


@SHORT
def test_an_index_of_another_history_of_this_store_is_made_anew(tmp_path: Path) -> None:
    lost, kept = Log(branch=b"lost"), Log(branch=b"kept")
    lost.add("boston", "paris", *["rain"] * 8)
    follower(tmp_path, lost).catch_up(10)
    kept.add("boston", "london", *["rain"] * 7)
    texts = follower(tmp_path, kept)
    assert (seqs(texts, kept, "london"), seqs(texts, kept, "paris")) == ([2], [])
    kept.add("rain")
    assert texts.catch_up(10)
    assert texts.status() == Status(10, 10)
    assert (seqs(texts, kept, "london"), seqs(texts, kept, "paris")) == ([2], [])


@SHORT
def test_an_index_ahead_of_a_restored_store_is_made_anew(tmp_path: Path) -> None:
    log, restored = Log(), Log()
    log.add("boston", *["rain"] * 18, "paris")
    follower(tmp_path, log).catch_up(20)
    restored.add("boston", *["rain"] * 18)
    texts = follower(tmp_path, restored)
    assert (seqs(texts, restored, "boston"), seqs(texts, restored, "paris")) == ([1], [])
    assert texts.catch_up(19)
    assert texts.status() == Status(10, 10)


def test_a_process_that_does_not_get_the_lock_searches_the_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catchup, "PATIENT_LOOKS", 2)
    monkeypatch.setattr(catchup, "REBUILD_PATIENCE_SECONDS", 0.05)
    log = Log()
    texts = follower(tmp_path, log)
    log.add(*["boston"] * 600)
    (tmp_path / "indexes").mkdir()
    with FileLock(tmp_path / "indexes" / "text.lock"):
        assert not texts.catch_up(log.head)
        assert len(seqs(texts, log, "boston")) == 600
        log.add("boston")
        assert len(seqs(texts, log, "boston")) == 601
        with pytest.raises(WriterBusy):
            texts.rebuild(log.head)
    assert texts.catch_up(log.head)
    assert texts.status() == Status(576, 576)


def test_a_folder_that_cannot_be_written_slows_reads_and_does_not_fail_them(tmp_path: Path) -> None:
    (tmp_path / "indexes").write_text("a file where a folder should be")
    log = Log()
    texts = follower(tmp_path, log)
    log.add(*["boston"] * 600)
    assert len(seqs(texts, log, "boston")) == 600
    assert not texts.catch_up(log.head)
    with pytest.raises(UnavailableError, match="permissions") as caught:
        texts.rebuild(log.head)
    assert caught.type is UnavailableError, "no other process has it, so that waiting is of no use"
    assert texts.status() == Status(0, 0)


def test_errors_of_the_log_reach_the_caller(tmp_path: Path) -> None:
    def broken(after: int, through: int) -> Iterator[TextDocument]:
        raise ValueError(f"({after}, {through}] is damaged")

    texts = TextFollower(tmp_path / "text", STORE, broken, lambda seq: b"")
    with pytest.raises(ValueError, match="is damaged"):
        texts.search("boston", head=3, limit=1)
    with pytest.raises(ValueError, match="is damaged"):
        texts.catch_up(3)


def test_rebuilding_gives_the_same_answers(tmp_path: Path) -> None:
    log = Log()
    texts, other = follower(tmp_path, log), follower(tmp_path, log)
    log.add(*[f"boston day {day % 7}" for day in range(700)])
    texts.catch_up(400)
    other.catch_up(700)
    before = other.search("boston day 3", head=log.head, limit=2000)
    texts.rebuild(log.head)
    assert texts.status() == Status(640, 640)
    for each in (texts, other):
        assert each.search("boston day 3", head=log.head, limit=2000) == before


def test_a_closed_follower_opens_again(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    log.add("boston")
    texts.catch_up(1)
    texts.close()
    texts.close()
    assert seqs(texts, log, "boston") == [1]


def test_threads_share_a_follower_while_the_log_grows(tmp_path: Path) -> None:
    log = Log()
    texts = follower(tmp_path, log)
    log.add(*["boston"] * 100)
    problems: list[object] = []

    def read() -> None:
        for _ in range(25):
            head = log.head
            found = [hit.seq for hit in texts.search("boston", head=head, limit=5000)]
            if sorted(found) != list(range(1, head + 1)):
                problems.append((head, found))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(15):
        log.add(*["boston"] * 30)
        texts.catch_up(log.head - 40)
    for thread in threads:
        thread.join()
    assert problems == []


CHILD = """
import sys
from pathlib import Path
from worlddb.projections.indexes.catchup import TextFollower
from worlddb.projections.indexes.fields import TextDocument

folder, first, last, step = Path(sys.argv[1]), *map(int, sys.argv[2:])
def feed(after, through):
    return (TextDocument(seq, 1, seq, "", f"boston day {seq % 10}") for seq in range(after + 1, through + 1))
texts = TextFollower(folder, b"store-1", feed, lambda seq: b"%d" % seq if seq <= last else None)
for head in range(first, last + 1, step):
    texts.catch_up(head, wait_seconds=0.5)
    print(head, flush=True)
    hits = texts.search("boston", head=head, limit=last)
    assert sorted(hit.seq for hit in hits) == list(range(1, head + 1)), (head, len(hits))
"""


def child(folder: Path, first: int, last: int, step: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(folder), str(first), str(last), str(step)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_share_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    for each in [child(folder, 100, 1500, 100), child(folder, 130, 1500, 137)]:
        _, complaints = each.communicate(timeout=180)
        assert (each.returncode, complaints) == (0, "")
    shared = TextIndex.open(folder)
    assert shared.marker is not None
    assert shared.count == shared.marker.seq >= 1400
    hits = shared.search("boston", limit=5000)
    assert sorted(hit.seq for hit in hits) == list(range(1, shared.count + 1))


def test_a_process_killed_while_it_catches_up_leaves_whole_batches_and_no_lock(tmp_path: Path) -> None:
    log = Log()
    log.add(*["boston"] * 100_000)
    folder = tmp_path / "indexes" / "text"
    for _ in range(3):
        with child(folder, 200, 100_000, 200) as killed:
            assert killed.stdout is not None
            for _ in range(3):
                assert killed.stdout.readline()
            killed.kill()
        left = TextIndex.open(folder)
        assert left.marker is not None
        assert left.count == left.marker.seq >= 512
    texts, head = follower(tmp_path, log), left.count + 500
    assert texts.catch_up(head)
    assert texts.status() == Status(head - head % 64, head - head % 64)


def _texts(db: Database, count: int) -> None:
    with db.batch() as tx:
        for number in range(count):
            tx.create("Fact", f"fact {number}", content=f"water {number % 7} of the river {number}", resolve=False)


def test_the_index_follows_what_a_handle_writes_and_answers_as_one_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "FOLLOWED_EVENTS", 100)
    monkeypatch.setattr(catchup, "STEP_DOCUMENTS", 64)
    with worlddb.open(tmp_path / "store") as db:
        for _ in range(4):
            _texts(db, 60)
        db.create("Fact", "the last one")
    with worlddb.open(tmp_path / "store") as db:
        followed = db.stats()["checkpoints"]["text"]
        assert followed == db.head().seq - 1, "all but the last text, which no boundary follows"
        asked = "water 3 of the last river"
        before = [(hit.ref, hit.score) for hit in db.view().recall(asked, k=50).hits]
        assert db.stats()["checkpoints"]["text"] == followed, "nothing was left for a search to do"
        db.rebuild("text")
        assert [(hit.ref, hit.score) for hit in db.view().recall(asked, k=50).hits] == before


def test_what_a_handle_wrote_is_indexed_once_it_writes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "FOLLOWED_AT_LULL", 100)
    with worlddb.open(tmp_path / "store") as db:
        _texts(db, 200)
        assert db._reader._behind is not None and db._reader._behind.wait(60)
        assert db.stats()["checkpoints"]["text"] == db.head().seq, "a boundary follows so many texts"
        monkeypatch.setattr(catchup.TextFollower, "_advance", lambda *given: 1 / 0)
        assert db.view().recall("water of the river", k=1).hits, "nothing was left for a search to do"


def test_a_search_beside_the_thread_finds_the_last_text_and_waits_for_a_step_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "FOLLOWED_EVENTS", 100)
    monkeypatch.setattr(catchup, "STEP_DOCUMENTS", 64)
    steps: list[int] = []
    advance = catchup.TextFollower._advance

    def counted(self: catchup.TextFollower, index: Any, reading: Any, documents: int) -> int:
        steps.append(documents)
        return advance(self, index, reading, documents)

    monkeypatch.setattr(catchup.TextFollower, "_advance", counted)
    with worlddb.open(tmp_path / "store") as db:
        for number in range(6):
            _texts(db, 130)
            db.create("Fact", f"finale {number}")
            assert db.view().recall(f"finale {number}", k=1).hits[0].name == f"finale {number}"
        monkeypatch.setattr(catchup.TextFollower, "_advance", lambda *given: 1 / 0)
        _texts(db, 130)
        assert db._reader._behind is not None
        db._reader._behind.wait(60)
        assert isinstance(db._reader._behind.error, ZeroDivisionError), "what goes wrong there is no search's matter"
        monkeypatch.setattr(catchup.TextFollower, "_advance", counted)
        assert len(db.view().recall("water", k=1_000).hits) == 7 * 130
        assert db._reader._behind._thread is None, "with nothing to do there is no thread"
    assert 64 in steps


def test_an_index_is_fed_few_texts_a_transaction_and_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with worlddb.open(tmp_path / "store") as db:
        for count in (1, 5, 9, 2, 2, 1):
            _texts(db, count)
        head = db.head().seq
        whole = list(db._reader.text._feed(0, head))
        monkeypatch.setattr(store, "FIRST_ROWS", 2)
        monkeypatch.setattr(store, "FEED_ROWS", 3)
        opened = 0
        snapshot = store.StoreReader.snapshot

        def counted(self: store.StoreReader) -> Any:
            nonlocal opened
            opened += 1
            return snapshot(self)

        monkeypatch.setattr(store.StoreReader, "snapshot", counted)
        for after in range(head):
            assert list(db._reader.text._feed(after, head)) == [each for each in whole if each.seq > after]
        opened = 0
        assert next(iter(db._reader.text._feed(0, head))) == whole[0]
        assert (len(whole), opened) == (20, 1)
        list(db._reader.text._feed(0, head))
        assert opened == 1 + 5


@SHORT
def test_few_texts_in_several_segments_are_gathered_in_one_that_answers_alike(tmp_path: Path) -> None:
    log, folder = Log(), tmp_path / "text"
    follower = TextFollower(folder, STORE, log.feed, log.chain)
    for size in (60, 20, 10):
        log.add(*(f"lamp {number} of {size}" + " and chair" * (number % 3) for number in range(size)))
        assert follower.catch_up(log.head)
    before = segment_sizes(folder), follower.search("lamp chair 7", head=log.head, limit=90)
    assert sorted(before[0]) == [10, 20, 60]
    with FileLock(folder.parent / f"{folder.name}.lock"):
        follower.gather()
    assert segment_sizes(folder) == before[0], "another process is writing the index"
    follower.gather()
    assert (segment_sizes(folder), follower.search("lamp chair 7", head=log.head, limit=90)) == ([90], before[1])
    assert follower.status() == Status(90, 90)
    log.add(*("lamp" for _ in range(20)))
    assert follower.catch_up(log.head)
    follower.gather()
    assert sorted(segment_sizes(folder)) == [20, 90], "too few are new to write all again"
    assert len(follower.search("lamp", head=log.head, limit=200)) == 110


@SHORT
def test_nothing_is_gathered_from_what_somebody_else_wrote_or_of_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, folder = Log(), tmp_path / "text"
    for _ in range(2):
        log.add(*("lamp" for _ in range(10)))
        assert TextFollower(folder, STORE, log.feed, log.chain).catch_up(log.head)
    TextFollower(folder, b"store-2", log.feed, log.chain).gather()
    assert segment_sizes(folder) == [10, 10]
    for most in ({"GATHERED_AT_MOST": 19}, {"GATHERED_BYTES": 1_000}):
        with monkeypatch.context() as patch:
            patch.setattr(catchup, *next(iter(most.items())))
            TextFollower(folder, STORE, log.feed, log.chain).gather()
        assert segment_sizes(folder) == [10, 10], most
