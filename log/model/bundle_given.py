"""What a bundle has given so far, and whether what it names has been given: commits, blobs, and versions of worlds."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from worlddb.log.model.bundle_values import BODY, ERASED, check_size, refuse
from worlddb.log.model.ids import LINEAGE_BYTES, short


class Given:
    """Ids alone: of a blob its kind, of a world the bodies of its versions; never a text."""

    def __init__(self) -> None:
        self._commits: set[int] = set()
        self._blobs: dict[bytes, int] = {}
        self._unused: set[bytes] = set()
        self._versions: dict[bytes, list[bytes]] = {}
        self._unnamed: set[bytes] = set()
        self._awaited: dict[bytes, dict[int, bytes]] = {}

    # -- commits and blobs

    def add_commit(self, seq: int) -> None:
        """A commit, which none was given of before."""
        if seq in self._commits:
            refuse(f"commit {seq} is given twice")
        self._commits.add(seq)

    def commit(self, seq: int) -> None:
        """Something names a commit."""
        if seq not in self._commits:
            refuse(f"the commit {seq} is missing")

    def add_blob(self, blob: bytes, kind: int) -> None:
        """A blob, whose kind is as :func:`blob_kind` has it."""
        if blob in self._blobs:
            refuse(f"the blob {short(blob)} is given twice")
        self._blobs[blob] = kind
        self._unused.add(blob)

    def body(self, blob: bytes) -> None:
        """Something names a blob as a body."""
        kind = self._named(blob)
        if kind not in (BODY, ERASED):
            refuse(f"the blob {short(blob)} is of another kind than it is named as")
        self._unused.discard(blob)

    def details(self, blob: bytes) -> None:
        """Something names a blob as details, or nothing if it is empty."""
        if not blob:
            return
        if self._named(blob) == BODY:
            refuse(f"the blob {short(blob)} is of another kind than it is named as")
        self._unused.discard(blob)

    def aliases_in(self, details: bytes) -> int:
        """How many aliases a blob of details holds; what is not there, or erased, holds none."""
        return self._blobs.get(details, ERASED)

    def _named(self, blob: bytes) -> int:
        kind = self._blobs.get(blob)
        if kind is None:
            refuse(f"the blob {short(blob)} is missing")
        return kind

    # -- worlds and their versions

    def add_world(self, lineage: bytes) -> None:
        """A world, which none was given of before."""
        check_size(lineage, LINEAGE_BYTES, "a world's id")
        if lineage in self._versions:
            refuse(f"the world {short(lineage)} is given twice")
        self._versions[lineage] = []

    def add_outside(self, lineage: bytes, bodies: list[bytes]) -> None:
        """A world outside of the bundle, with all of its versions that are named; some edge has to lead there."""
        self._versions[lineage] = bodies
        self._unnamed.add(lineage)

    def add_version(self, lineage: bytes, body: bytes) -> None:
        """The next version of a world."""
        self._versions[lineage].append(body)

    def newest(self, lineage: bytes) -> bytes:
        """The body of the newest version of a world, of which there will be no more."""
        versions = self._versions[lineage]
        if not versions:
            refuse(f"the world {short(lineage)} has no version")
        for ordinal, body in self._awaited.pop(lineage, {}).items():
            self._is_version(lineage, ordinal, body)
        return versions[-1]

    def version(self, lineage: bytes, ordinal: int, body: bytes, *, is_whole: bool) -> None:
        """An edge names a version of a world. Unless that is whole, it is held against it when it is."""
        self._unnamed.discard(lineage)
        if lineage in self._versions and is_whole:
            self._is_version(lineage, ordinal, body)
        elif self._awaited.setdefault(lineage, {}).setdefault(ordinal, body) != body:
            refuse(f"two edges name different versions {ordinal} of {short(lineage)}")

    def _is_version(self, lineage: bytes, ordinal: int, body: bytes) -> None:
        versions = self._versions[lineage]
        if ordinal > len(versions) or versions[ordinal - 1] != body:
            refuse(f"an edge names {short(body)} as version {ordinal} of {short(lineage)}, which it is not")

    # -- at the end

    def left_over(self) -> Iterator[tuple[str, Collection[bytes]]]:
        """What was given and never named, or named and never given, with what is wrong about it."""
        yield "lies outside, and no edge leads there", self._unnamed
        yield "is neither in the bundle nor listed as outside, and an edge names it", self._awaited.keys()
        yield "is a blob that nothing names", self._unused
