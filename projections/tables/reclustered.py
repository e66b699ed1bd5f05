"""How far the resolver has looked again at what commits changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from worlddb.log.model import events as ev
from worlddb.projections.tables.schema import U64
from worlddb.projections.tables.tables import Tables

if TYPE_CHECKING:
    from worlddb.projections.tables.apply import Applier

_KEY: Final = b"reclustered"


def apply_reclustered(on: Applier, event: ev.Reclustered) -> None:
    """Say how far it has come."""
    on.tables.progress_table.put(_KEY, U64.pack(event.through))


def reclustered_through(tables: Tables) -> int:
    """The last commit whose surroundings were looked at; 0 before the first."""
    stored = tables.progress_table.get(_KEY)
    return 0 if stored is None else int.from_bytes(stored, "big")
