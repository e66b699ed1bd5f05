"""The history of a world on both time axes, its blame, and everything known of one identity.

The history lists versions, and when the end of each was learned. Blame names the commit that set each field and each
edge, with its author, time and reason.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from worlddb.log.model import blobs, errors, ids, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema, timeline_rows
from worlddb.query.reads import adjacency, build, world_lookup
from worlddb.query.records import records
from worlddb.query.snapshot import edge_rules, valid_period, visible


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
        steps = _steps(snapshot, node)
        learned = {step.number for step in steps if between.contains(snapshot.header(step.seq).ingest_time)}
        found = [seen for seen in found if seen.number in learned]
    return [build.version(snapshot, node, seen) for seen in reversed(found)]


def timeline(snapshot: visible.VisibleSnapshot, node: int) -> list[records.Learned]:
    """Everything that was learned about when the versions of a lineage are valid, in log order."""
    told = _LineageLog(snapshot, node)
    return [told.step(step) for step in sorted(_steps(snapshot, node), key=lambda step: step[:2])]


class _LineageLog:
    """The events of commits about one lineage, looked up once."""

    def __init__(self, snapshot: visible.VisibleSnapshot, node: int) -> None:
        self._snapshot, self._node = snapshot, node
        self._lineage = snapshot.tables.node(node).lineage
        self._details: dict[int, list[int]] | None = None
        self._versions: dict[int, records.Version] = {}
        self._changed: list[tuple[int, int]] | None = None

    def why_closed(self, seq: int) -> str:
        """The reason of the commit that closed a version, by retiring, replacing or succeeding it."""
        if self._details is None:
            tables = self._snapshot.tables
            self._details = defaultdict(list)
            made = [(row.seq, row.details) for _, row in tables.incoming(self._node)]
            made += [(row.seq, row.details) for _, row in tables.version_rows(self._node)]
            for at, details in made:
                self._details[at].append(details)
        given = (self._snapshot.details(seq, details).why for details in self._details.get(seq, ()))
        return next((why for why in (*self._snapshot.reasons(seq, self._lineage), *given) if why), "")

    def step(self, step: _ValidityStep) -> records.Learned:
        row = self._snapshot.tables.version(self._node, step.number)
        is_written = step.seq == row.seq
        header = self._snapshot.header(step.seq)
        return records.Learned(
            number=step.number,
            change="written" if is_written else "closed",
            valid=records.Valid(step.validity.start, step.validity.end),
            spans=build.multiple_spans(step.validity),
            seq=step.seq,
            ingested_at=header.ingest_time,
            author=header.author,
            why=self._snapshot.details(step.seq, row.details).why if is_written else self.why_closed(step.seq),
            late=step.late,
            ref=self._lineage.hex(),
        )

    def shift(self, at: int, before: asof.SeenVersion | None, after: asof.SeenVersion | None) -> records.Shift:
        """The change of a lineage's content at a time."""
        seq = self._learned_seq(at)
        header = self._snapshot.header(seq)
        wrote = after is not None and after.row.seq == seq
        return records.Shift(
            ref=self._lineage.hex(),
            at=at,
            before=None if before is None else self._version(before),
            after=None if after is None else self._version(after),
            seq=seq,
            ingested_at=header.ingest_time,
            author=header.author,
            why=self._snapshot.details(seq, after.row.details).why
            if after is not None and wrote
            else self.why_closed(seq),
        )

    def _version(self, seen: asof.SeenVersion) -> records.Version:
        if seen.number not in self._versions:
            self._versions[seen.number] = build.version(self._snapshot, self._node, seen)
        return self._versions[seen.number]

    def _learned_seq(self, at: int) -> int:
        """The commit since which the content right before a time and from it on is known."""
        if self._changed is None:
            line = [(times.ALWAYS, self._snapshot.tables.version(self._node, 1).seq)]
            for step in _steps(self._snapshot, self._node):
                for window in step.changed:
                    line = timeline_rows.overlaid(line, window, step.seq)
            self._changed = line
        found = (bisect_right(self._changed, time, key=lambda step: step[0]) for time in (at - 1, at))
        return max(self._changed[after - 1][1] for after in found)


def is_learned(snapshot: visible.VisibleSnapshot, node: int, seen: asof.SeenVersion, between: times.Interval) -> bool:
    """True if a version was written, or its end was learned, in a span of ingest time."""
    steps = (step.seq for step in _steps(snapshot, node) if step.number == seen.number)
    return any(between.contains(snapshot.header(seq).ingest_time) for seq in steps)


class _ValidityStep(NamedTuple):
    """The validity that a commit gave a version."""

    seq: int
    number: int
    validity: times.Validity
    late: bool = False
    changed: tuple[times.Interval, ...] = ()
    """The times that it took or lost by this."""


def _steps(snapshot: visible.VisibleSnapshot, node: int) -> Iterator[_ValidityStep]:
    """The changes of validity by commits up to the snapshot's, in log order."""
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    row, first = tables.node(node), tables.version(node, 1)
    if row.versions == 1 and not first.closed:
        only = times.Interval(first.valid_from, first.valid_to)
        yield _ValidityStep(first.seq, 1, only, changed=only.pieces)
        return
    validities: dict[int, times.Validity] = {}
    starts: dict[int, int] = {}
    written = 0
    for commit in timeline_rows.changes(tables.timelines, place, seq):
        touched: dict[int, times.Validity] = {}
        changed: dict[int, tuple[times.Interval, ...]] = defaultdict(tuple)
        late: set[int] = set()
        for event in snapshot.events_about(commit, row.lineage):
            if isinstance(event, ev.Created | ev.Revised):
                written += 1
                if any(known.start > event.valid_from for known in validities.values() if not known.is_empty):
                    late.add(written)
                starts[written] = event.valid_from
                touched[written] = validities[written] = times.Interval(event.valid_from, event.valid_to)
                changed[written] += validities[written].pieces
            elif isinstance(event, ev.Closed | ev.Lost):
                start = event.valid_to if isinstance(event, ev.Closed) else event.valid_from
                window = times.Interval(start, times.FOREVER if isinstance(event, ev.Closed) else event.valid_to)
                changed[event.version] += validities[event.version].intersect(window).pieces
                remaining = validities[event.version].without(window)
                # Of what holds at no time the beginning is shown, whatever it lost last.
                remaining = (
                    times.Interval(starts[event.version], starts[event.version]) if remaining.is_empty else remaining
                )
                touched[event.version] = validities[event.version] = remaining
        for number, validity in sorted(touched.items()):
            yield _ValidityStep(commit, number, validity, number in late, changed[number])


class _TextPeriod(NamedTuple):
    """A period in which the same text holds, and the versions that say it, in order."""

    period: times.Interval
    by: tuple[asof.SeenVersion, ...]


def _text_periods(snapshot: visible.VisibleSnapshot, node: int) -> list[_TextPeriod]:
    """The periods of a lineage as known at the snapshot's commit, in order; adjacent equal ones are merged."""
    known = asof.versions_as_of(snapshot.tables, node, snapshot.place.moment.seq)
    pieces = sorted(
        ((piece, seen) for seen in known for piece in seen.validity.pieces if not piece.is_empty),
        key=lambda held: held[0].start,
    )
    found: list[_TextPeriod] = []
    for piece, seen in pieces:
        last = found[-1] if found else None
        if (
            last is not None
            and last.period.end >= piece.start
            and (last.by[-1].number == seen.number or build.says_the_same(snapshot, last.by[-1], seen))
        ):
            period = times.Interval(last.period.start, max(last.period.end, piece.end))
            found[-1] = _TextPeriod(period, (*last.by, seen))
        else:
            found.append(_TextPeriod(piece, (seen,)))
    return found


def coalesced(snapshot: visible.VisibleSnapshot, node: int) -> list[records.Held]:
    """The periods in which a lineage says the same, in order (SQL:2011's coalescing, across versions)."""
    found = []
    for period, by in _text_periods(snapshot, node):
        body = snapshot.body(by[-1].row)
        text = body or blobs.Body(b"", "", "", "")
        found.append(
            records.Held(
                valid=records.Valid(*period),
                versions=tuple(dict.fromkeys(seen.number for seen in by)),
                type=text.type,
                name=text.name,
                content=text.content,
                erased=body is None,
            )
        )
    return found


def start_of_text(periods: Iterable[records.Held], number: int, start: int) -> int:
    """Since when what a version says has been so without a gap, from ``periods`` of the lineage, if the version holds
    from ``start`` on."""
    spans = (each.valid for each in periods if number in each.versions)
    return next((each.start for each in spans if each.start <= start < each.end), start)


def changes(snapshot: visible.VisibleSnapshot, nodes: Iterable[int], between: times.Interval) -> records.Changes:
    """The changes of some lineages in a span of valid time, and what was learned of the span after its end."""
    happened: list[records.Shift] = []
    learned: list[records.Learned] = []
    for node in nodes:
        if _is_unchanged_in(snapshot, node, between):
            continue
        told = _LineageLog(snapshot, node)
        happened += _shifts(snapshot, told, node, between)
        for step in _steps(snapshot, node):
            if not any(each.overlaps(between) for each in step.changed):
                continue
            if snapshot.header(step.seq).ingest_time >= between.end:
                learned.append(told.step(step))
    happened.sort(key=lambda shift: shift.at)
    learned.sort(key=lambda step: step.seq)
    return records.Changes(happened=tuple(happened), learned=tuple(learned))


def _is_unchanged_in(snapshot: visible.VisibleSnapshot, node: int, between: times.Interval) -> bool:
    """True if a world says one thing only, and nothing about a span; quick to say, and true of most."""
    if snapshot.tables.node(node).versions > 1:
        return False
    only = snapshot.tables.version(node, 1)
    return not only.closed and (only.valid_from >= between.end or only.valid_to < between.start)


def worlds_inside_during(snapshot: visible.VisibleSnapshot, world: int, between: times.Interval) -> Iterator[int]:
    """The members of a world, at any depth, at the snapshot's moment or at some instant of a span, in log order.

    A world may be younger than what was put into it: what happened to that in the span counts all the same.
    """
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    inside = {world, *snapshot.inhabitants(world)}
    if world == schema.ROOT_NODE:
        yield from sorted(inside - {world})
        return
    pending = sorted(inside)
    for node in pending:
        for place, row in tables.outgoing(node, schema.CONTAINS_CODE, known_by=seq):
            if row.target in inside or not asof.edge_known(row, seq):
                continue
            if asof.edge_validity(tables, place, row, seq).overlaps(between):
                inside.add(row.target)
                pending.append(row.target)
    yield from sorted(inside - {world})


def _shifts(
    snapshot: visible.VisibleSnapshot, told: _LineageLog, node: int, between: times.Interval
) -> Iterator[records.Shift]:
    """The times in a span at which the content of a lineage changes, in order."""
    before: _TextPeriod | None = None
    for run in _text_periods(snapshot, node):
        if before is not None and before.period.end < run.period.start:
            if between.contains(before.period.end):
                yield told.shift(before.period.end, before.by[-1], None)
            before = None
        if between.contains(run.period.start):
            yield told.shift(run.period.start, None if before is None else before.by[-1], run.by[0])
        before = run
    if before is not None and before.period.end != times.FOREVER and between.contains(before.period.end):
        yield told.shift(before.period.end, before.by[-1], None)


TEXT_FIELDS: Final = ("type", "name", "content")


class BlamedField(msgspec.Struct, frozen=True, kw_only=True):
    """A field with its value, and the commit that gave it this value: who, when and why.

    ``field`` is ``type``, ``name``, ``content``, ``alias``, ``valid_from``, ``valid_to``, ``ended``, ``container``,
    ``property NAME``, of which the value is JSON, or ``statements``, of which it is how many of those that hold the
    commit stated; ``ref`` is the container's reference, and empty for the others. ``version`` is the number of the
    version that first had the value, 0 for what belongs to no version.
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
    found = _BlameReader(snapshot, node, moment)
    return Blame(
        ref=snapshot.ref(node),
        number=seen.number,
        fields=(
            *found.texts(seen),
            *found.properties(seen),
            *found.aliases(),
            *found.validity(seen),
            *found.containers(),
            *found.statements(),
        ),
        edges=tuple(found.edges()),
    )


class _BlameReader:
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
            unchanged = {field for field in unchanged if _field_equals(text, body, field)}
            if not unchanged:
                break
            first.update(dict.fromkeys(unchanged, older))
        for field in TEXT_FIELDS:
            origin = first[field]
            yield self._field(field, getattr(body, field), origin.row.seq, self._reason(origin), version=origin.number)

    def properties(self, seen: asof.SeenVersion) -> Iterator[BlamedField]:
        """Each property as JSON, with the first version that has had the value ever since."""
        held = self._properties_of(seen)
        first, unchanged = dict.fromkeys(held, seen), set(held)
        for older in asof.versions_as_of(self._tables, self._node, self._moment.seq) if held else ():
            if older.number >= seen.number:
                continue
            said = self._properties_of(older)
            unchanged = {name for name in unchanged if name in said and said[name] == held[name]}
            if not unchanged:
                break
            first.update(dict.fromkeys(unchanged, older))
        for name, origin in first.items():
            value = msgspec.json.encode(held[name]).decode()
            why = self._reason(origin)
            yield self._field(f"property {name}", value, origin.row.seq, why, version=origin.number)

    def _properties_of(self, seen: asof.SeenVersion) -> dict[str, Any]:
        return build.properties(self._snapshot.details(seen.row.seq, seen.row.details))

    def aliases(self) -> Iterator[BlamedField]:
        for _, row in self._tables.aliases(self._node):
            if asof.alias_known(row, self._moment.seq):
                details = self._snapshot.details(row.seq, row.details)
                for text in details.aliases[row.position : row.position + 1]:
                    yield self._field("alias", text, row.seq, details.why)

    def validity(self, seen: asof.SeenVersion) -> Iterator[BlamedField]:
        """Both ends, and whether the lineage has ended."""
        begins, ends = seen.validity.start, seen.validity.end
        yield self._field(
            "valid_from", times.format_time(begins), seen.row.seq, self._reason(seen), version=seen.number
        )
        closed = asof.closed_by(self._tables, self._node, seen.number, seen.row, self._moment.seq)
        if closed or ends != times.FOREVER:
            why = _LineageLog(self._snapshot, self._node).why_closed(closed) if closed else self._reason(seen)
            yield self._field("valid_to", times.format_time(ends), closed or seen.row.seq, why, version=seen.number)
        row = self._tables.node(self._node)
        ended = asof.ended_by(self._tables, self._node, row, self._moment.seq)
        if ended:
            yield self._field("ended", "yes", ended, _LineageLog(self._snapshot, self._node).why_closed(ended))

    def statements(self) -> Iterator[BlamedField]:
        """The commits of the statements that hold, each with their number."""
        from worlddb.projections.tables.statements import statement_rows

        known = statement_rows.known_at(self._snapshot.stored.tables, self._node, self._moment.seq)
        holding = (each for each in known if each.holds(*self._moment))
        for (seq, details), count in sorted(Counter((each.origin, each.details) for each in holding).items()):
            yield self._field("statements", f"{count:,}", seq, self._snapshot.details(seq, details).why)

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
        validity = asof.edge_validity(tables, place, row, self._moment.seq)
        return BlamedEdge(
            ref=row.edge.hex(),
            type=tables.type_name(place.type),
            source=tables.node(place.source).lineage.hex(),
            target=tables.node(row.target).lineage.hex(),
            name=self._name(other),
            valid=records.Valid(validity.start, validity.end),
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


def _field_equals(one: blobs.Body | None, other: blobs.Body, field: str) -> bool:
    return one is not None and getattr(one, field) == getattr(other, field)


def identity_document(
    snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, node: int, *, unify: bool
) -> records.Identity:
    """All that a view knows of one identity, for an access request (paper §3.1): names, versions, sources and facts.

    With ``unify`` the edges of each member are those of the whole class, and those that make it one are left out.
    """
    moment = snapshot.place.moment
    members = world_lookup.identity_class(snapshot, node, moment.seq, spec)
    refs = {member: snapshot.ref(member) for member in members}
    worlds = [_newest_record(snapshot, member, spec) for member in members]
    versions = {refs[member]: tuple(history(snapshot, member)) for member in members}
    links: dict[str, records.Edge] = {}
    facts: dict[str, records.KnownFact] = {}
    every = adjacency.EdgeFilter(None, "both", include_superseded=True, period=None)
    for member in members:
        for edge in adjacency.edges_of(snapshot, spec, members if unify else [member], every):
            if adjacency.unifies(snapshot, spec, edge):
                if not unify:
                    links[edge.ref] = edge
            elif edge.type != schema.CONTAINS:
                other = edge.target if edge.source in versions else edge.source
                known = None if other in versions else _world_of(snapshot, other, spec)
                facts[edge.ref] = records.KnownFact(edge=edge, world=known)
    shown = tuple(world for world in worlds if world is not None)
    names = (name for world in shown for name in (*(each.name for each in versions[world.ref]), *world.aliases))
    found = [version.source for known in versions.values() for version in known]
    found += [fact.world.source for fact in facts.values() if fact.world is not None]
    return records.Identity(
        refs=tuple(refs.values()),
        names=tuple(dict.fromkeys(filter(None, names))),
        worlds=shown,
        versions=versions,
        links=tuple(links.values()),
        facts=tuple(facts.values()),
        sources=tuple(source for at, source in enumerate(found) if source and source not in found[:at]),
    )


def _world_of(snapshot: visible.VisibleSnapshot, ref: str, spec: edge_rules.Spec) -> records.World | None:
    node = snapshot.tables.node_of(bytes.fromhex(ref))
    return None if node is None else _newest_record(snapshot, node, spec)


def _newest_record(snapshot: visible.VisibleSnapshot, node: int, spec: edge_rules.Spec) -> records.World | None:
    """The record of a world, whether it is valid at the view's moment or no longer."""
    return build.world(snapshot, node, snapshot.place.moment, spec, include_superseded=True)
