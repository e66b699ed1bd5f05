"""The page for pipes and files: text, aligned, without colour, never cut to a width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final, TextIO

from worlddb.tools.cli.page import MAX_LEVELS, Branch, Span, laid_out, parts

_PAGE_ROWS: Final = 200
"""Rows that are looked at to choose the widths of columns; later rows may be wider."""


DRAWN_WIDTH: Final = 100
"""How wide drawings are where there is no terminal to ask."""


class PlainPage:
    """Writes to a stream as it goes."""

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
            first, *more = _text(spans).split("\n")
            self._write(f"{'':{indent}}{name:{width}}  {first}")
            for line in more:
                self._write(f"{'':{indent + width}}  {line}")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Span]]) -> None:
        shown = (tuple(_text([span]) for span in row) for row in rows)
        first = list(islice(shown, _PAGE_ROWS))
        widths = [max(map(len, column)) for column in zip(columns, *first, strict=True)]
        for row in chain([tuple(columns)], first, shown):
            cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
            self._write("  ".join(cells))

    def tree(self, root: Branch) -> None:
        for branch, level in laid_out(root):
            indent = "  " * min(level, MAX_LEVELS)
            self._write(indent + _text(branch.line))
            for note in branch.notes:
                self._write(indent + "    " + _text(note))

    def _write(self, line: str) -> None:
        self._stream.write(line.rstrip() + "\n")


def _text(spans: Iterable[Span]) -> str:
    return "".join(parts(span)[0] for span in spans)
