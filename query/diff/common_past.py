"""Find the last commit that two histories share, and the events after it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.diff.diff_side import LogSides, Side
from worlddb.query.history.journal import Entry

MAX_EVENTS: Final = 100
"""How many events a world lists, those of its members included."""


def last_common(sides: LogSides) -> int:
    """Find the last commit that two logs share, by halving: equal chain hashes, equal histories."""
    low, high = 0, min(side.seq for side in sides)
    if _shares_history(sides, high):
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if _shares_history(sides, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _shares_history(sides: LogSides, seq: int) -> bool:
    """True if two headers agree, and with them the histories before them.

    A header names the chain hash before it, whatever was altered since.
    """
    one, other = (side.stored_header(seq) for side in sides)
    return one[0] == other[0] or one[1] == other[1]


def relation_of(sides: LogSides, parted: int) -> str:
    """One of :data:`worlddb.query.diff.diff_side.HISTORY_RELATIONS`."""
    one, other = sides
    if parted == one.seq == other.seq:
        return "same"
    if not parted and one.store_id() != other.store_id():
        return "strangers"
    if parted == other.seq:
        return "ahead"
    return "behind" if parted == one.seq else "relatives"


class LaterEvent(NamedTuple):
    """An event, and the label of the side whose history has it."""

    side: str
    entry: Entry
    worlds: tuple[str, ...] = ()
    """The worlds that show an edge's end or retraction, of an event that names the edge alone."""

    @property
    def place(self) -> tuple[str, int, int]:
        """Its identity among the events of a comparison."""
        return self.side, self.entry.seq, self.entry.index

    def document(self) -> dict[str, Any]:
        """The event for the report: its identity, author, time and reason."""
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


def later_events_since(sides: LogSides, parted: int) -> Iterator[LaterEvent]:
    """The events of both histories after the commit where they part.

    A hypothetical history goes through the same commits again: of it and its original, only what is not in both.
    """
    if any(side.supposes() for side in sides):
        yield from _one_sided_events(sides, parted)
        return
    for side in sides:
        for seq in range(parted + 1, side.seq + 1):
            for entry in side.entries(seq):
                yield LaterEvent(side.label, entry, _worlds_of_edge((side,), entry))


def _one_sided_events(sides: LogSides, parted: int) -> Iterator[LaterEvent]:
    """The events after a commit that only one of two histories has at the same number."""
    for seq in range(parted + 1, max(side.seq for side in sides) + 1):
        entries = [list(side.entries(seq)) if seq <= side.seq else [] for side in sides]
        counted = [Counter(map(_event_content, found)) for found in entries]
        for side, own, left in zip(sides, entries, (counted[0] - counted[1], counted[1] - counted[0]), strict=True):
            for entry in own:
                said = _event_content(entry)
                if left[said]:
                    left[said] -= 1
                    yield LaterEvent(side.label, entry, _worlds_of_edge((side,), entry))


def _event_content(entry: Entry) -> bytes:
    """All that an event says, but for its place in its commit."""
    return msgspec.msgpack.encode(msgspec.structs.replace(entry, index=0))


def later_event(side: Side, entry: Entry, others: Sequence[Side]) -> LaterEvent:
    """An event of one side that may name an edge which only one of the others still has."""
    return LaterEvent(side.label, entry, _worlds_of_edge(others, entry))


class LaterEvents:
    """The events on either side after the last common commit, by everything that they name.

    ``silent`` are worlds, edges and proposals that may differ although no event says so.
    """

    def __init__(self, later: Iterable[LaterEvent], silent: Iterable[bytes] = ()) -> None:
        self._by_ref: defaultdict[str, list[LaterEvent]] = defaultdict(list)
        self._silent = dict.fromkeys(silent)
        self.others: list[LaterEvent] = []
        """Those that no world, edge or proposal shows the effect of."""
        self.commits: dict[str, dict[int, list[Entry]]] = {"a": {}, "b": {}}
        """The events of each side by their commits."""
        for each in later:
            self.commits[each.side].setdefault(each.entry.seq, []).append(each.entry)
            for ref in dict.fromkeys((*each.entry.refs, *each.worlds)):
                self._by_ref[ref].append(each)
            if each.entry.event not in SHOWN_EVENTS:
                self.others.append(each)

    def naming(self, ref: bytes) -> list[LaterEvent]:
        """The events that name a world, an edge or a proposal."""
        return self._by_ref.get(ref.hex(), [])

    def is_suspect(self, ref: bytes) -> bool:
        """True if a world, an edge or a proposal may differ in something that its hash does not cover."""
        return ref in self._silent or ref.hex() in self._by_ref

    def joins_or_leaves(self, ref: bytes) -> bool:
        """True if it may have other containers than it had."""
        return ref in self._silent or any(later.entry.event in _OF_EDGES for later in self.naming(ref))

    def is_silent(self, ref: bytes) -> bool:
        """True if it may differ although no event says so."""
        return ref in self._silent

    def worlds(self) -> list[bytes]:
        """Every suspect of the length of a lineage, in the order in which events name them."""
        return self._suspects_of_length(LINEAGE_BYTES)

    def edges(self) -> list[bytes]:
        """Every suspect of the length of an edge's or proposal's id."""
        return self._suspects_of_length(HASH_BYTES)

    def _suspects_of_length(self, size: int) -> list[bytes]:
        named = (bytes.fromhex(ref) for ref in self._by_ref)
        return [ref for ref in dict.fromkeys((*named, *self._silent)) if len(ref) == size]

    def about(self, lineage: bytes, others: Iterable[bytes]) -> list[LaterEvent]:
        """The events about a world itself, and those that name one of some edges and proposals."""
        ref = lineage.hex()
        found = {later.place: later for later in self.naming(lineage) if _is_about(later.entry, ref)}
        for other in others:
            found.update((later.place, later) for later in self.naming(other))
        return [found[place] for place in sorted(found)]


SHOWN_EVENTS: Final = frozenset(
    {
        *("store", "created", "revised", "closed", "ended", "named", "unnamed"),
        *("lost", "voided", "edge_lost"),
        *("linked", "unlinked", "edge_closed", "proposed", "decided"),
        *("stated", "unstated"),
        *("supposed", "left_out", "taken_over"),
    }
)
"""Events whose effects the comparison reads from worlds, edges and proposals; every other event is listed itself."""


_NAMING_EDGES: Final = frozenset({"unlinked", "edge_closed", "edge_lost"})
"""Events that name an edge, and no world."""
_OF_EDGES: Final = _NAMING_EDGES | {"linked"}


def _worlds_of_edge(sides: Sequence[Side], entry: Entry) -> tuple[str, ...]:
    """The worlds that tell of an edge, for events that name the edge alone."""
    if entry.event not in _NAMING_EDGES:
        return ()
    edge = next(filter(None, (side.edge(bytes.fromhex(entry.refs[0])) for side in sides)), None)
    if edge is None:
        return ()
    return (edge.source.hex(), edge.target.hex()) if edge.type == CONTAINS else (edge.home.hex(),)


def _is_about(entry: Entry, ref: str) -> bool:
    """False for an edge that only begins or ends at a world; it belongs to its home."""
    if entry.event != "linked":
        return True
    if entry.data["type"] == CONTAINS:
        return ref in (entry.data["source"], entry.data["target"])
    return bool(entry.data["home"] == ref)
