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
EXACT_SELECTED: Final = 20_000
EXACT_SHARE: Final = 0.1
"""A filter that leaves fewer vectors, or a smaller share of them, is scanned: a filtered graph loses hits there."""
FIRST_SHARE: Final = 0.25
"""The same for the vectors of the oldest worlds, which lie together and are scanned faster."""

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

    @property
    def count(self) -> int:
        return len(self._rows)

    def search(self, query: Matrix, limit: int, selected: Numbers | None) -> list[VectorHit]:
        """The best vectors, of the selected rows if there are such; as exact as :data:`EXACT_VECTORS` and its
        neighbours say."""

        if not self.count or (selected is not None and not len(selected)):
            return []
        if selected is not None and len(selected) <= max(EXACT_SELECTED, EXACT_SHARE * self.count):
            scores = self._scores(query, selected)
            places = top(scores, limit)
            return self._hits(selected[places], scores[places])
        return self._found(self._index, query, limit, self._parameters(limit, selected))

    def search_before(self, query: Matrix, limit: int, before: int | None) -> list[VectorHit]:
        """The best vectors of worlds with lower numbers than ``before``, if that is given.

        These are the first rows. Where they are few all of them are compared; where not, the graph is searched wider,
        since it leads through rows that do not count.
        """
        import numpy as np

        rows = self.count if before is None else int(np.searchsorted(self._nodes, before, side="left"))
        if rows == self.count:
            return self.search(query, limit, None)
        if not rows:
            return []
        faiss: Any = import_module("faiss")
        first = faiss.IDSelectorRange(0, rows, True)
        if self.count <= EXACT_VECTORS:
            return self._found(self._index, query, limit, faiss.SearchParameters(sel=first))
        if rows <= max(EXACT_SELECTED, FIRST_SHARE * self.count):
            vectors = faiss.downcast_index(self._index.storage)
            return self._found(vectors, query, limit, faiss.SearchParameters(sel=first))
        wider = max(HNSW_EF_SEARCH, limit) * self.count // rows
        return self._found(self._index, query, limit, faiss.SearchParametersHNSW(sel=first, efSearch=wider))

    def _found(self, index: Any, query: Matrix, limit: int, parameters: Any) -> list[VectorHit]:
        with _one_thread():
            found, rows = index.search(query[None, :], min(limit, self.count), params=parameters)
        held = rows[0] >= 0
        return self._hits(rows[0][held], found[0][held])

    def _parameters(self, limit: int, selected: Numbers | None) -> Any:
        import numpy as np

        faiss: Any = import_module("faiss")
        selector = None
        if selected is not None:
            bits = np.zeros(self.count, dtype=bool)
            bits[selected] = True
            selector = faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little"))
        if self._is_graph:
            return faiss.SearchParametersHNSW(sel=selector, efSearch=max(HNSW_EF_SEARCH, limit))
        return faiss.SearchParameters(sel=selector)

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
