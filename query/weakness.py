"""Whether an answer rests on anything: recall always gives the nearest there is, however far away that may be.

Figures are those of ``docs/retrieval.md``. Nothing here changes what is found, or in which order.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from math import log, sqrt
from typing import Final

from worlddb.query.fusion import COMBMAX, TEXT_WEIGHT, WHEN_WEIGHT
from worlddb.query.ranking import ENTITY, TEXT, VECTOR
from worlddb.query.records import Hit

SCATTER: Final[Mapping[str, float]] = {"wordllama/l2_supercat_256": 0.1}
"""By the model of an embedding space, how much the cosines of questions with unrelated texts scatter. It was measured;
models that nobody measured have none, and their answers are never weak."""
_MOST: Final = 10**9
LEAST_WORDS: Final = 0.2
"""The share of the most that the words of a question could score, below which those that occur say nothing."""


def asks_something(question: str) -> bool:
    """True if there is a letter, a digit or a pictogram in a question."""
    return any(_is_said(unicodedata.category(character)) for character in question)


def _is_said(category: str) -> bool:
    return category[0] in "LN" or category == "So"


def is_weak(hits: Sequence[Hit], lanes: Sequence[str], fusion: str, model: str, searched: Callable[[], int]) -> bool:
    """True if no hit has anything that speaks for it: neither words nor meaning beyond what unrelated texts have in
    common with a question, nor a name or a time in it.

    ``searched`` counts the worlds that were searched, and is only called if it matters.
    """
    scatter = SCATTER.get(model)
    if not hits or scatter is None or VECTOR not in lanes or fusion == COMBMAX:
        return False
    if not all(_says_nothing(hit.scores, chance_level(scatter, _MOST)) for hit in hits):
        return False
    level = chance_level(scatter, searched())
    return all(_says_nothing(hit.scores, level) for hit in hits)


def chance_level(scatter: float, count: int) -> float:
    """About how near the nearest of so many unrelated texts comes by chance: the expected greatest of as many normal
    deviates, to first order, in units of their standard deviation ``scatter`` (Cramér 1946, §28.6)."""
    return scatter * sqrt(2 * log(max(count, 2)))


def _says_nothing(scores: Mapping[str, float], level: float) -> bool:
    return (
        scores.get(VECTOR, 0.0) < level
        and scores.get(TEXT, 0.0) < LEAST_WORDS * TEXT_WEIGHT
        and not scores.get(ENTITY)
        and scores.get("when", 0.0) < WHEN_WEIGHT / 2
    )
