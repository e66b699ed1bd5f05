"""What stands between one transaction's tables and its rows: a cache of rows, and tries inside a table."""

from __future__ import annotations

from worlddb.projections.tables.overlay import Table
from worlddb.projections.tables.schema import NodeRow, VersionRow


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
