"""``worlddb history --timeline`` and spans of time on the command line."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.running import LocalRunner, SmallRefs, small_store
from worlddb import FOREVER, Valid
from worlddb.tools.cli.base.page import PlainPage
from worlddb.tools.cli.history.timeline_command import _UNICODE, Scale, write_timeline

CORRECTED = """\
across: valid time; down: when it was learned

                                            2024-09-01     2025-11-01
                                    2024-01-01    2025-02-01    2026-11-30
                                    ┴╌╌╌╌╌╌╌┴╌╌╌╌╌┴╌╌╌╌╌╌╌╌┴╌╌╌╌╌╌╌╌╌╌╌▼╌╌
2026-11-23  commit 3             1  [────────────────────────────────────▶  from 2024-01-01
2026-11-24  commit 4             1  [─────────────)                         2024-01-01 to 2025-02-01
                                 2                [──────────────────────▶  from 2025-02-01
2026-12-02T12:00:00Z  commit 12  1  [───────)                               2024-01-01 to 2024-09-01
                                 2                ◆                         at no time
                                 3          [────────────────────────────▶  from 2024-09-01
2026-12-02T12:00:00Z  commit 13  3          [──────────────)                2024-09-01 to 2025-11-01

1  engineering lead
   learned 2026-11-23, commit 3, from agent-7
   its end 2025-02-01 learned 2026-11-24, commit 4, from agent-7, because announced in the all-hands
   its end 2024-09-01 learned 2026-12-02T12:00:00Z, commit 12, from corrector, because the card said so
2  VP of engineering
   learned 2026-11-24, commit 4, from agent-7, because announced in the all-hands
   its end 2025-02-01 learned 2026-12-02T12:00:00Z, commit 12, from corrector, because the card said so
3  CTO
   learned 2026-12-02T12:00:00Z, commit 12, from corrector, because the card said so
   its end 2025-11-01 learned 2026-12-02T12:00:00Z, commit 13, from corrector
▼ is 2026-11-30, the view's valid time
"""
NARROW = """\
across: valid time; down: when it was learned

  2024-01-01     2025-03-01      2026-11-30
  ┴╌╌╌╌╌╌╌╌╌╌╌╌╌╌┴╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌▼╌╌
2026-11-25  commit 5  1  from 2024-01-01
  [───────────────────────────────────────▶
2026-11-27  commit 7  1  2024-01-01 to 2025-03-01
  [──────────────)

1  The office is in Lisbon.
   learned 2026-11-25, commit 5, from agent-7
   its end 2025-03-01 learned 2026-11-27, commit 7, from agent-7
▼ is 2026-11-30, the view's valid time
"""


@pytest.fixture
def small(tmp_path: Path) -> SmallRefs:
    return small_store(tmp_path / "store")


@pytest.fixture
def run(small: SmallRefs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalRunner:
    return LocalRunner(capsys, tmp_path / "store")


NOON = worlddb.parse_time("2026-12-02T12:00:00Z")
PLAIN = str.maketrans("─◀▶◆╌┴▼", "=<>*-+v")


class NarrowPage(PlainPage):
    """As wide as a small terminal."""

    @property
    def width(self) -> int:
        return 44


def drawn(store: Path, ref: str, *, narrow: bool = False, utf8: bool = True, valid: str = "2026-11-30") -> list[str]:
    stream = io.StringIO()
    page = NarrowPage(stream) if narrow else PlainPage(stream)
    with worlddb.open(store) as db:
        view = db.view(valid=valid)
        write_timeline(page, view, view.history(ref), view.timeline(ref), utf8=utf8)
    return stream.getvalue().splitlines()


def test_a_corrected_fact_is_drawn_with_what_was_known_of_it_when(small, tmp_path):
    with worlddb.open(tmp_path / "store", author="corrector", clock=worlddb.ManualClock(NOON)) as db:
        db.revise(small.sarah, content="CTO", valid_from="2024-09-01", replace_later=True, why="the card said so")
        db.retire(small.sarah, at="2025-11-01")
    lines = drawn(tmp_path / "store", small.sarah)
    assert lines == CORRECTED.splitlines()
    assert drawn(tmp_path / "store", small.sarah, utf8=False) == [line.translate(PLAIN) for line in lines]
    assert max(map(len, lines[:11])) <= 100


def test_a_superseded_fact_is_drawn_on_a_narrow_terminal(small, tmp_path):
    lines = drawn(tmp_path / "store", small.lisbon, narrow=True)
    assert lines == NARROW.splitlines()
    assert max(len(line) for line in lines if line[2:3] in ("[", "┴")) <= 44


def test_the_command_draws_and_gives_the_steps_as_json(run, small):
    assert "commit 7  1  [" in run("history", small.lisbon, "--timeline").out
    steps = run.json("history", small.sarah, "--timeline")["timeline"]
    assert [(step["number"], step["change"], step["seq"]) for step in steps] == [
        (1, "written", 3),
        (1, "closed", 4),
        (2, "written", 4),
    ]
    assert steps[1]["why"] == "announced in the all-hands"
    assert steps[1]["valid"] == {"from": "2024-01-01T00:00:00Z", "to": "2025-02-01T00:00:00Z"}
    assert run("history", small.sarah, "--timeline", "--between", "2020-01-01..2020-01-02").out.endswith(
        "Nothing in this span.\n"
    )
    past = run("at", "3", "history", small.sarah, "--timeline").out
    assert "commit 3" in past
    assert "commit 4" not in past


def test_the_timeline_command_draws_holes_and_late_arrivals(run, small, tmp_path):
    with worlddb.open(tmp_path / "store", author="corrector", clock=worlddb.ManualClock(NOON)) as db:
        db.retire(small.sarah, valid_from="2024-04-01", valid_to="2024-07-01", why="leave")
        db.revise(small.sarah, content="acting lead", valid_from="2024-09-01", valid_to="2024-10-01")
    told = run("timeline", small.sarah)
    assert told.code == 0
    lines = told.out.splitlines()
    assert "a hole: nothing holds 2024-04-01 to 2024-07-01" in lines
    bars = {line: bar for line, bar in pairwise(lines) if bar.lstrip().startswith("[")}
    assert [bar.count("[") for line, bar in bars.items() if line.endswith("3  2024-09-01 to 2024-10-01, late")] == [1]
    holes = [bar for line, bar in bars.items() if line.endswith("2024-01-01 to 2025-02-01, with holes")]
    assert [(bar.count("["), bar.count(")")) for bar in holes] == [(2, 2), (3, 3)]
    assert "its spans 2024-01-01 to 2024-04-01, 2024-07-01 to 2025-02-01 learned 2026-12-02T12:00:00Z" in told.out
    document = run.json("timeline", small.sarah)
    assert document["holes"] == [{"from": "2024-04-01T00:00:00Z", "to": "2024-07-01T00:00:00Z"}]
    assert [period["versions"] for period in document["periods"]] == [[1], [1], [3], [1], [2]]
    assert [step["late"] for step in document["timeline"]].count(True) == 1
    assert run("timeline", small.sarah, "--overwrite").code == 2


def test_read_commands_take_spans_of_time(run, small):
    recalled = run.json("recall", "office", "--during", "2024-06-01..2025-03-01")
    facts = {hit["ref"] for hit in recalled["hits"] if hit["type"] == "Fact"}
    assert facts == {small.lisbon}
    both = run.json("recall", "office", "--overlaps", "2025-02-28..2025-03-02")["hits"]
    assert {hit["ref"] for hit in both if hit["type"] == "Fact"} == {small.lisbon, small.porto}
    assert run.json("show", small.sarah, "--overlaps", "..2025-02-01")["content"] == "engineering lead"
    assert "another version was valid" in run("show", small.sarah, "--overlaps", "2025-01-01..2025-03-01").out
    assert "other version" not in run("show", small.sarah, "--overlaps", "..2025-02-01").out
    never = run("show", small.sarah, "--during", "2025-01-31..2025-02-02")
    assert (never.code, "throughout 2025-01-31..2025-02-02" in never.err) == (1, True)
    children = run.json("children", small.team, "--overlaps", "2024-01-01..2025-01-01")["children"]
    assert {small.lisbon, small.sarah} <= {child["ref"] for child in children}
    learned = run.json("history", small.sarah, "--between", "2026-11-24..2026-11-25")["versions"]
    assert [version["number"] for version in learned] == [1, 2]
    assert run.json("history", small.sarah, "--during", "2025-02-01..")["versions"][0]["number"] == 2
    wrong = run("recall", "office", "--during", "2024")
    assert (wrong.code, wrong.error) == (2, "usage")
    empty = run("recall", "office", "--during", "2024-01-01..2024-01-01")
    assert (empty.code, empty.error) == (2, "invalid_interval")


def test_times_in_words_are_told_where_they_are_not_taken(run, small):
    for option in ("--valid", "--during", "--overlaps"):
        wrong = run("recall", "office", option, "last spring")
        assert (wrong.code == 2 and "2024-01-01..2024-07-01" in wrong.err) or "2025-02-01T09:00:00Z" in wrong.err
        assert "isoformat" not in wrong.err
    assert "the moment '2025-02-30' is not a time" in run("recall", "office", "--ingested", "2025-02-30").err
    assert "the moment '2025-02-30' is not a time" in run("log", "--from", "2025-02-30").err
    asked = run("recall", "Where was the office the week after Easter?")
    assert 'not understood as a time, and ignored: "the week after Easter"' in asked.out
    told = run.json("recall", "Where was the office the week after Easter?")
    assert (told["unread"], told["times"]) == (["the week after Easter"], [])
    run("embed")
    spring = run.json("recall", "Where was the office last spring?", "--valid", "2025-12-01")
    assert (spring["times"], spring["unread"]) == ([{"from": "2025-03-01T00:00:00Z", "to": "2025-06-01T00:00:00Z"}], [])
    assert spring["note"].endswith('read as times: "last spring" is from 2025-03-01 until 2025-06-01')
    explained = run("recall", "Where was the office last spring?", "--valid", "2025-12-01", "--explain").out
    assert "times in the question: 2025-03-01 to 2025-06-01" in explained


def test_what_held_in_a_part_of_a_span_is_told(run, small):
    around = "2025-01-01..2025-03-01"
    shown = run("recall", "Sarah engineering", "--overlaps", around).out
    assert "1. " in shown and "engineering lead" in shown
    assert "other version, from 2025-02-01: VP of engineering" in shown
    (hit,) = [hit for hit in run.json("recall", "Sarah VP", "--overlaps", around)["hits"] if hit["ref"] == small.sarah]
    assert (hit["content"], hit["valid"]["from"]) == ("VP of engineering", "2025-02-01T00:00:00Z")
    assert [(other["content"], other["valid"]["to"]) for other in hit["others"]] == [
        ("engineering lead", "2025-02-01T00:00:00Z")
    ]
    assert small.sarah in run.json("recall", "Sarah engineering", "--during", around)["left_out"]
    told = run("recall", "Sarah engineering", "--during", around).out
    assert "note: left out, since valid in only a part of the span: Sarah Chen" in told
    assert "left out" not in run("recall", "Sarah engineering", "--during", "2024-02-01..2025-01-01").out
    members = run("children", small.team, "--during", around)
    assert "note: one more was a member for a part of the span" in members.out
    assert run.json("children", small.team, "--during", around)["left_out"] == [small.sarah]
    assert run.json("children", small.team, "--overlaps", around)["left_out"] == []
    query = ("query", "--seed", small.sarah, "--overlaps", around, "--explain")
    assert "checked only the version that is valid at the view's moment" in run(*query).out
    assert "1 of them have older versions that match too" in run(*query, "--include-superseded").out


@given(
    instants=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30, unique=True),
    width=st.integers(8, 120),
)
def test_instants_are_drawn_in_order_and_inside_the_width(instants: list[int], width: int) -> None:
    scale = Scale(instants, width)
    columns = [scale.column(instant) for instant in sorted(instants)]
    assert columns == sorted(columns)
    assert 0 <= columns[0] <= columns[-1] < width
    if 2 * len(instants) <= width - 1:
        assert all(other - one >= 2 for one, other in pairwise(columns))
    ends = [*sorted(instants), FOREVER]
    for start, end in pairwise(ends):
        assert len(scale.bar(Valid(start, end), _UNICODE)) <= width
    assert all(len(line) <= max(width, 27) for line in scale.labels())
