"""Reads of the present and of the past: get, find, one hop, two hops, recall by words, by meaning and by both.

The store holds the mix of bench/made_up/workload.py, four edges a node, and a vector of each text. For each of three
moments, after 5, 50 and 95 in 100 of the commits of the load, a view as of the moment and a present view get the same
questions by turns, about what existed then. `ratio` is the CPU time in the past divided by that in the present;
`p50_ms` and `p95_ms` are clock times. The figures of the present are those of the last moment's questions.

Ranked reads take candidates from the present indexes, except those named `exact`, which build a temporary index of
exactly what the view sees and have few samples. `recall_at_10` is the share of the exact ten nearest that the vector
index finds. `first_recall_ms` is the first recall by words after the load, with the text index as the load left it; the
indexes are caught up before the other measurements. With `--beside N` a store of N nodes and the large one are then
read by turns, and `growth` is the ratio of present reads in the large store to those in it, also for the same questions
asked again: a read is slower the first time that a process needs a page.

Shapes whose name ends in `_confined` use one view confined to a world and ask about its interior; those in `_inside`
ask the same in a view that is not confined. `recall_exact_confined_first` makes a view each time, as a server does (see
`bench.confined`).

`--store PATH` reads a store of `bench.load --keep` instead of loading one. `--only NAME ...` limits the shapes; without
`vector` and `recall` among them nothing is embedded.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import fmean
from typing import Any, Final

from bench.made_up.meaning import DIMENSION, WordDirections
from bench.made_up.questions import EXACT, SHAPES, Latencies, Questions, Shape, known_nodes, ratio_of, side_by_side
from bench.made_up.workload import LoadedNodes, Loader, load, open_seeded, words
from bench.measuring.report import p50, p95, parser, positive, report, rounded
from worlddb import Database, View, World

MOMENTS: Final = (5, 50, 95)
"""After how many in 100 of the load's commits."""
EXACT_SAMPLES: Final = 3
GROWING: Final = ("get", "edges_out", "bm25", "vector", "recall")
"""Reads of which it is said how they grow with the store."""
_EMBEDDED: Final = frozenset({"vector", "recall"})
_EDGES_A_NODE: Final = 4
_BATCH: Final = 1_000
_WARM_UP: Final = 3
_SHARES: Final = ("p95", "processor_p50", "processor_p95")


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
        if arguments.beside is not None:
            result["growth"] = measure_growth(Path(folder), arguments)
    processor = result["processor_p50_ms"], result["processor_p95_ms"]
    rows = [
        (name, p50_ms, result["p95_ms"][name], *(each[name] for each in processor), result["ratio"].get(name, ""))
        for name, p50_ms in result["p50_ms"].items()
    ]
    notes = [
        f"{result['nodes']:,} nodes, {result['edges']:,} edges, {result['events']:,} events, "
        f"{result['commits']:,} commits; recall@10 of the vector index {result.get('recall_at_10', 'not asked')}.",
        f"The most expensive read of the past: {result['largest_ratio']['unranked']} times the present unranked, "
        f"{result['largest_ratio']['ranked']} times ranked.",
    ]
    first = f"{result['first_recall_ms']} ms, {result['first_recall_cpu_ms']} of the processor"
    notes.append(f"The first recall after the load: {first}.")
    if arguments.beside is not None:
        beside = f"As a multiple of {arguments.beside:,} nodes"
        for time, said in (("", "by the clock (of the processor p50 and p95)"), ("again_", "asked again")):
            growth = result["growth"].items()
            shares = [(name, *(of[f"{time}{share}"] for share in _SHARES)) for name, of in growth]
            told = ", ".join(f"{name} {clock} ({cpu_p50}, {cpu_p95})" for name, clock, cpu_p50, cpu_p95 in shares)
            notes.append(f"{beside}, p95 {said}: {told}.")
    if arguments.confined:
        notes.append(f"The world of the confined view contains {result['confined_worlds']:,} with itself.")
    columns = ("shape", "p50 ms", "p95 ms", "processor, p50", "p95", "ratio")
    report(arguments, "reads", result, columns, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=positive, default=5_000)
    arguments.add_argument("--samples", type=positive, default=200, help="questions of each shape")
    arguments.add_argument("--exact-samples", type=positive, default=EXACT_SAMPLES, help="the same for exact ones")
    arguments.add_argument("--confined", action=argparse.BooleanOptionalAction, default=True, help="confined views too")
    arguments.add_argument(
        "--beside", type=positive, metavar="N", help="also measure a store of N nodes, and print the growth"
    )
    arguments.add_argument("--edges-a-node", type=float, default=_EDGES_A_NODE, help="edges of a store that is loaded")
    arguments.add_argument("--dimension", type=positive, default=DIMENSION, help="numbers of a vector")
    arguments.add_argument("--store", type=Path, metavar="PATH", help="read a store of `bench.load --keep`")
    arguments.add_argument("--only", nargs="+", choices=sorted(SHAPES), help="only these shapes of questions")
    arguments.add_argument("--dir", help="folder for the store (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Load, embed, catch up, then ask every shape its questions."""
    edges, embedder = round(arguments.nodes * arguments.edges_a_node), WordDirections(arguments.dimension)
    loader: Loader | LoadedNodes
    if arguments.store is None:
        db, loader = load(folder / "store", arguments.seed, arguments.nodes, edges, _BATCH, embedder=embedder)
    else:
        db = open_seeded(arguments.store, arguments.seed, create=False, embedder=embedder)
        loader = LoadedNodes(db)
        arguments.nodes, edges = loader.nodes, db.view().counts()["edges"]
    with db:
        loaded, first = db.head().seq, Latencies([], [])
        first.take(db.view().recall, words(random.Random(arguments.seed), 3), lanes=("text",))
        embedded = db.embed().embedded if _embeds(arguments) else 0
        assert db.catch_up(), "nobody else has the indexes of this store"
        latencies, ratios = _compare_moments(db, loader, loaded, arguments)
        result: dict[str, Any] = {"nodes": arguments.nodes, "edges": edges, "commits": db.head().seq}
        result["events"] = loader.events + embedded
        if arguments.only is None:
            questions = Questions(db.view(), loader, arguments.nodes, arguments.seed)
            result["recall_at_10"] = _vector_recall(db.view(), questions, arguments)
        if arguments.confined:
            latencies |= _confined(db.view(), loader, arguments)
            result["confined_worlds"] = db.view().confined(loader.ref(0)).counts()["worlds"]
    ranked = {f"{name}_past_{moment}" for moment in MOMENTS for name, shape in SHAPES.items() if shape.ranked}
    return {
        "p50_ms": {name: rounded(p50(times.clock_ms)) for name, times in latencies.items()},
        "p95_ms": {name: rounded(p95(times.clock_ms)) for name, times in latencies.items()},
        "ratio": ratios,
        "largest_ratio": {
            "unranked": max((ratios[name] for name in ratios.keys() - ranked if "exact" not in name), default=0),
            "ranked": max((ratios[name] for name in ratios.keys() & ranked), default=0),
        },
        "samples": {name: len(times.clock_ms) for name, times in latencies.items()},
        "processor_p50_ms": {name: rounded(p50(times.processor_ms)) for name, times in latencies.items()},
        "processor_p95_ms": {name: rounded(p95(times.processor_ms)) for name, times in latencies.items()},
        "first_recall_ms": rounded(first.clock_ms[0], 1),
        "first_recall_cpu_ms": rounded(first.processor_ms[0], 1),
        **result,
    }


def measure_growth(folder: Path, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The ratio of each present read in the large store to one in a small store, read by turns."""
    embedder, edges = WordDirections(arguments.dimension), round(arguments.beside * arguments.edges_a_node)
    small, loader = load(folder / "small", arguments.seed, arguments.beside, edges, _BATCH, embedder=embedder)
    path = folder / "store" if arguments.store is None else arguments.store
    with small, open_seeded(path, arguments.seed, create=False, embedder=embedder) as large:
        if _embeds(arguments):
            small.embed()
        assert small.catch_up(), "nobody else has the indexes of this store"
        stores = ((small, loader, arguments.beside), (large, LoadedNodes(large), arguments.nodes))
        views = [(db.view(), Questions(db.view(), nodes, count, arguments.seed)) for db, nodes, count in stores]
        asked = _asked(arguments).keys() & set(GROWING)
        return {name: _compare_sizes(SHAPES[name], views, arguments.samples) for name in GROWING if name in asked}


def _compare_sizes(shape: Shape, views: list[tuple[View, Questions]], samples: int) -> dict[str, float]:
    """Each store is asked questions of its own, and then the same again: by then all pages that they need are mapped.

    ``large_faults`` are pages of the large store that a read was the first to touch.
    """
    for view, questions in views:
        for _ in range(_WARM_UP):
            shape.ask(view, questions.ask_about(shape.ask_about))
    asked = [[questions.ask_about(shape.ask_about) for _ in range(samples)] for _, questions in views]
    told: dict[str, float] = {}
    for time in ("", "again_"):
        taken, faults = [Latencies([], []) for _ in views], [0 for _ in views]
        for each in zip(*asked, strict=True):
            for place, ((view, _), question) in enumerate(zip(views, each, strict=True)):
                before = getrusage(RUSAGE_SELF).ru_minflt
                taken[place].take(shape.ask, view, question)
                faults[place] += getrusage(RUSAGE_SELF).ru_minflt - before
        small, large = taken
        told[f"{time}p95"] = rounded(p95(large.clock_ms) / p95(small.clock_ms), 2)
        for name, share in (("p50", p50), ("p95", p95)):
            told[f"{time}processor_{name}"] = rounded(share(large.processor_ms) / share(small.processor_ms), 2)
        for name, times in (("small", small), ("large", large)):
            told[f"{time}{name}_processor_p50_ms"] = rounded(p50(times.processor_ms))
            told[f"{time}{name}_processor_p95_ms"] = rounded(p95(times.processor_ms))
        told[f"{time}large_faults"] = rounded(faults[1] / samples, 2)
    return told


def _embeds(arguments: argparse.Namespace) -> bool:
    return arguments.only is None or not _EMBEDDED.isdisjoint(arguments.only)


def _asked(arguments: argparse.Namespace) -> dict[str, Shape]:
    if arguments.only is None:
        return SHAPES | EXACT
    return {name: SHAPES[name] for name in arguments.only}


def _compare_moments(
    db: Database, loader: Loader | LoadedNodes, loaded: int, arguments: argparse.Namespace
) -> tuple[dict[str, Latencies], dict[str, float]]:
    """Times of every shape in the present and at each moment, and their ratios."""
    taken: dict[str, Latencies] = {}
    ratios: dict[str, float] = {}
    now = db.view()
    for moment in MOMENTS:
        past = db.view(seq=max(2, loaded * moment // 100))
        questions = Questions(past, loader, known_nodes(past, loader, arguments.nodes), arguments.seed + moment)
        for name, shape in _asked(arguments).items():
            exact = name in EXACT
            samples, warm_up = (arguments.exact_samples, 0) if exact else (arguments.samples, _WARM_UP)
            taken[name], taken[f"{name}_past_{moment}"] = side_by_side(shape, (now, past), questions, samples, warm_up)
            ratios[f"{name}_past_{moment}"] = rounded(ratio_of(taken[f"{name}_past_{moment}"], taken[name]), 2)
    return taken, ratios


def _vector_recall(view: View, questions: Questions, arguments: argparse.Namespace) -> float:
    """The share of the exact ten nearest texts that the index finds."""
    shares = []
    for _ in range(arguments.exact_samples):
        text = questions.ask_about("text")
        nearest = {hit.ref for hit in view.recall(text, lanes=("vector",), exact=True)}
        found = {hit.ref for hit in view.recall(text, lanes=("vector",))}
        shares.append(len(found & nearest) / len(nearest))
    return rounded(fmean(shares), 3)


def _confined(now: View, loader: Loader | LoadedNodes, arguments: argparse.Namespace) -> dict[str, Latencies]:
    """The same questions about what lies inside the first world, asked from inside and from outside."""
    draw = random.Random(arguments.seed)
    confined = now.confined(loader.ref(0))
    inside = confined.find(include_superseded=True)
    shapes: dict[str, Callable[[], object]] = {}
    for suffix, view in (("inside", now), ("confined", confined)):
        asked = _shapes_inside(view, loader.ref(0), inside, draw)
        shapes |= {f"{name}_{suffix}": ask for name, ask in asked.items()}
    shapes["recall_exact_confined_first"] = lambda: now.confined(loader.ref(0)).recall(words(draw, 3))
    taken = {name: Latencies([], []) for name in shapes}
    for name, ask in shapes.items():
        exact = "exact" in name
        for _ in range(0 if exact else _WARM_UP):
            ask()
        for _ in range(arguments.exact_samples if exact else arguments.samples):
            taken[name].take(ask)
    return taken


def _shapes_inside(
    view: View, world: bytes, inside: list[World], draw: random.Random
) -> dict[str, Callable[[], object]]:
    return {
        "get": lambda: view.get(draw.choice(inside).ref),
        "find_by_name": lambda: view.find(name=draw.choice(inside).name, world=world),
        "children": lambda: list(view.children(world)),
        "edges_both": lambda: view.edges(draw.choice(inside).ref),
        "recall": lambda: view.recall(words(draw, 3), world=world, lanes=("text",)),
    }


if __name__ == "__main__":
    main()
