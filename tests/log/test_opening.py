"""Opening a directory in which something is going on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import worlddb


def test_a_store_that_another_process_makes_between_two_looks_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two processes raced to make one store. The slower one saw no data file, then listed the directory, found the data
    # file that the quicker one had made meanwhile, and took it for somebody else's.
    with worlddb.open(tmp_path / "store") as db:
        root = db.head().root
    looked: list[Path] = []
    exists = Path.exists

    def not_yet(path: Path, **options: bool) -> bool:
        if path.name == "data.mdb" and not looked:
            looked.append(path)
            return False
        return exists(path, **options)

    monkeypatch.setattr(Path, "exists", not_yet)
    with worlddb.open(tmp_path / "store") as db:
        assert db.head().root == root
    assert looked


def test_a_directory_with_other_things_in_it_is_still_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear all")
    with pytest.raises(worlddb.NotAStore):
        worlddb.open(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("left", ["writer.lock", ".new-1"])
def test_what_an_interrupted_backup_leaves_is_named_and_a_repeated_one_goes_on(tmp_path: Path, left: str) -> None:
    """It was called no store, as an empty directory is."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / left).touch()
    with pytest.raises(worlddb.NotAStore, match="interrupted start, backup or restore leaves: that can be run again"):
        worlddb.open(tmp_path / "copy", create=False)
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        seq = db.create("Fact", "tea").seq
        assert db.backup(tmp_path / "copy").seq == seq
    (tmp_path / "empty").mkdir()
    with pytest.raises(worlddb.NotAStore) as told:
        worlddb.open(tmp_path / "empty", create=False)
    assert "can be run again" not in told.value.message


@pytest.mark.parametrize("name", ["data.mdb", "writer.json", "high-water", "copies.jsonl"])
def test_a_pipe_among_the_files_of_a_store_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """Whoever opened it waited for ever."""
    worlddb.open(tmp_path, embedder=None).close()
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(worlddb.NotAStore, match="not a regular file"):
        worlddb.open(tmp_path)
