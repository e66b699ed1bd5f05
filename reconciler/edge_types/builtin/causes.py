"""``causes``: one thing brought about another (paper Table 2: causal ordering)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.reconciler.edge_types.handler import AcyclicHandler

if TYPE_CHECKING:
    from worlddb.reconciler.transaction.context import Reading


class Causes(AcyclicHandler):
    """The source brought about the target.

    Laws:
        * It changes neither end.
        * It is a strict order: nothing is, at any remove, its own cause.
    """

    name = "causes"

    def only_records(self, ctx: Reading, source: int, target: int) -> bool:
        return source != target and not ctx.reaches(target, source, self.name)
