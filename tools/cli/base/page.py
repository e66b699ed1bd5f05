"""Pages that commands write for people: the protocol, and the plain page for pipes.

The plain page is aligned text without colour, never cut to a width. The page for terminals is in ``terminal``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple, Protocol, TextIO, TypeAlias

Span: TypeAlias = "str | tuple[str, str]"
"""Text, or text with a style of the terminal page."""

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)
"""Characters that move a terminal's cursor, end a line, reorder text so that it reads as another, or are not seen.

Controls, formats, surrogates, and separators of lines and paragraphs; but no line ends and tabs, and not the two that
shape the characters around them, in Persian and in emoji."""


class Branch(NamedTuple):
    """A node of a tree: its line, notes below the line, and its branches."""

    line: Sequence[Span]
    notes: Sequence[Sequence[Span]]
    branches: Sequence[Branch]


MAX_LEVELS: Final = 16
"""Levels of a tree that are indented. Deeper branches stand at the last one, with the number of their level: lines of
ten thousand levels would hold hundreds of megabytes of blanks."""


def layout_lines(root: Branch) -> Iterator[tuple[Branch, int]]:
    """Yield the branches of a tree in line order, each with its level.

    A branch deeper than :data:`MAX_LEVELS` carries the number of its level in its line.
    """
    pending = [(root, 0)]
    while pending:
        branch, level = pending.pop()
        label: Span = (f"level {level}  ", "dim")
        yield (branch._replace(line=[label, *branch.line]) if level > MAX_LEVELS else branch), level
        pending.extend((below, level + 1) for below in reversed(branch.branches))


class Page(Protocol):
    """The surface on which a command's answer is written."""

    @property
    def width(self) -> int:
        """Width in characters available to a drawing."""

    def line(self, *spans: Span, indent: int = 0) -> None:
        """Write one line; a long one wraps at the terminal's width, below its indent."""

    def fields(self, rows: Iterable[tuple[str, Sequence[Span]]], *, indent: int = 0) -> None:
        """Write names and values in two columns."""

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Span]]) -> None:
        """Write a table; rows are written as they come, however many."""

    def tree(self, root: Branch) -> None:
        """Write a tree with the notes of each node; see :data:`MAX_LEVELS`."""


def visible(text: str) -> str:
    """Escape characters that are not shown, so that remembered text can neither steer a terminal nor hide on it."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_json(document: str) -> str:
    """Escape in a JSON document what :func:`visible` escapes; the document says the same."""
    return _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], document)


def safe_span(span: Span, *, in_a_line: bool = True) -> tuple[str, str]:
    """Return text and style of a span; the text is safe to print.

    What stands in a line cannot end it, as a name could to pass for a line of ours.
    """
    text, style = (span, "") if isinstance(span, str) else span
    return visible(text.replace("\n", "\\n") if in_a_line else text), style


_PAGE_ROWS: Final = 200
"""Rows that set the widths of columns; later rows may be wider."""


DRAWN_WIDTH: Final = 100
"""Width of drawings without a terminal."""


class PlainPage:
    """Writes plain text to a stream, row by row."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def width(self) -> int:
        return DRAWN_WIDTH

    def line(self, *spans: Span, indent: int = 0) -> None:
        self._write(" " * indent + _text(spans))

    def fields(self, rows: Iterable[tuple[str, Sequence[Span]]], *, indent: int = 0) -> None:
        listed = list(rows)
        width = max((len(name) for name, _ in listed), default=0)
        for name, spans in listed:
            first, *more = _text(spans, in_a_line=False).split("\n")
            self._write(f"{'':{indent}}{name:{width}}  {first}")
            for line in more:
                self._write(f"{'':{indent + width}}  {line}")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Span]]) -> None:
        lines = (tuple(_text([span]) for span in row) for row in rows)
        first = list(islice(lines, _PAGE_ROWS))
        widths = [max(map(len, column)) for column in zip(columns, *first, strict=True)]
        for row in chain([tuple(columns)], first, lines):
            cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
            self._write("  ".join(cells))

    def tree(self, root: Branch) -> None:
        for branch, level in layout_lines(root):
            indent = "  " * min(level, MAX_LEVELS)
            self._write(indent + _text(branch.line))
            for note in branch.notes:
                self._write(indent + "    " + _text(note))

    def _write(self, line: str) -> None:
        self._stream.write(line.rstrip() + "\n")


def _text(spans: Iterable[Span], *, in_a_line: bool = True) -> str:
    return "".join(safe_span(span, in_a_line=in_a_line)[0] for span in spans)
