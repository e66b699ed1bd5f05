"""Facts that compete: the newest comes first, with what it took the place of where a question asks for change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from worlddb.log.model.times import Interval
from worlddb.projections.tables.reads.asof import SeenVersion, edge_seen
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES
from worlddb.query.candidates import Gate, Passed
from worlddb.query.conflicts import conflicts_of
from worlddb.query.period import Period, versions_in
from worlddb.query.ranking import Ranked
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec

NEWER: Final = "newer"
"""What a hit owes to an older one that it contradicts, among its scores."""
SUPERSEDED: Final = "superseded"
"""As much of a hit that is shown because one before it has taken its place."""
_SUPERSEDES: Final = EDGE_TYPE_CODES["supersedes"]
_MAX_SUPERSEDED: Final = 3
"""How many worlds are shown behind the one that took their place."""


def newest_first(sight: Sight, spec: Spec, gate: Gate, ranked: Sequence[Ranked], k: int) -> list[Ranked]:
    """The hits, and before each of the first ``k`` whatever newer one contradicts it, found by the question or not.

    A newer fact is given the score of the older one, what is missing under :data:`NEWER`. One whose text was erased
    says nothing, and is left out.
    """
    period = gate.choice.period
    hits = {each.passed.node: each for each in ranked}
    level = dict.fromkeys(hits, 0)
    pending = [each.passed.node for each in ranked[:k]]
    for node in pending:
        hit, own_seen = hits[node], gate.seen(node)
        for rival in _rivals(sight, spec, node, period):
            seen = gate.seen(rival)
            if seen is None or own_seen is None or not _is_newer(seen, own_seen) or sight.body(seen.row) is None:
                continue
            own = hits.get(rival) or Ranked(Passed(rival, seen, 0.0), 0.0, {}, {})
            if (round(own.score, 6), level.get(rival, 0)) > (round(hit.score, 6), level[node]):
                continue
            lifted = {**own.parts, NEWER: own.parts.get(NEWER, 0.0) + hit.score - own.score}
            hits[rival] = own._replace(score=hit.score, parts=lifted)
            level[rival] = level[node] + 1
            pending.append(rival)
    places = {each.passed.node: place for place, each in enumerate(ranked)}
    # What is new stands behind all others, each of which keeps its place among those that score as much.
    last = len(places)
    order = sorted(hits, key=lambda node: (-round(hits[node].score, 6), -level[node], places.get(node, last), node))
    return [hits[node] for node in order]


def with_superseded(sight: Sight, earlier: Gate, ranked: Sequence[Ranked], k: int) -> list[Ranked]:
    """The hits, each of the first ``k`` followed by the worlds that it has superseded, as ``earlier`` lets them
    through."""
    found: dict[int, Ranked] = {}
    for place, hit in enumerate(ranked):
        found.setdefault(hit.passed.node, hit)
        for node, seen in _superseded(sight, earlier, hit.passed.node) if place < k else ():
            found.setdefault(node, Ranked(Passed(node, seen, 0.0), hit.score, {}, {SUPERSEDED: hit.score}))
    return list(found.values())


def held_then(sight: Sight, earlier: Gate, shown: Iterable[Ranked], spans: Iterable[tuple[int, int]]) -> bool:
    """True if what is shown took the place of something that held at one of these times, all of them past; as
    ``earlier`` lets it through."""
    tables, moment = sight.tables, sight.place.moment
    past = [Period(Interval(*span), throughout=False) for span in spans if span[1] <= moment.valid]
    if not past:
        return False
    for hit in shown:
        before = (seen for _, seen in _superseded(sight, earlier, hit.passed.node))
        if any(period.admits(seen.validity) for seen in before for period in past):
            return True
        own = (seen for period in past for seen in versions_in(tables, hit.passed.node, moment, period))
        if any(seen.number != hit.passed.seen.number and sight.body(seen.row) is not None for seen in own):
            return True
    return False


def _rivals(sight: Sight, spec: Spec, node: int, period: Period | None) -> Iterator[int]:
    for place, row in conflicts_of(sight, node, sight.place.moment, spec, period):
        yield row.target if place.source == node else place.source


def _is_newer(one: SeenVersion, other: SeenVersion) -> bool:
    """By when it begins to be true, then by when it was written."""
    return (one.validity.start, one.row.seq) > (other.validity.start, other.row.seq)


def _superseded(sight: Sight, earlier: Gate, node: int) -> Iterator[tuple[int, SeenVersion]]:
    """What a world has superseded, directly or through others, nearest first, as far as it is let through."""
    tables, moment = sight.tables, sight.place.moment
    met, pending, given = {node}, [node], 0
    for here in pending:
        for place, row in tables.outgoing(here, _SUPERSEDES, known_by=moment.seq):
            if row.target in met or not edge_seen(tables, place, row, moment):
                continue
            met.add(row.target)
            pending.append(row.target)
            seen = earlier.seen(row.target)
            if seen is not None and sight.body(seen.row) is not None:
                yield row.target, seen
                given += 1
            if given == _MAX_SUPERSEDED:
                return
