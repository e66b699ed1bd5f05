"""Finds by brute force the pairs that reclustering proposes: one type and name in a world.

The names that are drawn are equal or nothing alike, so that no tier but the exact one decides. Around which worlds the
engine looks is its own affair; whatever it proposes must follow from one of the two sides, and for what is new since
the last look nothing that follows may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.model.attempt import Attempt
from tests.support.model.rules.tuning import holding
from tests.support.model.rules.world_rules import normal
from tests.support.model.state import ROOT, Proposal, State

AUTHOR = "worlddb.recluster"
MOST = 3
THRESHOLDS = {"fuzzy": 0.92, "phonetic": 0.9, "embedding": 0.88, "margin": 0.02, "most": MOST}
"""Those of a store that was opened without any."""


def find_matches(state: State, number: int) -> tuple[list[int], dict[str, Any]]:
    """The worlds that a world may be identical to, and the evidence, with numbers for references."""
    known = state.worlds[number]
    considered: dict[int, str] = {}
    if number == ROOT or known.ended or known.newest.erasure is not None or known.newest.type == "Summary":
        return [], {}
    scope = _scope(state, number)
    for wanted in (known.newest.name, *known.aliases):
        for other, held in state.worlds.items():
            names = {normal(text) for text in (held.newest.name, *held.aliases)} - {""}
            if other in (ROOT, number, scope) or held.ended or held.newest.type != known.newest.type:
                continue
            if normal(wanted) in names and state.reaches(scope, other, "contains") and not _apart(state, number, other):
                considered.setdefault(other, wanted)
    few = dict(list(considered.items())[: MOST + 1])
    chosen = sorted(few)[:MOST]
    if not chosen:
        return [], {}
    fuzzy, tuned = holding(state, number, known.newest.type)
    return chosen, {
        "tier": "exact",
        "name": few[chosen[0]],
        "score": 1.0,
        "decision": "resolved" if len(few) == 1 else "ambiguous",
        "considered": [{"number": other, "scores": {"exact": 1.0}} for other in sorted(few)],
        "considered_in_all": len(few),
        "thresholds": THRESHOLDS | {"fuzzy": fuzzy},
        "by": AUTHOR,
        **({} if tuned is None else {"tuned": tuned}),
    }


def _scope(state: State, number: int) -> int:
    return next(iter(state.containers(number)), ROOT)


def is_settled(state: State, one: int, other: int) -> bool:
    """True if a pair waits for a decision, or was decided and has not changed since."""
    latest = _latest(state, one, other)
    return latest is not None and (latest.status in ("pending", "accepted") or not _changed(state, latest))


def apply_proposals(
    attempt: Attempt, proposals: list[tuple[int, int, dict[str, Any]]], numbers: Mapping[str, int]
) -> None:
    """Let the model stage the engine's proposals: (later world, earlier world, shown evidence).

    Either of the two may be the one for which the other was found; whom the evidence names tells which.
    """
    before = attempt.state.copy()
    for later, earlier, evidence_in_view in proposals:
        assert later > earlier and not is_settled(attempt.state, later, earlier)
        reasons = [
            evidence
            for one, other in ((later, earlier), (earlier, later))
            for chosen, evidence in [find_matches(before, one)]
            if other in chosen and other not in before.class_of(one, _scope(before, one))
        ]
        told = evidence_in_view | {
            "considered": [{**each, "number": numbers[each["ref"]]} for each in evidence_in_view["considered"]]
        }
        (evidence,) = [each for each in reasons if _plain(each) == _plain(told)]
        attempt.results.append(attempt.stage(later, earlier, evidence=evidence))


def missing_proposals(before: State, now: State) -> list[tuple[int, int]]:
    """Pairs that follow from worlds changed since a state, and that were not proposed."""
    fresh = [
        number
        for number, world in now.worlds.items()
        if number not in before.worlds
        or (len(before.worlds[number].versions), before.worlds[number].given) != (len(world.versions), world.given)
    ]
    return [
        (number, other)
        for number in fresh
        for other in find_matches(now, number)[0]
        if not is_settled(now, number, other) and other not in now.class_of(number, _scope(now, number))
    ]


def evidence_in_view(evidence: dict[str, Any], state: State, refs: dict[int, str]) -> dict[str, Any]:
    """The evidence as a view of a state shows it, with its references and names."""
    if not isinstance(evidence.get("considered"), list):
        return evidence
    considered = [
        {"ref": refs[each["number"]], "name": state.worlds[each["number"]].newest.name, "scores": each["scores"]}
        for each in evidence["considered"]
    ]
    tuned = {"tuned": refs[evidence["tuned"]]} if "tuned" in evidence else {}
    return evidence | {"considered": considered} | tuned


def _plain(evidence: dict[str, Any]) -> dict[str, Any]:
    """All but the names of those that it names; they are compared when views are."""
    considered = [each["number"] for each in evidence["considered"]]
    return evidence | {"considered": considered, "tuned": "tuned" in evidence}


def _apart(state: State, one: int, other: int) -> bool:
    latest = _latest(state, one, other)
    return latest is not None and latest.status in ("rejected", "undone") and not _changed(state, latest)


def _latest(state: State, one: int, other: int) -> Proposal | None:
    about = [known for known in state.proposals.values() if {known.source, known.target} == {one, other}]
    return about[-1] if about else None


def _changed(state: State, known: Proposal) -> bool:
    versions = {known.source: known.source_version, known.target: known.target_version}
    return any(len(state.worlds[end].versions) != version for end, version in versions.items())
