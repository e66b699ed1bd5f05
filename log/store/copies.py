"""The copies that a store has made elsewhere, which the receipt of an erasure names.

One JSON object a line in ``copies.jsonl``. It is a help for people and no part of the log: nothing is decided by it,
and copies that were made by other means are not in it.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from worlddb.log.model.errors import InputError

COPIES_FILE: Final = "copies.jsonl"

BACKUP: Final = "backup"
"""The kind of copy that is brought up to date again and again."""


class Copy(msgspec.Struct, frozen=True):
    """A copy of the commits up to ``seq``, made when the store's last commit was ``head``."""

    kind: str
    path: str
    seq: int
    head: int


_DECODER: Final = msgspec.json.Decoder(Copy)


def refuse_inside(folder: Path, target: Path) -> None:
    """Refuse a copy that would go into the directory of the store itself.

    An erasure has to find everything there.

    Raises:
        InputError: it would, or it is no path.
    """
    try:
        is_inside = folder.resolve() in target.resolve().parents
    except ValueError as error:
        raise InputError(f"{str(target)!r} is not a path: {error}", "Name a directory") from None
    if is_inside:
        raise InputError(f"{target} lies inside the store {folder} itself", "Name a place outside of the store")


def note_copy(folder: Path, copy: Copy) -> None:
    """Remember a copy, as far as the directory can be written to."""
    with suppress(OSError):
        descriptor = os.open(folder / COPIES_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, msgspec.json.encode(copy) + b"\n")
        finally:
            os.close(descriptor)


def noted_copies(folder: Path) -> list[Copy]:
    """List the copies that were remembered, in the order in which they were made.

    A backup is listed as it was last.
    """
    try:
        lines = (folder / COPIES_FILE).read_bytes().splitlines()
    except OSError:
        return []
    found: list[Copy] = []
    for line in lines:
        with suppress(msgspec.MsgspecError):
            found.append(_DECODER.decode(line))
    # A backup that was brought up to date has had the erasures that came before.
    newest = {(copy.path if copy.kind == BACKUP else copy): copy for copy in found}
    return list(newest.values())
