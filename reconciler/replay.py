"""Replay into another directory: the store as it was, made from the log's own records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import lmdb

from worlddb.log.model.errors import DamagedStore
from worlddb.log.model.events import Erased
from worlddb.log.store.carried import Carried
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
    target.write(lambda txn: _carry(source, until, txn))
    with target.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        found = tables.hash_row(0, until)
        if found is None:
            raise DamagedStore(f"Nothing was committed by {until}", "Replay to a later commit")
        root = found[1][:32]
        return Replayed(until, root.hex(), root == log.header(until).root)


def _carry(source: Environment, until: int, txn: lmdb.Transaction) -> None:
    """Take along what proves that texts missing from the copied commits were erased, by commits that are not copied."""
    with source.read() as reading:
        log = LmdbLog(reading)
        for carried in log.carried.all():
            LmdbLog(txn).carried.put(carried._replace(through=min(carried.through, until)))
        for seq in range(until + 1, log.head().seq + 1):
            events = log.events(seq)
            details = {event.details for event in events.events if isinstance(event, Erased)}
            if details:
                texts = {at: text for at in details for text in (log.blob(seq, at),) if text is not None}
                stored = log.stored_header(seq)[1], log.stored_events(seq)
                LmdbLog(txn).carried.put(Carried(until, *stored, texts))


def _copy(source: Environment, first: int, last: int, txn: lmdb.Transaction) -> None:
    log, tables = LmdbLog(txn), Tables(txn)
    with source.read() as reading:
        for seq, record in LmdbLog(reading).read(first, last):
            log.append(record, seq, log.head())
            apply_commit(log, tables, seq)
    tables.flush()
