"""The registrations and thresholds that go into a bundle, by the world that they are to hold for."""

from __future__ import annotations

from worlddb.projections.tables.apply.settings import (
    EVERY_TYPE,
    Nearest,
    Registration,
    Tuning,
    containers_known,
    last_change,
    registered,
    tunings_holding,
    tunings_known,
)
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.storage.rows import Tables
from worlddb.query.interior import Interior


def registrations_of(tables: Tables, top: int, inside: Interior, seq: int) -> dict[int, list[Registration]]:
    """Those made for worlds inside, and those from around the exported world that hold for an edge inside.

    The latter are listed under ``top``, the exported world, since nothing around it is in the bundle.
    """
    found: dict[int, list[Registration]] = {}
    if not last_change(tables):
        return found
    nodes = set(inside.nodes)
    for known in registered(tables, seq):
        if known.world in nodes:
            found.setdefault(known.world, []).append(known)
    above = containers_known(tables, seq)
    used: dict[int, set[int]] = {}
    for home, places in inside.edges.items():
        for place in places:
            used.setdefault(place.type, set()).add(home)
    for code, homes in sorted(used.items()):
        nearest = Nearest(tables, tables.type_name(code), seq)
        around = nearest.at(top, above)
        if around is not None and around.world not in nodes and around in (nearest.at(home, above) for home in homes):
            found.setdefault(top, []).append(around)
    return found


def tunings_of(tables: Tables, top: int, inside: Interior, seq: int) -> dict[int, list[Tuning]]:
    """Thresholds that were set for worlds inside, and those from around the exported world that hold for it, under
    ``top``: for every type, and for types that a world inside is of."""
    found: dict[int, list[Tuning]] = {}
    nodes = set(inside.nodes)
    for known in tunings_known(tables, seq):
        if known.world in nodes:
            found.setdefault(known.world, []).append(known)
    around = [one for one in tunings_holding(tables, top, containers_known(tables, seq), seq) if one.world not in nodes]
    if any(one.type != EVERY_TYPE for one in around):
        used = {tables.version(node, tables.node(node).versions).type for node in nodes}
        around = [one for one in around if one.type == EVERY_TYPE or type_digest(one.type) in used]
    if around:
        found.setdefault(top, []).extend(around)
    return found
