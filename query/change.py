"""Whether a question asks for change: what was before, whether it still is, and who came before somebody.

By forms of English alone. That something earlier is shown where nobody asked for it costs a reader a line; that it is
not shown where it was asked for costs the answer. What only puts two things in order ("what did I eat before the
concert?") asks for no change.
"""

from __future__ import annotations

import re
from typing import Any, Final

from worlddb.log.model.times import DAYS, MONTHS

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
