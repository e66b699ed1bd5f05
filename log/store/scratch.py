"""Temporary files that are found again: folders inside a store's directory, each locked by whoever lives from it.

    DIR/.scratch-TOKEN/   tables derived once more, to compare or to copy them; an erasure takes them from anybody
    DIR/.held-TOKEN/      what is nobody else's: input on its way in, and where a file is being written elsewhere
    .../held              locked by the process that made the folder, for as long as it lives
    .../outside           the directory in which ``.export-TOKEN-*`` is being written, and which folder says so; the
                          file is locked, too

The kernel releases a lock when its process dies, so a folder whose lock is free was left behind. Opening the store
removes it, and so does an erasure. A process number would not do: it may live again. In a copy of a store nobody has
the lock, while the original's file may still be written: the copy's folder goes, and what it names elsewhere stays.

Earlier releases made tables in the system's temporary directory, too. What they left there an erasure removes as well;
an opening does not look there, since it would list what all programs of the machine have in it.
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

from worlddb.log.model.errors import UnavailableError, WorldDBError
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
_COPY_IT: Final = "Copy the directory to a place where you may write, and ask the copy"
_REMEDY: Final = "Check disk space and permissions, then try again"

T = TypeVar("T")


@contextmanager
def temporary_folder(store: Path, prefix: str = HELD_PREFIX) -> Iterator[Path]:
    """Make a folder for temporary files in a store's directory, and remove it afterwards.

    Raises:
        UnavailableError: the directory cannot be written to.
    """
    folder, lock = _make_locked_folder(store, prefix)
    try:
        yield folder
    finally:
        _remove(folder)
        lock.release()


def run_with_tables(store: Path, work: Callable[[Path], T]) -> T:
    """Call ``work`` with a folder for scratch tables; again from the start if an erasure took it away meanwhile.

    Raises:
        UnavailableError: the directory cannot be written to, or texts were erased again and again.
    """
    for _ in range(_ATTEMPTS):
        with temporary_folder(store, TABLES_PREFIX) as folder:
            try:
                return work(folder)
            except (WorldDBError, OSError):
                if (folder / _LOCK).exists():
                    raise
    raise UnavailableError("Texts were erased while tables were derived once more, again and again", "Try again")


@contextmanager
def unfinished_file(store: Path, target: Path) -> Iterator[IO[bytes]]:
    """Open a file beside ``target`` that is still to get its name; what has not got it goes afterwards.

    After a kill it goes when the store is next opened, or with the next export of any store to that place. A store
    that cannot be written to does not learn of it.

    Raises:
        OSError: there can be no file beside ``target``.
    """
    try:
        folder, lock = _make_locked_folder(store, HELD_PREFIX)
    except UnavailableError:
        folder, lock = None, None
    token = "" if folder is None else f"{_token(folder)}-"
    _remove_unfinished(target.parent)
    try:
        if folder is not None:
            (folder / _OUTSIDE).write_bytes(_outside_note(folder, target.parent))
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
    """Make a file that is locked for as long as it is open; another one if somebody took it for a left one just then.

    Where there are no locks, nobody else gets one either, and so nobody removes it.
    """
    for _ in range(_ATTEMPTS):
        made = cast("IO[bytes]", NamedTemporaryFile(dir=folder, prefix=prefix, delete=False))  # noqa: SIM115
        with suppress(OSError):
            fcntl.flock(made, fcntl.LOCK_EX)  # Whoever has it is just about to remove it.
        if os.path.exists(made.name):
            return made
        made.close()
    raise OSError(errno.EBUSY, "what is made there is removed again and again", str(folder))


def _remove_unfinished(folder: Path) -> None:
    """Remove the files of exports that nobody writes any more, of whatever store: it may never be opened again."""
    with suppress(OSError), os.scandir(folder) as entries:
        for each in entries:
            if _UNFINISHED.fullmatch(each.name) and each.is_file(follow_symlinks=False) and _is_of_user(each):
                with suppress(OSError), open(each.path, "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(each.path)


def abandoned_folders(store: Path) -> list[Path]:
    """List the folders whose owner has ended; nothing is changed."""
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
    """Remove the folders whose owner has ended, as far as that is possible; costs one listing where there are none."""
    for folder in _list_folders(store):
        lock = _lock_folder(folder)
        if lock is not None:
            _remove(folder)
            lock.release()


def remove_for_erasure(store: Path) -> bool:
    """Remove tables whoever works with them, and all else that was left behind; false if some could not be removed."""
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
    """Make a folder and lock it. Whoever looks just then may take it for one that was left behind: there is another."""
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
        raise UnavailableError(f"No temporary files can be made in {store}: {error}", remedy) from error
    raise UnavailableError(f"Temporary files in {store} were removed again and again", _REMEDY)


def _lock_folder(folder: Path) -> FileLock | None:
    """Take the lock of a folder; None if its owner lives, or it is another user's."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / _LOCK, timeout=0)
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
    """Remove a folder, and before it what it says is being written elsewhere."""
    with suppress(OSError):
        elsewhere = _read_outside_note(folder)
        for file in elsewhere.glob(f"{UNFINISHED_PREFIX}{_token(folder)}-*") if elsewhere else ():
            file.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _outside_note(folder: Path, elsewhere: Path) -> bytes:
    """Where a file is being written, then the path, inode and device of the folder that says so."""
    itself = folder.stat()
    parts = (elsewhere.resolve(), folder.resolve(), str(itself.st_ino), str(itself.st_dev))
    return b"\0".join(os.fsencode(part) for part in parts)


def _read_outside_note(folder: Path) -> Path | None:
    """Where a folder's own file is being written; None if the note came here with a copy, or tells no place.

    A store that was moved keeps inode and device; after a restart of the machine the device may have another number.
    """
    elsewhere, *made = (folder / _OUTSIDE).read_bytes().split(b"\0")
    _, *here = _outside_note(folder, folder).split(b"\0")
    is_own = len(made) == len(here) and made[1] == here[1] and (made[0] == here[0] or made[2] == here[2])
    return Path(os.fsdecode(elsewhere)) if is_own else None


def _token(folder: Path) -> str:
    return folder.name.removeprefix(HELD_PREFIX)
