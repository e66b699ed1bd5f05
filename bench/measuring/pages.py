"""The pages of a data file that a commit wrote, by table: pages of the new tree that no earlier tree had.

LMDB never writes over a page of the last commit, so these are exactly those that went to the disk, but for the two
metas. The layout of pages is told in worlddb/log/store/pages.py.
"""

from __future__ import annotations

import mmap
import struct
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from worlddb.projections.tables.storage.packed_runs import FILTERS, RUNS_KEY
from worlddb.projections.tables.storage.schema import FIRST_TABLE_BYTE, TABLES
from worlddb.projections.tables.storage.transaction import TRIE_CHANGES

_PAGE: Final = struct.Struct("=QHHHH")
_NODE: Final = struct.Struct("=HHHH")
_TREE: Final = struct.Struct("=IHHQQQQQ")
_META: Final = struct.Struct("=IIQQ")
_U64: Final = struct.Struct("=Q")
_TREES_AT: Final = _PAGE.size + _META.size
_LEAF: Final = 0x02
_BIG_VALUE: Final = 0x01
_NO_PAGE: Final = 2**64 - 1
_KINDS: Final = {1: "log, head", 2: "log, headers", 3: "log, events", 4: "log, blobs"}


class Page(NamedTuple):
    """A page's content: a table, or ``free`` for free-page lists; ``leaf``, ``branch`` or ``value``."""

    of: str
    kind: str


def pages_of(file: Path) -> dict[int, Page]:
    """Every page that the last commit reaches. A page of values longer than a page counts as often as it has pages."""
    found: dict[int, Page] = {}
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as data:
        size = _TREE.unpack_from(data, _TREES_AT)[0]
        ends = _TREES_AT + 2 * _TREE.size + _U64.size
        last = max((0, size), key=lambda meta: int(_U64.unpack_from(data, meta + ends)[0]))
        for place, free in ((_TREES_AT, True), (_TREES_AT + _TREE.size, False)):
            pending = [(int(_TREE.unpack_from(data, last + place)[7]), b"")]
            while pending:
                page, lower = pending.pop()
                if page == _NO_PAGE:
                    continue
                _, _, flags, end, _ = _PAGE.unpack_from(data, page * size)
                nodes = struct.unpack_from(f"={(end - _PAGE.size) // 2}H", data, page * size + _PAGE.size)
                keys = []
                for offset in (page * size + node for node in nodes):
                    low, high, more, key_bytes = _NODE.unpack_from(data, offset)
                    key = data[offset + _NODE.size : offset + _NODE.size + key_bytes]
                    keys.append(key)
                    if not flags & _LEAF:
                        pending.append((low | high << 16 | more << 32, key or lower))
                    elif more & _BIG_VALUE:
                        begins = int(_U64.unpack_from(data, offset + _NODE.size + key_bytes)[0])
                        pages = (_PAGE.size + (low | high << 16) + size - 1) // size
                        named = "free" if free else _named(key)
                        found.update((begins + each, Page(named, "value")) for each in range(pages))
                kind = "leaf" if flags & _LEAF else "branch"
                found[page] = Page("free" if free else _named(keys[0] or lower), kind)
    return found


def pages_by_table(pages: dict[int, Page], before: dict[int, Page]) -> dict[str, Counter[str]]:
    """Pages written per table and kind, and the number of all its pages."""
    counted: dict[str, Counter[str]] = {}
    for number, page in pages.items():
        counts = counted.setdefault(page.of, Counter())
        counts["all"] += 1
        if number not in before:
            counts[page.kind] += 1
            counts["written"] += 1
    return counted


def _named(key: bytes) -> str:
    if key[:1] in (RUNS_KEY, FILTERS) and len(key) > 1:
        return f"{TABLES[key[1] - FIRST_TABLE_BYTE]}, packed"
    if key[:1] == TRIE_CHANGES:
        return "tries, noted"
    if key and FIRST_TABLE_BYTE <= key[0] < FIRST_TABLE_BYTE + len(TABLES):
        return TABLES[key[0] - FIRST_TABLE_BYTE]
    return _KINDS.get(key[0] if key else 1, "other")
