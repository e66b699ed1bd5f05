"""Opens, reads, verifies, extends and rebuilds stores of every released format."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.frozen.make import HERE, Employs, answers
from worlddb import DamagedStore, Database
from worlddb.log.model.events import FORMAT

FORMATS = sorted(int(path.name.split("-")[1].split(".")[0]) for path in HERE.glob("format-*.mdb.xz"))
FLIPS = 60


def thawed(number: int, folder: Path) -> Path:
    """A copy of the store of a format, in a folder."""
    folder.mkdir(parents=True)
    (folder / "data.mdb").write_bytes(lzma.decompress((HERE / f"format-{number}.mdb.xz").read_bytes()))
    return folder


def told(number: int) -> Any:
    return json.loads((HERE / f"format-{number}.json").read_text(encoding="utf-8"))


def opened(folder: Path) -> Database:
    return worlddb.open(folder, create=False, author="later", embedder=None)


def test_there_is_a_frozen_store_of_every_format_and_each_is_small() -> None:
    assert list(range(1, FORMAT + 1)) == FORMATS
    assert sum(path.stat().st_size for path in HERE.glob("format-*")) < 100_000 * len(FORMATS)


@pytest.mark.parametrize("number", FORMATS)
def test_a_frozen_store_answers_as_it_did_and_verifies(number: int, tmp_path: Path) -> None:
    with opened(thawed(number, tmp_path / "store")) as db:
        assert json.loads(json.dumps(answers(db))) == told(number)
        assert db.verify().ok
        kinds = {entry.event for entry in db.log()}
        assert kinds >= {"created", "revised", "linked", "decided", "erased", "imported", "embedded", "registered"}
        for entry in db.log():
            assert db.view(seq=entry.seq).hash()


@pytest.mark.parametrize("number", FORMATS)
def test_a_frozen_store_is_derived_again_from_its_log_alone(number: int, tmp_path: Path) -> None:
    with opened(thawed(number, tmp_path / "store")) as db:
        assert db.rebuild("tables").root == told(number)["head"][2]
        assert db.verify(deep=True).ok
        assert json.loads(json.dumps(answers(db))) == told(number)
        assert db.replay(tmp_path / "copy").matches_recorded
        assert db.backup(tmp_path / "backup").root == told(number)["head"][2]


@pytest.mark.parametrize("number", FORMATS)
def test_a_frozen_store_is_written_to(number: int, tmp_path: Path) -> None:
    with opened(thawed(number, tmp_path / "store")) as db:
        before = db.head()
        known = db.create("Topic", "Search team", key="team")
        assert known.events == 0, "the keys of then are the keys of now"
        made = db.create("Note", "a later note", content="written by a later release", world=known)
        db.link(made, "refers_to", known)
        refused = db.create("Note", "x", content="to be erased")
        assert isinstance(refused.outcome, worlddb.Refused) and refused.outcome.code == "forbidden_text"
        db.erase(made, reason="request 8")
    with opened(tmp_path / "store") as db:
        assert db.head().seq == before.seq + 3 and db.verify().ok
        assert db.rebuild("tables").root == db.head().root and db.verify(deep=True).ok
        assert db.verify(head=db.checkpoint(seq=before.seq)).head == "holds"


@pytest.mark.parametrize("number", FORMATS)
def test_what_a_frozen_store_decided_is_decided_alike_today(number: int, tmp_path: Path) -> None:
    with worlddb.open(thawed(number, tmp_path / "store"), embedder=None, edge_types=[Employs()]) as db:
        found = db.redecide(edge_types=[Employs()])
        assert [(each.seq, each.code, each.reason) for each in found.differing] == []
        assert {each.code for each in found.undecidable} <= {"erased", "erasure", "import", "not_kept"}


@pytest.mark.parametrize("number", FORMATS)
def test_a_damaged_frozen_store_is_told_and_no_changed_byte_of_its_log_is_missed(
    number: int, tmp_path: Path, seed: int
) -> None:
    rng, found = random.Random(seed), 0
    whole = lzma.decompress((HERE / f"format-{number}.mdb.xz").read_bytes())
    texts = [at for word in (b"text 3", b"Search team", b"announced", b"Which colour?") for at in places(whole, word)]
    for flip in range(FLIPS):
        at = rng.choice(texts) if flip % 2 else rng.randrange(len(whole))
        folder = tmp_path / str(flip)
        folder.mkdir()
        (folder / "data.mdb").write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :])
        try:
            with opened(folder) as db:
                found += not db.verify().ok
        except (DamagedStore, worlddb.NotAStore, worlddb.NewerFormat, worlddb.UnavailableError):
            found += 1
    assert found >= FLIPS // 2
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / "data.mdb").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedStore):
        opened(cut)


def places(whole: bytes, word: bytes) -> list[int]:
    """Where a word stands; an erasure has rewritten the file, so every place is in use."""
    return [at for at in range(len(whole)) if whole.startswith(word, at)]
