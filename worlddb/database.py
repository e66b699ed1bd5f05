"""The façade: an open store, which passes each call to the right room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from copy import copy
from datetime import timedelta
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar, get_args

from msgspec.structs import replace

from worlddb.due_work import (
    CLOSED_TYPES,
    MAX_ACCESSES,
    MAX_RECEIPTS,
    DueWork,
    PendingWrites,
    Schedule,
    age_of,
    alarm_of,
)
from worlddb.log.model import errors, ids, limits, times
from worlddb.log.model.clock import Clock, Entropy, SystemClock, SystemEntropy, monotonic, now_of
from worlddb.log.store import high_water, scratch
from worlddb.projections.scrub import finish_erasures
from worlddb.query.history.journal import Entry, LastTold, commit_entries, follow_events, journal
from worlddb.query.question.question import MAX_NEAR
from worlddb.query.reads import store_facts, window
from worlddb.query.records.records import Bookmark, Proposal, World
from worlddb.query.snapshot import edge_rules
from worlddb.query.view.view import View
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.edge_types.builtin_types import DEFAULT_ONTOLOGY
from worlddb.reconciler.edge_types.handler import EdgeHandler
from worlddb.reconciler.edge_types.registry import Ontology
from worlddb.reconciler.embedding.embedder import Embedder
from worlddb.reconciler.embedding.models import AUTO, models_of
from worlddb.reconciler.similarity.verdict import ByType, StoreThresholds, Thresholds
from worlddb.store import (
    DEFAULT_TIMEOUT_SECONDS,
    FOLLOWED_AT_LULL,
    FOLLOWED_EVENTS,
    PROJECTIONS,
    TABLES_NAME,
    TEXT_NAME,
    Reading,
    StoreReader,
    backup_into,
    folder_of,
    has_begun,
    no_store_at,
    open_environment,
)
from worlddb.writing import WriteCalls, resolve_names

if TYPE_CHECKING:
    # What only some calls need is loaded by them: a program that asks one question does not wait for the rest.
    from worlddb.accounts.account_book import Accounts, Keyring
    from worlddb.accounts.grant import Grant
    from worlddb.batch import Batch
    from worlddb.beliefs.items import BatchReader, Decision
    from worlddb.forks.merging import Merge
    from worlddb.intake.edge_discovery import DiscoveredEdge, Questions
    from worlddb.intake.memory_unit import IngestedMemory
    from worlddb.interchange import Export
    from worlddb.log.beliefs.artifact import Artifact
    from worlddb.log.beliefs.recall_receipt import RecallCheck, RecallReceipt
    from worlddb.log.model.checkpoint import OwnCheckpoint
    from worlddb.log.redaction.personal_data import Redactor
    from worlddb.log.store import bundle_contents
    from worlddb.log.store.verify import Finding
    from worlddb.projections.runner import Progress
    from worlddb.projections.tables.dream.retention import Decay
    from worlddb.query.beliefs.withdrawal import Withdrawal
    from worlddb.query.forks.merge_plan import Choice
    from worlddb.query.recall.near_claims import Near
    from worlddb.query.snapshot import erasure_notes
    from worlddb.reconciler.background import embedding_backfill
    from worlddb.reconciler.background.reclustering import Reclustering
    from worlddb.reconciler.backup import backups
    from worlddb.reconciler.bundle_import.outside_effects import ImportPlan
    from worlddb.reconciler.commands.columns import Loaded
    from worlddb.reconciler.consolidation.consolidator import Consolidated
    from worlddb.reconciler.consolidation.summarizer import Summarizer
    from worlddb.reconciler.dream.assessor import Assessor
    from worlddb.reconciler.dream.dream_schedule import DreamSchedule
    from worlddb.reconciler.dream.dreamer import Dreamt
    from worlddb.reconciler.embedding.spaces import EmbeddingSpace
    from worlddb.reconciler.enrichment.enricher import Enricher
    from worlddb.reconciler.enrichment.enrichment_run import Enriched
    from worlddb.reconciler.erasure.erasure_preview import ErasurePlan, LiteralErasurePlan, TextsReached
    from worlddb.reconciler.ingest.extraction import Extractor, Turn
    from worlddb.reconciler.pipeline import Writer
    from worlddb.reconciler.replay import redecision
    from worlddb.reconciler.replay.redecision import Redecided
    from worlddb.reconciler.replay.replay import Replayed, Snapshot
    from worlddb.reconciler.similarity.verdict import Tiebreaker
    from worlddb.reconciler.transaction import inputs
    from worlddb.working.working_memory import WorkingMemory


Written = TypeVar("Written")


class Verified(NamedTuple):
    """The findings of a verification.

    ``first_bad_seq`` is ``None`` if everything holds, and 0 if the damage is in no commit.

    ``head`` compares the log with the given head: "holds", "untrusted", "other_store", "shorter", "rewritten" or
    "unreadable"; empty if none was given. ``supposes`` says what a hypothetical store supposes. ``remarks`` are
    findings that are no damage.
    """

    ok: bool
    commits: int
    events: int
    blobs: int
    first_bad_seq: int | None
    findings: tuple[Finding, ...]
    head: str = ""
    supposes: str = ""
    remarks: tuple[str, ...] = ()


class Rebuilt(NamedTuple):
    """The projections that were rebuilt, the seconds that it took, and the resulting root hash."""

    rebuilt: tuple[str, ...]
    seconds: float
    root: str


class Step(NamedTuple):
    """One commit: its receipt, its author, the commands asked for, and the events in order.

    ``commands`` are names, in the order in which they were given; the commit that made the store has none.
    """

    receipt: outcome.Receipt
    author: str
    commands: tuple[str, ...]
    events: tuple[Entry, ...]


class Head(NamedTuple):
    """The state of a store: its last commit, the hashes that cover it, and when it was made.

    ``tree`` is the root of the Merkle tree over the commits, which proofs lead to. ``supposes`` says what a
    hypothetical store supposes, and is empty for every other.
    """

    seq: int
    chain: str
    root: str
    ingested_at: int
    store_id: str
    tree: str
    supposes: str = ""


Durability = Literal["commit", "group"]

_NOTHING_TO_SIGN: Final = "there is no checkpoint of it to be kept or signed"
_NOTHING_TO_PROVE: Final = "there is nothing that it proves"


@limits.typed_calls
class Database(WriteCalls):
    """An open store. Writes are commands that return receipts; reads go through views.

    Use :func:`open`. Handles are cheap, may be shared between threads, and any number of processes may open one
    directory.
    """

    # -- opening and closing

    def __init__(
        self,
        folder: Path,
        *,
        author: str,
        create: bool,
        timeout_seconds: float,
        max_clock_jump_days: float,
        durability: Durability,
        embedder: Embedder | str | None,
        resolver: Thresholds | ByType | None,
        schedule: Schedule | None,
        clock: Clock,
        entropy: Entropy,
        ontology: Ontology,
        tiebreaker: Tiebreaker | None,
        redactor: Redactor | None = None,
        record_accesses: bool = False,
    ) -> None:
        self.path, self._clock, self._redactor = folder, clock, redactor
        self.author = limits.checked_text(author, "author", limits.MAX_AUTHOR_BYTES, empty=False, nul=False)
        resolving = StoreThresholds(resolver)
        self._models = models_of(embedder)
        self._env = open_environment(folder, author=author, create=create, timeout_seconds=timeout_seconds)
        self._ontology = ontology
        self._shared = _Shared()
        self._resolving, self._entropy, self._tiebreaker = resolving, entropy, tiebreaker
        self._max_clock_jump, self._group_seconds = int(max_clock_jump_days * times.DAY_MICROSECONDS), None
        if durability == "group":
            self._group_seconds = timeout_seconds
        try:
            if not has_begun(self._env):
                if not create:
                    raise no_store_at(Path(folder))
                self._create_store()
            scratch.remove_abandoned(folder)
            finish_erasures(self._env, wait_seconds=0.0)
            if (folder / "working").is_dir():
                with suppress(OSError, errors.WorldDBError):  # It is no memory: the store opens without it.
                    _ = self.working
            self._reader = StoreReader(self._env, self._models, entropy)
        except BaseException:
            self._env.close()
            raise
        rules = edge_rules.rewrite_spec(
            tuple(handler.on_query_rewrite for handler in DEFAULT_ONTOLOGY),
            tuple((handler.name, handler.version) for handler in DEFAULT_ONTOLOGY),
        )
        self._windows = window.Windows(self._reader, clock, rules, ontology.codes)
        self._told = LastTold(self._reader)
        self._due = DueWork(self._reader, self._models, clock, self.view, lambda: self._writer, tiebreaker, schedule)
        if record_accesses:
            self._reader.on_hits = lambda found: self._record_use([hit.ref for hit in found.hits], now_of(clock))

    def at_close(self, call: Callable[[], object]) -> None:
        """Register a call that runs before the store is closed: to write pending data, for example.

        WorldDB's own errors from it are ignored.
        """
        self._shared.at_close.append(limits.checked_callable(call, "call"))

    @cached_property
    def _writer(self) -> Writer:
        """The writer, loaded by the first write, so that a handle that only reads does not wait for it."""
        from worlddb.reconciler.decisions.model_evidence import ResolverModels

        advisers = ResolverModels(self._reader.allowed_meaning, self._reader.text_vectors, self._tiebreaker)
        return self._writer_without_models()._replace(advisers=advisers, redactor=self._redactor)

    def _writer_without_models(self) -> Writer:
        from worlddb.log.store.lock import CommitQueue
        from worlddb.projections.tables.storage.transaction import CommitCache
        from worlddb.reconciler.pipeline import Writer
        from worlddb.reconciler.transaction.interiors import Interiors

        return Writer(
            self._env,
            self._clock,
            self._entropy,
            self._ontology,
            self.author,
            self._max_clock_jump,
            self._resolving,
            CommitCache(),
            Interiors(),
            None if self._group_seconds is None else CommitQueue(self._group_seconds),
        )

    def _create_store(self) -> None:
        from worlddb.reconciler.pipeline import create_store

        create_store(self._writer_without_models())

    def as_author(self, author: str, *, account: Callable[[], Grant | None] | None = None) -> Database:
        """The same open store, with another author for its writes.

        It shares everything with this handle, and closing either closes both. Writes count against the plan of the
        grant that ``account`` returns at that time, if any: the number of new worlds and the bytes stored. A write
        beyond the plan raises :class:`PlanLimit`, or what ``account`` raises, and changes nothing.
        """
        other = copy(self)
        other.author = limits.checked_text(author, "author", limits.MAX_AUTHOR_BYTES, empty=False, nul=False)
        # Writes that share a transaction are those of one writer, so each author has a queue of its own.
        group = self._writer_without_models().group
        quota = None
        if account is not None:
            from worlddb.accounts.usage_meter import PlanQuota

            quota = PlanQuota(self.accounts.meter, limits.checked_callable(account, "account"))
        other._writer = self._writer._replace(author=other.author, group=group, quota=quota)
        return other

    def close(self) -> None:
        """Close the store. Committed writes are durable whether or not it is called.

        It waits for running background work, half a minute at most.
        """
        while self._shared.at_close:
            with suppress(errors.WorldDBError):
                self._shared.at_close.pop()()
        if self._due.thread is not None:
            self._due.thread.finish()
        if self._shared.working is not None:
            self._shared.working.close()
            self._shared.working = None
        self._reader.end()
        self._env.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<worlddb.Database {str(self.path)!r}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say of a read that it is a view's; another name is simply not there."""
            of_view = not name.startswith("_") and hasattr(View, name)
            hint = f": reads go through a view, as db.view().{name}(...)" if of_view else ""
            raise AttributeError(f"'Database' object has no attribute {name!r}{hint}", name=name, obj=self)

    # -- reading

    def view(
        self,
        *,
        valid: times.TimeLike | None = None,
        ingested: times.TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        world: Any = None,
        unify: bool = False,
    ) -> View:
        """Open a view pinned to a moment.

        ``ingested`` is what was known, ``valid`` what should have been true. The ingest axis takes a time, a commit
        (``seq``) or a bookmark.

        ``ingested`` defaults to the head; ``valid`` to ``ingested``'s time if that was given, else to now. With
        ``world`` the view is confined: it sees that world and what it contains at the view's moment, and nothing else.
        With ``unify`` it sees worlds that accepted proposals make one as one: ``find``, ``children`` and ``recall``
        give each identity once, and the edges and members of a world are those of all that are one with it.

        Raises:
            InputError: several moments were given, there is no such commit, or ``unify`` is no boolean.
            UnknownReference: there is no such bookmark, or no such world at that moment.
        """
        known = window.IngestPoint(ingested, seq, bookmark)
        view = View(*self._windows.at(known, valid, unify=limits.checked_flag(unify, "unify")))
        waiting = self._shared.refreshes
        if waiting.items and not known.given_name() and waiting.has(lambda each: each[2] <= view.valid):
            with suppress(errors.WorldDBError):  # A handle that cannot write reads what is written.
                self.write_refreshes()
            view = View(*self._windows.at(known, valid, unify=unify))
        if world is None:
            return view
        return view.confined(world) if valid is not None or known.given_name() else self._inside(view, world)

    def _inside(self, view: View, world: Any) -> View:
        """Return a view of the present of one world, made of one of the present of the whole store."""
        return view.confined(world)._of_now(now_of(self._clock), self._told)

    def reading(self, state: Reading | None = None) -> AbstractContextManager[Reading]:
        """Make all reads of this thread see one state of the store, in one transaction, until the block ends.

        For short blocks of several reads. What is written meanwhile, in the block too, is seen after it. The block
        gives for how long the same reads would find the same: as long as its ``stamp`` is :meth:`stamp`, from
        ``since`` until ``until``. With ``state``, of :meth:`one_state`, it sees that one and needs no transaction.
        """
        return self._reader.holding(state)

    def one_state(self) -> AbstractContextManager[Reading]:
        """Keep the present state of the store for several blocks of this thread, each a :meth:`reading` of it.

        Reads outside of them see the newest state as ever. Its transaction is open until this ends, so it is to be as
        short as a block.
        """
        return self._reader.one_state()

    def stamp(self) -> tuple[int, int] | None:
        """A value that every write by any process changes, read without a transaction; ``None`` if unknown."""
        return self._env.stamp()

    def now(self) -> int:
        """The time of the store's clock, in microseconds since 1970."""
        return now_of(self._clock)

    def near(
        self,
        text: str,
        *,
        about: Any = None,
        world: Any = None,
        since: times.TimeLike | None = None,
        until: times.TimeLike | None = None,
        limit: int = MAX_NEAR,
        include_expired: bool = False,
    ) -> list[Near]:
        """The valid statements that a text may repeat, replace or contradict: :meth:`View.near` of now."""
        how: dict[str, Any] = {"since": since, "until": until, "limit": limit, "include_expired": include_expired}
        return self.view().near(text, about=about, world=world, **how)

    def full_ref(self, ref: Any) -> str:
        """The full hex id of the world that a reference or prefix stands for."""
        found = self.view().get(ref, include_superseded=True)
        assert found is not None, "a known world has a newest version"
        return found.ref

    def bookmarks(self) -> list[Bookmark]:
        """The named moments, in the order they were set."""
        return self.view().bookmarks()

    def proposals(
        self, *, status: str | None = "pending", limit: int | None = None, after: Any = None
    ) -> list[Proposal]:
        """Staged identities; ``status=None`` for decided ones too."""
        return self.view().proposals(status=status, limit=limit, after=after)

    def log(self, first: int = 1, last: int | None = None, *, ref: Any = None) -> Iterator[Entry]:
        """The journal: events as a person reads them; with ``ref``, only those that name it."""
        begin, end = self._commits(first, last)
        return journal(self._reader, begin, end, None if ref is None else self.full_ref(ref))

    def steps(self, first: int = 1, last: int | None = None) -> Iterator[Step]:
        """Each commit from ``first`` to ``last`` (default: the head), with what it decided."""
        from worlddb.reconciler.transaction import receipts

        begin, end = self._commits(first, last)
        for seq in range(max(1, begin), end + 1):
            with self._reader.snapshot() as snapshot:
                step = Step(*receipts.summarise_commit(snapshot.log, seq), tuple(commit_entries(snapshot.log, seq)))
            yield step

    def _commits(self, first: int, last: int | None) -> tuple[int, int]:
        """The commits from ``first`` to ``last``, or to the head if that comes first."""
        limits.checked_number(first, "first", 0, limits.HIGHEST_SEQ)
        if last is not None:
            limits.checked_number(last, "last", 0, limits.HIGHEST_SEQ)
        head = self._reader.head()
        return first, head if last is None else min(last, head)

    def follow(
        self, first: int | None = None, *, ref: Any = None, patience_seconds: float | None = None
    ) -> Iterator[Entry]:
        """Events from commit ``first`` (default: the next one) on, as any process commits them.

        The iterator ends when nothing was committed for ``patience_seconds``; by default it never ends. To go on later,
        begin at the ``seq`` of the last entry that was handled, plus one: no entry is missed or repeated.
        """
        if first is not None:
            limits.checked_number(first, "first", 0, limits.HIGHEST_SEQ)
        if patience_seconds is not None:
            limits.checked_amount(patience_seconds, "patience_seconds")
        wanted = None if ref is None else self.full_ref(ref)
        begin = self._reader.head() + 1 if first is None else max(1, first)
        return follow_events(self._reader, begin, wanted, patience_seconds)

    def stats(self) -> dict[str, Any]:
        """Counts, bytes, how far projections and vectors are, and what a hypothetical store supposes.

        Raises:
            DamagedStore: the log does not end where it says.
        """
        with self._reader.snapshot() as snapshot:
            snapshot.log.refuse_other_end()
            found = store_facts.counts(snapshot)
        index = self._reader.text.status()
        index_bytes = sum(file.stat().st_size for file in self._env.folder.glob("indexes/**/*") if file.is_file())
        return {
            "counts": found,
            "bytes": {"data": self._env.size_bytes(), "indexes": index_bytes},
            "checkpoints": {TABLES_NAME: found["commits"], TEXT_NAME: index.checkpoint},
            "supposes": self._reader.supposes,
            "vectors": [
                {"space": each.name, "model": each.model, "texts": each.texts, "through": each.through}
                for each in self.spaces()
                if each.in_use
            ],
        }

    def _moment(self, ingested: times.TimeLike | None, seq: int | None, bookmark: str | None = None) -> View:
        view = self.view(ingested=ingested, seq=seq, bookmark=bookmark)
        if not view.seq:
            raise errors.InputError("Nothing had been committed by then", "Give a later moment")
        return view

    def _world_or_root(self, view: View, ref: Any) -> bytes:
        """The id of the given world; by default the root world's."""
        # As for writes, a name alone does not select a world inside a user's world.
        return self._reader.root if ref is None else bytes.fromhex(view._reference_to_write(ref))

    # -- writing; the single commands are in `WriteCalls`

    def batch(
        self,
        *,
        idempotency_key: str | None = None,
        progress: Progress | None = None,
        seen: View | None = None,
        rests_on: Sequence[Any] = (),
        unchanged: Sequence[Any] = (),
    ) -> Batch:
        """Write many commands as one commit: ``with db.batch() as tx: ...``.

        ``tx.receipt`` is there afterwards. Calls on ``tx`` return pending references that later calls in the batch may
        use. One refusal, or an exception in the block, aborts all of it; a refusal is raised as :class:`RefusedError`
        when the block ends. ``create_at``, ``rename``, ``attach``, ``detach`` and ``prefer`` look at the store as it is
        at the first of them, and at what the batch has said before: it is refused (``changed_meanwhile``) if others
        change what these rest on, and they go without an idempotency key.

        ``progress(done, total)`` is called as the commands are decided, when the block has ended; what it raises aborts
        the batch too. It holds up every other writer, so it should return at once.

        ``seen`` is the view by which the batch was made up. It is refused if other writes changed what it rests on
        since then: what it says again or joins, or what is listed in ``rests_on``, says something else or lies
        elsewhere by now (``changed_meanwhile``), or what it writes without a key was written into the same world, or
        came there in a bundle (``said_meanwhile``), or if anything was changed in a world listed in ``unchanged``,
        whose hash is another one then (``changed_meanwhile``). Look again then.
        """
        from worlddb.batch import Batch

        limits.checked_callable(progress, "progress")
        look = None
        if seen is not None:
            from worlddb.reconciler.transaction import inputs

            if not isinstance(seen, View):
                raise errors.InputError(f"seen is {type(seen).__name__}, not a view", "Give db.view() of the look")
            refs = [self._resolve_optional(ref) for ref in limits.checked_list(rests_on, "rests_on")]
            whole = [self._resolve_optional(ref) for ref in limits.checked_list(unchanged, "unchanged")]
            look = inputs.Look(seen.seq, seen.valid, tuple(ref for ref in refs if ref is not None))
            look = look._replace(unchanged=tuple(ref for ref in whole if ref is not None))
        elif rests_on != () or unchanged != ():
            name = "rests_on" if rests_on != () else "unchanged"
            raise errors.InputError(f"{name} was given without a view", "Give seen=view, the one that showed it")
        do, draw = partial(self._execute, progress=progress), partial(self._entropy_for, idempotency_key)
        view = partial(self._view_for_key, idempotency_key)
        return Batch(do, self._ontology, idempotency_key, view, seen, look, to_draw=draw)

    def load(
        self,
        worlds: Any = None,
        edges: Any = None,
        *,
        batch: int = 10_000,
        idempotency_key: str | None = None,
        progress: Progress | None = None,
    ) -> Loaded:
        """Write tables of worlds and edges, column by column: for those who bring many rows.

        A table is a dictionary of columns (lists, NumPy or Arrow arrays), or what hands itself over as Arrow: a table,
        record batches, a frame of Polars; that needs ``pip install 'worlddb[arrow]'``. Columns are called as the
        arguments of :meth:`create` and :meth:`link`: ``type``, ``name``, ``content``, ``aliases``, ``world``, ``key``,
        ``valid_from``, ``valid_to``, ``source``, ``properties``, ``why``, ``resolve``; and of edges ``source``,
        ``type``, ``target``, ``home``, ``key``, ``properties``, ``valid_from``, ``valid_to``, ``why``. A reference that
        is a whole number is a row of ``worlds``, from 0 on: in ``world`` one before its own. ``None`` is as if it were
        not given; times of NumPy are in UTC.

        Worlds come first, then edges, ``batch`` rows a commit, and what is written is what :meth:`batch` would write.
        Under an ``idempotency_key`` the same load with the same ``batch`` goes on where one broke off.
        ``progress(done, total)`` is called after each commit; what it raises ends the load there.

        Raises:
            InputError: a value is wrong; ``details`` has ``table`` and ``row``. Where it is not of its column's kind
                nothing was written, else the commits before are there.
            RefusedError: a row was refused; ``details`` as above. The commits before are there.
        """
        from worlddb.reconciler.commands.columns import Load

        limits.checked_callable(progress, "progress")
        return Load(worlds, edges).write(self._execute, batch, idempotency_key, progress)

    def ingest(
        self,
        turns: Sequence[Turn | dict[str, Any] | object],
        *,
        conversation: str = "conversation",
        session: str | None = None,
        at: times.TimeLike | None = None,
        into: Any = None,
        format: str = "turns",
        start: int = 0,
        extractor: Extractor | None = None,
        revive: bool = False,
        resolve: bool | str = "all",
        embed: bool = False,
        title: str | None = None,
        idempotency_key: str | None = None,
    ) -> outcome.Receipt:
        """Write turns of a conversation as one commit: conversation, sessions, turns and speakers.

        A turn is a :class:`Turn`, a dict of its fields, or a message of a chat (``{"role": …, "content": …}``, and as
        LangChain and ShareGPT have them), whose role is its speaker.

        With ``session`` all turns belong to that one, which is called ``title`` if that is given; without it each
        belongs to the session that it names.

        Every record is keyed by format, conversation, session and position (from ``start``), a turn with a ``key`` by
        that instead of its position, and by the world ``into`` if one is given, so the same input into the same world
        changes nothing, a longer one adds its tail, and changed text is a revision. In another world it is another one.

        ``extractor`` may add candidates; it is called before the store is locked. One that asks a model is called after
        the turns are committed, and what it finds is a second commit, which the receipt is of; if the model fails, the
        turns stay committed, and the receipt has a note. ``resolve`` says which tiers of the
        resolver run for speakers and candidates, as in :meth:`create`: all of them by default, so that texts are
        compared by meaning as far as there are vectors. What was erased stays out, unless ``revive`` lets it come back;
        what was corrected stays so while the input says what it said (``stays_corrected``).

        With ``embed`` the call also does the work that is otherwise due later: once the turns are committed, texts get
        their vectors, and :meth:`recluster` proposes identities, by meaning too. The proposals have commits of their
        own, so they are in :meth:`proposals` and not in the receipt. If the model fails, the turns stay committed, and
        the receipt has a note.

        Raises:
            InputError: an argument or a turn is wrong; nothing was written.
            ModelUnavailable: ``embed`` is asked of a store that was opened without an embedder; nothing was written.
        """
        from worlddb.intake import conversation_intake
        from worlddb.reconciler.ingest import chat_messages
        from worlddb.reconciler.ingest.extraction import Ingest, checked_turns

        request = Ingest(
            checked_turns(chat_messages.as_turns(turns)),
            conversation,
            session,
            None if at is None else times.parse_time(at, "at"),
            self._resolve_optional(into),
            format,
            start,
            extractor,
            revive,
            resolve,
            title,
        )
        if limits.checked_flag(embed, "embed") and not self._models.any:
            raise errors.ModelUnavailable("The store was opened without an embedder", "Open it with embedder=...")
        receipt = conversation_intake.ingested(self._writer, self._reader, self.view, request, idempotency_key)
        return self._run_due_work(receipt) if embed and receipt else self._wake_background(receipt)

    def ingest_memory(
        self,
        at: Any = None,
        content: str = "",
        *,
        message: str | None = None,
        session: str = "",
        user: str = "",
        role: str = "user",
        question: str | None = None,
        k: int = 5,
        derived_from: Sequence[Any] = (),
        created_from: Sequence[Any] = (),
        depends_on: Sequence[Any] = (),
        refers_to: Sequence[Any] = (),
        bundles: Sequence[Any] = (),
        artifacts: Sequence[Artifact] = (),
        tags: Sequence[str] = (),
        discover: bool = False,
        within: Any = None,
        valid_from: times.TimeLike | None = None,
        valid_to: times.TimeLike | None = None,
        source: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        why: str = "",
    ) -> IngestedMemory:
        """Ingest a memory by one call: buffer the message, look up what is known of it, and write it as one commit.

        ``at`` names the item: a kref, under which it is created if necessary, with the project and the spaces around
        it, or the name of an existing world. Nothing is guessed: identities of a new item are proposed, and what it
        may repeat or contradict is reported. The same call again writes nothing. Without ``at`` nothing is written.

        Args:
            content: what the item says from now on.
            message: what was said, for the buffer of ``session`` and ``user`` (see :attr:`working`), by ``role``.
            question: what to look up; by default the message, else the content. ``k`` hits at most, 0 for none.
            derived_from, created_from, depends_on, refers_to: what the memory is joined to, by edges of these types.
            bundles: worlds that contain it, too.
            tags: stand for the version that is written.
            discover: also write the edges that :meth:`discover_edges` finds, in a commit of their own.
            within: the world that all of this stays inside, as of :meth:`create_at`.

        Raises:
            InputError: an argument is not what it should be.
            RefusedError: the message or the memory was refused: it holds a credential, for one. Of a memory that is
                refused nothing is written; its message stays in the buffer.
        """
        from worlddb.intake import memory_unit

        said = {
            "content": content,
            "source": source,
            "properties": properties,
            "valid_from": valid_from,
            "valid_to": valid_to,
            "why": why,
        }
        joined = (derived_from, created_from, depends_on, refers_to)
        relations = dict(zip(memory_unit.RELATIONS, joined, strict=True))
        unit = memory_unit.MemoryUnit(
            at=at, said=said, artifacts=artifacts, relations=relations, bundles=bundles, tags=tags
        )
        spoken = memory_unit.SessionMessage(message, session, user, role, question, k)
        return memory_unit.ingested(self, spoken, unit, within, discover=discover)

    def extract(self, document: Any, extractor: Extractor | None = None, *, why: str = "") -> outcome.Receipt:
        """Write what an extractor finds in a document: in its text, and in its sections and paragraphs.

        An :class:`Extractor` reads paragraphs as it reads turns; one that has ``of_documents`` is asked by that. By
        default it is :class:`EntityExtractor`, which asks no model. Findings lie in the document, linked to the
        paragraphs, under keys: reading the same document again writes nothing, and no model is asked again.

        Raises:
            UnknownReference: there is no such world.
            InputError: the extractor gave something else than an extraction.
            ModelUnavailable: the model behind it failed; nothing was written.
        """
        from worlddb.intake import passages
        from worlddb.reconciler.ingest.mentions.mention_extractor import EntityExtractor

        look = passages.PassageReader(EntityExtractor() if extractor is None else extractor, document, why)
        return self._decide_reads(look)

    def discover_edges(
        self,
        ref: Any,
        *,
        questions: Questions | None = None,
        limit: int = 10,
        min_confidence: float = 0.5,
        within: Any = None,
        link: bool = False,
        why: str = "",
    ) -> list[DiscoveredEdge]:
        """Find possible edges of a memory that do not exist yet, the most confident first; with ``link`` write them.

        Names that it has lead to the entities of the name (``refers_to``), statements that cannot be true beside it
        are found by words (``contradicts``), one that says the same is proposed to be it (``same_as``), and so is
        found what answers ``questions``: those that a function makes of the world, by default its own sentences. Only
        a hit that is known to answer with ``min_confidence`` counts. Retracted edges are not found again. It searches
        only ``within`` a world, by default that of the memory's user.

        Raises:
            UnknownReference: there is no such world.
            InputError: an argument is not what it should be.
        """
        from worlddb.intake import edge_discovery

        limits.checked_number(limit, "limit", 1, edge_discovery.MAX_EDGES)
        limits.checked_callable(questions, "questions")
        seen = self.view()
        inside = None if within is None else seen._reference_to_write(within)
        look = self.view(world=inside)
        named = look._reference_to_write(ref) if link else look.reference_of(ref)
        view = self.view(world=look._user_world_of(named) if inside is None else inside)
        world = view.get(named)
        if world is None or world.erased:
            raise errors.InputError("The memory holds nothing now", "Name one that holds")
        found = edge_discovery.discovered(view, world, questions=questions, limit=limit, min_confidence=min_confidence)
        if not link or not found:
            return found
        with self.batch(seen=seen) as tx:
            for each in found:
                # What is one is proposed once, and takes no key.
                key = None if each.type == "same_as" else f"discovered/{each.type}/{each.target}"
                tx.link(world.ref, each.type, each.target, key=key, properties={"discovered": each.reason}, why=why)
        return [replace(each, edge=edge) for each, edge in zip(found, tx.receipt.refs, strict=True)]

    def sparql_update(
        self,
        update: str,
        *,
        world: Any,
        within: Any = None,
        using_graphs: Sequence[str] | None = None,
        using_named_graphs: Sequence[str] | None = None,
        lanes: Sequence[str] | None = None,
        timeout_seconds: float | None = None,
        max_bytes: int | None = None,
        max_memory_bytes: int | None = None,
        idempotency_key: str | None = None,
    ) -> outcome.Receipt:
        """Change the statements of a world by an update in SPARQL 1.1, as one commit.

        It is evaluated on what holds now, as :meth:`View.sparql` evaluates a query, with the same limits;
        ``max_bytes`` is of what changes. What it deletes ends now, and what it inserts begins now; views of earlier
        times do not change. It sees nothing outside of ``within``. If others write meanwhile it is evaluated again. A
        retry under ``idempotency_key`` is evaluated as of its first commit. SERVICE and LOAD are closed.
        ``using_graphs`` and ``using_named_graphs``, IRIs, are what USING and USING NAMED say, as in its protocol.
        ``lanes`` are as there, too. Notes of the receipt say why a search in it could not go by meaning, and which
        names below ``wdb:`` are none.

        Raises:
            InvalidSparql, QueryLimit: it breaks the grammar, asks for what is closed, or says USING or WITH beside
                these graphs; it was ended at a limit.
            UnknownReference: there is no such world.
            InputError: it writes into a graph of the engine, or what names a graph is no absolute IRI.
            UnavailableError: others wrote during every look; nothing was written.
        """
        named: Any = {"using_graphs": using_graphs, "using_named_graphs": using_named_graphs, "lanes": lanes}
        bounds: Any = {"timeout_seconds": timeout_seconds, "max_bytes": max_bytes, "max_memory_bytes": max_memory_bytes}
        return self._update_by_sparql(update, world, within, idempotency_key, **named, **bounds)

    def _update_by_sparql(
        self,
        update: str,
        world: Any,
        within: Any,
        key: str | None,
        *,
        seen: View | None = None,
        using_graphs: Sequence[str] | None = None,
        using_named_graphs: Sequence[str] | None = None,
        lanes: Sequence[str] | None = None,
        timeout_seconds: float | None = None,
        max_bytes: int | None = None,
        max_memory_bytes: int | None = None,
    ) -> outcome.Receipt:
        """As :meth:`sparql_update`; with ``seen`` evaluated on that view, and refused if others have written since."""
        from worlddb.query.sparql import sparql_query, sparql_workers
        from worlddb.reconciler.transaction import inputs
        from worlddb.statements import retries, updating

        allowed = sparql_query.checked_limits(timeout_seconds, None, max_bytes, max_memory_bytes)
        dataset = sparql_query.checked_dataset(using_graphs, using_named_graphs, "using_graphs", "using_named_graphs")
        named: Any = {"dataset": dataset, "lanes": sparql_query.checked_lanes(lanes)}
        workers = sparql_workers.workers()

        def attempt() -> outcome.Receipt:
            before = None if key is None else retries.moment_of(self._reader, key, ends=True)
            seq, valid = before or (None, None)
            if seen is None or before is not None:
                view = self.view(seq=seq, valid=valid, world=within)
            else:
                view = seen if within is None else seen.confined(within)
            ref = view._reference_to_write(world)
            change = updating.change_of(
                view._query_source(), workers, update, ref, allowed, repeatable=key is not None, **named
            )
            drawn = self._entropy_for(key)
            commands = self._unstate_commands(ref, change.removed, view.valid, drawn)
            commands += self._state_commands(ref, change.added, None, None, None, drawn)
            try:
                receipt = self._execute(commands, key, look=inputs.Look(view.seq, view.valid, whole=True))
            except errors.IdempotencyConflict:
                if before is None and key is not None and retries.moment_of(self._reader, key) is not None:
                    raise outcome.Changed from None  # Another process made it meanwhile.
                if (told := retries.receipt_before_erasures(view._window, key, ref, cmd.State, cmd.Unstate)) is None:
                    raise
                return told
            return (receipt if seen is not None else outcome.settled(receipt)).with_notes(change.notes)

        return outcome.retry_while_changed(attempt, "Others write")

    def drop_space(self, name: str, *, why: str = "", idempotency_key: str | None = None) -> Any:
        """Drop an embedding space that no longer answers.

        It is dropped as in a batch, and its index is deleted at once.
        """
        receipt = super().drop_space(name, why=why, idempotency_key=idempotency_key)
        self._reader.vector_indexes()
        return receipt

    def was_written(self, idempotency_key: str, *, author: str | None = None) -> bool:
        """True if a commit was made under an idempotency key, so that the same call is a retry.

        With ``author`` only if it was that author's.
        """
        from worlddb.statements import retries

        limits.checked_text(idempotency_key, "idempotency_key", limits.MAX_KEY_BYTES, empty=False)
        moment = retries.moment_of(self._reader, idempotency_key)
        if moment is None or author is None:
            return moment is not None
        with self._reader.snapshot() as snapshot:
            return snapshot.log.header(moment[0] + 1).author == author

    # -- how commands are executed

    def _resolve_name(self, text: str) -> str:
        """The reference of the one world with that name or prefix."""
        return self.view()._reference_to_write(text)

    def _resolve_optional(self, ref: Any) -> bytes | str | None:
        """The reference of a world given by reference or name; ``None`` if none was given."""
        found = None if ref is None else ids.as_ref(ref)
        return self._resolve_name(found) if isinstance(found, str) and not ids.is_reference(found) else found

    def _execute(
        self,
        commands: Sequence[cmd.Command],
        idempotency_key: str | None,
        progress: Progress | None = None,
        *,
        look: inputs.Look | None = None,
        has_texts: bool = True,
    ) -> outcome.Receipt:
        from worlddb.reconciler.pipeline import execute

        if has_texts:
            commands = resolve_names(commands, self._resolve_name, idempotency_key)
        is_erasure = bool(commands) and isinstance(commands[0], cmd.Erase | cmd.EraseLiteral)
        gone = self._texts_to_erase(commands) if is_erasure else None
        elsewhere = self._said_elsewhere(commands) if is_erasure else None
        done = execute(self._writer, commands, idempotency_key, progress, look)
        receipt = self._wake_background(done, brings_texts=not _WITHOUT_TEXTS.issuperset(map(type, commands)))
        if gone is not None and receipt:
            self.working.forget(*gone)
        if is_erasure:
            if self._shared.keyring is not None:
                self._shared.keyring.forget()
            with suppress(errors.WorldDBError):  # The erasure is done.
                self._reader.apply_erasures()
            if any(note.code == "keys_ended" for note in receipt.notes):
                try:
                    self.accounts._note_keys_ended(receipt.seq)
                except errors.WorldDBError as error:  # It is done, and the keys have ended.
                    receipt = receipt.with_notes([outcome.Note("keys_in_file", (error.message,))])
        return self._note_elsewhere(receipt, *elsewhere) if elsewhere is not None and receipt else receipt

    def _execute_on_view(
        self, commands: Sequence[cmd.Command], idempotency_key: str | None, view: View, world: Any
    ) -> outcome.Receipt:
        try:
            return self._execute(commands, idempotency_key)
        except errors.IdempotencyConflict:
            from worlddb.statements import retries

            told = retries.receipt_before_erasures(view._window, idempotency_key, view.reference_of(world), cmd.Unstate)
            if told is None:
                raise
            return told

    def _execute_decision(self, look: Callable[[BatchReader], Decision]) -> outcome.Receipt:
        """Execute the commands that a read leads to, and read again if others wrote in between."""
        from worlddb.beliefs.items import BatchReader
        from worlddb.reconciler.transaction import inputs

        def attempt() -> outcome.Receipt:
            view = self.view()
            found = look(BatchReader(view))
            rests_on = inputs.Look(view.seq, view.valid, found.rests_on)
            receipt = outcome.settled(self._execute(found.commands, None, look=rests_on, has_texts=False))
            return receipt if not receipt else replace(receipt, requested=receipt.requested[-1:])

        return outcome.retry_while_changed(attempt)

    def _decide_reads(self, look: Callable[[View], tuple[Sequence[cmd.Command], Sequence[str]]]) -> outcome.Receipt:
        """Execute commands with the worlds that they rest on, and read again if others wrote."""
        from worlddb.reconciler.transaction import inputs

        def attempt() -> outcome.Receipt:
            view = self.view()
            commands, rests_on = look(view)
            seen = inputs.Look(view.seq, view.valid, tuple(map(bytes.fromhex, rests_on)))
            return outcome.settled(self._execute(commands, None, look=seen))

        return outcome.retry_while_changed(attempt)

    def _view_for_key(self, idempotency_key: str | None) -> View:
        view = self.view()  # First: what is written under the key in between is none that it shows.
        if idempotency_key is not None:
            from worlddb.statements import retries

            if (moment := retries.moment_of(self._reader, idempotency_key)) is not None:
                return self.view(seq=moment[0], valid=moment[1])
        return view

    def _entropy_for(self, idempotency_key: str | None) -> Callable[[], bytes]:
        if idempotency_key is None:
            return partial(self._entropy.bytes, ids.NONCE_BYTES)
        from worlddb.statements import retries

        return retries.nonces_for_key(self._reader, idempotency_key)

    def _wake_background(self, receipt: outcome.Receipt, *, brings_texts: bool = True) -> outcome.Receipt:
        """Wake the background thread, if there is one and the commit changed something."""
        if self._due.thread is not None and receipt.events:
            self._due.wake(receipt, brings_texts=brings_texts)
        return self._index_after_writes(receipt)

    def _index_after_writes(self, receipt: outcome.Receipt) -> outcome.Receipt:
        """Let the text index follow this handle's writes, once they are many."""
        shared = self._shared
        if receipt.events:
            shared.newest = max(shared.newest, receipt.seq)
            # A link brings no text, and of a load most are links.
            links = sum(map((2 * ids.LINEAGE_BYTES).__lt__, map(len, receipt.requested)))
            texts = max(1, receipt.events - links)
            shared.unindexed, shared.since_lull = shared.unindexed + texts, shared.since_lull + texts
        with suppress(errors.WorldDBError):  # What was asked for is written.
            if shared.accesses.items and shared.accesses.are_many:
                self.write_accesses()
            if shared.refreshes.items and shared.refreshes.are_many:
                self.write_refreshes()
        if shared.unindexed >= FOLLOWED_EVENTS:
            shared.unindexed = shared.since_lull = 0
            self._reader.index_in_background()
        elif shared.since_lull >= FOLLOWED_AT_LULL:
            shared.since_lull = 0
            self._reader.index_in_background(at_lull=True)
        return receipt

    def _refuse_unwritable(self) -> None:
        """Refuse to queue what can never be written: a copy and a hypothetical store are read-only."""
        from worlddb.reconciler import pipeline

        self._reader.refuse_supposed("nothing can be kept in it")
        with self._reader.snapshot() as snapshot:
            pipeline.refuse_copy(self._writer, snapshot.log)

    # -- what waits in memory and is written together

    def accessed(self, *refs: Any, at: times.TimeLike | None = None) -> None:
        """Record that worlds were used, at a time (default: now); used worlds decay later.

        It waits in memory with others until there are 256, until :meth:`write_accesses` is called, or the store is
        closed, and then is one event that names worlds and times alone. A handle that was opened with
        ``record_accesses=True`` says so of the hits of every recall.

        Raises:
            UnknownReference, AmbiguousReference: one of them is not known, or fits several.
        """
        view = self.view()
        when = now_of(self._clock) if at is None else times.parse_time(at, "at")
        self._refuse_unwritable()
        self._record_use([view.reference_of(each) for each in refs], when)
        if self._shared.accesses.are_many:
            self.write_accesses()

    def write_accesses(self) -> outcome.Receipt | None:
        """Write the waiting accesses as one commit, with its own author; ``None`` if none wait."""
        return self._shared.accesses.write(self._write_accesses)

    def _write_accesses(self, waiting: Sequence[tuple[bytes, int]]) -> outcome.Receipt:
        refs, at = (tuple(some) for some in zip(*waiting, strict=True))
        return self._execute([cmd.Access(refs=refs, at=at)], None)

    def _record_use(self, refs: Sequence[str], at: int) -> None:
        used = {object(): (bytes.fromhex(ref), at) for ref in refs}
        self._shared.accesses.add(used, self.write_accesses, self.at_close)

    def refreshed(self, *refs: Any, at: times.TimeLike | None = None) -> None:
        """Record that worlds were used, at a time (default: now), so that deadlines by ``ttl`` move as by
        :meth:`refresh`.

        It waits in memory as :meth:`accessed` does, until there are 256, until :meth:`write_refreshes` is called, or
        the store is closed, and is one commit then; that is written later changes no deadline. From no view of this
        handle a deadline hides what was used in time: what waits is written before that. A process that is killed loses
        what waits.

        Raises:
            UnknownReference, AmbiguousReference: one of them is not known, or fits several.
        """
        when = now_of(self._clock) if at is None else times.parse_time(at, "at")
        view = None if all(isinstance(each, World) for each in refs) else self.view()
        found = [each if view is None else view.get(each, include_superseded=True) for each in refs]
        timed = ((each.ref, each.expires_at) for each in found if each is not None)
        used = {ref: (bytes.fromhex(ref), when, deadline) for ref, deadline in timed if deadline is not None}
        self._refuse_unwritable()
        if self._shared.refreshes.add(used, self.write_refreshes, self.at_close):
            self.write_refreshes()

    def write_refreshes(self) -> outcome.Receipt | None:
        """Write the waiting records of :meth:`refreshed` as one commit; ``None`` if nothing waits."""
        return self._shared.refreshes.write(self._write_refreshes)

    def _write_refreshes(self, waiting: Sequence[tuple[bytes, int, int]]) -> outcome.Receipt:
        return self._execute([cmd.Refresh(ref=ref, at=at) for ref, at, _ in waiting], None)

    def keep_receipt(self, receipt: RecallReceipt | str | bytes) -> None:
        """Keep the receipt of a recall in the log, several in one commit.

        It waits in memory until there are 64, until :meth:`write_receipts` is called, or the store is closed; a
        program that is killed before loses waiting ones. :meth:`View.receipts_of` then lists those that name a world.

        Raises:
            MalformedFile: it is no receipt of a recall, or was altered.
            InputError: it is not of this store.
            ReadOnlyBackup, HypotheticalStore: nothing can be kept here.
        """
        from worlddb.beliefs import kept_receipts
        from worlddb.log.beliefs.recall_receipt import read_recall_receipt

        found = read_recall_receipt(receipt)
        self._refuse_unwritable()
        kept_receipts.refuse_foreign(self._reader, found)
        if self._shared.receipts.add({found.hash: found}, self.write_receipts, self.at_close):
            self.write_receipts()

    def write_receipts(self) -> outcome.Receipt | None:
        """Write the waiting receipts of :meth:`keep_receipt` as one commit; ``None`` if none wait.

        A receipt that names a text erased since is not written.
        """
        from worlddb.beliefs import kept_receipts

        now = now_of(self._clock)
        return self._shared.receipts.write(partial(kept_receipts.write, self._reader, self._execute, now))

    # -- work that is due after writes: vectors for new texts, and another look at who is who

    def embed(
        self, *, limit: int | None = None, progress: Callable[[int], None] | None = None
    ) -> embedding_backfill.Embedding:
        """Give vectors to texts that have none.

        At most about ``limit`` texts are done, in commits of their own. They go into the embedding space in use.
        Texts are found by their words at once, and by their meaning from then on. ``ingest`` of the command line
        calls this at its end; a program calls it when it has time, from any thread or process.

        Raises:
            InputError: the space in use was made by another model than the one that the store was opened with, or the
                model changed under its name, or gave what is no vector.
            ModelUnavailable: the store was opened without an embedder, or its model is not there.
        """
        return self._due.embed(self._writer, limit, progress)

    def reembed(
        self,
        to: Embedder | str,
        *,
        space: str | None = None,
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> embedding_backfill.Reembedding:
        """Move to another embedding model.

        This fills a new space, which answers once every text has a vector. Nothing else is touched. The space in use
        answers until then, and is kept afterwards: see :meth:`drop_space`. Vectors are committed batch by batch, so
        the same call continues where it was stopped, or where ``limit`` texts were done. ``to`` is an embedder, or
        the name of one as ``open`` takes it. ``space`` names the space; by default it is called after the model, or
        is the newest one of that model. A space that was left can be returned to in the same way.

        Raises:
            InputError: the space of that name was made by another model, the model changed under its name, or gave what
                is no vector.
            ModelUnavailable: the model is not there, or failed; what was embedded before stays.
        """
        return self._due.reembed(self._writer, to, space, limit, progress)

    def spaces(self) -> tuple[EmbeddingSpace, ...]:
        """The embedding spaces, dropped ones too, in the order they were opened."""
        from worlddb.reconciler.embedding.spaces import describe_spaces

        with self._reader.snapshot() as snapshot:
            return tuple(describe_spaces(snapshot.log, snapshot.tables))

    def recluster(self, *, limit: int | None = None, tiebreaker: Tiebreaker | None = None) -> Reclustering:
        """Resolve again the worlds within two hops of what is new, and propose the matches found.

        New is what came since the last call. All tiers run; the embedding tier compares texts that have vectors.
        Proposals are staged in commits of their own, by the author ``worlddb.recluster``; without matches nothing is
        written. One process at a time does it: another gets an answer that is ``busy``. At most about ``limit``
        worlds are looked at.

        ``tiebreaker`` chooses between the contenders for one world: a program, a person, a model; by default the one
        that the store was opened with. It is called while the store is not locked, its answer is in the evidence, and
        nothing asks it again.

        Raises:
            InputError: ``limit`` is no number from 1 on, or the tiebreaker cannot be called or chose a stranger.
        """
        return self._due.recluster(self._writer, limit, tiebreaker)

    def consolidate(
        self,
        *,
        min_age: timedelta | float = timedelta(days=1),
        summarizer: Summarizer | None = None,
        worlds: Sequence[Any] | None = None,
        close: Sequence[str] = CLOSED_TYPES,
        sweep: bool = True,
        dry_run: bool = False,
        limit: int | None = None,
        progress: Callable[[str, int, int], object] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> Consolidated:
        """Summarise worlds, infer edges and sweep: a store's sleep (paper §6). See ``docs/consolidation.md``.

        A world created ``min_age`` ago or earlier (a ``timedelta``, or seconds; 0 for any) that contains something
        gets a world of type ``Summary`` inside it, ``derived_from`` what it contains, unless it has a fresh one; at
        most ``limit`` of them. ``summarizer`` makes the texts: by default :class:`ExtractiveSummarizer`, which asks
        no model. Edges of the types in ``close`` are inferred from paths of several edges, and retracted when no path
        is left. ``sweep`` records conflicts of edges from before their type became functional, labels stale worlds,
        embeds texts and proposes near-duplicates: of texts side by side in a world by words and meaning, of names as
        :meth:`recluster` does. ``worlds`` limits all but vectors and names to some worlds and what is inside them.

        Its commits have the author ``worlddb.consolidate``. The next call continues a run that was killed, and a call
        after a complete run writes nothing. ``dry_run`` writes nothing. ``progress(what, done, total)`` is called with
        each step; once ``stopped()`` is true, the run ends after the current step. One process at a time can run it;
        another gets an answer that is ``busy``.

        Raises:
            InputError: an argument is not what it should be, or a type cannot be closed, or is not known.
            UnknownReference, AmbiguousReference: one of ``worlds`` is not known, or fits several.
        """
        given: dict[str, Any] = {"min_age": min_age, "summarizer": summarizer, "worlds": worlds, "close": close}
        given |= {"sweep": sweep, "dry_run": dry_run, "limit": limit, "progress": progress, "stopped": stopped}
        return self._due.consolidate(self._writer, **given)

    def enrich(
        self,
        enricher: Enricher | None = None,
        *,
        worlds: Sequence[Any] | None = None,
        types: Sequence[str] = ("Turn",),
        before: int = 8,
        after: int = 2,
        limit: int | None = None,
        dry_run: bool = False,
        progress: Callable[[int, int], object] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> Enriched:
        """Describe what each segment means by itself, using the segments around it. See ``docs/enrichment.md``.

        ``enricher`` is shown each world of one of the ``types`` (or those of them inside ``worlds``) with so many
        ``before`` and ``after`` it in the world that contains them: by default :class:`ContextEnricher`, which asks no
        model. What it says is kept inside of the segment, as a world of type ``Enrichment`` that is ``derived_from``
        what it rests on. A recall that finds it shows the segment. What has a fresh one is left alone.

        It works in commits of its own, whose author is ``worlddb.enrich``: killed, it is continued by the next call,
        and a call after a whole one writes nothing. ``progress(done, total)`` counts segments; once ``stopped()`` is
        true it ends. One process at a time does background work: another gets an answer that is ``busy``.

        Raises:
            InputError: an argument is not what it should be.
            UnknownReference, AmbiguousReference: one of ``worlds`` is not known, or fits several.
        """
        given: dict[str, Any] = {"worlds": worlds, "types": types, "before": before, "after": after, "limit": limit}
        given |= {"dry_run": dry_run, "progress": progress, "stopped": stopped}
        return self._due.enrich(self._writer, enricher, **given)

    def dream(
        self,
        assessor: Assessor | None = None,
        *,
        dry_run: bool = False,
        batch_size: int = 20,
        max_deprecation_ratio: float = 0.5,
        allow_published: bool = False,
        halt: bool = False,
        decay: Decay | None = None,
        progress: Callable[[str, int, int], object] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> Dreamt:
        """Assess what changed since the last run, and hide what is not worth keeping in view. See ``docs/dream.md``.

        The Dream State of Kumiho (§9); see ``docs/dream.md``. ``assessor`` judges ``batch_size`` memories at a time:
        by default :class:`RuleAssessor`, which asks no model. At most the share ``max_deprecation_ratio`` (0.1 to
        0.9) of the judged memories is deprecated, the least relevant first; if more is recommended the result says
        that the breaker ``tripped``, and with ``halt`` nothing is done. Pinned memories are never touched, nor those
        with the tag ``published``, unless ``allow_published``. Suggested labels, metadata and edges are written. With
        ``decay`` memories of the tier ``hidden`` are deprecated, too.

        Its commits have the author ``worlddb.dream``, and a report, which is a world of its own, says what it did. The
        next run continues one that was killed; a run after a complete one writes nothing. ``dry_run`` writes nothing.
        ``progress(what, done, total)`` is called with each step; once ``stopped()`` is true, the run ends after the
        current step. One process at a time can run it; another gets an answer that is ``busy``.

        Raises:
            InputError: an argument is not what it should be.
        """
        given: dict[str, Any] = {"dry_run": dry_run, "batch_size": batch_size, "halt": halt, "decay": decay}
        given |= {"max_deprecation_ratio": max_deprecation_ratio, "allow_published": allow_published}
        return self._due.dream(self._writer, assessor, **given, progress=progress, stopped=stopped)

    def keep_up(self, *, wait_seconds: float = 0.0) -> bool:
        """Embed new texts and recluster; true once both are done.

        A handle that was opened with ``background=True`` does so by itself after each write: this call waits for that,
        at most ``wait_seconds``. Another handle does it now.

        Raises:
            InputError, ModelUnavailable: as :meth:`embed`, of a handle without a thread for it. With one, see
                :attr:`background_error`.
        """
        limits.checked_amount(wait_seconds, "wait_seconds")
        return self._due.keep_up(self._writer, wait_seconds)

    @property
    def last_written(self) -> int:
        """The number of the last commit written through this handle; 0 if there is none."""
        return self._shared.newest

    @property
    def background(self) -> bool:
        """True if this handle has a thread that embeds new texts and reclusters."""
        return self._due.thread is not None

    @property
    def background_error(self) -> Exception | None:
        """The last error of the background thread, unless it has succeeded since; see ``open``."""
        return None if self._due.thread is None else self._due.thread.error

    def _run_due_work(self, receipt: outcome.Receipt) -> outcome.Receipt:
        """Do the work that is due after a commit; a failure does not affect the commit."""
        self._index_after_writes(receipt)
        try:
            self._due.embed_and_recluster(self._writer)
        except (errors.UnavailableError, errors.InputError) as error:
            return receipt.with_notes([outcome.Note("not_embedded", (str(error),))])
        return receipt

    # -- maintenance

    def verify(
        self,
        *,
        deep: bool = False,
        head: str | bytes | None = None,
        keys: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Verified:
        """Check the file's structure, chain, events, blobs, the tables' root and the indexes' witnesses.

        ``deep`` also replays the log and compares every table, every entry of an index and every snapshot.

        ``head`` is the text of a checkpoint that was kept elsewhere: the log must begin with the commits that it
        covers, so a log that was rewritten with fresh hashes or cut short is detected. Each verifier key in ``keys``
        must have signed it.

        It never raises for damage: findings are listed, with the first bad commit (0: outside the log). Once a commit
        or a table is found damaged, every process refuses to write, until ``rebuild`` has mended it or a verification
        as deep finds nothing.

        Raises:
            MalformedFile: ``head`` is no checkpoint.
            InputError: a key is no verifier key, or keys were given without a head.
        """
        from worlddb.log.model.checkpoint import anchor_of, origin_of
        from worlddb.projections.check import verify_store

        limits.checked_callable(progress, "progress")
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
            self._remarks() if not findings else (),
        )

    def _remarks(self) -> tuple[str, ...]:
        from worlddb.log.store import copies, verify
        from worlddb.log.store.log import LmdbLog
        from worlddb.projections.check import snapshot_findings

        with self._env.read() as txn:
            log = LmdbLog(txn)
            remarks = [
                *(found.problem for found in verify.list_unproved_erasures(log)),
                *copies.list_lost_lines(self._env.folder, log),
                *filter(None, [high_water.find_mark_problem(self._env.folder)]),
            ]
        return (*remarks, *(found.problem for found in snapshot_findings(self._env, deep=False)))

    def rebuild(self, *names: str, progress: Progress | None = None) -> Rebuilt:
        """Delete projections (all of them if none is named) and derive them from the log again."""
        limits.checked_callable(progress, "progress")
        unknown = [name for name in names if name not in PROJECTIONS]
        if unknown:
            raise errors.InputError(
                f"There is no projection {errors.shown(unknown[0])}", f"Name one of: {', '.join(PROJECTIONS)}"
            )
        wanted = tuple(name for name in PROJECTIONS if not names or name in names)
        began = monotonic()
        self._reader.rebuild(wanted, progress)
        if TABLES_NAME in wanted and (noted := high_water.read_damage(self._env.folder)) is not None:
            self.verify(deep=noted.deep, progress=progress)  # What finds nothing takes the note away.
        return Rebuilt(wanted, monotonic() - began, self.view().hash())

    def catch_up(self) -> bool:
        """Bring the indexes up to date now; false if another process is doing it.

        Reads do not need it. The text index ends at its last boundary; the few texts behind it are searched in memory.
        Up to 32,768 texts, in an index of up to 32 MiB, are put together in one segment, which is searched in half the
        time of five.
        """
        return self._reader.catch_up()

    def backup(self, into: str | Path, *, progress: Progress | None = None) -> backups.BackedUp:
        """Bring a backup up to the last commit, or begin one; others may write meanwhile.

        A backup is a read-only store directory. Commits that it has are neither copied nor checked again: only
        :meth:`verify` on the backup reads all of it. Texts erased here are erased there, and the next call continues
        after an interruption. :func:`restore` makes a store of it.

        Raises:
            BackupMismatch: the directory holds a backup that does not lead up to this store; ``NotABackup``: a store.
            DamagedStore: a commit is not what was written; the backup ends before it. Or a verification found the
                backup damaged.
        """
        limits.checked_callable(progress, "progress")
        self._reader.refuse_supposed("a backup of it could be taken for one of the original")
        return backup_into(self._env, folder_of(into, "into"), self.author, progress)

    # -- history

    def snapshot(
        self,
        *,
        until: times.TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        progress: Progress | None = None,
    ) -> Snapshot:
        """Keep a copy of the store as of a moment, from which later replays start.

        The snapshot lies beside the log. It is as large as the store was then and may be deleted at any time. An
        erasure deletes all of them.

        Raises:
            InputError: nothing had been committed by then.
            DamagedStore: a commit is not what was written.
        """
        from worlddb.reconciler.replay.replay import take_snapshot

        limits.checked_callable(progress, "progress")
        end = self._moment(until, seq, bookmark).seq
        return take_snapshot(self._env, end, progress)

    def replay(
        self,
        into: str | Path,
        *,
        until: times.TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        without: Iterable[int] = (),
        without_author: str | Iterable[str] = (),
        progress: Progress | None = None,
    ) -> Replayed:
        """Make the store as of a moment in a new directory, from the log alone.

        The moment is an ingest time (``until``), a commit or a bookmark; by default the head.

        With ``without``, numbers of commits, or ``without_author``, make the store as it would have been without
        them: later commits are decided again, by this handle's handlers and thresholds, and each different outcome is
        listed. Such a store says what it supposes, has an id of its own, is read-only, and exports, signs and proves
        nothing.

        Raises:
            InputError: nothing had been committed by then, or a commit to leave out is unknown or mandatory.
            PlaceTaken: the directory holds a store already, or another replay is making one there; ``NotAStore``: it
                holds something else.
            HypotheticalStore: commits are to be left out of a store that is hypothetical itself.
            DamagedStore: a commit is not what was written.
        """
        from worlddb.log.store import copies, lock
        from worlddb.reconciler.replay import hypothetical_history
        from worlddb.reconciler.replay.replay import first_left_out, replay, suppose

        limits.checked_callable(progress, "progress")
        omitted = hypothetical_history.left_out(without, without_author)
        end = self._moment(until, seq, bookmark).seq
        if omitted is not None:
            first_left_out(self._env, end, omitted)
        folder = folder_of(into, "into")
        copies.refuse_inside(self._env.folder, folder)
        target = open_environment(folder, author=self.author, create=True, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
        with closing(target), lock.claimed_folder(folder) as is_claimed:
            if not is_claimed:
                raise errors.PlaceTaken(f"Another replay is making a store in {folder}", "Name a new directory")
            if has_begun(target):
                raise errors.PlaceTaken(f"{folder} already holds a store", "Name a new directory")
            # Before it is made: what breaks off leaves a part of it there.
            copies.note_copy(self._env, copies.Copy("replay", str(folder.resolve()), end, self._reader.head()))
            if omitted is None:
                return replay(self._env, target, end, progress)
            return suppose(self._env, target, end, omitted, self._decider((), None), progress)

    def redecide(
        self,
        *,
        edge_types: Iterable[EdgeHandler] = (),
        resolver: Thresholds | ByType | None = None,
        first: int = 1,
        until: times.TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        progress: Progress | None = None,
    ) -> Redecided:
        """Decide past commits again, and list those that come out differently.

        They are the commits from ``first`` to a moment (default: the last commit). Each is decided on its original
        state, from the commands that were kept beside its events. The handlers in ``edge_types`` replace those that
        are registered for their types; ``resolver`` replaces this handle's thresholds and those that are set for
        worlds. No commit is made: scratch tables lie in the store's directory meanwhile.

        Raises:
            InputError: one of ``edge_types`` is no handler or has the name of a built-in type; there is no such moment.
            DamagedStore: a commit is not what was written.
        """
        from worlddb.reconciler.replay.redecision import redecide

        limits.checked_callable(progress, "progress")
        limits.checked_number(first, "first", 0, limits.HIGHEST_SEQ)
        last = self.view(ingested=until, seq=seq, bookmark=bookmark).seq
        self._reader.refuse_supposed("its commits were decided again already")
        return redecide(self._env, self._decider(edge_types, resolver), first, last, progress)

    def _decider(self, edge_types: Iterable[EdgeHandler], resolver: Thresholds | ByType | None) -> redecision.Decider:
        """The handlers and thresholds of this handle, some replaced by the caller's."""
        from worlddb.log.store.log import LmdbLog
        from worlddb.projections.tables.apply import log_marks
        from worlddb.reconciler.replay import redecision

        with self._env.read() as txn:
            secret = log_marks.secret_of(LmdbLog(txn))
        resolving = self._resolving if resolver is None else StoreThresholds(resolver, instead=True)
        return redecision.Decider(self._ontology.deciding_with(edge_types), resolving, secret)

    # -- proofs

    def head(
        self, *, ingested: times.TimeLike | None = None, seq: int | None = None, bookmark: str | None = None
    ) -> Head:
        """The state of the store, now or at an ingest time, commit or bookmark."""
        found = self._checkpoint(ingested, seq, bookmark)
        chain, root, ingest_time = found.commit_state
        return Head(
            found.size,
            chain.hex(),
            root.hex(),
            ingest_time,
            self._reader.store_id.hex(),
            found.tree.hex(),
            self._reader.supposes,
        )

    def checkpoint(
        self,
        *,
        ingested: times.TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        sign_with: Sequence[str] = (),
    ) -> str:
        """The state of the store at a moment as a short text to keep elsewhere, signed if asked.

        The moment is the present one, an ingest time, a commit or a bookmark.
        The text is a checkpoint as transparency logs have them: origin, number of commits, root of the Merkle tree
        over them, then chain hash, root world hash and ingest time. Each signing key in ``sign_with`` signs it.

        Raises:
            InputError: a key is no signing key, or there is no such commit.
        """
        from worlddb.log.model import signed_note
        from worlddb.log.model.checkpoint import checkpoint_text

        self._reader.refuse_supposed(_NOTHING_TO_SIGN)
        holders = [signed_note.parse_signing_key(key) for key in limits.checked_list(sign_with, "sign_with")]
        note = signed_note.SignedNote(checkpoint_text(self._checkpoint(ingested, seq, bookmark)), ())
        for key in holders:
            note = signed_note.sign(note, key)
        return signed_note.note_text(note)

    def prove(
        self,
        ref: Any,
        *,
        world: Any = None,
        ingested: times.TimeLike | None = None,
        seq: int | None = None,
        bookmark: str | None = None,
        head: str | bytes | int | None = None,
        with_text: bool = False,
    ) -> str:
        """Prove that a world (its newest version then) or an edge was inside ``world`` at a moment.

        By default ``world`` is the root world, and the moment is the present. A reader with the ``head`` (its text or
        its number of commits; by default the present one) can check the proof by :func:`check_proof`, without a store.
        With ``with_text`` the proof contains the stored text, so that the reader need not trust the identifier alone.
        An erased text is not contained, and the proof still holds.

        Raises:
            UnknownReference: it, or the world, was not there then, or not inside that world.
            InputError: a ``contains`` edge was named, or the head is of another store, of fewer commits than the
                moment, or of more than there are.
            MalformedFile: ``head`` is a text and no checkpoint.
        """
        from worlddb.log.model.proof import proof_text
        from worlddb.query.proofs import proofs

        self._reader.refuse_supposed(_NOTHING_TO_PROVE)
        view = self.view(ingested=ingested, seq=seq, bookmark=bookmark)
        at, within = view.seq, None if world is None else bytes.fromhex(view.reference_of(world))
        with self._reader.snapshot() as snapshot:
            size = proofs.size_of_head(head, self._reader.store_id, snapshot.log.head().seq)
            goal = proofs.goal_of(snapshot, ids.as_ref(ref), within, at, size)
            return proof_text(proofs.prove_inclusion(snapshot, self._reader.store_id, goal, with_text=with_text))

    def prove_consistency(self, old: int, new: int | None = None) -> str:
        """Prove that the log of ``new`` commits begins with the log of ``old`` commits.

        By default ``new`` is all commits.

        Raises:
            InputError: there is no such commit, or the later one was given first.
        """
        from worlddb.log.model.proof import proof_text
        from worlddb.query.proofs import proofs

        self._reader.refuse_supposed(_NOTHING_TO_PROVE)
        with self._reader.snapshot() as snapshot:
            end = limits.checked_number(
                snapshot.log.head().seq if new is None else new, "new", 1, snapshot.log.head().seq
            )
            begin = limits.checked_number(old, "old", 1, end)
            return proof_text(proofs.prove_consistency(snapshot, self._reader.store_id, begin, end))

    def prove_recall(self, receipt: RecallReceipt | str | bytes) -> str:
        """Prove that the versions that a receipt names were in the store at its head.

        :func:`check_recall` checks it beside the receipt, without a store.

        Raises:
            MalformedFile: it is no receipt of a recall.
            InputError: it is not a receipt of this store.
        """
        from worlddb.beliefs import kept_receipts

        self._reader.refuse_supposed(_NOTHING_TO_PROVE)
        return kept_receipts.prove(self._reader, self.view, receipt)

    def check_recall(
        self, receipt: RecallReceipt | str | bytes, question: str, *, tolerance: float = 0.0, **filters: Any
    ) -> RecallCheck:
        """Check the receipt of an exact recall against this store: ask again, and prove that the hits existed.

        ``question`` and the ``filters`` that hold texts (``about``, ``speaker``, ``type``, ``author``, ``source``,
        ``label``, ``tag``, ``properties``) must be given again as they were asked; the receipt has all other options.
        Scores must be the same to the millionth, or differ by no more than ``tolerance``: arithmetic on vectors may
        differ between machines.

        Raises:
            MalformedFile: it is no receipt of a recall.
            InputError: there is no such filter.
        """
        from worlddb.beliefs import kept_receipts

        return kept_receipts.check(self._reader, self.view, receipt, question, tolerance, filters)

    def _checkpoint(self, ingested: times.TimeLike | None, seq: int | None, bookmark: str | None) -> OwnCheckpoint:
        from worlddb.query.proofs import proofs

        at = self.view(ingested=ingested, seq=seq, bookmark=bookmark).seq
        with self._reader.snapshot() as snapshot:
            return proofs.checkpoint_at(snapshot, self._reader.store_id, at)

    # -- interchange

    def export(
        self,
        ref: Any,
        path: str | Path,
        *,
        ingested: times.TimeLike | None = None,
        seq: int | None = None,
        overwrite: bool = False,
        proof: bool = True,
        head: str | bytes | int | None = None,
        progress: Progress | None = None,
    ) -> bundle_contents.Bundle:
        """Write a world and its interior as a bundle.

        ``None`` is the root world, which is everything.

        It is as of an ingest time or commit (default: now). A file whose path ends in ``.zst`` is compressed. The file
        appears complete or not at all.

        With ``proof`` it contains a proof of the world's hash for a reader with the ``head``: its text or number of
        commits, by default that of the moment itself. The proof names the worlds on the path from the root, and some
        beside it, by their ids and hashes.

        Raises:
            InputError: something is there under the path already, and ``overwrite`` is false; or the head is of another
                store, of fewer commits than the moment, or of more than there are.
            LimitExceeded: the bundle would be larger than a bundle may be.
        """
        limits.checked_callable(progress, "progress")
        made = self._export_of(ref, ingested, seq)
        return made.bundle(path, overwrite=overwrite, proof=proof, head=head, progress=progress)

    def export_lines(
        self,
        ref: Any = None,
        *,
        ingested: times.TimeLike | None = None,
        seq: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[dict[str, Any]]:
        """A world (default: the root world) and its interior as plain objects, one a line of JSON."""
        limits.checked_callable(progress, "progress")
        return self._export_of(ref, ingested, seq).lines(progress)

    def export_jsonl(
        self,
        ref: Any,
        path: str | Path,
        *,
        ingested: times.TimeLike | None = None,
        seq: int | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Write the objects of :meth:`export_lines` to a file; returns what its first and last say.

        The file is there whole or not at all; raises as :meth:`export`.
        """
        limits.checked_callable(progress, "progress")
        return self._export_of(ref, ingested, seq).jsonl(path, overwrite=overwrite, progress=progress)

    def check_world(self, ref: Any, *, ingested: times.TimeLike | None = None, seq: int | None = None) -> int:
        """Check the texts and hashes of a world and its interior; returns how many worlds were read.

        Damage elsewhere in the store does not matter; edges and proposals are not checked. :meth:`verify` and proofs
        show that the world's own hash is the committed one.

        Raises:
            DamagedStore: something is not what was written.
        """
        return self._export_of(ref, ingested, seq).check()

    def _export_of(self, ref: Any, ingested: times.TimeLike | None, seq: int | None) -> Export:
        from worlddb.interchange import Export

        view = self._moment(ingested, seq)
        return Export(self._reader, self._world_or_root(view, ref), view.moment)

    def import_bundle(
        self,
        path: str | Path,
        *,
        into: Any = None,
        why: str = "",
        idempotency_key: str | None = None,
        head: str | bytes | None = None,
        keys: Sequence[str] = (),
        allow_outside: bool = False,
        join: bool = False,
    ) -> outcome.Receipt:
        """Import a bundle as one commit; ``ref`` of the receipt is its world.

        Ids, versions, edges, world hashes and provenance stay; known data is not written again, and newer data is
        added. A new world is put into ``into`` (default: the root), one that is here stays where it is unless
        ``into`` is given. A bundle that contradicts this store is refused as ``bundle_conflict``, with a list; with
        ``join`` both sides are kept. What became of a world in the bundle then goes on as a world of its own that
        contradicts it (note ``went_apart``), and what both say in the same words holds once (note ``said_in_both``).
        A join is refused as ``erasure_not_obeyed`` while the bundle has texts that were erased here: its store has
        yet to erase them.

        One that does something to a world outside of it (ends it, names it, moves it, speaks for it) is refused as
        ``reaches_outside``, with the list that :meth:`import_plan` gives, unless ``allow_outside`` says that it may:
        then the receipt names those worlds in a note. docs/bundles.md says which worlds are the bundle's own.

        What is new is found by its words alone until it is embedded: see :meth:`embed`.

        ``head`` and ``keys`` are as in :func:`check_bundle`. Which head it was held against is said in the source of
        the ``imported`` event; nothing else is kept of the proof.

        Raises:
            InvalidBundle: it does not hold; which frame, and why. Nothing was written.
            UnprovedBundle: the head does not stand for it. Nothing was written.
            NewerFormat: it was made by a newer release.
        """
        from worlddb import interchange
        from worlddb.reconciler.pipeline import execute

        arrival = interchange.read_arrival(path, self._resolve_optional(into), why, head, keys, join=join)
        arrival = arrival._replace(outside="allow") if allow_outside else arrival
        return self._wake_background(execute(self._writer, arrival, idempotency_key))

    def import_plan(
        self,
        path: str | Path,
        *,
        into: Any = None,
        head: str | bytes | None = None,
        keys: Sequence[str] = (),
        join: bool = False,
    ) -> ImportPlan:
        """List what :meth:`import_bundle` with these arguments would do to worlds outside of the bundle.

        The import is decided as it would be, under the writer's lock, and nothing of it is written.

        Raises:
            InvalidBundle, UnprovedBundle, NewerFormat: as :meth:`import_bundle`.
        """
        from worlddb import interchange

        arrival = interchange.read_arrival(path, self._resolve_optional(into), "", head, keys, join=join)
        return interchange.rehearse(self._writer, arrival)

    # -- forks and withdrawals

    def fork(
        self,
        world: Any,
        name: str | None = None,
        *,
        at: times.TimeLike | None = None,
        seq: int | None = None,
        into: Any = None,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> outcome.Receipt:
        """Fork a world with its interior into new worlds; ``ref`` is the fork.

        It is as it was at an ingest time ``at`` or commit ``seq`` (default: now): every version with its text and
        validity, members, the edges inside, names and marks. ``name`` is a further name of the fork. It lies where the
        world lies, or in ``into``. Of the edges that lead out it has those whose type does so (``refers_to``, and what
        is registered with ``cross_worlds``); a note names the others. See ``docs/forks.md``.

        Raises:
            UnknownReference, AmbiguousReference: of ``world`` or ``into``.
            InputError: both ``at`` and ``seq`` were given, or nothing had been committed by then.
        """
        from worlddb.forks import merging

        view = self._moment(at, seq)
        given = self._world_or_root(view, world)
        command = cmd.Fork(
            ref=given,
            seq=view.seq if at is not None or seq is not None else 0,
            into=self._resolve_optional(into),
            aliases=() if name is None else (name,),
            why=why,
        )
        return self._wake_background(merging.fork(self._reader, self._writer, command, view.seq, idempotency_key))

    def merge(
        self,
        fork: Any,
        *,
        plan: bool = False,
        decide: Mapping[str, Choice] | None = None,
        on_conflict: Literal["report", "ours", "theirs"] = "report",
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Merge:
        """Merge a fork into its origin, as one commit.

        Three ways: with the fork as the last merge saw it, or as it was begun, in common. Changes of only the fork
        apply; different changes on both sides are conflicts. ``decide`` chooses ``ours`` (it stays) or ``theirs`` (it
        becomes as in the fork) by the conflict's ``id``, ``on_conflict`` for all others; while one is open nothing is
        written. ``plan`` writes nothing at all. A second merge does nothing, a later one brings what is new. A world
        that only the fork has becomes a world of its own; what was erased on either side stays as it is. Under an
        ``idempotency_key`` a merge that wrote something is answered as it was then when it is asked for again.

        Raises:
            InputError: it is no fork, or ``decide`` names no conflict, or no choice.
            IdempotencyConflict: something else was written under the key.
            UnknownReference, AmbiguousReference: of ``fork``.
        """
        from worlddb.forks import merging

        chosen = merging.checked_choices(decide, on_conflict)
        limits.checked_flag(plan, "plan")
        key = None if plan else idempotency_key
        is_again = key is not None and self.was_written(key)
        then = self._view_for_key(key) if is_again else self.view()
        given = self._world_or_root(then, fork)
        otherwise = None if on_conflict == "report" else on_conflict

        def do(commands: Sequence[cmd.Command], look: inputs.Look) -> outcome.Receipt:
            try:
                return self._execute(commands, key, look=look, has_texts=False)
            except errors.IdempotencyConflict:
                from worlddb.statements import retries

                into = then.forked_from(given.hex())
                sides = [self.view(world=each)._window for each in (given.hex(), *([into.of] if into else []))]
                told = retries.merge_before_erasures(sides, str(key), given.hex())
                if told is None:
                    raise
                return told

        known_by = then.seq if is_again else None
        return merging.merge(self._reader, given, chosen, otherwise, why, None if plan else do, known_by)

    def withdraw(self, plan: Withdrawal, *, why: str = "", idempotency_key: str | None = None) -> outcome.Receipt:
        """Execute a plan of :meth:`View.withdrawal`, as one commit.

        :meth:`undo` with the receipt, or its number, takes that back. Where the plan changes nothing, nothing is
        written. The plan is computed again under the lock: if it would now differ, it is refused
        (``changed_meanwhile``), as :meth:`contract` refuses its own.

        Raises:
            InputError: it is no plan, or it changes nothing.
        """
        from worlddb.beliefs import withdrawal_orders

        found = withdrawal_orders.checked(plan)

        def look() -> list[str]:
            view = self.view(valid=found.valid, world=found.inside or None)
            seen = view if found.users is None else view._for_users(found.users)
            return withdrawal_orders.changed(withdrawal_orders.again(seen, found))

        told = f"What is to be withdrawn was changed since commit {found.seq}"
        others = outcome.Refusal("changed_meanwhile", told, "Make the plan again, and look at it")
        commands = list(withdrawal_orders.plan_commands(found, why))
        return self._execute(commands, idempotency_key, _require_same(look, withdrawal_orders.changed(found), others))

    # -- erasure; `erase` itself is in `WriteCalls`

    def erasure_plan(
        self,
        refs: Any,
        *,
        turns: bool = False,
        everywhere: bool = False,
        forbid: bool = False,
        derived: bool = True,
        members: bool | None = None,
    ) -> ErasurePlan:
        """List what ``erase`` with these arguments would reach.

        It also lists where the names would still occur. Writes nothing.
        """
        from worlddb.reconciler.commands import validation
        from worlddb.reconciler.erasure.erasure_preview import preview

        how: Any = {"everywhere": everywhere, "forbid": forbid, "derived": derived, "members": members}
        commands = self._erasures(refs, "a plan", turns=turns, **how)
        validation.check(commands)
        with self._reader.snapshot() as snapshot:
            found = preview(snapshot.log, snapshot.tables, commands)
        telling = self.view()._telling_elsewhere(each.ref for each in commands)
        told = chain.from_iterable(others for ref, others in telling if ref in found.worlds)
        reached = {*found.worlds, *found.same_words}
        return replace(found, telling=tuple(ref for ref in dict.fromkeys(told) if ref not in reached))

    def literal_erasure_plan(self, world: Any, literal: Any, *, everywhere: bool = False) -> LiteralErasurePlan:
        """List what :meth:`erase_literal` would erase: statements, past ones too, and worlds. Writes nothing.

        Raises:
            InputError: it is no literal.
            UnknownReference: there is no such world.
        """
        from worlddb.reconciler.commands import validation
        from worlddb.reconciler.erasure.erasure_preview import literal_preview

        asked = self._literal_erasure(world, literal, "a plan", everywhere)
        commands = resolve_names([asked], self._resolve_name, None)
        validation.check(commands)
        with self._reader.snapshot() as snapshot:
            [command] = commands
            assert isinstance(command, cmd.EraseLiteral), "it was made so"
            return literal_preview(snapshot.log, snapshot.tables, command)

    def forget_user(self, name: Any, *, reason: str, world: Any = None, everywhere: bool = False) -> outcome.Receipt:
        """Erase all of a user's data for good, in one commit: their scopes or their world, and all in it.

        ``name`` is the user's, as :meth:`View.worlds_of_user` looks it up, inside ``world`` if one is given, or the
        reference of the world that is theirs. With their memories goes what was made of these, whatever nothing but
        these mentions, and the sessions in which nothing else is left. What others have a part in stays: the receipt's
        notes say so, :meth:`erasure_plan` lists it, and so does :meth:`erasure_receipt`.

        ``everywhere`` also takes every other world that ever had one of the same contents, whosever it is, and the
        bookmarks and levels of trust that name the user. ``reason`` is kept.

        Of a user who never wrote, the access keys end whose default user they are, and lose their names. Of one whom
        only working memory knows the messages are removed; there is no commit then, and the note ``buffers_cleared``
        says so.

        Raises:
            UnknownReference: there is no such user, or nothing of them is left.
            AmbiguousReference: several are called so.
        """
        look = partial(self.refs_of_user, name, world=world)
        try:
            return self._erase_selected(look, reason=reason, everywhere=everywhere, turns=True)
        except errors.UnknownReference:
            if not isinstance(name, str):
                raise
            if self._begin_world_of_keys(name, world, reason, everywhere=everywhere):
                return self._erase_selected(look, reason=reason, everywhere=everywhere, turns=True)
            if world is not None or (cleared := self._forget_buffers(name)) is None:
                raise
            return cleared

    def _begin_world_of_keys(self, user: str, world: Any, reason: str, *, everywhere: bool) -> bool:
        """Make the scope that access keys of a user would begin with their first write, so that it can be erased.

        An erasure reaches the texts of a key by the scope of its default user. Returns whether there are such keys.

        Raises:
            InputError: the erasure would be refused for its arguments; nothing was made.
        """
        from worlddb.projections.tables.names.canonical import compose_name
        from worlddb.reconciler.commands import validation

        place = None if world is None else self.view()._reference_to_write(world)
        named = compose_name(user.removeprefix("user:"))
        if not any(named and (key.user, key.world) == (named, place) for key in self.accounts.keys(ended=True)):
            return False
        validation.check([cmd.Erase(ref=bytes(16).hex(), why=reason, members=True, everywhere=everywhere, turns=True)])
        self.create("Scope", f"user:{named}", world=place, resolve=False)
        return True

    def _forget_buffers(self, user: str) -> outcome.Receipt | None:
        """Forget a user's working memory, with a receipt as of :meth:`forget_user`; None if there was none."""
        if not self.forget_buffers(user):
            return None
        now = self.head()
        said: dict[str, Any] = {"events": 0, "notes": (outcome.Note("buffers_cleared", (user,)),)}
        return outcome.Receipt(
            outcome=outcome.Committed(), seq=now.seq, ingest_time=now.ingested_at, root=now.root, **said
        )

    def _erase_selected(
        self, look: Callable[[], list[str]], *, reason: str, everywhere: bool = False, turns: bool = False
    ) -> outcome.Receipt:
        """Erase the worlds that a read finds, with all in them, as they are under the lock.

        It looks once more under the lock: what another process began in between is erased, too.

        Raises:
            UnavailableError: each look found something else; nothing was erased.
        """

        def attempt() -> outcome.Receipt:
            refs = look()
            given: dict[str, Any] = {"why": reason, "members": True, "everywhere": everywhere, "turns": turns}
            return self._execute([cmd.Erase(ref=ref, **given) for ref in refs], None, _require_same(look, refs))

        return outcome.retry_while_changed(attempt, "Others begin what is to be erased")

    def refs_of_user(self, name: Any, *, world: Any = None) -> list[str]:
        """The references of the worlds that :meth:`forget_user` erases, with all in them: forks of theirs, too."""
        view = self.view()
        try:
            found = [each.ref for each in view.worlds_of_user(name, world=world)]
        except errors.InputError:
            # A reference means that world, whatever its name.
            if type(ids.as_ref(name)) is str:
                raise
            found = [view.reference_of(name)]
        return view._with_forks(found)

    def erasure_receipt(self, erasure: outcome.Receipt | int) -> erasure_notes.ErasureReceipt:
        """Give the receipt of an erasure, to be kept.

        Takes what ``erase`` returned, or the commit's number.

        Raises:
            InputError: that commit erased nothing.
        """
        from worlddb.log.store import copies
        from worlddb.query.snapshot import erasure_notes

        self._reader.refuse_supposed("it has no receipts of erasures")
        seq = erasure.seq if isinstance(erasure, outcome.Receipt) else erasure
        limits.checked_number(seq, "erasure", 1, limits.HIGHEST_SEQ)
        with self._reader.snapshot() as snapshot:
            known = copies.noted_copies(self._env.folder, snapshot.log)
            return erasure_notes.receipt_of(snapshot, self._reader.store_id, seq, known)

    def check_erasure(self, receipt: erasure_notes.ErasureReceipt | Mapping[str, Any]) -> erasure_notes.ErasureCheck:
        """Check that the log agrees with a receipt of an erasure and that the texts are gone.

        Takes a receipt, or its JSON as a mapping. A damaged file of working memory, which may hold anything, is a
        problem too.

        Raises:
            InputError: it is no receipt of an erasure.
        """
        from worlddb.log.store import copies
        from worlddb.log.working import message_buffers
        from worlddb.query.snapshot import erasure_notes

        read = receipt if isinstance(receipt, erasure_notes.ErasureReceipt) else erasure_notes.read_receipt(receipt)
        with self._reader.snapshot() as snapshot:
            known = copies.noted_copies(self._env.folder, snapshot.log)
            checked = erasure_notes.check(snapshot, self._reader.store_id, read, known)
        damage = message_buffers.find_damage(self.path)
        if damage is None:
            return checked
        problem = (
            f"{damage[0]} is damaged and may still hold the texts ({damage[1]}): open the store again or delete it"
        )
        return erasure_notes.ErasureCheck(False, (*checked.problems, problem), checked.kept)

    def finish_erasures(self, *, wait_seconds: float | None = None) -> bool:
        """Remove what earlier erasures left in the files; false if another process prevents it.

        Needed only where ``verify`` says so: ``erase`` does it, and so do opening a store and writing to it.
        """
        return finish_erasures(self._env, wait_seconds=wait_seconds)

    def _said_elsewhere(self, commands: Sequence[cmd.Command]) -> tuple[dict[int, list[int]], dict[str, list[str]]]:
        """By world that will be erased those that say the same word for word; by reference those that may tell it."""
        from worlddb.reconciler.erasure.erasure_preview import same_words_before

        erasures = [each for each in commands if isinstance(each, cmd.Erase)]
        worded = [each for each in erasures if not each.everywhere]
        same_words, telling = dict[int, list[int]](), dict[str, list[str]]()
        # What cannot be read for a note does not keep what is there from being erased.
        with suppress(errors.WorldDBError), self._reader.snapshot() as snapshot:
            same_words = same_words_before(snapshot.log, snapshot.tables, worded)
        with suppress(errors.WorldDBError):
            for ref, others in self.view()._telling_elsewhere(each.ref for each in erasures):
                known = telling.setdefault(ref, [])
                known += [other for other in others if other not in known]
        return same_words, telling

    def _note_elsewhere(
        self, receipt: outcome.Receipt, same_words: dict[int, list[int]], telling: dict[str, list[str]]
    ) -> outcome.Receipt:
        """Add notes to the receipt of an erasure that name what still says the same, or may tell it."""
        from worlddb.reconciler.erasure.erasure_preview import same_words_notes, telling_notes

        with suppress(errors.WorldDBError), self._reader.snapshot() as snapshot:  # The erasure is done.
            notes = same_words_notes(snapshot.log, snapshot.tables, same_words)
            notes += telling_notes(snapshot.log, snapshot.tables, telling)
            return receipt.with_notes(notes)
        return receipt

    def _texts_to_erase(self, commands: Sequence[cmd.Command]) -> TextsReached | None:
        """What erasures will reach: the texts, the names of the named worlds, and accompanying texts."""
        if not self._has_working:
            return None
        from worlddb.reconciler.erasure.erasure_preview import texts_reached

        with suppress(errors.InputError), self._reader.snapshot() as snapshot:
            erasures = [command for command in commands if isinstance(command, cmd.Erase)]
            found = texts_reached(snapshot.log, snapshot.tables, erasures)
            literals = [each.literal for each in commands if isinstance(each, cmd.EraseLiteral)]
            if literals:
                from worlddb.log.statements import terms

                found.texts.extend(text for each in literals for text in terms.values_in(terms.term_of(each)))
            return found
        return None

    # -- beside the log: working memory and accounts

    @property
    def working(self) -> WorkingMemory:
        """Message buffers beside the log, which expire; see :class:`WorkingMemory`."""
        if self._shared.working is None:
            from worlddb.working.working_memory import WorkingMemory

            self._shared.working = WorkingMemory(self.path, self._clock, self._guard_message)
        return self._shared.working

    @property
    def _has_working(self) -> bool:
        return self._shared.working is not None or (self.path / "working").is_dir()

    def forget_buffers(self, user: str) -> int:
        """Remove a user's working memory from every file; returns the number of messages. The log is not touched."""
        limits.checked_text(user, "user", limits.MAX_NAME_BYTES)
        if not self._has_working:
            return 0
        return self.working.forget([], [user])

    def _guard_message(self, world: Any, text: str, named: Mapping[str, str]) -> str:
        """Apply a world's guards to a message; the names of its buffer are accepted or refused."""
        from worlddb.log.redaction import personal_data
        from worlddb.log.redaction.credentials import find_credentials
        from worlddb.working.working_memory import refuse_credentials

        if world is not None:
            self.view().reference_of(world)
        found = personal_data.find_personal_data(text)
        if self._redactor is None and not found and not any(map(find_credentials, (text, *named.values()))):
            return text
        guards = self.view().guards_at(world)
        if guards.credentials == "enforce":
            refuse_credentials({"message": text, **named})
        return (self._redactor or personal_data.redact)(text)[0] if guards.personal == "enforce" else text

    @property
    def accounts(self) -> Accounts:
        """Accounts, their plans and their access keys, for programs that serve the store; see :class:`Accounts`."""
        from worlddb.accounts.account_book import Accounts, Keyring, Store

        shared = self._shared
        if shared.keyring is None:
            told = (self._reader.snapshot, lambda: self._env.generation, self._clock, self._entropy)
            shared.keyring = Keyring(Store(self.path, self._reader.store_id, *told))
            shared.at_close.append(shared.keyring.meter.close)
        return Accounts(shared.keyring, self._execute)


class _Shared:
    """What all authors of an open store share and what changes: see :meth:`Database.as_author`."""

    def __init__(self) -> None:
        self.working: WorkingMemory | None = None
        self.keyring: Keyring | None = None
        """What follows the accounts, once they are used."""
        self.at_close: list[Callable[[], object]] = []
        self.receipts: PendingWrites[RecallReceipt] = PendingWrites(MAX_RECEIPTS)
        self.accesses: PendingWrites[tuple[bytes, int]] = PendingWrites(MAX_ACCESSES)
        """Worlds that were used, and when."""
        self.refreshes: PendingWrites[tuple[bytes, int, int]] = PendingWrites(MAX_ACCESSES)
        """Worlds with deadlines that were used, when, and the deadline that this moves."""
        self.newest = 0
        self.unindexed = self.since_lull = 0
        """How many texts were written since the text index followed, and since it was told to at a lull."""


def _require_same(look: Callable[[], list[str]], found: list[str], others: Exception | None = None) -> Progress:
    """Return a progress call that reads again at the first step under the lock, and raises ``others``."""

    def looked(done: int, total: int) -> None:
        if done == 1 and look() != found:
            raise outcome.Changed if others is None else others

    return looked


_WITHOUT_TEXTS: Final = frozenset(
    [
        *(cmd.Retire, cmd.Reassert, cmd.Link, cmd.LinkVersions, cmd.Unlink, cmd.Move, cmd.Expire, cmd.Refresh),
        *(cmd.Label, cmd.Unlabel, cmd.Pin, cmd.Tag, cmd.Untag, cmd.Deprecate, cmd.Access, cmd.KeepReceipt),
    ]
)
"""Commands that bring no text to embed."""
DEFAULT_CLOCK_JUMP_DAYS: Final = 3653


@limits.typed_arguments
def open(
    path: str | Path,
    *,
    author: str = "local",
    create: bool = True,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    max_clock_jump_days: float = DEFAULT_CLOCK_JUMP_DAYS,
    durability: Durability = "commit",
    embedder: Embedder | str | None = AUTO,
    resolver: Thresholds | ByType | None = None,
    background: bool = False,
    consolidate: timedelta | float | None = None,
    dream: DreamSchedule | int | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    edge_types: Iterable[EdgeHandler] = (),
    tiebreaker: Tiebreaker | None = None,
    redactor: Redactor | None = None,
    record_accesses: bool = False,
) -> Database:
    """Open the store in a directory; it is created if there is none, unless ``create=False``.

    Args:
        author: who writes through this handle; recorded with every commit. timeout_seconds: how long a write waits
        for another process's before :class:`WriterBusy`. max_clock_jump_days: how far the clock may be ahead of the
        last commit before :class:`ClockJump`. durability: ``commit``: every write has a transaction and a sync of its
        own; ``group``: concurrent writes of this handle's threads share one, each a commit of its own. Either way a
        write that has returned is on the disk. embedder: the model that embeds texts, or the name of one (see
        :data:`EMBEDDERS`); ``None`` for none. By default the model that filled the space in use, if it is one of this
        release. It is loaded when it is first needed. resolver: from where on the resolver is confident:
        ``Thresholds(...)``, or a dict of them by node type. background: after each write, a thread of this handle
        embeds new texts and reclusters identities; see :meth:`Database.embed` and :meth:`Database.recluster`, which
        do the same on call. For servers: one process of a store does it at a time. consolidate: with ``background``,
        also summarise worlds of this age by the stand-in, infer edges and sweep: after a write, at most every ten
        minutes; see :meth:`Database.consolidate`.
        dream: with ``background``, also :meth:`Database.dream`, after so many events, or by a :class:`DreamSchedule`.
        clock, entropy: where time and randomness come from; for tests and simulations.
        edge_types: the handlers of edge types of your own, for this process; see :meth:`Database.register`.
        tiebreaker: chooses between the contenders for one world, where ``ingest``, ``create(resolve="all")`` or
            :meth:`Database.recluster` finds some: a program, a person, a model. It is called before the store is
            locked, once for each world that has contenders; what it says is recorded.
        redactor: finds personal data in place of the rules, before the lock; see :class:`EndpointRedactor`.
        record_accesses: record the hits of this handle's recalls as used; see :meth:`Database.accessed`.

    Raises:
        NotAStore, NewerFormat, DamagedStore: what is there cannot be opened, and why.
        InputError, HandlerFailed: an argument is wrong; one of ``edge_types`` is no handler, or does not work.
    """
    return Database(
        folder_of(path),
        author=author,
        create=create,
        timeout_seconds=limits.checked_amount(timeout_seconds, "timeout_seconds"),
        max_clock_jump_days=limits.checked_amount(max_clock_jump_days, "max_clock_jump_days"),
        durability=_durability(durability),
        embedder=embedder,
        resolver=resolver,
        schedule=_schedule(background, consolidate, dream),
        clock=limits.checked_callable(clock, "clock", "now") or SystemClock(),
        entropy=limits.checked_callable(entropy, "entropy", "bytes") or SystemEntropy(),
        ontology=Ontology(DEFAULT_ONTOLOGY, edge_types),
        tiebreaker=limits.checked_callable(tiebreaker, "tiebreaker"),
        redactor=limits.checked_callable(redactor, "redactor"),
        record_accesses=limits.checked_flag(record_accesses, "record_accesses"),
    )


def _durability(given: Durability) -> Durability:
    if given not in get_args(Durability):
        raise errors.InputError(
            f"durability is {errors.shown(given)}", f"Give one of: {', '.join(get_args(Durability))}"
        )
    return given


def _schedule(
    background: bool, consolidate: timedelta | float | None, dream: DreamSchedule | int | None
) -> Schedule | None:
    if limits.checked_flag(background, "background"):
        return Schedule(age_of(consolidate), alarm_of(dream))
    for what, given in (("consolidate", consolidate), ("dream", dream)):
        if given is not None:
            raise errors.InputError(f"{what} was given without a thread for it", "Give background=True too")
    return None
