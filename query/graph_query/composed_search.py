"""Composed embeddings: a world's own text pooled with everything it contains (paper §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.projections.indexes import composed_vectors, composition, vector_rows
from worlddb.query.lanes.vector_lane import VectorQuery
from worlddb.query.reads.window import Window
from worlddb.query.reads.world_lookup import IdentityClasses, named_node
from worlddb.query.recall.candidates import Gate
from worlddb.query.records.records import Composed
from worlddb.query.snapshot import valid_period, visible
from worlddb.query.snapshot.snapshot import members_below

if TYPE_CHECKING:
    from typing import Any

    from worlddb.projections.indexes.composition import Anchors, Vector
    from worlddb.query.graph_query.query_value import Start


def composed(window: Window, ref: Any, pool: str) -> Composed | None:
    """Compute the composed embedding of a world from what the view sees.

    ``None`` if there is nothing to make it of.

    Raises:
        UnknownReference: the view sees no such world.
        InputError: there is no such pool.
    """
    composition.checked_pool(pool)
    with window.snapshot() as snapshot:
        node = named_node(snapshot, window.spec, ref)
        space = next(iter(snapshot.answering_spaces(exact=True)), None)
        if space is None:
            return None
        anchors = _anchor_lookup(snapshot, space.number, space.row.dimension)
        made = composition.Composition(composition.POOLS[pool])
        inside = members_below(snapshot.tables, node, snapshot.place.moment) or set()
        made.fill(snapshot.tables, anchors, {node, *inside}, snapshot.place.moment)
        vector = made.vector(snapshot.tables, anchors, node)
        if vector is None:
            return None
        seen = valid_period.Choice().version(snapshot.tables, node, snapshot.place.moment)
        anchor = None if seen is None else anchors(node, seen.number)
        return Composed(
            ref=snapshot.tables.node(node).lineage.hex(),
            pool=pool,
            vector=tuple(vector.tolist()),
            anchor=None if anchor is None else tuple(anchor.tolist()),
            inside=len(inside),
            model=space.model,
        )


def nearest_worlds(window: Window, query: VectorQuery, start: Start, pool: str) -> dict[int, float]:
    """The ``k`` worlds of a start whose composed embedding is nearest to a vector, with their cosines.

    Best first; only worlds that have members.

    Of the present they are kept from one call to the next. Of any other moment, and of a confined view, they are made
    of precisely what is seen; so either way the answer is the view's.
    """
    world, k = start.world, start.k
    follower = window.reader.composed(query.space, query.dimension, pool)
    with window.snapshot() as snapshot:
        whole = snapshot.whole
        found = None
        if whole is not None and snapshot.others is None:
            found = follower.level(whole.log, whole.tables, snapshot.place.moment)
        if found is None:
            found = _visible_search(window, snapshot, query, pool)
        inside = snapshot.place.top if world is None else named_node(snapshot, window.spec, world, unify=window.unify)
        classes = IdentityClasses(snapshot, window.spec) if window.unify else None
        gate = Gate(snapshot, inside, valid_period.Choice(), start.least_trust)
        scores = vector_rows.cosines(found.matrix, query.vector)
        best: dict[int, float] = {}
        for place in vector_rows.top_places(scores, len(scores)).tolist():
            node = int(found.nodes[place])
            if len(best) == k:
                break
            if gate.seen(node) is not None and (classes is None or classes.is_new(node)):
                best[node] = round(float(scores[place]), 6)
    follower.keep()
    return best


def _visible_search(
    window: Window, snapshot: visible.VisibleSnapshot, query: VectorQuery, pool: str
) -> composed_vectors.Effective:
    """Search exactly what is visible; a confined view caches the embeddings until its world changes."""
    key = "composed", query.space, pool
    here = window.use_kept_world(snapshot, valid_period.Choice())
    if here is not None and key in here.seen.kept:
        found: composed_vectors.Effective = here.seen.kept[key]
        return found
    made = composition.Composition(composition.POOLS[pool])
    made.fill(
        snapshot.tables,
        _anchor_lookup(snapshot, query.space, query.dimension),
        snapshot.inhabitants(),
        snapshot.place.moment,
    )
    rows = composed_vectors.rows_of(made, query.dimension)
    if here is not None:
        here.seen.kept[key] = rows
    return rows


def _anchor_lookup(snapshot: visible.VisibleSnapshot, space: int, dimension: int) -> Anchors:
    """Look up vectors of visible versions, as far as the view's commit had recorded them."""

    def anchor(node: int, version: int) -> Vector | None:
        stored = snapshot.vector(space, node, version)
        return None if stored is None else vector_rows.whole_text(stored.values, dimension)

    return anchor
