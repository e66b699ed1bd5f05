"""Diff of two stores with a shared history, where some worlds of the copy were revised, at several sizes.

The stores hold the mix of bench/made_up/workload.py: one of `--nodes` nodes, and one of `--small` nodes, the beginning
of the larger. Each copy gets `--changes` revisions of random nodes, one a commit, of the same nodes in both stores, so
that the depth is equal and only the size differs. The time is that of `worlddb.diff` on the two directories, opening
included; the count of Merkle trie nodes is the one that it reports. `bytes_ms` is the time for comparing two equal
stores byte by byte, in proportion to their size.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import worlddb
from bench.made_up.workload import CONTENT_WORDS, load, open_seeded, words
from bench.measuring.report import p50, p95, parser, positive, report, rounded
from worlddb.log.model.errors import RefusedError

_COLUMNS = (
    "nodes",
    "ms, p50",
    "p95",
    "processor",
    "worlds visited",
    "trie nodes",
    "a change",
    "equal, byte by byte: ms",
)
_KEYS = ("nodes", "ms", "p95_ms", "cpu_ms", "worlds_visited", "trie_nodes_visited", "trie_nodes_per_change", "bytes_ms")


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        small = 10_000 if arguments.nodes > 10_000 else arguments.nodes // 5
        few = min(small if arguments.small is None else arguments.small, arguments.nodes)
        large = _pair(Path(folder) / "large", arguments, arguments.nodes, _shuffle(few, arguments.seed))
        little = _pair(Path(folder) / "small", arguments, few, large.changed)
        small, result = measure(little, large, arguments)
    rows = [[found[key] for key in _KEYS] for found in (small, result)]
    whole = {**result, "ratio": rounded(result["ms"] / small["ms"]), "small": small}
    notes = (
        f"As many edges as nodes, {arguments.changes:,} of the nodes revised in the copy; {arguments.repeat} runs. The"
        f" larger store takes {whole['ratio']:.2f} times as long as the smaller one.",
    )
    report(arguments, "diff", whole, _COLUMNS, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=positive, default=10_000)
    arguments.add_argument(
        "--small",
        type=positive,
        help="the size to compare with (default: 10,000, or a fifth of a smaller store)",
    )
    arguments.add_argument("--edges", type=int, help="edges of the larger store (default: as many as nodes)")
    arguments.add_argument("--changes", type=int, default=10)
    arguments.add_argument("--repeat", type=positive, default=15)
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


class Pair(NamedTuple):
    """A store and its changed copy, in one folder."""

    folder: Path
    nodes: int
    edges: int
    changed: list[int]
    bytes_ms: float


def _shuffle(count: int, seed: int) -> list[int]:
    return random.Random(seed).sample(range(count), count)


def _pair(folder: Path, arguments: argparse.Namespace, nodes: int, wanted: list[int]) -> Pair:
    """Make a store and its copy, and change the first of the wanted nodes that can be."""
    folder.mkdir()
    edges = nodes if arguments.edges is None else arguments.edges * nodes // arguments.nodes
    db, loader = load(folder / "a", arguments.seed, nodes, edges, 10_000)
    db.close()
    shutil.copytree(folder / "a", folder / "b", ignore=shutil.ignore_patterns("lock.mdb"))
    bytes_ms = rounded(1000 * _time_diff(folder)[0])
    draw = random.Random(arguments.seed)
    changed: list[int] = []
    with open_seeded(folder / "b", arguments.seed + 1) as db:
        for position in wanted:
            if len(changed) == arguments.changes:
                break
            # Superseded nodes take no further versions; another one is changed in their place.
            if db.revise(loader.ref(position), content=words(draw, CONTENT_WORDS)):
                changed.append(position)
    if len(changed) < arguments.changes:
        raise RefusedError("Too few nodes can be revised", "Ask for fewer changes")
    return Pair(folder, nodes, edges, changed, bytes_ms)


def measure(small: Pair, large: Pair, arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Compare both by turns, so that what else the machine does falls on both."""
    runs: list[tuple[list[float], list[float]]] = [([], []), ([], [])]
    found = [_time_diff(pair.folder)[1] for pair in (small, large)]
    for _ in range(arguments.repeat):
        for (taken, used), pair in zip(runs, (small, large), strict=True):
            began = process_time()
            taken.append(1000 * _time_diff(pair.folder)[0])
            used.append(1000 * (process_time() - began))
    little, whole = (_result(*each, arguments.changes) for each in zip((small, large), found, runs, strict=True))
    return little, whole


def _result(
    pair: Pair, found: worlddb.Difference, runs: tuple[list[float], list[float]], changes: int
) -> dict[str, Any]:
    assert sum(change.change == "revised" for change in found.worlds) == changes, "every change was found"
    return {
        "nodes": pair.nodes,
        "edges": pair.edges,
        "changes": changes,
        "ms": rounded(p50(runs[0])),
        "p95_ms": rounded(p95(runs[0])),
        "cpu_ms": rounded(p50(runs[1])),
        "worlds_visited": found.worlds_visited,
        "trie_nodes_visited": found.trie_nodes_visited,
        "trie_nodes_per_change": rounded(found.trie_nodes_visited / changes, 1),
        "bytes_ms": pair.bytes_ms,
    }


def _time_diff(folder: Path) -> tuple[float, worlddb.Difference]:
    began = perf_counter()
    found = worlddb.diff(folder / "a", folder / "b")
    return perf_counter() - began, found


if __name__ == "__main__":
    main()
