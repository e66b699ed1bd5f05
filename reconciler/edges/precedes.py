"""``precedes``: one thing comes before another (paper Table 2: temporal ordering)."""

from __future__ import annotations

from worlddb.reconciler.handler import AcyclicHandler


class Precedes(AcyclicHandler):
    """The source comes before the target.

    Laws:
        * It changes neither end, and makes no claim about their validity intervals.
        * It is a strict order: nothing, at any remove, comes before itself.
    """

    name = "precedes"
