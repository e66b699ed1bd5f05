"""How English text writes dates: names of months and days, and the forms of a day and of a month. Pure."""

from __future__ import annotations

import re
from typing import Final

MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"),
    "december",
)
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

MONTH_NAME: Final = rf"(?P<month>{'|'.join(MONTHS)})"
_SHORT_MONTH: Final = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in MONTHS)}|sept)\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
DAY_FORMS: Final = (
    re.compile(rf"\b{_DAY}(?:\s+of)?\s+{_SHORT_MONTH}(?:,?\s+(?P<year>\d{{4}})|\b)", re.I),
    re.compile(rf"\b{_SHORT_MONTH}\s+{_DAY}\b(?!\s*[:%])(?:,?\s*(?P<year>\d{{4}})\b)?", re.I),
    re.compile(r"\b(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})\b"),
)
"""A day as "21 November, 2023", as "November 21st" and as "2023-11-21". ``day``, ``month`` and ``year`` are groups; the
year may be missing."""


def month_number(named: str) -> int:
    """The number of a month that is written as in one of :data:`DAY_FORMS`: as a number, or at least three letters."""
    return int(named) if named.isdigit() else 1 + [name[:3] for name in MONTHS].index(named.casefold()[:3])
