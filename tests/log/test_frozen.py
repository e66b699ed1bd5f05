"""Upgrades, reads, verifies, extends and rebuilds stores of every released format."""

from __future__ import annotations

import json
import lzma
import random
import tempfile
from pathlib import Path
from typing import Any

import lmdb
import pytest

import worlddb
from tests.support.frozen.make import HERE, Employs, answers, moments
from worlddb import DamagedStore, Database, OlderTables
from worlddb.log.model.events import FORMAT

STORES = sorted(path.name.split(".")[0] for path in HERE.glob("format-*.mdb.xz"))
FORMATS = sorted({int(name.split("-")[1]) for name in STORES})
FLIPS = 60


def thawed(number: int | str, folder: Path) -> Path:
    """A copy of the store of a format, or of a name, in a folder."""
    name = number if isinstance(number, str) else f"format-{number}"
    folder.mkdir(parents=True)
    (folder / "data.mdb").write_bytes(lzma.decompress((HERE / f"{name}.mdb.xz").read_bytes()))
    return folder


def upgraded(number: int | str, folder: Path) -> Path:
    """A copy whose tables are of today."""
    store = thawed(number, folder)
    worlddb.upgrade(store, backup=folder.parent / f"{folder.name}.before")
    return store


def frozen_answers(number: int | str, of: str = "") -> Any:
    name = number if isinstance(number, str) else f"format-{number}"
    return json.loads((HERE / f"{name}{of}.json").read_text(encoding="utf-8"))


def open_store(folder: Path) -> Database:
    return worlddb.open(folder, create=False, author="later", embedder=None)


def test_there_is_a_frozen_store_of_every_format_and_each_is_small() -> None:
    assert list(range(1, FORMAT + 1)) == FORMATS
    assert sum(path.stat().st_size for path in HERE.glob("format-*")) < 100_000 * len(FORMATS)


@pytest.mark.parametrize("name", STORES)
def test_a_frozen_store_answers_as_it_did_at_every_commit_and_verifies(name: str, tmp_path: Path) -> None:
    with open_store(upgraded(name, tmp_path / "store")) as db:
        assert json.loads(json.dumps(answers(db))) == frozen_answers(name)
        assert moments(db) == frozen_answers(name, "-moments")
        assert db.verify().ok


def test_the_frozen_stores_hold_events_of_every_kind() -> None:
    kinds = {name: {entry.event for entry in log(name)} for name in STORES}
    first = {"created", "revised", "closed", "ended", "linked", "decided", "erased", "imported", "embedded"}
    assert kinds["format-1"] >= first | {"registered"}
    assert kinds["format-1-spans"] >= {"lost", "voided", "edge_lost", "closed", "ended", "imported"}
    assert not kinds["format-1"] & {"lost", "voided", "edge_lost"}


def log(name: str) -> list[worlddb.Entry]:
    with (
        tempfile.TemporaryDirectory(prefix="worlddb-test-") as folder,
        open_store(upgraded(name, Path(folder) / "store")) as db,
    ):
        return list(db.log())


@pytest.mark.parametrize("number", FORMATS)
def test_a_frozen_store_of_the_first_release_waits_for_its_upgrade(number: int, tmp_path: Path) -> None:
    store = thawed(number, tmp_path / "store")
    before = (store / "data.mdb").read_bytes()
    with pytest.raises(OlderTables, match="layout 3") as refused:
        open_store(store)
    assert "worlddb upgrade" in refused.value.remedy
    assert (store / "data.mdb").read_bytes() == before


@pytest.mark.parametrize("name", STORES)
def test_a_frozen_store_is_derived_again_from_its_log_alone(name: str, tmp_path: Path) -> None:
    with open_store(upgraded(name, tmp_path / "store")) as db:
        assert db.rebuild("tables").root == frozen_answers(name)["head"][2]
        assert db.verify(deep=True).ok
        assert json.loads(json.dumps(answers(db))) == frozen_answers(name)
        assert moments(db) == frozen_answers(name, "-moments")
        assert db.replay(tmp_path / "copy").matches_recorded
        assert db.backup(tmp_path / "backup").root == frozen_answers(name)["head"][2]


@pytest.mark.parametrize("number", FORMATS)
def test_a_frozen_store_is_written_to(number: int, tmp_path: Path) -> None:
    with open_store(upgraded(number, tmp_path / "store")) as db:
        before = db.head()
        known = db.create("Topic", "Search team", key="team")
        assert known.events == 0, "the keys of then are the keys of now"
        made = db.create("Note", "a later note", content="written by a later release", world=known)
        db.link(made, "refers_to", known)
        refused = db.create("Note", "x", content="to be erased")
        assert isinstance(refused.outcome, worlddb.Refused) and refused.outcome.code == "forbidden_text"
        db.erase(made, reason="request 8")
    with open_store(tmp_path / "store") as db:
        assert db.head().seq == before.seq + 3 and db.verify().ok
        assert db.rebuild("tables").root == db.head().root and db.verify(deep=True).ok
        assert db.verify(head=db.checkpoint(seq=before.seq)).head == "holds"


@pytest.mark.parametrize("name", STORES)
def test_what_a_frozen_store_decided_is_decided_alike_today(name: str, tmp_path: Path) -> None:
    with worlddb.open(upgraded(name, tmp_path / "store"), embedder=None, edge_types=[Employs()]) as db:
        found = db.redecide(edge_types=[Employs()])
        assert [(each.seq, each.code, each.reason) for each in found.differing] == []
        assert {each.code for each in found.undecidable} <= {"erased", "erasure", "import", "fork", "not_kept"}


@pytest.mark.parametrize("number", FORMATS)
def test_a_damaged_frozen_store_is_told_and_no_changed_byte_of_its_log_is_missed(
    number: int, tmp_path: Path, seed: int
) -> None:
    rng, found = random.Random(seed), 0
    whole = compact(upgraded(number, tmp_path / "whole"), tmp_path / "compact")
    texts = [at for word in (b"text 3", b"Search team", b"announced", b"Which colour?") for at in places(whole, word)]
    for flip in range(FLIPS):
        at = rng.choice(texts) if flip % 2 else rng.randrange(len(whole))
        folder = tmp_path / str(flip)
        folder.mkdir()
        (folder / "data.mdb").write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :])
        try:
            with open_store(folder) as db:
                found += not db.verify().ok
        except (DamagedStore, worlddb.NotAStore, worlddb.NewerFormat, worlddb.UnavailableError):
            found += 1
    assert found >= FLIPS // 2
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / "data.mdb").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedStore):
        open_store(cut)


def places(whole: bytes, word: bytes) -> list[int]:
    """Where a word stands; the file was rewritten, so every place is in use."""
    return [at for at in range(len(whole)) if whole.startswith(word, at)]


def compact(store: Path, folder: Path) -> bytes:
    """The file of a store without free pages, which hold what nobody reads any more."""
    folder.mkdir()
    env = lmdb.open(str(store))
    env.copy(str(folder), compact=True)
    env.close()
    return (folder / "data.mdb").read_bytes()
