"""Tests the page of a lineage on both time axes: geometry, words, and a browser's view."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.pages import HOSTILE, read, seen_in_browser
from tests.support.running import DAY, LocalRunner, SmallRefs, small_store
from worlddb import FOREVER, Learned, ManualClock, Valid
from worlddb.tools.reports.report_parts import visible
from worlddb.tools.reports.timeline_report import MAX_VERSIONS, picture, render, spread

ARABIC = "فاطمة بنت محمد الفهرية القرشية"
CHINESE = "東京都千代田区丸の内一丁目の図書館とその隣の非常に長い名前の建物" * 3


def page_of(store: Path, ref: str, **moment: Any) -> str:
    with worlddb.open(store) as db:
        view = db.view(**moment)
        world = view.get(ref, include_superseded=True)
        assert world is not None
        return render(view, world.name, ref, view.history(ref), view.timeline(ref))


def words(page: str) -> str:
    return re.sub(r"\s+", " ", " ".join(read(page).text))


def meter(folder: Path, versions: int) -> str:
    """A lineage of so many versions, each true from a day later than the one before it."""
    clock = ManualClock()
    with worlddb.open(folder, clock=clock, author="meter") as db:
        ref: str = db.create("Fact", "A meter", content="reading 0", valid_from=0).ref
        for number in range(1, versions):
            clock.advance(DAY)
            db.revise(ref, content=f"reading {number}", valid_from=number * DAY)
    return ref


# -- geometry


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Learned], int]:
    """Histories of revisions and corrections: a version ends where another begins, or never."""
    steps: list[Learned] = []
    ends: dict[int, Valid] = {}

    def learned(number: int, change: str, valid: Valid, seq: int) -> None:
        steps.append(
            Learned(number=number, change=change, valid=valid, seq=seq, ingested_at=seq * DAY, author="a", why="")
        )
        ends[number] = valid

    for number in range(1, draw(st.integers(1, 30)) + 1):
        begins = draw(st.integers(-50, 50)) * DAY
        for other, valid in list(ends.items()):
            if valid.end > begins:
                learned(other, "closed", Valid(valid.start, max(valid.start, begins)), number)
        learned(number, "written", Valid(begins, FOREVER), number)
    return steps, draw(st.integers(-100, 100)) * DAY


def test_a_hole_is_left_empty_in_the_picture_and_told_in_the_table(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="keeper") as db:
        ref = db.create("Fact", "Gate", content="open", valid_from="2020-01-01").ref
        db.retire(ref, valid_from="2022-01-01", valid_to="2023-01-01")
        steps = db.view().timeline(ref)
        last = [box for box in picture(steps, db.view().valid).boxes if box.step == steps[-1]]
        assert len(last) == 2 and last[0].left + last[0].width < last[1].left
    shown = words(page_of(tmp_path / "store", ref))
    assert "from 2020-01-01 until 2022-01-01 and from 2023-01-01 on" in shown
    assert "open" in shown


@given(histories())
def test_every_moment_lies_in_one_rectangle_at_most_and_the_picture_is_what_was_learned(
    drawn: tuple[list[Learned], int],
) -> None:
    steps, asked = drawn
    found = picture(steps, asked)
    assert [box.step for box in found.boxes] == steps
    for box in found.boxes:
        assert 0 <= box.left <= box.left + box.width <= 100.001
        assert 0 <= box.top < box.top + box.height <= found.height + 0.001
        assert box.is_point == (box.step.valid.start == box.step.valid.end)
    areas = [box for box in found.boxes if box.width > 0]
    for place, one in enumerate(areas):
        for other in areas[place + 1 :]:
            across = min(one.left + one.width, other.left + other.width) - max(one.left, other.left)
            down = min(one.top + one.height, other.top + other.height) - max(one.top, other.top)
            assert across < 1e-6 or down < 1e-6, (one, other)


@given(st.lists(st.integers(-(10**15), 10**15), min_size=1, max_size=300, unique=True))
def test_instants_are_in_order_distinct_and_inside(instants: list[int]) -> None:
    places = spread(instants)
    ordered = [places[each] for each in sorted(instants)]
    assert all(one < other for one, other in pairwise(ordered))
    assert ordered[0] >= 0 and ordered[-1] <= 100


# -- words


def test_the_page_says_what_was_true_when_and_when_that_was_learned(tmp_path: Path) -> None:
    small = small_store(tmp_path / "store")
    noon = worlddb.parse_time("2026-12-02T12:00:00Z")
    with worlddb.open(tmp_path / "store", author="corrector", clock=ManualClock(noon)) as db:
        db.revise(small.sarah, content="CTO", valid_from="2024-09-01", replace_later=True, why="the card said so")
        db.retire(small.sarah, at="2025-11-01")
    told = words(page_of(tmp_path / "store", small.sarah, valid="2024-10-01"))
    for said in (
        "3 versions (what was known of their validity changed in 7 steps), as of commit 13",
        "At 2024-10-01 00:00:00 UTC , the time that is asked about, this is: CTO",
        "Version 2: VP of engineering true at no time known since 2026-12-02 12:00:00, commit 12, from corrector, and",
        "found to be true from 2024-01-01 until 2024-09-01: 2026-12-02 12:00:00 UTC , commit 12, from corrector, beca",
        "the card said so",
    ):
        assert said in told, said
    past = words(page_of(tmp_path / "store", small.sarah, seq=3))
    assert (
        "1 version (what was known of their validity changed in 1 step)" in past
        and "VP" not in past
        and "and still held" in past
    )


def test_times_are_told_to_the_second_and_whole_to_whoever_points_at_them(tmp_path: Path) -> None:
    clock = ManualClock(worlddb.parse_time("2026-11-22T12:52:45.123456Z"))
    with worlddb.open(tmp_path / "store", clock=clock, author="a") as db:
        ref = db.create("Note", "", content="one").ref
        clock.advance(1_500_000)
        db.revise(ref, content="two")
        first, second = (worlddb.format_time(step.ingested_at) for step in db.view().timeline(ref)[::2])
    page = page_of(tmp_path / "store", ref)
    assert not re.search(r"\d:\d\d\.\d", words(page))
    assert re.fullmatch(r"2026-11-22T12:52:45\.12345\dZ", first) and second.startswith("2026-11-22T12:52:46.")
    assert f'<time datetime="{first}" title="{first}">2026-11-22 12:52:45 UTC</time>, commit 2' in page
    assert f'title="{first} to {second}">from 2026-11-22 12:52:45 until 2026-11-22 12:52:46<' in page
    assert f'title="{second} to forever">from 2026-11-22 12:52:46 on<' in page


@given(st.lists(st.integers(0, 3_000), min_size=1, max_size=40, unique=True))
def test_labels_of_instants_lie_inside_and_apart_on_narrow_and_on_wide_pages(days: list[int]) -> None:
    steps = [
        Learned(
            number=number,
            change="written",
            valid=Valid(day * DAY, FOREVER),
            seq=number,
            ingested_at=0,
            author="a",
            why="",
        )
        for number, day in enumerate(sorted(days), 1)
    ]
    ticks = picture(steps, 0).ticks
    for kinds, width in ((("all",), 35.0), (("all", "wide"), 13.0)):
        shown = [tick for tick in ticks if tick.kind in kinds]
        assert shown
        begins = [tick.at - {"start": 0, "middle": width / 2, "end": width}[tick.anchor] for tick in shown]
        assert all(0 <= begin <= 100 - width for begin in begins)
        assert all(other - one >= width for one, other in pairwise(begins))


@pytest.mark.usefixtures("names_of_any_kind")
def test_no_text_can_leave_its_place_on_the_page(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author=HOSTILE[1]) as db:
        ref = db.create("Note", HOSTILE[0], content=HOSTILE[0]).ref
        for day, text in enumerate(HOSTILE, 2):
            db.revise(ref, name=text, content=text, why=text, valid_from=day * DAY)
    page = page_of(tmp_path / "store", ref)
    shown = read(page)
    text = "".join(shown.text)
    for hostile in HOSTILE:
        assert visible(hostile) in text, hostile
    assert not set("\x1b\x01\u202e") & set(page)
    assert "49" not in {piece.strip() for piece in shown.text}


def test_of_very_many_versions_the_newest_are_shown_and_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = meter(tmp_path / "store", 12)
    assert MAX_VERSIONS >= 200
    monkeypatch.setattr("worlddb.tools.reports.timeline_report.MAX_VERSIONS", 5)
    page = page_of(tmp_path / "store", ref)
    assert page.count("<tr id=") == 5
    assert "Only the newest 5 versions are on this page; 7 earlier ones are not." in words(page)


def test_erased_worlds_say_so(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        ref = db.create("Note", "secret", content="secret").ref
        db.erase(ref, reason="asked to")
        view = db.view()
        page = render(view, ref[:12], ref, view.history(ref), view.timeline(ref))
    assert "secret" not in page and "asked to" in page and "(erased)" in page


# -- the command


def test_the_command_writes_the_page_whole_or_not_at_all(
    reading: LocalRunner, small: SmallRefs, tmp_path: Path
) -> None:
    file = tmp_path / "sarah.html"
    told = reading.json("timeline", "Search team", "--out", file)
    assert (told["versions"], told["bytes"]) == (1, file.stat().st_size)
    refused = reading("timeline", "Search team", "--out", file)
    assert (refused.code, refused.error) == (2, "input") and "--overwrite" in refused.err
    assert reading("timeline", small.sarah, "--out", file, "--overwrite").code == 0
    assert "VP of engineering" in file.read_text("utf-8")
    assert reading("at", "3", "timeline", small.sarah, "--out", file, "--overwrite").code == 0
    assert "VP of engineering" not in file.read_text("utf-8")
    nothing = reading("timeline", small.sarah, "--out", tmp_path / "no.html", "--between", "2020-01-01..2020-01-02")
    assert nothing.code == 2 and not (tmp_path / "no.html").exists()
    assert reading("timeline", small.sarah, "--out", tmp_path / "nowhere" / "x.html").code == 2


# -- a browser


def test_a_browser_draws_200_versions_and_reads_one_out_at_the_keyboard(tmp_path: Path) -> None:
    ref = meter(tmp_path / "store", 200)
    told = seen_in_browser(page_of(tmp_path / "store", ref), tmp_path, (320, 1200), link=10)
    for found in told.values():
        assert (found["links"], found["rows"], found["overflow"], found["dangling"]) == (399, 200, 0, 0)
        assert (found["before"], found["focused"]) == ("hidden", "visible")
        assert (found["cut"], found["crowded"], found["unmarked"], found["room"]) == ([], [], 0, True)
        assert found["said"][0] == "Version 6: reading 5" and found["label"].startswith("Version 6: reading 5; true ")
        assert all(width > 0 and height > 0 for _, _, width, height in found["shapes"])
    narrow, wide = ([shape[2] for shape in told[width]["shapes"]] for width in ("320", "1200"))
    assert sum(wide) > 3 * sum(narrow)


def test_a_browser_ends_what_is_too_long_for_a_rectangle_with_dots_and_cuts_nothing(tmp_path: Path) -> None:
    """In narrow windows labels ended in the middle of a letter."""
    clock = ManualClock()
    with worlddb.open(tmp_path / "store", clock=clock, author="somebody-with-a-long-name") as db:
        ref = db.create("Fact", "A job", content="lead of engineering and of all that has to do with it").ref
        for year in range(2020, 2026):
            clock.advance(DAY)
            db.revise(ref, content=f"another position, as of {year}, with more to do", valid_from=f"{year}-07-01")
    told = seen_in_browser(page_of(tmp_path / "store", ref, valid="2025-08-01"), tmp_path, (320, 400, 700, 1200))
    assert told["320"]["shortened"] > 0
    for width, found in told.items():
        assert (found["cut"], found["crowded"], found["unmarked"]) == ([], [], 0), width
        assert found["overflow"] == 0 and found["room"], width


@pytest.mark.parametrize("name", ["one", f"{ARABIC} {CHINESE}", "Name" * 200], ids=["one", "scripts", "long"])
def test_a_browser_fits_any_name_into_a_narrow_window(name: str, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        ref = db.create("Entity", name, content=name, valid_from="2024-01-01").ref
        if name != "one":
            db.revise(ref, content=f"{name} & <b>{name}</b>", valid_from="2025-01-01")
    (found,) = seen_in_browser(page_of(tmp_path / "store", ref), tmp_path, (320,)).values()
    assert found["overflow"] == 0 and found["heading"] == name
    assert (found["cut"], found["crowded"], found["unmarked"], found["room"]) == ([], [], 0, True)
    assert found["said"][0].startswith(f"Version 1: {name[:80]}")
