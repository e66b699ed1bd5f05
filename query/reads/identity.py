"""Equivalence classes: the worlds that accepted ``same_as`` edges make one (paper §3.1)."""

from __future__ import annotations

from worlddb.projections.tables.reads.asof import edge_known
from worlddb.query.snapshot.edge_rules import Spec
from worlddb.query.snapshot.visible import VisibleSnapshot


def class_of(snapshot: VisibleSnapshot, start: int, seq: int, spec: Spec) -> list[int]:
    """The worlds that are one with a world as known at a commit, itself included, in log order."""
    tables = snapshot.tables
    seen, pending = {start}, [start]
    while pending:
        node = pending.pop()
        for code in (tables.type_code(name) for name in spec.identity_types):
            incoming = tables.incoming(node, code, known_after=seq, known_by=seq)
            for place, row in (*tables.outgoing(node, code, known_by=seq), *incoming):
                for end in (place.source, row.target) if edge_known(row, seq) else ():
                    if end not in seen:
                        seen.add(end)
                        pending.append(end)
    return sorted(seen)


class Classes:
    """The classes that a read has met, as far as its sight goes and as known at its moment."""

    def __init__(self, sight: VisibleSnapshot, spec: Spec) -> None:
        self._sight = sight
        self._spec = spec
        self._met: set[int] = set()

    def members(self, node: int) -> list[int]:
        """The worlds that are one with a world, itself included, in log order."""
        return class_of(self._sight, node, self._sight.place.moment.seq, self._spec)

    def is_new(self, node: int) -> bool:
        """True if nothing of its class was met before."""
        if node in self._met:
            return False
        self._met.update(self.members(node))
        return True
