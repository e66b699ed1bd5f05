"""The Merkle trie: one set, one root, one shape, whatever happened on the way to it."""

from __future__ import annotations

import random

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from tests.support.model import hashes
from tests.support.model.nodes import Nodes
from worlddb.log.model.trie import BUCKET_ENTRIES, EMPTY_ROOT, Change, Trie, difference, node_hash, root_of

KEY, VALUE = 3, 2


def digest(number: int, size: int) -> bytes:
    return blake3(b"%d" % number).digest()[:size]


# Many keys share their first digits, so that small sets already make deep tries.
keys = st.one_of(
    st.integers(0, 400).map(lambda number: digest(number, KEY)),
    st.integers(0, 255).map(lambda number: bytes([0, 0, number])),
)
values = st.integers(0, 5).map(lambda number: digest(number, VALUE))
# Small sets seldom grow beyond a bucket, so many are made of whole rows of keys.
rows = st.builds(
    lambda first, count, value: {digest(number, KEY): value for number in range(first, first + count)},
    st.integers(0, 200),
    st.integers(1, 2 * BUCKET_ENTRIES),
    values,
)
removed_rows = rows.map(lambda row: dict.fromkeys(row, None))
sets = st.builds(lambda row, single: row | single, rows | st.just({}), st.dictionaries(keys, values, max_size=60))
histories = st.lists(st.dictionaries(keys, st.none() | values, max_size=60) | rows | removed_rows, max_size=8)


def trie() -> Trie:
    return Trie(Nodes(), KEY, VALUE)


def filled(entries: dict[bytes, bytes]) -> Trie:
    made = trie()
    made.update(entries)
    return made


def stored(of: Trie) -> dict[bytes, bytes]:
    assert isinstance(of.nodes, Nodes)
    return of.nodes.stored


@given(histories=histories)
def test_the_root_and_the_nodes_depend_on_the_set_and_not_on_how_it_came_about(
    histories: list[dict[bytes, bytes | None]],
) -> None:
    made, entries = trie(), dict[bytes, bytes]()
    for changes in histories:
        root = made.update(changes)
        for key, value in changes.items():
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
        assert root == root_of(made.nodes) == hashes.trie_root(entries)
        assert stored(made) == stored(filled(entries))
        assert list(made.entries()) == sorted(entries.items())
        assert made.count() == len(entries)


@given(entries=sets, seed=st.integers(0, 2**32))
def test_one_at_a_time_in_any_order_is_the_same_as_all_at_once(entries: dict[bytes, bytes], seed: int) -> None:
    whole = filled(entries)
    single, order = trie(), list(entries)
    random.Random(seed).shuffle(order)
    for key in order:
        single.update({key: entries[key]})
    assert stored(single) == stored(whole)
    random.Random(seed + 1).shuffle(order)
    for key in order:
        single.update({key: None})
    assert (stored(single), root_of(single.nodes)) == ({}, EMPTY_ROOT)


@given(entries=sets, others=st.lists(keys, max_size=20))
def test_a_lookup_finds_what_is_there_and_nothing_else(entries: dict[bytes, bytes], others: list[bytes]) -> None:
    made = filled(entries)
    for key in (*entries, *others):
        assert made.get(key) == entries.get(key)


@given(entries=sets)
def test_every_stored_node_is_the_one_that_the_format_describes(entries: dict[bytes, bytes]) -> None:
    for path, node in stored(filled(entries)).items():
        below = {key: value for key, value in entries.items() if bytes(int(d, 16) for d in key.hex()).startswith(path)}
        assert node == hashes.trie_node(below, len(path))
        assert node_hash(node) == hashes.trie_hash(node)
        assert (node[0] == 0) == (len(below) <= BUCKET_ENTRIES)


@given(entries=sets, changes=st.dictionaries(keys, st.none() | values, max_size=40))
def test_a_difference_names_exactly_the_keys_that_differ_with_both_values(
    entries: dict[bytes, bytes], changes: dict[bytes, bytes | None]
) -> None:
    left, right = filled(entries), filled(entries)
    right.update(changes)
    changed = {key: value for key, value in (entries | changes).items() if value is not None}
    expected = {
        key: (entries.get(key), changed.get(key))
        for key in entries.keys() | changed.keys()
        if entries.get(key) != changed.get(key)
    }
    found = list(difference(left.nodes, right.nodes, KEY, VALUE))
    assert {key: (one, other) for key, one, other in found} == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize("size", [1_000, 20_000])
def test_a_difference_and_an_update_cost_a_path_and_not_the_set(size: int) -> None:
    entries: dict[bytes, bytes] = {digest(number, 16): digest(number, 32) for number in range(size)}
    left, right = Trie(Nodes(), 16, 32), Trie(Nodes(), 16, 32)
    left.update(entries)
    right.update(entries)
    for trie in (left, right):
        assert isinstance(trie.nodes, Nodes)
        trie.nodes.reads = 0
    key = digest(size // 2, 16)
    right.update({key: digest(size, 32)})
    assert isinstance(left.nodes, Nodes) and isinstance(right.nodes, Nodes)
    assert right.nodes.reads <= 8
    assert list(difference(left.nodes, right.nodes, 16, 32)) == [(key, entries[key], digest(size, 32))]
    assert left.nodes.reads <= 24


@given(entries=sets, key=keys, value=values)
def test_two_sets_that_differ_have_different_roots(entries: dict[bytes, bytes], key: bytes, value: bytes) -> None:
    changed = entries | {key: value}
    same = changed == entries
    assert (filled(entries).update(no_change()) == filled(changed).update(no_change())) is same


def no_change() -> dict[bytes, bytes | None]:
    return {}


def test_a_bucket_becomes_a_branch_above_its_limit_and_a_bucket_again_below_it() -> None:
    made = trie()
    entries: dict[bytes, bytes] = {digest(number, KEY): digest(number, VALUE) for number in range(BUCKET_ENTRIES)}
    made.update(entries)
    assert list(stored(made)) == [b""]
    one: Change = (digest(1000, KEY), digest(1, VALUE))
    made.update(dict([one]))
    assert len(stored(made)) > 2
    made.update({one[0]: None})
    assert stored(made) == stored(filled(entries))
