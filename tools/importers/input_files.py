"""Input files as decompressed streams, and errors with their place in a file.

The first bytes decide the compression (``.xz``, gzip and zstd have their own), so a compressed file under another name
is read as well. Of a zip file, as services export an account, the ``conversations.json`` in it are read. A name that
promises compression over bytes that are not compressed is an error: such a file is damaged far more often than
misnamed.
"""

from __future__ import annotations

import gzip
import io
import lzma
import mmap
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sized
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final, NoReturn, TypeVar

import msgspec
import zstandard

from worlddb import MAX_NAME_BYTES, InputError, LimitExceeded, MalformedFile, checked_text
from worlddb.plain_text import WHOLE_PAIR, half_surrogate

Given = TypeVar("Given")
Made = TypeVar("Made")
Written = TypeVar("Written", bound=Sized)

_BYTES: Final = (bytes, bytearray, memoryview, msgspec.Raw)
_PLACE: Final = re.compile(r"(?P<what>.*) - at `(?P<path>\$.*)`", re.DOTALL)


class Place(msgspec.Struct, frozen=True):
    """A place in a file.

    ``record`` counts as the format does: conversations from 0, lines from 1; ``unit`` is the word for it. ``path`` is a
    JSON path.
    """

    file: Path
    unit: str = "record"
    record: int | None = None
    path: str = "$"

    @property
    def shown(self) -> str:
        """The file name for a message: a name on disk need not be valid Unicode."""
        return printable(self.file)

    def at(self, path: str) -> Place:
        """Return the same record with another path."""
        return Place(self.file, self.unit, self.record, path)


def malformed_error(place: Place, what: str, remedy: str = "") -> MalformedFile:
    """Return the error to raise; its ``details`` hold ``file``, ``record`` and ``path``."""
    where = place.shown
    if place.record is not None:
        where += f", {place.unit} {place.record}, at `{place.path}`"
    elif place.path != "$":
        where += f", at `{place.path}`"
    return MalformedFile(
        f"{where}: {what}",
        remedy or "Correct the file and import it again; nothing was written from it",
        file=place.shown,
        record=place.record,
        path=place.path,
    )


def printable(path: Path) -> str:
    """Return a path as text that can be printed and stored."""
    return str(path).encode(errors="backslashreplace").decode()


def with_place(place: Place, judge: Callable[[], Made]) -> Made:
    """Call ``judge``; an ``InputError`` that it raises gets its place in the file."""
    try:
        return judge()
    except MalformedFile:
        raise
    except InputError as error:
        raise malformed_error(place, error.message, error.remedy) from None


def decode_at(place: Place, decode: Callable[[Given], Made], given: Given) -> Made:
    """Call ``decode`` (by msgspec) on a value; its errors get their place in the file.

    Raises:
        MalformedFile: with the path that msgspec names, below that of ``place``.
    """
    try:
        return decode(given)
    except RecursionError:
        raise malformed_error(place, "it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise malformed_error(
            place, f"the byte {error.object[error.start]:#04x} is not valid UTF-8", SAVE_AS_UTF8
        ) from None
    except msgspec.MsgspecError as error:
        if isinstance(given, _BYTES) and (byte := _wrong_byte(bytes(given))) is not None:
            raise malformed_error(place, f"the byte {byte:#04x} is not valid UTF-8", SAVE_AS_UTF8) from None
        found = _PLACE.fullmatch(str(error))
        if found is None:
            # msgspec says of it that the escape, or the whole, was cut short.
            half = half_surrogate(bytes(given)) if isinstance(given, _BYTES) else None
            if half is not None:
                told = f"it has half of a surrogate pair, {half.group().decode()}"
                raise malformed_error(place, told, f"{WHOLE_PAIR}; then import it again, nothing was written") from None
            raise malformed_error(place, str(error)) from None
        raise malformed_error(place.at(place.path + found["path"][1:]), found["what"]) from None


def _wrong_byte(given: bytes) -> int | None:
    """Return the first byte that is not UTF-8; versions of msgspec report it by different errors."""
    try:
        given.decode()
    except UnicodeDecodeError as error:
        return error.object[error.start]
    return None


def refuse_repeated(place: Place, key: str | None) -> None:
    """Refuse an object that has a key twice.

    Raises:
        MalformedFile: it has.
    """
    if key is not None:
        problem = f"the field {key[:80]!r} occurs twice"
        raise malformed_error(place.at(f"{place.path}..{key[:80]}"), problem, "Keep one of them")


SAVE_AS_UTF8: Final = "Save the file as UTF-8; nothing was written from it"
MAX_WHOLE_BYTES: Final = 1 << 30
"""Largest file read into memory at once, decompressed; streaming formats have no such limit."""

MAX_TURN_BYTES: Final = 64 * 1024 * 1024
"""Largest turn in its file, in JSON; longer lines and turns are refused before they are decoded."""
BOM: Final = b"\xef\xbb\xbf"

_CHUNK_BYTES: Final = 256 * 1024
_ZSTD_BYTES: Final = 512
"""Small, because zstd may expand its input more than thirty thousand times in one piece: to 16 MiB then."""
_GROWTH_BYTES: Final = 8 * 1024 * 1024
_DAMAGE: Final = (
    lzma.LZMAError,
    zlib.error,
    gzip.BadGzipFile,
    zstandard.ZstdError,
    zipfile.BadZipFile,
    EOFError,
)
_ZIPPED: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json", re.DOTALL)
_ZIP_PACKED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZIP_END: Final = b"PK\x05\x06"
_ZIP_END_BYTES: Final = 22 + 65_535
MAX_ZIP_LISTING_BYTES: Final = 16 * 1024 * 1024
"""Largest list of files of a zip file, which is held in memory with some times its length."""


class _ZstdFile(io.RawIOBase):
    """Zstd frames in a row; unlike zstandard's reader it notices a truncated last frame."""

    def __init__(self, stored: BinaryIO) -> None:
        self._stored = stored
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._inside = False
        self._pending = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        target = memoryview(buffer)  # type: ignore[arg-type]
        while not self._ready:
            chunk = self._pending or self._stored.read(_ZSTD_BYTES)
            self._pending = b""
            if not chunk:
                if self._inside:
                    raise EOFError("the last frame is cut short")
                return 0
            self._decompress(chunk)
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decompress(self, chunk: bytes) -> None:
        self._inside = True
        self._ready = memoryview(self._frame.decompress(chunk))
        if self._frame.eof:
            self._pending = self._frame.unused_data
            self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._inside = False


class _ZipFile(io.RawIOBase):
    """The files of conversations in a zip file, one behind the other."""

    def __init__(self, stored: BinaryIO) -> None:
        stored.seek(0, io.SEEK_END)
        stored.seek(-min(_ZIP_END_BYTES, stored.tell()), io.SEEK_END)
        last = stored.read()
        begin = last.rfind(_ZIP_END)
        if begin < 0 or len(last) < begin + 16:
            raise EOFError
        if int.from_bytes(last[begin + 12 : begin + 16], "little") > MAX_ZIP_LISTING_BYTES:
            raise zipfile.BadZipFile("it lists too many files")
        self._zip = zipfile.ZipFile(stored)
        found = [each for each in self._zip.infolist() if _ZIPPED.fullmatch(each.filename)]
        if not found:
            raise zipfile.BadZipFile("it has no conversations.json")
        if any(each.flag_bits & 1 or each.compress_type not in _ZIP_PACKED for each in found):
            raise zipfile.BadZipFile("it needs a password, or its compression is not supported")
        self._remaining = sorted(found, key=lambda each: each.filename)
        self._current: zipfile.ZipExtFile | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        target = memoryview(buffer)  # type: ignore[arg-type]
        while True:
            if self._current is None:
                if not self._remaining:
                    return 0
                self._current = self._zip.open(self._remaining.pop(0))  # type: ignore[assignment]
                assert self._current is not None
            if part := self._current.read(len(target)):
                target[: len(part)] = part
                return len(part)
            self._current = None
            if self._remaining:
                # So that two files are told from one, also where the first has no end of line.
                target[:1] = b"\n"
                return 1


class _TypedErrorReader(io.RawIOBase):
    """Converts errors of decompressors and of the file system to typed errors, on every read."""

    def __init__(self, inner: io.RawIOBase | io.BufferedIOBase, path: Path, packed: str) -> None:
        self._inner = inner
        self._path = path
        self._packed = packed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        target = memoryview(buffer)  # type: ignore[arg-type]
        try:
            return self._inner.readinto(target) or 0
        except _DAMAGE as error:
            raise _damage_error(self._path, self._packed, error) from None
        except OSError as error:
            raise _unreadable_error(self._path, error) from None


def _damage_error(path: Path, packed: str, error: Exception) -> MalformedFile:
    cut = isinstance(error, EOFError)
    problem = "ends too early" if cut else f"cannot be read: {error}"
    if packed != "zip" and not cut:
        problem = f"is damaged: {error}"
    remedy = "Unpack it and give the files in it" if packed == "zip" else "Fetch or copy the file again"
    return malformed_error(Place(path), f"its {packed} data {problem}", remedy)


class _Packing(msgspec.Struct, frozen=True):
    """A compression: its name, suffix, first bytes, and a reader."""

    name: str
    suffix: str
    magic: bytes
    open: Callable[[BinaryIO], io.RawIOBase | io.BufferedIOBase]


_PACKINGS: Final = (
    _Packing("xz", ".xz", b"\xfd7zXZ\x00", lzma.LZMAFile),
    _Packing("gzip", ".gz", b"\x1f\x8b", lambda stored: gzip.GzipFile(fileobj=stored)),
    _Packing("zstd", ".zst", b"\x28\xb5\x2f\xfd", _ZstdFile),
    _Packing("zip", ".zip", b"PK\x03\x04", _ZipFile),
)


@contextmanager
def open_decompressed(path: Path) -> Iterator[BinaryIO]:
    """Open a file; yields a stream of its decompressed bytes.

    Raises:
        InputError: there is no such file, it cannot be read, or it is not a regular file, which alone can be
            read twice: once to check it, once more to write from it.
        MalformedFile: its compression is damaged or cut short; also later, from any read.
    """
    with _open_regular(path) as stored:
        packing = _detect_packing(path, stored)
        try:
            inner = packing.open(stored) if packing else stored
        except _DAMAGE as error:
            raise _damage_error(path, packing.name if packing else "plain", error) from None
        guarded = _TypedErrorReader(inner, path, packing.name if packing else "plain")
        with io.BufferedReader(guarded, _CHUNK_BYTES) as stream:
            yield stream


def read_whole(path: Path) -> bytearray:
    """Read the whole file, decompressed, up to a limit.

    Raises:
        LimitExceeded: they are more than ``MAX_WHOLE_BYTES``; and as :func:`open_decompressed`.
    """
    data = bytearray()
    with open_decompressed(path) as stream:
        # Piece by piece into one place: to join pieces would take the memory twice.
        while piece := stream.read(min(_GROWTH_BYTES, MAX_WHOLE_BYTES + 1 - len(data))):
            data += piece
            if len(data) > MAX_WHOLE_BYTES:
                raise too_large_error(path, f"more than {MAX_WHOLE_BYTES:,} bytes after decompression")
    return data


def read_again(path: Path, size: int, digest: bytes) -> mmap.mmap | bytearray:
    """Read a whole file again that was checked, decompressed, into a map: its pages can be given back one by one.

    Raises:
        MalformedFile: its size or its SHA-256 is another one; and as :func:`open_decompressed`.
    """
    data = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) if size else bytearray()
    length = 0
    with open_decompressed(path) as stream:
        while piece := stream.read(min(_GROWTH_BYTES, size - length)):
            data[length : length + len(piece)] = piece
            length += len(piece)
        is_same = length == size and not stream.read(1) and sha256(data).digest() == digest
    if not is_same:
        raise malformed_error(
            Place(path),
            "it was replaced after the check",
            "Import it again when nobody writes to it: nothing is written twice",
        )
    return data


def too_large_error(path: Path, what: str) -> LimitExceeded:
    """Return the error for a file that holds more than one may."""
    return LimitExceeded(f"{printable(path)} has {what}", "Split it into several files")


def check_turn_size(place: Place, written: Written) -> Written:
    """Check the size of an encoded turn, and return it.

    Raises:
        MalformedFile: it is.
    """
    if len(written) > MAX_TURN_BYTES:
        raise malformed_error(
            place, f"it has {len(written):,} bytes, above the limit of {MAX_TURN_BYTES:,}", "Split it into turns"
        )
    return written


def check_unicode(place: Place, data: bytearray) -> None:
    """Check that bytes are UTF-8, without a copy of all of them.

    Raises:
        MalformedFile: they are not; the byte is named.
    """
    begin = 0
    while begin < len(data):
        part = data[begin : begin + _CHUNK_BYTES]
        try:
            part.decode()
            begin += len(part)
        except UnicodeDecodeError as error:
            is_cut = error.end == len(part) and begin + len(part) < len(data) and error.start > 0
            if not is_cut or len(part) - error.start > 3:
                problem = f"byte {begin + error.start} (0x{part[error.start]:02x}) is not valid UTF-8"
                raise malformed_error(place, problem, SAVE_AS_UTF8) from None
            begin += error.start


def file_name(path: Path) -> str:
    """Return the file name without its folder, for provenance.

    Raises:
        InvalidText: the name on disk is not valid Unicode.
    """
    return checked_text(path.name, f"The file name {path.name!a}", MAX_NAME_BYTES, empty=False)


def name_in(path: Path, folder: Path | None) -> str:
    """Return the file name, with the folders between it and ``folder`` before it if that is given."""
    if folder is None:
        return file_name(path)
    within = path.relative_to(folder).as_posix()
    return checked_text(within, f"The file name {within!a}", MAX_NAME_BYTES, empty=False)


def files_in(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """Return the files with these suffixes in a folder at any depth, sorted; none that is hidden, or a link.

    Raises:
        InputError: a folder in it cannot be read.
    """

    def refuse(error: OSError) -> NoReturn:
        raise _unreadable_error(Path(error.filename), error) from error

    found = []
    for around, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [each for each in folders if not each.startswith(".")]
        found += [Path(around, name) for name in names if not name.startswith(".")]
    return sorted(path for path in found if suffix(path) in suffixes and path.is_file() and not path.is_symlink())


def stem(path: Path) -> str:
    """Return the name without suffixes: ``chat`` for ``chat.jsonl.xz``."""
    return Path(_name_without_packing(path)).stem


def suffix(path: Path) -> str:
    """Return the suffix of the format in lower case: ``.jsonl`` for ``chat.JSONL.xz``."""
    return Path(_name_without_packing(path)).suffix.lower()


def _name_without_packing(path: Path) -> str:
    """Return the file name without the suffix of its compression."""
    name = file_name(path)
    for packing in _PACKINGS:
        bare = name.removesuffix(packing.suffix)
        if bare and bare != name:
            return bare
    return name


def _open_regular(path: Path) -> io.BufferedReader:
    try:
        # Check before opening: opening a pipe blocks until somebody writes to it.
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            return io.BufferedReader(io.FileIO(path))
    except (OSError, ValueError) as error:
        raise _unreadable_error(path, error) from None
    if stat.S_ISDIR(mode):
        raise InputError(
            f"{printable(path)} is a directory", f"Name the files in it, such as {printable(path / '*.md')}"
        )
    raise InputError(f"{printable(path)} is not a regular file", "Give the path of a file on disk")


def _detect_packing(path: Path, stored: io.BufferedReader) -> _Packing | None:
    first = stored.peek(8)
    for packing in _PACKINGS:
        if first.startswith(packing.magic):
            return packing
    for packing in _PACKINGS:
        if path.suffix == packing.suffix:
            begins = "is empty" if not first else f"begins with {first[:8].hex(' ')}"
            raise malformed_error(
                Place(path),
                f"it is named {packing.suffix} but holds no {packing.name} data: it {begins}",
                f"Fetch or copy the file again, or rename it without {packing.suffix} if it is plain",
            )
    return None


def _unreadable_error(path: Path, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"{printable(path)} cannot be read: {reason}", "Check the path and its permissions")
