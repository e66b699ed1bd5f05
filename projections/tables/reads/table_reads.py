"""The protocol of table reads, for the whole store and for confined views.

``Tables`` (``storage/rows.py``) answers for the whole store, and the query room's confined tables
answer for one world. A new read is added here first, so that the type checker asks what it shows inside a world.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Protocol

from worlddb.projections.tables.storage.proposal_rows import Staged
from worlddb.projections.tables.storage.schema import (
    LIVE,
    AliasRow,
    EdgePlace,
    EdgeRow,
    NodeRow,
    ProposalRow,
    VersionRow,
)
from worlddb.projections.tables.storage.write_buffer import Pair


class Scannable(Protocol):
    """A table that can be gone through by prefix."""

    def scan(self, prefix: bytes) -> Iterator[Pair]:
        """Pairs whose key begins with ``prefix``, in key order."""


class Seekable(Protocol):
    """A table in which the last entry up to a key can be found."""

    def last(self, prefix: bytes, upto: bytes) -> Pair | None:
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
    def closings(self) -> Seekable:
        """The ends that a row has had; whoever has the row may know them."""

    @property
    def decisions(self) -> Seekable:
        """The decisions on a proposal; whoever has the proposal may know them."""

    def node_of(self, lineage: bytes) -> int | None: ...

    def node(self, node: int) -> NodeRow: ...

    def version(self, node: int, version: int) -> VersionRow: ...

    def version_rows(self, node: int) -> Iterator[tuple[int, VersionRow]]: ...

    def aliases(self, node: int) -> Iterator[tuple[int, AliasRow]]: ...

    def named(self, digest: bytes, *, nodes: Sequence[int] | None = None) -> Iterator[tuple[int, int]]: ...

    def typed(self, digest: bytes, *, nodes: Sequence[int] | None = None) -> Iterator[tuple[int, int]]: ...

    def type_code(self, name: str) -> int | None: ...

    def type_name(self, code: int) -> str: ...

    def place_of(self, edge: bytes) -> EdgePlace | None: ...

    def edge(self, place: EdgePlace) -> EdgeRow: ...

    def outgoing(
        self, node: int, code: int | None = None, after: int = 0, *, known_by: int = LIVE
    ) -> Iterator[tuple[EdgePlace, EdgeRow]]: ...

    def between(
        self, sources: Iterable[int], code: int, targets: Set[int] | None, *, known_by: int = LIVE
    ) -> Iterator[tuple[EdgePlace, EdgeRow]]: ...

    def incoming(
        self, node: int, code: int | None = None, *, known_after: int = 0, known_by: int = LIVE
    ) -> Iterator[tuple[EdgePlace, EdgeRow]]: ...

    def latest_incoming(self, node: int, code: int, *, known_by: int = LIVE) -> Iterator[tuple[EdgePlace, EdgeRow]]: ...

    def proposal(self, proposal: bytes) -> ProposalRow | None: ...

    def staged(self, nodes: Sequence[int] | None = None) -> Iterator[Staged]: ...

    def hash_row(self, node: int, seq: int) -> tuple[int, bytes] | None: ...
