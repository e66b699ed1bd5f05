"""Time of the whole resolver per candidate, in small and large stores of people, and what blocking misses.

Candidates are misspelled names of the store. All tiers judge each of them in a read transaction, as within a write, and
the best of a few tries counts; figures are grouped by the deciding tier. Candidates of a larger and of a smaller store
take turns. An exhaustive scan (bench/measuring/scan.py) shows what blocking misses, of all similar pairs and of the
answers. The rate of a batch is that of one durable commit, writing included. A last store is full of people with the
same name.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any, Final, NamedTuple

from bench.made_up.people import draw_names, misspell
from bench.made_up.workload import open_seeded
from bench.measuring.report import p50, p95, parser, positive, report
from bench.measuring.scan import Scan
from worlddb import Database
from worlddb.log.model.clock import SeededEntropy
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.names.blocks import forms_around
from worlddb.projections.tables.names.canonical import forms
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.commands.commands import Create
from worlddb.reconciler.entity_resolution.resolver import Search, places_of, verdict
from worlddb.reconciler.similarity.verdict import Resolved, Thresholds, Verdict
from worlddb.reconciler.transaction.context import Context
from worlddb.reconciler.transaction.draft import Draft, FreshNonces

_COLUMNS: Final = ("names", "decided by", "candidates", "p50 ms", "p95 ms", "p50 ms of the processor", "p95 ms of it")
_BATCH: Final = 10_000
_NAMESAKE: Final = "Wang Wei"
_MISSPELLED: Final = "Wang Weii"
_THRESHOLDS: Final = Thresholds()


class People(NamedTuple):
    """A store of people, their names, and names as somebody else may have written them."""

    db: Database
    names: list[str]
    others: list[str]


class Timings(NamedTuple):
    """The deciding tier of each candidate, its clock and CPU milliseconds, and what was skipped."""

    tiers: list[str]
    ms: list[float]
    cpu_ms: list[float]
    in_part: list[bool]
    not_weighed: list[bool]


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        (size, tier, *(found[key] for key in ("candidates", "p50_ms", "p95_ms", "cpu_p50_ms", "cpu_p95_ms")))
        for size, tiers in result["by_tier"].items()
        for tier, found in sorted(tiers.items())
    ]
    notes = [_scan_note(size, found) for size, found in result["left_out"].items()]
    notes += [f"p95 of the processor at {result['nodes']:,} names is {result['ratio']} times that at fewer."]
    notes += [
        f"Together: {result['batch_per_s']:,} candidates/s in one durable commit of {result['batch']:,};"
        f" {result['batch_cpu_per_s']:,} a second of the processor."
    ]
    report(arguments, "resolve", result, _COLUMNS, rows, notes if result["ratio"] else [notes[0], notes[-1]])


def _scan_note(size: str, found: dict[str, Any]) -> str:
    return (
        f"{size} names: blocks contain {found['recall_of_all_alike']} of the {found['pairs_alike']:,} similar pairs of"
        f" {found['scanned']:,} candidates, and {found['recall']} of the {found['pairs']:,} pairs that a comparison"
        " with every name would propose by tiers other than the exact one. The resolver has the same answer for"
        f" {found['same_answer']:,} candidates, and finds nobody for {found['lost']} with a known identity. Of"
        f" {found['candidates']:,} candidates {found['in_part']:,} had a block that was searched in part, and"
        f" {found['not_weighed']:,} more similar names than are compared."
    )


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=positive, default=10_000, help="names in the store")
    arguments.add_argument("--beside", type=positive, default=10_000, help="names in the store beside one of more")
    arguments.add_argument("--candidates", type=positive, default=1_000)
    arguments.add_argument("--repeat", type=positive, default=3, help="tries for each candidate; the fastest counts")
    arguments.add_argument("--scanned", type=positive, default=1_000, help="candidates compared with every name")
    arguments.add_argument("--batch", type=positive, default=_BATCH, help="candidates in one batch")
    arguments.add_argument("--namesakes", type=positive, default=5_000, help="people in the store of one name")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time candidates one by one, then together, and count what blocking leaves out."""
    sizes = sorted({arguments.nodes, min(arguments.nodes, arguments.beside)})
    with ExitStack() as stack:
        opened = [stack.enter_context(open_seeded(folder / f"{size}", arguments.seed)) for size in sizes]
        stores = [_fill_store(db, size, arguments) for db, size in zip(opened, sizes, strict=True)]
        timings = dict(zip(map(str, sizes), time_candidates(stores, arguments.repeat), strict=True))
        left_out = {
            size: blocking(draw_names, arguments.scanned) | _count_partial(timings[size])
            for size, draw_names in zip(map(str, sizes), stores, strict=True)
        }
        seconds, work = _time_batch(stores[-1], arguments)
    with open_seeded(folder / "namesakes", arguments.seed) as db:
        _fill(db, [_NAMESAKE] * arguments.namesakes)
        for wanted in (_NAMESAKE, _MISSPELLED):
            (found,) = time_candidates([People(db, [], [wanted] * 50)], arguments.repeat)
            timings[f"{arguments.namesakes:,} called {_NAMESAKE}: {wanted}"] = found
    by_tier = {size: _by_tier(found) for size, found in timings.items()}
    least, most = (by_tier[str(size)]["in all"]["cpu_p95_ms"] for size in (sizes[0], sizes[-1]))
    return {
        "nodes": arguments.nodes,
        "by_tier": by_tier,
        "ratio": round(most / least, 3) if len(sizes) > 1 else None,
        "left_out": left_out,
        "batch": arguments.batch,
        "batch_per_s": round(arguments.batch / seconds),
        "batch_cpu_per_s": round(arguments.batch / work),
    }


def _fill_store(db: Database, nodes: int, arguments: argparse.Namespace) -> People:
    draw = random.Random(arguments.seed)
    names = list(draw_names(draw, nodes))
    _fill(db, names)
    return People(db, names, [misspell(draw, draw.choice(names)) for _ in range(arguments.candidates)])


def _fill(db: Database, names: list[str]) -> None:
    for start in range(0, len(names), _BATCH):
        with db.batch() as tx:
            for name in names[start : start + _BATCH]:
                tx.create("Entity", name, resolve=False)


@contextmanager
def _judging_context(db: Database) -> Iterator[Context]:
    """The context for judging candidates, in one read transaction."""
    with db._env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        nonces = FreshNonces(SeededEntropy(1))
        draft = Draft(log, tables, log.head(), nonces, ingest_time=0, wall_time=0, author="bench")
        yield Context(draft, db._ontology, b"")


def time_candidates(stores: list[People], repeat: int) -> list[Timings]:
    """Judge the candidates of all stores by turns."""
    found = [Timings([], [], [], [], []) for _ in stores]
    with ExitStack() as stack:
        contexts = [stack.enter_context(_judging_context(draw_names.db)) for draw_names in stores]
        for candidates in zip(*(draw_names.others for draw_names in stores), strict=True):
            for ctx, name, taken in zip(contexts, candidates, found, strict=True):
                tries = [_once(ctx, name) for _ in range(repeat)]
                looked_at = tries[0][0].evidence.get("looked_at", {})
                taken.tiers.append(tries[0][0].evidence.get("tier", "nobody"))
                taken.ms.append(min(ms for _, ms, _ in tries))
                taken.cpu_ms.append(min(cpu_ms for _, _, cpu_ms in tries))
                taken.in_part.append("blocks_in_part" in looked_at)
                taken.not_weighed.append("forms_left" in looked_at)
    return found


def _once(ctx: Context, name: str) -> tuple[Verdict, float, float]:
    forms.cache_clear()
    began, began_work = perf_counter(), thread_time()
    found = verdict(ctx, Create(type="Entity", name=name), _THRESHOLDS)
    work, spent = thread_time() - began_work, perf_counter() - began
    return found, 1000 * spent, 1000 * work


def _by_tier(taken: Timings) -> dict[str, dict[str, Any]]:
    ms: dict[str, list[float]] = defaultdict(list)
    cpu_ms: dict[str, list[float]] = defaultdict(list)
    for tier, spent, work in zip(taken.tiers, taken.ms, taken.cpu_ms, strict=True):
        for each in (tier, "in all"):
            ms[each].append(spent)
            cpu_ms[each].append(work)
    return {
        tier: {
            "candidates": len(ms[tier]),
            "p50_ms": round(p50(ms[tier]), 4),
            "p95_ms": round(p95(ms[tier]), 4),
            "cpu_p50_ms": round(p50(cpu_ms[tier]), 4),
            "cpu_p95_ms": round(p95(cpu_ms[tier]), 4),
        }
        for tier in ms
    }


def _count_partial(taken: Timings) -> dict[str, int]:
    return {"candidates": len(taken.tiers), "in_part": sum(taken.in_part), "not_weighed": sum(taken.not_weighed)}


def _time_batch(draw_names: People, arguments: argparse.Namespace) -> tuple[float, float]:
    """Clock and CPU seconds for candidates in one batch."""
    draw = random.Random(arguments.seed + 1)
    names = [misspell(draw, draw.choice(draw_names.names)) for _ in range(arguments.batch)]
    began, began_work = perf_counter(), process_time()
    with draw_names.db.batch() as tx:
        for name in names:
            tx.create("Entity", name, resolve="all")
    return perf_counter() - began, process_time() - began_work


def blocking(draw_names: People, scanned: int) -> dict[str, Any]:
    """What a look at every name finds, and the share of it that blocks hold: of what is alike, and of what is best; and
    how often the resolver gives the same answer."""
    alike = alike_found = best = best_found = same = lost = 0
    scan, search, others = (
        Scan(draw_names.names, _THRESHOLDS),
        Search(ROOT_NODE, _THRESHOLDS),
        draw_names.others[:scanned],
    )
    with _judging_context(draw_names.db) as ctx:
        first = ctx.tables.progress().next_node - len(draw_names.names)
        for other in others:
            places = [place for form in forms(other) for place in places_of(form, search)]
            reached = {text.decode() for place in places for text in forms_around(ctx.tables, place).forms}
            seen = scan.look(other)
            if not seen.exact:
                held = {at for at in seen.alike if any(form.text in reached for form in forms(draw_names.names[at]))}
                alike, alike_found = alike + len(seen.alike), alike_found + len(held)
                best, best_found = best + len(seen.proposed), best_found + len(held & set(seen.proposed))
            answer = verdict(ctx, Create(type="Entity", name=other), _THRESHOLDS)
            matches = (answer.match,) if isinstance(answer, Resolved) else getattr(answer, "matches", ())
            same += {match.node - first for match in matches} == set(seen.proposed)
            lost += bool(seen.proposed) and not matches
    return {
        "scanned": len(others),
        "recall": round(best_found / best, 4) if best else 1.0,
        "pairs": best,
        "recall_of_all_alike": round(alike_found / alike, 4) if alike else 1.0,
        "pairs_alike": alike,
        "same_answer": same,
        "lost": lost,
    }


if __name__ == "__main__":
    main()
