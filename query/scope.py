"""Containment as a moment sees it (law 7). Walks go up or down one level at a time, so that depth costs no stack."""

from __future__ import annotations

from collections.abc import Iterator

from worlddb.projections.tables.asof import Moment, edge_seen
from worlddb.projections.tables.reading import TableReads
from worlddb.projections.tables.schema import CONTAINS_CODE, ROOT_NODE, EdgePlace, EdgeRow


def placings_at(tables: TableReads, node: int, moment: Moment) -> list[EdgePlace]:
    """The edges by which worlds contain a node at a moment, in log order."""
    incoming = tables.incoming(node, CONTAINS_CODE, known_after=moment.seq, known_by=moment.seq)
    return [place for place, row in incoming if edge_seen(tables, place, row, moment)]


def containers_at(tables: TableReads, node: int, moment: Moment) -> list[int]:
    """The worlds that contain a node at a moment, in log order of the edges."""
    return [place.source for place in placings_at(tables, node, moment)]


class Scope:
    """Whether nodes lie inside one world at a moment.

    What was found out is kept for the next question, in ``known`` if one is given: of a moment it stays true, so that
    one dictionary may serve many transactions and several threads.
    """

    def __init__(self, tables: TableReads, world: int, moment: Moment, known: dict[int, bool] | None = None) -> None:
        self._tables = tables
        self._world = world
        self._moment = moment
        self._inside = {} if known is None else known
        self._inside[world] = True

    def holds(self, node: int) -> bool:
        """True if the world contains the node at any depth; the world itself is not inside itself."""
        return node != self._world and self.sees(node)

    def sees(self, node: int) -> bool:
        """True if the node is the world or lies inside it."""
        if self._world == ROOT_NODE:
            return True
        known = self._inside.get(node)
        return self._leads_up(node) if known is None else known

    def admit(self, node: int) -> None:
        """Remember that a node lies inside: what contains it at the moment does."""
        self._inside[node] = True

    def _leads_up(self, start: int) -> bool:
        """Walk up until something is known to be inside; every node is passed once."""
        inside, passed = self._inside, {start}
        path, above = [start], [containers_at(self._tables, start, self._moment)]
        while path:
            if not above[-1]:
                path.pop()
                above.pop()
                continue
            container = above[-1].pop()
            known = inside.get(container)
            if known:
                inside.update(dict.fromkeys(path, True))
                return True
            if known is None and container not in passed:
                passed.add(container)
                path.append(container)
                above.append(containers_at(self._tables, container, self._moment))
        inside.update(dict.fromkeys(passed, False))
        return False


class Inhabitants:
    """The nodes inside a world at a moment, listed as far as is asked; who asks for more goes on where it stopped."""

    def __init__(self, tables: TableReads, world: int, moment: Moment) -> None:
        self._tables = tables
        self._moment = moment
        self._found: set[int] = set()
        self._pending = [world]
        self._edges: Iterator[tuple[EdgePlace, EdgeRow]] = iter(())

    def listed(self, limit: int | None = None) -> set[int] | None:
        """All of them, or ``None`` if there are more than ``limit``."""
        tables, moment, found = self._tables, self._moment, self._found
        while True:
            for place, row in self._edges:
                if row.target not in found and edge_seen(tables, place, row, moment):
                    found.add(row.target)
                    self._pending.append(row.target)
                    if limit is not None and len(found) > limit:
                        return None
            if not self._pending:
                return found
            self._edges = tables.outgoing(self._pending.pop(), CONTAINS_CODE, known_by=moment.seq)


def members_below(tables: TableReads, world: int, moment: Moment, limit: int | None = None) -> set[int] | None:
    """Every node inside a world at a moment, or ``None`` if there are more than ``limit``."""
    return Inhabitants(tables, world, moment).listed(limit)
