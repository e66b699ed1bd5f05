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


NO_NAME = bytes(NAME_DIGEST_BYTES)
"""The digest of a name with nothing in it, which no lookup finds."""


NO_TYPE = bytes(TYPE_DIGEST_BYTES)
"""The digest of the type of a version whose body was erased."""


@lru_cache(maxsize=4096)
def name_digest(name: str) -> bytes:
    """16 bytes for the normalised name; :data:`NO_NAME` if nothing is left of it."""
    text = normalised(name)
    # A lookup may ask for text that cannot be stored: it finds nothing.
    return digest(NAME, text.encode("utf-8", "surrogatepass"))[:NAME_DIGEST_BYTES] if text else NO_NAME


@lru_cache(maxsize=4096)
def type_digest(type_name: str) -> bytes:
    """8 bytes for a node type, compared exactly."""
    return digest(NAME, b"type", type_name.encode("utf-8", "surrogatepass"))[:TYPE_DIGEST_BYTES]
