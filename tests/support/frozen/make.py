"""Make the frozen stores of today's format: ``python -m tests.support.frozen.make NAME``.

Once a format is released, its frozen stores must never be made again: they stand for the files that users have. Until
then, make one again whenever its bytes change. A new format, or a new kind of event, gets a new file beside the old
ones: ``format-1`` is of the first release, ``format-1-spans`` has versions that hold in several spans.
"""

from __future__ import annotations

import argparse
import json
import lzma
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blake3 import blake3

import worlddb
from tests.support.running import DAY
from worlddb import Database, HandledEdge, HandlerContext, Insert, ManualClock, PlainHandler, SeededEntropy
from worlddb.log.model.events import FORMAT
from worlddb.log.model.times import ALWAYS, FOREVER

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


def fill_spans(db: Database, clock: ManualClock, folder: Path) -> None:
    """Windows, holes, ends that were resumed, and late arrivals, of worlds and of edges."""
    team = db.create("Topic", "Search team", valid_from="2024-01-01", key="team")
    rate = db.create("Fact", "Rate", content="150", world=team, valid_from="2024-01-01", key="rate")
    db.revise(rate, content="190", valid_from="2026-01-01", why="a rise")
    clock.advance(DAY)
    db.revise(rate, content="175", valid_from="2025-01-01", why="told late")
    db.revise(rate, content="160", valid_from="2025-03-01", valid_to="2025-06-01")
    clock.advance(DAY)
    db.retire(rate, valid_from="2025-04-01", valid_to="2025-05-01", why="waived in April")
    undated = db.create("Fact", "Office", content="Lisbon", world=team)
    db.revise(undated, content="Porto", valid_from="2023-01-01")
    db.revise(undated, content="Faro", valid_from="2023-05-01", replace_later=True)
    clock.advance(DAY)
    guests = db.create("Fact", "Guests", content="welcome", world=team, valid_from="2024-01-01")
    edge = db.link(guests, "refers_to", rate, valid_from="2024-01-01", valid_to="2027-01-01")
    db.retire(edge, valid_from="2024-05-01", valid_to="2024-06-01")
    db.retire(edge, at="2026-01-01")
    db.retire(guests, at="2025-01-01", why="a misunderstanding")
    clock.advance(DAY)
    db.reassert(guests, valid_from="2025-02-01")
    others = [db.create("Fact", f"fact {number}", valid_from=f"2025-0{number}-01", world=team) for number in (1, 3, 5)]
    db.link(others[1], "supersedes", others[0])
    clock.advance(DAY)
    db.link(others[2], "supersedes", others[1])
    db.reassert(others[0], content="again", valid_from="2025-07-01")
    db.revise(rate, content="200", valid_from="2026-06-01", replace_later=True)
    db.retire(team, at="2030-01-01", members=True)
    with worlddb.open(folder / "other", clock=clock, entropy=SeededEntropy(SEED + 1), embedder=None) as other:
        shelf = other.create("Topic", "Shelf", valid_from="2024-01-01")
        other.retire(shelf, valid_from="2024-02-01", valid_to="2024-03-01")
        other.export(shelf, folder / "shelf.bundle")
    db.import_bundle(folder / "shelf.bundle")


def moments(db: Database) -> list[list[Any]]:
    """What every commit knew: a digest of which versions and edges hold at each time that something begins or ends."""
    made, told = {entry.refs[0]: entry.seq for entry in db.log() if entry.event == "created"}, []
    for seq in range(1, db.head().seq + 1):
        view = db.view(seq=seq)
        known = sorted(ref for ref in made if made[ref] <= seq)
        edges = {edge.ref: edge for ref in known for edge in view.edges(ref, include_superseded=True)}
        held_at = [version for ref in known for version in view.history(ref)] + list(edges.values())
        spans = [span for each in held_at for span in (each.valid, *getattr(each, "spans", ()))]
        turns = {end for span in spans for end in (span.start, span.end)}
        digest = blake3(view.hash().encode())
        for at in sorted(turns - {ALWAYS, FOREVER}):
            then = db.view(seq=seq, valid=at)
            found = {ref: then.get(ref) for ref in known}
            held = [(ref, world.number, world.valid.start, world.valid.end) for ref, world in found.items() if world]
            seen = sorted({edge.ref for ref in known for edge in then.edges(ref)})
            digest.update(json.dumps([at, held, seen]).encode())
        told.append([seq, len(turns), digest.hexdigest()[:16]])
    return told


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


FILLED: dict[str, Callable[[Database, ManualClock, Path], None]] = {
    f"format-{FORMAT}": fill,
    f"format-{FORMAT}-spans": fill_spans,
}


def main() -> None:
    """Write ``NAME.mdb.xz``, ``NAME.json`` and ``NAME-moments.json``."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.frozen.make", description=__doc__)
    parser.add_argument("name", choices=FILLED)
    name = parser.parse_args().name
    with tempfile.TemporaryDirectory() as scratch:
        folder, clock = Path(scratch), ManualClock()
        with worlddb.open(
            folder / "store", author="ada", clock=clock, entropy=SeededEntropy(SEED), edge_types=[Employs()]
        ) as db:
            FILLED[name](db, clock, folder)
            told, known = answers(db), moments(db)
        packed = lzma.compress((folder / "store" / "data.mdb").read_bytes(), preset=9 | lzma.PRESET_EXTREME)
    (HERE / f"{name}.mdb.xz").write_bytes(packed)
    for each, values in ((name, told), (f"{name}-moments", known)):
        text = json.dumps(values, indent=1 if values is told else None, ensure_ascii=False)
        (HERE / f"{each}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{name}.mdb.xz: {len(packed):,} bytes")


if __name__ == "__main__":
    main()
