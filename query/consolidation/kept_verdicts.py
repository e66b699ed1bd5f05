"""Verdicts on summaries, cached on disk so that the next process need not read every member again.

``fresh.bin`` is replaced as a whole and may be deleted at any time. It holds a seal of 32 bytes, then msgpack of its
format, its store and history, and a verdict for each world: only numbers, no text.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import msgspec

from worlddb.log.store.durable import sync_file
from worlddb.projections.indexes import fields, text_index, text_snapshot, witness
from worlddb.projections.tables.consolidation.interior_witness import FRESH_FILE, Verdict

if TYPE_CHECKING:
    from worlddb.log.store.log import LmdbLog
    from worlddb.projections.indexes.composed_vectors import CompositionFolder

FORMAT: Final = 2
"""Raised with any change of the file, or of how summaries are judged: one of another format is not used."""


class VerdictFile(msgspec.Struct, frozen=True, array_like=True):
    """The content of a file, without its seal."""

    format: int
    marker: fields.Marker
    fresh: dict[int, Verdict]


_DECODE: Final = msgspec.msgpack.Decoder(VerdictFile).decode


def load(place: CompositionFolder, log: LmdbLog) -> VerdictFile | None:
    """Load the verdicts of this history; ``None`` if there are none, or the seal is not the store's."""
    try:
        told = witness.unseal_bytes(place.secret, witness.SUMMARIES, (place.folder / FRESH_FILE).read_bytes())
        found = None if told is None else _DECODE(told)
    except (OSError, msgspec.DecodeError):
        return None
    if found is None or found.format != FORMAT:
        return None
    if found.marker.store_id != place.store_id or found.marker.seq > log.head().seq:
        return None
    return found if log.chain(found.marker.seq) == found.marker.chain else None


def write(place: CompositionFolder, seq: int, fresh: dict[int, Verdict]) -> None:
    """Replace the file by the verdicts as of a commit, if that is still the head.

    Must be called outside of transactions. If the file cannot be written, the next reader computes the verdicts again.
    """
    try:
        with text_index.index_lock(place.folder, 0.0):
            chain = place.chain_at(seq)
            if chain is None or place.head() != seq:
                return
            told = msgspec.msgpack.encode(VerdictFile(FORMAT, fields.Marker(place.store_id, seq, chain), fresh))
            place.folder.mkdir(exist_ok=True)
            new = place.folder / f"{FRESH_FILE}.new"
            new.write_bytes(witness.seal_bytes(place.secret, witness.SUMMARIES, told))
            sync_file(new)
            os.replace(new, place.folder / FRESH_FILE)
    except (text_snapshot.IndexUnwritable, OSError):
        pass
