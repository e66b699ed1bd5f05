"""Disk syncs per write, counted by ``strace``."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench._peers.child import MARK
from bench._peers.processes import Process, Refused

WRITES: Final = 10
_SYNCS: Final = ("fsync", "fdatasync", "msync", "sync_file_range", "syncfs", "sync")
_WRITES: Final = ("write", "pwrite64", "writev", "pwritev", "pwritev2")
_OTHERS: Final = ("open", "openat", "close", "access", "faccessat", "faccessat2")
_CALL: Final = re.compile(r"^\d+ +(\w+)\((-?\d*)")
_OPENED: Final = re.compile(r"O_D?SYNC.* = (\d+)$")


def syncs_per_write(name: str, folder: Path) -> float | None:
    """Calls that return once data is on the disk, for each write of a peer; ``None`` where there is no ``strace``.

    What a write without any has left is lost if the power goes before the system puts it on the disk by itself.
    """
    strace = shutil.which("strace")
    if strace is None:
        return None
    log = folder.with_suffix(".strace")
    calls = ",".join(f"?{call}" for call in (*_SYNCS, *_WRITES, *_OTHERS))
    try:
        with Process(name, folder, [strace, "-f", "-qq", "-o", str(log), "-e", f"trace={calls}"]) as traced:
            traced.ready()
            traced.write({"first": "The first write does what is done only once."})
            traced.write({f"traced {number}": f"This is text {number}." for number in range(WRITES)})
    except (Refused, subprocess.TimeoutExpired):  # A system may forbid to look.
        return None
    return round(count_syncs(log.read_text(errors="replace").splitlines()) / WRITES, 2)


def count_syncs(lines: Iterable[str]) -> int:
    """How many calls between the last two marks sync, or write to a file that was opened in step with the disk."""
    in_step: set[str] = set()
    since_mark = found = 0
    for line in lines:
        called = _CALL.match(line)
        if MARK in line:
            since_mark, found = 0, since_mark
        elif called is None:
            continue
        elif called[1] in _SYNCS or (called[1] in _WRITES and called[2] in in_step):
            since_mark += 1
        elif called[1] == "close":
            in_step.discard(called[2])
        elif opened := _OPENED.search(line):
            in_step.add(opened[1])
    return found
