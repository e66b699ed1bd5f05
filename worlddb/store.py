"""Opening a directory: what is there, what may be made of it, and the read transactions on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from worlddb.log.model.errors import NotAStore, UnavailableError
from worlddb.log.model.events import StoreCreated
from worlddb.log.store.environment import DATA_FILE, INDEX_FOLDER, Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes.catchup import TextFollower
from worlddb.projections.indexes.feed import text_documents
from worlddb.projections.indexes.fields import TextDocument
from worlddb.projections.runner import catch_up
from worlddb.projections.tables.tables import Tables
from worlddb.query.lanes.text import PresentTextLane
from worlddb.query.snapshot import Snapshot

FEED_COMMITS: Final = 256
"""How many commits the text index is fed from one read transaction."""


def open_environment(folder: Path, *, author: str, create: bool, timeout_seconds: float) -> Environment:
    """The environment of a store directory; with ``create``, of an empty or missing one too.

    Raises:
        NotAStore: the path is a file, holds something else, or holds nothing and ``create`` is false.
        UnavailableError: the directory cannot be made.
    """
    if folder.exists() and not folder.is_dir():
        raise NotAStore(f"{folder} is a file, not a directory", "Name the store's directory")
    if not (folder / DATA_FILE).exists():
        if not create:
            raise NotAStore(f"There is no store at {folder}", "Check the path, or write to it first")
        if folder.exists() and any(entry.name not in _OWN_FILES for entry in folder.iterdir()):
            raise NotAStore(f"{folder} is a directory with other things in it", "Name an empty or a new directory")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnavailableError(f"{folder} cannot be made: {error}", "Check the path and its permissions") from error
    return Environment(folder, author=author, timeout_seconds=timeout_seconds)


_OWN_FILES: Final = frozenset({"writer.lock", "writer.json", "lock.mdb", INDEX_FOLDER})


class StoreReader:
    """Read transactions on one environment, and its text index."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        with self.snapshot() as snapshot:
            first = snapshot.log.events(1).events[0]
        assert isinstance(first, StoreCreated)
        self.store_id = first.store_id
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
        """Apply to the tables what they have not applied, all of it if they were deleted."""

        def apply(txn: object) -> None:
            log, tables = LmdbLog(txn), Tables(txn)  # type: ignore[arg-type]
            if tables.progress().seq > log.head().seq:
                tables.clear()
            catch_up(log, tables, log.head().seq)

        self.env.write(apply)

    def head(self) -> int:
        """The sequence number of the last commit."""
        with self.env.read() as txn:
            return LmdbLog(txn).head().seq

    def text_lane(self) -> PresentTextLane:
        return PresentTextLane(self.text, self.head())

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
