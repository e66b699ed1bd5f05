"""Finish an erasure: scrub its bytes from the indexes and from the data file's free pages.

The commit that erases leaves a mark in the log; the mark goes with the last byte. Whoever opens the store or writes to
it finishes what a crash has interrupted.
"""

import shutil
from typing import Final

from worlddb.log.model.errors import StoreError, UnavailableError
from worlddb.log.store import copies, environment, log, scratch, shared_environment
from worlddb.projections.indexes import text_index, text_snapshot

ATTEMPTS: Final = 3
"""How often to begin again because somebody else erased something meanwhile."""
INDEX_PATIENCE_SECONDS: Final = 30.0


def finish_erasures(env: environment.Environment, *, wait_seconds: float | None = None) -> bool:
    """Remove bytes that earlier erasures left in files; false if a process or the disk prevents it."""
    return not try_finish_erasures(env, wait_seconds=wait_seconds)


def try_finish_erasures(env: environment.Environment, *, wait_seconds: float | None = None) -> str:
    """Remove bytes that earlier erasures left in files, and say what prevents it; empty if they are gone.

    ``wait_seconds`` is how long to wait for other processes, if not as long as usual. Costs one look where nothing is
    due, and otherwise time and room in proportion to the store.
    """
    for _ in range(ATTEMPTS):
        with env.read() as txn:
            due = log.LmdbLog(txn).scrub_due()
        if due is None:
            return ""
        try:
            env.step("scrub")
            shared_environment.refuse_linked(env.folder)
            copies.reconcile_notes(env)
            _delete_indexes(env, INDEX_PATIENCE_SECONDS if wait_seconds is None else wait_seconds)
            _delete_scratch(env)
            _delete_snapshots(env)
            env.step("forgotten")
            env.rewrite(due, timeout_seconds=wait_seconds)
        except (UnavailableError, StoreError) as error:
            return error.message
        except text_snapshot.IndexUnwritable as error:
            return str(error) or "an index is not writable"
    return "other processes keep erasing"


def _delete_indexes(env: environment.Environment, wait_seconds: float) -> None:
    """Delete the indexes, each under its lock.

    Whoever has it finishes first, and whoever comes later finds the texts gone from the log.

    Raises:
        IndexUnwritable: one of them is held by another process, or cannot be deleted.
    """
    indexes = env.folder / environment.INDEX_FOLDER
    # One that is just being made may have no more than its lock.
    for name in sorted({path.name.removesuffix(".lock") for path in indexes.glob("*")}):
        with text_index.index_lock(indexes / name, wait_seconds):
            with text_snapshot.raising_as(text_snapshot.IndexUnwritable):
                text_index.reset(indexes / name)
            if (indexes / name).exists():
                raise text_snapshot.IndexUnwritable(f"{indexes / name} cannot be deleted")


def _delete_scratch(env: environment.Environment) -> None:
    """Delete scratch tables, even those in use, and files that ended processes left behind.

    Raises:
        IndexUnwritable: some cannot be deleted.
    """
    if not scratch.remove_for_erasure(env.folder):
        raise text_snapshot.IndexUnwritable(f"The temporary files in {env.folder} cannot be deleted")


def _delete_snapshots(env: environment.Environment) -> None:
    """Delete the snapshots; they are taken again when they are needed.

    Raises:
        IndexUnwritable: one of them cannot be deleted.
    """
    shutil.rmtree(env.folder / environment.SNAPSHOT_FOLDER, ignore_errors=True)
    if (env.folder / environment.SNAPSHOT_FOLDER).exists():
        raise text_snapshot.IndexUnwritable(f"{env.folder / environment.SNAPSHOT_FOLDER} cannot be deleted")
