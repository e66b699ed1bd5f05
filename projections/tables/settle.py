"""World hashes after a commit: every world that changed and every world that contains one, each rehashed once.

Paper §2.1, equation 2 and the edit propagation invariant (law 6). Worlds are visited from the inside out, without
recursion, so depth costs no stack; a world is visited when all of its changed members are done.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Final

from worlddb.log.model.hashing import world_hash
from worlddb.log.model.ids import HASH_BYTES
from worlddb.log.model.trie import EMPTY_ROOT
from worlddb.projections.tables.schema import (
    CONTAINS,
    EDGE_TYPE_CODES,
    ROOT_NODE,
    U64_U64,
    EdgePlace,
    EdgeRow,
)
from worlddb.projections.tables.tables import Tables, missing_row

_CONTAINS_CODE: Final = EDGE_TYPE_CODES[CONTAINS]
_NOW: Final = 2**64 - 1


class Unsettled:
    """What a commit has changed so far and not yet rehashed."""

    def __init__(self, tables: Tables, seq: int) -> None:
        self._tables = tables
        self._seq = seq
        self._changed: set[int] = set()
        self._touched_members: defaultdict[int, set[int]] = defaultdict(set)
        self._edges: defaultdict[int, dict[bytes, bytes | None]] = defaultdict(dict)

    def changed(self, node: int) -> None:
        """A node has a new body."""
        self._changed.add(node)

    def linked(self, place: EdgePlace, row: EdgeRow) -> None:
        """An edge was written: into the members of its source, or into the interior of its home."""
        if place.type == _CONTAINS_CODE:
            self._touched_members[place.source].add(row.target)
        else:
            self._edges[row.home][row.edge] = b""

    def unlinked(self, place: EdgePlace, row: EdgeRow) -> None:
        """An edge was retracted."""
        if place.type == _CONTAINS_CODE:
            self._touched_members[place.source].add(row.target)
        else:
            self._edges[row.home][row.edge] = None

    def settle(self) -> bytes:
        """Rehash what has to be; the root world's hash."""
        dirty = self._changed | self._touched_members.keys() | self._edges.keys()
        containers, waiting = self._closure(dirty)
        members: defaultdict[int, dict[bytes, bytes | None]] = defaultdict(dict)
        for world, touched in self._touched_members.items():
            self._collect_touched(world, touched, containers, members[world])
        ready = deque(sorted(node for node in containers if not waiting[node]))
        while ready:
            node = ready.popleft()
            lineage, new_hash = self._rehash(node, members.pop(node, {}), self._edges.get(node, {}))
            for container in containers[node]:
                members[container][lineage] = new_hash
                waiting[container] -= 1
                if not waiting[container]:
                    ready.append(container)
        self._changed, self._edges = set(), defaultdict(dict)
        self._touched_members = defaultdict(set)
        return self._current(ROOT_NODE)

    def _closure(self, dirty: set[int]) -> tuple[dict[int, list[int]], defaultdict[int, int]]:
        """Containers of every node that must be rehashed, and how many changed members each still waits for."""
        containers: dict[int, list[int]] = {}
        waiting: defaultdict[int, int] = defaultdict(int)
        pending = list(dirty)
        while pending:
            node = pending.pop()
            if node in containers:
                continue
            found = self._tables.containers(node)
            containers[node] = found
            for container in found:
                waiting[container] += 1
            pending.extend(found)
        return containers, waiting

    def _collect_touched(
        self,
        world: int,
        touched: set[int],
        containers: dict[int, list[int]],
        changes: dict[bytes, bytes | None],
    ) -> None:
        """Members that came or went; one that is itself rehashed hands its new hash over when it is done."""
        for member in touched:
            inside = containers[member] if member in containers else self._tables.containers(member)
            if world not in inside:
                changes[self._tables.node(member).lineage] = None
            elif member not in containers:
                changes[self._tables.node(member).lineage] = self._current(member)

    def _rehash(
        self, node: int, members: dict[bytes, bytes | None], edges: dict[bytes, bytes | None]
    ) -> tuple[bytes, bytes]:
        tables = self._tables
        row = tables.node(node)
        members_root = edges_root = EMPTY_ROOT
        if node < tables.first_new_node:
            members_root, edges_root = self._roots(node)
        if members:
            members_root = tables.members(node).update(members)
        if edges:
            edges_root = tables.interior_edges(node).update(edges)
        new_hash = world_hash(row.body, members_root, edges_root, row.t_create)
        composite = members_root != EMPTY_ROOT or edges_root != EMPTY_ROOT
        stored = new_hash + members_root + edges_root if composite else new_hash
        tables.hashes.put(U64_U64.pack(node, self._seq), stored)
        return row.lineage, new_hash

    def _roots(self, node: int) -> tuple[bytes, bytes]:
        found = self._tables.hash_row(node, _NOW)
        return (EMPTY_ROOT, EMPTY_ROOT) if found is None else roots_of(found[1])

    def _current(self, node: int) -> bytes:
        found = self._tables.hash_row(node, _NOW)
        if found is None:
            raise missing_row(f"world hash of node {node}")
        return found[1][:HASH_BYTES]


def roots_of(stored: bytes) -> tuple[bytes, bytes]:
    """(members root, edges root) of a stored world hash."""
    if len(stored) == HASH_BYTES:
        return EMPTY_ROOT, EMPTY_ROOT
    return stored[HASH_BYTES : 2 * HASH_BYTES], stored[2 * HASH_BYTES :]
