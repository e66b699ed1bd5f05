"""Compares the Merkle trie with a plain dict: one set, one root, one set of nodes.

Story: a version that cut changes into buckets gave a branch an empty child when a key was taken out that was not there
(an edge linked and unlinked in one batch), and took time in the square of the batch when a world got many members.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb.log.model import trie as trie_module
from worlddb.log.model.errors import DamagedStore
from worlddb.log.model.trie import BUCKET_ENTRIES, EMPTY_ROOT, Trie

KEY_BYTES, VALUE_BYTES = 4, 2


class Nodes(dict[bytes, bytes]):
    """A node store in memory that counts the bytes it was given."""

    stored_bytes = 0

    def put(self, path: bytes, node: bytes) -> None:
        self[path] = node
        self.stored_bytes += len(node)

    def delete(self, path: bytes) -> None:
        self.pop(path, None)


class Counting(Nodes):
    """Nodes that say how many of them were read."""

    reads = 0

    def get(self, path: bytes) -> bytes | None:  # type: ignore[override]
        self.reads += 1
        return super().get(path)


def build_trie(entries: dict[bytes, bytes]) -> tuple[bytes, Nodes]:
    nodes = Nodes()
    return Trie(nodes, KEY_BYTES, VALUE_BYTES).update(dict(entries)), nodes


def key_of(number: int) -> bytes:
    return bytes([number // 8, 0, 0, number % 8])


# Few leading digits, so that keys share paths; and rows of keys, so that buckets split and branches collapse again.
KEYS = st.integers(0, 327).map(key_of)
VALUES = st.none() | st.binary(min_size=VALUE_BYTES, max_size=VALUE_BYTES)
ROWS = st.builds(
    lambda first, count, value: {key_of(number): value for number in range(first, first + count)},
    st.integers(0, 160),
    st.integers(1, 2 * BUCKET_ENTRIES),
    VALUES,
)
CHANGES = st.dictionaries(KEYS, VALUES, max_size=80) | ROWS


@given(st.lists(CHANGES, max_size=8))
def test_every_history_of_a_set_gives_the_same_root_and_nodes(batches: list[dict[bytes, bytes | None]]) -> None:
    nodes = Nodes()
    entries: dict[bytes, bytes] = {}
    trie = Trie(nodes, KEY_BYTES, VALUE_BYTES)
    unread, written = Nodes(), dict[bytes, bytes]()
    root = EMPTY_ROOT
    for batch in batches:
        from_written = Trie(unread, KEY_BYTES, VALUE_BYTES, written).update(batch, root)
        root = trie.update(batch)
        assert (root, nodes) == (from_written if batch else root, unread)
        for key, value in batch.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
        assert (root, nodes) == build_trie(entries)
        assert trie.count() == len(entries)
    assert dict(trie.entries()) == entries


@pytest.mark.parametrize("size", [0, 1, BUCKET_ENTRIES, BUCKET_ENTRIES + 1, 400])
def test_taking_out_what_is_not_there_changes_nothing(size: int) -> None:
    entries = {bytes([number % 200, number // 200, 0, 0]): b"vv" for number in range(size)}
    root, nodes = build_trie(entries)
    before = dict(nodes)
    absent = {bytes([first, 0, 0, 9]): None for first in range(0, 256, 3)}
    trie = Trie(nodes, KEY_BYTES, VALUE_BYTES)
    for changes in (absent, dict(list(absent.items())[:1]), {b"\xff\xff\xff\xff": None}):
        assert trie.update(changes) == root
        assert nodes == before
    assert (root == EMPTY_ROOT) is (size == 0)


def test_few_and_many_changes_of_a_bucket_come_to_the_same() -> None:
    draw = random.Random(3)
    entries = {draw.randbytes(KEY_BYTES): draw.randbytes(VALUE_BYTES) for _ in range(BUCKET_ENTRIES)}
    at_once, _ = build_trie(entries)
    nodes = Nodes()
    trie = Trie(nodes, KEY_BYTES, VALUE_BYTES)
    roots = [trie.update({key: value}) for key, value in entries.items()]
    assert roots[-1] == at_once
    assert len(set(roots)) == len(roots)


def test_a_value_is_replaced_under_its_key_and_not_where_other_bytes_are_the_same() -> None:
    entries = {bytes([number, 7, 7, number]): bytes([number + 1, 7]) for number in range(0, 60, 2)}
    entries |= {bytes([number, 7, number, 7]): bytes([7, number + 2]) for number in range(1, 60, 2)}
    written: dict[bytes, bytes] = {}
    nodes = Nodes()
    trie = Trie(nodes, KEY_BYTES, VALUE_BYTES, written)
    root = trie.update(dict(entries), EMPTY_ROOT)
    bucket = b"".join(sorted(map(b"".join, entries.items())))
    alike = {bucket[at : at + KEY_BYTES] for at in range(90)}
    each_one: list[dict[bytes, bytes | None]] = [{key: b"on"} for key in sorted(alike | entries.keys())]
    gone: dict[bytes, bytes | None] = {b"\x07\x07\x01\x02": None}
    for changes in [gone, *each_one]:
        entries |= {key: value for key, value in changes.items() if value is not None}
        root = trie.update(changes, root)
        assert root == build_trie(entries)[0] and root in written


def test_what_was_written_last_is_neither_read_nor_checked_again_and_all_else_is() -> None:
    draw = random.Random(5)
    entries = {draw.randbytes(KEY_BYTES): draw.randbytes(VALUE_BYTES) for _ in range(1_000)}
    root, nodes = build_trie(entries)
    written: dict[bytes, bytes] = {}
    key = next(iter(entries))
    root = Trie(nodes, KEY_BYTES, VALUE_BYTES, written).update({key: b"no"}, root)
    path = {each for each, node in nodes.items() if node in written.values()}
    lost = Nodes({each: node for each, node in nodes.items() if each not in path})
    again = Trie(lost, KEY_BYTES, VALUE_BYTES, written).update({key: b"on"}, root)
    assert again == build_trie(entries | {key: b"on"})[0] and len(written) == len(path) > 1
    with pytest.raises(DamagedStore, match="lost a node"):
        Trie(Nodes(), KEY_BYTES, VALUE_BYTES, {}).update({key: b"on"}, root)


def test_of_more_nodes_than_are_kept_those_that_change_again_in_the_same_order_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entries = {number.to_bytes(2, "big") + bytes(2): b"vv" for number in range(0, 1 << 16, 8)}
    root, nodes = build_trie(entries)
    most = len(nodes) // 2
    monkeypatch.setattr(trie_module, "MAX_WRITTEN", most)
    written: dict[bytes, bytes] = {}
    read: list[int] = []
    for value in (b"v1", b"v2", b"v3"):
        unread = Counting(nodes)
        root = Trie(unread, KEY_BYTES, VALUE_BYTES, written).update(dict.fromkeys(entries, value), root)
        nodes = unread
        read.append(unread.reads)
        assert len(written) <= most
    assert read[0] == len(nodes) and max(read[1:]) < 0.7 * len(nodes)
    assert root == build_trie(dict.fromkeys(entries, b"v3"))[0]


def test_a_change_in_a_large_set_rewrites_a_path_and_not_the_set() -> None:
    draw = random.Random(4)
    entries = {draw.randbytes(KEY_BYTES): draw.randbytes(VALUE_BYTES) for _ in range(20_000)}
    _, nodes = build_trie(entries)
    whole = nodes.stored_bytes
    nodes.stored_bytes = 0
    Trie(nodes, KEY_BYTES, VALUE_BYTES).update({draw.randbytes(KEY_BYTES): b"vv"})
    assert 0 < nodes.stored_bytes < whole / 50
