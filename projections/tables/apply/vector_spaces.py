"""Embedding spaces: where their vectors are, which one answers at a commit, which are gone.

The vectors themselves are blobs of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from worlddb.log.model import codec
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Space
from worlddb.log.store.log import LmdbLog
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


class OpenSpace(NamedTuple):
    """An embedding space as it was recorded; ``dropped`` is the commit that dropped it, if one did."""

    number: int
    row: SpaceRow
    name: str
    model: str
    mean: bytes
    dropped: int | None


def all_spaces(log: LmdbLog, tables: Tables) -> Iterator[OpenSpace]:
    """Every space that was ever opened, in that order."""
    for number, row in spaces(tables):
        stored = log.blob(row.seq, row.model)
        blob = None if stored is None else codec.decode_blob(stored, row.seq)
        if isinstance(blob, Space):
            yield OpenSpace(number, row, blob.name, blob.model, blob.mean, dropped_at(tables, number))


def find_space(log: LmdbLog, tables: Tables, name: str) -> OpenSpace | None:
    """The space of a name that has not been dropped."""
    return next((each for each in all_spaces(log, tables) if each.name == name and each.dropped is None), None)


def space_in_use(log: LmdbLog, tables: Tables, seq: int | None = None) -> OpenSpace | None:
    """The space that answers now, or as of a commit; ``None`` before the first text was embedded."""
    number = active_space(tables, log.head().seq if seq is None else seq)
    return next((each for each in all_spaces(log, tables) if each.number == number), None)


def answering_spaces(log: LmdbLog, tables: Tables, seq: int, *, exact: bool) -> list[OpenSpace]:
    """The spaces that a question may be compared in as of a commit, the preferred one first.

    Unless ``exact``, the present space answers too if that of the commit is another one, and in its place if that was
    dropped or there was none yet.
    """
    then = space_in_use(log, tables, seq)
    if exact or seq >= log.head().seq:
        return [] if then is None else [then]
    now = space_in_use(log, tables)
    if now is None:
        return [] if then is None else [then]
    return [now] if then is None or then.dropped is not None or then.number == now.number else [then, now]
