"""Read the statements of worlds as of a view's moment: records by pattern, N-Quads, and what commits changed.

A statement with an erased text is left out. A confined view sees the statements of its world and of the worlds inside
it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.model import blobs, errors, hashing, times
from worlddb.log.model import bundle as fr
from worlddb.log.model import events as ev
from worlddb.log.statements import bundled_statements, terms
from worlddb.log.statements.bundled_statements import Windows
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.statements.statement_rows import DEFAULT_GRAPH, Quad, Stating, TermRow
from worlddb.projections.tables.storage.rows import Tables
from worlddb.query.records.records import Erasure
from worlddb.query.snapshot import erasure_notes
from worlddb.query.snapshot.snapshot import Snapshot
from worlddb.query.snapshot.visible import VisibleSnapshot

ANY: Final = "any"
"""Statements of every graph; ``None`` is the default graph alone."""
_MAX_CACHED_LISTS: Final = 512
"""How many lists of terms one look keeps decoded."""


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement: ``subject predicate object`` in a graph (``None``: the default graph) of a world.

    ``valid`` is the window in which it holds as of the view, ``ingested_at`` and ``seq`` the time and number of the
    commit that said so. ``id`` stands for it in the hash of its world, and ``row`` for its place among the rows.
    """

    subject: terms.Node
    predicate: terms.Iri
    object: terms.Term
    graph: terms.Node | None
    world: str
    valid_from: int
    valid_to: int
    ingested_at: int
    seq: int
    author: str
    source: dict[str, Any]
    id: str
    row: tuple[int, int, int, int]

    def __str__(self) -> str:
        graph = "" if self.graph is None else f" {self.graph}"
        return f"{self.subject} {self.predicate} {self.object}{graph} ."


class ErasedStatement(msgspec.Struct, frozen=True, kw_only=True):
    """The remains of a statement with an erased text, in the form of :class:`Statement`.

    ``erased`` names the parts whose texts are gone, which are ``None`` here. ``erasure`` says when, by whom and under
    which reference, as far as the log of this store does.
    """

    subject: terms.Node | None
    predicate: terms.Iri | None
    object: terms.Term | None
    graph: terms.Node | None
    erased: tuple[str, ...]
    erasure: Erasure | None
    world: str
    valid_from: int
    valid_to: int
    ingested_at: int
    seq: int
    author: str
    source: dict[str, Any]
    id: str

    def __str__(self) -> str:
        parts = [terms.ERASED if name in self.erased else getattr(self, name) for name in _PARTS]
        return " ".join(str(each) for each in (*parts, ".") if each is not None)


_PARTS: Final = ("subject", "predicate", "object", "graph")


class Texts:
    """The texts of a world's terms, by their numbers."""

    def __init__(self, snapshot: Snapshot, world: int) -> None:
        self._snapshot = snapshot
        self._world = world
        self._said: OrderedDict[tuple[int, int], blobs.Details] = OrderedDict()
        self._found: dict[int, str | None] = {DEFAULT_GRAPH: ""}
        self._rows: dict[int, TermRow | None] = {}
        self._terms: dict[int, terms.Term | None] = {DEFAULT_GRAPH: None}

    def know(self, numbers: Iterable[int | None], texts: Iterable[str | None]) -> None:
        """Take the texts of terms that were found by them."""
        self._found.update((number, text) for number, text in zip(numbers, texts, strict=True) if number and text)

    def text(self, number: int) -> str | None:
        """The text of a term; ``None`` once erased."""
        if number in self._found:
            return self._found[number]
        row = self._row(number)
        found = self._found[number] = None if row is None else self._of(row)
        return found

    def read_all(self) -> None:
        """Read the texts of all terms list by list, which is faster than in the order of the statements."""
        for number, row in statement_rows.terms_of(self._snapshot.tables, self._world):
            self._found[number] = self._of(row)

    def terms(self, quad: Quad) -> list[Any] | None:
        """The terms of a quad, no graph for the default one; ``None`` if the text of one was erased."""
        known = self._terms
        for number in quad:
            if number not in known:
                text = self.text(number)
                if text is None:
                    return None
                known[number] = terms.term_of(text)
        return [known[number] for number in quad]

    def leaf(self, quad: Quad) -> bytes:
        """The leaf of a quad in the hash of the world."""
        rows = self._rows
        return hashing.statement_leaf(
            [row.identity if (row := rows[each] if each in rows else self._row(each)) else b"" for each in quad]
        )

    def _row(self, number: int) -> TermRow | None:
        if number not in self._rows:
            self._rows[number] = statement_rows.term(self._snapshot.tables, self._world, number)
        return self._rows[number]

    def _of(self, row: TermRow) -> str | None:
        listed = self.said(row.seq, row.position).aliases
        return (listed[row.place] or None) if row.place < len(listed) else None

    def said(self, seq: int, position: int) -> blobs.Details:
        """The details of a command in a commit."""
        known = self._said.get((seq, position))
        if known is None:
            known = self._said[seq, position] = self._snapshot.details(seq, position)
            if len(self._said) > _MAX_CACHED_LISTS:
                self._said.popitem(last=False)
        return known

    def quad(self, quad: Quad) -> tuple[str, str, str, str] | None:
        """The texts of a quad, an empty one for the default graph; ``None`` if one was erased."""
        return bundled_statements.complete_texts(self.known(quad))

    def known(self, quad: Quad) -> bundled_statements.Known:
        """As :meth:`quad`, with ``None`` in the place of a text that was erased."""
        subject, predicate, object_, graph = map(self.text, quad)
        return subject, predicate, object_, graph


def spans_by_line(snapshot: Snapshot, world: int, seq: int) -> dict[str, Windows]:
    """When each statement of a world holds as known at a commit, by its line, or by its leaf once erased."""
    texts, held = Texts(snapshot, world), dict[Quad, list[times.Interval]]()
    for each in statement_rows.known_at(snapshot.tables, world, seq):
        held.setdefault(each.quad, []).append(times.Interval(each.valid_from, each.valid_to))
    return {
        bundled_statements.statement_line(texts.known(quad), statement_rows.leaf_of(snapshot.tables, world, quad)): (
            bundled_statements.merge_windows(windows)
        )
        for quad, windows in held.items()
    }


class Pattern(NamedTuple):
    """A pattern of statements, as stored texts; ``None`` matches all, an empty graph is the default one."""

    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    graph: str | None = None


Numbers = tuple[int | None, int | None, int | None, int | None]
"""The numbers of a pattern's terms in a world; ``None`` is any."""
_ANY: Final[Numbers] = (None, None, None, None)


def _numbers(snapshot: Snapshot, world: int, pattern: Pattern) -> Numbers | None:
    """The numbers of a pattern's terms in a world; ``None`` if nothing there was ever said with one of them."""
    numbers: list[int | None] = []
    for place, text in enumerate(pattern):
        if text is None:
            numbers.append(None)
        elif not text and place == len(pattern) - 1:
            numbers.append(DEFAULT_GRAPH)
        else:
            found = statement_rows.number_of(snapshot.tables, world, text)
            if found is None:
                return None
            numbers.append(found)
    return tuple(numbers)  # type: ignore[return-value]


def _matching_quads(
    snapshot: VisibleSnapshot, world: int, numbers: Numbers, after: Quad | None = None
) -> Iterator[Stating]:
    """The statings that hold in a world at a snapshot's moment, in the order of the rows, behind a quad."""
    moment = snapshot.place.moment
    for stating in statement_rows.matching(snapshot.stored.tables, world, numbers, after):
        if stating.holds(moment.seq, moment.valid):
            yield stating


def stating_worlds(snapshot: VisibleSnapshot) -> Iterator[int]:
    """The worlds of a view in which anything was ever stated, in log order."""
    return (each for each in statement_rows.worlds(snapshot.stored.tables) if snapshot.sees(each))


def find_statements(
    snapshot: VisibleSnapshot, world: int, pattern: Pattern, after: Quad | None = None
) -> Iterator[Statement]:
    """The statements of a world that hold at the moment of a snapshot, behind those of a quad."""
    whole = snapshot.stored
    texts, ref = Texts(whole, world), whole.tables.node(world).lineage.hex()
    numbers = _numbers(whole, world, pattern)
    if numbers is None:
        return
    texts.know(numbers, pattern)
    commits: dict[tuple[int, int], tuple[int, str, dict[str, Any]]] = {}
    for stating in _matching_quads(snapshot, world, numbers, after):
        spoken = texts.terms(stating.quad)
        if spoken is None:
            continue
        place = stating.origin, stating.details
        if place not in commits:
            header = whole.log.header(stating.origin)
            commits[place] = header.ingest_time, header.author, texts.said(*place).source
        ingested_at, author, source = commits[place]
        subject, predicate, object_, graph = spoken
        yield Statement(
            subject=subject,
            predicate=predicate,
            object=object_,
            graph=graph,
            world=ref,
            valid_from=stating.valid_from,
            valid_to=stating.valid_to,
            ingested_at=ingested_at,
            seq=stating.origin,
            author=author,
            source=source,
            id=texts.leaf(stating.quad).hex(),
            row=stating.quad,
        )


def erased_statements(snapshot: VisibleSnapshot, world: int) -> Iterator[ErasedStatement]:
    """The statements of a world that are valid at the moment of a snapshot and have lost a text by erasure."""
    whole = snapshot.stored
    texts, ref = Texts(whole, world), whole.tables.node(world).lineage.hex()
    rows = statement_rows.terms_of(whole.tables, world)
    without = {number for number, row in rows if row.digest == statement_rows.NO_DIGEST}
    found = (
        (each for each in _matching_quads(snapshot, world, _ANY) if not without.isdisjoint(each.quad))
        if without
        else ()
    )
    remains = [(each, texts.known(each.quad)) for each in found]
    by = erasure_notes.literal_erasures(whole, world) if remains else {}
    last = erasure_notes.erasure_of(whole, world) if remains else None
    for stating, known in remains:
        parts = {name: terms.term_of(text) if text else None for name, text in zip(_PARTS, known, strict=True)}
        gone = [number for number, text in zip(stating.quad, known, strict=True) if text is None]
        header = whole.log.header(stating.origin)
        yield ErasedStatement(
            **parts,  # type: ignore[arg-type]
            erased=tuple(name for name, text in zip(_PARTS, known, strict=True) if text is None),
            erasure=next((by[each] for each in gone if each in by), last),
            world=ref,
            valid_from=stating.valid_from,
            valid_to=stating.valid_to,
            ingested_at=header.ingest_time,
            seq=stating.origin,
            author=header.author,
            source=texts.said(stating.origin, stating.details).source,
            id=texts.leaf(stating.quad).hex(),
        )


def statement_texts(snapshot: VisibleSnapshot, world: int, pattern: Pattern) -> Iterator[tuple[str, str, str, str]]:
    """The stored texts of the statements of a world that hold at the moment, an empty one for the default graph."""
    numbers = _numbers(snapshot.stored, world, pattern)
    known = Texts(snapshot.stored, world)
    for stating in () if numbers is None else _matching_quads(snapshot, world, numbers):
        spoken = known.quad(stating.quad)
        if spoken is not None:
            yield spoken


def count_statements(snapshot: VisibleSnapshot, world: int) -> int:
    """How many statements hold in a world at the moment of a snapshot."""
    texts = Texts(snapshot.stored, world)
    return sum(texts.quad(each.quad) is not None for each in _matching_quads(snapshot, world, _ANY))


class Bounds:
    """A stretch of valid time in which none of the statements that were read begins or ends."""

    def __init__(self) -> None:
        self.start, self.end = times.ALWAYS, times.FOREVER

    def has(self, valid: int) -> bool:
        """Whether a valid time lies in it."""
        return self.start <= valid < self.end

    def narrow(self, stating: Stating, valid: int) -> None:
        """Leave out when a stating begins and ends, as far as that is not at ``valid``."""
        for time in (stating.valid_from, stating.valid_to):
            if time <= valid:
                self.start = max(self.start, time)
            else:
                self.end = min(self.end, time)


def quad_lines(
    snapshot: VisibleSnapshot, world: int, *, bounds: Bounds | None = None, flat: bool = False
) -> Iterator[bytes]:
    """The statements of a world at the moment as lines of N-Quads, blank nodes as Skolem IRIs.

    ``flat``: without their graphs. ``bounds`` are narrowed to a stretch around the moment in which the same holds.
    """
    texts = Texts(snapshot.stored, world)
    texts.read_all()
    seq, valid = snapshot.place.moment

    def holding() -> Iterator[Quad]:
        for stating in statement_rows.matching(snapshot.stored.tables, world, _ANY):
            if stating.since <= seq < stating.until:
                if bounds is not None:
                    bounds.narrow(stating, valid)
                if stating.valid_from <= valid < stating.valid_to:
                    yield stating.quad

    return _lines(texts, holding(), flat)


def reified_lines(snapshot: VisibleSnapshot, world: int) -> Iterator[bytes]:
    """The statements of a world at the moment as lines of N-Quads, each with a reifier (RDF 1.2) that says of it what
    the store knows: when it holds, when and by whom it was stated, its source, and the ``confidence`` that this has."""
    for number, each in enumerate(find_statements(snapshot, world, Pattern())):
        node, graph = f"_:r{number}", "" if each.graph is None else f" {each.graph}"
        facts: list[tuple[str, str]] = [
            ("ingestedAt", _time(each.ingested_at)),
            ("author", str(terms.Literal(each.author))),
        ]
        if each.valid_from > times.ALWAYS:
            facts.append(("validFrom", _time(each.valid_from)))
        if each.valid_to < times.FOREVER:
            facts.append(("validTo", _time(each.valid_to)))
        if each.source:
            facts.append(("source", str(terms.Literal(msgspec.json.encode(each.source).decode()))))
        sure = each.source.get("confidence")
        if isinstance(sure, int | float) and not isinstance(sure, bool):
            facts.append(("confidence", str(terms.Literal(str(float(sure)), terms.XSD + "double"))))
        triple = f"<<( {each.subject} {each.predicate} {each.object} )>>"
        yield f"{each}\n{node} <{terms.RDF}reifies> {triple}{graph} .\n".encode()
        yield "".join(f"{node} <{terms.NAMESPACE}{name}> {text}{graph} .\n" for name, text in facts).encode()


def _time(time: int) -> str:
    return str(terms.Literal(times.format_time(time), terms.XSD + "dateTime"))


def _lines(texts: Texts, quads: Iterator[Quad], flat: bool = False) -> Iterator[bytes]:
    for quad in quads:
        found = texts.quad(quad)
        if found is not None:
            subject, predicate, object_, graph = found
            if flat:
                graph = ""
            yield f"{subject} {predicate} {object_}{' ' * bool(graph)}{graph} .\n".encode()


def changes(
    snapshot: VisibleSnapshot,
    world: int,
    before: tuple[int, int],
    after: tuple[int, int],
    *,
    bounds: Bounds | None = None,
) -> tuple[list[bytes], list[bytes]]:
    """The lines of :func:`quad_lines` that a world lost and gained between two moments (commit and valid time).

    Only the rows of quads that commits in between named are read, and of those whose window begins or ends in between
    if the valid times differ. ``bounds`` are narrowed to a stretch around ``after`` by what these quads come to.
    """
    tables = snapshot.stored.tables
    if before[1] == after[1] and abs(after[0] - before[0]) < FEW_COMMITS:
        asked = chain.from_iterable(
            statement_rows.matching(tables, world, quad) for quad in named_quads(snapshot, world, before[0], after[0])
        )
    else:
        asked = chain(statement_rows.matching(tables, world, _ANY))
    held: set[Quad] = set()
    holds: set[Quad] = set()
    for stating in asked:
        if stating.holds(*before):
            held.add(stating.quad)
        if stating.holds(*after):
            holds.add(stating.quad)
        if bounds is not None and stating.since <= after[0] < stating.until:
            bounds.narrow(stating, after[1])
    texts = Texts(snapshot.stored, world)
    removed, added = sorted(held - holds), sorted(holds - held)
    return list(_lines(texts, iter(removed))), list(_lines(texts, iter(added)))


FEW_COMMITS: Final = 1_000
_KINDS: Final = frozenset({ev.Stated, ev.Unstated})


def named_quads(snapshot: VisibleSnapshot, world: int, one: int, other: int) -> list[Quad]:
    """The quads of a world that the commits between two are about."""
    whole = snapshot.stored
    lineage, named = whole.tables.node(world).lineage, dict[Quad, None]()
    for seq in range(min(one, other) + 1, max(one, other) + 1):
        for event in whole.log.some_events(seq, _KINDS):  # type: ignore[arg-type]
            if isinstance(event, ev.Stated | ev.Unstated) and event.lineage == lineage:
                named.update(dict.fromkeys(ev.quads_of(event.quads)))
    return list(named)


def parse_pattern(subject: Any, predicate: Any, object_: Any, graph: Any) -> Pattern:
    """A pattern of terms, or of their texts.

    Raises:
        InputError: one of them is no term.
    """
    one, two, three = (None if each is None else text_of(each) for each in (subject, predicate, object_))
    return Pattern(one, two, three, None if graph == ANY else "" if graph is None else text_of(graph))


def text_of(given: Any) -> str:
    """The stored text of a term that was given as a value or as its N-Triples text.

    Raises:
        InputError: it is no term.
    """
    if isinstance(given, str):
        return given if terms.is_plain(given) and terms.SKOLEM not in given else terms.stored_text(terms.term_of(given))
    if isinstance(given, terms.Iri | terms.Literal | terms.BlankNode | terms.Triple):
        return terms.stored_text(given)
    raise errors.InputError(
        f"A term is {type(given).__name__}", "Give an Iri, a Literal, a BlankNode, or the text of one in N-Triples"
    )


def statement_frames(
    tables: Tables, world: int, seq: int, blob: Callable[[int, int], bytes], commit: Callable[[int], int]
) -> Iterator[fr.AnyFrame]:
    """The statements of a world that are known at a commit, at any valid time; first the terms that they name.

    ``blob`` gives the id of a text of a commit, ``commit`` the number of a commit; both see that it is in the bundle.
    """
    known = statement_rows.known_at(tables, world, seq)
    named = sorted({number for each in known for number in each.quad} - {DEFAULT_GRAPH})
    found = [row for number in named if (row := statement_rows.term(tables, world, number)) is not None]
    numbers = {number: at for at, number in enumerate([DEFAULT_GRAPH, *named])}
    for place, rows in groupby(found, key=lambda row: row[:2]):
        yield fr.TermsFrame(blob(*place), commit(place[0]), [row.place for row in rows])
    said: dict[tuple[int, int, int, int], list[Quad]] = {}
    for each in known:
        said.setdefault((each.origin, each.details, each.valid_from, each.valid_to), []).append(each.quad)
    for (origin, details, begins, ends), quads in said.items():
        flat = [numbers[number] for quad in quads for number in quad]
        yield fr.StatedFrame(flat, begins, ends, blob(origin, details), commit(origin))
