"""Events beside the worlds that they changed, without those of the world's members."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

from worlddb import Change

Event = dict[str, Any]
VECTORS: Final = ("embedded", "embedded_through")
"""Events of commits that only hold vectors. Such commits follow every few writes, so people see them folded."""


class CommitEvents(NamedTuple):
    """One commit's effect on a world: its events in words, its author, time and reason."""

    side: str
    seq: int
    what: str
    author: str
    ingested_at: int
    why: str


def own_events(changes: Sequence[Change]) -> list[list[Event]]:
    """Return every change's events without those of worlds inside it; containers first."""
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
    """Count the versions of a world whose vectors only this side has."""
    return sum(detail.field in VECTORS and bool(getattr(detail, side)) for detail in change.changes)


def commits_of(change: Change, events: Iterable[Event]) -> list[CommitEvents]:
    """Group the events of a world by commit.

    Events of vectors are left out, unless the world differs in nothing else.
    """
    only_vectors = {detail.kind for detail in change.changes} == {"vectors"}
    return group_by_commit(event for event in events if only_vectors or event["event"] not in VECTORS)


def group_by_commit(events: Iterable[Event]) -> list[CommitEvents]:
    """Group events that were committed together."""
    commits: list[CommitEvents] = []
    for (side, seq), group in groupby(events, key=lambda event: (event["side"], event["seq"])):
        listed = list(group)
        counts = Counter(event["event"] for event in listed)
        what = ", ".join(name if number == 1 else f"{number} {name}" for name, number in counts.items())
        why = next((event["why"] for event in listed if event["why"]), "")
        commits.append(CommitEvents(side, seq, what, listed[0]["author"], listed[0]["ingested_at"], why))
    return commits


def _place(event: Event) -> tuple[str, int, int]:
    return event["side"], event["seq"], event["index"]
