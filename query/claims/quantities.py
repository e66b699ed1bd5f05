"""Numbers, units, hours and frequencies in a statement, in the units in which such are compared.

Half past seven is 7.30, half an hour 30 minutes, 14,400 euros a year 1,200 a month, once a week 52 times a year.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from worlddb.log.model.times import lazy
from worlddb.query.claims import lexicon

UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS: Final = {
    **{word: value for value, word in enumerate(UNITS.split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
    **{
        f"{tens}-{ones}": 10 * at + value
        for at, tens in enumerate(_TENS.split(), 2)
        for value, ones in enumerate(UNITS.split()[1:10], 1)
    },
}
_MEASURES: Final[dict[str, Mapping[str, float]]] = {
    "minutes": {"min": 1, "mins": 1, "minute": 1, "minutes": 1, "hour": 60, "hours": 60, "hrs": 60},
    "days": {"week": 7, "weeks": 7, "fortnight": 14, "fortnights": 14},
    "mg": dict.fromkeys(("microgram", "micrograms", "mcg", "µg", "μg"), 0.001)
    | {"milligram": 1, "milligrams": 1}
    | dict.fromkeys(("g", "gram", "grams", "gramme", "grammes"), 1_000)
    | dict.fromkeys(("kg", "kilo", "kilos", "kilogram", "kilograms"), 1_000_000)
    | {"oz": 28_349.5, "ounce": 28_349.5, "ounces": 28_349.5, "lb": 453_592, "lbs": 453_592},
    "cm": {"mm": 0.1, "centimetre": 1, "centimetres": 1, "centimeter": 1, "centimeters": 1}
    | dict.fromkeys(("m", "metre", "metres", "meter", "meters"), 100)
    | dict.fromkeys(("km", "kilometre", "kilometres", "kilometer", "kilometers"), 100_000)
    | {"inch": 2.54, "inches": 2.54, "foot": 30.48, "feet": 30.48, "ft": 30.48, "mile": 160_934, "miles": 160_934},
    "sqm": dict.fromkeys(("square metre", "square metres", "square meter", "square meters", "m2"), 1)
    | dict.fromkeys(("square foot", "square feet", "sq ft"), 0.0929),
    "ml": {"dl": 100, "cl": 10} | dict.fromkeys(("l", "litre", "litres", "liter", "liters"), 1_000),
}
"""By the unit that quantities are compared in, how much of it the others are."""
OF_UNIT: Final = {unit: (base, much) for base, units in _MEASURES.items() for unit, much in units.items()}
KINDS_OF_UNITS: Final = tuple(
    frozenset(units.split())
    for units in (
        "second minute day month year years-old",
        "euro eur dollar usd pound gbp franc chf yen",
        "mg ml tablet pill drop puff",
        "ml glass cup bottle can pint gallon",
        "celsius fahrenheit",
        "mb gb tb mbit gbit",
    )
)
"""Units, in the singular, in which one thing may be told that is not converted: another one is another amount."""
_FURTHER_UNITS: Final = lexicon.word_set("cm sqm per-year per-cent percent degree")


def are_of_other_kinds(unit: str, other: str) -> bool:
    """True if two units measure different things: a rate in per cent, and years."""
    both = {unit, other}
    is_known = all(each in _FURTHER_UNITS or any(each in units for units in KINDS_OF_UNITS) for each in both)
    return len(both) == 2 and is_known and not any(both <= units for units in KINDS_OF_UNITS)


_A_YEAR: Final = {"day": 365, "week": 52, "month": 12, "year": 1}
_COUNT: Final = rf"(?:\d+(?:\.\d+)?|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_MEASURED: Final = rf"(?P<unit>{'|'.join(sorted(OF_UNIT, key=len, reverse=True))})\b"
_CLOCK_WORDS: Final = lazy(rf"\b(?P<part>half|quarter) (?P<side>past|to) (?P<hour>{_COUNT})\b")
_HALF_DAY: Final = lazy(
    r"(?<=\b(?:at|by) )(?P<hour>1[0-2]|[1-9])(?P<minute>\.\d\d)? ?"
    r"(?:(?P<half>am|pm)|(?:o'clock )?in the (?P<part>morning|afternoon|evening))\b"
)
_DOZENS: Final = lazy(rf"\b(?:(?P<half>half a)|an?|(?P<count>{_COUNT})) dozen\b")
_OFTEN: Final = lazy(
    rf"\b(?:(?P<word>once|twice)|(?P<count>{_COUNT}) times) (?:an?|per|each|every) (?P<unit>{'|'.join(_A_YEAR)})\b"
)
_REGULARLY: Final = lazy(
    r"\b(?:(?:every|each) (?:(?P<gap>other|second|two|third|three|four|six|\d+) )?"
    r"(?P<unit>(?:mon|tues|wednes|thurs|fri|satur|sun)?day|morning|afternoon|evening|night|weekend|week|month|year"
    r"|summer|winter)s?"
    r"|(?P<adverb>daily|nightly|weekly|fortnightly|monthly|yearly|annually))\b"
)
"""How often something is so where no word counts it."""
_GAPS: Final = {"other": 2, "second": 2, "third": 3}
_ADVERBS: Final = {"nightly": 365.0, "daily": 365.0, "weekly": 52.0, "fortnightly": 26.0, "monthly": 12.0}
_IN_A_YEAR: Final = {**_A_YEAR, "summer": 1, "winter": 1} | dict.fromkeys(lexicon.PARTS_OF_DAY, 365)
_AMOUNT: Final = lazy(
    r"\b(?:(?P<parts>(?:an?|three) quarters? of an|half an?)|(?P<one>an?)"
    rf"|(?P<count>{_COUNT})(?P<half> and a half)?)[ -]{_MEASURED}(?P<more> and a half\b)?"
)
_QUANTIFYING: Final = lazy(
    rf"\d ?[ap]m\b|\d (?:o'clock )?in the|\bdozen|\btimes?\b|\bonce\b|\btwice\b|\bhalf\b|\b(?:year|day)\b|\bquarter"
    rf"|\b{_MEASURED}"
)
_RATE: Final = lazy(
    r"\b(?P<count>\d+(?:\.\d+)?) (?P<money>euros?|eur|dollars?|usd|pounds?|gbp|francs?|chf) (?:a|per|each|every)"
    r" (?P<per>day|week|year)\b"
)
_PARTS_OF_ONE: Final = {"h": 0.5, "a": 0.25, "t": 0.75}


def _parse_number(word: str) -> float:
    return float(NUMBER_WORDS[word]) if word in NUMBER_WORDS else float(word)


def format_number(value: float) -> str:
    """A number without needless decimals: 12, 0.5."""
    return str(int(value)) if value == int(value) else str(round(value, 4))


def _clock_time(match: re.Match[str]) -> str:
    """Half past seven: 7.30; a quarter to eight: 7.45."""
    hour = int(_parse_number(match["hour"])) - (match["side"] == "to")
    minute = 30 if match["part"] == "half" else 15 if match["side"] == "past" else 45
    return f"{hour or 12}.{minute}"


def _replace_dozens(match: re.Match[str]) -> str:
    return "6" if match["half"] else format_number(12 * _parse_number(match["count"] or "1"))


def _replace_frequency(match: re.Match[str]) -> str:
    times = {"once": 1.0, "twice": 2.0}.get(match["word"] or "") or _parse_number(match["count"])
    return f"{format_number(times * _A_YEAR[match['unit']])} {lexicon.OFTEN}"


def times_a_year(plain: str) -> float:
    """How many times a year the fact of a statement happens; 0 if it does not say."""
    if (counted := _OFTEN.search(plain)) is not None:
        return float(_replace_frequency(counted).split()[0])
    if (said := _REGULARLY.search(plain)) is None:
        return 0.0
    if said["adverb"]:
        return _ADVERBS.get(said["adverb"], 1.0)
    gap = said["gap"] or "1"
    every = _GAPS.get(gap) or _parse_number(gap)
    return _IN_A_YEAR.get(said["unit"], _A_YEAR["week"]) / max(every, 1.0)


def _replace_amount(match: re.Match[str]) -> str:
    """An amount in the unit in which such are compared; "80 km an hour" tells of no hour."""
    base, much = OF_UNIT[match["unit"]]
    before = match.string[max(0, match.start() - _BEFORE_AMOUNT) : match.start()].split()[-2:] if match["one"] else ()
    if any(word[0].isdecimal() or word in NUMBER_WORDS for word in before):
        return match[0]
    value = (
        _PARTS_OF_ONE[match["parts"][0]] if match["parts"] else _parse_number(match["count"]) if match["count"] else 1.0
    )
    value += 0.5 * bool(match["half"] or match["more"])
    return f"{format_number(value * much)} {base}"


_BEFORE_AMOUNT: Final = 120
"""How many characters before an amount are read."""


def normalise_quantities(plain: str) -> str:
    """A text with amounts and how often in one unit each: half an hour is 30 minutes, once a week 52 times a year.

    What is paid is by the month.
    """
    if _QUANTIFYING.search(plain) is None:
        return plain
    plain = _RATE.sub(_as_monthly_amount, plain)
    plain = _DOZENS.sub(_replace_dozens, _CLOCK_WORDS.sub(_clock_time, _HALF_DAY.sub(_as_24_hour_time, plain)))
    return _AMOUNT.sub(_replace_amount, _OFTEN.sub(_replace_frequency, plain).replace("twice", "2 times"))


def _as_monthly_amount(match: re.Match[str]) -> str:
    """What is paid in a day, a week or a year by the month: 14,400 euros a year are 1,200 a month."""
    amount = float(match["count"]) * _A_YEAR[match["per"]] / _A_YEAR["month"]
    return f"{format_number(amount)} {match['money']} a month"


def _as_24_hour_time(match: re.Match[str]) -> str:
    """A time of the day by 24 hours: 7 pm is 19.00."""
    hour, minute = int(match["hour"]) % _NOON, match["minute"] or ".00"
    is_later = match["half"] == "pm" or match["part"] in ("afternoon", "evening")
    return f"{hour + _NOON * is_later}{minute}"


_NOON: Final = 12


def has_number(tokens: list[str]) -> bool:
    """True if one of the words is a number, in digits or as a word."""
    return any(word[0].isdecimal() or word in NUMBER_WORDS for word in tokens)


_HALVES: Final = lexicon.word_set("am pm o'clock noon midnight")
_AT_HOURS: Final = lexicon.word_set("at by until till from around before after")


def clock_hours(tokens: list[str]) -> frozenset[str]:
    """The numbers of a statement that are times of day."""
    found = set[str]()
    for before, word, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if not word[0].isdecimal() or not word.replace(".", "").isdecimal() or word.count(".") > 1:
            continue
        is_hour = float(word) < _HOURS_OF_A_DAY and (before in _AT_HOURS or (before == "for" and "." in word))
        if after in _HALVES or (is_hour and (not after or after in lexicon.BEHIND or after in lexicon.TIMES)):
            found.add(str(float(word)))
    return frozenset(found)


_HOURS_OF_A_DAY: Final = 25


def measured_things(tokens: list[str]) -> Iterator[tuple[str, str]]:
    """Each unit after a number, in the singular, with the stem of the thing measured."""
    for at, word in enumerate(tokens[:-3]):
        if word[0].isdecimal() and tokens[at + 2] == "of":
            behind = [each for each in tokens[at + 3 : at + 5] if each not in lexicon.DETERMINERS]
            if behind:
                yield _singular_unit(tokens[at + 1]), lexicon.plain_stem(behind[0])


def join_number_words(tokens: list[str]) -> list[str]:
    """Number words as digits: "two hundred" is 200."""
    found: list[str] = []
    for word in tokens:
        value = NUMBER_WORDS.get(word)
        if word in ("hundred", "thousand") and found and found[-1].isdecimal():
            found[-1] = str(int(found[-1]) * (100 if word == "hundred" else 1000))
        else:
            found.append(word if value is None else str(value))
    return found


def _singular_unit(unit: str) -> str:
    """The singular of a unit: one hour, two hours."""
    if unit.endswith("sses"):
        return unit[:-2]
    return unit[:-1] if len(unit) > 3 and unit[-1] == "s" and unit[-2] != "s" else unit


def numbers_with_units(words: list[str]) -> frozenset[tuple[str, str]]:
    """Each number with the next word, which is usually its unit, or with what a "follower count" counts."""
    following = [*words[1:], ""][: len(words)]
    found = [
        (
            str(float(word)) if word.count(".") <= 1 else word,
            "" if unit in lexicon.BEHIND | _HALVES | _STILL else _singular_unit(unit),
        )
        for word, unit in zip(words, following, strict=True)
        if word[0].isdecimal() and word.replace(".", "").isdecimal()
    ]
    if len(found) == 1 and not found[0][1] and "count" in words[1:]:
        counted = words[words.index("count", 1) - 1]
        return frozenset({(found[0][0], "" if counted in _ANY else _singular_unit(counted))})
    return frozenset(found)


_STILL: Final = lexicon.word_set("now today already yet currently")
"""Behind a number such a word is no unit."""
_ANY: Final = (
    lexicon.DETERMINERS | lexicon.PRONOUNS | lexicon.MODALS | lexicon.word_set("current total new latest to and")
)
"""Before "count" such a word says nothing of what is counted."""
