"""What the turns of a conversation lend each other: a reply is found by what it replies to.

"Yes, the blue one" shares no word with the question that it answers, but the turn before it does. So the two turns that
follow a good hit in its session are candidates too, and have a share of what speaks for that hit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads.asof import edge_seen
from worlddb.projections.tables.storage.schema import CONTAINS_CODE
from worlddb.query.candidates import Gate, Passed
from worlddb.query.sight import Sight

LENT: Final = (0.7, 0.65)
"""What share of its evidence a turn lends the one after it, and the one after that."""
LEADERS: Final = 16
"""Of the first so many hits of each lane the following turns are looked at, or of as many as hits are wanted."""
FIRST_PLACES: Final = 10
"""So many of a session's turns are told apart by their place."""
_TURN: Final = type_digest("Turn")
_LOOK_AHEAD: Final = 8
"""How many entries of a session are read in search of the turns that follow."""


def followers(snapshot: Sight, gate: Gate, leaders: Iterable[Passed]) -> dict[int, dict[int, float]]:
    """The turns after the leaders in their sessions, each with the shares that it is lent, by leader."""
    found: dict[int, dict[int, float]] = {}
    for leader in leaders:
        if leader.seen.row.type == _TURN:
            for share, node in zip(LENT, _after(snapshot, leader.node), strict=False):
                seen = gate.seen(node)
                if seen is not None and seen.row.type == _TURN:
                    found.setdefault(node, {})[leader.node] = share
    return found


def lent(own: Mapping[int, float], following: Mapping[int, Mapping[int, float]]) -> dict[int, float]:
    """How much more than its own evidence each turn has by the best of those before it."""
    return {
        node: max(0.0, *(share * own[leader] - own[node] for leader, share in leaders.items()))
        for node, leaders in following.items()
    }


def places(snapshot: Sight, hits: Iterable[Passed]) -> dict[int, int]:
    """How many joined its session before each turn; those whose place is :data:`FIRST_PLACES` or later are told apart
    no more. What is no turn has no place."""
    tables, moment = snapshot.tables, snapshot.place.moment
    sessions: dict[int, set[int]] = {}
    for hit in hits:
        if hit.seen.row.type == _TURN:
            for place in snapshot.placings(hit.node)[:1]:
                sessions.setdefault(place.source, set()).add(hit.node)
    found: dict[int, int] = {}
    for container, turns in sessions.items():
        joined = islice(tables.outgoing(container, CONTAINS_CODE), FIRST_PLACES)
        before = 0
        for place, row in joined:
            if edge_seen(tables, place, row, moment):
                if row.target in turns:
                    found[row.target] = before
                    turns.remove(row.target)
                    if not turns:
                        break
                before += 1
        found.update(dict.fromkeys(turns, FIRST_PLACES))
    return found


def _after(snapshot: Sight, node: int) -> Iterator[int]:
    """What joined the containers of a node after it, nearest first."""
    tables, moment = snapshot.tables, snapshot.place.moment
    for place in snapshot.placings(node):
        ahead = islice(tables.outgoing(place.source, CONTAINS_CODE, place.edge), _LOOK_AHEAD)
        yield from (each.target for at, each in ahead if edge_seen(tables, at, each, moment))
