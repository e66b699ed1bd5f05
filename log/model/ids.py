"""Identifiers. Each is raw bytes inside the engine and lower-case hex at the surface.

| id | bytes | made how |
|---|---|---|
| lineage | 16 | random, or a keyed hash of the caller's key under the store's secret |
| version, blob | 32 | hash of the stored bytes, which hold a nonce |
| edge, proposal | 32 | hash of the edge's identity fields |
"""

import re
from typing import Any, Final, NewType

from worlddb.log.model.errors import InputError, shown

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

_FULL_DIGITS: Final = (2 * LINEAGE_BYTES, 2 * HASH_BYTES)
_HEX: Final = re.compile("[0-9a-f]+")
_REFERENCE: Final = re.compile(f"[0-9a-f]{{{MIN_PREFIX_DIGITS},{2 * HASH_BYTES}}}")


def short(identifier: bytes | str) -> str:
    """The first 12 hex digits, as people are shown an id."""
    return (identifier if isinstance(identifier, str) else identifier.hex())[:SHOWN_DIGITS]


def is_reference(text: str) -> bool:
    """Whether a text has the form of a reference or of a prefix of one. A name may have it too: ``Decade``."""
    return _REFERENCE.fullmatch(text.strip().lower()) is not None


def is_prefix(text: str) -> bool:
    """Whether a text has the form of a prefix of a reference, and not of a whole one."""
    return is_reference(text) and len(text.strip()) not in _FULL_DIGITS


KREF_SCHEME: Final = "kref://"


def is_kref(text: str) -> bool:
    """Whether a text claims to be a kref, whether it is one or not: see :mod:`worlddb.log.beliefs.kref`."""
    return text[: len(KREF_SCHEME)].lower() == KREF_SCHEME


def parse_hex(text: str) -> str:
    """A reference or a prefix of one, normalised to lower case.

    Raises:
        InputError: it is not hexadecimal, is shorter than 4 digits or longer than any id.
    """
    digits = text.strip().lower()
    if not is_reference(digits):
        raise InputError(
            f"{text[:80]!r} is not a reference",
            f"A reference is the hex id shown by the engine, or its first {MIN_PREFIX_DIGITS} or more digits. "
            "A view finds it by name: db.view().reference_of('Alice')",
        )
    return digits


_GIVEN: Final = (bytes, str)


def as_ref(ref: Any) -> bytes | str:
    """Take the reference that a caller gave, in any of its forms.

    It is an id, hex digits, or an object with a ``ref`` (receipt, record).

    Raises:
        InputError: it is nothing of the kind.
        RefusedError: it is the receipt of a write that was refused.
    """
    if type(ref) is bytes:
        return ref
    if not isinstance(ref, _GIVEN):
        ref = getattr(ref, "ref", ref)
    if isinstance(ref, str) and len(ref) in _FULL_DIGITS and _HEX.fullmatch(ref):
        return bytes.fromhex(ref)
    if not isinstance(ref, _GIVEN):
        if isinstance(getattr(ref, "ids", None), tuple):
            raise InputError(
                f"What was given is {type(ref).__name__}, not a reference", "Give its id, or one of its ids"
            )
        said = "None is" if ref is None else f"{shown(ref)} is {type(ref).__name__},"
        raise InputError(
            f"{said} not a reference",
            f"Give a receipt, a record, an id, or at least {MIN_PREFIX_DIGITS} of its hex digits",
        )
    return str.__str__(ref) if isinstance(ref, str) else bytes(ref)
