"""Replay into another directory: the store as it was, made from the log's own records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import lmdb

from worlddb.log.model.errors import DamagedStore
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.runner import apply_commit
from worlddb.projections.tables.tables import Tables

CHUNK_COMMITS = 256


class Replayed(NamedTuple):
    """Where the replay ended, its root hash, and whether that is the one that was recorded then."""

    seq: int
    root: str
    matches_recorded: bool


def replay(
    source: Environment,
    target: Environment,
    until: int,
    progress: Callable[[int, int], None] | None = None,
) -> Replayed:
    """Copy commits 1 to ``until`` as they are stored, and derive the tables from them.

    Raises:
        DamagedStore: a commit does not lead to the root that it recorded.
    """
    for first in range(1, until + 1, CHUNK_COMMITS):
        last = min(first + CHUNK_COMMITS - 1, until)
        target.write(partial(_copy, source, first, last))
        if progress is not None:
            progress(last, until)
    with target.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        found = tables.hash_row(0, until)
        if found is None:
            raise DamagedStore(f"Nothing was committed by {until}", "Replay to a later commit")
        root = found[1][:32]
        return Replayed(until, root.hex(), root == log.header(until).root)


def _copy(source: Environment, first: int, last: int, txn: lmdb.Transaction) -> None:
    log, tables = LmdbLog(txn), Tables(txn)
    with source.read() as reading:
        for seq, record in LmdbLog(reading).read(first, last):
            log.append(record, seq, log.head())
            apply_commit(log, tables, seq)
    tables.flush()
