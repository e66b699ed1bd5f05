"""An index's folder on disk: opening it whatever its state, writing it, forgetting it, checking it.

``meta.json`` is Tantivy's list of segments, replaced by renaming at each commit; its inode, size and time therefore
say whether anything was committed. A folder without it holds no index.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from worlddb.projections.indexes.fields import read_marker, register_analyzers, schema
from worlddb.projections.indexes.view import IndexLocked, IndexUnreadable, IndexUnwritable, Stamp, TextView, told_as

if TYPE_CHECKING:
    from tantivy import Index, IndexWriter

_META: Final = "meta.json"
_FOOTER_MAGIC: Final = (1337).to_bytes(4, "little")
_LOAD_ATTEMPTS: Final = 3
_RESET_ATTEMPTS: Final = 3
"""How often to delete a folder in which a process that is just opening it makes Tantivy's lock file again."""


def stamp_of(folder: Path) -> Stamp | None:
    """What changes with every commit to the folder; None if it holds no index."""
    try:
        found = os.stat(f"{folder}/{_META}")  # As text: every search asks, and to join paths takes longer.
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def load(folder: Path) -> TextView | None:
    """The index as it was last committed; None if it is missing, torn, or of another format."""
    for _ in range(_LOAD_ATTEMPTS):
        stamp = stamp_of(folder)
        if stamp is None:
            return None
        try:
            with told_as(IndexUnreadable):
                return _loaded(folder, stamp)
        except IndexUnreadable:
            # Another process may have merged files away between our reading the list and opening them.
            if stamp == stamp_of(folder):
                return None
    return None


def open_to_write(folder: Path, distrusted: Stamp | None) -> Index:
    """The folder's index, begun anew where there is none, or none that can be read and trusted.

    Always opened afresh: Tantivy never cleans up files that others wrote after it opened a folder.

    Raises:
        IndexUnwritable: the folder cannot be written.
    """
    from tantivy import Index

    stamp = stamp_of(folder)
    usable = stamp is not None and stamp != distrusted and load(folder) is not None
    with told_as(IndexUnwritable):
        if not usable:
            reset(folder)
        folder.mkdir(parents=True, exist_ok=True)
        index = Index(schema(), path=str(folder))
        index.config_reader("manual")
        register_analyzers(index)
        return index


@contextmanager
def writing(index: Index, heap_bytes: int) -> Iterator[IndexWriter]:
    """The index's one writer; what is not committed inside is dropped.

    Raises:
        IndexUnwritable: somebody else has the writer.
    """
    with told_as(IndexUnwritable):
        writer = index.writer(heap_bytes, 1)
    try:
        yield writer
    finally:
        # Waiting lets merges finish, without which segments pile up, and gives the writer lock back at once, even
        # while a traceback still refers to the writer. A merge that failed leaves the segments as they were.
        with suppress(IndexUnwritable), told_as(IndexUnwritable):
            writer.wait_merging_threads()


def reset(folder: Path) -> None:
    """Forget the folder's contents. Whoever has it open goes on until the next refresh."""
    if folder.is_file():
        folder.unlink()
        return
    # The list of segments goes first: from then on the folder holds no index, however far the rest comes.
    (folder / _META).unlink(missing_ok=True)
    for _ in range(_RESET_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


@contextmanager
def locked(folder: Path, wait_seconds: float) -> Iterator[None]:
    """Alone among the processes that write the index of a folder.

    Raises:
        IndexLocked: another one has the lock.
        IndexUnwritable: there can be no lock here.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder.parent / f"{folder.name}.lock", timeout=wait_seconds)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise IndexLocked(str(error)) from error
    except OSError as error:
        raise IndexUnwritable(str(error)) from error
    try:
        yield
    finally:
        lock.release()


def damaged_files(folder: Path) -> list[str]:
    """The names of the index's files that are not as Tantivy wrote them, by the checksum at the end of each.

    Reads everything, so it is for verifying, not for opening. An index that cannot be opened at all names its list of
    segments.
    """
    if stamp_of(folder) is None:
        return []
    damaged = [] if load(folder) is not None else [_META]
    for file in sorted(folder.iterdir()):
        if not file.name.startswith(".") and file.name != _META and not _is_whole(file):
            damaged.append(file.name)
    return damaged


def _loaded(folder: Path, stamp: Stamp) -> TextView:
    from tantivy import Index

    index = Index.open(str(folder))
    if index.schema != schema():
        raise IndexUnreadable(f"{folder} has other fields")
    index.config_reader("manual")
    searcher = index.searcher()
    return TextView(searcher, read_marker(searcher), stamp)


def _is_whole(file: Path) -> bool:
    """The layout is ``body | footer as JSON | footer's length u32 | 1337 u32``, little-endian."""
    try:
        stored = file.read_bytes()
    except FileNotFoundError:
        return True  # merged away by another process
    start = len(stored) - 8 - int.from_bytes(stored[-8:-4], "little")
    if stored[-4:] != _FOOTER_MAGIC or start < 0:
        return False
    try:
        return bool(json.loads(stored[start:-8])["crc"] == zlib.crc32(memoryview(stored)[:start]))
    except (ValueError, KeyError, TypeError):
        return False
