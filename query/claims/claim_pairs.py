"""Compare two frames part by part: the numbers, days, times and values that they share or differ in.

:class:`ClaimComparison` is what the comparison of two whole statements comes to.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from worlddb.log.model.times import DAYS
from worlddb.projections.indexes.analysis import STOP_WORDS
from worlddb.query.claims import lexicon, quantities
from worlddb.query.claims.claim_frame import Frame

Relation = Literal["same", "replacement", "contradiction", "compatible"]
RELATIONS: Final[tuple[Relation, ...]] = ("same", "replacement", "contradiction", "compatible")
"""How a later statement may relate to an earlier one."""
COMPETING: Final = ("replacement", "contradiction")
"""The relations of two statements that are not both true."""


class ClaimComparison(NamedTuple):
    """The likeness of two statements (0 to 1), the relation of the later to the earlier one, and the reason.

    ``is_single_valued``: the earlier one states only a value of an attribute, and the later one another value of it.
    ``doubt`` is why a replacement is not, so that it ends nothing without being told to. ``is_by_words``: they compete
    by words in common alone, so that they do not where they refer to different things, too.
    """

    likeness: float
    relation: Relation
    reason: str
    is_single_valued: bool = False
    doubt: str = ""
    is_by_words: bool = False


REPEATED: Final = ClaimComparison(1.0, "same", "the same words")
"""A statement that repeats another one word for word."""


def comparison(likeness: float, later: Frame, reason: str, relation: Relation) -> ClaimComparison:
    """The comparison of two statements of one subject; the reason adds a change that the later one tells."""
    since = "; the later one tells of a change" if later.change and relation == "replacement" else ""
    return ClaimComparison(clamp_likeness(likeness), relation, f"same subject, {reason}{since}")


def by_words(likeness: float, later: Frame, reason: str, relation: Relation) -> ClaimComparison:
    """The comparison of two statements that compete by words in common alone."""
    return comparison(likeness, later, reason, relation)._replace(is_by_words=True)


def doubted(likeness: float, later: Frame, reason: str, doubt: str) -> ClaimComparison:
    """A replacement that ends nothing without being told to."""
    return comparison(likeness, later, reason, "replacement")._replace(doubt=doubt)


def clamp_likeness(value: float) -> float:
    """A likeness between 0 and 1, rounded."""
    return round(min(1.0, max(0.0, value)), 3)


SAYS_MORE: Final = "it says more than the new one replaces"
BOTH_HAVE_IT: Final = "both may have it"
DOES_BOTH: Final = "somebody may do both"
IN_BOTH: Final = "it may be in both"
OF_ELSE: Final = "it may be of something else"
OTHER_TIME: Final = "it may be another one, or another time"


def related_by_meaning(likeness: float) -> ClaimComparison:
    """The comparison of two statements that are near by their vectors."""
    return ClaimComparison(clamp_likeness(likeness), "compatible", "same subject, near in meaning; both may hold")


MEANT_FROM: Final = 0.65
"""The nearness from which two statements of one subject are near in meaning."""
_SHARED: Final = 0.1
"""What a telling word that both have adds to their nearness."""


def nearness(earlier: Frame, later: Frame, cosine: float) -> float:
    """How near two statements are in meaning: the cosine of their vectors, and more for each telling word in both."""
    return cosine + _SHARED * len(earlier.content & later.content)


MANY_WORDS: Final = 9
"""From so many words that say something on, in two statements together, they may tell of several things."""


def are_long(earlier: Frame, later: Frame) -> bool:
    """True if two statements have so many words that they may share some and still tell of several things."""
    return len(earlier.content | later.content) >= MANY_WORDS


OF_PLACES: Final = frozenset({"place"})
"""Attributes that go with another one: who moves to Porto lives there."""
CONDITION: Final = frozenset({"condition"})
"""The attribute of what somebody is in or on that is no place: therapy, insulin, leave."""
OF_BEING: Final = OF_PLACES | CONDITION | {"stay"}
"""Attributes of "is in" and "is on"."""
PRESENT: Final = frozenset({"", "again", "now", "nowadays", "currently", "today", "since", "these days"})
"""Words of change that may be said of what is as it was."""


def number_values(one: Frame) -> frozenset[str]:
    """The numbers of a statement without their units."""
    return _told_numbers(one.numbers).values


class _Numbers(NamedTuple):
    """The numbers of a statement in order, their values, and these by unit."""

    ordered: list[tuple[str, str]]
    values: frozenset[str]
    by_unit: dict[str, set[str]]


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _told_numbers(numbers: frozenset[tuple[str, str]]) -> _Numbers:
    by_unit: dict[str, set[str]] = {}
    for value, unit in numbers:
        by_unit.setdefault(unit, set()).add(value)
    return _Numbers(sorted(numbers), frozenset(value for value, _ in numbers), by_unit)


def number_units(one: Frame) -> frozenset[str]:
    """The words after its numbers, without stop words."""
    return frozenset(unit for _, unit in one.numbers if unit and unit not in STOP_WORDS)


def objects_of(one: Frame) -> frozenset[str]:
    """The content of a statement but for its verb."""
    return one.content - {one.verb}


def without_units(one: Frame) -> frozenset[str]:
    """The content of a statement without the units of its numbers."""
    return one.content - lexicon.stems(unit for _, unit in one.numbers if unit)


def changed_numbers(earlier: Frame, later: Frame) -> str:
    """The first unit with different numbers in the two; empty if there is none."""
    return next((unit or "number" for unit in changed_units(earlier, later)), "")


def changed_units(earlier: Frame, later: Frame) -> list[str]:
    """The units with different numbers in the two; a number without a unit has the empty one."""
    if not earlier.numbers or not later.numbers:
        return []
    before = _told_numbers(earlier.numbers).by_unit
    changed = (
        unit
        for value, unit in _told_numbers(later.numbers).ordered
        if unit in before and value not in before[unit] and not _is_hour_alone(value, before[unit], later, earlier)
    )
    return list(dict.fromkeys((*changed, *_other_unit(earlier, later))))


def _other_unit(earlier: Frame, later: Frame) -> tuple[str, ...]:
    """The unit of the later statement's number, if the earlier one gives that of the same thing in another unit."""
    if len(earlier.numbers) != 1 or len(later.numbers) != 1 or earlier.hours or later.hours:
        return ()
    ((_, before),), ((_, after),) = earlier.numbers, later.numbers
    if before == after or not any({before, after} <= units for units in quantities.KINDS_OF_UNITS):
        return ()
    is_of_one = earlier.verb == later.verb and earlier.head == later.head
    return (after,) if is_of_one and without_units(earlier) == without_units(later) else ()


def _is_hour_alone(value: str, before: set[str], later: Frame, earlier: Frame) -> bool:
    """True if only one of two numbers is a time of day: at 15:00, and in room 12."""
    return (value in later.hours) == before.isdisjoint(earlier.hours) and not later.change


def date_terms(one: Frame) -> frozenset[str]:
    """The months, weekdays, years, days of a month and parts of numeric dates in a statement."""
    named = {word for word in one.times if word in lexicon.CALENDAR}
    dated = {f"{value} {unit}" for value, unit in one.numbers if unit in lexicon.CALENDAR or unit.isdecimal()}
    return frozenset(named | dated | {value for value, unit in one.numbers if is_year(value, unit)})


def are_of_other_days(earlier: Frame, later: Frame) -> bool:
    """True if both name days, months or years, and not the same."""
    before, after = date_terms(earlier), date_terms(later)
    return bool(before) and bool(after) and before != after


def numbers_outside_dates(one: Frame) -> frozenset[tuple[str, str]]:
    """The numbers of a statement that are not part of a date."""
    is_in_digits = any(unit.isdecimal() for _, unit in one.numbers)
    return frozenset(
        (value, unit)
        for value, unit in one.numbers
        if not (unit in lexicon.CALENDAR or unit.isdecimal() or is_year(value, unit) or (is_in_digits and not unit))
    )


def is_year(value: str, unit: str) -> bool:
    """True if a number may be a year; addresses, releases such as 1.2.3 and counts are not."""
    is_counting = unit != "" and unit not in STOP_WORDS and unit not in lexicon.CALENDAR and not lexicon.is_past(unit)
    return not is_counting and value.count(".") == 1 and _FIRST_YEAR <= float(value) <= _LAST_YEAR


_FIRST_YEAR: Final = 1_000
_LAST_YEAR: Final = 2_100
"""Numbers between these are years."""


def names_only_earlier_years(one: Frame, year: int) -> bool:
    """True if a statement is in the past and names only years before another one: "moved there in 1999"."""
    named = [float(value) for value, unit in one.numbers if is_year(value, unit)]
    return one.past and bool(named) and max(named) < year


def are_of_other_times(earlier: Frame, later: Frame) -> bool:
    """True if both name days, months or times of day, and none in common."""
    return bool(earlier.times) and bool(later.times) and earlier.times.isdisjoint(later.times)


def both_time_one_thing(earlier: Frame, later: Frame) -> bool:
    """True if both only give the time of one thing: "my flight to Rome is on 3 March at nine"."""
    if are_one_appointment(earlier, later):
        return True
    return earlier.sort == later.sort == "time" and bool(earlier.thing.noun) and earlier.thing == later.thing


def are_one_appointment(earlier: Frame, later: Frame) -> bool:
    """True if both only tell on which weekday one thing is, or somebody comes: "standup is Monday at 9".

    What opens, leaves or is done has other hours on other days; who comes every week may come twice.
    """
    is_one = earlier.content == later.content and earlier.verb == later.verb and earlier.head == later.head
    is_one = is_one and earlier.recurs == later.recurs and not (earlier.past or later.past or is_somebody(earlier))
    begin = earlier.head | {earlier.verb, lexicon.stem(earlier.thing.noun)}
    if not is_one or earlier.thing[:3] != later.thing[:3] or not earlier.content <= begin:
        return False
    hours = [float(value) for value in earlier.hours | later.hours]
    if earlier.recurs and hours and max(hours) - min(hours) > _HOURS_APART:
        return False
    if any(len(one.times) != 1 or not one.times <= lexicon.WEEKDAYS for one in (earlier, later)):
        return False
    is_coming = earlier.verb in lexicon.stem_set(_COMING) and not earlier.recurs
    is_timed = not earlier.verb or earlier.verb in lexicon.stem_set(MEETING) or is_coming
    return is_timed and all(not unit for _, unit in earlier.numbers | later.numbers)


_HOURS_APART: Final = 3
"""What is every week by more hours later on another day may be another class."""
_COMING: Final = "comes arrives visits calls delivers"


def parts_of_day(one: Frame) -> frozenset[str]:
    """The parts of the day that a statement names, also those that come again: mornings."""
    named = (word.removesuffix("s") for word in one.key.split() if word[-1] == "s")
    return one.times & lexicon.PARTS_OF_DAY | lexicon.PARTS_OF_DAY.intersection(named)


def are_other_parts_of_day(earlier: Frame, later: Frame) -> bool:
    """True if they name different parts of the day: taken in the morning, and in the evening."""
    before, after = map(parts_of_day, (earlier, later))
    is_dated = "schedule" in earlier.attributes & later.attributes or bool(later.change)
    return bool(before) and bool(after) and before.isdisjoint(after) and not is_dated


def differing_words(earlier: Frame, later: Frame) -> tuple[list[str], list[str]]:
    """The words of each between what both begin with and what both end with, without those of mere presence."""
    one, other = ([word for word in each.key.split() if word not in PRESENT] for each in (earlier, later))
    at = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )
    while len(one) > at and len(other) > at and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return one[at:], other[at:]


def differ_in_one_name(earlier: Frame, later: Frame) -> bool:
    """True if they differ only in a name: works at Uppsala University, and at the Karolinska Institute."""
    both = differing_words(earlier, later)
    names = earlier.names | later.names
    return all(both) and all(lexicon.stems(words_alone(each) - _IN_NAMES) <= names for each in both)


def words_alone(words: Iterable[str]) -> set[str]:
    """Words without the points and brackets around them."""
    return {word.strip('.,;:!?()"“”') for word in words}


_IN_NAMES: Final = frozenset(("the", "of", "and", "&", "de", "du", "la", "von", "for"))


def may_take_turns(earlier: Frame, later: Frame) -> bool:
    """True if they differ in one word, the value: "we use Poetry", "we use uv"; or in the days of the week.

    Both may be so; if the first is said again after the second, it is back.
    """
    own, other = differing_words(earlier, later)
    if own and other and words_alone((*own, *other)) <= _EVERY_WEEK:
        is_one = bool(earlier.verb) and earlier.verb == later.verb and earlier.head == later.head
        return is_one and not (earlier.negated or later.negated or earlier.mood or later.mood or later.adds)
    is_told = len(own) == len(other) == 1 and not (earlier.adds or later.adds or earlier.negated or later.negated)
    is_told = is_told and not (
        earlier.past or later.past or earlier.recurs or later.recurs or earlier.mood or later.mood
    )
    is_told = is_told and bool(earlier.verb) and earlier.verb == later.verb and earlier.head == later.head
    several = [each for each in earlier.attributes & later.attributes if lexicon.KIND_OF.get(each) == lexicon.MANY]
    if not is_told or several or earlier.content == later.content or earlier.subject & {own[0], other[0]}:
        return False
    before = earlier.key.split(f" {own[0]}", 1)[0].split()[-1:]
    return before not in (["a"], ["an"]) and lexicon.LIKING.isdisjoint(earlier.key.split())


_EVERY_WEEK: Final = frozenset((*(f"{day}s" for day in DAYS), *DAYS, "weekends", "weekdays", "and", "&", "on", ""))
"""Words for the days of a week on which something is so."""


def lasting_attribute(earlier: Frame, later: Frame) -> str:
    """The common attribute that has one value for good; empty if there is none."""
    common = sorted(earlier.attributes & later.attributes)
    return next((each for each in common if lexicon.KIND_OF.get(each) == lexicon.ONCE), "")


def is_work(one: Frame) -> bool:
    """True if a statement tells of work."""
    return "job" in one.attributes


def is_somebody(one: Frame) -> bool:
    """True if a statement begins with a person or an animal that belongs to its subject."""
    begins = one.owned | {one.thing.noun}
    return not begins.isdisjoint(lexicon.PEOPLE | lexicon.OF_SEVERAL | lexicon.ANIMALS)


def tells_of_act(one: Frame) -> bool:
    """True if a statement tells what was done, and not what is so: that somebody settled a debt."""
    return one.past and not one.negated and any(lexicon.is_past(word) and word not in _WERE for word in one.key.split())


_WERE: Final = frozenset({"was", "were", "had", "did"})


def tells_of_repeatable_act(one: Frame) -> bool:
    """True if a statement tells what was done and may be done again: a pill was taken, but nobody is born twice."""
    is_once = any(lexicon.KIND_OF.get(each) != lexicon.MANY for each in one.attributes)
    return tells_of_act(one) and not (is_once or one.former or one.change or one.passive)


WAS_MARRIED: Final = re.compile(r"\b(?:was|were) (?:once |first )?(?:married|engaged) to\b")
"""What was, where "was married in May" may tell what happened."""
CODE: Final = re.compile(r"[a-z]\d+[a-z]?")
"""B12; a seat 12A is written n12a in a frame."""


def share_root_word(one: str, other: str) -> bool:
    """True if two stems may share a root, such as "subscribes" and "subscription"."""
    least = max(_LEAST_COMMON, min(len(one), len(other)) - 2)
    return one == other or (len(other) >= least and one[:least] == other[:least])


_LEAST_COMMON: Final = 5
"""How many letters two stems of one word begin with at least."""


@cache
def single_value_stems() -> frozenset[str]:
    """The stems of words for what has one value at a time."""
    return lexicon.stems(lexicon.OF_ONE_VALUE)


MOVING: Final = "moved moves relocated relocates resettled"
"""Verbs by which somebody comes to live elsewhere."""


ONE_BY_ONE: Final = frozenset({"instrument", "subject", "reading"})
"""Attributes of which somebody may have several, and mostly takes up one for another."""
MEETING: Final = "meets gathers convenes rehearses"
"""Verbs for what a club or a class does."""


@cache
def people_stems() -> frozenset[str]:
    """Words for those who belong to somebody: what changes of mum's is not all that is said of her."""
    return lexicon.stems((*lexicon.PEOPLE, *_RELATIVES))


_RELATIVES: Final = (
    *("mom", "son", "daughter", "brother", "sister", "sibling", "aunt", "uncle", "cousin", "grandma", "grandpa"),
    *("child", "kid", "baby"),
)
