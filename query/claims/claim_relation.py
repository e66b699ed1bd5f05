"""Relate two statements about one subject: the second repeats, replaces or contradicts the first, or both hold.

The relation is computed from their frames, and so from English word lists. Two statements are near if they are about
the same attribute; common words alone do not suffice ("Farouk's office", "Farouk's wife"). The reason names what the
relation rests on, since rules this simple are sometimes wrong; only a person or a model decides by it.

The order of the decision is in :func:`relate` and below: how a statement ends another one, what they share, why both
may hold after all, and what remains in doubt.
"""

import re
import sys
from collections.abc import Sequence, Set
from functools import cache, lru_cache
from itertools import pairwise, product
from typing import Final, NamedTuple

from worlddb.log.model.times import lazy
from worlddb.projections.indexes.analysis import STOP_WORDS, say_otherwise
from worlddb.query.claims import (
    asked_terms,
    chat_changes,
    claim_attributes,
    claim_coexistence,
    claim_doubts,
    claim_endings,
    foreign_statements,
    lexicon,
    quantities,
    wording,
)
from worlddb.query.claims import claim_frame as frames
from worlddb.query.claims import claim_pairs as pairs
from worlddb.query.claims.claim_frame import Frame
from worlddb.query.claims.claim_pairs import ClaimComparison

_CLOSE: Final = 0.5
_TOUCHING: Final = 0.25
_KEPT: Final = 8_192
"""How many pairs' relations are kept, since the same memories are found again and again."""


@lru_cache(maxsize=_KEPT)
def relate(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """How a later statement relates to an earlier one about the same subject; ``None`` if they are not near.

    If they do not compete as wholes, they do so if a sentence of one does with a sentence of the other. "Rule 1: ..."
    and "Rule 2: ..." are about two rules.
    """
    headings = _NUMBERED.match(earlier.key), _NUMBERED.match(later.key)
    if headings[0] and headings[1] and headings[0][1] != headings[1][1]:
        return None
    found = _relate_wholes(earlier, later)
    if found is None or found.relation == "compatible":
        found = (
            claim_endings.relate_other_state(earlier, later)
            or claim_endings.relate_other_place(earlier, later)
            or claim_endings.relate_other_doer(earlier, later)
            or claim_endings.relate_other_of_kind(earlier, later)
            or found
        )
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
        if found is not None and found.relation in pairs.COMPETING:
            return found._replace(
                is_single_valued=False, doubt="only a sentence of one replaces a sentence of the other"
            )
    return None


def _relate_wholes(earlier: Frame, later: Frame) -> ClaimComparison | None:
    if earlier.key == later.key:
        return pairs.REPEATED
    if (held := claim_endings.relate_other_holder(earlier, later)) is not None:
        return held
    if (dated := claim_endings.as_appointment(earlier, later)) is not None:
        return _relate_of_one(dated, later)
    if later.head.isdisjoint(earlier.head) and (dated := claim_endings.as_appointment(later, earlier)) is not None:
        return _relate_of_one(earlier, dated)
    if claim_coexistence.begin_apart(earlier, later) or claim_coexistence.moves_something_else(earlier, later):
        is_alike = bool((earlier.content & later.content) - {earlier.verb})
        apart = "they are about different things"
        return pairs.comparison(0.3, later, apart, "compatible") if is_alike else None
    return _relate_of_one(earlier, later)


def _relate_of_one(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of two statements that may be of one thing."""
    if later.is_marked and (told := claim_endings.relate_correction(earlier, later)) is not None:
        return told
    for find in (
        claim_endings.relate_cancellation,
        claim_endings.relate_departure,
        claim_endings.relate_denied_plan,
        claim_endings.relate_told_end,
        claim_endings.relate_moved_appointment,
    ):
        if (ended := find(earlier, later)) is not None:
            return ended
    found = _find_relation(earlier, later)
    if later.is_marked and (found is None or found.relation == "compatible"):
        for find in (
            claim_endings.relate_return,
            claim_endings.relate_asked_rate,
            claim_endings.relate_label,
            claim_endings.relate_thing,
            claim_endings.relate_taken_back,
            _relate_main_clause,
        ):
            if (told := find(earlier, later)) is not None:
                return told
    if found is None and earlier.is_marked and (told := claim_endings.relate_relapse(earlier, later)) is not None:
        return told
    if (found is None or found.relation == "compatible") and claim_coexistence.is_other_record(earlier, later):
        return pairs.doubted(0.7, later, "another personal best", "both stay true as records")
    if found is not None and found.relation in pairs.COMPETING and claim_coexistence.tell_only_because(earlier, later):
        return pairs.comparison(0.3, later, "they share only a reason, or what both deny", "compatible")
    if (
        found is not None
        and found.relation in pairs.COMPETING
        and claim_coexistence.denies_something_else(earlier, later)
    ):
        return _relate_by_number(earlier, later) or pairs.comparison(
            found.likeness, later, "the later one denies something other than the earlier one says", "compatible"
        )
    if found is not None and found.relation in pairs.COMPETING and claim_coexistence.are_other_things(earlier, later):
        return pairs.comparison(
            found.likeness, later, "they are about different things, or different aspects of one", "compatible"
        )
    if (
        found is not None
        and found.relation in pairs.COMPETING
        and claim_endings.disposes_of_other_thing(earlier, later)
    ):
        return pairs.comparison(
            found.likeness, later, "the one that is gone is not the one of the earlier statement", "compatible"
        )
    if found is not None and found.relation in pairs.COMPETING and claim_coexistence.holds_alongside(earlier, later):
        return pairs.comparison(found.likeness, later, "the later one adds to the earlier one", "compatible")
    if (
        found is not None
        and found.relation in pairs.COMPETING
        and not claim_coexistence.states_present_fact(earlier, later)
    ):
        by_number = _relate_by_number(earlier, later) or _relate_guess(earlier, later)
        return by_number or pairs.comparison(
            found.likeness,
            later,
            "they are about different times, or the later one is not stated as a fact",
            "compatible",
        )
    if found is None or found.relation != "replacement":
        return found
    doubt = claim_doubts.find_doubt(earlier, later)
    return found._replace(is_single_valued=not doubt, doubt=doubt)


def _relate_by_number(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation by the later statement's plain clause: a number, or a present fact; ``None`` without one."""
    plain = frames.frame(later.plain_clause, later.subject) if later.plain_clause else None
    is_single_valued = plain is not None and plain.verb == earlier.verb and plain.verb in lexicon.single_verbs()
    if plain is None or not (pairs.changed_numbers(earlier, plain) or plain.change or is_single_valued):
        return None
    found = relate(earlier, plain)
    return found if found is not None and found.relation in pairs.COMPETING else None


def _relate_guess(earlier: Frame, later: Frame) -> ClaimComparison | None:
    """The relation of a number that somebody guesses to be so now: "I think I'm close to 1300"; it ends nothing.

    ``None`` if it is what others say, what may come, or of somebody else.
    """
    clause = _PERHAPS.sub("", _GUESSING.sub("", later.key, 1), 1)
    is_own = clause != later.key and later.names - {"i"} <= earlier.names | earlier.subject
    plain = frames.frame(clause, later.subject) if is_own and pairs.changed_numbers(earlier, later) else None
    found = None if plain is None or plain.mood else relate(earlier, plain)
    if found is None or found.relation not in pairs.COMPETING:
        return None
    return found._replace(reason=f"{found.reason}, as a guess", is_single_valued=False, doubt="the new one is a guess")


_GUESSING: Final = re.compile(
    r"(?:^|(?<= [-–—] )|(?<=[;:,] ))(?:(?:by the way|oh|well|and|so|but|actually),? )*"
    r"[\w'’-]+ (?:think|guess|suppose|believe|reckon|imagine)s? (?:that )?"
)
_PERHAPS: Final = re.compile(r"\b(?:probably|maybe|perhaps|likely) ")


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
    if found is None or found.relation not in pairs.COMPETING or claim_coexistence.denies_something_else(known, given):
        return None
    return found._replace(is_single_valued=False, doubt="only a clause of one replaces a clause of the other")


def _main_clause(one: Frame) -> Frame | None:
    first, comma, _ = one.key.partition(", ")
    return frames.frame(first, one.subject) if comma and first.count(" ") >= _LEAST_OF_CLAUSE else one


_LEAST_OF_CLAUSE: Final = 2
"""The fewest blanks of a clause that states something."""


def _switches_another(earlier: Frame, later: Frame) -> bool:
    """True if a statement names what it is that is switched, and the earlier one does not speak of that."""
    told = _SWITCHES_WHAT(later.key)
    what = frozenset[str]() if told is None else lexicon.stems(wording.words_of(told["what"]))
    return not later.content or (bool(what) and what.isdisjoint(earlier.content | earlier.light))


_SWITCHES_WHAT: Final = wording.kept_search(
    r"\b(?:switched|migrated|moved) (?P<what>(?:my|our|the|his|her) (?:(?!to\b|from\b)[\w-]+ ?){1,4}) ?(?:to|from)\b"
)
_SWITCHED: Final = frozenset({"switch", "migrat"})
"""Stems of verbs that say that something else is used."""


def _find_relation(earlier: Frame, later: Frame) -> ClaimComparison | None:
    if later.verb in _SWITCHED and earlier.verb == "use" and earlier.content and not _switches_another(earlier, later):
        return pairs.comparison(0.5, later, "something else is used now", "replacement")
    if claim_endings.disposes(earlier, later):
        return pairs.comparison(0.6, later, "it is gone", "replacement")
    if not _have_common_terms(earlier, later) or not _heads_agree(earlier, later):
        return None
    if earlier.ranks and later.ranks and earlier.ranks != later.ranks:
        return pairs.comparison(0.3, later, "they are about different ones of a kind", "compatible")
    is_of_shifts = not lexicon.OF_SHIFTS.isdisjoint((earlier.verb_preposition, later.verb_preposition))
    is_other_way = earlier.verb == later.verb and earlier.verb_preposition != later.verb_preposition
    if is_other_way and (not later.change or is_of_shifts):
        # Who works at a bank may work on a novel, and lives with somebody wherever it is.
        return None
    overlap = _overlap(earlier, later)
    units = pairs.changed_numbers(earlier, later)
    # Of a thing that may be several nothing is replaced: who teaches physics may teach chemistry, too.
    common = sorted(
        earlier.attributes & later.attributes,
        key=lambda each: (not claim_coexistence.allows_several_values(each, later), each),
    )
    both = earlier.content & later.content
    is_denied = earlier.negated != later.negated
    if is_denied and (both or common) and _restrict_alike(earlier, later):
        return pairs.comparison(0.5 + 0.4 * overlap, later, "the one goes with the other", "compatible")
    is_several = claim_coexistence.may_both_hold(earlier, later) or claim_coexistence.are_two_of_several(earlier, later)
    if is_several and not is_denied:
        return pairs.comparison(0.3 + 0.4 * overlap, later, "two of several; both may hold", "compatible")
    if claim_coexistence.name_other_things(earlier, later) and earlier.names != later.names and not is_denied:
        return pairs.comparison(0.3 + 0.4 * overlap, later, "they may be about different ones", "compatible")
    if not is_denied and not later.change and _is_same_in_other_unit(earlier, later):
        return ClaimComparison(pairs.clamp_likeness(overlap), "same", "the same in another unit")
    differ = bool(earlier.content - later.content) and bool(later.content - earlier.content)
    if not is_denied and not differ and _is_turned_round(earlier, later):
        return pairs.comparison(0.6 + 0.4 * overlap, later, "the same preference the other way round", "replacement")
    if not is_denied and not units and _is_repetition(earlier, later, overlap, differ):
        return _relate_repetition(earlier, later, overlap, differ)
    if is_denied and earlier.times and later.times and earlier.times.isdisjoint(later.times):
        return pairs.comparison(0.3 + 0.4 * overlap, later, "they are about different times", "compatible")
    if is_denied and earlier.in_part and not later.in_part and not later.negated:
        # Who drinks no coffee after noon drinks some at breakfast.
        return pairs.comparison(0.3 + 0.4 * overlap, later, "they are about different times", "compatible")
    if is_denied and not common and _opposes_something_else(earlier, later):
        return pairs.comparison(0.3 + 0.4 * overlap, later, "both may hold", "compatible") if both else None
    if is_denied and _denies(earlier, later, overlap, common):
        said = "one states what the other denies"
        return pairs.comparison(0.6 + 0.4 * overlap, later, said, "replacement" if later.change else "contradiction")
    if is_denied and _share_only_verb(earlier, later):
        return pairs.comparison(0.3 + 0.4 * overlap, later, "both may hold", "compatible")
    if earlier.singled_out and earlier.singled_out == later.singled_out and not is_denied and differ:
        told: pairs.Relation = "contradiction" if earlier.past and later.past else "replacement"
        return pairs.comparison(0.6 + 0.4 * overlap, later, "the same one of its kind, another value", told)
    if _have_other_frequency(earlier, later) and not is_denied:
        return pairs.comparison(0.6 + 0.4 * overlap, later, "the same habit, another frequency", "replacement")
    if units and (both or common or earlier.verb == later.verb or earlier.head):
        return _relate_numbers(earlier, later, overlap, units)
    if earlier.head & later.head and not is_denied and claim_coexistence.are_of_other_kinds(earlier, later):
        return pairs.comparison(0.3 + 0.4 * overlap, later, "numbers of different things", "compatible")
    if common and _extends(earlier, later) and not is_denied:
        return pairs.comparison(0.5 + 0.5 * overlap, later, "the later one says more", "compatible")
    for attribute in common:
        found = _relate_by_attribute(earlier, later, overlap, attribute, both)
        if found is not None:
            return found
    return _relate_by_words(earlier, later, overlap, both)


def relation_of(earlier: str, later: str) -> pairs.Relation | None:
    """Relate the later of two texts to the earlier one, if both are short statements about one subject.

    What begins with "in" or "it" names nobody by that.
    """
    before, after = wording.leading_subject(earlier), wording.leading_subject(later)
    if not wording.names_agree(before, after):
        return None
    subject = wording.shared_subject(before, after)
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


MAX_COMPARED: Final = 128
"""How many of the latest statements are compared with each other where all are listed."""


def find_later_rivals(said: Sequence[NamedStatement]) -> dict[int, LaterRival]:
    """Map the index of each statement that a later one competes with to the latest such.

    One without a doubt goes before a later one with it.

    The statements are given newest first; only the first ``MAX_COMPARED`` are compared.
    """
    found: dict[int, LaterRival] = {}
    for place, earlier in enumerate(said[:MAX_COMPARED]):
        for later_place, later in enumerate(said[:place]):
            shared = earlier.about & later.about
            subject = frozenset[str]().union(*map(wording.words_of, shared))
            before, after = wording.leading_subject(earlier.text), wording.leading_subject(later.text)
            is_led = wording.names_agree(before, after)
            subject |= wording.shared_subject(before, after) if is_led else frozenset()
            held = frozenset() if shared or is_led else wording.held_words(earlier.text, later.text)
            if not (shared or held) and (not is_led or (earlier.about and later.about)):
                continue
            subject |= held
            if wording.share_family_name(earlier.text, later.text):
                continue
            one, other = frames.frame(earlier.text, subject), frames.frame(later.text, subject)
            alike = None if one is None or other is None else relate(one, other)
            if alike is pairs.REPEATED:
                break  # Who moved back lives there.
            if one is None or other is None or alike is None or alike.relation not in pairs.COMPETING:
                continue
            if of_entities(alike, (earlier.text, later.text), (earlier.about, later.about)) is not alike:
                continue
            if not claim_coexistence.may_have_both(one, other) and (place not in found or not alike.doubt):
                found[place] = LaterRival(later_place, alike.doubt)
            if place in found and not found[place].doubt:
                break
    return found


def of_entities(
    alike: ClaimComparison, said: tuple[str, str], about: tuple[Set[object], Set[object]]
) -> ClaimComparison:
    """How two statements relate by all that each refers to: "Luis is Dev's helper" tells nothing of Dev and Marta.

    Where each refers to something that the other does not, beside what both refer to, they do not compete by words in
    common, nor if they begin with different names, unless these have the same thing that one has at a time.
    """
    (one, other), (before, after) = said, about
    if alike.relation not in pairs.COMPETING or not (before & after and before - after and after - before):
        return alike
    is_of_two = wording.begins_with_other_name(one, other) and not wording.held_words(one, other)
    if not (alike.is_by_words or is_of_two):
        return alike
    return ClaimComparison(alike.likeness, "compatible", "same subject, they refer to different things")


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


def names_only_earlier(question: str, earlier: str, later: str, subject: frozenset[str]) -> bool:
    """True if a question names an identifier of what the earlier statement begins with, or a word that tells it from
    what the later one begins with, and the later one does not: "how long do the login tests take?" and the tests.

    What is asked beside the values of who, when or where is no value that may be another one by now.
    """
    known, given = frames.frame(earlier, subject), frames.frame(later, subject)
    if known is None or given is None:
        return False
    if _names_other_thing(question, known, given):
        return True
    if not (known.identifiers or given.topic < known.topic):
        return False
    named = wording.identifiers_in(question) & known.identifiers
    if any(each not in given.key for each in named):
        return True
    own = known.topic - lexicon.stems(wording.words_of(later)) if given.topic and given.topic < known.topic else set()
    return not lexicon.stems(wording.words_of(question)).isdisjoint(own)


def _names_other_thing(question: str, earlier: Frame, later: Frame) -> bool:
    """True if a question of who, when or where names what only the earlier of two statements has in the place where the
    later one has something else that is not asked for: the orders service, and the stock service."""
    first = question.split(" ", 1)[0].casefold()
    if first not in _ASKING or not earlier.verb or earlier.verb != later.verb or earlier.change != later.change:
        return False
    found = relate(earlier, later)
    if found is None or found.is_single_valued:
        return False
    own, other = (
        lexicon.stems(pairs.words_alone(words)) - _little() for words in pairs.differing_words(earlier, later)
    )
    asked = lexicon.stems(wording.words_of(question))
    return bool(other) and not own.isdisjoint(asked) and other.isdisjoint(asked)


_ASKING: Final = frozenset(("who", "whom", "whose", "when", "where", "which", "what", "why", "how"))


@cache
def _little() -> frozenset[str]:
    """The stems of words that name nothing."""
    return lexicon.stems(STOP_WORDS | lexicon.DETERMINERS | lexicon.LIGHT_WORDS)


def _are_rivals(earlier: Frame, later: Frame) -> bool:
    found = relate(earlier, later)
    return found is not None and found.relation in pairs.COMPETING


def _asked_terms(one: Frame) -> frozenset[str]:
    """What a statement or a question is about: attributes, and the stems of its words but "have"."""
    return (one.head | one.content | one.light | one.attributes) - {lexicon.stem("have")}


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
    common = (each for each in present.attributes & other.attributes if lexicon.KIND_OF.get(each) == lexicon.CURRENT)
    # Who plays tennis on Tuesdays may play the oboe: of what is several none takes the place of another.
    is_one_verb = present.verb == other.verb and bool(
        {present.verb} & lexicon.single_verbs()
        or any(lexicon.KIND_OF.get(each) != lexicon.MANY for each in lexicon.attributes_of({present.verb}))
    )
    return (is_one_verb or any(common)) and not _asks_for(question, present, other)


def _is_not_of_now(one: Frame) -> bool:
    is_unsure = one.mood in ("unsure", "may", "used", "wish")
    return one.former or one.negated or one.recurs or is_unsure or pairs.WAS_MARRIED.search(one.key) is not None


def _asks_for(question: str, present: Frame, other: Frame) -> bool:
    """True if a question has a word of the other statement that the present one has not, or asks when or why."""
    asked = wording.words_of(question)
    if not _ASIDE_FROM_WHAT.isdisjoint(asked):
        return True
    mine, theirs = wording.words_of(present.key), wording.words_of(other.key)
    told = lexicon.stems(theirs - _OF_FORM) - lexicon.stems(mine)
    return not told.isdisjoint(lexicon.stems(asked)) or any(lexicon.is_past(word) for word in asked & theirs)


_OTHER_THAN_WHAT: Final = "when how why often was were did had used-to ever formerly previously"
_ASIDE_FROM_WHAT: Final = frozenset(_OTHER_THAN_WHAT.split())
_GRAMMAR: Final = "do does a an the to in at on of for with is are am and or as by her his their my"
_OF_FORM: Final = frozenset(_GRAMMAR.split())
"""Words of any question or statement, which tell nothing of what is asked."""


def forget() -> None:
    """Clear the caches of this room, which hold texts, after an erasure."""
    for module in _ROOM:
        for cached in [each for each in vars(module).values() if hasattr(each, "cache_clear")]:
            cached.cache_clear()


_ROOM: Final = (
    *(lexicon, quantities, foreign_statements, wording, claim_attributes, frames, asked_terms, chat_changes),
    *(pairs, claim_endings, claim_coexistence, claim_doubts, sys.modules[__name__]),
)


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
    if earlier.thing.noun in lexicon.OF_ONE_VALUE and earlier.thing == later.thing and not (earlier.head or later.head):
        return True
    if _are_named_otherwise(earlier, later):
        return True
    is_one = all(not one.verb and len(one.content) + len(one.numbers) == 1 for one in (earlier, later))
    return is_one and earlier.subject == later.subject and bool(later.subject & lexicon.OF_ONE_VALUE)


def _are_named_otherwise(earlier: Frame, later: Frame) -> bool:
    """True if both only say who one person is: the landlord is Mr. Roth, and Mrs. Klein."""
    both = earlier, later
    is_one = earlier.thing == later.thing and bool(earlier.thing.noun) and not (earlier.head or later.head)
    is_name = all(not one.verb and " is " in one.key and one.content and one.content <= one.names for one in both)
    return is_one and is_name and earlier.content != later.content


_LIGHT_WEIGHT: Final = 0.35
"""What a word that says little counts, beside one that does."""


def _overlap(earlier: Frame, later: Frame) -> float:
    """The share of the words, times and numbers of two statements that both have, by weight."""
    shared = either = 0.0
    for weight, one, other in (
        (1.0, earlier.content, later.content),
        (_LIGHT_WEIGHT, earlier.light, later.light),
        (0.5, earlier.times, later.times),
        (0.7, pairs.number_values(earlier), pairs.number_values(later)),
    ):
        common = len(one & other)
        shared += weight * common
        either += weight * (len(one) + len(other) - common)
    return shared / max(either, 0.1)


def _heads_agree(earlier: Frame, later: Frame) -> bool:
    """False if they are about different possessions of the subject: an office, a wife."""
    if earlier.head and later.head:
        both, general = (
            earlier.head & later.head,
            lexicon.stems(lexicon.OF_ONE_VALUE | lexicon.RENEWED | lexicon.OF_SEVERAL),
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
    known = {attribute for attribute in lexicon.attributes_of(head) if attribute in other.attributes}
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
        return pairs.comparison(0.3 + 0.4 * overlap, later, "one is about more than the other", "compatible")
    if (
        pairs.tells_of_act(earlier) != pairs.tells_of_act(later)
        or say_otherwise(earlier.key, later.key)
        or (differ and pairs.are_long(earlier, later))
    ):
        said = "nearly the same words, and what tells them apart"
        return pairs.comparison(0.3 + 0.4 * overlap, later, said, "compatible")
    return ClaimComparison(pairs.clamp_likeness(overlap), "same", "the same in other words")


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
_SAME_FROM: Final = 0.72
"""The share of words in common from which two statements that differ in nothing else say the same."""
_VALUED: Final = frozenset({"job"})
"""Attributes of which any word is another value."""


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
    if any(added & lexicon.stems_of(each) for each in later.attributes & _VALUED):
        # Who is a designer is not the head of design.
        return False
    if earlier.times != later.times or pairs.number_values(earlier) != pairs.number_values(later):
        return False
    return overlap >= _SAME_FROM or (not differ and bool(earlier.content & later.content) and overlap >= _CLOSE)


_COMES_FROM: Final = re.compile(r"\b(?:is|are|am|['’]m) from\b")


def _changes_only_to_present(earlier: Frame, later: Frame) -> bool:
    """True if the words of change only mean "at present"."""
    return {earlier.change, later.change} <= pairs.PRESENT


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


_NUMBERED: Final = lazy(r"((?:[^\W\d_]+ ){1,2}(?:no\.? ?|#)?\d+(?:\.\d+)*[a-z]?):\s")
"""A heading with a number: "rule 1:", "step 2b:"."""
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
    several = (each for each in earlier.attributes & later.attributes if lexicon.KIND_OF.get(each) == lexicon.MANY)
    kind = frozenset[str]().union(*map(lexicon.stems_of, several))
    return (
        bool(both)
        and both <= kind | ({earlier.verb} & {later.verb})
        and both < earlier.content
        and both < later.content
    )


def _is_rounded(value: str, other: str, earlier: Frame, later: Frame) -> bool:
    """True if two numbers of one unit are about the same, and one of them is converted: 60 kg and 132 pounds."""
    is_close = abs(float(value) - float(other)) <= _ROUNDING * max(float(value), float(other))
    return is_close and _is_imperial(earlier) != _is_imperial(later)


_ROUNDING: Final = 0.015


def _is_imperial(one: Frame) -> bool:
    """True if a statement measures in feet, miles or pounds: what is converted from them is rounded."""
    return _IMPERIAL.search(one.key) is not None


_IMPERIAL: Final = re.compile(r"\d ?(?:miles?|feet|foot|ft|inch(?:es)?|lbs?|ounces?|oz|sq(?:uare)? f)\b")


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
    one, other = pairs.objects_of(earlier), pairs.objects_of(later)
    is_one_habit = earlier.verb == later.verb and earlier.head == later.head and (one <= other or other <= one)
    is_one_habit = is_one_habit and earlier.numbered == later.numbered
    return is_one_habit and bool(earlier.verb or earlier.head)


def _relate_numbers(earlier: Frame, later: Frame, overlap: float, unit: str) -> ClaimComparison | None:
    is_dated = all(pairs.is_year(*number) for number in earlier.numbers | later.numbers)
    once = pairs.lasting_attribute(earlier, later)
    if once:
        return pairs.comparison(0.6 + 0.4 * overlap, later, f"another {once}", "contradiction")
    if later.past and earlier.past:
        is_counted = (
            earlier.passive or not earlier.verb or bool(pairs.number_units(earlier) & pairs.number_units(later))
        )
        if not is_counted:
            # "Note 3" is not another number of what "note 4" is.
            return pairs.comparison(0.3 + 0.4 * overlap, later, "they are about different things", "compatible")
        if not earlier.passive and len(pairs.changed_units(earlier, later)) > 1:
            return pairs.comparison(0.3 + 0.4 * overlap, later, "they are about different things", "compatible")
        objects = (earlier.content & later.content) - {earlier.verb} - lexicon.stems(pairs.number_units(earlier))
        if objects and objects <= earlier.indefinite & later.indefinite:
            return pairs.comparison(0.4 + 0.5 * overlap, later, "they may be about different ones", "compatible")
        if is_dated and not earlier.passive:
            return pairs.comparison(0.4 + 0.5 * overlap, later, "the same was done at another time", "compatible")
        if earlier.content - later.content and later.content - earlier.content:
            return pairs.comparison(0.3 + 0.5 * overlap, later, "numbers of different things", "compatible")
        return pairs.by_words(0.6 + 0.4 * overlap, later, "the same past event, another number", "contradiction")
    if (
        unit == lexicon.OFTEN
        and pairs.objects_of(earlier) - pairs.objects_of(later)
        and pairs.objects_of(later) - pairs.objects_of(earlier)
    ):
        return pairs.comparison(0.3 + 0.4 * overlap, later, "frequencies of different things", "compatible")
    own, other = (pairs.objects_of(one) - lexicon.stem_set(_MEASURING) for one in (earlier, later))
    if own - other and other - own and own.isdisjoint(other) and not (earlier.attributes & later.attributes):
        # What is paid for water, and for electricity.
        return pairs.comparison(0.3 + 0.4 * overlap, later, "numbers of different things", "compatible")
    is_alike = earlier.verb == later.verb or earlier.light == later.light
    both = (earlier.content & later.content) - lexicon.stem_set(_MEASURING) or (is_alike and not (own | other))
    is_of_one_thing = both or earlier.attributes & later.attributes or earlier.head
    if is_of_one_thing or _state_single_value(earlier, later):
        return pairs.comparison(0.6 + 0.4 * overlap, later, "the same attribute, another number", "replacement")
    if earlier.verb and earlier.verb == later.verb:
        return pairs.comparison(0.5 + 0.4 * overlap, later, "the same verb, another number", "replacement")
    return None


_MEASURING: Final = (
    "euro euros eur dollar dollars usd pound pounds gbp franc francs chf cent cents percent per-cent degree degrees"
    " km m cm mm sqm kg g mg ml min minutes hours days miles mile metres steps calories points"
)
"""Units: to pay 40 euros and to owe 30 share nothing else."""
_LASTING: Final = frozenset({"schedule", "state", "diet", "wish for answers", "job"})
"""Attributes that many words stand for: alone they do not say that two statements are of the same thing."""


def _relate_by_attribute(
    earlier: Frame, later: Frame, overlap: float, attribute: str, both: frozenset[str]
) -> ClaimComparison | None:
    """The relation of two statements about one attribute; ``None`` if they are not near."""
    kind = lexicon.KIND_OF.get(attribute, lexicon.CURRENT)
    if kind == lexicon.ONCE:
        reason = f"another {attribute}"
        return pairs.comparison(0.6 + 0.4 * overlap, later, reason, "contradiction")
    is_now = bool(later.change) or earlier.change in pairs.PRESENT - {""}
    if attribute in pairs.ONE_BY_ONE and is_now and not later.negated and earlier.verb == later.verb:
        # Who plays the drums now may have given up the piano.
        return pairs.comparison(0.5 + 0.4 * overlap, later, f"another {attribute}", "replacement")
    if kind == lexicon.MANY or (attribute == "diet" and _both_name_foods(earlier, later)):
        return pairs.comparison(0.45 + 0.4 * overlap, later, f"more than one {attribute} may hold", "compatible")
    if (
        earlier.past
        and later.past
        and not (earlier.verb in lexicon.stem_set(pairs.MOVING) and later.verb in lexicon.stem_set(pairs.MOVING))
    ):
        return pairs.comparison(0.4 + 0.4 * overlap, later, f"each states a past {attribute}", "compatible")
    if attribute == "level" and not both and (_content_beyond(earlier, attribute) or _content_beyond(later, attribute)):
        return None
    if attribute in _LASTING and not both and not later.change and earlier.verb != later.verb:
        return (
            None if overlap < _TOUCHING and not _both_state(earlier, later) else _replacement(later, overlap, attribute)
        )
    return _replacement(later, overlap, attribute)


def _both_name_foods(earlier: Frame, later: Frame) -> bool:
    """True if both say what somebody eats, without a change or an "only": fish and meat."""
    eats = earlier.verb == later.verb and earlier.verb in lexicon.stem_set("eat eats")
    return eats and not (later.change or earlier.only or later.only or earlier.times or later.times)


_IN_PASSING: Final = pairs.PRESENT | {"back", "down", "given", "sold", "started", "turned"}
"""Words of change that long sentences have about anything: "a while back", "sit down", "given that"."""


def _is_in_passing(earlier: Frame, later: Frame, overlap: float) -> bool:
    """True if a word of change may be about something else in a long sentence, since they share hardly a word.

    "Now", "since" and "back" occur in sentences about anything; "switched" refers to what was before.
    """
    return later.change in _IN_PASSING and overlap < _TOUCHING and pairs.are_long(earlier, later)


def _meets_at_other_time(earlier: Frame, later: Frame) -> bool:
    """True if a club or a class meets at another time, or the bins are collected then; a person may do so twice."""
    is_one = earlier.content == later.content and earlier.verb == later.verb
    is_set = earlier.verb in lexicon.stem_set(pairs.MEETING) or (
        bool(earlier.thing.noun) and not pairs.is_somebody(earlier)
    )
    return is_one and is_set and pairs.are_of_other_times(earlier, later)


def _is_for_another(earlier: Frame, later: Frame) -> bool:
    """True if they differ only in what something is for: 10 euros for the one, and for the other."""
    parts = [_FOR.match(one.key) for one in (earlier, later)]
    return all(parts) and len({part[1] for part in parts if part}) == 1 and not pairs.is_work(earlier)


_FOR: Final = re.compile(r"(.* for (?:the |an? |her |his |my |our |their )?)[\w'’-]+(?: [\w'’-]+)?$")


def _takes_another(earlier: Frame, later: Frame) -> bool:
    """True if each tells of a medicine that somebody takes; of buses to work one takes one."""
    is_taken = earlier.verb in lexicon.stem_set("takes") and not (earlier.numbered or later.numbered)
    return is_taken and all(" to " not in one.key for one in (earlier, later))


def _has_object(one: Frame) -> bool:
    """False if a preposition follows the verb: who drives a Fiat may drive to work."""
    words = one.key.split()
    after = next((other for word, other in pairwise(words) if lexicon.stem(word) == one.verb), "")
    return after not in _BEHIND_VERBS


_BEHIND_VERB: Final = "to in on at for from with by near behind under over into through past"
_BEHIND_VERBS: Final = frozenset(_BEHIND_VERB.split())


def _states_only_frequency(one: Frame) -> bool:
    """True if a statement only gives the frequency of its verb."""
    return one.content <= {one.verb} and bool(one.numbers) and {unit for _, unit in one.numbers} == {lexicon.OFTEN}


def _content_beyond(one: Frame, attribute: str) -> frozenset[str]:
    """The content of a statement besides an attribute: in what somebody is an expert."""
    return one.content - lexicon.stems_of(attribute) - {one.verb}


_STATES: Final = frozenset({"", "work", "becam", "remain", "serv", "retrain", "hire", "appoint"})
"""Stems of verbs that say what somebody is."""


def _both_state(earlier: Frame, later: Frame) -> bool:
    """True if both use a verb for what the subject is."""
    return {earlier.verb, later.verb} <= _STATES


def _replacement(later: Frame, overlap: float, attribute: str) -> ClaimComparison:
    return pairs.comparison(
        0.6 + 0.4 * overlap, later, f"the same attribute ({attribute}), another value", "replacement"
    )


def _relate_by_words(earlier: Frame, later: Frame, overlap: float, both: frozenset[str]) -> ClaimComparison | None:
    """The relation of two statements that no attribute joins, by their verbs and the words in common."""
    if earlier.head & later.head and earlier.content == later.content and _adds_only_when(earlier, later):
        return pairs.comparison(0.5 + 0.5 * overlap, later, "the later one says more", "compatible")
    if earlier.head & later.head or _state_single_value(earlier, later):
        return pairs.comparison(0.6 + 0.4 * overlap, later, "the same attribute, another value", "replacement")
    verbs_agree = bool(earlier.verb) and earlier.verb == later.verb
    is_single = verbs_agree and earlier.verb in lexicon.single_verbs()
    is_single = (
        is_single
        and _has_object(earlier) == _has_object(later)
        and (earlier.verb not in lexicon.stem_set("written") or earlier.passive)
        and not _states_only_frequency(earlier)
    )
    differ, objects_before = bool(later.content - earlier.content), bool(earlier.content - {earlier.verb})
    objects = both - {earlier.verb, later.verb}
    if earlier.past and later.past:
        if earlier.passive and later.passive and earlier.verb == later.verb:
            return pairs.comparison(0.6 + 0.4 * overlap, later, "the same was done, another value", "contradiction")
        if objects and objects <= earlier.indefinite & later.indefinite:
            return pairs.comparison(0.4 + 0.5 * overlap, later, "they may be about different ones", "compatible")
        if objects and overlap >= _CLOSE and verbs_agree and pairs.are_of_other_days(earlier, later):
            return pairs.comparison(0.4 + 0.5 * overlap, later, "the same was done at another time", "compatible")
        if objects and overlap >= _CLOSE and (verbs_agree or not (earlier.verb and later.verb)):
            return pairs.by_words(0.5 + 0.4 * overlap, later, "the same past event, another value", "contradiction")
        return (
            pairs.comparison(0.4 + 0.4 * overlap, later, "both may have been true", "compatible") if objects else None
        )
    is_of_them = bool(objects) and objects <= pairs.people_stems()
    if (
        later.change
        and (objects or overlap >= _TOUCHING)
        and not (is_of_them or _is_in_passing(earlier, later, overlap))
    ):
        return pairs.comparison(0.5 + 0.4 * overlap, later, "words in common, and a change", "replacement")
    if verbs_agree and differ and (_is_for_another(earlier, later) or _takes_another(earlier, later)):
        return pairs.comparison(0.4 + 0.4 * overlap, later, "the same verb, another object", "compatible")
    if earlier.numbered and earlier.numbered == later.numbered and verbs_agree and differ and objects_before:
        return pairs.comparison(0.6 + 0.4 * overlap, later, "the same number of its kind, another value", "replacement")
    if _meets_at_other_time(earlier, later):
        return pairs.comparison(0.6 + 0.4 * overlap, later, "the same at another time", "replacement")
    if earlier.only and not later.only and verbs_agree and differ and objects_before:
        return pairs.comparison(0.55 + 0.4 * overlap, later, "the earlier one excludes any other value", "replacement")
    if is_single and (objects or not (earlier.light & later.light)):
        return pairs.comparison(0.55 + 0.4 * overlap, later, "the same verb, another object", "replacement")
    if objects and later.verb and earlier.verb != later.verb and earlier.content < later.content:
        # Who is from Kiel may work in Kiel.
        return pairs.comparison(0.4 + 0.4 * overlap, later, "the later one says more", "compatible")
    own, other = earlier.content - later.content, later.content - earlier.content
    is_any = bool(own and other) and own <= earlier.indefinite and other <= later.indefinite
    is_close = (
        overlap >= _CLOSE and not is_any and (differ or pairs.number_values(earlier) != pairs.number_values(later))
    )
    if objects and ((earlier.wish and not later.head and overlap >= _TOUCHING) or is_close):
        return pairs.by_words(0.5 + 0.4 * overlap, later, "words in common, other values", "replacement")
    if both and overlap >= _TOUCHING and earlier.verb == later.verb:
        return pairs.comparison(0.4 + 0.4 * overlap, later, "the same verb, another object", "compatible")
    return None
