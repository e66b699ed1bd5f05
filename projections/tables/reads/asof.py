"""As-of reads: rows as known at a commit and valid at a time (paper §2.3, law 9)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from worlddb.log.model.times import Interval
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage.schema import (
    CLOSING_EDGE,
    CLOSING_KEY,
    CLOSING_PREFIX,
    CLOSING_VERSION,
    PENDING,
    TIME,
    U64,
    AliasRow,
    EdgePlace,
    EdgeRow,
    ProposalRow,
    VersionRow,
)
from worlddb.projections.tables.storage.transaction import missing_row


class Moment(NamedTuple):
    """A commit (what was known) and a valid time (when it should have been true), in microseconds."""

    seq: int
    valid: int


class SeenVersion(NamedTuple):
    """A version and the validity it had at some commit."""

    number: int
    row: VersionRow
    validity: Interval


def versions_as_of(tables: TableReads, node: int, seq: int) -> Iterator[SeenVersion]:
    """The versions that were known at a commit, newest first. They are in log order: later ones are not read."""
    number = tables.node(node).versions
    row = tables.version(node, number)
    if row.seq > seq:
        number = bisect_right(range(1, number), seq, key=lambda version: tables.version(node, version).seq)
        if not number:
            return
        row = tables.version(node, number)
    while True:
        yield SeenVersion(number, row, version_validity(tables, node, number, row, seq))
        number -= 1
        if not number:
            return
        row = tables.version(node, number)


def nodes_known(tables: TableReads, count: int, seq: int) -> int:
    """How many of ``count`` nodes there were at a commit, the root among them: they are numbered in log order."""
    return bisect_right(range(count), seq, key=lambda node: tables.node(node).created)


def version_validity(tables: TableReads, node: int, number: int, row: VersionRow, seq: int) -> Interval:
    """The validity of a version as it was known at a commit."""
    if row.closed <= seq:
        return Interval(row.valid_from, row.valid_to)
    return Interval(row.valid_from, _end_at(tables, CLOSING_VERSION, node, number, seq))


def edge_validity(tables: TableReads, place: EdgePlace, row: EdgeRow, seq: int) -> Interval:
    """The validity of an edge as it was known at a commit."""
    if row.closed <= seq:
        return Interval(row.valid_from, row.valid_to)
    return Interval(row.valid_from, _end_at(tables, CLOSING_EDGE, place.edge, 0, seq))


def closed_by(tables: TableReads, node: int, number: int, row: VersionRow, seq: int) -> int:
    """The commit that gave a version the end that it had at a commit; 0 if it was written with it."""
    if row.closed <= seq:
        return row.closed
    return _closing_at(tables, CLOSING_VERSION, node, number, seq, row.seq)


def edge_closed_by(tables: TableReads, place: EdgePlace, row: EdgeRow, seq: int) -> int:
    """As :func:`closed_by`, of an edge."""
    return row.closed if row.closed <= seq else _closing_at(tables, CLOSING_EDGE, place.edge, 0, seq, row.seq)


def _closing_at(tables: TableReads, kind: int, number: int, version: int, seq: int, written: int) -> int:
    """The commit of the closing in force at ``seq``. The first row is of the commit that wrote what was closed."""
    prefix = CLOSING_PREFIX.pack(kind, number, version)
    found = tables.closings.last(prefix, CLOSING_KEY.pack(kind, number, version, seq))
    closed = written if found is None else int(CLOSING_KEY.unpack(found[0])[-1])
    return 0 if closed == written else closed


def _end_at(tables: TableReads, kind: int, number: int, version: int, seq: int) -> int:
    """The end that was in force at ``seq``; the first closing also recorded the end that it was born with."""
    prefix = CLOSING_PREFIX.pack(kind, number, version)
    found = tables.closings.last(prefix, CLOSING_KEY.pack(kind, number, version, seq))
    if found is None:
        raise missing_row(f"closing of {kind}/{number}/{version} at or before commit {seq}")
    return int(TIME.unpack_from(found[1])[0])


def edge_known(row: EdgeRow, seq: int) -> bool:
    """True if the edge was written and not yet retracted at a commit."""
    return row.seq <= seq < row.unlinked


def edge_seen(tables: TableReads, place: EdgePlace, row: EdgeRow, moment: Moment) -> bool:
    """True if the edge is in force at a moment, on both axes."""
    seq, valid = moment
    if not row.seq <= seq < row.unlinked:
        return False
    if row.closed <= seq:
        # By far the most: what was never closed, or not since.
        return row.valid_from <= valid < row.valid_to
    return edge_validity(tables, place, row, seq).contains(valid)


def version_at(tables: TableReads, node: int, moment: Moment) -> SeenVersion | None:
    """The version in force at a moment: revisions close their predecessors, so there is at most one."""
    newest = version_known(tables, node, tables.node(node).versions, moment.seq)
    if newest is not None and newest.validity.contains(moment.valid):
        # By far the most: one version, or the last of several.
        return newest
    for seen in versions_as_of(tables, node, moment.seq):
        if seen.validity.contains(moment.valid):
            return seen
    return None


def version_known(tables: TableReads, node: int, number: int, seq: int) -> SeenVersion | None:
    """A version of a node by its number, if it was known at a commit."""
    row = tables.version(node, number)
    return SeenVersion(number, row, version_validity(tables, node, number, row, seq)) if row.seq <= seq else None


def newest_version(tables: TableReads, node: int, seq: int) -> SeenVersion | None:
    """The newest version known at a commit, whether or not it is still valid."""
    return next(versions_as_of(tables, node, seq), None)


def alias_known(row: AliasRow, seq: int) -> bool:
    """True if the alias was given and not yet taken back at a commit."""
    return row.seq <= seq < row.removed


def decision_at(tables: TableReads, proposal: bytes, row: ProposalRow, seq: int) -> tuple[int, int]:
    """The status of a proposal at a commit, and the commit that gave it: 0 while it is pending."""
    if row.decided <= seq:
        return row.status, row.decided
    found = tables.decisions.last(proposal, proposal + U64.pack(seq))
    return (PENDING, 0) if found is None else (found[1][0], int.from_bytes(found[0][len(proposal) :], "big"))
