"""The findings of an examination, in words for the person who has to mend them."""

import shlex
from pathlib import Path
from typing import NamedTuple


class Symptom(NamedTuple):
    """Something that was found.

    ``wrong`` if it damages, stops or endangers something, else it is only worth knowing. ``command`` is what mends it,
    as it is typed into a shell; empty if no command does. ``remedy`` says it in words.
    """

    code: str
    wrong: bool
    where: str
    what: str
    why: str
    remedy: str
    command: str = ""


class Diagnosis(NamedTuple):
    """Everything that was found. ``ok`` if nothing of it is wrong.

    ``checked`` names the checks that were made, ``skipped`` those that could not be, each with the reason.
    """

    ok: bool
    store: str
    deep: bool
    checked: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    symptoms: tuple[Symptom, ...]


def on(folder: Path, words: str) -> str:
    """A command line about a store."""
    return f"worlddb --store {quoted(folder)} {words}"


def quoted(path: Path) -> str:
    """A path as it is typed into a shell."""
    return shlex.quote(str(path))


def restored(folder: Path) -> str:
    """Give the command line that makes a store of a backup.

    The new store lies beside one that cannot be trusted any more.
    """
    return f"worlddb restore BACKUP --into {quoted(folder)}.restored"
