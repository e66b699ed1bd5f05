"""Sends a thousand requests that no client should send: the server goes on, writes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest

import worlddb
from tests.conftest import ROOT_SEED
from tests.support import mcp_fuzz
from tests.support.mcp_clients import command, start_server
from tests.support.serving import HELLO, PATIENCE_SECONDS, message, request, send, serve_http
from worlddb.tools.mcp import standard_streams

EVERY = 25
"""After so many requests the server is asked whether it is there."""
FEW, MANY = 300, 1_000


class Raw:
    """A server on standard streams, and whatever is written to it."""

    def __init__(self, store: Path) -> None:
        self.log = store.with_name("stderr")
        with self.log.open("wb") as errors:
            self.process = subprocess.Popen(
                command(store), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.send(json.dumps(HELLO).encode())
        self.answer(HELLO["id"])
        self.send(message("notifications/initialized", None))

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put(json.loads(line))

    def send(self, line: bytes) -> None:
        """Write a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self, number: object) -> dict[str, Any]:
        """The answer to a request; those that come before it are looked at and dropped."""
        while True:
            try:
                told = self._answers.get(timeout=PATIENCE_SECONDS)
            except Empty:
                raise AssertionError(f"no answer to {number}: {self.log.read_text()[-2000:]}") from None
            assert told["jsonrpc"] == "2.0" and ("result" in told) != ("error" in told)
            if told.get("id") == number:
                return told

    def call(self, number: int, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and wait for it."""
        self.send(message("tools/call", number, name=name, arguments=arguments))
        return self.answer(number)

    def close(self) -> None:
        """End it in any case."""
        self.process.kill()
        self._reader.join(timeout=PATIENCE_SECONDS)
        # What is still in the buffer has no reader any more.
        with suppress(BrokenPipeError), self.process:
            pass

    def end(self) -> int:
        """Close its input; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=PATIENCE_SECONDS)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with something in it."""
    with worlddb.open(tmp_path / "store") as db:
        db.create("Fact", "Ada", content="lives in Riga")
    return tmp_path / "store"


@pytest.fixture
def raw(store: Path) -> Iterator[Raw]:
    server = Raw(store)
    try:
        yield server
    finally:
        server.close()


def state(store: Path) -> tuple[int, str]:
    """The last commit and the root hash."""
    with worlddb.open(store, create=False) as db:
        assert db.verify().ok
        return db.head().seq, db.view().hash()


def fuzz(raw: Raw, store: Path, seed: int, number: int) -> None:
    before = state(store)
    for position, line in enumerate(mcp_fuzz.requests(seed, number)):
        raw.send(line)
        if position % EVERY == 0:
            raw.call(position + 10, "memory_list_scopes")
    assert "result" in raw.call(number + 10, "memory_verify", deep=True)
    # What is in order is still done as it should be, as the next commit.
    assert (
        raw.call(number + 11, "memory_write", text="the end", user_id="a")["result"]["structuredContent"]["seq"]
        == before[0] + 1
    )
    # A message that breaks off at the end of the input is none.
    assert raw.process.stdin is not None
    raw.process.stdin.write(message("tools/call", 5, name="memory_write", arguments={"text": "x", "user_id": "a"})[:-2])
    assert raw.end() == 0
    assert "Traceback" not in raw.log.read_text()
    with worlddb.open(store, create=False) as db:
        assert db.view(seq=before[0]).hash() == before[1]
        assert [world.content for world in db.view().find(type="Fact")] == ["lives in Riga", "the end"]


def test_hundreds_of_fuzzed_messages_on_standard_input_write_nothing(
    raw: Raw, store: Path, pytestconfig: pytest.Config
) -> None:
    fuzz(raw, store, pytestconfig.stash[ROOT_SEED], FEW)


@pytest.mark.soak
def test_a_thousand_fuzzed_messages_on_standard_input_write_nothing(
    raw: Raw, store: Path, pytestconfig: pytest.Config
) -> None:
    fuzz(raw, store, pytestconfig.stash[ROOT_SEED], MANY)


def fuzz_http(store: Path, seed: int, number: int) -> None:
    before = state(store)
    with serve_http(store, "--no-keys", "--rate", "5000") as server:
        for line in mcp_fuzz.requests(seed, number):
            told = send(server, request(body=line, MCP_Protocol_Version="2025-06-18"))
            assert told.status != 500, (line[:500], told)
            assert told.status == 0 or 200 <= told.status < 500, (line[:500], told)
        assert send(server, request(body=json.dumps(HELLO).encode())).status == 200
    assert state(store) == before


def test_some_fuzzed_requests_over_http_write_nothing(store: Path, pytestconfig: pytest.Config) -> None:
    fuzz_http(store, pytestconfig.stash[ROOT_SEED], FEW // 3)


@pytest.mark.soak
def test_a_thousand_fuzzed_requests_over_http_write_nothing(store: Path, pytestconfig: pytest.Config) -> None:
    fuzz_http(store, pytestconfig.stash[ROOT_SEED], MANY)


def test_the_same_seed_draws_the_same_requests_and_every_kind_is_drawn() -> None:
    drawn = list(mcp_fuzz.requests(7, FEW))
    assert drawn == list(mcp_fuzz.requests(7, FEW)) != list(mcp_fuzz.requests(8, FEW))
    assert all(any(word in line for line in drawn) for word in (b"author", b"[[[[", b"cancelled", b"memory_decide"))
    assert any(len(line) > 100_000 for line in drawn)


# -- clients that do not read


BIG = message("tools/call", 3, name="memory_list", arguments={"limit": 50})


def test_a_client_that_reads_slowly_gets_every_answer(store: Path) -> None:
    with worlddb.open(store) as db, db.batch() as tx:
        for number in range(50):
            tx.create("Fact", "", content=f"{number} " + "x" * 1_000, resolve=False)
    asked = 20
    with start_server(store) as run:
        run.stdin.write(json.dumps(HELLO).encode() + b"\n")
        run.stdin.write(b"".join(message("tools/list", 100 + number) + b"\n" for number in range(asked)))
        run.stdin.write(b"".join(BIG.replace(b": 3", b": %d" % (200 + number)) + b"\n" for number in range(asked)))
        run.stdin.flush()
        got = b""
        # A byte at a time for a while, so that the pipe is full and stays so.
        while len(got) < 2_000:
            got += os.read(run.stdout.fileno(), 1)
        while got.count(b"\n") < 2 * asked + 1:
            got += run.stdout.readline()
        lines = [json.loads(line) for line in got.splitlines()]
        assert {line["id"] for line in lines} == {1, *range(100, 100 + asked), *range(200, 200 + asked)}
        assert not any("error" in line or line["result"].get("isError") for line in lines)
        assert run.ended() == b""


def test_a_client_that_asks_and_reads_nothing_is_not_read_either_until_it_reads(store: Path) -> None:
    """Its answers lay in memory, as many as it asked for."""
    asked = message("tools/list", 7) + b"\n"
    with start_server(store) as run:
        run.stdin.write(json.dumps(HELLO).encode() + b"\n")
        run.stdin.flush()
        run.stdout.readline()
        os.set_blocking(run.stdin.fileno(), False)
        sent, last = 0, time.monotonic()
        while time.monotonic() - last < 2.0:
            try:
                sent += os.write(run.stdin.fileno(), asked)
                last = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        assert sent % len(asked) == 0, "short messages are written whole to a pipe"
        taken = sent // len(asked)
        assert taken > standard_streams.MAX_UNREAD
        in_pipes = 2 * 65_536 // len(asked)
        assert taken < standard_streams.MAX_UNREAD + in_pipes + 1_000, "what waits in pipes and was read with it"
        for _ in range(taken):
            assert b'"result"' in run.stdout.readline()
        os.set_blocking(run.stdin.fileno(), True)
        assert run.ended() == b""


@pytest.mark.parametrize("asked", [40, 20_000])
def test_a_client_that_has_closed_its_end_and_reads_nothing_is_given_up(store: Path, asked: int) -> None:
    head = state(store)
    hurry = "from worlddb.tools.mcp import standard_streams; standard_streams.LAST_WORDS_SECONDS = 1"
    main = "import sys; from worlddb.tools.cli.main import main; sys.exit(main())"
    hurried = [sys.executable, "-c", f"{hurry}; {main}", *command(store)[3:]]
    with subprocess.Popen(hurried, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        try:
            assert run.stdin is not None
            run.stdin.write(json.dumps(HELLO).encode() + b"\n")
            run.stdin.flush()
            os.set_blocking(run.stdin.fileno(), False)
            with suppress(BlockingIOError):
                for number in range(asked):
                    os.write(run.stdin.fileno(), message("tools/list", 100 + number) + b"\n")
                    time.sleep(0.0001)
            run.stdin.close()
            assert run.wait(timeout=PATIENCE_SECONDS) == 0
        finally:
            run.kill()
    assert state(store) == head
