"""Guards that keep two names apart however close their letters are.

The answer names a guard that holds. Numbers, generations and negations are marks of one form
(``projections/tables/names/canonical.py``); here is what only shows when two names are compared. The table of the
``nicknames`` package has short forms of given names: Sam for Samuel, Mel for Melanie. It is English and kept by hand.
It only widens what is looked up and scored; no table derives from it, so another version changes no table.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import OSA, JaroWinkler

from worlddb.projections.tables.names.canonical import GENERATIONS, Form, respelled

if TYPE_CHECKING:
    from nicknames import NickNamer

SHORTEST: Final = 3
"""Letters that a given name has at least when it is cut short; Jo may be anybody."""

MAX_OTHERS: Final = 12
"""Under how many other given names somebody is looked for."""


@lru_cache(maxsize=1)
def _table() -> NickNamer:
    from nicknames import NickNamer

    return NickNamer()


@lru_cache(maxsize=4096)
def others_for(given: str) -> tuple[str, ...]:
    """The other given names that somebody of this given name may go by.

    They go both ways through the table, in order.
    """
    table = _table()
    return tuple(sorted(table.canonicals_of(given) | table.nicknames_of(given)))[:MAX_OTHERS]


@lru_cache(maxsize=65_536)
def is_short_for(one: str, other: str) -> bool:
    """True if one given name is a short form of the other.

    It is one by the table, or as the beginning of a name that is in it.
    """
    if one == other:
        return False
    table = _table()
    if other in table.nicknames_of(one) or one in table.nicknames_of(other):
        return True
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= SHORTEST and longer.startswith(shorter) and is_known(longer)


@lru_cache(maxsize=65_536)
def is_known(given: str) -> bool:
    """True if the table has the given name."""
    table = _table()
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
    """The guard that keeps two names from being fuzzily or phonetically equal.

    ``None`` if none does.
    """
    if one.marks != other.marks:
        return _marks(one, other)
    if one.initials and other.initials and one.initials != other.initials:
        return "initials"
    titles = [{TITLES[word] for word in form.words if word in TITLES} for form in (one, other)]
    if all(titles) and titles[0] != titles[1]:
        return "titles"
    mine, theirs = Counter(one.words), Counter(other.words)
    for word in mine - theirs:
        for another in theirs - mine:
            if _negates(word, another) or _negates(another, word) or _opposes(word, another):
                return "negation"
    return None if _same_words(one, other) else "words"


def _same_words(one: Form, other: Form) -> bool:
    """True if every word of the shorter name has one like it in the other.

    A long name that is shared makes whole names alike that differ in the rest: Agnieszka Long and Agnieszka O'Neill.
    """
    shorter, longer = sorted((one.words, other.words), key=len)
    left = list(longer)
    for word in shorter:
        found = max(left, key=lambda each: _alike(word, each))
        if _alike(word, found) < _SAME_WORD:
            return OSA.distance("".join(shorter), "".join(longer)) <= 1
        left.remove(found)
    return True


@lru_cache(maxsize=65_536)
def _alike(word: str, other: str) -> float:
    """Jaro-Winkler similarity, of the respelled words too.

    It misses letters that changed places in a short word, and given names that are cut short.
    """
    if is_short_for(word, other):
        return 1.0
    if len(word) == len(other) and OSA.distance(word, other, score_cutoff=1) == 1 and sorted(word) == sorted(other):
        return 1.0
    return max(JaroWinkler.similarity(word, other), JaroWinkler.similarity(respelled(word), respelled(other)))


def _marks(one: Form, other: Form) -> str:
    differing = set((Counter(one.marks) - Counter(other.marks)) + (Counter(other.marks) - Counter(one.marks)))
    if "not" in differing:
        return "negation"
    return "generations" if differing & set(GENERATIONS.values()) else "numbers"


def _negates(word: str, another: str) -> bool:
    return word.startswith(NEGATING_PREFIXES) and any(
        word.startswith(prefix) and _same_stem(word[len(prefix) :], another)
        for prefix in NEGATING_PREFIXES
        if not another.startswith(prefix)
    )


def _opposes(word: str, another: str) -> bool:
    return word.startswith(_OPPOSED) and any(
        word.startswith(first) and another.startswith(second) and _same_stem(word[len(first) :], another[len(second) :])
        for pair in OPPOSED_PREFIXES
        for first, second in (pair, pair[::-1])
    )


def _same_stem(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= _SHORTEST_STEM and JaroWinkler.similarity(one, other) >= _SAME_STEM
