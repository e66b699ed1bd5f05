"""Vectors in memory that the base on disk has not reached; a search compares all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from worlddb.projections.indexes import vector_rows

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Matrix, Numbers

Feed = Callable[[int, int], Iterable[vector_rows.VectorRow]]
"""The vectors that the commits in ``(from_seq, to_seq]`` recorded, in log order."""


class VectorTail:
    """The vectors of the commits in ``(base, head]``; the head moves on with the log's.

    What was taken in once stays as it is: a :meth:`seen` of it may be searched while more comes in.
    """

    def __init__(self, base: int, dimension: int) -> None:
        import numpy as np

        self.base = base
        self.head = base
        self._dimension = dimension
        self._count = 0
        self._numbers = np.zeros((0, 3), dtype=np.int64)
        self._matrix = np.zeros((0, vector_rows.width(dimension)), dtype=np.float32)

    def extend(self, feed: Feed, head: int) -> None:
        """Take in the commits up to ``head``."""
        if head <= self.head:
            return
        fresh = list(feed(self.head, head))
        if fresh:
            numbers, rows = vector_rows.expanded(fresh, self._dimension)
            self._make_room(self._count + len(rows))
            self._numbers[self._count : self._count + len(rows)] = numbers
            self._matrix[self._count : self._count + len(rows)] = rows
            self._count += len(rows)
        self.head = head

    def _make_room(self, count: int) -> None:
        """Twice as much as there was, at least, so that a commit costs what it brings."""
        import numpy as np

        if count > len(self._matrix):
            numbers, matrix = self._numbers, self._matrix
            room = max(count, 2 * len(matrix))
            self._numbers = np.zeros((room, 3), dtype=np.int64)
            self._matrix = np.zeros((room, matrix.shape[1]), dtype=np.float32)
            self._numbers[: self._count] = numbers[: self._count]
            self._matrix[: self._count] = matrix[: self._count]

    def seen(self) -> SeenTail:
        """A view of the vectors that are here now."""
        return SeenTail(self._numbers[: self._count], self._matrix[: self._count])


class SeenTail:
    """Vectors in memory: for each its world, version and commit, and its row."""

    def __init__(self, numbers: Numbers, matrix: Matrix) -> None:
        self.numbers = numbers
        self.matrix = matrix

    def __len__(self) -> int:
        return len(self.numbers)

    def search(
        self, query: Matrix, limit: int, nodes: Numbers | None, before: int | None
    ) -> list[vector_rows.VectorHit]:
        """Find the best vectors.

        Of some worlds (in order) alone, and of those with lower numbers than ``before``.
        """
        import numpy as np

        numbers, matrix = self.numbers, self.matrix
        if nodes is not None or before is not None:
            is_wanted = np.isin(numbers[:, 0], nodes) if nodes is not None else np.full(len(numbers), True)
            chosen = np.flatnonzero(is_wanted if before is None else is_wanted & (numbers[:, 0] < before))
            numbers, matrix = numbers[chosen], matrix[chosen]
        scores = vector_rows.cosines(matrix, query)
        places = vector_rows.top(scores, limit, numbers)
        return vector_rows.as_hits(numbers[places], scores[places])

    def scores(self, query: Matrix, nodes: Numbers) -> dict[tuple[int, int], float]:
        """How near the versions of some worlds come, by the nearest vector of each."""
        import numpy as np

        near = np.flatnonzero(np.isin(self.numbers[:, 0], nodes))
        return vector_rows.best_of_each(self.numbers[near], vector_rows.cosines(self.matrix[near], query))


class VectorSet:
    """The vectors of some versions, given in the order in which ties are told apart."""

    def __init__(self, rows: Sequence[vector_rows.VectorRow], dimension: int) -> None:
        self._numbers, self._matrix = vector_rows.expanded(rows, dimension)
        self._count = len(rows)

    def __len__(self) -> int:
        return self._count

    def search(
        self, query: Matrix, limit: int, nodes: Collection[int] | None = None, *, stating: float = 0.0
    ) -> list[vector_rows.VectorHit]:
        """Find the best vectors, best first.

        With ``nodes``, of those worlds alone. A text that is nothing but statements is nearer by ``stating``.
        """
        import numpy as np

        chosen = np.arange(len(self._numbers))
        if nodes is not None:
            chosen = np.flatnonzero(np.isin(self._numbers[:, 0], np.array(sorted(nodes), dtype=np.int64)))
        scores = vector_rows.cosines(self._matrix[chosen], vector_rows.extended(query, stating=stating))
        hits = []
        for place in vector_rows.top(scores, limit).tolist():
            node, version, _ = self._numbers[chosen[place]].tolist()
            hits.append(vector_rows.VectorHit(node, version, 0, float(scores[place])))
        return hits

    def scores(
        self, query: Matrix, pairs: Sequence[tuple[int, int]], *, stating: float = 0.0
    ) -> dict[tuple[int, int], float]:
        """How near some (world, version) pairs come; those that are not here are left out."""
        import numpy as np

        near = np.flatnonzero(np.isin(self._numbers[:, 0], np.array([node for node, _ in pairs], dtype=np.int64)))
        found = vector_rows.best_of_each(
            self._numbers[near], vector_rows.cosines(self._matrix[near], vector_rows.extended(query, stating=stating))
        )
        return {pair: found[pair] for pair in pairs if pair in found}
