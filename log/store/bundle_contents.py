"""Read and write whole bundles; every frame is checked on its way, in either direction.

All of a bundle in memory, its frames by the world that they are said of: for whoever decides or compares.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from worlddb.log.model import bundle as fr
from worlddb.log.model import checkpoint, codec, errors
from worlddb.log.model.bundle import AnyFrame, EndFrame
from worlddb.log.model.bundle_check import BundleCheck, hold_against
from worlddb.log.store.bundle_file import BundleReader, BundleWriter, new_file, open_bundle


class Bundle(NamedTuple):
    """A checked bundle: which world, as of which commit, of which store.

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
    """The checked frames of an open bundle; only the end shows that none is missing."""

    def __init__(self, reader: BundleReader) -> None:
        self._reader = reader
        self._check = BundleCheck()

    def __iter__(self) -> Iterator[AnyFrame]:
        """The frames; raises ``InvalidBundle`` at the first that does not hold."""
        for frame in self._reader:
            try:
                self._check.take(frame)
            except errors.InputError as error:
                raise self._reader.failed(error.message) from None
            yield frame

    def bundle(self) -> Bundle:
        """What the bundle states. Frames that were not asked for are read and checked first."""
        if not self._check.done:
            for _ in self:
                pass
        return _told(self._check, self._reader)

    def hold_against(self, head: checkpoint.Anchor) -> None:
        """See that a head stands for the bundle's world hash.

        Call it after :meth:`bundle`. See :func:`hold_against`.
        """
        hold_against(self._check.proof, head, self._reader.name)


@contextmanager
def reading(path: Path) -> Iterator[CheckedFrames]:
    """Open a bundle and check its frames while they are read.

    The memory that this takes does not grow with the bundle's texts.

    Raises:
        InvalidBundle: it does not hold; which frame, and why. Also later, from any frame.
        NewerFormat: it was made by a newer release.
        InputError: there is no such file.
    """
    with open_bundle(path) as reader:
        yield CheckedFrames(reader)


def write_bundle(path: Path, frames: Iterable[AnyFrame], *, store: Path, overwrite: bool) -> Bundle:
    """Write frames and the ``end`` frame as a bundle; nothing stays behind if they do not hold.

    Raises:
        InputError, UnavailableError: the file cannot be made; see :func:`new_file`.
        LimitExceeded: it would be larger than a bundle may be.
        DamagedStore: the frames do not hold: what they were made from is damaged.
    """
    check = BundleCheck()
    with new_file(path, store=store, overwrite=overwrite) as out:
        writer = BundleWriter(out)
        try:
            for frame in frames:
                check.take(frame)
                writer.write(frame)
            end = EndFrame(writer.frames, check.worlds)
            check.take(end)
            writer.write(end)
        except errors.InvalidBundle as error:
            raise errors.DamagedStore(
                f"The store cannot be exported: {error.message}", "Run `worlddb verify --deep` to see what is damaged"
            ) from None
    return _told(check, writer)


def check_frames(frames: Iterable[AnyFrame]) -> int:
    """Check frames without an ``end`` frame as for a bundle, and write nothing.

    Gives how many worlds they are of.

    Raises:
        DamagedStore: they do not: what they were made from is damaged.
    """
    check, count = BundleCheck(), 0
    try:
        for frame in frames:
            check.take(frame)
            count += 1
        check.take(EndFrame(count, check.worlds))
    except errors.InvalidBundle as error:
        raise errors.DamagedStore(error.message, "Run `worlddb verify --deep` to see what is damaged") from None
    return check.worlds


def write_lines(path: Path, lines: Iterable[dict[str, Any]], *, store: Path, overwrite: bool) -> dict[str, Any]:
    """Write objects as JSON Lines.

    Gives what the first and the last say, apart from their kinds. See :func:`new_file`.
    """
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    with new_file(path, store=store, overwrite=overwrite) as out:
        for last in lines:
            first = first or last
            out.write(msgspec.json.encode(last) + b"\n")
    return {name: value for name, value in (first | last).items() if name not in ("kind", "format")}


def _told(check: BundleCheck, file: BundleReader | BundleWriter) -> Bundle:
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

    Edges and proposals are those whose home it is.
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


class Contents(NamedTuple):
    """A bundle in memory. ``blobs`` are stored bytes by id, ``None`` where the text was erased."""

    heading: fr.Heading
    commits: dict[int, fr.CommitFrame]
    blobs: dict[bytes, bytes | None]
    outside: list[fr.OutsideFrame]
    worlds: list[BundledWorld]


def read_contents(path: Path, head: checkpoint.Anchor | None = None) -> tuple[Bundle, Contents]:
    """Read a bundle and check all of it: what it states, and what it holds.

    With a ``head``, see that it stands for it.

    Raises:
        InvalidBundle: it does not hold; which frame, and why.
        UnprovedBundle: the head does not stand for the bundle's world hash.
    """
    with reading(path) as frames:
        contents = gathered(frames)
        bundle = frames.bundle()
        if head is not None:
            frames.hold_against(head)
        return bundle, contents


def gathered(frames: Iterable[fr.AnyFrame]) -> Contents:
    """The frames of one bundle, which hold; the ``end`` frame may be missing."""
    commits: dict[int, fr.CommitFrame] = {}
    blobs: dict[bytes, bytes | None] = {}
    outside: list[fr.OutsideFrame] = []
    worlds: list[BundledWorld] = []
    heading: fr.Heading | None = None
    for frame in frames:
        match frame:
            case fr.Heading():
                heading = frame
            case fr.CommitFrame():
                commits[frame.seq] = frame
            case fr.BlobFrame():
                blobs[codec.named_id(frame.stored)] = frame.stored
            case fr.ErasedFrame():
                blobs[frame.blob] = None
            case fr.OutsideFrame():
                outside.append(frame)
            case fr.WorldFrame():
                worlds.append(BundledWorld(frame, *([] for _ in BundledWorld._fields[1:])))
            case fr.VersionFrame():
                worlds[-1].versions.append(frame)
            case fr.AliasFrame():
                worlds[-1].aliases.append(frame)
            case fr.RestatedFrame():
                worlds[-1].restated.append(frame)
            case fr.DeadlineFrame():
                worlds[-1].deadlines.append(frame)
            case fr.LabelFrame():
                worlds[-1].labels.append(frame)
            case fr.PinFrame():
                worlds[-1].pins.append(frame)
            case fr.TagFrame():
                worlds[-1].tags.append(frame)
            case fr.DeprecatedFrame():
                worlds[-1].deprecated.append(frame)
            case fr.TermsFrame():
                worlds[-1].terms.append(frame)
            case fr.StatedFrame():
                worlds[-1].stated.append(frame)
            case fr.EndedFrame():
                worlds[-1].ended.append(frame)
            case fr.VoidedFrame():
                worlds[-1].voided.append(frame)
            case fr.ProposalFrame():
                worlds[-1].proposals.append(frame)
            case fr.EdgeFrame():
                worlds[-1].edges.append(frame)
            case fr.RegistrationFrame():
                worlds[-1].registrations.append(frame)
            case fr.TuningFrame():
                worlds[-1].tunings.append(frame)
            case fr.ProfileFrame():
                worlds[-1].profiles.append(frame)
            case fr.BeliefFrame():
                worlds[-1].beliefs.append(frame)
            case fr.RetractedFrame():
                worlds[-1].retracted.append(frame.edges)
            case _:
                pass
    assert heading is not None, "a bundle begins with one"
    return Contents(heading, commits, blobs, outside, worlds)
