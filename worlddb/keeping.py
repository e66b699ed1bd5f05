"""The calls that look after a store as a whole: where it stands, whether it holds, its journal, its rebuilds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from worlddb.log.model.checkpoint import anchor_of, origin_of
from worlddb.log.model.clock import monotonic
from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import HIGHEST_SEQ, checked_amount, checked_number
from worlddb.log.store.copies import BACKUP, Copy, note_copy, refuse_inside
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.log.store.verify import Finding
from worlddb.projections.check import verify_store
from worlddb.projections.runner import rebuild as rebuild_tables
from worlddb.projections.tables.storage.rows import Tables
from worlddb.proving import Proving
from worlddb.query.history.journal import Entry, commit_entries, followed, journal
from worlddb.query.reads.store_facts import counts
from worlddb.reconciler.backup.backups import BackedUp
from worlddb.reconciler.backup.backups import backup as back_up
from worlddb.reconciler.commands.outcome import Receipt
from worlddb.reconciler.transaction.receipts import decided
from worlddb.store import DEFAULT_TIMEOUT_SECONDS, folder_of, has_begun, open_environment

TABLES_NAME: Final = "tables"
TEXT_NAME: Final = "text"
VECTORS_NAME: Final = "vectors"
PROJECTIONS: Final = (TABLES_NAME, TEXT_NAME, VECTORS_NAME)

Progress = Callable[[int, int], None]


class Verified(NamedTuple):
    """What a verification found; ``first_bad_seq`` is ``None`` if everything holds, and 0 if it is in no commit.

    ``head`` is how the log stands to the head that was given: "holds", "untrusted", "other_store", "shorter",
    "rewritten" or "unreadable"; empty if none was given. ``supposes`` says what a hypothetical store supposes.
    """

    ok: bool
    commits: int
    events: int
    blobs: int
    first_bad_seq: int | None
    findings: tuple[Finding, ...]
    head: str = ""
    supposes: str = ""


class Rebuilt(NamedTuple):
    """What was rebuilt, in how many seconds, and the root hash that came out."""

    rebuilt: tuple[str, ...]
    seconds: float
    root: str


class Step(NamedTuple):
    """What one commit decided: its receipt, who asked for which commands, and the events in their order.

    ``commands`` are names, in the order in which they were given; of the commit that made the store there are none.
    """

    receipt: Receipt
    author: str
    commands: tuple[str, ...]
    events: tuple[Entry, ...]


class Keeping(Proving):
    """What an open store tells of itself, and how it is checked and derived again."""

    author: str

    def log(self, first: int = 1, last: int | None = None, *, ref: Any = None) -> Iterator[Entry]:
        """The events as a person reads them, with their commits; with ``ref`` only those that name it."""
        checked_number(first, "first", 0, HIGHEST_SEQ)
        if last is not None:
            checked_number(last, "last", 0, HIGHEST_SEQ)
        wanted = None if ref is None else self.full_ref(ref)
        head = self._reader.head()
        return journal(self._reader, first, head if last is None else min(last, head), wanted)

    def steps(self, first: int = 1, last: int | None = None) -> Iterator[Step]:
        """What each commit from ``first`` to ``last`` (default: the head) decided, one after another."""
        checked_number(first, "first", 0, HIGHEST_SEQ)
        if last is not None:
            checked_number(last, "last", 0, HIGHEST_SEQ)
        head = self._reader.head()
        for seq in range(max(1, first), (head if last is None else min(last, head)) + 1):
            with self._reader.snapshot() as snapshot:
                step = Step(*decided(snapshot.log, seq), tuple(commit_entries(snapshot.log, seq)))
            yield step

    def follow(
        self, first: int | None = None, *, ref: Any = None, patience_seconds: float | None = None
    ) -> Iterator[Entry]:
        """The events from commit ``first`` on (default: the next one), as this and other processes commit them.

        It goes on for as long as it is iterated, or until nothing was committed for ``patience_seconds``. To go on
        later, begin at the ``seq`` of the last entry that was dealt with, plus one: nothing is missed or told twice.
        """
        if first is not None:
            checked_number(first, "first", 0, HIGHEST_SEQ)
        if patience_seconds is not None:
            checked_amount(patience_seconds, "patience_seconds")
        wanted = None if ref is None else self.full_ref(ref)
        begin = self._reader.head() + 1 if first is None else max(1, first)
        return followed(self._reader, begin, wanted, patience_seconds)

    def stats(self) -> dict[str, Any]:
        """Counts, bytes, how far each projection is, and what a hypothetical store supposes."""
        with self._reader.snapshot() as snapshot:
            found = counts(snapshot)
        index = self._reader.text.status()
        index_bytes = sum(file.stat().st_size for file in self.path.glob("indexes/**/*") if file.is_file())
        return {
            "counts": found,
            "bytes": {"data": self._env.size_bytes(), "indexes": index_bytes},
            "checkpoints": {TABLES_NAME: found["commits"], TEXT_NAME: index.checkpoint},
            "supposes": self._reader.supposes,
        }

    def verify(
        self,
        *,
        deep: bool = False,
        head: str | bytes | None = None,
        keys: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Verified:
        """Check the file's structure, chain, events, blobs and the tables' root; ``deep`` also replays and compares
        every table.

        ``head`` is the text of a checkpoint that was kept elsewhere: the log must begin with what it stands for, so
        that one that was rewritten with fresh hashes or cut short is found. Each verifier key in ``keys`` must have
        signed it.

        Never raises for damage: what does not hold is listed, with the first bad commit (0: outside the log).

        Raises:
            MalformedFile: ``head`` is no checkpoint.
            InputError: a key is no verifier key, or keys were given without a head.
        """
        anchor = None if head is None and not keys else anchor_of(head, keys)
        totals, findings, verdict = verify_store(
            self._env, deep=deep, progress=progress, origin=origin_of(self._reader.store_id), anchor=anchor
        )
        return Verified(
            not findings,
            *totals,
            findings[0].seq if findings else None,
            tuple(findings),
            verdict,
            self._reader.supposes,
        )

    def rebuild(self, *names: str, progress: Progress | None = None) -> Rebuilt:
        """Throw projections away (all of them if none is named) and derive them from the log again."""
        unknown = [name for name in names if name not in PROJECTIONS]
        if unknown:
            raise InputError(f"There is no projection {unknown[0]!r}", f"Name one of: {', '.join(PROJECTIONS)}")
        wanted = tuple(name for name in PROJECTIONS if not names or name in names)
        began = monotonic()
        if TABLES_NAME in wanted:
            self._env.refuse_damaged_pages()
            self._env.write(lambda txn: rebuild_tables(LmdbLog(txn), Tables(txn), progress))
        if TEXT_NAME in wanted:
            head = self._reader.head()
            telling = None if progress is None else partial(_reached, progress, head)
            self._reader.text.rebuild(head, progress=telling)
        if VECTORS_NAME in wanted:
            for index in self._reader.vector_indexes():
                index.rebuild(self._reader.head())
            self._reader.forget_composed()
        return Rebuilt(wanted, monotonic() - began, self.view().hash())

    def catch_up(self) -> bool:
        """Bring the indexes to the head now; false if another process is at it. Reads do not need it."""
        head = self._reader.head()
        level = self._reader.text.catch_up(head)
        return all([index.catch_up(head) for index in self._reader.vector_indexes()]) and level

    def backup(self, into: str | Path, *, progress: Progress | None = None) -> BackedUp:
        """Bring a backup in a directory up to the last commit, or begin one there; others may write meanwhile.

        A backup is a store directory that can be read and not written to. What it has is not copied again, what was
        erased here is erased there, and what breaks off is gone on with by the next call. Make a store of it with
        :func:`restore`.

        Raises:
            BackupMismatch: the directory holds a store and no backup, or a backup that does not lead up to this store.
            DamagedStore: a commit is not what was written; the backup ends before it.
        """
        self._reader.refuse_supposed("a backup of it could be taken for one of the original")
        return backup_into(self._env, folder_of(into), self.author, progress)


def _reached(progress: Progress, head: int, seq: int) -> None:
    progress(seq, head)


def backup_into(env: Environment, folder: Path, author: str, progress: Progress | None) -> BackedUp:
    """Bring a backup in a directory up to the last commit, or begin one there, and remember where it is."""
    refuse_inside(env.folder, folder)
    with env.read() as txn:
        place, head = str(folder.resolve()), LmdbLog(txn).head().seq
    target = open_environment(folder, author=author, create=True, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
    try:
        if not has_begun(target):
            note_copy(env.folder, Copy(BACKUP, place, head, head))
        made = back_up(env, target, progress)
        if made.scrubbed:
            note_copy(env.folder, Copy(BACKUP, place, made.seq, made.head))
        return made
    finally:
        target.close()
