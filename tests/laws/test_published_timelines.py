"""Published cases of other bitemporal systems and books, each as one lineage, asked at every boundary on both axes.

The values are those of the publications, the statements are said as one would here. After each commit the rows are as
published; rows that meet and say the same are one.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pytest

from tests.support.model.stores import new_store
from worlddb import FOREVER, Database, ManualClock, format_time, parse_time


class Row(NamedTuple):
    """A value and its period; without an end it holds for ever."""

    value: str
    start: str
    end: str | None = None


class Say(NamedTuple):
    """A statement: a value, or with ``None`` that nothing holds. Without a start it is said of the commit's time."""

    value: str | None
    start: str | None = None
    end: str | None = None
    over_all: bool = False


class Step(NamedTuple):
    """What was said on a day, in one commit, and the rows as published afterwards."""

    day: str
    said: list[Say]
    rows: list[Row]


COVER: Final = [Row("12000", "2008-01-01", "2008-07-01"), Row("16000", "2008-07-01", "2009-01-01")]

CASES: Final[dict[str, list[Step]]] = {
    # Fowler, "Bitemporal History": the raise is effective before it is known.
    "Fowler: Sally's salary": [
        Step("2021-01-01", [Say("6000", "2021-01-01")], [Row("6000", "2021-01-01")]),
        Step(
            "2021-03-15",
            [Say("6500", "2021-02-15")],
            [Row("6000", "2021-01-01", "2021-02-15"), Row("6500", "2021-02-15")],
        ),
    ],
    # Fowler, "Temporal Patterns": what was the rate on 25 February?
    "Fowler: a daily rate": [
        Step("2004-01-01", [Say("$100", "2004-01-01")], [Row("$100", "2004-01-01")]),
        Step(
            "2004-03-15",
            [Say("$211", "2004-02-15")],
            [Row("$100", "2004-01-01", "2004-02-15"), Row("$211", "2004-02-15")],
        ),
    ],
    # Snodgrass, "Developing Time-Oriented Database Applications in SQL", chapter 10: the owners of a flat. Current
    # insertion, update and deletion, sequenced insertion, deletion and update, and a nonsequenced deletion.
    "Snodgrass: Prop_Owner": [
        Step("1998-01-10", [Say("Eva")], [Row("Eva", "1998-01-10")]),
        Step("1998-01-15", [Say("Peter")], [Row("Eva", "1998-01-10", "1998-01-15"), Row("Peter", "1998-01-15")]),
        Step(
            "1998-01-20",
            [Say(None)],
            [Row("Eva", "1998-01-10", "1998-01-15"), Row("Peter", "1998-01-15", "1998-01-20")],
        ),
        Step(
            "1998-01-23",
            [Say("Eva", "1998-01-03", "1998-01-10")],
            [Row("Eva", "1998-01-03", "1998-01-15"), Row("Peter", "1998-01-15", "1998-01-20")],
        ),
        Step(
            "1998-01-26",
            [Say(None, "1998-01-03", "1998-01-05")],
            [Row("Eva", "1998-01-05", "1998-01-15"), Row("Peter", "1998-01-15", "1998-01-20")],
        ),
        Step(
            "1998-01-28",
            [Say("Peter", "1998-01-12", "1998-01-15")],
            [Row("Eva", "1998-01-05", "1998-01-12"), Row("Peter", "1998-01-12", "1998-01-20")],
        ),
        # "Delete all rows of exactly one week": the caller finds the periods, and takes them back.
        Step("1998-01-30", [Say(None, "1998-01-05", "1998-01-12")], [Row("Peter", "1998-01-12", "1998-01-20")]),
    ],
    # IBM, Db2: "Inserting", "Updating" and "Deleting data" in a bitemporal table, policy A123.
    "Db2: policy_info": [
        Step("2010-01-31", [Say(*row) for row in COVER], COVER),
        Step(
            "2011-02-28",
            [Say("14000", "2008-06-01", "2008-08-01")],
            [
                Row("12000", "2008-01-01", "2008-06-01"),
                Row("14000", "2008-06-01", "2008-08-01"),
                Row("16000", "2008-08-01", "2009-01-01"),
            ],
        ),
        Step(
            "2011-09-01",
            [Say(None, "2008-06-15", "2008-08-15")],
            [
                Row("12000", "2008-01-01", "2008-06-01"),
                Row("14000", "2008-06-01", "2008-06-15"),
                Row("16000", "2008-08-15", "2009-01-01"),
            ],
        ),
    ],
    # MariaDB, "Application-Time Periods": delete and update for a portion, row b.
    "MariaDB: delete for a portion": [
        Step("2019-01-01", [Say("b", "1999-01-01", "2018-12-12")], [Row("b", "1999-01-01", "2018-12-12")]),
        Step(
            "2019-01-02",
            [Say(None, "2001-01-01", "2018-01-01")],
            [Row("b", "1999-01-01", "2001-01-01"), Row("b", "2018-01-01", "2018-12-12")],
        ),
    ],
    "MariaDB: update for a portion": [
        Step("2019-01-01", [Say("b", "1999-01-01", "2018-12-12")], [Row("b", "1999-01-01", "2018-12-12")]),
        Step(
            "2019-01-02",
            [Say("b_original", "2000-01-01", "2018-01-01")],
            [
                Row("b", "1999-01-01", "2000-01-01"),
                Row("b_original", "2000-01-01", "2018-01-01"),
                Row("b", "2018-01-01", "2018-12-12"),
            ],
        ),
    ],
    # PostgreSQL, regression test for_portion_of: one row that is cut eight times.
    "PostgreSQL: for_portion_of": [
        Step("2020-01-01", [Say("one", "2018-01-02", "2020-01-01")], [Row("one", "2018-01-02", "2020-01-01")]),
        Step(
            "2020-01-02",
            [
                Say("one^1", "2018-01-15", "2019-01-01"),
                Say(None, "2019-01-15", "2019-01-20"),
                Say("one^2", "2019-02-01", "2019-02-03"),
                Say(None, "2019-02-03", "2019-02-04"),
                Say("one^3", "2019-02-04", "2019-02-05"),
                Say(None, "2019-02-05", "2019-02-06"),
                Say("one^4", "2019-03-01", "2019-03-02"),
                Say(None, "2019-03-02", "2019-03-03"),
            ],
            [
                Row("one", "2018-01-02", "2018-01-15"),
                Row("one^1", "2018-01-15", "2019-01-01"),
                Row("one", "2019-01-01", "2019-01-15"),
                Row("one", "2019-01-20", "2019-02-01"),
                Row("one^2", "2019-02-01", "2019-02-03"),
                Row("one^3", "2019-02-04", "2019-02-05"),
                Row("one", "2019-02-06", "2019-03-01"),
                Row("one^4", "2019-03-01", "2019-03-02"),
                Row("one", "2019-03-03", "2020-01-01"),
            ],
        ),
    ],
    # Teradata, "Valid-Time DELETE from an ANSI Bitemporal Table" and "Update a Row in a Valid-Time Table".
    "Teradata: Fred": [
        Step("2004-12-01", [Say("PW12", "2001-05-01")], [Row("PW12", "2001-05-01")]),
        Step(
            "2014-02-28",
            [Say(None, "2009-01-01", "2010-01-01")],
            [Row("PW12", "2001-05-01", "2009-01-01"), Row("PW12", "2010-01-01")],
        ),
    ],
    "Teradata: policy 540944": [
        Step("2007-02-03", [Say("HM", "2007-02-03")], [Row("HM", "2007-02-03")]),
        Step("2008-02-03", [Say("HP", "2008-02-03")], [Row("HM", "2007-02-03", "2008-02-03"), Row("HP", "2008-02-03")]),
    ],
    # Wikipedia, "Temporal database": what was reported of John Doe, and corrected later.
    "Wikipedia: John Doe": [
        Step("1975-04-04", [Say("Smallville", "1975-04-03")], [Row("Smallville", "1975-04-03")]),
        Step(
            "1994-12-27",
            [Say("Bigtown", "1994-08-26")],
            [Row("Smallville", "1975-04-03", "1994-08-26"), Row("Bigtown", "1994-08-26")],
        ),
        Step(
            "2001-02-02",
            [Say("Beachy", "1995-06-01", "2000-09-03")],
            [
                Row("Smallville", "1975-04-03", "1994-08-26"),
                Row("Bigtown", "1994-08-26", "1995-06-01"),
                Row("Beachy", "1995-06-01", "2000-09-03"),
                Row("Bigtown", "2000-09-03"),
            ],
        ),
        Step(
            "2001-04-01",
            [Say(None, "2001-04-01")],
            [
                Row("Smallville", "1975-04-03", "1994-08-26"),
                Row("Bigtown", "1994-08-26", "1995-06-01"),
                Row("Beachy", "1995-06-01", "2000-09-03"),
                Row("Bigtown", "2000-09-03", "2001-04-01"),
            ],
        ),
    ],
    # XTDB, tutorial "Bitemporality": the newest first, and the past behind it with its ends.
    "XTDB: Jay Rose's cover": [
        Step("2114-12-03", [Say("full", "2114-12-03")], [Row("full", "2114-12-03")]),
        Step(
            "2114-12-04",
            [
                Say("full", "2113-12-03", "2114-12-03"),
                Say("full", "2112-12-03", "2113-12-03"),
                Say("none", "2112-06-03", "2112-12-02"),
                Say("promotional", "2111-06-03", "2112-06-03"),
            ],
            [
                Row("promotional", "2111-06-03", "2112-06-03"),
                Row("none", "2112-06-03", "2112-12-02"),
                Row("full", "2112-12-03"),
            ],
        ),
    ],
    # XTDB, query tests after "Indexing temporal data using existing B+-trees" (Goh et al. 1996): persons p1 to p4. A
    # statement from a time on holds until the next one, and what was said of a departure is corrected later.
    "XTDB: p1": [
        Step(
            "2019-01-04",
            [
                Say("NY, here", "2018-12-31"),
                Say("NY, left 01-03", "2019-01-03"),
                Say("LA, here", "2019-01-04"),
            ],
            [
                Row("NY, here", "2018-12-31", "2019-01-03"),
                Row("NY, left 01-03", "2019-01-03", "2019-01-04"),
                Row("LA, here", "2019-01-04"),
            ],
        ),
    ],
    "XTDB: p3": [
        Step("2018-12-31", [Say("LA, here", "2018-12-31")], [Row("LA, here", "2018-12-31")]),
        Step(
            "2019-01-04",
            [Say("LA, left 01-04", "2019-01-04")],
            [Row("LA, here", "2018-12-31", "2019-01-04"), Row("LA, left 01-04", "2019-01-04")],
        ),
        Step(
            "2019-01-07",
            [Say("LA, here", "2019-01-04"), Say("LA, left 01-07", "2019-01-07")],
            [Row("LA, here", "2018-12-31", "2019-01-07"), Row("LA, left 01-07", "2019-01-07")],
        ),
        Step(
            "2019-01-08",
            [Say("SFO, here", "2019-01-08")],
            [
                Row("LA, here", "2018-12-31", "2019-01-07"),
                Row("LA, left 01-07", "2019-01-07", "2019-01-08"),
                Row("SFO, here", "2019-01-08"),
            ],
        ),
        Step(
            "2019-01-09",
            [Say("SFO, left 01-08", "2019-01-09")],
            [
                Row("LA, here", "2018-12-31", "2019-01-07"),
                Row("LA, left 01-07", "2019-01-07", "2019-01-08"),
                Row("SFO, here", "2019-01-08", "2019-01-09"),
                Row("SFO, left 01-08", "2019-01-09"),
            ],
        ),
    ],
    # XTDB 2 takes all that follows where no end is given; here that is said.
    "XTDB 2: a statement over all that follows": [
        Step("2024-01-01", [Say("a", "2020-01-01")], [Row("a", "2020-01-01")]),
        Step("2024-01-02", [Say("b", "2022-01-01")], [Row("a", "2020-01-01", "2022-01-01"), Row("b", "2022-01-01")]),
        Step(
            "2024-01-03",
            [Say("c", "2021-01-01", over_all=True)],
            [Row("a", "2020-01-01", "2021-01-01"), Row("c", "2021-01-01")],
        ),
    ],
    # PostgreSQL's temporal_tables, a system-versioned table: no start is stated, so that both axes are one.
    "temporal_tables: Bernard Marx": [
        Step("2006-08-08", [Say("10000")], [Row("10000", "2006-08-08")]),
        Step("2007-02-27", [Say("11200")], [Row("10000", "2006-08-08", "2007-02-27"), Row("11200", "2007-02-27")]),
    ],
    "temporal_tables: Helmholtz Watson": [
        Step("2006-08-08", [Say("18500")], [Row("18500", "2006-08-08")]),
        Step("2012-12-24", [Say(None)], [Row("18500", "2006-08-08", "2012-12-24")]),
    ],
    # TSQL2, test suite: Ed leaves the toys and comes back to the books; a resumption behind a gap.
    "TSQL2: Ed's department": [
        Step("1982-02-01", [Say("Toy")], [Row("Toy", "1982-02-01")]),
        Step("1987-02-01", [Say(None)], [Row("Toy", "1982-02-01", "1987-02-01")]),
        Step("1987-04-01", [Say("Book")], [Row("Toy", "1982-02-01", "1987-02-01"), Row("Book", "1987-04-01")]),
    ],
    # After Johnston and Weis, asserted versioning: a deletion cuts an episode in two, an insertion joins them again.
    "asserted versioning: an episode": [
        Step("2010-01-01", [Say("HMO", "2010-01-01")], [Row("HMO", "2010-01-01")]),
        Step(
            "2010-03-01", [Say("PPO", "2010-05-01")], [Row("HMO", "2010-01-01", "2010-05-01"), Row("PPO", "2010-05-01")]
        ),
        Step(
            "2010-08-01",
            [Say(None, "2010-04-01", "2010-06-01")],
            [Row("HMO", "2010-01-01", "2010-04-01"), Row("PPO", "2010-06-01")],
        ),
        Step(
            "2010-09-01",
            [Say("PPO", "2010-04-01", "2010-06-01")],
            [Row("HMO", "2010-01-01", "2010-04-01"), Row("PPO", "2010-04-01")],
        ),
    ],
}


class Known(NamedTuple):
    """The rows as published after a commit."""

    seq: int
    ingested: int
    rows: list[Row]


def tell(db: Database, clock: ManualClock, steps: list[Step]) -> tuple[str, list[Known]]:
    """Say a case in one lineage, each step as one batch."""
    ref: Any = None
    known = []
    for step in steps:
        clock.value = parse_time(step.day)
        resumes = ref is not None and db.view().get(ref, include_superseded=True).ended  # type: ignore[union-attr]
        with db.batch() as batch:
            for each in step.said:
                window: dict[str, Any] = {"valid_from": each.start, "valid_to": each.end}
                if ref is None:
                    ref = batch.create("Fact", "", content=str(each.value), resolve=False, **window)
                elif each.value is None:
                    batch.retire(ref, **window)
                elif resumes and each.start is None:
                    batch.reassert(ref, content=each.value, **window)
                else:
                    batch.revise(ref, content=each.value, replace_later=each.over_all, **window)
        assert batch.receipt
        ref = batch.receipt.refs[0] if not isinstance(ref, str) else ref
        known.append(Known(batch.receipt.seq, batch.receipt.ingest_time, step.rows))
    assert isinstance(ref, str)
    return ref, known


def check(db: Database, ref: str, known: list[Known], axis: str) -> None:
    """Ask as of each commit, for the periods, and at every boundary of any row, and right beside it.

    ``axis`` names a commit by its number (``seq``) or by its time (``ingested``).
    """
    boundaries = {time for each in known for row in each.rows for time in (row.start, row.end) if time is not None}
    moments = sorted({parse_time(day) + beside for day in boundaries for beside in (-1, 0, 1)})
    for each in known:
        view = db.view(seq=each.seq)
        found = [
            (period.content, day(period.valid.start), None if period.valid.end == FOREVER else day(period.valid.end))
            for period in view.coalesced(ref)
        ]
        assert found == each.rows
        pinned: dict[str, Any] = {axis: getattr(each, axis)}
        for moment in moments:
            world = db.view(valid=moment, **pinned).get(ref)
            holds = [row.value for row in each.rows if parse_time(row.start) <= moment < end_of(row)]
            assert ([] if world is None else [world.content]) == holds, (each, format_time(moment))


def end_of(row: Row) -> int:
    return FOREVER if row.end is None else parse_time(row.end)


def day(time: int) -> str:
    return format_time(time)[:10]


@pytest.mark.parametrize("name", CASES)
def test_a_published_case_holds_at_every_point_of_both_axes(name: str) -> None:
    steps = CASES[name]
    clock = ManualClock(parse_time(steps[0].day) - 1)
    with new_store(clock=clock, max_clock_jump_days=200_000) as db:
        ref, known = tell(db, clock, steps)
        assert len(known) == len(steps)
        check(db, ref, known, "seq")
        assert db.redecide().differing == ()
        db.rebuild("tables")
        check(db, ref, known, "ingested")


SALARIES: Final = [
    Row("60000", "1995-01-01", "1995-06-01"),
    Row("70000", "1995-06-01", "1995-10-01"),
    Row("70000", "1995-10-01", "1996-02-01"),
    Row("70000", "1996-02-01", "1997-01-01"),
]
TITLES: Final = [
    Row("Assistant Provost", "1995-01-01", "1995-10-01"),
    Row("Provost", "1995-10-01", "1996-02-01"),
    Row("Professor", "1996-02-01", "1997-01-01"),
]


def test_coalescing_and_the_sequenced_join_are_those_of_the_case_study() -> None:
    """Snodgrass, "A Case Study of Temporal Data": when Bob had which salary, and which title with which salary."""
    with new_store(clock=ManualClock(parse_time("1998-01-01"))) as db:
        refs = []
        for rows in (SALARIES, TITLES):
            ref = db.create("Fact", "", content=rows[0].value, valid_from=rows[0].start, valid_to=rows[0].end).ref
            for row in rows[1:]:
                db.revise(ref, content=row.value, valid_from=row.start, valid_to=row.end)
            refs.append(ref)
        salary, title = ([(each.content, each.valid) for each in db.view().coalesced(ref)] for ref in refs)
        assert [(content, day(valid.start), day(valid.end)) for content, valid in salary] == [
            ("60000", "1995-01-01", "1995-06-01"),
            ("70000", "1995-06-01", "1997-01-01"),
        ]
        joined = [
            (paid, called, day(max(one.start, other.start)), day(min(one.end, other.end)))
            for paid, one in salary
            for called, other in title
            if max(one.start, other.start) < min(one.end, other.end)
        ]
        assert joined == [
            ("60000", "Assistant Provost", "1995-01-01", "1995-06-01"),
            ("70000", "Assistant Provost", "1995-06-01", "1995-10-01"),
            ("70000", "Provost", "1995-10-01", "1996-02-01"),
            ("70000", "Professor", "1996-02-01", "1997-01-01"),
        ]
        for paid, called, start, end in joined:
            for moment in (parse_time(start), parse_time(end) - 1):
                found = [db.view(valid=moment).get(ref) for ref in refs]
                assert [None if world is None else world.content for world in found] == [paid, called]


def test_the_clauses_of_system_time_are_spans_of_ingest_time() -> None:
    """SQL Server, "Querying data in a system-versioned temporal table": AS OF, FROM, BETWEEN, CONTAINED IN."""
    clock = ManualClock(parse_time("2015-01-01"))
    with new_store(clock=clock) as db:
        ref = db.create("Fact", "", content="1").ref
        for month in (2, 3, 4):
            clock.value = parse_time(f"2015-0{month}-01")
            db.revise(ref, content=str(month))
        start, end = parse_time("2015-02-01"), parse_time("2015-03-01")
        as_of = [db.view(ingested=moment).get(ref) for moment in (start - 1, start, end - 1, end)]
        assert [None if world is None else world.content for world in as_of] == ["1", "2", "2", "3"]
        view = db.view()
        assert [each.content for each in view.history(ref, overlaps=(start, end))] == ["2"], "FROM ... TO"
        assert [each.content for each in view.history(ref, overlaps=(start, end + 1))] == ["2", "3"], "BETWEEN ... AND"
        assert [each.content for each in view.history(ref)] == ["1", "2", "3", "4"], "ALL"
        contained = view.query(seeds=ref).include_superseded().filter_period("within", (start, end)).run()
        assert [world.content for world in contained] == ["2"], "CONTAINED IN"
