"""Backups: copies that can be brought up to date again and again.

A backup is made into a store when needed. An upgrade brings a store's tables to this release's layout: a backup first,
then all tables in one transaction.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

import lmdb

from worlddb.log.model import codec, errors, events, hashing, times
from worlddb.log.store import copies, environment, verify
from worlddb.log.store.erasure_evidence import LaterErasure, has_newer_events
from worlddb.log.store.log import LmdbLog
from worlddb.projections import runner, scrub
from worlddb.projections.tables.apply.log_marks import refuse_supposed
from worlddb.projections.tables.storage import rows, schema
from worlddb.reconciler.backup.commit_copier import (
    CHUNK_COMMITS,
    NOWHERE,
    Copier,
    ErasuresElsewhere,
    append_erasures,
    erasure_arrivals,
    erasures_after,
    erasures_in,
)

RESTORER: Final = "restore"
"""The author of the commit that records the original's erasures since the backup."""


UPGRADER: Final = "upgrade"
"""The author of the commit that lists erasures recorded beside the log by older releases."""


class BackedUp(NamedTuple):
    """The result of a backup: its last commit, its root hash, and how many commits this run copied.

    ``head`` is the commit up to which erasures were looked for; ``scrubbed`` is false if erased texts may still lie in
    the backup's free pages, because somebody was in the way.
    """

    seq: int
    root: str
    commits: int
    head: int
    scrubbed: bool


class Restored(NamedTuple):
    """The result of a restore: the last commit, its root hash, and how many later erasures were applied.

    If any erased texts of these commits, one commit more says so.
    """

    seq: int
    root: str
    erasures: int


def backup(
    source: environment.Environment, target: environment.Environment, progress: runner.Progress | None = None
) -> BackedUp:
    """Bring a backup up to date, or begin one in an empty directory.

    Raises:
        BackupMismatch: the target is a store and no backup (``NotABackup``), of another store, or has parted from this.
        DamagedStore: a commit is not what was written; the backup ends before it.
    """
    with source.read() as txn:
        until = LmdbLog(txn).head().seq
    begun = _count_copied_commits(source, target)
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
    settle: Callable[[environment.Environment, int], None],
    original: environment.Environment | None = None,
    progress: runner.Progress | None = None,
) -> Restored:
    """Restore a backup into an empty directory, or continue an interrupted restore of the same backup.

    Texts that the original has erased since are left out. ``begin`` makes the target, and is called once the backup was
    found to be one: a mistyped name leaves nothing. Until it is whole, the target is marked as something that cannot be
    written to. ``settle`` is given it, and its last commit, just before it is no longer.

    Raises:
        BackupMismatch: the source is no backup (``NotABackup``), or the original is another store.
        PlaceTaken: what was begun is not of this backup, or lacks texts that are not left out now.
        DamagedStore: a commit of the backup is not what was written.
    """
    with source.read() as txn:
        log = LmdbLog(txn)
        until = log.head().seq
        if log.copy_kind() != copies.BACKUP:
            raise errors.NotABackup(
                f"{source.folder} is not a backup", "Name the directory that `worlddb backup` wrote to"
            )
    source.refuse_damaged_pages()
    elsewhere = NOWHERE
    if original is not None:
        with source.read() as ours, original.read() as theirs:
            _require_same_store(LmdbLog(ours), LmdbLog(theirs), source, original)
            common = verify.common_commits(LmdbLog(ours), LmdbLog(theirs))
        elsewhere = erasures_after(original, common)
    target = begin()
    lacking = _pending_erasures(source, target, until, elsewhere)
    Copier(source, target, kind=copies.RESTORING, author=RESTORER, elsewhere=lacking).copy(until, progress)
    settle(target, until)
    target.write(lambda txn: LmdbLog(txn).mark_copy(""))
    with target.read() as txn:
        log = LmdbLog(txn)
        taken = {each.chain for each in (*elsewhere.tied, *elsewhere.untied, *log.untied.all())}
        taken.update(each.chain for seq in range(1, log.head().seq + 1) for each in erasure_arrivals(log, seq))
        return Restored(until, log.header(until).root.hex(), len(taken))


def _pending_erasures(
    source: environment.Environment, target: environment.Environment, until: int, elsewhere: ErasuresElsewhere
) -> ErasuresElsewhere:
    """The later erasures that a restore has yet to apply: all of them, unless an earlier run was interrupted.

    Raises:
        PlaceTaken: that run was of another backup, or left texts out that are not to be left out now.
    """
    with source.read() as ours, target.read() as theirs:
        log, restored = LmdbLog(ours), LmdbLog(theirs)
        if not restored.check_format():
            return elsewhere
        head = restored.head().seq
        # Behind the backup's commits there is at most what the restore itself said of later erasures.
        is_own = all(
            restored.header(seq).author == RESTORER and erasure_arrivals(restored, seq)
            for seq in range(until + 1, head + 1)
        )
        erased_blobs = {blob for each in (*elsewhere.tied, *elsewhere.untied) for blob in each.reached}
        if (
            restored.copy_kind() != copies.RESTORING
            or not is_own
            or verify.common_commits(log, restored) != min(head, until)
            or any(blob not in erased_blobs for blob in _missing_places(log, restored, min(head, until)))
        ):
            raise errors.PlaceTaken(
                f"{target.folder} holds an unfinished restore of another backup, or one that left out other texts",
                "Run that restore again to finish it, or delete the directory, or name a new one",
            )
        applied = {each.chain for seq in range(1, head + 1) for each in erasures_in(restored, seq)}
        return elsewhere._replace(tied=tuple(each for each in elsewhere.tied if each.chain not in applied))


def _missing_places(log: LmdbLog, begun: LmdbLog, last: int) -> Iterator[tuple[int, int]]:
    """The places of texts up to a commit that a log has and its copy lacks."""
    for seq in range(1, last + 1):
        for at in range(log.events(seq).blob_count):
            here, stored = begun.blob(seq, at), log.blob(seq, at)
            if stored is not None and (here is None or (codec.is_struck(here) and here != stored)):
                yield seq, at


def _count_copied_commits(source: environment.Environment, target: environment.Environment) -> int:
    """Count the commits that a backup has already; a backup of another store is refused."""
    with source.read() as ours, target.read() as theirs:
        log, copied = LmdbLog(ours), LmdbLog(theirs)
        if not copied.check_format():
            return 0
        if copied.copy_kind() != copies.BACKUP:
            raise errors.NotABackup(
                f"{target.folder} holds a store that is not a backup", "Name an empty or a new directory", since=0
            )
        _require_same_store(log, copied, source, target)
        head, common = copied.head(), verify.common_commits(log, copied)
        if common < head.seq:
            when = times.format_time(copied.header(common + 1).ingest_time)
            raise errors.BackupMismatch(
                f"{target.folder} has diverged from {source.folder}: commit {common + 1} of the backup, of "
                f"{when}, is " + ("not in the store" if common == log.head().seq else "another one in the store"),
                "Back up into a new directory, and keep this one: it may hold commits that the store has lost",
                since=common + 1,
            )
        return head.seq


def _require_same_store(
    one: LmdbLog, other: LmdbLog, here: environment.Environment, there: environment.Environment
) -> None:
    ids = [log.events(1).events[0] for log in (one, other)]
    if len({event.store_id for event in ids if isinstance(event, events.StoreCreated)}) != 1:
        raise errors.BackupMismatch(
            f"{there.folder} and {here.folder} belong to different stores: they differ from the first commit on",
            "Check which directory belongs to which store",
            since=1,
        )


_ATTEMPTS: Final = 8
"""How often the backup is repeated because an older release committed meanwhile."""


class ListedErasure(NamedTuple):
    """An erasure record beside the log that an upgrade put into it: a commit of another history that erased ``texts``
    texts."""

    seq: int
    ingested_at: int
    author: str
    reasons: tuple[str, ...]
    texts: int


class Upgraded(NamedTuple):
    """The result of an upgrade: the old and new layout of the tables, and where the backup is.

    It also holds the last commit and its root hash. ``backup`` is empty if the tables had today's layout already and
    nothing lay beside the log: then nothing was done. ``listed`` are the records of later erasures that older releases
    kept beside the log and that are in it now, though nothing proves them; ``refused`` counts those that stay outside,
    because they do not fit to the log, speak of what a release wrote that kept none, or because such records were
    listed before: they are damage.
    """

    before: int
    after: int
    seq: int
    root: str
    backup: str
    listed: tuple[ListedErasure, ...] = ()
    refused: int = 0


def layout_of(env: environment.Environment) -> int:
    """The layout of a store's tables; raises ``NewerFormat`` if this release does not know it."""
    with env.read() as txn:
        return rows.Tables(txn).layout()


def upgrade(
    env: environment.Environment,
    back_up: Callable[[], BackedUp],
    place: str,
    now: int,
    progress: runner.Progress | None = None,
) -> Upgraded:
    """Rebuild tables of an older layout from the log, after a backup of every commit.

    What older releases kept beside the log about erasures is taken into it, once, by a commit of the time ``now``; of a
    backup it is not, since nothing but copying may go on with that. A run that breaks off leaves the older tables, or
    those of today; the next one goes on with its backup.

    Raises:
        NewerFormat: the store belongs to a newer release.
        HypotheticalStore: the store is not what happened, and a backup of it could be taken for that.
        DamagedStore: a commit is not what was written; the tables are left as they are.
        UnavailableError: an older release goes on committing between the backup and the upgrade.
    """
    before = layout_of(env)
    with env.read() as txn:
        beside = LmdbLog(txn).has_untied()
        listing = beside and not LmdbLog(txn).copy_kind() and not _has_listed_erasures(LmdbLog(txn))
    if before == schema.LAYOUT and not listing:
        return _upgrade_result(env, before, "", ())
    with env.read() as txn:
        refuse_supposed(rows.Tables(txn), "a backup of it could be taken for one of the original")
    env.refuse_damaged_pages()
    for _ in range(_ATTEMPTS):
        made = back_up()
        listed = env.write(partial(_derive, made.seq, now, progress))
        if listed is not None:
            return _upgrade_result(env, before, place, listed)
    raise errors.UnavailableError(
        f"Another process keeps writing to {env.folder}", "Stop the programs that use it, then try again"
    )


def _derive(
    backed_up: int, now: int, progress: runner.Progress | None, txn: lmdb.Transaction
) -> tuple[ListedErasure, ...] | None:
    """Rebuild the tables unless another process has, and list erasures; ``None`` if the backup lacks commits."""
    log, tables = LmdbLog(txn), rows.Tables(txn)
    older = tables.layout() != schema.LAYOUT
    listing = log.has_untied() and not log.copy_kind() and not _has_listed_erasures(log)
    if not older and not listing:
        return ()
    if log.head().seq != backed_up:
        return None
    if older:
        runner.rebuild(log, tables, progress)
    return _list_erasures(log, tables, now) if listing else ()


def _has_listed_erasures(log: LmdbLog) -> bool:
    """True if an upgrade has put such records into the log before; a second time could list forged ones."""
    return any(each.listed for seq in range(1, log.head().seq + 1) for each in erasure_arrivals(log, seq))


def _list_erasures(log: LmdbLog, tables: rows.Tables, now: int) -> tuple[ListedErasure, ...]:
    """Put the applicable records into the log; the others stay where they are."""
    found = log.untied.all()
    last = _last_commit_of_older_release(log)
    fits = [each.through <= last and _is_applicable(log, each, now) for each in found]
    fitting = [each._replace(listed=True) for each, fit in zip(found, fits, strict=True) if fit]
    if fitting:
        append_erasures(log, tables, fitting, UPGRADER, now)
        log.untied.replace(each for each, fit in zip(found, fits, strict=True) if not fit)
    return tuple(
        ListedErasure(
            each.header.seq,
            each.header.ingest_time,
            each.header.author,
            tuple(dict.fromkeys(filter(None, (each.reason(event.lineage) for event in each.erased)))),
            sum(1 for _ in each.blobs),
        )
        for each in fitting
    )


def _last_commit_of_older_release(log: LmdbLog) -> int:
    """The last commit that may come from a release with erasure records beside the log.

    Whoever deletes a later text and invents its erasure has no record that it could come from.
    """
    head = log.head().seq
    return next((seq - 1 for seq in range(1, head + 1) if has_newer_events(log.events(seq))), head)


def _is_applicable(log: LmdbLog, each: LaterErasure, now: int) -> bool:
    """True if the commit of a record can follow this log in another history, and its texts are gone here."""
    header, through = each.header, each.through
    if not 0 < through <= log.head().seq or header.seq <= through:
        return False
    if not log.header(through).ingest_time < header.ingest_time <= now:
        return False
    if header.seq == through + 1 and header.previous != log.chain(through):
        return False
    if any(hashing.blob_id(text) != each.events.blob(at) for at, text in each.details.items()):
        return False
    return all(
        seq > 0 and 0 <= position < log.events(seq).blob_count and log.blob(seq, position) is None
        for seq, position in each.blobs
    )


def _upgrade_result(
    env: environment.Environment, before: int, place: str, listed: tuple[ListedErasure, ...]
) -> Upgraded:
    with env.read() as txn:
        log = LmdbLog(txn)
        seq, refused = log.head().seq, len(log.untied.all())
        return Upgraded(before, schema.LAYOUT, seq, log.header(seq).root.hex(), place, listed, refused)
