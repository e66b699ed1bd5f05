"""Processes of this machine, as far as the system tells: is one stopped, which locks does it hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

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
    """The processes that hold a lock on a file; ``None`` where the system does not tell, or nobody has the file."""
    try:
        found = os.stat(file)
        lines = (processes / "locks").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    number = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    fields = [line.split() for line in lines if "->" not in line]
    return sorted({int(each[4]) for each in fields if len(each) > 5 and each[5] == number})
