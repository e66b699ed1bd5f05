"""Times in UTC microseconds, validity intervals, and the dates that English text writes.

A time is an integer: microseconds since the Unix epoch, in UTC. Callers may give a timezone-aware ``datetime``, ISO
8601 text, a ``date`` (its first instant in UTC), or the integer itself. A naive time is an error, not a guess.

Intervals are half-open, ``[start, end)`` (paper §2.3). The names and forms of days and months serve whoever reads dates
in texts. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, NamedTuple, cast

from worlddb.log.model.errors import InvalidInterval, InvalidTime
from worlddb.log.model.errors import shown as beginning_of

TimeLike = datetime | date | str | int

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
MIN_TIME: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
MAX_TIME: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND

_LEAST: Final = 10**15
_MOST: Final = 10**16
"""From 2001 to 2286: the range in which a number probably has another unit."""

_LONGEST_SECONDS: Final = 1_000 * 366 * 86_400

DAY_MICROSECONDS: Final = 86_400_000_000
FOREVER: Final = 2**63 - 1
"""An open end: the interval has not been closed."""
ALWAYS: Final = -(2**63)
"""An open beginning: only the root world has it."""

_REMEDY: Final = "Give a timezone-aware datetime, ISO 8601 with an offset (2025-02-01T09:00:00Z), or a date"
_TEXT_REMEDY: Final = (
    "Write a date (2025-02-01, which means its first instant in UTC) or a time with its offset (2025-02-01T09:00:00Z,"
    " 2025-02-01T10:00+01:00)"
)
_WORDS_REMEDY: Final = f"{_TEXT_REMEDY}; only the text of a question may hold times in words"


class _LazyPattern:
    """A pattern that is compiled at its first use."""

    def __init__(self, source: str, flags: re.RegexFlag) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def lazy(source: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Return a pattern as ``re.compile`` does, compiled at its first use: a read needs only a few of them."""
    return cast("re.Pattern[str]", _LazyPattern(source, flags))


_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}", re.A)
_OFFSET: Final = lazy(r"[+-](?:2[4-9]|[3-9]\d):?[0-5]\d$", re.A)
_SIGN: Final = lazy("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d\uff0b]")
"""Characters that look like an ASCII sign or hyphen and are not."""
_BLANK: Final = lazy(r":[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?\s+(?P<sign>[+-]?)\d\d:?\d\d$", re.A)
"""An offset behind a blank: as the ``+`` of a URL arrives."""
_ZONE: Final = lazy(r"(?<=[\d\s\[])(?:[A-Z][A-Za-z_]+(?:/[\w+-]+)+|[A-Z]{3,5})(?=\]?$)", re.A)
_YEAR_OR_MONTH: Final = re.compile(r"\d{4}(?:-\d{2})?", re.A)
_COUNT: Final = lazy(r"(?P<whole>\d{9,10}|\d{13}|\d{16}|\d{19})(?P<rest>\.\d+)?", re.A)
_UNITS: Final = {13: ("milliseconds", -3), 16: ("microseconds", 0), 19: ("nanoseconds", 3)}
"""What a number of so many digits probably counts since 1970, and how many digits it has below a microsecond."""
_OTHER_DAY: Final = lazy(
    r"(?P<year>\d{4})(?:-?W(?P<week>\d\d)(?:-?(?P<weekday>\d))?|-?(?P<number>\d{3})"
    r"|(?P<between>[-/.])(?P<month>\d{1,2})(?P=between)(?P<day>\d{1,2}))",
    re.A | re.I,
)
_YEAR_LAST: Final = lazy(r"\d{1,2}([-/.])\d{1,2}\1\d{4}\b", re.A)
_ONLY_OFFSET: Final = lazy(r"(?:\d{4}-\d\d-\d\d|\d{8})(?:Z|[+-]\d\d:?\d\d)", re.A)
_WORD: Final = re.compile(r"[^\W\d_]{3}")


def parse_time(value: TimeLike, what: str = "time") -> int:
    """Microseconds since the epoch.

    Raises:
        InvalidTime: the value is naive, cannot be parsed, or lies outside the years 1 to 9999; or it is a number that
            is likely to be a year, or to count seconds or milliseconds.
    """
    if isinstance(value, bool):
        raise InvalidTime(f"{what} is {value!r}, not a time", _REMEDY)
    if isinstance(value, int):
        return _require_range(_refuse_other_units(value, what), value, what)
    if isinstance(value, str):
        return _parse_text(value, what)
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidTime(f"{what} {value.isoformat()!r} has no time zone", _REMEDY)
        return _require_range((value - _EPOCH) // _MICROSECOND, value.isoformat(), what)
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day, tzinfo=UTC) - _EPOCH) // _MICROSECOND
    raise InvalidTime(f"{what} is {_described(value)}, not a time", _REMEDY)


def _described(value: object) -> str:
    return f"the float {value!r}" if isinstance(value, float) else type(value).__name__


def parse_duration(value: timedelta | float, what: str = "ttl") -> int:
    """Microseconds of a ``timedelta``, or of a number of seconds.

    Raises:
        InvalidTime: it is something else, or not more than nothing, or longer than a thousand years.
    """
    remedy = f"Give a number of seconds, or a timedelta, above 0 and at most a thousand years ({_LONGEST_SECONDS:,} s)"
    if isinstance(value, timedelta):
        value = value / timedelta(seconds=1)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTime(f"{what} is {type(value).__name__}, not a duration", remedy)
    if not 0 < value <= _LONGEST_SECONDS or (micros := round(value * 1_000_000)) < 1:
        raise InvalidTime(f"{what} is {value!r:.40} seconds", remedy)
    return micros


def refuse_year(value: float, what: str, unit: str) -> None:
    """Refuse a number that is a year: counted in ``unit`` since 1970 it would be a moment of that year.

    Raises:
        InvalidTime: it is a whole number from 1000 to 9999.
    """
    if 1_000 <= value <= 9_999 and value == int(value):
        remedy = f'Give a date, such as "{int(value)}-01-01"'
        raise InvalidTime(f"{what} {int(value)} seems to be a year, and a number counts {unit} since 1970", remedy)


def _refuse_other_units(value: int, what: str) -> int:
    """Refuse a number that seems to be a year, or to count seconds or milliseconds, as clocks do.

    As microseconds it would be a moment of early 1970, as seconds or milliseconds it is after 2001. Whole minutes of
    1970 that would be milliseconds are let through.
    """
    if value * 1_000 >= _MOST:
        return value
    refuse_year(value, what, "microseconds")
    for unit, scale in (("seconds", 1_000_000), ("milliseconds", 1_000)):
        if _LEAST <= value * scale < _MOST and value % 60_000_000:
            remedy = f"Give microseconds ({value} * {scale:_}), or a timezone-aware datetime"
            raise InvalidTime(f"{what} {value} seems to count {unit}, not microseconds", remedy)
    return value


def _parse_text(text: str, what: str) -> int:
    stripped = text.strip()
    try:
        if _DATE.fullmatch(stripped):
            return parse_time(date.fromisoformat(stripped), what)
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        moment = None
    if moment is not None and moment.utcoffset() is not None:
        return parse_time(moment, what)
    seems = None if _DATE.fullmatch(stripped) else _read_otherwise(stripped)
    if seems is not None:
        raise InvalidTime(f"{what} {text[:80]!r} {seems[0]}", seems[1])
    if moment is None:
        why = _explain_fault(stripped)
        remedy = _WORDS_REMEDY if _WORD.search(stripped) and "zone" not in why else _TEXT_REMEDY
        raise InvalidTime(f"{what} {text[:80]!r} is not a time{why}", remedy)
    written = moment.isoformat()
    raise InvalidTime(
        f"{what} {text[:80]!r} has no time zone", f"Write {written}Z for UTC, or its offset: {written}+01:00"
    )


def _read_otherwise(text: str) -> tuple[str, str] | None:
    """Return what a text seems to be that is a time in another notation, and the form to give; ``None`` for others."""
    counted = _COUNT.fullmatch(text)
    if counted is not None:
        unit, below = _UNITS.get(len(counted["whole"]), ("seconds", -6))
        number, rest = int(counted["whole"]), float(counted["rest"] or 0)
        micros = number // 10**below if below > 0 else number * 10**-below + int(rest * 10**-below)
        return f"looks like {unit} since 1970", f"Give {format_time(micros)}"
    day = _OTHER_DAY.fullmatch(text)
    if day is None:
        return None
    try:
        if day["week"]:
            first = date.fromisocalendar(int(day["year"]), int(day["week"]), int(day["weekday"] or 1))
            names = "names a day by its week" if day["weekday"] else "names a week, and a day is needed"
            return names, f"Give {first}" if day["weekday"] else f"Give the day it begins, {first}"
        if day["number"]:
            counted_day = date(int(day["year"]), 1, 1) + timedelta(int(day["number"]) - 1)
            return (
                ("counts the days of a year", f"Give {counted_day}") if counted_day.year == int(day["year"]) else None
            )
        return (
            "is not a date as ISO 8601 has it",
            f"Give {date(*(int(day[each]) for each in ('year', 'month', 'day')))}",
        )
    except ValueError:
        return f"is not a time: there is no such {'week' if day['week'] else 'day'}", _TEXT_REMEDY


def _explain_fault(text: str) -> str:
    """Explain what is wrong with a text that begins like a time; empty for any other."""
    if not text:
        return ": it is empty"
    if _YEAR_OR_MONTH.fullmatch(text):
        return f": it names a {'month' if '-' in text else 'year'}, and a day is needed"
    sign = _SIGN.search(text)
    if sign is not None and _DATE.match(_SIGN.sub("-", text)):
        needed = "+" if sign.group() == "\uff0b" else "-"
        return f": {sign.group()!r} is U+{ord(sign.group()):04X}, not the {needed!r} of ASCII"
    if not _DATE.match(text):
        return ": the year comes first, then the month" if _YEAR_LAST.match(text) else ""
    if _ONLY_OFFSET.fullmatch(text):
        return ": it has an offset and no hour"
    blank = _BLANK.search(text)
    if blank is not None and blank["sign"]:
        return ": a blank stands before its offset"
    if blank is not None:
        return ": a blank stands where the sign of its offset belongs (in a URL, + is written %2B)"
    if _OFFSET.search(text):
        return ": an offset is less than 24 hours"
    zone = _ZONE.search(text)
    if zone is not None:
        return f": {zone.group()} is the name of a zone; give its offset at that time"
    return ": there is no such day or hour"


def _require_range(micros: int, shown: object, what: str) -> int:
    if not MIN_TIME <= micros <= MAX_TIME:
        raise InvalidTime(f"{what} {beginning_of(shown)} lies outside the years 1 to 9999", _REMEDY)
    return micros


def format_time(micros: int) -> str:
    """ISO 8601 in UTC with a ``Z``, and no more precision than there is; open ends are words."""
    if not isinstance(micros, int):
        raise InvalidTime(f"A time is {type(micros).__name__}, not a number of microseconds", "Give a whole number")
    if micros >= FOREVER:
        return "forever"
    if micros < MIN_TIME:
        return "always"
    if micros > MAX_TIME:
        return "after the year 9999"  # No caller can give it, but a changed byte can.
    moment = _EPOCH + micros * _MICROSECOND
    timespec = "microseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=timespec).removesuffix("+00:00") + "Z"


def format_bound(micros: int) -> str | None:
    """As :func:`format_time`, but ``None`` for an open end, as JSON has it."""
    return format_time(micros) if MIN_TIME <= micros < FOREVER else None


def span_in_words(held: Validity) -> str:
    """``from … to …``, without an end where there is none."""
    until = "" if held.end == FOREVER else f" to {format_time(held.end)}"
    return f"from {format_time(held.start)}{until}"


class PresentTime(int):
    """The present, as a number that records how long results that depend on it stay valid.

    Reads use the present by comparing it with stored times. Up to the next stored time that it was compared with,
    :attr:`until`, each comparison has the same outcome, and so has the read. A read that calculates with the number,
    shows or hashes it is valid only at this instant.
    """

    at: int
    """The same as a plain number."""
    until: int
    """Microseconds; :data:`FOREVER` where it was compared with nothing that is still to come."""

    def __new__(cls, now: int) -> PresentTime:
        """Start with no comparison recorded."""
        made = super().__new__(cls, now)
        made.at, made.until = now, FOREVER
        return made

    def note(self, other: object) -> None:
        """Record a comparison with another time."""
        if type(other) is PresentTime:
            other.until = min(other.until, self.at if self.at > other.at else other.until)
            other = other.at
        if isinstance(other, int):
            self.until = min(self.until, self.at + 1 if other == self.at else other if other > self.at else FOREVER)


def _noting_comparison(plain: Callable[[int, Any], Any]) -> Callable[[PresentTime, Any], Any]:
    def compare(self: PresentTime, other: Any) -> Any:
        # Most are past times, which need no record.
        if type(other) is not int or other >= self.at:
            self.note(other)
        return plain(self, other)

    return compare


def _noting_use(plain: Callable[..., Any]) -> Callable[..., Any]:
    def look(self: PresentTime, *others: Any) -> Any:
        self.until = self.at + 1
        return plain(self, *others)

    return look


for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
    setattr(PresentTime, _name, _noting_comparison(getattr(int, _name)))
for _name in (
    *("__hash__", "__int__", "__index__", "__float__", "__trunc__", "__str__", "__repr__", "__format__"),
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__mod__", "__rmod__", "__neg__", "__abs__"),
    *("__floordiv__", "__rfloordiv__", "__truediv__", "__rtruediv__", "__divmod__", "__rdivmod__"),
):
    setattr(PresentTime, _name, _noting_use(getattr(int, _name)))


class Interval(NamedTuple):
    """``[start, end)`` in microseconds.

    ``end`` is :data:`FOREVER` while open, ``start == end`` is empty. What holds in several spans is :class:`Spans`,
    which answers the same questions.
    """

    start: int
    end: int

    @property
    def is_open(self) -> bool:
        return self.end == FOREVER

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end

    @property
    def pieces(self) -> tuple[Interval, ...]:
        """The spans that this consists of: none if it is empty, else this one."""
        return () if self.start >= self.end else (self,)

    def contains(self, moment: int) -> bool:
        """True exactly for ``start <= moment < end``: at the closing instant the fact is gone."""
        return self.start <= moment < self.end

    def overlaps(self, other: Validity) -> bool:
        """True if some instant lies in both; an empty interval overlaps nothing."""
        if isinstance(other, Interval):
            return max(self.start, other.start) < min(self.end, other.end)
        return other.overlaps(self)

    def covers(self, other: Validity) -> bool:
        """True if every instant of ``other`` lies in this one.

        An empty interval is covered by nothing.
        """
        return self.start <= other.start < other.end <= self.end

    def intersect(self, other: Interval) -> Interval:
        """The instants in both; empty intervals are normalised to ``[start, start)``."""
        start = max(self.start, other.start)
        return Interval(start, max(start, min(self.end, other.end)))

    def without(self, window: Interval) -> Validity:
        """The rest without a window, which may be two spans."""
        return spans_of((*_subtract(self, window),), self.start)


class Spans(NamedTuple):
    """Two or more spans, in order, with a hole between each and the next."""

    pieces: tuple[Interval, ...]

    @property
    def start(self) -> int:
        """Where the first span begins."""
        return self.pieces[0].start

    @property
    def end(self) -> int:
        """Where the last span ends."""
        return self.pieces[-1].end

    @property
    def is_open(self) -> bool:
        return self.end == FOREVER

    @property
    def is_empty(self) -> bool:
        return False

    def contains(self, moment: int) -> bool:
        """True if one of the spans contains the moment."""
        return any(piece.contains(moment) for piece in self.pieces)

    def overlaps(self, other: Validity) -> bool:
        """True if some instant lies in both."""
        return any(piece.overlaps(each) for piece in self.pieces for each in other.pieces)

    def covers(self, other: Validity) -> bool:
        """True if every instant of ``other`` lies in this; an empty interval is covered by nothing."""
        pieces = other.pieces
        return bool(pieces) and all(any(piece.covers(each) for piece in self.pieces) for each in pieces)

    def intersect(self, other: Interval) -> Validity:
        """The instants in both."""
        found = (piece.intersect(other) for piece in self.pieces)
        return spans_of(tuple(piece for piece in found if not piece.is_empty), max(self.start, other.start))

    def without(self, window: Interval) -> Validity:
        """The rest without a window."""
        return spans_of(tuple(left for piece in self.pieces for left in _subtract(piece, window)), self.start)


Validity = Interval | Spans
"""The times at which a version or an edge holds."""


def spans_of(pieces: tuple[Interval, ...], start: int) -> Validity:
    """Make a validity of sorted spans: an interval of a single one, and the empty interval at ``start`` of none."""
    if len(pieces) > 1:
        return Spans(pieces)
    return pieces[0] if pieces else Interval(start, start)


def common(one: Validity, other: Validity) -> Validity:
    """The instants in both."""
    if isinstance(one, Interval) and isinstance(other, Interval):
        return one.intersect(other)
    found = (piece.intersect(each) for piece in one.pieces for each in other.pieces)
    return spans_of(tuple(piece for piece in found if not piece.is_empty), max(one.start, other.start))


def piece_at(validity: Validity, moment: int) -> Interval:
    """The span that contains a moment; where none does, the interval from the first start to the last end."""
    if isinstance(validity, Interval):
        return validity
    found = (piece for piece in validity.pieces if piece.contains(moment))
    return next(found, Interval(validity.start, validity.end))


def _subtract(piece: Interval, window: Interval) -> tuple[Interval, ...]:
    if not piece.overlaps(window):
        return piece.pieces
    before, behind = Interval(piece.start, window.start), Interval(window.end, piece.end)
    return (*before.pieces, *behind.pieces)


def checked_interval(start: int, end: int, what: str = "valid", *, given: bool = True) -> Interval:
    """The interval, if it does not end before it begins.

    ``given``: its start is the caller's, not the default.

    Raises:
        InvalidInterval: ``end < start``.
    """
    if end < start and not given:
        raise InvalidInterval(
            f"{what}_to {format_time(end)} lies before {format_time(start)}, the start if no {what}_from is given",
            f"Give a {what}_from that is not after {what}_to",
        )
    if end < start:
        raise InvalidInterval(
            f"{what}_to {format_time(end)} lies before {what}_from {format_time(start)}",
            "Swap the two, or leave the end open",
        )
    return Interval(start, end)


MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"),
    "december",
)
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

MONTH_NAME: Final = rf"(?P<month>{'|'.join(MONTHS)})"
_PLAIN: Final = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS if name not in ("march", "may"))
_SHORT_MONTH: Final = rf"(?P<month>{_PLAIN}|sept|(?-i:Ma(?:y|r(?:ch)?)|MA(?:Y|R(?:CH)?))|(?P<word>ma(?:y|r(?:ch)?)))\.?"
"""``word`` is a month in small letters that may be a verb: "10 may be enough"."""
_CLOCK: Final = r"(?:T\d\d:?\d\d(?::?\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?(?!\w))?"
_ON: Final = r"(?:(?P<on>(?<=\bon\s))|)"
_SURE: Final = r"(?(word)(?(on)|(?(ordinal)|(?(year)|(?!))))|)"
"""Such a month is one in "on 10 may", in "10th may", and in "10 may 2023"."""
DAY_FORMS: Final = (
    lazy(
        rf"\b{_ON}(?P<day>\d{{1,2}})(?P<ordinal>(?:st|nd|rd|th)(?:\s+of)?|\s+of)?\s+{_SHORT_MONTH}"
        rf"(?:,?\s+(?P<year>\d{{4}})|\b){_SURE}",
        re.I,
    ),
    lazy(
        rf"\b{_ON}{_SHORT_MONTH}\s+(?P<day>\d{{1,2}})(?P<ordinal>st|nd|rd|th)?\b(?!\s*[:%]|,\d{{3}}(?!\d)|\.\d)"
        rf"(?:,?\s*(?P<year>\d{{4}})\b)?{_SURE}",
        re.I,
    ),
    lazy(r"\b(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?!\d)" + _CLOCK, re.I),
)
"""A day as "21 November, 2023", as "November 21st" and as "2023-11-21". A time of ISO 8601 behind the
last belongs to it. ``day``, ``month`` and ``year`` are groups; the year may be missing."""


def month_number(named: str) -> int:
    """Give the number of a month that is written as in one of :data:`DAY_FORMS`.

    It is written as a number, or as at least three letters.
    """
    return int(named) if named.isdigit() else 1 + [name[:3] for name in MONTHS].index(named.casefold()[:3])
