"""Bulk load through every handler, beside the floor.

The mix of bench/_workload.py goes through `db.batch()`, one durable commit a batch. The floor is the same pairs, log
records and tables alike, put into a fresh LMDB environment with the same options by `for k, v in pairs: txn.put(k, v)`,
in as many durable commits. A first run with the same seed records the pairs and the peak of anonymous memory; in the
second, which is timed, the engine's commits and the floor's alternate. Both runs and the floor must hold the same
bytes, or the program fails. A write is one node or one edge command.

The floor is given the pairs in the order in which the writes came (bench/_arrival.py), as a loop has them that puts the
rows of one write after the other. A second loop is given them as the engine hands them to LMDB, table by table, sorted
and each key once: what that order is worth is the engine's work and not the loop's, so ``sorted_ratio`` stands beside.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

from bench._arrival import by_arrival
from bench._floor import Floor, same_pairs
from bench._memory import AnonPeak
from bench._recording import commits, recorded
from bench._report import parser, positive, report
from bench._workload import SHARES, Loader, Mix, open_seeded
from worlddb.log.store.shared_environment import DATA_FILE


class Sizes(NamedTuple):
    """How much is loaded."""

    seed: int
    nodes: int
    edges: int
    batch: int


def main() -> None:
    arguments = _arguments()
    sizes = Sizes(arguments.seed, arguments.nodes, arguments.edges, arguments.batch)
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), sizes)
    rows = [
        ("WorldDB", result["writes_per_s"], result["seconds"], result["ratio"]),
        ("floor: bare LMDB loop, same pairs", result["floor_writes_per_s"], result["floor_seconds"], 1.0),
        (
            "the same, sorted beforehand",
            result["sorted_writes_per_s"],
            result["sorted_seconds"],
            round(result["floor_seconds"] / result["sorted_seconds"], 4),
        ),
    ]
    notes = (
        f"{sizes.nodes:,} nodes and {sizes.edges:,} edges of {len(SHARES)} types in {result['commits']:,} durable"
        f" commits of up to {sizes.batch:,} commands.",
        f"{result['pairs_per_write']:.2f} pairs and {result['bytes_per_write']:.0f} bytes of data file a write; peak"
        f" anonymous memory {result['peak_anon_bytes'] / 2**20:.0f} MiB (in the recording run).",
        f"Of a loop that is given the engine's order, sorted, WorldDB has {result['sorted_ratio']:.3g}. Of the"
        f" processor, a write takes {result['cpu_us_per_write']:.3g} µs; by that, which a busy machine changes less,"
        f" the ratios are {result['cpu_ratio']:.3g} and {result['sorted_cpu_ratio']:.3g}.",
    )
    report(arguments, "load", result, ("", "writes/s", "seconds", "ratio"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=positive, default=20_000)
    arguments.add_argument("--edges", type=int, default=80_000)
    arguments.add_argument("--batch", type=positive, default=10_000, help="commands a commit")
    arguments.add_argument("--dir", help="where the stores are made (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, sizes: Sizes) -> dict[str, Any]:
    """Record, then time the engine and the floor commit by commit."""
    spool = folder / "pairs"
    root, peak_bytes = _record(folder / "recorded", spool, sizes)
    frames = commits(spool)
    floor, presorted = Floor(folder / "floor"), Floor(folder / "sorted")
    creation = next(frames)
    with open_seeded(folder / "timed", sizes.seed) as db:
        for each in (floor, presorted):
            each.start_with(creation)
        loader, seconds, cpu_seconds = Loader(db), 0.0, 0.0
        for operations, pairs in zip(Mix(*sizes[:3]).batches(sizes.batch), frames, strict=True):
            gc.collect()
            began, cpu_began = perf_counter(), process_time()
            loader.commit(operations)
            seconds, cpu_seconds = seconds + perf_counter() - began, cpu_seconds + process_time() - cpu_began
            gc.collect()
            presorted.commit(pairs)
            pairs = by_arrival(pairs)
            gc.collect()
            floor.commit(pairs)
        assert db.head().root == root, "the recorded and the timed run wrote different stores"
        for each in (floor, presorted):
            assert same_pairs(db._env._shared.env, each.env), "a floor holds other bytes than the engine wrote"
        data_bytes = (folder / "timed" / DATA_FILE).stat().st_size
    floor.close()
    presorted.close()
    writes = sizes.nodes + sizes.edges
    return {
        "writes_per_s": round(writes / seconds, 1),
        "floor_writes_per_s": round(writes / floor.seconds, 1),
        "ratio": round(floor.seconds / seconds, 4),
        "sorted_writes_per_s": round(writes / presorted.seconds, 1),
        "sorted_ratio": round(presorted.seconds / seconds, 4),
        "cpu_us_per_write": round(cpu_seconds / writes * 1e6, 2),
        "cpu_ratio": round(floor.cpu_seconds / cpu_seconds, 4),
        "sorted_cpu_ratio": round(presorted.cpu_seconds / cpu_seconds, 4),
        "pairs_per_write": round(floor.pairs / writes, 3),
        "bytes_per_write": round(data_bytes / writes, 1),
        "peak_anon_bytes": peak_bytes,
        "nodes": sizes.nodes,
        "edges": sizes.edges,
        "batch": sizes.batch,
        "commits": floor.commits,
        "seconds": round(seconds, 3),
        "floor_seconds": round(floor.seconds, 3),
        "sorted_seconds": round(presorted.seconds, 3),
    }


def _record(path: Path, spool: Path, sizes: Sizes) -> tuple[str, int]:
    """Write the whole mix once, with every pair kept in ``spool``; the root hash and the peak of anonymous memory."""
    with recorded(spool), AnonPeak() as peak, open_seeded(path, sizes.seed) as db:
        loader = Loader(db)
        for operations in Mix(*sizes[:3]).batches(sizes.batch):
            loader.commit(operations)
        root = db.head().root
    return root, peak.bytes


if __name__ == "__main__":
    main()
