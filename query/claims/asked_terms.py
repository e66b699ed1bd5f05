"""What a question asks of statements: the stems that tell, and whether a statement has them."""

import re
from functools import cache, lru_cache
from typing import Final, NamedTuple

from worlddb.projections.indexes import analysis
from worlddb.query.claims import claim_frame as frames
from worlddb.query.claims import foreign_statements, lexicon, wording
from worlddb.query.claims.claim_frame import Frame


@lru_cache(maxsize=lexicon.MAX_QUESTIONS)
def question_terms(question: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words of a question and its significant stems; ``None`` without any, or with a possessive ("Ana's")."""
    question = foreign_statements.in_english(question)
    tokens = wording.TOKEN.findall(wording.normalise_text(wording.fold_blanks(question)))
    telling = [] if any(word[0] in "'’" for word in tokens) else _significant_words(question, tokens)
    return (frozenset(tokens), lexicon.stems(telling)) if telling else None


def asks_for_home(telling: frozenset[str]) -> bool:
    """True if the significant stems of a question ask where somebody lives."""
    return not telling.isdisjoint(_asking_stems()["residence"])


def asks_for_work(telling: frozenset[str]) -> bool:
    """True if the significant stems of a question ask for nothing but somebody's work."""
    return telling <= _asking_stems()["job"]


@lru_cache(maxsize=lexicon.MAX_QUESTIONS)
def asked_state(question: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words of a question about a state with one value, such as a home, and its significant stems; else ``None``.

    Of "which car did I drive?" the value need not have the word for its kind.
    """
    plain = _POSSESSIVE.sub("", foreign_statements.in_english(question))
    asked = question_terms(_KIND_ASKED.sub(r"\1 ", plain)) or question_terms(plain)
    of_states = lexicon.single_verbs().union(*_asking_stems().values())
    return None if asked is None or asked[1].isdisjoint(of_states) else asked


_KIND_ASKED: Final = re.compile(r"\b(which|what) (?:[\w-]+ ){1,2}(?=(?:did|do|does|was|were|is|are|am) )", re.I)
_POSSESSIVE: Final = re.compile(r"['’]s?(?= )")


def tells(one: Frame, telling: frozenset[str]) -> bool:
    """True if a statement has all significant stems of a question but its subject; who moved to a town lives there."""
    left = telling - lexicon.stems(one.subject) - one.content - one.light
    # Who cleaned a flat may live anywhere.
    names_home = "place" not in one.attributes and not one.content.isdisjoint(lexicon.stem_set("home flat"))
    states = one.attributes - ({"residence"} if names_home else set()) if not one.negated and not one.mood else ()
    return not left or any(left <= _asking_stems().get(each, frozenset()) for each in states)


@lru_cache(maxsize=lexicon.MAX_FRAMES)
def tells_state(text: str, words: frozenset[str], telling: frozenset[str]) -> bool:
    """True if a statement says of a person in a question, and of nothing else of theirs, what :func:`asked_state` asks.

    ``words`` and ``telling`` are what that gives. "Living in Brno" and "Tom and I live in Brno" are said of the asker.
    """
    text, is_mine = foreign_statements.in_english(text), not words.isdisjoint(lexicon.FIRST)
    begin = [word for word in wording.TOKEN.findall(text[: wording.LEADING].casefold()) if word not in lexicon.CHANGE][
        :1
    ]
    is_of_asker = is_mine and (
        _WITH_ME.match(text) is not None or not lexicon.single_verbs().isdisjoint(lexicon.stems(begin))
    )
    one = frames.frame(text, frozenset({"i"}) if is_of_asker else frozenset())
    if one is None or one.subject.isdisjoint(words | {"i"} if is_mine else words):
        return False
    is_at_home = asks_for_home(telling) and "place" in one.attributes
    return lexicon.stems(one.owned) <= (telling | _asking_stems()["residence"] if is_at_home else telling) and tells(
        one, telling
    )


_WITH_ME: Final = re.compile(r"(?:my )?[\w'’-]+ and I\b", re.I)


@cache
def _asking_stems() -> dict[str, frozenset[str]]:
    """The stems by which a question asks for an attribute that other words state, too."""
    return {
        "residence": lexicon.stems((*lexicon.LIVING, "home")),
        "job": lexicon.stem_set("work job employer employed"),
    }


class Asked(NamedTuple):
    """What a question asks for: its significant stems, and those of words for the attributes that they stand for."""

    telling: frozenset[str]
    all: frozenset[str]


@lru_cache(maxsize=lexicon.MAX_QUESTIONS)
def asked_of(question: str) -> Asked:
    """The stems of what a question asks for: of "where do I live", also those of a home and of moves."""
    tokens = wording.TOKEN.findall(wording.normalise_text(wording.fold_blanks(question)))
    telling = lexicon.stems(_significant_words(question, tokens)) - lexicon.stem_set("many much")
    told = telling.union(*map(lexicon.stems_of, lexicon.attributes_of(telling)))
    told = told.union(*(analysis.told_by().get(each, ()) for each in telling))
    return Asked(telling, told | lexicon.stem_set("moved") if asks_for_home(telling) else told)


def asked_stems(question: str) -> frozenset[str]:
    """The stems of which what a question asks for has one.

    Of "where do I work" those of trades are among them, and of "who is our lawyer" no other trade's.
    """
    asked = asked_of(question)
    is_of_trade = "job" in lexicon.attributes_of(asked.telling) and asked.telling.isdisjoint(_asking_stems()["job"])
    return asked.telling if is_of_trade else asked.all


@cache
def little_stems() -> frozenset[str]:
    """The stems of words that tell little of what a question asks for: to have, to use, now."""
    return lexicon.stems(lexicon.LIGHT_WORDS | lexicon.AUX | lexicon.CHANGE | lexicon.MODALS)


@lru_cache(maxsize=lexicon.MAX_QUESTIONS)
def has_only_light_words(question: str) -> bool:
    """True if a question has only names and words that mean little."""
    return not _significant_words(
        question, wording.TOKEN.findall(wording.normalise_text(wording.fold_blanks(question)))
    )


def _significant_words(question: str, tokens: list[str]) -> list[str]:
    little = analysis.STOP_WORDS | lexicon.LIGHT_WORDS | lexicon.AUX | lexicon.TIMES | lexicon.CHANGE | lexicon.MODALS
    is_german = not lexicon.GERMAN.isdisjoint(tokens)
    titled = {
        word.casefold() for word in wording.TITLED.findall(wording.fold_blanks(question))[1:] if word[0].isupper()
    }
    little |= lexicon.IN_GERMAN if is_german else titled
    said = [word for word in tokens if word not in little and word[0] not in "'’" and not word[0].isdecimal()]
    if is_german and (named := names_in_german(question)):
        # Of a question for a name alone the name tells.
        said = [word for word in said if word not in named] or said
    return [lexicon.SAME_WORD.get(word, word) for word in said]


def names_in_german(question: str) -> frozenset[str]:
    """The words of a German question that may be names: those with capitals right behind a verb, and "Mias" of hers."""
    return frozenset(" ".join(_NAMED_IN_GERMAN.findall(question)).casefold().split())


_NAMED_IN_GERMAN: Final = re.compile(
    r"(?<!\S)(?:(?!(?i:mit|seit|nicht) )(?:\w?[a-zäöüß]+t|(?i:war|hatte|will|muss|mag|darf|soll|kann|wurde))"
    r"|(?=[A-ZÄÖÜ]\w+s [A-ZÄÖÜ])) ?(?:(?:mir|uns|ich|wir|denn|eigentlich) )?"
    r"((?:(?:Frau|Herrn?|Oma|Opa|Tante|Onkel) )?[A-ZÄÖÜ]\w+)"
)
