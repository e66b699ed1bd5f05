"""Latency of recall in a large store of conversations: each lane, ten hits, LongMemEval's questions.

The file's sessions are ingested one after the other, and again under other names until there are --turns turns, then
embedded and indexed. In a store of 200,000 turns each text so occurs more than twice, which is printed. The store is
closed and opened again, which is measured with the first recall. Then every question is asked once, by all lanes and by
each lane alone. Clock time and CPU time are measured; on a busy machine only the latter is meaningful. --inside also
asks every question inside worlds with some of the sessions, drawn at random. --store keeps the store, and reuses it if
it exists.

A full run of Python's cycle collector visits all objects of the process. It takes longer than a recall, and happens
once in some 200 recalls. Of few questions it would be the p99 in one program and not in the next: each shape
begins right after one, and the time that one takes, and how many fell among the questions, is told apart.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any, Final

import worlddb
from bench.measuring.report import ended, p50, p95, parser, percentile, positive, report
from bench.public_data.haystacks import Record, load, texts
from worlddb import Database, Turn, View

SHAPES: Final[dict[str, dict[str, Any]]] = {
    "all lanes": {},
    "text": {"lanes": ("text",)},
    "vector": {"lanes": ("vector",)},
    "all lanes, reciprocal ranks": {"fusion": "rrf"},
}
INSIDE: Final = (1_500, 3_000, 10_000, 30_000, 100_000)
"""How many members the worlds have that are asked inside of, about."""
KEYS: Final = ("p50_ms", "p95_ms", "p99_ms", "cpu_p50_ms", "cpu_p95_ms", "cpu_p99_ms")
WARM_UP: Final = 5


def main() -> None:
    arguments = _arguments()
    records = load(arguments.file)
    kept = arguments.store
    with nullcontext(kept) if kept else tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder:
        store = Path(folder) / "store"
        with worlddb.open(store, author="bench") as db:
            turns = fill(db, records, arguments.turns)
            worlds = contain(db, arguments.seed) if arguments.inside else []
        began, ran = perf_counter(), process_time()
        with worlddb.open(store, author="bench") as db:
            opened = _elapsed(began, ran)
            first = _time_recall(db.view(), records[0], {})
            shapes = SHAPES | {name: {"world": name} for name in worlds}
            result = measure(db, records[: arguments.questions], shapes) | {
                "turns": turns,
                "distinct_texts": min(turns, len(set(texts(records).values()))),
                "open_ms": round(opened[0], 3),
                "open_cpu_ms": round(opened[1], 3),
                "first_ms": round(first[0], 3),
                "first_cpu_ms": round(first[1], 3),
            }
    rows = [(shape, *(told[key] for key in KEYS)) for shape, told in result["shapes"].items()]
    notes = (
        f"A full run of the cycle collector takes {result['collection_ms']} ms; {result['collections']} fell among the"
        " questions.",
        f"{turns:,} turns, at most {result['distinct_texts']:,} distinct texts, {result['n']} questions, ten hits each",
        f"Opened in {result['open_ms']} ms ({result['open_cpu_ms']} of the processor); the first recall took"
        f" {result['first_ms']} ms ({result['first_cpu_ms']}), the model's and the libraries' loading included.",
    )
    heads = ("shape", "p50 ms", "p95 ms", "p99 ms", "processor p50 ms", "p95 ms", "p99 ms")
    report(arguments, "latency", result, heads, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="LongMemEval's JSON, compressed or not")
    arguments.add_argument(
        "--turns", type=positive, default=200_000, help="the number of turns in the store (default: 200,000)"
    )
    arguments.add_argument("--questions", type=positive, help="only the first N questions")
    arguments.add_argument("--inside", action="store_true", help="also recall inside worlds of several sizes")
    arguments.add_argument("--store", type=Path, help="a folder for a permanent store")
    return arguments.parse_args()


def fill(db: Database, records: Sequence[Record], turns: int) -> int:
    """Ingest sessions up to a number of turns, if they are missing, and check that all are indexed."""
    wanted, count = [], 0
    for session in _sessions(records):
        wanted.append(session)
        count += len(session[2])
        if count >= turns:
            break
    if db.view().counts()["worlds"] < count:
        for name, at, said in wanted:
            db.ingest(said, conversation="haystack", session=name, at=at, format="longmemeval")
    db.embed()
    assert db.catch_up(), "nobody else has the indexes of this store"
    return count


def _sessions(records: Sequence[Record]) -> Iterator[tuple[str, int | None, list[Turn]]]:
    """Sessions without end, each under a name of its own."""
    times = 0
    while True:
        for record in records:
            for name, at, turns in record.sessions:
                if turns:
                    yield f"{name} {times}", at, [Turn(text=turn.content, speaker=turn.role) for turn in turns]
                times += 1


def contain(db: Database, seed: int) -> list[str]:
    """Make worlds that contain sessions, up to a number of members, if they are missing."""
    view = db.view()
    names = [f"inside {size:,}" for size in INSIDE]
    if view.find(name=names[0]):
        return names
    (conversation,) = view.find(name="haystack")
    sessions = list(view.children(conversation.ref))
    for size, name in zip(INSIDE, names, strict=True):
        drawn = Random(seed).sample(sessions, len(sessions))
        members = 0
        with db.batch() as batch:
            world = batch.create("World", name)
            for session in drawn:
                if members < size:
                    batch.link(world, "contains", session.ref)
                    members += 1 + sum(1 for _ in view.children(session.ref))
    db.catch_up()
    return names


def measure(db: Database, records: Sequence[Record], asked: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Ask every question in every shape, one shape after the other."""
    view = db.view()
    shapes: dict[str, dict[str, float]] = {}
    fell, took = 0, list[float]()
    for shape, options in asked.items():
        for record in records[:WARM_UP]:
            _time_recall(view, record, options)
        began = process_time()
        gc.collect()
        took.append(1000 * (process_time() - began))
        before = _full_collections()
        clock, processor = zip(*(_time_recall(view, record, options) for record in records), strict=True)
        shapes[shape] = dict(zip(KEYS, (*_quantiles(clock), *_quantiles(processor)), strict=True))
        fell += _full_collections() - before
    collector = {"collection_ms": round(p50(took), 3), "collections": fell}
    return {"n": len(records), **shapes["all lanes"], **collector, "shapes": shapes}


def _full_collections() -> int:
    """The number of full runs of the cycle collector in this process."""
    count: int = gc.get_stats()[2]["collections"]
    return count


def _quantiles(samples: Sequence[float]) -> tuple[float, float, float]:
    return round(p50(samples), 3), round(p95(samples), 3), round(percentile(samples, 99), 3)


def _time_recall(view: View, record: Record, options: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds on the clock and on the processor."""
    began, ran = perf_counter(), process_time()
    view.recall(record.question, asked=record.asked, **options)
    return _elapsed(began, ran)


def _elapsed(began: float, ran: float) -> tuple[float, float]:
    return 1000 * (perf_counter() - began), 1000 * (process_time() - ran)


if __name__ == "__main__":
    ended(main)
