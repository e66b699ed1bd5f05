"""Confidence of recall: fit its coefficients on one half of the conversations, and judge them on the other.

Questions of LoCoMo, BEAM and LongMemEval are asked in their own conversation, and again in the next one, where they
have no answer. A question is answerable unless its benchmark says otherwise: LoCoMo's adversarial questions ask about
one speaker what the other said; those of BEAM and LongMemEval abstain. A hit is right if it is evidence, and an answer
is right if one of its ten hits is. Two logistic regressions are fitted on recall's own evidence (``--fit`` prints them
in the form of query/recall/scoring.py), on the conversations of half 0: the first two of five of LoCoMo, the others by
a hash of their names. In each benchmark the answerable questions weigh as much as all others together, and the two
other kinds weigh the same. All printed figures are of half 1, with the product's coefficients.

- auc: the share of pairs in which an answerable question has more confidence than an unanswerable one;
- flagged@x: the share of unanswerable questions with less confidence than all but x % of the answerable ones;
- weak: the share of each kind whose answer the product calls weak;
- curve: for each minimum confidence, the share of answers (coverage), and the share of these that are right
  (precision); the same for hits, by ``min_confidence``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from bench.measuring.report import ended, parser, report
from bench.public_data.posed import ANSWERABLE, KINDS, PosedQuestion, add_files, pose_questions
from worlddb import LANES, StaticEmbedder
from worlddb.query.recall import scoring
from worlddb.reconciler.embedding import multilingual

K: Final = 10
FALSELY: Final = (1, 5, 10)
"""Percent of what can be answered that may be flagged."""
LEVELS: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MODEL: Final = StaticEmbedder().model
MODES: Final = {MODEL: LANES, scoring.WORDS_ALONE: ("text", "entity")}
OTHER_MODES: Final = {"multilingual": {multilingual.MODEL: LANES}}
"""Words alone are fitted beside the default model."""
_RIDGE: Final = 1e-3
_STEPS: Final = 50

Numbers = npt.NDArray[np.float64]


class AskedQuestion(NamedTuple):
    """A question as asked, and the evidence of recall."""

    source: str
    half: int
    kind: str
    mode: str
    hits: list[tuple[float, ...]]
    gold: list[bool]
    answer: tuple[float, ...]
    hit_confidence: list[float]
    confidence: float
    weak: bool

    @property
    def is_right(self) -> bool:
        return any(self.gold)


def main() -> None:
    arguments = _arguments()
    modes = modes_of(arguments)
    asked = list(ask_all(arguments))
    fitted = {
        mode or "words alone": fit([each for each in asked if each.mode == mode and not each.half]) for mode in modes
    }
    judged = [each for each in asked if each.half]
    result = {
        "fitted": {mode: {"hit": list(found.hit), "answer": list(found.answer)} for mode, found in fitted.items()},
        **{mode or "words alone": summarise([each for each in judged if each.mode == mode]) for mode in modes},
    }
    rows = [
        (mode or "words alone", source, kind, *(figures[key] for key in ("n", "auc", *_FLAGGED, "weak")))
        for mode in modes
        for source, kinds in result[mode or "words alone"]["sources"].items()
        for kind, figures in kinds.items()
    ]
    notes = [
        f"{mode or 'words alone'}, {what} of at least {level:g}: coverage {figures['coverage']:.1%},"
        f" precision {figures['precision']:.1%}, mean confidence {figures['mean']:.1%}"
        for mode in modes
        for what in ("answers", "hits")
        for level, figures in zip(LEVELS, result[mode or "words alone"][what], strict=False)
    ]
    if arguments.fit:
        notes += [f"Fitted to half 0, {mode}: Fitted({found.hit}, {found.answer})" for mode, found in fitted.items()]
    heads = ("compared", "questions", "kind", "n", "auc", *_FLAGGED, "weak")
    report(arguments, "confidence", result, heads, rows, notes)


_FLAGGED: Final = tuple(f"flagged@{falsely}" for falsely in FALSELY)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    add_files(arguments)
    arguments.add_argument("--fit", action="store_true", help="also print the coefficients fitted to half 0")
    return arguments.parse_args()


# -- asking


def ask_all(arguments: argparse.Namespace) -> Iterator[AskedQuestion]:
    """Every question of the files that were named, asked where it belongs and elsewhere, in both modes."""
    modes = modes_of(arguments)
    for each in pose_questions(arguments):
        yield from ask(each, modes)


def modes_of(arguments: argparse.Namespace) -> Mapping[str, Sequence[str]]:
    """The lanes by the model whose coefficients judge them."""
    return OTHER_MODES.get(getattr(arguments, "embedder", ""), MODES)


def ask(posed: PosedQuestion, modes: Mapping[str, Sequence[str]]) -> Iterator[AskedQuestion]:
    """Ask a question in each mode, and keep the evidence that recall used."""
    for mode, lanes in modes.items():
        kept: list[tuple[float, ...]] = []

        def likelihood(weights: Sequence[float], evidence: tuple[float, ...], kept: list[Any] = kept) -> float:
            kept.append(evidence)
            return _likelihood(weights, evidence)

        with patch.object(scoring, "likelihood", likelihood):
            found = posed.view.recall(posed.text, k=K, lanes=lanes, **posed.where)
        if found.confidence is not None and len(kept) == len(found.hits) + 1:
            yield AskedQuestion(
                posed.source,
                posed.half,
                posed.kind,
                mode,
                kept[:-1],
                [posed.kind == ANSWERABLE and posed.is_gold(hit) for hit in found.hits],
                kept[-1],
                [hit.confidence or 0.0 for hit in found.hits],
                found.confidence,
                found.weak,
            )


_likelihood = scoring.likelihood


# -- fitting and judging


def fit(asked: Sequence[AskedQuestion]) -> scoring.Fitted:
    """The coefficients of hits and of answers, by some questions."""
    if not asked:
        return scoring.Fitted((), ())
    weights = shares(asked)
    hits = [
        (evidence, gold, weight)
        for each, weight in zip(asked, weights, strict=True)
        for evidence, gold in zip(each.hits, each.gold, strict=True)
    ]
    return scoring.Fitted(
        regression([one[0] for one in hits], [one[1] for one in hits], [one[2] for one in hits]),
        regression([each.answer for each in asked], [each.is_right for each in asked], weights),
    )


def shares(asked: Sequence[AskedQuestion]) -> list[float]:
    """Weights: answerable questions get half of a benchmark, each other kind an equal part of the rest."""
    counts: dict[tuple[str, str], int] = {}
    for each in asked:
        counts[each.source, each.kind] = counts.get((each.source, each.kind), 0) + 1
    return [(2.0 if each.kind == ANSWERABLE else 1.0) / counts[each.source, each.kind] for each in asked]


def regression(rows: Sequence[Sequence[float]], right: Sequence[bool], weights: Sequence[float]) -> tuple[float, ...]:
    """Fit a logistic regression by Newton's method with a small ridge: constant, then column weights."""
    given, truth, share = np.asarray(rows, float), np.asarray(right, float), np.asarray(weights, float)
    share = share * (len(share) / share.sum())
    mean, spread = given.mean(0), given.std(0) + 1e-9
    columns = np.c_[np.ones(len(given)), (given - mean) / spread]
    found = np.zeros(columns.shape[1])
    ridge = _RIDGE * len(given) * np.eye(len(found))
    ridge[0, 0] = 0.0
    for _ in range(_STEPS):
        likely = _logistic(columns @ found)
        slope = columns.T @ (share * (truth - likely)) - ridge @ found
        bend = (columns.T * (share * likely * (1 - likely))) @ columns + ridge
        step = np.linalg.solve(bend, slope)
        found += step
        if np.abs(step).max() < 1e-9:
            break
    slopes = found[1:] / spread
    return tuple(round(float(each), 2) for each in (found[0] - slopes @ mean, *slopes))


def _logistic(values: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-np.clip(values, -30, 30)))


def auc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """Share of pairs whose first is higher, ties as half (Mann and Whitney 1947)."""
    if not len(higher) or not len(lower):
        return None
    one, other = np.asarray(higher)[:, None], np.sort(np.asarray(lower))
    below = np.searchsorted(other, one, "left").sum() + np.searchsorted(other, one, "right").sum()
    return round(float(below) / (2 * one.size * other.size), 3)


def summarise(asked: Sequence[AskedQuestion]) -> dict[str, Any]:
    """The figures that the module's docstring lists."""
    sources: dict[str, dict[str, dict[str, Any]]] = {}
    for source in dict.fromkeys(each.source for each in asked):
        mine = {kind: [each for each in asked if each.source == source and each.kind == kind] for kind in KINDS}
        can = [each.confidence for each in mine[ANSWERABLE]]
        sources[source] = {kind: _kind_summary(can, found, kind) for kind, found in mine.items() if found}
    if not asked:
        return {"sources": {}, "answers": [], "hits": []}
    weights = shares(asked)
    every = [(each.confidence, each.is_right, weight) for each, weight in zip(asked, weights, strict=True)]
    hits = [
        (confidence, gold, weight)
        for each, weight in zip(asked, weights, strict=True)
        for confidence, gold in zip(each.hit_confidence, each.gold, strict=True)
    ]
    return {"sources": sources, "answers": curve(every), "hits": curve(hits)}


def _kind_summary(can: Sequence[float], found: Sequence[AskedQuestion], kind: str) -> dict[str, Any]:
    told: dict[str, Any] = {"n": len(found), "weak": round(sum(each.weak for each in found) / len(found), 3)}
    given = [each.confidence for each in found]
    if kind == ANSWERABLE:
        # Of what can be answered: whether the hits have the answer.
        right = [each.confidence for each in found if each.is_right]
        told["auc"] = auc(right, [each.confidence for each in found if not each.is_right])
        return told | dict(zip(_FLAGGED, (round(each / 100, 2) for each in FALSELY), strict=True))
    told["auc"] = auc(can, given)
    for name, falsely in zip(_FLAGGED, FALSELY, strict=True):
        level = np.quantile(can, falsely / 100) if can else 0.0
        told[name] = round(float(np.mean(np.asarray(given) < level)), 3)
    return told


def curve(judged: Sequence[tuple[float, bool, float]]) -> list[dict[str, float]]:
    """Coverage, precision and the mean confidence from each level on."""
    confidence, right, weight = (np.asarray(column, float) for column in zip(*judged, strict=True))
    found = []
    for level in LEVELS:
        kept = confidence >= level
        share = weight[kept].sum()
        told = share / weight.sum(), (weight * right)[kept].sum() / max(share, 1e-12)
        mean = (weight * confidence)[kept].sum() / max(share, 1e-12)
        found.append(
            {
                "level": level,
                "coverage": round(float(told[0]), 4),
                "precision": round(float(told[1]), 4),
                "mean": round(float(mean), 4),
            }
        )
    return found


if __name__ == "__main__":
    ended(main)
