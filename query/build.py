"""Rows become records."""

from __future__ import annotations

from collections.abc import Callable

from worlddb.log.model.blobs import Body
from worlddb.projections.tables.reads.asof import (
    Moment,
    SeenVersion,
    alias_known,
    decision_at,
    edge_validity,
    newest_version,
)
from worlddb.projections.tables.storage.schema import STATUS_NAMES, EdgePlace, EdgeRow, ProposalRow
from worlddb.query import records
from worlddb.query.conflicts import conflicts_of
from worlddb.query.evidence import evidence_shown
from worlddb.query.period import Period, versions_in
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec

_ERASED = Body(b"", "", "", "")


def world(
    snapshot: Sight,
    node: int,
    moment: Moment,
    spec: Spec,
    *,
    include_superseded: bool = False,
    period: Period | None = None,
) -> records.World | None:
    """A world at a moment or in a period (its newest version there), or ``None`` if no version of it is valid then."""
    seen = next(versions_in(snapshot.tables, node, moment, period), None)
    if seen is None and period is None and (include_superseded or not spec.hides_closed):
        seen = newest_version(snapshot.tables, node, moment.seq)
    return None if seen is None else world_of(snapshot, node, seen, moment, spec, period)


def world_of(
    snapshot: Sight, node: int, seen: SeenVersion, moment: Moment, spec: Spec, period: Period | None = None
) -> records.World:
    """The record of one version of a world."""
    row = snapshot.tables.node(node)
    body = snapshot.body(seen.row)
    text = body or _ERASED
    details = snapshot.details(seen.row.seq, seen.row.details)
    header = snapshot.header(seen.row.seq)
    return records.World(
        ref=row.lineage.hex(),
        version=seen.row.body.hex(),
        number=seen.number,
        type=text.type,
        name=text.name,
        content=text.content,
        aliases=aliases(snapshot, node, moment.seq),
        valid=records.Valid(*seen.validity),
        seq=seen.row.seq,
        ingested_at=header.ingest_time,
        author=header.author,
        why=details.why,
        source=details.source,
        closed=not seen.validity.contains(moment.valid),
        ended=bool(row.ended) and row.ended <= moment.seq,
        erased=body is None,
        erasure=None if body is not None else snapshot.erasure(node),
        conflicts=conflicts(snapshot, node, moment, spec, period),
    )


def aliases(snapshot: Sight, node: int, seq: int) -> tuple[str, ...]:
    """The aliases that a world had at a commit."""
    found = []
    for _, row in snapshot.tables.aliases(node) if snapshot.tables.node(node).aliases else ():
        texts = snapshot.details(row.seq, row.details).aliases if alias_known(row, seq) else []
        if row.position < len(texts):
            found.append(texts[row.position])
    return tuple(found)


def conflicts(snapshot: Sight, node: int, moment: Moment, spec: Spec, period: Period | None = None) -> tuple[str, ...]:
    """The worlds that contradict this one at a moment, or at some instant of a period, in log order."""
    found = conflicts_of(snapshot, node, moment, spec, None if period is None else period.touched)
    others = (row.target if place.source == node else place.source for place, row in found)
    return tuple(snapshot.tables.node(other).lineage.hex() for other in others)


def edge(snapshot: Sight, place: EdgePlace, row: EdgeRow, moment: Moment) -> records.Edge:
    """The record of an edge."""
    tables = snapshot.tables
    validity = edge_validity(tables, place, row, moment.seq)
    details = snapshot.details(row.seq, row.details)
    return records.Edge(
        ref=row.edge.hex(),
        type=tables.type_name(place.type),
        source=tables.node(place.source).lineage.hex(),
        source_version=row.source_version,
        target=tables.node(row.target).lineage.hex(),
        target_version=row.target_version,
        home=tables.node(row.home).lineage.hex(),
        valid=records.Valid(*validity),
        closed=not validity.contains(moment.valid),
        seq=row.seq,
        properties=details.properties,
        why=details.why,
    )


def version(snapshot: Sight, node: int, seen: SeenVersion) -> records.Version:
    """The record of a version in a history."""
    body = snapshot.body(seen.row)
    text = body or _ERASED
    details = snapshot.details(seen.row.seq, seen.row.details)
    header = snapshot.header(seen.row.seq)
    return records.Version(
        version=seen.row.body.hex(),
        number=seen.number,
        type=text.type,
        name=text.name,
        content=text.content,
        valid=records.Valid(*seen.validity),
        seq=seen.row.seq,
        ingested_at=header.ingest_time,
        author=header.author,
        why=details.why,
        source=details.source,
        erased=body is None,
        erasure=None if body is not None else snapshot.erasure(node),
    )


def proposal(
    snapshot: Sight,
    identifier: bytes,
    row: ProposalRow,
    seq: int,
    is_told_of: Callable[[int], bool] | None = None,
) -> records.Proposal:
    """The record of a proposal as it stood at a commit; for ``is_told_of`` see :func:`evidence_shown`."""
    status, decided = decision_at(snapshot.tables, identifier, row, seq)
    details = snapshot.details(row.seq, row.details)
    names = []
    for node in (row.source, row.target):
        seen = newest_version(snapshot.tables, node, seq)
        body = None if seen is None else snapshot.body(seen.row)
        names.append("" if body is None else body.name)
    sides = snapshot.tables.node(row.source).lineage.hex(), snapshot.tables.node(row.target).lineage.hex()
    return records.Proposal(
        ref=identifier.hex(),
        status=STATUS_NAMES[status],
        source=sides[0],
        source_name=names[0],
        target=sides[1],
        target_name=names[1],
        evidence=evidence_shown(snapshot, details.properties, sides, seq, is_told_of),
        why=details.why,
        seq=row.seq,
        decided=decided,
    )


def staged_until(snapshot: Sight, seq: int) -> list[tuple[bytes, ProposalRow]]:
    """The proposals known at a commit, in the order in which they were staged."""
    known = sorted(staged for staged in snapshot.tables.staged() if staged.seq <= seq)
    rows = ((staged.proposal, snapshot.tables.proposal(staged.proposal)) for staged in known)
    return [(proposal, row) for proposal, row in rows if row is not None]
