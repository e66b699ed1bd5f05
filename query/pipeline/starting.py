"""Start sets: from references, from a text, from a vector or from everything, in this order of preference (§4.1)."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from worlddb.query.candidates import Gate
from worlddb.query.composed import nearest_worlds
from worlddb.query.fusion import CONVEX
from worlddb.query.lanes.vector import ExactVectorLane, VectorLane
from worlddb.query.naming import named_node
from worlddb.query.period import Choice
from worlddb.query.pipeline.operators import Selection
from worlddb.query.pipeline.value import Start
from worlddb.query.ranking import WIDE_ALONE, by_meaning
from worlddb.query.recall import NO_VECTORS, recall
from worlddb.query.request import Request
from worlddb.query.unify import Classes
from worlddb.query.window import Window

_CHOSEN: Final = {
    "seeds": "seeds come first",
    "text": "a text comes first",
    "everything": "there is no text and no vector to compare with",
}
"""Why the planner passed over what else was given, by what it chose."""


class Ranked(NamedTuple):
    """The worlds of a ranked start, best first, and what the ranking rests on. There are none of other starts."""

    scores: dict[int, float]
    exact: bool
    note: str


def ranked(window: Window, start: Start, *, superseded: bool) -> Ranked:
    """What a text or a vector finds, in transactions of its own."""
    if start.composed is not None and start.chosen in ("text", "vector"):
        return _by_interior(window, start, start.composed)
    if start.chosen == "text":
        return _by_text(window, start, Choice(superseded))
    if start.chosen == "vector":
        return _by_vector(window, start, Choice(superseded))
    return Ranked({}, True, "")


def begin(start: Start, found: Ranked, selection: Selection) -> str:
    """Fill a selection with the start set; what a reader of the explanation should know of it."""
    ground = selection.ground
    notes = [_passed_over(start)] if start.ignored else []
    if start.chosen == "seeds":
        notes += _from_seeds(start.seeds or (), selection)
    else:
        nodes = found.scores if start.chosen != "everything" else ground.sight.inhabitants(ground.inside)
        for node in nodes:
            seen = ground.seen(node)
            if seen is not None:
                selection.add(node, seen)
    return "; ".join(notes)


def _passed_over(start: Start) -> str:
    """What the planner says of what else was given."""
    *others, last = start.ignored
    which = f"{', '.join(others)} and {last} were" if others else f"{last} was"
    return f"{which} not looked at: {_CHOSEN[start.chosen]}"


def _from_seeds(seeds: tuple[str, ...], selection: Selection) -> list[str]:
    """Seeds that are not valid, or lie outside, are left out, as they would be of any answer."""
    ground = selection.ground
    left_out = 0
    for ref in seeds:
        node = ground.named(ref)
        seen = ground.seen(node) if ground.scope.sees(node) else None
        if seen is None:
            left_out += 1
        else:
            selection.add(node, seen)
    return [f"{left_out} of {len(seeds)} not seen here"] if left_out else []


def _by_text(window: Window, start: Start, choice: Choice) -> Ranked:
    answer = recall(
        window,
        Request(
            text=start.text or "",
            world=start.world,
            k=start.k,
            exact=start.exact,
            choice=choice,
            lanes=start.lanes,
            fusion=CONVEX,
            asked=window.place.moment.valid,
        ),
    )
    with window.sight() as sight:
        numbers = [(sight.tables.node_of(bytes.fromhex(hit.ref)), hit.score) for hit in answer.hits]
    missing = [f"{lane}: {reason}" for lane, reason in answer.unavailable.items()]
    notes = [answer.note, *missing]
    scores = {node: score for node, score in numbers if node is not None}
    return Ranked(scores, answer.exact, "; ".join(note for note in notes if note))


def _by_interior(window: Window, start: Start, pool: str) -> Ranked:
    """The worlds that are as a whole nearest to a text or a vector; always by precisely what the view sees."""
    reader, seq = window.reader, window.place.moment.seq
    by_text = start.chosen == "text"
    if by_text:
        query = reader.vector_query(start.text or "", seq, exact=True)
    else:
        query = reader.vector_given(start.vector or (), seq, exact=True)
    if isinstance(query, str):
        return Ranked({}, True, query)
    return Ranked(nearest_worlds(window, query, start.world, start.k, pool), True, "")


def _by_vector(window: Window, start: Start, choice: Choice) -> Ranked:
    exact = start.exact or window.place.is_confined
    query = window.reader.vector_given(start.vector or (), window.place.moment.seq, exact=exact)
    if isinstance(query, str):
        return Ranked({}, exact, query)
    lane: VectorLane | None = None if exact else window.present_vectors(query, window.reader.head())
    with window.sight() as sight:
        top = sight.place.top
        inside = top if start.world is None else named_node(sight, window.spec, start.world, unify=window.unify)
        if lane is None:
            seen = window.exact_vectors(sight, query.space, query.dimension, choice)
            if not len(seen.vectors):
                return Ranked({}, exact, NO_VECTORS)
            lane = ExactVectorLane(seen, query)
        passing = Gate(sight, inside, choice).passing(partial(by_meaning, lane, wide=WIDE_ALONE), start.k)
        classes = Classes(sight, window.spec) if window.unify else None
        new = (passed for passed in passing if classes is None or classes.is_new(passed.node))
        scores = {passed.node: round(passed.score, 6) for passed in islice(new, start.k)}
    return Ranked(scores, exact, "")
