"""How worlds came to be what they are: versions, when they hold, and the commits behind them, as a view tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worlddb.log.model.limits import checked_number
from worlddb.query import lineage, records
from worlddb.query.blame import Blame, blame
from worlddb.query.journal import Entry, journal
from worlddb.query.looking import LARGEST, Looking
from worlddb.query.period import Span, period_of, span_of


class Traced(Looking):
    """The part of a view that says what was learned when, by whom and why."""

    __slots__ = ()

    def history(
        self, ref: Any, *, between: Span | None = None, during: Span | None = None, overlaps: Span | None = None
    ) -> list[records.Version]:
        """Every version known to the view, oldest first, with the validity that it has in the view.

        ``between=(a, b)`` is a span of ingest time: the versions of which something was learned in ``[a, b)``, that
        they are or when they end. ``during`` and ``overlaps`` are spans of valid time, as :meth:`get` has them.
        """
        learned = None if between is None else span_of(between, "between")
        period = period_of(during, overlaps)
        with self._sight() as snapshot:
            node = self._named(snapshot, ref)
            return lineage.history(snapshot, node, between=learned, period=period)

    def timeline(self, ref: Any) -> list[records.Learned]:
        """What was learned about when the versions of a world are valid, step by step in log order."""
        with self._sight() as snapshot:
            return lineage.timeline(snapshot, self._named(snapshot, ref))

    def blame(self, ref: Any) -> Blame:
        """Which commit made each field and each edge of a world what it is in this view, by whom, when and why.

        Of the version that is valid in the view, else of the newest.

        Raises:
            UnknownReference: the view sees no such world.
        """
        with self._sight() as snapshot:
            return blame(snapshot, self._named(snapshot, ref), self.moment)

    def log(self, first: int = 1, last: int | None = None, *, ref: Any = None) -> Iterator[Entry]:
        """The events of commits ``first`` to ``last`` (default: the view's) as a person reads them.

        With ``ref`` only those that name that world. Of a confined view, those that name nothing from outside.
        """
        checked_number(first, "first", 0, LARGEST)
        if last is not None:
            checked_number(last, "last", 0, LARGEST)
        wanted = None
        if ref is not None:
            with self._sight() as snapshot:
                wanted = snapshot.tables.node(self._node(snapshot, ref)).lineage.hex()
        through = self.seq if last is None else min(last, self.seq)
        return journal(self._window.reader, first, through, wanted, place=self._window.place)
