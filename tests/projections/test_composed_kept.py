"""Tests composed embeddings on the disk: the next process goes on, nothing relies on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import worlddb
from tests.query.reads.test_isolation_vectors import LetterCounts
from worlddb import Database
from worlddb.projections.indexes import composed_vectors
from worlddb.projections.indexes.composition import Composition
from worlddb.projections.indexes.fields import Marker
from worlddb.reconciler.diagnostics import installation

KEPT = Path("indexes") / "composed-1-attention"
WORLDS = 6


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The worlds that were composed, in all compositions."""
    found: list[int] = []
    pooled = Composition._pool_members

    def counting(self: Any, tables: Any, anchors: Any, node: int, members: Any) -> Any:
        found.append(node)
        return pooled(self, tables, anchors, node, members)

    monkeypatch.setattr(Composition, "_pool_members", counting)
    monkeypatch.setattr(composed_vectors, "WORTH_KEEPING", 3)
    return found


def open_store(folder: Path) -> Database:
    return worlddb.open(folder, embedder=LetterCounts(), clock=worlddb.ManualClock())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    with open_store(folder) as db:
        for number in range(WORLDS):
            world = db.create("Topic", f"world {number}", content="abc"[number % 3 :], valid_from=0)
            for letter in "abcde"[number % 5 :]:
                db.create("Fact", f"{number}{letter}", content=letter * (number + 1), world=world, valid_from=0)
        db.create("Topic", "nothing in it has a vector", valid_from=0)
        db.create("Note", "later", content="bbb", world=world, valid_from="2031-01-01")
        db.embed()
    return folder


def query_scores(db: Database, *, valid: str = "2030-01-01") -> list[tuple[str, float]]:
    found = db.view(valid=valid).query(text="abc", composed="attention", k=WORLDS).run()
    return [(ref, found.scores[ref]) for ref in found.refs]


def bits(db: Database, *, valid: str = "2030-01-01") -> dict[int, bytes]:
    """The effective vectors that the handle holds."""
    query_scores(db, valid=valid)
    held = db._reader._composed[1, "attention"]._composition
    assert held is not None
    return {node: b"" if vector is None else vector.tobytes() for node, vector in held.effective.items()}


def recomputed_bits(store: Path, *, valid: str = "2030-01-01") -> dict[int, bytes]:
    """The same, by a handle that finds nothing on the disk."""
    with open_store(store) as db:
        db._reader.forget_composed()
        return bits(db, valid=valid)


def test_another_process_goes_on_from_what_was_kept(store: Path, counted: list[int]) -> None:
    with open_store(store) as db:
        first = bits(db)
    assert (store / KEPT / "composed.npz").exists()
    assert len(counted) == WORLDS
    counted.clear()
    with open_store(store) as db:
        assert bits(db) == first
        assert counted == []
        world = db.view().find(name="world 2")[0]
        db.create("Fact", "one more", content="ddd", world=world, valid_from=0)
        db.embed()
        changed = bits(db)
        assert changed != first and len(counted) == 1
        # A note begins in 2031: that changes its world by itself.
        assert bits(db, valid="2032-01-01") != changed
    assert recomputed_bits(store, valid="2032-01-01") == bits(open_store(store), valid="2032-01-01")


def test_what_is_kept_of_a_later_time_is_not_used_for_an_earlier_one(store: Path, counted: list[int]) -> None:
    with open_store(store) as db:
        bits(db, valid="2032-01-01")
    counted.clear()
    with open_store(store) as db:
        found = bits(db)
        assert len(counted) == WORLDS
    assert found == recomputed_bits(store)


@pytest.mark.parametrize(
    "damage", ["gone", "torn", "empty", "other", "format", "dimension", "store", "history", "altered"]
)
def test_what_cannot_be_read_or_is_of_something_else_is_composed_anew(
    store: Path, counted: list[int], damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(store) as db:
        first = bits(db)
        secret = db._reader._secret
    file = store / KEPT / "composed.npz"
    held = file.read_bytes()
    kept = composed_vectors.load(store / KEPT, LetterCounts.dimension, secret)
    assert kept is not None
    if damage == "gone":
        file.unlink()
    elif damage in ("torn", "empty", "other"):
        file.write_bytes({"torn": held[: len(held) // 2], "empty": b"", "other": b"{}" * 100}[damage])
    elif damage == "format":
        with monkeypatch.context() as patched:
            patched.setattr(composed_vectors, "FORMAT", 99)
            composed_vectors.write(store / KEPT, kept, LetterCounts.dimension, secret)
    elif damage == "dimension":
        short = {node: None if vector is None else vector[:4] for node, vector in kept.effective.items()}
        composed_vectors.write(store / KEPT, kept._replace(effective=short), 4, secret)
    elif damage == "altered":
        turned = {node: None if vector is None else -vector for node, vector in kept.effective.items()}
        composed_vectors.write(store / KEPT, kept._replace(effective=turned), LetterCounts.dimension)
    else:
        other: dict[str, Any] = {"store_id": b"s" * 16} if damage == "store" else {"chain": b"c" * 32}
        composed_vectors.write(
            store / KEPT, kept._replace(marker=replace(kept.marker, **other)), LetterCounts.dimension, secret
        )
    counted.clear()
    with open_store(store) as db:
        assert bits(db) == first
    assert len(counted) == WORLDS


def test_an_erasure_deletes_what_was_kept_and_nobody_writes_it_again(store: Path, tmp_path: Path) -> None:
    with open_store(store) as other, open_store(store) as db:
        bits(db)
        held = other._reader.composed(1, LetterCounts.dimension, "attention")
        bits(other)
        assert (store / KEPT).exists()
        db.erase(db.view().find(name="1b")[0], reason="request 3")
        assert not (store / KEPT).exists()
        held._kept = -1_000
        held.keep()
        assert not (store / KEPT / "composed.npz").exists()
        after = bits(other)
        assert after == bits(db)
    assert after == recomputed_bits(store)


def test_a_rebuild_of_the_vectors_and_the_end_of_a_space_delete_what_was_kept(store: Path) -> None:
    with open_store(store) as db:
        bits(db)
        db.rebuild("vectors")
        assert not (store / KEPT).exists()
        bits(db)
        assert (store / KEPT).exists()
        db.reembed(worlddb.CallableEmbedder(lambda texts: [[1.0, 2.0] for _ in texts], "ones"))
        db.drop_space("default")
        assert not (store / KEPT).exists()


def test_what_cannot_be_written_is_answered_all_the_same(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(composed_vectors, "write", full)
    with open_store(store) as db:
        assert len(query_scores(db)) == WORLDS
    assert not (store / KEPT / "composed.npz").exists()


def test_little_that_was_composed_is_not_written(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composed_vectors, "WORTH_KEEPING", WORLDS + 1)
    with open_store(store) as db:
        assert len(query_scores(db)) == WORLDS
    assert not (store / KEPT).exists()


def test_a_world_in_which_nothing_has_a_vector_is_kept_as_such(tmp_path: Path) -> None:
    kept = composed_vectors.StoredComposition(
        Marker(b"s" * 16, 7, b"c" * 32), 5, {3: None, 1: np.ones(8, dtype=np.float32)}, [(9, 3)]
    )
    composed_vectors.write(tmp_path / "k", kept, 8)
    found = composed_vectors.load(tmp_path / "k", 8)
    assert found is not None and found.effective[3] is None and found.effective[1] is not None
    assert (found.marker, found.moment, found.turns) == (kept.marker, kept.moment, kept.turns)


def test_composed_embeddings_that_were_altered_and_sealed_anew_are_found_by_the_deep_checks(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No check compared them: whoever has the store's secret could hide a world from questions about its contents."""
    monkeypatch.setattr(installation, "CHECKS", ())
    with open_store(store) as db:
        first = query_scores(db)
        assert db.verify(deep=True).findings == ()
        db.create("Topic", "later", content="abc", world=first[0][0], valid_from=0)
        assert db.verify(deep=True).findings == (), "also of a moment that is past"
        db.embed()
        assert db.verify(deep=True).findings == ()
        secret = db._reader._secret
    kept = composed_vectors.load(store / KEPT, LetterCounts.dimension, secret)
    assert kept is not None
    node, vector = next((node, vector) for node, vector in kept.effective.items() if vector is not None)
    altered = {
        "a vector": replace_vector(kept, node, -vector),
        "a world left out": kept._replace(effective={k: v for k, v in kept.effective.items() if k != node}),
        "a turn left out": kept._replace(turns=[]),
    }
    for what, forged in altered.items():
        composed_vectors.write(store / KEPT, forged, LetterCounts.dimension, secret)
        with open_store(store) as db:
            (finding,) = db.verify(deep=True).findings
            assert "composed embeddings of space 1" in finding.problem, what
            assert "rebuild vectors" in finding.problem and db.verify().ok
        told = [each for each in worlddb.diagnose(store, deep=True).symptoms if each.wrong]
        assert "index_damaged" in {symptom.code for symptom in told}
    with open_store(store) as db:
        db.rebuild("vectors")
        assert db.verify(deep=True).findings == () and [ref for ref, _ in query_scores(db)][:1]
    composed_vectors.write(store / KEPT, altered["a vector"], LetterCounts.dimension, b"x" * 32)
    with open_store(store) as db:
        assert "were altered" in str(db.verify(deep=True).findings), "it answers nothing, and is told"
        db.rebuild("vectors")
        assert db.verify(deep=True).findings == ()


def test_a_changed_bit_of_composed_embeddings_is_told_or_changes_nothing_and_ends_in_no_traceback(
    tmp_path: Path,
) -> None:
    """A bit may say that the file is encrypted, or packed in a way that nobody knows."""
    vectors = {node: np.ones(4, dtype=np.float32) * node if node % 2 else None for node in range(1, 6)}
    kept = composed_vectors.StoredComposition(Marker(b"x" * 16, 5, b"c" * 32), 7, vectors, [(3, 4)])
    composed_vectors.write(tmp_path, kept, 4, b"s" * 32)
    (file,) = (each for each in tmp_path.iterdir() if each.suffix == ".npz")
    whole, told = file.read_bytes(), 0
    for at in range(0, len(whole), 7):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        found = composed_vectors.load(tmp_path, 4, b"s" * 32)
        told += found is None
        assert found is None or (found.marker, found.moment, found.turns) == (kept.marker, kept.moment, kept.turns)
        assert (found is None) >= composed_vectors.is_damaged(tmp_path, 4, b"s" * 32)
    assert told > len(whole) / 21


def replace_vector(
    kept: composed_vectors.StoredComposition, node: int, vector: Any
) -> composed_vectors.StoredComposition:
    return kept._replace(effective=kept.effective | {node: vector})
