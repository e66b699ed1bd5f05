"""What was set for worlds and all that they contain, as a view tells it: edge types, and thresholds of the resolver."""

from __future__ import annotations

from typing import Any

from worlddb.log.model.errors import InputError
from worlddb.query import records
from worlddb.query.looking import Looking
from worlddb.query.ontology import edge_types
from worlddb.query.tunings import tunings


class Ruled(Looking):
    """The part of a view that says what holds where."""

    __slots__ = ()

    def edge_types(self, world: Any = None, *, include_ended: bool = False) -> list[records.EdgeType]:
        """The edge types in force: every registration and its world, or with ``world`` what holds for edges in it.

        The built-in types come first, then the registered ones in log order. In a confined view, what holds there from
        outside is told as if it were registered for the world that the view is confined to. ``include_ended`` adds
        the registrations that hold no longer; it asks about all worlds, so it goes without ``world``.
        """
        _refuse_both(world, include_ended)
        with self._sight() as sight:
            node = None if world is None else self._named(sight, world)
            return edge_types(sight, self.spec, node, ended=include_ended)

    @property
    def missing_edge_types(self) -> tuple[str, ...]:
        """Registered edge types whose code this process does not have: it reads them, and cannot write them."""
        return self.spec.missing_types

    def tunings(self, world: Any = None, *, include_ended: bool = False) -> list[records.Tuning]:
        """The resolver's thresholds that were set for worlds, in log order, or with ``world`` those that hold there.

        Where none was set, those hold that the store was opened with. A confined view has what holds in its world from
        outside as if it were set for that world. ``include_ended`` adds what holds no longer; it asks about all worlds,
        so it goes without ``world``.
        """
        _refuse_both(world, include_ended)
        with self._sight() as sight:
            return tunings(sight, None if world is None else self._named(sight, world), ended=include_ended)


def _refuse_both(world: Any, include_ended: bool) -> None:
    if include_ended and world is not None:
        raise InputError("Both world and include_ended were given", "Leave one of them out")
