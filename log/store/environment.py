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
from worlddb.log.store.lock import WriterLock

T = TypeVar("T")

DATA_FILE: Final = "data.mdb"
INDEX_FOLDER: Final = "indexes"
_MAP_BYTES: Final = 1 << 30 if sys.platform == "win32" else 1 << 40
_SMALLEST_MAP_BYTES: Final = 1 << 24
_MAX_READERS: Final = 1024


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
        try:
            try:
                txn = self._shared.env.begin()
            except lmdb.MapResizedError:
                self._shared.adopt_map_size()
                txn = self._shared.env.begin()
            with txn:
                yield txn
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
                    txn = self._begin_write()
                    try:
                        self.step("begun")
                        result = work(txn)
                        self.step("applied")
                        txn.commit()
                    except BaseException:
                        txn.abort()
                        raise
                    self.step("committed")
                    return result
                except lmdb.MapFullError:
                    self._shared.grow()
                except lmdb.Error as error:
                    raise _translated(error, self.folder) from error

    def _begin_write(self) -> lmdb.Transaction:
        try:
            return self._shared.env.begin(write=True)
        except lmdb.MapResizedError:
            self._shared.adopt_map_size()
            return self._shared.env.begin(write=True)

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
                f"The store {self.folder} was opened in process {self._pid}, before a fork",
                "Open it again in the child process",
            )


class _Shared:
    """What the handles of one process on one path have in common."""

    def __init__(self, folder: Path) -> None:
        self.key = os.path.realpath(folder)
        self.handles = 0
        self.env = _open(folder)

    def grow(self) -> None:
        self.env.set_mapsize(self.env.info()["map_size"] * 2)

    def adopt_map_size(self) -> None:
        """Another process grew the map."""
        self.env.set_mapsize(0)


_open_environments: dict[tuple[int, str], _Shared] = {}
_registry_lock = threading.Lock()


def _acquire(folder: Path) -> _Shared:
    with _registry_lock:
        key = (os.getpid(), os.path.realpath(folder))
        shared = _open_environments.get(key)
        try:
            if shared is None:
                shared = _Shared(folder)
        except lmdb.Error as error:
            raise _translated(error, folder) from error
        shared.handles += 1
        _open_environments[key] = shared
        return shared


def _release(shared: _Shared) -> None:
    with _registry_lock:
        shared.handles -= 1
        if not shared.handles:
            del _open_environments[(os.getpid(), shared.key)]
            shared.env.close()


def _open(folder: Path) -> lmdb.Environment:
    data = folder / DATA_FILE
    existing_bytes = data.stat().st_size if data.exists() else 0
    map_bytes = _MAP_BYTES
    while True:
        try:
            env = lmdb.open(
                str(folder),
                map_size=max(map_bytes, existing_bytes),
                max_readers=_MAX_READERS,
                max_spare_txns=8,
                subdir=True,
            )
            break
        except (lmdb.MemoryError, MemoryError):
            if map_bytes <= _SMALLEST_MAP_BYTES:
                raise
            map_bytes //= 2
    if existing_bytes:
        _refuse_truncated(env, existing_bytes, folder)
    env.reader_check()
    return env


def _refuse_truncated(env: lmdb.Environment, size_bytes: int, folder: Path) -> None:
    """A data file shorter than its own page count would end the process on access, so look before."""
    needed = (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    if size_bytes < needed:
        env.close()
        raise DamagedStore(
            f"{folder / DATA_FILE} has {size_bytes:,} bytes but its pages need {needed:,}: it was cut short",
            "Restore the store from a backup",
        )


def _translated(error: lmdb.Error, folder: Path) -> Exception:
    if isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError):
        return NotAStore(f"{folder / DATA_FILE} is not an LMDB file of this kind: {error}", "Check the path")
    damaged = lmdb.CorruptedError | lmdb.PageNotFoundError | lmdb.PanicError | lmdb.BadTxnError | lmdb.ProblemError
    if isinstance(error, damaged):
        return DamagedStore(f"{folder} has a damaged page: {error}", "Run `worlddb verify`, or restore a backup")
    return UnavailableError(f"{folder} cannot be used now: {error}", "Check disk space and permissions, then try again")
