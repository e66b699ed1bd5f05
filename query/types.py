"""Filters by type: a type, its subtypes, and the instances of the worlds that stand for them."""

from __future__ import annotations

from typing import NamedTuple

from worlddb.projections.tables.asof import Moment, edge_seen, version_at
from worlddb.projections.tables.names import name_digest, type_digest
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec

TYPE_OF_TYPES = "Type"
"""The type of worlds that stand for a type; their name is the type's."""


class TypeFilter(NamedTuple):
    """The types that pass, and the nodes that pass as instances whatever their own type."""

    names: frozenset[str]
    instances: frozenset[int]


def type_filter(snapshot: Sight, type_name: str, moment: Moment, spec: Spec) -> TypeFilter:
    """What a filter by ``type_name`` sees at a moment, widened along the lattice edges of the specification."""
    tables = snapshot.tables
    codes = {name: tables.type_code(name) for name in spec.lattice_types}
    standing = [
        node
        for node, first in tables.named(name_digest(type_name))
        if first <= moment.seq and _stands_for(snapshot, node, type_name, moment)
    ]
    names, instances, seen = {type_name}, set(), set(standing)
    while standing:
        node = standing.pop()
        for name, code in codes.items():
            for place, row in tables.incoming(node, code) if code is not None else ():
                if not edge_seen(tables, place, row, moment):
                    continue
                if name == "instance_of":
                    instances.add(place.source)
                elif place.source not in seen:
                    seen.add(place.source)
                    standing.append(place.source)
                    names.update(_name_of(snapshot, place.source, moment))
    return TypeFilter(frozenset(names), frozenset(instances))


def _stands_for(snapshot: Sight, node: int, type_name: str, moment: Moment) -> bool:
    seen = version_at(snapshot.tables, node, moment)
    if seen is None or seen.row.type != type_digest(TYPE_OF_TYPES):
        return False
    body = snapshot.body(seen.row)
    return body is not None and body.name == type_name


def _name_of(snapshot: Sight, node: int, moment: Moment) -> set[str]:
    seen = version_at(snapshot.tables, node, moment)
    body = None if seen is None else snapshot.body(seen.row)
    return set() if body is None else {body.name}
