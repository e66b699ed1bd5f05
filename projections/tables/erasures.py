"""What an erasure leaves in the tables: exactly what a replay of the log without the erased texts derives (law 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.log.model import events as ev
from worlddb.projections.tables.blocks import forget_names
from worlddb.projections.tables.names import NO_NAME, NO_TYPE
from worlddb.projections.tables.schema import ERASURE, U64, ErasureRow
from worlddb.projections.tables.tables import Tables

if TYPE_CHECKING:
    from worlddb.projections.tables.apply import Applier


def erased(on: Applier, event: ev.Erased) -> None:
    """Forget the names and types of every version and alias so far, since their digests and forms were made of the
    texts."""
    tables, node = on.tables, on.number(event.lineage)
    number = U64.pack(node)
    for version, row in list(tables.version_rows(node)):
        _forget(tables, row.name + number, row.type + number)
        tables.put_version(node, version, row._replace(name=NO_NAME, type=NO_TYPE))
    for alias, given in list(tables.aliases(node)):
        _forget(tables, given.name + number)
        tables.put_alias(node, alias, given._replace(name=NO_NAME))
    forget_names(tables, node)
    tables.erasures.put(number, ERASURE.pack(on.seq, event.details))
    for digest in event.forbidden:
        if tables.forbidden.get(digest) is None:
            tables.forbidden.put(digest, U64.pack(on.seq))


def _forget(tables: Tables, name: bytes, kind: bytes = b"") -> None:
    if tables.names.get(name) is not None:
        tables.names.put(name, None)
    if kind and tables.types.get(kind) is not None:
        tables.types.put(kind, None)


def erasure_of(tables: Tables, node: int) -> ErasureRow | None:
    """The last erasure of a node's texts that this log records."""
    stored = tables.erasures.get(U64.pack(node))
    return None if stored is None else ErasureRow._make(ERASURE.unpack(stored))


def forbids(tables: Tables) -> bool:
    """True if there are texts that may not be written again."""
    return next(tables.forbidden.scan(b""), None) is not None
