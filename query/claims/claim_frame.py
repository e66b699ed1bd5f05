"""Parse a short English statement into a frame: its subject, the attribute and the value.

A frame is a bag of stems with a few features: the words that name the subject, what belongs to the subject ("Sofia's
favourite colour"), the attributes that the words stand for (a home, an age, a deadline), numbers with their units,
negation, and words of change ("now", "no longer", "moved"). Word lists find it, not a grammar, so it is sometimes
wrong; every decision based on it says so and can be undone.

Pure: the same text gives the same frame (laws 11 and 12).
"""

import re
from collections.abc import Set
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from worlddb.log.model.times import lazy
from worlddb.projections.indexes import analysis
from worlddb.query.claims import claim_attributes, foreign_statements, lexicon, quantities, wording

_ENDING: Final = lexicon.word_set(
    "stopped stop quit ceased gave-up no-longer any-more anymore broke-off lost removed cancelled ditched"
    " outgrew outgrown overcame"
)
"""Words that say that something is so no more."""
_ANY_MORE: Final = frozenset({"any-more", "anymore"})
"""Those that deny nothing beside a denial: who does not play any more plays no more."""
_MOODS: Final = {
    "will": lexicon.word_set("will shall ll starts starting begins about-to"),
    "ought": lexicon.word_set("must should ought"),
    "may": lexicon.word_set("may could would"),
    "can": lexicon.word_set("can able"),
    "while": lexicon.word_set("when whenever while until till temporarily meanwhile"),
    "used": lexicon.word_set("accustomed"),
    "wish": lexicon.word_set(
        "wants want wanted plans plan planning intends intend aims wishing applied offered refused declined rejected"
    ),
}
"""By its name, the words of a mood that is none of the plain present."""
_STATES_BEFORE: Final = lexicon.word_set(
    "was were did lived resided worked studied weighed owned belonged liked loved preferred stayed served taught"
    " played smoked drove used ate spoke wore knew kept led stood cost slept earned managed dated"
)
"""The past of verbs that tell a state: it says nothing of the present, as "married" and "moved" do."""
_BEFORE: Final = lexicon.word_set("used-to formerly previously originally childhood youth as-a-child back-then")
"""Words that say that something was so before."""


class Thing(NamedTuple):
    """The thing with which a statement begins, in words: what it is, and which of its kind."""

    noun: str
    which: frozenset[str]
    """The words before the noun: return, blue."""
    names: frozenset[str]
    """Its name: my son Max."""
    place: str
    """The preposition behind it."""
    behind: frozenset[str]
    """What follows that: "my flight to Rome"."""


ANYTHING: Final = Thing("", frozenset(), frozenset(), "", frozenset())
"""What a statement speaks of that begins with no thing."""


class Frame(NamedTuple):
    """The parsed parts of a statement, for comparison with another one."""

    key: str
    """Its text with blanks folded, in small letters and without the last full stop."""
    subject: frozenset[str]
    """The words that name the subject."""
    head: frozenset[str]
    """The stems of a possession of the subject that the statement is about: "Ana's rent"."""
    content: frozenset[str]
    """The stems of its other words, without those that mean little."""
    light: frozenset[str]
    """The stems of words that mean little by themselves: to have, to want, to use."""
    attributes: frozenset[str]
    """The attributes that its words stand for: a home, an age, a deadline."""
    verb: str
    """The stem of its verb; empty for "to be" or none."""
    numbers: frozenset[tuple[str, str]]
    """Its numbers, each with the next word."""
    times: frozenset[str]
    """Days, months and times of day that it names."""
    negated: bool
    change: str
    """The word that indicates a change; empty if there is none."""
    past: bool
    """It is in the past tense."""
    passive: bool
    wish: bool
    adds: frozenset[str]
    """The words that add to what was before, or name another thing of the kind: also, second."""
    only: bool = False
    """It says that nothing else holds: only."""
    verb_preposition: str = ""
    """The preposition after its verb, if it changes the meaning: to live with, to work on."""
    singled_out: frozenset[str] = frozenset()
    """Its topic, if a word singles that out: "the oldest tree in the garden is", "Mira's first car was"."""
    ranks: frozenset[str] = frozenset()
    """The words that single the topic out: first, oldest, only; and numbers: room 12."""
    indefinite: frozenset[str] = frozenset()
    """The stems of things with an indefinite article: "a taxi"."""
    owned: frozenset[str] = frozenset()
    """The words of the subject's possession as written, without those of change and rank: sister, rent."""
    names: frozenset[str] = frozenset()
    """The stems of its proper names besides the subject."""
    mood: str = ""
    """Empty for a plain fact; ``unsure`` for what is possible, conditional or reported; else may, will, …"""
    recurs: bool = False
    """It names recurring times: on Sundays, sometimes."""
    former: bool = False
    """It describes a past state, and nothing of the present."""
    denied: frozenset[str] = frozenset()
    """The stems and numbers of what it denies or ends; empty if it denies nothing."""
    in_part: bool = False
    """Its denial is limited to a time of the day."""
    kin: frozenset[str] = frozenset()
    """Brothers and sisters that it names; both are siblings."""
    place_preposition: str = ""
    """The preposition after a verb for living: in a town, on a street, at a number."""
    thing: "Thing" = ANYTHING
    """The thing that it begins with, if there is one: "my return flight to Rome"."""
    sort: str = ""
    """The sort of its value: a colour, a time, a place, …; empty if unknown."""
    hours: frozenset[str] = frozenset()
    """The numbers that are times of the day."""
    measured: frozenset[tuple[str, str]] = frozenset()
    """The units of its numbers, each with the thing measured: GB of storage."""
    plain_clause: str = ""
    """Its clauses that state a number or a present fact, without plans and denials that name no value; else empty."""
    numbered: frozenset[tuple[str, str]] = frozenset()
    """The numbered objects of its verb: keeps jar 3."""
    cancelled: frozenset[str] = frozenset()
    """The stems of what was cancelled."""
    times_a_year: float = 0.0
    """How many times a year it happens; 0 if it does not say."""
    sentences: tuple[str, ...] = ()
    """Its sentences about the subject, the first ones, if it has several."""
    opposed: frozenset[str] = frozenset()
    """The stems of what it denies by an opposite alone: who says closed denies open."""
    is_marked: bool = False
    """It has a word by which something is told to be otherwise than before: now, again, back, not."""
    topic: frozenset[str] = frozenset()
    """The stems of its first noun phrase beside the subject: "the Atlas debugger", "the line length limit in Atlas"."""
    identifiers: frozenset[str] = frozenset()
    """The identifiers in that phrase: ATLAS_PORT, /v1/users, C++, and the letter of "store B"."""


def tell_of_person(one: str, other: str) -> bool:
    """True if two statements tell what a person has one of, whatever else they are about: a home, but not a dose."""
    told = [frame(text) for text in (one, other)]
    common = [each.attributes if each is not None and not each.owned else frozenset[str]() for each in told]
    return not _OF_PERSONS.isdisjoint(frozenset.intersection(*common))


_OF_PERSONS: Final = frozenset({"residence", "job", "marital state", "age", "weight", "diet", "pregnancy"})
_AT_A_TIME: Final = lazy(
    r"\b(?:at|after|before|during|in the|by|until|till) (?:\d+ ?)?"
    r"(?:am|pm|o'clock|night|midnight|noon|(?:morn|even)ings?|afternoons?)\b"
)
"""What is so no more at one time of the day may be so at others."""
_MARKED: Final = lazy(
    r"(?i)n['’]t\b|\b(?:not|no longer|never|instead|rather than|back|home|again|after all|now|up to|down to"
    r"|cancell?ed|terminated|repaired|fixed|found|turned up|reappeared|recovered|takes? place"
    r"|from [\w ]{2,20} on|I (?:said|told you))\b"
)
"""Words by which something is told to be otherwise than before."""


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def frame(text: str, subject: frozenset[str] = frozenset()) -> Frame | None:
    """Parse a statement about a subject; by default about the name that it begins with.

    ``None`` for a text that is too long for one statement, has no words, or begins with no name.
    """
    if len(text) > wording.MAX_CHARACTERS:
        return None
    plain, subject = wording.resolve_subject(text := foreign_statements.in_english(text), subject)
    simple = wording.normalise_text(plain)
    tokens = wording.TOKEN.findall(unfolded := quantities.normalise_quantities(simple))
    if not tokens or not subject:
        return None
    naming = wording.naming(subject)
    rest, head, owned = _split_subject(tokens, naming)
    verb, passive = _find_verb(rest)
    joined = quantities.join_number_words(tokens)
    bare = [lexicon.SAME_WORD.get(word, word) for word in joined if word not in naming and word[0] not in "'’"]
    denied, opposed = _count_denials(tokens, bare)
    bare = [lexicon.OPPOSITE.get(word, word) for word in bare]
    content_words = [word for word in bare if word not in analysis.STOP_WORDS and word not in lexicon.NEGATIVE]
    named = _proper_names(plain, naming)
    heavy = _heavy_words(content_words, named, plain)
    goes_on = _negated_endings(tokens)
    denies = frozenset() if goes_on else _denied_stems(unfolded, naming)
    hours = quantities.clock_hours(joined)
    thing, sort = _thing_and_sort(plain, tokens, has_hours=bool(hours))
    change = _find_change(tokens, goes_on)
    return Frame(
        plain.rstrip(".!").casefold(),
        subject,
        head,
        heavy,
        lexicon.stems(word for word in content_words if word in lexicon.LIGHT_WORDS and word not in named),
        claim_attributes.stated_attributes(tokens, rest, verb, passive, owned)
        | claim_attributes.predicate_attributes(rest, plain, thing.noun, owned, sort),
        verb,
        quantities.numbers_with_units(bare),
        frozenset(word for word in tokens if word in lexicon.TIMES),
        denied % 2 == 1,
        change.replace("-", " "),
        _is_past(tokens, verb),
        passive,
        bool(rest) and rest[0] in lexicon.WISHES,
        _adding_words(tokens) | (_distinguishing_words(tokens) if not change else set()),
        not lexicon.ONLY.isdisjoint(tokens),
        _verb_preposition(rest, verb),
        *_find_singled_out(tokens, naming),
        lexicon.stems(lexicon.SAME_WORD.get(word, word) for word in _indefinite_words(tokens)),
        owned,
        lexicon.stems(named),
        "unsure" if plain.endswith("?") or _is_temporary(unfolded, tokens) else _find_mood(tokens, naming),
        _is_recurring(tokens),
        _is_former(rest, passive),
        denies,
        _AT_A_TIME.search(unfolded) is not None,
        frozenset(word.rstrip("s") for word in tokens if word in _KIN),
        _place_preposition(tokens),
        thing,
        sort,
        hours,
        frozenset(quantities.measured_things(tokens)),
        *(_find_plain_clause(plain, tokens, naming), _numbered_objects(rest, verb)),
        (denies or heavy - lexicon.stem_set("cancelled")) if _is_cancelled(tokens, goes_on) else frozenset(),
        quantities.times_a_year(simple),
        _sentences_about(plain, subject),
        opposed,
        bool(change) or _MARKED.search(plain) is not None,
        *_find_topic(plain, text, subject),
    )


_BEGINNING: Final = lazy(r"[.!?]\s+([^\W\d_]+)")
"""The first word of each sentence but the first."""


def _heavy_words(content_words: list[str], named: Set[str], plain: str) -> frozenset[str]:
    """The stems that tell most. "Go" is what somebody uses if it is a name, though to go tells little.

    A word that begins a sentence is no name for its capital.
    """
    little = WITHOUT_CONTENT - named if named else WITHOUT_CONTENT
    if named and "." in plain:
        little |= WITHOUT_CONTENT.intersection(word.casefold() for word in _BEGINNING.findall(plain))
    return lexicon.stems(word for word in content_words if word not in little and not word[0].isdecimal())


def _thing_and_sort(plain: str, tokens: list[str], *, has_hours: bool) -> tuple[Thing, str]:
    """The thing that a statement begins with, and the sort of what it states of that."""
    titled = frozenset(word.casefold() for word in wording.TITLED.findall(plain) if word[0].isupper())
    thing, end = _leading_thing(tokens, titled)
    behind = quantities.join_number_words(tokens[end:])
    return thing, claim_attributes.find_sort(behind, titled, has_hours=has_hours) if end else ""


def _find_topic(plain: str, text: str, subject: Set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of the noun phrase that a statement begins with, without its subject, and the identifiers in it.

    A phrase that ends with the subject ("my sister Clara", "the project Atlas") tells of nothing else, nor does one of
    who does something to it ("the vet put Rex on"); what belongs to the subject is its head.
    """
    if plain[:4] == "The " and plain[4:].casefold().startswith(text.split(" ", 1)[0].casefold()):
        # A note that was made a sentence: "The Ingrid arrives is on 22 December".
        plain = wording.fold_blanks(text)
    plain = _IN_BRACKETS.sub("", plain) if "(" in plain else plain
    phrase, behind = _leading_phrase(plain)
    identifiers = frozenset(word.casefold() for word in phrase if wording.IDENTIFIER.fullmatch(word) is not None)
    small = [word.casefold() for word in phrase]
    # "Store B": of what is behind the verb a letter is a value.
    identifiers |= {
        f"{before} {word}".casefold()
        for before, word in pairwise(phrase)
        if len(word) == 1 and word.isupper() and before[:1].islower()
    }
    at = [
        place
        for place, word in enumerate(small)
        if frozenset(wording.TOKEN.findall(_GENITIVE.sub("", word)) or [word]) <= subject
    ]
    # Behind a name a common noun or an abbreviation is what the name has: the Atlas debugger, Atlas CI.
    named = next((place for place in at if phrase[place].istitle()), len(small))
    at = [place for place in at if place <= named or phrase[place].istitle()]
    while at and phrase[at[-1] + 1 : at[-1] + 2] and phrase[at[-1] + 1].istitle() and phrase[at[-1]].istitle():
        at.append(at[-1] + 1)  # Ana Berger is Ana.
    owned = any(_GENITIVE.search(word) for word in small)
    if phrase and not behind:
        return UNTOLD, identifiers - subject
    if not behind or not phrase or (owned and at):
        return frozenset(), identifiers - subject
    if behind[0].casefold() in subject or small[0] in lexicon.NEGATIVE:
        return UNTOLD, identifiers - subject
    is_apposed = bool(at) and at[-1] == len(small) - 1 and lexicon.BEHIND.isdisjoint(small)
    kept = (
        _GENITIVE.sub("", word)
        for place, word in enumerate(small)
        if not (is_apposed or place in at or word in _OF_NO_TOPIC or word[0].isdecimal() or word.endswith("ly"))
    )
    return lexicon.stems(lexicon.SAME_WORD.get(word, word) for word in kept), identifiers - subject


def _leading_phrase(plain: str) -> tuple[list[str], list[str]]:
    """The words before the verb of a statement as they are written, and what is behind it; nothing without a verb."""
    raw = plain.split(" ", _MAX_OF_TOPIC)
    words = [word.strip('"“”()*`').rstrip(",.;:!?") or word for word in raw]
    if _PRONOUN.match(plain) is not None or words[0].casefold().endswith(("n't", "n’t")):
        return [], []
    for place, word in enumerate(words[:_MAX_OF_TOPIC]):
        before, after = "".join(words[place - 1 : place]), "".join(words[place + 1 : place + 2])
        small = word.casefold()
        if wording.IDENTIFIER.fullmatch(word) is None and _is_verb(word, before, after.casefold()):
            return words[:place], [*words[place + 1 :], ""]
        if raw[place][-1:] in ",;:.!?" or word in _NO_PHRASE or "n't" in small or small[1:2] in ("'", "’"):
            break
    return words[:1], []


def _is_verb(word: str, before: str, after: str) -> bool:
    """True if a word behind a noun is a verb, and not a plural: "Atlas tests live in …"."""
    small = word.casefold()
    if small in lexicon.AUX and small not in lexicon.NEGATIVE:
        return True
    if not before or before.casefold() in lexicon.DETERMINERS or (word[:1].isupper() and not before.islower()):
        return False
    if lexicon.is_past(small) or small in lexicon.OF_ONE_FORM:
        return True
    if small.endswith("s") and not small.endswith("ss"):
        return not (after in lexicon.COPULA or after in _plural_verbs()) or small in lexicon.LIKING
    return small in _plural_verbs() and _is_plural(before.casefold())


UNTOLD: Final = frozenset({""})
"""The topic of a statement without a verb, or that begins with nobody or who does something to its subject."""
_MAX_OF_TOPIC: Final = 9
_IN_BRACKETS: Final = re.compile(r" \([^()]+\)")
_GENITIVE: Final = re.compile("['’]s?$")
_PRONOUN: Final = re.compile(r"(?i)(?:i|we|he|she|it|they|you|this|that|there|what|who)\b")
_NO_PHRASE: Final = lexicon.word_set("and or but not got gets get used ne no nobody nothing none never no-longer")
"""Words that no noun phrase has."""
_OF_NO_TOPIC: Final = (
    (analysis.STOP_WORDS | lexicon.DETERMINERS | lexicon.PREPOSITIONS | lexicon.BEHIND | lexicon.CHANGE)
    | lexicon.RENEWED
    | frozenset(quantities.NUMBER_WORDS)
)
"""Words of a noun phrase that do not say what it is of."""


def _find_change(tokens: list[str], goes_on: Set[str]) -> str:
    """The first word of change that is not itself denied; empty without one."""
    said = (word for word in tokens if word in lexicon.CHANGE and word not in goes_on)
    return next((lexicon.SAME_WORD.get(word, word) for word in said), "")


def _adding_words(tokens: list[str]) -> frozenset[str]:
    return frozenset(tokens) & lexicon.ADDING | frozenset(tokens[-1:]) & {"too"}


def _place_preposition(tokens: list[str]) -> str:
    """The preposition after a verb for living; empty without one."""
    around = pairwise(tokens)
    return next((after for word, after in around if word in lexicon.LIVING and after in lexicon.PREPOSITIONS), "")


def _count_denials(tokens: list[str], bare: list[str]) -> tuple[int, frozenset[str]]:
    """How often a statement denies, and the stems of what it denies by an opposite alone, without likings."""
    denied = sum(word in lexicon.NEGATIVE or word in _ENDING for word in set(tokens))
    denied -= not (lexicon.NEGATIVE.isdisjoint(tokens) or _ANY_MORE.isdisjoint(tokens))
    opposed = [lexicon.OPPOSITE[word] for word in bare if word in lexicon.OPPOSITE]
    return denied + len(opposed), lexicon.stems(word for word in opposed if not denied and word not in lexicon.LIKING)


WITHOUT_CONTENT: Final = (
    lexicon.LIGHT_WORDS | lexicon.TIMES | lexicon.CHANGE | lexicon.ONLY | frozenset(quantities.NUMBER_WORDS)
)
MAX_FRAMED: Final = 3


def _split_sentences(text: str) -> list[str]:
    """The sentences of a text, and their parts between semicolons."""
    if text.find(". ", 1, -1) < 0 and "; " not in text and "! " not in text:
        return [text]
    return [part for each in analysis.sentences(text) for part in each.split("; ")]


def _is_about(sentence: str, subject: frozenset[str]) -> bool:
    """True if a sentence of a text about a subject begins with that, or a pronoun for it."""
    others = frozenset[str]() if "i" in subject else _THEIR | lexicon.PRONOUNS - lexicon.FIRST
    return (
        wording.names_agree(wording.leading_subject(sentence), subject)
        or sentence.split(" ", 1)[0].casefold() in others
    )


def _sentences_about(plain: str, subject: frozenset[str]) -> tuple[str, ...]:
    """Those of the first sentences of a text that are about its subject; none of a text of one sentence."""
    told = _split_sentences(plain)
    return tuple(each for each in told[:MAX_FRAMED] if _is_about(each, subject)) if len(told) > 1 else ()


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def split_clauses(text: str, subject: frozenset[str], *, at_and: bool = True) -> dict[str, bool]:
    """The clauses of a statement, between full stops and semicolons, and whether each is about a subject.

    ``at_and``: between "and" and "but", too. What follows these without a name is about the same as what stands before.
    """
    found = dict[str, bool]()
    for sentence in _split_sentences(wording.fold_blanks(text)):
        first, *others = _JOINED.split(sentence) if at_and else [sentence]
        found[first] = _is_about(first, subject)
        found |= {
            each: found[first] and (not wording.leading_subject(each) or _is_about(each, subject)) for each in others
        }
    return found


_JOINED: Final = re.compile(r",? (?:and|but) ")


def _is_cancelled(tokens: list[str], goes_on: Set[str]) -> bool:
    """True if a statement says that something was cancelled, without a denial."""
    return "cancelled" in tokens and not goes_on and lexicon.NEGATIVE.isdisjoint(tokens)


_OWN_CLAUSES: Final = lazy(r"(?i)\s[-–—]+\s|; |, (?:so|and|but) (?=(?:i|we|he|she|they|my|our|his|her|their)\b)")
"""What stands between clauses of which each says whom it tells of."""


def _find_plain_clause(text: str, tokens: list[str], naming: Set[str]) -> str:
    """The clauses without those that only plan or deny, if one of them states a number or a present fact.

    Where somebody lives or works is so now.

    "I plan to bake on Sunday - I have 12 tins now" is no plan of tins, and who is not fond of small talk, but works at
    a bank now, does not deny that. What is possible, a condition or hearsay may
    be so of all clauses.
    """
    is_of_value = quantities.has_number(tokens) or not (_AT_PRESENT | _single_words()).isdisjoint(tokens)
    told = [] if _ASIDE.isdisjoint(tokens) or not is_of_value else analysis.sentences(text)
    clauses = [clause for sentence in told for clause in _OWN_CLAUSES.split(sentence)]
    if len(clauses) <= 1:
        return ""
    words = [wording.TOKEN.findall(wording.normalise_text(clause)) for clause in clauses]
    kept = [index for index, clause_words in enumerate(words) if not _is_aside(clause_words)]
    is_mine = "i" in naming or any(
        not lexicon.FIRST.isdisjoint(clause_words) for clause_words in words if _is_aside(clause_words)
    )
    own = naming | (lexicon.FIRST if is_mine else _THEIR)
    if len(kept) == len(clauses) or not any(_states_value(words[index], own) for index in kept):
        return ""
    return "; ".join(clauses[index] for index in kept)


def _is_aside(tokens: list[str]) -> bool:
    """True if a clause plans or denies something, and names no value that another clause may refer to."""
    is_own = (_ENDING | _POINTING | (lexicon.UNSURE - _INTENDED)).isdisjoint(tokens)
    is_of_value = quantities.has_number(tokens) or not lexicon.attribute_words().keys().isdisjoint(tokens)
    return is_own and not is_of_value and not _ASIDE.isdisjoint(tokens)


def _states_value(tokens: list[str], own: Set[str]) -> bool:
    """True if a clause states an amount or a present fact of its subject."""
    is_of_another = own.isdisjoint(tokens[:1]) or (
        tokens[0] in lexicon.DETERMINERS and not (lexicon.OF_SEVERAL | lexicon.PEOPLE).isdisjoint(tokens)
    )
    if is_of_another or any(word in _STATES_BEFORE or lexicon.is_past(word) for word in tokens):
        return False
    is_now = not _AT_PRESENT.isdisjoint(tokens) or not _single_words().isdisjoint(tokens[1:2])
    is_of_value = quantities.has_number(tokens) or is_now
    return is_of_value and not _find_mood(tokens, own) and (_POINTING | _BEFORE).isdisjoint(tokens)


@cache
def _single_words() -> frozenset[str]:
    return frozenset(lexicon.SINGLE_VERBS.split()) | frozenset(f"{verb}s" for verb in lexicon.SINGLE_VERBS.split())


_INTENDED: Final = lexicon.word_set("considers considering hopes hope hoping") | _MOODS["wish"]
_ASIDE: Final = _INTENDED | lexicon.NEGATIVE
_POINTING: Final = lexicon.word_set(
    "it that this those these them there then one ones anymore any-more yet else instead"
)
"""Words for what another clause tells."""
_THEIR: Final = lexicon.word_set("her his their its")
_AT_PRESENT: Final = lexicon.word_set("now nowadays currently these-days")
_FOR_A_WHILE: Final = lazy(
    r"\b(?:left|leaves|quit|stopped)\b[^,;.]*\b(?:at (?:\d|noon|midnight|dawn)|early(?! in| this| last)"
    r"|for (?:an?|the|two|three) (?:moment|minute|hour|few|day|weekend|night|week|break|while|holiday|lunch|meeting))"
)
"""Who leaves at five, or for a week, comes back."""


def _is_temporary(plain: str, tokens: list[str]) -> bool:
    """True if a statement is about something temporary: who leaves at nine comes back, but a flight does not."""
    return _FOR_A_WHILE.search(plain) is not None and _VEHICLES.isdisjoint(tokens)


_FURTHER: Final = lexicon.word_set(
    "another other second third fourth further additional elder older younger private personal business professional"
    " spare backup emergency"
)
"""Words that tell a thing from the one that was spoken of, unless a word of change says that it took its place."""


def _distinguishing_words(tokens: list[str]) -> frozenset[str]:
    """The words that distinguish a thing from an earlier one; ordinals of floors and streets do not.

    "Every other week" tells of no further one.
    """
    around = zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False)
    return frozenset(
        word
        for before, word, after in around
        if word in _FURTHER and after not in _COUNTED and before not in ("every", "each")
    )


def _leading_thing(tokens: list[str], titled: Set[str]) -> tuple[Thing, int]:
    """The thing that a statement begins with, and the position after it."""
    owner = next((index for index, word in enumerate(tokens[:4]) if word[0] in "'\u2019"), 0)
    if tokens[0] not in lexicon.DETERMINERS and not owner:
        return ANYTHING, 0
    position, phrase = owner + 1, list[str]()

    def is_over(position: int) -> bool:
        word, after = tokens[position], [*tokens[position + 1 : position + 3], "", ""]
        if word in lexicon.AUX or word in lexicon.BEHIND:
            return True
        is_verb = lexicon.is_past(word) or (word.endswith("s") and not word.endswith("ss"))
        # "My keys to the flat", and "my lease runs for 12 months".
        is_lasting = after[0] == "for" and after[1][:1].isdecimal()
        is_noun = after[0] in lexicon.AUX or (after[0] in lexicon.BEHIND - {"at"} and not is_lasting)
        return is_verb and word not in titled and not is_noun

    while (
        position < len(tokens)
        and len(phrase) < _LONGEST
        and not (is_over(position) and (phrase or tokens[position] in lexicon.AUX))
    ):
        phrase.append(tokens[position])
        position += 1
    names = frozenset(word for word in phrase if word in titled)
    at = next((at for at in range(len(phrase) - 1, -1, -1) if phrase[at] not in titled), None)
    noun, which = ("", list[str]()) if at is None else (phrase[at], phrase[:at])
    place, behind = "", list[str]()
    if position < len(tokens) and tokens[position] in lexicon.BEHIND:
        place, to = tokens[position], position + 1
        while to < len(tokens) and len(behind) < _LONGEST and not (behind and is_over(to)):
            if tokens[to] not in lexicon.DETERMINERS:
                behind.append(tokens[to])
            to += 1
        place, behind, position = (place, behind, to) if to < len(tokens) else ("", [], position)
    told = (
        frozenset(_SPELT.get(word, word) for word in which)
        - (lexicon.RENEWED - _FORMER)
        - lexicon.CHANGE
        - lexicon.SORTING
    )
    return Thing(_SPELT.get(noun, noun), told, names, place, frozenset(behind)), position


_FORMER: Final = lexicon.word_set("old former previous")
_LONGEST: Final = 5
_COUNTED: Final = lexicon.word_set(
    "floor floors storey street avenue row grade line place class version edition draft quarter gear"
)
_VEHICLES: Final = lexicon.word_set(
    "flight train bus ferry plane coach boat tram flights trains ship bus shuttle metro taxi"
)
"""What leaves at an hour for good."""


def _negated_endings(tokens: list[str]) -> frozenset[str]:
    """The words for an end that are themselves denied: who never stopped smoking smokes."""
    return frozenset(
        word
        for place, word in enumerate(tokens)
        if word in _ENDING - _ANY_MORE and not lexicon.NEGATIVE.isdisjoint(tokens[max(place - 2, 0) : place])
    )


_CLAUSE_ENDS: Final = lazy(
    r"[,;:()]|\b(?:and|but|when|while|because|since|after|before|so|which|who|though|although|until|if)\b"
)


def _denied_stems(plain: str, naming: Set[str]) -> frozenset[str]:
    """The stems and the numbers (dates excepted) that a denial or an end covers, up to the end of its clause."""
    for clause in _CLAUSE_ENDS.split(plain):
        tokens = wording.TOKEN.findall(clause)
        place = next((at for at, word in enumerate(tokens) if word in lexicon.NEGATIVE or word in _ENDING), None)
        if place is None:
            continue
        said = [
            word
            for word in quantities.join_number_words(tokens[place + 1 :])
            if word not in naming and word[0] not in "'’"
        ]
        dated = {word for word, behind in pairwise([*said, ""]) if behind in lexicon.TIMES | _LIGHT_TIMES}
        found = {lexicon.OPPOSITE.get(each, each) for word in said if (each := lexicon.SAME_WORD.get(word, word))}
        found -= (
            dated
            | analysis.STOP_WORDS
            | lexicon.NEGATIVE
            | lexicon.LIGHT_WORDS
            | lexicon.TIMES
            | lexicon.CHANGE
            | lexicon.ONLY
        )
        return lexicon.stems(word for word in found if not (word.isdecimal() and len(word) == _DIGITS_OF_A_YEAR))
    return frozenset()


_DIGITS_OF_A_YEAR: Final = 4


def _proper_names(plain: str, naming: Set[str]) -> frozenset[str]:
    """The capitalised words, without the first one and those of the subject."""
    found = (each[0].casefold() for each in wording.TITLED.finditer(plain) if each.start() and each[0][0].isupper())
    return frozenset(
        lexicon.SAME_WORD.get(word, word) for word in found if word not in naming and word not in lexicon.TIMES
    )


_ALMOST: Final = lexicon.word_set("almost nearly")


def _find_mood(tokens: list[str], naming: Set[str]) -> str:
    """The mood of a statement; empty for a plain fact."""
    said = {
        word
        for place, word in enumerate(tokens)
        if word not in naming
        and not (word == "may" and _is_month(tokens, place))
        and not (word in ("plan", "plans") and not lexicon.DETERMINERS.isdisjoint(tokens[max(place - 3, 0) : place]))
    }
    if not lexicon.UNSURE.isdisjoint(said):
        return "unsure"
    if any(word in _ALMOST and behind in _ENDING | {"left"} for word, behind in pairwise(tokens)):
        return "unsure"
    if "going" in said and tokens[tokens.index("going") + 1 :][:1] == ["to"]:
        return "will"
    return next((mood for mood, words in _MOODS.items() if not words.isdisjoint(said)), "")


def _is_month(tokens: list[str], place: int) -> bool:
    """True if "may" at a position is a month: on 5 May, in May, May 2025."""
    beside = [*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 2]]
    before = tokens[place - 1] if place else ""
    return any(word[0].isdecimal() for word in beside) or before in _BEFORE_MONTHS or place + 1 == len(tokens)


_BEFORE_MONTHS: Final = lexicon.word_set("in on by of until till since from last next this to before after early late")
_RECURRING: Final = lexicon.word_set(
    "mondays tuesdays wednesdays thursdays fridays saturdays sundays weekends weekdays mornings afternoons evenings"
    " nights summers winters holidays sometimes occasionally seldom rarely partly part-time off-and-on on-the-side"
)
"""Words that say that something is so at times that come again."""
_EACH: Final = lexicon.word_set("every each some most alternate")
_SEASONS: Final = lexicon.word_set("spring summer autumn winter night weekend")
_DURING: Final = lexicon.word_set("in at during over")


def _is_recurring(tokens: list[str]) -> bool:
    """True if a statement names recurring times."""
    if not _RECURRING.isdisjoint(tokens):
        return True
    for place, word in enumerate(tokens):
        behind = tokens[place + 1 : place + 3]
        if word in _EACH and not (lexicon.TIMES | _LIGHT_TIMES).isdisjoint(behind[:1]):
            return True
        if word in _DURING and not _SEASONS.isdisjoint(behind):
            return True
    return False


_LIGHT_TIMES: Final = lexicon.word_set("year years month months week weeks day days time other second third")


def _is_former(rest: list[str], passive: bool) -> bool:
    """True if a statement describes a past state, or says that it is about the past."""
    if not _BEFORE.isdisjoint(rest):
        return True
    if rest[:1] in (["has"], ["have"]):
        # Who has lived there since spring lives there; who has lived there before does not.
        return rest[-1:] == ["before"]
    if rest[:1] == ["had"]:
        # Who had her baby tells what happened; who had lived, or had 16 of them, what was.
        return rest[1:2] == ["been"] or any(word in _STATES_BEFORE or word[0].isdecimal() for word in rest[1:2])
    verb = next((word for word in rest[:4] if word in _STATES_BEFORE or word not in lexicon.AUX | {"once"}), "")
    is_done = passive and not any(word.endswith("ing") for word in rest[1:4])
    return verb in _STATES_BEFORE and not is_done and lexicon.CHANGE.isdisjoint(rest)


_RANKS: Final = lexicon.word_set(
    "first second third fourth fifth last next only best worst main favourite favorite most least default on-call"
)
"""Words that single out one of a kind, beside superlatives."""
_MOST: Final = re.compile("[a-z]{3,}est$")
_NO_RANKS: Final = lexicon.word_set(
    "interest request forest harvest honest protest contest conquest tempest modest invest digest suggest arrest priest"
    " bequest inquest northwest southwest midwest manifest earnest guest chest quest"
)
"""Words that end as superlatives do and are none."""


def _find_singled_out(tokens: list[str], naming: Set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The topic before "is" or "was" if a word singles it out, and those words and numbers; else no topic."""
    place = next((at for at, word in enumerate(tokens) if word in lexicon.COPULA), 0)
    phrase = tokens[:place]
    ranks = frozenset(
        _SPELT.get(word, word) for word in phrase if word in _RANKS or (_MOST.match(word) and word not in _NO_RANKS)
    )
    numbered = _identifying_numbers(tokens)
    if not ranks:
        return frozenset(), numbered
    named = (word for word in phrase if word not in naming and word not in analysis.STOP_WORDS and word[0] not in "'’")
    return lexicon.stems(lexicon.SAME_WORD.get(word, word) for word in named) | ranks, ranks | numbered


_FIRST_WORDS: Final = 8
"""Among so many a statement says of which one of a kind it tells."""
_SIGNED: Final = re.compile(r"[a-z]+-?\d+[a-z]?$")


def _identifying_numbers(tokens: list[str]) -> frozenset[str]:
    """The numbers and codes before the verb that identify one of a kind: room 12, bug HER-17.

    "Drives 3 cars" has none: what is counted is no name, nor is a value behind the verb.
    """
    found = set[str]()
    # "Python 3.9 is the current release": the number is what is new.
    first = tokens[:_FIRST_WORDS] if lexicon.RENEWED.isdisjoint(tokens) else []
    for at, (word, after) in enumerate(pairwise(first)):
        before = tokens[at - 1] if at else ""
        begins = not before or before in lexicon.DETERMINERS or before[0] in "'’"
        is_verb = not (begins or word[0] in "'’") and (
            lexicon.may_be_verb(word) or word in lexicon.LIGHT_WORDS or word in lexicon.OF_ONE_FORM
        )
        if word in lexicon.PRONOUNS or word in lexicon.AUX or word in ("and", "or") or is_verb:
            break
        is_named = not (before in analysis.STOP_WORDS or before in lexicon.TIMES or before in lexicon.PREPOSITIONS)
        is_number = word[0].isdecimal() and not begins
        if is_named and (is_number or _SIGNED.match(word)) and (after == "of" or lexicon.may_be_verb(after)):
            found.add(word if before in lexicon.DETERMINERS else f"{before} {word}".strip())
    return frozenset(found)


def _indefinite_words(tokens: list[str]) -> list[str]:
    """The words after "a" or "an" that may belong to its noun phrase."""
    found: list[str] = []
    for place, word in enumerate(tokens):
        if word in ("a", "an"):
            for behind in tokens[place + 1 : place + 4]:
                if behind in analysis.STOP_WORDS or behind[0].isdecimal():
                    break
                found.append(behind)
    return found


def _split_subject(
    tokens: list[str], naming: frozenset[str] | set[str]
) -> tuple[list[str], frozenset[str], frozenset[str]]:
    """The words after the subject, and its possession if the statement is about that, as stems and as words."""
    place = next((at for at, word in enumerate(tokens) if word in naming), None)
    if place is None:
        return tokens, frozenset(), frozenset()
    first = tokens[place]
    while place < len(tokens) and tokens[place] in naming:
        first = tokens[place]
        place += 1
    owns = first in ("my", "our") or (place < len(tokens) and tokens[place][0] in "'’")
    if not owns:
        return tokens[place:], frozenset(), frozenset()
    place += place < len(tokens) and tokens[place][0] in "'’"
    head, owners = list[str](), list[str]()
    while (
        place < len(tokens)
        and tokens[place] not in lexicon.AUX
        and tokens[place] not in lexicon.PREPOSITIONS
        and len(head) < 3
    ):
        if head and tokens[place][0] in "'’":
            # The statement is about her mother's operation, not about her mother.
            owners, head, place = [*owners, *head], [], place + 1
            continue
        is_plural = tokens[place + 1 : place + 2] and tokens[place + 1] in lexicon.COPULA
        if head and tokens[place].endswith(("s", "ed", "went-up")) and not (tokens[place].endswith("ss") or is_plural):
            break
        if head and (tokens[place] in lexicon.PAST or (tokens[place] in _plural_verbs() and _is_plural(head[-1]))):
            break
        head.append(tokens[place])
        place += 1
    kind = [word for word in head if word not in lexicon.SORTING] or head
    owned = frozenset(
        _SPELT.get(word, word) for word in kind if word not in lexicon.CHANGE and word not in lexicon.RENEWED
    )
    stemmed = lexicon.stems(word if word in _KIN else lexicon.SAME_WORD.get(word, word) for word in kind)
    return tokens[place:], stemmed | {f"{lexicon.plain_stem(word)}'s" for word in owners}, owned | frozenset(owners)


@cache
def _plural_verbs() -> frozenset[str]:
    return frozenset(lexicon.SINGLE_VERBS.split()) | lexicon.word_set("go play like love hate eat speak come have own")


def _is_plural(word: str) -> bool:
    return word in ("children", "people") or (word.endswith("s") and not word.endswith("ss"))


_KIN: Final = lexicon.word_set("brother brothers sister sisters")
"""Words for those who belong to somebody that are not one and the same, though either is a sibling."""
_SPELT: Final = {"favorite": "favourite", "color": "colour", "house": "home", "flat": "home", "apartment": "home"}


def _find_verb(rest: list[str]) -> tuple[str, bool]:
    """The stem of the verb, and whether it is passive."""
    was = False
    for word in rest[:8]:
        if word in lexicon.COPULA:
            was = True
        elif (
            word in lexicon.AUX
            or word in lexicon.NEGATIVE
            or word in lexicon.CHANGE - {"moved", "switched", "replaced", "became"}
        ):
            continue
        elif was:
            is_participle = word.endswith("ed") or word in _PARTICIPLES
            return (
                (lexicon.plain_stem(lexicon.SAME_WORD.get(word, word)), True)
                if is_participle or word.endswith("ing")
                else ("", False)
            )
        else:
            return lexicon.plain_stem(lexicon.SAME_WORD.get(word, word)), False
    return "", False


def _numbered_objects(rest: list[str], verb: str) -> frozenset[tuple[str, str]]:
    """The objects of a verb that a number identifies: "keeps jar 3", but not "weighs 70 kg"."""
    after = next(
        (
            at
            for at, word in enumerate(rest[:6])
            if verb and lexicon.plain_stem(lexicon.SAME_WORD.get(word, word)) == verb
        ),
        None,
    )
    place = next((at + 1 for at, pair in enumerate(pairwise(rest[:6])) if pair in _IN_CARE), after)
    if place is None:
        return frozenset()
    what = [word for word in rest[place + 1 : place + 5] if word not in lexicon.DETERMINERS]
    is_thing = (
        len(what) > 1
        and _BEHIND_NAMES.issuperset(what[2:3])
        and what[0].isalpha()
        and what[0] not in lexicon.AUX
        and what[1][0].isdecimal()
        and what[0] not in _OF_ONE_NUMBER
    )
    return frozenset({(lexicon.plain_stem(what[0]), what[1])}) if is_thing else frozenset()


_IN_CARE: Final = frozenset(
    tuple(pair.split())
    for pair in (
        *("looks after", "look after", "looking after", "watches over", "cares for", "charge of"),
        *("responsible for", "accountable for"),
    )
)
"""Words behind which stands what somebody looks after."""
_OF_ONE_NUMBER: Final = (
    lexicon.OF_ONE_VALUE
    | lexicon.PREPOSITIONS
    | lexicon.LIGHT_WORDS
    | lexicon.word_set(
        "level page chapter grade class size step stage phase port channel round week lesson gear rank row lane"
        " about rent salary wage fee fare bill for over under from until till only just almost nearly exactly"
        " approximately around with by to of than up"
    )
)
"""Words before a number that is a value, or how many, and not the name of one of several things."""
_BEHIND_NAMES: Final = (
    analysis.STOP_WORDS | lexicon.PREPOSITIONS | lexicon.BEHIND | lexicon.TIMES | lexicon.CHANGE | {"every"}
)
"""What may follow a number that is a name: behind other words it counts them."""
_WAYS: Final = {
    "live": lexicon.word_set("with"),
    "work": lexicon.word_set("with on from") | lexicon.OF_SHIFTS,
    "move": lexicon.word_set("with"),
}
"""By the stem of a verb, prepositions behind which something else is told than behind all others."""


def _verb_preposition(rest: list[str], verb: str) -> str:
    apart = _WAYS.get(verb)
    place = next(
        (
            at
            for at, word in enumerate(rest[:8])
            if apart and lexicon.plain_stem(lexicon.SAME_WORD.get(word, word)) == verb
        ),
        None,
    )
    return (
        "" if not apart or place is None else next((word for word in rest[place + 1 : place + 3] if word in apart), "")
    )


_PARTICIPLES: Final = lexicon.word_set(
    "born built found bought written made given taken sold held kept led run set paid put sent shown told won lost cut"
    " known seen driven stolen broken drawn flown grown"
)


def _is_past(tokens: list[str], verb: str) -> bool:
    """True if a statement is about the past, and not about a present result of it."""
    if {"is", "are", "has", "be", "now", "these-days"} & set(tokens[:8]):
        return False
    return any(map(lexicon.is_past, tokens[:8]))
