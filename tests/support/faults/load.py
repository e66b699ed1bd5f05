"""Processes that write and read one store for a while, and their results."""

from __future__ import annotations

import itertools
import os
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

import worlddb
from tests.support.faults.children import PATIENCE_SECONDS, Acknowledged, start, wait_for_exit

LINE_BYTES = 200
"""More than two lines of acknowledgement have."""
NAP_SECONDS = 0.01
LEAST_COMMITS = 200
"""How many there have to be with readers, and without them."""


class Load(NamedTuple):
    """The outcome of a load: slices with and without readers, ``seconds`` of each in all."""

    seconds: float
    alone: int
    beside: int
    """Commits while nobody read, and while the readers did."""
    alone_seconds: float
    beside_seconds: float
    """Processor time that the writers took for these."""
    file_bytes: int
    used_bytes: int
    """How long the data file is at the end, and how much of that is in use."""
    spare: int
    """How many more commits the rest of it has room for."""
    reads: int
    reading_seconds: float
    """Processor time of all readers."""

    def __str__(self) -> str:
        return (
            f"{self.beside} commits beside readers, {self.alone} without them, in {self.seconds:.1f} s each; "
            f"{self.beside / self.beside_seconds:.0f} and {self.alone / self.alone_seconds:.0f} a second of their "
            f"processor time; the file has {self.file_bytes / 1e6:.1f} MB, {self.used_bytes / 1e6:.1f} of them in use, "
            f"and room for {self.spare} more commits; "
            f"{self.reads} reads in {self.reading_seconds:.1f} s of processor time, none failed, none was stale"
        )


def load(folder: Path, *, writers: int, readers: int, share: float, slices: int, slice_seconds: float) -> Load:
    """Run writers always and readers in every other slice, with ``share`` of a core in all."""
    store, stop, reading = folder / "store", folder / "stop", folder / "reading"
    worlddb.open(store).close()
    files = [folder / f"writer-{number}" for number in range(writers)]
    reports = [folder / f"reader-{number}" for number in range(readers)]
    running = [start(write_steadily, store, file, stop) for file in files]
    running += [start(read_steadily, store, files, report, reading, stop, share / readers) for report in reports]
    _wait_for([*files, *reports], running)
    commits, took = [0, 0], [0.0, 0.0]
    deadline = time.monotonic() + 2 * slices * slice_seconds + PATIENCE_SECONDS
    number = 0
    try:
        # Where processors are few and busy, as many slices as it takes to have something to compare.
        while number < 2 * slices or number % 2 or min(commits) < LEAST_COMMITS:
            assert time.monotonic() < deadline, f"{commits} commits in {number} slices"
            beside = number % 2
            reading.touch() if beside else reading.unlink(missing_ok=True)
            before = _written(files)
            time.sleep(slice_seconds)
            after = _written(files)
            commits[beside] += after[0] - before[0]
            took[beside] += after[1] - before[1]
            number += 1
    finally:
        stop.touch()
        codes = [wait_for_exit(process, PATIENCE_SECONDS) for process in running]
    assert codes == [0] * len(running), codes
    found = [report.read_text("utf-8").splitlines()[-1].split() for report in reports]
    reads, used = sum(int(each[0]) for each in found), sum(float(each[1]) for each in found)
    file_bytes, used_bytes, spare = _sizes(store, sum(commits))
    return Load(
        seconds=number // 2 * slice_seconds,
        alone=commits[0],
        beside=commits[1],
        alone_seconds=took[0],
        beside_seconds=took[1],
        file_bytes=file_bytes,
        used_bytes=used_bytes,
        spare=spare,
        reads=reads,
        reading_seconds=used,
    )


def _sizes(store: Path, most: int) -> tuple[int, int, int]:
    with worlddb.open(store, create=False) as db:
        assert db.verify().ok
        pages = db._env._shared.env.stat()
        file_bytes = (store / "data.mdb").stat().st_size
        spare = _spare(db, most)
    used = pages["branch_pages"] + pages["leaf_pages"] + pages["overflow_pages"]
    return file_bytes, used * pages["psize"], spare


def _spare(db: worlddb.Database, most: int) -> int:
    """Count the commits, up to ``most``, that fit into free pages before the file grows."""
    file = db.path / "data.mdb"
    file_bytes = file.stat().st_size
    with db._env._shared.env.begin():  # What these commits let go of stays until this ends.
        for number in range(most):
            db.create("Fact", f"spare-{number}", content="as much as others had to say", resolve=False)
            if file.stat().st_size > file_bytes:
                return number
    return most


def write_steadily(store: Path, acknowledgements: Path, stop: Path) -> None:
    """Write worlds until ``stop`` is there; a line is ``seq ref processor-seconds name``."""
    acknowledge = Acknowledged(acknowledgements)
    with worlddb.open(store, author=acknowledgements.name, timeout_seconds=PATIENCE_SECONDS) as db:
        for number in itertools.count():
            name = f"{acknowledgements.name}-{number}"
            receipt = db.create("Fact", name, content=f"what {name} had to say", resolve=False)
            acknowledge(f"{receipt.seq} {receipt.ref} {time.process_time():.4f} {name}")
            if stop.exists():
                return


def read_steadily(store: Path, writers: list[Path], report: Path, reading: Path, stop: Path, share: float) -> None:
    """Read what was acknowledged last, and hold on to the first view, until ``stop`` is there.

    Takes its ``share`` of a core and no more. A line of the report is the number of reads and the processor time.
    """
    tell = Acknowledged(report)
    reads, used = 0, 0.0
    _wait_for(writers, [])
    with worlddb.open(store, author="reader", timeout_seconds=PATIENCE_SECONDS) as db:
        held = db.view()
        held_hash = held.hash()
        for _ in range(2):  # The first one loads what the second one takes time for.
            spent = _read_all(db, writers, ranked=True)
        tell("0 0")
        while not stop.exists():
            due = time.monotonic() + spent / share
            while not stop.exists() and (time.monotonic() < due or not reading.exists()):
                time.sleep(NAP_SECONDS)
            spent = _read_all(db, writers, ranked=reads % 8 == 0)
            assert held.hash() == held_hash
            reads, used = reads + 1, used + spent
        tell(f"{reads} {used}")


def _read_all(db: worlddb.Database, writers: list[Path], *, ranked: bool) -> float:
    """Read what each writer acknowledged last; the processor time that it took."""
    began = time.process_time()
    for writer in writers:
        _read_last(db, writer, ranked=ranked)
    return time.process_time() - began


def _read_last(db: worlddb.Database, writer: Path, *, ranked: bool) -> None:
    """Check that a view has what was acknowledged before it was made."""
    seq, ref, _, name = _last_line(writer).split()
    view = db.view()
    assert view.seq >= int(seq), f"the view is of {view.seq}, but {seq} was acknowledged before"
    world = view.get(ref)
    assert world is not None and world.name == name
    if ranked:
        assert name in [hit.name for hit in view.recall(name, k=50)]


def _last_line(file: Path) -> str:
    """The last whole line; a line on two pages may be there with its first half only."""
    with open(file, "rb") as opened:
        opened.seek(max(0, os.fstat(opened.fileno()).st_size - LINE_BYTES))
        return opened.read().decode().split("\n")[-2]


def _written(files: list[Path]) -> tuple[int, float]:
    """Count acknowledged worlds (their names count from 0) and the processor time."""
    last = [_last_line(file).split() for file in files]
    return sum(int(name.rpartition("-")[2]) + 1 for *_, name in last), sum(float(spent) for *_, spent, _ in last)


def _wait_for(files: list[Path], running: list[ForkServerProcess]) -> None:
    """Wait, a bounded time, until every process has begun."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not all(file.exists() and b"\n" in file.read_bytes() for file in files):
        assert time.monotonic() < deadline and all(process.exitcode is None for process in running), "one did not begin"
        time.sleep(NAP_SECONDS)
