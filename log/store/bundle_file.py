"""Bundles as files: a magic line, then frames.

Each frame has its length in front and its hash behind.

    magic   "worlddb-bundle 1\\n"
    frame   length of payload u32 | payload | hash 32

A frame's hash is ``H("worlddb/bundle/1", hash of the frame before, payload)``, with 32 zero bytes before the first, so
the last hash stands for the whole file: it is the bundle's hash. A file whose name ends in ``.zst`` is that stream as
one zstd frame. Reading holds one frame at a time, and what it asks of a decompressor is bounded.
"""

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from worlddb.log.model import bundle, codec, errors, hashing, ids, limits
from worlddb.log.store import durable, scratch

PACKED_SUFFIX: Final = ".zst"
_PACKED_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_MAX_WINDOW_BYTES: Final = 128 * 1024 * 1024
_LEVEL: Final = 9
_LENGTH = struct.Struct(">I")
_DATA_FILE: Final = "data.mdb"
_LMDB_MAGIC: Final = struct.pack("=I", 0xBEEFC0DE)
_LMDB_HEAD_BYTES: Final = 20
"""It stands first in a lock file, and after the 16 bytes of a page's head in a data file."""
_AGAIN: Final = "Export it, or fetch it, again"


@contextmanager
def new_file(path: Path, *, store: Path, overwrite: bool) -> Iterator[BinaryIO]:
    """Write a new file that appears whole, or not at all.

    After the block the file is whole and on the disk; if the block raises, there is none. The next opening of the store
    in the directory ``store`` removes what a killed process left. A name that ends in ``.zst`` is written compressed.

    Raises:
        InputError: the name is taken, its directory does not exist, or the file to replace is part of a store.
        UnavailableError: the file cannot be written there. ``DiskFull`` names the disk without room: its own, or that
            of the store, which notes the file while it is written.
    """
    if overwrite and path.is_file() and _belongs_to_store(path):
        raise errors.InputError(f"{str(path)!r:.200} lies in a store", "Choose a path outside every store")
    if path.exists() and not (overwrite and path.is_file()):
        raise _name_taken(path)
    try:
        with scratch.unfinished_file(store, path) as unfinished:
            if path.suffix == PACKED_SUFFIX:
                import zstandard

                packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
                with packer.stream_writer(unfinished, closefd=False) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield cast(BinaryIO, unfinished)
            unfinished.flush()
            os.fsync(unfinished.fileno())
            if overwrite:
                os.replace(unfinished.name, path)
            else:
                _publish(unfinished.name, path)
    except FileExistsError:
        raise _name_taken(path) from None
    except (FileNotFoundError, NotADirectoryError):
        raise errors.InputError(
            f"The directory of {str(path)!r:.200} does not exist", "Create the directory first"
        ) from None
    except OSError as error:
        told = f"{str(path)!r:.200} cannot be written: {error}"
        raise durable.system_error(error, path.parent, told, "Check the path and the space") from error


def _name_taken(path: Path) -> errors.InputError:
    return errors.InputError(f"{str(path)!r:.200} exists already", "Choose another name, or replace it with overwrite")


def _publish(unfinished: str, path: Path) -> None:
    """Give a finished file its name, which nothing may have, also if another export took it a moment ago."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:
        # The file system knows no second name for a file. A kill between the two steps leaves an empty file.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        os.replace(unfinished, path)


def _belongs_to_store(path: Path) -> bool:
    """True for an LMDB file of any name, and for any file in a store's directory, also through links."""
    try:
        with path.open("rb") as file:
            if _LMDB_MAGIC in file.read(_LMDB_HEAD_BYTES):
                return True
        places = (Path(os.path.abspath(path)), path.resolve())
        return any((parent / _DATA_FILE).exists() for place in places for parent in place.parents)
    except (OSError, RuntimeError) as error:
        raise errors.UnavailableError(
            f"{str(path)!r:.200} cannot be read, so it is not replaced: {error}", "Choose another name"
        ) from error


class BundleWriter:
    """Writes frames one after the other; ``hash`` covers all of them."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.hash = hashing.GENESIS
        self.frames = 0
        self.size = len(bundle.MAGIC)

    def write(self, frame: bundle.AnyFrame) -> None:
        """Append a frame.

        Raises:
            LimitExceeded: the bundle would be larger than a bundle may be.
        """
        if not self.frames:
            version = frame.format if type(frame) is bundle.Heading else bundle.BUNDLE_FORMAT
            self._out.write(bundle.MAGICS.get(version, bundle.MAGIC))
        payload = codec.encode(frame)
        self.hash = hashing.digest(hashing.BUNDLE, self.hash, payload)
        self.frames += 1
        self.size += _LENGTH.size + len(payload) + ids.HASH_BYTES
        if self.frames > limits.MAX_BUNDLE_FRAMES or self.size > limits.MAX_BUNDLE_BYTES:
            raise errors.LimitExceeded(
                f"The bundle would have more than {limits.MAX_BUNDLE_FRAMES:,} frames"
                f" or {limits.MAX_BUNDLE_BYTES:,} bytes",
                "Export the worlds in it one by one, or as JSON Lines",
            )
        self._out.write(_LENGTH.pack(len(payload)) + payload + self.hash)


class BundleReader:
    """Reads the frames of an open bundle, each checked against its hash.

    The contents of the frames are not checked here. After the ``end`` frame, ``hash`` is the bundle's. ``frames``
    counts the frames read.
    """

    def __init__(self, stream: BinaryIO, name: str, damage: tuple[type[Exception], ...] = ()) -> None:
        """``damage``: the exceptions that reading raises where the compressed data is damaged."""
        self._stream = stream
        self.name = name
        self._damage = damage
        self.hash = hashing.GENESIS
        self.frames = 0
        self.size = 0

    def __iter__(self) -> Iterator[bundle.AnyFrame]:
        """Yield the frames up to the ``end`` frame.

        Raises ``InvalidBundle`` at the first invalid one.
        """
        self._check_magic()
        while True:
            frame = self._read_frame()
            yield frame
            if type(frame) is bundle.EndFrame:
                if self._read(1):
                    raise self.invalid("something follows the end")
                return

    def invalid(self, why: str, remedy: str = _AGAIN) -> errors.InvalidBundle:
        """The error that blames the frame that was read last."""
        return errors.InvalidBundle(
            f"The bundle {self.name} is invalid at frame {self.frames}: {why}",
            remedy,
            file=self.name,
            frame=self.frames,
        )

    def _check_magic(self) -> None:
        magic = self._read(len(bundle.MAGIC))
        if magic in bundle.MAGICS.values():
            return
        version = magic[len(bundle.MAGIC_STEM) : -1]
        if magic.startswith(bundle.MAGIC_STEM) and version.isdigit() and int(version) > bundle.TWIN_FORMAT:
            raise errors.NewerFormat(
                f"The bundle {self.name} has format {int(version)}; this release knows up to {bundle.TWIN_FORMAT}",
                "Upgrade WorldDB to import it",
            )
        if self._damage and bundle.MAGIC.startswith(magic):
            # A decompressor that is given the beginning of a frame hands out nothing, and does not complain.
            raise self.invalid(f"its compressed data ends after {len(magic)} bytes of content: it is cut short")
        if magic.startswith(bundle.LINES_STEM):
            raise errors.InvalidBundle(
                f"{self.name} is an export in JSON Lines, not a bundle",
                "JSON Lines are for other programs. Export a bundle with `worlddb export --out FILE`: it "
                "keeps identifiers, versions and edges",
                file=self.name,
            )
        begins = f"it begins with {magic!r}" if magic else "it is empty"
        raise errors.InvalidBundle(
            f"{self.name} is not a bundle: {begins}",
            "Give a file that `worlddb export` wrote; take in conversations and documents with `worlddb ingest`",
            file=self.name,
        )

    def _read_frame(self) -> bundle.AnyFrame:
        self.frames += 1
        if self.frames > limits.MAX_BUNDLE_FRAMES:
            raise self.invalid(f"there are more than {limits.MAX_BUNDLE_FRAMES:,} frames", "Export smaller worlds")
        length = _LENGTH.unpack(self._read_exactly(_LENGTH.size))[0]
        if length > limits.MAX_FRAME_BYTES:
            raise self.invalid(f"it states {length:,} bytes, above the limit of {limits.MAX_FRAME_BYTES:,}")
        payload = self._read_exactly(length)
        stated = self._read_exactly(ids.HASH_BYTES)
        self.hash = hashing.digest(hashing.BUNDLE, self.hash, payload)
        if stated != self.hash:
            raise self.invalid("its hash is wrong")
        try:
            return bundle.decode_frame(payload)
        except ValueError as error:
            raise self.invalid(f"it cannot be decoded: {error}") from None

    def _read_exactly(self, count: int) -> bytes:
        found = self._read(count)
        if len(found) < count:
            raise self.invalid("the file ends inside it: it is cut short")
        return found

    def _read(self, count: int) -> bytes:
        if self.size + count > limits.MAX_BUNDLE_BYTES:
            raise self.invalid(f"it has more than {limits.MAX_BUNDLE_BYTES:,} bytes", "Export smaller worlds")
        parts: list[bytes] = []
        wanted = count
        try:
            while wanted and (part := self._stream.read(wanted)):
                parts.append(part)
                wanted -= len(part)
        except self._damage as error:
            raise self.invalid(f"its zstd data is damaged: {error}") from None
        except OSError as error:
            raise errors.InputError(f"{self.name} cannot be read: {error.strerror}", "Check the disk") from None
        self.size += count - wanted
        return b"".join(parts)


@contextmanager
def open_bundle(path: Path) -> Iterator[BundleReader]:
    """Open a bundle, compressed or not, for reading frame by frame.

    Raises:
        InputError: there is no such file, or it is not a regular one.
    """
    shown = f"{str(path)!r:.200}"
    try:
        # Asked before opening: opening a pipe waits until somebody writes into it.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise errors.InputError(f"{shown} is not a regular file", "Give the path of a bundle")
        stored = path.open("rb")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise errors.InputError(f"{shown} cannot be read: {why}", "Check the path and its permissions") from None
    with stored:
        if stored.peek(len(_PACKED_MAGIC)).startswith(_PACKED_MAGIC):
            import zstandard

            unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
            with unpacker.stream_reader(stored, read_across_frames=True, closefd=False) as stream:
                yield BundleReader(cast(BinaryIO, stream), shown, (zstandard.ZstdError,))
        else:
            yield BundleReader(stored, shown)
