"""The rows of some worlds in a table that has those of all, without a look at what lies between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from worlddb.projections.tables.overlay import Pair, Table
from worlddb.projections.tables.schema import U64


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
