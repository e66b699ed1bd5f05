"""The new worlds and edges of one commit, whose rows are written later and many at once.

Putting rows one at a time costs several times as much as putting columns of them; a load and a replay spend most of
their time here. Next to nothing that is decided reads the rows that the same commit has just made. So
:class:`DeferredRows` answers for them from memory, and writes them before anybody reads a table that they belong to, at
the latest when the commit is rehashed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, compress, repeat
from typing import Final, Protocol

from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body, Details
from worlddb.log.model.times import Interval
from worlddb.projections.tables.apply.rehash import PendingHashes
from worlddb.projections.tables.names.blocks import UNNAMED_TYPES, put_first_names, put_name
from worlddb.projections.tables.names.canonical import NO_NAME, NO_TYPE, name_digest, type_digest
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables, node_row

Alias = tuple[int, bytes, str]
"""A further name of a new world: its node, the name's digest, and the name."""

Edge = tuple[ev.Linked, int, int, int, int]
"""A new edge with its type, source, target and home as numbers."""
TOGETHER: Final = 512
"""So many edges are in the processor's caches still when they are gone through again."""


def put_worlds(
    tables: Tables,
    blobs: CommitBlobs,
    seq: int,
    events: Sequence[ev.Created],
    nodes: range,
    aliases: Sequence[Alias],
) -> None:
    """Put the rows of new lineages, but for those of the ``nodes`` table."""
    # A column at a time: to turn thousands of rows at once takes several times as long.
    positions = [event.body for event in events]
    ids = list(map(blobs.blob_id, positions))
    bodies = list(map(blobs.body, positions))
    names = [NO_NAME if body is None else name_digest(body.name) for body in bodies]
    types = [NO_TYPE if body is None else type_digest(body.type) for body in bodies]
    numbers = list(map(schema.U64.pack, nodes))
    tables.lineages.put_new([event.lineage for event in events], numbers)
    begins, ends = [event.valid_from for event in events], [event.valid_to for event in events]
    details, stated = [event.details for event in events], [event.stated for event in events]
    columns = (ids, repeat(seq), begins, ends, repeat(0), positions, details, names, types, stated)
    versions = map(schema.VERSION.pack, *columns)
    tables.versions.put_new(list(map(schema.VERSION_KEY.pack, nodes, repeat(1))), versions)
    first_seen = repeat(schema.U64.pack(seq))
    named = [name + number for name, number in zip(names, numbers, strict=True) if name != NO_NAME]
    named += [digest + schema.U64.pack(node) for node, digest, _ in aliases if digest != NO_NAME]
    tables.names.put_new(list(dict.fromkeys(named)), first_seen)
    typed = [kind + number for kind, number, body in zip(types, numbers, bodies, strict=True) if body is not None]
    tables.types.put_new(typed, first_seen)
    known = [body is not None and body.type not in UNNAMED_TYPES for body in bodies]
    texts = [body.name for body in compress(bodies, known) if body]
    others = [schema.U64.pack(node) for node, _, _ in aliases]
    put_first_names(tables, chain(compress(numbers, known), others), chain(texts, [text for _, _, text in aliases]))


def put_edges(tables: Tables, seq: int, edges: Sequence[Edge], numbers: range) -> None:
    """Put the rows of new edges."""
    ids, places, rows = list[bytes](), list[bytes](), list[bytes]()
    back_places, back_rows = list[bytes](), list[bytes]()
    place_of, row_of, source_of = schema.EDGE_KEY.pack, schema.EDGE.pack, schema.U64_U64.pack
    # One edge after the other: of thousands each look at another field would read all of them into the caches anew.
    for number, (event, code, source, target, home) in zip(numbers, edges, strict=True):
        ids.append(event.edge)
        places.append(place_of(source, code, number))
        rows.append(
            row_of(
                event.edge,
                target,
                home,
                event.source_version,
                event.target_version,
                seq,
                schema.LIVE,
                event.valid_from,
                event.valid_to,
                0,
                event.details,
                event.handler_version,
            )
        )
        back_places.append(place_of(target, code, number))
        back_rows.append(source_of(source, schema.LIVE))
        if event.keyed:
            tables.edge_keys.put(event.nonce, places[-1])
    tables.out.put_new(places, rows)
    tables.back.put_new(back_places, back_rows)
    tables.edges.put_new(ids, places)


class CommitBlobs(Protocol):
    """A commit's blobs by position, as applying its events reads them."""

    def blob_id(self, position: int) -> bytes:
        """The hash that stands in the log."""

    def body(self, position: int) -> Body | None:
        """The body, or ``None`` once erased."""

    def details(self, position: int) -> Details | None:
        """The details, or ``None`` once erased."""

    def earlier(self, seq: int, position: int) -> Body | None:
        """A body of an earlier commit, or ``None`` if its text is not there."""


class DeferredRows:
    """The rows that one commit has not written yet, and the numbers that it gives out."""

    def __init__(self, tables: Tables, blobs: CommitBlobs, seq: int, ingest_time: int) -> None:
        self.tables = tables
        self.blobs = blobs
        self.seq = seq
        self.ingest_time = ingest_time
        progress = tables.progress()
        self.next_node = progress.next_node
        self.next_edge = progress.next_edge
        self.staged = 0
        """How many proposals the commit has staged so far."""
        self.unlinked = 0
        self.embedded: Counter[int] = Counter()
        """How many edges it has retracted, and how many texts it has given their first vector in a space."""
        tables.first_new_node = progress.next_node
        tables.writing = True
        self.pending_hashes = PendingHashes(tables, seq)
        self._created: list[ev.Created] = []
        self._aliases: list[Alias] = []
        self.names_put = False
        """Set once the aliases of new lineages are, or will be, where names are looked for: before their own rows."""
        self._names: set[bytes] = set()
        self._linked: list[Edge] = []
        self._from: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        self._to: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        """Where in ``_linked`` the edges of a type from a node, or to it, are; of types that handlers follow."""

    # -- the numbers that events name

    def number(self, lineage: bytes) -> int:
        """The number of a lineage that an event names."""
        node = self.tables.node_of(lineage)
        if node is None:
            raise KeyError(f"commit {self.seq} names the unknown lineage {lineage.hex()}")
        return node

    def numbers(self, lineages: Sequence[bytes]) -> list[int]:
        """As :meth:`number`, for a column."""
        known = list(self.tables.known_numbers(lineages))
        if None not in known:
            return known  # type: ignore[return-value]
        return [self.number(lineage) if node is None else node for lineage, node in zip(lineages, known, strict=True)]

    # -- deferring and writing

    def create(self, event: ev.Created, body: bytes, name: bytes) -> int:
        """Defer a new lineage, and return its number.

        Takes the id of its body and the digest of its name.
        """
        node = self.next_node
        self.next_node = node + 1
        t_create = self.ingest_time if event.t_create is None else event.t_create
        row = node_row((event.lineage, self.seq, t_create, 1, 0, 0, body, *schema.UNPLACED))
        self.tables.number_new(event.lineage, node, row)
        self._created.append(event)
        self._names.add(name)
        self.tables.deferred = self
        return node

    def link(self, event: ev.Linked, code: int, source: int, target: int, home: int) -> None:
        """Defer a new edge, given its type, ends and home as numbers."""
        if code not in schema.UNFOLLOWED:
            if code == schema.CONTAINS_CODE:
                self.tables.contained(target, source, event.valid_from, event.valid_to)
            elif code == schema.SUPERSEDES_CODE:
                self.tables.known_worlds.superseded(source, target, Interval(event.valid_from, event.valid_to))
            at = len(self._linked)
            self._from[source, code].append(at)
            self._to[target, code].append(at)
        self._linked.append((event, code, source, target, home))
        self.next_edge += 1
        self.tables.deferred = self

    def name(self, node: int, digest: bytes, text: str) -> None:
        """Defer another name of a new lineage."""
        self._aliases.append((node, digest, text))
        self._names.add(digest)

    def create_all(self, events: list[ev.Created]) -> None:
        """As :meth:`create`, for all new lineages of a commit."""
        nodes = range(self.next_node, self.next_node + len(events))
        lineages = [event.lineage for event in events]
        times = [self.ingest_time if event.t_create is None else event.t_create for event in events]
        bodies = map(self.blobs.blob_id, [event.body for event in events])
        columns = lineages, repeat(self.seq), times, repeat(1), repeat(0), repeat(0), bodies
        rows = map(schema.NodeRow, *columns, *map(repeat, schema.UNPLACED))
        self.tables.number_all_new(lineages, nodes, rows)
        self._created += events
        self.next_node = nodes.stop
        self.tables.deferred = self

    def link_all(self, edges: list[Edge]) -> None:
        """As :meth:`link`, for many new edges; their rows are put."""
        for event, code, source, target, _ in edges:
            if code == schema.CONTAINS_CODE:
                self.tables.contained(target, source, event.valid_from, event.valid_to)
            elif code == schema.SUPERSEDES_CODE:
                self.tables.known_worlds.superseded(source, target, Interval(event.valid_from, event.valid_to))
        self._linked += edges
        self.next_edge += len(edges)
        self.flush()

    def flush(self) -> None:
        """Put all deferred rows."""
        self.tables.deferred = None
        created, linked, aliases = self._created, self._linked, self._aliases
        self._created, self._linked, self._aliases = [], [], []
        self._names.clear()
        self._from.clear()
        self._to.clear()
        if created:
            nodes = range(self.next_node - len(created), self.next_node)
            put_worlds(self.tables, self.blobs, self.seq, created, nodes, aliases)
            self.pending_hashes.nodes_created(nodes)
        first = self.next_edge - len(linked)
        for begin in range(0, len(linked), TOGETHER):
            some = linked[begin : begin + TOGETHER]
            put_edges(self.tables, self.seq, some, range(first + begin, first + begin + len(some)))
            self.pending_hashes.edges_linked(some)

    def put_name(self, node: int, digest: bytes, text: str | None) -> None:
        """Give a lineage a name from now on.

        It is also put where names that are alike are looked for; no text: it was erased.
        """
        key, names = digest + schema.U64.pack(node), self.tables.names
        if digest != NO_NAME and names.get(key) is None:
            names.put(key, schema.U64.pack(self.seq))
        if text is not None:
            put_name(self.tables, node, text)

    # -- asking what is deferred

    def is_deferred(self, node: int) -> bool:
        """True if the rows of a node are deferred."""
        return self.next_node - len(self._created) <= node < self.next_node

    def has_deferred_name(self, digest: bytes) -> bool:
        """True if a new lineage has the name, and the tables do not know it yet."""
        return digest in self._names

    def deferred_first_version(self, node: int) -> schema.VersionRow | None:
        """The row of a node's first version, if that is deferred."""
        if not self.is_deferred(node):
            return None
        event = self._created[node - self.next_node]
        body = self.blobs.body(event.body)
        name, kind = (NO_NAME, NO_TYPE) if body is None else (name_digest(body.name), type_digest(body.type))
        identifier = self.blobs.blob_id(event.body)
        return schema.VersionRow(
            identifier,
            self.seq,
            event.valid_from,
            event.valid_to,
            0,
            event.body,
            event.details,
            name,
            kind,
            event.stated,
        )

    def deferred_targets(self, node: int, code: int) -> list[int]:
        """The targets of a node's edges of a type that are not in the tables yet."""
        return [self._linked[at][3] for at in self._from.get((node, code), ())]

    def deferred_sources(self, node: int, code: int) -> list[int]:
        """The sources of a node's edges of a type that are not in the tables yet."""
        return [self._linked[at][2] for at in self._to.get((node, code), ())]

    def has_deferred_edge(self, node: int, code: int, *, incoming: bool) -> bool:
        """True if an edge of a type from a node, or to it, is not in the tables yet."""
        return (node, code) in (self._to if incoming else self._from)

    def deferred_edges(self, node: int, code: int, *, incoming: bool) -> list[tuple[schema.EdgePlace, schema.EdgeRow]]:
        """The edges of a type from a node, or to it, that are not in the tables yet."""
        found = []
        for at in (self._to if incoming else self._from).get((node, code), ()):
            event, _, source, target, home = self._linked[at]
            row = schema.EdgeRow(
                event.edge,
                target,
                home,
                event.source_version,
                event.target_version,
                self.seq,
                schema.LIVE,
                event.valid_from,
                event.valid_to,
                0,
                event.details,
                event.handler_version,
            )
            found.append((schema.EdgePlace(source, code, self.next_edge - len(self._linked) + at), row))
        return found
