"""Dream State: what it judges, what the guards let through, and that a run may be killed anywhere."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import worlddb
from tests.consolidation.test_consolidate import NOW, SECOND, Drawn, Killed, Points, Ticking
from tests.support.running import LocalRunner
from worlddb import (
    AssessedMemory,
    Assessment,
    Database,
    Decay,
    DreamSchedule,
    Dreamt,
    InputError,
    LimitExceeded,
    ManualClock,
)
from worlddb.query.claims.claim_relation import relation_of
from worlddb.reconciler.dream.dream_schedule import DreamAlarm

KILLS = 4


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="ada", embedder=None) as found:
        yield found


def facts(db: Database, *texts: str, world: Any = None) -> list[str]:
    days = enumerate(texts, 1)
    return [
        db.create("Fact", "", content=text, world=world, valid_from=f"2026-01-{day:02}", resolve=False).ref
        for day, text in days
    ]


def numbered(db: Database, count: int) -> list[str]:
    return facts(db, *(f"{word}: a note of its own kind" for word in WORDS[:count]))


WORDS = ("ash", "birch", "cedar", "elm", "fir", "holly", "larch", "maple", "oak", "pine", "rowan")


def condemning(*refs: str) -> Callable[[Sequence[AssessedMemory]], list[Assessment]]:
    """An assessor that recommends to deprecate some, or all; the sooner it was written, the less relevant."""

    def assess(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        return [
            Assessment(each.ref, (each.since % 10**15) / 10**15, not refs or each.ref in refs, "it is old")
            for each in memories
        ]

    return assess


def deprecated(db: Database) -> set[str]:
    return {world.ref for world in db.view().deprecated() if world.type != "Dreams"}


# -- the stand-in


def test_what_was_written_in_the_same_instant_is_judged_and_done_as_any_other(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None, clock=ManualClock(NOW)) as db:
        home = db.create("Topic", "home").ref
        for _ in range(2):
            db.create("Fact", "", content="The choir meets in the blue room of the school.", world=home, resolve=False)
        done = db.dream()
        assert done.assessed == 2 and len(done.deprecated) == 1 and not done.failed


def test_what_is_said_twice_replaced_or_rests_on_nothing_goes_and_the_rest_stays(db: Database) -> None:
    home = db.create("Topic", "home").ref
    lives, moved, stays, again, shorter, longer = facts(
        db,
        "Ana lives in Porto.",
        "Ana lives in Riga now.",
        "The meeting of the choir is on Tuesday at nine in the blue room of the school.",
        "The meeting of the choir is on Tuesday at nine in the blue room of the school.",
        "Bo plays the cello in the orchestra of the old town every week.",
        "Bo plays the cello in the orchestra of the old town hall every week.",
        world=home,
    )
    ground, plan = facts(db, "The bridge is open.", "Walk over the bridge.", world=home)
    db.link(plan, "derived_from", ground)
    db.retire(ground)
    done = db.dream(max_deprecation_ratio=0.9)
    assert set(done.deprecated) == {lives, stays, shorter, plan} == deprecated(db)
    assert {moved, again, longer} <= {world.ref for world in db.view().find(type="Fact")}
    assert (done.assessed, done.tripped, done.failed) == (7, False, ())
    whys = {each.ref: db.view().marks(each.ref)[-1].why for each in db.view().deprecated() if each.type == "Fact"}
    assert whys[lives].startswith(f"superseded: {moved}") and whys[stays] == f"duplicate: {again} says it, too"
    assert whys[plan].startswith("stale")
    assert db.verify(deep=True).ok


def test_both_sides_of_a_recorded_contradiction_stay_until_it_is_taken_back(db: Database) -> None:
    """The older side went since the later one replaces it by words, and the contradiction with it."""
    home = db.create("Topic", "home").ref
    porto, riga = facts(db, "Ana lives in Porto.", "Ana lives in Riga now.", world=home)
    db.link(porto, "relates_to", riga)
    edge = db.link(riga, "contradicts", porto).ref
    done = db.dream(max_deprecation_ratio=0.9)
    assert (done.assessed, done.deprecated) == (2, ()) and len(db.view(world=home).conflicts()) == 1
    db.unlink(edge)
    for ref in (porto, riga):
        db.restate(ref, source={"channel": "mail"})
    assert db.dream(max_deprecation_ratio=0.9).deprecated == (porto,)


def test_numbers_denials_turns_and_what_lies_elsewhere_are_no_duplicates(db: Database) -> None:
    here, there = db.create("Topic", "here").ref, db.create("Topic", "there").ref
    for number in (4, 5):
        db.create("Fact", "", content=f"In room {number} the projector stands on the left shelf.", world=here)
    db.create("Fact", "", content="On Sundays in the winter trains stop here for the hikers of the valley.", world=here)
    db.create(
        "Fact", "", content="On Sundays in the winter trains never stop here for the hikers of the valley.", world=here
    )
    for world in (here, there):
        db.create("Fact", "", content="The ferry leaves from the second pier of the harbour.", world=world)
        db.create("Turn", "", content="I said so before, and I say it again.", world=here, resolve=False)
    done = db.dream()
    assert done.deprecated == () and done.assessed == 8


def test_rules_with_numbers_of_their_own_stay_and_one_with_the_same_number_is_replaced(db: Database) -> None:
    """Each rule but the last was taken for what is so no more."""
    for number in range(5):
        db.create("Fact", f"Rule {number}", content=f"Rule {number}: answer within {number} hours.")
    assert db.dream(max_deprecation_ratio=0.9).deprecated == ()
    assert relation_of("Rule 3: answer within 3 hours.", "Rule 3: answer within 9 hours.") == "replacement"


# -- reports, cursors, and running twice


def test_a_report_tells_what_was_done_by_references_and_is_joined_to_what_it_judged(db: Database) -> None:
    one, other = facts(db, "The secret garden is behind the mill.", "The secret garden is behind the mill.")
    done = db.dream()
    report = db.view().get(done.report)
    assert report is not None and report.author == "worlddb.dream" and report.type == "DreamReport"
    assert f"`{one}`, relevance" in report.content and "duplicate" in report.content
    assert "garden" not in report.content and "# Dream 1" in report.content
    said = {edge.target: edge.properties for edge in db.view().edges(done.report, type="relates_to")}
    assert said.keys() == {one, other} or said.keys() == {other}
    (kept,) = (edge for edge in db.view().revealing(deprecated=True).edges(one, type="relates_to"))
    assert kept.properties["deprecate"] is True and kept.home == done.report
    db.create("Note", "another", content="The mill was sold.")
    assert db.dream().report != done.report
    (first, second) = db.view().find(type="DreamReport")
    assert first.ref == done.report and "# Dream 2" in second.content
    assert "Assessed:** 1 " in second.content


@pytest.mark.parametrize("exact", [False, True])
def test_a_report_is_no_answer_to_a_question_unless_reports_are_asked_for(db: Database, exact: bool) -> None:
    facts(db, "The mill was judged beautiful.", "The bridge was protected.", "The events were assessed.")
    report = db.dream().report
    question = "which events and memories were assessed, judged or protected, and what did it dream?"

    def found(**asked: Any) -> list[str]:
        return [hit.ref for hit in db.view().recall(question, k=20, exact=exact, **asked)]

    assert report not in found() and len(found()) == 3
    assert report not in found(include_superseded=True)
    assert found(type="DreamReport") == [report] and report in found(type=["Fact", "DreamReport"])
    assert "DreamReport" in db.view().why_not(report, question).reason


def test_a_second_run_writes_nothing_and_a_dry_one_leaves_the_root_and_tells_the_same(db: Database) -> None:
    facts(db, *["The same thing, said over and over again."] * 4)
    before = db.head()
    planned = db.dream(dry_run=True)
    assert db.head() == before and planned.dry_run and planned.report == ""
    done = db.dream()
    assert planned.deprecated == done.deprecated and len(done.deprecated) == 2 and done.tripped and planned.tripped
    before = db.head()
    again = db.dream()
    assert db.head() == before and (again.events, again.commits, again.report, again.assessed) == (0, 0, "", 0)
    assert db.dream(dry_run=True).assessed == 0


def test_what_was_held_back_is_judged_again_beside_what_is_new_or_by_another_share(db: Database) -> None:
    refs = numbered(db, 4)
    first = db.dream(condemning(*refs))
    assert len(first.deprecated) == 2 and set(first.held_back) == set(refs) - set(first.deprecated)
    assert db.dream(condemning(*refs)).events == 0
    (new,) = facts(db, "something new")
    second = db.dream(condemning(*refs))
    assert second.assessed == 3 and len(second.deprecated) == 1 and new not in second.deprecated
    third = db.dream(condemning(*refs), max_deprecation_ratio=0.9)
    assert third.assessed == 1 and third.deprecated == ()  # Nine tenths of one are none.


def test_what_others_do_to_a_memory_has_it_judged_again(db: Database) -> None:
    asked: list[str] = []

    def noting(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        asked.extend(each.ref for each in memories)
        return [Assessment(each.ref, 1.0) for each in memories]

    one, other, third, base = numbered(db, 4)
    db.link(third, "derived_from", base)
    db.dream(noting)
    for change, expected in (
        (lambda: db.revise(one, content="otherwise"), {one}),
        (lambda: db.link(one, "supports", other), {one, other}),
        (lambda: db.retire(base), {third}),
        (lambda: db.create("Empty", "no text"), set()),
    ):
        asked.clear()
        change()
        db.dream(noting)
        assert set(asked) == expected
    asked.clear()
    db.consolidate(min_age=0)
    assert db.dream(noting).events == 0 and not asked


# -- the guards


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("count", [1, 10])
def test_the_breaker_lets_a_share_go_the_least_relevant_first_and_trips_at_one_more(
    tmp_path: Path, ratio: float, count: int
) -> None:
    most = int(ratio * 10) * count // 10
    for condemned in {most, most + 1} - {count + 1}:
        with worlddb.open(tmp_path / str(condemned), embedder=None) as db:
            refs = numbered(db, count)
            done = db.dream(condemning(*refs[:condemned]) if condemned else quiet, max_deprecation_ratio=ratio)
            assert done.assessed == count and done.tripped == (condemned > most)
            assert done.deprecated == tuple(refs[:most][:condemned])
            assert done.held_back == tuple(refs[most:condemned]) and deprecated(db) == set(done.deprecated)


def quiet(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
    """Recommends nothing."""
    return [Assessment(each.ref, 1.0) for each in memories]


def test_a_breaker_that_halts_does_nothing_and_the_next_run_goes_on_without_asking(db: Database) -> None:
    refs = numbered(db, 6)
    done = db.dream(condemning(), halt=True)
    assert (done.tripped, done.halted, done.deprecated, done.report) == (True, True, (), "")
    assert deprecated(db) == set()
    before = db.head()

    def asked(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        raise AssertionError("what was said is kept")

    assert db.dream(asked, halt=True).halted and db.head() == before
    done = db.dream(asked, max_deprecation_ratio=0.9)
    assert done.deprecated == tuple(refs[:5]) and done.held_back == (refs[5],)


def test_what_is_pinned_or_published_is_not_even_judged_and_published_only_if_allowed(db: Database) -> None:
    pinned, published, once, plain = numbered(db, 4)
    db.pin(pinned)
    db.tag(published, "published")
    db.tag(once, "published")
    db.untag(once, "published")
    before = [db.view().history(ref) for ref in (pinned, published)]
    done = db.dream(condemning(), max_deprecation_ratio=0.9)
    assert (done.protected, done.assessed) == (2, 2) and deprecated(db) <= {once, plain}
    assert [db.view().history(ref) for ref in (pinned, published)] == before
    db.revise(published, content="and more")
    done = db.dream(condemning(published), max_deprecation_ratio=0.5, allow_published=True)
    report = db.view().get(done.report)
    assert done.deprecated == (published,) and report is not None and "not protected" in report.content
    db.revise(pinned, content="and more")
    assert db.dream(condemning(), allow_published=True).protected == 1


def test_a_pin_that_comes_while_somebody_judges_is_kept_and_stops_nothing_else(db: Database) -> None:
    refs = numbered(db, 4)

    def slow(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        db.pin(refs[0])
        db.revise(refs[1], content="another text")
        return condemning()(memories)

    done = db.dream(slow, max_deprecation_ratio=0.9)
    assert set(done.deprecated) == set(refs[2:]) == deprecated(db)


def test_suggestions_are_written_and_one_that_is_refused_stops_no_other(db: Database) -> None:
    one, other, kept = facts(db, "The pump is red.", "The pump was bought in May.", "Ask for the pump.")
    db.create("Elsewhere", "", content="A pump.", world=db.create("Topic", "far").ref)
    db.revise(one, properties={"colour": "red", "count": 2})
    db.link(one, "depends_on", other)
    db.pin(kept)
    aws = "AKIAQ3EGRTBX7ZKW4M5N"

    def enriching(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        by_ref = {each.ref: each for each in memories}
        assert {each.ref for each in by_ref[one].neighbours} == {other, kept}
        return [
            Assessment(
                each.ref,
                0.5,
                tags=("machines", aws) if each.ref == other else ("machines",),
                metadata={"topic": "pumps", "count": "many"} if each.ref == one else {},
                related=((other, "supports"), (kept, "supports"), (each.ref, "supports"), ("0" * 32, "supports"))
                if each.ref == one
                else ((one, "depends_on"),),
            )
            for each in memories
        ]

    done = db.dream(enriching)
    found = db.view().get(one)
    assert found is not None and found.properties == {"colour": "red", "count": 2, "topic": "pumps"}
    assert found.labels == ("machines",) and one in done.labelled and done.updated == (one,)
    assert {edge.target for edge in db.view().edges(one, type="supports")} == {other}
    assert {ref for ref, _ in done.failed} == {other} and done.related == (one,)
    assert all(aws not in why for _, why in done.failed)
    before = db.head()
    assert db.dream(enriching).events == 0 and db.head() == before


# -- assessors


def test_an_assessor_that_fails_loses_nothing_and_is_asked_of_the_rest_the_next_time(db: Database) -> None:
    refs = numbered(db, 6)
    asked: list[list[str]] = []

    def bounded(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        if len(asked) == 2:
            asked.append([])
            raise LimitExceeded("spent")
        asked.append([each.ref for each in memories])
        return [Assessment(each.ref, 0.5) for each in memories]

    done = db.dream(bounded, batch_size=2)
    assert (done.assessed, done.left, done.failed) == (4, 2, (("", "spent"),)) and done.report
    done = db.dream(bounded, batch_size=2)
    assert asked == [refs[:2], refs[2:4], [], refs[4:]] and (done.assessed, done.left) == (2, 0)
    assert db.dream(bounded).events == 0

    def failing(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        raise RuntimeError

    numbered(db, 2)
    before = db.head()
    done = db.dream(failing)
    assert (done.left, done.failed, db.head()) == (2, (("", "RuntimeError"),), before)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda each: Assessment(each.ref, 1.5),
        lambda each: Assessment(each.ref, float("nan")),
        lambda each: Assessment("0" * 32, 0.5),
        lambda each: Assessment(each.ref, 0.5, tags=("",)),
        lambda each: Assessment(each.ref, 0.5, related=((each.ref, "supersedes"),)),
        lambda each: "no assessment",
    ],
)
def test_what_is_no_assessment_is_told_and_written_nowhere(db: Database, wrong: Callable[[Any], Any]) -> None:
    numbered(db, 1)
    before = db.head()
    done = db.dream(lambda memories: [wrong(each) for each in memories])
    assert done.failed and db.head() == before


def test_what_was_said_is_not_asked_again_by_a_replay_and_goes_with_what_is_erased(
    db: Database, tmp_path: Path
) -> None:
    one, other = facts(db, "Mallory's number is on the fridge.", "A cat.")

    def telling(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        return [Assessment(each.ref, 0.1, True, f"it says {each.content}") for each in memories]

    done = db.dream(telling)
    assert db.replay(tmp_path / "again").matches_recorded
    told = db.redecide()
    assert not told.differing and not told.undecidable
    db.rebuild()
    db.erase(one, reason="request 7")
    stored = b"".join(path.read_bytes() for path in db.path.rglob("*") if path.is_file())
    assert b"on the fridge" not in stored and b"A cat" in stored
    db.revise(other, content="A cat again.")
    assert db.dream().report not in ("", done.report) and db.verify(deep=True).ok


# -- killed, stopped, twice at once


def slept(path: Path, points: Points) -> tuple[int, str]:
    drawn = Drawn(points)
    with worlddb.open(path, author="ada", embedder=None, clock=Ticking(points), entropy=drawn) as db:
        drawn.db = db

        def judging(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
            points.passing()
            refs = [each.ref for each in memories]
            return [
                Assessment(
                    each.ref,
                    round(0.1 + 0.001 * len(each.content), 6),
                    "note" in each.content,
                    "as it says",
                    ("seen",),
                    {"length": str(len(each.content))},
                    tuple((other.ref, "supports") for other in each.neighbours if other.ref in refs),
                )
                for each in memories
            ]

        done = db.dream(
            judging,
            batch_size=3,
            max_deprecation_ratio=0.5,
            progress=lambda *_: points.passing(),
            stopped=points.passing,
        )
        assert not done.busy
        return db.head().seq, db.head().root


def check_kills(folder: Path, kills: int, draw: random.Random) -> None:
    with worlddb.open(folder / "made", author="ada", embedder=None, clock=ManualClock(NOW - 1_000 * SECOND)) as db:
        refs = numbered(db, 7)
        facts(db, "A pump.", "A red pump.", "A red pump of steel.", world=db.create("Topic", "pumps").ref)
        db.pin(refs[0])
    shutil.copytree(folder / "made", folder / "whole")
    points = Points()
    expected = slept(folder / "whole", points)
    assert points.passed > 60, "the run was not trivial"
    assert slept(folder / "whole", Points()) == expected
    for _ in range(kills):
        at = draw.randrange(1, points.passed + 1)
        shutil.copytree(folder / "made", folder / "killed")
        with pytest.raises(Killed):
            slept(folder / "killed", Points(at))
        assert slept(folder / "killed", Points()) == expected, f"killed at point {at} of {points.passed}"
        shutil.rmtree(folder / "killed")


def test_a_run_killed_anywhere_is_ended_by_the_next_as_an_undisturbed_one(memory: Path, root_seed: int) -> None:
    check_kills(memory, KILLS, random.Random(root_seed))


@pytest.mark.soak
def test_runs_killed_at_five_hundred_points_are_ended_by_the_next(memory: Path, root_seed: int) -> None:
    check_kills(memory, 500, random.Random(root_seed))


def test_it_ends_between_steps_once_it_is_stopped_and_goes_on_where_it_was(db: Database) -> None:
    refs = numbered(db, 6)
    told: list[tuple[str, int, int]] = []
    done = db.dream(
        condemning(refs[0]), batch_size=2, progress=lambda *step: told.append(step), stopped=lambda: bool(told)
    )
    assert done.stopped and done.report == "" and told == [("judging", 2, 6)] and done.left == 4
    facts(db, "Something that came between.")
    done = db.dream(condemning(refs[0]), batch_size=2)
    assert done.deprecated == () and deprecated(db) == {refs[0]} and done.assessed == 1
    assert [world.name for world in db.view().find(type="DreamReport")] == ["Dream 1", "Dream 2"]


def test_one_process_at_a_time_does_it(db: Database) -> None:
    numbered(db, 1)
    inner: list[Dreamt] = []

    def asks(memories: Sequence[AssessedMemory], /) -> list[Assessment]:
        with worlddb.open(db.path, create=False, embedder=None) as other:
            inner.append(other.dream())
        return quiet(memories)

    assert db.dream(asks).assessed == 1 and inner[0].busy and inner[0].events == 0


def test_a_handle_with_a_thread_dreams_behind_its_writes_once_there_is_enough(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        worlddb.open(tmp_path / "other", dream=1)
    with worlddb.open(tmp_path / "store", embedder=None, background=True, dream=6) as db:
        for count in (1, 2, 3):
            facts(db, "The same thing, said over and over again.")
            assert db.keep_up(wait_seconds=30) and db.background_error is None
            assert len(deprecated(db)) == (1 if count == 3 else 0)


def test_a_schedule_says_when_a_thread_dreams_and_never_where_nothing_is_new() -> None:
    alarm = DreamAlarm(DreamSchedule(events=5, every=timedelta(seconds=100), idle=10), 0.0)

    def due(now: float, head: int) -> bool:
        return alarm.is_due(now, head, lambda seq: head - seq)

    assert not due(1.0, 4) and alarm.seconds_left(1.0) == 10
    assert due(2.0, 5), "there are five new events"
    alarm.ran(3.0, 7)
    assert not due(4.0, 8) and not due(13.9, 8) and due(14.0, 8), "nobody has written for ten seconds"
    alarm.ran(14.0, 9)
    assert not due(200.0, 9) and alarm.seconds_left(200.0) == 10, "nothing is new, but others may write"
    for at in range(10):
        assert not due(205.0 + at, 9)
    assert due(220.0, 10), "a hundred seconds are over"
    alarm.ran(220.0, 12)
    for at in range(1, 12):
        assert not DreamAlarm(DreamSchedule(every=100), 0.0).is_due(9.0 * at, at, lambda seq: 99)
    assert DreamAlarm(DreamSchedule(events=1), 0.0).seconds_left(5.0) is None


@pytest.mark.parametrize("schedule", [DreamSchedule(every=0.02), DreamSchedule(idle=0.02)])
def test_a_handle_with_a_schedule_dreams_without_being_asked_again(tmp_path: Path, schedule: DreamSchedule) -> None:
    with worlddb.open(tmp_path / "store", embedder=None, background=True, dream=schedule) as db:
        # As one commit: of one memory alone nothing is deprecated, and the thread may look in between.
        with db.batch() as tx:
            for _ in range(2):
                tx.create("Fact", "", content="The same thing, said over and over again.", resolve=False)
        for _ in range(100):
            if deprecated(db):
                break
            Event().wait(0.05)
        assert len(deprecated(db)) == 1 and db.background_error is None


@pytest.mark.parametrize(
    "wrong",
    [0, "daily", True, 1.5, DreamSchedule(), DreamSchedule(every=0), DreamSchedule(idle=timedelta(0))],
)
def test_a_schedule_that_is_wrong_is_an_error(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(InputError):
        worlddb.open(tmp_path / "store", background=True, dream=wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_deprecation_ratio": 0.09},
        {"max_deprecation_ratio": 0.91},
        {"max_deprecation_ratio": True},
        {"max_deprecation_ratio": float("nan")},
        {"max_deprecation_ratio": "0.5"},
        {"batch_size": 0},
        {"assessor": "model"},
        {"dry_run": 1},
        {"allow_published": "yes"},
        {"decay": 30},
        {"decay": Decay(half_life_days=0)},
        {"decay": Decay(cold=0.9)},
    ],
)
def test_wrong_arguments_are_told_and_write_nothing(db: Database, wrong: dict[str, Any]) -> None:
    numbered(db, 1)
    before = db.head()
    with pytest.raises(InputError):
        db.dream(**wrong)
    assert db.head() == before


def test_the_command_line_says_what_a_run_wrote_and_what_takes_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        one, *_ = facts(db, *["The same thing, said over and over again."] * 3)
    run = LocalRunner(capsys, tmp_path / "store")
    dry = run("dream", "--dry-run", "--max-ratio", "0.9")
    assert "nothing was written" in dry.out and "undo" not in dry.out
    told = run("dream", "--max-ratio", "0.9").out
    assert "written by 3 commits of worlddb.dream" in told and "deprecate REF --remove" in told
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        assert [world.ref for world in db.view().find(type="Fact")] != [one]
        last = db.head().seq
    refused = run("undo", "--commit", last).err
    assert "is the report of a dream" in refused, "it would have emptied the report, and told nobody"
    assert refused.partition("worlddb undo ")[2].strip("`\n") == told.partition("worlddb undo ")[2].strip()
    assert run("undo", *told.partition("worlddb undo ")[2].split()[:2]).code == 0
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        assert len(db.view().find(type="Fact")) == 3


def test_what_is_tried_in_a_fork_is_not_judged_and_puts_nothing_out_of_sight(db: Database) -> None:
    """A memory was deprecated as a repetition of its own copy in a fork, which no recall shows: it was gone."""
    home, *_ = facts(db, "Ana lives in Vienna.", *(f"{word}: a note of its own kind" for word in WORDS))
    fork = db.fork(home, "what if").ref
    other = db.create("Topic", "trip").ref
    (hotel,) = facts(db, "The hotel is near the station.", world=other)
    tried = db.fork(other, "what if").ref
    facts(db, "The hotel is near the station.", "The hostel is near the harbour.", world=tried)
    done = db.dream()
    assert done.assessed == len(WORDS) + 2 and done.deprecated == ()
    assert db.view().get(home) is not None and db.view().get(hotel) is not None and db.view().get(fork) is not None
    assert [hit.ref for hit in db.view().recall("where does Ana live?", k=1)] == [home]
    db.retire(home)
    assert db.dream().deprecated == () and db.view().get(fork) is not None


LONG = "In May Ana told the club by the river that {} the course with the grey boats and the two teachers from Graz."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ivo owes Eva 50 euros.", "Eva owes Ivo 50 euros."),
        (LONG.format("Ivo paid Eva for"), LONG.format("Eva paid Ivo for")),
        (LONG.format("she won"), LONG.format("she left")),
        (LONG.format("team A likes"), LONG.format("team B likes")),
    ],
)
def test_what_says_the_opposite_in_the_same_words_is_kept_and_not_proposed(db: Database, one: str, other: str) -> None:
    refs = facts(db, one, other)
    assert db.consolidate(min_age=0).proposals == () and db.dream(max_deprecation_ratio=0.9).deprecated == ()
    again = facts(db, other)
    assert set(db.dream(max_deprecation_ratio=0.9).deprecated) <= {refs[1], *again}
