"""Durable files and folders: what survives a crash.

After a sync of a file its bytes survive one, its name after a sync of its folder.
"""

import errno
import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import lmdb

from worlddb.log.model.errors import DiskFull, UnavailableError

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
_NO_ROOM_WORDS: Final = tuple(map(os.strerror, _NO_ROOM))
_LEAST_ROOM_BYTES: Final = 1 << 20
"""With less left, an input or output error is one of room: LMDB says so where it could write only a part."""
NEW_PREFIX: Final = ".new-"
"""How a folder begins in which a data file is being made."""
_NEW_MAP_BYTES: Final = 1 << 20


def system_error(error: Exception, folder: Path, message: str, remedy: str) -> UnavailableError:
    """What the system, or LMDB for it, refused in a folder: told as :class:`DiskFull` if no room is left there."""
    number = error.errno if isinstance(error, OSError) else None
    full = number in _NO_ROOM or any(words in str(error) for words in _NO_ROOM_WORDS)
    if not full and (number == errno.EIO or os.strerror(errno.EIO) in str(error)):
        with suppress(OSError):
            full = shutil.disk_usage(folder).free < _LEAST_ROOM_BYTES
    if full:
        return DiskFull(f"No room left: {message}", "Free some space and try again; what was committed stays")
    return UnavailableError(message, remedy)


_NOT_OTHERS: Final = ~0o007
_OWNER_ALONE: Final = ~0o077


def make_private_folder(folder: Path) -> None:
    """Make a folder and those around it, as far as they are missing.

    They are there after a crash. A new folder is its owner's alone, whatever files are made in it; also its group's
    where the umask lets groups write. One that is there keeps its permissions.

    Raises:
        OSError: it cannot be made.
    """
    missing, is_new = [folder], not folder.exists()
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    folder.mkdir(parents=True, exist_ok=True)
    if is_new:
        mode = stat.S_IMODE(folder.stat().st_mode)
        folder.chmod(mode & (_NOT_OTHERS if mode & stat.S_IWGRP else _OWNER_ALONE))
    for made in reversed(missing):
        sync_folder(made.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk.

    Raises:
        OSError: they cannot be written.
    """
    _sync(folder, os.O_RDONLY)


def sync_file(file: Path) -> None:
    """Wait until the bytes of a file are on the disk.

    Raises:
        OSError: they cannot be written.
    """
    _sync(file, os.O_RDWR)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_data_file(data: Path) -> bool:
    """Create an empty LMDB file if there is none.

    It is put there durably, whole or not at all. True if there is one then. LMDB itself writes the first two pages
    and goes on: after a crash they may be there in part, and be taken for damage. Somebody else may put one there at
    the same time, and theirs stays. False where a file cannot have two names, or the disk is full: LMDB has to make
    it after all, or to say why not.

    Raises:
        OSError: the folder cannot be written to.
    """
    with TemporaryDirectory(dir=data.parent, prefix=NEW_PREFIX, ignore_cleanup_errors=True) as aside:
        try:
            lmdb.open(aside, map_size=_NEW_MAP_BYTES, lock=False).close()
            sync_file(Path(aside) / data.name)
            os.link(Path(aside) / data.name, data)
        except (OSError, lmdb.Error):
            if not data.exists():
                return False
    for left in data.parent.glob(f"{NEW_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    sync_folder(data.parent)
    return True


MOUNTS: Final = Path("/proc/self/mountinfo")
_OCTAL: Final = re.compile(r"\\([0-7]{3})")
_OF_ONE_MACHINE: Final = frozenset(
    ("btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "iso9660", "squashfs", "tmpfs", "udf", "vfat", "xfs")
)
"""File systems whose disk no other machine sees, without those in layers over others, as containers have them."""


class Mount(NamedTuple):
    """A mounted file system: type, mount point, and whether the file system itself is read-only in all its mounts."""

    kind: str
    point: str
    is_frozen: bool


def mount_of(folder: Path, mounts: Path = MOUNTS) -> Mount:
    """Find the mount that a directory lies in; type and place are empty where the system does not tell."""
    found = Mount("", "", is_frozen=False)
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return found
    place = folder.resolve()
    for line in lines:
        left, _, right = line.partition(" - ")
        fields, of_all = left.split(" "), right.split(" ")
        if len(fields) < 5 or not right:
            continue
        point = _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4])
        # Of several mounts at one place the last one is seen.
        if place.is_relative_to(point) and len(point) >= len(found.point):
            found = Mount(of_all[0], point, "ro" in of_all[-1].split(","))
    return found


def is_mounted_read_only(folder: Path) -> bool:
    """Whether the file system of a directory takes no writes by this mount of it."""
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def is_frozen(folder: Path) -> bool:
    """Whether nobody on this machine can write to a directory, by whatever mount of its file system.

    A mount alone may be read-only, as of a directory that is handed to a container, and be written to by another one.
    """
    if not is_mounted_read_only(folder):
        return False
    mount = mount_of(folder)
    return mount.is_frozen and mount.kind in _OF_ONE_MACHINE
