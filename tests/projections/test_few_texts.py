"""Finds and ranks texts that are not indexed yet as the index does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb.projections.indexes import tail as few_texts
from worlddb.projections.indexes.analysis import query_terms
from worlddb.projections.indexes.fields import Marker, TextDocument
from worlddb.projections.indexes.tail import FewTexts, SeenTexts, Tail
from worlddb.projections.indexes.text_index import TextIndex
from worlddb.projections.indexes.text_snapshot import TextView

_WORDS = st.sampled_from(
    ["garden", "gardens", "spring", "Über", "the", "rex's", "москва", "москве", "猫", "東京タワー", "a-1"]
)
_TEXTS = st.lists(_WORDS, max_size=12).map(" ".join)


def few(documents: Sequence[TextDocument]) -> SeenTexts:
    texts = FewTexts()
    assert texts.add(documents)
    return texts.seen()


def indexed(documents: Sequence[TextDocument]) -> TextView:
    index = TextIndex.in_memory()
    index.apply(documents, Marker(b"", len(documents), b""))
    assert index.view is not None
    return index.view


def numbered(texts: Sequence[tuple[str, str]]) -> list[TextDocument]:
    return [TextDocument(at, 1, at, name, content) for at, (name, content) in enumerate(texts, 1)]


@given(st.lists(st.tuples(_TEXTS, _TEXTS), min_size=1, max_size=8), _TEXTS, st.integers(1, 10))
def test_few_texts_are_found_and_weighed_as_in_an_index(texts: list[tuple[str, str]], query: str, limit: int) -> None:
    documents, terms = numbered(texts), query_terms(query)
    ours, theirs = few(documents), indexed(documents)
    assert ours.counts(terms) == theirs.counts(terms)
    # Texts of up to 40 words have their exact length in an index, too.
    expected = {hit.node: hit.score for hit in theirs.find(terms, limit=100)}
    found = ours.find(terms, limit=100)
    assert {hit.node: hit.score for hit in found} == pytest.approx(expected, rel=1e-5)
    assert found == sorted(found, key=lambda hit: (-hit.score, hit.seq, hit.node, hit.version))
    assert ours.find(terms, limit=limit) == found[:limit]
    assert ours.find(terms, limit=100, through=2, nodes=[1, 3]) == [hit for hit in found if hit.node == 1]


@given(st.lists(_TEXTS, min_size=2, max_size=6), st.data())
def test_texts_that_come_later_change_nothing_of_those_before(said: list[str], data: st.DataObject) -> None:
    documents = numbered([("", text) for text in said])
    cut = data.draw(st.integers(1, len(documents) - 1))
    terms = query_terms(" ".join(said))
    texts = FewTexts()
    assert texts.add(documents[:cut])
    before = texts.seen()
    found, counts = before.find(terms, limit=10), before.counts(terms)
    assert texts.add(documents[cut - 1 :])
    assert (before.find(terms, limit=10), before.counts(terms)) == (found, counts)
    assert texts.seen().find(terms, limit=10) == few(documents).find(terms, limit=10)
    assert texts.documents == documents


def test_more_than_a_few_texts_are_refused_and_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_texts, "MOST_CHARACTERS", 30)
    documents = numbered([("", "a garden in spring"), ("", "another garden"), ("", "spring")])
    tail, terms = Tail(b"", 0), query_terms("garden")
    kinds = []
    for head in (1, 2, 3):
        assert tail.extend(lambda after, through: documents[after:through], head, bounded=True)
        assert tail.view is not None
        kinds.append(type(tail.view))
        assert [hit.node for hit in tail.view.find(terms, limit=5)] in ([1], [2, 1])
    assert kinds == [SeenTexts, TextView, TextView]
    at_once = Tail(b"", 0)
    assert at_once.extend(lambda after, through: documents[after:through], 3, bounded=True)
    assert at_once.view is not None and tail.view is not None
    assert at_once.view.find(terms, limit=5) == tail.view.find(terms, limit=5)
