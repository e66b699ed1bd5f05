"""Statements in the tables: terms of a world by digest and by number, and three orders with both axes of time.

A *stating* is a rectangle: a quad holds from ``valid_from`` to ``valid_to`` in the world, and is known from commit
``since`` until commit ``until``. The live statings of one quad never overlap. Each order has all of a stating in its
row, so that a pattern as of a moment is one scan. A term is numbered within its world, in log order, and its text lies
in a blob of that world alone: what erases the world erases its terms, and worlds share nothing.

In the hash of the world a quad is a leaf of the trie of its interior edges, as long as any stating of it is live.
"""

import struct
from collections.abc import Iterable, Iterator, Set
from itertools import chain, repeat
from typing import Any, Final, NamedTuple, Protocol

from blake3 import blake3

from worlddb.log.model import events as ev
from worlddb.log.model import hashing
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables

DEFAULT_GRAPH: Final = 0
"""The number that stands for the default graph; those of terms begin with 1."""
MAX_TERMS: Final = 2**32 - 1
ORDERS: Final = ("by_subject", "by_predicate", "by_object")
_PLACES: Final = {"by_subject": (0, 1, 2, 3), "by_predicate": (1, 2, 0, 3), "by_object": (2, 0, 1, 3)}
"""Where in a row of each order subject, predicate, object and graph come from."""
_KEY = struct.Struct(">QIIIIQq")
_BEHIND: Final = b"\xff" * 16
"""What stands behind the four numbers of a key to come behind all keys of the quad."""
_QUAD = struct.Struct(">QIIII")
_VALUE = struct.Struct(">QqQi")
_TERM_KEY = struct.Struct(">QI")
_TERM = struct.Struct(">QiI16s32s")
_U32 = schema.U32
NO_DIGEST: Final = bytes(16)
"""Of a term whose text is erased."""

Quad = ev.Quad
"""The numbers of subject, predicate, object and graph in one world."""


class TermRow(NamedTuple):
    """A term: the text ``index`` of the details ``position`` of commit ``seq``, and its hash."""

    seq: int
    position: int
    place: int
    digest: bytes
    identity: bytes


class Stating(NamedTuple):
    """A quad with the rectangle in which it holds, and the commit and details that said so first."""

    quad: Quad
    since: int
    until: int
    valid_from: int
    valid_to: int
    origin: int
    details: int

    def holds(self, seq: int, valid: int) -> bool:
        """Whether it is known at a commit, and holds at a valid time."""
        return self.since <= seq < self.until and self.valid_from <= valid < self.valid_to


class Applying(Protocol):
    """What events are applied through."""

    tables: Tables
    seq: int
    blobs: Any
    pending_hashes: Any

    def number(self, lineage: bytes) -> int:
        """The number of a lineage that an event names."""


def text_digest(text: str) -> bytes:
    """The digest by which the text of a term is found."""
    return blake3(text.encode()).digest(16)


# -- terms


def number_of(tables: Tables, world: int, text: str) -> int | None:
    """The number of a term in a world; ``None`` if nothing there was ever said with it, or its text was erased."""
    found = tables.terms.get(schema.U64.pack(world) + text_digest(text))
    return None if found is None else int(_U32.unpack(found)[0])


def term(tables: Tables, world: int, number: int) -> TermRow | None:
    """The row of a term."""
    found = tables.term_places.get(_TERM_KEY.pack(world, number))
    return None if found is None else TermRow._make(_TERM.unpack(found))


def last_term(tables: Tables, world: int) -> int:
    """The highest number of a term in a world, 0 if it has none."""
    prefix = schema.U64.pack(world)
    found = tables.term_places.last(prefix, prefix + b"\xff" * _U32.size)
    return 0 if found is None else int(_TERM_KEY.unpack(found[0])[1])


def leaf_of(tables: Tables, world: int, quad: Quad) -> bytes:
    """The leaf of a quad of a world."""
    return hashing.statement_leaf([_identity(tables, world, number) for number in quad])


def _identity(tables: Tables, world: int, number: int) -> bytes:
    if number == DEFAULT_GRAPH:
        return b""
    row = term(tables, world, number)
    if row is None:
        raise KeyError(f"node {world} has no term {number}")
    return row.identity


# -- reading


def has_statements(tables: Tables, world: int) -> bool:
    """Whether anything was ever stated in a world."""
    return tables.has_rows("by_subject") and next(tables.by_subject.scan(schema.U64.pack(world)), None) is not None


def worlds(tables: Tables) -> Iterator[int]:
    """The worlds in which anything was ever stated, in log order."""
    table, at = tables.term_places, 0
    while (found := next(table.scan(b"", schema.U64.pack(at)), None)) is not None:
        world = int(schema.U64.unpack_from(found[0])[0])
        yield world
        at = world + 1


def matching(
    tables: Tables,
    world: int,
    pattern: tuple[int | None, int | None, int | None, int | None],
    after: Quad | None = None,
) -> Iterator[Stating]:
    """Every stating of a world whose quad has the given terms, in the order of one of the orders.

    With ``after`` those behind all of that quad.
    """
    subject, predicate, object_, _ = pattern
    order = ORDERS[0]
    if subject is None:
        order = ORDERS[1] if predicate is not None else ORDERS[2] if object_ is not None else ORDERS[0]
    elif object_ is not None and predicate is None:
        order = ORDERS[2]
    places = _PLACES[order]
    prefix, rest = schema.U64.pack(world), list(places)
    while rest and (number := pattern[rest[0]]) is not None:
        prefix += _U32.pack(number)
        del rest[0]
    wanted = [(place, number) for place in rest if (number := pattern[place]) is not None]
    first, second, third, last = (places.index(place) + 1 for place in range(4))
    start = None
    if after is not None:
        start = max(prefix, schema.U64.pack(world) + b"".join(_U32.pack(after[place]) for place in places) + _BEHIND)
    for key, value in tables.table(order).scan(prefix, start):
        row = _KEY.unpack(key)
        quad = row[first], row[second], row[third], row[last]
        if not wanted or all(quad[place] == number for place, number in wanted):
            yield _stating(quad, row[5], row[6], value)


def _stating(quad: Quad, since: int, valid_from: int, value: bytes) -> Stating:
    until, valid_to, origin, details = _VALUE.unpack(value)
    return Stating(quad, since, until, valid_from, valid_to, origin, details)


def terms_of(tables: Tables, world: int) -> Iterator[tuple[int, TermRow]]:
    """Every term of a world, by its number."""
    for key, value in tables.term_places.scan(schema.U64.pack(world)):
        yield int(_TERM_KEY.unpack(key)[1]), TermRow._make(_TERM.unpack(value))


def known_at(tables: Tables, world: int, seq: int) -> list[Stating]:
    """What a world states at any valid time, as known at a commit, in the order of its subjects."""
    if not has_statements(tables, world):
        return []
    return [each for each in matching(tables, world, (None,) * 4) if each.since <= seq < each.until]


def live(tables: Tables, world: int, quad: Quad) -> list[Stating]:
    """The statings of a quad that were not taken back."""
    return [each for each in matching(tables, world, quad) if each.until == schema.LIVE]


def leaves(tables: Tables, world: int, seq: int) -> Iterator[bytes]:
    """The leaves of a world's statements as known at a commit."""
    for quad in dict.fromkeys(each.quad for each in known_at(tables, world, seq)):
        yield leaf_of(tables, world, quad)


# -- applying events


def apply_stated(on: Applying, event: ev.Stated) -> None:
    """Number the terms that are new, and put a stating of each quad."""
    tables, world = on.tables, on.number(event.lineage)
    identities = _put_terms(on, world, event)
    quads = ev.quads_of(event.quads)
    if not quads:
        return
    for number in set(event.quads) - identities.keys():
        identities[number] = _identity(tables, world, number)
    value = _VALUE.pack(schema.LIVE, event.valid_to, on.seq, event.details)
    subjects, predicates, objects, graphs = zip(*quads, strict=True)
    columns = {0: subjects, 1: predicates, 2: objects, 3: graphs}
    for order in ORDERS:
        ordered = [columns[place] for place in _PLACES[order]]
        keys = map(_KEY.pack, repeat(world), *ordered, repeat(on.seq), repeat(event.valid_from))
        tables.table(order).put_new(list(keys), repeat(value, len(quads)))
    for quad in quads:
        on.pending_hashes.edge_changed(
            world, hashing.statement_leaf([identities[number] for number in quad]), written=True
        )


def _put_terms(on: Applying, world: int, event: ev.Stated) -> dict[int, bytes]:
    """Put the rows of new terms; what stands for each term of the event in hashes."""
    tables, prefix = on.tables, schema.U64.pack(world)
    details, blob = on.blobs.details(event.details), on.blobs.blob_id(event.details)
    last, identities = last_term(tables, world), {DEFAULT_GRAPH: b""}
    for index, number in enumerate(event.terms):
        if number <= last:
            identities[number] = _identity(tables, world, number)
            continue
        last, identity = number, hashing.term_identity(blob, index)
        identities[number] = identity
        digest = NO_DIGEST
        if details is not None and details.aliases[index]:
            digest = text_digest(details.aliases[index])
            tables.terms.put(prefix + digest, _U32.pack(number))
        row = _TERM.pack(on.seq, event.details, index, digest, identity)
        tables.term_places.put(_TERM_KEY.pack(world, number), row)
    return identities


def apply_unstated(on: Applying, event: ev.Unstated) -> None:
    """Let the quads hold no longer from a valid time on; what they lose stays for views of earlier commits."""
    tables, world = on.tables, on.number(event.lineage)
    for quad in ev.quads_of(event.quads):
        left, ended = False, False
        for stating in live(tables, world, quad):
            if stating.valid_to <= event.at:
                left = True
                continue
            ended = True
            _put(tables, world, stating._replace(until=on.seq))
            if stating.valid_from < event.at:
                left = True
                _put(tables, world, stating._replace(since=on.seq, valid_to=event.at))
        if ended and not left:
            on.pending_hashes.edge_changed(world, leaf_of(tables, world, quad), written=False)


def _put(tables: Tables, world: int, stating: Stating) -> None:
    """Put a stating into all orders; one that was known at no commit goes."""
    value = _VALUE.pack(stating.until, stating.valid_to, stating.origin, stating.details)
    for order in ORDERS:
        ordered = (stating.quad[place] for place in _PLACES[order])
        key = _KEY.pack(world, *ordered, stating.since, stating.valid_from)
        tables.table(order).put(key, value if stating.since < stating.until else None)


def forget_terms(tables: Tables, world: int) -> None:
    """Forget the digests of a world's terms, whose texts are erased."""
    if not tables.has_rows("terms"):
        return
    for key, _ in list(tables.terms.scan(schema.U64.pack(world))):
        tables.terms.put(key, None)
    for key, value in list(tables.term_places.scan(schema.U64.pack(world))):
        row = TermRow._make(_TERM.unpack(value))
        tables.term_places.put(key, _TERM.pack(*row._replace(digest=NO_DIGEST)))


def forget_some(tables: Tables, world: int, numbers: Iterable[int], places: Set[tuple[int, int]]) -> None:
    """Forget the digests of some terms of a world, whose texts in details at some places are erased."""
    for number in numbers:
        row = term(tables, world, number)
        if row is not None and row.digest != NO_DIGEST and row[:2] in places:
            tables.terms.put(schema.U64.pack(world) + row.digest, None)
            tables.term_places.put(_TERM_KEY.pack(world, number), _TERM.pack(*row._replace(digest=NO_DIGEST)))


def flat_quads(quads: Iterable[Quad]) -> list[int]:
    """Quads as events have them."""
    return list(chain.from_iterable(quads))
