"""The model of succession: corrections move ends, and contradictions end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.log.model.times import FOREVER

if TYPE_CHECKING:
    from tests.support.model.draft import Draft
    from tests.support.model.state import Edge


def supersede(on: Draft, edge: Edge) -> None:
    """End the target, and what it had replaced where it had not begun; let the source end where another one follows."""
    newer = on.state.worlds[edge.source]
    at, by = _stands_since(on, edge.source, edge.start)
    is_its_first = by == edge.source or min((start for start, _ in holding(on, by)), default=None) == at
    heir = _follower(on, edge._replace(start=at)) if edge.start == newer.newest.start and is_its_first else None
    began = began_by(on, edge.target, at)
    on.end_world(edge.target, at, by)
    if not began:
        end_replaced(on, edge.target, at, by)
    if heir is not None and heir.source != by and not on.state.reaches(by, heir.source, "supersedes"):
        on.note("until_successor", by, heir.source)
        on.write("supersedes", heir.source, by, home=heir.home, start=heir.start)


def holding(on: Draft, number: int) -> list[tuple[int, int]]:
    """When a world holds at all."""
    return [(one.start, one.end) for one in on.state.worlds[number].versions if one.start < one.end]


def began_by(on: Draft, number: int, at: int) -> bool:
    return any(start <= at for start, _ in holding(on, number))


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
            leave_conflicts(on, edge.target, at, by)
            if on.tighten(edge.target, at):
                on.note("ends_earlier" if began else "never_valid", edge.target)
            if not began:
                waiting.append(edge.target)


def unreplaced(on: Draft, number: int) -> list[int]:
    """What a world has superseded, at first hand or by way of what never holds, that ended where the world begins."""
    if not holding(on, number):
        return []
    begins = min(start for start, _ in holding(on, number))
    found, waiting, met = list[int](), [number], {number}
    while waiting:
        here = waiting.pop(0)
        for edge in _said(on):
            if edge.source == here and edge.target not in met:
                met.add(edge.target)
                if not holding(on, edge.target):
                    waiting.append(edge.target)
                elif holding(on, edge.target)[-1][1] == begins:
                    found.append(edge.target)
    return found


def leave_conflicts(on: Draft, number: int, at: int, by: int) -> None:
    """Tell of the contradictions that end with one side, but for that with what takes its place."""
    lost = [(max(start, at), end) for start, end in holding(on, number) if max(start, at) < end]
    for outgoing in (True, False):
        for _, edge in on.state.edges_of("contradicts"):
            side, other = (edge.source, edge.target) if outgoing else (edge.target, edge.source)
            if side != number or other == by:
                continue
            spans = [(start, end) for start, end in holding(on, other)]
            if any(max(one, two, edge.start) < min(until, end, edge.end) for one, until in lost for two, end in spans):
                on.note("conflict_left", number, other)


def _said(on: Draft) -> list[Edge]:
    return [edge for _, edge in on.state.edges_of("supersedes") if edge.start < edge.end]


def _stands_since(on: Draft, number: int, start: int) -> tuple[int, int]:
    """From when on something stands where a world would, and what that is."""
    best, waiting, met = (start, number), [number], {number}
    while waiting:
        here = waiting.pop(0)
        for edge in _said(on):
            if edge.target == here and edge.source not in met and not began_by(on, here, edge.start):
                met.add(edge.source)
                waiting.append(edge.source)
                best = (edge.start, edge.source) if edge.start < best[0] else best
    return best


def _follower(on: Draft, edge: Edge) -> Edge | None:
    """The edge by which something takes the target's place next, while the target still holds."""
    holds = holding(on, edge.target)
    if not holds or holds[-1][1] == FOREVER or holds[-1][1] <= edge.start:
        return None
    found: list[Edge] = []
    waiting, met = [edge.target], {edge.target}
    while waiting:
        here = waiting.pop(0)
        for known in _said(on):
            if known.target != here or known.source in met:
                continue
            met.add(known.source)
            starts = [start for start, _ in holding(on, known.source)]
            if starts:
                found.append(known._replace(start=max(holds[-1][1], min(starts))))
            else:
                waiting.append(known.source)
    return min(found, key=lambda known: known.start, default=None)
