"""The LMDB environment: one a path and process, shared by every handle on that path.

    DIR/data.mdb, lock.mdb     LMDB: log, blobs and tables, which commit together
    DIR/writer.lock, .json     the lock between writers, and who holds it
    DIR/indexes/               what catches up by checkpoint and may be deleted at any time

A large sparse map is reserved at creation, so that nobody is asked for a size; where the platform refuses it, the
map grows by doubling. No transaction outlives one call.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import lmdb

from worlddb.log.model.errors import DamagedStore, ForkedProcess, NotAStore, StoreClosed, UnavailableError
from worlddb.log.store.lock import HOLDER_FILE, WriterLock
from worlddb.log.store.pages import PageFinding, damaged_pages

T = TypeVar("T")

DATA_FILE: Final = "data.mdb"
LMDB_LOCK_FILE: Final = "lock.mdb"
INDEX_FOLDER: Final = "indexes"
_MAP_BYTES: Final = 1 << 30 if sys.platform == "win32" else 1 << 40
_SMALLEST_MAP_BYTES: Final = 1 << 24
_MAX_READERS: Final = 1024
_LOCK_BYTES: Final = 128 + 64 * _MAX_READERS
"""What LMDB's table of that many readers takes."""
_PATIENCE_SECONDS: Final = 10.0
_SNAPSHOT_ATTEMPTS: Final = 5
"""How often to begin again because two commits came between opening a snapshot and finding it in the file."""
_FORK_REMEDY: Final = "Start the process by spawn or forkserver, or open the store only after the fork"


def _no_step(name: str) -> None:
    """Tests put their crash points here."""


class Environment:
    """An open store directory, and short transactions on it.

    Everything lies in LMDB's one unnamed database, each kind of record under its own first byte. Handles of named
    databases can only be opened in a write transaction, so that a stopped writer would keep readers from opening the
    store; and a small commit touches fewer pages of one tree than of many.
    """

    def __init__(self, folder: Path, *, author: str, timeout_seconds: float) -> None:
        self.folder = folder
        self.step: Callable[[str], None] = _no_step
        self._pid = os.getpid()
        self._closed = False
        self._lock = WriterLock(folder, author, timeout_seconds)
        self._shared = _acquire(folder)

    @contextmanager
    def read(self) -> Iterator[lmdb.Transaction]:
        """A read transaction for the length of one call."""
        self._check()
        shared = self._shared
        try:
            shared.enter()
            try:
                with shared.begin(write=False) as txn:
                    yield txn
            finally:
                shared.leave()
        except lmdb.Error as error:
            raise _translated(error, self.folder) from error

    def write(self, work: Callable[[lmdb.Transaction], T]) -> T:
        """Run ``work`` in the one write transaction and make it durable; on any exception nothing happened.

        ``work`` may run again from the start when the map had to grow, so it must not keep state.

        Raises:
            WriterBusy: another writer held the store beyond the time limit.
        """
        self._check()
        with self._lock.held():
            self.step("locked")
            while True:
                try:
                    return self._write_once(work)
                except lmdb.MapFullError:
                    self._shared.grow()
                except lmdb.Error as error:
                    raise _translated(error, self.folder) from error

    def _write_once(self, work: Callable[[lmdb.Transaction], T]) -> T:
        self._shared.enter()
        try:
            txn = self._shared.begin(write=True)
            try:
                self.step("begun")
                result = work(txn)
                self.step("applied")
                txn.commit()
            except BaseException:
                self._shared.abort(txn)
                raise
        finally:
            self._shared.leave()
        self.step("committed")
        return result

    def damaged_pages(self) -> list[PageFinding]:
        """What is wrong with the structure of the data file, found without following it; reads all of it."""
        for _ in range(_SNAPSHOT_ATTEMPTS):
            with self.read() as txn:
                found = damaged_pages(self.folder / DATA_FILE, txn.id())
            if found is not None:
                return found
        return []

    def size_bytes(self) -> int:
        """Bytes of the data file that hold something."""
        return (self.folder / DATA_FILE).stat().st_size

    def close(self) -> None:
        """Let go of the environment; the last handle of the process closes it."""
        if not self._closed:
            self._closed = True
            if os.getpid() == self._pid:
                _release(self._shared)

    def _check(self) -> None:
        if self._closed:
            raise StoreClosed(f"The store {self.folder} was closed", "Open it again")
        if os.getpid() != self._pid:
            raise ForkedProcess(
                f"The store {self.folder} was opened in process {self._pid}, before a fork", _FORK_REMEDY
            )


class _Shared:
    """What the handles of one process on one path have in common."""

    def __init__(self, folder: Path) -> None:
        self.key = os.path.realpath(folder)
        self.handles = 0
        self.env = _open(folder)
        self._turn = threading.Condition()
        self._inside = 0
        self._excluding = 0
        self._mine = threading.local()

    def enter(self) -> None:
        """Before every transaction, so that :meth:`alone` knows of it."""
        mine: int = getattr(self._mine, "inside", 0)
        with self._turn:
            if self._excluding and not mine:
                self._turn.wait_for(lambda: not self._excluding, _PATIENCE_SECONDS)
            self._inside += 1
        self._mine.inside = mine + 1

    def leave(self) -> None:
        """After every transaction."""
        self._mine.inside -= 1
        with self._turn:
            self._inside -= 1
            if self._excluding:
                self._turn.notify_all()

    @contextmanager
    def alone(self) -> Iterator[int]:
        """Keep new transactions of other threads waiting until theirs have ended, up to a time limit; how many are
        left then."""
        mine: int = getattr(self._mine, "inside", 0)
        with self._turn:
            self._excluding += 1
            try:
                self._turn.wait_for(lambda: self._inside <= mine, _PATIENCE_SECONDS)
                yield self._inside
            finally:
                self._excluding -= 1
                self._turn.notify_all()

    def begin(self, *, write: bool) -> lmdb.Transaction:
        """A transaction; if another process has grown the map, this one follows it first."""
        try:
            return self.env.begin(write=write)
        except lmdb.MapResizedError:
            self.leave()
            try:
                self._resize(lambda: 0)
            finally:
                self.enter()
            return self.env.begin(write=write)

    def abort(self, txn: lmdb.Transaction) -> None:
        """Undo a write transaction. LMDB's binding waits for a moment in which no thread reads, which may never come
        while several are at it."""
        with self.alone():
            txn.abort()

    def grow(self) -> None:
        """Double the map, for the whole process."""
        self._resize(lambda: self.env.info()["map_size"] * 2)

    def _resize(self, map_bytes: Callable[[], int]) -> None:
        """Map the file anew (0: at the size that the file says), which ends every open transaction."""
        with self.alone() as left:
            if left:
                raise UnavailableError(
                    f"{self.key} outgrew its map while {left} transactions of this process were open",
                    "Let them end, then try again",
                )
            self.env.set_mapsize(map_bytes())


_open_environments: dict[tuple[int, str], _Shared] = {}
_registry_lock = threading.Lock()


def _acquire(folder: Path) -> _Shared:
    with _registry_lock:
        key = (os.getpid(), os.path.realpath(folder))
        _refuse_inherited(key[1])
        shared = _open_environments.get(key)
        try:
            if shared is None:
                shared = _Shared(folder)
        except lmdb.Error as error:
            raise _translated(error, folder) from error
        except OSError as error:
            raise UnavailableError(
                f"{folder} cannot be opened: {error}", "Check the path and its permissions"
            ) from error
        shared.handles += 1
        _open_environments[key] = shared
        return shared


def _refuse_inherited(path: str) -> None:
    """LMDB opens a file once in a process, and a forked child cannot close what its parent is using."""
    if any(pid != os.getpid() and inherited == path for pid, inherited in _open_environments):
        raise ForkedProcess(f"The store {path} was open in the parent process when it forked", _FORK_REMEDY)


def _release(shared: _Shared) -> None:
    with _registry_lock:
        shared.handles -= 1
        if not shared.handles:
            del _open_environments[(os.getpid(), shared.key)]
            shared.env.close()


def _open(folder: Path) -> lmdb.Environment:
    _refuse_emptied(folder)
    _allocate_lock_file(folder)
    data = folder / DATA_FILE
    existing_bytes = data.stat().st_size if data.exists() else 0
    map_bytes = _MAP_BYTES
    while True:
        try:
            env = lmdb.open(
                str(folder),
                map_size=max(map_bytes, existing_bytes),
                max_readers=_MAX_READERS,
                # A forked child that lets go of its copy would end the parent's spare transactions with it.
                max_spare_txns=0,
                subdir=True,
            )
            break
        except (lmdb.MemoryError, MemoryError):
            if map_bytes <= _SMALLEST_MAP_BYTES:
                raise
            map_bytes //= 2
    if existing_bytes:
        try:
            _refuse_truncated(env, folder)
        except BaseException:
            env.close()
            raise
    env.reader_check()
    return env


def _allocate_lock_file(folder: Path) -> None:
    """LMDB maps this file with holes in it: on a full disk, touching one would end the process without a word."""
    allocate = getattr(os, "posix_fallocate", None)
    path = folder / LMDB_LOCK_FILE
    if allocate is None or (path.exists() and path.stat().st_size >= _LOCK_BYTES):
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        allocate(descriptor, 0, _LOCK_BYTES)
    finally:
        os.close(descriptor)


def _refuse_truncated(env: lmdb.Environment, folder: Path) -> None:
    """A page beyond the end of the data file would end the process on access, so look before."""
    data = folder / DATA_FILE
    needed = (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    size_bytes = data.stat().st_size
    if size_bytes >= needed:
        return
    with env.begin() as txn:
        damage = damaged_pages(data, txn.id())
    if damage or damage is None:
        raise DamagedStore(
            f"{data} has {size_bytes:,} bytes but its pages need {needed:,}: it was cut short",
            "Restore the store from a backup",
        )


def _refuse_emptied(folder: Path) -> None:
    """LMDB makes an empty or missing file into an empty store, which must not happen to one that was written to."""
    data = folder / DATA_FILE
    if (folder / HOLDER_FILE).exists() and not (data.exists() and data.stat().st_size):
        raise DamagedStore(
            f"{data} is empty or gone, but the store has been written to", "Restore the store from a backup"
        )


def _translated(error: lmdb.Error, folder: Path) -> Exception:
    data = folder / DATA_FILE
    unknown_format = type(error) is lmdb.Error and "data format" in str(error)
    if unknown_format or isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError):
        if (folder / HOLDER_FILE).exists():
            return DamagedStore(f"{data} is cut short or overwritten: {error}", "Restore the store from a backup")
        return NotAStore(f"{data} is not an LMDB file of this kind: {error}", "Check the path")
    damaged = lmdb.CorruptedError | lmdb.PageNotFoundError | lmdb.PanicError | lmdb.BadTxnError | lmdb.ProblemError
    if isinstance(error, damaged):
        return DamagedStore(f"{folder} has a damaged page: {error}", "Run `worlddb verify`, or restore a backup")
    return UnavailableError(f"{folder} cannot be used now: {error}", "Check disk space and permissions, then try again")
