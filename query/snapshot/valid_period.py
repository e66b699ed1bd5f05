"""Periods of valid time, and the versions of a world that a read may show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from worlddb.log.model import errors, limits, times
from worlddb.projections.indexes import world_moments
from worlddb.projections.tables.reads import asof, table_reads
from worlddb.projections.tables.storage.schema import EdgePlace, EdgeRow
from worlddb.query.records.records import Valid

Span: TypeAlias = "tuple[times.TimeLike | None, times.TimeLike | None] | Valid"
"""A span of time ``[start, end)``; ``None`` leaves an end open."""


class Period(NamedTuple):
    """A span of valid time; a fact must be valid throughout it, or at some instant of it.

    Times are whole microseconds, so the span ``[v, v + 1)`` is the same as the instant ``v``, in either mode.
    """

    span: times.Validity
    throughout: bool

    def admits(self, validity: times.Validity) -> bool:
        """True if a fact with this validity matches."""
        return validity.covers(self.span) if self.throughout else validity.overlaps(self.span)

    def along(self, validity: times.Validity) -> Period:
        """The period for something that must be valid together with a fact of this validity."""
        return self if self.throughout else Period(times.common(self.span, validity), throughout=False)

    @property
    def touched(self) -> Period:
        """The same span, matched by validity at some instant of it."""
        return self._replace(throughout=False)


RELATIONS: Final[dict[str, Callable[[times.Interval, times.Interval], bool]]] = {
    "overlaps": lambda one, other: one.start < other.end and other.start < one.end,
    "contains": lambda one, other: one.start <= other.start and other.end <= one.end,
    "within": lambda one, other: other.start <= one.start and one.end <= other.end,
    "equals": lambda one, other: one == other,
    "precedes": lambda one, other: one.end <= other.start,
    "succeeds": lambda one, other: other.end <= one.start,
    "immediately_precedes": lambda one, other: one.end == other.start,
    "immediately_succeeds": lambda one, other: other.end == one.start,
}
"""Relations between two periods: the period predicates of SQL:2011 (ISO/IEC 9075-2, 8.20).

``within`` is ``contains`` with the operands swapped, which is how SQL expresses it.
"""


class Choice(NamedTuple):
    """Which versions of a world a recall may show; by default the valid one."""

    include_superseded: bool = False
    period: Period | None = None
    earlier: bool = False
    """Earlier versions are shown beside the valid one, and may match the question. With ``include_superseded`` all
    versions are, beside the valid one or else the newest."""
    tag: bytes = b""
    """The digest of a tag: of each world, the tagged version is shown. Only the gate of a recall knows which one that
    is; indexes have all versions."""

    @property
    def index_choice(self) -> world_moments.VersionChoice:
        """The same choice for the cached index of a world."""
        if self.tag:
            return world_moments.VersionChoice(ended=True, earlier=True)
        if self.period is None or self.earlier:
            return world_moments.VersionChoice(self.include_superseded, self.earlier)
        span = self.period.span
        return world_moments.VersionChoice(span=(span.start, span.end), throughout=self.period.throughout)

    def version(self, tables: table_reads.TableReads, node: int, moment: asof.Moment) -> asof.SeenVersion | None:
        """The version of a world that may be shown, if there is one; in a period, the newest."""
        if self.period is None:
            seen = asof.version_at(tables, node, moment)
        else:
            seen = next(versions_in(tables, node, moment, self.period), None)
        return asof.newest_version(tables, node, moment.seq) if seen is None and self.include_superseded else seen

    def numbered_version(
        self, tables: table_reads.TableReads, node: int, number: int, moment: asof.Moment
    ) -> asof.SeenVersion | None:
        """A version of a world by its number, if it may be shown.

        At most one version is valid at an instant or throughout a span, so no other needs to be read.
        """
        if self.earlier:
            newest = self.version(tables, node, moment)
            if newest is None or newest.number == number:
                return newest
            return next((seen for seen in self.versions(tables, node, moment) if seen.number == number), None)
        if self.period is None:
            row = tables.version(node, number)
            if row.seq <= moment.seq and row.closed <= moment.seq and row.valid_from <= moment.valid < row.valid_to:
                # The usual case: the version was never cut, and holds.
                return asof.SeenVersion(number, row, times.Interval(row.valid_from, row.valid_to))
        seen = asof.version_known(tables, node, number, moment.seq)
        if seen is not None and self.admits(moment, seen.validity):
            return seen
        other = self.version(tables, node, moment) if self.include_superseded else None
        return other if other is not None and other.number == number else None

    def admits(self, moment: asof.Moment, validity: times.Validity) -> bool:
        """True if a version with this validity may be shown: at the moment's instant, or in the period."""
        return validity.contains(moment.valid) if self.period is None else self.period.admits(validity)

    @property
    def allows_several(self) -> bool:
        """True if several versions of one world may be shown.

        These are the versions of a span, the earlier versions, or all.
        """
        return self.earlier or (self.period is not None and not self.period.throughout)

    def versions(self, tables: table_reads.TableReads, node: int, moment: asof.Moment) -> Iterator[asof.SeenVersion]:
        """All versions of a world that may be shown: :meth:`version`, then the others, newest first."""
        if self.tag:
            yield from asof.versions_as_of(tables, node, moment.seq)
        elif self.earlier:
            shown = self.version(tables, node, moment)
            if shown is not None and self.include_superseded:
                yield shown
                yield from (
                    seen for seen in asof.versions_as_of(tables, node, moment.seq) if seen.number != shown.number
                )
            elif shown is not None:
                until_now = Period(times.Interval(times.ALWAYS, moment.valid + 1), throughout=False)
                yield from versions_in(tables, node, moment, until_now)
        elif self.allows_several:
            yield from versions_in(tables, node, moment, self.period)
        else:
            seen = self.version(tables, node, moment)
            if seen is not None:
                yield seen


def parse_period(during: Span | None, overlaps: Span | None, *, include_superseded: bool = False) -> Period | None:
    """The period that a read was given, or ``None`` for the view's instant.

    Raises:
        InputError: more than one way to choose was given, or a span is no pair of times.
        InvalidInterval: a span holds no instant.
    """
    if during is None and overlaps is None:
        return None
    limits.refuse_both(during=during, overlaps=overlaps, include_superseded=include_superseded or None)
    if during is not None:
        return Period(parse_span(during, "during"), throughout=True)
    return Period(parse_span(overlaps, "overlaps"), throughout=False)


OPEN: Final = ".."
"""An end of a span that is left open, as ISO 8601-2 writes it where there is no ``None``."""
_OPEN_ENDS: Final = (None, OPEN)


def parse_span(given: Any, what: str) -> times.Interval:
    """Parse a half-open span that a caller gave; raises as :func:`parse_period`."""
    if isinstance(given, Valid):
        span = times.Interval(given.start, given.end)
    elif isinstance(given, tuple | list) and len(given) == 2:
        start, end = given
        span = times.Interval(
            times.ALWAYS if start in _OPEN_ENDS else times.parse_time(start, f"the start of {what}"),
            times.FOREVER if end in _OPEN_ENDS else times.parse_time(end, f"the end of {what}"),
        )
    else:
        remedy = f"Give {what}=(start, end); None, or '{OPEN}', leaves an end open"
        raise errors.InputError(f"{what} is {errors.shown(given)}, not a pair of times", remedy)
    if span.is_empty:
        raise errors.InvalidInterval(
            f"{what} ends at {times.format_time(span.end)}, not after its start {times.format_time(span.start)}",
            "Spans are half-open: give an end after the start, or ask a view of that instant with valid=",
        )
    return span


def versions_in(
    tables: table_reads.TableReads, node: int, moment: asof.Moment, period: Period | None
) -> Iterator[asof.SeenVersion]:
    """The versions that a read shows, newest first; at an instant there is at most one."""
    if period is None:
        seen = asof.version_at(tables, node, moment)
        if seen is not None:
            yield seen
        return
    for seen in asof.versions_as_of(tables, node, moment.seq):
        if period.admits(seen.validity):
            yield seen


def is_edge_shown(
    tables: table_reads.TableReads, place: EdgePlace, row: EdgeRow, moment: asof.Moment, period: Period | None
) -> bool:
    """True if a read shows the edge."""
    if period is None:
        return asof.edge_seen(tables, place, row, moment)
    return asof.edge_known(row, moment.seq) and period.admits(asof.edge_validity(tables, place, row, moment.seq))
