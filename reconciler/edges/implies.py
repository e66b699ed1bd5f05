"""``implies``: one statement entails another (paper Table 2: preserved for the inferred-edge pass)."""

from __future__ import annotations

from worlddb.reconciler.handler import PlainHandler


class Implies(PlainHandler):
    """If the source holds, the target holds.

    Laws:
        * It changes neither end.
        * Nothing implies itself; two statements may imply each other.
    """

    name = "implies"
