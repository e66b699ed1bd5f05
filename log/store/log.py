"""The log in LMDB: append a finished commit, read from a sequence number, fetch a blob.

| first byte | rest of the key | value |
|---|---|---|
| 0x01 | ``format`` | msgpack ``["worlddb", format]`` |
| 0x01 | ``head`` | 32-byte chain hash of the last commit, then its sequence number as u64 |
| 0x01 | ``scrub`` | u64 sequence number of an erasure whose bytes may still lie in the files; else absent |
| 0x01 | ``copy`` | ``backup`` or ``restoring``: nothing may be written but by copying; else absent |
| 0x02 | u64 sequence number | 32-byte chain hash, then the header bytes |
| 0x03 | u64 sequence number | the events bytes |
| 0x04 | u64 sequence number, u32 position | the blob's stored bytes; none after an erasure |
| 0x05 | | of earlier releases: tied to nothing in the log, and no evidence of anything |
| 0x06 | u64 number | a copy that was made elsewhere, see ``copies.py`` |
| 0x07 | u64 sequence number | 32-byte digest of all pairs of the snapshot of that commit |

Integers in keys are big-endian, so that LMDB's order is the log's order.

No record of the log but those under 0x01, 0x06 and 0x07 is outside the chain of hashes: a header names its events, and
these name the blobs. Earlier releases kept erasures that were carried along under 0x05; see ``erasure_evidence.py``.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Final, NamedTuple, Protocol

import lmdb
import msgspec

from worlddb.log.model import codec, errors, hashing, ids
from worlddb.log.model.events import FORMAT, STRUCK_FORMAT, AnyEvent, Event, Struck, StruckElsewhere
from worlddb.log.store.erasure_evidence import UNTIED, UntiedErasures

MAGIC: Final = "worlddb"

_FORMAT_KEY: Final = b"\x01format"
_STRUCK_MARK: Final = codec.encode((MAGIC, STRUCK_FORMAT))
HEAD_KEY: Final = b"\x01head"
SCRUB_KEY: Final = b"\x01scrub"
_COPY_KEY: Final = b"\x01copy"
_COMMIT: Final = 0x02
_EVENTS: Final = 0x03
_BLOBS: Final = 0x04
COPIES: Final = 0x06
"""The first byte of what is noted beside the log about copies; see ``copies.py``."""
_SNAPSHOTS: Final = 0x07
_LOG_BYTES: Final = (bytes([_COMMIT]), bytes([_EVENTS]), bytes([_BLOBS]))
_SEQ = struct.Struct(">BQ")
_BLOB = struct.Struct(">BQI")
_HEAD = struct.Struct(">32sQ")
_U64 = struct.Struct(">Q")
TABLES_FROM: Final = b"\x40"
"""The first byte from which on the keys are those of tables, which are derived from the log."""
COPY_KINDS: Final = (b"backup", b"restoring", b"snapshot")
_MAX_POSITION: Final = 2**32 - 1

OPENING_KEYS: Final = (_FORMAT_KEY, HEAD_KEY, _SEQ.pack(_COMMIT, 1), _SEQ.pack(_EVENTS, 1), _BLOB.pack(_BLOBS, 1, 0))
"""What is read of the log whenever a store is opened."""


MANY_TOGETHER: Final = 64
"""Of so many new pairs it is seen how they lie in their pages."""
_PAGE_BYTES: Final = 4096
_PAIR_BYTES: Final = 10
"""The bytes of a page that a pair takes beside its key and value."""
_MAX_IN_PLACE: Final = 1 << 10
"""A value that is hardly longer lies in pages of its own."""
_SPARSE: Final = 1.25
_SAMPLED: Final = 512
"""How long pairs are is estimated from about so many of them."""
_BEHIND_NUMBERS: Final = b"\xff" * 32
_FILLERS: Final = 9
_FILLER_BYTES: Final = (_PAGE_BYTES - 16) // 3
"""Three with their heads take all of a page, so that what comes behind them begins the next one."""


def put_sorted(txn: lmdb.Transaction, room: bytes, keys: list[bytes], values: Sequence[bytes]) -> None:
    """Put pairs with sorted keys of one key range (``room`` is its first byte) so that they fill their pages.

    LMDB fills a page completely if each new pair is its last. Otherwise it splits the page in two halves, and where
    pairs are appended to a key range, the first half stays half empty. That happens while the last page of the range
    also has the first pairs of the next range: when pages turn out half empty, those pairs get a page of their own.
    """
    with txn.cursor() as cursor:
        if len(keys) < MANY_TOGETHER:
            cursor.putmulti(zip(keys, values, strict=True))
            return
        fresh = _count_before_stored(cursor, keys)
        cursor.putmulti(zip(keys[:fresh], values[:fresh], strict=True))
        before = txn.stat()["leaf_pages"]
        cursor.putmulti(zip(keys[fresh:], values[fresh:], strict=True))
    if len(keys) - fresh >= MANY_TOGETHER:
        count = len(keys) - fresh
        step = 1 + count // _SAMPLED
        looked_at = sum(size for size in map(len, values[fresh::step]) if size <= _MAX_IN_PLACE)
        looked_at += sum(map(len, keys[fresh::step]))
        full = (looked_at * count / len(keys[fresh::step]) + _PAIR_BYTES * count) / _PAGE_BYTES
        if txn.stat()["leaf_pages"] - before > _SPARSE * full + 2:
            _start_page_behind(txn, room, keys[-1])


def _count_before_stored(cursor: lmdb.Cursor, keys: Sequence[bytes]) -> int:
    """Count the keys that come before the last stored key in front of ``keys[-1]``; the others can be appended."""
    if cursor.set_range(keys[-1]):
        if cursor.key() == keys[-1]:
            return len(keys)
        is_any = cursor.prev()
    else:
        is_any = cursor.last()
    return bisect_right(keys, cursor.key()) if is_any else 0  # type: ignore[type-var]


def _start_page_behind(txn: lmdb.Transaction, room: bytes, last: bytes) -> None:
    """Make a page begin behind the last key of a key range.

    The pairs of the page behind it are put back behind fillers that take several pages, and the fillers are deleted:
    from then on the page begins at the key of one of them.
    """
    behind: list[tuple[bytes, bytes]] = []
    left = _PAGE_BYTES
    with txn.cursor() as cursor:
        cursor.set_key(last)
        while cursor.next() and left > 0 and len(cursor.value()) <= _MAX_IN_PLACE:
            behind.append(cursor.item())  # type: ignore[arg-type]
            left -= len(cursor.key()) + len(cursor.value()) + _PAIR_BYTES
    fillers = [room + _BEHIND_NUMBERS + bytes([at]) for at in range(_FILLERS)]
    filler = bytes(_FILLER_BYTES - _PAIR_BYTES - len(fillers[0]))
    for key, _ in behind:
        txn.delete(key)
    with txn.cursor() as cursor:
        cursor.putmulti([(key, filler) for key in fillers])
        cursor.putmulti(behind)
    for key in reversed(fillers):
        txn.delete(key)


class Head(NamedTuple):
    """Where the log ends: the last commit's sequence number (0: nothing yet) and chain hash."""

    seq: int
    chain: bytes


EMPTY_HEAD: Final = Head(0, hashing.GENESIS)


def head_of(stored: bytes | None) -> Head | None:
    """Parse a head record: :data:`EMPTY_HEAD` where there is none, ``None`` for one that is cut short."""
    if stored is None:
        return EMPTY_HEAD
    if len(stored) != _HEAD.size:
        return None
    chain, seq = _HEAD.unpack(stored)
    return Head(seq, chain)


def commit_key(seq: int) -> bytes:
    """The key under which a commit's chain hash and header are stored."""
    return _SEQ.pack(_COMMIT, seq)


def record_keys(seq: int) -> tuple[bytes, ...]:
    """The keys of a commit's header, events and first blob."""
    return commit_key(seq), _SEQ.pack(_EVENTS, seq), _BLOB.pack(_BLOBS, seq, 0)


class Log(Protocol):
    """The protocol of a log. :class:`LmdbLog` is the embedded implementation."""

    def head(self) -> Head:
        """Where the log ends."""

    def append(self, record: codec.Record, seq: int, expected: Head) -> Head:
        """Append a finished commit if the log still ends at ``expected``.

        Raises ``Conflict`` if not.
        """

    def header(self, seq: int) -> codec.Header:
        """The header of a commit."""

    def events(self, seq: int) -> codec.Events:
        """The events of a commit."""

    def blob(self, seq: int, position: int) -> bytes | None:
        """The stored bytes of a blob, or ``None`` once erased."""

    def read(self, first: int, last: int) -> Iterator[tuple[int, codec.Record]]:
        """Finished commits as stored, from ``first`` to ``last`` inclusive."""


class LmdbLog(Log):
    """The log as seen by one LMDB transaction."""

    def __init__(self, txn: lmdb.Transaction) -> None:
        self._txn = txn

    @property
    def transaction(self) -> int:
        """The number of the last write transaction that this one sees."""
        return self._txn.id()

    def head(self) -> Head:
        head = head_of(self._get(HEAD_KEY))
        if head is None:
            raise errors.DamagedStore(
                "The record of the log's end is cut short", "Run `worlddb verify`, or restore a backup"
            )
        return head

    def last_stored(self) -> int:
        """The last commit that has a header, whatever the head record says; 0 if there is none."""
        with self._txn.cursor() as cursor:
            found = cursor.prev() if cursor.set_range(bytes([_EVENTS])) else cursor.last()
            while found and (key := bytes(cursor.key()))[0] == _COMMIT:
                if len(key) == _SEQ.size:
                    return int(_SEQ.unpack(key)[1])
                found = cursor.prev()  # A key of another length is no commit's.
        return 0

    def stored_seqs(self, first: int, most: int) -> list[int]:
        """The numbers of the first ``most`` commits from ``first`` on that have a header."""
        pairs = self._pairs(_SEQ.pack(_COMMIT, first), bytes([_EVENTS]))
        return [seq_of_key(key) for key, _ in islice((pair for pair in pairs if len(pair[0]) == _SEQ.size), most)]

    def refuse_other_end(self) -> None:
        """Raise ``DamagedStore`` unless the head record names the last commit that has a header."""
        head, last = self.head().seq, self.last_stored()
        if head != last:
            found = f"there is a commit {last}" if last > head else f"its last commit is {last}"
            raise errors.DamagedStore(
                f"The log records its end at {head}, but {found}",
                "Run `worlddb doctor`, and restore the store from a backup",
                seq=min(head, last) + 1,
            )

    def check_format(self) -> bool:
        """True if the log has a format that this release may write; false if it holds nothing yet.

        Raises:
            NotAStore: the environment belongs to some other program.
            NewerFormat: it was written by a newer release.
            DamagedStore: it has a format that never was.
        """
        stored = self._get(_FORMAT_KEY)
        if stored is None:
            if self._txn.stat()["entries"]:
                raise errors.NotAStore("The directory holds an LMDB file of another program", "Check the path")
            return False
        try:
            magic, version = msgspec.msgpack.decode(stored, type=tuple[str, int])
        except msgspec.DecodeError:
            raise errors.NotAStore("The directory holds an LMDB file of another program", "Check the path") from None
        if magic != MAGIC:
            raise errors.NotAStore(f"The directory holds a store of {magic!r}", "Check the path")
        if version < 1:
            raise errors.DamagedStore(
                f"The store states the unknown format {version}", "Restore the store from a backup"
            )
        if version > STRUCK_FORMAT:
            raise errors.NewerFormat(
                f"The store has format {version}; this release knows formats up to {STRUCK_FORMAT}",
                "Upgrade WorldDB; the store itself is untouched",
            )
        return True

    def append(self, record: codec.Record, seq: int, expected: Head) -> Head:
        head = self.head()
        if head != expected or seq != head.seq + 1:
            raise errors.Conflict(
                f"The log ends at {head.seq}, not at {expected.seq} as expected", "Decide again on the new head"
            )
        self.refuse_other_end()
        if seq == 1:
            self._txn.put(_FORMAT_KEY, codec.encode((MAGIC, FORMAT)))
        chain = codec.chain_hash(record.header)
        self._txn.put(_SEQ.pack(_COMMIT, seq), chain + record.header)
        self._txn.put(HEAD_KEY, _HEAD.pack(chain, seq))
        self._txn.put(_SEQ.pack(_EVENTS, seq), record.events)
        if _has_strikes(record.events, seq):
            self._txn.put(_FORMAT_KEY, _STRUCK_MARK)
        blobs = {_BLOB.pack(_BLOBS, seq, at): blob for at, blob in enumerate(record.blobs) if blob is not None}
        put_sorted(self._txn, bytes([_BLOBS]), list(blobs), list(blobs.values()))
        return Head(seq, chain)

    def erase(self, blobs: Iterable[tuple[int, int]], seq: int) -> None:
        """Delete blobs, given by (commit, position), for the erasure that commit ``seq`` records.

        LMDB leaves the bytes in free pages, so the file is due for a rewrite; see :meth:`scrub_due`.
        """
        for commit, position in blobs:
            self._txn.delete(_BLOB.pack(_BLOBS, commit, position))
        self.mark_scrub(seq)

    def strike(self, blobs: Mapping[tuple[int, int], bytes], seq: int) -> None:
        """Replace details by what is left of them, for the erasure of single texts that commit ``seq`` records.

        As with :meth:`erase`, the file is due for a rewrite.
        """
        for (commit, position), stored in blobs.items():
            self._txn.put(_BLOB.pack(_BLOBS, commit, position), stored)
        self._txn.put(_FORMAT_KEY, _STRUCK_MARK)
        self.mark_scrub(seq)

    def mark_scrub(self, seq: int) -> None:
        """Note that the bytes of an erasure may still be in the files, and forget all snapshots."""
        for noted, _ in self.snapshots():
            self._txn.delete(_SEQ.pack(_SNAPSHOTS, noted))
        self._txn.put(SCRUB_KEY, _U64.pack(seq))

    def scrub_due(self) -> int | None:
        """The last erasure whose bytes may still be in the store's files; ``None`` if all are gone."""
        stored = self._get(SCRUB_KEY)
        return None if stored is None else int(_U64.unpack(stored)[0])

    def copy_kind(self) -> str:
        """The kind of copy that this log is, if only copying may write to it; empty for a store of its own."""
        return (self._get(_COPY_KEY) or b"").decode("ascii", "replace")

    def mark_copy(self, kind: str) -> None:
        """Mark this log as a copy of some kind; with an empty kind, as a store of its own again."""
        if kind:
            self._txn.put(_COPY_KEY, kind.encode("ascii"))
        else:
            self._txn.delete(_COPY_KEY)

    def has_untied(self) -> bool:
        """True if there are records of erasures beside the log, as earlier releases kept them."""
        with self._txn.cursor() as cursor:
            return bool(cursor.set_range(bytes([UNTIED]))) and cursor.key()[:1] == bytes([UNTIED])

    @property
    def untied(self) -> UntiedErasures:
        """The records of erasures beside the log, as earlier releases kept them."""
        return UntiedErasures(self._txn)

    def copies(self) -> list[tuple[int, bytes]]:
        """The notes of copies, by their numbers; ``copies.py`` reads and writes them."""
        pairs = self._pairs(bytes([COPIES]), bytes([COPIES + 1]))
        return [(int(_SEQ.unpack(key)[1]), value) for key, value in pairs if len(key) == _SEQ.size]

    def note_copy(self, number: int, stored: bytes) -> None:
        """Store the note of a copy under a new number."""
        self._txn.put(_SEQ.pack(COPIES, number), stored)

    def snapshots(self) -> list[tuple[int, bytes]]:
        """The commits that have snapshots, each with the digest of all pairs of the snapshot."""
        pairs = self._pairs(bytes([_SNAPSHOTS]), bytes([_SNAPSHOTS + 1]))
        return [(int(_SEQ.unpack(key)[1]), value) for key, value in pairs if len(key) == _SEQ.size]

    def note_snapshot(self, seq: int, digest: bytes) -> None:
        """Store the digest of all pairs of a commit's snapshot, which the snapshot is checked against."""
        self._txn.put(_SEQ.pack(_SNAPSHOTS, seq), digest)

    def fill(self, seq: int, position: int, stored: bytes) -> None:
        """Store the blob for a position whose hash the commit already names.

        Raises:
            Conflict: the position has a blob already, or the commit names another hash there.
        """
        key = _BLOB.pack(_BLOBS, seq, position)
        if self.events(seq).blob(position) != codec.named_id(stored) or not self._txn.put(key, stored, overwrite=False):
            raise errors.Conflict(f"Blob {position} of commit {seq} is not missing, or has another id", "Decide again")

    def header(self, seq: int) -> codec.Header:
        chain, stored = self.stored_header(seq)
        try:
            return codec.decode_header(stored, seq)
        except errors.NewerFormat:
            _refuse_changed("header", codec.chain_hash(stored) == chain, seq)
            raise

    def stored_header(self, seq: int) -> tuple[bytes, bytes]:
        """The chain hash as it was stored, and the header bytes."""
        stored = self._get(_SEQ.pack(_COMMIT, seq))
        if stored is None or len(stored) < ids.HASH_BYTES:
            raise _missing_error("header", seq)
        return stored[: ids.HASH_BYTES], stored[ids.HASH_BYTES :]

    def chain(self, seq: int) -> bytes:
        """The chain hash stored with a commit; :data:`GENESIS` for 0."""
        return self.stored_header(seq)[0] if seq else hashing.GENESIS

    def events(self, seq: int) -> codec.Events:
        return self._decode_events(self.stored_events(seq), seq)

    def some_events(self, seq: int, kinds: frozenset[type[Event]]) -> Sequence[AnyEvent]:
        """The events of a commit with one of these types, in a fraction of the time of :meth:`events`."""
        stored = self.stored_events(seq)
        try:
            return codec.decode_some_events(stored, seq, kinds)
        except errors.NewerFormat:
            return self._decode_events(stored, seq).events

    def _decode_events(self, stored: bytes, seq: int) -> codec.Events:
        try:
            return codec.decode_events(stored, seq)
        except errors.NewerFormat:
            _refuse_changed("record of events", codec.events_hash(stored) == self.header(seq).events_hash, seq)
            raise

    def stored_events(self, seq: int) -> bytes:
        """The events bytes of a commit."""
        stored = self._get(_SEQ.pack(_EVENTS, seq))
        if stored is None:
            raise _missing_error("events", seq)
        return stored

    def blob(self, seq: int, position: int) -> bytes | None:
        if not 0 <= position <= _MAX_POSITION:
            raise _missing_error(f"blob {position}", seq)
        return self._get(_BLOB.pack(_BLOBS, seq, position))

    def blobs(self, places: Sequence[tuple[int, int]]) -> list[bytes | None]:
        """As :meth:`blob`, for many blobs, each by its commit and position."""
        if any(not 0 <= position <= _MAX_POSITION for _, position in places):
            return [self.blob(*place) for place in places]
        get, pack = self._txn.get, _BLOB.pack
        return [get(pack(_BLOBS, *place)) for place in places]  # type: ignore[misc]

    def read(self, first: int, last: int) -> Iterator[tuple[int, codec.Record]]:
        for seq in range(first, min(last, self.head().seq) + 1):
            events = self.stored_events(seq)
            count = self._decode_events(events, seq).blob_count
            blobs = [self.blob(seq, position) for position in range(count)]
            yield seq, codec.Record(self.stored_header(seq)[1], events, blobs)

    def keys(self, after: bytes, most: int) -> list[bytes]:
        """The first ``most`` keys behind ``after`` of everything that is stored before the tables."""
        with self._txn.cursor() as cursor:
            if not cursor.set_range(after + b"\x00" if after else b""):
                return []
            found: Iterator[bytes] = cursor.iternext(values=False)  # type: ignore[assignment]
            return [bytes(key) for key in takewhile(lambda key: key[:1] < TABLES_FROM, islice(found, most))]

    def find_mark_problem(self, key: bytes) -> str:
        """Why a record that is no header, events or blob is invalid; empty if it is a mark that the log writes."""
        stored = self._get(key) or b""
        if key[:1] == bytes([UNTIED]) or (key[:1] == bytes([COPIES]) and len(key) == _SEQ.size):
            return ""  # Checked by their contents elsewhere.
        if key[:1] == bytes([_SNAPSHOTS]) and len(key) == _SEQ.size:
            return "" if len(stored) == ids.HASH_BYTES else "the note of a snapshot is not what was written"
        if key == _FORMAT_KEY:
            is_mark = stored in (codec.encode((MAGIC, FORMAT)), _STRUCK_MARK)
            return "" if is_mark else "the format mark is not what was written"
        if key == HEAD_KEY:
            return ""  # Compared with the last commit elsewhere.
        if key == SCRUB_KEY:
            return "" if len(stored) == _U64.size else "the mark of an unfinished erasure is not what was written"
        if key == _COPY_KEY:
            return "" if stored in COPY_KINDS else "the copy mark is of an unknown kind"
        return f"a record of an unknown kind lies under the key {key.hex()[:40]}"

    def is_struck(self) -> bool:
        """True if single texts were ever erased."""
        return self._get(_FORMAT_KEY) == _STRUCK_MARK

    def has_format(self) -> bool:
        """True if the log has its format mark."""
        return self._get(_FORMAT_KEY) is not None

    def stored_pairs(self, last: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield the stored keys and values of commits 1 to ``last``: all headers, all events, all blobs."""
        for kind in _LOG_BYTES:
            yield from self._pairs(kind, kind + (last + 1).to_bytes(8, "big"))

    def _pairs(self, first: bytes, beyond: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            if cursor.set_range(first):
                pairs: Iterator[tuple[bytes, bytes]] = cursor.iternext()  # type: ignore[assignment]
                yield from takewhile(lambda pair: pair[0] < beyond, pairs)

    def _get(self, key: bytes) -> bytes | None:
        found: bytes | None = self._txn.get(key)  # type: ignore[assignment]
        return found

    def seq_at(self, ingest_time: int) -> int:
        """Find the last commit at or before an ingest time; 0 if there is none.

        Ingest time is strictly monotonic.
        """
        low, high = 0, self.head().seq
        while low < high:
            middle = (low + high + 1) // 2
            if self.header(middle).ingest_time <= ingest_time:
                low = middle
            else:
                high = middle - 1
        return low


_STRIKING: Final[frozenset[type[Event]]] = frozenset((Struck, StruckElsewhere))
_STRUCK_TAG: Final = codec.encode(str(Struck.__struct_config__.tag))
_ELSEWHERE_TAG: Final = codec.encode(str(StruckElsewhere.__struct_config__.tag))


def _has_strikes(events: bytes, seq: int) -> bool:
    """True if a commit's stored events include an erasure of single texts."""
    may = _STRUCK_TAG in events or _ELSEWHERE_TAG in events
    return may and bool(codec.decode_some_events(events, seq, _STRIKING))


def _missing_error(what: str, seq: int) -> errors.DamagedStore:
    return errors.DamagedStore(
        f"The {what} of commit {seq} is missing or cut short", "Run `worlddb verify`, or restore a backup", seq=seq
    )


def _refuse_changed(what: str, holds: bool, seq: int) -> None:
    """Report bytes that do not have their hash as damaged rather than as a newer format.

    A flipped bit can turn a known type into an unknown one.
    """
    if not holds:
        raise errors.DamagedStore(
            f"The {what} of commit {seq} does not have its hash: it was altered",
            "Run `worlddb verify`, and restore the store from a backup",
            seq=seq,
        )


class RecordPlace(NamedTuple):
    """The record behind a key: ``header``, ``events`` or ``blob`` (with its position)."""

    kind: str
    seq: int
    position: int


def place_of_key(key: bytes) -> RecordPlace | None:
    """Parse a key of the log; ``None`` if the log writes no such key."""
    if key[:1] not in _LOG_BYTES or len(key) != (_BLOB.size if key[0] == _BLOBS else _SEQ.size):
        return None
    if key[0] == _BLOBS:
        return RecordPlace("blob", *_BLOB.unpack(key)[1:])
    return RecordPlace("header" if key[0] == _COMMIT else "events", _SEQ.unpack(key)[1], 0)


def seq_of_key(key: bytes) -> int:
    """The commit that a key of the log belongs to; 0 for other keys."""
    return int(_SEQ.unpack_from(key)[1]) if key[:1] in _LOG_BYTES and len(key) >= _SEQ.size else 0
