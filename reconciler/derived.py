"""What was made of texts that are erased, and goes with them.

A summary says in other words what it sums up, and an extractor's world is called what a turn said: were they left, so
would be what was to go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from typing import Final

from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import CONTAINS_CODE, EDGE_TYPE_CODES, LIVE, ROOT_NODE, SAME_AS_CODE
from worlddb.reconciler.stored import bodies_of, details_at

MENTION: Final = "mention"
"""The role that an extractor gives the edge from a turn to what the turn mentions."""
SUMMARY: Final = "Summary"
"""The type of worlds that say in short what others say at length (paper §6)."""
_DERIVED_FROM: Final = EDGE_TYPE_CODES["derived_from"]
_REFERS_TO: Final = EDGE_TYPE_CODES["refers_to"]
_NO_USE: Final = frozenset((CONTAINS_CODE, SAME_AS_CODE))
"""Edges by which nobody says anything of a world: where it lies, and who it may be."""


def made_of(log: LmdbLog, tables: Tables, nodes: Collection[int], *, besides: Collection[int]) -> dict[int, int]:
    """Worlds other than ``besides`` that were made of the texts of some ``nodes``, at any remove, each with one that it
    was made of. All of ``besides`` is erased.

    * What is ``derived_from`` one of them by an edge that was not unlinked.
    * Summaries that contain one of them.
    * What nothing but erased turns mention, if all that is known of it is a name.

    Worlds without any text left are none of these, nor is what was made of them.
    """
    found: dict[int, int] = {}
    reached = {*nodes, *besides}
    pending = deque(nodes)
    mentioned: dict[int, int] = {}
    while pending:
        node = pending.popleft()
        for other in _mentions(log, tables, node):
            mentioned.setdefault(other, node)
        made = {other: node for other in _restatements(log, tables, node)}
        if not pending:
            made |= {other: by for other, by in mentioned.items() if _only_mentioned(log, tables, other, reached)}
        for other in sorted(made.keys() - reached):
            if _says_anything(log, tables, other):
                found[other] = made[other]
                reached.add(other)
                pending.append(other)
    return found


def _restatements(log: LmdbLog, tables: Tables, node: int) -> Iterator[int]:
    """Worlds that say in other words what a world says."""
    for place, row in tables.incoming(node, _DERIVED_FROM):
        if row.unlinked == LIVE:
            yield place.source
    for place, row in tables.incoming(node, CONTAINS_CODE):
        if row.unlinked == LIVE and any(body.type == SUMMARY for body in bodies_of(log, tables, place.source)):
            yield place.source


def _mentions(log: LmdbLog, tables: Tables, node: int) -> Iterator[int]:
    for _, row in tables.outgoing(node, _REFERS_TO):
        details = details_at(log, row.seq, row.details)
        if details is not None and details.properties.get("role") == MENTION:
            yield row.target


def _only_mentioned(log: LmdbLog, tables: Tables, node: int, reached: Collection[int]) -> bool:
    """True if nobody but those who are erased, now or before, says anything of a world, and it says only its name."""
    if next(tables.aliases(node), None) is not None or any(body.content for body in bodies_of(log, tables, node)):
        return False
    users = [place.source for place, _ in tables.incoming(node) if place.type not in _NO_USE]
    users += [row.target for place, row in tables.outgoing(node) if place.type not in _NO_USE]
    return not any(user not in reached and _says_anything(log, tables, user) for user in users)


def _says_anything(log: LmdbLog, tables: Tables, node: int) -> bool:
    return node != ROOT_NODE and next(bodies_of(log, tables, node), None) is not None
