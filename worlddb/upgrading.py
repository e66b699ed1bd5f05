"""Bringing a store that an older release wrote up to date, in its place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from worlddb.keeping import backup_into
from worlddb.log.model.errors import NotAStore
from worlddb.projections.tables.storage.schema import LAYOUT
from worlddb.reconciler.backup import backups
from worlddb.store import DEFAULT_TIMEOUT_SECONDS, folder_of, has_begun, open_environment

_AUTHOR = "upgrade"


def upgrade(
    path: str | Path, *, backup: str | Path | None = None, progress: Callable[[int, int], None] | None = None
) -> backups.Upgraded:
    """Bring a store that an older release wrote up to date, in its place; a store that is so already is left alone.

    First a backup is made in the directory ``backup`` (default: beside the store, its name with ``.before-upgrade-N``,
    where N is the layout that the tables get), every commit and text checked on the way. Then the tables are derived
    from the log in one transaction. What breaks off is gone on with by the next call, and the backup not made again.

    Raises:
        NotAStore: there is no store at the path, or ``backup`` holds something else.
        NewerFormat: a newer release wrote it.
        BackupMismatch: ``backup`` holds a store, or a backup of another one.
        HypotheticalStore: the store is hypothetical; make it again instead.
        DamagedStore: a commit is not what was written.
    """
    folder = folder_of(path)
    whole = folder.resolve()
    into = whole.with_name(f"{whole.name}.before-upgrade-{LAYOUT}") if backup is None else folder_of(backup)
    with closing(
        open_environment(folder, author=_AUTHOR, create=False, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
    ) as env:
        if not has_begun(env):
            raise NotAStore(f"There is no store at {folder}", "Check the path")
        return backups.upgrade(env, partial(backup_into, env, into, _AUTHOR, progress), str(into), progress)
