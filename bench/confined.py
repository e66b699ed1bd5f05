"""Recall inside a world: confined or from outside, after a restart, and in a store shared with other tenants.

A tenant has a number of memories, in scopes of a few hundred, each with a vector by the default model. The same
questions go by turns to a confined view (a new one for each call, as in a server) and to a view of the whole store that
searches in the tenant's world. `built_ms` is the very first recall inside, without any cache. `first_inside_ms` is the
first recall of a fresh process inside, and `first_outside_ms` that of another process from outside; a question to
another store has loaded libraries and model before. `first_cold_ms` is the first recall inside without that. Keys with
`cpu` are CPU times of all threads, which other work on the machine changes less.

A second store has the same tenant, written by the same commits, and `--neighbours` texts of others with the same
words. `same_answers` counts the questions whose answers are the same bytes in both, of `asked`;
`neighbours_ratio` is the median with others divided by the median without, of calls that alternate.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import msgspec

import worlddb
from bench.made_up.workload import CONTENT_WORDS, words
from bench.measuring.report import p50, p95, parser, positive, report, rounded
from worlddb import Database, ManualClock, SeededEntropy

_EPOCH_MICROS: Final = 1_700_000_000_000_000
_SCOPE_MEMORIES: Final = 500
_BATCH: Final = 2_000
_QUESTION_WORDS: Final = 4
_WARM_UP: Final = 3
_ROOT: Final = Path(__file__).resolve().parents[1]


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [(name, value) for name, value in result.items() if name.endswith(("_ms", "ratio", "answers"))]
    note = f"{result['members']:,} memories inside, {result['neighbours']:,} of others; {result['asked']} questions."
    report(arguments, "confined", result, ("", "figure"), rows, (note,))


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--members", type=positive, default=25_000, help="memories in the tenant's world")
    arguments.add_argument("--neighbours", type=int, default=2_000, help="texts of others; with 0 no second store")
    arguments.add_argument("--samples", type=positive, default=200, help="questions of each kind")
    arguments.add_argument("--runs", type=positive, default=3, help="fresh processes")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Fill a store, recall from it, start again; then the same beside other worlds."""
    draw = random.Random(arguments.seed)
    questions = [words(draw, _QUESTION_WORDS) for _ in range(arguments.samples + _WARM_UP)]
    alone, world = _build_store(folder / "alone", arguments.members, 0, arguments.seed)
    with alone:
        built = _milliseconds(lambda: alone.view(world=world).recall(questions[0]))
        (inside, inside_cpu), (outside, outside_cpu) = _alternate(
            [
                lambda text: alone.view(world=world).recall(text),
                lambda text: alone.view().recall(text, world=world),
            ],
            questions,
        )
    result = {
        "members": arguments.members,
        "neighbours": arguments.neighbours,
        "asked": arguments.samples,
        "inside_p50_ms": rounded(p50(inside)),
        "inside_p95_ms": rounded(p95(inside)),
        "outside_p50_ms": rounded(p50(outside)),
        "outside_p95_ms": rounded(p95(outside)),
        "ratio": rounded(p95(inside) / p95(outside), 3),
        "inside_cpu_p95_ms": rounded(p95(inside_cpu)),
        "outside_cpu_p95_ms": rounded(p95(outside_cpu)),
        "built_ms": rounded(built),
    }
    for name, how in (("first_inside_ms", "inside"), ("first_outside_ms", "outside"), ("first_cold_ms", "cold")):
        first = [_first_recall_ms(folder / "alone", world, how, questions[0]) for _ in range(arguments.runs)]
        result[name] = rounded(p50(first))
    return result | _measure_tenants(folder, world, questions, arguments) if arguments.neighbours > 0 else result


def _measure_tenants(folder: Path, world: str, questions: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Ask the same questions in a store of one tenant and in one with other tenants."""
    crowded, same_world = _build_store(folder / "crowded", arguments.members, arguments.neighbours, arguments.seed)
    assert same_world == world, "both stores are written alike"
    moment = {"seq": 2 + -(-arguments.members // _BATCH), "valid": _EPOCH_MICROS * 2}
    with crowded, _open_store(folder / "alone", arguments.seed) as alone:
        answers: list[list[bytes]] = [[], []]
        for text in questions[_WARM_UP:]:
            for db, told in zip((alone, crowded), answers, strict=True):
                told.append(msgspec.json.encode(db.view(world=world, **moment).recall(text)))
        (without, without_cpu), (beside, beside_cpu) = _alternate(
            [
                lambda text: alone.view(world=world).recall(text),
                lambda text: crowded.view(world=world).recall(text),
            ],
            questions,
        )
    return {
        "same_answers": sum(one == other for one, other in zip(*answers, strict=True)),
        "alone_p50_ms": rounded(p50(without)),
        "neighbours_p50_ms": rounded(p50(beside)),
        "neighbours_ratio": rounded(p50(beside) / p50(without), 3),
        "neighbours_cpu_ratio": rounded(p50(beside_cpu) / p50(without_cpu), 3),
    }


def _open_store(path: Path, seed: int) -> Database:
    return worlddb.open(path, author="bench", clock=ManualClock(_EPOCH_MICROS), entropy=SeededEntropy(seed))


def _build_store(path: Path, members: int, neighbours: int, seed: int) -> tuple[Database, str]:
    """Make an indexed store with a tenant and others; the tenant's commits come first."""
    db = _open_store(path, seed)
    world = db.create("Tenant", "mine", resolve=False, key="mine").ref
    _fill(db, world, members, random.Random(seed))
    db.embed()
    if neighbours:
        theirs = db.create("Tenant", "theirs", resolve=False, key="theirs").ref
        _fill(db, theirs, neighbours, random.Random(seed + 1))
        db.embed()
    assert db.catch_up(), "nobody else has the indexes of this store"
    return db, world


def _fill(db: Database, world: str, count: int, draw: random.Random) -> None:
    """So many memories in scopes of a world."""
    for first in range(0, count, _BATCH):
        with db.batch() as tx:
            scope = None
            for number in range(first, min(count, first + _BATCH)):
                if scope is None or number % _SCOPE_MEMORIES == 0:
                    name = f"user:{world[:6]}-{number // _SCOPE_MEMORIES:04}"
                    scope = tx.create("Scope", name, world=world, resolve=False, key=name)
                text = words(draw, CONTENT_WORDS)
                tx.create("Fact", "", content=text, world=scope, resolve=False, key=f"{world[:6]}-{number}")


def _alternate(asks: list[Callable[[str], Any]], questions: list[str]) -> list[tuple[list[float], list[float]]]:
    """Clock and CPU time of each way for each question, by turns, without the first few."""
    taken: list[tuple[list[float], list[float]]] = [([], []) for _ in asks]
    for number, text in enumerate(questions):
        order = range(len(asks)) if number % 2 else reversed(range(len(asks)))
        for way in order:
            used = process_time()
            took = _milliseconds(lambda: asks[way](text))  # noqa: B023
            if number >= _WARM_UP:
                taken[way][0].append(took)
                taken[way][1].append(1000 * (process_time() - used))
    return taken


def _milliseconds(work: Callable[[], Any]) -> float:
    begun = perf_counter()
    work()
    return 1000 * (perf_counter() - begun)


_FRESH: Final = """
import json, sys, tempfile, time, worlddb
path, world, how, text = sys.argv[1:]
if how != "cold":
    with tempfile.TemporaryDirectory() as other, worlddb.open(other + "/store") as db:
        note = db.create("Note", "note", content="a first text")
        db.embed()
        db.view().recall("first text")
        db.view(world=note.ref).recall("first text")
with worlddb.open(path) as db:
    begun = time.perf_counter()
    found = db.view().recall(text, world=world) if how == "outside" else db.view(world=world).recall(text)
    print(json.dumps([1000 * (time.perf_counter() - begun), len(found.hits)]))
"""


def _first_recall_ms(path: Path, world: str, how: str, text: str) -> float:
    """The first recall of a fresh process, in milliseconds."""
    command = [sys.executable, "-c", _FRESH, str(path), world, how, text]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
    milliseconds, hits = json.loads(done.stdout)
    assert hits, "the question was answered"
    return float(milliseconds)


if __name__ == "__main__":
    main()
