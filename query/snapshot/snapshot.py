"""One short read transaction: the log and the tables as of the moment that it began."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from worlddb.log.model import codec
from worlddb.log.model.blobs import Body, Details
from worlddb.log.model.events import NONE
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import VersionRow

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
        """The details that a command left in a commit; empty if it left none or they were erased."""
        stored = None if position == NONE else self.log.blob(seq, position)
        found = None if stored is None else codec.decode_blob(stored, seq)
        return found if isinstance(found, Details) else NO_DETAILS


class SnapshotSource(Protocol):
    """Opens short read transactions on a store."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """A snapshot for the length of one call."""
