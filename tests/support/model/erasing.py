"""Erase texts of worlds from every past state of the model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from tests.support.model.state import ROOT, Edge, Proposal, State, Version
from worlddb import Erasure


def texts_of(state: State, number: int) -> set[str]:
    """The texts that a world ever had: contents, or names where there was no content."""
    return {version.content or version.name for version in state.worlds[number].versions} - {""}


def erasure_reach(
    state: State, number: int, everywhere: bool, derived: bool, members: Collection[int] | None
) -> set[int]:
    """The worlds that an erasure of one world erases, with those that it takes along."""
    own = {number, *(members or ())}
    texts = set().union(*(texts_of(state, one) for one in own)) if everywhere else set()
    same = {other for other in state.worlds if other not in (ROOT, *own) and texts & texts_of(state, other)}
    return _with_made(state, own | same, own if members is not None else set(), derived)


def alone_inside(state: State, number: int, derived: bool) -> set[int]:
    """What a world contains, at any depth, and nobody else has a part in."""
    going = _inside(state, number)
    while shared := {one for one in going if not {*state.containers(one)} <= going | {number}}:
        going -= shared
    while True:
        going_on = _others(state, _with_made(state, going | {number}, going | {number}, derived))
        used = {edge.target for _, edge in state.edges_of("refers_to") if edge.source in going_on}
        if not used & going:
            return going
        going -= used


def _others(state: State, gone: Collection[int]) -> set[int]:
    """The worlds that go on to say something when some are gone."""
    return {one for one in state.worlds if one not in gone and has_text(state, one)}


def shared_inside(state: State, number: int, going: Collection[int]) -> set[int]:
    """What it contains and others have a part in."""
    return {one for one in _inside(state, number) if one not in going and has_text(state, one)}


def has_text(state: State, number: int) -> bool:
    """True if a world has a text left."""
    return number != ROOT and any(version.erasure is None for version in state.worlds[number].versions)


def _inside(state: State, number: int) -> set[int]:
    return _reached([number], state.members) - {number}


def _reached(start: Iterable[int], follow: Callable[[int], Iterable[int]]) -> set[int]:
    found, pending = set(start), list(start)
    while pending:
        more = {*follow(pending.pop())} - found
        found |= more
        pending += more
    return found


def reaches_erased(state: State, number: int, members: bool | None) -> bool:
    """True if an erasure would take a world that has no text left; whether reasons are left is not modelled."""
    taken = {number, *(_inside(state, number) if members else ())} & state.worlds.keys()
    return any(state.worlds[one].newest.erasure is not None for one in taken)


def _with_made(state: State, worlds: set[int], whole: set[int], derived: bool) -> set[int]:
    """Some worlds, and what was made of them.

    That is also what nobody but those in ``whole`` refers to, if it has no more than a name and lies open to them.
    """
    if not derived:
        return worlds
    found, around = set(worlds), _reached(whole, state.containers)
    while True:
        made = {other for one in found for other in _made_of(state, one)} - found
        if not made:
            named = {edge.target for _, edge in state.edges_of("refers_to") if edge.source in whole} - found
            made = {one for one in named if _is_name_alone(state, one, around) and _users(state, one) <= found}
        if not made:
            return found
        found |= made


def _is_name_alone(state: State, number: int, around: Collection[int]) -> bool:
    known = state.worlds[number]
    return (
        has_text(state, number)
        and not known.given
        and not any(version.content for version in known.versions)
        and not state.members(number)
        and all(one in around for one in state.containers(number))
    )


def _users(state: State, number: int) -> set[int]:
    """Worlds with a text that any edge, retracted ones too, has ever joined to one."""
    ends = [
        {edge.source, edge.target}
        for edges in (state.edges, state.unlinked)
        for edge in edges.values()
        if edge.type not in ("contains", "same_as") and number in (edge.source, edge.target)
    ]
    return {one for one in set().union(*ends) - {number} if has_text(state, one)}


def _made_of(state: State, number: int) -> set[int]:
    """Worlds with a text that are derived from a world, and summaries that contain it."""
    above = {
        edge.source
        for edge in state.edges.values()
        if edge.target == number and (edge.type == "derived_from" or _sums_up(state, edge))
    }
    return {one for one in above if has_text(state, one)}


def _sums_up(state: State, edge: Edge) -> bool:
    return edge.type == "contains" and any(one.type == "Summary" for one in state.worlds[edge.source].versions)


def erase(states: list[State], numbers: Iterable[int], erasure: Erasure, homes: Collection[int]) -> None:
    """Remove the texts of some worlds from all states, and mark them as erased.

    Those of the edges that are at home in ``homes`` go too.
    """
    now = states[-1]
    worlds = {number: len(now.worlds[number].versions) for number in numbers}
    said = {
        one.said
        for kind in (now.edges, now.unlinked, now.proposals)
        for one in kind.values()
        if {one.source, one.target} & worlds.keys() and one.said
    }
    said |= {edge.said for edge in now.edges.values() if edge.home in homes and edge.said}
    for state in states:
        for number in worlds.keys() & state.worlds.keys():
            known = state.worlds[number]
            versions = tuple(_without_text(version, erasure) for version in known.versions)
            state.worlds[number] = known._replace(
                versions=versions,
                aliases=(),
                labels=(),
                tags=(),
                states=tuple(each._replace(quad=()) for each in known.states),
                withdrawn=frozenset(),
                restated=tuple(each._replace(source={}, why="") for each in known.restated),
            )
        for edges in (state.edges, state.unlinked):
            edges.update({number: _silent(edge) for number, edge in edges.items() if edge.said in said})
        state.proposals.update(
            {number: _unproven(staged) for number, staged in state.proposals.items() if staged.said in said}
        )


def strike_literal(states: list[State], number: int, literal: str) -> None:
    """Remove a literal from a world's statements in all states; other statements and times stay."""
    for state in states:
        known = state.worlds.get(number)
        if known is not None:
            told = tuple(each._replace(quad=()) if literal in each.quad else each for each in known.states)
            state.worlds[number] = known._replace(states=told, withdrawn=known.withdrawn - {literal})


def _without_text(version: Version, erasure: Erasure) -> Version:
    return version._replace(type="", name="", content="", why="", source={}, properties={}, erasure=erasure)


def _silent(edge: Edge) -> Edge:
    return edge._replace(properties={}, why="")


def _unproven(staged: Proposal) -> Proposal:
    return staged._replace(evidence={}, why="")
