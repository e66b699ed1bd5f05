"""Times are integer microseconds since the Unix epoch, in UTC.

They are accepted as timezone-aware ``datetime``, ISO 8601 text, ``date``, or integer microseconds. A naive
time is an error, not a guess; a date means its first instant in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from worlddb.log.model.errors import InvalidTime

TimeLike = datetime | date | str | int

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
MIN_TIME: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
MAX_TIME: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND

FOREVER: Final = 2**63 - 1
"""An open end: the interval has not been closed."""
ALWAYS: Final = -(2**63)
"""An open beginning: only the root world has it."""

_REMEDY: Final = "Give a timezone-aware datetime, ISO 8601 with an offset (2025-02-01T09:00:00Z), or a date"
_TEXT_REMEDY: Final = (
    "Write a date (2025-02-01, which means its first instant in UTC) or a time with its offset (2025-02-01T09:00:00Z,"
    " 2025-02-01T10:00+01:00)"
)
_WORDS_REMEDY: Final = f"{_TEXT_REMEDY}; times in words are understood in the text of a question only"
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.A)
_YEAR_OR_MONTH: Final = re.compile(r"\d{4}(?:-\d{2})?", re.A)
_WORD: Final = re.compile(r"[^\W\d_]{3}")


def parse_time(value: TimeLike, what: str = "time") -> int:
    """Microseconds since the epoch.

    Raises:
        InvalidTime: the value is naive, cannot be parsed, or lies outside the years 1 to 9999.
    """
    if isinstance(value, bool):
        raise InvalidTime(f"{what} is {value!r}, not a time", _REMEDY)
    if isinstance(value, int):
        return _in_range(value, value, what)
    if isinstance(value, str):
        return _parse_text(value, what)
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidTime(f"{what} {value.isoformat()!r} has no time zone", _REMEDY)
        return _in_range((value - _EPOCH) // _MICROSECOND, value.isoformat(), what)
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day, tzinfo=UTC) - _EPOCH) // _MICROSECOND
    raise InvalidTime(f"{what} is {type(value).__name__}, not a time", _REMEDY)


def _parse_text(text: str, what: str) -> int:
    stripped = text.strip()
    try:
        if _DATE.fullmatch(stripped):
            return parse_time(date.fromisoformat(stripped), what)
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        remedy = _WORDS_REMEDY if _WORD.search(stripped) else _TEXT_REMEDY
        raise InvalidTime(f"{what} {text[:80]!r} is not a time{_why_not(stripped)}", remedy) from None
    return parse_time(moment, what)


def _why_not(text: str) -> str:
    """What is wrong with a text that begins like a time, in words; empty for any other."""
    if not text:
        return ": it is empty"
    if _YEAR_OR_MONTH.fullmatch(text):
        return f": it names a {'month' if '-' in text else 'year'}, and a day is needed"
    return ": there is no such day or hour" if _DATE.match(text) else ""


def _in_range(micros: int, shown: object, what: str) -> int:
    if not MIN_TIME <= micros <= MAX_TIME:
        raise InvalidTime(f"{what} {shown!r} lies outside the years 1 to 9999", _REMEDY)
    return micros


def format_time(micros: int) -> str:
    """ISO 8601 in UTC with a ``Z``, and no more precision than there is; open ends are words."""
    if micros >= FOREVER:
        return "forever"
    if micros < MIN_TIME:
        return "always"
    moment = _EPOCH + micros * _MICROSECOND
    timespec = "microseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=timespec).removesuffix("+00:00") + "Z"
