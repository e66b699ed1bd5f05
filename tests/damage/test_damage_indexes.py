"""An index that somebody has altered is found by every check, and nothing is built on it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import worlddb
from tests.query.reads.test_isolation_vectors import LetterCounts
from worlddb.projections.indexes import fields, vector_base, vector_index, witness
from worlddb.projections.indexes.text_index import TextIndex
from worlddb.reconciler.diagnostics import installation

TEXTS = 300
HIDDEN = 77
ASKED = f"where did courier {HIDDEN} hide the zither{HIDDEN}?"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an index of texts and one of vectors on disk."""
    folder = tmp_path_factory.mktemp("indexes") / "store"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_index, "SHORT_TAIL", 1)
        with worlddb.open(folder, embedder=LetterCounts(), background=False) as db:
            for first in range(0, TEXTS, 50):
                with db.batch() as batch:
                    for number in range(first, first + 50):
                        batch.create("Fact", f"fact {number}", content=f"courier {number} hid the zither{number} well")
            db.embed()
            assert db.catch_up()
            assert db.stats()["checkpoints"]["text"] > 0
            assert db.verify(deep=True).findings == ()
    return folder


@pytest.fixture(autouse=True)
def libraries_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at a store would load all libraries in a process of its own, which takes longer than the look."""
    monkeypatch.setattr(installation, "CHECKS", ())


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "store"))


def open_store(store: Path) -> worlddb.Database:
    return worlddb.open(store, embedder=LetterCounts(), background=False)


def node_of(store: Path) -> int:
    with open_store(store) as db, db._reader.snapshot() as snapshot:
        (world,) = db.view().find(name=f"fact {HIDDEN}")
        node = snapshot.tables.node_of(bytes.fromhex(world.ref))
        assert node is not None
        return node


def tantivy_of(store: Path) -> tuple[Any, Any]:
    """The text index as anybody who has Tantivy opens it to write."""
    import tantivy

    index = tantivy.Index.open(str(store / "indexes" / "text"))
    fields.register_analyzers(index)
    return index, index.writer(20_000_000, 1)


def take_out(writer: Any, node: int) -> None:
    import tantivy

    writer.delete_documents_by_query(tantivy.Query.term_query(fields.schema(), fields.NODE, node))


def deleted(store: Path) -> None:
    """A document is taken out of the text index."""
    _, writer = tantivy_of(store)
    take_out(writer, node_of(store))
    writer.commit()
    writer.wait_merging_threads()


def replaced(store: Path) -> None:
    """A document has other words."""
    node = node_of(store)
    _, writer = tantivy_of(store)
    take_out(writer, node)
    writer.add_document(fields.to_document(fields.TextDocument(node, 1, 3, f"fact {HIDDEN}", "nothing to see here")))
    writer.commit()
    writer.wait_merging_threads()


def padded(store: Path) -> None:
    """A document has its words and many more, so that it is found last."""
    node = node_of(store)
    _, writer = tantivy_of(store)
    take_out(writer, node)
    content = f"courier {HIDDEN} hid the zither{HIDDEN} well" + " courier" * 500
    writer.add_document(fields.to_document(fields.TextDocument(node, 1, 3, f"fact {HIDDEN}", content)))
    writer.commit()
    writer.wait_merging_threads()


def invented(store: Path) -> None:
    """The index has a document that no commit wrote."""
    _, writer = tantivy_of(store)
    writer.add_document(fields.to_document(fields.TextDocument(1, 9, 3, "fact", "the zither is in the river")))
    writer.commit()
    writer.wait_merging_threads()


def skipped(store: Path) -> None:
    """The index says that there is no text behind its marker, although there are some."""
    folder = store / "indexes" / "text"
    marker = TextIndex.open(folder).marker
    assert marker is not None
    with open_store(store) as db:
        head = db.head().seq
        chain = db._reader.chain_at(head)
        assert chain is not None
        later = fields.Marker(marker.store_id, head, chain)
    (folder / ".passed").write_bytes(msgspec.msgpack.encode((marker, later)))


TEXT_HARMS: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (deleted, replaced, padded, invented, skipped)
}


def forged(store: Path) -> None:
    """A witness of the index as it is now, by somebody who has not the store's secret."""
    folder = store / "indexes" / "text"
    (folder / ".witness").unlink(missing_ok=True)
    witness.SegmentWitness(folder, b"x" * 32, (".passed",)).write()


COVERS = ("", "without a witness", "with a forged witness")
EACH_ONCE = dict(zip(TEXT_HARMS, (*COVERS, *COVERS), strict=False))
"""Every harm under one cover, and every cover, in a plain run; a soak run has all of both."""


@pytest.mark.parametrize(
    ("harm", "covered"),
    [
        pytest.param(harm, covered, marks=() if EACH_ONCE[harm] == covered else pytest.mark.soak)
        for harm in TEXT_HARMS
        for covered in COVERS
    ],
)
def test_an_altered_text_index_is_told_by_every_check_and_mended(store: Path, harm: str, covered: str) -> None:
    if harm == "skipped":
        with open_store(store) as db:
            db.create("Fact", "late", content="one more zither")
    TEXT_HARMS[harm](store)
    if covered == "without a witness":
        (store / "indexes" / "text" / ".witness").unlink()
    elif covered:
        forged(store)
    with open_store(store) as db:
        for deep in (False, True):
            report = db.verify(deep=deep)
            assert not report.ok and report.first_bad_seq == 0
            assert "the text index" in report.findings[0].problem
            assert "worlddb rebuild text" in report.findings[0].problem
    told = {symptom.code: symptom for symptom in worlddb.diagnose(store).symptoms if symptom.wrong}
    assert told.keys() == {"index_damaged"} and told["index_damaged"].command.endswith("text")
    with open_store(store) as db:
        if harm in ("deleted", "replaced"):
            (world,) = db.view().find(name=f"fact {HIDDEN}")
            assert any(world.ref[:12] in finding.problem for finding in report.findings)
        db.rebuild("text")
        assert db.verify(deep=True).findings == ()
        assert db.view().recall(ASKED, lanes=["text"]).hits[0].name == f"fact {HIDDEN}"


@pytest.mark.parametrize("harm", TEXT_HARMS)
def test_nothing_is_added_to_an_altered_text_index(store: Path, harm: str) -> None:
    TEXT_HARMS[harm](store)
    forged(store)
    with open_store(store) as db:
        with db.batch() as tx:
            for number in range(TEXTS, TEXTS + 200):
                tx.create("Fact", f"fact {number}", content=f"courier {number} rests", resolve=False)
        assert db.catch_up()
        assert db.view().recall(ASKED, lanes=["text"]).hits[0].name == f"fact {HIDDEN}"
        assert db.verify(deep=True).findings == ()


def test_an_index_whose_witness_was_not_written_is_no_damage(store: Path) -> None:
    """A process may end just between the two."""
    (store / "indexes" / "text" / ".witness").unlink()
    with open_store(store) as db:
        assert db.verify().findings == () and db.verify(deep=True).findings == ()
    assert worlddb.diagnose(store).ok


def base_of(store: Path) -> Path:
    (folder,) = (store / "indexes" / "vectors-1").glob("base-*")
    return folder


def flip(file: Path, at: int) -> None:
    stored = bytearray(file.read_bytes())
    stored[at] ^= 0x10
    file.unlink()
    file.write_bytes(stored)


def dropped(store: Path) -> None:
    """A base of the same log in which the vectors of one world are missing."""
    folder = store / "indexes" / "vectors-1"
    base = vector_base.load(folder)
    assert base is not None
    told = json.loads((folder / "current.json").read_text())
    numbers = np.array(base.numbers())
    kept = numbers[:, 0] != node_of(store)
    rows = base.rows(0, base.count).astype(np.float32)[kept]
    vector_base.write(folder, base.marker, told["dimension"], [(numbers[kept], rows)], graph=False)


def turned(store: Path) -> None:
    file = base_of(store) / "vectors.faiss"
    flip(file, file.stat().st_size // 2)


def moved(store: Path) -> None:
    file = base_of(store) / "rows.npy"
    flip(file, file.stat().st_size - 300)


def disordered(store: Path) -> None:
    file = base_of(store) / "order.npy"
    flip(file, file.stat().st_size - 80)


VECTOR_HARMS: dict[str, Callable[[Path], None]] = {each.__name__: each for each in (dropped, turned, moved, disordered)}


@pytest.mark.parametrize("harm", VECTOR_HARMS)
def test_an_altered_vector_index_is_told_by_every_check_and_mended(
    store: Path, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    VECTOR_HARMS[harm](store)
    with open_store(store) as db:
        for deep in (False, True):
            report = db.verify(deep=deep)
            assert not report.ok
            assert "the vector index of space 1" in report.findings[0].problem
            assert "worlddb rebuild vectors" in report.findings[0].problem
    told = {symptom.code for symptom in worlddb.diagnose(store).symptoms if symptom.wrong}
    assert told == {"index_damaged"}
    monkeypatch.setattr(vector_index, "SHORT_TAIL", 1)
    with open_store(store) as db:
        db.rebuild("vectors")
        assert db.verify(deep=True).findings == ()


def test_nothing_is_added_to_an_altered_vector_index(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turned(store)
    monkeypatch.setattr(vector_index, "SHORT_TAIL", 1)
    with open_store(store) as db:
        with db.batch() as batch:
            for number in range(TEXTS, TEXTS + 60):
                batch.create("Fact", f"fact {number}", content=f"courier {number} rests")
        db.embed()
        assert db.verify(deep=True).findings == ()
