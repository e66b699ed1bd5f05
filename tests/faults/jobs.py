"""What the processes of the fault tests do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path

import worlddb
from tests.faults.children import Acknowledged
from tests.faults.points import Cut, install
from tests.faults.script import Run


def cut_run(folder: Path, acknowledgements: Path, at: int, how: str) -> None:
    """Run the script until the ``at``-th point; with 0, to its end, and write the points passed beside it."""
    cut = Cut(at, how)
    install(cut)
    Run(folder, Acknowledged(acknowledgements)).whole()
    acknowledgements.with_suffix(".points").write_text("\n".join(cut.passed), "utf-8")


def write_and_read(folder: Path, acknowledgements: Path, author: str, count: int, together: Barrier) -> None:
    """Open the store when all others do, then write ``count`` worlds and read after each, acknowledging every write.

    A line is ``name seq ingest_time ref``.
    """
    acknowledge = Acknowledged(acknowledgements)
    together.wait()
    with worlddb.open(folder, author=author, timeout_seconds=60) as db:
        seen = 0
        for number in range(count):
            name = f"{author}-{number}"
            receipt = db.create("Fact", name, content=f"{author} wrote number {number}")
            acknowledge(f"{name} {receipt.seq} {receipt.ingest_time} {receipt.ref}")
            view = db.view()
            assert view.seq >= receipt.seq
            here = {world.name for world in view.children()}
            assert {f"{author}-{before}" for before in range(number + 1)} <= here
            assert len(here) >= seen
            seen = len(here)
            if number % 8 == 0:
                assert name in [hit.name for hit in view.recall(f"{author} wrote number {number}", k=100)]


def fork_and_use(folder: Path) -> None:
    """Fork with a store open: the child may not use it nor open it again, and disturbs nobody, however it exits."""
    db = worlddb.open(folder, author="parent")
    db.create("Fact", "before the fork")
    view = db.view()
    for way_out in (os._exit, sys.exit):
        child = os.fork()
        if not child:
            way_out(_in_the_fork(db, view, folder))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [world.name for world in view.children()] == ["before the fork"]
        assert db.create("Fact", "after the fork")
    assert db.verify(deep=True).ok
    db.close()
    child = os.fork()
    if not child:
        with worlddb.open(folder, author="child") as own:
            own.create("Fact", "by the child")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with worlddb.open(folder, author="parent") as db:
        names = [world.name for world in db.view().children()]
        assert names == ["before the fork", "after the fork", "after the fork", "by the child"]


def _in_the_fork(db: worlddb.Database, view: worlddb.View, folder: Path) -> int:
    """How many uses of the store were not refused."""
    forbidden: list[Callable[[], object]] = [
        db.head,
        db.view,
        lambda: list(view.children()),
        lambda: db.create("Fact", "never"),
        lambda: view.recall("anything"),
        db.verify,
        db.stats,
        lambda: worlddb.open(folder, author="child"),
    ]
    allowed = 0
    for use in forbidden:
        try:
            use()
            allowed += 1
        except worlddb.ForkedProcess:
            pass
    db.close()
    return allowed
