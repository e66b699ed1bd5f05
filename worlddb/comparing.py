"""Stores compared with each other, or with themselves at another moment, without anything being written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worlddb.database import Database, open
from worlddb.log.model.errors import UnknownReference
from worlddb.log.model.times import TimeLike
from worlddb.query.diff import Asked, Difference
from worlddb.query.diff import diff as diff_readers


def diff(
    a: str | Path,
    b: str | Path | None = None,
    *,
    world: Any = None,
    at_a: TimeLike | None = None,
    at_b: TimeLike | None = None,
    seq_a: int | None = None,
    seq_b: int | None = None,
    by: str | None = None,
    deep: bool | None = None,
) -> Difference:
    """What differs between two stores, or two moments of one: which worlds, and which events made them differ.

    Args:
        b: the other store; without it, ``a`` is compared with itself at another moment.
        world: only this world and what it contains.
        at_a, at_b: the moment of either side, an ingest time (default: now); or its commit, ``seq_a`` and ``seq_b``.
        by: how worlds of stores without a common history are matched: ``path`` (of names) or ``key`` (provenance as
            importers write it, then names). By default worlds are matched by their lineages and compared by hashes.
        deep: compare the stored bytes too. By default that is done if nothing else differs; ``False`` never does it.
    """
    with open(a, create=False) as left, open(a if b is None else b, create=False) as right:
        asked = Asked(
            world=None if world is None else _ref_in_either(left, right, world),
            by=by,
            seq_a=None if at_a is None and seq_a is None else left.view(ingested=at_a, seq=seq_a).seq,
            seq_b=None if at_b is None and seq_b is None else right.view(ingested=at_b, seq=seq_b).seq,
            # A store's bytes are those of itself.
            deep=False if left.path.resolve() == right.path.resolve() else deep,
        )
        return diff_readers(left._reader, right._reader, asked)


def _ref_in_either(left: Database, right: Database, world: Any) -> str:
    """The full reference of a world that either store knows."""
    try:
        return left.full_ref(world)
    except UnknownReference:
        return right.full_ref(world)
