"""The Merkle tree over the commits, exactly as in RFC 6962 (and RFC 9162, section 2.1).

    leaf      SHA-256( 0x00 | chain hash of the commit )
    interior  SHA-256( 0x01 | left 32 | right 32 )
    empty     SHA-256( nothing )

Commit ``seq`` is the leaf number ``seq - 1``, so the tree of size n stands for the commits 1 to n. SHA-256 rather than
BLAKE3, because a checkpoint names "the RFC 6962 root": witnesses and verifiers that others wrote take it as it is.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Protocol

from worlddb.log.model.hashing import log_leaf_hash, log_node_hash

EMPTY_TREE: Final = sha256(b"").digest()
"""The root of the tree of size 0."""


class Subtrees(Protocol):
    """A source of hashes of complete subtrees: ``2 ** level`` leaves each, aligned."""

    def subtree(self, level: int, end: int) -> bytes:
        """The hash of the complete subtree of a level whose last leaf is that of commit ``end``."""


class Frontier:
    """A tree read from its first leaf on; it keeps one hash for each power of two in its size."""

    def __init__(self) -> None:
        self.size = 0
        self._complete: list[bytes] = []

    def append(self, chain: bytes) -> None:
        """The next commit."""
        node, size = log_leaf_hash(chain), self.size
        while size & 1:
            node, size = log_node_hash(self._complete.pop(), node), size >> 1
        self._complete.append(node)
        self.size += 1

    def root(self) -> bytes:
        """The root of the tree so far."""
        if not self._complete:
            return EMPTY_TREE
        node = self._complete[-1]
        for left in self._complete[-2::-1]:
            node = log_node_hash(left, node)
        return node


def tree_root(subtrees: Subtrees, size: int) -> bytes:
    """The root of the tree of the first ``size`` commits."""
    return _range(subtrees, 0, size) if size else EMPTY_TREE


def inclusion_path(subtrees: Subtrees, seq: int, size: int) -> list[bytes]:
    """Prove commit ``seq`` in the tree of ``size``: the hashes from its leaf to the root.

    Lowest first (RFC 6962, 2.1.1).
    """
    path: list[bytes] = []
    first, last = 0, size
    while last - first > 1:
        middle = first + _split(last - first)
        if seq <= middle:
            path.append(_range(subtrees, middle, last))
            last = middle
        else:
            path.append(_range(subtrees, first, middle))
            first = middle
    return path[::-1]


def consistency_path(subtrees: Subtrees, old: int, new: int) -> list[bytes]:
    """Prove that the tree of size ``old`` begins the one of size ``new``.

    The hashes that show it (RFC 6962, 2.1.2).
    """
    if not 0 < old < new:
        return []
    path: list[bytes] = []
    first, last, whole = 0, new, True
    while old != last:
        middle = first + _split(last - first)
        if old <= middle:
            path.append(_range(subtrees, middle, last))
            last = middle
        else:
            path.append(_range(subtrees, first, middle))
            first, whole = middle, False
    if not whole:
        path.append(_range(subtrees, first, last))
    return path[::-1]


def root_of_inclusion(leaf: bytes, seq: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Compute the root that an inclusion path leads to.

    ``None`` if the path does not fit the size (RFC 9162, 2.1.3.2).
    """
    if not 0 < seq <= size:
        return None
    index, last, node = seq - 1, size - 1, leaf
    for beside in path:
        if not last:
            return None
        if index & 1 or index == last:
            node = log_node_hash(beside, node)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = log_node_hash(node, beside)
        index, last = index >> 1, last >> 1
    return None if last else node


def is_consistent(old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]) -> bool:
    """True if a consistency path shows that the tree at ``old`` begins the one at ``new``.

    Both are sizes (RFC 9162, 2.1.4.2).
    """
    if not 0 <= old <= new:
        return False
    if old in (0, new):
        return not path and old_root == (EMPTY_TREE if not old else new_root)
    steps = list(path) if old & (old - 1) else [old_root, *path]
    if not steps:
        return False
    index, last = old - 1, new - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    one = other = steps[0]
    for beside in steps[1:]:
        if not last:
            return False
        if index & 1 or index == last:
            one, other = log_node_hash(beside, one), log_node_hash(beside, other)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            other = log_node_hash(other, beside)
        index, last = index >> 1, last >> 1
    return not last and (one, other) == (old_root, new_root)


def _split(count: int) -> int:
    """The largest power of two below a count of two or more."""
    return 1 << (count - 1).bit_length() - 1


def _range(subtrees: Subtrees, first: int, last: int) -> bytes:
    """Hash the leaves ``first`` to ``last - 1``.

    They begin where a subtree as large as any of them does.
    """
    ends: list[tuple[int, int]] = []
    while first < last:
        level = (last - first).bit_length() - 1
        first += 1 << level
        ends.append((level, first))
    level, end = ends.pop()
    node = subtrees.subtree(level, end)
    while ends:
        level, end = ends.pop()
        node = log_node_hash(subtrees.subtree(level, end), node)
    return node
