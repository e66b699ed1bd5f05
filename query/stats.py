"""Sizes and counts of a store."""

from __future__ import annotations

from typing import Any

from worlddb.projections.tables.reads.asof import edge_known
from worlddb.query.sight import Sight
from worlddb.query.snapshot import Snapshot


def counts(snapshot: Snapshot) -> dict[str, Any]:
    """How many commits, worlds (with the root), edges ever written and proposals there are."""
    progress = snapshot.tables.progress()
    return {
        "commits": snapshot.log.head().seq,
        "worlds": progress.next_node,
        "edges": progress.next_edge - 1,
        "proposals": sum(1 for _ in snapshot.tables.all_proposals()),
    }


def counts_at(snapshot: Sight) -> dict[str, int]:
    """How many worlds (with the outermost), edges and proposals a view's commit knew."""
    tables, seq = snapshot.tables, snapshot.place.moment.seq
    worlds = [snapshot.place.top, *snapshot.inhabitants()]
    known = (edge_known(row, seq) for node in worlds for _, row in tables.outgoing(node, known_by=seq))
    staged = sum(1 for found in tables.staged() if found.seq <= seq)
    return {"worlds": len(worlds), "edges": sum(known), "proposals": staged}
