"""Export a world as plain objects, one a line: everything that a view shows of it.

Times are ISO 8601 in UTC, ``null`` for an open end; references are hexadecimal. ``docs/bundles.md`` lists the objects
and their fields.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, Final

from worlddb.log.model import ids, times
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage.schema import ROOT_NODE, STATUS_NAMES
from worlddb.query.export.bundle_export import Interior, interior_of
from worlddb.query.reads import build
from worlddb.query.records.records import Edge, Valid, World
from worlddb.query.snapshot import provenance
from worlddb.query.snapshot.snapshot import SnapshotSource
from worlddb.query.snapshot.visible import Place, VisibleSnapshot

FORMAT: Final = "worlddb-jsonl 1"
PAGE: Final = 64
"""How many objects are made in one transaction."""

Line = dict[str, Any]
Progress = Callable[[int, int], None]


def lines_of(
    reader: SnapshotSource, ref: bytes | str, moment: asof.Moment, store_id: bytes, progress: Progress | None = None
) -> Iterator[Line]:
    """The lines of a world at ``moment.seq``: it, the worlds inside, their edges and proposals.

    ``progress`` is called with how many worlds and edges are done, and how many there are.

    Raises:
        UnknownReference, AmbiguousReference: as :func:`find_node`.
    """
    place = Place(moment, ROOT_NODE)
    with reader.snapshot() as snapshot:
        node = table_reads.find_node(snapshot.tables, ref, moment.seq)
        inside = interior_of(snapshot, node, moment.seq)
        heading: Line = {
            "kind": "export",
            "format": FORMAT,
            "store": store_id.hex(),
            "seq": moment.seq,
            "ingested_at": _time(snapshot.log.header(moment.seq).ingest_time),
            "world": snapshot.tables.node(node).lineage.hex(),
            "hash": _hash(VisibleSnapshot(snapshot, place), node),
        }
    yield heading
    nodes, within = sorted(inside.nodes), frozenset(inside.nodes)
    edges = sorted((found for each in inside.edges.values() for found in each), key=lambda found: found.edge)

    def report(done: int) -> None:
        if progress is not None:
            progress(done, len(nodes) + len(edges))

    for first in range(0, len(nodes), PAGE):
        with reader.snapshot() as snapshot:
            visible = VisibleSnapshot(snapshot, place)
            lines = [_world(visible, node, within) for node in nodes[first : first + PAGE]]
        yield from lines
        report(first + len(lines))
    for first in range(0, len(edges), PAGE):
        with reader.snapshot() as snapshot:
            visible = VisibleSnapshot(snapshot, place)
            rows = [(found, visible.tables.edge(found)) for found in edges[first : first + PAGE]]
            lines = [_edge(visible, build.edge(visible, *row, moment)) for row in rows]
        yield from lines
        report(len(nodes) + first + len(lines))
    count = 0
    for line in _proposals(reader, inside, place):
        count += 1
        yield line
    yield {"kind": "end", "worlds": len(nodes), "edges": len(edges), "proposals": count}


def memory_graph(worlds: Iterable[World], edges_of: Callable[[str], Iterable[Edge]]) -> Iterator[Line]:
    """The valid worlds and edges as lines for the reference server ``memory`` of MCP: entities, then relations.

    There an entity is known by its name, so worlds of one name get the beginning of their reference behind it, and one
    without a name has that alone. ``edges_of`` gives the edges that go out from a world.
    """
    found = list(worlds)
    often = Counter(world.name for world in found)
    names = {
        world.ref: world.name if world.name and often[world.name] == 1 else f"{world.name} {world.ref[:12]}".strip()
        for world in found
    }
    for world in found:
        observations = [world.content] if world.content else []
        observations += [f"Also called {alias}" for alias in world.aliases]
        yield {"type": "entity", "name": names[world.ref], "entityType": world.type, "observations": observations}
    related: set[tuple[str, str, str]] = set()
    for world in found:
        for edge in edges_of(world.ref):
            relation = world.ref, edge.target, edge.type
            if edge.target in names and relation not in related:
                related.add(relation)
                yield {
                    "type": "relation",
                    "from": names[world.ref],
                    "to": names[edge.target],
                    "relationType": edge.type,
                }


def _world(snapshot: VisibleSnapshot, node: int, within: Container[int]) -> Line:
    moment = snapshot.place.moment
    row = snapshot.tables.node(node)
    newest = asof.newest_version(snapshot.tables, node, moment.seq)
    bases, more = ((), False) if newest is None else provenance.rests_on(snapshot, node, newest.row, within)
    versions = [build.version(snapshot, node, seen) for seen in asof.versions_as_of(snapshot.tables, node, moment.seq)][
        ::-1
    ]
    return {
        "kind": "world",
        "ref": row.lineage.hex(),
        "hash": _hash(snapshot, node),
        "created_at": _time(row.t_create),
        "ended": asof.has_ended(snapshot.tables, node, moment.seq),
        "aliases": list(build.aliases(snapshot, node, moment.seq)),
        "expires_at": None if (deadline := snapshot.deadline(node)) is None else _time(deadline),
        "pinned": snapshot.is_pinned(node),
        "labels": list(build.labels(snapshot, node)),
        "deprecated": snapshot.is_deprecated(node),
        "tags": build.tags(snapshot, node),
        "rests_on": [_record(basis, ("trust",)) for basis in bases],
        "rests_on_more": more,
        "versions": [_record(version, ("erased", "erasure", "stale")) for version in versions],
    }


def _edge(snapshot: VisibleSnapshot, edge: Any) -> Line:
    header = snapshot.header(edge.seq)
    made = {"ingested_at": _time(header.ingest_time), "author": header.author}
    return {"kind": "edge"} | _record(edge, ("closed",)) | made


def _proposals(reader: SnapshotSource, inside: Interior, place: Place) -> Iterator[Line]:
    seq, within = place.moment.seq, frozenset(inside.nodes)
    found = sorted(row for rows in inside.proposals.values() for row in rows)
    for first in range(0, len(found), PAGE):
        lines: list[Line] = []
        with reader.snapshot() as whole:
            snapshot = VisibleSnapshot(whole, place)
            for _, identifier, row in found[first : first + PAGE]:
                made = build.proposal(snapshot, identifier, row, seq, within.__contains__)
                header = snapshot.header(row.seq)
                status, decided = asof.decision_at(snapshot.tables, identifier, row, seq)
                lines.append(
                    {"kind": "proposal"}
                    | _record(made, ("source_name", "target_name"))
                    | {
                        "home": snapshot.tables.node(row.home).lineage.hex(),
                        "status": STATUS_NAMES[status],
                        "decided": decided or None,
                        "ingested_at": _time(header.ingest_time),
                        "author": header.author,
                    }
                )
        yield from lines


def _record(record: Any, without: tuple[str, ...] = ()) -> Line:
    """The fields of a record. An erased one has ``erased`` and no texts."""
    line: Line = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, Valid):
            value = _span(value)
        elif name == "spans":
            value = [_span(span) for span in value]
        elif name == "restated":
            value = [_record(each, ("number",)) for each in value]
        elif name == "ingested_at":
            value = _time(value)
        if name not in without:
            line[name] = value
    if getattr(record, "erased", False):
        line["erased"] = True
    return line


def _span(valid: Valid) -> dict[str, str | None]:
    return {"from": _time(valid.start), "to": _time(valid.end)}


def _time(micros: int) -> str | None:
    return None if micros in (times.ALWAYS, times.FOREVER) else times.format_time(micros)


def _hash(snapshot: VisibleSnapshot, node: int) -> str:
    found = snapshot.tables.hash_row(node, snapshot.place.moment.seq)
    return "" if found is None else found[1][: ids.HASH_BYTES].hex()
