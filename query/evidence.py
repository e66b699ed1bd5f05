"""The evidence of a proposal as it is shown: who else was considered, as far as whoever reads it may know of them.

What is kept says whom the resolver held against whom by references alone. Names are looked up when the evidence is
read, so that they go with an erasure, and so that a view confined to a world learns nothing of others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from worlddb.projections.tables.asof import newest_version
from worlddb.query.sight import Sight

_LINEAGE: Final = re.compile("[0-9a-f]{32}")
_CONSIDERED: Final = "considered"
_IN_ALL: Final = "considered_in_all"
_TUNED: Final = "tuned"
"""The world that the thresholds were set for, where they are not those of the open store."""
_THRESHOLDS: Final = "thresholds"
_LOOKED_AT: Final = "looked_at"


def evidence_shown(
    sight: Sight, evidence: dict[str, Any], seq: int, is_told_of: Callable[[int], bool] | None = None
) -> dict[str, Any]:
    """The evidence with the names, as of a commit, of those who were considered.

    Whoever is not seen, or not one that ``is_told_of`` says yes to, is left out and not counted. Evidence that a caller
    gave is theirs, and shown as it is.
    """
    considered = evidence.get(_CONSIDERED)
    if not isinstance(considered, list) or not all(map(_is_ours, considered)):
        return evidence
    evidence = _thresholds_shown(sight, evidence, seq, is_told_of)
    if sight.place.is_confined or is_told_of is not None:
        # How many names were looked at counts those of others too.
        evidence = {name: value for name, value in evidence.items() if name != _LOOKED_AT}
    shown = []
    for each in considered:
        node = sight.tables.node_of(bytes.fromhex(each["ref"]))
        if node is not None and (is_told_of is None or is_told_of(node)):
            shown.append({"ref": each["ref"], "name": _name(sight, node, seq), **each})
    if sight.place.is_confined or is_told_of is not None:
        return evidence | {_CONSIDERED: shown, _IN_ALL: len(shown)}
    return evidence | {_CONSIDERED: shown}


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
