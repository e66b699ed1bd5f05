"""Making a store again of a backup."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from worlddb.log.model.errors import PlaceTaken
from worlddb.log.store.copies import BACKUP, Copy, note_copy, refuse_inside
from worlddb.log.store.environment import Environment
from worlddb.reconciler.backup import backups
from worlddb.store import DEFAULT_TIMEOUT_SECONDS, folder_of, open_environment

_AUTHOR = "restore"


def restore(
    backup: str | Path,
    into: str | Path,
    *,
    erasures_of: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> backups.Restored:
    """Make a store again of a backup, in an empty or new directory; every commit and text is checked on the way.

    What ``erasures_of``, an original that still exists, has erased since the backup was made is left out. Nothing is
    made of what is no backup. What breaks off later leaves a directory that refuses to be written to: delete it and
    begin again.

    Raises:
        NotAStore: there is no backup in the directory.
        PlaceTaken: the new directory is not empty.
        BackupMismatch: the directory holds a store that is no backup, or the original is another store.
        DamagedStore: a commit of the backup is not what was written.
    """
    source, target = folder_of(backup), folder_of(into)
    refuse_inside(source, target)
    with ExitStack() as opened:
        ours = _open(opened, source)
        original = None if erasures_of is None else _open(opened, folder_of(erasures_of))
        if target.is_dir() and any(target.iterdir()):
            raise PlaceTaken(f"{target} is not empty", "Name an empty or a new directory")
        made = backups.restore(ours, lambda: _open(opened, target, create=True), original, progress)
    note_copy(target, Copy(BACKUP, str(source.resolve()), made.seq, made.seq))
    return made


def _open(opened: ExitStack, folder: Path, *, create: bool = False) -> Environment:
    env = open_environment(folder, author=_AUTHOR, create=create, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
    return opened.enter_context(closing(env))
