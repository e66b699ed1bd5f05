"""The whole resolver a candidate, in a store of people with different names, and what blocking leaves out.

Candidates are names of the store as somebody else may have written them. Each is judged by all tiers in a read
transaction, as it would be within a write; the figures are by the tier that decided. A look at every name of the store
says what blocking leaves out: of the names that would then be proposed, and of all pairs that are alike at all. The
rate of a batch is that of one durable commit, its writing included. A second store is full of people with one name.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import defaultdict
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Final

from bench._people import people, written_otherwise
from bench._report import p50, p95, parser, report
from bench._workload import open_seeded
from worlddb import Database
from worlddb.log.model.environment import SeededEntropy
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.blocks import block, lookup_keys
from worlddb.projections.tables.matching import forms
from worlddb.projections.tables.tables import Tables
from worlddb.reconciler.commands import Create
from worlddb.reconciler.context import Context
from worlddb.reconciler.draft import Draft, FreshNonces
from worlddb.reconciler.resolver import verdict
from worlddb.reconciler.resolving.scores import likeness
from worlddb.reconciler.resolving.thresholds import Thresholds
from worlddb.reconciler.resolving.verdict import Considered, Resolved, judge

_COLUMNS: Final = ("decided by", "candidates", "p50 ms", "p95 ms", "p50 ms of the processor", "p95 ms of it")
_BATCH: Final = 10_000
_NAMESAKE: Final = "Wang Wei"
_THRESHOLDS: Final = Thresholds()


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        result = measure(Path(folder), arguments)
    rows = [
        (tier, result["counts"][tier], *(result[key][tier] for key in ("p50_ms", "p95_ms", "cpu_p50_ms", "cpu_p95_ms")))
        for tier in sorted(result["counts"])
    ]
    notes = (
        f"{result['nodes']:,} names. For {result['scanned']} candidates a look at every name would propose"
        f" {result['pairs']:,} by other tiers than the exact one; blocks hold {result['recall']} of them, and"
        f" {result['recall_of_all_alike']} of the {result['pairs_alike']:,} pairs that are alike.",
        f"Together: {result['batch_per_s']:,} candidates/s in one durable commit of {result['batch']:,}.",
    )
    report(arguments, "resolve", result, _COLUMNS, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--nodes", type=int, default=10_000, help="names in the store")
    arguments.add_argument("--candidates", type=int, default=1_000)
    arguments.add_argument("--scanned", type=int, default=100, help="candidates held against every name, for recall")
    arguments.add_argument("--batch", type=int, default=_BATCH, help="candidates that arrive together")
    arguments.add_argument("--namesakes", type=int, default=5_000, help="people in the store of one name")
    arguments.add_argument("--dir", help="where the stores are made (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time candidates one by one, then together, and count what blocking leaves out."""
    draw = random.Random(arguments.seed)
    names = list(people(draw, arguments.nodes))
    others = [written_otherwise(draw, draw.choice(names)) for _ in range(arguments.candidates)]
    with open_seeded(folder / "people", arguments.seed) as db:
        _fill(db, names)
        taken, worked = timed(db, others)
        recall = blocking_recall(db, names, others[: arguments.scanned])
        together = [written_otherwise(draw, draw.choice(names)) for _ in range(arguments.batch)]
        began = perf_counter()
        with db.batch() as tx:
            for name in together:
                tx.create("Entity", name, resolve="all")
        batch_seconds = perf_counter() - began
    with open_seeded(folder / "namesakes", arguments.seed) as db:
        _fill(db, [_NAMESAKE] * arguments.namesakes)
        for number, wanted in enumerate((_NAMESAKE, "Wang Weii")):
            name = f"{arguments.namesakes:,} called {_NAMESAKE}: {('the same', 'misspelled')[number]}"
            taken[name], worked[name] = (found["in all"] for found in timed(db, [wanted] * 50))
    return {
        "nodes": arguments.nodes,
        "counts": {tier: len(found) for tier, found in taken.items()},
        "p50_ms": {tier: round(p50(found), 4) for tier, found in taken.items()},
        "p95_ms": {tier: round(p95(found), 4) for tier, found in taken.items()},
        "cpu_p50_ms": {tier: round(p50(found), 4) for tier, found in worked.items()},
        "cpu_p95_ms": {tier: round(p95(found), 4) for tier, found in worked.items()},
        **recall,
        "scanned": min(arguments.scanned, len(others)),
        "batch": arguments.batch,
        "batch_per_s": round(arguments.batch / batch_seconds),
    }


def _fill(db: Database, names: list[str]) -> None:
    for start in range(0, len(names), _BATCH):
        with db.batch() as tx:
            for name in names[start : start + _BATCH]:
                tx.create("Entity", name, resolve=False)


def timed(db: Database, names: list[str]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Milliseconds a candidate, in all and by the tier that decided: by the clock, and of the processor."""
    taken: dict[str, list[float]] = defaultdict(list)
    worked: dict[str, list[float]] = defaultdict(list)
    with db._env.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        nonces = FreshNonces(SeededEntropy(1))
        draft = Draft(log, tables, log.head(), nonces, ingest_time=0, wall_time=0, author="bench")
        ctx = Context(draft, db._ontology, b"")
        for name in names:
            forms.cache_clear()
            began, began_work = perf_counter(), thread_time()
            found = verdict(ctx, Create(type="Entity", name=name), _THRESHOLDS)
            work, spent = 1000 * (thread_time() - began_work), 1000 * (perf_counter() - began)
            for tier in (found.evidence.get("tier", "nobody"), "in all"):
                taken[tier].append(spent)
                worked[tier].append(work)
    return taken, worked


def blocking_recall(db: Database, names: list[str], others: list[str]) -> dict[str, Any]:
    """What a look at every name finds, and the share of it that blocks hold: of what is alike, and of what is best."""
    alike = alike_found = best = best_found = 0
    with db._env.read() as txn:
        tables = Tables(txn)
        for other in others:
            reached = {text for form in forms(other) for key in lookup_keys(form) for text, _ in block(tables, key)}
            in_blocks = [any(form.text in reached for form in forms(name)) for name in names]
            everybody = [
                Considered(number, "", other, name, likeness(other, name)) for number, name in enumerate(names)
            ]
            alike_to = [
                each.node
                for each in everybody
                if each.score("fuzzy") >= _THRESHOLDS.fuzzy or each.score("phonetic") >= _THRESHOLDS.phonetic
            ]
            found = judge(everybody, _THRESHOLDS)
            proposed = (found.match,) if isinstance(found, Resolved) else getattr(found, "matches", ())
            wanted = [each.node for each in proposed if not each.likeness.exact]
            alike, alike_found = alike + len(alike_to), alike_found + sum(in_blocks[node] for node in alike_to)
            best, best_found = best + len(wanted), best_found + sum(in_blocks[node] for node in wanted)
    return {
        "recall": round(best_found / best, 4) if best else 1.0,
        "pairs": best,
        "recall_of_all_alike": round(alike_found / alike, 4) if alike else 1.0,
        "pairs_alike": alike,
    }


if __name__ == "__main__":
    main()
