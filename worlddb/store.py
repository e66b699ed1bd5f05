"""Open a store's directory and read it: transactions, indexes, embedding models."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from worlddb.log.model import errors, events
from worlddb.log.model.times import ALWAYS, FOREVER, PresentTime
from worlddb.log.store import copies, durable, environment, high_water, lock, scratch, shared_environment
from worlddb.log.store.log import EMPTY_HEAD, OPENING_KEYS, Head, LmdbLog
from worlddb.projections.indexes import (
    analysis,
    catchup,
    composition,
    kept_worlds,
    text_index,
    text_snapshot,
    vector_index,
    witness,
)
from worlddb.projections.indexes.vector_rows import NO_STATEMENTS, VectorRow
from worlddb.projections.tables.apply.log_marks import identity_of, refuse_supposed, supposition_sentence
from worlddb.projections.tables.names import blocks, canonical
from worlddb.projections.tables.reads.asof import OpenSpace, all_spaces, dropped_at, space_in_use
from worlddb.projections.tables.storage.packed_runs import RUNS_KEY
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import FIRST_TABLE_BYTE
from worlddb.query.claims import claim_relation
from worlddb.query.lanes import text_lane
from worlddb.query.lanes.vector_lane import PresentVectorLane, VectorQuery
from worlddb.query.question import question_dates
from worlddb.query.snapshot.snapshot import InteriorCache, Snapshot
from worlddb.reconciler.embedding import vectors_of_texts
from worlddb.reconciler.embedding.models import Models

if TYPE_CHECKING:
    from worlddb.log.model.clock import Entropy
    from worlddb.projections.indexes import composed_vectors
    from worlddb.projections.indexes.vector_rows import Matrix
    from worlddb.reconciler.background.worker import BackgroundWorker
    from worlddb.reconciler.backup.backups import BackedUp

_LOG: Final = logging.getLogger("worlddb.store")
DEFAULT_TIMEOUT_SECONDS: Final = 10.0
"""How long a write waits for another process's."""
MAX_THREADS: Final = 4
"""How many searches of one handle run at a time beside the thread that asked."""
companion_path: Final = copies.companion_path
refuse_companion: Final = copies.refuse_companion
give_back_large_blocks: Final = environment.release_large_blocks
FEED_COMMITS: Final = 256
FEED_ROWS: Final = 2_048
FIRST_ROWS: Final = 64
"""How many commits an index is fed from one read transaction, or as many as give that many rows; the first
transaction takes fewer, because a search for a boundary needs no more."""
FOLLOWED_EVENTS: Final = 4_000
FOLLOWED_AT_LULL: Final = 1_000
"""After how many events that this handle has written, but for links, a thread of it brings the text index up to date,
at once or when it writes no more, so that no later search has to: it takes in 5,000 to 20,000 texts a second, and a new
one has two events."""


def open_environment(folder: Path, *, author: str, create: bool, timeout_seconds: float) -> environment.Environment:
    """Open the environment of a store directory.

    With ``create``, open one of an empty or missing directory too.

    Raises:
        NotAStore: the path is a file, holds something else, or holds nothing and ``create`` is false.
        UnavailableError: the directory cannot be made or looked at.
    """
    try:
        _prepare(folder, create)
    except (OSError, ValueError) as error:
        raise _cannot_open(folder, error) from error
    env = environment.Environment(folder, author=author, timeout_seconds=timeout_seconds)
    try:
        env.refuse_damaged_pages(_OPENING_KEYS)
    except BaseException:
        env.close()
        raise
    return env


def _cannot_open(folder: Path, error: Exception) -> errors.UnavailableError:
    return errors.UnavailableError(
        f"{str(folder)!r:.200} cannot be used: {error}", "Check the path and its permissions"
    )


@contextmanager
def scratch_folder(path: str | Path, *, derived: bool = False) -> Iterator[Path]:
    """Make a folder for temporary files in the directory of a store, or of one still to be made.

    It is deleted with the block, and so is a directory that was made only for it; after a kill it is deleted when the
    store is next opened. Use it for input that must be read twice before it is written, such as a stream. A folder for
    what is ``derived`` from the store, such as a copy of its texts, is in a store that is there, and an erasure
    deletes it at any time: then begin again.

    Raises:
        NotAStore: the path is a file, or a directory that holds something else.
        UnavailableError: the directory cannot be made or written to.
    """
    folder = folder_of(path)
    try:
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        _prepare(folder, create=not derived)
    except (OSError, ValueError) as error:
        raise _cannot_open(folder, error) from error
    try:
        with scratch.temporary_folder(folder, scratch.TABLES_PREFIX if derived else scratch.HELD_PREFIX) as held:
            yield held
    finally:
        for made in missing:
            with suppress(OSError):
                made.rmdir()


def folder_of(path: object, what: str = "The store's path") -> Path:
    """The path that a caller gave, as a ``Path``; errors call it ``what``.

    Raises:
        InputError: it is nothing of the kind, or no system could hold it.
    """
    if not isinstance(path, str | os.PathLike):
        raise errors.InputError(f"{what} is {type(path).__name__}", "Give it as text or as a Path")
    given = os.fspath(path)
    if not isinstance(given, str):
        raise errors.InputError(f"{what} is bytes", "Give it as text or as a Path")
    if not given.strip():
        raise errors.InputError(f"{what} is {given!r}", "Name a place; '.' is the directory that you are in")
    longest = max(map(len, given.encode("utf-8", "replace").split(b"/")))
    if (
        "\0" in given
        or longest > _NAME_BYTES
        or len(given) > _PATH_BYTES
        or given != given.encode("utf-8", "replace").decode()
    ):
        raise errors.InputError(
            f"The path {given!r:.200} cannot be used: it has a NUL, is too long, or is not UTF-8",
            "Check the path",
        )
    return Path(given)


_NAME_BYTES, _PATH_BYTES = 255, 4095
"""The longest name within a path, and the longest path, that systems allow."""


def is_regular_file(path: str | Path) -> bool:
    """True if a path is a regular file. A path that the system cannot represent is none: opening it reports the
    error."""
    try:
        return Path(path).is_file()
    except OSError:
        return False


def _prepare(folder: Path, create: bool) -> None:
    """Check that the directory holds a store, or make the directory if it may hold one."""
    if folder.exists() and not folder.is_dir():
        raise errors.NotAStore(f"{folder} is a file, not a directory", "Name the store's directory")
    if folder.is_symlink() and not folder.exists():
        raise errors.NotAStore(f"{folder} is a link that leads nowhere", "Make what it leads to, or name the directory")
    data = folder / shared_environment.DATA_FILE
    for path in (data, folder / "writer.json", folder / high_water.MARK_FILE, folder / copies.COPIES_FILE):
        if path.is_fifo() or (path == data and path.is_dir()):  # Whoever opens a pipe waits for somebody else.
            raise errors.NotAStore(f"{path} is not a regular file", "Name the store's directory, or remove that")
    if not data.exists():
        # Another process may have made the store since that look, so the data file is looked for once more.
        is_store = folder.is_dir() and any(
            (folder / name).exists() for name in (lock.HOLDER_FILE, environment.INDEX_FOLDER)
        )
        if is_store and not data.exists():
            raise errors.DamagedStore(f"{data} is gone from a store", "Restore the store from a backup")
        if not create:
            raise no_store_at(folder)
        if folder.exists() and any(not is_own(entry.name) for entry in folder.iterdir()):
            raise errors.NotAStore(
                f"{folder} is a directory with other things in it", "Name an empty or a new directory"
            )
        durable.make_private_folder(folder)


def no_store_at(folder: Path) -> errors.NotAStore:
    """The error of a directory without a store, which may have the first files of one."""
    begun = ""
    if folder.is_dir() and any(is_own(entry.name) for entry in folder.iterdir()):
        begun = ", only what an interrupted start, backup or restore leaves: that can be run again"
    return errors.NotAStore(f"There is no store at {folder}{begun}", "Check the path, or write to it first")


def is_own(name: str) -> bool:
    """Return whether a name belongs to a file that is made in a store's folder before its first commit."""
    return name in _OWN_FILES or name.startswith((durable.NEW_PREFIX, scratch.HELD_PREFIX))


_OPENING_KEYS: Final = (*OPENING_KEYS, bytes([FIRST_TABLE_BYTE]) + b"applied", RUNS_KEY)
"""What is read whenever a store is opened; by what lies behind it, `verify` looks first."""
_OWN_FILES: Final = frozenset(
    {
        shared_environment.DATA_FILE,
        "writer.lock",
        "writer.json",
        high_water.MARK_FILE,
        "lock.mdb",
        environment.LEASE_FILE,
        environment.INDEX_FOLDER,
    }
)
"""What another process may be making right now."""


def usable_processors() -> int:
    """Count the processors that this process may use.

    In a container, or under ``taskset``, that is not all.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _threads() -> Executor | None:
    """Threads for early searches; ``None`` if they would share one processor.

    They start with the first such search, and end with the handle.
    """
    processors = usable_processors()
    return ThreadPoolExecutor(min(processors, MAX_THREADS), "worlddb-search") if processors > 1 else None


def backup_into(env: environment.Environment, folder: Path, author: str, progress: Progress | None) -> BackedUp:
    """Bring a backup up to the last commit, or begin one, and remember where it is."""
    from worlddb.reconciler.backup.backups import backup

    copies.refuse_inside(env.folder, folder)
    with env.read() as txn:
        place, head = str(folder.resolve()), LmdbLog(txn).head().seq
    target = open_environment(folder, author=author, create=True, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
    try:
        noted = high_water.read_damage(target.folder)
        if noted is not None:
            raise errors.DamagedStore(
                f"A verification found the backup {folder} damaged, so nothing was added to it",
                "Back up into a new directory",
                seq=noted.seq or None,
            )
        if not has_begun(target):
            copies.note_copy(env, copies.Copy(copies.BACKUP, place, head, head))
        made = backup(env, target, progress)
        if made.scrubbed:
            copies.note_copy(env, copies.Copy(copies.BACKUP, place, made.seq, made.head))
        copies.inherit_notes(env, target, made.seq)
        return made
    finally:
        target.close()


def has_begun(env: environment.Environment) -> bool:
    """True if a store is there; raises ``NotAStore`` if something else is."""
    with env.read() as txn:
        return LmdbLog(txn).check_format()


MAX_PENDING: Final = 1_000
"""The number up to which texts without a vector are counted."""
NOTHING_EMBEDDED: Final = "no text has been embedded yet"
_COMPOSED: Final = "composed-"

TABLES_NAME: Final = "tables"
TEXT_NAME: Final = "text"
VECTORS_NAME: Final = "vectors"
PROJECTIONS: Final = (TABLES_NAME, TEXT_NAME, VECTORS_NAME)

Progress = Callable[[int, int], None]


class IndexRow(Protocol):
    """A row for an index, of one version and one commit."""

    @property
    def node(self) -> int: ...

    @property
    def version(self) -> int: ...

    @property
    def seq(self) -> int: ...


Row = TypeVar("Row", bound=IndexRow)
RowsOfCommits = Callable[[LmdbLog, Tables, int, int], Iterable[Row]]


class Reading:
    """A block of reads at one state of the store, and how long their results stay the same.

    ``stamp`` is as :meth:`Environment.stamp` gives it, of what is read.
    """

    def __init__(self, snapshot: Snapshot, stamp: environment.Stamp | None) -> None:
        self.stamp = stamp
        self._snapshot: Snapshot | None = snapshot
        self._presents: list[PresentTime] = []

    @property
    def snapshot(self) -> Snapshot:
        """The log and the tables, until the block ends."""
        assert self._snapshot is not None, "nobody reads in a block that has ended"
        return self._snapshot

    def present(self, now: int) -> PresentTime:
        """The present time of a view that is made in the block."""
        self._presents.append(PresentTime(now))
        return self._presents[-1]

    def anew(self) -> Reading:
        """Begin another block at the same state, with its own record of how long results stay the same."""
        return Reading(self.snapshot, self.stamp)

    def end(self) -> None:
        """Let go of the snapshot."""
        self._snapshot = None

    @property
    def since(self) -> int:
        """The present time, in microseconds, from which on the reads give the same results."""
        return max((each.at for each in self._presents), default=ALWAYS)

    @property
    def until(self) -> int:
        """The time at which something that was read begins or ends."""
        return min((each.until for each in self._presents), default=FOREVER)


class StoreReader:
    """Reads one store: transactions on it, its indexes, and the models that embed questions."""

    def __init__(self, env: environment.Environment, models: Models, entropy: Entropy) -> None:
        self.env = env
        self.entropy = entropy
        self._held = threading.local()
        self._models = models
        self._vectors: dict[int, vector_index.VectorFollower] = {}
        self._composed: dict[tuple[int, str], composed_vectors.ComposedFollower] = {}
        self._pending: dict[int | None, tuple[Head, int]] = {}
        self.told_of_pending: Callable[[], None] = _nobody
        """Called by a read that finds texts without vectors, which another process may have written."""
        self.on_hits: Callable[[Any], object] = _no_one
        self.interiors = InteriorCache(partial(self._cache_folder, witness.SUMMARIES))
        self._generation = env.generation
        self._erased: tuple[int | None, int] = None, env.generation
        self._keeps_erased = False
        self._unused: tuple[Any, set[str]] = None, set()
        with self.snapshot() as snapshot:
            snapshot.log.refuse_other_end()
            first = snapshot.log.events(1).events[0]
            self.store_id = identity_of(snapshot.log, snapshot.tables)
            self._secret = witness.secret_in(snapshot.log)
            """Seals the indexes."""
            self.supposes = supposition_sentence(snapshot.log, snapshot.tables)
            """What the store supposes, if it is hypothetical; empty otherwise."""
        if not isinstance(first, events.StoreCreated):
            raise errors.DamagedStore(
                "The log begins with another event than a store's", "Restore it from a backup", seq=1
            )
        if high_water.read_damage(env.folder) is not None:
            told = "a verification found %s damaged: what is read may be wrong, and writes are refused. %s"
            _LOG.warning(told, env.folder, high_water.DAMAGE_REMEDY)
        self.root = first.root
        self._ended = False
        self._behind: BackgroundWorker | None = None
        """The thread that lets the text index follow, once it was asked to."""
        self._making_behind = threading.Lock()
        self.worlds = kept_worlds.acquire_worlds(env.folder / environment.INDEX_FOLDER, self.store_id, self._secret)
        self._threads = _threads()
        self.text = self._text_follower()

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The log and the tables in one read transaction; tables that are behind are derived first."""
        held: Reading | None = getattr(self._held, "reading", None)
        return self._begun() if held is None else nullcontext(held.snapshot)

    @contextmanager
    def _begun(self) -> Iterator[Snapshot]:
        with self.env.read() as txn:
            snapshot = Snapshot(LmdbLog(txn), Tables(txn))
            head = snapshot.log.head()
            current = snapshot.tables.progress().seq == head.seq
            if current:
                snapshot.tables.unused = self._unused_in((head, txn.id()))
                self._apply_erasure(snapshot.log)
                yield snapshot
        if not current:
            self.heal()
            with self.env.read() as txn:
                yield Snapshot(LmdbLog(txn), Tables(txn))

    def _unused_in(self, state: tuple[Head, int]) -> set[str]:
        """The tables known to be empty, for a head and the last writing transaction."""
        known = self._unused
        if known[0] != state:
            known = self._unused = state, set()
        return known[1]

    @contextmanager
    def one_state(self) -> Iterator[Reading]:
        """Keep a state of the store, in one transaction, for several blocks of this thread: :meth:`holding`."""
        generation = self.env.generation
        with self.snapshot() as snapshot:
            # Of another file, which took the place of this one since, the same number would say something else.
            stamp = None if self.env.generation != generation else (generation, snapshot.log.transaction)
            reading = Reading(snapshot, stamp)
            try:
                yield reading
            finally:
                reading.end()

    @contextmanager
    def holding(self, state: Reading | None = None) -> Iterator[Reading]:
        """Make all snapshots of this thread the same until the block ends: the newest ``state``, or another."""
        before: Reading | None = getattr(self._held, "reading", None)
        if before is not None:
            yield before
            return
        with self.one_state() if state is None else nullcontext(state.anew()) as reading:
            self._held.reading = reading
            try:
                yield reading
            finally:
                self._held.reading = None

    def present(self, now: int) -> int:
        """The present time; within a block of reads, one that records how long results stay the same."""
        held: Reading | None = getattr(self._held, "reading", None)
        return now if held is None else held.present(now)

    def heal(self) -> None:
        """Derive the tables from the log.

        Both commit together, so tables that are not level with it were tampered with.
        """
        from worlddb.projections.runner import rebuild_if_behind

        self.env.refuse_damaged_pages()
        self.env.write(lambda txn: rebuild_if_behind(LmdbLog(txn), Tables(txn)))

    def refuse_supposed(self, what: str) -> None:
        """Raise ``HypotheticalStore`` if the store is hypothetical: it proves and exports nothing."""
        with self.snapshot() as snapshot:
            refuse_supposed(snapshot.tables, what)

    def head(self) -> int:
        """The sequence number of the last commit."""
        with self.env.read() as txn:
            return LmdbLog(txn).head().seq

    @property
    def generation(self) -> int:
        """How often the data file was replaced, as at the end of an erasure."""
        return self.env.generation

    def erasures(self) -> tuple[int, int | None]:
        """How often the data file was replaced, and the erasure whose bytes are still in files."""
        with self.env.read() as txn:
            due = LmdbLog(txn).scrub_due()
        return self.env.generation, due

    def text_lane(self, head: int) -> text_lane.PresentTextLane:
        self.close_erased_indexes()
        return text_lane.PresentTextLane(self.text, head, self._threads)

    def apply_erasures(self) -> None:
        """Drop texts erased up to now from memory, as the next read would."""
        with self.snapshot():
            pass
        self.close_erased_indexes()

    def close_erased_indexes(self) -> None:
        """Close the indexes after an erasure: memory may hold erased words, and vectors of them."""
        if self._keeps_erased or self._generation != self.env.generation:
            self._generation, self._keeps_erased = self.env.generation, False
            with self.snapshot() as snapshot:
                erasures = self.env.generation, snapshot.log.scrub_due()
                self.worlds.apply_erasures(*snapshot, erasures)
            self.close()

    def _apply_erasure(self, log: LmdbLog) -> None:
        """Forget texts after an erasure.

        While its bytes still lie in files, perhaps for long, the indexes in memory are dropped at once.
        """
        erased = log.scrub_due(), self.env.generation
        if erased != self._erased:
            self._keeps_erased = self._keeps_erased or erased[0] != self._erased[0]
            self._erased = erased
            self.interiors.forget_texts()
            forget_texts()

    def close(self) -> None:
        """Close the indexes' files, and forget texts that were read; a later read opens them again."""
        forget_texts()
        self.text.close()
        for follower in self._vectors.values():
            follower.close()
        for composed in self._composed.values():
            composed.forget()

    def end(self) -> None:
        """Close the indexes and the threads for good. A search under way elsewhere ends by itself."""
        if self._behind is not None:
            self._behind.finish()
        self.close()
        if not self._ended:
            self._ended = True
            kept_worlds.release_worlds(self.worlds)
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    def _text_follower(self) -> catchup.TextFollower:
        return catchup.TextFollower(
            self.env.folder / environment.INDEX_FOLDER / TEXT_NAME,
            self.store_id,
            partial(self._feed, catchup.text_documents),
            self.chain_at,
            self._secret,
        )

    def index_in_background(self, *, at_lull: bool = False) -> None:
        """Let a thread bring the text index up to date, now or when this handle has paused writing."""
        from worlddb.reconciler.background.worker import BackgroundWorker

        with self._making_behind:
            behind = self._behind = self._behind or BackgroundWorker(
                lambda: self._follow(behind.stopped), name="worlddb-index", lingers=False
            )
        behind.nudge(at_lull=at_lull)

    def _follow(self, stopped: Callable[[], bool]) -> bool:
        """Bring the text index up to date in short steps; false if another process is doing it."""
        # Else the buffers of each step would stay in the allocator's heaps, with small blocks between them.
        environment.release_large_blocks()
        # A follower of its own: those who search wait for one step and not for all of them. It keeps nothing.
        return self._text_follower().catch_up(
            self.head(),
            wait_seconds=catchup.STEP_PATIENCE_SECONDS,
            documents=catchup.STEP_DOCUMENTS,
            stopped=stopped,
        )

    def _feed(self, read: RowsOfCommits[Row], after: int, through: int) -> Iterator[Row]:
        """Read an index's input from a range of commits, few rows in each transaction."""
        given: set[tuple[int, int, int]] = set()
        most = FIRST_ROWS
        while after < through:
            rows: list[Row] = []
            upto, is_cut = after, False
            with self.snapshot() as snapshot:
                while upto < min(after + FEED_COMMITS, through) and len(rows) < most:
                    found = iter(read(snapshot.log, snapshot.tables, upto, upto + 1))
                    if given:
                        found = (row for row in found if (row.seq, row.node, row.version) not in given)
                    # A transaction ends with a commit, but for the first one: that one is taken up again.
                    rows += islice(found, most - len(rows)) if most == FIRST_ROWS else found
                    is_cut = most == FIRST_ROWS and next(found, None) is not None
                    upto += not is_cut
            given = {(row.seq, row.node, row.version) for row in rows if row.seq > upto}
            after, most = upto, FEED_ROWS
            yield from rows

    def chain_at(self, seq: int) -> bytes | None:
        """The chain hash of a commit, if there is such a commit."""
        with self.env.read() as txn:
            log = LmdbLog(txn)
            return log.chain(seq) if seq <= log.head().seq else None

    # -- which space answers

    def vector_query(self, text: str, spaces: Sequence[OpenSpace]) -> VectorQuery | str:
        """Give the text as a vector of the first space whose model is here.

        Where there is none, say why (law 12).
        """
        why = NOTHING_EMBEDDED
        for space in spaces:
            try:
                embedder = self._models.query_embedder(space)
                self._models.require_same_model(self.env, space, embedder)
                vector = vectors_of_texts.query_vector(embedder, space, text)
            except (errors.InputError, errors.ModelUnavailable) as error:
                why = str(error)
            else:
                return VectorQuery(space.number, space.row.dimension, vector, space.name, space.model)
        return why

    def why_no_vector(self, spaces: Sequence[OpenSpace]) -> str:
        """Say why no model here can embed for any of the spaces; ``""`` if one can."""
        why = NOTHING_EMBEDDED
        for space in spaces:
            try:
                self._models.query_embedder(space)
            except (errors.InputError, errors.ModelUnavailable) as error:
                why = str(error)
            else:
                return ""
        return why

    def given_vector(self, values: Sequence[float], spaces: Sequence[OpenSpace]) -> VectorQuery | str:
        """The caller's vector as one of the first of ``spaces``, or the reason why there is none."""
        for space in spaces[:1]:
            return VectorQuery(
                space.number, space.row.dimension, vectors_of_texts.given_vector(space, values), space.name, space.model
            )
        return NOTHING_EMBEDDED

    def pending_vectors(self, snapshot: Snapshot, space: int | None) -> int:
        """How many texts have no vector in a space yet; with ``None``, in the space that answers.

        Where no space answers, all texts count. They are counted up to :data:`MAX_PENDING`, once for each head. The
        indexes of spaces that were dropped since are deleted then.
        """
        log, tables = snapshot
        head = log.head()
        at, waiting = self._pending.get(space, (EMPTY_HEAD, 0))
        if at != head:
            spaces = (each for each in all_spaces(log, tables) if each.number == space)
            found = space_in_use(log, tables) if space is None else next(spaces, None)
            waiting = sum(
                1 for _ in islice(catchup.documents_without_vector(log, tables, found, head.seq), MAX_PENDING)
            )
            self._pending[space] = head, waiting
            for number in [number for number in self._vectors if dropped_at(tables, number) is not None]:
                self._forget(number)
        return waiting

    def wake_embedding(self) -> None:
        """Wake the background thread: a read found texts without vectors.

        Where nothing was compared by meaning the thread is not woken, because a missing model does not appear by
        that.
        """
        self.told_of_pending()

    def text_vectors(self, texts: Sequence[str]) -> Sequence[Matrix]:
        """The vectors of texts in the space that answers, as they would be stored.

        Raises:
            InputError, ModelUnavailable: there is no such space, or no model that made it.
        """
        with self.snapshot() as snapshot:
            space = space_in_use(snapshot.log, snapshot.tables)
        if space is None:
            raise errors.ModelUnavailable(NOTHING_EMBEDDED)
        embedder = self._models.query_embedder(space)
        self._models.require_same_model(self.env, space, embedder)
        return vectors_of_texts.text_vectors(embedder, space, texts)

    def allowed_meaning(self) -> vectors_of_texts.NearestTexts | None:
        """As :meth:`meaning`, if this handle may have its model."""
        return self.meaning() if self._models.any else None

    def meaning(self) -> vectors_of_texts.NearestTexts | None:
        """The embedding space that answers and its index, if texts have been embedded."""
        with self.snapshot() as snapshot:
            space = space_in_use(snapshot.log, snapshot.tables)
        if space is None:
            return None
        index = self.vectors(space.number, space.row.dimension)
        head = self.head()
        # Whole texts are compared, since statements about oneself do not identify anybody.
        return vectors_of_texts.NearestTexts(
            space.number,
            space.row.dimension,
            space.name,
            space.model,
            lambda vector, most, nodes: index.find(
                vector, head=head, limit=most, nodes=nodes, bonus=NO_STATEMENTS, exact=True
            ),
        )

    # -- indexes

    def catch_up(self) -> bool:
        """Bring the indexes up to date; false if another process is doing it, and goes on for long.

        This handle's own thread may be about it, and lets go of the index between its steps.
        """
        level = self.text.catch_up(self.head(), wait_seconds=catchup.STEP_PATIENCE_SECONDS)
        if level:
            self.text.gather()
        return self.index_vectors() and level

    def index_vectors(self) -> bool:
        """Bring the vector indexes up to date; false if another process is doing it."""
        head = self.head()
        return all([index.catch_up(head) for index in self.vector_indexes()])

    def rebuild(self, names: Collection[str], progress: Progress | None) -> None:
        """Delete projections and derive them from the log again."""
        if TABLES_NAME in names:
            from worlddb.projections.runner import rebuild

            self.env.refuse_damaged_pages()
            self.env.write(lambda txn: rebuild(LmdbLog(txn), Tables(txn), progress))
        if TEXT_NAME in names:
            head = self.head()
            self.text.rebuild(head, progress=None if progress is None else lambda seq: progress(seq, head))
        if VECTORS_NAME in names:
            for index in self.vector_indexes():
                index.rebuild(self.head())
            self.forget_composed()
        if names:
            self.worlds.delete()
            _delete(self.env.folder / environment.INDEX_FOLDER / witness.SUMMARIES)

    def vector_lane(self, query: VectorQuery, before: int | None, head: int) -> PresentVectorLane:
        """The index of the query's space up to ``head``; ``before`` limits it to lower node numbers."""
        self.close_erased_indexes()
        return PresentVectorLane(self.vectors(query.space, query.dimension), head, query, before)

    def vectors(self, space: int, dimension: int) -> vector_index.VectorFollower:
        """The index of an embedding space."""
        found = self._vectors.get(space)
        if found is None:
            feed = partial(self._feed, partial(_vector_rows, space))
            found = vector_index.VectorFollower(
                self._folder(space), self.store_id, dimension, feed, self.chain_at, self._secret
            )
            self._vectors[space] = found
        return found

    def vector_indexes(self) -> list[vector_index.VectorFollower]:
        """The indexes of the spaces in the store; the files of dropped spaces are deleted."""
        with self.snapshot() as snapshot:
            found = list(all_spaces(snapshot.log, snapshot.tables))
        for space in found:
            if space.dropped is not None:
                self._forget(space.number)
        return [self.vectors(space.number, space.row.dimension) for space in found if space.dropped is None]

    def composed(self, space: int, dimension: int, pool: str) -> composed_vectors.ComposedFollower:
        """The composed embeddings of the present, in a space."""
        from worlddb.projections.indexes import composed_vectors

        self.close_erased_indexes()
        found = self._composed.get((space, pool))
        if found is None:
            place = self._cache_folder(f"{_COMPOSED}{space}-{pool}")
            found = self._composed.setdefault(
                (space, pool), composed_vectors.ComposedFollower(space, dimension, composition.POOLS[pool], place)
            )
        return found

    def _cache_folder(self, name: str) -> composed_vectors.CompositionFolder:
        """A folder beside the indexes for expensive results, and the check that it belongs to the store's history."""
        from worlddb.projections.indexes import composed_vectors

        folder = self.env.folder / environment.INDEX_FOLDER / name
        return composed_vectors.CompositionFolder(folder, self.store_id, self.head, self.chain_at, self._secret)

    def _forget(self, space: int) -> None:
        """Delete the index of a dropped space.

        If another process holds it, the next call tries again.
        """
        follower = self._vectors.pop(space, None)
        if follower is not None:
            follower.close()
        _delete(self._folder(space))
        self.forget_composed(space)

    def forget_composed(self, space: int | None = None) -> None:
        """Delete the composed embeddings that are kept on disk, of one space or of all."""
        for (number, _), follower in self._composed.items():
            if space in (None, number):
                follower.forget()
        for folder in (self.env.folder / environment.INDEX_FOLDER).glob(
            f"{_COMPOSED}{'*' if space is None else f'{space}-*'}"
        ):
            if folder.is_dir():
                _delete(folder)

    def _folder(self, space: int) -> Path:
        return self.env.folder / environment.INDEX_FOLDER / f"vectors-{space}"


def forget_texts() -> None:
    """Drop the texts, names and words that this process has cached, as an erasure requires."""
    for module in (analysis, blocks, canonical, question_dates, claim_relation, text_lane):
        module.forget()
    # A process that compared no names has not loaded what compares them, and keeps none.
    if (scores := sys.modules.get("worlddb.reconciler.similarity.scores")) is not None:
        scores.forget()
    # What queries in SPARQL hold lies in processes of their own.
    if (workers := sys.modules.get("worlddb.query.sparql.sparql_workers")) is not None:
        workers.forget()


def _nobody() -> None:
    """Stand-in where there is no background thread."""


def _no_one(found: Any) -> None:
    """Stand-in where nothing records the hits."""


def _vector_rows(space: int, log: LmdbLog, tables: Tables, after: int, through: int) -> Iterable[VectorRow]:
    return catchup.vector_rows(log, tables, space, after, through)


def _delete(folder: Path) -> None:
    """Delete an index's folder, unless another process is at it."""
    if folder.exists():
        try:
            with text_index.index_lock(folder, 0.0):
                text_index.reset(folder)
        except (text_snapshot.IndexUnwritable, OSError):
            pass
