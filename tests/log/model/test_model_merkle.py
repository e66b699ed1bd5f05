"""Tests the Merkle tree of commits: RFC 6962's vectors, and every proof up to size 70."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb.log.model.hashing import log_leaf_hash, log_node_hash
from worlddb.log.model.merkle import (
    EMPTY_TREE,
    Frontier,
    consistency_path,
    inclusion_path,
    is_consistent,
    root_of_inclusion,
    tree_root,
)

VECTORS = {
    "": "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "00": "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "10": "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "2021": "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "3031": "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "40414243": "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "5051525354555657": "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "606162636465666768696a6b6c6d6e6f": "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
"""The leaves of Certificate Transparency's reference tests, each with the root of the tree that ends with it."""

SIZES = 70


class Leaves:
    """Subtrees made from a list of leaves each time that one is asked for."""

    def __init__(self, chains: list[bytes]) -> None:
        self.leaves = [log_leaf_hash(chain) for chain in chains]

    def subtree(self, level: int, end: int) -> bytes:
        nodes = self.leaves[end - (1 << level) : end]
        assert len(nodes) == 1 << level and end % (1 << level) == 0
        while len(nodes) > 1:
            nodes = [log_node_hash(left, right) for left, right in zip(nodes[::2], nodes[1::2], strict=True)]
        return nodes[0]


CHAINS = [bytes([number]) * 32 for number in range(SIZES)]
TREE = Leaves(CHAINS)
ROOTS = [EMPTY_TREE]
_frontier = Frontier()
for _chain in CHAINS:
    _frontier.append(_chain)
    ROOTS.append(_frontier.root())


def test_the_roots_are_those_of_rfc_6962() -> None:
    assert Frontier().root().hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    frontier, leaves = Frontier(), []
    for data, root in VECTORS.items():
        leaves.append(bytes.fromhex(data))
        frontier.append(leaves[-1])
        assert frontier.root().hex() == tree_root(Leaves(leaves), len(leaves)).hex() == root


def test_reading_the_leaves_and_asking_for_subtrees_give_the_same_roots() -> None:
    assert [tree_root(TREE, size) for size in range(SIZES + 1)] == ROOTS


def test_every_leaf_is_proved_in_every_tree_and_in_no_other_place_or_size() -> None:
    for size in range(1, SIZES + 1):
        for seq in range(1, size + 1):
            path = inclusion_path(TREE, seq, size)
            assert len(path) <= size.bit_length()
            assert root_of_inclusion(TREE.leaves[seq - 1], seq, size, path) == ROOTS[size]
            for other in (seq - 1, seq + 1, size + 1, -seq):
                assert root_of_inclusion(TREE.leaves[seq - 1], other, size, path) != ROOTS[size]


def test_every_tree_is_proved_to_begin_every_larger_one() -> None:
    for new in range(SIZES + 1):
        for old in range(new + 1):
            path = consistency_path(TREE, old, new)
            assert len(path) <= 1 + new.bit_length()
            assert is_consistent(old, new, ROOTS[old], ROOTS[new], path)
            assert not is_consistent(old, new, ROOTS[old][::-1], ROOTS[new], path)
            assert not old or not is_consistent(old, new, ROOTS[old], ROOTS[new][::-1], path)
            assert not is_consistent(new + 1, new, ROOTS[new], ROOTS[new], [])


@given(st.data())
def test_a_path_with_a_change_in_it_proves_nothing(data: st.DataObject) -> None:
    new = data.draw(st.integers(2, SIZES))
    old = data.draw(st.integers(1, new - 1))
    seq = data.draw(st.integers(1, new))
    inclusion, consistency = inclusion_path(TREE, seq, new), consistency_path(TREE, old, new)
    for path in (inclusion, consistency):
        changed = data.draw(st.sampled_from(["flip", "drop", "double", "add"]))
        place = data.draw(st.integers(0, len(path) - 1))
        if changed == "flip":
            bit = data.draw(st.integers(0, 255))
            path[place] = (int.from_bytes(path[place], "big") ^ 1 << bit).to_bytes(32, "big")
        elif changed == "drop":
            del path[place]
        else:
            path.insert(place if changed == "double" else len(path), path[place])
    assert root_of_inclusion(TREE.leaves[seq - 1], seq, new, inclusion) != ROOTS[new]
    assert not is_consistent(old, new, ROOTS[old], ROOTS[new], consistency)


@pytest.mark.parametrize("size", [1, 2, 3, 64, 65])
def test_another_leaf_is_not_in_the_tree(size: int) -> None:
    assert root_of_inclusion(log_leaf_hash(b"other"), 1, size, inclusion_path(TREE, 1, size)) != ROOTS[size]
