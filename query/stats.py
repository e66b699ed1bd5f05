"""Sizes and counts of a store."""

from __future__ import annotations

from typing import Any

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
