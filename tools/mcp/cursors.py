"""Cursors: where the next page of an answer begins, and the moment that all of its pages are of."""

from __future__ import annotations

import base64
import struct
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from worlddb import InputError
from worlddb.tools.mcp.arguments import MAX_OFFSET

SECRET_BYTES: Final = 32
_PLACE: Final = struct.Struct(">QqI")


class Place(NamedTuple):
    """Where a page begins, and the moment that all pages of an answer are of."""

    seq: int
    valid: int
    offset: int


class Cursors:
    """How cursors of one desk are written. With a secret nobody else can read them: they hold a commit's number."""

    def __init__(self, world: str | None = None, secret: bytes | None = None) -> None:
        self._world = (world or "").encode()
        self._cipher = None if secret is None else AESSIV(secret)

    def text(self, place: Place) -> str:
        """The cursor of a place; all that are sealed are of one length."""
        stored = _PLACE.pack(*place)
        if self._cipher is not None:
            stored = self._cipher.encrypt(stored, [self._world])
        return base64.urlsafe_b64encode(stored).decode()

    def place(self, cursor: str) -> Place:
        """Where a cursor leads.

        Raises:
            InputError: it is none of this desk's.
        """
        try:
            stored = base64.urlsafe_b64decode(cursor.encode())
            if self._cipher is not None:
                stored = self._cipher.decrypt(stored, [self._world])
            place = Place(*_PLACE.unpack(stored))
        except (ValueError, InvalidTag, struct.error):
            place = None
        if place is None or not 0 <= place.offset <= MAX_OFFSET:
            raise InputError(f"There is no page {cursor!r:.60}", "Give next_cursor of an answer as it is, or none")
        return place
