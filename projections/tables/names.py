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


_LATER: Final = re.compile(
    r"(["
    r"\u0558\u058b-\u058c\u05c8-\u05c9\u0897\u1acf-\u1af0\u1c89\u209d-\u209f\ua7cb-\ua7ce\ua7d2\ua7d4"
    r"\ua7da-\ua7f1\uab6c-\uab6d\U000105c9-\U000105e4\U000107bb-\U000107bf\U00010d50-\U00010d6d"
    r"\U00010ecb-\U00010eff\U00011382-\U000113d0\U00011f41-\U00011f42\U00013439-\U0001343f"
    r"\U0001611e-\U0001612f\U00016d63-\U00016d6a\U00016ea0-\U00016eb8\U0001b123-\U0001b126"
    r"\U0001ccd6-\U0001ccf9\U0001d127-\U0001d128\U0001d250-\U0001d281\U0001d6a6\U0001df40-\U0001dfff"
    r"\U0001e030-\U0001e08f\U0001e4ec-\U0001e6f5"
    r"]+)"
)
"""What Unicode 15.0 to 18.0 fold, compose, reorder or hide, all of it among what 14.0 leaves unassigned.

Each Python has a Unicode of its own, 14.0 in 3.11. What one makes of a name is in the keys of the tables, which
another has to derive again from the log, so these stay as they are everywhere.
"""


def normalised(name: str) -> str:
    """Compatibility-composed, case-folded, with single spaces and nothing invisible: what makes two names exactly
    equal (paper §3.1).

    Zero-width characters, soft hyphens and the controls of writing direction go, so that none of them makes a second
    name that looks like the first. Every Python that WorldDB runs on gives the same.
    """
    if name.isascii():
        return " ".join(name.lower().split())
    parts = _LATER.split(name)
    parts[::2] = map(_folded, parts[::2])
    return " ".join("".join(parts).split())


def _folded(text: str) -> str:
    return _visible(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _visible(text)).casefold()))


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
