"""The model of succession: corrections move ends, and contradictions end."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING

from tests.support.model import lines
from worlddb.log.model.times import ALWAYS, FOREVER

if TYPE_CHECKING:
    from tests.support.model.draft import Draft
    from tests.support.model.state import Edge


def supersede(on: Draft, edge: Edge) -> None:
    """End the target and what it replaced before it began; of connected worlds one holds.

    One that is said for a while takes that while, and joins nothing.
    """
    if not _joins(edge):
        for start, end in edge.pieces:
            on.add_world_hole(edge.target, start, end)
        if edge.pieces:
            note_touched(on, edge.target, edge.pieces, {edge.source})
        return
    at, by = _stands_since(on, edge.source, edge.start)
    began = began_by(on, edge.target, at)
    on.end_world(edge.target, at, by)
    note_touched(on, edge.target, ((at, FOREVER),), {edge.source, by})
    if not began:
        end_replaced(on, edge.target, at, by)
    end_earlier_statements(on, edge.source, edge)


def end_earlier_statements(on: Draft, number: int, new: Edge | None = None) -> None:
    """Ensure that of connected worlds one holds at a time: the one that begins last.

    Two that an edge joins may hold beside each other before that begins. ``new`` is about to be written.
    """
    said = [*_said(on), *([] if new is None else [new])]
    apart: dict[frozenset[int], int] = {}
    for edge in said:
        pair = frozenset({edge.source, edge.target})
        with_it = {version.start for version in on.state.worlds[edge.source].versions}
        apart[pair] = min(ALWAYS if edge.begins in with_it else edge.begins, apart.get(pair, FOREVER))
    held = {each: valid_spans(on, each) for each in sorted(connected_worlds(said, number))}
    moments = sorted({moment for spans in held.values() for span in spans for moment in span} | {*apart.values()})
    lost: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for moment, following in pairwise(moments):
        claims = []
        for each in held:
            what = lines.at(on.state.worlds[each].line, moment)
            if what > 0:
                version = on.state.worlds[each].versions[what - 1]
                claims.append((version.start, version.seq, each))
        stay: list[int] = []
        for *_, each in sorted(claims, reverse=True):
            above = [other for other in stay if moment >= apart.get(frozenset({each, other}), ALWAYS)]
            if not above:
                stay.append(each)
                continue
            windows = lost.setdefault((each, above[0]), [])
            before = windows.pop() if windows and windows[-1][1] == moment else (moment, moment)
            windows.append((before[0], following))
    for loser in sorted({loser for loser, _ in lost}):
        taken = {winner: windows for (each, winner), windows in sorted(lost.items()) if each == loser}
        for winner, windows in taken.items():
            for start, end in windows:
                note_conflicts(on, loser, start, end, winner)
                on.lose(loser, start, end)
            on.note("until_successor", loser, winner)
        note_touched(on, loser, tuple(chain.from_iterable(taken.values())), set(taken))


def connected_worlds(said: list[Edge], number: int) -> set[int]:
    """A world, and the worlds that some edges connect with it, in either direction."""
    found, before = {number}, 0
    while len(found) > before:
        before = len(found)
        found |= {end for edge in said if {edge.source, edge.target} & found for end in (edge.source, edge.target)}
    return found


def valid_spans(on: Draft, number: int) -> list[tuple[int, int]]:
    """The spans in which a world holds."""
    return [(span.start, span.end) for span in on.state.worlds[number].held]


def began_by(on: Draft, number: int, at: int) -> bool:
    return any(start <= at for start, _ in valid_spans(on, number))


def end_replaced(on: Draft, number: int, at: int, by: int) -> None:
    """End what a world had replaced, and what that had replaced unless it had begun."""
    waiting, met = [number], {number}
    while waiting:
        here = waiting.pop(0)
        for edge in _said(on):
            if edge.source != here or edge.target in met:
                continue
            met.add(edge.target)
            began = began_by(on, edge.target, at)
            note_conflicts(on, edge.target, at, FOREVER, by)
            if on.lose(edge.target, at, FOREVER):
                on.note("ends_earlier" if began else "never_valid", edge.target)
                note_touched(on, edge.target, ((at, FOREVER),))
            if not began:
                waiting.append(edge.target)


def note_touched(on: Draft, number: int, windows: lines.Pieces, ending: Iterable[int] = ()) -> None:
    """Note members that hold in windows in which a world does not, and worlds derived from it."""
    members = [each for each in on.state.members(number) if each not in {*ending}]
    overlaps = {
        each for each, one in product(members, windows) if any(_shared(one, held) for held in valid_spans(on, each))
    }
    if overlaps:
        on.note("members_remain", number, *overlaps)
    note_derived(on, number, ending)


def _shared(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def note_derived(on: Draft, number: int, ending: Iterable[int] = ()) -> None:
    """Note worlds derived from a world that ends, or changes its text."""
    stale = {edge.source for _, edge in on.state.edges_of("derived_from") if edge.target == number} - {*ending}
    if stale:
        on.note("now_stale", number, *stale)


def reopened_ends(on: Draft, number: int) -> list[int]:
    """Ends at a world's beginning, of all that ``supersedes`` connects with it."""
    if not valid_spans(on, number):
        return []
    begins = min(start for start, _ in valid_spans(on, number))
    others = connected_worlds(_said(on), number) - {number}
    return [each for each in sorted(others) if max((end for _, end in valid_spans(on, each)), default=None) == begins]


def note_conflicts(on: Draft, number: int, start: int, end: int, by: int) -> None:
    """Note contradictions that end with one side, except with its replacement."""
    lost = [(max(one, start), min(until, end)) for one, until in valid_spans(on, number)]
    for outgoing in (True, False):
        for _, edge in on.state.edges_of("contradicts"):
            side, other = (edge.source, edge.target) if outgoing else (edge.target, edge.source)
            if side != number or other == by:
                continue
            together = [lost, valid_spans(on, other), edge.pieces]
            if any(max(one for one, _ in each) < min(end for _, end in each) for each in product(*together)):
                on.note("conflict_left", number, other)


def _said(on: Draft) -> list[Edge]:
    return [edge for _, edge in on.state.edges_of("supersedes") if _joins(edge)]


def _joins(edge: Edge) -> bool:
    return bool(edge.pieces) and edge.pieces[-1][1] == FOREVER


def _stands_since(on: Draft, number: int, start: int) -> tuple[int, int]:
    """The time from which another world stands in its place, and that world."""
    best, waiting, met = (start, number), [number], {number}
    while waiting:
        here = waiting.pop(0)
        for edge in _said(on):
            if edge.target == here and edge.source not in met and not began_by(on, here, edge.begins):
                met.add(edge.source)
                waiting.append(edge.source)
                best = (edge.begins, edge.source) if edge.begins < best[0] else best
    return best
