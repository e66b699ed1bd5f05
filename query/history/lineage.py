"""The history of a world on both time axes, and its blame.

The history lists versions, and when each of their ends was learned. Blame names the commit that made each field and
each edge what it is, with its author, time and reason.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from worlddb.log.model import blobs, errors, ids, times
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage import schema
from worlddb.query.reads import build
from worlddb.query.records import records
from worlddb.query.snapshot import valid_period, visible


def history(
    snapshot: visible.VisibleSnapshot,
    node: int,
    *,
    between: times.Interval | None = None,
    period: valid_period.Period | None = None,
) -> list[records.Version]:
    """The versions known at the snapshot's commit, oldest first, with the validity known there.

    With ``between``, those of which something was learned in that span of ingest time: the version itself, or an end
    of it. With ``period``, those that are valid in it.
    """
    seq = snapshot.place.moment.seq
    found = [
        seen
        for seen in asof.versions_as_of(snapshot.tables, node, seq)
        if period is None or period.admits(seen.validity)
    ]
    if between is not None:
        found = [seen for seen in found if is_learned(snapshot, node, seen, between)]
    return [build.version(snapshot, node, seen) for seen in reversed(found)]


def timeline(snapshot: visible.VisibleSnapshot, node: int) -> list[records.Learned]:
    """Everything that was learned about when the versions of a lineage are valid, in log order."""
    learned = [
        (seq, seen, end)
        for seen in asof.versions_as_of(snapshot.tables, node, snapshot.place.moment.seq)
        for seq, end in _ends(snapshot.tables, node, seen, snapshot.place.moment.seq)
    ]
    return [_record(snapshot, node, *step) for step in sorted(learned, key=lambda step: (step[0], step[1].number))]


def why_closed(snapshot: visible.VisibleSnapshot, node: int, seq: int) -> str:
    """The reason of the commit that closed a version, by retiring, replacing or succeeding it."""
    tables = snapshot.tables
    reasons = list(snapshot.reasons(seq, tables.node(node).lineage))
    edges = ((row.seq, row.details) for _, row in tables.incoming(node))
    versions = ((row.seq, row.details) for _, row in tables.version_rows(node))
    given = (snapshot.details(*made).why for made in (*edges, *versions) if made[0] == seq)
    return next((why for why in (*reasons, *given) if why), "")


def is_learned(snapshot: visible.VisibleSnapshot, node: int, seen: asof.SeenVersion, between: times.Interval) -> bool:
    """True if a version was written, or its end was learned, in a span of ingest time."""
    steps = _ends(snapshot.tables, node, seen, snapshot.place.moment.seq)
    return any(between.contains(snapshot.header(seq).ingest_time) for seq, _ in steps)


def _ends(tables: table_reads.TableReads, node: int, seen: asof.SeenVersion, seq: int) -> list[tuple[int, int]]:
    """The commits up to ``seq`` that set a version's end, with that end; first its own commit."""
    if not seen.row.closed:
        return [(seen.row.seq, seen.row.valid_to)]
    prefix = schema.CLOSING_PREFIX.pack(schema.CLOSING_VERSION, node, seen.number)
    newest_first: list[tuple[int, int]] = []
    upto = seq
    while found := tables.closings.last(
        prefix, schema.CLOSING_KEY.pack(schema.CLOSING_VERSION, node, seen.number, upto)
    ):
        at = int(schema.CLOSING_KEY.unpack(found[0])[-1])
        newest_first.append((at, int(schema.TIME.unpack_from(found[1])[0])))
        upto = at - 1
    return newest_first[::-1]


def _record(
    snapshot: visible.VisibleSnapshot, node: int, seq: int, seen: asof.SeenVersion, end: int
) -> records.Learned:
    is_written = seq == seen.row.seq
    header = snapshot.header(seq)
    return records.Learned(
        number=seen.number,
        change="written" if is_written else "closed",
        valid=records.Valid(seen.row.valid_from, end),
        seq=seq,
        ingested_at=header.ingest_time,
        author=header.author,
        why=snapshot.details(seq, seen.row.details).why if is_written else why_closed(snapshot, node, seq),
    )


TEXT_FIELDS: Final = ("type", "name", "content")


class BlamedField(msgspec.Struct, frozen=True, kw_only=True):
    """A field with its value, and the commit that gave it this value: who, when and why.

    ``field`` is ``type``, ``name``, ``content``, ``alias``, ``valid_from``, ``valid_to``, ``ended`` or ``container``;
    ``ref`` is the container's reference, and empty for the others. ``version`` is the number of the version that first
    had the value, 0 for what belongs to no version.
    """

    field: str
    value: str
    ref: str
    version: int
    seq: int
    ingested_at: int
    author: str
    why: str


class BlamedEdge(msgspec.Struct, frozen=True, kw_only=True):
    """An edge and the commit that wrote it.

    ``closed`` is the commit that ended its validity, 0 if none did.
    """

    ref: str
    type: str
    source: str
    target: str
    name: str
    valid: records.Valid
    closed: int
    seq: int
    ingested_at: int
    author: str
    why: str


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """A world's fields and edges with the commits that they came from.

    ``number`` is the version that is shown.
    """

    ref: str
    number: int
    fields: tuple[BlamedField, ...]
    edges: tuple[BlamedEdge, ...]


def blame(snapshot: visible.VisibleSnapshot, node: int, moment: asof.Moment) -> Blame:
    """The blame of the version in force at a moment, else of the newest.

    Raises:
        UnknownReference: there is no version yet.
    """
    seen = asof.version_at(snapshot.tables, node, moment) or asof.newest_version(snapshot.tables, node, moment.seq)
    if seen is None:
        raise errors.UnknownReference("The world was not known yet", "Look at a later view")
    found = _Blaming(snapshot, node, moment)
    return Blame(
        ref=snapshot.tables.node(node).lineage.hex(),
        number=seen.number,
        fields=(*found.texts(seen), *found.aliases(), *found.validity(seen), *found.containers()),
        edges=tuple(found.edges()),
    )


class _Blaming:
    """One world at one moment."""

    def __init__(self, snapshot: visible.VisibleSnapshot, node: int, moment: asof.Moment) -> None:
        self._snapshot = snapshot
        self._tables = snapshot.tables
        self._node = node
        self._moment = moment

    def texts(self, seen: asof.SeenVersion) -> Iterator[BlamedField]:
        """Type, name and content, each with the first version that has had the value ever since."""
        body = self._snapshot.body(seen.row)
        if body is None:
            return
        first = dict.fromkeys(TEXT_FIELDS, seen)
        unchanged = set(TEXT_FIELDS)
        for older in asof.versions_as_of(self._tables, self._node, self._moment.seq):
            if older.number >= seen.number:
                continue
            text = self._snapshot.body(older.row)
            unchanged = {field for field in unchanged if _same(text, body, field)}
            if not unchanged:
                break
            first.update(dict.fromkeys(unchanged, older))
        for field in TEXT_FIELDS:
            origin = first[field]
            yield self._field(field, getattr(body, field), origin.row.seq, self._reason(origin), version=origin.number)

    def aliases(self) -> Iterator[BlamedField]:
        for _, row in self._tables.aliases(self._node):
            if asof.alias_known(row, self._moment.seq):
                details = self._snapshot.details(row.seq, row.details)
                for text in details.aliases[row.position : row.position + 1]:
                    yield self._field("alias", text, row.seq, details.why)

    def validity(self, seen: asof.SeenVersion) -> Iterator[BlamedField]:
        """Both ends, and whether the lineage takes further versions."""
        begins, ends = seen.validity
        yield self._field(
            "valid_from", times.format_time(begins), seen.row.seq, self._reason(seen), version=seen.number
        )
        closed = asof.closed_by(self._tables, self._node, seen.number, seen.row, self._moment.seq)
        if closed or ends != times.FOREVER:
            why = why_closed(self._snapshot, self._node, closed) if closed else self._reason(seen)
            yield self._field("valid_to", times.format_time(ends), closed or seen.row.seq, why, version=seen.number)
        ended = self._tables.node(self._node).ended
        if 0 < ended <= self._moment.seq:
            yield self._field("ended", "yes", ended, why_closed(self._snapshot, self._node, ended))

    def containers(self) -> Iterator[BlamedField]:
        for place, row in self._tables.incoming(self._node, schema.CONTAINS_CODE, known_by=self._moment.seq):
            if asof.edge_known(row, self._moment.seq):
                why = self._snapshot.details(row.seq, row.details).why
                ref = self._tables.node(place.source).lineage.hex()
                yield self._field("container", self._name(place.source), row.seq, why, ref=ref)

    def edges(self) -> Iterator[BlamedEdge]:
        """The edges in both directions, in log order, but not those to members."""
        tables, seq, found = self._tables, self._moment.seq, dict[int, tuple[schema.EdgePlace, schema.EdgeRow]]()
        outgoing = tables.outgoing(self._node, known_by=seq)
        for place, row in (*outgoing, *tables.incoming(self._node, known_by=seq)):
            if place.type != schema.CONTAINS_CODE and asof.edge_known(row, self._moment.seq):
                found[place.edge] = place, row
        for number in sorted(found):
            place, row = found[number]
            other = row.target if place.source == self._node else place.source
            yield self._edge(place, row, other)

    def _edge(self, place: schema.EdgePlace, row: schema.EdgeRow, other: int) -> BlamedEdge:
        tables, header = self._tables, self._snapshot.header(row.seq)
        return BlamedEdge(
            ref=row.edge.hex(),
            type=tables.type_name(place.type),
            source=tables.node(place.source).lineage.hex(),
            target=tables.node(row.target).lineage.hex(),
            name=self._name(other),
            valid=records.Valid(*asof.edge_validity(tables, place, row, self._moment.seq)),
            closed=asof.edge_closed_by(tables, place, row, self._moment.seq),
            seq=row.seq,
            ingested_at=header.ingest_time,
            author=header.author,
            why=self._snapshot.details(row.seq, row.details).why,
        )

    def _field(self, field: str, value: str, seq: int, why: str, *, ref: str = "", version: int = 0) -> BlamedField:
        header = self._snapshot.header(seq)
        return BlamedField(
            field=field,
            value=value,
            ref=ref,
            version=version,
            seq=seq,
            ingested_at=header.ingest_time,
            author=header.author,
            why=why,
        )

    def _reason(self, seen: asof.SeenVersion) -> str:
        """The reason that was given for a version."""
        return self._snapshot.details(seen.row.seq, seen.row.details).why

    def _name(self, node: int) -> str:
        seen = asof.newest_version(self._tables, node, self._moment.seq)
        body = None if seen is None else self._snapshot.body(seen.row)
        return (body.name if body else "") or ids.short(self._tables.node(node).lineage)


def _same(one: blobs.Body | None, other: blobs.Body, field: str) -> bool:
    return one is not None and getattr(one, field) == getattr(other, field)
