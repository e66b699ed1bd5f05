"""The text index in Tantivy's terms: schema, documents, markers, queries, and scores.

Fields: ``node``, ``version`` and ``seq`` (columns, for filters and for what a hit says), ``stem`` (content), ``name``
(stemmed too), ``plain`` and ``grams`` (name and content), ``type`` (stems of its words). Text is not stored: the log
has it. Of each batch the last document, of ``kind`` 1, carries the marker, and the latest marker counts. So an index
holds documents and nothing else, and scores do not tell in how many batches it was made.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from math import log
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import msgspec

from worlddb.projections.indexes import analysis

if TYPE_CHECKING:
    from tantivy import Document, Index, Query, Schema, Searcher

    from worlddb.projections.indexes.vector_rows import Matrix, Numbers

NODE: Final = "node"
VERSION: Final = "version"
SEQ: Final = "seq"
KIND: Final = "kind"
MARKER: Final = "marker"
MARKER_KIND: Final = 1


SOUGHT_ONE_BY_ONE: Final = 1_000
"""Up to so many nodes of a filter are looked up one by one. Among 219,000 documents that is quicker up to about 2,000:
100 take 1.2 ms of the processor instead of 2.5, 1,000 6.2 instead of 9.8, 2,000 14.0 instead of 13.3."""


class TextDocument(NamedTuple):
    """One version of a node, or one literal that it states, as the text index sees it; ``seq`` is its first commit."""

    node: int
    version: int
    seq: int
    name: str
    content: str
    type: str = ""


class TextHit(NamedTuple):
    """A document that a search found."""

    node: int
    version: int
    seq: int
    score: float


def best_hits(hits: Iterable[TextHit], limit: int) -> list[TextHit]:
    """The ``limit`` best hits, best first, ties in log order."""
    return sorted(hits, key=rank_key)[:limit]


def rank_key(hit: TextHit) -> tuple[float, int, int, int]:
    """The sort key of hits."""
    return -hit.score, hit.seq, hit.node, hit.version


class Marker(msgspec.Struct, frozen=True, array_like=True):
    """The checkpoint: how far into the store's log the index is.

    Every document up to ``seq`` of the store is in; ``chain`` is the log's chain hash there.
    """

    store_id: bytes
    seq: int
    chain: bytes


class _StoredMarker(msgspec.Struct, frozen=True, array_like=True):
    """A marker as it lies in the index, behind the number of the analysis that made the index."""

    format: int
    marker: Marker


class Counts(NamedTuple):
    """Document counts for BM25: how many there are, and how many have each term."""

    documents: int
    having: Mapping[analysis.Term, int]

    def plus(self, other: Counts) -> Counts:
        """The counts of two disjoint indexes as of one."""
        having = {term: count + other.having.get(term, 0) for term, count in self.having.items()}
        return Counts(self.documents + other.documents, having)

    def rarity(self, term: analysis.Term) -> float:
        """BM25's inverse document frequency, as Tantivy computes it."""
        return rarity(self.documents, self.having.get(term, 0))


@lru_cache(maxsize=4096)
def rarity(documents: int, having: int) -> float:
    """BM25's inverse document frequency of a term that so many documents of some have."""
    having = min(having, documents)
    return log(1 + (documents - having + 0.5) / (having + 0.5))


BM25_K1: Final = 1.2
"""Tantivy's own; no document has more than ``BM25_K1 + 1`` times the rarity of a term."""
BM25_B: Final = 0.75
"""Tantivy's own: how much the length of a text counts."""

_FLOAT: Final = Struct("f")
"""Tantivy computes with 32 bits. Each operation on such numbers is exact enough in 64 to be rounded afterwards."""


def float32(value: float) -> float:
    """The nearest number of 32 bits."""
    return float(_FLOAT.unpack(_FLOAT.pack(value))[0])


@cache
def _log32() -> Callable[[float], float]:
    """The system's logarithm of 32 bits, which Tantivy calls; of one number in a hundred it is not the nearest."""
    import ctypes

    try:
        found = ctypes.CDLL(None).logf
    except (OSError, AttributeError, TypeError):
        return lambda value: float32(log(value))
    found.restype, found.argtypes = ctypes.c_float, [ctypes.c_float]
    return lambda value: float(found(value))


@lru_cache(maxsize=4096)
def _rarity32(documents: int, having: int) -> float:
    """As :func:`rarity`, in 32 bits."""
    return _log32()(float32(1 + float32((documents - having + 0.5) / (having + 0.5))))


def _field_norms() -> tuple[int, ...]:
    """Compute Tantivy's FIELD_NORMS_TABLE.

    It has 0 to 39 exactly, then goes on in steps of which every eighth is twice as large.
    """
    norms, step = list(range(40)), 2
    while len(norms) < 256:
        first = norms[-1] + max(1, step // 2)
        norms += range(first, first + 8 * step, step)
        step *= 2
    return tuple(norms)


FIELD_NORMS: Final = _field_norms()
"""The lengths that a byte can say: what an index knows of a text's length is the greatest that is not above it."""


def rounded_length(length: int) -> int:
    """A field's length in tokens, as an index keeps it."""
    return FIELD_NORMS[bisect_right(FIELD_NORMS, length) - 1]


class Scoring(NamedTuple):
    """What an index weighs terms by.

    It has how many documents the index counts and how many of them have a term, how long a field is on average (the sum
    of exact lengths over the documents), and by what a term's own weight is multiplied besides. Its results are
    Tantivy's to the last bit.
    """

    documents: int
    having: Mapping[analysis.Term, int]
    averages: Mapping[str, float]
    scale: Mapping[analysis.Term, float]

    def weight(self, term: analysis.Term) -> float:
        """The factor of a term that is the same in every text: its rarity times its weight."""
        rare = _rarity32(self.documents, self.having.get(term, 0))
        return float32(float32(rare * _K1_AND_ONE) * float32(term.weight * self.scale.get(term, 1.0)))

    def share(self, field: str, often: int, length: int) -> float:
        """How much of its weight a term counts for, by its frequency and the field's length.

        ``often`` is how often it stands in the field, whose length is rounded.
        """
        relative = float32(float32(BM25_B * length) / self.averages[field])
        norm = float32(_K1 * float32(1 - BM25_B + relative))
        return float32(often / float32(often + norm))

    def norms(self, field: str) -> Matrix:
        """What :meth:`share` adds to a term's frequency, by the place of the rounded length in :data:`FIELD_NORMS`."""
        import numpy as np

        relative = _weighed_lengths() / np.float32(self.averages[field])
        found: Matrix = np.float32(_K1) * (np.float32(1 - BM25_B) + relative)
        return found


@cache
def _weighed_lengths() -> Matrix:
    """The lengths of :data:`FIELD_NORMS` as far as they count."""
    import numpy as np

    found: Matrix = (BM25_B * np.array(FIELD_NORMS, dtype=np.float64)).astype(np.float32)
    return found


_K1: Final = float32(BM25_K1)
_K1_AND_ONE: Final = float32(1 + _K1)


_BESIDE_THE_TEXT: Final = (analysis.NAME, analysis.TYPE)


def ceiling(terms: Sequence[analysis.Term], counts: Counts) -> float:
    """The upper bound of a document's score by its words.

    Names, which few have, types and other forms of a word come on top.
    """
    return sum(
        term.weight * counts.rarity(term) * (BM25_K1 + 1)
        for term in terms
        if term.field not in _BESIDE_THE_TEXT and not term.instead
    )


@cache
def schema() -> Schema:
    """The fields; an index on disk with others is foreign."""
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    builder.add_unsigned_field(NODE, indexed=True, fast=True)
    builder.add_unsigned_field(VERSION, fast=True)
    builder.add_unsigned_field(SEQ, fast=True)
    for field, analyzer in (
        (analysis.STEM, analysis.STEM),
        (analysis.NAME, analysis.STEM),
        (analysis.PLAIN, analysis.PLAIN),
        (analysis.GRAMS, analysis.GRAMS),
        (analysis.TYPE, analysis.TYPE),
    ):
        builder.add_text_field(field, tokenizer_name=f"worlddb_{analyzer}", index_option="freq")
    builder.add_unsigned_field(KIND, indexed=True)
    builder.add_bytes_field(MARKER, stored=True)
    return builder.build()


def register_analyzers(index: Index) -> None:
    """Tell an index that is going to be written how to take text apart."""
    index.register_tokenizer(f"worlddb_{analysis.STEM}", analysis.stem_analyzer(every=False))
    index.register_tokenizer(f"worlddb_{analysis.PLAIN}", analysis.plain_analyzer())
    index.register_tokenizer(f"worlddb_{analysis.GRAMS}", analysis.gram_analyzer())
    index.register_tokenizer(f"worlddb_{analysis.TYPE}", analysis.gram_analyzer())


def to_document(given: TextDocument, marker: Marker | None = None) -> Document:
    """The Tantivy document of one version, with the marker if it is the last of its batch."""
    document = _document_type()()
    document.add_unsigned(NODE, given.node)
    document.add_unsigned(VERSION, given.version)
    document.add_unsigned(SEQ, given.seq)
    name, content = given.name, given.content
    if name.isascii() and content.isascii():
        document.add_text(analysis.NAME, name)
        document.add_text(analysis.STEM, content)
    else:
        name = _put_wide(document, analysis.NAME, name)
        content = _put_wide(document, analysis.STEM, content)
    document.add_text(analysis.PLAIN, f"{name} {content}")
    document.add_text(analysis.TYPE, " ".join(analysis.type_stems(given.type)))
    if marker is not None:
        _put_marker(document, marker)
    return document


@cache
def _document_type() -> type[Document]:
    from tantivy import Document

    return Document


def _put_wide(document: Document, field: str, text: str) -> str:
    """Put a text that may have any letters, and return the part of it that is split at spaces."""
    spaced, runs = analysis.prepare(text)
    if analysis.needs_all_stemmers(spaced):
        document.add_pre_tokenized_text(field, analysis.stem_analyzer(every=True).pre_tokenize(spaced))
    else:
        document.add_text(field, spaced)
    if runs:
        document.add_text(analysis.GRAMS, " ".join(analysis.grams(runs)))
    return spaced


def _put_marker(document: Document, marker: Marker) -> None:
    document.add_unsigned(KIND, MARKER_KIND)
    document.add_bytes(MARKER, msgspec.msgpack.encode(_StoredMarker(analysis.FORMAT, marker)))


def read_marker(searcher: Searcher) -> Marker | None:
    """The latest marker among what a searcher sees; None if the index is empty.

    Raises:
        ValueError: something is there, but no marker of this format.
    """
    from tantivy import Query

    if searcher.num_docs == 0:
        return None
    query = Query.term_query(schema(), KIND, MARKER_KIND)
    hits = searcher.search(query, 1, count=False, order_by_field=SEQ).hits
    if not hits:
        raise ValueError("no marker in the index")
    address = hits[0][1]
    stored = msgspec.msgpack.decode(searcher.doc(address)[MARKER][0], type=_StoredMarker)
    if stored.format != analysis.FORMAT:
        raise ValueError(f"format {stored.format} of the index, not {analysis.FORMAT}")
    return stored.marker


def count_terms(searcher: Searcher, terms: Sequence[analysis.Term]) -> Counts:
    """How common the terms are among what a searcher sees."""
    return Counts(searcher.num_docs, {term: searcher.doc_freq(term.field, term.text) for term in terms})


def filtered(query: Query, *, through: int | None, nodes: Collection[int] | None) -> Query:
    """A query for what passes all of the filters too, which add nothing to a score."""
    from tantivy import FieldType, Occur, Query

    filters: list[Query] = []
    if through is not None:
        filters.append(Query.range_query(schema(), SEQ, FieldType.Unsigned, 0, through))
    if nodes is not None:
        filters.append(_of_nodes(nodes))
    if not filters:
        return query
    unscored = [(Occur.Must, Query.const_score_query(each, 0.0)) for each in filters]
    return Query.boolean_query([(Occur.Must, query), *unscored])


def any_of(terms: Iterable[analysis.Term], scale: Mapping[analysis.Term, float]) -> Query:
    """A query for any of the terms, by their weights times what they are scaled by."""
    from tantivy import Occur, Query

    def sought(term: analysis.Term) -> Query:
        query = Query.term_query(schema(), term.field, term.text, "freq")
        return Query.boost_query(query, term.weight * scale.get(term, 1.0))

    return Query.boolean_query([(Occur.Should, sought(term)) for term in terms])


def _of_nodes(nodes: Collection[int]) -> Query:
    """Query for whatever belongs to one of the nodes.

    A set goes through the whole dictionary of nodes, so few are looked up.
    """
    from tantivy import Occur, Query

    if len(nodes) > SOUGHT_ONE_BY_ONE:
        return Query.term_set_query(schema(), NODE, sorted(nodes))
    return Query.boolean_query(
        [(Occur.Should, Query.term_query(schema(), NODE, node, "basic")) for node in sorted(nodes)]
    )


class Nodes(Collection[int]):
    """The worlds that a search is among: a set that does not change, put in order once."""

    def __init__(self, nodes: frozenset[int]) -> None:
        self.nodes = nodes

    @classmethod
    def ordered(cls, numbers: Numbers) -> Self:
        """Of an array in ascending order."""
        made = cls(frozenset(numbers.tolist()))
        made.in_order = numbers
        return made

    @cached_property
    def in_order(self) -> Numbers:
        """In ascending order."""
        return _in_order(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[int]:
        return iter(self.nodes)


def in_order(nodes: Collection[int]) -> Numbers:
    """Some worlds in ascending order."""
    return nodes.in_order if isinstance(nodes, Nodes) else _in_order(nodes)


def _in_order(nodes: Collection[int]) -> Numbers:
    import numpy as np

    found: Numbers = np.sort(np.fromiter(nodes, dtype=np.int64, count=len(nodes)))
    return found
