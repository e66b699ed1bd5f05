"""Reclustering: run the resolver again on worlds around new facts (paper §3.2).

It runs in the background, under the store's lease, and delays no commit. It collects the worlds that new commits
changed, with their neighbourhoods, in one read transaction, judges them in none, and stages proposals in a commit of
its own, whose author is :data:`AUTHOR`. Texts are compared by their stored vectors; the comparison before a write is in
:mod:`worlddb.reconciler.decisions.model_evidence`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from worlddb.log.model import blobs, codec
from worlddb.log.model import events as ev
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes.vector_rows import whole_text
from worlddb.projections.tables.apply.log_marks import reclustered_through
from worlddb.projections.tables.consolidation.interior_witness import SUMMARY_TYPE
from worlddb.projections.tables.forks.fork_rows import first_of
from worlddb.projections.tables.names import blocks, canonical
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.background.worker import background_lease
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.embedding import vectors_of_texts
from worlddb.reconciler.entity_resolution import equivalence, namesakes, resolver
from worlddb.reconciler.pipeline import Writer, execute
from worlddb.reconciler.similarity.verdict import Ambiguous, Resolved, Tiebreaker, judge
from worlddb.reconciler.transaction import context, interiors
from worlddb.reconciler.transaction.draft import Draft, FreshNonces

HOPS: Final = 2

MAX_NEIGHBOURS: Final = 2_000
"""How many worlds of one scope a neighbourhood of one commit may have, including the changed worlds."""

MAX_EDGES: Final = 64
"""Worlds with more edges are not passed through: not all members of a conversation are near to each other."""

_FEW_ENDS: Final = 3
"""Worlds with at most this many edges are not remembered as followed, since following them again is as fast."""

MAX_LEVELS: Final = 8
"""So many containers above what is new its neighbours are looked for."""

_NON_ENTITY_TYPES: Final = frozenset(map(canonical.type_digest, blocks.UNNAMED_TYPES)) | {
    canonical.NO_TYPE,
    SUMMARY_TYPE,
}
_REPEATING: Final = {schema.CONTAINS: 1, "derived_from": 0}
"""By which edges a summary is tied to what it repeats, and which end of them it is: the source is 0."""
_ABOUT_ONE: Final = (ev.Created, ev.Revised, ev.Named, ev.Unnamed, ev.Embedded, ev.Filled)


class ChangedWorlds(NamedTuple):
    """Worlds that lie around what commits say something new about, and the last of the commits.

    The worlds are in the order of the commits, those of one commit in log order.
    """

    nodes: tuple[int, ...]
    through: int


class VisitedWorlds(NamedTuple):
    """What one run has visited: worlds, and pairs (scope, world) whose edges in the scope were all followed."""

    worlds: set[int]
    ends: set[tuple[int, int]]


def changed_worlds(
    ctx: context.Context, after: int, head: int, most: int, looked_at: VisitedWorlds | None = None
) -> ChangedWorlds:
    """Find the worlds that the commits after ``after`` changed, with their neighbourhoods.

    Whole commits are read, until about ``most`` worlds are changed or :data:`MAX_NEIGHBOURS` are found. The
    neighbourhood of each commit has a bound of its own, so other commits do not displace it. Worlds in ``looked_at``
    are left out: they were compared as of ``head`` already.
    """
    reached_nodes: dict[int, None] = {}
    done = VisitedWorlds(set(), set()) if looked_at is None else looked_at
    neighbourhoods = Neighbourhoods(ctx, done.ends)
    changed = 0
    through = after
    for through in range(after + 1, head + 1):
        news: dict[int, dict[int, None]] = {}
        changed_nodes: set[int] = set()
        for event in ctx.draft.log.events(through).events:
            event_worlds, about = _worlds_in_event(ctx, event)
            changed_nodes.update(event_worlds)
            for scope in neighbourhoods.common_containers(about) if event_worlds else ():
                news.setdefault(scope, {}).update(dict.fromkeys(event_worlds))
        near = {node for scope in news for node in neighbourhoods.neighbourhood(scope, news[scope])}
        reached_nodes |= dict.fromkeys(sorted(near - done.worlds))
        changed += len(changed_nodes)
        if changed >= most or len(reached_nodes) >= MAX_NEIGHBOURS:
            break
    done.worlds.update(reached_nodes)
    return ChangedWorlds(tuple(reached_nodes), through)


def _worlds_in_event(ctx: context.Context, event: ev.Event) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The worlds that an event changes, and the worlds that a view has to contain in order to see the event.

    A summary repeats what its world contains, so it changes nothing.
    """
    if isinstance(event, _ABOUT_ONE):
        about = _nodes_of(ctx, event.lineage)
        return ((), ()) if about and _is_summary(ctx.tables, about[0]) else (about, about)
    if isinstance(event, ev.Linked):
        about = _nodes_of(ctx, event.source, event.target, event.home)
        if about and event.type in _REPEATING and _is_summary(ctx.tables, about[_REPEATING[event.type]]):
            return (), ()
        # What joins a container is new to it; the container is not new for that.
        return (about[1:2] if event.type == schema.CONTAINS else about[:2]), about
    return (), ()


def _is_summary(tables: rows.Tables, node: int) -> bool:
    return tables.version(node, tables.node(node).versions).type == SUMMARY_TYPE


def _nodes_of(ctx: context.Context, *lineages: bytes) -> tuple[int, ...]:
    found = [ctx.tables.node_of(lineage) for lineage in lineages]
    return () if None in found else tuple(node for node in found if node is not None)


class Neighbourhoods:
    """The neighbourhoods of worlds, one for each container; used only in read transactions."""

    def __init__(self, ctx: context.Context, passed: set[tuple[int, int]] | None = None) -> None:
        self._ctx = ctx
        self._passed = set() if passed is None else passed
        """Pairs (scope, world) with many ends that were all returned once; they are not expanded again in the last
        hop."""
        self._direct = ctx.containers if ctx.ancestry is None else ctx.ancestry.containers
        self._above: dict[int, frozenset[int]] = {}
        self._scopes: dict[int, int] = {}
        self._ends: dict[tuple[int, int], Sequence[int]] = {}

    def common_containers(self, about: Iterable[int]) -> frozenset[int]:
        """The worlds that contain all of some nodes, at most :data:`MAX_LEVELS` levels above each."""
        return frozenset.intersection(*map(self._containers, about))

    def _containers(self, node: int) -> frozenset[int]:
        """A world and its containers, up to :data:`MAX_LEVELS` levels up."""
        if node not in self._above:
            found, level = {node}, [node]
            for _ in range(MAX_LEVELS):
                level = [above for here in level for above in self._direct(here) if above not in found]
                found.update(level)
            self._above[node] = frozenset(found)
        return self._above[node]

    def neighbourhood(self, scope: int, nodes: Iterable[int]) -> list[int]:
        """List the entities within :data:`HOPS` hops whose namesakes are searched for in a scope, in log order.

        Only worlds and edges inside the scope are walked and counted. An edge whose end or home is outside is ignored.
        """
        ctx = self._ctx
        if next(namesakes.members_of(ctx, scope), None) is None:
            return []
        reached = dict.fromkeys(islice((node for node in nodes if node != schema.ROOT_NODE), MAX_NEIGHBOURS))
        frontier = list(reached)
        for hop in range(HOPS):
            further = []
            if hop == HOPS - 1:
                frontier = [node for node in frontier if (scope, node) not in self._passed]
            for end in chain.from_iterable(self._ends_of(scope, node) for node in frontier):
                if len(reached) >= MAX_NEIGHBOURS:
                    break
                if end != schema.ROOT_NODE and end not in reached:
                    reached[end] = None
                    further.append(end)
            else:
                self._passed.update((scope, node) for node in frontier if len(self._ends_of(scope, node)) > _FEW_ENDS)
            frontier = further
        return sorted(node for node in reached if self._scope_of(node) == scope and _may_be_entity(ctx.tables, node))

    def _scope_of(self, node: int) -> int:
        found = self._scopes.get(node)
        if found is None:
            found = self._scopes[node] = namesakes.scope_of(self._ctx, node)
        return found

    def _ends_of(self, scope: int, node: int) -> Sequence[int]:
        """The other ends of a world's edges inside a scope; none if it has very many there."""
        found = self._ends.get((scope, node))
        if found is None:
            found = list(islice(self._ends_inside(scope, node), MAX_EDGES + 1))
            found = self._ends[scope, node] = found if len(found) <= MAX_EDGES else ()
        return found

    def _ends_inside(self, scope: int, node: int) -> Iterator[int]:
        is_inside = partial(_is_inside, self._ctx, scope)
        for end, home in _live_ends(self._ctx.tables, node):
            if is_inside(end) and is_inside(home):
                yield end


def _is_inside(ctx: context.Context, scope: int, node: int) -> bool:
    if scope == schema.ROOT_NODE:
        return True
    return ctx.inside(node, scope) if ctx.ancestry is None else ctx.ancestry.is_inside(node, scope)


def _live_ends(tables: rows.Tables, node: int) -> Iterator[tuple[int, int]]:
    """The other ends of a world's edges, each with the edge's home."""
    yield from ((row.target, row.home) for _, row in tables.outgoing(node) if row.unlinked == schema.LIVE)
    yield from ((place.source, row.home) for place, row in tables.incoming(node) if row.unlinked == schema.LIVE)


def _may_be_entity(tables: rows.Tables, node: int) -> bool:
    row = tables.node(node)
    return (
        not (row.ended and asof.has_ended(tables, node, schema.LIVE - 1))
        and tables.version(node, row.versions).type not in _NON_ENTITY_TYPES
    )


AUTHOR: Final = "worlddb.recluster"
"""The author of the commits of a reclustering."""

MAX_NEW: Final = 256
"""About how many changed worlds one read transaction handles."""

MAX_NEW_BEHIND: Final = 48
"""The same in the background, where the thread pauses between steps; a step of :data:`MAX_NEW` takes seconds."""

ASKED_AT_ONCE: Final = 256
"""How many worlds one read transaction compares before the tiebreaker is asked about them."""

MAX_STAGED: Final = 1_000
"""How many proposals one commit stages."""

MARK_COMMITS: Final = 1_000
"""Progress is recorded after this many commits without a proposal."""


class Reclustering(NamedTuple):
    """The result of a reclustering.

    It has the number of worlds looked at, the staged proposals, the last commit looked at, the number of commits still
    pending, and the events and commits written. ``pairs`` are what a dry run would propose, as (later, earlier).
    ``busy``: another process has the lease and does the work.
    """

    looked_at: int
    proposals: tuple[str, ...]
    through: int
    pending: int
    events: int
    commits: int
    busy: bool = False
    pairs: tuple[tuple[str, str], ...] = ()


_Pair = tuple[bytes, bytes, dict[str, Any]]
"""The later world, the earlier one, and the evidence that they may be one."""


class ComparedWorld(NamedTuple):
    """A world, the worlds that it was compared with, and those of them that must not be proposed."""

    lineage: bytes
    comparisons: resolver.Comparisons
    setting: resolver.ThresholdSetting
    settled: frozenset[int]


def recluster(
    writer: Writer,
    meaning: vectors_of_texts.NearestTexts | None,
    *,
    after: int = 0,
    limit: int | None = None,
    tiebreaker: Tiebreaker | None = None,
    stopped: Callable[[], bool] = lambda: False,
    is_behind: bool = False,
    dry_run: bool = False,
) -> Reclustering:
    """Run the resolver on worlds around commits that no reclustering has covered yet, or that come after ``after``.

    At most about ``limit`` worlds are compared. ``is_behind`` says that it runs in the background, in smaller steps.
    The tiebreaker is called while the store is not locked, and its answer is recorded. With ``dry_run`` nothing is
    written.
    """
    writer.env.refuse_replaced()
    most = min(MAX_NEW, MAX_NEW_BEHIND) if is_behind else MAX_NEW
    with background_lease(writer.env.folder) as leased:
        looked_at = events = commits = 0
        proposals: list[str] = []
        proposed_pairs: dict[tuple[str, str], None] = {}
        marked, head = _progress(writer)
        through = max(after, marked)
        done = VisitedWorlds(set(), set())
        while leased and through < head and (limit is None or looked_at < limit) and not stopped():
            count, pairs, reached = _compare_next(writer, meaning, through, head, most, done, tiebreaker)
            looked_at, through = looked_at + count, reached
            if dry_run:
                proposed_pairs.update(((one.hex(), other.hex()), None) for one, other, _ in pairs)
                continue
            for command in _staging_commands(pairs, marked, reached):
                receipt = execute(writer._replace(author=AUTHOR, group=None), [command])
                receipt.raise_if_refused()
                proposals += receipt.proposals
                events, commits = events + receipt.events, commits + (receipt.events > 0)
                marked, _ = _progress(writer)
        pending = head - through
        return Reclustering(
            looked_at, tuple(proposals), through, pending, events, commits, not leased, tuple(proposed_pairs)
        )


def _progress(writer: Writer) -> tuple[int, int]:
    with writer.env.read() as txn:
        return reclustered_through(rows.Tables(txn)), LmdbLog(txn).head().seq


def _compare_next(
    writer: Writer,
    meaning: vectors_of_texts.NearestTexts | None,
    after: int,
    head: int,
    most: int,
    done: VisitedWorlds,
    tiebreaker: Tiebreaker | None,
) -> tuple[int, list[_Pair], int]:
    """Compare the worlds around the next commits.

    Returns how many were compared, the pairs to propose, and the last commit that was read.

    A world may have thousands of namesakes, and a commit thousands of worlds, so each world is judged before the next
    is compared. With a tiebreaker, worlds are compared in batches, and it is asked while no transaction is open.
    """
    # The first result for a pair counts, however the worlds are split into transactions.
    pairs: dict[frozenset[bytes], _Pair] = {}
    count = 0

    def judge_all(compared_worlds: Iterable[ComparedWorld]) -> None:
        nonlocal count
        for look in compared_worlds:
            count += 1
            for pair in _pairs_to_propose(look, meaning, tiebreaker):
                pairs.setdefault(frozenset(pair[:2]), pair)

    with writer.env.read() as txn:
        ctx = read_context(writer, txn)
        changed = changed_worlds(ctx, after, head, most, done)
        if tiebreaker is None:
            judge_all(_compare_worlds(ctx, writer, meaning, changed.nodes, every=False))
    for start in range(0, 0 if tiebreaker is None else len(changed.nodes), ASKED_AT_ONCE):
        with writer.env.read() as txn:
            nodes = changed.nodes[start : start + ASKED_AT_ONCE]
            compared_worlds = list(_compare_worlds(read_context(writer, txn), writer, meaning, nodes, every=True))
        judge_all(compared_worlds)
    return count, list(pairs.values()), changed.through


def read_context(writer: Writer, txn: Any) -> context.Context:
    """A context for the resolver inside a read transaction."""
    log, nonces = LmdbLog(txn), FreshNonces(writer.entropy)
    draft = Draft(log, rows.Tables(txn), log.head(), nonces, ingest_time=0, wall_time=0, author=AUTHOR)
    ctx = context.Context(draft, writer.ontology, b"")
    ctx.ancestry = interiors.Ancestry(ctx.containers, partial(namesakes.members_of, ctx))
    return ctx


def _compare_worlds(
    ctx: context.Context,
    writer: Writer,
    meaning: vectors_of_texts.NearestTexts | None,
    nodes: Sequence[int],
    *,
    every: bool,
) -> Iterator[ComparedWorld]:
    for node in nodes:
        body = ctx.body(node)
        if body is None:
            continue
        names = (body.name, *ctx.aliases(node))
        if not vectors_of_texts.has_identifying_name(names) or vectors_of_texts.is_tool_made_place(ctx, node):
            continue
        setting = resolver.thresholds_for(ctx, writer.resolving, body.type, node)
        thresholds = setting.thresholds
        candidate = namesakes.Candidate(names, body.type, namesakes.scope_of(ctx, node), node)
        near = {} if meaning is None else _near_in_meaning(ctx, candidate, meaning, thresholds.embedding)
        comparisons = resolver.considered(ctx, candidate, thresholds, near, every=every)
        found = comparisons.considered
        # Worlds that only a world outside of the scope joins are not one identity to a view of the scope.
        one = equivalence.class_of(ctx, node, partial(_is_inside, ctx, candidate.world)) if found else {}
        first = first_of(ctx.tables, node, ctx.draft.seq)
        settled = frozenset(
            each.node
            for each in found
            if each.node in one
            or equivalence.is_settled(ctx, node, each.node)
            or vectors_of_texts.is_tool_made_place(ctx, each.node)
            or first_of(ctx.tables, each.node, ctx.draft.seq) == first
        )
        yield ComparedWorld(ctx.lineage(node), comparisons, setting, settled)


def _near_in_meaning(
    ctx: context.Context, candidate: namesakes.Candidate, meaning: vectors_of_texts.NearestTexts, least: float
) -> dict[int, float]:
    """Worlds in scope whose newest text is near in meaning to the candidate's newest text, with the cosine."""
    tables, node = ctx.tables, candidate.node
    assert node is not None, "a world that is there"
    place = asof.vector_place(tables, meaning.space, node, tables.node(node).versions)
    stored = None if place is None else ctx.draft.log.blob(place.seq, place.position)
    vector = None if stored is None or place is None else codec.decode_blob(stored, place.seq)
    if not isinstance(vector, blobs.Vector):
        return {}
    whole = whole_text(vector.values, meaning.dimension)
    hits = meaning.find(whole, vectors_of_texts.MAX_NEAR, vectors_of_texts.searched_worlds(ctx, candidate.world))
    return {other: cosine for other, (_, cosine) in vectors_of_texts.near_worlds(ctx, hits, least, node).items()}


def _pairs_to_propose(
    look: ComparedWorld, meaning: vectors_of_texts.NearestTexts | None, tiebreaker: Tiebreaker | None
) -> Iterator[_Pair]:
    """The pairs to propose, as (later lineage, earlier lineage, evidence)."""
    found = judge(
        look.comparisons.considered, look.setting.thresholds, tiebreaker, looked_at=look.comparisons.looked_at
    )
    chosen = (found.match,) if isinstance(found, Resolved) else found.matches if isinstance(found, Ambiguous) else ()
    compared = {} if meaning is None else {"space": meaning.name, "model": meaning.model}
    told = {**look.setting.as_evidence(), "by": AUTHOR, **compared}
    for each in chosen:
        if each.node not in look.settled:
            yield look.lineage, bytes.fromhex(each.ref), {**found.evidence, **told}


def _staging_commands(pairs: list[_Pair], marked: int, reached: int) -> Iterator[cmd.Recluster]:
    """The commands that stage the pairs; the last one records the progress."""
    for start in range(0, len(pairs), MAX_STAGED):
        some = tuple(pairs[start : start + MAX_STAGED])
        last = start + MAX_STAGED >= len(pairs)
        yield cmd.Recluster(after=marked, through=reached if last else marked, items=some)
    if not pairs and reached - marked >= MARK_COMMITS:
        yield cmd.Recluster(after=marked, through=reached, items=())
