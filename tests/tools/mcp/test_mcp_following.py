"""What a client follows beside an answer: messages, tasks, questions to a person, and changes of resources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as protocol
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

import worlddb
from tests.support.mcp_clients import answer, run_bounded
from worlddb.tools.mcp import following
from worlddb.tools.mcp.server import MemoryServer
from worlddb.tools.mcp.session import Session

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
PURGE = {"kind": "user", "scope_id": "ada"}


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[worlddb.Database]:
    monkeypatch.setattr(following, "WATCH_SECONDS", 0.02)
    monkeypatch.setattr(following, "TASK_SECONDS", 0.0)
    with worlddb.open(tmp_path / "store", author="assistant", embedder=None) as store:
        with store.batch() as tx:
            ada = tx.create("Scope", "user:ada", key="user:ada", resolve=False)
            tx.create("Fact", "", content="Ada likes tea.", world=ada, resolve=False)
        yield store


def scope(db: worlddb.Database, name: str) -> str:
    return db.view().find(name=name)[0].ref


def holding(db: worlddb.Database) -> int:
    return len(db.view().find(type="Fact"))


@pytest.mark.parametrize(("said", "left"), [({"yes": True}, 0), ({"yes": False}, 1), (None, 1)])
def test_a_person_is_asked_before_a_scope_is_purged_without_its_name(
    db: worlddb.Database, said: dict[str, Any] | None, left: int
) -> None:
    asked = list[str]()

    async def ask(context: Any, params: Any) -> protocol.ElicitResult:
        asked.append(params.message)
        return protocol.ElicitResult(action="accept" if said else "decline", content=said)

    async def work() -> None:
        async with Client(MemoryServer(Session(db)), mode="auto", elicitation_callback=ask) as client:
            result = await client.call_tool("memory_retire_scope", PURGE)
            assert result.is_error == bool(left)
            assert (await client.call_tool("memory_retire_scope", {**PURGE, "confirm": "user:bob"})).is_error

    run_bounded(work)
    assert holding(db) == left and asked == ["Retire user:ada and the 1 memories in it? Nothing is erased."]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_nobody_is_asked_where_the_client_cannot_ask(db: worlddb.Database, mode: Any) -> None:
    async def work() -> None:
        async with Client(MemoryServer(Session(db)), mode=mode) as client:
            result = await client.call_tool("memory_retire_scope", PURGE)
            assert result.is_error and "confirm='user:ada'" in str(result.content)

    run_bounded(work)
    assert holding(db) == 1


def test_a_subscriber_is_told_of_what_reads_otherwise_to_it_and_of_nothing_else(db: worlddb.Database) -> None:
    with db.batch() as tx:
        tx.create("Scope", "user:bob", key="user:bob", resolve=False)
    ada, bob = scope(db, "user:ada"), scope(db, "user:bob")
    told = list[str]()

    async def keep(message: Any) -> None:
        if isinstance(message, protocol.ResourceUpdatedNotification):
            told.append(str(message.params.uri))

    async def work() -> None:
        async with Client(MemoryServer(Session(db, ada)), mode="legacy", message_handler=keep) as client:
            with pytest.raises(MCPError, match="no"):
                await client.subscribe_resource(f"worlddb://world/{bob}")
            await client.subscribe_resource(f"worlddb://world/{ada}")
            db.create("Fact", "", content="Bob likes coffee.", world=bob)
            await anyio.sleep(0.1)
            assert told == []
            db.create("Fact", "", content="Ada likes cake.", world=ada)
            while not told:
                await anyio.sleep(0.01)
            await client.unsubscribe_resource(f"worlddb://world/{ada}")
            db.create("Fact", "", content="Ada likes jam.", world=ada)
            await anyio.sleep(0.1)

    run_bounded(work)
    assert told == [f"worlddb://world/{ada}"]


def test_a_stream_of_changes_has_resources_and_their_list(db: worlddb.Database) -> None:
    ada = scope(db, "user:ada")

    async def work() -> None:
        async with Client(MemoryServer(Session(db)), mode="auto") as client:
            uri = f"worlddb://world/{ada}"
            async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as events:
                seen = set[str]()
                db.create("Fact", "", content="Ada likes cake.", world=ada)
                db.create("Scope", "user:bob")
                async for event in events:
                    seen.add(type(event).__name__)
                    if len(seen) == 2:
                        break
                assert seen == {"ResourceUpdated", "ResourcesListChanged"}

    run_bounded(work)


def test_messages_come_to_who_asked_for_them(db: worlddb.Database) -> None:
    told = list[Any]()

    async def keep(params: protocol.LoggingMessageNotificationParams) -> None:
        told.append((params.level, params.logger, params.data))

    async def work() -> None:
        async with Client(MemoryServer(Session(db)), mode="legacy", logging_callback=keep) as client:
            await answer(client, "memory_retire_all", **PURGE)
            assert told == []
            await client.set_logging_level("info")
            await answer(client, "memory_retire_scope", **PURGE, confirm="user:ada")
            await client.set_logging_level("error")
            await answer(client, "memory_verify")

    run_bounded(work)
    assert told == [("info", "memory_retire_scope", "0 memories are retired")]
