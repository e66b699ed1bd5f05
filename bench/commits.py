"""Single durable writes, resolver included, compared with a bare one-key LMDB commit.

`db.create` makes worlds with fresh names in a store that already has some thousand, so that each write runs the whole
pipeline, the resolver's exact tier with it. The floor puts one small pair into an LMDB environment of its own, opened
with the same options and under the same durability. The two alternate, so that both see the same disk.

With `--store PATH` they are written into a copy of a store that `bench.load --keep` has left, and the floor is the very
pairs that each write put there, given to another copy of it by a bare loop.

With `--threads`, as many threads write through one handle, by turns with durability `commit` and `group`.

With `--every N`, what is measured is memory: the anonymous bytes of the process after each N of the commits, beside
those of a process that puts one pair into LMDB in as many commits.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import worlddb
from bench.made_up.questions import Latencies
from bench.made_up.workload import CONTENT_WORDS, LoadedNodes, Loader, load, open_seeded, words
from bench.measuring.floor import Floor
from bench.measuring.memory import anon_bytes, mapped_bytes
from bench.measuring.recording import Pair, commits, record_commits
from bench.measuring.report import p50, p95, parser, positive, report
from worlddb import Database, Receipt

_VALUE_BYTES = 100
_ROUNDS = 3


def main() -> None:
    arguments = _arguments()
    if arguments.threads or arguments.every:
        (_measure_together if arguments.threads else _measure_growth)(arguments)
        return
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = (measure if arguments.store is None else measure_kept)(Path(folder), arguments)
    floor = "one-key LMDB commit" if arguments.store is None else "bare commit of the same pairs"
    rows = [
        ("WorldDB: db.create", result["p50_ms"], result["p95_ms"], result["ratio"]),
        (f"floor: {floor}", result["floor_p50_ms"], result["floor_p95_ms"], 1.0),
    ]
    notes = (
        f"{arguments.commits:,} durable commits each, alternating, in a store of {result['nodes']:,} names."
        f" Processor time {result['cpu_p50_ms']} and {result['floor_cpu_p50_ms']} ms (p50).",
    )
    report(arguments, "commits", result, ("", "p50 ms", "p95 ms", "ratio of p50"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=int, default=5_000, help="names in the store before the first write")
    arguments.add_argument("--commits", type=positive, default=500)
    arguments.add_argument(
        "--threads",
        type=positive,
        nargs="+",
        metavar="N",
        help="compare both durabilities with these numbers of threads",
    )
    arguments.add_argument("--every", type=positive, metavar="N", help="tell the memory after each N commits")
    arguments.add_argument(
        "--store", type=Path, metavar="PATH", help="measure in a copy of a store of `bench.load --keep`"
    )
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def _measure_together(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure_threads(Path(folder), arguments)
    rows = [
        (f"{threads} threads", by["commit_per_s"], by["group_per_s"], by["ratio"])
        for threads, by in result["threads"].items()
    ]
    notes = (f"{arguments.commits:,} durable commits in each of {_ROUNDS} rounds, by turns; medians.",)
    report(arguments, "commits", result, ("", "commit: /s", "group: /s", "ratio"), rows, notes)


def measure_threads(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Commits a second by numbers of threads, each commit alone and in groups."""
    load(folder / "store", arguments.seed, arguments.nodes, arguments.nodes, 10_000)[0].close()
    measured: dict[int, dict[str, float]] = {}
    for threads in arguments.threads:
        rates: dict[str, list[float]] = {"commit": [], "group": []}
        for number in range(_ROUNDS):
            for durability, found in rates.items():
                with worlddb.open(folder / "store", durability=cast(Any, durability), timeout_seconds=600) as db:
                    found.append(_rate(db, threads, arguments.commits, f"{threads} {durability} {number}"))
        alone, grouped = p50(rates["commit"]), p50(rates["group"])
        measured[threads] = {
            "commit_per_s": round(alone, 1),
            "group_per_s": round(grouped, 1),
            "ratio": round(grouped / alone, 2),
        }
    return {"threads": measured, "nodes": arguments.nodes, "commits": arguments.commits}


def _rate(db: Database, threads: int, commits: int, name: str) -> float:
    def write(thread: int) -> None:
        for number in range(thread, commits, threads):
            made = db.create("Entity", f"{name} {number}")
            assert made.events == 2, "a plain create is two events"

    began, before = perf_counter(), db.head().seq
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(write, thread) for thread in range(threads)]:
            done.result()
    assert db.head().seq == before + commits, "each write is a commit of its own"
    return commits / (perf_counter() - began)


def _measure_growth(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure_memory(Path(folder), arguments)
    rows = [
        (memory["commits"], memory["anon_bytes"] / 2**20, memory["mapped_bytes"] / 2**20, bare["anon_bytes"] / 2**20)
        for memory, bare in zip(result["memory"], result["floor_memory"], strict=True)
    ]
    notes = (
        f"{result['grown_per_commit']:,.0f} bytes a commit in the second half of them, the floor"
        f" {result['floor_grown_per_commit']:,.0f}.",
    )
    columns = ("commits", "anonymous, MiB", "mapped files, MiB", "floor: anonymous, MiB")
    report(arguments, "commits", result, columns, rows, notes)


def measure_memory(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Memory over many commits, each of one write; and that of a process with as many bare commits."""
    told = {}
    for name, write in (("memory", _grow), ("floor_memory", _grow_bare)):
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            told[name] = process.submit(write, folder / name, arguments).result()
    grown = {name: _grown_per_commit(found) for name, found in told.items()}
    return {
        **told,
        "grown_per_commit": round(grown["memory"], 1),
        "floor_grown_per_commit": round(grown["floor_memory"], 1),
        "nodes": arguments.nodes,
        "commits": arguments.commits,
    }


def _grow(path: Path, arguments: argparse.Namespace) -> list[dict[str, int]]:
    # Loaded by one handle and written by another, as a server opens what was loaded before.
    load(path, arguments.seed, arguments.nodes, arguments.nodes, 10_000)[0].close()
    with open_seeded(path, arguments.seed + 1, create=False) as db:
        writes = (partial(_check, write) for write in _writes(db, LoadedNodes(db), arguments))
        return _memory_over(writes, arguments)


def _grow_bare(path: Path, arguments: argparse.Namespace) -> list[dict[str, int]]:
    draw, floor = random.Random(arguments.seed), Floor(path)
    pairs: Iterator[list[Pair]] = (
        [(b"%016d" % number, draw.randbytes(_VALUE_BYTES))] for number in range(arguments.commits)
    )
    found = _memory_over((partial(floor.commit, each) for each in pairs), arguments)
    floor.close()
    return found


def _memory_over(writes: Iterator[Callable[[], object]], arguments: argparse.Namespace) -> list[dict[str, int]]:
    found = []
    for number, write in enumerate(writes, start=1):
        write()
        if number % arguments.every == 0 or number == arguments.commits:
            found.append({"commits": number, "anon_bytes": anon_bytes(), "mapped_bytes": mapped_bytes()})
    return found


def _grown_per_commit(told: list[dict[str, int]]) -> float:
    middle, last = told[len(told) // 2 - 1 if len(told) > 1 else 0], told[-1]
    return (last["anon_bytes"] - middle["anon_bytes"]) / max(1, last["commits"] - middle["commits"])


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Alternate one write of the engine with one of the floor."""
    draw = random.Random(arguments.seed)
    db, loader = load(folder / "store", arguments.seed, arguments.nodes, arguments.nodes, 10_000)
    floor = Floor(folder / "floor")
    with db:
        pairs: Iterator[list[Pair]] = (
            [(b"%016d" % number, draw.randbytes(_VALUE_BYTES))] for number in range(arguments.commits)
        )
        return _alternate(db, loader, arguments.nodes, floor, pairs, arguments)


def measure_kept(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """As :func:`measure`, in copies of a store, compared with a loop that puts the same pairs."""
    spool = folder / "pairs"
    with record_commits(spool), _copy_store(arguments.store, folder / "recorded", arguments.seed) as db:
        writes = _writes(db, LoadedNodes(db), arguments)
        for _ in range(arguments.commits):
            next(writes)()
    floor, puts = Floor(shutil.copytree(arguments.store, folder / "floor")), commits(spool)
    with _copy_store(arguments.store, folder / "timed", arguments.seed) as db:
        kept = LoadedNodes(db)
        return _alternate(db, kept, kept.nodes, floor, puts, arguments)


def _copy_store(store: Path, copy: Path, seed: int) -> Database:
    # With the load's own seed there would be the same random ids again.
    return open_seeded(shutil.copytree(store, copy), seed + 1, create=False)


def _writes(
    db: Database, loader: Loader | LoadedNodes, arguments: argparse.Namespace
) -> Iterator[Callable[[], Receipt]]:
    """Creates with fresh names, the same for the same seed."""
    draw, world = random.Random(arguments.seed), loader.ref(0)
    for number in range(arguments.commits):
        name, content = f"{words(draw, 2)} new {number}", words(draw, CONTENT_WORDS)
        yield partial(db.create, "Entity", name, content=content, world=world)


def _alternate(
    db: Database,
    loader: Loader | LoadedNodes,
    nodes: int,
    floor: Floor,
    puts: Iterator[list[Pair]],
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    write_latencies, floor_taken = Latencies([], []), Latencies([], [])
    for write, pairs in zip(_writes(db, loader, arguments), puts, strict=True):
        write_latencies.take(_check, write)
        floor_taken.take(floor.commit, pairs)
    floor.close()
    return {
        "p50_ms": round(p50(write_latencies.clock_ms), 4),
        "p95_ms": round(p95(write_latencies.clock_ms), 4),
        "floor_p50_ms": round(p50(floor_taken.clock_ms), 4),
        "floor_p95_ms": round(p95(floor_taken.clock_ms), 4),
        "ratio": round(p50(write_latencies.clock_ms) / p50(floor_taken.clock_ms), 3),
        "cpu_p50_ms": round(p50(write_latencies.processor_ms), 4),
        "floor_cpu_p50_ms": round(p50(floor_taken.processor_ms), 4),
        "nodes": nodes,
        "commits": arguments.commits,
    }


def _check(write: Callable[[], Receipt]) -> None:
    assert write().events == 2, "a plain create is two events"


if __name__ == "__main__":
    main()
