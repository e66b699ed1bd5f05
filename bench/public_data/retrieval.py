"""Shared by the retrieval benchmarks: variants compared in one run, metrics and intervals."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from math import log2
from statistics import fmean
from typing import Any, Final

VARIANTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "default": {},
    "text": {"lanes": ("text",)},
    "vector": {"lanes": ("vector",)},
    "entity": {"lanes": ("entity",)},
    "text+vector": {"lanes": ("text", "vector")},
    "rrf": {"fusion": "rrf"},
    "combmax": {"fusion": "combmax"},
}
"""All lanes; BM25; meaning, with statements; entities; words and meaning without them; the paper's fusion of all lanes;
Kumiho's."""

RESAMPLES: Final = 1_000


def recall_any(found: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 if any of the gold is among the first k."""
    return float(any(each in gold for each in found[:k]))


def recall_all(found: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 if all of the gold is among the first k."""
    return float(set(gold) <= set(found[:k]))


def recall_share(found: Sequence[str], gold: Collection[str], k: int) -> float:
    """The share of the gold that is among the first k."""
    return len(set(gold) & set(found[:k])) / len(set(gold))


def ndcg(found: Sequence[str], gold: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain of the first k, every gold item worth the same, as the authors of
    LongMemEval compute it: the second place is worth as much as the first (Järvelin and Kekäläinen 2002, base 2)."""
    gained = sum(_discount(rank) for rank, each in enumerate(found[:k], 1) if each in gold)
    return gained / sum(map(_discount, range(1, min(k, len(set(gold))) + 1)))


def _discount(rank: int) -> float:
    return 1 / max(1.0, log2(rank))


def interval(scores: Sequence[float], seed: int) -> tuple[float, float]:
    """The 95 % interval of the mean, by bootstrap."""
    draw = random.Random(seed)
    means = sorted(fmean(draw.choices(scores, k=len(scores))) for _ in range(RESAMPLES))
    return means[round(0.025 * (RESAMPLES - 1))], means[round(0.975 * (RESAMPLES - 1))]


def summary(rows: Sequence[Mapping[str, float]], seed: int) -> dict[str, Any]:
    """Each metric's mean in percent, with its interval under ``<metric>_95``."""
    told: dict[str, Any] = {"n": len(rows)}
    for metric in rows[0] if rows else ():
        scores = [row[metric] for row in rows]
        told[metric] = round(100 * fmean(scores), 1)
        told[f"{metric}_95"] = [round(100 * end, 1) for end in interval(scores, seed)]
    return told
