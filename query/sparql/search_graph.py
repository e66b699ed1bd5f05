"""Search results as RDF: a graph of every world that a lane of recall finds, with its scores.

Nothing is cut off before the join: every result is available to the rest of a pattern, however low it ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, TypeVar

from worlddb.log.model import limits
from worlddb.log.statements.terms import NAMESPACE, WORLD_URN, XSD
from worlddb.query.lanes.vector_lane import ExactVectorLane, VectorQuery
from worlddb.query.question.question import TEXT, VECTOR
from worlddb.query.reads.window import Window
from worlddb.query.recall import scoring
from worlddb.query.recall.candidates import Gate
from worlddb.query.snapshot.valid_period import Choice

MAX_CHARACTERS: Final = 2_000
_FIRST: Final = 1_024
_Hit = TypeVar("_Hit")


def search_lines(window: Window, text: str, lanes: Collection[str], missed: list[str]) -> Iterator[bytes]:
    """The graph of a search as lines of N-Triples, best first, by precisely what the window sees (laws 7 and 9).

    It searches ``lanes``: words, meaning, or both. If no model can embed the text, the reason is added to ``missed``.

    ``wdb:score`` is the sum of the reciprocal ranks in both lanes (Cormack, Clarke and Büttcher 2009), ``wdb:words``
    the score by words (BM25), ``wdb:likeness`` the cosine with the nearest vector of the world. A world with neither a
    word nor a vector is not there.

    Raises:
        InputError: the text is too long.
    """
    limits.checked_number(len(text), "the length of the search text", 1, MAX_CHARACTERS)
    query: VectorQuery | str = ""
    if VECTOR in lanes:
        with window.snapshot() as snapshot:
            spaces = snapshot.answering_spaces(exact=True)
        query = window.reader.vector_query(text, spaces)
        missed += [query] if isinstance(query, str) else []
    with window.snapshot() as snapshot:
        choice = Choice()
        gate = Gate(snapshot, snapshot.place.top, choice)
        lane, through = window.exact_lane(snapshot, choice), snapshot.place.moment.seq
        words: dict[int, float] = {}
        for hit in _all_hits(lambda limit: lane.search(text, limit=limit, through=through)) if TEXT in lanes else ():
            if gate.seen(hit.node) is not None:
                words.setdefault(hit.node, hit.score)
        meaning: dict[int, float] = {}
        if not isinstance(query, str):
            near = ExactVectorLane(window.exact_vectors(snapshot, query.space, query.dimension, choice), query)
            for found in _all_hits(lambda limit: near.search(limit=limit)):
                if gate.seen(found.node) is not None:
                    meaning.setdefault(found.node, found.score)
        scores = scoring.reciprocal_rank_scores({"words": list(words), "meaning": list(meaning)})
        for node in sorted(scores, key=lambda each: (-scores[each], each)):
            subject = f"<{WORLD_URN}{snapshot.ref(node)}>"
            for name, said in (("score", scores), ("words", words), ("likeness", meaning)):
                if node in said:
                    yield f'{subject} <{NAMESPACE}{name}> "{said[node]:.6E}"^^<{XSD}double> .\n'.encode()


def _all_hits(search: Callable[[int], list[_Hit]]) -> list[_Hit]:
    """Everything that a search finds: it is asked for more until it has no more."""
    limit = _FIRST
    while len(found := search(limit)) >= limit:
        limit *= 8
    return found
