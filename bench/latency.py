"""How long a recall takes in a large store of conversations: every lane, ten hits, on LongMemEval's own questions.

The file's sessions are taken in one after the other, and again under other names until there are --turns of them, are
embedded and indexed; then every question is asked once. Time is measured on the clock and on the processor: on a busy
machine only the latter says something. With --store the store is kept, and used again if it is there.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import msgspec

import worlddb
from bench._report import p50, p95, parser, report
from bench.longmemeval import Record
from worlddb import Database, Turn, View
from worlddb.tools.importers import files
from worlddb.tools.importers.longmemeval import parse_date

SHAPES: Final[dict[str, dict[str, Any]]] = {
    "all lanes": {},
    "text": {"lanes": ("text",)},
    "vector": {"lanes": ("vector",)},
    "all lanes, reciprocal ranks": {"fusion": "rrf"},
}
WARM_UP: Final = 5


def main() -> None:
    arguments = _arguments()
    records = msgspec.json.decode(files.whole(arguments.file), type=list[Record])
    kept = arguments.store
    with (
        nullcontext(kept) if kept else tempfile.TemporaryDirectory(prefix="worlddb-bench-") as folder,
        worlddb.open(Path(folder) / "store", author="bench") as db,
    ):
        turns = fill(db, records, arguments.turns)
        result = measure(db, records[: arguments.questions]) | {"turns": turns}
    rows = [
        (shape, *(result["shapes"][shape][key] for key in ("p50_ms", "p95_ms", "cpu_p50_ms", "cpu_p95_ms")))
        for shape in SHAPES
    ]
    notes = (f"{turns:,} turns, {result['n']} questions, ten hits each.",)
    heads = ("shape", "p50 ms", "p95 ms", "processor p50 ms", "processor p95 ms")
    report(arguments, "latency", result, heads, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("file", type=Path, help="LongMemEval's JSON, compressed or not")
    arguments.add_argument("--turns", type=int, default=200_000, help="how many turns the store has (default: 200,000)")
    arguments.add_argument("--questions", type=int, help="only the first so many questions")
    arguments.add_argument("--store", type=Path, help="a folder to keep the store in")
    return arguments.parse_args()


def fill(db: Database, records: Sequence[Record], turns: int) -> int:
    """Take in sessions until there are so many turns, unless they are there, and see that all are indexed."""
    held = db.view().counts()["worlds"]
    if held < turns:
        held = 0
        for name, date, said in _sessions(records):
            db.ingest(said, conversation="haystack", session=name, at=parse_date(date), format="longmemeval")
            held += len(said)
            if held >= turns:
                break
    db.embed()
    assert db.catch_up(), "nobody else has the indexes of this store"
    return max(held, turns)


def _sessions(records: Sequence[Record]) -> Iterator[tuple[str, str, list[Turn]]]:
    """Sessions without end, each under a name of its own."""
    times = 0
    while True:
        for record in records:
            for name, date, turns in zip(
                record.haystack_session_ids, record.haystack_dates, record.haystack_sessions, strict=True
            ):
                if turns:
                    yield f"{name} {times}", date, [Turn(text=turn.content, speaker=turn.role) for turn in turns]
                times += 1


def measure(db: Database, records: Sequence[Record]) -> dict[str, Any]:
    """Ask every question in every shape, one shape after the other."""
    view = db.view()
    shapes: dict[str, dict[str, float]] = {}
    for shape, options in SHAPES.items():
        for record in records[:WARM_UP]:
            _asked(view, record, options)
        clock, processor = zip(*(_asked(view, record, options) for record in records), strict=True)
        shapes[shape] = {
            "p50_ms": round(p50(clock), 3),
            "p95_ms": round(p95(clock), 3),
            "cpu_p50_ms": round(p50(processor), 3),
            "cpu_p95_ms": round(p95(processor), 3),
        }
    return {"n": len(records), **shapes["all lanes"], "shapes": shapes}


def _asked(view: View, record: Record, options: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds on the clock and on the processor."""
    began, ran = perf_counter(), process_time()
    view.recall(record.question, asked=parse_date(record.question_date), **options)
    return 1000 * (perf_counter() - began), 1000 * (process_time() - ran)


if __name__ == "__main__":
    main()
