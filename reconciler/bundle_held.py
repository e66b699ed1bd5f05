"""Which texts of this store are not here: those that were erased, and those that never came."""

from __future__ import annotations

from worlddb.log.model.events import Imported
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import VersionRow


class Held:
    """Looks at blobs and remembers, for each commit that it was asked about, which of them came as a hash only."""

    def __init__(self, log: LmdbLog, tables: Tables) -> None:
        self._log = log
        self._tables = tables
        self._absent: dict[int, frozenset[int]] = {}

    def is_absent(self, row: VersionRow) -> bool:
        """True if the text of a version is not here and was not here when the version was imported."""
        return self._log.blob(row.seq, row.position) is None and row.position in self._absent_in(row.seq)

    def is_erased(self, node: int) -> bool:
        """True if a text of a world was here and is not any more, or may not come."""
        if (
            erasure_of(self._tables, node) is not None
            or self._log.carried.of(self._tables.node(node).lineage) is not None
        ):
            return True
        return any(
            self._log.blob(row.seq, row.position) is None and row.position not in self._absent_in(row.seq)
            for _, row in self._tables.version_rows(node)
        )

    def _absent_in(self, seq: int) -> frozenset[int]:
        found = self._absent.get(seq)
        if found is None:
            events = self._log.events(seq).events
            found = frozenset(at for event in events if isinstance(event, Imported) for at in event.absent)
            self._absent[seq] = found
        return found
