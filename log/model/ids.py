"""Identifiers. Each is raw bytes inside the engine and lower-case hex at the surface.

| id | bytes | made how |
|---|---|---|
| lineage | 16 | random, or a keyed hash of the caller's key under the store's secret |
| version, blob | 32 | hash of the stored bytes, which hold a nonce |
| edge, proposal | 32 | hash of the edge's identity fields |
"""

from __future__ import annotations

import re
from typing import Final, NewType

from worlddb.log.model.errors import InputError

Lineage = NewType("Lineage", bytes)
VersionId = NewType("VersionId", bytes)
EdgeId = NewType("EdgeId", bytes)
BlobId = NewType("BlobId", bytes)
Seq = NewType("Seq", int)

LINEAGE_BYTES: Final = 16
HASH_BYTES: Final = 32
NONCE_BYTES: Final = 16
MIN_PREFIX_DIGITS: Final = 4
SHOWN_DIGITS: Final = 12

_REFERENCE: Final = re.compile(f"[0-9a-f]{{{MIN_PREFIX_DIGITS},{2 * HASH_BYTES}}}")


def short(identifier: bytes | str) -> str:
    """The first 12 hex digits, as people are shown an id."""
    return (identifier if isinstance(identifier, str) else identifier.hex())[:SHOWN_DIGITS]


def parse_hex(text: str) -> str:
    """A reference or a prefix of one, normalised to lower case.

    Raises:
        InputError: it is not hexadecimal, is shorter than 4 digits or longer than any id.
    """
    digits = text.strip().lower()
    if not _REFERENCE.fullmatch(digits):
        raise InputError(
            f"{text[:80]!r} is not a reference",
            f"A reference is the hex id shown by the engine, or its first {MIN_PREFIX_DIGITS} or more digits;"
            " of a name, a view gives it: db.view().reference_of('Alice')",
        )
    return digits
