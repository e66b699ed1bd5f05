"""The texts of one world as postings and vectors, searched as if a chosen subset were all texts.

Each search chooses its texts by a mask: word frequencies and text lengths are counted among those only. So one set of
postings serves every moment, and a text that does not hold any more costs only its space. Scores are those of a Tantivy
index of the chosen texts, to the last bit (:class:`.fields.Scoring`): numbers have 32 bits, and terms are added up in
their order.

A token is kept as 8 bytes of its hash under the store's secret, not as the word. Postings lie in *segments* that never
change; one is added for what comes in, and small ones are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from blake3 import blake3

from worlddb.projections.indexes import analysis, fields, tail, vector_rows, world_moments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from worlddb.projections.indexes.vector_rows import Matrix, Numbers
    from worlddb.projections.indexes.world_moments import Mask

FIELDS: Final = (analysis.STEM, analysis.NAME, analysis.PLAIN, analysis.GRAMS, analysis.TYPE)
_FIELD_NUMBER: Final = {field: number for number, field in enumerate(FIELDS)}
_KEY_BYTES: Final = 8
_FAR: Final = 2**63 - 1
MERGED_AT_ONCE: Final = 4
"""So many segments of about one size become one."""
_KNOWN_KEYS: Final = 500_000
"""How many tokens' hashes are remembered while texts are taken in."""


class Segment(NamedTuple):
    """The postings of the texts numbered from ``first`` on; see :data:`ARRAYS`."""

    first: int
    keys: NDArray[np.uint64]
    """The hashes of the tokens, in ascending order."""
    ends: Numbers
    """Where the postings of each token end; they begin where those of the one before it do."""
    places: NDArray[np.int32]
    """The texts that have the token, in order, counted from ``first``."""
    often: NDArray[np.uint32]
    """How often each has it."""
    lengths: NDArray[np.int32]
    """For each field the number of tokens of each text."""
    codes: NDArray[np.uint8]
    """The same lengths as an index stores them: places in :data:`.fields.FIELD_NORMS`."""

    @property
    def texts(self) -> int:
        """The number of texts."""
        return int(self.lengths.shape[1])

    def found(self, keys: NDArray[np.uint64]) -> dict[int, tuple[NDArray[np.int32], NDArray[np.uint32]]]:
        """The postings of those tokens that occur here, by the place of each among ``keys``."""
        import numpy as np

        if not len(self.keys):
            return {}
        places = np.searchsorted(self.keys, keys)
        there = np.flatnonzero(self.keys[np.minimum(places, len(self.keys) - 1)] == keys)
        at = places[there]
        begins = np.where(at > 0, self.ends[at - 1], 0)
        return {
            token: (self.places[begin:end], self.often[begin:end])
            for token, begin, end in zip(there.tolist(), begins.tolist(), self.ends[at].tolist(), strict=True)
        }


ARRAYS: Final = {"keys": "<u8", "ends": "<i8", "places": "<i4", "often": "<u4", "lengths": "<i4", "codes": "u1"}
"""The arrays of a segment, and the type of each."""


class TokenKeys:
    """The hashes of tokens under a store's secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._known: dict[tuple[str, str], int] = {}

    def of(self, token: tuple[str, str]) -> int:
        """The key of a field and a token in it."""
        found = self._known.get(token)
        if found is None:
            named = f"{token[0]}\0{token[1]}".encode("utf-8", "surrogatepass")
            found = int.from_bytes(blake3(named, key=self._secret).digest(length=_KEY_BYTES), "big")
            if len(self._known) >= _KNOWN_KEYS:
                self._known.clear()
            self._known[token] = found
        return found


def build_segment(documents: Sequence[fields.TextDocument | None], first: int, keys: TokenKeys) -> Segment:
    """Build a segment of some texts; a missing text takes a number, too."""
    import numpy as np

    tokens: list[int] = []
    places: list[int] = []
    often: list[int] = []
    lengths = np.zeros((len(FIELDS), len(documents)), dtype=np.int32)
    of = keys.of
    for place, document in enumerate(documents):
        if document is None:
            continue
        found = Counter(tail.tokens(document))
        tokens.extend(map(of, found))
        often.extend(found.values())
        places.extend([place] * len(found))
        for (field, _), count in found.items():
            lengths[_FIELD_NUMBER[field], place] += count
    return _segment_of(
        first,
        np.array(tokens, dtype=np.uint64),
        np.array(places, dtype=np.int32),
        np.array(often, dtype=np.uint32),
        lengths,
    )


def _segment_of(first: int, tokens: Any, places: Any, often: Any, lengths: Any) -> Segment:
    """Build a segment from postings in the order of their texts."""
    import numpy as np

    order = np.argsort(tokens, kind="stable")
    tokens = tokens[order]
    begins = np.flatnonzero(np.concatenate(([True], tokens[1:] != tokens[:-1]))) if len(tokens) else np.zeros(0, int)
    ends = np.concatenate((begins[1:], [len(tokens)])).astype(np.int64) if len(tokens) else begins.astype(np.int64)
    rounded = np.searchsorted(np.array(fields.FIELD_NORMS, dtype=np.int64), lengths, side="right") - 1
    return Segment(first, tokens[begins], ends, places[order], often[order], lengths, rounded.astype(np.uint8))


def merge_segments(segments: Sequence[Segment]) -> Segment:
    """Merge adjacent segments into one."""
    import numpy as np

    first = segments[0].first
    tokens = np.concatenate([np.repeat(each.keys, np.diff(each.ends, prepend=0)) for each in segments])
    places = np.concatenate([each.places + np.int32(each.first - first) for each in segments])
    often = np.concatenate([each.often for each in segments])
    return _segment_of(first, tokens, places, often, np.concatenate([each.lengths for each in segments], axis=1))


def append_segment(segments: Sequence[Segment], fresh: Segment) -> tuple[Segment, ...]:
    """Append a segment, and merge the last ones where there are several of about its size."""
    found = [*segments, fresh]
    while len(found) >= MERGED_AT_ONCE:
        last = found[-MERGED_AT_ONCE:]
        if last[0].texts > MERGED_AT_ONCE * sum(each.texts for each in last[1:]):
            break
        found[-MERGED_AT_ONCE:] = [merge_segments(last)]
    return tuple(found)


class TextStatistics:
    """The chosen texts: a mask over all texts, their number, and the average length of each field."""

    def __init__(self, segments: Sequence[Segment], mask: Mask) -> None:
        import numpy as np

        self.segments = segments
        self.mask = mask
        self.parts = [mask[each.first : each.first + each.texts] for each in segments]
        self.whole = [bool(part.all()) for part in self.parts]
        self.count = int(sum(int(np.count_nonzero(part)) for part in self.parts))
        totals = np.zeros(len(FIELDS), dtype=np.int64)
        for segment, part, whole in zip(segments, self.parts, self.whole, strict=True):
            totals += (segment.lengths if whole else segment.lengths[:, part]).sum(axis=1, dtype=np.int64)
        self.averages = {
            field: fields.float32(fields.float32(total) / fields.float32(self.count))
            for field, total in zip(FIELDS, totals.tolist(), strict=True)
            if self.count
        }


class TextScores(NamedTuple):
    """The scores of all texts for a query, 0 where none of its terms occurs or the text is not chosen."""

    counts: fields.Counts
    values: Matrix


def score_texts(
    counted: TextStatistics, terms: Sequence[analysis.Term], key: Callable[[tuple[str, str]], int]
) -> TextScores:
    """Score all chosen texts by the terms."""
    import numpy as np

    keys = np.array([key((term.field, term.text)) for term in terms], dtype=np.uint64)
    postings = [each.found(keys) for each in counted.segments]
    for of, part, whole in zip(postings, counted.parts, counted.whole, strict=True):
        if not whole:
            for at, (places, often) in of.items():
                is_counted = part[places]
                of[at] = places[is_counted], often[is_counted]
    having = {term: sum(len(of[at][0]) for of in postings if at in of) for at, term in enumerate(terms)}
    scoring = fields.Scoring(counted.count, having, counted.averages, {})
    values = np.zeros(len(counted.mask), dtype=np.float32)
    norms = {field: scoring.norms(field) for field in {term.field for term in terms if having[term]}}
    for at, term in enumerate(terms):
        if not having[term]:
            continue
        weight, norm, number = np.float32(scoring.weight(term)), norms[term.field], _FIELD_NUMBER[term.field]
        for segment, of in zip(counted.segments, postings, strict=True):
            if at in of:
                places, often = of[at]
                times = often.astype(np.float32)
                parts = weight * (times / (times + norm[segment.codes[number][places]]))
                own = values[segment.first : segment.first + segment.texts]
                own[places] += parts
    return TextScores(fields.Counts(counted.count, having), values)


def _score_at_rank(scores: Matrix, limit: int) -> float:
    """A score that at least ``limit`` texts reach, and hardly more, found from the maxima of blocks of scores."""
    import numpy as np

    size = len(scores) // (4 * max(limit, 1))
    if size > 1:
        scores = scores[: len(scores) // size * size].reshape(-1, size).max(axis=1)
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit])


class VisibleTexts:
    """The texts of one world that a view sees at a moment; immutable."""

    def __init__(
        self,
        moments: world_moments.Moments,
        places: Mapping[int, int],
        keys: TokenKeys,
        segments: Sequence[Segment],
        inside: Mask,
        mask: Mask,
    ) -> None:
        """``places`` are those of the worlds, and grow; ``inside`` and ``mask`` choose the worlds and texts."""
        self._places = places
        self._inside = inside
        self._flags = inside.tobytes()
        self._key = keys.of
        self._nodes = moments.nodes.lines[0]
        self.texts = moments.texts.lines
        self.counted = TextStatistics(segments, mask)
        self.members = int(inside.sum())
        """The number of worlds inside."""
        self.kept: dict[tuple[str, int, str], Any] = {}
        """A cache for those who search."""

    def holds(self, node: int) -> bool:
        """True if a world lies inside; the outermost itself does not."""
        place = self._places.get(node, _FAR)
        return place < len(self._flags) and self._flags[place] != 0

    def inhabitants(self) -> list[int]:
        """All worlds inside, in log order."""
        return sorted(self._nodes[: len(self._inside)][self._inside].tolist())

    def names(self, texts: Numbers) -> tuple[Numbers, Numbers]:
        """World and version of some texts."""
        return self._nodes[self.texts[0][texts]], self.texts[1][texts]

    def texts_of(self, nodes: Collection[int]) -> Mask:
        """The texts of some worlds."""
        import numpy as np

        places = [place for node in nodes if (place := self._places.get(node, _FAR)) < len(self._nodes)]
        among = np.zeros(len(self._nodes), dtype=bool)
        among[places] = True
        found: Mask = among[self.texts[0]]
        return found

    def scores(self, terms: Sequence[analysis.Term]) -> TextScores:
        """The scores of all texts for a query."""
        return score_texts(self.counted, terms, self._key)

    def best(self, values: Matrix, limit: int, nodes: Collection[int] | None) -> list[fields.TextHit]:
        """The texts with the highest scores, best first, ties in log order; with ``nodes``, of those worlds alone."""
        import numpy as np

        chosen = np.flatnonzero(values if nodes is None else self.texts_of(nodes) & (values > 0))
        found = values[chosen]
        if limit < len(chosen):
            chosen = chosen[found >= _score_at_rank(found, limit)]
        worlds, versions = self.names(chosen)
        seqs, scores = self.texts[2][chosen], values[chosen]
        order = np.lexsort((versions, worlds, seqs, -scores))[:limit]
        lines = zip(*(each[order].tolist() for each in (worlds, versions, seqs, scores)), strict=True)
        return [fields.TextHit(*line) for line in lines]


class SpaceVectors:
    """The vectors of one embedding space: for each row its text and the commit that recorded it."""

    def __init__(self, dimension: int, lines: Numbers | None = None, matrix: Matrix | None = None) -> None:
        import numpy as np

        self.dimension = dimension
        self.lines = world_moments.Column(2, lines)
        width = vector_rows.width(dimension)
        self._base = np.zeros((0, width), dtype=np.float32) if matrix is None else matrix
        self._tail = np.zeros((0, width), dtype=np.float32)

    def add(self, rows: Sequence[tuple[int, vector_rows.VectorRow]]) -> None:
        """Add the vectors of some texts."""
        import numpy as np

        if not rows:
            return
        numbered = [row._replace(node=text) for text, row in rows]
        numbers, matrix = vector_rows.expand_rows(numbered, self.dimension)
        count = len(self.lines) - len(self._base)
        if count + len(matrix) > len(self._tail):
            room = np.zeros((max(count + len(matrix), 2 * len(self._tail)), matrix.shape[1]), dtype=np.float32)
            room[:count] = self._tail[:count]
            self._tail = room
        self._tail[count : count + len(matrix)] = matrix
        self.lines.add([(text, seq) for text, _, seq in numbers.tolist()])

    def parts(self, count: int) -> list[Matrix]:
        """The first ``count`` rows."""
        return [self._base, self._tail[: count - len(self._base)]]

    @property
    def size_bytes(self) -> int:
        return int(self._base.nbytes + self._tail.nbytes)


class VisibleVectors:
    """The vectors of one space that a view sees; ``pending`` counts the texts that have none yet."""

    def __init__(self, seen: VisibleTexts, space: SpaceVectors, seq: int) -> None:
        import numpy as np

        self._seen = seen
        self._texts, recorded = space.lines.lines
        self._parts = space.parts(len(self._texts))
        last = len(seen.counted.mask) - 1
        if last < 0 or (len(self._texts) and int(self._texts.max()) > last):
            # Texts have come in since, which are not seen.
            recorded = np.where(self._texts > last, _FAR, recorded)
            self._texts = np.minimum(self._texts, max(last, 0))
        self._is_seen: Mask = recorded <= seq
        if last >= 0:
            self._is_seen &= seen.counted.mask[self._texts]
        self._all = bool(self._is_seen.all())
        has = np.zeros(len(seen.counted.mask), dtype=bool)
        has[self._texts[self._is_seen]] = True
        self._count = int(np.count_nonzero(has))
        self.pending = int(np.count_nonzero(seen.counted.mask & ~has & (seen.texts[3] == 1)))

    def __len__(self) -> int:
        return self._count

    def search(
        self, query: Matrix, limit: int, nodes: Collection[int] | None = None, *, stating: float = 0.0
    ) -> list[vector_rows.VectorHit]:
        """The best vectors, best first, ties by world, the later version first.

        With ``nodes``, of those worlds alone. A text that is nothing but statements is nearer by ``stating``.
        """
        import numpy as np

        row = vector_rows.query_row(query, stating=stating)
        scores = np.concatenate([vector_rows.cosines(part, row) for part in self._parts])
        wanted = None if self._all else self._is_seen
        if nodes is not None:
            among = self._seen.texts_of(nodes)[self._texts]
            wanted = among if wanted is None else among & wanted
        chosen = np.arange(len(scores)) if wanted is None else np.flatnonzero(wanted)
        found = scores if wanted is None else scores[chosen]
        if limit < len(chosen):
            chosen = chosen[found >= _score_at_rank(found, limit)]
        worlds, versions = self._seen.names(self._texts[chosen])
        order = np.lexsort((-versions, worlds, -scores[chosen]))[:limit]
        hits = zip(worlds[order].tolist(), versions[order].tolist(), scores[chosen[order]].tolist(), strict=True)
        return [vector_rows.VectorHit(world, version, 0, score) for world, version, score in hits]

    def scores(
        self, query: Matrix, pairs: Sequence[tuple[int, int]], *, stating: float = 0.0
    ) -> dict[tuple[int, int], float]:
        """The scores of some (world, version) pairs, by the nearest vector of each; missing ones are left out."""
        import numpy as np

        among = self._seen.texts_of([node for node, _ in pairs])[self._texts]
        near = np.flatnonzero(among if self._all else among & self._is_seen)
        row, first = vector_rows.query_row(query, stating=stating), len(self._parts[0])
        parts = (self._parts[0][near[near < first]], self._parts[1][near[near >= first] - first])
        scores = np.concatenate([vector_rows.cosines(part, row) for part in parts])
        worlds, versions = self._seen.names(self._texts[near])
        found = vector_rows.best_of_each(np.stack((worlds, versions, versions), axis=1), scores)
        return {pair: found[pair] for pair in pairs if pair in found}
