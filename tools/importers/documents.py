"""Documents: worlds inside worlds with stable keys; and the plain text format.

A document is a world, a section a world inside it or inside another section, a paragraph a world inside that. The key
of a section is the path of headings to it, that of a paragraph its position in its section. So a file that has grown
adds what is new, and a changed paragraph is a revision. What is no longer in the file stays as it is. A document that
goes into a world has that world in its keys, and they count inside it: what was moved elsewhere since is left alone.

Plain text is a document of paragraphs separated by empty lines.
"""

import codecs
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from worlddb import MAX_CONTENT_BYTES, MAX_NAME_BYTES, UnknownReference, View, World, checked_text
from worlddb.tools.importers import conversation, input_files
from worlddb.writing import check_created

DOCUMENT, SECTION, PARAGRAPH = "Document", "Section", "Paragraph"
MAX_WRITTEN_KEY_BYTES: Final = 2_048
MAX_BATCH_BLOCKS: Final = 4_096
"""Worlds that one commit writes."""
MAX_SECTIONS: Final = 200_000
"""Headings of one file; the paths of those that have been read are kept in memory."""
PIECE_BYTES: Final = 1 << 20
"""Read at a time."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A world of a document: the document itself, a section or a paragraph.

    ``parent`` is the position of the containing block, -1 for the document itself. ``key`` is its name among the
    document's blocks, ``at`` the start of its validity in microseconds. A section with ``is_title`` names the document
    and is the document itself, which may have ``fields``. ``links`` are the names of documents that it links to.
    """

    kind: str
    name: str = ""
    content: str = ""
    parent: int
    key: tuple[Any, ...]
    at: int | None
    line: int
    is_title: bool = False
    fields: "Fields | None" = None
    links: tuple[str, ...] = ()


class Fields(msgspec.Struct, frozen=True):
    """What a document has from its front matter beside title and date: that as it was written, and as it was read."""

    text: str
    properties: dict[str, Any]
    labels: tuple[str, ...]
    aliases: tuple[str, ...]


FRONT: Final = Block(kind=PARAGRAPH, parent=0, key=("---",), at=None, line=1)
"""The paragraph of a document's front matter, without its text: no heading has this key."""


class Link(NamedTuple):
    """A link from a paragraph to the document of a name."""

    source: str
    name: str


class Written(NamedTuple):
    """One commit of a document: its paragraphs and receipt, and the links in it.

    The last one has the references of the paragraphs that an earlier import had and the file has no more (``gone``).
    """

    paragraphs: int
    receipt: Any
    gone: list[str]
    links: list[Link]


class Document(msgspec.Struct, frozen=True):
    """A document that was checked to its end, and is read again block by block; ``root`` is the document itself.

    ``turns`` counts its paragraphs, ``worlds`` its blocks that contain others. ``title`` is the heading that names the
    document, if there is one.
    """

    format: str
    name: str
    file: str
    root: Block
    turns: int
    worlds: int
    title: Block | None
    read: Callable[[], Iterator[Block]]
    left_out: dict[str, int] = {}
    """Counts of what its import has a note of, by code."""

    @property
    def conversations(self) -> list[str]:
        return [self.name]

    @property
    def names(self) -> tuple[set[str], ...]:
        """Return what links call it, folded, the surest first: its file in its folders, that alone or its title, or
        an alias."""
        aliases = self.root.fields.aliases if self.root.fields else ()
        called = (self.name,), (self.root.name, self.name.rpartition("/")[2]), aliases
        return tuple({*map(folded, each)} for each in called)

    @property
    def blocks(self) -> list[Block]:
        """Return all blocks at once, for small documents."""
        return [self.root, *self.read()]

    def portions(self) -> Iterator[conversation.Portion]:
        """Yield nothing: documents have no turns and are written by :func:`write`."""
        return iter(())


def document_of(
    path: Path,
    format: str,
    name: str,
    root: Callable[[Block | None], Block],
    read: Callable[[], Iterator[Block]],
    turns_read: conversation.TurnsRead | None,
    folder: Path | None = None,
) -> Document:
    """Check the blocks of a file to the last, and keep none of them.

    ``root`` makes the document itself, given its title. Raises what reading raises, and ``LimitExceeded`` for more
    headings than can be kept.
    """
    turns, worlds, title = 0, 1, None
    for block in read():
        if block.kind == PARAGRAPH:
            turns += 1
        elif block.is_title:
            title = block
        else:
            worlds += 1
            if worlds > MAX_SECTIONS:
                raise input_files.too_large_error(path, f"more than {MAX_SECTIONS:,} headings")
    if turns_read is not None:
        turns_read(turns)
    file = input_files.name_in(path, folder)
    return Document(format, name, file, check_block(path, root(title)), turns, worlds, title, read)


class Batches(Protocol):
    """The calls of an open store that this module makes."""

    def batch(self) -> Any:
        """Run several commands as one commit, in a ``with`` block."""
        ...

    def view(self) -> View:
        """Return the present view."""
        ...


def write(db: Batches, document: Document, into: Any, revive: bool) -> Iterator[Written]:
    """Write a document in commits of some thousand worlds; yields each.

    Raises:
        RefusedError: the reconciler refused a part; what was committed before it stays.
    """
    containers: dict[int, Any] = {}
    had = set[str]()
    view = db.view()
    inside_of = None if into is None else _container(view, into)
    # Imports that made the title a world of its own had no container in their keys, and are not gone on with.
    is_apart = inside_of is None and _has_separate_title(view, document)

    def is_itself(block: Block) -> bool:
        return block.is_title and not is_apart

    known = view if inside_of is None else view.confined(inside_of)
    front = _FrontFields(document, known, inside_of, revive)
    blocks = document.turns + document.worlds + (document.title is not None)
    for part in _parts(document):
        made: dict[int, Any] = {}
        with db.batch() as tx:
            for place, block in part:
                inside = 0 if is_itself(block) else block.parent
                world = into if inside < 0 else made[inside] if inside in made else containers[inside]
                if is_itself(block):
                    made[place] = world
                    continue
                made[place] = _create(tx, document, block, world, inside_of, revive, front.given_to(block))
                front.add(tx, block, made[place])
                for edge in _left_links(known, _key_of(document, inside_of, block), block):
                    tx.retire(edge, why="the text links there no more")
        receipt = tx.receipt
        receipt.raise_if_refused()
        links, said = list[Link](), None
        for place, block in part:
            # Labels and other fields of a document are commands with references of their own.
            ref = containers[0] if is_itself(block) else receipt.refs[made[place].position]
            if block.kind != PARAGRAPH:
                containers[place] = ref
            if block.links and (said := said or db.view()).history(ref)[-1].content == block.content:
                links += [Link(ref, name) for name in block.links]  # Else its text was left out.
        if part[0][0] == 0:
            had = _taken_before(view, containers[0], document.file)
        had.difference_update(receipt.refs)
        is_last = part[-1][0] == blocks - 1
        yield Written(sum(block.kind == PARAGRAPH for _, block in part), receipt, sorted(had) if is_last else [], links)


def _left_links(known: View, key: str, block: Block) -> list[str]:
    """Return the links that hold of a paragraph and have left its text."""
    before = known.keyed(key) if block.kind == PARAGRAPH else None
    if before is None or before.content == block.content or "[[" not in before.content:
        return []
    kept = {f"[[{name}]]" for name in block.links}
    edges = known.edges(before.ref, type="refers_to", direction="out")
    return [edge.ref for edge in edges if edge.why.startswith("[[") and edge.why not in kept]


_TAG: Final = "a tag in the front matter"
_TAG_LEFT: Final = "the front matter has this tag no more"


class _FrontFields:
    """What a document and its paragraphs get from its front matter.

    A known document gets what is new in it since the last import and loses the tags that have left it, so that
    corrections by hand stay. What is erased, and is not to be revived, gets nothing, nor does what has ended get
    another text.
    """

    def __init__(self, document: Document, known: View, inside_of: str | None, revive: bool) -> None:
        self._document, self._known, self._inside_of = document, known, inside_of
        self._fields, self._revive = document.root.fields, revive
        self._root = self._find(document.root)
        self._labels = () if self._fields is None else self._fields.labels
        tags = {folded(label) for label in self._labels}
        had = {} if self._root is None else self._marks_of(self._root)
        self._new_labels = tuple(label for label in self._labels if had.get(folded(label), _TAG_LEFT) == _TAG_LEFT)
        self._left_labels = {label for label, why in had.items() if why == _TAG} - tags

    def _find(self, block: Block) -> World | None:
        return self._known.keyed(_key_of(self._document, self._inside_of, block))

    def _marks_of(self, world: World) -> dict[str, str]:
        """Return the labels that a world ever had, with the reason why each was last put on or taken off."""
        if self._fields is None and not world.labels:
            return {}
        return {folded(mark.label): mark.why for mark in self._known.marks(world) if mark.label}

    def _stays_erased(self, found: World | None) -> bool:
        return found is not None and found.erased and not self._revive

    def given_to(self, block: Block) -> dict[str, Any]:
        """Return the arguments that a document is created with."""
        if self._fields is None or block.parent >= 0 or self._root is not None:
            return {}
        return {"properties": self._fields.properties, "aliases": self._fields.aliases}

    def add(self, tx: Any, block: Block, written: Any) -> None:
        """Label a document or a paragraph by the tags, and give a known document its new properties and aliases."""
        if block.parent >= 0 and block.kind != PARAGRAPH:
            return
        before = self._root
        if before is not None and block.parent >= 0:
            before = self._find(block) if self._labels or self._left_labels else None
        if self._stays_erased(before):
            return
        if new := self._labels if before is None or before.erased else self._new_labels:
            tx.label(written, *new, why=_TAG)
        if before is not None and (held := self._left_labels.intersection(map(folded, before.labels))):
            marks = self._marks_of(before)
            if left := [label for label in before.labels if folded(label) in held and marks[folded(label)] == _TAG]:
                tx.unlabel(before, *left, why=_TAG_LEFT)
        if block.parent < 0 and self._root is not None and self._fields is not None and not self._root.closed:
            self._add_fields(tx, self._root, self._fields)

    def _add_fields(self, tx: Any, root: World, fields: Fields) -> None:
        front = self._find(FRONT)
        if fields.properties and (root.erased or front is None or front.content != fields.text):
            tx.revise(root, properties=fields.properties)
        if aliases := [alias for alias in fields.aliases if alias not in root.aliases]:
            tx.alias(root, *aliases)


def documents_by_name(written: Mapping[str, Document]) -> dict[str, str]:
    """Return the documents of an import, which are given by reference, by their names; none for one of several."""
    found = dict[str, str]()
    for kind in zip(*([each.names for each in written.values()]), strict=True):
        refs = defaultdict[str, list[str]](list)
        for ref, names in zip(written, kind, strict=True):
            for name in names:
                refs[name].append(ref)
        found = {name: some[0] if len(some) == 1 else "" for name, some in refs.items()} | found
    return found


def link(db: Batches, links: Sequence[Link], named: Mapping[str, str], into: Any) -> tuple[Any, set[str]]:
    """Write links between documents as ``refers_to``, as one commit; returns its receipt and the names that lead to
    none, or to one of several.

    ``named`` has the documents of this import by their folded names; others are looked up in ``into``, and none inside
    the world of a user there. A link is written once: one that was unlinked by hand does not come back.
    """
    view, found, unknown, written = db.view(), dict(named), set[str](), set[tuple[str, str]]()
    inside_of = None if into is None else _container(view, into)
    known = view if inside_of is None else view.confined(inside_of)
    with db.batch() as tx:
        for source, called in links:
            name = folded(called)
            if name not in found:
                same = [each.ref for each in known.find(name=called, type=DOCUMENT)]
                open_to_all = [ref for ref in same if known._user_world_of(ref) is None]
                found[name] = open_to_all[0] if len(open_to_all) == 1 else ""
            ends = source, found[name]
            if not found[name]:
                unknown.add(name)
            elif ends not in written and not any(
                state.holds or state.retracted for state in view.states(*ends, type="refers_to")
            ):
                written.add(ends)
                tx.link(source, "refers_to", found[name], why=f"[[{called}]]")
    return tx.receipt, unknown


def folded(name: str) -> str:
    """Return a name as links compare it: without capitals, doubled blanks and compatibility forms."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _taken_before(view: View, ref: str, file: str) -> set[str]:
    """Return the paragraphs that a document has from this file by earlier imports."""
    try:
        found = view.find(type=PARAGRAPH, world=ref)
    except UnknownReference:  # The document is new.
        return set()
    return {each.ref for each in found if each.source.get("file") == file and not each.erased}


def _parts(document: Document) -> Iterator[list[tuple[int, Block]]]:
    """Yield the blocks with their places, as many at a time as one commit writes."""
    part: list[tuple[int, Block]] = []
    characters = 0
    for place, block in enumerate(chain((document.root,), document.read())):
        part.append((place, block))
        characters += len(block.content)
        if len(part) >= MAX_BATCH_BLOCKS or characters >= conversation.MAX_PORTION_CHARACTERS:
            yield part
            part, characters = [], 0
    if part:
        yield part


def _has_separate_title(view: View, document: Document) -> bool:
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
    return world.type == DOCUMENT and world.name == document.root.name and "line" not in world.source


def _container(view: View, into: Any) -> str | None:
    """Return the reference of the world that a document goes into; None for the root world."""
    return None if view.hash(into) == view.hash() else view.reference_of(into)


def _create(
    tx: Any, document: Document, block: Block, world: Any, inside_of: str | None, revive: bool, given: Mapping[str, Any]
) -> Any:
    line = block.line if block.content or document.title is not None else None
    if block.parent < 0 and document.title is not None:
        line = document.title.line
    return tx.create(
        block.kind,
        block.name,
        content=block.content,
        world=world,
        key=_key_of(document, inside_of, block),
        key_within=inside_of,
        valid_from=block.at,
        source={"file": document.file} | ({} if line is None else {"line": line}),
        resolve=False,
        revive=revive,
        **given,
    )


def _key_of(document: Document, inside_of: str | None, block: Block) -> str:
    """Return the key of a block."""
    return _key((block.kind, document.format, document.name), inside_of, block.key)


def _key(document: tuple[str, ...], inside_of: str | None, place: tuple[Any, ...]) -> str:
    """Return the key of a world; a long one is shortened to a digest.

    The key is JSON, which keeps its parts apart.
    """
    begin = document if inside_of is None else (*document, {"into": inside_of})
    written = msgspec.json.encode((*begin, *place))
    if len(written) > MAX_WRITTEN_KEY_BYTES:
        written = msgspec.json.encode((*begin, {"sha256": sha256(written).hexdigest()}))
    return written.decode()


def text_of(path: Path) -> Iterator[str]:
    """Read a text file piece by piece, without byte order mark, with line feeds as line ends.

    Raises:
        MalformedFile: it is not UTF-8, or holds a NUL, as no text does.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    ends = io.IncrementalNewlineDecoder(None, translate=True)
    lines = 1
    with input_files.open_decompressed(path) as stream:
        data = stream.read(PIECE_BYTES).removeprefix(input_files.BOM)
        while True:
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line = lines + error.object.count(b"\n", 0, error.start)
                problem = f"the byte {error.object[error.start]:#04x} is not valid UTF-8"
                place = input_files.Place(path, "line", line)
                raise input_files.malformed_error(place, problem, input_files.SAVE_AS_UTF8) from None
            if "\0" in text:
                line = lines + text.count("\n", 0, text.index("\0"))
                raise input_files.malformed_error(
                    input_files.Place(path, "line", line), "it contains a NUL, so it is not text"
                )
            yield ends.decode(text, final=not data)
            if not data:
                return
            lines += data.count(b"\n")
            data = stream.read(PIECE_BYTES)


def name_of(path: Path, reading: conversation.ReadOptions) -> str:
    """Return the name that keys a document: the one given, else the file's stem, with its path in a whole folder."""
    name = title_of(path, reading)
    if reading.conversation is None and reading.folder is not None:
        name = path.relative_to(reading.folder).with_name(name).as_posix()
    return _checked_name(path, name)


def title_of(path: Path, reading: conversation.ReadOptions) -> str:
    """Return what a document is called without a title of its own: the name given, else the file's stem."""
    return _checked_name(path, input_files.stem(path) if reading.conversation is None else reading.conversation)


def _checked_name(path: Path, name: str) -> str:
    return input_files.with_place(
        input_files.Place(path),
        lambda: checked_text(name, "The name of the document", conversation.MAX_LABEL_BYTES, empty=False),
    )


def check_block(path: Path, block: Block) -> Block:
    """Return the block if it can be stored.

    Raises:
        MalformedFile: it, or a field of its front matter, cannot be stored; the line is named.
    """
    place = input_files.Place(path, "line", block.line)
    input_files.with_place(place, lambda: checked_text(block.content, "the paragraph", MAX_CONTENT_BYTES))
    input_files.with_place(place, lambda: checked_text(block.name, "the heading", MAX_NAME_BYTES))
    if block.kind != PARAGRAPH:
        fields = block.fields or Fields("", {}, (), ())
        given: Any = {name: getattr(fields, name) for name in ("aliases", "labels", "properties")}
        input_files.with_place(place, lambda: check_created(block.kind, block.name, **given))
    return block


NAME: Final = "text"
"""Part of every record's key: changing it would import everything a second time."""
SUFFIXES: Final = (".txt", ".text")

_GAP: Final = re.compile(r"\n(?:[^\S\n]*+\n)++|\f")
"""Blank lines, or a form feed."""


def load(
    path: Path,
    turns_read: conversation.TurnsRead | None = None,
    reading: conversation.ReadOptions = conversation.DEFAULT_READING,
) -> Document:
    """Read a plain text file as a document.

    Raises:
        MalformedFile: it is not text in UTF-8, or a paragraph is too long; the line is named.
        InputError: the file cannot be read.
    """
    name = name_of(path, reading)

    def read() -> Iterator[Block]:
        for place, (line, text) in enumerate(_paragraphs(path, text_of(path))):
            yield check_block(path, Block(kind=PARAGRAPH, content=text, parent=0, key=(place,), at=None, line=line))

    root = Block(kind=DOCUMENT, name=title_of(path, reading), parent=-1, key=(), at=None, line=1)
    return document_of(path, NAME, name, lambda _: root, read, turns_read, reading.folder)


def _paragraphs(path: Path, pieces: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each paragraph.

    What is not yet divided is held, in whole lines; of a gap the last line feed stays, since blank lines may follow.
    """
    whole, rest, line = "", "", 1
    for piece in chain(pieces, (None,)):
        lines, feed, rest = (rest, "", "") if piece is None else (rest + piece).rpartition("\n")
        whole += lines + feed
        begins = 0
        for gap in _GAP.finditer(whole):
            yield from _paragraph(line, whole[begins : gap.start()])
            ends = gap.end() - (gap[0][0] == "\n")
            line += whole.count("\n", begins, ends)
            begins = ends
        whole = whole[begins:]
        held = whole if len(whole) > len(rest) else rest
        if len(held) * 4 > MAX_CONTENT_BYTES:
            size = len(held.encode())
            if size > MAX_CONTENT_BYTES + PIECE_BYTES:
                place = input_files.Place(path, "line", line)
                problem = f"the paragraph has more than {MAX_CONTENT_BYTES:,} bytes"
                raise input_files.malformed_error(place, problem, "Split it with an empty line")
    yield from _paragraph(line, whole)


def _paragraph(line: int, piece: str) -> Iterator[tuple[int, str]]:
    if piece.strip():
        before = len(piece) - len(piece.lstrip("\n"))
        yield line + before, piece.strip("\n").rstrip()
