"""Documents: worlds inside worlds with stable keys; and the plain text format.

A document is a world, a section a world inside it or inside another section, a paragraph a world inside that. The key
of a section is the path of headings to it, that of a paragraph its position in its section. So a file that has grown
adds what is new, and a changed paragraph is a revision. What is no longer in the file stays as it is.

Plain text is a document of paragraphs separated by empty lines.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from worlddb import MAX_CONTENT_BYTES, MAX_NAME_BYTES, View, World, checked_text
from worlddb.tools.importers import conversation, input_files

DOCUMENT, SECTION, PARAGRAPH = "Document", "Section", "Paragraph"
MAX_WRITTEN_KEY_BYTES: Final = 2_048
MAX_BATCH_BLOCKS: Final = 4_096
"""Worlds that one commit writes."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A world of a document: the document itself, a section or a paragraph.

    ``parent`` is the position of the containing block, -1 for the document itself. ``key`` is its name among the
    document's blocks, ``at`` the start of its validity in microseconds. A section with ``is_title`` names the document
    and is the document itself.
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
        """True for blocks that contain paragraphs."""
        return self.kind != PARAGRAPH and not self.is_title


class Document(msgspec.Struct, frozen=True):
    """A document that was checked to its end; ``blocks`` begin with the document itself."""

    format: str
    name: str
    file: str
    blocks: list[Block]

    @property
    def conversations(self) -> list[str]:
        return [self.name]

    @property
    def turns(self) -> int:
        """The number of paragraphs."""
        return sum(block.kind == PARAGRAPH for block in self.blocks)

    @property
    def title(self) -> Block | None:
        """The heading that names the document, if there is one."""
        return next((block for block in self.blocks if block.is_title), None)

    @property
    def worlds(self) -> set[tuple[str, ...]]:
        """The names of the worlds that contain paragraphs."""
        return {(self.format, self.name, *map(str, block.key)) for block in self.blocks if block.is_world}

    def portions(self) -> Iterator[conversation.Portion]:
        """Yield nothing: documents have no turns and are written by :func:`write`."""
        return iter(())


class Batches(Protocol):
    """The calls of an open store that are needed here."""

    def batch(self) -> Any:
        """Run several commands as one commit, in a ``with`` block."""
        ...

    def view(self) -> View:
        """Return the present view."""
        ...


def write(db: Batches, document: Document, into: Any, revive: bool) -> Iterator[tuple[int, Any]]:
    """Write a document in commits of some thousand worlds; yields (paragraphs, receipt) of each.

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
    """Return whether an older import made the title a world of its own.

    New content then goes on there. The provenance of other sections holds a line number; that of such a title does not.
    """
    if document.title is None:
        return False
    found = view.find(name=document.title.name, type=SECTION, include_superseded=True)
    titles = (section for section in found if "line" not in section.source)
    around = (view.get(ref, include_superseded=True) for title in titles for ref in view.containers(title))
    return any(world is not None and _is_without_title(world, document) for world in around)


def _is_without_title(world: World, document: Document) -> bool:
    """Return whether a world is this document without its title.

    The provenance of such a world holds no line.
    """
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
    """Return the key of a world; a long one is shortened to a digest.

    The key is JSON, which keeps its parts apart.
    """
    written = msgspec.json.encode(parts)
    if len(written) > MAX_WRITTEN_KEY_BYTES:
        written = msgspec.json.encode((*parts[:3], {"sha256": sha256(written).hexdigest()}))
    return written.decode()


def text_of(path: Path) -> str:
    """Read a text file, without byte order mark, with line feeds as line ends.

    Raises:
        MalformedFile: it is not UTF-8, or holds a NUL, as no text does.
    """
    data = input_files.whole(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise input_files.malformed(
            input_files.Place(path, "line", line), f"it is not valid UTF-8: {error.reason}"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise input_files.malformed(input_files.Place(path, "line", line), "it contains a NUL, so it is not text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def name_of(path: Path, reading: conversation.Reading) -> str:
    """Return the name of a document: the one given, else the file's stem."""
    name = input_files.stem(path) if reading.conversation is None else reading.conversation
    return input_files.with_place(
        input_files.Place(path),
        lambda: checked_text(name, "The name of the document", conversation.MAX_LABEL_BYTES, empty=False),
    )


def checked(path: Path, block: Block) -> Block:
    """Return the block if it can be stored.

    Raises:
        MalformedFile: it is too long; the line is named.
    """
    place = input_files.Place(path, "line", block.line)
    input_files.with_place(place, lambda: checked_text(block.content, "the paragraph", MAX_CONTENT_BYTES))
    input_files.with_place(place, lambda: checked_text(block.name, "the heading", MAX_NAME_BYTES))
    return block


NAME: Final = "text"
"""Part of every record's key: changing it would import everything a second time."""
SUFFIXES: Final = (".txt", ".text")

_GAP: Final = re.compile(r"\n(?:[^\S\n]*\n)+|\f")
"""Blank lines, or a form feed."""


def load(
    path: Path,
    turns_read: conversation.TurnsRead | None = None,
    reading: conversation.Reading = conversation.DEFAULT_READING,
) -> Document:
    """Read a plain text file as a document.

    Raises:
        MalformedFile: it is not text in UTF-8, or a paragraph is too long; the line is named.
        InputError: the file cannot be read.
    """
    name = name_of(path, reading)
    blocks = [Block(kind=DOCUMENT, name=name, parent=-1, key=(), at=None, line=1)]
    for place, (line, text) in enumerate(_paragraphs(text_of(path))):
        block = Block(kind=PARAGRAPH, content=text, parent=0, key=(place,), at=None, line=line)
        blocks.append(checked(path, block))
    if turns_read is not None:
        turns_read(len(blocks) - 1)
    return Document(NAME, name, input_files.file_name(path), blocks)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each paragraph."""
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
