"""A thousand calls do not grow the server's memory or its open files."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import accumulate, pairwise
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
GROWTH_BYTES = 3_000
"""What each call may take for good: three of thirteen write, and caches, vectors and tries keep 1,900 a call."""
READ_BYTES = 500_000
"""What a hundred calls and more that only read may take: once all is loaded they keep nothing."""
THREAD_HEAPS = 3
"""How many a server may have; it had ten and more, one for each thread that ever ran."""
HEAP_BYTES = 64 << 20
"""The addresses of a heap that the C library makes for threads, which begins at a multiple of it."""
STEPS_BYTES = 8_000_000
"""What caches may take in steps, mostly 1,000,000; a server holds some 120,000,000."""
BUFFER_BYTES = 16_000_000
"""What a step of the text index holds while it is written."""
CONNECTIONS = 4
"""How many a client of HTTP may hold at a time."""
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


def thread_heaps(process: int) -> int:
    """How many heaps of the C library threads have."""
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    begins = [
        int(line.partition("-")[0], 16) for line in lines if line.split()[1:] == ["rw-p", "00000000", "00:00", "0"]
    ]
    return sum(begin % HEAP_BYTES == 0 for begin in begins)


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


async def read(client: Client, calls: int) -> None:
    """Ask and list, in about so many calls."""
    person = {"user_id": "ada", "app_id": "diary"}
    for number in range(calls // 2):
        await answer(client, "memory_recall", query=f"did Ada live in city {number}?", **person)
        await answer(client, "memory_list", **person)


def is_grown(held_bytes: list[int]) -> bool:
    """Whether a server holds more at the end than at the beginning, or a bit more after most parts of the calls.

    The text index may be written at any one moment, but not at most of them.
    """
    if len(held_bytes) == 2:
        return held_bytes[1] - held_bytes[0] >= STEPS_BYTES + BUFFER_BYTES
    third = len(held_bytes) // 3
    steps = [after - before for before, after in pairwise(held_bytes)]
    return (
        median(held_bytes[-third:]) - median(held_bytes[:third]) >= STEPS_BYTES or median(steps) >= GROWTH_BYTES * FEW
    )


def check(client: Callable[[], Client], process: Callable[[], int], calls: int) -> None:
    """Use a server, and then use it again: what it holds has not grown, and does not by reads.

    A leak grows with each part of the calls; what caches take comes in a few steps.
    """
    seen: list[Held] = []
    heaps: list[int] = []
    after_reads: list[int] = []

    async def work() -> None:
        async with client() as connected:
            await use(connected, FEW)
            seen.append(held(process()))
            for _ in range(calls // FEW):
                await use(connected, FEW)
                seen.append(held(process()))
                heaps.append(thread_heaps(process()))
            for _ in range(calls // FEW):
                await read(connected, FEW)
                after_reads.append(held(process()).anonymous_bytes)

    run_bounded(work, LONG_SECONDS)
    held_bytes = [each.anonymous_bytes for each in seen]
    print(held_bytes, heaps, after_reads)
    # One for each thread took 80,000,000 bytes over a thousand calls.
    assert heaps[-1] <= THREAD_HEAPS
    assert seen[-1].files <= seen[0].files + CONNECTIONS
    assert not is_grown(held_bytes), held_bytes
    assert after_reads[-1] - after_reads[len(after_reads) // 2] <= READ_BYTES, after_reads


def over_streams(store: Path, calls: int) -> None:
    name, *arguments = command(store)

    def child() -> int:
        """The one process that this one has started for the client."""
        found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return int(found[-1])

    server = StdioServerParameters(command=name, args=arguments)
    check(lambda: Client(stdio_client(server)), child, calls)


def over_http(store: Path, calls: int) -> None:
    with serve_http(store, "--no-keys", "--rate", "5000") as server:
        check(lambda: Client(server.url, mode="legacy"), lambda: server.process.pid, calls)


WAYS = [over_streams, over_http]


def test_canary_a_leak_is_told_from_the_steps_of_caches_and_from_a_buffer() -> None:
    steps = [16_384, 77_824, 12_288, 8_192, 4_096, -61_440, 827_392, 0, 4_096, 0, 0, 577_536, 0, 0, BUFFER_BYTES, 0]
    flat = list(accumulate(steps, initial=120_000_000))
    assert not is_grown(flat)
    assert is_grown([each + GROWTH_BYTES * FEW * part for part, each in enumerate(flat)])
    assert is_grown([each + (STEPS_BYTES if part > len(flat) // 2 else 0) for part, each in enumerate(flat)])


@pytest.mark.parametrize("way", WAYS)
def test_some_calls_do_not_grow_a_server(tmp_path: Path, way: Callable[[Path, int], None]) -> None:
    way(tmp_path / "store", FEW)


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
def test_a_thousand_calls_do_not_grow_a_server(tmp_path: Path, way: Callable[[Path, int], None]) -> None:
    way(tmp_path / "store", MANY)
