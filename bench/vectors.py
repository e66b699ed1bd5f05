"""The vector index beside brute force (paper §4.2), on vectors of real texts: time, and recall@10 at every selectivity.

Texts are the turns of LongMemEval's file and the statements in them, in its order; queries are its questions. A graph
with the engine's parameters and a plain list are made of the same vectors; filters leave random texts, each share of
them as many as it says. What a filtered search does there, graph or scan, is the engine's choice.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec
import numpy as np

from bench._baselines import embedded
from bench._report import p50, p95, parser, report
from bench.longmemeval import Record
from worlddb.projections.indexes import vector_base
from worlddb.projections.indexes.fields import Marker
from worlddb.projections.indexes.vector_base import Base
from worlddb.projections.indexes.vector_rows import VectorRow, expanded, extended
from worlddb.reconciler.statements import statements
from worlddb.tools.importers import files

SIZES: Final = (10_000, 100_000)
SELECTIVITIES: Final = (1.0, 0.5, 0.2, 0.1, 0.01, 0.001, 0.0001)
K: Final = 10


def main() -> None:
    arguments = _arguments()
    records = msgspec.json.decode(files.whole(arguments.file), type=list[Record])
    result = {"sizes": {str(size): measure(records, size, arguments.seed) for size in arguments.sizes}}
    rows = []
    for size, told in result["sizes"].items():
        rows.append((size, "brute force", told["brute"]["p50_ms"], told["brute"]["p95_ms"], 1.0))
        rows.append((size, "graph", *(told["graph"][key] for key in ("p50_ms", "p95_ms", "recall_at_10"))))
        for share, found in told["by_selectivity"].items():
            rows.append((size, f"graph, of {share}", found["p50_ms"], found["p95_ms"], found["recall_at_10"]))
    notes = tuple(
        f"{size} vectors: the graph was made in {told['build_s']} s." for size, told in result["sizes"].items()
    )
    report(arguments, "vectors", result, ("vectors", "search", "p50 ms", "p95 ms", "recall@10"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="LongMemEval's JSON, compressed or not")
    arguments.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="how many vectors")
    return arguments.parse_args()


def measure(records: Sequence[Record], size: int, seed: int) -> dict[str, Any]:
    """A graph and a list of so many vectors, asked the same."""
    texts = list(islice(_texts(records), size))
    given = embedded(texts, query=False).astype("<f2")
    rows, matrix = expanded([VectorRow(node, 1, 1, row.tobytes()) for node, row in enumerate(given, 1)], given.shape[1])
    queries = [extended(row) for row in embedded([record.question for record in records], query=True)]
    draw = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        brute = _base(Path(folder) / "brute", rows, matrix, graph=False)
        began = perf_counter()
        graph = _base(Path(folder) / "graph", rows, matrix, graph=True)
        build_s = perf_counter() - began
        by_selectivity = {}
        for share in SELECTIVITIES:
            chosen = np.sort(draw.choice(len(rows), size=max(1, round(len(rows) * share)), replace=False))
            by_selectivity[f"{share:g}"] = _compared(graph, matrix, queries, chosen)
        return {
            "n": len(rows),
            "build_s": round(build_s, 1),
            "brute": _compared(brute, matrix, queries, None),
            "graph": _compared(graph, matrix, queries, None),
            "by_selectivity": by_selectivity,
        }


def _texts(records: Sequence[Record]) -> Iterator[str]:
    """What was said, each text once."""
    seen: set[str] = set()
    for record in records:
        for session in record.haystack_sessions:
            for turn in session:
                for text in (turn.content, *statements(turn.content)):
                    if text and text not in seen:
                        seen.add(text)
                        yield text


def _base(folder: Path, rows: Any, matrix: Any, *, graph: bool) -> Base:
    vector_base.write(folder, Marker(b"bench", 1, b""), rows, matrix, graph=graph)
    made = vector_base.load(folder)
    assert made is not None, "it was written just now"
    return made


def _compared(base: Base, matrix: Any, queries: Sequence[Any], chosen: Any) -> dict[str, float]:
    """Time of each query, and how many of the exact ten nearest were found."""
    places = np.arange(len(matrix)) if chosen is None else chosen
    taken, found, wanted = [], 0, 0
    for query in queries:
        began = perf_counter()
        hits = base.search(query, K, chosen)
        taken.append(1000 * (perf_counter() - began))
        exact = np.sort(matrix[places] @ query)[::-1][:K]
        # A text as near as the tenth, to what 16-bit floats hold, is as good.
        found += sum(hit.score >= exact[-1] - 1e-3 for hit in hits)
        wanted += len(exact)
    return {
        "p50_ms": round(p50(taken), 3),
        "p95_ms": round(p95(taken), 3),
        "recall_at_10": round(found / wanted, 4),
    }


if __name__ == "__main__":
    main()
