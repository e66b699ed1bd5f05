"""One short read transaction: the log and the tables as of the moment that it began."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from worlddb.log.model import codec
from worlddb.log.model.blobs import Body, Details
from worlddb.log.model.events import NONE
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import VersionRow

if TYPE_CHECKING:
    from worlddb.projections.indexes.composed_vectors import ComposedFollower
    from worlddb.query.lanes.text_lane import PresentTextLane
    from worlddb.query.lanes.vector_lane import VectorLane, VectorQuery
    from worlddb.query.snapshot.containment_cache import Interiors

NO_DETAILS = Details(b"", [], "", {}, {})


class Snapshot(NamedTuple):
    """The log and the tables in one transaction."""

    log: LmdbLog
    tables: Tables

    def body(self, row: VersionRow) -> Body | None:
        """The body of a version, or ``None`` once erased.

        Raises:
            DamagedStore: it is not what was written.
        """
        stored = None if row.position == NONE else self.log.blob(row.seq, row.position)
        found = None if stored is None else codec.written_blob(stored, row.body, row.seq)
        return found if isinstance(found, Body) else None

    def details(self, seq: int, position: int) -> Details:
        """The details that a command left in a commit; empty ones if it left none or they were erased."""
        stored = None if position == NONE else self.log.blob(seq, position)
        found = None if stored is None else codec.decode_blob(stored, seq)
        return found if isinstance(found, Details) else NO_DETAILS


class Space(NamedTuple):
    """An embedding space: its number, how many numbers its vectors have, and the model that makes them."""

    number: int
    dimension: int
    model: str


NO_SPACE: Final = Space(0, 1, "")
"""Where no text has been embedded: no vector is of it, and spaces are counted from 1."""


class Reader(Protocol):
    """Opens short read transactions on a store, and its indexes."""

    interiors: Interiors
    """Who lies inside worlds that were asked about before."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """A snapshot for the length of one call."""

    def head(self) -> int:
        """The sequence number of the last commit."""

    def text_lane(self) -> PresentTextLane:
        """The text index, up to the store's head."""

    def vector_query(self, text: str, seq: int, *, exact: bool) -> VectorQuery | str:
        """The query as a vector of the space that answers as of a commit, or in words why there is none.

        Unless ``exact``, the present space may answer in its place.
        """

    def vector_given(self, values: Sequence[float], seq: int, *, exact: bool) -> VectorQuery | str:
        """A vector that the caller made, as it is compared with those of a space, or in words why there is none; which
        space is as in :meth:`vector_query`.

        Raises:
            InputError: it has another number of numbers than they have.
        """

    def space_at(self, seq: int) -> Space | None:
        """The embedding space that answers as of a commit, if there was one."""

    def composed(self, space: int, dimension: int, pool: str) -> ComposedFollower:
        """The composed embeddings of the store's present in a space."""

    def vector_lane(self, query: VectorQuery, before: int | None, head: int) -> VectorLane:
        """The vector index of the query's space, up to the store's ``head``; with ``before``, of the worlds that have
        lower numbers."""

    def pending_vectors(self, space: int | None) -> int:
        """How many texts have no vector in a space yet, or in the one that answers; counted up to a bound."""
