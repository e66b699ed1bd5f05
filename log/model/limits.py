"""The limits that are stated to users; a value above one is a :class:`LimitExceeded` error."""

from __future__ import annotations

from typing import Final

from worlddb.log.model.errors import InputError, InvalidText, LimitExceeded

MAX_TYPE_BYTES: Final = 256
MAX_NAME_BYTES: Final = 16 * 1024
MAX_CONTENT_BYTES: Final = 16 * 1024 * 1024
MAX_REASON_BYTES: Final = 64 * 1024
MAX_RECORD_BYTES: Final = 256 * 1024
"""Properties, provenance or evidence of one command, encoded."""
MAX_RECORD_DEPTH: Final = 32
"""How deep lists and dictionaries may be nested in properties, provenance or evidence."""
MAX_ALIASES: Final = 256
MAX_AUTHOR_BYTES: Final = 256
MAX_KEY_BYTES: Final = 4 * 1024
MAX_BATCH_COMMANDS: Final = 1_000_000
MAX_CHECKPOINT_BYTES: Final = 256 * 1024
"""A checkpoint with all its signatures."""
MAX_PROOF_BYTES: Final = 64 * 1024 * 1024
"""A proof as it is written."""
MAX_DIMENSION: Final = 8192
"""Numbers in one vector of an embedding space."""
HIGHEST_SEQ: Final = 2**63 - 1
"""The last sequence number that a log could have."""
MAX_BUNDLE_BYTES: Final = 1024 * 1024 * 1024
"""All of a bundle, decompressed."""
MAX_BUNDLE_FRAMES: Final = 1_000_000
MAX_FRAME_BYTES: Final = 32 * 1024 * 1024
MAX_BUNDLE_EDGE_TYPES: Final = 1_024
"""How many edge types one bundle may speak of; each gets a code of its own in the tables."""
MAX_EDGE_TYPES: Final = 1_000
"""How many different edge types may ever be registered in one store."""
MAX_HANDLER_VERSION: Final = 65_535


def checked_number(number: object, what: str, lowest: int, highest: int) -> int:
    """The number itself if it is whole and within its bounds, both of which are allowed.

    Raises:
        InputError: it is not an ``int``, or lies outside.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise InputError(f"{what} is {type(number).__name__}, not a whole number", f"Give {_between(lowest, highest)}")
    if not lowest <= number <= highest:
        raise InputError(f"{what} is {number!r:.80}", f"Give {_between(lowest, highest)}")
    return number


def _between(lowest: int, highest: int) -> str:
    """The bounds in words. Those of 64 bits say nothing to a person, and nobody comes near them by counting."""
    if highest < HIGHEST_SEQ:
        return f"{lowest:,} to {highest:,}"
    kind = "a whole number" if lowest <= -HIGHEST_SEQ else f"a whole number from {lowest:,} up"
    return f"{kind}, of no more than 18 digits"


def checked_amount(value: object, what: str) -> float:
    """The number itself if it is finite and not negative.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise InputError(f"{what} is {value!r:.80}", "Give a number, 0 or more")
    return value


def checked_text(text: object, what: str, max_bytes: int, *, empty: bool = True) -> str:
    """The text itself if it can be stored.

    Raises:
        InvalidText: it is not a plain ``str``, has no UTF-8 form (lone surrogates), or is empty and may not be.
        LimitExceeded: its UTF-8 form is longer than ``max_bytes``.
    """
    # A subclass would be stored as something else, or not at all.
    if type(text) is not str:
        raise InvalidText(f"{what} is {type(text).__name__}, not text", "Give it as str")
    if text.isascii():
        size = len(text)
    else:
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise InvalidText(
                f"{what} is not valid Unicode: {error.reason} at character {error.start}",
                "Decode the bytes with errors='replace' or correct them at their source",
            ) from None
    if size > max_bytes:
        raise LimitExceeded(
            f"{what} has {size:,} bytes, above the limit of {max_bytes:,}",
            "Shorten it, or split it over several worlds",
        )
    if not empty and not text.strip():
        raise InvalidText(f"{what} is empty", "Give at least one visible character")
    return text
