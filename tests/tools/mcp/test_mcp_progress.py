"""Long MCP calls report progress, and a cancelled one leaves nothing half."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client

import worlddb
from tests.support.mcp_clients import answer, run_bounded
from tests.support.serving import PATIENCE_SECONDS
from worlddb.memory_scopes import Label
from worlddb.tools.mcp import following
from worlddb.tools.mcp.following import Progress
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Session, combine_passes

MEMORIES = 300
LONG = [
    ("memory_verify", {"deep": True}),
    ("memory_retire_all", {"kind": "user", "scope_id": "ada"}),
    ("memory_retire_scope", {"kind": "user", "scope_id": "ada", "confirm": "user:ada"}),
]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[worlddb.Database]:
    """A store with a scope of many memories."""
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        desk = Session(store)
        with store.batch() as tx:
            scope = desk.write_scope(tx, desk.key(store.view(), Label("user", "ada")))
            for number in range(MEMORIES):
                tx.create("Fact", "", content=f"note {number}", world=scope, resolve=False)
        yield store


class Held(Progress):
    """Holds the first call in its first step until it is cancelled; later calls go on."""

    begun = threading.Event()

    def step(self, done: int, total: int) -> None:
        super().step(done, total)
        if self.begun.is_set():
            return
        self.begun.set()
        for _ in range(100 * PATIENCE_SECONDS):
            threading.Event().wait(0.01)
            super().step(done, total)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> type[Held]:
    monkeypatch.setattr(following, "Progress", Held)
    Held.begun = threading.Event()
    return Held


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(("name", "arguments"), LONG)
def test_long_work_tells_how_far_it_is(db: worlddb.Database, name: str, arguments: dict[str, Any], mode: Any) -> None:
    told: list[tuple[float, float | None]] = []

    async def keep(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async def work() -> None:
        async with Client(MemoryServer(Session(db)), mode=mode) as client:
            result = await client.call_tool(name, arguments, progress_callback=keep)
            assert not result.is_error

    run_bounded(work)
    assert told and told == sorted(set(told)) and {total for _, total in told} == {100}
    assert 0 <= told[0][0] <= told[-1][0] == 100


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(("name", "arguments"), LONG)
def test_a_cancelled_call_stops_and_writes_nothing(
    db: worlddb.Database, held: type[Held], name: str, arguments: dict[str, Any], mode: Any
) -> None:
    head = db.head()

    async def work() -> None:
        async with Client(MemoryServer(Session(db)), mode=mode) as client:
            async with anyio.create_task_group() as calls:
                calls.start_soon(partial(client.call_tool, name, arguments))
                assert await anyio.to_thread.run_sync(held.begun.wait, PATIENCE_SECONDS)
                calls.cancel_scope.cancel()
            # The store is free again, and the server answers.
            assert (await answer(client, "memory_verify"))["ok"]
            await answer(client, "memory_write", text="after", user_id="bob")

    run_bounded(work)
    assert db.head().seq == head.seq + 1
    assert len(db.view().find(type="Fact")) == MEMORIES + 1
    assert db.verify(deep=True).ok


def test_a_client_that_leaves_ends_the_work_of_its_calls(db: worlddb.Database, held: type[Held]) -> None:
    head = db.head()

    async def work() -> None:
        async with anyio.create_task_group() as clients:

            async def call() -> None:
                async with Client(MemoryServer(Session(db)), mode="legacy") as client:
                    await client.call_tool("memory_retire_all", {"kind": "user", "scope_id": "ada"})

            clients.start_soon(call)
            assert await anyio.to_thread.run_sync(held.begun.wait, PATIENCE_SECONDS)
            clients.cancel_scope.cancel()

    run_bounded(work)
    assert db.head() == head


def test_progress_over_several_passes_only_grows() -> None:
    told: list[tuple[int, int]] = []
    step = combine_passes(lambda done, total: told.append((done, total)), 2)
    for done in (64, 128, 130, 64, 128, 130):
        step(done, 130)
    assert told == [(64, 260), (128, 260), (130, 260), (194, 260), (258, 260), (260, 260)]
    assert told == sorted(told)


def test_a_batch_whose_progress_raises_writes_nothing_and_one_that_goes_on_is_told_each_command(
    db: worlddb.Database,
) -> None:
    head, told = db.head(), []

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), db.batch(progress=stop) as tx:
        for number in range(3):
            tx.create("Fact", "", content=f"{number}")
    assert told == [(1, 3), (2, 3)] and db.head() == head
    told.clear()
    with db.batch(progress=lambda done, total: told.append((done, total))) as tx:
        for number in range(3):
            tx.create("Fact", "", content=f"{number}")
    assert told == [(1, 3), (2, 3), (3, 3)] and db.head().seq == head.seq + 1
