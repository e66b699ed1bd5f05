"""Who lies inside worlds that were asked about before, kept from one read to the next.

To list ten thousand members takes longer than all else that a recall in them does, and mostly nothing has changed
since the one before. Containment changes by three kinds of events alone: what the commits since have linked is added,
and after an edge was retracted or closed the members are listed again. Validity is no event: for how long, on that
axis, the same edges are in force is kept with what was listed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.projections.indexes.node_set import Nodes
from worlddb.projections.tables.reads.asof import Moment, edge_seen
from worlddb.projections.tables.storage.schema import CONTAINS_CODE
from worlddb.query.snapshot.containment import Inhabitants, Stretch
from worlddb.query.snapshot.snapshot import Snapshot

MAX_WORLDS: Final = 16
"""Of how many worlds the interior is kept: of those that were asked about last."""
MAX_MEMBERS: Final = 200_000
"""A world with more members is listed anew, if it is listed at all."""
MAX_COMMITS: Final = 256
"""After more commits a world is listed anew."""
FEW_EVENTS: Final = 2_000
"""After more events, and more than ``EVENTS_FOR_A_MEMBER`` for each member, a world is listed anew, too: one commit may
have millions."""
EVENTS_FOR_A_MEMBER: Final = 2
"""So many events are read in the time in which one member is listed: 1.5 and 3.3 µs."""


class Interior(NamedTuple):
    """Who lies inside a world as of a commit, for all valid times of a stretch."""

    seq: int
    stretch: Stretch
    members: Nodes


class Interiors:
    """The interiors of the worlds of a store that were asked about last. Several threads may use it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: OrderedDict[int, Interior] = OrderedDict()

    def at(self, snapshot: Snapshot, world: int, moment: Moment) -> Nodes | None:
        """The members of a world at a moment, if they are known or easily found; ``None`` if they have to be listed."""
        with self._guard:
            kept = self._kept.get(world)
            if kept is not None:
                self._kept.move_to_end(world)
        if kept is None or not 0 <= moment.seq - kept.seq <= MAX_COMMITS or not kept.stretch.holds(moment.valid):
            return None
        if moment.seq == kept.seq:
            return kept.members
        level = _followed(snapshot, world, kept, moment)
        if level is None:
            return None
        self._keep(world, level)
        return level.members

    def keep(self, world: int, listed: Inhabitants) -> Nodes:
        """Keep what was listed to its end; gives it as it is kept."""
        members = Nodes(frozenset(listed.found))
        if listed.stretch is not None and len(members) <= MAX_MEMBERS:
            self._keep(world, Interior(listed.moment.seq, listed.stretch, members))
        return members

    def _keep(self, world: int, interior: Interior) -> None:
        with self._guard:
            known = self._kept.get(world)
            if known is None or known.seq <= interior.seq:
                self._kept[world] = interior
            self._kept.move_to_end(world)
            if len(self._kept) > MAX_WORLDS:
                self._kept.popitem(last=False)


def _followed(snapshot: Snapshot, world: int, kept: Interior, moment: Moment) -> Interior | None:
    """An interior as of a later commit; ``None`` if something may have left it, or if to list it is quicker."""
    log, tables = snapshot
    inside, stretch = {world, *kept.members}, kept.stretch
    known = len(inside)
    left = FEW_EVENTS + EVENTS_FOR_A_MEMBER * len(kept.members)
    for seq in range(kept.seq + 1, moment.seq + 1):
        left -= log.header(seq).event_count
        if left < 0:
            return None
        for event in log.events(seq).events:
            if not isinstance(event, ev.Linked | ev.Unlinked | ev.EdgeClosed):
                continue
            place = tables.place_of(event.edge)
            if place is None or place.type != CONTAINS_CODE or place.source not in inside:
                continue
            row = tables.edge(place)
            if not isinstance(event, ev.Linked) or row.closed > moment.seq:
                return None
            stretch = stretch.around(moment.valid, row.valid_from, row.valid_to)
            if row.target not in inside and edge_seen(tables, place, row, moment):
                # Whatever it contains may be older than the edge.
                below = Inhabitants(tables, row.target, moment)
                below.listed()
                if below.stretch is None:
                    return None
                stretch = stretch.within(below.stretch)
                inside |= {row.target} | below.found
    members = kept.members if len(inside) == known else Nodes(frozenset(inside - {world}))
    return Interior(moment.seq, stretch, members)
