"""Plain text: a document of paragraphs, which are what stands between empty lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from worlddb.tools.importers.conversation import AS_WRITTEN, Heard, Reading
from worlddb.tools.importers.document import DOCUMENT, PARAGRAPH, Block, Document, checked, name_of, text_of
from worlddb.tools.importers.files import file_name

NAME: Final = "text"
"""Part of every record's key: changing it would import everything a second time."""
SUFFIXES: Final = (".txt", ".text")

_GAP: Final = re.compile(r"\n(?:[^\S\n]*\n)+|\f")
"""Lines with nothing in them, or a new page."""


def load(path: Path, heard: Heard | None = None, reading: Reading = AS_WRITTEN) -> Document:
    """The file as a document.

    Raises:
        MalformedFile: it is not text in UTF-8, or a paragraph is too long; the line is named.
        InputError: the file cannot be read.
    """
    name = name_of(path, reading)
    blocks = [Block(kind=DOCUMENT, name=name, parent=-1, key=(), at=None, line=1)]
    for place, (line, text) in enumerate(_paragraphs(text_of(path))):
        block = Block(kind=PARAGRAPH, content=text, parent=0, key=(place,), at=None, line=line)
        blocks.append(checked(path, block))
    if heard is not None:
        heard(len(blocks) - 1)
    return Document(NAME, name, file_name(path), blocks)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each paragraph."""
    begins, line = 0, 1
    for gap in (*_GAP.finditer(text), None):
        ends = len(text) if gap is None else gap.start()
        piece = text[begins:ends]
        if piece.strip():
            before = len(piece) - len(piece.lstrip("\n"))
            yield line + before, piece.strip("\n").rstrip()
        after = ends if gap is None else gap.end()
        line += text.count("\n", begins, after)
        begins = after
