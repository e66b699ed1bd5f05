"""Containment as a moment sees it (law 7). Walks go up or down one level at a time, so that depth costs no stack."""

from __future__ import annotations

from worlddb.projections.tables.asof import Moment, edge_seen
from worlddb.projections.tables.reading import TableReads
from worlddb.projections.tables.schema import CONTAINS_CODE, ROOT_NODE


def containers_at(tables: TableReads, node: int, moment: Moment) -> list[int]:
    """The worlds that contain a node at a moment, in log order of the edges."""
    incoming = tables.incoming(node, CONTAINS_CODE)
    return [place.source for place, row in incoming if edge_seen(tables, place, row, moment)]


class Scope:
    """Whether nodes lie inside one world; what was found out is kept for the next question."""

    def __init__(self, tables: TableReads, world: int, moment: Moment) -> None:
        self._tables = tables
        self._world = world
        self._moment = moment
        self._inside: dict[int, bool] = {world: True}

    def holds(self, node: int) -> bool:
        """True if the world contains the node at any depth; the world itself is not inside itself."""
        return node != self._world and self.sees(node)

    def sees(self, node: int) -> bool:
        """True if the node is the world or lies inside it."""
        if self._world == ROOT_NODE:
            return True
        known = self._inside.get(node)
        return self._leads_up(node) if known is None else known

    def _leads_up(self, start: int) -> bool:
        inside = self._inside
        inside[start] = False
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
            if known is None:
                inside[container] = False
                path.append(container)
                above.append(containers_at(self._tables, container, self._moment))
        return False


def members_below(tables: TableReads, world: int, moment: Moment, limit: int | None = None) -> set[int] | None:
    """Every node inside a world at a moment, or ``None`` if there are more than ``limit``."""
    found: set[int] = set()
    pending = [world]
    while pending:
        for place, row in tables.outgoing(pending.pop(), CONTAINS_CODE):
            if row.target not in found and edge_seen(tables, place, row, moment):
                found.add(row.target)
                pending.append(row.target)
                if limit is not None and len(found) > limit:
                    return None
    return found
