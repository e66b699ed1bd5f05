"""The context of one transaction: what decisions read, and the only way to write an edge.

:class:`ReadContext` reads the tables and the draft; :class:`Context` also writes through the handlers of edge types,
and is what handlers get. The functions at the end resolve references: ids, prefixes, and positions of earlier commands.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple, NoReturn

from worlddb.log.model import blobs, codec, errors, events, hashing, ids, times
from worlddb.log.model import events as ev
from worlddb.log.model.hashing import KEYED_EDGE, edge_id, keyed
from worlddb.log.store import high_water
from worlddb.projections.tables.apply.apply import erasure_of, forbids
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage import rows, schema
from worlddb.projections.tables.storage.transaction import KnownWorlds
from worlddb.reconciler.commands import commands, outcome
from worlddb.reconciler.edge_types import registry, relation_laws, scopes, supersession
from worlddb.reconciler.edge_types.handler import EdgeHandler, HandledEdge, Insert, PairProposal, WorldText, Written
from worlddb.reconciler.transaction import inputs, interiors, windows
from worlddb.reconciler.transaction.draft import Draft, new_aliases, stated_ends

_statement: Final[Callable[[tuple[Any, ...]], supersession.Statement]] = partial(tuple.__new__, supersession.Statement)
_handled_edge: Final[Callable[[tuple[Any, ...]], HandledEdge]] = partial(tuple.__new__, HandledEdge)


class ReadContext:
    """The reading half of :class:`Context`; the protocol of handlers says what each call means."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.tables = draft.tables
        self.now = draft.ingest_time
        self.author = draft.author
        self.root = schema.ROOT_NODE

    @property
    def known_worlds(self) -> KnownWorlds:
        """The rows that the writer caches between commits."""
        return self.tables.known_worlds

    def begins(self, node: int) -> int:
        """The start of validity of a node's newest version; commit time for the root world."""
        if node == schema.ROOT_NODE:
            return self.now
        return self.tables.version(node, self.tables.node(node).versions).valid_from

    def spans(self, node: int) -> Sequence[times.Interval]:
        """The intervals at which the versions of a node are valid, newest first, without empty ones."""
        held = windows.holding(self.draft, node)
        if len(held) > 1:
            held.sort(key=lambda piece: (-piece.number, *piece.span))
        return [piece.span for piece in held]

    def statements_of(self, node: int) -> list[supersession.Statement]:
        """The statements of a node's versions and when they hold, in the order of time."""
        version, said = self.tables.version, list[supersession.Statement]()
        for span, number in windows.holding(self.draft, node):
            row = version(node, number)
            said.append(_statement((row.valid_from, row.seq, node, span)))
        return said

    def holds_in(self, node: int, spans: Sequence[times.Interval]) -> bool:
        """True if a version of a node holds at some time of some spans."""
        return windows.holds_in(self.draft, node, spans)

    def starts(self, node: int) -> set[int]:
        """The times at which the versions of a node were written to begin."""
        tables = self.tables
        return {tables.version(node, number).valid_from for number in range(1, tables.node(node).versions + 1)}

    def times_of(self, edge: HandledEdge) -> tuple[times.Interval, ...]:
        """The spans in which an edge is in force."""
        written = self.tables.written_edge(edge.id) if edge.id else None
        if written is None:
            return times.Interval(edge.valid_from, edge.valid_to).pieces
        return asof.edge_validity(self.tables, *written, self.draft.seq).pieces

    def place_in_succession(self, edge: HandledEdge) -> tuple[int, int]:
        """The order of a written edge in a succession: its original start, and its position in the log."""
        place = self.tables.place_of(edge.id)
        assert place is not None, "it is written"
        return self.tables.edge(place).valid_from, place.edge

    def has_ended(self, node: int) -> bool:
        """True if a lineage was retired or superseded, and not resumed since."""
        return asof.has_ended(self.tables, node, self.draft.seq)

    def body(self, node: int, number: int = 0) -> blobs.Body | None:
        """The newest body of a node, or that of a version, in this draft or in the log; ``None`` once erased.

        Raises:
            DamagedStore: it is not what was written, or is gone without having been erased.
        """
        row = self.tables.version(node, number or self.tables.node(node).versions)
        found = self._blob(row.seq, row.position, row.body)
        if found is None and row.seq != self.draft.seq and erasure_of(self.tables, node) is None:
            self._require_text_never_came(row)
        return found if isinstance(found, blobs.Body) else None

    def lacks_text(self, node: int) -> bool:
        """True if a node says nothing: its newest text was erased, or never came. Not if it was erased later only.

        Raises:
            DamagedStore: the text is not what was written.
        """
        row = self.tables.version(node, self.tables.node(node).versions)
        if self._blob(row.seq, row.position, row.body) is not None:
            return False
        return erasure_of(self.tables, node) is not None or self._text_never_came(row)

    def aliases(self, node: int) -> list[str]:
        """The aliases that a node has now, without the erased ones.

        They are in the order in which they were given.
        """
        rows = self.tables.aliases(node) if self.tables.node(node).aliases else iter(())
        known = [row for _, row in rows if asof.alias_known(row, self.draft.seq)]
        given = [(self._blob(row.seq, row.details), row.position) for row in known]
        return [found.aliases[position] for found, position in given if isinstance(found, blobs.Details)]

    def source(self, node: int, number: int) -> dict[str, Any] | None:
        """The source that a version was written with; ``None`` once erased."""
        row = self.tables.version(node, number)
        if row.details == ev.NONE:
            return {}
        found = self._blob(row.seq, row.details)
        return dict(found.source) if isinstance(found, blobs.Details) else None

    def properties_of(self, node: int, number: int) -> dict[str, Any]:
        """The properties of a version; none once they were erased."""
        row = self.tables.version(node, number)
        found = None if row.details == ev.NONE else self._blob(row.seq, row.details)
        given = found.properties if isinstance(found, blobs.Details) else {}
        return {name: value for name, value in given.items() if name != blobs.IMPORTED}

    def text(self, node: int) -> WorldText | None:
        """The newest text of a node; ``None`` once erased."""
        body = self.body(node)
        return None if body is None else WorldText(body.type, body.name, body.content)

    def shown(self, node: int) -> str:
        """The node's reference as people are shown it."""
        return ids.short(self.lineage(node))

    def lineage(self, node: int) -> bytes:
        """The node's full reference."""
        return self.tables.node(node).lineage

    def node_known(self, lineage: bytes) -> int:
        """The node of a world that was created before, or by this transaction."""
        node = self.tables.node_of(lineage)
        assert node is not None, "it was created, or known"
        return node

    def edges(self, node: int, type_name: str, *, incoming: bool = False) -> Iterator[HandledEdge]:
        """Edges of a type from a node, or to it, that have not been unlinked, in log order."""
        tables = self.tables
        code = schema.EDGE_TYPE_CODES.get(type_name) or tables.type_code(type_name)
        # Most worlds have none of most types, which is known without writing the rows that are deferred.
        if code is None or not (tables.has_incoming(node, code) if incoming else tables.has_outgoing(node, code)):
            return iter(())
        return (
            self.handled(place, row, type_name)
            for place, row in tables.followed(node, code, incoming=incoming)
            if row.unlinked == schema.LIVE
        )

    def has_world(self, node: int) -> bool:
        """True if a node number is one of this transaction."""
        return 0 <= node < self.draft.applier.next_node

    def has_lineage(self, lineage: bytes) -> bool:
        """True if a full reference is that of a world."""
        return self.tables.node_of(lineage) is not None

    def has_edge(self, edge: bytes) -> bool:
        """True if an edge has the id."""
        return self.tables.place_of(edge) is not None

    def is_proposal(self, edge: bytes) -> bool:
        """True if the id is that of a proposal, decided or not."""
        return self.tables.proposal(edge) is not None

    def targets(self, node: int, type_name: str) -> list[int]:
        """The targets of the live edges of a type from a node, in log order."""
        code = self.tables.type_code(type_name)
        return [] if code is None or not self.tables.has_outgoing(node, code) else self.tables.live_targets(node, code)

    def sources(self, node: int, type_name: str) -> list[int]:
        """The sources of the live edges of a type to a node, in log order."""
        code = self.tables.type_code(type_name)
        return [] if code is None or not self.tables.has_incoming(node, code) else self.tables.live_sources(node, code)

    def handled(self, place: schema.EdgePlace, row: schema.EdgeRow, type_name: str = "") -> HandledEdge:
        """A stored edge as its handler sees it."""
        begins, ends = row.valid_from, row.valid_to
        if row.closed == schema.CUT:
            left = asof.edge_validity(self.tables, place, row, self.draft.seq)
            begins, ends = left.start, left.end
        name = type_name or self.tables.type_name(place.type)
        return _handled_edge(
            (name, place.source, row.target, row.home, begins, ends, row.details, None, row.edge, row.seq, 0, 0)
        )

    def properties(self, edge: HandledEdge) -> dict[str, Any]:
        """The properties that an edge was written with; none once they were erased."""
        return self.kept_properties(edge) or {}

    def kept_properties(self, edge: HandledEdge) -> dict[str, Any] | None:
        """As :meth:`properties`; ``None`` once they were erased."""
        if edge.details == ev.NONE:
            return {}
        found = self._blob(edge.seq or self.draft.seq, edge.details)
        return dict(found.properties) if isinstance(found, blobs.Details) else None

    def relations_at_home(self, node: int) -> set[str]:
        """The types of the live edges of a node's interior, without its members'."""
        at_home = self.tables.interior_edges_ever(node)
        return {self.tables.type_name(place.type) for place, row in at_home if row.unlinked == schema.LIVE}

    def reaches(self, start: int, goal: int, type_name: str) -> bool:
        """True if following live edges of a type from ``start`` leads to ``goal``.

        Depth costs no stack.
        """
        tables, code = self.tables, self.tables.type_code(type_name)
        if code is None or not tables.has_incoming(goal, code):
            return start == goal
        seen, pending = {start}, [start]
        while pending:
            node = pending.pop()
            if node == goal:
                return True
            for target in tables.live_targets(node, code):
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        return False

    def inside(self, world: int, container: int) -> bool:
        """True if ``container`` is the world or contains it, at any depth."""
        if container == schema.ROOT_NODE:
            return True
        seen, pending = {world}, [world]
        while pending:
            here = pending.pop()
            if here == container:
                return True
            for above in self.tables.containers(here):
                if above not in seen:
                    seen.add(above)
                    pending.append(above)
        return False

    def containers(self, node: int) -> list[int]:
        """The worlds that contain a node now, in log order; for reading only."""
        return self.tables.containers(node)

    def home_of(self, node: int) -> int:
        """The world that holds a node's edges by default: its first container."""
        containers = self.tables.containers(node)
        return containers[0] if containers else schema.ROOT_NODE

    def proposal(self, one: int, other: int) -> PairProposal | None:
        """The latest proposal about an unordered pair of nodes."""
        identifier = rows.latest_proposal(self.tables, one, other)
        row = None if identifier is None else self.tables.proposal(identifier)
        if identifier is None or row is None:
            return None
        proposed = {row.source: row.source_version, row.target: row.target_version}
        changed = any(self.tables.node(end).versions != version for end, version in proposed.items())
        return PairProposal(identifier, schema.STATUS_NAMES[row.status], changed)

    def _text_never_came(self, row: schema.VersionRow) -> bool:
        came = self.draft.log.some_events(row.seq, frozenset((ev.Imported, ev.Forked, ev.TakenOver)))
        return any(row.position in event.absent for event in came)  # type: ignore[union-attr]

    def _require_text_never_came(self, row: schema.VersionRow) -> None:
        if not self._text_never_came(row):
            raise errors.DamagedStore(
                f"A text of commit {row.seq} is missing, and no erasure is recorded",
                high_water.DAMAGE_REMEDY,
                seq=row.seq,
            )

    def _blob(self, seq: int, position: int, identifier: bytes = b"") -> blobs.Blob | None:
        if position == events.NONE:
            return None
        if seq == self.draft.seq:
            return self.draft.blobs.body(position) or self.draft.blobs.details(position)
        stored = self.draft.log.blob(seq, position)
        if stored is None:
            return None
        return codec.decode_checked_blob(stored, identifier, seq) if identifier else codec.decode_blob(stored, seq)


SAME_AS = "same_as"
MAX_CHAIN = 64
"""The depth of chained writes of handlers beyond which a command is refused."""
MAX_DERIVED = 64
"""The number of worlds created by handlers beyond which a command is refused."""


class KeyedWorld(NamedTuple):
    """The world of a key: its lineage, its node if it exists, and the ended lineage before it, if any."""

    lineage: ids.Lineage
    node: int | None
    ended: bytes


class EdgeStatement(NamedTuple):
    """The given values of an edge to write; ``None`` for what was not given."""

    type: str
    source: int
    target: int
    home: int | None
    valid_from: int | None
    valid_to: int | None
    properties: dict[str, Any] | None


class Context(ReadContext):
    """What a handler may read and do inside the transaction that its edge is written in."""

    def __init__(self, draft: Draft, ontology: registry.Ontology, secret: bytes) -> None:
        super().__init__(draft)
        self.scopes = scopes.Scopes(draft.tables, ontology, draft.seq)
        self.stopped: Exception | None = None
        """The error that stopped this commit; nothing may be written, even if the handler that caught it continues."""
        self.secret = secret
        self.arrival: inputs.Arrival | None = None
        """The bundle that a command of this request imports."""
        self.is_ingest = False
        """True if the commands come from an ingest, whose edges are written once under their keys."""
        self.request: Sequence[commands.Command] = ()
        """All the commands that are decided together."""
        self.compounds: dict[int, object] = {}
        """The plan of each compound contraction, by its number."""
        self.erasure: inputs.PlannedErasure | None = None
        """The planned effect of the erasures of this request, if it has any."""
        self._has_forbidden: bool | None = None
        """True if there are forbidden texts; ``None`` until it is first needed."""
        self.checked = 1, 0, 0
        """How many blobs, fills and events were searched for forbidden texts."""
        self.tuned: bool | None = None
        """True if thresholds were ever set for a world; ``None`` until it is first needed."""
        self.guarded: bool | None = None
        """True if a guard was ever set for a world; ``None`` until it is first needed."""
        self.ancestry: interiors.Ancestry | None = None
        """Cached containment, in a read transaction."""
        self.interiors: interiors.Interiors | None = None
        """Cached interiors of worlds, if the writer keeps them between commits."""
        self._depth = 0
        self._deciding: list[tuple[HandledEdge, EdgeHandler]] = []
        """The edges whose handlers are being called, the innermost last."""
        self._derived = (0, 0)
        """The position of a command, and how many worlds handlers have created from it."""

    # -- what a handler may do

    def link(
        self,
        source: int,
        type_name: str,
        target: int,
        *,
        home: int | None = None,
        valid_from: int | None = None,
        valid_to: int = times.FOREVER,
        properties: dict[str, Any] | None = None,
        details: int = ev.NONE,
        key: str | commands.BoundKey | commands.KnownKey | None = None,
        versions: tuple[int, int] | None = None,
    ) -> Written:
        """Write an edge through its handler, as part of this commit.

        Returns the edge's id, or its proposal's. It names the newest versions of its ends, or those of ``versions``.
        """
        where = self._home(source, type_name, home)
        handler = self.scopes.handler(self, type_name, where)
        begins = handler.default_valid_from(self, source, target) if valid_from is None else valid_from
        if valid_to != times.FOREVER:
            times.checked_interval(begins, valid_to, given=valid_from is not None)
        nonce = b""
        if key is not None:
            nonce, found = self.edge_under_key(key, target)
            if found is not None:
                if self._deciding and isinstance(key, str):
                    until = None if valid_to == times.FOREVER else valid_to
                    said = EdgeStatement(type_name, source, target, home, valid_from, until, properties)
                    self.refuse_conflicting_key(key, said)
                return Written(found, staged=False)
        if self.scopes.any_closed:
            self._require_allowed_by_profiles(type_name, source, target, where, properties)
        if properties:
            details = self.draft.add_details(properties=properties)
        edge = HandledEdge(
            type_name,
            source,
            target,
            where,
            begins,
            valid_to,
            details,
            key.text if isinstance(key, commands.BoundKey) else None if isinstance(key, commands.KnownKey) else key,
        )
        if versions is not None:
            edge = edge._replace(source_version=versions[0], target_version=versions[1])
        self._depth += 1
        if self._depth > MAX_CHAIN:
            self.refuse("chain_too_deep", f"Handlers chained more than {MAX_CHAIN} writes from one command")
        try:
            if self._insert(edge, handler) is Insert.STAGE:
                if type_name != SAME_AS:
                    self._refuse_unstaged(edge)
                    return self.link(source, SAME_AS, target, home=where, valid_from=begins, details=details)
                return Written(self.propose(source, target, edge=edge), staged=True)
            written = self._write(edge, handler, nonce)
            if self.scopes.any_registered:
                relation_laws.settle_written(self, self.scopes, edge._replace(id=written))
            return Written(written, staged=False)
        finally:
            self._depth -= 1

    def _require_allowed_by_profiles(
        self, type_name: str, source: int, target: int, home: int, properties: dict[str, Any] | None
    ) -> None:
        """Refuse what the profile of a world does not allow; conflicts that the engine records are always allowed."""
        if type_name == schema.CONTAINS:
            relation_laws.refuse_member(self, self.scopes, target, source)
        elif type_name != "contradicts" or relation_laws.RELATION not in (properties or {}):
            relation_laws.refuse_relation(self, self.scopes, type_name, home)

    def _refuse_unstaged(self, edge: HandledEdge) -> None:
        """Refuse values that a proposal cannot hold, for an edge that its handler stages."""
        given = [
            name for name, is_given in (("key", edge.key), ("valid_to", edge.valid_to != times.FOREVER)) if is_given
        ]
        if given:
            self.refuse(
                "not_staged",
                f"The handler of {edge.type} proposes this edge, and a proposal has no {given[0]}",
                f"Leave {given[0]} out",
            )

    def unlink(self, edge: bytes) -> None:
        """Retract an edge on the ingest axis and let its handler clean up."""
        place = self.tables.place_of(edge)
        assert place is not None, "callers resolve references first"
        row = self.tables.edge(place)
        if row.unlinked != schema.LIVE:
            self.refuse(
                "already_unlinked",
                f"The edge {ids.short(edge)} was already unlinked at {row.unlinked}",
                "Nothing is left to do",
            )
        self.draft.emit(ev.Unlinked(edge))
        seen = self.handled(place, row)
        handler = self.scopes.handler_for_cleanup(self, seen.type, row.home)
        if handler is not None:
            self._deciding.append((seen, handler))
            try:
                handler.on_delete(self, seen)
            finally:
                self._deciding.pop()
        relation_laws.end_conflicts(self, self.scopes, seen, None)

    def lose(self, node: int, window: times.Interval, *, by: bytes = b"") -> bool:
        """Take a window from the versions of a node (law 8); true if any held in it."""
        return windows.lose(self.draft, node, window, by)

    def close(self, node: int, at: int, *, by: bytes = b"") -> bool:
        """Take everything from ``at`` on from the versions of a node; true if any held there."""
        return self.lose(node, times.Interval(at, times.FOREVER), by=by)

    def close_edge(self, edge: bytes, at: int, until: int = times.FOREVER) -> bool:
        """Take all times from ``at`` on, or up to ``until``, from an edge; true if it was in force at any of them."""
        place = self.tables.place_of(edge)
        assert place is not None, "callers resolve references first"
        row = self.tables.edge(place)
        if row.unlinked != schema.LIVE:
            self.refuse(
                "already_unlinked",
                f"The edge {ids.short(edge)} was already unlinked at {row.unlinked}",
                "Nothing is left to do",
            )
        validity = asof.edge_validity(self.tables, place, row, self.draft.seq)
        window = times.Interval(at, until)
        if not validity.overlaps(window):
            return False
        left = validity.without(window)
        if left.is_empty or left.end <= at:
            end = max(row.valid_from, at)
            self.draft.emit(ev.EdgeClosed(edge, end))
            relation_laws.end_conflicts(self, self.scopes, self.handled(place, row), end)
        else:
            lost = validity.intersect(window)
            self.draft.emit(ev.EdgeLost(edge, lost.start, lost.end))
            relation_laws.end_conflicts(self, self.scopes, self.handled(place, row), lost.start, lost.end)
        return True

    def end(self, node: int, at: int, *, details: int = ev.NONE, by: bytes = b"") -> None:
        """End a node at a time: it holds nothing from then on until it is resumed.

        A node that has ended keeps its end or gets an earlier one.
        """
        row = self.tables.node(node)
        window = times.Interval(at, times.FOREVER)
        supersession.note_conflicts_left(self, node, window, by)
        changed = self.lose(node, window, by=by)
        if changed and not windows.holds_ever(self.draft, node):
            self.note("never_valid", row.lineage)
        if not self.has_ended(node):
            self.draft.emit(ev.Ended(row.lineage, at, details, by))
        elif (hole := windows.hole_at(self.draft, node, at)) is None or not hole.last:
            self.draft.emit(ev.Voided(row.lineage, at, times.FOREVER, details))
        elif not changed:
            self.note("already_closed", row.lineage)

    def void(self, node: int, window: times.Interval, details: int = ev.NONE) -> None:
        """Make a hole in the timeline of a node: it holds nothing in the window."""
        lineage = self.tables.node(node).lineage
        supersession.note_conflicts_left(self, node, window, b"")
        hole = windows.hole_at(self.draft, node, window.start)
        changed = self.lose(node, window)
        if not changed and hole is not None and hole.span.covers(window):
            self.note("already_closed", lineage)
            return
        if changed and not windows.holds_ever(self.draft, node):
            self.note("never_valid", lineage)
        self.draft.emit(ev.Voided(lineage, window.start, window.end, details))

    def create(
        self,
        type_name: str,
        name: str,
        *,
        content: str = "",
        aliases: Sequence[str] = (),
        world: int | None = None,
        valid_from: int | None = None,
        valid_to: int = times.FOREVER,
        source: dict[str, Any] | None = None,
        why: str = "",
        derived_from: Iterable[int] | None = None,
    ) -> int:
        """Create a world for the handler that is being called; returns its node number."""
        edge, handler = self._deciding[-1]
        command = len(self.draft.commands)
        made = self._derived[1] + 1 if self._derived[0] == command else 1
        self._derived = command, made
        if made > MAX_DERIVED:
            self.refuse("too_many_derived", f"Handlers created more than {MAX_DERIVED} worlds from one command")
        where = edge.home if world is None else world
        if not self.inside(where, edge.home):
            self.refuse(
                "outside_home",
                f"The handler of {edge.type} would create a world in {self.shown(where)}, outside its edge's "
                f"home {self.shown(edge.home)}",
                "Link with a home that contains both, or create it inside",
            )
        begins = self.now if valid_from is None else valid_from
        details = self.draft.add_details(
            aliases=tuple(aliases),
            why=why or f"Created by the handler of {edge.type}, version {handler.version}",
            source={**(source or {}), "handler": edge.type, "handler_version": handler.version},
        )
        lineage = ids.Lineage(self.draft.nonce("derived", type_name, name, content)[: ids.LINEAGE_BYTES])
        text = WorldText(type_name, name, content)
        validity = times.checked_interval(begins, valid_to, given=valid_from is not None)
        stated = stated_ends(valid_from, None if valid_to == times.FOREVER else valid_to)
        node, _ = self.add_world(lineage, text, aliases, details, validity, where, stated)
        for each in dict.fromkeys((edge.source, edge.target) if derived_from is None else derived_from):
            if each != schema.ROOT_NODE:
                self.link(node, "derived_from", each, valid_from=begins)
        self.note("derived", lineage)
        return node

    def stage(self, one: int, other: int, *, evidence: dict[str, Any] | None = None) -> Written:
        """Propose that two nodes are one, unless that is pending, or was decided and neither node has changed since."""
        latest = self.proposal(one, other)
        if latest is not None and (latest.status in ("pending", "accepted") or not latest.changed):
            return Written(latest.id, staged=False)
        return self.link(one, SAME_AS, other, properties=evidence)

    def propose(
        self,
        source: int,
        target: int,
        *,
        evidence: dict[str, Any] | None = None,
        edge: HandledEdge | None = None,
    ) -> bytes:
        """Stage a proposal that two nodes are one, as the resolver and the handler of ``same_as`` do.

        Its id is the id that the edge will have if accepted.
        """
        handler = self.scopes.handler(self, SAME_AS, schema.ROOT_NODE)
        if edge is None:
            begins = handler.default_valid_from(self, source, target)
            details = self.draft.add_details(properties=evidence)
            self.draft.blobs.repeated.add(details)
            home = self._home(source, SAME_AS, None)
            edge = HandledEdge(SAME_AS, source, target, home, begins, details=details)
        ends = one, other, where = self._ends(edge)
        nonce = self._nonce(edge, ends)
        proposal = self._identity(edge, ends, nonce)
        self.draft.emit(
            ev.Proposed(
                proposal,
                one.lineage,
                one.versions,
                other.lineage,
                other.versions,
                where.lineage,
                edge.valid_from,
                edge.details,
                nonce,
                handler.version,
            )
        )
        self.note("proposal_staged", proposal)
        return proposal

    def conflict(
        self,
        one: int,
        other: int,
        *,
        home: int | None = None,
        valid_from: int | None = None,
        valid_to: int = times.FOREVER,
    ) -> bytes:
        """Record that two nodes contradict each other; both stay, and reads show it."""
        return self.link(one, "contradicts", other, home=home, valid_from=valid_from, valid_to=valid_to).id

    def note(self, code: str, *refs: bytes) -> None:
        """Tell the caller something in the receipt."""
        self.draft.notes.append(codec.Note(code, [*refs]))

    def note_never_valid(self, edge: bytes) -> None:
        """Note an edge that was just written and is in force at no time."""
        place = self.tables.place_of(edge)
        row = None if place is None else self.tables.edge(place)
        if row is not None and row.seq == self.draft.seq and row.valid_from >= row.valid_to:
            self.note("never_valid", edge)

    def refuse(self, code: str, reason: str, remedy: str = "") -> NoReturn:
        """Stop: nothing of the whole commit is written."""
        self.stopped = outcome.Refusal(code, reason, remedy)
        raise self.stopped

    # -- for the reconciler itself

    def add_world(
        self,
        lineage: ids.Lineage,
        text: WorldText,
        aliases: Sequence[str],
        details: int,
        validity: times.Interval,
        world: int,
        stated: int,
    ) -> tuple[int, int]:
        """Write a new world into a container; returns its node number, and the position of its body.

        ``details`` is the position of the details with its aliases.
        """
        body = self.draft.add_body(*text)
        node = self.draft.applier.next_node
        self.draft.emit(ev.Created(lineage, body, details, validity.start, validity.end, None, stated))
        for position in new_aliases(aliases):
            self.draft.emit(ev.Named(lineage, details, position))
        self.link(world, schema.CONTAINS, node, valid_from=validity.start)
        return node, body

    def write_accepted(self, proposal: bytes, row: schema.ProposalRow) -> None:
        """Write the edge of an accepted proposal exactly as staged, under the proposal's id."""
        lineages = [self.tables.node(node).lineage for node in (row.source, row.target, row.home)]
        self.draft.emit(
            ev.Linked(
                proposal,
                SAME_AS,
                lineages[0],
                row.source_version,
                lineages[1],
                row.target_version,
                lineages[2],
                row.valid_from,
                times.FOREVER,
                ev.NONE,
                row.nonce,
                False,
                row.handler_version,
            )
        )

    def rehome(self, place: schema.EdgePlace, row: schema.EdgeRow, home: int) -> None:
        """Give an interior edge another home.

        The old edge is retracted and an equal one is written, between the same versions and under the same key. Its
        handler is not called, since it may be missing and nothing new is decided.
        """
        if self.scopes.any_closed:
            relation_laws.refuse_relation(self, self.scopes, self.tables.type_name(place.type), home)
        self.draft.emit(ev.Unlinked(row.edge))
        details = self.draft.copy_details(row.seq, row.details)
        edge = self.handled(place, row)._replace(home=home, details=details)
        source = self._node_as_of_version(place.source, row.source_version)
        target = self._node_as_of_version(row.target, row.target_version)
        ends = (source, target, self.tables.node(home))
        held = self.times_of(edge)
        written = self._emit_linked(
            edge, ends, self._next_key_nonce(row.edge), keyed=True, handler_version=row.handler_version
        )
        for before, behind in pairwise(held):
            self.draft.emit(ev.EdgeLost(written, before.end, behind.start))

    def interior(self, world: int) -> interiors.Interior:
        """A world and all inside it, including what was decided so far."""
        if self.interiors is None:
            self.interiors = interiors.Interiors()
        return self.interiors.of(self.draft, world)

    def has_forbidden_texts(self) -> bool:
        """True if there may be forbidden texts; looked up once a commit."""
        if self._has_forbidden is None:
            self._has_forbidden = forbids(self.tables) or self.draft.log.has_untied()
        return self._has_forbidden

    def is_guarded(self) -> bool:
        """True if a guard was ever set for a world; looked up once a commit."""
        if self.guarded is None:
            self.guarded = next(iter(self.tables.marks.scan(schema.GUARDS)), None) is not None
        return self.guarded

    def forbid(self) -> None:
        """Record that this commit itself has forbidden a text."""
        self._has_forbidden = True

    def lineage_of(self, key: str | commands.BoundKey | commands.KnownKey) -> ids.Lineage:
        """The lineage that a caller's key stands for in this store."""
        if isinstance(key, commands.KnownKey):
            return ids.Lineage(key.stands_for)
        text = key.text if isinstance(key, commands.BoundKey) else key
        return hashing.keyed_lineage(self.secret, text.encode())

    def keyed_world(self, key: str | commands.BoundKey | commands.KnownKey, *, anew: bool, revive: bool) -> KeyedWorld:
        """Find the last lineage that was begun under a caller's key.

        If that has ended by now, ``anew`` asks for the next one, which is not yet created. An erased lineage is
        replaced only with ``revive``. A lineage outside of the world in which the key counts, or without a membership
        in it now, is skipped without a note.
        """
        lineage, ended = self.lineage_of(key), b""
        node = self.tables.node_of(lineage)
        within = node_ref(self, key.world) if isinstance(key, commands.BoundKey) else None
        while node is not None:
            if within is not None and not self._counts_inside(node, within, revive=revive):
                lineage = hashing.keyed_lineage_within(self.secret, self.lineage(within), lineage)
                node, ended = self.tables.node_of(lineage), b""
                continue
            if not self._has_ended_by_now(node):
                break
            following = hashing.next_keyed_lineage(self.secret, lineage)
            known = self.tables.node_of(following)
            if known is None and not (anew and (revive or self.body(node) is not None)):
                break
            lineage, node, ended = following, known, lineage
        return KeyedWorld(lineage, node, ended)

    def _counts_inside(self, node: int, world: int, *, revive: bool) -> bool:
        """True if a node is inside ``world``; for the root, if it is, or was first, directly in it."""
        if world != schema.ROOT_NODE:
            return self._is_found_in(node, world, revive=revive)
        placed = self.tables.incoming(node, schema.CONTAINS_CODE)
        first = min(placed, key=lambda each: each[1].seq, default=None)
        return first is None or first[0].source == world or world in self.containers(node)

    def _is_found_in(self, node: int, world: int, *, revive: bool = False) -> bool:
        """True if a world is inside another now or later; for an erased one that is not revived, also if it was."""
        if not self.inside(node, world):
            return False
        if world == schema.ROOT_NODE or (not revive and self.body(node) is None):
            return True
        now, seen, pending = asof.Moment(self.draft.seq, self.now), {node}, [node]
        for here in pending:
            if here == world:
                return True
            for place, row in self.tables.incoming(here, schema.CONTAINS_CODE):
                has_left = row.valid_from <= self.now and not asof.edge_seen(self.tables, place, row, now)
                if place.source not in seen and not has_left:
                    seen.add(place.source)
                    pending.append(place.source)
        return False

    def _has_ended_by_now(self, node: int) -> bool:
        return self.has_ended(node) and all(span.end <= self.now for span in self.spans(node))

    def _insert(self, edge: HandledEdge, handler: EdgeHandler) -> Insert:
        self._deciding.append((edge, handler))
        try:
            return handler.on_insert(self, edge)
        finally:
            self._deciding.pop()

    def _write(self, edge: HandledEdge, handler: EdgeHandler, keyed_nonce: bytes) -> bytes:
        ends = self._ends(edge)
        nonce = keyed_nonce or self._nonce(edge, ends)
        return self._emit_linked(edge, ends, nonce, keyed=bool(keyed_nonce), handler_version=handler.version)

    def _nonce(self, edge: HandledEdge, ends: tuple[schema.NodeRow, schema.NodeRow, schema.NodeRow]) -> bytes:
        source, target, home = ends
        return self.draft.nonce("edge", edge.type, source.lineage, target.lineage, home.lineage)

    def _emit_linked(
        self,
        edge: HandledEdge,
        ends: tuple[schema.NodeRow, schema.NodeRow, schema.NodeRow],
        nonce: bytes,
        *,
        keyed: bool,
        handler_version: int,
    ) -> bytes:
        identity = self._identity(edge, ends, nonce)
        source, target, home = ends
        event = ev.Linked(
            identity,
            edge.type,
            source.lineage,
            source.versions,
            target.lineage,
            target.versions,
            home.lineage,
            edge.valid_from,
            edge.valid_to,
            edge.details,
            nonce,
            keyed,
            handler_version,
        )
        self.draft.emit_linked(event, edge.source, edge.target, edge.home)
        return identity

    def _ends(self, edge: HandledEdge) -> tuple[schema.NodeRow, schema.NodeRow, schema.NodeRow]:
        """The rows of source, target and home."""
        node = self.tables.node
        source = node(edge.source)
        if edge.source_version:
            ends = (
                self._node_as_of_version(edge.source, edge.source_version),
                self._node_as_of_version(edge.target, edge.target_version),
            )
            return *ends, source if edge.home == edge.source else node(edge.home)
        return source, node(edge.target), source if edge.home == edge.source else node(edge.home)

    def _node_as_of_version(self, node: int, version: int) -> schema.NodeRow:
        """The row of a node as it was when a version was its newest."""
        return self.tables.node(node)._replace(versions=version, body=self.tables.version(node, version).body)

    def _identity(
        self, edge: HandledEdge, ends: tuple[schema.NodeRow, schema.NodeRow, schema.NodeRow], nonce: bytes
    ) -> bytes:
        source, target, home = ends
        properties = b"" if edge.details == ev.NONE else self.draft.blobs.blob_id(edge.details)
        return edge_id(
            edge.type,
            source.lineage,
            source.body,
            target.lineage,
            target.body,
            home.lineage,
            edge.valid_from,
            properties,
            nonce,
        )

    def _home(self, source: int, type_name: str, home: int | None) -> int:
        if type_name == schema.CONTAINS:
            return source
        return self.home_of(source) if home is None else home

    def edge_under_key(
        self, key: str | commands.BoundKey | commands.KnownKey, target: int | None = None
    ) -> tuple[bytes, bytes | None]:
        """The nonce for the next edge under a key, and the live edge under it, if there is one.

        After an unlinked edge, the next nonce derives from that edge's id: with the same nonce, an edge that is written
        again would have the id of the retracted one, and earlier views would lose that. The same goes for an edge whose
        source is outside of the world in which the key counts, or whose target is outside and is not ``target``.
        """
        within = None
        if isinstance(key, commands.KnownKey):
            nonce = key.stands_for
        else:
            text = key.text if isinstance(key, commands.BoundKey) else key
            nonce = keyed(self.secret, KEYED_EDGE, text.encode())[: ids.NONCE_BYTES]
        if isinstance(key, commands.BoundKey):
            within = node_ref(self, key.world)
        while (place := self.tables.place_of_key(nonce)) is not None:
            row = self.tables.edge(place)
            is_here = within is None or (
                self._is_found_in(place.source, within)
                and (row.target == target or self._is_found_in(row.target, within))
            )
            if row.unlinked == schema.LIVE and is_here:
                return nonce, row.edge
            nonce = self._next_key_nonce(row.edge)
        return nonce, None

    def refuse_conflicting_key(self, key: str | commands.BoundKey, statement: EdgeStatement) -> None:
        """Refuse an edge whose key stands for a live edge that says something else.

        What is not stated does not differ.
        """
        edge = self.edge_under_key(key, statement.target)[1]
        if edge is None:
            return
        place = self.tables.place_of(edge)
        assert place is not None, "a key stands for an edge that is there"
        row = self.tables.edge(place)
        known_edge = self.handled(place, row)
        properties = self.kept_properties(known_edge) if statement.properties else None
        # An edge that was ended since still counts as the same statement.
        from_, to = (None, None) if row.closed else (statement.valid_from, statement.valid_to)
        differences = {
            "type": known_edge.type != statement.type,
            "source": known_edge.source != statement.source,
            "target": known_edge.target != statement.target,
            "home": statement.home not in (None, known_edge.home) and statement.type != schema.CONTAINS,
            "valid_from": from_ not in (None, row.valid_from),
            "valid_to": to not in (None, row.valid_to),
            "properties": properties is not None and codec.encode(properties) != codec.encode(statement.properties),
        }
        differing = [what for what, differs in differences.items() if differs]
        if differing:
            text = key if isinstance(key, str) else key.text
            self.refuse(
                "key_taken",
                f"The key {text[:80]!r} names the edge {ids.short(edge)}, which differs in {', '.join(differing)}",
                "Give another key, or first unlink that edge",
            )

    def _next_key_nonce(self, edge: bytes) -> bytes:
        return keyed(self.secret, KEYED_EDGE, b"", edge)[: ids.NONCE_BYTES]


def node_ref(ctx: Context, ref: commands.Ref) -> int:
    """The node of a reference; raises as :func:`find_node`."""
    settled = _resolve_batch_position(ctx, ref)
    # A writer sees everything that is stored, so a full id needs no visibility check.
    node = ctx.tables.node_of(settled) if type(settled) is bytes else None
    return table_reads.find_node(ctx.tables, settled, ctx.draft.seq) if node is None else node


def edge_ref(ctx: Context, ref: commands.Ref) -> bytes:
    """The id of the edge that a reference stands for.

    A world that the batch has begun stands for the edge by which it was put into its first world.
    """
    settled = _resolve_batch_position(ctx, ref)
    node = ctx.tables.node_of(settled) if isinstance(ref, int) and isinstance(settled, bytes) else None
    if node is not None and node >= ctx.tables.first_new_node:
        return next(row.edge for _, row in ctx.tables.incoming(node, schema.CONTAINS_CODE))
    return table_reads.find_edge(ctx.tables, settled, ctx.draft.seq)


def node_or_edge_ref(ctx: Context, ref: commands.Ref) -> int | bytes:
    """A node number or an edge id."""
    return table_reads.find_node_or_edge(ctx.tables, _resolve_batch_position(ctx, ref), ctx.draft.seq)


def proposal_ref(ctx: Context, ref: commands.Ref) -> bytes:
    """The id of the proposal that a reference stands for."""
    return table_reads.find_proposal(ctx.tables, _resolve_batch_position(ctx, ref), ctx.draft.seq)


def _resolve_batch_position(ctx: Context, ref: commands.Ref) -> bytes | str:
    """The reference, with a position in the batch replaced by the id of that command's result."""
    if not isinstance(ref, int):
        return ref
    if not 0 <= ref < len(ctx.draft.refs):
        raise errors.UnknownReference(
            f"Command {len(ctx.draft.refs)} of the batch refers to command {ref}, which is not before it",
            "Refer to earlier commands only",
        )
    return ctx.draft.refs[ref]
