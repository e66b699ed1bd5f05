"""The part of a vector index that lies on disk: immutable, mapped, and replaced as a whole.

A folder ``base-<seq>`` holds ``rows.npy`` (for each vector its world, version and the commit that embedded it, in the
order in which they were added), ``order.npy`` (the places of the rows, sorted by world and version) and
``vectors.faiss`` (the rows of :mod:`.vector_rows` in the order of ``rows.npy``, 16-bit). ``current.json`` names the
folder in force and carries the marker; it is replaced by renaming, so a base is there whole or not at all.

FAISS searches it by the graph, or by the plain list under the graph, whichever compares fewer vectors. A filter that
leaves few is scanned where the vectors are mapped; one that leaves many is pushed into the graph, which keeps more
candidates the fewer pass.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from worlddb.log.store.durable import sync_file, sync_folder
from worlddb.projections.indexes import fields, vector_rows, witness

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
"""How many more hits than requested are fetched, at first and at most, so that log order can decide ties with the last.
"""
SUMMED_OTHERWISE: Final = 1e-5
"""By how much FAISS's scores may differ from ours, which add up in another order. Ours count: a vector is to score
alike in a base, in a tail and where a filter leaves few."""


@cache
def _faiss() -> Any:
    """The library, loaded at the first search."""
    return import_module("faiss")


def new_index(dimension: int, *, graph: bool) -> Any:
    """An empty index of 16-bit vectors by inner product (paper §4.2)."""
    import numpy as np

    faiss = _faiss()
    kind = faiss.ScalarQuantizer.QT_fp16
    if graph:
        index = faiss.IndexHNSWSQ(dimension, kind, HNSW_NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = HNSW_EF_CONSTRUCTION
    else:
        index = faiss.IndexScalarQuantizer(dimension, kind, faiss.METRIC_INNER_PRODUCT)
    # There is nothing to learn for 16-bit floats, but FAISS wants to have seen a vector.
    index.train(np.zeros((1, dimension), dtype=np.float32))
    return index


class VectorSearcher:
    """Vectors in a FAISS index.

    ``numbers`` has the world, version and commit of each, in the same order.
    """

    def __init__(self, numbers: Numbers, index: Any) -> None:
        self.numbers = numbers
        self.index = index
        self.is_graph = hasattr(index, "hnsw")
        self._list = _faiss().downcast_index(index.storage) if self.is_graph else index
        self.rows = _rows_of(self._list)
        self._passing: tuple[Numbers, Any] | None = None

    @property
    def count(self) -> int:
        return len(self.numbers)

    def search(
        self, query: Matrix, limit: int, selected: Numbers | None, by_graph: bool | None = None, wide: int = 1
    ) -> list[vector_rows.VectorHit]:
        """The best vectors, of the selected places if there are such, ties in log order.

        All of few vectors are compared, and all of few that a filter leaves. Where many are left the graph is searched,
        the wider the fewer they are, since it leads through those that do not count. ``by_graph`` decides otherwise.
        ``wide`` times as many are searched for.
        """
        import numpy as np

        passing = self.count if selected is None else len(selected)
        if not passing:
            return []
        if selected is not None and not by_graph and passing <= GATHERED_SHARE * self.count:
            return self._best(self.scores(query, selected), np.asarray(selected), limit)
        selector = None if selected is None else self._selector(selected)
        sought = wide * limit
        fetch = sought + TIE_ROOM
        while True:
            scores, places = self._fetched(query, fetch, selector, passing, by_graph)
            if len(places) < fetch or scores[sought - 1] > scores[-1] + SUMMED_OTHERWISE or fetch >= sought + TIE_LIMIT:
                return self._best(self.scores(query, places), places, limit)
            fetch = sought + 8 * (fetch - sought)

    def is_for_graph(self, passing: int, limit: int) -> bool:
        """True if searching the graph compares less than going through the vectors that pass.

        False if there is no graph.
        """
        return self.is_graph and passing > COMPARED_A_STEP * self._wide(passing, limit)

    def scores(self, query: Matrix, places: Numbers) -> Matrix:
        """The cosines of some vectors."""
        import numpy as np

        # FAISS itself would wake all of its threads for each row that it gives.
        parts = [
            vector_rows.cosines(
                vector_rows.widen_to_float32(self.rows[places[first : first + vector_rows.CHUNK]]), query
            )
            for first in range(0, len(places), vector_rows.CHUNK)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)

    def _fetched(
        self, query: Matrix, limit: int, selector: Any, passing: int, by_graph: bool | None
    ) -> tuple[Matrix, Numbers]:
        """Scores and places as FAISS finds them, in its order."""
        faiss = _faiss()
        if self.is_for_graph(passing, limit) if by_graph is None else by_graph:
            wide = self._wide(passing, limit)
            index, parameters = self.index, faiss.SearchParametersHNSW(sel=selector, efSearch=wide)
        else:
            index, parameters = self._list, None if selector is None else faiss.SearchParameters(sel=selector)
        # One query is done by the calling thread before others have woken up and found a processor.
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            scores, places = index.search(query[None, :], min(limit, self.count), params=parameters)
        finally:
            faiss.omp_set_num_threads(before)
        held = places[0] >= 0
        return scores[0][held], places[0][held]

    def _selector(self, selected: Numbers) -> Any:
        """A FAISS filter that lets the selected places pass; the last one is cached, as for a world."""
        passing = self._passing
        if passing is None or passing[0] is not selected:
            self._passing = passing = selected, _bitmap(selected, self.count)
        return passing[1]

    def _wide(self, passing: int, limit: int) -> int:
        """How many candidates a search of the graph keeps: more, the fewer vectors pass."""
        return max(HNSW_EF_SEARCH, limit) * self.count // max(1, passing)

    def _best(self, scores: Matrix, places: Numbers, limit: int) -> list[vector_rows.VectorHit]:
        import numpy as np

        if len(scores) > 2 * limit:
            # To put all in order that are in a world takes longer than to find the best.
            best = scores >= np.partition(scores, -limit)[-limit]
            scores, places = scores[best], places[best]
        numbers = self.numbers[places]
        order = np.lexsort((numbers[:, 1], numbers[:, 0], -scores))[:limit]
        return vector_rows.as_hits(numbers[order], scores[order])


def _rows_of(index: Any) -> Any:
    """A view of the rows of a list of 16-bit vectors, valid as long as the index."""
    import numpy as np

    faiss = _faiss()
    if not index.ntotal:
        return np.zeros((0, index.d), dtype="<f2")
    return faiss.rev_swig_ptr(index.codes.data(), index.codes.size()).view("<f2").reshape(index.ntotal, index.d)


def _bitmap(places: Numbers, count: int) -> Any:
    """A FAISS filter that lets some of ``count`` vectors pass."""
    import numpy as np

    faiss = _faiss()
    bits = np.zeros(count, dtype=bool)
    bits[places] = True
    return faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little"))


FORMAT: Final = 5
"""Raised with any change of the files; a base with another format is rebuilt."""

_CURRENT: Final = "current.json"
_ROWS: Final = "rows.npy"
_ORDER: Final = "order.npy"
_VECTORS: Final = "vectors.faiss"
_FILES: Final = (_ROWS, _ORDER, _VECTORS)


class VectorBase:
    """One base on disk, which never changes."""

    def __init__(self, folder: Path, marker: fields.Marker, rows: Numbers, order: Numbers, index: Any) -> None:
        import numpy as np

        self.folder = folder
        self.marker = marker
        # As plain arrays, which are mapped all the same and looked up faster.
        rows, order = rows.view(np.ndarray), order.view(np.ndarray)
        self._nodes = rows[:, 0]
        self._order = order
        self._vectors = VectorSearcher(rows, index)
        self._placed: tuple[fields.Nodes, Numbers] | None = None

    @property
    def count(self) -> int:
        return self._vectors.count

    @property
    def is_graph(self) -> bool:
        """True if there is a graph to be searched."""
        return self._vectors.is_graph

    def is_for_graph(self, passing: int, limit: int) -> bool:
        """True if a search with so many passing vectors uses the graph.

        See :meth:`VectorSearcher.is_for_graph`.
        """
        return self._vectors.is_for_graph(passing, limit)

    def search(
        self, query: Matrix, limit: int, selected: Numbers | None, *, by_graph: bool | None = None, wide: int = 1
    ) -> list[vector_rows.VectorHit]:
        """The best vectors, among the selected places if given; see :meth:`VectorSearcher.search`."""
        return self._vectors.search(query, limit, selected, by_graph, wide)

    def search_before(
        self, query: Matrix, limit: int, before: int | None, wide: int = 1
    ) -> list[vector_rows.VectorHit]:
        """The best vectors of worlds with lower numbers than ``before``, if that is given."""
        import numpy as np

        earlier = self.count
        if before is not None:
            earlier = int(np.searchsorted(self._nodes, before, side="left", sorter=self._order))
        return self.search(query, limit, None if earlier == self.count else self._order[:earlier], wide=wide)

    def places_of_members(self, members: fields.Nodes) -> Numbers:
        """As :meth:`places_of_nodes`, with the last result cached."""
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
        # The consecutive numbers from each first one on, as many as its count.
        starts = np.repeat(first - np.cumsum(counts) + counts, counts)
        return np.asarray(self._order[starts + np.arange(len(starts))], dtype=np.int64)

    def scores(self, query: Matrix, places: Numbers) -> tuple[Numbers, Matrix]:
        """(world, version, commit) and the cosines of some vectors, by comparing each."""
        return self._vectors.numbers[places], self._vectors.scores(query, places)

    def numbers(self) -> Numbers:
        """(world, version, commit) of every vector, in the order in which they were added."""
        return self._vectors.numbers

    def rows(self, first: int, end: int) -> Matrix:
        """The rows of some places as stored, in 16 bits."""
        found: Matrix = self._vectors.rows[first:end]
        return found

    def order(self) -> Numbers:
        """The places of the rows, sorted by world and version."""
        return self._order

    def copied_index(self, dimension: int, *, graph: bool) -> Any:
        """Copy these vectors into an index in memory, which can grow; an existing graph is copied as it is."""
        faiss = _faiss()
        if graph == self.is_graph:
            return faiss.read_index(str(self.folder / _VECTORS))
        index = new_index(dimension, graph=graph)
        for first in range(0, self.count, vector_rows.CHUNK):
            index.add(self._vectors.index.reconstruct_n(first, min(vector_rows.CHUNK, self.count - first)))
        return index


def load(folder: Path) -> VectorBase | None:
    """The base in force in a folder; ``None`` if none is readable."""
    import faiss
    import numpy as np

    try:
        told = json.loads((folder / _CURRENT).read_text("utf-8"))
        if told["format"] != FORMAT:
            return None
        marker = fields.Marker(bytes.fromhex(told["store"]), int(told["seq"]), bytes.fromhex(told["chain"]))
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
    return VectorBase(base, marker, rows, order, index)


def fits(folder: Path, secret: bytes) -> bool:
    """True if the base in force is as it was written; reads all of it."""
    try:
        told = json.loads((folder / _CURRENT).read_text("utf-8"))
        digests = {name: witness.digest_of(folder / str(told["base"]) / name) for name in _FILES}
        sealed = witness.seal(secret, witness.VECTORS, _sealed(told, digests)).hex()
        return bool(told["seal"] == sealed)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def is_older(folder: Path) -> bool:
    """True if an earlier release wrote the base in its own form; such a base is rebuilt in time."""
    try:
        return int(json.loads((folder / _CURRENT).read_text("utf-8"))["format"]) < FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _sealed(told: dict[str, Any], digests: witness.Digests) -> witness.Digests:
    """The input of the seal: the files, and the header."""
    rest = {name: value for name, value in told.items() if name not in ("seal", "files")}
    return {**digests, _CURRENT: json.dumps(rest, sort_keys=True).encode()}


def folder_stamp(folder: Path) -> tuple[int, int] | None:
    """A stamp that changes whenever another base is in force."""
    try:
        found = os.stat(f"{folder}/{_CURRENT}")
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def write(
    folder: Path,
    marker: fields.Marker,
    dimension: int,
    parts: Iterable[tuple[Numbers, Matrix]],
    *,
    graph: bool,
    after: VectorBase | None = None,
    secret: bytes = witness.NO_SECRET,
) -> None:
    """Put another base in force, and remove older ones.

    It has the vectors of ``after``, if it is given, and these. Each part is some vectors' worlds, versions and commits,
    and their rows, which have ``dimension`` numbers. ``secret`` seals the files.

    Raises:
        OSError: the folder cannot be written; the base in force stays as it was.
    """
    import faiss
    import numpy as np

    base = folder / f"base-{marker.seq}"
    shutil.rmtree(base, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    base.mkdir()
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
    for name in _FILES:
        sync_file(base / name)
    sync_folder(base)
    digests = {name: witness.digest_of(base / name) for name in _FILES}
    header = {
        "format": FORMAT,
        "base": base.name,
        "store": marker.store_id.hex(),
        "seq": marker.seq,
        "chain": marker.chain.hex(),
        "dimension": dimension,
        "files": {name: digest.hex() for name, digest in digests.items()},
    }
    header["seal"] = witness.seal(secret, witness.VECTORS, _sealed(header, digests)).hex()
    fresh = folder / f"{_CURRENT}.new"
    fresh.write_text(json.dumps(header), "utf-8")
    sync_file(fresh)
    os.replace(fresh, folder / _CURRENT)
    for other in folder.glob("base-*"):
        if other.name != base.name:
            # Processes that have it mapped keep it until they look again.
            shutil.rmtree(other, ignore_errors=True)
