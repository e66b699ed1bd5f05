"""Tests times: what is accepted, what is refused, and that what is shown reads back."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb import FOREVER, InvalidTime, WorldDBError, format_time, parse_time
from worlddb.log.model import times
from worlddb.log.model.times import ALWAYS, MAX_TIME, MIN_TIME, parse_duration

micros = st.integers(MIN_TIME, MAX_TIME)
SEEMS_TO_BE_OF_A_CLOCK: Final = 10**16 // 1_000
"""Below it a number of microseconds may be one of milliseconds up to the year 2286."""


@given(time=micros)
def test_what_is_shown_reads_back_as_the_same_microsecond(time: int) -> None:
    assert parse_time(format_time(time)) == time
    # A number of early 1970 may be a year, or count what clocks do, and is refused then.
    if not 0 < time < SEEMS_TO_BE_OF_A_CLOCK:
        assert parse_time(time) == time


@given(
    moment=st.datetimes(
        min_value=datetime(2, 1, 1),
        max_value=datetime(9998, 12, 31),
        timezones=st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    )
)
def test_a_moment_is_the_same_in_every_zone_and_as_text(moment: datetime) -> None:
    exact = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert parse_time(moment) == exact == parse_time(moment.isoformat()) == parse_time(moment.astimezone(UTC))


@given(day=st.dates())
def test_a_date_is_its_first_instant_in_utc(day: date) -> None:
    first = datetime(day.year, day.month, day.day, tzinfo=UTC)
    assert parse_time(day) == parse_time(first) == parse_time(day.isoformat()) == parse_time(f"  {day.isoformat()} ")


@given(one=micros, other=micros)
def test_shown_times_are_in_the_order_of_the_times(one: int, other: int) -> None:
    pad = [format_time(time).rstrip("Z").partition(".")[0] for time in sorted((one, other))]
    assert pad == sorted(pad)


def test_open_ends_are_words_and_not_times() -> None:
    assert (format_time(FOREVER), format_time(ALWAYS)) == ("forever", "always")
    for open_end in (FOREVER, ALWAYS, MAX_TIME + 1, MIN_TIME - 1):
        with pytest.raises(InvalidTime):
            parse_time(open_end)


class OddZone(tzinfo):
    """A zone that does not know its offset is no zone."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None

    def dst(self, moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None


@pytest.mark.parametrize(
    "given_time",
    [
        *(datetime(2025, 1, 1), datetime(2025, 1, 1, tzinfo=OddZone()), "2025-01-01T09:00:00", "20250101T090000"),
        *("", " ", "now", "yesterday", "2025-13-01", "2025-02-30", "0000-01-01", "10000-01-01", "12:00Z", "forever"),
        *("2025-01-01T25:00:00Z", "2025-01-01T09:00:00+25:00", "\ud800", "１９７０-01-01", "1970-01-01\x00", "1e9"),
        *(True, False, None, 1.5, float("nan"), b"2025-01-01", [], {}, object(), 2**80, -(2**80)),
        *(datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "9999-12-31T23:59:59.999999-01:00"),
    ],
    ids=lambda given: repr(given).partition(" at 0x")[0],
)
def test_a_time_that_would_have_to_be_guessed_is_an_error_that_names_its_place(given_time: Any) -> None:
    with pytest.raises(InvalidTime) as error:
        parse_time(given_time, "valid_from")
    assert "valid_from" in error.value.message
    assert error.value.remedy


@pytest.mark.parametrize(
    ("text", "told", "remedy"),
    [
        ("last spring", "valid 'last spring' is not a time", "only the text of a question"),
        ("2025-02-30", "there is no such day or hour", "2025-02-01T09:00:00Z"),
        ("2025-01-01T25:00Z", "there is no such day or hour", "2025-02-01T09:00:00Z"),
        ("2025-02", "it names a month, and a day is needed", "2025-02-01"),
        ("2025", "it names a year, and a day is needed", "2025-02-01"),
        ("  ", "it is empty", "2025-02-01"),
        ("20250230", "'20250230' is not a time: there is no such day or hour", "2025-02-01"),
        ("20250201T1000", "'20250201T1000' has no time zone", "2025-02-01T10:00:00Z for UTC"),
        ("2025-02-01T10:00+25:00", "an offset is less than 24 hours", "2025-02-01T10:00+01:00"),
        ("2025-02-01T10:00-9900", "an offset is less than 24 hours", "2025-02-01T10:00+01:00"),
        ("2025-02-01T10:00 Europe/Berlin", "Europe/Berlin is the name of a zone", "2025-02-01T10:00+01:00"),
        (
            "2025-02-01T10:00[America/Port-au-Prince]",
            "America/Port-au-Prince is the name of a",
            "2025-02-01T10:00+01:00",
        ),
        ("2025-02-01 10:00 CET", "CET is the name of a zone", "2025-02-01T10:00+01:00"),
        ("2025-02-01T10:00\u221202:00", "'\u2212' is U+2212, not the '-' of ASCII", "2025-02-01T10:00+01:00"),
        ("2025\u201302\u201301", "'\u2013' is U+2013, not the '-' of ASCII", "2025-02-01"),
        ("2025-02-01T10:00\uff0b02:00", "is U+FF0B, not the '+' of ASCII", "2025-02-01T10:00+01:00"),
        ("2025-02-01T10:00 02:00", "where the sign of its offset belongs (in a URL, + is written %2B)", "+01:00"),
        ("2025-02-01T10:00:00.5 +0200", "a blank stands before its offset", "+01:00"),
        ("1791000000", "valid '1791000000' looks like seconds since 1970", "Give 2026-10-03T04:00:00Z"),
        ("1791000000.25", "looks like seconds since 1970", "Give 2026-10-03T04:00:00.250000Z"),
        ("1791000000000", "looks like milliseconds since 1970", "Give 2026-10-03T04:00:00Z"),
        ("1791000000000000", "looks like microseconds since 1970", "Give 2026-10-03T04:00:00Z"),
        ("1791000000000000001", "looks like nanoseconds since 1970", "Give 2026-10-03T04:00:00Z"),
        ("2026-W41", "valid '2026-W41' names a week, and a day is needed", "Give the day it begins, 2026-10-05"),
        ("2026W41", "names a week, and a day is needed", "Give the day it begins, 2026-10-05"),
        ("2026-W41-3", "names a day by its week", "Give 2026-10-07"),
        ("2026-W54", "there is no such week", "2025-02-01"),
        ("2026-280", "counts the days of a year", "Give 2026-10-07"),
        ("2026-366", "is not a time", "2025-02-01"),
        ("2026/10/3", "is not a date as ISO 8601 has it", "Give 2026-10-03"),
        ("2026-2-30", "there is no such day", "2025-02-01"),
        ("03.10.2026", "the year comes first, then the month", "2025-02-01"),
        ("2026-10-03Z", "it has an offset and no hour", "2025-02-01T09:00:00Z"),
        ("20261003101500", "there is no such day or hour", "2025-02-01T09:00:00Z"),
    ],
)
def test_a_text_that_is_no_time_is_told_why_and_which_forms_are_taken(text: str, told: str, remedy: str) -> None:
    with pytest.raises(InvalidTime) as error:
        parse_time(text, "valid")
    assert told in error.value.message and remedy in (error.value.remedy or "")
    assert "isoformat" not in str(error.value)


@pytest.mark.parametrize("year", [1000, 2024, 9999])
def test_a_year_as_a_number_is_refused_and_no_moment_of_1970(year: int) -> None:
    with pytest.raises(InvalidTime) as error:
        parse_time(year, "valid_from")
    told = f"valid_from {year} seems to be a year, and a number counts microseconds since 1970"
    assert str(error.value) == f'{told}. Give a date, such as "{year}-01-01"'
    assert (parse_time(999), parse_time(10_000)) == (999, 10_000)


def test_a_date_may_be_written_without_dashes() -> None:
    assert parse_time("20250201") == parse_time("2025-02-01")


@pytest.mark.parametrize("seconds", [1e300, float("inf"), float("nan"), 0, -1, timedelta(days=400_000)])
def test_a_length_of_time_that_is_none_is_told_how_long_it_may_be(seconds: Any) -> None:
    with pytest.raises(InvalidTime, match=r"ttl is .* seconds") as error:
        parse_duration(seconds)
    assert "31,622,400,000 s" in error.value.remedy


@given(given_time=st.one_of(st.text(max_size=40), st.from_regex(r"[0-9:TZ+\-. W]{1,30}"), st.integers(), st.floats()))
def test_whatever_is_given_as_a_time_is_a_time_or_an_invalid_one(given_time: Any) -> None:
    try:
        assert MIN_TIME <= parse_time(given_time) <= MAX_TIME
    except WorldDBError as error:
        assert isinstance(error, InvalidTime)


def test_a_time_that_only_a_changed_byte_can_make_is_shown() -> None:
    """It ended `worlddb log` of a damaged store in an OverflowError."""
    for time in (MAX_TIME + 1, FOREVER - 1, MIN_TIME - 1, -FOREVER):
        assert format_time(time) in ("after the year 9999", "always")


_COMPARISONS: Final[tuple[Callable[[int, int], Any], ...]] = (
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
    *(lambda now, other: other < now, lambda now, other: other <= now, lambda now, other: other == now),
    *(lambda now, other: max(now, other) == other, lambda now, other: min(other, now) == other),
    lambda now, other: bisect_right([other - 2, other, other + 3], now),
    lambda now, other: (other, now) < (other, other),
    lambda now, other: times.Interval(other, other + 4).contains(now),
)
_LOOKS: Final[tuple[Callable[[int], Any], ...]] = (
    *(times.format_time, hash, str, repr, int, float),
    *(lambda now: now + 1, lambda now: 1 - now, lambda now: now % 7, lambda now: f"{now}", lambda now: {now}),
)


@given(now=st.integers(-20, 20), asked=st.lists(st.tuples(st.sampled_from(_COMPARISONS), st.integers(-20, 20))))
def test_what_was_found_out_with_the_present_stays_so_until_the_time_that_it_noted(
    now: int, asked: list[tuple[Callable[[int, int], Any], int]]
) -> None:
    present = times.PresentTime(now)
    found = [compare(present, other) for compare, other in asked]
    assert found == [compare(now, other) for compare, other in asked]
    for later in range(now, min(present.until, 30)):
        assert found == [compare(later, other) for compare, other in asked]


def test_who_looks_at_the_present_itself_gets_what_is_so_at_this_instant() -> None:
    for look in _LOOKS:
        present = times.PresentTime(10)
        assert look(present) == look(10) and present.until == 11, look
    earlier, later = times.PresentTime(10), times.PresentTime(20)
    assert earlier < later and (earlier.until, later.until) == (20, times.FOREVER)
    earlier, later = times.PresentTime(10), times.PresentTime(20)
    assert later > earlier and (earlier.until, later.until) == (20, times.FOREVER)
