"""Writing a data file anew, so that nothing is left in it of what was deleted.

LMDB never overwrites what it deletes: the bytes stay in free pages, and inside pages in the gap between records. Its
own compacting copy takes whole pages, gaps included. So every pair is put into a fresh file, sorted and appended.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb

from worlddb.log.model.errors import DamagedStore
from worlddb.log.store.durable import sync_folder
from worlddb.log.store.pages import damaged_pages, set_transaction
from worlddb.log.store.shared import DATA_FILE, REWRITE_FOLDER


def write_copy(source: lmdb.Transaction, folder: Path, without: bytes, map_bytes: int) -> Path:
    """Write every pair of a transaction, but for the one of the key ``without``, into a file of its own.

    The file counts transactions where the source is, so that it can take its place under the same lock file.

    Raises:
        OSError: it cannot be written.
        DamagedStore: what was written is not what was read.
    """
    aside = folder / REWRITE_FOLDER
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    # One transaction: a second one would leave free pages. Nobody else has the file, and it is synced at the end.
    env = lmdb.open(str(aside), map_size=map_bytes, lock=False, sync=False, metasync=False)
    try:
        with env.begin(write=True) as txn, txn.cursor() as cursor, source.cursor() as pairs:
            cursor.putmulti(_without(pairs, without), append=True)
        env.sync(True)
        written = env.stat()["entries"]
    finally:
        env.close()
    copy = aside / DATA_FILE
    set_transaction(copy, source.id())
    left_out = source.get(without) is not None
    if written + left_out != source.stat()["entries"] or damaged_pages(copy, source.id(), (b"\x00", b"\xff")):
        raise DamagedStore(f"{copy} is not a whole copy", "Run `worlddb verify`, and check the disk")
    return copy


def _without(pairs: lmdb.Cursor, key: bytes) -> Iterator[tuple[bytes, bytes]]:
    pairs.first()
    for pair in pairs:
        if pair[0] != key:
            yield pair  # type: ignore[misc]


def put_in_place(copy: Path, folder: Path, step: Callable[[str], None]) -> None:
    """Let a copy take the place of the folder's data file, durably; whoever has the old one open keeps it.

    Raises:
        OSError: it cannot be; the old file is still there.
    """
    shutil.copymode(folder / DATA_FILE, copy)
    os.replace(copy, folder / DATA_FILE)
    step("replaced")
    sync_folder(folder)
    shutil.rmtree(copy.parent, ignore_errors=True)
    step("settled")
