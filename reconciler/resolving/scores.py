"""How alike two names are, tier by tier (paper §3.1). Each score is from 0 to 1, and 0 where a guard holds."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from rapidfuzz.distance import JaroWinkler

from worlddb.projections.tables.matching import Form, forms, respelled
from worlddb.projections.tables.names import normalised
from worlddb.reconciler.resolving.guards import kept_apart


class Likeness(NamedTuple):
    """The scores of two names by tier, with the guard that kept them apart, if one did."""

    exact: float = 0.0
    fuzzy: float = 0.0
    phonetic: float = 0.0
    guard: str | None = None


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
            best = Likeness(0.0, max(best.fuzzy, fuzzy(mine, theirs)), max(best.phonetic, phonetic(mine, theirs)))
    return best


def fuzzy(one: Form, other: Form) -> float:
    """Jaro-Winkler similarity of the names, or of their words in alphabetical order, whichever is greater.

    Names in a script without an alphabet are compared as they are written, for there the same letters are often
    another name.
    """
    if one.native and other.native:
        return JaroWinkler.similarity(one.native, other.native)
    return max(JaroWinkler.similarity(one.text, other.text), JaroWinkler.similarity(one.ordered, other.ordered))


def phonetic(one: Form, other: Form) -> float:
    """Jaro-Winkler similarity of the respelled names if they sound the same, else 0.

    Soundex alone has John and Jane collide, which is why the letters are asked too.
    """
    if one.sound != other.sound:
        return 0.0
    return JaroWinkler.similarity(_respelled(one), _respelled(other))


def _respelled(form: Form) -> str:
    return " ".join(sorted(map(respelled, form.words)))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine similarity of two vectors of one length; 0 for one without a direction."""
    sizes = sqrt(sum(x * x for x in one)) * sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / sizes if sizes else 0.0
