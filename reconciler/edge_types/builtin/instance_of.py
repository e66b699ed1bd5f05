"""``instance_of``: membership of a type (paper Table 2: enables schema-like lookups)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.reconciler.edge_types.handler import PlainHandler, Q

if TYPE_CHECKING:
    from worlddb.reconciler.transaction.context import Reading


class InstanceOf(PlainHandler):
    """The source is an instance of the type that the target stands for.

    Laws:
        * It changes neither end.
        * A filter by type also sees the instances of the worlds that stand for that type.
        * Nothing is an instance of itself.
    """

    name = "instance_of"

    def only_records(self, ctx: Reading, source: int, target: int) -> bool:
        return source != target

    def on_query_rewrite(self, query: Q) -> Q:
        wider: Q = query.widen_types(self.name)
        return wider
