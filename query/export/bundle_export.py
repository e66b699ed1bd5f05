"""Export a world as frames of a bundle, in the order of the format.

The bundle includes the edge types and thresholds that apply to its worlds.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

from worlddb.log.model import bundle as fr
from worlddb.log.model import codec, errors, hashing, ids, times
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply import mark_rows, settings
from worlddb.projections.tables.beliefs import belief_rows
from worlddb.projections.tables.names.canonical import name_digest, type_digest
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage import schema, timeline_rows
from worlddb.projections.tables.storage.rows import Tables, staging_of
from worlddb.query.snapshot import erasure_notes
from worlddb.query.snapshot.snapshot import Snapshot, SnapshotSource
from worlddb.query.statements import statement_reads

_OPEN, _DONE = 1, 2


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
            if asof.edge_known(row, seq):
                edges[home].append(place)
                leads(place.source, row.source_version)
                leads(row.target, row.target_version)
                if place.type == schema.SAME_AS_CODE and (accepted := tables.proposal(row.edge)) is not None:
                    # The world hash covers its edge, wherever its sides are now.
                    staged.add(staging_of(tables, row.edge, accepted))
            else:
                retracted[home].append(row.edge)
    proposals: defaultdict[int, list[tuple[int, bytes, schema.ProposalRow]]] = defaultdict(list)
    known = ((found.proposal, tables.proposal(found.proposal)) for found in sorted(staged) if found.seq <= seq)
    homed = ((identifier, row) for identifier, row in known if row is not None and row.home in inside)
    for order, (identifier, proposal) in enumerate(homed):
        proposals[proposal.home].append((order, identifier, proposal))
    for places in edges.values():
        places.sort(key=lambda place: place.edge)
    for unlinked in retracted.values():
        unlinked.sort()
    ranks = Order(sorted(nodes), sorted(place.edge for places in edges.values() for place in places))
    return Interior(nodes, dict(edges), dict(retracted), dict(proposals), outside, ranks)


def _members_first(tables: Tables, world: int, seq: int) -> list[int]:
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
            if asof.edge_known(row, seq) and row.target not in state:
                pending.append(row.target)
    return order


def registrations_of(tables: Tables, top: int, inside: Interior, seq: int) -> dict[int, list[settings.Registration]]:
    """Registrations for worlds inside, and those from around that hold for an edge inside.

    The latter are listed under ``top``, the exported world, since nothing around it is in the bundle.
    """
    found: dict[int, list[settings.Registration]] = {}
    if not tables.last_registration():
        return found
    nodes = set(inside.nodes)
    for known in settings.registered(tables, seq):
        if known.world in nodes:
            found.setdefault(known.world, []).append(known)
    above = settings.containers_known(tables, seq)
    used: dict[int, set[int]] = {}
    for home, places in inside.edges.items():
        for place in places:
            used.setdefault(place.type, set()).add(home)
    for code, homes in sorted(used.items()):
        nearest = settings.RegistrationFinder(tables, tables.type_name(code), seq)
        around = nearest.at(top, above)
        if around is not None and around.world not in nodes and around in (nearest.at(home, above) for home in homes):
            found.setdefault(top, []).append(around)
    return found


def tunings_of(tables: Tables, top: int, inside: Interior, seq: int) -> dict[int, list[settings.Tuning]]:
    """Thresholds set for worlds inside, and under ``top`` those from around that hold for it.

    Of the latter, those for every type and for types that a world inside is of.
    """
    found: dict[int, list[settings.Tuning]] = {}
    nodes = set(inside.nodes)
    for known in settings.tunings_known(tables, seq):
        if known.world in nodes:
            found.setdefault(known.world, []).append(known)
    around = [
        one
        for one in settings.tunings_holding(tables, top, settings.containers_known(tables, seq), seq)
        if one.world not in nodes
    ]
    if any(one.type != settings.EVERY_TYPE for one in around):
        used = {tables.version(node, tables.node(node).versions).type for node in nodes}
        around = [one for one in around if one.type == settings.EVERY_TYPE or type_digest(one.type) in used]
    if around:
        found.setdefault(top, []).extend(around)
    return found


class Rules(NamedTuple):
    """The settings of a bundle's worlds: edge types, thresholds, vocabularies and belief settings."""

    types: dict[int, list[settings.Registration]]
    tuned: dict[int, list[settings.Tuning]]
    profiles: dict[int, settings.Profile]
    beliefs: dict[int, list[belief_rows.Setting]]


def rules_of(snapshot: Snapshot, top: int, inside: Interior, seq: int) -> Rules:
    """The settings known at a commit; belief settings are under ``top``, the exported world."""
    tables, nodes = snapshot.tables, set(inside.nodes)
    types = registrations_of(tables, top, inside, seq)
    tuned = tunings_of(tables, top, inside, seq)
    profiles = {one.world: one for one in settings.profiles_known(tables, seq) if one.world in nodes}
    return Rules(types, tuned, profiles, {top: _beliefs_of(snapshot, nodes, seq)})


def _beliefs_of(snapshot: Snapshot, nodes: set[int], seq: int) -> list[belief_rows.Setting]:
    """The belief settings that concern worlds inside; others would reveal worlds outside."""
    tables = snapshot.tables
    known = [each for each in belief_rows.settings_known(tables, seq) if each.how]
    if not known:
        return []
    used: set[tuple[str, str]] = set()
    for node in nodes:
        rows = [tables.version(node, number) for number in range(1, tables.node(node).versions + 1)]
        for row in [row for row in rows if row.seq <= seq]:
            body, given = snapshot.body(row), snapshot.details(row.seq, row.details)
            used.update(("predicate", name) for name in given.properties)
            used.update(() if body is None else (("kind", body.type.casefold()),))
    for each in known:
        had = mark_rows.holders(tables, mark_rows.TAGS, name_digest(each.name)) if each.what == "tag" else ()
        if any(node in nodes and first <= seq for node, first in had):
            used.add((each.what, each.name))
    return [each for each in known if (each.what, each.name) in used]


PAGE: Final = 256
"""How many worlds are read in one transaction, ..."""
PAGE_BYTES: Final = 8 * 1024 * 1024
"""... or fewer, after so many bytes of text."""
_RETRACTED: Final = 1024
"""How many ids one frame of retracted edges has."""
_KEPT_EVENTS: Final = 200_000
"""How many events of the commits that were asked for last are kept."""


T = TypeVar("T")

Progress = Callable[[int, int], None]


class ErasedMeanwhile(Exception):
    """Texts were erased while they were being copied."""


class ErasureWatch:
    """Detects erasures while texts are copied: texts read before would outlive the erasure."""

    def __init__(self, reader: SnapshotSource) -> None:
        self._reader = reader
        with reader.snapshot() as snapshot:
            self.head = snapshot.log.head().seq
            """The last commit up to which nothing was."""

    def over(self, parts: Iterable[T]) -> Iterator[T]:
        """All parts of a copy.

        Raises:
            ErasedMeanwhile: at their end, something was erased since the watch began.
        """
        yield from parts
        if self.has_new_erasure():
            raise ErasedMeanwhile

    def has_new_erasure(self) -> bool:
        """Whether something was erased since it was looked last."""
        with self._reader.snapshot() as snapshot:
            since, self.head = self.head, snapshot.log.head().seq
            return any(True for _ in erasure_notes.erased_since(snapshot.log, since))


def bundle_frames(
    reader: SnapshotSource,
    ref: bytes | str,
    seq: int,
    store_id: bytes,
    progress: Progress | None = None,
) -> Iterator[fr.AnyFrame]:
    """The frames of a world as of commit ``seq``, all but the last.

    No transaction stays open between pages.

    ``progress`` is called with how many worlds are done, and how many there are.

    Raises:
        UnknownReference, AmbiguousReference: as :func:`find_node`.
    """
    with reader.snapshot() as snapshot:
        node = table_reads.find_node(snapshot.tables, ref, seq)
        inside = interior_of(snapshot, node, seq)
        header = snapshot.log.header(seq)
        struck = erasure_notes.any_struck(snapshot, inside.nodes, seq)
        rules = rules_of(snapshot, node, inside, seq)
        divided = _divided(snapshot, inside, rules, seq)
        heading = fr.Heading(
            fr.TWIN_FORMAT if divided else fr.STRUCK_FORMAT if struck else fr.BUNDLE_FORMAT,
            store_id,
            seq,
            header.ingest_time,
            snapshot.log.chain(seq),
            snapshot.tables.node(node).lineage,
            _hash_of(snapshot, node, seq),
        )
        outside = [_outside_record(snapshot, *found, seq) for found in sorted(inside.outside.items())]
    yield heading
    yield from outside
    written = _WrittenFrames(divided)
    position = 0
    while position < len(inside.nodes):
        page: list[fr.AnyFrame] = []
        written.page_bytes = 0
        with reader.snapshot() as snapshot:
            for node in inside.nodes[position : position + PAGE]:
                page.extend(_Group(snapshot, written, seq, node).frames(inside, rules))
                position += 1
                if written.page_bytes > PAGE_BYTES:
                    break
        yield from page
        if progress is not None:
            progress(position, len(inside.nodes))


def _divided(snapshot: Snapshot, inside: Interior, rules: Rules, seq: int) -> set[bytes]:
    """The blobs of which one world inside has a text that another lacks: a fork shares ids with its origin."""
    tables = snapshot.tables
    sharing: dict[bytes, list[int]] = {}
    for node in inside.nodes:
        for body in {row.body for _, row in tables.version_rows(node) if row.seq <= seq}:
            sharing.setdefault(body, []).append(node)
    twins = sorted({node for nodes in sharing.values() if len(nodes) > 1 for node in nodes})
    met: dict[bytes, set[bytes]] = {}
    written = _WrittenFrames(None)
    for node in twins:
        for frame in _Group(snapshot, written, seq, node).frames(inside, rules):
            if isinstance(frame, fr.ErasedFrame):
                met.setdefault(frame.blob, set()).add(b"")
            elif isinstance(frame, fr.BlobFrame):
                met.setdefault(codec.named_id(frame.stored), set()).add(hashing.blob_id(frame.stored))
    return {blob for blob, forms in met.items() if len(forms) > 1}


def _hash_of(snapshot: Snapshot, node: int, seq: int) -> bytes:
    found = snapshot.tables.hash_row(node, seq)
    if found is None:
        raise errors.UnknownReference("Nothing had been committed yet", "Export a later moment")
    return found[1][: ids.HASH_BYTES]


def _outside_record(snapshot: Snapshot, node: int, last: int, seq: int) -> fr.OutsideFrame:
    """The placeholder of a world outside the bundle that an edge names."""
    tables = snapshot.tables
    row = tables.node(node)
    rows = [(ordinal, tables.version(node, ordinal)) for ordinal in range(1, last + 1)]
    held = [(found, asof.version_validity(tables, node, ordinal, found, seq)) for ordinal, found in rows]
    versions = [(found.body, found.valid_from, validity.end) for found, validity in held]
    spans = [fr.spans_of(validity, found.valid_from) for found, validity in held]
    stated = [_stated_ends(snapshot, found) for found, _ in held]
    return fr.OutsideFrame(
        row.lineage, row.t_create, versions, spans if any(spans) else [], stated if any(stated) else []
    )


def _stated_ends(snapshot: Snapshot, row: schema.VersionRow) -> int:
    """Which ends of a version were stated.

    The first release did not record it: there a version that begins at its commit has no stated start. The importing
    store could no longer tell.
    """
    if row.stated == ev.UNKNOWN and row.valid_from == snapshot.log.header(row.seq).ingest_time:
        return ev.DEFAULTED
    return row.stated


class _Commit(NamedTuple):
    """A commit's events: decisions by proposal, edges by id, and by lineage those that say when it holds."""

    record: codec.Events
    decided: dict[bytes, list[ev.Decided]]
    linked: dict[bytes, ev.Linked]
    by_lineage: dict[bytes, list[ev.AnyEvent]]


class _WrittenFrames:
    """Blobs, commits and types that earlier frames hold, and the events of recent commits by id."""

    def __init__(self, divided: Collection[bytes] | None) -> None:
        self.divided = divided
        """The blobs that each group gives for itself; ``None`` for all."""
        self.blobs: set[bytes] = set()
        self.commits: set[int] = set()
        self.edge_types: set[fr.EdgeTypeFrame] = set()
        self.asked_types: set[tuple[str, int, int, int]] = set()
        self.page_bytes = 0
        self._kept: dict[int, _Commit] = {}

    def events(self, snapshot: Snapshot, seq: int) -> codec.Events:
        """The events record of a commit."""
        return self._commit(snapshot, seq).record

    def events_about(self, snapshot: Snapshot, seq: int, lineage: bytes) -> list[ev.AnyEvent]:
        """The events of a commit that say when a lineage holds, in order."""
        return self._commit(snapshot, seq).by_lineage.get(lineage, [])

    def linked(self, snapshot: Snapshot, seq: int, edge: bytes) -> ev.Linked:
        """The event of a commit that wrote an edge."""
        return _find_event(self._commit(snapshot, seq).linked, seq, edge)

    def decided(self, snapshot: Snapshot, seq: int, proposal: bytes) -> list[ev.Decided]:
        """The events of a commit that decided a proposal, in order: an import or a batch may accept and undo one."""
        return _find_event(self._commit(snapshot, seq).decided, seq, proposal)

    def _commit(self, snapshot: Snapshot, seq: int) -> _Commit:
        found = self._kept.pop(seq, None)
        if found is None:
            found = _index_events(snapshot.log.events(seq))
        self._kept[seq] = found
        while len(self._kept) > 1 and sum(len(each.record.events) for each in self._kept.values()) > _KEPT_EVENTS:
            del self._kept[next(iter(self._kept))]
        return found


def _find_event(events: dict[bytes, T], seq: int, identifier: bytes) -> T:
    found = events.get(identifier)
    if found is None:
        raise errors.DamagedStore(
            f"Commit {seq} does not say what the tables have of {identifier.hex()[:12]}",
            "Run `worlddb verify --deep`",
            seq=seq,
        )
    return found


def _index_events(record: codec.Events) -> _Commit:
    made = _Commit(record, {}, {}, {})
    for event in record.events:
        if isinstance(event, ev.Created | ev.Revised | ev.Closed | ev.Lost | ev.Ended | ev.Voided):
            made.by_lineage.setdefault(event.lineage, []).append(event)
        elif isinstance(event, ev.Decided):
            made.decided.setdefault(event.proposal, []).append(event)
        elif isinstance(event, ev.Linked):
            made.linked[event.edge] = event
    return made


class _Group:
    """Makes the frames of one world: commits and blobs come before frames that name them."""

    def __init__(self, snapshot: Snapshot, written: _WrittenFrames, seq: int, node: int) -> None:
        self._snapshot = snapshot
        self._tables = snapshot.tables
        self._written = written
        self._seq = seq
        self._node = node
        self._given: list[fr.AnyFrame] = []
        self._said: list[fr.AnyFrame] = []
        self._own: set[bytes] = set()

    def frames(self, inside: Interior, rules: Rules) -> list[fr.AnyFrame]:
        """All of them, beginning with the one that opens the group."""
        node, tables = self._node, self._tables
        row = tables.node(node)
        rows = [(ordinal, tables.version(node, ordinal)) for ordinal in range(1, row.versions + 1)]
        known = [(ordinal, version) for ordinal, version in rows if version.seq <= self._seq]
        timeline, line = self._timeline(row.lineage, known)
        for ordinal, version in known:
            self._version(ordinal, version, timeline, line)
        for _, alias in tables.aliases(node) if row.aliases else ():
            # Nothing is left to say of an alias whose text was erased.
            if alias.seq <= self._seq and self._snapshot.log.blob(alias.seq, alias.details) is not None:
                details = self._blob(alias.seq, alias.details)
                removed = not asof.alias_known(alias, self._seq)
                self._said.append(fr.AliasFrame(details, alias.position, self._commit(alias.seq), removed))
        for restatement in tables.restatements(node):
            if restatement.seq <= self._seq and restatement.version <= len(known) and self._has_source(restatement):
                details = b"" if restatement.details == ev.NONE else self._blob(restatement.seq, restatement.details)
                self._said.append(fr.RestatedFrame(restatement.version, details, self._commit(restatement.seq)))
        self._marks(node)
        self._said += statement_reads.statement_frames(self._tables, node, self._seq, self._blob, self._commit)
        self._holes(timeline, asof.ended_by(tables, node, row, self._seq) != 0)
        for order, identifier, proposal in inside.proposals.get(node, ()):
            self._proposal(order, identifier, proposal)
        for place in inside.edges.get(node, ()):
            self._edge(place, inside.order.of_edge(place.edge))
        for each in rules.types.get(node, ()):
            self._registration(each)
        for thresholds in rules.tuned.get(node, ()):
            self._tuning(thresholds)
        if node in rules.profiles:
            self._profile(rules.profiles[node])
        self._said += (fr.BeliefFrame(each.what, each.name, each.how) for each in rules.beliefs.get(node, ()))
        gone = inside.retracted.get(node, ())
        for first in range(0, len(gone), _RETRACTED):
            self._said.append(fr.RetractedFrame(b"".join(gone[first : first + _RETRACTED])))
        order = inside.order.of_world(node)
        opening = fr.WorldFrame(row.lineage, _hash_of(self._snapshot, node, self._seq), row.t_create, order)
        return [opening, *self._given, *self._said]

    def _marks(self, node: int) -> None:
        """The current deadline, labels and pin; earlier ones stay in the exporting store."""
        tables, seq = self._tables, self._seq
        deadline = mark_rows.deadline_at(tables, node, seq)
        if deadline is not None:
            details = self._blob(deadline.seq, deadline.details)
            self._said.append(fr.DeadlineFrame(deadline.at, deadline.lasts, details, self._commit(deadline.seq)))
        for _, label in mark_rows.names_of(tables, mark_rows.LABELS, node):
            if asof.alias_known(label, seq) and self._snapshot.log.blob(label.seq, label.details) is not None:
                details = self._blob(label.seq, label.details)
                self._said.append(fr.LabelFrame(details, label.position, self._commit(label.seq)))
        pinned = [each for each in mark_rows.pinnings(tables, node) if each.seq <= seq][-1:]
        for pinning in pinned:
            if pinning.is_set:
                details = self._blob(pinning.seq, pinning.details)
                self._said.append(fr.PinFrame(details, self._commit(pinning.seq)))
        for deprecation in [each for each in mark_rows.deprecations(tables, node) if each.seq <= seq][-1:]:
            if deprecation.is_set:
                self._said.append(
                    fr.DeprecatedFrame(self._blob(deprecation.seq, deprecation.details), self._commit(deprecation.seq))
                )
        for number, _ in mark_rows.names_of(tables, mark_rows.TAGS, node):
            for each in [each for each in mark_rows.assignments(tables, node, number) if each.seq <= seq][-1:]:
                if each.version and self._snapshot.log.blob(each.seq, each.details) is not None:
                    details = self._blob(each.seq, each.details)
                    self._said.append(fr.TagFrame(each.version, details, self._commit(each.seq)))

    def _has_source(self, again: schema.RestatedRow) -> bool:
        """True if the source of a restatement was not erased."""
        return again.details == ev.NONE or self._snapshot.log.blob(again.seq, again.details) is not None

    def _timeline(
        self, lineage: bytes, known: list[tuple[int, schema.VersionRow]]
    ) -> tuple[fr.LineageHistory, dict[int, list[times.Interval]]]:
        """The timeline of the world in the log, and the spans of its versions."""
        place = timeline_rows.Place(timeline_rows.OF_LINEAGE, self._node)
        changes = timeline_rows.changes(self._tables.timelines, place, self._seq)
        if not changes:
            return fr.LineageHistory([row.valid_to for _, row in known], {}, [], None), {}
        commits = sorted({*changes, *(row.seq for _, row in known)})
        told = fr.lineage_history(
            (seq, event) for seq in commits for event in self._written.events_about(self._snapshot, seq, lineage)
        )
        line: dict[int, list[times.Interval]] = {}
        for span, number in timeline_rows.pieces(timeline_rows.steps(self._tables.timelines, place, self._seq) or ()):
            line.setdefault(number, []).append(span)
        return told, line

    def _version(
        self, ordinal: int, row: schema.VersionRow, told: fr.LineageHistory, line: dict[int, list[times.Interval]]
    ) -> None:
        body = self._blob(row.seq, row.position)
        details = self._blob(row.seq, row.details)
        validity: times.Validity = times.Interval(row.valid_from, row.valid_to)
        if row.closed > self._seq:
            validity = times.spans_of(tuple(line.get(ordinal, ())), row.valid_from)
        self._said.append(
            fr.VersionFrame(
                body,
                details,
                self._commit(row.seq),
                row.valid_from,
                told.born_to[ordinal - 1],
                validity.end,
                told.by.get(ordinal, b""),
                fr.spans_of(validity, row.valid_from),
                _stated_ends(self._snapshot, row),
            )
        )

    def _holes(self, told: fr.LineageHistory, has_ended: bool) -> None:
        """The holes, in an order that is the same in every store, then the end if it still stands."""
        frames = [
            fr.VoidedFrame(*hole.span, self._blob(hole.seq, hole.details), hole.by, self._commit(hole.seq), hole.after)
            for hole in told.holes
        ]
        end = frames.pop(told.end) if has_ended and told.end is not None else None
        frames.sort(key=lambda each: (each.after, each.valid_from, each.valid_to, each.details))
        self._said += frames
        if end is not None:
            self._said.append(fr.EndedFrame(end.valid_from, end.details, end.by, end.seq, end.after))

    def _proposal(self, order: int, identifier: bytes, row: schema.ProposalRow) -> None:
        decisions = [
            (event.decision, self._blob(seq, event.details), self._commit(seq))
            for key, value in self._tables.decisions.scan(identifier)
            # A row that was cut short has no status to read.
            if value[0] != schema.PENDING and (seq := schema.U64.unpack_from(key, ids.HASH_BYTES)[0]) <= self._seq
            for event in self._written.decided(self._snapshot, seq, identifier)
        ]
        self._said.append(
            fr.ProposalFrame(
                identifier,
                *self._end(row.source, row.source_version),
                *self._end(row.target, row.target_version),
                row.valid_from,
                self._blob(row.seq, row.details),
                row.nonce,
                row.handler_version,
                self._commit(row.seq),
                order,
                decisions,
            )
        )

    def _edge(self, place: schema.EdgePlace, order: int) -> None:
        row = self._tables.edge(place)
        details, nonce, keyed = self._edge_event(place, row)
        born_to, validity = self._edge_validity(place, row)
        type_name = self._tables.type_name(place.type)
        self._edge_type(type_name, row)
        self._said.append(
            fr.EdgeFrame(
                row.edge,
                type_name,
                *self._end(place.source, row.source_version),
                *self._end(row.target, row.target_version),
                row.valid_from,
                born_to,
                validity.end,
                details,
                nonce,
                keyed,
                row.handler_version,
                self._commit(row.seq),
                order,
                fr.spans_of(validity, row.valid_from),
            )
        )

    def _edge_type(self, name: str, row: schema.EdgeRow) -> None:
        """The registration of an edge's type; it comes before the first edge of it."""
        asked = name, row.handler_version, row.home, row.seq
        if name in schema.EDGE_TYPE_CODES or asked in self._written.asked_types:
            return
        self._written.asked_types.add(asked)
        found = settings.RegistrationFinder(self._tables, name, row.seq).at(
            row.home, settings.containers_known(self._tables, row.seq)
        )
        if found is None or found.is_built_in or found.row.handler_version != row.handler_version:
            return
        frame = fr.EdgeTypeFrame(name, row.handler_version, found.row.digest, found.digest_of)
        if frame not in self._written.edge_types:
            self._written.edge_types.add(frame)
            self._given.append(frame)

    def _registration(self, known: settings.Registration) -> None:
        """A type that holds for this world; of one from around it, without place and reason."""
        row = known.row
        is_own = known.world == self._node
        details = self._blob(known.seq, row.details) if is_own else b""
        code = b"" if known.is_built_in else row.digest
        self._said.append(
            fr.RegistrationFrame(
                known.type,
                row.handler_version,
                code,
                known.digest_of,
                list(known.rewrites),
                known.is_functional,
                details,
                self._commit(known.seq) if is_own else 0,
            )
        )

    def _tuning(self, known: settings.Tuning) -> None:
        """Thresholds that hold for this world; of those from around it, without place and reason."""
        row, is_own = known.row, known.world == self._node
        details = self._blob(known.seq, row.details) if is_own else b""
        seq = self._commit(known.seq) if is_own else 0
        scores = row.fuzzy, row.phonetic, row.embedding, row.margin
        self._said.append(fr.TuningFrame(known.type, *scores, row.most, details, seq))

    def _profile(self, known: settings.Profile) -> None:
        """The vocabulary that this world is closed to."""
        details = self._blob(known.seq, known.details)
        names = list(known.node_types), list(known.relations)
        self._said.append(fr.ProfileFrame(known.name, *names, details, self._commit(known.seq)))

    def _edge_event(self, place: schema.EdgePlace, row: schema.EdgeRow) -> tuple[bytes, bytes, bool]:
        """Details, nonce and key flag of an edge, which stand in the log and not in the tables.

        The edge of an accepted proposal has the proposal's, under whose id it was written.
        """
        proposal = self._tables.proposal(row.edge) if place.type == schema.SAME_AS_CODE else None
        if proposal is not None:
            return self._blob(proposal.seq, proposal.details), proposal.nonce, False
        event = self._written.linked(self._snapshot, row.seq, row.edge)
        return self._blob(row.seq, row.details), event.nonce, event.keyed

    # -- what they share

    def _end(self, node: int, version: int) -> tuple[bytes, int, bytes]:
        """Lineage, ordinal and body id of an end."""
        return self._tables.node(node).lineage, version, self._tables.version(node, version).body

    def _edge_validity(self, place: schema.EdgePlace, row: schema.EdgeRow) -> tuple[int, times.Validity]:
        """The end that an edge was written with, and when it is in force."""
        if not row.closed:
            return row.valid_to, times.Interval(row.valid_from, row.valid_to)
        born_to = self._written.linked(self._snapshot, row.seq, row.edge).valid_to
        return born_to, asof.edge_validity(self._tables, place, row, self._seq)

    def _commit(self, seq: int) -> int:
        """The number of a commit, which is given before it is named."""
        if seq not in self._written.commits:
            self._written.commits.add(seq)
            header = self._snapshot.log.header(seq)
            self._given.append(fr.CommitFrame(seq, header.ingest_time, header.author))
        return seq

    def _blob(self, seq: int, position: int) -> bytes:
        """The id of a blob, which is given before it is named; empty for none."""
        if position == ev.NONE:
            return b""
        stored = self._snapshot.log.blob(seq, position)
        found = self._written.events(self._snapshot, seq).blob(position)
        if stored is not None:
            codec.decode_checked_blob(stored, found, seq)
        divided = self._written.divided
        given = self._own if divided is None or found in divided else self._written.blobs
        if found not in given:
            given.add(found)
            self._written.page_bytes += 0 if stored is None else len(stored)
            self._given.append(fr.ErasedFrame(found) if stored is None else fr.BlobFrame(stored))
        return found
