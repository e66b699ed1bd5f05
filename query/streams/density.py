"""Measure how much is known around some worlds, by their edges and not by similar texts (Arbiter)."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from worlddb.log.model import limits
from worlddb.query.graph_query.traversal import Ground, checked_depth
from worlddb.query.reads import world_lookup
from worlddb.query.reads.window import Window


class Density(msgspec.Struct, frozen=True, kw_only=True):
    """What lies around some worlds: so many ``worlds``, themselves included, and so many ``edges`` between them.

    ``share`` is that of all pairs of them that an edge joins, from 0 to 1; ``types`` counts the edges by type.
    ``cut_off`` says that there were more worlds than are looked at.
    """

    worlds: int
    edges: int
    share: float
    types: dict[str, int]
    cut_off: bool


MAX_WORLDS: Final = 4_096
"""So many worlds are looked at, the nearest first."""


def density(window: Window, refs: Sequence[object], types: Sequence[str], depth: int) -> Density:
    """How densely the worlds up to ``depth`` edges around some are joined, by edges of some types, or of all.

    Raises:
        InputError: an argument is not what it should be.
        UnknownReference: the view sees no such world.
    """
    named = [limits.checked_text(each, "a type", limits.MAX_TYPE_BYTES) for each in limits.checked_list(types, "types")]
    steps = checked_depth(depth)
    with window.snapshot() as snapshot:
        ground = Ground(snapshot, window.spec, window.place.top, superseded=False, unified=window.unify)
        starts = [world_lookup.named_node(snapshot, window.spec, each, unify=window.unify) for each in refs]
        reached, level, is_cut = dict.fromkeys(starts), starts, False
        for _ in range(steps):
            onward: dict[int, None] = {}
            for arrivals in ground.arrivals_each(level, named, "both"):
                onward |= {each.node: None for each in arrivals if each.node not in reached}
            level = list(onward)[: MAX_WORLDS - len(reached)]
            is_cut |= len(level) < len(onward)
            reached |= dict.fromkeys(level)
        counted: Counter[str] = Counter()
        pairs: set[tuple[int, int]] = set()
        for arrivals in ground.arrivals_each(list(reached), named, "out"):
            for each in arrivals:
                if each.node in reached and each.node != each.origin:
                    counted[snapshot.tables.type_name(each.place.type)] += 1
                    pairs.add((min(each.origin, each.node), max(each.origin, each.node)))
    possible = len(reached) * (len(reached) - 1) // 2
    share = round(len(pairs) / possible, 6) if possible else 0.0
    types_found = dict(sorted(counted.items()))
    return Density(worlds=len(reached), edges=counted.total(), share=share, types=types_found, cut_off=is_cut)
