"""The pairs of a commit in the order of their writes, for a floor that does not sort.

The engine writes a commit table by table and sorted, which is part of its work, and hands the sorted pairs to the
floor. A loop that puts the rows of each write as the write comes has them in another order. That order is read off the
rows: new edges are numbered as they come, a new world comes with its first container, a blob with the row that names
it. What is known only when all is decided (hashes, tries, the commit's own records) stays behind them, and rows of
older worlds and edges before.
"""

from __future__ import annotations

from bench.measuring.recording import Pair
from worlddb.projections.tables.storage.schema import (
    CONTAINS_CODE,
    EDGE,
    EDGE_KEY,
    FIRST_TABLE_BYTE,
    TABLES,
    VERSION,
    EdgeRow,
    VersionRow,
)

_BLOB_BYTE = 0x04
_LAST = 2**64
_OF_NODES = {"nodes": slice(1, 9), "versions": slice(1, 9), "aliases": slice(1, 9), "forms": slice(1, 9)}
_OF_NODES |= {name: slice(-8, None) for name in ("names", "types", "holders")}


def in_arrival_order(pairs: list[Pair]) -> list[Pair]:
    """Sort the pairs by write; a key that was put and deleted has its final value."""
    pairs = list(dict(pairs).items())
    rows: dict[str, list[tuple[bytes, bytes]]] = {name: [] for name in TABLES}
    for key, value in pairs:
        if key[0] >= FIRST_TABLE_BYTE and value is not None:
            rows[TABLES[key[0] - FIRST_TABLE_BYTE]].append((key, value))
    born: dict[int, int] = {}
    blobs: dict[int, int] = {}
    for key, value in sorted(rows["out"], key=lambda pair: pair[0][-8:]):
        _, code, number = EDGE_KEY.unpack_from(key, 1)
        row = EdgeRow._make(EDGE.unpack(value))
        blobs.setdefault(row.details, number)
        if code == CONTAINS_CODE:
            born.setdefault(row.target, number)
    for key, value in rows["versions"]:
        version = VersionRow._make(VERSION.unpack(value))
        came = born.get(int.from_bytes(key[1:9], "big"), 0)
        blobs[version.position] = blobs[version.details] = came

    formed: dict[bytes, int] = {}
    for key, _ in rows["holders"]:
        form, came = key[5:-9], born.get(int.from_bytes(key[-8:], "big"), 0)
        formed[form] = min(came, formed.get(form, came))

    def arrival(pair: Pair) -> int:
        key, value = pair
        if value is None:
            return 0
        if key[0] == _BLOB_BYTE:
            return blobs.get(int.from_bytes(key[-4:], "big"), _LAST)
        table = TABLES[key[0] - FIRST_TABLE_BYTE] if key[0] >= FIRST_TABLE_BYTE else ""
        if table in _OF_NODES:
            return born.get(int.from_bytes(key[_OF_NODES[table]], "big"), 0)
        if table == "blocks":
            return formed.get(key.rpartition(b"\0")[2], 0)
        if table == "lineages":
            return born.get(int.from_bytes(value, "big"), 0)
        if table in ("out", "back"):
            return int.from_bytes(key[-8:], "big")
        if table in ("edges", "edge_keys"):
            return int.from_bytes(value[-8:], "big")
        return _LAST

    return sorted(pairs, key=arrival)
