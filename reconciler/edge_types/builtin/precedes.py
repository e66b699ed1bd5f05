"""``precedes``: one thing comes before another (paper Table 2: temporal ordering)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.reconciler.edge_types.handler import AcyclicHandler

if TYPE_CHECKING:
    from worlddb.reconciler.transaction.context import Reading


class Precedes(AcyclicHandler):
    """The source comes before the target.

    Laws:
        * It changes neither end, and makes no claim about their validity intervals.
        * It is a strict order: nothing, at any remove, comes before itself.
    """

    name = "precedes"

    def only_records(self, ctx: Reading, source: int, target: int) -> bool:
        return source != target and not ctx.reaches(target, source, self.name)
