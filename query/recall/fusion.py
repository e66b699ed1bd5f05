"""Fusions: how what several lanes say of a candidate becomes one score. Pure functions of plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

RRF_CONSTANT: Final = 60
"""Cormack, Clarke and Büttcher 2009; the paper's §4.3 uses the same."""

TEXT_WEIGHT: Final = 0.6
ENTITY_WEIGHT: Final = 0.2
WHEN_WEIGHT: Final = 0.2
"""Chosen on one half of the development questions and judged on the other; see docs/retrieval.md."""

VECTOR_CALIBRATION: Final = 0.85
"""What a cosine is worth beside a score by words where the greater of the two counts (Kumiho, equation 6)."""

CONVEX: Final = "convex"
RRF: Final = "rrf"
COMBMAX: Final = "combmax"
FUSIONS: Final = (CONVEX, RRF, COMBMAX)


class Evidence(NamedTuple):
    """What speaks for a candidate.

    ``text`` is its BM25 score as a share of the most that the query could reach, ``vector`` the cosine of its vector
    with the query's, ``entity`` 1 if whom the question is about said it or is mentioned in it, ``when`` how near it is
    to the times that the question names (0 to 1), ``before`` what the turns before it lend it, ``edge`` what hits
    lend it that an edge joins to it.
    """

    text: float
    vector: float
    entity: float
    when: float
    before: float = 0.0
    edge: float = 0.0


def own(text: float, vector: float) -> float:
    """What a candidate's words and its meaning say, which is what it lends the turns after it."""
    return TEXT_WEIGHT * text + vector


def added_up(evidence: Evidence) -> float:
    """The score of a candidate whose evidence is added up: the sum of what :func:`weighted` tells."""
    text, vector, entity, when, before, edge = evidence
    return sum((TEXT_WEIGHT * text, vector, ENTITY_WEIGHT * entity, WHEN_WEIGHT * when, before, edge))


def weighted(evidence: Evidence) -> dict[str, float]:
    """What each kind of evidence adds to the score, by its lane."""
    parts = {
        "text": TEXT_WEIGHT * evidence.text,
        "vector": evidence.vector,
        "entity": ENTITY_WEIGHT * evidence.entity,
        "when": WHEN_WEIGHT * evidence.when,
        "before": evidence.before,
        "edge": evidence.edge,
    }
    return {lane: part for lane, part in parts.items() if part}


def strongest(evidence: Evidence) -> dict[str, float]:
    """CombMAX: the greater of what words and meaning say is the score (Fox and Shaw 1993; Kumiho, equation 8).

    Kumiho's weights by the kind of match are left out: a world's name and its text are matched together.
    """
    lane, score = max(("text", evidence.text), ("vector", VECTOR_CALIBRATION * evidence.vector), key=itemgetter(1))
    return {name: part for name, part in ((lane, score), ("edge", evidence.edge)) if part}


def reciprocal(rankings: Mapping[str, Sequence[int]]) -> dict[int, float]:
    """Reciprocal rank fusion of each lane's candidates, best first: the sum of 1 / (60 + rank)."""
    scores: dict[int, float] = {}
    for ranking in rankings.values():
        for rank, candidate in enumerate(ranking, 1):
            scores[candidate] = scores.get(candidate, 0.0) + 1 / (RRF_CONSTANT + rank)
    return scores
