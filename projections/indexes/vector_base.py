"""The part of a vector index that lies on disk: immutable, mapped into memory, replaced as a whole.

A folder ``base-<seq>`` holds ``rows.npy`` (for each vector its world, version and the commit that embedded it, in the
order in which they were added), ``order.npy`` (the places of the rows, sorted by world and version) and
``vectors.faiss`` (the rows of :mod:`.vector_rows` in the order of ``rows.npy``, 16-bit). ``current.json`` names the
folder in force and carries the marker; it is replaced by renaming, so a base is there whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from worlddb.log.store.durable import sync_file, sync_folder
from worlddb.projections.indexes.fields import Marker
from worlddb.projections.indexes.nodes import Nodes
from worlddb.projections.indexes.vector_rows import CHUNK, VectorHit
from worlddb.projections.indexes.vector_search import Searched, new_index

if TYPE_CHECKING:
    from worlddb.projections.indexes.vector_rows import Matrix, Numbers

FORMAT: Final = 4
"""Raised with any change of the files: a base of another format is made anew."""

_CURRENT: Final = "current.json"
_ROWS: Final = "rows.npy"
_ORDER: Final = "order.npy"
_VECTORS: Final = "vectors.faiss"


class Base:
    """One base as it was written."""

    def __init__(self, folder: Path, marker: Marker, rows: Numbers, order: Numbers, index: Any) -> None:
        import numpy as np

        self.folder = folder
        self.marker = marker
        # As plain arrays, which are mapped all the same and looked up faster.
        rows, order = rows.view(np.ndarray), order.view(np.ndarray)
        self._nodes = rows[:, 0]
        self._order = order
        self._vectors = Searched(rows, index)
        self._placed: tuple[Nodes, Numbers] | None = None

    @property
    def count(self) -> int:
        return self._vectors.count

    @property
    def is_graph(self) -> bool:
        """True if there is a graph to be searched."""
        return self._vectors.is_graph

    def is_for_graph(self, passing: int, limit: int) -> bool:
        """True if a filter that so many vectors pass is left to the graph; see :meth:`Searched.is_for_graph`."""
        return self._vectors.is_for_graph(passing, limit)

    def search(
        self, query: Matrix, limit: int, selected: Numbers | None, *, by_graph: bool | None = None
    ) -> list[VectorHit]:
        """The best vectors, of the selected places if there are such; see :meth:`Searched.search`."""
        return self._vectors.search(query, limit, selected, by_graph)

    def search_before(self, query: Matrix, limit: int, before: int | None) -> list[VectorHit]:
        """The best vectors of worlds with lower numbers than ``before``, if that is given."""
        import numpy as np

        earlier = self.count
        if before is not None:
            earlier = int(np.searchsorted(self._nodes, before, side="left", sorter=self._order))
        return self.search(query, limit, None if earlier == self.count else self._order[:earlier])

    def places_of_members(self, members: Nodes) -> Numbers:
        """As :meth:`places_of_nodes`, of worlds that are asked about again and again."""
        placed = self._placed
        if placed is None or placed[0] is not members:
            self._placed = placed = members, self.places_of_nodes(members.in_order)
        return placed[1]

    def places_of_nodes(self, nodes: Numbers) -> Numbers:
        """The places of all vectors of some worlds (given in order)."""
        import numpy as np

        first = np.searchsorted(self._nodes, nodes, side="left", sorter=self._order)
        beyond = np.searchsorted(self._nodes, nodes, side="right", sorter=self._order)
        counts = beyond - first
        # The numbers from each first one on, as far as its count goes.
        starts = np.repeat(first - np.cumsum(counts) + counts, counts)
        return np.asarray(self._order[starts + np.arange(len(starts))], dtype=np.int64)

    def scores(self, query: Matrix, places: Numbers) -> tuple[Numbers, Matrix]:
        """(world, version, commit) and the cosines of some vectors, by comparing each."""
        return self._vectors.numbers[places], self._vectors.scores(query, places)

    def numbers(self) -> Numbers:
        """(world, version, commit) of every vector, in the order in which they were added."""
        return self._vectors.numbers

    def copied_index(self, dimension: int, *, graph: bool) -> Any:
        """An index of these vectors in memory, to add more to; what is in a graph is not put into it again."""
        faiss: Any = import_module("faiss")
        if graph == self.is_graph:
            return faiss.read_index(str(self.folder / _VECTORS))
        index = new_index(dimension, graph=graph)
        for first in range(0, self.count, CHUNK):
            index.add(self._vectors.index.reconstruct_n(first, min(CHUNK, self.count - first)))
        return index


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
        order = np.load(base / _ORDER, mmap_mode="r", allow_pickle=False)
        flags = faiss.IO_FLAG_MMAP_IFC | faiss.IO_FLAG_READ_ONLY
        index = faiss.read_index(str(base / _VECTORS), flags)
        if index.d != int(told["dimension"]) or order.shape != (index.ntotal,) or order.dtype != np.int64:
            return None
        if rows.shape != (index.ntotal, 3) or rows.dtype != np.int64:
            return None
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError, AssertionError):
        # FAISS tells of a torn file by RuntimeError; whatever cannot be read is made anew.
        return None
    return Base(base, marker, rows, order, index)


def stamp_of(folder: Path) -> tuple[int, int] | None:
    """What changes whenever another base is in force."""
    try:
        found = os.stat(f"{folder}/{_CURRENT}")
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def write(
    folder: Path,
    marker: Marker,
    dimension: int,
    parts: Iterable[tuple[Numbers, Matrix]],
    *,
    graph: bool,
    after: Base | None = None,
) -> None:
    """Put another base in force: that of ``after``, if it is given, and these vectors. Older bases are removed.

    Each part is some vectors' worlds, versions and commits, and their rows, which have ``dimension`` numbers.

    Raises:
        OSError: the folder cannot be written; the base in force stays as it was.
    """
    import faiss
    import numpy as np

    base = folder / f"base-{marker.seq}"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    try:
        index = new_index(dimension, graph=graph) if after is None else after.copied_index(dimension, graph=graph)
        added = [np.zeros((0, 3), dtype=np.int64) if after is None else after.numbers()]
        for some, rows in parts:
            added.append(some)
            index.add(np.ascontiguousarray(rows, dtype=np.float32))
        faiss.write_index(index, str(base / _VECTORS))
    except RuntimeError as error:
        raise OSError(str(error)) from error
    numbers = np.concatenate(added)
    # Column by column, so that worlds can be looked up in the file as it is mapped.
    np.save(base / _ROWS, np.asfortranarray(numbers, dtype=np.int64), allow_pickle=False)
    np.save(base / _ORDER, np.lexsort((numbers[:, 1], numbers[:, 0])).astype(np.int64), allow_pickle=False)
    # A file that was not synced may have its length after a crash, and zeros in it: nothing else would show that.
    for name in (_ROWS, _ORDER, _VECTORS):
        sync_file(base / name)
    sync_folder(base)
    told = {
        "format": FORMAT,
        "base": base.name,
        "store": marker.store_id.hex(),
        "seq": marker.seq,
        "chain": marker.chain.hex(),
        "dimension": dimension,
    }
    fresh = folder / f"{_CURRENT}.new"
    fresh.write_text(json.dumps(told), "utf-8")
    sync_file(fresh)
    os.replace(fresh, folder / _CURRENT)
    for other in folder.glob("base-*"):
        if other.name != base.name:
            # Processes that have it mapped keep it until they look again.
            shutil.rmtree(other, ignore_errors=True)
