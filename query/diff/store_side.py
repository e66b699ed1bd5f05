"""One side of a comparison, read from a store at one of its commits.

It reads interval columns, so every commit costs the same. It also describes table rows for people, and says why a store
has no text of a world: the text was erased, has not arrived yet, or is damaged.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from worlddb.log.model import codec, errors, ids, times, trie
from worlddb.log.model import events as ev
from worlddb.log.model.blobs import Body, Details
from worlddb.log.model.events import Forked, Imported
from worlddb.log.model.hashing import world_hash
from worlddb.log.statements.bundled_statements import Windows
from worlddb.projections.tables.apply import apply, log_marks
from worlddb.projections.tables.apply.log_marks import supposition_sentence as described_supposition
from worlddb.projections.tables.names.blocks import form_in, holders
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import rows, schema, timeline_rows, transaction
from worlddb.query.diff import diff_side
from worlddb.query.history.journal import Entry, commit_entries
from worlddb.query.snapshot.snapshot import Snapshot
from worlddb.query.statements import statement_reads

_LAYOUTS: Final[dict[str, tuple[Any, Callable[[bytes], tuple[Any, ...]]]]] = {
    "nodes": (schema.NodeRow, transaction.unpack_node),
    "versions": (schema.VersionRow, schema.VERSION.unpack),
    "aliases": (schema.AliasRow, schema.ALIAS.unpack),
    "out": (schema.EdgeRow, schema.EDGE.unpack),
    "proposals": (schema.ProposalRow, schema.PROPOSAL.unpack),
}
_NODE_FIRST: Final = ("nodes", "versions", "aliases", "out", "back", "tries", "hashes", "pairs", "forms")
_TIMES: Final = ("t_create", "valid_from", "valid_to", "contained_from")


def describe_pair(tables: rows.Tables, table: str, key: bytes, value: bytes) -> diff_side.TableRow:
    """The world and the fields of a table's pair; damaged pairs show their bytes."""
    try:
        lineage = _lineage(tables, table, key, value)
    except (errors.WorldDBError, struct.error, UnicodeDecodeError):
        lineage = b""
    return diff_side.TableRow(lineage, _fields(table, value))


def _fields(table: str, value: bytes) -> dict[str, str]:
    row, unpack = _LAYOUTS.get(table, (None, None))
    try:
        columns = () if unpack is None else unpack(value)
    except struct.error:
        columns = ()
    if row is None or not columns:
        return {f"row of {table}": value.hex()}
    return {name: _column_text(name, column) for name, column in row(*columns)._asdict().items()}


def _column_text(name: str, column: Any) -> str:
    if isinstance(column, bytes):
        return column.hex()
    return times.format_time(column) if name in _TIMES else str(column)


def _lineage(tables: rows.Tables, table: str, key: bytes, value: bytes) -> bytes:
    """The lineage that a pair belongs to; empty if it belongs to none."""
    if table == "lineages":
        return key[: ids.LINEAGE_BYTES]
    if table in _NODE_FIRST:
        return tables.node(int.from_bytes(key[:8], "big")).lineage
    if table in ("names", "types", "holders"):
        return tables.node(int.from_bytes(key[-8:], "big")).lineage
    if table == "blocks":
        first = next(holders(tables, form_in(key)), None)
        return b"" if first is None else tables.node(first).lineage
    if table == "edges":
        return tables.node(schema.EDGE_PLACE.unpack(value)[0]).lineage
    if table == "timelines" and key[0] == timeline_rows.OF_LINEAGE:
        return tables.node(int.from_bytes(key[1:9], "big")).lineage
    if table in ("proposals", "decisions"):
        found = tables.proposal(key[: ids.HASH_BYTES])
        return b"" if found is None else tables.node(found.source).lineage
    if table in ("edge_keys", "retracted"):
        return tables.node(schema.EDGE_KEY.unpack(value)[0]).lineage
    return b""


def why_without_text(snapshot: Snapshot, node: int, row: schema.VersionRow) -> str:
    """Why the text of a version cannot be shown, in words."""
    log, tables = snapshot
    if log.blob(row.seq, row.position) is not None:
        return diff_side.DAMAGED
    if apply.erasure_of(tables, node) is not None:
        return diff_side.ERASED
    events = log.events(row.seq).events
    came_as_hash = any(row.position in event.absent for event in events if isinstance(event, Imported | Forked))
    return diff_side.BY_REFERENCE if came_as_hash else diff_side.DAMAGED


_KEPT_COMMITS: Final = 4
"""How many commits' headers are kept decoded; worlds that are compared in turn were often written together."""
_KEPT_WORLDS: Final = 4096
"""As much for titles and hashes of worlds."""


class CountedNodes:
    """The nodes of a trie; reads are counted in a list that a whole comparison shares."""

    def __init__(self, nodes: trie.NodeStore, count: list[int]) -> None:
        self._nodes = nodes
        self._count = count

    def get(self, path: bytes) -> bytes | None:
        stored = self._nodes.get(path)
        self._count[0] += stored is not None
        return stored

    def put(self, path: bytes, node: bytes) -> None:
        raise AssertionError("a comparison writes nothing")

    def delete(self, path: bytes) -> None:
        raise AssertionError("a comparison writes nothing")


class StoreSide(diff_side.LogSide):
    """One snapshot of a store, at commit ``seq``."""

    def __init__(
        self, label: str, snapshot: Snapshot, seq: int, trie_reads: list[int], numbers: dict[bytes, int]
    ) -> None:
        """``numbers`` are those of lineages here or on the other side; related stores share them."""
        self.label = label
        self.seq = seq
        self._log, self._tables = snapshot.log, snapshot.tables
        self._snapshot = snapshot
        self._trie_reads = trie_reads
        self._headers: dict[int, codec.Header] = {}
        self._titles: dict[bytes, tuple[str, str]] = {}
        self._hashes: dict[bytes, bytes] = {}
        self._known: dict[bytes, int] = {}
        self._rows: dict[int, schema.NodeRow] = {}
        self._numbers = numbers
        self._end: int | None = None
        self.present = seq == snapshot.log.head().seq

    def store_id(self) -> bytes:
        return log_marks.identity_of(self._log, self._tables)

    def supposes(self) -> str:
        return described_supposition(self._log, self._tables)

    def root(self) -> bytes:
        return self._tables.node(schema.ROOT_NODE).lineage

    def header(self, seq: int) -> codec.Header:
        header = self._headers.get(seq)
        if header is None:
            header = self._log.header(seq)
            if len(self._headers) >= _KEPT_COMMITS:
                self._headers.clear()
            self._headers[seq] = header
        return header

    def stored_header(self, seq: int) -> tuple[bytes, bytes]:
        return self._log.stored_header(seq)

    def stored_events(self, seq: int) -> bytes:
        return self._log.stored_events(seq)

    def is_commit_time(self, time: int) -> bool:
        seq = self._log.seq_at(time)
        return bool(seq) and self.header(seq).ingest_time == time

    def entries(self, seq: int, ref: str | None = None) -> Iterator[Entry]:
        return commit_entries(self._log, seq, ref)

    def hash(self, lineage: bytes) -> bytes:
        found = self._hashes.get(lineage)
        if found is None:
            node = self._number(lineage)
            row = None if node is None else self._tables.hash_row(node, self.seq)
            found = b"" if row is None else row[1][: ids.HASH_BYTES]
            self.has_hash(lineage, found)
        return found

    def has_hash(self, lineage: bytes, world_hash: bytes) -> None:
        if len(self._hashes) >= _KEPT_WORLDS:
            self._hashes.clear()
        self._hashes[lineage] = world_hash

    def member_nodes(self, lineage: bytes) -> trie.NodeStore:
        return CountedNodes(self._tables.members(self._node(lineage)).nodes, self._trie_reads)

    def edge_nodes(self, lineage: bytes) -> trie.NodeStore:
        return CountedNodes(self._tables.interior_edges(self._node(lineage)).nodes, self._trie_reads)

    def hash_with(self, lineage: bytes, members_root: bytes, edges_root: bytes) -> bytes:
        row = self._row(self._node(lineage))
        return world_hash(row.body, members_root, edges_root, row.t_create)

    def members(self, lineage: bytes) -> Iterator[bytes]:
        placed = self._tables.outgoing(self._node(lineage), schema.CONTAINS_CODE)
        for node in dict.fromkeys(row.target for _, row in placed if asof.edge_known(row, self.seq)):
            yield self._tables.node(node).lineage

    def state(self, lineage: bytes) -> diff_side.State | None:
        tables = self._tables
        node = self._number(lineage)
        versions = [] if node is None else list(asof.versions_as_of(tables, node, self.seq))
        if node is None or not versions:
            return None
        newest = versions[0].row
        body = self._body(newest)
        details = self._details(newest.seq, newest.details)
        ended = asof.ended_by(self._tables, node, self._row(node), self.seq)
        return diff_side.State(
            body=newest.body,
            seq=newest.seq,
            ingested_at=self.header(newest.seq).ingest_time,
            lacks="" if body else why_without_text(self._snapshot, node, newest),
            type=body.type if body else "",
            name=body.name if body else "",
            content=body.content if body else "",
            why=details.why if details else "",
            source=details.source if details else {},
            validities=tuple(seen.validity for seen in versions),
            aliases=self._aliases(node),
            ended=ended != 0,
        )

    def containers(self, lineage: bytes) -> tuple[bytes, ...]:
        node = self._number(lineage)
        found = () if node is None else self._tables.incoming(node, schema.CONTAINS_CODE)
        known = dict.fromkeys(place.source for place, row in found if asof.edge_known(row, self.seq))
        return tuple(self._tables.node(source).lineage for source in known)

    def name(self, lineage: bytes) -> str:
        return self._title(lineage)[1]

    def type(self, lineage: bytes) -> str:
        return self._title(lineage)[0]

    def body(self, lineage: bytes) -> bytes:
        if self.present:
            node = self._number(lineage)
            return b"" if node is None else self._row(node).body
        seen = self._newest(lineage)
        return b"" if seen is None else seen.row.body

    def statements(self, lineage: bytes) -> Mapping[str, Windows]:
        node = self._number(lineage)
        try:
            return {} if node is None else statement_reads.spans_by_line(self._snapshot, node, self.seq)
        except errors.WorldDBError:  # Others report what is damaged.
            return {}

    def edge(self, edge: bytes) -> diff_side.EdgeState | None:
        place = self._tables.place_of(edge)
        row = None if place is None else self._tables.edge(place)
        if place is None or row is None or row.seq > self.seq:
            return None
        return self._edge(place, row)

    def edges_from(self, lineage: bytes) -> Iterator[diff_side.EdgeState]:
        for place, row in self._tables.outgoing(self._node(lineage)):
            if place.type != schema.CONTAINS_CODE and asof.edge_known(row, self.seq):
                yield self._edge(place, row)

    def proposal(self, proposal: bytes) -> diff_side.ProposalState | None:
        tables = self._tables
        row = tables.proposal(proposal)
        if row is None or row.seq > self.seq:
            return None
        ends = tables.node(row.source).lineage, tables.node(row.target).lineage
        status = schema.STATUS_NAMES[asof.decision_at(tables, proposal, row, self.seq)[0]]
        return diff_side.ProposalState(
            *ends, f"{self._name_or_reference(ends[0])} the same as {self._name_or_reference(ends[1])}: {status}"
        )

    def erasures(self) -> diff_side.Erasures:
        last = self._log.head().seq
        said = ((seq, event) for seq in range(1, last + 1) for event in self._log.events(seq).events)
        erased = [
            event
            for seq, event in said
            if isinstance(event, ev.ErasedElsewhere | ev.StruckElsewhere)
            or (isinstance(event, ev.Erased | ev.Struck) and seq <= self.seq)
        ]
        blobs = {(seq, position) for event in erased for seq, position in event.blobs}
        return diff_side.Erasures(frozenset(blobs), frozenset(event.lineage for event in erased))

    def log_pairs(self, last: int) -> Iterator[diff_side.Pair]:
        return self._log.stored_pairs(last)

    def table_pairs(self) -> Iterator[tuple[str, Iterator[diff_side.Pair]]]:
        for name, table in self._tables.by_name().items():
            yield name, table.scan(b"")

    def table_row(self, table: str, key: bytes, value: bytes) -> diff_side.TableRow:
        return describe_pair(self._tables, table, key, value)

    def _node(self, lineage: bytes) -> int:
        number = self._number(lineage)
        assert number is not None, "only worlds that this side has are asked for"
        return number

    def _number(self, lineage: bytes) -> int | None:
        """The number of a world; cached, since the same few are needed often."""
        found = self._known.get(lineage)
        if found is None:
            found = self._number_on_other_side(lineage)
            if found is None:
                found = self._tables.node_of(lineage)
            if found is None:
                return None
            for numbers in (self._known, self._numbers):
                if len(numbers) >= _KEPT_WORLDS:
                    numbers.clear()
                numbers[lineage] = found
        return found

    def _number_on_other_side(self, lineage: bytes) -> int | None:
        """The number that the other side has, if it is this world's here too."""
        node = self._numbers.get(lineage)
        if self._end is None:
            self._end = self._tables.progress().next_node
        if node is None or node >= self._end:
            return None
        return node if self._row(node).lineage == lineage else None

    def _row(self, node: int) -> schema.NodeRow:
        row = self._rows.get(node)
        if row is None:
            if len(self._rows) >= _KEPT_WORLDS:
                self._rows.clear()
            row = self._rows[node] = self._tables.node(node)
        return row

    def _newest(self, lineage: bytes) -> asof.SeenVersion | None:
        node = self._number(lineage)
        if node is None:
            return None
        if not self.present:
            return asof.newest_version(self._tables, node, self.seq)
        row = self._row(node)
        version = self._tables.version(node, row.versions)
        return asof.SeenVersion(
            row.versions, version, asof.version_validity(self._tables, node, row.versions, version, self.seq)
        )

    def _title(self, lineage: bytes) -> tuple[str, str]:
        """Type and name; cached, since a container's are needed for each of its members."""
        found = self._titles.get(lineage)
        if found is None:
            seen = self._newest(lineage)
            body = None if seen is None else self._body(seen.row)
            found = (body.type, body.name) if body else ("", "")
            if len(self._titles) >= _KEPT_WORLDS:
                self._titles.clear()
            self._titles[lineage] = found
        return found

    def _body(self, row: schema.VersionRow) -> Body | None:
        """The body of a version; ``None`` if it was erased or is damaged, which others report."""
        try:
            return self._snapshot.body(row)
        except errors.WorldDBError:
            return None

    def _details(self, seq: int, position: int) -> Details | None:
        try:
            return self._snapshot.details(seq, position)
        except errors.WorldDBError:
            return None

    def _aliases(self, node: int) -> tuple[str, ...]:
        found = []
        for _, row in self._tables.aliases(node) if self._tables.node(node).aliases else ():
            details = self._details(row.seq, row.details) if asof.alias_known(row, self.seq) else None
            if details is not None and row.position < len(details.aliases):
                found.append(details.aliases[row.position])
        return tuple(found)

    def _edge(self, place: schema.EdgePlace, row: schema.EdgeRow) -> diff_side.EdgeState:
        tables = self._tables
        ends = tables.node(place.source).lineage, tables.node(row.target).lineage
        type_name = tables.type_name(place.type)
        return diff_side.EdgeState(
            edge=row.edge,
            type=type_name,
            source=ends[0],
            target=ends[1],
            home=tables.node(row.home).lineage,
            seq=row.seq,
            known=asof.edge_known(row, self.seq),
            validity=asof.edge_validity(tables, place, row, self.seq),
            text=f"{self._name_or_reference(ends[0])} {type_name} {self._name_or_reference(ends[1])}",
        )

    def _name_or_reference(self, lineage: bytes) -> str:
        return self.name(lineage) or ids.short(lineage)
