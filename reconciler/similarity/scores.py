"""Scores of how alike two names are, tier by tier (paper §3.1).

They run from 0 to 1, and are 0 where a guard holds.
"""

import re
from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

from rapidfuzz.distance import JaroWinkler

from worlddb.projections.tables.names.canonical import Form, forms, normalised, respelled
from worlddb.reconciler.similarity.name_guards import is_known, is_short_for, kept_apart

LEFT_OUT: Final = 0.95
"""What names count as alike that differ between the first word and the last: left out, or cut to the initial."""

SHORT_FORM: Final = 0.93
"""What names count as alike of which one has a short form of the given name."""

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
    """How alike two names are, as the caller wrote them."""
    plain = normalised(one)
    if plain and plain == normalised(other):
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
    """How alike two names are when one is a shorter form of the other.

    They are given as the texts of their forms. One is shorter by a middle name, by an initial for it, by a short form
    of the given name, or by all but the given name. 0 where nothing of the kind explains the difference. Words may be
    left out only behind a given name that is known as one: Apple is not Apple Music.
    """
    mine, theirs = one.split(), other.split()
    same, known = mine[0] == theirs[0], is_known(mine[0]) or is_known(theirs[0])
    if not same and not is_short_for(mine[0], theirs[0]):
        return 0.0
    if len(mine) == len(theirs) == 1:
        return 0.0 if same else SHORT_FORM
    if 1 in (len(mine), len(theirs)):
        return GIVEN_NAME if known else 0.0
    between = sorted((mine[1:-1], theirs[1:-1]), key=len)
    if mine[-1] != theirs[-1] or not _fits(between[0], between[1], omitting=known):
        return 0.0
    return LEFT_OUT if same else SHORT_FORM


def _fits(fewer: Sequence[str], more: Sequence[str], *, omitting: bool) -> bool:
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
    return JaroWinkler.similarity(_respelled(one), _respelled(other))


def _respelled(form: Form) -> str:
    return " ".join(sorted(_HARD_C.sub("k", respelled(word)) for word in form.words))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine similarity of two vectors of one length; 0 for one without a direction."""
    sizes = sqrt(sum(x * x for x in one)) * sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / sizes if sizes else 0.0
