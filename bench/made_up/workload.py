"""A seeded mix of worlds with members and edges of all built-in types, in batches of commands.

Of the edges, `refers_to` has most; the types that order their ends run from newer nodes to older ones, so that no
handler refuses. The mix is drawn before the clock runs: what is timed is the engine's own work.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import worlddb
from worlddb import Batch, Database, ManualClock, Pending, SeededEntropy
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import ROOT_NODE

SHARES: Final = {
    "refers_to": 55,
    "contains": 5,
    "supersedes": 3,
    "same_as": 2,
    "contradicts": 3,
    "implies": 6,
    "derived_from": 8,
    "instance_of": 6,
    "subtype_of": 2,
    "causes": 5,
    "precedes": 5,
}
"""How many of a hundred edges are of each type."""

WORLD_EVERY: Final = 40
"""One node in so many is a world that others are put into."""

CONTENT_WORDS: Final = 12

FIRST_NODE: Final = ROOT_NODE + 1
"""The number that the tables give the first node of a load."""

_SYMMETRIC: Final = frozenset({"same_as", "contradicts"})
_FREE: Final = frozenset({"refers_to", "implies"})
_FIRST_EDGE_AFTER: Final = 8
_TRIES: Final = 20
_EPOCH_MICROS: Final = 1_700_000_000_000_000
_SYLLABLES: Final = tuple(consonant + vowel for consonant in "bdklmnst" for vowel in "aeio")
_VOCABULARY: Final = tuple("".join(parts) for parts in itertools.product(_SYLLABLES, repeat=2)) + tuple(
    "".join(parts) for parts in itertools.product(_SYLLABLES[::4], repeat=4)
)
_FREQUENCIES: Final = tuple(itertools.accumulate(1 / (rank + 10) for rank in range(len(_VOCABULARY))))


def words(draw: random.Random, count: int) -> str:
    """Made-up words, a few of them common and most of them rare, as in texts."""
    return " ".join(draw.choices(_VOCABULARY, cum_weights=_FREQUENCIES, k=count))


class NewNode(NamedTuple):
    """A create; ``world`` is the position of a node made before, ``None`` for the root world."""

    type: str
    name: str
    content: str
    world: int | None
    aliases: tuple[str, ...]
    source: dict[str, Any] | None
    valid_from: int


class NewEdge(NamedTuple):
    """A link between the nodes at two positions."""

    source: int
    type: str
    target: int
    properties: dict[str, Any] | None


Operation = NewNode | NewEdge


class Mix:
    """The same operations for the same seed and sizes."""

    def __init__(self, seed: int, nodes: int, edges: int) -> None:
        self._random = random.Random(seed)
        self._nodes = nodes
        self._edges = edges
        self._worlds: list[int] = []
        self._homes: list[int | None] = []
        self._pairs: set[tuple[str, int, int]] = set()
        self._types = tuple(SHARES)
        self._shares = tuple(SHARES.values())

    def batches(self, size: int) -> Iterator[list[Operation]]:
        """All operations, ``size`` a commit."""
        batch: list[Operation] = []
        for operation in self._operations():
            batch.append(operation)
            if len(batch) == size:
                yield batch
                batch = []
        if batch:
            yield batch

    def _operations(self) -> Iterator[Operation]:
        linked = 0
        for position in range(self._nodes):
            yield self._node(position)
            due = self._edges * (position + 1) // self._nodes if position >= _FIRST_EDGE_AFTER else 0
            for _ in range(linked, due):
                yield self._edge(position + 1)
            linked = max(linked, due)

    def _node(self, position: int) -> NewNode:
        draw = self._random
        is_world = position % WORLD_EVERY == 0
        inside = bool(self._worlds) and (not is_world or draw.random() < 0.7)
        world = draw.choice(self._worlds) if inside else None
        called = words(draw, 2)
        if is_world:
            self._worlds.append(position)
        self._homes.append(world)
        return NewNode(
            "Topic" if is_world else "Entity" if position % 4 else "Fact",
            f"{called} {position}",
            words(draw, CONTENT_WORDS),
            world,
            (f"{called} called {position}",) if draw.random() < 0.05 else (),
            {"file": "notes.jsonl", "line": position} if draw.random() < 0.2 else None,
            _EPOCH_MICROS + position,
        )

    def _edge(self, known: int) -> NewEdge:
        draw = self._random
        (kind,) = draw.choices(self._types, self._shares)
        for _ in range(_TRIES):
            ends = self._ends(kind, known)
            if ends is not None:
                break
        else:
            kind, ends = "refers_to", (1, 0)
        properties = {"confidence": round(draw.random(), 2)} if draw.random() < 0.1 else None
        return NewEdge(ends[0], kind, ends[1], properties)

    def _ends(self, kind: str, known: int) -> tuple[int, int] | None:
        """Two nodes that the type's handler accepts, or ``None`` to draw again."""
        draw = self._random
        source = draw.randrange(known)
        # A few nodes are referred to far more often than the others.
        target = draw.randrange(known if draw.random() < 0.8 else max(1, known // 100))
        if source == target:
            return None
        if kind in _FREE:
            return source, target
        if kind == "contains":
            world = draw.choice(self._worlds)
            # Only leaves get a second container, so that containment cannot turn back on itself.
            if not target % WORLD_EVERY or self._homes[target] == world:
                return None
            return self._once(kind, world, target)
        older, newer = sorted((source, target))
        return self._once(kind, newer, older) if kind in _SYMMETRIC else (newer, older)

    def _once(self, kind: str, source: int, target: int) -> tuple[int, int] | None:
        if (kind, source, target) in self._pairs:
            return None
        self._pairs.add((kind, source, target))
        return source, target


class Loader:
    """Sends batches of operations to a store and keeps the ids of the nodes, 16 bytes each."""

    _ID_BYTES: Final = 16

    def __init__(self, db: Database) -> None:
        self._db = db
        self._ids = bytearray()
        self.events = 0
        """How many events all that was sent came to."""

    def commit(self, operations: list[Operation]) -> None:
        """One batch, one durable commit."""
        known = len(self._ids) // self._ID_BYTES
        pending: list[Pending] = []

        def at(position: int) -> bytes | Pending:
            return self.ref(position) if position < known else pending[position - known]

        with self._db.batch() as tx:
            for operation in operations:
                if isinstance(operation, NewNode):
                    pending.append(_create(tx, operation, at))
                else:
                    tx.link(at(operation.source), operation.type, at(operation.target), properties=operation.properties)
        self.events += tx.receipt.events
        for operation, ref in zip(operations, tx.receipt.refs, strict=True):
            if isinstance(operation, NewNode):
                self._ids += bytes.fromhex(ref)

    def ref(self, position: int) -> bytes:
        """The id of the node at a position."""
        start = position * self._ID_BYTES
        return bytes(self._ids[start : start + self._ID_BYTES])


class LoadedNodes:
    """The ids of a loaded store's nodes by position, and the numbers of nodes and events."""

    def __init__(self, db: Database) -> None:
        self._db = db
        with db._env.read() as txn:
            self.nodes = Tables(txn).progress().next_node - FIRST_NODE
            log = LmdbLog(txn)
            self.events = sum(log.header(seq).event_count for seq in range(2, log.head().seq + 1))

    def ref(self, position: int) -> bytes:
        """The id of the node at a position."""
        with self._db._env.read() as txn:
            return Tables(txn).node(FIRST_NODE + position).lineage


def _create(tx: Batch, node: NewNode, at: Any) -> Pending:
    made: Pending = tx.create(
        node.type,
        node.name,
        content=node.content,
        aliases=node.aliases,
        world=None if node.world is None else at(node.world),
        source=node.source,
        valid_from=node.valid_from,
    )
    return made


def open_seeded(path: Any, seed: int, **options: Any) -> Database:
    """Open a store whose every byte follows from the seed and the writes."""
    return worlddb.open(path, author="bench", clock=ManualClock(), entropy=SeededEntropy(seed), **options)


def load(path: Any, seed: int, nodes: int, edges: int, batch: int, **options: Any) -> tuple[Database, Loader]:
    """Make a store with the whole mix, without embeddings."""
    db = open_seeded(path, seed, **options)
    loader = Loader(db)
    for operations in Mix(seed, nodes, edges).batches(batch):
        loader.commit(operations)
    return db, loader
