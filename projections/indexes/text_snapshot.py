"""Search one commit of a text index, which stays the same whatever is committed later.

A search can start on a worker thread before its hits are needed. Tantivy searches without holding the interpreter's
lock, so with a second processor a recall waits only for the rest of the search. The answer is the same: where no thread
is free, or the texts are few, the caller searches when it needs the hits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from heapq import nsmallest
from operator import neg
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, cast

import msgspec

from worlddb.projections.indexes import fields
from worlddb.projections.indexes.analysis import Term

if TYPE_CHECKING:
    from tantivy import DocAddress, Query, Searcher

T = TypeVar("T")


class SearchFuture(Generic[T]):
    """The future result of ``search``, which is called once: on a thread, or on demand without threads."""

    def __init__(self, threads: Executor | None, search: Callable[[], T]) -> None:
        self._search = search
        self._begun = None if threads is None else threads.submit(search)

    def result(self) -> T:
        """Return the result, or raise what the search raised."""
        begun = self._begun
        return self._search() if begun is None or begun.cancel() else begun.result()

    def cancel(self) -> None:
        """Cancel the search, or wait for its end if it is running."""
        if self._begun is not None and not self._begun.cancel():
            self._begun.exception()


FEW_TEXTS: Final = 50_000
"""So many texts are searched by the caller: 20,000 take it as long as it takes to hand the search to a thread, which
takes time of its own."""

TIE_ROOM: Final = 128
"""So many hits are fetched beyond the limit at first. With 32 one search in five saw no end of a tie, and was made
again; each more takes time to be handed over."""
_MORE_ROOM: Final = 19
"""The same where hits whose order is known are enough: one search in ten is then made again, and all together take a
tenth less time."""
_PICKED_ROOM: Final = 32
"""The same where those of some nodes are picked out, for each of which many others are fetched."""
TIE_LIMIT: Final = 16_384
"""How many hits are fetched to see the end of a tie at the limit. Beyond it Tantivy's own order decides, which in one
segment is the order of arrival."""

LIKELY: Final = 1.25
"""How many times as many hits are fetched as are likely to be needed, where those of some nodes are picked out."""
_MORE: Final = 4
"""How many times as many hits are fetched next, where too few of those of some nodes were among them."""
FETCHED_FOR_A_NODE: Final = 8
"""So many hits are fetched in the time in which one node more is looked up in a filter, roughly: 0.15 and 1.6 µs."""

MAX_FREQUENCIES: Final = 16_384
"""Of how many terms it is kept how many documents of one commit have them."""

Stamp = tuple[int, int, int]


class IndexUnwritable(Exception):
    """The index cannot be written now: locked, disk full, or its folder went away.

    Never leaves this room.
    """


class IndexLocked(IndexUnwritable):
    """Another process is writing the index. Never leaves this room."""


class IndexUnreadable(Exception):
    """The index turned out to be damaged. Never leaves this room."""


@contextmanager
def raising_as(kind: type[Exception]) -> Iterator[None]:
    """Whatever Tantivy raises inside, panics among it, is raised as ``kind``."""
    try:
        yield
    except Exception as error:
        raise kind(str(error)) from error
    except BaseException as error:
        # A Rust panic derives from BaseException and cannot be imported; damaged files can cause one.
        if type(error).__name__ != "PanicException":
            raise
        raise kind(str(error)) from error


class TextSearch(NamedTuple):
    """A search of texts: the best ``limit`` that have any of the terms.

    Best first, ties in log order. ``through`` leaves out what was committed after that sequence number, ``nodes`` what
    belongs to other nodes. ``or_more``: those that come next may be found too, where their order is known anyway.
    """

    terms: Sequence[Term]
    limit: int
    through: int | None = None
    nodes: Collection[int] | None = None
    or_more: bool = False


class _Weighed(NamedTuple):
    """Terms as a corpus weighs them: how an index scores them, and a query for any; ``None`` if it has none."""

    terms: Sequence[Term]
    corpus: fields.Counts | None
    scoring: fields.Scoring
    query: Query | None


class TextView:
    """One commit of an index; ``stamp`` names that commit on disk and is None in memory."""

    def __init__(self, searcher: Searcher, marker: fields.Marker | None, stamp: Stamp | None) -> None:
        self.marker = marker
        self.stamp = stamp
        self._searcher = searcher
        self._explained: dict[str, tuple[int, float]] = {}
        self._frequencies: dict[Term, int] = {}
        self._counted: tuple[Sequence[Term], fields.Counts] | None = None
        self._weighed: _Weighed | None = None

    @property
    def count(self) -> int:
        """The number of documents."""
        return self._searcher.num_docs

    @property
    def segments(self) -> int:
        """In how many parts they lie."""
        return self._searcher.num_segments

    def counts(self, terms: Sequence[Term]) -> fields.Counts:
        """How common the terms are here.

        Raises:
            IndexUnreadable: the folder is damaged.
        """
        # A search asks for them again, with the same terms.
        known = self._counted
        if known is not None and known[0] is terms:
            return known[1]
        # Many words are those of other questions too, and this commit of the index has them as often for each.
        kept = self._frequencies
        having = {term: kept.get(term, -1) for term in terms}
        new = [term for term, count in having.items() if count < 0]
        if new:
            with raising_as(IndexUnreadable):
                counted = fields.count_terms(self._searcher, new).having
            having.update(counted)
            if len(kept) > MAX_FREQUENCIES:
                kept = self._frequencies = {}
            kept.update(counted)
        found = fields.Counts(self._searcher.num_docs, having)
        self._counted = terms, found
        return found

    def scoring(self, terms: Sequence[Term], corpus: fields.Counts) -> fields.Scoring:
        """The scoring of this index, so that texts outside of it get comparable scores.

        Raises:
            IndexUnreadable: the folder is damaged.
        """
        with raising_as(IndexUnreadable):
            return self._weigh(terms, corpus).scoring

    def _weigh(self, terms: Sequence[Term], corpus: fields.Counts | None) -> _Weighed:
        # A recall searches for the same words several times.
        known = self._weighed
        if known is not None and known.terms is terms and known.corpus == corpus:
            return known
        here, averages, scale = self.counts(terms), dict[str, float](), dict[Term, float]()
        documents, own = here.documents, here.having
        # Few words are in names and types: terms that no text has are left out, since they score nothing.
        had = [term for term in terms if own[term]]
        if corpus is not None:
            every, mine = corpus.documents, here.documents
            scale = {
                term: fields.rarity(every, count) / fields.rarity(mine, own[term])
                for term, count in corpus.having.items()
                if count
            }
            for term in had:
                if term.field not in averages:
                    documents, averages[term.field] = self._explain(term)
        scoring = fields.Scoring(documents, own, averages, scale)
        made = self._weighed = _Weighed(terms, corpus, scoring, fields.any_of(had, scale) if had else None)
        return made

    def _explain(self, term: Term) -> tuple[int, float]:
        """The number of documents that Tantivy counts, with deleted ones, and the average length of the term's field.

        Tantivy reveals both only where it explains a score. They are the same for all terms of a field.
        """
        found = self._explained.get(term.field)
        if found is None:
            from tantivy import Query

            query = Query.term_query(fields.schema(), term.field, term.text, "freq")
            with raising_as(IndexUnreadable):
                ((_, address),) = self._searcher.search(query, 1, count=False).hits
                explained = query.explain(self._searcher, address).to_json()
                _, rarity, share = msgspec.json.decode(explained)["details"]
                documents, average = rarity["details"][1]["value"], share["details"][4]["value"]
            found = self._explained[term.field] = int(documents), fields.float32(average)
        return found

    def find(self, search: TextSearch, corpus: fields.Counts | None = None) -> list[fields.TextHit]:
        """Find the hits of a search.

        Each term is weighed by how rare it is in ``corpus``; without one, by how rare here.

        Raises:
            IndexUnreadable: the folder is damaged.
        """
        return self.begin(search, corpus).result()

    def begin(
        self, search: TextSearch, corpus: fields.Counts | None = None, threads: Executor | None = None
    ) -> StartedSearch | PostFilteredSearch | SearchFuture[list[fields.TextHit]]:
        """Start :meth:`find`, on a worker thread if there are any and the texts are not few.

        Raises:
            IndexUnreadable: the folder is damaged; so does asking what was found.
        """
        terms, limit, through, nodes, or_more = search
        if not terms or limit < 1 or (nodes is not None and not nodes):
            return SearchFuture(None, list)
        if through is not None and self.marker is not None and through >= self.marker.seq:
            through = None
        with raising_as(IndexUnreadable):
            query = self._weigh(terms, corpus).query
        if query is None:
            return SearchFuture(None, list)
        threads = None if self._searcher.num_docs < FEW_TEXTS else threads
        with raising_as(IndexUnreadable):
            if isinstance(nodes, fields.Nodes):
                fetch = self._fetch_size(limit, nodes)
                if fetch <= FETCHED_FOR_A_NODE * len(nodes):
                    every = fields.filtered(query, through=through, nodes=None)

                    def again() -> list[fields.TextHit]:
                        return self.find(search._replace(nodes=list(nodes)), corpus)

                    return PostFilteredSearch(self._searcher, every, limit, fetch, nodes, again, threads)
            query = fields.filtered(query, through=through, nodes=nodes)
            return StartedSearch(self._searcher, query, limit, threads, or_more=or_more)

    def _fetch_size(self, limit: int, nodes: fields.Nodes) -> int:
        """How many hits to fetch so that enough of them probably belong to the nodes."""
        return int(LIKELY * (limit + _PICKED_ROOM) * self._searcher.num_docs / len(nodes))

    def entries(self) -> list[tuple[int, int, int]]:
        """(node, version, commit) of every document.

        Raises:
            IndexUnreadable: the folder is damaged.
        """
        from tantivy import Query

        with raising_as(IndexUnreadable):
            found = self._searcher.search(Query.all_query(), max(1, self._searcher.num_docs), count=False).hits
            return list(zip(*_columns(self._searcher, found, fields.NODE, fields.VERSION, fields.SEQ), strict=True))

    def scores_of_token(self, field: str, token: str) -> dict[tuple[int, int], float]:
        """The score for a token of each (node, version) that has it in a field.

        Raises:
            IndexUnreadable: the folder is damaged.
        """
        from tantivy import Query

        with raising_as(IndexUnreadable):
            query = Query.term_query(fields.schema(), field, token, "freq")
            most = max(1, self._searcher.doc_freq(field, token))
            found = self._searcher.search(query, most, count=False).hits
            pairs = zip(*_columns(self._searcher, found, fields.NODE, fields.VERSION), strict=True)
            return dict(zip(pairs, (score for score, _ in found), strict=True))

    def indexed_versions(self, documents: Iterable[fields.TextDocument]) -> set[tuple[int, int]]:
        """The (node, version) pairs in the index of those nodes that the documents belong to."""
        from tantivy import Query

        nodes = sorted({each.node for each in documents})
        if not nodes:
            return set()
        query = Query.term_set_query(fields.schema(), fields.NODE, nodes)
        found = self._searcher.search(query, max(1, self._searcher.num_docs), count=False).hits
        return set(zip(*_columns(self._searcher, found, fields.NODE, fields.VERSION), strict=True))


class StartedSearch:
    """A started search of one commit of an index.

    Only Tantivy's part runs in another thread: switching between threads that both run Python costs more than it gains.
    """

    def __init__(
        self, searcher: Searcher, query: Query, limit: int, threads: Executor | None, *, or_more: bool = False
    ) -> None:
        self._searcher = searcher
        self._query = query
        self._limit = min(limit, searcher.num_docs)
        self._most = limit
        self._or_more = or_more
        self._fetch = self._limit + (_MORE_ROOM if or_more else TIE_ROOM)
        self._future = SearchFuture(threads, partial(searcher.search, query, self._fetch, count=False))

    def result(self) -> list[fields.TextHit]:
        """The hits, as :meth:`TextView.find` gives them."""
        with raising_as(IndexUnreadable):
            hits = self._future.result().hits
            known = self._count_known(hits) if self._or_more else 0
            if known >= self._limit:
                return _first_in_order(self._searcher, hits, known)
            return _first_in_order(self._searcher, self._with_ties(hits), self._most)

    def cancel(self) -> None:
        """Cancel it, or wait for its end."""
        self._future.cancel()

    def _count_known(self, hits: list[tuple[float, DocAddress]]) -> int:
        """How many of the best hits do not tie with any that was not fetched."""
        return bisect_left(hits, -hits[-1][0], key=_negative_score) if len(hits) == self._fetch else len(hits)

    def _with_ties(self, hits: list[tuple[float, DocAddress]]) -> list[tuple[float, DocAddress]]:
        """The best hits and all that tie with the last one, so that the cut can follow the log's order."""
        limit, fetch = self._limit, self._fetch
        while not (len(hits) < fetch or hits[limit - 1][0] > hits[-1][0] or fetch >= TIE_LIMIT + limit):
            fetch = limit + min(max(8 * (fetch - limit), TIE_ROOM), TIE_LIMIT)
            hits = self._searcher.search(self._query, fetch, count=False).hits
        return hits


class PostFilteredSearch:
    """A search among many nodes that filters the hits afterwards.

    It fetches the best hits of all nodes and keeps those of the given ones: a filter of so many would take longer.
    If too few are left, it fetches more; when the filter would be cheaper, it calls ``again``, which searches with it.
    """

    def __init__(
        self,
        searcher: Searcher,
        query: Query,
        limit: int,
        fetch: int,
        nodes: fields.Nodes,
        again: Callable[[], list[fields.TextHit]],
        threads: Executor | None,
    ) -> None:
        self._searcher = searcher
        self._query = query
        self._limit = limit
        self._fetch = fetch
        self._nodes = nodes.nodes
        self._again = again
        self._future = SearchFuture(threads, partial(searcher.search, query, fetch, count=False))

    def result(self) -> list[fields.TextHit]:
        """The hits, as :meth:`TextView.find` gives them."""
        with raising_as(IndexUnreadable):
            hits: list[tuple[float, DocAddress]] = self._future.result().hits
            fetch, theirs = self._fetch, self._filter_hits(hits)
            # All ties with the last hit must be there, so that the cut can follow the log's order.
            while not (len(theirs) >= self._limit and theirs[self._limit - 1][0] > hits[-1][0]) and len(hits) == fetch:
                fetch *= _MORE
                if fetch > FETCHED_FOR_A_NODE * len(self._nodes):
                    return self._again()
                hits = self._searcher.search(self._query, fetch, count=False).hits
                theirs = self._filter_hits(hits)
            return _first_in_order(self._searcher, theirs, self._limit)

    def _filter_hits(self, hits: list[tuple[float, DocAddress]]) -> list[tuple[float, DocAddress]]:
        (column,) = _columns(self._searcher, hits, fields.NODE)
        return [hit for hit, node in zip(hits, column, strict=True) if node in self._nodes]

    def cancel(self) -> None:
        """Cancel it, or wait for its end."""
        self._future.cancel()


_text_hit: Final = partial(tuple.__new__, fields.TextHit)
"""Makes a hit of a tuple without a Python call; a search makes hundreds."""


def _first_in_order(searcher: Searcher, found: list[tuple[float, DocAddress]], most: int) -> list[fields.TextHit]:
    """The first ``most`` hits, best first, ties in log order."""
    if 0 < most < len(found) and found[most][0] == found[most - 1][0]:
        begin, end = (cut(found, -found[most][0], key=_negative_score) for cut in (bisect_left, bisect_right))
        # Each column takes as long for a hundred hits as for one.
        many = end - begin > TIE_ROOM
        found = found[:begin] + _earliest_ties(searcher, found[begin:end], most - begin) if many else found[:end]
    else:
        found = found[:most]
    scores = [score for score, _ in found]
    nodes, versions, seqs = _columns(searcher, found, fields.NODE, fields.VERSION, fields.SEQ)
    if len(set(scores)) < len(scores):
        rows = sorted(zip(map(neg, scores), seqs, nodes, versions, scores, strict=True))[:most]
        _, seqs, nodes, versions, scores = map(list, zip(*rows, strict=True))
    return list(map(_text_hit, zip(nodes, versions, seqs, scores, strict=True)))


def _negative_score(hit: tuple[float, DocAddress]) -> float:
    return -hit[0]


def _earliest_ties(
    searcher: Searcher, tied: list[tuple[float, DocAddress]], most: int
) -> list[tuple[float, DocAddress]]:
    """The first ``most`` of hits with equal scores, in the log's order.

    A word that all texts have gives thousands of them, of which only a few are sorted.
    """
    (seqs,) = _columns(searcher, tied, fields.SEQ)
    last = nsmallest(most, seqs)[-1]
    early = [hit for hit, seq in zip(tied, seqs, strict=True) if seq <= last]
    if len(early) == most:
        return early
    order = zip(*_columns(searcher, early, fields.SEQ, fields.NODE, fields.VERSION), range(len(early)), strict=True)
    return [early[place] for *_, place in nsmallest(most, order)]


def _columns(searcher: Searcher, found: list[tuple[float, DocAddress]], *names: str) -> list[list[int]]:
    addresses = [address for _, address in found]
    columns = [searcher.fast_field_values(field, addresses) for field in names]
    if any(None in column for column in columns):
        # Every document that can be found was given all of these whole numbers.
        raise IndexUnreadable("a document has lost what it is of")
    return cast("list[list[int]]", columns)
