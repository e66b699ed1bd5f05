"""Traces of a text in the files of a store."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_LOOKS = 20


def find_traces(folder: Path, texts: Iterable[str]) -> list[str]:
    """The texts found in any file below a folder, as they are or in lower case, and the files.

    Processes that have the store open make, rename and delete files meanwhile: one that is gone holds nothing, and as
    long as new ones have come, it looks again at those.
    """
    sought = sorted({form.encode() for text in texts for form in (text, text.lower())})
    looked_at: set[Path] = set()
    found: list[str] = []
    for _ in range(_LOOKS):
        new = _files(folder) - looked_at
        if not new:
            break
        looked_at |= new
        for file in sorted(new):
            try:
                stored = file.read_bytes()
            except FileNotFoundError:
                continue
            found.extend(f"{file.relative_to(folder)}: {text.decode()}" for text in sought if text in stored)
    return sorted(found)


def _files(folder: Path) -> set[Path]:
    """Every file but LMDB's lock file: a process that closes it lets go of the locks that it has through it, and it
    holds no texts."""
    walked = (Path(below, name) for below, _, names in os.walk(folder) for name in names)
    return {file for file in walked if file.name != "lock.mdb"}
