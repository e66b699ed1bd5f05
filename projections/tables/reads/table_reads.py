"""The protocol of table reads, for the whole store and for confined views.

``Tables`` (``storage/rows.py``) answers for the whole store, and the query room's confined tables
answer for one world. A new read is added here first, so that the type checker asks what it shows inside a world.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Protocol

from worlddb.projections.tables.storage import proposal_rows, schema, timeline_rows, write_buffer


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
        """When versions and edges hold; whoever has a row may know its timeline."""

    @property
    def decisions(self) -> Seekable:
        """The decisions on a proposal; whoever has the proposal may know them."""

    def node_of(self, lineage: bytes) -> int | None: ...

    def node(self, node: int) -> schema.NodeRow: ...

    def version(self, node: int, version: int) -> schema.VersionRow: ...

    def version_rows(self, node: int) -> Iterator[tuple[int, schema.VersionRow]]: ...

    def aliases(self, node: int) -> Iterator[tuple[int, schema.AliasRow]]: ...

    def restatements(self, node: int) -> Iterator[schema.RestatedRow]: ...

    def named(self, digest: bytes, *, nodes: Sequence[int] | None = None) -> Iterator[tuple[int, int]]: ...

    def typed(self, digest: bytes, *, nodes: Sequence[int] | None = None) -> Iterator[tuple[int, int]]: ...

    def type_code(self, name: str) -> int | None: ...

    def type_name(self, code: int) -> str: ...

    def place_of(self, edge: bytes) -> schema.EdgePlace | None: ...

    def edge(self, place: schema.EdgePlace) -> schema.EdgeRow: ...

    def outgoing(
        self, node: int, code: int | None = None, after: int = 0, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]: ...

    def between(
        self, sources: Iterable[int], code: int, targets: Set[int] | None, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]: ...

    def incoming(
        self, node: int, code: int | None = None, *, known_after: int = 0, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]: ...

    def latest_incoming(
        self, node: int, code: int, *, known_by: int = schema.LIVE
    ) -> Iterator[tuple[schema.EdgePlace, schema.EdgeRow]]: ...

    def proposal(self, proposal: bytes) -> schema.ProposalRow | None: ...

    def staged(self, nodes: Sequence[int] | None = None) -> Iterator[proposal_rows.Staged]: ...

    def hash_row(self, node: int, seq: int) -> tuple[int, bytes] | None: ...
