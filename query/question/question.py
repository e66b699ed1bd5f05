"""Whom a question is about, as far as its words tell: the one who asks, the one who is asked, or somebody by name.

"Where did I park?" is answered by what the asker said, "what did you recommend?" by what the other side said, and
"what does Sarah play?" by what Sarah said or by what was said of her. Pure, and no more than English grammar.

Whether a question asks for change: what was before, whether it still is, and who came before somebody.

By forms of English alone. That something earlier is shown where nobody asked for it costs a reader a line; that it is
not shown where it was asked for costs the answer. What only puts two things in order ("what did I eat before the
concert?") asks for no change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from worlddb.log.model.times import DAYS, MONTHS

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


_SAID: Final = re.compile(
    r"\b(?:used\s+to|formerly|former|originally|initially|over\s+time|no\s+longer|any\s?more|in\s+the\s+past|at\s+first"
    r"|chang(?:ed?|es|ing)|evolved?|switch(?:ed|ing)\s+(?:from|to)|before\s+(?:that|this|now)"
    r"|back\s+then|in\s+those\s+days|predecessors?|preceded|took\s+over\s+(?:from|for)"
    r"|previous(?:ly)?(?!\s+(?:conversation|chat|discussion|session|message|talk|answer|question)))\b"
    # "What did I use to clean it?" asks for a means, "Where did she use to live?" for what was.
    r"|(?:\A\W*|\b(?:where|when|who|how|why)\b[^.?!]{0,40}?\s)did(?:n['’]t)?\s+(?:\w+\s+){1,4}use\s+to\b"
    r"|\bbefore\s*\?\s*\Z"
    # "Where was it then?" asks what was, "What did you do then?" what came next.
    r"|\b(?:who|whose|where|which|what|how\s+much|how\s+many)\b[^.?!]{0,60}?\b(?:was|were)\b[^.?!]{0,60}?\bthen\s*\?"
    r"|\b(?:was|were)\s+(?:the|my|your|our|his|her|its|their)\s+(?:old|earlier|prior)\b"
    r"|\bwho(?:m|se)?\b[^.?!]{0,60}?\b(?:did|has|had)\b[^.?!]{0,60}?\b(?:replaced?|succeed(?:ed)?)\b",
    re.I,
)
"""What says it in so many words."""

_BEFORE_SOMEBODY: Final = re.compile(
    r"\b(?i:who|whose|whom|which|what|where)\b[^.?!]{0,80}?\b(?:before|prior\s+to)\s+"
    r"(?P<whom>[^\W\d_a-z][\w.'’-]*(?:\s+[^\W\d_a-z][\w.'’-]*){0,3})"
    r"(?P<then>\s+(?:took\s+over|was\s+(?:in\s+charge|appointed|elected|hired|promoted)|did))?\s*(?:[?,;]|\Z)"
)
"""Whoever or whatever was in the place of a name: "who led it before Leah?", "what did we use before Postgres?"."""
_BEFORE_WHOM: Final = re.compile(
    r"\bwho(?:m|se)?\b[^.?!]{0,80}?\b(?:before|prior\s+to)\s+"
    r"(?:him|her|them|me|you|us|the\s+(?:present|current|new)\b[^.?!]{0,40}?)\s*(?:[?,;]|\Z)",
    re.I,
)
_HELD_BEFORE: Final = re.compile(
    r"\bwho\s+(?:was|were|led|ran|owned|managed|headed|chaired|held|had|coached|directed|taught)\b[^.?!]{0,60}?"
    r"\b(?:before|prior\s+to)\s+(?!(?:the|a|an|my|your|our|his|her|its|their|this|that)\b)"
    r"(?P<whom>\w+(?:\s+\w+)?)\s*\?",
    re.I,
)
"""The same of a name in small letters, where the question asks who held something."""

_TIMES: Final = frozenset(
    [
        *DAYS,
        *MONTHS,
        *("today", "tonight", "yesterday", "tomorrow", "noon", "midday", "midnight", "dawn", "dusk", "sunrise"),
        *("sunset", "morning", "evening", "night", "spring", "summer", "autumn", "fall", "winter", "christmas"),
        *("easter", "thanksgiving", "halloween", "hanukkah", "ramadan", "diwali", "passover", "eid", "new"),
        *("breakfast", "brunch", "lunch", "dinner", "supper", "bed", "work", "school", "class", "last", "next"),
        *("going", "covid", "i", "we", "you", "he", "she", "it", "they"),
    ]
)
"""What stands after "before" and is a time, or begins a sentence of its own."""


def asks_for_change(text: Any) -> bool:
    """True if a question, in English, asks what was before, or whether it changed."""
    if not isinstance(text, str):
        return False
    if _SAID.search(text) is not None or _BEFORE_WHOM.search(text) is not None:
        return True
    names = (found for form in (_BEFORE_SOMEBODY, _HELD_BEFORE) for found in form.finditer(text))
    return any(found["whom"].split()[0].casefold() not in _TIMES for found in names)
