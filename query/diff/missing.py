"""Why a store has no text of a world: it was erased, it has not come yet, or it is damaged."""

from __future__ import annotations

from worlddb.log.model.events import Imported
from worlddb.projections.tables.apply.apply import erasure_of
from worlddb.projections.tables.storage.schema import VersionRow
from worlddb.query.diff.side import BY_REFERENCE, DAMAGED, ERASED
from worlddb.query.snapshot import Snapshot


def why_without_text(snapshot: Snapshot, node: int, row: VersionRow) -> str:
    """Why the text of a version cannot be shown, in words."""
    log, tables = snapshot
    if log.blob(row.seq, row.position) is not None:
        return DAMAGED
    if erasure_of(tables, node) is not None or log.carried.of(tables.node(node).lineage) is not None:
        return ERASED
    events = log.events(row.seq).events
    came_as_hash = any(row.position in event.absent for event in events if isinstance(event, Imported))
    return BY_REFERENCE if came_as_hash else DAMAGED
