"""Rerankers of the extras ``embed`` and ``rerank``: their gain over the default recall, and their cost.

Questions of LoCoMo, BEAM and LongMemEval are asked where they belong, and the best hits of the default recall are
reranked by late interaction, by the cross-encoder, and by both: half of the one, then the other for the best of it.
Their scores are added to a hit's own. ``recall@k`` is the share of the evidence among the first k, ``any@k`` the share
of questions with some of it there. All ways are given by halves, with their gain and its 95 % interval over the
questions. Late interaction caches the texts that it has read for both ways that use it: to time one, leave the other
out.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from time import process_time
from typing import Any, Final, NamedTuple

import worlddb
from bench.measuring.report import ended, p50, p95, parser, positive, report
from bench.public_data.posed import ELSEWHERE, PosedQuestion, add_files, pose_questions
from bench.public_data.retrieval import interval, recall_share
from worlddb import CrossEncoderReranker, MiniLMReranker, Recall, Reranker

KS: Final = (1, 5, 10)
METRICS: Final = ("recall", "any")
DEFAULT: Final = "default"


class _Way(NamedTuple):
    """Rerankers that are asked one after the other: the first for ``of`` hits, each other one for the best ``cull``."""

    rerankers: Sequence[Reranker]
    of: int
    cull: int


def main() -> None:
    arguments = _arguments()
    result = measure(arguments)
    rows = [
        (source, half, told["n"], way, *(_figure_text(figures, f"{metric}@{k}") for metric in METRICS for k in KS))
        for source, halves in result["sources"].items()
        for half, told in halves.items()
        for way, figures in told["ways"].items()
    ]
    notes = [
        f"{source}, {way}: {told['p50_ms']:.0f} ms of the processor for a question (p50), {told['p95_ms']:.0f} (p95)."
        for source, ways in result["time"].items()
        for way, told in ways.items()
    ]
    columns = ("asked", "half", "n", "way", *(f"{metric}@{k}" for metric in METRICS for k in KS))
    report(arguments, "reranking", result, columns, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    add_files(arguments)
    arguments.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="how to rerank (default: all)")
    arguments.add_argument("--late", type=positive, default=20, help="hits for late interaction alone (default: 20)")
    arguments.add_argument("--cross", type=positive, default=12, help="hits for the cross-encoder (default: 12)")
    arguments.add_argument("--both", type=positive, default=60, help="hits for both together (default: 60)")
    arguments.add_argument("--every", type=positive, default=1, help="only every Nth question")
    return arguments.parse_args()


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Ask every question that has evidence, and rerank its hits in each way."""
    belonging = (each for each in pose_questions(arguments) if each.kind != ELSEWHERE and each.evidence)
    late, cross = MiniLMReranker(threads=1), CrossEncoderReranker(threads=1)
    ways = {name: WAYS[name](arguments, late, cross) for name in arguments.ways}
    for reranker in (each for way in ways.values() for each in way.rerankers):
        reranker("loaded", ["before it is measured"])
    found: defaultdict[tuple[str, str], list[dict[str, dict[str, float]]]] = defaultdict(list)
    times_ms: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number, each in enumerate(belonging):
        if number % arguments.every:
            continue
        figures = {DEFAULT: _figures(each.view.recall(each.text, k=KS[-1], **each.where), each)}
        for name, way in ways.items():
            recalled = each.view.recall(each.text, k=way.of, **each.where)
            began = process_time()
            again = worlddb.rerank(recalled, each.text, way.rerankers, add=True, cull=way.cull)
            times_ms[each.source][name].append(1000 * (process_time() - began))
            figures[name] = _figures(again, each)
        found[each.source, str(each.half)].append(figures)
        found[f"{each.source}, {each.about}", "both"].append(figures)
    if not found:
        raise worlddb.InputError("No question with evidence was read", "Give files with more questions, or --every 1")
    sources: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for (source, half), told in found.items():
        sources[source][half] = {"n": len(told), "ways": _summed(told, arguments.seed)}
    return {
        "sources": dict(sources),
        "time": {
            source: {name: {"p50_ms": round(p50(ms), 1), "p95_ms": round(p95(ms), 1)} for name, ms in by_way.items()}
            for source, by_way in times_ms.items()
        },
        "hits": {name: way.of for name, way in ways.items()},
        "every": arguments.every,
    }


def _late(arguments: argparse.Namespace, late: Reranker, cross: Reranker) -> _Way:
    return _Way([late], arguments.late, arguments.late)


def _cross(arguments: argparse.Namespace, late: Reranker, cross: Reranker) -> _Way:
    return _Way([cross], arguments.cross, arguments.cross)


def _both(arguments: argparse.Namespace, late: Reranker, cross: Reranker) -> _Way:
    def half_of_late(question: str, texts: Sequence[str], /) -> list[float]:
        return [score / 2 for score in late(question, texts)]

    return _Way([half_of_late, cross], arguments.both, arguments.cross)


WAYS: Final[Mapping[str, Callable[[argparse.Namespace, Reranker, Reranker], _Way]]] = {
    "late": _late,
    "cross": _cross,
    "both": _both,
}


def _figures(found: Recall, asked: PosedQuestion) -> dict[str, float]:
    """In percent, of one question."""
    ids = [str(hit.source.get("id")) for hit in found.hits]
    shares = {k: recall_share(ids, asked.evidence, k) for k in KS}
    return {f"recall@{k}": 100 * share for k, share in shares.items()} | {
        f"any@{k}": 100.0 * (share > 0) for k, share in shares.items()
    }


def _summed(told: Sequence[Mapping[str, Mapping[str, float]]], seed: int) -> dict[str, dict[str, Any]]:
    """The mean of each figure by ways, and beside it the interval of its gain over the default."""
    summed: dict[str, dict[str, Any]] = {}
    for way in told[0]:
        summed[way] = {}
        for figure in told[0][way]:
            summed[way][figure] = round(fmean(each[way][figure] for each in told), 1)
            if way != DEFAULT:
                gains = [each[way][figure] - each[DEFAULT][figure] for each in told]
                summed[way][f"{figure}_gain_95"] = [round(end, 1) for end in interval(gains, seed)]
    return summed


def _figure_text(figures: Mapping[str, Any], figure: str) -> str:
    spread = figures.get(f"{figure}_gain_95")
    return f"{figures[figure]:.1f}" + (f" ({spread[0]:+.1f} to {spread[1]:+.1f})" if spread else "")


if __name__ == "__main__":
    ended(main)
