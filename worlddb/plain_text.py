"""Texts of others as one plain line: nothing in them ends it, moves the cursor or turns the writing around."""

from typing import Final

JOINERS: Final = frozenset("\u200c\u200d")
"""Characters that shape those around them, in Persian and in emoji."""


def escaped(text: str, kept: frozenset[str] = JOINERS) -> str:
    """Replace each character that is not shown by its escape, as ``\\n`` or ``\\u2028``."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in kept else ascii(character)[1:-1] for character in text
    )


def one_line(text: str) -> str:
    """Return a text as one line, with blanks for its line ends and escapes for what is not shown."""
    return escaped(" ".join(text.split()))
