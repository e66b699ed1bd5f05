"""Scores: how the evidence for a candidate becomes one number. Pure functions.

The evidence of the lanes is fused first; then the form of a text adds to the score of the best candidates. Confidence
is another number, from 0 to 1: how likely a hit is what answers, and how likely an answer has such a hit.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import exp
from operator import itemgetter, mul
from typing import Final, NamedTuple

from worlddb.log.model.times import lazy
from worlddb.projections.indexes.analysis import STOP_WORDS, is_answering
from worlddb.query.question.question import AnswerForm

RRF_CONSTANT: Final = 60
"""Cormack, Clarke and Büttcher 2009; the paper's §4.3 uses the same."""

TEXT_WEIGHT: Final = 0.6
ENTITY_WEIGHT: Final = 0.2
HOME_WEIGHT: Final = 0.2
WHEN_WEIGHT: Final = 0.2
GOVERNS_WEIGHT: Final = 0.3
"""Chosen on one half of the development questions and judged on the other; see docs/retrieval.md."""

WORD_WEIGHT_BY_MODEL: Final[Mapping[str, float]] = {"multilingual-e5-small/q4+use-multilingual-3/2": 0.7}
"""By model, the share of :data:`TEXT_WEIGHT` that words have beside its cosines; 1 for any other.

That weight is for the default model: its cosines of a question with texts that do not answer it scatter by 0.07. Those
of this one scatter by 0.05 (``bench.languages``), so that as much of a difference tells more."""

TALK: Final = "talk"
"""What a turn gains from the best turn of its talk, between people."""
AROUND: Final = "around"
"""What a turn gains there by the question's words that it, the turns before it and its talk have together."""
GOVERNS: Final = "governs"
"""What a standing instruction gains if it governs the question; less than 0 where it is put behind better words."""
KEPT: Final = "kept"
"""What a hit gains by a kept place among the first."""
OPENING: Final = "opening"
"""What a turn behind the first hits gains or loses by how much of the question its opening has."""
EXCHANGE: Final = "exchange"
"""What a turn gains or loses by being scored as an exchange."""
TOLD: Final = "told"
"""What a text gains for having a number, a time, an age or a price, as the question asks."""
PLACE: Final = "place"
"""What such a turn loses by the turns before it in its session."""

NEWER: Final = "newer"
"""What a hit gains from an older one that it contradicts."""
SUPERSEDED: Final = "superseded"
"""The same for a hit that is shown because an earlier hit replaced it."""
LATER: Final = "competes"
"""The same for a statement that began later than a better, competing hit about the same subject."""
UPDATED: Final = "updated"
"""The same for a statement that began later than the best hit, is near it in meaning, and answers about as well."""
UNTIL: Final = "until"
"""The same for what holds until a better hit begins that is a plan by its words."""
NOW: Final = "now"
"""The same for what is so now, if a better hit tells what was or may be, is so at times, or is denied."""
MADE: Final = "made"
"""The same for a statement derived from a better hit, a turn of a talk, that has as many of the question's words."""
REPLIED: Final = "replied"
"""The same for what somebody said and a machine's short reply to it, which comes behind it."""
PRECEDED: Final = "preceded"
"""The same for what held until an event that the question names."""
BEFORE: Final = "previous"
"""The same for what was replaced, or was said before what competes with it, if the question asks for that."""
OWN: Final = "own"
"""The same for a statement about whom the question names, if a better hit is about somebody else."""
FITS: Final = "fits"
"""What a message gains or loses by a place before another that has no value of the asked kind, or was said too late."""
THEN: Final = "then"
"""The same for what held at a time in the question, instead of the present."""
STATE: Final = "state"
"""The same for the state at a time that the question asks for, if a better hit says something else."""
OVER: Final = "over"
"""The same for what reached its stated end, if a question about the past names no time."""
EXACT: Final = "number"
"""The same for a text with a number of the question, if a better hit has another number in its place."""
IN_WORDS: Final = "in_words"
"""The same for what was said in words, if the question asks for that and a better hit is a call of a tool."""
OF_TYPE: Final = "of_type"
"""The whole score of a hit of the type that a question asks for all of."""
TRUST: Final = "trust"
"""The part of a score that is lost for lack of trust."""
DECAY: Final = "decay"
"""The part that is lost by decay."""
TYPED: Final = "type"
"""The part gained or lost by type weights."""

VECTOR_CALIBRATION: Final = 0.85
"""What a cosine is worth beside a score by words where the greater of the two counts (Kumiho, equation 6)."""


class Evidence(NamedTuple):
    """What speaks for a candidate.

    ``text`` is its BM25 score as a share of the most that the query could reach, ``vector`` the cosine of its vector
    with the query's, ``entity`` 1 if whom the question is about said it, half if they are mentioned in it (1 if it
    begins with the name, beside turns that do so for their speaker), less than 0 if it is a statement about others
    alone, ``when`` how near it is to the times that the question names (0 to 1), ``before`` what the turns before it
    lend it, ``edge`` what hits lend it that an edge joins to it, ``home`` 1 if it lies where somebody whom the question
    names is at home, ``governs`` 1 if it is the standing instruction that comes nearest to the question, ``talk`` what
    it has by the best turn of its talk, if people talk, or by itself where others have that, ``around`` what it has
    then by the words of the question in it, in the turns before it and in its talk.
    """

    text: float
    vector: float
    entity: float
    when: float
    before: float = 0.0
    edge: float = 0.0
    home: float = 0.0
    governs: float = 0.0
    talk: float = 0.0
    around: float = 0.0


def similarity_score(text: float, vector: float) -> float:
    """The score of a candidate by words and meaning, which it lends to the turns after it."""
    return TEXT_WEIGHT * text + vector


def total_score(evidence: Evidence) -> float:
    """The score of a candidate whose evidence is added up: the sum of :func:`weighted_parts`."""
    text, vector, entity, when, before, edge, home, governs, talk, around = evidence
    named, talked = ENTITY_WEIGHT * entity + HOME_WEIGHT * home, talk + around
    return sum((TEXT_WEIGHT * text, vector, named, WHEN_WEIGHT * when, before, edge, GOVERNS_WEIGHT * governs, talked))


def weighted_parts(evidence: Evidence) -> dict[str, float]:
    """What each kind of evidence adds to the score, by its lane."""
    parts = {
        "text": TEXT_WEIGHT * evidence.text,
        "vector": evidence.vector,
        "entity": ENTITY_WEIGHT * evidence.entity,
        "when": WHEN_WEIGHT * evidence.when,
        "before": evidence.before,
        "edge": evidence.edge,
        "home": HOME_WEIGHT * evidence.home,
        GOVERNS: GOVERNS_WEIGHT * evidence.governs,
        TALK: evidence.talk,
        AROUND: evidence.around,
    }
    return {lane: part for lane, part in parts.items() if part}


def strongest_part(evidence: Evidence) -> dict[str, float]:
    """CombMAX: the greater of words and meaning (Fox and Shaw 1993; Kumiho, equation 8).

    Kumiho's weights by the kind of match are left out: a world's name and its text are matched together.
    """
    lane, score = max(("text", evidence.text), ("vector", VECTOR_CALIBRATION * evidence.vector), key=itemgetter(1))
    return {name: part for name, part in ((lane, score), ("edge", evidence.edge)) if part}


def reciprocal_rank_scores(rankings: Mapping[str, Sequence[int]]) -> dict[int, float]:
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
TASTE_WEIGHT: Final = 0.08
ASKS_WEIGHT: Final = 0.02
ASKS_IN_TALK: Final = 0.1
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
_TURNED: Final = rf"turn(?:ed|ing|s)? (?:the big )?{_YEARS}\b(?! ?[%$€£])"
_IS_AGED: Final = (
    rf"(?:(?:i|he|she|who)(?:['’][ms]| am| is| was)|aged?(?: of)?|just) {_YEARS}\b"
    r"(?! ?[%/:.,]?\d| ?%| ?-| (?:percent|minutes|hours|days|weeks|months|miles|km|kg|pounds|dollars|euros|feet|of)\b)"
)
_YEARS_OLD: Final = rf"{_YEARS}[ -]years?[ -]old\b"
_BIRTHDAY: Final = rf"{_YEARS}(?:st|nd|rd|th) birthday\b"
_DECADE: Final = (
    r"(?:my|his|her|their) (?:early |mid[ -]|late )?"
    r"(?:\d0s|twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties)\b"
)
_BORN: Final = r"(?:was|were) born\b"
_AGE: Final = lazy(rf"\b(?:{_TURNED}|{_YEARS_OLD}|{_IS_AGED}|in {_DECADE}|{_BIRTHDAY}|{_BORN})", re.I)
"""How an age is said; a number alone seldom is one."""
_AGE_BY_SIGN: Final = (
    (("year old", "years old", "year-old", "years-old"), lazy(rf"\b{_YEARS_OLD}")),
    (("in my ", "in his ", "in her ", "in their "), lazy(rf"in (?<=\bin ){_DECADE}")),
    ((" birthday",), lazy(rf"\b{_BIRTHDAY}")),
    (("was born", "were born"), lazy(rf"\b{_BORN}")),
)
"""The same in small letters of ASCII, each form with what is in every text that has it."""
_AGE_BEHIND: Final = lazy(r" (?<=[mstdenfg] )(?:\d|thirt|fourt|fort|fift|sixt|sevent|eight|ninet|twent)")
"""This is in every text that has one of the other forms."""
_AGE_BEHIND_IT: Final = lazy(rf"turn(?<=\bturn){_TURNED[4:]}|\b{_IS_AGED}")
# Each of these begins with the signs that it may begin with, to which Python comes quickest.
_MONEY: Final = lazy(
    r"[$€£¥\d](?:(?<=\D)\s?\d|(?<=\b\d)[\d,.]*\s?(?:dollars?|euros?|pounds|bucks|usd|eur|gbp|grand|k)\b)", re.I
)
_DIGIT: Final = re.compile(r"\d")
_DATE: Final = lazy(r"\d(?<=\b\d)(?:\d?(?:st|nd|rd|th)|(?<=1)9\d\d|(?<=2)0\d\d)\b", re.I)
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


def form_scores(
    text: str, wanted: AnswerForm, in_talk: bool = False, states_taste: bool | None = None
) -> dict[str, float]:
    """The score that a text's form adds or takes away, by reason.

    ``states_taste`` is what :func:`prefers` says of the text, if that is known.
    ``in_talk``: in a talk between people, a text scores less the more of it is questions.

    "How much did the lamp cost?" is answered by a text with a number in it, and not by "What does a lamp cost?",
    which is nearer. All of this is small beside words and meaning: it decides between close hits.
    """
    if states_taste is None:
        states_taste = wanted.taste and prefers(text)
    parts = {
        TOLD: _form_score(text[:MAX_CHARACTERS], wanted) if any(wanted[:-1]) else 0.0,
        "taste": TASTE_WEIGHT if wanted.taste and states_taste else 0.0,
        "asks": -ASKS_WEIGHT * text.rstrip().endswith("?") - (ASKS_IN_TALK * asking_share(text) if in_talk else 0.0),
    }
    return {reason: part for reason, part in parts.items() if part}


def place_penalty(place: int, later: float = LATER_WEIGHT) -> dict[str, float]:
    """The penalty for a text's place in its session, ``later`` for each turn before it; ``place`` counts them, see
    :func:`worlddb.query.recall.candidates.count_earlier_turns`."""
    return {"later": -later * place} if later * place else {}


def asking_share(text: str) -> float:
    """The share of a text's beginning that is questions, from 0 to 1, by sentences that end with a question mark."""
    told = text[:MAX_CHARACTERS]
    *asking, _ = told.split("?")
    return sum(len(up_to) - max(map(up_to.rfind, _ENDS)) for up_to in asking) / max(len(told), 1)


_ENDS: Final = ".!\n"
"""What ends a sentence that asks nothing."""
_I_LIKE: Final = (
    r"(?:['’]d|\s+would|\s+do)?\s+(?:(?:really|also|usually|generally|always|much|still|just|tend\s+to|\w+ly)\s+)*"
    r"(?:prefer|rather|favou?r|love|enjoy|hate|dislike|avoid|like(?!\s+(?:to|you)\b))\b"
    r"|\s+(?:don['’]t|do\s+not|can['’]t|cannot)\s+(?:\w+ly\s+)?(?:like|stand|eat|drink|want|bear)\b"
    r"|(?:['’]ve|\s+have)?\s+(?:\w+ly\s+)?(?:chosen|chose|decided|opted|prioriti[sz]ed?|value)\b"
    r"|(?:['’]m|\s+am)\s+(?:a\s+(?:big\s+)?fan\s+of|allergic)\b"
)
"""What stands behind "I" where somebody says, in English, what they like or have chosen."""
_FAVOURITE: Final = r"\s+(?:\w+\s+)?(?:favou?rites?|preferences?|preferred)\b"
"""The same behind "my" and "our"."""
_PREFERS: Final = lazy(rf"\bI(?:{_I_LIKE})|\b(?:my|our){_FAVOURITE}", re.I)
_PREFERS_IN_ASCII: Final = lazy(rf"[IiMmOo](?<=\b.)(?i:(?<=i)(?:{_I_LIKE})|(?:(?<=m)y|(?<=o)ur){_FAVOURITE})", re.S)
"""The same, found in a third of the time: letters beyond ASCII may count as those of it."""


def prefers(text: str) -> bool:
    """True if a text states somebody's preference or choice; an assistant has none."""
    if is_answering(text):
        return False
    text = text[:MAX_CHARACTERS]
    return (_PREFERS_IN_ASCII if text.isascii() else _PREFERS).search(text) is not None


def max_form_score(wanted: AnswerForm) -> float:
    """The most that :func:`form_scores` adds to any score."""
    return (
        NUMBER_WEIGHT * wanted.number
        + TIME_WEIGHT * wanted.time
        + AGE_WEIGHT * wanted.age
        + MONEY_WEIGHT * wanted.money
        + TASTE_WEIGHT * wanted.taste
    )


def _form_score(text: str, wanted: AnswerForm) -> float:
    has_digit = _has_digit(text)
    number = wanted.number and has_digit
    time = wanted.time and has_digit and _DATE.search(text) is not None
    if number < wanted.number or time < wanted.time:
        # To look at the words takes longest, and is left where signs tell as much.
        for words in _words_of(text):
            number = number or (wanted.number and not _NUMBERS.isdisjoint(words))
            time = time or (wanted.time and not _TIMES.isdisjoint(words))
            if number == wanted.number and time == wanted.time:
                break
    age = wanted.age and _tells_an_age(text)
    money = wanted.money and has_digit and _MONEY.search(text) is not None
    return NUMBER_WEIGHT * number + TIME_WEIGHT * time + AGE_WEIGHT * age + MONEY_WEIGHT * money


def _has_digit(text: str) -> bool:
    """True if a text has a digit of any script: to look for each of the ten is far quicker than for all of them."""
    return any(map(text.__contains__, _DIGITS)) or (not text.isascii() and _DIGIT.search(text) is not None)


_DIGITS: Final = "0123456789"
_LOOKED_THROUGH: Final = 400
"""So many characters of a text are taken apart at once: most texts that have such a word have it near the beginning."""


def _words_of(text: str) -> Iterator[list[str]]:
    """The words of a text in small letters, some at a time."""
    begin = 0
    while begin < len(text):
        end = text.find(" ", begin + _LOOKED_THROUGH)
        end = len(text) if end < 0 else end
        some = text[begin:end].lower().encode("utf-8", "surrogatepass").translate(_WORDS_APART)
        yield some.decode("utf-8", "surrogatepass").split()
        begin = end


def _tells_an_age(text: str) -> bool:
    """True if :data:`_AGE` is in a text; most are in ASCII, and few have a sign of any form."""
    if not text.isascii():
        return _AGE.search(text) is not None  # A few letters beyond ASCII count as those of it, whatever their case.
    said = text.lower()
    for signs, form in _AGE_BY_SIGN:
        if any(sign in said for sign in signs) and form.search(said):
            return True
    return _AGE_BEHIND.search(said) is not None and _AGE_BEHIND_IT.search(said) is not None


_NUMBERED: Final = lazy(
    r"(?<![^\W\d_])([^\W\d_]+)(?:(-)|\s*([#№])\s*|\s+((?:(?:number|no\.?|nr\.?|[#№])\s*){0,4}))"
    r"(\d+(?:\.\d+)*)(?![\w%:/-]|[.,]\d)(?:\s+([^\W\d_]+))?",
    re.I,
)
_CODED: Final = lazy(r"(?<![^\W_])([^\W\d_]{1,8})[-_/]?(\d+(?:[-_/]\d+)*)(?![^\W_])")
_BETWEEN: Final = lazy(r"[-_/]")
_NUMBER: Final = "number"
_CODE: Final = "`"
"""By what identifiers are listed among numbers, which is no word."""
_MAY_BE_IDENTIFIER: Final = lazy(
    r"\b[a-z]{2,}[A-Z]|[^\W_]_[^\W_]|[^\W\d_]{2}(?:\.|::)[^\W\d_]{2}|/(?=[\d.-]*[^\W\d])[\w.-]+/"
    r"|[a-zA-Z](?:\+\+|#)(?!\w)"
)
_IDENTIFIER: Final = lazy(r"(?<![\w/])/?[^\W_][\w.:/+#-]*")


def find_identifiers(text: str) -> set[str]:
    """The names in a text that are written as in code, in one form: parse_header and parseHeader, /v1/users, io.Reader.

    They have low lines, points, slashes, or capitals behind small letters; YouTube and iPhone are names of things.
    """
    if _MAY_BE_IDENTIFIER.search(text, 0, MAX_CHARACTERS) is None:
        return set()
    words = (word.rstrip(".:-/") for word in _IDENTIFIER.findall(text[:MAX_CHARACTERS]))
    return {_LINES.sub("", word).lower() for word in words if _MAY_BE_IDENTIFIER.search(word)}


_LINES: Final = lazy("[-_]")


def names_another(question: str, *texts: str) -> bool:
    """True if a question names an identifier, and one of some texts has others, and not that one."""
    wanted = find_identifiers(question)
    return bool(wanted) and any(found and wanted.isdisjoint(found) for found in map(find_identifiers, texts))


def find_numbers(text: str) -> dict[str, set[str]]:
    """The numbers that a text has, by the word before each: of "meeting number 60", "HER-17" and "Python 3.9" that is
    "meeting", "her" and "python". A code is one however it is written: HER17, HER_17, BX-200/7 and BX200-7.

    What is counted ("took 60 minutes") has its number for no name. Identifiers are listed with them.
    """
    found: dict[str, set[str]] = {}
    if named_in_code := find_identifiers(text):
        found[_CODE] = named_in_code
    if not _has_digit(text):
        return found  # Most questions.
    for word, dash, sign, called, number, after in _NUMBERED.findall(text[:MAX_CHARACTERS]):
        following = after.lower()
        counts = len(following) > 3 and following.endswith("s") and following not in STOP_WORDS
        if counts and not (dash or sign or called or "." in number):
            continue
        if (named := word.lower()) not in STOP_WORDS or dash or (word.isupper() and len(word) > 1):
            found.setdefault(named, set()).add(number)
        if sign or called or named == _NUMBER:
            found.setdefault(_NUMBER, set()).add(number)
    for word, number in _CODED.findall(text[:MAX_CHARACTERS]):
        found.setdefault(word.lower(), set()).add(_BETWEEN.sub("-", number))
    return found


def match_numbers(wanted: Mapping[str, set[str]], text: str) -> int:
    """1 if a text has a number that a question names behind the same word, -1 if it has others there, else 0.

    What a question calls a number of something is asked for by that.
    """
    words = wanted.keys() - {_NUMBER}
    if not wanted or (words and _CODE not in words and not _has_a_number(words, text[:MAX_CHARACTERS].lower())):
        return 0  # Most texts: to look for all numbers takes a hundred times as long.
    had = find_numbers(text)
    if _CODE in wanted and _CODE in had:
        # The number in /v1/users is a part of it.
        return 1 if wanted[_CODE] & had[_CODE] else -1
    places = [word for word in wanted if word in had and (word != _NUMBER or len(wanted) == 1)]
    if any(wanted[word] & had[word] for word in places):
        return 1
    return -1 if places else 0


_UP_TO_A_NUMBER: Final = lazy(r"(?:[-_/\s.#№]|number|no|nr)*\d")
"""Whatever :data:`_NUMBERED` and :data:`_CODED` find behind a word in small letters, and more."""


def _has_a_number(words: Iterable[str], said: str) -> bool:
    """True if one of some words may have a number behind it in a text in small letters."""
    for word in words:
        at = said.find(word)
        while at >= 0:
            if _UP_TO_A_NUMBER.match(said, at + len(word)):
                return True
            at = said.find(word, at + 1)
    return False


# -- confidence


class Fitted(NamedTuple):
    """Coefficients of two logistic regressions (Cox 1958): a constant, then a weight for each of the evidence.

    ``hit`` is for :func:`hit_evidence`, ``answer`` for :func:`answer_evidence`.
    """

    hit: tuple[float, ...]
    answer: tuple[float, ...]


WORDS_ALONE: Final = ""
"""Stands for no model, where nothing is compared by meaning."""
FITTED: Final[Mapping[str, Fitted]] = {
    "wordllama/l2_supercat_256": Fitted((-7.29, 3.97, -3.8, 1.41, 1.68), (-6.53, 4.56, 1.9, 9.17, 1.08)),
    "multilingual-e5-small/q4+use-multilingual-3/2": Fitted(
        (-7.15, 5.78, -9.32, 0.78, 1.74), (-9.87, 11.32, -1.53, -0.6, 4.89)
    ),
    WORDS_ALONE: Fitted((-6.76, 6.69, -13.06, 2.69, 1.65), (-5.79, 8.35, 2.38, 6.69, 1.15)),
}
"""By the model of an embedding space, as ``bench.confidence`` fits them on one half of the development questions."""
WEAK_BELOW: Final = 0.12
"""An answer of less confidence is weak: in no benchmark more than one of twenty that can be answered, on the half that
was fitted."""
FEWEST: Final = 20
"""Where fewer worlds are searched, confidence alone makes no answer weak: of a few notes the right one is found though
no word of the question is in it."""
BY_CHANCE: Final = 0.02
"""The most confidence in an answer whose hits are no nearer than unrelated texts come by chance."""
LEAD: Final = 0.2
"""Larger leads count no more."""
_FIRST: Final = 5
"""The number of hits of which the share by or about whom the question names is taken."""
_NEITHER: Final = 0.5
"""The value of being by or about whom the question names, if it names nobody."""


class HitFeatures(NamedTuple):
    """The features of a hit for its confidence.

    ``compared`` is the gain by meaning, or by words if no meaning is compared; ``coverage`` the share of the question's
    words in its text; ``is_of`` whether it is by or about a person in the question.
    """

    score: float
    compared: float
    coverage: float
    is_of: bool


def hit_evidence(hit: HitFeatures, best: float, *, names: bool) -> tuple[float, ...]:
    """The evidence for a hit: score, distance from the best one, coverage, and whether it is by or about whom the
    question names.

    ``names``: the question is about somebody who is known. It does not depend on how many hits are wanted.
    """
    return hit.score, best - hit.score, hit.coverage, float(hit.is_of) if names else _NEITHER


def answer_evidence(hits: Sequence[HitFeatures], *, person: bool) -> tuple[float, ...]:
    """The evidence for an answer: its best score, the most coverage, the lead of those named, and their share.

    What was asked of one person and said by another has hits of the other that come nearer: they lead. ``person``: the
    question names somebody, and is not about a participant alone ("I", "you"), by or to whom all in a talk with a
    machine is said, so that it tells nothing.
    """
    own = [hit.compared for hit in hits if hit.is_of]
    others = [hit.compared for hit in hits if not hit.is_of]
    lead = 0.0
    if person:
        lead = max(own, default=-LEAD) - max(others, default=0.0) if own and others else LEAD if own else -LEAD
    first = hits[:_FIRST]
    share = sum(hit.is_of for hit in first) / len(first) if person and first else _NEITHER
    best, coverage = max(hit.score for hit in hits), max(hit.coverage for hit in hits)
    return best, coverage, min(max(lead, -LEAD), LEAD), share


def likelihood(weights: Sequence[float], evidence: Sequence[float]) -> float:
    """The logistic function of weighed evidence, from 0 to 1."""
    weighed = weights[0] + sum(map(mul, weights[1:], evidence))
    return 1 / (1 + exp(-min(max(weighed, -_STEEPEST), _STEEPEST)))


def shifted(likely: float, by: float) -> float:
    """A probability with its log-odds changed by a number."""
    return 1 / (1 + exp(-by) * (1 - likely) / likely)


_STEEPEST: Final = 30.0
