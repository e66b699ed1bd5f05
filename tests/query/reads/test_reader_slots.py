"""A read that fails gives its slot among LMDB's readers back, whoever keeps the error."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.running import small_store
from worlddb import Database, View

NOWHERE = "0" * 32

READS: dict[str, Callable[[Database, View], Any]] = {
    "get": lambda db, view: view.get(NOWHERE),
    "edges": lambda db, view: view.edges(NOWHERE),
    "edge": lambda db, view: view.edge("1" * 64),
    "children": lambda db, view: list(view.children(NOWHERE)),
    "containers": lambda db, view: list(view.containers(NOWHERE)),
    "history": lambda db, view: view.history(NOWHERE),
    "recall": lambda db, view: view.recall("x", world=NOWHERE),
    "query": lambda db, view: view.query(text="x", world=NOWHERE).run(),
    "proposal": lambda db, view: view.proposal("1" * 64),
    "confined": lambda db, view: view.confined(NOWHERE),
    "a view": lambda db, view: db.view(world=NOWHERE),
    "a bookmark": lambda db, view: db.view(bookmark="nowhere"),
    "log": lambda db, view: list(db.log(ref=NOWHERE)),
    "prove": lambda db, view: db.prove(NOWHERE),
    "export": lambda db, view: list(db.export_lines(NOWHERE)),
    "a plan": lambda db, view: db.erasure_plan(NOWHERE),
    "a receipt": lambda db, view: db.erasure_receipt(1),
    "the caller's own": lambda db, view: failing(db),
}


def failing(db: Database) -> None:
    with db._env.read() as txn, txn.cursor() as cursor:
        for _ in cursor:
            raise KeyError("of the caller")


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def slots(db: Database) -> int:
    """How many slots are taken; the first line names the columns."""
    readers: str = db._env._shared.env.readers()
    return readers.count("\n") - 1 if "\n" in readers else 0


@pytest.mark.usefixtures("without_collector")
def test_failed_reads_leave_no_reader_behind(tmp_path: Path) -> None:
    """With the cycle collector off, a thousand failed reads of a confined view filled the slots of all processes."""
    small_store(tmp_path / "store")
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        top = next(world for world in db.view().children() if list(db.view().children(world)))
        kept: list[Exception] = []
        for name, read in READS.items():
            for view in (db.view(), db.view(world=top)):
                for _ in range(30):
                    try:
                        read(db, view)
                    except Exception as error:
                        kept.append(error)
                assert slots(db) <= 1, name
        assert len(kept) == 60 * len(READS), "each of them fails"
        assert isinstance(kept[-1], KeyError)


@pytest.mark.usefixtures("without_collector")
def test_reads_that_find_the_store_replaced_leave_no_reader_behind(tmp_path: Path) -> None:
    small_store(tmp_path / "store")
    shutil.copytree(tmp_path / "store", tmp_path / "older")
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        db.create("Note", "later")
        older = (tmp_path / "older" / "data.mdb").read_bytes()
        with (tmp_path / "store" / "data.mdb").open("r+b") as file:
            file.write(older)
        kept = []
        for _ in range(30):
            with pytest.raises(worlddb.WorldDBError) as raised:
                db.head()
            kept.append(raised.value)
        assert slots(db) <= 1


def test_who_goes_on_reading_after_the_end_gets_an_error(tmp_path: Path) -> None:
    small_store(tmp_path / "store")
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        with db._reader.snapshot() as snapshot:
            assert snapshot.log.head().seq
        with pytest.raises(Exception, match="ended"):
            snapshot.log.head()
