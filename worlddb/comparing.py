"""Stores and bundles compared with each other, and stores with themselves at another moment; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from worlddb.database import Database, open
from worlddb.log.model.errors import InputError, UnknownReference
from worlddb.log.model.times import TimeLike
from worlddb.log.store.bundle_contents import Contents, read_contents
from worlddb.query.diff import Asked, Difference, StoreMoment, diff_bundles
from worlddb.query.diff import diff as diff_readers
from worlddb.query.references import as_ref
from worlddb.store import folder_of, is_regular_file


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

    Either side may be a bundle, which is checked first. Its world is then compared with the same world of the other
    side, and with nothing around it; for that, ``by``, ``deep`` and a moment of the bundle cannot be asked for.

    Args:
        a, b: a store's directory or a bundle. Without ``b``, ``a`` is compared with itself at another moment.
        world: only this world and what it contains.
        at_a, at_b: the moment of either side, an ingest time (default: now); or its commit, ``seq_a`` and ``seq_b``.
        by: how worlds of stores without a common history are matched: ``path`` (of names) or ``key`` (provenance as
            importers write it, then names). By default worlds are matched by their lineages and compared by hashes.
        deep: compare the stored bytes too. By default that is done if nothing else differs; ``False`` never does it.

    Raises:
        InvalidBundle: a bundle does not hold, or the file is none.
        UnknownReference: neither side has ``world``, or one does not have the bundle's world.
        InputError: nothing had been committed by then, or what was asked for does not go together.
    """
    files = [is_regular_file(folder_of(side)) for side in (a, a if b is None else b)]
    if any(files):
        _check_asked(files, [(at_a, seq_a), (at_b, seq_b)], b is None, by, deep)
        with _given(a, at_a, seq_a) as left, _given(a if b is None else b, at_b, seq_b) as right:
            return diff_bundles(left, right, None if world is None else as_ref(world))
    with open(a, create=False) as one, open(a if b is None else b, create=False) as other:
        asked = Asked(
            world=None if world is None else _ref_in_either(one, other, world),
            by=by,
            seq_a=None if at_a is None and seq_a is None else one.view(ingested=at_a, seq=seq_a).seq,
            seq_b=None if at_b is None and seq_b is None else other.view(ingested=at_b, seq=seq_b).seq,
            # A store's bytes are those of itself.
            deep=False if one.path.resolve() == other.path.resolve() else deep,
        )
        return diff_readers(one._reader, other._reader, asked)


@contextmanager
def _given(path: str | Path, at: TimeLike | None, seq: int | None) -> Iterator[Contents | StoreMoment]:
    """A bundle, checked and read, or a store at a moment."""
    if Path(path).is_file():
        yield read_contents(folder_of(path))[1]
        return
    with open(path, create=False) as db:
        yield StoreMoment(db._reader, db._reader.store_id, db.view(ingested=at, seq=seq).seq)


def _check_asked(
    files: list[bool], moments: list[tuple[Any, Any]], alone: bool, by: str | None, deep: bool | None
) -> None:
    """A bundle holds one moment of one world and no log: refuse what asks for more."""
    if alone:
        raise InputError("A bundle holds one moment, and there is nothing to compare it with", "Name another side")
    for label, is_file, moment in zip("ab", files, moments, strict=True):
        if is_file and moment != (None, None):
            raise InputError(
                f"{label} is a bundle, which holds one moment", "Leave the moment out, or give that of the store"
            )
    if by is not None or deep:
        raise InputError(
            "A bundle is compared by the ids and hashes in it, all of which are computed anew"
            f" ({'by' if by is not None else 'deep'} was asked for)",
            "Leave that out; or import the bundle into a store of its own, and compare that",
        )


def _ref_in_either(left: Database, right: Database, world: Any) -> str:
    """The full reference of a world that either store knows."""
    try:
        return left.full_ref(world)
    except UnknownReference:
        return right.full_ref(world)
