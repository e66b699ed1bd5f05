"""The built-in edge types, those of the paper's Table 2 first.

Each class states the laws of its type, its place in an order, and what it asks of queries.
"""

from typing import ClassVar, Final, cast

from worlddb.log.model.events import RewriteName
from worlddb.log.model.ids import short
from worlddb.log.model.times import FOREVER, Interval, span_in_words
from worlddb.reconciler.edge_types import handler, supersession
from worlddb.reconciler.edge_types.handler import (
    BulkContext,
    EdgeLookup,
    HandledEdge,
    HandlerContext,
    Insert,
    PlainHandler,
    Q,
)

MAX_SHOWN: Final = 4
"""How many spans of a membership a refusal names."""


class _Relation(PlainHandler):
    """A relation between two worlds; the only law is that nothing has it to itself."""

    looks_at: ClassVar[tuple[EdgeLookup, ...]] = ()
    rewrite: ClassVar[RewriteName | None] = None

    def only_records(self, ctx: BulkContext, source: int, target: int) -> bool:
        return source != target

    def on_query_rewrite(self, query: Q) -> Q:
        changed: Q = query if self.rewrite is None else getattr(query, self.rewrite)(self.name)
        return changed


class _Order(_Relation, handler.AcyclicHandler):
    """A strict order: following it never leads back."""

    looks_at = (EdgeLookup(of_target=False, incoming=True),)

    def only_records(self, ctx: BulkContext, source: int, target: int) -> bool:
        return source != target and not ctx.reaches(target, source, self.name)


class RefersTo(_Relation):
    """The source mentions the target, wherever the two are (paper Table 2: pierces containment).

    Laws:
        * It changes neither end, and its ends may lie in different worlds.
        * It is the only edge type that a traversal may follow out of the world that a query is in.
        * Nothing refers to itself.
    """

    name = "refers_to"
    rewrite = "cross_worlds"


class Implies(_Relation):
    """If the source holds, the target holds.

    Paper Table 2: preserved for the inferred-edge pass.

    Laws:
        * It changes neither end.
        * Nothing implies itself; two statements may imply each other.
    """

    name = "implies"


class DerivedFrom(_Order):
    """The source was made from the target (paper Table 2: preserved for the inferred-edge pass).

    A summary is derived from its details.

    Laws:
        * It changes neither end; the target may have ended.
        * Derivation has no cycles: nothing is, at any remove, its own evidence. A later version of a world may be
          derived from an earlier one.
    """

    name = "derived_from"
    joins_versions = True


class InstanceOf(_Relation):
    """The source is an instance of the type that the target stands for.

    Paper Table 2: schema-like lookups.

    Laws:
        * It changes neither end.
        * A filter by type also sees the instances of the worlds that stand for that type.
        * Nothing is an instance of itself.
    """

    name = "instance_of"
    rewrite = "widen_types"


class SubtypeOf(_Order):
    """Every instance of the source is an instance of the target.

    Paper Table 2: schema-like lookups.

    Laws:
        * It changes neither end.
        * It is a strict order: no type is, at any remove, a subtype of itself.
        * A filter by type also sees its subtypes.
    """

    name = "subtype_of"
    rewrite = "widen_types"


class Causes(_Order):
    """The source brought about the target (paper Table 2: causal ordering).

    Laws:
        * It changes neither end.
        * It is a strict order: nothing is, at any remove, its own cause.
    """

    name = "causes"


class Precedes(_Order):
    """The source comes before the target (paper Table 2: temporal ordering).

    Laws:
        * It changes neither end, and makes no claim about their validity intervals.
        * It is a strict order: nothing, at any remove, comes before itself.
    """

    name = "precedes"


class Contains(PlainHandler):
    """The source world contains the target.

    Laws:
        * Containment has no cycles, and nothing contains the root world.
        * A world is a member of another by one edge at a time; several edges may say so of times that do not overlap,
          and it may be a member of several.
        * Every world but the root has a container: one that loses its last is adopted by the root world,
          so that the root's hash stands for everything.
        * Membership is valid from when the member first is, in whichever version, unless told otherwise.
    """

    name = "contains"
    looks_at = (EdgeLookup(of_target=True, incoming=False), EdgeLookup(of_target=True, incoming=True))

    def default_valid_from(self, ctx: HandlerContext, source: int, target: int) -> int:
        first = supersession.earliest_start(ctx, target)
        return ctx.begins(target) if first is None or target == ctx.root else first

    def only_records(self, ctx: BulkContext, source: int, target: int) -> bool:
        if target in (ctx.root, source) or source in ctx.containers(target):
            return False
        return not ctx.targets(target, self.name) or not ctx.inside(source, target)

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        if edge.target == ctx.root:
            ctx.refuse(
                "containment_cycle",
                "The root world contains every world and is a member of none",
                "Name another member",
            )
        if edge.source == edge.target:
            ctx.refuse("containment_cycle", f"{ctx.shown(edge.source)} cannot contain itself", "Name two worlds")
        if self._would_close_cycle(ctx, edge):
            ctx.refuse(
                "containment_cycle",
                f"{ctx.shown(edge.source)} cannot contain {ctx.shown(edge.target)}, its own container",
                "Move it out of there first",
            )
        if edge.source in ctx.containers(edge.target):
            self._refuse_overlap(ctx, edge)
        return Insert.WRITE

    def on_delete(self, ctx: HandlerContext, edge: HandledEdge) -> None:
        if ctx.containers(edge.target):
            return
        if edge.source == ctx.root:
            ctx.refuse(
                "last_container",
                f"{ctx.shown(edge.target)} is a member of the root world alone",
                "Move it into another world, or retire it",
            )
        ctx.link(ctx.root, self.name, edge.target, valid_from=edge.valid_from)
        ctx.note("adopted_by_root", ctx.lineage(edge.target))

    @staticmethod
    def _refuse_overlap(ctx: HandlerContext, edge: HandledEdge) -> None:
        """Refuse a membership of times at which the member is one already."""
        # A built-in type is given the reconciler's own context, which knows of holes.
        own, window = cast("supersession.Succession", ctx), Interval(edge.valid_from, edge.valid_to)
        placed = [known for known in ctx.edges(edge.target, "contains", incoming=True) if known.source == edge.source]
        held = sorted(span for known in placed for span in own.times_of(known))
        if window.is_empty or any(span.overlaps(window) for span in held):
            known = ", ".join(map(span_in_words, held[:MAX_SHOWN])) + (", …" if len(held) > MAX_SHOWN else "")
            ctx.refuse(
                "already_member",
                f"{ctx.shown(edge.target)} is already a member of {ctx.shown(edge.source)}, {known or 'at no time'}",
                "For other times give valid_from and valid_to that do not overlap; if those are wrong, unlink the edge",
            )

    @staticmethod
    def _would_close_cycle(ctx: HandlerContext, edge: HandledEdge) -> bool:
        """True if the new member already contains its container; a world without members cannot."""
        if not any(True for _ in ctx.edges(edge.target, Contains.name)):
            return False
        return ctx.inside(edge.source, edge.target)


class Supersedes(handler.AcyclicHandler):
    """The source replaces the target from ``valid_from`` on.

    Laws:
        * The target's ``valid_to`` becomes ``min(old, valid_from)``, never before its own ``valid_from``:
          validity only tightens.
        * Where ``valid_from`` lies before the target began, what the target had replaced ends no later either, and so
          on: it ended where the target began, and would hold beside the source.
        * Of all worlds that the type joins at most one holds at a time, whatever the order in which they were joined:
          of two of which neither replaces the other, the one that begins later. So worlds may lose times that are not
          the edge's target.
        * What had taken the source's place before that had begun takes the target's, too.
        * ``valid_from`` defaults to the source's.
        * With a ``valid_to`` the target has a hole in that window, and holds again behind it; this joins nothing.
        * A target that was closed earlier stays as it is, and the edge is recorded.
        * The target has ended: it says nothing from there on, until it is reasserted.
        * Unlinking reopens nothing; the receipt says so. Of two that held beside each other because of the edge, and
          that others still join, one holds from then on.
        * Supersession has no cycles, and nothing supersedes the root world.
    """

    name = "supersedes"
    looks_at = (
        *(EdgeLookup(of_target, incoming) for of_target in (False, True) for incoming in (False, True)),
        *(EdgeLookup(True, incoming, supersession.CONTRADICTS) for incoming in (False, True)),
        EdgeLookup(of_target=True, incoming=False, type=supersession.CONTAINS),
        EdgeLookup(of_target=True, incoming=True, type=supersession.DERIVED_FROM),
    )

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        if edge.target == ctx.root:
            ctx.refuse("root_is_permanent", "The root world cannot be superseded", "Name a world inside it")
        if edge.source == edge.target:
            ctx.refuse(
                "self_reference",
                f"{ctx.shown(edge.source)} cannot supersede itself: its later versions replace the earlier ones",
                "Revise it; to join two versions, use derived_from, refines or a relation of your own",
            )
        super().on_insert(ctx, edge)
        # A built-in type is given the reconciler's own context.
        own = cast("supersession.Succession", ctx)
        if edge.valid_to == FOREVER:
            supersession.replace(own, edge.source, edge.target, edge.valid_from)
        elif edge.valid_from < edge.valid_to:
            window = Interval(edge.valid_from, edge.valid_to)
            own.void(edge.target, window)
            supersession.note_touched(own, edge.target, [window], {edge.source})
        return Insert.WRITE

    def on_delete(self, ctx: HandlerContext, edge: HandledEdge) -> None:
        ctx.note("nothing_reopened", ctx.lineage(edge.target))
        supersession.settle_unlinked(cast("supersession.Succession", ctx), edge.source, edge.target)

    def on_query_rewrite(self, query: Q) -> Q:
        hiding: Q = query.hide_closed()
        return hiding


class SameAs(PlainHandler):
    """The two ends are the same thing, once somebody has said so.

    Laws:
        * Inserting it stages a proposal and writes no edge; only ``accept`` writes one.
        * It is symmetric: a pair has at most one proposal that is pending or accepted, whichever end came first.
        * A rejected pair is not proposed again until either end has a new version.
        * Accepting rewrites nothing; unlinking (undo) leaves both ends as they were.
    """

    name = "same_as"

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        super().on_insert(ctx, edge)
        if ctx.root in (edge.source, edge.target):
            ctx.refuse("root_is_unique", "The root world cannot be the same as another world", "Name a world inside it")
        latest = ctx.proposal(edge.source, edge.target)
        if latest is not None:
            self._refuse_repeated_proposal(ctx, latest)
        return Insert.STAGE

    def on_query_rewrite(self, query: Q) -> Q:
        unifying: Q = query.unify_identities(self.name)
        return unifying

    @staticmethod
    def _refuse_repeated_proposal(ctx: HandlerContext, latest: handler.PairProposal) -> None:
        if latest.status == "pending":
            ctx.refuse("already_proposed", f"The pair is already proposed as {short(latest.id)}", "Accept or reject it")
        if latest.status == "accepted":
            ctx.refuse("already_same", f"The pair was already accepted as {short(latest.id)}", "Undo it if it is wrong")
        if latest.status == "rejected" and not latest.changed:
            ctx.refuse(
                "rejected_before",
                f"The pair was rejected as {short(latest.id)}, and nothing about it has changed since",
                "First revise one of them, if you know something new",
            )


class Contradicts(PlainHandler):
    """The two ends conflict, and nobody has decided which one holds.

    Laws:
        * Both sides are kept: nothing is closed, hidden or rewritten.
        * It is symmetric: a pair is recorded once for any time, whichever end came first, while the edge is live.
        * Every read of either side shows the conflict, while both sides are valid.
    """

    name = "contradicts"
    looks_at = (EdgeLookup(of_target=False, incoming=False), EdgeLookup(of_target=True, incoming=False))

    def only_records(self, ctx: BulkContext, source: int, target: int) -> bool:
        if source == target or target in ctx.targets(source, self.name):
            return False
        return source not in ctx.targets(target, self.name)

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        super().on_insert(ctx, edge)
        when = Interval(edge.valid_from, edge.valid_to)
        # A built-in type is given the reconciler's own context, which knows of holes.
        own = cast("supersession.Succession", ctx)
        for one, other in ((edge.source, edge.target), (edge.target, edge.source)):
            if any(
                known.target == other and any(span.overlaps(when) for span in own.times_of(known))
                for known in ctx.edges(one, self.name)
            ):
                ctx.refuse(
                    "already_in_conflict",
                    f"{ctx.shown(edge.source)} and {ctx.shown(edge.target)} are already recorded as contradicting",
                    "Retire or unlink the wrong one, or give a time after that conflict",
                )
        return Insert.WRITE

    def on_query_rewrite(self, query: Q) -> Q:
        showing: Q = query.show_conflicts(self.name)
        return showing


class DependsOn(_Order):
    """The source holds only as far as the target does (Kumiho §6.3).

    Laws:
        * It changes neither end.
        * It is a strict order: nothing depends, at any remove, on itself.
    """

    name = "depends_on"


class CreatedFrom(_Order):
    """The source was made out of the target, as a render out of a scene (Kumiho §6.3).

    Laws:
        * It changes neither end; unlike ``derived_from`` it makes no evidence of the target, so nothing is stale by it.
        * It has no cycles; a later version of a world may be created from an earlier one.
    """

    name = "created_from"
    joins_versions = True


class Supports(_Relation):
    """The source is a reason to believe the target (Arbiter).

    Laws:
        * It changes neither end.
        * Nothing supports itself, but a later version of a world may support an earlier one.
        * Two may support each other.
    """

    name = "supports"
    joins_versions = True


class Refines(_Relation):
    """The source says more exactly what the target says (Arbiter).

    Laws:
        * It changes neither end, and the target goes on to hold.
        * Nothing refines itself, but a later version of a world may refine an earlier one.
    """

    name = "refines"
    joins_versions = True


class RelatesTo(_Relation):
    """The two have to do with each other, and no more is said (Arbiter).

    Laws:
        * It changes neither end.
        * Nothing relates to itself.
    """

    name = "relates_to"


DEFAULT_ONTOLOGY: Final[tuple[handler.EdgeHandler, ...]] = (
    Contains(),
    RefersTo(),
    Supersedes(),
    SameAs(),
    Contradicts(),
    Implies(),
    DerivedFrom(),
    InstanceOf(),
    SubtypeOf(),
    Causes(),
    Precedes(),
    DependsOn(),
    CreatedFrom(),
    Supports(),
    Refines(),
    RelatesTo(),
)
