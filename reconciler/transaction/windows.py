"""Windows of valid time: what a statement takes of a lineage's timeline, and what others lose by it.

A lineage is a timeline: at each valid time at most one of its versions holds. A statement takes its window from
whatever held there (SQL:2011, update and delete for a portion of time), and what lies before and behind stays.
"""

from typing import NamedTuple

from worlddb.log.model import events as ev
from worlddb.log.model.times import FOREVER, Interval
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import schema, timeline_rows
from worlddb.reconciler.transaction.draft import Draft


class Hole(NamedTuple):
    """A span in which it was said that a lineage holds nothing; ``last`` if nothing follows it."""

    span: Interval

    @property
    def last(self) -> bool:
        return self.span.end == FOREVER


def line_of(draft: Draft, node: int) -> list[timeline_rows.Piece]:
    """The timeline of a lineage as the draft has it, in order."""
    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    line = timeline_rows.steps(draft.tables.timelines, place, draft.seq)
    if line is not None:
        return list(timeline_rows.pieces(line))
    first = draft.tables.version(node, 1)
    return [timeline_rows.Piece(span, 1) for span in Interval(first.valid_from, first.valid_to).pieces]


def pieces_in(draft: Draft, node: int, window: Interval) -> list[timeline_rows.Piece]:
    """The versions that hold in a window, each with the part of it in which it does, in order."""
    if window.is_empty:
        return []
    place, table = timeline_rows.Place(timeline_rows.OF_LINEAGE, node), draft.tables.timelines
    found: list[timeline_rows.Piece] = []
    at = window.start
    while at < window.end:
        piece = timeline_rows.piece_at(table, place, draft.seq, at)
        if piece is None:
            born = draft.tables.version(node, 1)
            span = Interval(born.valid_from, born.valid_to).intersect(window)
            return [] if span.is_empty else [timeline_rows.Piece(span, 1)]
        if piece.number not in timeline_rows.NO_VERSION:
            found.append(timeline_rows.Piece(piece.span.intersect(window), piece.number))
        at = piece.span.end
    return found


def is_covered(draft: Draft, node: int, window: Interval) -> bool:
    """True if a lineage holds at every time of a window."""
    at = window.start
    for span, _ in pieces_in(draft, node, window):
        if span.start != at:
            return False
        at = span.end
    return at == window.end


def hole_at(draft: Draft, node: int, valid: int) -> Hole | None:
    """The hole that a time lies in, if it was said that nothing holds there."""
    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    piece = timeline_rows.piece_at(draft.tables.timelines, place, draft.seq, valid)
    return Hole(piece.span) if piece is not None and piece.number == timeline_rows.HOLE else None


def window_of(draft: Draft, node: int, begins: int) -> Interval:
    """The window of a statement that begins at a time and says no end.

    It holds until the next version whose start was stated begins, or the next hole.
    """
    place, table = timeline_rows.Place(timeline_rows.OF_LINEAGE, node), draft.tables.timelines
    last = timeline_rows.piece_at(table, place, draft.seq, begins)
    if last is not None and last.span.end == FOREVER:
        return Interval(begins, FOREVER)
    line = line_of(draft, node)
    later = [piece for piece in line if piece.span.end > begins]
    ends = [piece.span.start for piece in later if piece.number == timeline_rows.HOLE]
    for number in {piece.number for piece in later} - timeline_rows.NO_VERSION:
        row = draft.tables.version(node, number)
        if row.valid_from > begins and is_start_stated(draft, row):
            ends.append(row.valid_from)
    return Interval(begins, min((end for end in ends if end > begins), default=FOREVER))


def takes_later(draft: Draft, node: int, window: Interval) -> bool:
    """True if a window takes all from a version whose start was stated, and lies behind that of the window."""
    for number in {number for _, number in pieces_in(draft, node, window)}:
        row = draft.tables.version(node, number)
        if row.valid_from > window.start and is_start_stated(draft, row):
            kept = asof.version_validity(draft.tables, node, number, row, draft.seq).without(window)
            if kept.is_empty:
                return True
    return False


def is_start_stated(draft: Draft, row: schema.VersionRow) -> bool:
    """True if somebody stated where a version begins, and it was not left to be the time of the commit.

    The first release did not record it. Of its versions, one that begins when it was committed was not stated.
    """
    if row.stated == ev.UNKNOWN:
        ingested = draft.ingest_time if row.seq == draft.seq else draft.log.header(row.seq).ingest_time
        return row.valid_from != ingested
    return bool(row.stated & ev.START_STATED)


def lose(draft: Draft, node: int, window: Interval, by: bytes) -> bool:
    """Take a window from whatever versions hold in it; true if any did."""
    lineage = draft.tables.node(node).lineage
    lost: dict[int, Interval] = {}
    for span, number in pieces_in(draft, node, window):
        lost[number] = Interval(lost.get(number, span).start, span.end)
    for number, span in sorted(lost.items(), reverse=True):
        row = draft.tables.version(node, number)
        kept = asof.version_validity(draft.tables, node, number, row, draft.seq).without(window)
        if kept.is_empty or kept.end <= span.start:
            draft.emit(ev.Closed(lineage, number, max(row.valid_from, window.start), by))
        else:
            draft.emit(ev.Lost(lineage, number, span.start, span.end, by))
    return bool(lost)
