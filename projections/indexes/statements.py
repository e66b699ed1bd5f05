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


_ASKING: Final = re.compile(
    r"(?:(?:and|so|but|also|ok|okay|hey|hi|hello|please|well),?\s+)*"
    r"(?:(?:what|which|who|whom|whose|why|how)(?:'s|’s)?\b(?!\s+(?:i|we|you|he|she|they|it|a|an)\b)"
    r"|(?:(?:when|where)\s+)?(?:did|do|does|is|are|am|was|were|have|has|had|can|could|should|would|will)(?:n't|n’t)?"
    r"\s+(?:i|you|we|he|she|it|they|my|our|the|there|this|that|any\w*)\b"
    r"|(?:can|could|would|will)\s+you\b"
    r"|(?:tell|remind|show|give|help)\s+(?:me|us)\b|(?:list|find|suggest|recommend|explain|describe|name)\b)",
    re.I,
)
"""How a sentence begins that asks something, in English."""
_ASKING_INSIDE: Final = re.compile(
    r"\bremind me\b|\bwas wondering\b|\bhow many\b|\bdo you (?:remember|know)\b|\b(?:at|in|from|to|of) (?:which|whom)\b"
    r"|\b(?:any|some) (?:advice|suggestions?|recommendations?|ideas?|tips)\b",
    re.I,
)
"""What is said only where something is asked."""


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
    """True if a text says something of its speaker and asks nothing, be it with a question mark or without."""
    if "?" in text:
        return False
    sentences = _SENTENCE_END.split(_SPEAKER.sub("", text[:MAX_CHARACTERS]))
    if _ASKING_INSIDE.search(text) or any(_ASKING.match(sentence.strip()) for sentence in sentences):
        return False
    return bool(said(text).statements)
