"""Find addresses, telephone numbers, amounts and dates by their form.

Each mention comes with its place. Amounts are money, percentages, and numbers with a unit, read as English writes them:
1,200.50. A number that may be the end of something longer (a fraction, ``1 200``, ``5:30``) is left out rather than
read wrongly. Dates are those that name one day, month or year wherever they are read; "yesterday" and "last May" are
left to the question, since they depend on when they were said. Their form is ISO 8601's: 2023-11-21, 2023-11, 2023; a
day without a year is --11-21.
"""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from worlddb.log.model.times import DAY_FORMS, MONTH_NAME, month_number

NAME, DATE, AMOUNT, ADDRESS = "name", "date", "amount", "address"
KINDS: Final = (NAME, DATE, AMOUNT, ADDRESS)
"""What is looked for: names and other capitalised phrases; days, months and years; money, percentages and quantities;
e-mail addresses, web addresses and telephone numbers."""


class Mention(NamedTuple):
    """A stretch of a text that stands for something.

    ``type`` is that of the world that it is made into, ``form`` what all mentions of the same thing have in common, and
    ``text`` what stands from character ``start`` up to ``end`` (excluded) of the text.
    """

    kind: str
    type: str
    form: str
    text: str
    start: int
    end: int


_WEB: Final = re.compile(r"(?<!\w)(?:https?://|www\.)[^\s<>\"'`{}|\\^\ufffc]{1,2000}", re.I)
_TRAILING: Final = ".,;:!?…*_~"
_BRACKETS: Final = {")": "(", "]": "["}
_EMAIL: Final = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[^\W_][\w-]{0,62}(?:\.[^\W_][\w-]{0,62}){1,6}")
_PHONE: Final = re.compile(r"(?<![\w+.,-])(?:\+\d[\d ().-]{5,22}\d|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?![\w-])")
_DIGITS: Final = range(7, 16)
"""How many a telephone number has; at most 15 in E.164."""


def addresses(text: str) -> Iterator[Mention]:
    """The addresses in a text, without punctuation that ends a sentence or closes a bracket."""
    for match in _WEB.finditer(text):
        found = _trim_web_address(match[0])
        if "." in found:
            yield Mention(ADDRESS, "WebAddress", found, found, match.start(), match.start() + len(found))
    for match in _EMAIL.finditer(text):
        yield Mention(ADDRESS, "EmailAddress", match[0].lower(), match[0], *match.span())
    for match in _PHONE.finditer(text):
        digits = "".join(char for char in match[0] if char.isdigit())
        if len(digits) in _DIGITS:
            form = ("+" if match[0].startswith("+") else "") + digits
            yield Mention(ADDRESS, "PhoneNumber", form, match[0], *match.span())


def _trim_web_address(found: str) -> str:
    """A web address without trailing punctuation. A bracket that closes one inside the address belongs to it."""
    unopened = {close: found.count(close) - found.count(opening) for close, opening in _BRACKETS.items()}
    end = len(found)
    while end and (found[end - 1] in _TRAILING or unopened.get(found[end - 1], 0) > 0):
        end -= 1
        if found[end] in unopened:
            unopened[found[end]] -= 1
    return found[:end]


_AMOUNT: Final = "Amount"
_NUMBER: Final = r"(?P<number>\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,6})?|\d{1,15}(?:\.\d{1,6})?)"
_SCALE: Final = r"(?:\s?(?P<scale>thousand|million|billion|trillion|bn|[kKmM])(?!\w))?"
_ALONE: Final = r"(?<![\w.,/⁄^])(?<!\d[^\S\n])(?<!\d[:'’])(?<![/⁄]\s)(?<!(?<![\w%°$€£¥₹])[-−–])"
"""Where a number or its sign may begin. A dash stands between two numbers, or is a sign and is not passed over."""
_SIGN: Final = r"(?P<sign>(?<![%°$€£¥₹])[-−])?"
_SCALES: Final = {
    "k": 10**3,
    "thousand": 10**3,
    "m": 10**6,
    "million": 10**6,
    "bn": 10**9,
    "billion": 10**9,
    "trillion": 10**12,
}
_CURRENCIES: Final = {
    **dict.fromkeys(("dollar", "dollars", "bucks"), "$"),
    **dict.fromkeys(("euro", "euros", "eur"), "€"),
    **dict.fromkeys(("rupee", "rupees", "inr"), "₹"),
    **dict.fromkeys(("gbp",), "£"),
    **dict.fromkeys(("yen", "jpy"), "¥"),
    **{code: code.upper() for code in ("usd", "chf", "cad", "aud", "sek", "nok", "dkk", "pln", "cny", "brl")},
}
_UNITS: Final = {
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres"), "km"),
    **dict.fromkeys(("mile", "miles"), "mi"),
    **dict.fromkeys(("meter", "meters", "metre", "metres"), "m"),
    **dict.fromkeys(("cm", "centimeter", "centimeters", "centimetre", "centimetres"), "cm"),
    **dict.fromkeys(("mm", "millimeter", "millimeters", "millimetre", "millimetres"), "mm"),
    **dict.fromkeys(("foot", "feet", "ft"), "ft"),
    **dict.fromkeys(("inch", "inches"), "in"),
    **dict.fromkeys(("kg", "kilo", "kilos", "kilogram", "kilograms"), "kg"),
    **dict.fromkeys(("g", "gram", "grams"), "g"),
    **dict.fromkeys(("mg", "milligram", "milligrams"), "mg"),
    **dict.fromkeys(("pound", "pounds", "lb", "lbs"), "lb"),
    **dict.fromkeys(("ounce", "ounces", "oz"), "oz"),
    **dict.fromkeys(("liter", "liters", "litre", "litres"), "l"),
    **dict.fromkeys(("ml", "milliliter", "milliliters", "millilitre", "millilitres"), "ml"),
    **dict.fromkeys(("gallon", "gallons"), "gal"),
    **dict.fromkeys(("cup", "cups"), "cup"),
    **dict.fromkeys(("second", "seconds"), "s"),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), "min"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("week", "weeks"), "wk"),
    **dict.fromkeys(("month", "months"), "mo"),
    **dict.fromkeys(("year", "years"), "y"),
    **dict.fromkeys(("mph",), "mph"),
    **dict.fromkeys(("kb", "mb", "gb", "tb"), ""),
    **dict.fromkeys(("°c", "°f"), ""),
}
_SYMBOL_FIRST: Final = re.compile(
    rf"{_ALONE}(?<![$€£¥₹]){_SIGN}(?P<unit>[$€£¥₹])\s?{_NUMBER}(?![\d,.]*\d|[^\S\n]\d|[/⁄'’]\d){_SCALE}"
)
_CURRENCY_LAST: Final = re.compile(
    rf"{_ALONE}{_SIGN}{_NUMBER}{_SCALE}\s?(?P<unit>[€£¥₹]|(?:{'|'.join(_CURRENCIES)})\b)", re.I
)
_PERCENT: Final = re.compile(rf"{_ALONE}{_SIGN}{_NUMBER}\s?(?:%|percent\b|per\scent\b)", re.I)
_UNIT: Final = "|".join(
    re.escape(unit) if len(unit) > 1 else f"(?-i:{unit})" for unit in sorted(_UNITS, key=len, reverse=True)
)
"""5 g is a weight, 5G is not."""
_QUANTITY: Final = re.compile(rf"{_ALONE}{_SIGN}{_NUMBER}[\s-]?(?P<unit>{_UNIT})(?!\w|/\w)", re.I)


def amounts(text: str) -> Iterator[Mention]:
    """The amounts in a text, money before percentages before quantities; some may overlap.

    The form is the number with its sign, without what only separates its digits, then the unit: ``1200000 $``,
    ``12.5 %``, ``-5 km``.
    """
    for pattern in (_SYMBOL_FIRST, _CURRENCY_LAST):
        for match in pattern.finditer(text):
            unit = match["unit"].lower()
            yield _amount_mention(match, _CURRENCIES.get(unit, unit), _SCALES.get((match["scale"] or "").lower(), 1))
    for match in _PERCENT.finditer(text):
        yield _amount_mention(match, "%")
    for match in _QUANTITY.finditer(text):
        unit = match["unit"]
        yield _amount_mention(match, _UNITS.get(unit.lower()) or unit.upper())


def _amount_mention(match: re.Match[str], unit: str, scale: int = 1) -> Mention:
    value = Decimal(match["number"].replace(",", "")) * (-scale if match["sign"] else scale) + 0
    number = f"{value:f}"
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return Mention(AMOUNT, _AMOUNT, f"{number} {unit}", match[0], *match.span())


_DATE: Final = "Date"
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
            named = _day_form(match)
            if named:
                yield Mention(DATE, _DATE, named, match[0], *match.span())
    for match in _MONTH_AND_YEAR.finditer(text):
        year, month = int(match["year"]), month_number(match["month"])
        if year in _YEARS:
            yield Mention(DATE, _DATE, f"{year}-{month:02}", match[0], *match.span())
    for match in _YEAR.finditer(text):
        yield Mention(DATE, _DATE, f"{int(match['year'])}", match["year"], *match.span("year"))


def _day_form(match: re.Match[str]) -> str:
    """The form of a day.

    Empty if no calendar has it, or if what stands behind it may be no year.
    """
    year, month, day = match["year"], month_number(match["month"]), int(match["day"])
    if year and int(year) not in _YEARS and not match["month"].isdigit():
        return ""
    try:
        found = date(int(year) if year else _LEAP_YEAR, month, day)
    except ValueError:
        return ""
    return found.isoformat() if year else f"--{month:02}-{day:02}"
