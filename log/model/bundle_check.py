"""Check a bundle's frames: recompute every id and world hash, innermost worlds first.

Reading keeps ids and hashes (of worlds, versions and blobs) and the members and edges of the current world, but no
texts. An invalid frame raises an error with the reason; the reader of the file adds the number of the frame.

The proof in a bundle is checked too: it must prove the bundle's world hash, and a head may be required to cover it.
"""

from collections.abc import Callable
from typing import Any, Final

from worlddb.log.model import bundle, bundle_values, checkpoint, codec, errors, ids, limits
from worlddb.log.model import bundle as fr
from worlddb.log.model.proof import ROOT, Inclusion, check, proved_world, read_proof


def read_bundle_proof(stored: bytes, heading: bundle.Heading, commit: bundle.CommitFrame | None = None) -> Inclusion:
    """Read the proof and require that it proves what the heading and the frame of its commit state.

    That is the world, its hash, the commit with its time and author, and the store.

    Raises:
        InvalidBundle: the proof is invalid, or proves something else.
    """
    try:
        proof = read_proof(stored, "the proof")
    except errors.WorldDBError as error:
        bundle_values.refuse(error.message)
    if not isinstance(proof, Inclusion) or proof.edge is not None:
        bundle_values.refuse("the proof is not about a world")
    if (proof.store, proof.seq) != (heading.store_id.hex(), heading.seq):
        bundle_values.refuse(
            f"the proof is about commit {proof.seq} of store {proof.store}, and the bundle about another commit "
            "or store"
        )
    try:
        lineage, reached, chain, header = proved_world(proof)
    except ValueError as error:
        bundle_values.refuse(f"the proof does not hold: {error}")
    # The hash of the root world does not tell its lineage.
    if lineage not in (heading.world.hex(), ROOT) or reached != heading.world_hash:
        bundle_values.refuse("the proof leads to a world hash other than the bundle's")
    if chain != heading.chain:
        bundle_values.refuse("the proof is about a commit whose chain hash is not the bundle's")
    if heading.ingest_time != header.ingest_time or (
        commit is not None and (commit.ingest_time, commit.author) != (header.ingest_time, header.author)
    ):
        bundle_values.refuse(f"the time or author of commit {heading.seq} differs between the proof and the bundle")
    return proof


def check_against_head(proof: Inclusion | None, head: checkpoint.Anchor, name: str) -> None:
    """Require that a head covers the world hash of a checked bundle; ``name`` names the bundle in errors.

    Raises:
        UnprovedBundle: there is no proof, it was made for another head, or the head lacks a signature.
    """
    if proof is None:
        raise errors.UnprovedBundle(
            f"The bundle {name} has no proof to check against the head",
            "Export it again with its proof; or leave out the head and compare the bundle's hash with the sender's",
            file=name,
        )
    found = check(proof, [head])
    if not found.ok:
        raise errors.UnprovedBundle(
            f"The proof does not tie the world hash of the bundle {name} to the head: {found.reason}",
            f"Give a head of {proof.size} commits of store {proof.store}, or export with a proof for the head at hand",
            file=name,
        )


CONTAINS: Final = "contains"


class BundleCheck:
    """Checks the frames of a bundle one after the other; after the ``end`` frame the whole bundle is valid."""

    def __init__(self) -> None:
        self.heading: fr.Heading | None = None
        self.proof: Inclusion | None = None
        self.done = False
        self._frame_count = 0
        self._references = bundle_values.BundleReferences()
        self._edge_types: set[str] = set()
        self._hashes: dict[bytes, bytes] = {}
        self._registered_types: dict[tuple[str, int, bytes], None] = {}
        self._registrations: list[tuple[bytes, fr.RegistrationFrame]] = []
        self._tunings: list[tuple[bytes, fr.TuningFrame]] = []
        self._profiles: list[tuple[bytes, fr.ProfileFrame]] = []
        self._beliefs: list[fr.BeliefFrame] = []
        self._unused_types: set[tuple[str, int]] = set()
        self._uncontained: set[bytes] = set()
        self._world_count = 0
        self._last_commit: fr.CommitFrame | None = None
        self._group: bundle_values.WorldGroup | None = None

    @property
    def edge_types(self) -> list[tuple[str, int, bytes]]:
        """Name, version and digest of each registered edge type in the bundle."""
        return list(self._registered_types)

    @property
    def registrations(self) -> list[tuple[bytes, fr.RegistrationFrame]]:
        """The registrations in force, each with the world that it applies to."""
        return self._registrations

    @property
    def tunings(self) -> list[tuple[bytes, fr.TuningFrame]]:
        """The thresholds in force, each with the world that they apply to."""
        return self._tunings

    @property
    def profiles(self) -> list[tuple[bytes, fr.ProfileFrame]]:
        """The profiles in force, each with the world whose vocabulary it closes."""
        return self._profiles

    @property
    def beliefs(self) -> list[fr.BeliefFrame]:
        """The belief settings."""
        return self._beliefs

    @property
    def worlds(self) -> int:
        """The number of worlds so far."""
        return self._world_count

    def check_frame(self, frame: fr.AnyFrame) -> None:
        """Check the next frame.

        Raises:
            InputError: it is invalid; ``InvalidBundle``, or the error of an invalid value in it.
        """
        if (self.heading is None) is not (type(frame) is fr.Heading):
            bundle_values.refuse("the heading is missing" if self.heading is None else "there is a second heading")
        if self.done:
            bundle_values.refuse("something follows the end")
        if self.proof is not None and type(frame) is not fr.EndFrame:
            bundle_values.refuse("something follows the proof")
        _CHECKS[type(frame)](self, frame)
        self._frame_count += 1

    # -- one function a frame

    def heading_frame(self, frame: fr.Heading) -> None:
        bundle_values.check_heading(frame)
        self.heading = frame

    def commit(self, frame: fr.CommitFrame) -> None:
        bundle_values.check_commit(frame)
        self._references.add_commit(frame.seq)
        if self.heading is not None and frame.seq == self.heading.seq:
            self._last_commit = frame

    def blob(self, frame: fr.BlobFrame) -> None:
        kind = bundle_values.blob_kind(frame.stored)
        struck = codec.struck_in(frame.stored) is not None
        self._references.add_blob(codec.named_id(frame.stored), kind, self._own_group(), struck=struck)

    def erased(self, frame: fr.ErasedFrame) -> None:
        bundle_values.check_size(frame.blob, ids.HASH_BYTES, "a blob's id")
        self._references.add_blob(frame.blob, bundle_values.ERASED, self._own_group())

    def outside(self, frame: fr.OutsideFrame) -> None:
        self._references.add_world(frame.lineage)
        bundle_values.check_time(frame.t_create)
        if not frame.versions:
            bundle_values.refuse(f"the outside world {ids.short(frame.lineage)} has no version")
        for body, begins, ends in frame.versions:
            bundle_values.check_size(body, ids.HASH_BYTES, "a version's id")
            bundle_values.check_interval(begins, ends, ends)
        if len(frame.spans) not in (0, len(frame.versions)) or len(frame.stated) not in (0, len(frame.versions)):
            bundle_values.refuse(
                f"the versions of the outside world {ids.short(frame.lineage)} do not all have the same fields"
            )
        for (_, begins, ends), spans in zip(frame.versions, frame.spans, strict=False):
            bundle_values.check_spans(spans, begins, ends)
        for stated in frame.stated:
            bundle_values.check_stated(stated)
        self._references.add_outside(frame.lineage, [body for body, _, _ in frame.versions])

    def world(self, frame: fr.WorldFrame) -> None:
        self._close_group()
        self._references.add_world(frame.lineage)
        self._references.begin(frame.lineage)
        bundle_values.check_size(frame.world_hash, ids.HASH_BYTES, "a world hash")
        bundle_values.check_time(frame.t_create)
        bundle_values.check_number(frame.order, "an order")
        self._group = bundle_values.WorldGroup(frame)
        self._world_count += 1

    def version(self, frame: fr.VersionFrame) -> None:
        group = self._require_group()
        self._references.use_body(frame.body)
        self._references.use_details(frame.details)
        self._references.require_commit(frame.seq)
        bundle_values.check_interval(frame.valid_from, frame.born_to, frame.valid_to)
        bundle_values.check_spans(frame.spans, frame.valid_from, frame.valid_to)
        bundle_values.check_stated(frame.stated)
        if frame.by:
            bundle_values.check_size(frame.by, ids.LINEAGE_BYTES, "the superseding world")
        self._references.add_version(group.lineage, frame.body)

    def alias(self, frame: fr.AliasFrame) -> None:
        group = self._require_group()
        if not 0 <= frame.position < self._references.aliases_in(frame.details):
            bundle_values.refuse(f"{ids.short(frame.details)} has no alias {frame.position}")
        self._references.use_details(frame.details)
        self._references.require_commit(frame.seq)
        group.add_alias()

    def restated(self, frame: fr.RestatedFrame) -> None:
        group = self._require_group()
        bundle_values.check_number(frame.version, "a version", 1)
        self._references.check_version_count(group.lineage, frame.version)
        self._references.use_details(frame.details)
        self._references.require_commit(frame.seq)

    def deadline(self, frame: fr.DeadlineFrame) -> None:
        bundle_values.check_time(frame.at)
        bundle_values.check_number(frame.lasts, "the length of a deadline")
        self._check_mark(frame)

    def label(self, frame: fr.LabelFrame) -> None:
        if not 0 <= frame.position < self._references.aliases_in(frame.details):
            bundle_values.refuse(f"{ids.short(frame.details)} has no label {frame.position}")
        self._check_mark(frame)

    def pin(self, frame: fr.PinFrame) -> None:
        self._check_mark(frame)

    def deprecated(self, frame: fr.DeprecatedFrame) -> None:
        self._check_mark(frame)

    def tag(self, frame: fr.TagFrame) -> None:
        if not self._references.aliases_in(frame.details):
            bundle_values.refuse(f"{ids.short(frame.details)} has no tag")
        bundle_values.check_number(frame.number, "a version", 1)
        self._references.check_version_count(self._require_group().lineage, frame.number)
        self._check_mark(frame)

    def _check_mark(
        self, frame: fr.DeadlineFrame | fr.LabelFrame | fr.PinFrame | fr.TagFrame | fr.DeprecatedFrame
    ) -> None:
        self._require_group().add_mark(type(frame))
        self._references.use_details(frame.details)
        self._references.require_commit(frame.seq)

    def terms(self, frame: fr.TermsFrame) -> None:
        known = self._references.aliases_in(frame.details)
        self._require_group().add_terms(frame, bundle_values.MAX_TERMS if known == bundle_values.ERASED else known)
        self._references.use_details(frame.details, struck=True)
        self._references.require_commit(frame.seq)

    def stated(self, frame: fr.StatedFrame) -> None:
        bundle_values.check_interval(frame.valid_from, frame.valid_to, frame.valid_to)
        self._require_group().add_quads(frame)
        self._references.use_details(frame.details, struck=True)
        self._references.require_commit(frame.seq)

    def ended(self, frame: fr.EndedFrame) -> None:
        group = self._require_group()
        group.add_end()
        bundle_values.check_time(frame.at)
        self._check_hole(group, frame)

    def voided(self, frame: fr.VoidedFrame) -> None:
        bundle_values.check_voided(frame)
        self._check_hole(self._require_group(), frame)

    def _check_hole(self, group: bundle_values.WorldGroup, frame: fr.EndedFrame | fr.VoidedFrame) -> None:
        """Check the fields that ends and holes share."""
        self._references.check_version_count(group.lineage, frame.after)
        self._references.use_details(frame.details)
        self._references.require_commit(frame.seq)
        if frame.by:
            bundle_values.check_size(frame.by, ids.LINEAGE_BYTES, "the superseding world")

    def proposal(self, frame: fr.ProposalFrame) -> None:
        group = self._require_group()
        accepted = bundle_values.check_proposal(frame)
        self._check_ends(frame)
        if bundle_values.identity_of(frame, bundle_values.SAME_AS, group.lineage) != frame.proposal:
            bundle_values.refuse(f"the id of the proposal {ids.short(frame.proposal)} does not match its content")
        group.add_proposal(frame.proposal, accepted=accepted)
        for _, details, seq in frame.decisions:
            self._references.use_details(details)
            self._references.require_commit(seq)

    def edge(self, frame: fr.EdgeFrame) -> None:
        group = self._require_group()
        bundle_values.check_edge(frame)
        self._check_ends(frame)
        if bundle_values.identity_of(frame, frame.type, group.lineage) != frame.edge:
            bundle_values.refuse(f"the id of the edge {ids.short(frame.edge)} does not match its content")
        self._add_edge_type(frame.type)
        self._unused_types.discard((frame.type, frame.handler_version))
        if frame.type == CONTAINS:
            group.add_member(frame, self._hashes.get(frame.target))
            self._uncontained.discard(frame.target)
        else:
            group.add_edge(frame)

    def edge_type(self, frame: fr.EdgeTypeFrame) -> None:
        bundle_values.check_edge_type(frame)
        key = frame.type, frame.handler_version, frame.digest
        if key in self._registered_types:
            bundle_values.refuse(f"the edge type {errors.shown(frame.type)} is given twice")
        self._registered_types[key] = None
        self._unused_types.add(key[:2])

    def registration(self, frame: fr.RegistrationFrame) -> None:
        group = self._require_group()
        bundle_values.check_registration(frame)
        self._add_edge_type(frame.type)
        self._references.use_details(frame.details)
        if frame.seq:
            self._references.require_commit(frame.seq)
        group.add_registration(frame.type)
        self._registrations.append((group.lineage, frame))

    def tuning(self, frame: fr.TuningFrame) -> None:
        group = self._require_group()
        bundle_values.check_tuning(frame)
        self._references.use_details(frame.details)
        if frame.seq:
            self._references.require_commit(frame.seq)
        group.add_tuning(frame.type)
        self._tunings.append((group.lineage, frame))

    def profile(self, frame: fr.ProfileFrame) -> None:
        group = self._require_group()
        bundle_values.check_profile(frame)
        self._references.use_details(frame.details)
        self._references.require_commit(frame.seq)
        group.add_profile(frame.profile)
        self._profiles.append((group.lineage, frame))

    def belief(self, frame: fr.BeliefFrame) -> None:
        group, heading = self._require_group(), self.heading
        assert heading is not None, "check_frame requires the heading first"
        bundle_values.check_belief(frame)
        if group.lineage != heading.world:
            bundle_values.refuse(
                f"beliefs are set for {ids.short(group.lineage)}, and only the exported world may have them"
            )
        group.add_belief(frame.what, frame.name)
        self._beliefs.append(frame)

    def retracted(self, frame: fr.RetractedFrame) -> None:
        self._require_group()
        if not frame.edges or len(frame.edges) % ids.HASH_BYTES:
            bundle_values.refuse("the list of retracted edges is cut short")

    def proof_frame(self, frame: fr.ProofFrame) -> None:
        self._close_group()
        assert self.heading is not None, "check_frame requires the heading first"
        self.proof = read_bundle_proof(frame.stored, self.heading, self._last_commit)

    def end(self, frame: fr.EndFrame) -> None:
        self._close_group()
        heading = self.heading
        assert heading is not None, "check_frame requires the heading first"
        bundle_values.check_end(frame, self._frame_count, self.worlds)
        if heading.format == fr.TWIN_FORMAT:
            if not self._references.has_again:
                bundle_values.refuse(f"it has format {heading.format}, and no blob occurs more than once")
        elif self._references.has_struck is not (heading.format == fr.STRUCK_FORMAT):
            has = "has" if self._references.has_struck else "has no"
            bundle_values.refuse(f"it has format {heading.format}, and {has} details with erased texts")
        if self._hashes.get(heading.world) != heading.world_hash:
            bundle_values.refuse(
                f"the hash of the world {ids.short(heading.world)} is not the one that the bundle states"
            )
        self._uncontained.discard(heading.world)
        for what, left in (("is in no world of the bundle", self._uncontained), *self._references.find_unmatched()):
            if left:
                bundle_values.refuse(
                    f"{ids.short(min(left))} {what}" + (f" (one of {len(left):,})" if len(left) > 1 else "")
                )
        if self._unused_types:
            bundle_values.refuse(f"no edge has the type {min(self._unused_types)[0]!r:.80} in the registered version")
        self.done = True

    # -- helpers

    def _close_group(self) -> None:
        group, self._group = self._group, None
        if group is None:
            return
        group.check_hash(self._references.complete_world(group.lineage))
        self._hashes[group.lineage] = group.frame.world_hash
        self._uncontained.add(group.lineage)

    def _own_group(self) -> bool:
        """Whether a blob that is given counts for the group that is open, and for no other."""
        return self._group is not None and self.heading is not None and self.heading.format == fr.TWIN_FORMAT

    def _require_group(self) -> bundle_values.WorldGroup:
        if self._group is None:
            bundle_values.refuse("it belongs to no world")
        return self._group

    def _add_edge_type(self, name: str) -> None:
        self._edge_types.add(name)
        if len(self._edge_types) > limits.MAX_BUNDLE_EDGE_TYPES:
            bundle_values.refuse(f"there are more than {limits.MAX_BUNDLE_EDGE_TYPES:,} edge types")

    def _check_ends(self, frame: fr.EdgeFrame | fr.ProposalFrame) -> None:
        for lineage, ordinal, body in (
            (frame.source, frame.source_version, frame.source_body),
            (frame.target, frame.target_version, frame.target_body),
        ):
            is_open = self._group is not None and self._group.lineage == lineage
            self._references.check_version(lineage, ordinal, body, is_whole=not is_open)
        self._references.use_details(frame.details)
        self._references.require_commit(frame.seq)


_CHECKS: Final[dict[type[fr.Frame], Callable[[BundleCheck, Any], None]]] = {
    fr.Heading: BundleCheck.heading_frame,
    fr.CommitFrame: BundleCheck.commit,
    fr.BlobFrame: BundleCheck.blob,
    fr.ErasedFrame: BundleCheck.erased,
    fr.OutsideFrame: BundleCheck.outside,
    fr.WorldFrame: BundleCheck.world,
    fr.VersionFrame: BundleCheck.version,
    fr.AliasFrame: BundleCheck.alias,
    fr.RestatedFrame: BundleCheck.restated,
    fr.DeadlineFrame: BundleCheck.deadline,
    fr.LabelFrame: BundleCheck.label,
    fr.PinFrame: BundleCheck.pin,
    fr.TagFrame: BundleCheck.tag,
    fr.DeprecatedFrame: BundleCheck.deprecated,
    fr.TermsFrame: BundleCheck.terms,
    fr.StatedFrame: BundleCheck.stated,
    fr.EndedFrame: BundleCheck.ended,
    fr.VoidedFrame: BundleCheck.voided,
    fr.ProposalFrame: BundleCheck.proposal,
    fr.EdgeFrame: BundleCheck.edge,
    fr.EdgeTypeFrame: BundleCheck.edge_type,
    fr.RegistrationFrame: BundleCheck.registration,
    fr.TuningFrame: BundleCheck.tuning,
    fr.ProfileFrame: BundleCheck.profile,
    fr.BeliefFrame: BundleCheck.belief,
    fr.RetractedFrame: BundleCheck.retracted,
    fr.ProofFrame: BundleCheck.proof_frame,
    fr.EndFrame: BundleCheck.end,
}
