"""Recognise questions that ask for all of something, and find their topic. Pure functions.

"Can you list the order in which I brought up different aspects of my budget throughout our conversations?" has the
topic "my budget". The other words describe the form of the answer; compared with texts, they would match texts about
lists and conversations.
"""

import re
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
