"""Recall: what answers a text, with the reason that it was found. Lanes propose, the view decides (laws 7, 9, 12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from worlddb.log.model.errors import InputError
from worlddb.log.model.limits import checked_number
from worlddb.projections.tables.asof import SeenVersion, newest_version, version_at
from worlddb.projections.tables.lookup import find_node
from worlddb.projections.tables.schema import ROOT_NODE
from worlddb.query import build, records
from worlddb.query.lanes.text import ExactTextLane, TextLane, matched
from worlddb.query.references import as_ref
from worlddb.query.scope import Scope, containers_at, members_below
from worlddb.query.snapshot import Snapshot

if TYPE_CHECKING:
    from worlddb.query.view import View

MAX_K: Final = 10_000
SMALL_WORLD: Final = 2_000
"""Up to this many members, a world's filter is pushed into the index; above, hits are filtered afterwards."""
_OVERFETCH: Final = 4
_FIRST_FETCH: Final = 64


class Passed(NamedTuple):
    """A hit of a lane that the view lets through."""

    node: int
    seen: SeenVersion
    score: float


def recall(view: View, text: str, *, world: Any, k: int, exact: bool, include_superseded: bool) -> records.Recall:
    """The ``k`` worlds in the view that answer ``text`` best, inside ``world`` if one is given.

    ``exact`` searches a scratch index of precisely what the view sees, so that the ranking is the same on any store
    with the same history; otherwise candidates and term statistics come from the present index.

    Raises:
        InputError: ``k`` is not between 1 and 10,000, or ``text`` is no text.
    """
    if not isinstance(text, str):
        raise InputError(f"The query is {type(text).__name__}, not text", "Give it as str")
    checked_number(k, "k", 1, MAX_K)
    present = view.reader.text_lane()
    if not exact:
        # The index catches up here, outside of any transaction.
        present.search(text, limit=1, through=view.seq)
    with view.reader.snapshot() as snapshot:
        lane = ExactTextLane(view, snapshot, include_superseded) if exact else present
        inside = ROOT_NODE if world is None else find_node(snapshot.tables, as_ref(world), view.seq)
        passed = []
        for hit in _passing(view, snapshot, lane, text, inside, include_superseded):
            passed.append(hit)
            if len(passed) == k:
                break
        hits = tuple(_hit(view, snapshot, text, rank, found) for rank, found in enumerate(passed, 1))
    note = (
        ""
        if exact or view.seq >= present.indexed
        else (
            "term statistics are the present index's, not the view's; ask with exact=True for a ranking that a replayed"
            " store would give"
        )
    )
    return records.Recall(hits=hits, exact=exact, indexed=lane.indexed, lanes=("text",), note=note)


def _passing(
    view: View, snapshot: Snapshot, lane: TextLane, text: str, inside: int, include_superseded: bool
) -> Iterator[Passed]:
    """Hits in rank order that are valid in the view and inside the world; fetches more until there are no more."""
    scope = Scope(snapshot.tables, inside, view.moment)
    nodes = None
    if inside != ROOT_NODE:
        nodes = members_below(snapshot.tables, inside, view.moment, SMALL_WORLD)
    limit, done = _FIRST_FETCH, 0
    given: set[int] = set()
    while True:
        hits = lane.search(text, limit=limit, through=view.seq, nodes=nodes)
        for hit in hits[done:]:
            seen = version_at(snapshot.tables, hit.node, view.moment)
            if seen is None and include_superseded:
                seen = newest_version(snapshot.tables, hit.node, view.seq)
            if seen is None or seen.number != hit.version or hit.node in given or not scope.holds(hit.node):
                continue
            given.add(hit.node)
            yield Passed(hit.node, seen, hit.score)
        if len(hits) < limit:
            return
        done, limit = len(hits), limit * _OVERFETCH


def _hit(view: View, snapshot: Snapshot, text: str, rank: int, found: Passed) -> records.Hit:
    world = build.world_of(snapshot, found.node, found.seen, view.moment, view.spec)
    containers = containers_at(snapshot.tables, found.node, view.moment)
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
