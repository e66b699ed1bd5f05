"""References as callers give them."""

from __future__ import annotations

from typing import Any


def as_ref(ref: Any) -> bytes | str:
    """A reference as the tables take it: an id, hex digits, or whatever carries a ``ref`` (receipts, records)."""
    if isinstance(ref, bytes | str):
        return ref
    carried = getattr(ref, "ref", ref)
    return carried  # type: ignore[no-any-return]
