"""A history-independent Merkle trie: the same set of entries gives the same root, whatever the order of arrival.

Entries are fixed-size keys with fixed-size values. A node stands for all the entries whose keys begin with its path
(one hex digit a level). Up to :data:`BUCKET_ENTRIES` entries, a node is a *bucket*; above that, a *branch* with one
child for each next digit. The shape therefore depends on the set alone, one rule serves every size, and one changed
entry costs a path of about ``log16(n)`` nodes.

Stored bytes, which are also what is hashed:

    bucket  0x00 | entry*                      entries sorted by key, entry = key | value
    branch  0x01 | u16 bitmap | child*         child = u32 count | 32-byte hash, for each set bit, lowest first

The empty set has the hash of an empty bucket and no stored node.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Final, Protocol

from blake3 import blake3

from worlddb.log.model.hashing import TRIE_BRANCH, TRIE_BUCKET, digest

BUCKET_ENTRIES: Final = 32
FANOUT: Final = 16
FEW_CHANGES: Final = 8
"""Up to so many changes are cut into a bucket one by one."""

_BUCKET: Final = b"\x00"
_BRANCH: Final = b"\x01"
_HEADER = struct.Struct(">BH")
_CHILD = struct.Struct(">I32s")
_U32 = struct.Struct(">I")
_DIGITS: Final = tuple(bytes([digit]) for digit in range(FANOUT))

Change = tuple[bytes, bytes | None]
"""A key, and its new value or ``None`` to remove it."""


class NodeStore(Protocol):
    """Where one trie keeps its nodes, by path: one byte (0 to 15) a level."""

    def get(self, path: bytes) -> bytes | None:
        """The stored node at a path."""

    def put(self, path: bytes, node: bytes) -> None:
        """Store a node."""

    def delete(self, path: bytes) -> None:
        """Forget the node at a path."""


def node_hash(node: bytes) -> bytes:
    """The hash of a stored node."""
    tag = TRIE_BUCKET if node[:1] == _BUCKET else TRIE_BRANCH
    return blake3(tag + _U32.pack(len(node)) + node).digest()


EMPTY_ROOT: Final = digest(TRIE_BUCKET, _BUCKET)


def root_of(nodes: NodeStore) -> bytes:
    """The root hash of the stored set."""
    node = nodes.get(b"")
    return EMPTY_ROOT if node is None else node_hash(node)


class Trie:
    """The algorithm over one node store. Keys have ``key_size`` bytes and values ``value_size``."""

    def __init__(self, nodes: NodeStore, key_size: int, value_size: int) -> None:
        self.nodes = nodes
        self._key_size = key_size
        self._entry_size = key_size + value_size

    def update(self, changes: Mapping[bytes, bytes | None]) -> bytes:
        """Apply changes as one set (each node is rewritten at most once) and return the new root hash."""
        if len(changes) == 1:
            (change,) = changes.items()
            if change[1] is not None:
                return self._put(change)
        if not changes:
            return root_of(self.nodes)
        return self._update(b"", sorted(changes.items()))[1]

    def get(self, key: bytes) -> bytes | None:
        """The value stored for a key."""
        path = b""
        while (node := self.nodes.get(path)) is not None:
            if node[:1] == _BUCKET:
                return self._entries(node).get(key)
            path += bytes([_digit(key, len(path))])
        return None

    def count(self) -> int:
        """How many entries there are."""
        node = self.nodes.get(b"")
        return 0 if node is None else self._count(node)

    def entries(self, path: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """All entries below a path, sorted by key."""
        pending = [path]
        while pending:
            here = pending.pop()
            node = self.nodes.get(here)
            if node is None:
                continue
            if node[:1] == _BUCKET:
                yield from self._entries(node).items()
            else:
                pending.extend(here + bytes([digit]) for digit in reversed(children(node)))

    def _put(self, change: Change) -> bytes:
        """Put one entry: down to its bucket and up again. It can only grow the trie, so nothing collapses."""
        key, path = change[0], b""
        branches: list[bytes] = []
        node = self.nodes.get(path)
        while node is not None and node[:1] == _BRANCH:
            branches.append(node)
            path += _DIGITS[_digit(key, len(path))]
            node = self.nodes.get(path)
        growth, child_hash = self._update_bucket(path, node or _BUCKET, [change])
        while branches:
            path, digit = path[:-1], path[-1]
            node = _with_child(branches.pop(), digit, growth, child_hash)
            self.nodes.put(path, node)
            child_hash = node_hash(node)
        return child_hash

    def _update(self, path: bytes, changes: list[Change]) -> tuple[int, bytes]:
        """Apply changes below a path: by how many entries the subtree grew, and its new hash."""
        node = self.nodes.get(path)
        if node is None or node[:1] == _BUCKET:
            return self._update_bucket(path, node or _BUCKET, changes)
        depth, growth, shrunk = len(path), 0, False
        for digit, group in groupby(changes, lambda change: _digit(change[0], depth)):
            grown, child_hash = self._update(path + bytes([digit]), list(group))
            growth, shrunk = growth + grown, shrunk or grown < 0
            node = _with_child(node, digit, grown, child_hash)
        if shrunk and self._count(node) <= BUCKET_ENTRIES:
            return growth, self._collapse(path)
        self.nodes.put(path, node)
        return growth, node_hash(node)

    def _update_bucket(self, path: bytes, node: bytes, changes: list[Change]) -> tuple[int, bytes]:
        changed = self._spliced(node, changes) if len(changes) <= FEW_CHANGES else self._merged(node, changes)
        growth = (len(changed) - len(node)) // self._entry_size
        if changed == _BUCKET:
            self.nodes.delete(path)
            return growth, EMPTY_ROOT
        if self._count(changed) <= BUCKET_ENTRIES:
            self.nodes.put(path, changed)
            return growth, node_hash(changed)
        return growth, self._build(path, list(self._entries(changed).items()))[1]

    def _spliced(self, node: bytes, changes: list[Change]) -> bytes:
        """A bucket after a few changes, each cut into its bytes: cheaper than taking all of it apart."""
        size, key_size = self._entry_size, self._key_size
        for key, value in changes:
            entries = range(1, len(node), size)
            position = bisect_left(entries, key, key=partial(_key_at, node, key_size))
            at = 1 + position * size
            found = node[at : at + key_size] == key
            node = node[:at] + (b"" if value is None else key + value) + node[at + size if found else at :]
        return node

    def _merged(self, node: bytes, changes: list[Change]) -> bytes:
        """A bucket, or what will be split into several, after many changes."""
        entries = self._entries(node)
        for key, value in changes:
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
        return _BUCKET + b"".join([key + entries[key] for key in sorted(entries)])

    def _build(self, path: bytes, entries: list[tuple[bytes, bytes]]) -> tuple[int, bytes]:
        """Store the canonical subtree of some sorted entries; their count and its hash."""
        if len(entries) <= BUCKET_ENTRIES:
            node = _BUCKET + b"".join([key + value for key, value in entries])
        else:
            depth, node = len(path), _HEADER.pack(1, 0)
            for digit, group in groupby(entries, lambda entry: _digit(entry[0], depth)):
                node = _with_child(node, digit, *self._build(path + bytes([digit]), list(group)))
        self.nodes.put(path, node)
        return len(entries), node_hash(node)

    def _collapse(self, path: bytes) -> bytes:
        """Turn a branch that has become too small back into a bucket, or into nothing; its hash."""
        entries: list[tuple[bytes, bytes]] = []
        for digit in range(FANOUT):
            child = path + bytes([digit])
            if self.nodes.get(child) is not None:
                entries.extend(self.entries(child))
                self._forget(child)
        if entries:
            return self._build(path, entries)[1]
        self.nodes.delete(path)
        return EMPTY_ROOT

    def _forget(self, path: bytes) -> None:
        node = self.nodes.get(path)
        if node is not None:
            for digit in children(node):
                self._forget(path + bytes([digit]))
            self.nodes.delete(path)

    def _count(self, node: bytes) -> int:
        if node[:1] == _BUCKET:
            return (len(node) - 1) // self._entry_size
        return sum(count for count, _ in children(node).values())

    def _entries(self, node: bytes) -> dict[bytes, bytes]:
        return bucket_entries(node, self._key_size, self._entry_size - self._key_size)


def _key_at(node: bytes, key_size: int, at: int) -> bytes:
    return node[at : at + key_size]


def _digit(key: bytes, depth: int) -> int:
    byte = key[depth >> 1]
    return byte & 15 if depth & 1 else byte >> 4


def _with_child(node: bytes, digit: int, growth: int, child_hash: bytes) -> bytes:
    """A branch with one child replaced, added, or dropped because nothing is left of it."""
    _, bitmap = _HEADER.unpack_from(node)
    bit = 1 << digit
    at = _HEADER.size + _CHILD.size * (bitmap & (bit - 1)).bit_count()
    if not bitmap & bit and not growth:
        return node
    if not bitmap & bit:
        return _HEADER.pack(1, bitmap | bit) + node[_HEADER.size : at] + _CHILD.pack(growth, child_hash) + node[at:]
    count = _CHILD.unpack_from(node, at)[0] + growth
    rest = node[at + _CHILD.size :]
    if not count:
        return _HEADER.pack(1, bitmap & ~bit) + node[_HEADER.size : at] + rest
    return node[:at] + _CHILD.pack(count, child_hash) + rest


def children(node: bytes) -> dict[int, tuple[int, bytes]]:
    """Digit to (count, hash) of a stored branch; nothing for a bucket."""
    if node[:1] != _BRANCH:
        return {}
    _, bitmap = _HEADER.unpack_from(node)
    digits = [digit for digit in range(FANOUT) if bitmap >> digit & 1]
    return dict(zip(digits, _CHILD.iter_unpack(node[_HEADER.size :]), strict=True))


def bucket_entries(node: bytes, key_size: int, value_size: int) -> dict[bytes, bytes]:
    """Key to value of a stored bucket; nothing for a branch."""
    if node[:1] != _BUCKET:
        return {}
    size = key_size + value_size
    return {node[at : at + key_size]: node[at + key_size : at + size] for at in range(1, len(node), size)}


def difference(
    left: NodeStore, right: NodeStore, key_size: int, value_size: int
) -> Iterator[tuple[bytes, bytes | None, bytes | None]]:
    """Keys whose values differ, with both values; only subtrees whose hashes differ are read."""
    left_trie, right_trie = Trie(left, key_size, value_size), Trie(right, key_size, value_size)
    pending = [b""]
    while pending:
        path = pending.pop()
        one, two = left.get(path), right.get(path)
        if one == two:
            continue
        if one is not None and two is not None and one[:1] == two[:1] == _BRANCH:
            mine, theirs = children(one), children(two)
            differing = [d for d in range(FANOUT) if mine.get(d) != theirs.get(d)]
            pending.extend(path + bytes([digit]) for digit in reversed(differing))
            continue
        ours, others = dict(left_trie.entries(path)), dict(right_trie.entries(path))
        for key in sorted(ours.keys() | others.keys()):
            if ours.get(key) != others.get(key):
                yield key, ours.get(key), others.get(key)
