"""Diff of two stores that share a history: a copy in which some worlds were revised.

The store holds the mix of bench/_workload.py; the copy gets `--changes` revisions of random nodes, each a commit. The
time is that of `worlddb.diff` on the two directories, opening included; the nodes of the Merkle tries that it reads are
counted in a run of their own.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import worlddb
from bench._report import p50, p95, parser, report
from bench._workload import CONTENT_WORDS, load, open_seeded, words
from worlddb.log.model.errors import RefusedError
from worlddb.projections.tables.held import TrieNodes
from worlddb.query.diff import Difference


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    columns = ("ms, p50", "p95", "worlds visited", "worlds listed", "trie nodes visited")
    keys = ("ms", "p95_ms", "worlds_visited", "worlds_listed", "trie_nodes_visited")
    notes = (
        f"{arguments.nodes:,} nodes and {arguments.edges:,} edges, {arguments.changes:,} of the nodes revised in the"
        f" copy; {arguments.repeat} runs.",
    )
    report(arguments, "diff", result, columns, [[result[key] for key in keys]], notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=int, default=5_000)
    arguments.add_argument("--edges", type=int, default=5_000)
    arguments.add_argument("--changes", type=int, default=5)
    arguments.add_argument("--repeat", type=int, default=15)
    arguments.add_argument("--dir", help="where the stores are made (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Make the store and its changed copy, then compare them."""
    db, loader = load(folder / "a", arguments.seed, arguments.nodes, arguments.edges, 10_000)
    db.close()
    shutil.copytree(folder / "a", folder / "b", ignore=shutil.ignore_patterns("lock.mdb"))
    draw = random.Random(arguments.seed)
    with open_seeded(folder / "b", arguments.seed + 1) as db:
        changed = 0
        for position in draw.sample(range(arguments.nodes), arguments.nodes):
            if changed == arguments.changes:
                break
            # Superseded nodes take no further versions; another one is drawn in their place.
            changed += bool(db.revise(loader.ref(position), content=words(draw, CONTENT_WORDS)))
        if changed < arguments.changes:
            raise RefusedError("Too few nodes can be revised", "Ask for fewer changes")
    taken = []
    for _ in range(arguments.repeat):
        began = perf_counter()
        found = worlddb.diff(folder / "a", folder / "b")
        taken.append(1000 * (perf_counter() - began))
    counted, trie_nodes = _counted(folder)
    assert counted == found, "the same two stores were compared"
    return {
        "ms": round(p50(taken), 3),
        "p95_ms": round(p95(taken), 3),
        "worlds_visited": found.visited,
        "worlds_listed": len(found.worlds),
        "trie_nodes_visited": trie_nodes,
        "nodes": arguments.nodes,
        "edges": arguments.edges,
        "changes": arguments.changes,
    }


def _counted(folder: Path) -> tuple[Difference, int]:
    """The difference again, and how many nodes of tries were read for it."""
    get = TrieNodes.get
    visited = 0

    def counting(nodes: TrieNodes, path: bytes) -> bytes | None:
        nonlocal visited
        stored = get(nodes, path)
        visited += stored is not None
        return stored

    with patch.object(TrieNodes, "get", counting):
        found = worlddb.diff(folder / "a", folder / "b")
    return found, visited


if __name__ == "__main__":
    main()
