"""Timelines as rows: what was put is read at every commit and every valid time, in one chunk or in many."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb.log.model.times import ALWAYS, FOREVER, Interval
from worlddb.projections.tables.storage import timeline_rows
from worlddb.projections.tables.storage.timeline_rows import HOLE, NOTHING, OF_LINEAGE, Place

PLACE = Place(OF_LINEAGE, 7)
BORN = (1, Interval(10, FOREVER))


class Pairs:
    """A table in memory."""

    def __init__(self) -> None:
        self.pairs: dict[bytes, bytes] = {}

    def put(self, key: bytes, value: bytes) -> None:
        self.pairs[key] = value

    def last(self, prefix: bytes, upto: bytes) -> tuple[bytes, bytes] | None:
        found = max((key for key in self.pairs if key.startswith(prefix) and key <= upto), default=None)
        return None if found is None else (found, self.pairs[found])

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted((key, value) for key, value in self.pairs.items() if key.startswith(prefix)))


windows = st.tuples(st.integers(0, 40), st.integers(0, 40) | st.just(FOREVER)).map(
    lambda ends: Interval(ends[0], max(ends))
)
statements = st.lists(
    st.tuples(st.integers(0, 2), windows, st.sampled_from([NOTHING, HOLE, 1, 2, 3, 4, 5])), max_size=30
)


@pytest.mark.parametrize("most_steps", [2, 5, 64])
@given(told=statements)
def test_every_point_is_what_was_last_said_of_it(most_steps: int, told: list[tuple[int, Interval, int]]) -> None:
    table: Any = Pairs()
    known: list[tuple[int, Interval, int]] = [(1, BORN[1], 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_rows, "MAX_STEPS", most_steps)
        seq = 1
        whole = timeline_rows.overlaid([(ALWAYS, NOTHING)], BORN[1], 1)
        for later, window, number in told:
            seq += later
            timeline_rows.put(table, PLACE, seq, window, number, lambda: BORN)
            known.append((seq, window, number))
            whole = timeline_rows.overlaid(whole, window, number)
            assert timeline_rows.steps(table, PLACE, seq) == whole
    for as_of in range(seq + 1) if told else ():
        said = [(window, number) for at, window, number in known if at <= as_of]
        first = min(at for at, _, _ in known[1:]) if BORN[0] != known[1][0] else BORN[0]
        line = timeline_rows.steps(table, PLACE, as_of)
        if as_of < min(first, BORN[0]):
            assert line is None and timeline_rows.piece_at(table, PLACE, as_of, 12) is None
            continue
        assert line is not None
        assert all(one[0] < other[0] and one[1] != other[1] for one, other in itertools.pairwise(line))
        for valid in (ALWAYS, -1, *range(42), FOREVER - 1):
            expected = next((number for window, number in reversed(said) if window.contains(valid)), NOTHING)
            piece = timeline_rows.piece_at(table, PLACE, as_of, valid)
            assert piece is not None
            assert (piece.number, piece.span.contains(valid)) == (expected, True)
            assert piece in list(timeline_rows.pieces(line))
        for _, window, _ in told:
            touched = [piece for piece in timeline_rows.pieces(line) if piece.span.overlaps(window)]
            assert timeline_rows.pieces_in(table, PLACE, as_of, window) == touched


@pytest.mark.parametrize("most_steps", [2, 5, 64])
@given(told=statements, begins=st.integers(0, 40), later=st.integers(0, 1))
def test_what_ends_for_ever_is_written_at_once_as_it_is_piece_by_piece(
    most_steps: int, told: list[tuple[int, Interval, int]], begins: int, later: int
) -> None:
    """Or it says that it cannot, and has written nothing."""
    table, other, seq = Pairs(), Pairs(), 1 + later
    by_piece: Any = table
    at_once: Any = other
    window = Interval(begins, FOREVER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_rows, "MAX_STEPS", most_steps)
        for after, said, number in [*told, (0, window, NOTHING)]:
            seq += after
            timeline_rows.put(by_piece, PLACE, seq - later, said, number, lambda: BORN)
        other.pairs |= table.pairs
        written = timeline_rows.put_last(at_once, PLACE, seq, begins, HOLE)
        assert written or (most_steps < 64 and other.pairs == table.pairs)
        timeline_rows.put(by_piece, PLACE, seq, Interval(begins, begins), NOTHING, lambda: BORN)
        for piece in timeline_rows.pieces_in(by_piece, PLACE, seq, window) or ():
            if piece.number == NOTHING:
                timeline_rows.put(by_piece, PLACE, seq, piece.span.intersect(window), HOLE, lambda: BORN)
    assert not written or other.pairs == table.pairs


def test_a_long_timeline_is_written_in_chunks_and_read_by_two_look_ups() -> None:
    table: Any = Pairs()
    for number in range(2, 1_002):
        start = (number * 7_919) % 10_007
        timeline_rows.put(table, PLACE, number, Interval(start, start + 3), number, lambda: BORN)
    line = timeline_rows.steps(table, PLACE, 2_000)
    assert line is not None and len(line) > 1_500
    assert max(map(len, table.pairs.values())) < 2_000
    for number in (2, 500, 1_001):
        start = (number * 7_919) % 10_007
        piece = timeline_rows.piece_at(table, PLACE, number, start)
        assert piece is not None and piece.number == number
    written = [
        sum(map(len, (value for key, value in table.pairs.items() if key.endswith(number.to_bytes(8, "big")))))
        for number in range(900, 1_000)
    ]
    assert sum(written) / len(written) < 2_500, "a statement writes the chunk that it changes"


def test_the_commits_that_changed_a_timeline_are_listed() -> None:
    table: Any = Pairs()
    for seq in (4, 9, 9, 12):
        timeline_rows.put(table, PLACE, seq, Interval(20 + seq, 22 + seq), HOLE, lambda: BORN)
    assert timeline_rows.changes(table, PLACE, 10) == [1, 4, 9]
