"""Expansion from hits to their neighbours (Hydra DB §2.6.4): what an edge joins to a good hit is a candidate too.

A note about a meeting finds the decision that was derived from it, in whose words nothing speaks of the meeting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from worlddb.projections.tables.reads.asof import edge_seen
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, EDGE_TYPE_CODES, EdgePlace, EdgeRow
from worlddb.query.candidates import Gate, Passed
from worlddb.query.sight import Sight

LENT_BY_EDGE: Final = 0.5
"""What share of its evidence a hit lends what an edge joins to it."""
MAX_EDGES: Final = 64
"""Of each type and direction the first so many edges of a hit are followed; what more have in common tells little."""


def neighbours(snapshot: Sight, gate: Gate, leaders: Iterable[Passed]) -> dict[int, dict[int, float]]:
    """What edges of any type but ``contains`` join to the leaders, either way, with the shares lent, by leader.

    Edges and worlds are those that the view sees; worlds outside of the one that is searched are left out.
    """
    codes = _codes(snapshot)
    found: dict[int, dict[int, float]] = {}
    for leader in leaders:
        for node in _joined(snapshot, leader.node, codes):
            if node != leader.node and gate.seen(node) is not None:
                found.setdefault(node, {})[leader.node] = LENT_BY_EDGE
    return found


def in_order(joined: Mapping[int, Mapping[int, float]], own: Mapping[int, float]) -> list[int]:
    """Neighbours by what is lent them, most first, ties in log order."""
    best = {node: max(share * own[leader] for leader, share in leaders.items()) for node, leaders in joined.items()}
    return sorted(best, key=lambda node: (-round(best[node], 6), node))


def _codes(snapshot: Sight) -> list[int]:
    """The edge types that there may be here."""
    registered = (snapshot.tables.type_code(one.type) for one in snapshot.registered(ended=True))
    codes = {*EDGE_TYPE_CODES.values(), *(code for code in registered if code is not None)}
    return sorted(codes - {CONTAINS_CODE})


def _joined(snapshot: Sight, node: int, codes: Iterable[int]) -> Iterator[int]:
    """The other ends of the edges of a world."""
    tables, moment = snapshot.tables, snapshot.place.moment

    def in_force(edges: Iterable[tuple[EdgePlace, EdgeRow]]) -> Iterator[tuple[EdgePlace, EdgeRow]]:
        return islice((each for each in edges if edge_seen(tables, *each, moment)), MAX_EDGES)

    for code in codes:
        yield from (row.target for _, row in in_force(tables.outgoing(node, code, known_by=moment.seq)))
        yield from (place.source for place, _ in in_force(tables.incoming(node, code, known_by=moment.seq)))
