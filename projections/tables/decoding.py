"""Rows of what a struct has unpacked. A read makes hundreds of them, so none is made by counting its values first, as
``_make`` would: the struct says how many there are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from worlddb.projections.tables.overlay import Pair
from worlddb.projections.tables.schema import EDGE, EDGE_KEY, EdgePlace, EdgeRow, NodeRow, VersionRow

Values = tuple[Any, ...]

node_row: Final[Callable[[Values], NodeRow]] = partial(tuple.__new__, NodeRow)
version_row: Final[Callable[[Values], VersionRow]] = partial(tuple.__new__, VersionRow)
edge_row: Final[Callable[[Values], EdgeRow]] = partial(tuple.__new__, EdgeRow)
edge_place: Final[Callable[[Values], EdgePlace]] = partial(tuple.__new__, EdgePlace)


def outgoing_edge(pair: Pair) -> tuple[EdgePlace, EdgeRow]:
    """A pair of ``out`` as an edge."""
    return edge_place(EDGE_KEY.unpack(pair[0])), edge_row(EDGE.unpack(pair[1]))
