"""``refers_to``: a reference from one world to another (paper Table 2: pierces containment)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.reconciler.edge_types.handler import PlainHandler, Q

if TYPE_CHECKING:
    from worlddb.reconciler.transaction.context import Reading


class RefersTo(PlainHandler):
    """The source mentions the target, wherever the two are.

    Laws:
        * It changes neither end, and its ends may lie in different worlds.
        * It is the only edge type that a traversal may follow out of the world that a query is in.
        * Nothing refers to itself.
    """

    name = "refers_to"

    def only_records(self, ctx: Reading, source: int, target: int) -> bool:
        return source != target

    def on_query_rewrite(self, query: Q) -> Q:
        crossing: Q = query.cross_worlds(self.name)
        return crossing
