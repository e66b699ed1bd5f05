"""One durable write at a time, resolver included, beside the bare one-key LMDB commit.

`db.create` makes worlds with fresh names in a store that already has some thousand, so that each write runs the whole
pipeline, the resolver's exact tier with it. The floor puts one small pair into an LMDB environment of its own, opened
with the same options and under the same durability. The two alternate, so that both see the same disk.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from bench._floor import Floor
from bench._report import p50, p95, parser, report
from bench._workload import CONTENT_WORDS, load, words

_VALUE_BYTES = 100


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        ("WorldDB: db.create", result["p50_ms"], result["p95_ms"], result["ratio"]),
        ("floor: one-key LMDB commit", result["floor_p50_ms"], result["floor_p95_ms"], 1.0),
    ]
    notes = (f"{arguments.commits:,} durable commits each, alternating, in a store of {arguments.nodes:,} names.",)
    report(arguments, "commits", result, ("", "p50 ms", "p95 ms", "ratio of p50"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=int, default=5_000, help="names in the store before the first write")
    arguments.add_argument("--commits", type=int, default=500)
    arguments.add_argument("--dir", help="where the stores are made (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Alternate one write of the engine with one of the floor."""
    draw = random.Random(arguments.seed)
    db, loader = load(folder / "store", arguments.seed, arguments.nodes, arguments.nodes, 10_000)
    floor = Floor(folder / "floor")
    taken, floor_taken = [], []
    with db:
        world = loader.ref(0)
        for number in range(arguments.commits):
            name, content = f"{words(draw, 2)} new {number}", words(draw, CONTENT_WORDS)
            began = perf_counter()
            receipt = db.create("Entity", name, content=content, world=world)
            taken.append(1000 * (perf_counter() - began))
            assert receipt.events == 2, "a plain create is two events"
            floor_taken.append(1000 * floor.commit([(b"%016d" % number, draw.randbytes(_VALUE_BYTES))]))
    floor.close()
    return {
        "p50_ms": round(p50(taken), 4),
        "p95_ms": round(p95(taken), 4),
        "floor_p50_ms": round(p50(floor_taken), 4),
        "floor_p95_ms": round(p95(floor_taken), 4),
        "ratio": round(p50(taken) / p50(floor_taken), 3),
        "nodes": arguments.nodes,
        "commits": arguments.commits,
    }


if __name__ == "__main__":
    main()
