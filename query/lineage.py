"""A lineage on both time axes: its versions, and when each of their ends was learned."""

from __future__ import annotations

from worlddb.log.model.times import Interval
from worlddb.projections.tables.reads.asof import SeenVersion, versions_as_of
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage.schema import CLOSING_KEY, CLOSING_PREFIX, CLOSING_VERSION, TIME
from worlddb.query import build, records
from worlddb.query.period import Period
from worlddb.query.sight import Sight


def history(
    sight: Sight, node: int, *, between: Interval | None = None, period: Period | None = None
) -> list[records.Version]:
    """The versions known at the sight's commit, oldest first, with the validity that they have there.

    With ``between``, those of which something was learned in that span of ingest time: the version itself, or an end
    of it. With ``period``, those that are valid in it.
    """
    seq = sight.place.moment.seq
    found = [seen for seen in versions_as_of(sight.tables, node, seq) if period is None or period.admits(seen.validity)]
    if between is not None:
        found = [seen for seen in found if is_learned(sight, node, seen, between)]
    return [build.version(sight, node, seen) for seen in reversed(found)]


def timeline(sight: Sight, node: int) -> list[records.Learned]:
    """Everything that was learned about when the versions of a lineage are valid, in log order."""
    learned = [
        (seq, seen, end)
        for seen in versions_as_of(sight.tables, node, sight.place.moment.seq)
        for seq, end in _ends(sight.tables, node, seen, sight.place.moment.seq)
    ]
    return [_record(sight, node, *step) for step in sorted(learned, key=lambda step: (step[0], step[1].number))]


def why_closed(sight: Sight, node: int, seq: int) -> str:
    """The reason of the commit that closed a version: for retiring it, for what replaced it, for its successor."""
    tables = sight.tables
    reasons = list(sight.reasons(seq, tables.node(node).lineage))
    edges = ((row.seq, row.details) for _, row in tables.incoming(node))
    versions = ((row.seq, row.details) for _, row in tables.version_rows(node))
    given = (sight.details(*made).why for made in (*edges, *versions) if made[0] == seq)
    return next((why for why in (*reasons, *given) if why), "")


def is_learned(sight: Sight, node: int, seen: SeenVersion, between: Interval) -> bool:
    """True if a version was written in a span of ingest time, or something was learned of its end then."""
    steps = _ends(sight.tables, node, seen, sight.place.moment.seq)
    return any(between.contains(sight.header(seq).ingest_time) for seq, _ in steps)


def _ends(tables: TableReads, node: int, seen: SeenVersion, seq: int) -> list[tuple[int, int]]:
    """The commits up to ``seq`` that changed what was known of a version's end, and that end; first its own commit."""
    if not seen.row.closed:
        return [(seen.row.seq, seen.row.valid_to)]
    prefix = CLOSING_PREFIX.pack(CLOSING_VERSION, node, seen.number)
    newest_first: list[tuple[int, int]] = []
    upto = seq
    while found := tables.closings.last(prefix, CLOSING_KEY.pack(CLOSING_VERSION, node, seen.number, upto)):
        at = int(CLOSING_KEY.unpack(found[0])[-1])
        newest_first.append((at, int(TIME.unpack_from(found[1])[0])))
        upto = at - 1
    return newest_first[::-1]


def _record(sight: Sight, node: int, seq: int, seen: SeenVersion, end: int) -> records.Learned:
    is_written = seq == seen.row.seq
    header = sight.header(seq)
    return records.Learned(
        number=seen.number,
        change="written" if is_written else "closed",
        valid=records.Valid(seen.row.valid_from, end),
        seq=seq,
        ingested_at=header.ingest_time,
        author=header.author,
        why=sight.details(seq, seen.row.details).why if is_written else why_closed(sight, node, seq),
    )
