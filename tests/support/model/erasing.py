"""Erases texts of worlds from every state of the model that there ever was."""

from __future__ import annotations

from collections.abc import Iterable

from tests.support.model.state import ROOT, Edge, Proposal, State, Version
from worlddb import Erasure


def texts_of(state: State, number: int) -> set[str]:
    """The texts that a world ever had: contents, or names where there was no content."""
    return {version.content or version.name for version in state.worlds[number].versions} - {""}


def reached(state: State, number: int, everywhere: bool, derived: bool) -> list[int]:
    """The worlds that erasing one of them erases."""
    texts = texts_of(state, number) if everywhere else set()
    found = [number, *(other for other in state.worlds if other not in (0, number) and texts & texts_of(state, other))]
    for one in found if derived else ():
        found.extend(other for other in sorted(_made_of(state, one)) if other not in found)
    return found


def _made_of(state: State, number: int) -> set[int]:
    """Worlds with a text that are derived from a world, and summaries that contain it."""
    above = {
        edge.source
        for edge in state.edges.values()
        if edge.target == number and (edge.type == "derived_from" or _sums_up(state, edge))
    }
    return {one for one in above - {ROOT} if any(version.erasure is None for version in state.worlds[one].versions)}


def _sums_up(state: State, edge: Edge) -> bool:
    return edge.type == "contains" and any(one.type == "Summary" for one in state.worlds[edge.source].versions)


def erase(states: list[State], numbers: Iterable[int], erasure: Erasure) -> None:
    """Take the texts of some worlds out of all states, and say beside each that it was erased."""
    now = states[-1]
    worlds = {number: len(now.worlds[number].versions) for number in numbers}
    said = {
        one.said
        for kind in (now.edges, now.unlinked, now.proposals)
        for one in kind.values()
        if {one.source, one.target} & worlds.keys() and one.said
    }
    for state in states:
        for number in worlds.keys() & state.worlds.keys():
            known = state.worlds[number]
            versions = tuple(_without_text(version, erasure) for version in known.versions)
            state.worlds[number] = known._replace(versions=versions, aliases=())
        for edges in (state.edges, state.unlinked):
            edges.update({number: _silent(edge) for number, edge in edges.items() if edge.said in said})
        state.proposals.update(
            {number: _unproven(staged) for number, staged in state.proposals.items() if staged.said in said}
        )


def _without_text(version: Version, erasure: Erasure) -> Version:
    return version._replace(type="", name="", content="", why="", source={}, erasure=erasure)


def _silent(edge: Edge) -> Edge:
    return edge._replace(properties={}, why="")


def _unproven(staged: Proposal) -> Proposal:
    return staged._replace(evidence={}, why="")
