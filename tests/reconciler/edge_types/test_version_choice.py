"""The version of a number that a recall may show is the one among all that it may show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.model.stores import day, new_store
from worlddb.log.model.times import Interval
from worlddb.projections.tables.reads.asof import Moment
from worlddb.query.snapshot.valid_period import Choice, Period

DAYS = st.integers(0, 6)
SPANS = st.builds(lambda first, length: Interval(day(first), day(first + length)), DAYS, st.integers(1, 4))
OF_INSTANTS = st.builds(lambda every, earlier: Choice(every, None, earlier), st.booleans(), st.booleans())
OF_SPANS = st.builds(lambda span, throughout: Choice(period=Period(span, throughout)), SPANS, st.booleans())


@given(
    begins=st.lists(DAYS, max_size=5),
    retired=st.none() | DAYS,
    known=st.integers(0, 9),
    at=DAYS,
    choice=OF_INSTANTS | OF_SPANS,
)
def test_a_version_is_shown_by_its_number_if_it_is_one_of_those_shown(
    begins: list[int], retired: int | None, known: int, at: int, choice: Choice
) -> None:
    with new_store() as db:
        ref = db.create("Note", "a", valid_from=day(2)).ref
        for number, begin in enumerate(begins):
            db.revise(ref, content=str(number), valid_from=day(begin))
        if retired is not None:
            db.retire(ref, at=day(retired))
        with db._reader.snapshot() as snapshot:
            tables = snapshot.tables
            moment = Moment(max(2, snapshot.log.head().seq - known), day(at))
            node = tables.node_of(bytes.fromhex(ref))
            assert node is not None
            newest = choice.version(tables, node, moment)
            shown = {seen.number: seen for seen in choice.versions(tables, node, moment)}
            shown |= {} if newest is None else {newest.number: newest}
            every = range(1, tables.node(node).versions + 1)
            found = {number: choice.numbered_version(tables, node, number, moment) for number in every}
            assert {number: seen for number, seen in found.items() if seen is not None} == shown
