"""The ``log_tree`` table: complete subtrees of the Merkle tree over the commits, so that heads and proofs are quick.

A commit completes as many subtrees of two or more leaves as its sequence number can be halved. Their hashes are one
row under that number, the smallest first, so that every second commit adds one row at the end of the table.
"""

from __future__ import annotations

from worlddb.log.model.ids import HASH_BYTES
from worlddb.log.model.merkle import interior_hash, leaf_hash
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import U64
from worlddb.projections.tables.storage.transaction import missing_row


def add_commit(tables: Tables, seq: int, chain: bytes, previous: bytes) -> None:
    """Store the hashes of the subtrees that commit ``seq`` completes; ``previous`` is the chain hash before it."""
    if seq & 1:
        return
    node = interior_hash(leaf_hash(previous), leaf_hash(chain))
    hashes, level = [node], 1
    while not seq >> level & 1:
        node = interior_hash(_stored(tables, level, seq - (1 << level)), node)
        hashes.append(node)
        level += 1
    tables.log_tree.put(U64.pack(seq), b"".join(hashes))


class LogTree:
    """The subtrees of one transaction's log; see :class:`worlddb.log.model.merkle.Subtrees`."""

    def __init__(self, log: LmdbLog, tables: Tables) -> None:
        self._log = log
        self._tables = tables

    def subtree(self, level: int, end: int) -> bytes:
        """The hash of the complete subtree of ``2 ** level`` leaves that ends with commit ``end``.

        Raises:
            DamagedStore: the table does not hold it.
        """
        return _stored(self._tables, level, end) if level else leaf_hash(self._log.chain(end))


def _stored(tables: Tables, level: int, end: int) -> bytes:
    row = tables.log_tree.get(U64.pack(end))
    if row is None or len(row) < level * HASH_BYTES:
        raise missing_row(f"log tree of commit {end}")
    return row[(level - 1) * HASH_BYTES : level * HASH_BYTES]
