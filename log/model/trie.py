"""A history-independent Merkle trie: the same entries give the same root in any order.

Entries are fixed-size keys with fixed-size values. A node stands for all the entries whose keys begin with its path
(one hex digit a level). Up to :data:`BUCKET_ENTRIES` entries, a node is a *bucket*; above that, a *branch* with one
child for each next digit. The shape therefore depends on the set alone, one rule serves every size, and one changed
entry costs a path of about ``log16(n)`` nodes.

Stored bytes, which are also what is hashed:

    bucket  0x00 | entry*                      entries sorted by key, entry = key | value
    branch  0x01 | u16 bitmap | child*         child = u32 count | 32-byte hash, for each set bit, lowest first

The empty set has the hash of an empty bucket and no stored node.

A proof is the nodes on the way to a key, which anybody can check against the root hash.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import groupby, islice
from typing import Final, Protocol

from blake3 import blake3

from worlddb.log.model import errors
from worlddb.log.model.hashing import TRIE_BRANCH, TRIE_BUCKET, digest

BUCKET_ENTRIES: Final = 128
FANOUT: Final = 16
MAX_WRITTEN: Final = 24_576
"""How many nodes that were written are kept, of at most six kilobytes and of one and a half on the average."""
_KEPT_OF: Final = 8
"""Where they are as many, one in so many that were not kept before."""
_FEW: Final = 4
"""Up to so many changes of a bucket are looked for in its bytes."""

_BUCKET: Final = b"\x00"
_BRANCH: Final = b"\x01"
_HEADER = struct.Struct(">BH")
_CHILD = struct.Struct(">I32s")
NOTED_CHILD_BYTES: Final = 1 + _CHILD.size
"""A child of a branch behind its digit, see :func:`with_changes`."""
_U32 = struct.Struct(">I")
_DIGITS: Final = tuple(bytes([digit]) for digit in range(FANOUT))

Change = tuple[bytes, bytes | None]
"""A key, and its new value or ``None`` to remove it."""
Read = tuple[bytes | None, list[bytes] | None]
"""A stored node, with the entries of a bucket if they were parsed when it was read.

Or these alone, if it is known to be what was written. Neither: there is no node."""


class NodeStore(Protocol):
    """The storage of one trie's nodes, by path: one byte (0 to 15) a level."""

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

    def __init__(
        self, nodes: NodeStore, key_size: int, value_size: int, written: dict[bytes, bytes] | None = None
    ) -> None:
        """``written`` has recently written nodes by their hashes: they need not be read and checked."""
        self.nodes = nodes
        self._written = written
        self._key_size = key_size
        self._value_size = value_size
        self._entry_size = key_size + value_size

    def update(self, changes: Mapping[bytes, bytes | None], before: bytes | None = None, new: int = 0) -> bytes:
        """Apply changes as one set and return the new root hash.

        Each node is rewritten at most once. Given the root hash ``before``, each that is read must have its hash. At
        least ``new`` of the keys are new.

        Raises:
            DamagedStore: a node is missing or not what was written, or a new key is there already.
        """
        if not changes:
            return root_of(self.nodes)
        growth, root = self._update(b"", list(changes.items()), before)
        if new and growth < new and growth < new - sum([value is None for value in changes.values()]):
            raise _damaged_error("already has an entry that is only now written")
        return root

    def get(self, key: bytes) -> bytes | None:
        """The value stored for a key."""
        path = b""
        while (node := self.nodes.get(path)) is not None:
            if node[:1] == _BUCKET:
                return self._pairs(node).get(key)
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
                yield from self._pairs(node).items()
            else:
                pending.extend(here + bytes([digit]) for digit in reversed(children(node)))

    def below(self, path: bytes, node: bytes | None) -> set[bytes]:
        """All entries at or below a path, each key and value in one.

        ``node`` is what is stored at the path.
        """
        if node is None or node[:1] == _BUCKET:
            return set(self._entries(node or _BUCKET))
        return {key + value for key, value in self.entries(path)}

    def _update(self, path: bytes, changes: list[Change], before: bytes | None) -> tuple[int, bytes]:
        """Apply changes below a path: by how many entries the subtree grew, and its new hash."""
        kept = node = None if before is None or self._written is None else self._written.pop(before, None)
        if node is not None:
            if not node[0] and self._value_size and len(changes) <= _FEW:
                # Most members that change were there before: that takes half of the time that all entries do.
                changed = self._with_values(node, changes)
                if changed is not None:
                    self._put_changed(path, changed, changes)
                    return 0, self._hash_of_written(changed, was_kept=True)
            entries = None
        else:
            node, entries = self._read(path, to_check=before is not None)
            is_right = before is None or (node is None and entries is not None)
            if not is_right and before != (EMPTY_ROOT if node is None else node_hash(node)):
                raise _damaged_error("has lost a node" if node is None else "has a node that is not what was written")
        if node is None or not node[0]:
            if entries is None:
                entries = list(self._entries(node or _BUCKET))
            return self._update_bucket(path, entries, changes, kept is not None)
        branch, growth, shrunk, lost, told = bytearray(node), 0, False, False, list[Change]()
        for digit, below in _split_by_digit(changes, len(path)).items():
            child = None if before is None else _child_hash(branch, digit)
            grown, child_hash = self._update(path + _DIGITS[digit], below, child)
            growth, shrunk = growth + grown, shrunk or grown < 0
            now = _set_child(branch, digit, grown, child_hash)
            told.append((_DIGITS[digit], now))
            lost = lost or not now
        node = bytes(branch)
        if shrunk and self._count(node) <= BUCKET_ENTRIES:
            return growth, self._collapse(path)
        if lost:
            self.nodes.put(path, node)
        else:
            self._put_changed(path, node, told)
        return growth, self._hash_of_written(node, kept is not None)

    def _hash_of_written(self, node: bytes, was_kept: bool = False) -> bytes:
        found, written = node_hash(node), self._written
        if written is not None:
            # A large commit writes more nodes than are kept, and the next one many of them in the same order: each
            # would be gone just before it is asked for if those that came last were kept. So of new ones few come in
            # where there are many, by a digit of the hash, and those that are asked for again stay. Branches, which are
            # on the way to many buckets and small, all come in.
            few = MAX_WRITTEN - MAX_WRITTEN // 8
            if was_kept or len(written) < few or not found[0] % _KEPT_OF or node[:1] == _BRANCH:
                written[found] = node
                if len(written) > MAX_WRITTEN:
                    for oldest in list(islice(written, len(written) - few)):
                        del written[oldest]
        return found

    def _read(self, path: bytes, *, to_check: bool) -> Read:
        """The node at a path; ``to_check``: it is compared with its hash now, if it is not known to be right."""
        return self.nodes.get(path), None

    def _update_bucket(
        self, path: bytes, entries: list[bytes], changes: list[Change], was_kept: bool
    ) -> tuple[int, bytes]:
        before = len(entries)
        entries = self._merge_changes(entries, changes)
        growth = len(entries) - before
        if not entries:
            self.nodes.delete(path)
            return growth, EMPTY_ROOT
        if not before or len(entries) > BUCKET_ENTRIES:
            return growth, self._build(path, entries)
        node = _BUCKET + b"".join(entries)
        self._put_changed(path, node, changes)
        return growth, self._hash_of_written(node, was_kept)

    def _with_values(self, bucket: bytes, changes: Sequence[Change]) -> bytes | None:
        """A bucket in which some keys have other values; ``None`` if one is not there, or is to go."""
        size, width = self._entry_size, self._key_size
        for key, value in changes:
            at = bucket.find(key)
            if value is None or at % size != len(_BUCKET):
                return None
            bucket = bucket[: at + width] + value + bucket[at + size :]
        return bucket

    def _put_changed(self, path: bytes, node: bytes, changes: Sequence[Change]) -> None:
        """Store a changed node, given its changes: of a branch children by their digits, none of which went."""
        self.nodes.put(path, node)

    def _merge_changes(self, before: list[bytes], changes: Sequence[Change]) -> list[bytes]:
        """Sorted entries after some changes, in the same list or in another one."""
        size = self._key_size
        if len(changes) > len(before):
            # Inserting very many one by one would take time in the square of their number.
            merged = {entry[:size]: entry for entry in before}
            for key, value in changes:
                if value is None:
                    merged.pop(key, None)
                else:
                    merged[key] = key + value
            return sorted(merged.values())
        for key, value in changes:
            # As _replace() does it: a large commit comes by here more often than anywhere.
            at = bisect_left(before, key)
            found = at < len(before) and before[at].startswith(key)
            before[at : at + found] = () if value is None else (key + value,)
        return before

    def _build(self, path: bytes, entries: list[bytes]) -> bytes:
        """Store the canonical subtree of some sorted entries; its hash."""
        if len(entries) <= BUCKET_ENTRIES:
            node = _BUCKET + b"".join(entries)
        else:
            branch = bytearray(_HEADER.pack(1, 0))
            for digit, below in groupby(entries, partial(_digit, depth=len(path))):
                listed = list(below)
                _set_child(branch, digit, len(listed), self._build(path + _DIGITS[digit], listed))
            node = bytes(branch)
        self.nodes.put(path, node)
        return self._hash_of_written(node)

    def _collapse(self, path: bytes) -> bytes:
        """Turn a branch that has become too small back into a bucket, or into nothing; its hash."""
        entries: list[bytes] = []
        for digit in range(FANOUT):
            child = path + bytes([digit])
            if self.nodes.get(child) is not None:
                entries.extend(key + value for key, value in self.entries(child))
                self._delete_subtree(child)
        if entries:
            return self._build(path, entries)
        self.nodes.delete(path)
        return EMPTY_ROOT

    def _delete_subtree(self, path: bytes) -> None:
        node = self.nodes.get(path)
        if node is not None:
            for digit in children(node):
                self._delete_subtree(path + bytes([digit]))
            self.nodes.delete(path)

    def _count(self, node: bytes) -> int:
        if node[:1] == _BUCKET:
            return (len(node) - 1) // self._entry_size
        return sum(count for count, _ in children(node).values())

    def _entries(self, bucket: bytes) -> tuple[bytes, ...]:
        """The entries of a bucket, each key and value in one."""
        return _layout(self._entry_size, len(bucket) // self._entry_size).unpack_from(bucket, len(_BUCKET))

    def _pairs(self, node: bytes) -> dict[bytes, bytes]:
        return bucket_entries(node, self._key_size, self._entry_size - self._key_size)


def _replace(entries: list[bytes], key: bytes, entry: Sequence[bytes]) -> None:
    """Replace the entry of a key in sorted entries by another one or by none; insert it if the key is new."""
    at = bisect_left(entries, key)
    found = at < len(entries) and entries[at].startswith(key)
    entries[at : at + found] = entry


@lru_cache(maxsize=4 * BUCKET_ENTRIES)
def _layout(size: int, count: int) -> struct.Struct:
    """The layout of ``count`` fields of one size."""
    return struct.Struct(f"{size}s" * count)


def _damaged_error(what: str) -> errors.DamagedStore:
    return errors.DamagedStore(
        f"In the tables, the tree of a world's interior {what}",
        "Run `worlddb verify --deep`, then `worlddb rebuild tables`",
    )


def _split_by_digit(changes: list[Change], depth: int) -> dict[int, list[Change]]:
    """Changes by the next digit of their keys."""
    if len(changes) == 1:
        return {_digit(changes[0][0], depth): changes}
    groups: dict[int, list[Change]] = {}
    at, is_low = depth >> 1, depth & 1
    for change in changes:
        byte = change[0][at]
        digit = byte & 15 if is_low else byte >> 4
        if digit in groups:
            groups[digit].append(change)
        else:
            groups[digit] = [change]
    return groups


def _digit(key: bytes, depth: int) -> int:
    byte = key[depth >> 1]
    return byte & 15 if depth & 1 else byte >> 4


def _child_hash(branch: bytearray, digit: int) -> bytes:
    _, bitmap = _HEADER.unpack_from(branch)
    bit = 1 << digit
    at = _HEADER.size + _CHILD.size * (bitmap & (bit - 1)).bit_count()
    return _CHILD.unpack_from(branch, at)[1] if bitmap & bit else EMPTY_ROOT


def _set_child(branch: bytearray, digit: int, growth: int, child_hash: bytes) -> bytes:
    """Replace or add one child of a branch, or drop it because nothing is left of it; its bytes."""
    _, bitmap = _HEADER.unpack_from(branch)
    bit = 1 << digit
    at = _HEADER.size + _CHILD.size * (bitmap & (bit - 1)).bit_count()
    count = growth + (_CHILD.unpack_from(branch, at)[0] if bitmap & bit else 0)
    child = _CHILD.pack(count, child_hash) if count else b""
    branch[at : at + (_CHILD.size if bitmap & bit else 0)] = child
    _HEADER.pack_into(branch, 0, 1, bitmap | bit if child else bitmap & ~bit)
    return child


def children(node: bytes) -> dict[int, tuple[int, bytes]]:
    """Digit to (count, hash) of a stored branch; nothing for a bucket."""
    if node[:1] != _BRANCH:
        return {}
    _, bitmap = _HEADER.unpack_from(node)
    digits = [digit for digit in range(FANOUT) if bitmap >> digit & 1]
    return dict(zip(digits, _CHILD.iter_unpack(node[_HEADER.size :]), strict=True))


def with_changes(
    bucket: bytes, key_bytes: int, value_bytes: int, noted: Sequence[bytes | tuple[bytes, bytes]]
) -> tuple[bytes, list[bytes] | None]:
    """A bucket after changes, and its entries; or a branch.

    A change is the entries that came and the keys that went, each one behind the other, or the entries alone. Of a
    branch it is the children that came or changed, each behind its digit.
    """
    if bucket[:1] == _BRANCH:
        return _changed_branch(bucket, noted), None
    entries = changed_entries(bucket, key_bytes, value_bytes, noted)
    odd = (len(bucket) - len(_BUCKET)) % (key_bytes + value_bytes)
    return bucket[: len(_BUCKET)] + b"".join(entries) + bucket[len(bucket) - odd :], entries


def changed_entries(
    bucket: bytes, key_bytes: int, value_bytes: int, noted: Sequence[bytes | tuple[bytes, bytes]]
) -> list[bytes]:
    """The entries of a bucket after changes in the form that :func:`with_changes` takes."""
    size = key_bytes + value_bytes
    entries = list(_layout(size, len(bucket) // size).unpack_from(bucket, len(_BUCKET)))
    for note in noted:
        came, gone = (note, b"") if isinstance(note, bytes) else note
        for begins in range(0, len(came), size):
            entry = came[begins : begins + size]
            # As _replace() does it: this is where a large commit comes by most often.
            at = bisect_left(entries, key := entry[:key_bytes])
            entries[at : at + (at < len(entries) and entries[at].startswith(key))] = (entry,)
        for at in range(0, len(gone), key_bytes):
            _replace(entries, gone[at : at + key_bytes], ())
    return entries


def _changed_branch(branch: bytes, noted: Sequence[bytes | tuple[bytes, bytes]]) -> bytes:
    changed, size, (_, bitmap) = bytearray(branch), _CHILD.size, _HEADER.unpack_from(branch)
    for note in noted:
        came = note if isinstance(note, bytes) else note[0]
        for begins in range(0, len(came), NOTED_CHILD_BYTES):
            bit = 1 << came[begins] % FANOUT
            at = _HEADER.size + size * (bitmap & (bit - 1)).bit_count()
            changed[at : at + (size if bitmap & bit else 0)] = came[begins + 1 : begins + NOTED_CHILD_BYTES]
            bitmap |= bit
    _HEADER.pack_into(changed, 0, 1, bitmap)
    return bytes(changed)


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
        here, there = left_trie.below(path, one), right_trie.below(path, two)
        ours = {entry[:key_size]: entry[key_size:] for entry in here - there}
        others = {entry[:key_size]: entry[key_size:] for entry in there - here}
        for key in sorted(ours.keys() | others.keys()):
            yield key, ours.get(key), others.get(key)


_BRANCH_HEADER_BYTES = 3
_CHILD_BYTES = 36
_BUCKET_TAG, _BRANCH_TAG = b"\x00", b"\x01"


class MemoryNodes:
    """The nodes of a trie in memory."""

    def __init__(self) -> None:
        self._nodes: dict[bytes, bytes] = {}

    def get(self, path: bytes) -> bytes | None:
        return self._nodes.get(path)

    def put(self, path: bytes, node: bytes) -> None:
        self._nodes[path] = node

    def delete(self, path: bytes) -> None:
        self._nodes.pop(path, None)


def build_trie(entries: Iterable[tuple[bytes, bytes]], key_size: int, value_size: int) -> MemoryNodes:
    """Build the trie of some entries in memory."""
    nodes = MemoryNodes()
    Trie(nodes, key_size, value_size).update(dict(entries))
    return nodes


def proof_nodes(nodes: NodeStore, key: bytes) -> list[bytes]:
    """The stored nodes from the root to the bucket where a key is, or would be."""
    path, found = b"", []
    while (node := nodes.get(path)) is not None:
        found.append(node)
        if node[:1] == _BUCKET_TAG:
            break
        path += bytes([_path_digit(key, len(path))])
    return found


def proved_value(root: bytes, key: bytes, value_size: int, nodes: Sequence[bytes]) -> bytes | None:
    """Find the value that the nodes show for a key under a root hash.

    ``None`` if they do not show it.
    """
    expected = root
    for depth, node in enumerate(nodes):
        if node_hash(node) != expected or depth >= 2 * len(key):
            return None
        if depth == len(nodes) - 1:
            return (
                bucket_entries(node, len(key), value_size).get(key) if _is_bucket(node, len(key) + value_size) else None
            )
        child = children(node).get(_path_digit(key, depth)) if _is_branch(node) else None
        if child is None:
            return None
        expected = child[1]
    return None


def _is_bucket(node: bytes, entry_bytes: int) -> bool:
    return node[:1] == _BUCKET_TAG and not (len(node) - 1) % entry_bytes


def _is_branch(node: bytes) -> bool:
    if node[:1] != _BRANCH_TAG or len(node) < _BRANCH_HEADER_BYTES:
        return False
    bits = int.from_bytes(node[1:_BRANCH_HEADER_BYTES], "big").bit_count()
    return len(node) == _BRANCH_HEADER_BYTES + bits * _CHILD_BYTES


def _path_digit(key: bytes, depth: int) -> int:
    byte = key[depth >> 1]
    return byte & 15 if depth & 1 else byte >> 4
