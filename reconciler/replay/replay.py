"""Replay into another directory: the store as it was, made from the log's own records."""

from __future__ import annotations

from typing import NamedTuple

from worlddb.log.model.errors import DamagedStore
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.rows import Tables
from worlddb.reconciler.backup.copying import Copier, Progress
from worlddb.reconciler.backup.snapshots import start_from_snapshot
from worlddb.reconciler.replay.event_comparison import Hypothesis


class Replayed(NamedTuple):
    """Where the replay ended, its root hash, and whether that is the one that was recorded then.

    ``hypothesis`` is what leaving commits out came to, if some were.
    """

    seq: int
    root: str
    matches_recorded: bool
    hypothesis: Hypothesis | None = None


def replay(source: Environment, target: Environment, until: int, progress: Progress | None = None) -> Replayed:
    """Copy commits 1 to ``until`` as they are stored, and derive the tables from them; from the nearest snapshot on.

    Raises:
        DamagedStore: a commit is not what was written, or does not lead to the root that it recorded.
    """
    start_from_snapshot(source, target, until)
    Copier(source, target).copy(until, progress)
    with target.read() as txn:
        log, tables = LmdbLog(txn), Tables(txn)
        found = tables.hash_row(0, until)
        if found is None:
            raise DamagedStore(f"Nothing was committed by {until}", "Replay to a later commit")
        root = found[1][:32]
        return Replayed(until, root.hex(), root == log.header(until).root)
