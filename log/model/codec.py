"""The canonical codec for commits and blobs: msgpack arrays with tags, and upcasters.

Only callers' own properties are maps. A commit is the unit of atomicity, of ingest time, and of the hash chain. It is
stored as two records, so that the chain can be walked without reading events:

    header   Header as a msgpack array; chain hash = H("worlddb/chain/1", header bytes)
    events   Events as a msgpack array; the header holds H("worlddb/events/1", events bytes)

The header names its predecessor's chain hash and the root world's hash after the commit, and the events list the
hash of every blob. One chain hash therefore stands for the whole history; a blob can be erased without breaking it.

A new field of an event goes at its end with a default, and needs nothing here. An event that must change otherwise gets
a new version: its tag becomes ``type/2``, and a function in :data:`UPCASTERS` makes the fields of the version before
into those of the new one. The stored bytes stay as they are, since hashes are of them; only the decoded value is new.
Upcasters are pure and go from each version to the next, so an event of version 1 passes through all of them.

| type | from version | since format |
|---|---|---|
| none yet | | |
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from operator import or_
from typing import Any, Final, NamedTuple, TypeVar, get_args

import msgspec

from worlddb.log.model import errors, hashing, ids
from worlddb.log.model.blobs import Blob, Details, Struck
from worlddb.log.model.events import FORMAT, AnyEvent, Event


class Note(msgspec.Struct, frozen=True, array_like=True):
    """A note to the caller: a stable code and the ids that it is about."""

    code: str
    refs: list[bytes]


class Header(msgspec.Struct, frozen=True, array_like=True, tag="commit"):
    """The header of a commit: author, time, events, and the history before it.

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

    def blob(self, position: int) -> ids.BlobId:
        """The id of the blob at a position."""
        return ids.BlobId(self.blobs[position * ids.HASH_BYTES : (position + 1) * ids.HASH_BYTES])

    @property
    def blob_count(self) -> int:
        return len(self.blobs) // ids.HASH_BYTES


class Record(NamedTuple):
    """A finished commit as it is appended: stored bytes of header, events and blobs.

    The blobs are by position. A blob is ``None`` where it has been erased; that happens only to records that are
    copied.
    """

    header: bytes
    events: bytes
    blobs: list[bytes | None]


def chain_hash(header: bytes) -> bytes:
    """The hash that stands for this commit and everything before it."""
    return hashing.digest(hashing.CHAIN, header)


def events_hash(events: bytes) -> bytes:
    """The hash of a stored events record."""
    return hashing.digest(hashing.EVENTS, events)


Upcaster = Callable[[list[Any]], list[Any]]
"""From the fields of a version, without the tag, to those of the next."""

UPCASTERS: Final[dict[tuple[str, int], Upcaster]] = {}
"""By the type of an event and the version that is made into the next one."""

_EVENTS_AT: Final = 5
"""Where the events are in an events record."""
_MAX_VERSIONS: Final = 1_000


def upcast(record: Any) -> bool:
    """Bring every event of a decoded events record to its newest version, in place.

    True if any was older.
    """
    changed = False
    found = record[_EVENTS_AT] if isinstance(record, list) and len(record) > _EVENTS_AT else None
    events: list[Any] = found if isinstance(found, list) else []
    for position, event in enumerate(events):
        if isinstance(event, list) and event and isinstance(event[0], str):
            newest = _upcast_event(event)
            changed = changed or newest is not event
            events[position] = newest
    return changed


def _upcast_event(event: list[Any]) -> list[Any]:
    type_name, _, number = event[0].partition("/")
    version = int(number) if number.isascii() and number.isdigit() else 1
    for _ in range(_MAX_VERSIONS):
        step = UPCASTERS.get((type_name, version))
        if step is None:
            break
        version += 1
        event = [f"{type_name}/{version}", *step(event[1:])]
    return event


_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic")
_HEADER: Final = msgspec.msgpack.Decoder(Header)
_EVENTS: Final = msgspec.msgpack.Decoder(Events)
_BLOB: Final[msgspec.msgpack.Decoder[Blob]] = msgspec.msgpack.Decoder(Blob)
_BLOB_OR_STRUCK: Final[msgspec.msgpack.Decoder[Blob | Struck]] = msgspec.msgpack.Decoder(Blob | Struck)
_DETAILS: Final = msgspec.msgpack.Decoder(Details)
_STRUCK: Final = msgspec.msgpack.Decoder(Struck)
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
        raise errors.NewerFormat(
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
        return _decode(_EVENTS, _upcast_record(stored, seq), "events", seq)


def decode_some_events(stored: bytes, seq: int, kinds: frozenset[type[Event]]) -> Sequence[AnyEvent]:
    """The events of commit ``seq`` with one of these types; raises as :func:`decode_events`.

    The others are skipped: where they are the majority, that takes a fifth of the time.
    """
    try:
        events = _decoder_of(kinds).decode(stored).events
    except _UNREADABLE:
        events = decode_events(stored, seq).events
    return [event for event in events if type(event) in kinds]


@cache
def _decoder_of(kinds: frozenset[type[Event]]) -> msgspec.msgpack.Decoder[Any]:
    """A decoder for events records that skips the receipt's fields, and all but the tag of other events."""
    each = [kind if kind in kinds else _skipped_kind(kind) for kind in get_args(AnyEvent)]
    read = {"staged": bool, "events": list[reduce(or_, each)]}  # type: ignore[misc]
    fields = [(name, read.get(name, msgspec.Raw)) for name in Events.__struct_fields__]
    return msgspec.msgpack.Decoder(msgspec.defstruct("SomeEvents", fields, array_like=True, tag="events"))


def _skipped_kind(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    told = kind.__struct_config__
    return msgspec.defstruct("PassedOver", [], array_like=True, gc=False, tag_field=told.tag_field, tag=told.tag)


def _upcast_record(stored: bytes, seq: int) -> bytes:
    """Rewrite an events record with its older events in their newest version.

    Returns the record itself if it has none, or cannot be decoded.
    """
    try:
        record = _PLAIN.decode(stored)
    except _UNREADABLE:
        return stored
    try:
        return _ENCODER.encode(record) if upcast(record) else stored
    except (*_UNREADABLE, LookupError) as error:
        raise errors.DamagedStore(
            f"An older event in commit {seq} cannot be upgraded: {error!r}",
            "Run `worlddb verify`",
            seq=seq,
        ) from None


def decode_blob(stored: bytes, seq: int) -> Blob:
    """Decode a blob of commit ``seq``; raises as :func:`decode_header`.

    Details with single texts erased have empty texts in their place, which no name or term has.
    """
    try:
        return _BLOB.decode(stored)  # By far the most: nothing was erased of it.
    except _UNREADABLE:
        blob = _decode(_BLOB_OR_STRUCK, stored, "blob", seq)
    return _decode(_DETAILS, blob.left, "blob", seq) if isinstance(blob, Struck) else blob


_STRUCK_HEAD: Final = encode([str(Struck.__struct_config__.tag), b"", b"", b""])[: 2 + len("struck")]


def is_struck(stored: bytes) -> bool:
    """True if a stored blob is tagged as details with single texts erased."""
    return stored.startswith(_STRUCK_HEAD)


def struck_in(stored: bytes) -> Struck | None:
    """The rest of details with single texts erased, if a stored blob is that and intact; else ``None``."""
    if not is_struck(stored):
        return None
    try:
        found = _STRUCK.decode(stored)
    except _UNREADABLE:
        return None
    return found if hashing.blob_id(found.left) == found.hash else None


def named_id(stored: bytes) -> bytes:
    """The id by which the log names a stored blob: its hash, or its hash before single texts were erased."""
    struck = struck_in(stored) if stored.startswith(_STRUCK_HEAD) else None
    return hashing.blob_id(stored) if struck is None else struck.was


def strike_texts(stored: bytes, places: Iterable[int], seq: int) -> bytes:
    """Erase the texts at some places among the aliases of stored details of commit ``seq``; idempotent.

    Raises:
        DamagedStore: the blob is not details, or has no such places.
    """
    before = struck_in(stored)
    left = stored if before is None else before.left
    details, gone = _decode(_DETAILS, left, "blob", seq), set(places)
    if any(not 0 <= place < len(details.aliases) for place in gone):
        raise errors.DamagedStore(
            f"Commit {seq} marks a text as erased that it does not have", "Run `worlddb verify`", seq=seq
        )
    if before is not None and all(not details.aliases[place] for place in gone):
        return stored
    aliases = ["" if place in gone else text for place, text in enumerate(details.aliases)]
    left = encode(msgspec.structs.replace(details, aliases=aliases))
    return encode(Struck(hashing.blob_id(stored) if before is None else before.was, hashing.blob_id(left), left))


def decode_checked_blob(stored: bytes, identifier: bytes, seq: int) -> Blob:
    """Decode a blob of commit ``seq`` after checking that it has the id in the log.

    Raises:
        DamagedStore: the blob has another id, or cannot be decoded.
        NewerFormat: as :func:`decode_header`.
    """
    if hashing.blob_id(stored) != identifier and named_id(stored) != identifier:
        raise errors.DamagedStore(
            f"A text of commit {seq} is not what was written",
            "Run `worlddb verify`, and restore the store from a backup",
            seq=seq,
        )
    return decode_blob(stored, seq)


def decode_checked_blobs(found: Iterable[tuple[bytes | None, bytes, int]]) -> list[Blob | None]:
    """As :func:`decode_checked_blob`, for many blobs; ``None`` for a missing one."""
    blobs: list[Blob | None] = []
    decode, blob_id = _BLOB.decode, hashing.blob_id
    for stored, identifier, seq in found:
        blob: Blob | None = None
        if stored is not None:
            try:
                blob = decode(stored) if blob_id(stored) == identifier else decode_checked_blob(stored, identifier, seq)
            except _UNREADABLE:
                blob = decode_blob(stored, seq)
        blobs.append(blob)
    return blobs


def _decode(decoder: msgspec.msgpack.Decoder[T], stored: bytes, what: str, seq: int) -> T:
    try:
        return decoder.decode(stored)
    except _UNREADABLE as error:
        if _is_newer(stored, error):
            raise errors.NewerFormat(
                f"The {what} of commit {seq} has a form that this release does not know: {error}",
                "Upgrade WorldDB; the store itself is untouched",
                seq=seq,
            ) from None
        raise errors.DamagedStore(
            f"The {what} of commit {seq} cannot be decoded: {error}", "Run `worlddb verify`", seq=seq
        ) from None


def _is_newer(stored: bytes, error: Exception) -> bool:
    """True if the bytes are valid msgpack with an unknown tag or a higher format, as a newer release writes."""
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
