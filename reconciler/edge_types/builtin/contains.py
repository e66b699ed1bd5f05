"""``contains``: a world and its members.

Paper Table 2: structural, creates the world boundary.
"""

from worlddb.reconciler.edge_types.handler import BulkContext, HandledEdge, HandlerContext, Insert, PlainHandler


class Contains(PlainHandler):
    """The source world contains the target.

    Laws:
        * Containment has no cycles, and nothing contains the root world.
        * A world is a member of another at most once at a time; it may be a member of several.
        * Every world but the root has a container: one that loses its last is adopted by the root world,
          so that the root's hash stands for everything.
        * Membership is valid from when the member is, unless told otherwise.
    """

    name = "contains"

    def default_valid_from(self, ctx: HandlerContext, source: int, target: int) -> int:
        return ctx.begins(target)

    def only_records(self, ctx: BulkContext, source: int, target: int) -> bool:
        if target in (ctx.root, source) or source in ctx.containers(target):
            return False
        return not ctx.targets(target, self.name) or not ctx.inside(source, target)

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        if edge.target == ctx.root:
            ctx.refuse(
                "containment_cycle",
                "The root world contains everything and is contained in nothing",
                "Name another world as the member",
            )
        if edge.source == edge.target:
            ctx.refuse("containment_cycle", f"{ctx.shown(edge.source)} cannot contain itself", "Name two worlds")
        if self._leads_back(ctx, edge):
            ctx.refuse(
                "containment_cycle",
                f"{ctx.shown(edge.source)} cannot contain {ctx.shown(edge.target)}: it is inside it",
                "Move it out of there first",
            )
        if edge.source in ctx.containers(edge.target):
            ctx.refuse(
                "already_member",
                f"{ctx.shown(edge.target)} is already a member of {ctx.shown(edge.source)}",
                "Nothing is to be done",
            )
        return Insert.WRITE

    def on_delete(self, ctx: HandlerContext, edge: HandledEdge) -> None:
        if ctx.containers(edge.target):
            return
        if edge.source == ctx.root:
            ctx.refuse(
                "last_container",
                f"{ctx.shown(edge.target)} is in no other world than the root",
                "Move it into another world, or retire it",
            )
        ctx.link(ctx.root, self.name, edge.target, valid_from=edge.valid_from)
        ctx.note("adopted_by_root", ctx.lineage(edge.target))

    @staticmethod
    def _leads_back(ctx: HandlerContext, edge: HandledEdge) -> bool:
        """True if the new member already contains its container; a world without members cannot."""
        if not any(True for _ in ctx.edges(edge.target, Contains.name)):
            return False
        return ctx.inside(edge.source, edge.target)
