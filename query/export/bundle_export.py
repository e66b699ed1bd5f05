"""Export a world as frames of a bundle, in the order that the format asks for.

The bundle also takes the edge types and thresholds that hold for its worlds.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from worlddb.log.model import bundle as fr
from worlddb.log.model import codec, errors, ids
from worlddb.log.model import events as ev
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.names.canonical import type_digest
from worlddb.projections.tables.reads import asof, lookup
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables
from worlddb.query.export.interior_walk import Interior, interior_of
from worlddb.query.snapshot.snapshot import Snapshot, SnapshotSource


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
        nearest = settings.Nearest(tables, tables.type_name(code), seq)
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


PAGE: Final = 256
"""How many worlds are read in one transaction, ..."""
PAGE_BYTES: Final = 8 * 1024 * 1024
"""... or fewer, after so many bytes of text."""
_RETRACTED: Final = 1024
"""How many ids one frame of retracted edges has."""
_KEPT_EVENTS: Final = 200_000
"""How many events of the commits that were asked for last are kept."""
_DECISIONS: Final[dict[int, ev.Decision]] = {
    schema.ACCEPTED: "accepted",
    schema.REJECTED: "rejected",
    schema.UNDONE: "undone",
}


_Said = ev.Ended | ev.Decided | ev.Linked
T = TypeVar("T", bound=_Said)

Progress = Callable[[int, int], None]


class Closing(NamedTuple):
    """The end that something was written with, its end at a commit, and its successor."""

    born_to: int
    valid_to: int
    by: bytes


def bundle_frames(
    reader: SnapshotSource, ref: bytes | str, seq: int, store_id: bytes, progress: Progress | None = None
) -> Iterator[fr.AnyFrame]:
    """The frames of a world as of commit ``seq``, all but the last.

    No transaction stays open between pages.

    ``progress`` is called with how many worlds are done, and how many there are.

    Raises:
        UnknownReference, AmbiguousReference: as :func:`find_node`.
    """
    with reader.snapshot() as snapshot:
        node = lookup.find_node(snapshot.tables, ref, seq)
        inside = interior_of(snapshot, node, seq)
        header = snapshot.log.header(seq)
        heading = fr.Heading(
            fr.BUNDLE_FORMAT,
            store_id,
            seq,
            header.ingest_time,
            snapshot.log.chain(seq),
            snapshot.tables.node(node).lineage,
            _hash_of(snapshot, node, seq),
        )
        types = registrations_of(snapshot.tables, node, inside, seq)
        tuned = tunings_of(snapshot.tables, node, inside, seq)
        outside = [_outside(snapshot, *found, seq) for found in sorted(inside.outside.items())]
    yield heading
    yield from outside
    written = _Written()
    at = 0
    while at < len(inside.nodes):
        page: list[fr.AnyFrame] = []
        written.page_bytes = 0
        with reader.snapshot() as snapshot:
            for node in inside.nodes[at : at + PAGE]:
                page.extend(
                    _Group(snapshot, written, seq, node).frames(inside, types.get(node, ()), tuned.get(node, ()))
                )
                at += 1
                if written.page_bytes > PAGE_BYTES:
                    break
        yield from page
        if progress is not None:
            progress(at, len(inside.nodes))


def _hash_of(snapshot: Snapshot, node: int, seq: int) -> bytes:
    found = snapshot.tables.hash_row(node, seq)
    if found is None:
        raise errors.UnknownReference("Nothing had been committed yet", "Export a later moment")
    return found[1][: ids.HASH_BYTES]


def _outside(snapshot: Snapshot, node: int, last: int, seq: int) -> fr.OutsideFrame:
    """What an edge needs of a world that is not in the bundle."""
    tables = snapshot.tables
    row = tables.node(node)
    rows = [(ordinal, tables.version(node, ordinal)) for ordinal in range(1, last + 1)]
    versions = [(found.body, *asof.version_validity(tables, node, ordinal, found, seq)) for ordinal, found in rows]
    return fr.OutsideFrame(row.lineage, row.t_create, versions)


class _Written:
    """Blobs, commits and types that earlier frames hold, and the events of recent commits by id."""

    def __init__(self) -> None:
        self.blobs: set[bytes] = set()
        self.commits: set[int] = set()
        self.edge_types: set[fr.EdgeTypeFrame] = set()
        self.asked_types: set[tuple[str, int, int, int]] = set()
        self.page_bytes = 0
        self._kept: dict[int, tuple[codec.Events, dict[bytes, _Said]]] = {}

    def events(self, snapshot: Snapshot, seq: int) -> codec.Events:
        """The events record of a commit."""
        return self._commit(snapshot, seq)[0]

    def event_of(self, snapshot: Snapshot, seq: int, identifier: bytes, kind: type[T]) -> T:
        """The event of a commit that ended a lineage, wrote an edge, or decided a proposal."""
        found = self._commit(snapshot, seq)[1].get(identifier)
        if not isinstance(found, kind):
            raise errors.DamagedStore(
                f"Commit {seq} does not say what the tables have of {identifier.hex()[:12]}",
                "Run `worlddb verify --deep`",
                seq=seq,
            )
        return found

    def _commit(self, snapshot: Snapshot, seq: int) -> tuple[codec.Events, dict[bytes, _Said]]:
        found = self._kept.pop(seq, None)
        if found is None:
            record = snapshot.log.events(seq)
            found = record, _by_id(record)
        self._kept[seq] = found
        while len(self._kept) > 1 and sum(len(record.events) for record, _ in self._kept.values()) > _KEPT_EVENTS:
            del self._kept[next(iter(self._kept))]
        return found


def _by_id(record: codec.Events) -> dict[bytes, _Said]:
    """The events of a commit by id; of a proposal and its edge, which share one, the proposal."""
    by_id: dict[bytes, _Said] = {}
    for event in record.events:
        if isinstance(event, ev.Ended):
            by_id[event.lineage] = event
        elif isinstance(event, ev.Decided):
            by_id[event.proposal] = event
        elif isinstance(event, ev.Linked):
            by_id.setdefault(event.edge, event)
    return by_id


class _Group:
    """The frames of one world: its commits and blobs come before what names them."""

    def __init__(self, snapshot: Snapshot, written: _Written, seq: int, node: int) -> None:
        self._snapshot = snapshot
        self._tables = snapshot.tables
        self._written = written
        self._seq = seq
        self._node = node
        self._given: list[fr.AnyFrame] = []
        self._said: list[fr.AnyFrame] = []

    def frames(
        self, inside: Interior, types: Sequence[settings.Registration], tuned: Sequence[settings.Tuning]
    ) -> list[fr.AnyFrame]:
        """All of them, beginning with the one that opens the group."""
        node, tables = self._node, self._tables
        row = tables.node(node)
        for ordinal in range(1, row.versions + 1):
            version = tables.version(node, ordinal)
            if version.seq <= self._seq:
                self._version(ordinal, version)
        for _, alias in tables.aliases(node) if row.aliases else ():
            # Nothing is left to say of an alias whose text was erased.
            if alias.seq <= self._seq and self._snapshot.log.blob(alias.seq, alias.details) is not None:
                details = self._blob(alias.seq, alias.details)
                removed = not asof.alias_known(alias, self._seq)
                self._said.append(fr.AliasFrame(details, alias.position, self._commit(alias.seq), removed))
        if row.ended and row.ended <= self._seq:
            self._ended(row.ended, row.lineage)
        for order, identifier, proposal in inside.proposals.get(node, ()):
            self._proposal(order, identifier, proposal)
        for place in inside.edges.get(node, ()):
            self._edge(place, inside.order.of_edge(place.edge))
        for known in types:
            self._registration(known)
        for thresholds in tuned:
            self._tuning(thresholds)
        gone = inside.retracted.get(node, ())
        for first in range(0, len(gone), _RETRACTED):
            self._said.append(fr.RetractedFrame(b"".join(gone[first : first + _RETRACTED])))
        order = inside.order.of_world(node)
        opening = fr.WorldFrame(row.lineage, _hash_of(self._snapshot, node, self._seq), row.t_create, order)
        return [opening, *self._given, *self._said]

    def _version(self, ordinal: int, row: schema.VersionRow) -> None:
        closing = self._closing((schema.CLOSING_VERSION, self._node, ordinal), row)
        body = self._blob(row.seq, row.position)
        details = self._blob(row.seq, row.details)
        self._said.append(
            fr.VersionFrame(
                body, details, self._commit(row.seq), row.valid_from, closing.born_to, closing.valid_to, closing.by
            )
        )

    def _ended(self, seq: int, lineage: bytes) -> None:
        event = self._written.event_of(self._snapshot, seq, lineage, ev.Ended)
        self._said.append(fr.EndedFrame(event.at, self._blob(seq, event.details), event.by, self._commit(seq)))

    def _proposal(self, order: int, identifier: bytes, row: schema.ProposalRow) -> None:
        decisions = [
            (_DECISIONS[value[0]], self._decided(identifier, seq), self._commit(seq))
            for key, value in self._tables.decisions.scan(identifier)
            if (seq := int(schema.U64.unpack_from(key, ids.HASH_BYTES)[0])) <= self._seq
        ]
        if decisions and decisions[0][0] == "undone":
            # One commit did both, and the tables have the last word of each.
            decisions.insert(0, ("accepted", b"", decisions[0][2]))
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

    def _decided(self, proposal: bytes, seq: int) -> bytes:
        """The id of the reasons that were given for a decision."""
        return self._blob(seq, self._written.event_of(self._snapshot, seq, proposal, ev.Decided).details)

    def _edge(self, place: schema.EdgePlace, order: int) -> None:
        row = self._tables.edge(place)
        details, nonce, keyed = self._said_by(place, row)
        closing = self._closing((schema.CLOSING_EDGE, place.edge, 0), row)
        type_name = self._tables.type_name(place.type)
        self._edge_type(type_name, row)
        self._said.append(
            fr.EdgeFrame(
                row.edge,
                type_name,
                *self._end(place.source, row.source_version),
                *self._end(row.target, row.target_version),
                row.valid_from,
                closing.born_to,
                closing.valid_to,
                details,
                nonce,
                keyed,
                row.handler_version,
                self._commit(row.seq),
                order,
            )
        )

    def _edge_type(self, name: str, row: schema.EdgeRow) -> None:
        """The registration of an edge, which stands before the first edge that needs it."""
        asked = name, row.handler_version, row.home, row.seq
        if name in schema.EDGE_TYPE_CODES or asked in self._written.asked_types:
            return
        self._written.asked_types.add(asked)
        found = settings.Nearest(self._tables, name, row.seq).at(
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

    def _said_by(self, place: schema.EdgePlace, row: schema.EdgeRow) -> tuple[bytes, bytes, bool]:
        """Details, nonce and key flag of an edge, which stand in the log and not in the tables.

        The edge of an accepted proposal has the proposal's, under whose id it was written.
        """
        proposal = self._tables.proposal(row.edge) if place.type == schema.SAME_AS_CODE else None
        if proposal is not None:
            return self._blob(proposal.seq, proposal.details), proposal.nonce, False
        event = self._written.event_of(self._snapshot, row.seq, row.edge, ev.Linked)
        return self._blob(row.seq, row.details), event.nonce, event.keyed

    # -- what they share

    def _end(self, node: int, version: int) -> tuple[bytes, int, bytes]:
        """Lineage, ordinal and body id of an end."""
        return self._tables.node(node).lineage, version, self._tables.version(node, version).body

    def _closing(self, what: tuple[int, int, int], row: schema.VersionRow | schema.EdgeRow) -> Closing:
        if not row.closed:
            return Closing(row.valid_to, row.valid_to, b"")
        known = [
            value
            for key, value in self._tables.closings.scan(schema.CLOSING_PREFIX.pack(*what))
            if schema.CLOSING_KEY.unpack(key)[3] <= self._seq
        ]
        return Closing(_time(known[0]), _time(known[-1]), known[-1][schema.TIME.size :])

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
            codec.written_blob(stored, found, seq)
        if found not in self._written.blobs:
            self._written.blobs.add(found)
            self._written.page_bytes += 0 if stored is None else len(stored)
            self._given.append(fr.ErasedFrame(found) if stored is None else fr.BlobFrame(stored))
        return found


def _time(value: bytes) -> int:
    return int(schema.TIME.unpack_from(value)[0])
