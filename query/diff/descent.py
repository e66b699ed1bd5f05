"""Which members and interior edges of a world differ: read from the tries of two heads, or told by events.

Tries are kept for the present only. Between any two moments of related histories the events after their parting name
everything that can differ, so that a comparison with the past costs in proportion to the changes, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES
from worlddb.log.model.trie import difference, root_of
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.diff.parting import Since
from worlddb.query.diff.side import EdgeState, LogSides, both


class Differing(NamedTuple):
    """A member or an edge that differs, and which sides have it."""

    key: bytes
    in_a: bool
    in_b: bool


class Descent(Protocol):
    """How a comparison gets from a world that differs to what differs inside."""

    def members(self, lineage: bytes) -> Iterator[Differing]:
        """Members whose world hashes differ, and those that only one side has."""

    def edges(self, lineage: bytes) -> Iterator[Differing]:
        """Interior edges that only one side has."""

    def only_contains(self, lineage: bytes) -> bool:
        """True if it is proven that a world differs through its members alone, of one whose edges were asked for."""
        return False


class TrieDescent(Descent):
    """By the Merkle tries of two heads: only subtrees whose hashes differ are read (paper §2.1)."""

    def __init__(self, sides: LogSides) -> None:
        self._sides = sides
        self._only_contain: set[bytes] = set()

    def members(self, lineage: bytes) -> Iterator[Differing]:
        left, right = self._sides
        nodes = left.member_nodes(lineage), right.member_nodes(lineage)
        for key, one, other in difference(*nodes, LINEAGE_BYTES, HASH_BYTES):
            for side, told in ((left, one), (right, other)):
                if told is not None:
                    side.has_hash(key, told)
            yield Differing(key, one is not None, other is not None)

    def edges(self, lineage: bytes) -> Iterator[Differing]:
        left, right = self._sides
        if self._differ_in_members(lineage):
            self._only_contain.add(lineage)
            return
        nodes = left.edge_nodes(lineage), right.edge_nodes(lineage)
        for key, one, other in difference(*nodes, HASH_BYTES, 0):
            yield Differing(key, one is not None, other is not None)

    def only_contains(self, lineage: bytes) -> bool:
        return lineage in self._only_contain

    def _differ_in_members(self, lineage: bytes) -> bool:
        """With b's text and edges and a's members, a world has a's hash only if text and edges are a's as well.

        So neither is read there. Most worlds that differ contain what differs, and every page that is read for the
        first time costs more than a hash.
        """
        left, right = self._sides
        roots = root_of(left.member_nodes(lineage)), root_of(right.edge_nodes(lineage))
        return right.hash_with(lineage, *roots) == left.hash(lineage)


class EventDescent(Descent):
    """By what the events after the parting name, and by the worlds around it as interval columns tell them."""

    def __init__(self, sides: LogSides, since: Since) -> None:
        self._sides = sides
        self._members: defaultdict[bytes, dict[bytes, Differing]] = defaultdict(dict)
        self._edges: defaultdict[bytes, dict[bytes, Differing]] = defaultdict(dict)
        for edge in since.edges():
            self._edge(edge, [side.edge(edge) for side in sides])
        self._ascend(since.worlds())

    def members(self, lineage: bytes) -> Iterator[Differing]:
        found = self._members.get(lineage, {})
        return (found[key] for key in sorted(found))

    def edges(self, lineage: bytes) -> Iterator[Differing]:
        found = self._edges.get(lineage, {})
        return (found[key] for key in sorted(found))

    def _edge(self, edge: bytes, states: list[EdgeState | None]) -> None:
        known = [state is not None and state.known for state in states]
        for state in states:
            if state is None or known[0] == known[1]:
                continue
            if state.type == CONTAINS:
                self._member(state.source, state.target)
            else:
                self._edges[state.home][edge] = Differing(edge, known[0], known[1])

    def _member(self, container: bytes, member: bytes) -> None:
        held = [container in side.containers(member) for side in self._sides]
        if held[0] != held[1]:
            self._members[container][member] = Differing(member, held[0], held[1])

    def _ascend(self, named: list[bytes]) -> None:
        """From every world that differs to those that contain it on either side."""
        seen, pending = set(named), list(named)
        while pending:
            lineage = pending.pop()
            one, other = both(self._sides, lineage)
            if one == other:
                continue
            held = [side.containers(lineage) for side in self._sides]
            for container in dict.fromkeys((*held[0], *held[1])):
                found = Differing(lineage, container in held[0], container in held[1])
                self._members[container][lineage] = found
                if container not in seen:
                    seen.add(container)
                    pending.append(container)
