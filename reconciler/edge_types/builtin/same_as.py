"""``same_as``: two worlds are one identity (paper Table 2: stages a merge proposal)."""

from worlddb.log.model.ids import short
from worlddb.reconciler.edge_types.handler import HandledEdge, HandlerContext, Insert, PairProposal, PlainHandler, Q


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
            ctx.refuse("root_is_unique", "The root world is the same as nothing else")
        latest = ctx.proposal(edge.source, edge.target)
        if latest is not None:
            self._refuse_repeated(ctx, latest)
        return Insert.STAGE

    def on_query_rewrite(self, query: Q) -> Q:
        unifying: Q = query.unify_identities(self.name)
        return unifying

    @staticmethod
    def _refuse_repeated(ctx: HandlerContext, latest: PairProposal) -> None:
        if latest.status == "pending":
            ctx.refuse("already_proposed", f"The pair is already proposed as {short(latest.id)}", "Accept or reject it")
        if latest.status == "accepted":
            ctx.refuse("already_same", f"The pair was already accepted as {short(latest.id)}", "Undo it if it is wrong")
        if latest.status == "rejected" and not latest.changed:
            ctx.refuse(
                "rejected_before",
                f"The pair was rejected as {short(latest.id)} and nothing about it has changed since",
                "Revise one of them first, if something new is known",
            )
