"""The laws of relations that are said by name: no code of a caller's is needed for them.

A **functional** relation has one target of a source at a time (paper §6); a second one is a conflict of the two. In a
**succession** the targets follow one another, so that each ends where the next begins. An **acyclic** one never leads
back. Which laws hold is in the registration, and so any process writes edges of the type.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from worlddb.log.model.events import Laws
from worlddb.log.model.times import FOREVER, Interval
from worlddb.projections.tables.apply.settings import Profile
from worlddb.reconciler.edge_types.handler import AcyclicHandler, HandledEdge, HandlerContext, PlainHandler

NEVER_FUNCTIONAL: Final = frozenset({"contains", "same_as", "supersedes", "contradicts"})
"""Types of which several edges from one source are no contradiction, or which are how one is recorded."""

RELATION: Final = "functional"
"""The property of a recorded conflict that names the functional relation that it comes from."""


class Relations(HandlerContext, Protocol):
    """What deciding a functional relation needs beyond what every handler may do."""

    def times_of(self, edge: HandledEdge, /) -> tuple[Interval, ...]: ...

    def place_in_succession(self, edge: HandledEdge, /) -> tuple[int, int]: ...

    def close_edge(self, edge: bytes, at: int, until: int = FOREVER, /) -> bool: ...


class Scopes(Protocol):
    """Which registrations are in force for edges at home in a world."""

    def functional(self, type_name: str, home: int, /) -> int | None: ...

    def succession(self, type_name: str, home: int, /) -> int | None: ...


class DeclaredRelation(PlainHandler):
    """A relation that somebody declared by its name and its laws.

    Laws:
        * Nothing has it to itself; without another law, or if it is acyclic, a later version may have it to an earlier.
        * What else it is, functional or a succession, is settled once the edge is written.
    """

    def __init__(self, name: str, *, joins_versions: bool = False) -> None:
        self.name = name
        self.joins_versions = joins_versions


class DeclaredOrder(DeclaredRelation, AcyclicHandler):
    """A declared relation that is acyclic.

    Laws:
        * As of any declared relation, and following it never leads back.
    """


class ClosedWorlds(Protocol):
    """The profiles that hold in a world."""

    def profiles(self, home: int, /) -> list[Profile]: ...


class Interior(HandlerContext, Protocol):
    """What keeping a profile needs beyond what every handler may do."""

    def relations_at_home(self, world: int, /) -> set[str]: ...


_STRUCTURE: Final = frozenset({"contains", "same_as"})
"""Types that every profile allows: where worlds are, and who they are."""


def refuse_relation(ctx: HandlerContext, closed: ClosedWorlds, type_name: str, home: int) -> None:
    """Refuse an edge at home in a world whose profile has no such relation."""
    for profile in () if type_name in _STRUCTURE else closed.profiles(home):
        if type_name not in profile.relations:
            _refuse(ctx, profile, f"The relation {type_name[:80]!r}", profile.relations)


def refuse_type(ctx: HandlerContext, closed: ClosedWorlds, type_name: str, world: int) -> None:
    """Refuse a world of a type inside another one whose profile has no such type."""
    for profile in closed.profiles(world):
        if type_name not in profile.node_types:
            _refuse(ctx, profile, f"The type {type_name[:80]!r}", profile.node_types)


def refuse_member(ctx: Interior, closed: ClosedWorlds, member: int, container: int) -> None:
    """Refuse a member whose types, or relations inside, the profile of its container does not have."""
    if not closed.profiles(container):
        return
    pending, seen = [member], {member}
    for node in pending:
        text = ctx.text(node)
        if text is not None:
            refuse_type(ctx, closed, text.type, container)
        for type_name in sorted(ctx.relations_at_home(node)):
            refuse_relation(ctx, closed, type_name, container)
        for edge in ctx.edges(node, "contains"):
            if edge.target not in seen:
                seen.add(edge.target)
                pending.append(edge.target)


def _refuse(ctx: HandlerContext, profile: Profile, what: str, allowed: tuple[str, ...]) -> None:
    ctx.refuse(
        "not_in_profile",
        f"{what} is not in the profile {profile.name[:80]!r} of {ctx.shown(profile.world)}",
        f"Use one of: {', '.join(allowed) or 'none'}",
    )


def declared(name: str, laws: Laws, *, functional: bool) -> DeclaredRelation:
    """The handler of a declared relation."""
    kind = DeclaredOrder if laws.acyclic else DeclaredRelation
    return kind(name, joins_versions=not (functional or laws.succession or laws.symmetric))


def settle_written(ctx: Relations, scopes: Scopes, edge: HandledEdge, *, before: int | None = None) -> None:
    """Settle an edge that was just written with the others of its type and source, as its registration says.

    With ``before`` only with those of commits before that one.
    """
    if (scope := scopes.succession(edge.type, edge.home)) is not None:
        _take_turns(ctx, scopes, edge, scope, before)
    if (scope := scopes.functional(edge.type, edge.home)) is not None:
        record_conflicts(ctx, scopes, edge, scope, before=before)


def _take_turns(ctx: Relations, scopes: Scopes, edge: HandledEdge, scope: int, before: int | None) -> None:
    """Leave each time to the edge that begins last, of those of a succession that are in force then.

    So it does not matter in which order they were written; of two that begin together the one written later holds.
    """
    others = list(ctx.edges(edge.source, edge.type))
    turn = ctx.place_in_succession(edge)
    for other in others:
        if other.id == edge.id or (before is not None and other.seq >= before):
            continue
        if not list(_together(ctx, edge, other)) or scopes.succession(edge.type, other.home) != scope:
            continue
        later, earlier = (edge, other) if ctx.place_in_succession(other) < turn else (other, edge)
        for span in ctx.times_of(later):
            ctx.close_edge(earlier.id, span.start, span.end)
        ctx.note("took_turns", earlier.id, later.id)


def record_conflicts(
    ctx: Relations, scopes: Scopes, edge: HandledEdge, scope: int, *, before: int | None = None
) -> None:
    """Record that the targets of two edges contradict each other.

    There is one for each span in which both edges are in force: in the hole of either nothing competes. The edge that
    was written is compared with every other one of its type and source that the same registration, that of the world
    ``scope``, governs; with ``before`` only with those of commits before that one. Nothing is closed or hidden: which
    of the two holds is for somebody to say.
    """
    for other in list(ctx.edges(edge.source, edge.type)):
        if before is not None and other.seq >= before:
            continue
        for both in list(_competing(ctx, scopes, edge, other, scope)):
            known = _recorded(ctx, edge.target, other.target, both)
            if known is not None:
                ctx.note("functional_conflict", known.id)
            if known is not None and RELATION not in ctx.properties(known):
                continue  # Somebody has said from when on it is one.
            # One that is recorded for a part of the time, as of shorter edges, says nothing of the rest.
            for rest in list(_uncovered(both, _recorded_times(ctx, edge.target, other.target))):
                made = ctx.link(
                    edge.target,
                    "contradicts",
                    other.target,
                    home=edge.home,
                    valid_from=rest.start,
                    valid_to=rest.end,
                    properties={RELATION: edge.type},
                )
                ctx.note("functional_conflict", made.id)


def unrecorded_conflicts(
    ctx: Relations, scopes: Scopes, edge: HandledEdge, scope: int
) -> Iterator[tuple[HandledEdge, Interval]]:
    """The earlier edges that one competes with, and when, of which no conflict was ever recorded.

    As those that were there before their type became functional; writes nothing.
    """
    for other in ctx.edges(edge.source, edge.type):
        if other.seq > edge.seq or other.id == edge.id:
            break
        for both in _competing(ctx, scopes, edge, other, scope):
            if _recorded(ctx, edge.target, other.target, both) is None:
                yield other, both


def _competing(ctx: Relations, scopes: Scopes, edge: HandledEdge, other: HandledEdge, scope: int) -> Iterator[Interval]:
    """The spans in which two edges of one source lead to different targets under one registration."""
    if other.id == edge.id or other.target == edge.target:
        return
    if max(edge.valid_from, other.valid_from) >= min(edge.valid_to, other.valid_to):
        return
    together = list(_together(ctx, edge, other))
    if together and scopes.functional(edge.type, other.home) == scope:
        yield from together


def end_conflicts(ctx: Relations, scopes: Scopes, edge: HandledEdge, end: int | None, until: int = FOREVER) -> None:
    """End the conflicts that an edge caused.

    The edge was closed at ``end`` or (``None``) unlinked. Each conflict loses the times at which no pair of edges bears
    it out any more. If none ever does, it is closed with the edge, or unlinked with it. Conflicts that somebody
    recorded are left to them. An edge that is in force again from ``until`` on has a hole, and so has what it caused.
    """
    if edge.type in NEVER_FUNCTIONAL:
        return
    for conflict in list(_conflicts(ctx, edge.target)):
        if ctx.properties(conflict).get(RELATION) != edge.type:
            continue
        borne_out = list(_borne_out(ctx, scopes, conflict, edge.type))
        if end is not None and until != FOREVER:
            behind = max((both.end for both in borne_out), default=until)
            gaps = [*_uncovered(Interval(end, until), borne_out), Interval(behind, FOREVER)]
            if not any([ctx.close_edge(conflict.id, *gap) for gap in gaps]):
                continue
        elif end is None and not borne_out:
            ctx.unlink(conflict.id)
        else:
            last = max((both.end for both in borne_out), default=FOREVER)
            start = conflict.valid_from if end is None else min(end, last)
            if not any([ctx.close_edge(conflict.id, *gap) for gap in _uncovered(Interval(start, FOREVER), borne_out)]):
                continue
        ctx.note("conflict_ended", conflict.id)


def _uncovered(window: Interval, by: list[Interval]) -> Iterator[Interval]:
    """The parts of a window that no span covers, in order."""
    at = window.start
    for span in sorted(by):
        if at < min(span.start, window.end):
            yield Interval(at, min(span.start, window.end))
        at = max(at, span.end)
    if at < window.end:
        yield Interval(at, window.end)


def _borne_out(ctx: Relations, scopes: Scopes, conflict: HandledEdge, type_name: str) -> Iterator[Interval]:
    """When two functional edges bear out a conflict.

    These are the times of the conflict at which two functional edges under one registration lead to its two sides.
    """
    here = scopes.functional(type_name, conflict.home)
    for one in ctx.edges(conflict.source, type_name, incoming=True):
        scope = scopes.functional(type_name, one.home)
        if scope is None and here is not None:
            continue
        for other in ctx.edges(one.source, type_name):
            if other.target == conflict.target and scopes.functional(type_name, other.home) == scope:
                for both in _together(ctx, one, other):
                    pieces = (both.intersect(span) for span in ctx.times_of(conflict))
                    yield from (piece for piece in pieces if not piece.is_empty)


def _recorded(ctx: Relations, one: int, other: int, when: Interval) -> HandledEdge | None:
    """The edge that already records a conflict of two nodes, in either direction.

    It does so at some time of ``when``.
    """
    for known in _conflicts(ctx, one):
        if other in (known.source, known.target) and any(span.overlaps(when) for span in ctx.times_of(known)):
            return known
    return None


def _recorded_times(ctx: Relations, one: int, other: int) -> list[Interval]:
    """The times for which a conflict of two nodes is recorded, in either direction."""
    between = (known for known in _conflicts(ctx, one) if other in (known.source, known.target))
    return [span for known in between for span in ctx.times_of(known)]


def _conflicts(ctx: HandlerContext, node: int) -> Iterator[HandledEdge]:
    """The contradictions recorded for a node, in either direction."""
    yield from ctx.edges(node, "contradicts")
    yield from ctx.edges(node, "contradicts", incoming=True)


def _together(ctx: Relations, one: HandledEdge, other: HandledEdge) -> Iterator[Interval]:
    """The spans in which two edges are in force."""
    theirs = ctx.times_of(other)
    for span in ctx.times_of(one):
        pieces = (span.intersect(each) for each in theirs)
        yield from (piece for piece in pieces if not piece.is_empty)
