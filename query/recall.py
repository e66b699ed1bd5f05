"""Recall: what answers a text, with the reason that it was found. Lanes propose, the view decides (laws 7, 9, 12)."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.model.errors import InputError
from worlddb.log.model.interval import Interval
from worlddb.log.model.limits import checked_number
from worlddb.query import records
from worlddb.query.candidates import SMALL_WORLD, Gate, Passed, entities_named
from worlddb.query.competing import newest_first, with_superseded
from worlddb.query.dates import without_times
from worlddb.query.fusion import CONVEX, FUSIONS
from worlddb.query.groups import Grouped, grouped
from worlddb.query.hits import group_of, hit_of
from worlddb.query.lanes.text import TextLane
from worlddb.query.lanes.vector import ExactVectorLane, VectorLane, VectorQuery
from worlddb.query.naming import named_node
from worlddb.query.notes import noted, nothing_asked, with_times
from worlddb.query.period import Choice
from worlddb.query.ranking import (
    DEPTH,
    ENTITY,
    LANES,
    NOBODY,
    TEXT,
    VECTOR,
    Lanes,
    Question,
    Ranked,
    depth_for,
    fused,
)
from worlddb.query.scope import Scope, members_below
from worlddb.query.second_look import looked_at_again
from worlddb.query.sight import Sight
from worlddb.query.speakers import without_names
from worlddb.query.unify import Classes
from worlddb.query.weakness import asks_something, is_weak
from worlddb.query.window import Window

MAX_K: Final = 10_000
_MORE: Final = 4
"""How many times as many hits as are wanted are looked at, where some are of one identity or there are few groups."""
_GROUPED: Final = 512
"""For how many hits candidates are looked at, at most, where there are too few groups of them; or 16 for each group."""
NO_VECTORS: Final = "no text that is seen here has a vector yet"


class Request(NamedTuple):
    """What is asked of a view; see :meth:`worlddb.query.view.View.recall`."""

    text: str
    world: Any
    k: int
    exact: bool
    choice: Choice
    lanes: tuple[str, ...]
    fusion: str
    asked: int
    group: int | None = None
    neighbours: int = 0


class _Found(NamedTuple):
    """The hits, the lanes that they come from, and the groups of them, if groups are asked for."""

    ranked: list[Ranked]
    lanes: tuple[str, ...]
    groups: list[Grouped] | None = None


def recall(window: Window, request: Request) -> records.Recall:
    """The worlds in the view that answer the request best, and which of them a span leaves out.

    ``exact`` searches scratch indexes of precisely what the view sees, so that the ranking is the same on any store
    with the same history; otherwise candidates and term statistics come from the present indexes. A confined view is
    always exact: how rare a word is in the present index tells of what lies outside.

    Raises:
        InputError: ``k``, ``group`` or ``neighbours`` is out of bounds, ``text`` is no text, or there is no such lane
            or fusion.
    """
    _check(request)
    if not asks_something(request.text):
        with window.sight() as snapshot:
            _inside(window, snapshot, request)
        return nothing_asked(window.place.moment.seq)
    answer = with_times(_answered(window, request), request.text, request.asked, request.fusion)
    period = request.choice.period
    if period is None or not period.throughout:
        return answer
    # At most one version is valid throughout a span, and then no other one is valid in it.
    wider = _answered(window, request._replace(choice=Choice(period=period.touched)))
    short = (hit.ref for hit in wider.hits if not period.admits(Interval(hit.valid.start, hit.valid.end)))
    return msgspec.structs.replace(answer, left_out=tuple(dict.fromkeys(short)))


def _answered(window: Window, request: Request) -> records.Recall:
    """The answer, without what a span leaves out."""
    unavailable: dict[str, str] = {}
    query: VectorQuery | None = None
    exact = request.exact or window.place.is_confined
    question = _question(window, request)
    if VECTOR in request.lanes:
        prepared = window.reader.vector_query(_meaning(question), window.place.moment.seq, exact=exact)
        if isinstance(prepared, VectorQuery):
            query = prepared
        else:
            unavailable[VECTOR] = prepared
    if exact:
        return _exactly(window, request, question, query, unavailable)
    seq = window.place.moment.seq
    text = window.present_lane()
    # The indexes catch up here, outside of any transaction.
    text.prepare(through=seq)
    vector = None if query is None else window.present_vectors(query)
    with window.sight() as snapshot:
        found = _find_each(window, snapshot, request, question, _lanes(request, text, vector))
        hits, groups = _shown(window, snapshot, request, found)
        searched = partial(_searched, window, snapshot, request)
        weak = query is not None and is_weak(hits, found.lanes, request.fusion, query.model, searched)
    return records.Recall(
        hits=hits,
        groups=groups,
        exact=False,
        indexed=text.indexed,
        lanes=found.lanes,
        note=noted(window.spec, request.choice, at_present=seq < text.indexed and TEXT in found.lanes),
        unavailable=unavailable,
        pending=window.reader.pending_vectors(query.space) if query is not None else 0,
        space=query.name if query is not None and VECTOR in found.lanes else "",
        weak=weak,
    )


def _question(window: Window, request: Request) -> Question:
    """What is asked, and about whom, unless it is compared by words alone."""
    if VECTOR not in request.lanes and TEXT in request.lanes:
        return Question(request.text, request.asked, NOBODY, request.text, request.neighbours)
    with window.sight() as snapshot:
        named = entities_named(snapshot, request.text, window.spec.identity_types)
    return Question(request.text, request.asked, named, _about(request), request.neighbours)


def _about(request: Request) -> str:
    """What of a request is compared: where evidence is added up, for groups all but the times that it names, which are
    evidence of their own. Among turns, "three weeks ago" also brings near the one that tells a time."""
    by_several = VECTOR in request.lanes and request.lanes != (VECTOR,) and request.fusion == CONVEX
    return without_times(request.text) if request.group is not None and by_several else request.text


def _meaning(question: Question) -> str:
    """What of a question is compared by meaning: all but the names of those it is about. Names mean nothing that a
    vector could hold, and would bring everything near in which they occur; entities are a lane of their own."""
    return without_names(question.about, question.named.names)


def _lanes(request: Request, text: TextLane, vector: VectorLane | None) -> Lanes:
    """Of the lanes that are wanted, those that are available."""
    return Lanes(text if TEXT in request.lanes else None, vector, ENTITY in request.lanes)


def _exactly(
    window: Window, request: Request, question: Question, query: VectorQuery | None, unavailable: dict[str, str]
) -> records.Recall:
    pending = 0
    with window.sight() as snapshot:
        text = window.exact_lane(snapshot, request.choice)
        vector: VectorLane | None = None
        if query is not None:
            seen = window.exact_vectors(snapshot, query, request.choice)
            pending = seen.pending
            if len(seen.vectors):
                vector = ExactVectorLane(seen, query)
            else:
                unavailable[VECTOR] = NO_VECTORS
        found = _find_each(window, snapshot, request, question, _lanes(request, text, vector))
        hits, groups = _shown(window, snapshot, request, found)
        searched = partial(_searched, window, snapshot, request)
        weak = query is not None and is_weak(hits, found.lanes, request.fusion, query.model, searched)
    return records.Recall(
        hits=hits,
        groups=groups,
        exact=True,
        indexed=text.indexed,
        lanes=found.lanes,
        note=noted(window.spec, request.choice, at_present=False),
        unavailable=unavailable,
        pending=pending,
        space=query.name if query is not None and VECTOR in found.lanes else "",
        weak=weak,
    )


def _shown(
    window: Window, snapshot: Sight, request: Request, found: _Found
) -> tuple[tuple[records.Hit, ...], tuple[records.Group, ...]]:
    """The hits as records, and the groups of them, if groups are asked for."""
    scope = Scope(snapshot.tables, _inside(window, snapshot, request), snapshot.place.moment)
    asked = (window, snapshot, scope, request.text, request.choice)
    if found.groups is None:
        return tuple(hit_of(*asked, ranked) for ranked in found.ranked), ()
    groups = tuple(group_of(*asked, group) for group in found.groups)
    return tuple(hit for group in groups for hit in group.hits), groups


def _check(request: Request) -> None:
    if not isinstance(request.text, str):
        raise InputError(f"The query is {type(request.text).__name__}, not text", "Give it as str")
    checked_number(request.k, "k", 1, MAX_K)
    if request.group is not None:
        checked_number(request.group, "group", 1, MAX_K)
    checked_number(request.neighbours, "neighbours", 0, MAX_K)
    for lane in request.lanes:
        if lane not in LANES:
            raise InputError(f"There is no lane {lane!r:.80}", f"Name some of: {', '.join(LANES)}")
    if not request.lanes:
        raise InputError("No lane was named", f"Name some of: {', '.join(LANES)}")
    if request.fusion not in FUSIONS:
        raise InputError(f"There is no fusion {request.fusion!r:.80}", f"Name one of: {', '.join(FUSIONS)}")


def _find_each(window: Window, snapshot: Sight, request: Request, question: Question, lanes: Lanes) -> _Found:
    """The best candidates; where identities are seen as one, the best of each, for which more are asked for."""
    if request.group is not None:
        return _find_groups(window, snapshot, request, question, lanes)
    if not window.unify:
        return _find(window, snapshot, request, question, lanes)
    asked = request.k
    while True:
        asked = min(MAX_K, _MORE * asked)
        found = _find(window, snapshot, request._replace(k=asked), question, lanes)
        classes = Classes(snapshot, window.spec)
        best = [ranked for ranked in found.ranked if classes.is_new(ranked.passed.node)][: request.k]
        if len(best) == request.k or len(found.ranked) < asked or asked == MAX_K:
            return found._replace(ranked=best)


def _find_groups(window: Window, snapshot: Sight, request: Request, question: Question, lanes: Lanes) -> _Found:
    """The best groups of all candidates, of which more are asked for while there are too few groups."""
    asked, most = request.k, min(MAX_K, max(_GROUPED, _MORE * _MORE * request.k))
    inside, before = _inside(window, snapshot, request), -1
    while True:
        found = _find(window, snapshot, request._replace(k=asked), question, lanes)
        classes = Classes(snapshot, window.spec) if window.unify else None
        groups = grouped(snapshot, inside, found.ranked, classes)[: request.k]
        if len(groups) == request.k or len(found.ranked) == before or asked == most:
            return found._replace(groups=[group._replace(hits=group.hits[: request.group]) for group in groups])
        asked, before = min(most, _MORE * max(asked, DEPTH // 2)), len(found.ranked)


def _inside(window: Window, snapshot: Sight, request: Request) -> int:
    """The world that is searched."""
    top = snapshot.place.top
    return top if request.world is None else named_node(snapshot, window.spec, request.world, unify=window.unify)


def _searched(window: Window, snapshot: Sight, request: Request) -> int:
    """About how many worlds are searched: those inside if they are few, else all that are seen."""
    moment, top = snapshot.place
    inside = _inside(window, snapshot, request)
    members = None if inside == top else members_below(snapshot.tables, inside, moment, SMALL_WORLD)
    return snapshot.population() if members is None else len(members)


def _find(window: Window, snapshot: Sight, request: Request, question: Question, lanes: Lanes) -> _Found:
    """The best candidates of the lanes, the newest of those that compete first; all that were looked at where groups of
    them are wanted."""
    gate = Gate(snapshot, _inside(window, snapshot, request), request.choice)
    found = _ranked(snapshot, gate, request, question, lanes)
    ranked = newest_first(snapshot, window.spec, gate, found.ranked, request.k)
    if request.choice.earlier:
        before = Gate(snapshot, gate.inside, Choice(include_superseded=True))
        ranked = with_superseded(snapshot, before, ranked, request.k)
    return found._replace(ranked=ranked if request.group is not None else ranked[: request.k])


def _ranked(snapshot: Sight, gate: Gate, request: Request, question: Question, lanes: Lanes) -> _Found:
    """The best candidates as the lanes rank them. A lane alone is ranked by its own scores."""
    seq = snapshot.place.moment.seq
    several, of_one = (request.k, request.k) if request.group is None else (None, depth_for(request.k))
    text, vector, entity = lanes
    if text is not None and vector is None and not request.neighbours:
        alone = gate.passing(lambda limit, nodes: text.search(request.text, limit=limit, through=seq, nodes=nodes))
        return _Found(_as_ranked(TEXT, islice(alone, of_one)), (TEXT,))
    if vector is not None and request.lanes == (VECTOR,) and not request.neighbours:
        alone = gate.passing(lambda limit, nodes: vector.search(limit=limit, nodes=nodes))
        return _Found(_as_ranked(VECTOR, islice(alone, of_one)), (VECTOR,))
    names = tuple(lane for lane, asked in zip(LANES, (text, vector, entity), strict=True) if asked)
    ranked = list(fused(snapshot, gate, lanes, question, request.k, request.fusion))
    if request.group is None and request.fusion == CONVEX:
        ranked = looked_at_again(snapshot, request.text, ranked, request.k)
    return _Found(ranked[:several], names)


def _as_ranked(lane: str, passing: Any) -> list[Ranked]:
    found: list[Passed] = list(passing)
    return [Ranked(passed, passed.score, {lane: rank}, {lane: passed.score}) for rank, passed in enumerate(found, 1)]
