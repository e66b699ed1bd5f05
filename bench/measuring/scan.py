"""An exhaustive scan of a store's names: what a resolver without blocks would find.

To hold a candidate against a million names one by one takes half a minute. Two names can only be alike if their
letters are, in the order in which they are written or in that of the alphabet, if they sound the same, or if the last
words are equal and one given name is the other or a short form of it. The first is asked of all names by rapidfuzz's
own loop, the others by looking up; only what is left is held against the candidate.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import JaroWinkler
from rapidfuzz.process import cdist

from worlddb.projections.tables.names.canonical import forms
from worlddb.reconciler.similarity.scores import Likeness, is_short_form_of, likeness
from worlddb.reconciler.similarity.verdict import Considered, Resolved, Thresholds, judge

_ROUNDING = 1e-6
"""Scores of a whole column are of single precision."""


class ScanResult(NamedTuple):
    """The positions of the names that are alike, and of those of them that would be proposed; and if it is by the exact
    tier."""

    alike: list[int]
    proposed: list[int]
    exact: bool


class Scan:
    """All names of a store."""

    def __init__(self, names: list[str], thresholds: Thresholds) -> None:
        self.names = names
        self.thresholds = thresholds
        self._texts: list[str] = []
        self._ordered: list[str] = []
        self._owners: list[int] = []
        self._sounds: defaultdict[str, list[int]] = defaultdict(list)
        self._lasts: defaultdict[str, list[int]] = defaultdict(list)
        for position, name in enumerate(names):
            for form in forms(name):
                self._sounds[form.sound].append(position)
                self._lasts[form.text.rpartition(" ")[2]].append(len(self._texts))
                self._texts.append(form.text)
                self._ordered.append(form.ordered)
                self._owners.append(position)

    def look(self, candidate: str) -> ScanResult:
        """Compare a candidate with every name of the store; a given name alone matches nobody."""
        possible = sorted(self._candidates(candidate))
        scored = ((position, likeness(candidate, self.names[position])) for position in possible)
        alike = [(position, found) for position, found in scored if self._is_alike(found)]
        verdict = judge([Considered(position, "", candidate, "", found) for position, found in alike], self.thresholds)
        matches = (verdict.match,) if isinstance(verdict, Resolved) else getattr(verdict, "matches", ())
        exact = any(found.exact for _, found in alike)
        return ScanResult([position for position, _ in alike], [match.node for match in matches], exact)

    def _is_alike(self, found: Likeness) -> bool:
        if found.exact:
            return True
        fuzzy = found.fuzzy >= self.thresholds.fuzzy and not found.given_name
        return fuzzy or found.phonetic >= self.thresholds.phonetic

    def _candidates(self, candidate: str) -> set[int]:
        found: set[int] = set()
        least = self.thresholds.fuzzy - _ROUNDING
        for form in forms(candidate):
            for text, column in ((form.text, self._texts), (form.ordered, self._ordered)):
                scores = cdist([text], column, scorer=JaroWinkler.similarity, score_cutoff=least)[0]
                found.update(self._owners[at] for at in np.nonzero(scores)[0])
            found.update(self._sounds.get(form.sound, ()))
            first, last = form.text.partition(" ")[0], form.text.rpartition(" ")[2]
            for at in self._lasts.get(last, ()):
                theirs = self._texts[at].partition(" ")[0]
                if theirs == first or is_short_form_of(theirs, first):
                    found.add(self._owners[at])
        return found
