"""Kills writing processes at random instants: every acknowledged write stays."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import worlddb
from tests.support.faults.children import PATIENCE_SECONDS, Acknowledged, start, wait_for_exit
from tests.support.faults.jobs import write_until_killed

AUTHORS = ("one", "other")


KILLS_A_STORE, LOOKS_A_STORE = 50, 5


class Figures(NamedTuple):
    """What a run of kills came to."""

    kills: int
    stores: int
    acknowledged: int
    commits: int
    events: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.kills} kills in {self.seconds:.0f} s, {self.stores} stores: 0 of {self.acknowledged} acknowledged "
            f"writes lost, in {self.commits} commits with {self.events} events; 0 stores needed a person"
        )


def total(parts: list[Figures]) -> Figures:
    """Several runs as one."""
    kills, stores, acknowledged, commits, events, seconds = zip(*parts, strict=True)
    return Figures(sum(kills), sum(stores), sum(acknowledged), sum(commits), sum(events), sum(seconds))


def kill_in_several_stores(folder: Path, kills: int, seed: int, *, writes: int, seconds: float) -> Figures:
    """Kill in a new store every so often, so that checks stay quick and young stores are hit."""
    found: list[Figures] = []
    for first in range(0, kills, KILLS_A_STORE):
        part = folder / str(first)
        part.mkdir()
        count = min(KILLS_A_STORE, kills - first)
        found.append(kill_again_and_again(part, count, seed + first, writes=writes, seconds=seconds))
        shutil.rmtree(part)
    return total(found)


def kill_again_and_again(folder: Path, kills: int, seed: int, *, writes: int, seconds: float) -> Figures:
    """Let two processes write, kill one of them at a random instant, look, start it again; at the end look deeply.

    A kill comes after up to ``writes`` further acknowledged writes of its victim and then up to ``seconds``.
    """
    rng = random.Random(seed)
    store, began = folder / "store", time.monotonic()
    files = {author: Acknowledged(folder / f"acks-{author}") for author in AUTHORS}
    running = {author: _started(store, files[author], author) for author in AUTHORS}
    try:
        for kill in range(kills):
            victim = rng.choice(AUTHORS)
            _wait_for_more(files[victim], rng.randint(0, writes))
            time.sleep(rng.random() * seconds)
            running[victim].kill()
            assert wait_for_exit(running[victim]) == -signal.SIGKILL, f"{victim} ended by itself before kill {kill}"
            acknowledged = {author: file.lines() for author, file in files.items()}
            if (store / "data.mdb").exists() and any(acknowledged.values()):
                _check(store, acknowledged, whole=kill % (KILLS_A_STORE // LOOKS_A_STORE) == 0)
            running[victim] = _started(store, files[victim], victim)
    finally:
        for process in running.values():
            process.kill()
            wait_for_exit(process)
    lines = {author: file.lines() for author, file in files.items()}
    verified = _check(store, lines, deep=True)
    assert verified is not None
    seconds = time.monotonic() - began
    return Figures(kills, 1, sum(map(len, lines.values())), verified.commits, verified.events, seconds)


def _started(store: Path, file: Acknowledged, author: str):
    last = file.lines()
    return start(write_until_killed, store, file.file, author, int(last[-1].split()[0]) + 1 if last else 0)


def _wait_for_more(file: Acknowledged, count: int) -> None:
    """Wait, within a bound, for so many more acknowledged lines."""
    goal = len(file.lines()) + count
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(file.lines()) < goal:
        assert time.monotonic() < deadline, "nothing was written for a long time: a dead process blocks the others"
        time.sleep(0.002)


def _check(
    store: Path, acknowledged: dict[str, list[str]], *, whole: bool = True, deep: bool = False
) -> worlddb.Verified | None:
    """Check that all acknowledged writes are there, and if asked for, that everything verifies."""
    with worlddb.open(store, author="checker", timeout_seconds=PATIENCE_SECONDS) as db:
        verified = db.verify(deep=deep) if whole else None
        findings = () if verified is None else verified.findings
        # As long as somebody writes, an erasure may be on its way.
        bad = [found for found in findings if deep or "that it erased may still lie" not in found.problem]
        assert not bad, bad[:5]
        view = db.view()
        for author, lines in acknowledged.items():
            numbers = [int(line.split()[0]) for line in lines]
            assert numbers == list(range(len(numbers)))
            for line in lines if deep else lines[-5:]:
                number, seq, ingest_time, root, ref = line.split()
                then = db.view(seq=int(seq))
                assert (then.ingested, then.hash()) == (int(ingest_time), root)
                world = view.get(ref)
                assert world is not None and world.name == f"{author} {number}" and world.author == author
        return verified


def test_writes_survive_a_few_kills_at_random_instants(tmp_path: Path, seed: int) -> None:
    figures = kill_again_and_again(tmp_path, 3, seed, writes=6, seconds=0.05)
    assert figures.acknowledged >= 3
    assert figures.commits > figures.acknowledged


@pytest.mark.soak
def test_writes_survive_a_thousand_kills_at_random_instants(
    tmp_path: Path, seed: int, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    kills: int = request.config.getoption("--kills")
    figures = kill_in_several_stores(tmp_path, kills, seed, writes=10, seconds=0.05)
    with capsys.disabled():
        print(f"\n{figures}")
    assert figures.acknowledged > kills
