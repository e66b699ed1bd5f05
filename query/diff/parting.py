"""How two histories stand to each other, and what happened after the point where they part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES
from worlddb.projections.tables.schema import CONTAINS
from worlddb.query.diff.side import Side, Sides
from worlddb.query.journal import Entry

MAX_EVENTS: Final = 100
"""How many events a world lists, those of its members included."""


def last_common(sides: Sides) -> int:
    """The last commit that two histories share, found by halving: equal chain hashes mean equal histories."""
    low, high = 0, min(side.seq for side in sides)
    if _shared(sides, high):
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if _shared(sides, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _shared(sides: Sides, seq: int) -> bool:
    """A header names the chain hash before it: where headers agree, so do histories, whatever was altered since."""
    one, other = (side.stored_header(seq) for side in sides)
    return one[0] == other[0] or one[1] == other[1]


def relation_of(sides: Sides, parted: int) -> str:
    """One of :data:`worlddb.query.diff.records.HISTORY_RELATIONS`."""
    one, other = sides
    if parted == one.seq == other.seq:
        return "same"
    if not parted and one.store_id() != other.store_id():
        return "strangers"
    if parted == other.seq:
        return "ahead"
    return "behind" if parted == one.seq else "relatives"


class Told(NamedTuple):
    """An event, and the side whose history has it."""

    side: str
    entry: Entry

    @property
    def place(self) -> tuple[str, int, int]:
        """What tells it from every other event of a comparison."""
        return self.side, self.entry.seq, self.entry.index

    def document(self) -> dict[str, Any]:
        """The event as it is reported: which one it is, who did it, when and why."""
        entry = self.entry
        return {
            "side": self.side,
            "seq": entry.seq,
            "index": entry.index,
            "event": entry.event,
            "author": entry.author,
            "ingested_at": entry.ingested_at,
            "why": entry.why,
        }


class Since:
    """The events of both sides after the commit where they part, by everything that they name; none for strangers."""

    def __init__(self, sides: Sides, parted: int | None) -> None:
        self._by_ref: defaultdict[str, list[Told]] = defaultdict(list)
        self.others: list[Told] = []
        """Those that no world, edge or proposal shows the effect of."""
        self.commits: dict[str, dict[int, list[Entry]]] = {side.label: {} for side in sides}
        """The events of each side by their commits."""
        for side in sides if parted is not None else ():
            self._read(side, parted or 0)

    def _read(self, side: Side, parted: int) -> None:
        for seq in range(parted + 1, side.seq + 1):
            self.commits[side.label][seq] = list(side.entries(seq))
            for entry in self.commits[side.label][seq]:
                told = Told(side.label, entry)
                for ref in dict.fromkeys((*entry.refs, *_worlds_of_edge(side, entry))):
                    self._by_ref[ref].append(told)
                if entry.event not in SHOWN_EVENTS:
                    self.others.append(told)

    def naming(self, ref: bytes) -> list[Told]:
        """The events that name a world, an edge or a proposal."""
        return self._by_ref.get(ref.hex(), [])

    def worlds(self) -> list[bytes]:
        """Everything of the length of a lineage that events name, in the order in which they do."""
        return [bytes.fromhex(ref) for ref in self._by_ref if len(ref) == 2 * LINEAGE_BYTES]

    def edges(self) -> list[bytes]:
        """Everything of the length of an edge's or proposal's id."""
        return [bytes.fromhex(ref) for ref in self._by_ref if len(ref) == 2 * HASH_BYTES]

    def about(self, lineage: bytes, others: Iterable[bytes]) -> list[Told]:
        """The events that tell of a world itself, and those that name one of some edges and proposals."""
        ref = lineage.hex()
        found = {told.place: told for told in self.naming(lineage) if _is_about(told.entry, ref)}
        for other in others:
            found.update((told.place, told) for told in self.naming(other))
        return [found[place] for place in sorted(found)]


SHOWN_EVENTS: Final = frozenset(
    {
        *("store", "created", "revised", "closed", "ended", "named", "unnamed"),
        *("linked", "unlinked", "edge_closed", "proposed", "decided"),
    }
)
"""Events whose effects the comparison reads from worlds, edges and proposals; every other event is listed itself."""


def _worlds_of_edge(side: Side, entry: Entry) -> tuple[str, ...]:
    """The worlds that tell of an edge, for events that name the edge alone."""
    if entry.event not in ("unlinked", "edge_closed"):
        return ()
    edge = side.edge(bytes.fromhex(entry.refs[0]))
    if edge is None:
        return ()
    return (edge.source.hex(), edge.target.hex()) if edge.type == CONTAINS else (edge.home.hex(),)


def _is_about(entry: Entry, ref: str) -> bool:
    """False for an edge that merely begins or ends at a world: it belongs to the world that is its home."""
    if entry.event != "linked":
        return True
    if entry.data["type"] == CONTAINS:
        return ref in (entry.data["source"], entry.data["target"])
    return bool(entry.data["home"] == ref)
