"""Check which locks are held, by whom, and whether the holder will ever let go.

The kernel releases a lock when its process dies, so a lock is stale only if its process is stopped or on another
machine. The system's tables say which processes of this machine hold a lock, and whether one is stopped.
"""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from worlddb.log.store import environment, lock
from worlddb.reconciler.background.worker import LEASE_FILE
from worlddb.reconciler.diagnostics.symptom import Symptom

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
    "writer": "Writes wait for it, up to their time limit, and then fail as busy; reads go on",
    "lease": "Vectors and another look at who is who wait for it; writes and reads go on",
    "index": "The index does not catch up meanwhile; searches read what it lacks from the log",
}


def locks(folder: Path) -> Iterator[Symptom]:
    """Check the writers' lock, the lease of background work, and the indexes' locks."""
    yield from _one("writer", folder / lock.LOCK_FILE, _signed(folder))
    yield from _one("lease", folder / LEASE_FILE, {})
    for file in sorted((folder / environment.INDEX_FOLDER).glob("*.lock")):
        yield from _one("index", file, {})


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


def _one(kind: str, file: Path, signed: dict[str, Any]) -> Iterator[Symptom]:
    if not is_held(file):
        return
    known = lock_holders(file) or []
    here = signed.get("host") in (None, socket.gethostname())
    if not known and here and isinstance(signed.get("pid"), int):
        known = [signed["pid"]]
    who = ", ".join(f"process {process}" for process in known) or "a process that the system does not name"
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
            f"The lock is held by {who}, which is stopped",
            _WHY[kind],
            "Continue the process, or end it; the system gives the lock back when it ends",
            f"kill -CONT {stopped[0]}",
        )
    else:
        yield Symptom(
            f"{kind}_held",
            False,
            str(file),
            f"The lock is held by {who}",
            _WHY[kind],
            "Nothing, if that process is at work; look again in a while",
            f"ps -p {known[0]}" if known else "",
        )


def _signed(folder: Path) -> dict[str, Any]:
    """Who took the writers' lock last, as it said itself."""
    try:
        found = json.loads((folder / lock.HOLDER_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
