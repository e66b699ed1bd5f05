"""Run a query: choose the start set, apply the operators, and build the records.

A query starts from references, a text, a vector or everything, in this order of preference (paper §4.1).
:class:`BoundQuery` is a query together with its view.
"""

from __future__ import annotations

from functools import partial
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from worlddb.log.model import clock, errors
from worlddb.projections import runner
from worlddb.projections.indexes import composed_vectors, composition, vector_rows
from worlddb.projections.tables.reads.asof import Moment, SeenVersion
from worlddb.query.consolidation import fresh_summaries as summaries
from worlddb.query.graph_query import operators, query_value, traversal
from worlddb.query.lanes.vector_lane import ExactVectorLane, VectorLane, VectorQuery
from worlddb.query.question.question import CONVEX, Question, Request
from worlddb.query.reads import build, world_lookup
from worlddb.query.reads.window import Window
from worlddb.query.reads.world_lookup import IdentityClasses, named_node
from worlddb.query.recall import candidates, ranking
from worlddb.query.recall.answer import joined, missing_handlers
from worlddb.query.recall.recall import NO_VECTORS, recall
from worlddb.query.records.records import Composed
from worlddb.query.snapshot import visible
from worlddb.query.snapshot.provenance import trust_in
from worlddb.query.snapshot.snapshot import members_below
from worlddb.query.snapshot.valid_period import Choice

if TYPE_CHECKING:
    from worlddb.projections.indexes.composition import Anchors, Vector


_START_NAMES: Final = {
    "seeds": "seeds come first",
    "text": "a text comes first",
    "everything": "there is no text and no vector to compare with",
}
"""Why the planner passed over what else was given, by what it chose."""


class RankedStart(NamedTuple):
    """The worlds of a ranked start, best first, and the basis of the ranking.

    Other starts have none.
    """

    scores: dict[int, float]
    exact: bool
    note: str


def ranked(window: Window, start: query_value.Start, *, superseded: bool) -> RankedStart:
    """Rank the start of a query by a text or a vector, in transactions of its own."""
    if start.composed is not None and start.chosen in ("text", "vector"):
        return _rank_by_interior(window, start, start.composed)
    if start.chosen == "text":
        return _rank_by_text(window, start, Choice(superseded))
    if start.chosen == "vector":
        return _rank_by_vector(window, start, Choice(superseded))
    return RankedStart({}, True, "")


def begin(start: query_value.Start, found: RankedStart, selection: operators.Selection) -> str:
    """Fill a selection with the start set; returns a note for the explanation."""
    ground = selection.ground
    notes = [_ignored_starts(start)] if start.ignored else []
    if start.chosen == "seeds":
        notes += _add_seeds(start, selection)
    else:
        nodes = found.scores if start.chosen != "everything" else ground.snapshot.inhabitants(ground.inside)
        for node in nodes:
            seen = ground.seen(node)
            if seen is not None and _is_trusted(ground, start, node, seen):
                selection.add(node, seen)
    return "; ".join(notes)


def _ignored_starts(start: query_value.Start) -> str:
    """A note on the parts of the start that are not used."""
    *others, last = start.ignored
    which = f"{', '.join(others)} and {last} were" if others else f"{last} was"
    return f"{which} not used: {_START_NAMES[start.chosen]}"


def _is_trusted(ground: traversal.Ground, start: query_value.Start, node: int, seen: SeenVersion) -> bool:
    return not start.least_trust or trust_in(ground.snapshot).is_at_least(node, seen.row, start.least_trust)


def _add_seeds(start: query_value.Start, selection: operators.Selection) -> list[str]:
    """Seeds that are not valid, lie outside or are trusted less are left out, as they would be of any answer."""
    ground = selection.ground
    left_out = less_trusted = 0
    seeds = start.seeds or ()
    inside = [node for node in map(ground.named, seeds) if ground.scope.sees(node)]
    left_out += len(seeds) - len(inside)
    for node, seen in zip(inside, ground.seen_each(inside), strict=True):
        if seen is not None and not _is_trusted(ground, start, node, seen):
            less_trusted += 1
        elif seen is None:
            left_out += 1
        else:
            selection.add(node, seen)
    notes = [f"{left_out} of {len(seeds)} seeds are not visible here"] if left_out else []
    return notes + ([f"{less_trusted} of {len(seeds)} seeds have less trust"] if less_trusted else [])


def _rank_by_text(window: Window, start: query_value.Start, choice: Choice) -> RankedStart:
    answer = recall(
        window,
        Request(
            question=Question(start.text or "", window.place.moment.valid),
            world=start.world,
            k=start.k,
            exact=start.exact,
            choice=choice,
            lanes=start.lanes,
            fusion=CONVEX,
            min_trust=start.min_trust,
        ),
    )
    with window.snapshot() as snapshot:
        numbers = [(snapshot.tables.node_of(bytes.fromhex(hit.ref)), hit.score) for hit in answer.hits]
    missing = [f"{lane}: {reason}" for lane, reason in answer.unavailable.items()]
    notes = [answer.note, *missing]
    scores = {node: score for node, score in numbers if node is not None}
    return RankedStart(scores, answer.exact, "; ".join(note for note in notes if note))


def _rank_by_interior(window: Window, start: query_value.Start, pool: str) -> RankedStart:
    """The worlds whose composed embeddings are nearest to a text or a vector, in the view."""
    with window.snapshot() as snapshot:
        spaces = snapshot.answering_spaces(exact=True)
    if start.chosen == "text":
        query = window.reader.vector_query(start.text or "", spaces)
    else:
        query = window.reader.given_vector(start.vector or (), spaces)
    if isinstance(query, str):
        return RankedStart({}, True, query)
    return RankedStart(nearest_worlds(window, query, start, pool), True, "")


def _rank_by_vector(window: Window, start: query_value.Start, choice: Choice) -> RankedStart:
    exact = start.exact or window.place.is_confined
    head = 0 if exact else window.reader.head()
    with window.snapshot() as snapshot:
        query = window.reader.given_vector(start.vector or (), snapshot.answering_spaces(exact=exact))
        if isinstance(query, str):
            return RankedStart({}, exact, query)
        lane: VectorLane | None = None if exact else window.present_vectors(snapshot, query, head)
        top = snapshot.place.top
        inside = (
            top
            if start.world is None
            else world_lookup.named_node(snapshot, window.spec, start.world, unify=window.unify)
        )
        if lane is None:
            seen = window.exact_vectors(snapshot, query.space, query.dimension, choice)
            if not len(seen.vectors):
                return RankedStart({}, exact, NO_VECTORS)
            lane = ExactVectorLane(seen, query)
        passing = candidates.Gate(snapshot, inside, choice, start.least_trust).passing(
            partial(ranking.search_vectors, lane, wide=ranking.WIDE_ALONE), start.k
        )
        classes = world_lookup.IdentityClasses(snapshot, window.spec) if window.unify else None
        new = (passed for passed in passing if classes is None or classes.is_new(passed.node))
        scores = {passed.node: round(passed.score, 6) for passed in islice(new, start.k)}
    return RankedStart(scores, exact, "")


_BATCH: Final = 8
"""From how many edges on it is looked up together what the records of their ends ask for."""
RECORDS: Final = "read the remaining worlds"
"""The last stage, after the operators."""


class _StageLog:
    """The stages of a run, with how long each took if that is wanted."""

    def __init__(self, *, timed: bool) -> None:
        self.stages: list[query_value.Stage] = []
        self._since = clock.monotonic() if timed else None

    def done(self, operator: str, before: int, after: int, note: str = "") -> None:
        now = None if self._since is None else clock.monotonic()
        seconds = None if now is None or self._since is None else now - self._since
        self._since = now
        self.stages.append(query_value.Stage(operator=operator, before=before, after=after, note=note, seconds=seconds))


def run(window: Window, query: query_value.Query, *, timed: bool = False) -> query_value.Subgraph:
    """Run a query and return its subgraph; with ``timed``, each stage has its seconds.

    What is ranked is looked up first, since indexes catch up outside of any transaction; the rest is one transaction.

    Raises:
        UnknownReference, AmbiguousReference: a reference in the query is not known here, or fits several worlds.
        InputError: the moment lies after the view's, or a vector is not of the space's size.
    """
    watch = _StageLog(timed=timed)
    if query.at is not None:
        window = window.at(_moment(window, query.at))
    found = ranked(window, query.start, superseded=query.superseded)
    with runner.collector_paused(), window.snapshot() as snapshot:
        top = snapshot.place.top
        world = query.start.world
        inside = top if world is None else world_lookup.named_node(snapshot, window.spec, world, unify=window.unify)
        selection = operators.Selection(
            traversal.Ground(snapshot, window.spec, inside, superseded=query.superseded, unified=window.unify)
        )
        note = begin(query.start, found, selection)
        watch.done(str(query.start), 0, len(selection.found), note)
        for step, following in zip_longest(query.steps, query.steps[1:]):
            before = len(selection.found)
            note = operators.apply(step, selection, following)
            watch.done(str(step), before, len(selection.found), note)
        selection.unresolved += operators.unknown_edge_types(snapshot, window.spec, query.edge_types())
        answered = _answer(window, selection, found, watch)
    window.keep()
    return answered


def _answer(
    window: Window, selection: operators.Selection, found: RankedStart, watch: _StageLog
) -> query_value.Subgraph:
    """Build the records of the result: texts, provenance, conflicts, and the edges that led there."""
    ground = selection.ground
    snapshot, moment = ground.snapshot, ground.snapshot.place.moment
    walked, ends = selection.trail.leading_to(selection.found, ground)
    if len(walked) >= _BATCH:
        snapshot.look_ahead((each.place, each.row) for each in walked)
    uncut = {node: seen for node, seen in selection.found.items() if node not in ground.cut_at}
    fresh = ground.cut_at | summaries.summaries_in(snapshot).filter_fresh(uncut)
    nodes = tuple(
        build.world_of(snapshot, node, seen, moment, ground.spec, without_bases=node in fresh)
        for node, seen in selection.found.items()
    )
    edges = tuple(build.edge(snapshot, arrival.place, arrival.row, moment) for arrival in walked)
    watch.done(RECORDS, len(nodes), len(nodes))
    return query_value.Subgraph(
        nodes=nodes,
        edges=edges,
        passed=tuple(map(snapshot.ref, sorted(ends - selection.found.keys()))),
        scores={snapshot.ref(node): found.scores[node] for node in selection.found if node in found.scores},
        facets=selection.facets,
        identities=_identities(selection),
        stages=tuple(watch.stages),
        exact=found.exact,
        records_read=ground.looked_at + len(nodes) + len(edges),
        note=joined((*selection.unresolved, found.note or missing_handlers(window.spec))),
    )


def _identities(selection: operators.Selection) -> dict[str, tuple[str, ...]]:
    """The other worlds of each result's identity, if identities are unified."""
    ground, named = selection.ground, dict[str, tuple[str, ...]]()
    for node in selection.found if ground.unified else ():
        others = tuple(map(ground.snapshot.ref, ground.identity_of(node)[1:]))
        if others:
            named[ground.snapshot.ref(node)] = others
    return named


def _moment(window: Window, at: query_value.At) -> Moment:
    """The moment of a query; no later than what the view knows."""
    known = window.place.moment
    with window.reader.snapshot() as snapshot:
        log = snapshot.log
        seq = known.seq if at.seq is None else at.seq
        seq = seq if at.ingested is None else log.seq_at(at.ingested)
        if seq > known.seq:
            raise errors.InputError(
                f"The query reads as of commit {seq}, and the view ends at commit {known.seq}", "Use a later view"
            )
        given = at.ingested if at.seq is None else (log.header(seq).ingest_time if seq else 0)
    default = known.valid if given is None else given
    return Moment(seq, default if at.valid is None else at.valid)


class BoundQuery(query_value.Chain):
    """A query and its view, as :meth:`worlddb.View.query` returns it; operators can be added."""

    __slots__ = ("_window", "query")

    def __init__(self, window: Window, query: query_value.Query) -> None:
        self._window = window
        self.query = query
        """The query itself, without the view."""

    def _with_query(self, change: Any) -> Self:
        return type(self)(self._window, change(self.query))

    def run(self) -> query_value.Subgraph:
        """Ask the query.

        Raises:
            UnknownReference, AmbiguousReference: a reference in it is not known to the view, or fits several worlds.
            InputError: it is as of a moment after the view's, or its vector is not of the embedding space's size.
        """
        return run(self._window, self.query)

    def explain(self) -> query_value.Subgraph:
        """As :meth:`run`; each stage also says how many seconds it took."""
        return run(self._window, self.query, timed=True)

    def __str__(self) -> str:
        return str(self.query)

    def __repr__(self) -> str:
        return f"<worlddb.BoundQuery: {self.query}>"


# -- composed embeddings: a world's own text pooled with everything it contains (paper §5)


def composed(window: Window, ref: Any, pool: str) -> Composed | None:
    """Compute the composed embedding of a world from what the view sees.

    ``None`` if there is nothing to make it of.

    Raises:
        UnknownReference: the view sees no such world.
        InputError: there is no such pool.
    """
    composition.checked_pool(pool)
    with window.snapshot() as snapshot:
        node = named_node(snapshot, window.spec, ref)
        space = next(iter(snapshot.answering_spaces(exact=True)), None)
        if space is None:
            return None
        anchors = _anchor_lookup(snapshot, space.number, space.row.dimension)
        made = composition.Composition(composition.POOLS[pool])
        inside = members_below(snapshot.tables, node, snapshot.place.moment) or set()
        made.fill(snapshot.tables, anchors, {node, *inside}, snapshot.place.moment)
        vector = made.vector(snapshot.tables, anchors, node)
        if vector is None:
            return None
        seen = Choice().version(snapshot.tables, node, snapshot.place.moment)
        anchor = None if seen is None else anchors(node, seen.number)
        return Composed(
            ref=snapshot.ref(node),
            pool=pool,
            vector=tuple(vector.tolist()),
            anchor=None if anchor is None else tuple(anchor.tolist()),
            inside=len(inside),
            model=space.model,
        )


def nearest_worlds(window: Window, query: VectorQuery, start: query_value.Start, pool: str) -> dict[int, float]:
    """The ``k`` worlds of a start whose composed embedding is nearest to a vector, with their cosines.

    Best first; only worlds that have members.

    Of the present they are kept from one call to the next. Of any other moment, and of a confined view, they are made
    of precisely what is seen; so either way the answer is the view's.
    """
    world, k = start.world, start.k
    follower = window.reader.composed(query.space, query.dimension, pool)
    with window.snapshot() as snapshot:
        whole = snapshot.whole
        found = None
        if whole is not None and snapshot.others is None:
            found = follower.level(whole.log, whole.tables, snapshot.place.moment)
        if found is None:
            found = _visible_search(window, snapshot, query, pool)
        inside = snapshot.place.top if world is None else named_node(snapshot, window.spec, world, unify=window.unify)
        classes = IdentityClasses(snapshot, window.spec) if window.unify else None
        gate = candidates.Gate(snapshot, inside, Choice(), start.least_trust)
        scores = vector_rows.cosines(found.matrix, query.vector)
        best: dict[int, float] = {}
        for place in vector_rows.top_places(scores, len(scores)).tolist():
            node = int(found.nodes[place])
            if len(best) == k:
                break
            if gate.seen(node) is not None and (classes is None or classes.is_new(node)):
                best[node] = round(float(scores[place]), 6)
    follower.keep()
    return best


def _visible_search(
    window: Window, snapshot: visible.VisibleSnapshot, query: VectorQuery, pool: str
) -> composed_vectors.Effective:
    """Search exactly what is visible; a confined view caches the embeddings until its world changes."""
    key = "composed", query.space, pool
    here = window.use_kept_world(snapshot, Choice())
    if here is not None and key in here.seen.kept:
        found: composed_vectors.Effective = here.seen.kept[key]
        return found
    made = composition.Composition(composition.POOLS[pool])
    made.fill(
        snapshot.tables,
        _anchor_lookup(snapshot, query.space, query.dimension),
        snapshot.inhabitants(),
        snapshot.place.moment,
    )
    rows = composed_vectors.rows_of(made, query.dimension)
    if here is not None:
        here.seen.kept[key] = rows
    return rows


def _anchor_lookup(snapshot: visible.VisibleSnapshot, space: int, dimension: int) -> Anchors:
    """Look up vectors of visible versions, as far as the view's commit had recorded them."""

    def anchor(node: int, version: int) -> Vector | None:
        stored = snapshot.vector(space, node, version)
        return None if stored is None else vector_rows.whole_text(stored.values, dimension)

    return anchor
