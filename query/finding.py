"""The best candidates of a recall: of all worlds, of each identity the best, or in groups by what contains them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from worlddb.query.candidates import Gate, Passed
from worlddb.query.change import asks_for_change
from worlddb.query.competing import newest_first, with_superseded
from worlddb.query.fusion import CONVEX
from worlddb.query.groups import Grouped, grouped
from worlddb.query.lanes.text import TextLane
from worlddb.query.naming import named_node
from worlddb.query.period import Choice
from worlddb.query.ranking import (
    DEPTH,
    LANES,
    TEXT,
    VECTOR,
    WIDE_ALONE,
    Lanes,
    Question,
    Ranked,
    by_meaning,
    by_words,
    depth_for,
    fused,
)
from worlddb.query.request import MAX_K, Request
from worlddb.query.second_look import all_looked_at_again, looked_at_again
from worlddb.query.sight import Sight
from worlddb.query.unify import Classes
from worlddb.query.window import Window

_MORE: Final = 4
"""How many times as many hits as are wanted are looked at, where some are of one identity or there are few groups."""
_GROUPED: Final = 512
"""For how many hits candidates are looked at, at most, where there are too few groups of them; or 16 for each group."""


class Found(NamedTuple):
    """The hits, the lanes that they come from, and the groups of them, if groups are asked for."""

    ranked: list[Ranked]
    lanes: tuple[str, ...]
    groups: list[Grouped] | None = None

    def shown(self) -> Iterator[Ranked]:
        """The hits in the order in which they are shown."""
        return iter(self.ranked) if self.groups is None else (hit for group in self.groups for hit in group.hits)


def begin(window: Window, request: Request, about: str, text: TextLane) -> None:
    """Begin what the text lane is going to be asked first, if that is known before anything was looked at."""
    if request.world is None and not window.unify and TEXT in request.lanes and VECTOR in request.lanes:
        text.begin(about, limit=depth_for(request.k), through=window.place.moment.seq)


def find_best(window: Window, snapshot: Sight, request: Request, question: Question, lanes: Lanes) -> Found:
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


def searched_world(window: Window, snapshot: Sight, request: Request) -> int:
    """The world that is searched."""
    top = snapshot.place.top
    return top if request.world is None else named_node(snapshot, window.spec, request.world, unify=window.unify)


def _find_groups(window: Window, snapshot: Sight, request: Request, question: Question, lanes: Lanes) -> Found:
    """The best groups of all candidates, of which more are asked for while there are too few groups."""
    asked, most = request.k, min(MAX_K, max(_GROUPED, _MORE * _MORE * request.k))
    inside, before = searched_world(window, snapshot, request), -1
    while True:
        found = _find(window, snapshot, request._replace(k=asked), question, lanes)
        classes = Classes(snapshot, window.spec) if window.unify else None
        groups = grouped(snapshot, inside, found.ranked, classes)[: request.k]
        if len(groups) == request.k or len(found.ranked) == before or asked == most:
            return found._replace(groups=[group._replace(hits=group.hits[: request.group]) for group in groups])
        asked, before = min(most, _MORE * max(asked, DEPTH // 2)), len(found.ranked)


def _find(window: Window, snapshot: Sight, request: Request, question: Question, lanes: Lanes) -> Found:
    """The best candidates of the lanes, the newest of those that compete first; all that were looked at where groups of
    them are wanted."""
    gate = Gate(snapshot, searched_world(window, snapshot, request), request.choice)
    found = _ranked(snapshot, gate, request, question, lanes)
    ranked = newest_first(snapshot, window.spec, gate, found.ranked, request.k)
    if request.choice.earlier and asks_for_change(request.text):
        before = Gate(snapshot, gate.inside, Choice(include_superseded=True))
        ranked = with_superseded(snapshot, before, ranked, request.k)
    return found._replace(ranked=ranked if request.group is not None else ranked[: request.k])


def _ranked(snapshot: Sight, gate: Gate, request: Request, question: Question, lanes: Lanes) -> Found:
    """The best candidates as the lanes rank them. A lane alone is ranked by its own scores."""
    seq, k = snapshot.place.moment.seq, request.k
    of_one = k if request.group is None else depth_for(k)
    text, vector, entity = lanes
    if text is not None and vector is None and not entity and not request.neighbours:
        worded = partial(by_words, text, request.text, seq)
        return Found(_as_ranked(TEXT, islice(gate.passing(worded, of_one), of_one)), (TEXT,))
    if vector is not None and request.lanes == (VECTOR,) and not request.neighbours:
        near = partial(by_meaning, vector, wide=WIDE_ALONE)
        return Found(_as_ranked(VECTOR, islice(gate.passing(near, of_one), of_one)), (VECTOR,))
    names = tuple(lane for lane, asked in zip(LANES, (text, vector, entity), strict=True) if asked)
    best = fused(snapshot, gate, lanes, question, k, request.fusion)
    if request.fusion != CONVEX:
        return Found(list(best if request.group is not None else islice(best, k)), names)
    if request.group is not None:
        return Found(all_looked_at_again(snapshot, request.text, best, k), names)
    return Found(looked_at_again(snapshot, request.text, best, k)[:k], names)


def _as_ranked(lane: str, passing: Iterator[Passed]) -> list[Ranked]:
    return [Ranked(passed, passed.score, {lane: rank}, {lane: passed.score}) for rank, passed in enumerate(passing, 1)]
