"""Whatever takes the place of a store that is open, its handles answer nothing of it and write nothing into it.

They went on with it without a word: the head said one store's id, and reads and writes went to the other. With an older
copy of the same store the head went back, and commit numbers were given out twice.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import worlddb
from tests.tools.mcp.test_mcp_tools import call
from worlddb import DamagedStore, Database, StoreError, UnavailableError
from worlddb.log.store import environment, shared_environment
from worlddb.projections.indexes import tail
from worlddb.tools.mcp.session import Session

OTHER, OLDER, FORKED = "other", "older", "forked"


@pytest.fixture
def place(memory: Path) -> Path:
    """A store of 8 commits behind a link, and beside it another one, an older copy, and one that has parted since."""
    folder = memory / "place"
    folder.mkdir()
    fill(folder / "store", 5)
    shutil.copytree(folder / "store", folder / OLDER)
    shutil.copytree(folder / "store", folder / FORKED)
    fill(folder / "store", 8)
    fill(folder / FORKED, 20, "parted")
    fill(folder / OTHER, 20, "other")
    (folder / "link").symlink_to("store")
    return folder


def fill(store: Path, commits: int, text: str = "tea") -> None:
    with worlddb.open(store, author="a", embedder=None) as db:
        while db.head().seq < commits:
            db.create("Fact", f"{text} {db.head().seq + 1}", content=f"The {text} was cold.")
        db.catch_up()


def data_moved(place: Path, by: str) -> Path:
    os.replace(place / by / "data.mdb", place / "store" / "data.mdb")
    return place / "store"


def data_copied_in_place(place: Path, by: str) -> Path:
    shutil.copyfile(place / by / "data.mdb", place / "store" / "data.mdb")
    return place / "store"


def folder_swapped(place: Path, by: str) -> Path:
    (place / "store").rename(place / "away")
    (place / by).rename(place / "store")
    return place / "store"


def folder_deleted_and_made_again(place: Path, by: str) -> Path:
    shutil.rmtree(place / "store")
    shutil.copytree(place / by, place / "store")
    return place / "store"


def link_retargeted(place: Path, by: str) -> Path:
    (place / "link").unlink()
    (place / "link").symlink_to(by)
    return place / by


HOW: list[Callable[[Path, str], Path]] = [
    data_moved,
    data_copied_in_place,
    folder_swapped,
    folder_deleted_and_made_again,
    link_retargeted,
]


def uses(db: Database, session: Session, held: worlddb.View, ref: str) -> dict[str, Callable[[], Any]]:
    """Everything that reads or writes, through what was there before and what is made now."""
    return {
        "held get": lambda: held.get(ref),
        "held find": lambda: held.find(type="Fact"),
        "held recall": lambda: held.recall("tea"),
        "held hash": held.hash,
        "new view": lambda: db.view().find(type="Fact"),
        "view of a commit": lambda: db.view(seq=3).children(),
        "head": db.head,
        "log": lambda: list(db.log()),
        "verify": db.verify,
        "verify deep": lambda: db.verify(deep=True),
        "export": lambda: db.export(ref, db.path.parent / "export.bundle"),
        "snapshot": db.snapshot,
        "replay": lambda: db.replay(db.path.parent / "replay"),
        "create": lambda: db.create("Fact", "lost"),
        "revise": lambda: db.revise(ref, content="lost"),
        "batch": lambda: batch(db),
        "ingest": lambda: db.ingest([{"speaker": "Ana", "text": "lost"}], conversation="talk"),
        "erase": lambda: db.erase(ref, reason="lost"),
        "embed": db.embed,
        "recluster": db.recluster,
        "catch up": db.catch_up,
        "rebuild": db.rebuild,
        "backup": lambda: db.backup(db.path.parent / "backup"),
        "memory_recall": lambda: call(session, "memory_recall", query="tea"),
        "memory_write": lambda: call(session, "memory_write", text="lost", user_id="ada"),
    }


def batch(db: Database) -> None:
    with db.batch() as tx:
        tx.create("Fact", "lost")


def contents(store: Path) -> dict[str, bytes]:
    """All that is in a store's folder, but for the table in which LMDB's readers enter themselves."""
    files = [file for file in store.rglob("*") if file.is_file() and file.name != "lock.mdb"]
    return {str(file.relative_to(store)): file.read_bytes() for file in files}


@pytest.mark.parametrize("by", [OTHER, OLDER, FORKED])
@pytest.mark.parametrize("how", HOW)
def test_a_store_that_takes_the_place_of_an_open_one_is_neither_read_nor_written(
    place: Path, how: Callable[[Path, str], Path], by: str
) -> None:
    with worlddb.open(place / "link", author="a", embedder=None) as db:
        ref = db.view().find(type="Fact")[0].ref
        held, session = db.view(), Session(db)
        assert held.recall("tea")
        now = how(place, by)
        before = contents(now)
        for name, use in uses(db, session, held, ref).items():
            with pytest.raises((UnavailableError, DamagedStore), match=r"another store|another file"):
                use()
                pytest.fail(f"{name} went to what is there now")
            assert contents(now) == before, name
        assert not any((place / name).exists() for name in ("backup", "export.bundle", "replay"))


@pytest.mark.parametrize("how", [data_moved, folder_swapped, link_retargeted])
def test_the_background_thread_ends_its_work_when_another_store_takes_the_place(
    place: Path, how: Callable[[Path, str], Path]
) -> None:
    with worlddb.open(place / "link", author="a", background=True) as db:
        db.create("Fact", "one more")
        worker = db._due.thread
        assert worker is not None and worker.wait(30)
        assert not isinstance(worker.error, UnavailableError)
        now = how(place, OTHER)
        before = contents(now)
        worker.nudge()
        assert worker.wait(30)
        told = str(worker.error)
        assert "is not the file that was opened" in told
        assert contents(now) == before


def test_what_is_put_back_is_gone_on_with(place: Path) -> None:
    store = place / "store"
    with worlddb.open(store, author="a", embedder=None) as db:
        held = db.view()
        folder_swapped(place, OTHER)
        with pytest.raises(UnavailableError):
            held.hash()
        store.rename(place / OTHER)
        (place / "away").rename(store)
        assert held.hash() == db.view().hash()
        assert db.create("Fact", "again").seq == 9
        # A copy of the whole history is the same store: an erasure puts one there, too.
        shutil.copyfile(store / "data.mdb", place / "same")
        os.replace(place / "same", store / "data.mdb")
        assert held.hash() and db.create("Fact", "again").seq == 10
        # What another process committed is in the old file, and not in this copy.
        shutil.copyfile(store / "data.mdb", place / "same")
        with worlddb.open(store, author="b", embedder=None) as other:
            other.create("Fact", "of another handle")
        os.replace(place / "same", store / "data.mdb")
        with pytest.raises(UnavailableError, match="lacks its commit 11"):
            held.hash()


def test_what_is_there_now_is_opened_beside_the_handle_of_what_was_there(place: Path) -> None:
    store = place / "store"
    with worlddb.open(store, author="a", embedder=None) as db:
        first = db.head().store_id
        folder_swapped(place, OTHER)
        with worlddb.open(store, author="a", embedder=None) as new:
            assert new.head().store_id != first
            assert new.create("Fact", "new").seq == 21
            with pytest.raises(UnavailableError):
                db.create("Fact", "lost")
            with pytest.raises(UnavailableError, match="Close that handle first"):
                worlddb.open(place / "away")
        shutil.rmtree(store)
        with worlddb.open(store, author="a", embedder=None) as made:
            assert made.create("Fact", "first").seq == 2
    with worlddb.open(place / "away", author="a", embedder=None) as moved:
        assert moved.head()[1:2] == moved.head()[1:2] and moved.head().store_id == first
        assert moved.create("Fact", "on").seq == 9
    assert not shared_environment._displaced


def test_a_data_file_alone_that_was_replaced_is_opened_when_the_old_handle_is_closed(place: Path) -> None:
    store = place / "store"
    with worlddb.open(store, author="a", embedder=None) as db:
        data_moved(place, OTHER)
        (store / "high-water").unlink()
        with pytest.raises(UnavailableError, match="Close that handle first"):
            worlddb.open(store)
        with pytest.raises(UnavailableError):
            db.head()
    with worlddb.open(store, author="a", embedder=None) as db:
        assert db.head().seq == 20 and db.verify(deep=True).ok


def test_a_handle_on_a_relative_path_stays_with_its_store_when_the_working_directory_changes(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "elsewhere").mkdir()
    shutil.copytree(place / OTHER, place / "elsewhere" / "store")
    monkeypatch.chdir(place)
    with worlddb.open("store", author="a", embedder=None) as db:
        before, first = contents(place / "elsewhere" / "store"), db.head().store_id
        monkeypatch.chdir(place / "elsewhere")
        assert db.create("Fact", "here").seq == 9
        assert db.view().recall("tea") and db.head().store_id == first
        db.bookmark("here")
        db.replay(place / "replayed")
        assert (place / "store" / "copies.jsonl").exists()
        assert contents(place / "elsewhere" / "store") == before


@pytest.mark.parametrize("by", [OTHER, OLDER])
def test_an_index_that_was_exchanged_under_an_open_handle_hides_and_adds_nothing(
    place: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 2)
    for name in ("store", by):
        with worlddb.open(place / name, author="a", embedder=None) as db:
            db.catch_up()
    with worlddb.open(place / "store", author="a", embedder=None) as db:
        expected = {hit.ref for hit in db.view().recall("tea", k=50)}
        db.create("Fact", "tea")
        db._reader.close()
        shutil.rmtree(place / "store" / "indexes")
        shutil.copytree(place / by / "indexes", place / "store" / "indexes")
        found = {hit.ref for hit in db.view().recall("tea", k=50)}
        assert len(found) == len(expected) + 1 and expected < found


def test_a_file_that_is_no_store_in_the_place_of_one_is_refused(place: Path) -> None:
    with worlddb.open(place / "store", author="a", embedder=None) as db:
        for stored in (b"", b"rubbish" * 5000, (place / "store" / "data.mdb").read_bytes()[:9000]):
            (place / "new").write_bytes(stored)
            os.replace(place / "new", place / "store" / "data.mdb")
            for use in (db.head, lambda: db.create("Fact", "lost")):
                with pytest.raises((UnavailableError, StoreError)):
                    use()
            assert (place / "store" / "data.mdb").read_bytes() == stored


def test_an_interrupt_at_any_call_leaves_a_store_that_follows_an_erasure(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two calls Ctrl-C left a transaction counted that there was not, and no erasure was followed again."""
    monkeypatch.setattr(shared_environment, "_PATIENCE_SECONDS", 0.2)
    files = {shared_environment.__file__, environment.__file__}
    left, reached = 0, 0

    def interrupt(frame: FrameType, event: str, _: object) -> None:
        # Signals are looked for where a function begins, and after a call of one that is not of Python.
        nonlocal left, reached
        if event in ("call", "c_return") and frame.f_code.co_filename in files:
            left -= 1
            reached += not left
            if not left:
                raise KeyboardInterrupt

    def interrupted(work: Callable[[], object]) -> Iterator[int]:
        nonlocal left, reached
        for at in itertools.count(1):
            left, reached = at, 0
            sys.setprofile(interrupt)
            try:
                work()
            except KeyboardInterrupt:
                pass
            finally:
                sys.setprofile(None)
            if not reached:
                return
            yield at

    with worlddb.open(memory / "store", author="a", embedder=None) as db, worlddb.open(memory / "store") as reader:
        kept = db.create("Fact", "kept").ref
        works = (lambda: reader.view().get(kept), lambda: db.create("Fact", "new"))
        assert all(max(interrupted(work)) > 15 for work in works)
        for at in interrupted(lambda: reader.view().get(kept)):
            # What is read next is on the file that the erasure put in the old one's place.
            db.erase(db.create("Fact", f"erased {at}").ref, reason="asked")
        for found in (reader, db):
            world = found.view().get(kept)
            assert world is not None and world.name == "kept"
        assert db.verify(deep=True).ok
