"""A few vectors in memory, all of which are compared with a query."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from worlddb.projections.indexes.vector_rows import VectorHit, VectorRow, best_of_each, cosines, expanded, extended, top

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Matrix


class VectorSet:
    """The vectors of some versions, given in the order in which ties are told apart."""

    def __init__(self, rows: Sequence[VectorRow], dimension: int) -> None:
        self._numbers, self._matrix = expanded(rows, dimension)
        self._count = len(rows)

    def __len__(self) -> int:
        return self._count

    def search(
        self, query: Matrix, limit: int, nodes: Collection[int] | None = None, *, stating: float = 0.0
    ) -> list[VectorHit]:
        """The best vectors, best first; with ``nodes``, of those worlds alone. A text that is nothing but statements is
        nearer by ``stating``."""
        import numpy as np

        chosen = np.arange(len(self._numbers))
        if nodes is not None:
            chosen = np.flatnonzero(np.isin(self._numbers[:, 0], np.array(sorted(nodes), dtype=np.int64)))
        scores = cosines(self._matrix[chosen], extended(query, stating=stating))
        hits = []
        for place in top(scores, limit).tolist():
            node, version, _ = self._numbers[chosen[place]].tolist()
            hits.append(VectorHit(node, version, 0, float(scores[place])))
        return hits

    def scores(
        self, query: Matrix, pairs: Sequence[tuple[int, int]], *, stating: float = 0.0
    ) -> dict[tuple[int, int], float]:
        """How near some (world, version) pairs come; those that are not here are left out."""
        import numpy as np

        near = np.flatnonzero(np.isin(self._numbers[:, 0], np.array([node for node, _ in pairs], dtype=np.int64)))
        found = best_of_each(self._numbers[near], cosines(self._matrix[near], extended(query, stating=stating)))
        return {pair: found[pair] for pair in pairs if pair in found}
