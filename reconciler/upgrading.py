"""Bringing a store's tables to today's layout: a backup first, then all of them in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import lmdb

from worlddb.log.model.errors import UnavailableError
from worlddb.log.store.environment import Environment
from worlddb.log.store.log import LmdbLog
from worlddb.projections.runner import rebuild
from worlddb.projections.tables.apply.log_marks import refuse_supposed
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import LAYOUT
from worlddb.reconciler.backups import BackedUp

_ATTEMPTS: Final = 8
"""How often to back up again because an older release committed meanwhile."""

Progress = Callable[[int, int], None]


class Upgraded(NamedTuple):
    """From which layout of the tables to which, the last commit, its root hash, and where the backup lies.

    ``backup`` is empty if the tables had today's layout already: then nothing was done.
    """

    before: int
    after: int
    seq: int
    root: str
    backup: str


def layout_of(env: Environment) -> int:
    """The layout of a store's tables; raises ``NewerFormat`` if this release does not know it."""
    with env.read() as txn:
        return Tables(txn).layout()


def upgrade(
    env: Environment, back_up: Callable[[], BackedUp], place: str, progress: Progress | None = None
) -> Upgraded:
    """Derive older tables again from the log, after a backup of every commit in it.

    A run that breaks off leaves the older tables, or those of today; the next one goes on with its backup.

    Raises:
        NewerFormat: the store belongs to a newer release.
        HypotheticalStore: the store is not what happened, and a backup of it could be taken for that.
        DamagedStore: a commit is not what was written; the tables are left as they are.
        UnavailableError: an older release goes on committing between the backup and the upgrade.
    """
    before = layout_of(env)
    if before == LAYOUT:
        return _told(env, before, "")
    with env.read() as txn:
        refuse_supposed(Tables(txn), "a backup of it could be taken for one of the original")
    env.refuse_damaged_pages()
    for _ in range(_ATTEMPTS):
        made = back_up()
        if env.write(partial(_derive, made.seq, progress)):
            return _told(env, before, place)
    raise UnavailableError(f"Somebody goes on writing to {env.folder}", "Stop the programs that use it, then try again")


def _derive(backed_up: int, progress: Progress | None, txn: lmdb.Transaction) -> bool:
    """Derive the tables again unless another process has; false if there are commits that the backup lacks."""
    log, tables = LmdbLog(txn), Tables(txn)
    if tables.layout() == LAYOUT:
        return True
    if log.head().seq != backed_up:
        return False
    rebuild(log, tables, progress)
    return True


def _told(env: Environment, before: int, place: str) -> Upgraded:
    with env.read() as txn:
        log = LmdbLog(txn)
        seq = log.head().seq
        return Upgraded(before, LAYOUT, seq, log.header(seq).root.hex(), place)
