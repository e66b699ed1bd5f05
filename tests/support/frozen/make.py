"""Make the frozen store of today's format: ``python -m tests.support.frozen.make``.

Once a format is released, its frozen store must never be made again: it stands for the files that users have. Until
then, make it again whenever the bytes of a store change. A new format gets a new file beside the old ones.
"""

from __future__ import annotations

import argparse
import json
import lzma
import tempfile
from pathlib import Path
from typing import Any

import worlddb
from tests.support.running import DAY
from worlddb import Database, HandledEdge, HandlerContext, Insert, ManualClock, PlainHandler, SeededEntropy
from worlddb.log.model.events import FORMAT

HERE = Path(__file__).parent
SEED = 1
PLAIN_TYPES = ("refers_to", "contradicts", "implies", "derived_from", "instance_of", "subtype_of", "causes", "precedes")


class Employs(PlainHandler):
    """An edge type of somebody's own."""

    name = "employs"

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        return super().on_insert(ctx, edge)


def fill(db: Database, clock: ManualClock, folder: Path) -> None:
    """A bit of everything that a log can hold."""

    def next_day() -> None:
        clock.advance(DAY)

    team = db.create("Topic", "Search team", valid_from="2024-01-01", key="team", idempotency_key="first")
    next_day()
    sarah = db.create("Entity", "Sarah Chen", content="engineering lead", aliases=["Sarah"], world=team, why="met her")
    next_day()
    db.revise(sarah, content="VP of engineering", valid_from="2025-02-01", why="announced", source={"file": "a.txt"})
    facts = [db.create("Fact", f"fact {number}", content=f"text {number}", world=team) for number in range(6)]
    for number, type_name in enumerate(PLAIN_TYPES):
        db.link(facts[number % 4], type_name, facts[number % 4 + 1], properties={"n": number}, key=f"edge {number}")
        next_day()
    db.link(facts[5], "supersedes", facts[4])
    db.retire(facts[3], at="2030-01-01")
    db.unlink(db.link(facts[0], "refers_to", sarah))
    twins = [db.create("Entity", name, world=team) for name in ("sarah chen", "SARAH CHEN", "Sarah  Chen")]
    (first, second, third) = (twin.proposals[0] for twin in twins)
    db.accept(first)
    db.undo(first)
    db.reject(second, why="another one")
    assert third
    with db.batch(idempotency_key="batch") as tx:
        inner = tx.create("Topic", "Inner", world=team)
        tx.create("Note", "noted", content="in a batch", world=inner)
    db.move(facts[1], db.create("Topic", "Elsewhere"))
    db.alias(sarah, "S. Chen")
    db.unalias(sarah, "Sarah")
    db.register(Employs(), functional=True)
    db.link(team, "employs", sarah)
    db.bookmark("before the talk")
    next_day()
    said = [{"speaker": "Ann", "text": "I bought a piano."}, {"speaker": "Ben", "text": "Which colour?"}]
    db.ingest(said, conversation="chat", session="one", at="2025-03-01")
    db.embed()
    gone = db.create("Note", "a secret", content="to be erased")
    db.erase(gone, reason="request 7", forbid=True)
    with worlddb.open(folder / "other", clock=clock, entropy=SeededEntropy(SEED + 1), embedder=None) as other:
        shelf = other.create("Topic", "Shelf")
        other.create("Book", "On the Shortness of Life", world=shelf)
        other.export(shelf, folder / "shelf.bundle")
    db.import_bundle(folder / "shelf.bundle", into=team)


def answers(db: Database) -> dict[str, Any]:
    """What the store answers, as plain values, when it is made and when it is read later."""
    view = db.view(valid=db.head().ingested_at)
    found = [view.get(ref, include_superseded=True) for ref in sorted(_worlds(db))]
    return {
        "head": [db.head().seq, db.head().chain, db.head().root, db.head().tree],
        "worlds": [[world.ref, world.type, world.name, world.content, world.valid.start] for world in found if world],
        "edges": sorted(edge.ref for ref in _worlds(db) for edge in view.edges(ref, include_superseded=True)),
        "proposals": [[each.ref, each.status] for each in db.proposals(status=None)],
        "bookmarks": [[each.name, each.seq] for each in db.bookmarks()],
        "recall": [hit.ref for hit in view.recall("piano", k=3, exact=True, lanes=["text"]).hits],
        "hash in the past": db.view(seq=9).hash(),
    }


def _worlds(db: Database) -> set[str]:
    return {entry.refs[0] for entry in db.log() if entry.event == "created"}


def main() -> None:
    """Write ``format-N.mdb.xz`` and ``format-N.json``."""
    argparse.ArgumentParser(prog="python -m tests.support.frozen.make", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, clock = Path(scratch), ManualClock()
        with worlddb.open(
            folder / "store", author="ada", clock=clock, entropy=SeededEntropy(SEED), edge_types=[Employs()]
        ) as db:
            fill(db, clock, folder)
            told = answers(db)
        packed = lzma.compress((folder / "store" / "data.mdb").read_bytes(), preset=9 | lzma.PRESET_EXTREME)
    (HERE / f"format-{FORMAT}.mdb.xz").write_bytes(packed)
    text = json.dumps(told, indent=1, ensure_ascii=False)
    (HERE / f"format-{FORMAT}.json").write_text(text + "\n", encoding="utf-8")
    print(f"format-{FORMAT}.mdb.xz: {len(packed):,} bytes")


if __name__ == "__main__":
    main()
