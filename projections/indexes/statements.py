"""What a speaker says of themselves in a text: the sentences in the first person that ask nothing.

"Can you recommend a hotel? By the way, I moved to Porto last week." is mostly about hotels, and what is worth
remembering in it is the second sentence. Such a sentence gets a vector of its own beside that of the whole text, so
that a question finds it whatever stands around it. How much of a text is such sentences tells how much it is likely to
be worth remembering at all. Pure, and no more than English grammar; a text in another language has its one vector.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_STATEMENTS: Final = 12
"""Of one text; the first ones."""
MIN_WORDS: Final = 4
"""A shorter sentence says too little to be found by."""
MAX_CHARACTERS: Final = 32_000
"""How far into a text statements are looked for."""

_SPEAKER: Final = re.compile(r"^[^:\n]{1,64}: ")
"""How the content of a turn begins: who says it is no part of what is said."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"”)]*\s+|\n+")
_FIRST_PERSON: Final = re.compile(r"\b(?:I|[Mm]y|me|mine|[Ww]e|[Oo]ur)\b")
_WORD: Final = re.compile(r"\w+")


class Said(NamedTuple):
    """A text as its speaker's statements: each of them once, and the percentage of its words that is in statements."""

    statements: list[str]
    percent: int


def said(text: str) -> Said:
    """The sentences of a text in which its speaker says something of themselves, in order, and how much of it they
    are."""
    found: dict[str, None] = {}
    words = stated = 0
    for sentence in _SENTENCE_END.split(_SPEAKER.sub("", text[:MAX_CHARACTERS])):
        told = sentence.strip()
        length = len(_WORD.findall(told))
        words += length
        if length >= MIN_WORDS and _FIRST_PERSON.search(told) and not told.rstrip('"”)').endswith("?"):
            stated += length
            if len(found) < MAX_STATEMENTS:
                found[told] = None
    return Said(list(found), round(100 * stated / words) if words else 0)


def is_remark(text: str) -> bool:
    """True if a text says something of its speaker and asks nothing."""
    return "?" not in text and bool(said(text).statements)
