"""References as callers give them."""

from __future__ import annotations

import re
from typing import Any, Final

from worlddb.log.model.errors import InputError
from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES, MIN_PREFIX_DIGITS

_FULL_DIGITS: Final = (2 * LINEAGE_BYTES, 2 * HASH_BYTES)
_HEX: Final = re.compile("[0-9a-f]+")


def as_ref(ref: Any) -> bytes | str:
    """A reference as the tables take it: an id, hex digits, or whatever carries a ``ref`` (receipts, records).

    Raises:
        InputError: it is nothing of the kind.
        RefusedError: it is the receipt of a write that was refused.
    """
    if type(ref) is bytes:
        return ref
    if not isinstance(ref, bytes | str):
        ref = getattr(ref, "ref", ref)
    if isinstance(ref, str) and len(ref) in _FULL_DIGITS and _HEX.fullmatch(ref):
        return bytes.fromhex(ref)
    if not isinstance(ref, bytes | str):
        raise InputError(
            f"{ref!r:.80} is {type(ref).__name__}, not a reference",
            f"Give a receipt, a record, an id, or at least {MIN_PREFIX_DIGITS} of its hex digits",
        )
    return str.__str__(ref) if isinstance(ref, str) else bytes(ref)
