"""Times that a question names: "two weeks ago", "the last week of May", "until March", "from 2019 on".

A small grammar, read once from left to right. A *point* is a stretch of the calendar ("May 2023", "last spring"), a
part of one ("the first week of", "late") or something counted from one ("three days before"). A *relation* before it
says which stretch is meant: all before it, since it, from one to another. Pure: the same question asked at the same
time names the same times. Seasons are those of the northern hemisphere, by whole months.

Times that hang on an event ("the week after Easter", "before we moved"), are vague ("recently"), have two meanings
("3/5/2024") or lie in no calendar ("31 February") stay unresolved. Those that are recognised are listed, so that an
answer can say that it does not rest on them. The words and forms are in :mod:`english_times`; :mod:`foreign_times` puts
those of other languages into English.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence, Set
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, lru_cache
from math import exp
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.log.model.times import (
    ALWAYS,
    DAY_FORMS,
    DAY_MICROSECONDS,
    DAYS,
    FOREVER,
    MAX_TIME,
    MIN_TIME,
    MONTHS,
    lazy,
    month_number,
)
from worlddb.projections.indexes.analysis import STOP_WORDS, function_words, is_asking, language_of, words_in
from worlddb.query.question import english_times as english

if TYPE_CHECKING:
    from worlddb.query.question import foreign_times

MAX_LISTED: Final = 5
"""How many unresolved times are listed at most; the others are counted."""
_LONGEST: Final = 80
"""Characters of one of them that are listed, and how far before "ago" its words are looked for."""


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


class Span(NamedTuple):
    """A stretch of time that a question names, in microseconds, half-open.

    Outside of it :func:`nearness` falls over ``reach`` microseconds, or over its own length if that is 0.
    """

    start: int
    end: int
    reach: int = 0


class Time(NamedTuple):
    """The words of a question that name a time, and the time; ``is_bound`` if they ask what held until or just then."""

    words: str
    span: Span
    is_bound: bool = False


class Times(NamedTuple):
    """The times that a question names, the words of unresolved ones, and its other words.

    ``rest`` is all of the question if only scaffolding would be left. ``read`` has the words of each time, ``unlisted``
    how many more are unresolved than are listed, ``tense`` of when it asks.
    """

    spans: tuple[Span, ...]
    unresolved: tuple[str, ...]
    rest: str
    read: tuple[Time, ...] = ()
    unlisted: int = 0
    tense: english.Tense = ""


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY_LONG: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_MONTH_LONG: Final = timedelta(days=28)
_YEAR_LONG: Final = timedelta(days=365)
_ONCE: Final = timedelta()


class _Point(NamedTuple):
    """A stretch of the calendar and where its words end; none if no calendar has it.

    Every ``cycle`` there is another one that is called the same. ``is_end`` if the words name the end of something,
    ``is_this`` if they name this week, month or year, of which only what has been counts, ``is_free`` if they need no
    word before them, ``is_coming`` if they name the next day or weekend that is called so. ``also`` is another stretch
    that the same words may name.
    """

    end: int
    stretch: tuple[datetime, datetime] | None
    cycle: timedelta = _ONCE
    is_end: bool = False
    is_today: bool = False
    is_this: bool = False
    is_free: bool = False
    is_coming: bool = False
    also: _Stretch | None = None


_Stretch = tuple[datetime, datetime]
_Resolve = Callable[[re.Match[str], datetime], _Stretch]


def _number(text: str) -> float:
    return int(text) if text.isdigit() else english.NUMBERS[text.lower()]


def _place_of(nth: str) -> int:
    """Which one an ordinal names, from 1; -1 for the last."""
    nth = nth.lower()
    return -1 if nth in english.LAST_ONES else int(nth[:-2]) if nth[0].isdigit() else 1 + english.ORDINALS.index(nth)


def _ago(match: re.Match[str], now: datetime) -> _Stretch:
    unit, count = match["unit"].lower(), match["count"].lower()
    days = (_number(count) + 0.5 * bool(match["half"] or match["more"])) * english.UNIT_DAYS[unit]
    if match["first"]:
        days += _number(match["first"]) * english.UNIT_DAYS[match["first_unit"].lower()]
    if match["sharp"] and unit in ("month", "year") and days == _number(count) * english.UNIT_DAYS[unit]:
        day = _shift(_midnight(now), unit, -int(_number(count)))
        return day, day + _DAY_LONG
    middle = now - timedelta(days=days)
    slack = timedelta(days=english.SLACK_DAYS[unit] + (english.UNIT_DAYS[unit] if count in english.VAGUE else 0.0))
    return (_midnight(middle), _midnight(middle) + _DAY_LONG) if match["sharp"] else (middle - slack, middle + slack)


def _named_ago(match: re.Match[str], now: datetime) -> _Stretch:
    """The season, month or weekday of a name so many times back, of those that are over."""
    count, named = int(_number(match["count"])), match["named"].lower()
    if named in DAYS:
        start, end = _weekday(named, now)
        return start - (count - 1) * _WEEK, end - (count - 1) * _WEEK
    first, length = (english.SEASONS[named], 3) if named in english.SEASONS else (MONTHS.index(named) + 1, 1)
    start, end = _last_begun(first, length, now)
    return _months(start.year - count + (end <= now), first, length)


def _past(match: re.Match[str], now: datetime) -> _Stretch:
    count = _number(match["count"]) if match["count"] else 1
    return now - timedelta(days=count * english.UNIT_DAYS[match["unit"].lower()]), now


def _calendar(match: re.Match[str], now: datetime) -> _Stretch:
    """The calendar unit before the one in which the question is asked, or this one."""
    this, unit = match["which"].lower() == "this", match["unit"].lower()
    today = _midnight(now)
    if unit in DAYS:
        return _weekday(unit, now)
    if unit in MONTHS:
        return _last_begun(MONTHS.index(unit) + 1, 1, now)
    if unit in ("week", "weekend"):
        start = today - timedelta(days=today.weekday() + (0 if this else 7))
        end = start + _WEEK
        start = start if unit == "week" else start + timedelta(days=5)
    else:
        length = {"month": 1, "quarter": 3, "year": 12}[unit]
        first = (now.month - 1) // length * length + 1
        start, end = _months(now.year, first if this else first - length, length)
    return start, end


def _coming(match: re.Match[str], now: datetime) -> _Stretch:
    """The next unit of the calendar, month, season or weekday of a name that has not begun."""
    unit = match["unit"].lower()
    if unit in DAYS:
        day = _midnight(now) + timedelta(days=(DAYS.index(unit) - now.weekday()) % 7 or 7)
        return day, day + _DAY_LONG
    if unit in ("week", "weekend"):
        start = _midnight(now) - timedelta(days=now.weekday()) + _WEEK
        return (start if unit == "week" else start + timedelta(days=5)), start + _WEEK
    if unit in MONTHS or unit in english.SEASONS:
        first, length = (MONTHS.index(unit) + 1, 1) if unit in MONTHS else (english.SEASONS[unit], 3)
        return _months(now.year + (first <= now.month), first, length)
    length = {"month": 1, "quarter": 3, "year": 12}[unit]
    return _months(now.year, (now.month - 1) // length * length + 1 + length, length)


def _next_but_one(match: re.Match[str], stretch: _Stretch, now: datetime) -> _Stretch | None:
    """The weekday of next week, where "next Friday" may be that or the one of this week, which comes first."""
    is_this_week = (match["unit"].lower() in DAYS) and stretch[0] < _midnight(now) + timedelta(days=7 - now.weekday())
    return (stretch[0] + _WEEK, stretch[1] + _WEEK) if is_this_week else None


def _before_last(match: re.Match[str], now: datetime) -> _Stretch:
    """The unit before the one that "last" names."""
    unit, today = match["unit"].lower(), _midnight(now)
    if unit in DAYS:
        start, end = _weekday(unit, now)
        return start - _WEEK, end - _WEEK
    if unit in english.SEASONS:
        start, end = _last_begun(english.SEASONS[unit], 3, now)
        return _months(start.year - 1 - (end > now), english.SEASONS[unit], 3)
    if unit in ("week", "weekend"):
        start = today - timedelta(days=today.weekday() + 14)
        return (start if unit == "week" else start + timedelta(days=5)), start + _WEEK
    length = {"month": 1, "quarter": 3, "year": 12}[unit]
    return _months(now.year, (now.month - 1) // length * length + 1 - 2 * length, length)


def _same_time(match: re.Match[str], now: datetime) -> _Stretch:
    unit = match["unit"].lower()
    day = _shift(_midnight(now), unit, -1)
    slack = timedelta() if match["same"].lower() == "day" else timedelta(days=english.SLACK_DAYS[unit] / 4)
    return day - slack, day + _DAY_LONG + slack


def _day(match: re.Match[str], now: datetime) -> _Stretch:
    month = month_number(match["month"])
    year = int(match["year"]) if match["year"] else now.year - (month > now.month)
    day = datetime(year, month, int(match["day"]), tzinfo=UTC)
    return day, day + _DAY_LONG


def _days(match: re.Match[str], now: datetime) -> _Stretch:
    """From one day of a month to another."""
    first = _day(match, now)[0]
    last = first.replace(day=int(match["last"]))
    if last < first:
        raise ValueError("the last day comes before the first")
    return first, last + _DAY_LONG


def _nth_of_month(match: re.Match[str], now: datetime) -> _Stretch:
    month = month_number(match["month"])
    year = int(match["year"]) if match["year"] else now.year - (month > now.month)
    day = datetime(year, month, _place_of(match["nth"]), tzinfo=UTC)
    return day, day + _DAY_LONG


def _nth_day(match: re.Match[str], now: datetime) -> _Stretch:
    """A day of the month in which the question is asked, or of the last one that had it."""
    nth, month = int(match["nth"]), now.year * 12 + now.month - 1
    if not 1 <= nth <= 31:
        raise ValueError("no month has such a day")
    month -= (match["of"] or "").lower() == "last" or (match["of"] is None and nth > now.day)
    while match["of"] is None and (_shift(_month_begin(month), "month", 1) - _month_begin(month)).days < nth:
        month -= 1
    day = _month_begin(month).replace(day=nth)
    return day, day + _DAY_LONG


def _figures(match: re.Match[str], now: datetime) -> _Stretch:
    """A day in figures; with slashes or dashes only if it has one meaning wherever it is written."""
    del now
    one, two, year = int(match["one"]), int(match["two"]), match["year"]
    if len(year) != 4 or (match["dot"] != "." and one != two and max(one, two) <= 12):
        raise ValueError("such a date is read in two ways")
    day, month = (one, two) if match["dot"] == "." or one > 12 else (two, one)
    start = datetime(int(year), month, day, tzinfo=UTC)
    return start, start + _DAY_LONG


def _short_figures(match: re.Match[str], now: datetime) -> _Stretch:
    """A day and its month in figures, in the order that has one meaning; behind full stops days stand first."""
    one, two = int(match["one"]), int(match["month"] or match["two"])
    if match["month"] is None and one != two and max(one, two) <= 12:
        raise ValueError("such a date is read in two ways")
    day, month = (one, two) if match["month"] or one > 12 else (two, one)
    start = datetime(now.year - (month > now.month), month, day, tzinfo=UTC)
    return start, start + _DAY_LONG


def _month(match: re.Match[str], now: datetime) -> _Stretch:
    month, year = month_number(match["month"]), _year_of(match, now)
    return _last_begun(month, 1, now) if year is None else _months(year, month, 1)


def _iso_month(match: re.Match[str], now: datetime) -> _Stretch:
    del now
    return _months(int(match["year"]), datetime(int(match["year"]), int(match["month"]), 1).month, 1)


def _iso_week(match: re.Match[str], now: datetime) -> _Stretch:
    del now
    start = datetime.fromisocalendar(int(match["year"]), int(match["week"]), 1).replace(tzinfo=UTC)
    return start, start + _WEEK


def _season(match: re.Match[str], now: datetime) -> _Stretch:
    """The months of a season; the winter of a year is the one that begins in it.

    "Last" is the last that is over, "in" the last that has begun.
    """
    first, year = english.SEASONS[match["season"].lower()], _year_of(match, now)
    which = (match["which"] or "").lower()
    if year is not None:
        return _months(year, first, 3)
    start, end = _last_begun(first, 3, now)
    return (start, end) if not which or end <= now else _months(start.year - 1, first, 3)


def _quarter(match: re.Match[str], now: datetime) -> _Stretch:
    named = match["quarter"].lower()
    quarter = int(named) if named.isdigit() else _place_of(named)
    if not 1 <= quarter <= 4:
        raise ValueError("a year has four quarters")
    year = match.groupdict().get("year")
    return _months(int(year), 3 * quarter - 2, 3) if year else _last_begun(3 * quarter - 2, 3, now)


def _half(match: re.Match[str], now: datetime) -> _Stretch:
    del now
    return _months(int(match["year"]), 6 * int(match["half"]) - 5, 6)


def _year(match: re.Match[str], now: datetime) -> _Stretch:
    del now
    return _months(int(match["year"]), 1, 12)


def _years(match: re.Match[str], now: datetime) -> _Stretch:
    del now
    first, last = int(match["year"]), int(match["last_year"])
    if last < first:
        raise ValueError("the last year comes before the first")
    return _months(first, 1, 12 * (last - first + 1))


def _decade(match: re.Match[str], now: datetime) -> _Stretch:
    del now
    year = int(match["year"])
    return _months(year, 1, 1200 if year % 100 == 0 and year < 2000 else 120)


def _near(match: re.Match[str], now: datetime) -> _Stretch:
    day = _midnight(now) + timedelta(days=english.NEAR_DAYS.get(match["which"].lower(), 0))
    return day, day + _DAY_LONG


def _on_weekday(match: re.Match[str], now: datetime) -> _Stretch:
    return _weekday(match["unit"].lower(), now)


def _coming_weekday(match: re.Match[str], now: datetime) -> _Stretch:
    """The next day of a name, or today."""
    day = _midnight(now) + timedelta(days=(DAYS.index(match["unit"].lower()) - now.weekday()) % 7)
    return day, day + _DAY_LONG


def _weekend(match: re.Match[str], now: datetime) -> _Stretch:
    """The last weekend that has begun."""
    del match
    start = _midnight(now) - timedelta(days=(now.weekday() - 5) % 7)
    return start, start + 2 * _DAY_LONG


def _coming_weekend(match: re.Match[str], now: datetime) -> _Stretch:
    """The weekend of this week, which ends with it."""
    del match
    start = _midnight(now) + timedelta(days=5 - now.weekday())
    return start, start + 2 * _DAY_LONG


def _coming_nth_day(match: re.Match[str], now: datetime) -> _Stretch:
    """A day of this month, today or later, or of the next one that has it."""
    nth, month = int(match["nth"]), now.year * 12 + now.month - 1
    if not 1 <= nth <= 31:
        raise ValueError("no month has such a day")
    month += nth < now.day
    while (_month_begin(month + 1) - _month_begin(month)).days < nth:
        month += 1
    day = _month_begin(month).replace(day=nth)
    return day, day + _DAY_LONG


def _from_now(match: re.Match[str], now: datetime) -> _Stretch:
    """So much later, give or take as much as :func:`_ago` does; of days that day."""
    unit, count = match["unit"].lower(), match["count"].lower()
    middle = now + timedelta(days=_number(count) * english.UNIT_DAYS[unit])
    if english.UNIT_DAYS[unit] == 1 and count not in english.VAGUE:
        return _midnight(middle), _midnight(middle) + _DAY_LONG
    slack = timedelta(days=english.SLACK_DAYS[unit] + (english.UNIT_DAYS[unit] if count in english.VAGUE else 0.0))
    return max(now, middle - slack), middle + slack


def _weekday(named: str, now: datetime) -> _Stretch:
    """The last day of a name before the one on which the question is asked."""
    today = _midnight(now)
    day = today - timedelta(days=(today.weekday() - DAYS.index(named)) % 7 or 7)
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
    return _month_begin(year * 12 + first - 1), _month_begin(year * 12 + first - 1 + length)


def _month_begin(months: int) -> datetime:
    return datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)


def _shift(day: datetime, unit: str, count: int) -> datetime:
    """So many units on; of months to the same day, or the last if a month has no such day."""
    if unit in ("month", "quarter", "year"):
        months = day.year * 12 + day.month - 1 + count * {"month": 1, "quarter": 3, "year": 12}[unit]
        begin = _month_begin(months)
        return begin + timedelta(days=min(day.day, (_month_begin(months + 1) - begin).days) - 1)
    return day + count * timedelta(days=english.UNIT_DAYS[unit])


def _part_of(part: str, stretch: _Stretch) -> _Stretch | None:
    """A third of a month or a year; "early", "mid" and "late" in a season or quarter leave all of it."""
    start, end = stretch
    part, days = part.lower(), (end - start).days
    if days < 28:
        return None
    which = 0 if part in ("early", "beginning", "start") else 1 if part in ("mid", "middle") else 2
    if 89 <= days <= 92 and part in ("early", "mid", "late"):
        return stretch
    if days <= 31:
        edges = [start, start + timedelta(days=10), start + timedelta(days=20), end]
    else:
        months = round(days / 30.44)
        edges = [_shift(start, "month", months * each // 3) for each in range(3)] + [end]
    return edges[which], edges[which + 1]


def _nth_part(match: re.Match[str], stretch: _Stretch) -> _Stretch:
    """The first, second or last day, week, weekday, month, quarter or half of a stretch.

    Weeks are counted from its first day, seven days each; the last week are its last seven days.

    Raises:
        ValueError: it has no such part.
    """
    (start, end), unit, nth = stretch, match["unit"].lower(), _place_of(match["nth"])
    count = max(1, int(_number(match["count"]))) if match["count"] else 3 if match["many"] else 1
    if unit in DAYS or unit == "weekend":
        weekday = 5 if unit == "weekend" else DAYS.index(unit)
        length = timedelta(days=2) if unit == "weekend" else _DAY_LONG
        first = start + timedelta(days=(weekday - start.weekday()) % 7)
        last = end - _DAY_LONG - timedelta(days=((end - _DAY_LONG).weekday() - weekday) % 7)
        begin, finish = first + (nth - 1) * _WEEK, first + (nth - 1) * _WEEK + length
        if nth < 0:
            begin, finish = last, last + length
    elif unit == "half" and (end - start).days < 32:
        middle = start + timedelta(days=15)
        begin, finish = {1: (start, middle), 2: (middle, end), -1: (middle, end)}.get(nth, (end, end))
    else:
        unit, count = ("month", 6 * count) if unit == "half" else (unit, count)
        begin = _shift(end, unit, -count) if nth < 0 else _shift(start, unit, (nth - 1) * count)
        finish = end if nth < 0 else min(end, _shift(start, unit, nth * count))
    if not start <= begin < end:
        raise ValueError("there is no such part")
    return begin, finish


def _adjoining_stretch(match: re.Match[str], stretch: _Stretch) -> _Stretch:
    """What lies so far before or after a stretch; without a number, the unit that adjoins it."""
    start, end = stretch
    unit, before = match["unit"].lower(), match["side"].lower()[0] in "bp"
    given = match.groupdict().get("count")
    if unit == "weekend" or unit in DAYS:
        weekday = 5 if unit == "weekend" else DAYS.index(unit)
        length = timedelta(days=2) if unit == "weekend" else _DAY_LONG
        far = max(1, int(_number(given))) - 1 if given else 0
        if before:
            last = start - length - timedelta(days=((start - length).weekday() - weekday) % 7) - far * _WEEK
            return last, last + length
        first = end + timedelta(days=(weekday - end.weekday()) % 7) + far * _WEEK
        return first, first + length
    if not given:
        return (_shift(start, unit, -1), start) if before else (end, _shift(end, unit, 1))
    days = timedelta(days=_number(given) * english.UNIT_DAYS[unit])
    from_here = start if before else end - _DAY_LONG
    middle = from_here - days if before else from_here + days
    if unit == "day":
        return middle, middle + _DAY_LONG
    slack = timedelta(days=english.SLACK_DAYS[unit])
    return middle - slack, middle + _DAY_LONG + slack


def _containing_week(unit: str, stretch: _Stretch) -> _Stretch | None:
    """The week or weekend in which a day lies, none of a month; a month or a year of that name is what it is."""
    if unit not in ("week", "weekend"):
        return stretch
    if stretch[1] - stretch[0] > _WEEK:
        return None
    start = _midnight(stretch[0]) - timedelta(days=stretch[0].weekday())
    return (start if unit == "week" else start + timedelta(days=5)), start + _WEEK


class _Form(NamedTuple):
    """A way to name a point: its words, and what they stand for.

    Without ``leads`` it needs no word before it. ``cycle``: how often there is one that is called so without a year.
    ``coming`` is what it stands for in a sentence that is not of the past.
    """

    pattern: re.Pattern[str]
    resolve: _Resolve
    leads: frozenset[str] | None = None
    cycle: timedelta = _ONCE
    coming: _Resolve | None = None


_DAY_OF_MONTH: Final = tuple(_Form(form, _day, None, _YEAR_LONG) for form in DAY_FORMS)
_COUNTS: Final = (
    _Form(english.AGO, _ago),
    _Form(english.NAMED_AGO, _named_ago),
    _Form(english.IN_COUNT, _from_now, english.COUNT_LEADS, coming=_from_now),
)
_WHICH: Final = (
    _Form(english.NEAR, _near),
    _Form(english.COMING, _coming),
    _Form(english.LAST, _calendar),
    _Form(english.SEASON, _season),
    _Form(english.SAME_TIME, _same_time),
)
_LAST_FORMS: Final = (_Form(english.BEFORE_LAST, _before_last),)
_MONTH_FORMS: Final = (
    _Form(english.MONTH_AND_DAYS, _days, None, _YEAR_LONG),
    _DAY_OF_MONTH[1],
    _Form(english.MONTH, _month, english.MONTH_LEADS, _YEAR_LONG),
    _Form(english.SHORT_MONTH, _month),
)
_DIGIT_FORMS: Final = (
    _Form(english.FIGURES, _figures),
    _Form(english.SHORT_FIGURES, _short_figures, english.SHORT_LEADS, _YEAR_LONG),
    _DAY_OF_MONTH[2],
    _Form(english.DAYS_OF_MONTH, _days, None, _YEAR_LONG),
    _DAY_OF_MONTH[0],
    _Form(english.YEAR_QUARTER, _quarter),
    _Form(english.ISO_MONTH, _iso_month, english.DATING),
    _Form(english.YEARS, _years, english.DATING),
    _Form(english.DECADE, _decade, english.DATING),
    _Form(english.YEAR, _year, english.DATING),
    _Form(english.NTH_DAY, _nth_day, english.DAY_LEADS, _MONTH_LONG, _coming_nth_day),
    _Form(english.NTH_QUARTER, _quarter, english.SEASON_LEADS, _YEAR_LONG),
    *_COUNTS,
)
_FORMS: Final[dict[str, tuple[_Form, ...]]] = {
    **dict.fromkeys(("last", "previous", "past", "this", "same", "yesterday", "today", "tonight", "tomorrow"), _WHICH),
    **dict.fromkeys(MONTHS, _MONTH_FORMS),
    **dict.fromkeys((*(month[:3] for month in MONTHS if len(month) > 3), "sept"), _MONTH_FORMS),
    **dict.fromkeys(english.SEASONS, (*_LAST_FORMS, _Form(english.SEASON, _season, english.SEASON_LEADS, _YEAR_LONG))),
    **dict.fromkeys(
        DAYS,
        (
            *_LAST_FORMS,
            _Form(english.WEEKDAY, _on_weekday, english.DAY_LEADS, _WEEK, _coming_weekday),
            _Form(english.WEEKDAY_ALONE, _on_weekday, frozenset(("for",)), _WEEK, _coming_weekday),
        ),
    ),
    **dict.fromkeys(("q1", "q2", "q3", "q4"), (_Form(english.QUARTER, _quarter, None, _YEAR_LONG),)),
    **dict.fromkeys(("q0", "q5", "q6", "q7", "q8", "q9"), (_Form(english.QUARTER, _quarter, english.DATING),)),
    **dict.fromkeys(("h1", "h2"), (_Form(english.HALF, _half),)),
    **dict.fromkeys((*english.COUNTED, "half", "a", "an", *english.VAGUE), _COUNTS),
    **dict.fromkeys(
        (*english.ORDINALS, "twenty", "thirty"),
        (
            _Form(english.NTH_OF_MONTH, _nth_of_month, None, _YEAR_LONG),
            _Form(english.NTH_QUARTER, _quarter, english.SEASON_LEADS, _YEAR_LONG),
        ),
    ),
    "twenty": (*_COUNTS, _Form(english.NTH_OF_MONTH, _nth_of_month, None, _YEAR_LONG)),
    "next": (_Form(english.NEXT, _coming),),
    "coming": (_Form(english.COMING, _coming),),
    "day": (_Form(english.NEAR, _near),),
    "week": (*_LAST_FORMS, _Form(english.ISO_WEEK, _iso_week)),
    "calendar": (_Form(english.ISO_WEEK, _iso_week),),
    "year": (*_LAST_FORMS, _Form(english.CALLED_YEAR, _year, english.DATING)),
    **dict.fromkeys(("month", "quarter"), _LAST_FORMS),
    "weekend": (
        *_LAST_FORMS,
        _Form(english.WEEKEND, _weekend, english.WEEKEND_LEADS, _WEEK, _coming_weekend),
        _Form(english.AT_WEEKEND, _weekend, None, _WEEK, _coming_weekend),
    ),
}
"""The forms of points by their first word."""
_PAST_FORM: Final = _Form(english.PAST, _past)
_LEADING: Final[dict[str, tuple[re.Pattern[str], ...]]] = {
    **dict.fromkeys(("early", "mid", "middle", "late", "beginning", "start", "end", "close"), (english.PART,)),
    **dict.fromkeys(
        (*english.ORDINALS, *english.LAST_ONES, "twenty", "thirty"), (english.NTH_UNIT, english.BESIDE_ANOTHER)
    ),
    **dict.fromkeys((*english.COUNTED, "a", "an", *english.VAGUE), (english.BESIDE_ANOTHER,)),
    **dict.fromkeys(
        ("day", "week", "weekend", "fortnight", "month", "year"), (english.BESIDE_ANOTHER, english.UNIT_OF)
    ),
    **dict.fromkeys(("next", "previous", *DAYS), (english.BESIDE_ANOTHER,)),
    "quarter": (english.UNIT_OF,),
}
"""What makes a point of the one behind it, by its first word."""
_BEGINNINGS: Final = frozenset((*english.RELATIONS, *english.BETWEEN, *_FORMS, *_LEADING, "the"))
"""The words with which a time may begin; it may with a digit, too."""
_BESIDE: Final = frozenset((*DAYS, "day", "week", "weekend", "month", "year"))
_DEEPEST: Final = 4
"""How many such parts one time has at most: "three days before the last week of early May"."""
_NEARBY: Final = 24
_SENTENCE: Final = 160
"""Characters around a weekday in which verbs are looked for."""


class _Reader:
    """Reads the times of a question from left to right."""

    def __init__(
        self,
        question: str,
        asked: int,
        tense: english.Tense | None = None,
        told: english.Tense | None = None,
        *,
        is_told: bool = False,
    ) -> None:
        self.question = question
        if tense is not None:
            self.tense = tense
        if not is_told:
            self._told = told
        self.asked = asked
        self.now = _EPOCH + asked * _MICROSECOND
        self.read: list[tuple[Piece, Time]] = []
        self.blank: list[Piece] = []
        self.impossible: list[Piece] = []
        self.passed: list[Piece] = []
        self._is_past: bool | None = None
        self._is_joining = False
        """True while one end of a range is looked for beside the other: it is the last one before that."""

    @cached_property
    def tense(self) -> english.Tense:
        """Of when the question asks, by its verbs."""
        return tense_of(self.question)

    @cached_property
    def _told(self) -> english.Tense | None:
        """Of when its sentences tell, where their verbs are not there; empty if that is not known.

        What is read as a text that tells, ``is_told``, is of the present without a verb.
        """
        return self.tense or "present"

    @property
    def is_past(self) -> bool:
        """True if the question asks of the past, by its verbs."""
        if self._is_past is None:
            self._is_past = english.IS_PAST.search(self.question) is not None
        return self._is_past

    def is_dated(self, end: int) -> bool:
        """True if a time that was read stands right behind, with no sign between."""
        following = bisect_left(self.read, end, key=lambda read: read[0].start)
        start = self.read[following][0].start if following < len(self.read) else end + _NEARBY + 1
        return start <= end + _NEARBY and english.NO_SIGN.fullmatch(self.question, end, start) is not None

    def scan(self) -> frozenset[str]:
        """Read the times; gives all words of the question in small letters."""
        words, until = [*map(str.lower, english.TOKEN.findall(self.question))], 0
        for token, word in zip(english.TOKEN.finditer(self.question), words, strict=True):
            if (word not in _BEGINNINGS and not word[0].isdigit()) or token.start() < until:
                continue
            if word in english.RELATIONS:
                until = self._read_relation(word, token.start()) or self._read_point(token.start(), word)
            elif word in english.BETWEEN:
                until = self._read_range(word, token.start())
            else:
                until = self._read_point(token.start(), word)
        return frozenset(words)

    def _read_relation(self, word: str, start: int) -> int:
        """Read a relation and its point; gives where they end, or 0."""
        for form, relation in english.RELATIONS[word]:
            match = form.match(self.question, start)
            if match is None:
                continue
            if word in ("by", "of") and english.GROWN.search(self.question, max(0, start - _NEARBY), start):
                continue
            point = self._parse_point(match.end(), word, self.now)
            if point is not None and relation == english.SINCE and word in english.STARTING:
                point = self._coming_if_planned(match, point, word)
            if point is not None:
                return self._add_time(Piece(start, point.end), match.end(), point, relation)
        return 0

    def _read_point(self, start: int, word: str) -> int:
        """Read a point that stands for itself; gives where it ends, or 0."""
        if word in english.RELATIONS and word not in _LEADING:
            return 0
        point = self._parse_point(start, "", self.now)
        return 0 if point is None else self._add_time(Piece(start, point.end), start, point, english.WITHIN)

    def _read_range(self, word: str, start: int) -> int:
        """Read "from one to another", or "from one" alone; gives where it ends, or 0."""
        opening = english.FROM.match(self.question, start)
        if opening is None or english.GROWN.search(self.question, max(0, start - _NEARBY), start):
            return 0
        core = opening.end()
        first = self._parse_point(core, "between", self.now)
        to = None if first is None else english.UP_TO.match(self.question, first.end)
        if first is None:
            return 0
        if to is not None:
            last = self._parse_point(to.end(), "between", self.now)
            if last is not None and first.stretch and last.stretch:
                if last.also is not None and last.stretch[0] < first.stretch[0]:
                    last = last._replace(stretch=last.also)
                stretch = self._join_points(core, first, to.end(), last)
                return self._add_time(Piece(start, last.end), core, _Point(last.end, stretch), english.BETWEEN[1])
            if (now := english.NOW.match(self.question, to.end())) is not None:
                return self._add_time(Piece(start, now.end()), core, first, english.SINCE)
            if self.question[to.end() : to.end() + 1].isdigit():
                # "From 2000 to 2100 euros" names no time.
                return 0
        onwards = english.ONWARDS.match(self.question, first.end)
        if onwards is not None:
            first = self._coming_if_planned(opening, first, "between")
            return self._add_time(Piece(start, onwards.end()), core, first, english.SINCE)
        if word == "from" and self._parse_point(core, "from", self.now) is None:
            return 0
        return self._add_time(Piece(start, first.end), core, first, english.WITHIN)

    def _coming_if_planned(self, match: re.Match[str], point: _Point, lead: str) -> _Point:
        """The coming one of a point from which on something is so, unless its sentence tells that it was.

        "From October on" is a plan where somebody works, and none where somebody worked.
        """
        is_told = self.tense == "present" or (
            not self.tense and english.TELLS_NOW.search(self.question) is not None and not is_asking(self.question)
        )
        if not is_told or self.tells_of_past(match.start(), point.end):
            return point
        tense, self.tense = self.tense, "ahead"
        coming = self._parse_point(match.end(), lead, self.now)
        self.tense = tense
        return point if coming is None or coming.stretch is None or coming.end != point.end else coming

    def tells_of_past(self, start: int, end: int) -> bool:
        """True if the clause around a time tells what was so from then on."""
        before = english.CLAUSE_END.split(self.question[max(0, start - _SENTENCE) : start])[-1]
        said = before + " " + english.CLAUSE_END.split(self.question[end : end + _SENTENCE])[0]
        return english.WAS_SO.search(said) is not None and english.WILL_BE_SO.search(said) is None

    def _join_points(self, at: int, first: _Point, last_at: int, last: _Point) -> _Stretch | None:
        """From the begin of one point to the end of another; a year that stands with one of them serves both."""
        self._is_joining = True
        try:
            if last.is_coming and first.stretch:
                last = self._parse_point(last_at, "between", first.stretch[0]) or last
            elif first.cycle and last.stretch and last.cycle != _MONTH_LONG:
                first = self._parse_point(at, "between", last.stretch[1] - _MICROSECOND) or first
            elif last.cycle and first.stretch:
                later = first.stretch[0] + last.cycle - (_ONCE if last.cycle == _WEEK else _MICROSECOND)
                last = self._parse_point(last_at, "between", later) or last
        except OverflowError:
            return None
        finally:
            self._is_joining = False
        if first.stretch is None or last.stretch is None or first.stretch[0] > last.stretch[1]:
            return None
        return first.stretch[0], last.stretch[1]

    def _add_time(self, piece: Piece, core: int, point: _Point, relation: str) -> int:
        """Keep what has been read; gives where it ends."""
        text = self.question
        if point.stretch is None:
            plain = relation == english.WITHIN and text[core : core + 4].lower() != "the "
            self.impossible.append(Piece(core, piece.end) if plain else piece)
            return piece.end
        if point.is_today and relation in (english.BEFORE, english.THROUGH, english.AS_OF):
            self.passed.append(piece)
            return piece.end
        is_until = relation in (english.BEFORE, english.THROUGH)
        stretch = point.also if point.also is not None and is_until else point.stretch
        start, end = ((at - _EPOCH) // _MICROSECOND for at in stretch)
        end = min(end, self.asked) if point.is_this and start < self.asked else end
        reach = max(end - start, DAY_MICROSECONDS)
        if relation in (english.BEFORE, english.THROUGH):
            span = Span(ALWAYS, end if relation == english.THROUGH or point.is_end else start, reach)
        elif relation == english.SINCE:
            span = Span(start, max(end, self.asked))
        elif relation == english.AFTER and end < self.asked:
            span = Span(end, self.asked)
        elif relation == english.AFTER and start > self.asked:
            span = Span(end, FOREVER, reach)
        else:
            span = Span(start, end)
        # "In" stays with "in the past week", and goes with "in May", which is none without it.
        self.blank.append(Piece(core, piece.end) if relation == english.WITHIN and point.is_free else piece)
        words = " ".join(text[piece.start : piece.end].split())
        self.read.append(
            (piece, Time(words, span, relation in (english.BEFORE, english.AS_OF) and start <= self.asked))
        )
        if point.also is not None and relation == english.WITHIN:
            self._add_time(piece, core, point._replace(stretch=point.also, also=None), relation)
        return piece.end

    def _parse_point(self, at: int, lead: str, now: datetime, depth: int = 0) -> _Point | None:
        """The point that begins there, for a question asked ``now``."""
        article = english.ARTICLE.match(self.question, at)
        begin = at if article is None else article.end()
        there = english.WORD_THERE.match(self.question, begin)
        if there is None:
            return None
        word = there[0].lower()
        for form in _LEADING.get(word, (english.NTH_UNIT, english.BESIDE_ANOTHER) if word[0].isdigit() else ()):
            match = form.match(self.question, begin) if depth < _DEEPEST else None
            inner = None if match is None else self._parse_point(match.end(), "part", now, depth + 1)
            if match is not None and inner is not None:
                made = self._derive_point(form, match, inner)
                if made is not None:
                    return made
        beside = english.BESIDE_THAT.match(self.question, begin) if word in _BESIDE else None
        if beside is not None and (point := self._beside_that(beside, now)) is not None:
            return point
        forms = _DIGIT_FORMS if word[0].isdigit() else _FORMS.get(word, ())
        if word in ("past", "last") and (begin > at or english.PAST_COUNT.match(self.question, begin)):
            forms = (_PAST_FORM, *forms)
        for each in forms:
            match = each.pattern.match(self.question, begin)
            if match is None or not self._may_stand_there(each, match, lead):
                continue
            if each.pattern is english.NEXT and match["unit"].lower() in DAYS and self._is_to_come(match):
                return None
            if each.coming is not None and not match.groupdict().get("of"):
                return self._parse_by_tense(each, match, lead, now, depth)
            dated = match.groupdict()
            is_dated = bool(dated.get("year") or dated.get("relative"))
            if self._is_attribute(each, match, self.question[at:begin].lower(), is_dated=is_dated):
                continue
            cycle = _ONCE if is_dated or dated.get("which") else each.cycle
            try:
                stretch = self._current_one(match, now) if _is_this_one(dated) else each.resolve(match, now)
                if cycle == _YEAR_LONG and stretch[1] <= now:
                    stretch = self._choose_year(stretch, each.resolve(match, now + _YEAR_LONG), lead, now)
                elif cycle == _YEAR_LONG and stretch[0] > now and self.tense == "past":
                    stretch = each.resolve(match, now - _YEAR_LONG)
            except (OverflowError, ValueError):
                return _Point(match.end(), None)
            # In a question about the past, "this week" is its past part.
            is_this = self.tense == "past" and each.resolve is _calendar and dated["which"].lower() == "this"
            also = _next_but_one(match, stretch, now) if each.pattern is english.NEXT else None
            is_today = match[0].lower() == "today"
            return _Point(match.end(), stretch, cycle, False, is_today, is_this, each.leads is None, also=also)
        return None

    def _is_to_come(self, match: re.Match[str]) -> bool:
        """True of a day to come in a statement beside a question."""
        return self._told is None and self._is_stated(match)

    def _beside_that(self, match: re.Match[str], now: datetime) -> _Point | None:
        """The day or week before or after the time that was named before it, or after the next one.

        Where none was, a weekday after is the one after the coming one, and one before is of no time that is known.
        """
        unit, is_after = match["unit"].lower(), match["side"].lower() == "after"
        try:
            if match["next"]:
                stretch = _coming(match, now) if is_after and unit != "day" else None
                also = None if stretch is None else _next_but_one(match, stretch, now)
                later = [None if each is None else _adjoining_stretch(match, each) for each in (stretch, also)]
                return None if later[0] is None else _Point(match.end(), later[0], is_free=True, also=later[1])
            named = self.read[-1][1].span if self.read else None
            if named is not None and named.start > ALWAYS and named.end < FOREVER:
                stretch = _EPOCH + named.start * _MICROSECOND, _EPOCH + named.end * _MICROSECOND
                return _Point(match.end(), _adjoining_stretch(match, stretch), is_free=True)
        except OverflowError:
            return _Point(match.end(), None)
        if unit not in DAYS:
            return None
        is_known = is_after and self._tense_around(match) != "past"
        return _Point(match.end(), _adjoining_stretch(match, _coming(match, now)) if is_known else None, is_free=True)

    def _choose_year(self, last: _Stretch, coming: _Stretch, lead: str, now: datetime) -> _Stretch:
        """Which one a month, a season or a day without a year is: the last, or the coming one.

        Of the past it is the last, of what is to come the coming one; in the present, or without a verb, the nearer of
        the two. A question of the present looks ahead for a day, unless that was lately ("what is on 6 June?"); a month
        it may only name as a time behind such a word as "in", "on" or "until".
        """
        if self._is_joining or self.tense == "past" or lead in english.SINCE_LEADS:
            return coming if self.tense == "ahead" and not self._is_joining else last
        is_nearer = coming[0] - now < now - last[1]
        if last[1] - last[0] > _WEEK:
            is_named = lead in english.DATED_BY or (self.tense == "present" and lead in english.UP_TO_LEADS)
            return coming if self.tense == "ahead" or (is_named and is_nearer) else last
        looks_ahead = self.tense == "present" and lead in english.OF_DAY
        is_coming = self.tense == "ahead" or is_nearer or (looks_ahead and now - last[1] > _MONTH_LONG)
        return coming if is_coming else last

    def _current_one(self, match: re.Match[str], now: datetime) -> _Stretch:
        """This Friday, December or summer: of what has been the last that has begun, else one that is not over.

        Of the present it is that of the calendar year (of winters, in its first half, the one that began before it),
        over or not; without a verb the nearer of the last and the coming one.
        """
        unit = (match.groupdict().get("season") or match["unit"]).lower()
        if unit in DAYS:
            today = _midnight(now)
            day = today + timedelta(days=(DAYS.index(unit) - today.weekday()) % 7)
            day -= _WEEK if self.tense == "past" and day > today else _ONCE
            return day, day + _DAY_LONG
        first, length = (english.SEASONS[unit], 3) if unit in english.SEASONS else (MONTHS.index(unit) + 1, 1)
        last = _last_begun(first, length, now)
        if self.tense == "past" or last[1] > now:
            return last
        coming = _months(last[0].year + 1, first, length)
        if self.tense == "ahead":
            return coming
        if not self.tense:
            return coming if coming[0] - now < now - last[1] else last
        return last if last[0].year == now.year - (unit == "winter" and now.month <= _FIRST_HALF) else coming

    def _coming_weekday(self, at: int) -> _Point | None:
        """The next day of a name, if one stands there; "from Monday to Friday" is no time."""
        match = english.WEEKDAY.match(self.question, at)
        if match is None:
            return None
        today = _midnight(self.now)
        day = today + timedelta(days=(DAYS.index(match["unit"].lower()) - today.weekday()) % 7 or 7)
        return _Point(match.end(), (day, day + _DAY_LONG))

    def _parse_by_tense(self, form: _Form, match: re.Match[str], lead: str, now: datetime, depth: int) -> _Point | None:
        """A day, a weekend or a counted time: the last or the coming one, by the tense of its sentence.

        A weekday may be of the day or week behind it ("on Sunday, 5 May"). A question whose words may mean either names
        none that a calendar has; "in four days" is no time where something takes so long. In a statement beside a
        question only what has been counts.
        """
        if form.resolve is _on_weekday and (point := self._weekday_of(match, now, depth)) is not None:
            return point
        tense = self._tense_around(match) if self._told is None else self._told
        if self._told is None and tense != "past" and self._is_stated(match):
            if form.resolve is not _nth_day:
                return None
            tense = tense or "past"
        if form.resolve is _from_now:
            before = self.question[max(0, match.start() - _SENTENCE) : match.start()]
            is_one = match["count"].lower() in ("a", "an", "1")
            if tense in ("past", "") or (is_one and tense != "ahead") or english.IS_LENGTH.search(before):
                return None
        is_last = tense == "past" or (tense and lead in english.SINCE_LEADS)
        if not tense:
            return _Point(match.end(), None)
        resolve = form.resolve if is_last or form.coming is None else form.coming
        try:
            stretch = resolve(match, now)
        except (OverflowError, ValueError):
            return _Point(match.end(), None)
        is_free = form.leads is None
        if is_last:
            return _Point(match.end(), stretch, form.cycle, is_free=is_free)
        return _Point(match.end(), stretch, is_free=is_free, is_coming=True)

    def _weekday_of(self, match: re.Match[str], now: datetime, depth: int) -> _Point | None:
        """The weekday of a day or week that stands behind it."""
        behind = english.BEHIND_DAY.match(self.question, match.end())
        inner = None if behind is None or depth >= _DEEPEST else self._parse_point(behind.end(), "on", now, depth + 1)
        if inner is None or inner.stretch is None or inner.stretch[1] - inner.stretch[0] > _WEEK:
            return None
        start, end = inner.stretch
        if end - start > _DAY_LONG:
            start += timedelta(days=(DAYS.index(match["unit"].lower()) - start.weekday()) % 7)
        return inner._replace(stretch=(start, start + _DAY_LONG))

    def _is_stated(self, match: re.Match[str]) -> bool:
        """True if the sentence around a time ends as a statement does."""
        sign = english.SIGN.search(self.question, match.end(), match.end() + _SENTENCE)
        return sign is not None and sign[0] != "?"

    def _tense_around(self, match: re.Match[str]) -> english.Tense:
        """Of when the sentence around a time tells, or as much of it as matters; empty if it may be either."""
        start_at, end_at = max(0, match.start() - _SENTENCE), match.end() + _SENTENCE
        before = english.SENTENCE_END.split(self.question[start_at : match.start()])[-1]
        said = before + match[0] + english.SENTENCE_END.split(self.question[match.end() : end_at])[0]
        lowered = said.lower()
        if english.HAPPENED.search(lowered) is None:
            return tense_of(said)
        is_done = english.HAPPENED.search(english.IS_DONE.sub(" ", lowered)) is None
        if is_done and english.TOLD_OF.search(said) is None:
            # "Is the shop closed on Friday?"
            return tense_of(said)
        if english.AHEAD.search(said) is None:
            return "past"
        is_past = english.WAS.search(said) and not (english.PLANNED.search(said) or english.WILL.search(said))
        return "past" if is_past else ""

    def _is_attribute(self, form: _Form, match: re.Match[str], article: str, *, is_dated: bool) -> bool:
        """True of "the March issue", "the 2008 crisis" and "the Spring Fair", which are no times."""
        if form.resolve is _season and not is_dated and match["season"][0].isupper():
            return english.NAME_BEHIND.match(self.question, match.end()) is not None
        return "the" in article and ((form.resolve is _month and not is_dated) or form.pattern is english.YEAR)

    def _may_stand_there(self, form: _Form, match: re.Match[str], lead: str) -> bool:
        """True if a form may stand there; a month or a season with its year stands for itself, as do two numbers that
        are all of a question."""
        if form.leads is None or lead in form.leads:
            return True
        if form.pattern is english.SHORT_FIGURES:
            return english.FIGURES_ALONE.fullmatch(self.question) is not None
        dated = match.groupdict()
        return form.resolve in (_month, _season) and bool(dated.get("year") or dated.get("relative"))

    def _derive_point(self, form: re.Pattern[str], match: re.Match[str], inner: _Point) -> _Point | None:
        """The point that is made of the one behind it; None if that cannot be."""
        if inner.stretch is None:
            return inner
        if inner.also is not None:
            return _Point(inner.end, None)
        stretch: _Stretch | None
        try:
            if form is english.PART:
                stretch = _part_of(match["part"], inner.stretch)
            elif form is english.NTH_UNIT:
                stretch = _nth_part(match, inner.stretch)
            elif form is english.BESIDE_ANOTHER:
                stretch = _adjoining_stretch(match, inner.stretch)
            else:
                stretch = _containing_week(match["unit"].lower(), inner.stretch)
        except (OverflowError, ValueError):
            return _Point(inner.end, None)
        is_end = form is english.PART and match["part"].lower() in ("end", "close")
        return None if stretch is None else _Point(inner.end, stretch, inner.cycle, is_end=is_end)


_FIRST_HALF: Final = 6
"""Months of a year."""


def _is_this_one(dated: dict[str, str | None]) -> bool:
    """True of "this Friday", "this December" and "this summer"; this week has no name, and is read by the calendar."""
    unit = (dated.get("season") or dated.get("unit") or "").lower()
    is_named = unit in english.SEASONS or unit in MONTHS or unit in DAYS
    return (dated.get("which") or "").lower() == "this" and not dated.get("year") and is_named


@lru_cache(maxsize=256)
def begin_named(text: str, said: int) -> int | None:
    """When begins what a statement says, by its words, if that was to come when it was said: "from March on".

    ``None`` if it names no such time, as nearly all do, or if it was said outside the years 1 to 9999. Both in
    microseconds since the epoch.
    """
    if not MIN_TIME <= said <= MAX_TIME:
        return None
    if language := language_of(text):
        from worlddb.query.question import foreign_times

        phrases = (phrase.english for phrase in foreign_times.phrases(text, language))
        said_from = [phrase for phrase in phrases if phrase.startswith(("since ", "from "))]
        points_text = "; ".join(f"from {phrase.partition(' ')[2].removesuffix(' on')}" for phrase in said_from)
    else:
        points_text = text
    if english.BEGINS.search(points_text) is None:
        return None
    reader = _Reader(points_text, said, "ahead")
    for match in english.BEGINS.finditer(points_text):
        point = reader._parse_point(match.end(), "between", reader.now)
        if point is None or point.stretch is None or point.is_coming:
            point = reader._coming_weekday(match.end())
        if point is None or point.stretch is None or english.UP_TO.match(points_text, point.end):
            continue
        if points_text is text and reader.tells_of_past(match.start(), point.end):
            continue
        begins: int = (point.stretch[0] - _EPOCH) // _MICROSECOND
        if begins > said:
            return begins
    return None


@lru_cache(maxsize=256)
def end_named(text: str, said: int) -> int | None:
    """When ends what a statement of its time says, by its words: "until 20 November" is with that day.

    ``None`` if it names no such time in its first 2,000 characters, as nearly all do, if it was over when it was said,
    tells what was so, or is so every week, or if it was said outside the years 1 to 9999. Both in microseconds since
    the epoch.
    """
    text = text[:_TOLD_CHARACTERS]
    words = words_in(text) if MIN_TIME <= said <= MAX_TIME else set()
    if (_ENDING.isdisjoint(words) and not words >= _FROM_TO and not _ends_elsewhere(text)) or is_yearly(text):
        return None
    points_text = text
    if language := language_of(text):
        from worlddb.query.question import foreign_times

        phrases = [phrase.english for phrase in foreign_times.phrases(text, language)]
        if language == "ru":
            # "До пятницы" is before Friday, and until then in what says how long something is so.
            phrases = [re.sub("^before ", "until ", phrase) for phrase in phrases]
        points_text = "; ".join(phrase for phrase in phrases if phrase.startswith(("until ", "through ", "from ")))
    points_text = _END_OF_THIS.sub("end of this ", points_text)
    for match in english.ENDS.finditer(points_text):
        # A question reads a weekday as the last one, and "by Friday" is no end.
        reader = _Reader(points_text, said, "ahead")
        if match["from"] and english.OF_RECORDS.search(points_text, 0, match.start()) is not None:
            continue
        opened = match["from"] and reader._parse_point(match.start("from"), "between", reader.now)
        if match["from"] and (not opened or opened.end < match.end("from")):
            continue
        point = reader._parse_point(match.end(), "between", reader.now)
        if (point is None or point.stretch is None or point.is_coming) and not match["from"]:
            point = reader._coming_weekday(match.end())
        if point is None or point.stretch is None:
            continue
        if not language and reader.tells_of_past(match.start(), point.end):
            continue
        ends: int = (point.stretch[1] - _EPOCH) // _MICROSECOND
        if ends > said:
            return ends
    return None


_ENDING: Final = frozenset(("until", "till", "through", "up", "ends", "expires", "bis", "hasta", "jusqu", "fino"))
_END_OF_THIS: Final = re.compile(r"\bend of (?:the )?(?=(?:month|week|year)\b(?! of\b| \d))", re.I)
"""Before a month, a week or a year that is none but the present one."""


def _ends_elsewhere(text: str) -> bool:
    """True if a text has a word for "until" that is not in ASCII."""
    return not text.isascii() and _ENDING_ELSEWHERE.search(text) is not None


_ENDING_ELSEWHERE: Final = re.compile(r"\b[Aa]té\b|\b[Дд]о\b|まで(?!に)|[到至]|까지")
_FROM_TO: Final = frozenset(("from", "to"))
"""One of those words, or these two, are in every statement of which :func:`end_named` finds an end."""


def tense_of(text: str) -> english.Tense:
    """Of when an English text tells or asks, by its verbs; empty if it has none that tells."""
    was, lowered = english.WAS.search(text) is not None, text.lower()
    if not was and english.has_letters_of(english.WILL_LETTERS, text) and english.WILL.search(text) is not None:
        return "ahead"
    is_planned = not was and english.has_letters_of(english.PLANNED_LETTERS, lowered)
    if is_planned and english.PLANNED.search(text) is not None:
        return "present" if english.IS_PERFECT.search(text) is not None else "ahead"
    if english.HAPPENED.search(english.IS_DONE.sub(" ", _without_names_like_verbs(text))) is not None:
        return "past"
    if english.ASKS_WHEN.search(text) is not None:
        return "ahead"
    return "present" if english.IS_NOW.search(lowered) is not None else ""


def _without_names_like_verbs(text: str) -> str:
    """A text in small letters, without the names in it that look like verbs of the past: "Alfred", "Said"."""
    if ("ed" in text or "Said" in text or "LED" in text) and not (text.istitle() or text.isupper()):
        text = english.NAME_LIKE_VERB.sub("one", text)
    return text.lower()


@lru_cache(maxsize=64)
def parse_times(question: str, asked: int) -> Times:
    """The times of a question that is asked at ``asked`` (microseconds since the epoch, UTC).

    What no calendar has is unresolved; outside the years 1 to 9999 a question names none. In another language than
    English they are found by :mod:`foreign_times`, and read by their English.
    """
    if not MIN_TIME <= asked <= MAX_TIME:
        return Times((), (), question)
    if not (language := language_of(question)):
        return _parse_english(question, asked)
    from worlddb.query.question import foreign_times

    named, tense = foreign_times.phrases(question, language), foreign_times.tense_of(question, language)
    if not named:
        return _parse_english(question, asked)._replace(tense=tense)
    return _parse_translated(question, named, asked, tense)


_BESIDE_WEEK: Final = lazy(
    r"\b(?:(?:next|this|last|coming)\s+week|in\s+\w+\s+(?:day|week)s?|(?:day|week)s?\s+(?:ago|after|before))\b",
    re.I,
)
_IN_FIGURES: Final = lazy(r"\d(?:\d?(?:[./]\d{1,2}|st|nd|rd|th)\b|\d{3}-\d\d-\d\d)")
_OTHER_LETTER: Final = lazy("[\u0400-\u052f\u1c80-\u1c8f\u3400-\u9fff\uac00-\ud7af]")
_OTHER_SCRIPT: Final = lazy(
    "[月월周週]|星期|曜|요일|[明昨]|今[天日]|来|내일|오늘|모레|어제|다음|завтра|сегодня|вчера|понедельн|вторник"
    "|сред[ауы]|четверг|пятниц|суббот|воскрес|январ|феврал|март|апрел|ма[яй]|июн|июл|август|сентябр|октябр|ноябр"
    "|декабр|недел|дн[еяй]",
    re.I,
)


@cache
def _words_of_days() -> tuple[frozenset[str], frozenset[str]]:
    """The words of which a text that names a day has one, in Latin letters without accents: alone, or with a number."""
    from worlddb.query.question import foreign_times

    alone, beside = foreign_times.words_of_days()
    return alone.union(DAYS, ("tomorrow", "yesterday", "weekend")), beside.union(
        MONTHS, (month[:3] for month in MONTHS), ("sept",)
    )


def _may_name_day(text: str) -> bool:
    """True if a text may name a day; of most that name none it is false, by much less than reading them takes."""
    if not text.isascii():
        if _OTHER_LETTER.search(text) is not None and _OTHER_SCRIPT.search(text) is not None:
            return True
        text = unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode()
    return _have_day(words_in(text), text)


def _have_day(words: Set[str], text: str) -> bool:
    """True if the words of a text in ASCII may name a day."""
    alone, beside = _words_of_days()
    return (
        not alone.isdisjoint(words)
        or (not beside.isdisjoint(words) and not words.isdisjoint(_NUMBERS))
        or _IN_FIGURES.search(text) is not None
        or (not words.isdisjoint(_UNITS) and _BESIDE_WEEK.search(text) is not None)
    )


def _find_sentences_of_days(text: str) -> list[str]:
    """The sentences of a text that may name a day."""
    if not text.isascii():
        return [each for each in _SAID_END.split(text) if _may_name_day(each)] if _may_name_day(text) else []
    words = words_in(text)
    if not _have_day(words, text):
        return []
    # Most sentences have none of the words by which the text may name a day, and no date in figures.
    telling = [word for some in (*_words_of_days(), _UNITS) for word in some & words]
    has_figures = _IN_FIGURES.search(text) is not None
    return [
        sentence
        for sentence in _SAID_END.split(text)
        if (any(map(sentence.lower().__contains__, telling)) or (has_figures and _IN_FIGURES.search(sentence)))
        and _may_name_day(sentence)
    ]


_UNITS: Final = frozenset(("day", "days", "week", "weeks"))
_NUMBERS: Final = frozenset((*map(str, range(1, 32)), *(f"0{day}" for day in range(1, 10)), *english.ORDINALS, "1er"))
_SAID_END: Final = lazy(r"[.!?;。！？\n](?:(?<=[。！？\n])|(?<=[^\W\d].)\s+|(?<=\d[)\"”].)\s+)")
_TOLD_CHARACTERS: Final = 2000
_TOLD_DAYS: Final = 27 * DAY_MICROSECONDS
"""A longer time is no day that something is on: "in December" is when, and tells not which."""


def told_days(text: str, said: int) -> tuple[Span, ...]:
    """The days and stretches of less than a month that a text tells of, by its words as of when it was said.

    "The circus is on 5 December" tells of one, "next Friday" as well. A day without a year is the nearest one that the
    tense of its sentence allows. What is said beyond the first 2,000 characters is not read, nor what was said outside
    the years 1 to 9999, as by a statement that holds always.
    """
    if not MIN_TIME <= said <= MAX_TIME:
        return ()
    text = text[:_TOLD_CHARACTERS]
    sentences = _find_sentences_of_days(text)
    language, found = language_of(text) if sentences else "", dict[Span, None]()
    for sentence in sentences:
        if language:
            from worlddb.query.question import foreign_times

            named, tense = foreign_times.phrases(sentence, language), foreign_times.tense_of(sentence, language)
            read = _parse_translated(sentence, named, said, tense).spans
        else:
            reader = _Reader(sentence, said, is_told=True)
            reader.scan()
            read = tuple(time.span for _, time in reader.read)
        found |= dict.fromkeys(span for span in read if span.start > ALWAYS and span.end - span.start <= _TOLD_DAYS)
    return tuple(found)


def days_alone(text: str, said: int) -> tuple[Span, ...]:
    """The days that a text tells of as :func:`told_days` does, if it is of these alone: what is yearly is of none."""
    return () if is_yearly(text) else told_days(text, said)


def is_yearly(text: str) -> bool:
    """True if a text tells of what is so again and again, which is not of the one day that it names."""
    return _YEARLY.search(text[:_TOLD_CHARACTERS]) is not None


_YEARLY: Final = lazy(
    r"\b(?:birthday|anniversary|every|each|yearly|geburtstag|jahrestag|jede[nrsm]?|cumpleaños|aniversario|cada|todos"
    r"|anniversaire|chaque|compleanno|ogni|aniversário|день рождения|кажд\w+)\b|生日|每|誕生日|毎|생일|매",
    re.I,
)


def _parse_translated(question: str, named: Sequence[foreign_times.Phrase], asked: int, tense: english.Tense) -> Times:
    """The times by the English of the phrases that name them, with the words of the question."""
    letters, read, listed = list(question), list[Time](), list[str]()
    for start, end, english_words in named:
        words = " ".join(question[start:end].split())
        found = _parse_phrase(english_words, asked, tense) if english_words else None
        if found is None or not found.read:
            listed.append(words[:_LONGEST])
            continue
        read += (time._replace(words=words) for time in found.read)
        letters[start:end] = " " * (end - start)
    rest = " ".join("".join(letters).split())
    bare = english.WORD.findall(rest.lower())
    rest = rest if not function_words(bare).issuperset(bare) else question
    listed = list(dict.fromkeys(listed))
    kept = tuple({time.span: time for time in reversed(read)}.values())[::-1]
    spans = tuple(time.span for time in kept)
    return Times(spans, tuple(listed[:MAX_LISTED]), rest, kept, max(0, len(listed) - MAX_LISTED), tense)


_EITHER: Final = "since or from "


def _parse_phrase(phrase: str, asked: int, tense: english.Tense) -> Times:
    """The times of a phrase in English; of one that says since or from a time on, those of the nearer begin."""
    point = phrase.removeprefix(_EITHER)
    found = _parse_english(phrase if point == phrase else f"since {point}", asked, tense, tense)
    if point == phrase or tense != "present" or not found.spans:
        return found
    coming = _parse_english(f"from {point} on", asked, tense, tense)
    is_nearer = bool(coming.spans) and 0 < coming.spans[0].start - asked < asked - found.spans[0].start
    return coming if is_nearer else found


def _parse_english(
    question: str, asked: int, tense: english.Tense | None = None, told: english.Tense | None = None
) -> Times:
    """The times of a question in English."""
    reader = _Reader(question, asked, tense, told)
    words = reader.scan()
    understood, rest = Covered(question), question
    for piece in reader.passed:
        understood.add(piece)
    if reader.read:
        letters = list(question)
        for piece, _ in reader.read:
            understood.add(piece)
        for piece in reader.blank:
            letters[piece.start : piece.end] = " " * (piece.end - piece.start)
        rest = " ".join("".join(letters).split())
        rest = rest if any(word not in STOP_WORDS for word in english.WORD.findall(rest.lower())) else question
    listed = [*_find_unresolved(reader, words, understood)]
    read = tuple({time.span: time for _, time in reversed(reader.read)}.values())[::-1]
    spans = tuple(time.span for time in read)
    return Times(spans, tuple(listed[:MAX_LISTED]), rest, read, max(0, len(listed) - MAX_LISTED), reader.tense)


def forget() -> None:
    """Forget all questions, as an erasure asks for."""
    parse_times.cache_clear()
    begin_named.cache_clear()
    end_named.cache_clear()


def _find_unresolved(reader: _Reader, words: frozenset[str], understood: Covered) -> list[str]:
    """The words of a question that name an unresolved time, in their order, each once.

    ``understood`` are the characters of the others, to which those of these are added.
    """
    question, pieces = reader.question, list[Piece]()
    for piece in (*reader.impossible, *_find_recognised(reader, words)):
        if not understood.touches(piece):
            pieces.append(piece)
            understood.add(piece)
    listed = dict.fromkeys(" ".join(question[piece.start : piece.end].split()) for piece in sorted(pieces))
    return [text[:_LONGEST] for text in listed]


def _find_recognised(reader: _Reader, words: frozenset[str]) -> Iterator[Piece]:
    question = reader.question
    for form in english.VAGUE_FORMS:
        if form.words.isdisjoint(words) or (form.past and not reader.is_past) or (form.again and reader.read):
            continue
        if (form.event and english.ASKS_LENGTH.search(question)) or (
            form.perfect and not english.IS_PERFECT.search(question)
        ):
            continue
        for match in form.pattern.finditer(question):
            # "The meeting on 3 May" has a time that is understood.
            if not match.groupdict().get("asks") and not (form.event and reader.is_dated(match.end())):
                yield Piece(*match.span())
    for match in english.SAID_AGO.finditer(question) if "ago" in words else ():
        counted = [*english.VAGUE_WORD.finditer(question, max(0, match.start() - _LONGEST), match.start())]
        first = len(counted) - 1
        while first > 0 and english.COUNTING.fullmatch(counted[first - 1][0]):
            first -= 1
        while counted and counted[first][0].lower() == "and" and first < len(counted) - 1:
            first += 1
        # "how many years ago" and "how long ago" ask for a time and name none.
        if counted and not (first and counted[first - 1][0].lower() == "how"):
            yield Piece(counted[first].start(), match.end())


def nearness(named: tuple[Span, ...], at: int, until: int | None = None) -> float:
    """How well an instant fits the named times: 1 inside one, falling towards 0 outside.

    With ``until`` it is whatever instant of the span up to then fits best. 0 if no time is named.
    """
    best = 0.0
    for start, end, reach in named:
        away = max(start - (at if until is None else until), at - end, 0)
        best = max(best, exp(-2 * away / (reach or max(end - start, DAY_MICROSECONDS))))
    return best
