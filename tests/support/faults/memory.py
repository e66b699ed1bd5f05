"""Where tests of processes and processors put their stores: the speed of a disk is not what they are about."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """A folder that is gone afterwards, in memory where the machine has a file system there."""
    with tempfile.TemporaryDirectory(
        dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None, prefix="worlddb-test-"
    ) as folder:
        yield Path(folder)
