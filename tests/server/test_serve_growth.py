"""Any number of requests do not grow the server's memory or its open files."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.server.test_serve import Server, serving

FEW, MANY = 1_500, 1_000_000
FIRST = 200_000
"""Of many, those after which everything is loaded."""
SETTLED = 0.5
"""Seconds for which what a server holds stays the same, once its threads have loaded and indexed."""
GROWTH = 1.05
WORLDS, CONNECTIONS = 50, 16

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="what a process holds is read from /proc"
)


def held(process: int) -> tuple[int, int]:
    """Bytes of memory that are no file's, and open descriptors."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    told = dict(line.split(":", 1) for line in lines)
    return int(told["RssAnon"].split()[0]) * 1024, len(os.listdir(f"/proc/{process}/fd"))


def settled(process: int) -> tuple[int, int]:
    """What a process holds when it has stopped loading what its first requests asked for."""
    now = held(process)
    for _ in range(60):
        time.sleep(SETTLED)
        before, now = now, held(process)
        if now[0] - before[0] < before[0] // 1_000:
            break
    return now


def request(server: Server, number: int, seldom: int) -> bytes:
    """One of many requests: mostly reads, some that are refused, and a few writes, most of them repeated.

    ``seldom``: of those that take long there is one of each kind in so many times twenty.
    """
    world, body, key = f"w{number % WORLDS}", b"", ""
    kind, is_long = number % 20, number // 20 % seldom == 0
    method, path = "GET", f"/v1/worlds/{world}"
    if kind in (1, 2):
        path += f"/members?limit={number % 7 + 1}"
    elif kind == 3:
        path = f"/v1/worlds/nobody-{number}"
    elif kind == 4 and is_long:
        path += f"/recall?text=the+ferry+{number % 97}&k=3"
    elif kind == 5:
        path += f"/statements?limit={number % 50 + 1}"
    elif kind == 6:
        method, path = "PUT", f"/v1/worlds/{world}"
    elif kind == 7 and is_long:
        method, path, body = "POST", "/v1/worlds", b'{"name": %d' % number
    elif kind == 8 and is_long:
        method, path, key = "PATCH", f"/v1/worlds/{world}", f"once-{number % 40}"
        body = b'{"content": "%d"}' % (number % 40)
    elif kind == 9:
        path = ("/v1/limits", "/metrics", "/v1/log?limit=3", "/v1/usage?by=total")[number // 20 % 4 if is_long else 0]
    told = f"Idempotency-Key: {key}\r\n" if key else ""
    told += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    host = urlsplit(server.url).netloc
    return (
        f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.key}\r\n{told}\r\n".encode() + body
    )


async def ask(server: Server, requests: Iterator[bytes]) -> None:
    """Send requests over some connections, each when the one before was answered."""
    address = urlsplit(server.url)

    async def some() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for each in requests:
            writer.write(each)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert head[9:12] in (b"200", b"201", b"404", b"409", b"422"), head
            await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        writer.close()

    await asyncio.gather(*(some() for _ in range(CONNECTIONS)))


def check(folder: Path, first: int, count: int, growth: float, seldom: int = 1) -> None:
    """What a server holds after all requests is at most so much of what it held after the first of them."""
    with serving(folder / "store", "--rate", "100000") as server:
        with server.client() as client:
            for number in range(WORLDS):
                client.put(f"/v1/worlds/w{number}").raise_for_status()
        asyncio.run(ask(server, (request(server, number, seldom) for number in range(first))))
        before = settled(server.process.pid)
        asyncio.run(ask(server, (request(server, number, seldom) for number in range(first, count))))
        after = held(server.process.pid)
    print(before, after)
    assert after[0] <= before[0] * growth and after[1] <= before[1] + CONNECTIONS


@pytest.mark.soak
@pytest.mark.long
def test_a_million_requests_do_not_grow_a_server(tmp_path: Path) -> None:
    """What takes long is seldom, 2,000 times of each kind, so that they take minutes and not an hour."""
    check(tmp_path, FIRST, MANY, GROWTH, seldom=25)


def test_some_requests_do_not_grow_a_server(tmp_path: Path) -> None:
    """So few of them that what caches take still shows; a leak of ten kilobytes a request would be more."""
    check(tmp_path, FEW // 3, FEW, 1.06)
