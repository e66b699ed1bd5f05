"""Connect the official MCP client to a server in another process or in this one."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.support.programs import Piped
from tests.support.serving import PATIENCE_SECONDS


def command(store: Path, *options: str) -> list[str]:
    """The command that starts a server on a store."""
    return [sys.executable, "-m", "worlddb", "--store", str(store), "mcp", *options]


def start_server(store: Path) -> Piped:
    """Start a server on a store for raw bytes, already loaded."""
    return Piped("worlddb", "--store", store, "mcp", cwd=store.parent)


def run_bounded(work: Callable[[], Awaitable[None]], patience_seconds: float = PATIENCE_SECONDS) -> None:
    """Run a coroutine, and fail rather than wait for ever."""

    async def bounded() -> None:
        with anyio.fail_after(patience_seconds):
            await work()

    anyio.run(bounded)


LISTS = frozenset(("memory_recall", "memory_list", "memory_as_of"))
"""Tools that answer in lines of text unless they are asked for all fields."""


def with_all_fields(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with those that make a tool answer with all fields."""
    return {**arguments, "detail": "full"} if name in LISTS else arguments


@asynccontextmanager
async def connect_client(store: Path, *options: str) -> AsyncIterator[Client]:
    """Connect the official client to a server of its own."""
    program, *arguments = command(store, *options)
    async with Client(stdio_client(StdioServerParameters(command=program, args=arguments))) as client:
        yield client


async def answer(client: Client, name: str, /, **arguments: Any) -> Any:
    """The structured answer of a tool, checked against its text; a list has all fields."""
    result = await client.call_tool(name, with_all_fields(name, arguments))
    assert not result.is_error, result.content
    (text,) = result.content
    assert text.type == "text" and json.loads(text.text) == result.structured_content
    return result.structured_content
