"""Compare the recorded events of a commit with those of its redecision, by their contents."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from worlddb.log.model import codec, hashing, times
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body, Cause, Details
from worlddb.log.store.log import LmdbLog
from worlddb.reconciler.transaction.draft import Draft

_BLOBS: Final = frozenset({"body", "details", "secret", "model", "vector"})
"""Fields of events that are positions of blobs."""
_MADE_OF_THE_REST: Final[dict[type[ev.Event], tuple[str, ...]]] = {
    ev.Linked: ("edge", "nonce"),
    ev.Proposed: ("proposal", "nonce"),
}
"""Ids that say no more than the other fields, and differ wherever any of these does."""


class DecidedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A decided event. ``data`` has its fields, ids in hex, blobs by their contents.

    The id of a new edge or proposal is left out, and so are the thresholds in the evidence of a proposal: two decisions
    that come to the same for other reasons are the same.
    """

    event: str
    data: dict[str, Any]


class Redecision(msgspec.Struct, frozen=True, kw_only=True):
    """A commit whose redecision differs or is impossible.

    Its commands come to something else, or cannot be decided again. ``then`` and ``now`` are ``committed``, ``staged``,
    ``refused``, ``unchanged`` or ``undecidable``. ``code`` and ``reason`` say why, of a refusal or of what cannot be
    decided; ``command`` is the position of the refused command. ``events_then`` and ``events_now`` are those of either
    side that the other does not have.
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


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True):
    """The result of leaving commits out.

    ``store_id`` is the id of the hypothetical store, ``parted`` the last commit that it shares with the original.
    ``same`` counts the later commits that were decided again and came out the same. ``differing`` are the others:
    ``now`` is ``left_out``, ``refused``, ``unchanged`` or ``undecidable`` of what is not there; ``taken_over`` of what
    could not be decided again and stands as it was; ``committed`` or ``staged`` of what was decided otherwise.
    """

    supposes: str
    store_id: str
    parted: int
    same: int
    differing: tuple[Redecision, ...]


def recorded_decision(log: LmdbLog, header: codec.Header, events: codec.Events) -> Redecision:
    """The recorded decision of a commit, before it is compared."""
    return Redecision(
        seq=header.seq,
        ingested_at=header.ingest_time,
        author=header.author,
        commands=_names(log, header.seq),
        then="staged" if events.staged else "committed",
        now="",
        events_then=tuple(_decided_events(log, header.seq, events)),
    )


def compare_decisions(then: Redecision, draft: Draft) -> Redecision | None:
    """The redecision of a commit, if it differs from the recorded decision.

    ``then`` has all events of then.
    """
    now = [_decided_event(event, draft.blobs.stored) for event in draft.events]
    if any(event.data.get("stated") == ev.UNKNOWN for event in then.events_then):
        # The first release did not record which ends were stated, so that there is nothing to compare it with.
        for event in now:
            if "stated" in event.data:
                event.data["stated"] = ev.UNKNOWN
    was, now = _drop_equal_losses(then.events_then, now)
    only_then, only_now = tuple(_surplus_events(was, now)), tuple(_surplus_events(now, was))
    outcome = "unchanged" if not draft.events else "staged" if draft.staged else "committed"
    if outcome == then.then and not (only_then or only_now):
        return None
    return msgspec.structs.replace(then, now=outcome, events_then=only_then, events_now=only_now)


def _drop_equal_losses(
    one: Sequence[DecidedEvent], other: Sequence[DecidedEvent]
) -> tuple[list[DecidedEvent], list[DecidedEvent]]:
    """Both sides without the losses of versions that lose the same times in total, in any number of pieces.

    Earlier releases recorded a loss for each of the worlds that took a part of one stretch of time.
    """
    losses, others = _losses(one), _losses(other)
    same = {version for version, lost in losses.items() if others.get(version) == lost}
    left = [[event for event in side if _loser(event) not in same] for side in (one, other)]
    return left[0], left[1]


def _losses(events: Sequence[DecidedEvent]) -> dict[tuple[str, int], tuple[list[tuple[int, int]], str]]:
    """What each version loses, with adjacent spans merged, and the last world that took from it."""
    windows: dict[tuple[str, int], list[tuple[int, int]]] = {}
    by: dict[tuple[str, int], str] = {}
    for event in events:
        version = _loser(event)
        if version is not None:
            start = event.data["valid_to" if event.event == "closed" else "valid_from"]
            end = times.FOREVER if event.event == "closed" else event.data["valid_to"]
            windows.setdefault(version, []).append((start, end))
            by[version] = event.data["by"]
    found = {}
    for version, spans in windows.items():
        joined: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if joined and start <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], end)
            else:
                joined.append((start, end))
        found[version] = joined, by[version]
    return found


def _loser(event: DecidedEvent) -> tuple[str, int] | None:
    return (event.data["lineage"], event.data["version"]) if event.event in ("closed", "lost") else None


def _surplus_events(one: Sequence[DecidedEvent], other: Sequence[DecidedEvent]) -> list[DecidedEvent]:
    """The events that one side has more often than the other."""
    left = Counter(map(codec.encode, other))
    found: list[DecidedEvent] = []
    for event in one:
        key = codec.encode(event)
        if left[key]:
            left[key] -= 1
        else:
            found.append(event)
    return found


def _decided_events(log: LmdbLog, seq: int, events: codec.Events) -> list[DecidedEvent]:
    """The events of a commit of the log."""
    stored = [log.blob(seq, position) for position in range(events.blob_count)]
    return [_decided_event(event, stored) for event in events.events]


def _decided_event(event: ev.Event, blobs: Sequence[bytes | None]) -> DecidedEvent:
    made_of_the_rest = _MADE_OF_THE_REST.get(type(event), ())
    data = {
        name: _decode_blob(blobs, value) if name in _BLOBS else _plain(value)
        for name in event.__struct_fields__
        for value in (getattr(event, name),)
        if name not in made_of_the_rest
    }
    if isinstance(event, ev.Trusted) and event.of != "world":
        data["world"] = ""  # Made of the name, and not there in events of earlier releases.
    if isinstance(event, ev.Proposed) and data["details"]:
        for name in ("thresholds", "tuned"):
            data["details"].get("properties", {}).pop(name, None)
    return DecidedEvent(event=str(type(event).__struct_config__.tag), data=data)


def _decode_blob(blobs: Sequence[bytes | None], position: int) -> Any:
    """The contents of the blob at a position, without its nonce.

    ``None`` for no blob, or none any more.
    """
    stored = None if position == ev.NONE else blobs[position]
    blob = None if stored is None else codec.decode_blob(stored, 0)
    if isinstance(blob, Body | Details):
        return {name: value for name in blob.__struct_fields__[1:] if (value := getattr(blob, name))}
    return None if stored is None else hashing.blob_id(stored).hex()


def _plain(value: Any) -> Any:
    """A field of an event, with ids in hex."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.hex() if isinstance(value, bytes) else value


def _names(log: LmdbLog, seq: int) -> tuple[str, ...]:
    stored = log.blob(seq, 0)
    cause = None if stored is None else codec.decode_blob(stored, seq)
    return tuple(str(entry[0]) for entry in cause.commands) if isinstance(cause, Cause) else ()
