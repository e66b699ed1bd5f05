"""Searching vectors in FAISS: a graph, or the plain list that it lies on, whichever compares fewer.

A filter that leaves few is scanned where the vectors are mapped; one that leaves many is pushed into the graph, which
keeps the more candidates the fewer pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from worlddb.projections.indexes.vector_rows import CHUNK, VectorHit, as_hits, cosines

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Matrix, Numbers

HNSW_NEIGHBOURS: Final = 16
HNSW_EF_CONSTRUCTION: Final = 200
HNSW_EF_SEARCH: Final = 64
COMPARED_A_STEP: Final = 17
"""How many vectors a search of the graph compares for each place in its list of candidates, roughly: half of the
neighbours of a vector were met before. By this a filter is scanned or left to the graph, whichever compares less."""
GATHERED_SHARE: Final = 0.002
"""Up to this share of the vectors, those that a filter leaves are gathered; above, all are gone through by a bitmap."""
TIE_ROOM: Final = 16
TIE_LIMIT: Final = 1_024
"""How many more hits are fetched than are wanted, at first and at most, so that those that tie with the last are told
apart by log order."""


def new_index(dimension: int, *, graph: bool) -> Any:
    """An empty index of 16-bit vectors by inner product (paper §4.2)."""
    import numpy as np

    faiss: Any = import_module("faiss")
    kind = faiss.ScalarQuantizer.QT_fp16
    if graph:
        index = faiss.IndexHNSWSQ(dimension, kind, HNSW_NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = HNSW_EF_CONSTRUCTION
    else:
        index = faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT)
    # There is nothing to learn for 16-bit floats, but FAISS wants to have seen a vector.
    index.train(np.zeros((1, dimension), dtype=np.float32))
    return index


class Searched:
    """Vectors in a FAISS index; ``numbers`` has the world, version and commit of each, in the same order."""

    def __init__(self, numbers: Numbers, index: Any) -> None:
        self.numbers = numbers
        self.index = index
        self.is_graph = hasattr(index, "hnsw")
        self._list = import_module("faiss").downcast_index(index.storage) if self.is_graph else index
        self._rows = _rows_of(self._list)
        self._passing: tuple[Numbers, Any] | None = None

    @property
    def count(self) -> int:
        return len(self.numbers)

    def search(
        self, query: Matrix, limit: int, selected: Numbers | None, by_graph: bool | None = None
    ) -> list[VectorHit]:
        """The best vectors, of the selected places if there are such, ties in log order.

        All of few vectors are compared, and all of few that a filter leaves. Where many are left the graph is searched,
        the wider the fewer they are, since it leads through those that do not count. ``by_graph`` decides otherwise.
        """
        import numpy as np

        passing = self.count if selected is None else len(selected)
        if not passing:
            return []
        if selected is not None and not by_graph and passing <= GATHERED_SHARE * self.count:
            return self._best(self.scores(query, selected), np.asarray(selected), limit)
        selector = None if selected is None else self._selector(selected)
        fetch = limit + TIE_ROOM
        while True:
            scores, places = self._fetched(query, fetch, selector, passing, by_graph)
            if len(places) < fetch or scores[limit - 1] > scores[-1] or fetch >= limit + TIE_LIMIT:
                return self._best(scores, places, limit)
            fetch = limit + 8 * (fetch - limit)

    def is_for_graph(self, passing: int, limit: int) -> bool:
        """True if there is a graph, and searching it compares less than going through the vectors that pass."""
        return self.is_graph and passing > COMPARED_A_STEP * self._wide(passing, limit)

    def scores(self, query: Matrix, places: Numbers) -> Matrix:
        """The cosines of some vectors."""
        import numpy as np

        # FAISS itself would wake all of its threads for each row that it gives.
        parts = [
            cosines(self._rows[places[first : first + CHUNK]].astype(np.float32), query)
            for first in range(0, len(places), CHUNK)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)

    def _fetched(
        self, query: Matrix, limit: int, selector: Any, passing: int, by_graph: bool | None
    ) -> tuple[Matrix, Numbers]:
        """Scores and places as FAISS finds them, in its order."""
        faiss: Any = import_module("faiss")
        if self.is_for_graph(passing, limit) if by_graph is None else by_graph:
            wide = self._wide(passing, limit)
            index, parameters = self.index, faiss.SearchParametersHNSW(sel=selector, efSearch=wide)
        else:
            index, parameters = self._list, faiss.SearchParameters(sel=selector)
        with _one_thread():
            scores, places = index.search(query[None, :], min(limit, self.count), params=parameters)
        held = places[0] >= 0
        return scores[0][held], places[0][held]

    def _selector(self, selected: Numbers) -> Any:
        """Lets the selected places pass; kept for who asks again with the very same, as in a world."""
        passing = self._passing
        if passing is None or passing[0] is not selected:
            self._passing = passing = selected, _bitmap(selected, self.count)
        return passing[1]

    def _wide(self, passing: int, limit: int) -> int:
        """How many candidates a search of the graph keeps: as many times more as vectors do not pass."""
        return max(HNSW_EF_SEARCH, limit) * self.count // max(1, passing)

    def _best(self, scores: Matrix, places: Numbers, limit: int) -> list[VectorHit]:
        import numpy as np

        numbers = self.numbers[places]
        order = np.lexsort((numbers[:, 1], numbers[:, 0], -scores))[:limit]
        return as_hits(numbers[order], scores[order])


def _rows_of(index: Any) -> Any:
    """The rows of a list of 16-bit vectors where they lie; good for as long as the index is."""
    import numpy as np

    faiss: Any = import_module("faiss")
    if not index.ntotal:
        return np.zeros((0, index.d), dtype="<f2")
    return faiss.rev_swig_ptr(index.codes.data(), index.codes.size()).view("<f2").reshape(index.ntotal, index.d)


def _bitmap(places: Numbers, count: int) -> Any:
    """Lets some of so many vectors pass."""
    import numpy as np

    faiss: Any = import_module("faiss")
    bits = np.zeros(count, dtype=bool)
    bits[places] = True
    return faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little"))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Search with the calling thread alone: one query is done before others have woken up and found a processor."""
    faiss: Any = import_module("faiss")
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
