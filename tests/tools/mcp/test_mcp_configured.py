"""The configurations that the documentation gives for clients start a server, or reach one."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import worlddb
from tests.house.test_docs import blocks, text_of
from tests.support.mcp_clients import run_bounded
from tests.support.serving import HttpServer, serve_http
from tests.tools.mcp.http.test_mcp_keys import connected as with_key
from worlddb.tools.mcp.access_keys import KeyFile, default_key_file
from worlddb.tools.mcp.catalogue import TOOLS

PAGES = ("docs/howto/connect-an-mcp-client.md", "docs/mcp.md")
READ: dict[str, Any] = {"json": msgspec.json.decode, "toml": tomllib.loads}


def configured() -> list[tuple[str, str, dict[str, Any]]]:
    """The page, the word that servers stand under, and what is told of ours."""
    found = []
    for page in PAGES:
        for block in blocks(text_of(page)):
            if block.kind in READ:
                ((word, servers),) = READ[block.kind](block.body).items()
                found.append((page, word, servers["worlddb"]))
    return found


def test_there_is_a_configuration_for_each_form_that_clients_read() -> None:
    words = {(word, "url" in server) for page, word, server in configured() if page == PAGES[0]}
    assert words == {
        ("mcpServers", False),
        ("servers", False),
        ("context_servers", False),
        ("mcp_servers", False),
        ("mcpServers", True),
    }
    assert len(configured()) == 7


def told_to() -> list[dict[str, Any]]:
    """What clients are told to do, each once: some forms say the same in other words."""
    found: list[dict[str, Any]] = []
    for _, _, server in configured():
        assert "command" not in server or (server["command"], server.get("type", "stdio")) == ("worlddb", "stdio")
        told = {name: value for name, value in server.items() if name != "type" or "command" not in server}
        if told not in found:
            found.append(told)
    return found


@pytest.mark.parametrize("server", told_to(), ids="-".join)
def test_a_client_that_does_as_it_is_told_is_shown_the_tools(server: dict[str, Any], tmp_path: Path) -> None:
    store = tmp_path / "memory"

    async def look(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == {tool.name for tool in TOOLS}
        made = await client.call_tool("memory_write", {"text": "tea", "user_id": "ada"})
        assert not made.is_error

    async def started() -> None:
        words = [word.replace("/path/to/memory", str(store)) for word in server["args"]]
        asked = StdioServerParameters(command=sys.executable, args=["-m", "worlddb", *words])
        async with Client(stdio_client(asked)) as client:
            await look(client)

    async def reached(served: HttpServer, key: str) -> None:
        assert server["type"] == "http" and server["url"].endswith(":8766/mcp")
        assert server["headers"] == {"Authorization": "Bearer worlddb_..."} and key.startswith("worlddb_")
        async with with_key(served, key) as client:
            await look(client)

    if "command" in server:
        run_bounded(started)
    else:
        with worlddb.open(store) as db:
            key = KeyFile(default_key_file(store)).add(db.head().store_id, "laptop", None, write=True)
        with serve_http(store) as served:
            run_bounded(lambda: reached(served, key))
    with worlddb.open(store, create=False) as db:
        (fact,) = db.view().find(type="Fact")
        assert fact.author == ("assistant" if "command" in server else "laptop")
