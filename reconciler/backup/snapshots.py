"""Snapshots: a store as of a commit, kept beside the log.

A replay to a later moment starts from the newest one before it. Snapshots can be deleted at any time. Making one notes
a digest of all its pairs in the store's data file; using one compares it with that digest and with the log, and makes
it again if it differs. An erasure deletes all snapshots, and their notes in the transaction that erases.
"""

import os
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import lmdb
import msgspec

from worlddb.log.model.errors import DamagedStore, NewerFormat, UnavailableError, WorldDBError
from worlddb.log.store import environment, scratch
from worlddb.log.store.log import LmdbLog
from worlddb.projections import check, runner
from worlddb.reconciler.backup.commit_copier import Copier

KIND: Final = "snapshot"
_ATTEMPTS: Final = 3
"""How often a snapshot is started again because something was erased meanwhile."""
_TIMEOUT_SECONDS: Final = 10.0


class Snapshot(NamedTuple):
    """A snapshot: its commit, the root hash there, and its size."""

    seq: int
    root: str
    size_bytes: int


def take(source: environment.Environment, seq: int, progress: runner.Progress | None = None) -> Snapshot:
    """Make a snapshot at a commit, from the nearest one before it.

    It replaces one that is there.

    Raises:
        DamagedStore: a commit is not what was written.
        UnavailableError: it cannot be written, or texts were erased again and again meanwhile.
    """
    for _ in range(_ATTEMPTS):
        try:
            made = scratch.run_with_tables(source.folder, lambda folder: _take(source, folder, seq, progress))
        except OSError as error:
            raise UnavailableError(
                f"A snapshot cannot be made in {source.folder}: {error}", "Check disk space and permissions"
            ) from error
        if made is not None:
            return made
    raise UnavailableError("Erasures kept interrupting the snapshot", "Try again")


def start_from_snapshot(source: environment.Environment, target: environment.Environment, until: int) -> int:
    """Put the newest snapshot up to a commit into an empty target.

    Returns the commit of the snapshot, 0 for none.
    """
    for seq in sorted((seq for seq in check.list_snapshots(source.folder) if seq <= until), reverse=True):
        if _load(source, target, seq):
            return seq
        with suppress(WorldDBError):
            shutil.rmtree(check.snapshot_path(source.folder, seq), ignore_errors=True)
            take(source, seq)
            if _load(source, target, seq):
                return seq
    return 0


def _take(source: environment.Environment, folder: Path, seq: int, progress: runner.Progress | None) -> Snapshot | None:
    """Make a snapshot; it is not published if something was erased meanwhile."""
    unpublished = folder / "made"
    unpublished.mkdir()
    target = environment.Environment(unpublished, author=KIND, timeout_seconds=_TIMEOUT_SECONDS)
    try:
        start_from_snapshot(source, target, seq - 1)
        copier = Copier(source, target, kind=KIND)
        copier.copy(seq, progress)
        with target.read() as txn:
            log = LmdbLog(txn)
            root = log.header(seq).root.hex()
            digest = check.digest_of(txn)
            seal = check.Seal(log.chain(seq).hex(), digest.hex())
            is_scrubbed = log.scrub_due() is None
        size = target.size_bytes()
    finally:
        target.close()
    (unpublished / check.SEAL_FILE).write_bytes(msgspec.json.encode(seal))

    def publish(txn: lmdb.Transaction) -> bool:
        # Erasures commit under the same lock and delete what is in place afterwards.
        if copier.erased_since(LmdbLog(txn)):
            return False
        place = check.snapshot_path(source.folder, seq)
        place.parent.mkdir(exist_ok=True)
        shutil.rmtree(place, ignore_errors=True)
        os.replace(unpublished, place)
        LmdbLog(txn).note_snapshot(seq, digest)
        return True

    return Snapshot(seq, root, size) if is_scrubbed and source.write(publish) else None


def _load(source: environment.Environment, target: environment.Environment, seq: int) -> bool:
    """Put a snapshot into an empty target if it verifies; false if it does not."""
    snapshot = check.open_snapshot(source, seq)
    if snapshot is None:
        return False
    try:
        snapshot.refuse_damaged_pages()
        with snapshot.read() as pairs, source.read() as reading:
            if not check.is_sound_snapshot(pairs, reading, seq):
                return False
            target.write(partial(_put_all, pairs))
    except (DamagedStore, NewerFormat):
        return False
    finally:
        snapshot.close()
    return True


def _put_all(source: lmdb.Transaction, txn: lmdb.Transaction) -> None:
    with source.cursor() as pairs, txn.cursor() as cursor:
        cursor.putmulti(pairs, append=True)
    if txn.stat()["entries"] != source.stat()["entries"]:
        raise DamagedStore("The snapshot could not be read completely", "Make the snapshot again")
