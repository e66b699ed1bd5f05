"""What a commit decided, as its own receipt says, and which commands it decided on."""

from __future__ import annotations

from typing import NamedTuple

from worlddb.log.model import codec
from worlddb.log.model.blobs import Cause
from worlddb.log.store.log import LmdbLog
from worlddb.reconciler.outcome import Receipt
from worlddb.reconciler.receipts import receipt_of


class Decided(NamedTuple):
    """A commit's receipt, its author, and the names of the commands that were kept beside its events."""

    receipt: Receipt
    author: str
    commands: tuple[str, ...]


def decided(log: LmdbLog, seq: int) -> Decided:
    """What commit ``seq`` decided. Nothing is decided again.

    Raises:
        DamagedStore: the commit is not what was written.
    """
    header = log.header(seq)
    stored = log.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    commands = tuple(str(entry[0]) for entry in cause.commands) if isinstance(cause, Cause) else ()
    return Decided(receipt_of(header, log.events(seq)), header.author, commands)
