"""Why a later statement, though it competes with an earlier one, may not end it by itself."""

import re
from typing import Final

from worlddb.log.model.times import DAYS, MONTHS
from worlddb.query.claims import claim_coexistence, lexicon
from worlddb.query.claims import claim_pairs as pairs
from worlddb.query.claims.claim_frame import UNTOLD, Frame


def find_doubt(earlier: Frame, later: Frame) -> str:
    """Return why the later statement, though it competes, may not end the earlier one; empty if nothing says so.

    It ends what only states a value of an attribute of the later one. Words in common do not make an attribute. Where
    no word stands for one, it is what belongs to the subject ("Ana's rent"), or all that is said but for a number or a
    denial. What differs in more than one place, or in its day, may be the value of another thing ("the bank's password
    is …"): nothing is ended by that unless a word tells of a change. Nor is anything by what is said in another mood,
    of times that come again, of what belongs to the subject under another name, or by a value of another sort.
    """
    own, other = pairs.without_units(earlier) - later.content, pairs.without_units(later) - earlier.content
    if earlier.former or not {earlier.mood, later.mood}.isdisjoint(_OF_NO_VALUE) or not _have_same_mood(earlier, later):
        return "not both are stated as what is so now"
    if later.recurs and not earlier.recurs and not earlier.times_a_year:
        return "the new one tells of times that come again"
    if _says_further_facts(earlier, later):
        return pairs.SAYS_MORE
    common = earlier.attributes & later.attributes
    if not common.isdisjoint(pairs.ONE_BY_ONE):
        return pairs.DOES_BOTH
    if _mentions_in_passing(later, common):
        return f"the new one may only mention the {min(common)}"
    parts = [pairs.parts_of_day(one) for one in (earlier, later)]
    if pairs.are_other_parts_of_day(earlier, later) or (own and other and all(parts) and parts[0].isdisjoint(parts[1])):
        return "they are of different parts of the day"
    if doubt := _find_doubt_of_thing(earlier, later, common):
        return doubt
    if not later.change and _may_lie_in_other(earlier, later):
        return _LIES_IN_OTHER
    if _is_told_more_closely(earlier, later):
        return _OTHER_THING
    whom = [_WHO_IN_BRACKETS.match(one.key) for one in (earlier, later)]
    if {match and match[1] for match in whom} - {None} and len({match and match[1] for match in whom}) > 1:
        return "they may be of two of one name"
    if claim_coexistence.tell_of_two_read(earlier, later) and not later.change:
        return pairs.DOES_BOTH
    if claim_coexistence.states_value_in_full(earlier, later):
        return _find_place_beside(earlier, later)
    if earlier.owned != later.owned:
        return "they may be of different things of the subject"
    if not _have_same_sort(earlier, later):
        return "their values are of different sorts"
    if beside := _find_second(earlier, later) or _find_place_beside(earlier, later):
        return beside
    if len(earlier.content) >= pairs.MANY_WORDS and not earlier.head:
        return pairs.SAYS_MORE
    if earlier.singled_out and earlier.singled_out == later.singled_out:
        return ""
    if not later.change:
        if "job" in common and earlier.times & _WEEKLY:
            return "it may be another job on other days"
        whose = [_AT_WHOSE.search(one.key) for one in (earlier, later)]
        if earlier.times != later.times and whose[0] and whose[1] and whose[0][0] != whose[1][0]:
            return _MORE_VALUES
        is_more = min(len(own), len(other)) > 1 and not pairs.differ_in_one_name(earlier, later)
        if is_more or (own and other and pairs.changed_numbers(earlier, later)):
            return _MORE_VALUES
        if pairs.are_of_other_days(earlier, later) and "schedule" not in earlier.attributes & later.attributes:
            return _OTHER_DAYS
    if earlier.attributes:
        further = earlier.attributes - common - pairs.OF_BEING if common else frozenset()
        other_thing = "" if common else _OTHER_THING
        return f"it also states a value of another attribute ({min(further)})" if further else other_thing
    if later.attributes:
        return _OTHER_THING
    if earlier.head or later.head:
        return "" if earlier.head & later.head else _OTHER_THING
    is_one_verb = earlier.verb == later.verb or (earlier.verb.isdecimal() and later.verb.isdecimal())
    if not is_one_verb:
        return "their verbs differ"
    return "" if pairs.without_units(earlier) == pairs.without_units(later) else _NO_ATTRIBUTE


def _find_doubt_of_thing(earlier: Frame, later: Frame, common: frozenset[str]) -> str:
    """Why the later one may be of another thing, move, home or rate; empty if nothing says so."""
    is_owned = bool(earlier.head or later.head)
    if earlier.topic != later.topic and not is_owned and UNTOLD not in (earlier.topic, later.topic):
        return _OTHER_THING
    if earlier.verb == later.verb == lexicon.stem("moved") and " from " not in later.key and "i" not in later.subject:
        return "either may have moved in another way"
    if _is_kind_of_home(earlier) != _is_kind_of_home(later) and "residence" in common:
        return _LIES_IN_OTHER
    if _rates(earlier) and _rates(later) and _rates(earlier).isdisjoint(_rates(later)):
        return "they are rates of different spans"
    return ""


_OF_NO_VALUE: Final = frozenset({"unsure", "may", "while", "used"})
"""Moods in which nothing is said that takes the place of something; who may or could do a thing may have leave to."""
_WEEKLY: Final = frozenset({*(f"{day}s" for day in DAYS), "weekends", "weekend", "summer", "winter"})
"""Times of which a job may be: on Saturdays, for the summer."""
_AT_WHOSE: Final = re.compile(r"\bat (?:ours|mine|yours|home|[\w-]+['’]s)\b")
_WHO_IN_BRACKETS: Final = re.compile(r"[^\W\d][\w'’-]*(?: [^\W\d][\w'’-]*)? \(([^()]+)\) \w")
"""What tells which one of a name is meant: "Theo (my nephew) lives in Kiel"."""
_FOR_A_TIME: Final = "the new one holds for a time"
_LIES_IN_OTHER: Final = "the one place may lie in the other"
_OTHER_DAYS_AGAIN: Final = "they are so on different days, again and again"
_OTHER_THING: Final = "the new one may be of another thing"
_MORE_VALUES: Final = "they differ in more than one value"
_OTHER_DAYS: Final = "they are of different days"
_NO_ATTRIBUTE: Final = "no word tells that they are of one attribute"
PARTING: Final = frozenset(
    (
        "",
        _MORE_VALUES,
        _OTHER_DAYS,
        _NO_ATTRIBUTE,
        pairs.OTHER_TIME,
        pairs.BOTH_HAVE_IT,
        pairs.DOES_BOTH,
        pairs.OF_ELSE,
        pairs.IN_BOTH,
    )
)
"""The doubts with which a competing statement still parts another one from its repetition: both are of one sort."""


def _have_same_mood(earlier: Frame, later: Frame) -> bool:
    """True if both have the same mood; for a date, the future counts as plain."""
    if "schedule" in earlier.attributes & later.attributes and {earlier.mood, later.mood} <= {"", "will"}:
        return True
    return earlier.mood == later.mood


def _have_same_sort(earlier: Frame, later: Frame) -> bool:
    """True if their values are of one sort: a name is replaced by a name, not by "ill" or "on holiday".

    What is the value of a thing that has one (a password, what somebody likes best) may be of any sort, as what a word
    of change or another number tells.
    """
    own, other = earlier.content - later.content, later.content - earlier.content
    if any(map(_is_address, own)) and earlier.negated == later.negated:
        return any(map(_is_address, other))
    if own and other and all(pairs.CODE.fullmatch(word) for word in own | other):
        return True
    if later.change or earlier.negated != later.negated or earlier.singled_out or pairs.changed_numbers(earlier, later):
        return True
    if not earlier.owned.isdisjoint(lexicon.OF_ONE_VALUE | lexicon.SORTING):
        return True
    if not (earlier.content & later.content).isdisjoint(pairs.single_value_stems()):
        return True
    if not (later.attributes - earlier.attributes).isdisjoint(pairs.OF_BEING):
        # Where her boss is at the moment is not who that is.
        return False
    if own & earlier.names:
        is_state = "marital state" in lexicon.attributes_of(own) & lexicon.attributes_of(other) and not later.indefinite
        return bool(other & later.names) or is_state
    # "Ana's dog is brown" and "is ill": no word stands for an attribute that both would be of.
    is_told = bool(lexicon.attributes_of(own) & lexicon.attributes_of(other))
    is_valued = bool(other or later.light - earlier.light)
    return is_told or not (earlier.head and own and is_valued) or bool(other & later.names)


def _is_address(word: str) -> bool:
    return not {"@", ".", "/"}.isdisjoint(word)


def _says_further_facts(earlier: Frame, later: Frame) -> bool:
    """True if the earlier statement has numbers of things that the later one does not speak of: a code, a platform."""
    others = {unit for _, unit in earlier.numbers - later.numbers if unit} - {unit for _, unit in later.numbers}
    if len(earlier.numbers) > 1 and later.numbers and others - _TIME_UNITS:
        return True
    parts = (_DATED.sub("", part) for part in re.split(r", (?!\d{3}\b)", earlier.key)[1:])
    return any(any(letter.isdecimal() for letter in part) for part in parts)


_TIME_UNITS: Final = frozenset((*MONTHS, "am", "pm", "hour", "day", "week", "month", "year", "o'clock"))
_MONTH: Final = "|".join(MONTHS)
_DATED: Final = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?(?:{_MONTH})(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?\b"
    r"|\b\d{1,2}[:.]\d\d\b|\bat \d{1,2}\b|\b\d{1,2} ?(?:am|pm)\b"
)


def _may_lie_in_other(earlier: Frame, later: Frame) -> bool:
    """True if one tells where in the other place somebody may be: who lives on a street lives in a town."""
    ways = earlier.place_preposition, later.place_preposition
    if all(ways) and ways[0] != ways[1]:
        return True
    is_street = [_ENDS_WITH_STREET.search(one.key) is not None for one in (earlier, later)]
    return "residence" in earlier.attributes & later.attributes and is_street[0] != is_street[1]


def _is_kind_of_home(one: Frame) -> bool:
    """True if a statement tells only in what kind of home somebody is, which may be in any town: a care home."""
    return _IN_A_HOME.search(one.key) is not None


_IN_A_HOME: Final = re.compile(
    r"\b(?:liv(?:es?|ing)|moved|resid(?:es?|ing)) (?:in|into|to) (?:an? (?!.* in \w)"
    r"|[^,]*\b(?:home|house|hostel|dorm|hospice)(?: now)?$)"
)


def _rates(one: Frame) -> frozenset[str]:
    return frozenset(_RATE.findall(one.key))


_RATE: Final = re.compile(r"\d\S*(?: [a-z]+)? (?:an?|per|each|every) (hour|day|night|week|month|quarter|year)\b")
_ENDS_WITH_STREET: Final = re.compile(r"\w (?:street|road|avenue|lane|alley|terrace|court|boulevard)$")


def _is_told_more_closely(earlier: Frame, later: Frame) -> bool:
    """True if only the later one tells by a phrase behind a thing which one it is: the bus, and the bus to handball."""
    one, other = earlier.thing, later.thing
    is_of_kind = bool(one.noun) and one.noun == other.noun and not (one.place or later.change)
    return is_of_kind and bool(other.behind - one.which)


def _find_second(earlier: Frame, later: Frame) -> str:
    """Why the later one may be of a second one beside the first; empty if nothing says so."""
    if _may_be_two(earlier, later):
        return "they may be of two, each with a name"
    lives_with_both = claim_coexistence.lives_with(earlier) and claim_coexistence.lives_with(later) and not later.change
    return "one may live with both" if lives_with_both else ""


def _may_be_two(earlier: Frame, later: Frame) -> bool:
    """True if they name things that somebody may have two of: her dogs Rex and Bello; the second may have come now."""
    if (
        claim_coexistence.has_one_called(earlier)
        and claim_coexistence.has_one_called(later)
        and later.change in pairs.PRESENT
    ):
        return not earlier.only
    is_called = all(not _CALLED.isdisjoint(one.key.split()) for one in (earlier, later))
    return is_called and not later.change and not earlier.only and bool(earlier.owned - lexicon.PEOPLE)


_CALLED: Final = frozenset({"called", "named"})


def _find_place_beside(earlier: Frame, later: Frame) -> str:
    """Why the later value may hold for a time alone, or beside the earlier one; empty if it takes its place.

    Who works on Fridays may work on Mondays, who is on a diet may be on antibiotics, and who leads a choir may lead a
    team; where somebody lives for the summer, or who moved from a town, ends no home.
    """
    common = earlier.attributes & later.attributes
    is_dated = "schedule" in common and not (earlier.recurs and later.recurs)
    # "900 euros for a month" is a rate.
    if not (is_dated or pairs.changed_numbers(earlier, later)) and _BOUNDED.search(later.key) is not None:
        return _FOR_A_TIME
    if _LEFT_FROM.search(later.key) is not None:
        return "the new one does not say where to"
    if _EITHER.search(later.key) is not None and not earlier.negated:
        return "the new one leaves open which"
    if common == pairs.CONDITION and claim_coexistence.are_other_conditions(earlier, later):
        # Who was on ramipril and is on candesartan now may take both.
        return "one may have both"
    if later.change or later.past:
        return ""
    if not is_dated and _WITHIN.search(later.key) is not None:
        return _FOR_A_TIME
    if earlier.recurs and later.recurs and pairs.are_of_other_times(earlier, later):
        is_of_one = pairs.both_time_one_thing(earlier, later) and earlier.hours == later.hours
        is_of_one = is_of_one and (
            not earlier.verb or earlier.passive or earlier.verb in lexicon.stem_set(pairs.MEETING)
        )
        return "" if is_of_one and len(earlier.times) == len(later.times) == 1 and not later.adds else _OTHER_DAYS_AGAIN
    if "residence" in common and (_names_country(earlier) != _names_country(later)):
        return _LIES_IN_OTHER
    if earlier.negated or later.negated:
        return ""
    if _are_other_roles(earlier, later):
        return "one may have both parts"
    is_of_places = common in (pairs.OF_PLACES, pairs.CONDITION)
    return "one may be in both" if is_of_places and not _are_in_one_place_at_a_time(earlier, later) else ""


def _are_other_roles(earlier: Frame, later: Frame) -> bool:
    """True if each tells of a part that somebody may have beside another: owner of a bakery, and of a cinema."""
    if earlier.verb_preposition == later.verb_preposition == "on" or _UNPAID.search(later.key) is not None:
        return True
    is_leading = earlier.verb == later.verb and earlier.verb in lexicon.stem_set("leads heads") and not later.passive
    return is_leading or all(_ROLE_OF.search(one.key) is not None for one in (earlier, later))


def _are_in_one_place_at_a_time(earlier: Frame, later: Frame) -> bool:
    """True if the subject is a thing, which can be in only one place.

    Who is in Berlin may be in Hamburg now, and who is in Mensa may be in Rotary: no word tells a town from a club.
    """
    if earlier.hours != later.hours:
        return False
    ways = [claim_coexistence.WHERE.search(one.key) for one in (earlier, later)]
    if any(way is None for way in ways) or len({way[1] for way in ways if way is not None}) > 1:
        return False
    is_thing = bool(earlier.head or earlier.thing.noun) and not pairs.is_somebody(earlier)
    return is_thing or bool(earlier.numbers and later.numbers)


def _names_country(one: Frame) -> bool:
    return not one.content.isdisjoint(lexicon.stem_set(_COUNTRIES))


_PERIOD: Final = "spring|summer|autumn|fall|winter|weekend|night|week|fortnight|month|quarter|term|semester|year|season"
_WHEN: Final = rf"(?:early |mid-?|late )?(?:{'|'.join(sorted(lexicon.CALENDAR))}|{_PERIOD}|\d+)"
_BOUNDED: Final = re.compile(
    rf"\bfrom (?:the )?{_WHEN}\b[^,;.]* (?:to|until|till|through) (?:the )?{_WHEN}\b"
    rf"|\bfor (?:the|an?|two|three|four|\d+|some|a few) (?:whole |rest of the |next |coming )?(?:{_PERIOD})s?\b"
    r"|\bfor (?:a while|now|a bit)\b"
)
"""How what holds for a time alone is told: from April to June, for the summer."""
_WITHIN: Final = re.compile(rf"\b(?:this|next|over the|during the) (?:{_PERIOD})\b")
"""The same of what goes on: who is in Hamburg next week; who moved there this week stays."""
_LEFT_FROM: Final = re.compile(r"\bmoved (?:away |out )?from\b(?!.* to\b)")
_EITHER: Final = re.compile(r"\w or \w")
_UNPAID: Final = re.compile(r"\bas an? volunteer\b|\bvolunteers?\b")
_ROLE_OF: Final = re.compile(
    r"\b(?:is|are|am|['’]m) (?:(?:an?|the|one|also) )?(?:\w+ )?"
    r"(?:owner|co-owner|director|member|chair|chairman|chairwoman|captain|head|leader|trustee|patron|fan) of\b"
)
_COUNTRIES: Final = (
    "portugal spain france germany italy england scotland wales ireland britain uk netherlands holland belgium"
    " luxembourg austria switzerland sweden norway denmark finland iceland poland czechia slovakia hungary romania"
    " bulgaria greece turkey croatia serbia slovenia ukraine russia estonia latvia lithuania america usa canada mexico"
    " brazil argentina chile colombia peru china japan korea taiwan vietnam thailand indonesia malaysia india pakistan"
    " israel egypt morocco tunisia kenya nigeria ghana australia europe asia africa scandinavia california texas"
    " bavaria catalonia tuscany"
)
"""Names of countries and continents, of which a town may be one's: Lisbon, and Portugal."""


def _mentions_in_passing(later: Frame, common: frozenset[str]) -> bool:
    """True if a statement mentions an attribute in passing, or a past act that involves it.

    Who lives in Porto with her husband tells of a home, and who was married once may be divorced.
    """
    if "marital state" in common and later.passive and later.past:
        return True
    spoken = lexicon.attributes_of({later.verb})
    return bool(spoken and common) and spoken.isdisjoint(common)
