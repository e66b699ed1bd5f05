"""Forensic diff: which worlds differ between two stores or moments, and why (paper §2.1)."""

from worlddb.query.diff.bundle_diff import StoreMoment, diff_bundles
from worlddb.query.diff.comparison import Asked, compare, diff
from worlddb.query.diff.diff_side import CHANGE_KINDS, HISTORY_RELATIONS, AlteredRecord, Change, Detail, Difference

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
