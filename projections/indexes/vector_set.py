"""A few vectors in memory, all of which are compared with a query."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from worlddb.projections.indexes.vector_base import VectorHit, cosines, matrix_of, top

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_base import Matrix


class VectorSet:
    """The vectors of some (world, version) pairs, given in the order in which ties are told apart."""

    def __init__(self, pairs: Sequence[tuple[int, int]], values: Sequence[bytes], dimension: int) -> None:
        import numpy as np

        self._pairs = pairs
        self._places = {pair: place for place, pair in enumerate(pairs)}
        self._nodes = np.array([node for node, _ in pairs], dtype=np.int64)
        self._matrix = matrix_of(values, dimension)

    def __len__(self) -> int:
        return len(self._pairs)

    def search(self, query: Matrix, limit: int, nodes: Collection[int] | None = None) -> list[VectorHit]:
        """The best vectors, best first; with ``nodes``, of those worlds alone."""
        import numpy as np

        chosen = np.arange(len(self._pairs))
        if nodes is not None:
            chosen = np.flatnonzero(np.isin(self._nodes, np.array(sorted(nodes), dtype=np.int64)))
        scores = cosines(self._matrix[chosen], query)
        hits = []
        for place in top(scores, limit).tolist():
            node, version = self._pairs[chosen[place]]
            hits.append(VectorHit(node, version, 0, float(scores[place])))
        return hits

    def scores(self, query: Matrix, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
        """The cosines of some pairs; those that are not here are left out."""
        known = [pair for pair in pairs if pair in self._places]
        found = cosines(self._matrix[[self._places[pair] for pair in known]], query) if known else ()
        return {pair: float(score) for pair, score in zip(known, found, strict=True)}
