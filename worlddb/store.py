"""Opening a directory: what is there, what may be made of it, and the read transactions on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from worlddb.log.model.errors import DamagedStore, InputError, NotAStore, UnavailableError
from worlddb.log.model.events import StoreCreated
from worlddb.log.store.durable import NEW_PREFIX, make_folder
from worlddb.log.store.environment import INDEX_FOLDER, Environment
from worlddb.log.store.lock import HOLDER_FILE
from worlddb.log.store.log import OPENING_KEYS, LmdbLog
from worlddb.log.store.shared_environment import DATA_FILE
from worlddb.projections.indexes.catchup import TextFollower
from worlddb.projections.indexes.feed import text_documents
from worlddb.projections.indexes.fields import TextDocument
from worlddb.projections.runner import rebuild_unless_level
from worlddb.projections.tables.apply.log_marks import described, identity_of, refuse_supposed
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import FIRST_TABLE_BYTE
from worlddb.query.lanes.text_lane import PresentTextLane
from worlddb.query.snapshot.containment_cache import Interiors
from worlddb.query.snapshot.snapshot import Snapshot
from worlddb.reconciler.background.worker import LEASE_FILE

DEFAULT_TIMEOUT_SECONDS: Final = 10.0
"""How long a write waits for another process's."""
MAX_THREADS: Final = 4
"""How many searches of one handle are begun at a time beside what asks for them."""
FEED_COMMITS: Final = 256
"""How many commits an index is fed from one read transaction."""


def open_environment(folder: Path, *, author: str, create: bool, timeout_seconds: float) -> Environment:
    """The environment of a store directory; with ``create``, of an empty or missing one too.

    Raises:
        NotAStore: the path is a file, holds something else, or holds nothing and ``create`` is false.
        UnavailableError: the directory cannot be made or looked at.
    """
    try:
        _prepare(folder, create)
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"{str(folder)!r:.200} cannot be used: {error}", "Check the path and its permissions"
        ) from error
    env = Environment(folder, author=author, timeout_seconds=timeout_seconds)
    try:
        env.refuse_damaged_pages(_OPENING_KEYS)
    except BaseException:
        env.close()
        raise
    return env


def folder_of(path: object) -> Path:
    """The path that a caller gave.

    Raises:
        InputError: it is nothing of the kind.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"The store's path is {type(path).__name__}", "Give it as text or as a Path")
    return Path(path)


def is_regular_file(path: str | Path) -> bool:
    """True if a path is a file's; one that the system cannot even hold is not, and opening it says so."""
    try:
        return Path(path).is_file()
    except OSError:
        return False


def _prepare(folder: Path, create: bool) -> None:
    """See that the directory holds a store, or make it where it may hold one."""
    if folder.exists() and not folder.is_dir():
        raise NotAStore(f"{folder} is a file, not a directory", "Name the store's directory")
    data = folder / DATA_FILE
    if not data.exists():
        # Another process may have made the store since that look, so the data file is looked for once more.
        is_store = folder.is_dir() and any((folder / name).exists() for name in (HOLDER_FILE, INDEX_FOLDER))
        if is_store and not data.exists():
            raise DamagedStore(f"{data} is gone from a store", "Restore the store from a backup")
        if not create:
            raise NotAStore(f"There is no store at {folder}", "Check the path, or write to it first")
        if folder.exists() and any(not _is_own(entry.name) for entry in folder.iterdir()):
            raise NotAStore(f"{folder} is a directory with other things in it", "Name an empty or a new directory")
        make_folder(folder)


def _is_own(name: str) -> bool:
    return name in _OWN_FILES or name.startswith(NEW_PREFIX)


_OPENING_KEYS: Final = (*OPENING_KEYS, bytes([FIRST_TABLE_BYTE]) + b"applied")
"""What is read whenever a store is opened; by what lies behind it, `verify` looks first."""
_OWN_FILES: Final = frozenset({DATA_FILE, "writer.lock", "writer.json", "lock.mdb", LEASE_FILE, INDEX_FOLDER})
"""What another process may be making at this very moment."""


def processors_for_us() -> int:
    """How many processors this process may run on: in a container, or under ``taskset``, fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _threads() -> Executor | None:
    """Threads for searches that are begun before they are needed; none where they would wait for one processor. They
    are made with the first such search, and end with the handle."""
    processors = processors_for_us()
    return ThreadPoolExecutor(min(processors, MAX_THREADS), "worlddb-search") if processors > 1 else None


def has_begun(env: Environment) -> bool:
    """True if a store is there; raises ``NotAStore`` if something else is."""
    with env.read() as txn:
        return LmdbLog(txn).check_format()


class StoreReader:
    """Read transactions on one environment, and its text index."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self._generation = env.generation
        with self.snapshot() as snapshot:
            first = snapshot.log.events(1).events[0]
            self.store_id = identity_of(snapshot.log, snapshot.tables)
            self.supposes = described(snapshot.log, snapshot.tables)
            """What the store supposes, if it is hypothetical; empty otherwise."""
        assert isinstance(first, StoreCreated)
        self.root = first.root
        self.interiors = Interiors()
        self._threads = _threads()
        self.text = TextFollower(env.folder / INDEX_FOLDER / "text", self.store_id, self._feed, self.chain_at)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The log and the tables in one read transaction; tables that are missing or behind are derived first."""
        with self.env.read() as txn:
            snapshot = Snapshot(LmdbLog(txn), Tables(txn))
            current = snapshot.tables.progress().seq == snapshot.log.head().seq
            if current:
                yield snapshot
        if not current:
            self.heal()
            with self.env.read() as txn:
                yield Snapshot(LmdbLog(txn), Tables(txn))

    def heal(self) -> None:
        """Derive the tables from the log. They commit together, so what is not level with it was tampered with."""
        self.env.refuse_damaged_pages()
        self.env.write(lambda txn: rebuild_unless_level(LmdbLog(txn), Tables(txn)))

    def refuse_supposed(self, what: str) -> None:
        """See that the store is what happened, before it stands for that; raises ``HypotheticalStore`` if not."""
        with self.snapshot() as snapshot:
            refuse_supposed(snapshot.tables, what)

    def head(self) -> int:
        """The sequence number of the last commit."""
        with self.env.read() as txn:
            return LmdbLog(txn).head().seq

    def text_lane(self) -> PresentTextLane:
        head = self.head()
        self.let_go_of_erased()
        return PresentTextLane(self.text, head, self._threads)

    def let_go_of_erased(self) -> None:
        """What is held in memory may hold words, and vectors of words, that were erased."""
        if self._generation != self.env.generation:
            self._generation = self.env.generation
            self.close()

    def close(self) -> None:
        """Let go of the indexes' files."""
        self.text.close()

    def end(self) -> None:
        """Let go of the indexes and of the threads, for good. A search that goes on elsewhere ends by itself."""
        self.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    def _feed(self, after: int, through: int) -> Iterator[TextDocument]:
        for first in range(after, through, FEED_COMMITS):
            with self.snapshot() as snapshot:
                last = min(first + FEED_COMMITS, through)
                documents = list(text_documents(snapshot.log, snapshot.tables, first, last))
            yield from documents

    def chain_at(self, seq: int) -> bytes | None:
        """The chain hash of a commit, if there is such a commit."""
        with self.env.read() as txn:
            log = LmdbLog(txn)
            return log.chain(seq) if seq <= log.head().seq else None
