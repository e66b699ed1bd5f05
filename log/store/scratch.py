"""Temporary folders inside a store's directory, each locked by its owner, so that leftovers are found and removed.

    DIR/.scratch-TOKEN/   scratch tables, derived again to compare or copy them, and copies of texts that a server
                          keeps for its clients; an erasure removes them at any time
    DIR/.held-TOKEN/      private to the owner: staged input, and the note of a file that is being written elsewhere
    .../held              locked by the process that made the folder, for as long as it lives
    .../outside           the directory in which ``.export-TOKEN-*`` is being written, and which folder says so; the
                          file is locked, too

The kernel releases a lock when its process dies, so a folder whose lock is free was abandoned. Opening the store and
erasures remove it. A process number would not do, since numbers are reused. In a copy of a store nobody has the lock,
while the original's file may still be in use: the copy's folder is removed, and the file that it names stays.

Earlier releases also made tables in the system's temporary directory. An erasure removes those too; opening a store
does not look there, since it would have to list the files of every program on the machine.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir, mkdtemp
from typing import IO, TYPE_CHECKING, Final, TypeVar, cast

from worlddb.log.model.errors import DiskFull, UnavailableError, WorldDBError
from worlddb.log.store import durable

if TYPE_CHECKING:
    from filelock import FileLock

TABLES_PREFIX: Final = ".scratch-"
HELD_PREFIX: Final = ".held-"
UNFINISHED_PREFIX: Final = ".export-"
"""How a file begins that is written elsewhere and not whole yet."""
_UNFINISHED: Final = re.compile(rf"{re.escape(UNFINISHED_PREFIX)}(?:[a-z0-9_]{{8}}-)?[a-z0-9_]{{8}}")
"""The whole name of one: the folder's token, if there is one, and letters that were drawn."""
_OLDER_PREFIX: Final = ".check-"
"""Scratch tables of version 0.1.0, which had no lock."""
_SYSTEMS_PREFIXES: Final = ("worlddb-doctor-", "worlddb-redecide-")
"""Such tables of it in the system's temporary directory."""
_TABLES_LOCK: Final = "lock.mdb"
_LOCK: Final = "held"
_OUTSIDE: Final = "outside"
_ATTEMPTS: Final = 3
_COPY_IT: Final = "Copy the directory to a place that you may write to, and query the copy"
_REMEDY: Final = "Check disk space and permissions, then try again"

T = TypeVar("T")


@contextmanager
def temporary_folder(store: Path, prefix: str = HELD_PREFIX) -> Iterator[Path]:
    """Make a folder for temporary files in a store's directory, and remove it after the block.

    Raises:
        UnavailableError: the directory is not writable.
    """
    folder, lock = _make_locked_folder(store, prefix)
    try:
        yield folder
    finally:
        _remove(folder)
        lock.release()


def run_with_tables(store: Path, work: Callable[[Path], T]) -> T:
    """Call ``work`` with a folder for scratch tables; restart it if an erasure removed the folder meanwhile.

    Raises:
        UnavailableError: the directory is not writable, or erasures removed the folder again and again.
    """
    for _ in range(_ATTEMPTS):
        with temporary_folder(store, TABLES_PREFIX) as folder:
            try:
                return work(folder)
            except (WorldDBError, OSError):
                if (folder / _LOCK).exists():
                    raise
    raise UnavailableError("Erasures kept interrupting the derivation of new tables", "Try again")


@contextmanager
def unfinished_file(store: Path, target: Path) -> Iterator[IO[bytes]]:
    """Open a file beside ``target``, to be renamed when it is complete; it is removed if it was not renamed.

    After a kill the next opening of the store removes it, or the next export of any store to that place. A store that
    is not writable keeps no note of it.

    Raises:
        OSError: there can be no file beside ``target``.
        DiskFull: the store's disk has no room for the note.
    """
    try:
        folder, lock = _make_locked_folder(store, HELD_PREFIX)
    except DiskFull:
        raise
    except UnavailableError:
        folder, lock = None, None
    token = "" if folder is None else f"{_token(folder)}-"
    _remove_unfinished(target.parent)
    try:
        if folder is not None:
            try:
                (folder / _OUTSIDE).write_bytes(_outside_note(folder, target.parent))
            except OSError as error:
                told = f"A note of {target} cannot be written in the store {store}: {error}"
                raise durable.system_error(error, store, told, _REMEDY) from error
        with _locked_file(target.parent, UNFINISHED_PREFIX + token) as made:
            try:
                yield made
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(made.name)
    finally:
        if folder is not None and lock is not None:
            _remove(folder)
            lock.release()


def _locked_file(folder: Path, prefix: str) -> IO[bytes]:
    """Make a file that is locked while it is open; retry if another process removed it as abandoned just then.

    Where the file system has no locks, no other process can lock it either, so none removes it.
    """
    for _ in range(_ATTEMPTS):
        made = cast("IO[bytes]", NamedTemporaryFile(dir=folder, prefix=prefix, delete=False))  # noqa: SIM115
        with suppress(OSError):
            fcntl.flock(made, fcntl.LOCK_EX)  # Another holder is about to remove it.
        if os.path.exists(made.name):
            return made
        made.close()
    raise OSError(errno.EBUSY, "other processes keep removing the files", str(folder))


def _remove_unfinished(folder: Path) -> None:
    """Remove abandoned files of exports of any store, since that store may never be opened again."""
    with suppress(OSError), os.scandir(folder) as entries:
        for each in entries:
            if _UNFINISHED.fullmatch(each.name) and each.is_file(follow_symlinks=False) and _is_of_user(each):
                with suppress(OSError), open(each.path, "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(each.path)


def is_removed_by_erasures(store: Path, file: Path) -> bool:
    """Whether a file lies in a folder of scratch tables of a store, so that every erasure removes it."""
    folder = file.resolve().parent
    return folder.parent == store.resolve() and folder.name.startswith(TABLES_PREFIX)


def abandoned_folders(store: Path) -> list[Path]:
    """List the folders whose owner has ended, without changing anything."""
    return [folder for folder in _list_folders(store) if not _is_locked(folder)]


def abandoned_system_folders() -> list[Path]:
    """List this user's folders of tables that earlier releases left in the system's temporary directory."""
    try:
        with os.scandir(gettempdir()) as entries:
            named = [Path(each.path) for each in entries if each.name.startswith(_SYSTEMS_PREFIXES) and _is_own(each)]
    except OSError:
        return []
    return sorted(filter(_is_abandoned, named))


def _is_own(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and _is_of_user(entry)


def _is_of_user(entry: os.DirEntry[str]) -> bool:
    return entry.stat(follow_symlinks=False).st_uid == os.getuid()


def _is_abandoned(folder: Path) -> bool:
    """True if there are tables in a folder and nobody has them open: LMDB would hold a lock on their first byte."""
    locks = [*folder.glob(_TABLES_LOCK), *folder.glob(f"{_OLDER_PREFIX}*/{_TABLES_LOCK}")]
    try:
        for lock in locks:
            with open(lock, "r+b") as file:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
    except OSError:
        return False
    return bool(locks)


def remove_abandoned(store: Path) -> None:
    """Remove the folders whose owner has ended, if possible; costs one directory listing where there are none."""
    for folder in _list_folders(store):
        lock = _lock_folder(folder)
        if lock is not None:
            _remove(folder)
            lock.release()


def remove_for_erasure(store: Path) -> bool:
    """Remove scratch tables, even those in use, and everything abandoned; false if some could not be removed."""
    remove_abandoned(store)
    for folder in abandoned_system_folders():
        shutil.rmtree(folder, ignore_errors=True)
    for _ in range(_ATTEMPTS):
        there = _list_folders(store, TABLES_PREFIX, _OLDER_PREFIX)
        if not there:
            return True
        for folder in there:
            shutil.rmtree(folder, ignore_errors=True)
    return not _list_folders(store, TABLES_PREFIX, _OLDER_PREFIX)


def _make_locked_folder(store: Path, prefix: str) -> tuple[Path, FileLock]:
    """Make a folder and lock it; retry if another process removed it as abandoned before it was locked."""
    try:
        for _ in range(_ATTEMPTS):
            folder = Path(mkdtemp(prefix=prefix, dir=store))
            lock = _lock_folder(folder)
            if lock is None:
                continue
            if (folder / _LOCK).exists():
                return folder, lock
            lock.release()
    except OSError as error:
        remedy = _COPY_IT if error.errno == errno.EROFS else _REMEDY
        told = f"Temporary files cannot be created in {store}: {error}"
        raise durable.system_error(error, store, told, remedy) from error
    raise UnavailableError(f"Other processes kept removing the temporary files in {store}", _REMEDY)


def _lock_folder(folder: Path) -> FileLock | None:
    """Lock a folder; ``None`` if its owner lives, or it is another user's."""
    from filelock import FileLock, Timeout

    # A folder may be removed by another thread than the one that made it.
    lock = FileLock(folder / _LOCK, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except (Timeout, OSError):
        return None
    return lock


def _is_locked(folder: Path) -> bool:
    if not (folder / _LOCK).exists():
        return False
    lock = _lock_folder(folder)
    if lock is not None:
        lock.release()
    return lock is None


def _list_folders(store: Path, *prefixes: str) -> list[Path]:
    try:
        names = os.listdir(store)
    except OSError:
        return []
    wanted = prefixes or (TABLES_PREFIX, HELD_PREFIX, _OLDER_PREFIX, durable.NEW_PREFIX)
    return sorted(store / name for name in names if name.startswith(wanted))


def _remove(folder: Path) -> None:
    """Remove a folder, and before it the unfinished files elsewhere that it notes."""
    with suppress(OSError):
        elsewhere = _read_outside_note(folder)
        for file in elsewhere.glob(f"{UNFINISHED_PREFIX}{_token(folder)}-*") if elsewhere else ():
            file.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _outside_note(folder: Path, elsewhere: Path) -> bytes:
    """The note of a file that is being written elsewhere: its directory, then path, inode and device of this folder."""
    itself = folder.stat()
    parts = (elsewhere.resolve(), folder.resolve(), str(itself.st_ino), str(itself.st_dev))
    return b"\0".join(os.fsencode(part) for part in parts)


def _read_outside_note(folder: Path) -> Path | None:
    """The directory of a folder's unfinished file; ``None`` if the note was copied here with a store, or is empty.

    A store that was moved keeps inode and device; after a restart of the machine the device may have another number.
    """
    elsewhere, *made = (folder / _OUTSIDE).read_bytes().split(b"\0")
    _, *here = _outside_note(folder, folder).split(b"\0")
    is_own = len(made) == len(here) and made[1] == here[1] and (made[0] == here[0] or made[2] == here[2])
    return Path(os.fsdecode(elsewhere)) if is_own else None


def _token(folder: Path) -> str:
    return folder.name.removeprefix(HELD_PREFIX)
