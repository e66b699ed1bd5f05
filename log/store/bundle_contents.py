"""All of a bundle in memory, its frames by the world that they are said of: for whoever decides or compares."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from worlddb.log.model import bundle as fr
from worlddb.log.model.checkpoint import Anchor
from worlddb.log.model.hashing import blob_id
from worlddb.log.store.bundles import Bundle, reading


class BundledWorld(NamedTuple):
    """The group of one world, its frames by their kind; edges and proposals are those whose home it is."""

    frame: fr.WorldFrame
    versions: list[fr.VersionFrame]
    aliases: list[fr.AliasFrame]
    ended: list[fr.EndedFrame]
    proposals: list[fr.ProposalFrame]
    edges: list[fr.EdgeFrame]
    retracted: list[bytes]
    registrations: list[fr.RegistrationFrame]
    tunings: list[fr.TuningFrame]


class Contents(NamedTuple):
    """What the frames of a bundle hold. ``blobs`` are stored bytes by id, ``None`` where the text was erased."""

    heading: fr.Heading
    commits: dict[int, fr.CommitFrame]
    blobs: dict[bytes, bytes | None]
    outside: list[fr.OutsideFrame]
    worlds: list[BundledWorld]


def read_contents(path: Path, head: Anchor | None = None) -> tuple[Bundle, Contents]:
    """Read a bundle and check all of it: what it states, and what it holds. With a ``head``, see that it stands for it.

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
                blobs[blob_id(frame.stored)] = frame.stored
            case fr.ErasedFrame():
                blobs[frame.blob] = None
            case fr.OutsideFrame():
                outside.append(frame)
            case fr.WorldFrame():
                worlds.append(BundledWorld(frame, [], [], [], [], [], [], [], []))
            case fr.VersionFrame():
                worlds[-1].versions.append(frame)
            case fr.AliasFrame():
                worlds[-1].aliases.append(frame)
            case fr.EndedFrame():
                worlds[-1].ended.append(frame)
            case fr.ProposalFrame():
                worlds[-1].proposals.append(frame)
            case fr.EdgeFrame():
                worlds[-1].edges.append(frame)
            case fr.RegistrationFrame():
                worlds[-1].registrations.append(frame)
            case fr.TuningFrame():
                worlds[-1].tunings.append(frame)
            case fr.RetractedFrame():
                worlds[-1].retracted.append(frame.edges)
            case _:
                pass
    assert heading is not None, "a bundle begins with one"
    return Contents(heading, commits, blobs, outside, worlds)
