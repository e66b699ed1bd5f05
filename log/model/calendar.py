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
_PLAIN: Final = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS if name not in ("march", "may"))
_SHORT_MONTH: Final = rf"(?P<month>{_PLAIN}|sept|(?-i:Ma(?:y|r(?:ch)?)|MA(?:Y|R(?:CH)?))|(?P<word>ma(?:y|r(?:ch)?)))\.?"
"""``word`` is a month in small letters that may be a verb: "10 may be enough"."""
_CLOCK: Final = r"(?:T\d\d:?\d\d(?::?\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?(?!\w))?"
_ON: Final = r"(?:(?P<on>(?<=\bon\s))|)"
_SURE: Final = r"(?(word)(?(on)|(?(ordinal)|(?(year)|(?!))))|)"
"""Such a month is one in "on 10 may", in "10th may", and in "10 may 2023"."""
DAY_FORMS: Final = (
    re.compile(
        rf"\b{_ON}(?P<day>\d{{1,2}})(?P<ordinal>(?:st|nd|rd|th)(?:\s+of)?|\s+of)?\s+{_SHORT_MONTH}"
        rf"(?:,?\s+(?P<year>\d{{4}})|\b){_SURE}",
        re.I,
    ),
    re.compile(
        rf"\b{_ON}{_SHORT_MONTH}\s+(?P<day>\d{{1,2}})(?P<ordinal>st|nd|rd|th)?\b(?!\s*[:%]|,\d{{3}}(?!\d)|\.\d)"
        rf"(?:,?\s*(?P<year>\d{{4}})\b)?{_SURE}",
        re.I,
    ),
    re.compile(r"\b(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?!\d)" + _CLOCK, re.I),
)
"""A day as "21 November, 2023", as "November 21st" and as "2023-11-21". A time of ISO 8601 behind the
last belongs to it. ``day``, ``month`` and ``year`` are groups; the year may be missing."""


def month_number(named: str) -> int:
    """The number of a month that is written as in one of :data:`DAY_FORMS`: as a number, or at least three letters."""
    return int(named) if named.isdigit() else 1 + [name[:3] for name in MONTHS].index(named.casefold()[:3])
