"""The vector lane: cosines of texts with the query.

It searches the present index, or precisely the vectors that a view sees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from worlddb.projections.indexes import vector_index, vector_rows, world_texts
from worlddb.query.snapshot import valid_period, visible

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Matrix


class VectorQuery(NamedTuple):
    """A query as a vector of length 1, and its embedding space; the façade makes it (law 12)."""

    space: int
    dimension: int
    vector: Matrix
    name: str
    """What the space is called."""
    model: str
    """What made its vectors."""


class VectorLane(Protocol):
    """Where a recall gets its vector hits."""

    query: VectorQuery

    def search(self, *, limit: int, nodes: Collection[int] | None = None, wide: int = 1) -> list[vector_rows.VectorHit]:
        """The nearest vectors, best first, ties in log order; a version may have several.

        Among all worlds a graph is searched for ``wide`` times as many, of which it misses less of the first ones.
        """

    def scores(self, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
        """The cosines of some (world, version) pairs, by the nearest vector of each.

        Pairs without a vector are left out.
        """

    def weighing(self, stating: float) -> VectorLane:
        """The same lane with texts that are all statements nearer by so much, and others by less."""

    def apart(self, nearest: Sequence[tuple[int, int]], stored: Stored, share: float) -> VectorLane:
        """The same lane, its query without a share of what some (world, version) pairs have in common."""

    def asking(self, query: VectorQuery) -> VectorLane:
        """The same lane with another query of its space."""

    def like(self, pair: tuple[int, int], stored: Stored) -> VectorLane | None:
        """The same lane with the text of a (world, version) pair as its query; ``None`` if that has no vector."""
        row = stored(self.query.space, *pair)
        return (
            None
            if row is None
            else self.asking(self.query._replace(vector=vector_rows.whole_text(row.values, self.query.dimension)))
        )


Stored = Callable[[int, int, int], vector_rows.VectorRow | None]
"""The recorded vectors of a version, by space, world and version."""


def with_share(query: VectorQuery, other: VectorQuery, share: float) -> VectorQuery:
    """The query with a share of another one of its space, of length 1."""
    return query._replace(vector=vector_rows.subtract_mean(query.vector, [other.vector], -share))


def _query_apart(query: VectorQuery, nearest: Sequence[tuple[int, int]], stored: Stored, share: float) -> VectorQuery:
    """The query, of length 1, without a share of the mean vector of some versions' whole texts."""
    found = (stored(query.space, *pair) for pair in sorted(nearest))
    wholes = [vector_rows.whole_text(row.values, query.dimension) for row in found if row is not None]
    return query._replace(vector=vector_rows.subtract_mean(query.vector, wholes, share)) if wholes else query


class PresentVectorLane(VectorLane):
    """The index of a space up to the store's head; with ``before``, of worlds numbered below it."""

    def __init__(
        self,
        follower: vector_index.VectorFollower,
        head: int,
        query: VectorQuery,
        before: int | None,
        *,
        stating: float = 0.0,
    ) -> None:
        self._follower = follower
        self._head = head
        self.query = query
        self._before = before
        self._stating = stating

    def search(self, *, limit: int, nodes: Collection[int] | None = None, wide: int = 1) -> list[vector_rows.VectorHit]:
        asked, before = self.query.vector, self._before
        return self._follower.find(
            asked, head=self._head, limit=limit, nodes=nodes, before=before, stating=self._stating, wide=wide
        )

    def scores(self, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
        return self._follower.scores(self.query.vector, pairs, head=self._head, stating=self._stating)

    def weighing(self, stating: float) -> VectorLane:
        return PresentVectorLane(self._follower, self._head, self.query, self._before, stating=stating)

    def apart(self, nearest: Sequence[tuple[int, int]], stored: Stored, share: float) -> VectorLane:
        query = _query_apart(self.query, nearest, stored, share)
        return PresentVectorLane(self._follower, self._head, query, self._before, stating=self._stating)

    def asking(self, query: VectorQuery) -> VectorLane:
        return PresentVectorLane(self._follower, self._head, query, self._before)


class SeenVectors:
    """The vectors that a view sees, as far as its commit had recorded them (law 9).

    ``pending`` counts the texts that are seen and have no vector yet.
    """

    def __init__(
        self, snapshot: visible.VisibleSnapshot, space: int, dimension: int, choice: valid_period.Choice
    ) -> None:
        tables, moment, left_out = snapshot.tables, snapshot.place.moment, snapshot.excluded.texts
        self.pending = 0
        rows: list[vector_rows.VectorRow] = []
        for node in snapshot.inhabitants():
            for seen in choice.versions(tables, node, moment) if node not in left_out else ():
                stored = snapshot.vector(space, node, seen.number)
                if stored is not None:
                    rows.append(stored)
                else:
                    body = snapshot.body(seen.row)
                    self.pending += body is not None and bool(body.content)
        self.vectors = vector_index.VectorSet(rows, dimension)


class WorldVectors(NamedTuple):
    """Searches the cached visible vectors of one world, for a confined view."""

    vectors: world_texts.VisibleVectors

    @property
    def pending(self) -> int:
        """How many texts are seen and have no vector yet."""
        return self.vectors.pending


class ExactVectorLane(VectorLane):
    """Every vector that is seen, compared with the query one by one."""

    def __init__(self, seen: SeenVectors | WorldVectors, query: VectorQuery, *, stating: float = 0.0) -> None:
        self._seen = seen
        self.query = query
        self._stating = stating

    def search(self, *, limit: int, nodes: Collection[int] | None = None, wide: int = 1) -> list[vector_rows.VectorHit]:
        return self._seen.vectors.search(self.query.vector, limit, nodes, stating=self._stating)

    def scores(self, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
        return self._seen.vectors.scores(self.query.vector, pairs, stating=self._stating)

    def weighing(self, stating: float) -> VectorLane:
        return ExactVectorLane(self._seen, self.query, stating=stating)

    def apart(self, nearest: Sequence[tuple[int, int]], stored: Stored, share: float) -> VectorLane:
        return ExactVectorLane(self._seen, _query_apart(self.query, nearest, stored, share), stating=self._stating)

    def asking(self, query: VectorQuery) -> VectorLane:
        return ExactVectorLane(self._seen, query)
