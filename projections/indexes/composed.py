"""Composed embeddings of a store's present, kept level with the log (paper §5)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from worlddb.log.model import codec
from worlddb.log.model.blobs import Vector as VectorBlob
from worlddb.projections.indexes.composition import Composition
from worlddb.projections.indexes.vector_rows import whole_text
from worlddb.projections.tables.asof import Moment
from worlddb.projections.tables.schema import ROOT_NODE
from worlddb.projections.tables.vectors import space_row, vector_place

if TYPE_CHECKING:
    from worlddb.log.store.log import LmdbLog
    from worlddb.projections.indexes.composition import Anchors
    from worlddb.projections.indexes.pooling import Pool, Vector
    from worlddb.projections.indexes.vector_rows import Matrix, Numbers
    from worlddb.projections.tables.tables import Tables


class Effective(NamedTuple):
    """Nodes, and a row for each: the effective vector of a world that has members."""

    nodes: Numbers
    matrix: Matrix


class ComposedFollower:
    """The effective vectors of one embedding space under one pool. Several threads may use it.

    Nothing of it is on the disk: it is made from the log when it is first asked for, and follows from there on.
    """

    def __init__(self, space: int, dimension: int, pool: Pool) -> None:
        self._space = space
        self._dimension = dimension
        self._pool = pool
        self._guard = threading.Lock()
        self._composition: Composition | None = None
        self._effective: Effective | None = None

    def level(self, log: LmdbLog, tables: Tables, moment: Moment) -> Effective | None:
        """The vectors as of a moment, or ``None`` if that is not the present.

        What lies before the head, or before a valid time that was asked for already, is not.
        """
        if moment.seq != log.head().seq:
            return None
        anchors = stored_anchors(log, tables, self._space)
        with self._guard:
            known = self._composition
            if known is None or known.moment is None:
                known = self._composition = Composition(self._pool)
                known.fill(tables, anchors, range(ROOT_NODE + 1, tables.progress().next_node), moment)
                self._effective = None
            elif moment.seq < known.moment.seq or moment.valid < known.moment.valid:
                return None
            elif moment.seq > known.moment.seq or known.turns_by(moment.valid):
                commits = range(known.moment.seq + 1, moment.seq + 1)
                events = (event for seq in commits for event in log.events(seq).events)
                known.advance(tables, anchors, events, moment)
                self._effective = None
            if self._effective is None:
                self._effective = rows_of(known, self._dimension)
            return self._effective

    def forget(self) -> None:
        """Let go of everything: it may hold what was erased."""
        with self._guard:
            self._composition = self._effective = None


def rows_of(composition: Composition, dimension: int) -> Effective:
    """The effective vectors of a composition in log order of their worlds."""
    import numpy as np

    found = sorted((node, vector) for node, vector in composition.effective.items() if vector is not None)
    nodes = np.array([node for node, _ in found], dtype=np.int64)
    matrix = np.stack([vector for _, vector in found]) if found else np.zeros((0, dimension), dtype=np.float32)
    return Effective(nodes, matrix)


def stored_anchors(log: LmdbLog, tables: Tables, space: int) -> Anchors:
    """The vectors of versions as the log has them, of whole texts."""
    row = space_row(tables, space)
    dimension = 0 if row is None else row.dimension

    def anchor(node: int, version: int) -> Vector | None:
        place = vector_place(tables, space, node, version)
        stored = None if place is None else log.blob(place.seq, place.position)
        if place is None or stored is None:
            return None
        blob = codec.decode_blob(stored, place.seq)
        return whole_text(blob.values, dimension) if isinstance(blob, VectorBlob) else None

    return anchor
