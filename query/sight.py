"""One short read transaction as a view may look at it: the store's tables, or those of the world it is confined to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from worlddb.log.model import codec
from worlddb.log.model.blobs import Body, Details, Vector
from worlddb.log.model.codec import Header
from worlddb.log.model.events import NONE
from worlddb.projections.indexes.node_set import Nodes
from worlddb.projections.indexes.vector_rows import VectorRow
from worlddb.projections.tables.apply.settings import (
    Nearest,
    Registration,
    Tuning,
    containers_known,
    registered,
    tunings_holding,
    tunings_known,
)
from worlddb.projections.tables.apply.vector_spaces import vector_place
from worlddb.projections.tables.reads.asof import Moment, nodes_known
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage.schema import ROOT_NODE, EdgePlace, VersionRow
from worlddb.query.confined import ConfinedTables
from worlddb.query.erasures import erasure_of
from worlddb.query.interiors import Interiors
from worlddb.query.records import Erasure
from worlddb.query.scope import Inhabitants, members_below, placings_at
from worlddb.query.snapshot import Snapshot

MOST_BODIES: Final = 64
"""How many bodies are kept for as long as one read takes."""


class Place(NamedTuple):
    """Where a view stands: its moment, and the world that is everything to it (the root, unless it is confined)."""

    moment: Moment
    top: int

    @property
    def is_confined(self) -> bool:
        """True if there may be worlds that are not seen from here."""
        return self.top != ROOT_NODE


class Sight:
    """What the reads of one call go through. Texts are found by rows, so who has no row has no text."""

    __slots__ = ("_bodies", "_interiors", "_placings", "_snapshot", "place", "tables")

    def __init__(
        self,
        snapshot: Snapshot,
        place: Place,
        known: dict[int, bool] | None = None,
        *,
        also_at: Moment | None = None,
        interiors: Interiors | None = None,
    ) -> None:
        """``also_at``: of what is confined, show only what is inside at this moment too. ``interiors`` are kept of the
        whole store, and of use to nobody who sees a part of it."""
        self._snapshot = snapshot
        self._placings: dict[int, list[EdgePlace]] = {}
        self._interiors = None if place.is_confined else interiors
        self._bodies: dict[bytes, Body | None] = {}
        self.place = place
        self.tables: TableReads = snapshot.tables
        if place.is_confined:
            if also_at is not None:
                self.tables = ConfinedTables(self.tables, place.top, also_at, {})
            self.tables = ConfinedTables(self.tables, place.top, place.moment, {} if known is None else known)

    @property
    def whole(self) -> Snapshot | None:
        """The store itself, for what belongs to it and to no world; ``None`` if only a part of it is seen."""
        return None if self.place.is_confined else self._snapshot

    def body(self, row: VersionRow) -> Body | None:
        """The body of a version, or ``None`` once erased. The first few are read once: a recall looks at its best hits
        again."""
        if row.body in self._bodies:
            return self._bodies[row.body]
        found = self._snapshot.body(row)
        if len(self._bodies) < MOST_BODIES:
            self._bodies[row.body] = found
        return found

    def placings(self, node: int) -> list[EdgePlace]:
        """The edges by which worlds contain a node at the moment, in log order; looked up once."""
        found = self._placings.get(node)
        if found is None:
            found = self._placings[node] = placings_at(self.tables, node, self.place.moment)
        return found

    def members_known(self, world: int) -> Nodes | None:
        """Who lies inside a world at the moment, if that is known from a read before."""
        return None if self._interiors is None else self._interiors.at(self._snapshot, world, self.place.moment)

    def keep_members(self, world: int, listed: Inhabitants) -> Nodes:
        """Who was listed as inside a world, for this read and those that follow."""
        return Nodes(frozenset(listed.found)) if self._interiors is None else self._interiors.keep(world, listed)

    def details(self, seq: int, position: int) -> Details:
        """The details that a command left in a commit; empty ones if it left none or they were erased."""
        return self._snapshot.details(seq, position)

    def erasure(self, node: int) -> Erasure | None:
        """When the texts of a node were erased, by whom, and under which reference."""
        return erasure_of(self._snapshot, node)

    def vector(self, space: int, node: int, version: int) -> VectorRow | None:
        """The vectors of a version that is seen, if they were recorded by the moment's commit."""
        place = vector_place(self._snapshot.tables, space, node, version)
        if place is None or place.seq > self.place.moment.seq:
            return None
        stored = self._snapshot.log.blob(place.seq, place.position)
        found = None if stored is None else codec.decode_blob(stored, place.seq)
        if not isinstance(found, Vector):
            return None
        return VectorRow(node, version, place.seq, found.values, found.statements, found.stated)

    def header(self, seq: int) -> Header:
        """When a commit was made, and by whom."""
        return self._snapshot.log.header(seq)

    def reasons(self, seq: int, lineage: bytes) -> Iterator[str]:
        """Why a commit did what it did to a world, in the events that are about that world alone."""
        events = self._snapshot.log.events(seq).events
        for event in (event for event in events if getattr(event, "lineage", b"") == lineage):
            yield self.details(seq, getattr(event, "details", NONE)).why

    def registration(self, type_name: str, home: int) -> Registration | None:
        """The registration of an edge type that holds for edges at home in a world."""
        tables, seq = self._snapshot.tables, self.place.moment.seq
        found = Nearest(tables, type_name, seq).at(home, self._above)
        return None if found is None else self._as_seen(found)

    def _above(self, node: int) -> list[int]:
        """The containers of a node whose registrations count here: of what is inside, those inside.

        Above the world that is everything here all count: what holds for it holds for everything in it.
        """
        found = list(containers_known(self._snapshot.tables, self.place.moment.seq)(node))
        if not self.place.is_confined or node == self.place.top or not self._is_inside(node):
            return found
        return [container for container in found if self._is_inside(container)]

    def registered(self, *, ended: bool = False) -> list[Registration]:
        """Every registration inside, and those from outside that hold for the world that is everything here."""
        known = registered(self._snapshot.tables, self.place.moment.seq, ended=ended)
        if not self.place.is_confined:
            return known
        inside = [one for one in known if self._is_inside(one.world)]
        inherited = (self.registration(name, self.place.top) for name in dict.fromkeys(one.type for one in known))
        return inside + [one for one in inherited if one is not None and one not in inside]

    def _as_seen(self, known: Registration) -> Registration:
        """What holds here from outside holds for everything here; by whose reason is not told."""
        if not self.place.is_confined or self._is_inside(known.world):
            return known
        return known._replace(world=self.place.top, row=known.row._replace(details=NONE))

    def tunings(self, *, ended: bool = False) -> list[Tuning]:
        """What was set inside for the resolver, and what holds from outside for the world that is everything here."""
        known = tunings_known(self._snapshot.tables, self.place.moment.seq, ended=ended)
        if not self.place.is_confined:
            return known
        inside = [one for one in known if self._is_inside(one.world)]
        return inside + [one for one in self.tunings_at(self.place.top) if one not in inside]

    def tunings_at(self, home: int) -> list[Tuning]:
        """The thresholds that hold in a world: those for each type that is named anywhere, as far as they differ."""
        found = tunings_holding(self._snapshot.tables, home, self._above, self.place.moment.seq)
        return [self._tuning_as_seen(one) for one in found]

    def is_told_of_tuning(self, lineage: bytes, seq: int) -> bool:
        """True if what was set for a world may be known here: it lies inside, or what was set for it held, at a commit,
        for all that is seen here."""
        if not self.place.is_confined or self.tables.node_of(lineage) is not None:
            return True
        tables = self._snapshot.tables
        around = tunings_holding(tables, self.place.top, containers_known(tables, seq), seq)
        return any(tables.node(one.world).lineage == lineage for one in around)

    def _tuning_as_seen(self, known: Tuning) -> Tuning:
        if not self.place.is_confined or self._is_inside(known.world):
            return known
        return known._replace(world=self.place.top, row=known.row._replace(details=NONE))

    def _is_inside(self, node: int) -> bool:
        return self.tables.node_of(self._snapshot.tables.node(node).lineage) is not None

    def population(self) -> int:
        """How many worlds are inside at the moment; of a whole store how many it knew, which nobody has to count."""
        if self.place.is_confined:
            return sum(1 for _ in self.inhabitants())
        tables = self._snapshot.tables
        return nodes_known(tables, tables.progress().next_node, self.place.moment.seq)

    def inhabitants(self, world: int | None = None) -> Iterator[int]:
        """Every node inside a world (default: the top) at the moment, in log order."""
        moment, top = self.place
        within = top if world is None else world
        if within != ROOT_NODE:
            yield from sorted(members_below(self.tables, within, moment) or ())
            return
        for node in range(ROOT_NODE + 1, self._snapshot.tables.progress().next_node):
            if self.tables.node(node).created > moment.seq:
                return
            yield node
