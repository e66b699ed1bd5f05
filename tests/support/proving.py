"""Stores for proofs, and the checker that the documentation prints."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import worlddb
from tests.house.test_docs import blocks, text_of
from worlddb.projections.tables.storage.schema import CONTAINS_CODE

TYPES = ("refers_to", "implies", "causes", "derived_from")


class ByHand:
    """The documentation's functions, which need no WorldDB and raise for an invalid proof."""

    def __init__(self) -> None:
        names: dict[str, Any] = {}
        for block in blocks(text_of("docs/proofs.md")):
            if block.kind == "python" and "def check_" in block.body:
                exec(block.body, names)
        self._inclusion, self._consistency = names["check_inclusion"], names["check_consistency"]

    def inclusion(self, proof: str, head: str) -> None:
        self._inclusion(json.loads(proof), head)

    def consistency(self, proof: str) -> None:
        self._consistency(json.loads(proof))


BY_HAND = ByHand()


def grow(store: Path, seed: int, commits: int) -> None:
    """Random worlds that lie in several others, with edges, moves and revisions."""
    rng = random.Random(seed)
    refs: list[str]
    edges: list[str] = []
    with worlddb.open(store, author="x", clock=worlddb.ManualClock(), entropy=worlddb.SeededEntropy(seed)) as db:
        refs = [db.create("Topic", "first").ref]
        for number in range(commits):
            one, other = rng.choice(refs), rng.choice(refs)
            step = rng.random()
            if step < 0.4:
                with db.batch() as tx:
                    for extra in range(rng.choice((1, 1, 3, 50))):
                        tx.create("Note", f"note {number} {extra}", content=f"text {number} {extra}", world=one)
                refs.append(tx.receipt.refs[0])
            elif step < 0.5:
                db.link(one, "contains", other)
            elif step < 0.7:
                written = db.link(one, rng.choice(TYPES), other, why=f"because {number}")
                edges.extend([written.ref] if written else [])
            elif step < 0.8:
                db.revise(one, content=f"revised {number}")
            elif step < 0.9:
                db.move(one, other, out_of=next(iter(db.view().containers(one))))
            elif edges:
                db.unlink(edges.pop(rng.randrange(len(edges))))


def everything(db: worlddb.Database, seq: int) -> Iterator[str]:
    """Every world and every edge, except containment, at a commit."""
    with db._reader.snapshot() as snapshot:
        tables = snapshot.tables
        rows = [tables.node(node) for node in range(tables.progress().next_node)]
        found = [row.lineage.hex() for row in rows if row.created <= seq]
        for edge, _ in tables.edges.scan(b""):
            place = tables.place_of(edge)
            assert place is not None
            row = tables.edge(place)
            if row.seq <= seq < row.unlinked and place.type != CONTAINS_CODE:
                found.append(edge.hex())
    yield from found


def containers(db: worlddb.Database, ref: str, seq: int) -> list[str]:
    """All worlds that a world was in, at any depth, by the reads of a view."""
    view = db.view(seq=seq)
    found: list[str] = []
    pending = [ref]
    for each in pending:
        for above in view.containers(each):
            if above not in found:
                found.append(above)
                pending.append(above)
    return found


def changes(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The document with one member at a time changed, dropped or doubled, at any depth."""
    for name, value in document.items():
        yield {each: found for each, found in document.items() if each != name}
        yield document | {name + "s": value}
        for other in others(value):
            yield document | {name: other}


def others(value: Any) -> Iterator[Any]:
    """Other values of the same sort, and of another one."""
    yield None
    yield [value]
    if isinstance(value, int):
        yield from (value + 1, value - 1, -value, 2**64, str(value), value + 0.5)
    elif isinstance(value, str):
        yield from (value[2:], value + "00", value.upper() + "\n", value[::-1] + "0", 7)
        yield ("0" if value[:1] != "0" else "1") + value[1:]
    elif isinstance(value, list):
        yield value + value[:1] if value else ["00" * 32]
        for at, each in enumerate(value):
            yield value[:at] + value[at + 1 :]
            yield value[::-1] if value != value[::-1] else None
            inner = changes(each) if isinstance(each, dict) else others(each)
            yield from ([*value[:at], changed, *value[at + 1 :]] for changed in inner)
    elif isinstance(value, dict):
        yield from changes(value)
