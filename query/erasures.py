"""What the log says about erasures: beside a text that is gone, and as a receipt that can be checked later."""

from __future__ import annotations

from worlddb.log.model import codec
from worlddb.log.model.blobs import Details
from worlddb.log.model.events import NONE
from worlddb.projections.tables.erasures import erasure_of as row_of
from worlddb.query import records
from worlddb.query.snapshot import Snapshot


def erasure_of(snapshot: Snapshot, node: int) -> records.Erasure | None:
    """The last erasure of a world's texts, also one that came after the point up to which the log was copied."""
    lineage = snapshot.tables.node(node).lineage
    carried = snapshot.log.carried.of(lineage)
    if carried is not None:
        header = carried.header
        position = next(event.details for event in carried.erased if event.lineage == lineage)
        stored = carried.details.get(position)
        details = None if stored is None else codec.decode_blob(stored, header.seq)
        reason = details.why if isinstance(details, Details) else ""
    else:
        row = row_of(snapshot.tables, node)
        if row is None:
            return None
        header = snapshot.log.header(row.seq)
        reason = snapshot.details(row.seq, row.details).why if row.details != NONE else ""
    return records.Erasure(seq=header.seq, ingested_at=header.ingest_time, author=header.author, reason=reason)
