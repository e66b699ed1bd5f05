"""``causes``: one thing brought about another (paper Table 2: causal ordering)."""

from __future__ import annotations

from worlddb.reconciler.handler import AcyclicHandler


class Causes(AcyclicHandler):
    """The source brought about the target.

    Laws:
        * It changes neither end.
        * It is a strict order: nothing is, at any remove, its own cause.
    """

    name = "causes"
