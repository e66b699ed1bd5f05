"""Start-up time of the command line and the MCP server, beside the bare interpreter and a bare SDK server.

Every sample is a fresh process, and all take turns. `cached` finds the byte code of every module; `cold` finds none, of
WorldDB, the libraries or Python, as after an installation or on a read-only disk. Programs that load libraries are
started once for every five starts of the others. A server is ready when it has answered
`tools/list`. The MCP server needs the extra `mcp`; without it those rows are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import worlddb
from bench.made_up.workload import CONTENT_WORDS, words
from bench.measuring.report import p50, parser, positive, report

_ROOT: Final = Path(__file__).resolve().parents[1]
_HELLO: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_BARE_SERVER: Final = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")
@server.tool()
def echo(text: str) -> str:
    return text
server.run()
"""
_NUMPY: Final = "import numpy, faiss"
_QUICK: Final = ("bare", "version")
"""Programs that load no libraries."""
_ONE_IN: Final = 5
"""Of so many turns the other programs take one, of which each is a second or more."""

Environment = Mapping[str, str]


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    columns = ("cached", "cold", "cached_cpu", "cold_cpu")
    rows = [(name, *(result[f"{name}_{column}_ms"] for column in columns)) for name in result["programs"]]
    notes = [
        f"Medians of {arguments.runs} processes each, by turns, in ms; a fifth as many of those that load libraries.",
    ]
    if "mcp_ratio" in result:
        notes.append(
            "The MCP server is ready after {mcp_ratio} times the time of a bare one ({mcp_cpu_ratio} of the"
            " processor).".format_map(result)
        )
    heads = ("", "cached", "cold", "processor, cached", "processor, cold")
    report(arguments, "start", result, heads, rows, tuple(notes))


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=positive, default=15, help="processes of each kind")
    arguments.add_argument("--memories", type=positive, default=1_000, help="memories in the store")
    arguments.add_argument("--programs", nargs="+", help="only these, by their names in the table (default: all)")
    arguments.add_argument("--dir", help="folder for the store (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Make a store, then start every program on it by turns."""
    store = folder / "store"
    _fill(store, arguments.memories, random.Random(arguments.seed))
    states = {"cached": _with_cache(folder / "kept", write=True), "cold": _with_cache(folder / "none", write=False)}
    programs = {name: run for name, run in _programs(store).items() if name in (arguments.programs or (name,))}
    for run in programs.values():
        run(states["cached"])
    times_ms: dict[str, list[float]] = {}
    for number in range(arguments.runs):
        turn = {name: run for name, run in programs.items() if name in _QUICK or number % _ONE_IN == 0}
        for state, environment in states.items():
            for name, run in turn.items():
                began, spent = perf_counter(), _child_seconds()
                run(environment)
                times_ms.setdefault(f"{name}_{state}_ms", []).append(1000 * (perf_counter() - began))
                times_ms.setdefault(f"{name}_{state}_cpu_ms", []).append(1000 * (_child_seconds() - spent))
    found: dict[str, Any] = {name: round(p50(samples), 1) for name, samples in times_ms.items()}
    if {"mcp", "bare_mcp"} <= programs.keys():
        for name in ("", "cpu_"):
            ratio = found[f"mcp_cached_{name}ms"] / found[f"bare_mcp_cached_{name}ms"]
            found[f"mcp_{name}ratio"] = round(ratio, 2)
    return found | {"programs": list(programs), "runs": arguments.runs, "memories": arguments.memories}


def _fill(store: Path, memories: int, draw: random.Random) -> None:
    with worlddb.open(store) as db:
        with db.batch() as tx:
            for _ in range(memories):
                tx.create("Fact", "", content=words(draw, CONTENT_WORDS), resolve=False)
        db.embed()
        db.catch_up()


def _with_cache(folder: Path, *, write: bool) -> Environment:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder)} | ({} if write else {"PYTHONDONTWRITEBYTECODE": "1"})


def _programs(store: Path) -> dict[str, Callable[[Environment], None]]:
    """The programs to start, by name; each call returns when it is done or ready."""
    line = [sys.executable, "-m", "worlddb"]
    asked = [*line, "--store", str(store), "recall", "what was said of the first?", "--json"]
    found: dict[str, Callable[[Environment], None]] = {
        "bare": lambda environment: _run([sys.executable, "-c", "pass"], environment),
        "libraries": lambda environment: _run([sys.executable, "-c", _NUMPY], environment),
        "version": lambda environment: _run([*line, "--version"], environment),
        "recall": lambda environment: _run(asked, environment),
    }
    if find_spec("mcp") is not None:
        found["bare_mcp"] = lambda environment: _start_server([sys.executable, "-c", _BARE_SERVER], environment)
        found["mcp"] = lambda environment: _start_server([*line, "--store", str(store), "mcp"], environment)
    return found


def _child_seconds() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(command: list[str], environment: Environment) -> None:
    subprocess.run(command, cwd=_ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)


def _start_server(command: list[str], environment: Environment) -> None:
    """Start a server, read its list of tools and end it; only the time up to the list counts."""
    lines = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    )
    with subprocess.Popen(
        command, cwd=_ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as run:
        assert run.stdin is not None and run.stdout is not None
        run.stdin.write("".join(json.dumps(each) + "\n" for each in lines).encode())
        run.stdin.flush()
        while json.loads(run.stdout.readline()).get("id") != 2:
            pass
        run.kill()


if __name__ == "__main__":
    main()
