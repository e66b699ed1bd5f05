"""``supersedes``: a newer statement takes the place of an older one (paper Table 2: only tightens)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.reconciler.handler import AcyclicHandler, HandledEdge, Insert, Q

if TYPE_CHECKING:
    from worlddb.reconciler.handler_context import HandlerContext


class Supersedes(AcyclicHandler):
    """The source replaces the target from ``valid_from`` on.

    Laws:
        * The target's ``valid_to`` becomes ``min(old, valid_from)``, never before its own ``valid_from``:
          validity only tightens.
        * ``valid_from`` defaults to the source's.
        * A target that was closed earlier stays as it is, and the edge is recorded.
        * The target has ended: it takes no further versions.
        * Unlinking reopens nothing; the receipt says so.
        * Supersession has no cycles, and nothing supersedes the root world.
    """

    name = "supersedes"

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        if edge.target == ctx.root:
            ctx.refuse("root_is_permanent", "The root world cannot be superseded")
        super().on_insert(ctx, edge)
        ctx.end(edge.target, edge.valid_from, by=ctx.lineage(edge.source))
        return Insert.WRITE

    def on_delete(self, ctx: HandlerContext, edge: HandledEdge) -> None:
        ctx.note("nothing_reopened", ctx.lineage(edge.target))

    def on_query_rewrite(self, query: Q) -> Q:
        hiding: Q = query.hide_closed()
        return hiding
