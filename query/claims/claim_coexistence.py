"""Why two statements of one subject may both hold though they share words or an attribute.

They are of different things, sides, places or times; of several of a kind; or the later one adds to the earlier one.
"""

import re
from functools import cache, lru_cache
from typing import Final, NamedTuple

from worlddb.projections.indexes.analysis import STOP_WORDS
from worlddb.query.claims import claim_pairs as pairs
from worlddb.query.claims import lexicon, quantities, wording
from worlddb.query.claims.claim_frame import UNTOLD, Frame

ANTONYMS: Final = [
    frozenset(pair.split("-"))
    for pair in lexicon.word_set(
        "fast-slow small-big small-large bright-dark heavy-light old-young cheap-expensive loud-quiet noisy-quiet"
        " short-long wide-narrow warm-cold hot-cold wet-dry soft-hard rough-smooth strong-weak good-bad happy-sad"
        " healthy-ill healthy-sick thick-thin rich-poor late-early tidy-messy far-close"
    )
]
"""Qualities of which a thing has one at a time."""


def tell_only_because(earlier: Frame, later: Frame) -> bool:
    """True if what a later denial ends is only why the earlier one is so, or is denied there, too.

    "Switched to tea because of the cough" and "the cough is gone"; "tea, no sugar" and "quit sugar".
    """
    if not later.denied:
        return False
    if later.denied & earlier.denied and earlier.negated == later.negated:
        return True
    why = _BECAUSE.search(earlier.key)
    if why is None:
        return False
    reason = lexicon.stems(wording.words_of(why["why"]))
    rest = lexicon.stems(wording.words_of(earlier.key[: why.start()]))
    return bool(later.content & reason) and not (later.content - later.subject) & rest


_BECAUSE: Final = re.compile(r"\b(?:because of|due to|on account of|owing to|since|because|as) (?P<why>.+)$")


def begin_apart(earlier: Frame, later: Frame) -> bool:
    """True if they begin with different identifiers, or with different things of their subject or beside it.

    "The Atlas debugger listens on 5678" tells nothing of Atlas's own port. What one begins with and the other speaks
    of, or has a word of the same attribute for, is the same; so is what another one is or does now.
    """
    if earlier.identifiers and later.identifiers and earlier.identifiers != later.identifiers:
        return not (later.change and any(each in later.key for each in earlier.identifiers))
    one, other = earlier.topic, later.topic
    if UNTOLD in (one, other) or earlier.head or later.head or one == other or later.cancelled:
        return False  # The trip that is called off may be told of by its traveller.
    if one and other and (one <= other or other <= one):
        return False
    for topic, frame in ((one, later), (other, earlier)):
        said = lexicon.stems(wording.words_of(frame.key))
        if topic and (topic <= said or not lexicon.attributes_of(topic).isdisjoint(frame.attributes)):
            return False
    return not (later.change and one and other and earlier.content - one == later.content - other)


def moves_something_else(earlier: Frame, later: Frame) -> bool:
    """True if the later one tells from what to what something moved, and the earlier one says nothing of the first.

    Who moved from Basic to Pro lives where they lived.
    """
    moved = _MOVED_FROM(later.key)
    if moved is None or lexicon.TIMES & wording.words_of(moved["old"]):
        return False
    old, said = (lexicon.stems(wording.words_of(text)) for text in (moved["old"], earlier.key))
    return old.isdisjoint(said)


_MOVED_FROM: Final = wording.kept_search(
    r"\b(?:moved|switched|migrated|changed|upgraded|downgraded|converted) (?:back |over |away )?from (?P<old>.+?) to \S"
)


def is_other_record(earlier: Frame, later: Frame) -> bool:
    """True if both state a personal best time or score of one kind, with other values.

    A record that somebody hopes to beat counts ("my personal best of 25:50"); one that is hoped for does not.
    """
    if not earlier.numbers or not later.numbers:
        return False
    said = [_BEST(one.key) for one in (earlier, later)]
    if None in said or earlier.negated or later.negated:
        return False
    if any(one.mood and _OWN_BEST.search(one.key) is None for one in (earlier, later)):
        return False
    is_own = all(not one.head or one.head & lexicon.stem_set("best record pb") for one in (earlier, later))
    values = [frozenset(_TIMED.findall(one.key)) for one in (earlier, later)]
    # Of "5K" and "I" a letter is left.
    named = [frozenset(name for name in one.names if len(name) > 1) for one in (earlier, later)]
    is_told = is_own and named[0] == named[1] and not _are_other_events(earlier, later)
    return is_told and all(len(each) == 1 for each in values) and values[0] != values[1]


def _superlatives(one: Frame) -> frozenset[str]:
    """The superlatives by which a statement tells of one of a kind: the longest of her runs is not how far she runs."""
    return frozenset(
        word for word in one.ranks if len(word) > len("worst") and word.endswith("est") and word != "latest"
    )


def _are_other_events(earlier: Frame, later: Frame) -> bool:
    """True if the best times are of different races: 5K, and 10K."""
    said = [frozenset(_EVENT.findall(one.key)) if _BEST(one.key) else frozenset() for one in (earlier, later)]
    return all(said) and said[0].isdisjoint(said[1])


_BEST: Final = wording.kept_search(r"\b(?:personal (?:best|record)|best time|fastest|pb)\b")
_OWN_BEST: Final = re.compile(
    r"(?:\b(?:my|his|her|their|our)|['’]s) (?:(?!\b(?:a|new)\b)\w+ ){0,2}(?:best|record|pb)(?: time)? (?:of|is|was) \d"
)
_EVENT: Final = re.compile(r"\b\d+ ?km?\b|\bmile\b|\bmarathon\b|\bhalf[ -]marathon\b|\b\d+ ?m(?:etres|eters)?\b")
_TIMED: Final = re.compile(r"\b\d{1,3}:\d\d(?::\d\d)?\b")


def are_other_things(earlier: Frame, later: Frame) -> bool:
    """True if they are about two things of a kind, or state values that hold together: red, and fast.

    What a word of change tells of is the one that was spoken of before.
    """
    if pairs.are_one_appointment(earlier, later):
        return False
    scopes = [_SCOPE.search(one.key) for one in (earlier, later)]
    if earlier.negated != later.negated and all(scopes) and len({each and each[1] for each in scopes}) > 1:
        return True
    if _are_other_events(earlier, later) or bool(_superlatives(earlier)) != bool(_superlatives(later)):
        return True
    if lives_with(earlier) != lives_with(later) or _is_where_beside_whom(earlier, later):
        return True
    if _is_birthplace_beside_birthday(earlier, later) or _are_marked_apart(earlier, later):
        return True
    if _states_difference(later) or _tells_of_hours_worked(earlier, later):
        return True
    if _is_place_beside_condition(earlier, later) or _is_place_beside_condition(later, earlier):
        return True
    if _tell_of_one_home(earlier, later):
        return True
    if later.change not in pairs.PRESENT or pairs.lasting_attribute(earlier, later):
        return False
    if _tells_of_home_itself(earlier, later) or _tells_of_home_itself(later, earlier):
        return True
    if _are_of_other_aspects(earlier, later) or _are_of_other_aspects(later, earlier):
        return True
    if later.change in pairs.PRESENT and (_names_alone(earlier, later) or _names_alone(later, earlier)):
        return True
    if (
        earlier.past
        and later.past
        and (pairs.are_of_other_times(earlier, later) or _are_of_other_rounds(earlier, later))
    ):
        return True
    if _is_other_numbered_thing(earlier, later):
        return True
    if _begin_with_other_things(earlier, later):
        return True
    if later.change:
        return False
    if _are_in_other_scopes(earlier, later):
        return True
    if _are_of_other_sides(earlier, later) or _adds_word_to_thing(earlier, later):
        return True
    if "residence" in earlier.attributes & later.attributes:
        is_owned = [_OWNS.search(one.key) is not None for one in (earlier, later)]
        is_lived_in = not {earlier.verb, later.verb}.isdisjoint(
            lexicon.stem_set(pairs.MOVING) | lexicon.stem_set("lives resides")
        )
        if all(is_owned) or (any(is_owned) and is_lived_in):
            return True  # Of two houses in two towns, each is owned, and somebody may live in neither.
    return (
        (not earlier.denied and not later.denied and _have_compatible_sorts(earlier, later))
        or _measure_different_things(earlier, later)
        or _may_be_other_event(earlier, later)
        or _at_other_hours(earlier, later)
        or _at_other_half_of_day(earlier, later)
        or (
            pairs.are_other_parts_of_day(earlier, later)
            and not earlier.hours
            and bool(pairs.changed_units(earlier, later))
        )
    )


def _are_in_other_scopes(earlier: Frame, later: Frame) -> bool:
    """True if each tells of another thing, by what it is for or where that is so: tabs in Makefiles, spaces in Python.

    Where somebody lives or works, and when, is the value itself.
    """
    told = [_IN_SCOPE(one.key) for one in (earlier, later)]
    if None in told or not (earlier.attributes & later.attributes).isdisjoint(_OF_PLACE):
        return False
    one, other = (found.groupdict() for found in told if found is not None)
    is_dated = any(not lexicon.TIMES.isdisjoint(each["where"].split()) for each in (one, other))
    is_numbered = any(letter.isdecimal() for letter in one["what"] + other["what"])
    differ = one["what"] != other["what"] and one["where"] != other["where"]
    is_practice = earlier.verb == later.verb and earlier.verb in lexicon.stem_set(_OF_PRACTICE) | {""}
    return differ and one["way"] == other["way"] and is_practice and not (is_dated or is_numbered)


_OF_PRACTICE: Final = "use prefer write indent format log like drink eat wear choose"
"""Verbs for what is done one way here and another way there."""
_OF_PLACE: Final = frozenset(("residence", "job", "place", "schedule"))
_IN_SCOPE: Final = wording.kept_search(
    r"^(?P<what>.+) (?P<way>in|for|on|at) (?:the |my |our |his |her |their )?"
    r"(?P<where>[^\W\d][\w.'’-]*(?: [\w.'’-]+)?)$"
)
_SCOPE: Final = re.compile(
    r"\b(?:true|false|on|off|enabled|disabled|allowed|open|closed) (?:in|on|for) (?:the )?([\w-]+)$"
)


def _are_of_other_sides(earlier: Frame, later: Frame) -> bool:
    """True if only one tells of a side of somebody that the other does not: whom they drive somewhere, and not what
    they drive; a year of school, and not an age; how they live, and not where."""
    return _sides_told(earlier.key) != _sides_told(later.key)


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _sides_told(key: str) -> tuple[bool, ...]:
    return tuple(form.search(key) is not None for form in _SIDES)


_SIDES: Final = (
    re.compile(r"\bdrives? (?!an? |the |my |his |her |our |their )\S+ (?:\S+ )?(?:to|from|home)\b"),
    re.compile(r"\b(?:is|am|['’]m) in (?:year|grade|form|class) \d+\b"),
    re.compile(r"\bliv(?:es?|ing) in (?:fear|hope|poverty|peace|luxury|misery|harmony|pain|denial|exile)\b"),
)


def _adds_word_to_thing(earlier: Frame, later: Frame) -> bool:
    """True if only the later thing has a word before it, and each says by name what it is: a doctor, an eye doctor."""
    one, other = earlier.thing, later.thing
    if not one.noun or one.noun != other.noun or one.which or one.place != other.place:
        return False
    is_named = all(not each.verb and (each.names or each.indefinite) and not each.times for each in (earlier, later))
    return is_named and bool(other.which) and not later.ranks


_OWNS: Final = re.compile(r"\b(?:has|have|owns?|buys?|bought|inherited) (?:an?|the|another|her|his|my|our|their) ")


def _are_of_other_aspects(one: Frame, other: Frame) -> bool:
    """True if two values of one attribute hold together: divorced, with a girlfriend; short answers, in Dutch."""
    common = one.attributes & other.attributes
    if "marital state" in common and not one.content.isdisjoint(lexicon.stem_set(_PARTED)):
        return not other.content.isdisjoint(lexicon.stem_set(_TOGETHER))
    if "wish for answers" in common:
        return bool(one.names) and not other.names
    is_kind = not (one.names or one.change) and _KIND_OF_HOME.search(one.key) is not None
    return "residence" in common and is_kind and bool(other.place_preposition)


_KIND_OF_HOME: Final = re.compile(r"\b(?:shares?|rents?) (?:an?|the|her|his|my|our|their) ")


_PARTED: Final = "divorced widowed widow widower separated"


_TOGETHER: Final = "girlfriend boyfriend partner dating"


def _names_alone(one: Frame, other: Frame) -> bool:
    """True if one says only by name what a thing is, and the other where, when, how or what that does."""
    if not one.thing.noun or one.thing != other.thing or one.verb or one.numbers or one.negated:
        return False
    begin = one.head | lexicon.stems((one.thing.noun, *one.thing.which))
    value, rest = one.content - begin, other.content - begin
    is_named = (
        bool(value) and value <= one.names and one.sort in ("", "kind") and not begin & pairs.single_value_stems()
    )
    if not is_named or (rest and rest <= other.names and other.sort != "place"):
        return False
    return other.sort in ("place", "state", "time", "part") or (bool(other.verb) and "name" not in other.attributes)


def _tells_of_home_itself(one: Frame, other: Frame) -> bool:
    """True if only one begins with somebody's home, and says of it what no place is: it has two balconies."""
    is_home = "residence" in one.attributes & other.attributes
    return is_home and bool(one.head) and not other.head and one.sort not in ("", "place", "name")


def _tell_of_one_home(earlier: Frame, later: Frame) -> bool:
    """True if both tell of one home and not of the same side of it: two rooms, the third floor, a balcony, for sale."""
    one, other = earlier.thing, later.thing
    if one.noun != "home" or one != other or earlier.negated != later.negated or pairs.changed_numbers(earlier, later):
        return False
    if not {earlier.verb, later.verb}.isdisjoint(lexicon.stem_set(pairs.MOVING) | lexicon.stem_set("lives resides")):
        return False
    sides = [_side_of_home(each) for each in (earlier, later)]
    return sides[0] != sides[1] or sides[0] == "part"


def _side_of_home(one: Frame) -> str:
    """What a statement tells of a home; a name is where it is."""
    if one.sort == "amount" or one.numbers:
        return f"amount {' '.join(sorted(unit for _, unit in one.numbers))}"
    return "place" if one.sort in ("", "name") and one.names else one.sort


def _are_of_other_rounds(earlier: Frame, later: Frame) -> bool:
    """True if each tells of another day or round of a series, by its number: day 1, and day 2."""
    said = [frozenset(_ROUND.findall(one.key)) for one in (earlier, later)]
    return all(said) and said[0].isdisjoint(said[1])


_ROUND: Final = re.compile(r"\b(?:day|night|week|month|year|round|session|lesson|stage|lap|match|game|visit) \d+\b")


def lives_with(one: Frame) -> bool:
    """True if a statement says with whom somebody lives, and not where."""
    return one.verb_preposition == "with" and (
        one.verb in lexicon.stem_set(pairs.MOVING) or one.verb in lexicon.stem_set("lives")
    )


def _is_where_beside_whom(earlier: Frame, later: Frame) -> bool:
    """True if both tell of work and not of one side of it: an employer and a town, a trade, hours or a project.

    A word of change may replace an employer by a trade: who worked at a bank works as a freelancer now.
    """
    before, after = _way_of_work(earlier), _way_of_work(later)
    if not before or not after or before == after:
        return False
    told = {before, after}
    if not told.isdisjoint(("how", "on")):
        return True
    if "both" in told:
        return False
    return ("whom" in told and not ("as" in told and later.change)) or told == {"in", "department"}


def _way_of_work(one: Frame) -> str:
    """What a statement says of work: ``whom`` for, ``as`` what, ``in`` which place or department, ``on`` what, ``how``.

    ``both``: as what and for whom. Empty if it says nothing of that.
    """
    said = _WORKS(one.key)
    if said is None:
        is_trade = "job" in one.attributes and not one.verb and not one.head
        return "as" if is_trade and _IS_A.search(one.key) is not None else ""
    if said["how"]:
        return "how"
    if said["way"] == "as" and _AT_NAMED_FIRM.match(one.key, said.end()) is not None:
        return "both"
    if said["way"] in ("as", "on", "with"):
        return "as" if said["way"] == "as" else "on"
    if _PART_OF_FIRM.match(one.key, said.end()):
        return "in"
    if said["way"] != "in":
        return "whom"
    return "in" if one.content.isdisjoint(lexicon.stem_set(_DEPARTMENTS)) else "department"


def _is_birthplace_beside_birthday(earlier: Frame, later: Frame) -> bool:
    """True if one says only where somebody was born and the other only when, or one the year and the other the day."""
    births = [_BORN(one.key) for one in (earlier, later)]
    dated = [bool(pairs.date_terms(one)) for one in (earlier, later)]
    if any(birth is None for birth in births):
        return False
    days = [not one.times.isdisjoint(lexicon.CALENDAR) for one in (earlier, later)]
    years = [any(pairs.is_year(*number) for number in one.numbers) for one in (earlier, later)]
    return dated[0] != dated[1] or (days[0] != days[1] and years[0] != years[1])


_BORN: Final = wording.kept_search(r"\bborn (?:in|on|at|near) [^ ]+(?: [^ ]+){0,2}$|\bbirthday is\b")
_WORKS: Final = wording.kept_search(
    r"\b(?:works|worked|working|work) (?:(?P<way>in|at|for|as|out of|on|with)\b(?! (?:(?:mon|tues|wednes|thurs|fri"
    r"|satur|sun)days?|weekdays)\b)|(?P<how>\d|from|on|part[- ]time|full[- ]time|nights|late"
    r"|overtime|shifts|hard|well|alone|very|really|too|quite|(?:two|three|several) jobs|[a-z]+ly\b))"
)
_AT_NAMED_FIRM: Final = re.compile(r"[^,;]* (?:at|for) (?!nights?\b|weekends?\b|times\b|home\b|the moment\b)")
_IS_A: Final = re.compile(r"\b(?:is|are|am|['’]m) an? (?:[\w-]+ ){0,2}?[\w-]+$")
_PART_OF_FIRM: Final = re.compile(
    r" (?:(?:the|an?|our|my|her|his|their) )?(?:(?!post\b|tax\b|patent\b|box\b)[\w'’-]+ ){0,3}?"
    r"(?:offices?|branch|site|headquarters|hq|desk|counter|till|checkout|reception|floor|basement|location)\b"
    r"| (?:home|nights?|weekends?|times)\b"
)
"""Where or when somebody works, for whomever it is: at the Berlin office, at the front desk, at night."""


def _is_place_beside_condition(one: Frame, other: Frame) -> bool:
    """True if one tells where the subject is, and the other in or on what that is no place: in York, and on insulin."""
    if "stay" in one.attributes and " home" in other.key:
        # Who is home from hospital is there no more.
        return False
    is_apart = (one.attributes & other.attributes).isdisjoint(pairs.OF_BEING | {"residence"})
    return is_apart and "condition" in one.attributes and not other.attributes.isdisjoint(("place", "residence"))


def _is_other_numbered_thing(earlier: Frame, later: Frame) -> bool:
    """True if their objects have different numbers, and no word says that one replaced the other.

    What is the same but for the number is one at a time behind some verbs: who takes bus 7 to work may take bus 9. What
    is kept, looked after or audited are two.
    """
    if later.change or not earlier.numbered or not later.numbered or earlier.numbered == later.numbered:
        return False
    is_of_one_kind = {what for what, _ in earlier.numbered} == {what for what, _ in later.numbered}
    told = (earlier.content, earlier.times), (later.content, later.times)
    is_one_at_a_time = earlier.verb in lexicon.single_verbs() | lexicon.stem_set(_TAKING)
    return is_of_one_kind and (told[0] != told[1] or not is_one_at_a_time or earlier.verb in lexicon.stem_set("stores"))


_TAKING: Final = (
    "takes uses catches rides boards picks chooses chose wears occupies reaches gets enters joins needs wants follows"
)
"""Verbs that are done to one thing of a kind at a time, beside those of ``single_verbs``."""


def _have_compatible_sorts(earlier: Frame, later: Frame) -> bool:
    """True if they state values of one thing that hold together: its colour and its place, or two qualities."""
    one, other = earlier.sort, later.sort
    if pairs.changed_numbers(earlier, later):
        return False
    before, after = earlier.content | earlier.light, later.content | later.light
    own, new = before - after, after - before
    if tell_of_two_read(earlier, later):
        return False
    if one == other:
        # What a thing has is one part and another, and of two qualities it has one at a time if they are opposites.
        is_several = one == "part" or (one == "quality" and not any(pair <= own | new for pair in _antonym_stems()))
        return is_several and bool(own and new)
    if one and other:
        return "state" not in (one, other) or not {one, other}.isdisjoint(("colour", "quality", "kind"))
    unsorted = later if one else earlier
    return (one or other) == "quality" or ((one or other) in ("colour", "kind") and bool(unsorted.verb))


def tell_of_two_read(earlier: Frame, later: Frame) -> bool:
    """True if they tell which book somebody is reading by its name: one at a time, most often."""
    is_read = all(_IS_READING.search(one.key) and one.names for one in (earlier, later))
    return is_read and earlier.names.isdisjoint(later.names)


_IS_READING: Final = re.compile(
    r"(?:\b(?:is|are|am)|['’](?:s|re|m)) (?:now |currently )?reading (?!(?:about|aloud|at|for|from|in|on|to|with) )"
)


@cache
def _antonym_stems() -> frozenset[frozenset[str]]:
    return frozenset(lexicon.stems(pair) for pair in ANTONYMS)


def _are_marked_apart(earlier: Frame, later: Frame) -> bool:
    """True if words tell two things apart whatever changed: the flight to Rome, and to Oslo; an eye and an ear exam."""
    one, other = earlier.thing, later.thing
    if not one.noun or not other.noun:
        return False
    mine, theirs = one.which - lexicon.RENEWED, other.which - lexicon.RENEWED
    if one.noun != other.noun:
        # The insurance of a car, and its inspection.
        return (
            bool(earlier.numbers and later.numbers and mine & theirs)
            and one.noun not in theirs
            and other.noun not in mine
        )
    is_bound = bool(one.place) and one.place == other.place and bool(one.behind) and bool(other.behind)
    return bool(mine - theirs and theirs - mine) or (is_bound and one.behind.isdisjoint(other.behind))


def _states_difference(one: Frame) -> bool:
    """True if a number says by how much something changed, and not what it is: gained 5 kg."""
    return _DIFFERENCE(one.key) is not None


_DIFFERENCE: Final = wording.kept_search(
    r"\b(?:gained|lost|put on|(?:went|gone|goes|going) (?:up|down) by"
    r"|(?:rose|fell|grew|dropped|raised|lowered|increased|reduced|cut|moved|delayed|extended|pushed)\b[^.;]* by)"
    r" (?:\d|an? (?:hour|day|week|month|year|kilo)\b)"
)


def _tells_of_hours_worked(earlier: Frame, later: Frame) -> bool:
    """True if only one says how much somebody works: on a ward, and four shifts a week."""
    if "job" not in earlier.attributes & later.attributes:
        return False
    told = [any(unit.rstrip("s") in _WORKED for _, unit in one.numbers) for one in (earlier, later)]
    return told[0] != told[1]


_WORKED: Final = frozenset({"hour", "shift", "day", "night", "h"})
APART: Final = lexicon.word_set(
    "return outbound outward inbound connecting other another second third spare work home office private personal"
    " business professional emergency mobile landline morning afternoon evening night weekend weekday summer winter"
    " left right front back upper lower upstairs downstairs old former previous"
)
"""Words before a thing that tell it from another one, of which nothing of the kind is said."""


def _begin_with_other_things(earlier: Frame, later: Frame) -> bool:
    """True if they begin with different things: my flight to Rome and to Oslo, the wedding and the wedding dinner."""
    one, other = earlier.thing, later.thing
    if not one.noun or not other.noun:
        return False
    if one.names and other.names and one.names.isdisjoint(other.names):
        return True
    if {one.place, other.place} == {"to", "from"}:
        return True
    if one.place == other.place and not one.behind <= other.behind and not other.behind <= one.behind:
        return True
    if earlier.ranks != later.ranks:
        return True
    if one.noun != other.noun and one.names & other.names and {one.noun, other.noun} <= lexicon.OF_SEVERAL:
        # Her brother Max is not her colleague Max.
        return True
    if one.noun != other.noun:
        is_longer = one.noun in other.which or other.noun in one.which
        nouns = frozenset({one.noun, other.noun})
        return is_longer and (nouns.isdisjoint(lexicon.OF_ONE_VALUE) or not nouns.isdisjoint(_SECRETS))
    which, others = one.which - other.which, other.which - one.which
    # Of things that have a colour a word before one tells it from others: my bag, and my gym bag.
    is_coloured = earlier.sort == later.sort == "colour"
    return bool(which and others) or bool((which | others) & APART) or bool(is_coloured and (which or others))


_SECRETS: Final = frozenset({"password", "passcode", "passphrase", "pin", "code"})


def _measure_different_things(earlier: Frame, later: Frame) -> bool:
    """True if their numbers measure different things: GB of memory and of storage, prices at two shops."""
    if states_value_in_full(earlier, later):
        return False
    of_sizes = [_SIZE_OF.search(each.key) for each in (earlier, later)]
    if len({size[1] for size in of_sizes if size is not None}) > 1:
        return True
    unit = pairs.changed_numbers(earlier, later)
    of_units = {of for of, _ in earlier.measured} & {of for of, _ in later.measured}
    before, after = (frozenset(what for of, what in each.measured if of in of_units) for each in (earlier, later))
    if before and after and before.isdisjoint(after):
        return True
    if len(earlier.numbers) == len(later.numbers) == 1:
        ((_, of_one),), ((_, of_other),) = earlier.numbers, later.numbers
        if quantities.are_of_other_kinds(of_one, of_other):
            return True
    if not unit:
        return False
    ways = [{_HIGH.get(way, way) for way in _MEASURED_WAY.findall(each.key)} for each in (earlier, later)]
    if all(ways) and ways[0].isdisjoint(ways[1]):
        return True
    is_counted = earlier.verb.isdecimal() and later.verb.isdecimal()
    if (earlier.verb != later.verb and not is_counted) or not later.verb:
        return False
    named, some = (earlier.names - later.names, later.names - earlier.names), (earlier.indefinite, later.indefinite)
    return all(named) or (all(some) and some[0].isdisjoint(some[1]))


_SIZE_OF: Final = re.compile(
    r"\b(?!(?:my|his|her|our|their|its|a|the|in|is|wears?|takes?|needs?|new)\b)([\w-]+) size\b"
)
"""What somebody has a size of: shoes, and T-shirts."""
_MEASURED_WAY: Final = re.compile(r"\d ?(?:[^\W\d]+ ){1,2}(long|wide|broad|high|tall|deep|thick|heavy|old)\b")
_HIGH: Final = {"tall": "high", "broad": "wide"}


def _may_be_other_event(earlier: Frame, later: Frame) -> bool:
    """True if they may be about different events of a kind: a meeting at nine, and one at eleven."""
    one, other = earlier.content - {earlier.verb}, later.content - {later.verb}
    is_any = bool(one and other) and one <= earlier.indefinite and other <= later.indefinite
    if not is_any and not (one & other and one & other <= earlier.indefinite & later.indefinite):
        return False
    values, others = (
        pairs.number_values(earlier) - pairs.number_values(later),
        pairs.number_values(later) - pairs.number_values(earlier),
    )
    return (values <= earlier.hours and others <= later.hours) and (values != others or earlier.times != later.times)


def _at_other_hours(earlier: Frame, later: Frame) -> bool:
    """True if their hours are of different activities, or of different recurring days."""
    if not earlier.hours or not later.hours or earlier.hours == later.hours:
        return False
    verbs = {earlier.verb, later.verb}
    if not verbs.isdisjoint(lexicon.stem_set(_BEGINNING)) and not verbs.isdisjoint(lexicon.stem_set(_ENDING)):
        return True
    is_on_its_days = later.recurs and not earlier.times
    return is_on_its_days or (earlier.recurs and later.recurs and pairs.are_of_other_times(earlier, later))


def _at_other_half_of_day(earlier: Frame, later: Frame) -> bool:
    """True if what may be done twice a day is done in the morning, and in the afternoon: a pill at 8 am and 8 pm."""
    if earlier.verb != later.verb or earlier.verb not in lexicon.stem_set(_DAILY):
        return False
    halves = [{found[1] for found in _HALF_OF_DAY.finditer(one.key)} for one in (earlier, later)]
    return all(halves) and halves[0].isdisjoint(halves[1])


_HALF_OF_DAY: Final = re.compile(r"\d ?(am|pm)\b")


_DAILY: Final = (
    "takes catches rides feeds walks eats drinks has brushes checks measures practises prays showers"
    " runs swims calls meditates injects uses"
)
"""Verbs for what is done several times a day, or there and back."""


_BEGINNING: Final = "leaves departs opens starts begins boards"


_ENDING: Final = "lands arrives closes ends finishes returns"


def holds_alongside(earlier: Frame, later: Frame) -> bool:
    """True if the later statement says that both hold, is about other times, or states no value of its own."""
    if earlier.negated != later.negated or pairs.lasting_attribute(earlier, later):
        return False
    if later.adds & lexicon.ADDING or later.adds - earlier.adds:
        return True
    if later.change:
        return False
    if earlier.recurs and later.recurs and pairs.are_other_parts_of_day(earlier, later):
        return True
    is_other = bool(earlier.content - later.content) and bool(later.content - earlier.content)
    if earlier.times and later.times and earlier.times.isdisjoint(later.times) and is_other:
        return True
    of_other = is_other or pairs.numbers_outside_dates(earlier) != pairs.numbers_outside_dates(later)
    if pairs.are_of_other_days(earlier, later) and of_other and not pairs.both_time_one_thing(earlier, later):
        return True
    if earlier.wish and later.wish and is_other:
        return (earlier.attributes & later.attributes).isdisjoint(("wish for answers", "name"))
    return _names_no_value(earlier, later) or _refines_home(earlier, later)


def denies_something_else(earlier: Frame, later: Frame) -> bool:
    """True if the later statement denies something narrower than, or different from, the earlier one.

    Who no longer works late works; who quit smoking at Google may be at Google still.
    """
    if not later.negated or earlier.negated:
        return False
    if later.former or "old" in later.light - earlier.light:
        return True
    if not later.denied:
        return False
    if later.recurs and not (earlier.recurs and later.times <= earlier.times):
        return True
    if later.in_part and not earlier.in_part:
        return True
    spoken = frozenset[str]().union(*map(lexicon.stems_of, earlier.attributes & later.attributes))
    numbers = {value.partition(".")[0] for value in pairs.number_values(earlier)}
    known = earlier.content | earlier.head | earlier.light | spoken | numbers
    return any(not any(pairs.share_root_word(each, other) for other in known) for each in later.denied)


def states_present_fact(earlier: Frame, later: Frame) -> bool:
    """False if the later statement is about the past or a possibility, and the earlier one about the present."""
    is_told_of_now = not earlier.past or bool(earlier.change)
    if later.former and not earlier.former and is_told_of_now and not pairs.lasting_attribute(earlier, later):
        return bool(earlier.content) and earlier.content <= later.content and earlier.numbers == later.numbers
    is_dated = "schedule" in earlier.attributes & later.attributes
    if (
        later.mood in ("ought", "may")
        and not earlier.mood
        and pairs.number_values(earlier)
        and pairs.number_values(later) - pairs.number_values(earlier)
    ):
        # What the rent should or could be is not what it is.
        return is_dated
    if _ALMOST.search(later.key) is not None:
        return False
    if not (is_dated or earlier.mood or earlier.negated or later.negated or later.change):
        # "Would rather" tells what somebody wants now.
        if (later.mood == "may" and " would " not in later.key) or pairs.WAS_MARRIED.search(later.key) is not None:
            return False
        if later.recurs and not earlier.recurs and earlier.place_preposition:
            # Who lives in Porto on weekends lives elsewhere.
            return False
    return later.mood not in ("unsure", "used", "wish") or earlier.mood != ""


_ALMOST: Final = re.compile(r"\b(?:almost|nearly) (?:moved|left|quit|became|bought|sold|joined|switched|changed)\b")


def are_of_other_kinds(earlier: Frame, later: Frame) -> bool:
    """True if only one has a number, and they are about different things or attributes.

    A dog is brown and three years old; a phone is a Pixel, and its number is another thing.
    """
    if bool(earlier.numbers) == bool(later.numbers) or earlier.change or later.change:
        return False
    one, other = ((each.head, each.attributes, each.verb) for each in (earlier, later))
    return one != other


def _run_on_platforms(earlier: Frame, later: Frame) -> bool:
    """True if each tells of a platform on which tests or a program run: CI runs on Linux, and on macOS."""
    return _ON_PLATFORM(earlier.key) is not None and _ON_PLATFORM(later.key) is not None


_ON_PLATFORM: Final = wording.kept_search(
    r"\b(?:ci|tests?|builds?|pipelines?|suites?|apps?|checks?|jobs?|benchmarks?|cli|library|package|client|game|tool)\b"
    r"(?: [\w-]+)? (?:runs?|works?|builds?|pass(?:es)?|(?:is|are) (?:tested|built)) on (?:\S+ )?"
    r"(?:linux|macos|mac|osx|windows|android|ios|ubuntu|debian|fedora|alpine|freebsd|arm(?:64)?|x86(?:_64)?|intel"
    r"|apple silicon|chrome|firefox|safari|(?:python|node|java|ruby|go|rust|php) ?\d[\d.]*)\b"
)


def may_both_hold(earlier: Frame, later: Frame) -> bool:
    """True if they are about things that somebody may have several of: hobbies; a brother and a sister.

    Of two that belong to somebody the words tell it if both say which one that is, and nothing that it may do or have.
    """
    if later.change or earlier.only or later.only:
        return False
    if earlier.kin and later.kin and earlier.kin.isdisjoint(later.kin):
        return True
    one, other = earlier.owned, later.owned
    if (one & other).isdisjoint(lexicon.OF_SEVERAL) or (
        earlier.singled_out and earlier.singled_out == later.singled_out
    ):
        return False
    both = (earlier, later)
    says_which = all((not each.verb or each.passive) and each.content - each.head and not each.numbers for each in both)
    says_which = says_which and not any(map(pairs.CODE.fullmatch, earlier.content | later.content))
    is_other = (earlier.content - later.content) and (later.content - earlier.content)
    return bool(says_which and is_other and (bool(earlier.names) == bool(later.names)))


def are_two_of_several(earlier: Frame, later: Frame) -> bool:
    """True if each is about one of several things of a kind: clubs, lessons, dogs by name, other days."""
    if _is_beside_condition(earlier, later):
        return True
    if later.change or earlier.only or later.only:
        return False
    if _is_beside_membership(earlier, later) or _run_on_platforms(earlier, later):
        return True
    if earlier.head or later.head:
        return False
    way = earlier.verb_preposition
    if (
        earlier.verb == later.verb
        and way == later.verb_preposition
        and way in ("with", "on")
        and pairs.is_work(earlier)
    ):
        return True
    if (
        earlier.verb == later.verb
        and earlier.verb in lexicon.stem_set(_TOWARDS)
        and not earlier.numbers
        and not later.numbers
    ):
        return True
    is_somebodys = (
        bool(later.verb)
        and later.verb not in lexicon.stem_set(pairs.MEETING)
        and earlier.verb == later.verb
        and not (earlier.thing.noun or later.thing.noun)
    )
    if is_somebodys and earlier.recurs and later.recurs and pairs.are_of_other_times(earlier, later):
        return True
    one, other = (_ONE_OF_SEVERAL(each.key) for each in (earlier, later))
    is_one_of = one is not None and other is not None and one.lastgroup == other.lastgroup
    return is_one_of or _concern_different_things(earlier, later)


def _concern_different_things(earlier: Frame, later: Frame) -> bool:
    """True if one verb or part of somebody's has different objects: deployed the orders service, and the stock service.

    Somebody may do the same to many things, and look after many. Of "the" things each is another one; of others that
    holds unless one has such an object at a time (drives a Fiat). Where they live, what they prefer or choose is one
    value, whatever it is called; so is a number.
    """
    if earlier.negated != later.negated or earlier.thing.noun or later.thing.noun:
        return False
    parts = [_PART_FOR(one.key) for one in (earlier, later)]
    if parts[0] is not None and parts[1] is not None:
        is_one_part = parts[0]["part"] == parts[1]["part"] and earlier.attributes & later.attributes <= pairs.OF_BEING
        return is_one_part and _differ_both(parts[0]["of"], parts[1]["of"])
    if not earlier.verb or earlier.verb != later.verb or earlier.passive or later.passive:
        return False
    one, other = (_find_object(each.key, each.verb) for each in (earlier, later))
    if one is None or other is None or earlier.verb in lexicon.stem_set(_OF_ONE_OBJECT):
        return False
    of_one = lexicon.attributes_of(_words_in_both(one.noun, other.noun)) - {"job"}
    if any(lexicon.KIND_OF[each] != lexicon.MANY for each in of_one):
        return False  # Who follows one diet follows no other; a design is a trade, and one of many things.
    are_known = one.is_definite and other.is_definite
    if not are_known and (earlier.verb in lexicon.single_verbs() or earlier.attributes & later.attributes):
        return False
    if one.noun == other.noun and one.way == other.way and _differ_both(one.which, other.which):
        return True
    return _differ_both(one.noun, other.noun)


class _Object(NamedTuple):
    """The object of a verb: its noun phrase without the determiner, and what behind it tells which one it is."""

    noun: str
    way: str
    which: str
    is_definite: bool


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _find_object(key: str, verb: str) -> _Object | None:
    """The object of a verb in a statement; ``None`` if it has none, or a number in it."""
    if verb in STOP_WORDS:
        return None
    words = key.split()
    place = next((at for at, word in enumerate(words) if at and lexicon.stem(word.strip(",;:")) == verb), len(words))
    told = _OBJECT.match(" ".join(words[place + 1 :]))
    if told is None or any(word[0].isdecimal() or word in _COUNTING for word in told["noun"].split()):
        return None
    return _Object(told["noun"], told["way"] or "", told["which"] or "", told["the"] is not None)


def _differ_both(one: str, other: str) -> bool:
    """True if each of two noun phrases has a word that the other lacks, besides those that tell which is the newer."""
    mine, theirs = (lexicon.stems(wording.words_of(each) - lexicon.RENEWED - lexicon.TIMES) for each in (one, other))
    return bool(mine - theirs and theirs - mine)


def _words_in_both(one: str, other: str) -> frozenset[str]:
    return lexicon.stems(one.split()) & lexicon.stems(other.split())


_COUNTING: Final = quantities.NUMBER_WORDS.keys() | {"half", "dozen"}
_ENDS_OBJECT: Final = (
    r"in|on|at|to|from|with|by|for|of|about|as|into|onto|under|behind|near|after|before|since|until|during|over|through"
    r"|and|or|but|because|so|when|while|if|that|which|who|instead|rather|than|not|yesterday|today|tomorrow|tonight|last"
    r"|this|every|each|once|twice|again|now"
)
_OBJECT: Final = re.compile(
    rf"(?:(?P<the>the|my|our|his|her|their|its) )?(?:an? )?(?P<noun>(?!(?:{_ENDS_OBJECT})\b)[\w'’.-]+"
    rf"(?: (?!(?:{_ENDS_OBJECT})\b)[\w'’.-]+){{0,4}})"
    r"(?: (?P<way>of|about|by|for|on) (?:the |an? |my |our |his |her |their )?"
    rf"(?P<which>(?!(?:{'|'.join(sorted(lexicon.TIMES))}|\d)\b)[\w'’.-]+(?: (?!(?:{_ENDS_OBJECT})\b)[\w'’.-]+)?))?"
)
_PART_FOR: Final = wording.kept_search(
    r"^[\w'’ -]{1,40}? (?:is|are|am) (?P<part>(?:(?:an?|the|one|also|on|in) )*(?:[\w-]+ ){1,4}?(?:for|of))"
    r" (?:the |our |my |his |her |their )?(?P<of>[^\d\W][\w'’ .-]*)$"
)
"""A part that somebody has for or of something: responsible for billing, on the rota for it, a member of a club."""
_OF_ONE_OBJECT: Final = (
    "live reside work study prefer weigh earn cost belong sleep park report date sit stand bank vote expire last marry"
    " married choose chose chosen pick picked select selected elect elected name named call called wear wore take took"
    " catch caught ride rode become became want wants need needs like likes hate hates pay paid return returns"
)
"""Verbs of which somebody has one object at a time, or for one occasion."""
_TOWARDS: Final = "owes lends gives sends tells calls sees visits knows helps trusts writes"
"""Verbs for what is done towards one person and another."""
_ONE_OF_SEVERAL: Final = wording.kept_search(
    r"(?P<member>\b(?:is|are|am|['’]m) (?:an? |also an? )?(?:\w+ )?(?:member|fan|patron|supporter) of\b)"
    r"|(?P<called>\b(?:has|have|['’]ve|got) an? (?:\w+ ){1,2}(?:named|called)\b)"
    r"|(?P<lessons>\b(?:tak(?:es?|ing)|hav(?:e|ing)|has|attend(?:s|ing)?) (?:\w+ ){1,2}(?:lessons|classes|courses)\b)"
)


def has_one_called(one: Frame) -> bool:
    """True if a statement tells of one of a kind by its name: has a dog called Rex."""
    found = _ONE_OF_SEVERAL(one.key)
    return found is not None and found.lastgroup == "called"


def may_have_both(earlier: Frame, later: Frame) -> bool:
    """True if each tells what somebody studies or prefers, and no word that it is that instead: tea, and trains."""
    is_one_verb = earlier.verb == later.verb and earlier.verb in lexicon.stem_set("studies prefers")
    is_denied = earlier.negated != later.negated
    return (
        is_one_verb
        and not (later.change or is_denied)
        and pairs.objects_of(earlier).isdisjoint(pairs.objects_of(later))
    )


def allows_several_values(attribute: str, later: Frame) -> bool:
    """True if an attribute may have several values at a time, and the later statement tells of no change."""
    return lexicon.KIND_OF.get(attribute) == lexicon.MANY and not later.change


def _refines_home(earlier: Frame, later: Frame) -> bool:
    """True if one statement of a home names the place of the other and more, or only its kind.

    Who lives in Lisbon may live in a flat in Lisbon, on a street, or on the third floor.
    """
    if "residence" not in earlier.attributes & later.attributes or pairs.changed_numbers(earlier, later):
        return False
    if (
        earlier.place_preposition
        and later.place_preposition
        and {earlier.place_preposition, later.place_preposition} in _STREETS
    ):
        return True
    if earlier.place_preposition != later.place_preposition and all(
        (earlier.place_preposition, later.place_preposition)
    ):
        # Near the river, above the shop: of a town whose name is not said.
        return not earlier.names or not later.names
    before, after = (
        one.content - lexicon.stems_of("residence") - lexicon.stem_set(pairs.MOVING) - {one.verb}
        for one in (earlier, later)
    )
    is_told = bool(earlier.place_preposition and later.place_preposition) or (
        earlier.verb == later.verb and earlier.verb in lexicon.stem_set(pairs.MOVING)
    )
    return (is_told or bool(before)) and (before <= after or (is_told and after <= before))


_STREETS: Final = ({"in", "on"}, {"in", "at"})
"""The prepositions by which one lives in a town and on a street, at a number."""


def _names_no_value(earlier: Frame, later: Frame) -> bool:
    """True if one only says when or how: "runs every morning" beside "runs a bakery"."""
    if earlier.numbers or later.numbers or earlier.head or later.head:
        return False
    own, other = earlier.content - {earlier.verb}, later.content - {later.verb}
    return earlier.verb == later.verb != "" and (bool(own) != bool(other)) and bool(earlier.times | later.times)


def states_value_in_full(earlier: Frame, later: Frame) -> bool:
    """True if both state one value that has several words: as what and where somebody works, a quarter and a town.

    Another trade at another firm is another job, and what is paid to somebody else for the phone is paid for it.
    """
    for form, one, other in zip(_IN_FULL, _values_in_full(earlier.key), _values_in_full(later.key), strict=True):
        if one is not None and other is not None:
            is_of_names = form is not _LIVES_IN or earlier.content ^ later.content <= earlier.names | later.names
            return one == other and is_of_names
    return False


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _values_in_full(key: str) -> tuple[str | None, ...]:
    """Return by each form of a value of several words what makes it one; ``None`` if a statement has it not."""
    told = (form.search(key) for form in _IN_FULL)
    return tuple(match and next(filter(None, match.groups()), "") for match in told)


_AT_FIRM: Final = r"(?:at|for) (?!nights?\b|weekends?\b|times\b|home\b|the moment\b)[^,;]+$"
_WORKS_AS: Final = re.compile(rf"\b(works? as) (?:an? |the )?(?:[\w'’-]+ ){{1,4}}?{_AT_FIRM}")
_IS_TRADE: Final = re.compile(rf"\b(?:is|am|['’]m) an? (?:[\w-]+ ){{0,3}}?([\w-]+) {_AT_FIRM}")
_LIVES_IN: Final = re.compile(r"\b(?:live|reside)s? (in) [^\s,]+(?: [^\s,]+){0,2}(?:, [^\s,]+(?: [^\s,]+){0,2}){1,2}$")
_PAYS_FOR: Final = re.compile(
    r"\bpays? (?:[\w&'’.-]+ ){1,3}?[£$€]?\d[\d.,]*(?: [a-z]+)? ((?:a|per|each|every) [a-z]+"
    r" for (?:the|her|his|my|our|their) [\w-]+)$"
)
_CALLED_SECOND: Final = re.compile(
    r"\b(?:(?:has|have) an? ((?:second|third|fourth) [\w-]+)"
    r"|(?:my|our|her|his|their|['’]s?) ((?:second|third|fourth) [\w-]+) is) (?:called|named) "
)
_IN_FULL: Final = (_WORKS_AS, _IS_TRADE, _LIVES_IN, _PAYS_FOR, _CALLED_SECOND)


def _share_no_condition(earlier: Frame, later: Frame) -> bool:
    """True if what both are in or on has no word in common: on insulin, and on leave; but not two departments."""
    own, other = (one.content - one.head - {one.thing.noun} for one in (earlier, later))
    is_one = own & other or (own & lexicon.stem_set(_DEPARTMENTS) and other & lexicon.stem_set(_DEPARTMENTS))
    return not (is_one or earlier.negated or later.negated or pairs.changed_numbers(earlier, later))


def are_other_conditions(earlier: Frame, later: Frame) -> bool:
    """True if somebody may be in or on both: a plan on hold that is on track again is on hold no more."""
    is_thing = earlier.head or earlier.thing.noun
    is_somebody = not is_thing or not (earlier.owned | {earlier.thing.noun}).isdisjoint(lexicon.PERSONS)
    return is_somebody and _share_no_condition(earlier, later)


def _is_beside_condition(earlier: Frame, later: Frame) -> bool:
    """True if the subject is in or on two things that are told otherwise, or of which one is a status: on leave."""
    if earlier.attributes & later.attributes != pairs.CONDITION or not _share_no_condition(earlier, later):
        return False
    ways = [WHERE.search(one.key) for one in (earlier, later)]
    if any(way is None for way in ways) or len({way[1] for way in ways if way is not None}) > 1:
        return True
    is_status = {one.content.isdisjoint(lexicon.stem_set(_STATUS)) for one in (earlier, later)}
    return len(is_status) > 1 and are_other_conditions(earlier, later)


_STATUS: Final = (
    "leave probation holiday vacation call duty bail hold parole strike benefits sabbatical standby track time schedule"
)


def _is_beside_membership(earlier: Frame, later: Frame) -> bool:
    """True if each says what somebody is in or on, and no place: in a choir, in Mensa, on a diet, on antibiotics."""
    if later.change or earlier.negated or later.negated or (earlier.attributes & later.attributes).isdisjoint(_WHERES):
        return False
    if any(WHERE.search(one.key) is None for one in (earlier, later)):
        return False
    if any(_IN_GROUP.search(one.key) for one in (earlier, later)):
        return True
    is_thing = (earlier.head or earlier.thing.noun) and not pairs.is_somebody(earlier)
    return not (is_thing or earlier.numbers or later.numbers) and any(
        _ON_NO_PLACE.search(one.key) for one in (earlier, later)
    )


_WHERES: Final = ("place", "condition", "schedule")
_IN_GROUP: Final = re.compile(
    r"\b(?:is|are|am|['’]m) (?:\w+ )?in (?:(?:an?|the|our|my|her|his|their) )?(?:[\w'’-]+ ){0,3}?"
    r"(?:choir|band|club|orchestra|union|league|society|party|association|guild|scouts|cast|jury|committee|council"
    r"|group)\b"
)
_ON_NO_PLACE: Final = re.compile(
    r"\b(?:is|are|am|['’]m) (?:\w+ )?on (?!the\b|top\b|board\b|floor\b|platform\b|page\b|level\b)"
)


WHERE: Final = re.compile(r"\b(?:is|are|am|['’]m) (?:\w+ )?(in|on|at|near|by|above|below|behind|under|inside|outside) ")
_DEPARTMENTS: Final = (
    "sales marketing finance accounting accounts controlling hr legal compliance engineering development operations"
    " support procurement purchasing logistics it research design product production quality administration"
    " management recruiting communications"
)
"""Parts of a firm, in which somebody is without being in that place."""


def name_other_things(earlier: Frame, later: Frame) -> bool:
    """True if both name one of a kind, and nothing shows that it is the same one."""
    if later.change or "name" not in earlier.attributes & later.attributes:
        return False
    called = lexicon.stems_of("name")
    return all(bool(one.indefinite - one.names - called) and not one.head for one in (earlier, later))
