"""Thresholds of the resolver that were set for a world: which hold for a candidate, by the world that it is in.

What is set for a world holds for it and for all that it contains, as registrations do (:mod:`.registrations`): the
nearest wins, and within one world what was set for the candidate's type wins over what was set for every type. Of
several worlds that are equally near, those that name the type come first, then that of the earliest commit, then the
world that was made first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.projections.tables.registrations import Above, levels
from worlddb.projections.tables.schema import LIVE, TUNING, U16, U64, TuningRow

if TYPE_CHECKING:
    from worlddb.projections.tables.apply import Applier
    from worlddb.projections.tables.tables import Tables

EVERY_TYPE: Final = ""
"""What stands for all node types in a setting; no type has an empty name."""


class Tuning(NamedTuple):
    """Thresholds as commit ``seq`` set them for candidates of ``type`` in ``world`` (a node)."""

    world: int
    type: str
    seq: int
    row: TuningRow


def tuning_in(tables: Tables, world: int, type_name: str, seq: int) -> Tuning | None:
    """What was set for exactly this type in one world, as it was in force at a commit."""
    prefix = _prefix(world, type_name)
    found = tables.tunings.last(prefix, prefix + U64.pack(seq))
    known = None if found is None else _tuning(*found)
    return known if known is not None and known.row.ended > seq else None


def tunings_known(tables: Tables, seq: int, *, ended: bool = False) -> list[Tuning]:
    """Everything that was in force at a commit, by world and then by type; or also what had ended."""
    rows = (_tuning(key, value) for key, value in tables.tunings.scan(b""))
    return [known for known in rows if known.seq <= seq and (ended or seq < known.row.ended)]


def tuning_at(tables: Tables, home: int, type_name: str, above: Above, seq: int) -> Tuning | None:
    """What holds for candidates of a type in a world; ``above`` is how containment is read."""
    for level in levels(home, above):
        found = [known for node in level for known in _named_or_general(tables, node, type_name, seq)]
        if found:
            return min(found, key=lambda known: (known.type == EVERY_TYPE, known.seq, known.world))
    return None


def tunings_holding(tables: Tables, home: int, above: Above, seq: int) -> list[Tuning]:
    """What holds in a world for each type that is named anywhere, and for all others, each once."""
    types = {EVERY_TYPE, *(known.type for known in tunings_known(tables, seq))}
    found = (tuning_at(tables, home, name, above, seq) for name in sorted(types))
    return list(dict.fromkeys(known for known in found if known is not None))


def is_anything_tuned(tables: Tables) -> bool:
    """True if thresholds were ever set for a world."""
    return next(iter(tables.tunings.scan(b"")), None) is not None


def _named_or_general(tables: Tables, world: int, type_name: str, seq: int) -> Iterator[Tuning]:
    for name in dict.fromkeys((type_name, EVERY_TYPE)):
        known = tuning_in(tables, world, name, seq)
        if known is not None:
            yield known


# -- events


def apply_tuned(on: Applier, event: ev.Tuned) -> None:
    """What is set takes the place of what was set before for the same type in the same world."""
    world = on.number(event.world)
    _end(on, world, event.type)
    row = TuningRow(event.fuzzy, event.phonetic, event.embedding, event.margin, event.most, LIVE, event.details)
    _put(on.tables, Tuning(world, event.type, on.seq, row))


def apply_untuned(on: Applier, event: ev.Untuned) -> None:
    """What was set ends."""
    _end(on, on.number(event.world), event.type)


def _end(on: Applier, world: int, type_name: str) -> None:
    before = tuning_in(on.tables, world, type_name, on.seq)
    if before is not None:
        _put(on.tables, before._replace(row=before.row._replace(ended=on.seq)))


def _put(tables: Tables, known: Tuning) -> None:
    tables.tunings.put(_prefix(known.world, known.type) + U64.pack(known.seq), TUNING.pack(*known.row))


def _prefix(world: int, type_name: str) -> bytes:
    """What the keys of a type in a world begin with."""
    name = type_name.encode()
    return U64.pack(world) + U16.pack(len(name)) + name


def _tuning(key: bytes, value: bytes) -> Tuning:
    start = U64.size + U16.size
    end = start + U16.unpack_from(key, U64.size)[0]
    world, seq = U64.unpack_from(key)[0], U64.unpack_from(key, end)[0]
    return Tuning(world, key[start:end].decode(), seq, TuningRow._make(TUNING.unpack(value)))
