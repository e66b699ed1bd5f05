"""A cursor over JSON bytes: yields one element or member at a time without decoding the rest.

A decoder makes an object of some fifty bytes of every ``[]`` and ``{}``: a file of many small values takes twenty times
its size. A cursor walks over the bytes instead and hands out values as slices of them, which the formats decode one by
one. It checks the syntax between the values; the decoder of a slice checks the inside.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from mmap import MADV_DONTNEED, PAGESIZE, mmap
from typing import Final, Self, TypeAlias

import msgspec

Data: TypeAlias = bytes | bytearray | memoryview | mmap

MAX_DEPTH: Final = 128
"""Lists and objects inside one another."""
MAX_MEMBERS: Final = 100_000
"""Members of one object that is checked for repeated keys."""

_OPEN: Final = (ord("["), ord("{"))
_SPACE: Final = re.compile(rb"[ \t\r\n]*+")
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SCALAR: Final = re.compile(rb'[^ \t\r\n,:\[\]{}"]++')
_MARK: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]|"', re.DOTALL)
_NAME: Final = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(?:[ \t\r\n]*+(:))?', re.DOTALL)
"""A text; if a colon follows, the key of a member."""
_GIVEN_BACK_BYTES: Final = 1 << 20
_MAX_KEPT: Final = 1_000
"""Different keys that are held in order to see whether any comes again."""
_ANY: Final = msgspec.json.Decoder(msgspec.Raw)
_TEXT: Final = msgspec.json.Decoder(str)


class BrokenJson(ValueError):
    """Invalid JSON at a position; ``repeated`` is a key that its object has already."""

    def __init__(self, problem: str, position: int, repeated: str | None = None) -> None:
        super().__init__(problem)
        self.position = position
        self.repeated = repeated


class Cursor:
    """A position in JSON. Take the value of each yielded element or member before the next one."""

    def __init__(self, data: Data, position: int = 0) -> None:
        self.data = data
        self.position = position
        self._begin = position

    @classmethod
    def of_file(cls, data: Data) -> Self:
        """Return a cursor at the beginning of a file, behind its byte order mark."""
        return cls(data, len(BOM_UTF8) if data[: len(BOM_UTF8)] == BOM_UTF8 else 0)

    def inside(self) -> Cursor:
        """Return another cursor, at the value that begins here."""
        self.peek()
        return Cursor(self.data, self.position)

    def give_back(self) -> None:
        """Give back the memory of what this cursor has passed over, if the data is a map; it reads as zeros then."""
        if isinstance(self.data, mmap) and self.position - self._begin >= _GIVEN_BACK_BYTES:
            begin, end = -(-self._begin // PAGESIZE) * PAGESIZE, self.position // PAGESIZE * PAGESIZE
            self.data.madvise(MADV_DONTNEED, begin, end - begin)
            self._begin = end

    def peek(self) -> int:
        """Return the next byte that is not white space, -1 at the end."""
        found = _SPACE.match(self.data, self.position)
        assert found is not None, "it matches nothing, too"
        self.position = found.end()
        return self.data[self.position] if self.position < len(self.data) else -1

    def elements(self) -> Iterator[int]:
        """Walk over the list that begins here; yields the number of each element.

        Raises:
            BrokenJson: there is no list, or no comma where one must be.
        """
        self._take(b"[", "expected the start of a list")
        if self.peek() == ord("]"):
            self.position += 1
            return
        number = 0
        while True:
            yield number
            number += 1
            if not self._take_comma(b"]"):
                return

    def members(self) -> Iterator[str]:
        """Walk over the object that begins here; yields the key of each member.

        Raises:
            BrokenJson: there is no object, or no key, colon or comma where one must be.
        """
        self._take(b"{", "expected the start of an object")
        if self.peek() == ord("}"):
            self.position += 1
            return
        while True:
            yield self._key()
            if not self._take_comma(b"}"):
                return

    def value(self) -> Data:
        """Take the value that begins here, as the bytes that it has; what is in it was not checked.

        Raises:
            BrokenJson: there is none, or it does not end.
        """
        first, begin = self.peek(), self.position
        if first in _OPEN:
            self.position = self._end_of_container(begin)
        else:
            found = (_STRING if first == ord('"') else _SCALAR).match(self.data, begin)
            if found is None:
                raise BrokenJson("expected a value", begin)
            self.position = found.end()
        return memoryview(self.data)[begin : self.position]

    def skip(self, depth: int = MAX_DEPTH) -> None:
        """Pass over a value; it must be JSON, and no object in it may have a key twice.

        Raises:
            BrokenJson: it is not, or an object has a key twice, or more than ``MAX_MEMBERS`` of them.
        """
        first = self.peek()
        if not depth and first in _OPEN:
            raise BrokenJson("it is nested too deeply", self.position)
        if first == ord("["):
            for _ in self.elements():
                self.skip(depth - 1)
        elif first == ord("{"):
            seen: set[str] = set()
            for key in self.members():
                if key in seen:
                    raise BrokenJson(f"the key {key!r} occurs twice", self.position, key)
                seen.add(key)
                if len(seen) > MAX_MEMBERS:
                    raise BrokenJson(f"an object has more than {MAX_MEMBERS:,} members", self.position)
                self.skip(depth - 1)
        else:
            begin = self.position
            try:
                _ANY.decode(self.value())
            except msgspec.DecodeError as error:
                raise BrokenJson(str(error), begin) from None

    def end(self) -> None:
        """See that nothing follows.

        Raises:
            BrokenJson: something does.
        """
        if self.peek() != -1:
            raise BrokenJson("something follows the end", self.position)

    def _key(self) -> str:
        self.peek()
        found = _STRING.match(self.data, self.position)
        if found is None:
            raise BrokenJson("expected a key", self.position)
        try:
            key = _TEXT.decode(found[0])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BrokenJson(str(error), self.position) from None
        self.position = found.end()
        self._take(b":", "expected a colon")
        self.peek()
        return key

    def _take_comma(self, close: bytes) -> bool:
        """Skip a comma, or the end of a list or object; return whether it was a comma."""
        found = self.peek()
        if found != ord(",") and found != ord(close):
            raise BrokenJson(f"expected a comma or {close.decode()}", self.position)
        self.position += 1
        return found == ord(",")

    def _take(self, byte: bytes, otherwise: str) -> None:
        if self.peek() != ord(byte):
            raise BrokenJson(otherwise, self.position)
        self.position += 1

    def _end_of_container(self, begin: int) -> int:
        """Return where the list or object ends that begins at a position."""
        depth = 0
        for found in _MARK.finditer(self.data, begin):
            mark = self.data[found.start()]
            if mark == ord('"'):
                if found.end() == found.start() + 1:
                    raise BrokenJson("a text does not end", found.start())
            elif mark in _OPEN:
                depth += 1
                if depth > MAX_DEPTH:
                    raise BrokenJson("it is nested too deeply", found.start())
            else:
                depth -= 1
                if not depth:
                    return found.end()
        raise BrokenJson("a list or an object does not end", len(self.data))


def repeated_key(data: Data) -> str | None:
    """Return a key that an object has twice: a decoder keeps the last value and silently drops the others.

    ``None`` also of what is no JSON; its decoder says so.
    """
    seen: set[bytes] = set()
    for found in _NAME.finditer(data):
        if not found[2]:
            continue
        key = bytes(found[1])
        if key in seen or b"\\" in key or len(seen) > _MAX_KEPT:
            # Perhaps of two objects, or the same by other letters.
            try:
                Cursor(data).skip()
            except BrokenJson as error:
                return error.repeated
            return None
        seen.add(key)
    return None


def line_and_column(data: Data, position: int) -> tuple[int, int]:
    """Return where a position is, both counted from 1; the column in bytes."""
    line = column = 0
    for begin in range(0, position, 1 << 20):
        part = bytes(data[begin : min(begin + (1 << 20), position)])
        line += part.count(b"\n")
        found = part.rfind(b"\n")
        column = column + len(part) if found < 0 else len(part) - found - 1
    return line + 1, column + 1
