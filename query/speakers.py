"""Whom a question is about, as far as its words tell: the one who asks, the one who is asked, or somebody by name.

"Where did I park?" is answered by what the asker said, "what did you recommend?" by what the other side said, and
"what does Sarah play?" by what Sarah said or by what was said of her. Pure, and no more than English grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

ASKERS: Final = ("user", "human", "me")
ASKED: Final = ("assistant", "ai", "agent", "bot")
"""What the two sides of a conversation with a machine are called."""

MAX_NAME_WORDS: Final = 4
_MAX_WORDS: Final = 200
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*", re.UNICODE)
_POSSESSIVE: Final = re.compile(r"['’]s$")
_FIRST_PERSON: Final = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.I)
_WHAT_YOU_SAID: Final = re.compile(
    r"\b(?:did|had|have) you\b"
    r"|\byou (?:\w+ )?(?:\w+ed|told|said|gave|made|wrote)\b"
    r"|\byour (?:\w+ )?(?:suggestion|recommendation|advice|answer|list)"
    r"|\b(?:our|my) (?:previous|last|earlier|past) (?:\w+ )?(?:conversation|chat|discussion)"
    r"|\bwe (?:\w+ )?(?:talked|discussed|spoke|chatted)",
    re.I,
)


def sides(question: str) -> tuple[str, ...]:
    """What the side is called that the question is about; empty if its words do not tell."""
    if _WHAT_YOU_SAID.search(question):
        return ASKED
    return ASKERS if _FIRST_PERSON.search(question) else ()


def possible_names(question: str) -> Iterator[str]:
    """Every stretch of one to four words of the question, each of which might be a name; longer ones first."""
    words = [_POSSESSIVE.sub("", word) for word in _WORD.findall(question)[:_MAX_WORDS]]
    for length in range(min(MAX_NAME_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


def without_names(question: str, names: Sequence[str]) -> str:
    """The question without the names and their possessives; all of it, if nothing else is in it."""
    if not names:
        return question
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(re.escape(name) for name in longest_first)
    rest = re.sub(rf"(?<!\w)(?:{pattern})(?:['’]s)?(?!\w)", " ", question)
    return rest if _WORD.search(rest) else question
