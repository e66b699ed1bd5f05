"""Several processes say, correct, hide, move and end a few statements: what is acknowledged held at its commit."""

import multiprocessing
import random
import time
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.tools.mcp.test_mcp_tools import call
from worlddb.tools.agents import remember
from worlddb.tools.mcp.session import Session

SAID = [f"Ana likes {what}." for what in ("tea", "coffee", "milk", "juice")]
NEAR = ("note", "propose", "supersede_same_subject")


def live(folder: Path, seed: int, seconds: float) -> list[tuple[int, str, str]]:
    """Write for a while as one of several agents of a user; returns commit, id and text of what was acknowledged."""
    rnd, acknowledged = random.Random(seed), []
    with worlddb.open(folder, author=f"agent {seed}", embedder=None) as db:
        mem, desk = worlddb.memory(db, user="ana", agent=f"agent {seed}", session="s"), Session(db)
        elsewhere, end = db.create("Topic", "elsewhere", key="elsewhere").ref, time.monotonic() + seconds
        while time.monotonic() < end:
            text, how = rnd.choice(SAID), rnd.randrange(10)
            try:
                scopes = db.view().find(name="user:ana")
                if how < 4 or not scopes:
                    added = mem.add(text, about="Ana", on_near=rnd.choice(NEAR))
                    acknowledged.append((added.seq, added.id, text))
                elif how < 6:
                    told: Any
                    if how == 4:
                        told = remember(db, text, about="Ana", world=scopes[0].ref)
                    else:
                        told = call(desk, "memory_write", text=text, user_id="ana", about=["Ana"])
                    acknowledged.append((told["seq"], told["id"], text))
                else:
                    change(rnd, mem, [each for each in db.view(world=scopes[0].ref).find() if each.content], elsewhere)
            except worlddb.WorldDBError:
                pass  # Of a memory that somebody else ended, say; it was not acknowledged.
    return acknowledged


def change(rnd: random.Random, mem: worlddb.Memory, held: list[worlddb.World], elsewhere: str) -> None:
    if not held:
        return
    db, ref = mem.db, rnd.choice(held).ref
    changes = [
        lambda: mem.correct(ref, rnd.choice(SAID)),
        lambda: mem.forget(ref),
        lambda: mem.expire(ref, expires_at="2020-01-01"),
        lambda: db.deprecate(ref),
        lambda: db.move(ref, elsewhere),
        lambda: db.erase(ref, reason="r"),
        lambda: mem.add(rnd.choice(SAID), about="Ana", replaces=ref),
        lambda: rnd.random() < 0.2 and db.retire(db.view().find(name="user:ana")[0], members=rnd.random() < 0.5),
    ]
    rnd.choice(changes)()


@pytest.mark.soak
def test_what_several_agents_of_one_user_say_holds_in_their_memory_when_it_is_acknowledged(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Without the look under the lock 13 of 284 were lost: taken for said of what said something else by then."""
    seed = int(request.config.getoption("--seed") or 1)
    worlddb.open(tmp_path / "store", embedder=None).close()
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        lives = pool.starmap(live, [(tmp_path / "store", 10 * seed + agent, 20.0) for agent in range(3)])
    looked_at = 0
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        for seq, ref, text in (each for acknowledged in lives for each in acknowledged):
            (step,) = db.steps(seq, seq)
            then = db.view(seq=seq, valid=step.receipt.ingest_time)
            newest = db.view().get(ref, include_superseded=True)
            if newest is None or newest.erased:
                continue
            found = then.get(ref)
            assert found is not None and found.content == text, f"commit {seq}"
            around = [then.get(each, include_superseded=True) for each in then.containers(ref)]
            assert "user:ana" in [each.name for each in around if each is not None], f"commit {seq}"
            looked_at += 1
        assert looked_at > 30 and db.verify(deep=True).ok
