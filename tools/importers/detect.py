"""Which formats there are, and which one a file is written in.

The order of ``FORMATS`` is the order of asking: the more particular a format's marks are, the earlier it
stands. LongMemEval stands before LoCoMo (both are JSON lists, and its records have marks of their own). Markdown and
plain text have no marks, since anything is text: a file whose beginning says nothing is known by its suffix.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from worlddb import InputError
from worlddb.tools.importers import documents, input_files, jsonlines, locomo, longmemeval, markdown
from worlddb.tools.importers.conversation import AS_WRITTEN, Heard, Reading, Source
from worlddb.tools.importers.input_files import Place, malformed, shown

AUTO: Final = "auto"

_BUNDLE: Final = b"worlddb-bundle "
_EXPORTED_LINES: Final = b'{"kind":"export","format":"worlddb-jsonl'
"""What the files begin with that `worlddb export` writes: they hold worlds, not conversations."""
_HEAD_BYTES: Final = 1 << 20
_SPACE: Final = b" \t\r\n"
_SHOWN_FIELDS: Final = 5
_SHOWN_BYTES: Final = 200
"""How much is told of a file that is in no known format."""


class Format(msgspec.Struct, frozen=True):
    """A format: its name as ``--format`` takes it, a line for people, how it is recognised and read.

    ``recognises`` is given the file's first megabyte, decompressed, without byte order mark and leading
    blanks. ``load`` reads the whole file and raises ``MalformedFile`` where it breaks the format. ``load_as`` does
    so as it is told to, where the conversation has no name of its own and is known by the file's stem. ``suffixes``
    are those by which a file is known whose beginning says nothing, since anything is text.
    """

    name: str
    title: str
    recognises: Callable[[bytes], bool]
    load: Callable[[Path, Heard | None], Source]
    load_as: Callable[[Path, Heard | None, Reading], Source] | None = None
    suffixes: tuple[str, ...] = ()


def _never(head: bytes) -> bool:
    """Of a format that has no marks: the file's name says it, or the caller."""
    return False


FORMATS: Final = (
    Format(longmemeval.NAME, "LongMemEval: JSON with haystack_sessions", longmemeval.recognises, longmemeval.load),
    Format(locomo.NAME, "LoCoMo: JSON with session_N and session_N_date_time", locomo.recognises, locomo.load),
    Format(
        jsonlines.NAME,
        'JSON Lines of {"speaker", "text", "at", "session"}',
        jsonlines.recognises,
        jsonlines.load,
        jsonlines.load,
    ),
    Format(markdown.NAME, "Markdown: .md", _never, markdown.load, markdown.load, markdown.SUFFIXES),
    Format(documents.NAME, "plain text: .txt", _never, documents.load, documents.load, documents.SUFFIXES),
)


def format_of(path: Path, name: str = AUTO) -> Format:
    """The format of that name, or with "auto" the first one that recognises the file's beginning.

    Raises:
        InputError: there is no format of that name, or the file cannot be read.
        MalformedFile: no format recognises the file, or its compression is damaged.
    """
    if name != AUTO:
        for each in FORMATS:
            if each.name == name:
                return each
        raise InputError(f"There is no format {name!r}", f"Formats are {AUTO} and {_listed()}")
    head, is_whole = _head(path)
    _refuse_export(path, head)
    for each in FORMATS:
        if each.recognises(head):
            return each
    suffix = input_files.suffix(path)
    for each in FORMATS:
        if head and suffix in each.suffixes:
            return each
    if not head:
        raise malformed(Place(path), "it is empty", "Leave it out")
    told = f"it is in none of the known formats, but holds {_held(head, is_whole)}"
    raise malformed(Place(path), told, f"Known formats are {_listed()}; name its format if it is one of them")


def _head(path: Path) -> tuple[bytes, bool]:
    """The first megabyte of a file without byte order mark and leading blanks, and whether that is all of it."""
    with input_files.opened(path) as stream:
        begun = stream.read(_HEAD_BYTES)
        is_whole = not stream.read(1)
    return begun.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE), is_whole


def _refuse_export(path: Path, head: bytes) -> None:
    """Say how worlds that were exported come into a store: as what they were, not as a conversation about them."""
    if head.startswith(_BUNDLE):
        raise malformed(
            Place(path),
            "it is a bundle, which holds worlds of a store and no conversation",
            "Take it in with `worlddb import FILE`, which keeps identifiers, versions and edges",
        )
    if head.startswith(_EXPORTED_LINES):
        raise malformed(
            Place(path),
            "it is an export of a store in JSON Lines, which are for other programs",
            "Export a bundle (`worlddb export --out FILE`) and take that in with `worlddb import FILE`, which keeps"
            " identifiers, versions and edges",
        )


def _held(head: bytes, is_whole: bool) -> str:
    """What a file that nobody recognises begins with, in words. Of one that goes on it is not known what it is."""
    line, goes_on, _ = head.partition(b"\n")
    try:
        if is_whole and (found := _decoded(head)):
            return f"JSON: {_value(found[0])}"
        if goes_on and (found := _decoded(line)):
            return f"lines of which the first is JSON: {_value(found[0])}"
    except RecursionError:
        return "what begins like JSON and is nested too deeply to be read"
    try:
        text = head[:_SHOWN_BYTES].decode("utf-8", "strict" if len(head) <= _SHOWN_BYTES else "ignore")
    except UnicodeError:
        return "bytes that are no text"
    if "\0" in text or not text.strip():
        return "bytes that are no text"
    shown_line = " ".join(text.split("\n", 1)[0].split())
    what = ("what begins like JSON" + (" and is none" if is_whole else "")) if head[:1] in b"{[" else "text"
    return f"{what}, beginning with {shown_line!r:.60}"


def _decoded(given: bytes) -> tuple[object] | None:
    """What is written as JSON, if it is.

    Raises:
        RecursionError: it is nested too deeply.
    """
    try:
        return (msgspec.json.decode(given),)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _value(found: object) -> str:
    if isinstance(found, list):
        told = f"a list of {len(found):,}"
        if not found:
            return told
        return f"{told}, the first of them {'a list' if isinstance(found[0], list) else _value(found[0])}"
    if not isinstance(found, dict):
        return f"no object, but {found!r:.40}"
    names = ", ".join(f"{name!r:.40}" for name in [*found][:_SHOWN_FIELDS])
    return f"an object with the fields {names}" if names else "an object without fields"


def load(
    path: Path, format: str = AUTO, heard: Heard | None = None, reading: Reading = AS_WRITTEN
) -> tuple[Format, Source]:
    """The file's format and the file, read to its end and found sound.

    Raises:
        InputError: a conversation is named, and the format has names of its own for its conversations; and as
            :func:`format_of` and the format's ``load``.
    """
    found = format_of(path, format)
    if format == jsonlines.NAME:
        _refuse_export(path, _head(path)[0])
    if found.load_as is not None:
        return found, found.load_as(path, heard, reading)
    if reading.conversation is not None:
        raise InputError(
            f"{shown(path)} is {found.title}, whose conversations have names of their own",
            "Take it in without naming the conversation",
        )
    return found, found.load(path, heard)


def _listed() -> str:
    return "; ".join(f"{each.name} ({each.title})" for each in FORMATS)
