"""Quotation of what others wrote, in sentences, lines and prompts of the server.

A name, a text or an argument may be written to pass for the server's own words. So none of them ends the line or the
quotation that it stands in, and no character in it moves the cursor or turns the writing around.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from worlddb.plain_text import JOINERS, escaped, one_line

MARK: Final = "    | "
"""Prefix of the lines of a memory's own text."""
QUESTION: Final = "> "
"""Prefix of the lines of what the caller of a prompt asks."""
MOST: Final = 120
"""Characters of a text that is quoted in a sentence."""
_PLAIN: Final = re.compile(r"[\w:.@+/-]{1,100}")
_CURLY: Final = str.maketrans(dict.fromkeys("“”„‟❝❞❠〝〞〟＂ʺˮ˝″‶🙶🙷🙸", '"'))
"""Double quotation marks, and what looks like one."""


def quoted(text: str, most: int = MOST) -> str:
    """Return the beginning of a text in quotation marks that nothing inside it closes."""
    inside = one_line(text).translate(_CURLY)
    return f"“{inside[: most - 1]}…”" if len(inside) > most else f"“{inside}”"


def named(name: str, most: int = MOST) -> str:
    """Return a name or a time as it is if it is one plain word, else quoted."""
    return name if _PLAIN.fullmatch(name) else quoted(name, most)


def lines(text: str, mark: str = MARK) -> Iterator[str]:
    """Yield the lines of a text, each with a mark in front."""
    return (mark + escaped(line.replace("\t", "    ")) for line in text.splitlines())


def json_line(value: Any) -> str:
    """Return a value as JSON on one line; characters that are not shown are escaped as JSON has it."""
    told = msgspec.json.encode(value).decode()
    if told.isprintable():
        return told
    return "".join(
        character if character.isprintable() or character in JOINERS else _json_escape(character) for character in told
    )


def _json_escape(character: str) -> str:
    pairs = character.encode("utf-16-be")
    return "".join(f"\\u{pairs[at]:02x}{pairs[at + 1]:02x}" for at in range(0, len(pairs), 2))
