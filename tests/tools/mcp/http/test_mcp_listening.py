"""Tests where the MCP server listens, what it does not wait for, and its limits."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import anyio
import pytest
import uvicorn
from uvicorn.server import ServerState

from tests.house.test_docs import text_of
from tests.house.test_docs_facts import rows, section
from tests.support.mcp_clients import run_bounded
from tests.support.running import LocalRunner
from tests.support.serving import PATIENCE_SECONDS
from worlddb import InputError
from worlddb.tools.mcp import access_keys, http_guards, http_server, listening, tenants
from worlddb.tools.mcp.http_guards import BodyTimeout
from worlddb.tools.mcp.listening import Address, parse_address


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--http"], "--no-keys"),
        (["--http", "0.0.0.0:0", "--no-keys"], "everybody"),
        (["--http", "127.0.0.1:99999", "--no-keys"], "not an address"),
        (["--http", "nonsense", "--no-keys"], "not an address"),
        (["--http", "127.0.0.1:0", "--no-keys", "--world", "nobody"], "nobody"),
        (["--http", "192.0.2.1:0", "--no-keys"], "192.0.2.1"),
        (["--no-keys"], "--http"),
        (["--allow-host", "x"], "--http"),
        (["--rate", "5"], "--http"),
    ],
)
def test_an_unservable_store_is_reported_at_once(writing: LocalRunner, options: list[str], told: str) -> None:
    run = writing("mcp", *options)
    assert run.code == (1 if "--world" in options else 2)
    assert told in run.err and run.out == ""


def test_addresses_are_read_as_people_write_them() -> None:
    given = {
        "127.0.0.1:80": Address("127.0.0.1", 80),
        "localhost:0": Address("localhost", 0),
        "8766": Address("127.0.0.1", 8766),
        "[::1]:8766": Address("::1", 8766),
        "0.0.0.0:1": Address("0.0.0.0", 1),
    }
    assert {text: parse_address(text) for text in given} == given
    assert [address.is_loopback for address in given.values()] == [True, True, True, True, False]
    for text in ("", ":80", "::1:80", "a:b", "a:-1", "a:65536", "a:8²", "[::1]", "a:000080"):
        with pytest.raises(InputError):
            parse_address(text)


CHUNKED = (b"transfer-encoding", b"chunked")


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worlddb.tools.mcp.http_guards.BODY_SECONDS", 0.05)
    sent: list[int] = []

    async def app(scope: object, receive: object, send: object) -> None:
        while (await receive())["more_body"]:  # type: ignore[operator]
            pass

    pieces = [{"type": "http.request", "body": b"x", "more_body": True}]

    async def receive() -> dict[str, object]:
        if pieces:
            return pieces.pop()
        await anyio.sleep(PATIENCE_SECONDS)
        raise AssertionError

    async def note(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            sent.append(int(str(message["status"])))

    async def work() -> None:
        await BodyTimeout(app)({"type": "http", "headers": [CHUNKED]}, receive, note)  # type: ignore[arg-type]

    run_bounded(work)
    assert sent == [408]


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HTTP/1.1\r\nHost: x\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET"])
def test_a_connection_on_which_no_request_comes_is_cut_and_one_that_waits_for_its_answer_is_not(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(http_server, "IDLE_SECONDS", 0.1)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await anyio.sleep(0.5)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def work() -> None:
        config = uvicorn.Config(slow, log_config=None, lifespan="off", ws="none")
        config.load()
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: http_server.Connection(
                config=config, server_state=state, app_state={}, pool=http_server.ConnectionPool()
            ),
            "127.0.0.1",
            0,
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(sent)
            got = b""
            try:
                while piece := await reader.read(1_000):
                    got += piece
            except ConnectionResetError:
                pass
            assert got.startswith(b"HTTP/1.1 204") if b"GET /" in sent else got == b""
            writer.close()

    run_bounded(work)


def test_every_limit_is_on_the_page() -> None:
    told = [row[1].split()[0].replace(",", "") for row in rows(section(text_of("docs/mcp.md"), "## Limits over HTTP"))]
    assert [int(number) for number in told] == [
        http_server.MAX_HEAD_BYTES,
        tenants.MAX_BODY_BYTES,
        http_guards.BODIES_BYTES,
        http_server.MAX_CHUNKS,
        http_server.MAX_WAITING,
        http_server.HEAD_SECONDS,
        http_server.IDLE_SECONDS,
        http_guards.BODY_SECONDS,
        http_server.MAX_CONNECTIONS,
        http_server.MAX_STRANGERS,
        tenants.MAX_SESSIONS,
        tenants.SESSION_SECONDS,
        tenants.RESUMED_SECONDS,
        listening.UNREAD_SECONDS,
        access_keys.PER_SECOND,
        access_keys.PER_SECOND * access_keys.SECONDS_AT_ONCE,
        http_guards.MAX_UNDER_WAY,
        tenants.MAX_THREADS,
        access_keys.MAX_KEYS,
    ]


def test_no_piece_of_an_answer_waits_for_the_one_before() -> None:
    listener = listening.listen(listening.parse_address("127.0.0.1:0"))
    with listener, socket.create_connection(listener.getsockname()[:2]), listener.accept()[0] as accepted:
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
