"""The one canonical codec: msgpack by msgspec, arrays with tags, no maps except in callers' own properties."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from worlddb.log.model.blobs import Blob
from worlddb.log.model.commit import Events, Header
from worlddb.log.model.errors import DamagedStore, NewerFormat
from worlddb.log.model.events import FORMAT
from worlddb.log.model.hashing import blob_id
from worlddb.log.model.upcasting import upcast

_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic")
_HEADER: Final = msgspec.msgpack.Decoder(Header)
_EVENTS: Final = msgspec.msgpack.Decoder(Events)
_BLOB: Final[msgspec.msgpack.Decoder[Blob]] = msgspec.msgpack.Decoder(Blob)
_PLAIN: Final = msgspec.msgpack.Decoder()

# Callers' own properties are decoded as they come, so damage in them raises whatever building the value raises.
_UNREADABLE: Final = (msgspec.DecodeError, ValueError, TypeError, OverflowError, RecursionError)

T = TypeVar("T")


def encode(value: object) -> bytes:
    """The canonical bytes of a header, events record, blob or plain value."""
    return _ENCODER.encode(value)


def decode_header(stored: bytes, seq: int) -> Header:
    """The header of commit ``seq``.

    Raises:
        NewerFormat: it was written by a newer release.
        DamagedStore: the bytes are no header.
    """
    header = _decode(_HEADER, stored, "header", seq)
    if header.format > FORMAT:
        raise NewerFormat(
            f"Commit {seq} has format {header.format}; this release knows formats up to {FORMAT}",
            "Upgrade WorldDB; the store itself is untouched",
            seq=seq,
        )
    return header


def decode_events(stored: bytes, seq: int) -> Events:
    """The events of commit ``seq``; raises as :func:`decode_header`, also for unknown ones."""
    try:
        return _EVENTS.decode(stored)
    except _UNREADABLE:
        return _decode(_EVENTS, _upcast(stored, seq), "events", seq)


def _upcast(stored: bytes, seq: int) -> bytes:
    """An events record with its older events as they would be written today; itself if it has none, or is no record."""
    try:
        record = _PLAIN.decode(stored)
    except _UNREADABLE:
        return stored
    try:
        return _ENCODER.encode(record) if upcast(record) else stored
    except (*_UNREADABLE, LookupError) as error:
        raise DamagedStore(
            f"An event of an earlier version in commit {seq} does not hold what it should: {error!r}",
            "Run `worlddb verify`",
            seq=seq,
        ) from None


def decode_blob(stored: bytes, seq: int) -> Blob:
    """A blob of commit ``seq``; raises as :func:`decode_header`."""
    return _decode(_BLOB, stored, "blob", seq)


def written_blob(stored: bytes, identifier: bytes, seq: int) -> Blob:
    """A blob of commit ``seq`` whose bytes have the id that the log names for them.

    Raises:
        DamagedStore: they have another, or cannot be decoded.
        NewerFormat: as :func:`decode_header`.
    """
    if blob_id(stored) != identifier:
        raise DamagedStore(
            f"A text of commit {seq} is not what was written",
            "Run `worlddb verify`, and restore the store from a backup",
            seq=seq,
        )
    return decode_blob(stored, seq)


def _decode(decoder: msgspec.msgpack.Decoder[T], stored: bytes, what: str, seq: int) -> T:
    try:
        return decoder.decode(stored)
    except _UNREADABLE as error:
        if _is_newer(stored, error):
            raise NewerFormat(
                f"The {what} of commit {seq} has a form that this release does not know: {error}",
                "Upgrade WorldDB; the store itself is untouched",
                seq=seq,
            ) from None
        raise DamagedStore(
            f"The {what} of commit {seq} cannot be decoded: {error}", "Run `worlddb verify`", seq=seq
        ) from None


def _is_newer(stored: bytes, error: Exception) -> bool:
    """True if the bytes are sound msgpack that a newer format explains: an unknown tag or a higher format."""
    if not isinstance(error, msgspec.ValidationError):
        return False
    try:
        plain: Any = _PLAIN.decode(stored)
    except _UNREADABLE:
        return False
    if not isinstance(plain, list) or len(plain) < 2:
        return False
    higher = plain[0] == "commit" and isinstance(plain[1], int) and plain[1] > FORMAT
    return higher or "Invalid value" in str(error)
