"""References as callers give them."""

from __future__ import annotations

import re
from typing import Any, Final

from worlddb.log.model.ids import HASH_BYTES, LINEAGE_BYTES

_FULL_DIGITS: Final = (2 * LINEAGE_BYTES, 2 * HASH_BYTES)
_HEX: Final = re.compile("[0-9a-f]+")


def as_ref(ref: Any) -> bytes | str:
    """A reference as the tables take it: an id, hex digits, or whatever carries a ``ref`` (receipts, records)."""
    if not isinstance(ref, bytes | str):
        ref = getattr(ref, "ref", ref)
    if isinstance(ref, str) and len(ref) in _FULL_DIGITS and _HEX.fullmatch(ref):
        return bytes.fromhex(ref)
    return ref  # type: ignore[no-any-return]
