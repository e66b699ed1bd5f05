"""Evidence of erasures that another history of this log recorded after the two had diverged.

A store that is restored from a backup, or made as it was at an earlier moment, lacks texts that were erased later. A
commit of its own records that: an ``erased_elsewhere`` event for each world, and the erasing commit as a blob that the
event names. So the chain of hashes covers it like every other erasure.

Earlier releases kept such commits beside the log, where no hash covered them:

| first byte | rest of the key | value |
|---|---|---|
| 0x05 | 32-byte chain hash of the erasing commit | msgpack ``["erasure", through, header, events, details]`` |
| 0x05 | 16-byte lineage | the chain hash of the last commit that erased it |
| 0x05 | 32-byte keyed hash of a text, ``00`` | the chain hash of the last commit that forbade it |

Anybody may have added these, so they explain no missing text. An upgrade takes those that fit into the log, once, if
everything up to the last shared commit is as those releases wrote it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import lmdb
import msgspec

from worlddb.log.model import codec, errors, hashing, ids
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Details, Evidence

UNTIED: Final = 0x05
"""The first byte of the records that earlier releases kept beside the log."""
_FIRST: Final = bytes([UNTIED])
_FORBIDDEN: Final = b"\x00"


class LaterErasure(NamedTuple):
    """A commit of another history of this log that erased something.

    ``through`` is the last commit that both histories share: the erasing commit refers to texts of this log up to it.
    ``details`` are stored blobs by their position in that commit, with the reference of the erasure. ``listed``: an
    upgrade took it into the log without proof.
    """

    through: int
    header_bytes: bytes
    events_bytes: bytes
    details: dict[int, bytes]
    listed: bool = False

    @property
    def chain(self) -> bytes:
        """The commit's chain hash."""
        return codec.chain_hash(self.header_bytes)

    @property
    def header(self) -> codec.Header:
        """The commit's header."""
        return codec.decode_header(self.header_bytes, 0)

    @property
    def events(self) -> codec.Events:
        """The commit's events; raises :class:`DamagedStore` if they do not have the hash in its header."""
        if codec.events_hash(self.events_bytes) != self.header.events_hash:
            raise errors.DamagedStore("The record of a later erasure is damaged", "Copy the store again")
        return codec.decode_events(self.events_bytes, 0)

    @property
    def erased(self) -> list[ev.Erased]:
        """The erased texts."""
        return [event for event in self.events.events if isinstance(event, ev.Erased)]

    @property
    def blobs(self) -> Iterator[tuple[int, int]]:
        """The (commit, position) of the blobs that it erased in shared commits."""
        return (blob for event in self.erased for blob in event.blobs if blob[0] <= self.through)

    @property
    def struck(self) -> list[ev.Struck]:
        """The events by which it erased single texts of details."""
        return [event for event in self.events.events if isinstance(event, ev.Struck)]

    def places(self) -> Iterator[tuple[tuple[int, int], list[int]]]:
        """The details in shared commits of which it erased single texts, each with the places of those texts."""
        for event in self.struck:
            for blob, places in zip(event.blobs, event.places, strict=False):
                if blob[0] <= self.through:
                    yield blob, places

    @property
    def reached(self) -> Iterator[tuple[int, int]]:
        """The (commit, position) of every blob in shared commits that it erased wholly or in part."""
        yield from self.blobs
        yield from (blob for blob, _ in self.places())

    def blob(self) -> Evidence:
        """The evidence as a blob for the commit that takes it into this log; the same each time."""
        return Evidence(
            self.chain[: ids.NONCE_BYTES], self.header_bytes, self.events_bytes, sorted(self.details.items())
        )

    def reason(self, lineage: bytes) -> str:
        """The reference under which a world was erased; empty if it is unknown."""
        said: list[ev.Erased | ev.Struck] = [*self.erased, *self.struck]
        position = next((event.details for event in said if event.lineage == lineage), None)
        stored = None if position is None else self.details.get(position)
        details = None if stored is None else codec.decode_blob(stored, self.header.seq)
        return details.why if isinstance(details, Details) else ""


def evidence_of(blob: Evidence, event: ev.ErasedElsewhere | ev.StruckElsewhere) -> LaterErasure:
    """The evidence in a blob, limited to the shared commits that the event names."""
    listed = isinstance(event, ev.ErasedElsewhere) and event.listed
    return LaterErasure(event.through, blob.header, blob.events, dict(blob.details), listed)


def list_evidence(events: codec.Events, blob_at: Callable[[int], bytes | None], seq: int) -> list[LaterErasure]:
    """The later erasures that commit ``seq`` took into this log.

    Raises:
        DamagedStore: the evidence of one is missing or invalid.
    """
    kinds = ev.ErasedElsewhere | ev.StruckElsewhere
    named = {event.record: event for event in events.events if isinstance(event, kinds)}
    return [_read_evidence(event, blob_at(position), seq) for position, event in named.items()]


def _read_evidence(event: ev.ErasedElsewhere | ev.StruckElsewhere, stored: bytes | None, seq: int) -> LaterErasure:
    blob = None if stored is None else codec.decode_blob(stored, seq)
    if not isinstance(blob, Evidence):
        raise errors.DamagedStore(
            f"Commit {seq} records an erasure made elsewhere, and its evidence is missing",
            "Run `worlddb verify`, and restore the store from a backup",
            seq=seq,
        )
    return evidence_of(blob, event)


def list_unproved(events: codec.Events, blob_at: Callable[[int], bytes | None], seq: int) -> Iterator[str]:
    """List the claims of commit ``seq`` about later erasures that its evidence does not support."""
    for event in events.events:
        if not isinstance(event, ev.ErasedElsewhere | ev.StruckElsewhere):
            continue
        try:
            evidence = _read_evidence(event, blob_at(event.record), seq)
            struck = [each for each in evidence.struck if each.lineage == event.lineage]
            if isinstance(event, ev.StruckElsewhere):
                yield from _list_unproved_strikes(event, evidence, struck, seq)
                continue
            here = next((each for each in evidence.erased if each.lineage == event.lineage), None)
        except errors.WorldDBError as error:
            yield error.message
            continue
        shown = event.lineage.hex()[:12]
        if here is None:
            yield f"the evidence does not state that {shown} was erased"
        elif not {blob for blob in here.blobs if blob[0] <= event.through}.issuperset(event.blobs):
            yield f"the evidence for {shown} names other texts"
        elif not event.through < min(seq, evidence.header.seq):
            yield f"the evidence for {shown} comes from a history that had not diverged"
        elif any(hashing.blob_id(text) != evidence.events.blob(at) for at, text in evidence.details.items()):
            yield f"the evidence for {shown} gives another reason"
        elif (here.everywhere, here.forbidden) != (event.everywhere, event.forbidden):
            yield f"the evidence for {shown} states something else"


def _list_unproved_strikes(
    event: ev.StruckElsewhere, evidence: LaterErasure, struck: list[ev.Struck], seq: int
) -> Iterator[str]:
    """As :func:`list_unproved`, for single texts of a world."""
    shown = event.lineage.hex()[:12]
    known = {
        (blob, place)
        for each in struck
        for blob, places in zip(each.blobs, each.places, strict=False)
        for place in places
        if blob[0] <= event.through
    }
    said = {(blob, place) for blob, places in zip(event.blobs, event.places, strict=False) for place in places}
    if not struck:
        yield f"the evidence does not state that texts of {shown} were erased"
    elif not known.issuperset(said):
        yield f"the evidence for {shown} names other texts"
    elif not event.through < min(seq, evidence.header.seq):
        yield f"the evidence for {shown} comes from a history that had not diverged"
    elif any(hashing.blob_id(text) != evidence.events.blob(at) for at, text in evidence.details.items()):
        yield f"the evidence for {shown} gives another reason"


class _UntiedRecord(msgspec.Struct, frozen=True, array_like=True, tag="erasure"):
    through: int
    header: bytes
    events: bytes
    details: list[tuple[int, bytes]]


_DECODER: Final = msgspec.msgpack.Decoder(_UntiedRecord)
_MARKS: Final = ev.Expires | ev.Labelled | ev.Unlabelled | ev.Pinned | ev.Tagged | ev.Deprecated | ev.BeliefsSet
_SETTINGS: Final = (
    ev.Trusted | ev.Profiled | ev.Guarded | ev.Recalled | ev.Accessed | ev.AccountEvent | ev.StatementEvent
)
_FORKS: Final = ev.Forked | ev.Merged
_STRUCK: Final = ev.Struck | ev.StruckElsewhere
_NEWER: Final = (
    _SETTINGS | _FORKS | _STRUCK | ev.ErasedElsewhere | ev.Lost | ev.Voided | ev.EdgeLost | ev.Restated | _MARKS
)


def has_newer_events(events: codec.Events) -> bool:
    """True if a commit has events that releases which kept erasures beside the log did not write."""
    return any(
        isinstance(event, _NEWER) or (isinstance(event, ev.Created | ev.Revised) and event.stated != ev.UNKNOWN)
        for event in events.events
    )


class UntiedErasures:
    """Reads and writes the records that earlier releases kept beside the log, in one transaction."""

    def __init__(self, txn: lmdb.Transaction) -> None:
        self._txn = txn

    def replace(self, kept: Iterable[LaterErasure]) -> None:
        """Replace all records by these, given oldest first."""
        for key in list(self.keys()):
            self._txn.delete(key)
        for each in kept:
            stored = _UntiedRecord(each.through, each.header_bytes, each.events_bytes, sorted(each.details.items()))
            self._txn.put(_FIRST + each.chain, codec.encode(stored))
            for event in each.erased:
                self._txn.put(_FIRST + event.lineage, each.chain)
                for digest in event.forbidden:
                    self._txn.put(_FIRST + digest + _FORBIDDEN, each.chain)

    def forbids(self, digest: bytes) -> bool:
        """True if the text with this keyed hash may not be written again."""
        return self._txn.get(_FIRST + digest + _FORBIDDEN) is not None

    def keys(self) -> Iterator[bytes]:
        """Every key of a record."""
        with self._txn.cursor() as cursor:
            within = cursor.set_range(_FIRST)
            while within and cursor.key()[:1] == _FIRST:
                yield bytes(cursor.key())
                within = cursor.next()

    def all(self) -> list[LaterErasure]:
        """Every readable record, oldest first."""
        found: list[LaterErasure] = []
        for key in self.keys():
            if len(key) == len(_FIRST) + ids.HASH_BYTES:
                read = _parse_untied(key[len(_FIRST) :], bytes(self._txn.get(key, b"")))
                found.extend([] if read is None else [read])
        return sorted(found, key=lambda each: each.header.ingest_time)


def _parse_untied(chain: bytes, stored: bytes) -> LaterErasure | None:
    try:
        found = _DECODER.decode(stored)
        record = LaterErasure(found.through, found.header, found.events, dict(found.details))
        return record if record.chain == chain and record.erased else None
    except (msgspec.DecodeError, ValueError, errors.WorldDBError):
        return None
