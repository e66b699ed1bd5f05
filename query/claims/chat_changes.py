"""Find what a message in a chat claims, and whether it tells in passing that something asked for has changed.

People name a thing once, and say of it later "they pushed me to the 16th". What asks, was only considered, is over, or
is told of somebody or something else changes nothing.
"""

import re
from collections.abc import Callable, Collection
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from worlddb.log.model import times
from worlddb.log.model.times import lazy
from worlddb.projections.indexes import analysis
from worlddb.query.claims import asked_terms, lexicon, quantities, wording
from worlddb.query.claims import claim_frame as frames
from worlddb.query.claims.asked_terms import Asked


def claims_in(message: str, asked: Asked, question: str = "") -> str:
    """The clauses of a message that tell of what a question asks, one of each sentence; empty without any.

    "Hey, so I moved to Porto, boxes everywhere" says "I moved to Porto". Of sentences about several people only those
    are given that are about the people in ``question``, if some are.
    """
    return _claims_in(message[:_READ], asked, people_in(question))


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _claims_in(beginning: str, asked: Asked, people: frozenset[str]) -> str:
    found = []
    said = _asked_words_in(beginning, asked)

    def has_any(text: str) -> bool:
        return any(map(text.casefold().__contains__, said))

    for each in filter(has_any, analysis.sentences(beginning)) if said else ():
        words = _stems_in(each)
        if asked.all.isdisjoint(words):
            continue
        clauses = [_GREETING.sub("", clause, 1) for clause in _CLAIM_ENDS.split(each)]
        told = _GREETING.sub("", each, 1)
        # What is added by "also" or "too" must not lose the word.
        if lexicon.ADDING.isdisjoint(words) and len(clauses) > 1:
            told = max(clauses, key=lambda clause: (_fit(clause, asked) if has_any(clause) else (0, 0), len(clause)))
        told = _BY_ME.sub(_with_me, _SAID.sub("", told, 1), 1)
        if told and _ASKING.search(told) is None:
            found.append(_IS_MINE.sub(r"\2 \3 is \1", f"{told[:1].upper()}{told[1:].rstrip('.!')}."))
    return " ".join(_of_named(found, people)[: frames.MAX_FRAMED])


def _asked_words_in(text: str, asked: Asked) -> list[str]:
    """What may be words of a question in a text, each in small letters; a text without them has none of its stems.

    To take all sentences of a message apart takes many times as long, and few have one. Of a text that is not in ASCII
    nothing is known, as if it had one everywhere.
    """
    if not text.isascii():
        return [""]
    sought, others = _sought_of(asked.all)
    # "10th" is two words of a claim.
    parts = " ".join(map(" ".join, _BEHIND_DIGITS.findall(text)))
    return [*sought.matched(f"{text} {parts}"), *filter(text.casefold().__contains__, others)]


_BEHIND_DIGITS: Final = re.compile(r"(?<![^\W_])(\d+)([^\W\d_][^\W_]*)")


@lru_cache(maxsize=lexicon.MAX_QUESTIONS)
def _sought_of(stems: frozenset[str]) -> tuple[analysis.Sought, frozenset[str]]:
    """What finds the words with some stems, and those words that have other signs than letters and digits."""
    words = stems.union(word for word, one in lexicon.SAME_WORD.items() if lexicon.plain_stem(one) in stems)
    plain = {word for word in words if word.isascii() and word.isalnum() and len(word) < analysis.MAX_TOKEN_BYTES}
    return analysis.sought_stems(stems, frozenset(plain)), words - plain


def _of_named(claims: list[str], people: frozenset[str]) -> list[str]:
    """The claims, without those of others if some are of these people: of Mila's allergy, not of Theo's."""
    told = [lexicon.stems(wording.leading_subject(claim)) for claim in claims]
    if all(people.isdisjoint(each) for each in told):
        return claims
    known = people | lexicon.stems(lexicon.PRONOUNS)
    return [claim for claim, about in zip(claims, told, strict=True) if not about or not about.isdisjoint(known)]


def _with_me(verb: re.Match[str]) -> str:
    return f"{'I' if verb[1] else 'I am'} {verb[0].casefold()}"


def _stems_in(text: str) -> frozenset[str]:
    return frozenset(map(lexicon.stem, wording.TOKEN.findall(text.casefold())))


def _fit(clause: str, asked: Asked) -> tuple[int, int]:
    words = _stems_in(clause)
    return len(asked.telling & words), len(asked.all & words)


def answers(claim: str, asked: Asked) -> bool:
    """True if a claim has at least half of the significant words of a question."""
    return 2 * len(asked.telling & _stems_in(claim)) >= len(asked.telling)


def may_answer(claim: str, asked: Asked) -> bool:
    """True if a claim has half of the significant words of a question, or one that tells it otherwise: who moved."""
    return answers(claim, asked) or not (asked.all - asked.telling).isdisjoint(_stems_in(claim))


def names_asked(claim: str, asked: Asked) -> bool:
    """True if a claim has more than half of a question's words, but for "day", "take" and the like."""
    telling = _telling_of(asked)
    return 2 * len(telling & _stems_in(claim)) > len(telling)


def name_other_things(one: str, other: str, asked: Asked) -> bool:
    """True if two claims put another word before a noun that is asked for: the alarm code, the door code."""
    before, after = (_before_asked(claim, asked) for claim in (one, other))
    return any(before[noun].isdisjoint(after[noun]) for noun in before.keys() & after.keys())


def _before_asked(claim: str, asked: Asked) -> dict[str, frozenset[str]]:
    def tells(word: str) -> bool:
        return _may_tell(word) and word not in lexicon.ONLY_GERMAN | lexicon.NEGATIVE

    found: dict[str, frozenset[str]] = {}
    for word, noun in pairwise(wording.TOKEN.findall(claim[:1].casefold() + claim[1:])):
        is_named = noun.islower() and lexicon.stem(noun) in asked.telling
        if is_named and word.isalpha() and word.islower() and tells(word) and not word.endswith(("ing", "th")):
            found[lexicon.stem(noun)] = found.get(lexicon.stem(noun), frozenset()) | {lexicon.stem(word)}
    return found


def is_of_speaker(claim: str, asked: Asked) -> bool:
    """True if what somebody says is of themselves, or of the thing that is asked for: "my rent", "the rent"."""
    told = wording.leading_subject(claim)
    return "i" in told or (bool(told) and lexicon.stems(told) <= asked.all and _OF_OTHERS.match(claim) is None)


Change = Literal["", "perhaps", "sure"]
"""How likely a later message changes what an earlier one says of what a question asks."""


def change_told(
    question: str, asked: Asked, earlier: str, later: str, around: Callable[[], Collection[str]], *, is_soon: bool
) -> Change:
    """How likely a message tells in passing that what an earlier one of its speaker says, and a question asks, changed.

    It has another value of the kind that is asked for, shares words with the question or names the old value, and
    mostly has a word of change ("they pushed me to the 16th"). ``around`` is what was said just before and after it,
    which may tell what "it" is; ``is_soon``: it was said within two days, and may correct what it does not name. What
    asks, was only considered, is over, or is told of somebody or something else changes nothing.
    """
    if is_german(question):
        earlier, later = in_asked_words(question, earlier), in_asked_words(question, later)
    # Of two long messages words tell little.
    if not 0 < len(later) <= (_SHORT if len(earlier) > _SHORT else wording.MAX_CHARACTERS):
        return ""
    before = _asked_part(earlier[: wording.MAX_CHARACTERS], asked)
    if not before:
        return ""
    if len(later) > _SHORT:
        # What is told at length is of several things, so that a sentence stands for itself, and is less sure.
        changes = (_change_in(question, asked, before, each) for each in analysis.sentences(later))
        return "perhaps" if "sure" in changes else ""
    change = _end_told(question, asked, before, later) or _change_in(question, asked, before, later)
    return change or _change_of_unnamed(question, asked, before, later, around, is_soon=is_soon)


@lru_cache(maxsize=lexicon.MAX_QUESTIONS)
def is_german(question: str) -> bool:
    """True if a question has a word by which it is German."""
    return not lexicon.GERMAN.isdisjoint(words_of(question))


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def in_asked_words(question: str, message: str) -> str:
    """A message with the words of a German question in place of what is compounded with them, or a part of them.

    "Die Zahnarztpraxis" tells of the "Zahnarzt", "der Chor" of the "Chorprobe", and a "Handy-PIN" is of both words.
    """
    asked = words_of(question)
    telling = sorted(word for word in asked if len(word) > _PART_OF_WORD and word not in lexicon.IN_GERMAN)

    def as_asked(found: re.Match[str]) -> str:
        said = found[0]
        word = said.casefold()
        if word in asked or len(word) <= _PART_OF_WORD or word in lexicon.IN_GERMAN:
            return said
        parts = word.split("-")
        if len(parts) > 1 and asked.issuperset(parts):
            return said.replace("-", " ")
        begun = (each for each in telling if _have_a_part(each, word))
        return next((each.capitalize() if said[0].isupper() else each for each in begun), said)

    return _WORD.sub(as_asked, message)


def _have_a_part(word: str, other: str) -> bool:
    """True if one of two German words begins with the other, or both with a long one, or the first ends with the other:
    Zahnarzt and Zahnarztpraxis, Fußballtraining and Training, Tierarzt and Tierärztin."""
    word, other = word.translate(_WITHOUT_UMLAUTS), other.translate(_WITHOUT_UMLAUTS)
    return word.startswith(other) or other.startswith(word) or (len(other) >= _LAST_PART and word.endswith(other))


_WITHOUT_UMLAUTS: Final = str.maketrans("äöü", "aou")
_PART_OF_WORD: Final = 3
"""The characters of a German word that is not looked for in compounds."""
_LAST_PART: Final = 6
"""The characters of a word that stands for the compound that it ends."""


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _asked_part(message: str, asked: Asked) -> str:
    """What of a message tells of a question: a short one as a whole, or a sentence with half of the words."""
    if len(message) <= _SHORT:
        return message
    telling = _telling_of(asked)
    best = max(analysis.sentences(message), key=lambda one: len(content_of(one) & telling))
    return best if 2 * len(content_of(best) & telling) >= len(telling) else ""


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _end_told(question: str, asked: Asked, earlier: str, later: str) -> Change:
    """How likely a message says that a state is over for which a question asks: who owed has paid, what broke works.

    It names whom or what the question does; else it is a guess.
    """
    is_asked = _kind_of(question) == "polar" and _UNDONE.search(question) is not None
    if not is_asked or not _DONE.search(told := _told_of(question, later)):
        return ""
    people, known = people_in(question), content_of(earlier) | content_of(question)
    if people:
        return "" if people.isdisjoint(_stems_in(told)) else "sure"
    if _is_of_another(question, told, known, asked.telling):
        return ""
    return "perhaps" if known.isdisjoint(content_of(told)) else "sure"


_UNDONE: Final = lazy(
    r"(?i)\b(?:owe[sd]?|len[dt]|borrow\w*|can|may|able|allowed|broken|down|out of order|closed|shut|ill|sick|hurt\w*"
    r"|injured|wait\w*|missing|lost|gone|overdue|late|fight\w*|argu\w*|angry|mad|upset|away|on (?:call|duty|leave)"
    r"|schulde\w*|geliehen|dar[fn]|dürfen|kann|können|kaputt|krank|gesperrt|geschlossen|zu|warte\w*|vermiss\w*|weg"
    r"|verloren|streit\w*|böse|sauer|im urlaub)\b"
)
"""A state that something ends which was hoped for."""
_DONE: Final = lazy(
    r"(?i)\b(?:(?:paid|gave|given|handed|brought|sent|transferred)\b[^.!?]*\b(?:back|over|money|loan)|returned|settled"
    r"|paid (?:me|us|him|her|them) up|all[ -]clear|cleared|green light|again|fixed|repaired|mended|healed|recovered"
    r"|reopen\w*|(?:is|are|am|['’]s|['’]m) (?:open|well|better|back|here|even|over)|arrived|turned up|found"
    r"|made up|apologi[sz]ed|wieder|zurück\w*|überwiesen|beglichen|repariert|geheilt|angekommen|gefunden"
    r"|aufgetaucht|vertragen|versöhnt|entschuldigt|vorbei)\b"
)
"""What ends one: it is paid, allowed, whole or here again."""


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _change_in(question: str, asked: Asked, earlier: str, later: str) -> Change:
    """The same for what shares words with the question, or names the old value."""
    telling, named, new = _telling_of(asked), content_of(question), content_of(later)
    old = _old_in(earlier, telling) - named
    kind, before = _kind_of(question), _values_of(earlier)
    shared, has_old = telling & new, not (old - lexicon.stem_set(_OF_ANY_THING)).isdisjoint(new)
    if kind == "place":
        # A name may be who was there, unless it is said to be off.
        is_off = _sign_of(_told_in(later)) == _REPLACED
        has_old = not ((before.places | (before.names if is_off else frozenset())) - telling - named).isdisjoint(new)
    elif kind in ("time", "number") and not has_old and any(map(later.casefold().__contains__, before.dates)):
        # "No longer on Mondays" is of what was on Mondays.
        has_old = _sign_of(_told_in(later)) == _REPLACED and not before.dates.isdisjoint(_values_of(later).dates)
    # Few questions name a date, and most messages end here: to read all values of one takes long.
    dates = _values_of(question).dates
    is_dated = bool(dates) and not dates.isdisjoint(_values_of(later).dates)
    # "New number" may be of a phone, or of a locker.
    is_loose = not asked.telling.isdisjoint(new)
    # Whom or what it is about tells of everything of theirs.
    is_named = bool(kind) and not (named - asked.telling).isdisjoint(new)
    if not (is_loose or has_old or is_dated or is_named) or not (told := _told_of(question, later)):
        return ""
    # "Ravi walks" names no walks.
    if any(name_other_things(f" {earlier}", f" {clause}", asked) for clause in _CLAIM_ENDS.split(told) if clause):
        return ""
    # Of whom only the name is said, it is so still, unless they are called otherwise.
    if kind == "name" and not shared and _CALLED.match(question) and _RENAMED.search(told) is None:
        return ""
    is_of_them = has_old or _may_be_of(people_in(question), told)
    sign = _sign_of(told)
    known = content_of(earlier) | named | telling
    fits = _value_fits(question, earlier, told, sign, has_old=has_old or bool(shared))
    if not fits or (not has_old and _is_of_another(question, told, known, telling)):
        return ""
    topic = (_topic_of(question, earlier, told, shared, telling, sign) or is_loose) + is_dated
    if fits == _FITS:
        is_instead = sign == _REPLACED and topic > 0 and kind != "name"
        is_gone = has_old and _is_gone(question, told, kind, sign, has_topic=topic > 0)
        is_close = topic > 1 or is_instead or is_gone
        if sign and is_close and is_of_them:
            return "sure"
        if is_named or not is_of_them:
            return "perhaps" if sign >= _CHANGED else ""
        return "perhaps" if sign or (topic > 1 and kind in _TYPED) or (topic > 0 and has_old) else ""
    is_close = topic > 1 or has_old
    if sign == _REPLACED and is_close:
        return "sure"
    return "perhaps" if sign and is_close else ""


_TYPED: Final = ("time", "number", "place")
"""The kinds of values that another one takes the place of, though nothing says so."""


def _is_gone(question: str, told: str, kind: str, sign: int, *, has_topic: bool) -> bool:
    """True if what names the old value says that it is so no more, not only that something is new with it."""
    if kind in ("time", "number"):
        return sign == _REPLACED and not people_in(question).isdisjoint(_stems_in(told))
    if has_topic:
        return True
    # Who "has a new assistant" still does what was asked, and who "started at the bank" is still there.
    return sign > _SHIFTED_A_LITTLE if kind == "place" else kind != "name" or _ONLY_NEW.search(told) is None


def _is_of_another(question: str, told: str, known: frozenset[str], telling: frozenset[str]) -> bool:
    """True if a sentence is about somebody or something of which nothing was said.

    "My sister's rent", "my suitcase weighs 23 kilos", "the printer paper moved", "Lea moved her trial". What is told
    of "it", "us" or "the rent" behind that may still be what changed.
    """
    return any(_begins_with_another(question, one, known, telling) for one in analysis.sentences(told))


def _begins_with_another(question: str, sentence: str, known: frozenset[str], telling: frozenset[str]) -> bool:
    first, *others = _CLAIM_ENDS.split(_GREETING.sub("", sentence, 1))
    said = _WORD.findall(first)
    words = [word.casefold() for word in said]
    is_begun = words[:1] != [] and words[0] in _ARTICLES
    nouns = words[is_begun:]
    around = enumerate(pairwise([*nouns, ""]))
    end = next((at for at, (word, after) in around if word in _NOT_IN_NOUN or (at and _is_verb(word, after))), 0)
    phrase = [word.removesuffix("'s").removesuffix("’s") for word in nouns[:end]]
    thing = [lexicon.stem(lexicon.SAME_WORD.get(word, word)) for word in phrase if _may_tell(word)]
    behind = [*zip(nouns[end - 1 :], nouns[end:], nouns[end + 1 :], strict=False)] if thing else []
    owned = {word for before, word, noun in behind if lexicon.stem(noun) in telling and before not in _BEFORE_PLACES}
    is_whose = bool(people_in(question)) or _WHOSE.search(question) is not None
    if known.isdisjoint(thing) and is_whose and said[:1] != [] and not _THEIRS.isdisjoint(owned):
        return True
    if _kind_of(question) == "place" and not _ANY.isdisjoint(owned):
        return True
    if not (_REFERRED.isdisjoint(words_of(sentence)) and _ARTICLES.isdisjoint(owned) and _THEIRS.isdisjoint(owned)):
        return False
    if any(telling & _stems_in(each) for each in others if each):
        return False
    if known.isdisjoint(thing):
        return bool(thing) and (is_begun or not _related().isdisjoint(thing) or nouns[:end] != phrase)
    is_other = not _OTHER.isdisjoint(phrase) or any(each not in known for each in thing)
    return is_other and (thing[-1] in known or _kind_of(question) in ("place", ""))


def _is_verb(word: str, after: str) -> bool:
    """True if a word may be the verb behind a noun; "lessons" in "lessons went up" is none."""
    return lexicon.may_be_verb(word) and not (word[-1] == "s" and (after in lexicon.AUX or lexicon.is_past(after)))


_THEIRS: Final = lexicon.word_set("its their his her")
_ANY: Final = lexicon.word_set("a an")
_OTHER: Final = lexicon.word_set("other another")
_REFERRED: Final = lexicon.FIRST - {"my", "our"} | lexicon.word_set("it that this them those they")
_BEFORE_PLACES: Final = lexicon.PREPOSITIONS | lexicon.word_set("next to for from with")
_NOT_IN_NOUN: Final = (
    lexicon.ONLY_GERMAN
    | lexicon.AUX
    | _BEFORE_PLACES
    | lexicon.word_set("now and or the a an my our has have again hat war")
)


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _told_of(question: str, later: str) -> str:
    """The sentences that a message tells, without those of what somebody else did, or of another thing.

    "Lea moved her trial" changes nothing of Noah's, "the school changed its password" nothing of ours, "they moved the
    printer to desk 3" nothing of my desk, and who gives up football is as allergic as before. What is so today does not
    say what usually is.
    """
    told = _told_in(later)
    is_once = _USUALLY.search(question) is not None and _ONCE_ONLY.search(later) is not None
    return "" if is_once and _FROM_NOW.search(later) is None else told


def changes_another(question: str, asked: Asked, earlier: str, later: str) -> bool:
    """True if what a message says for sure is of somebody or something else than was asked, or of today only."""
    told = _told_in(later)
    return bool(told) and not _told_of(question, later)


def agree_in_times(question: str, one: str, other: str) -> bool:
    """True if a question asks for a time, and two claims name the same one; one may leave out the day, or the hour."""
    if _kind_of(question) != "time":
        return False
    pairs = [*zip(_values_of(one)[:3], _values_of(other)[:3], strict=True)]
    is_same = any(mine and mine == theirs for mine, theirs in pairs[:2])
    return is_same and all(mine == theirs or not (mine and theirs) for mine, theirs in pairs)


def _change_of_unnamed(
    question: str, asked: Asked, earlier: str, later: str, around: Callable[[], Collection[str]], *, is_soon: bool
) -> Change:
    """The same for what has no word of the question, nor of the earlier message."""
    telling = _telling_of(asked)
    told = _told_of(question, later)
    is_anew, is_correction = _ANEW.search(told) is not None, _CORRECTING.search(told) is not None
    sign = _sign_of(told)
    sign = sign or _SHIFTED_A_LITTLE * is_correction
    if not sign or _value_fits(question, earlier, told, sign, has_old=False) < _FITS:
        return ""
    people = content_of(question) - asked.telling
    if is_anew and not people.isdisjoint(content_of(told)):
        return "perhaps"
    if is_correction and is_soon:
        return "sure" if earlier in around() else "perhaps"
    if not is_correction and sign < _CHANGED:
        return ""
    is_near = any(2 * len(telling & content_of(each)) >= len(telling) for each in around())
    return "perhaps" if is_near else ""


def old_value(question: str, asked: Asked, earlier: str) -> str:
    """The words of a short message by which a later one would name what the earlier one answers a question with.

    Of "Birte conducts us, arms like windmills", that is Birte. Empty for a long one, for what asks or was only
    considered, and if a time, an amount, or yes or no is asked for.
    """
    is_named = _kind_of(question) in ("name", "place", "")
    if not (is_named and 0 < len(earlier) <= _SHORT and _told_in(earlier)):
        return ""
    old = _old_in(earlier, _telling_of(asked)) - content_of(question)
    names = old & _values_of(earlier).names
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(earlier))
    wanted = [word for word in words if lexicon.stem(word.removesuffix("'s").removesuffix("’s")) in (names or old)]
    return " ".join(wanted[:_FEW])


def is_planned(message: str) -> bool:
    """True if a short message tells of what was still to be when it was said: when a train leaves, where one stays."""
    return len(message) <= _SHORT and _PLANNED.search(message) is not None


_PLANNED: Final = lazy(
    r"(?i)\b(?:will|['’]ll|going to|booked|scheduled|appointment|tomorrow|next (?:week|month)"
    r"|(?:am|is|are|['’](?:m|re|s)) (?:\w+ing|due|on|at)|leaves|departs|starts|begins|gebucht|reserviert"
    r"|werden?|wird|morgen|termin|fährt|fahre|fliegt"
    r"|fliege|beginnt|ist (?:am|um))\b"
)
"""What says that something is to be."""


def names_old_value(question: str, asked: Asked, earlier: str, later: str) -> bool:
    """True if a message has a name by which an earlier one answers a question for somebody or some place."""
    if _kind_of(question) not in ("name", "place"):
        return False
    old = _old_in(earlier, _telling_of(asked)) - content_of(question)
    return not (old & _values_of(earlier).names).isdisjoint(content_of(later))


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _old_in(earlier: str, telling: frozenset[str]) -> frozenset[str]:
    """The stems of names in a message, and of the clause that tells of a question, without those of the question."""
    return (content_of(_clause_of(earlier, telling)) | _values_of(earlier).names) - telling


def _telling_of(asked: Asked) -> frozenset[str]:
    return asked.telling - lexicon.stem_set(_OF_ANY_THING) or asked.telling


_SHORT: Final = 200
"""The characters of a message that is about one thing."""
_SHIFTED_A_LITTLE, _CHANGED, _REPLACED = 1, 2, 3
"""How plainly a message says that something is otherwise: by "now", by what happened to it, by what replaced it."""
_FITS: Final = 2
"""A value of precisely the kind that is asked for."""
_FEW: Final = 3


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _told_in(message: str) -> str:
    """The clauses of a message that neither ask nor tell of what was only considered, or is over."""
    found = []
    for one in analysis.sentences(message):
        if one and not one.endswith("?"):
            clauses = (clause for clause in _CLAIM_ENDS.split(one) if clause)
            told = [each for each in clauses if _CONSIDERED.search(each) is None and _ASKING.search(each) is None]
            found.append(", ".join(told))
    return " ".join(filter(None, found))


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _sign_of(told: str) -> int:
    if _REPLACING.search(told):
        return _REPLACED
    if _CHANGING.search(told):
        return _CHANGED
    return _SHIFTED_A_LITTLE if _OF_LATE.search(told) else 0


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def content_of(text: str) -> frozenset[str]:
    """The stems of the words that tell what a message is about."""
    found = [lexicon.SAME_WORD.get(word, word) for word in words_of(text) if _may_tell(word)]
    is_german = not lexicon.GERMAN.isdisjoint(found)
    return lexicon.stems((word for word in found if word not in lexicon.IN_GERMAN) if is_german else found)


def _may_tell(word: str) -> bool:
    return len(word) > 2 and word not in _telling_nothing() and (word[0].isalpha() or word[:3].isdecimal())


@cache
def _telling_nothing() -> frozenset[str]:
    return analysis.STOP_WORDS | frames.WITHOUT_CONTENT | lexicon.AUX | lexicon.MODALS | _IN_CHATS


_OF_ANY_THING: Final = (
    "name called date day time get have going take use new currently pay cost price charge off number code"
)


def _topic_of(
    question: str, earlier: str, told: str, shared: frozenset[str], telling: frozenset[str], sign: int
) -> int:
    """2 if a message has most words of a question, or the noun that it asks for, 1 if it has any, else 0."""
    kind = _kind_of(question)
    # "My guitar lesson" is "guitar" when a time or a price is told of it.
    is_measured = kind in ("time", "number") or (not kind and bool(_values_of(earlier).amounts) and sign >= _CHANGED)
    is_exact = _says_exactly(question, told, shared)
    is_most = 2 * len(shared) > len(telling) or (is_measured and is_exact and 2 * len(shared) == len(telling))
    return 2 if shared and is_most else int(bool(shared))


def _says_exactly(question: str, told: str, shared: frozenset[str]) -> bool:
    """True if one of the shared words is the same in both: "rates" are not "my rate"."""
    return not shared.isdisjoint(lexicon.stems(words_of(question) & words_of(told)))


def words_of(text: str) -> frozenset[str]:
    """The words of a text in small letters, without the ending of a possessive."""
    return frozenset(
        word.removesuffix("'s").removesuffix("’s") for word in _WORD.findall(text.casefold().replace("_", " "))
    )


def _clause_of(message: str, telling: frozenset[str]) -> str:
    """The clause of a message that has most words of a question; the first if none has any."""
    clauses = [clause for each in analysis.sentences(message) for clause in _CLAIM_ENDS.split(each) if clause]
    return max(clauses, key=lambda clause: len(content_of(clause) & telling), default="")


class _Values(NamedTuple):
    """What a text has of what may be asked for."""

    dates: frozenset[str]
    hours: frozenset[str]
    amounts: frozenset[str]
    names: frozenset[str]
    places: frozenset[str]


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def _values_of(text: str) -> _Values:
    dates, hours, amounts = set[str](), set[str](), set[str]()
    plain = _SINCE.sub(" ", text)
    for found in _VALUE.finditer(plain):
        if found["date"]:
            dates |= {each.removesuffix("s") for each in _DATE_PART.findall(found[0].casefold())}
        elif found["past"]:
            hour = int(quantities.NUMBER_WORDS.get(found["hour"].casefold(), 0) or found["hour"])
            way = found["past"].casefold()
            hours.add(f"{hour - 1}:45" if "to" in way else f"{hour}:{'30' if 'half' in way else '15'}")
        elif found["clock"]:
            hours.add(found["clock"].replace(".", ":"))
            if "." in found["clock"]:
                amounts.add(found["clock"])
        else:
            number = found["number"].casefold().rstrip(".,").replace(",", "")
            number = (
                quantities.format_number(quantities.NUMBER_WORDS[number])
                if number in quantities.NUMBER_WORDS
                else _TIMES_OVER.get(number, number)
            )
            may_be_hour = not found["of"] and number.isdecimal() and int(number) <= _HOURS
            if found["at"] is None or not (may_be_hour and _AT.match(found["at"])):
                amounts.add(number)
            if found["at"] is not None and may_be_hour:
                hours.add(number)
    amounts.update(map(str.casefold, _RATE.findall(plain)))
    names = (name[1] or name[2] for name in _NAME.finditer(text))
    called = {
        lexicon.stem(low) for name in names if (low := name.casefold()) not in _telling_nothing() | _DATED
    } - _related()
    placed = {place.casefold() for place in _PLACED.findall(plain)}
    places = {lexicon.stem(each) for each in placed if each not in _telling_nothing()}
    return _Values(*map(frozenset, (dates, hours, amounts, called, places)))


def _value_fits(question: str, earlier: str, told: str, sign: int, *, has_old: bool) -> int:
    """:data:`_FITS` if what is told has another value of the kind that is asked for, 1 if it may have one, else 0."""
    kind = _kind_of(question)
    old, new = _values_of(earlier[: wording.MAX_CHARACTERS]), _values_of(told)
    known = _stems_in(earlier[: wording.MAX_CHARACTERS]) | _stems_in(question)
    names = {each for each in new.names if each not in known}
    if kind == "polar":
        return _FITS if sign >= _CHANGED else 0
    if kind == "time":
        has_one = (old.dates and new.dates - old.dates) or (old.hours and new.hours - old.hours)
        return _FITS if has_one or ((old.dates or old.hours) and _PUT_OFF.search(told)) else 0
    if kind == "number":
        return _FITS if old.amounts and new.amounts - old.amounts else 0
    if kind == "name":
        if old.amounts and new.amounts - old.amounts and _CALLED.match(question):
            return _FITS
        is_over = has_old and _RETURNED.search(told) is not None
        relatives = _related() & _stems_in(told) - known
        return _FITS if names or relatives or is_over else 0
    if kind == "place":
        return _FITS if any(each not in known for each in new.places) else int(bool(names) and sign >= _CHANGED)
    if (new.dates or new.hours) and not (old.dates or old.hours or has_old) and sign < _REPLACED:
        return 0
    if old.amounts and new.amounts - old.amounts:
        return _FITS
    if old.names - lexicon.stems(content_of(question)):
        return _FITS if names else int(sign >= _CHANGED and has_old)
    if (new.amounts or new.dates or new.hours) and sign < _REPLACED:
        return 0
    return int(any(each not in known for each in content_of(told)))


def kind_asked(question: str) -> str:
    """The kind of value that a question asks for first: time, number, name, place or colour; else empty."""
    if _COLOUR.match(question):
        return "colour"
    if _NUMBER.match(question):
        return "number"
    kind = _kind_of(question)
    return kind if kind in ("name", *_TYPED) else ""


_COLOUR: Final = lazy(r"(?i)\W*(?:what|which) colou?rs?\b")
_NUMBER: Final = lazy(r"(?i)\W*(?:what|which)\b[^?]* number\b")
_COLOURS: Final = lexicon.word_set(
    "black white grey gray red orange yellow green blue purple violet pink brown beige turquoise teal navy gold silver"
    " cream maroon"
)


def is_short(message: str) -> bool:
    """True if a message is about one thing."""
    return len(message) <= _SHORT


def tells_asked_kind(message: str, question: str) -> bool:
    """True if a message has a value of the kind that a question asks for, and if that asks for none.

    That is a time, a number, a name or a relative, or what stands behind a preposition of place; the question's own
    names and places do not count.
    """
    kind = kind_asked(question)
    if not kind:
        return True
    found = _values_of(message)
    if kind == "time":
        return bool(found.dates or found.hours)
    if kind == "number":
        return bool(found.amounts or found.hours)
    if kind == "colour":
        return not _COLOURS.isdisjoint(words_of(message))
    told = (found.names - found.places) | (_related() & _stems_in(message)) if kind == "name" else found.places
    return not told <= content_of(question)


@lru_cache(maxsize=lexicon.MAX_QUESTIONS)
def asked_thing(question: str) -> frozenset[str]:
    """The stems of the thing of which a question asks where, when or who it is; empty for another question."""
    found = _WHAT_IT_IS.match(question)
    return frozenset() if found is None else content_of(found[1])


_WHAT_IT_IS: Final = lazy(
    r"(?i)\W*(?:where|when|who|wo|wann|wer)(?:['’]s| is| are| was| were| ist| sind| war| waren) ([^?]+)\?*\W*$"
)


def begins_with(message: str, thing: frozenset[str]) -> bool:
    """True if a message says something of a thing, and begins with it: "the spare key is under the pot"."""
    words = [word.casefold() for word in _WORD.findall(_GREETING.sub("", message, 1))]
    nouns = words[words[:1] != [] and words[0] in _ARTICLES :]
    end = next((at for at, word in enumerate(nouns) if lexicon.stem(word) not in thing), len(nouns))
    return 0 < end < len(nouns) and (nouns[end] in lexicon.AUX or lexicon.may_be_verb(nouns[end]))


def lacks_value(question: str, one: str, other: str) -> bool:
    """True if a message has a value of the kind that a question asks for, and another, which ends nothing, has none."""
    is_told = tells_asked_kind(one, question) and not tells_asked_kind(other, question)
    return is_told and _sign_of(_told_in(other)) < _CHANGED


def _kind_of(question: str) -> str:
    found = _KIND.match(question)
    if found is None:
        return ""
    return "name" if found["called"] else next((kind for kind, said in found.groupdict().items() if said), "")


@lru_cache(maxsize=lexicon.MAX_QUESTIONS)
def people_in(question: str) -> frozenset[str]:
    """The stems of the people whom a question is about: relatives, and names that are no place."""
    # All German nouns have capitals.
    of_german = is_german(question)
    said = asked_terms.names_in_german(question) if of_german else map(str.casefold, _PERSON.findall(question))
    names = lexicon.stems(said) - lexicon.stems((*_DATED, "i"))
    return names | (_related() & _stems_in(question))


def _may_be_of(people: frozenset[str], told: str) -> bool:
    """True if what is told names one of some people, or says "she"."""
    return not people or _OF_SOMEBODY.search(told) is not None or not people.isdisjoint(_stems_in(told))


@cache
def _related() -> frozenset[str]:
    return lexicon.stems(_RELATED.replace("neighbou?r", "neighbour|neighbor").split("|"))


_OURS: Final = lexicon.word_set("the my our")
_ARTICLES: Final = _OURS | lexicon.word_set("der die das den dem mein meine unser unsere")
_HOURS: Final = 31
"""The greatest number that may be an hour, or a day of a month."""
_IN_CHATS: Final = lexicon.word_set(
    "new old got get gets getting put went goes going gone said says told called call calls found find make made makes"
    " take took taken takes taking come came comes coming thing things something someone somebody people place good bad"
    " great nice finally though anyway guess apparently thank thanks god lol haha ugh actually instead turns turned out"
    " end back off left ended moved switch like really much lot lots bit way still even ever never let have having omg"
    " okay yeah week weeks month months year years day days time times today yesterday next last half past quarter"
    " until till i'm i've i'll we're we've we'll it's that's they're they've he's she's can't don't isn't aren't won't"
    " didn't doesn't there's street road lane avenue bought booked joined signed ends move moves moving"
    " over onto through after before during without within along around about against between under up down percent"
    " euros pounds dollars kilos metres meters minutes hours square moment moments mr mrs ms dr herr herrn frau doktor"
)
"""Words of a chat that do not tell what it is about."""
_TAG: Final = "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag"
_MONAT: Final = "januar|februar|märz|mai|juni|juli|oktober|dezember"
_DAY: Final = f"(?:{'|'.join(times.DAYS)}|{_TAG})s?"
_REPLACING: Final = lazy(
    r"(?i)\b(?:instead|(?:switch|swap|replac|renam)\w*|chang(?:ed|ing) (?:it |that |them |him |her )?(?:to|for)"
    r"|in the end|(?:went|gone|going) with|settled on|opted|ended up|back (?:to|on)(?! \d)|meant|scrap"
    rf"|ma[dk]e (?:that|it) (?:\d|half|quarter|noon|{_DAY}|{'|'.join(quantities.UNITS.split()[1:])})"
    r"|scratch that|g[ai]ven? up|sold|reset|no longer|any ?more|no more|taking over|took over|takes over|stepp\w+ in"
    r"|(?:have|has|had) to (?:avoid|stop|give up)|went bust|fell through|shut(?:s| down)?|lost|stolen"
    r"|(?:done|finished) with|is off|['’]s off|packed in|cancell?ed|quit|died|passed away|let \w+ go|wants? out"
    r"|(?:dropped|pulled|backed) out|called off|traded|deprecated|never again|returned"
    r"|(?:brought|gave|given) (?:\w+ ){0,3}back"
    r"|nicht mehr|nie wieder|lieber|verloren|gestohlen|geklaut|kein\w* (?:\w+ )?mehr|stattdessen|statt"
    r"|doch (?:nicht|kein\w*|nur|wieder)|umgebucht|abgesagt|abgeblasen|storniert|ausverkauft|gewechselt|getauscht"
    r"|ersetzt|gekündigt|aufgehört|aufgegeben|verkauft|zurückgebracht|zurückgegeben|übernimmt|übernommen|erledigt"
    r"|ausgefallen|fällt aus|verworfen)\b"
)
"""What says that one thing is so no more, or took the place of another."""
_CHANGING: Final = lazy(
    r"(?i)\b(?:from (?:now on|(?:this|next) (?:week|month|year)|today|tomorrow)|as of|after all|turn(?:s|ed) out"
    r"|(?:moved|moving|push|shift|bump|chang|cancel|postpon|reschedul|rebook|delay|upgrad|downgrad|rais|lower|increas"
    r"|reduc|dropp|ditch|binn|retir|bail|upped|slipp|renew|correct|convert|reassign|assign)\w*"
    r"|(?:day|week|month|hour)s? (?:later|earlier)|put (?:\w+ ){0,3}(?:back|up|down|off|forward)"
    r"|(?:go|went|gone|going) to [£€$]?\d+|(?:\w+ed|cut|set|brought) (?:[\w-]+ ){1,4}to [£€$]?\d+"
    r"|(?:went|gone|going|goes|knocked|cut) (?:\w+ )?(?:up|down)|(?:up|down|gone|over) to|over (?:at|on|with)"
    r"|(?:call|pull|stepp|fell|fall|brought|bring|hand|gave|give|pack|ripp)\w* (?:\w+ ){0,2}"
    r"(?:off|out|down|up|through|in|back|forward|over)|off until|until further|went under|closed|blocked|broken?"
    r"|leaving|another (?:week|day|month|hour)|on (?:\w+ )?leave"
    r"|takes? (?:over|on|her|his|their)|in (?:Rente|Elternzeit)"
    r"|has left|for good|extend\w*|put (?:me|us|him|her|them) on|['’]s left"
    r"|can['’]?t (?:do|make|come|begin|start)|grew out"
    rf"|gezogen|gelegt|vorgezogen|versetzt|leitet|(?:doch )?erst (?:wieder )?(?:am|um|ab|im|nächste\w*) "
    rf"|verschoben|verlegt|schieb\w* (?:\w+ ){{0,2}}auf|umgezogen|geändert|gestiegen|gesenkt|erhöht|verlängert"
    rf"|ab (?:jetzt|sofort|heute|morgen|(?:dem )?\d+\.|nächste\w*|{_TAG}|{_MONAT})|inzwischen|mittlerweile|runter"
    r"|(?:bin|ist|sind) (?:jetzt|nun))\b"
)
"""What says that something happened to what was so."""
_OF_LATE: Final = lazy(
    r"(?i)\b(?:now|new|since|actually|found|started|stopped|gave|these days|today|this week|again|for now|wait|sorry"
    r"|left|till|until|made it|got (?:a|an|myself)|jetzt|nun|neu(?:e[nmrs]?)?|heute|wieder|nochmal|noch nur|nur noch"
    r"|so (?:it|we|i|now|that|the|they|he|she|my|our|from|\w+(?:['’]s|['’]ll| is| will)))\b"
)
"""What says that something is so since a short while ago, perhaps beside what was before."""
_CONSIDERED: Final = lazy(
    r"(?i)\b(?:(?:thought|think(?:ing)?) (?:of|about)|consider\w*|might|maybe|perhaps|looked at|tried|test drove"
    r"|offered|suggest\w*|asked (?:me )?(?:whether|if)|asked to"
    r"|(?:asks?|asked|wants?|wanted) (?:me|us|him|her|them) to"
    r"|turned (?:it|that|them|him|her) down|(?:I|we) (?:refused|declined)|wants? to|wanted to|would|could|should"
    r"|used to|ages ago"
    r"|back in the day|years? ago|(?<!since )(?<!from )last (?:year|month|time|night|week|weekend)|for once|said no"
    r"|the whole (?:weekend|week|day)|for a moment|no way|not happening|recommend\w*|swears by|applied"
    r"|if (?:I|we|they|he|she)|überleg\w*|vielleicht|vllt|könnte\w*|würde\w*|sollte\w*|möchte\w*|wollte\w*"
    r"|ich will|will ich|angeboten|falls|damals|früher|letzte[sn]? (?:jahr|monat|woche))\b"
)
"""What only may be, or is over."""
_USUALLY: Final = lazy(r"(?i)\b(?:usual|usually|normally|typically|generally|regularly|as a rule)\b")
_ONCE_ONLY: Final = lazy(r"(?i)\b(?:this (?:week|time|once|month)|next week|today|tonight|tomorrow|for once)\b")
_FROM_NOW: Final = lazy(r"(?i)\b(?:from|as of|starting|since) (?:now|this|next|today|tomorrow)\b|\bfor good\b")
_WHOSE: Final = lazy(r"(?i)\b(?:my|our|I|we|home|his|her)\b|['’]s\b(?! the\b)")
"""What says of a question whose the thing is that it asks about."""
_CORRECTING: Final = lazy(
    r"(?i)\b(?:wait|meant|(?:was|(?:got|read|had) it) wrong|scratch that|sorry|correction|actually|make that"
    r"|my mistake|oops|typo|quatsch|mein fehler|entschuldigung|(?:ich )?meinte|falsch|vertan|korrektur|verwechselt)\b"
)
"""What takes back what was just said."""
_PUT_OFF: Final = lazy(
    r"(?i)\b(?:(?:back|by|out|forward|up) (?:by )?(?:half )?(?:an?|another|one|two|three|\d+) "
    r"(?:day|week|month|hour|minute|year)s?|postponed"
    r"|(?:another|one more) (?:day|week|month|hour)|(?:day|week|month|hour|minutes?)s? (?:later|earlier)|cancell?ed"
    r"|called off|is off|['’]s off|fell through)\b"
)
"""What moves something without a new time, or calls it off."""
_ONLY_NEW: Final = lazy(
    r"(?i)\b(?:has|have|had|got|['’]s got|there['’]s|there is) (?:a|an|another|the) new\b"
    r"|\bhat (?:jetzt )?eine?n? neue[ns]?\b"
)
_ANEW: Final = lazy(r"(?i)\b(?:new|instead|chang|switch|moved?|moving)")
_RETURNED: Final = lazy(r"(?i)\b(?:returned|(?:brought|gave|given) (?:\w+ ){0,3}back|zurück(?:gebracht|gegeben))\b")
"""What ends that somebody else has something, and says who does."""
_SINCE: Final = lazy(r"(?i)\b(?:since|last|this) (?:the )?\w+")
"""From when on something is so, which is not when it takes place."""
_WORD: Final = lazy(r"\d[\d.,:]*\w*|[^\W\d_][\w'’-]*")
_TIMES_OVER: Final = {"once": "1", "twice": "2"}
_MONTH: Final = "|".join((*(each for each in times.MONTHS if each != "may"), "(?-i:May)"))
_DATE_PART: Final = lazy(rf"\d+|{'|'.join(times.MONTHS)}|{_MONAT}|{_DAY}|tomorrow|tonight|next \w+")
_VALUE: Final = lazy(
    rf"(?i)(?<![\w.,])(?:(?P<date>(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?\b"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})|\d{{1,2}}(?:st|nd|rd|th)\b"
    rf"|\d{{1,2}}\.(?: ?\d{{1,2}}\.|(?= (?:{_MONTH}|{_MONAT})\b)|(?=\W*(?:$|[^\W\d_])))"
    rf"|(?:{_MONTH}|{_MONAT})\b|{_DAY}\b|tomorrow\b|tonight\b|next (?:week|month)\b)"
    rf"|(?P<past>half past|quarter past|quarter to) (?P<hour>\d{{1,2}}|{'|'.join(quantities.UNITS.split()[1:13])})\b"
    r"|(?P<clock>\d{1,2}[:.][0-5]\d)(?!\d)"
    r"|(?P<at>(?:at|to|till|until|by|from|before|around|about|that|it|is|are|now|so|it['’]s|um|gegen) )?"
    rf"(?P<number>\d[\d.,]*(?![\d:]|s\b|-[a-z]|(?:st|nd|rd|th)\b|(?: of)? (?:{_MONTH})\b)"
    rf"|(?:{'|'.join((*quantities.NUMBER_WORDS, *_TIMES_OVER))})\b(?!-))"
    r"(?P<of> (?!days|weeks|months|mins|minutes|sharp|in|on|at|now|instead)[a-z]+s\b)?)"
)
"""A date, a time of day, or another number, with what it counts."""
_RATE: Final = lazy(
    r"(?i)\b(?:(?:dai|hour|week|fortnight|month|quarter|year)ly|(?:every|each) (?:other |second |third )?\w+"
    r"|(?:täg|stünd|wöchent|monat|jähr)lich|jede[nrs]? (?:zweite[nrs]? )?\w+)\b"
)
_AT: Final = lazy(r"(?i)(?:at|till|until|by|before|um|gegen) ")
_PLACED: Final = lazy(
    r"(?i:\b(?:at|in|to(?= (?:the|an?|our|my|his|her|(?-i:[A-ZÄÖÜ])))|near|round|around|on|into|from|behind|opposite"
    r"|beside|under|above|below|inside|outside|bei|beim|nach|im|auf|zu|zur|zum|hinter|neben|gegenüber) "
    r"(?:the |a |an |our |my |his |her |der |die |den |dem |das )?(?:(?:old|new|big|little) )?(?:\d+\w? )?)"
    r"([^\W\d_][\w'’-]+)"
)
_NAME: Final = lazy(
    r"(?:(?<=[\w,;:)] )|(?<=[(\"“])|(?<=\b[DM]r\. ))(?![DM]rs?\.)(i?[A-Z][\w-]+)"
    r"|(?:^|(?<=[.!?] ))([A-Z][\w-]+)(?=['’]s|['’]ll| (?:is|has|will|from|can|takes|took|and)\b)"
)
"""A name within a sentence, or what begins one and does or is something."""
_KIND: Final = lazy(
    r"(?i)\W*(?:\w+[,:] )?(?:(?P<time>when|(?:what|which) (?:time|day|date|month|week)\b|wann\b|um wie ?viel uhr"
    r"|an welchem tag)|(?P<number>how (?:much|many|often|long|old|far|big|tall|high)\b"
    r"|wie ?(?:viele?n?|oft|lange|alt|hoch|teuer|groß|weit|schwer)\b)|(?P<name>who|whom|we[rmn]\b)"
    r"|(?P<place>where|wo(?:hin|her)?\b)"
    r"|(?P<called>what(?:['’]s| is| are| was) (?:.*\b(?:name|called)\b)|wie heiß(?:t|en)\b)"
    r"|(?P<polar>am|is|are|do|does|did|can|will|have|has|was|were|ist|sind|hat|haben|darf|dürfen|kann|können|muss"
    r"|(?-i:[A-ZÄÖÜ][a-zäöüß]+t(?= [A-ZÄÖÜ]))"
    r"|[^\W\d_]+(?= (?:ich|wir|man|mir|uns|der|die|das|mein|meine)\b))\b)"
)
"""The kind of value that a question asks for."""
_CALLED: Final = lazy(r"(?i)\W*(?:what|wie)\b")
"""What asks how something is called, which may be a number."""
_RENAMED: Final = lazy(r"(?i)\b(?:renam\w*|call\w*|names?|named|nickname\w*|heißt|heissen|genannt|umbenannt|getauft)\b")
_RELATED: Final = (
    "mum|mom|mother|dad|father|parents|brother|sister|cousin|uncle|aunt|friend|mate|colleague|neighbou?r|flatmate"
    "|roommate|pupil|student|boss|classmate|teammate|coworker|grandma|grandpa|gran|nephew|niece|son|daughter|husband"
    "|wife|boyfriend|girlfriend|guy|woman|man|kids?|boy|girl|other people|some people"
)
_PERSON: Final = lazy(r"(?<!\bin )(?<!\bat )(?<!\bto )(?<!\bfor )(?<!\bfrom )(?<!\bof )(?<!\bon )(?<=\w )([A-Z]\w+)")
_DATED: Final = lexicon.CALENDAR | lexicon.WEEKDAYS
_OF_SOMEBODY: Final = lazy(r"(?i)\b(?:he|she|they|his|her|hers|him|their|them)\b")
_READ: Final = 1200
"""The characters of a message in which claims are looked for."""
_CLAIM_ENDS: Final = lazy(r"[,;:–—] +| +- +| but | so (?=(?:I|my|we|our|now)\b)")
"""What stands between the claims of a sentence in a chat."""
_GREETING: Final = lazy(
    r"(?i)^(?:(?:hey|hi|hello|oh|ok|okay|so|well|btw|by the way|and|but|also|actually|anyway|guess what|yes|yeah|no"
    r"|wait|sorry|haha|lol|thanks|great|because|since|now|then)\b[\s,:;.!–—-]*)+(?=\S)"
)
"""How people begin in a chat. Of a statement less goes: "no" and "now" tell something there."""
_ASKING: Final = lazy(
    r"(?i)[?]$|\b(?:looking|planning|hoping|trying|thinking|considering|wondering|interested|curious)\b"
    r"|\b(?:I'll|I['’]d|we'll|we['’]d|would|could|can you|should|want|wish)\b"
)
"""What states nothing that is so: a question, a wish, a plan."""
_OF_OTHERS: Final = lazy(r"(?:His|Her|Their|Its)\b")
_BY_ME: Final = lazy(
    r"(?i)^(?:(changed|moved|switched|started|stopped|quit|sold|bought|got|joined|left|dropped|cancell?ed|upgraded"
    r"|adopted|booked|rebooked|rescheduled|cut|gave up)|(?:getting|taking|working|living|using|driving|buying|paying"
    r"|eating"
    r"|drinking|learning|reading|seeing|going|staying|sleeping))\b(?= \S)"
)
"""A verb that begins a clause of a chat: who speaks did it, or does it."""
_IS_MINE: Final = lazy(r"^((?:[A-Z][\w.'’-]+ ?){1,4})(?<! )(?= ) is (my|our) ([a-z][a-z -]*)(?=[.])")
"""What says whose somebody is: "Emma is my manager"."""
_SAID: Final = lazy(r"(?i)^(?:(?:the|my|our) )?[\w.]+ (?:says|said|told me|confirmed|thinks)(?: that)? (?=\S)")
"""Who says so."""
