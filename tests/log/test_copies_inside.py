"""Refuses copies inside a store, and says so when a store has lost its data file."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.running import LocalRunner, small_store
from worlddb import DamagedStore, InputError


@pytest.fixture
def store(tmp_path: Path) -> Path:
    small_store(tmp_path / "store")
    return tmp_path / "store"


def test_no_copy_goes_into_the_directory_of_its_store(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store)
    before = sorted(store.rglob("*"))
    with worlddb.open(store) as db:
        for inside in (store / "copy", store / "indexes" / "deep" / "copy", tmp_path / "link" / "copy"):
            for make in (db.replay, db.backup, lambda to: db.export(None, to), lambda to: db.export_jsonl(None, to)):
                with pytest.raises(InputError, match="lies inside the store"):
                    make(inside)
        db.backup(tmp_path / "backup")
        with pytest.raises(InputError, match="lies inside the store"):
            worlddb.restore(tmp_path / "backup", tmp_path / "backup" / "restored")
    assert {path.name for path in store.rglob("*")} - {path.name for path in before} <= {"copies.jsonl"}


def test_a_store_whose_data_file_is_gone_is_damaged_and_not_nowhere(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (store / "data.mdb").unlink()
    for create in (True, False):
        with pytest.raises(DamagedStore, match=r"data\.mdb is gone") as raised:
            worlddb.open(store, create=create)
        assert raised.value.remedy == "Restore the store from a backup"
    run = LocalRunner(capsys, store)
    assert (run("show", "x").code, run("show", "x").error) == (4, "damaged_store")
    assert run("create", "Note", "n").code == 4
    assert not (store / "data.mdb").exists()
