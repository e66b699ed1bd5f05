"""Preferences: what somebody prefers, avoids, rejected or optimises for, and with what confidence (Hydra §2.1.3).

Every statement of a preference, and every outcome of acting on it, is an edge of its own from subject to object.
Writing sums up nothing: confidence is computed from the edges that a view sees, as of any commit.

    confidence = s / (s + a + 1)

``s`` is the weight of the evidence for the preference, ``a`` of the evidence against it. A statement weighs its own
confidence (1, or 1/2 if it was inferred), ``acted_upon`` 1 and ``succeeded`` 2; ``reversed`` weighs 2 against. Evidence
for the opposite relation to the same object (``prefers`` or ``optimizes_for`` beside ``avoids`` or ``rejected``) is
evidence against it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from worlddb.log.model import errors
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.query.reads import adjacency
from worlddb.query.records import records
from worlddb.query.snapshot import edge_rules, visible

FOR, AGAINST = ("prefers", "optimizes_for"), ("avoids", "rejected")
RELATIONS: Final = ("prefers", "avoids", "rejected", "optimizes_for")
OUTCOMES: Final = {"acted_upon": 1.0, "succeeded": 2.0, "reversed": -2.0}
"""What came of acting by a preference, and what it weighs."""
INFERRED_WEIGHT: Final = 0.5
OUTCOME, INFERRED, CONFIDENCE, BASED_ON = "outcome", "inferred", "confidence", "based_on"
"""The properties of an edge that say what it adds."""


def checked_relation(relation: object) -> str:
    """The name of a relation that is a preference.

    Raises:
        InputError: it is none.
    """
    if relation not in RELATIONS:
        raise errors.InputError(f"The preference is {errors.shown(relation)}", f"Give one of: {', '.join(RELATIONS)}")
    return str(relation)


class _Evidence(NamedTuple):
    """What one edge adds: so much for, so much against; a statement says also whether it was inferred."""

    edge: records.Edge
    support: float
    against: float
    outcome: str
    inferred: bool


def preferences(
    snapshot: visible.VisibleSnapshot, spec: edge_rules.Spec, nodes: Iterable[int], relation: str | None
) -> list[records.Preference]:
    """The preferences of some worlds, which count as one, the surest first and then in log order.

    What is erased, deprecated or hidden by a deadline is no preference that is shown, nor one that counts.
    """
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    newest = ((node, asof.newest_version(tables, node, seq)) for node in nodes)
    nodes = [node for node, seen in newest if seen is not None and snapshot.body(seen.row) is not None]
    evidence_by_pair: dict[tuple[str, str], list[_Evidence]] = {}
    named: dict[str, str | None] = {}
    for kind in RELATIONS:
        for edge in adjacency.edges_of(snapshot, spec, nodes, adjacency.EdgeFilter(kind, "out", False, None)):
            if edge.target not in named:
                named[edge.target] = _name(snapshot, edge.target)
            if named[edge.target] is not None:
                evidence_by_pair.setdefault((kind, edge.target), []).append(_weigh_edge(edge))
    support = {pair: sum(each.support for each in given) for pair, given in evidence_by_pair.items()}
    found = []
    for (kind, target), given in evidence_by_pair.items():
        others = AGAINST if kind in FOR else FOR
        opposed = sum(support.get((other, target), 0.0) for other in others)
        if relation in (None, kind):
            found.append(_preference_record(kind, given, named[target] or "", opposed))
    return sorted(found, key=lambda each: -each.confidence)


def _name(snapshot: visible.VisibleSnapshot, ref: str) -> str | None:
    """The name of an object, or its text if it has none; ``None`` if it is left out."""
    moment = snapshot.place.moment
    try:
        node = table_reads.find_node(snapshot.tables, bytes.fromhex(ref), moment.seq)
    except errors.UnknownReference:
        return None
    seen = asof.version_at(snapshot.tables, node, moment) or asof.newest_version(snapshot.tables, node, moment.seq)
    body = None if seen is None or snapshot.hides(node) else snapshot.body(seen.row)
    return None if body is None else body.name or body.content


def _weigh_edge(edge: records.Edge) -> _Evidence:
    given: Mapping[str, Any] = edge.properties
    outcome = given.get(OUTCOME)
    if isinstance(outcome, str) and outcome in OUTCOMES:
        outcome_weight = OUTCOMES[outcome]
        return _Evidence(edge, max(outcome_weight, 0.0), max(-outcome_weight, 0.0), outcome, False)
    inferred = given.get(INFERRED) is True
    weight: Any = given.get(CONFIDENCE)
    if type(weight) not in (int, float) or not 0 <= weight <= 1:
        weight = INFERRED_WEIGHT if inferred else 1.0
    return _Evidence(edge, float(weight), 0.0, "", inferred)


def _preference_record(kind: str, given: list[_Evidence], name: str, opposed: float) -> records.Preference:
    stated = [each for each in given if not each.outcome]
    support = sum(each.support for each in given)
    against = sum(each.against for each in given) + opposed
    outcomes = {outcome: sum(each.outcome == outcome for each in given) for outcome in OUTCOMES}
    return records.Preference(
        subject=given[0].edge.source,
        relation=kind,
        object=given[0].edge.target,
        name=name,
        confidence=round(support / (support + against + 1.0), 6),
        support=support,
        against=against,
        stated=sum(not each.inferred for each in stated),
        inferred=not any(not each.inferred for each in stated),
        outcomes={outcome: count for outcome, count in outcomes.items() if count},
        edges=tuple(each.edge.ref for each in given),
        since_seq=given[0].edge.seq,
        last_seq=given[-1].edge.seq,
        why=next((each.edge.why for each in reversed(given) if each.edge.why), ""),
    )
