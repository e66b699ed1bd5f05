"""Statements that end an earlier one by what they tell: a cancellation, a departure, a return, a sale.

Each function knows one way to tell it, whatever else the statements share, and answers ``None`` for all others.
"""

import re
from collections.abc import Set
from functools import cache, lru_cache
from typing import Final

from worlddb.projections.indexes.analysis import STOP_WORDS
from worlddb.query.claims import claim_frame as frames
from worlddb.query.claims import claim_pairs as pairs
from worlddb.query.claims import lexicon, wording
from worlddb.query.claims.claim_frame import Frame
from worlddb.query.claims.claim_pairs import ClaimComparison


def relate_correction(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of a statement that names what it takes the place of: "749 euros, not 799", "tea instead of coffee".

    The earlier one says what is denied, and a number that is denied has another one in its place.
    """
    if earlier.negated or later.mood in ("unsure", "may"):
        return None
    told = _NOT_THAT.match(later.key) or _INSTEAD_OF.match(later.key)
    if told is None:
        return None
    given, old = told["given"], told["old"].rstrip(".,")
    is_said = re.search(rf"(?<![\w.:]){re.escape(old)}(?![\w:]|\.\d)", earlier.key) is not None
    if not is_said or (old[0].isdecimal() and _DIGIT_IN.search(given) is None):
        return None
    words = lexicon.stems(wording.words_of(old)) | earlier.subject | later.subject
    own, other = (one.content | one.light | one.head | {one.verb} for one in (earlier, later))
    rest = (own & other) - words - {""}
    if not rest and (not old[0].isdecimal() or len(old) < _TELLING_DIGITS):
        return None
    reason = "the later one names it as what is not so" if told.re is _NOT_THAT else "something else in its place"
    if told.re is _NOT_THAT:
        return pairs.comparison(0.8, later, reason, "contradiction")
    is_all = earlier.verb == later.verb and pairs.objects_of(earlier) == lexicon.stems(wording.words_of(old))
    if is_all and earlier.verb and not (later.recurs or later.times or earlier.times or later.adds or earlier.head):
        return pairs.comparison(0.8, later, reason, "replacement")._replace(is_single_valued=True)
    return pairs.doubted(0.7, later, reason, "it may be so at times")


_NOT_THAT: Final = re.compile(r"(?P<given>.*\S),? (?:and )?not (?:the |an? |at |on |in )?(?P<old>[\w.:'’-]+)$")
_INSTEAD_OF: Final = re.compile(
    r"(?P<given>.*\S) (?:instead of|rather than) (?:the |an? |at |on |in )?(?P<old>[\w.:'’-]+)"
)
_DIGIT_IN: Final = re.compile(r"\d")
_TELLING_DIGITS: Final = 3
"""From so many digits on, two statements of one subject have a number in common that tells of one thing."""


def relate_cancellation(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of a cancellation to a plan, or to its flight, trip or visit.

    A cancellation that names less than the plan ("cancelled his flight", for one to Oslo) may be about another one, and
    ends nothing.
    """
    if lexicon.stem("cancelled") not in later.content:
        return None
    if not later.cancelled and _CANCELLED.search(later.key) is None:
        return None
    is_planned = earlier.mood in ("wish", "will") or earlier.wish or _PLANNED.search(earlier.key) is not None
    is_planned = is_planned or (_is_dated_once(earlier) and earlier.verb in lexicon.stem_set(_GOING))
    if earlier.negated or later.mood or pairs.are_of_other_times(earlier, later):
        return None
    if _is_set(earlier) and earlier.thing.noun == later.thing.noun and earlier.thing.which == later.thing.which:
        is_one = earlier.thing == later.thing and not earlier.recurs
        is_less = later.thing.behind <= earlier.thing.behind
        told = pairs.comparison(0.9 if is_one else 0.6, later, "it was cancelled", "replacement")
        return told._replace(is_single_valued=is_one, doubt="" if is_one else _OTHER_PLAN) if is_less else None
    if not is_planned or not later.cancelled:
        return None
    planned = earlier.content | earlier.light | earlier.head
    if any(not any(_is_act(each, other) for other in planned) for each in later.cancelled):
        return None
    is_named = all(any(_is_act(each, other) for each in later.cancelled) for other in earlier.content)
    told = pairs.comparison(0.9 if is_named else 0.6, later, "the plan was cancelled", "replacement")
    is_one = is_named and earlier.numbers <= later.numbers
    return told._replace(is_single_valued=is_one, doubt="" if is_one else _OTHER_PLAN)


def relate_return(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "is back" or "works again" to what was gone or broken, and of "went back to Porto" to a home."""
    if later.negated or later.mood or earlier.mood:
        return None
    back = _WENT_BACK(later.key)
    if back is not None and "residence" in earlier.attributes and not (earlier.negated or earlier.former):
        is_elsewhere = _is_named(back["place"], later) and not _is_at(earlier, back["place"], _HOUSES)
        return (
            pairs.doubted(0.6, later, "went back to another place", "who went may come back") if is_elsewhere else None
        )
    told, gone = _IS_BACK(later.key), _IS_GONE(earlier.key)
    if told is None or gone is None or _IS_GONE(later.key):
        return None
    is_of_health = [_OF_HEALTH.search(each[0]) is not None for each in (gone, told)]
    if (gone[0] in _HURT or told[0].startswith(_FIT)) and not all(is_of_health):
        return None
    if told[0].endswith("home") and gone[0] in ("ill", "sick", "lost"):
        return None
    if told[0].startswith("found") and earlier.content.isdisjoint(later.content):
        return None
    is_one = later.head <= earlier.head | earlier.content and earlier.head <= later.head | later.content
    if not is_one or not _name_one(earlier, later):
        return None
    return pairs.doubted(0.6, later, "it is back, or works again", pairs.OTHER_TIME)


def relate_relapse(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of being ill or broken to having been well or at work again."""
    if earlier.mood or later.mood or earlier.negated or earlier.former:
        return None
    is_told = any(well.search(earlier.key) and ill.search(later.key) for well, ill in _WELL_AND_ILL)
    if not is_told or not _name_one(earlier, later):
        return None
    return pairs.doubted(0.6, later, "it is not well, or does not work, any more", pairs.OTHER_TIME)


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
_WENT_BACK: Final = wording.kept_search(
    r"\b(?:went|has gone|have gone|goes|go|is|are) back to (?P<place>[^\W\d][\w'’-]+(?: [\w'’-]+)?)$"
)
_IS_GONE: Final = wording.kept_search(
    r"\b(?:ran (?:away|off)|escaped|missing|disappeared|lost|gone|down|broken|broke down"
    r"|out of (?:order|service|action)"
    r"|off (?:sick|work)|ill|sick|injured|hurt|unwell"
    r"|on (?:[a-z]+ )?leave|away|in (?:the |an? )?hospital|cancell?ed|called off|closed"
    r"|(?:not|n['’]t|stopped) work(?:ing)?|stolen|offline)\b"
)
_HURT: Final = frozenset({"injured", "hurt", "unwell"})
_FIT: Final = ("fit", "recovered", "fully")
_OF_HEALTH: Final = re.compile(
    r"\b(?:ill|sick|injured|hurt|unwell|leave|hospital|well|fine|fit|healthy|recovered|back)\b"
)
"""What somebody is until they are fit again; a bicycle that was stolen may be recovered."""
_IS_BACK: Final = wording.kept_search(
    r"\b(?:(?:is|are|am|was|were|came|comes|come|got|['’]s) (?:back(?! (?:from|then|to)\b)|home)"
    r"|(?:works?|working|runs?|running|on|open|opens|up|online|well|fine|fit|healthy|there) again"
    r"|(?:fully )?recovered(?! from\b)|found\b.*\bagain"
    r"|(?:takes? place|is on|happens|goes ahead) (?:after all|again)|turned up|reappeared|(?:was|been) found"
    r"|(?:is|are) (?:repaired|fixed))\b"
)


def _name_one(earlier: Frame, later: Frame) -> bool:
    """True if both name their subject, or a thing in common."""
    both = earlier.subject & wording.words_of(earlier.key) & wording.words_of(later.key)
    return bool(both or earlier.content & later.content)


def relate_asked_rate(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of what somebody gets or asks for by the hour from now on to what that was; it ends nothing."""
    told = [_RATE.search(one.key) for one in (earlier, later)]
    rise = _GOES_TO.search(later.key)
    if rise is not None and told[0] is not None and told[0]["count"] != rise["count"]:
        is_one = earlier.head == later.head and _name_one(earlier, later) and len(earlier.numbers) == 1
        return pairs.doubted(0.6, later, "another amount", "the amount may be another one's") if is_one else None
    if told[0] is None or told[1] is None or told[0]["per"] != told[1]["per"] or told[0]["count"] == told[1]["count"]:
        return None
    if _FROM_NOW.search(later.key) is None or later.negated or later.former or not _name_one(earlier, later):
        return None
    what = [_PAID_FOR.search(one.key) for one in (earlier, later)]
    if what[0] is not None and what[1] is not None and what[0]["what"] != what[1]["what"]:
        return None
    paid = [one.verb in _paying_stems() or bool(one.owned & _PAID) for one in (earlier, later)]
    is_one = earlier.head == later.head or bool(earlier.owned & _PAID and not later.head)
    return pairs.doubted(0.6, later, "another rate", "it may only be asked for") if all(paid) and is_one else None


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
    return frozenset({"", *map(lexicon.stem, verbs)})


def relate_label(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "changed to class 3a" to what tells of class 3b, whatever else that says; it ends nothing."""
    if later.change in pairs.PRESENT - {"now"} or later.negated or later.mood or later.head != earlier.head:
        return None
    if earlier.ranks != later.ranks:
        return None  # What is in room 4 is not what is in room 7.
    told = [dict(_LABEL.findall(one.key)) for one in (earlier, later)]
    is_other = any(told[0].get(kind, code) != code for kind, code in told[1].items())
    return (
        pairs.doubted(0.6, later, "another one of a kind", pairs.SAYS_MORE)
        if is_other and _name_one(earlier, later)
        else None
    )


_LABEL: Final = re.compile(
    r"\b(class|group|team|room|gate|platform|seat|locker|desk|track|lane|level|grade|ward|shift)"
    r" ([a-z]?\d+[a-z]?|[a-z])\b"
)


def relate_thing(earlier: Frame, later: Frame) -> ClaimComparison | None:
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
    return (
        pairs.doubted(0.5, later, "the same thing is otherwise", "it may be another side of it")
        if own and new
        else None
    )


_PLACED_VALUE: Final = re.compile(r" is (?:in|on|at|by|near|under|before|after|behind|until|from|to|for) ")


def relate_taken_back(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "forget what I said about lilies" to what was said of them, and of a cancellation to a fee."""
    told = _TAKEN_BACK.search(later.key)
    if told is not None:
        of = lexicon.stems(wording.words_of(told["of"]) - STOP_WORDS)
        is_said = bool(of) and of <= earlier.content | earlier.light | earlier.head
        return (
            pairs.doubted(0.6, later, "it takes back what was said", "it may mean something else") if is_said else None
        )
    if (
        _ENDED_FEE.search(later.key) is None
        or later.negated != earlier.negated ^ True
        or _RATE.search(earlier.key) is None
    ):
        return None
    is_one = later.head == earlier.head and _name_one(earlier, later) and earlier.content.isdisjoint(later.content)
    return pairs.doubted(0.6, later, "it was cancelled", _OTHER_PLAN) if is_one else None


_TAKEN_BACK: Final = re.compile(
    r"^i (?:scrap|forget|ignore|disregard|strike|never mind) (?:what|everything|all) (?:that )?i (?:said|told you)"
    r" (?:about|on|of) (?P<of>[\w'’ -]+)"
)
_ENDED_FEE: Final = re.compile(r"^[\w'’ +-]{2,40}?(?: (?:is|was|got|has been))? (?:cancell?ed|terminated)$")
_OTHER_PLAN: Final = "another one than that may be cancelled"


def _is_dated_once(one: Frame) -> bool:
    """True if a statement in the present names a day or a month, and nothing that comes again: goes there in June."""
    is_to_come = not (one.past or one.former or one.recurs or one.times_a_year or _PERFECT.search(one.key))
    return is_to_come and bool(pairs.date_terms(one) - one.subject)


_PERFECT: Final = re.compile(r"\b(?:has|have|had|['’]ve) ")


_TO_GO: Final = "go goes going"


def relate_denied_plan(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "does not run the marathon" to what was to come on a day: it was given up.

    A denial of that very day may be somebody else's word against the first, and contradicts it.
    """
    if earlier.negated or earlier.mood or not _is_dated_once(earlier) or not later.negated:
        return None
    if later.mood or later.past or later.former or later.recurs or later.change or later.in_part:
        return None
    is_one = earlier.verb == later.verb or {earlier.verb, later.verb} <= lexicon.stem_set(_TO_GO)
    is_one = is_one and earlier.head == later.head and earlier.content == later.content
    is_one = is_one and earlier.light ^ later.light <= lexicon.stem_set(_TO_GO) | earlier.times
    is_state = not earlier.verb or not lexicon.attributes_of({earlier.verb}).isdisjoint(("job", "residence"))
    if not is_one or is_state or later.times or later.numbers:
        return None
    return pairs.comparison(0.9, later, "the plan was given up", "replacement")._replace(is_single_valued=True)


def relate_other_holder(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "Tomas owns billing" to "Mara owns billing", whatever they are said of; it ends nothing."""
    if earlier.negated or later.negated or later.mood or not wording.held_words(earlier.key, later.key):
        return None
    held = wording.holding(later.key)
    if held is not None and held.way == "gift":
        # Who wishes for another one has the first.
        return pairs.doubted(0.7, later, "it was given", pairs.OF_ELSE) if held.who == wording.GIVEN else None
    return None if earlier.mood else pairs.doubted(0.7, later, "another one has it", pairs.BOTH_HAVE_IT)


def relate_other_state(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of what one thing is by another verb or word to what it was; it ends nothing.

    On a plan and "switched to Enterprise", at an address and "moved to" another one, open and escalated, what a flag
    does and "is deprecated", one path or return value and another one.
    """
    if not _tells_state(later.key):
        return None
    is_one = earlier.topic == later.topic and earlier.identifiers == later.identifiers and earlier.head <= later.head
    is_told = {earlier.mood, later.mood} <= {"", "wish"} and not (earlier.former or later.adds)
    is_told = is_told and (not earlier.negated or bool(earlier.opposed))
    if not is_one or not is_told or earlier.thing.behind != later.thing.behind:
        return None
    is_thing = bool(earlier.topic or earlier.head or earlier.identifiers or earlier.thing.noun)
    is_thing = is_thing or any(word.isdecimal() for word in earlier.subject & later.subject)  # Bed 12.
    told = [_STATED.search(one.key) for one in (earlier, later)]
    states = {each[1] for each in told if each is not None}
    is_shared = is_thing or not (earlier.content & later.content).isdisjoint(earlier.content - {earlier.verb})
    is_of_scale = any(map(states.issubset, _SCALES)) and (states.isdisjoint(_OF_BUILDS) or _BUILT.search(later.key))
    if len(states) > 1 and is_of_scale and is_shared and not earlier.recurs:
        found = pairs.doubted(0.6, later, "another state", pairs.OF_ELSE)
        is_switched = states <= _ON_OR_OFF and _say_all_else(earlier.key, later.key, states)
        return found._replace(is_single_valued=is_switched, doubt="" if is_switched else found.doubt)
    if is_thing and _WITHDRAWN.search(later.key) is not None and _WITHDRAWN.search(earlier.key) is None:
        return pairs.doubted(0.6, later, "it is withdrawn", "it may be in use still")
    plan, other = _ON_PLAN.search(earlier.key), _CHANGED_TO.search(later.key)
    if plan is not None and other is not None and plan["which"] != other["new"]:
        is_named = lexicon.stem(other["new"]) in later.names and not other["kind"]
        if other["kind"] == plan["kind"] or (is_named and _TIER.search(plan["kind"]) is not None):
            return pairs.doubted(0.6, later, "another one of a kind", pairs.SAYS_MORE)
    values = [_VALUE_IN_CODE.search(one.key) for one in (earlier, later)]
    if is_thing and all(values) and len({each and each["value"] for each in values}) > 1 and not earlier.recurs:
        ways = {each["way"] for each in values if each is not None}
        is_returned = ways == {"returns"} and bool(earlier.identifiers)
        if is_returned or all(_is_in_code(each["value"]) for each in values if each is not None):
            return pairs.doubted(0.6, later, "another value", "both may hold")
    return None


def _say_all_else(earlier: str, later: str, states: Set[str]) -> bool:
    """True if two statements say the same of one thing with a name, but for its state at their end."""
    is_named = wording.identifiers_in(later) or _OF_NAME.search(later) is not None
    rest = {" ".join(word for word in key.split() if word not in states | {"now", "again"}) for key in (earlier, later)}
    return bool(is_named) and len(rest) == 1


_ON_OR_OFF: Final = frozenset(("on", "off"))
_OF_NAME: Final = re.compile(
    r"\b(?:flag|toggle|switch|feature|option|setting) [\w-]+ is\b|^(?:the )?[\w-]+-[\w-]+(?::| is) "
)
"""A thing that its name tells from others of the kind."""


def relate_other_doer(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "ticket 9 is assigned to Tom", or "reviews are done by Tom", to the same of Lena."""
    one, other = _IS_DONE_BY(earlier.key), _IS_DONE_BY(later.key)
    if one is None or other is None or one["what"] != other["what"] or one["who"] == other["who"]:
        return None
    if earlier.negated or later.negated or earlier.mood or later.mood or later.adds:
        return None
    told = (one, earlier), (other, later)
    are_names = all(lexicon.stems(wording.words_of(by["who"])) <= each.names for by, each in told)
    return pairs.doubted(0.7, later, "another one does it", pairs.BOTH_HAVE_IT) if are_names else None


_IS_DONE_BY: Final = wording.kept_search(
    r"^(?P<what>.+? (?:is|are) )(?:now |currently |still )?(?P<how>(?:assigned|given|allotted) to|[\w-]+ by)"
    r" (?P<who>[^\W\d][\w'’.-]*(?: [\w'’.-]+)?)(?: now| again| these days| instead)?$"
)


def relate_other_of_kind(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "switched to the Enterprise plan" to "our plan is Business", whatever it is; it ends nothing."""
    named, other = _OWN_IS(earlier.key), _CHANGED_TO.search(later.key)
    if named is None or other is None or named["kind"] != other["kind"] or named["which"] == other["new"]:
        return None
    if earlier.negated or later.negated or earlier.former or later.mood or later.head:
        return None
    return pairs.doubted(0.6, later, "another one of a kind", pairs.OF_ELSE)


_OWN_IS: Final = wording.kept_search(
    r"(?:^(?:my|our)|['’]s?) (?:(?:current|present) )?(?P<kind>[a-z]+) is (?:now )?(?:the |an? )?(?P<which>[\w-]+)$"
)


def relate_other_place(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of where a thing is kept or goes, or whether a test passes, to what that was; it ends nothing.

    "Alerts go to #ops" and "go to #incidents", stored in one place and in another, with a neighbour and under a pot.
    """
    if earlier.negated or earlier.former or earlier.mood or later.mood or later.adds - earlier.adds:
        return None
    if earlier.topic != later.topic:
        return None
    for form in (_KEPT_AT, _GOES_TO_PLACE, _IS_WITH, _PASSES):
        one, other = form(earlier.key), form(later.key)
        if one is None or other is None or one["what"] != other["what"]:
            continue
        before, after = one["where"], other["where"]
        if form is _IS_WITH and not (before.startswith("with ") or after.startswith("with ")):
            continue
        if before not in after and after not in before:
            return pairs.doubted(0.6, later, "it is elsewhere, or otherwise", pairs.IN_BOTH)
    return None


_AT_LAST: Final = r"(?: now| again| these days| instead)?$"
_KEPT_AT: Final = wording.kept_search(
    r"^(?P<what>.+? (?:is|are) )(?:now |still )?(?:stored|kept|hosted|saved|hidden|logged|archived|sent|published"
    rf"|posted|routed) (?P<where>(?:in|on|at|to|under|with|behind) .+?){_AT_LAST}"
)
_GOES_TO_PLACE: Final = wording.kept_search(
    r"^(?P<what>(?:[\w-]+ ){0,3}?(?:alerts?|e?-?mails?|invoices?|logs?|notifications?|reports?|messages?|errors?"
    r"|calls?|traffic|requests?|backups?|events?|metrics?|payments?|orders?|returns?) )"
    rf"(?:now )?go(?:es)? to (?P<where>.+?){_AT_LAST}"
)
_IS_WITH: Final = wording.kept_search(
    r"^(?P<what>(?:the|my|our) (?:[\w-]+ ){0,2}?(?:keys?|book|ladder|car|bike|remote|charger|passports?|toolbox|drill"
    r"|parcel|suitcase|laptop|umbrella|folder|card|cat|dog) (?:is|are) )(?:now |still )?"
    rf"(?P<where>(?:with|under|behind|in|on|at|next to|inside|beside) .+?){_AT_LAST}"
)
_PASSES: Final = wording.kept_search(
    r"^(?P<what>(?:the |our )?[\w./:-]*(?:test|suite|build|check|job|lint|pipeline)[\w./:-]*(?: tests?| suite)? )"
    rf"(?:now )?(?P<where>fails?|pass(?:es)?|is skipped|runs?|hangs?|crashes|times out)(?: on [\w.-]+)?{_AT_LAST}"
)
"""What is told of a test, on one platform or on none."""


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _tells_state(key: str) -> bool:
    return any(form.search(key) for form in (_STATED, _WITHDRAWN, _CHANGED_TO, _VALUE_IN_CODE))


def _is_in_code(value: str) -> bool:
    return not {"/", "_"}.isdisjoint(value) or re.search(r"[a-z]\.[a-z]", value) is not None


_SCALES: Final = (
    frozenset(("on", "off")),
    frozenset(("up", "down", "online", "offline")),
    frozenset(("active", "inactive", "revoked", "expired")),
    frozenset(("read-only", "writable")),
    frozenset(("manual", "automatic")),
    frozenset(("locked", "unlocked")),
    frozenset(("paused", "resumed", "suspended", "reinstated", "on hold")),
    frozenset(("promised", "granted", "refused", "denied", "pending", "approved", "rejected")),
    frozenset(("open", "closed", "in review", "on hold", "escalated", "merged", "pending", "approved", "rejected"))
    | {"resolved", "blocked", "unblocked", "done", "paused", "resumed", "under review"},
    frozenset(("open", "pending", "unpaid", "overdue", "outstanding", "paid")),
    frozenset(("on its way", "in transit", "shipped", "delivered", "returned")),
    frozenset(("broken", "failing", "passing", "red", "green")),
    frozenset(("free", "vacant", "unoccupied", "occupied", "taken", "rented", "let")),
    frozenset(("in progress", "finished", "done", "completed")),
    frozenset(("answered", "unanswered")),
)
"""States and stages of one kind, of which something has one at a time: a light is on and paused."""
_OF_BUILDS: Final = frozenset(("red", "green"))
_BUILT: Final = re.compile(r"\b(?:builds?|ci|pipelines?|tests?|suites?|nightly|checks?|jobs?|main|trunk) (?:is|are)\b")
"""What is red or green by whether it works."""
_AT_END: Final = {word: rf"{word}(?=$)" for word in ("on", "off", "up", "down")}
_STATED: Final = re.compile(
    r"(?:(?:\b(?:is|are|was|were|got|has been)|:) (?:now |still |again )?(?:(?:set|switched|turned) (?:to )?)?"
    r"|\b(?:(?:has|have) )?(?=resumed\b))"
    rf"({'|'.join(_AT_END.get(each, each) for each in sorted(frozenset().union(*_SCALES)))})\b"
)
"""What stage or state something has reached."""
_WITHDRAWN: Final = re.compile(
    r"\b(?:is|was|has been|got) (?:now )?(?:deprecated|obsolete|removed|retired|discontinued)\b"
)
_KINDS: Final = r"plan|tier|subscription|tariff|package|licen[cs]e|edition"
_TIER: Final = re.compile(_KINDS)
_ON_PLAN: Final = re.compile(rf"\b(?:is|am|are|['’]m) on (?:the |an? )?(?P<which>[\w-]+) (?P<kind>{_KINDS}|[a-z]+)\b")
_CHANGED_TO: Final = re.compile(
    r"\b(?:switched|upgraded|downgraded|moved|changed|went)(?: back| up| down)? to (?:the |an? )?(?P<new>[\w-]+)"
    r"(?: (?P<kind>(?!at\b|on\b|in\b|from\b|for\b|now\b|today\b|last\b|this\b)[a-z]+))?"
)
_VALUE_IN_CODE: Final = re.compile(
    r" (?P<way>returns|(?:is(?: now)?|was moved|moved)(?: at| to| in)?) (?:an? |the )?(?P<value>[^\s,;]+)$"
)


def relate_moved_appointment(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of seeing one physio on Fridays at eight to seeing them on Thursdays at five; it ends nothing."""
    is_weekly = earlier.recurs and later.recurs and bool(earlier.hours) and bool(later.hours)
    if not is_weekly:
        return None
    is_had = _HAS_LESSON.match(earlier.key) is not None and earlier.content == later.content != frozenset()
    is_one = (
        earlier.verb == later.verb
        and earlier.content == later.content
        and earlier.verb in lexicon.stem_set("sees visits meets")
    ) or is_had
    if not is_one or not pairs.are_of_other_times(earlier, later) or earlier.head != later.head:
        return None
    if earlier.negated or later.negated or later.mood or later.change or later.adds or later.past:
        return None
    if not earlier.content.isdisjoint(pairs.people_stems()) or not (
        is_had or (earlier.content | earlier.head) - {earlier.verb}
    ):
        return None
    return pairs.doubted(0.8, later, "the same at another time", "both times may be kept")


def as_appointment(one: Frame, other: Frame) -> Frame | None:
    """What "I have a dentist appointment on 3 May" says beside what is told of "my appointment" or "the appointment".

    ``None`` if it says nothing of that form, or the other one tells of no such thing. What somebody has "a" of may be
    one of two, so of two such neither is put so, nor is one behind what was said of "my appointment".
    """
    told = _HAS_DATED(one.key)
    if told is None or one.recurs or one.adds or one.mood or one.negated or not (other.head or other.thing.noun):
        return None
    if _HAS_DATED(other.key) is not None:
        return None
    nouns = {lexicon.stem(word) for word in told["what"].split()}
    if nouns.isdisjoint(other.head | other.topic | {lexicon.stem(other.thing.noun)}):
        return None
    who = told["who"]
    whose = "the" if other.key.startswith("the ") else {"i": "my", "we": "our"}.get(who, f"{who}'s")
    return frames.frame(f"{whose} {told['what']} is on {told['when']}", one.subject)


_DAY: Final = rf"(?:the )?\d{{1,2}}(?:st|nd|rd|th|\b)|{'|'.join(sorted(lexicon.CALENDAR))}"
_HAS_DATED: Final = wording.kept_search(
    r"^(?P<who>[\w-]+(?: [\w-]+)??)(?: have| has|['’]ve| have got| has got|['’]ve got|['’]s got)"
    r" (?P<det>an?|my|our|his|her|their) (?P<what>[\w'’ -]+?)(?: (?:booked|scheduled|planned|set))?"
    rf" (?:on|for|in) (?P<when>(?:{_DAY})\b.*)$"
)
_HAS_LESSON: Final = re.compile(r"[\w'’ -]{1,30} (?:has|have) [\w'’ -]+? on ")


def _is_set(one: Frame) -> bool:
    """True if a statement says when a thing is, or that it is booked."""
    return bool(one.thing.noun) and (one.sort == "time" or _BOOKED.search(one.key) is not None)


_CANCELLED: Final = re.compile(r"\b(?:is|are|was|were|been|got) (?:cancell?ed|called off)\b")
_BOOKED: Final = re.compile(r"\b(?:is|are) (?:booked|reserved|confirmed|planned|scheduled)\b")
_PLANNED: Final = re.compile(
    r"\b(?:is|are|am|['’]m) (?:flying|travell?ing|going|visiting|moving|marrying|meeting|seeing)\b"
)
"""The present continuous for a plan: "is flying to Oslo on Friday"."""


def relate_departure(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of "has left Globex" or "retired" to where somebody works, and of "left Lisbon" to where they live.

    Who left a town may come back, and who joined what has a name may not work there: those compete with the earlier
    statement, but do not end it.
    """
    held = earlier.attributes & {"job", "residence"}
    if not held or earlier.negated or earlier.mood or earlier.former or earlier.past or earlier.head:
        return None
    # What ends is not denied by that; a denial of it is no departure by its words.
    told = None if later.mood else _DEPARTING.fullmatch(later.key)
    if told is None or not wording.words_of(told["who"]) <= later.subject | {"she", "he", "they"}:
        return None
    if told["whom"]:
        is_elsewhere = "job" in held and _is_named(told["whom"], later) and not _is_at(earlier, told["whom"], _EMPLOYS)
        return pairs.doubted(0.6, later, "joined another one", _NOT_ENDED) if is_elsewhere else None
    if told["onwards"] and not _is_named(told["onwards"], later):
        return None  # For lunch, for the weekend.
    if earlier.verb_preposition in ("on", "with"):
        return (
            pairs.comparison(0.3, later, "work on or with something may go on", "compatible") if "job" in held else None
        )
    place = told["left"] or told["quit"] or told["source"] or ""
    if not place and later.key.endswith(" left"):
        return None
    # Who quit, and no more is said, may have quit something else.
    is_single = earlier.attributes - {"job"} <= pairs.OF_BEING and told["alone"] is None
    is_held = "job" in held and not _STUDIES.search(earlier.key)
    if is_held and not _is_job(earlier, told["trade"]):
        # Who works at a hotel may be its cook, and a nurse is none.
        if not earlier.verb or " as " in earlier.key:
            return pairs.comparison(0.6, later, "another job", "compatible")
        return pairs.doubted(0.6, later, "that work may have ended", _NOT_ENDED)
    if is_held and (not place or _is_at(earlier, place, _EMPLOYS) or (told["source"] and _is_job(earlier, place))):
        doubt = "" if is_single else "it says more than that work, or the new one does not say what ended"
        told_of = pairs.comparison(0.7, later, "that work has ended", "replacement")
        return told_of._replace(is_single_valued=is_single, doubt=doubt)
    if "residence" in held and told["moved"] and _is_at(earlier, place, _HOUSES):
        return pairs.doubted(0.7, later, "left that place", "who left may come back")
    return None


_NOT_ENDED: Final = "the new one does not say that this work has ended"


def _is_job(earlier: Frame, trade: str | None) -> bool:
    """True if a statement of somebody's work names that trade, or no trade is given."""
    stems = lexicon.stems(wording.words_of(trade or ""))
    return all(any(pairs.share_root_word(each, other) for other in earlier.content) for each in stems)


def _is_at(one: Frame, place: str, prepositions: str) -> bool:
    """True if a statement names a place behind one of these prepositions."""
    return re.search(rf"\b(?:{prepositions}) (?:the )?{re.escape(place)}(?![\w-])", one.key) is not None


def _is_named(words: str, one: Frame) -> bool:
    """True if all of these words are proper names in a statement."""
    return lexicon.stems(wording.words_of(words)) <= one.names


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


def relate_told_end(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of a statement that plainly says that something is over: "is off warfarin", "got rid of the brace",
    "gave birth".

    What says more than the thing that is gone is not ended by it.
    """
    if not _may_tell_end(later.key) or later.mood or earlier.mood or earlier.former:
        return None
    if earlier.negated or later.negated or earlier.past or earlier.head != later.head or earlier.topic - {""}:
        return None
    if _IS_PREGNANT(earlier.key) is not None and _GAVE_BIRTH(later.key) is not None:
        return _ended(later, "the child is born", is_whole=_OF_EARLIER_CHILD(later.key) is None)
    for told, had in ((_IS_OFF, _IS_ON), (_IS_RID, _HAS_ON)):
        if told(later.key) is None or had(earlier.key) is None:
            continue
        gone = later.content - lexicon.stem_set(_OFF_WORDS) - later.times
        objects = pairs.objects_of(earlier)
        if gone and gone <= objects:
            return _ended(later, "it is over", is_whole=gone == objects and not earlier.times)
    return None


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _may_tell_end(key: str) -> bool:
    """True if a statement has one of the words of an end: each is compared with many others."""
    return not _ENDING.isdisjoint(key.replace("'", " ").split())


def _ended(later: Frame, reason: str, *, is_whole: bool) -> ClaimComparison:
    told = pairs.comparison(0.8, later, reason, "replacement")
    return told._replace(is_single_valued=is_whole, doubt="" if is_whole else pairs.SAYS_MORE)


_ENDING: Final = frozenset(("off", "rid", "birth", "had", "lost", "miscarried"))
"""One of these words is in every statement that :func:`relate_told_end` knows."""
_OFF_WORDS: Final = "off came come comes went gone got gets rid weaned tapered"
_IS_OFF: Final = wording.kept_search(
    r"\b(?:(?:is|am|are|['’](?:s|m|re)) (?:now |finally |completely |all )?"
    r"|(?:came|got|went|has come|have come|has gone|have gone) |(?:weaned|tapered) )"
    r"off (?!to\b|sick\b|on\b|with\b|from\b)(?:(?!(?:the|an?|my|our|his|her|their) )|(?=[\w'’ -]*?\b(?:pills?|meds"
    r"|medications?|medicines?|drugs?|tablets|antibiotics|painkillers|steroids|insulin|inhaler|patch(?:es)?|drip"
    r"|ventilator|oxygen|diet|booze|drink|cigarettes)\b))"
)
"""Who came off the bike, or got off the bus, goes on to ride it; of a medicine it is the end."""
_IS_ON: Final = wording.kept_search(
    r"\b(?:takes?|taking|uses?|using|gets?|needs?|injects?) |\b(?:is|am|are|['’](?:s|m|re)) (?:still |now )?on "
)
_IS_RID: Final = wording.kept_search(r"\b(?:got|gotten|is|am|are|['’](?:s|m|re)) (?:finally |now )?rid of ")
_HAS_ON: Final = wording.kept_search(
    r"\b(?:wears?|wearing|has|have|owns?|uses?|using|keeps?|drives?|rides?|needs?|got(?! rid\b)) "
)
_IS_PREGNANT: Final = wording.kept_search(r"\b(?:is|am|are|['’](?:s|m|re)) (?:\w+ )?(?:\w+ )?(?:pregnant|expecting)\b")
_GAVE_BIRTH: Final = wording.kept_search(
    r"\b(?:gave birth|(?:has|have) given birth|(?:has |have )?(?:miscarried|(?:had|lost) (?:a|her|the|my) (?:baby"
    r"|miscarriage)|had (?:a|her) (?:baby )?(?:boy|girl|son|daughter)))\b"
)
_OF_EARLIER_CHILD: Final = wording.kept_search(r"\b(?:(?:19|20)\d\d|since|ago|once|already|who|years?)\b")
"""In a statement of a birth that may be another than the one that is expected."""


def disposes_of_other_thing(earlier: Frame, later: Frame) -> bool:
    """True if the thing sold or given away has a further word, and so is another thing: a bike lock."""
    if _DISPOSES(later.key) is None or later.head:
        return False
    said = earlier.content | earlier.head | earlier.light
    bought = _INSTEAD.search(later.key)
    if bought is not None:
        return said.isdisjoint(lexicon.stems(wording.words_of(later.key[: bought.start()])) - later.subject)
    more = later.content | (later.light & lexicon.stem_set("old other"))
    return bool(more - said - lexicon.stem_set(_GONE) - later.subject)


def disposes(earlier: Frame, later: Frame) -> bool:
    """True if the later statement says that the possession of the earlier one was sold or given away."""
    if later.negated or later.mood or later.head or earlier.negated or earlier.past:
        return False
    if _DISPOSES(later.key) is None:
        return False
    gone = later.content - lexicon.stem_set(_GONE)
    is_had = bool(earlier.head and not earlier.verb) or _HAVING.search(earlier.key) is not None
    said = earlier.content | earlier.head
    return is_had and bool(gone) and gone <= said and (gone <= earlier.names or earlier.head <= gone)


_INSTEAD: Final = re.compile(r" and (?:bought|got|ordered|leased|picked up|am getting|'m getting) ")
"""Behind it stands what took the place of the thing that is gone."""
_DISPOSES: Final = wording.kept_search(r"\b(?:gave|given|giving|threw|thrown) away\b|\b(?:sold|scrapped|donated)\b")
_HAVING: Final = re.compile(r"\b(?:has|have|owns?|drives?|rides?) (?:an?|the|his|her|my|our|their) ")


_GONE: Final = "gave given threw thrown away scrapped donated sold"


def _is_act(noun: str, planned: str) -> bool:
    """True if a stem is a planned act, or the noun for it: to fly, and a flight."""
    return pairs.share_root_word(noun, planned) or planned in _act_stems().get(noun, ())


_GOING: Final = "travel travels visit visits go goes going fly flies drive drives sail"


@cache
def _act_stems() -> dict[str, frozenset[str]]:
    words = {
        "flight": "fly flies flying", "trip": _GOING, "journey": _GOING, "tour": _GOING, "holiday": _GOING,
        "visit": "see sees go goes", "wedding": "marry married marries wed", "appointment": "see sees visit visits",
        "reservation": "eat eats dine dines stay stays", "booking": "eat eats dine dines stay stays",
        "move": "relocate live lives",
    }  # fmt: skip
    return {stem: lexicon.stems(acts.split()) for noun, acts in words.items() for stem in lexicon.stems((noun,))}
