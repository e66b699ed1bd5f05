"""A dry run over a history: every commit decided again on the state that it was decided on then, and compared.

Nothing is written to the store. The state grows in scratch tables, from what was decided then, so that one difference
does not lead to others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import lmdb
import msgspec

from worlddb.log.model import codec
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body, Cause, Details
from worlddb.log.model.collector import collector_paused
from worlddb.log.model.commit import Events
from worlddb.log.model.hashing import blob_id
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import Head, LmdbLog
from worlddb.projections.runner import apply_commit
from worlddb.projections.tables.tables import Tables
from worlddb.reconciler.again.deciding import Deciding
from worlddb.reconciler.again.nonces import RecordedNonces
from worlddb.reconciler.again.restoring import EdgeKeys, Undecidable, restore
from worlddb.reconciler.copying import Progress
from worlddb.reconciler.draft import Draft
from worlddb.reconciler.outcome import Refused

CHUNK_COMMITS: Final = 64
"""How many commits are decided in one transaction of the scratch tables."""
_BLOBS: Final = frozenset({"body", "details", "secret", "model", "vector"})
"""Fields of events that are positions of blobs."""
_MADE_OF_THE_REST: Final[dict[type[ev.Event], tuple[str, ...]]] = {
    ev.Linked: ("edge", "nonce"),
    ev.Proposed: ("proposal", "nonce"),
}
"""Ids that say no more than the other fields, and differ wherever any of these does."""


class DecidedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event as a decision came to it. ``data`` has its fields, ids in hex; of a blob, what it holds.

    The id of a new edge or proposal is left out, and so are the thresholds in the evidence of a proposal: two decisions
    that come to the same for other reasons are the same.
    """

    event: str
    data: dict[str, Any]


class Redecision(msgspec.Struct, frozen=True, kw_only=True):
    """A commit whose commands come to something else when they are decided again, or cannot be decided again.

    ``then`` and ``now`` are ``committed``, ``staged``, ``refused``, ``unchanged`` or ``undecidable``. ``code`` and
    ``reason`` say why, of a refusal or of what cannot be decided; ``command`` is the position of the refused command.
    ``events_then`` and ``events_now`` are those of either side that the other does not have.
    """

    seq: int
    ingested_at: int
    author: str
    commands: tuple[str, ...]
    then: str
    now: str
    code: str = ""
    reason: str = ""
    command: int = 0
    events_then: tuple[DecidedEvent, ...] = ()
    events_now: tuple[DecidedEvent, ...] = ()


class Redecided(msgspec.Struct, frozen=True, kw_only=True):
    """What deciding a history again came to: how many commits came out the same, which did not, which could not be."""

    first: int
    last: int
    same: int
    differing: tuple[Redecision, ...]
    undecidable: tuple[Redecision, ...]


def redecide(
    source: Environment, deciding: Deciding, first: int, last: int, progress: Progress | None = None
) -> Redecided:
    """Decide commits ``first`` to ``last`` again. The commit that made the store had no commands and is left out.

    Raises:
        DamagedStore: a commit is not what was written.
    """
    same = 0
    found: list[Redecision] = []
    keys = EdgeKeys(deciding.secret)
    with TemporaryDirectory(prefix="worlddb-redecide-") as folder, collector_paused():
        scratch = Environment(Path(folder), author="redecide", timeout_seconds=5.0)
        try:
            for begin in range(1, last + 1, CHUNK_COMMITS):
                upto = min(begin + CHUNK_COMMITS - 1, last)
                work = partial(_decide_some, source, deciding, keys, (begin, upto), max(first, 2))
                unchanged, others = scratch.write(work)
                same += unchanged
                found.extend(others)
                if progress is not None:
                    progress(upto, last)
        finally:
            scratch.close()
    return Redecided(
        first=max(first, 2),
        last=last,
        same=same,
        differing=tuple(each for each in found if each.now != "undecidable"),
        undecidable=tuple(each for each in found if each.now == "undecidable"),
    )


def _decide_some(
    source: Environment, deciding: Deciding, keys: EdgeKeys, span: tuple[int, int], first: int, txn: lmdb.Transaction
) -> tuple[int, list[Redecision]]:
    """How many of some commits come out the same, and those that do not; the tables then have what was decided."""
    same = 0
    found: list[Redecision] = []
    with source.read() as reading:
        log, whole = LmdbLog(reading), Tables(reading)
        for seq in range(span[0], span[1] + 1):
            events = log.events(seq)
            if seq >= first:
                # What is decided now stays in memory, and goes with these tables.
                other = _redecided(log, whole, Tables(txn), seq, events, deciding, keys)
                same += other is None
                found.extend([] if other is None else [other])
            keys.learn(events)
            tables = Tables(txn)
            apply_commit(log, tables, seq)
            tables.flush()
    return same, found


def _redecided(
    log: LmdbLog, whole: Tables, tables: Tables, seq: int, events: Events, deciding: Deciding, keys: EdgeKeys
) -> Redecision | None:
    """What commit ``seq`` comes to now, if that is not what it came to then."""
    header = log.header(seq)
    then = _told(log, seq, events)
    about = Redecision(
        seq=seq,
        ingested_at=header.ingest_time,
        author=header.author,
        commands=_names(log, seq),
        then="staged" if events.staged else "committed",
        now="",
    )
    restored = restore(log, whole, seq, events, keys)
    if isinstance(restored, Undecidable):
        return msgspec.structs.replace(about, now="undecidable", code=restored.code, reason=restored.reason)
    nonces = RecordedNonces(log, seq, events, deciding.secret)
    head = Head(seq - 1, log.chain(seq - 1))
    made = deciding.again(log, tables, head, header, restored.commands, nonces)
    if isinstance(made, Undecidable):
        return msgspec.structs.replace(about, now="undecidable", code=made.code, reason=made.reason)
    if isinstance(made, Refused):
        told = {"now": "refused", "code": made.code, "reason": made.reason, "command": made.command}
        return msgspec.structs.replace(about, events_then=tuple(then), **told)
    now = _told_now(made)
    outcome = "unchanged" if not made.events else "staged" if made.staged else "committed"
    only_then, only_now = tuple(_beyond(then, now)), tuple(_beyond(now, then))
    if outcome == about.then and not (only_then or only_now):
        return None
    return msgspec.structs.replace(about, now=outcome, events_then=only_then, events_now=only_now)


def _beyond(one: list[DecidedEvent], other: list[DecidedEvent]) -> list[DecidedEvent]:
    """What one side has and the other has not, or has not as often."""
    left = Counter(map(codec.encode, other))
    found: list[DecidedEvent] = []
    for event in one:
        key = codec.encode(event)
        if left[key]:
            left[key] -= 1
        else:
            found.append(event)
    return found


def _told(log: LmdbLog, seq: int, events: Events) -> list[DecidedEvent]:
    """The events of a commit of the log."""
    stored = [log.blob(seq, position) for position in range(events.blob_count)]
    return [_told_event(event, stored) for event in events.events]


def _told_now(draft: Draft) -> list[DecidedEvent]:
    return [_told_event(event, draft.blobs.stored) for event in draft.events]


def _told_event(event: ev.Event, blobs: Sequence[bytes | None]) -> DecidedEvent:
    made_of_the_rest = _MADE_OF_THE_REST.get(type(event), ())
    data = {
        name: _held(blobs, value) if name in _BLOBS else _plain(value)
        for name in event.__struct_fields__
        for value in (getattr(event, name),)
        if name not in made_of_the_rest
    }
    if isinstance(event, ev.Proposed) and data["details"]:
        data["details"].get("properties", {}).pop("thresholds", None)
    return DecidedEvent(event=str(type(event).__struct_config__.tag), data=data)


def _held(blobs: Sequence[bytes | None], position: int) -> Any:
    """What the blob at a position says, without its nonce; ``None`` for no blob, or none any more."""
    stored = None if position == ev.NONE else blobs[position]
    blob = None if stored is None else codec.decode_blob(stored, 0)
    if isinstance(blob, Body | Details):
        return {name: value for name in blob.__struct_fields__[1:] if (value := getattr(blob, name))}
    return None if stored is None else blob_id(stored).hex()


def _plain(value: Any) -> Any:
    """A field of an event, ids in hex."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.hex() if isinstance(value, bytes) else value


def _names(log: LmdbLog, seq: int) -> tuple[str, ...]:
    stored = log.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    return tuple(str(entry[0]) for entry in cause.commands) if isinstance(cause, Cause) else ()
