"""Signals that a question has no answer, chosen on one half of the conversations and judged on the other.

Beside the confidence of an answer there is one of structure: how many messages of the whole conversation have most of
what the question asks for, each word by how rare it is. What was spoken of is spoken of more than once. The two are
added up in units of their scatter on one half, and the line is drawn there, so that one in twenty of the questions that
can be answered is flagged; the other half is judged by it, and the other way round.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from worlddb.projections.indexes import analysis
from worlddb.query.coverage.covering import covering

MOST: Final = 0.6
"""A message gathers a question if it has more than this share of its words, by how rare they are."""
FALSELY: Final = 0.05


class Signals(NamedTuple):
    """Signals of a question, the half of its conversation, and whether it is unanswerable."""

    half: int
    abstains: bool
    confidence: float
    gathered: int


class QuestionCoverage:
    """Counts the messages of a conversation that have most of a question's words."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [frozenset(_stems(text)) for text in texts]
        self._df = Counter(stem for text in self._texts for stem in text)

    def count(self, question: str) -> int:
        """How many messages do; of a question for all of something what it is about counts, which recall compares."""
        asked = covering(question)
        sought = set(_stems(question if asked is None else asked.topic))
        worth = {stem: math.log(1 + len(self._texts) / (self._df[stem] + 0.5)) for stem in sought}
        least = MOST * sum(worth.values())
        return sum(math.fsum(worth[stem] for stem in worth if stem in text) > least for text in self._texts)


def _stems(text: str) -> list[str]:
    found = analysis.analyze(text)
    return [stem for word, stem in zip(found.words, found.stems, strict=True) if word not in analysis.STOP_WORDS]


_Signal = Callable[[Signals], float]
VARIANTS: Final[dict[str, tuple[_Signal, ...]]] = {
    "confidence": (lambda each: -each.confidence,),
    "confidence, and messages with most of the words": (
        lambda each: -each.confidence,
        lambda each: -math.log1p(each.gathered),
    ),
}


def flagged(rows: Sequence[Signals]) -> dict[str, Any]:
    """Flagged questions per variant, with the threshold from the other half; empty with one half."""
    halves = [[each for each in rows if each.half == half] for half in (0, 1)]
    if not all(any(each.abstains for each in half) and any(not each.abstains for each in half) for half in halves):
        return {}
    told = {}
    for name, signals in VARIANTS.items():
        found = [_flag_rates(signals, *pair) for pair in (halves, halves[::-1])]
        told[name] = {
            "abstaining_flagged": sum(each[0] for each in found),
            "abstaining": sum(each.abstains for each in rows),
            "answerable_flagged": sum(each[1] for each in found),
            "answerable": sum(not each.abstains for each in rows),
            "by_half": found,
        }
    return told


def _flag_rates(
    signals: Sequence[_Signal], chosen_on: Sequence[Signals], judged_on: Sequence[Signals]
) -> tuple[int, int]:
    """Shares of unanswerable and of other questions of a half that are flagged."""
    scales = [_scaled(signal, chosen_on) for signal in signals]

    def score(each: Signals) -> float:
        return sum(scale(each) for scale in scales)

    others = sorted((score(each) for each in chosen_on if not each.abstains), reverse=True)
    line = others[int(FALSELY * len(others))]
    over = [each.abstains for each in judged_on if score(each) > line]
    return sum(over), len(over) - sum(over)


def _scaled(signal: _Signal, rows: Sequence[Signals]) -> _Signal:
    values = [signal(each) for each in rows]
    mean, scatter = statistics.fmean(values), statistics.pstdev(values) or 1.0
    return lambda each: (signal(each) - mean) / scatter
