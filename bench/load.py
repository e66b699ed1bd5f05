"""Bulk load through every handler, compared with the floor.

The mix of bench/made_up/workload.py goes through `db.batch()`, one durable commit a batch. The floor is the same pairs,
log records and tables alike, put into a fresh LMDB environment with the same options by `for k, v in pairs: txn.put(k,
v)`, in as many durable commits. A first run with the same seed records the pairs and the peak of anonymous memory; in
the second, which is timed, the engine's commits and the floor's alternate. Both runs and the floor must hold the same
bytes, or the program fails. A write is one node or one edge command.

The floor gets the pairs in the order of the writes (bench/measuring/arrival.py), like a loop that puts the rows of one
write after the other. A second loop gets them as the engine hands them to LMDB: table by table, sorted, each key once.
That order is the engine's work and not the loop's, so its ratio is a second figure, ``sorted_ratio``.

For the floor every row is a pair, even if the engine packs many rows into one. Peak memory, and the bytes that LMDB
writes, are measured in a separate process that does nothing else. The mix is drawn in another process, because
remembering the drawn edges takes 14 bytes of memory for each write. ``--pages`` also counts the pages that the last
commit wrote, by table (bench/measuring/pages.py).

``--keep PATH`` only loads, into a store that stays, and reports the cost of each part of the writes. A load of millions
takes an hour; `bench.reads`, `bench.commits`, `bench.replay` and `bench.open` can use the store (``--store``).
"""

from __future__ import annotations

import argparse
import gc
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any, NamedTuple

from bench.made_up.workload import SHARES, Loader, Mix, Operation, open_seeded
from bench.measuring.arrival import in_arrival_order
from bench.measuring.floor import Floor, same_rows
from bench.measuring.memory import AnonPeak, anon_bytes
from bench.measuring.pages import pages_by_table, pages_of
from bench.measuring.recording import commits, record_commits
from bench.measuring.report import parser, positive, report
from worlddb.log.store.shared_environment import DATA_FILE


class Sizes(NamedTuple):
    """How much is loaded."""

    seed: int
    nodes: int
    edges: int
    batch: int
    pages: bool


class SoloLoad(NamedTuple):
    """The report of a process that only loaded the mix."""

    root: str
    peak_bytes: int
    written: int
    written_last: int
    """What LMDB wrote, all the time and for the last tenth of the commits."""
    pages: dict[str, Counter[str]] | None


class LoadPart(NamedTuple):
    """The cost of a number of writes of a load."""

    writes: int
    writer_us: float
    cpu_us: float
    """Of the processor, a write: the thread that writes, and all threads."""
    clock_us: float
    written: float
    """Bytes that were handed to files, a write."""
    bytes: float
    """Bytes of data file a write, of all writes so far."""
    anon_bytes: int


def main() -> None:
    arguments = _arguments()
    sizes = Sizes(arguments.seed, arguments.nodes, arguments.edges, arguments.batch, arguments.pages)
    if arguments.keep is not None:
        _report_kept(arguments, sizes)
        return
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), sizes)
    rows = [
        ("WorldDB", result["writes_per_s"], result["seconds"], result["ratio"]),
        ("floor: bare LMDB loop, same pairs", result["floor_writes_per_s"], result["floor_seconds"], 1.0),
        (
            "the same, sorted beforehand",
            result["sorted_writes_per_s"],
            result["sorted_seconds"],
            round(result["sorted_writes_per_s"] / result["floor_writes_per_s"], 4),
        ),
    ]
    notes = (
        f"{sizes.nodes:,} nodes and {sizes.edges:,} edges of {len(SHARES)} types in {result['commits']:,} durable"
        f" commits of up to {sizes.batch:,} commands.",
        f"{result['pairs_per_write']:.2f} pairs and {result['bytes_per_write']:.0f} bytes of data file a write; peak"
        f" anonymous memory {result['peak_anon_bytes'] / 2**20:.0f} MiB (in a process of its own).",
        f"WorldDB has {result['sorted_ratio']:.3g} of the rate of a loop over the engine's pairs in sorted order. A"
        f" write takes {result['cpu_us_per_write']:.3g} µs of the processor; by processor time, which a busy machine"
        f" changes less, the ratios are {result['cpu_ratio']:.3g} and {result['sorted_cpu_ratio']:.3g}.",
        f"The last tenth of the commits had {result['last_to_first']:.2f} of the rate of the first. LMDB wrote"
        f" {result['written_per_write']:,.0f} bytes for each write, {result['written_per_write_last']:,.0f} in the last"
        " tenth.",
        *(
            f"{name}: {counts['written']:,} of {counts['all']:,} pages written by the last commit ({counts['leaf']:,}"
            f" leaves, {counts['value']:,} of long values, {counts['branch']:,} branches)"
            for name, counts in result["pages"].items()
            if counts["written"]
        ),
    )
    report(arguments, "load", result, ("", "writes/s", "seconds", "ratio"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=positive, default=20_000)
    arguments.add_argument("--edges", type=int, default=80_000)
    arguments.add_argument("--batch", type=positive, default=10_000, help="commands a commit")
    arguments.add_argument("--keep", metavar="PATH", type=Path, help="only load, into a permanent store at PATH")
    arguments.add_argument("--every", type=positive, default=200_000, help="writes in a part (with --keep)")
    arguments.add_argument("--pages", action="store_true", help="print the pages that each table wrote")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def _report_kept(arguments: argparse.Namespace, sizes: Sizes) -> None:
    if arguments.keep.exists():
        raise SystemExit(f"{arguments.keep} exists already: give a new path")
    with AnonPeak() as peak:
        parts = [part._asdict() for part in load_and_keep(arguments.keep, sizes, arguments.every)]
    result = {"parts": parts, "peak_anon_bytes": peak.bytes, "nodes": sizes.nodes, "edges": sizes.edges}
    first, last = parts[0], parts[-1]
    result["last_to_first"] = round(first["writer_us"] / last["writer_us"], 3)
    notes = (
        f"By processor time of the writing thread, the last part has {result['last_to_first']} of the rate of the"
        f" first; peak anonymous memory {peak.bytes / 2**20:.0f} MiB.",
    )
    columns = ("writes", "writer, µs", "all threads, µs", "clock, µs", "written, bytes", "file, bytes", "anon, MiB")
    rows = [(*list(part.values())[:-1], part["anon_bytes"] >> 20) for part in parts]
    report(arguments, "load", result, columns, rows, notes)


def load_and_keep(path: Path, sizes: Sizes, every: int) -> Iterator[LoadPart]:
    """Write the whole mix once into a store that stays; returns the cost of each part without drawing."""
    with open_seeded(path, sizes.seed) as db, _draw_in_process(sizes) as batches:
        loader, done, part, before = Loader(db), 0, 0, _written_bytes()
        took = [0.0] * 3
        for operations in batches:
            began = thread_time(), process_time(), perf_counter()
            loader.commit(operations)
            ended = thread_time(), process_time(), perf_counter()
            took = [known + end - begin for known, begin, end in zip(took, began, ended, strict=True)]
            done, part = done + len(operations), part + len(operations)
            if part >= every or done == sizes.nodes + sizes.edges:
                written, size = _written_bytes(), (path / DATA_FILE).stat().st_size
                writer, cpu, clock = [round(1e6 * seconds / part, 1) for seconds in took]
                handed, a_write = round((written - before) / part, 1), round(size / done, 1)
                yield LoadPart(done, writer, cpu, clock, handed, a_write, anon_bytes())
                took, part, before = [0.0] * 3, 0, written


@contextmanager
def _draw_in_process(sizes: Sizes) -> Iterator[Iterator[list[Operation]]]:
    """Draw all operations in another process, one list for each commit."""
    context = get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_draw, args=(sending, sizes), daemon=True)
    process.start()
    sending.close()
    try:
        yield iter(receiving.recv, None)
    finally:
        receiving.close()
        process.terminate()
        process.join()


def _draw(sending: Connection, sizes: Sizes) -> None:
    for operations in Mix(*sizes[:3]).batches(sizes.batch):
        sending.send(operations)
    sending.send(None)


def measure(folder: Path, sizes: Sizes) -> dict[str, Any]:
    """Load alone, record, then time the engine and the floor commit by commit."""
    spool = folder / "pairs"
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        alone = process.submit(_load_alone, folder / "alone", sizes).result()
    root = _record(folder / "recorded", spool, sizes)
    assert root == alone.root, "two runs wrote different stores"
    frames = commits(spool)
    floor, presorted = Floor(folder / "floor"), Floor(folder / "sorted")
    creation = next(frames)
    with open_seeded(folder / "timed", sizes.seed) as db:
        for each in (floor, presorted):
            each.start_with(creation)
        loader, seconds, cpu_seconds, rates = Loader(db), 0.0, 0.0, []
        for operations, pairs in zip(Mix(*sizes[:3]).batches(sizes.batch), frames, strict=True):
            gc.collect()
            began, cpu_began = perf_counter(), process_time()
            loader.commit(operations)
            took = perf_counter() - began
            seconds, cpu_seconds = seconds + took, cpu_seconds + process_time() - cpu_began
            rates.append((len(operations), took))
            gc.collect()
            presorted.commit(pairs)
            pairs = in_arrival_order(pairs)
            gc.collect()
            floor.commit(pairs)
        assert db.head().root == root, "the recorded and the timed run wrote different stores"
        for each in (floor, presorted):
            assert same_rows(db._env._shared.env, each.env), "a floor holds other rows than the engine wrote"
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
        "last_to_first": round(_rate(rates[-_tenth(rates) :]) / _rate(rates[: _tenth(rates)]), 3),
        "written_per_write": round(alone.written / writes, 1),
        "written_per_write_last": round(alone.written_last / sum(count for count, _ in rates[-_tenth(rates) :]), 1),
        "pages": alone.pages or {},
        "peak_anon_bytes": alone.peak_bytes,
        "nodes": sizes.nodes,
        "edges": sizes.edges,
        "batch": sizes.batch,
        "commits": floor.commits,
        "seconds": round(seconds, 3),
        "floor_seconds": round(floor.seconds, 3),
        "sorted_seconds": round(presorted.seconds, 3),
    }


def _tenth(commits: list[tuple[int, float]]) -> int:
    return max(1, len(commits) // 10)


def _rate(commits: list[tuple[int, float]]) -> float:
    return sum(count for count, _ in commits) / sum(seconds for _, seconds in commits)


def _record(path: Path, spool: Path, sizes: Sizes) -> str:
    """Write the whole mix once, with every pair kept in ``spool``; the root hash."""
    with record_commits(spool), open_seeded(path, sizes.seed) as db:
        loader = Loader(db)
        for operations in Mix(*sizes[:3]).batches(sizes.batch):
            loader.commit(operations)
        return db.head().root


def _load_alone(path: Path, sizes: Sizes) -> SoloLoad:
    """Write the whole mix once, in a process that does nothing else."""
    written: list[int] = []
    data, before = path / DATA_FILE, {}
    commits = -(-(sizes.nodes + sizes.edges) // sizes.batch)
    with AnonPeak() as peak, open_seeded(path, sizes.seed) as db, _draw_in_process(sizes) as batches:
        loader, began = Loader(db), _written_bytes()
        for number, operations in enumerate(batches, start=1):
            if sizes.pages and number == commits:
                before = pages_of(data)
            loader.commit(operations)
            written.append(_written_bytes())
        root = db.head().root
    last = written[-1] - written[-1 - max(1, len(written) // 10)] if len(written) > 1 else written[-1] - began
    pages = dict(sorted(pages_by_table(pages_of(data), before).items(), key=lambda of: -of[1]["written"]))
    return SoloLoad(root, peak.bytes, written[-1] - began, last, pages if sizes.pages else None)


def _written_bytes() -> int:
    """Bytes that this process gave to write calls; the kernel's count of dirtied pages misleads.

    Where a file has large folios (ext4 since Linux 6.16), that counts all of a folio for one page of it.
    """
    try:
        told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    except OSError:
        return 0
    return int(told["wchar"])


if __name__ == "__main__":
    main()
