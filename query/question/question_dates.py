"""Times that a question names: relative ("two weeks ago") or absolute ("in March").

Pure: the same question asked at the same time names the same times. Seasons are those of the northern hemisphere, by
whole months. Times that hang on an event ("the week after Easter") or are vague ("recently") stay unresolved; those
that are recognised are listed, so that an answer can say that it does not rest on them.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from math import exp
from typing import Final, NamedTuple

from worlddb.log.model.times import DAY_FORMS, DAYS, MONTH_NAME, MONTHS, month_number
from worlddb.projections.indexes.analysis import STOP_WORDS

MAX_LISTED: Final = 5
"""How many unresolved times are listed at most."""
_LONGEST: Final = 80
"""Characters of one of them that are listed, and how far before "ago" its words are looked for."""

_VAGUE_UNIT: Final = r"(?:minute|hour|day|night|morning|evening|weekend|week|fortnight|month|quarter|year|decade)s?"
_BESIDE: Final = r"(?:before|after|following|preceding)"
_WHOSE: Final = r"(?:the |my |our |your |his |her |their |we |i |you |he |she |they )?"
_FEAST: Final = (
    r"(?:easter|christmas|xmas|thanksgiving|halloween|hanukkah|ramadan|passover|diwali|pentecost|whitsun|carnival"
    r"|mardi gras|new year(?:['’]s)?(?: eve| day)?|(?:labou?r|memorial|independence|valentine['’]s|mother['’]s"
    r"|father['’]s) day|black friday)"
)
_VAGUE_FORMS: Final = tuple(
    re.compile(form, re.I)
    for form in (
        # "the week after Easter", "two days before my birthday"
        rf"\b(?!many\b)[\w'’]{{1,20}} {_VAGUE_UNIT} (?:{_BESIDE}|of) {_WHOSE}{_FEAST}\b",
        rf"\b(?!many\b)[\w'’]{{1,20}} {_VAGUE_UNIT} {_BESIDE} {_WHOSE}[\w'’]{{1,40}}",
        rf"\b(?:on|at|over|around|before|after|since|by|until|during|last|this|next) {_FEAST}\b",
        r"\b(?:recently|lately|nowadays|these days|back then|the other (?:day|night|week|month)|some time back"
        r"|a while back|once upon a time|in the (?:distant )?past|as a child"
        r"|in (?:my|our|your|his|her|their) (?:childhood|youth|early years|twenties|thirties|forties))\b",
        r"\bin the (?:(?:early |mid[ -]|late )?(?:(?:19|20)?\d0['’]?s|(?:twen|thir|for|fif|six|seven|eigh|nine)ties)"
        r"|(?:\d{1,2}th|\w+teenth|twentieth|twenty-first) century)\b",
        rf"\b(?:the )?(?:beginning|start|middle|end) of (?:the |this |last |next )?{_VAGUE_UNIT}\b",
        # What is asked of the future is not about when something was said or began.
        r"\b(?:tomorrow|next (?:(?:few|couple of|two|three) )?"
        rf"(?:{_VAGUE_UNIT}|spring|summer|autumn|fall|winter|\w+day))\b",
    )
)
_SAID_AGO: Final = re.compile(r"\bago\b", re.I)
_VAGUE_WORD: Final = re.compile(r"[\w'’-]+")
_COUNTING: Final = re.compile(
    r"a|an|and|half|some|many|so|quite|very|of|about|few|couple|several|dozens?|hundreds?|\w*(?:ty|teen)", re.I
)
"""What stands before the unit in "quite a few years ago"."""


class Piece(NamedTuple):
    """A stretch of a question, by its characters."""

    start: int
    end: int


class Covered:
    """The characters of a question that belong to a time; as quick for a question of any length."""

    def __init__(self, question: str) -> None:
        self._characters = bytearray(len(question))

    def add(self, piece: Piece) -> None:
        """Mark the characters of a stretch."""
        self._characters[piece.start : piece.end] = b"\1" * (piece.end - piece.start)

    def touches(self, piece: Piece) -> bool:
        """True if a character of the stretch is marked."""
        return any(self._characters[piece.start : piece.end])


def _unresolved(question: str, understood: Covered, impossible: Iterable[Piece]) -> Iterator[str]:
    """The words of a question that name an unresolved time, in their order, each once.

    ``understood`` are the characters of the others, to which those of these are added; ``impossible`` are stretches
    that name no time of any calendar.
    """
    pieces: list[Piece] = []
    for piece in (*impossible, *_recognised(question)):
        if not understood.touches(piece):
            pieces.append(piece)
            understood.add(piece)
    listed = dict.fromkeys(" ".join(question[piece.start : piece.end].split()) for piece in sorted(pieces))
    yield from (text[:_LONGEST] for text in [*listed][:MAX_LISTED])


def _recognised(question: str) -> Iterator[Piece]:
    for form in _VAGUE_FORMS:
        yield from (Piece(*match.span()) for match in form.finditer(question))
    for match in _SAID_AGO.finditer(question):
        words = [*_VAGUE_WORD.finditer(question, max(0, match.start() - _LONGEST), match.start())]
        first = len(words) - 1
        while first > 0 and _COUNTING.fullmatch(words[first - 1][0]):
            first -= 1
        while words and words[first][0].lower() == "and" and first < len(words) - 1:
            first += 1
        # "how many years ago" and "how long ago" ask for a time and name none.
        if words and not (first and words[first - 1][0].lower() == "how"):
            yield Piece(words[first].start(), match.end())


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY_LONG: Final = timedelta(days=1)
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The month in which each begins in the northern hemisphere, as meteorologists have it; each has three months."""
_COUNTED: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_NUMBERS: Final[dict[str, float]] = {word: number for number, word in enumerate(_COUNTED)} | {
    "half a": 0.5,
    "half an": 0.5,
    "a": 1,
    "an": 1,
    "couple": 2,
    "few": 3,
    "several": 4,
}
_VAGUE: Final = frozenset(("couple", "few", "several"))
_UNIT_DAYS: Final = {"day": 1.0, "week": 7.0, "fortnight": 14.0, "month": 30.44, "year": 365.25, "decade": 3652.5}
_SLACK_DAYS: Final = {"day": 0.5, "week": 3.5, "fortnight": 3.5, "month": 8.0, "year": 90.0, "decade": 730.0}
"""How far from "three months ago" a thing may be that somebody calls so."""

_UNIT: Final = rf"(?P<unit>{'|'.join(_UNIT_DAYS)})s?"
_COUNT: Final = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})(?: of)?"
_FIRST: Final = _COUNT.replace("count", "first") + r"\s+" + _UNIT.replace("unit", "first_unit") + r"(?:\s+and|,)\s+"
_AGO: Final = re.compile(
    rf"\b(?:{_FIRST})?{_COUNT}(?P<half>\s+and\s+a\s+half)?\s+{_UNIT}(?P<more>\s+and\s+a\s+half)?"
    r"\s+(?:ago|back|earlier)\b",
    re.I,
)
_PAST: Final = re.compile(rf"\bthe\s+(?:past|last)\s+(?:{_COUNT}\s+)?(?P<unit>day|week|month|year)s?\b", re.I)
_LAST: Final = re.compile(
    r"\b(?P<which>last|previous|this)\s+"
    rf"(?P<unit>week|weekend|month|quarter|year|{'|'.join((*DAYS, *MONTHS))})\b",
    re.I,
)
_BEFORE_A_TIME: Final = r"(?:in|on|of|during|since|around|by|mid|early|late|before|after|until|for)[\s-]+"
_OF_A_YEAR: Final = r"(?:,?\s+(?:of\s+)?(?:(?P<year>\d{4})|(?P<relative>last|this)\s+year)\b)"
_MONTH: Final = re.compile(rf"\b{_BEFORE_A_TIME}{MONTH_NAME}\b(?!\s+\d{{1,2}}(?!\d)){_OF_A_YEAR}?", re.I)
_MONTH_AND_YEAR: Final = re.compile(rf"\b{MONTH_NAME}{_OF_A_YEAR}", re.I)
_SEASON_NAME: Final = rf"(?P<season>{'|'.join(_SEASONS)})"
_SEASON: Final = re.compile(
    r"\b(?:(?P<which>last|previous|past|this)\s+"
    rf"|(?:over\s+|(?!for){_BEFORE_A_TIME})(?:the\s+)?(?:(?:early|mid|late)[\s-]+)?){_SEASON_NAME}\b{_OF_A_YEAR}?",
    re.I,
)
_SEASON_AND_YEAR: Final = re.compile(rf"\b{_SEASON_NAME}{_OF_A_YEAR}", re.I)
_QUARTER: Final = re.compile(r"\bQ(?P<quarter>[1-4])\b(?:[\s/-]+(?:of\s+)?(?P<year>\d{4})\b)?", re.I)
_YEAR: Final = re.compile(r"\b(?:in|during|since|of)\s+(?P<year>(?:19|20)\d{2})\b", re.I)
_NEAR: Final = re.compile(
    r"\b(?P<which>(?:the )?day before yesterday|yesterday|today|tonight|last night"
    r"|this (?:morning|afternoon|evening))\b",
    re.I,
)
_DAY_BEFORE: Final = ("yesterday", "last night")
_MONTH_TO_MONTH: Final = re.compile(
    rf"\b(?:between|from)\s+{MONTH_NAME}(?:\s+(?P<year>\d{{4}}))?\s+(?:and|to|until|till|through)\s+"
    rf"(?P<last>{'|'.join(MONTHS)})\b(?!\s+\d{{1,2}}(?!\d))(?:,?\s+(?P<last_year>\d{{4}}))?",
    re.I,
)
_NEARBY: Final = 24
"""How many characters before a time the word is looked for that says how it is meant."""
_FROM: Final = re.compile(r"\b(?:between|from)\s+(?:the\s+)?\Z", re.I)
_TO: Final = re.compile(r"\s+(?:and|to|until|till|through)\s+(?:the\s+)?", re.I)
_SINCE: Final = re.compile(r"\bsince\s+(?:the\s+)?(?:(?:early|mid|late)[\s-]+)?\Z", re.I)
_WORD: Final = re.compile(r"\w+")


class Span(NamedTuple):
    """A stretch of time that a question names, in microseconds, half-open."""

    start: int
    end: int


class Times(NamedTuple):
    """The times that a question names, the words of unresolved ones, and its other words.

    ``rest`` is all of the question if only scaffolding would be left.
    """

    spans: tuple[Span, ...]
    unresolved: tuple[str, ...]
    rest: str


def parse_times(question: str, asked: int) -> Times:
    """The times of a question that is asked at ``asked`` (microseconds since the epoch, UTC).

    A day that no calendar has is unresolved.
    """
    now = _EPOCH + asked * _MICROSECOND
    found: list[tuple[Piece, Span]] = []
    understood, within, days = Covered(question), Covered(question), Covered(question)
    for match in (match for form in DAY_FORMS for match in form.finditer(question)):
        days.add(Piece(*match.span()))
    unresolved: list[Piece] = []
    letters = list(question)
    for forms, resolve in _FORMS:
        for match in (match for form in forms for match in form.finditer(question)):
            piece = Piece(*match.span())
            letters[piece.start : piece.end] = " " * (piece.end - piece.start)
            if resolve in (_calendar, _year, _month) and within.touches(piece):
                # The year of "in March of last year" is no time of its own.
                continue
            if resolve is _month and days.touches(piece):
                # Nor is the month of "3 May 2023": the day says more.
                continue
            try:
                start, end = resolve(match, now)
                found.append((piece, Span((start - _EPOCH) // _MICROSECOND, (end - _EPOCH) // _MICROSECOND)))
                understood.add(piece)
            except (OverflowError, ValueError):
                unresolved.append(piece)
            if resolve in (_month, _season, _months_between):
                within.add(piece)
    joined = dict.fromkeys(_joined(question, found, asked))
    rest = " ".join("".join(letters).split())
    rest = rest if any(word not in STOP_WORDS for word in _WORD.findall(rest.lower())) else question
    return Times(tuple(joined), tuple(_unresolved(question, understood, unresolved)), rest)


def _joined(question: str, found: list[tuple[Piece, Span]], asked: int) -> Iterator[Span]:
    """The times in order, with two days that begin and end a span joined into it.

    A time after "since" lasts until the question is asked.
    """
    ends = {piece.start: (piece, span) for piece, span in found}
    taken: set[Piece] = set()
    for piece, span in found:
        if piece in taken:
            continue
        start, end = span
        to = _TO.match(question, piece.end)
        last = ends.get(to.end()) if to is not None else None
        if (
            last is not None
            and _FROM.search(question, max(0, piece.start - _NEARBY), piece.start)
            and start <= last[1].end
        ):
            taken.add(last[0])
            end = last[1].end
        elif (
            _SINCE.search(question, max(0, piece.start - _NEARBY), piece.start)
            or question[piece.start : piece.start + 5].lower() == "since"
        ):
            end = max(end, asked)
        yield Span(start, end)


def nearness(named: tuple[Span, ...], at: int) -> float:
    """How well an instant fits the named times: 1 inside one, falling towards 0 outside.

    0 if no time is named.
    """
    best = 0.0
    for start, end in named:
        away = max(start - at, at - end, 0)
        best = max(best, exp(-2 * away / max(end - start, _DAY_MICROSECONDS)))
    return best


_DAY_MICROSECONDS: Final = 86_400_000_000
_Stretch = tuple[datetime, datetime]


def _number(text: str) -> float:
    return int(text) if text.isdigit() else _NUMBERS[text.lower()]


def _ago(match: re.Match[str], now: datetime) -> _Stretch:
    unit, count = match["unit"].lower(), match["count"].lower()
    days = (_number(count) + 0.5 * bool(match["half"] or match["more"])) * _UNIT_DAYS[unit]
    if match["first"]:
        days += _number(match["first"]) * _UNIT_DAYS[match["first_unit"].lower()]
    middle = now - timedelta(days=days)
    slack = timedelta(days=_SLACK_DAYS[unit] + (_UNIT_DAYS[unit] if count in _VAGUE else 0.0))
    return middle - slack, middle + slack


def _past(match: re.Match[str], now: datetime) -> _Stretch:
    count = _number(match["count"]) if match["count"] else 1
    return now - timedelta(days=count * _UNIT_DAYS[match["unit"].lower()]), now


def _calendar(match: re.Match[str], now: datetime) -> _Stretch:
    """The calendar unit before the one in which the question is asked, or this one so far."""
    this, unit = match["which"].lower() == "this", match["unit"].lower()
    today = _midnight(now)
    if unit in DAYS:
        day = today - timedelta(days=(today.weekday() - DAYS.index(unit)) % 7 or 7)
        return day, day + _DAY_LONG
    if unit in MONTHS:
        return _last_begun(MONTHS.index(unit) + 1, 1, now)
    if unit in ("week", "weekend"):
        start = today - timedelta(days=today.weekday() + (0 if this else 7))
        end = start + timedelta(days=7)
        start = start if unit == "week" else start + timedelta(days=5)
    else:
        length = {"month": 1, "quarter": 3, "year": 12}[unit]
        first = (now.month - 1) // length * length + 1
        start, end = _months(now.year, first if this else first - length, length)
    return start, now if this else end


def _day(match: re.Match[str], now: datetime) -> _Stretch:
    month = month_number(match["month"])
    year = int(match["year"]) if match["year"] else now.year - (month > now.month)
    day = datetime(year, month, int(match["day"]), tzinfo=UTC)
    return day, day + _DAY_LONG


def _month(match: re.Match[str], now: datetime) -> _Stretch:
    month, year = MONTHS.index(match["month"].lower()) + 1, _year_of(match, now)
    return _last_begun(month, 1, now) if year is None else _months(year, month, 1)


def _months_between(match: re.Match[str], now: datetime) -> _Stretch:
    """From the first of one month to the end of another; one year may serve both."""
    first, last = MONTHS.index(match["month"].lower()) + 1, MONTHS.index(match["last"].lower()) + 1
    given, end = (int(match[name]) if match[name] else None for name in ("year", "last_year"))
    if end is None:
        end = given + (last < first) if given else _last_begun(last, 1, now)[0].year
    begin = _months(given or end - (first > last), first, 1)[0]
    return begin, _months(end, last, 1)[1]


def _season(match: re.Match[str], now: datetime) -> _Stretch:
    """The months of a season; the winter of a year is the one that begins in it.

    "Last" is the last that is over, "this" the one of the present year (in its first half, of winters, the one that
    began before it), "in" the last that has begun.
    """
    first, year = _SEASONS[match["season"].lower()], _year_of(match, now)
    which = (match.groupdict().get("which") or "").lower()
    if year is not None:
        return _months(year, first, 3)
    if which == "this":
        return _months(now.year - (first == 12 and now.month <= 6), first, 3)
    start, end = _last_begun(first, 3, now)
    return (start, end) if not which or end <= now else _months(start.year - 1, first, 3)


def _quarter(match: re.Match[str], now: datetime) -> _Stretch:
    first = 3 * int(match["quarter"]) - 2
    return _months(int(match["year"]), first, 3) if match["year"] else _last_begun(first, 3, now)


def _year(match: re.Match[str], now: datetime) -> _Stretch:
    return _months(int(match["year"]), 1, 12)


def _near(match: re.Match[str], now: datetime) -> _Stretch:
    which = match["which"].lower()
    day = _midnight(now) - timedelta(days=2 if "before" in which else which in _DAY_BEFORE)
    return day, day + _DAY_LONG


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _year_of(match: re.Match[str], now: datetime) -> int | None:
    """The year that stands with a month or a season, if one does."""
    if match["relative"]:
        return now.year - (match["relative"].lower() == "last")
    return int(match["year"]) if match["year"] else None


def _last_begun(first: int, length: int, now: datetime) -> _Stretch:
    """So many months from a month of the last year in which it has begun."""
    return _months(now.year if first <= now.month else now.year - 1, first, length)


def _months(year: int, first: int, length: int) -> _Stretch:
    """So many months from the first of one; months count on over the ends of a year."""

    def begin(months: int) -> datetime:
        return datetime(year + (months - 1) // 12, (months - 1) % 12 + 1, 1, tzinfo=UTC)

    return begin(first), begin(first + length)


_Resolve = Callable[[re.Match[str], datetime], _Stretch]
_FORMS: Final[tuple[tuple[tuple[re.Pattern[str], ...], _Resolve], ...]] = (
    ((_SEASON, _SEASON_AND_YEAR), _season),
    ((_MONTH_TO_MONTH,), _months_between),
    ((_MONTH, _MONTH_AND_YEAR), _month),
    ((_AGO,), _ago),
    ((_PAST,), _past),
    ((_LAST,), _calendar),
    (DAY_FORMS, _day),
    ((_QUARTER,), _quarter),
    ((_YEAR,), _year),
    ((_NEAR,), _near),
)
"""Each way to name a time, and what it stands for when it is asked."""
