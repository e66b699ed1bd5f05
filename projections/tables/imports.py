"""What an import leaves in the tables beside its worlds: the names of texts that came later than their hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.log.model import events as ev
from worlddb.projections.tables.blocks import UNNAMED_TYPES, put_name
from worlddb.projections.tables.names import NO_NAME, name_digest, type_digest
from worlddb.projections.tables.overlay import Table
from worlddb.projections.tables.schema import U64

if TYPE_CHECKING:
    from worlddb.projections.tables.apply import Applier


def imported(on: Applier, event: ev.Imported) -> None:
    """Nothing: what a bundle brought is said by other events."""


def filled(on: Applier, event: ev.Filled) -> None:
    """Write what the version's own event would have written had the text been there.

    A replay finds it there: then all of this stands already.
    """
    node = on.number(event.lineage)
    row = on.tables.version(node, event.version)
    body = on.blobs.earlier(row.seq, row.position)
    if body is None:
        return
    name, kind = name_digest(body.name), type_digest(body.type)
    on.tables.put_version(node, event.version, row._replace(name=name, type=kind))
    if name != NO_NAME:
        _put_earliest(on.tables.names, name + U64.pack(node), row.seq)
        if body.type not in UNNAMED_TYPES:
            put_name(on.tables, node, body.name)
    _put_earliest(on.tables.types, kind + U64.pack(node), row.seq)


def _put_earliest(table: Table, key: bytes, seq: int) -> None:
    stored = table.get(key)
    if stored is None or int.from_bytes(stored, "big") > seq:
        table.put(key, U64.pack(seq))
