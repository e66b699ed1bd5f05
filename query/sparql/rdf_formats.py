"""Formats of RDF for importing and exporting statements; an RDF engine parses and writes them.

Blank nodes get new ids on import, so that two files never share one, and are exported as blank nodes (RDF 1.1 Concepts,
3.5).
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from worlddb.log.model import errors
from worlddb.log.statements.terms import MAX_TERM_BYTES
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

_BLANK = re.compile(r'"(?:[^"\\]|\\.)*"|_:([0-9A-Za-z_][^\s<>"()]*)')


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
        LimitExceeded: a term is longer than any may be; no more than 16 MiB of it are read.
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
    engine = _engine()
    triple = engine.Triple

    def renamed(found: re.Match[str]) -> str:
        label = found[1]
        if label is None:
            return found[0]
        if label not in blanks:
            assert fresh is not None
            blanks[label] = fresh()
        return f"_:{blanks[label]}"

    def text(term: Any) -> str:
        shown = f"<<( {term} )>>" if isinstance(term, triple) else str(term)
        return shown if fresh is None or "_:" not in shown else _BLANK.sub(renamed, shown)

    watched = _WatchedStream(file, is_bounded=kind.name == "rdfxml")
    last = ""
    try:
        for quad in engine.parse(watched, _engine_format(kind), base_iri=base):
            watched.unsaid = 0
            graph, subject, predicate, value = (
                str(quad.graph_name),
                text(quad.subject),
                str(quad.predicate),
                text(quad.object),
            )
            last = f"{subject} {predicate}"
            if len(value) > MAX_TERM_BYTES:
                raise errors.LimitExceeded(
                    f"{name or 'The text'}: a term of {last:.400} has {len(value.encode()):,} bytes", _LONG
                )
            yield subject, predicate, value, None if graph == "DEFAULT" else text(graph)
    except (MemoryError, _StatementTooLong) as error:
        if isinstance(error, MemoryError) and "buffer" not in str(error):
            raise
        where, beginning = watched.place() if kind.name != "jsonld" else ("", "")
        # Of RDF/XML it is known what was read when the last statement was said, which may be some of this one.
        is_after = bool(last) and (not beginning or kind.name == "rdfxml")
        excerpt = f", after {last:.400}" if is_after else f": {beginning:.200}…" if beginning else ""
        raise errors.LimitExceeded(
            f"{name or 'The text'}{where}: a statement is longer than {_BUFFER_BYTES:,} bytes{excerpt}", _LONG
        ) from None
    except SyntaxError as error:
        raise _malformed(error, kind, name) from None
    except ValueError as error:
        raise errors.MalformedFile(f"{name or 'The text'} is not valid {kind.name}: {error}", "Correct it") from None


class _StatementTooLong(Exception):
    """A statement is too long, in a format whose parser has no limit."""


class _WatchedStream:
    """A stream, and how much of it was read: in all, and since the last statement was said."""

    def __init__(self, file: IO[bytes], *, is_bounded: bool) -> None:
        self._file, self._is_bounded = file, is_bounded
        try:
            self._begin = file.tell()
        except (AttributeError, OSError):
            self._begin = -1
        self._all = self.unsaid = 0

    def read(self, size: int = -1) -> bytes:
        """Read on; at most the parser's buffer for one statement."""
        data = self._file.read(size)
        self._all += len(data)
        self.unsaid += len(data)
        if self._is_bounded and self.unsaid > _BUFFER_BYTES:
            raise _StatementTooLong
        return data

    def place(self) -> tuple[str, str]:
        """The line and the beginning of a statement that is too long; empty for a pipe."""
        left = self._all - (self.unsaid if self._is_bounded else _BUFFER_BYTES)
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


def _malformed(error: SyntaxError, kind: RdfFormat, name: str) -> errors.MalformedFile:
    said = re.sub(r"^Parser error at [^:]*: ", "", str(error.msg))[:200]
    if error.lineno is None:
        return errors.MalformedFile(f"{name or 'The text'} is not valid {kind.name}: {said}", "Correct it", file=name)
    where = f"line {error.lineno}, column {error.offset}"
    is_relative = said.startswith("No scheme found")
    return errors.MalformedFile(
        f"{name + ', ' if name else ''}{where}: {said}",
        "Write the full IRI, or give the base that it is relative to; nothing was written"
        if is_relative
        else "Correct that place; nothing was written",
        file=name,
        line=error.lineno,
        column=error.offset,
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
