"""Backups: copies that can be brought up to date again and again.

A backup is made into a store when needed. An upgrade brings a store's tables to this release's layout: a backup first,
then all tables in one transaction.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import lmdb

from worlddb.log.model import errors, events, times
from worlddb.log.store import copies, environment, verify
from worlddb.log.store.log import LmdbLog
from worlddb.projections import runner, scrub
from worlddb.projections.tables.apply.log_marks import refuse_supposed
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.backup.commit_copier import CHUNK_COMMITS, Copier, erasures_after

RESTORING: Final = "restoring"
"""The kind of a copy that becomes a store of its own when it is whole."""


class BackedUp(NamedTuple):
    """The last commit of a backup, its root hash, and how many commits were copied now.

    ``head`` is the commit up to which erasures were looked for; ``scrubbed`` is false if erased texts may still lie in
    the backup's free pages, because somebody was in the way.
    """

    seq: int
    root: str
    commits: int
    head: int
    scrubbed: bool


class Restored(NamedTuple):
    """The last commit of a restored store, its root hash, and how many later erasures it took."""

    seq: int
    root: str
    erasures: int


def backup(
    source: environment.Environment, target: environment.Environment, progress: runner.Progress | None = None
) -> BackedUp:
    """Bring a backup up to the last commit, or begin one in an empty directory.

    Raises:
        BackupMismatch: the target is a store and no backup, of another store, or has parted from this one.
        DamagedStore: a commit is not what was written; the backup ends before it.
    """
    with source.read() as txn:
        until = LmdbLog(txn).head().seq
    begun = _refuse_other(source, target)
    if until - begun > CHUNK_COMMITS:
        source.refuse_damaged_pages()
    copier = Copier(source, target, kind=copies.BACKUP)
    copier.copy(until, progress)
    scrubbed = scrub.finish_erasures(target)
    with target.read() as txn:
        log = LmdbLog(txn)
        seq = log.head().seq
        return BackedUp(seq, log.header(seq).root.hex(), seq - begun, copier.searched, scrubbed)


def restore(
    source: environment.Environment,
    begin: Callable[[], environment.Environment],
    original: environment.Environment | None = None,
    progress: runner.Progress | None = None,
) -> Restored:
    """Make a store from a backup, in an empty directory.

    Texts that the original has erased since are left out. ``begin`` makes the target, and is called once the backup was
    found to be one: a mistyped name leaves nothing. Until it is whole, the target is marked as something that cannot be
    written to.

    Raises:
        BackupMismatch: the source is no backup, or the original is another store.
        DamagedStore: a commit of the backup is not what was written.
    """
    with source.read() as txn:
        log = LmdbLog(txn)
        until = log.head().seq
        if log.copy_kind() != copies.BACKUP:
            raise errors.BackupMismatch(
                f"{source.folder} is no backup", "Name the directory that `worlddb backup` wrote to"
            )
    source.refuse_damaged_pages()
    elsewhere = []
    if original is not None:
        with source.read() as ours, original.read() as theirs:
            _refuse_another_store(LmdbLog(ours), LmdbLog(theirs), source, original)
            common = verify.common_commits(LmdbLog(ours), LmdbLog(theirs))
        elsewhere = erasures_after(original, common)
    target = begin()
    Copier(source, target, kind=RESTORING, elsewhere=elsewhere).copy(until, progress)
    target.write(lambda txn: LmdbLog(txn).mark_copy(""))
    with target.read() as txn:
        log = LmdbLog(txn)
        return Restored(until, log.header(until).root.hex(), len(list(log.carried.all())))


def _refuse_other(source: environment.Environment, target: environment.Environment) -> int:
    """Refuse a backup of another store; the number of commits that it has already."""
    with source.read() as ours, target.read() as theirs:
        log, copied = LmdbLog(ours), LmdbLog(theirs)
        if not copied.check_format():
            return 0
        if copied.copy_kind() != copies.BACKUP:
            raise errors.BackupMismatch(
                f"{target.folder} holds a store that is no backup", "Name an empty or a new directory", since=0
            )
        _refuse_another_store(log, copied, source, target)
        head, common = copied.head(), verify.common_commits(log, copied)
        if common < head.seq:
            when = times.format_time(copied.header(common + 1).ingest_time)
            raise errors.BackupMismatch(
                f"{target.folder} has parted from {source.folder}: commit {common + 1} of the backup, of {when}, is "
                + ("not in the store" if common == log.head().seq else "another one in the store"),
                "Back up into a new directory, and keep this one: it may hold what the store has lost",
                since=common + 1,
            )
        return head.seq


def _refuse_another_store(
    one: LmdbLog, other: LmdbLog, here: environment.Environment, there: environment.Environment
) -> None:
    ids = [log.events(1).events[0] for log in (one, other)]
    if len({event.store_id for event in ids if isinstance(event, events.StoreCreated)}) != 1:
        raise errors.BackupMismatch(
            f"{there.folder} and {here.folder} are not of one store: they differ since their first commit",
            "Check which directory belongs to which store",
            since=1,
        )


_ATTEMPTS: Final = 8
"""How often to back up again because an older release committed meanwhile."""


class Upgraded(NamedTuple):
    """What an upgrade did: the old and new layout of the tables, and where the backup is.

    It also holds the last commit and its root hash. ``backup`` is empty if the tables had today's layout already: then
    nothing was done.
    """

    before: int
    after: int
    seq: int
    root: str
    backup: str


def layout_of(env: environment.Environment) -> int:
    """The layout of a store's tables; raises ``NewerFormat`` if this release does not know it."""
    with env.read() as txn:
        return rows.Tables(txn).layout()


def upgrade(
    env: environment.Environment, back_up: Callable[[], BackedUp], place: str, progress: runner.Progress | None = None
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
    if before == schema.LAYOUT:
        return _told(env, before, "")
    with env.read() as txn:
        refuse_supposed(rows.Tables(txn), "a backup of it could be taken for one of the original")
    env.refuse_damaged_pages()
    for _ in range(_ATTEMPTS):
        made = back_up()
        if env.write(partial(_derive, made.seq, progress)):
            return _told(env, before, place)
    raise errors.UnavailableError(
        f"Somebody goes on writing to {env.folder}", "Stop the programs that use it, then try again"
    )


def _derive(backed_up: int, progress: runner.Progress | None, txn: lmdb.Transaction) -> bool:
    """Derive the tables again unless another process has; false if the backup lacks commits."""
    log, tables = LmdbLog(txn), rows.Tables(txn)
    if tables.layout() == schema.LAYOUT:
        return True
    if log.head().seq != backed_up:
        return False
    runner.rebuild(log, tables, progress)
    return True


def _told(env: environment.Environment, before: int, place: str) -> Upgraded:
    with env.read() as txn:
        log = LmdbLog(txn)
        seq = log.head().seq
        return Upgraded(before, schema.LAYOUT, seq, log.header(seq).root.hex(), place)
