"""Pairs of stores that differ only outside of one world, with bounds so low that small structures cross them.

Both stores commit at the same times and under the same numbers, and the same commands go to the world inside. What the
neighbour does there meanwhile is drawn apart: in one store very little, in the other the same names, types, texts and
edges as inside, in numbers around the bounds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.shared.exceptions import MCPError

import worlddb
from tests.support.isolation.inside import reads_by_reference
from tests.support.mcp_clients import with_all_fields
from worlddb import ManualClock, SeededEntropy
from worlddb.log.model.clock import RELEASED_AT
from worlddb.projections.tables.names import blocks
from worlddb.projections.tables.reads import table_reads
from worlddb.query.graph_query import operators
from worlddb.query.reads import window, world_lookup
from worlddb.query.recall import answer, candidates, ranking, retrieve
from worlddb.query.snapshot import confined_tables, provenance, snapshot, visible
from worlddb.reconciler.background import reclustering
from worlddb.reconciler.edge_types import supersession
from worlddb.reconciler.embedding import vectors_of_texts
from worlddb.reconciler.entity_resolution import namesakes, resolver
from worlddb.reconciler.similarity import verdict
from worlddb.reconciler.transaction import interiors
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Session

SECOND: Final = 1_000_000
SECRET: Final = b"s" * 32
OTHERS_TURN: Final = 10**6

LIMITS: Final[tuple[tuple[Any, str, int], ...]] = (
    (namesakes, "MAX_CONSIDERED", 3),
    (namesakes, "MAX_SCANNED", 6),
    (namesakes, "MAX_CHECKED_SINGLY", 2),
    (resolver, "MAX_WEIGHED", 3),
    (blocks, "WIDE", 3),
    (blocks, "NARROW", 2),
    (blocks, "SAME_FORM", 2),
    (blocks, "MAX_NAMESAKES", 3),
    (verdict, "MAX_EVIDENCE", 3),
    (interiors, "MAX_WORLDS", 2),
    (interiors, "MAX_MEMBERS", 12),
    (interiors, "MAX_COMMITS", 2),
    (supersession, "MAX_CONFLICTS_TOLD", 2),
    (reclustering, "MAX_NEIGHBOURS", 6),
    (reclustering, "MAX_NEW", 4),
    (reclustering, "MAX_EDGES", 4),
    (reclustering, "MAX_LEVELS", 2),
    (provenance, "MAX_SHOWN", 1),
    (provenance, "MAX_WEIGHED", 2),
    (vectors_of_texts, "MAX_NEAR", 2),
    (confined_tables, "MAX_CHECKED_NAMESAKES", 2),
    (confined_tables, "LEAST_CHECKED", 1),
    (visible, "MAX_BODIES", 2),
    (window, "MAX_KEPT", 8),
    (snapshot, "MAX_WORLDS", 1),
    (snapshot, "MAX_MEMBERS", 4),
    (snapshot, "MAX_COMMITS", 2),
    (table_reads, "_SHOWN_CANDIDATES", 2),
    (world_lookup, "_MAX_LISTED", 2),
    (operators, "MAX_SUGGESTION_WORLDS", 3),
    (candidates, "MAX_ENTITIES", 2),
    (candidates, "SMALL_WORLD", 3),
    (candidates, "MAX_LEADERS", 3),
    (candidates, "FIRST_PLACES", 2),
    (candidates, "MAX_EDGES", 2),
    (ranking, "MAX_REFERRING", 3),
    (retrieve, "_MAX_SUPERSEDED", 1),
    (answer, "MAX_OTHERS", 1),
)
"""The bounds that are lowered: module, name and value."""


def lower_bounds(patched: pytest.MonkeyPatch) -> None:
    """Lower every bound until the end of a test."""
    for module, name, value in LIMITS:
        assert getattr(module, name) > value, name
        patched.setattr(module, name, value)
    patched.setattr(blocks.Place.__new__, "__defaults__", (blocks.NARROW, False))


NAMES: Final = (
    *("Ada", "ada", "Ada Lovelace", "Ada Lovelase", "Ada M Lovelace", "Ada K Lovelace", "Adah Lovelace"),
    *("Rosalind Franklin", "Rosalynd Franklin", "Rosalinda Franklin", "Rosalind P Franklin", "Roz Franklin"),
    *("tea", "", "Sensor ASR1603", "Sensor ASR1605", "Sensors ASR1603"),
)
TYPE_NAMES: Final = ("Entity", "Person", "Fact", "Facts", "Factor")
TEXTS: Final = ("Ada likes tea.", "The boat of Ada is red.", "Rosalind prefers coffee, and 40 euros of it.", "")
EDGE_TYPES: Final = ("refers_to", "refers_to", "contradicts", "supersedes", "derived_from", "causes", "contains")
QUESTIONS: Final = ("What does Ada like?", "Rosalind Franklin and Ada Lovelace", "What did Ada like previously?")


class Turns:
    """Randomness that depends on the turn alone, not on earlier draws."""

    def __init__(self) -> None:
        self._source = SeededEntropy(0)

    def turn(self, number: int) -> None:
        self._source = SeededEntropy(number)

    def bytes(self, count: int) -> bytes:
        return self._source.bytes(count)


class Store:
    """One store of a pair."""

    def __init__(self, folder: Path, seed: int, *, crowded: bool) -> None:
        self.clock, self.turns = ManualClock(), Turns()
        self.db = worlddb.open(folder, clock=self.clock, entropy=self.turns, embedder=None)
        self._rng = random.Random(seed if crowded else ~seed)
        self._crowded = crowded
        self.turns.turn(1)
        self.mine = str(self.db.create("Tenant", "mine").ref)
        self.theirs = str(self.db.create("Tenant", "theirs").ref)
        self.outside = [self.theirs]
        self.refs: list[str] = [self.mine]
        self.edges: list[str] = []
        self.server = MemoryServer(Session(self.db, self.mine, secret=SECRET))
        self.notes = 0

    def neighbour(self, turn: int) -> None:
        """Make one commit of the neighbour, of this store's size."""
        self.clock.value = RELEASED_AT + turn * SECOND - SECOND // 2
        self.turns.turn(OTHERS_TURN + turn)
        rng = self._rng
        made: list[Any] = []
        with self.db.batch() as tx:
            for _ in range(rng.choice((1, 3, 7)) if self._crowded else 1):
                around = rng.choice(self.outside) if rng.random() < 0.3 else self.theirs
                kind, name, text = rng.choice(TYPE_NAMES), rng.choice(NAMES), rng.choice(TEXTS)
                made.append(tx.create(kind, name, content=text, world=around, resolve=False))
            for source in rng.sample(made, min(len(made), rng.randrange(5))) if self._crowded else ():
                self._edge_outside(tx, source)
        self.outside += tx.receipt.refs[: len(made)]

    def _edge_outside(self, tx: Any, source: Any) -> None:
        """An edge at home outside: among what is there, from there to what is inside or back, or among that."""
        rng = self._rng
        where = rng.random()
        if where < 0.5:
            tx.link(source, rng.choice(("refers_to", "causes", "derived_from")), rng.choice(self.outside))
            return
        kind, inside = rng.choice(("refers_to", "contradicts")), rng.choice(self.refs)
        if where < 0.8:
            tx.link(source, kind, inside, home=self.theirs)
        elif where < 0.9:
            tx.link(inside, "refers_to", source, home=self.theirs)
        elif (other := rng.choice(self.refs)) != inside:
            tx.link(inside, "refers_to", other, home=self.theirs)

    def inside(self, turn: int, rng: random.Random) -> str:
        """Make one command of the tenant; returns what its receipt may show the tenant."""
        self.clock.value = RELEASED_AT + turn * SECOND
        self.turns.turn(turn)
        return self._told(self._command(rng))

    def _command(self, rng: random.Random) -> Callable[[], Any]:
        db, some = self.db, rng.choice(self.refs[1:] or self.refs)
        around = rng.choice(self.refs) if rng.random() < 0.4 else self.mine
        name, kind, text = rng.choice(NAMES), rng.choice(TYPE_NAMES), rng.choice(TEXTS)
        resolve = rng.choice(("exact", "all", "all"))
        what = rng.randrange(12)
        edge_type, other, number = rng.choice(EDGE_TYPES), rng.choice(self.refs), rng.random()
        if what < 6 or len(self.refs) < 5:
            return lambda: db.create(kind, name, content=text, world=around, resolve=resolve)
        if what < 9:
            return lambda: db.link(some, edge_type, other)
        if what == 9:
            return lambda: db.revise(some, content=text) if number < 0.6 else db.retire(some)
        if what == 10:
            return lambda: db.alias(some, name) if name and number < 0.6 else db.move(some, around)
        pending = db.view(world=self.mine).proposals()
        if pending:
            chosen = pending[int(number * len(pending))].ref
            return lambda: db.accept(chosen) if number < 0.7 else db.reject(chosen)
        return lambda: db.create(kind, name, content=text, world=around, resolve=resolve)

    def _told(self, command: Callable[[], Any]) -> str:
        try:
            receipt = command()
            receipt.raise_if_refused()
        except worlddb.WorldDBError as error:
            return _worded(error)
        view = self.db.view(world=self.mine)
        self.refs += [ref for ref in receipt.refs if len(ref) == 32 and _sees(view, ref) and ref not in self.refs]
        proposals = [ref for ref in receipt.proposals if _answers(partial(view.proposal, ref))]
        notes = [note for note in receipt.notes if all(_sees(view, ref) or ref in proposals for ref in note.refs)]
        self.notes += len(notes)
        return repr((receipt.outcome, receipt.events, receipt.refs, proposals, notes))

    def answers(self, rng: random.Random) -> Iterator[tuple[str, str]]:
        """The tenant's answers now, by every kind of read."""
        view = self.db.view(world=self.mine)
        unified = self.db.view(world=self.mine, unify=True)
        ref, *more = rng.sample(self.refs, min(3, len(self.refs)))
        question = rng.choice(QUESTIONS)
        for name, read in _reads(view, [ref, *more]):
            yield name, _said(read)
        for name, read in _recalls(rng.choice((view, view, unified)), question):
            yield name, _said(read)
        yield "find identities", _said(unified.find)
        yield "children that are identities", _said(lambda: list(unified.children()))
        for number, of_world in enumerate(reads_by_reference(view)):
            yield f"read {number} of a world", _said(partial(of_world, ref))
        for stranger in rng.sample(range(2**20), 2):
            yield "a prefix", _said(partial(view.get, f"{stranger:05x}"[:4]))
        yield from anyio.run(self._answered, rng.sample(CALLS, 4))

    async def _answered(self, calls: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, str]]:
        return [(tool, await self._call(tool, arguments)) for tool, arguments in calls]

    async def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        try:
            if not tool:
                return repr(await self.server.list_resources())
            found = (await self.server.call_tool(tool, with_all_fields(tool, arguments))).structured_content
        except (ToolError, MCPError, ResourceNotFoundError) as error:
            return f"{type(error).__name__}: {error}"
        if isinstance(found, dict) and found.get("next_cursor"):
            found = {**found, "next_cursor": len(found["next_cursor"])}
        return repr(found)

    def write(self, turn: int, rng: random.Random) -> str:
        """A memory that the tenant writes by way of the server."""
        self.clock.value = RELEASED_AT + turn * SECOND
        self.turns.turn(turn)
        arguments: dict[str, Any] = {
            "text": rng.choice(TEXTS) or "tea",
            "user_id": rng.choice(("ada", "7")),
            "type": "Entity",
        }
        arguments |= {"name": rng.choice(NAMES), "about": rng.sample(NAMES[:7], 2)}
        told = anyio.run(self._call, "memory_write", arguments)
        view = self.db.view(world=self.mine)
        known = {world.ref for world in view.find(include_superseded=True)}
        self.refs += sorted(known - set(self.refs))
        return told

    def reclustered(self, turn: int) -> str:
        """The proposals inside by a reclustering of the whole store."""
        self.clock.value = RELEASED_AT + turn * SECOND
        self.db.recluster()
        found = self.db.view(world=self.mine).proposals(status=None)
        return repr(sorted((each.source, each.target, each.status, repr(each.evidence)) for each in found))


CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("memory_recall", {"query": QUESTIONS[0]}),
    ("memory_recall", {"query": QUESTIONS[1], "group": 2}),
    ("memory_recall", {"query": QUESTIONS[0], "neighbours": 3, "user_id": "ada"}),
    ("memory_recall", {"query": QUESTIONS[0], "paths": 3, "widen": True, "user_id": "ada"}),
    ("memory_list", {"limit": 2}),
    ("memory_list", {"user_id": "ada", "include_retired": True}),
    ("memory_list_scopes", {}),
    ("memory_conflicts", {}),
    ("memory_proposals", {"status": "all"}),
    ("", {}),
)


def _reads(view: worlddb.View, refs: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "find", view.find
    yield "find what has ended", lambda: view.find(include_superseded=True)
    for name in NAMES:
        yield f"find {name!r}", partial(view.find, name=name)
        yield f"the reference of {name!r}", partial(view.reference_of, name)
    for kind in TYPE_NAMES:
        yield f"find a {kind}", partial(view.find, type=kind, limit=3)
        yield f"query {kind}s", view.query(world=view.world).filter_type(f"{kind}s").run
    yield "children", lambda: list(view.children())
    yield "counts", view.counts
    yield "proposals", lambda: view.proposals(status=None)
    yield "the log", lambda: list(view.log())
    yield "conflicts", lambda: [view.conflicts(ref) for ref in refs]
    yield "contradictions", lambda: list(view.contradictions())
    yield "what has a key", lambda: [view.keyed(key) for key in ("k1", "k2", "k3")]
    yield "tunings", view.tunings
    yield "edge types", view.edge_types


def _recalls(view: worlddb.View, text: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield f"recall {text}", lambda: view.recall(text, k=3)
    yield f"recall {text} in groups", lambda: view.recall(text, k=2, group=2)
    yield f"recall {text} with neighbours", lambda: view.recall(text, k=3, neighbours=3)
    yield f"recall {text} in streams", lambda: view.recall(text, k=3, streams=worlddb.Streams(paths=5, hit_paths=2))
    weighed: dict[str, Any] = {"type_weights": {"Note": 2}, "siblings": 0.3, "fuzzy": True}
    yield f"recall {text} weighed", lambda: view.recall(text, k=3, **weighed)
    yield f"recall {text}x respelled", lambda: view.recall(f"{text}x", k=3, fuzzy=True)
    yield f"recall {text} of all times", lambda: view.recall(text, include_superseded=True)
    yield f"recall {text} by names", lambda: view.recall(text, lanes=["entity"], fusion="rrf")
    yield f"query {text}", lambda: view.query(text=text).run()


def _said(read: Callable[[], Any]) -> str:
    try:
        found = read()
        # What is read as it is asked for is shown by its address, which says nothing of it.
        return type(found).__name__ if isinstance(found, Iterator) else repr(found)
    except worlddb.WorldDBError as error:
        return _worded(error)


def _worded(error: worlddb.WorldDBError) -> str:
    return f"{type(error).__name__}: {error} {error.details}"


def _sees(view: worlddb.View, ref: str) -> bool:
    return _answers(lambda: view.get(ref, include_superseded=True)) or _answers(lambda: view.edge(ref))


def _answers(read: Callable[[], Any]) -> bool:
    try:
        return read() is not None
    except worlddb.InputError:
        return False
