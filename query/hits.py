"""What a recall shows: hits and groups of them as records, each hit with the reason that it was found."""

from __future__ import annotations

from typing import Final

from worlddb.projections.tables.reads.asof import newest_version
from worlddb.query import build, records
from worlddb.query.competing import NEWER, SUPERSEDED
from worlddb.query.fusion import WHEN_WEIGHT
from worlddb.query.groups import Grouped
from worlddb.query.lanes.text import matched
from worlddb.query.period import Choice
from worlddb.query.ranking import EDGE, ENTITY, TEXT, VECTOR, Ranked
from worlddb.query.scope import Scope
from worlddb.query.sight import Sight
from worlddb.query.window import Window

MAX_OTHERS: Final = 20
"""How many other versions of a world a hit shows."""
_TOLD_FROM: Final = {VECTOR: 0.1, "when": 0.1 * WHEN_WEIGHT}
"""What these have to add to a score to be told as a reason: the cosines of unrelated texts scatter by 0.1, and every
text is a little near every time."""


def hit_of(window: Window, snapshot: Sight, scope: Scope, text: str, choice: Choice, found: Ranked) -> records.Hit:
    """A candidate that was ranked, as a record. Of the worlds that contain it, the first that is searched is told."""
    node, seen, _ = found.passed
    world = build.world_of(snapshot, node, seen, window.place.moment, window.spec, choice.period)
    containers = [place.source for place in snapshot.placings(node)]
    container = next(filter(scope.sees, containers), containers[0] if containers else None)
    each = choice.each(snapshot.tables, node, window.place.moment) if choice.is_of_several else ()
    others = [other for other in each if other.number != seen.number]
    return records.Hit(
        ref=world.ref,
        version=world.version,
        type=world.type,
        name=world.name,
        content=world.content,
        score=round(found.score, 6),
        lanes=found.ranks,
        reason=_reason(text, world, found),
        world="" if container is None else snapshot.tables.node(container).lineage.hex(),
        valid=world.valid,
        seq=world.seq,
        ingested_at=world.ingested_at,
        author=world.author,
        source=world.source,
        conflicts=world.conflicts,
        scores={lane: round(part, 6) for lane, part in found.parts.items()},
        others=tuple(build.version(snapshot, node, other) for other in others[:MAX_OTHERS]),
        others_left=max(0, len(others) - MAX_OTHERS),
    )


def group_of(window: Window, snapshot: Sight, scope: Scope, text: str, choice: Choice, found: Grouped) -> records.Group:
    """A group as a record, under the name that its world has in the version that the view shows, else the newest."""
    tables, moment = snapshot.tables, window.place.moment
    seen = choice.seen(tables, found.node, moment) or newest_version(tables, found.node, moment.seq)
    body = None if seen is None else snapshot.body(seen.row)
    return records.Group(
        ref=tables.node(found.node).lineage.hex(),
        type="" if body is None else body.type,
        name="" if body is None else body.name,
        score=round(found.score, 6),
        count=found.size,
        hits=tuple(hit_of(window, snapshot, scope, text, choice, hit) for hit in found.hits),
    )


def _reason(text: str, world: records.World, found: Ranked) -> str:
    """In words why a hit was found: the words that it shares, and what else spoke for it."""
    words = matched(text, world.name, world.content) if TEXT in found.parts else []
    told = {
        TEXT: f"text: {', '.join(words)}" if words else "text",
        VECTOR: "close in meaning",
        ENTITY: "by or about whom the question is about",
        "when": "near the time that it names",
        "before": "after a turn that fits",
        NEWER: "newer than a hit that it contradicts",
        SUPERSEDED: "superseded by the hit before it",
        "told": "tells a number, a time, an age or a price, which fits the question",
        EDGE: "joined by an edge to a hit",
    }
    speaking = {lane for lane, part in found.parts.items() if part >= _TOLD_FROM.get(lane, part)}
    return "; ".join(said for lane, said in told.items() if lane in speaking) or "among the nearest"
