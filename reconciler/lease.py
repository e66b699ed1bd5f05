"""One lease a store for work in the background: whoever has it does the work, everybody else goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import filelock

from worlddb.log.model.errors import UnavailableError

LEASE_FILE: Final = "background.lock"


@contextmanager
def background_lease(folder: Path, *, wait_seconds: float = 0.0) -> Iterator[bool]:
    """Take the lease of a store; false if another process or thread has it for all of the time. It is given back by the
    kernel when its process dies.

    Raises:
        UnavailableError: the directory cannot be written to, or is there no more.
    """
    if not folder.is_dir():
        # Taking the lock would make it again.
        raise UnavailableError(f"{folder} is gone: the store was moved or deleted while it was open", "Put it back")
    lock = filelock.FileLock(folder / LEASE_FILE, timeout=wait_seconds)
    try:
        lock.acquire()
    except filelock.Timeout:
        yield False
        return
    except OSError as error:
        raise UnavailableError(
            f"The lease for work in the background cannot be taken: {error}", "Check permissions and disk space"
        ) from error
    try:
        yield True
    finally:
        lock.release()
