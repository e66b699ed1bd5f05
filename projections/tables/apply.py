"""Events become rows: one function an event type. The reconciler and every replay call the same ones (law 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Final, Protocol

from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body, Details
from worlddb.log.model.times import ALWAYS, FOREVER
from worlddb.projections.tables.blocks import UNNAMED_TYPES, put_name
from worlddb.projections.tables.bookmarks import apply_bookmarked
from worlddb.projections.tables.columns import Ends, put_edges, put_worlds
from worlddb.projections.tables.erasures import erased
from worlddb.projections.tables.imports import filled, imported
from worlddb.projections.tables.names import NO_NAME, NO_TYPE, name_digest, type_digest
from worlddb.projections.tables.overlay import Table
from worlddb.projections.tables.reclustered import apply_reclustered
from worlddb.projections.tables.registrations import apply_registered, apply_unregistered
from worlddb.projections.tables.schema import (
    ACCEPTED,
    CLOSING_EDGE,
    CLOSING_KEY,
    CLOSING_VERSION,
    CONTAINS_CODE,
    LIVE,
    PENDING,
    REJECTED,
    TIME,
    U64,
    U64_U64,
    UNDONE,
    AliasRow,
    EdgePlace,
    EdgeRow,
    NodeRow,
    ProposalRow,
    VersionRow,
)
from worlddb.projections.tables.settle import Unsettled
from worlddb.projections.tables.tables import Tables
from worlddb.projections.tables.vectors import apply_embedded, apply_embedded_through, apply_space_opened


class CommitBlobs(Protocol):
    """What applying needs to know of a commit's blobs, by position."""

    def blob_id(self, position: int) -> bytes:
        """The hash that stands in the log."""

    def body(self, position: int) -> Body | None:
        """The body, or ``None`` once erased."""

    def details(self, position: int) -> Details | None:
        """The details, or ``None`` once erased."""

    def earlier(self, seq: int, position: int) -> Body | None:
        """A body of an earlier commit, or ``None`` if its text is not there."""


class Applier:
    """Applies the events of one commit to the tables, and then settles the world hashes.

    The rows of new worlds and edges are owed to the tables for a while: see :class:`WholeTables`.
    """

    def __init__(self, tables: Tables, blobs: CommitBlobs, seq: int, ingest_time: int) -> None:
        self.tables = tables
        self.blobs = blobs
        self.seq = seq
        self.ingest_time = ingest_time
        progress = tables.progress()
        self.next_node = progress.next_node
        self.next_edge = progress.next_edge
        tables.first_new_node = progress.next_node
        tables.writing = True
        self.unsettled = Unsettled(tables, seq)
        self._created: list[ev.Created] = []
        self._linked: list[ev.Linked] = []
        self._ends: list[Ends] = []
        self._named: set[bytes] = set()
        self._targets: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        self._led_to: set[tuple[int, int]] = set()

    def apply(self, event: ev.Event) -> None:
        """Write what the event says."""
        _APPLY[type(event)](self, event)

    def create(self, event: ev.Created) -> int:
        """As :meth:`apply`, for a new lineage; its number."""
        node = self.next_node
        self.next_node += 1
        t_create = self.ingest_time if event.t_create is None else event.t_create
        row = NodeRow(event.lineage, self.seq, t_create, 1, 0, 0, self.blobs.blob_id(event.body))
        self.tables.number_new(event.lineage, node, row)
        self._created.append(event)
        body = self.blobs.body(event.body)
        if body is not None:
            self._named.add(name_digest(body.name))
        self.unsettled.changed(node)
        self.tables.owed = self
        return node

    def link(self, event: ev.Linked, source: int, target: int, home: int) -> None:
        """As :meth:`apply`, for a new edge whose ends and home the caller knows as numbers."""
        code = self.tables.give_type_code(event.type)
        self._linked.append(event)
        self._ends.append((code, source, target, home))
        if code == CONTAINS_CODE:
            self.tables.contained(target, source)
        self._targets[source, code].append(target)
        self._led_to.add((target, code))
        self.next_edge += 1
        self.tables.owed = self

    def apply_all(self, events: Sequence[ev.Event]) -> None:
        """Write what all the events of a commit say: new lineages, then new edges, then the rest.

        Numbers are given out by kind, and neither new lineages nor new edges read what the rest writes, so this order
        gives the same rows as the log's.
        """
        if isinstance(events[0], ev.StoreCreated):
            self.apply(events[0])
        self._create_all([event for event in events if type(event) is ev.Created])
        self._link_all([event for event in events if type(event) is ev.Linked])
        for event in events:
            if type(event) not in _EARLY:
                self.apply(event)

    def _create_all(self, events: list[ev.Created]) -> None:
        nodes = range(self.next_node, self.next_node + len(events))
        lineages = [event.lineage for event in events]
        times = [self.ingest_time if event.t_create is None else event.t_create for event in events]
        bodies = map(self.blobs.blob_id, [event.body for event in events])
        rows = map(NodeRow, lineages, repeat(self.seq), times, repeat(1), repeat(0), repeat(0), bodies)
        self.tables.number_all_new(lineages, nodes, rows)
        self.unsettled.all_changed(nodes)
        self._created += events
        self.next_node = nodes.stop
        self.tables.owed = self

    def _link_all(self, events: list[ev.Linked]) -> None:
        tables = self.tables
        sources = self.numbers([event.source for event in events])
        targets = self.numbers([event.target for event in events])
        homes = self.numbers([event.home for event in events])
        types = [event.type for event in events]
        code_of = {name: tables.give_type_code(name) for name in dict.fromkeys(types)}
        ends = list(zip(map(code_of.__getitem__, types), sources, targets, homes, strict=True))
        for code, source, target, _ in ends:
            if code == CONTAINS_CODE:
                tables.contained(target, source)
        self._linked += events
        self._ends += ends
        self.next_edge += len(events)
        # Replay asks no handler, so nobody will ask for what is owed by type: the rows are put before they are read.
        self.pay()

    def pay(self) -> None:
        """Put the rows of what was created and linked since the last time, all at once."""
        self.tables.owed = None
        created, linked, ends = self._created, self._linked, self._ends
        self._created, self._linked, self._ends = [], [], []
        self._named.clear()
        self._targets.clear()
        self._led_to.clear()
        if created:
            put_worlds(self.tables, self.blobs, self.seq, created, range(self.next_node - len(created), self.next_node))
        if linked:
            put_edges(self.tables, self.seq, linked, ends, range(self.next_edge - len(linked), self.next_edge))
            self.unsettled.all_linked(ends, linked)

    def is_name_owed(self, digest: bytes) -> bool:
        """True if a new lineage has the name, and the tables do not know it yet."""
        return digest in self._named

    def targets_owed(self, node: int, code: int) -> list[int]:
        """Where the edges of a type from a node lead that are not in the tables yet."""
        return self._targets.get((node, code), [])

    def is_target_owed(self, node: int, code: int) -> bool:
        """True if an edge of a type to a node is not in the tables yet."""
        return (node, code) in self._led_to

    def settle(self) -> bytes:
        """Rehash every world that changed, each once; the root world's hash."""
        if self.tables.owed is not None:
            self.pay()
        return self.unsettled.settle()

    def finish(self, idempotency_key: bytes) -> None:
        """Record the commit itself: how far the tables are, and the key that it was made under."""
        if idempotency_key:
            self.tables.keys.put(idempotency_key, U64.pack(self.seq))
        self.tables.put_progress(
            self.tables.progress()._replace(seq=self.seq, next_node=self.next_node, next_edge=self.next_edge)
        )

    def number(self, lineage: bytes) -> int:
        """The number of a lineage that an event names."""
        node = self.tables.node_of(lineage)
        if node is None:
            raise KeyError(f"commit {self.seq} names the unknown lineage {lineage.hex()}")
        return node

    def numbers(self, lineages: Sequence[bytes]) -> list[int]:
        """As :meth:`number`, for a column."""
        known = list(self.tables.known_numbers(lineages))
        if None not in known:
            return known  # type: ignore[return-value]
        return [self.number(lineage) if node is None else node for lineage, node in zip(lineages, known, strict=True)]


_EARLY: Final = frozenset({ev.StoreCreated, ev.Created, ev.Linked})


def _store_created(on: Applier, event: ev.StoreCreated) -> None:
    _created(on, ev.Created(event.root, event.body, ev.NONE, ALWAYS, FOREVER))


def _created(on: Applier, event: ev.Created) -> None:
    on.create(event)


def _revised(on: Applier, event: ev.Revised) -> None:
    node = on.number(event.lineage)
    row = on.tables.node(node)
    version = row.versions + 1
    on.tables.put_node(node, row._replace(versions=version, body=on.blobs.blob_id(event.body)))
    _put_version(on, node, version, event)
    on.unsettled.changed(node)


def _put_version(on: Applier, node: int, version: int, event: ev.Revised) -> None:
    body = on.blobs.body(event.body)
    name = NO_NAME if body is None else name_digest(body.name)
    type_ = NO_TYPE if body is None else type_digest(body.type)
    on.tables.put_version(
        node,
        version,
        VersionRow(
            on.blobs.blob_id(event.body),
            on.seq,
            event.valid_from,
            event.valid_to,
            0,
            event.body,
            event.details,
            name,
            type_,
        ),
    )
    _put_name(on, name, node)
    if body is not None:
        _put_first(on.tables.types, type_ + U64.pack(node), on.seq)
        if body.type not in UNNAMED_TYPES:
            put_name(on.tables, node, body.name)


def _put_name(on: Applier, name: bytes, node: int) -> None:
    if name != NO_NAME:
        _put_first(on.tables.names, name + U64.pack(node), on.seq)


def _put_first(table: Table, key: bytes, seq: int) -> None:
    if table.get(key) is None:
        table.put(key, U64.pack(seq))


def _closed(on: Applier, event: ev.Closed) -> None:
    node = on.number(event.lineage)
    row = on.tables.version(node, event.version)
    on.tables.put_version(node, event.version, row._replace(valid_to=event.valid_to, closed=on.seq))
    _put_closing(on, (CLOSING_VERSION, node, event.version), row, event.valid_to, event.by)


def _ended(on: Applier, event: ev.Ended) -> None:
    node = on.number(event.lineage)
    on.tables.put_node(node, on.tables.node(node)._replace(ended=on.seq))


def _named(on: Applier, event: ev.Named) -> None:
    node = on.number(event.lineage)
    row = on.tables.node(node)
    details = on.blobs.details(event.details)
    name = NO_NAME if details is None else name_digest(details.aliases[event.position])
    alias = row.aliases + 1
    on.tables.put_alias(node, alias, AliasRow(name, on.seq, LIVE, event.details, event.position))
    on.tables.put_node(node, row._replace(aliases=alias))
    _put_name(on, name, node)
    if details is not None:
        put_name(on.tables, node, details.aliases[event.position])


def _unnamed(on: Applier, event: ev.Unnamed) -> None:
    node = on.number(event.lineage)
    for alias, row in on.tables.aliases(node):
        if alias == event.alias:
            on.tables.put_alias(node, alias, row._replace(removed=on.seq))
            return


def _linked(on: Applier, event: ev.Linked) -> None:
    on.link(event, on.number(event.source), on.number(event.target), on.number(event.home))


def _unlinked(on: Applier, event: ev.Unlinked) -> None:
    tables = on.tables
    place, row = _edge(on, event.edge)
    tables.put_edge(place, row._replace(unlinked=on.seq))
    tables.put_unlinked_back(row.target, place, on.seq)
    if place.type == CONTAINS_CODE:
        on.unsettled.joined(place.source, row.target)
    else:
        on.unsettled.edged(row.home, event.edge, written=False)


def _edge_closed(on: Applier, event: ev.EdgeClosed) -> None:
    place, row = _edge(on, event.edge)
    on.tables.put_edge(place, row._replace(valid_to=event.valid_to, closed=on.seq))
    _put_closing(on, (CLOSING_EDGE, place.edge, 0), row, event.valid_to, b"")


def _put_closing(on: Applier, what: tuple[int, int, int], row: VersionRow | EdgeRow, valid_to: int, by: bytes) -> None:
    """Keep the end that something was born with, the first time that it is closed, and the new one."""
    if not row.closed:
        on.tables.closings.put(CLOSING_KEY.pack(*what, row.seq), TIME.pack(row.valid_to))
    on.tables.closings.put(CLOSING_KEY.pack(*what, on.seq), TIME.pack(valid_to) + by)


def _edge(on: Applier, edge: bytes) -> tuple[EdgePlace, EdgeRow]:
    place = on.tables.place_of(edge)
    if place is None:
        raise KeyError(f"commit {on.seq} names the unknown edge {edge.hex()}")
    return place, on.tables.edge(place)


def _proposed(on: Applier, event: ev.Proposed) -> None:
    source, target = on.number(event.source), on.number(event.target)
    row = ProposalRow(
        source,
        target,
        event.source_version,
        event.target_version,
        on.number(event.home),
        on.seq,
        event.valid_from,
        event.details,
        event.nonce,
        event.handler_version,
        PENDING,
        0,
    )
    on.tables.put_proposal(event.proposal, row)
    on.tables.pairs.put(pair_key(source, target), event.proposal)


_STATUSES: Final = {"accepted": ACCEPTED, "rejected": REJECTED, "undone": UNDONE}


def _decided(on: Applier, event: ev.Decided) -> None:
    row = on.tables.proposal(event.proposal)
    if row is None:
        raise KeyError(f"commit {on.seq} names the unknown proposal {event.proposal.hex()}")
    status = _STATUSES[event.decision]
    on.tables.put_proposal(event.proposal, row._replace(status=status, decided=on.seq))
    on.tables.decisions.put(event.proposal + U64.pack(on.seq), bytes([status]))


def pair_key(one: int, other: int) -> bytes:
    """The key of an unordered pair of nodes."""
    return U64_U64.pack(min(one, other), max(one, other))


_APPLY: Final[dict[type[ev.Event], Callable[[Applier, Any], None]]] = {
    ev.StoreCreated: _store_created,
    ev.Created: _created,
    ev.Revised: _revised,
    ev.Closed: _closed,
    ev.Ended: _ended,
    ev.Named: _named,
    ev.Unnamed: _unnamed,
    ev.Linked: _linked,
    ev.Unlinked: _unlinked,
    ev.EdgeClosed: _edge_closed,
    ev.Proposed: _proposed,
    ev.Decided: _decided,
    ev.Bookmarked: apply_bookmarked,
    ev.Imported: imported,
    ev.Filled: filled,
    ev.Erased: erased,
    ev.Registered: apply_registered,
    ev.Unregistered: apply_unregistered,
    ev.SpaceOpened: apply_space_opened,
    ev.Embedded: apply_embedded,
    ev.EmbeddedThrough: apply_embedded_through,
    ev.Reclustered: apply_reclustered,
}
