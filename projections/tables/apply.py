"""Events become rows: one function an event type. The reconciler and every replay call the same ones (law 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body, Details
from worlddb.log.model.times import ALWAYS, FOREVER
from worlddb.projections.tables.blocks import UNNAMED_TYPES, put_name
from worlddb.projections.tables.bookmarks import apply_bookmarked
from worlddb.projections.tables.columns import create_all, link_all
from worlddb.projections.tables.erasures import erased
from worlddb.projections.tables.imports import filled, imported
from worlddb.projections.tables.names import NO_NAME, NO_TYPE, name_digest, type_digest
from worlddb.projections.tables.registrations import apply_registered, apply_unregistered
from worlddb.projections.tables.schema import (
    ACCEPTED,
    CLOSING_EDGE,
    CLOSING_KEY,
    CLOSING_VERSION,
    CONTAINS_CODE,
    EDGE,
    EDGE_KEY,
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
    """Applies the events of one commit to the tables, and then settles the world hashes."""

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

    def apply(self, event: ev.Event) -> None:
        """Write what the event says."""
        _APPLY[type(event)](self, event)

    def link(self, event: ev.Linked, source: int, target: int, home: int) -> None:
        """As :meth:`apply`, for a new edge whose ends and home the caller knows as numbers."""
        tables, edge = self.tables, event.edge
        code = tables.give_type_code(event.type)
        place = EDGE_KEY.pack(source, code, self.next_edge)
        row = EDGE.pack(
            edge,
            target,
            home,
            event.source_version,
            event.target_version,
            self.seq,
            LIVE,
            event.valid_from,
            event.valid_to,
            0,
            event.details,
            event.handler_version,
        )
        tables.out.put(place, row)
        tables.put_new_back(target, source, code, self.next_edge)
        tables.edges.put(edge, place)
        if event.keyed:
            tables.edge_keys.put(event.nonce, place)
        if code == CONTAINS_CODE:
            self.unsettled.joined(source, target)
        else:
            self.unsettled.edged(home, edge, written=True)
        self.next_edge += 1

    def apply_all(self, events: Sequence[ev.Event]) -> None:
        """Write what all the events of a commit say: new lineages, then new edges, then the rest.

        Numbers are given out by kind, and neither new lineages nor new edges read what the rest writes, so this order
        gives the same rows as the log's.
        """
        created = [event for event in events if type(event) is ev.Created]
        linked = [event for event in events if type(event) is ev.Linked]
        if isinstance(events[0], ev.StoreCreated):
            self.apply(events[0])
        if created:
            create_all(self, created)
        if linked:
            link_all(self, linked)
        for event in events:
            if type(event) not in _EARLY:
                self.apply(event)

    def settle(self) -> bytes:
        """Rehash every world that changed, each once; the root world's hash."""
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
    node = on.next_node
    on.next_node += 1
    on.tables.put_lineage(event.lineage, node)
    body = on.blobs.blob_id(event.body)
    t_create = on.ingest_time if event.t_create is None else event.t_create
    on.tables.put_node(node, NodeRow(event.lineage, on.seq, t_create, 1, 0, 0, body))
    _put_version(on, node, 1, event)
    on.unsettled.changed(node)


def _revised(on: Applier, event: ev.Revised) -> None:
    node = on.number(event.lineage)
    row = on.tables.node(node)
    version = row.versions + 1
    on.tables.put_node(node, row._replace(versions=version, body=on.blobs.blob_id(event.body)))
    _put_version(on, node, version, event)
    on.unsettled.changed(node)


def _put_version(on: Applier, node: int, version: int, event: ev.Created | ev.Revised) -> None:
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
    _put_name(on, name, node, fresh=version == 1)
    if body is not None:
        _put_first(on.tables.types, type_ + U64.pack(node), on.seq, fresh=version == 1)
        if body.type not in UNNAMED_TYPES:
            put_name(on.tables, node, body.name)


def _put_name(on: Applier, name: bytes, node: int, *, fresh: bool = False) -> None:
    if name != NO_NAME:
        _put_first(on.tables.names, name + U64.pack(node), on.seq, fresh=fresh)


def _put_first(table: Any, key: bytes, seq: int, *, fresh: bool) -> None:
    if fresh or table.get(key) is None:
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
}
