"""What stands between one transaction's tables and its rows: a cache of rows, and tries inside a table."""

from __future__ import annotations

from itertools import islice
from typing import Final, NamedTuple

from worlddb.projections.tables.overlay import Table
from worlddb.projections.tables.schema import NodeRow, VersionRow

MAX_KNOWN: Final = 50_000
"""How many worlds a writer knows from one batch to the next: about half a kilobyte each."""


class Standing(NamedTuple):
    """What an edge says of one of its ends: ``end`` is the lineage and its newest body as the edge's hash has them."""

    node: int
    lineage: bytes
    versions: int
    end: bytes


class Footing(NamedTuple):
    """What an edge takes from its source if it is not told: where that begins, and the first world that contains it."""

    begins: int
    home: int
    home_lineage: bytes


class Known:
    """What the next edges need to know of worlds, by lineage. It follows from the log up to one commit."""

    __slots__ = ("chain", "footings", "standings")

    def __init__(self) -> None:
        self.chain = b""
        """The hash of the commit that it is true after."""
        self.standings: dict[bytes, Standing] = {}
        self.footings: dict[bytes, Footing] = {}

    def forget(self, lineage: bytes) -> None:
        """Something about a world has changed."""
        self.standings.pop(lineage, None)
        self.footings.pop(lineage, None)


class Memory:
    """What a writer knows of worlds from one commit to the next, unless somebody else commits between them."""

    def __init__(self) -> None:
        self._known = Known()

    def take(self, chain: bytes) -> Known:
        """What is true after the commit with this hash, to be kept again when the next one is made."""
        known, self._known = self._known, Known()
        return known if known.chain == chain else Known()

    def keep(self, known: Known, chain: bytes) -> None:
        """Remember what is true after the commit with this hash; what was learnt first goes if it is too much."""
        for held in (known.standings, known.footings):
            for lineage in list(islice(held, max(0, len(held) - MAX_KNOWN))):
                del held[lineage]
        known.chain = chain
        self._known = known


class RowCache:
    """What one transaction has read and put, as rows: a write reads the same few rows many times over."""

    __slots__ = ("containers", "hashes", "nodes", "numbers", "put_nodes", "put_versions", "versions")

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.nodes: dict[int, NodeRow] = {}
        self.put_nodes: set[int] = set()
        self.versions: dict[tuple[int, int], VersionRow] = {}
        self.put_versions: set[tuple[int, int]] = set()
        self.containers: dict[int, list[int]] = {}
        self.hashes: dict[int, bytes] = {}


class TrieNodes:
    """One trie's nodes inside the ``tries`` table."""

    def __init__(self, table: Table, prefix: bytes) -> None:
        self._table = table
        self._prefix = prefix

    def get(self, path: bytes) -> bytes | None:
        return self._table.get(self._prefix + path)

    def put(self, path: bytes, node: bytes) -> None:
        self._table.put(self._prefix + path, node)

    def delete(self, path: bytes) -> None:
        self._table.put(self._prefix + path, None)
