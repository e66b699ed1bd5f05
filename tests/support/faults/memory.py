"""A folder in memory for tests' files, since disk speed is not under test."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")
ROOM_BYTES, SOAK_ROOM_BYTES = 1 << 30, 6 << 30
"""What is to be free there: a plain run holds 150 MB at most, a soak run imports files of hundreds of MiB."""


def memory_with_room(room_bytes: int = ROOM_BYTES) -> Path | None:
    """The file system in memory, if it has room for a test run and may run programs."""
    if not os.access(_MEMORY, os.W_OK) or os.statvfs(_MEMORY).f_flag & getattr(os, "ST_NOEXEC", 0):
        return None
    return _MEMORY if shutil.disk_usage(_MEMORY).free >= room_bytes else None


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Make a temporary folder, in memory where the machine has a file system there."""
    with tempfile.TemporaryDirectory(
        dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None, prefix="worlddb-test-"
    ) as folder:
        yield Path(folder)
