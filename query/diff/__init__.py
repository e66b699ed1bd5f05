"""Forensic diff: which worlds differ between two stores or moments, and which events made them differ (paper §2.1)."""

from worlddb.query.diff.bundles import StoreMoment, diff_bundles
from worlddb.query.diff.compare import Asked, compare, diff
from worlddb.query.diff.records import CHANGE_KINDS, HISTORY_RELATIONS, AlteredRecord, Change, Detail, Difference

__all__ = [
    "CHANGE_KINDS",
    "HISTORY_RELATIONS",
    "AlteredRecord",
    "Asked",
    "Change",
    "Detail",
    "Difference",
    "StoreMoment",
    "compare",
    "diff",
    "diff_bundles",
]
