"""The algebra of half-open intervals, against the sets of instants that they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlddb import FOREVER, InvalidInterval
from worlddb.log.model.times import Interval, checked_interval

SPAN = range(-2, 12)
bounds = st.integers(0, 9)
intervals = st.builds(Interval, bounds, bounds)


def instants(interval: Interval) -> set[int]:
    return {moment for moment in SPAN if interval.contains(moment)}


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


@given(start=bounds, length=bounds, end=st.integers(-2, 12), again=st.integers(-2, 12))
def test_tightening_only_takes_away_and_keeps_the_start(start: int, length: int, end: int, again: int) -> None:
    interval = Interval(start, start + length)
    tightened = interval.tighten(end)
    assert tightened.start == start <= tightened.end <= interval.end
    assert instants(tightened) == {moment for moment in instants(interval) if moment < end}
    assert tightened.tighten(end) == tightened
    assert (
        interval.tighten(end).tighten(again)
        == interval.tighten(again).tighten(end)
        == interval.tighten(min(end, again))
    )


@given(start=bounds, end=bounds)
def test_an_interval_that_ends_before_it_begins_is_an_error(start: int, end: int) -> None:
    if end < start:
        with pytest.raises(InvalidInterval):
            checked_interval(start, end)
    else:
        assert checked_interval(start, end) == (start, end)


def test_an_open_interval_is_open_until_it_is_tightened() -> None:
    assert Interval(0, FOREVER).is_open
    assert not Interval(0, FOREVER).tighten(5).is_open
