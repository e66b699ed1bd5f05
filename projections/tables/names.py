"""Names as the exact tier and ``find`` compare them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from worlddb.log.model.hashing import NAME, digest

NAME_DIGEST_BYTES = 16
TYPE_DIGEST_BYTES = 8


_UNSEEN: Final = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""What is invisible and no format character: joiners, fillers and variation selectors."""


def normalised(name: str) -> str:
    """Compatibility-composed, case-folded, with single spaces and nothing invisible: what makes two names exactly
    equal (paper §3.1).

    Zero-width characters, soft hyphens and the controls of writing direction go, so that none of them makes a second
    name that looks like the first.
    """
    if name.isascii():
        return " ".join(name.lower().split())
    folded = unicodedata.normalize("NFKC", _visible(name)).casefold()
    return " ".join(_visible(unicodedata.normalize("NFKC", folded)).split())


def _visible(text: str) -> str:
    """The text without format characters (Unicode's category Cf) and others that show nothing."""
    return "".join(char for char in _UNSEEN.sub("", text) if char.isascii() or unicodedata.category(char) != "Cf")


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
