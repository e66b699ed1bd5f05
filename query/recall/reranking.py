"""Rerank the hits of a recall by a model that reads question and text together.

An opt-in step: no reranker runs inside a recall (law 12). The extra ``embed`` has one; no cross-encoder comes with the
engine.
"""

from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Real
from typing import Any, Final, Protocol

from msgspec.structs import replace

from worlddb.log.model import errors, limits
from worlddb.query.question.question import MAX_K, TEXT, VECTOR
from worlddb.query.records.records import Hit, Recall

RERANK: Final = "rerank"
"""What a hit owes to the reranker, among its scores."""


EVIDENCE: Final = (TEXT, VECTOR)
"""Whose place a reranker's scores may take."""
_ROUNDED: Final = 1e-4
"""Scores and their parts are rounded each for itself."""


class Reranker(Protocol):
    """Scores how well texts answer a question: one finite number a text, the higher the better."""

    def __call__(self, question: str, texts: Sequence[str], /) -> Iterable[float]:
        """The scores, in the order of the texts."""


def rerank(
    found: Recall, question: str, reranker: Reranker, *, k: int | None = None, instead: str | None = None
) -> Recall:
    """The hits of a recall in the order of the caller's reranker, the best ``k`` if given.

    ``instead`` names a kind of evidence, such as ``vector``: a score takes its place among the ``Hit.scores`` that a
    hit's score is the sum of, so that who said it and when count as before. It has to be of that kind's size.

    A text is a hit's name and content, as lines. Hits that score alike keep their order; each keeps its lanes and its
    reason, and the answer's note says what ranked it. Ask the recall for more hits than are wanted in the end.

    Raises:
        InputError: the recall is of groups, the reranker gave something else than one finite number a text, or there is
            no such evidence, or the scores are no sums, as those of ranks are.
    """
    if not isinstance(found, Recall):
        raise errors.InputError(
            f"What is to be reranked is {type(found).__name__}, not a Recall", "Give view.recall(...)"
        )
    if found.groups:
        raise errors.InputError(
            "A recall of groups has no order of hits", "Rerank one without group=, then use group_hits"
        )
    if k is not None:
        limits.checked_number(k, "k", 1, MAX_K)
    kept = [_kept(hit, instead) for hit in found.hits]
    scores = _scores(reranker(question, [_text(hit) for hit in found.hits]), len(found.hits)) if found.hits else []
    parts = [{**each, RERANK: score} for each, score in zip(kept, scores, strict=True)]
    sums = [sum(each.values()) for each in parts]
    order = sorted(range(len(sums)), key=lambda place: -sums[place])
    hits = (replace(found.hits[place], score=sums[place], scores=parts[place]) for place in order[:k])
    by = f"reranked by {getattr(reranker, '__qualname__', type(reranker).__qualname__)}"
    return replace(found, hits=tuple(hits), note="; ".join(filter(None, (found.note, by))))


def _kept(hit: Hit, instead: str | None) -> dict[str, float]:
    """What a hit keeps of its own score."""
    if instead is None:
        return {}
    if instead not in EVIDENCE:
        raise errors.InputError(
            f"There is no evidence {errors.shown(instead)}", f"Name one of: {', '.join(EVIDENCE)}, or leave instead out"
        )
    if abs(sum(hit.scores.values()) - hit.score) > _ROUNDED:
        raise errors.InputError(
            f"The score of {hit.ref} is no sum of evidence, so that nothing takes the place of {instead}",
            "Recall with the fusion convex, or leave instead out",
        )
    return {lane: part for lane, part in hit.scores.items() if lane != instead}


def _text(hit: Hit) -> str:
    return "\n".join(filter(None, (hit.name, hit.content)))


def _scores(given: Any, wanted: int) -> list[float]:
    """What a reranker gave, one number a text. Numbers of numerical libraries are numbers, too."""
    remedy = "Return one finite number for each text, in their order"
    try:
        scores = list(given)
    except TypeError:
        raise errors.InputError(f"The reranker gave {type(given).__name__}, not a list of scores", remedy) from None
    if len(scores) != wanted:
        raise errors.InputError(f"The reranker gave {len(scores):,} scores for {wanted:,} texts", remedy)
    for place, score in enumerate(scores):
        if not isinstance(score, Real) or not _is_finite(score):
            raise errors.InputError(f"The reranker's score of text {place} is {errors.shown(score)}", remedy)
    return [float(score) for score in scores]


def _is_finite(score: Real) -> bool:
    try:
        return isfinite(score)
    except OverflowError:
        return False
