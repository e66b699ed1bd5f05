"""The evidence of a proposal as it is shown: who else was considered, as far as whoever reads it may know of them.

What is kept says whom the resolver held against whom by references alone. Names are looked up when the evidence is
read, so that they go with an erasure, and so that a view confined to a world learns nothing of others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from worlddb.projections.tables.reads.asof import newest_version
from worlddb.query.sight import Sight

_LINEAGE: Final = re.compile("[0-9a-f]{32}")
_CONSIDERED: Final = "considered"
_IN_ALL: Final = "considered_in_all"
_TUNED: Final = "tuned"
"""The world that the thresholds were set for, where they are not those of the open store."""
_THRESHOLDS: Final = "thresholds"
_LOOKED_AT: Final = "looked_at"


def evidence_shown(
    sight: Sight,
    evidence: dict[str, Any],
    sides: tuple[str, str],
    seq: int,
    is_told_of: Callable[[int], bool] | None = None,
) -> dict[str, Any]:
    """The evidence for one of two ``sides`` with the names, as of a commit, of those who were considered.

    Whoever is not seen, or not one that ``is_told_of`` says yes to, is left out and not counted, and the verdict is the
    one on the others. Evidence that a caller gave is theirs, and shown as it is.
    """
    considered = evidence.get(_CONSIDERED)
    if not isinstance(considered, list) or not all(map(_is_ours, considered)):
        return evidence
    given, evidence = evidence, _thresholds_shown(sight, evidence, seq, is_told_of)
    if sight.place.is_confined or is_told_of is not None:
        # How many names were looked at counts those of others too.
        evidence = {name: value for name, value in evidence.items() if name != _LOOKED_AT}
    shown = []
    for each in considered:
        node = sight.tables.node_of(bytes.fromhex(each["ref"]))
        if node is not None and (is_told_of is None or is_told_of(node)):
            shown.append({"ref": each["ref"], "name": _name(sight, node, seq), **each})
    if sight.place.is_confined or is_told_of is not None:
        verdict = {} if len(shown) == given.get(_IN_ALL) else _verdict_on(shown, given, sides)
        return evidence | verdict | {_CONSIDERED: shown, _IN_ALL: len(shown)}
    return evidence | {_CONSIDERED: shown}


def _verdict_on(shown: list[dict[str, Any]], evidence: dict[str, Any], sides: tuple[str, str]) -> dict[str, Any]:
    """Where several were as near: the verdict on the pair, had only those that are shown been considered."""
    mine = next((_scores(each) for each in shown if each["ref"] in sides), {})
    if evidence.get("decision") != "ambiguous" or not mine:
        return {}
    tier = evidence.get("tier")
    tier = tier if isinstance(tier, str) and tier in mine else next(iter(mine))
    alike = [found[tier] for each in shown if tier in (found := _scores(each)) and "guard" not in each]
    thresholds = _numbers(evidence.get(_THRESHOLDS))
    least = max(thresholds.get(tier, 1.0), max(alike, default=1.0) - thresholds.get("margin", 0.0))
    decision = "ambiguous" if sum(score >= least for score in alike) > 1 else "resolved"
    return {"tier": tier, "score": mine[tier], "decision": decision}


def _scores(each: dict[str, Any]) -> dict[str, float]:
    """How near somebody who was considered is, by tier."""
    return _numbers(each["scores"])


def _numbers(given: object) -> dict[str, float]:
    """The numbers of a mapping: what a caller wrote may look like the resolver's and hold anything."""
    found = given.items() if isinstance(given, dict) else ()
    return {name: value for name, value in found if isinstance(value, int | float)}


def _thresholds_shown(
    sight: Sight, evidence: dict[str, Any], seq: int, is_told_of: Callable[[int], bool] | None
) -> dict[str, Any]:
    """Without the world that thresholds were set for if whoever reads it is not told of that, and then without the
    thresholds too, unless they hold for all that is seen."""
    tuned = evidence.get(_TUNED)
    if not isinstance(tuned, str) or not _LINEAGE.fullmatch(tuned):
        return evidence
    lineage = bytes.fromhex(tuned)
    node = sight.tables.node_of(lineage)
    if node is not None and (is_told_of is None or is_told_of(node)):
        return evidence
    holds = is_told_of is None and sight.is_told_of_tuning(lineage, seq)
    hidden = {_TUNED} if holds else {_TUNED, _THRESHOLDS}
    return {name: value for name, value in evidence.items() if name not in hidden}


def _is_ours(each: object) -> bool:
    """True if the resolver wrote it."""
    if not isinstance(each, dict) or not isinstance(each.get("ref"), str):
        return False
    return "scores" in each and _LINEAGE.fullmatch(each["ref"]) is not None


def _name(sight: Sight, node: int, seq: int) -> str:
    seen = newest_version(sight.tables, node, seq)
    body = None if seen is None else sight.body(seen.row)
    return "" if body is None else body.name
