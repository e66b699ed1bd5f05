"""The server under load: small reads at a steady rate over many connections, and durable writes.

``worlddb serve`` runs in one process and the client in another, over loopback. Reads are an open loop: each is due at a
fixed time, whether the earlier ones were answered or not, and its latency counts from then. They repeat the same
worlds, so that most are answered from the server's cache. Writes are a closed loop: each connection sends its next
write when the last was answered, which means that it is durable.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

import worlddb
from bench.measuring.report import ended, parser, percentile, positive, report, rounded

WORLDS: Final = 1_000
AUTHOR: Final = "bench"


class LoadResult(NamedTuple):
    """Latencies of a load in seconds, and its total time."""

    latencies: list[float]
    seconds: float

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds


class Connection:
    """A kept-open connection that sends one request after another."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, request: bytes) -> None:
        """Send a request, and read its answer, which must be a good one."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 20"), head.decode()
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await self._reader.readexactly(int(length))


@asynccontextmanager
async def open_connections(port: int, count: int) -> AsyncIterator[list[Connection]]:
    """So many open connections to the server."""
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    try:
        yield [Connection(reader, writer) for reader, writer in streams]
    finally:
        for _, writer in streams:
            writer.close()


@contextmanager
def start_server(store: Path) -> Iterator[tuple[int, int]]:
    """Start a server of a store; yields port and process id, and ends it afterwards."""
    words = [sys.executable, "-m", "worlddb", "--store", str(store), "--json", "serve", "--port", "0", "--no-keys"]
    with open(os.devnull, "wb") as nothing:
        process = subprocess.Popen([*words, "--rate", "1000000"], stdout=subprocess.PIPE, stderr=nothing)
    try:
        assert process.stdout is not None, "it was asked for"
        line = process.stdout.readline()
        yield int(json.loads(line)["url"].rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait()


def processor_seconds(process: int) -> float:
    """CPU seconds of a process so far; 0 where the system does not report it."""
    try:
        told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


async def reads(port: int, requests: list[bytes], per_second: float, connections: int) -> LoadResult:
    """Send requests at a rate, each when it is due, on whichever connection is free."""
    latencies: list[float] = []
    async with open_connections(port, connections) as found:
        free: asyncio.Queue[Connection] = asyncio.Queue()
        for each in found:
            free.put_nowait(each)
        started = perf_counter()

        async def one(request: bytes, due_at: float) -> None:
            connection = await free.get()
            await connection.ask(request)
            latencies.append(perf_counter() - due_at)
            free.put_nowait(connection)

        async with asyncio.TaskGroup() as tasks:
            for number, request in enumerate(requests):
                due_at = started + number / per_second
                while (wait := due_at - perf_counter()) > 0:
                    await asyncio.sleep(wait)
                tasks.create_task(one(request, due_at))
        return LoadResult(latencies, perf_counter() - started)


async def writes(port: int, count: int, connections: int) -> LoadResult:
    """Send so many writes, each connection one after another."""
    left = iter(range(count))
    latencies: list[float] = []
    async with open_connections(port, connections) as found:

        async def some(connection: Connection) -> None:
            for number in left:
                body = b'{"type":"Fact","name":"note %d","content":"the ferry is late","resolve":"none"}' % number
                sent = perf_counter()
                await connection.ask(_request(port, "POST", "/v1/worlds", body))
                latencies.append(perf_counter() - sent)

        begun = perf_counter()
        await asyncio.gather(*(some(each) for each in found))
        return LoadResult(latencies, perf_counter() - begun)


def counted_us(count: int) -> float:
    """Microseconds for counting one request of a key in the server's process."""
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder, worlddb.open(Path(folder, "store")) as db:
        meter = db.accounts.meter
        keys = [f"{number:032x}" for number in range(64)]
        begun = perf_counter()
        for number in range(count):
            meter.count(keys[number % 64], bytes_in=100, bytes_out=1_000)
        return (perf_counter() - begun) / count * 1_000_000


def _request(port: int, method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    told = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{head}{told}\r\n".encode() + body


def main() -> None:
    arguments_parser = parser(__doc__)
    arguments_parser.add_argument("--reads", type=positive, default=20_000)
    arguments_parser.add_argument("--writes", type=positive, default=2_000)
    arguments_parser.add_argument("--rate", type=positive, default=2_000, help="reads a second that are offered")
    arguments_parser.add_argument("--connections", type=positive, default=64)
    arguments = arguments_parser.parse_args()
    gc.disable()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        store = Path(folder, "store")
        with worlddb.open(store, author=AUTHOR) as db, db.batch() as tx:
            made = [tx.create("Fact", f"fact {n}", content=f"it is {n}", resolve=False) for n in range(WORLDS)]
        refs = tx.receipt.refs[: len(made)]
        with start_server(store) as (port, process):
            paths = [f"/v1/worlds/{refs[n * 7919 % WORLDS]}" for n in range(arguments.reads)]
            requests = [_request(port, "GET", path) for path in paths]
            asyncio.run(reads(port, requests[:200], arguments.rate, arguments.connections))
            cpu_before = processor_seconds(process)
            read = asyncio.run(reads(port, requests, arguments.rate, arguments.connections))
            read_cost = (processor_seconds(process) - cpu_before) / arguments.reads
            lists = [_request(port, "GET", f"{path}/statements") for path in paths[: arguments.reads // 4]]
            listed = asyncio.run(reads(port, lists, arguments.rate / 4, arguments.connections))
            cpu_before = processor_seconds(process)
            written = asyncio.run(writes(port, arguments.writes, arguments.connections))
            write_cost = (processor_seconds(process) - cpu_before) / arguments.writes
    result = {
        "reads_per_s": rounded(read.per_second),
        "p50_ms": rounded(percentile(read.latencies, 50) * 1000),
        "p99_ms": rounded(percentile(read.latencies, 99) * 1000),
        "read_processor_ms": rounded(read_cost * 1000),
        "offered_per_s": arguments.rate,
        "lists_per_s": rounded(listed.per_second),
        "list_p50_ms": rounded(percentile(listed.latencies, 50) * 1000),
        "list_p99_ms": rounded(percentile(listed.latencies, 99) * 1000),
        "writes_per_s": rounded(written.per_second),
        "write_p50_ms": rounded(percentile(written.latencies, 50) * 1000),
        "write_p99_ms": rounded(percentile(written.latencies, 99) * 1000),
        "write_processor_ms": rounded(write_cost * 1000),
        "counted_us": rounded(counted_us(arguments.reads)),
    }
    rows = [
        (f"reads, {arguments.rate} a second offered", *(result[name] for name in ("reads_per_s", "p50_ms", "p99_ms"))),
        (
            f"lists of statements, {arguments.rate / 4:g} a second offered",
            *(result[name] for name in ("lists_per_s", "list_p50_ms", "list_p99_ms")),
        ),
        ("durable writes", *(result[name] for name in ("writes_per_s", "write_p50_ms", "write_p99_ms"))),
    ]
    rows.append(("a read, of the processor of the server, in milliseconds", "", result["read_processor_ms"], ""))
    rows.append(("a write, of the processor of the server, in milliseconds", "", result["write_processor_ms"], ""))
    rows.append(("to count a request for its key, in microseconds", "", result["counted_us"], ""))
    report(arguments, "server", result, ("", "a second", "p50 ms", "p99 ms"), rows)


if __name__ == "__main__":
    ended(main)
