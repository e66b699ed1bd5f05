"""The worlds and edges that a query sees, and which way edges let it walk (law 7)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from worlddb.projections.tables.reads.asof import SeenVersion, edge_known, edge_seen
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, EdgePlace, EdgeRow
from worlddb.query.reads import world_lookup
from worlddb.query.snapshot import edge_rules, valid_period, visible
from worlddb.query.snapshot.snapshot import Scope


class Arrival(NamedTuple):
    """An edge that was walked, its two ends, and the version that is visible at the far one."""

    place: EdgePlace
    row: EdgeRow
    origin: int
    node: int
    seen: SeenVersion


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
        self.unified = unified
        """True if worlds that accepted proposals make one count as one: from the start in a view that sees them so."""
        self.stay_inside(inside)

    def stay_inside(self, world: int) -> None:
        """Look no further than a world from here on."""
        self.inside = world
        self.scope = Scope(self.snapshot.tables, world, self.snapshot.place.moment)
        self._classes = {}

    def seen(self, node: int) -> SeenVersion | None:
        """The version that the query shows: the valid one, else the newest if closed ones are seen."""
        if self.snapshot.hides(node):
            return None
        return self._choice.seen(self.snapshot.tables, node, self.snapshot.place.moment)

    def one_with(self, node: int) -> tuple[int, ...]:
        """The worlds of one identity with a world, itself first; only itself unless :attr:`unified`."""
        if not self.unified:
            return (node,)
        known = self._classes.get(node)
        if known is None:
            members = world_lookup.class_of(self.snapshot, node, self.snapshot.place.moment.seq, self.spec)
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
            forwards = place.source == node
            other = row.target if forwards else place.source
            if not self.scope.sees(other) and not (forwards and self._crosses(place, row)):
                continue
            seen = self.seen(other)
            if seen is not None:
                yield Arrival(place, row, node, other, seen)

    def _edges(self, node: int, types: Sequence[str], direction: str) -> list[tuple[EdgePlace, EdgeRow]]:
        tables, seq = self.snapshot.tables, self.snapshot.place.moment.seq
        codes: Iterable[int | None] = [tables.type_code(name) for name in types] if types else [None]
        found: dict[int, tuple[EdgePlace, EdgeRow]] = {}
        for code, name in zip(codes, types or [""], strict=True):
            if name and code is None:
                continue
            sides = [tables.outgoing(node, code, known_by=seq)] if direction != "in" else []
            if direction != "out":
                sides.append(tables.incoming(node, code, known_after=seq, known_by=seq))
            for side in sides:
                found.update({place.edge: (place, row) for place, row in side})
        kept = (number for number in sorted(found) if types or found[number][0].type != CONTAINS_CODE)
        return [found[number] for number in kept]

    def _is_seen(self, place: EdgePlace, row: EdgeRow) -> bool:
        return edge_seen(self.snapshot.tables, place, row, self.snapshot.place.moment)

    def _unifies(self, place: EdgePlace, row: EdgeRow) -> bool:
        return edge_rules.unifies(self.snapshot, self.spec, self.snapshot.tables.type_name(place.type), row.home)

    def _crosses(self, place: EdgePlace, row: EdgeRow) -> bool:
        name = self.snapshot.tables.type_name(place.type)
        return name in self.spec.crossing_types and edge_rules.holds(
            self.snapshot, self.spec, name, "cross_worlds", row.home
        )


class Trail:
    """The edges that were walked, by where they led."""

    def __init__(self) -> None:
        self._into: dict[int, dict[int, Arrival]] = {}

    def add(self, arrival: Arrival) -> None:
        self._into.setdefault(arrival.node, {})[arrival.place.edge] = arrival

    def leading_to(self, nodes: Iterable[int], ground: Ground) -> tuple[list[Arrival], set[int]]:
        """The walked edges on a way to some worlds, in log order, and every world on those ways."""
        pending = [each for node in nodes for each in ground.one_with(node)]
        passed = set(pending)
        edges: dict[int, Arrival] = {}
        while pending:
            for number, arrival in self._into.get(pending.pop(), {}).items():
                edges[number] = arrival
                for origin in ground.one_with(arrival.origin):
                    if origin not in passed:
                        passed.add(origin)
                        pending.append(origin)
        ends = {end for arrival in edges.values() for end in (arrival.origin, arrival.node)}
        return [edges[number] for number in sorted(edges)], ends
