"""Which embedding space answers as of which commit, and which ones were dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from worlddb.log.model import events as ev
from worlddb.projections.tables.schema import SPACE_KEY, U64
from worlddb.projections.tables.tables import Tables
from worlddb.projections.tables.vectors import spaces

if TYPE_CHECKING:
    from worlddb.projections.tables.apply import Applier

_CHOSEN: Final = b"\x01"
_DROPPED: Final = b"\x02"


def apply_space_chosen(on: Applier, event: ev.SpaceChosen) -> None:
    """Let a space answer from this commit on."""
    on.tables.space_changes.put(_CHOSEN + U64.pack(on.seq), SPACE_KEY.pack(event.space))


def apply_space_dropped(on: Applier, event: ev.SpaceDropped) -> None:
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
