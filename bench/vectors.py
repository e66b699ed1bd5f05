"""The vector index and brute force (paper §4.2) on vectors of real texts: time and recall@10 by selectivity.

Texts are the turns of LongMemEval's file and the statements in them, in its order; queries are its questions. A graph
with the engine's parameters and a plain list are made of the same vectors. Filters leave a share of them: texts drawn
at random, or texts that lie together, as those of one world do. Of each is told what the engine does, and what either
way would do: the graph, searched the wider the fewer pass, and a scan of all that pass.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import numpy as np

from bench.measuring.report import ended, p50, p95, parser, positive, report
from bench.public_data.baselines import embed_texts
from bench.public_data.haystacks import Record, load
from worlddb.projections.indexes import vector_base
from worlddb.projections.indexes.analysis import extract_statements
from worlddb.projections.indexes.fields import Marker
from worlddb.projections.indexes.vector_base import VectorBase
from worlddb.projections.indexes.vector_rows import VectorRow, expand_rows, query_row

VECTORS: Final = (10_000, 100_000)
SHARES: Final = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001)
K: Final = 10
SAME: Final = 1e-5
"""A text that is as near as the tenth, to what sums of 32-bit floats differ by, is as good."""
LEAST_BY_GRAPH: Final = 0.01
"""Of smaller shares the graph is not asked: it would keep nearly all of itself in its list of candidates."""
KINDS: Final = ("random", "together")


def main() -> None:
    arguments = _arguments()
    records = load(arguments.file)
    texts = list(islice(_texts(records), max(arguments.vectors)))
    given = embed_texts(texts, query=False).astype("<f2")
    queries = [query_row(row) for row in embed_texts([record.question for record in records], query=True)]
    draw = np.random.default_rng(arguments.seed)
    result = {"sizes": {str(size): measure(given[:size], queries, draw) for size in arguments.vectors}}
    rows = [row for told in result["sizes"].values() for row in _rows(told)]
    notes = [
        f"{told['n']:,} vectors: the graph was made in {told['build_s']} s, {told['build_cpu_s']} s of the processor."
        for told in result["sizes"].values()
    ]
    heads = ("vectors", "filter", "engine", "p50 ms", "p95 ms", "recall", "graph ms", "recall", "scan ms", "cpu ms")
    report(arguments, "vectors", result, heads, rows, (*notes, "The last column is the engine's processor time, p50."))


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="LongMemEval's JSON, compressed or not")
    arguments.add_argument(
        "--vectors", type=positive, nargs="+", default=VECTORS, help="how many, default: 10,000 100,000"
    )
    return arguments.parse_args()


def _rows(told: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The table for people: without a filter, and with each."""
    graph, brute = told["graph"], told["brute"]
    for name, found in (("brute force", brute), ("graph", graph)):
        yield told["n"], "none", name, *_figures(found), "", "", "", found["cpu_p50_ms"]
    for share, by_kind in told["by_selectivity"].items():
        for kind, found in by_kind.items():
            chosen, by_graph = found[found["chosen"]], found.get("graph", {})
            other = by_graph.get("p50_ms", ""), by_graph.get("recall_at_10", "")
            told_of = (*_figures(chosen), *other, found["scan"]["p50_ms"], chosen["cpu_p50_ms"])
            yield told["n"], f"{share} {kind}", found["chosen"], *told_of


def _figures(found: dict[str, float]) -> tuple[float, float, float]:
    return found["p50_ms"], found["p95_ms"], found["recall_at_10"]


def measure(given: Any, queries: Sequence[Any], draw: np.random.Generator) -> dict[str, Any]:
    """Ask a graph and a flat list of the same vectors the same queries."""
    numbers, matrix = expand_rows(
        [VectorRow(node, 1, 1, row.tobytes()) for node, row in enumerate(given, 1)], given.shape[1]
    )
    # What both hold, and what is exact to compare with, are 16-bit floats.
    scores = np.stack(queries) @ matrix.astype("<f2").astype(np.float32).T
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        brute = _base(Path(folder) / "brute", numbers, matrix, graph=False)
        began, ran = perf_counter(), process_time()
        graph = _base(Path(folder) / "graph", numbers, matrix, graph=True)
        build_s, build_cpu_s = perf_counter() - began, process_time() - ran
        by_selectivity = {}
        for share in SHARES:
            count = max(1, round(len(matrix) * share))
            first = int(draw.integers(len(matrix) - count + 1))
            filters = (np.sort(draw.choice(len(matrix), count, replace=False)), np.arange(first, first + count))
            by_selectivity[f"{share:g}"] = {
                kind: _measure_filters(graph, queries, scores, chosen)
                for kind, chosen in zip(KINDS, filters, strict=True)
            }
        return {
            "n": len(matrix),
            "build_s": round(build_s, 1),
            "build_cpu_s": round(build_cpu_s, 1),
            "brute": _measure_queries(brute, queries, scores, None),
            "graph": _measure_queries(graph, queries, scores, None),
            "by_selectivity": by_selectivity,
        }


def _texts(records: Sequence[Record]) -> Iterator[str]:
    """What was said, each text once."""
    seen: set[str] = set()
    for record in records:
        for session in record.sessions:
            for turn in session.turns:
                for text in (turn.content, *extract_statements(turn.content).statements):
                    if text and text not in seen:
                        seen.add(text)
                        yield text


def _base(folder: Path, numbers: Any, matrix: Any, *, graph: bool) -> VectorBase:
    vector_base.write(folder, Marker(b"bench", 1, b""), matrix.shape[1], [(numbers, matrix)], graph=graph)
    made = vector_base.load(folder)
    assert made is not None, "it was written just now"
    return made


def _measure_filters(base: VectorBase, queries: Sequence[Any], scores: Any, chosen: Any) -> dict[str, Any]:
    """Cost and recall of a filter both ways, and the engine's choice."""
    told: dict[str, Any] = {"chosen": "graph" if base.is_for_graph(len(chosen), K) else "scan"}
    told["scan"] = _measure_queries(base, queries, scores, chosen, by_graph=False)
    if len(chosen) >= LEAST_BY_GRAPH * base.count:
        told["graph"] = _measure_queries(base, queries, scores, chosen, by_graph=True)
    return told


def _measure_queries(
    base: VectorBase, queries: Sequence[Any], scores: Any, chosen: Any, by_graph: bool | None = None
) -> dict[str, float]:
    """Time of each query, and its recall of the exact ten nearest."""
    clock, processor, found, wanted = [], [], 0, 0
    for query, near in zip(queries, scores, strict=True):
        began, ran = perf_counter(), process_time()
        hits = base.search(query, K, chosen, by_graph=by_graph)
        processor.append(1000 * (process_time() - ran))
        clock.append(1000 * (perf_counter() - began))
        left = near if chosen is None else near[chosen]
        wanted += (most := min(K, len(left)))
        least = np.partition(left, -most)[-most] - SAME
        # Worlds are numbered from 1, in the order of the rows.
        found += sum(near[hit.node - 1] >= least for hit in hits)
    return {
        "p50_ms": round(p50(clock), 3),
        "p95_ms": round(p95(clock), 3),
        "cpu_p50_ms": round(p50(processor), 3),
        "recall_at_10": round(float(found / wanted), 4),
    }


if __name__ == "__main__":
    ended(main)
