"""Asking a query: the planner picks the start set, the operators follow, and the records are made of what is left."""

from __future__ import annotations

from typing import Final

from worlddb.log.model.clock import monotonic
from worlddb.log.model.errors import InputError
from worlddb.projections.tables.reads.asof import Moment
from worlddb.query import build
from worlddb.query.naming import named_node
from worlddb.query.notes import joined, rewrites_unseen
from worlddb.query.pipeline.answer import Stage, Subgraph
from worlddb.query.pipeline.operators import Selection, apply
from worlddb.query.pipeline.starting import Ranked, begin, ranked
from worlddb.query.pipeline.unheard import edge_types_unheard_of
from worlddb.query.pipeline.value import At, Query
from worlddb.query.pipeline.walk import Ground
from worlddb.query.window import Window

RECORDS: Final = "read what is left"
"""The last stage, after the operators."""


class _Watch:
    """The stages of a run, with how long each took if that is wanted."""

    def __init__(self, *, timed: bool) -> None:
        self.stages: list[Stage] = []
        self._since = monotonic() if timed else None

    def done(self, operator: str, before: int, after: int, note: str = "") -> None:
        now = None if self._since is None else monotonic()
        seconds = None if now is None or self._since is None else now - self._since
        self._since = now
        self.stages.append(Stage(operator=operator, before=before, after=after, note=note, seconds=seconds))


def run(window: Window, query: Query, *, timed: bool = False) -> Subgraph:
    """The subgraph that a query comes to through a window; with ``timed``, each stage says how long it took.

    What is ranked is looked up first, since indexes catch up outside of any transaction; the rest is one transaction.

    Raises:
        UnknownReference, AmbiguousReference: a reference in the query is not known here, or fits several worlds.
        InputError: the moment lies after the view's, or a vector is not of the space's size.
    """
    watch = _Watch(timed=timed)
    if query.at is not None:
        window = window.at(_moment(window, query.at))
    found = ranked(window, query.start, superseded=query.superseded)
    with window.sight() as sight:
        top = sight.place.top
        world = query.start.world
        inside = top if world is None else named_node(sight, window.spec, world, unify=window.unify)
        selection = Selection(Ground(sight, window.spec, inside, superseded=query.superseded, unified=window.unify))
        note = begin(query.start, found, selection)
        watch.done(str(query.start), 0, len(selection.found), note)
        for step in query.steps:
            before = len(selection.found)
            note = apply(step, selection)
            watch.done(str(step), before, len(selection.found), note)
        selection.unheard += edge_types_unheard_of(sight, window.spec, query.edge_types())
        return _answer(window, selection, found, watch)


def _answer(window: Window, selection: Selection, found: Ranked, watch: _Watch) -> Subgraph:
    """The records of what is left: texts, provenance, conflicts, and the edges that led there."""
    ground = selection.ground
    sight, moment = ground.sight, ground.sight.place.moment
    walked, ends = selection.trail.leading_to(selection.found, ground)
    refs = {node: sight.tables.node(node).lineage.hex() for node in (*selection.found, *ends)}
    nodes = tuple(build.world_of(sight, node, seen, moment, ground.spec) for node, seen in selection.found.items())
    edges = tuple(build.edge(sight, arrival.place, arrival.row, moment) for arrival in walked)
    watch.done(RECORDS, len(nodes), len(nodes))
    return Subgraph(
        nodes=nodes,
        edges=edges,
        passed=tuple(refs[node] for node in sorted(ends - selection.found.keys())),
        scores={refs[node]: found.scores[node] for node in selection.found if node in found.scores},
        facets=selection.facets,
        identities=_identities(selection),
        stages=tuple(watch.stages),
        exact=found.exact,
        note=joined((*selection.unheard, found.note or rewrites_unseen(window.spec))),
    )


def _identities(selection: Selection) -> dict[str, tuple[str, ...]]:
    """Which others each world of the answer stands for, if worlds that are one were taken for one."""
    tables = selection.ground.sight.tables
    named: dict[str, tuple[str, ...]] = {}
    for node in selection.found:
        others = tuple(tables.node(each).lineage.hex() for each in selection.ground.one_with(node)[1:])
        if others:
            named[tables.node(node).lineage.hex()] = others
    return named


def _moment(window: Window, at: At) -> Moment:
    """The moment that a query asks of; no later than what the view knows."""
    known = window.place.moment
    with window.reader.snapshot() as snapshot:
        log = snapshot.log
        seq = known.seq if at.seq is None else at.seq
        seq = seq if at.ingested is None else log.seq_at(at.ingested)
        if seq > known.seq:
            raise InputError(f"The query is as of commit {seq}, and the view knows {known.seq}", "Ask a later view")
        given = at.ingested if at.seq is None else (log.header(seq).ingest_time if seq else 0)
    default = known.valid if given is None else given
    return Moment(seq, default if at.valid is None else at.valid)
