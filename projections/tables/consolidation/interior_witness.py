"""What a summary was made of: the witness of a world's interior, and where the summary of a world is found.

The witness is a hash of the bodies of all that a world contains, at any depth, in the versions that hold at a moment,
of the world's own, and of which lies in which. So whatever is added, revised, moved, ended, hidden or resumed inside
makes it another one.
Worlds of types ``Summary`` and ``Enrichment`` are no part of it: they are made of the rest. Nor are edges between
members.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, NamedTuple

from worlddb.log.model import hashing, ids, times
from worlddb.projections.tables.forks import fork_rows
from worlddb.projections.tables.names.canonical import NO_TYPE, type_digest
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables

SUMMARY: Final = "Summary"
SUMMARY_TYPE: Final = type_digest(SUMMARY)
WITNESS: Final = "witness"
"""The property of a summary that holds the witness of its material."""
AUTHOR: Final = "worlddb.consolidate"
"""Who makes summaries and what else consolidation writes, as the log says."""
ENRICH_AUTHOR: Final = "worlddb.enrich"
"""Who keeps what enrichers say."""
DREAM_AUTHOR: Final = "worlddb.dream"
"""Who writes reports of Dream State, and does what they say."""
DREAM_REPORT: Final = "DreamReport"
MAKERS: Final = frozenset({AUTHOR, ENRICH_AUTHOR})
"""Who makes texts of others, and no more of some of them once these say something else."""


def summary_key(world: bytes) -> str:
    """The key of the summary that consolidation makes of a world."""
    return f"{AUTHOR}/summary/{world.hex()}"


def summary_node(tables: TableReads, secret: bytes, world: int) -> int | None:
    """The node of that summary, if there ever was one. Whether it holds, and where it lies, is not looked at."""
    key = summary_key(tables.node(world).lineage)
    return tables.node_of(ids.Lineage(hashing.keyed_lineage(secret, key.encode())))


ENRICHMENT: Final = "Enrichment"
ENRICHMENT_TYPE: Final = type_digest(ENRICHMENT)
"""Enrichments of a text lie in that text's world, and are not material for summaries."""
MADE_OF: Final = "made_of"
"""The property of an enrichment that lists what it was made of, first its segment: (reference, hash of its body)."""
EMBEDDED: Final = "embedding_text"
"""The property of an enrichment whose vectors are compared instead of its text."""


def enrichment_key(segment: bytes) -> str:
    """The key of a segment's enrichment."""
    return f"{ENRICH_AUTHOR}/{segment.hex()}"


def enrichment_node(tables: TableReads, secret: bytes, segment: int) -> int | None:
    """The node of that, if there ever was any. Whether it holds, and where it lies, is not looked at."""
    key = enrichment_key(tables.node(segment).lineage)
    return tables.node_of(ids.Lineage(hashing.keyed_lineage(secret, key.encode())))


def made_of(properties: Mapping[str, Any]) -> list[tuple[bytes, str]]:
    """What an enrichment was made of, first its segment: (lineage, hash of its body). Of any other world nothing."""
    given = properties.get(MADE_OF)
    found: list[tuple[bytes, str]] = []
    for each in given if isinstance(given, list) else ():
        if not isinstance(each, list) or len(each) != _PAIR or not all(isinstance(part, str) for part in each):
            return []
        with suppress(ValueError):
            found.append((bytes.fromhex(each[0]), each[1]))
    return found


def is_as_made(tables: TableReads, moment: asof.Moment, pairs: Sequence[tuple[bytes, str]]) -> bool:
    """True if all that an enrichment was made of holds at a moment and says what it said."""
    for lineage, body in pairs:
        node = tables.node_of(ids.Lineage(lineage))
        seen = None if node is None else asof.version_at(tables, node, moment)
        if seen is None or seen.row.body.hex() != body:
            return False
    return bool(pairs)


_PAIR: Final = 2
_NO_DETAILS: Final = frozenset({SUMMARY_TYPE, ENRICHMENT_TYPE, NO_TYPE})
"""Of an erased text the type is gone: nothing can be made of it."""


class Interior(NamedTuple):
    """The valid interior of a world at a moment.

    ``members`` are those that it contains directly, in log order. ``start`` and ``end`` bound the valid times around
    the moment's at which all of it is the same, as known at the moment's commit.
    """

    witness: str
    members: tuple[int, ...]
    start: int
    end: int


FRESH_FILE: Final = "fresh.bin"
"""Where it is kept which summaries were found fresh."""


class Verdict(NamedTuple):
    """That a summary was found fresh: its node and version, the commit of its world's last hash, and the valid times
    around which all in its world is the same."""

    node: int
    version: int
    hashed: int
    start: int
    end: int


class Marks(NamedTuple):
    """What is hidden at the moment, the deadline of a world, if it has one, and the rows of the whole store."""

    hides: Callable[[int], bool]
    deadline: Callable[[int], int | None]
    rows: Tables


def read_interior(tables: TableReads, world: int, moment: asof.Moment, marks: Marks | None = None) -> Interior:
    """Read the valid interior of a world, at any depth; each world once, however many contain it.

    ``marks`` is given where any world has a mark: what is hidden, or a fork beside what it goes on from, is passed over
    with all that it contains.
    """
    seq, valid = moment
    has_forks = marks is not None and fork_rows.has_forks(marks.rows)
    own = asof.version_at(tables, world, moment)
    same = _stable_period(_held_validity(tables, world, own, seq), valid, (times.ALWAYS, times.FOREVER))
    bodies = {world: b"" if own is None else own.row.body}
    pairs: set[bytes] = set()
    members: list[int] = []
    level = [world]
    while level:
        below: list[int] = []
        for place, row in tables.between(level, schema.CONTAINS_CODE, None, known_by=seq):
            if row.unlinked <= seq:
                continue
            target = row.target
            version = asof.version_at(tables, target, moment)
            inside = asof.edge_validity(tables, place, row, seq)
            same = _stable_period((inside, *_held_validity(tables, target, version, seq)), valid, same)
            if version is None or version.row.type in _NO_DETAILS or not inside.contains(valid):
                continue
            if marks is not None:
                deadline = marks.deadline(target)
                if deadline is not None:
                    same = _stable_period((times.Interval(times.ALWAYS, deadline),), valid, same)
                if marks.hides(target) or (has_forks and _is_separate_fork(marks.rows, tables, target, world, moment)):
                    continue
            if place.source == world:
                members.append(target)
            pairs.add(bodies[place.source] + version.row.body)
            if target not in bodies:
                bodies[target] = version.row.body
                below.append(target)
        level = sorted(below)
    witness = sha256(b"".join((bodies[world], *sorted(pairs)))).hexdigest()
    return Interior(witness, tuple(sorted(set(members))), *same)


def _held_validity(tables: TableReads, node: int, seen: asof.SeenVersion | None, seq: int) -> Iterable[times.Validity]:
    """When the version of a world that is seen holds; if none is, when any does."""
    return (each.validity for each in asof.versions_as_of(tables, node, seq)) if seen is None else (seen.validity,)


def _stable_period(each: Iterable[times.Validity], valid: int, span: tuple[int, int]) -> tuple[int, int]:
    """The part of a span around a valid time in which none of some validities begins or ends."""
    start, end = span
    for bound in (bound for validity in each for piece in validity.pieces for bound in piece):
        if bound <= valid:
            start = max(start, bound)
        else:
            end = min(end, bound)
    return start, end


def _is_separate_fork(every: Tables, tables: TableReads, node: int, world: int, moment: asof.Moment) -> bool:
    """Whether a world is a fork of one that lies in a world too."""

    def lies_inside(origin: int) -> bool:
        seen, pending = {origin}, [origin]
        while pending and world not in seen:
            into = tables.incoming(pending.pop(), schema.CONTAINS_CODE, known_by=moment.seq)
            above = {place.source for place, row in into if asof.edge_seen(tables, place, row, moment)} - seen
            seen |= above
            pending += above
        return world in seen

    return fork_rows.origin_beside(every, tables, node, moment, lies_inside) is not None
