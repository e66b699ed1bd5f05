"""Retries of calls with statements: the same blank nodes and the same statements as the first call.

What a pattern or an update found then it may not find again once a text was erased; then the retry cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from worlddb.log.model import blobs, codec, hashing, ids, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply import log_marks
from worlddb.query.reads.window import Window
from worlddb.query.snapshot.erasure_notes import erased_since
from worlddb.query.snapshot.snapshot import Snapshot, SnapshotSource
from worlddb.query.snapshot.visible import VisibleSnapshot
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.transaction import receipts


def nonces_for_key(reader: SnapshotSource, idempotency_key: str) -> Callable[[], bytes]:
    """Derive the nonces of blank nodes from a key, so that a retry draws the same ones.

    Nobody without the secret of the store can tell them from any others.
    """
    with reader.snapshot() as snapshot:
        secret = log_marks.secret_of(snapshot.log)
    key, numbers = receipts.key_digest(secret, idempotency_key), count()
    return lambda: hashing.keyed(secret, hashing.IDEMPOTENCY, key, b"%d" % next(numbers))[: ids.NONCE_BYTES]


def moment_of(reader: SnapshotSource, idempotency_key: str, *, ends: bool = False) -> tuple[int, int] | None:
    """The commit before the one made under a key, and that one's time; ``None`` if there is none.

    ``ends``: rather the time until which what it took back held, if it took anything back.
    """
    with reader.snapshot() as snapshot:
        seq = _commit_of_key(snapshot, idempotency_key)
        if seq is None:
            return None
        taken = snapshot.log.some_events(seq, frozenset({ev.Unstated})) if ends else ()
        until = (event.at for event in taken if isinstance(event, ev.Unstated) and event.at > times.ALWAYS)
        return seq - 1, next(until, snapshot.log.header(seq).ingest_time)


def _commit_of_key(snapshot: Snapshot, idempotency_key: str) -> int | None:
    found = snapshot.tables.keys.get(receipts.key_digest(log_marks.secret_of(snapshot.log), idempotency_key))
    return None if found is None else int.from_bytes(found, "big")


def receipt_before_erasures(
    window: Window, idempotency_key: str | None, world: str, *kinds: type[cmd.Command]
) -> outcome.Receipt | None:
    """The receipt under a key, if an erasure since then prevents comparing the retry with it.

    That is so if an erasure has taken texts since. Its note names the worlds that lost them: this one, and, where more
    ``kinds`` of commands than taking back are an update's, any that the window sees. ``None`` if no text went, or if
    something else than such commands was made.
    """
    with window.snapshot() as seen:
        log, seq = seen.stored.log, None if idempotency_key is None else _commit_of_key(seen.stored, idempotency_key)
        stored = None if seq is None else log.blob(seq, 0)
        cause = None if seq is None or stored is None else codec.decode_blob(stored, seq)
        if seq is None or not isinstance(cause, blobs.Cause):
            return None
        header, events = log.header(seq), log.events(seq)
        codes = {kind.CODE for kind in kinds}
        if any(entry[0] not in codes for entry in cause.commands) or set(events.refs) != {bytes.fromhex(world)}:
            return None
        erased = [each for each in _erased_since(seen, seq) if cmd.State in kinds or each.hex() == world]
        return receipts.not_compared(receipts.receipt_of(header, events), erased) if erased else None


def merge_before_erasures(windows: Sequence[Window], idempotency_key: str, fork: str) -> outcome.Receipt | None:
    """The receipt of a fork's merge under a key, if texts of one side were erased since.

    What is planned without them may be something else. ``windows`` see the sides, and the note names what lost texts.
    """
    erased = dict[bytes, None]()
    for window in windows:
        with window.snapshot() as seen:
            log, seq = seen.stored.log, _commit_of_key(seen.stored, idempotency_key)
            merged = () if seq is None else log.some_events(seq, frozenset({ev.Merged}))
            if seq is None or not any(isinstance(each, ev.Merged) and each.fork.hex() == fork for each in merged):
                return None
            erased |= dict.fromkeys(_erased_since(seen, seq))
            receipt = receipts.receipt_of(log.header(seq), log.events(seq))
    return receipts.not_compared(receipt, list(erased)) if erased else None


def _erased_since(seen: VisibleSnapshot, seq: int) -> list[bytes]:
    """The worlds of a window that existed at a commit and lost texts to an erasure since."""
    tables, found = seen.stored.tables, dict[bytes, None]()
    for each in erased_since(seen.stored.log, seq):
        node = tables.node_of(ids.Lineage(each))
        if node is not None and tables.node(node).created <= seq and seen.sees(node):
            found[each] = None
    return list(found)
