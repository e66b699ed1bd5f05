"""Work that is due after writes: vectors for new texts, who is who, consolidation, enrichment and dreams.

It is done on call, or on a background thread. One process of a store does it at a time. Also here: small records that
wait in memory until they are written as one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from worlddb.log.model import errors, limits, times
from worlddb.log.model.clock import Clock, monotonic, now_of

if TYPE_CHECKING:
    # What only some of the work needs is loaded by it.
    from worlddb.query.view.view import View
    from worlddb.reconciler.background import embedding_backfill
    from worlddb.reconciler.background.reclustering import Reclustering
    from worlddb.reconciler.background.worker import BackgroundWorker
    from worlddb.reconciler.commands import outcome
    from worlddb.reconciler.consolidation.consolidator import Consolidated
    from worlddb.reconciler.consolidation.summarizer import Summarizer
    from worlddb.reconciler.dream.assessor import Assessor
    from worlddb.reconciler.dream.dream_schedule import DreamAlarm, DreamSchedule
    from worlddb.reconciler.dream.dreamer import Dreamt
    from worlddb.reconciler.embedding.embedder import Embedder
    from worlddb.reconciler.embedding.models import Models
    from worlddb.reconciler.enrichment.enricher import Enricher
    from worlddb.reconciler.enrichment.enrichment_run import Enriched
    from worlddb.reconciler.pipeline import Writer
    from worlddb.reconciler.similarity.verdict import Tiebreaker
    from worlddb.store import StoreReader

Item = TypeVar("Item", bound=Any)
Written = TypeVar("Written")

MAX_RECEIPTS: Final = 64
"""How many receipts of recalls are written as one commit."""
MAX_ACCESSES: Final = 256
"""How many accesses are written as one commit."""
MAX_WAITING: Final = 10_000
"""How many things that cannot be written wait; the earliest beyond it are lost."""
VECTORS_SECONDS: Final = 1.0
"""How long a recall waits at most until what this handle wrote last is embedded."""
OTHER_STEPS_SECONDS: Final = 0.05
"""How long it waits until the thread, which does something else, begins to embed."""
CONSOLIDATED_SECONDS: Final = 600.0
"""The least time of the background thread from one consolidation to the next."""
CLOSED_TYPES: Final = ("causes", "subtype_of")
"""Types of edges that are inferred from paths of several, unless others are named."""
_MAX_AROUND: Final = 64
"""How many segments on each side an enricher may be shown."""


class PendingWrites(Generic[Item]):
    """What waits in memory to be written as one commit: values by keys, of which the greatest of a key counts.

    Beyond :data:`MAX_WAITING` the earliest are lost, which happens only where nothing can be written.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self.items: dict[object, Item] = {}
        """What waits, by its key."""
        self._write: Callable[[], object] | None = None
        """Writes them at the close, once registered there."""

    @property
    def are_many(self) -> bool:
        """True if they are to be written now."""
        return len(self.items) >= self._limit

    def has(self, fits: Callable[[Item], bool]) -> bool:
        """True if one that waits fits."""
        with self._lock:
            return any(map(fits, self.items.values()))

    def add(
        self, items: Mapping[Any, Item], write: Callable[[], object], at_close: Callable[[Callable[[], object]], None]
    ) -> bool:
        """Let values wait, until the close at the latest; true if there are many now."""
        with self._lock:
            if self._write is None:
                at_close(self._write_at_close)
            if self._write is None or not self.items:
                self._write = write
            self._put(items)
        return self.are_many

    def write(self, write: Callable[[list[Item]], Written]) -> Written | None:
        """Write what waits; ``None`` if nothing does. If it cannot be written now, it waits on."""
        with self._lock:
            waiting, self.items = self.items, {}
        if not waiting:
            return None
        try:
            return write(list(waiting.values()))
        except Exception:
            # Another process may have the lock for longer than this one waits: they are written with the next.
            with self._lock:
                later, self.items = self.items, waiting
                self._put(later)
            raise

    def _put(self, items: Mapping[Any, Item]) -> None:
        for key, item in items.items():
            known = self.items.get(key, item)
            self.items[key] = item if known == item else max(known, item)
        for key in list(islice(self.items, max(0, len(self.items) - MAX_WAITING))):
            del self.items[key]

    def _write_at_close(self) -> None:
        write, self._write = self._write, None
        if write is not None:
            write()


class Schedule(NamedTuple):
    """When a background thread does more than embed and recluster.

    ``min_age`` is the age in microseconds of the worlds that it summarises, and ``alarm`` tells when it dreams.
    """

    min_age: int | None = None
    alarm: DreamAlarm | None = None


class DueWork:
    """The due work of an open store, which all its authors share: each call names the writer that it commits with.

    ``writer`` gives the one of the background thread, which is there if ``schedule`` is given.
    """

    def __init__(
        self,
        reader: StoreReader,
        models: Models,
        clock: Clock,
        view: Callable[..., View],
        writer: Callable[[], Writer],
        tiebreaker: Tiebreaker | None,
        schedule: Schedule | None,
    ) -> None:
        self._reader, self._models, self._clock, self._view, self._writer = reader, models, clock, view, writer
        self._tiebreaker, self._schedule = tiebreaker, schedule
        self._reclustered_through = 0
        self._embedded_through = self._awaited_in_vain = 0
        """Up to which commit the thread has embedded all, and up to which a recall waited for that in vain."""
        self._awaited = 0, 0
        """The last commit that brought texts, and when it was written."""
        self._is_embedding = False
        """True while the thread embeds, and not while it does anything else."""
        self._consolidated_at: float | None = None
        self.thread = None if schedule is None else self._make_thread(schedule.alarm)
        """Does the work after each write; ``None`` if it is done on call alone."""
        if self.thread is not None and schedule is not None and schedule.alarm is not None and schedule.alarm.is_timed:
            self.thread.nudge()

    def _make_thread(self, alarm: DreamAlarm | None) -> BackgroundWorker:
        from worlddb.reconciler.background.worker import BackgroundWorker

        again = (lambda: None) if alarm is None else (lambda: alarm.seconds_left(monotonic()))
        thread = BackgroundWorker(self._run_steps, again=again)
        self._reader.told_of_pending = thread.nudge
        return thread

    def wake(self, receipt: outcome.Receipt, *, brings_texts: bool) -> None:
        """Tell the thread, which there is, of a commit."""
        assert self.thread is not None, "whoever asks has looked"
        if brings_texts:
            self._awaited = receipt.seq, receipt.ingest_time
        self.thread.nudge()

    def embed(
        self, writer: Writer, limit: int | None = None, progress: Callable[[int], None] | None = None
    ) -> embedding_backfill.Embedding:
        """Give vectors to texts that have none; see :meth:`Database.embed`."""
        from worlddb.reconciler.background import embedding_backfill

        limits.checked_callable(progress, "progress")
        done = embedding_backfill.embed_pending(writer, self._models, _checked_limit(limit), progress)
        # Also if nothing was pending: an erasure, or deleting the folder, leaves vectors without an index.
        self._reader.index_vectors()
        return done

    def reembed(
        self,
        writer: Writer,
        to: Embedder | str,
        space: str | None,
        limit: int | None,
        progress: Callable[[int], None] | None,
    ) -> embedding_backfill.Reembedding:
        """Fill another embedding space; see :meth:`Database.reembed`."""
        from worlddb.reconciler.background import embedding_backfill
        from worlddb.reconciler.embedding.models import given_embedder

        limits.checked_callable(progress, "progress")
        name = None if space is None else limits.checked_text(space, "space", limits.MAX_NAME_BYTES, empty=False)
        done = embedding_backfill.reembed(
            writer, self._models, given_embedder(to), name, _checked_limit(limit), progress
        )
        self._reader.index_vectors()
        return done

    def recluster(
        self,
        writer: Writer,
        limit: int | None = None,
        tiebreaker: Tiebreaker | None = None,
        *,
        is_behind: bool = False,
        dry_run: bool = False,
    ) -> Reclustering:
        """Look again at who is who; see :meth:`Database.recluster`. ``is_behind``: only what is new."""
        from worlddb.reconciler.background.reclustering import recluster

        stopped = (lambda: False) if self.thread is None else self.thread.stopped
        done = recluster(
            writer,
            self._reader.meaning(),
            after=self._reclustered_through,
            limit=_checked_limit(limit),
            tiebreaker=limits.checked_callable(tiebreaker, "tiebreaker") or self._tiebreaker,
            stopped=stopped,
            is_behind=is_behind,
            dry_run=dry_run,
        )
        if not dry_run:
            self._reclustered_through = max(self._reclustered_through, done.through)
        return done

    def _recluster_too(self, writer: Writer, done: Consolidated) -> Consolidated:
        found = self.recluster(writer, dry_run=done.dry_run)
        return done._replace(
            proposals=(*done.proposals, *found.proposals),
            pairs=(*done.pairs, *found.pairs),
            events=done.events + found.events,
            commits=done.commits + found.commits,
        )

    def consolidate(
        self,
        writer: Writer,
        *,
        min_age: timedelta | float,
        summarizer: Summarizer | None = None,
        worlds: Sequence[Any] | None = None,
        close: Sequence[str] = CLOSED_TYPES,
        sweep: bool = True,
        dry_run: bool = False,
        limit: int | None = None,
        progress: Callable[[str, int, int], object] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> Consolidated:
        """Summarise worlds, infer edges and sweep; see :meth:`Database.consolidate`."""
        from worlddb.query.claims import claim_relation
        from worlddb.reconciler.consolidation import consolidator
        from worlddb.reconciler.consolidation.summarizer import ExtractiveSummarizer
        from worlddb.reconciler.dream import neighbours

        age, now = age_of(min_age), now_of(self._clock)
        if age is None:
            raise errors.InputError("min_age is None", "Give seconds or a timedelta; 0 for worlds of any age")
        view = self._view(valid=now)
        wanted = consolidator.ConsolidationRequest(
            now - age,
            now,
            limits.checked_callable(summarizer, "summarizer") or ExtractiveSummarizer(),
            _given_worlds(view, worlds),
            consolidator.closed_types(close, lambda name: self._is_type(view, name)),
            limits.checked_flag(sweep, "sweep"),
            limits.checked_flag(dry_run, "dry_run"),
            _checked_limit(limit),
            limits.checked_callable(progress, "progress"),
            limits.checked_callable(stopped, "stopped") or (lambda: False),
        )
        # Vectors come first, since summaries rest on them, and last, since summaries are texts too.
        embedded = self._embed_pending(writer, wanted.stopped, dry_run=wanted.dry_run) if wanted.sweep else 0
        stale = lambda: [world.ref for world in self._view(valid=now).stale()]  # noqa: E731
        near = partial(neighbours.near_duplicates, relate=claim_relation.relation_of)
        done = consolidator.consolidate(writer, wanted, stale, near)
        if wanted.sweep and not done.busy and not wanted.stopped():
            embedded += 0 if wanted.dry_run else self._embed_pending(writer, wanted.stopped)
            done = self._recluster_too(writer, done)
        if done.summaries and not wanted.dry_run:
            from worlddb.query.consolidation.fresh_summaries import judge_summaries

            judge_summaries(self._view(valid=now)._window)
        return done._replace(embedded=embedded)

    def _is_type(self, view: View, name: str) -> bool:
        """True of an edge type that is registered, or was registered when edges of it were written."""
        with self._reader.snapshot() as snapshot:
            return snapshot.tables.type_code(name) is not None or any(each.name == name for each in view.edge_types())

    def _embed_pending(self, writer: Writer, stopped: Callable[[], bool], *, dry_run: bool = False) -> int:
        """Embed texts without a vector if there is a model; returns how many got one, or would."""
        from worlddb.reconciler.background import embedding_backfill

        if not self._models.any:
            return 0
        if dry_run:
            return embedding_backfill.count_pending(writer)
        try:
            done = embedding_backfill.embed_pending(writer, self._models, None, None, stopped)
        except errors.UnavailableError:
            return 0  # Its model is not there: what else is to be done does not wait for it.
        self._reader.index_vectors()
        return done.embedded

    def enrich(
        self,
        writer: Writer,
        enricher: Enricher | None,
        *,
        worlds: Sequence[Any] | None,
        types: Sequence[str],
        before: int,
        after: int,
        limit: int | None,
        dry_run: bool,
        progress: Callable[[int, int], object] | None,
        stopped: Callable[[], bool] | None,
    ) -> Enriched:
        """Describe segments by what is around them; see :meth:`Database.enrich`."""
        from worlddb.enrichment.context_enricher import ContextEnricher
        from worlddb.reconciler.enrichment import enrichment_run

        now = now_of(self._clock)
        view = self._view(valid=now)
        named = [
            limits.checked_text(each, "a type", limits.MAX_TYPE_BYTES) for each in limits.checked_list(types, "types")
        ]
        wanted = enrichment_run.EnrichmentRequest(
            now,
            limits.checked_callable(enricher, "enricher") or ContextEnricher(),
            _given_worlds(view, worlds),
            tuple(named),
            (
                limits.checked_number(before, "before", 0, _MAX_AROUND),
                limits.checked_number(after, "after", 0, _MAX_AROUND),
            ),
            _checked_limit(limit),
            limits.checked_flag(dry_run, "dry_run"),
            limits.checked_callable(progress, "progress"),
            limits.checked_callable(stopped, "stopped") or (lambda: False),
        )
        done = enrichment_run.enrich(writer, wanted)
        if done.segments and not wanted.dry_run:
            self._embed_pending(writer, wanted.stopped)
        return done

    def dream(self, writer: Writer, assessor: Assessor | None = None, **wanted: Any) -> Dreamt:
        """Assess what changed since the last run, as :meth:`Database.dream` says, which has the arguments."""
        from worlddb.query.claims import claim_relation
        from worlddb.reconciler.dream import dreamer

        request = dreamer.checked_request(now_of(self._clock), assessor, claim_relation.relation_of, **wanted)
        return dreamer.dream(writer, request)

    def keep_up(self, writer: Writer, wait_seconds: float) -> bool:
        """Embed new texts and recluster now, or wait for the thread that does; true once both are done."""
        if self.thread is None:
            self.embed_and_recluster(writer)
            return True
        self.thread.nudge()
        return self.thread.wait(wait_seconds)

    def embed_and_recluster(self, writer: Writer) -> None:
        """Embed new texts if there is a model, and recluster, on the calling thread."""
        if self._models.any:
            self.embed(writer)
        self.recluster(writer)

    # -- the thread

    def _run_steps(self) -> bool:
        """Do on the thread what is due; false if another process is doing it."""
        assert self.thread is not None and self._schedule is not None, "the thread itself asks"
        writer, stopped = self._writer(), self.thread.stopped
        embedded = self._embed_on(self.thread, writer) if self._models.any else True
        return (
            not self.recluster(writer, is_behind=True).busy
            and embedded
            and self._consolidate_if_due(writer, self._schedule.min_age, stopped)
            and self._dream_if_due(writer, self._schedule.alarm, stopped)
        )

    def _embed_on(self, thread: BackgroundWorker, writer: Writer) -> bool:
        """Embed pending texts; false if another process is doing it."""
        from worlddb.reconciler.background import embedding_backfill

        through = self._reader.head()
        self._is_embedding = True
        thread.announce()
        try:
            done = embedding_backfill.embed_in_background(writer, self._models, thread.stopped)
            if done is not None:
                # As in `embed`, also where nothing was pending.
                self._reader.index_vectors()
                if not done.pending:
                    self._embedded_through = through
        finally:
            self._is_embedding = False
            thread.announce()
        return done is not None

    def _consolidate_if_due(self, writer: Writer, min_age: int | None, stopped: Callable[[], bool]) -> bool:
        """Consolidate if that is wanted and due; false if another process is doing it."""
        now = monotonic()
        is_due = self._consolidated_at is None or now - self._consolidated_at >= CONSOLIDATED_SECONDS
        if min_age is None or not is_due:
            return True
        done = self.consolidate(writer, min_age=timedelta(microseconds=min_age), stopped=stopped)
        self._consolidated_at = self._consolidated_at if done.busy else now
        return not done.busy

    def _dream_if_due(self, writer: Writer, alarm: DreamAlarm | None, stopped: Callable[[], bool]) -> bool:
        """Dream if that is due; false if another process is doing it."""
        if alarm is None:
            return True
        with self._reader.snapshot() as snapshot:
            log, head = snapshot.log, snapshot.log.head().seq
            is_due = alarm.is_due(
                monotonic(), head, lambda seq: sum(log.header(each).event_count for each in range(seq + 1, head + 1))
            )
        if not is_due:
            return True
        done = self.dream(writer, stopped=stopped)
        if not done.busy:
            alarm.ran(monotonic(), self._reader.head())
        return not done.busy

    def await_vectors(self, view: View, lanes: Any) -> bool:
        """Wait a moment until the thread has embedded the texts that this handle wrote last, for a recall in a view.

        True if they were embedded meanwhile: a view that is made again has them all.

        It waits only if the recall asks for meaning, if the view is not of before that commit, on either axis, and
        while the thread embeds. After one wait in vain there is none until the thread has caught up with that: it
        embeds a long backlog.
        """
        thread, (newest, written) = self.thread, self._awaited
        is_behind = self._embedded_through < self._awaited_in_vain
        if thread is None or not self._models.any or is_behind or self._embedded_through >= newest:
            return False
        if not isinstance(lanes, Collection) or "vector" not in lanes or view.seq < newest or view.valid < written:
            return False

        def is_embedded() -> bool:
            return self._embedded_through >= newest

        def is_at_it() -> bool:
            return self._is_embedding or not thread.is_busy

        until = monotonic() + VECTORS_SECONDS
        for _ in range(2):  # Again, if an earlier step of its ends meanwhile.
            # Most other steps are short, and those of a large store are not.
            thread.wait_until(lambda: is_embedded() or is_at_it(), OTHER_STEPS_SECONDS)
            if is_at_it():
                thread.wait_until(lambda: is_embedded() or not is_at_it(), max(0.0, until - monotonic()))
            if is_embedded() or is_at_it():
                break
        if not is_embedded():
            self._awaited_in_vain = newest
        return is_embedded()


def age_of(age: timedelta | float | None) -> int | None:
    """Microseconds of an age; nothing is one too."""
    if age is None or (age in (0, timedelta(0)) and not isinstance(age, bool)):
        return age if age is None else 0
    return times.parse_duration(age, "min_age")


def alarm_of(dream: DreamSchedule | int | None) -> DreamAlarm | None:
    """When to dream, from now on; ``None`` for never."""
    if dream is None:
        return None
    from worlddb.reconciler.dream import dream_schedule

    return dream_schedule.DreamAlarm(dream_schedule.checked(dream), monotonic())


def _checked_limit(limit: int | None) -> int | None:
    return None if limit is None else limits.checked_number(limit, "limit", 1, limits.HIGHEST_SEQ)


def _given_worlds(view: View, worlds: Sequence[Any] | None) -> tuple[bytes, ...]:
    """The worlds to which background work is limited; none if it is not."""
    given = () if worlds is None else limits.checked_list(worlds, "worlds")
    if worlds is not None and not given:
        raise errors.InputError("worlds is empty", "Name some, or leave it out for all")
    return tuple(bytes.fromhex(view._reference_to_write(each)) for each in given)
