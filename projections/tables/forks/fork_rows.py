"""Forks: which worlds continue which, as of which commit, and what was merged back. The rows lie among the marks."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol

from worlddb.log.model import events as ev
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables

INSIDE: Final = 0
TOP: Final = 1
BROUGHT: Final = 2
"""A world that only the fork had, and that a merge has made a world of the other side of."""


class ForkRow(NamedTuple):
    """A world of a fork, the world that it continues (or that a merge made of it), as of a commit, and how."""

    node: int
    seq: int
    origin: int
    as_of: int
    how: int


class MergeRow(NamedTuple):
    """A merge by commit ``seq``: of a fork as of a commit, and into which world."""

    seq: int
    into: int
    as_of: int


class Applied(Protocol):
    """The commit that is applied."""

    tables: Tables
    seq: int

    def number(self, lineage: bytes) -> int:
        """The node of a lineage."""


def put_fork(on: Applied, event: ev.Forked) -> None:
    """Write what each world of a fork goes on from."""
    for origin, copy in zip(event.origins, event.copies, strict=True):
        _put_pair(on, origin, copy, event.seq, TOP if copy == event.world else INSIDE)


def put_merge(on: Applied, event: ev.Merged) -> None:
    """Write how far a fork was merged, and which worlds were made of its own."""
    for origin, copy in zip(event.origins, event.copies, strict=True):
        _put_pair(on, origin, copy, event.seq, BROUGHT)
    key = schema.MARK_KEY.pack(schema.MERGES[0], on.number(event.fork), on.seq)
    on.tables.marks.put(key, schema.U64_U64.pack(on.number(event.world), event.seq))


def _put_pair(on: Applied, origin: bytes, copy: bytes, as_of: int, how: int) -> None:
    one, other = on.number(origin), on.number(copy)
    on.tables.marks.put(schema.MARK_KEY.pack(schema.FORKS[0], other, on.seq), schema.FORK.pack(one, as_of, how))
    on.tables.marks.put(schema.MARK_KEY.pack(schema.FORKED[0], one, other), schema.U64.pack(on.seq))


def origins_of(tables: Tables, node: int, seq: int) -> list[ForkRow]:
    """What a world goes on from, or was made into by a merge, as known at a commit; oldest first."""
    found = []
    for key, value in tables.marks.scan(schema.FORKS + schema.U64.pack(node)):
        _, _, since = schema.MARK_KEY.unpack(key)
        if since <= seq:
            found.append(ForkRow(node, since, *schema.FORK.unpack(value)))
    return found


def copies_of(tables: Tables, node: int, seq: int) -> Iterator[ForkRow]:
    """The worlds of forks that go on from a world, or that a merge made it of, as known at a commit; in log order."""
    for key, value in tables.marks.scan(schema.FORKED + schema.U64.pack(node)):
        _, _, copy = schema.MARK_KEY.unpack(key)
        since = int(schema.U64.unpack(value)[0])
        if since <= seq:
            yield next(row for row in origins_of(tables, copy, seq) if row.origin == node)


def merges_of(tables: Tables, node: int, seq: int) -> list[MergeRow]:
    """The merges of a fork as known at a commit, oldest first."""
    found = []
    for key, value in tables.marks.scan(schema.MERGES + schema.U64.pack(node)):
        _, _, since = schema.MARK_KEY.unpack(key)
        if since <= seq:
            found.append(MergeRow(since, *schema.U64_U64.unpack(value)))
    return found


def with_copies(tables: Tables, nodes: list[int]) -> list[int]:
    """The worlds of forks that go on from some worlds, at any remove, without these: an erasure reaches them."""
    if next(tables.marks.scan(schema.FORKED), None) is None:
        return []
    found, pending = dict.fromkeys(nodes), list(nodes)
    while pending:
        for row in copies_of(tables, pending.pop(), schema.LIVE):
            if row.node not in found:
                found[row.node] = None
                pending.append(row.node)
    return [node for node in found if node not in nodes]


def first_of(tables: Tables, node: int, seq: int) -> int:
    """The first original of a forked world, over all generations, or the world itself."""
    while rows := origins_of(tables, node, seq):
        node = rows[0].origin
    return node


def top_of(tables: Tables, node: int, seq: int) -> ForkRow | None:
    """The row of a fork itself; ``None`` of any other world."""
    return next((row for row in origins_of(tables, node, seq) if row.how == TOP), None)


def has_forks(tables: Tables) -> bool:
    """Whether any world of the store was ever forked."""
    return next(iter(tables.marks.scan(schema.FORKS)), None) is not None


def origin_beside(
    tables: Tables, reads: TableReads, node: int, moment: asof.Moment, is_seen: Callable[[int], bool]
) -> int | None:
    """The world that a fork goes on from, if that holds at a moment and ``is_seen``; ``None`` of any other world.

    Beside that, what is in the fork was tried, and is not what is known.
    """
    row = top_of(tables, node, moment.seq)
    if row is None or not is_seen(row.origin) or asof.version_at(reads, row.origin, moment) is None:
        return None
    return row.origin
