"""Record a process's file operations by a preloaded library, and read the trace."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

_SOURCE = Path(__file__).with_name("recorder.c")
_HEAD = struct.Struct("=IIIIQQ")
RECORDING_SECONDS = 120


class Kind(IntEnum):
    """The kind of an operation; the numbers are those of ``recorder.c``."""

    CREATE = 1
    WRITE = 2
    WRITE_THROUGH = 3
    LENGTH = 4
    SYNC = 5
    SYNC_FOLDER = 6
    RENAME = 7
    LINK = 8
    UNLINK = 9
    MKDIR = 10
    RMDIR = 11


LEFT_OUT = frozenset({"indexes", "lock.mdb"})
"""What is as well deleted after a crash. The text index is renamed into place by calls that no library sees, and LMDB
begins its lock file anew."""

SYNCS = frozenset({Kind.WRITE_THROUGH, Kind.SYNC, Kind.SYNC_FOLDER})
"""What makes something last."""


class Operation(NamedTuple):
    """One recorded operation; paths are below the folder, ``file`` numbers an open file."""

    kind: Kind
    path: str
    other: str
    file: int
    offset: int
    data: bytes


def unavailable_reason() -> str:
    """Why this machine cannot record; empty if it can."""
    if not sys.platform.startswith("linux"):
        return "a library is preloaded by LD_PRELOAD, which is known to work on Linux"
    return "" if shutil.which("cc") else "there is no C compiler (cc) to make the recording library with"


def record(function: str, folder: Path, into: Path) -> None:
    """Call a function (``module:name``) with a new folder in a process, and record what it does."""
    library = into.with_name("recorder.so")
    command = ["cc", "-O1", "-Wall", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True, timeout=RECORDING_SECONDS)
    folder.mkdir()
    environment = {"LD_PRELOAD": str(library), "RECORD_BELOW": str(folder), "RECORD_INTO": str(into)}
    module, _, name = function.partition(":")
    call = f"import sys; from {module} import {name}; {name}(*sys.argv[1:])"
    subprocess.run(
        [sys.executable, "-c", call, str(folder)],
        check=True,
        timeout=RECORDING_SECONDS,
        env=os.environ | environment,
        cwd=Path(__file__).parents[4],
    )


def read(trace: Path, folder: Path) -> list[Operation]:
    """The operations in a trace of what was done in a folder, but for what is left out."""
    stored = trace.read_bytes()
    found: list[Operation] = []
    at = 0
    while at < len(stored):
        kind, path_bytes, other_bytes, data_bytes, file, offset = _HEAD.unpack_from(stored, at)
        at += _HEAD.size
        parts = []
        for count in (path_bytes, other_bytes, data_bytes):
            parts.append(stored[at : at + count])
            at += count
        path, other = (os.path.relpath(part.decode(), folder) if part else "" for part in parts[:2])
        if LEFT_OUT.isdisjoint(path.split("/")):
            found.append(Operation(Kind(kind), path, other, file, offset, parts[2]))
    assert at == len(stored), "the trace is cut short"
    return found


def write(operations: Sequence[Operation], trace: Path, folder: Path) -> None:
    """Write operations as a trace, as if they had been recorded."""
    with open(trace, "wb") as file:
        for one in operations:
            path, other = (os.fsencode(folder / name) if name else b"" for name in (one.path, one.other))
            file.write(_HEAD.pack(one.kind, len(path), len(other), len(one.data), one.file, one.offset))
            file.write(path + other + one.data)
