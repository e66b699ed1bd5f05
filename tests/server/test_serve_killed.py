"""Kills servers at random instants: every write that was acknowledged over HTTP stays."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore
from typing import Any, NamedTuple

import httpx
import pytest

import worlddb
from tests.server.test_serve import PATIENCE_SECONDS, Server, serving

WRITERS = 3
MOMENT_SECONDS = 0.02


class Written(NamedTuple):
    """A write that was answered: its receipt, and what is there since."""

    seq: int
    root: str
    ref: str
    said: str


def write_until_it_ends(server: Server, number: int, done: Semaphore) -> list[Written]:
    """Send one write after another until the server is gone; what was acknowledged."""
    found: list[Written] = []
    with server.client() as client:
        try:
            while True:
                said = f"writer {number}, write {len(found)}"
                method, path, body = _next(number, len(found), found, said)
                told = client.request(method, path, json=body)
                assert told.status_code in (200, 201), told.text
                receipt: Any = told.json().get("receipt") or told.json()
                ref = receipt["refs"][0] if method == "POST" else found[-1].ref
                found.append(Written(receipt["seq"], receipt["root"], ref, said))
                done.release()
        except httpx.HTTPError:
            return found


def _next(number: int, count: int, found: list[Written], said: str) -> tuple[str, str, dict[str, Any]]:
    """A new world, a memory, or a revision of the last world, by turns."""
    if count % 3 == 0:
        return "POST", "/v1/worlds", {"name": said, "content": said}
    if count % 3 == 1:
        return "POST", f"/v1/worlds/home-{number}/memories", {"text": said}
    return "PATCH", f"/v1/worlds/{found[-1].ref}", {"content": said}


def kill_again_and_again(folder: Path, kills: int, seed: int, *, writes: int) -> int:
    """Kill the server of one store again and again, and look each time; how many writes were acknowledged.

    A kill comes a moment after up to ``writes`` writes.
    """
    rng = random.Random(seed)
    store, key, all_written = folder / "store", "", 0
    for kill in range(kills):
        with serving(store, "--rate", "100000") as server, ThreadPoolExecutor(WRITERS) as pool:
            key = server.key or key
            done = Semaphore(0)
            told = server._replace(key=key)
            jobs = [pool.submit(write_until_it_ends, told, number, done) for number in range(WRITERS)]
            for _ in range(rng.randint(1, writes)):
                assert done.acquire(timeout=PATIENCE_SECONDS), "nothing was written"
            time.sleep(rng.random() * MOMENT_SECONDS)
            server.process.kill()
            assert server.process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
            written = [each for job in jobs for each in job.result(PATIENCE_SECONDS)]
        assert written, "nothing was acknowledged"
        check(store, written, whole=kill in (0, kills - 1))
        all_written += len(written)
    return all_written


def check(store: Path, written: Iterable[Written], *, whole: bool) -> None:
    """Look for every write, at the commit that its answer named and now."""
    with worlddb.open(store, embedder=None) as db:
        assert not whole or db.verify().findings == ()
        now = db.view()
        for each in written:
            then = db.view(seq=each.seq)
            assert then.hash() == each.root
            assert each.said in [version.content for version in now.history(each.ref)], each
        assert db.accounts.usage().trouble == ""


def test_what_was_acknowledged_over_http_survives_a_kill(tmp_path: Path, seed: int) -> None:
    assert kill_again_and_again(tmp_path, 1, seed, writes=20) >= 1


@pytest.mark.soak
def test_what_was_acknowledged_over_http_survives_many_kills(
    tmp_path: Path, seed: int, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    kills = max(1, request.config.getoption("--kills") // 10)
    written = kill_again_and_again(tmp_path, kills, seed, writes=100)
    with capsys.disabled():
        print(f"\n{kills} kills of a server: 0 of {written} acknowledged writes lost")
    assert written > kills
