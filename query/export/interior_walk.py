"""Walk the interior of a world at a commit: its worlds, their edges, and the ends outside."""

from bisect import bisect_left
from collections import defaultdict
from typing import Final, NamedTuple

from worlddb.projections.tables.reads.asof import edge_known
from worlddb.projections.tables.storage import rows, schema
from worlddb.query.snapshot.snapshot import Snapshot

_OPEN: Final = 1
_DONE: Final = 2


class Order(NamedTuple):
    """The order in which the store first saw the worlds and edges of an interior.

    Store numbers, which tell how many there are in the whole store, become places among those of the interior.
    """

    nodes: list[int]
    edges: list[int]

    def of_world(self, node: int) -> int:
        """The place of a world, from 0 on."""
        return bisect_left(self.nodes, node)

    def of_edge(self, edge: int) -> int:
        """The place of an edge, from 0 on."""
        return bisect_left(self.edges, edge)


class Interior(NamedTuple):
    """The nodes of a world's interior, members before their containers, and its edges.

    Edges and proposals are listed by the world that is their home, proposals with their place among those of the
    interior, in the order in which they were staged.

    ``outside`` are the nodes that edges lead to without being inside, with the last version that an edge names.
    """

    nodes: list[int]
    edges: dict[int, list[schema.EdgePlace]]
    retracted: dict[int, list[bytes]]
    proposals: dict[int, list[tuple[int, bytes, schema.ProposalRow]]]
    outside: dict[int, int]
    order: Order


def interior_of(snapshot: Snapshot, world: int, seq: int) -> Interior:
    """The interior of a world at commit ``seq``, with what was retracted before."""
    tables = snapshot.tables
    nodes = _members_first(tables, world, seq)
    inside = set(nodes)
    edges: defaultdict[int, list[schema.EdgePlace]] = defaultdict(list)
    retracted: defaultdict[int, list[bytes]] = defaultdict(list)
    outside: dict[int, int] = {}

    def leads(node: int, version: int) -> None:
        if node not in inside:
            outside[node] = max(version, outside.get(node, 0))

    staged = set(tables.staged(sorted(nodes)))
    for home in nodes:
        for place, row in tables.edges_at_home(home):
            if row.seq > seq:
                continue
            if edge_known(row, seq):
                edges[home].append(place)
                leads(place.source, row.source_version)
                leads(row.target, row.target_version)
                if place.type == schema.SAME_AS_CODE and (accepted := tables.proposal(row.edge)) is not None:
                    # The world hash covers its edge, wherever its sides are now.
                    staged.add(rows.staging_of(tables, row.edge, accepted))
            else:
                retracted[home].append(row.edge)
    proposals: defaultdict[int, list[tuple[int, bytes, schema.ProposalRow]]] = defaultdict(list)
    known = ((found.proposal, tables.proposal(found.proposal)) for found in sorted(staged) if found.seq <= seq)
    homed = ((identifier, row) for identifier, row in known if row is not None and row.home in inside)
    for order, (identifier, proposal) in enumerate(homed):
        proposals[proposal.home].append((order, identifier, proposal))
    for places in edges.values():
        places.sort(key=lambda place: place.edge)
    for ids in retracted.values():
        ids.sort()
    ranks = Order(sorted(nodes), sorted(place.edge for places in edges.values() for place in places))
    return Interior(nodes, dict(edges), dict(retracted), dict(proposals), outside, ranks)


def _members_first(tables: rows.Tables, world: int, seq: int) -> list[int]:
    """The world and all that it contains at a commit, members first. Depth costs no stack."""
    order: list[int] = []
    state: dict[int, int] = {}
    pending = [world]
    while pending:
        node = pending[-1]
        if node in state:
            pending.pop()
            if state[node] == _OPEN:
                state[node] = _DONE
                order.append(node)
            continue
        state[node] = _OPEN
        for _, row in tables.outgoing(node, schema.CONTAINS_CODE):
            if edge_known(row, seq) and row.target not in state:
                pending.append(row.target)
    return order
