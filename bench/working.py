"""Working memory: latency of add and get in a buffer of fifty messages, in one and in several processes.

In the process one handle adds and reads. Between processes four of them do so at once, each in a buffer of its own user
and in one that they share, and a fifth reads what they wrote. Times are by the clock, and beside them stands what the
calls took of the processor: a machine that is busy lengthens the first alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import msgspec

import worlddb
from bench.measuring.report import ended, p50, p95, parser, positive, report, rounded
from worlddb import Database

_SHARED: Final = "shared"
_CALLS: Final = ("add", "get", "add, shared", "get, shared")


def main() -> None:
    arguments = _arguments()
    if arguments.process is not None:
        print(msgspec.json.encode(_in_a_process(arguments)).decode())
        return
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        alone = _measure(Path(folder) / "alone", 1, arguments)
        together = _measure(Path(folder) / "together", arguments.processes, arguments)
    result = {"alone": alone, "together": together, "messages": arguments.messages, "processes": arguments.processes}
    result |= {"p95_ms": max(alone[call]["p95_ms"] for call in _CALLS)}
    result |= {"together_p95_ms": max(together[call]["p95_ms"] for call in _CALLS)}
    rows = [
        (where, call, *found[call].values())
        for where, found in (("one process", alone), (f"{arguments.processes} processes", together))
        for call in _CALLS
    ]
    heads = ("where", "call", "p50 ms", "p95 ms", "processor, p95 ms")
    report(arguments, "working", result, heads, rows, (f"{arguments.messages} messages of each process.",))


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--messages", type=positive, default=1_000, help="the number of messages of each process")
    arguments.add_argument("--processes", type=positive, default=4)
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    arguments.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    arguments.add_argument("--process", help=argparse.SUPPRESS)
    return arguments.parse_args()


def _measure(store: Path, processes: int, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    worlddb.open(store, embedder=None).close()
    words = ("--store", str(store), "--messages", str(arguments.messages))
    begun = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.working", "--process", f"user {number}", *words], stdout=subprocess.PIPE
        )
        for number in range(processes)
    ]
    reports = [msgspec.json.decode(each.communicate()[0]) for each in begun]
    assert all(each.returncode == 0 for each in begun)
    with worlddb.open(store, embedder=None) as db:
        assert len(db.working.get(session=_SHARED)) == min(50, processes * arguments.messages)
    latencies = {call: [one for each in reports for one in each[call]] for call in _CALLS}
    return {
        call: {
            "p50_ms": rounded(1000 * p50([clock for clock, _ in some])),
            "p95_ms": rounded(1000 * p95([clock for clock, _ in some])),
            "cpu_p95_ms": rounded(1000 * p95([cpu for _, cpu in some])),
        }
        for call, some in latencies.items()
    }


def _in_a_process(arguments: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    """Clock and CPU time of each call."""
    taken: dict[str, list[tuple[float, float]]] = {call: [] for call in _CALLS}
    with worlddb.open(arguments.store, embedder=None) as db:
        db.working.add("the first opens the buffers", session="another")
        for number in range(arguments.messages):
            text = f"message {number} of {arguments.process}, which is as long as one commonly is"
            own, shared = {"session": "s", "user": arguments.process}, {"session": _SHARED}
            for suffix, scope in (("", own), (", shared", shared)):
                taken[f"add{suffix}"].append(_time_calls(db, "add", text, **scope))
                taken[f"get{suffix}"].append(_time_calls(db, "get", **scope))
    return taken


def _time_calls(db: Database, call: str, *given: Any, **scope: str) -> tuple[float, float]:
    clock, cpu = perf_counter(), process_time()
    getattr(db.working, call)(*given, **scope)
    return perf_counter() - clock, process_time() - cpu


if __name__ == "__main__":
    ended(main)
