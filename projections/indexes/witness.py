"""Witnesses of index files: their hashes when an index was last written, sealed under the store's secret.

Searches trust an index: nothing in it is compared with the log at query time. A witness lists the files by their BLAKE3
hashes and is sealed with a keyed hash, so that a party that can write only to the index cannot forge one. Verification
checks it, and so do writers of an index, so that nothing is built on altered files; a search does not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from blake3 import blake3

from worlddb.log.model import errors, hashing
from worlddb.projections.tables.apply.log_marks import secret_of

if TYPE_CHECKING:
    from worlddb.log.store.log import LmdbLog

NO_SECRET: Final = bytes(32)
"""Seals indexes that belong to no store, or to a store that has lost its secret."""
TEXT: Final = "text"
VECTORS: Final = "vectors"
COMPOSED: Final = "composed"
WORLD: Final = "world"
SUMMARIES: Final = "summaries"

_BESIDE: Final = ".witness"
_META: Final = "meta.json"
_CHUNK: Final = 1 << 20

Digests = Mapping[str, bytes]
"""The hash of each file, by its name."""
Looks = tuple[int, int, int, int]


def digest_of(file: Path) -> bytes:
    """The hash of a file's bytes."""
    found = blake3()
    with file.open("rb") as opened:
        while part := opened.read(_CHUNK):
            found.update(part)
    return found.digest()


def seal(secret: bytes, kind: str, digests: Digests) -> bytes:
    """The keyed hash over an index's kind, and the names and hashes of its files."""
    fields = [part for name in sorted(digests) for part in (name.encode(), digests[name])]
    return hashing.keyed(secret, hashing.INDEX, kind.encode(), *fields)


_SEAL_BYTES: Final = 32


def seal_bytes(secret: bytes, kind: str, told: bytes) -> bytes:
    """The contents of a single-file index with a seal in front."""
    return seal(secret, kind, {"told": blake3(told).digest()}) + told


def unseal_bytes(secret: bytes, kind: str, stored: bytes) -> bytes | None:
    """The contents of a sealed file; ``None`` if its seal under the secret is wrong."""
    told = stored[_SEAL_BYTES:]
    return told if stored == seal_bytes(secret, kind, told) else None


def secret_in(log: LmdbLog) -> bytes:
    """The secret that seals a store's indexes; if it is missing, :data:`NO_SECRET`."""
    try:
        return secret_of(log)
    except errors.DamagedStore:
        return NO_SECRET


class SegmentWitness:
    """The witness file beside a Tantivy index.

    ``marks`` are names of further files that belong to the index and may be missing. The hash of a file is cached until
    its inode, size or times change.
    """

    def __init__(self, folder: Path, secret: bytes, marks: Collection[str] = ()) -> None:
        self._folder = folder
        self._secret = secret
        self._marks = marks
        self._seen: dict[str, tuple[Looks, bytes]] = {}

    def fits(self) -> bool:
        """True if the index is as it was when the witness was written."""
        digests = self._sealed()
        try:
            return digests is not None and digests == {name: self._digest(name) for name in self._names()}
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def write(self) -> None:
        """Write the witness just after the index was written; no other process may be writing the index.

        Segments never change, so the hashes in the last witness are reused. If the witness cannot be written, checks
        compare the index with the log.
        """
        with suppress(OSError, ValueError, KeyError, TypeError):
            known = self._sealed() or {}
            for name in (_META, *self._marks):
                known.pop(name, None)
            digests = {name: known.get(name) or self._digest(name) for name in self._names()}
            aside = self._folder / f"{_BESIDE}.new"
            aside.write_bytes(msgspec.msgpack.encode((digests, seal(self._secret, TEXT, digests))))
            aside.replace(self._folder / _BESIDE)

    def _sealed(self) -> dict[str, bytes] | None:
        """Read the witness; ``None`` unless it is sealed under the secret."""
        with suppress(OSError, msgspec.MsgspecError):
            stored = (self._folder / _BESIDE).read_bytes()
            digests, found = msgspec.msgpack.decode(stored, type=tuple[dict[str, bytes], bytes])
            if found == seal(self._secret, TEXT, digests):
                return digests
        return None

    def _digest(self, name: str) -> bytes:
        looks = os.stat(self._folder / name)
        now = looks.st_ino, looks.st_size, looks.st_mtime_ns, looks.st_ctime_ns
        seen = self._seen.get(name)
        if seen is None or seen[0] != now:
            seen = self._seen[name] = now, digest_of(self._folder / name)
        return seen[1]

    def _names(self) -> list[str]:
        """Tantivy's list of segments, the files of those that it names, and the marks that are there."""
        told = json.loads((self._folder / _META).read_bytes())
        live = {segment["segment_id"].replace("-", "") for segment in told["segments"]}
        there = [file.name for file in self._folder.iterdir()]
        segments = sorted(name for name in there if name.partition(".")[0] in live)
        return [_META, *segments, *(name for name in self._marks if name in there)]
