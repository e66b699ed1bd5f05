"""Recall: what answers a text, with the reason that it was found. Lanes propose, the view decides (laws 7, 9, 12)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import checked_number
from worlddb.projections.tables.asof import SeenVersion, newest_version, version_at
from worlddb.projections.tables.lookup import find_node
from worlddb.projections.tables.names import NO_TYPE
from worlddb.query import build, records
from worlddb.query.lanes.text import TextLane, matched
from worlddb.query.references import as_ref
from worlddb.query.scope import Scope, containers_at, members_below
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec
from worlddb.query.window import Window

MAX_K: Final = 10_000
SMALL_WORLD: Final = 2_000
"""Up to this many members, a world's filter is pushed into the index; above, hits are filtered afterwards."""
_OVERFETCH: Final = 4
_FIRST_FETCH: Final = 64

_STATISTICS: Final = (
    "term statistics are the present index's, not the view's; ask with exact=True for a ranking that a replayed store"
    " would give"
)
_REWRITES: Final = (
    "the edge types {} change what is shown; their handlers are not here, and what was registered of them was followed"
)


class Passed(NamedTuple):
    """A hit of a lane that the view lets through."""

    node: int
    seen: SeenVersion
    score: float


def recall(window: Window, text: str, *, world: Any, k: int, exact: bool, include_superseded: bool) -> records.Recall:
    """The ``k`` worlds in the view that answer ``text`` best, inside ``world`` if one is given.

    ``exact`` searches a scratch index of precisely what the view sees, so that the ranking is the same on any store
    with the same history; otherwise candidates and term statistics come from the present index. A confined view is
    always exact: how rare a word is in the present index tells of what lies outside.

    Raises:
        InputError: ``k`` is not between 1 and 10,000, or ``text`` is no text.
    """
    if not isinstance(text, str):
        raise InputError(f"The query is {type(text).__name__}, not text", "Give it as str")
    checked_number(k, "k", 1, MAX_K)
    seq = window.place.moment.seq
    if exact or window.place.is_confined:
        with window.sight() as snapshot:
            inside = _inside(snapshot, world)
            lane = window.exact_lane(snapshot, include_superseded)
            hits = _best(window, snapshot, lane, text, inside, k, include_superseded)
        note = _note(window.spec, at_present=False)
        return records.Recall(hits=hits, exact=True, indexed=lane.indexed, lanes=("text",), note=note)
    present = window.present_lane()
    # The index catches up here, outside of any transaction.
    present.search(text, limit=1, through=seq)
    with window.sight() as snapshot:
        hits = _best(window, snapshot, present, text, _inside(snapshot, world), k, include_superseded)
    note = _note(window.spec, at_present=seq < present.indexed)
    return records.Recall(hits=hits, exact=False, indexed=present.indexed, lanes=("text",), note=note)


def _note(spec: Spec, *, at_present: bool) -> str:
    """What a reader of the answer should know about how it was made."""
    notes = [_STATISTICS] if at_present else []
    unseen = [name for name in spec.missing_types if name in spec.rewriting_types]
    if unseen:
        notes.append(_REWRITES.format(", ".join(unseen)))
    return "; ".join(notes)


def _inside(snapshot: Sight, world: Any) -> int:
    """The world that is searched: the one given, else the outermost."""
    moment, top = snapshot.place
    return top if world is None else find_node(snapshot.tables, as_ref(world), moment.seq)


def _best(
    window: Window, snapshot: Sight, lane: TextLane, text: str, inside: int, k: int, include_superseded: bool
) -> tuple[records.Hit, ...]:
    """The first ``k`` hits that pass."""
    passing = islice(_passing(snapshot, lane, text, inside, include_superseded), k)
    return tuple(_hit(window, snapshot, text, rank, found) for rank, found in enumerate(passing, 1))


def _passing(snapshot: Sight, lane: TextLane, text: str, inside: int, include_superseded: bool) -> Iterator[Passed]:
    """Hits in rank order that are valid in the view and inside the world; fetches more until there are no more."""
    tables, (moment, top) = snapshot.tables, snapshot.place
    scope = Scope(tables, inside, moment)
    nodes = None if inside == top else members_below(tables, inside, moment, SMALL_WORLD)
    limit, done = _FIRST_FETCH, 0
    given: set[int] = set()
    while True:
        hits = lane.search(text, limit=limit, through=moment.seq, nodes=nodes)
        for hit in hits[done:]:
            if hit.node in given or not scope.holds(hit.node):
                continue
            seen = version_at(tables, hit.node, moment)
            if seen is None and include_superseded:
                seen = newest_version(tables, hit.node, moment.seq)
            if seen is None or seen.number != hit.version:
                continue
            if seen.row.type == NO_TYPE:
                continue  # Erased, and another process's index still finds it.
            given.add(hit.node)
            yield Passed(hit.node, seen, hit.score)
        if len(hits) < limit:
            return
        done, limit = len(hits), limit * _OVERFETCH


def _hit(window: Window, snapshot: Sight, text: str, rank: int, found: Passed) -> records.Hit:
    world = build.world_of(snapshot, found.node, found.seen, window.place.moment, window.spec)
    containers = containers_at(snapshot.tables, found.node, window.place.moment)
    words = matched(text, world.name, world.content)
    return records.Hit(
        ref=world.ref,
        version=world.version,
        type=world.type,
        name=world.name,
        content=world.content,
        score=round(found.score, 6),
        lanes={"text": rank},
        reason=f"text: {', '.join(words)}" if words else "text",
        world=snapshot.tables.node(containers[0]).lineage.hex() if containers else "",
        valid=world.valid,
        seq=world.seq,
        ingested_at=world.ingested_at,
        author=world.author,
        source=world.source,
        conflicts=world.conflicts,
    )
