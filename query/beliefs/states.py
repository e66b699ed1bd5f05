"""The states of a relation: every edge ever stated between worlds, in the order of the statements (Hydra §2.2).

The sequence is complete: ended and retracted edges are in it and say so. One read shows what is true, what was true,
when it changed and why.
"""

from typing import Any

import msgspec

from worlddb.log.model import limits, times
from worlddb.log.model.blobs import EDGE_CONTEXT
from worlddb.projections.tables.storage.schema import CONTAINS, LIVE, EdgePlace, EdgeRow
from worlddb.query.reads import adjacency, build
from worlddb.query.records import records
from worlddb.query.snapshot import edge_rules, visible


def states(
    snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, one: int, other: int | None, type_name: str | None
) -> tuple[records.State, ...]:
    """Every state of the relations that lead from one world, or from it to another, in log order.

    Of one type, or of all but ``contains``. An inverse is followed from target to source.

    Raises:
        InputError: the type is no text.
    """
    if type_name is not None:
        limits.checked_text(type_name, "type", limits.MAX_TYPE_BYTES)
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    found: dict[int, tuple[EdgePlace, EdgeRow]] = {}
    for place, row in adjacency.edges_at(snapshot, spec, one, type_name, "out", retracted=True):
        far = row.target if place.source == one else place.source
        if row.seq <= seq and other in (None, far) and (type_name or tables.type_name(place.type) != CONTAINS):
            found[place.edge] = place, row
    carried = _merge_moved_edges(snapshot, found)
    all_states = []
    for number in sorted(found.keys() - set(carried.values())):
        last = number
        while last in carried:
            last = carried[last]
        all_states.append(_state(snapshot, *found[last], found[number][1].seq))
    return tuple(_link_successors(all_states))


def _merge_moved_edges(
    snapshot: visible.VisibleSnapshot, found: dict[int, tuple[EdgePlace, EdgeRow]]
) -> dict[int, int]:
    """Map each edge that a move gave another home to its copy there: both are one statement."""
    begun: dict[tuple[int, ...], list[int]] = {}
    for number, (place, row) in sorted(found.items()):
        begun.setdefault((row.seq, *_ends(place, row)), []).append(number)
    carried: dict[int, int] = {}
    for number, (place, row) in sorted(found.items()):
        for other in begun.get((row.unlinked, *_ends(place, row)), ()):
            then = found[other][1]
            one, two = snapshot.details(row.seq, row.details), snapshot.details(then.seq, then.details)
            is_same = (one.why, one.properties) == (two.why, two.properties)
            if is_same and then.home != row.home and other not in carried.values():
                carried[number] = other
                break
    return carried


def _ends(place: EdgePlace, row: EdgeRow) -> tuple[int, ...]:
    return place.type, place.source, row.target, row.source_version, row.target_version, row.valid_from


def _state(snapshot: visible.VisibleSnapshot, place: EdgePlace, row: EdgeRow, said_in: int) -> records.State:
    """The state of an edge that a commit stated first."""
    moment = snapshot.place.moment
    edge = build.edge(snapshot, place, row, moment)
    header = snapshot.header(said_in)
    is_retracted = row.unlinked <= moment.seq and row.unlinked != LIVE
    taken_back = snapshot.header(row.unlinked) if is_retracted else None
    given = edge.properties
    context: dict[str, Any] = {name: given[name] for name in EDGE_CONTEXT if name in given}
    return records.State(
        ref=edge.ref,
        type=edge.type,
        source=edge.source,
        target=edge.target,
        valid=edge.valid,
        spans=edge.spans,
        holds=taken_back is None and not edge.closed,
        seq=said_in,
        ingested_at=header.ingest_time,
        author=header.author,
        why=edge.why,
        context=context,
        properties={name: value for name, value in given.items() if name not in context},
        retracted=row.unlinked if is_retracted else 0,
        retracted_at=None if taken_back is None else taken_back.ingest_time,
        next="",
    )


def _link_successors(said: list[records.State]) -> list[records.State]:
    """Set the ``next`` of each state: the one that begins where it ends, of the same relation and source."""
    begun: dict[tuple[str, str, int], str] = {}
    for state in said:
        if not state.retracted:
            begun.setdefault((state.type, state.source, state.valid.start), state.ref)
    found = []
    for state in said:
        after = begun.get((state.type, state.source, state.valid.end)) if state.valid.end != times.FOREVER else None
        found.append(msgspec.structs.replace(state, next=after) if after and after != state.ref else state)
    return found
