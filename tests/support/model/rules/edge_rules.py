"""The laws of the built-in edge types in the model: refusals and side effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tests.support.model.rules.succession import end_earlier_statements, supersede
from tests.support.model.state import ROOT, Edge

if TYPE_CHECKING:
    from tests.support.model.draft import Draft

ORDERS = ("supersedes", "derived_from", "subtype_of", "causes", "precedes", "depends_on", "created_from")
"""Edge types that never lead back to where they started."""

PLAIN = ("refers_to", "implies", "instance_of", "supports", "refines", "relates_to")

TYPES = ("contains", "same_as", "contradicts", *ORDERS, *PLAIN)


class Refuse(Exception):
    """The model expects the reconciler to refuse with this code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
        self.position = 0


def refuse(code: str) -> NoReturn:
    raise Refuse(code)


def default_start(on: Draft, type_name: str, source: int, target: int) -> int:
    """An edge's default start: its source's beginning, or for ``contains`` when the member first holds."""
    end = target if type_name == "contains" else source
    if end == ROOT:
        return on.now
    held = on.state.worlds[end].held if type_name == "contains" else []
    return held[0].start if held else on.state.worlds[end].newest.start


def check_insert(on: Draft, edge: Edge) -> None:
    """Refuse an edge that breaks its type's law; close what it closes."""
    if edge.type == "contains":
        _check_containment(on, edge)
        return
    if edge.type == "supersedes" and edge.target == ROOT:
        refuse("root_is_permanent")
    if edge.source == edge.target:
        refuse("self_reference")
    if edge.type == "same_as":
        _check_identity(on, edge)
    elif edge.type == "contradicts":
        pair = {edge.source, edge.target}
        known = [other for _, other in on.state.edges_of("contradicts") if {other.source, other.target} == pair]
        if any(_overlap(other, edge) for other in known):
            refuse("already_in_conflict")
    elif edge.type in ORDERS and on.state.reaches(edge.target, edge.source, edge.type):
        refuse(f"{edge.type}_cycle")
    if edge.type == "supersedes":
        supersede(on, edge)


def _check_containment(on: Draft, edge: Edge) -> None:
    if edge.target == ROOT or on.state.reaches(edge.target, edge.source, "contains"):
        refuse("containment_cycle")
    ends = edge.source, edge.target
    known = [other for _, other in on.state.edges_of("contains") if (other.source, other.target) == ends]
    if known and (not edge.pieces or any(_overlap(other, edge) for other in known)):
        refuse("already_member")


def _overlap(one: Edge, other: Edge) -> bool:
    """Whether two edges are in force at one time."""
    return any(max(a, b) < min(until, end) for a, until in one.pieces for b, end in other.pieces)


def _check_identity(on: Draft, edge: Edge) -> None:
    if ROOT in (edge.source, edge.target):
        refuse("root_is_unique")
    pair = {edge.source, edge.target}
    about = [known for known in on.state.proposals.values() if {known.source, known.target} == pair]
    if not about:
        return
    latest = about[-1]
    if latest.status == "pending":
        refuse("already_proposed")
    if latest.status == "accepted":
        refuse("already_same")
    versions = {latest.source: latest.source_version, latest.target: latest.target_version}
    if latest.status == "rejected" and all(len(on.state.worlds[end].versions) == versions[end] for end in pair):
        refuse("rejected_before")


def after_unlink(on: Draft, edge: Edge) -> None:
    """What an unlinked edge leaves to do."""
    if edge.type == "supersedes":
        on.note("nothing_reopened", edge.target)
        end_earlier_statements(on, edge.source)
        end_earlier_statements(on, edge.target)
    if edge.type == "contains" and not on.state.containers(edge.target):
        if edge.source == ROOT:
            refuse("last_container")
        on.write("contains", ROOT, edge.target, start=edge.begins)
        on.note("adopted_by_root", edge.target)
