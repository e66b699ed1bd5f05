"""Half-closed and slow connections write nothing by half and hold nobody up."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.mcp_clients import with_all_fields
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

PIECE = 700


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with serve_http(tmp_path_factory.mktemp("http") / "store", "--no-keys", "--rate", "5000") as served:
        yield served


class Session:
    """A session of a client that writes its requests byte by byte."""

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self._numbers = count(2)
        opened = send(server, request(body=json.dumps(HELLO).encode()))
        (self.id,) = [line[16:] for line in opened.head.splitlines() if line.startswith("mcp-session-id: ")]

    def call(self, name: str, /, **arguments: Any) -> bytes:
        """A call of a tool as it goes over the wire."""
        return self.wire(request(body=self.body(name, **arguments), Mcp_Session_Id=self.id))

    def chunked(self, name: str, /, **arguments: Any) -> bytes:
        """As :meth:`call`, with a body that says how long it is only when it ends."""
        body = self.body(name, **arguments)
        head = request(Mcp_Session_Id=self.id, Transfer_Encoding="chunked", Content_Length="")
        return self.wire(head) + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:40], body[40:], b""))

    def body(self, name: str, /, **arguments: Any) -> bytes:
        """The call alone, with a number that no other of the session has."""
        return message("tools/call", next(self._numbers), name=name, arguments=with_all_fields(name, arguments))

    def wire(self, raw: bytes) -> bytes:
        """With the address of the server in it."""
        return raw.replace(b"HERE", f"127.0.0.1:{self.server.port}".encode(), 1)

    def half_closed(self, raw: bytes) -> Reply:
        """What comes of bytes after which nothing more is sent."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE_SECONDS) as link:
            link.sendall(raw)
            link.shutdown(socket.SHUT_WR)
            return read_reply(link)

    def texts(self, user: str) -> list[str]:
        """What is remembered of a user, asked as usual."""
        told = structured(send(self.server, self.call("memory_list", user_id=user, limit=50)))
        return [memory["text"] for memory in told["memories"]]


def structured(reply: Reply) -> Any:
    """The structured answer of a tool; the answer came as an event stream, in chunks."""
    body, left = b"", reply.body
    while left:
        size, _, left = left.partition(b"\r\n")
        length = int(size, 16)
        body, left = body + left[:length], left[length + 2 :]
    (data,) = [line[6:] for line in body.splitlines() if line.startswith(b"data: {")]
    result = json.loads(data)["result"]
    assert not result.get("isError"), result
    return result["structuredContent"]


@pytest.fixture
def session(server: HttpServer) -> Session:
    return Session(server)


@pytest.mark.parametrize("how", [Session.call, Session.chunked])
def test_half_a_request_and_no_more_writes_nothing_wherever_it_ends(
    session: Session, how: Callable[..., bytes]
) -> None:
    user = how.__name__
    whole = how(session, "memory_write", text="cut off", user_id=user)
    head = whole.index(b"\r\n\r\n")
    ends = {1, 4, 18, head // 2, head, head + 2, head + 4, head + 5, (head + len(whole)) // 2, len(whole) - 1}
    for end in sorted(ends):
        assert session.half_closed(whole[:end]).status in (0, 400), end
    assert session.texts(user) == []
    assert structured(send(session.server, whole))["outcome"] == "committed"
    assert session.texts(user) == ["cut off"]


def test_a_body_that_is_whole_but_shorter_than_its_length_writes_nothing(session: Session) -> None:
    body = session.body("memory_write", text="too short", user_id="length")
    raw = request(body=body, Mcp_Session_Id=session.id, Content_Length=str(len(body) + 10))
    assert session.half_closed(session.wire(raw)).status in (0, 400)
    assert session.texts("length") == []


def test_whoever_stops_sending_before_the_answer_finds_the_write_whole_or_not_at_all(session: Session) -> None:
    """An end is taken for a client that is gone. Its call may have come to its commit; again, it has one effect."""
    for number in range(12):
        asked = {"text": f"once {number}", "user_id": "retried", "idempotency_key": f"key {number}"}
        how = session.chunked if number % 2 else session.call
        assert session.half_closed(how("memory_write", **asked)).status in (0, 200)
        after = session.texts("retried")
        assert after.count(f"once {number}") <= 1
        first = structured(send(session.server, session.call("memory_write", **asked)))["id"]
        assert structured(send(session.server, session.call("memory_write", **asked)))["id"] == first
    assert sorted(session.texts("retried")) == sorted(f"once {number}" for number in range(12))


def test_an_acknowledged_request_stays_done_though_the_next_on_its_connection_breaks_off(session: Session) -> None:
    first = session.call("memory_write", text="the first", user_id="pipe").replace(b"close", b"keep-alive", 1)
    second = session.call("memory_write", text="the second", user_id="pipe")
    with socket.create_connection(("127.0.0.1", session.server.port), timeout=PATIENCE_SECONDS) as link:
        link.sendall(first + second[:-9])
        got = b""
        while b"\r\n0\r\n\r\n" not in got:
            piece = link.recv(65_536)
            assert piece, "the first was not answered"
            got += piece
        link.shutdown(socket.SHUT_WR)
        assert read_reply(link).status in (0, 400)
    assert got.startswith(b"HTTP/1.1 200") and b"the second" not in got
    assert session.texts("pipe") == ["the first"]


def test_a_slow_reader_gets_all_of_a_long_answer_and_others_do_not_wait_for_it(session: Session) -> None:
    for number in range(6):
        text = f"{number}" + "x" * 20_000
        structured(send(session.server, session.call("memory_write", text=text, user_id="slow")))
    (memory, *_) = structured(send(session.server, session.call("memory_list", user_id="slow")))["memories"]
    calls = [session.call("memory_read", id=memory["id"]).replace(b"close", b"keep-alive", 1) for _ in range(12)]
    with socket.socket() as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        link.settimeout(PATIENCE_SECONDS)
        link.connect(("127.0.0.1", session.server.port))
        link.sendall(b"".join(calls))
        got = b""
        for turn in range(60):
            got += link.recv(PIECE)
            if turn % 20 == 0:
                assert len(session.texts("slow")) == 6
        while got.count(b"\r\n0\r\n\r\n") < len(calls):
            piece = link.recv(PIECE)
            assert piece, "an answer was cut"
            got += piece
    answers = [Reply(200, "", part.partition(b"\r\n\r\n")[2]) for part in got.split(b"HTTP/1.1 200 ")[1:]]
    assert len(answers) == len(calls)
    assert {structured(answer)["text"] for answer in answers} == {"0" + "x" * 19_999}


def test_clients_that_are_gone_leave_no_connection_behind(session: Session) -> None:
    tables = Path(f"/proc/{session.server.process.pid}/fd")
    if not tables.is_dir():
        pytest.skip("open files of a process are counted under /proc")
    session.texts("nobody")
    before = len(list(tables.iterdir()))
    call = session.call("memory_recall", query="anything at all")
    for _ in range(40):
        with socket.create_connection(("127.0.0.1", session.server.port), timeout=PATIENCE_SECONDS) as link:
            link.sendall(call)
    # Connections are taken in their order, so that after this all of those have been.
    session.texts("nobody")
    until = time.monotonic() + PATIENCE_SECONDS
    while len(list(tables.iterdir())) > before + 2 and time.monotonic() < until:
        session.texts("nobody")
    assert len(list(tables.iterdir())) <= before + 2


def test_after_all_of_that_the_store_is_intact(server: HttpServer) -> None:
    session = Session(server)
    structured(send(server, session.call("memory_write", text="the end", user_id="end")))
    with worlddb.open(server.store, create=False, embedder=None) as db:
        assert db.verify(deep=True).findings == ()
        contents = {world.content[:9] for world in db.view().find(type="Fact")}
        assert "the end" in contents and not contents & {"cut off!", "too short", "the secon"}
