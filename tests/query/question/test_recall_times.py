"""Tests times in questions: which are understood, from when, and which only recognised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.model.stores import new_store
from tests.support.running import LocalRunner
from worlddb import Database, ManualClock
from worlddb.log.model.times import ALWAYS, FOREVER, MAX_TIME, MIN_TIME
from worlddb.projections.tables.reads import asof
from worlddb.query.question.question_dates import Span, begin_named, end_named, nearness, parse_times, told_days
from worlddb.query.reads import build


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", clock=ManualClock(worlddb.parse_time("2024-06-01T12:00:00Z"))) as opened:
        opened.create("Fact", "dog", content="My dog Rex is ill since the weekend", valid_from="2024-03-02")
        opened.create("Fact", "bank", content="Interest rates are rising again", valid_from="2024-04-02")
        opened.embed()
        yield opened


@pytest.mark.parametrize(
    ("text", "since"),
    [
        *(("Where do I work from October on?", "2025-10"), ("My rent is 990 euros from October on.", "2025-10")),
        *(("Starting from October, Ana works at Globex.", "2025-10"), ("Where do I live since October?", "2024-10")),
        *(("Where did I work from October on?", "2024-10"), ("I was ill from October on.", "2024-10")),
        *(("Who has been my boss from October on?", "2024-10"), ("Notes from October on", "2024-10")),
        ("Where do I live from October 2024 on?", "2024-10"),
    ],
)
def test_a_month_from_which_on_something_is_so_is_to_come_unless_it_was_so(text: str, since: str) -> None:
    """A plan that somebody said, or asked about, was read as of last year."""
    (time,) = parse_times(text, worlddb.parse_time("2025-03-10T09:00:00Z")).read
    assert worlddb.format_time(time.span.start)[:7] == since


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        *(("From October on I work at Initech.", True), ("I was told that from October on the fee is 20 euros.", True)),
        *(
            ("The landlord raised my rent to 990 euros from October on.", True),
            ("I worked there from October on.", False),
        ),
        *(("From October on I was ill.", False), ("I have had a new boss from January on.", False)),
    ],
)
def test_what_was_so_from_a_month_on_begins_at_no_time_to_come(text: str, begins: bool) -> None:
    assert (begin_named(text, worlddb.parse_time("2025-03-10T09:00:00Z")) is not None) == begins


DAY = 86_400_000_000
ASKED_AT = worlddb.parse_time("2023-05-30T22:36:00Z")


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What did I do yesterday?", "2023-05-29", "2023-05-30"),
        ("What did I buy two weeks ago?", "2023-05-13", "2023-05-20"),
        ("Which film did I see last month?", "2023-04-01", "2023-05-01"),
        ("What happened in March?", "2023-03-01", "2023-04-01"),
        ("What happened in July?", "2022-07-01", "2022-08-01"),
        ("Where was I on May 3rd, 2021?", "2021-05-03", "2021-05-04"),
        ("Where was I on 3 may?", "2023-05-03", "2023-05-04"),
        ("Where was I on march 3?", "2023-03-03", "2023-03-04"),
        ("Where was I 3rd may?", "2023-05-03", "2023-05-04"),
        ("Who called last Friday?", "2023-05-26", "2023-05-27"),
        ("What did I do last week?", "2023-05-22", "2023-05-29"),
        ("What did I do last year?", "2022-01-01", "2023-01-01"),
        ("What did we decide last quarter?", "2023-01-01", "2023-04-01"),
        ("What did we ship in Q3 2022?", "2022-07-01", "2022-10-01"),
        ("Where was I in March of last year?", "2022-03-01", "2022-04-01"),
        ("Where was I in March of 2021?", "2021-03-01", "2021-04-01"),
        ("Who came last night?", "2023-05-29", "2023-05-30"),
        ("Who came the day before yesterday?", "2023-05-28", "2023-05-29"),
        ("What did Maria share on 16 June, 2022?", "2022-06-16", "2022-06-17"),
        ("What did I buy three weeks and two days ago?", "2023-05-07", "2023-05-08"),
        ("What did I buy half a year ago?", "2022-08-31", "2023-02-27"),
        ("What did I buy a year and a half ago?", "2021-08-31", "2022-02-27"),
        ("What did I buy two and a half years ago?", "2020-08-30", "2021-02-26"),
        ("What did I buy twenty days ago?", "2023-05-10", "2023-05-11"),
        ("What did I buy a fortnight ago?", "2023-05-13", "2023-05-20"),
        ("What did I ride from July to October?", "2022-07-01", "2022-11-01"),
        ("What did I ride from November to February?", "2022-11-01", "2023-03-01"),
        ("What did I ride between March and May 2021?", "2021-03-01", "2021-06-01"),
        ("What did I ride between November 2020 and February?", "2020-11-01", "2021-03-01"),
        ("Where was I from 3 May to 10 May?", "2023-05-03", "2023-05-11"),
        ("Where was I between 2022-05-03 and 2022-06-01?", "2022-05-03", "2022-06-02"),
        ("What happened since January?", "2023-01-01", "2023-05-30"),
        ("What happened since 2021?", "2021-01-01", "2023-05-30"),
        ("What happened since last week?", "2023-05-22", "2023-05-30"),
        ("What happened since 3 May?", "2023-05-03", "2023-05-30"),
    ],
)
def test_a_time_in_words_is_understood_from_when_it_is_said(question: str, first: str, last: str) -> None:
    (found,) = parse_times(question, ASKED_AT).spans
    assert abs(found.start - worlddb.parse_time(first)) <= DAY
    assert abs(found.end - worlddb.parse_time(last)) <= DAY


@pytest.mark.parametrize(
    ("question", "asked", "first", "last"),
    [
        ("What held last spring?", "2023-05-30", "2022-03-01", "2022-06-01"),
        ("What held last spring?", "2023-06-01", "2023-03-01", "2023-06-01"),
        ("What held this spring?", "2023-05-30", "2023-03-01", "2023-06-01"),
        ("What held in spring?", "2023-05-30", "2023-03-01", "2023-06-01"),
        ("What held in the spring?", "2023-02-28", "2022-03-01", "2022-06-01"),
        ("Where were we in summer 2021?", "2023-05-30", "2021-06-01", "2021-09-01"),
        ("Where were we in the early fall of 2021?", "2023-05-30", "2021-09-01", "2021-12-01"),
        ("What did I plant in autumn of last year?", "2023-05-30", "2022-09-01", "2022-12-01"),
        ("What flooded this winter?", "2023-01-30", "2022-12-01", "2023-03-01"),
        ("What flooded this winter?", "2023-12-20", "2023-12-01", "2024-03-01"),
        ("What flooded last winter?", "2023-12-20", "2022-12-01", "2023-03-01"),
        ("What flooded in the winter of 2021?", "2023-12-20", "2021-12-01", "2022-03-01"),
    ],
)
def test_a_season_is_three_months_of_the_north(question: str, asked: str, first: str, last: str) -> None:
    found = parse_times(question, worlddb.parse_time(asked))
    assert found[:2] == ((Span(worlddb.parse_time(first), worlddb.parse_time(last)),), ())


@pytest.mark.parametrize(
    ("question", "unread"),
    [
        ("What did I do the week after Easter?", ("the week after Easter",)),
        ("What did I do two days before my birthday?", ("two days before my birthday",)),
        ("Who came at Christmas and on Halloween?", ("at Christmas", "on Halloween")),
        ("What did I do recently, and quite a while ago?", ("recently", "quite a while ago")),
        ("What did I paint forty years ago?", ("forty years ago",)),
        ("Where was I on February 31st?", ("February 31st",)),
        (
            "What is planned for next week, tomorrow, next Friday, and in two weeks' time?",
            (),
        ),
        ("What did he say in the nineties?", ("in the nineties",)),
        ("recently " * 9, ("recently",)),
        ("How many days before the trip did I pack, and how long ago?", ()),
        ("How many weeks ago did I begin?", ()),
        ("What did I do the day after yesterday?", ()),
        ("I bought a Christmas tree and a spring roll, and a week of rest", ()),
    ],
)
def test_words_that_name_a_time_without_being_understood_are_told(question: str, unread: tuple[str, ...]) -> None:
    assert parse_times(question, ASKED_AT).unresolved == unread


@pytest.mark.parametrize(
    "text",
    [
        "ago ",
        "the day before the ",
        "in march of 2022 ",
        "last spring ",
        "a",
        "next ",
        "the week after Easter ",
        "’s",
        "'",
    ],
)
def test_a_question_of_any_length_is_read_in_time_in_proportion_to_it(text: str) -> None:
    started = process_time()
    parse_times(text * (100_000 // len(text)), ASKED_AT)
    assert process_time() - started < 5


@pytest.mark.parametrize(
    ("question", "wish"), [("Wo wohnte Ana früher?", "früher"), ("Wer leitete das Team zuvor?", "zuvor")]
)
def test_what_asks_for_an_earlier_state_is_understood(db: Database, question: str, wish: str) -> None:
    """The note said that earlier versions are shown for it, and that it is no time and ignored."""
    found = db.view().recall(question)
    assert f'asks for change ("{wish}")' in found.note and (found.unread, "ignored" in found.note) == ((), False)


def test_an_answer_says_which_times_counted_and_which_did_not(db: Database) -> None:
    view = db.view()
    found = view.recall("What happened last spring?", asked="2024-12-01")
    assert found.times == (worlddb.Valid(worlddb.parse_time("2024-03-01"), worlddb.parse_time("2024-06-01")),)
    assert (found.unread, found.note) == (
        (),
        'read as times: "last spring" is from 2024-03-01 until 2024-06-01',
    )
    assert found.hits and all(hit.scores["when"] == pytest.approx(0.6) for hit in found)
    vague = view.recall("What happened the week after Easter, or last spring?", asked="2024-12-01")
    assert (len(vague.times), vague.unread) == (1, ("the week after Easter",))
    assert 'not understood as a time, and ignored: "the week after Easter"' in vague.note
    uncounted: list[dict[str, Any]] = [{"lanes": ["text"]}, {"lanes": ["vector"]}, {"fusion": "rrf"}]
    for options in uncounted:
        alone = view.recall("What happened to my dog last spring?", asked="2024-12-01", **options)
        assert alone.times == () and "the time in the question was ignored" in alone.note
    assert view.recall("What happened to my dog?", lanes=["text"]).note == ""


@pytest.mark.parametrize("question", ["Who is Sarah?", "in a while", "on February 31st", "last", "0 days", ""])
def test_no_time_in_words_is_no_time(question: str) -> None:
    assert parse_times(question, ASKED_AT).spans == ()


@given(st.text(max_size=200), st.integers(-(2**55), 2**55))
def test_whatever_is_asked_whenever_names_times_or_none(question: str, asked: int) -> None:
    for span in parse_times(f"{question} 999 years ago, last month, on june 31", asked).spans:
        assert span.start <= span.end


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(-(10**10), 10**10))
def test_nearness_is_one_inside_and_falls_outside(start: int, length: int, at: int) -> None:
    named = (Span(start, start + length),)
    assert 0 <= nearness(named, at) <= 1
    assert nearness(named, start) == 1
    assert nearness(named, start - 10**12) < nearness(named, start - 10**11) < 1
    assert nearness((), at) == 0


def test_what_begins_behind_a_day_to_come_is_found_by_after(db: Database) -> None:
    """ "After Friday" was told as unread, and "after next week" meant next week."""
    db.create("Fact", "work", content="Ana works in Porto", valid_from="2024-06-08")
    db.create("Fact", "work", content="Ana works in Lisbon", valid_from="2024-01-01", valid_to="2024-06-08")
    found = db.view().recall("where does Ana work after Friday?", k=1)
    assert [hit.content for hit in found] == ["Ana works in Porto"] and found.unread == ()
    assert '"after Friday" is from 2024-06-08 on' in found.note


def test_the_command_line_takes_when_a_question_is_asked_and_shows_what_it_is_ranked_by(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    run = LocalRunner(capsys, db.path)
    told = run.json("recall", "Who was ill in March?", "--asked", "2024-04-02")
    assert [span["from"][:7] for span in told["times"]] == ["2024-03"]
    earlier = run.json("recall", "Who was ill in March?", "--asked", "2024-02-02")
    assert [span["from"][:7] for span in earlier["times"]] == ["2023-03"]
    shown = run("recall", "Who was ill in March?", "--asked", "2024-04-02", "--explain").out
    assert "evidence" in shown and "when +0.200" in shown and "times in the question: 2024-03-01" in shown
    refused = run("recall", "Who was ill in March?", "--asked", "yesterday")
    assert refused.error == "invalid_time"


@pytest.fixture(scope="module")
def parcels() -> Iterator[Database]:
    """Twelve parcels that are alike on each of sixty days, told in a talk."""
    with new_store() as opened:
        for number in range(60):
            day = worlddb.format_time(worlddb.parse_time("2024-10-01") + number * DAY)[:10]
            turns = [
                {"speaker": "Ana", "text": f"The parcel for door {12 * number + door} came."} for door in range(12)
            ]
            opened.ingest(turns, conversation="c", session=day, at=day)
        opened.embed()
        yield opened


def days(found: worlddb.Recall) -> list[str]:
    return [worlddb.format_time(hit.valid.start)[:10] for hit in found]


@pytest.mark.parametrize("limits", [{}, {"exact": True}, {"world": "c"}, {"lanes": ["text", "entity"]}])
def test_all_of_a_day_that_a_question_names_are_found_among_hundreds_that_are_alike(
    parcels: Database, limits: dict[str, Any]
) -> None:
    found = parcels.view().recall("Which parcel did I mention on 10 November?", k=14, asked="2024-12-20", **limits)
    assert days(found)[:12] == ["2024-11-10"] * 12
    assert "near the time in the question" in found.hits[11].reason
    assert days(found)[12:] != ["2024-11-10"] * 2


@pytest.mark.parametrize("limit", ["MAX_DATED", "MAX_BEGINNINGS"])
def test_of_more_than_can_be_listed_or_looked_through_what_fits_is_found(
    limit: str, parcels: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asof, limit, 3)
    found = parcels.view().recall("Which parcel came in the last week of October?", k=12, asked="2024-12-20")
    assert all("2024-10-2" <= day < "2024-11" for day in days(found))


def test_what_is_told_of_a_day_after_it_was_asked_for_is_found_too(parcels: Database) -> None:
    asked: dict[str, Any] = {"k": 1, "asked": "2024-12-20"}
    parcels.view().recall("Which parcel did I mention on 12 November?", **asked)
    before = parcels.view()
    parcels.create("Note", "", content="The parcel of Noah was mentioned as lost", valid_from="2024-11-12")
    assert "Noah" in parcels.view().recall("Which parcel did I mention on 12 November?", **asked).hits[0].content
    assert "Noah" not in before.recall("Which parcel did I mention on 12 November?", **asked).hits[0].content


def test_whoever_sees_one_talk_finds_what_was_said_there_on_a_day(parcels: Database) -> None:
    inside = parcels.view(world=parcels.view().find(name="c")[0].ref)
    found = inside.recall("Which parcel did I mention on 10 November?", k=12, asked="2024-12-20")
    assert days(found) == ["2024-11-10"] * 12


PLANS = {
    "The circus is on 5 December.": "2026-12-05",
    "Mia has her flu shot with Dr. Nolte on 4 December at 15:00.": "2026-12-04",
    "School is closed on 18 December.": "2026-12-18",
    "Zahnarzt am 8.12.": "2026-12-08",
    "The chimney sweep comes next Thursday.": "2026-12-03",
    "Dan's wedding is on 6 June 2027.": "2027-06-06",
    "Mia's shoe size is 32.": "",
    "I was at the vet on Tuesday.": "",
}
"""What is told on Monday, 30 November 2026, and the day to come that it tells of."""


@pytest.fixture(scope="module", params=["told", "stated"])
def diary(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[worlddb.Memory]:
    """Plans among other notes; the days only in their texts, or only as their times."""
    clock = worlddb.ManualClock(worlddb.parse_time("2026-11-30T12:00:00Z"))
    with worlddb.open(tmp_path_factory.mktemp("diary") / "store", clock=clock) as opened:
        mem = worlddb.memory(opened, user="ana")
        for number in range(24):
            mem.add(f"Key {number} opens the {('shed', 'gate', 'attic')[number % 3]}.")
        for text, day in PLANS.items():
            if request.param == "told" or not day:
                told = mem.add(text).notes
                assert (f"Its text tells of {day}" in " ".join(told)) == bool(day)
            else:
                until = worlddb.parse_time(day) + DAY
                mem.add(re.sub(r" (?:on|am) \d.*| next Thursday", "", text), since=day, until=until)
        opened.embed()
        yield mem


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("what is on 4 December?", "flu"),
        ("anything on the 4th of December?", "flu"),
        ("what is on 2026-12-04?", "flu"),
        ("am I free on 5 December?", "circus"),
        ("what is planned for 8 December?", "Zahnarzt"),
        ("was ist am 8.12.?", "Zahnarzt"),
        ("was haben wir am Freitag?", "flu"),
        ("what is on Thursday?", "sweep"),
        ("¿qué hay el 18 de diciembre?", "School"),
        ("12月18日有什么安排？", "School"),
        ("what do we have on 6 June?", "wedding"),
        ("what will we have on 6 June?", "wedding"),
        ("when is the flu shot?", "flu"),
        ("who comes on 7 December?", ""),
        ("what is the capital of France on 4 December?", ""),
    ],
)
def test_what_is_on_a_day_comes_first_and_is_not_weak(diary: worlddb.Memory, question: str, words: str) -> None:
    found = diary.recall(question, k=3)
    assert found.weak == (not words) and words in found.hits[0].content


def test_a_profile_counts_what_is_still_to_begin(diary: worlddb.Memory) -> None:
    known = diary.profile()
    stated = sum(day > "" for day in PLANS.values()) if known.to_begin else 0
    assert known.to_begin == stated and ("Still to begin" in str(known)) == bool(stated)
    assert len(known.kinds["Fact"]) == 24 + len(PLANS) - stated


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("The party is on 5 December.", ["2026-12-05"]),
        ("It was on 5 November. The next is on 5 December.", ["2026-11-05", "2026-12-05"]),
        ("Der Elternabend ist am 8. Dezember, 19:30.", ["2026-12-08"]),
        ("La cita es mañana.", ["2026-12-01"]),
        ("hab zugesagt, start 1. januar", ["2027-01-01"]),
        ("We are away from 27 December to 2 January.", ["2026-12-27"]),
        ("He was born on 4 May 1990.", ["1990-05-04"]),
        ("The rent is due in December.", []),
        ("Version 2.12 has 30 pages.", []),
    ],
)
def test_the_days_of_a_text_are_those_that_it_tells_as_of_when_it_was_said(text: str, days: list[str]) -> None:
    told = told_days(text, worlddb.parse_time("2026-11-30T12:00:00Z"))
    assert [worlddb.format_time(day.start)[:10] for day in told] == days


@pytest.mark.parametrize("said", [ALWAYS, MIN_TIME - 1, MAX_TIME + 1, FOREVER])
def test_no_day_is_told_outside_of_the_calendar(said: int) -> None:
    """It raised an ``OverflowError``."""
    for text in ("From next week on the party is on 5 December.", "Der Elternabend ist am 8. Dezember."):
        assert told_days(text, said) == parse_times(text, said).spans == ()
        assert begin_named(text, said) is None


def test_the_days_of_a_text_are_read_once_and_anew_where_it_is_revised(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()

    def counted(text: str, said: int) -> tuple[Span, ...]:
        read.append(text)
        return told_days(text, said)

    monkeypatch.setattr("worlddb.query.recall.ranking.told_days", counted)
    with new_store(clock=worlddb.ManualClock(worlddb.parse_time("2026-11-30T12:00:00Z"))) as db:
        note = db.create("Note", "", content="The concert is on 12 December.").ref
        db.create("Note", "", content="The circus is on 5 December.")
        asked = [db.view().recall("what is on 5 December?").hits[0].content for _ in range(2)]
        assert asked == ["The circus is on 5 December."] * 2
        assert sorted(read) == ["The circus is on 5 December.", "The concert is on 12 December."]
        read.clear()
        db.revise(note, content="The concert is on 13 December.")
        db.view().recall("what is on 12 December?")
        assert read == ["The concert is on 13 December."]


def test_what_tells_of_another_day_is_not_of_the_day_on_which_it_was_said() -> None:
    with new_store(clock=worlddb.ManualClock(worlddb.parse_time("2026-11-30T12:00:00Z"))) as db:
        for text in ("The concert is on 12 December.", "The shop sells bread."):
            db.create("Note", "", content=text)
        db.embed()
        asked = {text: db.view().recall(text).hits for text in ("what is on today?", "what did I note today?")}
    when = [
        {hit.content: hit.scores.get("when", 0) for hit in hits}["The concert is on 12 December."]
        for hits in asked.values()
    ]
    assert when[0] < 0 < when[1]


@pytest.mark.parametrize(
    ("question", "is_told"),
    [
        ("what did I say yesterday?", True),
        ("what did I say on 18 November?", False),
        ("what is on 6 December?", True),
        ("what is on 5 December?", False),
        ("where did Ana live yesterday?", False),
        ("what did I buy before 20 November?", False),
        ("what did I buy?", False),
    ],
)
def test_where_nothing_found_is_of_the_time_a_note_says_so(question: str, is_told: bool) -> None:
    with new_store(clock=worlddb.ManualClock(worlddb.parse_time("2026-11-30T12:00:00Z"))) as opened:
        mem = worlddb.memory(opened, user="c", session="x")
        said = [("2026-11-18", "Had the flu shot today."), ("2026-11-20", "Bought a green bike.")]
        mem.add([{"role": "user", "content": text, "timestamp": f"{day}T08:00:00Z"} for day, text in said])
        mem.add("Ana lives in Porto.", since="2020-01-01")
        mem.add("The circus is on 5 December.")
        opened.embed()
        assert ("none of these is of the time" in mem.recall(question, k=3).note) == is_told


def test_what_is_so_every_year_is_not_advised_to_hold_on_its_next_day_alone(tmp_path: Path) -> None:
    clock = worlddb.ManualClock(worlddb.parse_time("2026-11-30T12:00:00Z"))
    with worlddb.open(tmp_path / "store", clock=clock, embedder=None) as opened:
        mem = worlddb.memory(opened, user="ana")
        for text in ("The birthday of Mia is on 5 December.", "Every year the market is on 12 December."):
            assert "since" not in " ".join(mem.add(text).notes)
        assert "since='2026-12-05'" in " ".join(mem.add("The circus is on 5 December.").notes)


def test_a_profile_counts_what_is_still_to_begin_without_a_second_look_at_what_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every memory was read twice, which was nearly half of the time of a profile."""
    with worlddb.open(tmp_path / "store", embedder=None) as opened:
        mem = worlddb.memory(opened, user="ana")
        refs = [mem.add(f"Key {number} opens the shed.").id for number in range(8)]
        mem.add("The circus is in town.", since="2061-12-05", until="2061-12-06")
        mem.forget(refs[0])
        whole, read = build.world_of, list[str]()

        def reading(snapshot: Any, node: int, *rest: Any, **more: Any) -> Any:
            made = whole(snapshot, node, *rest, **more)
            read.append(made.ref)
            return made

        monkeypatch.setattr(build, "world_of", reading)
        assert mem.profile().to_begin == 1
        assert [read.count(ref) for ref in refs] == [0, *[1] * 7]


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("Tia is on sick leave until 20 November 2026.", "2026-11-21"),
        ("Tia is away until Friday.", "2026-11-14"),
        ("Tia is on holiday from 10 November to 20 November 2026.", "2026-11-21"),
        ("The offer is valid through November 30.", "2026-12-01"),
        ("The pass expires on 20 November.", "2026-11-21"),
        ("Tia ist bis zum 20. November krank.", "2026-11-21"),
        ("Ana está de baja hasta el 20 de noviembre de 2026.", "2026-11-21"),
        ("Tia is on leave until the end of the month.", "2026-12-01"),
        ("Tia ist bis Ende des Monats im Urlaub.", "2026-12-01"),
        ("Tia está de vacaciones hasta fin de mes.", "2026-12-01"),
        ("Tia est en congé jusqu'à la fin du mois.", "2026-12-01"),
        ("Tia è in ferie fino alla fine del mese.", "2026-12-01"),
        ("Tia está de férias até o fim do mês.", "2026-12-01"),
        ("Тиа в отпуске до конца месяца.", "2026-12-01"),
        ("Tiaは11月末まで休みです。", "2026-12-01"),
        ("Tia休假到十一月底。", "2026-12-01"),
        ("Tia는 이번 달 말까지 휴가입니다.", "2026-12-01"),
        ("Tiaは金曜日までに書類を出します。", ""),
        ("Tia arbeitet von Montag bis Freitag.", ""),
        ("Tia trabaja desde casa hasta nuevo aviso.", ""),
        ("Tia was on leave until 20 November 2026.", ""),
        ("Tia lived in Rome until 2025.", ""),
        ("Tia works from Monday to Friday.", ""),
        ("Tia trains Monday until Friday.", ""),
        ("Tia trains every day until 20 November.", ""),
        ("The shop is open until 20:00.", ""),
        ("The report is due by 20 November.", ""),
        ("Tia pays from 20 to 30 euros.", ""),
        ("Tia keeps her receipts from 11 November to 20 November 2026.", ""),
        ("Tia has sales data from 11 November to 20 November.", ""),
        ("Tia is on leave until further notice.", ""),
    ],
)
def test_the_end_that_a_text_names_is_told_when_it_is_written_and_once_it_has_passed(text: str, until: str) -> None:
    said = worlddb.parse_time("2026-11-10")
    ends = end_named(text, said)
    assert ("" if ends is None else worlddb.format_time(ends)[:10]) == until
    with new_store(clock=ManualClock(said)) as db:
        mem = worlddb.memory(db, user="coach")
        notes = " ".join(mem.add(text, about="Tia", since="2026-11-10").notes)
        assert (f"give until='{until}'" in notes) == bool(until) and ("until=" in notes) == bool(until)


def test_what_ended_by_its_own_words_is_shown_with_a_word_on_that() -> None:
    clock = ManualClock(worlddb.parse_time("2026-11-10T09:00:00Z"))
    with new_store(clock=clock) as db:
        mem = worlddb.memory(db, user="coach")
        mem.add("Tia is on sick leave until 20 November 2026.", about="Tia", since="2026-11-10")
        stated = mem.add(
            "Ben is on sick leave until 20 November 2026.", about="Ben", since="2026-11-10", until="2027-01-01"
        )
        assert "until=" not in " ".join(stated.notes), "who gives an end knows better"
        question = "is Tia on sick leave?"
        for told in (mem.recall(question).note, mem.context(question), str(mem.profile())):
            assert "ended" not in told
        clock.advance(20 * DAY)
        assert "its text says that this has ended: 'Tia is on sick" in mem.recall(question).note
        assert "2026. [" in mem.context(question) and "(ended, as it says itself)" in mem.context(question)
        assert "(ended, as it says itself)" in str(mem.profile())
        assert "Ben" not in mem.recall("is Ben on sick leave?").note
        assert "ended" not in mem.recall("was Tia on sick leave on 12 November?").note
        assert "ended" not in mem.as_of("2026-11-12").recall(question).note


CHANGED = {
    "The CI timeout is 20 minutes.": ("The CI timeout is 30 minutes.", "what was the CI timeout"),
    "Anna owns the ledger.": ("Boris owns the ledger.", "who owned the ledger"),
    "The API runs version 3.1.": ("The API runs version 3.2.", "which version did the API run"),
    "The rent is 900 euros a month.": ("The rent is 950 euros a month.", "how much was the rent"),
    "Mara lives in Porto.": ("Mara lives in Faro.", "where did Mara live"),
    "The standup is at 9:30.": ("The standup is at 10:00.", "when was the standup"),
}
"""What has been so since 2025, by what is so since 4 November 2026, and what asks for either."""


@pytest.fixture(scope="module", params=["correct", "replaces", "until", "supersedes", "beside"])
def changed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[worlddb.Memory]:
    clock = worlddb.ManualClock(worlddb.parse_time("2026-11-20T12:00:00Z"))
    with worlddb.open(tmp_path_factory.mktemp("changed") / "store", clock=clock) as opened:
        mem, later = worlddb.memory(opened, user="ana"), "2026-11-04"
        for was, (now, _) in CHANGED.items():
            first = mem.add(was, since="2025-01-01", until=later if request.param == "until" else None).id
            if request.param == "correct":
                mem.correct(first, now, since=later)
            elif request.param == "replaces":
                mem.add(now, replaces=first, since=later)
            else:
                near = "supersede_same_subject" if request.param == "supersedes" else "note"
                mem.add(now, on_near=near, since=later)
        mem.add("The printer is on the third floor.", since="2025-03-01")
        opened.embed()
        yield mem


@pytest.mark.parametrize(
    ("when", "is_first"),
    [
        *((f"{word} 4 November", True) for word in ("before", "just before", "prior to", "until", "till", "up to")),
        *((f"{word} 2026-11-04", True) for word in ("earlier than", "up until", "before")),
        *((f"{word} October", True) for word in ("before", "until", "as of", "by", "in", "during", "at the end of")),
        *((f"as {word} 20 October", True) for word in ("of", "at")),
        *((words, True) for words in ("on 20 October", "last month", "a year ago", "between August and October")),
        *((f"{word} 10 November", False) for word in ("before", "prior to", "as of", "by", "on", "since", "after")),
    ],
)
def test_what_held_until_at_or_in_a_time_comes_first_however_it_was_changed(
    changed: worlddb.Memory, when: str, is_first: bool
) -> None:
    """Behind "before" and "as of", verbs of the past brought what is so now."""
    for was, (now, asks) in CHANGED.items():
        assert changed.recall(f"{asks} {when}?", k=3).hits[0].content == (was if is_first else now), asks


@pytest.mark.parametrize("when", ["before November", "until October", "as of 20 October"])
def test_a_question_in_the_present_about_a_time_that_is_over_asks_what_was(changed: worlddb.Memory, when: str) -> None:
    assert changed.recall(f"who owns the ledger {when}?", k=3).hits[0].content == "Anna owns the ledger."


@pytest.mark.parametrize("says", ["is on call", "has the pager", "is the incident commander", "does support duty"])
def test_of_a_rota_whoever_had_the_turn_at_the_time_comes_first(says: str) -> None:
    with new_store(clock=worlddb.ManualClock(worlddb.parse_time("2026-11-25T12:00:00Z"))) as opened:
        mem = worlddb.memory(opened, user="ana")
        mem.add(f"Ana {says}.", since="2026-10-12", until="2026-11-16")
        mem.add(f"Priya {says}.", since="2026-11-16", until="2026-11-23")
        mem.add(f"Tom {says}.", since="2026-11-23")
        opened.embed()
        verb, rest = says.split(" ", 1)
        asks = f"who {'did' if verb == 'does' else 'had' if verb == 'has' else 'was'} {rest}"
        for when, name in {
            "last week": "Priya",
            "on 18 November": "Priya",
            "before 20 November": "Priya",
            "until last week": "Ana",
            "last month": "Ana",
            "in October": "Ana",
            "yesterday": "Tom",
        }.items():
            assert mem.recall(f"{asks} {when}?", k=3).hits[0].content == f"{name} {says}.", when


def test_a_first_hit_that_began_later_is_told_beside_what_held_then() -> None:
    with new_store(clock=worlddb.ManualClock(worlddb.parse_time("2026-11-25T12:00:00Z"))) as opened:
        mem = worlddb.memory(opened, user="ana")
        mem.add("Priya and three colleagues from Porto were there.", since="2026-11-16", until="2026-11-23")
        mem.add("Tom is on call.", since="2026-11-23")
        found = mem.recall("who was on call last week?", k=3)
        assert found.hits[0].content == "Tom is on call."
        assert "the first hit begins after the time in the question: 'Tom is on call.'" in found.note


def test_what_is_near_a_statement_of_the_past_is_not_put_in_the_order_of_that_time() -> None:
    with new_store(clock=worlddb.ManualClock(worlddb.parse_time("2026-11-25T12:00:00Z"))) as opened:
        mem = worlddb.memory(opened, user="ana")
        mem.add("Priya was on call in October.", since="2026-10-01", until="2026-11-01")
        mem.add("Tom was on call in October and November.", since="2026-11-02")
        asked = mem.recall("Priya was on call in October?", k=3).hits[0].content
        said = mem.recall("Tom was on call in October.", k=3).hits[0].content
        assert (asked, said) == ("Priya was on call in October.", "Tom was on call in October and November.")
