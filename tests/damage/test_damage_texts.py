"""Changes a text in place: no reader uses it, and every one names its commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import worlddb
from tests.support.faults import forge
from worlddb import Database

TEXT, INSTEAD = "the team sits in Bern", "the team sits in Rome"


@pytest.fixture
def changed(tmp_path: Path) -> tuple[Path, str, int]:
    """A store with one changed text: its folder, the world's reference, and the commit."""
    store = tmp_path / "store"
    with worlddb.open(store, author="x") as db:
        db.create("Topic", "Search")
        ref = db.create("Entity", "Team", content=TEXT)
        seq = db.head().seq
        db.create("Topic", "Another")
    held = [(key, value) for key, value in forge.pairs(store) if TEXT.encode() in value and key[0] == forge.BLOBS]
    forge.rewrite(store, [(key, value.replace(TEXT.encode(), INSTEAD.encode())) for key, value in held])
    assert held
    return store, ref, seq


READERS: dict[str, Callable[[Database, str, Path], object]] = {
    "get": lambda db, ref, into: db.view().get(ref),
    "recall": lambda db, ref, into: db.view().recall("where does the team sit?"),
    "an exact recall": lambda db, ref, into: db.view().recall("where does the team sit?", exact=True),
    "children": lambda db, ref, into: list(db.view().children()),
    "history": lambda db, ref, into: db.view().history(ref),
    "the journal": lambda db, ref, into: list(db.log()),
    "a bundle": lambda db, ref, into: db.export(ref, into / "bundle"),
    "JSON Lines": lambda db, ref, into: db.export_jsonl(ref, into / "lines"),
    "a proof with its text": lambda db, ref, into: db.prove(ref, with_text=True),
    "rebuild": lambda db, ref, into: db.rebuild(),
    "replay": lambda db, ref, into: db.replay(into=into / "replayed"),
    "a step of a replay": lambda db, ref, into: list(db.steps()),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_changed_text_is_never_used(reader: str, changed: tuple[Path, str, int], tmp_path: Path) -> None:
    store, ref, seq = changed
    with worlddb.open(store, author="x") as db, pytest.raises(worlddb.DamagedStore) as told:
        READERS[reader](db, ref, tmp_path)
    assert told.value.details["seq"] == seq, "the commit is named"
    assert INSTEAD not in str(told.value)


def test_what_was_not_changed_is_read_as_before(changed: tuple[Path, str, int]) -> None:
    store, ref, _ = changed
    with worlddb.open(store, author="x") as db:
        assert db.view().find(name="Another")
        assert not db.verify().ok
        assert INSTEAD not in db.prove(ref)
