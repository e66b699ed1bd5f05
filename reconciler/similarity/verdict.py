"""Judge from the scores whether a candidate is a known world, one of several, or new (paper §3.1).

The thresholds, the least scores at which the resolver is confident, are configuration of an open store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec

from worlddb.log.model import errors, limits

if TYPE_CHECKING:
    from worlddb.reconciler.similarity.scores import Likeness

TIERS: Final = ("exact", "fuzzy", "embedding", "phonetic")
"""In the order of preference."""


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, metaclass=limits.TypedFields):
    """The least scores, from 0 to 1, at which a tier is confident.

    ``fuzzy`` is Jaro-Winkler similarity; a middle name that is left out or cut to its initial makes it 0.95, a short
    form of the given name 0.93, a given name alone 0.92. ``phonetic`` is Jaro-Winkler similarity too, of respelled
    names whose sound is the same. ``embedding`` is cosine similarity. The best candidate of a tier stands alone if it
    leads by ``margin``; otherwise the answer is ambiguous, and up to ``most`` proposals are staged for somebody to
    choose between.

    Raises:
        InputError: a value is no number between 0 and 1, or ``most`` is less than 1.
    """

    fuzzy: float = 0.92
    phonetic: float = 0.9
    embedding: float = 0.88
    margin: float = 0.02
    most: int = 3

    def __post_init__(self) -> None:
        for name in ("fuzzy", "phonetic", "embedding", "margin"):
            value: object = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise errors.InputError(f"The threshold {name} is {errors.shown(value)}", "Give a number from 0 to 1")
        most: object = self.most
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise errors.InputError(
                f"most is {errors.shown(most)}", "Give the number of proposals that may be staged, 1 or more"
            )


MAX_MOST: Final = 2**32 - 1
"""The most that can be set for a world: it is stored in four bytes."""


def checked_setting(fuzzy: float, phonetic: float, embedding: float, margin: float, most: int) -> Thresholds:
    """Thresholds for a world, checked.

    Raises:
        InputError: they are none, or ``most`` is more than 4,294,967,295.
    """
    checked = Thresholds(fuzzy=fuzzy, phonetic=phonetic, embedding=embedding, margin=margin, most=most)
    limits.checked_number(most, "most", 1, MAX_MOST)
    return checked


ByType = Mapping[str, Thresholds]


class StoreThresholds:
    """The thresholds of an open store.

    For each type its own hold, where it has some, and else the general ones. They hold where none are set for a world;
    those that are to decide ``instead`` hold everywhere.
    """

    def __init__(self, given: Thresholds | ByType | None = None, *, instead: bool = False) -> None:
        by_type: dict[str, Thresholds] = {} if given is None or isinstance(given, Thresholds) else _checked(given)
        self._general = given if isinstance(given, Thresholds) else Thresholds()
        self._by_type = by_type
        self.instead = instead

    def of(self, type_name: str) -> Thresholds:
        """The thresholds for candidates of a type."""
        return self._by_type.get(type_name, self._general)


def _checked(given: Any) -> dict[str, Thresholds]:
    if not isinstance(given, Mapping):
        raise errors.InputError(
            f"resolver is {type(given).__name__}", "Give Thresholds(...), or a dict of them by type"
        )
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, Thresholds):
            raise errors.InputError(
                f"resolver[{errors.shown(name)}] is {type(value).__name__}", "Give Thresholds(...) for each type"
            )
    return dict(given)


# -- the verdict

MAX_EVIDENCE: Final = 8
"""How many of the considered worlds the evidence lists."""


class Considered(NamedTuple):
    """A world that the candidate was compared with, by their nearest names, and the scores."""

    node: int
    ref: str
    name: str
    known_as: str
    likeness: Likeness
    embedding: float = 0.0

    def score(self, tier: str) -> float:
        return self.embedding if tier == "embedding" else float(getattr(self.likeness, tier))

    def as_evidence(self) -> dict[str, Any]:
        """The record for the evidence, without the names, which belong to the other world."""
        scores = {tier: round(self.score(tier), 4) for tier in TIERS if self.score(tier)}
        guard = {"guard": self.likeness.guard} if self.likeness.guard else {}
        return {"ref": self.ref, "scores": scores, **guard}


class Contender(NamedTuple):
    """A world that a tier is confident of."""

    considered: Considered
    tier: str
    score: float


class Tiebreaker(Protocol):
    """Chooses between contenders: a program, a person, a model.

    Its answer is recorded and never asked for again.
    """

    def __call__(self, contenders: Sequence[Contender]) -> Sequence[Contender]:
        """Those that are left: one is an answer, several are ambiguous, none is somebody new."""


class Resolved(NamedTuple):
    """One world that the candidate probably is, with the evidence."""

    match: Considered
    evidence: dict[str, Any]


class Ambiguous(NamedTuple):
    """Several worlds that the candidate may be, the likeliest first, with the evidence."""

    matches: tuple[Considered, ...]
    evidence: dict[str, Any]


class New(NamedTuple):
    """A new world; the worlds that it was compared with."""

    evidence: dict[str, Any]


Verdict = Resolved | Ambiguous | New


class ByTier:
    """The default tiebreaker: by tier, then by the highest score.

    Exact comes before fuzzy before embedding before phonetic.
    """

    def __init__(self, margin: float) -> None:
        self._margin = margin

    def __call__(self, contenders: Sequence[Contender]) -> Sequence[Contender]:
        if not contenders:
            return contenders
        tier = min((found.tier for found in contenders), key=TIERS.index)
        ranked = sorted(
            (found for found in contenders if found.tier == tier),
            key=lambda found: (-found.score, found.considered.node),
        )
        return [found for found in ranked if ranked[0].score - found.score <= self._margin]


def name_of(tiebreaker: Tiebreaker) -> str:
    """The name of a tiebreaker, as the evidence has it."""
    return str(getattr(tiebreaker, "__qualname__", type(tiebreaker).__qualname__))


def judge(
    considered: Sequence[Considered],
    thresholds: Thresholds,
    tiebreaker: Tiebreaker | None = None,
    *,
    looked_at: Mapping[str, int] | None = None,
) -> Verdict:
    """Give the verdict on a candidate, with the evidence for it.

    The evidence is who was considered, the scores, and what decided. Each of those considered stands for the first tier
    that is confident of it. A given name alone that fits several says nothing about any of them. ``looked_at`` is kept
    with the evidence.
    """
    least = {"exact": 1.0} | {tier: getattr(thresholds, tier) for tier in TIERS[1:]}
    contenders: list[Contender] = []
    for each in considered:
        tier = next((tier for tier in TIERS if each.score(tier) >= least[tier] > 0), None)
        if tier is not None:
            contenders.append(Contender(each, tier, each.score(tier)))
    if sum(each.considered.likeness.given_name for each in contenders) > 1:
        contenders = [each for each in contenders if not each.considered.likeness.given_name]
    remaining = list((tiebreaker or ByTier(thresholds.margin))(contenders))
    if any(each not in contenders for each in remaining):
        raise errors.InputError(
            "The tiebreaker returned a world that is not a candidate", "Return one of the remaining candidates"
        )
    evidence: dict[str, Any] = {
        "decision": "new" if not remaining else "resolved" if len(remaining) == 1 else "ambiguous",
        "considered": [each.as_evidence() for each in _likeliest_first(considered)],
        "considered_in_all": len(considered),
        "thresholds": msgspec.to_builtins(thresholds),
    }
    if looked_at:
        evidence["looked_at"] = dict(looked_at)
    if tiebreaker is not None:
        evidence["tiebreaker"] = name_of(tiebreaker)
    if not remaining:
        return New(evidence)
    best = remaining[0]
    evidence = {"tier": best.tier, "name": best.considered.name, "score": round(best.score, 4), **evidence}
    if len(remaining) == 1:
        return Resolved(best.considered, evidence)
    return Ambiguous(tuple(found.considered for found in remaining[: thresholds.most]), evidence)


def _likeliest_first(considered: Sequence[Considered]) -> list[Considered]:
    """The likeliest worlds first, those that a guard excluded last."""

    def rank(each: Considered) -> tuple[float, int]:
        return -max(each.score(tier) for tier in TIERS), each.node

    return sorted(considered, key=rank)[:MAX_EVIDENCE]
