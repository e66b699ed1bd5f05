"""What a world is about, from its own text and from all that it contains, as a view sees it (paper §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.projections.indexes.composed_vectors import Effective, rows_of
from worlddb.projections.indexes.composition import POOLS, Composition, checked_pool
from worlddb.projections.indexes.vector_rows import cosines, top, whole_text
from worlddb.query.lanes.vector_lane import VectorQuery
from worlddb.query.reads.window import Window
from worlddb.query.reads.world_lookup import Classes, named_node
from worlddb.query.recall.candidates import Gate
from worlddb.query.records.records import Composed
from worlddb.query.snapshot.containment import members_below
from worlddb.query.snapshot.valid_period import Choice
from worlddb.query.snapshot.visible import VisibleSnapshot

if TYPE_CHECKING:
    from typing import Any

    from worlddb.projections.indexes.composition import Anchors, Vector


def composed(window: Window, ref: Any, pool: str) -> Composed | None:
    """The composed embedding of a world of a view, from what the view sees; ``None`` if there is nothing to make it of.

    Raises:
        UnknownReference: the view sees no such world.
        InputError: there is no such pool.
    """
    checked_pool(pool)
    with window.snapshot() as sight:
        node = named_node(sight, window.spec, ref)
        space = next(iter(sight.answering_spaces(exact=True)), None)
        if space is None:
            return None
        anchors = _anchors(sight, space.number, space.row.dimension)
        made = Composition(POOLS[pool])
        inside = members_below(sight.tables, node, sight.place.moment) or set()
        made.fill(sight.tables, anchors, {node, *inside}, sight.place.moment)
        vector = made.vector(sight.tables, anchors, node)
        if vector is None:
            return None
        seen = Choice().seen(sight.tables, node, sight.place.moment)
        anchor = None if seen is None else anchors(node, seen.number)
        return Composed(
            ref=sight.tables.node(node).lineage.hex(),
            pool=pool,
            vector=tuple(vector.tolist()),
            anchor=None if anchor is None else tuple(anchor.tolist()),
            inside=len(inside),
            model=space.model,
        )


def nearest_worlds(window: Window, query: VectorQuery, world: str | None, k: int, pool: str) -> dict[int, float]:
    """The ``k`` worlds with members whose composed embedding is nearest to a vector, best first, with their cosines.

    Of the present they are kept from one call to the next. Of any other moment, and of a confined view, they are made
    anew of precisely what is seen; so either way the answer is the view's.
    """
    follower = window.reader.composed(query.space, query.dimension, pool)
    with window.snapshot() as sight:
        whole = sight.whole
        found = None if whole is None else follower.level(whole.log, whole.tables, sight.place.moment)
        if found is None:
            found = _seen(sight, query, pool)
        inside = sight.place.top if world is None else named_node(sight, window.spec, world, unify=window.unify)
        classes = Classes(sight, window.spec) if window.unify else None
        gate = Gate(sight, inside, Choice())
        scores = cosines(found.matrix, query.vector)
        best: dict[int, float] = {}
        for place in top(scores, len(scores)).tolist():
            node = int(found.nodes[place])
            if len(best) == k:
                break
            if gate.seen(node) is not None and (classes is None or classes.is_new(node)):
                best[node] = round(float(scores[place]), 6)
    follower.keep()
    return best


def _seen(sight: VisibleSnapshot, query: VectorQuery, pool: str) -> Effective:
    made = Composition(POOLS[pool])
    made.fill(sight.tables, _anchors(sight, query.space, query.dimension), sight.inhabitants(), sight.place.moment)
    return rows_of(made, query.dimension)


def _anchors(sight: VisibleSnapshot, space: int, dimension: int) -> Anchors:
    """The vectors of the versions that are seen, as far as they were recorded by the view's commit."""

    def anchor(node: int, version: int) -> Vector | None:
        stored = sight.vector(space, node, version)
        return None if stored is None else whole_text(stored.values, dimension)

    return anchor
