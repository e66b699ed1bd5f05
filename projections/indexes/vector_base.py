"""The part of a vector index that lies on disk: immutable, mapped into memory, replaced as a whole.

A folder ``base-<seq>`` holds ``rows.npy`` (for each vector its world, version and the commit that embedded it, sorted)
and ``vectors.faiss`` (the rows of :mod:`.vector_rows` in the same order, 16-bit). ``current.json`` names the folder in
force and carries the marker; it is replaced by renaming, so a base is there whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from worlddb.log.store.durable import sync_file, sync_folder
from worlddb.projections.indexes.fields import Marker
from worlddb.projections.indexes.vector_rows import CHUNK, VectorHit, cosines, top

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Matrix, Numbers

FORMAT: Final = 2
"""Raised with any change of the files: a base of another format is made anew."""
EXACT_VECTORS: Final = 50_000
"""Up to this many vectors every one is compared; above, a graph is searched (paper §4.2)."""
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

_CURRENT: Final = "current.json"
_ROWS: Final = "rows.npy"
_VECTORS: Final = "vectors.faiss"


class Base:
    """One base as it was written."""

    def __init__(self, folder: Path, marker: Marker, rows: Numbers, index: Any) -> None:
        self.folder = folder
        self.marker = marker
        self._rows = rows
        self._nodes = rows[:, 0]
        self._index = index
        self._is_graph = hasattr(index, "hnsw")
        self._vectors = import_module("faiss").downcast_index(index.storage) if self._is_graph else index

    @property
    def count(self) -> int:
        return len(self._rows)

    def search(
        self, query: Matrix, limit: int, selected: Numbers | None, *, by_graph: bool | None = None
    ) -> list[VectorHit]:
        """The best vectors, of the selected rows (in order) if there are such.

        All of few vectors are compared, and all of few that a filter leaves. Where many are left the graph is searched,
        the wider the fewer they are, since it leads through those that do not count. ``by_graph`` decides otherwise.
        """
        if selected is None:
            return self._best(query, limit, None, self.count, by_graph)
        if not by_graph and len(selected) <= GATHERED_SHARE * self.count:
            scores = self._scores(query, selected)
            places = top(scores, limit)
            return self._hits(selected[places], scores[places])
        return self._best(query, limit, _bitmap(selected, self.count), len(selected), by_graph)

    def search_before(self, query: Matrix, limit: int, before: int | None) -> list[VectorHit]:
        """The best vectors of worlds with lower numbers than ``before``, if that is given: these are the first rows."""
        import numpy as np

        rows = self.count if before is None else int(np.searchsorted(self._nodes, before, side="left"))
        if rows == self.count:
            return self._best(query, limit, None, rows)
        faiss: Any = import_module("faiss")
        return self._best(query, limit, faiss.IDSelectorRange(0, rows, True), rows)

    def _best(
        self, query: Matrix, limit: int, selector: Any, passing: int, by_graph: bool | None = None
    ) -> list[VectorHit]:
        """The best of the rows that pass the selector, ties in order."""
        import numpy as np

        if not passing:
            return []
        fetch = limit + TIE_ROOM
        while True:
            scores, rows = self._fetched(query, fetch, selector, passing, by_graph)
            if len(rows) < fetch or scores[limit - 1] > scores[-1] or fetch >= limit + TIE_LIMIT:
                order = np.lexsort((rows, -scores))[:limit]
                return self._hits(rows[order], scores[order])
            fetch = limit + 8 * (fetch - limit)

    def _fetched(
        self, query: Matrix, limit: int, selector: Any, passing: int, by_graph: bool | None
    ) -> tuple[Matrix, Numbers]:
        """Scores and rows as FAISS finds them, in its order."""
        faiss: Any = import_module("faiss")
        if self.is_for_graph(passing, limit) if by_graph is None else by_graph:
            index, parameters = (
                self._index,
                faiss.SearchParametersHNSW(sel=selector, efSearch=self._wide(passing, limit)),
            )
        else:
            index, parameters = self._vectors, faiss.SearchParameters(sel=selector)
        with _one_thread():
            scores, rows = index.search(query[None, :], min(limit, self.count), params=parameters)
        held = rows[0] >= 0
        return scores[0][held], rows[0][held]

    def is_for_graph(self, passing: int, limit: int) -> bool:
        """True if there is a graph, and searching it compares less than going through the vectors that pass."""
        return self._is_graph and passing > COMPARED_A_STEP * self._wide(passing, limit)

    def _wide(self, passing: int, limit: int) -> int:
        """How many candidates a search of the graph keeps: as many times more as vectors do not pass."""
        return max(HNSW_EF_SEARCH, limit) * self.count // max(1, passing)

    def rows_of_nodes(self, nodes: Numbers) -> Numbers:
        """The rows of all versions of some worlds (given in order), in order."""
        import numpy as np

        first = np.searchsorted(self._nodes, nodes, side="left")
        beyond = np.searchsorted(self._nodes, nodes, side="right")
        counts = beyond - first
        # The numbers from each first one on, as far as its count goes.
        starts = np.repeat(first - np.cumsum(counts) + counts, counts)
        return np.asarray(starts + np.arange(len(starts)), dtype=np.int64)

    def scores(self, query: Matrix, rows: Numbers) -> tuple[Numbers, Matrix]:
        """(world, version, commit) and the cosines of some rows, by comparing each."""
        return self._rows[rows], self._scores(query, rows)

    def vectors(self) -> tuple[Numbers, Matrix]:
        """Everything, for making the next base."""
        return self._rows, self._index.reconstruct_n(0, self.count)

    def _scores(self, query: Matrix, rows: Numbers) -> Matrix:
        import numpy as np

        with _one_thread():
            parts = [
                cosines(self._index.reconstruct_batch(rows[first : first + CHUNK]), query)
                for first in range(0, len(rows), CHUNK)
            ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)

    def _hits(self, rows: Numbers, scores: Matrix) -> list[VectorHit]:
        found = self._rows[rows]
        return [
            VectorHit(int(node), int(version), int(seq), float(score))
            for (node, version, seq), score in zip(found.tolist(), scores.tolist(), strict=True)
        ]


def load(folder: Path) -> Base | None:
    """The base in force in a folder; ``None`` if there is none that can be read."""
    import faiss
    import numpy as np

    try:
        told = json.loads((folder / _CURRENT).read_text("utf-8"))
        if told["format"] != FORMAT:
            return None
        marker = Marker(bytes.fromhex(told["store"]), int(told["seq"]), bytes.fromhex(told["chain"]))
        base = folder / str(told["base"])
        rows = np.load(base / _ROWS, mmap_mode="r", allow_pickle=False)
        flags = faiss.IO_FLAG_MMAP_IFC | faiss.IO_FLAG_READ_ONLY
        index = faiss.read_index(str(base / _VECTORS), flags)
        if rows.shape != (index.ntotal, 3) or rows.dtype != np.int64 or index.d != int(told["dimension"]):
            return None
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError, AssertionError):
        # FAISS tells of a torn file by RuntimeError; whatever cannot be read is made anew.
        return None
    return Base(base, marker, rows, index)


def stamp_of(folder: Path) -> tuple[int, int] | None:
    """What changes whenever another base is in force."""
    try:
        found = (folder / _CURRENT).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def write(folder: Path, marker: Marker, rows: Numbers, vectors: Matrix, *, graph: bool | None = None) -> None:
    """Put another base in force; rows and vectors are in one order, which this sorts. Older bases are removed.

    ``graph`` is whether it is to be one, by default if there are more than :data:`EXACT_VECTORS`.

    Raises:
        OSError: the folder cannot be written; the base in force stays as it was.
    """
    import faiss
    import numpy as np

    order = np.lexsort((rows[:, 1], rows[:, 0]))
    base = folder / f"base-{marker.seq}"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    # Column by column, so that worlds can be looked up in the file as it is mapped.
    np.save(base / _ROWS, np.asfortranarray(rows[order], dtype=np.int64), allow_pickle=False)
    index = _index(vectors.shape[1], graph=len(rows) > EXACT_VECTORS if graph is None else graph)
    ordered = np.ascontiguousarray(vectors[order], dtype=np.float32)
    index.train(ordered[:1])
    index.add(ordered)
    try:
        faiss.write_index(index, str(base / _VECTORS))
    except RuntimeError as error:
        raise OSError(str(error)) from error
    # A file that was not synced may have its length after a crash, and zeros in it: nothing else would show that.
    for name in (_ROWS, _VECTORS):
        sync_file(base / name)
    sync_folder(base)
    told = {
        "format": FORMAT,
        "base": base.name,
        "store": marker.store_id.hex(),
        "seq": marker.seq,
        "chain": marker.chain.hex(),
        "dimension": int(vectors.shape[1]),
    }
    fresh = folder / f"{_CURRENT}.new"
    fresh.write_text(json.dumps(told), "utf-8")
    sync_file(fresh)
    os.replace(fresh, folder / _CURRENT)
    for other in folder.glob("base-*"):
        if other.name != base.name:
            # Processes that have it mapped keep it until they look again.
            shutil.rmtree(other, ignore_errors=True)


def _bitmap(rows: Numbers, count: int) -> Any:
    """Lets some of so many rows pass."""
    import numpy as np

    faiss: Any = import_module("faiss")
    bits = np.zeros(count, dtype=bool)
    bits[rows] = True
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


def _index(dimension: int, *, graph: bool) -> Any:
    faiss: Any = import_module("faiss")
    kind = faiss.ScalarQuantizer.QT_fp16
    if not graph:
        return faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT)
    index = faiss.IndexHNSWSQ(dimension, kind, HNSW_NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = HNSW_EF_CONSTRUCTION
    return index
