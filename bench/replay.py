"""Rebuilding the tables from the log, compared with the floor.

A store is loaded with the mix of bench/_workload.py, its tables are cleared in a write of their own, and the rebuild
is timed: read the log, decode, apply, settle every commit's root and compare it with the recorded one, write the
tables, one durable commit. The floor starts from a copy of the same store with empty tables, reads and decodes the
same headers, events, bodies and details, and puts the pairs that the rebuild wrote by a bare loop, in one durable
commit, in the order in which the events came. ``sorted_ratio`` is to one that is given them sorted (see bench.load).
They take turns; the figures are medians.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import lmdb

from bench._arrival import in_arrival_order
from bench._floor import Floor, same_rows
from bench._recording import Pair, commits, record_commits
from bench._report import p50, parser, positive, report
from bench._workload import load, open_seeded
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
            round(result["floor_seconds"] / result["sorted_seconds"], 4),
        ),
    ]
    notes = (
        f"{result['events']:,} events in {result['commits']:,} commits, {result['pairs']:,} table pairs; medians of"
        f" {arguments.repeat} runs each.",
        f"WorldDB has {result['sorted_ratio']:.3g} of the rate of a loop over the engine's pairs in sorted order. An"
        f" event takes {result['cpu_us_per_event']:.3g} µs of the processor; by processor time the ratios are"
        f" {result['cpu_ratio']:.3g} and {result['sorted_cpu_ratio']:.3g}.",
    )
    report(arguments, "replay", result, ("", "events/s", "seconds", "ratio"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=positive, default=10_000)
    arguments.add_argument("--edges", type=int, default=40_000)
    arguments.add_argument(
        "--batch", type=positive, default=10_000, help="commands a commit of the store that is replayed"
    )
    arguments.add_argument("--repeat", type=positive, default=3)
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time rebuilds and floors in turn, each from empty tables."""
    db, _ = load(folder / "store", arguments.seed, arguments.nodes, arguments.edges, arguments.batch)
    with db:
        root = db.head().root
        commit_count = db.head().seq
        _clear(db)
    shutil.copytree(folder / "store", folder / "floor", ignore=shutil.ignore_patterns("lock.mdb"))
    with _reopen(folder / "store") as db:
        pairs = _pairs_of_a_rebuild(db, folder / "pairs")
        floor = Floor(folder / "floor")
        arrived = in_arrival_order(pairs)
        seconds, floor_seconds, sorted_seconds, cpu, floor_cpu, sorted_cpu, events = [], [], [], [], [], [], 0
        for turn in range(arguments.repeat):
            _clear(db)
            gc.collect()
            began, cpu_began = perf_counter(), process_time()
            events = _rebuild(db)
            seconds.append(perf_counter() - began)
            cpu.append(process_time() - cpu_began)
            assert db.head().root == root == db.view().hash(), "the rebuilt tables have another root"
            if turn:
                _empty(floor.env, pairs)
            gc.collect()
            cpu_began = process_time()
            sorted_seconds.append(_floor(floor, pairs))
            sorted_cpu.append(process_time() - cpu_began)
            _empty(floor.env, pairs)
            gc.collect()
            cpu_began = process_time()
            floor_seconds.append(_floor(floor, arrived))
            floor_cpu.append(process_time() - cpu_began)
            assert turn or same_rows(db._env._shared.env, floor.env), "the floor holds other bytes than the rebuild"
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
        "pairs": len(pairs),
        "nodes": arguments.nodes,
        "edges": arguments.edges,
        "batch": arguments.batch,
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


def _pairs_of_a_rebuild(db: Database, spool: Path) -> list[Pair]:
    _clear(db)
    with record_commits(spool):
        _rebuild(db)
    (pairs,) = commits(spool)
    return pairs


def _floor(floor: Floor, pairs: list[Pair]) -> float:
    began = perf_counter()
    with floor.env.begin() as txn:
        _read_and_decode(LmdbLog(txn))
    floor.commit(pairs)
    return perf_counter() - began


def _read_and_decode(log: LmdbLog) -> None:
    """Read what any replay needs: headers, events, and the bodies and details with names."""
    for seq in range(1, log.head().seq + 1):
        log.header(seq)
        for position in range(1, log.events(seq).blob_count):
            stored = log.blob(seq, position)
            if stored is not None:
                codec.decode_blob(stored, seq)


def _empty(env: lmdb.Environment, pairs: list[Pair]) -> None:
    with env.begin(write=True) as txn:
        for key, _ in pairs:
            txn.delete(key)


if __name__ == "__main__":
    main()
