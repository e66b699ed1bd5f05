"""The program of a worker process: it holds RDF stores in memory, or parses RDF, and answers request after request.

It runs as a script and imports nothing of the product, so that it starts within some fifty milliseconds. A frame, in
either direction, is the length of its head (four bytes, big-endian), the head as JSON, and the body, whose length the
head gives as ``bytes``.

The kernel enforces its limits, so no query gets around them: an alarm whose default action ends the process, a limit of
the address space, and no free file descriptor, so that no socket and no file can be opened. A pipe that its parent
holds open ends it by a signal as soon as the parent is gone.
"""

import fcntl
import gc
import io
import json
import os
import re
import resource
import signal
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO, Any, Final, NoReturn

sys.path.extend(sys.argv[2:3])

import pyoxigraph as ox

Head = dict[str, Any]
"""What a frame begins with, either way."""
MAX_STORES: Final = 16
MAX_STATEMENTS: Final = 2_000_000
"""Of all stores together; the one that was asked longest ago goes first."""
RESULTS: Final = {
    "json": (ox.QueryResultsFormat.JSON, b"},{", re.compile(rb'"(?:[^"\\]|\\.)*"')),
    "xml": (ox.QueryResultsFormat.XML, b"<result>", None),
    "csv": (ox.QueryResultsFormat.CSV, b"\r\n", re.compile(rb'"(?:[^"]|"")*"')),
    "tsv": (ox.QueryResultsFormat.TSV, b"\n", None),
}
"""By name: the format, what stands between rows or begins one, and where that might stand without being meant."""


class OutputLimitExceeded(Exception):
    """An answer is larger than was allowed; the argument says in what."""


class Sink:
    """Takes an answer as it is written, as long as it has no more bytes and rows than are allowed."""

    def __init__(self, most_bytes: int, most_rows: int, mark: bytes = b"", quoted: re.Pattern[bytes] | None = None):
        self.parts: list[bytes] = []
        self.over = ""
        self._bytes, self._rows = most_bytes, most_rows
        self._size = self._marks = 0
        self._mark, self._quoted = mark, quoted

    def write(self, data: bytes) -> int:
        data = bytes(data)
        self.parts.append(data)
        self._size += len(data)
        if self._size > self._bytes:
            self._refuse("bytes")
        if self._mark:
            self._marks += data.count(self._mark)
            # The mark may lie across two writes; the count at the end is exact.
            if self._marks > self._rows + 1:
                self.count()
        return len(data)

    def count(self) -> None:
        """Count rows exactly, and refuse too many."""
        if not self._mark:
            return
        whole = b"".join(self.parts)
        self.parts = [whole]
        bare = whole if self._quoted is None else self._quoted.sub(b"", whole)
        self._marks = bare.count(self._mark) - (self._mark in (b"\r\n", b"\n")) + (self._mark == b"},{")
        if self._marks > self._rows:
            self._refuse("rows")

    def counted(self, triples: Iterable[Any]) -> Iterator[Any]:
        """The same triples, as long as there are no more than rows are allowed."""
        for number, triple in enumerate(triples, 1):
            if number > self._rows:
                self._refuse("rows")
            yield triple

    def flush(self) -> None:
        """Nothing is held back."""

    def _refuse(self, what: str) -> NoReturn:
        self.over = what
        raise OutputLimitExceeded(what)


class Stores:
    """The cached stores by their keys, and the requests that they answer."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, ox.Store] = OrderedDict()
        self._sizes: dict[str, int] = {}
        """Lines by key; to count the statements of a store takes as long as it has many."""

    def load(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        """Add lines of N-Quads to a store; with ``graph``, lines of N-Triples to that graph of it.

        With ``anew`` the store has nothing else. Answers the keys of what is kept, the one asked last at the end.
        """
        key = head["key"]
        if head["anew"] and self._kept.pop(key, None) is not None:
            del self._sizes[key]
            gc.collect()
        store = self._kept.get(key)
        if store is None:
            store = self._kept[key] = ox.Store()
        self._kept.move_to_end(key)
        self._sizes[key] = self._sizes.get(key, 0) + body.count(b"\n")
        self._make_room()
        graph = None if head.get("graph") is None else ox.NamedNode(head["graph"])
        if graph is not None:
            store.add_graph(graph)
        blank = b""
        if b"_:" in body:  # The parser of a store renames blank nodes, and these keep their names.
            lines = body.splitlines(keepends=True)
            blank = b"".join(line for line in lines if b"_:" in line)
            body = b"".join(line for line in lines if b"_:" not in line)
        if graph is None:
            store.load(body, ox.RdfFormat.N_QUADS, lenient=True)
            store.extend(_quads(blank))
        else:
            store.load(body, ox.RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)
            store.extend(ox.Quad(each.subject, each.predicate, each.object, graph) for each in _quads(blank))
        return {"keys": list(self._kept)}, b""

    def change(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        """Take statements from a store, add others, and give it another key."""
        store = self._kept.pop(head["key"])
        cut = head["removed"]
        lines = body.count(b"\n", cut) - body.count(b"\n", 0, cut)
        self._sizes[head["to"]] = self._sizes.pop(head["key"]) + lines
        for quad in _quads(body[:cut]):
            store.remove(quad)
        store.extend(_quads(body[cut:]))
        for graph in list(store.named_graphs()):
            if next(iter(store.quads_for_pattern(None, None, None, graph)), None) is None:
                store.remove_graph(graph)
        self._kept[head["to"]] = store
        return {}, b""

    def query(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        """Answer a query."""
        store = self._asked(head)
        graphs: dict[str, Any] = {}
        if head.get("dataset") is not None:
            default, named = ([ox.NamedNode(iri) for iri in each] for each in head["dataset"])
            graphs = {"default_graph": default, "named_graphs": named}
        answer = store.query(body.decode(), prefixes=head["prefixes"], base_iri=head.get("base"), **graphs)
        if isinstance(answer, ox.QueryTriples):
            sink = Sink(head["most_bytes"], head["most_rows"])
            rdf = _format(head["triples"])
            _written(sink, lambda: ox.serialize(sink.counted(answer), _stream(sink), rdf, prefixes=_used(head, rdf)))
            return {"form": "graph", "format": head["triples"]}, b"".join(sink.parts)
        kind, mark, quoted = RESULTS[head["results"]]
        if isinstance(answer, ox.QueryBoolean):
            if head["results"] in ("csv", "tsv"):
                return {"form": "ask", "format": head["results"]}, b"true" if answer else b"false"
            return {"form": "ask", "format": head["results"]}, answer.serialize(format=kind) or b""
        sink = Sink(head["most_bytes"], head["most_rows"], mark, quoted)
        names = [variable.value for variable in answer.variables]
        _written(sink, lambda: answer.serialize(_stream(sink), kind))
        return {"form": "select", "variables": names, "format": head["results"]}, b"".join(sink.parts)

    def update(self, head: Head, body: bytes) -> tuple[Head, bytes]:
        """What an update takes away and what it adds, as lines; the store stays as it was. Without a key: of none.

        ``before`` is how many bytes of lines stand in front of the text: of what was taken from the store before the
        update, and of what was added to it. The parts of the answer are those of :meth:`Changed.said`, of which what is
        added without a form of its own is ``alike``.
        """
        store = self._asked(head) if head.get("key") else ox.Store()
        graphs = set(store.named_graphs())
        removed_length, added_length = head["before"]
        text = body[removed_length + added_length :].decode()
        before, changed = Changed(store), Changed(store)
        try:
            before.move(_quads(body[:removed_length]), _quads(body[removed_length : removed_length + added_length]))
            with suppress(OSError, RuntimeError):  # An empty store lacks graphs, but reads the text as it was given.
                ox.Store().update(text, prefixes=head["prefixes"])
            for step in head["steps"]:
                changed.step(head, *step)
        finally:
            changed.undo()
            before.undo()
            for graph in set(store.named_graphs()) - graphs:
                store.remove_graph(graph)
        changes = changed.said()
        added: Iterable[ox.Quad] = changes.pop("added")
        if head.get("repeatable"):
            added = list(_relabelled(store, added))
        changes |= {"added": [each for each in added if _is_exact(each)]}
        changes |= {"alike": [each for each in added if not _is_exact(each)]}
        copied = ox.serialize(changes.pop("copied"), format=ox.RdfFormat.N_QUADS) or b""
        lines = {"copied": copied} | {name: _sorted(map(_plain, quads)) for name, quads in changes.items()}
        if sum(map(len, lines.values())) > head["most_bytes"]:
            raise OutputLimitExceeded("bytes")
        return {"parts": {name: len(each) for name, each in lines.items()}}, b"".join(lines.values())

    def _asked(self, head: Head) -> ox.Store:
        self._kept.move_to_end(head["key"])
        return self._kept[head["key"]]

    def _make_room(self) -> None:
        while len(self._kept) > 1 and (len(self._kept) > MAX_STORES or sum(self._sizes.values()) > MAX_STATEMENTS):
            key, _ = self._kept.popitem(last=False)
            del self._sizes[key]


class Source:
    """An RDF text that the parent sends piece by piece, each in return for the rows found in the one before."""

    def __init__(self, head: Head, piece: bytes, requests: IO[bytes], answers: IO[bytes]) -> None:
        self.rows: list[str] = []
        self.consumed = self.said = 0
        """Bytes that were read in all, and up to the last row."""
        self._head, self._requests, self._answers = head, requests, answers
        self._piece = io.BytesIO(piece)
        self._length = 0

    def read(self, size: int = -1) -> bytes:
        """Read on; nothing is left when the parent sends an empty piece."""
        data = self._piece.read(size)
        if not data:
            rows = self.taken()
            # What the parent does with the rows takes no time of this text.
            signal.setitimer(signal.ITIMER_REAL, 0)
            _send(self._answers, {"end": None, "bytes": len(rows)}, rows)
            self._head, piece = _request(self._requests) or sys.exit()
            self._piece = io.BytesIO(piece)
            data = self._piece.read(size)
        self.consumed += len(data)
        if self.consumed - self.said > self._head["most_unsaid"]:
            raise OutputLimitExceeded("statement")
        return data

    def put(self, row: str) -> None:
        """Keep a row for the parent.

        Raises:
            OutputLimitExceeded: the rows are far longer than the text that was sent.
        """
        self.rows.append(row)
        self.said = self.consumed
        self._length += len(row)
        if self._length > self._head["most_bytes"]:
            raise OutputLimitExceeded("bytes")

    def taken(self) -> bytes:
        """The rows that were not sent yet, as lines."""
        lines = "".join(self.rows).encode()
        self.rows, self._length = [], 0
        return lines


def _parse(head: Head, piece: bytes, requests: IO[bytes], answers: IO[bytes]) -> tuple[Head, bytes]:
    """Answer the rows of an RDF text: a line each, of four terms in N-Triples with tabs between them.

    The last answer says in ``end`` how it ended: ``done``, or why not; the rows before that place come with it.
    """
    source, most = Source(head, piece, requests, answers), head["most_term"]
    end: Head = {"end": "done"}
    try:
        for quad in ox.parse(_stream(source), _format(head["format"]), base_iri=head["base"]):
            subject, predicate, object_ = _shown(quad.subject), str(quad.predicate), _shown(quad.object)
            graph = "" if quad.graph_name == _DEFAULT else str(quad.graph_name)
            row = f"{subject}\t{predicate}\t{object_}\t{graph}\n"
            if len(row) > most and (size := max(map(len, (subject, predicate, object_, graph)))) > most:
                size = max(len(each.encode()) for each in (subject, predicate, object_, graph))
                end = {"end": "term", "of": f"{subject:.200} {predicate:.200}", "size": size}
                break
            source.put(row)
    except SyntaxError as error:
        end = {"end": "syntax", "message": str(error.msg), "line": error.lineno, "column": error.offset}
    except OutputLimitExceeded as error:
        end = {"end": str(error)}
    except MemoryError as error:
        if "buffer" not in str(error):
            return {"error": "memory", "message": ""}, b""
        end = {"end": "statement"}
    except RecursionError:
        return {"error": "depth", "message": ""}, b""
    except (OSError, ValueError, RuntimeError) as error:
        end = {"end": "failed", "message": str(error)}
    return end | {"consumed": source.consumed, "said": source.said}, source.taken()


_DEFAULT: Final = ox.DefaultGraph()


def _shown(term: Any) -> str:
    return f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)


Row = dict[str, Any]
"""A solution: terms by the names of their variables."""


class Changed:
    """What an update takes from a store and adds to it, each a set in order."""

    def __init__(self, store: ox.Store) -> None:
        self._store = store
        self.removed: dict[ox.Quad, None] = {}
        self.added: dict[ox.Quad, None] = {}
        self._forms: dict[ox.Quad, Forms] = {}
        """Of quads whose object may be written in several ways, by what the engine makes of them."""

    def step(
        self,
        head: Head,
        solutions: str,
        taken: str,
        given: str,
        default: list[str] | None,
        named: list[str] | None,
        whole: str,
        copied: tuple[str, str | None, str | None] | None,
    ) -> None:
        """Change what the solutions of one operation come to and look at nothing else, or compare all of it."""
        if whole:
            self.compare(head, whole, copied)
            return
        rows = _solutions(self._store, solutions, default, named, head) if solutions else [{}]
        into = _instantiated(rows, given, head)
        self.move(_instantiated(rows, taken, head), into)

    def move(self, taken: Iterable[ox.Quad], given: Iterable[ox.Quad]) -> None:
        """Take quads from the store as far as it has them, then add those that it has not."""
        store = self._store
        for quad, stored in _held(taken):
            forms = self._forms.get(stored)
            if stored in store:
                forms = self._forms_of(stored)
                if forms is not None and forms.is_left(quad):
                    continue
                store.remove(stored)
                _move(stored, self.added, self.removed)
            elif forms is not None and forms.taken and _is_exact(quad):
                forms.is_left(quad)  # With the form before it the store lost all of them.
        for quad, stored in _held(given):
            is_there = stored in store
            forms = self._forms_of(stored) if _is_exact(quad) or not is_there else None
            if forms is not None:
                forms.given[quad] = None
            if not is_there:
                store.add(stored)
                _move(stored, self.removed, self.added)

    def _forms_of(self, held: ox.Quad) -> "Forms | None":
        return self._forms.setdefault(held, Forms()) if _has_other_forms(held.object) else None

    def compare(self, head: Head, text: str, copied: tuple[str, str | None, str | None] | None = None) -> None:
        """Evaluate operations as a whole, and compare all that the store has before and after.

        ``copied``: one that copies between two graphs, and with a quad the forms in which it is written.
        """
        verb, *graphs = copied or ("",)
        source, target = ([*self._with_forms(graph)] for graph in graphs) if graphs else ([], [])
        forms = {quad.triple: self._forms.get(quad, Forms()) for quad in source}
        before = _lines(self._store)
        self._store.update(text, prefixes=head["prefixes"])
        after = _lines(self._store)
        for quad in _quads(b"".join(before - after)):
            _move(quad, self.added, self.removed)
            if _has_other_forms(quad.object):
                self._forms[quad] = Forms(cleared=True)
        for quad in _quads(b"".join(after - before)):
            _move(quad, self.removed, self.added)
            if _has_other_forms(quad.object) and not copied:
                self._forms.setdefault(quad, Forms()).given[quad] = None
        if verb in ("COPY", "MOVE"):
            self._forms |= {quad: Forms(cleared=True) for quad in target}
        for quad in source:
            into = _in_graph(quad, _graph(graphs[1]))
            self._forms.setdefault(into, Forms()).take_over(quad, forms[quad.triple], into)

    def _with_forms(self, graph: str | None) -> Iterator[ox.Quad]:
        found = self._store.quads_for_pattern(None, None, None, _graph(graph))
        return (quad for quad in found if _has_other_forms(quad.object))

    def said(self) -> dict[str, Iterable[ox.Quad]]:
        """The quads by the change that they make to the stored ones, which may have other forms of them.

        ``every`` is taken away in each form, ``once`` in its own and otherwise in each, ``own`` in its own alone. Of
        two that are ``copied``, the first is added in the forms of the second.
        """
        found: dict[str, list[ox.Quad]] = {"every": [], "once": [], "own": [], "copied": []}
        found["own"] = [quad for quad in self.removed if quad not in self._forms]
        added = [quad for quad in self.added if quad not in self._forms]
        for quad, forms in self._forms.items():
            if forms.cleared:
                found["every"].append(quad)
            for each, is_own in forms.taken.items():
                found["own" if is_own else "once"].append(each)
            added += forms.given
            for each in forms.sources:
                found["copied"] += (quad, each)
        return {**found, "added": added}

    def undo(self) -> None:
        """Leave in the store what it had before."""
        for quad in self.added:
            self._store.remove(quad)
        self._store.extend(self.removed)


class Forms:
    """What becomes of the forms in which one quad is written: all are cleared, or some taken, then others given."""

    def __init__(self, cleared: bool = False) -> None:
        self.cleared = cleared
        self.taken: dict[ox.Quad, bool] = {}
        """Whether its own form alone is meant: it was given by the same update."""
        self.given: dict[ox.Quad, None] = {}
        self.sources: dict[ox.Quad, None] = {}
        """Quads of other graphs, in the forms that these have."""

    def take_over(self, source: ox.Quad, other: "Forms", into: ox.Quad) -> None:
        """Give the forms of a quad of another graph."""
        self.given |= {_in_graph(each, into.graph_name): None for each in other.given}
        self.sources |= other.sources
        if not other.cleared:
            self.sources[source] = None

    def is_left(self, quad: ox.Quad) -> bool:
        """Take a form away, or what is alike in every form; whether another that was given is left."""
        if not _is_exact(quad):
            self.cleared = True
            self.taken.clear()
            self.given.clear()
            self.sources.clear()
        elif quad in self.given:
            del self.given[quad]
            self.taken[quad] = True
        else:
            self.taken.setdefault(quad, False)
            self.given.clear()
            self.sources.clear()
        return bool(self.given)


WRITTEN: Final = "urn:worlddb:written:"
"""What the datatype of a literal begins with that is to be written as it stands in the update."""
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"


def _has_other_forms(term: Any) -> bool:
    """Whether the engine may write a term otherwise than it is given."""
    if isinstance(term, ox.Triple):
        return _has_other_forms(term.object)
    return isinstance(term, ox.Literal) and term.datatype.value.startswith((_XSD, WRITTEN)) and not _is_string(term)


def _is_string(term: ox.Literal) -> bool:
    return term.datatype.value == _XSD + "string"


def _is_exact(quad: ox.Quad) -> bool:
    """True if a quad means only the written form of its literal."""
    term: Any = quad.object
    while isinstance(term, ox.Triple):
        term = term.object
    return isinstance(term, ox.Literal) and term.datatype.value.startswith(WRITTEN)


def _plain(quad: ox.Quad) -> ox.Quad:
    """A quad that was meant as it is written, without that mark."""
    if not _is_exact(quad):
        return quad
    return ox.Quad(quad.subject, quad.predicate, _unmarked(quad.object), quad.graph_name)


def _unmarked(term: Any) -> Any:
    if isinstance(term, ox.Triple):
        return ox.Triple(term.subject, term.predicate, _unmarked(term.object))
    return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype.value.removeprefix(WRITTEN)))


def _held(quads: Iterable[ox.Quad]) -> Iterator[tuple[ox.Quad, ox.Quad]]:
    """Quads as they are given, each with what the engine makes of it."""
    listed = list(quads)
    beside, is_at = ox.Store(), ox.NamedNode("urn:at")
    objects = list({quad.object for quad in listed if _is_exact(quad)})
    beside.extend(ox.Quad(ox.NamedNode(f"urn:{at}"), is_at, _unmarked(each)) for at, each in enumerate(objects))
    made = {objects[int(each.subject.value[4:])]: each.object for each in beside}
    for quad in listed:
        object_ = made.get(quad.object) if made else None
        yield quad, quad if object_ is None else ox.Quad(quad.subject, quad.predicate, object_, quad.graph_name)


def _move(quad: ox.Quad, undone: dict[ox.Quad, None], done: dict[ox.Quad, None]) -> None:
    if quad in undone:
        del undone[quad]
    else:
        done[quad] = None


def _stream(end: Sink | Source) -> IO[bytes]:
    return end  # type: ignore[return-value]  # It is only written to, or only read.


def _format(suffix: str) -> ox.RdfFormat:
    found = ox.RdfFormat.from_extension(suffix)
    assert found is not None
    return found


def _used(head: Head, kind: ox.RdfFormat) -> dict[str, str] | None:
    return head["prefixes"] if kind in (ox.RdfFormat.TURTLE, ox.RdfFormat.TRIG) else None


def _written(sink: Sink, write: Callable[[], object]) -> None:
    try:
        write()
    except Exception:
        if sink.over:
            raise OutputLimitExceeded(sink.over) from None
        raise
    sink.count()


def _quads(lines: bytes) -> Iterator[ox.Quad]:
    return iter(ox.parse(lines, ox.RdfFormat.N_QUADS, lenient=True)) if lines else iter(())


def _in_graph(quad: ox.Quad, graph: Any) -> ox.Quad:
    return ox.Quad(quad.subject, quad.predicate, quad.object, graph)


def _graph(iri: str | None) -> ox.NamedNode | ox.DefaultGraph:
    return ox.DefaultGraph() if iri is None else ox.NamedNode(iri)


def _lines(store: ox.Store) -> set[bytes]:
    return set((store.dump(format=ox.RdfFormat.N_QUADS) or b"").splitlines(keepends=True))


def _sorted(quads: Iterable[ox.Quad]) -> bytes:
    lines = ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""
    return b"".join(sorted(lines.splitlines(keepends=True)))


def _relabelled(store: ox.Store, quads: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
    """The same quads, in which new blank nodes have canonical labels (RDF Dataset Canonicalization 1.0)."""
    known: dict[ox.BlankNode, ox.NamedNode] = {}

    def is_there(node: ox.BlankNode) -> bool:
        places = ((node, None, None, None), (None, None, node, None), (None, None, None, node))
        return any(next(iter(store.quads_for_pattern(*place)), None) is not None for place in places)

    def renamed(term: Any, names: Callable[[Any], Any]) -> Any:
        if isinstance(term, ox.Triple):
            return ox.Triple(renamed(term.subject, names), term.predicate, renamed(term.object, names))
        return names(term)

    def each(some: Iterable[ox.Quad], names: Callable[[Any], Any]) -> Iterator[ox.Quad]:
        for quad in some:
            subject, object_ = renamed(quad.subject, names), renamed(quad.object, names)
            yield ox.Quad(subject, quad.predicate, object_, names(quad.graph_name))

    def hidden(term: Any) -> Any:
        if isinstance(term, ox.BlankNode) and term not in known and is_there(term):
            known[term] = ox.NamedNode(f"urn:kept:{term.value}")
        return known.get(term, term) if isinstance(term, ox.BlankNode) else term

    found = ox.Dataset(each(quads, hidden))
    found.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    shown = {name: node for node, name in known.items()}
    return each(found, lambda term: shown.get(term, term) if isinstance(term, ox.NamedNode) else term)


def _solutions(
    store: ox.Store, query: str, default: list[str] | None, named: list[str] | None, head: Head
) -> list[Row]:
    default_graph: Any = None if default is None else [ox.NamedNode(iri) for iri in default]
    named_graphs: Any = None if named is None else [ox.NamedNode(iri) for iri in named]
    prefixes = head["prefixes"]
    found = store.query(query, prefixes=prefixes, default_graph=default_graph, named_graphs=named_graphs)
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    return [{name: value for name in names if (value := row[name]) is not None} for row in found]


def _instantiated(rows: list[Row], template: str, head: Head) -> list[ox.Quad]:
    """The quads of a template for some solutions, which the engine reads from a graph of another store."""
    if not template or not rows:
        return []
    beside, own = ox.Store(), ox.BlankNode()  # Nobody else has the name of a new blank node.
    names = sorted({name for row in rows for name in row})
    is_row, number, graph = ox.NamedNode("urn:row"), f"row{own.value}", f"graph{own.value}"
    for at, row in enumerate(rows):
        node = ox.NamedNode(f"urn:row:{at}")
        beside.add(ox.Quad(node, is_row, node, own))
        beside.extend(ox.Quad(node, ox.NamedNode(f"urn:value:{name}"), value, own) for name, value in row.items())
    values = " ".join(f"OPTIONAL {{ ?{number} <urn:value:{name}> ?{name} }}" for name in names)
    pattern = f"{template} WHERE {{ GRAPH ?{graph} {{ ?{number} {is_row} ?{number} {values} }} }}"
    beside.update(pattern, prefixes=head["prefixes"])
    return [quad for quad in beside if quad.graph_name != own]


def _answer(stores: Stores, head: Head, body: bytes) -> tuple[Head, bytes]:
    try:
        found: tuple[Head, bytes] = getattr(stores, head["op"])(head, body)
        return found
    except KeyError as error:
        return {"error": "unknown", "message": str(error)}, b""
    except SyntaxError as error:
        return {"error": "syntax", "message": str(error.msg or error)}, b""
    except OutputLimitExceeded as error:
        return {"error": "over", "message": str(error)}, b""
    except MemoryError:
        return {"error": "memory", "message": ""}, b""
    except RecursionError:
        return {"error": "depth", "message": ""}, b""
    except (OSError, ValueError, RuntimeError) as error:
        return {"error": "failed", "message": str(error)}, b""


def _with_limits(head: Head) -> None:
    """Set the alarm and the limit of memory for one request; both end the process or the request, never the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = head["memory"]
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    signal.setitimer(signal.ITIMER_REAL, head["seconds"])


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    stores = Stores()
    while (asked := _request(requests)) is not None:
        head, body = asked
        found, text = _parse(head, body, requests, answers) if head["op"] == "parse" else _answer(stores, head, body)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(answers, found | {"bytes": len(text)}, text)
        if found.get("error") == "memory":
            return


def _request(requests: IO[bytes]) -> tuple[Head, bytes] | None:
    """The next request, whose limits hold from now on; ``None`` at the end."""
    if not (length := requests.read(4)):
        return None
    head = json.loads(requests.read(int.from_bytes(length, "big")))
    body = requests.read(head["bytes"])
    _with_limits(head)
    return head, body


def _send(answers: IO[bytes], head: Head, text: bytes = b"") -> None:
    packed = json.dumps(head).encode()
    answers.write(len(packed).to_bytes(4, "big") + packed)
    answers.write(text)
    answers.flush()


def _address_space_bytes() -> int:
    """Bytes of addresses that this process has by now; 0 where the machine does not say, and does not limit them."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def main() -> None:
    """Say that it is there, and answer until the parent closes the pipe, or is gone."""
    lifeline = int(sys.argv[1])
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent's, who ends it.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    start = {"takes": _address_space_bytes(), "most": None if hard == resource.RLIM_INFINITY else hard}
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 2)  # Nobody reads what the engine says from here on.
    os.close(silent)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))
    _send(sys.stdout.buffer, start)
    _serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
