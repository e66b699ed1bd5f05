"""The composed embeddings of a store's present state, kept level with the log and cached on disk.

``composed.npz`` is replaced as a whole and may be deleted at any time. It has the worlds with members (``nodes``),
whether each has a vector (``filled``), those vectors (``matrix``), when validities begin or end (``turns``: valid time
and world), and the description (``told``) as JSON: its store, history and moment.
"""

from __future__ import annotations

import json
import os
import threading
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from blake3 import blake3

from worlddb.log.model import codec
from worlddb.log.model.blobs import Vector as VectorBlob
from worlddb.log.store.durable import sync_file
from worlddb.projections.indexes import fields, text_index, text_snapshot, vector_rows, witness
from worlddb.projections.indexes.composition import Composition
from worlddb.projections.tables.reads.asof import Moment, space_row, vector_place
from worlddb.projections.tables.storage.schema import ROOT_NODE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from worlddb.log.store.log import LmdbLog
    from worlddb.projections.indexes.composition import Anchors, Pool, Vector
    from worlddb.projections.indexes.vector_rows import Matrix, Numbers
    from worlddb.projections.tables.storage.rows import Tables

FORMAT: Final = 2
"""Raised with any change of the file or of the composition; a file with another format is rebuilt."""

_FILE: Final = "composed.npz"
_UNREADABLE: Final = (
    *(ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)
"""Errors that a changed byte of the file may cause: it may also appear encrypted, or packed in an unknown way."""


class StoredComposition(NamedTuple):
    """A stored composition, with its history and moment."""

    marker: fields.Marker
    valid: int
    effective: dict[int, Vector | None]
    turns: list[tuple[int, int]]

    @property
    def moment(self) -> Moment:
        """The moment of the vectors."""
        return Moment(self.marker.seq, self.valid)


def load(folder: Path, dimension: int, secret: bytes = witness.NO_SECRET) -> StoredComposition | None:
    """Load the composition in a folder; ``None`` if none is readable and sealed under the secret."""
    found = _read(folder, dimension, secret)
    return found if isinstance(found, StoredComposition) else None


def is_damaged(folder: Path, dimension: int, secret: bytes) -> bool:
    """True if there is a file of this format whose seal under the secret is wrong."""
    return _read(folder, dimension, secret) is None


class _Unused(NamedTuple):
    """A file that is not used: it is missing, or has another format."""


def _read(folder: Path, dimension: int, secret: bytes) -> StoredComposition | _Unused | None:
    """Read the composition in a folder; ``None`` if it is damaged, or its seal under the secret is wrong."""
    import numpy as np

    try:
        with (folder / _FILE).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            header = json.loads(stored["told"].tobytes())
            nodes, filled, matrix, turns = (stored[name] for name in ("nodes", "filled", "matrix", "turns"))
        marker = fields.Marker(bytes.fromhex(header["store"]), int(header["seq"]), bytes.fromhex(header["chain"]))
        has_right_shape = nodes.shape == filled.shape and matrix.shape == (int(filled.sum()), dimension)
        if header["format"] != FORMAT:
            return _Unused()
        if header["seal"] != _seal(secret, header, nodes, filled, matrix, turns):
            return None
        if not has_right_shape or matrix.dtype != np.float32 or turns.shape[1:] != (2,):
            return None
        rows = iter(matrix)
        effective = {
            node: next(rows) if has else None for node, has in zip(nodes.tolist(), filled.tolist(), strict=True)
        }
        return StoredComposition(
            marker, int(header["valid"]), effective, [(time, node) for time, node in turns.tolist()]
        )
    except OSError:
        return _Unused()
    except _UNREADABLE:
        return None


def _seal(secret: bytes, told: dict[str, Any], *arrays: NDArray[Any]) -> str:
    """The seal of a stored composition: over its description and its arrays."""
    parts = {f"{at}": blake3(array.tobytes()).digest() for at, array in enumerate(arrays)}
    rest = {name: value for name, value in told.items() if name != "seal"}
    parts["told"] = json.dumps(rest, sort_keys=True).encode()
    return witness.seal(secret, witness.COMPOSED, parts).hex()


def write(folder: Path, kept: StoredComposition, dimension: int, secret: bytes = witness.NO_SECRET) -> None:
    """Put another file in the place of the one that is there.

    Raises:
        OSError: the folder cannot be written; what is there stays.
    """
    import numpy as np

    nodes = sorted(kept.effective)
    vectors = [kept.effective[node] for node in nodes]
    present = [vector for vector in vectors if vector is not None]
    header: dict[str, Any] = {
        "format": FORMAT,
        "store": kept.marker.store_id.hex(),
        "seq": kept.marker.seq,
        "chain": kept.marker.chain.hex(),
        "valid": kept.valid,
    }
    arrays = (
        np.array(nodes, dtype=np.int64),
        np.array([vector is not None for vector in vectors], dtype=bool),
        np.stack(present) if present else np.zeros((0, dimension), dtype=np.float32),
        np.array(kept.turns, dtype=np.int64).reshape(-1, 2),
    )
    header["seal"] = _seal(secret, header, *arrays)
    folder.mkdir(exist_ok=True)
    fresh = folder / f"{_FILE}.new"
    with fresh.open("wb") as file:
        header_bytes = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(file, told=header_bytes, nodes=arrays[0], filled=arrays[1], matrix=arrays[2], turns=arrays[3])
    # A file that was not synced may have its length after a crash, and zeros in it.
    sync_file(fresh)
    os.replace(fresh, folder / _FILE)


WORTH_KEEPING: Final = 256
"""With so many newly composed worlds, and at least a tenth of all, they are written to disk: composing them takes a
good part of a second."""


class Effective(NamedTuple):
    """Nodes, and a row for each: the effective vector of a world that has members."""

    nodes: Numbers
    matrix: Matrix


class CompositionFolder(NamedTuple):
    """The folder of composed embeddings, and the check that they are of the store's history."""

    folder: Path
    store_id: bytes
    head: Callable[[], int]
    chain_at: Callable[[int], bytes | None]
    secret: bytes = witness.NO_SECRET


class ComposedFollower:
    """The effective vectors of one embedding space under one pool.

    Several threads and processes may use a folder. The composition is made from the log at the first use and follows
    the log from then on. A large one is stored on disk, where the next process continues.
    """

    def __init__(self, space: int, dimension: int, pool: Pool, place: CompositionFolder) -> None:
        self._space = space
        self._dimension = dimension
        self._pool = pool
        self._place = place
        self._guard = threading.Lock()
        self._composition: Composition | None = None
        self._effective: Effective | None = None
        self._kept = 0

    def level(self, log: LmdbLog, tables: Tables, moment: Moment) -> Effective | None:
        """The vectors as of a moment, or ``None`` if that is not the present.

        A moment before the head, or before the valid time of an earlier call, is not the present.
        """
        if moment.seq != log.head().seq:
            return None
        anchors = stored_anchors(log, tables, self._space)
        with self._guard:
            known = self._composition
            if known is None or known.moment is None:
                known, self._effective = self._load(log, moment), None
                if known is None:
                    known = Composition(self._pool)
                    known.fill(tables, anchors, range(ROOT_NODE + 1, tables.progress().next_node), moment)
                self._composition, self._kept = known, 0
            if known.moment is None or known.moment == moment:
                pass
            elif moment.seq < known.moment.seq or moment.valid < known.moment.valid:
                return None
            elif moment.seq > known.moment.seq or known.has_change_by(moment.valid):
                commits = range(known.moment.seq + 1, moment.seq + 1)
                events = (event for seq in commits for event in log.events(seq).events)
                known.advance(tables, anchors, events, moment)
                self._effective = None
            if self._effective is None:
                self._effective = rows_of(known, self._dimension)
            return self._effective

    def keep(self) -> None:
        """Write the composition to disk if much of it is new. Must be called outside of transactions.

        If it cannot be written, the next process composes again.
        """
        with self._guard:
            known = self._composition
            if known is None or known.moment is None:
                return
            if known.composed - self._kept < max(WORTH_KEEPING, len(known.effective) // 10):
                return
            self._kept = known.composed
            seq, valid = known.moment
            try:
                with text_index.index_lock(self._place.folder, 0.0):
                    chain = self._place.chain_at(seq)
                    # An erasure deletes the folder after its commit. Earlier compositions, which may reveal something
                    # of the erased texts, must not be written after it.
                    if chain is not None and self._place.head() == seq:
                        marker = fields.Marker(self._place.store_id, seq, chain)
                        kept = StoredComposition(marker, valid, known.effective, known.scheduled_changes())
                        write(self._place.folder, kept, self._dimension, self._place.secret)
            except (text_snapshot.IndexUnwritable, OSError):
                pass

    def forget(self) -> None:
        """Drop everything, since it may include vectors of erased texts."""
        with self._guard:
            self._composition = self._effective = None

    def _load(self, log: LmdbLog, moment: Moment) -> Composition | None:
        """The stored composition, if it is of this history and of no later moment."""
        kept = load(self._place.folder, self._dimension, self._place.secret)
        if kept is None or kept.marker.store_id != self._place.store_id or kept.valid > moment.valid:
            return None
        if kept.marker.seq > moment.seq or log.chain(kept.marker.seq) != kept.marker.chain:
            return None
        found = Composition(self._pool)
        found.restore(kept.effective, kept.turns, kept.moment)
        return found


def rows_of(composition: Composition, dimension: int) -> Effective:
    """The effective vectors of a composition in log order of their worlds."""
    import numpy as np

    found = sorted((node, vector) for node, vector in composition.effective.items() if vector is not None)
    nodes = np.array([node for node, _ in found], dtype=np.int64)
    matrix = np.stack([vector for _, vector in found]) if found else np.zeros((0, dimension), dtype=np.float32)
    return Effective(nodes, matrix)


def stored_anchors(log: LmdbLog, tables: Tables, space: int, through: int | None = None) -> Anchors:
    """Look up vectors of whole texts in the log, as far as it had them by commit ``through``."""
    row = space_row(tables, space)
    dimension = 0 if row is None else row.dimension

    def anchor(node: int, version: int) -> Vector | None:
        place = vector_place(tables, space, node, version)
        if place is None or (through is not None and place.seq > through):
            return None
        stored = log.blob(place.seq, place.position)
        if stored is None:
            return None
        blob = codec.decode_blob(stored, place.seq)
        return vector_rows.whole_text(blob.values, dimension) if isinstance(blob, VectorBlob) else None

    return anchor
