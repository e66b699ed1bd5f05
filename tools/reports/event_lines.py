"""Events beside the worlds that they changed: those of a container that its members do not account for, by commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

from worlddb import Change

Event = dict[str, Any]
VECTORS: Final = ("embedded", "embedded_through")
"""Events of commits that hold vectors of texts and nothing else; such commits come after every few writes. People are
told of them together."""


class Told(NamedTuple):
    """What one commit did to a world: its events in words, who made it, when and why."""

    side: str
    seq: int
    what: str
    author: str
    ingested_at: int
    why: str


def own_events(changes: Sequence[Change]) -> list[list[Event]]:
    """For every change its events, without those that worlds inside it account for; containers come first."""
    listed = {change.ref: number for number, change in enumerate(changes)}
    accounted: list[set[tuple[str, int, int]]] = [set() for _ in changes]
    own: list[list[Event]] = [[] for _ in changes]
    for number in reversed(range(len(changes))):
        change = changes[number]
        own[number] = [event for event in change.events if _place(event) not in accounted[number]]
        container = listed.get(change.within, number)
        if container < number:
            accounted[container].update(map(_place, change.events))
    return own


def versions_embedded(change: Change, side: Literal["a", "b"]) -> int:
    """Of how many versions of a world only this side has the vectors."""
    return sum(detail.field in VECTORS and bool(getattr(detail, side)) for detail in change.changes)


def told_events(change: Change, events: Iterable[Event]) -> list[Told]:
    """The events beside a world by commit; without those of vectors, unless the world differs in nothing else."""
    only_vectors = {detail.kind for detail in change.changes} == {"vectors"}
    return by_commit(event for event in events if only_vectors or event["event"] not in VECTORS)


def by_commit(events: Iterable[Event]) -> list[Told]:
    """Events put together that were committed together."""
    told: list[Told] = []
    for (side, seq), group in groupby(events, key=lambda event: (event["side"], event["seq"])):
        listed = list(group)
        counts = Counter(event["event"] for event in listed)
        what = ", ".join(name if number == 1 else f"{number} {name}" for name, number in counts.items())
        why = next((event["why"] for event in listed if event["why"]), "")
        told.append(Told(side, seq, what, listed[0]["author"], listed[0]["ingested_at"], why))
    return told


def _place(event: Event) -> tuple[str, int, int]:
    return event["side"], event["seq"], event["index"]
