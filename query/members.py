"""The members of a world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from worlddb.projections.tables.reads.asof import edge_known, edge_validity
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, EdgePlace, EdgeRow
from worlddb.query import build, records
from worlddb.query.naming import named_node
from worlddb.query.period import Period, edge_in
from worlddb.query.sight import Sight
from worlddb.query.unify import Classes
from worlddb.query.window import Window

PAGE: Final = 512
"""How many edges one transaction reads before it is given back."""


def members(window: Window, ref: Any, include_superseded: bool, period: Period | None) -> Iterator[records.World]:
    """The members of a world (``None``: the outermost one that is seen), in the order in which they joined.

    Where identities are seen as one, those of all that are one with it, and of each identity the first.
    """
    if ref is None or not window.unify:
        found = _members(window, ref, include_superseded, period)
    else:
        every = _one_with(window, ref)
        found = (world for one in every for world in _members(window, one, include_superseded, period))
    return _once(window, found) if window.unify else found


def _one_with(window: Window, ref: Any) -> list[str]:
    """References of the worlds that are one with a world that is seen, in log order."""
    with window.sight() as sight:
        node = named_node(sight, window.spec, ref, unify=True)
        one = Classes(sight, window.spec).members(node)
        return [sight.tables.node(member).lineage.hex() for member in one]


def _once(window: Window, worlds: Iterator[records.World]) -> Iterator[records.World]:
    """The first world of each identity."""
    met: set[str] = set()
    for world in worlds:
        if world.ref not in met:
            met.update(_one_with(window, world.ref))
            yield world


def _members(window: Window, ref: Any, include_superseded: bool, period: Period | None) -> Iterator[records.World]:
    after, more = 0, True
    while more:
        page: list[records.World] = []
        with window.sight() as sight:
            node = sight.place.top if ref is None else named_node(sight, window.spec, ref, unify=window.unify)
            more = False
            for read, (place, row) in enumerate(_memberships(sight, node, after), 1):
                member = _member(window, sight, place, row, include_superseded, period)
                if member is not None:
                    page.append(member)
                after = place.edge
                if read >= PAGE:
                    more = True
                    break
        yield from page


def _memberships(sight: Sight, node: int, after: int) -> Iterator[tuple[EdgePlace, EdgeRow]]:
    """The containment edges that the view's commit knew, from one on."""
    return sight.tables.outgoing(node, CONTAINS_CODE, after, known_by=sight.place.moment.seq)


def _member(
    window: Window, sight: Sight, place: EdgePlace, row: EdgeRow, include_superseded: bool, period: Period | None
) -> records.World | None:
    """The member that an edge leads to, if the read shows it."""
    tables, moment = sight.tables, sight.place.moment
    if include_superseded:
        if not edge_known(row, moment.seq):
            return None
    elif not edge_in(tables, place, row, moment, period):
        return None
    together = None if period is None else period.along(edge_validity(tables, place, row, moment.seq))
    return build.world(sight, row.target, moment, window.spec, include_superseded=include_superseded, period=together)
