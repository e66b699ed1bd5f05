"""``worlddb serve`` in a process of its own: what it prints, logs and answers, and how it ends."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

import worlddb
from tests.support.programs import Program

PATIENCE_SECONDS = 120


class Server(NamedTuple):
    """A server that takes requests, and its log."""

    url: str
    key: str
    process: Program
    log: Path

    def client(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=PATIENCE_SECONDS
        )


@contextmanager
def serving(store: Path, *options: str) -> Iterator[Server]:
    log = store.with_name("serve.log")
    told, out = os.pipe()
    words = ("--store", store, "--json", "serve", "--port", "0", *options)
    with log.open("ab") as errors, open(os.devnull, "rb") as nothing, os.fdopen(told) as lines:
        streams = (nothing.fileno(), out, errors.fileno())
        run = Program("worlddb", words, streams=streams, cwd=Path.cwd(), environment=os.environ)
        os.close(out)
        try:
            assert select.select([lines], [], [], PATIENCE_SECONDS)[0], "it never came up"
            line = lines.readline()
            assert line, log.read_text()
            found = json.loads(line)
            yield Server(found["url"], found["key"] or "", run, log)
            run.terminate()
            run.wait(PATIENCE_SECONDS)
        finally:
            run.kill()
    assert "Traceback" not in log.read_text(), log.read_text()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("serve") / "store", "--rate", "5000") as found:
        yield found


def test_rest_and_mcp_answer_on_one_port(server: Server) -> None:
    with server.client() as client:
        client.put("/v1/worlds/kitchen").raise_for_status()
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        answer = client.post("/mcp", json=asked, headers={"Accept": "application/json, text/event-stream"})
        assert answer.status_code == 200 and "serverInfo" in answer.text
        assert httpx.post(f"{server.url}/mcp", json=asked).status_code == 401
        assert httpx.get(f"{server.url}/v1/worlds").json()["code"] == "unauthorized"
        figures = client.get("/metrics").text
        for status in (200, 401):
            assert f'worlddb_requests_total{{route="/mcp",method="POST",status="{status}"}} 1' in figures


def test_the_log_has_a_line_of_json_for_each_request_and_no_texts(server: Server) -> None:
    with server.client() as client:
        answer = client.post("/v1/worlds/secret-plan/memories", json={"text": "The treasure lies in Visby."})
        client.get("/v1/recall", params={"text": "treasure"})
        client.get("/v1/nothing/treasure")
    request = answer.headers["x-request-id"]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while '"none"' not in server.log.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)  # Lines are written some at a time.
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    found = next(line for line in lines if line.get("request") == request)
    assert (found["route"], found["status"], found["key"]) == ("/v1/worlds/{world}/memories", 201, "owner")
    assert found["address"] == "127.0.0.1"
    for word in ("treasure", "Visby", "secret-plan", server.key):
        assert word not in server.log.read_text()


RAW = [
    (b"GET / HTTP/1.1\r\n\r\n", b"400"),
    (b"GET /v1/worlds HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"421"),
    (b"GET /v1/worlds HTTP/1.1\r\nHost: HERE\r\nHost: HERE\r\n\r\n", b"400"),
    (b"GET /v1/worlds HTTP/1.1\r\nHost: HERE\r\nOrigin: http://evil.example\r\n\r\n", b"403"),
    (b"POST /v1/worlds HTTP/1.1\r\nHost: HERE\r\nAuthorization: KEY\r\nContent-Length: 99999999999\r\n\r\n", b""),
    (b"nonsense\r\n\r\n", b"400"),
    (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: HERE\r\n\r\n", b"400"),
]


@pytest.mark.parametrize(("sent", "status"), RAW)
def test_an_invalid_request_changes_nothing(server: Server, sent: bytes, status: bytes) -> None:
    address = urlsplit(server.url)
    with server.client() as client:
        # Not the head: what was written before may be embedded meanwhile.
        before = client.get("/v1/worlds").json()["worlds"]
        with socket.create_connection((address.hostname, address.port), PATIENCE_SECONDS) as connection:
            here = sent.replace(b"HERE", address.netloc.encode()).replace(b"KEY", f"Bearer {server.key}".encode())
            connection.sendall(here)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65_536)
        assert answer == b"" or b"application/problem+json" in answer
        assert answer.split(b" ", 2)[1:2] in ([status], []), answer
        assert client.get("/v1/worlds").json()["worlds"] == before


def test_many_requests_in_a_row_on_one_connection_are_answered_in_order(server: Server) -> None:
    """What is kept is answered at once, and what is not by a task."""
    address = urlsplit(server.url)
    with server.client() as client:
        refs = [client.put(f"/v1/worlds/row-{number}").json()["ref"] for number in range(5)]
        before = client.get("/v1/usage?by=total").json()["usage"][0]["requests"]
    paths = [f"/v1/worlds/{refs[n % 5]}" if n % 4 else "/v1/worlds?limit=1" for n in range(40)]
    head = f"Host: {address.netloc}\r\nAuthorization: Bearer {server.key}\r\n"
    sent = "".join(f"GET {path} HTTP/1.1\r\n{head}\r\n" for path in paths)
    sent += f"GET {paths[1]} HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), PATIENCE_SECONDS) as connection:
        connection.sendall(sent.encode())
        answers = b"".join(iter(lambda: connection.recv(65_536), b"")).split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [b"200"] * 41
    for path, answer in zip([*paths, paths[1]], answers, strict=True):
        assert (path.rpartition("/")[2].encode() in answer) or path.endswith("limit=1"), path
    assert b"connection: close" in answers[-1] and b"connection: close" not in answers[0]
    with socket.create_connection((address.hostname, address.port), PATIENCE_SECONDS) as connection:
        connection.sendall(f"GET {paths[1]} HTTP/1.1\r\n{head}Connection: close\r\n\r\nno HTTP\r\n\r\n".encode())
        closed = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert closed.count(b"HTTP/1.1 ") == closed.count(b"HTTP/1.1 200") == 1, "nothing is said after what closes"
    with server.client() as client:
        assert client.get("/v1/usage?by=total").json()["usage"][0]["requests"] == before + 43


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what a process has loaded is read from /proc")
def test_no_library_is_loaded_by_the_first_requests(tmp_path: Path) -> None:
    """What a server loads at its first recall, all clients wait for: it is there when it says that it is ready."""
    with worlddb.open(tmp_path / "store") as db:
        db.create("Fact", "ferry", content="The ferry leaves at nine.")
        db.embed()
        before = db.head().seq
    with serving(tmp_path / "store") as server, server.client() as client:
        loaded = libraries(server.process.pid)
        assert any("tokenizers" in each for each in loaded)
        client.get("/v1/worlds/ferry").raise_for_status()
        found = client.get("/v1/recall", params={"text": "when does the ship go?"}).raise_for_status().json()
        assert "vector" in found["lanes"] and found["hits"][0]["name"] == "ferry"
        assert libraries(server.process.pid) == loaded
        # Nobody asked before, so nothing was counted, and nothing written.
        assert client.get("/v1/head").json()["seq"] == before
        assert [each["requests"] for each in client.get("/v1/usage?by=total").json()["usage"]] == [3]


def libraries(process: int) -> set[str]:
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if ".so" in line}


def test_a_key_is_made_and_shown_once_and_the_server_drains(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as first, first.client() as client:
        kept = client.put("/v1/worlds/kept").json()["ref"]
        first.process.send_signal(signal.SIGTERM)
        assert first.process.wait(PATIENCE_SECONDS) == 0
    with serving(tmp_path / "store") as again:
        assert again.key == ""
        with again._replace(key=first.key).client() as client:
            assert client.get("/v1/worlds/kept").json()["ref"] == kept


def test_a_url_with_what_is_not_ascii_is_told_how_to_write_it(server: Server) -> None:
    address = urlsplit(server.url)
    assert address.hostname and address.port
    for target in ("/v1/worlds/caf\u00e9", "/v1/worlds?name=caf\u00e9"):
        with socket.create_connection((address.hostname, address.port), PATIENCE_SECONDS) as connection:
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
        assert b" 400 " in head and "%XX" in json.loads(body)["remedy"]
