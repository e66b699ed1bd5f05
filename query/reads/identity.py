"""Who a world is: its equivalence class, and all that is known of it as one document (paper §3.1).

Identities seen as one: every class of worlds that accepted ``same_as`` edges make one is met once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from worlddb.projections.tables.reads.asof import edge_known
from worlddb.query.records import records
from worlddb.query.snapshot.edge_rules import Spec
from worlddb.query.snapshot.visible import VisibleSnapshot

if TYPE_CHECKING:
    from worlddb.query.view.view import View

_CONTAINS: Final = "contains"


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


def export(view: View, ref: Any) -> records.Identity:
    """The class of a world as one document: names, versions, provenance, and the facts that name it."""
    refs = view.equivalence_class(ref)
    members = [view.get(member, include_superseded=True) for member in refs]
    worlds = tuple(world for world in members if world is not None)
    versions = {member: tuple(view.history(member)) for member in refs}
    names = dict.fromkeys(
        name
        for world in worlds
        for name in (*(version.name for version in versions[world.ref]), *world.aliases)
        if name
    )
    links: dict[str, records.Edge] = {}
    facts: dict[str, records.KnownFact] = {}
    for member in refs:
        for edge in view.edges(member, include_superseded=True):
            if edge.type in view.spec.identity_types:
                links[edge.ref] = edge
            elif edge.type != _CONTAINS:
                other = edge.target if edge.source in refs else edge.source
                facts[edge.ref] = records.KnownFact(
                    edge=edge, world=None if other in refs else view.get(other, include_superseded=True)
                )
    told = [version.source for found in versions.values() for version in found]
    told += [fact.world.source for fact in facts.values() if fact.world is not None]
    sources = [source for position, source in enumerate(told) if source and source not in told[:position]]
    return records.Identity(
        refs=tuple(refs),
        names=tuple(names),
        worlds=worlds,
        versions=versions,
        links=tuple(links.values()),
        facts=tuple(facts.values()),
        sources=tuple(sources),
    )


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
