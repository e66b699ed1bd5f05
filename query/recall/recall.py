"""Recall: what answers a text, with the reason that it was found. Lanes propose, the view decides (laws 7, 9, 12)."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Final, NamedTuple

from worlddb.query.lanes.text_lane import PresentTextLane, TextLane
from worlddb.query.lanes.vector_lane import NO_SPACE, ExactVectorLane, Space, VectorLane, VectorQuery
from worlddb.query.question.question import without_names
from worlddb.query.question.question_dates import spans, without_times
from worlddb.query.reads.window import Window
from worlddb.query.recall.answer import (
    asks_something,
    group_of,
    hit_of,
    is_low_confidence,
    noted,
    nothing_asked,
    with_times,
)
from worlddb.query.recall.candidates import Gate, entities_named
from worlddb.query.recall.fusion import CONVEX
from worlddb.query.recall.ranking import ENTITY, NOBODY, TEXT, VECTOR, Lanes, Question
from worlddb.query.recall.request import Request, check
from worlddb.query.recall.retrieve import Found, begin, held_then, retrieve, searched_world
from worlddb.query.records import records
from worlddb.query.snapshot.containment import Scope, members_below
from worlddb.query.snapshot.valid_period import Choice
from worlddb.query.snapshot.visible import VisibleSnapshot

NO_VECTORS: Final = "no text that is seen here has a vector yet"
_COUNTED: Final = 2_000
"""A world with more members is taken for as large as all that is seen, where it is asked whether hits are weak."""


class _Indexes(NamedTuple):
    """What the lanes search: the present indexes, or scratch ones of precisely what is seen."""

    lanes: Lanes
    indexed: int
    pending: int = 0
    """Of what is seen; of the present they are counted last, since whoever embeds is told of them."""
    unavailable: str = ""
    """Why nothing is compared by meaning, if that is found out here."""


def recall(window: Window, request: Request) -> records.Recall:
    """The worlds in the view that answer the request best, and which of them a span leaves out.

    ``exact`` searches scratch indexes of precisely what the view sees, so that the ranking is the same on any store
    with the same history; otherwise candidates and term statistics come from the present indexes. A confined view is
    always exact: how rare a word is in the present index tells of what lies outside.

    Raises:
        InputError: ``k``, ``group`` or ``neighbours`` is out of bounds, ``text`` is no text, or there is no such lane
            or fusion.
    """
    check(request)
    if not asks_something(request.text):
        with window.sight() as snapshot:
            searched_world(window, snapshot, request)
        return nothing_asked(window.place.moment.seq)
    return with_times(_answered(window, request), request.text, request.asked, request.fusion)


def _answered(window: Window, request: Request) -> records.Recall:
    """The answer, but for the times that the question names."""
    if request.exact or window.place.is_confined:
        return _found(window, request, None)
    with closing(window.present_lane()) as text:
        # The index catches up here, which must not happen inside of a transaction.
        text.prepare(through=window.place.moment.seq)
        begin(window, request, _about(request), text)
        return _found(window, request, text)


def _found(window: Window, request: Request, text: PresentTextLane | None) -> records.Recall:
    """The answer by the present indexes, of which this is one, or by scratch ones."""
    seq, exact = window.place.moment.seq, text is None
    question = _question(window, request)
    query, unavailable = _as_vector(window, request, question, exact=exact)
    space = window.reader.space_at(seq) if query is None and text is None else None
    present = None if text is None else _present(window, request, text, query)
    with window.sight() as snapshot:
        indexes = present or _exact(window, snapshot, request, query, space)
        found = retrieve(window, snapshot, request, question, indexes.lanes)
        hits, groups = _shown(window, snapshot, request, found)
        searched = partial(_searched, window, snapshot, request)
        weak = query is not None and is_low_confidence(hits, found.lanes, request.fusion, query.model, searched)
        then = _held_then(window, snapshot, request, found)
        left_out = _left_out(window, snapshot, request, question, query, present)
    if indexes.unavailable:
        unavailable[VECTOR] = indexes.unavailable
    at_present = not exact and seq < indexes.indexed and TEXT in found.lanes
    return records.Recall(
        hits=hits,
        groups=groups,
        exact=exact,
        indexed=indexes.indexed,
        lanes=found.lanes,
        note=noted(window.spec, request.choice, then=then, at_present=at_present),
        unavailable=unavailable,
        pending=indexes.pending if present is None else _pending(window, request, query),
        space=query.name if query is not None and VECTOR in found.lanes else "",
        left_out=left_out,
        weak=weak,
    )


def _question(window: Window, request: Request) -> Question:
    """What is asked, and about whom, unless it is compared by words alone."""
    if set(request.lanes) == {TEXT}:
        return Question(request.text, request.asked, NOBODY, request.text, request.neighbours)
    with window.sight() as snapshot:
        named = entities_named(snapshot, request.text, window.spec.identity_types)
    return Question(request.text, request.asked, named, _about(request), request.neighbours)


def _about(request: Request) -> str:
    """What of a request is compared: where evidence is added up, for groups all but the times that it names, which are
    evidence of their own. Among turns, "three weeks ago" also brings near the one that tells a time."""
    by_several = len(set(request.lanes)) > 1 and request.fusion == CONVEX
    return without_times(request.text) if request.group is not None and by_several else request.text


def _as_vector(
    window: Window, request: Request, question: Question, *, exact: bool
) -> tuple[VectorQuery | None, dict[str, str]]:
    """The question as a vector, if it is compared by meaning, and of lanes that are not available why they are not."""
    if VECTOR not in request.lanes:
        return None, {}
    prepared = window.reader.vector_query(_meaning(question), window.place.moment.seq, exact=exact)
    return (prepared, {}) if isinstance(prepared, VectorQuery) else (None, {VECTOR: prepared})


def _meaning(question: Question) -> str:
    """What of a question is compared by meaning: all but the names of those it is about. Names mean nothing that a
    vector could hold, and would bring everything near in which they occur; entities are a lane of their own."""
    return without_names(question.about, question.named.names)


def _lanes(request: Request, text: TextLane, vector: VectorLane | None) -> Lanes:
    """Of the lanes that are wanted, those that are available."""
    return Lanes(text if TEXT in request.lanes else None, vector, ENTITY in request.lanes)


def _present(window: Window, request: Request, text: PresentTextLane, query: VectorQuery | None) -> _Indexes:
    """The present indexes."""
    vector = None if query is None else window.present_vectors(query, text.indexed)
    return _Indexes(_lanes(request, text, vector), text.indexed)


def _pending(window: Window, request: Request, query: VectorQuery | None) -> int:
    """How many texts of the store have no vector, if meaning is asked for, whether it could be compared or not."""
    if VECTOR not in request.lanes:
        return 0
    return window.reader.pending_vectors(None if query is None else query.space)


def _exact(
    window: Window, snapshot: VisibleSnapshot, request: Request, query: VectorQuery | None, space: Space | None = None
) -> _Indexes:
    """Scratch indexes of precisely what is seen. Without a query as a vector, ``space`` is the one that it should be
    of, if there is one."""
    text = window.exact_lane(snapshot, request.choice)
    if VECTOR not in request.lanes:
        return _Indexes(_lanes(request, text, None), text.indexed)
    if query is None:
        of = space or NO_SPACE
        waiting = window.exact_vectors(snapshot, of.number, of.dimension, request.choice).pending
        return _Indexes(_lanes(request, text, None), text.indexed, waiting)
    seen = window.exact_vectors(snapshot, query.space, query.dimension, request.choice)
    if not len(seen.vectors):
        return _Indexes(_lanes(request, text, None), text.indexed, seen.pending, NO_VECTORS)
    return _Indexes(_lanes(request, text, ExactVectorLane(seen, query)), text.indexed, seen.pending)


def _shown(
    window: Window, snapshot: VisibleSnapshot, request: Request, found: Found
) -> tuple[tuple[records.Hit, ...], tuple[records.Group, ...]]:
    """The hits as records, and the groups of them, if groups are asked for."""
    scope = Scope(snapshot.tables, searched_world(window, snapshot, request), snapshot.place.moment)
    asked = (window, snapshot, scope, request.text, request.choice)
    if found.groups is None:
        return tuple(hit_of(*asked, ranked) for ranked in found.ranked), ()
    groups = tuple(group_of(*asked, group) for group in found.groups)
    return tuple(hit for group in groups for hit in group.hits), groups


def _held_then(window: Window, snapshot: VisibleSnapshot, request: Request, found: Found) -> bool:
    """True if what is shown took the place of something that held at a time in the question, and only the present was
    asked for."""
    named = spans(request.text, request.asked) if request.choice == Choice() else ()
    if not named:
        return False
    earlier = Gate(snapshot, searched_world(window, snapshot, request), Choice(include_superseded=True))
    return held_then(snapshot, earlier, found.shown(), named)


def _left_out(
    window: Window,
    snapshot: VisibleSnapshot,
    request: Request,
    question: Question,
    query: VectorQuery | None,
    present: _Indexes | None,
) -> tuple[str, ...]:
    """Of what would be shown that is valid at some instant of a span, which is not valid throughout it."""
    period = request.choice.period
    if period is None or not period.throughout:
        return ()
    # At most one version is valid throughout a span, and then no other one is valid in it.
    wider = request._replace(choice=Choice(period=period.touched))
    indexes = present or _exact(window, snapshot, wider, query)
    found = retrieve(window, snapshot, wider, question, indexes.lanes)
    short = (hit.passed.node for hit in found.shown() if not period.admits(hit.passed.seen.validity))
    return tuple(snapshot.tables.node(node).lineage.hex() for node in dict.fromkeys(short))


def _searched(window: Window, snapshot: VisibleSnapshot, request: Request) -> int:
    """About how many worlds are searched: those inside if they are few, else all that are seen."""
    moment, top = snapshot.place
    inside = searched_world(window, snapshot, request)
    if inside == top:
        return snapshot.population()
    members = snapshot.members_known(inside) or members_below(snapshot.tables, inside, moment, _COUNTED)
    return snapshot.population() if members is None or len(members) > _COUNTED else len(members)
