"""A text search among many worlds is the same, however its worlds are told from the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb.projections.indexes import text_snapshot
from worlddb.projections.indexes.analysis import query_terms
from worlddb.projections.indexes.fields import Marker, Nodes, TextDocument, in_order
from worlddb.projections.indexes.text_index import TextIndex
from worlddb.projections.indexes.text_snapshot import PostFilteredSearch, StartedSearch, TextSearch, TextView

COUNT = 120
TERMS = query_terms("garden gate")


@pytest.fixture(scope="module")
def texts() -> TextView:
    """Many texts that score the same, and some that score more or nothing."""
    index = TextIndex.in_memory()
    said = ("the garden", "the garden gate", "a fence", "the garden")
    documents = [TextDocument(node, 1, node, "", said[node % 4]) for node in range(1, COUNT + 1)]
    index.apply(documents, Marker(b"", COUNT, b""))
    assert index.view is not None
    return index.view


@given(nodes=st.frozensets(st.integers(1, COUNT + 5)), limit=st.integers(1, 40), through=st.integers(1, COUNT))
def test_hits_that_are_picked_out_are_those_that_a_filter_leaves(
    texts: TextView, nodes: frozenset[int], limit: int, through: int
) -> None:
    expected = texts.find(TextSearch(TERMS, limit=limit, through=through, nodes=list(nodes)))
    with pytest.MonkeyPatch.context() as patch:
        for likely in (0.01, 1.25, 100.0):
            patch.setattr(text_snapshot, "LIKELY", likely)
            patch.setattr(text_snapshot, "FETCHED_FOR_A_NODE", 10**9)
            assert texts.find(TextSearch(TERMS, limit=limit, through=through, nodes=Nodes(nodes))) == expected


def test_hits_are_picked_out_where_a_filter_would_be_long(texts: TextView, monkeypatch: pytest.MonkeyPatch) -> None:
    most = Nodes(frozenset(range(1, COUNT)))
    assert isinstance(texts.begin(TextSearch(TERMS, limit=5, nodes=most)), PostFilteredSearch)
    assert isinstance(texts.begin(TextSearch(TERMS, limit=5, nodes=list(most))), StartedSearch)
    assert isinstance(texts.begin(TextSearch(TERMS, limit=5, nodes=Nodes(frozenset({1, 2, 3})))), StartedSearch)


@given(st.frozensets(st.integers(0, 2**62)))
def test_nodes_are_what_they_were_made_of(given_nodes: frozenset[int]) -> None:
    nodes = Nodes(given_nodes)
    assert (frozenset(nodes), len(nodes)) == (given_nodes, len(given_nodes))
    assert all(node in nodes for node in given_nodes)
    assert in_order(nodes).tolist() == in_order(list(given_nodes)).tolist() == sorted(given_nodes)
    assert in_order(nodes) is nodes.in_order
