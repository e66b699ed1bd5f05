"""What documents are read into: worlds inside worlds, each with a key that finds it again when the file has grown.

A document is a world, a section a world inside it or inside another section, a paragraph a world inside that. The key
of a section is the way of headings to it, and that of a paragraph is its place in its section; so a file that has grown
adds what is new, and a paragraph that was changed is a revision. What is no longer in the file stays as it is.

Plain text: a document of paragraphs, which are what stands between empty lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from worlddb import MAX_CONTENT_BYTES, MAX_NAME_BYTES, View, World, checked_text
from worlddb.tools.importers import input_files
from worlddb.tools.importers.conversation import AS_WRITTEN, MAX_LABEL_BYTES, Heard, Portion, Reading
from worlddb.tools.importers.input_files import Place, file_name, judged, malformed

DOCUMENT, SECTION, PARAGRAPH = "Document", "Section", "Paragraph"
MAX_WRITTEN_KEY_BYTES: Final = 2_048
MAX_BATCH_BLOCKS: Final = 4_096
"""How many worlds one commit writes."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A world of a document. ``parent`` is the place of the block that it is inside of; -1 for the document itself.

    ``key`` is its name among the document's blocks, ``at`` when it begins to be valid, in microseconds. A section that
    ``is_title`` says what the document is called, and is the document itself.
    """

    kind: str
    name: str = ""
    content: str = ""
    parent: int
    key: tuple[Any, ...]
    at: int | None
    line: int
    is_title: bool = False

    @property
    def is_world(self) -> bool:
        """True for what contains paragraphs."""
        return self.kind != PARAGRAPH and not self.is_title


class Document(msgspec.Struct, frozen=True):
    """A document that was read to its end and found sound; ``blocks`` begin with the document itself."""

    format: str
    name: str
    file: str
    blocks: list[Block]

    @property
    def conversations(self) -> list[str]:
        return [self.name]

    @property
    def turns(self) -> int:
        """How many paragraphs it has."""
        return sum(block.kind == PARAGRAPH for block in self.blocks)

    @property
    def title(self) -> Block | None:
        """The heading that says what the document is called, if there is one."""
        return next((block for block in self.blocks if block.is_title), None)

    @property
    def worlds(self) -> set[tuple[str, ...]]:
        """The names of what contains paragraphs."""
        return {(self.format, self.name, *map(str, block.key)) for block in self.blocks if block.is_world}

    def portions(self) -> Iterator[Portion]:
        """Documents have no turns: they are written by :func:`written`."""
        return iter(())


class Batches(Protocol):
    """What is needed of an open store."""

    def batch(self) -> Any:
        """Several commands as one commit, for a ``with`` block."""
        ...

    def view(self) -> View:
        """What is there now."""
        ...


def write(db: Batches, document: Document, into: Any, revive: bool) -> Iterator[tuple[int, Any]]:
    """Write a document, some thousand worlds a commit; (how many paragraphs, the receipt) of each.

    Raises:
        RefusedError: the reconciler refused a part; what was committed before it stays.
    """
    refs: list[Any] = []
    is_apart = _has_title_apart(db.view(), document)

    def is_itself(block: Block) -> bool:
        return block.is_title and not is_apart

    for first in range(0, len(document.blocks), MAX_BATCH_BLOCKS):
        part = document.blocks[first : first + MAX_BATCH_BLOCKS]
        made = list(refs)
        with db.batch() as tx:
            for block in part:
                world = into if block.parent < 0 else made[block.parent]
                made.append(made[0] if is_itself(block) else _create(tx, document, block, world, revive))
        receipt = tx.receipt
        receipt.raise_if_refused()
        written = iter(receipt.refs)
        for block in part:
            refs.append(refs[0] if is_itself(block) else next(written))
        yield sum(block.kind == PARAGRAPH for block in part), receipt


def _has_title_apart(view: View, document: Document) -> bool:
    """True for a store that took the document in when a title was a world of its own: what is new goes on there.

    Sections beside a title say their lines, that of its name among them.
    """
    if document.title is None:
        return False
    found = view.find(name=document.title.name, type=SECTION, include_superseded=True)
    titles = (section for section in found if "line" not in section.source)
    around = (view.get(ref, include_superseded=True) for title in titles for ref in view.containers(title))
    return any(world is not None and _is_without_title(world, document) for world in around)


def _is_without_title(world: World, document: Document) -> bool:
    """Whether a world is this document, and not its title as well: of that its source would say the line."""
    return world.type == DOCUMENT and world.name == document.blocks[0].name and "line" not in world.source


def _create(tx: Any, document: Document, block: Block, world: Any, revive: bool) -> Any:
    line = block.line if block.content or document.title is not None else None
    if block.parent < 0 and document.title is not None:
        line = document.title.line
    return tx.create(
        block.kind,
        block.name,
        content=block.content,
        world=world,
        key=_key((block.kind, document.format, document.name, *block.key)),
        valid_from=block.at,
        source={"file": document.file} | ({} if line is None else {"line": line}),
        resolve=False,
        revive=revive,
    )


def _key(parts: tuple[Any, ...]) -> str:
    """The key of a world. JSON keeps the parts apart; a long way of headings is told by its digest."""
    written = msgspec.json.encode(parts)
    if len(written) > MAX_WRITTEN_KEY_BYTES:
        written = msgspec.json.encode((*parts[:3], {"sha256": sha256(written).hexdigest()}))
    return written.decode()


def text_of(path: Path) -> str:
    """All of a text file, without byte order mark, its lines ending in line feeds.

    Raises:
        MalformedFile: it is not UTF-8, or holds a NUL, as no text does.
    """
    held = input_files.whole(path)
    try:
        text = held.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = held.count(b"\n", 0, error.start) + 1
        raise malformed(Place(path, "line", line), f"it is not valid UTF-8: {error.reason}") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise malformed(Place(path, "line", line), "there is a NUL in it, so that it is no text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def name_of(path: Path, reading: Reading) -> str:
    """What a document is known by: the name that was given, else the file's stem."""
    name = input_files.stem(path) if reading.conversation is None else reading.conversation
    return judged(Place(path), lambda: checked_text(name, "The name of the document", MAX_LABEL_BYTES, empty=False))


def checked(path: Path, block: Block) -> Block:
    """The block itself, if it can be stored.

    Raises:
        MalformedFile: it is too long; the line is named.
    """
    place = Place(path, "line", block.line)
    judged(place, lambda: checked_text(block.content, "the paragraph", MAX_CONTENT_BYTES))
    judged(place, lambda: checked_text(block.name, "the heading", MAX_NAME_BYTES))
    return block


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
