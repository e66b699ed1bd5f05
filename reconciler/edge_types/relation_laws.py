"""The laws of relations that are declared by name, without code of the caller.

A **functional** relation has one target per source at a time (paper §6); a second one is a conflict of the two. In a
**succession** the targets follow each other, so that each ends where the next begins. An **acyclic** relation has no
cycles. The laws are in the registration, so any process can write edges of the type.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from worlddb.log.model.events import Laws
from worlddb.log.model.times import FOREVER, Interval
from worlddb.projections.tables.apply.settings import Profile
from worlddb.reconciler.edge_types.handler import AcyclicHandler, HandledEdge, HandlerContext, PlainHandler

NEVER_FUNCTIONAL: Final = frozenset({"contains", "same_as", "supersedes", "contradicts"})
"""Types whose edges from one source never contradict each other, or record a contradiction."""

RELATION: Final = "functional"
"""The property of a recorded conflict that names the functional relation that it comes from."""


class Relations(HandlerContext, Protocol):
    """What functional relations need of a context, beyond :class:`HandlerContext`."""

    def times_of(self, edge: HandledEdge, /) -> tuple[Interval, ...]: ...

    def place_in_succession(self, edge: HandledEdge, /) -> tuple[int, int]: ...

    def close_edge(self, edge: bytes, at: int, until: int = FOREVER, /) -> bool: ...


class Scopes(Protocol):
    """The registrations in force for edges at home in a world."""

    def functional(self, type_name: str, home: int, /) -> int | None: ...

    def succession(self, type_name: str, home: int, /) -> int | None: ...

    def symmetric(self, type_name: str, home: int, /) -> bool: ...


class DeclaredRelation(PlainHandler):
    """A relation that a caller declared by its name and laws.

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
    """What profiles need of a context, beyond :class:`HandlerContext`."""

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
    """Apply the laws of its registration to an edge that was just written and the others of its type and source.

    With ``before`` only with those of commits before that one.
    """
    if (scope := scopes.succession(edge.type, edge.home)) is not None:
        _resolve_succession(ctx, scopes, edge, scope, before)
    if (scope := scopes.functional(edge.type, edge.home)) is not None:
        record_conflicts(ctx, scopes, edge, scope, before=before)


def _resolve_succession(ctx: Relations, scopes: Scopes, edge: HandledEdge, scope: int, before: int | None) -> None:
    """In a succession, leave each time to the edge that begins last of those in force.

    So it does not matter in which order they were written; of two that begin together the one written later holds.
    """
    others = list(ctx.edges(edge.source, edge.type))
    turn = ctx.place_in_succession(edge)
    for other in others:
        if other.id == edge.id or (before is not None and other.seq >= before):
            continue
        if not list(_common_spans(ctx, edge, other)) or scopes.succession(edge.type, other.home) != scope:
            continue
        later, earlier = (edge, other) if ctx.place_in_succession(other) < turn else (other, edge)
        for span in ctx.times_of(later):
            ctx.close_edge(earlier.id, span.start, span.end)
        ctx.note("took_turns", earlier.id, later.id)


class Rivals(NamedTuple):
    """Two edges from one world to different targets, these targets, and a span in which both edges are in force."""

    other: HandledEdge
    end: int
    other_end: int
    span: Interval


def record_conflicts(
    ctx: Relations, scopes: Scopes, edge: HandledEdge, scope: int, *, before: int | None = None
) -> None:
    """Record that the targets of two edges contradict each other.

    There is one conflict for each span in which both edges are in force. The written edge is compared with every other
    edge of its type and source under the same registration, that of the world ``scope``; with ``before`` only with
    edges of commits before that one. In a symmetric relation both ends count as source, so each world is joined to one
    other at a time. Nothing is closed or hidden: which of the two holds is left to a later decision.
    """
    for other, end, other_end, both in list(_find_rivals(ctx, scopes, edge, scope)):
        if before is not None and other.seq >= before:
            continue
        known = _recorded_conflict(ctx, end, other_end, both)
        if known is not None:
            ctx.note("functional_conflict", known.id)
        if known is not None and RELATION not in ctx.properties(known):
            continue  # Somebody has said from when on it is one.
        # One that is recorded for a part of the time, as of shorter edges, says nothing of the rest.
        for rest in list(_uncovered_spans(both, _recorded_times(ctx, end, other_end))):
            made = ctx.link(
                end,
                "contradicts",
                other_end,
                home=edge.home,
                valid_from=rest.start,
                valid_to=rest.end,
                properties={RELATION: edge.type},
            )
            ctx.note("functional_conflict", made.id)


def unrecorded_conflicts(ctx: Relations, scopes: Scopes, edge: HandledEdge, scope: int) -> Iterator[Rivals]:
    """The earlier edges that an edge competes with, and when, without those whose conflict was ever recorded.

    As those that were there before their type became functional; writes nothing.
    """
    for found in _find_rivals(ctx, scopes, edge, scope):
        if (
            _was_written_earlier(ctx, found.other, edge)
            and _recorded_conflict(ctx, found.end, found.other_end, found.span) is None
        ):
            yield found


def _was_written_earlier(ctx: HandlerContext, other: HandledEdge, edge: HandledEdge) -> bool:
    """True if the other edge was written first; in one commit the order of writing decides."""
    if (other.seq, other.source) != (edge.seq, edge.source):
        return (other.seq, other.id) < (edge.seq, edge.id)
    return next(each.id for each in ctx.edges(edge.source, edge.type) if each.id in (edge.id, other.id)) == other.id


def _find_rivals(ctx: Relations, scopes: Scopes, edge: HandledEdge, scope: int) -> Iterator[Rivals]:
    """The edges to other targets, at a common time and under the same registration, in log order."""
    is_symmetric = scopes.symmetric(edge.type, edge.home)
    sides = [(edge.source, edge.target), (edge.target, edge.source)] if is_symmetric else [(edge.source, edge.target)]
    for node, end in sides:
        for other, other_end in _edges_joining(ctx, node, edge.type, both_ways=is_symmetric):
            if other.id == edge.id or other_end == end:
                continue
            if max(edge.valid_from, other.valid_from) >= min(edge.valid_to, other.valid_to):
                continue
            together = list(_common_spans(ctx, edge, other))
            if together and scopes.functional(edge.type, other.home) == scope:
                yield from (Rivals(other, end, other_end, span) for span in together)


def _edges_joining(
    ctx: HandlerContext, node: int, type_name: str, *, both_ways: bool, incoming: bool = False
) -> Iterator[tuple[HandledEdge, int]]:
    """The edges of a type from a world (or into it), and of a symmetric one either way, each with its other end."""
    for into in (False, True) if both_ways else (incoming,):
        for edge in ctx.edges(node, type_name, incoming=into):
            yield edge, edge.source if into else edge.target


def end_conflicts(ctx: Relations, scopes: Scopes, edge: HandledEdge, end: int | None, until: int = FOREVER) -> None:
    """End the conflicts that an edge caused.

    The edge was closed at ``end`` or (``None``) unlinked. Each conflict loses the times that no pair of edges justifies
    any more. If none is left, it is closed or unlinked with the edge. Conflicts that a caller recorded stay. An edge
    that is in force again from ``until`` on has a hole, and its conflicts get the same hole.
    """
    if edge.type in NEVER_FUNCTIONAL:
        return
    ends = (edge.target, edge.source) if scopes.symmetric(edge.type, edge.home) else (edge.target,)
    for conflict in list({each.id: each for node in ends for each in _contradictions_of(ctx, node)}.values()):
        if ctx.properties(conflict).get(RELATION) != edge.type:
            continue
        borne_out = list(_spans_in_conflict(ctx, scopes, conflict, edge.type))
        if end is not None and until != FOREVER:
            behind = max((both.end for both in borne_out), default=until)
            gaps = [*_uncovered_spans(Interval(end, until), borne_out), Interval(behind, FOREVER)]
            if not any([ctx.close_edge(conflict.id, *gap) for gap in gaps]):
                continue
        elif end is None and not borne_out:
            ctx.unlink(conflict.id)
        else:
            last = max((both.end for both in borne_out), default=FOREVER)
            start = conflict.valid_from if end is None else min(end, last)
            if not any(
                [ctx.close_edge(conflict.id, *gap) for gap in _uncovered_spans(Interval(start, FOREVER), borne_out)]
            ):
                continue
        ctx.note("conflict_ended", conflict.id)


def _uncovered_spans(window: Interval, by: list[Interval]) -> Iterator[Interval]:
    """The parts of a window that no span covers, in order."""
    at = window.start
    for span in sorted(by):
        if at < min(span.start, window.end):
            yield Interval(at, min(span.start, window.end))
        at = max(at, span.end)
    if at < window.end:
        yield Interval(at, window.end)


def _spans_in_conflict(ctx: Relations, scopes: Scopes, conflict: HandledEdge, type_name: str) -> Iterator[Interval]:
    """When two functional edges justify a recorded conflict.

    These are the times of the conflict at which two functional edges under one registration lead to its two sides.
    """
    here = scopes.functional(type_name, conflict.home)
    both_ways = scopes.symmetric(type_name, conflict.home)
    for one, middle in _edges_joining(ctx, conflict.source, type_name, both_ways=both_ways, incoming=True):
        scope = scopes.functional(type_name, one.home)
        if scope is None and here is not None:
            continue
        for other, end in _edges_joining(ctx, middle, type_name, both_ways=both_ways):
            if end == conflict.target and scopes.functional(type_name, other.home) == scope:
                for both in _common_spans(ctx, one, other):
                    pieces = (both.intersect(span) for span in ctx.times_of(conflict))
                    yield from (piece for piece in pieces if not piece.is_empty)


def _recorded_conflict(ctx: Relations, one: int, other: int, when: Interval) -> HandledEdge | None:
    """The edge that already records a conflict of two nodes, in either direction.

    It does so at some time of ``when``.
    """
    for known in _contradictions_of(ctx, one):
        if other in (known.source, known.target) and any(span.overlaps(when) for span in ctx.times_of(known)):
            return known
    return None


def _recorded_times(ctx: Relations, one: int, other: int) -> list[Interval]:
    """The times for which a conflict of two nodes is recorded, in either direction."""
    between = (known for known in _contradictions_of(ctx, one) if other in (known.source, known.target))
    return [span for known in between for span in ctx.times_of(known)]


def _contradictions_of(ctx: HandlerContext, node: int) -> Iterator[HandledEdge]:
    """The contradictions recorded for a node, in either direction."""
    yield from ctx.edges(node, "contradicts")
    yield from ctx.edges(node, "contradicts", incoming=True)


def _common_spans(ctx: Relations, one: HandledEdge, other: HandledEdge) -> Iterator[Interval]:
    """The spans in which two edges are in force."""
    theirs = ctx.times_of(other)
    for span in ctx.times_of(one):
        pieces = (span.intersect(each) for each in theirs)
        yield from (piece for piece in pieces if not piece.is_empty)
