"""The part of a snapshot that a view may see: every read of a view goes through it (law 7).

A confined view reads :class:`.confined_tables.ConfinedTables` instead of the store's tables.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from worlddb.log.model import blobs, codec, times
from worlddb.log.model import events as ev
from worlddb.log.model.events import NONE, AnyEvent
from worlddb.projections.indexes import fields, kept_worlds, vector_rows, world_index, world_texts
from worlddb.projections.tables.apply import log_marks, mark_rows, settings
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage import schema
from worlddb.query.records.records import Erasure
from worlddb.query.snapshot import valid_period
from worlddb.query.snapshot.confined_tables import ERASED_USER, ConfinedTables, OtherUsers
from worlddb.query.snapshot.snapshot import (
    ALL_TIMES,
    NO_DETAILS,
    Ended,
    Inhabitants,
    InteriorCache,
    KeptStanding,
    PlainPlacement,
    ReferenceCount,
    Scope,
    Snapshot,
    Stretch,
    containers_at,
    edge_stretch,
    find_standing,
    find_standing_of_each,
    members_below,
    placings_at,
    says_container,
)

if TYPE_CHECKING:
    from worlddb.projections.indexes.composed_vectors import CompositionFolder
    from worlddb.projections.tables.beliefs import belief_rows
    from worlddb.projections.tables.dream.retention import Decay, Retained
    from worlddb.projections.tables.storage.rows import SparseNode, Tables

SUMMARY_TYPE: Final = type_digest("Summary")
ENRICHMENT_TYPE: Final = type_digest("Enrichment")
"""Of worlds that say in short what those say that they contain (paper §6)."""
_DERIVED_FROM: Final = schema.EDGE_TYPE_CODES["derived_from"]
_LISTED_FOR_A_PAGE: Final = 4_096
"""Up to so many members are listed for one page; for larger worlds, the store's nodes are scanned in order."""
_PASSED_FOR_A_PAGE: Final = 65_536
"""Nodes scanned for one page before all members are listed instead, since few of the nodes are members."""
_MAX_DERIVATIONS: Final = 2_048
"""How many worlds' derivations one read caches."""
MAX_BODIES: Final = 64
"""How many bodies, and how many headers, one read caches."""


Kept = TypeVar("Kept")
Setting = TypeVar("Setting", settings.Registration, settings.Tuning)


class Shown(NamedTuple):
    """Whether a view shows what reads leave out by default: worlds hidden by a deadline, and deprecated ones."""

    expired: bool = False
    deprecated: bool = False


BY_DEFAULT: Final = Shown()


class ExcludedWorlds(NamedTuple):
    """Worlds that a read leaves out, to find out what it would return without them.

    ``unindexed``: their texts do not count in statistics either; else they are treated as deprecated.
    """

    nodes: frozenset[int] = frozenset()
    unindexed: bool = False

    @property
    def texts(self) -> frozenset[int]:
        """The worlds whose texts do not count in statistics."""
        return self.nodes if self.unindexed else frozenset()


NONE_EXCLUDED: Final = ExcludedWorlds()
_HIDING: Final = schema.DEADLINES, schema.DEPRECATIONS
"""Key prefixes of the marks that hide worlds, in the order of :class:`Shown`."""


class Place(NamedTuple):
    """The place of a view: its moment, and its outermost world (the root, unless confined).

    With ``users``, it sees nothing that belongs to other users than these: see :class:`.confined_tables.OtherUsers`.
    """

    moment: asof.Moment
    top: int
    users: frozenset[str] | None = None

    @property
    def is_confined(self) -> bool:
        """True if the view sees one world of the store."""
        return self.top != schema.ROOT_NODE

    @property
    def is_partial(self) -> bool:
        """True if the view does not see the whole store: it is confined, or for some users."""
        return self.users is not None or self.top != schema.ROOT_NODE


class VisibleSnapshot:
    """The tables and texts that one read of a view may see. Texts are looked up by visible rows."""

    __slots__ = (
        *("_also_at", "_bodies", "_containers", "_derivations", "_edged", "_headers", "_here", "_interiors"),
        *("_any_hidden", "_any_mark", "_listings", "_lone", "_placings", "_refs", "_says_again", "_says_trust"),
        *("_snapshot", "kept", "excluded", "others", "place", "shows", "tables"),
    )

    def __init__(
        self,
        snapshot: Snapshot,
        place: Place,
        known: dict[int, bool] | None = None,
        *,
        also_at: asof.Moment | None = None,
        interiors: InteriorCache | None = None,
        shows: Shown = BY_DEFAULT,
        excluded: ExcludedWorlds = NONE_EXCLUDED,
    ) -> None:
        """Confine a snapshot to what a place may see.

        ``also_at``: a confined snapshot shows only what is inside at this moment too. ``interiors`` is the cache of the
        whole store; confined views do not use it. ``shows``: what is shown although hidden by default. ``excluded`` is
        always hidden.
        """
        self.shows = shows
        self.excluded = excluded
        self._any_hidden: bool | None = None
        unused = snapshot.tables.unused
        self._any_mark: bool | None = False if unused and "marks" in unused else None
        self._snapshot = snapshot
        self._also_at = also_at
        self._here: world_index.WorldView | None = None
        self._placings: dict[int, list[schema.EdgePlace]] = {}
        self._containers: dict[int, list[int]] = {}
        self._refs: dict[int, str] = {}
        self.others = None if place.users is None else OtherUsers(snapshot, place.users, place.moment, place.top)
        """Tells what of the store belongs to other users than those of the view."""
        is_partial = place.is_partial
        self._interiors = None if is_partial else interiors
        if self._interiors is not None:
            self._interiors.follow(snapshot, place.moment.seq)
        self._listings = interiors
        self._bodies: dict[tuple[int, int], blobs.Body | None] = {}
        self._headers: dict[int, codec.Header] = {}
        self._says_trust: bool | None = None
        self._derivations: dict[int, Sequence[schema.EdgeRow]] = {}
        self._lone: tuple[int, SparseNode | None] = (-1, None)
        """The last world looked up, and its containment edges if it has hardly any others."""
        self._says_again: bool | None = None
        self._edged: dict[tuple[int, int], bool] = {}
        self.kept: dict[Callable[..., Any], Any] = {}
        """Caches of the readers that use this snapshot, for the length of the read, by their type."""
        self.place = place
        self.tables: TableReads = snapshot.tables
        if is_partial:
            tables = snapshot.tables if place.is_confined else None
            if also_at is not None:
                self.tables = ConfinedTables(self.tables, place.top, also_at, {}, whole=tables)
            whole = tables if also_at is None else None
            known = {} if known is None else known
            self.tables = ConfinedTables(self.tables, place.top, place.moment, known, whole=whole, others=self.others)

    def release(self) -> None:
        """Clear the caches of this read. They refer to one another, and the garbage collector should find nothing."""
        for made in self.kept.values():
            forget = getattr(made, "release", None)
            if forget is not None:
                forget()
        self.kept.clear()

    @property
    def whole(self) -> Snapshot | None:
        """The whole store, for what belongs to no world; ``None`` in a confined view."""
        return None if self.place.is_confined else self._snapshot

    @property
    def stored(self) -> Snapshot:
        """The whole store. Read only rows of worlds that :meth:`sees` admits."""
        return self._snapshot

    def sees(self, node: int) -> bool:
        """Whether a world is the outermost one, or lies inside it."""
        return not self.place.is_partial or self._is_inside(node)

    def is_others(self, node: int) -> bool:
        """Whether a world of the store belongs to other users than those of the view."""
        return self.others is not None and self.others(node)

    def users_of(self, node: int) -> set[str]:
        """The names of the users to whom a world belongs; in a view for users, of these alone."""
        owned = self.others or OtherUsers(self._snapshot, frozenset(), self.place.moment, self.place.top)
        owners, users = owned.owners(node), self.place.users
        return {*(owners if users is None else owners & users)} - {ERASED_USER}

    def may_hold_others(self, world: int) -> bool:
        """Whether what a world contains may belong to other users: all in a user's world is that user's."""
        users = self.place.users
        return self.others is not None and users is not None and self.others.owners(world).isdisjoint(users)

    def kept_world(
        self, worlds: kept_worlds.WorldCache, generation: int, choice: valid_period.Choice
    ) -> world_index.WorldView | None:
        """The cached index of the world that the view is confined to; ``None`` if none matches what is seen."""
        is_whole = self._also_at is None and self.others is None and not self.excluded.unindexed
        if not self.place.is_confined or not is_whole:
            return None
        log, tables = self._snapshot
        erasures = generation, log.scrub_due()
        here = worlds.at(log, tables, self.place.top, self.place.moment, choice.index_choice, erasures)
        if here is not None and isinstance(self.tables, ConfinedTables):
            self._here = here
            self.tables.use_interior(here.seen.holds, here.seen.inhabitants)
        return here

    def kept_vectors(
        self, worlds: kept_worlds.WorldCache, generation: int, choice: valid_period.Choice, space: int, dimension: int
    ) -> world_texts.VisibleVectors | None:
        """The visible vectors of a space in that index."""
        here = self.kept_world(worlds, generation, choice)
        return None if here is None else here.near(*self._snapshot, space, dimension)

    def shared_cache(self, kind: Callable[[CompositionFolder], Kept], *, of_all: bool = False) -> Kept | None:
        """The cache of a kind that reads of the whole store share; ``None`` in a confined view.

        With ``of_all`` it is also of a view for users, which then has to leave out what is others'.
        """
        shared = self._members_cache if of_all else self._interiors
        if shared is None:
            return None
        if kind not in shared.kept:
            shared.kept.setdefault(kind, kind(shared.place()))
        found: Kept = shared.kept[kind]
        return found

    def once(self, make: Callable[[VisibleSnapshot], Kept]) -> Kept:
        """What a class makes of this snapshot, made once for all reads of it."""
        found = self.kept.get(make)
        if found is None:
            found = self.kept[make] = make(self)
        return cast(Kept, found)

    def ref(self, node: int) -> str:
        """The reference of a visible world; cached, since one read names containers and ends of edges repeatedly."""
        found = self._refs.get(node)
        if found is None:
            found = self._refs[node] = self.tables.node(node).lineage.hex()
        return found

    def scope(self, world: int) -> Scope:
        """The interior of a visible world."""
        holds: Callable[[int], bool] | None = None
        if self._here is not None and world == self.place.top:
            holds = self._here.seen.holds
        interiors = self._members_cache
        if holds is None and interiors is not None and world != schema.ROOT_NODE:
            members = interiors.known(world, self.place.moment)
            holds = None if members is None else self._seen_among(members.nodes)
        return Scope(self.tables, world, self.place.moment, holds=holds)

    def _seen_among(self, nodes: Collection[int]) -> Callable[[int], bool]:
        """Whether a node is one of some, and not another user's."""
        return nodes.__contains__ if self.others is None else lambda node: node in nodes and not self.is_others(node)

    def body(self, row: schema.VersionRow) -> blobs.Body | None:
        """The body of a version, ``None`` once erased. The first few are cached.

        The cache key is the place and not the hash: a fork has the hash of its origin, and one of them may be erased.
        """
        bodies, place = self._bodies, (row.seq, row.position)
        if place in bodies:
            return bodies[place]
        found = self._snapshot.body(row)
        if len(bodies) < MAX_BODIES:
            bodies[place] = found
        return found

    def stands(self, world: int) -> bool:
        """True if a world is valid at the moment, and its first container, and so on up to the root.

        Nearly all worlds are, and it is cached for later reads of the same commit. False means unknown; it is always
        False in confined views.
        """
        return self._interiors is not None and self._find_standing(world) is not None

    def look_ahead(self, edges: Iterable[tuple[schema.EdgePlace, schema.EdgeRow]]) -> None:
        """Batch the lookups of :meth:`has_standing_container` and :meth:`is_alone` for the targets of edges."""
        if self._interiors is None:
            return
        (seq, valid), plain = self.place.moment, self._interiors.plain
        new = [
            (place, row)
            for place, row in edges
            if place.type == schema.CONTAINS_CODE
            if (kept := plain.get(row.target)) is None or not self._is_now(kept)
            # Edges that were cut are looked up one by one, when they are needed.
            if row.closed <= seq < row.unlinked and row.valid_from <= valid < row.valid_to
        ]
        if not new:
            return
        alone = self._snapshot.tables.sparse_nodes([row.target for _, row in new])
        self._find_standing_of_each({place.source for place, row in new if row.target in alone})
        for place, row in new:
            beyond = self._known_standing(place.source)
            if beyond is not None and row.target in alone:
                stretch = beyond.within(edge_stretch(row, self.place.moment))
                self._interiors.keep_plain(row.target, PlainPlacement(seq, stretch, alone[row.target]))

    def _find_standing_of_each(self, worlds: Iterable[int]) -> None:
        """Look up together for which times many worlds are valid up to the root, and cache it."""
        if self._interiors is None:
            return
        new = [world for world in worlds if self._known_standing(world) is None]
        for world, found in zip(new, find_standing_of_each(self._snapshot.tables, new, self.place.moment), strict=True):
            beyond = None if found is None else self._find_standing(found.container)
            if found is not None and beyond is not None:
                self._interiors.keep_standing(world, self.place.moment.seq, beyond.within(found.stretch))

    def _known_standing(self, world: int) -> Stretch | None:
        """The cached times at which a world is valid up to the root, if the moment is one of them."""
        if world == schema.ROOT_NODE:
            return ALL_TIMES
        known = None if self._interiors is None else self._interiors.standing.get(world)
        return known.stretch if known is not None and self._is_now(known) else None

    def _is_now(self, kept: KeptStanding | PlainPlacement) -> bool:
        """True if what is kept holds at the moment."""
        seq, valid = self.place.moment
        return self._interiors is not None and self._interiors.is_known_at(kept, seq) and kept.stretch.holds(valid)

    def _find_standing(self, world: int) -> Stretch | None:
        """The times around the moment at which a world is valid up to the root; ``None`` if it is not."""
        if self._interiors is None:
            return None
        seq, ended = self.place.moment.seq, self.ended
        path: list[tuple[int, Stretch]] = []
        while (known := self._known_standing(world)) is None:
            if ended.is_in_ended(world):
                return None
            found = find_standing(self._snapshot.tables, world, self.place.moment)
            if found is None:
                return None
            path.append((world, found.stretch))
            # Where it turns out that they lie in an ended world, the walk to the nearest one need not read them again.
            ended.over[world] = False
            if found.is_only:
                self._containers[world] = [found.container]
            world = found.container
        beyond = known
        for each, stretch in reversed(path):
            beyond = beyond.within(stretch)
            self._interiors.keep_standing(each, seq, beyond)
        return beyond

    @property
    def ended(self) -> Ended:
        """What is known of worlds that had ended by the moment; shared with other reads of the whole store.

        A present time that notes how long an answer stays valid is not shared: no other read has the same.
        """
        moment = self.place.moment
        if self._interiors is not None and type(moment.valid) is not times.PresentTime:
            return self._interiors.ended(moment)
        found: Ended = self.kept.setdefault(Ended, Ended({}, {}))
        return found

    def has_standing_container(self, node: int) -> bool:
        """True if the first container of a node is known to be valid up to the root: cheap, and true of nearly all."""
        if self._interiors is None:
            return False
        if node in self._containers or node in self._placings:
            containers = self.containers(node)
            return bool(containers) and self.stands(containers[0])
        if self._is_plain(node):
            return True
        moment, tables = self.place.moment, self._snapshot.tables
        alone = self._find_lone(node)
        lies = tables.node(node)
        if says_container(node, lies, moment):
            beyond = self._find_standing(lies.container)
            if beyond is None:
                self._containers[node] = [lies.container]
                return False
            self._keep_plain(node, Stretch(max(beyond.start, lies.contained_from), beyond.end), alone)
            return True
        placed = iter(tables.placed(node, None if alone is None else alone.placed))
        for place, row in placed:
            if asof.edge_seen(tables, place, row, moment):
                beyond = self._find_standing(place.source)
                if beyond is None:
                    # The caller continues with the containers.
                    others = [other for other, edge in placed if asof.edge_seen(tables, other, edge, moment)]
                    self._placings[node] = [place, *others]
                    return False
                self._keep_plain(node, beyond.within(edge_stretch(row, moment)), alone)
                return True
        return False

    def _keep_plain(self, node: int, stretch: Stretch, alone: SparseNode | None) -> None:
        """Cache that a node lies in a world that is valid up to the root."""
        if self._interiors is not None:
            kept = PlainPlacement(self.place.moment.seq, stretch, self._ever_derived(node), alone is not None)
            self._interiors.keep_plain(node, kept)

    def _is_plain(self, node: int) -> bool:
        """True if the cache says that a node lies in a world that is valid up to the root."""
        kept = None if self._interiors is None else self._interiors.plain.get(node)
        return kept is not None and self._is_now(kept)

    def has_more_referrers(self, entity: int, most: int) -> bool:
        """True if the cache says that more than ``most`` worlds refer to an entity at the moment."""
        known = None if self._interiors is None else self._interiors.referred.get(entity)
        seq, valid = self.place.moment
        return known is not None and known.worlds > most and known.seq == seq and known.stretch.holds(valid)

    def keep_referrers(self, entity: int, edges: Sequence[schema.EdgeRow]) -> None:
        """Cache that these edges, from different worlds, refer to an entity at the moment."""
        if self._interiors is not None:
            seq, _ = self.place.moment
            stretch = ALL_TIMES
            for row in edges:
                stretch = stretch.within(edge_stretch(row, self.place.moment))
            self._interiors.keep_referred(entity, ReferenceCount(seq, stretch, len(edges)))

    def bodies(self, rows: Sequence[schema.VersionRow]) -> list[blobs.Body | None]:
        """As :meth:`body`, for many versions; these are not cached."""
        return self._snapshot.bodies(rows)

    def body_at(self, seq: int, position: int) -> blobs.Body | None:
        """A body of a commit that belongs to no world, such as the name of a setting."""
        stored = None if position == NONE else self._snapshot.log.blob(seq, position)
        found = None if stored is None else codec.decode_blob(stored, seq)
        return found if isinstance(found, blobs.Body) else None

    def placings(self, node: int) -> list[schema.EdgePlace]:
        """The containment edges into a node at the moment, in log order; cached."""
        found = self._placings.get(node)
        if found is None:
            found = self._placings[node] = placings_at(self.tables, node, self.place.moment)
        return found

    def containers(self, node: int) -> list[int]:
        """The worlds that contain a node directly at the moment, in log order; cached, for reading only."""
        found = self._containers.get(node)
        if found is None:
            if node in self._placings:
                found = [place.source for place in self._placings[node]]
            else:
                found = containers_at(self.tables, node, self.place.moment)
            self._containers[node] = found
        return found

    def look_up_placings(self, nodes: Iterable[int]) -> None:
        """Look up :meth:`placings` for many nodes at once."""
        known, moment = self._placings, self.place.moment
        new = [node for node in dict.fromkeys(nodes) if node not in known]
        if not new:
            return
        each = self.tables.edges_of_each(new, (schema.CONTAINS_CODE,), incoming=True, known_by=moment.seq)
        for node in new:
            edges = each.get(node, ())
            # Nodes in very many worlds are looked up one by one, when they are needed.
            if edges is not None:
                known[node] = [place for place, row in edges if asof.edge_seen(self.tables, place, row, moment)]

    @property
    def _members_cache(self) -> InteriorCache | None:
        """The cache of members, of whatever user; ``None`` in a confined view."""
        return None if self.place.is_confined else self._listings

    def list_members(self, world: int) -> Inhabitants:
        """Begin to list what a world contains; in a view for users also what belongs to others, as the cache has it."""
        tables = self.tables if self.place.is_confined else self._snapshot.tables
        return Inhabitants(tables, world, self.place.moment)

    def known_members(self, world: int) -> fields.Nodes | None:
        """The members of a world, at any depth, at the moment, if they are cached.

        In a view for users what :meth:`is_others` are among them.
        """
        if self._here is not None:
            return self._here.members(world)
        interiors = self._members_cache
        return None if interiors is None else interiors.at(self._snapshot, world, self.place.moment)

    def members_up_to(self, world: int, most: int) -> fields.Nodes | None:
        """The members of a world, at any depth, if they are cached or at most ``most``; then they are cached."""
        known = self.known_members(world)
        if known is not None or self.has_more_members(world, most):
            return known
        listed = self.list_members(world)
        if listed.listed(most) is not None:
            return self.keep_members(world, listed)
        self.keep_large(world, most)
        return None

    def has_more_members(self, world: int, most: int) -> bool:
        """True if the cache says that a world had more than ``most`` members, so that it is not listed again."""
        interiors = self._members_cache
        return interiors is not None and interiors.large.get(world, -1) >= most

    def keep_large(self, world: int, most: int) -> None:
        """Cache that a world has more than ``most`` members."""
        interiors = self._members_cache
        if interiors is not None:
            interiors.keep_large(world, most)

    def checked_hits(self, world: int) -> int:
        """How many hits recalls have checked one by one for lying in a world, since its members were listed."""
        interiors = self._members_cache
        return 0 if interiors is None else interiors.checked_hits.get(world, 0)

    def add_checked_hits(self, world: int, hits: int) -> None:
        """Add to :meth:`checked_hits`."""
        interiors = self._members_cache
        if interiors is not None:
            interiors.add_checked_hits(world, hits)

    def reset_checked_hits(self, world: int) -> None:
        """Set :meth:`checked_hits` to zero, since the world's members are being listed."""
        interiors = self._members_cache
        if interiors is not None:
            interiors.checked_hits.pop(world, None)

    def keep_members(self, world: int, listed: Inhabitants) -> fields.Nodes:
        """Cache the listed members of a world for this read and later ones, and return them."""
        interiors = self._members_cache
        return fields.Nodes(frozenset(listed.found)) if interiors is None else interiors.keep(world, listed)

    def details(self, seq: int, position: int) -> blobs.Details:
        """The details that a command left in a commit; empty if it left none or they were erased."""
        return NO_DETAILS if position == NONE else self._snapshot.details(seq, position)

    def erasure_due(self) -> int | None:
        """The commit of an erasure whose bytes are still in files, if there is one."""
        return self._snapshot.log.scrub_due()

    def erasure(self, node: int) -> Erasure | None:
        """The erasure of a node's texts: when, by whom, and under which reference."""
        from worlddb.query.snapshot.erasure_notes import erasure_of  # Few worlds were erased.

        return erasure_of(self._snapshot, node)

    def vector(self, space: int, node: int, version: int) -> vector_rows.VectorRow | None:
        """The vectors of a visible version, if they were recorded by the moment's commit."""
        place = asof.vector_place(self._snapshot.tables, space, node, version)
        if place is None or place.seq > self.place.moment.seq:
            return None
        stored = self._snapshot.log.blob(place.seq, place.position)
        found = None if stored is None else codec.decode_blob(stored, place.seq)
        if not isinstance(found, blobs.Vector):
            return None
        return vector_rows.VectorRow(node, version, place.seq, found.values, found.statements, found.stated)

    def answering_spaces(self, *, exact: bool) -> list[asof.OpenSpace]:
        """The embedding spaces that a question may be compared in, the preferred one first.

        ``exact``: as of the moment's commit alone.
        """
        return asof.answering_spaces(self._snapshot.log, self._snapshot.tables, self.place.moment.seq, exact=exact)

    @property
    def store_tables(self) -> Tables:
        """The tables of the whole store. Callers must show only worlds that ``tables`` has."""
        return self._snapshot.tables

    def header(self, seq: int) -> codec.Header:
        """The header of a commit: its time and author. The first few are cached, since many worlds share a commit."""
        found = self._headers.get(seq)
        if found is None:
            found = self._snapshot.log.header(seq)
            if len(self._headers) < MAX_BODIES:
                self._headers[seq] = found
        return found

    def reasons(self, seq: int, lineage: bytes) -> Iterator[str]:
        """The reasons of a commit's events that are about one world alone."""
        for event in self.events_about(seq, lineage):
            yield self.details(seq, getattr(event, "details", NONE)).why

    def events_about(self, seq: int, lineage: bytes) -> list[AnyEvent]:
        """The events of a commit that are about one world alone."""
        return [event for event in self._snapshot.log.events(seq).events if getattr(event, "lineage", b"") == lineage]

    def registration(self, type_name: str, home: int) -> settings.Registration | None:
        """The registration of an edge type that holds for edges at home in a world."""
        tables, seq = self._snapshot.tables, self.place.moment.seq
        found = settings.RegistrationFinder(tables, type_name, seq).at(home, self._visible_containers)
        return None if found is None else self._as_seen(found)

    def _visible_containers(self, node: int) -> list[int]:
        """The containers of a node whose registrations apply in this view.

        For a node inside, these are the containers inside. For the outermost world all containers count: what applies
        to it applies to everything in it.
        """
        found = list(settings.containers_known(self._snapshot.tables, self.place.moment.seq)(node))
        if not self.place.is_partial or node == self.place.top or not self._is_inside(node):
            return found
        return [container for container in found if self._is_inside(container)]

    def registered(self, *, ended: bool = False) -> list[settings.Registration]:
        """Every registration inside, and those from outside that hold for the outermost world."""
        known = settings.registered(self._snapshot.tables, self.place.moment.seq, ended=ended)
        if not self.place.is_partial:
            return known
        inherited = (self.registration(name, self.place.top) for name in dict.fromkeys(one.type for one in known))
        return self._with_inherited(known, filter(None, inherited))

    def profiles(self, home: int | None) -> list[settings.Profile]:
        """The profiles that are set, or with ``home`` those that hold in a world.

        One from outside is shown as if it were set for the outermost world, and without its reason.
        """
        tables, seq = self._snapshot.tables, self.place.moment.seq
        known, above = settings.profiles_known(tables, seq), settings.containers_known(tables, seq)
        if home is not None:
            known = settings.profiles_around(known, home, above)
        if not self.place.is_partial:
            return known
        inside = [one for one in known if self._is_inside(one.world)]
        around = settings.profiles_around(known, self.place.top, above)
        return inside + [one._replace(world=self.place.top, details=NONE) for one in around if one not in inside]

    def _with_inherited(self, known: Iterable[Setting], inherited: Iterable[Setting]) -> list[Setting]:
        """The settings inside, and those from outside that hold for the outermost world."""
        inside = [one for one in known if self._is_inside(one.world)]
        return inside + [one for one in inherited if one not in inside]

    def _as_seen(self, known: Setting) -> Setting:
        """Show a setting as this view sees it: one from outside holds for everything here, without its reason."""
        if not self.place.is_partial or self._is_inside(known.world):
            return known
        return known._replace(world=self.place.top, row=known.row._replace(details=NONE))

    def tunings(self, *, ended: bool = False) -> list[settings.Tuning]:
        """The thresholds set inside, and those from outside that hold for the outermost world."""
        known = settings.tunings_known(self._snapshot.tables, self.place.moment.seq, ended=ended)
        if not self.place.is_partial:
            return known
        return self._with_inherited(known, self.tunings_at(self.place.top))

    def tunings_at(self, home: int) -> list[settings.Tuning]:
        """The thresholds that hold in a world, one for each type that has its own."""
        found = settings.tunings_holding(self._snapshot.tables, home, self._visible_containers, self.place.moment.seq)
        return [self._as_seen(one) for one in found]

    def guards(self) -> list[settings.Guard]:
        """The guards of worlds inside, for credentials and personal data."""
        known = settings.guards_known(self._snapshot.tables, self.place.moment.seq)
        return [each for each in known if not self.place.is_partial or self._is_inside(each.world)]

    def guards_at(self, home: int) -> settings.Guards:
        """What becomes of them in a world."""
        return settings.guards_at(self._snapshot.tables, home, self._visible_containers, self.place.moment.seq)

    def is_tuning_visible(self, lineage: bytes, seq: int) -> bool:
        """True if thresholds of a world may be known here.

        The world lies inside, or what was set for it held, at a commit, for all that is visible.
        """
        if not self.place.is_partial or self.tables.node_of(lineage) is not None:
            return True
        tables = self._snapshot.tables
        around = settings.tunings_holding(tables, self.place.top, settings.containers_known(tables, seq), seq)
        return any(tables.node(one.world).lineage == lineage for one in around)

    def is_made_of_others(self, node: int, row: schema.VersionRow) -> bool:
        """True if a world may rest on others. Cheap; false for nearly all worlds."""
        return row.type == SUMMARY_TYPE or self.is_derived(node)

    def is_derived(self, node: int) -> bool:
        """True if a world ever had a ``derived_from`` edge."""
        return bool(self.derivations(node))

    def derivations(self, node: int) -> Sequence[schema.EdgeRow]:
        """The ``derived_from`` edges of a world that were written by the moment's commit, in log order."""
        found = self._derivations.get(node)
        if found is None:
            found = ()
            if self._ever_derived(node):
                edges = self.tables.outgoing(node, _DERIVED_FROM, known_by=self.place.moment.seq)
                found = [row for _, row in edges]
            if len(self._derivations) >= _MAX_DERIVATIONS:
                self._derivations.clear()
            self._derivations[node] = found
        return found

    def may_have_edges(self, node: int, code: int) -> bool:
        """False if a world never had an edge of a type. Cheap and cached; false for most worlds."""
        known = self._edged.get((node, code))
        if known is None:
            known = self._edged[node, code] = self._snapshot.tables.has_edges(node, code)
        return known

    def is_alone(self, node: int) -> bool:
        """True if a world's only edges by the moment are a few that contain it, or others derived from it.

        It may be derived from others itself. False means unknown.
        """
        known = None if self._lone[0] == node else self._known_plain(node)
        return self._find_lone(node) is not None if known is None else known.is_alone

    def _known_plain(self, node: int) -> PlainPlacement | None:
        """The cached facts about a world's edges, if they are of the moment's commit."""
        interiors = self._interiors
        kept = None if interiors is None else interiors.plain.get(node)
        is_known = interiors is not None and kept is not None and interiors.is_known_at(kept, self.place.moment.seq)
        return kept if is_known else None

    def _find_lone(self, node: int) -> SparseNode | None:
        if self._lone[0] != node:
            self._lone = node, self._snapshot.tables.lone(node)
        return self._lone[1]

    def _ever_derived(self, node: int) -> bool:
        """Whether a world has a ``derived_from`` edge of any commit."""
        alone = self._lone[1] if self._lone[0] == node else None
        known = self._known_plain(node) if alone is None else alone
        return self._snapshot.tables.has_outgoing(node, _DERIVED_FROM) if known is None else known.is_derived

    @property
    def has_trust_statements(self) -> bool:
        """True if a level of trust was ever set."""
        if self._says_trust is None:
            self._says_trust = self._snapshot.tables.has_rows("trusts")
        return self._says_trust

    @property
    def has_restatements(self) -> bool:
        """True if any version was ever restated."""
        if self._says_again is None:
            self._says_again = self._snapshot.tables.has_rows("restatements")
        return self._says_again

    def restatements_of(self, node: int, number: int) -> list[schema.RestatedRow]:
        """The restatements of a version that were known at the moment, in log order."""
        if not self.has_restatements:
            return []
        rows = self.tables.restatements(node)
        return [row for row in rows if row.version == number and row.seq <= self.place.moment.seq]

    @property
    def hides_any(self) -> bool:
        """True if deadlines, deprecations or exclusions may hide anything from this read."""
        if self._any_hidden is None:
            any_mark = self._any_mark if self._any_mark is not None else self.has_marks
            self._any_hidden = bool(self.excluded.nodes) or (any_mark and self._has_hiding_marks())
        return self._any_hidden

    def hides(self, node: int, period: valid_period.Period | None = None) -> bool:
        """True if a visible world is deprecated or hidden by a deadline: at the moment, or somewhere in a period.

        A world that has to hold throughout a period also has to be shown throughout it.
        """
        if not self.hides_any:
            return False
        if node in self.excluded.nodes:
            return True
        seq, valid = self.place.moment
        if not self.shows.deprecated and self.is_deprecated(node):
            return True
        if self.shows.expired:
            return False
        if period is not None:
            valid = period.span.end - 1 if period.throughout else period.span.start
        return mark_rows.is_hidden(self._snapshot.tables, node, seq, valid)

    @property
    def has_marks(self) -> bool:
        """True if any world ever had a mark."""
        if self._any_mark is None:
            self._any_mark = self._snapshot.tables.has_rows("marks")
        return self._any_mark

    def _has_hiding_marks(self) -> bool:
        return any(self._has_marks_of(kind) for kind, shown in zip(_HIDING, self.shows, strict=True) if not shown)

    def _has_marks_of(self, kind: bytes) -> bool:
        """True if any world of the whole store ever had a mark of a kind."""
        return next(iter(self._snapshot.tables.marks.scan(kind)), None) is not None

    @property
    def has_forks(self) -> bool:
        """Whether any world of the store was ever forked."""
        return self.has_marks and next(iter(self._snapshot.tables.marks.scan(schema.FORKS)), None) is not None

    def deadline(self, node: int) -> int | None:
        """The deadline of a world that is seen, as known at the moment."""
        found = mark_rows.deadline_at(self._snapshot.tables, node, self.place.moment.seq) if self.has_marks else None
        return None if found is None else found.at

    def is_pinned(self, node: int) -> bool:
        """Whether a world that is seen is pinned, as known at the moment."""
        return self.has_marks and mark_rows.is_pinned(self._snapshot.tables, node, self.place.moment.seq)

    def pinned(self) -> list[int]:
        """The worlds that are seen and pinned, in log order."""
        nodes = mark_rows.pinned_ever(self._snapshot.tables) if self.has_marks else ()
        return [node for node in nodes if self._is_inside(node) and self.is_pinned(node)]

    def receipts(self, node: int) -> Iterator[tuple[int, Any]]:
        """(commit, receipt as plain values) of the kept receipts that name a world; of an erased one ``None``.

        From inside a world, of those that were left in there.
        """
        if self.has_marks:
            for seq, position in mark_rows.receipts_naming(self._snapshot.tables, node, self.place.moment.seq):
                kept = (each for each in self._snapshot.log.events(seq).events if isinstance(each, ev.Recalled))
                event = next(each for each in kept if each.details == position)
                if not self.place.is_partial or (event.world and self.tables.node_of(event.world) is not None):
                    yield seq, self.details(seq, position).properties.get("receipt")

    def is_deprecated(self, node: int) -> bool:
        """Whether a world that is seen is deprecated, as known at the moment."""
        return self.has_marks and mark_rows.is_deprecated(self._snapshot.tables, node, self.place.moment.seq)

    def retained(self, node: int, seen: asof.SeenVersion, decay: Decay) -> Retained:
        """How fresh a version of a world that is seen is at the moment."""
        from worlddb.projections.tables.dream import retention

        importance = self.details(seen.row.seq, seen.row.details).properties.get(retention.IMPORTANCE)
        return retention.retention_of(self._snapshot.tables, node, seen, importance, self.place.moment, decay)

    def deprecated(self) -> list[int]:
        """The worlds that are seen and deprecated, in log order."""
        nodes = mark_rows.deprecated_ever(self._snapshot.tables) if self.has_marks else ()
        return [node for node in nodes if self._is_inside(node) and self.is_deprecated(node)]

    def hidden(self) -> list[int]:
        """The worlds that are seen and whose deadline has passed, in log order."""
        nodes = mark_rows.hidden_since(self._snapshot.tables, *self.place.moment) if self.has_marks else ()
        return [node for node in nodes if self._is_inside(node)]

    def label_rows(self, node: int) -> list[tuple[int, schema.AliasRow]]:
        """Every label that a world that is seen was ever given, by its number, as known at the moment."""
        return self._named_marks(mark_rows.LABELS, node)

    def tag_rows(self, node: int) -> list[tuple[int, schema.AliasRow]]:
        """Every tag that a world that is seen was ever given, by its number, as known at the moment."""
        return self._named_marks(mark_rows.TAGS, node)

    def _named_marks(self, kind: mark_rows.Names, node: int) -> list[tuple[int, schema.AliasRow]]:
        rows = mark_rows.names_of(self._snapshot.tables, kind, node) if self.has_marks else ()
        return [each for each in rows if each[1].seq <= self.place.moment.seq]

    def assigned(self, node: int, tag: int) -> int:
        """The number of the version that a tag of a world that is seen stands for at the moment; 0 for none."""
        return mark_rows.assigned(self._snapshot.tables, node, tag, self.place.moment.seq)

    def tagged_number(self, digest: bytes, node: int) -> int:
        """The number of the version that a tag of a world stands for, by what it is compared by; 0 for none."""
        return next((self.assigned(node, at) for at, row in self.tag_rows(node) if row.name == digest), 0)

    def assignments(self, node: int, tag: int) -> list[mark_rows.Assignment]:
        """Every version that a tag of a world that is seen stood for, as known at the moment, in log order."""
        rows = mark_rows.assignments(self._snapshot.tables, node, tag)
        return [each for each in rows if each.seq <= self.place.moment.seq]

    def belief_settings(self) -> belief_rows.Settings:
        """What counts as believed in the whole store, as known at the moment."""
        from worlddb.projections.tables.beliefs import belief_rows

        if not self.has_marks:
            return belief_rows.BY_DEFAULT
        return belief_rows.settings_at(self._snapshot.tables, self.place.moment.seq)

    def deadlines_set(self, node: int) -> list[mark_rows.Deadline]:
        """Every deadline that a world that is seen was given, as known at the moment, in log order."""
        rows = mark_rows.deadlines_set(self._snapshot.tables, node) if self.has_marks else ()
        return [each for each in rows if each.seq <= self.place.moment.seq]

    def deprecations(self, node: int) -> list[mark_rows.Switch]:
        """Every time that a world that is seen was deprecated, or that was taken back, in log order."""
        rows = mark_rows.deprecations(self._snapshot.tables, node) if self.has_marks else ()
        return [each for each in rows if each.seq <= self.place.moment.seq]

    def pinnings(self, node: int) -> list[mark_rows.Switch]:
        """Every time that a world that is seen was pinned, or its pin taken off, as known at the moment."""
        rows = mark_rows.pinnings(self._snapshot.tables, node) if self.has_marks else ()
        return [each for each in rows if each.seq <= self.place.moment.seq]

    def labelled(self, digest: bytes) -> Iterator[int]:
        """Every world of the whole store, but other users', that had a label by the moment's commit."""
        return filterfalse(self.is_others, self._holders(mark_rows.LABELS, digest))

    def tagged(self, digest: bytes) -> list[int]:
        """The worlds that are seen and ever had a tag, in log order."""
        return [node for node in self._holders(mark_rows.TAGS, digest) if self._is_inside(node)]

    def _holders(self, kind: mark_rows.Names, digest: bytes) -> Iterator[int]:
        found = mark_rows.holders(self._snapshot.tables, kind, digest) if self.has_marks else ()
        return (node for node, first in found if first <= self.place.moment.seq)

    def has_labels(self, node: int, digests: Sequence[bytes]) -> bool:
        """True if a world that is seen has all of some labels."""
        return not digests or (
            self.has_marks and mark_rows.has_labels(self._snapshot.tables, node, digests, self.place.moment.seq)
        )

    def secret(self) -> bytes:
        """The secret under which the store hashes what it may not hold in clear."""
        return log_marks.secret_of(self._snapshot.log)

    def trusts(self) -> list[settings.TrustStatement]:
        """All levels of trust; of worlds, those set for worlds inside and for containers of the outermost one."""
        known = settings.trusts_known(self._snapshot.tables, self.place.moment.seq) if self.has_trust_statements else []
        if not self.place.is_partial:
            return known
        heeded = {
            lineage
            for level in settings.containment_levels(self.place.top, self._visible_containers)
            for lineage in self.lineages_of(level)
        }
        return [
            said
            for said in known
            if said.kind != "world" or said.digest in heeded or self.tables.node_of(said.digest) is not None
        ]

    def relevant_containers(self, node: int) -> list[int]:
        """The containers of a world whose settings apply to it in this view."""
        return self._visible_containers(node)

    def lineages_of(self, nodes: Iterable[int]) -> list[bytes]:
        """The lineages of such containers, visible or not."""
        return [self._snapshot.tables.node(node).lineage for node in nodes]

    def _is_inside(self, node: int) -> bool:
        return self.tables.node_of(self._snapshot.tables.node(node).lineage) is not None

    def population(self) -> int:
        """The number of worlds inside at the moment; for the whole store, the number it knew at the commit."""
        if self._here is not None:
            return self._here.seen.members
        if self.place.is_confined:
            return sum(1 for _ in self.inhabitants())
        return self.worlds_known()

    def worlds_known(self) -> int:
        """The number of worlds in the whole store at the moment's commit."""
        tables = self._snapshot.tables
        return asof.nodes_known(tables, tables.progress().next_node, self.place.moment.seq)

    def inhabitants(self, world: int | None = None, after: int | None = None) -> Iterator[int]:
        """Every node inside a world (default: the top) at the moment, in log order.

        With ``after``, only those behind that node, for one page. For a large world it may yield other nodes too.
        """
        top = self.place.top
        within = top if world is None else world
        last = schema.ROOT_NODE if after is None else max(after, schema.ROOT_NODE)
        # Scanning the store's nodes would reveal by its duration, to a confined view, how much lies outside.
        is_listed = within != schema.ROOT_NODE and (after is None or self.place.is_confined)
        few = None if is_listed or within == schema.ROOT_NODE else self.members_up_to(within, _LISTED_FOR_A_PAGE)
        if few is not None:
            found = sorted(few) if len(few) <= _LISTED_FOR_A_PAGE else few.in_order
            yield from filterfalse(self.is_others, map(int, found[bisect_right(found, last) :]))
            return
        if not is_listed:
            end = self._snapshot.tables.progress().next_node
            until = end if within == schema.ROOT_NODE else min(end, last + 1 + _PASSED_FOR_A_PAGE)
            yield from self._nodes_after(last, until)
            if until == end:
                return
            last = until - 1
        if within != schema.ROOT_NODE:
            inside = self._sorted_members(within, is_page=after is not None)
            yield from inside[bisect_right(inside, last) :]

    def _sorted_members(self, world: int, *, is_page: bool) -> Sequence[int]:
        """Every node inside a world at the moment, in log order; cached between the pages of a confined view."""
        moment, top = self.place.moment, self.place.top
        is_listed = is_page and self.place.is_confined and self._also_at is None and self.others is None
        kept = self._listings if is_listed else None
        found = None if kept is None else kept.listed_inside(top, world, moment)
        if found is None:
            if isinstance(self.tables, ConfinedTables) and self._also_at is None:
                inside = self.tables.below(world)
            else:
                inside = members_below(self.tables, world, moment) or set()
            found = array("q", sorted(inside))
            if kept is not None:
                kept.keep_inside(top, world, moment, found)
        return found

    def _nodes_after(self, last: int, until: int) -> Iterator[int]:
        moment = self.place.moment
        for node in range(last + 1, until):
            if self._snapshot.tables.node(node).created > moment.seq:
                return
            if not self.is_others(node):
                yield node
