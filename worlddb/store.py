"""Opening a directory: what is there, what may be made of it, and the read transactions on it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from worlddb.log.model.errors import DamagedStore, InputError, ModelUnavailable, NotAStore, UnavailableError
from worlddb.log.model.events import StoreCreated
from worlddb.log.store.durable import NEW_PREFIX, make_folder
from worlddb.log.store.environment import INDEX_FOLDER, Environment
from worlddb.log.store.lock import HOLDER_FILE
from worlddb.log.store.log import OPENING_KEYS, LmdbLog
from worlddb.log.store.shared import DATA_FILE
from worlddb.projections.indexes.catchup import TextFollower
from worlddb.projections.indexes.composed import ComposedFollower
from worlddb.projections.indexes.feed import text_documents, vector_rows
from worlddb.projections.indexes.fields import TextDocument
from worlddb.projections.indexes.pooling import POOLS
from worlddb.projections.indexes.vector_rows import VectorRow
from worlddb.projections.indexes.vectors import VectorFollower
from worlddb.projections.runner import rebuild_unless_level
from worlddb.projections.tables.schema import FIRST_TABLE_BYTE
from worlddb.projections.tables.supposed import described, identity_of, refuse_supposed
from worlddb.projections.tables.tables import Tables
from worlddb.projections.tables.vectors import spaces
from worlddb.query.lanes.text import PresentTextLane
from worlddb.query.lanes.vector import PresentVectorLane, VectorQuery
from worlddb.query.snapshot import Snapshot, Space
from worlddb.reconciler.embedder import Embedder
from worlddb.reconciler.embedding import DEFAULT_SPACE, OpenSpace, find_space, given_vector, pending, query_vector
from worlddb.reconciler.lease import LEASE_FILE

DEFAULT_TIMEOUT_SECONDS: Final = 10.0
"""How long a write waits for another process's."""
MAX_PENDING: Final = 1_000
"""How far texts without a vector are counted."""
NOTHING_EMBEDDED: Final = "no text has been embedded yet; call embed()"
FEED_COMMITS: Final = 256
"""How many commits the text index is fed from one read transaction."""


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


def has_begun(env: Environment) -> bool:
    """True if a store is there; raises ``NotAStore`` if something else is."""
    with env.read() as txn:
        return LmdbLog(txn).check_format()


class StoreReader:
    """Read transactions on one environment, its indexes, and the model that embeds questions."""

    def __init__(self, env: Environment, embedder: Embedder | None = None) -> None:
        self.env = env
        self._embedder = embedder
        self._vectors: dict[int, VectorFollower] = {}
        self._composed: dict[tuple[int, str], ComposedFollower] = {}
        self._generation = env.generation
        with self.snapshot() as snapshot:
            first = snapshot.log.events(1).events[0]
            self.store_id = identity_of(snapshot.log, snapshot.tables)
            self.supposes = described(snapshot.log, snapshot.tables)
            """What the store supposes, if it is hypothetical; empty otherwise."""
        assert isinstance(first, StoreCreated)
        self.root = first.root
        self.text = TextFollower(env.folder / INDEX_FOLDER / "text", self.store_id, self._feed, self._chain_at)

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
        self._let_go_of_erased()
        return PresentTextLane(self.text, head)

    def _let_go_of_erased(self) -> None:
        """What is held in memory may hold words, and vectors of words, that were erased."""
        if self._generation != self.env.generation:
            self._generation = self.env.generation
            self.close()

    def vector_query(self, text: str, through: int | None) -> VectorQuery | str:
        """The question as a vector of the default space, or in words why there is none (law 12).

        With ``through``, a space that was opened after that commit is none.
        """
        space = self._space(through)
        if space is None:
            return NOTHING_EMBEDDED
        if self._embedder is None:
            return "the store was opened without an embedder"
        try:
            return VectorQuery(space.number, space.row.dimension, query_vector(self._embedder, space, text))
        except (InputError, ModelUnavailable) as error:
            return str(error)

    def _space(self, through: int | None) -> OpenSpace | None:
        """The default space, if it was opened by a commit, or at all."""
        with self.snapshot() as snapshot:
            space = find_space(snapshot.log, snapshot.tables, DEFAULT_SPACE)
        return None if space is None or (through is not None and space.row.seq > through) else space

    def vector_given(self, values: Sequence[float], through: int | None) -> VectorQuery | str:
        """A vector that the caller made, of the default space, or in words why there is nothing to compare it with.

        ``through`` is as :meth:`vector_query` has it.
        """
        space = self._space(through)
        if space is None:
            return NOTHING_EMBEDDED
        return VectorQuery(space.number, space.row.dimension, given_vector(space, values))

    def default_space(self, through: int) -> Space | None:
        """The default embedding space, if it was opened by a commit."""
        found = self._space(through)
        return None if found is None else Space(found.number, found.row.dimension, found.model)

    def composed(self, space: int, dimension: int, pool: str) -> ComposedFollower:
        """The composed embeddings of the store's present in a space."""
        self._let_go_of_erased()
        found = self._composed.get((space, pool))
        if found is None:
            found = self._composed.setdefault((space, pool), ComposedFollower(space, dimension, POOLS[pool]))
        return found

    def vector_lane(self, query: VectorQuery, before: int | None) -> PresentVectorLane:
        """The index of the query's space; with ``before``, of the worlds that have lower numbers."""
        return PresentVectorLane(self.vectors(query.space, query.dimension), self.head(), query, before)

    def vectors(self, space: int, dimension: int) -> VectorFollower:
        """The index of an embedding space."""
        found = self._vectors.get(space)
        if found is None:
            folder = self.env.folder / INDEX_FOLDER / f"vectors-{space}"
            feed = partial(self._vector_feed, space)
            found = VectorFollower(folder, self.store_id, dimension, feed, self._chain_at)
            self._vectors[space] = found
        return found

    def vector_indexes(self) -> list[VectorFollower]:
        """The indexes of every embedding space."""
        with self.snapshot() as snapshot:
            opened = list(spaces(snapshot.tables))
        return [self.vectors(number, row.dimension) for number, row in opened]

    def pending_vectors(self) -> int:
        """How many texts have no vector in the default space yet; counted up to :data:`MAX_PENDING`."""
        with self.snapshot() as snapshot:
            space = find_space(snapshot.log, snapshot.tables, DEFAULT_SPACE)
            return sum(1 for _ in islice(pending(snapshot.log, snapshot.tables, space), MAX_PENDING))

    def close(self) -> None:
        """Let go of the indexes' files."""
        self.text.close()
        for follower in self._vectors.values():
            follower.close()
        for composed in self._composed.values():
            composed.forget()

    def _vector_feed(self, space: int, after: int, through: int) -> Iterator[VectorRow]:
        for first in range(after, through, FEED_COMMITS):
            with self.snapshot() as snapshot:
                last = min(first + FEED_COMMITS, through)
                rows = list(vector_rows(snapshot.log, snapshot.tables, space, first, last))
            yield from rows

    def _feed(self, after: int, through: int) -> Iterator[TextDocument]:
        for first in range(after, through, FEED_COMMITS):
            with self.snapshot() as snapshot:
                last = min(first + FEED_COMMITS, through)
                documents = list(text_documents(snapshot.log, snapshot.tables, first, last))
            yield from documents

    def _chain_at(self, seq: int) -> bytes | None:
        with self.env.read() as txn:
            log = LmdbLog(txn)
            return log.chain(seq) if seq <= log.head().seq else None
