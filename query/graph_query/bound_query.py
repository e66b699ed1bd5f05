"""A query together with the view that it is asked of, and how a view makes one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from worlddb.log.model.errors import InputError
from worlddb.projections.indexes.composition import ATTENTION
from worlddb.query.graph_query.composed_search import composed
from worlddb.query.graph_query.planner import run
from worlddb.query.graph_query.query_value import DEFAULT_K, Chain, Query
from worlddb.query.graph_query.subgraph import Subgraph
from worlddb.query.reads.window import Window
from worlddb.query.recall.ranking import TEXT
from worlddb.query.records.records import Composed


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


class Queryable:
    """The part of a view that queries and composed embeddings are asked of."""

    __slots__ = ()
    _window: Window

    def query(
        self,
        *,
        seeds: Any = None,
        text: str | None = None,
        vector: Iterable[float] | None = None,
        world: Any = None,
        k: int = DEFAULT_K,
        lanes: Sequence[str] = (TEXT,),
        exact: bool = False,
        composed: str | None = None,
    ) -> BoundQuery:
        """A query of this view, to which operators are added before it is run (paper §4.1).

        It starts from ``seeds`` (a reference or several), else from the ``k`` worlds that answer ``text`` best by
        ``lanes``, else from the ``k`` nearest to ``vector``, else from everything; inside ``world`` if one is given.
        With ``composed`` (``attention`` or ``mean``) the start is of worlds with members, ranked by what all of their
        interior is about.

        Raises:
            InputError: something given is not what it should be.
        """
        given = Query.of(
            seeds=seeds, text=text, vector=vector, world=world, k=k, lanes=lanes, exact=exact, composed=composed
        )
        return BoundQuery(self._window, given)

    def composed(self, ref: Any, *, pool: str = ATTENTION) -> Composed | None:
        """The composed embedding of a world: what it is about, from its own text and all that it contains (paper §5).

        Of what the view sees, on both time axes. ``pool`` is ``attention`` or ``mean``. ``None`` if no text of it has a
        vector.

        Raises:
            UnknownReference: the view sees no such world.
            InputError: there is no such pool.
        """
        return composed(self._window, ref, pool)

    def run(self, query: Query, *, timed: bool = False) -> Subgraph:
        """Ask a query that was made elsewhere; with ``timed``, each stage says how many seconds it took.

        Raises:
            UnknownReference, AmbiguousReference: a reference in it is not known to the view, or fits several worlds.
            InputError: it is as of a moment after the view's, or its vector is not of the embedding space's size.
        """
        if not isinstance(query, Query):
            raise InputError(f"query is {type(query).__name__}", "Give a Query, such as Query.from_json makes")
        return run(self._window, query, timed=timed)
