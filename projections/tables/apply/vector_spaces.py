"""Embedding spaces and where the vectors in them are kept. The vectors themselves are blobs of the log.

Which embedding space answers as of which commit, and which ones were dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.projections.tables.apply.deferred_rows import DeferredRows
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import SPACE, SPACE_KEY, U64, VECTOR, VECTOR_KEY, SpaceRow


class VectorPlace(NamedTuple):
    """The blob that holds a vector."""

    seq: int
    position: int


def apply_space_opened(on: DeferredRows, event: ev.SpaceOpened) -> None:
    """Number a space; nothing is in it yet."""
    row = SpaceRow(on.seq, event.model, event.dimension, 0)
    on.tables.spaces.put(SPACE_KEY.pack(event.space), SPACE.pack(*row))


def apply_embedded(on: DeferredRows, event: ev.Embedded) -> None:
    """Say where a version's vector is."""
    key = VECTOR_KEY.pack(event.space, on.number(event.lineage), event.version)
    on.tables.vectors.put(key, VECTOR.pack(on.seq, event.vector))


def apply_embedded_through(on: DeferredRows, event: ev.EmbeddedThrough) -> None:
    """Say how far a space is filled."""
    row = space_row(on.tables, event.space)
    if row is None:
        raise KeyError(f"commit {on.seq} names the unknown embedding space {event.space}")
    on.tables.spaces.put(SPACE_KEY.pack(event.space), SPACE.pack(*row._replace(through=event.through)))


def space_row(tables: Tables, space: int) -> SpaceRow | None:
    """The row of a space."""
    stored = tables.spaces.get(SPACE_KEY.pack(space))
    return None if stored is None else SpaceRow._make(SPACE.unpack(stored))


def spaces(tables: Tables) -> Iterator[tuple[int, SpaceRow]]:
    """Every space by its number, in the order in which they were opened."""
    for key, value in tables.spaces.scan(b""):
        yield SPACE_KEY.unpack(key)[0], SpaceRow._make(SPACE.unpack(value))


def vector_place(tables: Tables, space: int, node: int, version: int) -> VectorPlace | None:
    """Where the vector of a version is; ``None`` if it has none in the space."""
    stored = tables.vectors.get(VECTOR_KEY.pack(space, node, version))
    return None if stored is None else VectorPlace._make(VECTOR.unpack(stored))


def vectors_of(tables: Tables, space: int) -> Iterator[tuple[int, int, VectorPlace]]:
    """(node, version, place) of every vector of a space, by node."""
    for key, value in tables.vectors.scan(SPACE_KEY.pack(space)):
        yield *VECTOR_KEY.unpack(key)[1:], VectorPlace._make(VECTOR.unpack(value))


_CHOSEN: Final = b"\x01"
_DROPPED: Final = b"\x02"


def apply_space_chosen(on: DeferredRows, event: ev.SpaceChosen) -> None:
    """Let a space answer from this commit on."""
    on.tables.space_changes.put(_CHOSEN + U64.pack(on.seq), SPACE_KEY.pack(event.space))


def apply_space_dropped(on: DeferredRows, event: ev.SpaceDropped) -> None:
    """Say that a space is no more. Its vectors stay where they are: views of earlier commits compare them."""
    on.tables.space_changes.put(_DROPPED + SPACE_KEY.pack(event.space), U64.pack(on.seq))


def active_space(tables: Tables, seq: int) -> int | None:
    """The number of the space that answers as of a commit: the last one chosen, or else the first one opened."""
    chosen = tables.space_changes.last(_CHOSEN, _CHOSEN + U64.pack(seq))
    if chosen is not None:
        return int(SPACE_KEY.unpack(chosen[1])[0])
    first = next(spaces(tables), None)
    return None if first is None or first[1].seq > seq else first[0]


def dropped_at(tables: Tables, space: int) -> int | None:
    """The commit that dropped a space; ``None`` if none did."""
    stored = tables.space_changes.get(_DROPPED + SPACE_KEY.pack(space))
    return None if stored is None else int(U64.unpack(stored)[0])
