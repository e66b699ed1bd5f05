"""Recognise questions that ask for all of something, and find their topic. Pure functions.

"Can you list the order in which I brought up different aspects of my budget throughout our conversations?" has the
topic "my budget". The other words describe the form of the answer; compared with texts, they would match texts about
lists and conversations. "List all claims" has no topic: it names a type.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from worlddb.log.model.times import lazy


class Covering(NamedTuple):
    """What a question asks for all of.

    ``words`` are those by which it is known, ``topic`` is what it is about, and ``own``: it asks for what its asker
    said, and not for what was answered.
    """

    words: str
    topic: str
    own: bool


_TELL: Final = r"(?:brought\s+up|bring\s+up|mentioned|raised|discussed|talked\s+about|asked\s+about|told\s+you\s+about)"
_TALKS: Final = r"(?:conversations?|discussions?|chats?|sessions?|talks?)"
_ORDER: Final = lazy(
    rf"\border\s+in\s+which\s+I\s+{_TELL}\b"
    rf"|\bin\s+(?:the\s+)?order\b[^.?!]*?\bhow\s+I\s+{_TELL}\b|\bhow\s+I\s+{_TELL}\b(?=[^.?!]*\bin\s+order\b)"
    r"|\bhow\s+did\s+my\s+(?:discussions?|conversations?|focus|questions?|interests?|thoughts?)\b"
    r"(?=[^.?!]*\bin\s+order\b)",
    re.I,
)
_SUMMARY: Final = lazy(r"\bsummari[sz]e\b|\b(?:summary|overview|recap)\s+(?:of|that)\b", re.I)
_OURS: Final = lazy(r"\b(?:I|we|my|our|came\s+up|discussed|throughout|over\s+time)\b", re.I)

_HOW_IT_IS_TOLD: Final = (
    # How many, and in which order.
    lazy(r"\(?\bmention\s+(?:only\s+(?:and\s+only\s+)?)?\w+\s+items?(?:\s+in\s+order)?\)?\.?", re.I),
    lazy(r",?\s*\bin\s+(?:the\s+)?(?:right\s+|chronological\s+)?order\b(?!\s+to\b)(?!\s+in\s+which\b)", re.I),
    lazy(r"\bover\s+time\b", re.I),
    # Where it was said.
    lazy(rf"\b(?:throughout|across|during|in|over|based\s+on)\s+(?:all\s+)?(?:our|the)\s+(?:\w+\s+)?{_TALKS}\b", re.I),
    # That it is to be told, and in which form.
    lazy(r"\A\W*(?:(?:can|could|would|will)\s+you\s+)?(?:please\s+)?", re.I),
    lazy(r"\A(?:list|provide|(?:tell|give|show)\s+me|walk\s+me\s+through|summari[sz]e)\b\s*", re.I),
    lazy(rf"\A(?:the\s+order\s+in\s+which|how)\s+I\s+{_TELL}\s+", re.I),
    lazy(r"\A(?:an?\s+|the\s+)?(?:[\w-]+(?:\s+and\s+[\w-]+)?\s+)?(?:summary|overview|recap)\s+(?:of|that)\s+", re.I),
    lazy(r"\A(?:how|different)\s+", re.I),
    lazy(r"\Adifferent\s+", re.I),
    lazy(r"\A(?:aspects?|ways|topics|parts)\s+(?:of\s+)?", re.I),
)
_LETTER: Final = lazy(r"[^\W_]")

_PLEASE: Final = (
    r"\A\W*(?:(?:please|(?:can|could|would|will)\s+you(?:\s+please)?|I\s+(?:want|need)(?:\s+to\s+see)?)\s+)?"
)
_SHOW: Final = (
    r"(?:list|enumerate|(?:show|give|tell|name|get|find|display|print|return|fetch|recall)(?:\s+(?:me|us))?)\s+"
    r"(?:(?:an?|the)\s+(?:full\s+|complete\s+)?(?:list|overview)\s+of\s+)?"
)
_THE: Final = r"(?:of\s+)?(?:(?:the|my|our|your|these|those|known|recorded|stored|existing)\s+)*"
_TYPE: Final = r"(?P<type>[^\W\d_][\w-]*(?:\s+[\w-]+){0,3}?)"
_THERE: Final = (
    r"(?:that\s+)?(?:there\s+are|are\s+there|exist|(?:do\s+)?(?:you|we|I)\s+(?:have|know(?:\s+of)?|remember)"
    r"|(?:are|were|was|is|have\s+been)\s+(?:known|recorded|stored|noted|made|here)|known|recorded|stored|on\s+record"
    r"|(?:in|from)\s+(?:the|your|my)\s+(?:memory|store))"
)
_END: Final = r"(?:\s+(?:so\s+far|here|now|please))?\W*\Z"
_ALL_OF_TYPE: Final = (
    lazy(rf"{_PLEASE}(?:{_SHOW})?(?:all|every|each)\s+{_THE}{_TYPE}(?:\s+{_THERE})?{_END}", re.I),
    lazy(rf"{_PLEASE}{_SHOW}{_THE}{_TYPE}(?:\s+{_THERE})?{_END}", re.I),
    lazy(rf"\A\W*(?:what|which)\s+(?:are\s+)?(?:all\s+)?{_THE}{_TYPE}\s+{_THERE}{_END}", re.I),
    lazy(rf"\A\W*what\s+are\s+(?:all|the)\s+{_THE}{_TYPE}{_END}", re.I),
)
"""Forms of a question for all of a type; only after the first may its name stand in the singular.

"What are my plans?" is none: who asks it means whatever tells of plans, of whichever type that is.
"""
_SINGULARS: Final = (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("ses", "sis"))
_IRREGULAR: Final = {"people": "person", "children": "child", "men": "man", "women": "woman", "criteria": "criterion"}


class AllOfType(NamedTuple):
    """What a question calls a type that it asks for all of, and the names that such a type may have."""

    words: str
    names: tuple[str, ...]


def all_of_type(text: str) -> AllOfType | None:
    """The type that a question asks for all of, by forms of English; ``None`` if it asks for anything else, or more.

    "List all bug reports" may mean the types "BugReport", "bug_report" and "Bug reports". Whether there is such a type
    is for the view to say.
    """
    for at, form in enumerate(_ALL_OF_TYPE):
        found = form.match(text)
        if found is None:
            continue
        words = found["type"].split()
        singulars = _singulars(words[-1])
        if at and not singulars:
            continue
        lasts = dict.fromkeys((*singulars, words[-1]))
        names = (name for last in lasts for name in _type_names([*words[:-1], last]))
        return AllOfType(found["type"], tuple(dict.fromkeys(names)))
    return None


def _singulars(word: str) -> list[str]:
    """What a word may be the plural of; nothing if it is none."""
    lower = word.lower()
    if lower in _IRREGULAR:
        return [_IRREGULAR[lower]]
    if not lower.endswith("s") or lower.endswith(("ss", "us", "is")):
        return []
    found = [word[:-1], *(word[: -len(end)] + one for end, one in _SINGULARS if lower.endswith(end))]
    return [*found, word[:-2]] if lower.endswith("es") else found


def _type_names(words: list[str]) -> Iterator[str]:
    """The usual ways in which a type of these words is written."""
    lower, capital = [word.lower() for word in words], [word[:1].upper() + word[1:] for word in words]
    plain = [word.capitalize() for word in words]
    for written in (words, lower, capital, plain, [plain[0], *lower[1:]]):
        for between in ("", " ", "_", "-"):
            yield between.join(written)


def covering(text: str) -> Covering | None:
    """What a question asks for all of, by forms of English; ``None`` if it asks for something less.

    It asks in which order its asker brought something up, or for a summary of what belongs to the two who talk.
    """
    order = _ORDER.search(text)
    found = order or (_SUMMARY.search(text) if _OURS.search(text) else None)
    if found is None:
        return None
    topic = text
    for form in _HOW_IT_IS_TOLD:
        topic = " ".join(form.sub(" ", topic).split())
    return Covering(" ".join(found[0].split()), topic if _LETTER.search(topic) else text, order is not None)
