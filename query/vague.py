"""Words that name a time which is not understood: it hangs on an event ("the week after Easter"), or it is vague.

They are recognised so that an answer can say that it does not rest on them. What is not recognised is not told, so this
is a help for a reader and no promise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

MAX_TOLD: Final = 5
"""How many of them are told at most."""
_LONGEST: Final = 80
"""Characters of one of them that are told, and how far before "ago" its words are looked for."""

_UNIT: Final = r"(?:minute|hour|day|night|morning|evening|weekend|week|fortnight|month|quarter|year|decade)s?"
_BESIDE: Final = r"(?:before|after|following|preceding)"
_WHOSE: Final = r"(?:the |my |our |your |his |her |their |we |i |you |he |she |they )?"
_FEAST: Final = (
    r"(?:easter|christmas|xmas|thanksgiving|halloween|hanukkah|ramadan|passover|diwali|pentecost|whitsun|carnival"
    r"|mardi gras|new year(?:['’]s)?(?: eve| day)?|(?:labou?r|memorial|independence|valentine['’]s|mother['’]s"
    r"|father['’]s) day|black friday)"
)
_FORMS: Final = tuple(
    re.compile(form, re.I)
    for form in (
        # "the week after Easter", "two days before my birthday"
        rf"\b(?!many\b)[\w'’]{{1,20}} {_UNIT} (?:{_BESIDE}|of) {_WHOSE}{_FEAST}\b",
        rf"\b(?!many\b)[\w'’]{{1,20}} {_UNIT} {_BESIDE} {_WHOSE}[\w'’]{{1,40}}",
        rf"\b(?:on|at|over|around|before|after|since|by|until|during|last|this|next) {_FEAST}\b",
        r"\b(?:recently|lately|nowadays|these days|back then|the other (?:day|night|week|month)|some time back"
        r"|a while back|once upon a time|in the (?:distant )?past|as a child"
        r"|in (?:my|our|your|his|her|their) (?:childhood|youth|early years|twenties|thirties|forties))\b",
        r"\bin the (?:(?:early |mid[ -]|late )?(?:(?:19|20)?\d0['’]?s|(?:twen|thir|for|fif|six|seven|eigh|nine)ties)"
        r"|(?:\d{1,2}th|\w+teenth|twentieth|twenty-first) century)\b",
        rf"\b(?:the )?(?:beginning|start|middle|end) of (?:the |this |last |next )?{_UNIT}\b",
        # What is asked of the future is not about when something was said or began.
        rf"\b(?:tomorrow|next (?:(?:few|couple of|two|three) )?(?:{_UNIT}|spring|summer|autumn|fall|winter|\w+day))\b",
    )
)
_AGO: Final = re.compile(r"\bago\b", re.I)
_WORD: Final = re.compile(r"[\w'’-]+")
_COUNTING: Final = re.compile(
    r"a|an|and|half|some|many|so|quite|very|of|about|few|couple|several|dozens?|hundreds?|\w*(?:ty|teen)", re.I
)
"""What stands before the unit in "quite a few years ago"."""


class Piece(NamedTuple):
    """A stretch of a question, by its characters."""

    start: int
    end: int


class Covered:
    """Which characters of a question are spoken for; as quick for a question of any length."""

    def __init__(self, question: str) -> None:
        self._characters = bytearray(len(question))

    def add(self, piece: Piece) -> None:
        """Its characters are spoken for from now on."""
        self._characters[piece.start : piece.end] = b"\1" * (piece.end - piece.start)

    def touches(self, piece: Piece) -> bool:
        """True if one of its characters is."""
        return any(self._characters[piece.start : piece.end])


def vague_times(question: str, understood: Covered, unread: Iterable[Piece]) -> Iterator[str]:
    """The words of a question that name a time and are not understood, in their order, each once.

    ``understood`` are the characters that are, and what is told here is added to them; ``unread`` are stretches that
    name no time of any calendar.
    """
    pieces: list[Piece] = []
    for piece in (*unread, *_recognised(question)):
        if not understood.touches(piece):
            pieces.append(piece)
            understood.add(piece)
    told = dict.fromkeys(" ".join(question[piece.start : piece.end].split()) for piece in sorted(pieces))
    yield from (text[:_LONGEST] for text in [*told][:MAX_TOLD])


def _recognised(question: str) -> Iterator[Piece]:
    for form in _FORMS:
        yield from (Piece(*match.span()) for match in form.finditer(question))
    for match in _AGO.finditer(question):
        words = [*_WORD.finditer(question, max(0, match.start() - _LONGEST), match.start())]
        first = len(words) - 1
        while first > 0 and _COUNTING.fullmatch(words[first - 1][0]):
            first -= 1
        while words and words[first][0].lower() == "and" and first < len(words) - 1:
            first += 1
        # "how many years ago" and "how long ago" ask for a time and name none.
        if words and not (first and words[first - 1][0].lower() == "how"):
            yield Piece(words[first].start(), match.end())
