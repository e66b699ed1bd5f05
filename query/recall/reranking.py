"""Rerank the hits of a recall by a model that reads question and text together.

An opt-in step: no reranker runs inside a recall (law 12). The extras ``embed`` and ``rerank`` have one each.
"""

from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Real
from typing import Any, Final, Protocol

from msgspec.structs import replace

from worlddb.log.model import errors, limits
from worlddb.query.question.question import MAX_K, TEXT, VECTOR
from worlddb.query.recall.scoring import GOVERNS, KEPT
from worlddb.query.records.records import EntityPath, Hit, Recall

RERANK: Final = "rerank"
"""The reranker's part of a hit's score."""


EVIDENCE: Final = (TEXT, VECTOR)
"""The kinds of evidence that a reranker's scores may replace."""
_ROUNDED: Final = 1e-4
"""Scores and their parts are rounded each for itself."""


class Reranker(Protocol):
    """Scores how well texts answer a question: one finite number a text, the higher the better."""

    def __call__(self, question: str, texts: Sequence[str], /) -> Iterable[float]:
        """The scores, in the order of the texts."""


DEDICATED, CLIENT, AUTO = "dedicated", "client", "auto"
MODES: Final = (DEDICATED, CLIENT, AUTO)
"""Who chooses among hits: a reranker that is asked here, the caller's own model by what hits tell, or whichever is
there (Kumiho, table 5)."""
CULLED: Final = 25
"""So many of the best go on from one reranker of a cascade to the next (Arbiter)."""
_TO_THE_CLIENT: Final = "not reranked: the caller's own model chooses by the text of each hit"


def rerank(
    found: Recall,
    question: str,
    reranker: Reranker | Sequence[Reranker] | None = None,
    *,
    k: int | None = None,
    instead: str | None = None,
    add: bool = False,
    mode: str = DEDICATED,
    cull: int = CULLED,
) -> Recall:
    """The hits of a recall in the order of the caller's reranker, the best ``k`` if given; its paths, each stream too.

    Without ``instead`` and ``add`` the reranker's score alone decides. ``instead`` names a kind of evidence, such as
    ``vector``: the score takes its place among the ``Hit.scores`` that a hit's score is the sum of, so who said it and
    when count as before. It has to be of that kind's size. With ``add`` the score is added to them, and to what another
    reranker has added. In both cases a standing instruction that governs the question keeps its place at least, since
    it seldom looks like an answer.

    Of several rerankers, the cheapest first, each is given the ``cull`` best of the one before; the others stay
    behind. With ``instead`` or ``add`` their scores add up, else that of the last one alone counts. ``mode``:
    ``client`` runs no reranker and leaves the choice to the caller's own model, for which a recall with
    ``Streams(describe=True)`` adds what was inferred of each hit; ``auto`` does so without a reranker.

    A text is a hit's name and content, as lines, without a name that is only the id in its source. Hits that score
    alike keep their order; each keeps its lanes and its reason, and the answer's note says what ranked it. Ask the
    recall for more hits than are wanted in the end.

    Raises:
        InputError: the recall is of groups, the reranker gave something else than one finite number a text, or there is
            no such evidence or mode, both ``instead`` and ``add`` are given, or the hits' scores are no sums, as those
            of ranks are.
    """
    if not isinstance(found, Recall):
        raise errors.InputError(f"rerank takes a Recall, not {type(found).__name__}", "Give view.recall(...)")
    if found.groups:
        raise errors.InputError(
            "A recall with groups has no single order of hits", "Rerank one without group=, then use group_hits"
        )
    if k is not None:
        limits.checked_number(k, "k", 1, MAX_K)
    limits.checked_number(cull, "cull", 1, MAX_K)
    if add and instead is not None:
        raise errors.InputError(
            f"add was given, and so was instead: {errors.shown(instead)}",
            "Leave one of add and instead out",
        )
    stages = _stages(reranker, mode)
    if not stages:
        return replace(found, hits=found.hits[:k], note=_add_note(found, _TO_THE_CLIENT))
    # The first sees all that was recalled, each other one what the one before thinks best.
    hits, seen = list(found.hits), len(found.hits)
    for stage in stages:
        hits = [*_rerank_hits(hits[:seen], question, stage, instead, add), *hits[seen:]]
        seen = cull
    by = "reranked by " + ", then ".join(getattr(each, "__qualname__", type(each).__qualname__) for each in stages)
    return replace(
        found, hits=tuple(hits[:k]), paths=_rerank_paths(found.paths, question, stages[-1]), note=_add_note(found, by)
    )


def _stages(reranker: Any, mode: str) -> list[Reranker]:
    """The rerankers that are asked, in their order; none where the choice is the client's.

    Raises:
        InputError: there is no such mode, or a reranker is missing, cannot be called, or is not to be asked.
    """
    if mode not in MODES:
        raise errors.InputError(f"There is no mode {errors.shown(mode)}", f"Name one of: {', '.join(MODES)}")
    stages = [] if reranker is None else list(reranker) if isinstance(reranker, list | tuple) else [reranker]
    for each in stages:
        limits.checked_callable(each, "reranker")
    if mode == CLIENT and stages:
        raise errors.InputError(
            "A reranker was given with mode='client', in which the client chooses", "Leave one of the two out"
        )
    if mode == DEDICATED and not stages:
        raise errors.InputError("No reranker was given", "Give one, or mode='client'")
    return stages


def _rerank_hits(
    hits: Sequence[Hit], question: str, reranker: Reranker, instead: str | None = None, add: bool = False
) -> list[Hit]:
    """Some hits in the order of one reranker."""
    adds = add or instead is not None
    kept = [_kept_scores(hit, instead) if adds else {} for hit in hits]
    scores = _parse_scores(reranker(question, [_text_of(hit) for hit in hits]), len(hits)) if hits else []
    parts = [{**each, RERANK: each.get(RERANK, 0.0) + score} for each, score in zip(kept, scores, strict=True)]
    sums = [sum(each.values()) for each in parts]
    order = sorted(range(len(sums)), key=lambda place: -sums[place])
    ranked = [replace(hits[place], score=sums[place], scores=parts[place]) for place in order]
    for place, hit in enumerate(hits if adds else ()):
        if GOVERNS in hit.scores or KEPT in hit.scores:
            ranked = _hold_place(ranked, place, hit.ref)
    return ranked


def _hold_place(ranked: list[Hit], place: int, ref: str) -> list[Hit]:
    """The hits, one of them at a place at the latest, with the score of the one that had it."""
    at = next(at for at, hit in enumerate(ranked) if hit.ref == ref)
    if at <= place:
        return ranked
    hit, more = ranked[at], ranked[place].score - ranked[at].score
    parts = {**hit.scores, KEPT: hit.scores.get(KEPT, 0.0) + more}
    return [*ranked[:place], replace(hit, score=hit.score + more, scores=parts), *ranked[place:at], *ranked[at + 1 :]]


def _rerank_paths(paths: Sequence[EntityPath], question: str, reranker: Reranker) -> tuple[EntityPath, ...]:
    """Paths by what a reranker says of their contexts, each stream by itself."""
    if not paths:
        return ()
    scores = _parse_scores(reranker(question, [each.context for each in paths]), len(paths))
    scored = [replace(each, score=score) for each, score in zip(paths, scores, strict=True)]
    streams = {of: place for place, of in enumerate(dict.fromkeys(each.of for each in paths))}
    return tuple(sorted(scored, key=lambda each: (streams[each.of], -each.score)))


def _add_note(found: Recall, said: str) -> str:
    return "; ".join(filter(None, (found.note, said)))


def _kept_scores(hit: Hit, instead: str | None) -> dict[str, float]:
    """The parts of a hit's own score without the one that is replaced."""
    if instead is not None and instead not in EVIDENCE:
        raise errors.InputError(
            f"There is no evidence {errors.shown(instead)}", f"Name one of: {', '.join(EVIDENCE)}, or leave instead out"
        )
    if abs(sum(hit.scores.values()) - hit.score) > _ROUNDED:
        raise errors.InputError(
            f"The score of {hit.ref} is not a sum of evidence, so evidence cannot replace a part of it",
            "Recall with the fusion convex, or leave instead and add out",
        )
    return {lane: part for lane, part in hit.scores.items() if lane != instead}


def _text_of(hit: Hit) -> str:
    says_nothing = hit.content and hit.name == str(hit.source.get("id"))
    return "\n".join(filter(None, ("" if says_nothing else hit.name, hit.content)))


def _parse_scores(given: Any, wanted: int) -> list[float]:
    """What a reranker gave, one number a text. Numbers of numerical libraries are numbers, too."""
    remedy = "Return one finite number for each text, in their order"
    try:
        scores = list(given)
    except TypeError:
        raise errors.InputError(f"The reranker returned {type(given).__name__}, not a list of scores", remedy) from None
    if len(scores) != wanted:
        raise errors.InputError(f"The reranker returned {len(scores):,} scores for {wanted:,} texts", remedy)
    for place, score in enumerate(scores):
        if not isinstance(score, Real) or not _is_finite(score):
            raise errors.InputError(f"The reranker's score of text {place} is {errors.shown(score)}", remedy)
    return [float(score) for score in scores]


def _is_finite(score: Real) -> bool:
    try:
        return isfinite(score)
    except OverflowError:
        return False
