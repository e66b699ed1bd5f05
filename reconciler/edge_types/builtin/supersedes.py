"""``supersedes``: a newer statement takes the place of an older one.

Paper Table 2: only tightens.
"""

from typing import cast

from worlddb.log.model.times import FOREVER, Interval
from worlddb.reconciler.edge_types import handler, supersession


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

    def on_insert(self, ctx: handler.HandlerContext, edge: handler.HandledEdge) -> handler.Insert:
        if edge.target == ctx.root:
            ctx.refuse("root_is_permanent", "The root world cannot be superseded")
        super().on_insert(ctx, edge)
        # A built-in type is given the reconciler's own context.
        own = cast("supersession.Succession", ctx)
        if edge.valid_to == FOREVER:
            supersession.replace(own, edge.source, edge.target, edge.valid_from)
        elif edge.valid_from < edge.valid_to:
            own.void(edge.target, Interval(edge.valid_from, edge.valid_to))
        return handler.Insert.WRITE

    def on_delete(self, ctx: handler.HandlerContext, edge: handler.HandledEdge) -> None:
        ctx.note("nothing_reopened", ctx.lineage(edge.target))
        supersession.settle_apart(cast("supersession.Succession", ctx), edge.source, edge.target)

    def on_query_rewrite(self, query: handler.Q) -> handler.Q:
        hiding: handler.Q = query.hide_closed()
        return hiding
