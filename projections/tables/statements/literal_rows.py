"""Literals of statements as texts, whatever datatype they have, found where a statement that says them holds.

Each is a document of the world that states it, numbered by its term behind all versions. One that is stated once more
is no other document: its term has one number in its world, from the commit on that first said it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from worlddb.log.model import blobs, codec, times
from worlddb.log.model import events as ev
from worlddb.log.statements import terms
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.statements import statement_rows
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import FIRST_LITERAL

_NO_TEXTS: Final = frozenset(terms.XSD + name for name in ("base64Binary", "hexBinary"))
"""Datatypes of literals that are not texts for people."""
Admits = Callable[[times.Interval], bool]


class Literal(NamedTuple):
    """A literal of a world: the number of its document, the commit that first said it, and its text."""

    node: int
    number: int
    seq: int
    text: str


def literals_of_event(log: LmdbLog, tables: Tables, seq: int, event: ev.Stated) -> Iterator[Literal]:
    """The literals that an event of a commit was the first to say in its world."""
    node = tables.node_of(event.lineage)
    texts = () if node is None or not event.terms else _read_names(log, seq, event.details)
    for place, (number, text) in enumerate(zip(event.terms, texts, strict=False)):
        said = _text(text)
        if said is not None and node is not None:
            row = statement_rows.term(tables, node, number)
            if row is not None and row[:3] == (seq, event.details, place):
                yield Literal(node, FIRST_LITERAL + number, seq, said)


def literals_of_world(
    log: LmdbLog, tables: Tables, node: int, wanted: Collection[int] | None = None
) -> Iterator[Literal]:
    """The literals that a world ever stated and whose texts are there; with ``wanted``, those of these terms."""
    place, texts = (-1, -1), ()  # type: tuple[int, int], tuple[str, ...]
    rows = (
        statement_rows.terms_of(tables, node)
        if wanted is None
        else ((number, row) for number in sorted(wanted) if (row := statement_rows.term(tables, node, number)))
    )
    for number, row in rows:
        if row[:2] != place:
            place, texts = (row.seq, row.position), _read_names(log, row.seq, row.position)
        said = _text(texts[row.place]) if row.place < len(texts) else None
        if said is not None:
            yield Literal(node, FIRST_LITERAL + number, row.seq, said)


def text_of(log: LmdbLog, tables: Tables, node: int, number: int) -> str:
    """The text of a literal by the number of its document; empty once erased."""
    return next((each.text for each in literals_of_world(log, tables, node, (number - FIRST_LITERAL,))), "")


def statings(tables: Tables, node: int, number: int) -> Iterator[statement_rows.Stating]:
    """Every stating of a world whose object is the literal of a document."""
    return statement_rows.matching(tables, node, (None, None, number - FIRST_LITERAL, None))


def holds(tables: Tables, node: int, number: int, seq: int, admits: Admits) -> bool:
    """True if a statement with a literal is known at a commit and its window matches the request."""
    return any(
        each.since <= seq < each.until and admits(times.Interval(each.valid_from, each.valid_to))
        for each in statings(tables, node, number)
    )


def _read_names(log: LmdbLog, seq: int, position: int) -> tuple[str, ...]:
    stored = None if position == ev.NONE else log.blob(seq, position)
    found = None if stored is None else codec.decode_blob(stored, seq)
    return tuple(found.aliases) if isinstance(found, blobs.Details) else ()


def _text(term: str) -> str | None:
    """What a literal says; ``None`` for any other term, and for bytes."""
    if not term.startswith('"'):
        return None
    if term.endswith('"') and "\\" not in term:
        return term[1:-1]
    found = terms.term_of(term)
    return found.value if isinstance(found, terms.Literal) and found.datatype not in _NO_TEXTS else None
