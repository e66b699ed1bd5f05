"""Filters by type: a type, its subtypes, and the instances of the worlds that stand for them.

A world of type ``Type`` stands for the type that it is named after. Which of them a query sees is a matter of where it
asks, as names are in a program: those inside the world that it is in, and those that are direct members of a world
around it. Where several stand for one type, the nearest do; what is inside is nearest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from worlddb.projections.tables.names.canonical import name_digest, type_digest
from worlddb.projections.tables.reads.asof import Moment, edge_seen, version_at
from worlddb.query.ontology import holds
from worlddb.query.scope import Scope, containers_at
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec

TYPE_OF_TYPES = "Type"
"""The type of worlds that stand for a type; their name is the type's."""
INSTANCE_OF, SUBTYPE_OF = "instance_of", "subtype_of"


class TypeFilter(NamedTuple):
    """The types that pass, and the nodes that pass as instances whatever their own type."""

    names: frozenset[str]
    instances: frozenset[int]


def type_filter(snapshot: Sight, type_name: str, moment: Moment, spec: Spec, world: int) -> TypeFilter:
    """What a filter by ``type_name`` inside a world sees at a moment, widened along the specification's lattice."""
    tables = snapshot.tables
    codes = {name: tables.type_code(name) for name in spec.lattice_types}
    visible = _Visible(snapshot, world, moment)
    standing = visible.nearest(
        node
        for node, first in tables.named(name_digest(type_name))
        if first <= moment.seq and _stands_for(snapshot, node, moment) == type_name
    )
    names, instances, seen = {type_name}, set(), set(standing)
    while standing:
        node = standing.pop()
        for name, code in codes.items():
            for place, row in tables.incoming(node, code, known_by=moment.seq) if code is not None else ():
                if not edge_seen(tables, place, row, moment):
                    continue
                if not holds(snapshot, spec, name, "widen_types", row.home):
                    continue
                subtype = None if name == INSTANCE_OF else _below(snapshot, place.source, name, moment)
                if subtype is None:
                    instances.add(place.source)
                elif place.source not in seen and visible.steps(place.source) is not None:
                    seen.add(place.source)
                    standing.append(place.source)
                    names.add(subtype)
    return TypeFilter(frozenset(names) - {""} | {type_name}, frozenset(instances))


def _below(snapshot: Sight, node: int, lattice_type: str, moment: Moment) -> str | None:
    """The type that the source of a lattice edge stands for; ``None`` if it is an instance of the one above.

    What is a ``subtype_of`` something is a type by that alone; of other edge types it must be of type ``Type``.
    """
    if lattice_type == SUBTYPE_OF:
        return _name_of(snapshot, node, moment)
    return _stands_for(snapshot, node, moment)


def _stands_for(snapshot: Sight, node: int, moment: Moment) -> str | None:
    """The type that a node of type ``Type`` stands for."""
    seen = version_at(snapshot.tables, node, moment)
    if seen is None or seen.row.type != type_digest(TYPE_OF_TYPES):
        return None
    return _name_of(snapshot, node, moment)


def _name_of(snapshot: Sight, node: int, moment: Moment) -> str:
    """The name of a node at a moment; empty, as no type's is, if it has none then or it was erased."""
    seen = version_at(snapshot.tables, node, moment)
    body = None if seen is None else snapshot.body(seen.row)
    return "" if body is None else body.name


class _Visible:
    """Which worlds a query sees from where it asks, and how far up they are."""

    def __init__(self, snapshot: Sight, world: int, moment: Moment) -> None:
        self._tables = snapshot.tables
        self._moment = moment
        self._scope = Scope(snapshot.tables, world, moment)
        self._around = {world: 0}
        level, steps = [world], 0
        while level:
            steps += 1
            above = {up for node in level for up in containers_at(self._tables, node, moment)}
            level = sorted(above - self._around.keys())
            self._around.update(dict.fromkeys(level, steps))

    def steps(self, node: int) -> int | None:
        """0 for the world and what is inside; else how many steps up a world is that it is a direct member of."""
        if self._scope.sees(node):
            return 0
        containers = containers_at(self._tables, node, self._moment)
        return min((self._around[up] for up in containers if up in self._around), default=None)

    def nearest(self, nodes: Iterable[int]) -> list[int]:
        """Those of the nodes that are visible and as near as any of them."""
        found = {node: steps for node in nodes if (steps := self.steps(node)) is not None}
        return [node for node, steps in found.items() if steps == min(found.values())]
