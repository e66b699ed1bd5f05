"""One short read transaction, and containment in it at a moment (law 7).

Walks go up or down one level at a time, so depth costs no stack. Listing ten thousand members takes longer than the
rest of a recall in them, and mostly nothing has changed since the last recall, so interiors are cached. Only three
kinds of events change containment: members that later commits linked are added to a cached interior, and after an edge
was retracted or closed the members are listed again. Validity is no event: an interior has the span of valid time in
which the same edges are in force.
"""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from worlddb.log.model import blobs, codec, events, times
from worlddb.log.model import events as ev
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes.fields import Nodes
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage import rows, schema

if TYPE_CHECKING:
    from worlddb.projections.indexes.composed_vectors import CompositionFolder

NO_DETAILS = blobs.Details(b"", [], "", {}, {})


class Snapshot(NamedTuple):
    """The log and the tables in one transaction."""

    log: LmdbLog
    tables: rows.Tables

    def body(self, row: schema.VersionRow) -> blobs.Body | None:
        """The body of a version, or ``None`` once erased.

        Raises:
            DamagedStore: it is not what was written.
        """
        stored = None if row.position == events.NONE else self.log.blob(row.seq, row.position)
        found = None if stored is None else codec.decode_checked_blob(stored, row.body, row.seq)
        return found if isinstance(found, blobs.Body) else None

    def bodies(self, rows: Sequence[schema.VersionRow]) -> list[blobs.Body | None]:
        """As :meth:`body`, of many versions."""
        there = [(row.seq, row.position) for row in rows if row.position != events.NONE]
        stored = iter(self.log.blobs(there))
        found = ((None if row.position == events.NONE else next(stored), row.body, row.seq) for row in rows)
        return [body if isinstance(body, blobs.Body) else None for body in codec.decode_checked_blobs(found)]

    def details(self, seq: int, position: int) -> blobs.Details:
        """The details that a command left in a commit; empty if it left none or they were erased."""
        stored = None if position == events.NONE else self.log.blob(seq, position)
        found = None if stored is None else codec.decode_blob(stored, seq)
        return found if isinstance(found, blobs.Details) else NO_DETAILS


class SnapshotSource(Protocol):
    """Opens short read transactions on a store."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """A snapshot for the length of one call."""


def says_container(world: int, row: schema.NodeRow, moment: asof.Moment) -> bool:
    """True if the row of a world says what contains it at a moment; else its edges do.

    It is an earlier world, so that a walk up ends even if rows were altered.
    """
    seq, valid = moment
    return row.container < world and row.created <= seq and row.contained_from <= valid


def placings_at(tables: table_reads.TableReads, node: int, moment: asof.Moment) -> list[schema.EdgePlace]:
    """The edges by which worlds contain a node at a moment, in log order."""
    incoming = tables.incoming(node, schema.CONTAINS_CODE, known_after=moment.seq, known_by=moment.seq)
    return [place for place, row in incoming if asof.edge_seen(tables, place, row, moment)]


def containers_at(tables: table_reads.TableReads, node: int, moment: asof.Moment) -> list[int]:
    """The worlds that contain a node at a moment, in log order of the edges."""
    if isinstance(tables, rows.Tables) and says_container(node, row := tables.node(node), moment):
        return [row.container]
    return [place.source for place in placings_at(tables, node, moment)]


def containers_of_each(tables: table_reads.TableReads, nodes: Sequence[int], moment: asof.Moment) -> list[list[int]]:
    """As :func:`containers_at`, of each of many nodes."""
    said: dict[int, int] = {}
    if isinstance(tables, rows.Tables):
        each_row = zip(nodes, tables.nodes_of(nodes), strict=True)
        said = {node: row.container for node, row in each_row if says_container(node, row, moment)}
    others = [node for node in nodes if node not in said]
    each = tables.edges_of_each(others, (schema.CONTAINS_CODE,), incoming=True, known_by=moment.seq)
    found = []
    for node in nodes:
        edges = each.get(node, ())
        if node in said:
            found.append([said[node]])
        elif edges is None:
            found.append(containers_at(tables, node, moment))
        else:
            found.append([place.source for place, row in edges if asof.edge_seen(tables, place, row, moment)])
    return found


_BATCH: Final = 16
"""Fewer nodes than this are looked up one by one: that takes as long, and a walk up ends at what is known."""


class Scope:
    """Whether nodes lie inside one world at a moment.

    Answers are cached, in ``known`` if it is given. They stay true for a moment, so one dictionary may serve many
    transactions and several threads.
    """

    def __init__(
        self,
        tables: table_reads.TableReads,
        world: int,
        moment: asof.Moment,
        known: dict[int, bool] | None = None,
        *,
        holds: Callable[[int], bool] | None = None,
    ) -> None:
        """``holds`` says whether a node is inside, if the caller knows the members."""
        self._tables = tables
        self._holds = holds
        self._world = world
        self._moment = moment
        self._inside = {} if known is None else known
        self._inside[world] = True

    def holds(self, node: int) -> bool:
        """True if the world contains the node at any depth; the world itself is not inside itself."""
        return node != self._world and self.sees(node)

    def sees(self, node: int) -> bool:
        """True if the node is the world or lies inside it."""
        if self._world == schema.ROOT_NODE:
            return True
        if self._holds is not None:
            return node == self._world or self._holds(node)
        known = self._inside.get(node)
        return self._walk_up(node) if known is None else known

    def look_ahead(self, nodes: Iterable[int]) -> None:
        """Compute :meth:`holds` for many nodes at once, and cache it."""
        inside, above = self._inside, dict[int, list[int]]()
        if self._world == schema.ROOT_NODE or self._holds is not None:
            return
        level = [node for node in dict.fromkeys(nodes) if node not in inside]
        if len(level) < _BATCH:
            return
        while level:
            above.update(zip(level, containers_of_each(self._tables, level, self._moment), strict=True))
            around = {container for node in level for container in above[node]}
            level = sorted(around.difference(inside, above))
        below: dict[int, list[int]] = {}
        for node, containers in above.items():
            for container in containers:
                below.setdefault(container, []).append(node)
        pending = [container for container in below if inside.get(container)]
        found: set[int] = set()
        while pending:
            for node in below.get(pending.pop(), ()):
                if node not in found:
                    found.add(node)
                    pending.append(node)
        inside.update((node, node in found) for node in above)

    def admit(self, node: int) -> None:
        """Remember that a node is inside, since one of its containers is."""
        self._inside[node] = True

    def _walk_up(self, start: int) -> bool:
        """Walk up until a node is known to be inside; visits every node once."""
        inside = self._inside
        # Most nodes have one container; the walk takes as long as that of a confined view from a node outside.
        node, only = start, [start]
        while len(around := containers_at(self._tables, node, self._moment)) == 1:
            (node,) = around
            known = inside.get(node)
            if known is not None:
                inside.update(dict.fromkeys(only, known))
                return known
            only.append(node)
        if not around:
            inside.update(dict.fromkeys(only, False))
            return False
        passed = {start}
        path, above = [start], [containers_at(self._tables, start, self._moment)]
        while path:
            if not above[-1]:
                path.pop()
                above.pop()
                continue
            container = above[-1].pop()
            known = inside.get(container)
            if known:
                inside.update(dict.fromkeys(path, True))
                return True
            if known is None and container not in passed:
                passed.add(container)
                path.append(container)
                above.append(containers_at(self._tables, container, self._moment))
        inside.update(dict.fromkeys(passed, False))
        return False


class Stretch(NamedTuple):
    """The valid times, half-open, at which the same edges are in force."""

    start: int
    end: int

    def holds(self, valid: int) -> bool:
        """True if a valid time is one of them."""
        return self.start <= valid < self.end

    def around(self, valid: int, start: int, end: int) -> Stretch:
        """The times around ``valid`` in which an edge from ``start`` to ``end`` stays as it is then."""
        first, beyond = self
        for bound in (start, end):
            if bound <= valid:
                first = max(first, bound)
            else:
                beyond = min(beyond, bound)
        return Stretch(first, beyond)

    def within(self, other: Stretch) -> Stretch:
        """The intersection of two stretches."""
        return _stretch((max(self.start, other.start), min(self.end, other.end)))


_stretch: Final[Callable[[tuple[int, int]], Stretch]] = partial(tuple.__new__, Stretch)
"""As `rows.py` makes its rows: each level of a walk makes some of these, and of what follows."""
ALL_TIMES: Final = Stretch(times.ALWAYS, times.FOREVER)


class Inhabitants:
    """The nodes inside a world at a moment, listed on demand and continued later.

    ``stretch`` has the valid times at which the nodes listed so far are the same; ``None`` if it is unknown, since an
    end of an edge was moved after the moment's commit.
    """

    def __init__(self, tables: table_reads.TableReads, world: int, moment: asof.Moment) -> None:
        self._tables = tables
        self.moment = moment
        self.found: set[int] = set()
        self.stretch: Stretch | None = ALL_TIMES
        self._next = [world]
        self._edges: Iterator[tuple[schema.EdgePlace, schema.EdgeRow]] = iter(())

    def listed(self, limit: int | None = None) -> set[int] | None:
        """All of them, or ``None`` if there are more than ``limit``."""
        tables, moment, found = self._tables, self.moment, self.found
        while True:
            for place, row in self._edges:
                self._note(row)
                if row.target not in found and asof.edge_seen(tables, place, row, moment):
                    found.add(row.target)
                    self._next.append(row.target)
                    if limit is not None and len(found) > limit:
                        return None
            if not self._next:
                return found
            # Level by level and in order: neighbours in a table are found together.
            level, self._next = sorted(self._next), []
            self._edges = tables.between(level, schema.CONTAINS_CODE, None, known_by=moment.seq)

    def _note(self, row: schema.EdgeRow) -> None:
        """Narrow ``stretch`` by a known edge, in force or not, to the times at which that does not change."""
        seq, valid = self.moment
        stretch = self.stretch
        if stretch is None or row.unlinked <= seq:
            return
        if row.closed > seq:
            self.stretch = None
        elif row.valid_from > stretch.start or row.valid_to < stretch.end:
            self.stretch = stretch.around(valid, row.valid_from, row.valid_to)


class Standing(NamedTuple):
    """The first container of a world, and the valid times at which the world holds and lies in it.

    ``is_only``: no other edge ever put the world anywhere.
    """

    container: int
    stretch: Stretch
    is_only: bool = False


_standing: Final[Callable[[tuple[int, Stretch, bool]], Standing]] = partial(tuple.__new__, Standing)


def find_standing(tables: rows.Tables, world: int, moment: asof.Moment) -> Standing | None:
    """The first container of a world that is valid at a moment; ``None`` if it is not, or nothing contains it."""
    (seq, valid), node = moment, tables.node(world)
    newest = tables.version(world, node.versions)
    start, end = newest.valid_from, newest.valid_to
    if not (newest.closed <= seq and newest.seq <= seq and start <= valid < end):
        seen = asof.version_at(tables, world, moment)
        if seen is None:
            return None
        start, end = seen.validity.start, seen.validity.end
    if says_container(world, node, moment):
        return _standing((node.container, _stretch((max(start, node.contained_from), end)), True))
    within = _stretch((start, end))
    pairs = tables.placed_pairs(world)
    for place, row in tables.placed(world, pairs):
        if asof.edge_seen(tables, place, row, moment):
            return Standing(place.source, within.within(edge_stretch(row, moment)), len(pairs) == 1)
    return None


def find_standing_of_each(tables: rows.Tables, worlds: Sequence[int], moment: asof.Moment) -> list[Standing | None]:
    """As :func:`find_standing`, of many worlds."""
    nodes = dict(zip(worlds, tables.nodes_of(worlds), strict=True))
    others = [world for world, row in nodes.items() if not says_container(world, row, moment)]
    placed = tables.edges_of_each(others, (schema.CONTAINS_CODE,), incoming=True, known_by=moment.seq)
    each: list[Standing | None] = []
    for world, seen in zip(worlds, asof.versions_at(tables, worlds, moment), strict=True):
        if seen is not None and says_container(world, row := nodes[world], moment):
            start, end = max(seen.validity.start, row.contained_from), seen.validity.end
            each.append(Standing(row.container, Stretch(start, end), True))
            continue
        edges = placed.get(world, [])
        if edges is None:
            each.append(find_standing(tables, world, moment))
            continue
        inside = next((edge for edge in edges if asof.edge_seen(tables, *edge, moment)), None)
        if seen is None or inside is None:
            each.append(None)
        else:
            within = Stretch(seen.validity.start, seen.validity.end)
            each.append(Standing(inside[0].source, within.within(edge_stretch(inside[1], moment))))
    return each


def edge_stretch(row: schema.EdgeRow, moment: asof.Moment) -> Stretch:
    """The times around a moment at which an edge stays in force; only that instant if it was cut later."""
    if row.closed <= moment.seq:
        return _stretch((row.valid_from, row.valid_to))
    return _stretch((moment.valid, moment.valid + 1))


class KeptStanding(NamedTuple):
    """A world is valid up to the root by its first containers, as of a commit, at all valid times of a stretch.

    ``is_latest``: later commits were not followed when it was kept.
    """

    seq: int
    stretch: Stretch
    is_latest: bool


_kept_standing: Final[Callable[[tuple[int, Stretch, bool]], KeptStanding]] = partial(tuple.__new__, KeptStanding)


class PlainPlacement(NamedTuple):
    """A world lies in one that is valid up to the root, as of a commit, at all valid times of a stretch.

    ``is_derived``: it ever had a ``derived_from`` edge. ``is_alone``: it has no edges besides but a few that contain
    it or by which others derive from it. ``is_latest`` as in :class:`KeptStanding`.
    """

    seq: int
    stretch: Stretch
    is_derived: bool
    is_alone: bool = True
    is_latest: bool = False


_plain: Final[Callable[[tuple[int, Stretch, bool, bool, bool]], PlainPlacement]] = partial(
    tuple.__new__, PlainPlacement
)


class ReferenceCount(NamedTuple):
    """At least ``worlds`` worlds refer to one, as of a commit and at all valid times of a stretch."""

    seq: int
    stretch: Stretch
    worlds: int


def members_below(
    tables: table_reads.TableReads, world: int, moment: asof.Moment, limit: int | None = None
) -> set[int] | None:
    """Every node inside a world at a moment, or ``None`` if there are more than ``limit``."""
    return Inhabitants(tables, world, moment).listed(limit)


class Ended(NamedTuple):
    """What is known at one moment about ended worlds.

    ``around``: the nearest ended container of each world, if all of its containers have ended or lie in ended ones;
    ``over``: whether each world was valid before and no longer is.
    """

    around: dict[int, int | None]
    over: dict[int, bool]

    def is_in_ended(self, world: int) -> bool:
        """True if a world is known to have ended, or to lie only in ended worlds."""
        return self.over.get(world, False) or self.around.get(world) is not None


MAX_MOMENTS: Final = 4
"""The number of moments for which ended worlds are cached."""
MAX_WORLDS: Final = 256
"""The number of cached interiors, the least recently used go first, as they do ..."""
MAX_KEPT_MEMBERS: Final = 3_200_000
"""... beyond so many members of all of them, some 70 bytes for each."""
MAX_LISTED_INSIDE: Final = 16
"""The number of listings cached for the pages of confined views: 8 bytes for each member."""
MAX_MEMBERS: Final = 200_000
"""A world with more members is listed anew, if it is listed at all."""
MAX_STANDING: Final = 50_000
"""The number of worlds for which each other fact is cached: standing, placement, size, references."""
MAX_COMMITS: Final = 256
"""After more commits a world is listed anew."""
FEW_EVENTS: Final = 2_000
"""A world is also listed anew after more events than this, plus ``EVENTS_FOR_A_MEMBER`` for each member: one commit
may have millions."""
EVENTS_FOR_A_MEMBER: Final = 2
"""The number of events read in the time that listing one member takes: 1.5 and 3.3 µs."""
FOLLOWED_EVENTS: Final = 512
"""Beyond so many events where worlds lie is read anew, which takes a tenth of a millisecond for each."""
_PLACING_EVENTS: Final[frozenset[type[ev.Event]]] = frozenset(
    (
        *(ev.Revised, ev.Closed, ev.Lost, ev.Voided, ev.Ended, ev.Linked, ev.Unlinked, ev.EdgeClosed, ev.EdgeLost),
        *(ev.Filled, ev.Imported, ev.Erased, ev.ErasedElsewhere),
    )
)
"""The events that may change where a world lies, which versions hold, or what edges it has."""


class Interior(NamedTuple):
    """The members of a world, at any depth, as of a commit and at all valid times of a stretch."""

    seq: int
    stretch: Stretch
    members: Nodes


class InteriorCache:
    """A cache of interiors and related facts of the whole store. Thread-safe."""

    def __init__(self, place: Callable[[], CompositionFolder]) -> None:
        self._guard = threading.Lock()
        self.place = place
        """The folder in which the caches of :attr:`kept` are stored."""
        self._kept: OrderedDict[int, Interior] = OrderedDict()
        self.standing: dict[int, KeptStanding] = {}
        """Worlds that are valid up to the root by their first containers."""
        self.plain: dict[int, PlainPlacement] = {}
        """Worlds whose first container is valid up to the root."""
        self._followed = 0
        """The commit up to which these two were followed, ..."""
        self._since = 0
        """... and the one since which what the latest say of both is as it was."""
        self.referred: dict[int, ReferenceCount] = {}
        """Worlds to which many others refer."""
        self.kept: dict[Callable[[CompositionFolder], Any], Any] = {}
        """Further caches that reads of the whole store share, by their type."""
        self.large: dict[int, int] = {}
        """Worlds that once had more members than this number, which were too many to list."""
        self.checked_hits: dict[int, int] = {}
        """How many hits were checked one by one for lying in a world, since its members were last listed."""
        self._inside: OrderedDict[tuple[int, int, asof.Moment], array[int]] = OrderedDict()
        self._ended: dict[asof.Moment, Ended] = {}

    def forget_texts(self) -> None:
        """Drop the caches of :attr:`kept` that hold something of texts, as an erasure requires."""
        for kind in list(self.kept):
            if getattr(kind, "holds_texts", False):
                self.kept.pop(kind, None)

    def ended(self, moment: asof.Moment) -> Ended:
        """What is known about ended worlds at a moment. Readers add what they find out, once it is certain."""
        found = self._ended.get(moment)
        if found is None or len(found.around) + len(found.over) > MAX_STANDING:
            with self._guard:
                if len(self._ended) >= MAX_MOMENTS:
                    self._ended.clear()
                found = self._ended[moment] = Ended({}, {})
        return found

    def keep_standing(self, world: int, seq: int, stretch: Stretch) -> None:
        """Cache that a world is valid up to the root."""
        with self._guard:
            if len(self.standing) >= MAX_STANDING:
                # What is kept of a world holds as long as what is kept of all around it.
                self.standing.clear()
                self._since = self._followed + 1
            self.standing[world] = _kept_standing((seq, stretch, seq >= self._followed))

    def keep_plain(self, world: int, plain: PlainPlacement) -> None:
        """Cache that the first container of a world is valid up to the root."""
        with self._guard:
            if len(self.plain) >= MAX_STANDING:
                self.plain.clear()
            self.plain[world] = _plain((*plain[:-1], True)) if plain.seq >= self._followed else plain

    def is_known_at(self, kept: KeptStanding | PlainPlacement, seq: int) -> bool:
        """True if what is kept as of a commit holds at another one, up to which :meth:`follow` has gone."""
        return kept.seq == seq or (kept.is_latest and self._since <= kept.seq <= seq <= self._followed)

    def follow(self, snapshot: Snapshot, seq: int) -> None:
        """Bring what is known of where worlds lie up to a later commit."""
        if seq <= self._followed:
            return
        with self._guard:
            if self._followed < seq <= snapshot.log.head().seq:
                if not self._follow_commits(snapshot, seq):
                    self._since = seq
                self._followed = seq

    def _follow_commits(self, snapshot: Snapshot, upto: int) -> bool:
        """Drop the worlds whose edges have changed; false if a world changed that others may lie in."""
        log, tables = snapshot
        left = FOLLOWED_EVENTS
        if not (self.plain or self.standing) or upto - self._followed > MAX_COMMITS:
            return False
        for seq in range(self._followed + 1, upto + 1):
            left -= log.header(seq).event_count
            if left < 0:
                return False
            for event in log.some_events(seq, _PLACING_EVENTS):
                if isinstance(event, ev.Linked):
                    for lineage in (event.source, event.target):
                        self.plain.pop(tables.node_of(lineage) or schema.ROOT_NODE, None)
                elif isinstance(event, ev.Unlinked | ev.EdgeClosed | ev.EdgeLost):
                    place = tables.place_of(event.edge)
                    if place is None:
                        return False
                    if place.type == schema.CONTAINS_CODE:
                        target = tables.edge(place).target
                        if target in self.standing:
                            return False
                        self.plain.pop(target, None)
                elif isinstance(event, ev.Revised | ev.Closed | ev.Lost | ev.Voided | ev.Ended):
                    if tables.node_of(event.lineage) in self.standing:
                        return False
                else:
                    return False
        return True

    def keep_large(self, world: int, most: int) -> None:
        """Cache that a world has more than ``most`` members."""
        if len(self.large) >= MAX_STANDING:
            self.large.clear()
        self.large[world] = most

    def add_checked_hits(self, world: int, hits: int) -> None:
        """Add to the number of hits that were checked for lying in a world."""
        if len(self.checked_hits) >= MAX_STANDING:
            self.checked_hits.clear()
        self.checked_hits[world] = self.checked_hits.get(world, 0) + hits

    def keep_referred(self, world: int, referred: ReferenceCount) -> None:
        """Cache that many worlds refer to a world."""
        if len(self.referred) >= MAX_STANDING:
            self.referred.clear()
        self.referred[world] = referred

    def known(self, world: int, moment: asof.Moment) -> Nodes | None:
        """The members of a world at a moment, if they are cached as of the same commit."""
        kept = self._kept.get(world)
        return kept.members if kept and kept.seq == moment.seq and kept.stretch.holds(moment.valid) else None

    def at(self, snapshot: Snapshot, world: int, moment: asof.Moment) -> Nodes | None:
        """The members of a world at a moment, if they are cached or can be brought up to date, else ``None``."""
        with self._guard:
            kept = self._kept.get(world)
            if kept is not None:
                self._kept.move_to_end(world)
        if kept is None or not 0 <= moment.seq - kept.seq <= MAX_COMMITS or not kept.stretch.holds(moment.valid):
            return None
        if moment.seq == kept.seq:
            return kept.members
        level = _follow_interior(snapshot, world, kept, moment)
        if level is None:
            return None
        self._keep(world, level)
        return level.members

    def keep(self, world: int, listed: Inhabitants) -> Nodes:
        """Cache a complete listing and return its members."""
        members = Nodes(frozenset(listed.found))
        if listed.stretch is not None and len(members) <= MAX_MEMBERS:
            self._keep(world, Interior(listed.moment.seq, listed.stretch, members))
        return members

    def listed_inside(self, top: int, world: int, moment: asof.Moment) -> array[int] | None:
        """The members of a world in ascending order, if they were listed at this moment in a view confined to ``top``.

        No other moment will do: following commits would take a time that reveals what was written elsewhere, and a
        confined view is not shown the edges that are in force at other times.
        """
        with self._guard:
            kept = self._inside.get((top, world, moment))
            if kept is not None:
                self._inside.move_to_end((top, world, moment))
            return kept

    def keep_inside(self, top: int, world: int, moment: asof.Moment, members: array[int]) -> None:
        """Cache a listing for the next page of a view confined to ``top``."""
        if len(members) <= MAX_MEMBERS:
            with self._guard:
                self._inside[top, world, moment] = members
                if len(self._inside) > MAX_LISTED_INSIDE:
                    self._inside.popitem(last=False)

    def _keep(self, world: int, interior: Interior) -> None:
        with self._guard:
            known = self._kept.get(world)
            if known is None or known.seq <= interior.seq:
                self._kept[world] = interior
            self._kept.move_to_end(world)
            sizes = [len(each.members) for each in self._kept.values()]
            while len(sizes) > MAX_WORLDS or (len(sizes) > 1 and sum(sizes) > MAX_KEPT_MEMBERS):
                self._kept.popitem(last=False)
                del sizes[0]


def _follow_interior(snapshot: Snapshot, world: int, kept: Interior, moment: asof.Moment) -> Interior | None:
    """Bring an interior up to a later commit; ``None`` if it must or should be listed again."""
    log, tables = snapshot
    inside, stretch = {world, *kept.members}, kept.stretch
    known = len(inside)
    left = FEW_EVENTS + EVENTS_FOR_A_MEMBER * len(kept.members)
    for seq in range(kept.seq + 1, moment.seq + 1):
        left -= log.header(seq).event_count
        if left < 0:
            return None
        for event in log.events(seq).events:
            if not isinstance(event, ev.Linked | ev.Unlinked | ev.EdgeClosed | ev.EdgeLost):
                continue
            place = tables.place_of(event.edge)
            if place is None or place.type != schema.CONTAINS_CODE or place.source not in inside:
                continue
            row = tables.edge(place)
            if not isinstance(event, ev.Linked) or row.closed > moment.seq:
                return None
            stretch = stretch.around(moment.valid, row.valid_from, row.valid_to)
            if row.target not in inside and asof.edge_seen(tables, place, row, moment):
                # Its own members may be older than the edge.
                below = Inhabitants(tables, row.target, moment)
                below.listed()
                if below.stretch is None:
                    return None
                stretch = stretch.within(below.stretch)
                inside |= {row.target} | below.found
    members = kept.members if len(inside) == known else Nodes(frozenset(inside - {world}))
    return Interior(moment.seq, stretch, members)
