"""Times that a question names, relative ("two weeks ago", "last month") or absolute ("in March"), in English.

Pure: the same question asked at the same time names the same times. What is not recognised names none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import exp
from typing import Final, NamedTuple

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"),
    "december",
)
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTED: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_NUMBERS: Final = {word: number for number, word in enumerate(_COUNTED)} | {
    "a": 1,
    "an": 1,
    "couple": 2,
    "few": 3,
    "several": 4,
}
_VAGUE: Final = frozenset(("couple", "few", "several"))
_UNIT_DAYS: Final = {"day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}
_SLACK_DAYS: Final = {"day": 0.5, "week": 3.5, "month": 8.0, "year": 90.0}
"""How far from "three months ago" a thing may be that somebody calls so."""

_COUNT: Final = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})(?: of)?"
_AGO: Final = re.compile(rf"\b{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+(?:ago|back|earlier)\b", re.I)
_PAST: Final = re.compile(rf"\bthe\s+(?:past|last)\s+(?:{_COUNT}\s+)?(?P<unit>day|week|month|year)s?\b", re.I)
_LAST: Final = re.compile(
    rf"\b(?P<which>last|previous|this)\s+(?P<unit>week|weekend|month|year|{'|'.join((*_DAYS, *_MONTHS))})\b", re.I
)
_MONTH_NAME: Final = rf"(?P<month>{'|'.join(_MONTHS)})"
_SHORT_MONTH: Final = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _MONTHS)}|sept)\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DAY_FORMS: Final = (
    re.compile(rf"\b{_DAY}(?:\s+of)?\s+{_SHORT_MONTH}(?:,?\s+(?P<year>\d{{4}})|\b)", re.I),
    re.compile(rf"\b{_SHORT_MONTH}\s+{_DAY}\b(?!\s*[:%])(?:,?\s*(?P<year>\d{{4}})\b)?", re.I),
    re.compile(r"\b(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})\b"),
)
"""A day as "21 November, 2023", as "November 21st" and as "2023-11-21"."""
_MONTH: Final = re.compile(
    r"\b(?:in|on|of|during|since|around|by|mid|early|late|before|after|until|for)"
    rf"[\s-]+{_MONTH_NAME}\b(?!\s+\d{{1,2}}(?!\d))(?:,?\s+(?P<year>\d{{4}})\b)?",
    re.I,
)
_MONTH_AND_YEAR: Final = re.compile(rf"\b{_MONTH_NAME},?\s+(?P<year>\d{{4}})\b", re.I)
_YEAR: Final = re.compile(r"\b(?:in|during|since|of)\s+(?P<year>(?:19|20)\d{2})\b", re.I)
_NEAR: Final = re.compile(r"\b(?P<which>yesterday|today)\b", re.I)


class Span(NamedTuple):
    """A stretch of time that a question names, in microseconds, half-open."""

    start: int
    end: int


def spans(question: str, asked: int) -> tuple[Span, ...]:
    """The times that a question names when it is asked at ``asked`` (microseconds since the epoch, UTC)."""
    now = _EPOCH + asked * _MICROSECOND
    found: list[tuple[datetime, datetime]] = []
    for finder in (_ago, _past, _last, _day, _month, _year, _near):
        try:
            found.extend(finder(question, now))
        except (OverflowError, ValueError):
            # A day that no calendar has, or a time before the first year, is no time that was meant.
            continue
    named = dict.fromkeys(found)
    return tuple(Span((start - _EPOCH) // _MICROSECOND, (end - _EPOCH) // _MICROSECOND) for start, end in named)


def nearness(named: tuple[Span, ...], at: int) -> float:
    """How well an instant fits the times named: 1 inside one of them, falling towards 0 outside; 0 if none is named."""
    best = 0.0
    for start, end in named:
        away = max(start - at, at - end, 0)
        best = max(best, exp(-2 * away / max(end - start, _DAY_MICROSECONDS)))
    return best


_DAY_MICROSECONDS: Final = 86_400_000_000
_Found = Iterator[tuple[datetime, datetime]]


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.lower()]


def _ago(question: str, now: datetime) -> _Found:
    for match in _AGO.finditer(question):
        unit, count = match["unit"].lower(), match["count"].lower()
        middle = now - timedelta(days=_number(count) * _UNIT_DAYS[unit])
        slack = timedelta(days=_SLACK_DAYS[unit] + (_UNIT_DAYS[unit] if count in _VAGUE else 0.0))
        yield middle - slack, middle + slack


def _past(question: str, now: datetime) -> _Found:
    for match in _PAST.finditer(question):
        count = _number(match["count"]) if match["count"] else 1
        yield now - timedelta(days=count * _UNIT_DAYS[match["unit"].lower()]), now


def _last(question: str, now: datetime) -> _Found:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for match in _LAST.finditer(question):
        this, unit = match["which"].lower() == "this", match["unit"].lower()
        if unit in _DAYS:
            day = today - timedelta(days=(today.weekday() - _DAYS.index(unit)) % 7 or 7)
            yield day, day + timedelta(days=1)
        elif unit in _MONTHS:
            yield _whole_month(_MONTHS.index(unit) + 1, now)
        elif unit == "week":
            monday = today - timedelta(days=today.weekday())
            yield (monday, now) if this else (monday - timedelta(days=7), monday)
        elif unit == "weekend":
            monday = today - timedelta(days=today.weekday())
            yield (monday + timedelta(days=5), now) if this else (monday - timedelta(days=2), monday)
        elif unit == "month":
            first = today.replace(day=1)
            yield (first, now) if this else ((first - timedelta(days=1)).replace(day=1), first)
        else:
            first = today.replace(month=1, day=1)
            yield (first, now) if this else (first.replace(year=first.year - 1), first)


def _day(question: str, now: datetime) -> _Found:
    for form in _DAY_FORMS:
        for match in form.finditer(question):
            named = match["month"].lower()
            month = int(named) if named.isdigit() else 1 + [name[:3] for name in _MONTHS].index(named[:3])
            start, _ = _whole_month(month, now, int(match["year"]) if match["year"] else None)
            day = start.replace(day=int(match["day"]))
            yield day, day + timedelta(days=1)


def _month(question: str, now: datetime) -> _Found:
    for match in (*_MONTH.finditer(question), *_MONTH_AND_YEAR.finditer(question)):
        month = _MONTHS.index(match["month"].lower()) + 1
        yield _whole_month(month, now, int(match["year"]) if match["year"] else None)


def _year(question: str, now: datetime) -> _Found:
    for match in _YEAR.finditer(question):
        first = datetime(int(match["year"]), 1, 1, tzinfo=UTC)
        yield first, first.replace(year=first.year + 1)


def _near(question: str, now: datetime) -> _Found:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for match in _NEAR.finditer(question):
        day = today if match["which"].lower() == "today" else today - timedelta(days=1)
        yield day, day + timedelta(days=1)


def _whole_month(month: int, now: datetime, year: int | None = None) -> tuple[datetime, datetime]:
    """A month of a year; of the last one that has begun, if no year is given."""
    if year is None:
        year = now.year if month <= now.month else now.year - 1
    start = datetime(year, month, 1, tzinfo=UTC)
    return start, (start + timedelta(days=31)).replace(day=1)
