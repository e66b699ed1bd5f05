"""Check the location of a store.

The checks look at the file system, room, permissions, and left-overs of ended processes.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from worlddb.log.store import environment, lock, scratch, shared_environment
from worlddb.reconciler.background.worker import LEASE_FILE
from worlddb.reconciler.diagnostics.symptom import Symptom, on, quoted, restored

LEAST_BYTES: Final = 64 << 20
"""With less room on the disk, writes are about to fail."""
MOUNTS: Final = Path("/proc/self/mountinfo")
NETWORK: Final = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "ocfs2"),
    *("gfs2", "davfs", "fuse.davfs2", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "fuse.gcsfuse"),
    *("fuse.ceph", "virtiofs"),
)
"""Types of file systems that several machines see, as Linux names them."""
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


def file_system(folder: Path, mounts: Path = MOUNTS) -> Iterator[Symptom]:
    """Is it one that a single machine has for itself; only Linux says so."""
    kind, point = mounted_as(folder, mounts)
    if kind in NETWORK:
        yield Symptom(
            "network_file_system",
            True,
            str(folder),
            f"The store lies on a network file system ({kind}, mounted at {point})",
            "Memory maps and locks do not hold between machines there: two writers can destroy the store",
            "Stop every program that uses it, and move the directory to a disk of this machine",
            f"cp -a {quoted(folder)} /a/local/disk/",
        )


def mounted_as(folder: Path, mounts: Path = MOUNTS) -> tuple[str, str]:
    """Find the type and place of the mount that a directory lies in.

    Both are empty where the system does not tell.
    """
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return "", ""
    place = folder.resolve()
    found = "", ""
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        point = _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4])
        # Of several mounts at one place the last one is seen.
        if place.is_relative_to(point) and len(point) >= len(found[1]):
            found = right.split(" ", 1)[0], point
    return found


def room(folder: Path) -> Iterator[Symptom]:
    """Is there room on the disk: to go on writing, and for a second data file."""
    data = folder / shared_environment.DATA_FILE
    size = data.stat().st_size if data.exists() else 0
    free = shutil.disk_usage(folder).free
    status = os.statvfs(folder)
    if status.f_files and not status.f_favail:
        yield Symptom(
            "no_files_left",
            True,
            str(folder),
            "The file system has no room for one more file",
            "Indexes cannot be written, and an erasure cannot be finished",
            "Delete files that are not needed on the same file system",
            f"df -i {quoted(folder)}",
        )
    if free < LEAST_BYTES:
        yield Symptom(
            "disk_full",
            True,
            str(folder),
            f"Only {free:,} bytes are free on the disk",
            "Writes fail when there is no room; what was committed stays, and reads go on",
            "Free some space on the disk, or move the store to a larger one",
            f"df -h {quoted(folder)}",
        )
    elif free < size:
        yield Symptom(
            "little_room",
            False,
            str(folder),
            f"{free:,} bytes are free, and the data file has {size:,}",
            "An erasure, an upgrade and a snapshot need room for a second one",
            "Free some space before you do one of these",
            f"df -h {quoted(folder)}",
        )


def permissions(folder: Path) -> Iterator[Symptom]:
    """May this user read and write what is there.

    Where the file system itself takes nothing, nobody may, and one finding says so.
    """
    if is_mounted_read_only(folder):
        yield Symptom(
            "read_only_mount",
            True,
            str(folder),
            "The store lies on a file system that is mounted read-only",
            "It cannot be opened, not even to read: readers, too, enter themselves in a file",
            "Mount it to be written to, or copy the directory to a place where you may write, and open the copy",
            f"cp -r {quoted(folder)} /a/place/of/yours/",
        )
        return
    names = (
        shared_environment.DATA_FILE,
        shared_environment.LMDB_LOCK_FILE,
        lock.LOCK_FILE,
        lock.HOLDER_FILE,
        LEASE_FILE,
    )
    for path in (folder, *(folder / name for name in names if (folder / name).exists())):
        if not is_ours(path):
            yield _not_ours(folder, path, 1)
    for name in (environment.INDEX_FOLDER, environment.SNAPSHOT_FOLDER):
        lacking = [path for path in _tree(folder / name) if not is_ours(path)]
        if lacking:
            yield _not_ours(folder, lacking[0], len(lacking))


def is_mounted_read_only(folder: Path) -> bool:
    """Return whether the file system of a directory takes no writes from anybody."""
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def _tree(top: Path) -> Iterator[Path]:
    """A folder that may be there, with all that can be seen in it, in the order of the names."""
    if top.exists():
        yield top
    for inside, folders, files in os.walk(top):
        folders.sort()
        yield from (Path(inside) / name for name in sorted((*folders, *files)))


def is_ours(path: Path) -> bool:
    """May it be read and written; what another process has deleted meanwhile is no matter."""
    needed = os.R_OK | os.W_OK | (os.X_OK if os.path.isdir(path) else 0)
    return os.access(path, needed) or not os.path.lexists(path)


def _not_ours(folder: Path, path: Path, count: int) -> Symptom:
    reads = os.access(path, os.R_OK)
    others = f", and {count - 1:,} more beside it" if count > 1 else ""
    return Symptom(
        "no_permission",
        True,
        str(path),
        f"This user may {'read it but not write to it' if reads else 'not read it'}{others}",
        "Writes, reads or searches fail or are slow: readers, too, enter themselves in a file, and indexes are kept up",
        "Let the user who runs the programs own the directory, or run them as the one who does",
        f"sudo chown -R $(id -un) {quoted(folder)}",
    )


def leftovers(folder: Path) -> Iterator[Symptom]:
    """What a process that was ended in the middle of something left behind."""
    for path in scratch.left_behind(folder):
        yield Symptom(
            "leftover",
            False,
            str(path),
            "Temporary files of a process that has ended",
            "They take room, and may hold texts that were erased since",
            "Delete the directory, or leave it to the next program that opens the store; nothing else uses it",
            f"rm -r {quoted(path)}",
        )
    for path in scratch.left_in_system():
        yield Symptom(
            "leftover",
            False,
            str(path),
            "Tables that an earlier release derived once more, of a process that has ended",
            "They take room, and may hold names that were erased since, of this store or another",
            "Delete the directory, or leave it to the next erasure; nothing uses it",
            f"rm -r {quoted(path)}",
        )
    if (folder / shared_environment.REWRITE_FOLDER).exists():
        yield Symptom(
            "leftover",
            False,
            str(folder / shared_environment.REWRITE_FOLDER),
            "A data file that was being written anew after an erasure",
            "It takes room; the next erasure, or one that is to be finished, begins it anew",
            "Delete it when no program uses the store, or leave it to the next erasure",
            f"rm -r {quoted(folder / shared_environment.REWRITE_FOLDER)}",
        )


def is_store(folder: Path) -> Iterator[Symptom]:
    """Is there a store at all, or what is left of one."""
    data = folder / shared_environment.DATA_FILE
    begun = any((folder / name).exists() for name in (lock.HOLDER_FILE, environment.INDEX_FOLDER))
    if folder.is_dir() and begun and not (data.is_file() and data.stat().st_size):
        yield Symptom(
            "data_file_gone",
            True,
            str(data),
            "The data file is empty or gone, and the store has been written to",
            "It holds the log: without it there is no memory",
            "Restore the store from a backup",
            restored(folder),
        )
    elif not data.is_file():
        is_odd = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        what = "There is something else at this place" if is_odd else "There is no store at this place"
        yield Symptom(
            "not_a_store",
            True,
            str(folder),
            what,
            "There is nothing to look at",
            "Check the path; or make a store by writing to it",
            on(folder, "ingest FILE"),
        )
