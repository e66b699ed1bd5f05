"""Effects of an import on worlds outside of its bundle, which an operator has to allow.

Anybody can write a bundle, and every export names the worlds that it refers to. So it proves nothing that a bundle
contains a world. Of the worlds that existed before the import, these count as the bundle's own:

- a world with a text that is both here and in the bundle, which only a reader of it can have;
- what lay inside such a world before the import;
- a world of which no text ever arrived, which is only a name for a later import.

All others are outside. A reference to them changes nothing; ending, revising, naming, moving, merging, contradicting
and restating them does.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from worlddb.log.model import events as ev
from worlddb.log.model import ids, times
from worlddb.log.store.bundle_contents import Contents
from worlddb.projections.tables.apply import settings
from worlddb.projections.tables.storage.schema import ROOT_NODE
from worlddb.reconciler.bundle_import.bundle_merge import BundleMerge
from worlddb.reconciler.transaction.context import Context

_REACHING: Final = frozenset({"contains", "supersedes", "contradicts", "same_as"})
"""The built-in edge types that do something to their target; all others only name it."""


class OutsideEffect(msgspec.Struct, frozen=True):
    """One effect of an import on a world outside of its bundle.

    ``kind`` is a verb (``ends``, ``loses``, ``revises``, ``names``, ``states``, ``registers``, ``tunes``,
    ``proposes``, ``decides``, ``unlinks``, ``closes``), or the type of an edge that is written. ``by`` is what does it:
    the world that takes its place, the edge or the proposal; or the name of what is set.
    """

    kind: str
    world: str
    by: str = ""
    at: int | None = None

    def __str__(self) -> str:
        when = "" if self.at is None else f" at {times.format_time(self.at)}"
        by = "" if not self.by else f" ({self.by if self.kind in _BY_NAME else ids.short(self.by)})"
        return f"{ids.short(self.world)} {_SAID.get(self.kind, f'gets an edge of type {self.kind}')}{when}{by}"


_SAID: Final = {
    "ends": "ends",
    "loses": "has no valid version for a while",
    "revises": "gets another version",
    "names": "gets or loses a name",
    "states": "is given a statement",
    "registers": "gets an edge type",
    "tunes": "gets thresholds of the resolver",
    "closes_to": "has its vocabulary closed to a profile",
    "proposes": "is proposed as the same as another world",
    "decides": "has a proposal decided",
    "unlinks": "loses an edge",
    "closes": "has an edge ended",
}
_BY_NAME: Final = frozenset({"registers", "tunes", "closes_to"})


class ImportPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a rehearsed import: nothing was written.

    ``events`` counts what it would write, ``outside`` lists what it would do to worlds that are not the bundle's own,
    each of them once. ``refused`` is the code and the reason of a refusal that no permission lifts.
    """

    world: str
    events: int
    outside: tuple[OutsideEffect, ...]
    refused: tuple[str, str] | None = None


class ImportRehearsed(Exception):
    """Raised when a rehearsed import is decided, so that nothing is written."""

    def __init__(self, events: int, outside: Sequence[OutsideEffect]) -> None:
        super().__init__()
        self.events = events
        self.outside = tuple(outside)


class OutsideWorlds:
    """Tells worlds of this store that are outside of a bundle from those of the bundle, as of before the import."""

    def __init__(self, ctx: Context, contents: Contents, merge: BundleMerge) -> None:
        self._ctx = ctx
        self._merge = merge
        self._before = ctx.draft.seq - 1
        self._above = settings.containers_known(ctx.tables, self._before)
        self._read = {
            node
            for group in contents.worlds
            if (node := ctx.tables.node_of(group.frame.lineage)) is not None
            and self._has_text_in(node, [version.body for version in group.versions])
        }
        self._known: dict[int, bool] = {}

    def is_outside(self, node: int) -> bool:
        """True if a world existed here before and is not one of the bundle."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = node < self._ctx.tables.first_new_node and not self._is_own(node)
        return found

    def _is_own(self, node: int) -> bool:
        if any(not self._read.isdisjoint(level) for level in settings.containment_levels(node, self._above)):
            return True
        return all(
            self._merge.held.is_absent(row) for _, row in self._ctx.tables.version_rows(node) if row.seq <= self._before
        )

    def _has_text_in(self, node: int, bodies: Sequence[bytes]) -> bool:
        here = {row.body for _, row in self._ctx.tables.version_rows(node)}
        return any(body in here and self._merge.blobs.is_any_told(body) for body in bodies)


def outside_effects(
    ctx: Context, outside: OutsideWorlds, events: Sequence[ev.AnyEvent], where: int
) -> list[OutsideEffect]:
    """List the effects of an import's events on worlds outside of the bundle, each once.

    ``where`` is the world that the operator chose for the bundle, which may take members.
    """
    found = dict.fromkeys(effect for event in events for effect in _effects_of_event(ctx, outside, event, where))
    return list(found)


def _effects_of_event(ctx: Context, outside: OutsideWorlds, event: ev.AnyEvent, where: int) -> Iterator[OutsideEffect]:
    if isinstance(event, ev.Linked):
        yield from _effects_of_edge(ctx, outside, event.edge, event.type, where)
    elif isinstance(event, ev.Unlinked | ev.EdgeClosed | ev.EdgeLost):
        yield from _effects_of_edge(
            ctx, outside, event.edge, "unlinks" if isinstance(event, ev.Unlinked) else "closes", where
        )
    elif isinstance(event, ev.Proposed | ev.Decided):
        row = ctx.tables.proposal(event.proposal)
        assert row is not None, "it was staged"
        kind = "proposes" if isinstance(event, ev.Proposed) else "decides"
        for node in (row.source, row.target):
            if outside.is_outside(node):
                yield OutsideEffect(kind, ctx.lineage(node).hex(), event.proposal.hex())
    elif isinstance(event, ev.Closed | ev.Lost | ev.Ended | ev.Voided | ev.Revised | ev.Named | ev.Unnamed):
        node = ctx.node_known(event.lineage)
        if outside.is_outside(node):
            if isinstance(event, ev.Closed):
                yield OutsideEffect("ends", event.lineage.hex(), event.by.hex(), event.valid_to)
            elif isinstance(event, ev.Lost):
                yield OutsideEffect("loses", event.lineage.hex(), event.by.hex(), event.valid_from)
            elif isinstance(event, ev.Voided):
                yield OutsideEffect("loses", event.lineage.hex(), at=event.valid_from)
            elif isinstance(event, ev.Ended):
                yield OutsideEffect("ends", event.lineage.hex(), event.by.hex(), event.at)
            else:
                yield OutsideEffect("revises" if isinstance(event, ev.Revised) else "names", event.lineage.hex())
    elif isinstance(event, ev.Stated | ev.Unstated) and outside.is_outside(ctx.node_known(event.lineage)):
        yield OutsideEffect("states", event.lineage.hex())
    elif isinstance(event, ev.Profiled) and outside.is_outside(ctx.node_known(event.world)):
        yield OutsideEffect("closes_to", event.world.hex(), event.profile)
    elif isinstance(event, ev.Registered | ev.Tuned) and outside.is_outside(ctx.node_known(event.world)):
        yield OutsideEffect("registers" if isinstance(event, ev.Registered) else "tunes", event.world.hex(), event.type)


def _effects_of_edge(
    ctx: Context, outside: OutsideWorlds, edge: bytes, kind: str, where: int
) -> Iterator[OutsideEffect]:
    """The effects of an edge on its home, its source, and its target if the type changes that.

    A membership has its container for a home and a source. The root, and the world that the operator chose, are where
    an import puts things.
    """
    place = ctx.tables.place_of(edge)
    assert place is not None, "it was written"
    row = ctx.tables.edge(place)
    type_name = ctx.tables.type_name(place.type)
    touched = {node for node in (row.home, place.source) if node not in (ROOT_NODE, where)}
    if type_name in _REACHING or _has_query_rewrites(ctx, type_name, row.home):
        touched.add(row.target)
    for node in sorted(touched):
        if outside.is_outside(node):
            yield OutsideEffect(kind, ctx.lineage(node).hex(), edge.hex())


def _has_query_rewrites(ctx: Context, type_name: str, home: int) -> bool:
    """True if a registered type rewrites queries."""
    known = None if type_name in ctx.scopes.built_in else ctx.scopes.in_force(type_name, home)
    return known is not None and bool(known.rewrites)
