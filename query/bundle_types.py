"""The registrations of edge types that go into a bundle, by the world that they are to hold for."""

from __future__ import annotations

from worlddb.projections.tables.registrations import (
    Nearest,
    Registration,
    containers_known,
    last_change,
    registered,
)
from worlddb.projections.tables.tables import Tables
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
