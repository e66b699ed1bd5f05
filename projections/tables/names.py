"""Names as the exact tier and ``find`` compare them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from worlddb.log.model.hashing import NAME, digest

NAME_DIGEST_BYTES = 16
TYPE_DIGEST_BYTES = 8


def normalised(name: str) -> str:
    """Compatibility-composed, case-folded, with single spaces: what makes two names exactly equal (paper §3.1)."""
    if name.isascii():
        return " ".join(name.lower().split())
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def name_digest(name: str) -> bytes:
    """16 bytes for the normalised name; zeros for a name with nothing in it, which no lookup finds."""
    text = normalised(name)
    return digest(NAME, text.encode())[:NAME_DIGEST_BYTES] if text else bytes(NAME_DIGEST_BYTES)


@lru_cache(maxsize=4096)
def type_digest(type_name: str) -> bytes:
    """8 bytes for a node type, compared exactly."""
    return digest(NAME, b"type", type_name.encode())[:TYPE_DIGEST_BYTES]
