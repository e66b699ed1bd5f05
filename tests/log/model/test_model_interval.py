"""The algebra of half-open intervals, against the sets of instants that they stand for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb import FOREVER, InvalidInterval
from worlddb.log.model.times import Interval, Spans, Validity, checked_interval, common, piece_at

SPAN = range(-2, 12)
bounds = st.integers(0, 9)
intervals = st.builds(Interval, bounds, bounds)


def instants(interval: Validity) -> set[int]:
    return {moment for moment in SPAN if interval.contains(moment)}


def without_each(interval: Interval, windows: list[Interval]) -> Validity:
    left: Validity = interval
    for window in windows:
        left = left.without(window)
    return left


validities = st.builds(without_each, intervals, st.lists(intervals, max_size=3))


@given(interval=intervals)
def test_an_interval_holds_its_start_and_not_its_end(interval: Interval) -> None:
    assert instants(interval) == set(range(interval.start, interval.end))
    assert interval.is_empty == (not instants(interval))


@given(one=intervals, other=intervals)
def test_an_interval_covers_another_exactly_if_it_has_all_of_its_instants(one: Interval, other: Interval) -> None:
    assert one.covers(other) == bool(instants(other) and instants(other) <= instants(one))


@given(one=intervals, other=intervals)
def test_two_intervals_overlap_exactly_if_they_share_an_instant(one: Interval, other: Interval) -> None:
    assert one.overlaps(other) == other.overlaps(one) == bool(instants(one) & instants(other))


@given(one=intervals, other=intervals)
def test_an_intersection_holds_what_both_hold(one: Interval, other: Interval) -> None:
    both = one.intersect(other)
    assert instants(both) == instants(one) & instants(other) == instants(other.intersect(one))
    assert both.start <= both.end


@given(one=validities, window=intervals)
def test_what_is_left_without_a_window_is_what_was_held_outside_of_it(one: Validity, window: Interval) -> None:
    left = one.without(window)
    assert instants(left) == instants(one) - instants(window)
    assert left.without(window) == left
    assert isinstance(left, Interval) == (len(left.pieces) < 2)


@given(one=validities, other=validities)
def test_several_spans_answer_as_the_sets_of_their_instants(one: Validity, other: Validity) -> None:
    assert one.overlaps(other) == other.overlaps(one) == bool(instants(one) & instants(other))
    assert one.covers(other) == bool(instants(other) and instants(other) <= instants(one))
    assert instants(common(one, other)) == instants(one) & instants(other)
    for piece, following in pairwise(one.pieces):
        assert piece.end < following.start, "in order, with a hole between"
    for moment in instants(one):
        assert piece_at(one, moment) in one.pieces and piece_at(one, moment).contains(moment)


@given(start=bounds, end=bounds)
def test_an_interval_that_ends_before_it_begins_is_an_error(start: int, end: int) -> None:
    if end < start:
        with pytest.raises(InvalidInterval):
            checked_interval(start, end)
    else:
        assert checked_interval(start, end) == (start, end)


def test_what_is_open_is_open_until_its_end_is_taken() -> None:
    assert Interval(0, FOREVER).is_open
    assert not Interval(0, FOREVER).without(Interval(5, FOREVER)).is_open
    holed = Interval(0, FOREVER).without(Interval(3, 5))
    assert isinstance(holed, Spans) and holed.is_open
    assert not holed.without(Interval(7, FOREVER)).is_open
