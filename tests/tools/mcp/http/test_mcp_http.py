"""The MCP server over HTTP: the official client, and requests that no client should send."""

from __future__ import annotations

import json
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client

from tests.support.mcp_clients import answer, run_bounded
from tests.support.running import LocalRunner
from tests.support.serving import HELLO, PATIENCE_SECONDS, HttpServer, message, read_reply, request, send, serve_http
from tests.tools.mcp.test_mcp_stdio import head_of, use_every_tool
from worlddb.tools.mcp import tenants

MODES = ("legacy", "auto")
"""With a session that is begun by a handshake, as clients do until 2025, and without."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with serve_http(
        tmp_path_factory.mktemp("http") / "store", "--no-keys", "--author", "assistant", "--rate", "5000"
    ) as served:
        yield served


@asynccontextmanager
async def connected(server: HttpServer, mode: str = "auto") -> AsyncIterator[Client]:
    """The official client."""
    async with Client(server.url, mode=mode) as client:
        yield client


def test_the_official_client_lists_and_calls_every_tool(server: HttpServer) -> None:
    async def work() -> None:
        async with connected(server) as client:
            await use_every_tool(client)

    run_bounded(work)


@pytest.mark.parametrize("mode", MODES)
def test_the_source_of_a_write_names_the_client(server: HttpServer, mode: str) -> None:
    async def work() -> None:
        async with connected(server, mode) as client:
            made = await answer(client, "memory_write", text="Riga is wet.", run_id=mode)
            assert (await answer(client, "memory_read", id=made["id"]))["source"] == {
                "channel": "mcp",
                "client": "mcp",
                "tool": "memory_write",
            }

    run_bounded(work)


def test_clients_at_once_get_their_own_answers(server: HttpServer) -> None:
    async def one(number: int) -> None:
        async with connected(server, MODES[number % 2]) as client:
            for turn in range(4):
                text = f"client {number}, turn {turn}"
                made = await answer(client, "memory_write", text=text, run_id=str(number))
                assert (await answer(client, "memory_read", id=made["id"]))["text"] == text
            assert len((await answer(client, "memory_list", run_id=str(number)))["memories"]) == 4

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(one, number)

    run_bounded(work)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": ""}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://HERE"}, 200),
        ({"Host": "localhost:PORT", "Origin": "http://localhost:PORT"}, 200),
        ({"Content_Type": "text/plain"}, 400),
        ({"Content_Type": ""}, 400),
        ({"Accept": "text/html"}, 406),
    ],
)
def test_pages_of_others_and_wrong_kinds_of_content_are_turned_away(
    server: HttpServer, headers: dict[str, str], status: int
) -> None:
    told = {name: value.replace("PORT", str(server.port)) for name, value in headers.items()}
    here = f"127.0.0.1:{server.port}"
    if "HERE" in told.get("Origin", ""):
        told["Origin"] = f"http://{here}"
    head = head_of(server.store)
    assert send(server, request(body=json.dumps(HELLO).encode(), **told)).status == status
    assert head_of(server.store) == head


WRITE = message("tools/call", name="memory_write", arguments={"text": "x", "user_id": "a"})
BAD = [
    (request(body=b"nonsense"), 400),
    (request(body=b""), 400),
    (request(body=b"[1, 2"), 400),
    (request(body=b"\xff\xfe\x00"), 400),
    (request(body=WRITE.replace(b'"x"', b'"\xe9"')), 400),
    (request(body=b"[" * 100_000), 400),
    (request(body=b"[" + WRITE + b"]"), 400),
    (request(body=b'{"jsonrpc": "2.0", "id": 5, "method": 7}'), 400),
    (request(body=WRITE), 400),
    (request(body=WRITE, Mcp_Session_Id="0" * 32), 404),
    (request("GET", Mcp_Session_Id="0" * 32), 404),
    (request("DELETE"), 400),
    (request("PUT", b"x"), 405),
    (request("OPTIONS"), 405),
    (request(path="/"), 404),
    (request(path="/mcp/../etc/passwd"), 404),
    (request(body=b"", Content_Length=str(10**12)), 413),
    (request(body=b"", Content_Length="-1"), 400),
    (request(body=WRITE, Content_Length="two"), 400),
    (request(MCP_Protocol_Version="2026-07-28", body=b"\xff"), 400),
    (request(MCP_Protocol_Version="2026-07-28", body=WRITE), 400),
    (request(MCP_Protocol_Version="1066-10-14", body=WRITE), 400),
    (b"GET /mcp HTTP/1.1\r\nno colon\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100, 400),
    (b"POST /mcp HTTP/1.1\r\nHost: HERE\r\nX: " + b"y" * 200_000, 400),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_what_is_no_request_of_the_protocol_is_refused_and_writes_nothing(server: HttpServer, number: int) -> None:
    raw, status = BAD[number]
    head = head_of(server.store)
    assert send(server, raw).status == status
    assert head_of(server.store) == head
    assert send(server, request(body=json.dumps(HELLO).encode())).status == 200


def test_giant_bodies_are_cut_off_with_and_without_a_length(server: HttpServer) -> None:
    head = head_of(server.store)
    piece = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    begin = request(body=b"", Transfer_Encoding="chunked", Content_Length="")
    for raw in (
        request(body=b"x" * (8 * tenants.MAX_BODY_BYTES)),
        begin + piece * (tenants.MAX_BODY_BYTES // 65_536 + 2),
    ):
        assert send(server, raw).status in (413, 0)
    server.logs(" 413 ")
    assert head_of(server.store) == head


def test_clients_that_hang_up_half_way_leave_no_trace(server: HttpServer) -> None:
    head = head_of(server.store)
    whole = request(body=WRITE).replace(b"HERE", f"127.0.0.1:{server.port}".encode())
    for end in (1, 20, whole.index(b"\r\n\r\n"), len(whole) - 10):
        for half_closed in (False, True):
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as link:
                link.sendall(whole[:end])
                if half_closed:
                    link.shutdown(socket.SHUT_WR)
                    assert read_reply(link).status in (0, 400)
    assert head_of(server.store) == head
    assert send(server, request(body=json.dumps(HELLO).encode())).status == 200


def test_readers_that_do_not_read_hold_nobody_up(server: HttpServer) -> None:
    async def work() -> None:
        async with connected(server) as client:
            made = await answer(client, "memory_write", text="x" * 100_000, user_id="long")
            call = {"name": "memory_read", "arguments": {"id": made["id"]}}
            opened = send(server, request(body=json.dumps(HELLO).encode()))
            (session,) = [line[16:] for line in opened.head.splitlines() if line.startswith("mcp-session-id: ")]
            links: list[socket.socket] = []
            try:
                for number in range(8):
                    link = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS)
                    links.append(link)
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                    for turn in range(40):
                        body = message("tools/call", number=100 * number + turn + 2, **call)
                        raw = request(body=body, Mcp_Session_Id=session, Connection="keep-alive")
                        link.sendall(raw.replace(b"HERE", f"127.0.0.1:{server.port}".encode()))
                for _ in range(5):
                    assert (await answer(client, "memory_read", id=made["id"]))["characters"] == 100_000
            finally:
                for link in links:
                    link.close()

    run_bounded(work)


def mutated(rng: random.Random, raw: bytes) -> bytes:
    """A request with something wrong in it: bytes changed, left out, doubled, or rubbish put in."""
    changed = bytearray(raw)
    for _ in range(rng.randrange(1, 6)):
        start = rng.randrange(len(changed)) if changed else 0
        end = min(len(changed), start + rng.choice((1, 1, 2, 8, 100)))
        piece = rng.choice((b"", bytes(changed[start:end]) * 2, rng.randbytes(end - start), b"\r\n", b'"', b"\xff"))
        changed[start:end] = piece
    return bytes(changed)


def fuzz(server: HttpServer, rng: random.Random, count: int) -> Counter[int]:
    """Send so many requests that are nearly right; the statuses of the answers. None of them may write anything."""
    opened = send(server, request(body=json.dumps(HELLO).encode()))
    (session,) = [line[16:] for line in opened.head.splitlines() if line.startswith("mcp-session-id: ")]
    call = message("tools/call", name="memory_write", arguments={"text": "nobody's", "why": "it names no scope"})
    whole = [
        request(body=json.dumps(HELLO).encode()),
        request(body=call, Mcp_Session_Id=session),
        request(body=call, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name="memory_write"),
        request(body=message("tools/list"), Mcp_Session_Id=session),
        request("DELETE", Mcp_Session_Id="0" * 32),
    ]
    here = f"127.0.0.1:{server.port}".encode()
    statuses: Counter[int] = Counter()
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as link:
            try:
                link.sendall(mutated(rng, rng.choice(whole).replace(b"HERE", here)))
                # Whatever it waits for does not come.
                link.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            statuses[read_reply(link).status] += 1
    return statuses


def see_that_it_holds(server: HttpServer, rng: random.Random, count: int) -> None:
    head = head_of(server.store)
    statuses = fuzz(server, rng, count)
    assert sum(statuses.values()) == count and statuses[400] and not statuses[500], statuses
    assert head_of(server.store) == head
    assert send(server, request(body=json.dumps(HELLO).encode())).status == 200


def test_requests_that_are_nearly_right_break_nothing_and_write_nothing(server: HttpServer, seed: int) -> None:
    see_that_it_holds(server, random.Random(seed), 150)


@pytest.mark.soak
def test_thousands_of_requests_that_are_nearly_right(server: HttpServer, seed: int) -> None:
    see_that_it_holds(server, random.Random(seed), 5_000)


# -- how it starts and ends


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)])
def test_a_signal_ends_it_cleanly_though_clients_are_connected(tmp_path: Path, number: int) -> None:
    with serve_http(tmp_path / "store", "--no-keys") as server:
        opened = send(server, request(body=json.dumps(HELLO).encode()))
        (session,) = [line[16:] for line in opened.head.splitlines() if line.startswith("mcp-session-id: ")]
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as link:
            link.sendall(
                # Answers are not kept for whoever comes back, and asking for them is no error.
                request("GET", Mcp_Session_Id=session, Last_Event_ID="1").replace(
                    b"HERE", f"127.0.0.1:{server.port}".encode(), 1
                )
            )
            assert link.recv(12) == b"HTTP/1.1 200"
            begun = time.monotonic()
            assert server.stop(number) == 0
            assert time.monotonic() - begun < 20
        assert "stopped" not in server.log.read_text()
        assert head_of(server.store) == 1


def test_a_port_that_is_taken_is_an_error_with_a_code(server: HttpServer, writing: LocalRunner) -> None:
    run = writing("mcp", "--http", f"127.0.0.1:{server.port}", "--no-keys")
    assert (run.code, run.error, run.out) == (5, "address_taken", "")


def test_the_log_has_a_line_for_each_request_and_none_of_what_was_sent(server: HttpServer) -> None:
    sent = request(path="/mcp/secret?token=hush", body=b"my password", Authorization="Bearer hush", Cookie="hush")
    assert send(server, sent).status == 404
    log = server.logs(" 127.0.0.1 - POST /mcp/secret 404 ")
    assert "hush" not in log and "password" not in log
