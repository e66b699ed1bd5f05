"""The store's LMDB environment: read and write transactions, and rewriting the data file.

    DIR/data.mdb, lock.mdb     LMDB: log, blobs and tables, which commit together
    DIR/writer.lock, .json     the lock between writers, and who holds it
    DIR/high-water             the last acknowledged commit, which opening compares
    DIR/damaged                that a verification found damage; writes are refused while it is there
    DIR/.scrub/                the data file being written anew after an erasure
    DIR/indexes/               projections that catch up by checkpoint; may be deleted at any time
    DIR/snapshots/             the store as it was at some commits; may be deleted at any time

A large sparse map is reserved at creation, so that nobody is asked for a size; where the platform refuses it, the
map grows by doubling. No transaction outlives one call.

An erasure rewrites the data file. LMDB does not overwrite what it deletes: the bytes stay in free pages, and in the
gaps between the records of a page. LMDB's own compacting copy takes whole pages, gaps included. So every pair is put
into a fresh file, sorted and appended.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import lmdb

from worlddb.log.model.errors import DamagedStore, ForkedProcess, StoreClosed
from worlddb.log.store import durable, lock, log, shared_environment
from worlddb.log.store.pages import PageFinding, damaged_pages, set_transaction, some_damaged_pages

_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
"""The numbers of those settings in glibc's ``malloc.h``."""
_LARGE_BYTES: Final = 256 * 1024
_ARENAS: Final = 2


@cache
def release_large_blocks() -> None:
    """Make the allocator map each large block separately, so that freeing it returns the memory to the system.

    All threads share two of its heaps from then on, except those that have one already.

    By default glibc raises this threshold with each large block it frees and takes the next ones from its heap, where
    small long-lived blocks keep the space occupied: a server grew by a tenth over hours, a load by a fifth. It also
    gives threads heaps of their own, and each step of the text index begins threads anew, which leave free space behind
    in one after the other. Other allocators have no such settings.
    """
    import ctypes  # Most processes hold little and do without: it takes milliseconds to load.

    with suppress(AttributeError, OSError, TypeError):
        allocator = ctypes.CDLL(None)
        allocator.mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
        allocator.mallopt(_ARENA_MAX, _ARENAS)


def write_copy(source: lmdb.Transaction, folder: Path, without: bytes, map_bytes: int) -> Path:
    """Copy every pair of a transaction, except the one with the key ``without``, into a new file.

    The file continues the transaction numbers of the source, so that it can replace it under the same lock file.

    Raises:
        OSError: the file cannot be written.
        DamagedStore: the copy differs from the source.
    """
    aside = folder / shared_environment.REWRITE_FOLDER
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    # One transaction: a second one would leave free pages. Nobody else has the file, and it is synced at the end.
    env = lmdb.open(str(aside), map_size=map_bytes, lock=False, sync=False, metasync=False)
    try:
        with env.begin(write=True) as txn, txn.cursor() as cursor, source.cursor() as pairs:
            cursor.putmulti(_pairs_except(pairs, without), append=True)
        env.sync(True)
        written = env.stat()["entries"]
    finally:
        env.close()
    copy = aside / shared_environment.DATA_FILE
    set_transaction(copy, source.id())
    left_out = source.get(without) is not None
    if written + left_out != source.stat()["entries"] or damaged_pages(copy, source.id(), (b"\x00", b"\xff")):
        raise DamagedStore(f"{copy} is not a complete copy", "Run `worlddb verify`, and check the disk")
    return copy


def _pairs_except(pairs: lmdb.Cursor, key: bytes) -> Iterator[tuple[bytes, bytes]]:
    pairs.first()
    for pair in pairs:
        if pair[0] != key:
            yield pair  # type: ignore[misc]


def replace_data_file(copy: Path, folder: Path, step: Callable[[str], None]) -> None:
    """Replace the folder's data file by a copy, durably. Processes that have the old file open keep it.

    Raises:
        OSError: the file cannot be replaced; the old one is still there.
    """
    shutil.copymode(folder / shared_environment.DATA_FILE, copy)
    os.replace(copy, folder / shared_environment.DATA_FILE)
    step("replaced")
    durable.sync_folder(folder)
    shutil.rmtree(copy.parent, ignore_errors=True)
    step("settled")


T = TypeVar("T")
Stamp = tuple[int, int]
"""How often the data file was replaced, and the number of its last transaction. No stamp occurs twice."""

INDEX_FOLDER: Final = "indexes"
SNAPSHOT_FOLDER: Final = "snapshots"
LEASE_FILE: Final = "background.lock"
"""Locked by the process that does background work."""
_SNAPSHOT_ATTEMPTS: Final = 5
"""How often to retry when two commits intervene between opening a snapshot and finding it in the file."""


def _recommit_scrub_mark(txn: lmdb.Transaction, settled: int) -> bool:
    """Commit the present state a second time, if the rewrite for an erasure is still due; return whether it is.

    LMDB keeps the last two commits, and a reader picks one by whether the last transaction number is even. Processes on
    the new file go on counting with the same number, so a reader that is still inside a transaction on the old file and
    begins another there could get the last commit but one. After this the two have the same contents.
    """
    if log.LmdbLog(txn).scrub_due() != settled:
        return False
    log.LmdbLog(txn).mark_scrub(settled)
    return True


def _skip_crash_point(name: str) -> None:
    """Do nothing: tests put their crash points here."""


class Environment:
    """An open store directory, and short transactions on it.

    Everything lies in LMDB's one unnamed database, each kind of record under its own first byte. Handles of named
    databases can only be opened in a write transaction, so that a stopped writer would keep readers from opening the
    store; and a small commit touches fewer pages of one tree than of many.
    """

    def __init__(self, folder: Path, *, author: str, timeout_seconds: float) -> None:
        self.folder = folder = folder.absolute()
        self.step: Callable[[str], None] = _skip_crash_point
        self.end_seen = False
        """Whether the last commits were checked, as they are before the first write."""
        self.unlooked = 0
        """How many writes there were since this handle last checked a part of the store."""
        self.look_from: tuple[int, bytes] = 0, b""
        """The commit and the key at which the next check begins; 0 before the first check."""
        self._pid = os.getpid()
        self._closed = False
        self._lock = lock.WriterLock(folder, author, timeout_seconds)
        self._shared = shared_environment.acquire(folder)

    @contextmanager
    def read(self, *, unread: bool = False) -> Iterator[lmdb.Transaction]:
        """Open a read transaction for one call; ``unread`` for one that reads no records.

        Raises:
            UnavailableError: another store, or an older copy of this one, has replaced it.
        """
        self._require_open()
        shared, turn = self._shared, shared_environment.TransactionSlot()
        try:
            try:
                shared.enter(turn)
                txn = shared.begin(turn, write=False, unread=unread)
                try:
                    yield txn
                finally:
                    txn.abort()
            finally:
                shared.open_slots.discard(turn)
                shared.leave(turn)
        except shared_environment.BY_DAMAGE as error:
            found = shared_environment.translate_error(error, self.folder)
            if found is error:
                raise
            raise found from error

    def write(self, work: Callable[[lmdb.Transaction], T], *, timeout_seconds: float | None = None) -> T:
        """Run ``work`` in the write transaction and make it durable; ``timeout_seconds`` overrides the usual limit.

        An exception leaves the store unchanged. ``work`` may run again from the start after the map had to grow, so it
        must not keep state.

        Raises:
            WriterBusy: another writer held the store beyond the time limit.
            UnavailableError: the store was moved, deleted or replaced while it was open here.
        """
        self._require_open()
        # Check before locking: the lock would recreate the directory, or lie in another store.
        self._shared.refuse_replaced()
        with self._lock.held(timeout_seconds, look=self._shared.refuse_replaced):
            self.step("locked")
            return self._write_locked(work)

    def _write_locked(self, work: Callable[[lmdb.Transaction], T]) -> T:
        while True:
            try:
                return self._write_once(work)
            except lmdb.MapFullError:
                self._shared.grow()
            except shared_environment.BY_DAMAGE as error:
                found = shared_environment.translate_error(error, self.folder)
                if found is error:
                    raise
                raise found from error

    def _write_once(self, work: Callable[[lmdb.Transaction], T]) -> T:
        shared, turn = self._shared, shared_environment.TransactionSlot()
        try:
            shared.enter(turn)
            txn = shared.begin(turn, write=True)
            try:
                self.step("begun")
                result = work(txn)
                self.step("applied")
                number, head = txn.id(), txn.get(log.HEAD_KEY)
                txn.commit()
            except BaseException:
                self._shared.abort(txn)
                raise
        finally:
            shared.open_slots.discard(turn)
            shared.leave(turn)
        self.step("committed")
        self._shared.record_commit(number, head)  # type: ignore[arg-type]
        return result

    @property
    def generation(self) -> int:
        """How many times the data file was replaced since this process opened it."""
        return self._shared.generation

    def stamp(self) -> Stamp | None:
        """A value that every write of any process changes; reading it is far cheaper than a transaction.

        ``None`` while another file has replaced the data file.
        """
        self._require_open()
        return self._shared.stamp()

    def rewrite(self, settled: int, *, timeout_seconds: float | None = None) -> None:
        """Replace the data file by one that holds every record and nothing else.

        The bytes that LMDB keeps of deleted records in free pages and gaps are gone. A crash leaves the old file or the
        new one. ``settled`` is the erasure whose other steps are done; the mark that a rewrite is due is left out. Does
        nothing if another process did it meanwhile, or if a later erasure requires those steps again.

        Raises:
            WriterBusy: another writer held the store beyond the time limit.
            DamagedStore: the file is damaged; it is left as it is.
            UnavailableError: a second file has no room or cannot be written, or a file is a symbolic link.
        """
        self._require_open()
        self._shared.refuse_replaced()
        with self._lock.held(timeout_seconds, look=self._shared.refuse_replaced):
            shared_environment.refuse_linked(self.folder)
            self.refuse_damaged_pages()
            if not self._write_locked(lambda txn: _recommit_scrub_mark(txn, settled)):
                return
            try:
                with self.read() as txn:
                    copy = write_copy(txn, self.folder, log.SCRUB_KEY, self._shared.env.info()["map_size"])
                self.step("copied")
                replace_data_file(copy, self.folder, self.step)
            except OSError as error:
                told = f"The data file in {self.folder} cannot be rewritten: {error}"
                remedy = "Check disk space and permissions, then try again"
                raise durable.system_error(error, self.folder, told, remedy) from error

    def refuse_replaced(self) -> None:
        """Check before writing beside the data file, without a transaction, that the store is still in place.

        Raises:
            UnavailableError: the store was moved, deleted or replaced while it was open here.
        """
        self._require_open()
        self._shared.refuse_replaced()

    def damaged_pages(self, keys: Sequence[bytes] = ()) -> list[PageFinding]:
        """Find faults in the structure of the data file, without following its pages.

        Reads all of it, or only what lies on the way to ``keys``.
        """
        for _ in range(_SNAPSHOT_ATTEMPTS):
            with self.read(unread=True) as txn:
                found = damaged_pages(self.folder / shared_environment.DATA_FILE, txn.id(), keys)
            if found is not None:
                return found
        return []

    def some_damaged_pages(self, begin: bytes, count: int) -> tuple[list[PageFinding], bytes]:
        """As :meth:`damaged_pages`, for ``count`` leaves from a key on; also return the key to continue from."""
        with self.read(unread=True) as txn:
            found = some_damaged_pages(self.folder / shared_environment.DATA_FILE, txn.id(), begin, count)
        return ([], begin) if found is None else found

    def refuse_damaged_pages(self, keys: Sequence[bytes] = ()) -> None:
        """Check the data file before a large read or write, or only the paths to ``keys`` before using those records.

        Raises:
            DamagedStore: the data file is damaged in a way that would lead LMDB astray.
        """
        for found in self.damaged_pages(keys):
            raise DamagedStore(
                f"{self.folder / shared_environment.DATA_FILE} is damaged at page {found.page}: {found.problem}",
                "Restore the store from a backup",
            )

    def size_bytes(self) -> int:
        """Size of the data file in bytes."""
        return (self.folder / shared_environment.DATA_FILE).stat().st_size

    def map_bytes(self) -> tuple[int, int]:
        """Reserved bytes of the memory map, and the bytes up to the last page in use."""
        self._require_open()
        info = self._shared.env.info()
        return info["map_size"], (info["last_pgno"] + 1) * self._shared.env.stat()["psize"]

    def close(self) -> None:
        """Release the environment; the last handle of the process closes it."""
        if not self._closed:
            self._closed = True
            if os.getpid() == self._pid:
                shared_environment.release(self._shared)

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"The store {self.folder} was closed", "Open it again")
        if os.getpid() != self._pid:
            raise ForkedProcess(
                f"The store {self.folder} was opened in process {self._pid}, before a fork",
                shared_environment.FORK_REMEDY,
            )
