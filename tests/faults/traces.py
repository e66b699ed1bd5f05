"""What is left of a text in the files of a store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def traces(folder: Path, texts: Iterable[str]) -> list[str]:
    """Which of the texts stand in any file below a folder, as they are or in small letters, and in which."""
    sought = {form.encode() for text in texts for form in (text, text.lower())}
    found: list[str] = []
    for file in sorted(folder.rglob("*")):
        # A process that closes LMDB's lock file lets go of the locks that it has through it, and it holds no texts.
        if file.is_file() and file.name != "lock.mdb":
            stored = file.read_bytes()
            found.extend(f"{file.relative_to(folder)}: {text.decode()}" for text in sorted(sought) if text in stored)
    return found
