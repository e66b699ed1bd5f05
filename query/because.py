"""Why two worlds may be one, in words: what the resolver wrote down as numbers, for the person who has to decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MAX_OTHERS: Final = 3
"""How many of the others who were considered are named."""
_LONGEST: Final = 60
"""Characters of a name, or of a value that a caller gave, that are shown."""

_TIERS: Final = {
    "exact": "the same name: {names}",
    "fuzzy": "names spelled alike, or one a short form of the other: {names}, {score:.3g} of 1 by Jaro-Winkler",
    "embedding": "texts close in meaning: cosine {score:.3g} of 1",
    "phonetic": "names that sound alike: {names}, {score:.3g} of 1 by Soundex and Jaro-Winkler",
}
"""What each tier of the resolver found, in its order of preference."""


def because(evidence: Mapping[str, Any], source: tuple[str, str], target: tuple[str, str], why: str) -> str:
    """One sentence from the evidence of a proposal, else from the reason of who staged it; empty without either.

    ``source`` and ``target`` are the reference and the name of either side. Evidence that is not the resolver's is
    listed as it was given.
    """
    tier = evidence.get("tier")
    if not isinstance(tier, str) or tier not in _TIERS or not isinstance(evidence.get("score"), int | float):
        given = ", ".join(f"{name} {_shown(value)}" for name, value in evidence.items() if value not in ("", None, "$"))
        return "; ".join(told for told in (given, why) if told)
    considered = [each for each in _list(evidence.get("considered")) if isinstance(each, Mapping)]
    pair = next((each for each in considered if each.get("ref") in (source[0], target[0])), {})
    # Several that are equally likely share what is written of the first of them; each has its own scores.
    scores = _scores(pair)
    tier = tier if not scores or tier in scores else next((each for each in _TIERS if each in scores), tier)
    names = " and ".join(repr(name[:_LONGEST]) for name in (source[1] or str(evidence.get("name", "")), target[1]))
    told = [_TIERS[tier].format(names=names, score=scores.get(tier, evidence["score"]))]
    if "embedding" in scores and tier != "embedding":
        told.append(f"cosine of the texts {scores['embedding']:.3g}")
    least = _mapping(evidence.get("thresholds")).get(tier)
    if isinstance(least, int | float):
        told.append(f"{least:g} is needed")
    others = [each for each in considered if each is not pair]
    if evidence.get("decision") == "ambiguous":
        told.append("it is one of several that come as near")
    if others:
        told.append(f"also weighed: {_others(others)}")
    if isinstance(evidence.get("tiebreaker"), str):
        told.append(f"{evidence['tiebreaker'][:_LONGEST]} chose")
    return "; ".join([*told, *([why] if why else [])])


def _others(others: list[Mapping[str, Any]]) -> str:
    told = []
    for each in others[:MAX_OTHERS]:
        best = max(_scores(each).values(), default=0.0)
        guard = each.get("guard")
        how = f"kept apart by {guard}" if isinstance(guard, str) and guard else f"{best:.3g}" if best else "not alike"
        told.append(f"{str(each.get('name', ''))[:_LONGEST]!r} ({how})")
    left = len(others) - MAX_OTHERS
    return ", ".join(told) + (f" and {left} more" if left > 0 else "")


def _scores(considered: Mapping[str, Any]) -> dict[str, float]:
    found = _mapping(considered.get("scores"))
    return {tier: score for tier, score in found.items() if tier in _TIERS and isinstance(score, int | float)}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _shown(value: Any) -> str:
    return str(value) if len(str(value)) <= _LONGEST else str(value)[: _LONGEST - 1] + "…"
