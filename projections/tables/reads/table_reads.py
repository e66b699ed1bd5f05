"""Reads of tables: their protocol, for the whole store and for confined views, and references.

``Tables`` (``storage/rows.py``) answers for the whole store, and the query room's confined tables
answer for one world. A new read is added to the protocol first, so that the type checker asks what it shows inside a
world. References are resolved as people and programs give them, as of a commit.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from typing import Final, Protocol, TypeVar

from worlddb.log.model import errors, ids
from worlddb.projections.tables.storage import rows, schema, timeline_rows, write_buffer
from worlddb.projections.tables.storage.rows import Tables


class Scannable(Protocol):
    """A table that can be gone through by prefix."""

    def scan(self, prefix: bytes) -> Iterator[write_buffer.Pair]:
        """Pairs whose key begins with ``prefix``, in key order."""


class Seekable(Protocol):
    """A table in which the last entry up to a key can be found."""

    def last(self, prefix: bytes, upto: bytes) -> write_buffer.Pair | None:
        """The pair with the greatest key at or below ``upto``."""


class TableReads(Protocol):
    """The tables as reads see them; each method is as :class:`Tables` has it."""

    @property
    def lineages(self) -> Scannable:
        """Lineages by their id."""

    @property
    def edges(self) -> Scannable:
        """Edges by their id."""

    @property
    def timelines(self) -> timeline_rows.Readable:
        """The validity of versions and edges; a reader of a row may read its timeline."""

    @property
    def decisions(self) -> Seekable:
        """The decisions on a proposal; a reader of the proposal may read them."""

    def node_of(self, lineage: bytes) -> int | None: ...

    def node(self, node: int) -> schema.NodeRow: ...

    def nodes_of(self, nodes: Sequence[int]) -> list[schema.NodeRow]: ...

    def version(self, node: int, version: int) -> schema.VersionRow: ...

    def newest_versions(self, nodes: Sequence[int]) -> list[tuple[int, schema.VersionRow]]: ...

    def versions_of(self, versions: Sequence[tuple[int, int]]) -> list[schema.VersionRow]: ...

    def version_rows(self, node: int) -> Iterator[tuple[int, schema.VersionRow]]: ...

    def aliases(self, node: int) -> Iterator[tuple[int, schema.AliasRow]]: ...

    def restatements(self, node: int) -> Iterator[schema.RestatedRow]: ...

    def named(self, digest: bytes, *, nodes: Sequence[int] | None = None) -> Iterator[tuple[int, int]]: ...

    def are_names(self, digests: Collection[bytes]) -> Set[bytes]: ...

    def typed(
        self, digest: bytes, *, nodes: Sequence[int] | None = None, after: int = -1
    ) -> Iterator[tuple[int, int]]: ...

    def type_code(self, name: str) -> int | None: ...

    def type_name(self, code: int) -> str: ...

    def place_of(self, edge: bytes) -> schema.EdgePlace | None: ...

    def edge(self, place: schema.EdgePlace) -> schema.EdgeRow: ...

    def type_codes(self) -> list[int]: ...

    def outgoing_behind(
        self, places: Iterable[schema.EdgePlace]
    ) -> Iterator[Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]]: ...

    def outgoing(
        self, node: int, code: int | None = None, after: int = 0, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]: ...

    def edges_of_each(
        self, nodes: Sequence[int], codes: Sequence[int], *, incoming: bool, known_by: int
    ) -> dict[int, list[tuple[schema.EdgePlace, schema.EdgeRow]] | None]: ...

    def between(
        self, sources: Iterable[int], code: int, targets: Set[int] | None, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]: ...

    def incoming(
        self,
        node: int,
        code: int | None = None,
        after: int = 0,
        *,
        known_after: int = 0,
        known_by: int = schema.LIVE,
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]: ...

    def latest_incoming(
        self, node: int, code: int, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]: ...

    def proposal(self, proposal: bytes) -> schema.ProposalRow | None: ...

    def staged(self, nodes: Sequence[int] | None = None) -> Iterator[rows.Staged]: ...

    def hash_row(self, node: int, seq: int) -> tuple[int, bytes] | None: ...


_SHOWN_CANDIDATES: Final = 8

T = TypeVar("T")

NOTHING_YET: Final = "Use a later view; to read what was true at a time by today's knowledge, give valid="
_REMEDIES: Final = {
    "world": "Look it up by name with find",
    "edge": "The edges of a world are listed with it",
    "proposal": "Look it up in the list of proposals",
    "world or edge": "Look a world up by name with find; its edges are listed with it",
}


def find_node(tables: TableReads, ref: bytes | str, seq: int) -> int:
    """Find the node that a lineage id stands for, as known at commit ``seq``.

    The id is a full one or a unique prefix of one.

    Raises:
        UnknownReference: nothing known then has it, or nothing at all had been committed.
        AmbiguousReference: several worlds share the prefix; they are listed.
        InputError: it is no reference at all.
    """
    if seq == 0:
        _range(ref)
        raise errors.UnknownReference("Nothing had been committed yet", NOTHING_YET)
    if type(ref) is bytes and len(ref) == ids.LINEAGE_BYTES:
        node = tables.node_of(ref)
        if node is not None and tables.node(node).created <= seq:
            return node
    return _only(ref, _nodes(tables, ref, seq), "world")


def find_edge(tables: TableReads, ref: bytes | str, seq: int) -> bytes:
    """The id of the edge that a reference stands for; raises as :func:`find_node`."""
    return _only(ref, ((edge, edge) for edge in _edges(tables, ref, seq)), "edge")


def find_proposal(tables: Tables, ref: bytes | str, seq: int) -> bytes:
    """The id of the proposal that a reference stands for; raises as :func:`find_node`."""
    return _only(ref, ((found, found) for found in _proposals(tables, ref, seq)), "proposal")


def find_node_or_edge(tables: Tables, ref: bytes | str, seq: int) -> int | bytes:
    """A node number or an edge id; raises as :func:`find_node`."""
    candidates: list[tuple[int | bytes, bytes]] = list(_nodes(tables, ref, seq))
    candidates.extend((edge, edge) for edge in _edges(tables, ref, seq))
    return _only(ref, iter(candidates), "world or edge")


def version_written(tables: TableReads, node: int, seq: int, position: int) -> int:
    """The version of a node that commit ``seq`` wrote with the body at ``position``."""
    return next(number for number, row in tables.version_rows(node) if (row.seq, row.position) == (seq, position))


def _only(ref: bytes | str, candidates: Iterator[tuple[T, bytes]], what: str) -> T:
    matches: list[tuple[T, bytes]] = []
    for candidate in candidates:
        matches.append(candidate)
        if len(matches) > _SHOWN_CANDIDATES:
            break
    if not matches:
        raise errors.UnknownReference(f"No {what} has the reference {_text(ref)}", _REMEDIES[what], ref=_text(ref))
    if len(matches) > 1:
        names = [ids.short(identifier) for _, identifier in matches[:_SHOWN_CANDIDATES]]
        more = ", and more" if len(matches) > _SHOWN_CANDIDATES else ""
        raise errors.AmbiguousReference(
            f"The reference {_text(ref)} fits several: {', '.join(names)}{more}",
            "Give more digits",
            candidates=[identifier.hex() for _, identifier in matches[:_SHOWN_CANDIDATES]],
        )
    return matches[0][0]


def _text(ref: bytes | str) -> str:
    return ref.hex() if isinstance(ref, bytes) else ref[:80]


def _range(ref: bytes | str) -> tuple[bytes, str]:
    """The bytes that every match begins with, and the whole prefix as digits."""
    if not isinstance(ref, bytes | str):
        raise errors.InputError(
            f"{errors.shown(ref)} is not a reference",
            f"Give a receipt, an id, or at least {ids.MIN_PREFIX_DIGITS} of its hex digits",
        )
    digits = ids.parse_hex(ref.hex() if isinstance(ref, bytes) else ref)
    return bytes.fromhex(digits[: len(digits) // 2 * 2]), digits


def _nodes(tables: TableReads, ref: bytes | str, seq: int) -> Iterator[tuple[int, bytes]]:
    prefix, digits = _range(ref)
    if len(prefix) == ids.LINEAGE_BYTES and prefix.hex() == digits:  # One digit more is no lineage.
        node = tables.node_of(prefix)
        if node is not None and tables.node(node).created <= seq:
            yield node, prefix
        return
    for key, value in tables.lineages.scan(prefix):
        node = int.from_bytes(value, "big")
        if key.hex().startswith(digits) and tables.node(node).created <= seq:
            yield node, key


def _edges(tables: TableReads, ref: bytes | str, seq: int) -> Iterator[bytes]:
    prefix, digits = _range(ref)
    for key, _ in tables.edges.scan(prefix):
        place = tables.place_of(key)
        if key.hex().startswith(digits) and place is not None and tables.edge(place).seq <= seq:
            yield key


def _proposals(tables: Tables, ref: bytes | str, seq: int) -> Iterator[bytes]:
    prefix, digits = _range(ref)
    for key, _ in tables.proposals.scan(prefix):
        row = tables.proposal(key)
        if key.hex().startswith(digits) and row is not None and row.seq <= seq:
            yield key
