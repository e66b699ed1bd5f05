"""Receipts: made from what was committed, so that a retry gets the same one (law 10)."""

from __future__ import annotations

from typing import Any, Final

from worlddb.log.model import codec
from worlddb.log.model.blobs import Body, Cause, Details, Secret
from worlddb.log.model.codec import Events, Header
from worlddb.log.model.codec import Note as StoredNote
from worlddb.log.model.errors import DamagedStore, IdempotencyConflict
from worlddb.log.model.events import NONE, Revised, StoreCreated
from worlddb.log.model.hashing import IDEMPOTENCY, keyed
from worlddb.log.model.limits import MAX_KEY_BYTES, checked_text
from worlddb.log.store.log import LmdbLog
from worlddb.reconciler import commands as cmd
from worlddb.reconciler import recording
from worlddb.reconciler.draft import Draft
from worlddb.reconciler.outcome import NAMING, Committed, Note, Outcome, Receipt, Refusal, Refused, Staged

CLOCK_BEHIND: Final = 1_000_000
"""By how many microseconds a clock is behind a commit's time before the receipt says so. Two commits in one microsecond
are no news, nor are the clocks of two threads."""


def receipt_of(header: Header, events: Events) -> Receipt:
    """The receipt of a commit; the same whenever it is asked for."""
    outcome: Outcome = Staged() if events.staged else Committed()
    revised = sum(isinstance(event, Revised) for event in events.events)
    behind = [StoredNote("clock_behind", [])] if header.ingest_time - header.wall_time > CLOCK_BEHIND else []
    return _receipt(outcome, header, header.event_count, events.refs, [*events.notes, *behind], revised)


def unchanged(header: Header, draft: Draft) -> Receipt:
    """The receipt of a request that changed nothing: no commit was made."""
    return _receipt(Committed(), header, 0, draft.refs, draft.notes)


def refused(header: Header, refusal: Refusal) -> Receipt:
    """The receipt of a refused request, on the head that it was judged on."""
    outcome = Refused(refusal.code, refusal.reason, refusal.remedy, refusal.command)
    return _receipt(outcome, header, 0, [], [])


def _receipt(
    outcome: Outcome, header: Header, events: int, refs: list[bytes], notes: list[StoredNote], revised: int = 0
) -> Receipt:
    return Receipt(
        outcome=outcome,
        seq=header.seq,
        ingest_time=header.ingest_time,
        root=header.root.hex(),
        events=events,
        requested=tuple(ref.hex() for ref in refs),
        proposals=tuple(note.refs[0].hex() for note in notes if note.code == "proposal_staged"),
        notes=tuple(Note(note.code, tuple(_shown(note.code, ref) for ref in note.refs)) for note in notes),
        revised=revised,
    )


def _shown(code: str, ref: bytes) -> str:
    return ref.decode() if code in NAMING else ref.hex()


def key_digest(secret: bytes, idempotency_key: str | None) -> bytes:
    """What stands for an idempotency key in the log; empty for none."""
    if idempotency_key is None:
        return b""
    text = checked_text(idempotency_key, "idempotency_key", MAX_KEY_BYTES, empty=False)
    return keyed(secret, IDEMPOTENCY, text.encode())


def repeated_receipt(log: LmdbLog, seq: int, commands: list[cmd.Command], key: str, secret: bytes) -> Receipt:
    """The receipt of the commit that was made under the key, if it was made by the same commands (law 10)."""
    stored = log.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    recorded = cause.commands if isinstance(cause, Cause) else None
    if recorded is not None:
        same = len(recorded) == len(commands) and all(
            _same(log, seq, entry, command, secret) for entry, command in zip(recorded, commands, strict=True)
        )
        if not same:
            raise IdempotencyConflict(
                f"Another command was committed under the idempotency key {key[:80]!r} at {seq}",
                "Use a new key for a new command",
                seq=seq,
            )
    return receipt_of(log.header(seq), log.events(seq))


def _same(log: LmdbLog, seq: int, entry: list[Any], command: cmd.Command, secret: bytes) -> bool:
    """True if a recorded command is this one, as far as its texts are still there."""
    try:
        return recording.matches(entry, command, secret) and recording.has_texts(
            entry, command, texts_of(log, seq, entry)
        )
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False  # What cannot be encoded was never committed.


def texts_of(log: LmdbLog, seq: int, entry: list[Any]) -> dict[str, Any]:
    """The texts of a recorded command that are still in the log."""
    texts: dict[str, Any] = {}
    for position in (entry[1], entry[2]):
        stored = None if position == NONE else log.blob(seq, position)
        blob = None if stored is None else codec.decode_blob(stored, seq)
        if isinstance(blob, Body):
            texts |= {"type": blob.type, "name": blob.name, "content": blob.content}
        elif isinstance(blob, Details):
            texts |= {"why": blob.why, "source": blob.source, "properties": blob.properties}
            texts["aliases"] = tuple(blob.aliases)
    return texts


def secret_of(log: LmdbLog) -> bytes:
    """The secret under which the store hashes callers' keys."""
    first = log.events(1).events[0]
    assert isinstance(first, StoreCreated)
    stored = log.blob(1, first.secret)
    blob = None if stored is None else codec.decode_blob(stored, 1)
    if not isinstance(blob, Secret):
        raise DamagedStore("The store's secret is missing", "Restore the store from a backup", seq=1)
    return blob.secret
