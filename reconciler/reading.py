"""What may be read inside the transaction in which commands are decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worlddb.log.model import codec
from worlddb.log.model.blobs import Blob, Body, Details
from worlddb.log.model.events import NONE
from worlddb.log.model.ids import short
from worlddb.log.model.times import Interval
from worlddb.projections.tables.reads.asof import alias_known
from worlddb.projections.tables.storage.proposal_rows import latest_about
from worlddb.projections.tables.storage.schema import LIVE, ROOT_NODE, STATUS_NAMES, EdgePlace, EdgeRow
from worlddb.reconciler.draft import Draft
from worlddb.reconciler.handler import HandledEdge
from worlddb.reconciler.handler_context import PairProposal, WorldText


class Reading:
    """The reading half of what handlers get; what each call means is said in :mod:`.handler_context`."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.tables = draft.tables
        self.now = draft.ingest_time
        self.root = ROOT_NODE

    def begins(self, node: int) -> int:
        """Where the newest version of a node begins to be valid; commit time for the root world."""
        if node == ROOT_NODE:
            return self.now
        return self.tables.version(node, self.tables.node(node).versions).valid_from

    def spans(self, node: int) -> Iterator[Interval]:
        """When the versions of a node are valid, newest first; those that are valid at no time are left out."""
        for _, row in self.tables.version_rows(node):
            if row.valid_from < row.valid_to:
                yield Interval(row.valid_from, row.valid_to)

    def body(self, node: int) -> Body | None:
        """The newest body of a node, in this draft or in the log; ``None`` once erased."""
        row = self.tables.version(node, self.tables.node(node).versions)
        found = self._blob(row.seq, row.position)
        return found if isinstance(found, Body) else None

    def aliases(self, node: int) -> list[str]:
        """The aliases that a node has now, in the order in which they were given, but for erased ones."""
        rows = self.tables.aliases(node) if self.tables.node(node).aliases else iter(())
        known = [row for _, row in rows if alias_known(row, self.draft.seq)]
        given = [(self._blob(row.seq, row.details), row.position) for row in known]
        return [found.aliases[position] for found, position in given if isinstance(found, Details)]

    def text(self, node: int) -> WorldText | None:
        """The newest text of a node; ``None`` once erased."""
        body = self.body(node)
        return None if body is None else WorldText(body.type, body.name, body.content)

    def shown(self, node: int) -> str:
        """The node's reference as people are shown it."""
        return short(self.lineage(node))

    def lineage(self, node: int) -> bytes:
        """The node's full reference."""
        return self.tables.node(node).lineage

    def edges(self, node: int, type_name: str, *, incoming: bool = False) -> Iterator[HandledEdge]:
        """Edges of a type from a node, or to it, that have not been unlinked, in log order."""
        code = self.tables.type_code(type_name)
        if code is not None:
            found = self.tables.incoming(node, code) if incoming else self.tables.outgoing(node, code)
            for place, row in found:
                if row.unlinked == LIVE:
                    yield self.handled(place, row, type_name)

    def targets(self, node: int, type_name: str) -> list[int]:
        """Where the live edges of a type from a node lead, in log order."""
        code = self.tables.type_code(type_name)
        return [] if code is None else self.tables.live_targets(node, code)

    def handled(self, place: EdgePlace, row: EdgeRow, type_name: str = "") -> HandledEdge:
        """A stored edge as its handler sees it."""
        return HandledEdge(
            type_name or self.tables.type_name(place.type),
            place.source,
            row.target,
            row.home,
            row.valid_from,
            row.valid_to,
            row.details,
            id=row.edge,
            seq=row.seq,
        )

    def properties(self, edge: HandledEdge) -> dict[str, Any]:
        """The properties that an edge was written with; none once they were erased."""
        found = self._blob(edge.seq or self.draft.seq, edge.details)
        return dict(found.properties) if isinstance(found, Details) else {}

    def reaches(self, start: int, goal: int, type_name: str) -> bool:
        """True if following live edges of a type from ``start`` leads to ``goal``. Depth costs no stack."""
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
        if container == ROOT_NODE:
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
        return containers[0] if containers else ROOT_NODE

    def proposal(self, one: int, other: int) -> PairProposal | None:
        """The latest proposal about an unordered pair of nodes."""
        identifier = latest_about(self.tables, one, other)
        row = None if identifier is None else self.tables.proposal(identifier)
        if identifier is None or row is None:
            return None
        proposed = {row.source: row.source_version, row.target: row.target_version}
        changed = any(self.tables.node(end).versions != version for end, version in proposed.items())
        return PairProposal(identifier, STATUS_NAMES[row.status], changed)

    def _blob(self, seq: int, position: int) -> Blob | None:
        if position == NONE:
            return None
        if seq == self.draft.seq:
            return self.draft.blobs.body(position) or self.draft.blobs.details(position)
        stored = self.draft.log.blob(seq, position)
        return None if stored is None else codec.decode_blob(stored, seq)
