"""What a bundle takes of memory: checked next to nothing, imported twice what it unpacks to."""

from __future__ import annotations

import json
from pathlib import Path

import worlddb
from bench._memory import AnonPeak
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
