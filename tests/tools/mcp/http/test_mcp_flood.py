"""Whoever has a key is served while others flood the server with connections that lead to nothing."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import uvicorn
from uvicorn.server import ServerState

import worlddb
from tests.support.mcp_clients import run_bounded
from tests.support.serving import (
    HELLO,
    PATIENCE_SECONDS,
    HttpServer,
    Reply,
    message,
    read_reply,
    request,
    send,
    serve_http,
)
from worlddb.tools.mcp import http_guards, http_server, listening, tenants
from worlddb.tools.mcp.access_keys import KeyFile, default_key_file

SERVED_SECONDS = 1.0
"""A call that is answered by a server with nothing else to do takes some hundredths of it."""
TRIES = 5
FLOOD = 505
OPEN = json.dumps(HELLO).encode()
HALF = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
LIST = message("tools/list", 2)
REFUSED = request(body=OPEN, Authorization="Bearer worlddb_wrong", Connection="keep-alive") * 3


class Keyed:
    """A server with a key, and a client that has it."""

    def __init__(self, server: HttpServer, secret: str, other: str) -> None:
        self.server, self.secret, self.other = server, secret, other

    def ask(self, body: bytes = OPEN, secret: str | None = None, **headers: str) -> Reply:
        return send(self.server, request(body=body, Authorization=f"Bearer {secret or self.secret}", **headers))

    def session(self) -> str:
        (found,) = [line[16:] for line in self.ask().head.splitlines() if line.startswith("mcp-session-id: ")]
        return found

    def is_served(self) -> None:
        """Each of several tries on a connection of its own is answered, and the best of them at once."""
        took = []
        for _ in range(TRIES):
            begun = time.monotonic()
            assert self.ask().status == 200
            took.append(time.monotonic() - begun)
        assert min(took) < SERVED_SECONDS, took

    def flood(self, count: int, first: bytes) -> list[socket.socket]:
        """Open connections and send the first bytes of a request on each."""
        links = []
        for _ in range(count):
            link = socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE_SECONDS)
            links.append(link)
            try:
                link.sendall(first)
            except OSError:
                pass
        return links


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < 4 * FLOOD:
        if most != resource.RLIM_INFINITY and most < 4 * FLOOD:
            pytest.skip("the system does not allow so many open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (4 * FLOOD, most))
    store = tmp_path_factory.mktemp("flood") / "store"
    with worlddb.open(store) as db:
        keys = KeyFile(default_key_file(store))
        secrets = [keys.add(db.head().store_id, name, None, write=True) for name in ("client", "other")]
    try:
        with serve_http(store, "--rate", "5000") as served:
            yield Keyed(served, *secrets)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))


def test_without_keys_a_client_is_served_while_half_sent_bodies_are_open(tmp_path: Path, keyed: Keyed) -> None:
    """Nothing tells them apart from requests of clients but that they are not whole."""
    with serve_http(tmp_path / "store", "--no-keys", "--rate", "5000") as served:
        client = Keyed(served, "none", "none")
        half = request(body=b"{", Content_Length="1000").replace(b"HERE", f"127.0.0.1:{served.port}".encode())
        links = client.flood(FLOOD, half)
        try:
            client.is_served()
        finally:
            for link in links:
                link.close()


def is_cut(link: socket.socket) -> bool:
    link.settimeout(0)
    try:
        return link.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError as error:
        return error.errno == errno.ECONNRESET


@pytest.mark.parametrize(
    "first",
    [
        b"",
        HALF,
        request(body=b"", Content_Length="100"),
        request(body=b"", Content_Length="100", Authorization="Bearer worlddb_wrong"),
    ],
    ids=["nothing", "half a head", "no body", "a wrong key"],
)
def test_a_client_with_a_key_is_served_while_half_sent_requests_are_open(keyed: Keyed, first: bytes) -> None:
    links = keyed.flood(FLOOD, first.replace(b"HERE", f"127.0.0.1:{keyed.server.port}".encode()))
    try:
        keyed.is_served()
    finally:
        for link in links:
            link.close()


@pytest.mark.parametrize("first", [HALF, REFUSED], ids=["half a head", "a wrong key"])
def test_a_client_with_a_key_is_served_while_connections_go_on_to_flood_in(keyed: Keyed, first: bytes) -> None:
    first = first.replace(b"HERE", f"127.0.0.1:{keyed.server.port}".encode())
    ended = threading.Event()

    def attack() -> None:
        links: list[socket.socket] = []
        while not ended.is_set():
            links += keyed.flood(10, first)
            for link in links[:-FLOOD]:
                link.close()
            links = links[-FLOOD:]
            time.sleep(0.05)
        for link in links:
            link.close()

    beside = threading.Thread(target=attack)
    beside.start()
    try:
        until = time.monotonic() + 1
        while time.monotonic() < until:
            keyed.is_served()
    finally:
        ended.set()
        beside.join(PATIENCE_SECONDS)


def test_a_client_keeps_its_connection_and_its_stream_through_a_flood(keyed: Keyed) -> None:
    here = f"127.0.0.1:{keyed.server.port}".encode()
    named = {"Authorization": f"Bearer {keyed.secret}", "Mcp_Session_Id": keyed.session()}
    stream = keyed.flood(1, request("GET", b"", Connection="keep-alive", **named).replace(b"HERE", here))[0]
    assert stream.recv(12) == b"HTTP/1.1 200"
    raw = request(body=LIST, Connection="keep-alive", **named).replace(b"HERE", here)
    (kept,) = keyed.flood(1, raw)
    try:
        answered(kept)
        links = keyed.flood(FLOOD, HALF)
        kept.sendall(raw.replace(b'"id": 2', b'"id": 3'))
        answered(kept)
        # The server may take up the last of them after it has answered.
        until = time.monotonic() + PATIENCE_SECONDS
        while not any(is_cut(link) for link in links):
            assert time.monotonic() < until
            time.sleep(0.01)
        assert not is_cut(stream)
    finally:
        for link in (*links, kept, stream):
            link.close()


def answered(link: socket.socket) -> None:
    got = b""
    while b"\r\n0\r\n\r\n" not in got:
        piece = link.recv(65_536)
        assert piece, got
        got += piece
    assert got.startswith(b"HTTP/1.1 200")


def test_whoever_begins_sessions_in_a_loop_gets_one_and_ends_its_oldest(keyed: Keyed) -> None:
    streaming, first, used = (keyed.session() for _ in range(3))
    here = f"127.0.0.1:{keyed.server.port}".encode()
    named = {"Authorization": f"Bearer {keyed.secret}", "Mcp_Session_Id": streaming}
    (stream,) = keyed.flood(1, request("GET", b"", **named).replace(b"HERE", here))
    assert stream.recv(12) == b"HTTP/1.1 200"
    other = [line for line in keyed.ask(secret=keyed.other).head.splitlines() if line.startswith("mcp-session-id: ")]
    begun = [keyed.session() for _ in range(tenants.MAX_SESSIONS // 2)]
    assert keyed.ask(LIST, Mcp_Session_Id=used).status == 200
    begun += [keyed.session() for _ in range(tenants.MAX_SESSIONS // 2)]
    looked_at = (first, used, streaming, *begun[2:7], *begun[-3:])
    status = {name: keyed.ask(LIST, Mcp_Session_Id=name).status for name in looked_at}
    assert status.pop(first) == 404 and set(status.values()) == {200}
    assert keyed.ask(LIST, secret=keyed.other, Mcp_Session_Id=other[0][16:]).status == 200
    stream.close()


class Sessions:
    """A session manager that only counts, behind what ends its idle sessions."""

    def __init__(self, most: int, idle_seconds: float = 1_800.0) -> None:
        self.open: dict[str, None] = {}
        self.begun = 0
        self.held = anyio.Event()
        self.passed_on = tenants.OpenSessions(self, idle_seconds, most)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        named = dict(scope["headers"]).get(b"mcp-session-id", b"").decode()
        if not named:
            self.begun += 1
            named = str(self.begun)
            self.open[named] = None
        status = 200 if named in self.open else 404
        await send({"type": "http.response.start", "status": status, "headers": [(b"mcp-session-id", named.encode())]})
        if scope["method"] == "DELETE":
            self.open.pop(named, None)
        if scope.get("held"):
            await self.held.wait()
        await send({"type": "http.response.body"})

    async def ask(self, method: str = "POST", named: str = "", *, held: bool = False) -> int:
        status: list[int] = []

        async def note(message: Any) -> None:
            status.extend([message["status"]] if "status" in message else [])

        headers = [(b"mcp-session-id", named.encode())] if named else []
        scope = {"type": "http", "method": method, "headers": headers, "held": held}
        await self.passed_on(scope, Sessions.nothing, note)
        return status[0]

    @staticmethod
    async def nothing() -> Any:
        raise AssertionError("no body is read")


def test_the_session_that_ends_is_the_oldest_idle_one_and_none_that_works() -> None:
    async def work() -> None:
        kept = Sessions(3)
        for _ in range(3):
            assert await kept.ask() == 200
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(kept.ask, "GET", "1", held=True))
            tasks.start_soon(partial(kept.ask, "POST", "2", held=True))
            await anyio.wait_all_tasks_blocked()
            await kept.ask()
            assert list(kept.open) == ["1", "2", "4"]
            assert await kept.ask(named="3") == 404 and await kept.ask(named="4") == 200
            await kept.ask()
            assert list(kept.open) == ["1", "2", "5"], "one without a stream goes first"
            tasks.start_soon(partial(kept.ask, "POST", "5", held=True))
            await anyio.wait_all_tasks_blocked()
            await kept.ask()
            assert list(kept.open) == ["2", "5", "6"], "then one that only listens"
            tasks.start_soon(partial(kept.ask, "POST", "6", held=True))
            await anyio.wait_all_tasks_blocked()
            await kept.ask()
            assert list(kept.open) == ["2", "5", "6", "7"], "none in which a call is under way"
            kept.held.set()
        await kept.ask("DELETE", "7")
        await kept.ask()
        assert len(kept.open) == 3 and "8" in kept.open

    run_bounded(work)


def test_a_session_of_one_key_is_none_for_another(keyed: Keyed) -> None:
    mine = keyed.session()
    told = {
        name: keyed.ask(LIST, secret=keyed.other, Mcp_Session_Id=name) for name in (mine, "0" * 32, "_GET_stream", "x")
    }
    assert {reply.status for reply in told.values()} == {404}
    assert len({reply.body for reply in told.values()}) == 1
    for verb in ("GET", "DELETE"):
        raw = request(verb, Mcp_Session_Id=mine, Authorization=f"Bearer {keyed.other}")
        assert send(keyed.server, raw).status == 404
    assert keyed.ask(LIST, Mcp_Session_Id=mine).status == 200


def test_a_body_in_very_many_chunks_is_refused_before_it_has_cost_much(keyed: Keyed) -> None:
    head = request(Authorization=f"Bearer {keyed.secret}", Transfer_Encoding="chunked", Content_Length="")
    assert send(keyed.server, head + b"1\r\nx\r\n" * (http_server.MAX_CHUNKS + 1)).status in (400, 0)
    assert send(keyed.server, head + b"1\r\nx\r\n" * 100 + b"0\r\n\r\n").status == 400
    keyed.is_served()


def test_whoever_is_refused_cannot_go_on_to_send(keyed: Keyed) -> None:
    """What follows a refusal was read without end before, and what was no HTTP in it left a traceback in the log."""
    raw = request(Connection="keep-alive", Transfer_Encoding="chunked", Content_Length="")
    (link,) = keyed.flood(1, raw.replace(b"HERE", f"127.0.0.1:{keyed.server.port}".encode()))
    reply = read_reply(link)
    assert reply.status == 401 and "connection: close" in reply.head
    link.close()


BOMBS = [
    b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_recall", "arguments": %s}}' % inner
    for inner in (
        b'{"query": ' + b"[" * 400 + b"]" * 400 + b"}",
        b'{"query": "x", "limit": ' + b"9" * 4_000 + b"}",
        b'{"query": "x", "limit": 1e999}',
        b'{"query": "x", "limit": NaN}',
        b'{"a":' * 190 + b"1" + b"}" * 190,
        b'{"query": "' + b"\\ud800" + b'"}',
    )
] + [
    LIST.replace(b'"id": 2', b'"id": ' + forged)
    for forged in (b'"_GET_stream"', b"null", b"true", b"1.5", b"[]", b"1" * 400, b'"' + b"x" * 100_000 + b'"')
]


@pytest.mark.parametrize("number", range(len(BOMBS)))
def test_nested_and_forged_messages_are_answered_and_hold_up_nobody(keyed: Keyed, number: int) -> None:
    session = keyed.session()
    assert keyed.ask(BOMBS[number], Mcp_Session_Id=session).status in (200, 202, 400)
    assert keyed.ask(LIST, Mcp_Session_Id=session).status == 200


def test_after_all_of_that_nothing_was_written_and_the_log_is_short(keyed: Keyed) -> None:
    links = keyed.flood(FLOOD, HALF)
    log = keyed.server.logs("connections: ")
    for link in links:
        link.close()
    assert "Traceback" not in log and "Exception" not in log
    assert log.count("too many connections") <= 3
    with worlddb.open(keyed.server.store, create=False, embedder=None) as db:
        assert db.head().seq == 1 and db.verify(deep=True).findings == ()


# -- one connection, with clocks that run faster


async def served(app: Any, work: Callable[[asyncio.Server], Any], most: int = 10) -> None:
    """Do something with a server of an application."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
    config.load()
    state, crowd = ServerState(), http_server.ConnectionPool(most)
    server = await asyncio.get_running_loop().create_server(
        lambda: http_server.Connection(config=config, server_state=state, app_state={}, pool=crowd),
        "127.0.0.1",
        0,
    )
    async with server:
        await work(server)


def test_a_client_that_reads_too_little_of_its_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "UNREAD_SECONDS", 0.2)
    ended = asyncio.Event()

    async def long(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            for _ in range(400):
                await send({"type": "http.response.body", "body": bytes(65_536), "more_body": True})
        finally:
            ended.set()

    async def work(server: asyncio.Server) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        with socket.socket() as link:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            link.setblocking(False)
            await loop.sock_connect(link, server.sockets[0].getsockname())
            await loop.sock_sendall(link, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.wait_for(ended.wait(), PATIENCE_SECONDS)
        assert loop.time() - begun < PATIENCE_SECONDS / 10

    run_bounded(lambda: served(long, work))


def test_where_all_requests_are_under_way_a_further_one_is_told_so() -> None:
    going_on = asyncio.Event()

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await going_on.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def work(server: asyncio.Server) -> None:
        address = server.sockets[0].getsockname()
        links = [await asyncio.open_connection(*address) for _ in range(4)]
        for _, writer in links:
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(0.1)
        links.append(await asyncio.open_connection(*address))
        links[-1][1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await links[-1][0].read(100)).startswith(b"HTTP/1.1 503")
        going_on.set()
        for reader, _ in links[:-1]:
            assert (await reader.read(12)) == b"HTTP/1.1 204"
        for _, writer in links:
            writer.close()

    run_bounded(lambda: served(waits, work, most=4))


def test_large_bodies_share_their_memory_and_small_ones_always_pass() -> None:
    """250 bodies of 4 MiB, all but their last byte sent, took a gigabyte before."""
    going_on = anyio.Event()
    answered: list[int] = []

    async def reads(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        await going_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    guarded = http_guards.Budget(reads, 1_000)

    async def ask(size: int) -> None:
        pieces = [{"type": "http.request", "body": b"x" * size, "more_body": more} for more in (False, True)]

        async def receive() -> Any:
            return pieces.pop()

        async def note(message: Any) -> None:
            answered.extend([message["status"]] if "status" in message else [])

        await guarded({"type": "http", "method": "POST"}, receive, note)

    async def work() -> None:
        nonlocal going_on
        half = http_guards.FREE_BYTES // 2
        for _ in range(2):
            async with anyio.create_task_group() as tasks:
                for more in (250, 200, 0, 0):
                    tasks.start_soon(ask, half + more)
                await anyio.wait_all_tasks_blocked()
                await ask(half + 51)
                assert answered == [429]
                going_on.set()
            assert answered == [429, 200, 200, 200, 200]
            answered.clear()
            going_on = anyio.Event()

    run_bounded(work)


def test_requests_under_way_have_a_bound_and_half_sent_ones_do_not_count() -> None:
    going_on = anyio.Event()
    answered: list[int] = []

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await going_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    guarded = http_guards.Budget(waits, most_requests=2)

    async def ask(*, more: bool = False) -> None:
        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": more}

        async def note(message: Any) -> None:
            answered.extend([message["status"]] if "status" in message else [])

        await guarded({"type": "http", "method": "POST"}, receive, note)

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(partial(ask, more=True))
            tasks.start_soon(ask)
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert answered == []
            await ask()
            assert answered == [429]
            going_on.set()
        assert answered == [429, *[200] * 5]
        await ask()
        assert answered[-1] == 200

    run_bounded(work)


@pytest.mark.parametrize(("files", "most"), [(1_024, 500), (256, 128), (resource.RLIM_INFINITY, 500), (4_096, 500)])
def test_connections_leave_files_to_open(monkeypatch: pytest.MonkeyPatch, files: int, most: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert http_server.open_connections() == most


def test_an_address_is_one_user_s_network() -> None:
    given = {
        "127.0.0.1": "127.0.0.1",
        "::ffff:10.0.0.1": "10.0.0.1",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
        "fe80::1%eth0": "fe80::/64",
        "": "",
    }
    assert {host: http_server.network_of(host) for host in given} == given


# -- what the parser takes

GOOD = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def told(sent: bytes) -> bytes:
    """All that a server answers to some bytes, up to the end of the connection."""
    answers: list[bytes] = []

    async def seen(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        body = b" ".join(name for name, _ in scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})

    async def work(server: asyncio.Server) -> None:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(sent)
        with contextlib.suppress(ConnectionResetError):
            while piece := await asyncio.wait_for(reader.read(65_536), 10):
                answers.append(piece)
        writer.close()

    await served(seen, work)
    return b"".join(answers)


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (GOOD * 2 + LAST, [200, 200, 200]),
        (GOOD + b"nonsense\r\n\r\n", [200]),
        (LAST + GOOD, [200]),
        (b"GET / HTTP/1.1\r\n\r\n", [400]),
        (b"GET / HTTP/1.0\r\n\r\n", [200]),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", [400]),
        (b"GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n", [400]),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * http_server.MAX_HEAD_BYTES + b"\r\n\r\n", [400]),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400]),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", [400]),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n", [400]),
        (b"POST / HTTP/1.1\r\nHost : x\r\n\r\n", [400]),
    ],
)
def test_the_parser_answers_what_is_whole_and_refuses_what_can_be_read_in_two_ways(
    sent: bytes, statuses: list[int]
) -> None:
    answer = asyncio.run(told(sent))
    assert [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]] == statuses


def test_many_requests_at_once_on_one_connection_wait_in_bounded_room() -> None:
    answer = asyncio.run(told(GOOD * 5_000))
    assert answer.count(b"HTTP/1.1 200") <= http_server.MAX_WAITING + 1


def test_a_header_after_the_body_is_none_and_an_offered_protocol_is_passed_over() -> None:
    chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    answer = asyncio.run(told(chunked + b"Authorization: Bearer x\r\n\r\n" + LAST))
    assert answer.count(b"HTTP/1.1 200") == 2 and b"authorization" not in answer
    offered = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    assert asyncio.run(told(offered + LAST)).count(b"HTTP/1.1 200") == 2
    endless = chunked + b"X: " + b"y" * (2 * http_server.MAX_HEAD_BYTES)
    assert b"HTTP/1.1 200" not in asyncio.run(told(endless))
