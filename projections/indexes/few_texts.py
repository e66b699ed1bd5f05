"""The texts of a short tail, weighed as an index weighs them.

A writer of the index takes milliseconds to make even one text searchable, in threads of its own; to take a short text
apart and to compare it takes tens of microseconds. So what was written a moment ago is found by BM25 here, by the same
words and the same rarities, until there is more of it. Lengths are exact here, and rounded to a byte in an index.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Final

from worlddb.projections.indexes.ahead import Ahead
from worlddb.projections.indexes.analysis import GRAMS, NAME, PLAIN, STEM, Term, analyze, grams
from worlddb.projections.indexes.fields import BM25_K1, Counts, TextDocument, TextHit
from worlddb.projections.indexes.view import best

MOST_CHARACTERS: Final = 200_000
"""More text than that is indexed: to take it apart here would take longer."""
BM25_B: Final = 0.75
"""Tantivy's own: how much the length of a text counts."""

_Token = tuple[str, str]
"""A field, and what stands in it."""


class FewTexts:
    """Texts in memory. What was taken in once stays as it is: a :meth:`seen` of it may be searched while more comes
    in."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int], int] = {}
        self._characters = 0
        self.documents: list[TextDocument] = []
        self.postings: dict[_Token, list[tuple[int, int]]] = {}
        """For each token the places of the texts that it stands in, in order, and how often it does."""
        self.lengths: list[Counter[str]] = []
        """Of each text, how many tokens each field has."""
        self.totals: list[Counter[str]] = [Counter()]
        """Of the first so many texts together."""

    def add(self, documents: Sequence[TextDocument]) -> bool:
        """Take in texts, but for those that are here (by node and version); false, and none is, if that is too much."""
        self._characters += sum(len(each.name) + len(each.content) for each in documents)
        if self._characters > MOST_CHARACTERS:
            return False
        for document in documents:
            place = len(self.documents)
            if self._places.setdefault((document.node, document.version), place) == place:
                self._take_in(place, document)
        return True

    def seen(self) -> SeenTexts:
        """What is in it now."""
        return SeenTexts(self, len(self.documents))

    def _take_in(self, place: int, document: TextDocument) -> None:
        tokens = Counter(_tokens(document))
        lengths: Counter[str] = Counter()
        for token, often in tokens.items():
            self.postings.setdefault(token, []).append((place, often))
            lengths[token[0]] += often
        self.lengths.append(lengths)
        self.totals.append(self.totals[-1] + lengths)
        self.documents.append(document)


class SeenTexts:
    """The first so many of the texts, searched as :class:`worlddb.projections.indexes.view.TextView` is."""

    def __init__(self, texts: FewTexts, count: int) -> None:
        self._texts = texts
        self._count = count

    def counts(self, terms: Sequence[Term]) -> Counts:
        """How common the terms are here."""
        postings = self._texts.postings
        having = {term: bisect_left(postings.get((term.field, term.text), ()), (self._count,)) for term in terms}
        return Counts(self._count, having)

    def find(
        self,
        terms: Sequence[Term],
        *,
        limit: int,
        through: int | None = None,
        nodes: Collection[int] | None = None,
        corpus: Counts | None = None,
    ) -> list[TextHit]:
        """As :meth:`worlddb.projections.indexes.view.TextView.find`."""
        among = self.counts(terms) if corpus is None else corpus
        scores: dict[int, float] = {}
        for term in terms:
            weight = term.weight * among.rarity(term)
            for place, part in self._saturated((term.field, term.text)):
                scores[place] = scores.get(place, 0.0) + weight * part
        hits = []
        for place, score in scores.items():
            node, version, seq, _, _ = self._texts.documents[place]
            if (through is None or seq <= through) and (nodes is None or node in nodes):
                hits.append(TextHit(node, version, seq, score))
        return best(hits, limit)

    def begin(
        self,
        terms: Sequence[Term],
        *,
        limit: int,
        through: int | None = None,
        nodes: Collection[int] | None = None,
        corpus: Counts | None = None,
        threads: Executor | None = None,
    ) -> Ahead[list[TextHit]]:
        """As :meth:`find`, which whoever asks for the hits does: there is little to do, and all of it in Python."""
        return Ahead(None, partial(self.find, terms, limit=limit, through=through, nodes=nodes, corpus=corpus))

    def _saturated(self, token: _Token) -> Iterator[tuple[int, float]]:
        """The texts that a token stands in, and how much it says there: by how often it does, for the text's length."""
        field = token[0]
        average = self._texts.totals[self._count][field] / max(self._count, 1)
        for place, often in self._texts.postings.get(token, ()):
            if place >= self._count:
                return
            length = self._texts.lengths[place][field] / average
            yield place, often * (BM25_K1 + 1) / (often + BM25_K1 * (1 - BM25_B + BM25_B * length))


def _tokens(document: TextDocument) -> Iterator[_Token]:
    """A text taken apart, by field as :func:`worlddb.projections.indexes.fields.to_document` hands it over."""
    for field, text in ((NAME, document.name), (STEM, document.content)):
        found = analyze(text)
        yield from ((field, stem) for stem in found.stems)
        yield from ((PLAIN, word) for word in found.words)
        yield from ((GRAMS, gram) for gram in grams(found.runs))
