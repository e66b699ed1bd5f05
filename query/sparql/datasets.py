"""The dataset of a SPARQL query: statements of worlds at moments, and the memory graph, as parts.

The statements of a world are the same from one commit to the next that names them, and from one valid time to the next
at which one of them begins or ends. Such a *statement span* is remembered once it was read, so that views of other
moments within it are answered from what a worker already holds.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from worlddb.log.model import errors
from worlddb.log.statements import terms
from worlddb.log.statements.terms import WORLD_URN
from worlddb.query.question.question import LANES, VECTOR
from worlddb.query.reads.window import Window
from worlddb.query.reads.world_lookup import named_node
from worlddb.query.snapshot.visible import VisibleSnapshot
from worlddb.query.sparql import rdf_formats
from worlddb.query.sparql.memory_graph import Memory, memory_lines
from worlddb.query.sparql.sparql_tokens import MEMORY, SEARCH, Sparql
from worlddb.query.sparql.sparql_workers import Part
from worlddb.query.statements import statement_reads
from worlddb.query.statements.statement_reads import Bounds, Pattern

MAX_GRAPHS: Final = 16
"""The number of graphs at moments that one query may name."""
NEW: Final = object()
"""Given instead of a world: a world that does not exist yet, without statements."""
_MAX_SPANS: Final = 256
"""For all worlds and stores together; the least recently used goes first."""


class QuerySource(NamedTuple):
    """The view that a query runs on: its reads, its window, and ``at``, which gives the view of another moment.

    ``erasures`` changes with every erasure in the store.
    """

    memory: Memory
    window: Window
    erasures: Any
    at: Callable[[str | None, str | None], QuerySource]

    @property
    def stamp(self) -> str:
        """An identifier of what the view sees."""
        window, memory = self.window, self.memory
        place = f"{window.place.moment} {memory.world} {window.shows} {window.unify}"
        return f"{window.reader.store_id.hex()} {self.erasures} {memory!r} {place}"


class StatementSpan(NamedTuple):
    """The statements of a world from one commit to another and within a stretch of valid time.

    ``chain`` is the chain hash of the last commit; it differs in a copy of the store that diverged.
    """

    name: str
    first: int
    last: int
    chain: bytes
    bounds: Bounds


class OlderDataset(NamedTuple):
    """A dataset of an earlier commit by name, and ``change``: the lines removed and added since."""

    name: str
    change: Callable[[], tuple[bytes, bytes]]


class DatasetPart(NamedTuple):
    """A part of a dataset, with a name that identifies its content, and a function that reads it.

    ``behind`` is an older dataset that a worker may hold, and how to bring it up to date. ``missed`` says why a search
    did not use meaning; reasons known beforehand are part of the name, those found on reading are not.
    """

    name: str
    graph: str | None
    read: Callable[[], Part]
    behind: OlderDataset | None = None
    missed: list[str] | None = None


_Place = tuple[bytes, Any, int]
"""A store, its erasures, and the node of a world."""
_spans: OrderedDict[tuple[_Place, str], StatementSpan] = OrderedDict()
_lock = threading.Lock()


def parts(asked: QuerySource, query: Sparql, world: Any, lanes: Collection[str] = LANES) -> list[DatasetPart]:
    """The dataset of a query: of a world (or of a ``NEW`` one), or of everything that the view sees (``None``).

    The graphs that the query names are added. Searches use ``lanes``; no model is called if its results could not be in
    the answer.

    Raises:
        UnknownReference: a world is named that the view does not see.
        LimitExceeded: too many graphs are named.
        InputError: a graph is named at no moment, or searches for nothing.
    """
    found = list(_datasets(asked, world))
    named = [each for each in query.memories() + query.worlds() if each not in {part.graph for part in found}]
    if len(named) > MAX_GRAPHS:
        raise errors.LimitExceeded(f"The query names {len(named)} graphs of the engine", f"Give at most {MAX_GRAPHS}")
    for iri in named:
        graph, _, said = iri.partition("?")
        source = asked.at(*moment_of(iri)) if said else asked
        if graph in (MEMORY, SEARCH):
            found.append(_memory(source, iri) if graph == MEMORY else _search(source, iri, _needed_lanes(query, lanes)))
            continue
        with source.window.snapshot() as snapshot:
            node = named_node(snapshot, source.window.spec, graph.removeprefix(WORLD_URN), unify=source.window.unify)
            found.append(_statements(source, snapshot, node, iri))
    return found


def _datasets(asked: QuerySource, world: Any) -> Iterator[DatasetPart]:
    if world is NEW:
        return
    with asked.window.snapshot() as snapshot:
        if world is not None:
            node = named_node(snapshot, asked.window.spec, world, unify=asked.window.unify)
            yield _statements(asked, snapshot, node, None)
            return
        for node in statement_reads.stating_worlds(snapshot):
            yield _statements(asked, snapshot, node, "")
            yield _statements(asked, snapshot, node, WORLD_URN + snapshot.stored.tables.node(node).lineage.hex())


def moment_of(iri: str) -> tuple[str | None, str | None]:
    """Parse the times of ``…?ingested=TIME&valid=TIME``.

    Raises:
        InputError: it says anything else.
    """
    graph, _, said = iri.partition("?")
    given = dict(parse_qsl(said, keep_blank_values=True))
    known = {"ingested", "valid", "text"} if graph == SEARCH else {"ingested", "valid"}
    if not given or set(given) - known:
        raise errors.InputError(
            f"{iri[:200]} has no valid moment", "Write …?ingested=TIME&valid=TIME, or one of the two"
        )
    return given.get("ingested"), given.get("valid")


def _memory(there: QuerySource, iri: str) -> DatasetPart:
    return DatasetPart(f"{iri} {there.stamp}", iri, lambda: Part(memory_lines(there.memory), iri))


def _needed_lanes(query: Sparql, lanes: Collection[str]) -> frozenset[str]:
    """The lanes whose results a query needs."""
    return frozenset(lanes) if VECTOR not in lanes or query.needs_meaning() else frozenset(lanes) - {VECTOR}


def _search(there: QuerySource, iri: str, lanes: frozenset[str]) -> DatasetPart:
    # Recall is loaded by who searches.
    from worlddb.query.sparql.search_graph import search_lines

    window, missed = there.window, list[str]()
    text = dict(parse_qsl(iri.partition("?")[2])).get("text", "").strip()
    if not text:
        raise errors.InputError(f"{iri[:200]} has no words to search for", f"Write <{SEARCH}?text=WORDS+OF+IT>")
    if VECTOR in lanes:
        with window.snapshot() as snapshot:
            spaces = snapshot.answering_spaces(exact=True)
        missed += filter(None, [window.reader.why_no_vector(spaces)])
        lanes -= {VECTOR} if missed else set()
    name = f"{iri} {' '.join(sorted(lanes))} {there.stamp}"
    return DatasetPart(name, iri, lambda: Part(list(search_lines(window, text, lanes, missed)), iri), None, missed)


def _statements(asked: QuerySource, snapshot: VisibleSnapshot, node: int, graph: str | None) -> DatasetPart:
    """The statements of a world: with its graphs, or all of them in one graph (empty: the default one)."""
    window, moment = asked.window, snapshot.place.moment
    place = window.reader.store_id, asked.erasures, node
    stand = _find_span(snapshot, place)
    name = f"{window.reader.store_id.hex()} {asked.erasures} {node} {moment}" if stand is None else stand.name
    behind = _find_older(asked, snapshot, place, name) if stand is None and graph is None else None

    def lines() -> Iterator[bytes]:
        with window.snapshot() as inside:
            bounds = Bounds()
            for line in statement_reads.quad_lines(inside, node, bounds=bounds, flat=graph is not None):
                yield with_blank_nodes(line)
            if stand is None:
                _remember_span(
                    place, StatementSpan(name, moment.seq, moment.seq, inside.stored.log.chain(moment.seq), bounds)
                )

    return DatasetPart(f"{name} {graph}", graph, lambda: Part(lines(), graph or None), behind)


def _find_older(asked: QuerySource, snapshot: VisibleSnapshot, place: _Place, name: str) -> OlderDataset | None:
    """The latest span that differs from a view only by commits, and the change from it to the dataset ``name``."""
    moment, log = snapshot.place.moment, snapshot.stored.log
    known = [stand for stand in _spans_of(place) if stand.bounds.has(moment.valid) and stand.last < moment.seq]
    stand = max(known, key=lambda each: each.last, default=None)
    if stand is None or moment.seq - stand.last >= statement_reads.FEW_COMMITS:
        return None
    if log.chain(stand.last) != stand.chain:
        return None

    def change() -> tuple[bytes, bytes]:
        with asked.window.snapshot() as inside:
            bounds = Bounds()
            bounds.start, bounds.end = stand.bounds.start, stand.bounds.end
            before = stand.last, moment.valid
            removed, added = statement_reads.changes(inside, place[2], before, moment, bounds=bounds)
            removed = _without_equivalents(inside, place[2], removed)
            _remember_span(
                place, StatementSpan(name, moment.seq, moment.seq, inside.stored.log.chain(moment.seq), bounds)
            )
        return b"".join(map(with_blank_nodes, removed)), b"".join(map(with_blank_nodes, added))

    return OlderDataset(f"{stand.name} None", change)


def _without_equivalents(snapshot: VisibleSnapshot, node: int, removed: list[bytes]) -> list[bytes]:
    """Removed lines without those that the world still has in another form, which the engine treats as equal."""
    typed = [line for line in removed if _TYPED in line]
    if not typed:
        return removed
    rows = dict(zip(typed, rdf_formats.rows_of_lines(b"".join(typed)), strict=True))
    held = {
        line: [
            each[2]
            for each in statement_reads.statement_texts(snapshot, node, Pattern(row[0], row[1], None, row[3] or ""))
        ]
        for line, row in rows.items()
    }
    made = rdf_formats.engine_forms([*(row[2] for row in rows.values()), *chain.from_iterable(held.values())])
    left = {line for line, row in rows.items() if made[row[2]] in map(made.__getitem__, held[line])}
    return [line for line in removed if line not in left]


def _spans_of(place: _Place) -> list[StatementSpan]:
    """The remembered spans of a place, most recently used first."""
    with _lock:
        return [stand for key, stand in reversed(_spans.items()) if key[0] == place]


def _find_span(snapshot: VisibleSnapshot, place: _Place) -> StatementSpan | None:
    """The remembered span that contains a view, if there is one."""
    moment, log = snapshot.place.moment, snapshot.stored.log
    changed_after = -1
    for stand in _spans_of(place):
        if not stand.first <= moment.seq or not stand.bounds.has(moment.valid) or log.head().seq < stand.last:
            continue
        if log.chain(stand.last) != stand.chain:
            continue
        if moment.seq > stand.last:
            if moment.seq - stand.last > statement_reads.FEW_COMMITS or stand.last <= changed_after:
                continue
            if statement_reads.named_quads(snapshot, place[2], stand.last, moment.seq):
                changed_after = stand.last  # The same commits changed earlier spans, too.
                continue
            stand = stand._replace(last=moment.seq, chain=log.chain(moment.seq))
        _remember_span(place, stand)
        return stand
    return None


def _remember_span(place: _Place, stand: StatementSpan) -> None:
    with _lock:
        _spans[place, stand.name] = stand
        _spans.move_to_end((place, stand.name))
        while len(_spans) > _MAX_SPANS:
            _spans.popitem(last=False)


def with_blank_nodes(line: bytes) -> bytes:
    """A line of N-Quads with blank nodes in place of our Skolem IRIs."""
    return terms.with_blank_nodes(line.decode()).encode() if _SKOLEM in line else line


_SKOLEM: Final = terms.SKOLEM.encode()
_TYPED: Final = f"^^<{terms.XSD}".encode()
