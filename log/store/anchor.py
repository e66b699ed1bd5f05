"""A log held against a checkpoint that was kept elsewhere: fresh hashes and a shorter log do not get past it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

import lmdb

from worlddb.log.model import codec
from worlddb.log.model.checkpoint import Anchor, Checkpoint, Standing
from worlddb.log.model.commit import chain_hash
from worlddb.log.model.errors import WorldDBError
from worlddb.log.model.merkle import Frontier
from worlddb.log.store.log import LmdbLog
from worlddb.log.store.verify import Finding

CHUNK_COMMITS: Final = 4096

HOLDS, UNTRUSTED, OTHER_STORE, SHORTER, REWRITTEN, UNREADABLE = (
    *("holds", "untrusted", "other_store", "shorter", "rewritten", "unreadable"),
)
"""How a log stands to a head: it begins with what the head stands for; the head is not signed as it should be, or says
something else of its last commit; it is about another store; commits are missing; one is another; not to be told."""


def anchor_findings(
    read: Callable[[], AbstractContextManager[lmdb.Transaction]], origin: str, anchor: Anchor
) -> tuple[str, list[Finding]]:
    """How the log stands to the checkpoint, and what they do not agree on; nothing is trusted but the headers' bytes.

    ``origin`` names the store, ``read`` opens a read transaction on it. A head that is not signed as it should be says
    nothing about the log, so they are not compared.
    """
    if anchor.problems:
        return UNTRUSTED, [Finding(0, problem) for problem in anchor.problems]
    known = anchor.checkpoint
    if known.origin != origin:
        told = f"the head is of another store: {known.origin[:80]}, and this is {origin}"
        return OTHER_STORE, [Finding(0, told)]
    with read() as txn:
        last = LmdbLog(txn).last_stored()
    if known.size > last:
        short = f"the head knows {known.size} commits and the log ends at {last}: it was cut short"
        return SHORTER, [Finding(0, short)]
    try:
        if tree_of_headers(read, known.size) != known.tree:
            changed = f"the first {known.size} commits do not have the tree root that the head names: one was rewritten"
            return REWRITTEN, [Finding(known.size, changed)]
        with read() as txn:
            findings = [Finding(0, problem) for problem in _line_problems(LmdbLog(txn), known)]
        return UNTRUSTED if findings else HOLDS, findings
    except WorldDBError as error:
        seq = error.details.get("seq", known.size)
        return UNREADABLE, [Finding(seq, f"the log cannot be compared with the head: {error.message}")]


def tree_of_headers(read: Callable[[], AbstractContextManager[lmdb.Transaction]], size: int) -> bytes:
    """The root of the Merkle tree over the first commits, from their headers alone.

    Raises:
        DamagedStore: one of them is missing.
    """
    tree = Frontier()
    for first in range(1, size + 1, CHUNK_COMMITS):
        with read() as txn:
            log = LmdbLog(txn)
            for seq in range(first, min(first + CHUNK_COMMITS, size + 1)):
                tree.append(chain_hash(log.stored_header(seq)[1]))
    return tree.root()


def _line_problems(log: LmdbLog, known: Checkpoint) -> list[str]:
    """The extension lines that do not say what the commit says."""
    if not known.size or known.standing is None:
        return []
    stored = log.stored_header(known.size)[1]
    header = codec.decode_header(stored, known.size)
    here = Standing(chain_hash(stored), header.root, header.ingest_time)
    return [
        f"the {word} that the head names is not that of commit {known.size}"
        for word, theirs, ours in zip(("chain hash", "root hash", "time"), known.standing, here, strict=True)
        if theirs != ours
    ]
