"""Amounts: money, percentages, and numbers with a unit. Numbers are read as English writes them: 1,200.50.

What may be the end of something longer (a fraction, ``1 200``, ``5:30``) is left out rather than read wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from worlddb.reconciler.mentions.mention import AMOUNT, Mention

_TYPE: Final = "Amount"
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
"""5 g is a weight, 5G is none."""
_QUANTITY: Final = re.compile(rf"{_ALONE}{_SIGN}{_NUMBER}[\s-]?(?P<unit>{_UNIT})(?!\w|/\w)", re.I)


def amounts(text: str) -> Iterator[Mention]:
    """The amounts in a text, money before percentages before quantities; some may overlap.

    The form is the number with its sign, without what only separates its digits, then the unit: ``1200000 $``,
    ``12.5 %``, ``-5 km``.
    """
    for pattern in (_SYMBOL_FIRST, _CURRENCY_LAST):
        for match in pattern.finditer(text):
            unit = match["unit"].lower()
            yield _mention(match, _CURRENCIES.get(unit, unit), _SCALES.get((match["scale"] or "").lower(), 1))
    for match in _PERCENT.finditer(text):
        yield _mention(match, "%")
    for match in _QUANTITY.finditer(text):
        unit = match["unit"]
        yield _mention(match, _UNITS.get(unit.lower()) or unit.upper())


def _mention(match: re.Match[str], unit: str, scale: int = 1) -> Mention:
    value = Decimal(match["number"].replace(",", "")) * (-scale if match["sign"] else scale) + 0
    number = f"{value:f}"
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return Mention(AMOUNT, _TYPE, f"{number} {unit}", match[0], *match.span())
