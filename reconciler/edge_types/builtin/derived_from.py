"""``derived_from``: where a statement comes from (paper Table 2: preserved for the inferred-edge pass)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.reconciler.edge_types.handler import AcyclicHandler

if TYPE_CHECKING:
    from worlddb.reconciler.transaction.context import Reading


class DerivedFrom(AcyclicHandler):
    """The source was made from the target: a summary from its details, a reassertion from what had ended.

    Laws:
        * It changes neither end; the target may have ended.
        * Derivation has no cycles: nothing is, at any remove, its own evidence.
    """

    name = "derived_from"

    def only_records(self, ctx: Reading, source: int, target: int) -> bool:
        return source != target and not ctx.reaches(target, source, self.name)
