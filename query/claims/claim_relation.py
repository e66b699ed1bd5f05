"""Relate two statements about one subject: the second repeats, replaces or contradicts the first, or both hold.

The relation is computed from their frames, and so from English word lists. Two statements are near if they are about
the same attribute; common words alone do not suffice ("Farouk's office", "Farouk's wife"). The reason names what the
relation rests on, since rules this simple are sometimes wrong; only a person or a model decides by it.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise, product
from typing import Final, Literal, NamedTuple

from worlddb.log.model.times import DAYS, lazy
from worlddb.projections.indexes.analysis import STOP_WORDS, say_otherwise
from worlddb.query.claims import claim_frame as frames
from worlddb.query.claims.claim_frame import Frame

Relation = Literal["same", "replacement", "contradiction", "compatible"]

RELATIONS: Final[tuple[Relation, ...]] = ("same", "replacement", "contradiction", "compatible")
"""How a later statement may relate to an earlier one."""

COMPETING: Final = ("replacement", "contradiction")
"""The relations of two statements that are not both true."""
MAX_COMPARED: Final = 128
"""How many of the latest statements are compared with each other where all are listed."""
_KEPT: Final = 8_192
"""How many pairs' relations are kept, since the same memories are found again and again."""
_SAME_FROM: Final = 0.72
"""The share of words in common from which two statements that differ in nothing else say the same."""
_FIRST_YEAR: Final = 1_000
_LAST_YEAR: Final = 2_100
"""Numbers between these are years."""
_MONTHS: Final = "january february march april may june july august september october november december"
_CALENDAR: Final = frozenset(f"{_MONTHS} monday tuesday wednesday thursday friday saturday sunday".split())
_CLOSE: Final = 0.5
_TOUCHING: Final = 0.25
_MANY_WORDS: Final = 9
"""From so many words that say something on, in two statements together, they may tell of several things."""
MEANT_FROM: Final = 0.65
"""The nearness from which two statements of one subject are near in meaning."""
_SHARED: Final = 0.1
"""What a telling word that both have adds to their nearness."""
_LIGHT_WEIGHT: Final = 0.35
"""What a word that says little counts, beside one that does."""
_LASTING: Final = frozenset({"schedule", "state", "diet", "wish for answers", "job"})
"""Attributes that many words stand for: alone they do not say that two statements are of the same thing."""
_VALUED: Final = frozenset({"job"})
"""Attributes of which any word is another value."""
_OF_PLACES: Final = frozenset({"place"})
"""Attributes that go with another one: who moves to Porto lives there."""
_CONDITION: Final = frozenset({"condition"})
"""The attribute of what somebody is in or on that is no place: therapy, insulin, leave."""
_OF_BEING: Final = _OF_PLACES | _CONDITION | {"stay"}
"""Attributes of "is in" and "is on"."""
_STATES: Final = frozenset({"", "work", "becam", "remain", "serv", "retrain", "hire", "appoint"})
"""Stems of verbs that say what somebody is."""


_PRESENT: Final = frozenset({"", "again", "now", "nowadays", "currently", "today", "since", "these days"})
"""Words of change that may be said of what is as it was."""
_IN_PASSING: Final = _PRESENT | {"back", "down", "given", "sold", "started", "turned"}
"""Words of change that long sentences have about anything: "a while back", "sit down", "given that"."""
_OF_NO_VALUE: Final = frozenset({"unsure", "may", "while", "used"})
"""Moods in which nothing is said that takes the place of something; who may or could do a thing may have leave to."""
_LEAST_COMMON: Final = 5
"""How many letters two stems of one word begin with at least."""
_SWITCHED: Final = frozenset({"switch", "migrat"})
"""Stems of verbs that say that something else is used."""


class ClaimComparison(NamedTuple):
    """The likeness of two statements (0 to 1), the relation of the later to the earlier one, and the reason.

    ``is_single_valued``: the earlier one states only a value of an attribute, and the later one another value of it.
    ``doubt`` is why a replacement is not, so that it ends nothing without being told to.
    """

    likeness: float
    relation: Relation
    reason: str
    is_single_valued: bool = False
    doubt: str = ""


REPEATED: Final = ClaimComparison(1.0, "same", "the same words")
"""A statement that repeats another one word for word."""


def related_by_meaning(likeness: float) -> ClaimComparison:
    """The comparison of two statements that are near by their vectors."""
    return ClaimComparison(_clamp_likeness(likeness), "compatible", "same subject, near in meaning; both may hold")


def are_long(earlier: Frame, later: Frame) -> bool:
    """True if two statements have so many words that they may share some and still tell of several things."""
    return len(earlier.content | later.content) >= _MANY_WORDS


def nearness(earlier: Frame, later: Frame, cosine: float) -> float:
    """How near two statements are in meaning: the cosine of their vectors, and more for each telling word in both."""
    return cosine + _SHARED * len(earlier.content & later.content)


@lru_cache(maxsize=_KEPT)
def relate(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """How a later statement relates to an earlier one about the same subject; ``None`` if they are not near.

    If they do not compete as wholes, they do so if a sentence of one does with a sentence of the other.
    """
    found = _relate_wholes(earlier, later)
    has_several = bool(earlier.sentences or later.sentences) and not later.wish
    if has_several and (found is None or found.relation == "compatible"):
        return _relate_sentences(earlier, later) or found
    return found


def _relate_sentences(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """How a sentence of a statement competes with one of the other, which ends no whole; ``None`` if none does."""
    before, after = (
        [told for each in one.sentences if (told := frames.frame(each, one.subject)) is not None] or [one]
        for one in (earlier, later)
    )
    for told, given in product(before, after):
        found = _relate_wholes(told, given)
        if found is not None and found.relation in COMPETING:
            return found._replace(
                is_single_valued=False, doubt="only a sentence of one replaces a sentence of the other"
            )
    return None


def _relate_wholes(earlier: Frame, later: Frame) -> ClaimComparison | None:
    if later.is_marked and (told := _relate_correction(earlier, later)) is not None:
        return told
    for find in (_relate_cancellation, _relate_departure, _relate_denied_plan, _relate_moved_appointment):
        if (ended := find(earlier, later)) is not None:
            return ended
    found = _find_relation(earlier, later)
    if later.is_marked and (found is None or found.relation == "compatible"):
        for find in (
            _relate_return,
            _relate_asked_rate,
            _relate_label,
            _relate_thing,
            _relate_taken_back,
            _relate_main_clause,
        ):
            if (told := find(earlier, later)) is not None:
                return told
    if found is None and earlier.is_marked and (told := _relate_relapse(earlier, later)) is not None:
        return told
    if (found is None or found.relation == "compatible") and _is_other_record(earlier, later):
        return _doubted(0.7, later, "another personal best", "both stay true as records")
    if found is not None and found.relation in COMPETING and _tell_only_because(earlier, later):
        return _comparison(0.3, later, "they share only a reason, or what both deny", "compatible")
    if found is not None and found.relation in COMPETING and _denies_something_else(earlier, later):
        return _relate_by_number(earlier, later) or _comparison(
            found.likeness, later, "the later one denies something other than the earlier one says", "compatible"
        )
    if found is not None and found.relation in COMPETING and _are_other_things(earlier, later):
        return _comparison(
            found.likeness, later, "they are about different things, or different aspects of one", "compatible"
        )
    if found is not None and found.relation in COMPETING and _disposes_of_other_thing(earlier, later):
        return _comparison(
            found.likeness, later, "the one that is gone is not the one of the earlier statement", "compatible"
        )
    if found is not None and found.relation in COMPETING and _holds_alongside(earlier, later):
        return _comparison(found.likeness, later, "the later one adds to the earlier one", "compatible")
    if found is not None and found.relation in COMPETING and not _states_present_fact(earlier, later):
        by_number = _relate_by_number(earlier, later) or _relate_guess(earlier, later)
        return by_number or _comparison(
            found.likeness,
            later,
            "they are about different times, or the later one is not stated as a fact",
            "compatible",
        )
    if found is None or found.relation != "replacement":
        return found
    doubt = _find_doubt(earlier, later)
    return found._replace(is_single_valued=not doubt, doubt=doubt)


def _tell_only_because(earlier: Frame, later: Frame) -> bool:
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
    reason = frames.stems(frames.words_of(why["why"]))
    rest = frames.stems(frames.words_of(earlier.key[: why.start()]))
    return bool(later.content & reason) and not (later.content - later.subject) & rest


_BECAUSE: Final = re.compile(r"\b(?:because of|due to|on account of|owing to|since|because|as) (?P<why>.+)$")


def _relate_by_number(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation by the later statement's plain clause: a number, or a present fact; ``None`` without one."""
    plain = frames.frame(later.plain_clause, later.subject) if later.plain_clause else None
    is_single_valued = plain is not None and plain.verb == earlier.verb and plain.verb in frames.single_verbs()
    if plain is None or not (_changed_numbers(earlier, plain) or plain.change or is_single_valued):
        return None
    found = relate(earlier, plain)
    return found if found is not None and found.relation in COMPETING else None


def _relate_guess(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of a number that somebody guesses to be so now: "I think I'm close to 1300"; it ends nothing.

    ``None`` if it is what others say, what may come, or of somebody else.
    """
    clause = _PERHAPS.sub("", _GUESSING.sub("", later.key, 1), 1)
    is_own = clause != later.key and later.names - {"i"} <= earlier.names | earlier.subject
    plain = frames.frame(clause, later.subject) if is_own and _changed_numbers(earlier, later) else None
    found = None if plain is None or plain.mood else relate(earlier, plain)
    if found is None or found.relation not in COMPETING:
        return None
    return found._replace(reason=f"{found.reason}, as a guess", is_single_valued=False, doubt="the new one is a guess")


_GUESSING: Final = re.compile(
    r"(?:^|(?<= [-–—] )|(?<=[;:,] ))(?:(?:by the way|oh|well|and|so|but|actually),? )*"
    r"[\w'’-]+ (?:think|guess|suppose|believe|reckon|imagine)s? (?:that )?"
)
_PERHAPS: Final = re.compile(r"\b(?:probably|maybe|perhaps|likely) ")


def _relate_correction(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of a statement that names what it takes the place of: "749 euros, not 799", "tea instead of coffee".

    The earlier one says what is denied, and a number that is denied has another one in its place.
    """
    told = _NOT_THAT.search(later.key) or _INSTEAD_OF.search(later.key)
    if told is None or earlier.negated or later.mood in ("unsure", "may"):
        return None
    given, old = told["given"], told["old"].rstrip(".,")
    is_said = re.search(rf"(?<![\w.:]){re.escape(old)}(?![\w:]|\.\d)", earlier.key) is not None
    if not is_said or (old[0].isdecimal() and _DIGIT_IN.search(given) is None):
        return None
    words = frames.stems(frames.words_of(old)) | earlier.subject | later.subject
    own, other = (one.content | one.light | one.head | {one.verb} for one in (earlier, later))
    rest = (own & other) - words - {""}
    if not rest and (not old[0].isdecimal() or len(old) < _TELLING_DIGITS):
        return None
    reason = "the later one names it as what is not so" if told.re is _NOT_THAT else "something else in its place"
    if told.re is _NOT_THAT:
        return _comparison(0.8, later, reason, "contradiction")
    return _doubted(0.7, later, reason, "it may be so at times")


_NOT_THAT: Final = re.compile(r"(?P<given>.*\S),? (?:and )?not (?:the |an? |at |on |in )?(?P<old>[\w.:'’-]+)$")
_INSTEAD_OF: Final = re.compile(
    r"(?P<given>.*\S) (?:instead of|rather than) (?:the |an? |at |on |in )?(?P<old>[\w.:'’-]+)"
)
_DIGIT_IN: Final = re.compile(r"\d")
_TELLING_DIGITS: Final = 3
"""From so many digits on, two statements of one subject have a number in common that tells of one thing."""


def _relate_cancellation(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of a cancellation to a plan, or to its flight, trip or visit.

    A cancellation that names less than the plan ("cancelled his flight", for one to Oslo) may be about another one, and
    ends nothing.
    """
    if frames.stem("cancelled") not in later.content:
        return None
    if not later.cancelled and _CANCELLED.search(later.key) is None:
        return None
    is_planned = earlier.mood in ("wish", "will") or earlier.wish or _PLANNED.search(earlier.key) is not None
    is_planned = is_planned or (_is_dated_once(earlier) and earlier.verb in _going_stems())
    if earlier.negated or later.mood or _are_of_other_times(earlier, later):
        return None
    if _is_set(earlier) and earlier.thing.noun == later.thing.noun and earlier.thing.which == later.thing.which:
        is_one = earlier.thing == later.thing and not earlier.recurs
        is_less = later.thing.behind <= earlier.thing.behind
        told = _comparison(0.9 if is_one else 0.6, later, "it was cancelled", "replacement")
        return told._replace(is_single_valued=is_one, doubt="" if is_one else _OTHER_PLAN) if is_less else None
    if not is_planned or not later.cancelled:
        return None
    planned = earlier.content | earlier.light | earlier.head
    if any(not any(_is_act(each, other) for other in planned) for each in later.cancelled):
        return None
    is_named = all(any(_is_act(each, other) for each in later.cancelled) for other in earlier.content)
    told = _comparison(0.9 if is_named else 0.6, later, "the plan was cancelled", "replacement")
    is_one = is_named and earlier.numbers <= later.numbers
    return told._replace(is_single_valued=is_one, doubt="" if is_one else _OTHER_PLAN)


def _relate_return(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "is back" or "works again" to what was gone or broken, and of "went back to Porto" to a home."""
    if later.negated or later.mood or earlier.mood:
        return None
    back = _WENT_BACK.search(later.key)
    if back is not None and "residence" in earlier.attributes and not (earlier.negated or earlier.former):
        is_elsewhere = _is_named(back["place"], later) and not _is_at(earlier, back["place"], _HOUSES)
        return _doubted(0.6, later, "went back to another place", "who went may come back") if is_elsewhere else None
    told, gone = _IS_BACK.search(later.key), _IS_GONE.search(earlier.key)
    if told is None or gone is None or _IS_GONE.search(later.key):
        return None
    if told[0].endswith("home") and gone[0] in ("ill", "sick", "lost"):
        return None
    if told[0].startswith("found") and earlier.content.isdisjoint(later.content):
        return None
    is_one = later.head <= earlier.head | earlier.content and earlier.head <= later.head | later.content
    if not is_one or not _name_one(earlier, later):
        return None
    return _doubted(0.6, later, "it is back, or works again", _OTHER_TIME)


def _relate_relapse(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of being ill or broken to having been well or at work again."""
    if earlier.mood or later.mood or earlier.negated or earlier.former:
        return None
    is_told = any(well.search(earlier.key) and ill.search(later.key) for well, ill in _WELL_AND_ILL)
    if not is_told or not _name_one(earlier, later):
        return None
    return _doubted(0.6, later, "it is not well, or does not work, any more", _OTHER_TIME)


_WELL_AND_ILL: Final = (
    (re.compile(r"\b(?:well|fine|healthy) again\b"), re.compile(r"\b(?:ill|sick|unwell)\b")),
    (
        re.compile(r"\b(?:works?|working|runs?|running|online) again\b"),
        re.compile(
            r"\b(?:broken|broke down|offline|down|out of (?:order|service)|(?:not|n['’]t|stopped) work(?:ing)?)\b"
        ),
    ),
)
"""What is so again, and what is so no longer then."""
_WENT_BACK: Final = re.compile(
    r"\b(?:went|has gone|have gone|goes|go|is|are) back to (?P<place>[^\W\d][\w'’-]+(?: [\w'’-]+)?)$"
)
_IS_GONE: Final = re.compile(
    r"\b(?:ran (?:away|off)|escaped|missing|disappeared|lost|gone|down|broken|broke down"
    r"|out of (?:order|service|action)"
    r"|off (?:sick|work)|ill|sick|on (?:[a-z]+ )?leave|away|in (?:the |an? )?hospital|cancell?ed|called off|closed"
    r"|(?:not|n['’]t|stopped) work(?:ing)?|stolen|offline)\b"
)
_IS_BACK: Final = re.compile(
    r"\b(?:(?:is|are|am|was|were|came|comes|come|got|['’]s) (?:back(?! (?:from|then|to)\b)|home)"
    r"|(?:works?|working|runs?|running|on|open|opens|up|online|well|fine|healthy|there) again|found\b.*\bagain"
    r"|(?:takes? place|is on|happens|goes ahead) (?:after all|again)|turned up|reappeared|(?:was|been) found"
    r"|(?:is|are) (?:repaired|fixed))\b"
)


def _name_one(earlier: Frame, later: Frame) -> bool:
    """True if both name their subject, or a thing in common."""
    both = earlier.subject & frames.words_of(earlier.key) & frames.words_of(later.key)
    return bool(both or earlier.content & later.content)


def _relate_asked_rate(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of what somebody gets or asks for by the hour from now on to what that was; it ends nothing."""
    told = [_RATE.search(one.key) for one in (earlier, later)]
    rise = _GOES_TO.search(later.key)
    if rise is not None and told[0] is not None and told[0]["count"] != rise["count"]:
        is_one = earlier.head == later.head and _name_one(earlier, later) and len(earlier.numbers) == 1
        return _doubted(0.6, later, "another amount", "the amount may be another one's") if is_one else None
    if told[0] is None or told[1] is None or told[0]["per"] != told[1]["per"] or told[0]["count"] == told[1]["count"]:
        return None
    if _FROM_NOW.search(later.key) is None or later.negated or later.former or not _name_one(earlier, later):
        return None
    what = [_PAID_FOR.search(one.key) for one in (earlier, later)]
    if what[0] is not None and what[1] is not None and what[0]["what"] != what[1]["what"]:
        return None
    paid = [one.verb in _paying_stems() or bool(one.owned & _PAID) for one in (earlier, later)]
    is_one = earlier.head == later.head or bool(earlier.owned & _PAID and not later.head)
    return _doubted(0.6, later, "another rate", "it may only be asked for") if all(paid) and is_one else None


_RATE: Final = re.compile(
    r"(?P<count>\d[\d.,]*)(?: ?[€$£]| [a-z]+)? (?:an?|per|each|every) "
    r"(?P<per>hour|day|week|fortnight|month|year|walk|lesson|night|session|visit|person|kilo|km)\b"
)
_PAID_FOR: Final = re.compile(r"\bfor (?:the |my |our |her |his )?(?P<what>[^\W\d][\w'’-]+)")
_GOES_TO: Final = re.compile(r"\b(?:went|goes|has gone|is going) (?:up|down) to (?:[€$£])?(?P<count>\d[\d.,]*)")
_FROM_NOW: Final = re.compile(r"\b(?:now|nowadays|these days|instead|after all|from [\w ]{2,20} on(?:wards)?)\b")
_PAID: Final = frozenset({"money", "pay", "wage", "salary", "fee", "rate", "allowance"})


@cache
def _paying_stems() -> frozenset[str]:
    verbs = ("gets", "asks", "wants", "charges", "takes", "earns", "costs", "pays", "demands", "receives")
    return frozenset({"", *map(frames.stem, verbs)})


def _relate_label(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "changed to class 3a" to what tells of class 3b, whatever else that says; it ends nothing."""
    if later.change in _PRESENT - {"now"} or later.negated or later.mood or later.head != earlier.head:
        return None
    if earlier.ranks != later.ranks:
        return None  # What is in room 4 is not what is in room 7.
    told = [dict(_LABEL.findall(one.key)) for one in (earlier, later)]
    is_other = any(told[0].get(kind, code) != code for kind, code in told[1].items())
    return _doubted(0.6, later, "another one of a kind", _SAYS_MORE) if is_other and _name_one(earlier, later) else None


_LABEL: Final = re.compile(
    r"\b(class|group|team|room|gate|platform|seat|locker|desk|track|lane|level|grade|ward|shift)"
    r" ([a-z]?\d+[a-z]?|[a-z])\b"
)


def _relate_thing(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "coffee: decaf from now on" to "coffee black": the same thing is otherwise; it ends nothing."""
    one, other = earlier.thing, later.thing
    if not one.noun or one != other or one.behind or _FROM_NOW.search(later.key) is None:
        return None
    if earlier.verb or later.verb or earlier.head or later.head or later.mood or later.adds:
        return None
    # "With oat milk" is no place.
    sorts = {"" if " is with " in one.key else one.sort for one in (earlier, later)}
    begins = {_PLACED_VALUE.search(one.key) is not None for one in (earlier, later)}
    is_of_one_sort = (len(sorts) == 1 or "" in sorts) and len(begins) == 1
    if not is_of_one_sort or earlier.recurs or later.recurs or bool(earlier.numbers) != bool(later.numbers):
        return None
    own, new = earlier.content - later.content, later.content - earlier.content
    return _doubted(0.5, later, "the same thing is otherwise", "it may be another side of it") if own and new else None


_PLACED_VALUE: Final = re.compile(r" is (?:in|on|at|by|near|under|before|after|behind|until|from|to|for) ")


def _relate_taken_back(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "forget what I said about lilies" to what was said of them, and of a cancellation to a fee."""
    told = _TAKEN_BACK.search(later.key)
    if told is not None:
        of = frames.stems(frames.words_of(told["of"]) - STOP_WORDS)
        is_said = bool(of) and of <= earlier.content | earlier.light | earlier.head
        return _doubted(0.6, later, "it takes back what was said", "it may mean something else") if is_said else None
    if (
        _ENDED_FEE.search(later.key) is None
        or later.negated != earlier.negated ^ True
        or _RATE.search(earlier.key) is None
    ):
        return None
    is_one = later.head == earlier.head and _name_one(earlier, later) and earlier.content.isdisjoint(later.content)
    return _doubted(0.6, later, "it was cancelled", _OTHER_PLAN) if is_one else None


_TAKEN_BACK: Final = re.compile(
    r"^i (?:scrap|forget|ignore|disregard|strike|never mind) (?:what|everything|all) (?:that )?i (?:said|told you)"
    r" (?:about|on|of) (?P<of>[\w'’ -]+)"
)
_ENDED_FEE: Final = re.compile(r"^[\w'’ +-]{2,40}?(?: (?:is|was|got|has been))? (?:cancell?ed|terminated)$")


def _relate_main_clause(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """How the first clause of a statement competes with that of another one that denies or tells a change.

    "Allergic to nuts, so no cake" and "not allergic to nuts after all, only to cashews": it ends no whole.
    """
    if not (later.negated or later.change) or ", " not in f"{earlier.key}{later.key}":
        return None
    known, given = _main_clause(earlier), _main_clause(later)
    if known is None or given is None or known.negated == given.negated:
        return None
    found = _find_relation(known, given)
    if found is None or found.relation not in COMPETING or _denies_something_else(known, given):
        return None
    return found._replace(is_single_valued=False, doubt="only a clause of one replaces a clause of the other")


def _main_clause(one: Frame) -> Frame | None:
    first, comma, _ = one.key.partition(", ")
    return frames.frame(first, one.subject) if comma and first.count(" ") >= _LEAST_OF_CLAUSE else one


_LEAST_OF_CLAUSE: Final = 2
"""The fewest blanks of a clause that states something."""
_OTHER_PLAN: Final = "another one than that may be cancelled"


def _is_dated_once(one: Frame) -> bool:
    """True if a statement in the present names a day or a month, and nothing that comes again: goes there in June."""
    is_to_come = not (one.past or one.former or one.recurs or one.times_a_year or _PERFECT.search(one.key))
    return is_to_come and bool(_date_terms(one) - one.subject)


_PERFECT: Final = re.compile(r"\b(?:has|have|had|['’]ve) ")


@cache
def _going_stems() -> frozenset[str]:
    return frames.stems(_GOING.split())


@cache
def _to_go() -> frozenset[str]:
    return frames.stems(("go", "goes", "going"))


def _relate_denied_plan(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "does not run the marathon" to what was to come on a day: it was given up.

    A denial of that very day may be somebody else's word against the first, and contradicts it.
    """
    if earlier.negated or earlier.mood or not _is_dated_once(earlier) or not later.negated:
        return None
    if later.mood or later.past or later.former or later.recurs or later.change or later.in_part:
        return None
    is_one = earlier.verb == later.verb or {earlier.verb, later.verb} <= _to_go()
    is_one = is_one and earlier.head == later.head and earlier.content == later.content
    is_one = is_one and earlier.light ^ later.light <= _to_go() | earlier.times
    is_state = not earlier.verb or not frames.attributes_of({earlier.verb}).isdisjoint(("job", "residence"))
    if not is_one or is_state or later.times or later.numbers:
        return None
    return _comparison(0.9, later, "the plan was given up", "replacement")._replace(is_single_valued=True)


def _relate_moved_appointment(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of seeing one physio on Fridays at eight to seeing them on Thursdays at five; it ends nothing."""
    is_one = earlier.verb == later.verb and earlier.verb in _meeting_one_stems() and earlier.content == later.content
    is_weekly = earlier.recurs and later.recurs and bool(earlier.hours) and bool(later.hours)
    if not is_one or not is_weekly or not _are_of_other_times(earlier, later) or earlier.head or later.head:
        return None
    if earlier.negated or later.negated or later.mood or later.change or later.adds or later.past:
        return None
    if not earlier.content.isdisjoint(_people_stems()) or not earlier.content - {earlier.verb}:
        return None
    return _doubted(0.8, later, "the same at another time", "both times may be kept")


@cache
def _meeting_one_stems() -> frozenset[str]:
    return frames.stems(("sees", "visits", "meets"))


def _is_set(one: Frame) -> bool:
    """True if a statement says when a thing is, or that it is booked."""
    return bool(one.thing.noun) and (one.sort == "time" or _BOOKED.search(one.key) is not None)


_CANCELLED: Final = re.compile(r"\b(?:is|are|was|were|been|got) (?:cancell?ed|called off)\b")
_BOOKED: Final = re.compile(r"\b(?:is|are) (?:booked|reserved|confirmed|planned|scheduled)\b")
_PLANNED: Final = re.compile(
    r"\b(?:is|are|am|['’]m) (?:flying|travell?ing|going|visiting|moving|marrying|meeting|seeing)\b"
)
"""The present continuous for a plan: "is flying to Oslo on Friday"."""


def _relate_departure(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "has left Globex" or "retired" to where somebody works, and of "left Lisbon" to where they live.

    Who left a town may come back, and who joined what has a name may not work there: those compete with the earlier
    statement, but do not end it.
    """
    held = earlier.attributes & {"job", "residence"}
    if not held or earlier.negated or earlier.mood or earlier.former or earlier.past or earlier.head:
        return None
    # What ends is not denied by that; a denial of it is no departure by its words.
    told = None if later.mood else _DEPARTING.fullmatch(later.key)
    if told is None or not frames.words_of(told["who"]) <= later.subject | {"she", "he", "they"}:
        return None
    if told["whom"]:
        is_elsewhere = "job" in held and _is_named(told["whom"], later) and not _is_at(earlier, told["whom"], _EMPLOYS)
        return _doubted(0.6, later, "joined another one", _NOT_ENDED) if is_elsewhere else None
    if told["onwards"] and not _is_named(told["onwards"], later):
        return None  # For lunch, for the weekend.
    if earlier.verb_preposition in ("on", "with"):
        return _comparison(0.3, later, "work on or with something may go on", "compatible") if "job" in held else None
    place = told["left"] or told["quit"] or told["source"] or ""
    if not place and later.key.endswith(" left"):
        return None
    # Who quit, and no more is said, may have quit something else.
    is_single = earlier.attributes - {"job"} <= _OF_BEING and told["alone"] is None
    is_held = "job" in held and not _STUDIES.search(earlier.key)
    if is_held and not _is_job(earlier, told["trade"]):
        # Who works at a hotel may be its cook, and a nurse is none.
        if not earlier.verb or " as " in earlier.key:
            return _comparison(0.6, later, "another job", "compatible")
        return _doubted(0.6, later, "that work may have ended", _NOT_ENDED)
    if is_held and (not place or _is_at(earlier, place, _EMPLOYS) or (told["source"] and _is_job(earlier, place))):
        doubt = "" if is_single else "it says more than that work, or the new one does not say what ended"
        told_of = _comparison(0.7, later, "that work has ended", "replacement")
        return told_of._replace(is_single_valued=is_single, doubt=doubt)
    if "residence" in held and told["moved"] and _is_at(earlier, place, _HOUSES):
        return _doubted(0.7, later, "left that place", "who left may come back")
    return None


_NOT_ENDED: Final = "the new one does not say that this work has ended"


def _is_job(earlier: Frame, trade: str | None) -> bool:
    """True if a statement of somebody's work names that trade, or no trade is given."""
    stems = frames.stems(frames.words_of(trade or ""))
    return all(any(_share_root_word(each, other) for other in earlier.content) for each in stems)


def _is_at(one: Frame, place: str, prepositions: str) -> bool:
    """True if a statement names a place behind one of these prepositions."""
    return re.search(rf"\b(?:{prepositions}) (?:the )?{re.escape(place)}(?![\w-])", one.key) is not None


def _is_named(words: str, one: Frame) -> bool:
    """True if all of these words are proper names in a statement."""
    return frames.stems(frames.words_of(words)) <= one.names


_EMPLOYS: Final = "at|for|by"
_HOUSES: Final = "in|at|on|near"
_STUDIES: Final = re.compile(r"\b(?:student|phd|candidate|pupil)\b|\bwork(?:s|ing)? out\b")
"""Who studies, or works out, has no work to lose by that."""
_SINCE_WHEN: Final = (
    r"(?: (?:for good|early|recently|already|now|since|(?:in|since) (?:(?:early|late|mid) )?[a-z]{3,9}(?: \d{4})?"
    r"|(?:in|since) \d{4}|last (?:week|month|year|spring|summer|autumn|winter)|a (?:week|month|year) ago"
    r"|\d+ (?:weeks|months|years) ago))?"
)
_SINCE_DAYS: Final = (
    r"(?: (?:yesterday|today|this (?:morning|week|month|year|spring|summer|autumn|winter)|(?:on|last) [a-z]{3,6}day"
    r"|(?:a|an|two|three|four|five|six|a few|several) (?:days?|weeks?|months?|years?) ago))?"
)
"""When somebody quit; who left today may be back tomorrow."""
_LATELY: Final = r"(?:(?:has|have|just|recently|finally|now) )*"
_JOB: Final = (
    r"(?:her|his|my|their|the) (?:old |full[ -]time |part[ -]time )?(?:job|position|post|work)"
    r"(?: as an? (?P<{}>[\w-]+(?: [\w-]+){{0,2}}?))?"
)
_NO_WORK: Final = (
    r"(?:(?:am|is|are|now|currently|has been|have been) )*"
    r"(?:retired|unemployed|jobless|out of (?:work|a job)|between jobs)"
    rf"|{_LATELY}(?:retired|resigned|(?P<alone>quit)|stopped working)"
    r"|(?:(?:has been|have been|was|were|got|just|recently) )+"
    r"(?:fired|sacked|dismissed|laid off|made redundant|let go)"
)
_PLACE: Final = r"(?!for\b)[\w&'’.-]+(?: (?!for\b)[\w&'’.-]+){0,3}?"
_DEPARTING: Final = re.compile(
    r"(?P<who>[\w'’.-]+?(?: [\w'’.-]+?){0,2}?)(?:['’](?:s|m|ve|re))? (?:"
    rf"{_LATELY}(?P<moved>left)(?: (?:her|his|my|their|the) (?:job|position|post|company|firm)(?: at)?)?"
    rf"(?: (?P<left>{_PLACE}))?"
    r"(?: for (?!good\b)(?P<onwards>[\w&'’ .-]+?))?"
    rf"|{_LATELY}joined (?P<whom>{_PLACE})"
    rf"|(?:{_NO_WORK}|{_LATELY}(?:quit|lost|gave up|given up|(?:resigned|retired|stepped down) from) "
    rf"{_JOB.format('trade')})(?: (?:from|by|at|with) (?P<source>{_PLACE}))?{_SINCE_DAYS}"
    rf"|{_LATELY}quit (?P<quit>{_PLACE}){_SINCE_DAYS}"
    rf"){_SINCE_WHEN}"
)


def _is_other_record(earlier: Frame, later: Frame) -> bool:
    """True if both state a personal best time or score of one kind, with other values.

    A record that somebody hopes to beat counts ("my personal best of 25:50"); one that is hoped for does not.
    """
    if not earlier.numbers or not later.numbers:
        return False
    said = [_BEST.search(one.key) for one in (earlier, later)]
    if None in said or earlier.negated or later.negated:
        return False
    if any(one.mood and _OWN_BEST.search(one.key) is None for one in (earlier, later)):
        return False
    is_own = all(not one.head or one.head & frames.stems(("best", "record", "pb")) for one in (earlier, later))
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
    said = [frozenset(_EVENT.findall(one.key)) if _BEST.search(one.key) else frozenset() for one in (earlier, later)]
    return all(said) and said[0].isdisjoint(said[1])


_BEST: Final = re.compile(r"\b(?:personal (?:best|record)|best time|fastest|pb)\b")
_OWN_BEST: Final = re.compile(
    r"(?:\b(?:my|his|her|their|our)|['’]s) (?:(?!\b(?:a|new)\b)\w+ ){0,2}(?:best|record|pb)(?: time)? (?:of|is|was) \d"
)
_EVENT: Final = re.compile(r"\b\d+ ?km?\b|\bmile\b|\bmarathon\b|\bhalf[ -]marathon\b|\b\d+ ?m(?:etres|eters)?\b")
_TIMED: Final = re.compile(r"\b\d{1,3}:\d\d(?::\d\d)?\b")


def _disposes_of_other_thing(earlier: Frame, later: Frame) -> bool:
    """True if the thing sold or given away has a further word, and so is another thing: a bike lock."""
    if _DISPOSES.search(later.key) is None or later.head:
        return False
    said = earlier.content | earlier.head | earlier.light
    bought = _INSTEAD.search(later.key)
    if bought is not None:
        return said.isdisjoint(frames.stems(frames.words_of(later.key[: bought.start()])) - later.subject)
    more = later.content | (later.light & frames.stems(("old", "other")))
    return bool(more - said - _disposal_stems() - later.subject)


def _disposes(earlier: Frame, later: Frame) -> bool:
    """True if the later statement says that the possession of the earlier one was sold or given away."""
    if later.negated or later.mood or later.head or earlier.negated or earlier.past:
        return False
    if _DISPOSES.search(later.key) is None:
        return False
    gone = later.content - _disposal_stems()
    is_had = bool(earlier.head and not earlier.verb) or _HAVING.search(earlier.key) is not None
    said = earlier.content | earlier.head
    return is_had and bool(gone) and gone <= said and (gone <= earlier.names or earlier.head <= gone)


_INSTEAD: Final = re.compile(r" and (?:bought|got|ordered|leased|picked up|am getting|'m getting) ")
"""Behind it stands what took the place of the thing that is gone."""
_DISPOSES: Final = re.compile(r"\b(?:gave|given|giving|threw|thrown) away\b|\b(?:sold|scrapped|donated)\b")
_HAVING: Final = re.compile(r"\b(?:has|have|owns?|drives?|rides?) (?:an?|the|his|her|my|our|their) ")


@cache
def _disposal_stems() -> frozenset[str]:
    return frames.stems(("gave", "given", "threw", "thrown", "away", "scrapped", "donated", "sold"))


def _is_act(noun: str, planned: str) -> bool:
    """True if a stem is a planned act, or the noun for it: to fly, and a flight."""
    return _share_root_word(noun, planned) or planned in _act_stems().get(noun, ())


_GOING: Final = "travel travels visit visits go goes going fly flies drive drives sail"


@cache
def _act_stems() -> dict[str, frozenset[str]]:
    words = {
        "flight": "fly flies flying", "trip": _GOING, "journey": _GOING, "tour": _GOING, "holiday": _GOING,
        "visit": "see sees go goes", "wedding": "marry married marries wed", "appointment": "see sees visit visits",
        "reservation": "eat eats dine dines stay stays", "booking": "eat eats dine dines stay stays",
        "move": "relocate live lives",
    }  # fmt: skip
    return {stem: frames.stems(acts.split()) for noun, acts in words.items() for stem in frames.stems((noun,))}


def _are_other_things(earlier: Frame, later: Frame) -> bool:
    """True if they are about two things of a kind, or state values that hold together: red, and fast.

    What a word of change tells of is the one that was spoken of before.
    """
    if _are_other_events(earlier, later) or bool(_superlatives(earlier)) != bool(_superlatives(later)):
        return True
    if _lives_with(earlier) != _lives_with(later) or _is_where_beside_whom(earlier, later):
        return True
    if _is_birthplace_beside_birthday(earlier, later) or _are_marked_apart(earlier, later):
        return True
    if _states_difference(later) or _tells_of_hours_worked(earlier, later):
        return True
    if _is_place_beside_condition(earlier, later) or _is_place_beside_condition(later, earlier):
        return True
    if _tell_of_one_home(earlier, later):
        return True
    if later.change not in _PRESENT or _lasting_attribute(earlier, later):
        return False
    if _tells_of_home_itself(earlier, later) or _tells_of_home_itself(later, earlier):
        return True
    if _are_of_other_aspects(earlier, later) or _are_of_other_aspects(later, earlier):
        return True
    if later.change in _PRESENT and (_names_alone(earlier, later) or _names_alone(later, earlier)):
        return True
    if earlier.past and later.past and (_are_of_other_times(earlier, later) or _are_of_other_rounds(earlier, later)):
        return True
    if _is_other_numbered_thing(earlier, later):
        return True
    if _begin_with_other_things(earlier, later):
        return True
    if later.change:
        return False
    if _are_of_other_sides(earlier, later) or _adds_word_to_thing(earlier, later):
        return True
    if "residence" in earlier.attributes & later.attributes:
        is_owned = [_OWNS.search(one.key) is not None for one in (earlier, later)]
        is_lived_in = not {earlier.verb, later.verb}.isdisjoint(_moving_stems() | frames.stems(("lives", "resides")))
        if all(is_owned) or (any(is_owned) and is_lived_in):
            return True  # Of two houses in two towns, each is owned, and somebody may live in neither.
    return (
        (not earlier.denied and not later.denied and _have_compatible_sorts(earlier, later))
        or _measure_different_things(earlier, later)
        or _may_be_other_event(earlier, later)
        or _at_other_hours(earlier, later)
        or _at_other_half_of_day(earlier, later)
        or (_are_other_parts_of_day(earlier, later) and not earlier.hours and bool(_changed_units(earlier, later)))
    )


def _are_of_other_sides(earlier: Frame, later: Frame) -> bool:
    """True if only one tells of a side of somebody that the other does not: whom they drive somewhere, and not what
    they drive; a year of school, and not an age; how they live, and not where."""
    return any((form.search(earlier.key) is None) != (form.search(later.key) is None) for form in _SIDES)


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
    if "marital state" in common and not one.content.isdisjoint(_parted_stems()):
        return not other.content.isdisjoint(_together_stems())
    if "wish for answers" in common:
        return bool(one.names) and not other.names
    is_kind = not (one.names or one.change) and _KIND_OF_HOME.search(one.key) is not None
    return "residence" in common and is_kind and bool(other.place_preposition)


_KIND_OF_HOME: Final = re.compile(r"\b(?:shares?|rents?) (?:an?|the|her|his|my|our|their) ")


@cache
def _parted_stems() -> frozenset[str]:
    return frames.stems(("divorced", "widowed", "widow", "widower", "separated"))


@cache
def _together_stems() -> frozenset[str]:
    return frames.stems(("girlfriend", "boyfriend", "partner", "dating"))


def _names_alone(one: Frame, other: Frame) -> bool:
    """True if one says only by name what a thing is, and the other where, when, how or what that does."""
    if not one.thing.noun or one.thing != other.thing or one.verb or one.numbers or one.negated:
        return False
    begin = one.head | frames.stems((one.thing.noun, *one.thing.which))
    value, rest = one.content - begin, other.content - begin
    is_named = bool(value) and value <= one.names and one.sort in ("", "kind") and not begin & _single_value_stems()
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
    if one.noun != "home" or one != other or earlier.negated != later.negated or _changed_numbers(earlier, later):
        return False
    if not {earlier.verb, later.verb}.isdisjoint(_moving_stems() | frames.stems(("lives", "resides"))):
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


def _lives_with(one: Frame) -> bool:
    """True if a statement says with whom somebody lives, and not where."""
    return one.verb_preposition == "with" and (one.verb in _moving_stems() or one.verb in frames.stems(("lives",)))


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
    said = _WORKS.search(one.key)
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
    return "in" if one.content.isdisjoint(_department_stems()) else "department"


def _is_birthplace_beside_birthday(earlier: Frame, later: Frame) -> bool:
    """True if one says only where somebody was born and the other only when, or one the year and the other the day."""
    births = [_BORN.search(one.key) for one in (earlier, later)]
    dated = [bool(_date_terms(one)) for one in (earlier, later)]
    if any(birth is None for birth in births):
        return False
    days = [not one.times.isdisjoint(_CALENDAR) for one in (earlier, later)]
    years = [any(_is_year(*number) for number in one.numbers) for one in (earlier, later)]
    return dated[0] != dated[1] or (days[0] != days[1] and years[0] != years[1])


_BORN: Final = re.compile(r"\bborn (?:in|on|at|near) [^ ]+(?: [^ ]+){0,2}$|\bbirthday is\b")
_WORKS: Final = re.compile(
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
    is_apart = (one.attributes & other.attributes).isdisjoint(_OF_BEING | {"residence"})
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
    is_one_at_a_time = earlier.verb in frames.single_verbs() | _taking_stems()
    return is_of_one_kind and (told[0] != told[1] or not is_one_at_a_time or earlier.verb in _storing_stems())


@cache
def _taking_stems() -> frozenset[str]:
    return frames.stems(_TAKING.split())


_TAKING: Final = (
    "takes uses catches rides boards picks chooses chose wears occupies reaches gets enters joins needs wants follows"
)
"""Verbs that are done to one thing of a kind at a time, beside those of ``single_verbs``."""


@cache
def _storing_stems() -> frozenset[str]:
    return frames.stems(("stores",))


def _have_compatible_sorts(earlier: Frame, later: Frame) -> bool:
    """True if they state values of one thing that hold together: its colour and its place, or two qualities."""
    one, other = earlier.sort, later.sort
    if _changed_numbers(earlier, later):
        return False
    before, after = earlier.content | earlier.light, later.content | later.light
    own, new = before - after, after - before
    if _tell_of_two_read(earlier, later):
        return False
    if one == other:
        # What a thing has is one part and another, and of two qualities it has one at a time if they are opposites.
        is_several = one == "part" or (one == "quality" and not any(pair <= own | new for pair in _antonym_stems()))
        return is_several and bool(own and new)
    if one and other:
        return "state" not in (one, other) or not {one, other}.isdisjoint(("colour", "quality", "kind"))
    unsorted = later if one else earlier
    return (one or other) == "quality" or ((one or other) in ("colour", "kind") and bool(unsorted.verb))


def _tell_of_two_read(earlier: Frame, later: Frame) -> bool:
    """True if they tell which book somebody is reading by its name: one at a time, most often."""
    is_read = all(_IS_READING.search(one.key) and one.names for one in (earlier, later))
    return is_read and earlier.names.isdisjoint(later.names)


_IS_READING: Final = re.compile(
    r"(?:\b(?:is|are|am)|['’](?:s|re|m)) (?:now |currently )?reading (?!(?:about|aloud|at|for|from|in|on|to|with) )"
)


@cache
def _antonym_stems() -> frozenset[frozenset[str]]:
    return frozenset(frames.stems(pair) for pair in frames.ANTONYMS)


def _are_marked_apart(earlier: Frame, later: Frame) -> bool:
    """True if words tell two things apart whatever changed: the flight to Rome, and to Oslo; an eye and an ear exam."""
    one, other = earlier.thing, later.thing
    if not one.noun or not other.noun:
        return False
    mine, theirs = one.which - frames.RENEWED, other.which - frames.RENEWED
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
    return _DIFFERENCE.search(one.key) is not None


_DIFFERENCE: Final = re.compile(
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
    if one.noun != other.noun and one.names & other.names and {one.noun, other.noun} <= frames.OF_SEVERAL:
        # Her brother Max is not her colleague Max.
        return True
    if one.noun != other.noun:
        is_longer = one.noun in other.which or other.noun in one.which
        nouns = frozenset({one.noun, other.noun})
        return is_longer and (nouns.isdisjoint(frames.OF_ONE_VALUE) or not nouns.isdisjoint(_SECRETS))
    which, others = one.which - other.which, other.which - one.which
    # Of things that have a colour a word before one tells it from others: my bag, and my gym bag.
    is_coloured = earlier.sort == later.sort == "colour"
    return bool(which and others) or bool((which | others) & frames.APART) or bool(is_coloured and (which or others))


_SECRETS: Final = frozenset({"password", "passcode", "passphrase", "pin", "code"})


def _measure_different_things(earlier: Frame, later: Frame) -> bool:
    """True if their numbers measure different things: GB of memory and of storage, prices at two shops."""
    if _states_value_in_full(earlier, later):
        return False
    unit = _changed_numbers(earlier, later)
    of_units = {of for of, _ in earlier.measured} & {of for of, _ in later.measured}
    before, after = (frozenset(what for of, what in each.measured if of in of_units) for each in (earlier, later))
    if before and after and before.isdisjoint(after):
        return True
    if len(earlier.numbers) == len(later.numbers) == 1:
        ((_, of_one),), ((_, of_other),) = earlier.numbers, later.numbers
        if frames.are_of_other_kinds(of_one, of_other):
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


_MEASURED_WAY: Final = re.compile(r"\d ?(?:[^\W\d]+ ){1,2}(long|wide|broad|high|tall|deep|thick|heavy|old)\b")
_HIGH: Final = {"tall": "high", "broad": "wide"}


def _may_be_other_event(earlier: Frame, later: Frame) -> bool:
    """True if they may be about different events of a kind: a meeting at nine, and one at eleven."""
    one, other = earlier.content - {earlier.verb}, later.content - {later.verb}
    is_any = bool(one and other) and one <= earlier.indefinite and other <= later.indefinite
    if not is_any and not (one & other and one & other <= earlier.indefinite & later.indefinite):
        return False
    values, others = _values(earlier) - _values(later), _values(later) - _values(earlier)
    return (values <= earlier.hours and others <= later.hours) and (values != others or earlier.times != later.times)


def _at_other_hours(earlier: Frame, later: Frame) -> bool:
    """True if their hours are of different activities, or of different recurring days."""
    if not earlier.hours or not later.hours or earlier.hours == later.hours:
        return False
    verbs = {earlier.verb, later.verb}
    if not verbs.isdisjoint(_beginning_stems()) and not verbs.isdisjoint(_ending_stems()):
        return True
    is_on_its_days = later.recurs and not earlier.times
    return is_on_its_days or (earlier.recurs and later.recurs and _are_of_other_times(earlier, later))


def _at_other_half_of_day(earlier: Frame, later: Frame) -> bool:
    """True if what may be done twice a day is done in the morning, and in the afternoon: a pill at 8 am and 8 pm."""
    if earlier.verb != later.verb or earlier.verb not in _daily_stems():
        return False
    halves = [{found[1] for found in _HALF_OF_DAY.finditer(one.key)} for one in (earlier, later)]
    return all(halves) and halves[0].isdisjoint(halves[1])


_HALF_OF_DAY: Final = re.compile(r"\d ?(am|pm)\b")


@cache
def _daily_stems() -> frozenset[str]:
    """The stems of verbs for what is done several times a day, or there and back."""
    return frames.stems(
        (
            *("takes", "catches", "rides", "feeds", "walks", "eats", "drinks", "has", "brushes", "checks", "measures"),
            *("practises", "prays", "showers", "runs", "swims", "calls", "meditates", "injects", "uses"),
        )
    )


@cache
def _beginning_stems() -> frozenset[str]:
    return frames.stems(("leaves", "departs", "opens", "starts", "begins", "boards"))


@cache
def _ending_stems() -> frozenset[str]:
    return frames.stems(("lands", "arrives", "closes", "ends", "finishes", "returns"))


def _are_of_other_times(earlier: Frame, later: Frame) -> bool:
    return bool(earlier.times) and bool(later.times) and earlier.times.isdisjoint(later.times)


def _holds_alongside(earlier: Frame, later: Frame) -> bool:
    """True if the later statement says that both hold, is about other times, or states no value of its own."""
    if earlier.negated != later.negated or _lasting_attribute(earlier, later):
        return False
    if later.adds & frames.ADDING or later.adds - earlier.adds:
        return True
    if later.change:
        return False
    if earlier.recurs and later.recurs and _are_other_parts_of_day(earlier, later):
        return True
    is_other = bool(earlier.content - later.content) and bool(later.content - earlier.content)
    if earlier.times and later.times and earlier.times.isdisjoint(later.times) and is_other:
        return True
    of_other = is_other or _numbers_outside_dates(earlier) != _numbers_outside_dates(later)
    if _are_of_other_days(earlier, later) and of_other and not _both_time_one_thing(earlier, later):
        return True
    if earlier.wish and later.wish and is_other:
        return (earlier.attributes & later.attributes).isdisjoint(("wish for answers", "name"))
    return _names_no_value(earlier, later) or _refines_home(earlier, later)


def _both_time_one_thing(earlier: Frame, later: Frame) -> bool:
    """True if both only give the time of one thing: "my flight to Rome is on 3 March at nine"."""
    return earlier.sort == later.sort == "time" and bool(earlier.thing.noun) and earlier.thing == later.thing


def _denies_something_else(earlier: Frame, later: Frame) -> bool:
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
    spoken = frozenset[str]().union(*map(frames.stems_of, earlier.attributes & later.attributes))
    numbers = {value.partition(".")[0] for value in _values(earlier)}
    known = earlier.content | earlier.head | earlier.light | spoken | numbers
    return any(not any(_share_root_word(each, other) for other in known) for each in later.denied)


def _share_root_word(one: str, other: str) -> bool:
    """True if two stems may share a root, such as "subscribes" and "subscription"."""
    least = max(_LEAST_COMMON, min(len(one), len(other)) - 2)
    return one == other or (len(other) >= least and one[:least] == other[:least])


def _states_present_fact(earlier: Frame, later: Frame) -> bool:
    """False if the later statement is about the past or a possibility, and the earlier one about the present."""
    is_told_of_now = not earlier.past or bool(earlier.change)
    if later.former and not earlier.former and is_told_of_now and not _lasting_attribute(earlier, later):
        return bool(earlier.content) and earlier.content <= later.content and earlier.numbers == later.numbers
    is_dated = "schedule" in earlier.attributes & later.attributes
    if later.mood in ("ought", "may") and not earlier.mood and _values(earlier) and _values(later) - _values(earlier):
        # What the rent should or could be is not what it is.
        return is_dated
    if _ALMOST.search(later.key) is not None:
        return False
    if not (is_dated or earlier.mood or earlier.negated or later.negated or later.change):
        # "Would rather" tells what somebody wants now.
        if (later.mood == "may" and " would " not in later.key) or _WAS_MARRIED.search(later.key) is not None:
            return False
        if later.recurs and not earlier.recurs and earlier.place_preposition:
            # Who lives in Porto on weekends lives elsewhere.
            return False
    return later.mood not in ("unsure", "used", "wish") or earlier.mood != ""


_WAS_MARRIED: Final = re.compile(r"\b(?:was|were) (?:once |first )?(?:married|engaged) to\b")
"""What was, where "was married in May" may tell what happened."""
_ALMOST: Final = re.compile(r"\b(?:almost|nearly) (?:moved|left|quit|became|bought|sold|joined|switched|changed)\b")


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
    if own and other and all(_CODE.fullmatch(word) for word in own | other):
        return True
    if later.change or earlier.negated != later.negated or earlier.singled_out or _changed_numbers(earlier, later):
        return True
    if not earlier.owned.isdisjoint(frames.OF_ONE_VALUE | frames.SORTING):
        return True
    if not (earlier.content & later.content).isdisjoint(_single_value_stems()):
        return True
    if not (later.attributes - earlier.attributes).isdisjoint(_OF_BEING):
        # Where her boss is at the moment is not who that is.
        return False
    if own & earlier.names:
        is_state = "marital state" in frames.attributes_of(own) & frames.attributes_of(other) and not later.indefinite
        return bool(other & later.names) or is_state
    # "Ana's dog is brown" and "is ill": no word stands for an attribute that both would be of.
    is_told = bool(frames.attributes_of(own) & frames.attributes_of(other))
    is_valued = bool(other or later.light - earlier.light)
    return is_told or not (earlier.head and own and is_valued) or bool(other & later.names)


@cache
def _single_value_stems() -> frozenset[str]:
    return frames.stems(frames.OF_ONE_VALUE)


_CODE: Final = re.compile(r"[a-z]\d+[a-z]?")
"""B12; a seat 12A is written n12a in a frame."""


def _is_address(word: str) -> bool:
    return not {"@", ".", "/"}.isdisjoint(word)


def names_only_earlier_years(one: Frame, year: int) -> bool:
    """True if a statement is in the past and names only years before another one: "moved there in 1999"."""
    named = [float(value) for value, unit in one.numbers if _is_year(value, unit)]
    return one.past and bool(named) and max(named) < year


def _are_of_other_kinds(earlier: Frame, later: Frame) -> bool:
    """True if only one has a number, and they are about different things or attributes.

    A dog is brown and three years old; a phone is a Pixel, and its number is another thing.
    """
    if bool(earlier.numbers) == bool(later.numbers) or earlier.change or later.change:
        return False
    one, other = ((each.head, each.attributes, each.verb) for each in (earlier, later))
    return one != other


def _may_both_hold(earlier: Frame, later: Frame) -> bool:
    """True if they are about things that somebody may have several of: hobbies; a brother and a sister.

    Of two that belong to somebody the words tell it if both say which one that is, and nothing that it may do or have.
    """
    if later.change or earlier.only or later.only:
        return False
    if earlier.kin and later.kin and earlier.kin.isdisjoint(later.kin):
        return True
    one, other = earlier.owned, later.owned
    if (one & other).isdisjoint(frames.OF_SEVERAL) or (
        earlier.singled_out and earlier.singled_out == later.singled_out
    ):
        return False
    both = (earlier, later)
    says_which = all((not each.verb or each.passive) and each.content - each.head and not each.numbers for each in both)
    says_which = says_which and not any(map(_CODE.fullmatch, earlier.content | later.content))
    is_other = (earlier.content - later.content) and (later.content - earlier.content)
    return bool(says_which and is_other and (bool(earlier.names) == bool(later.names)))


def _are_two_of_several(earlier: Frame, later: Frame) -> bool:
    """True if each is about one of several things of a kind: clubs, lessons, dogs by name, other days."""
    if _is_beside_condition(earlier, later):
        return True
    if later.change or earlier.only or later.only:
        return False
    if _is_beside_membership(earlier, later):
        return True
    if earlier.head or later.head:
        return False
    way = earlier.verb_preposition
    if earlier.verb == later.verb and way == later.verb_preposition and way in ("with", "on") and _is_work(earlier):
        return True
    if earlier.verb == later.verb and earlier.verb in _towards_stems() and not earlier.numbers and not later.numbers:
        return True
    is_somebodys = (
        bool(later.verb)
        and later.verb not in _meeting_stems()
        and earlier.verb == later.verb
        and not (earlier.thing.noun or later.thing.noun)
    )
    if is_somebodys and earlier.recurs and later.recurs and _are_of_other_times(earlier, later):
        return True
    one, other = (_ONE_OF_SEVERAL.search(each.key) for each in (earlier, later))
    return one is not None and other is not None and one.lastgroup == other.lastgroup


@cache
def _towards_stems() -> frozenset[str]:
    """The stems of verbs for what is done towards one person and another."""
    return frames.stems(_TOWARDS.split())


_TOWARDS: Final = "owes lends gives sends tells calls sees visits knows helps trusts writes"


_ONE_OF_SEVERAL: Final = re.compile(
    r"(?P<member>\b(?:is|are|am|['’]m) (?:an? |also an? )?(?:\w+ )?(?:member|fan|patron|supporter) of\b)"
    r"|(?P<called>\b(?:has|have|['’]ve|got) an? (?:\w+ ){1,2}(?:named|called)\b)"
    r"|(?P<lessons>\b(?:tak(?:es?|ing)|hav(?:e|ing)|has|attend(?:s|ing)?) (?:\w+ ){1,2}(?:lessons|classes|courses)\b)"
)


def _has_one_called(one: Frame) -> bool:
    found = _ONE_OF_SEVERAL.search(one.key)
    return found is not None and found.lastgroup == "called"


def _may_have_both(earlier: Frame, later: Frame) -> bool:
    """True if each tells what somebody studies or prefers, and no word that it is that instead: tea, and trains."""
    is_one_verb = earlier.verb == later.verb and earlier.verb in frames.stems(("studies", "prefers"))
    is_denied = earlier.negated != later.negated
    return is_one_verb and not (later.change or is_denied) and _objects(earlier).isdisjoint(_objects(later))


def _allows_several_values(attribute: str, later: Frame) -> bool:
    return frames.KIND_OF.get(attribute) == frames.MANY and not later.change


def _refines_home(earlier: Frame, later: Frame) -> bool:
    """True if one statement of a home names the place of the other and more, or only its kind.

    Who lives in Lisbon may live in a flat in Lisbon, on a street, or on the third floor.
    """
    if "residence" not in earlier.attributes & later.attributes or _changed_numbers(earlier, later):
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
        one.content - frames.stems_of("residence") - _moving_stems() - {one.verb} for one in (earlier, later)
    )
    is_told = bool(earlier.place_preposition and later.place_preposition) or (
        earlier.verb == later.verb and earlier.verb in _moving_stems()
    )
    return (is_told or bool(before)) and (before <= after or (is_told and after <= before))


_STREETS: Final = ({"in", "on"}, {"in", "at"})
"""The prepositions by which one lives in a town and on a street, at a number."""


@cache
def _moving_stems() -> frozenset[str]:
    return frames.stems(("moved", "moves", "relocated", "relocates", "resettled"))


def _names_no_value(earlier: Frame, later: Frame) -> bool:
    """True if one only says when or how: "runs every morning" beside "runs a bakery"."""
    if earlier.numbers or later.numbers or earlier.head or later.head:
        return False
    own, other = earlier.content - {earlier.verb}, later.content - {later.verb}
    return earlier.verb == later.verb != "" and (bool(own) != bool(other)) and bool(earlier.times | later.times)


def _says_further_facts(earlier: Frame, later: Frame) -> bool:
    """True if the earlier statement has numbers of things that the later one does not speak of: a code, a platform."""
    others = {unit for _, unit in earlier.numbers - later.numbers if unit} - {unit for _, unit in later.numbers}
    if len(earlier.numbers) > 1 and later.numbers and others - _TIME_UNITS:
        return True
    parts = (_DATED.sub("", part) for part in re.split(r", (?!\d{3}\b)", earlier.key)[1:])
    return any(any(letter.isdecimal() for letter in part) for part in parts)


_TIME_UNITS: Final = frozenset((*_MONTHS.split(), "am", "pm", "hour", "day", "week", "month", "year", "o'clock"))
_MONTH: Final = "|".join(_MONTHS.split())
_DATED: Final = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?(?:{_MONTH})(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?\b"
    r"|\b\d{1,2}[:.]\d\d\b|\bat \d{1,2}\b|\b\d{1,2} ?(?:am|pm)\b"
)


def _find_doubt(earlier: Frame, later: Frame) -> str:
    """Return why the later statement, though it competes, may not end the earlier one; empty if nothing says so.

    It ends what only states a value of an attribute of the later one. Words in common do not make an attribute. Where
    no word stands for one, it is what belongs to the subject ("Ana's rent"), or all that is said but for a number or a
    denial. What differs in more than one place, or in its day, may be the value of another thing ("the bank's password
    is …"): nothing is ended by that unless a word tells of a change. Nor is anything by what is said in another mood,
    of times that come again, of what belongs to the subject under another name, or by a value of another sort.
    """
    own, other = _without_units(earlier) - later.content, _without_units(later) - earlier.content
    if earlier.former or not {earlier.mood, later.mood}.isdisjoint(_OF_NO_VALUE) or not _have_same_mood(earlier, later):
        return "not both are stated as what is so now"
    if later.recurs and not earlier.recurs and not earlier.times_a_year:
        return "the new one tells of times that come again"
    if _says_further_facts(earlier, later):
        return _SAYS_MORE
    common = earlier.attributes & later.attributes
    if _mentions_in_passing(later, common):
        return f"the new one may only mention the {min(common)}"
    parts = [_parts_of_day(one) for one in (earlier, later)]
    if _are_other_parts_of_day(earlier, later) or (own and other and all(parts) and parts[0].isdisjoint(parts[1])):
        return "they are of different parts of the day"
    if not later.change and _may_lie_in_other(earlier, later):
        return "the one place may lie in the other"
    if _is_told_more_closely(earlier, later):
        return _OTHER_THING
    whom = [_WHO_IN_BRACKETS.match(one.key) for one in (earlier, later)]
    if {match and match[1] for match in whom} - {None} and len({match and match[1] for match in whom}) > 1:
        return "they may be of two of one name"
    if _tell_of_two_read(earlier, later) and not later.change:
        return _NO_ATTRIBUTE
    if _states_value_in_full(earlier, later):
        return "both may hold" if _may_hold_beside(earlier, later) else ""
    if earlier.owned != later.owned:
        return "they may be of different things of the subject"
    if not _have_same_sort(earlier, later):
        return "their values are of different sorts"
    lives_with_both = _lives_with(earlier) and _lives_with(later) and not later.change
    if _may_be_two(earlier, later) or _may_hold_beside(earlier, later) or lives_with_both:
        return "the new one may hold beside it"
    if len(earlier.content) >= _MANY_WORDS and not earlier.head:
        return _SAYS_MORE
    if earlier.singled_out and earlier.singled_out == later.singled_out:
        return ""
    if not later.change:
        if "job" in common and earlier.times & _WEEKLY:
            return "it may be another job on other days"
        whose = [_AT_WHOSE.search(one.key) for one in (earlier, later)]
        if earlier.times != later.times and whose[0] and whose[1] and whose[0][0] != whose[1][0]:
            return _MORE_VALUES
        if min(len(own), len(other)) > 1 or (own and other and _changed_numbers(earlier, later)):
            return _MORE_VALUES
        if _are_of_other_days(earlier, later) and "schedule" not in earlier.attributes & later.attributes:
            return _OTHER_DAYS
    if earlier.attributes:
        further = earlier.attributes - common - _OF_BEING if common else frozenset()
        other_thing = "" if common else _OTHER_THING
        return f"it also states a value of another attribute ({min(further)})" if further else other_thing
    if later.attributes:
        return _OTHER_THING
    if earlier.head or later.head:
        return "" if earlier.head & later.head else _OTHER_THING
    is_one_verb = earlier.verb == later.verb or (earlier.verb.isdecimal() and later.verb.isdecimal())
    if not is_one_verb:
        return "their verbs differ"
    return "" if _without_units(earlier) == _without_units(later) else _NO_ATTRIBUTE


def _may_lie_in_other(earlier: Frame, later: Frame) -> bool:
    """True if one tells where in the other place somebody may be: who lives on a street lives in a town."""
    ways = earlier.place_preposition, later.place_preposition
    if all(ways) and ways[0] != ways[1]:
        return True
    is_street = [_ENDS_WITH_STREET.search(one.key) is not None for one in (earlier, later)]
    return "residence" in earlier.attributes & later.attributes and is_street[0] != is_street[1]


_ENDS_WITH_STREET: Final = re.compile(r"\w (?:street|road|avenue|lane|alley|terrace|court|boulevard)$")
_WHO_IN_BRACKETS: Final = re.compile(r"[^\W\d][\w'’-]*(?: [^\W\d][\w'’-]*)? \(([^()]+)\) \w")
"""What tells which one of a name is meant: "Theo (my nephew) lives in Kiel"."""


def _is_told_more_closely(earlier: Frame, later: Frame) -> bool:
    """True if only the later one tells by a phrase behind a thing which one it is: the bus, and the bus to handball."""
    one, other = earlier.thing, later.thing
    is_of_kind = bool(one.noun) and one.noun == other.noun and not (one.place or later.change)
    return is_of_kind and bool(other.behind - one.which)


_WEEKLY: Final = frozenset({*(f"{day}s" for day in DAYS), "weekends", "weekend", "summer", "winter"})
"""Times of which a job may be: on Saturdays, for the summer."""
_AT_WHOSE: Final = re.compile(r"\bat (?:ours|mine|yours|home|[\w-]+['’]s)\b")
_SAYS_MORE: Final = "it says more than the new one replaces"
_OTHER_THING: Final = "the new one may be of another thing"
_MORE_VALUES: Final = "they differ in more than one value"
_OTHER_DAYS: Final = "they are of different days"
_NO_ATTRIBUTE: Final = "no word tells that they are of one attribute"
_OTHER_TIME: Final = "it may be another one, or another time"
PARTING: Final = frozenset({"", _MORE_VALUES, _OTHER_DAYS, _NO_ATTRIBUTE, _OTHER_TIME})
"""The doubts with which a competing statement still parts another one from its repetition: both are of one sort."""


def _states_value_in_full(earlier: Frame, later: Frame) -> bool:
    """True if both state one value that has several words: as what and where somebody works, a quarter and a town.

    Another trade at another firm is another job, and what is paid to somebody else for the phone is paid for it.
    """
    for form in (_WORKS_AS, _IS_TRADE, _LIVES_IN, _PAYS_FOR, _CALLED_SECOND):
        told = [form.search(one.key) for one in (earlier, later)]
        if told[0] is not None and told[1] is not None:
            same = [next(filter(None, match.groups()), "") for match in told if match is not None]
            is_of_names = form is not _LIVES_IN or earlier.content ^ later.content <= earlier.names | later.names
            return same[0] == same[1] and is_of_names
    return False


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


def _may_be_two(earlier: Frame, later: Frame) -> bool:
    """True if they name things that somebody may have two of: her dogs Rex and Bello; the second may have come now."""
    if _has_one_called(earlier) and _has_one_called(later) and later.change in _PRESENT:
        return not earlier.only
    is_called = all(not _CALLED.isdisjoint(one.key.split()) for one in (earlier, later))
    return is_called and not later.change and not earlier.only and bool(earlier.owned - frames.PEOPLE)


_CALLED: Final = frozenset({"called", "named"})


def _may_hold_beside(earlier: Frame, later: Frame) -> bool:
    """True if nothing tells that the later value takes the place of the earlier one, and not for a time, or beside it.

    Who works on Fridays may work on Mondays, who is on a diet may be on antibiotics, and who leads a choir may lead a
    team; where somebody lives for the summer, or who moved from a town, ends no home.
    """
    common = earlier.attributes & later.attributes
    is_dated = "schedule" in common and not (earlier.recurs and later.recurs)
    # "900 euros for a month" is a rate.
    if not (is_dated or _changed_numbers(earlier, later)) and _BOUNDED.search(later.key) is not None:
        return True
    if _LEFT_FROM.search(later.key) is not None or (_EITHER.search(later.key) is not None and not earlier.negated):
        return True
    if common == _CONDITION and _are_other_conditions(earlier, later):
        # Who was on ramipril and is on candesartan now may take both.
        return True
    if later.change or later.past:
        return False
    if not is_dated and _WITHIN.search(later.key) is not None:
        return True
    if earlier.recurs and later.recurs and _are_of_other_times(earlier, later):
        is_of_one = _both_time_one_thing(earlier, later) and earlier.hours == later.hours
        is_of_one = is_of_one and (not earlier.verb or earlier.passive or earlier.verb in _meeting_stems())
        return not (is_of_one and len(earlier.times) == len(later.times) == 1 and not later.adds)
    if "residence" in common and (_names_country(earlier) != _names_country(later)):
        return True
    if earlier.negated or later.negated:
        return False
    return _are_other_roles(earlier, later) or (
        common in (_OF_PLACES, _CONDITION) and not _are_in_one_place_at_a_time(earlier, later)
    )


def _are_other_roles(earlier: Frame, later: Frame) -> bool:
    """True if each tells of a part that somebody may have beside another: owner of a bakery, and of a cinema."""
    if earlier.verb_preposition == later.verb_preposition == "on" or _UNPAID.search(later.key) is not None:
        return True
    is_leading = earlier.verb == later.verb and earlier.verb in frames.stems(("leads", "heads")) and not later.passive
    return is_leading or all(_ROLE_OF.search(one.key) is not None for one in (earlier, later))


def _are_in_one_place_at_a_time(earlier: Frame, later: Frame) -> bool:
    """True if the subject is a thing, which can be in only one place.

    Who is in Berlin may be in Hamburg now, and who is in Mensa may be in Rotary: no word tells a town from a club.
    """
    if earlier.hours != later.hours:
        return False
    ways = [_WHERE.search(one.key) for one in (earlier, later)]
    if any(way is None for way in ways) or len({way[1] for way in ways if way is not None}) > 1:
        return False
    is_thing = bool(earlier.head or earlier.thing.noun) and not _is_somebody(earlier)
    return is_thing or bool(earlier.numbers and later.numbers)


def _is_somebody(one: Frame) -> bool:
    """True if a statement begins with a person or an animal that belongs to its subject."""
    begins = one.owned | {one.thing.noun}
    return not begins.isdisjoint(frames.PEOPLE | frames.OF_SEVERAL | frames.ANIMALS)


def _share_no_condition(earlier: Frame, later: Frame) -> bool:
    """True if what both are in or on has no word in common: on insulin, and on leave; but not two departments."""
    own, other = (one.content - one.head - {one.thing.noun} for one in (earlier, later))
    is_one = own & other or (own & _department_stems() and other & _department_stems())
    return not (is_one or earlier.negated or later.negated or _changed_numbers(earlier, later))


def _are_other_conditions(earlier: Frame, later: Frame) -> bool:
    """True if somebody may be in or on both: a plan on hold that is on track again is on hold no more."""
    is_thing = earlier.head or earlier.thing.noun
    is_somebody = not is_thing or not (earlier.owned | {earlier.thing.noun}).isdisjoint(frames.PERSONS)
    return is_somebody and _share_no_condition(earlier, later)


def _is_beside_condition(earlier: Frame, later: Frame) -> bool:
    """True if the subject is in or on two things that are told otherwise, or of which one is a status: on leave."""
    if earlier.attributes & later.attributes != _CONDITION or not _share_no_condition(earlier, later):
        return False
    ways = [_WHERE.search(one.key) for one in (earlier, later)]
    if any(way is None for way in ways) or len({way[1] for way in ways if way is not None}) > 1:
        return True
    is_status = {one.content.isdisjoint(_status_stems()) for one in (earlier, later)}
    return len(is_status) > 1 and _are_other_conditions(earlier, later)


@cache
def _status_stems() -> frozenset[str]:
    return frames.stems(_STATUS.split())


_STATUS: Final = (
    "leave probation holiday vacation call duty bail hold parole strike benefits sabbatical standby track time schedule"
)


def _is_beside_membership(earlier: Frame, later: Frame) -> bool:
    """True if each says what somebody is in or on, and no place: in a choir, in Mensa, on a diet, on antibiotics."""
    if later.change or earlier.negated or later.negated or (earlier.attributes & later.attributes).isdisjoint(_WHERES):
        return False
    if any(_WHERE.search(one.key) is None for one in (earlier, later)):
        return False
    if any(_IN_GROUP.search(one.key) for one in (earlier, later)):
        return True
    is_thing = (earlier.head or earlier.thing.noun) and not _is_somebody(earlier)
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


@cache
def _department_stems() -> frozenset[str]:
    """The stems of parts of a firm, in which somebody is without being in that place."""
    return frames.stems(_DEPARTMENTS.split())


def _names_country(one: Frame) -> bool:
    return not one.content.isdisjoint(_country_stems())


@cache
def _country_stems() -> frozenset[str]:
    """The stems of the names of countries and continents, of which a town may be one's: Lisbon, and Portugal."""
    return frames.stems(_COUNTRIES.split())


_PERIOD: Final = "spring|summer|autumn|fall|winter|weekend|night|week|fortnight|month|quarter|term|semester|year|season"
_WHEN: Final = rf"(?:early |mid-?|late )?(?:{'|'.join(sorted(_CALENDAR))}|{_PERIOD}|\d+)"
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
_WHERE: Final = re.compile(
    r"\b(?:is|are|am|['’]m) (?:\w+ )?(in|on|at|near|by|above|below|behind|under|inside|outside) "
)
_DEPARTMENTS: Final = (
    "sales marketing finance accounting accounts controlling hr legal compliance engineering development operations"
    " support procurement purchasing logistics it research design product production quality administration"
    " management recruiting communications"
)
_COUNTRIES: Final = (
    "portugal spain france germany italy england scotland wales ireland britain uk netherlands holland belgium"
    " luxembourg austria switzerland sweden norway denmark finland iceland poland czechia slovakia hungary romania"
    " bulgaria greece turkey croatia serbia slovenia ukraine russia estonia latvia lithuania america usa canada mexico"
    " brazil argentina chile colombia peru china japan korea taiwan vietnam thailand indonesia malaysia india pakistan"
    " israel egypt morocco tunisia kenya nigeria ghana australia europe asia africa scandinavia california texas"
    " bavaria catalonia tuscany"
)


def _mentions_in_passing(later: Frame, common: frozenset[str]) -> bool:
    """True if a statement mentions an attribute in passing, or a past act that involves it.

    Who lives in Porto with her husband tells of a home, and who was married once may be divorced.
    """
    if "marital state" in common and later.passive and later.past:
        return True
    spoken = frames.attributes_of({later.verb})
    return bool(spoken and common) and spoken.isdisjoint(common)


def _are_other_parts_of_day(earlier: Frame, later: Frame) -> bool:
    """True if they name different parts of the day: taken in the morning, and in the evening."""
    before, after = map(_parts_of_day, (earlier, later))
    is_dated = "schedule" in earlier.attributes & later.attributes or bool(later.change)
    return bool(before) and bool(after) and before.isdisjoint(after) and not is_dated


def _parts_of_day(one: Frame) -> frozenset[str]:
    named = (word.removesuffix("s") for word in one.key.split() if word[-1] == "s")
    return one.times & frames.PARTS_OF_DAY | frames.PARTS_OF_DAY.intersection(named)


def _name_other_things(earlier: Frame, later: Frame) -> bool:
    """True if both name one of a kind, and nothing shows that it is the same one."""
    if later.change or "name" not in earlier.attributes & later.attributes:
        return False
    called = frames.stems_of("name")
    return all(bool(one.indefinite - one.names - called) and not one.head for one in (earlier, later))


def _tells_of_act(one: Frame) -> bool:
    """True if a statement tells what was done, and not what is so: that somebody settled a debt."""
    return one.past and not one.negated and any(frames.is_past(word) and word not in _WERE for word in one.key.split())


_WERE: Final = frozenset({"was", "were", "had", "did"})


def tells_of_repeatable_act(one: Frame) -> bool:
    """True if a statement tells what was done and may be done again: a pill was taken, but nobody is born twice."""
    is_once = any(frames.KIND_OF.get(each) != frames.MANY for each in one.attributes)
    return _tells_of_act(one) and not (is_once or one.former or one.change or one.passive)


def _find_relation(earlier: Frame, later: Frame) -> ClaimComparison | None:
    if earlier.key == later.key:
        return REPEATED
    if later.verb in _SWITCHED and earlier.verb == "use" and earlier.content and later.content:
        return _comparison(0.5, later, "something else is used now", "replacement")
    if _disposes(earlier, later):
        return _comparison(0.6, later, "it is gone", "replacement")
    if not _have_common_terms(earlier, later) or not _heads_agree(earlier, later):
        return None
    if earlier.ranks and later.ranks and earlier.ranks != later.ranks:
        return _comparison(0.3, later, "they are about different ones of a kind", "compatible")
    is_of_shifts = not frames.OF_SHIFTS.isdisjoint((earlier.verb_preposition, later.verb_preposition))
    if (
        earlier.verb == later.verb
        and earlier.verb_preposition != later.verb_preposition
        and (not later.change or is_of_shifts)
    ):
        # Who works at a bank may work on a novel, and lives with somebody wherever it is.
        return None
    shared = _term_weight(earlier, later, common=True)
    overlap = shared / max(_term_weight(earlier, later, common=False), 0.1)
    units = _changed_numbers(earlier, later)
    # Of a thing that may be several nothing is replaced: who teaches physics may teach chemistry, too.
    common = sorted(
        earlier.attributes & later.attributes, key=lambda each: (not _allows_several_values(each, later), each)
    )
    both = earlier.content & later.content
    is_denied = earlier.negated != later.negated
    if is_denied and (both or common) and _restrict_alike(earlier, later):
        return _comparison(0.5 + 0.4 * overlap, later, "the one goes with the other", "compatible")
    if (_may_both_hold(earlier, later) or _are_two_of_several(earlier, later)) and not is_denied:
        return _comparison(0.3 + 0.4 * overlap, later, "two of several; both may hold", "compatible")
    if _name_other_things(earlier, later) and earlier.names != later.names and not is_denied:
        return _comparison(0.3 + 0.4 * overlap, later, "they may be about different ones", "compatible")
    if not is_denied and not later.change and _is_same_in_other_unit(earlier, later):
        return ClaimComparison(_clamp_likeness(overlap), "same", "the same in another unit")
    differ = bool(earlier.content - later.content) and bool(later.content - earlier.content)
    if not is_denied and not differ and _is_turned_round(earlier, later):
        return _comparison(0.6 + 0.4 * overlap, later, "the same preference the other way round", "replacement")
    if not is_denied and not units and _is_repetition(earlier, later, overlap, differ):
        return _relate_repetition(earlier, later, overlap, differ)
    if is_denied and earlier.times and later.times and earlier.times.isdisjoint(later.times):
        return _comparison(0.3 + 0.4 * overlap, later, "they are about different times", "compatible")
    if is_denied and earlier.in_part and not later.in_part and not later.negated:
        # Who drinks no coffee after noon drinks some at breakfast.
        return _comparison(0.3 + 0.4 * overlap, later, "they are about different times", "compatible")
    if is_denied and not common and _opposes_something_else(earlier, later):
        return _comparison(0.3 + 0.4 * overlap, later, "both may hold", "compatible") if both else None
    if is_denied and _denies(earlier, later, overlap, common):
        said = "one states what the other denies"
        return _comparison(0.6 + 0.4 * overlap, later, said, "replacement" if later.change else "contradiction")
    if is_denied and _share_only_verb(earlier, later):
        return _comparison(0.3 + 0.4 * overlap, later, "both may hold", "compatible")
    if earlier.singled_out and earlier.singled_out == later.singled_out and not is_denied and differ:
        told: Relation = "contradiction" if earlier.past and later.past else "replacement"
        return _comparison(0.6 + 0.4 * overlap, later, "the same one of its kind, another value", told)
    if _have_other_frequency(earlier, later) and not is_denied:
        return _comparison(0.6 + 0.4 * overlap, later, "the same habit, another frequency", "replacement")
    if units and (both or common or earlier.verb == later.verb or earlier.head):
        return _relate_numbers(earlier, later, overlap, units)
    if earlier.head & later.head and not is_denied and _are_of_other_kinds(earlier, later):
        return _comparison(0.3 + 0.4 * overlap, later, "numbers of different things", "compatible")
    if common and _extends(earlier, later) and not is_denied:
        return _comparison(0.5 + 0.5 * overlap, later, "the later one says more", "compatible")
    for attribute in common:
        found = _relate_by_attribute(earlier, later, overlap, attribute, both)
        if found is not None:
            return found
    return _relate_by_words(earlier, later, overlap, both)


def relation_of(earlier: str, later: str) -> Relation | None:
    """Relate the later of two texts to the earlier one, if both are short statements about one subject.

    What begins with "in" or "it" names nobody by that.
    """
    before, after = frames.leading_subject(earlier), frames.leading_subject(later)
    if not frames.names_agree(before, after):
        return None
    subject = frames.shared_subject(before, after)
    one, other = frames.frame(earlier, subject), frames.frame(later, subject)
    found = None if one is None or other is None else relate(one, other)
    if found is not None and found.relation == "replacement" and not found.is_single_valued:
        return "compatible"
    return None if found is None else found.relation


class NamedStatement(NamedTuple):
    """A statement, and the names of the persons and things that it is about."""

    text: str
    about: frozenset[str] = frozenset()


class LaterRival(NamedTuple):
    """The index of a later statement that competes with another one, and why it may hold beside it, if anything."""

    place: int
    doubt: str


def find_later_rivals(said: Sequence[NamedStatement]) -> dict[int, LaterRival]:
    """Map the index of each statement that a later one competes with to the latest such.

    One without a doubt goes before a later one with it.

    The statements are given newest first; only the first ``MAX_COMPARED`` are compared.
    """
    found: dict[int, LaterRival] = {}
    for place, earlier in enumerate(said[:MAX_COMPARED]):
        for later_place, later in enumerate(said[:place]):
            shared = earlier.about & later.about
            subject = frozenset[str]().union(*map(frames.words_of, shared))
            before, after = frames.leading_subject(earlier.text), frames.leading_subject(later.text)
            if frames.names_agree(before, after):
                subject |= frames.shared_subject(before, after)
            elif not shared:
                continue
            if not shared and earlier.about and later.about:
                continue
            if frames.share_family_name(earlier.text, later.text):
                continue
            one, other = frames.frame(earlier.text, subject), frames.frame(later.text, subject)
            alike = None if one is None or other is None else relate(one, other)
            if alike is REPEATED:
                break  # Who moved back lives there.
            if one is None or other is None or alike is None or alike.relation not in COMPETING:
                continue
            if not _may_have_both(one, other) and (place not in found or not alike.doubt):
                found[place] = LaterRival(later_place, alike.doubt)
            if place in found and not found[place].doubt:
                break
    return found


def asks_of_rest(earlier: str, later: str, subject: frozenset[str], question: str) -> bool:
    """True if a question about a subject has words only of clauses in which two competing statements do not compete.

    "Ana lives in Lisbon. She works at Globex." and "Ana moved to Porto." do not compete for "where does Ana work?".
    """
    # "Changed doctors and sees Dr. Amari" tells of one change.
    told = [frames.split_clauses(earlier, subject), frames.split_clauses(later, subject, at_and=False)]
    asked = frames.frame(question, subject) if max(map(len, told)) > 1 else None
    if asked is None:
        return False
    said = [[(each, frames.frame(each, subject), is_own) for each, is_own in clauses.items()] for clauses in told]
    before, after = ([one for _, one, is_own in clauses if one is not None and is_own] for clauses in said)
    rivals = {one for pair in product(before, after) if _are_rivals(*pair) for one in pair}
    here, there, last = set[str](), set[str](), frozenset[str]()
    for text, one, _ in (clause for clauses in said for clause in clauses):
        # "It has 190,000 km" tells of what stands before it.
        thing = last if text.startswith(("It ", "Its ", "it ", "its ")) else frozenset[str]()
        (here if one in rivals else there).update(thing, _asked_terms(one) if one is not None else ())
        last = thing | one.content - {one.verb} if one is not None else thing
    wanted = _asked_terms(asked)
    return bool(rivals) and here & wanted < there & wanted


def _are_rivals(earlier: Frame, later: Frame) -> bool:
    found = relate(earlier, later)
    return found is not None and found.relation in COMPETING


def _asked_terms(one: Frame) -> frozenset[str]:
    """What a statement or a question is about: attributes, and the stems of its words but "have"."""
    return (one.head | one.content | one.light | one.attributes) - {frames.stem("have")}


def tells_less_of_now(present: Frame, other: Frame, question: str) -> bool:
    """True if a question of now asks for what ``present`` says, and ``other`` tells of before, at times, or denies it.

    Of "where does Ana live?" that is where she lived, may live, does not live, or lives on weekends, where another
    statement says plainly where she lives. What the question names of the other one is what it asks for.
    """
    is_told = not (present.former or present.negated or present.mood or present.recurs) and (
        not present.past or bool(present.change)
    )
    if not is_told or present.head != other.head or not _is_not_of_now(other):
        return False
    common = (each for each in present.attributes & other.attributes if frames.KIND_OF.get(each) == frames.CURRENT)
    # Who plays tennis on Tuesdays may play the oboe: of what is several none takes the place of another.
    is_one_verb = present.verb == other.verb and bool(
        {present.verb} & frames.single_verbs()
        or any(frames.KIND_OF.get(each) != frames.MANY for each in frames.attributes_of({present.verb}))
    )
    return (is_one_verb or any(common)) and not _asks_for(question, present, other)


def _is_not_of_now(one: Frame) -> bool:
    is_unsure = one.mood in ("unsure", "may", "used", "wish")
    return one.former or one.negated or one.recurs or is_unsure or _WAS_MARRIED.search(one.key) is not None


def _asks_for(question: str, present: Frame, other: Frame) -> bool:
    """True if a question has a word of the other statement that the present one has not, or asks when or why."""
    asked = frames.words_of(question)
    if not _ASIDE_FROM_WHAT.isdisjoint(asked):
        return True
    mine, theirs = frames.words_of(present.key), frames.words_of(other.key)
    told = frames.stems(theirs - _OF_FORM) - frames.stems(mine)
    return not told.isdisjoint(frames.stems(asked)) or any(frames.is_past(word) for word in asked & theirs)


_OTHER_THAN_WHAT: Final = "when how why often was were did had used-to ever formerly previously"
_ASIDE_FROM_WHAT: Final = frozenset(_OTHER_THAN_WHAT.split())
_GRAMMAR: Final = "do does a an the to in at on of for with is are am and or as by her his their my"
_OF_FORM: Final = frozenset(_GRAMMAR.split())
"""Words of any question or statement, which tell nothing of what is asked."""


def forget() -> None:
    """Clear the caches, which hold texts, after an erasure."""
    relate.cache_clear()
    frames.forget()


def _have_common_terms(earlier: Frame, later: Frame) -> bool:
    """False if two statements have nothing in common. Cheap; false for most pairs."""
    return not (
        earlier.content.isdisjoint(later.content)
        and earlier.attributes.isdisjoint(later.attributes)
        and (earlier.verb != later.verb or not earlier.verb)
        and (earlier.numbers == later.numbers or not earlier.numbers or not later.numbers)
        and earlier.light.isdisjoint(later.light)
        and earlier.head.isdisjoint(later.head)
        and earlier.ranks.isdisjoint(later.ranks)
        and not _state_single_value(earlier, later)
    )


def _state_single_value(earlier: Frame, later: Frame) -> bool:
    """True if both state, in a word or a number, the single value of something: "The code is 4471"."""
    if earlier.thing.noun in frames.OF_ONE_VALUE and earlier.thing == later.thing and not (earlier.head or later.head):
        return True
    if _are_named_otherwise(earlier, later):
        return True
    is_one = all(not one.verb and len(one.content) + len(one.numbers) == 1 for one in (earlier, later))
    return is_one and earlier.subject == later.subject and bool(later.subject & frames.OF_ONE_VALUE)


def _are_named_otherwise(earlier: Frame, later: Frame) -> bool:
    """True if both only say who one person is: the landlord is Mr. Roth, and Mrs. Klein."""
    both = earlier, later
    is_one = earlier.thing == later.thing and bool(earlier.thing.noun) and not (earlier.head or later.head)
    is_name = all(not one.verb and " is " in one.key and one.content and one.content <= one.names for one in both)
    return is_one and is_name and earlier.content != later.content


def _clamp_likeness(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 3)


def _comparison(likeness: float, later: Frame, reason: str, relation: Relation) -> ClaimComparison:
    since = "; the later one tells of a change" if later.change and relation == "replacement" else ""
    return ClaimComparison(_clamp_likeness(likeness), relation, f"same subject, {reason}{since}")


def _doubted(likeness: float, later: Frame, reason: str, doubt: str) -> ClaimComparison:
    return _comparison(likeness, later, reason, "replacement")._replace(doubt=doubt)


def _term_weight(earlier: Frame, later: Frame, *, common: bool) -> float:
    def of(heavy: frozenset[str], light: frozenset[str], times: frozenset[str], numbers: frozenset[object]) -> float:
        return len(heavy) + _LIGHT_WEIGHT * len(light) + 0.5 * len(times) + 0.7 * len(numbers)

    one, other = _values(earlier), _values(later)
    if common:
        return of(
            earlier.content & later.content, earlier.light & later.light, earlier.times & later.times, one & other
        )
    return of(earlier.content | later.content, earlier.light | later.light, earlier.times | later.times, one | other)


def _heads_agree(earlier: Frame, later: Frame) -> bool:
    """False if they are about different possessions of the subject: an office, a wife."""
    if earlier.head and later.head:
        both, general = (
            earlier.head & later.head,
            frames.stems(frames.OF_ONE_VALUE | frames.RENEWED | frames.OF_SEVERAL),
        )
        # A phone's number is not that of a flight, and her son Max is not her son Leo.
        are_told_apart = earlier.head - general and later.head - general and both <= general
        if not both:
            # "Her mother's operation", and that her mother has one.
            return any(
                _owned_by_relative(one.head) <= other.content for one, other in ((earlier, later), (later, earlier))
            )
        return not are_told_apart and not (_owners(earlier) ^ _owners(later))
    head, other = (earlier.head, later) if earlier.head else (later.head, earlier)
    if not head:
        return True
    known = {attribute for attribute in frames.attributes_of(head) if attribute in other.attributes}
    return bool(head & (other.content | other.light)) or bool(known)


def _owners(one: Frame) -> frozenset[str]:
    return frozenset(word for word in one.head if word.endswith("'s"))


def _owned_by_relative(head: frozenset[str]) -> frozenset[str]:
    """The stems of a relative and of their possession ("her mother's operation"); the empty stem without one."""
    is_theirs = any(word.endswith("'s") for word in head)
    return frozenset(word.removesuffix("'s") for word in head) if is_theirs else frozenset({""})


def _relate_repetition(earlier: Frame, later: Frame, overlap: float, differ: bool) -> ClaimComparison:
    """The relation of two statements in nearly the same words."""
    if _are_of_more_and_fewer(earlier, later):
        return _comparison(0.3 + 0.4 * overlap, later, "one is about more than the other", "compatible")
    if (
        _tells_of_act(earlier) != _tells_of_act(later)
        or say_otherwise(earlier.key, later.key)
        or (differ and are_long(earlier, later))
    ):
        said = "nearly the same words, and what tells them apart"
        return _comparison(0.3 + 0.4 * overlap, later, said, "compatible")
    return ClaimComparison(_clamp_likeness(overlap), "same", "the same in other words")


def _is_turned_round(earlier: Frame, later: Frame) -> bool:
    """True if one prefers what the other prefers something to, and the other way round."""
    before, after = (_PREFERS.search(one.key) for one in (earlier, later))
    return before is not None and after is not None and before.groups() == after.groups()[::-1]


def _are_of_more_and_fewer(earlier: Frame, later: Frame) -> bool:
    """True if only one begins with several persons or things: Lena, and Lena and Omar."""
    before, after = (_OF_SEVERAL.match(one.key) is not None for one in (earlier, later))
    return before != after and not (earlier if after else later).key.startswith(("we ", "they "))


_PREFERS: Final = lazy(
    r"\b(?:prefers?|likes?|loves?|enjoys?) (?P<one>.+?) (?:over|to|rather than|instead of|(?:more|better) than)"
    r" (?P<other>.+?)(?: now| again| these days)?$"
)
_OF_SEVERAL: Final = lazy(r"(?:(?:my|our|his|her|their) [\w-]+ )?[\w'’-]+(?:, [\w'’-]+)*,? (?:and|&) [\w'’-]+ ")


def _is_repetition(earlier: Frame, later: Frame, overlap: float, differ: bool) -> bool:
    if later.change != earlier.change and (
        earlier.content != later.content or not _changes_only_to_present(earlier, later)
    ):
        return False
    if later.attributes - earlier.attributes and earlier.content != later.content:
        # Who is home from hospital is not in hospital.
        return False
    if (_COMES_FROM.search(earlier.key) is None) != (_COMES_FROM.search(later.key) is None):
        # Who is from Poland may vote in Poland.
        return False
    added = later.content - earlier.content - {later.verb}
    if any(added & frames.stems_of(each) for each in later.attributes & _VALUED):
        # Who is a designer is not the head of design.
        return False
    if earlier.times != later.times or _values(earlier) != _values(later):
        return False
    return overlap >= _SAME_FROM or (not differ and bool(earlier.content & later.content) and overlap >= _CLOSE)


_COMES_FROM: Final = re.compile(r"\b(?:is|are|am|['’]m) from\b")


def _changes_only_to_present(earlier: Frame, later: Frame) -> bool:
    """True if the words of change only mean "at present"."""
    return {earlier.change, later.change} <= _PRESENT


def _extends(earlier: Frame, later: Frame) -> bool:
    """True if the later statement contains everything of the earlier one, and more."""
    if not earlier.content or not earlier.times <= later.times or not earlier.numbers <= later.numbers:
        return False
    return earlier.content < later.content and earlier.verb == later.verb


def _adds_only_when(earlier: Frame, later: Frame) -> bool:
    """True if the later statement also tells since when, or on which day: of a dentist, "since May"."""
    is_more = earlier.times | earlier.numbers < later.times | later.numbers
    return is_more and later.change in ("", "since") and earlier.negated == later.negated


def _denies(earlier: Frame, later: Frame, overlap: float, common: list[str]) -> bool:
    both = earlier.content & later.content
    if both and _share_only_verb(earlier, later):
        return False
    if both:
        least = min(len(earlier.content), len(later.content))
        return len(both) >= 0.5 * least or overlap >= _CLOSE
    return bool(common) and min(len(earlier.content), len(later.content)) <= 1


def _restrict_alike(earlier: Frame, later: Frame) -> bool:
    """True if one denies what the other tells that somebody avoids, cannot stand or does not eat at all.

    Who is allergic to strawberries can't have them, and who is vegetarian eats no meat.
    """
    denying, other = (earlier, later) if earlier.negated else (later, earlier)
    return _RESTRICTING.search(other.key) is not None and _RESTRICTING.search(denying.key) is None


_RESTRICTING: Final = lazy(
    r"\b(?:allerg(?:y|ies|ic)|(?:in|hyper)toleran(?:t|ce)|sensitiv(?:e|ity) to|c(?:o?eliac)|avoid(?:s|ing|ed)?"
    r"|abstain(?:s|ing)?|steers? clear|stays? away from|refrains? from|cuts? out|off limits|forbidden"
    r"|afraid|scared|fears?|frightened|terrified|vegetarian|vegan|pescatarian|teetotal(?:l?er)?|non-smoker|diabetic"
    r"|kosher|halal|[a-z]+-free|dislikes?|hates?|detests?|loathes?)\b"
)
"""Words by which something is told that somebody does not have, eat, take or do."""


def _opposes_something_else(earlier: Frame, later: Frame) -> bool:
    """True if only an opposite denies, and the other one does not state what it denies: closed on Sundays, insured."""
    denying, other = (earlier, later) if earlier.negated else (later, earlier)
    is_stated = denying.opposed <= other.content | other.light and not (other.wish or other.mood)
    return bool(denying.opposed) and not is_stated


def _share_only_verb(earlier: Frame, later: Frame) -> bool:
    """True if two statements share only their verb, or the word for an attribute with several values.

    Somebody who eats no meat may eat late, and an allergy to nuts is not one to shellfish.
    """
    both = earlier.content & later.content
    several = (each for each in earlier.attributes & later.attributes if frames.KIND_OF.get(each) == frames.MANY)
    kind = frozenset[str]().union(*map(frames.stems_of, several))
    return (
        bool(both)
        and both <= kind | ({earlier.verb} & {later.verb})
        and both < earlier.content
        and both < later.content
    )


def _changed_numbers(earlier: Frame, later: Frame) -> str:
    """The first unit with different numbers in the two; empty if there is none."""
    return next((unit or "number" for unit in _changed_units(earlier, later)), "")


def _changed_units(earlier: Frame, later: Frame) -> list[str]:
    """The units with different numbers in the two; a number without a unit has the empty one."""
    before: dict[str, set[str]] = {}
    for value, unit in earlier.numbers:
        before.setdefault(unit, set()).add(value)
    changed = (
        unit
        for value, unit in sorted(later.numbers)
        if unit in before and value not in before[unit] and not _is_hour_alone(value, before[unit], later, earlier)
    )
    return list(dict.fromkeys((*changed, *_other_unit(earlier, later))))


def _other_unit(earlier: Frame, later: Frame) -> tuple[str, ...]:
    """The unit of the later statement's number, if the earlier one gives that of the same thing in another unit."""
    if len(earlier.numbers) != 1 or len(later.numbers) != 1 or earlier.hours or later.hours:
        return ()
    ((_, before),), ((_, after),) = earlier.numbers, later.numbers
    if before == after or not any({before, after} <= units for units in frames.KINDS_OF_UNITS):
        return ()
    is_of_one = earlier.verb == later.verb and earlier.head == later.head
    return (after,) if is_of_one and _without_units(earlier) == _without_units(later) else ()


def _without_units(one: Frame) -> frozenset[str]:
    """The content of a statement without the units of its numbers."""
    return one.content - frames.stems(unit for _, unit in one.numbers if unit)


def _is_rounded(value: str, other: str, earlier: Frame, later: Frame) -> bool:
    """True if two numbers of one unit are about the same, and one of them is converted: 60 kg and 132 pounds."""
    is_close = abs(float(value) - float(other)) <= _ROUNDING * max(float(value), float(other))
    return is_close and frames.is_imperial(earlier) != frames.is_imperial(later)


_ROUNDING: Final = 0.015


def _is_same_in_other_unit(earlier: Frame, later: Frame) -> bool:
    if len(earlier.numbers) != 1 or len(later.numbers) != 1:
        return False
    ((value, before),), ((other, after),) = earlier.numbers, later.numbers
    is_of_one = earlier.verb == later.verb and earlier.head == later.head and earlier.times == later.times
    is_of_one = is_of_one and earlier.content == later.content and before == after
    if value == other:
        is_converted = _FIGURE.findall(earlier.key) != _FIGURE.findall(later.key)
        said = (_FIGURE.sub("", one.key) for one in (earlier, later))
        return is_of_one and is_converted and not say_otherwise(*said)
    is_decimal = value.count(".") == other.count(".") == 1
    return is_of_one and is_decimal and _is_rounded(value, other, earlier, later)


_FIGURE: Final = re.compile(r"\d[\d.,]* ?[^\W\d_]*(?: (?:metres|meters|feet))?")


def _have_other_frequency(earlier: Frame, later: Frame) -> bool:
    """True if both give the frequency of one habit, and not the same: every day, and once a month."""
    if not earlier.times_a_year or not later.times_a_year or earlier.times_a_year == later.times_a_year:
        return False
    one, other = _objects(earlier), _objects(later)
    is_one_habit = earlier.verb == later.verb and earlier.head == later.head and (one <= other or other <= one)
    is_one_habit = is_one_habit and earlier.numbered == later.numbered
    return is_one_habit and bool(earlier.verb or earlier.head)


def _objects(one: Frame) -> frozenset[str]:
    return one.content - {one.verb}


def _is_hour_alone(value: str, before: set[str], later: Frame, earlier: Frame) -> bool:
    """True if only one of two numbers is a time of day: at 15:00, and in room 12."""
    return (value in later.hours) == before.isdisjoint(earlier.hours) and not later.change


def _relate_numbers(earlier: Frame, later: Frame, overlap: float, unit: str) -> ClaimComparison | None:
    is_dated = all(_is_year(*number) for number in earlier.numbers | later.numbers)
    once = _lasting_attribute(earlier, later)
    if once:
        return _comparison(0.6 + 0.4 * overlap, later, f"another {once}", "contradiction")
    if later.past and earlier.past:
        is_counted = earlier.passive or not earlier.verb or bool(_units(earlier) & _units(later))
        if not is_counted:
            # "Note 3" is not another number of what "note 4" is.
            return _comparison(0.3 + 0.4 * overlap, later, "they are about different things", "compatible")
        if not earlier.passive and len(_changed_units(earlier, later)) > 1:
            return _comparison(0.3 + 0.4 * overlap, later, "they are about different things", "compatible")
        objects = (earlier.content & later.content) - {earlier.verb} - frames.stems(_units(earlier))
        if objects and objects <= earlier.indefinite & later.indefinite:
            return _comparison(0.4 + 0.5 * overlap, later, "they may be about different ones", "compatible")
        if is_dated and not earlier.passive:
            return _comparison(0.4 + 0.5 * overlap, later, "the same was done at another time", "compatible")
        if earlier.content - later.content and later.content - earlier.content:
            return _comparison(0.3 + 0.5 * overlap, later, "numbers of different things", "compatible")
        return _comparison(0.6 + 0.4 * overlap, later, "the same past event, another number", "contradiction")
    if unit == frames.OFTEN and _objects(earlier) - _objects(later) and _objects(later) - _objects(earlier):
        return _comparison(0.3 + 0.4 * overlap, later, "frequencies of different things", "compatible")
    own, other = (_objects(one) - _measuring_stems() for one in (earlier, later))
    if own - other and other - own and own.isdisjoint(other) and not (earlier.attributes & later.attributes):
        # What is paid for water, and for electricity.
        return _comparison(0.3 + 0.4 * overlap, later, "numbers of different things", "compatible")
    is_alike = earlier.verb == later.verb or earlier.light == later.light
    both = (earlier.content & later.content) - _measuring_stems() or (is_alike and not (own | other))
    is_of_one_thing = both or earlier.attributes & later.attributes or earlier.head
    if is_of_one_thing or _state_single_value(earlier, later):
        return _comparison(0.6 + 0.4 * overlap, later, "the same attribute, another number", "replacement")
    if earlier.verb and earlier.verb == later.verb:
        return _comparison(0.5 + 0.4 * overlap, later, "the same verb, another number", "replacement")
    return None


@cache
def _measuring_stems() -> frozenset[str]:
    """The stems of units: to pay 40 euros and to owe 30 share nothing else."""
    return frames.stems(_MEASURING.split())


_MEASURING: Final = (
    "euro euros eur dollar dollars usd pound pounds gbp franc francs chf cent cents percent per-cent degree degrees"
    " km m cm mm sqm kg g mg ml min minutes hours days miles mile metres steps calories points"
)


def _is_year(value: str, unit: str) -> bool:
    """True if a number may be a year; addresses, releases such as 1.2.3 and counts are not."""
    is_counting = unit != "" and unit not in STOP_WORDS and unit not in _CALENDAR and not frames.is_past(unit)
    return not is_counting and value.count(".") == 1 and _FIRST_YEAR <= float(value) <= _LAST_YEAR


def _date_terms(one: Frame) -> frozenset[str]:
    """The months, weekdays, years, days of a month and parts of numeric dates in a statement."""
    named = {word for word in one.times if word in _CALENDAR}
    dated = {f"{value} {unit}" for value, unit in one.numbers if unit in _CALENDAR or unit.isdecimal()}
    return frozenset(named | dated | {value for value, unit in one.numbers if _is_year(value, unit)})


def _are_of_other_days(earlier: Frame, later: Frame) -> bool:
    """True if both name days, months or years, and not the same."""
    before, after = _date_terms(earlier), _date_terms(later)
    return bool(before) and bool(after) and before != after


def _numbers_outside_dates(one: Frame) -> frozenset[tuple[str, str]]:
    """The numbers of a statement that are not part of a date."""
    is_in_digits = any(unit.isdecimal() for _, unit in one.numbers)
    return frozenset(
        (value, unit)
        for value, unit in one.numbers
        if not (unit in _CALENDAR or unit.isdecimal() or _is_year(value, unit) or (is_in_digits and not unit))
    )


def _units(one: Frame) -> frozenset[str]:
    """The words after its numbers, without stop words."""
    return frozenset(unit for _, unit in one.numbers if unit and unit not in STOP_WORDS)


def _values(one: Frame) -> frozenset[str]:
    return frozenset(value for value, _ in one.numbers)


def _lasting_attribute(earlier: Frame, later: Frame) -> str:
    """The common attribute that has one value for good; empty if there is none."""
    common = sorted(earlier.attributes & later.attributes)
    return next((each for each in common if frames.KIND_OF.get(each) == frames.ONCE), "")


def _relate_by_attribute(
    earlier: Frame, later: Frame, overlap: float, attribute: str, both: frozenset[str]
) -> ClaimComparison | None:
    """The relation of two statements about one attribute; ``None`` if they are not near."""
    kind = frames.KIND_OF.get(attribute, frames.CURRENT)
    if kind == frames.ONCE:
        reason = f"another {attribute}"
        return _comparison(0.6 + 0.4 * overlap, later, reason, "contradiction")
    if kind == frames.MANY or (attribute == "diet" and _both_name_foods(earlier, later)):
        return _comparison(0.45 + 0.4 * overlap, later, f"more than one {attribute} may hold", "compatible")
    if earlier.past and later.past and not (earlier.verb in _moving_stems() and later.verb in _moving_stems()):
        return _comparison(0.4 + 0.4 * overlap, later, f"each states a past {attribute}", "compatible")
    if attribute == "level" and not both and (_content_beyond(earlier, attribute) or _content_beyond(later, attribute)):
        return None
    if attribute in _LASTING and not both and not later.change and earlier.verb != later.verb:
        return (
            None if overlap < _TOUCHING and not _both_state(earlier, later) else _replacement(later, overlap, attribute)
        )
    return _replacement(later, overlap, attribute)


def _both_name_foods(earlier: Frame, later: Frame) -> bool:
    """True if both say what somebody eats, without a change or an "only": fish and meat."""
    eats = earlier.verb == later.verb and earlier.verb in _eating_stems()
    return eats and not (later.change or earlier.only or later.only or earlier.times or later.times)


def _is_in_passing(earlier: Frame, later: Frame, overlap: float) -> bool:
    """True if a word of change may be about something else in a long sentence, since they share hardly a word.

    "Now", "since" and "back" occur in sentences about anything; "switched" refers to what was before.
    """
    return later.change in _IN_PASSING and overlap < _TOUCHING and are_long(earlier, later)


@cache
def _making_stems() -> frozenset[str]:
    """Stems with one value in the passive only: a program is written in Go, but she writes several songs."""
    return frames.stems(("written",))


def _meets_at_other_time(earlier: Frame, later: Frame) -> bool:
    """True if a club or a class meets at another time, or the bins are collected then; a person may do so twice."""
    is_one = earlier.content == later.content and earlier.verb == later.verb
    is_set = earlier.verb in _meeting_stems() or (bool(earlier.thing.noun) and not _is_somebody(earlier))
    return is_one and is_set and _are_of_other_times(earlier, later)


@cache
def _meeting_stems() -> frozenset[str]:
    return frames.stems(("meets", "gathers", "convenes"))


@cache
def _eating_stems() -> frozenset[str]:
    return frames.stems(("eat", "eats"))


def _is_for_another(earlier: Frame, later: Frame) -> bool:
    """True if they differ only in what something is for: 10 euros for the one, and for the other."""
    parts = [_FOR.match(one.key) for one in (earlier, later)]
    return all(parts) and len({part[1] for part in parts if part}) == 1 and not _is_work(earlier)


def _is_work(one: Frame) -> bool:
    return "job" in one.attributes


_FOR: Final = re.compile(r"(.* for (?:the |an? |her |his |my |our |their )?)[\w'’-]+(?: [\w'’-]+)?$")


def _takes_another(earlier: Frame, later: Frame) -> bool:
    """True if each tells of a medicine that somebody takes; of buses to work one takes one."""
    is_taken = earlier.verb in frames.stems(("takes",)) and not (earlier.numbered or later.numbered)
    return is_taken and all(" to " not in one.key for one in (earlier, later))


def _has_object(one: Frame) -> bool:
    """False if a preposition follows the verb: who drives a Fiat may drive to work."""
    words = one.key.split()
    after = next((other for word, other in pairwise(words) if frames.stem(word) == one.verb), "")
    return after not in _BEHIND_VERBS


_BEHIND_VERB: Final = "to in on at for from with by near behind under over into through past"
_BEHIND_VERBS: Final = frozenset(_BEHIND_VERB.split())


def _states_only_frequency(one: Frame) -> bool:
    """True if a statement only gives the frequency of its verb."""
    return one.content <= {one.verb} and bool(one.numbers) and {unit for _, unit in one.numbers} == {frames.OFTEN}


def _content_beyond(one: Frame, attribute: str) -> frozenset[str]:
    """The content of a statement besides an attribute: in what somebody is an expert."""
    return one.content - frames.stems_of(attribute) - {one.verb}


def _both_state(earlier: Frame, later: Frame) -> bool:
    """True if both use a verb for what the subject is."""
    return {earlier.verb, later.verb} <= _STATES


def _replacement(later: Frame, overlap: float, attribute: str) -> ClaimComparison:
    return _comparison(0.6 + 0.4 * overlap, later, f"the same attribute ({attribute}), another value", "replacement")


@cache
def _people_stems() -> frozenset[str]:
    """Words for those who belong to somebody: what changes of mum's is not all that is said of her."""
    return frames.stems((*frames.PEOPLE, *_RELATIVES))


_RELATIVES: Final = (
    *("mom", "son", "daughter", "brother", "sister", "sibling", "aunt", "uncle", "cousin", "grandma", "grandpa"),
    *("child", "kid", "baby"),
)


def _relate_by_words(earlier: Frame, later: Frame, overlap: float, both: frozenset[str]) -> ClaimComparison | None:
    """The relation of two statements that no attribute joins, by their verbs and the words in common."""
    if earlier.head & later.head and earlier.content == later.content and _adds_only_when(earlier, later):
        return _comparison(0.5 + 0.5 * overlap, later, "the later one says more", "compatible")
    if earlier.head & later.head or _state_single_value(earlier, later):
        return _comparison(0.6 + 0.4 * overlap, later, "the same attribute, another value", "replacement")
    verbs_agree = bool(earlier.verb) and earlier.verb == later.verb
    is_single = verbs_agree and earlier.verb in frames.single_verbs()
    is_single = (
        is_single
        and _has_object(earlier) == _has_object(later)
        and (earlier.verb not in _making_stems() or earlier.passive)
        and not _states_only_frequency(earlier)
    )
    differ, objects_before = bool(later.content - earlier.content), bool(earlier.content - {earlier.verb})
    objects = both - {earlier.verb, later.verb}
    if earlier.past and later.past:
        if earlier.passive and later.passive and earlier.verb == later.verb:
            return _comparison(0.6 + 0.4 * overlap, later, "the same was done, another value", "contradiction")
        if objects and objects <= earlier.indefinite & later.indefinite:
            return _comparison(0.4 + 0.5 * overlap, later, "they may be about different ones", "compatible")
        if objects and overlap >= _CLOSE and verbs_agree and _are_of_other_days(earlier, later):
            return _comparison(0.4 + 0.5 * overlap, later, "the same was done at another time", "compatible")
        if objects and overlap >= _CLOSE:
            return _comparison(0.5 + 0.4 * overlap, later, "the same past event, another value", "contradiction")
        return _comparison(0.4 + 0.4 * overlap, later, "both may have been true", "compatible") if objects else None
    is_of_them = bool(objects) and objects <= _people_stems()
    if (
        later.change
        and (objects or overlap >= _TOUCHING)
        and not (is_of_them or _is_in_passing(earlier, later, overlap))
    ):
        return _comparison(0.5 + 0.4 * overlap, later, "words in common, and a change", "replacement")
    if verbs_agree and differ and (_is_for_another(earlier, later) or _takes_another(earlier, later)):
        return _comparison(0.4 + 0.4 * overlap, later, "the same verb, another object", "compatible")
    if earlier.numbered and earlier.numbered == later.numbered and verbs_agree and differ and objects_before:
        return _comparison(0.6 + 0.4 * overlap, later, "the same number of its kind, another value", "replacement")
    if _meets_at_other_time(earlier, later):
        return _comparison(0.6 + 0.4 * overlap, later, "the same at another time", "replacement")
    if earlier.only and not later.only and verbs_agree and differ and objects_before:
        return _comparison(0.55 + 0.4 * overlap, later, "the earlier one excludes any other value", "replacement")
    if is_single and (objects or not (earlier.light & later.light)):
        return _comparison(0.55 + 0.4 * overlap, later, "the same verb, another object", "replacement")
    if objects and later.verb and earlier.verb != later.verb and earlier.content < later.content:
        # Who is from Kiel may work in Kiel.
        return _comparison(0.4 + 0.4 * overlap, later, "the later one says more", "compatible")
    own, other = earlier.content - later.content, later.content - earlier.content
    is_any = bool(own and other) and own <= earlier.indefinite and other <= later.indefinite
    is_close = overlap >= _CLOSE and not is_any and (differ or _values(earlier) != _values(later))
    if objects and ((earlier.wish and not later.head and overlap >= _TOUCHING) or is_close):
        return _comparison(0.5 + 0.4 * overlap, later, "words in common, other values", "replacement")
    if both and overlap >= _TOUCHING and earlier.verb == later.verb:
        return _comparison(0.4 + 0.4 * overlap, later, "the same verb, another object", "compatible")
    return None
