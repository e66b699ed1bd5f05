"""What a world says when, what changed in a span, and what was learned of it since."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import worlddb
from worlddb import FOREVER, Changes, Database, ManualClock, Valid, format_time, parse_time
from worlddb.projections.tables.reads import asof
from worlddb.projections.tables.storage import timeline_rows
from worlddb.query.reads import build

MAY = ("2024-05-01", "2024-06-01")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(parse_time("2024-01-01"))


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="keeper", embedder=None, clock=clock) as store:
        yield store


def day(text: str) -> int:
    return parse_time(text)


def told(found: Changes) -> list[tuple[str, str | None, str | None]]:
    return [
        (
            format_time(each.at)[:10],
            None if each.before is None else each.before.content,
            None if each.after is None else each.after.content,
        )
        for each in found.happened
    ]


def test_spans_that_meet_and_say_the_same_are_one_period(db: Database) -> None:
    rate = db.create("Fact", "rate", content="150", valid_from="2024-01-01").ref
    db.revise(rate, content="150", valid_from="2024-03-01")
    db.revise(rate, content="190", valid_from="2024-06-01", valid_to="2024-07-01")
    db.retire(rate, valid_from="2024-08-01", valid_to="2024-09-01")
    found = db.view().coalesced(rate)
    assert [(each.valid, each.content, each.versions) for each in found] == [
        (Valid(day("2024-01-01"), day("2024-06-01")), "150", (1, 2)),
        (Valid(day("2024-06-01"), day("2024-07-01")), "190", (3,)),
        (Valid(day("2024-07-01"), day("2024-08-01")), "150", (2,)),
        (Valid(day("2024-09-01"), FOREVER), "150", (2,)),
    ]
    assert [each.versions for each in db.view(seq=3).coalesced(rate)] == [(1, 2)]


def test_what_changed_in_may_and_what_was_learned_of_may_since(db: Database, clock: ManualClock) -> None:
    rate = db.create("Fact", "rate", content="150", valid_from="2024-01-01").ref
    clock.advance(day("2024-05-10") - clock.now())
    db.revise(rate, content="190", valid_from="2024-05-10", why="announced")
    before = db.head().seq
    clock.advance(day("2024-07-01") - clock.now())
    late = db.revise(rate, content="175", valid_from="2024-05-05", why="found in the letter")
    db.retire(rate, valid_from="2024-05-20", valid_to="2024-05-22", why="shut")
    db.revise(rate, content="200", valid_from="2024-08-01")
    found = db.view().changes(rate, between=MAY)
    assert told(found) == [
        ("2024-05-05", "150", "175"),
        ("2024-05-10", "175", "190"),
        ("2024-05-20", "190", None),
        ("2024-05-22", None, "190"),
    ]
    assert [(each.seq, each.why) for each in found.happened] == [
        (late.seq, "found in the letter"),
        (late.seq, "found in the letter"),
        (late.seq + 1, "shut"),
        (late.seq + 1, "shut"),
    ]
    steps = [(step.seq, step.number, step.change, step.late) for step in found.learned]
    assert steps == [
        (late.seq, 1, "closed", False),
        (late.seq, 3, "written", True),
        (late.seq + 1, 2, "closed", False),
    ]
    assert {step.ref for step in found.learned} == {rate}
    then = db.view(seq=before).changes(rate, between=MAY)
    assert told(then) == [("2024-05-10", "150", "190")] and then.learned == ()


def test_changes_of_a_world_are_those_of_all_inside_and_of_nothing_else(db: Database) -> None:
    home = db.create("Topic", "home", valid_from="2024-01-01").ref
    inner = db.create("Fact", "", content="the roof", world=home, valid_from="2024-05-03").ref
    other = db.create("Fact", "", content="the yard", valid_from="2024-05-04", valid_to="2024-05-06").ref
    found = db.view().changes(world=home, between=MAY)
    assert [each.ref for each in found.happened] == [inner]
    everything = db.view().changes(between=MAY)
    assert [each.ref for each in everything.happened] == [inner, other, other]
    assert db.view(world=home, valid="2024-05-10").changes(between=MAY) == found
    with pytest.raises(worlddb.UnknownReference):
        db.view(world=home).changes(other, between=MAY)
    with pytest.raises(worlddb.InputError, match="Both ref and world"):
        db.view().changes(inner, world=home, between=MAY)


def test_a_world_that_is_younger_than_what_is_in_it_has_its_changes_all_the_same(
    db: Database, clock: ManualClock
) -> None:
    clock.advance(day("2024-09-01") - clock.now())
    team = db.create("Topic", "team").ref
    desk = db.create("Topic", "desk", world=team).ref
    rate = db.create("Fact", "", content="150", world=desk, valid_from="2024-01-01").ref
    db.revise(rate, content="190", valid_from="2024-05-10")
    left = db.create("Fact", "", content="theirs", valid_from="2024-05-02").ref
    for view in (db.view(), db.view(world=team)):
        assert told(view.changes(world=team, between=MAY)) == [("2024-05-10", "150", "190")]
        assert told(view.changes(world=desk, between=MAY)) == [("2024-05-10", "150", "190")]
    everything = db.view().changes(between=MAY)
    assert [each.ref for each in everything.happened] == [left, rate]


def test_what_changed_of_a_world_with_many_holes_is_found_in_few_looks(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change once looked through all commits, so that 800 holes took 17 seconds."""
    start, minute = day("2024-01-01"), 60_000_000
    gate = db.create("Fact", "gate", content="open", valid_from=start).ref
    with db.batch() as batch:
        for number in range(1, 61):
            batch.retire(gate, valid_from=start + number * minute, valid_to=start + number * minute + 1)
    for number in range(61, 91):
        db.retire(gate, valid_from=start + number * minute, valid_to=start + number * minute + 1)
    looked: list[str] = []

    def count(module: ModuleType, name: str) -> None:
        counted = getattr(module, name)

        def look(*args: Any) -> Any:
            looked.append(name)
            return counted(*args)

        monkeypatch.setattr(module, name, look)

    count(asof, "version_at")
    count(timeline_rows, "changes")
    count(build, "version")
    found = db.view().changes(gate, between=("2024-01-01", "2024-01-02"))
    assert len(found.happened) == 1 + 2 * 90 and len(looked) < 20
    assert {each.seq for each in found.happened[1:121]} == {batch.receipt.seq}


@pytest.mark.parametrize("seed", range(8))
def test_the_periods_are_what_views_of_each_time_say(db: Database, seed: int) -> None:
    """And what changes in a span is what differs between neighbouring times of it."""
    drawn = random.Random(seed)
    start = day("2024-01-01")
    second = 1_000_000
    ref = db.create("Fact", "", content="0", valid_from=start + 10 * second).ref
    for _ in range(25):
        at = start + drawn.randrange(40) * second
        until = at + drawn.randrange(1, 12) * second
        match drawn.randrange(3):
            case 0:
                db.revise(ref, content=str(drawn.randrange(3)), valid_from=at, valid_to=until)
            case 1:
                db.revise(ref, content=str(drawn.randrange(3)), valid_from=at)
            case _:
                db.retire(ref, valid_from=at, valid_to=until)
    for seq in (db.head().seq, db.head().seq // 2):
        times = [start + step * second for step in range(-1, 60)]
        said = [db.view(seq=seq, valid=at).get(ref) for at in times]
        texts = [None if world is None else world.content for world in said]
        view = db.view(seq=seq)
        periods = view.coalesced(ref)
        held = [next((each for each in periods if each.valid.start <= at < each.valid.end), None) for at in times]
        assert [None if each is None else each.content for each in held] == texts
        assert all(
            one.valid.end < other.valid.start or (one.valid.end == other.valid.start and one.content != other.content)
            for one, other in pairwise(periods)
        )
        found = view.changes(ref, between=(times[1], times[-1] + 1))
        changed = [
            (at, before, after)
            for at, before, after in zip(times[1:], texts, texts[1:], strict=False)
            if before != after
        ]
        assert [
            (each.at, each.before and each.before.content, each.after and each.after.content) for each in found.happened
        ] == changed
        for each in found.happened:
            assert each.seq <= seq
