"""Read and write whole bundles; every frame is checked, in either direction.

:class:`Contents` holds a bundle in memory, its frames grouped by world, for imports and comparisons. Where a world
diverged in the two stores, :func:`split_divergent` moves the bundle's own versions to a world of their own, for joins.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from worlddb.log.model import blobs, checkpoint, codec, errors, hashing, ids, times
from worlddb.log.model import bundle as fr
from worlddb.log.model.bundle import AnyFrame, EndFrame
from worlddb.log.model.bundle_check import BundleCheck, check_against_head
from worlddb.log.store.bundle_file import BundleReader, BundleWriter, new_file, open_bundle


class Bundle(NamedTuple):
    """A checked bundle: its world, commit and store.

    ``hash`` stands for every byte before compression, ``world_hash`` for the world and everything in it. ``size`` is in
    bytes, before compression. Times are microseconds. ``proof_size`` is the number of commits of the head that its
    proof is for, 0 if it has no proof. ``edge_types`` are name, version and digest of the registered edge types that
    its edges were written by; ``registrations`` are type, world and whether it is functional of those that hold for its
    worlds; ``tunings`` are node type (empty: every one) and world of the thresholds that hold for its worlds,
    ``profiles`` name and world of those that close one, and ``beliefs`` are settings of beliefs, as what, name and how.
    No hash but the bundle's own covers any of them.
    """

    hash: str
    store_id: str
    seq: int
    ingested_at: int
    world: str
    world_hash: str
    worlds: int
    frames: int
    size: int
    proof_size: int
    edge_types: tuple[tuple[str, int, str], ...]
    registrations: tuple[tuple[str, str, bool], ...]
    tunings: tuple[tuple[str, str], ...]
    profiles: tuple[tuple[str, str], ...] = ()
    beliefs: tuple[tuple[str, str, str], ...] = ()


class CheckedFrames:
    """Iterates over the checked frames of an open bundle; only the last shows that none is missing."""

    def __init__(self, reader: BundleReader) -> None:
        self._reader = reader
        self._check = BundleCheck()

    def __iter__(self) -> Iterator[AnyFrame]:
        """The frames; raises ``InvalidBundle`` at the first that does not hold."""
        for frame in self._reader:
            try:
                self._check.check_frame(frame)
            except errors.InputError as error:
                raise self._reader.invalid(error.message) from None
            yield frame

    def bundle(self) -> Bundle:
        """Summarise the bundle, after reading and checking the frames that were not read yet."""
        if not self._check.done:
            for _ in self:
                pass
        return _bundle_of(self._check, self._reader)

    def require_head(self, head: checkpoint.Anchor) -> None:
        """See that a head stands for the bundle's world hash.

        Call it after :meth:`bundle`. See :func:`require_head`.
        """
        check_against_head(self._check.proof, head, self._reader.name)


@contextmanager
def open_checked_bundle(path: Path) -> Iterator[CheckedFrames]:
    """Open a bundle and check its frames while they are read, in memory that does not grow with the texts.

    Raises:
        InvalidBundle: a frame is invalid; the message names the frame and the reason. Also raised while reading.
        NewerFormat: a newer release made the bundle.
        InputError: there is no such file.
    """
    with open_bundle(path) as reader:
        yield CheckedFrames(reader)


def write_bundle(path: Path, frames: Iterable[AnyFrame], *, store: Path, overwrite: bool) -> Bundle:
    """Write frames and the ``end`` frame as a bundle; leave no file if a frame is invalid.

    Raises:
        InputError, UnavailableError: the file cannot be made; see :func:`new_file`.
        LimitExceeded: it would be larger than a bundle may be.
        DamagedStore: a frame is invalid, since the store that it was made from is damaged.
    """
    check = BundleCheck()
    with new_file(path, store=store, overwrite=overwrite) as out:
        writer = BundleWriter(out)
        try:
            for frame in frames:
                check.check_frame(frame)
                writer.write(frame)
            end = EndFrame(writer.frames, check.worlds)
            check.check_frame(end)
            writer.write(end)
        except errors.InvalidBundle as error:
            raise errors.DamagedStore(
                f"The store cannot be exported: {error.message}", "Run `worlddb verify --deep` to see what is damaged"
            ) from None
    return _bundle_of(check, writer)


def check_frames(frames: Iterable[AnyFrame]) -> int:
    """Check frames without an ``end`` frame as for a bundle, and write nothing. Return the number of worlds.

    Raises:
        DamagedStore: a frame is invalid, since the store that it was made from is damaged.
    """
    check, count = BundleCheck(), 0
    try:
        for frame in frames:
            check.check_frame(frame)
            count += 1
        check.check_frame(EndFrame(count, check.worlds))
    except errors.InvalidBundle as error:
        raise errors.DamagedStore(error.message, "Run `worlddb verify --deep` to see what is damaged") from None
    return check.worlds


def write_lines(path: Path, lines: Iterable[dict[str, Any]], *, store: Path, overwrite: bool) -> dict[str, Any]:
    """Write objects as JSON Lines, and return the fields of the first and the last, apart from their kinds.

    See :func:`new_file`.
    """
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    with new_file(path, store=store, overwrite=overwrite) as out:
        for last in lines:
            first = first or last
            out.write(msgspec.json.encode(last) + b"\n")
    return {name: value for name, value in (first | last).items() if name not in ("kind", "format")}


def _bundle_of(check: BundleCheck, file: BundleReader | BundleWriter) -> Bundle:
    heading = check.heading
    assert heading is not None, "a checked bundle has one"
    return Bundle(
        file.hash.hex(),
        heading.store_id.hex(),
        heading.seq,
        heading.ingest_time,
        heading.world.hex(),
        heading.world_hash.hex(),
        check.worlds,
        file.frames,
        file.size,
        0 if check.proof is None else check.proof.size,
        tuple((name, version, digest.hex()) for name, version, digest in check.edge_types),
        tuple((frame.type, world.hex(), frame.functional) for world, frame in check.registrations),
        tuple((frame.type, world.hex()) for world, frame in check.tunings),
        tuple((frame.profile, world.hex()) for world, frame in check.profiles),
        tuple((frame.what, frame.name, frame.how) for frame in check.beliefs),
    )


class BundledWorld(NamedTuple):
    """The group of one world, its frames by their kind.

    Edges and proposals are those whose home it is. ``own`` are the blobs that the group gives for itself alone, as a
    fork may lack a text of its origin.
    """

    frame: fr.WorldFrame
    versions: list[fr.VersionFrame]
    aliases: list[fr.AliasFrame]
    ended: list[fr.EndedFrame]
    voided: list[fr.VoidedFrame]
    proposals: list[fr.ProposalFrame]
    edges: list[fr.EdgeFrame]
    retracted: list[bytes]
    registrations: list[fr.RegistrationFrame]
    tunings: list[fr.TuningFrame]
    profiles: list[fr.ProfileFrame]
    beliefs: list[fr.BeliefFrame]
    restated: list[fr.RestatedFrame]
    deadlines: list[fr.DeadlineFrame]
    labels: list[fr.LabelFrame]
    pins: list[fr.PinFrame]
    tags: list[fr.TagFrame]
    deprecated: list[fr.DeprecatedFrame]
    terms: list[fr.TermsFrame]
    stated: list[fr.StatedFrame]
    own: dict[bytes, bytes | None]

    @classmethod
    def empty(cls, frame: fr.WorldFrame) -> "BundledWorld":
        """A group of which only the first frame was read."""
        return cls._make([frame, *([] for _ in cls._fields[1:-1]), {}])


class Contents(NamedTuple):
    """A bundle in memory. ``blobs`` are stored bytes by id, ``None`` where the text was erased.

    What a group has of a blob, :meth:`blob` tells.
    """

    heading: fr.Heading
    commits: dict[int, fr.CommitFrame]
    blobs: dict[bytes, bytes | None]
    outside: list[fr.OutsideFrame]
    worlds: list[BundledWorld]

    def blob(self, blob: bytes, world: BundledWorld) -> bytes | None:
        """The stored bytes of a blob in a group; ``None`` if they were erased there or are missing."""
        return world.own[blob] if blob in world.own else self.blobs.get(blob)


def read_contents(path: Path, head: checkpoint.Anchor | None = None) -> tuple[Bundle, Contents]:
    """Read a bundle and check all of it. With a ``head``, require that it stands for the bundle.

    Raises:
        InvalidBundle: a frame is invalid; the message names the frame and the reason.
        UnprovedBundle: the head does not stand for the bundle's world hash.
    """
    with open_checked_bundle(path) as frames:
        contents = collect_contents(frames)
        bundle = frames.bundle()
        if head is not None:
            frames.require_head(head)
        return bundle, contents


def collect_contents(frames: Iterable[fr.AnyFrame]) -> Contents:
    """Group the valid frames of one bundle by world; the ``end`` frame may be missing."""
    commits: dict[int, fr.CommitFrame] = {}
    texts: dict[bytes, bytes | None] = {}
    outside: list[fr.OutsideFrame] = []
    worlds: list[BundledWorld] = []
    heading: fr.Heading | None = None

    def given(blob: bytes, stored: bytes | None) -> None:
        texts.setdefault(blob, stored)
        if worlds and heading is not None and heading.format == fr.TWIN_FORMAT:
            worlds[-1].own[blob] = stored

    for frame in frames:
        match frame:
            case fr.Heading():
                heading = frame
            case fr.CommitFrame():
                commits[frame.seq] = frame
            case fr.BlobFrame():
                given(codec.named_id(frame.stored), frame.stored)
            case fr.ErasedFrame():
                given(frame.blob, None)
            case fr.OutsideFrame():
                outside.append(frame)
            case fr.WorldFrame():
                worlds.append(BundledWorld.empty(frame))
            case fr.RetractedFrame():
                worlds[-1].retracted.append(frame.edges)
            case _ if type(frame) in _OF_A_WORLD:
                getattr(worlds[-1], _OF_A_WORLD[type(frame)]).append(frame)
    assert heading is not None, "a bundle begins with one"
    return Contents(heading, commits, texts, outside, worlds)


_OF_A_WORLD: Final[dict[type[fr.AnyFrame], str]] = {
    fr.VersionFrame: "versions",
    fr.AliasFrame: "aliases",
    fr.RestatedFrame: "restated",
    fr.DeadlineFrame: "deadlines",
    fr.LabelFrame: "labels",
    fr.PinFrame: "pins",
    fr.TagFrame: "tags",
    fr.DeprecatedFrame: "deprecated",
    fr.TermsFrame: "terms",
    fr.StatedFrame: "stated",
    fr.EndedFrame: "ended",
    fr.VoidedFrame: "voided",
    fr.ProposalFrame: "proposals",
    fr.EdgeFrame: "edges",
    fr.RegistrationFrame: "registrations",
    fr.TuningFrame: "tunings",
    fr.ProfileFrame: "profiles",
    fr.BeliefFrame: "beliefs",
}
"""The lists of a :class:`BundledWorld` that frames go into as they are."""


# -- divergent worlds

_SAME_AS: Final = "same_as"
_CONTAINS: Final = "contains"
_CARRIED: Final = frozenset(
    (
        *("refers_to", "implies", "derived_from", "instance_of", "subtype_of", "causes", "precedes"),
        *("depends_on", "created_from", "supports", "refines", "relates_to"),
    )
)
"""Edge types that only record a relation: the divergent part of a world gets copies of these edges."""
_LAST: Final = 1 << 62
"""Stands for the newest version of a world."""
_F = TypeVar("_F", fr.EdgeFrame, fr.ProposalFrame)
_Hole = TypeVar("_Hole", fr.EndedFrame, fr.VoidedFrame)
_Mark = TypeVar("_Mark", fr.DeadlineFrame, fr.LabelFrame, fr.PinFrame, fr.DeprecatedFrame)
_By = TypeVar("_By", fr.VersionFrame, fr.EndedFrame, fr.VoidedFrame)


class Divergence(NamedTuple):
    """A world with different versions in two stores: the number of shared versions, and the worlds of the rest.

    ``theirs`` is the lineage for the bundle's own later versions, empty if there are none. ``ours`` is the lineage
    under which the bundle has the later versions of this store, empty if it has none.
    """

    common: int
    theirs: bytes
    ours: bytes


def divergent_lineage(lineage: bytes, body: bytes) -> bytes:
    """The lineage for the versions that another store added to a world: the same in every store that imports them."""
    return hashing.digest(hashing.APART, lineage, body)[: ids.LINEAGE_BYTES]


def split_divergent(
    contents: Contents, apart: Mapping[bytes, Divergence], marked: Mapping[bytes, BundledWorld]
) -> Contents:
    """Move the divergent versions in a bundle to worlds of their own, and rejoin those that this store wrote.

    ``apart`` and ``marked`` are by lineage; ``marked`` says whose marks a divergent world gets, if not its origin's. A
    divergent world begins at the first version that differs, and has the containers of its origin. Edges keep their
    nonces, so that one store recognises edges that the other renamed.
    """
    return _DivergenceSplit(contents, apart, marked).contents()


def list_uncarried(contents: Contents, lineage: bytes, told: Divergence) -> list[str]:
    """List in words what the divergent part of a world does not take over from it."""
    world = next(each for each in contents.worlds if each.frame.lineage == lineage)
    edges = [each for group in contents.worlds for each in group.edges]
    own = {each.type for each in edges if each.source == lineage and each.source_version <= told.common}
    to = {each.type for each in edges if each.target == lineage and each.target_version <= told.common}
    return [
        *(["aliases"] if world.aliases else []),
        *(["statements"] if world.stated else []),
        *(["members"] if _CONTAINS in own else []),
        *(f"{each} edges" for each in sorted(own - _CARRIED - {_CONTAINS})),
        *(f"{each} edges that lead to it" for each in sorted(to - own - {_CONTAINS})),
    ]


class _DivergenceSplit:
    def __init__(
        self, contents: Contents, apart: Mapping[bytes, Divergence], marked: Mapping[bytes, BundledWorld]
    ) -> None:
        self._contents, self._apart, self._marked = contents, apart, marked
        self._worlds = {world.frame.lineage: world for world in contents.worlds}
        self._diverged = {lineage for found, told in apart.items() for lineage in (found, told.theirs)}
        self._returned = {told.ours: (lineage, told.common) for lineage, told in apart.items() if told.ours}
        self._blobs = dict(contents.blobs)
        self._edge_keys = {
            (each.type, each.source, each.target, each.nonce) for world in contents.worlds for each in world.edges
        }

    def contents(self) -> Contents:
        worlds: list[BundledWorld] = []
        for world in self._contents.worlds:
            told = self._apart.get(world.frame.lineage)
            if world.frame.lineage in self._returned:
                continue
            if told is None:
                worlds.append(self._rename_edges(world))
                continue
            if told.theirs:
                worlds.append(self._divergent_part(world, told))
            worlds.append(self._rename_edges(self._common_part(world, told)))
        worlds = [self._rename_successors(world) for world in worlds] if self._returned else worlds
        return self._contents._replace(worlds=worlds, blobs=self._blobs)

    def _rename_successors(self, world: BundledWorld) -> BundledWorld:
        """Rename the successors of a world; of two divergent parts, one ends by the other, not by their origin."""
        is_rest = world.frame.lineage in self._diverged

        def told(frames: Sequence[_By]) -> list[_By]:
            return [
                msgspec.structs.replace(each, by=self._renamed_end(each.by, _LAST if is_rest else 1)[0])
                for each in frames
            ]

        return world._replace(versions=told(world.versions), ended=told(world.ended), voided=told(world.voided))

    def _renamed_end(self, lineage: bytes, version: int) -> tuple[bytes, int]:
        """Lineage and number of a version after the split."""
        found = self._returned.get(lineage)
        if found is not None:
            return found[0], version + found[1]
        told = self._apart.get(lineage)
        if told is not None and told.theirs and version > told.common:
            return told.theirs, version - told.common
        return lineage, version

    def _common_part(self, world: BundledWorld, divergence: Divergence) -> BundledWorld:
        """The shared versions of a world, and behind them those of this store, if the bundle has them."""
        common = divergence.common
        shared = _keep_versions(world, lambda after: after <= common)._replace(versions=world.versions[:common])
        own_world = self._worlds.get(divergence.ours)
        if own_world is None:
            return shared
        # The bundle ends versions that this store had already written anew when they got there.
        windows = [times.Interval(each.valid_from, each.born_to) for each in own_world.versions]
        shared = shared._replace(
            ended=[each for each in shared.ended if not any(window.end > each.at for window in windows)],
            voided=[
                each
                for each in shared.voided
                if not any(window.overlaps(times.Interval(each.valid_from, each.valid_to)) for window in windows)
            ],
        )
        first_term = sum(len(each.places) for each in shared.terms)
        shifted = _shift_versions(own_world, common)._replace(
            stated=[
                msgspec.structs.replace(each, quads=[part + first_term if part else 0 for part in each.quads])
                for each in own_world.stated
            ]
        )
        sides: Any = zip(shared[1:-1], shifted[1:-1], strict=True)
        joined = [[*one, *other] for one, other in sides]
        return BundledWorld._make([shared.frame, *joined, shifted.own | shared.own])

    def _divergent_part(self, world: BundledWorld, divergence: Divergence) -> BundledWorld:
        """The bundle's own later versions as a world, with their ends and every mark of their origin."""
        common = divergence.common
        rest = _shift_versions(_keep_versions(world, lambda after: after > common), -common)
        marked = self._marked.get(world.frame.lineage, world)
        frame = msgspec.structs.replace(world.frame, lineage=divergence.theirs)
        return BundledWorld.empty(frame)._replace(
            own=world.own,
            versions=world.versions[common:],
            ended=rest.ended,
            voided=rest.voided,
            restated=rest.restated,
            tags=rest.tags,
            deadlines=self._copy_marks(marked.deadlines, marked, divergence.theirs),
            labels=self._copy_marks(marked.labels, marked, divergence.theirs),
            pins=self._copy_marks(marked.pins, marked, divergence.theirs),
            deprecated=self._copy_marks(marked.deprecated, marked, divergence.theirs),
        )

    def _copy_marks(self, frames: Sequence[_Mark], marked: BundledWorld, rest: bytes) -> list[_Mark]:
        """Copy of a world marks to the divergent world, unless their texts were erased."""
        return [
            msgspec.structs.replace(each, details=self._copy_details(each.details, marked, rest))
            for each in frames
            if not each.details or self._contents.blob(each.details, marked) is not None
        ]

    def _copy_details(self, details: bytes, world: BundledWorld, rest: bytes) -> bytes:
        """Copy details to a blob of the divergent world, so that erasing one world leaves the other's.

        The copy has the same id each time. Empty if there are no details, or if they were erased.
        """
        stored = self._contents.blob(details, world) if details else None
        found = None if stored is None else codec.decode_blob(stored, 0)
        if not isinstance(found, blobs.Details):
            return b""
        nonce = hashing.digest(hashing.APART, rest, details)[: ids.NONCE_BYTES]
        made = codec.encode(msgspec.structs.replace(found, nonce=nonce))
        self._blobs[hashing.blob_id(made)] = made
        return hashing.blob_id(made)

    def _rename_edges(self, world: BundledWorld) -> BundledWorld:
        home = self._renamed_end(world.frame.lineage, 1)[0]
        edges = [made for edge in world.edges for made in self._split_edge(edge, world, home)]
        return world._replace(
            edges=edges, proposals=[self._rename_ends(_SAME_AS, each, home) for each in world.proposals]
        )

    def _split_edge(self, edge: fr.EdgeFrame, world: BundledWorld, home: bytes) -> list[fr.EdgeFrame]:
        renamed = self._rename_ends(edge.type, edge, home)
        # An edge between a world and its divergent part is void once they are joined, as is one that both have.
        is_double = edge.source in self._returned and edge.type in _CARRIED and self._has_original(renamed)
        made = [] if renamed.source == renamed.target != edge.target or is_double else [renamed]
        told = self._apart.get(edge.target)
        if edge.type == _CONTAINS and told is not None and told.theirs and edge.target_version <= told.common:
            body = self._worlds[edge.target].versions[told.common].body
            beside = msgspec.structs.replace(edge, target=told.theirs, target_version=1, target_body=body, keyed=False)
            made.append(_with_identity(edge.type, beside, home))
        told = self._apart.get(edge.source)
        if edge.type in _CARRIED and told is not None and told.theirs and edge.source_version <= told.common:
            made += self._carry_edge(edge, world, renamed, told, home)
        return made

    def _has_original(self, edge: fr.EdgeFrame) -> bool:
        """True if the bundle has the edge that this one was copied from."""
        return (edge.type, edge.source, edge.target, edge.nonce) in self._edge_keys

    def _carry_edge(
        self, edge: fr.EdgeFrame, world: BundledWorld, renamed: fr.EdgeFrame, told: Divergence, home: bytes
    ) -> list[fr.EdgeFrame]:
        """Copy an edge to the divergent world, if it holds while that world does."""
        rest = self._worlds[edge.source].versions[told.common :]
        held = times.Interval(edge.valid_from, edge.valid_to)
        holds = any(times.Interval(each.valid_from, each.valid_to).overlaps(held) for each in rest)
        if not holds or home in (edge.source, edge.target) or renamed.target == told.theirs:
            return []
        details = self._copy_details(edge.details, world, told.theirs)
        beside = msgspec.structs.replace(
            renamed, source=told.theirs, source_version=1, source_body=rest[0].body, details=details, keyed=False
        )
        return [_with_identity(edge.type, beside, home)]

    def _rename_ends(self, type_name: str, frame: _F, home: bytes) -> _F:
        ends = (
            self._renamed_end(frame.source, frame.source_version),
            self._renamed_end(frame.target, frame.target_version),
        )
        if ends == ((frame.source, frame.source_version), (frame.target, frame.target_version)):
            return frame
        (source, source_version), (target, target_version) = ends
        found = msgspec.structs.replace(
            frame, source=source, source_version=source_version, target=target, target_version=target_version
        )
        return _with_identity(type_name, found, home)


def _with_identity(type_name: str, frame: _F, home: bytes) -> _F:
    ends = frame.source, frame.source_body, frame.target, frame.target_body
    made = hashing.edge_id(type_name, *ends, home, frame.valid_from, frame.details, frame.nonce)
    if isinstance(frame, fr.EdgeFrame):
        return msgspec.structs.replace(frame, edge=made, keyed=False)
    return msgspec.structs.replace(frame, proposal=made)


def _keep_versions(world: BundledWorld, is_kept: Callable[[int], bool]) -> BundledWorld:
    """A world with only the facts about the versions whose numbers pass ``is_kept``."""
    count = len(world.versions)
    ended = [msgspec.structs.replace(each, after=each.after or count) for each in world.ended]
    voided = [msgspec.structs.replace(each, after=each.after or count) for each in world.voided]
    return world._replace(
        ended=[each for each in ended if is_kept(each.after)],
        voided=[each for each in voided if is_kept(each.after)],
        restated=[each for each in world.restated if is_kept(each.version)],
        tags=[each for each in world.tags if is_kept(each.number)],
    )


def _shift_versions(world: BundledWorld, by: int) -> BundledWorld:
    """A world whose version numbers are shifted by ``by``."""
    count = len(world.versions)

    def after(frames: Sequence[_Hole]) -> list[_Hole]:
        return [msgspec.structs.replace(each, after=(each.after or count) + by) for each in frames]

    return world._replace(
        ended=after(world.ended),
        voided=after(world.voided),
        restated=[msgspec.structs.replace(each, version=each.version + by) for each in world.restated],
        tags=[msgspec.structs.replace(each, number=each.number + by) for each in world.tags],
    )
