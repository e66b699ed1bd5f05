"""Protocols for one side of a comparison: a store at one moment, or an equivalent.

:class:`Side` is the seam: worlds, edges and proposals at one moment. A bundle provides that much
(:mod:`worlddb.query.diff.bundle_diff`). A store also has a log and tables, and is a :class:`LogSide`
(:mod:`worlddb.query.diff.store_side`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from worlddb.log.model import codec, times, trie
from worlddb.log.statements.bundled_statements import Windows
from worlddb.query.history.journal import Entry

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
