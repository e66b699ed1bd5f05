"""Dates that a text names in full enough to mean one day, month or year wherever it is read.

"yesterday" and "last May" are left to the question (``query/dates.py``), since what they mean depends on when they were
said. The form is ISO 8601's: 2023-11-21, 2023-11, 2023; a day without a year is --11-21.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from worlddb.log.model.times import DAY_FORMS, MONTH_NAME, month_number
from worlddb.reconciler.mentions.mention import DATE, Mention

_TYPE: Final = "Date"
_MONTH_AND_YEAR: Final = re.compile(rf"\b{MONTH_NAME},?\s+(?P<year>\d{{4}})\b", re.I)
_YEAR: Final = re.compile(r"\b(?:in|during|since|until|of|from)\s(?P<year>(?:19|20)\d{2})\b(?![-/.,]?\d|\s?%)", re.I)
_YEARS: Final = range(1800, 2200)
"""Behind a month, another number counts something: "in March 1500 people came"."""
_LEAP_YEAR: Final = 2024
"""A day without a year may be the 29th of February."""


def dates(text: str) -> Iterator[Mention]:
    """The dates in a text, those of one form after those of another; some may overlap."""
    for form in DAY_FORMS:
        for match in form.finditer(text):
            named = _day(match)
            if named:
                yield Mention(DATE, _TYPE, named, match[0], *match.span())
    for match in _MONTH_AND_YEAR.finditer(text):
        year, month = int(match["year"]), month_number(match["month"])
        if year in _YEARS:
            yield Mention(DATE, _TYPE, f"{year}-{month:02}", match[0], *match.span())
    for match in _YEAR.finditer(text):
        yield Mention(DATE, _TYPE, f"{int(match['year'])}", match["year"], *match.span("year"))


def _day(match: re.Match[str]) -> str:
    """The form of a day; empty if no calendar has it, or if what stands behind it may be no year."""
    year, month, day = match["year"], month_number(match["month"]), int(match["day"])
    if year and int(year) not in _YEARS and not match["month"].isdigit():
        return ""
    try:
        found = date(int(year) if year else _LEAP_YEAR, month, day)
    except ValueError:
        return ""
    return found.isoformat() if year else f"--{month:02}-{day:02}"
