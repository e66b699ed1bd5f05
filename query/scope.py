"""Containment as a moment sees it (law 7): walks up from a node, so that depth costs no stack."""

from __future__ import annotations

from worlddb.projections.tables.asof import Moment, edge_seen
from worlddb.projections.tables.schema import CONTAINS_CODE, ROOT_NODE
from worlddb.projections.tables.tables import Tables


def containers_at(tables: Tables, node: int, moment: Moment) -> list[int]:
    """The worlds that contain a node at a moment, in log order of the edges."""
    incoming = tables.incoming(node, CONTAINS_CODE)
    return [place.source for place, row in incoming if edge_seen(tables, place, row, moment)]


class Scope:
    """Whether nodes lie inside one world; what was found out is kept for the next question."""

    def __init__(self, tables: Tables, world: int, moment: Moment) -> None:
        self._tables = tables
        self._world = world
        self._moment = moment
        self._inside: dict[int, bool] = {}

    def holds(self, node: int) -> bool:
        """True if the world contains the node at any depth; the world itself is not inside itself."""
        if self._world == ROOT_NODE:
            return node != ROOT_NODE
        return node != self._world and self._leads_up(node)

    def _leads_up(self, start: int) -> bool:
        seen, pending = {start}, [start]
        while pending:
            node = pending.pop()
            known = self._inside.get(node)
            if known or node == self._world:
                self._inside[start] = True
                return True
            if known is None:
                above = [up for up in containers_at(self._tables, node, self._moment) if up not in seen]
                seen.update(above)
                pending.extend(above)
        # Nothing above the start leads to the world, so neither does anything that was passed on the way.
        self._inside.update(dict.fromkeys(seen, False))
        return False


def members_below(tables: Tables, world: int, moment: Moment, limit: int) -> set[int] | None:
    """Every node inside a world at a moment, or ``None`` if there are more than ``limit``."""
    found: set[int] = set()
    pending = [world]
    while pending:
        for place, row in tables.outgoing(pending.pop(), CONTAINS_CODE):
            if row.target not in found and edge_seen(tables, place, row, moment):
                found.add(row.target)
                pending.append(row.target)
                if len(found) > limit:
                    return None
    return found
