"""Rerankers of the extras ``embed`` and ``rerank``: their gain over the default recall, and their cost.

Questions of LoCoMo, BEAM and LongMemEval are asked where they belong, and the best of the default recall (--of) are
reranked by late interaction, with --cross by a cross-encoder, or with --cull by both: half of the one, then the other.
Their scores are added to the hit's own. Recall@k is the share of the evidence among the first k. Both are given by
halves, and the difference with its 95 % interval over the questions. Late interaction caches the texts that it has
read, so the processor's time is that of the questions in their order.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from statistics import fmean
from time import process_time
from typing import Any, Final

import worlddb
from bench._posed import ELSEWHERE, add_files, pose_questions
from bench._report import ended, p50, p95, parser, positive, report
from bench._retrieval import interval, recall_share
from worlddb import CrossEncoderReranker, MiniLMReranker, Reranker

KS: Final = (1, 5, 10)


def main() -> None:
    arguments = _arguments()
    result = measure(arguments)
    rows = [
        (source, half, told["n"], k, told[f"default@{k}"], told[f"reranked@{k}"], _interval_text(told[f"gain@{k}_95"]))
        for source, halves in result["sources"].items()
        for half, told in halves.items()
        for k in KS
    ]
    notes = [
        f"{source}: {told['p50_ms']:.0f} ms of the processor for a question (p50), {told['p95_ms']:.0f} (p95)."
        for source, told in result["time"].items()
    ]
    report(
        arguments, "reranking", result, ("asked", "half", "n", "k", "default", "reranked", "gain, 95 %"), rows, notes
    )


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    add_files(arguments)
    arguments.add_argument("--of", type=positive, default=20, help="the number of hits to rerank (default: 20)")
    arguments.add_argument("--cross", action="store_true", help="by the cross-encoder of the extra rerank")
    arguments.add_argument(
        "--cull", type=positive, help="by late interaction, and the N best of it by the cross-encoder"
    )
    arguments.add_argument("--every", type=positive, default=1, help="only every Nth question")
    return arguments.parse_args()


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Ask every question that has evidence, and rerank its hits."""
    rerankers = _rerankers(arguments)
    for reranker in rerankers:
        reranker("loaded", ["before it is measured"])
    shares: defaultdict[tuple[str, str], list[tuple[list[float], list[float]]]] = defaultdict(list)
    times_ms: defaultdict[str, list[float]] = defaultdict(list)
    belonging = (each for each in pose_questions(arguments) if each.kind != ELSEWHERE and each.evidence)
    for number, each in enumerate(belonging):
        if number % arguments.every:
            continue
        found = each.view.recall(each.text, k=arguments.of, **each.where)
        began = process_time()
        again = worlddb.rerank(found, each.text, rerankers, add=True, cull=arguments.cull or arguments.of)
        times_ms[each.source].append(1000 * (process_time() - began))
        ids, others = ([str(hit.source.get("id")) for hit in some.hits] for some in (found, again))
        gained = [recall_share(ids, each.evidence, k) for k in KS], [recall_share(others, each.evidence, k) for k in KS]
        shares[each.source, str(each.half)].append(gained)
        shares[f"{each.source}, {each.about}", "both"].append(gained)
    if not shares:
        raise worlddb.InputError(
            "No question with evidence was read", "Give --locomo, --beam, --longmemeval, or several"
        )
    sources: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for (source, half), told in shares.items():
        sources[source][half] = _summed(told, arguments.seed)
    return {
        "sources": dict(sources),
        "time": {source: {"p50_ms": round(p50(ms), 1), "p95_ms": round(p95(ms), 1)} for source, ms in times_ms.items()},
        "cross": arguments.cross,
        "of": arguments.of,
        "cull": arguments.cull,
        "every": arguments.every,
    }


def _rerankers(arguments: argparse.Namespace) -> list[Reranker]:
    """Those to ask, one after the other."""
    if arguments.cross:
        return [CrossEncoderReranker(threads=1)]
    late = MiniLMReranker(threads=1)
    if not arguments.cull:
        return [late]
    return [lambda question, texts: [score / 2 for score in late(question, texts)], CrossEncoderReranker(threads=1)]


def _summed(told: list[tuple[list[float], list[float]]], seed: int) -> dict[str, Any]:
    summed: dict[str, Any] = {"n": len(told)}
    for place, k in enumerate(KS):
        before, after = ([100 * each[which][place] for each in told] for which in (0, 1))
        gains = [late - early for early, late in zip(before, after, strict=True)]
        summed[f"default@{k}"], summed[f"reranked@{k}"] = round(fmean(before), 1), round(fmean(after), 1)
        summed[f"gain@{k}_95"] = [round(end, 1) for end in interval(gains, seed)]
    return summed


def _interval_text(spread: list[float]) -> str:
    return f"{spread[0]:+.1f} to {spread[1]:+.1f}"


if __name__ == "__main__":
    ended(main)
