"""The lock between writers, with a time limit and the name of its holder.

LMDB has a write lock of its own, but a process that is stopped while holding it makes every other writer wait
without end and without a word. This lock is taken first: the kernel releases it when its process dies, it gives
up after a time limit, and it knows who holds it.
"""

import errno
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from worlddb.log.model.clock import monotonic, pause
from worlddb.log.model.errors import UnavailableError, WriterBusy
from worlddb.log.store import durable

POLL_SECONDS: Final = 0.002
LOCK_FILE: Final = "writer.lock"
HOLDER_FILE: Final = "writer.json"
_CONTENTION: Final = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)
_OPENED: Final = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE: Final = 0o644


@contextmanager
def claimed_folder(folder: Path) -> Iterator[bool]:
    """Claim a directory in which a store is made; false if another claim of this or another process holds it.

    The kernel drops the claim when its process dies. Where directories take no locks, every claim succeeds.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_claimed = True
    except OSError as error:
        is_claimed = error.errno not in _CONTENTION
    try:
        yield is_claimed
    finally:
        os.close(descriptor)


class WriterLock:
    """The store's lock between writers of all processes and threads.

    Each holder opens the file again: the kernel tells threads and handles of one process apart by their descriptors.
    """

    def __init__(self, folder: Path, author: str, timeout_seconds: float) -> None:
        self._lock_file = str(folder / LOCK_FILE)
        self._holder_file = folder / HOLDER_FILE
        self._timeout_seconds = timeout_seconds
        self._holder = json.dumps(
            {"pid": os.getpid(), "host": os.uname().nodename, "author": author}, ensure_ascii=True
        ).encode()

    @contextmanager
    def held(self, timeout_seconds: float | None = None, *, look: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the lock for a block; ``look`` checks the directory before the holder's name is written.

        ``timeout_seconds`` overrides the usual time limit.

        Raises:
            WriterBusy: another writer held it for the whole time limit; the message names it.
            UnavailableError: the directory cannot be written to.
        """
        waited = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        try:
            descriptor = self._wait_for_file(waited)
        except OSError as error:
            raise _unwritable_error(error, self._holder_file.parent) from error
        if descriptor is None:
            holder = self.holder()
            who = f"process {holder.get('pid', '?')} on {holder.get('host', '?')}, author {holder.get('author', '?')!r}"
            raise WriterBusy(
                f"Another writer ({who}) held the store for {waited:g} s",
                "Try again; if that process is stopped, continue or end it. Nothing was written; reads go on",
                holder=holder,
            )
        try:
            look()
            try:
                self._write_holder()
            except OSError as error:
                raise _unwritable_error(error, self._holder_file.parent) from error
            yield
        finally:
            # A child that was forked meanwhile has the file open too: to close it would not end the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _wait_for_file(self, timeout_seconds: float) -> int | None:
        """Return the locked file; None if another writer held it for the whole time limit."""
        until: float | None = None
        while (taken := self._try_file()) is None:
            now = monotonic()
            until = now + timeout_seconds if until is None else until
            if now >= until:
                return None
            pause(min(POLL_SECONDS, until - now))
        return taken

    def _try_file(self) -> int | None:
        """Return the locked file; None if it is locked elsewhere, or was unlinked meanwhile."""
        try:
            # Without O_CREAT: in a folder with a sticky bit that would need the file's owner.
            descriptor = os.open(self._lock_file, _OPENED)
        except FileNotFoundError:
            descriptor = os.open(self._lock_file, _OPENED | os.O_CREAT, _MODE)
        except BlockingIOError:
            return None  # Somebody's lease on the file is being broken.
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A file that was unlinked between opening and locking protects no name any more.
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except OSError as error:
            os.close(descriptor)
            if error.errno in _CONTENTION:
                return None
            raise
        os.close(descriptor)
        return None

    def holder(self) -> dict[str, Any]:
        """Process, host and author of the last holder; empty if that was not recorded."""
        try:
            found = json.loads(self._holder_file.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write_holder(self) -> None:
        try:
            if self._holder_file.read_bytes() == self._holder:
                return
        except OSError:
            pass
        self._holder_file.write_bytes(self._holder)


def _unwritable_error(error: OSError, folder: Path) -> UnavailableError:
    is_frozen = error.errno == errno.EROFS
    remedy = (
        "Copy the directory to a place that you may write to"
        if is_frozen
        else "Check permissions, disk space and open files"
    )
    told = f"The store cannot be locked for writing: {error}"
    return durable.system_error(error, folder, told, f"{remedy}; reads go on")
