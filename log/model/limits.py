"""The limits that are stated to users; a value above one is a :class:`LimitExceeded` error."""

from __future__ import annotations

from typing import Final

from worlddb.log.model.errors import InvalidText, LimitExceeded

MAX_TYPE_BYTES: Final = 256
MAX_NAME_BYTES: Final = 16 * 1024
MAX_CONTENT_BYTES: Final = 16 * 1024 * 1024
MAX_REASON_BYTES: Final = 64 * 1024
MAX_RECORD_BYTES: Final = 256 * 1024
"""Properties, provenance or evidence of one command, encoded."""
MAX_ALIASES: Final = 256
MAX_AUTHOR_BYTES: Final = 256
MAX_KEY_BYTES: Final = 4 * 1024
MAX_BATCH_COMMANDS: Final = 1_000_000


def checked_text(text: object, what: str, max_bytes: int, *, empty: bool = True) -> str:
    """The text itself if it can be stored.

    Raises:
        InvalidText: it is not a ``str``, has no UTF-8 form (lone surrogates), or is empty and may not be.
        LimitExceeded: its UTF-8 form is longer than ``max_bytes``.
    """
    if not isinstance(text, str):
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
