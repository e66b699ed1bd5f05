"""``implies``: one statement entails another (paper Table 2: preserved for the inferred-edge pass)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worlddb.reconciler.edge_types.handler import PlainHandler

if TYPE_CHECKING:
    from worlddb.reconciler.transaction.context import Reading


class Implies(PlainHandler):
    """If the source holds, the target holds.

    Laws:
        * It changes neither end.
        * Nothing implies itself; two statements may imply each other.
    """

    name = "implies"

    def only_records(self, ctx: Reading, source: int, target: int) -> bool:
        return source != target
