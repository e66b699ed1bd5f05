"""Rehash each world that a commit changed, and each that contains one, once.

Paper §2.1, equation 2 and the edit propagation invariant (law 6). Worlds are visited from the inside out, without
recursion, so depth costs no stack; a world is visited when all of its changed members are done.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from worlddb.log.model import events, hashing, ids, trie
from worlddb.projections.tables.storage import schema, transaction
from worlddb.projections.tables.storage.rows import Tables

_HASH_AT: Final = transaction.HASHED.size


class PendingHashes:
    """The worlds that a commit has changed so far and not yet rehashed."""

    def __init__(self, tables: Tables, seq: int) -> None:
        self._tables = tables
        self._seq = seq
        self._changed: set[int] = set()
        self._touched_members: defaultdict[int, set[int]] = defaultdict(set)
        self._edges: defaultdict[int, dict[bytes, bytes | None]] = defaultdict(dict)
        self._new_members: Counter[int] = Counter()
        self._new_edges: defaultdict[int, dict[bytes, bytes | None]] = defaultdict(dict)
        """As ``_edges``, but of edges that were never written before."""

    def body_changed(self, node: int) -> None:
        """Note that a node has a new body."""
        self._changed.add(node)

    def nodes_created(self, nodes: range) -> None:
        """Note new nodes."""
        self._changed.update(nodes)

    def edges_linked(self, linked: Sequence[tuple[events.Linked, int, int, int, int]]) -> None:
        """Note new edges, each with its type, source, target and home."""
        touched, edges = self._touched_members, self._new_edges
        for event, code, source, target, home in linked:
            if code == schema.CONTAINS_CODE:
                touched[source].add(target)
            else:
                edges[home][event.edge] = b""

    def member_changed(self, world: int, member: int) -> None:
        """Note that a member came or went: its ``contains`` edge was written or retracted."""
        self._touched_members[world].add(member)

    def edge_changed(self, home: int, edge: bytes, *, written: bool) -> None:
        """Note that another edge was written into the interior of its home, or retracted."""
        self._edges[home][edge] = b"" if written else None

    def rehash(self) -> bytes:
        """Rehash every world that changed or contains one that did. Returns the root world's hash."""
        leaves = self._rehash_leaves()
        dirty = (self._changed - leaves.keys()) | self._touched_members.keys() | self._edges.keys()
        dirty |= self._new_edges.keys()
        containers, waiting = self._closure(dirty)
        members: defaultdict[int, dict[bytes, bytes | None]] = defaultdict(dict)
        for world, touched in self._touched_members.items():
            self._collect_touched(world, touched, containers, leaves, members[world])
        hashed = self._tables.known_worlds.hashed
        # They are at hand then: one pass in order is quicker.
        self._tables.nodes_of(sorted(node for node in containers if node not in hashed))
        settled: dict[int, bytes] = {}
        tries = self._tables.members(schema.ROOT_NODE), self._tables.interior_edges(schema.ROOT_NODE)
        # Those from the end on are found to be ready meanwhile.
        for node in (ready := sorted([node for node in containers if not waiting[node]])):
            found = settled[node] = self._rehash(node, members.pop(node, None), *tries)
            lineage, new_hash = found[: ids.LINEAGE_BYTES], found[_HASH_AT : _HASH_AT + ids.HASH_BYTES]
            for container in containers[node]:
                members[container][lineage] = new_hash
                waiting[container] -= 1
                if not waiting[container]:
                    ready.append(container)
        self._tables.put_hashes(list(settled), self._seq, [found[_HASH_AT:] for found in settled.values()])
        self._tables.known_worlds.rehashed(settled, containers)
        self._changed, self._edges, self._new_edges = set(), defaultdict(dict), defaultdict(dict)
        self._touched_members, self._new_members = defaultdict(set), Counter()
        return self._current(schema.ROOT_NODE)

    def _rehash_leaves(self) -> dict[int, tuple[bytes, bytes]]:
        """Hash new worlds that hold nothing, by far the most of a large commit. (lineage, hash)."""
        fresh = {node for node in self._changed if node >= self._tables.first_new_node}
        nodes = sorted(fresh - self._touched_members.keys() - self._edges.keys() - self._new_edges.keys())
        rows = list(map(self._tables.node, nodes))
        hashes = [hashing.world_hash(row.body, trie.EMPTY_ROOT, trie.EMPTY_ROOT, row.t_create) for row in rows]
        self._tables.put_hashes(nodes, self._seq, hashes)
        return {node: (row.lineage, found) for node, row, found in zip(nodes, rows, hashes, strict=True)}

    def _closure(self, dirty: set[int]) -> tuple[dict[int, list[int]], defaultdict[int, int]]:
        """Find the containers of every node that must be rehashed.

        With them comes how many changed members each container still waits for.
        """
        containers: dict[int, list[int]] = {}
        waiting: defaultdict[int, int] = defaultdict(int)
        pending, known = dirty, self._tables.known_worlds.containers
        while pending:
            self._tables.know_containers([node for node in pending if node not in known])
            around: set[int] = set()
            for node in pending:
                found = known.get(node)
                if found is None:
                    found = self._tables.containers(node)
                containers[node] = found
                for container in found:
                    waiting[container] += 1
                around.update(found)
            pending = around - containers.keys()
        return containers, waiting

    def _collect_touched(
        self,
        world: int,
        touched: set[int],
        containers: dict[int, list[int]],
        leaves: dict[int, tuple[bytes, bytes]],
        changes: dict[bytes, bytes | None],
    ) -> None:
        """Collect the members that came or went.

        One that is itself rehashed hands its new hash over when it is done.
        """
        for member in touched:
            inside = world in self._tables.containers(member)
            if member in leaves:
                lineage, leaf_hash = leaves[member]
                changes[lineage] = leaf_hash if inside else None
                self._new_members[world] += inside
            elif not inside:
                changes[self._tables.node(member).lineage] = None
            elif member not in containers:
                changes[self._tables.node(member).lineage] = self._current(member)

    def _rehash(
        self,
        node: int,
        members: dict[bytes, bytes | None] | None,
        members_trie: transaction.TableTrie,
        edges_trie: transaction.TableTrie,
    ) -> bytes:
        """The new hash of a node as it is stored, behind its lineage and what else it is made of."""
        tables = self._tables
        hashed = tables.known_worlds.hashed.get(node)
        if hashed is None:
            row = tables.node(node)
            hashed = transaction.HASHED.pack(row.lineage, row.body, row.t_create)
            hashed += (tables.current_hash(node) if node < tables.first_new_node else None) or b""
        _, body, t_create = transaction.HASHED.unpack_from(hashed)
        members_root, edges_root = roots_of(hashed[_HASH_AT:])
        if members:
            new = self._new_members.get(node, 0)
            members_root = members_trie.turned_to(node).update(members, members_root, new)
        edges = self._new_edges.get(node)
        new = 0 if edges is None else len(edges)
        if node in self._edges:
            edges = (edges or {}) | self._edges[node]
        if edges:
            edges_root = edges_trie.turned_to(node).update(edges, edges_root, new)
        new_hash = hashing.world_hash(body, members_root, edges_root, t_create)
        composite = members_root != trie.EMPTY_ROOT or edges_root != trie.EMPTY_ROOT
        hashed = hashed[:_HASH_AT] + new_hash
        return hashed + members_root + edges_root if composite else hashed

    def _current(self, node: int) -> bytes:
        found = self._tables.current_hash(node)
        if found is None:
            raise transaction.missing_row(f"world hash of node {node}")
        return found[: ids.HASH_BYTES]


def roots_of(stored: bytes) -> tuple[bytes, bytes]:
    """(members root, edges root) of a stored world hash; of nothing, too."""
    if len(stored) <= ids.HASH_BYTES:
        return trie.EMPTY_ROOT, trie.EMPTY_ROOT
    return stored[ids.HASH_BYTES : 2 * ids.HASH_BYTES], stored[2 * ids.HASH_BYTES :]
