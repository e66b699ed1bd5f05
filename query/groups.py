"""Groups of a recall: the worlds that contain the hits, ranked by what all of their hits say together.

Which session answers a question is another question than which turn does. A session in which two turns are near may be
a better answer than one in which one turn is a little nearer, so a group has a score of its own: the soft maximum of
its hits' scores. It is the best of them where one stands out, and more where others come close.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import exp, log
from typing import Any, Final, NamedTuple

from worlddb.query.ranking import Ranked
from worlddb.query.records import Hit
from worlddb.query.scope import Scope
from worlddb.query.sight import Sight
from worlddb.query.unify import Classes

SHARPNESS: Final = 20.0
"""By how much of the best score of all, divided by this, a group gains when it has e times as much; chosen on one half
of the development questions and judged on the other, see docs/retrieval.md."""


class Grouped(NamedTuple):
    """A world with the hits that it contains directly, best first, and how many of them there are."""

    node: int
    score: float
    size: int
    hits: list[Ranked]


def grouped(snapshot: Sight, inside: int, ranked: Sequence[Ranked], classes: Classes | None) -> list[Grouped]:
    """The containers of the hits, as far as they lie inside the world that is searched, best first; ties by the order
    of their best hits.

    What lies directly in the world that is searched stands for itself. A hit that has other hits inside speaks for its
    own group too: a title for what stands under it. With ``classes`` containers of one identity are one group, and a
    group has of each identity the best hit.
    """
    scope = Scope(snapshot.tables, inside, snapshot.place.moment)
    nodes = [hit.passed.node for hit in ranked]
    around = {node: [place.source for place in snapshot.placings(node) if scope.holds(place.source)] for node in nodes}
    containing = {container for containers in around.values() for container in containers}
    found: dict[int, Grouped] = {}
    held: set[tuple[int, int]] = set()
    for node, hit in zip(nodes, ranked, strict=True):
        of_its_own = [node] if node in containing or not around[node] else []
        for container in (*of_its_own, *around[node]):
            group = _identity(classes, container)
            if (group, _identity(classes, node)) not in held:
                held.add((group, _identity(classes, node)))
                found.setdefault(group, Grouped(container, 0.0, 0, [])).hits.append(hit)
    most = max((hit.score for hit in ranked), default=0.0)
    scored = [
        group._replace(score=soft_maximum((hit.score for hit in group.hits), most), size=len(group.hits))
        for group in found.values()
    ]
    return sorted(scored, key=lambda group: -round(group.score, 6))


class HitGroup(NamedTuple):
    """Hits that have a key in common, best first. ``score`` is the soft maximum of theirs, as that of a
    :class:`~worlddb.query.records.Group` is."""

    key: Any
    score: float
    hits: tuple[Hit, ...]


def group_hits(hits: Iterable[Hit], keys: Callable[[Hit], Iterable[Hashable]]) -> list[HitGroup]:
    """The hits of a recall in groups of the caller's own: by thread, by day, by speaker.

    ``keys`` gives what groups a hit is in, each named by anything hashable; a hit without one is left out. The best
    group comes first, ties are in the order of their best hits. Recall by containers is ``recall(group=...)``, which
    looks at more candidates than it shows.
    """
    found: dict[Hashable, list[Hit]] = {}
    for hit in hits:
        for key in dict.fromkeys(keys(hit)):
            found.setdefault(key, []).append(hit)
    most = max((hit.score for each in found.values() for hit in each), default=0.0)
    scored = [
        HitGroup(key, soft_maximum((hit.score for hit in each), most), tuple(each)) for key, each in found.items()
    ]
    return sorted(scored, key=lambda group: -round(group.score, 6))


def _identity(classes: Classes | None, node: int) -> int:
    """What stands for a node and for all that are one with it."""
    return node if classes is None else min(classes.members(node))


def soft_maximum(scores: Iterable[float], most: float) -> float:
    """The logarithm of the sum of the scores' exponentials, in units of ``most`` (the best of all scores) divided by
    :data:`SHARPNESS`. It is at least the highest score, and by ln n units more where n are equally high."""
    given = list(scores)
    best = max(given)
    if most <= 0:
        return best
    unit = most / SHARPNESS
    return best + unit * log(sum(exp((score - best) / unit) for score in given))
