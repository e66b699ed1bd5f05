"""Dream State: judge memories touched since the last run, and deprecate those that are no longer worth reading.

It runs under the store's lease for background work. A run covers the commits up to the one at which it began. Memories
are judged in batches, outside of any transaction, and each batch of judgements is a commit. Then the guards choose the
actions, these are applied in batches, and at last the report is written with the run's cursor. Each step detects what
is done already, so a run that was killed at any point is continued by the next one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import floor, isfinite
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.model import blobs, codec, errors, ids, limits
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.apply import mark_rows
from worlddb.projections.tables.dream import retention
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema
from worlddb.reconciler.background import reclustering, worker
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.dream import assessor, dream_log, neighbours
from worlddb.reconciler.dream.dream_log import AUTHOR, JudgedMemory, Report
from worlddb.reconciler.pipeline import Writer, execute
from worlddb.reconciler.transaction import context, inputs

LOOKED_AT_ONCE: Final = 1_024
"""How many memories one read transaction loads, at least a batch."""
DONE_AT_ONCE: Final = 32
"""The actions on this many memories are one commit."""
MAX_TOLD: Final = 200

Progress = Callable[[str, int, int], object]


class Dreamt(NamedTuple):
    """What a run of Dream State did, or with ``dry_run`` would do; ``report`` is the reference of its report.

    ``seen`` counts the events since the last run, ``assessed`` the memories that were judged. ``deprecated``,
    ``labelled``, ``updated`` and ``related`` are the references of those that were put out of sight, got labels or
    metadata, or were joined to others. ``held_back`` are those that the breaker, which ``tripped``, kept in sight;
    ``halted``: nothing was done for that. ``protected`` counts those that are pinned or published and were left alone.
    ``failed`` are (reference, why) of what was refused; one with an empty reference says why the assessor said
    nothing. ``left`` counts memories that are due and were not judged. ``busy``: another process is at it.
    """

    report: str = ""
    seen: int = 0
    assessed: int = 0
    deprecated: tuple[str, ...] = ()
    labelled: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    protected: int = 0
    tripped: bool = False
    halted: bool = False
    failed: tuple[tuple[str, str], ...] = ()
    left: int = 0
    events: int = 0
    commits: int = 0
    dry_run: bool = False
    stopped: bool = False
    busy: bool = False


class DreamRequest(NamedTuple):
    """The request of a run. ``valid`` is its valid time, ``ratio`` the share that may be deprecated."""

    valid: int
    assessor: assessor.Assessor
    dry_run: bool
    batch_size: int
    ratio: Fraction
    allow_published: bool
    halt: bool
    decay: retention.Decay | None
    relate: neighbours.Relate
    progress: Progress | None
    stopped: Callable[[], bool]


def checked_request(
    valid: int,
    judge: assessor.Assessor | None,
    relate: neighbours.Relate,
    *,
    dry_run: bool = False,
    batch_size: int = 20,
    max_deprecation_ratio: float = 0.5,
    allow_published: bool = False,
    halt: bool = False,
    decay: retention.Decay | None = None,
    progress: Progress | None = None,
    stopped: Callable[[], bool] | None = None,
) -> DreamRequest:
    """A request by the arguments of ``Database.dream``.

    Raises:
        InputError: one of them is not what it should be.
    """
    return DreamRequest(
        valid,
        limits.checked_callable(judge, "assessor") or assessor.RuleAssessor(),
        limits.checked_flag(dry_run, "dry_run"),
        limits.checked_number(batch_size, "batch_size", 1, limits.MAX_LISTED),
        _checked_ratio(max_deprecation_ratio),
        limits.checked_flag(allow_published, "allow_published"),
        limits.checked_flag(halt, "halt"),
        None if decay is None else retention.checked_decay(decay),
        relate,
        limits.checked_callable(progress, "progress"),
        limits.checked_callable(stopped, "stopped") or (lambda: False),
    )


def _checked_ratio(given: object) -> Fraction:
    """A share from 0.1 to 0.9, as an exact fraction.

    Raises:
        InputError: it is something else.
    """
    is_number = isinstance(given, int | float) and not isinstance(given, bool) and isfinite(given)
    found = Fraction(str(given)) if is_number else None
    if found is None or not Fraction("0.1") <= found <= Fraction("0.9"):
        raise errors.InputError(
            f"max_deprecation_ratio is {errors.shown(given)}", "Give the share that may be deprecated, from 0.1 to 0.9"
        )
    return found


def dream(writer: Writer, request: DreamRequest) -> Dreamt:
    """Continue an unfinished run, if there is one, and judge the memories touched since the last run."""
    writer.env.refuse_replaced()
    if request.dry_run:
        return _Run(writer, request).run()
    with worker.background_lease(writer.env.folder) as leased:
        if not leased:
            return Dreamt(busy=True)
        run = _Run(writer, request)
        done = run.run()
        if run.continued and not (done.stopped or done.halted or done.failed):
            # What was touched since the one that was killed began has a report of its own.
            further = _Run(writer, request).run()
            if further.report or further.left:
                return further._replace(events=done.events + further.events, commits=done.commits + further.commits)
        return done


class _DueRun(NamedTuple):
    """The scope of a run: the unfinished report, the last finished one, and the worlds touched since.

    It looks from a cursor on, up to a commit.
    """

    report: Report | None
    ended: Report | None
    start: dream_log.Cursor
    through: int
    touched: dict[int, int]
    seen: int


class _MemoryBatch(NamedTuple):
    """A batch of memories to judge, with their worlds and versions, as of a moment."""

    memories: list[assessor.AssessedMemory]
    versions: list[tuple[int, int]]
    moment: asof.Moment

    def look(self, places: Iterable[int]) -> inputs.Look:
        """What is kept of some of them may rest on no text, theirs or one beside them, that is erased by then."""
        shown = [self.memories[at] for at in places]
        refs = dict.fromkeys(ref for each in shown for ref in (each.ref, *(one.ref for one in each.neighbours)))
        return inputs.Look(*self.moment, only_these=True, texts=tuple(map(bytes.fromhex, refs)))


class _Action(NamedTuple):
    """A planned action on a memory: its kind and its command."""

    kind: str
    node: int
    ref: str
    command: cmd.Command


class _Plan(NamedTuple):
    """The actions that the guards allow: deprecations, those that the breaker holds back, and enrichments."""

    judged: tuple[JudgedMemory, ...]
    deprecated: tuple[JudgedMemory, ...]
    held_back: tuple[JudgedMemory, ...]
    enriched: tuple[JudgedMemory, ...]


class _Run:
    def __init__(self, writer: Writer, request: DreamRequest) -> None:
        self._writer = writer._replace(author=AUTHOR, group=None)
        self._request = request
        self._known: neighbours.Known = {}
        self._events = self._commits = self._protected = 0
        self._failed: dict[tuple[str, str], None] = {}
        self.continued = False

    def run(self) -> Dreamt:
        """Judge, guard, act and report."""
        due = self._find_due()
        self.continued = due.report is not None
        nodes, touched = self._memories_to_judge(due)
        done = Dreamt(seen=due.seen)
        if not nodes and not self.continued:
            return self._finished(done)
        judged, report, is_whole = self._judge_memories(due, nodes)
        judged_nodes = {each.node for each in judged}
        unjudged = [] if is_whole else [node for node in nodes if node not in judged_nodes]
        done = done._replace(left=len(unjudged), assessed=len(judged))
        if self._request.stopped() or (report is None and not judged):
            return self._finished(done)
        with self._writer.env.read() as txn:
            ctx, moment = self._read(txn)
            plan = self._plan_actions(
                ctx, moment, judged if report is None else dream_log.judgements_in(ctx, report.node)
            )
        planned_refs, held_back_refs = ([each.said.ref for each in some] for some in (plan.deprecated, plan.held_back))
        done = done._replace(assessed=len(plan.judged), held_back=tuple(held_back_refs), tripped=bool(held_back_refs))
        if done.tripped and self._request.halt:
            return self._finished(done._replace(halted=True))
        changed_refs = self._apply(plan)
        deprecated, labelled, updated, related = (tuple(refs) for refs in changed_refs.values())
        done = done._replace(deprecated=deprecated, labelled=labelled, updated=updated, related=related)
        assert self._failed or self._request.stopped() or len(done.deprecated) == len(planned_refs), (
            "nothing is left out unsaid"
        )
        if report is None or self._request.stopped():
            return self._finished(done)
        first = next((node for node in unjudged if touched[node]), None)
        cursor = (due.through + 1, -1) if first is None else max((touched[first], first - 1), due.start)
        return self._finished(self._report(report, plan, done, cursor))

    def _finished(self, done: Dreamt) -> Dreamt:
        return done._replace(
            failed=tuple(self._failed)[:MAX_TOLD],
            events=self._events,
            commits=self._commits,
            protected=self._protected,
            dry_run=self._request.dry_run,
            stopped=self._request.stopped(),
        )

    def _report_progress(self, what: str, done: int, total: int) -> None:
        if self._request.progress is not None:
            self._request.progress(what, done, total)

    def _read(self, txn: Any) -> tuple[context.Context, asof.Moment]:
        ctx = reclustering.read_context(self._writer, txn)
        log = ctx.draft.log
        head = log.head().seq
        # Commits are later than the clock where that stands still: what the last one wrote holds here, too.
        return ctx, asof.Moment(head, max(self._request.valid, log.header(head).ingest_time))

    # -- what is due

    def _find_due(self) -> _DueRun:
        with self._writer.env.read() as txn:
            ctx, _ = self._read(txn)
            log = LmdbLog(txn)
            report, ended = dream_log.last_reports(ctx, log)
            start, through = (0, -1), log.head().seq
            if report is not None:
                start, through = report.start, report.through
            elif ended is not None and ended.cursor is not None:
                start = ended.cursor
            touched, seen = dream_log.worlds_touched_since(log, ctx.tables, start, through)
            return _DueRun(report, ended, start, through, touched, seen)

    def _memories_to_judge(self, due: _DueRun) -> tuple[list[int], dict[int, int]]:
        """The memories to judge, in order, and the last commit that touched each.

        Memories that the breaker held back are judged again only together with others, or if the ratio has changed.
        """
        with self._writer.env.read() as txn:
            ctx, moment = self._read(txn)
            reach = neighbours.MemoryNeighbourhood(ctx, moment, self._request.relate, self._known)
            touched = {node: seq for node, seq in due.touched.items() if reach.memory(node) is not None}
            held_back = self._held_back_by_breaker(ctx, due, reach)
            if self._request.decay is not None:
                faded = (node for node in self._hidden_by_decay(ctx, reach, moment) if node not in held_back)
                touched = dict.fromkeys(faded, 0) | touched
            ratio = str(self._request.ratio) if due.report is None else due.report.ratio
            if held_back and (touched or (due.ended is not None and due.ended.ratio != ratio)):
                touched = dict.fromkeys(sorted(held_back), 0) | touched
            unprotected = {node: seq for node, seq in touched.items() if not self._is_protected(ctx, node, moment.seq)}
            self._protected = len(touched) - len(unprotected)
            report = due.report
            known = set() if report is None else {each.node for each in dream_log.judgements_in(ctx, report.node)}
            return sorted(unprotected.keys() - known, key=lambda node: (unprotected[node], node)), unprotected

    def _held_back_by_breaker(
        self, ctx: context.Context, due: _DueRun, reach: neighbours.MemoryNeighbourhood
    ) -> set[int]:
        """The memories that the last run held back from deprecation and that are unchanged and visible."""
        if due.ended is None:
            return set()
        said = (each for each in dream_log.judgements_in(ctx, due.ended.node) if each.said.deprecate)
        return {each.node for each in said if (shown := reach.memory(each.node)) and shown.seen.number == each.version}

    def _hidden_by_decay(
        self, ctx: context.Context, reach: neighbours.MemoryNeighbourhood, moment: asof.Moment
    ) -> Iterator[int]:
        for node in range(schema.ROOT_NODE + 1, ctx.tables.progress().next_node):
            if reach.memory(node) is not None and self._retention_of(ctx, reach, node, moment).tier == "hidden":
                yield node

    def _retention_of(
        self, ctx: context.Context, reach: neighbours.MemoryNeighbourhood, node: int, moment: asof.Moment
    ) -> retention.Retained:
        shown = reach.memory(node)
        assert shown is not None, "asked of memories"
        importance = ctx.properties_of(node, shown.seen.number).get(retention.IMPORTANCE)
        decay = self._request.decay or retention.Decay()
        return retention.retention_of(ctx.tables, node, shown.seen, importance, moment, decay)

    def _is_protected(self, ctx: context.Context, node: int, seq: int) -> bool:
        if mark_rows.is_pinned(ctx.tables, node, seq):
            return True
        return not self._request.allow_published and retention.is_published(ctx.tables, node, seq)

    # -- judging

    def _judge_memories(self, due: _DueRun, nodes: list[int]) -> tuple[list[JudgedMemory], Report | None, bool]:
        """Judge memories and store the judgements; false if the assessor failed or the run was stopped."""
        judged: list[JudgedMemory] = []
        report, done, is_whole = due.report, 0, True
        for batch in self._memory_batches(nodes):
            if self._request.stopped():
                return judged, report, False
            try:
                assessments = self._assess(batch.memories)
            except Exception as error:  # A caller's assessor may raise anything.
                self._failed["", str(error) or type(error).__name__] = None
                return judged, report, False
            batch_judgements = [
                JudgedMemory(node, version, each, due.touched.get(node, 0))
                for (node, version), each in zip(batch.versions, assessments, strict=True)
            ]
            done += len(batch_judgements)
            if not self._request.dry_run:
                report, written = self._write_judgements(due, report, batch_judgements, batch)
                is_whole, batch_judgements = is_whole and len(written) == len(batch_judgements), written
            judged += batch_judgements
            self._report_progress("judging", done, len(nodes))
        return judged, report, is_whole

    def _assess(self, memories: Sequence[assessor.AssessedMemory]) -> list[assessor.Assessment]:
        """The assessments of memories; faded ones are deprecated even if the assessor would keep them."""
        said = assessor.checked(self._request.assessor(memories), memories)
        decay = self._request.decay
        if decay is None:
            return said
        return [
            each
            if each.deprecate or decay.tier(memory.retention) != "hidden"
            else each._replace(deprecate=True, reason=f"{assessor.FADED}: it is old and was not used")
            for each, memory in zip(said, memories, strict=True)
        ]

    def _memory_batches(self, nodes: list[int]) -> Iterator[_MemoryBatch]:
        """The memories in batches, which are read lazily."""
        size = self._request.batch_size
        at_once = max(LOOKED_AT_ONCE // size, 1) * size
        for start in range(0, len(nodes), at_once):
            with self._writer.env.read() as txn:
                ctx, moment = self._read(txn)
                reach = neighbours.MemoryNeighbourhood(ctx, moment, self._request.relate, self._known)
                some = [node for node in nodes[start : start + at_once] if reach.memory(node) is not None]
                found = [self._shown(ctx, reach, node, moment) for node in some]
                versions = [(node, _shown(reach, node).seen.number) for node in some]
            for first in range(0, len(found), size):
                yield _MemoryBatch(found[first : first + size], versions[first : first + size], moment)

    def _shown(
        self, ctx: context.Context, reach: neighbours.MemoryNeighbourhood, node: int, moment: asof.Moment
    ) -> assessor.AssessedMemory:
        seen, body = _shown(reach, node)
        retained = self._retention_of(ctx, reach, node, moment)
        since = ctx.tables.node(node).t_create if seen.validity.start < 0 else seen.validity.start
        return assessor.AssessedMemory(
            ctx.lineage(node).hex(),
            body.type,
            body.name,
            body.content,
            seen.validity.start,
            moment.valid - since,
            retained.accesses,
            retained.retention,
            _has_lost_all_sources(ctx, node, moment),
            tuple(_labels(ctx, node)),
            reach.of(node),
        )

    def _write_judgements(
        self, due: _DueRun, report: Report | None, some: Sequence[JudgedMemory], batch: _MemoryBatch
    ) -> tuple[Report, list[JudgedMemory]]:
        """Store judgements of some memories, and before the first ones begin the report.

        A judgement whose texts were erased meanwhile is not stored.
        """
        begin_commands: list[cmd.Command] = []
        with self._writer.env.read() as txn:
            ctx, _ = self._read(txn)
            home = dream_log.home_of(ctx, LmdbLog(txn))
            worlds = [ctx.lineage(each.node) for each in some]
            if report is None:
                number = 1 if home is None else 1 + len(ctx.targets(home, schema.CONTAINS))
                around = None if home is None else ctx.lineage(home)
                begin_commands = dream_log.begin_commands(
                    number, due.start, due.through, str(self._request.ratio), around
                )
            at: cmd.Ref = len(begin_commands) - 1 if report is None else ctx.lineage(report.node)
        said = [dream_log.judgement_command(at, world, each) for world, each in zip(worlds, some, strict=True)]
        if self._refusal_of([*begin_commands, *said], batch.look(range(len(some)))) is None:
            return report or self._current_report(), list(some)
        if begin_commands:
            self._commit(begin_commands).raise_if_refused()
        report = report or self._current_report()
        written: list[JudgedMemory] = []
        for at, (each, world) in enumerate(zip(said, worlds, strict=True)):
            command = msgspec.structs.replace(each, source_ref=report.ref, home=report.ref)
            why = self._refusal_of([command], batch.look([at]))
            if why is not None:
                self._failed[world.hex(), why] = None
            else:
                written.append(some[at])
        return report, written

    def _current_report(self) -> Report:
        with self._writer.env.read() as txn:
            ctx, _ = self._read(txn)
            report, _ = dream_log.last_reports(ctx, LmdbLog(txn))
        assert report is not None, "it was begun"
        return report

    # -- guarding

    def _plan_actions(self, ctx: context.Context, moment: asof.Moment, judged: Any) -> _Plan:
        """Choose the actions: none on protected or changed memories, no more deprecations than the breaker allows."""
        reach = neighbours.MemoryNeighbourhood(ctx, moment, self._request.relate, self._known)
        every = tuple(judged)
        known = [each for each in every if self._may_touch(ctx, reach, each, moment)]
        condemned = sorted(
            (each for each in known if each.said.deprecate), key=lambda each: (each.said.relevance, each.node)
        )
        most = floor(self._request.ratio * len(every))
        gone = {each.node for each in condemned[:most]}
        enriched = tuple(each for each in known if not each.said.deprecate)
        return _Plan(every, tuple(each for each in known if each.node in gone), tuple(condemned[most:]), enriched)

    def _may_touch(
        self, ctx: context.Context, reach: neighbours.MemoryNeighbourhood, each: JudgedMemory, moment: asof.Moment
    ) -> bool:
        """False if a memory is protected or has changed since; what this run has done already stays planned."""
        if self._is_protected(ctx, each.node, moment.seq):
            return False
        tables = ctx.tables
        ours = next(iter(reversed(list(mark_rows.deprecations(tables, each.node)))), None)
        if ours is not None and ours.is_set:
            return ctx.draft.log.header(ours.seq).author == AUTHOR
        shown = reach.memory(each.node)
        if shown is None:
            return False
        return shown.seen.number == each.version or ctx.draft.log.header(shown.seen.row.seq).author == AUTHOR

    # -- acting

    def _apply(self, plan: _Plan) -> dict[str, dict[str, None]]:
        """Apply a plan in batches; returns the references by kind of action."""
        acted: dict[str, dict[str, None]] = {"deprecated": {}, "labelled": {}, "updated": {}, "related": {}}
        gone = {each.node for each in plan.deprecated}
        every = (*plan.deprecated, *plan.enriched)
        for start in range(0, len(every), DONE_AT_ONCE):
            if self._request.stopped():
                break
            some = every[start : start + DONE_AT_ONCE]
            with self._writer.env.read() as txn:
                ctx, moment = self._read(txn)
                actions = [action for each in some for action in self._actions_for(ctx, each, gone, moment)]
                undone = [action for action in actions if not _is_already_applied(ctx, action)]
                look = self._look(ctx, moment, {action.node for action in undone})
            refused = set() if self._request.dry_run or not undone else self._apply_actions(undone, look)
            for action in actions:
                if id(action) not in refused:
                    acted[action.kind][action.ref] = None
            self._report_progress("acting", start + len(some), len(every))
        return acted

    def _look(self, ctx: context.Context, moment: asof.Moment, nodes: set[int]) -> inputs.Look:
        refs = tuple(ctx.lineage(node) for node in sorted(nodes))
        return inputs.Look(*moment, refs, free=refs, published=self._request.allow_published)

    def _apply_actions(self, actions: Sequence[_Action], look: inputs.Look) -> set[int]:
        """Apply actions as one commit, or, if that is refused, one by one; returns those that were refused."""
        if self._refusal_of([each.command for each in actions], look) is None:
            return set()
        refused: set[int] = set()
        for each in actions:
            with self._writer.env.read() as txn:
                ctx, moment = self._read(txn)
                ref = ctx.lineage(each.node)
                again = self._look(ctx, moment, {each.node})
            why = self._refusal_of([each.command], again)
            if why is not None:
                self._failed[ref.hex(), why] = None
                refused.add(id(each))
        return refused

    def _refusal_of(self, commands: Sequence[cmd.Command], look: inputs.Look | None = None) -> str | None:
        """The reason why commands were refused; ``None`` if they were committed."""
        try:
            receipt = self._commit(commands, look)
        except errors.InputError as error:
            return error.message
        return None if receipt else str(receipt.outcome)

    def _commit(self, commands: Sequence[cmd.Command], look: inputs.Look | None = None) -> outcome.Receipt:
        receipt = execute(self._writer, commands, None, None, look)
        if receipt:
            self._events += receipt.events
            self._commits += receipt.events > 0
        return receipt

    def _actions_for(
        self, ctx: context.Context, judged: JudgedMemory, deprecated_nodes: set[int], moment: asof.Moment
    ) -> Iterator[_Action]:
        ref, assessment = ctx.lineage(judged.node), judged.said
        if judged.node in deprecated_nodes:
            yield _Action("deprecated", judged.node, assessment.ref, cmd.Deprecate(ref=ref, why=assessment.reason))
            return
        if assessment.tags:
            yield _Action("labelled", judged.node, assessment.ref, cmd.Label(ref=ref, labels=assessment.tags))
        current = ctx.properties_of(judged.node, ctx.tables.node(judged.node).versions)
        texts = {name: text for name, text in assessment.metadata.items() if isinstance(current.get(name, ""), str)}
        if texts:
            yield _Action("updated", judged.node, assessment.ref, cmd.Revise(ref=ref, properties=current | texts))
        for other, kind in assessment.related:
            node = ctx.tables.node_of(ids.Lineage(bytes.fromhex(other)))
            if node is not None and node not in deprecated_nodes and not self._is_protected(ctx, node, moment.seq):
                key = f"{AUTHOR}/{kind}/{ref.hex()}/{other}"
                target = ctx.lineage(node)
                yield _Action(
                    "related",
                    judged.node,
                    assessment.ref,
                    cmd.Link(source_ref=ref, type=kind, target_ref=target, key=key),
                )

    # -- reporting

    def _report(self, report: Report, plan: _Plan, done: Dreamt, cursor: dream_log.Cursor) -> Dreamt:
        """Write the text and the cursor of a report: the last step of a run."""
        contents = dream_log.ReportContents(
            report.number,
            done.seen,
            done.assessed,
            done.left,
            self._protected,
            str(float(self._request.ratio)),
            floor(self._request.ratio * len(plan.judged)),
            {each.said.ref: each.said for each in plan.judged},
            {kind: getattr(done, kind) for kind in ("deprecated", "held_back", "labelled", "updated", "related")},
            tuple(self._failed),
            cursor,
            _name(self._request.assessor),
            allow_published=self._request.allow_published,
        )
        properties: dict[str, Any] = {
            "number": report.number,
            "start": list(report.start),
            "through": report.through,
            "ratio": str(self._request.ratio),
            "cursor": list(cursor),
        }
        source = {"by": AUTHOR, "assessor": _name(self._request.assessor)}
        revision = cmd.Revise(
            ref=report.ref, content=dream_log.report_markdown(contents), properties=properties, source=source
        )
        self._commit([revision]).raise_if_refused()
        return done._replace(report=report.ref.hex())


def _shown(reach: neighbours.MemoryNeighbourhood, node: int) -> neighbours.VisibleMemory:
    found = reach.memory(node)
    assert found is not None, "asked of memories"
    return found


def _name(given: assessor.Assessor) -> str:
    names = (getattr(given, each, None) for each in ("name", "__name__"))
    return next((name for name in names if isinstance(name, str)), type(given).__name__)


def _labels(ctx: context.Context, node: int) -> Iterator[str]:
    for _, row in mark_rows.names_of(ctx.tables, mark_rows.LABELS, node):
        if row.removed == schema.LIVE:
            stored = ctx.draft.log.blob(row.seq, row.details)
            found = None if stored is None else codec.decode_blob(stored, row.seq)
            if isinstance(found, blobs.Details):
                yield found.aliases[row.position]


def _has_lost_all_sources(ctx: context.Context, node: int, moment: asof.Moment) -> bool:
    """True if a memory was derived from others and none of them is valid any more."""
    bases = [target for name in ("derived_from", "created_from") for target in ctx.targets(node, name)]
    return bool(bases) and all(asof.version_at(ctx.tables, each, moment) is None for each in bases)


def _is_already_applied(ctx: context.Context, action: _Action) -> bool:
    """True if an action was done before or changes nothing, so that it needs no write."""
    command, node, seq = action.command, action.node, ctx.draft.head.seq
    match command:
        case cmd.Deprecate():
            return mark_rows.is_deprecated(ctx.tables, node, seq)
        case cmd.Label():
            return mark_rows.has_labels(ctx.tables, node, [name_digest(each) for each in command.labels], seq)
        case cmd.Revise():
            return ctx.properties_of(node, ctx.tables.node(node).versions) == command.properties
        case cmd.Link(target_ref=bytes() as target):
            return any(ctx.lineage(each) == target for each in ctx.targets(node, command.type))
        case _:
            return False
