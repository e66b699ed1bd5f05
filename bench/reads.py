"""Reads, present and past: get, find, one hop, and text recall (BM25) with and without a world.

The store holds the mix of bench/_workload.py with four edges a node. Past views are pinned at the middle of the log,
so that they see half of what there is. Ranked reads of the past come from the present index, except
`recall_exact_past`, which builds a scratch index of exactly what the view sees and is sampled a few times only. The
index is caught up before the clock runs.

Shapes whose name ends in `_confined` are asked through one view that is confined to a world, about what is inside;
those in `_inside` ask the same of a view that is not. `recall_exact_confined_first` makes a view each time, so that it
pays for the index that such a view keeps.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from bench._report import p50, p95, parser, report
from bench._workload import WORLD_EVERY, Loader, load, words
from worlddb import View, World

EXACT_SAMPLES: Final = 3
_EDGES_A_NODE: Final = 4
_BATCH: Final = 1_000
_WARM_UP: Final = 3


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        (name, p50_ms, result["p95_ms"][name], result["samples"][name]) for name, p50_ms in result["p50_ms"].items()
    ]
    notes = (
        f"{result['nodes']:,} nodes, {result['edges']:,} edges, {result['commits']:,} commits.",
        f"The world of the confined view contains {result['confined_worlds']:,} with itself.",
    )
    report(arguments, "reads", result, ("shape", "p50 ms", "p95 ms", "samples"), rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=int, default=5_000)
    arguments.add_argument("--samples", type=int, default=200, help="queries of each shape")
    arguments.add_argument("--dir", help="where the store is made (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Load, catch up, then ask every shape its questions."""
    edges = arguments.nodes * _EDGES_A_NODE
    db, loader = load(folder / "store", arguments.seed, arguments.nodes, edges, _BATCH)
    with db:
        assert db.catch_up(), "nobody else has the index of this store"
        commits = db.head().seq
        now, past = db.view(), db.view(seq=max(2, commits // 2))
        draw = random.Random(arguments.seed)
        taken = {
            name: _times(ask, EXACT_SAMPLES if "exact" in name else arguments.samples)
            for name, ask in (
                _shapes(now, past, loader, arguments.nodes, draw) | _confined_shapes(now, loader, draw)
            ).items()
        }
        inside = now.confined(loader.ref(0)).counts()["worlds"]
    return {
        "p50_ms": {name: round(p50(times), 4) for name, times in taken.items()},
        "p95_ms": {name: round(p95(times), 4) for name, times in taken.items()},
        "samples": {name: len(times) for name, times in taken.items()},
        "nodes": arguments.nodes,
        "edges": edges,
        "commits": commits,
        "confined_worlds": inside,
    }


def _times(ask: Callable[[], object], samples: int) -> list[float]:
    for _ in range(min(_WARM_UP, samples)):
        ask()
    taken = []
    for _ in range(samples):
        began = perf_counter()
        ask()
        taken.append(1000 * (perf_counter() - began))
    return taken


def _shapes(now: View, past: View, loader: Loader, nodes: int, draw: random.Random) -> dict[str, Callable[[], object]]:
    """Every shape asks about another node or text each time; those of the past about what there was by then."""
    shapes = _shapes_of(now, loader, nodes, draw)
    earlier = _shapes_of(past, loader, max(1, nodes // 3), draw)
    shapes |= {f"{name}_past": ask for name, ask in earlier.items()}
    shapes["recall_exact_past"] = lambda: past.recall(words(draw, 3), exact=True)
    return shapes


def _shapes_of(view: View, loader: Loader, nodes: int, draw: random.Random) -> dict[str, Callable[[], object]]:
    def node() -> bytes:
        return loader.ref(draw.randrange(nodes))

    def world() -> bytes:
        return loader.ref(draw.randrange(-(-nodes // WORLD_EVERY)) * WORLD_EVERY)

    found = (view.get(node(), include_superseded=True) for _ in range(64))
    names = [seen.name for seen in found if seen is not None]
    return {
        "get": lambda: view.get(node()),
        "find_by_name": lambda: list(view.find(name=draw.choice(names))),
        "children": lambda: list(view.children(world())),
        "edges_out": lambda: list(view.edges(node(), direction="out")),
        "edges_both": lambda: list(view.edges(node(), direction="both")),
        "recall": lambda: view.recall(words(draw, 3)),
        "recall_in_world": lambda: view.recall(words(draw, 3), world=world()),
    }


def _confined_shapes(now: View, loader: Loader, draw: random.Random) -> dict[str, Callable[[], object]]:
    """The same questions about what lies inside the first world, asked from inside and from outside."""
    confined = now.confined(loader.ref(0))
    inside = confined.find(include_superseded=True)
    shapes: dict[str, Callable[[], object]] = {}
    for suffix, view in (("inside", now), ("confined", confined)):
        asked = _shapes_inside(view, loader.ref(0), inside, draw)
        shapes |= {f"{name}_{suffix}": ask for name, ask in asked.items()}
    shapes["recall_exact_confined_first"] = lambda: now.confined(loader.ref(0)).recall(words(draw, 3))
    return shapes


def _shapes_inside(
    view: View, world: bytes, inside: list[World], draw: random.Random
) -> dict[str, Callable[[], object]]:
    return {
        "get": lambda: view.get(draw.choice(inside).ref),
        "find_by_name": lambda: view.find(name=draw.choice(inside).name, world=world),
        "children": lambda: list(view.children(world)),
        "edges_both": lambda: view.edges(draw.choice(inside).ref),
        "recall": lambda: view.recall(words(draw, 3), world=world),
    }


if __name__ == "__main__":
    main()
