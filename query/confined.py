"""The one place that decides what a view confined to a world may see (law 7).

Every read of a view goes through :class:`worlddb.query.sight.Sight`, and a confined view's sight has these tables
instead of the store's. They give out rows of what lies inside the world and nothing else, so what is built on them,
records, lookups by prefix, counts and error messages, cannot tell that there is more.

* A **node** is inside if it is the world itself or the world contains it at the view's moment, through whichever of its
  containers. A lineage is inside with all of its versions.
* An **edge** is inside if both of its ends and its home are.
* A **proposal** is inside if both of its sides are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import islice
from typing import Final

from worlddb.projections.tables.reads.asof import Moment, edge_seen
from worlddb.projections.tables.reads.table_reads import Scannable, Seekable, TableReads
from worlddb.projections.tables.storage.proposal_rows import Staged
from worlddb.projections.tables.storage.schema import (
    CONTAINS_CODE,
    EDGE_PLACE,
    LIVE,
    AliasRow,
    EdgePlace,
    EdgeRow,
    NodeRow,
    ProposalRow,
    VersionRow,
)
from worlddb.projections.tables.storage.transaction import missing_row
from worlddb.projections.tables.storage.write_buffer import Pair
from worlddb.query.scope import Scope, members_below

FEW: Final = 32
"""Of how many worlds with one name it is asked of each whether it is inside; if there are more, what is inside is
listed, and each of that is asked for the name."""


class ConfinedTables:
    """The tables of a store as far as they are about one world and its interior at a moment.

    What is asked about by number was given out by these tables before; asking for anything else is a mistake of the
    caller, and raises as if it were not there.
    """

    def __init__(self, tables: TableReads, world: int, moment: Moment, known: dict[int, bool]) -> None:
        self._tables = tables
        self._world = world
        self._moment = moment
        self._scope = Scope(tables, world, moment, known)
        self._listed: list[int] | None = None
        self.closings: Seekable = tables.closings
        self.decisions: Seekable = tables.decisions
        self.lineages: Scannable = _Seen(tables.lineages, lambda number: self._sees(int.from_bytes(number, "big")))
        self.edges: Scannable = _Seen(tables.edges, lambda place: self._has(EdgePlace._make(EDGE_PLACE.unpack(place))))

    # -- nodes and versions

    def node_of(self, lineage: bytes) -> int | None:
        node = self._tables.node_of(lineage)
        return node if node is not None and self._sees(node) else None

    def node(self, node: int) -> NodeRow:
        return self._tables.node(self._inside(node))

    def version(self, node: int, version: int) -> VersionRow:
        return self._tables.version(self._inside(node), version)

    def version_rows(self, node: int) -> Iterator[tuple[int, VersionRow]]:
        return self._tables.version_rows(self._inside(node))

    def aliases(self, node: int) -> Iterator[tuple[int, AliasRow]]:
        return self._tables.aliases(self._inside(node))

    def named(self, digest: bytes, *, nodes: Sequence[int] | None = None) -> Iterator[tuple[int, int]]:
        return self._first_uses(partial(self._tables.named, digest), nodes)

    def typed(self, digest: bytes, *, nodes: Sequence[int] | None = None) -> Iterator[tuple[int, int]]:
        return self._first_uses(partial(self._tables.typed, digest), nodes)

    # -- edges

    def type_code(self, name: str) -> int | None:
        return self._tables.type_code(name)

    def type_name(self, code: int) -> str:
        return self._tables.type_name(code)

    def place_of(self, edge: bytes) -> EdgePlace | None:
        place = self._tables.place_of(edge)
        return place if place is not None and self._has(place) else None

    def edge(self, place: EdgePlace) -> EdgeRow:
        row = self._tables.edge(place)
        if not self._shows(place, row):
            raise missing_row(f"edge {place.edge} from node {place.source}")
        return row

    def outgoing(
        self, node: int, code: int | None = None, after: int = 0, *, known_by: int = LIVE
    ) -> Iterator[tuple[EdgePlace, EdgeRow]]:
        found = self._tables.outgoing(self._inside(node), code, after, known_by=known_by)
        return ((place, row) for place, row in found if self._shows(place, row))

    def between(
        self, sources: Iterable[int], code: int, targets: Set[int] | None, *, known_by: int = LIVE
    ) -> Iterator[tuple[EdgePlace, EdgeRow]]:
        found = self._tables.between(map(self._inside, sources), code, targets, known_by=known_by)
        return ((place, row) for place, row in found if self._shows(place, row))

    def incoming(
        self, node: int, code: int | None = None, *, known_after: int = 0, known_by: int = LIVE
    ) -> Iterator[tuple[EdgePlace, EdgeRow]]:
        found = self._tables.incoming(self._inside(node), code, known_after=known_after, known_by=known_by)
        return ((place, row) for place, row in found if self._shows(place, row))

    def latest_incoming(self, node: int, code: int, *, known_by: int = LIVE) -> Iterator[tuple[EdgePlace, EdgeRow]]:
        found = self._tables.latest_incoming(self._inside(node), code, known_by=known_by)
        return ((place, row) for place, row in found if self._shows(place, row))

    # -- identity and hashes

    def proposal(self, proposal: bytes) -> ProposalRow | None:
        row = self._tables.proposal(proposal)
        return row if row is not None and self._joins(row) else None

    def staged(self, nodes: Sequence[int] | None = None) -> Iterator[Staged]:
        return self._tables.staged(self._interior() if nodes is None else [node for node in nodes if self._sees(node)])

    def hash_row(self, node: int, seq: int) -> tuple[int, bytes] | None:
        return self._tables.hash_row(self._inside(node), seq)

    # -- what is inside

    def _sees(self, node: int) -> bool:
        return self._scope.sees(node)

    def _interior(self) -> list[int]:
        """All nodes inside, in ascending order."""
        if self._listed is None:
            inside = members_below(self._tables, self._world, self._moment) or set()
            self._listed = sorted(inside | {self._world})
        return self._listed

    def _first_uses(
        self, look: Callable[..., Iterator[tuple[int, int]]], nodes: Sequence[int] | None
    ) -> Iterator[tuple[int, int]]:
        """What ``look`` finds inside. Where others have many of a kind, to read theirs and walk up from each would take
        a time that tells how many they are."""
        if nodes is None:
            rows = list(islice(look(), FEW + 1))
            if len(rows) > FEW:
                yield from look(nodes=self._interior())
                return
        else:
            rows = list(look(nodes=nodes))
        yield from ((node, first) for node, first in rows if self._sees(node))

    def _inside(self, node: int) -> int:
        if not self._sees(node):
            raise missing_row(f"node {node}")
        return node

    def _shows(self, place: EdgePlace, row: EdgeRow) -> bool:
        if not self._sees(place.source):
            return False
        if place.type == CONTAINS_CODE and edge_seen(self._tables, place, row, self._moment):
            self._scope.admit(row.target)
        return self._sees(row.target) and self._sees(row.home)

    def _has(self, place: EdgePlace) -> bool:
        return self._shows(place, self._tables.edge(place))

    def _joins(self, row: ProposalRow) -> bool:
        return self._sees(row.source) and self._sees(row.target)


class _Seen:
    """A table without the pairs whose value stands for something outside."""

    def __init__(self, table: Scannable, sees: Callable[[bytes], bool]) -> None:
        self._table = table
        self._sees = sees

    def scan(self, prefix: bytes) -> Iterator[Pair]:
        return ((key, value) for key, value in self._table.scan(prefix) if self._sees(value))
