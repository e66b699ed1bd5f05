"""A thousand calls do not grow the server's memory or its open files."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from tests.support.mcp_clients import answer, command, run_bounded
from tests.support.serving import serve_http

FEW, MANY = 60, 1_000
"""Calls until everything is loaded, and as many again or more."""
GROWTH_BYTES = 1_000
"""What each call may take for good, as the store grows by it."""
STEPS_BYTES = 30_000_000
"""What the text index may take when it first writes segments, mostly 5,000,000; a server holds some 140,000,000."""
CONNECTIONS = 4
"""How many a client of HTTP may hold at a time."""
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""The C library keeps free memory for each thread that has ever used some, which is not what is looked for."""
LONG_SECONDS = 600.0

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="what a process holds is read from /proc"
)


class Held(NamedTuple):
    """What a process holds."""

    anonymous_bytes: int
    files: int


def held(process: int) -> Held:
    """Memory that is no file's, and open descriptors."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    told = dict(line.split(":", 1) for line in lines)
    return Held(int(told["RssAnon"].split()[0]) * 1024, len(os.listdir(f"/proc/{process}/fd")))


async def use(client: Client, calls: int) -> None:
    """Write, read, ask and get wrong, about so many calls."""
    person = {"user_id": "ada", "app_id": "diary"}
    for number in range(calls // 12):
        made = await answer(client, "memory_write", text=f"Ada was in city {number}.", **person)
        new = await answer(client, "memory_amend", id=made["id"], text=f"Ada lived in city {number}.")
        await answer(client, "memory_recall", query="where did Ada live?", **person)
        await answer(client, "memory_as_of", query="Ada", known=made["seq"])
        await answer(client, "memory_list", **person)
        await answer(client, "memory_read", id=new["id"])
        await answer(client, "memory_history", id=new["id"])
        await answer(client, "memory_conflicts", **person)
        await client.read_resource(f"worlddb://timeline/{new['id']}?format=json")
        await client.get_prompt("what_is_known", {"about": "Ada"})
        assert (await client.call_tool("memory_write", {"text": "x", "author": "the boss"})).is_error
        with pytest.raises(MCPError):
            await client.call_tool("memory_erase", {})
        await answer(client, "memory_retire", id=new["id"])


def is_grown(taken: list[int]) -> bool:
    """Whether the parts of the calls took more than the index may, or most of them more than the store grows by."""
    if len(taken) == 1:
        return taken[0] >= STEPS_BYTES // 4
    return sum(taken) >= STEPS_BYTES or median(taken) >= GROWTH_BYTES * FEW


def check(client: Callable[[], Client], process: Callable[[], int], calls: int) -> None:
    """Use a server, and then use it again: what it holds has not grown.

    A leak grows with each part of the calls; what the text index takes at a segment, and keeps, comes in a few steps.
    """
    seen: list[Held] = []

    async def work() -> None:
        async with client() as connected:
            await use(connected, FEW)
            seen.append(held(process()))
            for _ in range(calls // FEW):
                await use(connected, FEW)
                seen.append(held(process()))

    run_bounded(work, LONG_SECONDS)
    taken = [after.anonymous_bytes - before.anonymous_bytes for before, after in pairwise(seen)]
    print(sum(taken), taken)
    assert seen[-1].files <= seen[0].files + CONNECTIONS
    assert not is_grown(taken)


def over_streams(store: Path, calls: int) -> None:
    name, *arguments = command(store)

    def child() -> int:
        """The one process that this one has started for the client."""
        found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return int(found[-1])

    server = StdioServerParameters(command=name, args=arguments, env=ONE_ARENA)
    check(lambda: Client(stdio_client(server)), child, calls)


def over_http(store: Path, calls: int) -> None:
    with serve_http(store, "--no-keys", "--rate", "5000") as server:
        check(lambda: Client(server.url, mode="legacy"), lambda: server.process.pid, calls)


def test_canary_a_leak_is_told_from_the_steps_of_the_index() -> None:
    steps = [16_384, 77_824, 12_288, 8_192, 4_096, -61_440, 827_392, 0, 4_096, 0, 0, 5_128_192, 0, 0, 6_000_000, 0]
    assert not is_grown(steps)
    assert is_grown([each + 1_000 * FEW for each in steps]) and is_grown([*steps, STEPS_BYTES])


def test_some_calls_do_not_grow_a_server(tmp_path: Path) -> None:
    over_streams(tmp_path / "store", FEW)


@pytest.mark.soak
@pytest.mark.parametrize("way", [over_streams, over_http])
def test_a_thousand_calls_do_not_grow_a_server(
    tmp_path: Path, way: Callable[[Path, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*next(iter(ONE_ARENA.items())))
    way(tmp_path / "store", MANY)
