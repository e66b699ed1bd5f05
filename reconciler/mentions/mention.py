"""One thing that a text mentions, and where."""

from __future__ import annotations

from typing import Final, NamedTuple

NAME, DATE, AMOUNT, ADDRESS = "name", "date", "amount", "address"
KINDS: Final = (NAME, DATE, AMOUNT, ADDRESS)
"""What is looked for: names and other capitalised phrases; days, months and years; money, percentages and quantities;
e-mail addresses, web addresses and telephone numbers."""


class Mention(NamedTuple):
    """A stretch of a text that stands for something.

    ``type`` is that of the world that it is made into, ``form`` what all mentions of the same thing have in common, and
    ``text`` what stands from character ``start`` up to ``end`` (excluded) of the text.
    """

    kind: str
    type: str
    form: str
    text: str
    start: int
    end: int
