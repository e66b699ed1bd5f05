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


class _Direct(NamedTuple):
    """What a world contains directly: each member with the two bodies as one, and the span in which that is so."""

    members: tuple[tuple[int, bytes], ...]
    start: int
    end: int


_EMPTY: Final = _Direct((), times.ALWAYS, times.FOREVER)
_MAX_KEPT: Final = 200_000
"""Of how many worlds it is kept what they contain; then all is read anew."""


class Interiors:
    """The valid interiors of worlds at one moment: what a world contains directly is read once, in however many it is.

    ``marks`` is given where any world has a mark: what is hidden, or a fork beside what it goes on from, is passed over
    with all that it contains.
    """

    def __init__(self, tables: TableReads, moment: asof.Moment, marks: Marks | None = None) -> None:
        self._tables, self._moment, self._marks = tables, moment, marks
        self._has_forks = marks is not None and fork_rows.has_forks(marks.rows)
        self._direct: dict[int, _Direct] = {}
        self._found: dict[int, Interior] = {}

    def take_over(self, earlier: "Interiors") -> None:
        """Take what was read at an earlier commit, if no later one changed what any world contains but summaries."""
        self._direct, self._found = earlier._direct, earlier._found

    def of(self, world: int) -> Interior:
        """The interior of a world, at any depth; each world in it once, however many contain it."""
        found = self._found.get(world)
        if found is not None:
            return found
        if len(self._direct) > _MAX_KEPT:
            self._direct.clear()
            self._found.clear()
        tables, seq, valid = self._tables, *self._moment
        own = asof.version_at(tables, world, self._moment)
        start, end = _stable_period(_held_validity(tables, world, own, seq), valid, (times.ALWAYS, times.FOREVER))
        pairs, members, seen, level = set[bytes](), list[int](), {world}, [world]
        while level:
            self._read([node for node in level if node not in self._direct])
            below = set[int]()
            for node in level:
                direct = self._direct[node]
                start, end = max(start, direct.start), min(end, direct.end)
                for target, pair in direct.members:
                    if self._has_forks and self._is_separate_fork(target, world):
                        continue
                    if node == world:
                        members.append(target)
                    pairs.add(pair)
                    below.add(target)
            level = sorted(below - seen)
            seen |= below
        body = b"" if own is None else own.row.body
        witness = sha256(b"".join((body, *sorted(pairs)))).hexdigest()
        found = self._found[world] = Interior(witness, tuple(sorted(set(members))), start, end)
        return found

    def _read(self, nodes: Sequence[int]) -> None:
        tables, marks, (seq, valid) = self._tables, self._marks, self._moment
        spans, members = dict[int, tuple[int, int]](), dict[int, list[tuple[int, bytes]]]()
        bodies = dict[int, bytes]()
        for place, row in tables.between(nodes, schema.CONTAINS_CODE, None, known_by=seq):
            if row.unlinked <= seq:
                continue
            source, target = place.source, row.target
            version = asof.version_at(tables, target, self._moment)
            inside = asof.edge_validity(tables, place, row, seq)
            same = spans.get(source, (times.ALWAYS, times.FOREVER))
            spans[source] = _stable_period((inside, *_held_validity(tables, target, version, seq)), valid, same)
            if version is None or version.row.type in _NO_DETAILS or not inside.contains(valid):
                continue
            if marks is not None:
                deadline = marks.deadline(target)
                if deadline is not None:
                    until = (times.Interval(times.ALWAYS, deadline),)
                    spans[source] = _stable_period(until, valid, spans[source])
                if marks.hides(target):
                    continue
            if source not in bodies:
                own = asof.version_at(tables, source, self._moment)
                bodies[source] = b"" if own is None else own.row.body
            members.setdefault(source, []).append((target, bodies[source] + version.row.body))
        for node in nodes:
            told = _Direct(tuple(members.get(node, ())), *spans[node]) if node in spans else _EMPTY
            self._direct[node] = told

    def _is_separate_fork(self, node: int, world: int) -> bool:
        """Whether a world is a fork of one that lies in a world too."""
        tables, moment = self._tables, self._moment
        assert self._marks is not None, "there are forks"

        def lies_inside(origin: int) -> bool:
            seen, pending = {origin}, [origin]
            while pending and world not in seen:
                into = tables.incoming(pending.pop(), schema.CONTAINS_CODE, known_by=moment.seq)
                above = {place.source for place, row in into if asof.edge_seen(tables, place, row, moment)} - seen
                seen |= above
                pending += above
            return world in seen

        return fork_rows.origin_beside(self._marks.rows, tables, node, moment, lies_inside) is not None


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
