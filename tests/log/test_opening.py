"""Opening a directory in which something is going on."""

from __future__ import annotations

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
