"""What commits say something new about, and what lies near it (paper §3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.names.blocks import UNNAMED_TYPES
from worlddb.projections.tables.names.canonical import NO_TYPE, type_digest
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.schema import CONTAINS, LIVE, ROOT_NODE
from worlddb.reconciler.stored import details_at

HOPS: Final = 2

MAX_NEIGHBOURS: Final = 2_000
"""How many worlds are looked at around what is new, that itself included if it is no more."""

MAX_EDGES: Final = 64
"""A world with more edges is not passed through: everybody in a conversation is not near to everybody else in it."""

LABELLED_TYPES: Final = frozenset({"Scope", "Namespace", "Item", "Document", "Section", "Paragraph"})
"""Types of which tools make worlds whose names are keys and titles: two that are spelled alike are two, such as the
users "anna" and "anne"."""
MADE_BY_TOOLS: Final = frozenset({"file", "channel"})
"""What the provenance of such worlds names, one of them at least: the file, or the channel that they came by."""

_NOBODY: Final = frozenset(map(type_digest, UNNAMED_TYPES)) | {NO_TYPE}
_LABELLED: Final = frozenset(map(type_digest, LABELLED_TYPES))
_ABOUT_ONE: Final = (ev.Created, ev.Revised, ev.Named, ev.Unnamed, ev.Embedded, ev.Filled)


class News(NamedTuple):
    """The worlds that commits say something new about, in the order in which they do, and the last of the commits."""

    nodes: tuple[int, ...]
    through: int


def news(log: LmdbLog, tables: Tables, after: int, head: int, most: int) -> News:
    """What the commits behind one say something new about: whole commits, until about so many worlds are together."""
    found: dict[int, None] = {}
    through = after
    for through in range(after + 1, head + 1):
        for event in log.events(through).events:
            numbers = (tables.node_of(lineage) for lineage in _named(event))
            found.update((node, None) for node in numbers if node is not None)
        if len(found) >= most:
            break
    return News(tuple(found), through)


def _named(event: ev.Event) -> tuple[bytes, ...]:
    if isinstance(event, _ABOUT_ONE):
        return (event.lineage,)
    if isinstance(event, ev.Linked):
        # What joins a container is new to it; the container is not new for that.
        return (event.target,) if event.type == CONTAINS else (event.source, event.target)
    return ()


def neighbourhood(tables: Tables, nodes: Iterable[int]) -> list[int]:
    """Those of the worlds that stand for somebody or something, and those within two hops of any, in log order."""
    reached = dict.fromkeys(islice((node for node in nodes if node != ROOT_NODE), MAX_NEIGHBOURS))
    frontier = list(reached)
    for _ in range(HOPS):
        further = []
        for end in chain.from_iterable(_ends(tables, node) for node in frontier):
            if len(reached) >= MAX_NEIGHBOURS:
                break
            if end != ROOT_NODE and end not in reached:
                reached[end] = None
                further.append(end)
        frontier = further
    return sorted(node for node in reached if _is_somebody(tables, node))


def is_label(log: LmdbLog, tables: Tables, node: int) -> bool:
    """True for a world that a tool made so that something has a place: its name is a key or a title, and nobody's.

    The type alone does not say so, for anybody may have worlds of it; where it came from does.
    """
    first = tables.version(node, 1)
    if first.type not in _LABELLED:
        return False
    details = details_at(log, first.seq, first.details)
    return details is not None and not MADE_BY_TOOLS.isdisjoint(details.source)


def _ends(tables: Tables, node: int) -> list[int]:
    """The other ends of a world's edges, or none if it has very many."""
    found = list(islice(_live_ends(tables, node), MAX_EDGES + 1))
    return found if len(found) <= MAX_EDGES else []


def _live_ends(tables: Tables, node: int) -> Iterator[int]:
    yield from (row.target for _, row in tables.outgoing(node) if row.unlinked == LIVE)
    yield from (place.source for place, row in tables.incoming(node) if row.unlinked == LIVE)


def _is_somebody(tables: Tables, node: int) -> bool:
    row = tables.node(node)
    return not row.ended and tables.version(node, row.versions).type not in _NOBODY
