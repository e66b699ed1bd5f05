"""Enrich due segments, in steps that may be killed at any point (Hydra DB §2.3).

It runs under the store's lease for background work. A step reads in one transaction, asks the enricher in none, and
writes in a commit of its own, whose author is ``worlddb.enrich``. What is done is not done again, so a run that was
killed is continued by the next, and one after a whole run writes nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply import log_marks
from worlddb.projections.tables.consolidation.interior_witness import ENRICH_AUTHOR
from worlddb.projections.tables.reads import asof
from worlddb.reconciler.background import reclustering, worker
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.consolidation.summaries import ReadState, interiors_at, scope_filter
from worlddb.reconciler.enrichment import enricher, enrichments
from worlddb.reconciler.pipeline import Writer, execute
from worlddb.reconciler.transaction import inputs

SEGMENTS_AT_ONCE: Final = 64
"""How many segments make one commit. With a model, each is committed singly, so that a kill wastes no answer."""


class Enriched(NamedTuple):
    """What was enriched, or with ``dry_run`` would be.

    ``segments`` are the references of those that got an enrichment. ``unsaid`` counts those that a free enricher had
    nothing to say of, ``left`` those that are due and were not done: for the ``limit``, since others changed them,
    since the run was ``stopped``, or since their enricher ``failed``: (reference, why) of the first 200. ``busy``:
    another process does background work, and nothing was done.
    """

    segments: tuple[str, ...] = ()
    unsaid: int = 0
    left: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    events: int = 0
    commits: int = 0
    dry_run: bool = False
    stopped: bool = False
    busy: bool = False


class EnrichmentRequest(NamedTuple):
    """The request of a run; ``around`` counts segments before and after, empty ``worlds`` mean all worlds."""

    valid: int
    enricher: enricher.Enricher
    worlds: tuple[bytes, ...]
    types: tuple[str, ...]
    around: tuple[int, int]
    limit: int | None
    dry_run: bool
    progress: Callable[[int, int], object] | None = None
    stopped: Callable[[], bool] = lambda: False


def enrich(writer: Writer, request: EnrichmentRequest) -> Enriched:
    """Enrich the segments that are due."""
    writer.env.refuse_replaced()
    if request.dry_run:
        return _Run(writer, request).run()
    with worker.background_lease(writer.env.folder) as leased:
        return _Run(writer, request).run() if leased else Enriched(busy=True)


class _Run:
    def __init__(self, writer: Writer, request: EnrichmentRequest) -> None:
        self._writer = writer._replace(author=ENRICH_AUTHOR, group=None)
        self._request = request
        given = request.enricher
        names = (getattr(given, each, None) for each in ("name", "__name__"))
        self._maker = next((name for name in names if isinstance(name, str)), type(given).__name__)
        self._is_free = getattr(given, "asks_a_model", True) is False
        self._done = Enriched(dry_run=request.dry_run)
        self._asking = worker.ModelCaller()

    def run(self) -> Enriched:
        with self._writer.env.read() as txn:
            read = self._read(txn)
            every = list(enrichments.runs(read.ctx.tables, read.moment, self._request.types))
            is_wanted = scope_filter(read.ctx, self._request.worlds, read.moment)
            request = [[place for place, node in enumerate(nodes) if is_wanted(node)] for nodes in every]
        total, looked = sum(map(len, request)), 0
        for nodes, places in zip(every, request, strict=True):
            for some in self._due_segments(nodes, places):
                size = SEGMENTS_AT_ONCE if self._is_free else 1
                while some and not self._request.stopped() and (batch_size := min(size, self._remaining())):
                    self._enrich_segments(some[:batch_size])
                    some = some[batch_size:]
                self._count_as_left(len(some))
            looked += len(places)
            if self._request.progress is not None:
                self._request.progress(looked, total)
        return self._done._replace(failed=self._asking.failed, stopped=self._request.stopped())

    def _read(self, txn: Any) -> ReadState:
        ctx, log = reclustering.read_context(self._writer, txn), LmdbLog(txn)
        moment = asof.Moment(log.head().seq, self._request.valid)
        return ReadState(ctx, moment, log_marks.secret_of(log), None, interiors_at(ctx.tables, moment))

    def _remaining(self) -> int:
        limit = self._request.limit
        return SEGMENTS_AT_ONCE if limit is None else max(limit - len(self._done.segments), 0)

    def _count_as_left(self, count: int) -> None:
        self._done = self._done._replace(left=self._done.left + count)

    def _due_segments(self, nodes: Sequence[int], places: Sequence[int]) -> Iterator[list[enrichments.Due]]:
        """The due segments among some places of a run, in the batches of one read transaction."""
        for start in range(0, len(places), SEGMENTS_AT_ONCE):
            with self._writer.env.read() as txn:
                asked = self._read(txn), nodes
                found = (
                    enrichments.due_enrichment(*asked, each, self._request.around, self._maker, is_free=self._is_free)
                    for each in places[start : start + SEGMENTS_AT_ONCE]
                )
                due = [each for each in found if each is not None]
            yield due  # The enricher may take long, so no transaction is open meanwhile.

    def _enrich_segments(self, segments: Sequence[enrichments.Due]) -> None:
        """Enrich some segments and store the answers; segments changed meanwhile are left to the next run."""
        if self._request.dry_run:
            self._count_as_enriched(each.segment.ref for each in segments)
            return
        commands: list[cmd.Command] = []
        answered: list[enrichments.Due] = []
        for each in segments:
            answer = self._ask_enricher(each)
            if answer is None:
                self._count_as_left(1)
            elif self._is_free and not each.own and not answer.lines and not answer.embedding_text:
                self._done = self._done._replace(unsaid=self._done.unsaid + 1)
            else:
                commands += enrichments.commands_of(each, answer, self._maker, len(commands))
                answered.append(each)
        if not answered:
            return
        look = inputs.Look(min(each.seq for each in answered), self._request.valid, enrichments.refs_of(answered))
        receipt = execute(self._writer, commands, None, None, look)
        if receipt:
            self._count_as_enriched(each.segment.ref for each in answered)
            self._done = self._done._replace(
                events=self._done.events + receipt.events, commits=self._done.commits + (receipt.events > 0)
            )
        elif len(answered) > 1:
            for each in answered:
                self._enrich_segments([each])
        else:
            self._count_as_left(1)
            if isinstance(receipt.outcome, outcome.Refused):
                self._asking.refuse(answered[0].segment.ref, str(receipt.outcome))

    def _count_as_enriched(self, refs: Iterator[str]) -> None:
        self._done = self._done._replace(segments=(*self._done.segments, *refs))

    def _ask_enricher(self, each: enrichments.Due) -> enricher.Enrichment | None:
        """The enricher's answer; ``None`` if it failed, or is no longer asked."""
        ask = partial(self._request.enricher, each.segment, each.window)
        return self._asking.answer(each.segment.ref, ask, partial(enricher.checked, window=each.window))
