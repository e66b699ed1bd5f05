"""A store that is moved or deleted while open acknowledges nothing that is lost (law 4)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.tools.mcp.test_mcp_tools import call
from worlddb import Database, UnavailableError
from worlddb.tools.mcp.session import Session

WRITES: dict[str, Callable[[Database, str], Any]] = {
    "create": lambda db, ref: db.create("Fact", "", content="lost"),
    "revise": lambda db, ref: db.revise(ref, content="lost"),
    "batch": lambda db, ref: _batch(db),
    "ingest": lambda db, ref: db.ingest([{"speaker": "Ana", "text": "lost"}], conversation="talk"),
    "erase": lambda db, ref: db.erase(ref, reason="gone"),
    "embed": lambda db, ref: db.embed(),
    "recluster": lambda db, ref: db.recluster(),
    "memory_write": lambda db, ref: call(Session(db), "memory_write", text="lost", user_id="ada"),
}


def _batch(db: Database) -> None:
    with db.batch() as tx:
        tx.create("Fact", "", content="lost")


@pytest.mark.parametrize("how", ["moved", "deleted"])
def test_what_would_be_written_to_a_store_that_is_gone_is_refused_and_its_directory_not_made_again(
    tmp_path: Path, how: str
) -> None:
    """It was acknowledged, went into a file that had no name any more, and left a directory of locks behind."""
    store, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    with worlddb.open(store, author="a") as db:
        ref = db.create("Fact", "", content="kept").ref
        head = db.head()
        store.rename(elsewhere)
        for name, write in WRITES.items():
            with pytest.raises(UnavailableError, match="is gone: the store was moved or deleted"):
                write(db, ref)
                pytest.fail(f"{name} was acknowledged")
            assert not store.exists(), f"{name} made it again"
        found = db.view().get(ref)
        assert found is not None and found.content == "kept" and db.head() == head, "what is open is read on"
        if how == "moved":
            elsewhere.rename(store)
            assert db.create("Fact", "", content="again").seq == head.seq + 1
            assert db.verify(deep=True).ok
        else:
            shutil.rmtree(elsewhere)
            with pytest.raises(UnavailableError):
                db.create("Fact", "", content="lost")
    if how == "moved":
        with worlddb.open(store, create=False) as db:
            assert [world.content for world in db.view().find(type="Fact")] == ["kept", "again"]


def measure(texts: Sequence[str]) -> list[list[float]]:
    return [[len(text), 1.0] for text in texts]


def test_a_recall_in_a_store_that_is_gone_leaves_no_index_of_its_texts_behind(tmp_path: Path) -> None:
    """It made the directory again, with an index that no erasure of the moved store would have reached."""
    store = tmp_path / "store"
    with worlddb.open(store, embedder=worlddb.CallableEmbedder(measure, "lengths/1")) as db:
        top = db.create("Topic", "").ref
        with db.batch() as tx:
            for number in range(300):
                tx.create("Fact", "", content=f"fact {number} of Porto", world=top)
        db.embed()
        store.rename(tmp_path / "elsewhere")
        for within in (None, top):
            assert db.view().recall("facts of Porto", world=within).hits
    assert not store.exists()


def test_a_data_file_that_alone_is_gone_is_not_made_again(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="a") as db:
        db.create("Fact", "", content="kept")
        data = tmp_path / "store" / "data.mdb"
        data.rename(tmp_path / "data.mdb")
        with pytest.raises(UnavailableError, match=r"data\.mdb is gone"):
            db.create("Fact", "", content="lost")
        assert not data.exists()
