"""``supersedes``: a newer statement takes the place of an older one.

Paper Table 2: only tightens.
"""

from worlddb.reconciler.edge_types import handler, supersession


class Supersedes(handler.AcyclicHandler):
    """The source replaces the target from ``valid_from`` on.

    Laws:
        * The target's ``valid_to`` becomes ``min(old, valid_from)``, never before its own ``valid_from``:
          validity only tightens.
        * Where ``valid_from`` lies before the target began, what the target had replaced ends no later either, and so
          on: it ended where the target began, and would hold beside the source.
        * Where something else takes the target's place later, a source that begins with the edge holds until then:
          that supersedes it, too. So does what had taken the source's place before that had begun.
        * ``valid_from`` defaults to the source's.
        * A target that was closed earlier stays as it is, and the edge is recorded.
        * The target has ended: it takes no further versions.
        * Unlinking reopens nothing; the receipt says so.
        * Supersession has no cycles, and nothing supersedes the root world.
    """

    name = "supersedes"

    def on_insert(self, ctx: handler.HandlerContext, edge: handler.HandledEdge) -> handler.Insert:
        if edge.target == ctx.root:
            ctx.refuse("root_is_permanent", "The root world cannot be superseded")
        super().on_insert(ctx, edge)
        begins, first = supersession.first_takeover(ctx, edge.source, edge.valid_from)
        heir = None
        if edge.valid_from == ctx.begins(edge.source) and (
            first == edge.source or supersession.first_held(ctx, first) == begins
        ):
            heir = supersession.next_successor(ctx, edge.target, begins)
        began = supersession.began_by(ctx, edge.target, begins)
        ctx.end(edge.target, begins, by=ctx.lineage(first))
        if not began:
            supersession.end_predecessors(ctx, edge.target, begins, ctx.lineage(first))
        if heir is not None and heir.world != first and not ctx.reaches(first, heir.world, self.name):
            ctx.note("until_successor", ctx.lineage(first), ctx.lineage(heir.world))
            ctx.link(heir.world, self.name, first, home=heir.home, valid_from=heir.begins)
        return handler.Insert.WRITE

    def on_delete(self, ctx: handler.HandlerContext, edge: handler.HandledEdge) -> None:
        ctx.note("nothing_reopened", ctx.lineage(edge.target))

    def on_query_rewrite(self, query: handler.Q) -> handler.Q:
        hiding: handler.Q = query.hide_closed()
        return hiding
