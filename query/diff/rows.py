"""Pairs of the tables as a person reads them: which world a row belongs to, and what its columns say."""

from __future__ import annotations

import struct
from typing import Any, Final

from worlddb.log.model.errors import WorldDBError
from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES
from worlddb.log.model.times import format_time
from worlddb.projections.tables.names.blocks import form_in, holders
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import (
    ALIAS,
    CLOSING_EDGE,
    EDGE,
    EDGE_KEY,
    EDGE_PLACE,
    NODE,
    PROPOSAL,
    VERSION,
    AliasRow,
    EdgeRow,
    NodeRow,
    ProposalRow,
    VersionRow,
)
from worlddb.query.diff.side import TableRow

_LAYOUTS: Final[dict[str, tuple[Any, struct.Struct]]] = {
    "nodes": (NodeRow, NODE),
    "versions": (VersionRow, VERSION),
    "aliases": (AliasRow, ALIAS),
    "out": (EdgeRow, EDGE),
    "proposals": (ProposalRow, PROPOSAL),
}
_NODE_FIRST: Final = ("nodes", "versions", "aliases", "out", "back", "tries", "hashes", "pairs", "forms")
_TIMES: Final = ("t_create", "valid_from", "valid_to")


def described(tables: Tables, table: str, key: bytes, value: bytes) -> TableRow:
    """What a pair of a table is about. Damaged pairs belong to nobody, and their bytes stand for themselves."""
    try:
        lineage = _lineage(tables, table, key, value)
    except (WorldDBError, struct.error, UnicodeDecodeError):
        lineage = b""
    return TableRow(lineage, _fields(table, value))


def _fields(table: str, value: bytes) -> dict[str, str]:
    row, layout = _LAYOUTS.get(table, (None, None))
    if row is None or layout is None or len(value) != layout.size:
        return {f"row of {table}": value.hex()}
    return {name: _shown(name, column) for name, column in row(*layout.unpack(value))._asdict().items()}


def _shown(name: str, column: Any) -> str:
    if isinstance(column, bytes):
        return column.hex()
    return format_time(column) if name in _TIMES else str(column)


def _lineage(tables: Tables, table: str, key: bytes, value: bytes) -> bytes:
    """The lineage that a pair belongs to; empty if it belongs to none."""
    if table == "lineages":
        return key[:LINEAGE_BYTES]
    if table in _NODE_FIRST:
        return tables.node(int.from_bytes(key[:8], "big")).lineage
    if table in ("names", "types", "holders"):
        return tables.node(int.from_bytes(key[-8:], "big")).lineage
    if table == "blocks":
        first = next(holders(tables, form_in(key)), None)
        return b"" if first is None else tables.node(first).lineage
    if table == "edges":
        return tables.node(EDGE_PLACE.unpack(value)[0]).lineage
    if table == "closings" and key[0] != CLOSING_EDGE:
        return tables.node(int.from_bytes(key[1:9], "big")).lineage
    if table in ("proposals", "decisions"):
        found = tables.proposal(key[:HASH_BYTES])
        return b"" if found is None else tables.node(found.source).lineage
    if table in ("edge_keys", "retracted"):
        return tables.node(EDGE_KEY.unpack(value)[0]).lineage
    return b""
