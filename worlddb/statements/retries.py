"""What a retried call with statements does again: the same blank nodes, and the same statements by a pattern."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from worlddb.log.model import events as ev
from worlddb.log.model import hashing, ids, times
from worlddb.projections.tables.apply import log_marks
from worlddb.query.snapshot.snapshot import SnapshotSource
from worlddb.reconciler.transaction import receipts


def drawn_under(reader: SnapshotSource, idempotency_key: str) -> Callable[[], bytes]:
    """Draw the nonces of blank nodes from a key: those of a second call are those of the first.

    Nobody without the secret of the store can tell them from any others.
    """
    with reader.snapshot() as snapshot:
        secret = log_marks.secret_of(snapshot.log)
    key, numbers = receipts.key_digest(secret, idempotency_key), count()
    return lambda: hashing.keyed(secret, hashing.IDEMPOTENCY, key, b"%d" % next(numbers))[: ids.NONCE_BYTES]


def moment_of(reader: SnapshotSource, idempotency_key: str, *, ends: bool = False) -> tuple[int, int] | None:
    """The commit before the one that was made under a key, and the time of that one; ``None`` if none was.

    ``ends``: rather the time until which what it took back held, if it took anything back.
    """
    with reader.snapshot() as snapshot:
        digest = receipts.key_digest(log_marks.secret_of(snapshot.log), idempotency_key)
        found = snapshot.tables.keys.get(digest)
        if found is None:
            return None
        seq = int.from_bytes(found, "big")
        taken = snapshot.log.some_events(seq, frozenset({ev.Unstated})) if ends else ()
        until = (event.at for event in taken if isinstance(event, ev.Unstated) and event.at > times.ALWAYS)
        return seq - 1, next(until, snapshot.log.header(seq).ingest_time)
