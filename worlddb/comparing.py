"""Stores compared with each other, without either of them being written to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worlddb.database import Database, open
from worlddb.log.model.errors import UnknownReference
from worlddb.query.diff import Difference
from worlddb.query.diff import diff as diff_readers


def diff(a: str | Path, b: str | Path, *, world: Any = None) -> Difference:
    """What differs between the heads of two stores: which worlds, and which events made them differ.

    ``world`` limits the comparison to one world and what it contains.
    """
    with open(a, create=False) as left, open(b, create=False) as right:
        return diff_readers(left._reader, right._reader, None if world is None else _ref_in_either(left, right, world))


def _ref_in_either(left: Database, right: Database, world: Any) -> str:
    """The full reference of a world that either store knows."""
    try:
        return left.full_ref(world)
    except UnknownReference:
        return right.full_ref(world)
