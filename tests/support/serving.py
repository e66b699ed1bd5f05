"""The MCP server over HTTP in another process, and raw requests to it."""

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
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.support.programs import Program

PATIENCE_SECONDS = 180
NAP_SECONDS = 0.01
NONE: dict[str, str] = {}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


class HttpServer(NamedTuple):
    """A running server."""

    url: str
    store: Path
    process: Program
    log: Path

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def logs(self, *lines: str) -> str:
        """Wait for lines of the server's log, which come after the answers, and return it."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            told = self.log.read_text()
            if all(line in told for line in lines) or time.monotonic() > until:
                break
            time.sleep(NAP_SECONDS)
        assert all(line in told for line in lines), told
        return told

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask the server to end; returns its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)


class Reply(NamedTuple):
    """The reply to a request."""

    status: int
    head: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def serve_http(store: Path, *options: str, host: str = "127.0.0.1") -> Iterator[HttpServer]:
    """Start a server at a free port, and end it afterwards."""
    log = store.with_name(f"{store.name}.stderr")
    words = ("--store", store, "--json", "mcp", "--http", f"{host}:0", *options)
    told, out = os.pipe()
    with log.open("ab") as errors, open(os.devnull, "rb") as nothing, os.fdopen(told) as lines:
        streams = (nothing.fileno(), out, errors.fileno())
        run = Program("worlddb", words, streams=streams, cwd=Path.cwd(), environment=os.environ)
        os.close(out)
        try:
            assert select.select([lines], [], [], PATIENCE_SECONDS)[0], "it never came up"
            line = lines.readline()
            assert line, log.read_text()
            yield HttpServer(json.loads(line)["url"], store, run, log)
            run.terminate()
            run.wait(PATIENCE_SECONDS)
        finally:
            run.kill()
    assert "Traceback" not in log.read_text(), log.read_text()


def request(method: str = "POST", body: bytes = b"", path: str = "/mcp", **headers: str) -> bytes:
    """A raw request; underscores in header names stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    told = {"Host": "HERE", "Connection": "close", "Content-Length": str(len(body))} | HEADERS | named
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items() if value)
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body


def send(server: HttpServer, raw: bytes) -> Reply:
    """Send bytes (``HERE`` becomes the server's address) and read to the end of the answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as link:
        try:
            link.sendall(raw.replace(b"HERE", f"127.0.0.1:{server.port}".encode(), 1))
        except ConnectionError:
            # It has answered and closed before it had read all; the answer may be lost too.
            pass
        return read_reply(link)


def read_reply(link: socket.socket) -> Reply:
    """Read until the other side closes; status 0 for an empty reply."""
    got = bytearray()
    while True:
        try:
            piece = link.recv(65_536)
        except ConnectionResetError:
            break
        if not piece:
            break
        got += piece
    head, _, body = bytes(got).partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/") else 0
    return Reply(status, head.decode("latin-1").lower(), body)


def message(method: str, /, number: int | None = 2, **params: Any) -> bytes:
    """A JSON-RPC request, or a notification without a number."""
    told: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(told if number is None else told | {"id": number}).encode()
