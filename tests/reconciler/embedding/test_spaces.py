"""A store moves to another embedding model while the old one answers, and loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import worlddb
from worlddb import Database
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.background import embedding_backfill


class Letters:
    """How often each of some letters occurs."""

    def __init__(self, letters: str = "abcdefgh", model: str | None = None) -> None:
        self.letters = letters
        self.model = model or f"letters/{letters}"
        self.dimension = len(letters)
        self.asked: list[str] = []
        self.fails_after: int | None = None

    def mean(self) -> Any:
        return np.full(self.dimension, 0.25)

    def embed(self, texts: Sequence[str], *, query: bool) -> Any:
        self.asked.extend(texts)
        if self.fails_after is not None and len(self.asked) > self.fails_after:
            raise RuntimeError("pulled the plug")
        return [[text.count(letter) for letter in self.letters] for text in texts]


OLD, NEW = "abcdefgh", "abcxyz"


def open_store(folder: Path, embedder: Any) -> Database:
    return worlddb.open(folder / "store", embedder=embedder)


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with open_store(tmp_path, Letters(OLD)) as store:
        for number, text in enumerate(("aaab", "ccc", "xxxa")):
            store.create("Fact", f"fact {number}", content=text)
        store.embed()
        yield store


def by_meaning(view: worlddb.View, text: str, *, exact: bool = False) -> worlddb.Recall:
    return view.recall(text, lanes=("vector",), exact=exact, k=1)


def rows(db: Database) -> dict[str, list[Any]]:
    with db._env.read() as txn:
        return {name: list(table.scan(b"")) for name, table in Tables(txn).by_name().items()}


def test_a_move_fills_a_space_of_its_own_and_then_lets_it_answer(db: Database) -> None:
    root = db.head().root
    assert by_meaning(db.view(), "xxx").space == "default"
    new = Letters(NEW)
    done = db.reembed(new)
    assert (done.embedded, done.pending, done.space, done.model) == (3, 0, new.model, new.model)
    assert (done.in_use, done.before) == (True, "default")
    found = by_meaning(db.view(), "xxx")
    assert (found.hits[0].name, found.space, found.pending) == ("fact 2", new.model, 0)
    assert db.head().root == root
    before, after = db.spaces()
    assert (before.name, before.in_use, before.texts, before.dropped) == ("default", False, 3, None)
    assert (after.name, after.in_use, after.texts, after.dimension) == (new.model, True, 3, 6)
    assert sorted(new.asked[:3]) == ["aaab", "ccc", "xxxa"]
    assert db.verify(deep=True).ok


def test_a_move_to_where_the_store_is_changes_nothing(db: Database) -> None:
    head = db.head()
    done = db.reembed(Letters(OLD))
    assert (done.embedded, done.space, done.in_use, done.events, done.commits) == (0, "default", True, 0, 0)
    assert db.head() == head


def test_a_move_that_broke_off_is_gone_on_with_and_the_old_space_answers_until_it_is_done(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_backfill, "BATCH_TEXTS", 1)
    broken = Letters(NEW)
    broken.fails_after = 1
    with pytest.raises(worlddb.ModelUnavailable, match="pulled the plug"):
        db.reembed(broken)
    assert [space.in_use for space in db.spaces()] == [True, False]
    assert by_meaning(db.view(), "ccc").space == "default"
    again = Letters(NEW)
    done = db.reembed(again)
    assert (done.embedded, done.in_use) == (2, True)
    assert "ccc" in again.asked and again.asked.count("xxxa") == 1


def test_a_move_may_be_made_in_several_goes(db: Database) -> None:
    new = Letters(NEW)
    first = db.reembed(new, limit=2)
    assert (first.embedded, first.pending, first.in_use) == (2, 1, False)
    second = db.reembed(new, limit=2)
    assert (second.embedded, second.pending, second.in_use) == (1, 0, True)


def test_texts_that_come_after_the_move_are_embedded_by_the_new_model_alone(db: Database) -> None:
    old, new = db._models.to_fill(None), Letters(NEW)
    db.reembed(new)
    asked = len(old.asked)  # type: ignore[attr-defined]
    db.create("Fact", "later", content="yyyz")
    assert db.view().recall("y").pending == 1
    done = db.embed()
    assert (done.embedded, done.space, done.model) == (1, new.model, new.model)
    assert by_meaning(db.view(), "yyyz").hits[0].name == "later"
    assert len(old.asked) == asked  # type: ignore[attr-defined]


def test_a_view_of_before_the_move_is_answered_by_the_space_of_then(db: Database) -> None:
    then = db.head().seq
    before = by_meaning(db.view(seq=then), "abcdef", exact=True)
    db.reembed(Letters(NEW))
    for exact in (True, False):
        found = by_meaning(db.view(seq=then), "abcdef", exact=exact)
        assert found.space == "default"
        assert [(hit.ref, hit.score) for hit in found] == [(hit.ref, hit.score) for hit in before]
    assert by_meaning(db.view(), "abc", exact=True).space == f"letters/{NEW}"


def test_a_space_that_answers_cannot_be_dropped_and_one_that_does_not_exist_neither(db: Database) -> None:
    head = db.head()
    for name, code in (("default", "space_in_use"), ("nowhere", "unknown_space")):
        refused = db.drop_space(name)
        assert isinstance(refused.outcome, worlddb.Refused) and refused.outcome.code == code
    with pytest.raises(worlddb.InputError):
        db.drop_space("")
    assert db.head() == head


def test_a_dropped_space_has_no_index_and_views_of_before_still_read_its_vectors(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worlddb.projections.indexes.vector_index.SHORT_TAIL", 1)
    then = db.head().seq
    assert db.catch_up()
    folder = tmp_path / "store" / "indexes" / "vectors-1"
    assert (folder / "current.json").exists()
    before = by_meaning(db.view(seq=then), "abcdef", exact=True)
    db.reembed(Letters(NEW))
    blobs = db.verify().blobs
    receipt = db.drop_space("default", why="the new model is better")
    assert receipt and receipt.events == 1
    assert not folder.exists()
    assert db.spaces()[0].dropped == receipt.seq
    assert db.verify().blobs == blobs + 3  # commands, the name, the reason: nothing was taken away
    found = by_meaning(db.view(seq=then), "abcdef", exact=True)
    assert (found.space, list(found)) == ("default", list(before))
    assert by_meaning(db.view(seq=then), "abc").space == f"letters/{NEW}"
    assert db.verify(deep=True).ok
    (entry,) = db.log(receipt.seq)
    assert (entry.event, entry.name, entry.why) == ("space_dropped", "default", "the new model is better")


def test_the_index_of_a_space_that_a_batch_dropped_is_deleted_by_the_next_question(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worlddb.projections.indexes.vector_index.SHORT_TAIL", 1)
    assert db.catch_up()
    folder = tmp_path / "store" / "indexes" / "vectors-1"
    db.reembed(Letters(NEW))
    with db.batch() as tx:
        tx.drop_space("default")
    assert folder.exists()
    assert by_meaning(db.view(), "abc").space == f"letters/{NEW}"
    assert not folder.exists()


def test_the_name_of_a_dropped_space_may_be_given_to_another_model(db: Database) -> None:
    db.reembed(Letters(NEW))
    db.drop_space("default")
    done = db.reembed(Letters("mno"), space="default")
    assert (done.space, done.in_use) == ("default", True)
    assert [(space.name, space.model, space.in_use) for space in db.spaces()] == [
        ("default", f"letters/{OLD}", False),
        (f"letters/{NEW}", f"letters/{NEW}", False),
        ("default", "letters/mno", True),
    ]
    assert db.verify(deep=True).ok


def test_a_space_that_is_behind_is_refused_until_it_was_filled(db: Database) -> None:
    db.reembed(Letters(NEW))
    db.create("Fact", "later", content="yyyz")
    db.embed()
    refused = db.use_space("default")
    assert isinstance(refused.outcome, worlddb.Refused) and refused.outcome.code == "space_behind"
    back = db.reembed(Letters(OLD))
    assert (back.embedded, back.space, back.in_use, back.before) == (1, "default", True, f"letters/{NEW}")


def test_one_model_may_fill_two_spaces_that_have_names(db: Database) -> None:
    done = db.reembed(Letters(OLD), space="afresh")
    assert (done.embedded, done.space, done.in_use) == (3, "afresh", True)
    assert db.use_space("default").events == 1
    assert [space.in_use for space in db.spaces()] == [True, False]


def test_choosing_and_dropping_happen_once_under_their_key_and_in_a_batch(db: Database) -> None:
    db.reembed(Letters(NEW))
    first = db.use_space("default", idempotency_key="back")
    assert db.use_space("default", idempotency_key="back") == first
    with pytest.raises(worlddb.IdempotencyConflict):
        db.use_space(f"letters/{NEW}", idempotency_key="back")
    with db.batch() as tx:
        tx.use_space(f"letters/{NEW}")
        tx.drop_space("default")
    assert tx.receipt.events == 2
    assert [(space.in_use, space.dropped) for space in db.spaces()] == [(False, tx.receipt.seq), (True, None)]
    assert db.verify(deep=True).ok


def test_an_erasure_reaches_the_vectors_of_every_space_and_dropped_ones_too(db: Database) -> None:
    db.reembed(Letters(NEW))
    db.reembed(Letters("mno"))
    db.drop_space("default")
    gone = db.view().find(name="fact 0")[0]
    assert db.erasure_plan(gone).texts == 4  # a body and three vectors
    receipt = db.erase(gone, reason="request 9")
    assert db.check_erasure(db.erasure_receipt(receipt)).ok
    with db._env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        node = tables.node_of(bytes.fromhex(gone.ref))
        left = [log.blob(*catchup_place(value)) for key, value in tables.vectors.scan(b"") if key[4:12] == _u64(node)]
    assert left == [None, None, None]
    assert db.verify(deep=True).ok
    assert db.reembed(Letters("pq")).embedded == 2


def catchup_place(value: bytes) -> tuple[int, int]:
    return int.from_bytes(value[:8], "big"), int.from_bytes(value[8:], "big", signed=True)


def _u64(number: int | None) -> bytes:
    assert number is not None
    return number.to_bytes(8, "big")


def test_a_rebuild_and_a_replay_have_the_same_spaces_and_ask_no_model(db: Database, tmp_path: Path) -> None:
    new = Letters(NEW)
    db.reembed(new)
    db.drop_space("default")
    asked = len(new.asked)
    expected = rows(db)
    assert expected["space_changes"]
    db.rebuild()
    assert rows(db) == expected
    middle = db.head().seq - 1
    db.replay(tmp_path / "now")
    db.replay(tmp_path / "before", seq=middle)
    assert len(new.asked) == asked
    with worlddb.open(tmp_path / "now", embedder=None) as replayed:
        assert replayed.spaces() == db.spaces()
    with worlddb.open(tmp_path / "before", embedder=None) as replayed:
        assert [(space.in_use, space.dropped) for space in replayed.spaces()] == [(False, None), (True, None)]


def test_a_bundle_carries_no_vectors_and_what_it_brings_is_embedded_here(db: Database, tmp_path: Path) -> None:
    db.reembed(Letters(NEW))
    topic = db.create("Topic", "all of it")
    db.move([fact.ref for fact in db.view().find(type="Fact")], topic)
    db.export(topic, tmp_path / "all.wdb")
    new = Letters("mno")
    with worlddb.open(tmp_path / "other", embedder=new) as other:
        other.import_bundle(tmp_path / "all.wdb")
        assert (other.spaces(), other.embed().embedded) == ((), 3)
        assert [space.model for space in other.spaces()] == ["letters/mno"]
        assert other.verify(deep=True).ok


def test_a_difference_between_stores_tells_of_a_space_that_only_one_has(db: Database, tmp_path: Path) -> None:
    db.replay(tmp_path / "before")
    db.reembed(Letters(NEW))
    found = worlddb.diff(tmp_path / "before", db.path)
    fields = {detail.field for change in found.worlds for detail in change.changes if detail.kind == "vectors"}
    assert {"space", "space_chosen"} <= fields


def test_a_decision_about_spaces_is_decided_again_as_it_was(db: Database) -> None:
    db.reembed(Letters(NEW))
    db.drop_space("default")
    db.use_space(f"letters/{NEW}")
    found = db.redecide()
    assert (found.differing, found.undecidable, found.same) == ((), (), db.head().seq - 1)


# -- models


def test_another_model_under_the_same_name_is_found_out_before_anything_is_written(
    db: Database, tmp_path: Path
) -> None:
    db.create("Fact", "later", content="aab")
    head = db.head()
    changed = Letters("hgfedcba", model=f"letters/{OLD}")
    with open_store(tmp_path, changed) as other:
        with pytest.raises(worlddb.InputError, match="has changed since"):
            other.embed()
        with pytest.raises(worlddb.InputError, match="has changed since"):
            other.reembed(changed)
        assert "has changed since" in other.view().recall("aab").unavailable["vector"]
        assert other.head() == head


def test_a_model_that_answers_nearly_the_same_is_the_same(db: Database, tmp_path: Path) -> None:
    class Noisy(Letters):
        def embed(self, texts: Sequence[str], *, query: bool) -> Any:
            return np.asarray(super().embed(texts, query=query)) + 1e-3

    with open_store(tmp_path, Noisy(OLD)) as other:
        other.create("Fact", "later", content="aab")
        assert other.embed().embedded == 1


def test_a_store_of_a_model_that_is_not_here_is_read_by_words_and_says_which_model_it_wants(
    db: Database, tmp_path: Path
) -> None:
    with worlddb.open(tmp_path / "store") as other:
        assert f"letters/{OLD}" in other.view().recall("aaab").unavailable["vector"]
        other.create("Fact", "later", content="aab")
        with pytest.raises(worlddb.ModelUnavailable, match=f"letters/{OLD}"):
            other.embed()


def test_a_store_that_left_the_shipped_model_is_asked_by_the_one_of_its_space(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.create("Fact", "one", content="The dog is ill")
        db.embed()
        then = db.head().seq
    with open_store(tmp_path, Letters(NEW)) as db:
        assert by_meaning(db.view(), "puppy").space == "default"
        with pytest.raises(worlddb.InputError, match="wordllama"):
            db.embed()
        assert db.reembed(Letters(NEW)).in_use
        assert by_meaning(db.view(seq=then), "puppy").space == "default"
    with worlddb.open(tmp_path / "store") as db:
        assert db.reembed(worlddb.StaticEmbedder()).before == f"letters/{NEW}"


@pytest.mark.parametrize("given", ["", "no such model", 7, object(), Letters])
def test_what_is_no_embedder_is_refused_before_anything_is_opened(tmp_path: Path, given: Any) -> None:
    with pytest.raises(worlddb.InputError, match="embedder"):
        open_store(tmp_path, given)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"space": ""}, worlddb.InvalidText),
        ({"space": 5}, worlddb.InputError),
        ({"space": "default"}, worlddb.InputError),
        ({"limit": 0}, worlddb.InputError),
    ],
)
def test_a_move_with_a_wrong_argument_writes_nothing(db: Database, arguments: Any, error: type[Exception]) -> None:
    head = db.head()
    with pytest.raises(error):
        db.reembed(Letters(NEW), **arguments)
    assert db.head() == head


def test_a_store_without_texts_is_moved_too(tmp_path: Path) -> None:
    new = Letters(NEW)
    with worlddb.open(tmp_path / "store") as db:
        done = db.reembed(new)
        assert (done.embedded, done.in_use, done.before) == (0, True, "")
        db.create("Fact", "one", content="abc")
        assert db.embed().model == new.model
