"""Many new lineages, or many new edges, column by column: the rows of :mod:`.apply` with the loops in C.

A replay spends most of its time on these two events. That both ways give the same rows is held by the deep check, which
replays what was written one event at a time and compares every pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from worlddb.log.model import events as ev
from worlddb.projections.tables.blocks import UNNAMED_TYPES, put_name
from worlddb.projections.tables.names import NO_NAME, NO_TYPE, name_digest, type_digest
from worlddb.projections.tables.schema import EDGE, EDGE_KEY, LIVE, U64, VERSION, VERSION_KEY, NodeRow

if TYPE_CHECKING:
    from worlddb.projections.tables.apply import Applier


def create_all(on: Applier, events: Sequence[ev.Created]) -> None:
    """Write the rows of new lineages, which get the next numbers in this order."""
    tables, seq = on.tables, repeat(on.seq)
    lineages, positions, details, begins, ends, times = zip(*map(astuple, events), strict=True)
    nodes = range(on.next_node, on.next_node + len(events))
    on.next_node = nodes.stop
    ids = list(map(on.blobs.blob_id, positions))
    bodies = list(map(on.blobs.body, positions))
    names = [NO_NAME if body is None else name_digest(body.name) for body in bodies]
    types = [NO_TYPE if body is None else type_digest(body.type) for body in bodies]
    numbers = list(map(U64.pack, nodes))
    tables.put_lineages(lineages, nodes, numbers)
    created = [on.ingest_time if time is None else time for time in times]
    rows = map(NodeRow, lineages, seq, created, repeat(1), repeat(0), repeat(0), ids)
    tables.put_new_nodes(nodes, rows)
    versions = map(VERSION.pack, ids, seq, begins, ends, repeat(0), positions, details, names, types)
    tables.versions.put_new(zip(map(VERSION_KEY.pack, nodes, repeat(1)), versions, strict=False))
    first_seen = U64.pack(on.seq)
    tables.names.put_new(
        (name + number, first_seen) for name, number in zip(names, numbers, strict=True) if name != NO_NAME
    )
    tables.types.put_new(
        (kind + number, first_seen)
        for kind, number, body in zip(types, numbers, bodies, strict=True)
        if body is not None
    )
    for node, body in zip(nodes, bodies, strict=True):
        if body is not None and body.type not in UNNAMED_TYPES:
            put_name(tables, node, body.name)
    on.unsettled.all_changed(nodes)


def link_all(on: Applier, events: Sequence[ev.Linked]) -> None:
    """Write the rows of new edges, which get the next numbers in this order."""
    tables = on.tables
    (
        ids,
        types,
        sources,
        source_versions,
        targets,
        target_versions,
        homes,
        begins,
        ends,
        details,
        nonces,
        keyed,
        handler_versions,
    ) = zip(*map(astuple, events), strict=True)
    source_nodes, target_nodes, home_nodes = on.numbers(sources), on.numbers(targets), on.numbers(homes)
    code_of = {name: tables.give_type_code(name) for name in dict.fromkeys(types)}
    codes = [code_of[name] for name in types]
    numbers = range(on.next_edge, on.next_edge + len(events))
    on.next_edge = numbers.stop
    places = list(map(EDGE_KEY.pack, source_nodes, codes, numbers))
    rows = map(
        EDGE.pack,
        ids,
        target_nodes,
        home_nodes,
        source_versions,
        target_versions,
        repeat(on.seq),
        repeat(LIVE),
        begins,
        ends,
        repeat(0),
        details,
        handler_versions,
    )
    tables.out.put_new(zip(places, rows, strict=False))
    tables.put_new_backs(source_nodes, codes, numbers, target_nodes)
    tables.edges.put_new(zip(ids, places, strict=True))
    if any(keyed):
        tables.edge_keys.put_new(
            (nonce, place) for nonce, place, unique in zip(nonces, places, keyed, strict=True) if unique
        )
    on.unsettled.all_linked(zip(codes, source_nodes, target_nodes, home_nodes, ids, strict=True))
