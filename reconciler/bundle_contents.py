"""A bundle in memory, checked: what an import decides about. Read before the store is locked, and never changed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from worlddb.log.model import bundle as fr
from worlddb.log.model.hashing import blob_id
from worlddb.log.store.bundles import Bundle, reading
from worlddb.reconciler.commands import Import


class IncomingWorld(NamedTuple):
    """The group of one world, its frames by their kind; edges and proposals are those whose home it is."""

    frame: fr.WorldFrame
    versions: list[fr.VersionFrame]
    aliases: list[fr.AliasFrame]
    ended: list[fr.EndedFrame]
    proposals: list[fr.ProposalFrame]
    edges: list[fr.EdgeFrame]
    retracted: list[bytes]


class Contents(NamedTuple):
    """All of a bundle. ``blobs`` are stored bytes by id, ``None`` where the text was erased."""

    bundle: Bundle
    heading: fr.Heading
    commits: dict[int, fr.CommitFrame]
    blobs: dict[bytes, bytes | None]
    outside: list[fr.OutsideFrame]
    worlds: list[IncomingWorld]


def read_contents(path: Path) -> Contents:
    """Read a bundle and check all of it.

    Raises:
        InvalidBundle: it does not hold; which frame, and why.
    """
    commits: dict[int, fr.CommitFrame] = {}
    blobs: dict[bytes, bytes | None] = {}
    outside: list[fr.OutsideFrame] = []
    worlds: list[IncomingWorld] = []
    heading: fr.Heading | None = None
    with reading(path) as frames:
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
                    worlds.append(IncomingWorld(frame, [], [], [], [], [], []))
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
                case fr.RetractedFrame():
                    worlds[-1].retracted.append(frame.edges)
                case _:
                    pass
        bundle = frames.bundle()
    assert heading is not None, "a checked bundle has one"
    return Contents(bundle, heading, commits, blobs, outside, worlds)


class Arrival(NamedTuple):
    """A request to import: the command, and the bundle that it names by hash."""

    command: Import
    contents: Contents
