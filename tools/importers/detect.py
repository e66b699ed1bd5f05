"""The formats of input files, and the detection of a file's format.

``FORMATS`` is in the order of asking: the more specific the marks of a format, the earlier it stands. Exports of chats
are known by the fields of their first record. LongMemEval comes before LoCoMo (both are JSON lists, and its records
have marks of their own). Markdown and plain text have no marks, since anything is text: they are detected by suffix.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from worlddb import InputError
from worlddb.tools.importers import (
    chat_exports,
    conversation,
    documents,
    input_files,
    jsonlines,
    locomo,
    longmemeval,
    markdown,
)

AUTO: Final = "auto"

_BUNDLE: Final = b"worlddb-bundle "
_EXPORTED_LINES: Final = b'{"kind":"export","format":"worlddb-jsonl'
"""First bytes of exported files, which hold worlds instead of conversations."""
_HEAD_BYTES: Final = 1 << 20
_SPACE: Final = b" \t\r\n"
_SHOWN_FIELDS: Final = 5
_SHOWN_BYTES: Final = 200
"""Bytes quoted from a file in an unknown format."""


class Format(msgspec.Struct, frozen=True):
    """A file format: its name for ``--format``, a title, and how it is detected and read.

    ``recognises`` is given the first megabyte of the file, decompressed, without byte order mark and leading blanks.
    ``load`` reads the whole file and raises ``MalformedFile`` where it breaks the format. ``load_as`` does so with
    options, for formats whose conversation is named by the file's stem. ``suffixes`` detect a file whose content has no
    marks. With ``shared`` several files may be of one conversation, since its sessions have ids of their own.
    """

    name: str
    title: str
    recognises: Callable[[bytes], bool]
    load: Callable[[Path, conversation.TurnsRead | None], conversation.Source]
    load_as: Callable[[Path, conversation.TurnsRead | None, conversation.ReadOptions], conversation.Source] | None = (
        None
    )
    suffixes: tuple[str, ...] = ()
    shared: bool = False


def _recognises_nothing(head: bytes) -> bool:
    """Recognise nothing: the format has no marks, so its suffix or the caller names it."""
    return False


FORMATS: Final = (
    *(
        Format(each.name, each.title, each.recognises, each.load, each.load, shared=bool(each.account))
        for each in chat_exports.EXPORTS
    ),
    Format(longmemeval.NAME, "LongMemEval: JSON with haystack_sessions", longmemeval.recognises, longmemeval.load),
    Format(locomo.NAME, "LoCoMo: JSON with session_N and session_N_date_time", locomo.recognises, locomo.load),
    Format(
        jsonlines.NAME,
        'JSON Lines of {"speaker", "text", "at", "session"}',
        jsonlines.recognises,
        jsonlines.load,
        jsonlines.load,
    ),
    Format(markdown.NAME, "Markdown: .md", _recognises_nothing, markdown.load, markdown.load, markdown.SUFFIXES),
    Format(documents.NAME, "plain text: .txt", _recognises_nothing, documents.load, documents.load, documents.SUFFIXES),
)


def format_of(path: Path, name: str = AUTO) -> Format:
    """Return the format of a name, or with "auto" the first that recognises the file.

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
        raise input_files.malformed_error(input_files.Place(path), "it is empty", "Leave it out")
    problem = f"it has none of the known formats; it contains {_describe_content(head, is_whole)}"
    raise input_files.malformed_error(
        input_files.Place(path), problem, f"Known formats are {_listed()}; if it has one of them, name it with --format"
    )


def is_empty(path: Path) -> bool:
    """Return whether a file has nothing but blanks."""
    return not _head(path)[0]


def _head(path: Path) -> tuple[bytes, bool]:
    """Return the first megabyte without leading blanks, and whether that is everything."""
    with input_files.open_decompressed(path) as stream:
        head = stream.read(_HEAD_BYTES)
        is_whole = not stream.read(1)
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE), is_whole


def _refuse_export(path: Path, head: bytes) -> None:
    """Refuse exported worlds, with the way to import them as worlds."""
    if head.startswith(_BUNDLE):
        raise input_files.malformed_error(
            input_files.Place(path),
            "it is a bundle, which has worlds of a store, not a conversation",
            "Import it with `worlddb import FILE`, which keeps identifiers, versions and edges",
        )
    if head.startswith(_EXPORTED_LINES):
        raise input_files.malformed_error(
            input_files.Place(path),
            "it is an export of a store in JSON Lines, which are for other programs",
            "Export a bundle (`worlddb export --out FILE`) and import it with `worlddb import FILE`, which keeps"
            " identifiers, versions and edges",
        )


def _describe_content(head: bytes, is_whole: bool) -> str:
    """Describe the content of a file in an unknown format."""
    line, goes_on, _ = head.partition(b"\n")
    try:
        if is_whole and (found := _decode_json(head)):
            return f"JSON: {_value(found[0])}"
        if goes_on and (found := _decode_json(line)):
            return f"lines, the first one JSON: {_value(found[0])}"
    except RecursionError:
        return "something like JSON that is nested too deeply"
    try:
        text = head[:_SHOWN_BYTES].decode("utf-8", "strict" if len(head) <= _SHOWN_BYTES else "ignore")
    except UnicodeError:
        return "bytes that are not text"
    if "\0" in text or not text.strip():
        return "bytes that are not text"
    shown_line = " ".join(text.split("\n", 1)[0].split())
    what = ("something like JSON" + (" that is not valid" if is_whole else "")) if head[:1] in b"{[" else "text"
    return f"{what}, beginning with {shown_line!r:.60}"


def _decode_json(given: bytes) -> tuple[object] | None:
    """Decode JSON; None if it is not JSON.

    Raises:
        RecursionError: it is nested too deeply.
    """
    try:
        return (msgspec.json.decode(given),)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _value(found: object) -> str:
    if isinstance(found, list):
        text = f"a list of {len(found):,}"
        if not found:
            return text
        return f"{text}, the first of them {'a list' if isinstance(found[0], list) else _value(found[0])}"
    if not isinstance(found, dict):
        return f"{found!r:.40}, not an object"
    names = ", ".join(f"{name!r:.40}" for name in [*found][:_SHOWN_FIELDS])
    return f"an object with the fields {names}" if names else "an object without fields"


def load(
    path: Path,
    format: str = AUTO,
    turns_read: conversation.TurnsRead | None = None,
    reading: conversation.ReadOptions = conversation.DEFAULT_READING,
) -> tuple[Format, conversation.Source]:
    """Detect and read a file; returns its format and its checked source.

    Raises:
        InputError: a conversation is named, and the format has names of its own for its conversations; and as
            :func:`format_of` and the format's ``load``.
    """
    found = format_of(path, format)
    if format == jsonlines.NAME:
        _refuse_export(path, _head(path)[0])
    if found.load_as is not None:
        return found, found.load_as(path, turns_read, reading)
    if reading.conversation is not None:
        raise InputError(
            f"{input_files.printable(path)} is {found.title}, whose conversations have their own names",
            "Import it without naming the conversation",
        )
    return found, found.load(path, turns_read)


def _listed() -> str:
    return "; ".join(f"{each.name} ({each.title})" for each in FORMATS)
