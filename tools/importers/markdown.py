"""Markdown: headings become worlds inside worlds, the blocks below them their members.

A paragraph, a list item, a quotation, a table and a code block are one member each, as they were written. Front matter,
between two lines of ``---`` at the top, may have a ``title``, which names the document, and a ``date``, from which
everything in it is valid. A heading that begins with a date (``## 2024-05-01``) dates its section instead. Dates are
ISO 8601; a time needs an offset. Undated text is valid from its import on. Rules and link definitions are not text. A
first heading of level 1 that repeats the name of the document, from its file or front matter, is no world of its own:
what stands below it stands in the document.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from worlddb import InvalidTime, parse_time
from worlddb.tools.importers import conversation, documents, input_files

NAME: Final = "markdown"
"""Part of every record's key: changing it would import everything a second time."""
SUFFIXES: Final = (".md", ".markdown")

MAX_DEPTH: Final = 64
"""Nesting of lists and quotations; deeper ones are read as plain text."""
_FENCE: Final = "---"
_FIELD: Final = re.compile(r"(?P<name>[A-Za-z_][\w-]*)\s*:\s*(?P<value>.*)")
_DATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?!\S)")
_OFFSET: Final = re.compile(r"\s+(?=[+-]\d{2}:?\d{2}$)")


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


class _Front(NamedTuple):
    """Title and date of the front matter, and how many lines it takes."""

    title: str
    at: int | None
    lines: int


def load(
    path: Path,
    turns_read: conversation.TurnsRead | None = None,
    reading: conversation.Reading = conversation.DEFAULT_READING,
) -> documents.Document:
    """Read the file as a document.

    Raises:
        MalformedFile: it is not text in UTF-8, its date is none, or a piece of it is too long; the line is named.
        InputError: the file cannot be read.
    """
    name = documents.name_of(path, reading)
    lines = documents.text_of(path).split("\n")
    front = _front_matter(path, lines)
    called, pieces = front.title or name, list(_pieces(lines, front.lines))
    title = _title(pieces, called)
    begins = _heading_date(path, title) if title is not None and front.at is None else front.at
    blocks = [documents.Block(kind=documents.DOCUMENT, name=called, parent=-1, key=(), at=begins, line=1)]
    blocks += _blocks(path, front, pieces, title)
    if turns_read is not None:
        turns_read(sum(block.kind == documents.PARAGRAPH for block in blocks))
    return documents.Document(
        NAME, name, input_files.file_name(path), [documents.checked(path, block) for block in blocks]
    )


def _title(pieces: Iterable[_Piece], called: str) -> _Piece | None:
    """Return the first heading if it repeats the name of the document."""
    first = next((piece for piece in pieces if piece.level), None)
    return first if first is not None and first.level == 1 and _folded(first.text) == _folded(called) else None


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _blocks(path: Path, front: _Front, pieces: Iterable[_Piece], title: _Piece | None) -> Iterator[documents.Block]:
    """Yield sections and paragraphs, each with the open section above it."""
    opened = [_Section(0, 0, (), front.at)]
    paragraphs: Counter[tuple[str, ...]] = Counter()
    headings: Counter[tuple[str, ...]] = Counter()
    for place, piece in enumerate(pieces, 1):
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
            )
            continue
        alike = (*around.way, piece.text)
        way = (*around.way, f"{piece.text}#{headings[alike]}")
        headings[alike] += 1
        begins = _heading_date(path, piece)
        section = _Section(piece.level, place, way, around.at if begins is None else begins)
        opened.append(section)
        yield documents.Block(
            kind=documents.SECTION,
            name=piece.text,
            parent=around.place,
            key=way,
            at=section.at,
            line=piece.line,
            is_title=piece is title,
        )


def _pieces(lines: list[str], skipped: int) -> Iterator[_Piece]:
    """Yield the headings and the blocks between them, in file order."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_DEPTH}).enable("table").disable(["inline", "text_join"])
    tokens = parser.parse("\n".join(lines[skipped:]))
    for place, token in enumerate(tokens):
        if token.map is None:
            continue
        first, last = (skipped + line for line in token.map)
        if token.type == "heading_open" and token.level == 0:
            text = " ".join(tokens[place + 1].content.split())
            if text:
                yield _Piece(int(token.tag[1:]), first + 1, text)
        elif _is_piece(token):
            text = "\n".join(lines[first:last]).strip("\n").rstrip()
            if text.strip():
                yield _Piece(0, first + 1, text)


_WHOLE: Final = ("paragraph_open", "blockquote_open", "table_open", "fence", "code_block", "html_block")


def _is_piece(token: Token) -> bool:
    """True for what becomes one world: an item of an outermost list, or an outermost block."""
    return token.type == "list_item_open" and token.level == 1 if token.level else token.type in _WHOLE


def _front_matter(path: Path, lines: list[str]) -> _Front:
    """Parse title and date of the front matter; dashes around anything but fields are text."""
    if lines[0].rstrip() != _FENCE:
        return _Front("", None, 0)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in (_FENCE, "...")), None)
    if end is None:
        return _Front("", None, 0)
    title, at = "", None
    found = [_FIELD.fullmatch(line.rstrip()) for line in lines[1:end]]
    if not any(found):
        return _Front("", None, 0)
    for number, field in enumerate(found, 2):
        if field is None:
            continue
        value = field["value"].strip().strip("\"'")
        if field["name"] == "title":
            title = value
        elif field["name"] == "date" and value:
            at = _date(input_files.Place(path, "line", number, "$.date"), value)
    return _Front(title, at, end + 1)


def _heading_date(path: Path, heading: _Piece) -> int | None:
    found = _DATED.match(heading.text)
    return None if found is None else _date(input_files.Place(path, "line", heading.line), found[0])


def _date(place: input_files.Place, text: str) -> int:
    """Convert a date to microseconds; also one such as ``2024-05-01 10:00:00 +0200``."""

    def parse() -> int:
        try:
            return parse_time(_OFFSET.sub("", text), "the date")
        except InvalidTime as error:
            raise InvalidTime(error.message, "Write 2024-05-01, or 2024-05-01T10:00:00+02:00") from None

    return input_files.with_place(place, parse)
