"""Conflicts: which recorded contradictions a read shows, and between what."""

from __future__ import annotations

from worlddb.log.model.times import Interval
from worlddb.projections.tables.reads.asof import Moment, edge_known, edge_validity, version_at, versions_as_of
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage.schema import EdgePlace, EdgeRow
from worlddb.query.ontology import holds
from worlddb.query.period import Period, edge_in
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec


def conflicts_of(
    snapshot: Sight, node: int, moment: Moment, spec: Spec, period: Period | None
) -> list[tuple[EdgePlace, EdgeRow]]:
    """The edges that record the conflicts of a world, in log order.

    What contradicts something that is not valid is no conflict: both sides and the edge must be valid together, at the
    moment, or throughout the period or at some instant of it.
    """
    tables = snapshot.tables
    found: dict[int, tuple[EdgePlace, EdgeRow]] = {}
    for type_name in sorted(spec.conflict_types):
        code = tables.type_code(type_name)
        if code is None:
            continue
        outgoing = tables.outgoing(node, code, known_by=moment.seq)
        for place, row in (*outgoing, *tables.incoming(node, code, known_after=moment.seq, known_by=moment.seq)):
            if _shown(tables, place, row, moment, period) and holds(
                snapshot, spec, type_name, "show_conflicts", row.home
            ):
                found[place.edge] = place, row
    return [found[edge] for edge in sorted(found)]


def _shown(tables: TableReads, place: EdgePlace, row: EdgeRow, moment: Moment, period: Period | None) -> bool:
    """True if the edge is in force together with both of its ends."""
    if period is None:
        ends = (place.source, row.target)
        return edge_in(tables, place, row, moment, None) and all(version_at(tables, end, moment) for end in ends)
    if not edge_known(row, moment.seq):
        return False
    together = [period.span.intersect(edge_validity(tables, place, row, moment.seq))]
    for end in (place.source, row.target):
        valid = [seen.validity for seen in versions_as_of(tables, end, moment.seq)]
        together = [piece for part in together for one in valid if not (piece := part.intersect(one)).is_empty]
    return _length(together) == _length([period.span]) if period.throughout else bool(together)


def _length(pieces: list[Interval]) -> int:
    """How long pieces are in all; those of a world's versions never overlap."""
    return sum(piece.end - piece.start for piece in pieces)
