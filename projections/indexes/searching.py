"""A search of an index and of what it has not reached yet, as of one corpus. It is begun, and gives its hits later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from itertools import chain
from typing import Protocol

from worlddb.projections.indexes.analysis import Term
from worlddb.projections.indexes.few_texts import SeenTexts
from worlddb.projections.indexes.fields import Counts, TextHit
from worlddb.projections.indexes.view import IndexUnreadable, TextView, best

View = TextView | SeenTexts
"""What is searched: an index, or the few texts that were written since."""


class Begun(Protocol):
    """A search that was begun."""

    def found(self) -> list[TextHit]:
        """Its hits, best first, ties in log order; asked for once."""

    def settle(self) -> None:
        """See that it goes on no more."""


class CorpusSearch:
    """The best documents of all views together.

    A word that is common in the index would be a rarity in a tail of three documents, or the reverse: both are weighed
    by the corpus as a whole, or what was written last would be found last.

    Raises:
        IndexUnreadable: an index turned out to be damaged; so does asking what was found.
    """

    def __init__(
        self,
        views: Sequence[View],
        terms: Sequence[Term],
        *,
        limit: int,
        through: int,
        nodes: Collection[int] | None,
        threads: Executor | None = None,
    ) -> None:
        corpus = corpus_of(views, terms) if len(views) > 1 else None
        self._limit = limit
        self._parts: list[Begun] = [
            view.begin(terms, limit=limit, through=through, nodes=nodes, corpus=corpus, threads=threads)
            for view in views
        ]

    def found(self) -> list[TextHit]:
        if len(self._parts) == 1:
            return self._parts[0].found()
        return best(chain.from_iterable(part.found() for part in self._parts), self._limit)

    def settle(self) -> None:
        for part in self._parts:
            part.settle()


class Mended:
    """A search of which everything is done ``again`` if an index turns out to be damaged."""

    def __init__(self, search: Begun, again: Callable[[], list[TextHit]]) -> None:
        self._search = search
        self._again = again

    def found(self) -> list[TextHit]:
        try:
            return self._search.found()
        except IndexUnreadable:
            return self._again()

    def settle(self) -> None:
        self._search.settle()


def corpus_of(views: Sequence[View], terms: Sequence[Term]) -> Counts | None:
    """How common the terms are in all views together; ``None`` if there are none.

    Raises:
        IndexUnreadable: an index turned out to be damaged.
    """
    corpus: Counts | None = None
    for view in views:
        counts = view.counts(terms)
        corpus = counts if corpus is None else corpus.plus(counts)
    return corpus
