"""What a speaker says of themselves in a text: the sentences in the first person that ask nothing.

"Can you recommend a hotel? By the way, I moved to Porto last week." is mostly about hotels, and what is worth
remembering in it is the second sentence. Such a sentence gets a vector of its own beside that of the whole text, so
that a question finds it whatever stands around it. Pure, and no more than English grammar; a text in another language
has its one vector.
"""

from __future__ import annotations

import re
from typing import Final

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


def statements(text: str) -> list[str]:
    """The sentences of a text in which its speaker says something of themselves, in order, each once."""
    found: dict[str, None] = {}
    for sentence in _SENTENCE_END.split(_SPEAKER.sub("", text[:MAX_CHARACTERS])):
        told = sentence.strip()
        if (
            _FIRST_PERSON.search(told)
            and not told.rstrip('"”)').endswith("?")
            and len(_WORD.findall(told)) >= MIN_WORDS
        ):
            found[told] = None
            if len(found) == MAX_STATEMENTS:
                break
    return list(found)
