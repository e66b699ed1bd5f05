"""The lock between writers, with a time limit and the name of its holder.

LMDB has a write lock of its own, but a process that is stopped while holding it makes every other writer wait
without end and without a word. This lock is taken first: the kernel releases it when its process dies, it gives
up after a time limit, and it knows who holds it.
"""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from worlddb.log.model.errors import UnavailableError, WriterBusy

if TYPE_CHECKING:
    from filelock import FileLock

POLL_SECONDS: Final = 0.002
LOCK_FILE: Final = "writer.lock"
HOLDER_FILE: Final = "writer.json"


class WriterLock:
    """The store's lock between writers of all processes and threads."""

    def __init__(self, folder: Path, author: str, timeout_seconds: float) -> None:
        self._lock_file = folder / LOCK_FILE
        self._holder_file = folder / HOLDER_FILE
        self._timeout_seconds = timeout_seconds
        self._holder = json.dumps(
            {"pid": os.getpid(), "host": socket.gethostname(), "author": author}, ensure_ascii=True
        ).encode()

    @cached_property
    def _lock(self) -> FileLock:
        """The lock itself, whose library the first write loads: a handle that only reads does not wait for it."""
        from filelock import FileLock

        made = FileLock(self._lock_file, timeout=self._timeout_seconds, poll_interval=POLL_SECONDS)
        # Threads that come here at the same time have to share one.
        shared: FileLock = self.__dict__.setdefault("_lock", made)
        return shared

    @contextmanager
    def held(self, timeout_seconds: float | None = None, *, look: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the lock; another time limit than usual may be given, and a look at the directory before it is signed.

        Raises:
            WriterBusy: another writer held it for the whole time limit; the message names it.
            UnavailableError: the directory cannot be written to.
        """
        from filelock import Timeout

        try:
            self._lock.acquire(timeout=timeout_seconds)
        except Timeout:
            holder = self.holder()
            who = f"process {holder.get('pid', '?')} on {holder.get('host', '?')}, author {holder.get('author', '?')!r}"
            waited = self._timeout_seconds if timeout_seconds is None else timeout_seconds
            raise WriterBusy(
                f"The store was held by another writer ({who}) for {waited:g} s",
                "Try again; if that process is stopped, continue or end it. Nothing was written, reads go on",
                holder=holder,
            ) from None
        except OSError as error:
            raise _unwritable(error) from error
        try:
            look()
            try:
                self._sign()
            except OSError as error:
                raise _unwritable(error) from error
            yield
        finally:
            self._lock.release()

    def holder(self) -> dict[str, Any]:
        """Who took the lock last, as far as it could say."""
        try:
            found = json.loads(self._holder_file.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _sign(self) -> None:
        try:
            if self._holder_file.read_bytes() == self._holder:
                return
        except OSError:
            pass
        self._holder_file.write_bytes(self._holder)


def _unwritable(error: OSError) -> UnavailableError:
    is_frozen = error.errno == errno.EROFS
    remedy = (
        "Copy the directory to a place where you may write"
        if is_frozen
        else "Check permissions, disk space and open files"
    )
    return UnavailableError(f"The store cannot be locked for writing: {error}", f"{remedy}; reads go on")
