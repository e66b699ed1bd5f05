"""Finds and ranks texts that are not indexed yet as the index does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb.projections.indexes import tail
from worlddb.projections.indexes.analysis import query_terms
from worlddb.projections.indexes.fields import FIELD_NORMS, Marker, TextDocument, rounded_length
from worlddb.projections.indexes.tail import CorpusSearch, RecentTexts, RecentTextsView, Tail
from worlddb.projections.indexes.text_index import TextIndex
from worlddb.projections.indexes.text_snapshot import TextSearch, TextView

_WORDS = st.sampled_from(
    ["garden", "gardens", "spring", "Über", "the", "rex's", "москва", "москве", "猫", "東京タワー", "a-1"]
)
_TEXTS = st.one_of(st.lists(_WORDS, max_size=12), st.lists(_WORDS, min_size=60, max_size=150)).map(" ".join)


def recent_view(documents: Sequence[TextDocument]) -> RecentTextsView:
    texts = RecentTexts()
    texts.add(documents)
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
    ours, theirs = recent_view(documents), indexed(documents)
    assert ours.counts(terms) == theirs.counts(terms)
    expected = {hit.node: hit.score for hit in theirs.find(TextSearch(terms, limit=100))}
    found = ours.find(TextSearch(terms, limit=100))
    assert {hit.node: hit.score for hit in found} == expected
    assert found == sorted(found, key=lambda hit: (-hit.score, hit.seq, hit.node, hit.version))
    assert ours.find(TextSearch(terms, limit=limit)) == found[:limit]
    assert ours.find(TextSearch(terms, limit=100, through=2, nodes=[1, 3])) == [hit for hit in found if hit.node == 1]


@pytest.mark.parametrize(("count", "having"), [(17, 17), (18, 6), (28, 28), (37, 31)])
def test_how_rare_a_word_is_has_the_digits_of_the_index(count: int, having: int) -> None:
    """The logarithm that is nearest in 32 bits is not the one that the system gives for these."""
    documents = numbered([("", "garden rose" if at < having else "rose") for at in range(count)])
    search = TextSearch(query_terms("garden"), limit=100)
    ours, theirs = recent_view(documents).find(search), indexed(documents).find(search)
    assert len(ours) == having and {hit.score for hit in ours} == {hit.score for hit in theirs}


@given(st.lists(st.tuples(_TEXTS, _TEXTS), min_size=1, max_size=8), _TEXTS)
def test_the_same_text_scores_alike_in_an_index_and_in_the_tail_beside_it(
    texts: list[tuple[str, str]], query: str
) -> None:
    documents, terms = numbered(texts), query_terms(query)
    later = [document._replace(node=document.node + 100, seq=document.seq + 100) for document in documents]
    search = CorpusSearch([indexed(documents), recent_view(later)], TextSearch(terms, 100, 1000, None))
    scores = {hit.node: hit.score for hit in search.result()}
    assert {node: score for node, score in scores.items() if node < 100} == {
        node - 100: score for node, score in scores.items() if node > 100
    }


@pytest.mark.parametrize("recent", [0, 1, 7])
def test_what_comes_beyond_a_limit_is_what_a_higher_limit_gives(recent: int) -> None:
    documents = numbered([("", "garden " * (1 + at % 3) + "rose " * (at % 7)) for at in range(90)])
    views: list[tail.View] = [indexed(documents[: 90 - recent])]
    views += [recent_view(documents[90 - recent :])] if recent else []
    search = TextSearch(query_terms("rose garden"), 200)
    every = CorpusSearch(views, search).result()
    for limit in (1, 4, 20, 60, 90):
        more = CorpusSearch(views, search._replace(limit=limit, or_more=True)).result()
        assert len(more) >= limit and more == every[: len(more)]


def test_a_length_is_rounded_as_the_byte_of_an_index_rounds_it() -> None:
    assert FIELD_NORMS[38:58] == (38, 39, 40, 42, 44, 46, 48, 50, 52, 54, 56, 60, 64, 68, 72, 76, 80, 84, 88, 96)
    assert (len(FIELD_NORMS), FIELD_NORMS[-1]) == (256, 2_013_265_944)
    assert [rounded_length(length) for length in (0, 39, 41, 59, 60, 10**10)] == [0, 39, 40, 56, 60, 2_013_265_944]


@given(st.lists(_TEXTS, min_size=2, max_size=6), st.data())
def test_texts_that_come_later_change_nothing_of_those_before(said: list[str], data: st.DataObject) -> None:
    documents = numbered([("", text) for text in said])
    cut = data.draw(st.integers(1, len(documents) - 1))
    terms = query_terms(" ".join(said))
    texts = RecentTexts()
    texts.add(documents[:cut])
    before = texts.seen()
    found, counts = before.find(TextSearch(terms, limit=10)), before.counts(terms)
    texts.add(documents[cut - 1 :])
    assert (before.find(TextSearch(terms, limit=10)), before.counts(terms)) == (found, counts)
    assert texts.seen().find(TextSearch(terms, limit=10)) == recent_view(documents).find(TextSearch(terms, limit=10))
    assert texts.documents == documents


def test_a_tail_is_indexed_up_to_its_last_boundary_however_it_grew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 2)
    documents = numbered([("", "a garden in spring"), ("", "another garden"), ("", "spring"), ("", "a garden")])
    grown, terms = Tail(b"", 0), query_terms("garden")
    kinds = []
    for head in (1, 2, 3):
        assert grown.extend(lambda after, through: documents[after:through], head, bounded=False)
        kinds.append([type(view) for view in grown.views])
    assert kinds == [[RecentTextsView], [TextView], [TextView, RecentTextsView]]
    assert not grown.is_short
    at_once = Tail(b"", 0)
    assert not at_once.extend(lambda after, through: documents[after:through], 3, bounded=True)
    assert at_once.views == []
    assert at_once.extend(lambda after, through: documents[after:through], 3, bounded=False)
    found = [CorpusSearch(each.views, TextSearch(terms, limit=5)).result() for each in (grown, at_once)]
    assert found[0] == found[1]
    assert [hit.node for hit in found[0]] == [2, 1]
