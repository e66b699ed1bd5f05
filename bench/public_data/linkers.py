"""Other linkers on the same records: the paper's tiers without guards, and the recordlinkage library."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from rapidfuzz.distance import JaroWinkler
from rapidfuzz.process import extractOne

from bench.public_data.linkage import LinkageSet, Pair
from worlddb.projections.tables.names.canonical import forms, normalise_name

_ALL_PAIRS: Final = 2_000
"""Up to how many records recordlinkage is given all pairs; of more those that its blocking finds."""
_WINDOW: Final = 9
_SIMILAR: Final = 0.85
"""The threshold for names in recordlinkage's own guide to deduplication."""


def paper(data: LinkageSet, fuzzy: float = 0.92) -> list[Pair]:
    """The paper's exact, fuzzy and phonetic tiers as they are written, each over all earlier names (§3.1)."""
    found: list[Pair] = []
    names: list[str] = []
    exact: dict[str, int] = {}
    sounds: dict[str, int] = {}
    for position, record in enumerate(data.records):
        name = normalise_name(record.name)
        sound = " ".join(form.sound for form in forms(record.name))
        if name in exact:
            found.append(Pair(position, exact[name], "exact"))
        elif best := extractOne(name, names, scorer=JaroWinkler.similarity, score_cutoff=fuzzy):
            found.append(Pair(position, best[2], "fuzzy"))
        elif sound and sound in sounds:
            found.append(Pair(position, sounds[sound], "phonetic"))
        names.append(name)
        exact.setdefault(name, position)
        sounds.setdefault(sound, position)
    return found


def recordlinkage_names(data: LinkageSet) -> list[Pair]:
    """recordlinkage: both names similar by Jaro-Winkler."""
    scores = _compare_records(data)
    return _pairs(scores.index[(scores["given"] >= _SIMILAR) & (scores["family"] >= _SIMILAR)])


def recordlinkage_all_fields(data: LinkageSet) -> list[Pair]:
    """recordlinkage with addresses and birthdays too: the Fellegi-Sunter model, its weights learned without truth."""
    scores = (_compare_records(data, all_fields=True) >= _SIMILAR).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _pairs(import_module("recordlinkage").ECMClassifier().fit_predict(scores))


def _compare_records(data: LinkageSet, *, all_fields: bool = False) -> Any:
    library, pandas = import_module("recordlinkage"), import_module("pandas")
    library.logging.set_verbosity(library.logging.ERROR)
    frame = pandas.DataFrame(
        {"given": [each.given for each in data.records], "family": [each.family for each in data.records]}
    ).replace("", None)
    index = library.Index()
    if len(frame) <= _ALL_PAIRS:
        index.full()
    else:
        for column in ("given", "family"):
            index.block(column)
            index.sortedneighbourhood(column, window=_WINDOW)
    compare = library.Compare()
    for column in ("given", "family"):
        compare.string(column, column, method="jarowinkler", label=column)
    if all_fields:
        for column in ("address_1", "suburb"):
            frame[column] = data.frame[column].replace("", None)
            compare.string(column, column, method="jarowinkler", label=column)
        for column in ("date_of_birth", "postcode", "state"):
            frame[column] = data.frame[column].replace("", None)
            compare.exact(column, column, label=column)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare.compute(index.index(frame), frame)


def _pairs(found: Any) -> list[Pair]:
    return list(_ordered_pair(found))


def _ordered_pair(found: Any) -> Iterator[Pair]:
    for one, other in sorted((max(pair), min(pair)) for pair in found):
        yield Pair(int(one), int(other), "recordlinkage")
