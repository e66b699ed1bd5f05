"""Tables about the log itself: bookmarks, marks of progress, and its Merkle tree.

A bookmark's name stands for a commit and may be moved to another; earlier meanings are kept. A log may be hypothetical
from some commit on.

| table | key | value |
|---|---|---|
| ``progress`` | ``reclustered`` | u64 seq up to which the resolver has looked again |
| ``progress`` | ``supposed`` | u64 seq of the first commit that is not the original's; absent in every other store |
| ``progress`` | ``totals`` | u64 seq, edges retracted, proposals; of each space with vectors u64 space, texts |

The ``log_tree`` table holds the complete subtrees of the Merkle tree over the commits, so that heads and proofs are
quick. A commit completes as many subtrees of two or more leaves as its sequence number can be halved. Their hashes are
one row under that number, the smallest first, so that every second commit adds one row at the end of the table.
"""

import struct
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from worlddb.log.model import blobs, codec, errors, hashing, ids
from worlddb.log.model import events as ev
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply.deferred_rows import DeferredRows
from worlddb.projections.tables.names.canonical import NAME_DIGEST_BYTES, NO_NAME, name_digest
from worlddb.projections.tables.storage import rows, schema, transaction


def secret_of(log: LmdbLog) -> bytes:
    """The secret under which the store hashes callers' keys and seals its indexes."""
    first = log.events(1).events[0]
    assert isinstance(first, ev.StoreCreated)
    stored = log.blob(1, first.secret)
    blob = None if stored is None else codec.decode_blob(stored, 1)
    if not isinstance(blob, blobs.Secret):
        raise errors.DamagedStore("The store's secret is missing", "Restore the store from a backup", seq=1)
    return blob.secret


def apply_bookmarked(on: DeferredRows, event: ev.Bookmarked) -> None:
    """Keep what the name stands for from this commit on."""
    body = on.blobs.body(event.body)
    digest = NO_NAME if body is None else name_digest(body.name)
    row = schema.BookmarkRow(event.seq, event.body, event.details)
    on.tables.bookmarks.put(digest + schema.U64.pack(on.seq), schema.BOOKMARK.pack(*row))


def forget_bookmarks(tables: rows.Tables, erased: Collection[tuple[int, int]]) -> None:
    """Forget the names of bookmarks whose texts are among erased blobs, by commit and position."""
    gone = set(erased)
    for key, value in list(tables.bookmarks.scan(b"")):
        seq, row = _read(key, value)
        nameless = NO_NAME + schema.U64.pack(seq)
        if key != nameless and (seq, row.body) in gone:
            tables.bookmarks.put(key, None)
            there = tables.bookmarks.get(nameless)
            # Of several that one commit set, a replay would leave the last.
            if there is None or _read(nameless, there)[1].body < row.body:
                tables.bookmarks.put(nameless, value)


def bookmark_at(tables: rows.Tables, name: str, seq: int) -> tuple[int, schema.BookmarkRow] | None:
    """(the commit that set it, the row) of a name as known at commit ``seq``."""
    digest = name_digest(name)
    found = None if digest == NO_NAME else tables.bookmarks.last(digest, digest + schema.U64.pack(seq))
    return None if found is None else _read(*found)


def bookmarks_at(tables: rows.Tables, seq: int) -> Iterator[tuple[int, schema.BookmarkRow]]:
    """As :func:`bookmark_at`, of every name, in the order in which they were set."""
    newest: dict[bytes, tuple[int, schema.BookmarkRow]] = {}
    for key, value in tables.bookmarks.scan(b""):
        found = _read(key, value)
        if found[0] <= seq:
            newest[key[:NAME_DIGEST_BYTES]] = found
    yield from sorted(newest.values())


def _read(key: bytes, value: bytes) -> tuple[int, schema.BookmarkRow]:
    return int.from_bytes(key[NAME_DIGEST_BYTES:], "big"), schema.BookmarkRow._make(schema.BOOKMARK.unpack(value))


_RECLUSTERED: Final = b"reclustered"


def apply_reclustered(on: DeferredRows, event: ev.Reclustered) -> None:
    """Say how far it has come."""
    on.tables.progress_table.put(_RECLUSTERED, schema.U64.pack(event.through))


def reclustered_through(tables: rows.Tables) -> int:
    """The last commit whose surroundings were looked at; 0 before the first."""
    stored = tables.progress_table.get(_RECLUSTERED)
    return 0 if stored is None else int.from_bytes(stored, "big")


TOTALS: Final = b"totals"


class Totals(NamedTuple):
    """What tables of any size hold up to their last commit, without a look at their rows."""

    unlinked: int
    """Edges that were retracted."""
    proposals: int
    embedded: dict[int, int]
    """By the number of a space, how many texts have a vector in it."""


def totals(tables: rows.Tables) -> Totals | None:
    """The totals after the last commit; ``None`` if somebody took them away, which ``verify --deep`` says."""
    seq = tables.progress().seq
    if not seq:
        return Totals(0, 0, {})
    stored = tables.progress_table.get(TOTALS)
    if stored is None or len(stored) < 24 or len(stored) % 16 != 8:
        return None
    counted_at, unlinked, proposals, *of_spaces = struct.unpack(f">{len(stored) // 8}Q", stored)
    if counted_at != seq:
        return None
    return Totals(unlinked, proposals, dict(zip(of_spaces[::2], of_spaces[1::2], strict=True)))


def add_to_totals(on: DeferredRows) -> None:
    """Count what a commit has retracted, proposed and embedded, before its progress is noted."""
    before = totals(on.tables)
    if before is None:
        return
    embedded = Counter(before.embedded)
    embedded.update(on.embedded)
    spaces = [number for space in sorted(embedded) for number in (space, embedded[space])]
    counted = (on.seq, before.unlinked + on.unlinked, before.proposals + on.staged, *spaces)
    on.tables.progress_table.put(TOTALS, struct.pack(f">{len(counted)}Q", *counted))


def apply_supposed(on: DeferredRows, event: ev.Supposed) -> None:
    """Record where the log left the original, so that every opener knows."""
    on.tables.progress_table.put(transaction.SUPPOSED, schema.U64.pack(on.seq))


def apply_nothing(on: DeferredRows, event: ev.LeftOut | ev.TakenOver) -> None:
    """Do nothing: an absent commit has no rows, and other events say what was taken over."""


def supposition(log: LmdbLog, tables: rows.Tables) -> ev.Supposed | None:
    """The supposition of a hypothetical log; ``None`` for a real one.

    Raises:
        DamagedStore: the tables say that it does, and the log does not.
    """
    at = tables.supposed_at()
    if not at:
        return None
    first = log.events(at).events[0]
    if not isinstance(first, ev.Supposed):
        raise errors.DamagedStore(
            f"Commit {at} does not match the hypothetical store's record", "Run `worlddb rebuild tables`", seq=at
        )
    return first


def supposition_sentence(log: LmdbLog, tables: rows.Tables) -> str:
    """The supposition of a hypothetical log in a sentence; empty for a real one."""
    found = supposition(log, tables)
    if found is None:
        return ""
    at = tables.supposed_at()
    stored = log.blob(at, found.details)
    details = None if stored is None else codec.decode_blob(stored, at)
    return details.why if isinstance(details, blobs.Details) else "with commits left out"


def identity_of(log: LmdbLog, tables: rows.Tables) -> bytes:
    """The id of the store: the random one of its first commit, or that of its hypothesis."""
    found = supposition(log, tables)
    if found is not None:
        return found.store_id
    first = log.events(1).events[0]
    return first.store_id if isinstance(first, ev.StoreCreated) else b""


def refuse_supposed(tables: rows.Tables, what: str) -> None:
    """See that a store is what happened, before it stands for that.

    Raises:
        HypotheticalStore: it is not.
    """
    at = tables.supposed_at()
    if at:
        raise errors.HypotheticalStore(
            f"This store is hypothetical: its commits from {at} on did not happen, so {what}",
            "Use the store that it was made from; this one can be read and compared",
            since=at,
        )


def add_commit(tables: rows.Tables, seq: int, chain: bytes, previous: bytes) -> None:
    """Store the hashes of the subtrees that commit ``seq`` completes.

    ``previous`` is the chain hash before it.
    """
    if seq & 1:
        return
    node = hashing.log_node_hash(hashing.log_leaf_hash(previous), hashing.log_leaf_hash(chain))
    hashes, level = [node], 1
    while not seq >> level & 1:
        node = hashing.log_node_hash(_stored_subtree(tables, level, seq - (1 << level)), node)
        hashes.append(node)
        level += 1
    tables.log_tree.put(schema.U64.pack(seq), b"".join(hashes))


class LogTree:
    """The subtrees of one transaction's log; see :class:`worlddb.log.model.merkle.Subtrees`."""

    def __init__(self, log: LmdbLog, tables: rows.Tables) -> None:
        self._log = log
        self._tables = tables

    def subtree(self, level: int, end: int) -> bytes:
        """The hash of the complete subtree of ``2 ** level`` leaves that ends with commit ``end``.

        Raises:
            DamagedStore: the table does not hold it.
        """
        return _stored_subtree(self._tables, level, end) if level else hashing.log_leaf_hash(self._log.chain(end))


def _stored_subtree(tables: rows.Tables, level: int, end: int) -> bytes:
    row = tables.log_tree.get(schema.U64.pack(end))
    if row is None or len(row) < level * ids.HASH_BYTES:
        raise transaction.missing_row(f"log tree of commit {end}")
    return row[(level - 1) * ids.HASH_BYTES : level * ids.HASH_BYTES]
