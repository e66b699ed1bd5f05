"""Check the location of a store, and the locks in it.

The checks cover the file system, disk space, permissions, files left by interrupted processes, and locks: which are
held, by which process, and whether it can ever release them. The kernel releases a lock when its process dies, so a
lock is stale only if its process is stopped or on another machine. The system's tables tell which processes of this
machine hold a lock, and whether one is stopped.
"""

import fcntl
import json
import os
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from worlddb.log.store import durable, environment, high_water, lock, scratch, shared_environment
from worlddb.log.working import message_buffers
from worlddb.reconciler.diagnostics.installation import Symptom, command_for, quoted, restore_command

LEAST_BYTES: Final = 64 << 20
"""With less room on the disk, writes are about to fail."""
NETWORK: Final = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "ocfs2"),
    *("gfs2", "davfs", "fuse.davfs2", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "fuse.gcsfuse"),
    *("fuse.ceph", "virtiofs"),
)
"""Types of file systems that several machines see, as Linux names them."""


def file_system(folder: Path, mounts: Path = durable.MOUNTS) -> Iterator[Symptom]:
    """Check that the file system is local to one machine; only Linux tells."""
    kind, point, _ = durable.mount_of(folder, mounts)
    if kind in NETWORK:
        yield Symptom(
            "network_file_system",
            True,
            str(folder),
            f"The store lies on a network file system ({kind}, mounted at {point})",
            "Memory maps and locks do not work between machines there: two writers can destroy the store",
            "Stop every program that uses it, and move the directory to a disk of this machine",
            f"cp -a {quoted(folder)} /a/local/disk/",
        )


def disk_space(folder: Path) -> Iterator[Symptom]:
    """Check the free disk space: for writes, and for a second data file."""
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
            "Writes fail when the disk is full; committed data stays, and reads go on",
            "Free some space on the disk, or move the store to a larger one",
            f"df -h {quoted(folder)}",
        )
    elif free < size:
        yield Symptom(
            "little_room",
            False,
            str(folder),
            f"{free:,} bytes are free, and the data file has {size:,}",
            "An erasure, an upgrade and a snapshot need room for a second data file",
            "Free some space before one of these",
            f"df -h {quoted(folder)}",
        )


def permissions(folder: Path) -> Iterator[Symptom]:
    """Check that this user may read and write the store's files.

    Where the file system itself takes nothing, nobody may, and one finding says so.
    """
    if durable.is_frozen(folder):
        yield Symptom(
            "read_only_mount",
            False,
            str(folder),
            "The store lies on a file system that is mounted read-only",
            "It is read without a lock, since nobody on this machine can write to it. It cannot be written "
            "to, and commands that need temporary files, such as `verify --deep`, are refused",
            "Mount it read-write, or copy the directory to a place that you may write to, and open the copy",
            f"cp -r {quoted(folder)} /a/place/of/yours/",
        )
        return
    if durable.is_mounted_read_only(folder):
        yield Symptom(
            "read_only_mount",
            True,
            str(folder),
            "The store lies on a file system that is mounted read-only",
            "It cannot be opened, not even to read: another mount may write to it, so readers must register in a file",
            "Mount it read-write, or copy the directory to a place that you may write to, and open the copy",
            f"cp -r {quoted(folder)} /a/place/of/yours/",
        )
        return
    if _is_open_to_all(folder):
        yield Symptom(
            "open_to_all",
            False,
            str(folder),
            "Every user of this machine can read the store's files",
            "Who copies them has the whole memory, whatever keys and worlds the programs that serve it ask for",
            "Take the directory from other users, unless they are meant to read it",
            f"chmod o-rwx {quoted(folder)}",
        )
    names = (
        shared_environment.DATA_FILE,
        shared_environment.LMDB_LOCK_FILE,
        lock.LOCK_FILE,
        lock.HOLDER_FILE,
        environment.LEASE_FILE,
    )
    for path in (folder, *(folder / name for name in names if (folder / name).exists())):
        if not is_accessible(path):
            yield _inaccessible(folder, path, 1)
    for name in (environment.INDEX_FOLDER, environment.SNAPSHOT_FOLDER):
        lacking = [path for path in _tree(folder / name) if not is_accessible(path)]
        if lacking:
            yield _inaccessible(folder, lacking[0], len(lacking))


def _is_open_to_all(folder: Path) -> bool:
    """True if any user may read the data file: by its own permissions, and those of all directories around it."""
    try:
        data = (folder / shared_environment.DATA_FILE).resolve()
        return bool(data.stat().st_mode & stat.S_IROTH) and all(
            each.stat().st_mode & stat.S_IXOTH for each in data.parents
        )
    except OSError:
        return False


def _tree(top: Path) -> Iterator[Path]:
    """A folder, if it exists, and all that is visible in it, by name."""
    if top.exists():
        yield top
    for inside, folders, files in os.walk(top):
        folders.sort()
        yield from (Path(inside) / name for name in sorted((*folders, *files)))


def is_accessible(path: Path) -> bool:
    """True if a path may be read and written; one that another process deleted meanwhile counts as accessible."""
    needed = os.R_OK | os.W_OK | (os.X_OK if os.path.isdir(path) else 0)
    return os.access(path, needed) or not os.path.lexists(path)


def _inaccessible(folder: Path, path: Path, count: int) -> Symptom:
    reads = os.access(path, os.R_OK)
    others = f", and {count - 1:,} more beside it" if count > 1 else ""
    return Symptom(
        "no_permission",
        True,
        str(path),
        f"This user may {'read it but not write to it' if reads else 'not read it'}{others}",
        "Writes, reads or searches fail or are slow: readers register in a file too, and searches update indexes",
        "Make the user who runs the programs the owner of the directory, or run them as its owner",
        f"sudo chown -R $(id -un) {quoted(folder)}",
    )


def leftovers(folder: Path) -> Iterator[Symptom]:
    """Find files that an interrupted process left behind."""
    for path in scratch.abandoned_folders(folder):
        yield Symptom(
            "leftover",
            False,
            str(path),
            "Temporary files were left by a process that has ended",
            "They take up space, and may hold texts that were erased since",
            "Delete the directory, or leave it: the next program that opens the store removes it. Nothing else uses it",
            f"rm -r {quoted(path)}",
        )
    for path in scratch.abandoned_system_folders():
        yield Symptom(
            "leftover",
            False,
            str(path),
            "An earlier release's process ended and left tables that it was deriving",
            "They take up space, and may hold erased names of this store or another",
            "Delete the directory, or leave it: the next erasure removes it. Nothing uses it",
            f"rm -r {quoted(path)}",
        )
    if (folder / shared_environment.REWRITE_FOLDER).exists():
        yield Symptom(
            "leftover",
            False,
            str(folder / shared_environment.REWRITE_FOLDER),
            "An erasure was rewriting this data file",
            "It takes up space; the next or resumed erasure starts it again",
            "Delete it while no program uses the store, or leave it to the next erasure",
            f"rm -r {quoted(folder / shared_environment.REWRITE_FOLDER)}",
        )


def noted_damage(folder: Path) -> Iterator[Symptom]:
    """Check whether a verification has noted damage, for which writes are refused."""
    found = high_water.read_damage(folder)
    if found is not None:
        yield Symptom(
            "writes_refused",
            True,
            str(folder / high_water.DAMAGE_FILE),
            f"A verification found damage{f', first in commit {found.seq}' if found.seq else ''}",
            "Writes are refused, and reads may be wrong",
            high_water.DAMAGE_REMEDY,
            command_for(folder, "verify --deep" if found.deep else "verify"),
        )


def mark(folder: Path) -> Iterator[Symptom]:
    """Check the mark of the last acknowledged commit."""
    problem = high_water.find_mark_problem(folder)
    if problem:
        yield Symptom(
            "mark_unreadable",
            True,
            str(folder / high_water.MARK_FILE),
            "The mark of the last acknowledged commit cannot be read",
            "A store that was rolled back, or replaced by an older copy, would open as if nothing were missing",
            "Check that the last commits are there, or compare with a head that you kept. Then write to the store: that"
            " makes the file again, unless you may not write to it",
            command_for(folder, "stats"),
        )


def working_memory(folder: Path) -> Iterator[Symptom]:
    """Check the file of working memory."""
    found = message_buffers.find_damage(folder)
    if found is not None:
        data, problem = found
        yield Symptom(
            "working_memory_damaged",
            True,
            str(data),
            f"The file of working memory is damaged: {problem}",
            "Recent messages of sessions are lost, and it may still hold texts that were erased. No memory is in it",
            "Delete the file, or leave it: the next program that opens the store deletes it",
            f"rm {quoted(data)}",
        )


def is_store(folder: Path) -> Iterator[Symptom]:
    """Check that there is a store, or the rest of one."""
    data = folder / shared_environment.DATA_FILE
    begun = any((folder / name).exists() for name in (lock.HOLDER_FILE, environment.INDEX_FOLDER))
    if folder.is_dir() and begun and not (data.is_file() and data.stat().st_size):
        yield Symptom(
            "data_file_gone",
            True,
            str(data),
            "The data file is empty or gone, and the store has been written to",
            "It holds the log, which is the whole memory",
            "Restore the store from a backup",
            restore_command(folder),
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
            "Check the path; or create a store by writing to it",
            command_for(folder, "ingest FILE"),
        )


PROCESSES: Final = Path("/proc")


def is_stopped(process: int, processes: Path = PROCESSES) -> bool:
    """True if the system says that the process was stopped and waits to be continued."""
    try:
        # The name of the program stands in brackets before the state, and may itself hold brackets.
        state = (processes / str(process) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in ("T", "t")


def lock_holders(file: Path, processes: Path = PROCESSES) -> list[int] | None:
    """List the processes that hold a lock on a file.

    ``None`` where the system does not tell, or nobody has the file.
    """
    try:
        found = os.stat(file)
        lines = (processes / "locks").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    number = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    fields = [line.split() for line in lines if "->" not in line]
    return sorted({int(each[4]) for each in fields if len(each) > 5 and each[5] == number})


_WHY: Final = {
    "writer": "Writes wait for it up to their time limit, then fail as busy; reads go on",
    "lease": "New vectors and reclustering wait for it; writes and reads go on",
    "index": "The index does not catch up meanwhile; searches read the missing part from the log",
}


def locks(folder: Path) -> Iterator[Symptom]:
    """Check the writers' lock, the lease of background work, and the indexes' locks."""
    yield from _describe_lock("writer", folder / lock.LOCK_FILE, _lock_signature(folder))
    yield from _describe_lock("lease", folder / environment.LEASE_FILE, {})
    for file in sorted((folder / environment.INDEX_FOLDER).glob("*.lock")):
        yield from _describe_lock("index", file, {})


def is_held(file: Path) -> bool:
    """True if a process has the lock.

    It is asked for a share of it, which is given back at once.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _describe_lock(kind: str, file: Path, signed: dict[str, Any]) -> Iterator[Symptom]:
    if not is_held(file):
        return
    known = lock_holders(file) or []
    here = signed.get("host") in (None, socket.gethostname())
    if not known and here and isinstance(signed.get("pid"), int):
        known = [signed["pid"]]
    who = ", ".join(f"process {process}" for process in known) or "a process that the operating system does not name"
    if signed and not here:
        who = f"process {signed.get('pid', '?')} on {signed['host']}"
    if signed.get("author"):
        who += f", author {signed['author']!r}"
    stopped = [process for process in known if is_stopped(process)]
    if stopped:
        yield Symptom(
            f"{kind}_stopped",
            True,
            str(file),
            f"{who} holds the lock and is stopped",
            _WHY[kind],
            "Continue or end the process; the system releases the lock when it ends",
            f"kill -CONT {stopped[0]}",
        )
    else:
        yield Symptom(
            f"{kind}_held",
            False,
            str(file),
            f"{who} holds the lock",
            _WHY[kind],
            "Do nothing if that process is working; check again in a while",
            f"ps -p {known[0]}" if known else "",
        )


def _lock_signature(folder: Path) -> dict[str, Any]:
    """What the last holder of the writers' lock wrote about itself."""
    try:
        found = json.loads((folder / lock.HOLDER_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
