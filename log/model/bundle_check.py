"""Whether the frames of a bundle hold together: every id and world hash is computed again, from the inside out.

What is kept while reading are ids and hashes (of worlds, versions and blobs) and the members and edges of the world
that is being read; never a text. A frame that does not hold raises an error that says why; the reader of the file adds
which frame it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from worlddb.log.model import bundle as fr
from worlddb.log.model.bundle_proof import read_bundle_proof
from worlddb.log.model.bundle_values import (
    BODY,
    ERASED,
    blob_kind,
    check_commit,
    check_edge,
    check_edge_type,
    check_end,
    check_heading,
    check_interval,
    check_number,
    check_proposal,
    check_registration,
    check_size,
    check_time,
    check_tuning,
    identity_of,
    refuse,
)
from worlddb.log.model.hashing import blob_id, world_hash
from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES, short
from worlddb.log.model.limits import MAX_ALIASES, MAX_BUNDLE_EDGE_TYPES
from worlddb.log.model.proof import Inclusion
from worlddb.log.model.trie import EMPTY_ROOT, Trie
from worlddb.log.model.trie_proof import MemoryNodes

CONTAINS: Final = "contains"
SAME_AS: Final = "same_as"


class BundleCheck:
    """Takes the frames of a bundle one after the other. After the ``end`` frame everything that it states holds."""

    def __init__(self) -> None:
        self.heading: fr.Heading | None = None
        self.proof: Inclusion | None = None
        self.done = False
        self._frames = 0
        self._commits: set[int] = set()
        self._blobs: dict[bytes, int] = {}
        self._unused: set[bytes] = set()
        self._types: set[str] = set()
        self._hashes: dict[bytes, bytes] = {}
        self._versions: dict[bytes, list[bytes]] = {}
        self._unnamed: set[bytes] = set()
        self._registered: dict[tuple[str, int, bytes], None] = {}
        self._in_force: list[tuple[bytes, fr.RegistrationFrame]] = []
        self._tuned: list[tuple[bytes, fr.TuningFrame]] = []
        self._without_edges: set[tuple[str, int]] = set()
        self._not_contained: set[bytes] = set()
        self._awaited: dict[bytes, dict[int, bytes]] = {}
        self._begun = 0
        self._group: _Group | None = None

    @property
    def edge_types(self) -> list[tuple[str, int, bytes]]:
        """Name, version and digest of the registrations that were given."""
        return list(self._registered)

    @property
    def registrations(self) -> list[tuple[bytes, fr.RegistrationFrame]]:
        """The registrations that are in force, each with the world that it holds for."""
        return self._in_force

    @property
    def tunings(self) -> list[tuple[bytes, fr.TuningFrame]]:
        """The thresholds that are in force, each with the world that it holds for."""
        return self._tuned

    @property
    def worlds(self) -> int:
        """How many worlds were begun."""
        return self._begun

    def take(self, frame: fr.AnyFrame) -> None:
        """See that the next frame holds.

        Raises:
            InputError: it does not; ``InvalidBundle``, or the error of the value that is wrong in it.
        """
        if (self.heading is None) is not (type(frame) is fr.Heading):
            refuse("the heading is missing" if self.heading is None else "there is a second heading")
        if self.done:
            refuse("something follows the end")
        if self.proof is not None and type(frame) is not fr.EndFrame:
            refuse("something follows the proof")
        _TAKE[type(frame)](self, frame)
        self._frames += 1

    # -- one function a frame

    def heading_frame(self, frame: fr.Heading) -> None:
        check_heading(frame)
        self.heading = frame

    def commit(self, frame: fr.CommitFrame) -> None:
        check_commit(frame)
        if frame.seq in self._commits:
            refuse(f"commit {frame.seq} is given twice")
        self._commits.add(frame.seq)

    def blob(self, frame: fr.BlobFrame) -> None:
        self._add_blob(blob_id(frame.stored), blob_kind(frame.stored))

    def erased(self, frame: fr.ErasedFrame) -> None:
        check_size(frame.blob, HASH_BYTES, "a blob's id")
        self._add_blob(frame.blob, ERASED)

    def outside(self, frame: fr.OutsideFrame) -> None:
        self._new_lineage(frame.lineage)
        check_time(frame.t_create)
        if not frame.versions:
            refuse(f"the outside world {short(frame.lineage)} has no version")
        for body, begins, ends in frame.versions:
            check_size(body, HASH_BYTES, "a version's id")
            check_interval(begins, ends, ends)
        self._versions[frame.lineage] = [body for body, _, _ in frame.versions]
        self._unnamed.add(frame.lineage)

    def world(self, frame: fr.WorldFrame) -> None:
        self._end_group()
        self._new_lineage(frame.lineage)
        check_size(frame.world_hash, HASH_BYTES, "a world hash")
        check_time(frame.t_create)
        check_number(frame.order, "an order")
        self._versions[frame.lineage] = []
        self._group = _Group(frame)
        self._begun += 1

    def version(self, frame: fr.VersionFrame) -> None:
        group = self._open_group()
        self._named_blob(frame.body, (BODY, ERASED))
        self._details(frame.details)
        self._commit_known(frame.seq)
        check_interval(frame.valid_from, frame.born_to, frame.valid_to)
        if frame.by:
            check_size(frame.by, LINEAGE_BYTES, "the superseding world")
        self._versions[group.frame.lineage].append(frame.body)

    def alias(self, frame: fr.AliasFrame) -> None:
        group = self._open_group()
        count = self._blobs.get(frame.details, ERASED)
        if not 0 <= frame.position < count:
            refuse(f"there is no alias {frame.position} in {short(frame.details)}")
        self._details(frame.details)
        self._commit_known(frame.seq)
        group.aliases += 1
        if group.aliases > MAX_ALIASES:
            refuse(f"{short(group.frame.lineage)} has more than {MAX_ALIASES} aliases")

    def ended(self, frame: fr.EndedFrame) -> None:
        group = self._open_group()
        if group.ended:
            refuse(f"{short(group.frame.lineage)} has ended twice")
        group.ended = True
        check_time(frame.at)
        self._details(frame.details)
        self._commit_known(frame.seq)
        if frame.by:
            check_size(frame.by, LINEAGE_BYTES, "the superseding world")

    def proposal(self, frame: fr.ProposalFrame) -> None:
        group = self._open_group()
        accepted = check_proposal(frame)
        self._ends(frame)
        if identity_of(frame, SAME_AS, group.frame.lineage) != frame.proposal:
            refuse(f"the proposal {short(frame.proposal)} does not have the id of what it says")
        if frame.proposal in group.proposals:
            refuse(f"the proposal {short(frame.proposal)} is given twice")
        group.proposals[frame.proposal] = accepted
        for _, details, seq in frame.decisions:
            self._details(details)
            self._commit_known(seq)

    def edge(self, frame: fr.EdgeFrame) -> None:
        group = self._open_group()
        home = group.frame.lineage
        check_edge(frame)
        self._ends(frame)
        if identity_of(frame, frame.type, home) != frame.edge:
            refuse(f"the edge {short(frame.edge)} does not have the id of what it says")
        self._type(frame.type)
        self._without_edges.discard((frame.type, frame.handler_version))
        if frame.type == CONTAINS:
            self._member(group, frame)
            return
        if frame.edge in group.edges:
            refuse(f"the edge {short(frame.edge)} is given twice")
        if frame.type == SAME_AS and not group.proposals.get(frame.edge):
            refuse(f"nobody accepted that {short(frame.source)} is the same as {short(frame.target)}")
        group.edges[frame.edge] = b""

    def edge_type(self, frame: fr.EdgeTypeFrame) -> None:
        check_edge_type(frame)
        key = frame.type, frame.handler_version, frame.digest
        if key in self._registered:
            refuse(f"the edge type {frame.type!r:.80} is given twice")
        self._registered[key] = None
        self._without_edges.add(key[:2])

    def registration(self, frame: fr.RegistrationFrame) -> None:
        group = self._open_group()
        check_registration(frame)
        self._type(frame.type)
        self._details(frame.details)
        if frame.seq:
            self._commit_known(frame.seq)
        if frame.type in group.types:
            refuse(f"the edge type {frame.type!r:.80} is registered for {short(group.frame.lineage)} twice")
        group.types.add(frame.type)
        self._in_force.append((group.frame.lineage, frame))

    def tuning(self, frame: fr.TuningFrame) -> None:
        group = self._open_group()
        check_tuning(frame)
        self._details(frame.details)
        if frame.seq:
            self._commit_known(frame.seq)
        if frame.type in group.tuned:
            refuse(f"thresholds for {frame.type or 'every type'!r:.80} are set for {short(group.frame.lineage)} twice")
        group.tuned.add(frame.type)
        self._tuned.append((group.frame.lineage, frame))

    def retracted(self, frame: fr.RetractedFrame) -> None:
        self._open_group()
        if not frame.edges or len(frame.edges) % HASH_BYTES:
            refuse("the list of retracted edges is cut short")

    def proof_frame(self, frame: fr.ProofFrame) -> None:
        self._end_group()
        assert self.heading is not None, "take looks first"
        self.proof = read_bundle_proof(frame.stored, self.heading)

    def end(self, frame: fr.EndFrame) -> None:
        self._end_group()
        heading = self.heading
        assert heading is not None, "take looks first"
        check_end(frame, self._frames, self.worlds)
        if self._hashes.get(heading.world) != heading.world_hash:
            refuse(f"the world {short(heading.world)} does not have the hash that the bundle states")
        self._not_contained.discard(heading.world)
        for what, left in (
            ("is in no world of the bundle", self._not_contained),
            ("lies outside, and no edge leads there", self._unnamed),
            ("is neither in the bundle nor listed as outside, and an edge names it", self._awaited.keys()),
            ("is a blob that nothing names", self._unused),
        ):
            if left:
                refuse(f"{short(min(left))} {what}" + (f" (one of {len(left):,})" if len(left) > 1 else ""))
        if self._without_edges:
            refuse(f"no edge is of the type {min(self._without_edges)[0]!r:.80} in the version that is given")
        self.done = True

    # -- what they share

    def _member(self, group: _Group, frame: fr.EdgeFrame) -> None:
        if frame.source != group.frame.lineage:
            refuse(f"the membership {short(frame.edge)} stands with another world than its container")
        member = self._hashes.get(frame.target)
        if member is None:
            refuse(
                f"the member {short(frame.target)} of {short(frame.source)} is not among the worlds before it:"
                " it is missing, or containment has a cycle"
            )
        if frame.target in group.members:
            refuse(f"{short(frame.target)} is a member of {short(frame.source)} twice")
        group.members[frame.target] = member
        self._not_contained.discard(frame.target)

    def _end_group(self) -> None:
        group, self._group = self._group, None
        if group is None:
            return
        lineage = group.frame.lineage
        versions = self._versions[lineage]
        if not versions:
            refuse(f"the world {short(lineage)} has no version")
        for ordinal, body in self._awaited.pop(lineage, {}).items():
            self._is_version(lineage, ordinal, body)
        for proposal, accepted in group.proposals.items():
            if accepted and proposal not in group.edges:
                refuse(f"the accepted proposal {short(proposal)} has no edge")
        if group.hash_of(versions[-1]) != group.frame.world_hash:
            refuse(f"the world {short(lineage)} states another hash than what it holds has")
        self._hashes[lineage] = group.frame.world_hash
        self._not_contained.add(lineage)

    def _open_group(self) -> _Group:
        if self._group is None:
            refuse("it belongs to no world")
        return self._group

    def _new_lineage(self, lineage: bytes) -> None:
        check_size(lineage, LINEAGE_BYTES, "a world's id")
        if lineage in self._versions:
            refuse(f"the world {short(lineage)} is given twice")

    def _add_blob(self, blob: bytes, kind: int) -> None:
        if blob in self._blobs:
            refuse(f"the blob {short(blob)} is given twice")
        self._blobs[blob] = kind
        self._unused.add(blob)

    def _type(self, name: str) -> None:
        self._types.add(name)
        if len(self._types) > MAX_BUNDLE_EDGE_TYPES:
            refuse(f"there are more than {MAX_BUNDLE_EDGE_TYPES:,} edge types")

    def _details(self, blob: bytes) -> None:
        if blob:
            self._named_blob(blob, ())

    def _named_blob(self, blob: bytes, kinds: tuple[int, ...]) -> None:
        """``kinds`` empty: details, or erased."""
        kind = self._blobs.get(blob)
        if kind is None:
            refuse(f"the blob {short(blob)} is missing")
        if kind not in kinds if kinds else kind == BODY:
            refuse(f"the blob {short(blob)} is of another kind than it is named as")
        self._unused.discard(blob)

    def _commit_known(self, seq: int) -> None:
        if seq not in self._commits:
            refuse(f"the commit {seq} is missing")

    def _ends(self, frame: fr.EdgeFrame | fr.ProposalFrame) -> None:
        self._end_named(frame.source, frame.source_version, frame.source_body)
        self._end_named(frame.target, frame.target_version, frame.target_body)
        self._details(frame.details)
        self._commit_known(frame.seq)

    def _end_named(self, lineage: bytes, ordinal: int, body: bytes) -> None:
        """An end that was read must have the version; one that is still to come is held against it then."""
        self._unnamed.discard(lineage)
        is_open = self._group is not None and self._group.frame.lineage == lineage
        if lineage in self._versions and not is_open:
            self._is_version(lineage, ordinal, body)
        elif self._awaited.setdefault(lineage, {}).setdefault(ordinal, body) != body:
            refuse(f"two edges name different versions {ordinal} of {short(lineage)}")

    def _is_version(self, lineage: bytes, ordinal: int, body: bytes) -> None:
        versions = self._versions[lineage]
        if ordinal > len(versions) or versions[ordinal - 1] != body:
            refuse(f"an edge names {short(body)} as version {ordinal} of {short(lineage)}, which it is not")


class _Group:
    """What is said of one world."""

    def __init__(self, frame: fr.WorldFrame) -> None:
        self.frame = frame
        self.aliases = 0
        self.ended = False
        self.members: dict[bytes, bytes | None] = {}
        self.edges: dict[bytes, bytes | None] = {}
        self.proposals: dict[bytes, bool] = {}
        self.types: set[str] = set()
        self.tuned: set[str] = set()

    def hash_of(self, body: bytes) -> bytes:
        """The world hash, computed from what was read."""
        members = Trie(MemoryNodes(), LINEAGE_BYTES, HASH_BYTES).update(self.members) if self.members else EMPTY_ROOT
        edges = Trie(MemoryNodes(), HASH_BYTES, 0).update(self.edges) if self.edges else EMPTY_ROOT
        return world_hash(body, members, edges, self.frame.t_create)


_TAKE: Final[dict[type[fr.Frame], Callable[[BundleCheck, Any], None]]] = {
    fr.Heading: BundleCheck.heading_frame,
    fr.CommitFrame: BundleCheck.commit,
    fr.BlobFrame: BundleCheck.blob,
    fr.ErasedFrame: BundleCheck.erased,
    fr.OutsideFrame: BundleCheck.outside,
    fr.WorldFrame: BundleCheck.world,
    fr.VersionFrame: BundleCheck.version,
    fr.AliasFrame: BundleCheck.alias,
    fr.EndedFrame: BundleCheck.ended,
    fr.ProposalFrame: BundleCheck.proposal,
    fr.EdgeFrame: BundleCheck.edge,
    fr.EdgeTypeFrame: BundleCheck.edge_type,
    fr.RegistrationFrame: BundleCheck.registration,
    fr.TuningFrame: BundleCheck.tuning,
    fr.RetractedFrame: BundleCheck.retracted,
    fr.ProofFrame: BundleCheck.proof_frame,
    fr.EndFrame: BundleCheck.end,
}
