"""The consolidator: closure, sweep and summaries, in steps that may be killed at any point (paper §6).

It runs under the store's lease for background work. A step reads in one transaction, calls a summarizer in none, and
writes a commit of its own, whose author is ``worlddb.consolidate``. Steps that are done already are skipped, so the
next run continues a killed one, and a run after a complete one writes nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors, hashing, ids, limits
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes import composed_vectors
from worlddb.projections.tables.apply import log_marks, mark_rows, settings
from worlddb.projections.tables.consolidation import interior_witness as witness
from worlddb.projections.tables.consolidation.interior_witness import AUTHOR
from worlddb.projections.tables.names.canonical import name_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema
from worlddb.reconciler.background import reclustering, worker
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.commands import outcome
from worlddb.reconciler.consolidation import closure, summaries
from worlddb.reconciler.consolidation.summarizer import ExtractiveSummarizer, Summarizer
from worlddb.reconciler.edge_types import relation_laws
from worlddb.reconciler.pipeline import Writer, execute
from worlddb.reconciler.transaction import context, inputs

NEVER_CLOSED: Final = frozenset({"contains", "same_as", "supersedes", "contradicts", "derived_from"})
"""Types that record an act or a decision, so that a path of several edges implies nothing."""
STALE: Final = "stale"
"""The label of worlds that rest on something that is no longer valid."""
MEMBERS_AT_ONCE: Final = 2_048
"""Near-duplicates are searched for in batches of about this many members, each with one commit of proposals."""
WORLDS_AT_ONCE: Final = 32
"""How many extractive summaries make one commit. Other summaries are committed singly, so that a kill wastes none."""
COMMANDS_AT_ONCE: Final = 256
MAX_ATTEMPTS: Final = 8
"""How often a step is retried after concurrent changes; the rest is left to the next run."""

Progress = Callable[[str, int, int], object]
"""Called with the current step, how much of it is done, and its total."""
Pairs = Iterable[tuple[int, int, str, float]]
FindNear = Callable[[context.Context, asof.Moment, Sequence[int]], Pairs]
"""Tells which members of some worlds say nearly the same: later world, earlier world, lane, how near they are."""


class Consolidated(NamedTuple):
    """What a consolidation did, or with ``dry_run`` would do first: later levels of summaries may follow.

    ``summaries`` are the references of those written; of a dry run those of the worlds that would get one. ``closed``
    and ``retracted`` count inferred edges, ``conflicts`` what is recorded of edges that compete. ``marked`` and
    ``unmarked`` count worlds that got the label ``stale``, or lost it. ``proposals`` are those of near-duplicates; of
    a dry run there are the ``pairs`` that would be proposed, (later, earlier). ``embedded`` counts texts. ``left``
    counts worlds that are due and were not done: for the ``limit``, since others changed them, since it was
    ``stopped``, or since their summarizer ``failed``: (reference, why) of the first 200. ``skipped`` are types with too
    many ways. ``busy``: another process is at it, and nothing was done.
    """

    summaries: tuple[str, ...] = ()
    closed: int = 0
    retracted: int = 0
    conflicts: int = 0
    marked: int = 0
    unmarked: int = 0
    embedded: int = 0
    proposals: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    left: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    skipped: tuple[str, ...] = ()
    events: int = 0
    commits: int = 0
    dry_run: bool = False
    stopped: bool = False
    busy: bool = False


class ConsolidationRequest(NamedTuple):
    """The request of a consolidation. Times are in microseconds; empty ``worlds`` mean all worlds."""

    created_by: int
    valid: int
    summarizer: Summarizer
    worlds: tuple[bytes, ...]
    close: tuple[str, ...]
    sweep: bool
    dry_run: bool
    limit: int | None
    progress: Progress | None = None
    stopped: Callable[[], bool] = lambda: False


def closed_types(close: Sequence[str], is_known: Callable[[str], bool]) -> tuple[str, ...]:
    """The edge types whose closure is inferred, each once.

    Raises:
        InputError: it is no list of types, or one of them is never inferred.
        UnknownEdgeType: the store has no such type.
    """
    given = limits.checked_list(close, "close")
    types = [limits.checked_text(each, "a type", limits.MAX_TYPE_BYTES, empty=False) for each in given]
    for name in types:
        if name in NEVER_CLOSED:
            raise errors.InputError(f"The type {name!r} is never inferred", "Leave it out of close")
        if not is_known(name):
            raise errors.UnknownEdgeType(
                f"close names the unknown edge type {errors.shown(name)}",
                "See the registered types with view.edge_types()",
            )
    return tuple(dict.fromkeys(types))


def consolidate(
    writer: Writer, request: ConsolidationRequest, stale_refs: Callable[[], Sequence[str]], find_near: FindNear
) -> Consolidated:
    """Run closure, sweep and summaries; vectors and proposals by names are not part of this.

    ``stale_refs`` lists the worlds that rest on what holds no more.
    """
    writer.env.refuse_replaced()
    if request.dry_run:
        return _Run(writer, request).run(stale_refs, find_near)
    with worker.background_lease(writer.env.folder) as leased:
        return _Run(writer, request).run(stale_refs, find_near) if leased else Consolidated(busy=True)


class _Run:
    def __init__(self, writer: Writer, request: ConsolidationRequest) -> None:
        self._writer = writer._replace(author=AUTHOR, group=None)
        self._request = request
        self._done = Consolidated(dry_run=request.dry_run)
        self._asks = not isinstance(request.summarizer, ExtractiveSummarizer)
        self._asking = worker.ModelCaller()
        self._interiors: tuple[int, witness.Interiors] | None = None
        """What worlds contain, as this step has read it, and the commit up to which only it has written since."""

    def run(self, stale_refs: Callable[[], Sequence[str]], find_near: FindNear) -> Consolidated:
        for type_name in self._request.close:
            self._step(f"closing {type_name}", partial(self._write_closure, type_name))
        if self._request.sweep:
            self._step("judging edges", self._record_conflicts)
        self._step("summing up", self._write_summaries)
        if self._request.sweep:
            self._step("marking stale worlds", partial(self._update_stale_labels, stale_refs))
            self._step("looking for near-duplicates", partial(self._propose_duplicates, find_near))
        return self._done._replace(failed=self._asking.failed, stopped=self._request.stopped())

    def _step(self, what: str, step: Callable[[Callable[[int, int], object]], None]) -> None:
        self._interiors = None
        if not self._request.stopped():
            report_progress = self._request.progress
            step(lambda done, total: None if report_progress is None else report_progress(what, done, total))

    def _read(self, txn: Any) -> summaries.ReadState:
        ctx = reclustering.read_context(self._writer, txn)
        log = LmdbLog(txn)
        space = asof.space_in_use(log, ctx.tables)
        anchors = None if space is None else composed_vectors.stored_anchors(log, ctx.tables, space.number)
        moment = asof.Moment(log.head().seq, self._request.valid)
        interiors, known = summaries.interiors_at(ctx.tables, moment), self._interiors
        if known is not None and known[0] == moment.seq:
            interiors.take_over(known[1])
        self._interiors = moment.seq, interiors
        return summaries.ReadState(ctx, moment, log_marks.secret_of(log), anchors, interiors)

    def _within(self, read: summaries.ReadState) -> Callable[[int], bool]:
        return summaries.scope_filter(read.ctx, self._request.worlds, read.moment)

    def _commit(self, commands: Sequence[cmd.Command], look: inputs.Look | None) -> outcome.Receipt:
        receipt = execute(self._writer, commands, None, None, look)
        if self._interiors is not None and receipt and receipt.events:
            # Summaries are no part of it; what others wrote meanwhile may be.
            through, interiors = self._interiors
            self._interiors = (receipt.seq, interiors) if receipt.seq == through + 1 else None
        if receipt:
            self._done = self._done._replace(
                events=self._done.events + receipt.events, commits=self._done.commits + (receipt.events > 0)
            )
        return receipt

    def _write(self, commands: Sequence[cmd.Command], report_progress: Callable[[int, int], object]) -> int:
        """Write commands in batches; returns how many were written. Commands that are refused alone are left out."""
        done = 0
        for start in range(0, len(commands), COMMANDS_AT_ONCE):
            if self._request.stopped():
                break
            some = commands[start : start + COMMANDS_AT_ONCE]
            if self._commit(some, None):
                done += len(some)
            else:
                done += sum(bool(self._commit([command], None)) for command in some)
            report_progress(start + len(some), len(commands))
        return done

    # -- closure

    def _write_closure(self, type_name: str, report_progress: Callable[[int, int], object]) -> None:
        try:
            with self._writer.env.read() as txn:
                read = self._read(txn)
                found = closure.closure_changes(read.ctx, type_name, self._within(read))
        except closure.TooManyPaths:
            self._done = self._done._replace(skipped=(*self._done.skipped, type_name))
            return
        before, retracted = self._done, len(found.obsolete)
        written = len(found.missing) + retracted
        if not self._request.dry_run:
            commands = found.commands()
            gone = self._write(commands[:retracted], report_progress) if retracted else 0
            made = self._write(commands[retracted:], report_progress)
            retracted, written = gone, made + gone
        self._done = self._done._replace(
            closed=before.closed + written - retracted, retracted=before.retracted + retracted
        )

    # -- the sweep

    def _record_conflicts(self, report_progress: Callable[[int, int], object]) -> None:
        """Record the conflicts of edges that are older than the registration of their type as functional."""
        with self._writer.env.read() as txn:
            read = self._read(txn)
            commands = list(_unrecorded_conflicts(read, self._within(read)))
        found = len(commands) if self._request.dry_run else self._write(commands, report_progress)
        self._done = self._done._replace(conflicts=self._done.conflicts + found)

    def _update_stale_labels(
        self, stale_refs: Callable[[], Sequence[str]], report_progress: Callable[[int, int], object]
    ) -> None:
        """Label worlds as stale that rest on something that is no longer valid, and unlabel those that no longer do."""
        stale = [bytes.fromhex(ref) for ref in stale_refs()]
        with self._writer.env.read() as txn:
            read = self._read(txn)
            ctx, scope_filter = read.ctx, self._within(read)
            labelled = dict(_stale_worlds(ctx))
            here = {
                lineage: node for lineage in stale if (node := ctx.tables.node_of(ids.Lineage(lineage))) is not None
            }
            gone = [lineage for lineage, node in labelled.items() if lineage not in here and scope_filter(node)]
            fresh = [
                lineage for lineage, node in here.items() if scope_filter(node) and not _is_labelled_stale(ctx, node)
            ]
        marks: list[cmd.Command] = [cmd.Unlabel(ref=each, labels=(STALE,), why="it is no more") for each in gone]
        marks += (cmd.Label(ref=each, labels=(STALE,), why="it rests on what holds no more") for each in fresh)
        if not self._request.dry_run:
            self._write(marks, report_progress)
        self._done = self._done._replace(marked=len(fresh), unmarked=len(gone))

    def _propose_duplicates(self, find_near: FindNear, report_progress: Callable[[int, int], object]) -> None:
        """Stage near-duplicates in the same container as proposals."""
        with self._writer.env.read() as txn:
            read = self._read(txn)
            groups = list(_containers_in_batches(read, self._within(read)))
        for number, containers in enumerate(groups, 1):
            if self._request.stopped():
                break
            for _ in range(MAX_ATTEMPTS):
                with self._writer.env.read() as txn:
                    read = self._read(txn)
                    mark = log_marks.reclustered_through(read.ctx.tables)
                    found = list(_pairs_to_stage(read.ctx, find_near(read.ctx, read.moment, containers)))
                if self._stage_pairs(found, mark):
                    break
            report_progress(number, len(groups))

    def _stage_pairs(self, found: Sequence[tuple[bytes, bytes, dict[str, Any]]], mark: int) -> bool:
        """Stage some pairs; false if a reclustering ran meanwhile, which may have proposed the same."""
        if self._request.dry_run:
            pairs = tuple((later.hex(), earlier.hex()) for later, earlier, _ in found)
            self._done = self._done._replace(pairs=(*self._done.pairs, *pairs))
            return True
        if not found:
            return True
        # It does not record progress of the reclustering, which compares names.
        receipt = self._commit([cmd.Recluster(after=mark, through=mark, items=tuple(found))], None)
        self._done = self._done._replace(proposals=(*self._done.proposals, *receipt.proposals))
        return bool(receipt.proposals)

    # -- summaries

    def _write_summaries(self, report_progress: Callable[[int, int], object]) -> None:
        with self._writer.env.read() as txn:
            read = self._read(txn)
            levels = list(summaries.levels_by_height(read.ctx.tables, read.moment, self._within(read)))
        total, looked = sum(map(len, levels)), 0
        size = 1 if self._asks else WORLDS_AT_ONCE
        for level in levels:
            for nodes in self._due_worlds(level):
                looked += len(nodes)
                while nodes and not self._request.stopped() and (batch_size := min(size, self._remaining())):
                    self._summarise(nodes[:batch_size])
                    nodes = nodes[batch_size:]
                    report_progress(looked - len(nodes), total)
                self._done = self._done._replace(left=self._done.left + len(nodes))
        report_progress(total, total)

    def _remaining(self) -> int:
        """How many more summaries the limit allows."""
        limit = self._request.limit
        return COMMANDS_AT_ONCE if limit is None else max(limit - len(self._done.summaries), 0)

    def _due_worlds(self, level: Sequence[int]) -> Iterator[list[int]]:
        """The worlds of a level that are due, in the batches of one read transaction."""
        for start in range(0, len(level), _WORLDS_PER_READ):
            with self._writer.env.read() as txn:
                read = self._read(txn)
                some = level[start : start + _WORLDS_PER_READ]
                found = [
                    node for node in some if summaries.due_summary(read, node, self._request.created_by) is not None
                ]
            yield found

    def _summarise(self, nodes: Sequence[int]) -> None:
        for _ in range(MAX_ATTEMPTS):
            with self._writer.env.read() as txn:
                read = self._read(txn)
                found = (summaries.due_summary(read, node, self._request.created_by) for node in nodes)
                some = [each for each in found if each is not None]
            if self._request.dry_run:
                new = (each.world.ref for each in some if each.members)
                self._done = self._done._replace(summaries=(*self._done.summaries, *new))
                return
            texts = [
                (each, text) for each in some if (text := self._ask_summarizer(each) if each.members else _NOTHING)
            ]
            if not texts:
                break
            commands: list[cmd.Command] = []
            own: list[int] = []
            for each, text in texts:
                if each.members:
                    own.append(len(commands))
                commands += summaries.commands_of(each, text, self._request.valid, self._name(), len(commands))
            look = inputs.Look(*read.moment, summaries.refs_of(each for each, _ in texts))
            receipt = self._commit(commands, look)
            if receipt:
                made = tuple(receipt.requested[at] for at in own)
                self._done = self._done._replace(
                    summaries=(*self._done.summaries, *made), left=self._done.left + len(some) - len(texts)
                )
                return
            if not receipt.is_outdated:
                if len(nodes) > 1:
                    for node in nodes:
                        self._summarise([node])
                    return
                self._asking.refuse(some[0].world.ref, str(receipt.outcome))
                break
        self._done = self._done._replace(left=self._done.left + len(some))

    def _name(self) -> str:
        given = self._request.summarizer
        names = (getattr(given, each, None) for each in ("name", "__name__"))
        return next((name for name in names if isinstance(name, str)), type(given).__name__)

    def _ask_summarizer(self, each: summaries.Due) -> str:
        """The summarizer's text; empty if it failed, or is no longer asked."""
        ask = partial(self._request.summarizer, each.world, each.members)
        return self._asking.answer(each.world.ref, ask, summaries.checked) or ""


_WORLDS_PER_READ: Final = 1_024
_NOTHING: Final = " "
"""The text for a world without members; no summarizer runs for it."""


def _containers_in_batches(read: summaries.ReadState, scope_filter: Callable[[int], bool]) -> Iterator[list[int]]:
    """The worlds with several members, in batches."""
    ctx, group, members = read.ctx, list[int](), 0
    for node in range(ctx.draft.applier.next_node):
        inside = len(ctx.targets(node, schema.CONTAINS)) if scope_filter(node) else 0
        if inside > 1:
            group.append(node)
            members += inside
        if members >= MEMBERS_AT_ONCE:
            yield group
            group, members = [], 0
    if group:
        yield group


def _pairs_to_stage(ctx: context.Context, found: Pairs) -> Iterator[tuple[bytes, bytes, dict[str, Any]]]:
    for later, earlier, lane, near in found:
        yield ctx.lineage(later), ctx.lineage(earlier), {"lane": lane, "near": near, "by": AUTHOR}


def _unrecorded_conflicts(read: summaries.ReadState, scope_filter: Callable[[int], bool]) -> Iterator[cmd.Link]:
    """Commands that record conflicts between edges of functional types; each conflict is recorded once, ever."""
    ctx = read.ctx
    tables = ctx.tables
    known = settings.registered(tables, ctx.draft.seq)
    for type_name in sorted({each.type for each in known if each.is_functional} - relation_laws.NEVER_FUNCTIONAL):
        code = tables.type_code(type_name)
        nodes = range(ctx.draft.applier.next_node)
        for place, row in () if code is None else tables.between(nodes, code, None):
            if row.unlinked != schema.LIVE or not scope_filter(row.home):
                continue
            scope = ctx.scopes.functional(type_name, row.home)
            if scope is None:
                continue
            edge = ctx.handled(place, row, type_name)
            for other, end, other_end, both in relation_laws.unrecorded_conflicts(ctx, ctx.scopes, edge, scope):
                key = f"{AUTHOR}/functional/{edge.id.hex()}/{other.id.hex()}/{both.start}/{both.end}"
                nonce = hashing.keyed(read.secret, hashing.KEYED_EDGE, key.encode())[: ids.NONCE_BYTES]
                if tables.place_of_key(nonce) is not None:
                    continue  # It was, and somebody has decided about it since.
                yield cmd.Link(
                    source_ref=ctx.lineage(end),
                    type="contradicts",
                    target_ref=ctx.lineage(other_end),
                    home=ctx.lineage(edge.home),
                    key=key,
                    properties={relation_laws.RELATION: type_name},
                    valid_from=both.start,
                    valid_to=None if both.is_open else both.end,
                    why=f"{type_name} became functional",
                )


def _stale_worlds(ctx: context.Context) -> Iterator[tuple[bytes, int]]:
    """The worlds that consolidation labelled as stale and that still have the label."""
    tables = ctx.tables
    digest = name_digest(STALE)
    holders: Iterable[tuple[int, int]] = mark_rows.holders(tables, mark_rows.LABELS, digest)
    for node, _ in list(holders):
        for _, row in mark_rows.names_of(tables, mark_rows.LABELS, node):
            ours = row.name == digest and row.removed == schema.LIVE
            if ours and ctx.draft.log.header(row.seq).author == AUTHOR:
                yield ctx.lineage(node), node


def _is_labelled_stale(ctx: context.Context, node: int) -> bool:
    seq = ctx.draft.head.seq
    return mark_rows.has_labels(ctx.tables, node, (name_digest(STALE),), seq)
