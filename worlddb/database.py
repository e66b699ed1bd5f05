"""The façade: one object for a store, which hands every call to the room that does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from worlddb.log.model.environment import Clock, Entropy, SystemClock, SystemEntropy, monotonic
from worlddb.log.model.errors import InputError, NotAStore, UnknownReference
from worlddb.log.model.limits import MAX_AUTHOR_BYTES, checked_number, checked_text
from worlddb.log.model.times import TimeLike, parse_time
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.log.store.verify import Finding
from worlddb.projections.check import verify_store
from worlddb.projections.runner import rebuild as rebuild_tables
from worlddb.projections.tables.tables import Tables
from worlddb.query.diff import Difference
from worlddb.query.diff import diff as diff_readers
from worlddb.query.journal import Entry, journal
from worlddb.query.records import Proposal
from worlddb.query.references import as_ref
from worlddb.query.spec import rewritten
from worlddb.query.stats import counts
from worlddb.query.view import View
from worlddb.reconciler import commands as cmd
from worlddb.reconciler.edges import DEFAULT_ONTOLOGY
from worlddb.reconciler.extraction import Extractor, Ingest
from worlddb.reconciler.outcome import Receipt
from worlddb.reconciler.pipeline import Writer, create_store, execute
from worlddb.reconciler.replay import Replayed
from worlddb.reconciler.replay import replay as replay_records
from worlddb.reconciler.turns import Turn
from worlddb.store import StoreReader, folder_of, open_environment
from worlddb.writing import Batch, Writing

DEFAULT_TIMEOUT_SECONDS: Final = 10.0
DEFAULT_CLOCK_JUMP_DAYS: Final = 3653
_DAY: Final = 86_400_000_000
MAX_SEQ: Final = 2**63 - 1
TABLES_NAME: Final = "tables"
TEXT_NAME: Final = "text"
PROJECTIONS: Final = (TABLES_NAME, TEXT_NAME)

Progress = Callable[[int, int], None]


class Head(NamedTuple):
    """Where a store stands: its last commit, the hashes that stand for all of it, and when it was made."""

    seq: int
    chain: str
    root: str
    ingested_at: int
    store_id: str


class Verified(NamedTuple):
    """What a verification found; ``first_bad_seq`` is ``None`` if everything holds."""

    ok: bool
    commits: int
    events: int
    blobs: int
    first_bad_seq: int | None
    findings: tuple[Finding, ...]


class Rebuilt(NamedTuple):
    """What was rebuilt, in how many seconds, and the root hash that came out."""

    rebuilt: tuple[str, ...]
    seconds: float
    root: str


class Database(Writing):
    """An open store. Writes are commands that return receipts; reads go through views.

    Use :func:`open`. Handles are cheap, may be shared between threads, and any number of processes may open one
    directory.
    """

    def __init__(
        self,
        folder: Path,
        *,
        author: str,
        create: bool,
        timeout_seconds: float,
        max_clock_jump_days: float,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self.path = folder
        self.author = checked_text(author, "author", MAX_AUTHOR_BYTES, empty=False)
        self._env = open_environment(folder, author=author, create=create, timeout_seconds=timeout_seconds)
        self._clock = clock
        self._writer = Writer(
            self._env,
            clock,
            entropy,
            {handler.name: handler for handler in DEFAULT_ONTOLOGY},
            self.author,
            int(max_clock_jump_days * _DAY),
        )
        try:
            if not _has_begun(self._env):
                if not create:
                    raise NotAStore(f"There is no store at {folder}", "Check the path, or write to it first")
                create_store(self._writer)
            self._reader = StoreReader(self._env)
        except BaseException:
            self._env.close()
            raise
        self._spec = rewritten(tuple(handler.on_query_rewrite for handler in DEFAULT_ONTOLOGY))

    # -- writing

    def _execute(self, commands: Sequence[cmd.Command], idempotency_key: str | None) -> Receipt:
        return execute(self._writer, commands, idempotency_key)

    def batch(self, *, idempotency_key: str | None = None) -> Batch:
        """Many commands, one commit: ``with db.batch() as tx: ...``; ``tx.receipt`` afterwards.

        Calls on ``tx`` return pending references that later calls in the batch may use. One refusal, or an exception
        in the block, aborts all of it; a refusal is raised as :class:`RefusedError` when the block ends.
        """
        return Batch(self._execute, idempotency_key)

    def ingest(
        self,
        turns: Sequence[Turn | dict[str, Any]],
        *,
        conversation: str = "conversation",
        session: str | None = None,
        at: TimeLike | None = None,
        into: Any = None,
        format: str = "turns",
        start: int = 0,
        extractor: Extractor | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Take in turns of a conversation as one commit: worlds for conversation, sessions, turns and speakers.

        With ``session`` all turns belong to that one; without it each belongs to the session that it names.

        Every record is keyed by format, conversation, session and position (from ``start``), so the same input
        changes nothing, a longer one adds its tail, and changed text is a revision. ``extractor`` may add candidates;
        it is called before the store is locked.
        """
        if not isinstance(turns, list | tuple):
            raise InputError(f"turns is {type(turns).__name__}, not a list of turns", "Give a list of Turn or dict")
        if extractor is not None and not callable(extractor):
            raise InputError(f"extractor is {type(extractor).__name__}, which cannot be called", "Give a function")
        request = Ingest(
            tuple(turn if isinstance(turn, Turn) else _turn(turn, position) for position, turn in enumerate(turns)),
            conversation,
            session,
            None if at is None else parse_time(at, "at"),
            None if into is None else as_ref(into),
            format,
            start,
            extractor,
        )
        return execute(self._writer, request, idempotency_key)

    # -- reading

    def view(self, *, valid: TimeLike | None = None, ingested: TimeLike | None = None, seq: int | None = None) -> View:
        """A pinned view: ``ingested`` (or the commit ``seq``) is what was known, ``valid`` what should have been true.

        ``ingested`` defaults to the head; ``valid`` to ``ingested`` if that was given, else to now.
        """
        if ingested is not None and seq is not None:
            raise InputError("Both ingested and seq were given", "Give one of them")
        with self._env.read() as txn:
            log = LmdbLog(txn)
            head = log.head().seq
            known = parse_time(ingested, "ingested") if ingested is not None else 0
            at = head if seq is None else seq
            if ingested is not None:
                at = log.seq_at(known)
            else:
                checked_number(at, "seq", -MAX_SEQ, MAX_SEQ)
                if not 0 <= at <= head:
                    raise InputError(f"There is no commit {at}", f"The store has commits 1 to {head}")
                known = log.header(at).ingest_time if at else 0
        past = ingested is not None or seq is not None
        default = known if past else max(self._clock.now(), known)
        return View(self._reader, at, known, default if valid is None else parse_time(valid, "valid"), self._spec)

    def proposals(self, *, status: str | None = "pending") -> list[Proposal]:
        """Staged identities; ``status=None`` for decided ones too."""
        return self.view().proposals(status=status)

    def log(self, first: int = 1, last: int | None = None, *, ref: Any = None) -> Iterator[Entry]:
        """The events as a person reads them, with their commits; with ``ref`` only those that name it."""
        checked_number(first, "first", 0, MAX_SEQ)
        if last is not None:
            checked_number(last, "last", 0, MAX_SEQ)
        wanted = None if ref is None else self.full_ref(ref)
        head = self.head().seq
        return journal(self._reader, first, head if last is None else min(last, head), wanted)

    def full_ref(self, ref: Any) -> str:
        """The full hex id of the world that a reference or prefix stands for."""
        found = self.view().get(ref, include_superseded=True)
        assert found is not None, "a known world has a newest version"
        return found.ref

    def head(self) -> Head:
        """Where the store stands."""
        with self._env.read() as txn:
            log = LmdbLog(txn)
            end = log.head()
            header = log.header(end.seq)
        return Head(end.seq, end.chain.hex(), header.root.hex(), header.ingest_time, self._reader.store_id.hex())

    def stats(self) -> dict[str, Any]:
        """Counts, bytes and how far each projection is."""
        with self._reader.snapshot() as snapshot:
            found = counts(snapshot)
        index = self._reader.text.status()
        index_bytes = sum(file.stat().st_size for file in self.path.glob("indexes/**/*") if file.is_file())
        return {
            "counts": found,
            "bytes": {"data": self._env.size_bytes(), "indexes": index_bytes},
            "checkpoints": {TABLES_NAME: found["commits"], TEXT_NAME: index.checkpoint},
        }

    # -- keeping

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> Verified:
        """Check the file's structure, chain, events, blobs and the tables' root; ``deep`` also replays and compares
        every table.

        Never raises for damage: what does not hold is listed, with the first bad commit (0: outside the log).
        """
        totals, findings = verify_store(self._env, deep=deep, progress=progress)
        return Verified(not findings, *totals, findings[0].seq if findings else None, tuple(findings))

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
            self._reader.text.rebuild(self._reader.head())
        return Rebuilt(wanted, monotonic() - began, self.view().hash())

    def catch_up(self) -> bool:
        """Bring the indexes to the head now; false if another process is at it. Reads do not need it."""
        return self._reader.text.catch_up(self._reader.head())

    def replay(
        self,
        into: str | Path,
        *,
        until: TimeLike | None = None,
        seq: int | None = None,
        progress: Progress | None = None,
    ) -> Replayed:
        """Make the store as it was at an ingest time or commit in a new directory, from the log alone."""
        end = self.view(ingested=until, seq=seq).seq
        if not end:
            raise InputError("Nothing had been committed by then", "Replay to a later time")
        folder = folder_of(into)
        target = open_environment(folder, author=self.author, create=True, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
        try:
            if _has_begun(target):
                raise NotAStore(f"{folder} already holds a store", "Name a new directory")
            return replay_records(self._env, target, end, progress)
        finally:
            target.close()

    def close(self) -> None:
        """Let go of the store. Committed writes are durable whether or not it is called."""
        self._reader.text.close()
        self._env.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<worlddb.Database {str(self.path)!r}>"


def open(
    path: str | Path,
    *,
    author: str = "local",
    create: bool = True,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    max_clock_jump_days: float = DEFAULT_CLOCK_JUMP_DAYS,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
) -> Database:
    """Open the store in a directory; it is created if there is none, unless ``create=False``.

    Args:
        author: who writes through this handle; recorded with every commit.
        timeout_seconds: how long a write waits for another process's before :class:`WriterBusy`.
        max_clock_jump_days: how far the clock may be ahead of the last commit before :class:`ClockJump`.
        clock, entropy: where time and randomness come from; for tests and simulations.

    Raises:
        NotAStore, NewerFormat, DamagedStore: what is there cannot be opened, and why.
    """
    return Database(
        folder_of(path),
        author=author,
        create=create,
        timeout_seconds=_number(timeout_seconds, "timeout_seconds"),
        max_clock_jump_days=_number(max_clock_jump_days, "max_clock_jump_days"),
        clock=clock or SystemClock(),
        entropy=entropy or SystemEntropy(),
    )


def diff(a: str | Path, b: str | Path, *, world: Any = None) -> Difference:
    """What differs between the heads of two stores: which worlds, and which events made them differ.

    ``world`` limits the comparison to one world and what it contains.
    """
    with open(a, create=False) as left, open(b, create=False) as right:
        return diff_readers(left._reader, right._reader, None if world is None else _ref_in_either(left, right, world))


def _ref_in_either(left: Database, right: Database, world: Any) -> str:
    """The full reference of a world that either store knows."""
    try:
        return left.full_ref(world)
    except UnknownReference:
        return right.full_ref(world)


def _has_begun(env: Environment) -> bool:
    """True if a store is there; raises ``NotAStore`` if something else is."""
    with env.read() as txn:
        return LmdbLog(txn).check_format()


def _turn(given: dict[str, Any], position: int) -> Turn:
    try:
        return Turn(**given)
    except TypeError as error:
        raise InputError(
            f"turns[{position}] cannot be made of {given!r:.80}: {error}", "Give text, speaker, at, session"
        ) from None


def _number(value: object, what: str) -> float:
    """A finite number that is not negative."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise InputError(f"{what} is {value!r:.80}", "Give a number, 0 or more")
    return value
