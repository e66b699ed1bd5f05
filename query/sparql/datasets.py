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
"""Graphs at moments that one query may name."""
NEW: Final = object()
"""In the place of a world: one that is yet to be made, and states nothing."""
_MAX_SPANS: Final = 256
"""Of all worlds and stores together; the one that was asked longest ago goes first."""


class QuerySource(NamedTuple):
    """A view that is asked: what it reads, its window, and ``at``, the same of what was known and true at other times.

    ``erasures`` changes with every erasure in the store.
    """

    memory: Memory
    window: Window
    erasures: Any
    at: Callable[[str | None, str | None], QuerySource]

    @property
    def stamp(self) -> str:
        """What tells the view from all others."""
        window, memory = self.window, self.memory
        place = f"{window.place.moment} {memory.world} {window.shows} {window.unify}"
        return f"{window.reader.store_id.hex()} {self.erasures} {memory!r} {place}"


class StatementSpan(NamedTuple):
    """The statements of a world from one commit to another and within a stretch of valid time.

    ``chain`` is the hash of the log at the last of the commits: a copy of the store that went on otherwise has another.
    """

    name: str
    first: int
    last: int
    chain: bytes
    bounds: Bounds


class OlderDataset(NamedTuple):
    """What was read of a world at an earlier commit, by its name, and ``change``: what it lost and got since then."""

    name: str
    change: Callable[[], tuple[bytes, bytes]]


class DatasetPart(NamedTuple):
    """A part of a dataset with a name that tells what it has from all others, and a way to read it.

    ``behind`` is what a worker may hold in its place, and how to bring that up to it. ``missed`` is why a search does
    not go by meaning as it was asked to: what is known beforehand is in the name, what reading it adds is not.
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
    """What a query is asked of: the dataset of a world (or of a ``NEW`` one), or of all that the view sees (``None``).

    The graphs that it names are beside that. Searches go by ``lanes``, and no model is asked where nothing that it
    could find would be in the answer.

    Raises:
        UnknownReference: a world is named that the view does not see.
        LimitExceeded: too many graphs are named.
        InputError: a graph is named at no moment, or searches for nothing.
    """
    found = list(_datasets(asked, world))
    named = [each for each in query.memories() + query.worlds() if each not in {part.graph for part in found}]
    if len(named) > MAX_GRAPHS:
        raise errors.LimitExceeded(f"The query names {len(named)} graphs of the engine", f"Name at most {MAX_GRAPHS}")
    for iri in named:
        graph, _, said = iri.partition("?")
        there = asked.at(*moment_of(iri)) if said else asked
        if graph in (MEMORY, SEARCH):
            found.append(_memory(there, iri) if graph == MEMORY else _search(there, iri, _needed_lanes(query, lanes)))
            continue
        with there.window.snapshot() as snapshot:
            node = named_node(snapshot, there.window.spec, graph.removeprefix(WORLD_URN), unify=there.window.unify)
            found.append(_statements(there, snapshot, node, iri))
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
    """The times of ``…?ingested=TIME&valid=TIME``: what was known, and what was true.

    Raises:
        InputError: it says anything else.
    """
    graph, _, said = iri.partition("?")
    given = dict(parse_qsl(said, keep_blank_values=True))
    known = {"ingested", "valid", "text"} if graph == SEARCH else {"ingested", "valid"}
    if not given or set(given) - known:
        raise errors.InputError(f"{iri[:200]} names no moment", "Write …?ingested=TIME&valid=TIME, or one of them")
    return given.get("ingested"), given.get("valid")


def _memory(there: QuerySource, iri: str) -> DatasetPart:
    return DatasetPart(f"{iri} {there.stamp}", iri, lambda: Part(memory_lines(there.memory), iri))


def _needed_lanes(query: Sparql, lanes: Collection[str]) -> frozenset[str]:
    """Those lanes of which a query needs what they find."""
    return frozenset(lanes) if VECTOR not in lanes or query.needs_meaning() else frozenset(lanes) - {VECTOR}


def _search(there: QuerySource, iri: str, lanes: frozenset[str]) -> DatasetPart:
    # Recall is loaded by who searches.
    from worlddb.query.sparql.search_graph import search_lines

    window, missed = there.window, list[str]()
    text = dict(parse_qsl(iri.partition("?")[2])).get("text", "").strip()
    if not text:
        raise errors.InputError(f"{iri[:200]} searches for nothing", f"Write <{SEARCH}?text=WORDS+OF+IT>")
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
    """The last stand that a view is past by commits alone, and the change from there to what is called ``name``."""
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
    """Lines that a world lost, but for those that it still has in another form: the engine knows both as one."""
    typed = [line for line in removed if _TYPED in line]
    if not typed:
        return removed
    rows = dict(zip(typed, rdf_formats.read_rows(b"".join(typed), None, "nquads"), strict=True))
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
    """The stands of a place, the one that was asked last first."""
    with _lock:
        return [stand for key, stand in reversed(_spans.items()) if key[0] == place]


def _find_span(snapshot: VisibleSnapshot, place: _Place) -> StatementSpan | None:
    """The stand that a view is within, if one is noted."""
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
                changed_after = stand.last  # What stood still earlier was changed by the same commits.
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
