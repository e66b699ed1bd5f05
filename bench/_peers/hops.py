"""One and two hops in a graph: by WorldDB, and by a usual table of edges in SQLite."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import worlddb
from bench.measuring.report import p50, p95

EDGES_A_NODE: Final = 4
_TABLES: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE nodes (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE edges (source INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (source, target)) WITHOUT ROWID;
"""
_REACHED: Final = """
WITH RECURSIVE reached(id, steps) AS (
    VALUES (?, 0) UNION SELECT edges.target, steps + 1 FROM reached JOIN edges ON edges.source = id WHERE steps < ?
)
SELECT DISTINCT name FROM reached JOIN nodes USING (id)
"""


def measured(folder: Path, seed: int, nodes: int, questions: int) -> dict[str, dict[str, float]]:
    """Milliseconds until the names of all that is reached are there, of each by turns, and rows loaded a second."""
    draw = random.Random(seed)
    pairs = sorted({(one, draw.randrange(nodes)) for one in range(nodes) for _ in range(EDGES_A_NODE)})
    pairs = [(one, other) for one, other in pairs if one != other]
    names = [f"node {number}" for number in range(nodes)]
    with worlddb.open(folder / "hops", author="bench") as db:
        began = perf_counter()
        loaded = db.load(
            {"type": ["Fact"] * nodes, "name": names},
            {
                "source": [one for one, _ in pairs],
                "type": ["refers_to"] * len(pairs),
                "target": [to for _, to in pairs],
            },
        )
        seconds_by_peer = {"WorldDB": perf_counter() - began}
        connection = sqlite3.connect(folder / "hops.db", isolation_level=None)
        connection.executescript(_TABLES)
        began = perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO nodes VALUES (?, ?)", enumerate(names))
        connection.executemany("INSERT INTO edges VALUES (?, ?)", pairs)
        connection.execute("COMMIT")
        seconds_by_peer["SQLite"] = perf_counter() - began
        view = db.view()

        def ours(node: int, depth: int) -> set[str]:
            reached = view.query(seeds=loaded.worlds[node]).traverse(depth=depth, keep=True).run()
            return {world.name for world in reached.nodes}

        def theirs(node: int, depth: int) -> set[str]:
            return {name for (name,) in connection.execute(_REACHED, (node, depth))}

        results: dict[str, Any] = {
            name: {"load_per_s": round((nodes + len(pairs)) / seconds, 1)} for name, seconds in seconds_by_peer.items()
        }
        for depth, called in ((1, "one_hop"), (2, "two_hops")):
            times: dict[str, list[float]] = {name: [] for name in seconds_by_peer}
            for number in range(-2, questions):
                node, found = draw.randrange(nodes), []
                for name, ask in (("WorldDB", ours), ("SQLite", theirs))[:: 1 if number % 2 else -1]:
                    began = perf_counter()
                    found.append(ask(node, depth))
                    if number >= 0:
                        times[name].append(1000 * (perf_counter() - began))
                assert found[0] == found[1], "both walk the same edges"
            for name, sampled in times.items():
                results[name] |= {
                    f"{called}_p50_ms": round(p50(sampled), 3),
                    f"{called}_p95_ms": round(p95(sampled), 3),
                }
        connection.close()
    return results
