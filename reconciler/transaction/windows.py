"""Windows of valid time: the part of a lineage's timeline that a statement takes, and what other versions lose.

A lineage is a timeline: at each valid time at most one of its versions holds. A statement takes its window from the
versions that held there (SQL:2011, update and delete for a portion of time); what lies before and after stays.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

from worlddb.log.model import events as ev
from worlddb.log.model.times import FOREVER, Interval
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema, timeline_rows
from worlddb.reconciler.transaction.draft import Draft


class Hole(NamedTuple):
    """A span in which a lineage explicitly holds nothing; ``last`` if nothing follows it."""

    span: Interval

    @property
    def last(self) -> bool:
        return self.span.end == FOREVER


_piece: Final[Callable[[tuple[Interval, int]], timeline_rows.Piece]] = partial(tuple.__new__, timeline_rows.Piece)
_interval: Final[Callable[[tuple[int, int]], Interval]] = partial(tuple.__new__, Interval)


def holding(draft: Draft, node: int) -> list[timeline_rows.Piece]:
    """The versions of a lineage and the spans in which they hold, as the draft has them, in the order of time."""
    tables = draft.tables
    first = tables.version(node, 1)
    if first.closed == schema.CUT or tables.node(node).versions > 1:
        place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
        line = timeline_rows.steps(draft.tables.timelines, place, draft.seq) or ()
        ends = chain((start for start, _ in line[1:]), (FOREVER,))
        return [
            timeline_rows.Piece(Interval(start, end), number)
            for (start, number), end in zip(line, ends, strict=False)
            if number not in timeline_rows.NO_VERSION
        ]
    # The row of an only version that lost nothing but its end says it all.
    if first.valid_from >= first.valid_to:
        return []
    # By far the most: made as `rows.py` makes its own.
    return [_piece((_interval((first.valid_from, first.valid_to)), 1))]


def holds_in(draft: Draft, node: int, windows: Sequence[Interval]) -> bool:
    """True if a lineage holds at some time of some windows."""
    first = draft.tables.version(node, 1)
    if first.closed == schema.CUT or draft.tables.node(node).versions > 1:
        return any(span.overlaps(window) for span, _ in holding(draft, node) for window in windows)
    begins, ends = first.valid_from, first.valid_to
    return any(max(begins, start) < min(ends, end) for start, end in windows)


def pieces_in(draft: Draft, node: int, window: Interval) -> list[timeline_rows.Piece]:
    """The versions that are valid in a window, each with its part of it, in order."""
    if window.is_empty:
        return []
    newest, until = _newest_at(draft, node, window.start)
    if newest and until >= window.end:
        return [timeline_rows.Piece(window, newest)]
    touched = _spans_in(draft, node, window)
    return [
        timeline_rows.Piece(span.intersect(window), number)
        for span, number in touched
        if number not in timeline_rows.NO_VERSION
    ]


def _newest_at(draft: Draft, node: int, valid: int) -> tuple[int, int]:
    """The newest version, if its row tells that it holds at a time, and until when; else 0.

    It does if the version lost nothing but its end. Most statements replace it, and need not look at the timeline.
    """
    number = draft.tables.node(node).versions
    row = draft.tables.version(node, number)
    if row.closed == schema.CUT or not row.valid_from <= valid < row.valid_to:
        return 0, valid
    return number, row.valid_to


def _spans_in(draft: Draft, node: int, window: Interval) -> list[timeline_rows.Piece]:
    """The whole spans that a window touches, including empty ones, if the timeline was ever cut."""
    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    found = timeline_rows.pieces_in(draft.tables.timelines, place, draft.seq, window)
    if found is not None:
        return found
    born = draft.tables.version(node, 1)
    span = Interval(born.valid_from, born.valid_to)
    return [timeline_rows.Piece(span, 1)] if span.overlaps(window) else []


def holds_ever(draft: Draft, node: int) -> bool:
    """True if a lineage holds at any time."""
    number = draft.tables.node(node).versions
    row = draft.tables.version(node, number)
    if row.closed != schema.CUT and row.valid_from < row.valid_to:
        return True
    return bool(holding(draft, node))


def last_begun(draft: Draft, node: int, at: int) -> int:
    """The version whose holding began last, up to ``at``, whether or not it still holds then; 0 if none has begun."""
    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    line = timeline_rows.steps(draft.tables.timelines, place, draft.seq)
    if line is None:
        born = draft.tables.version(node, 1)
        return int(born.valid_from <= at and born.valid_from < born.valid_to)
    begun = (number for start, number in reversed(line) if start <= at and number not in timeline_rows.NO_VERSION)
    return next(begun, 0)


def is_covered(holding: Sequence[timeline_rows.Piece], window: Interval) -> bool:
    """True if the versions that hold in a window cover it."""
    at = window.start
    for span, _ in holding:
        if span.start != at:
            return False
        at = span.end
    return at == window.end


def hole_at(draft: Draft, node: int, valid: int) -> Hole | None:
    """The hole at a time; ``None`` if there is none."""
    if _newest_at(draft, node, valid)[0]:
        return None
    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    piece = timeline_rows.piece_at(draft.tables.timelines, place, draft.seq, valid)
    return Hole(piece.span) if piece is not None and piece.number == timeline_rows.HOLE else None


def window_of(draft: Draft, node: int, begins: int) -> Interval:
    """The window of a statement that begins at a time and states no end.

    It holds until the next version whose start was stated begins, or the next hole.
    """
    if _newest_at(draft, node, begins)[1] == FOREVER:
        return Interval(begins, FOREVER)
    end, latest = FOREVER, 0
    for start, number in _changes_from(draft, node, begins):
        # What holds behind the end so far began before it only if a later version, or nothing, holds there now.
        if start >= end and number >= latest:
            continue
        if number == timeline_rows.HOLE and begins < start < end:
            end = start
        elif number not in timeline_rows.NO_VERSION:
            row = draft.tables.version(node, number)
            if begins < row.valid_from < end and is_start_stated(draft, row):
                end = row.valid_from
        if start < end:
            latest = max(latest, timeline_rows.HOLE if number in timeline_rows.NO_VERSION else number)
    return Interval(begins, end)


def _changes_from(draft: Draft, node: int, begins: int) -> timeline_rows.Steps:
    """The changes of the valid version, from a time on."""
    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    found = timeline_rows.stretch(draft.tables.timelines, place, draft.seq, Interval(begins, FOREVER))
    if found is not None:
        return found.steps
    born = draft.tables.version(node, 1)
    # What holds at no time says nothing, and bounds nothing.
    return [(born.valid_from, 1)] if born.valid_from < born.valid_to else []


def displaces_later_version(draft: Draft, node: int, window: Interval, holding: Sequence[timeline_rows.Piece]) -> bool:
    """True if a window takes everything from a later version whose start was stated.

    ``holding`` is what holds in it.
    """
    for number in {number for _, number in holding}:
        row = draft.tables.version(node, number)
        if row.valid_from > window.start and is_start_stated(draft, row):
            kept = asof.version_validity(draft.tables, node, number, row, draft.seq).without(window)
            if kept.is_empty:
                return True
    return False


def is_start_stated(draft: Draft, row: schema.VersionRow) -> bool:
    """True if the start of a version was stated, and not defaulted to the time of the commit.

    The first release did not record it. Of its versions, one that begins when it was committed was not stated.
    """
    if row.stated == ev.UNKNOWN:
        ingested = draft.ingest_time if row.seq == draft.seq else draft.log.header(row.seq).ingest_time
        return row.valid_from != ingested
    return bool(row.stated & ev.START_STATED)


def lose(
    draft: Draft, node: int, window: Interval, by: bytes, holding: Sequence[timeline_rows.Piece] | None = None
) -> bool:
    """Take a window from the versions that hold in it; true if any did.

    ``holding`` is what holds in it, if that is known.
    """
    lost: dict[int, Interval] = {}
    for span, number in pieces_in(draft, node, window) if holding is None else holding:
        lost[number] = Interval(lost.get(number, span).start, span.end)
    lineage = draft.tables.node(node).lineage
    for number, span in sorted(lost.items(), reverse=True):
        row = draft.tables.version(node, number)
        if window.end == FOREVER or not _holds_behind(draft, node, number, row, window.end):
            draft.emit(ev.Closed(lineage, number, max(row.valid_from, window.start), by))
        else:
            draft.emit(ev.Lost(lineage, number, span.start, span.end, by))
    return bool(lost)


def _holds_behind(draft: Draft, node: int, number: int, row: schema.VersionRow, at: int) -> bool:
    """True if a version holds at some time from ``at`` on."""
    return row.valid_to > at and asof.version_validity(draft.tables, node, number, row, draft.seq).end > at
