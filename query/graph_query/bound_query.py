"""A query bound to the view that it is asked of; adding operators to it gives another one."""

from __future__ import annotations

from typing import Any, Self

from worlddb.query.graph_query.planner import run
from worlddb.query.graph_query.query_value import Chain, Query
from worlddb.query.graph_query.subgraph import Subgraph
from worlddb.query.reads.window import Window


class BoundQuery(Chain):
    """What :meth:`worlddb.View.query` returns: a query to which operators are added, and which knows its view."""

    __slots__ = ("_window", "query")

    def __init__(self, window: Window, query: Query) -> None:
        self._window = window
        self.query = query
        """The query itself, without the view."""

    def _changed(self, change: Any) -> Self:
        return type(self)(self._window, change(self.query))

    def run(self) -> Subgraph:
        """Ask the query.

        Raises:
            UnknownReference, AmbiguousReference: a reference in it is not known to the view, or fits several worlds.
            InputError: it is as of a moment after the view's, or its vector is not of the embedding space's size.
        """
        return run(self._window, self.query)

    def explain(self) -> Subgraph:
        """As :meth:`run`; each stage also says how many seconds it took."""
        return run(self._window, self.query, timed=True)

    def __str__(self) -> str:
        return str(self.query)

    def __repr__(self) -> str:
        return f"<worlddb.BoundQuery: {self.query}>"
