"""What a moment sees: rows read as of a commit and a valid time (paper §2.3, law 9).

The rows have interval columns. So are embedding spaces: where their vectors are, which one answers at a commit, which
are gone. The vectors themselves are blobs of the log.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from worlddb.log.model import blobs, codec, errors, times
from worlddb.log.store.log import LmdbLog
from worlddb.projections.tables.reads.table_reads import TableReads
from worlddb.projections.tables.storage import rows, schema, timeline_rows, transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Moment(NamedTuple):
    """A commit (what was known) and a valid time (when it should have been true).

    The valid time is in microseconds.
    """

    seq: int
    valid: int


class SeenVersion(NamedTuple):
    """A version and the validity it had at some commit; seen at a moment, the span around that."""

    number: int
    row: schema.VersionRow
    validity: times.Validity


_seen: Final[Callable[[tuple[int, schema.VersionRow, times.Validity]], SeenVersion]] = partial(
    tuple.__new__, SeenVersion
)
_interval: Final[Callable[[tuple[int, int]], times.Interval]] = partial(tuple.__new__, times.Interval)


def versions_as_of(tables: TableReads, node: int, seq: int) -> Iterator[SeenVersion]:
    """Yield the versions that were known at a commit, newest first.

    They are in log order: later ones are not read.
    """
    spans_by_version: dict[int, list[times.Interval]] | None = None
    is_cut = False
    number = tables.node(node).versions
    row = tables.version(node, number)
    if row.seq > seq:
        number = bisect_right(range(1, number), seq, key=lambda version: tables.version(node, version).seq)
        if not number:
            return
        row = tables.version(node, number)
    while True:
        if row.closed <= seq:
            # By far the most, and there may be thousands: made as `rows.py` makes its own.
            yield _seen((number, row, _interval((row.valid_from, row.valid_to))))
        elif not is_cut:
            is_cut = True
            yield SeenVersion(number, row, version_validity(tables, node, number, row, seq))
        else:
            # To look for the spans of each version in the whole timeline would be quadratic.
            spans_by_version = spans_by_version or _held_spans_by_version(tables, node, seq)
            yield SeenVersion(number, row, times.spans_of(tuple(spans_by_version.get(number, ())), row.valid_from))
        number -= 1
        if not number:
            return
        row = tables.version(node, number)


def nodes_known(tables: TableReads, count: int, seq: int) -> int:
    """How many of ``count`` nodes there were at a commit, the root among them.

    Nodes are numbered in log order.
    """
    return bisect_right(range(count), seq, key=lambda node: tables.node(node).created)


def version_validity(tables: TableReads, node: int, number: int, row: schema.VersionRow, seq: int) -> times.Validity:
    """The validity of a version as it was known at a commit."""
    if row.closed <= seq:
        return times.Interval(row.valid_from, row.valid_to)
    return _held_spans(tables, timeline_rows.Place(timeline_rows.OF_LINEAGE, node), number, row, seq)


def edge_validity(tables: TableReads, place: schema.EdgePlace, row: schema.EdgeRow, seq: int) -> times.Validity:
    """The validity of an edge as it was known at a commit."""
    if row.closed <= seq:
        return times.Interval(row.valid_from, row.valid_to)
    return _held_spans(tables, timeline_rows.Place(timeline_rows.OF_EDGE, place.edge), timeline_rows.HOLDS, row, seq)


def _held_spans(
    tables: TableReads,
    place: timeline_rows.Place,
    number: int,
    row: schema.VersionRow | schema.EdgeRow,
    seq: int,
) -> times.Validity:
    # Nothing holds before the start that it was written with.
    line = timeline_rows.stretch(tables.timelines, place, seq, times.Interval(row.valid_from, times.FOREVER))
    if line is None:
        raise _missing_timeline(place, seq)
    starts = zip(line.steps, (*line.steps[1:], (line.beyond, 0)), strict=True)
    held = tuple(times.Interval(start, end) for (start, each), (end, _) in starts if each == number)
    return times.spans_of(held, row.valid_from)


def _held_spans_by_version(tables: TableReads, node: int, seq: int) -> dict[int, list[times.Interval]]:
    """The spans of all versions of a node as they were known at a commit."""
    place = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    line = timeline_rows.steps(tables.timelines, place, seq)
    if line is None:
        raise _missing_timeline(place, seq)
    held: dict[int, list[times.Interval]] = {}
    for span, number in timeline_rows.pieces(line):
        held.setdefault(number, []).append(span)
    return held


def _missing_timeline(place: timeline_rows.Place, seq: int) -> errors.DamagedStore:
    return transaction.missing_row(f"timeline {place.kind}/{place.number} at or before commit {seq}")


def closed_by(tables: TableReads, node: int, number: int, row: schema.VersionRow, seq: int) -> int:
    """The commit that gave a version the validity that it had at a commit.

    0 if it was written with it.
    """
    if row.closed <= seq:
        return row.closed
    return _last_change(tables, timeline_rows.Place(timeline_rows.OF_LINEAGE, node), number, row, seq)


def edge_closed_by(tables: TableReads, place: schema.EdgePlace, row: schema.EdgeRow, seq: int) -> int:
    """As :func:`closed_by`, of an edge."""
    if row.closed <= seq:
        return row.closed
    return _last_change(tables, timeline_rows.Place(timeline_rows.OF_EDGE, place.edge), timeline_rows.HOLDS, row, seq)


def _last_change(
    tables: TableReads,
    place: timeline_rows.Place,
    number: int,
    row: schema.VersionRow | schema.EdgeRow,
    seq: int,
) -> int:
    """The last commit that changed when a number holds; 0 if the one that wrote it did."""
    now = _held_spans(tables, place, number, row, seq)
    commits = [commit for commit in timeline_rows.changes(tables.timelines, place, seq) if commit >= row.seq]
    # When it holds only shrinks (law 8): once it is as it was at the commit, it stays so up to there.
    at = bisect_left(commits, True, key=lambda commit: _held_spans(tables, place, number, row, commit) == now)
    return 0 if at == len(commits) or commits[at] == row.seq else commits[at]


def ended_by(tables: TableReads, node: int, row: schema.NodeRow, seq: int) -> int:
    """The commit that ended a lineage, as of a commit; 0 if it had not ended then, or was resumed."""
    if row.ended != schema.CUT:
        return row.ended if row.ended <= seq else 0
    place, last = timeline_rows.Place(timeline_rows.OF_LINEAGE, node), 0
    commits = timeline_rows.changes(tables.timelines, place, seq) if has_ended(tables, node, seq) else []
    for commit in reversed(commits):
        if not _ends_with_hole(tables, place, commit):
            break
        last = commit
    return last


def _ends_with_hole(tables: TableReads, place: timeline_rows.Place, seq: int) -> bool:
    piece = timeline_rows.piece_at(tables.timelines, place, seq, times.FOREVER - 1)
    return piece is not None and piece.number == timeline_rows.HOLE


def has_ended(tables: TableReads, node: int, seq: int) -> bool:
    """True if a lineage had ended, as of a commit, and was not resumed by then."""
    ended = tables.node(node).ended
    if ended != schema.CUT:
        return 0 < ended <= seq
    return _ends_with_hole(tables, timeline_rows.Place(timeline_rows.OF_LINEAGE, node), seq)


def edge_known(row: schema.EdgeRow, seq: int) -> bool:
    """True if the edge was written and not yet retracted at a commit."""
    return row.seq <= seq < row.unlinked


def edge_seen(tables: TableReads, place: schema.EdgePlace, row: schema.EdgeRow, moment: Moment) -> bool:
    """True if the edge is in force at a moment, on both axes."""
    seq, valid = moment
    if not row.seq <= seq < row.unlinked:
        return False
    if row.closed <= seq:
        # By far the most: what was never closed, or not since.
        return row.valid_from <= valid < row.valid_to
    line = timeline_rows.Place(timeline_rows.OF_EDGE, place.edge)
    piece = timeline_rows.piece_at(tables.timelines, line, seq, valid)
    return piece is not None and piece.number == timeline_rows.HOLDS


def version_at(tables: TableReads, node: int, moment: Moment) -> SeenVersion | None:
    """The version in force at a moment, with the span around it.

    There is at most one: what a statement takes, another one loses.
    """
    seq, valid = moment
    number = tables.node(node).versions
    row = tables.version(node, number)
    if row.closed <= seq and row.seq <= seq:
        # By far the most: one version, or the last of several.
        if row.valid_from <= valid < row.valid_to:
            return _seen((number, row, _interval((row.valid_from, row.valid_to))))
        if number == 1:
            return None
        if number == 2:
            # What a single revision left of the first version is in its row.
            first = tables.version(node, 1)
            if first.closed <= seq and first.valid_from <= valid < first.valid_to:
                return _seen((1, first, _interval((first.valid_from, first.valid_to))))
    elif number == 1 and row.seq > seq:
        return None
    line = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    piece = timeline_rows.piece_at(tables.timelines, line, seq, valid)
    if piece is None or piece.number in timeline_rows.NO_VERSION:
        return None
    return SeenVersion(piece.number, tables.version(node, piece.number), piece.span)


def last_valid_version(tables: TableReads, node: int, moment: Moment) -> SeenVersion | None:
    """The version that held last before a moment at which none does, with the span that ended; ``None`` if none did."""
    line = timeline_rows.Place(timeline_rows.OF_LINEAGE, node)
    piece = timeline_rows.piece_at(tables.timelines, line, moment.seq, moment.valid)
    if piece is None:
        row = tables.version(node, 1)
        held = times.Interval(row.valid_from, row.valid_to)
        return SeenVersion(1, row, held) if not held.is_empty and held.end <= moment.valid else None
    while piece is not None and piece.number in timeline_rows.NO_VERSION:
        before = piece.span.start - 1
        piece = timeline_rows.piece_at(tables.timelines, line, moment.seq, before) if before >= times.ALWAYS else None
    return None if piece is None else SeenVersion(piece.number, tables.version(node, piece.number), piece.span)


def versions_at(tables: TableReads, nodes: Sequence[int], moment: Moment) -> list[SeenVersion | None]:
    """As :func:`version_at`, of many nodes."""
    seq, valid = moment
    return [
        _seen((number, row, _interval((row.valid_from, row.valid_to))))
        if row.closed <= seq and row.seq <= seq and row.valid_from <= valid < row.valid_to
        else version_at(tables, node, moment)
        for node, (number, row) in zip(nodes, tables.newest_versions(nodes), strict=True)
    ]


def versions_held(tables: TableReads, versions: Sequence[tuple[int, int]], moment: Moment) -> list[SeenVersion | None]:
    """Some versions, by node and number, as they are at a moment; ``None`` says that their rows alone do not tell."""
    seq, valid = moment
    return [
        _seen((number, row, _interval((row.valid_from, row.valid_to))))
        if row.closed <= seq and row.seq <= seq and row.valid_from <= valid < row.valid_to
        else None
        for (_, number), row in zip(versions, tables.versions_of(versions), strict=True)
    ]


def version_known(tables: TableReads, node: int, number: int, seq: int) -> SeenVersion | None:
    """A version of a node by its number, if it was known at a commit."""
    row = tables.version(node, number)
    return SeenVersion(number, row, version_validity(tables, node, number, row, seq)) if row.seq <= seq else None


def newest_version(tables: TableReads, node: int, seq: int) -> SeenVersion | None:
    """The newest version known at a commit, whether or not it is still valid."""
    return next(versions_as_of(tables, node, seq), None)


def alias_known(row: schema.AliasRow, seq: int) -> bool:
    """True if the alias was given and not yet taken back at a commit."""
    return row.seq <= seq < row.removed


def decision_at(tables: TableReads, proposal: bytes, row: schema.ProposalRow, seq: int) -> tuple[int, int]:
    """The status of a proposal at a commit, and the commit that gave it: 0 while it is pending."""
    if row.decided <= seq:
        return row.status, row.decided
    found = tables.decisions.last(proposal, proposal + schema.U64.pack(seq))
    return (schema.PENDING, 0) if found is None else (found[1][0], int.from_bytes(found[0][len(proposal) :], "big"))


class VectorPlace(NamedTuple):
    """The blob that holds a vector."""

    seq: int
    position: int


def space_row(tables: rows.Tables, space: int) -> schema.SpaceRow | None:
    """The row of a space."""
    stored = tables.spaces.get(schema.SPACE_KEY.pack(space))
    return None if stored is None else schema.SpaceRow._make(schema.SPACE.unpack(stored))


def spaces(tables: rows.Tables) -> Iterator[tuple[int, schema.SpaceRow]]:
    """Every space by its number, in the order in which they were opened."""
    for key, value in tables.spaces.scan(b""):
        yield schema.SPACE_KEY.unpack(key)[0], schema.SpaceRow._make(schema.SPACE.unpack(value))


def vector_place(tables: rows.Tables, space: int, node: int, version: int) -> VectorPlace | None:
    """Where the vector of a version is; ``None`` if it has none in the space."""
    stored = tables.vectors.get(schema.VECTOR_KEY.pack(space, node, version))
    return None if stored is None else VectorPlace._make(schema.VECTOR.unpack(stored))


def vectors_of(tables: rows.Tables, space: int) -> Iterator[tuple[int, int, VectorPlace]]:
    """(node, version, place) of every vector of a space, by node."""
    for key, value in tables.vectors.scan(schema.SPACE_KEY.pack(space)):
        yield *schema.VECTOR_KEY.unpack(key)[1:], VectorPlace._make(schema.VECTOR.unpack(value))


def vectors_left(log: LmdbLog, tables: rows.Tables, node: int) -> Iterator[VectorPlace]:
    """The vectors that are there of texts of a world that were erased."""
    for number, row in tables.version_rows(node):
        if log.blob(row.seq, row.position) is None:
            places = (vector_place(tables, space, node, number) for space, _ in spaces(tables))
            yield from (place for place in places if place is not None and log.blob(*place) is not None)


SPACE_CHOSEN: Final = b"\x01"
SPACE_DROPPED: Final = b"\x02"


def active_space(tables: rows.Tables, seq: int) -> int | None:
    """The number of the space that answers as of a commit.

    It is the last one chosen, or else the first one opened.
    """
    chosen = tables.space_changes.last(SPACE_CHOSEN, SPACE_CHOSEN + schema.U64.pack(seq))
    if chosen is not None:
        return int(schema.SPACE_KEY.unpack(chosen[1])[0])
    first = next(spaces(tables), None)
    return None if first is None or first[1].seq > seq else first[0]


def dropped_at(tables: rows.Tables, space: int) -> int | None:
    """The commit that dropped a space; ``None`` if none did."""
    stored = tables.space_changes.get(SPACE_DROPPED + schema.SPACE_KEY.pack(space))
    return None if stored is None else int(schema.U64.unpack(stored)[0])


class OpenSpace(NamedTuple):
    """An embedding space as it was recorded.

    ``dropped`` is the commit that dropped it, if one did.
    """

    number: int
    row: schema.SpaceRow
    name: str
    model: str
    mean: bytes
    dropped: int | None


def all_spaces(log: LmdbLog, tables: rows.Tables) -> Iterator[OpenSpace]:
    """Every space that was ever opened, in that order."""
    for number, row in spaces(tables):
        stored = log.blob(row.seq, row.model)
        blob = None if stored is None else codec.decode_blob(stored, row.seq)
        if isinstance(blob, blobs.Space):
            yield OpenSpace(number, row, blob.name, blob.model, blob.mean, dropped_at(tables, number))


def find_space(log: LmdbLog, tables: rows.Tables, name: str) -> OpenSpace | None:
    """The space of a name that has not been dropped."""
    return next((each for each in all_spaces(log, tables) if each.name == name and each.dropped is None), None)


def space_in_use(log: LmdbLog, tables: rows.Tables, seq: int | None = None) -> OpenSpace | None:
    """The space that answers now, or as of a commit.

    ``None`` before the first text was embedded.
    """
    number = active_space(tables, log.head().seq if seq is None else seq)
    return next((each for each in all_spaces(log, tables) if each.number == number), None)


def answering_spaces(log: LmdbLog, tables: rows.Tables, seq: int, *, exact: bool) -> list[OpenSpace]:
    """The spaces that a question may be compared in as of a commit, the preferred one first.

    Unless ``exact``, the present space answers too if that of the commit is another one, and in its place if that was
    dropped or there was none yet.
    """
    then = space_in_use(log, tables, seq)
    if exact or seq >= log.head().seq:
        return [] if then is None else [then]
    now = space_in_use(log, tables)
    if now is None:
        return [] if then is None else [then]
    return [now] if then is None or then.dropped is not None or then.number == now.number else [then, now]


MAX_DATED: Final = 5_000
"""So many worlds that began at a time are listed and searched among; of more, those are taken that are found anyway."""
MAX_BEGINNINGS: Final = 200_000
"""In a store of so many worlds it is read when each began, which takes 0.8 µs a world once in a process."""


class WorldStarts:
    """When each world of the whole store began, kept from one read to the next. Threads may share it.

    Of a world that was changed that is when its first version began.
    """

    def __init__(self, _place: object) -> None:
        self._guard = Lock()
        self._began: NDArray[np.int64] | None = None

    def within(self, tables: rows.Tables, known: int, spans: Iterable[tuple[int, int]]) -> "NDArray[np.int64] | None":
        """Those of the first ``known`` worlds that began in one of some spans, in ascending order; ``None`` where they
        are too many."""
        import numpy as np

        if known > MAX_BEGINNINGS:
            return None
        began = self._through(tables, known)[:known]
        is_within = np.zeros(len(began), dtype=bool)
        for start, end in spans:
            is_within |= (began >= start) & (began < end)
        if np.count_nonzero(is_within) > MAX_DATED:
            return None
        return np.flatnonzero(is_within)

    def write(self) -> None:
        """Write nothing to the disk: to read it anew takes little."""

    def _through(self, tables: rows.Tables, known: int) -> "NDArray[np.int64]":
        """The beginnings by the numbers of the worlds, with those that are new."""
        import numpy as np

        with self._guard:
            began = np.full(1, schema.NEVER_BEGUN) if self._began is None else self._began
            if len(began) < known:
                more = np.fromiter(
                    tables.version_starts([(node, 1) for node in range(len(began), known)]), dtype=np.int64
                )
                began = np.concatenate((began, more))
            self._began = began
            return began
