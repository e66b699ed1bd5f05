"""Judge from the scores whether a candidate is a known world, one of several, or new (paper §3.1)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from worlddb.log.model.errors import InputError
from worlddb.reconciler.similarity.scores import Likeness
from worlddb.reconciler.similarity.thresholds import TIERS, Thresholds

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
        raise InputError(
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
