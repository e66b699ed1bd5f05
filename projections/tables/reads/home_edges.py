"""Edges by the world that is their home, so that those of one world are found without a look at the rest."""

from __future__ import annotations

from collections.abc import Iterator

from worlddb.log.model.errors import DamagedStore
from worlddb.log.model.ids import short
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, EDGE_PLACE, U64, U64_U64, EdgePlace, EdgeRow
from worlddb.projections.tables.storage.transaction import missing_row


def put_retracted(tables: Tables, home: int, place: EdgePlace) -> None:
    """Keep where an edge was that leaves the interior of its home. Members are found by their container anyway."""
    if place.type != CONTAINS_CODE:
        tables.retracted.put(U64_U64.pack(home, place.edge), EDGE_PLACE.pack(*place))


def edges_at_home(tables: Tables, home: int) -> Iterator[tuple[EdgePlace, EdgeRow]]:
    """Every edge that a world was ever the home of: its members', then those of its interior, then retracted ones.

    Raises:
        DamagedStore: the interior holds an edge that the tables do not have, or have elsewhere.
    """
    yield from tables.outgoing(home, CONTAINS_CODE)
    yield from interior_edges_ever(tables, home)


def interior_edges_ever(tables: Tables, home: int) -> Iterator[tuple[EdgePlace, EdgeRow]]:
    """As :func:`edges_at_home`, but for its members'."""
    for edge, _ in tables.interior_edges(home).entries():
        place = tables.place_of(edge)
        if place is None:
            raise missing_row(f"edge {short(edge)} of the interior of node {home}")
        yield place, _row_at(tables, place, home)
    for _, stored in tables.retracted.scan(U64.pack(home)):
        place = EdgePlace._make(EDGE_PLACE.unpack(stored))
        yield place, _row_at(tables, place, home)


def _row_at(tables: Tables, place: EdgePlace, home: int) -> EdgeRow:
    row = tables.edge(place)
    if row.home != home:
        raise DamagedStore(
            f"The edge {short(row.edge)} is in the interior of node {home}, and its row says node {row.home}",
            "Run `worlddb verify --deep`, then `worlddb rebuild tables`",
        )
    return row
