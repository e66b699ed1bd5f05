"""``subtype_of``: the lattice of types (paper Table 2: enables schema-like lookups)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.reconciler.edge_types.handler import AcyclicHandler, Q

if TYPE_CHECKING:
    from worlddb.reconciler.transaction.context import Reading


class SubtypeOf(AcyclicHandler):
    """Every instance of the source is an instance of the target.

    Laws:
        * It changes neither end.
        * It is a strict order: no type is, at any remove, a subtype of itself.
        * A filter by type also sees its subtypes.
    """

    name = "subtype_of"

    def only_records(self, ctx: Reading, source: int, target: int) -> bool:
        return source != target and not ctx.reaches(target, source, self.name)

    def on_query_rewrite(self, query: Q) -> Q:
        wider: Q = query.widen_types(self.name)
        return wider
