"""The MCP server over standard streams: time from start to the list of tools, and of single calls.

Every start is a fresh process that is asked for its tools and then closed; beside it stands a process that only imports
the protocol's SDK. Calls go to one server, as lines of JSON; beside them the same tools are called in this process,
without the protocol. It needs the extra `mcp`.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec

import worlddb
from bench.made_up.workload import CONTENT_WORDS, words
from bench.measuring.report import p50, p95, parser, positive, report
from worlddb.tools.mcp.catalogue import TOOLS
from worlddb.tools.mcp.session import Call, Session

_ROOT: Final = Path(__file__).resolve().parents[1]
_HELLO: Final = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}

Ask = Callable[[str, dict[str, Any]], Any]


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder) / "store", arguments)
    rows: list[tuple[Any, ...]] = [
        ("start to tools/list, ms", result["start_p50_ms"], result["start_p95_ms"], ""),
        ("of the processor, start to end, ms", result["start_cpu_ms"], "", result["sdk_cpu_ms"]),
    ]
    for name, each in result["calls"].items():
        rows.append((f"{name}, ms", each["p50_ms"], each["p95_ms"], each["direct_p50_ms"]))
    notes = (
        f"{arguments.runs} starts; {arguments.calls} calls of each tool in a store of {arguments.memories:,} memories.",
        "Beside: the import of the SDK alone, and the tools called without the protocol.",
    )
    report(arguments, "serving", result, ("", "p50", "p95", "beside"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=positive, default=9, help="starts")
    arguments.add_argument("--memories", type=positive, default=1_000, help="memories in the store")
    arguments.add_argument("--calls", type=positive, default=200, help="calls of each tool")
    arguments.add_argument("--dir", help="folder for the store (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(store: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Make a store, start servers on it, then call one of them and the tools themselves by turns."""
    draw = random.Random(arguments.seed)
    refs = _fill(store, arguments.memories, draw)
    starts, of_starts, of_sdk = [], [], []
    for _ in range(arguments.runs):
        began, spent = perf_counter(), _child_seconds()
        with _server(store) as ask:
            ask("tools/list", {})
            starts.append(1000 * (perf_counter() - began))
        of_starts.append(1000 * (_child_seconds() - spent))
        spent = _child_seconds()
        subprocess.run([sys.executable, "-c", "import mcp.server.mcpserver"], check=True)
        of_sdk.append(1000 * (_child_seconds() - spent))
    return {
        "start_p50_ms": round(p50(starts), 1),
        "start_p95_ms": round(p95(starts), 1),
        "start_cpu_ms": round(p50(of_starts), 1),
        "sdk_cpu_ms": round(p50(of_sdk), 1),
        "calls": _calls(store, refs, draw, arguments.calls),
        "memories": arguments.memories,
        "runs": arguments.runs,
    }


def _fill(store: Path, memories: int, draw: random.Random) -> list[str]:
    with worlddb.open(store) as db:
        with db.batch() as tx:
            for _ in range(memories):
                tx.create("Fact", "", content=words(draw, CONTENT_WORDS), resolve=False)
        db.embed()
        db.catch_up()
        return list(tx.receipt.refs)


def _calls(store: Path, refs: list[str], draw: random.Random, calls: int) -> dict[str, dict[str, float]]:
    asked: dict[str, Callable[[], dict[str, Any]]] = {
        "memory_read": lambda: {"id": draw.choice(refs)},
        "memory_list": lambda: {"limit": 10},
        "memory_recall": lambda: {"query": words(draw, 4)},
        "memory_write": lambda: {"text": words(draw, CONTENT_WORDS), "user_id": "bench"},
    }
    measured = {}
    with _server(store) as ask, worlddb.open(store) as db:
        desk = Session(db)
        for name, arguments in asked.items():
            served_ms, direct = [], []
            for number in range(calls + 1):
                served = _time(ask, "tools/call", {"name": name, "arguments": arguments()})
                called = _time(_direct, desk, name, arguments())
                if number:
                    # The first call of each loads what it needs.
                    served_ms.append(served)
                    direct.append(called)
            measured[name] = {
                "p50_ms": round(p50(served_ms), 3),
                "p95_ms": round(p95(served_ms), 3),
                "direct_p50_ms": round(p50(direct), 3),
            }
    return measured


def _direct(desk: Session, name: str, given: dict[str, Any]) -> None:
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    msgspec.json.encode(tool.run(desk, msgspec.convert(given, tool.takes), Call("bench", name)))


@contextmanager
def _server(store: Path) -> Iterator[Ask]:
    """A server that has said hello; it is closed and waited for afterwards."""
    command = [sys.executable, "-m", "worlddb", "--store", str(store), "mcp"]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        sent, replies = run.stdin, run.stdout
        assert sent is not None and replies is not None
        number = 0

        def ask(method: str, params: dict[str, Any]) -> Any:
            nonlocal number
            number += 1
            told = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            sent.write(json.dumps(told).encode() + b"\n")
            sent.flush()
            answer = json.loads(replies.readline())
            assert answer["id"] == number and not answer["result"].get("isError"), answer
            return answer["result"]

        ask("initialize", _HELLO)
        sent.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        yield ask


def _child_seconds() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _time(work: Callable[..., object], *given: object) -> float:
    began = perf_counter()
    work(*given)
    return 1000 * (perf_counter() - began)


if __name__ == "__main__":
    main()
