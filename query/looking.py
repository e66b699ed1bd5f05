"""What every part of a view reads through: where it stands, and the short transaction of one read."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final

from worlddb.projections.tables.reads.asof import Moment
from worlddb.query.naming import named_node
from worlddb.query.sight import Sight
from worlddb.query.spec import Spec
from worlddb.query.window import Window

LARGEST: Final = 2**63 - 1
"""The largest number that a read is asked for."""


class Looking:
    """A point on both axes, how edges are seen from it, and the worlds that references stand for there."""

    __slots__ = ()
    _window: Window

    @property
    def seq(self) -> int:
        """The commit that the view is of."""
        return self.moment.seq

    @property
    def valid(self) -> int:
        """The valid time that the view is of."""
        return self.moment.valid

    @property
    def moment(self) -> Moment:
        """The view's point on both axes."""
        return self._window.place.moment

    @property
    def spec(self) -> Spec:
        """How the view sees edges."""
        return self._window.spec

    @property
    def unify(self) -> bool:
        """True if the view sees the worlds of one identity as one."""
        return self._window.unify

    def _sight(self) -> AbstractContextManager[Sight]:
        """The transaction of one read; it ends with it."""
        return self._window.sight()

    def _node(self, snapshot: Sight, ref: Any) -> int:
        """The node that a reference stands for; by default the outermost world that the view sees."""
        return self._window.place.top if ref is None else self._named(snapshot, ref)

    def _named(self, snapshot: Sight, ref: Any) -> int:
        """The node of a world that is named by a reference or by its name."""
        return named_node(snapshot, self.spec, ref, unify=self.unify)
