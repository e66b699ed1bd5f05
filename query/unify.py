"""Identities seen as one: every class of worlds that accepted ``same_as`` edges make one is met once."""

from __future__ import annotations

from worlddb.query import identity
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec


class Classes:
    """The classes that a read has met, as far as its sight goes and as known at its moment."""

    def __init__(self, sight: Sight, spec: Spec) -> None:
        self._sight = sight
        self._spec = spec
        self._met: set[int] = set()

    def members(self, node: int) -> list[int]:
        """The worlds that are one with a world, itself included, in log order."""
        return identity.class_of(self._sight, node, self._sight.place.moment.seq, self._spec)

    def is_new(self, node: int) -> bool:
        """True if nothing of its class was met before."""
        if node in self._met:
            return False
        self._met.update(self.members(node))
        return True
