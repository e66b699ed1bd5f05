"""Walk the worlds and edges that a query sees, in the directions that their types allow (law 7)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from worlddb.log.model import limits
from worlddb.log.model.blobs import Body
from worlddb.projections import runner
from worlddb.projections.tables.reads.asof import SeenVersion, edge_known, edge_seen, versions_at
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, ROOT_NODE, EdgePlace, EdgeRow
from worlddb.query.consolidation.fresh_summaries import summaries_in
from worlddb.query.reads import adjacency, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.records import records
from worlddb.query.snapshot import edge_rules, valid_period, visible
from worlddb.query.snapshot.snapshot import Scope

Before = TypeVar("Before")


class Way(NamedTuple):
    """The code of an edge type, and whether its edges are followed from target to source."""

    code: int
    incoming: bool


_OTHERWISE: Final = ("in", "out")
"""The direction that leaves out edges from a world, and the one that leaves out edges to it."""
_FEW: Final = 8
"""Fewer worlds than these are looked up one by one, which is as quick."""
_TOGETHER: Final = 512
"""Of how many worlds the edges are looked up together."""


class Arrival(NamedTuple):
    """A walked edge, its two ends, and the version shown at the far one."""

    place: EdgePlace
    row: EdgeRow
    origin: int
    node: int
    seen: SeenVersion


_arrival: Final[Callable[[tuple[EdgePlace, EdgeRow, int, int, SeenVersion]], Arrival]] = partial(tuple.__new__, Arrival)


class Ground:
    """The part of a view that a query works on: its tables, its world, and its identities.

    An edge leads to a world that is inside, or, if its type crosses worlds, from its source to its target wherever that
    is. So each step out of a world is one that was written down in it, however far the walk has come.
    """

    def __init__(
        self,
        snapshot: visible.VisibleSnapshot,
        spec: edge_rules.Spec,
        inside: int,
        *,
        superseded: bool,
        unified: bool = False,
    ) -> None:
        self.snapshot = snapshot
        self.spec = spec
        self.superseded = superseded
        self._shows_closed = superseded or not spec.hides_closed
        self._choice = valid_period.Choice(self._shows_closed)
        self._classes: dict[int, tuple[int, ...]] = {}
        self._known_ways: dict[tuple[tuple[str, ...], str], list[Way]] = {}
        self.looked_at = 0
        """How many versions of worlds were looked up."""
        self.cut_at: set[int] = set()
        """The fresh summaries at which a walk was cut; nothing beneath them is read."""
        self.unified = unified
        """True if worlds that accepted proposals make one count as one: from the start in a view that sees them so."""
        self.stay_inside(inside)

    def stay_inside(self, world: int) -> None:
        """Restrict the query to the interior of a world from here on."""
        self.inside = world
        self.scope = Scope(self.snapshot.tables, world, self.snapshot.place.moment)
        self._classes = {}

    def seen(self, node: int) -> SeenVersion | None:
        """The version that the query shows: the valid one, else the newest if closed ones are included."""
        self.looked_at += 1
        if self.snapshot.hides(node):
            return None
        return self._choice.version(self.snapshot.tables, node, self.snapshot.place.moment)

    def seen_each(self, nodes: Sequence[int]) -> list[SeenVersion | None]:
        """As :meth:`seen`, for many worlds."""
        if self._shows_closed or self.snapshot.hides_any:
            return list(map(self.seen, nodes))
        self.looked_at += len(nodes)
        return versions_at(self.snapshot.tables, nodes, self.snapshot.place.moment)

    def identity_of(self, node: int) -> tuple[int, ...]:
        """The worlds with the identity of a world, itself first; only itself unless :attr:`unified`."""
        if not self.unified:
            return (node,)
        known = self._classes.get(node)
        if known is None:
            members = world_lookup.identity_class(self.snapshot, node, self.snapshot.place.moment.seq, self.spec)
            known = (node, *(each for each in members if each != node and self.scope.sees(each)))
            self._classes[node] = known
        return known

    def named(self, ref: str) -> int:
        """The node of a world that a query names; a name shared within one identity is unambiguous."""
        return world_lookup.named_node(self.snapshot, self.spec, ref, unify=self.unified)

    def arrivals(self, node: int, types: Sequence[str], direction: str) -> Iterator[Arrival]:
        """Walk the edges of a world in log order; no types: of every type but ``contains``.

        Where worlds that are one count as one, the edges that make them so lead nowhere.
        """
        moment = self.snapshot.place.moment
        for place, row in self._edges(node, types, direction):
            if self.unified and self._unifies(place, row):
                continue
            if not (edge_known(row, moment.seq) if self._shows_closed else self._is_seen(place, row)):
                continue
            other = self._far_end(node, place, row)
            seen = None if other is None else self.seen(other)
            if other is not None and seen is not None:
                yield Arrival(place, row, node, other, seen)

    def arrivals_each(self, nodes: Sequence[int], types: Sequence[str], direction: str) -> Iterator[Iterable[Arrival]]:
        """As :meth:`arrivals`, for many worlds, whose rows are looked up together."""
        ways = self._ways(types, direction)
        if not types or self.unified or self._shows_closed or len(nodes) < _FEW:
            yield from (self.arrivals(node, types, direction) for node in nodes)
            return
        for begin in range(0, len(nodes), _TOGETHER):
            some = nodes[begin : begin + _TOGETHER]
            edges, many = self._edges_each(some, ways)
            found = self._far_ends_of_each((node, each) for node in some for each in edges.get(node, ()))
            for node in some:
                yield self.arrivals(node, types, direction) if node in many else found.get(node, ())

    def _edges_each(
        self, nodes: Sequence[int], ways: Sequence[Way]
    ) -> tuple[dict[int, list[tuple[EdgePlace, EdgeRow]]], set[int]]:
        """The edges of many worlds in log order, and the worlds with too many edges to list."""
        tables, seq = self.snapshot.tables, self.snapshot.place.moment.seq
        edges: dict[int, list[tuple[EdgePlace, EdgeRow]]] = {}
        many: set[int] = set()
        for incoming in (False, True):
            codes = [way.code for way in ways if way.incoming == incoming]
            each = tables.edges_of_each(nodes, codes, incoming=incoming, known_by=seq) if codes else {}
            for node, found in each.items():
                if found is None:
                    many.add(node)
                else:
                    edges[node] = _in_log_order([*edges[node], *found]) if node in edges else found
        return edges, many

    def _far_ends_of_each(self, edges: Iterable[tuple[int, tuple[EdgePlace, EdgeRow]]]) -> dict[int, list[Arrival]]:
        """The arrivals of some edges, by the worlds that they start from."""
        tables, moment, hides_any = self.snapshot.tables, self.snapshot.place.moment, self.snapshot.hides_any
        walked: list[tuple[int, EdgePlace, EdgeRow]] = []
        others: list[int] = []
        sees_all = self.inside == ROOT_NODE
        for node, (place, row) in edges:
            if not edge_seen(tables, place, row, moment):
                continue
            if sees_all:
                other: int | None = row.target if place.source == node else place.source
            else:
                other = self._far_end(node, place, row)
            if other is not None and not (hides_any and self.snapshot.hides(other)):
                walked.append((node, place, row))
                others.append(other)
        self.looked_at += len(walked)
        found: dict[int, list[Arrival]] = {}
        shown = versions_at(tables, others, moment)
        for (node, place, row), other, seen in zip(walked, others, shown, strict=True):
            if seen is not None:
                found.setdefault(node, []).append(_arrival((place, row, node, other, seen)))
        return found

    def _far_end(self, node: int, place: EdgePlace, row: EdgeRow) -> int | None:
        """The far end of an edge; ``None`` if the query may not walk there."""
        forwards = place.source == node
        other = row.target if forwards else place.source
        return other if self.scope.sees(other) or (forwards and self._crosses(place, row)) else None

    def into_summaries(self, nodes: Sequence[int]) -> dict[int, Arrival]:
        """The ways into those of some worlds that have a fresh summary, which replaces their interior."""
        if self._shows_closed or self.unified:
            return {}
        found = summaries_in(self.snapshot).of_each(nodes)
        ways = {
            node: _arrival((fresh.place, fresh.row, node, fresh.node, fresh.seen))
            for node, fresh in zip(nodes, found, strict=True)
            if fresh is not None and self.scope.sees(fresh.node)
        }
        self.looked_at += len(ways)
        self.cut_at.update(way.node for way in ways.values())
        return ways

    def _edges(self, node: int, types: Sequence[str], direction: str) -> list[tuple[EdgePlace, EdgeRow]]:
        tables, seq = self.snapshot.tables, self.snapshot.place.moment.seq
        found: list[tuple[EdgePlace, EdgeRow]] = []
        if not types:
            found += adjacency.edges_at(self.snapshot, self.spec, node, None, direction)
        for way in self._ways(types, direction):
            if way.incoming:
                found += tables.incoming(node, way.code, known_after=seq, known_by=seq)
            else:
                found += tables.outgoing(node, way.code, known_by=seq)
        if len(found) > 1:
            # An edge from a world to itself is on both sides.
            found = _in_log_order(found)
        return found if types else [each for each in found if each[0].type != CONTAINS_CODE]

    def _ways(self, types: Sequence[str], direction: str) -> list[Way]:
        """The ways of some types, without types that the store lacks."""
        asked = tuple(types), direction
        if asked not in self._known_ways:
            ways: dict[Way, None] = {}
            for name, toward in (self.spec.directed(name, direction) for name in types):
                code = self.snapshot.tables.type_code(name)
                if code is not None:
                    ways |= {Way(code, incoming): None for incoming in (False, True) if toward != _OTHERWISE[incoming]}
            self._known_ways[asked] = list(ways)
        return self._known_ways[asked]

    def _is_seen(self, place: EdgePlace, row: EdgeRow) -> bool:
        return edge_seen(self.snapshot.tables, place, row, self.snapshot.place.moment)

    def _unifies(self, place: EdgePlace, row: EdgeRow) -> bool:
        return edge_rules.unifies(self.snapshot, self.spec, self.snapshot.tables.type_name(place.type), row.home)

    def _crosses(self, place: EdgePlace, row: EdgeRow) -> bool:
        name = self.snapshot.tables.type_name(place.type)
        return name in self.spec.crossing_types and edge_rules.holds(
            self.snapshot, self.spec, name, "cross_worlds", row.home
        )


MAX_DEPTH: Final = 20
"""How many edges one after another a walk follows at most."""
DEPENDING: Final = ("depends_on", "derived_from", "supersedes")
"""The types of edges whose source depends on their target, or was put in its place."""


def _in_log_order(edges: Iterable[tuple[EdgePlace, EdgeRow]]) -> list[tuple[EdgePlace, EdgeRow]]:
    """Some edges in log order, without duplicates."""
    return [each for _, each in sorted({each[0].edge: each for each in edges}.items())]


class Walk:
    """A breadth-first walk over edges; each world is reached once, by the earliest edges of a shortest path.

    Worlds that count as one are one, and are named by the one that was come to.
    """

    def __init__(self, ground: Ground, types: Sequence[str], direction: str) -> None:
        self._ground = ground
        self._how = types, direction

    def reach(self, start: int, depth: int) -> records.Reach:
        """All worlds at a distance of at most ``depth`` edges from one."""
        with runner.collector_paused():
            return self._reached(start, depth)

    def _reached(self, start: int, depth: int) -> records.Reach:
        first = self._first(start)
        came = {first}
        level: list[tuple[int, records.Reached | None]] = [(first, None)]
        found: list[records.Reached] = []
        for _ in range(depth):
            # Each is told at once, so that nothing is kept of how it was found.
            level = self._reached_records(self._expand(level, came))
            found += (each for _, each in level if each is not None)
        onward = zip(level, self._onward_edges([node for node, _ in level]), strict=True)
        ends = (end for (_, end), arrivals in onward if any(self._first(on.node) not in came for on in arrivals))
        return records.Reach(worlds=tuple(found), cut_off=tuple(end.ref for end in ends if end is not None))

    def to(self, start: int, goal: int, depth: int) -> records.Reached | None:
        """A shortest path from one world to another; ``None`` if it is longer than ``depth`` edges."""
        wanted, first = self._first(goal), self._first(start)
        arrivals_by_node: dict[int, tuple[Arrival, int]] = {}
        passed, level = {first}, [(first, first)]
        for _ in range(depth):
            following = []
            for node, arrival, origin in self._expand(level, passed):
                arrivals_by_node[node] = arrival, origin
                following.append((node, node))
            level = following
            if wanted in arrivals_by_node or not level:
                break
        way: list[Arrival] = []
        while wanted in arrivals_by_node:
            arrival, wanted = arrivals_by_node[wanted]
            way.append(arrival)
        reached: records.Reached | None = None
        for arrival in reversed(way):
            ref = self._ground.snapshot.ref(arrival.node)
            reached = _reached_record(arrival, ref, reached, self._ground.snapshot.body(arrival.seen.row))
        return reached

    def _first(self, node: int) -> int:
        return min(self._ground.identity_of(node)) if self._ground.unified else node

    def _expand(self, level: Sequence[tuple[int, Before]], came: set[int]) -> Iterator[tuple[int, Arrival, Before]]:
        """The new worlds one edge further, each with the record of the world before it."""
        onward, is_one = self._onward_edges([node for node, _ in level]), self._ground.unified
        for (_, before), arrivals in zip(level, onward, strict=True):
            for arrival in arrivals:
                reached = self._first(arrival.node) if is_one else arrival.node
                if reached not in came:
                    came.add(reached)
                    yield reached, arrival, before

    def _onward_edges(self, nodes: Sequence[int]) -> Iterator[Iterable[Arrival]]:
        """The outgoing steps of each of some worlds."""
        if not self._ground.unified:
            return self._ground.arrivals_each(nodes, *self._how)
        faces = (sorted(self._ground.identity_of(node)) for node in nodes)
        return (chain.from_iterable(self._ground.arrivals(each, *self._how) for each in together) for together in faces)

    def _reached_records(
        self, new: Iterator[tuple[int, Arrival, records.Reached | None]]
    ) -> list[tuple[int, records.Reached | None]]:
        found: list[tuple[int, records.Reached | None]] = []
        snapshot = self._ground.snapshot
        while some := list(islice(new, _TOGETHER)):
            bodies = snapshot.bodies([arrival.seen.row for _, arrival, _ in some])
            refs = [row.lineage.hex() for row in snapshot.tables.nodes_of([arrival.node for _, arrival, _ in some])]
            found += [
                (node, _reached_record(arrival, ref, before, body))
                for (node, arrival, before), ref, body in zip(some, refs, bodies, strict=True)
            ]
        return found


def _reached_record(arrival: Arrival, ref: str, before: records.Reached | None, body: Body | None) -> records.Reached:
    path, edges = ((), ()) if before is None else (before.path, before.edges)
    return records.Reached(
        ref=ref,
        version=arrival.seen.row.body.hex(),
        type="" if body is None else body.type,
        name="" if body is None else body.name,
        depth=len(path) + 1,
        path=(*path, ref),
        edges=(*edges, arrival.row.edge.hex()),
    )


def walk(window: Window, snapshot: visible.VisibleSnapshot, types: Any, direction: str) -> Walk:
    """Make a walk over what a view sees: inside its outermost world, and over edges that cross worlds.

    Raises:
        InputError: ``types`` is no list of texts, or there is no such direction.
    """
    adjacency.EdgeFilter(None, direction, False, None).check()
    named = [limits.checked_text(each, "a type", limits.MAX_TYPE_BYTES) for each in limits.checked_list(types, "types")]
    ground = Ground(snapshot, window.spec, window.place.top, superseded=False, unified=window.unify)
    return Walk(ground, named, direction)


def checked_depth(depth: int) -> int:
    """Check the number of steps of a walk.

    Raises:
        InputError: it is not from 1 to :data:`MAX_DEPTH`.
    """
    return limits.checked_number(depth, "depth", 1, MAX_DEPTH)


class Trail:
    """The walked edges, by their far ends."""

    def __init__(self) -> None:
        self._into: dict[int, dict[int, Arrival]] = {}

    def add(self, arrival: Arrival) -> None:
        self._into.setdefault(arrival.node, {})[arrival.place.edge] = arrival

    def leading_to(self, nodes: Iterable[int], ground: Ground) -> tuple[list[Arrival], set[int]]:
        """The walked edges on paths to some worlds, in log order, and every world on those paths."""
        pending = [each for node in nodes for each in ground.identity_of(node)]
        passed = set(pending)
        edges: dict[int, Arrival] = {}
        while pending:
            for number, arrival in self._into.get(pending.pop(), {}).items():
                edges[number] = arrival
                for origin in ground.identity_of(arrival.origin):
                    if origin not in passed:
                        passed.add(origin)
                        pending.append(origin)
        ends = {end for arrival in edges.values() for end in (arrival.origin, arrival.node)}
        return [edges[number] for number in sorted(edges)], ends


class Density(msgspec.Struct, frozen=True, kw_only=True):
    """How much is known around some worlds, by edges and not by similar texts (Arbiter).

    So many ``worlds`` lie there, themselves included, and so many ``edges`` between them. ``share`` is that of all
    pairs of them that an edge joins, from 0 to 1; ``types`` counts the edges by type. ``cut_off`` says that there were
    more worlds than are looked at.
    """

    worlds: int
    edges: int
    share: float
    types: dict[str, int]
    cut_off: bool


MAX_DENSE: Final = 4_096
"""So many worlds are looked at, the nearest first."""


def density_around(window: Window, refs: Sequence[object], types: Sequence[str], depth: int) -> Density:
    """How densely the worlds up to ``depth`` edges around some are joined, by edges of some types, or of all.

    Raises:
        InputError: an argument is not what it should be.
        UnknownReference: the view sees no such world.
    """
    named = [limits.checked_text(each, "a type", limits.MAX_TYPE_BYTES) for each in limits.checked_list(types, "types")]
    steps = checked_depth(depth)
    with window.snapshot() as snapshot:
        ground = Ground(snapshot, window.spec, window.place.top, superseded=False, unified=window.unify)
        starts = [world_lookup.named_node(snapshot, window.spec, each, unify=window.unify) for each in refs]
        reached, level, is_cut = dict.fromkeys(starts), starts, False
        for _ in range(steps):
            onward: dict[int, None] = {}
            for arrivals in ground.arrivals_each(level, named, "both"):
                onward |= {each.node: None for each in arrivals if each.node not in reached}
            level = list(onward)[: MAX_DENSE - len(reached)]
            is_cut |= len(level) < len(onward)
            reached |= dict.fromkeys(level)
        counted: Counter[str] = Counter()
        pairs: set[tuple[int, int]] = set()
        for arrivals in ground.arrivals_each(list(reached), named, "out"):
            for each in arrivals:
                if each.node in reached and each.node != each.origin:
                    counted[snapshot.tables.type_name(each.place.type)] += 1
                    pairs.add((min(each.origin, each.node), max(each.origin, each.node)))
    possible = len(reached) * (len(reached) - 1) // 2
    share = round(len(pairs) / possible, 6) if possible else 0.0
    types_found = dict(sorted(counted.items()))
    return Density(worlds=len(reached), edges=counted.total(), share=share, types=types_found, cut_off=is_cut)
