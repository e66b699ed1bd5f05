"""A world's interior at a commit, as one walk finds it: the worlds, the edges they hold, and what lies outside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from worlddb.projections.tables.asof import Moment, decision_at, edge_known
from worlddb.projections.tables.schema import (
    ACCEPTED,
    CONTAINS_CODE,
    EDGE,
    EDGE_HOME,
    EDGE_KEY,
    ROOT_NODE,
    U64,
    EdgePlace,
    EdgeRow,
    ProposalRow,
)
from worlddb.projections.tables.tables import Tables
from worlddb.query.build import staged_until
from worlddb.query.sight import Place, Sight
from worlddb.query.snapshot import Snapshot

_OPEN: Final = 1
_DONE: Final = 2


class Interior(NamedTuple):
    """Node numbers, members before the worlds that contain them; edges and proposals by the world that is their home,
    proposals with their place in the order of all that were staged.

    ``outside`` are the nodes that edges lead to without being inside, with the last version that an edge names.
    """

    nodes: list[int]
    edges: dict[int, list[EdgePlace]]
    retracted: dict[int, list[bytes]]
    proposals: dict[int, list[tuple[int, bytes, ProposalRow]]]
    outside: dict[int, int]


def interior_of(snapshot: Snapshot, world: int, seq: int) -> Interior:
    """What a world held at commit ``seq``: all that its world hash then stands for, and what was retracted before."""
    tables = snapshot.tables
    nodes = _inside_out(tables, world, seq)
    inside = set(nodes)
    edges: defaultdict[int, list[EdgePlace]] = defaultdict(list)
    retracted: defaultdict[int, list[bytes]] = defaultdict(list)
    outside: dict[int, int] = {}

    def leads(node: int, version: int) -> None:
        if node not in inside:
            outside[node] = max(version, outside.get(node, 0))

    for place, row in _homed(tables, inside):
        if row.seq > seq:
            continue
        if edge_known(row, seq):
            edges[row.home].append(place)
            leads(place.source, row.source_version)
            leads(row.target, row.target_version)
        else:
            retracted[row.home].append(row.edge)
    proposals: defaultdict[int, list[tuple[int, bytes, ProposalRow]]] = defaultdict(list)
    for order, (identifier, proposal) in enumerate(staged_until(_everything(snapshot, seq), seq)):
        if proposal.home in inside and _is_inside(tables, identifier, proposal, inside, seq):
            proposals[proposal.home].append((order, identifier, proposal))
    for found in edges.values():
        found.sort(key=lambda place: place.edge)
    return Interior(nodes, dict(edges), dict(retracted), dict(proposals), outside)


def _everything(snapshot: Snapshot, seq: int) -> Sight:
    return Sight(snapshot, Place(Moment(seq, 0), ROOT_NODE))


def _inside_out(tables: Tables, world: int, seq: int) -> list[int]:
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
        for _, row in tables.outgoing(node, CONTAINS_CODE):
            if edge_known(row, seq) and row.target not in state:
                pending.append(row.target)
    return order


def _homed(tables: Tables, inside: set[int]) -> Iterator[tuple[EdgePlace, EdgeRow]]:
    """Every edge ever written whose home is inside. Edges are not kept by their home, so all of them are looked at."""
    homes = {U64.pack(node) for node in inside}
    for key, value in tables.out.scan(b""):
        if value[EDGE_HOME] in homes:
            yield EdgePlace._make(EDGE_KEY.unpack(key)), EdgeRow._make(EDGE.unpack(value))


def _is_inside(tables: Tables, identifier: bytes, row: ProposalRow, inside: set[int], seq: int) -> bool:
    """True of a proposal about two worlds inside; and of an accepted one, whose edge the world hash covers."""
    if row.source in inside and row.target in inside:
        return True
    return decision_at(tables, identifier, row, seq)[0] == ACCEPTED
