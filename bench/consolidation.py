"""Reading summaries first, compared with reading everything that they summarise (paper §6).

The stand-in consolidates topics of facts in one store. Then all topics are read in full, and with summaries first; each
figure is the median CPU time of several runs. The store before consolidation is read in full by turns, which shows the
cost of summaries among the facts, in total and per record. The first summary-first read of a handle checks each member
once for fresh summaries, and is timed separately. --beside adds other reads of both stores: recalls, single worlds, and
all facts.

--locomo, --longmemeval or --beam FILE asks the questions of that file instead, before and after a consolidation, and
measures the evidence that is read at equal tokens. See bench/public_data/consolidated.py.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import worlddb
from bench.made_up.workload import CONTENT_WORDS, open_seeded, words
from bench.measuring.report import p50, parser, positive, report, rounded
from bench.public_data import consolidated
from worlddb import Database, Subgraph

_BATCH = 10_000
_SEEDS = 1_000
"""How many topics one query begins from at most."""


def main() -> None:
    arguments = _arguments()
    if asked := consolidated.measure_files(arguments):
        made = [
            f"{name}: {figures['stores']} stores, {figures['summaries']} summaries" for name, figures in asked.items()
        ]
        report(arguments, "consolidation", asked, consolidated.COLUMNS, consolidated.rows_of(asked), made)
        return
    sizes = [(facts, topics) for facts, topics in zip(arguments.facts, arguments.topics, strict=True)]
    if arguments.large:
        sizes.append((100_000, 10_000))
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        measure_files = {
            f"{facts}/{topics}": measure(Path(folder), facts, topics, arguments) for facts, topics in sizes
        }
    keys = ("full_ms", "summary_first_ms", "summary_first_ratio", "first_ratio", "full_slower", "full_slower_a_record")
    rows = [(f"{name} facts/topics", *(found[key] for key in keys)) for name, found in measure_files.items()]
    notes = [
        "Milliseconds of the processor. Ratio: the full read divided by the summary-first read; first: by a handle's"
        " first.",
        "Slower: the full read of the consolidated store divided by that before, without summaries among the facts; a",
        "record: the same for each record, since the reads include the summaries.",
    ]
    for name, found in measure_files.items():
        by_turns = ", ".join(f"{read} {ratio}" for read, ratio in found["others"].items())
        notes += [f"{name}, by those before, by turns: {by_turns}."] if by_turns else []
    columns = ("store", "full", "summary first", "ratio", "ratio, first", "slower", "slower a record")
    first = next(iter(measure_files.values()))
    figures = {key: first[key] for key in ("summary_first_ratio", "full_ms", "summary_first_ms", "records_read")}
    report(arguments, "consolidation", {"by_size": measure_files, **figures}, columns, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--facts", type=positive, nargs="+", default=[1_000, 10_000])
    arguments.add_argument("--topics", type=positive, nargs="+", default=[100, 100], help="as many as sizes of --facts")
    arguments.add_argument("--runs", type=positive, default=9)
    arguments.add_argument("--beside", action="store_true", help="also the time of reads before and after, alternating")
    arguments.add_argument("--large", action="store_true", help="also 100,000 facts in 10,000 topics")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    consolidated.add_arguments(arguments)
    return arguments.parse_args()


def measure(folder: Path, facts: int, topics: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Build a store, read it, consolidate it, and read it both ways."""
    path = folder / f"{facts}-{topics}"
    with open_seeded(path, arguments.seed) as db:
        refs = _fill(db, facts, topics, random.Random(arguments.seed))
        was = _read(db, refs, summaries=False)
    as_it_was = folder / f"{facts}-{topics}-before"
    shutil.copytree(path, as_it_was)
    with worlddb.open(path, author="bench", embedder=None) as db:
        began = perf_counter()
        done = db.consolidate(min_age=0)
        seconds = perf_counter() - began
    with worlddb.open(path, author="bench", embedder=None) as db:
        first, _ = _time(lambda: _read(db, refs, summaries=True), 1)
        short, summaries = _time(lambda: _read(db, refs, summaries=True), arguments.runs)
        full, all_of_it = _time(lambda: _read(db, refs, summaries=False), arguments.runs)
        leaves = {world.ref for found in all_of_it for world in found if world.type == "Fact"}
        reached = {edge.target for found in summaries for world in found for edge in _details(db, world.ref)}
        assert reached == leaves and len(leaves) == facts, "the same leaves are reached from the summaries"
    others = _other_reads(as_it_was, path, refs, arguments)
    slower = others.pop("all")
    read = [sum(found.records_read for found in answers) for answers in (all_of_it, summaries, was)]
    return {
        "full_ms": rounded(full * 1000),
        "summary_first_ms": rounded(short * 1000),
        "first_ms": rounded(first * 1000),
        "summary_first_ratio": rounded(full / short, 2),
        "first_ratio": rounded(full / first, 2),
        "full_slower": slower,
        "full_slower_a_record": rounded(slower * read[2] / read[0], 3),
        "records_read": read[0],
        "summary_first_records_read": read[1],
        "records_read_ratio": rounded(read[0] / read[1], 2),
        "summaries": len(done.summaries),
        "consolidate_s": rounded(seconds, 2),
        "others": others,
    }


def _other_reads(before: Path, after: Path, refs: list[str], arguments: argparse.Namespace) -> dict[str, float]:
    """Times of reads in the consolidated store relative to before: medians of pairs."""
    draw = random.Random(arguments.seed)
    questions = [" ".join(words(draw, CONTENT_WORDS).split()[:3]) for _ in range(40)]
    reads: dict[str, Callable[[Database], object]] = {
        "all": lambda db: _read(db, refs, summaries=False),
        "recall": lambda db: [db.view().recall(question) for question in questions],
        "get": lambda db: [db.view().get(ref) for ref in refs],
        "find": lambda db: db.view().find(type="Fact"),
    }
    if not arguments.beside:
        reads = {"all": reads["all"]}
    with worlddb.open(before, embedder=None) as one, worlddb.open(after, embedder=None) as other:

        def seconds(db: Database, read: Callable[[Database], object]) -> float:
            began = process_time()
            read(db)
            return process_time() - began

        found = {}
        for name, read in reads.items():
            pairs = [(seconds(one, read), seconds(other, read)) for _ in range(arguments.runs + 1)][1:]
            found[name] = rounded(p50([last / first for first, last in pairs]), 3)
        return found


def _fill(db: Database, facts: int, topics: int, draw: random.Random) -> list[str]:
    with db.batch() as tx:
        for number in range(topics):
            tx.create("Topic", f"topic {number}", resolve=False)
    refs = list(tx.receipt.refs)
    for start in range(0, facts, _BATCH):
        with db.batch() as tx:
            for number in range(start, min(start + _BATCH, facts)):
                world, text = refs[number % topics], f"{words(draw, CONTENT_WORDS)}."
                tx.create("Fact", f"fact {number}", content=text, world=world, resolve=False)
    return refs


def _read(db: Database, refs: list[str], *, summaries: bool) -> list[Subgraph]:
    """What the topics contain, or their summaries."""
    view = db.view()
    found = []
    for start in range(0, len(refs), _SEEDS):
        query = view.query(seeds=refs[start : start + _SEEDS]).traverse("contains")
        found.append((query.prefer_summaries() if summaries else query).run())
    return found


def _details(db: Database, ref: str) -> list[Any]:
    return db.view().edges(ref, type="derived_from", direction="out")


def _time(call: Callable[[], list[Subgraph]], runs: int) -> tuple[float, list[Subgraph]]:
    """Median CPU seconds of some runs, and the last result."""
    took, found = [], call() if runs > 1 else []
    for _ in range(runs):
        began = process_time()
        found = call()
        took.append(process_time() - began)
    return p50(took), found


if __name__ == "__main__":
    main()
