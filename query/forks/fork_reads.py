"""Read forks as a view knows them: the origin of a world, its forks, and what was merged."""

from collections.abc import Iterable

import msgspec

from worlddb.log.model import events as ev
from worlddb.projections.tables.forks import fork_rows
from worlddb.query.snapshot.snapshot import containers_at
from worlddb.query.snapshot.visible import VisibleSnapshot


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """A world ``ref`` that was forked from the world ``of`` as of commit ``as_of``.

    The fork was begun by commit ``seq``. ``merged`` is the last commit that merged it into ``of``, 0 if none has, and
    ``through`` the commit as of which it did. ``inside``: it is no fork itself, but lies in one.
    """

    ref: str
    of: str
    as_of: int
    seq: int
    ingested_at: int
    author: str
    why: str = ""
    merged: int = 0
    through: int = 0
    inside: bool = False


class ForkMembership:
    """A predicate: whether a world lies in the searched world only through forks, and so is tried and not known.

    A fork counts as a fork only beside its origin: if the origin is not searched too, or no longer holds, the fork
    takes its place.
    """

    def __init__(self, snapshot: VisibleSnapshot, inside: int) -> None:
        self._snapshot, self._inside = snapshot, inside
        self._scope = snapshot.scope(inside)
        self._known: dict[int, bool] = {inside: False}

    def __call__(self, node: int) -> bool:
        """Whether every path from the searched world to a world leads through a fork."""
        pending = [node]
        while pending:
            here = pending[-1]
            if here not in self._known and self._is_fork(here):
                self._known[here] = True
            elif here not in self._known:
                above = containers_at(self._snapshot.tables, here, self._snapshot.place.moment)
                ways = list(filter(self._scope.sees, above))
                unknown = next((each for each in ways if each not in self._known and each not in pending), None)
                if unknown is not None:
                    pending.append(unknown)
                    continue
                self._known[here] = bool(ways) and all(self._known.get(each, True) for each in ways)
            pending.pop()
        return self._known[node]

    def _is_fork(self, node: int) -> bool:
        snapshot = self._snapshot
        origin = fork_rows.origin_beside(
            snapshot.store_tables, snapshot.tables, node, snapshot.place.moment, self._scope.sees
        )
        return origin is not None


def forked_from(snapshot: VisibleSnapshot, node: int) -> Fork | None:
    """The origin of a world; ``None`` if it was not forked, or if the view does not see the origin."""
    for row in fork_rows.origins_of(snapshot.store_tables, node, snapshot.place.moment.seq):
        if row.how != fork_rows.BROUGHT:
            return _visible_fork(snapshot, row)
    return None


def forks_of(snapshot: VisibleSnapshot, node: int) -> list[Fork]:
    """The visible forks of a world, in the order of their creation."""
    rows = fork_rows.copies_of(snapshot.store_tables, node, snapshot.place.moment.seq)
    found = (_visible_fork(snapshot, row) for row in rows if row.how == fork_rows.TOP)
    return sorted((each for each in found if each is not None), key=lambda each: (each.seq, each.ref))


def with_forks(snapshot: VisibleSnapshot, nodes: Iterable[int]) -> list[int]:
    """Some worlds, and their copies in forks of them or of their containers, at any distance."""
    found = [*nodes]
    for node in found:
        rows = fork_rows.copies_of(snapshot.store_tables, node, snapshot.place.moment.seq)
        found += [row.node for row in rows if row.how != fork_rows.BROUGHT and row.node not in found]
    return found


def _visible_fork(snapshot: VisibleSnapshot, row: fork_rows.ForkRow) -> Fork | None:
    tables, seq = snapshot.store_tables, snapshot.place.moment.seq
    fork, origin = tables.node(row.node).lineage, tables.node(row.origin).lineage
    if snapshot.tables.node_of(fork) is None or snapshot.tables.node_of(origin) is None:
        return None
    header, merges = snapshot.header(row.seq), fork_rows.merges_of(tables, row.node, seq)
    begun = (event for event in snapshot.stored.log.some_events(row.seq, frozenset({ev.Forked})))
    places = (event.details for event in begun if isinstance(event, ev.Forked) and fork in event.copies)
    return Fork(
        ref=fork.hex(),
        of=origin.hex(),
        as_of=row.as_of,
        seq=row.seq,
        ingested_at=header.ingest_time,
        author=header.author,
        why=snapshot.details(row.seq, next(places, ev.NONE)).why,
        merged=merges[-1].seq if merges else 0,
        through=merges[-1].as_of if merges else 0,
        inside=row.how == fork_rows.INSIDE,
    )
