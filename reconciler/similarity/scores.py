"""Similarity scores of two names, tier by tier (paper §3.1), and guards that keep two names apart.

Scores run from 0 to 1. They are 0 where a guard applies, however close the letters are; the result names the guard.
Numbers, generations and negations are marks of a single form (``projections/tables/names/canonical.py``); this module
has what needs two names. The table of the ``nicknames`` package has short forms of English given names: Sam for Samuel,
Mel for Melanie. It only widens what is looked up and scored; no stored table derives from it, so another version
changes none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from rapidfuzz.distance import OSA, JaroWinkler

from worlddb.projections.tables.names.canonical import GENERATIONS, Form, forms, normalise_name, respell

if TYPE_CHECKING:
    from nicknames import NickNamer

SHORTEST: Final = 3
"""Letters that a given name has at least when it is cut short; Jo may be anybody."""

MAX_OTHERS: Final = 12
"""Under how many other given names somebody is looked for."""


@lru_cache(maxsize=1)
def _load_names() -> NickNamer:
    from nicknames import NickNamer

    return NickNamer()


@lru_cache(maxsize=4096)
def equivalent_given_names(given: str) -> tuple[str, ...]:
    """Other given names that a person of this given name may use.

    They go both ways through the table, in order.
    """
    table = _load_names()
    return tuple(sorted(table.canonicals_of(given) | table.nicknames_of(given)))[:MAX_OTHERS]


@lru_cache(maxsize=65_536)
def is_short_form_of(one: str, other: str) -> bool:
    """True if one given name is a short form of the other.

    It is one by the table, or as the beginning of a name that is in it.
    """
    if one == other:
        return False
    table = _load_names()
    if other in table.nicknames_of(one) or one in table.nicknames_of(other):
        return True
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= SHORTEST and longer.startswith(shorter) and is_known(longer)


@lru_cache(maxsize=65_536)
def is_known(given: str) -> bool:
    """True if the table has the given name."""
    table = _load_names()
    return bool(table.nicknames_of(given) or table.canonicals_of(given))


TITLES: Final = {"mr": "he", "sir": "he", "lord": "he", "mrs": "she", "ms": "she", "miss": "she", "lady": "she"}

NEGATING_PREFIXES: Final = ("un", "in", "im", "il", "ir", "non", "dis", "mis", "anti", "de", "ex")
OPPOSED_PREFIXES: Final = (
    ("hyper", "hypo"),
    ("inter", "intra"),
    ("macro", "micro"),
    ("pre", "post"),
    ("over", "under"),
    ("in", "ex"),
    ("up", "down"),
)
_OPPOSED: Final = tuple(prefix for pair in OPPOSED_PREFIXES for prefix in pair)
_SAME_WORD: Final = 0.8
_SHORTEST_STEM: Final = 3
_SAME_STEM: Final = 0.9


def kept_apart(one: Form, other: Form) -> str | None:
    """The guard that forbids a fuzzy or phonetic match of two names; ``None`` if none does.

    ``None`` if none does.
    """
    if one.marks != other.marks:
        return _meaningful_marks(one, other)
    if one.initials and other.initials and one.initials != other.initials:
        return "initials"
    titles = [{TITLES[word] for word in form.words if word in TITLES} for form in (one, other)]
    if all(titles) and titles[0] != titles[1]:
        return "titles"
    mine, theirs = Counter(one.words), Counter(other.words)
    for word in mine - theirs:
        for another in theirs - mine:
            if _is_negation(word, another) or _is_negation(another, word) or _is_opposite(word, another):
                return "negation"
    return None if _have_same_words(one, other) else "words"


def _have_same_words(one: Form, other: Form) -> bool:
    """True if every word of the shorter name has a similar one in the other.

    A long name that is shared makes whole names alike that differ in the rest: Agnieszka Long and Agnieszka O'Neill.
    """
    shorter, longer = sorted((one.words, other.words), key=len)
    left = list(longer)
    for word in shorter:
        found = max(left, key=lambda each: _word_similarity(word, each))
        if _word_similarity(word, found) < _SAME_WORD:
            return OSA.distance("".join(shorter), "".join(longer)) <= 1
        left.remove(found)
    return True


@lru_cache(maxsize=65_536)
def _word_similarity(word: str, other: str) -> float:
    """Jaro-Winkler similarity, of the respelled words too.

    It misses letters that changed places in a short word, and given names that are cut short.
    """
    if is_short_form_of(word, other):
        return 1.0
    if len(word) == len(other) and OSA.distance(word, other, score_cutoff=1) == 1 and sorted(word) == sorted(other):
        return 1.0
    return max(JaroWinkler.similarity(word, other), JaroWinkler.similarity(respell(word), respell(other)))


def _meaningful_marks(one: Form, other: Form) -> str:
    differing = set((Counter(one.marks) - Counter(other.marks)) + (Counter(other.marks) - Counter(one.marks)))
    if "not" in differing:
        return "negation"
    return "generations" if differing & set(GENERATIONS.values()) else "numbers"


def _is_negation(word: str, another: str) -> bool:
    return word.startswith(NEGATING_PREFIXES) and any(
        word.startswith(prefix) and _same_stem(word[len(prefix) :], another)
        for prefix in NEGATING_PREFIXES
        if not another.startswith(prefix)
    )


def _is_opposite(word: str, another: str) -> bool:
    return word.startswith(_OPPOSED) and any(
        word.startswith(first) and another.startswith(second) and _same_stem(word[len(first) :], another[len(second) :])
        for pair in OPPOSED_PREFIXES
        for first, second in (pair, pair[::-1])
    )


def _same_stem(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= _SHORTEST_STEM and JaroWinkler.similarity(one, other) >= _SAME_STEM


LEFT_OUT: Final = 0.95
"""What names count as alike that differ between the first word and the last: left out, or cut to the initial."""

SHORT_FORM: Final = 0.93
"""The likeness of names of which one has a short form of the given name."""

GIVEN_NAME: Final = 0.92
"""What a given name alone counts as like the whole name."""


class Likeness(NamedTuple):
    """The scores of two names by tier, with the guard that kept them apart, if one did.

    ``given_name`` says that one of the two is a given name alone: it means somebody only where it fits nobody else.
    """

    exact: float = 0.0
    fuzzy: float = 0.0
    phonetic: float = 0.0
    guard: str | None = None
    given_name: bool = False


def likeness(one: str, other: str) -> Likeness:
    """Score two names as the caller wrote them."""
    plain = normalise_name(one)
    if plain and plain == normalise_name(other):
        return Likeness(exact=1.0)
    best, guard = Likeness(), None
    for mine in forms(one):
        for theirs in forms(other):
            guard = kept_apart(mine, theirs)
            if guard is not None:
                return Likeness(guard=guard)
            spelled, short, sounds = fuzzy(mine, theirs), shortened(mine.text, theirs.text), phonetic(mine, theirs)
            alone = 1 in (len(mine.words), len(theirs.words)) and len(mine.words) != len(theirs.words)
            given_name = best.given_name if max(spelled, short) <= best.fuzzy else alone and short > spelled
            best = Likeness(0.0, max(best.fuzzy, spelled, short), max(best.phonetic, sounds), None, given_name)
    return best


def fuzzy(one: Form, other: Form) -> float:
    """Jaro-Winkler similarity of the names, or of their sorted words.

    The words are in alphabetical order; the greater of the two counts. Names in a script without an alphabet are
    compared as they are written, for there the same letters are often another name.
    """
    if one.native and other.native:
        return JaroWinkler.similarity(one.native, other.native)
    return max(JaroWinkler.similarity(one.text, other.text), JaroWinkler.similarity(one.ordered, other.ordered))


def shortened(one: str, other: str) -> float:
    """The score of two names if one is a shorter form of the other.

    They are given as the texts of their forms. One is shorter by a middle name, by an initial for it, by a short form
    of the given name, or by all but the given name. 0 where nothing of the kind explains the difference. Words may be
    left out only behind a given name that is known as one: Apple is not Apple Music.
    """
    mine, theirs = one.split(), other.split()
    same, known = mine[0] == theirs[0], is_known(mine[0]) or is_known(theirs[0])
    if not same and not is_short_form_of(mine[0], theirs[0]):
        return 0.0
    if len(mine) == len(theirs) == 1:
        return 0.0 if same else SHORT_FORM
    if 1 in (len(mine), len(theirs)):
        return GIVEN_NAME if known else 0.0
    between = sorted((mine[1:-1], theirs[1:-1]), key=len)
    if mine[-1] != theirs[-1] or not _is_subsequence(between[0], between[1], omitting=known):
        return 0.0
    return LEFT_OUT if same else SHORT_FORM


def _is_subsequence(fewer: Sequence[str], more: Sequence[str], *, omitting: bool) -> bool:
    """True if the words are the others in order.

    Some may stand by their initial, and some may be left out if that is allowed.
    """
    if len(fewer) != len(more) and not omitting:
        return False
    left = iter(more)
    return all(
        any(word == each or (1 in (len(word), len(each)) and word[0] == each[0]) for each in left) for word in fewer
    )


_HARD_C: Final = re.compile("c(?![ehiy])")


def phonetic(one: Form, other: Form) -> float:
    """Jaro-Winkler similarity of the respelled names if they sound the same, else 0.

    Soundex alone has John and Jane collide, which is why the letters are asked too. A hard C is a K wherever it stands,
    as Soundex has one code for both: Marc sounds as Mark.
    """
    if one.sound != other.sound:
        return 0.0
    return JaroWinkler.similarity(_respell(one), _respell(other))


def _respell(form: Form) -> str:
    return " ".join(sorted(_HARD_C.sub("k", respell(word)) for word in form.words))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine similarity of two vectors of one length; 0 for one without a direction."""
    sizes = sqrt(sum(x * x for x in one)) * sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / sizes if sizes else 0.0


def forget() -> None:
    """Clear the caches of names, after an erasure."""
    for kept in (equivalent_given_names, is_short_form_of, is_known, _word_similarity):
        kept.cache_clear()
