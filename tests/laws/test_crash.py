"""Ends a process at any point of any write: what it acknowledged stays, nothing is half."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

import worlddb
from tests.support.faults.children import Acknowledged, call
from tests.support.faults.jobs import cut_run
from tests.support.faults.points import EXIT_STATUS, SCRUB_STEPS, STEPS
from tests.support.faults.script import PERISHABLE, Run
from tests.support.faults.traces import find_traces

pytestmark = pytest.mark.long

EXIT_CODES = {"exit": EXIT_STATUS, "kill": -signal.SIGKILL}
Whole = tuple[worlddb.Head, list[str], list[str]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The uncut run: where it ends, what it acknowledges, and the points that it passes."""
    folder = tmp_path_factory.mktemp("whole")
    acknowledged = Acknowledged(folder / "acks")
    assert call(cut_run, folder / "store", acknowledged.file, 0, "exit") == 0
    with worlddb.open(folder / "store", author="reader") as db:
        assert db.verify(deep=True).ok
        head = db.head()
    return head, acknowledged.lines(), (folder / "acks.points").read_text("utf-8").splitlines()


def test_the_script_passes_every_kind_of_point_and_writes_all_sorts_of_events(whole: Whole, tmp_path: Path) -> None:
    _, acknowledged, points = whole
    assert len(acknowledged) >= 20
    assert len(points) > 150
    seams = {
        "Tables.flush",
        "LmdbLog.append",
        "TextIndex.apply_up_to",
        "text_index._skip_indexed",
        "WriterLock._write_holder",
    }
    assert {*STEPS, *SCRUB_STEPS, *seams} <= set(points)
    Run(tmp_path / "store", lambda line: None).whole()
    with worlddb.open(tmp_path / "store", author="reader") as db:
        assert len({entry.event for entry in db.log()}) >= 12


SOME_OR_ALL = pytest.mark.parametrize("places", ["some", pytest.param("all", marks=pytest.mark.soak)])


def of_each(points: list[str], names: Iterable[str], places: str) -> list[int]:
    """Where each of the points is passed: the first time, in the middle and the last time, or every time."""
    chosen: set[int] = set()
    for name in names:
        passed = [at for at, point in enumerate(points, 1) if point == name]
        chosen.update(passed if places == "all" else (passed[0], passed[len(passed) // 2], passed[-1]))
    return sorted(chosen)


@SOME_OR_ALL
def test_an_exit_at_any_point_keeps_what_was_acknowledged_and_the_run_goes_on_to_the_same_state(
    whole: Whole, memory: Path, places: str
) -> None:
    """A plain run ends at the first, the middle and the last of each kind of point, and at every hundredth of all."""
    among = of_each(whole[2], set(whole[2]), places)
    for at in sorted({*among, *range(1, len(whole[2]) + 1, 100)}):
        cut_and_go_on(whole, memory / str(at), at, "exit")


@SOME_OR_ALL
def test_a_kill_at_any_step_of_a_write_keeps_what_was_acknowledged_and_the_run_goes_on_to_the_same_state(
    whole: Whole, memory: Path, places: str
) -> None:
    for at in of_each(whole[2], STEPS + SCRUB_STEPS, places):
        cut_and_go_on(whole, memory / str(at), at, "kill")


def test_a_run_that_is_cut_again_and_again_ends_in_the_same_state(whole: Whole, tmp_path: Path, seed: int) -> None:
    """Each attempt gets a little further than some of those before it, and recovers from what they left."""
    rng = random.Random(seed)
    head, all_lines, points = whole
    acknowledged = Acknowledged(tmp_path / "acks")
    for _ in range(20):
        how = rng.choice(sorted(EXIT_CODES))
        assert call(cut_run, tmp_path / "store", acknowledged.file, rng.randint(1, len(points) // 2), how) != 1
    again: list[str] = []
    assert Run(tmp_path / "store", again.append).whole() == head
    assert again == all_lines
    assert set(acknowledged.lines()) <= set(all_lines)


def cut_and_go_on(whole: Whole, folder: Path, at: int, how: str) -> None:
    """Cut a run at a point, look at what is there, and go on to the end."""
    head, all_lines, points = whole
    folder.mkdir()
    acknowledged = Acknowledged(folder / "acks")
    where = f"{how} at point {at} ({points[at - 1]})"
    assert call(cut_run, folder / "store", acknowledged.file, at, how) == EXIT_CODES[how], where
    lines = acknowledged.lines()
    assert lines == all_lines[: len(lines)], where
    check_after_the_cut(folder / "store", lines, all_lines, where)
    again: list[str] = []
    assert Run(folder / "store", again.append).whole() == head, where
    assert again == all_lines, where


def check_after_the_cut(store: Path, lines: list[str], all_lines: list[str], where: str) -> None:
    """Every acknowledged write is there; at most one more is, and whole."""
    if not lines and not (store / "data.mdb").exists():
        return
    try:
        opened = worlddb.open(store, author="reader", create=False)
    except worlddb.NotAStore:
        assert not lines, where
        return
    with opened as db:
        found = db.head()
        first = int(all_lines[0].split()[1])
        reached = [line for line in all_lines if int(line.split()[1]) <= found.seq]
        assert len(lines) <= len(reached) <= len(lines) + 1, where
        assert found.seq == (int(reached[-1].split()[1]) if reached else first - 1), where
        for line in reached:
            _, seq, root = line.split()
            assert db.view(seq=int(seq)).hash() == root, where
        verified = db.verify(deep=True)
        assert verified.ok, f"{where}: {verified.findings}"
        if any(entry.event == "erased" for entry in db.log()):
            assert find_traces(store, ["team sits in Basel"]) == [], where
        if any(entry.event == "struck" for entry in db.log()):
            assert find_traces(store, [PERISHABLE]) == [], where


def test_a_commit_whose_last_page_write_is_lost_is_wholly_absent(tmp_path: Path) -> None:
    """LMDB writes a commit's pages first and the page that names them last: without it, the commit never was."""
    store = tmp_path / "store"
    with worlddb.open(store, author="a") as db:
        kept = [db.create("Fact", f"kept {number}", content="x" * 5000) for number in range(5)]
        before = db.head()
    metas, mark = (store / "data.mdb").read_bytes()[:8192], (store / "high-water").read_bytes()
    with worlddb.open(store, author="a") as db, db.batch() as tx:
        for number in range(50):
            tx.create("Fact", f"lost {number}", content="y" * 5000)
    with open(store / "data.mdb", "r+b") as file:
        file.write(metas)
    (store / "high-water").write_bytes(mark)
    with worlddb.open(store, author="a") as db:
        assert db.head() == before
        assert db.verify(deep=True).ok
        assert [world.name for world in db.view().children()] == [f"kept {number}" for number in range(5)]
        assert db.create("Fact", "after").seq == kept[-1].seq + 1
        assert db.verify(deep=True).ok


def test_an_exception_inside_a_write_leaves_nothing_behind_and_the_handle_goes_on(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="a") as db:
        before = db.head()
        for point in ("locked", "begun", "applied"):

            def fail(name: str, point: str = point) -> None:
                if name == point:
                    raise KeyboardInterrupt

            db._env.step = fail
            with pytest.raises(KeyboardInterrupt):
                db.create("Fact", "never")
            db._env.step = lambda name: None
            assert db.head() == before
        assert db.view().find(name="never") == []
        assert db.create("Fact", "ever").seq == before.seq + 1
        assert db.verify(deep=True).ok
