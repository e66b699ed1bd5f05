"""Proofs about a trie: the nodes on the way to a key, which anybody can hold against the root hash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from worlddb.log.model.trie import NodeStore, Trie, bucket_entries, children, node_hash

_BRANCH_HEADER_BYTES = 3
_CHILD_BYTES = 36
_BUCKET, _BRANCH = b"\x00", b"\x01"


class MemoryNodes:
    """The nodes of a trie that is kept nowhere."""

    def __init__(self) -> None:
        self._nodes: dict[bytes, bytes] = {}

    def get(self, path: bytes) -> bytes | None:
        return self._nodes.get(path)

    def put(self, path: bytes, node: bytes) -> None:
        self._nodes[path] = node

    def delete(self, path: bytes) -> None:
        self._nodes.pop(path, None)


def built(entries: Iterable[tuple[bytes, bytes]], key_size: int, value_size: int) -> MemoryNodes:
    """The trie of some entries."""
    nodes = MemoryNodes()
    Trie(nodes, key_size, value_size).update(dict(entries))
    return nodes


def nodes_to(nodes: NodeStore, key: bytes) -> list[bytes]:
    """The stored nodes from the root to the bucket where a key is, or would be."""
    path, found = b"", []
    while (node := nodes.get(path)) is not None:
        found.append(node)
        if node[:1] == _BUCKET:
            break
        path += bytes([_digit(key, len(path))])
    return found


def proved_value(root: bytes, key: bytes, value_size: int, nodes: Sequence[bytes]) -> bytes | None:
    """The value that the nodes show for a key under a root hash; ``None`` if they do not show it."""
    expected = root
    for depth, node in enumerate(nodes):
        if node_hash(node) != expected or depth >= 2 * len(key):
            return None
        if depth == len(nodes) - 1:
            return (
                bucket_entries(node, len(key), value_size).get(key) if _is_bucket(node, len(key) + value_size) else None
            )
        child = children(node).get(_digit(key, depth)) if _is_branch(node) else None
        if child is None:
            return None
        expected = child[1]
    return None


def _is_bucket(node: bytes, entry_bytes: int) -> bool:
    return node[:1] == _BUCKET and not (len(node) - 1) % entry_bytes


def _is_branch(node: bytes) -> bool:
    if node[:1] != _BRANCH or len(node) < _BRANCH_HEADER_BYTES:
        return False
    bits = int.from_bytes(node[1:_BRANCH_HEADER_BYTES], "big").bit_count()
    return len(node) == _BRANCH_HEADER_BYTES + bits * _CHILD_BYTES


def _digit(key: bytes, depth: int) -> int:
    byte = key[depth >> 1]
    return byte & 15 if depth & 1 else byte >> 4
