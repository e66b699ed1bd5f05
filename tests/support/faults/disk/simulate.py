"""Simulate a disk after part of a trace, and its contents after a power failure.

The rules are the strictest that POSIX allows a file system. Bytes are there for certain once their file was synced, or
when they were written through; of others any part may be there, in pieces of a page or of a sector, in any order, and
the file may have its new length all the same. Names are there for certain once their folder was synced; of what was
done to a folder's names since, a beginning may be there. A sector is written whole or not at all.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tests.support.faults.disk.trace import Kind, Operation

PAGE_BYTES, SECTOR_BYTES = 4096, 512


class Piece(NamedTuple):
    """A change of a file: bytes at an offset, or a length; ``certain`` if written through."""

    offset: int
    data: bytes | None
    certain: bool = False


@dataclass(eq=False)
class File:
    """A file's synced bytes, and its later changes."""

    synced: bytearray = field(default_factory=bytearray)
    since: list[Piece] = field(default_factory=list)

    def sync(self) -> None:
        for piece in self.since:
            _apply(self.synced, piece)
        self.since.clear()


Change = list[tuple[str, "File | Folder | None"]]
"""Names of a folder that change at once; ``None`` is nothing any more."""


@dataclass(eq=False)
class Folder:
    """A folder's synced names, and its later changes."""

    synced: dict[str, File | Folder] = field(default_factory=dict)
    since: list[Change] = field(default_factory=list)

    def names(self, first: int | None = None) -> dict[str, File | Folder]:
        """The names with the first so many changes since, or with all."""
        found = dict(self.synced)
        for change in self.since[:first]:
            for name, there in change:
                found.pop(name, None)
                if there is not None:
                    found[name] = there
        return found

    def sync(self) -> None:
        self.synced = self.names()
        self.since.clear()


class Disk:
    """All operations so far, and which of them are synced."""

    def __init__(self) -> None:
        self.root = Folder()
        self._open: dict[int, File] = {}

    def do(self, operation: Operation) -> None:
        """Apply one more operation."""
        kind = operation.kind
        if kind is Kind.CREATE:
            self._open[operation.file] = file = File()
            self._change(operation.path, file)
        elif kind is Kind.MKDIR:
            self._change(operation.path, Folder())
        elif kind in (Kind.UNLINK, Kind.RMDIR):
            self._change(operation.path, None)
        elif kind is Kind.LINK:
            self._change(operation.other, self._at(operation.path))
        elif kind is Kind.RENAME:
            self._rename(operation.path, operation.other)
        elif kind is Kind.SYNC_FOLDER:
            folder = self._at(operation.path)
            assert isinstance(folder, Folder)
            folder.sync()
        elif operation.file in self._open:
            file = self._open[operation.file]
            if kind is Kind.SYNC:
                file.sync()
            elif kind is Kind.LENGTH:
                file.since.append(Piece(operation.offset, None))
            else:
                file.since.append(Piece(operation.offset, operation.data, kind is Kind.WRITE_THROUGH))

    def write_out(self, into: Path, chance: Survival) -> None:
        """Write one possible state of the files."""
        self._write_out(self.root, into, chance)

    def _write_out(self, folder: Folder, into: Path, chance: Survival) -> None:
        into.mkdir()
        for name, there in folder.names(chance.how_many(len(folder.since))).items():
            if isinstance(there, Folder):
                self._write_out(there, into / name, chance)
            else:
                (into / name).write_bytes(chance.content(there))

    def _change(self, path: str, there: File | Folder | None) -> None:
        parent, name = self._parent(path)
        parent.since.append([(name, there)])

    def _rename(self, old: str, new: str) -> None:
        (source, old_name), (target, new_name) = self._parent(old), self._parent(new)
        moved = self._at(old)
        if source is target:
            source.since.append([(old_name, None), (new_name, moved)])
        else:
            target.since.append([(new_name, moved)])
            source.since.append([(old_name, None)])

    def _parent(self, path: str) -> tuple[Folder, str]:
        pure = PurePosixPath(path)
        parent = self._at(str(pure.parent))
        assert isinstance(parent, Folder)
        return parent, pure.name

    def _at(self, path: str) -> File | Folder:
        found: File | Folder = self.root
        for part in PurePosixPath(path).parts:
            assert isinstance(found, Folder)
            found = found.names()[part]
        return found


class Survival:
    """Decides what uncertain data survives. This one keeps all of it, as a kill does."""

    def how_many(self, changes: int) -> int:
        """How many of a folder's changes are there."""
        return changes

    def content(self, file: File) -> bytes:
        """A file's bytes."""
        found = bytearray(file.synced)
        for piece in file.since:
            _apply(found, piece)
        return bytes(found)


class NothingSurvives(Survival):
    """Only synced data survives."""

    def how_many(self, changes: int) -> int:
        return 0

    def content(self, file: File) -> bytes:
        found = bytearray(file.synced)
        for piece in file.since:
            if piece.certain:
                _apply(found, piece)
        return bytes(found)


class SomeSurvives(Survival):
    """Parts of each page or sector survive, by a share drawn for every crash."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._share = rng.choice((0.1, 0.5, 0.9))
        self._unit = rng.choice((PAGE_BYTES, SECTOR_BYTES))
        self._lengths = rng.random() < 0.5

    def how_many(self, changes: int) -> int:
        return self._rng.randint(0, changes)

    def content(self, file: File) -> bytes:
        found = bytearray(file.synced)
        for piece in file.since:
            if piece.certain or piece.data is None:
                if piece.certain or self._rng.random() < self._share:
                    _apply(found, piece)
                continue
            for part in _parts(piece.offset, piece.data, self._unit):
                if self._rng.random() < self._share:
                    _apply(found, part)
            if self._lengths:
                found.extend(bytes(max(0, piece.offset + len(piece.data) - len(found))))
        return bytes(found)


def _parts(offset: int, data: bytes, unit: int) -> list[Piece]:
    """A write, divided into the pieces that a disk writes."""
    parts: list[Piece] = []
    at = 0
    while at < len(data):
        count = unit - (offset + at) % unit
        parts.append(Piece(offset + at, data[at : at + count]))
        at += count
    return parts


def _apply(content: bytearray, piece: Piece) -> None:
    if piece.data is None:
        del content[piece.offset :]
        content.extend(bytes(piece.offset - len(content)))
        return
    content.extend(bytes(max(0, piece.offset - len(content))))
    content[piece.offset : piece.offset + len(piece.data)] = piece.data


def replay_operations(operations: Sequence[Operation]) -> Disk:
    """Make a disk by replaying these operations."""
    disk = Disk()
    for operation in operations:
        disk.do(operation)
    return disk
