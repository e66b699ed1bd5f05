"""Markdown: headings become worlds inside worlds, the blocks below them their members.

A paragraph, a list item, a quotation, a table and a code block are one member each, as they were written. Front matter,
between two lines of ``---`` at the top, may have a ``title``, which names the document, and a ``date``, from which
everything in it is valid; without one, a file's name that begins with a date dates it. A heading that begins with a
date (``## 2024-05-01``) dates its section instead. Dates are ISO 8601. A time in front matter may have an offset or the
name of a zone, else it is one of the field ``timezone`` or of UTC; a year or a month is valid from its beginning on.
Undated text is valid from its import on. ``tags`` and ``aliases`` are the document's, its other fields are properties
of it, and together its first paragraph. ``[[Name]]``, ``[[Name|shown]]`` and ``[[Name#Heading]]`` link to the document
of that name. Rules
and link definitions are not text. A first heading of level 1 that repeats the name of the document, from its file or
front matter, is no world of its own: what stands below it stands in the document.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

from worlddb import MAX_CONTENT_BYTES, InvalidTime, LimitExceeded, MalformedFile, parse_time
from worlddb.tools.importers import conversation, documents, input_files

NAME: Final = "markdown"
"""Part of every record's key: changing it would import everything a second time."""
SUFFIXES: Final = (".md", ".markdown")

MAX_DEPTH: Final = 64
"""Nesting of lists and quotations; deeper ones are read as plain text."""
MAX_FRONT_LINES: Final = 10_000
"""Lines in which front matter must end."""
WINDOW_WEIGHT: Final = 20_000
MAX_BLOCK_WEIGHT: Final = 160_000
"""About the tokens that a window and the largest block may make: 20,000 lines of a list, 80,000 of code."""
_MARKS: Final = re.compile(r"[\s>*+\-\d.)]*+")
"""What may open blocks inside one another."""
_FENCE: Final = "---"
_OWN_FIELDS: Final = ("title", "date")
"""Fields that the document has as its name and its beginning."""
_TAGS: Final = ("tags", "tag")
_ALIASES: Final = ("aliases", "alias")
_QUOTES: Final = "\"'"
_FIELD: Final = re.compile(r"(?P<name>[A-Za-z_][\w-]*)\s*:\s*(?P<value>.*)")
_DATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?!\S)")
_LINK: Final = re.compile(r"\[\[([^\[\]|#^\n]+)(?:[#^|][^\[\]\n]*)?\]\]")
_ITEM: Final = re.compile(r"\s*-(?:\s+(?P<value>.*))?")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_PROPERTY_VALUES: Final = {"true": True, "false": False}
_OFFSET: Final = re.compile(r"\s+(?=[+-]\d{2}:?\d{2}$)")
_ZONES: Final = ("timezone", "tz")
"""Fields that name the zone of a date without one."""
_WHOLE_SPAN: Final = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{2}))?")
_LOCAL: Final = re.compile(
    r"(?P<time>\d{4}-\d{2}-\d{2}[T\s]\s*\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)(?:\s+(?P<zone>[A-Za-z][\w+/-]*))?"
)
"""A time without an offset, or with the name of a zone ("Europe/Berlin")."""


class _Piece(NamedTuple):
    """Lines of the file: a heading with its level, or at level 0 a block below one."""

    level: int
    line: int
    text: str


class _Section(NamedTuple):
    """An open section: its level, its position among the blocks, its path of headings, its date."""

    level: int
    place: int
    way: tuple[str, ...]
    at: int | None


class _FrontMatter(NamedTuple):
    """Title and date of the front matter, its other fields, and how many lines it takes; ``read_as`` is the code of a
    note on how the date was read, if it did not say all."""

    title: str = ""
    at: int | None = None
    lines: int = 0
    fields: documents.Fields | None = None
    read_as: str = ""


def load(
    path: Path,
    turns_read: conversation.TurnsRead | None = None,
    reading: conversation.ReadOptions = conversation.DEFAULT_READING,
) -> documents.Document:
    """Read the file as a document.

    Raises:
        MalformedFile: it is not text in UTF-8, its date is none, or a piece of it is too long; the line is named.
        InputError: the file cannot be read.
    """
    name = documents.name_of(path, reading)
    head = list(islice(_lines(path), MAX_FRONT_LINES))
    front = _front_matter(path, head)
    called = front.title or documents.title_of(path, reading)
    if front.at is None and reading.conversation is None:
        with suppress(MalformedFile):  # A name that only looks like a date is none: "2024-31-07 invoice.md".
            front = front._replace(at=_heading_date(path, 1, called if not front.title else input_files.stem(path)))

    def read() -> Iterator[documents.Block]:
        lines = islice(_lines(path), front.lines, None)
        for block in _blocks(path, front, called, _pieces(path, lines, front.lines)):
            yield documents.check_block(path, block)

    def root(title: documents.Block | None) -> documents.Block:
        dated = None if title is None or front.at is not None else _heading_date(path, title.line, title.name)
        begins = front.at if dated is None else dated
        return documents.Block(
            kind=documents.DOCUMENT, name=called, parent=-1, key=(), at=begins, line=1, fields=front.fields
        )

    made = documents.document_of(path, NAME, name, root, read, turns_read, reading.folder)
    return msgspec.structs.replace(made, left_out={front.read_as: 1}) if front.read_as else made


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text without their ends, and what follows the last one."""
    number, rest = 1, ""
    for piece in documents.text_of(path):
        *lines, rest = (rest + piece).split("\n")
        yield from lines
        number += len(lines)
        if len(rest) > MAX_CONTENT_BYTES:
            place = input_files.Place(path, "line", number)
            raise input_files.malformed_error(place, f"the line has more than {MAX_CONTENT_BYTES:,} bytes", "Divide it")
    yield rest


def _is_title(heading: _Piece, called: str) -> bool:
    """Return whether the first heading repeats the name of the document."""
    return heading.level == 1 and documents.folded(heading.text) == documents.folded(called)


def _links(text: str) -> tuple[str, ...]:
    """Return the names to which a text links, each once."""
    return tuple(dict.fromkeys(filter(None, (each[1].strip() for each in _LINK.finditer(text)))))


def _blocks(path: Path, front: _FrontMatter, called: str, pieces: Iterable[_Piece]) -> Iterator[documents.Block]:
    """Yield sections and paragraphs, each with the open section above it."""
    opened = [_Section(0, 0, (), front.at)]
    first = 1
    if front.fields is not None and front.fields.text:
        first = 2
        yield msgspec.structs.replace(
            documents.FRONT, content=front.fields.text, at=front.at, line=2, links=_links(front.fields.text)
        )
    paragraphs: Counter[tuple[str, ...]] = Counter()
    headings: Counter[tuple[str, ...]] = Counter()
    for place, piece in enumerate(pieces, first):
        while piece.level and opened[-1].level >= piece.level:
            opened.pop()
        around = opened[-1]
        if not piece.level:
            key = (*around.way, paragraphs[around.way])
            paragraphs[around.way] += 1
            yield documents.Block(
                kind=documents.PARAGRAPH,
                content=piece.text,
                parent=around.place,
                key=key,
                at=around.at,
                line=piece.line,
                links=_links(piece.text),
            )
            continue
        is_title = not headings and _is_title(piece, called)
        alike = (*around.way, piece.text)
        way = (*around.way, f"{piece.text}#{headings[alike]}")
        headings[alike] += 1
        begins = _heading_date(path, piece.line, piece.text)
        section = _Section(piece.level, place, way, around.at if begins is None else begins)
        opened.append(section)
        yield documents.Block(
            kind=documents.SECTION,
            name=" ".join(piece.text.split()),
            parent=around.place,
            key=way,
            at=section.at,
            line=piece.line,
            is_title=is_title,
        )


def _pieces(path: Path, lines: Iterator[str], skipped: int) -> Iterator[_Piece]:
    """Yield the headings and the blocks between them, in file order.

    A parser makes many tokens of few bytes, so it is given a window of the lines, up to a block that begins anew.

    Raises:
        LimitExceeded: a block does not end within the largest window.
    """
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_DEPTH}).enable("table").disable(["inline", "text_join"])
    window: list[str] = []
    weight, most, is_more = 0, WINDOW_WEIGHT, True
    while is_more:
        while weight < most:
            line = next(lines, None)
            if line is None:
                is_more = False
                break
            if not window and not line.strip(" \t"):
                skipped += 1
                continue
            window.append(line)
            weight += _estimated_tokens(line)
        tokens = parser.parse("\n".join(window))
        cut = _last_block_start(tokens, window) if is_more else len(window)
        if not cut and is_more:
            most *= 2
            if most > MAX_BLOCK_WEIGHT:
                raise LimitExceeded(
                    f"{input_files.printable(path)}, line {skipped + 1}: a block has more than {len(window):,} lines",
                    "Split it with a heading",
                )
            continue
        yield from _of_tokens(tokens, window, cut, skipped)
        skipped += cut
        window = window[cut:]
        weight, most = sum(map(_estimated_tokens, window)), WINDOW_WEIGHT


def _estimated_tokens(line: str) -> int:
    """Return about how many tokens a line makes, or as many as it may make, and something for its length."""
    marks = _MARKS.match(line)
    return 2 + 3 * (marks.end() if marks else 0) + 3 * line.count("|") + len(line) // 100


def _last_block_start(tokens: list[Token], window: list[str]) -> int:
    """Return the last line at which a block begins that no other can go on into; 0 if there is none.

    What stands before such a line is taken apart the same way whatever follows, and so is what follows.
    """
    for token in reversed(tokens):
        if token.level == 0 and token.map is not None and token.map[0]:
            is_heading = token.type == "heading_open" and token.markup.startswith("#")
            if is_heading or not window[token.map[0] - 1].strip(" \t"):
                return int(token.map[0])
    return 0


def _of_tokens(tokens: list[Token], window: list[str], cut: int, skipped: int) -> Iterator[_Piece]:
    for place, token in enumerate(tokens):
        if token.map is None or token.map[0] >= cut:
            continue
        first, last = token.map
        if token.type == "heading_open" and token.level == 0:
            text = " ".join(tokens[place + 1].content.split())
            if text:
                yield _Piece(int(token.tag[1:]), skipped + first + 1, text)
        elif _is_piece(token):
            text = "\n".join(window[first:last]).strip("\n").rstrip()
            if text.strip():
                yield _Piece(0, skipped + first + 1, text)


_WHOLE: Final = ("paragraph_open", "blockquote_open", "table_open", "fence", "code_block", "html_block")


def _is_piece(token: Token) -> bool:
    """True for what becomes one world: an item of an outermost list, or an outermost block."""
    return token.type == "list_item_open" and token.level == 1 if token.level else token.type in _WHOLE


def _front_matter(path: Path, lines: list[str]) -> _FrontMatter:
    """Parse the fields of the front matter; dashes around anything else are text."""
    if lines[0].rstrip() != _FENCE:
        return _FrontMatter()
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in (_FENCE, "...")), None)
    if end is None or not any(_FIELD.fullmatch(line.rstrip()) for line in lines[1:end]):
        return _FrontMatter()
    title, date, name = "", ("", 0), ""
    read, kept = dict[str, list[str]](), list[str]()
    for number, line in enumerate(lines[1:end], 2):
        field = _FIELD.fullmatch(line.rstrip())
        name = field["name"] if field else name
        value = field["value"].strip() if field else line.strip()
        if name not in _OWN_FIELDS:
            if name not in (*_TAGS, *_ALIASES):
                kept.append(line.rstrip())
            _read_value(read.setdefault(name, []), value, line, is_first=field is not None)
        elif field and name == "title":
            title = value.strip(_QUOTES)
        elif field and value.strip(_QUOTES):
            date = value.strip(_QUOTES).strip("[]"), number
    text = "\n".join(kept).strip("\n")
    fields = _fields(title, text, read) if any(read.values()) else None
    at, read_as = None, ""
    if date[0]:
        zone = next((read[field][0] for field in _ZONES if read.get(field)), "")
        at, read_as = _front_date(input_files.Place(path, "line", date[1], "$.date"), date[0], zone)
    return _FrontMatter(title, at, end + 1, fields, read_as)


def _front_date(place: input_files.Place, text: str, zone: str) -> tuple[int, str]:
    """The beginning that a date in front matter names, and the code of a note if it does not say all of it."""
    if span := _WHOLE_SPAN.fullmatch(text):
        code = "dated_by_month" if span["month"] else "dated_by_year"
        return _date(place, f"{span['year']}-{span['month'] or '01'}-01"), code
    local = _LOCAL.fullmatch(text)
    if local is None:
        return _date(place, text), ""
    named = local["zone"] or zone
    try:
        within = ZoneInfo(named) if named and named not in ("Z", "UTC") else UTC
        moment = datetime.fromisoformat("T".join(re.split(r"[T\s]\s*", local["time"]))).replace(tzinfo=within)
        return _date(place, moment.astimezone(UTC).isoformat()), "" if named else "dated_in_utc"
    except (KeyError, OSError) as error:
        if local["zone"]:
            return _date(place, text), ""
        what = f"the zone {named[:80]!r} of the date {text!r} is not known"
        raise input_files.malformed_error(place, what, "Write Europe/Berlin, or an offset behind the time") from error
    except (ValueError, OverflowError):  # No such time.
        return _date(place, text), ""


def _read_value(values: list[str], value: str, line: str, *, is_first: bool) -> None:
    """Add what a line says of a field to its values: one value, a list in brackets, or an item of a list."""
    if is_first:
        values.clear()
    if is_first and value.startswith("[") and value.endswith("]") and not value.startswith("[["):
        try:
            items = next(csv.reader([value[1:-1]], skipinitialspace=True), [])
        except csv.Error:  # An item is too long for it.
            items = value[1:-1].split(",")
        values.extend(each.strip().strip(_QUOTES) for each in items)
    elif not is_first and (item := _ITEM.fullmatch(line.rstrip())):
        values.append((item["value"] or "").strip().strip(_QUOTES))
    elif value and not value.startswith("#"):
        values.append(value.strip(_QUOTES))


def _fields(title: str, text: str, read: dict[str, list[str]]) -> documents.Fields:
    """Return the properties, labels and aliases of a document."""
    named = {name: list(filter(None, values)) for name, values in read.items() if name}
    tags = [tag for name in _TAGS for value in named.pop(name, []) for tag in re.split(r"[\s,]+", value)]
    aliases = [alias for name in _ALIASES for alias in named.pop(name, [])]
    properties = {
        name: _property(values[0]) if len(values) == 1 else [_property(each) for each in values]
        for name, values in named.items()
        if values
    }
    labels = dict.fromkeys(filter(None, (tag.lstrip("#") for tag in tags)))
    return documents.Fields(
        text, properties, tuple(labels), tuple(each for each in dict.fromkeys(aliases) if each != title)
    )


def _property(value: str) -> Any:
    """Return a value as JSON has it: numbers as numbers, true and false, else the text."""
    if _NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    return _PROPERTY_VALUES.get(value, value)


def _heading_date(path: Path, line: int, heading: str) -> int | None:
    found = _DATED.match(heading)
    return None if found is None else _date(input_files.Place(path, "line", line), found[0])


def _date(place: input_files.Place, text: str) -> int:
    """Convert a date to microseconds; also one such as ``2024-05-01 10:00:00 +0200``."""

    def parse() -> int:
        try:
            return parse_time(_OFFSET.sub("", text), "the date")
        except InvalidTime as error:
            raise InvalidTime(error.message, "Write 2024-05-01, or 2024-05-01T10:00:00+02:00") from None

    return input_files.with_place(place, parse)
