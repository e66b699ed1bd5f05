"""Diff of two stores that share a history: a copy in which some worlds were revised, at several sizes of the store.

The stores hold the mix of bench/_workload.py, `--nodes` and a store of `--small` nodes to compare with; the copy gets
`--changes` revisions of random nodes, each a commit. The time is that of `worlddb.diff` on the two directories, opening
included, and the nodes of the Merkle tries are those that it says it has read. `bytes_ms` is the time in which two
equal stores are compared byte by byte, which costs in proportion to their size.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import worlddb
from bench._report import p50, p95, parser, report, rounded
from bench._workload import CONTENT_WORDS, load, open_seeded, words
from worlddb.log.model.errors import RefusedError

_COLUMNS = ("nodes", "ms, p50", "p95", "worlds visited", "trie nodes", "a change", "equal, byte by byte: ms")
_KEYS = ("nodes", "ms", "p95_ms", "worlds_visited", "trie_nodes_visited", "trie_nodes_per_change", "bytes_ms")


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        small = measure(Path(folder) / "small", arguments, min(arguments.small, arguments.nodes))
        result = measure(Path(folder) / "large", arguments, arguments.nodes)
    rows = [[found[key] for key in _KEYS] for found in (small, result)]
    whole = {**result, "ratio": rounded(result["ms"] / small["ms"]), "small": small}
    notes = (
        f"As many edges as nodes, {arguments.changes:,} of the nodes revised in the copy; {arguments.repeat} runs. The"
        f" larger store takes {whole['ratio']:.2f} times as long as the smaller one.",
    )
    report(arguments, "diff", whole, _COLUMNS, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=int, default=10_000)
    arguments.add_argument("--small", type=int, default=2_000, help="the size to compare with (default: 2,000)")
    arguments.add_argument("--edges", type=int, help="edges of either store (default: as many as nodes)")
    arguments.add_argument("--changes", type=int, default=10)
    arguments.add_argument("--repeat", type=int, default=15)
    arguments.add_argument("--dir", help="where the stores are made (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace, nodes: int) -> dict[str, Any]:
    """Make a store and its changed copy, then compare them."""
    folder.mkdir()
    edges = nodes if arguments.edges is None else arguments.edges
    db, loader = load(folder / "a", arguments.seed, nodes, edges, 10_000)
    db.close()
    shutil.copytree(folder / "a", folder / "b", ignore=shutil.ignore_patterns("lock.mdb"))
    bytes_ms = rounded(1000 * _timed(folder)[0])
    draw = random.Random(arguments.seed)
    with open_seeded(folder / "b", arguments.seed + 1) as db:
        changed = 0
        for position in draw.sample(range(nodes), nodes):
            if changed == arguments.changes:
                break
            # Superseded nodes take no further versions; another one is drawn in their place.
            changed += bool(db.revise(loader.ref(position), content=words(draw, CONTENT_WORDS)))
        if changed < arguments.changes:
            raise RefusedError("Too few nodes can be revised", "Ask for fewer changes")
    runs = [_timed(folder) for _ in range(arguments.repeat)]
    taken = [1000 * seconds for seconds, _ in runs]
    found = runs[0][1]
    assert sum(change.change == "revised" for change in found.worlds) == arguments.changes, "every change was found"
    return {
        "nodes": nodes,
        "edges": edges,
        "changes": arguments.changes,
        "ms": rounded(p50(taken)),
        "p95_ms": rounded(p95(taken)),
        "worlds_visited": found.worlds_visited,
        "trie_nodes_visited": found.trie_nodes_visited,
        "trie_nodes_per_change": rounded(found.trie_nodes_visited / arguments.changes, 1),
        "bytes_ms": bytes_ms,
    }


def _timed(folder: Path) -> tuple[float, worlddb.Difference]:
    began = perf_counter()
    found = worlddb.diff(folder / "a", folder / "b")
    return perf_counter() - began, found


if __name__ == "__main__":
    main()
