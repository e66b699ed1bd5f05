"""Derive the tables from the log: all at once for a rebuild, or up to a commit for a replay."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from worlddb.log.model import blobs, codec, errors
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply import apply, log_marks
from worlddb.projections.tables.storage import rows, schema


@contextmanager
def collector_paused(*, is_much: bool = False) -> Iterator[None]:
    """Pause Python's cycle collector while very many rows are made at once.

    It starts again if it was on. No row is in a cycle, and to look through them again and again takes a tenth of a bulk
    load's time. What is freed by counting references is freed all the same.

    What was made meanwhile and is kept joins the oldest generation unlooked at (to freeze and unfreeze moves lists and
    reads nothing). Else the first object made after the pause would have all of it gone through, each time. A cycle
    among it waits for the next full collection. Where the program itself has frozen objects, they stay so: how many
    those are Python counts one by one, so nobody asks where next to nothing was made. Whoever knows that much is made
    says so (``is_much``): Python's own count of what was made is less by all older objects that went meanwhile.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if (is_much or gc.get_count()[0] > _FEW_MADE) and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


_FEW_MADE: Final = 20_000
"""So many objects the collector goes through in a millisecond; to count what a program has frozen may take more."""

FLUSH_EVENTS: Final = 100_000
"""How many events are held in memory before the tables are written."""

MAX_SEQ: Final = 2**64 - 1

Progress = Callable[[int, int], None]
"""Called with (commits done, commits in all)."""


class LoggedBlobs:
    """A logged commit's blobs, decoded on demand; a changed one raises :class:`DamagedStore`."""

    def __init__(self, log: LmdbLog, seq: int, events: codec.Events) -> None:
        self._log = log
        self._seq = seq
        self._events = events

    def blob_id(self, position: int) -> bytes:
        return self._events.blob(position)

    def body(self, position: int) -> blobs.Body | None:
        found = self._decode(position)
        return found if isinstance(found, blobs.Body) else None

    def details(self, position: int) -> blobs.Details | None:
        found = self._decode(position)
        return found if isinstance(found, blobs.Details) else None

    def earlier(self, seq: int, position: int) -> blobs.Body | None:
        stored = self._log.blob(seq, position)
        found = None if stored is None else codec.decode_blob(stored, seq)
        return found if isinstance(found, blobs.Body) else None

    def _decode(self, position: int) -> blobs.Blob | None:
        stored = self._log.blob(self._seq, position)
        return None if stored is None else codec.decode_checked_blob(stored, self._events.blob(position), self._seq)


def apply_commit(log: LmdbLog, tables: rows.Tables, seq: int) -> codec.Header:
    """Apply one logged commit to the tables, and check the root.

    It must be the one that the commit recorded.

    Raises:
        DamagedStore: the events do not lead to the recorded root, or name what does not exist.
    """
    header, events = _read_verified(log, seq)
    applier = apply.Applier(tables, LoggedBlobs(log, seq, events), seq, header.ingest_time)
    try:
        applier.apply_all(events.events)
        root = applier.rehash()
    except (KeyError, IndexError, ValueError, errors.DamagedStore) as error:
        raise errors.DamagedStore(
            f"Commit {seq} cannot be replayed: {error}", "Run `worlddb verify`, or restore a backup", seq=seq
        ) from error
    if root != header.root:
        raise errors.DamagedStore(
            f"Replaying commit {seq} gives root {root.hex()[:12]}, but {header.root.hex()[:12]} was recorded",
            "Run `worlddb verify`, or restore a backup",
            seq=seq,
        )
    applier.finish(header.key)
    log_marks.add_commit(tables, seq, log.chain(seq), header.previous)
    return header


def _read_verified(log: LmdbLog, seq: int) -> tuple[codec.Header, codec.Events]:
    """Header and events of a commit, if they have their hashes.

    What a flipped bit made of them may fit into no row.
    """
    chain, stored = log.stored_header(seq)
    header = codec.decode_header(stored, seq)
    stored_events = log.stored_events(seq)
    if codec.chain_hash(stored) != chain or codec.events_hash(stored_events) != header.events_hash:
        raise errors.DamagedStore(
            f"The record of commit {seq} is not what was written", "Run `worlddb verify`, or restore a backup", seq=seq
        )
    return header, codec.decode_events(stored_events, seq)


def catch_up(log: LmdbLog, tables: rows.Tables, last: int, progress: Progress | None = None) -> int:
    """Apply what the tables have not applied yet, up to commit ``last``.

    Returns how many events that were.

    Raises:
        NewerFormat: the store belongs to a newer release, which may keep other tables.
    """
    log.check_format()
    events = unflushed = 0
    first = begun = tables.progress().seq + 1
    with collector_paused(is_much=True):
        for seq in range(first, last + 1):
            applied = apply_commit(log, tables, seq).event_count
            events, unflushed = events + applied, unflushed + applied
            if unflushed >= FLUSH_EVENTS:
                tables.coming = (last - seq) / (seq + 1 - begun)
                tables.flush()
                begun, unflushed = seq + 1, 0
            if progress is not None and (seq % 64 == 0 or seq == last):
                progress(seq, last)
        tables.coming = 0.0
        tables.flush()
    return events


def rebuild(log: LmdbLog, tables: rows.Tables, progress: Progress | None = None) -> int:
    """Throw the tables away, older ones too, and derive them again.

    Returns how many events were replayed.

    Raises:
        NewerFormat: the tables, or the log, belong to a newer release.
    """
    tables.layout()
    tables.clear()
    return catch_up(log, tables, log.head().seq, progress)


def rebuild_if_behind(log: LmdbLog, tables: rows.Tables) -> None:
    """Rebuild tables that are not level with the log: they are gone, or not to be trusted.

    Raises:
        DamagedStore: it is the log that is short, for it or the tables know of later commits.
    """
    head = log.head().seq
    if tables.progress().seq == head:
        return
    known = tables.hash_row(schema.ROOT_NODE, MAX_SEQ)
    last = max(log.last_stored(), known[0] if known else 0)
    if last > head:
        raise errors.DamagedStore(
            f"The log records its end at {head}, but there was a commit {last}",
            "Restore the store from a backup",
            seq=head + 1,
        )
    rebuild(log, tables)
