"""Edges up to a commit. Of each type they lie in log order, so what follows a later one is passed over unread: a read
of the past costs what there was then, however much has come since (paper §2.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from worlddb.projections.tables.overlay import Pair, Table
from worlddb.projections.tables.schema import EDGE_PREFIX, U64, EdgePlace, EdgeRow

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
