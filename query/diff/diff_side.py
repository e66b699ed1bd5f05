"""What a comparison takes and gives: protocols for one of its sides, the past that they share, and its records.

:class:`Side` is the seam: worlds, edges and proposals at one moment. A bundle provides that much
(:mod:`worlddb.query.diff.bundle_diff`). A store also has a log and tables, and is a :class:`LogSide`
(:mod:`worlddb.query.diff.store_side`). In records references and hashes are hex, times are microseconds.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from worlddb.log.model import codec, times, trie
from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES
from worlddb.log.statements.bundled_statements import Windows
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.history.journal import Entry

CHANGE_KINDS: Final = {
    "added": "only b has it",
    "removed": "only a has it",
    "altered": "the stored bytes differ although the hashes are equal",
    "revised": "its type, name or content differs",
    "erased": "its text was erased on one side",
    "moved": "other worlds contain it",
    "members": "worlds inside it differ, were added or were removed",
    "edges": "its interior edges differ",
    "statements": "its statements differ",
    "validity": "its valid time differs",
    "names": "its aliases differ",
    "identity": "its proposed or decided identities differ",
    "provenance": "its reason or source differs",
    "registered": "its registrations or settings differ",
    "vectors": "only one side has recorded vectors of its texts",
}
"""Every kind of change, the weightiest first: the first one that a world has is its ``change``."""

HISTORY_RELATIONS: Final = {
    "same": "both are at the same commit of one history",
    "ahead": "a continues after the end of b",
    "behind": "b continues after the end of a",
    "relatives": "their histories share a beginning and diverge",
    "strangers": "their histories have no commit in common",
    "bundle": "one side is a bundle, which has one world and no log",
}
"""How the two histories stand to each other, in words."""


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """One difference of a world: a kind of :data:`CHANGE_KINDS`, a field, and its two texts.

    ``a`` and ``b`` are empty where that side has nothing. ``ref`` is the member, edge or proposal that it is about, and
    empty if it is about the world itself.
    """

    kind: str
    field: str
    a: str
    b: str
    ref: str = ""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One world that differs.

    ``names`` are those from the root down (of very deep ones the middle is left out), and ``path`` the same joined by
    ``/``; ``within`` is the world through which it was reached, empty where the comparison began. ``change`` is the
    weightiest kind in ``changes``, which say field by field what differs; a world that differs only through what it
    contains has ``members`` and no ``changes``. ``a`` and ``b`` are the world hashes on either side, empty where it
    does not exist. ``events`` name the commits that did it, on either side; ``more_events`` counts those that were left
    out. ``ref_b`` is b's reference if that is another one than ``ref``, as it is in a comparison of strangers.
    """

    path: str
    names: tuple[str, ...]
    within: str
    ref: str
    ref_b: str
    type: str
    change: str
    changes: tuple[Detail, ...]
    a: str
    b: str
    events: tuple[dict[str, Any], ...]
    more_events: int


class AlteredRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A stored record whose bytes differ at the same point of the same history.

    ``where`` says which record, ``seq`` is its commit (0 for a row of a table), ``ref`` the world that it belongs to.
    ``side`` is the one whose bytes do not have the hash that its own log names (``a``, ``b``, ``both``), or empty if
    hashes cannot show it.
    """

    seq: int
    where: str
    ref: str
    side: str
    problem: str


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer.

    ``relation`` is one of :data:`HISTORY_RELATIONS`; ``parted`` is the last commit that both logs share, and
    ``parted_at`` its time. ``seq_a``, ``time_a``, ``root_a`` and ``store_a`` are the moment of a that was compared, its
    root hash and its store's id. If one side is a bundle, the hashes are those of the world that was compared, and
    ``parted`` is the bundle's commit if the other side is the store that it comes from. ``by`` is ``hash``, or ``key``
    or ``path`` for a comparison by content. ``deep`` says that the stored bytes were compared too, ``altered`` which of
    them differ. ``problems`` are the damages that kept parts from being compared, ``notes`` what to know when reading
    the answer.
    """

    equal: bool
    related: bool
    relation: str
    parted: int
    parted_at: int
    seq_a: int
    seq_b: int
    time_a: int
    time_b: int
    root_a: str
    root_b: str
    store_a: str
    store_b: str
    by: str
    deep: bool
    worlds_visited: int
    trie_nodes_visited: int
    worlds: tuple[Change, ...]
    altered: tuple[AlteredRecord, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def main_kind(details: tuple[Detail, ...]) -> str:
    """The weightiest kind among some details; ``members`` if a world only contains changes."""
    kinds = {detail.kind for detail in details}
    return next((kind for kind in CHANGE_KINDS if kind in kinds), "members")


Pair = tuple[bytes, bytes]


ERASED: Final = "(no text: erased)"
DAMAGED: Final = "(no text: damaged)"
BY_REFERENCE: Final = "(no text here: known by reference only, until its bundle is imported)"
NOT_BUNDLED: Final = "(no text in the bundle: erased or known by reference only in the exporting store)"
"""Why there is no text of a world."""


class State(NamedTuple):
    """The state of a world on one side: its newest version, and what the world hash does not cover.

    ``validities`` are those of all its versions, the newest first; ``body`` is the newest version's id, ``seq`` and
    ``ingested_at`` its commit's. ``lacks`` says in words why there is no text, and is empty where there is one.
    """

    body: bytes
    seq: int
    ingested_at: int
    lacks: str
    type: str
    name: str
    content: str
    why: str
    source: dict[str, Any]
    validities: tuple[times.Validity, ...]
    aliases: tuple[str, ...]
    ended: bool


class EdgeState(NamedTuple):
    """The state of an edge on one side; ``text`` describes what it joins."""

    edge: bytes
    type: str
    source: bytes
    target: bytes
    home: bytes
    seq: int
    known: bool
    validity: times.Validity
    text: str


class ProposalState(NamedTuple):
    """The state of a proposal on one side: its worlds and its status, in words."""

    source: bytes
    target: bytes
    text: str


class Erasures(NamedTuple):
    """Blobs that may be missing, by commit and position, and the worlds whose texts they were."""

    blobs: frozenset[tuple[int, int]]
    worlds: frozenset[bytes]


class TableRow(NamedTuple):
    """The world that a table's pair belongs to (empty if none), and the pair's fields in words."""

    lineage: bytes
    fields: dict[str, str]


class Side(Protocol):
    """Worlds at one moment, named by lineage."""

    label: str

    def root(self) -> bytes:
        """The lineage of the outermost world."""

    def hash(self, lineage: bytes) -> bytes:
        """The world hash; empty if there is no such world."""

    def body(self, lineage: bytes) -> bytes:
        """The id of a world's newest version, the hash of its text; empty without such a world."""

    def state(self, lineage: bytes) -> State | None:
        """A world; ``None`` if there is none of that lineage."""

    def containers(self, lineage: bytes) -> tuple[bytes, ...]:
        """The worlds that contain one; none if there is no such world."""

    def name(self, lineage: bytes) -> str:
        """The name of a world; empty if it has none that can be read."""

    def type(self, lineage: bytes) -> str:
        """The type of a world; empty if it cannot be read."""

    def statements(self, lineage: bytes) -> Mapping[str, Windows]:
        """When each statement of a world holds, by its line of N-Quads, or by the placeholder of an erased one."""

    def edge(self, edge: bytes) -> EdgeState | None:
        """An edge; ``None`` if it was never written."""

    def proposal(self, proposal: bytes) -> ProposalState | None:
        """A proposal; ``None`` if it was never staged."""


class LogSide(Side, Protocol):
    """A moment of a history that can be read itself; everything is as of commit ``seq``."""

    seq: int
    present: bool
    """True if the Merkle tries are those of this moment."""

    def store_id(self) -> bytes:
        """The id of the store: the random one of its first commit, or that of a hypothetical one."""

    def supposes(self) -> str:
        """The supposition of a hypothetical history; empty otherwise."""

    def header(self, seq: int) -> codec.Header:
        """The header of a commit."""

    def stored_header(self, seq: int) -> tuple[bytes, bytes]:
        """The chain hash of a commit as it was stored, and the bytes of its header."""

    def stored_events(self, seq: int) -> bytes:
        """The bytes of a commit's events."""

    def is_commit_time(self, time: int) -> bool:
        """True if a commit was made at exactly this time."""

    def entries(self, seq: int, ref: str | None = None) -> Iterator[Entry]:
        """The events of a commit, as a person reads them; with ``ref`` only those that name it."""

    def has_hash(self, lineage: bytes, world_hash: bytes) -> None:
        """Keep a world's hash that a container's trie gave, so that it need not be looked up."""

    def member_nodes(self, lineage: bytes) -> trie.NodeStore:
        """The trie of a world's members: lineage to world hash."""

    def edge_nodes(self, lineage: bytes) -> trie.NodeStore:
        """The trie of the edges in a world's interior."""

    def hash_with(self, lineage: bytes, members_root: bytes, edges_root: bytes) -> bytes:
        """The hash that a world would have with other members and interior edges."""

    def members(self, lineage: bytes) -> Iterator[bytes]:
        """The worlds that a world contains, in the order in which they joined."""

    def edges_from(self, lineage: bytes) -> Iterator[EdgeState]:
        """The edges of a world, ``contains`` left out."""

    def erasures(self) -> Erasures:
        """The texts erased for good, by this history or by a later one whose record it carries."""

    def log_pairs(self, last: int) -> Iterator[Pair]:
        """Keys and values of the log's records, as they are stored, up to a commit."""

    def table_pairs(self) -> Iterator[tuple[str, Iterator[Pair]]]:
        """Keys and values of every table, as they are stored."""

    def table_row(self, table: str, key: bytes, value: bytes) -> TableRow:
        """The world and the fields of a table's pair."""


Sides = tuple[Side, Side]
LogSides = tuple[LogSide, LogSide]


def both(sides: Sides, lineage: bytes) -> tuple[bytes, bytes]:
    """The world hashes on either side."""
    return sides[0].hash(lineage), sides[1].hash(lineage)


def span(validity: times.Validity) -> str:
    """A validity in words."""
    if isinstance(validity, times.Spans):
        return ", ".join(map(span, validity.pieces))
    if validity.is_empty:
        return "at no time"
    begins, ends = times.format_time(validity.start), times.format_time(validity.end)
    if begins == "always":
        return "always" if validity.is_open else f"until {ends}"
    return f"from {begins}" if validity.is_open else f"{begins} to {ends}"


def called(sides: Sequence[Side], lineage: bytes) -> str:
    """The name of a world on the first side that has one; empty if none has."""
    return next((name for side in sides if (name := side.name(lineage))), "")


# -- the past that two logs share, and what came after it

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
    """One of :data:`HISTORY_RELATIONS`."""
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
