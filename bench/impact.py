"""Times of `impact`, `provenance` and the shortest path to what they reach.

The store consists of trees and single worlds. In every second tree the worlds rest on the one above them; in the others
the one above rests on them. `impact` is asked about the tops of the former, with the path to each world; `provenance`
about the tops of the latter, with author, source and trust of each. With branching 4 and depth 5 each answer has 1,364
worlds. `path` is a shortest path from a top to one of the lowest worlds. Each question gets a new view. `cpu` figures
are CPU times of all threads; `growth` compares with a store of `--beside` worlds, asked by turns.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

from bench.made_up.workload import CONTENT_WORDS, open_seeded, words
from bench.measuring.report import p50, p95, parser, positive, report, rounded
from worlddb import Database

_TYPE: Final = "derived_from"
_SHARE_OF_TREES: Final = 0.9
_WARM_UP: Final = 2


class Forest(NamedTuple):
    """An open store, the tops of its trees by kind, and one lowest world for each top of the first kind."""

    db: Database
    rested_on: list[str]
    resting: list[str]
    lowest: dict[str, str]


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        (name, result["p50_ms"][name], result["p95_ms"][name], result["cpu_p50_ms"][name], result["cpu_p95_ms"][name])
        for name in result["p50_ms"]
    ]
    notes = [
        f"{result['worlds']:,} worlds, {result['trees']:,} trees of branching {arguments.branching} and depth "
        f"{arguments.depth}: {result['reached']:,} worlds an answer, each with its path."
    ]
    if "growth" in result:
        told = ", ".join(f"{name} {growth}" for name, growth in result["growth"].items())
        notes.append(f"As a multiple of {arguments.beside:,} worlds, p95 of the processor: {told}.")
    report(arguments, "impact", result, ("", "p50 ms", "p95 ms", "cpu p50 ms", "cpu p95 ms"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--worlds", type=positive, default=100_000)
    arguments.add_argument("--beside", type=positive, help="the number of worlds in the store for comparison")
    arguments.add_argument("--branching", type=positive, default=4)
    arguments.add_argument("--depth", type=positive, default=5)
    arguments.add_argument("--samples", type=positive, default=200)
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Make the stores, and ask."""
    size = sum(arguments.branching**level for level in range(arguments.depth + 1))
    grown = _grow(folder / "store", arguments.worlds, size, arguments)
    beside = _grow(folder / "beside", arguments.beside, size, arguments) if arguments.beside else None
    with grown.db:
        asked = _measure_questions(grown, arguments)
        others = {} if beside is None else _measure_questions(beside, arguments)
        times_by_name: dict[str, list[tuple[float, float]]] = {}
        compared: dict[str, list[float]] = {}
        for sample in range(-_WARM_UP, arguments.samples):
            for name, ask in asked.items():
                # The first one finds less in the processor's caches, so the two take turns.
                is_first = sample % 2 == 0
                aside = _time(others[name], size - 1, name)[1] if others and not is_first else 0.0
                clock, cpu = _time(ask, size - 1, name)
                aside = _time(others[name], size - 1, name)[1] if others and is_first else aside
                if sample >= 0:
                    times_by_name.setdefault(name, []).append((clock, cpu))
                    compared.setdefault(name, []).append(aside)
    if beside is not None:
        beside.db.close()
    clocks = {name: [clock for clock, _ in times] for name, times in times_by_name.items()}
    cpus = {name: [cpu for _, cpu in times] for name, times in times_by_name.items()}
    result = {
        "p50_ms": {name: rounded(p50(times), 3) for name, times in clocks.items()},
        "p95_ms": {name: rounded(p95(times), 3) for name, times in clocks.items()},
        "cpu_p50_ms": {name: rounded(p50(times), 3) for name, times in cpus.items()},
        "cpu_p95_ms": {name: rounded(p95(times), 3) for name, times in cpus.items()},
        "worlds": arguments.worlds,
        "trees": len(grown.rested_on) + len(grown.resting),
        "reached": size - 1,
        "samples": arguments.samples,
    }
    if others:
        result["growth"] = {name: rounded(p95(cpus[name]) / p95(compared[name]), 2) for name in cpus}
    return result


def _time(ask: Callable[[], int], expected: int, name: str) -> tuple[float, float]:
    """Clock and CPU milliseconds of a question, whose answer is checked."""
    began, cpu = perf_counter(), process_time()
    reached = ask()
    taken = 1000 * (perf_counter() - began), 1000 * (process_time() - cpu)
    assert name == "path" or reached == expected, f"{name} reached {reached:,} worlds, not {expected:,}"
    assert reached, f"{name} reached nothing"
    return taken


def _measure_questions(grown: Forest, arguments: argparse.Namespace) -> dict[str, Callable[[], int]]:
    """The questions, each about a newly drawn tree."""
    draw, db, depth = random.Random(arguments.seed), grown.db, arguments.depth

    def impact() -> int:
        found = db.view().impact(draw.choice(grown.rested_on), depth=depth)
        assert not found.cut_off and all(len(each.path) == each.depth <= depth for each in found)
        return len(found)

    def provenance() -> int:
        found = db.view().provenance(draw.choice(grown.resting))
        assert all(1 <= each.steps <= depth and each.author for each in found)
        return len(found)

    def path() -> int:
        top = draw.choice(grown.rested_on)
        found = db.view().shortest_path(grown.lowest[top], top, types=(_TYPE,), direction="out")
        assert found is not None
        return found.depth

    return {"impact": impact, "provenance": provenance, "path": path}


def _grow(path: Path, count: int, size: int, arguments: argparse.Namespace) -> Forest:
    """Make a store of so many worlds."""
    draw = random.Random(arguments.seed)
    trees = max(2, int(_SHARE_OF_TREES * count) // size)
    total = max(count, trees * size)
    db = open_seeded(path, arguments.seed)
    names = [f"finding {number}" for number in range(total)]
    texts = [words(draw, CONTENT_WORDS) for _ in range(total)]
    order = list(range(total))
    # The worlds of one tree do not lie beside each other: they came as they came.
    draw.shuffle(order)
    sources, targets = [], []
    for tree in range(trees):
        members = order[tree * size : (tree + 1) * size]
        for place in range(1, size):
            pair = members[place], members[(place - 1) // arguments.branching]
            source, target = pair if tree % 2 == 0 else pair[::-1]
            sources.append(source)
            targets.append(target)
    worlds = {"type": ["Fact"] * total, "name": names, "content": texts, "resolve": [False] * total}
    edges = {"source": sources, "type": [_TYPE] * len(sources), "target": targets}
    loaded = db.load(worlds, edges)
    assert len(loaded.worlds) == total
    tops = [loaded.worlds[order[tree * size]] for tree in range(trees)]
    last = [loaded.worlds[order[(tree + 1) * size - 1]] for tree in range(trees)]
    return Forest(db, tops[::2], tops[1::2], dict(zip(tops[::2], last[::2], strict=True)))


if __name__ == "__main__":
    main()
