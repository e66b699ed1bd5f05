"""Rows of what a struct has unpacked. A read makes hundreds of them, so none is made by counting its values first, as
``_make`` would: the struct says how many there are.

The rows of some worlds in a table that has those of all, without a look at what lies between them.

Edges up to a commit. Of each type they lie in log order, so what follows a later one is passed over unread: a read
of the past costs what there was then, however much has come since (paper §2.3).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from worlddb.projections.tables.storage.schema import (
    EDGE,
    EDGE_KEY,
    EDGE_PREFIX,
    U64,
    EdgePlace,
    EdgeRow,
    NodeRow,
    VersionRow,
)
from worlddb.projections.tables.storage.write_buffer import Pair, Table

Values = tuple[Any, ...]

node_row: Final[Callable[[Values], NodeRow]] = partial(tuple.__new__, NodeRow)
version_row: Final[Callable[[Values], VersionRow]] = partial(tuple.__new__, VersionRow)
edge_row: Final[Callable[[Values], EdgeRow]] = partial(tuple.__new__, EdgeRow)
edge_place: Final[Callable[[Values], EdgePlace]] = partial(tuple.__new__, EdgePlace)


def outgoing_edge(pair: Pair) -> tuple[EdgePlace, EdgeRow]:
    """A pair of ``out`` as an edge."""
    return edge_place(EDGE_KEY.unpack(pair[0])), edge_row(EDGE.unpack(pair[1]))


def among(table: Table, prefix: bytes, nodes: Sequence[int]) -> Iterator[Pair]:
    """The pairs under a prefix whose key goes on with one of ``nodes`` (u64 each), in key order.

    ``nodes`` are in ascending order. As many rows are read as there are such pairs, and at most one more for each node:
    how many belong to others cannot be told from the time that it takes.
    """
    at, begins = 0, len(prefix)
    while at < len(nodes):
        for key, value in table.scan(prefix, prefix + U64.pack(nodes[at])):
            node = int(U64.unpack_from(key, begins)[0])
            at = bisect_left(nodes, node, at)
            if at == len(nodes) or nodes[at] != node:
                break
            yield key, value
        else:
            return


_LAST_CODE = 2**16 - 1

Decode = Callable[[Pair], tuple[EdgePlace, EdgeRow] | None]
"""An edge of a pair; ``None`` for one that is not asked for."""


def edges_known(
    table: Table, node: int, code: int | None, pairs: Iterator[Pair], decode: Decode, known_by: int
) -> Iterator[tuple[EdgePlace, EdgeRow]]:
    """Those of the pairs of a node in ``out`` or ``back`` that were written up to commit ``known_by``.

    ``pairs`` are of one type, or of all for no ``code``.
    """
    while True:
        for pair in pairs:
            found = decode(pair)
            if found is None:
                continue
            if found[1].seq > known_by:
                break
            yield found
        else:
            return
        if code is not None or found[0].type == _LAST_CODE:
            return
        pairs = table.scan(U64.pack(node), EDGE_PREFIX.pack(node, found[0].type + 1))
