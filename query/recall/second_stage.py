"""The first hits, looked at again by what costs too much to ask of every candidate: their texts, and their places.

What a text tells by its form: a number, a time, an age or a price where one is asked for, or nothing but another
question.

"How much did the lamp cost?" is answered by a text with a number in it, and not by "What does a lamp cost?", which is
nearer. A thing is told before it is talked about, so of the turns of a session the earlier have a little more. All of
this is little beside words and meaning: it decides between hits that come close. Pure, and no more than English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from worlddb.projections.indexes.analysis import is_remark
from worlddb.query.recall.candidates import places
from worlddb.query.recall.ranking import Ranked
from worlddb.query.snapshot.visible import VisibleSnapshot

NUMBER_WEIGHT: Final = 0.05
TIME_WEIGHT: Final = 0.03
AGE_WEIGHT: Final = 0.15
MONEY_WEIGHT: Final = 0.1
ASKS_WEIGHT: Final = 0.02
LATER_WEIGHT: Final = 0.0025
LATER_IN_GROUPS: Final = 0.005
"""Chosen on one half of the development questions and judged on the other, but for :data:`LATER_IN_GROUPS`, which was
chosen with both in sight; see docs/retrieval.md."""
MAX_CHARACTERS: Final = 3_000
"""How far into a text a number or a time is looked for."""

_ASKS_NUMBER: Final = re.compile(
    r"\bhow (?:many|much|old|long|often|far|tall|big|large)\b"
    r"|\bwhat (?:percentage|amount|time|age|number|total|average|price)"
    r"|\b(?:total|number of|percentage|age|cost|price)\b",
    re.I,
)
_ASKS_TIME: Final = re.compile(
    r"\b(?:when|how long|how many (?:days|weeks|months|years|hours)|ago|first|before|after|order|date|day|since|last"
    r"|most recent)\b",
    re.I,
)
_ASKS_AGE: Final = re.compile(
    r"\bhow old\b|\bages?\b|\bolder\b|\byounger\b|\bhow many years (?:old|will|would|am|is|are|older|younger)\b"
    r"|\bborn\b|\bbirthday\b",
    re.I,
)
_ASKS_MONEY: Final = re.compile(
    r"\bhow much (?:money|cash)\b|\b(?:price|costs?|budget|salary|worth)\b"
    r"|\bhow much\b.*\b(?:pa(?:y|id)|spen[dt]|spending|saved?|raised?|earn(?:ed)?|ma(?:k|d)e|charged?|owed?|rent"
    r"|donated?|sell|sold|cheaper|expensive|discount)\b",
    re.I,
)
_YEARS: Final = (
    r"(?:\d{1,3}|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
    r"|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?)"
)
_AGE: Final = re.compile(
    rf"\bturn(?:ed|ing|s)? (?:the big )?{_YEARS}\b(?! ?[%$€£])|\b{_YEARS}[ -]years?[ -]old\b"
    rf"|\b(?:(?:i|he|she|who)(?:['’][ms]| am| is| was)|aged?(?: of)?|just) {_YEARS}\b"
    r"(?! ?[%/:.,]?\d| ?%| ?-| (?:percent|minutes|hours|days|weeks|months|miles|km|kg|pounds|dollars|euros|feet|of)\b)"
    r"|\bin (?:my|his|her|their) (?:early |mid[ -]|late )?"
    r"(?:\d0s|twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties)\b"
    rf"|\b{_YEARS}(?:st|nd|rd|th) birthday\b|\b(?:was|were) born\b",
    re.I,
)
"""How an age is told; a number alone seldom is one."""
_MONEY: Final = re.compile(r"[$€£¥]\s?\d|\b\d[\d,.]*\s?(?:dollars?|euros?|pounds|bucks|usd|eur|gbp|grand|k)\b", re.I)
_DIGIT: Final = re.compile(r"\d")
_DATE: Final = re.compile(r"\b(?:\d{1,2}(?:st|nd|rd|th)|(?:19|20)\d\d)\b", re.I)
_NUMBER_WORDS: Final = """
    one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand
    half once twice dozen first second third
"""
_NUMBERS: Final = frozenset(_NUMBER_WORDS.split())
_TIME_WORDS: Final = """
    today yesterday tomorrow tonight ago last next recently since
    day days week weeks weekend weekends month months year years
    monday tuesday wednesday thursday friday saturday sunday
    mondays tuesdays wednesdays thursdays fridays saturdays sundays
    january february march april june july august september october november december
"""
_TIMES: Final = frozenset(_TIME_WORDS.split())
"""Without "may", which mostly is no month."""
_WORDS_APART: Final = bytes(code if code > 127 or chr(code).isalpha() else ord(" ") for code in range(256))
"""Of the bytes of a text: to go through its characters takes many times as long where one of them is not ASCII."""


class Wanted(NamedTuple):
    """What an answer has to tell, as far as the words of a question say."""

    number: bool = False
    time: bool = False
    age: bool = False
    money: bool = False


NOTHING: Final = Wanted()
"""What is wanted by a text that asks nothing."""


def wanted(question: str) -> Wanted:
    """What an answer to a question has to tell."""
    return Wanted(
        number=_ASKS_NUMBER.search(question) is not None,
        time=_ASKS_TIME.search(question) is not None,
        age=_ASKS_AGE.search(question) is not None,
        money=_ASKS_MONEY.search(question) is not None,
    )


def by_form(text: str, place: int, asked: Wanted, later: float = LATER_WEIGHT) -> dict[str, float]:
    """What a text's form adds to its score, or takes from it, by reason; ``place`` counts the turns before it
    (see :func:`worlddb.query.recall.candidates.places`), each of which takes ``later`` away."""
    parts = {
        "told": _told(text[:MAX_CHARACTERS], asked) if any(asked) else 0.0,
        "asks": -ASKS_WEIGHT if text.rstrip().endswith("?") else 0.0,
        "later": -later * place,
    }
    return {reason: part for reason, part in parts.items() if part}


def _told(text: str, asked: Wanted) -> float:
    number = asked.number and _DIGIT.search(text) is not None
    time = asked.time and _DATE.search(text) is not None
    if number < asked.number or time < asked.time:
        # To look at the words takes longest, and is left where signs tell as much.
        words = (
            text.lower()
            .encode("utf-8", "surrogatepass")
            .translate(_WORDS_APART)
            .decode("utf-8", "surrogatepass")
            .split()
        )
        number = asked.number and (number or not _NUMBERS.isdisjoint(words))
        time = asked.time and (time or not _TIMES.isdisjoint(words))
    age = asked.age and _AGE.search(text) is not None
    money = asked.money and _MONEY.search(text) is not None
    return NUMBER_WEIGHT * number + TIME_WEIGHT * time + AGE_WEIGHT * age + MONEY_WEIGHT * money


MOST_MORE: Final = 64
"""How many hits are looked at beyond those that are wanted: as many again, but no more than these; for groups these."""


def rescore(snapshot: VisibleSnapshot, question: str, ranked: Iterable[Ranked], k: int) -> list[Ranked]:
    """The candidates that may be among the first ``k``, in order anew by what their texts tell.

    Nobody's text is read who is not seen.
    """
    return _in_order(_looked_at(snapshot, question, list(islice(ranked, k + min(k, MOST_MORE))), LATER_WEIGHT))


def all_looked_at_again(snapshot: VisibleSnapshot, question: str, ranked: Iterable[Ranked], k: int) -> list[Ranked]:
    """All candidates in order anew, the first of them by what their texts tell: what ``k`` groups are made of."""
    left = iter(ranked)
    return _in_order([*_looked_at(snapshot, question, list(islice(left, k + MOST_MORE)), LATER_IN_GROUPS), *left])


def _looked_at(snapshot: VisibleSnapshot, question: str, first: list[Ranked], later: float) -> Iterator[Ranked]:
    """The hits, with what their texts and their places add."""
    asked = NOTHING if is_remark(question) else wanted(question)
    at = places(snapshot, [hit.passed for hit in first])
    for hit in first:
        body = snapshot.body(hit.passed.seen.row)
        more = {} if body is None else by_form(body.content, at.get(hit.passed.node, 0), asked, later)
        yield hit._replace(score=hit.score + sum(more.values()), parts={**hit.parts, **more})


def _in_order(hits: Iterable[Ranked]) -> list[Ranked]:
    return sorted(hits, key=lambda hit: (-round(hit.score, 6), hit.passed.node))
