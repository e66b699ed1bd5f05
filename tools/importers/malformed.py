"""One way to say what is wrong with a file: which file, record and path inside it, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from worlddb import InputError, MalformedFile

Given = TypeVar("Given")
Made = TypeVar("Made")

_PLACE: Final = re.compile(r"(?P<what>.*) - at `(?P<path>\$.*)`", re.DOTALL)


class Place(msgspec.Struct, frozen=True):
    """Where in a file something stands.

    ``record`` counts as the format counts: conversations from 0, lines from 1; ``unit`` is the word for it.
    ``path`` is a JSON path.
    """

    file: Path
    unit: str = "record"
    record: int | None = None
    path: str = "$"

    @property
    def shown(self) -> str:
        """The file as a message can carry it: a name on disk need not be valid Unicode."""
        return shown(self.file)

    def at(self, path: str) -> Place:
        """The same record, another path."""
        return Place(self.file, self.unit, self.record, path)


def malformed(place: Place, what: str, remedy: str = "") -> MalformedFile:
    """The error to raise; ``details`` holds ``file``, ``record`` and ``path``."""
    where = place.shown
    if place.record is not None:
        where += f", {place.unit} {place.record}, at `{place.path}`"
    elif place.path != "$":
        where += f", at `{place.path}`"
    return MalformedFile(
        f"{where}: {what}",
        remedy or "Correct the file and import it again; nothing was written from it",
        file=place.shown,
        record=place.record,
        path=place.path,
    )


def shown(path: Path) -> str:
    """The path as text that can be printed and stored."""
    return str(path).encode(errors="backslashreplace").decode()


def judged(place: Place, judge: Callable[[], Made]) -> Made:
    """What ``judge`` returns; an ``InputError`` that it raises is told again with its place in the file."""
    try:
        return judge()
    except MalformedFile:
        raise
    except InputError as error:
        raise malformed(place, error.message, error.remedy) from None


def decoded(place: Place, decode: Callable[[Given], Made], given: Given) -> Made:
    """What ``decode`` (a decoding or conversion by msgspec) makes of what is given.

    Raises:
        MalformedFile: with the path that msgspec names, below that of ``place``.
    """
    try:
        return decode(given)
    except RecursionError:
        raise malformed(place, "it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise malformed(place, f"it is not valid UTF-8: {error.reason}") from None
    except msgspec.MsgspecError as error:
        found = _PLACE.fullmatch(str(error))
        if found is None:
            raise malformed(place, str(error)) from None
        raise malformed(place.at(place.path + found["path"][1:]), found["what"]) from None
