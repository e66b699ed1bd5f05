"""A commit: the unit of atomicity, of ingest time, and of the hash chain.

It is stored as two records, so that the chain can be walked without reading events:

    header   Header as a msgpack array; chain hash = H("worlddb/chain/1", header bytes)
    events   Events as a msgpack array; the header holds H("worlddb/events/1", events bytes)

The header names its predecessor's chain hash and the root world's hash after the commit, and the events list the
hash of every blob. One chain hash therefore stands for the whole history; a blob can be erased without breaking it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from worlddb.log.model.events import AnyEvent
from worlddb.log.model.hashing import CHAIN, EVENTS, digest
from worlddb.log.model.ids import HASH_BYTES, BlobId


class Note(msgspec.Struct, frozen=True, array_like=True):
    """Something the reconciler wants the caller to know: a stable code and the ids that it is about."""

    code: str
    refs: list[bytes]


class Header(msgspec.Struct, frozen=True, array_like=True, tag="commit"):
    """Who committed what, when, and on top of which history.

    ``ingest_time`` is strictly monotonic; ``wall_time`` is what the clock said. ``key`` is the keyed digest of the
    idempotency key, or empty.
    """

    format: int
    seq: int
    ingest_time: int
    wall_time: int
    author: str
    key: bytes
    previous: bytes
    root: bytes
    events_hash: bytes
    event_count: int


class Events(msgspec.Struct, frozen=True, array_like=True, tag="events"):
    """The events of one commit, with what its receipt says and the hashes of its blobs.

    ``refs`` are the ids that the receipt reports, one for each command; ``staged`` says that every command came to a
    proposal. ``blobs`` has 32 bytes for each blob, in the order of their positions; the one at position 0 holds the
    commands that caused the commit.
    """

    blobs: bytes
    staged: bool
    refs: list[bytes]
    notes: list[Note]
    events: list[AnyEvent]

    def blob(self, position: int) -> BlobId:
        """The id of the blob at a position."""
        return BlobId(self.blobs[position * HASH_BYTES : (position + 1) * HASH_BYTES])

    @property
    def blob_count(self) -> int:
        return len(self.blobs) // HASH_BYTES


class Record(NamedTuple):
    """A finished commit as it is appended: stored bytes of header, events and blobs (by position).

    A blob is ``None`` where it has been erased; that happens only to records that are copied.
    """

    header: bytes
    events: bytes
    blobs: list[bytes | None]


def chain_hash(header: bytes) -> bytes:
    """The hash that stands for this commit and everything before it."""
    return digest(CHAIN, header)


def events_hash(events: bytes) -> bytes:
    """The hash of a stored events record."""
    return digest(EVENTS, events)
