"""Rebuilding the tables from the log, compared with the floor.

A store is loaded with the mix of bench/made_up/workload.py, its tables are cleared in a write of their own, and the
rebuild is timed: read the log, decode, apply, settle every commit's root and compare it with the recorded one, write
the tables, one durable commit. The floor starts from a copy of the same store with empty tables, reads and decodes the
same headers, events, bodies and details, and puts the pairs that the rebuild wrote by a bare loop, in one durable
commit, in the order in which the events came. ``sorted_ratio`` is to one that is given them sorted (see bench.load).
They take turns; the figures are medians.

``--store`` takes a copy of a store that is there, such as one of millions that `bench.load --keep` left; one turn of it
takes long (``--repeat 1``), and its rows are not compared with the floor's one by one.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import lmdb

from bench.made_up.workload import LoadedNodes, load, open_seeded
from bench.measuring.arrival import in_arrival_order
from bench.measuring.floor import Floor, same_rows
from bench.measuring.memory import AnonPeak
from bench.measuring.recording import Pair, flushes, record_commits
from bench.measuring.report import p50, parser, positive, report
from worlddb import Database
from worlddb.log.model import codec
from worlddb.log.store.log import LmdbLog
from worlddb.projections.runner import catch_up
from worlddb.projections.tables.storage.rows import Tables


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        ("WorldDB", result["events_per_s"], result["seconds"], result["ratio"]),
        ("floor: read, decode, bare LMDB loop", result["floor_events_per_s"], result["floor_seconds"], 1.0),
        (
            "the same, sorted beforehand",
            result["sorted_events_per_s"],
            result["sorted_seconds"],
            round(result["sorted_events_per_s"] / result["floor_events_per_s"], 4),
        ),
    ]
    notes = (
        f"{result['events']:,} events in {result['commits']:,} commits, {result['pairs']:,} table pairs; medians of"
        f" {arguments.repeat} runs each.",
        f"WorldDB has {result['sorted_ratio']:.3g} of the rate of a loop over the engine's pairs in sorted order. An"
        f" event takes {result['cpu_us_per_event']:.3g} µs of the processor; by processor time the ratios are"
        f" {result['cpu_ratio']:.3g} and {result['sorted_cpu_ratio']:.3g}. Peak anonymous memory"
        f" {result['peak_anon_bytes'] / 2**20:.0f} MiB.",
    )
    report(arguments, "replay", result, ("", "events/s", "seconds", "ratio"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=positive, default=10_000)
    arguments.add_argument("--edges", type=int, default=40_000)
    arguments.add_argument(
        "--batch", type=positive, default=10_000, help="commands a commit of the store that is replayed"
    )
    arguments.add_argument("--store", metavar="PATH", type=Path, help="replay a copy of the store at PATH")
    arguments.add_argument("--repeat", type=positive, default=3)
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time rebuilds and floors in turn, each from empty tables."""
    if arguments.store is None:
        db, _ = load(folder / "store", arguments.seed, arguments.nodes, arguments.edges, arguments.batch)
    else:
        aside = shutil.ignore_patterns("lock.mdb", "indexes")
        db = _reopen(shutil.copytree(arguments.store, folder / "store", ignore=aside))
    with db:
        nodes = LoadedNodes(db).nodes
        root = db.head().root
        commit_count = db.head().seq
        _clear(db)
    shutil.copytree(folder / "store", folder / "floor", ignore=shutil.ignore_patterns("lock.mdb"))
    with _reopen(folder / "store") as db:
        _clear(db)
        with record_commits(folder / "pairs"):
            _rebuild(db)
        floor = Floor(folder / "floor")
        peak_bytes = 0
        seconds, cpu, events = list[float](), list[float](), 0
        floor_seconds, floor_cpu, sorted_seconds, sorted_cpu = [list[float]() for _ in range(4)]
        for turn in range(arguments.repeat):
            _clear(db)
            gc.collect()
            with AnonPeak() as peak:
                began, cpu_began = perf_counter(), process_time()
                events = _rebuild(db)
                seconds.append(perf_counter() - began)
                cpu.append(process_time() - cpu_began)
            peak_bytes = max(peak_bytes, peak.bytes)
            assert db.head().root == root == db.view().hash(), "the rebuilt tables have another root"
            for each, each_cpu, order in (
                (sorted_seconds, sorted_cpu, list[Pair]),
                (floor_seconds, floor_cpu, in_arrival_order),
            ):
                _empty(floor.env)
                gc.collect()
                took, cpu_took = _floor(floor, map(order, flushes(folder / "pairs")))
                each.append(took)
                each_cpu.append(cpu_took)
            if arguments.store is None and not turn:
                assert same_rows(db._env._shared.env, floor.env), "the floor holds other bytes than the rebuild"
        floor.close()
    return {
        "events_per_s": round(events / p50(seconds), 1),
        "floor_events_per_s": round(events / p50(floor_seconds), 1),
        "ratio": round(p50(floor_seconds) / p50(seconds), 4),
        "sorted_events_per_s": round(events / p50(sorted_seconds), 1),
        "sorted_ratio": round(p50(sorted_seconds) / p50(seconds), 4),
        "cpu_us_per_event": round(p50(cpu) / events * 1e6, 2),
        "cpu_ratio": round(p50(floor_cpu) / p50(cpu), 4),
        "sorted_cpu_ratio": round(p50(sorted_cpu) / p50(cpu), 4),
        "events": events,
        "commits": commit_count,
        "pairs": floor.pairs // (2 * arguments.repeat),
        "peak_anon_bytes": peak_bytes,
        "nodes": nodes,
        "edges": arguments.edges if arguments.store is None else None,
        "batch": arguments.batch if arguments.store is None else None,
        "seconds": round(p50(seconds), 3),
        "floor_seconds": round(p50(floor_seconds), 3),
        "sorted_seconds": round(p50(sorted_seconds), 3),
    }


def _reopen(path: Path) -> Database:
    """The store, opened again; its tables are checked at the first read."""
    return open_seeded(path, 0)


def _clear(db: Database) -> None:
    db._env.write(lambda txn: Tables(txn).clear())


def _rebuild(db: Database) -> int:
    def apply(txn: lmdb.Transaction) -> int:
        log = LmdbLog(txn)
        return catch_up(log, Tables(txn), log.head().seq)

    return db._env.write(apply)


def _floor(floor: Floor, parts: Iterable[list[Pair]]) -> tuple[float, float]:
    """Read, decode and put; the seconds, and those of the processor."""
    began, cpu_began = perf_counter(), process_time()
    with floor.env.begin() as txn:
        _read_and_decode(LmdbLog(txn))
    took, cpu_took, cpu_before = perf_counter() - began, process_time() - cpu_began, floor.cpu_seconds
    return took + floor.commit_parts(parts), cpu_took + floor.cpu_seconds - cpu_before


def _read_and_decode(log: LmdbLog) -> None:
    """Read what any replay needs: headers, events, and the bodies and details with names."""
    for seq in range(1, log.head().seq + 1):
        log.header(seq)
        for position in range(1, log.events(seq).blob_count):
            stored = log.blob(seq, position)
            if stored is not None:
                codec.decode_blob(stored, seq)


def _empty(env: lmdb.Environment) -> None:
    with env.begin(write=True) as txn:
        Tables(txn).clear()


if __name__ == "__main__":
    main()
