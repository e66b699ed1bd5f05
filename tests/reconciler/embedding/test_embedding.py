"""Vectors follow texts in commits of their own, and a rebuild never asks the model."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer

import worlddb
from worlddb import Database
from worlddb.log.model import codec
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Space, Vector
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.reads.asof import find_space
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.background import embedding_backfill
from worlddb.reconciler.embedding.embedder import unit_vectors
from worlddb.reconciler.embedding.static_embedder import _Tokenizers
from worlddb.reconciler.embedding.vectors_of_texts import next_embedding_batch


class Letters:
    """A model that is easy to foresee: how often each of eight letters occurs."""

    model = "letters/1"
    dimension = 8

    def __init__(self) -> None:
        self.asked: list[str] = []

    def mean(self) -> Any:
        return np.full(8, 0.5)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        self.asked.extend(texts)
        return [[text.count(letter) for letter in "abcdefgh"] for text in texts]


@pytest.fixture
def letters() -> Letters:
    return Letters()


def open_store(folder: Path, embedder: Any) -> Database:
    return worlddb.open(folder / "store", embedder=embedder)


def stored(db: Database) -> dict[tuple[bytes, int], Any]:
    """Every vector of the log, by lineage and version."""
    found: dict[tuple[bytes, int], Any] = {}
    with db._env.read() as txn:
        log = LmdbLog(txn)
        for seq in range(1, log.head().seq + 1):
            for event in log.events(seq).events:
                if isinstance(event, ev.Embedded):
                    blob = codec.decode_blob(log.blob(seq, event.vector) or b"", seq)
                    assert isinstance(blob, Vector)
                    found[event.lineage, event.version] = np.frombuffer(blob.values, dtype="<f2")
    return found


def test_a_text_is_looked_for_once_unless_somebody_wrote_meanwhile(
    tmp_path: Path, letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    find = next_embedding_batch
    with open_store(tmp_path, letters) as db:

        def finding(*given: Any) -> Any:
            looks.append(len(looks))
            return find(*given)

        monkeypatch.setattr(embedding_backfill, "next_embedding_batch", finding)
        db.create("Fact", "one", content="aab")
        assert db.embed()[:2] == (1, 0) and len(looks) == 1
        embed = letters.embed

        def embed_late(texts: Sequence[str], *, query: bool) -> Any:
            if texts == ["abc"]:
                db.create("Fact", "three", content="bcd")
            return embed(texts, query=query)

        monkeypatch.setattr(letters, "embed", embed_late)
        db.create("Fact", "two", content="abc")
        assert db.embed()[:2] == (2, 0)
        assert db.embed()[:2] == (0, 0)


def test_every_version_with_a_text_gets_one_vector_and_names_alone_get_none(tmp_path: Path, letters: Letters) -> None:
    with open_store(tmp_path, letters) as db:
        made = db.create("Fact", "one", content="aab")
        db.revise(made, content="bbb")
        db.create("Entity", "Bob")
        done = db.embed()
        assert (done.embedded, done.pending, done.space, done.model) == (2, 0, "default", "letters/1")
        found = stored(db)
        lineage = bytes.fromhex(made.ref)
        assert set(found) == {(lineage, 1), (lineage, 2)}
        wanted = np.array([1.5, 0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5])
        assert found[lineage, 1] == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-3)
        assert letters.asked == ["aab", "bbb"]


def test_embedding_again_asks_for_nothing_and_commits_nothing(tmp_path: Path, letters: Letters) -> None:
    with open_store(tmp_path, letters) as db:
        db.create("Fact", "one", content="abc")
        db.embed()
        head = db.head()
        assert db.embed().embedded == 0
        assert db.head() == head
        db.create("Fact", "two", content="cde")
        assert db.embed().embedded == 1
        assert letters.asked == ["abc", "cde"]


def test_vectors_change_no_world_hash(tmp_path: Path, letters: Letters) -> None:
    with open_store(tmp_path, letters) as db:
        db.create("Fact", "one", content="abc")
        root = db.head().root
        db.embed()
        assert db.head().root == root


def test_a_rebuild_and_a_deep_verification_do_not_ask_the_model(tmp_path: Path, letters: Letters) -> None:
    with open_store(tmp_path, letters) as db:
        db.create("Fact", "one", content="abc")
        db.embed()
        letters.asked.clear()
        with db._env.read() as txn:
            before = {name: list(table.scan(b"")) for name, table in Tables(txn).by_name().items()}
        db.rebuild()
        with db._env.read() as txn:
            assert {name: list(table.scan(b"")) for name, table in Tables(txn).by_name().items()} == before
        assert before["vectors"] and before["spaces"]
        assert db.verify(deep=True).ok
        assert letters.asked == []


def test_a_commit_larger_than_a_batch_is_embedded_in_several(
    tmp_path: Path, letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worlddb.reconciler.background.embedding_backfill.BATCH_TEXTS", 3)
    with open_store(tmp_path, letters) as db:
        with db.batch() as tx:
            for number in range(8):
                tx.create("Fact", f"f{number}", content="abcdefgh"[: number + 1])
        before = db.head().seq
        told: list[int] = []
        assert db.embed(limit=4).pending == 4
        assert db.embed(progress=told.append).embedded == 4
        assert told[-1] == 4
        assert db.head().seq - before == 4
        assert len(stored(db)) == 8 == len(letters.asked)


def test_what_another_process_has_embedded_meanwhile_is_not_written_twice(tmp_path: Path, letters: Letters) -> None:
    with open_store(tmp_path, letters) as db, open_store(tmp_path, Letters()) as other:
        db.create("Fact", "one", content="abc")
        letters_embed = letters.embed

        def slow(texts: Sequence[str], *, query: bool) -> Any:
            other.embed()
            return letters_embed(texts, query=query)

        letters.embed = slow  # type: ignore[method-assign]
        assert db.embed().embedded == 0
        assert len(stored(db)) == 1
        assert db.embed().pending == 0


def test_threads_that_embed_at_once_leave_one_vector_each(tmp_path: Path) -> None:
    with open_store(tmp_path, Letters()) as db:
        for number in range(20):
            db.create("Fact", f"f{number}", content="abc" * (number + 1))
        threads = [threading.Thread(target=db.embed) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=180)
        assert len(stored(db)) == 20
        assert db.verify(deep=True).ok


def test_a_space_is_filled_by_one_model_only(tmp_path: Path, letters: Letters) -> None:
    with open_store(tmp_path, letters) as db:
        db.create("Fact", "one", content="abc")
        db.embed()
        db.create("Fact", "two", content="abc")
    other = Letters()
    other.model = "letters/2"
    with open_store(tmp_path, other) as db, pytest.raises(worlddb.InputError, match=r"letters/1.*letters/2"):
        db.embed()


class Broken(Letters):
    """Gives whatever it is told to."""

    def __init__(self, gives: Any) -> None:
        super().__init__()
        self._gives = gives

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        if isinstance(self._gives, Exception):
            raise self._gives
        return self._gives


@pytest.mark.parametrize(
    ("gives", "error"),
    [
        ([[1.0] * 7], worlddb.InputError),
        ([[1.0] * 8] * 2, worlddb.InputError),
        ([[float("nan")] * 8], worlddb.InputError),
        ([[float("inf")] * 8], worlddb.InputError),
        (RuntimeError("out of memory"), worlddb.ModelUnavailable),
    ],
)
def test_a_model_that_gives_no_vectors_is_a_typed_error_and_nothing_is_written(
    tmp_path: Path, gives: Any, error: type[Exception]
) -> None:
    with open_store(tmp_path, Broken(gives)) as db:
        db.create("Fact", "one", content="abc")
        head = db.head()
        with pytest.raises(error, match="letters/1"):
            db.embed()
        assert db.head() == head


def test_a_store_that_was_opened_without_an_embedder_says_so(tmp_path: Path) -> None:
    with open_store(tmp_path, None) as db, pytest.raises(worlddb.ModelUnavailable, match="without an embedder"):
        db.embed()


def test_the_default_model_that_is_not_installed_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worlddb.reconciler.embedding.static_embedder.find_spec", lambda name: None)
    with open_store(tmp_path, worlddb.StaticEmbedder()) as db:
        db.create("Fact", "one", content="abc")
        with pytest.raises(worlddb.ModelUnavailable, match="not installed"):
            db.embed()


def test_the_default_model_that_cannot_be_read_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worlddb.reconciler.embedding.static_embedder.PACKAGE", "rich")
    with open_store(tmp_path, worlddb.StaticEmbedder()) as db:
        db.create("Fact", "one", content="abc")
        with pytest.raises(worlddb.ModelUnavailable, match="cannot be read"):
            db.embed()


@pytest.mark.parametrize("cut", [0, 4, 60, 5_000])
def test_weights_that_are_torn_are_a_typed_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    """They are mapped, and reading past the end of a mapped file would end the process."""
    weights = _default_files() / "weights" / "l2_supercat_256.safetensors"
    torn = tmp_path / "torn.safetensors"
    torn.write_bytes(weights.read_bytes()[:cut])
    monkeypatch.setattr("worlddb.reconciler.embedding.static_embedder._WEIGHTS", (str(torn),))
    with pytest.raises(worlddb.ModelUnavailable, match="cannot be read"):
        worlddb.StaticEmbedder().embed(["a text"], query=False)


def test_the_default_models_vectors_are_the_means_of_the_rows_that_the_file_has() -> None:
    files = _default_files()
    (rows,) = load_file(files / "weights" / "l2_supercat_256.safetensors").values()
    wide = rows.astype(np.float32)
    tokenizer = Tokenizer.from_file(str(files / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = ["a", "Ana lives in Porto", "ana lives in porto, in Porto", "Straße 12, 東京 \U0001f600", "word " * 700]
    texts += ["", " \t\n  x", "\u2581a \x00", "end</s>of <unk>", "".join(map(chr, range(32, 900)))]
    model = worlddb.StaticEmbedder()
    alone = [[text] for text in texts if text]
    for asked in (*alone, texts, texts[::-1], *alone):
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in asked]
        means = [wide[found].mean(axis=0) if found else np.zeros(256, dtype=np.float32) for found in ids]
        assert model.embed(asked, query=False).tobytes() == np.asarray(means).tobytes()


@given(text=st.text(max_size=80) | st.text(alphabet="ab erth\u2581\n\u00e9.0", max_size=80))
def test_the_few_merges_that_are_loaded_for_a_text_find_the_tokens_that_all_find(text: str) -> None:
    whole, picked = _tokenizers()
    few = picked._small_tokenizer([text])
    assert few.encode(text, add_special_tokens=False).ids == whole.encode(text, add_special_tokens=False).ids


@cache
def _tokenizers() -> tuple[Tokenizer, _Tokenizers]:
    path = _default_files() / "tokenizers" / "l2_supercat_tokenizer_config.json"
    settings = json.loads(path.read_bytes())
    return Tokenizer.from_file(str(path)), _Tokenizers(settings)


def test_the_mean_of_the_default_model_is_the_same_after_texts_as_before_them() -> None:
    before, after = worlddb.StaticEmbedder(), worlddb.StaticEmbedder()
    after.embed(["Ana lives in Porto"], query=False)
    assert before.mean().tobytes() == after.mean().tobytes()


def _default_files() -> Path:
    spec = find_spec("wordllama")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def test_the_default_model_puts_texts_of_one_meaning_close_together() -> None:
    model = worlddb.StaticEmbedder()
    texts = ["My dog is ill and went to the vet", "The puppy is sick", "Interest rates rose again", ""]
    found = unit_vectors(model, model.mean(), texts, query=False)
    assert found[0] @ found[1] > 0.3 > found[0] @ found[2]
    assert not found[3].any()
    assert np.linalg.norm(found[:3], axis=1) == pytest.approx(np.ones(3), abs=1e-5)


def test_the_mean_of_a_space_is_recorded_with_it(tmp_path: Path, letters: Letters) -> None:
    with open_store(tmp_path, letters) as db:
        db.create("Fact", "one", content="abc")
        db.embed()
        with db._env.read() as txn:
            space = find_space(LmdbLog(txn), Tables(txn), "default")
        assert space is not None
        assert np.frombuffer(space.mean, dtype="<f4") == pytest.approx(np.full(8, 0.5))
        assert codec.decode_blob(codec.encode(Space(b"", "a", "b", b"")), 1) == Space(b"", "a", "b", b"")


def test_an_erasure_reaches_the_vectors_of_every_version(tmp_path: Path, letters: Letters) -> None:
    with open_store(tmp_path, letters) as db:
        gone = db.create("Fact", "one", content="abc")
        db.revise(gone, content="bcd")
        kept = db.create("Fact", "two", content="cde")
        db.embed()
        db.erase(gone, reason="request 7")
        with db._env.read() as txn:
            log = LmdbLog(txn)
            left = [
                event.lineage.hex()
                for seq in range(1, log.head().seq + 1)
                for event in log.events(seq).events
                if isinstance(event, ev.Embedded) and log.blob(seq, event.vector) is not None
            ]
        assert left == [kept.ref]
        assert db.verify(deep=True).ok
        assert db.embed().embedded == 0


def test_what_waits_for_a_vector_is_counted_once_for_each_commit(tmp_path: Path, letters: Letters) -> None:
    """A commit that records vectors has an event for each: reading them all made every recall a tenth slower."""
    with open_store(tmp_path, letters) as db, pytest.MonkeyPatch.context() as patch:
        db.create("Note", "", content="a bad cab")
        db.embed()
        read: list[int] = []
        stored = LmdbLog.stored_events

        def counted(log: LmdbLog, seq: int) -> Any:
            read.append(seq)
            return stored(log, seq)

        patch.setattr(LmdbLog, "stored_events", counted)
        assert db.view().recall("bad").pending == 0
        assert db.view().seq in read
        read.clear()
        assert db.view().recall("cab").pending == 0
        assert read == []
        db.create("Note", "", content="a dead bee")
        assert [db.view().recall("cab").pending for _ in range(2)] == [1, 1]
        assert db.embed().pending == 0
        assert db.view().recall("cab").pending == 0
