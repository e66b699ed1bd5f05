"""Durable files and folders: what survives a crash.

After a sync of a file its bytes survive one, its name after a sync of its folder.
"""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import lmdb

NEW_PREFIX: Final = ".new-"
"""How a folder begins in which a data file is being made."""
_NEW_MAP_BYTES: Final = 1 << 20


def make_folder(folder: Path) -> None:
    """Make a folder and those around it, as far as they are missing.

    They are there after a crash.

    Raises:
        OSError: it cannot be made.
    """
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    folder.mkdir(parents=True, exist_ok=True)
    for made in reversed(missing):
        sync_folder(made.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can be told to.

    Raises:
        OSError: they cannot be written.
    """
    if os.name == "nt":
        return
    _sync(folder, os.O_RDONLY)


def sync_file(file: Path) -> None:
    """Wait until the bytes of a file are on the disk.

    Raises:
        OSError: they cannot be written.
    """
    _sync(file, os.O_RDWR)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_data_file(data: Path) -> bool:
    """Put an LMDB file that holds nothing in a place where there is none.

    It is put there durably, whole or not at all. True if there is one then. LMDB itself writes the first two pages
    and goes on: after a crash they may be there in part, and be taken for damage. Somebody else may put one there at
    the same time, and theirs stays. False where a file cannot have two names, or the disk is full: LMDB has to make
    it after all, or to say why not.

    Raises:
        OSError: the folder cannot be written to.
    """
    with TemporaryDirectory(dir=data.parent, prefix=NEW_PREFIX, ignore_cleanup_errors=True) as aside:
        try:
            lmdb.open(aside, map_size=_NEW_MAP_BYTES, lock=False).close()
            sync_file(Path(aside) / data.name)
            os.link(Path(aside) / data.name, data)
        except (OSError, lmdb.Error):
            if not data.exists():
                return False
    for left in data.parent.glob(f"{NEW_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    sync_folder(data.parent)
    return True
