"""Formats of RDF for importing and exporting statements; an RDF engine parses and writes them.

Blank nodes get new ids on import, so that two files never share one, and are exported as blank nodes (RDF 1.1 Concepts,
3.5).
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from worlddb.log.model import errors
from worlddb.log.statements.terms import MAX_NESTED, MAX_TERM_BYTES
from worlddb.query.sparql import sparql_workers
from worlddb.query.sparql.sparql_tokens import PREFIXES

if TYPE_CHECKING:
    import pyoxigraph


class RdfFormat(NamedTuple):
    """A format: its name, the endings of its files, its media types (its own first), and whether it has graphs."""

    name: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    has_graphs: bool

    @property
    def media_type(self) -> str:
        """What it is called over the network."""
        return self.media_types[0]


FORMATS: Final = (
    RdfFormat("turtle", ("ttl",), ("text/turtle", "application/x-turtle"), False),
    RdfFormat("trig", ("trig",), ("application/trig", "application/x-trig"), True),
    RdfFormat("ntriples", ("nt",), ("application/n-triples",), False),
    RdfFormat("nquads", ("nq",), ("application/n-quads",), True),
    RdfFormat("jsonld", ("jsonld", "json"), ("application/ld+json",), True),
    RdfFormat("rdfxml", ("rdf", "xml", "owl"), ("application/rdf+xml",), False),
)

Row = tuple[str, str, str, str | None]
"""A statement as text: subject, predicate, object and graph in N-Triples; ``None`` is the default graph."""

_BUFFER_BYTES: Final = 16 * 1024 * 1024
"""What the parser keeps of a statement that goes on; of RDF/XML it has no bound of its own."""
_LONG: Final = (
    f"A term may have {MAX_TERM_BYTES:,} bytes: keep long texts in worlds, as their content; nothing was written"
)

_PIECE_BYTES: Final = 256 * 1024
_LIMITS: Final = sparql_workers.Limits(memory_bytes=512 * 1024**2, bytes=16 * 1024**2)
"""Those of an empty text; each byte adds some. What a text takes has no other bound than these."""
_LESS: Final = "Nest it less, write out what entities and prefixes stand for, or give it in parts; nothing was written"
_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_BLANK: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[^\s<>"]*>|_:([0-9A-Za-z_][^\s<>"()]*)')
"""A blank node, or a text or an IRI, in which such a label stands for nothing."""


def format_of(named: str) -> RdfFormat:
    """The format of a name, a media type (with parameters or not), a file's ending or a file's name.

    Raises:
        InputError: none is called so.
    """
    if not isinstance(named, str):
        raise errors.InputError(f"{errors.shown(named)} is not a format of RDF", "Give its name, or a media type")
    asked = named.partition(";")[0].strip().lower()
    suffix = asked.rpartition(".")[2]
    for each in FORMATS:
        if asked == each.name or asked in each.media_types or suffix in each.suffixes:
            return each
    known = ", ".join(f"{each.name} (.{each.suffixes[0]})" for each in FORMATS)
    raise errors.InputError(f"{errors.shown(named)} is not a format of RDF", f"One of: {known}")


def read_rows(
    source: str | Path | bytes | IO[bytes],
    fresh: Callable[[], str] | None,
    format: str | None = None,
    base: str | None = None,
) -> Iterator[Row]:
    """The statements of a file, one after another; ``fresh`` gives a blank node its new id (else it keeps its own).

    A path stands for its file, whose name says the format unless one is given.

    Raises:
        InputError: nothing says the format.
        MalformedFile: the file breaks it; ``details`` has the line and the column, from 1.
        LimitExceeded: a term is longer than any may be, of which no more than 16 MiB are read.
        QueryLimit: the process that parses the text was ended at its limit of time, memory, bytes or depth.
        UnavailableError: that process could not start, or all are busy.
    """
    named = str(source) if isinstance(source, str | Path) else getattr(source, "name", "")
    if format is None and not isinstance(named, str | Path):
        named = ""
    kind = format_of(format if format is not None else str(named))
    # A reader that reads ahead of an iterator would hide where it is: the parser takes the stream itself.
    if isinstance(source, str | Path):
        try:
            with open(source, "rb") as file:
                yield from _rows(file, kind, fresh, Path(source).name, base)
        except OSError as error:
            raise errors.InputError(
                f"{source} cannot be read: {error.strerror}", "Give a file that can be read"
            ) from None
    else:
        stream = io.BytesIO(source) if isinstance(source, bytes) else source
        yield from _rows(stream, kind, fresh, str(named), base)


def _rows(
    file: IO[bytes], kind: RdfFormat, fresh: Callable[[], str] | None, name: str, base: str | None
) -> Iterator[Row]:
    blanks: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        label = found[1]
        if label is None:
            return found[0]
        if label not in blanks:
            assert fresh is not None
            blanks[label] = fresh()
        return f"_:{blanks[label]}"

    text, last = _SentText(file, name), ""
    # A name of XML has no end to the parser, so that its buffer has none.
    unsaid = _BUFFER_BYTES if kind.name == "rdfxml" else sys.maxsize
    bounds = {"format": kind.suffixes[0], "base": base, "most_term": MAX_TERM_BYTES, "most_unsaid": unsaid}
    try:
        with sparql_workers.parsers().desk(_LIMITS, what="it") as desk:
            for head, body in desk.parse(text.pieces(), bounds):
                lines = body.decode()
                if fresh is not None and "_:" in lines:
                    lines = _BLANK.sub(renamed, lines)
                for line in lines.split("\n")[:-1]:
                    subject, predicate, value, graph = line.split("\t")
                    yield subject, predicate, value, graph or None
                if lines:
                    last = " ".join(lines[lines.rfind("\n", 0, -1) + 1 :].split("\t", 2)[:2])
                if head["end"] not in (None, "done"):
                    raise _parse_error(head, text, kind, last)
    except errors.QueryLimit as error:
        raise text.limit_error(error.details["limit"], error.message, last) from None


def rows_of_lines(lines: bytes) -> Iterator[Row]:
    """The statements of lines of N-Quads that the engine wrote; for what others wrote use :func:`read_rows`.

    Raises:
        LimitExceeded: triples are nested deeper than any may be.
    """
    if lines.count(b"<<(") > MAX_NESTED and max(map(_count_opened, lines.splitlines())) > MAX_NESTED:
        raise errors.LimitExceeded("A triple is nested too deep", f"Nest at most {MAX_NESTED} in one another")
    engine = _engine()
    triple = engine.Triple
    for quad in engine.parse(lines, engine.RdfFormat.N_QUADS):
        value, graph = quad.object, str(quad.graph_name)
        shown = f"<<( {value} )>>" if isinstance(value, triple) else str(value)
        yield str(quad.subject), str(quad.predicate), shown, None if graph == "DEFAULT" else graph


def _count_opened(line: bytes) -> int:
    """How many triples begin in a line, those in texts not counted; without graphs none may follow another."""
    return _TEXT.sub(b"", line).count(b"<<(") if line.count(b"<<(") > MAX_NESTED else 0


class _SentText:
    """A text that is sent to be parsed, a piece at a time."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self.file, self.name = file, name, name or "The text"
        try:
            self._begin = file.tell()
        except (AttributeError, OSError):
            self._begin = -1
        self.line = 1
        """The line in which the last piece begins."""

    def pieces(self) -> Iterator[bytes]:
        """The text, piece by piece."""
        piece = b""
        while True:
            self.line += piece.count(b"\n")
            piece = self._file.read(_PIECE_BYTES)
            if not piece:
                return
            yield piece

    def limit_error(self, limit: str, why: str, last: str) -> errors.QueryLimit:
        """The error of a text that came to a limit of its worker somewhere behind its last statement."""
        after = f", after {last:.200}" if last else ""
        return errors.QueryLimit(f"{self.name}, from line {self.line} on{after}: {why}", _LESS, limit=limit)

    def place(self, left: int) -> tuple[str, str]:
        """The line and the beginning of what stands so many bytes behind the begin; empty for a pipe."""
        try:
            if self._begin < 0 or left < 0:
                return "", ""
            self._file.seek(self._begin)
            lines = 1
            while left:
                data = self._file.read(min(left, 1 << 20))
                lines, left = lines + data.count(b"\n"), left - len(data)
            return f", line {lines}", " ".join(self._file.read(400).decode(errors="replace").split())
        except (AttributeError, OSError):
            return "", ""


def _parse_error(head: dict[str, Any], text: _SentText, kind: RdfFormat, last: str) -> errors.InputError:
    """The error of how a text ended that was not read to its end."""
    end = head["end"]
    if end == "syntax":
        return _malformed(head, kind, text.file)
    if end == "failed":
        return errors.MalformedFile(f"{text.name} is not valid {kind.name}: {head['message']}", "Correct it")
    if end == "term":
        return errors.LimitExceeded(f"{text.name}: a term of {head['of']} has {head['size']:,} bytes", _LONG)
    if end == "bytes":
        return text.limit_error("bytes", "its statements are far longer than it is", last)
    # Of RDF/XML it is known what was read when the last statement was said, which may be some of this one.
    is_xml = kind.name == "rdfxml"
    left = head["said"] if is_xml else head["consumed"] - _BUFFER_BYTES
    where, beginning = text.place(left) if kind.name != "jsonld" else ("", "")
    is_after = bool(last) and (not beginning or is_xml)
    excerpt = f", after {last:.400}" if is_after else f": {beginning:.200}…" if beginning else ""
    return errors.LimitExceeded(
        f"{text.name}{where}: a statement is longer than {_BUFFER_BYTES:,} bytes{excerpt}", _LONG
    )


def _malformed(head: dict[str, Any], kind: RdfFormat, name: str) -> errors.MalformedFile:
    said = re.sub(r"^Parser error at [^:]*: ", "", head["message"])[:200]
    if head["line"] is None:
        return errors.MalformedFile(f"{name or 'The text'} is not valid {kind.name}: {said}", "Correct it", file=name)
    where = f"line {head['line']}, column {head['column']}"
    is_relative = said.startswith("No scheme found")
    return errors.MalformedFile(
        f"{name + ', ' if name else ''}{where}: {said}",
        "Write the full IRI, or give the base that it is relative to; nothing was written"
        if is_relative
        else "Correct that place; nothing was written",
        file=name,
        line=head["line"],
        column=head["column"],
    )


def engine_forms(objects: Iterable[str]) -> dict[str, str]:
    """What the engine makes of objects, each by its text: it writes ``"01"^^xsd:integer`` as ``"1"^^xsd:integer``."""
    engine, listed = _engine(), list(dict.fromkeys(objects))
    lines = "".join(f"<urn:{place}> <urn:is> {text} .\n" for place, text in enumerate(listed)).encode()
    store = engine.Store()
    store.extend(engine.parse(lines, engine.RdfFormat.N_QUADS, lenient=True))
    return {listed[int(each.subject.value[4:])]: str(each.object) for each in store}


def write_lines(lines: Iterable[bytes], file: IO[bytes], format: str) -> None:
    """Write lines of N-Quads in a format, one after another.

    Raises:
        InputError: a statement lies in a named graph and the format has none, or the format cannot write it.
    """
    kind = format_of(format)
    engine = _engine()
    if kind.name == "rdfxml":  # An id of a node there is a name of XML, which begins with no digit.
        lines = (_BLANK.sub(_node_name, line.decode()).encode() if b"_:" in line else line for line in lines)
    quads: Iterator[pyoxigraph.Quad] = (
        quad for line in lines for quad in engine.parse(line, engine.RdfFormat.N_QUADS, lenient=True)
    )
    found: Iterator[Any] = quads if kind.has_graphs else (_triple(quad, kind) for quad in quads)
    try:
        out: Any = _ReturnEscaper(file) if kind.name == "rdfxml" else file
        engine.serialize(
            found, out, _engine_format(kind), prefixes=PREFIXES if kind.name in ("turtle", "trig") else None
        )
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # The file cannot be written; what a format does not know has no number.
        raise errors.InputError(f"{kind.name} cannot write this: {error}", "Choose nquads") from None


def escape_carriage_returns(xml: bytes) -> bytes:
    """XML with its carriage returns escaped, as in texts alone it has any: a reader makes line feeds of plain ones."""
    return xml.replace(b"\r", b"&#13;")


class _ReturnEscaper:
    """A file to which XML is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        self._file.write(escape_carriage_returns(data))
        return len(data)

    def flush(self) -> None:
        self._file.flush()


def _node_name(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else f"_:b{found[1]}"


def _triple(quad: pyoxigraph.Quad, kind: RdfFormat) -> pyoxigraph.Triple:
    if str(quad.graph_name) != "DEFAULT":
        raise errors.InputError(
            f"{kind.name} has no graphs, and a statement is in the graph {quad.graph_name}",
            "Choose trig, nquads or jsonld",
        )
    if kind.name == "rdfxml" and (lost := NOT_IN_XML.search(getattr(quad.object, "value", ""))) is not None:
        raise errors.InputError(
            f"{kind.name} cannot write this: a text of {quad.subject} has U+{ord(lost[0]):04X}, which XML does not"
            " allow",
            "Choose turtle, ntriples or jsonld",
        )
    return quad.triple


NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that no document of XML 1.0 may have, escaped or not."""


def _engine() -> Any:
    try:
        import pyoxigraph
    except ImportError:
        raise errors.InputError("RDF needs the package pyoxigraph", 'Install "worlddb[statements]"') from None
    return pyoxigraph


def _engine_format(kind: RdfFormat) -> Any:
    return _engine().RdfFormat.from_extension(kind.suffixes[0])
