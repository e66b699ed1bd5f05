"""The tail: texts that the text index on disk has not reached yet, where it begins, and the search of both.

Tantivy weighs a text by the average length of the indexed texts, so scores depend on which texts are indexed and which
are in the tail. If the index ended wherever a process happened to catch up, a rebuild would change answers. So the log
is cut into stretches: a commit ends a stretch when it brings it to so many texts, characters or commits. The index ends
at the last such boundary, in every process and after every rebuild, since boundaries depend on the log alone.

Texts behind the boundary are not indexed. Tantivy's writer takes milliseconds to make one text searchable, in threads
of its own; analysing and scoring a short text here takes tens of microseconds. The scores are Tantivy's to the last
bit: lengths are rounded to its byte, numbers to 32 bits, and terms are added up in their order. Where the index on disk
cannot be brought to the last boundary, the texts up to there are indexed in memory.

:class:`CorpusSearch` searches an index and its tail as one corpus: it starts at once and gives its hits later.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from copy import copy
from functools import partial
from itertools import chain
from typing import Final, Protocol, Self

from worlddb.projections.indexes import analysis, fields, text_index, text_snapshot

STRETCH_DOCUMENTS: Final = 64
STRETCH_CHARACTERS: Final = 30_000
STRETCH_COMMITS: Final = 1_024
"""What ends a stretch: so many texts, so much text, or so many commits, which are read when a store is opened. Other
numbers divide the log elsewhere, so :data:`worlddb.projections.indexes.analysis.FORMAT` goes up with them."""

_SHAPES: Final = 2**32

_Token = tuple[str, str]
"""A field, and what stands in it."""


class StretchWalk:
    """Walks through the texts of a log from one boundary on, and finds the next boundaries.

    A text is held back until it is known to lie at or before a boundary. There is none before the first text of a log.
    """

    def __init__(self, base: int) -> None:
        self.boundary = base
        """The last boundary that was found."""
        self.held: list[fields.TextDocument] = []
        """The texts behind it so far."""
        self._characters = 0

    def copy(self) -> Self:
        """A copy that continues from here independently."""
        made = copy(self)
        made.held = list(self.held)
        return made

    def add(self, document: fields.TextDocument) -> list[fields.TextDocument]:
        """Take the next text; return the texts, in order, that are known to lie at or before the last boundary."""
        if document.seq <= self.boundary:
            return [document]  # The rest of the commit that is the boundary.
        released = self.end(document.seq - 1)
        self.held.append(document)
        self._characters += len(document.name) + len(document.content)
        if (
            len(self.held) >= STRETCH_DOCUMENTS
            or self._characters >= STRETCH_CHARACTERS
            or document.seq - self.boundary >= STRETCH_COMMITS
        ):
            released += self._cut(document.seq)
        return released

    def end(self, head: int) -> list[fields.TextDocument]:
        """Note that no other text comes up to commit ``head``; return texts as :meth:`add` does."""
        stretches = (head - self.boundary) // STRETCH_COMMITS
        if stretches < 1 or not (self.boundary or self.held):
            return []
        return self._cut(self.boundary + stretches * STRETCH_COMMITS)

    def _cut(self, boundary: int) -> list[fields.TextDocument]:
        released, self.held = self.held, []
        self.boundary, self._characters = boundary, 0
        return released


class RecentTexts:
    """Texts in memory, which are only ever appended: a :meth:`seen` view may be searched while more come in."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int], int] = {}
        self._view = RecentTextsView(self, 0)
        self.documents: list[fields.TextDocument] = []
        self.nodes: set[int] = set()
        """The worlds that they belong to."""
        self.postings: dict[_Token, list[tuple[int, int]]] = {}
        """For each token the places of its texts, in order, each with a number: its frequency there times
        :data:`_SHAPES`, plus the field's length, rounded as in an index. One number is looked up faster than two."""
        self.totals: list[Counter[str]] = [Counter()]
        """By number of texts, the tokens of each field in the first so many texts together."""
        self._shares: dict[str, tuple[float, dict[int, float]]] = {}

    def add(self, documents: Sequence[fields.TextDocument]) -> None:
        """Add texts, except those that are here (by node and version)."""
        for document in documents:
            place = len(self.documents)
            if self._places.setdefault((document.node, document.version), place) == place:
                self._index_document(place, document)

    def seen(self) -> RecentTextsView:
        """A view of the present texts."""
        if self._view.count != len(self.documents):
            self._view = RecentTextsView(self, len(self.documents))
        return self._view

    def cached_shares(self, field: str, scoring: fields.Scoring) -> dict[int, float]:
        """The cached results of :meth:`Scoring.share` for a field, by the number in the postings.

        The cache is dropped when the average length changes.
        """
        average = scoring.averages[field]
        known = self._shares.get(field)
        if known is None or known[0] != average:
            known = self._shares[field] = average, {}
        return known[1]

    def _index_document(self, place: int, document: fields.TextDocument) -> None:
        counted: dict[str, Counter[str]] = {}
        for field, each in _by_field(document):
            if each:
                counted.setdefault(field, Counter()).update(each)
        lengths = Counter({field: found.total() for field, found in counted.items()})
        for field, found in counted.items():
            rounded = fields.rounded_length(lengths[field])
            for token, often in found.items():
                self.postings.setdefault((field, token), []).append((place, often * _SHAPES + rounded))
        self.totals.append(self.totals[-1] + lengths)
        self.nodes.add(document.node)
        self.documents.append(document)


class RecentTextsView:
    """A view of the first ``count`` texts.

    It has the methods of :class:`worlddb.projections.indexes.text_snapshot.TextView`.
    """

    def __init__(self, texts: RecentTexts, count: int) -> None:
        self._texts = texts
        self.count = count
        self._counted: tuple[Sequence[analysis.Term], fields.Counts] | None = None
        self._corpus: tuple[fields.Counts, fields.Counts] | None = None

    def counts(self, terms: Sequence[analysis.Term]) -> fields.Counts:
        """How common the terms are here."""
        known = self._counted
        if known is not None and known[0] is terms:
            return known[1]
        postings = self._texts.postings
        having = {term: bisect_left(postings.get((term.field, term.text), ()), (self.count,)) for term in terms}
        counted = fields.Counts(self.count, having)
        self._counted = terms, counted
        return counted

    def combined_counts(self, others: fields.Counts, terms: Sequence[analysis.Term]) -> fields.Counts:
        """How common the terms are here and in other texts together; the last result is cached."""
        known = self._corpus
        if known is not None and known[0] is others:
            return known[1]
        corpus = others.plus(self.counts(terms))
        self._corpus = others, corpus
        return corpus

    def find(self, search: text_snapshot.TextSearch, beside: fields.Scoring | None = None) -> list[fields.TextHit]:
        """Find the hits of a search.

        Scores are those that the index ``beside`` would give, to the last bit; without one, those of an index of these
        texts alone. Terms are added up in their order, as Tantivy does.
        """
        terms, limit, through, nodes = search[:4]
        among = nodes.nodes if isinstance(nodes, fields.Nodes) else nodes
        if among is not None and self._texts.nodes.isdisjoint(among):
            return []
        among = frozenset(among) if isinstance(among, Sequence) else among
        scoring = self._own_scoring(terms) if beside is None else self._with_averages(beside)
        # Numbers in an array of 32 bits are rounded as Tantivy's are.
        scores, part = array("f", bytes(4 * self.count)), array("f", [0.0])
        for term, having in self.counts(terms).having.items():
            if not having:
                continue
            # A copy: others may append to the list while it is gone through.
            postings = self._texts.postings[term.field, term.text][:having]
            weight = scoring.weight(term)
            shares = self._texts.cached_shares(term.field, scoring)
            for place, shape in postings:
                share = shares.get(shape)
                if share is None:
                    often, length = divmod(shape, _SHAPES)
                    share = shares[shape] = scoring.share(term.field, often, length)
                part[0] = weight * share
                scores[place] += part[0]
        hits = []
        for place, score in enumerate(scores):
            if not score:
                continue
            node, version, seq = self._texts.documents[place][:3]
            if (through is None or seq <= through) and (among is None or node in among):
                hits.append(fields.TextHit(node, version, seq, score))
        return fields.best_hits(hits, limit)

    def _own_scoring(self, terms: Sequence[analysis.Term]) -> fields.Scoring:
        return fields.Scoring(self.count, self.counts(terms).having, self._averages(), {})

    def _with_averages(self, beside: fields.Scoring) -> fields.Scoring:
        """The scoring of an index, with the averages of these texts for fields that it has none for."""
        own = self._averages()
        return beside if own.keys() <= beside.averages.keys() else beside._replace(averages={**own, **beside.averages})

    def _averages(self) -> dict[str, float]:
        return {field: fields.float32(total / self.count) for field, total in self._texts.totals[self.count].items()}


def tokens(document: fields.TextDocument) -> Iterator[_Token]:
    """Split a text into tokens, each with its field, as :func:`worlddb.projections.indexes.fields.to_document` does."""
    return ((field, token) for field, each in _by_field(document) for token in each)


def _by_field(document: fields.TextDocument) -> Iterator[tuple[str, Sequence[str]]]:
    for field, text in ((analysis.NAME, document.name), (analysis.STEM, document.content)):
        found = analysis.analyze(text)
        yield field, found.stems
        yield analysis.PLAIN, found.words
        yield analysis.GRAMS, tuple(analysis.grams(found.runs))
    yield analysis.TYPE, tuple(analysis.type_stems(document.type))


Feed = Callable[[int, int], Iterable[fields.TextDocument]]
"""The documents of the commits in ``(from_seq, to_seq]``, in log order."""

View = text_snapshot.TextView | RecentTextsView
"""A part of a corpus: an index, or the recent texts behind it."""


class Tail:
    """The texts of the commits in ``(base, head]``; the head moves on with the log's.

    Up to the last boundary they are indexed, as they would be on disk; the recent texts behind it are not.
    """

    def __init__(self, store_id: bytes, base: int) -> None:
        self.base = base
        self.head = base
        self._store_id = store_id
        self._walk = StretchWalk(base)
        self._seen_boundary = 0
        self._texts = text_index.TextIndex.in_memory()
        self._recent = RecentTexts()

    @property
    def is_short(self) -> bool:
        """True if it contains no boundary, so that the index on disk cannot advance."""
        return self._walk.boundary == self.base

    @property
    def views(self) -> list[View]:
        """Views that together have every text up to the head once."""
        indexed, few = self._texts.view, self._recent.documents
        return [*([] if indexed is None else [indexed]), *([self._recent.seen()] if few else [])]

    def extend(self, feed: Feed, head: int, *, bounded: bool) -> bool:
        """Add the texts of the commits up to ``head``; return whether they were added.

        With ``bounded`` nothing is added if a boundary lies among them.
        """
        if head <= self.head:
            return True
        if bounded and 0 < self._seen_boundary <= head:
            return False
        walk = self._walk.copy()
        released: list[fields.TextDocument] = []
        for document in feed(self.head, head):
            released += walk.add(document)
            if bounded and walk.boundary > self.base:
                break
        else:
            released += walk.end(head)
        if bounded and walk.boundary > self.base:
            self._seen_boundary = walk.boundary
            return False
        if walk.boundary > self._walk.boundary:
            self._texts.apply(released, fields.Marker(self._store_id, walk.boundary, b""))
            self._recent = RecentTexts()
            self._recent.add(walk.held)
        else:
            self._recent.add(walk.held[len(self._walk.held) :])
        self._walk, self.head = walk, head
        return True


class StartedSearch(Protocol):
    """A search that has started."""

    def result(self) -> list[fields.TextHit]:
        """Return its hits, best first, ties in log order; called once."""

    def cancel(self) -> None:
        """Cancel it, or wait for its end."""


class CorpusSearch:
    """A search of all views together.

    A word that is common in the index may be rare in a tail of three documents, or the reverse: both are weighed by the
    whole corpus, or the latest texts would be ranked last.

    Raises:
        IndexUnreadable: an index is damaged; :meth:`result` may raise it, too.
    """

    def __init__(
        self,
        views: Sequence[View],
        search: text_snapshot.TextSearch,
        threads: Executor | None = None,
    ) -> None:
        corpus = corpus_of(views, search.terms) if len(views) > 1 else None
        self._limit = search.limit
        self._parts: list[StartedSearch] = []
        self._recent: list[Callable[[], list[fields.TextHit]]] = []
        """Searches of the recent texts, which begin when the hits are needed: they are little work, all in Python."""
        beside: fields.Scoring | None = None
        for view in views:
            if isinstance(view, RecentTextsView):
                self._recent.append(partial(view.find, search, beside))
                continue
            if corpus is not None:
                beside = view.scoring(search.terms, corpus)
            begun = view.begin(search, corpus, threads)
            self._parts.append(begun)

    def result(self) -> list[fields.TextHit]:
        each = (find() for find in (*(part.result for part in self._parts), *self._recent))
        found = [hits for hits in each if hits]
        if len(found) == 1:
            return found[0]
        found.sort(key=len)
        most, few = found.pop() if found else [], chain.from_iterable(found)
        least = most[self._limit - 1].score if len(most) >= self._limit else 0.0
        for hit in few:
            # The tail has few hits, and fewer that reach the limit.
            if hit.score >= least:
                insort(most, hit, key=fields.rank_key)
        return most[: self._limit]

    def cancel(self) -> None:
        for part in self._parts:
            part.cancel()


class RetriedSearch:
    """A search that calls ``again`` if an index turns out to be damaged."""

    def __init__(self, search: StartedSearch, again: Callable[[], list[fields.TextHit]]) -> None:
        self._search = search
        self._again = again

    def result(self) -> list[fields.TextHit]:
        try:
            return self._search.result()
        except text_snapshot.IndexUnreadable:
            return self._again()

    def cancel(self) -> None:
        self._search.cancel()


def corpus_of(views: Sequence[View], terms: Sequence[analysis.Term]) -> fields.Counts | None:
    """How common the terms are in all views together; ``None`` if there are none.

    Raises:
        IndexUnreadable: an index is damaged.
    """
    corpus: fields.Counts | None = None
    for view in views:
        counts = view.counts(terms)
        if corpus is None:
            corpus = counts
        else:
            corpus = view.combined_counts(corpus, terms) if isinstance(view, RecentTextsView) else corpus.plus(counts)
    return corpus
