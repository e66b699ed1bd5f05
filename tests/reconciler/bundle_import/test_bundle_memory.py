"""What a bundle takes of memory: checked next to nothing, imported twice what it unpacks to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import worlddb
from bench.measuring.memory import AnonPeak
from tests.support.faults.children import call

MIB = 1 << 20
ALLOWED = 24 * MIB
TEXTS, TEXT = 40, "a" * MIB


def take_in(bundle: Path, store: Path, told: Path) -> None:
    """Check a bundle, then import it, and say what each took."""
    with worlddb.open(store, embedder=None) as db:
        db.create("Note", "so that all that a write needs is loaded")
        with AnonPeak() as checking:
            before = checking.bytes
            worlddb.check_bundle(bundle)
        with AnonPeak() as importing:
            assert db.import_bundle(bundle)
    told.write_text(json.dumps([checking.bytes - before, importing.bytes - before]))


def test_a_small_bundle_of_large_texts_takes_at_most_twice_what_it_unpacks_to(tmp_path: Path) -> None:
    """Each text was held three times: as it came, decoded, and as it was written."""
    bundle, told = tmp_path / "texts.bundle.zst", tmp_path / "told.json"
    with worlddb.open(tmp_path / "from", embedder=None) as db:
        with db.batch() as tx:
            box = tx.create("Box", "box")
            for number in range(TEXTS):
                tx.create("Note", f"note {number}", content=TEXT, world=box, resolve=False)
        made = db.export(tx.receipt.refs[0], bundle)
    assert made.size > TEXTS * MIB and bundle.stat().st_size < MIB // 10
    assert call(take_in, bundle, tmp_path / "to", told) == 0
    checked, imported = json.loads(told.read_text())
    assert checked <= ALLOWED, f"{checked / MIB:.0f} MiB"
    assert imported <= 2 * made.size + ALLOWED, f"{imported / MIB:.0f} MiB for {made.size / MIB:.0f}"


def test_a_conversation_that_came_in_a_bundle_and_is_taken_in_again_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its texts were written a second time without a word, since bundles bring no keys."""
    said = [worlddb.Turn(speaker="Ana", text="I work at Initech.", key="1")]
    with worlddb.open(tmp_path / "source", author="a", embedder=None) as source:
        first = source.ingest(said, conversation="talk", session="s")
        source.export(first.refs[0], tmp_path / "talk.bundle")
    with worlddb.open(tmp_path / "copy", author="b", embedder=None) as copy:
        copy.import_bundle(tmp_path / "talk.bundle")
        again = copy.ingest(said, conversation="talk", session="s")
        (note,) = again.notes
        assert note.code == "beside_imported" and note.refs == (again.refs[0], first.refs[0])
        for other in ("talk", "another talk"):
            more = [*said, worlddb.Turn(speaker="Bo", text="Since when?", key="2")]
            assert copy.ingest(more, conversation=other, session="s").notes == ()
        # The only one of its name is looked up by no read of the store: each ingest had one.
        monkeypatch.setattr(copy, "view", None)
        for number in range(2):
            assert copy.ingest(said, conversation="walk", session="s", start=number).notes == ()


def test_a_message_that_is_sent_again_after_an_import_under_its_key_says_that_keys_do_not_travel(
    tmp_path: Path,
) -> None:
    """It was written a second time without a word: the importing store cannot know the key of another one."""
    told, key = [{"role": "user", "content": "Hello there."}], "k1"
    with worlddb.open(tmp_path / "source", embedder=None) as source:
        mem = worlddb.memory(source, user="ana", session="s")
        (first,) = mem.add(told, idempotency_key=key).ids
        mem.add([{"role": "user", "content": "How are you?"}], idempotency_key="k2")
        assert mem.add(told, idempotency_key=key).ids == (first,)
        source.export(source.view().find(name="user:ana")[0].ref, tmp_path / "ana.bundle")
    with worlddb.open(tmp_path / "copy", embedder=None) as copy:
        copy.import_bundle(tmp_path / "ana.bundle")
        mem = worlddb.memory(copy, user="ana", session="s")
        again = mem.add(told, idempotency_key=key)
        (note,) = again.notes
        assert again.ids != (first,) and note.startswith(f"{first} came in a bundle") and "no idempotency keys" in note
        assert mem.add(told, idempotency_key=key).ids == again.ids, "from then on the key is known here"
        assert mem.add([{"role": "user", "content": "Yes."}], idempotency_key="k3").notes == ()
        assert mem.add([{"role": "user", "content": "How are you?"}]).notes == (), "without a key it may be said again"
