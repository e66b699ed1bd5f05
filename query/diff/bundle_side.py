"""One side of a comparison, read from a bundle or from what a store's export would hold."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from worlddb.log.model import blobs, codec, ids
from worlddb.log.model import bundle as fr
from worlddb.log.statements import bundled_statements
from worlddb.log.statements.bundled_statements import Windows
from worlddb.log.store.bundle_contents import BundledWorld, Contents
from worlddb.projections.tables.storage.schema import CONTAINS
from worlddb.query.diff import diff_side, world_diff
from worlddb.query.snapshot.snapshot import NO_DETAILS

_KEPT_STATES: Final = 4096
"""How many worlds are kept decoded; a container is asked for again for each of its members."""


class BundleSide(diff_side.Side):
    """The content of one bundle. Anything outside of it has no text and no hash here."""

    def __init__(self, label: str, contents: Contents) -> None:
        self.label = label
        self.contents = contents
        self.groups = {world.frame.lineage: world for world in contents.worlds}
        self._edges: dict[bytes, tuple[fr.EdgeFrame, bytes]] = {}
        self._proposals: dict[bytes, fr.ProposalFrame] = {}
        self._containers: defaultdict[bytes, list[bytes]] = defaultdict(list)
        self._states: dict[bytes, diff_side.State] = {}
        for lineage, world in self.groups.items():
            self._proposals.update((frame.proposal, frame) for frame in world.proposals)
            for edge in world.edges:
                self._edges[edge.edge] = edge, lineage
                if edge.type == CONTAINS and lineage not in self._containers[edge.target]:
                    self._containers[edge.target].append(lineage)

    def root(self) -> bytes:
        return self.contents.heading.world

    def hash(self, lineage: bytes) -> bytes:
        group = self.groups.get(lineage)
        return b"" if group is None else group.frame.world_hash

    def body(self, lineage: bytes) -> bytes:
        group = self.groups.get(lineage)
        return b"" if group is None else group.versions[-1].body

    def state(self, lineage: bytes) -> diff_side.State | None:
        found = self._states.get(lineage)
        group = self.groups.get(lineage)
        if found is None and group is not None:
            if len(self._states) >= _KEPT_STATES:
                self._states.clear()
            found = self._states[lineage] = self._state(group)
        return found

    def containers(self, lineage: bytes) -> tuple[bytes, ...]:
        return tuple(self._containers.get(lineage, ()))

    def name(self, lineage: bytes) -> str:
        state = self.state(lineage)
        return state.name if state else ""

    def type(self, lineage: bytes) -> str:
        state = self.state(lineage)
        return state.type if state else ""

    def statements(self, lineage: bytes) -> Mapping[str, Windows]:
        group = self.groups.get(lineage)
        return {} if group is None else bundled_statements.shown_windows(group, self.contents)

    def edge(self, edge: bytes) -> diff_side.EdgeState | None:
        found = self._edges.get(edge)
        if found is None:
            return None
        frame, home = found
        return diff_side.EdgeState(
            edge=edge,
            type=frame.type,
            source=frame.source,
            target=frame.target,
            home=home,
            seq=frame.seq,
            known=True,
            validity=fr.validity_of(frame.valid_from, frame.valid_to, frame.spans),
            text=f"{self.called(frame.source)} {frame.type} {self.called(frame.target)}",
        )

    def proposal(self, proposal: bytes) -> diff_side.ProposalState | None:
        frame = self._proposals.get(proposal)
        if frame is None:
            return None
        status = frame.decisions[-1][0] if frame.decisions else "pending"
        text = f"{self.called(frame.source)} the same as {self.called(frame.target)}: {status}"
        return diff_side.ProposalState(frame.source, frame.target, text)

    # -- what only bundles are asked for

    def refs(self) -> Iterator[bytes]:
        """Every world, edge and proposal that the bundle holds."""
        yield from self.groups
        yield from self._edges
        yield from self._proposals

    def members(self, lineage: bytes) -> dict[bytes, bytes]:
        """The members of a world with their hashes."""
        group = self.groups.get(lineage)
        edges = group.edges if group else []
        return {edge.target: self.hash(edge.target) for edge in edges if edge.type == CONTAINS}

    def interior(self, lineage: bytes) -> set[bytes]:
        """The interior edges of a world, those that its hash covers."""
        group = self.groups.get(lineage)
        return {edge.edge for edge in group.edges if edge.type != CONTAINS} if group else set()

    def called(self, lineage: bytes) -> str:
        """The name of a world, else the beginning of its reference."""
        return self.name(lineage) or ids.short(lineage)

    def text(self, version: fr.VersionFrame, group: BundledWorld) -> blobs.Body | None:
        """The body of a version; ``None`` if its text was erased."""
        found = self._blob(version.body, version.seq, group)
        return found if isinstance(found, blobs.Body) else None

    def details(self, blob: bytes, seq: int, group: BundledWorld) -> blobs.Details:
        """The details of a text, an end, an edge or a decision; empty if there are none, or they were erased."""
        found = self._blob(blob, seq, group) if blob else None
        return found if isinstance(found, blobs.Details) else NO_DETAILS

    def source(self, version: fr.VersionFrame, group: BundledWorld) -> dict[str, Any]:
        """The source of a version, without the origin that an import added."""
        source = self.details(version.details, version.seq, group).source
        if blobs.origin_in(source) is None:
            return source
        return {name: value for name, value in source.items() if name != blobs.IMPORTED}

    def _blob(self, blob: bytes, seq: int, group: BundledWorld) -> Any:
        stored = self.contents.blob(blob, group)
        return None if stored is None else codec.decode_blob(stored, seq)

    def _state(self, group: BundledWorld) -> diff_side.State:
        newest = group.versions[-1]
        body = self.text(newest, group)
        aliases = (
            self.details(alias.details, alias.seq, group).aliases[alias.position]
            for alias in group.aliases
            if not alias.removed
        )
        return diff_side.State(
            body=newest.body,
            seq=newest.seq,
            ingested_at=self.contents.commits[newest.seq].ingest_time,
            lacks=diff_side.NOT_BUNDLED if body is None else "",
            type=body.type if body else "",
            name=body.name if body else "",
            content=body.content if body else "",
            why=self.details(newest.details, newest.seq, group).why,
            source=self.source(newest, group),
            validities=tuple(
                fr.validity_of(each.valid_from, each.valid_to, each.spans) for each in reversed(group.versions)
            ),
            aliases=tuple(aliases),
            ended=bool(group.ended),
        )


BundleSides = tuple[BundleSide, BundleSide]


class BundleDescent(world_diff.Descent):
    """Descend by lists of members and edges where hashes differ; a bundle holds no tries."""

    def __init__(self, sides: BundleSides) -> None:
        self._sides = sides

    def members(self, lineage: bytes) -> Iterator[world_diff.DifferingMember]:
        one, other = (side.members(lineage) for side in self._sides)
        for key in sorted(one.keys() | other.keys()):
            if one.get(key) != other.get(key):
                yield world_diff.DifferingMember(key, key in one, key in other)

    def edges(self, lineage: bytes) -> Iterator[world_diff.DifferingMember]:
        one, other = (side.interior(lineage) for side in self._sides)
        for key in sorted(one ^ other):
            yield world_diff.DifferingMember(key, key in one, key in other)
