"""Feed the text index from the log, and search what it has not reached yet.

The index on disk ends at the last boundary that the log has (:mod:`.tail`). What lies behind it, the *tail*, is
searched in memory, so a read sees every commit. A read that finds another boundary in the tail moves the index there
first, in bounded batches, each under a short lock that any process may take; who does not get the lock indexes in
memory what is missing. Nothing here can fail a read: an index that is missing, damaged, or of another store is left
aside and made anew.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from weakref import ref

from worlddb.log.model import blobs, codec, errors
from worlddb.log.model.events import Created, Embedded, Event, Filled, Forked, Imported, Revised, Stated
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes import analysis, tail, text_snapshot, witness
from worlddb.projections.indexes.fields import Counts, Marker, TextDocument, TextHit, ceiling
from worlddb.projections.indexes.text_index import (
    PASSED,
    TextIndex,
    damaged_files,
    index_bytes,
    index_lock,
    reset,
    segment_sizes,
)
from worlddb.projections.indexes.vector_rows import VectorRow
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import FIRST_LITERAL

BATCH_DOCUMENTS: Final = 20_000
"""Roughly how many documents one commit of the index adds, which holds the lock for a third of a second, without
merges. It ends at a boundary."""
STEP_DOCUMENTS: Final = 4_000
"""The same for a background follower, since searches may wait for the lock: a tenth of a second."""
GATHERED_AT_MOST: Final = 32_768
"""Up to so many texts, an index is rewritten as one segment when its other segments have half as many as the largest.
Each segment is searched separately: five of them take twice as long as one. Tantivy merges them by eights. To rewrite
20,000 texts takes the processor 1.7 s, so each text is written at most three times in all."""
GATHERED_BYTES: Final = 32 << 20
"""And up to so many bytes: writing a byte takes up to 12 bytes of memory, and an index that does not fit into the
writer's memory becomes several segments again, which each call would rewrite."""
STEP_PATIENCE_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.02
PATIENT_LOOKS: Final = 50
"""How long a search that lacks a boundary waits for the holder of the lock before it checks the progress, and how
often it waits without any."""
REBUILD_PATIENCE_SECONDS: Final = 30.0
MENDING_ATTEMPTS: Final = 3
_NUMBERED_TOGETHER: Final = 4_096
"""The worlds of so many events are looked up together: in a large store single lookups take as long as all else, and of
256 each has a page of its own, while of all those of a large commit some share one."""

ChainAt = Callable[[int], bytes | None]
"""The log's chain hash at a sequence number; None if the log does not reach it."""


class Status(NamedTuple):
    """The progress of the index on disk; once it has caught up, its checkpoint is the last boundary of the log."""

    checkpoint: int
    documents: int


def _is_never_stopped() -> bool:
    return False


class _Reading:
    """The texts of a log up to ``head``, each read once although they are indexed in several batches.

    What has been read ahead is dropped if somebody else has changed the index meanwhile: a text of it may be erased.
    """

    def __init__(self, feed: tail.Feed, head: int) -> None:
        self.head = head
        self.walk = tail.StretchWalk(head)
        self._feed = feed
        self._documents: Iterator[TextDocument] = iter(())
        self._view: text_snapshot.TextView | None = None

    def go_on(self, base: int, view: text_snapshot.TextView | None) -> None:
        """Read from a boundary on, which is where the last batch ended if the index is as that left it."""
        if self.walk.boundary != base or self._view is not view:
            self.walk, self._documents = tail.StretchWalk(base), iter(self._feed(base, self.head))

    def batch(self, documents: int) -> Iterator[TextDocument]:
        """Yield the texts up to a boundary that lies about so many texts further on."""
        taken = 0
        for document in self._documents:
            released = self.walk.add(document)
            yield from released
            taken += len(released)
            if taken >= documents and self.walk.held:
                return  # The next commit has begun, so the one that is the boundary is in.
        yield from self.walk.end(self.head)

    def indexed_as(self, view: text_snapshot.TextView | None) -> None:
        """Note the index that has the last batch."""
        self._view = view


class TextFollower:
    """Searches a store's texts up to its head, and keeps the index in ``folder`` caught up.

    Any number of processes and threads may have one for the same folder. Making one opens nothing.
    """

    def __init__(
        self, folder: Path, store_id: bytes, feed: tail.Feed, chain_at: ChainAt, secret: bytes = witness.NO_SECRET
    ) -> None:
        self._folder = folder
        self._witness = witness.SegmentWitness(folder, secret, (PASSED,))
        self._store_id = store_id
        self._feed = feed
        self._chain_at = chain_at
        self._guard = threading.RLock()
        self._index: TextIndex | None = None
        self._tail: tail.Tail | None = None
        self._verified: Marker | None = None
        self._looks = PATIENT_LOOKS
        self._last: tuple[list[ref[tail.View]], text_snapshot.TextSearch, list[TextHit]] | None = None

    def search(
        self,
        text: str,
        *,
        head: int,
        limit: int,
        through: int | None = None,
        nodes: Collection[int] | None = None,
    ) -> list[TextHit]:
        """The best documents of the commits up to ``head``, or up to ``through`` if that is earlier.

        Order and filters are those of :meth:`TextIndex.search`.
        """
        return self.find(text_snapshot.TextSearch(analysis.query_terms(text), limit, through, nodes), head=head)

    def find(self, search: text_snapshot.TextSearch, *, head: int) -> list[TextHit]:
        """As :meth:`search`, for an analysed query."""
        if not search.terms or search.limit < 1:
            return []
        search, horizon = _bounded_search(search, head)
        for _ in range(MENDING_ATTEMPTS):
            with self._guard:
                views = self._views(horizon, head)
            # What every recall searches for, such as standing instructions, is found once in the same texts.
            last = self._last
            if last is not None and last[1] == search and [known() for known in last[0]] == views:
                return last[2]
            try:
                found = tail.CorpusSearch(views, search).result()
                if search.nodes is None:
                    self._last = [ref(view) for view in views], search, found
                return found
            except text_snapshot.IndexUnreadable:
                self._rebuild_damaged(views, head)
        raise errors.DamagedStore(
            f"the text index at {self._folder} cannot be read, even after a rebuild",
            "Check its disk, then delete that folder: it holds nothing that the log does not",
        )

    def begin(self, search: text_snapshot.TextSearch, *, head: int, threads: Executor) -> tail.StartedSearch:
        """Start :meth:`find` on a worker thread."""
        again = partial(self.find, search, head=head)
        search, horizon = _bounded_search(search, head)
        with self._guard:
            views = self._views(horizon, head)
        try:
            begun = tail.CorpusSearch(views, search, threads)
        except text_snapshot.IndexUnreadable:
            return text_snapshot.SearchFuture(None, again)
        return tail.RetriedSearch(begun, again)

    def prepare(self, *, head: int, through: int) -> None:
        """Open the index and catch up, as a search up to ``through`` would have to do first."""
        with self._guard:
            self._views(min(through, head), head)

    @property
    def has_many(self) -> bool:
        """True if the index has so many texts that each search takes a while."""
        index = self._index
        return index is not None and index.count >= text_snapshot.FEW_TEXTS

    def is_ready(self, *, head: int, through: int) -> bool:
        """True if :meth:`prepare` has nothing to read from the log or to write."""
        with self._guard:
            index = self._open()
            index.refresh()
            base, later = self._base(index), self._tail
            return min(through, head) <= base or (later is not None and later.base == base and later.head >= head)

    def ceiling(self, terms: Sequence[analysis.Term], *, head: int, through: int) -> float:
        """The highest score that any document could reach.

        See :func:`worlddb.projections.indexes.fields.ceiling`.
        """
        corpus = self._corpus(terms, head, min(through, head))
        return 0.0 if corpus is None else ceiling(terms, corpus)

    def counts(self, terms: Sequence[analysis.Term], *, head: int) -> Counts:
        """How many texts up to ``head`` have each of the terms."""
        return self._corpus(terms, head, head) or Counts(0, dict.fromkeys(terms, 0))

    def _corpus(self, terms: Sequence[analysis.Term], head: int, horizon: int) -> Counts | None:
        with self._guard:
            views = self._views(horizon, head)
        try:
            return tail.corpus_of(views, terms)
        except text_snapshot.IndexUnreadable:
            return None

    def catch_up(
        self,
        head: int,
        *,
        wait_seconds: float = 0.0,
        progress: Callable[[int], None] | None = None,
        documents: int | None = None,
        stopped: Callable[[], bool] = _is_never_stopped,
    ) -> bool:
        """Bring the index on disk to the last boundary up to ``head``: the texts behind it are few.

        False if another process has the index, the folder is not writable, or it was ``stopped``. ``progress`` gets the
        sequence number reached after each batch of about so many ``documents``.
        """
        with suppress(text_snapshot.IndexUnwritable):
            return self._catch_up_or_raise(head, wait_seconds, progress, documents, stopped)
        return False

    def _catch_up_or_raise(
        self,
        head: int,
        wait_seconds: float,
        progress: Callable[[int], None] | None = None,
        documents: int | None = None,
        stopped: Callable[[], bool] = _is_never_stopped,
    ) -> bool:
        """As :meth:`catch_up`.

        Raises:
            IndexLocked, IndexUnwritable: another process has the index; the folder cannot be written.
        """
        with self._guard:
            index, reading = self._open(), _Reading(self._feed, head)
            reported = 0
            while True:
                index.refresh()
                base = self._base(index)
                if base >= head or self._is_level(index, base, head):
                    if progress is not None and reported < head:
                        progress(head)
                    return True
                if stopped():
                    return False
                with index_lock(self._folder, wait_seconds):
                    reached = self._advance(index, reading, documents or BATCH_DOCUMENTS)
                if self._base(index) < reached:
                    return False  # made anew by another process, or unreadable as soon as written
                if reached <= base:
                    self._tail = None  # What was taken for a boundary is none any more: texts were erased.
                elif progress is not None:
                    reported = reached
                    progress(reported)

    def gather(self) -> None:
        """Merge the segments of a small index, unless another process is writing it."""
        with self._guard, suppress(text_snapshot.IndexUnwritable):
            sizes = segment_sizes(self._folder)
            if sum(sizes) > GATHERED_AT_MOST or index_bytes(self._folder) > GATHERED_BYTES:
                return
            if 2 * (sum(sizes) - max(sizes, default=0)) < max(sizes, default=1):
                return
            with index_lock(self._folder, 0.0):
                index = self._open()
                index.refresh()
                base, marker = self._base(index), index.marker
                if base and marker is not None and self._witness.fits():
                    index.merge_segments(self._feed(0, base), marker)
                    self._witness.write()

    def rebuild(self, head: int, *, progress: Callable[[int], None] | None = None) -> None:
        """Delete the index and build it again from the log.

        Raises:
            WriterBusy: another process kept the index locked.
            UnavailableError: the folder is not writable.
        """
        with self._guard:
            self.close()
            try:
                with (
                    index_lock(self._folder, REBUILD_PATIENCE_SECONDS),
                    text_snapshot.raising_as(text_snapshot.IndexUnwritable),
                ):
                    reset(self._folder)
            except text_snapshot.IndexLocked as error:
                raise errors.WriterBusy(
                    f"the text index at {self._folder} could not be locked: {error}",
                    "Try again when the other process has finished",
                ) from error
            except text_snapshot.IndexUnwritable as error:
                raise self._unwritable_error(f": {error}") from error
            if not self.catch_up(head, wait_seconds=REBUILD_PATIENCE_SECONDS, progress=progress):
                raise self._unwritable_error("")

    def _unwritable_error(self, why: str) -> errors.UnavailableError:
        return errors.UnavailableError(
            f"the text index at {self._folder} could not be written{why}",
            "Check the disk's space and permissions; until then searches work, but more slowly",
        )

    def status(self) -> Status:
        """The checkpoint of the index on disk and its number of documents; zeros if it is not usable."""
        with self._guard:
            index = self._open()
            index.refresh()
            base = self._base(index)
            return Status(base, index.count if base else 0)

    def damaged_files(self) -> list[str]:
        """List the damaged files of the index on disk; reads all of them. See :meth:`rebuild`."""
        return damaged_files(self._folder)

    def close(self) -> None:
        """Close the files. A later call opens them again."""
        with self._guard:
            self._index = None
            self._tail = None
            self._last = None

    def _open(self) -> TextIndex:
        if self._index is None:
            self._index = TextIndex.open(self._folder)
        return self._index

    def _base(self, index: TextIndex) -> int:
        """The commit that the index has reached by its marker, or 0 if that is not of this log."""
        marker = index.marker
        if marker is None or marker.store_id != self._store_id:
            return 0
        if marker != self._verified:
            # The log only grows, so a marker that was right once stays right, also beyond an older head.
            if self._chain_at(marker.seq) != marker.chain:
                return 0
            self._verified = marker
        return marker.seq

    def _views(self, horizon: int, head: int) -> list[tail.View]:
        """The index, the tail, or both, which together have every document up to ``horizon`` once."""
        index = self._open()
        index.refresh()
        base = self._base(index)
        if horizon > base and not self._tail_from(base).extend(self._feed, head, bounded=True):
            self._catch_up_patiently(index, head)
            base = self._base(index)
            if horizon > base:
                self._tail_from(base).extend(self._feed, head, bounded=False)
        indexed = index.view if base else None
        later = self._tail_from(base).views if horizon > base else []
        return later if indexed is None else [indexed, *later]

    def _tail_from(self, base: int) -> tail.Tail:
        if self._tail is None or self._tail.base != base:
            self._tail = tail.Tail(self._store_id, base)
        return self._tail

    def _is_level(self, index: TextIndex, base: int, head: int) -> bool:
        """True if the index belongs to this log and no boundary lies behind it."""
        if base == 0 and index.marker is not None:
            return False
        later = self._tail_from(base)
        return later.extend(self._feed, head, bounded=True) and later.is_short

    def _catch_up_patiently(self, index: TextIndex, head: int) -> None:
        """Catch up, waiting for another process only while it makes progress."""
        before, looks = self._base(index), self._looks
        while True:
            try:
                if self._catch_up_or_raise(head, LOOK_SECONDS if looks else 0.0):
                    self._looks = PATIENT_LOOKS
                    return
            except text_snapshot.IndexLocked:
                pass
            except text_snapshot.IndexUnwritable:
                looks = 0
            index.refresh()
            reached = self._base(index)
            looks = self._looks if reached > before else looks - 1
            before = reached
            if looks <= 0:
                # A process that was stopped while holding the lock must not slow every search.
                self._looks = 0
                return

    def _rebuild_damaged(self, views: Sequence[tail.View], head: int) -> None:
        """Ignore a damaged index, and build it again unless another process is writing it."""
        with self._guard:
            for view in views:
                if isinstance(view, text_snapshot.TextView):
                    self._open().distrust(view)
            self.catch_up(head)

    def _advance(self, index: TextIndex, reading: _Reading, documents: int) -> int:
        """Apply the next batch, under the lock. Return the commit that the index has reached then."""
        index.refresh()
        base = self._base(index)
        if base >= reading.head:
            return base
        if index.marker is not None and (base == 0 or not self._witness.fits()):
            # Never add to an index that another store, or another program, has written.
            with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
                reset(self._folder)
            base = 0
        reading.go_on(base, index.view)

        def reached() -> Marker | None:
            boundary = reading.walk.boundary
            if boundary == base:
                return None
            chain = self._chain_at(boundary)
            if chain is None:
                raise text_snapshot.IndexUnwritable(f"the log ends before {boundary}")
            return Marker(self._store_id, boundary, chain)

        index.apply_up_to(reading.batch(documents), reached)
        self._witness.write()
        reading.indexed_as(index.view)
        return reading.walk.boundary


def _bounded_search(search: text_snapshot.TextSearch, head: int) -> tuple[text_snapshot.TextSearch, int]:
    """A search that sees no commit after ``head``, and the last commit that it sees."""
    horizon = head if search.through is None else min(search.through, head)
    return search._replace(through=horizon), horizon


_BRINGING_TEXT: Final[frozenset[type[Event]]] = frozenset((Created, Revised, Filled, Imported, Forked, Stated))
"""Events that bring texts, or say which are missing. A load has several times as many events of other types."""
_WRITING_VERSION: Final = (Created, Revised)
_OF_BUNDLES: Final = (Imported, Forked)
_EMBEDDING: Final[frozenset[type[Event]]] = frozenset((Embedded,))


def text_documents(log: LmdbLog, tables: Tables, after: int, through: int) -> Iterator[TextDocument]:
    """Yield the texts that the commits in ``(after, through]`` wrote: versions and literals, without erased ones."""
    for seq in range(after + 1, through + 1):
        events = log.some_events(seq, _BRINGING_TEXT)
        later = {position for event in events if isinstance(event, _OF_BUNDLES) for position in event.absent}
        for begin in range(0, len(events), _NUMBERED_TOGETHER):
            some = events[begin : begin + _NUMBERED_TOGETHER]
            numbers = tables.numbers_in_order([each.lineage for each in some if isinstance(each, Created)])
            numbers |= tables.numbers_of([each.lineage for each in some if isinstance(each, Revised)])
            for event in some:
                if isinstance(event, _WRITING_VERSION):
                    node = None if event.body in later else numbers.get(event.lineage)
                    stored = None if node is None else log.blob(seq, event.body)
                    body = None if stored is None else codec.decode_blob(stored, seq)
                    if isinstance(body, blobs.Body) and node is not None:
                        is_first = isinstance(event, Created)
                        version = 1 if is_first else table_reads.version_written(tables, node, seq, event.body)
                        yield TextDocument(node, version, seq, body.name, body.content, body.type)
                elif isinstance(event, Filled):
                    yield from _filled_document(log, tables, seq, event)
                elif isinstance(event, Stated):
                    from worlddb.projections.tables.statements import literal_rows

                    for said in literal_rows.literals_of_event(log, tables, seq, event):
                        yield TextDocument(said.node, said.number, said.seq, "", said.text)


def _filled_document(log: LmdbLog, tables: Tables, seq: int, event: Filled) -> Iterator[TextDocument]:
    """Yield a text that arrived after its hash; it is found from the commit on that brought it."""
    node = tables.node_of(event.lineage)
    row = None if node is None else tables.version(node, event.version)
    stored = None if row is None else log.blob(row.seq, row.position)
    body = None if stored is None else codec.decode_blob(stored, seq)
    if isinstance(body, blobs.Body) and node is not None:
        yield TextDocument(node, event.version, seq, body.name, body.content, body.type)


def vector_rows(log: LmdbLog, tables: Tables, space: int, after: int, through: int) -> Iterator[VectorRow]:
    """Yield the vectors of a space that the commits in ``(after, through]`` recorded.

    Erased ones are left out.
    """
    for seq in range(after + 1, through + 1):
        events = [event for event in log.some_events(seq, _EMBEDDING) if isinstance(event, Embedded)]
        for begin in range(0, len(events), _NUMBERED_TOGETHER):
            some = [event for event in events[begin : begin + _NUMBERED_TOGETHER] if event.space == space]
            numbers = tables.numbers_of([event.lineage for event in some])
            for event in some:
                stored = log.blob(seq, event.vector)
                blob = None if stored is None else codec.decode_blob(stored, seq)
                node = numbers.get(event.lineage)
                if isinstance(blob, blobs.Vector) and node is not None:
                    yield VectorRow(node, event.version, seq, blob.values, blob.statements, blob.stated)


def documents_without_vector(
    log: LmdbLog, tables: Tables, space: asof.OpenSpace | None, through: int
) -> Iterator[TextDocument]:
    """Yield every version up to a commit that has a text but no vector in a space, in log order.

    Without a space, all versions that have a text.
    """
    for found in text_documents(log, tables, 0 if space is None else space.row.through, through):
        if (
            found.content
            and found.version < FIRST_LITERAL
            and (space is None or asof.vector_place(tables, space.number, found.node, found.version) is None)
        ):
            yield found
