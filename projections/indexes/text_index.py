"""The text index: one Tantivy folder, or one in memory, of every text up to its marker.

Only :meth:`TextIndex.apply` writes to a folder; opening and searching leave it as it is. A folder that cannot be read
(missing, torn, of another format) counts as empty, without a marker, and the next apply begins it anew.

``meta.json`` is Tantivy's list of segments, replaced by renaming at each commit; its inode, size and time therefore
say whether anything was committed. A folder without it holds no index.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from worlddb.projections.indexes import analysis, fields, text_snapshot

if TYPE_CHECKING:
    from tantivy import Index, IndexWriter

_META: Final = "meta.json"
PASSED: Final = ".passed"
"""The file beside the index: the marker in it, and the one that it has reached since without another text."""
_FOOTER_MAGIC: Final = (1337).to_bytes(4, "little")
POLL_SECONDS: Final = 0.005
_LOAD_ATTEMPTS: Final = 3
_RESET_ATTEMPTS: Final = 3
"""How often to delete a folder in which a process that is just opening it makes Tantivy's lock file again."""


def folder_stamp(folder: Path) -> text_snapshot.Stamp | None:
    """A stamp that changes with every commit to the folder; None if it holds no index."""
    try:
        found = os.stat(f"{folder}/{_META}")  # As text: every search asks, and to join paths takes longer.
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):  # Tantivy would wait for ever for a pipe.
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def load(folder: Path) -> text_snapshot.TextView | None:
    """The index as it was last committed; None if it is missing, torn, or of another format."""
    for _ in range(_LOAD_ATTEMPTS):
        stamp = folder_stamp(folder)
        if stamp is None:
            return None
        try:
            with text_snapshot.raising_as(text_snapshot.IndexUnreadable):
                return _load_cached(folder, stamp)
        except text_snapshot.IndexUnreadable:
            # Another process may have merged files away between our reading the list and opening them.
            if stamp == folder_stamp(folder):
                return None
    return None


def open_to_write(folder: Path, distrusted: text_snapshot.Stamp | None) -> Index:
    """Open the folder's index for writing; begin a new one if none is readable and trusted.

    Always opened afresh: Tantivy never cleans up files that others wrote after it opened a folder.

    Raises:
        IndexUnwritable: the folder cannot be written.
    """
    from tantivy import Index

    stamp = folder_stamp(folder)
    usable = stamp is not None and stamp != distrusted and load(folder) is not None
    with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
        if not usable:
            reset(folder)
        folder.mkdir(exist_ok=True)
        index = Index(fields.schema(), path=str(folder))
        index.config_reader("manual")
        fields.register_analyzers(index)
        return index


@contextmanager
def open_writer(index: Index, heap_bytes: int) -> Iterator[IndexWriter]:
    """The index's one writer; what is not committed inside is dropped.

    Raises:
        IndexUnwritable: somebody else has the writer.
    """
    with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
        writer = index.writer(heap_bytes, 1)
    try:
        yield writer
    finally:
        # Waiting lets merges finish, without which segments pile up, and gives the writer lock back at once, even
        # while a traceback still refers to the writer. A merge that failed leaves the segments as they were.
        with suppress(text_snapshot.IndexUnwritable), text_snapshot.raising_as(text_snapshot.IndexUnwritable):
            writer.wait_merging_threads()


def segment_sizes(folder: Path) -> list[int]:
    """The number of documents of each segment; empty where that cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return [int(each["max_doc"]) for each in json.loads((folder / _META).read_bytes())["segments"]]
    return []


def index_bytes(folder: Path) -> int:
    """The size of an index's files in bytes, with leftovers of merges; 0 where that cannot be read."""
    with suppress(OSError):
        return sum(each.stat().st_size for each in os.scandir(folder))
    return 0


def reset(folder: Path) -> None:
    """Delete the folder's contents, or what is there in its place. Open views stay usable until the next refresh."""
    if not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    # The list of segments goes first: from then on the folder holds no index, however far the rest comes.
    with suppress(IsADirectoryError):
        (folder / _META).unlink(missing_ok=True)
    for _ in range(_RESET_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


@contextmanager
def index_lock(folder: Path, wait_seconds: float) -> Iterator[None]:
    """Hold the lock between the processes that write the index of a folder.

    Raises:
        IndexLocked: another one has the lock.
        IndexUnwritable: there can be no lock here.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder.parent / f"{folder.name}.lock", timeout=wait_seconds)
    try:
        folder.parent.mkdir(exist_ok=True)
        lock.acquire(poll_interval=POLL_SECONDS)
    except Timeout as error:
        raise text_snapshot.IndexLocked(str(error)) from error
    except OSError as error:
        raise text_snapshot.IndexUnwritable(str(error)) from error
    try:
        yield
    finally:
        lock.release()


def damaged_files(folder: Path) -> list[str]:
    """List the index's files that are not as Tantivy wrote them.

    The checksum at the end of each tells. Reads everything, so it is for verifying, not for opening. An index that
    cannot be opened at all names its list of segments.
    """
    if folder_stamp(folder) is None:
        return []
    damaged = [] if load(folder) is not None else [_META]
    for file in sorted(folder.iterdir()):
        if not file.name.startswith(".") and file.name != _META and not _is_whole(file):
            damaged.append(file.name)
    return damaged


def _load_cached(folder: Path, stamp: text_snapshot.Stamp) -> text_snapshot.TextView:
    from tantivy import Index

    index = Index.open(str(folder))
    if index.schema != fields.schema():
        raise text_snapshot.IndexUnreadable(f"{folder} has other fields")
    index.config_reader("manual")
    searcher = index.searcher()
    return text_snapshot.TextView(searcher, _read_passed(folder, fields.read_marker(searcher)), stamp)


def _read_passed(folder: Path, marker: fields.Marker | None) -> fields.Marker | None:
    """The marker that the index has reached, given the marker in it.

    A stretch of commits without a text moves no marker there, since that would take a document. What cannot be read is
    as if it were not there.
    """
    with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
        within, through = msgspec.msgpack.decode(
            (folder / PASSED).read_bytes(), type=tuple[fields.Marker, fields.Marker]
        )
        if within == marker:
            return through
    return marker


def _write_passed(folder: Path, within: fields.Marker, through: fields.Marker) -> None:
    """Record that no text lies between the marker in the index and a later one."""
    aside = folder / f"{PASSED}.new"
    aside.write_bytes(msgspec.msgpack.encode((within, through)))
    aside.replace(folder / PASSED)


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


FOLDER_HEAP_BYTES: Final = 100_000_000
GATHERING_HEAP_BYTES: Final = 400_000_000
MEMORY_HEAP_BYTES: Final = 1_000_000_000
"""When a writer begins another segment: a bound, not an allocation, so wide that an exact index has one segment."""
CHUNK_DOCUMENTS: Final = 1000
CHUNK_CHARACTERS: Final = 4_000_000


class TextIndex:
    """An index of the texts of versions, searched by BM25.

    Several threads may search at once; :meth:`apply` and :meth:`refresh` need to be alone, as does the first search
    after an apply in memory. A :attr:`view` can be searched at any time.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._view: text_snapshot.TextView | None = None
        self._distrusted: text_snapshot.Stamp | None = None
        self._memory: Index | None = None
        self._writer: IndexWriter | None = None
        self._applied: fields.Marker | None = None
        self._held: set[tuple[int, int]] = set()

    @classmethod
    def in_memory(cls) -> TextIndex:
        """An empty index that dies with this object.

        What is applied before the first search becomes one segment, in the order given, so that two such indexes of
        the same documents give the same scores and the same order, in however many steps they were filled.
        """
        return cls(None)

    @classmethod
    def open(cls, folder: Path) -> TextIndex:
        """Open the index in a folder.

        It is an empty one if there is none that can be read. Takes no lock, writes nothing.
        """
        index = cls(folder)
        index.refresh()
        return index

    @property
    def view(self) -> text_snapshot.TextView | None:
        """The current view for searches; None if the index is empty."""
        if self._writer is not None:
            self._merge_in_memory(self._writer)
        return self._view

    @property
    def marker(self) -> fields.Marker | None:
        """The checkpoint that searches see now; None if the index is empty."""
        view = self.view
        return view.marker if view else None

    @property
    def count(self) -> int:
        """The number of documents that searches see now."""
        view = self.view
        return view.count if view else 0

    def refresh(self) -> None:
        """See what other processes have committed; costs one ``stat`` if they have not."""
        if self._folder is None:
            return
        stamp = folder_stamp(self._folder)
        if self._view is None or stamp != self._view.stamp:
            self._view = None if stamp is None or stamp == self._distrusted else load(self._folder)

    def distrust(self, view: text_snapshot.TextView) -> None:
        """Treat the commit of this view as missing.

        The next apply begins the folder anew.
        """
        if view.stamp is None:
            return
        self._distrusted = view.stamp
        if self._view is not None and self._view.stamp == view.stamp:
            self._view = None

    def apply(self, documents: Iterable[fields.TextDocument], marker: fields.Marker) -> None:
        """Add the documents, given in log order, and move the marker: both or neither.

        ``marker.seq`` is at or after the ``seq`` of every document. A document that is there (by node and version) is
        not added again; where none was ever added, no marker is kept. In a folder, this is durable when it returns;
        other writers must be kept out by the caller.

        Raises:
            IndexUnwritable: nothing was changed, and trying again later is safe.
        """
        self.apply_up_to(documents, lambda: marker)

    def apply_up_to(
        self, documents: Iterable[fields.TextDocument], reached: Callable[[], fields.Marker | None]
    ) -> None:
        """As :meth:`apply`, with a marker that is requested after the last document; ``None`` adds nothing."""
        if self._folder is None:
            self._apply_in_memory(documents, reached)
            return
        index = open_to_write(self._folder, self._distrusted)
        with open_writer(index, FOLDER_HEAP_BYTES) as writer:
            with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
                index.reload()
                searcher = index.searcher()
                within = fields.read_marker(searcher)
                before = text_snapshot.TextView(searcher, within, None)
            held: set[tuple[int, int]] = set()
            last: fields.TextDocument | None = None
            for chunk in _chunks(documents):
                with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
                    if within is not None:
                        held |= before.indexed_versions(each for each in chunk if each.seq <= within.seq)
                    for each in _skip_indexed(chunk, held):
                        if last is not None:
                            writer.add_document(fields.to_document(last))
                        last = each
            marker = reached()
            with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
                if marker is not None and last is not None:
                    writer.add_document(fields.to_document(last, marker))
                    writer.commit()
                elif marker is not None and within is not None:
                    _write_passed(self._folder, within, marker)
        self._view = load(self._folder)

    def merge_segments(self, documents: Iterable[fields.TextDocument], marker: fields.Marker) -> None:
        """Rewrite all documents, given in log order, as one segment if they are not too many.

        As with :meth:`apply`, either all of that is done or nothing.

        Raises:
            IndexUnwritable: nothing was changed.
        """
        assert self._folder is not None, "an index in memory has one segment"
        index, held = open_to_write(self._folder, self._distrusted), set[tuple[int, int]]()
        with open_writer(index, GATHERING_HEAP_BYTES) as writer:
            with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
                writer.delete_all_documents()
            last: fields.TextDocument | None = None
            for chunk in _chunks(documents):
                with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
                    for each in _skip_indexed(chunk, held):
                        if last is not None:
                            writer.add_document(fields.to_document(last))
                        last = each
            with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
                if last is not None:
                    writer.add_document(fields.to_document(last, marker))
                    writer.commit()
        self._view = load(self._folder)

    def search(
        self, text: str, *, limit: int, through: int | None = None, nodes: Collection[int] | None = None
    ) -> list[fields.TextHit]:
        """The best ``limit`` documents for a query in plain words, best first, ties in log order.

        ``through`` leaves out what was committed after that sequence number, ``nodes`` (a few thousand at most) what
        belongs to other nodes. A query without a usable word finds nothing, nor does one in a damaged folder, which
        counts as empty from then on.
        """
        view = self.view
        if view is None:
            return []
        try:
            return view.find(text_snapshot.TextSearch(analysis.query_terms(text), limit, through, nodes))
        except text_snapshot.IndexUnreadable:
            self.distrust(view)
            return []

    def _apply_in_memory(
        self, documents: Iterable[fields.TextDocument], reached: Callable[[], fields.Marker | None]
    ) -> None:
        from tantivy import Index

        if self._memory is None:
            self._memory = Index(fields.schema())
            self._memory.config_reader("manual")
            fields.register_analyzers(self._memory)
        if self._writer is None:
            self._writer = self._memory.writer(MEMORY_HEAP_BYTES, 1)
        for chunk in _chunks(documents):
            for each in _skip_indexed(chunk, self._held):
                self._writer.add_document(fields.to_document(each))
        self._applied = reached()

    def _merge_in_memory(self, writer: IndexWriter) -> None:
        """Make the documents that were applied in memory searchable."""
        assert self._memory is not None
        writer.commit()
        writer.wait_merging_threads()
        self._writer = None
        self._memory.reload()
        self._view = text_snapshot.TextView(self._memory.searcher(), self._applied, None)


def _skip_indexed(
    documents: Iterable[fields.TextDocument], held: set[tuple[int, int]]
) -> Iterator[fields.TextDocument]:
    """Yield documents that are not in ``held``, and add them to it."""
    for each in documents:
        key = (each.node, each.version)
        if key not in held:
            held.add(key)
            yield each


def _chunks(documents: Iterable[fields.TextDocument]) -> Iterator[list[fields.TextDocument]]:
    """Split the documents into small lists, so that errors of their source are not taken for Tantivy's."""
    chunk: list[fields.TextDocument] = []
    characters = 0
    for each in documents:
        chunk.append(each)
        characters += len(each.content)
        if len(chunk) == CHUNK_DOCUMENTS or characters > CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
