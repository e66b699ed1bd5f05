"""``contradicts``: two statements cannot both hold (paper Table 2: records both sides)."""

from typing import cast

from worlddb.log.model.times import Interval
from worlddb.reconciler.edge_types import supersession
from worlddb.reconciler.edge_types.handler import BulkContext, HandledEdge, HandlerContext, Insert, PlainHandler, Q


class Contradicts(PlainHandler):
    """The two ends conflict, and nobody has decided which one holds.

    Laws:
        * Both sides are kept: nothing is closed, hidden or rewritten.
        * It is symmetric: a pair is recorded once for any time, whichever end came first, while the edge is live.
        * Every read of either side shows the conflict, while both sides are valid.
    """

    name = "contradicts"

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
                    "Retire or unlink what is wrong, or give a time after that conflict",
                )
        return Insert.WRITE

    def on_query_rewrite(self, query: Q) -> Q:
        showing: Q = query.show_conflicts(self.name)
        return showing
