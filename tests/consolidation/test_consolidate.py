"""Consolidation: summaries, the closure and the sweep, whatever comes between, and in whichever step it is killed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.running import LocalRunner
from worlddb import Consolidated, Database, InputError, LimitExceeded, ManualClock, Member, ModelUnavailable
from worlddb.log.model.times import MIN_TIME

NOW = 1_800_000_000_000_000
SECOND = 1_000_000
KILLS = 5


class Killed(BaseException):
    """The process is gone, as far as the store is concerned: nothing catches this."""


class Points:
    """Counts the places at which a run may be killed, and kills it at one of them."""

    def __init__(self, at: int | None = None) -> None:
        self.passed, self.at = 0, at

    def passing(self) -> bool:
        """Die here if it is the place; a run that asks whether to stop is told that it is not."""
        self.passed += 1
        if self.passed == self.at:
            raise Killed
        return False


class Ticking(ManualClock):
    """Stands still; each look at it is a place to be killed at."""

    def __init__(self, points: Points, start: int = NOW) -> None:
        super().__init__(start)
        self.points = points

    def now(self) -> int:
        self.points.passing()
        return self.value


class Drawn:
    """Randomness that follows from the commits that are there, so that a step done again draws what it drew."""

    def __init__(self, points: Points, seed: int = 0) -> None:
        self.points, self.seed, self.at, self.head = points, seed, 0, -1
        self.db: Database | None = None

    def bytes(self, count: int) -> bytes:
        self.points.passing()
        head = 0 if self.db is None else self.db._reader.head()
        self.at = 0 if head != self.head else self.at + 1
        self.head = head
        found = b""
        while len(found) < count:
            found += blake2b(repr((self.seed, head, self.at, len(found))).encode()).digest()
        return found[:count]


def opened(path: Path, points: Points) -> Database:
    drawn = Drawn(points)
    db = worlddb.open(path, author="ada", embedder=None, clock=Ticking(points), entropy=drawn)
    drawn.db = db
    return db


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="ada", embedder=None) as found:
        yield found


def topic(db: Database, facts: int = 3, name: str = "Porto", world: Any = None) -> tuple[str, list[str]]:
    made = db.create("Topic", name, world=world, valid_from="2026-01-01").ref
    texts = [f"On day {day} we saw bridge {day}." for day in range(facts)]
    return made, [db.create("Fact", "", content=text, world=made, valid_from="2026-01-02").ref for text in texts]


def short(db: Database, *topics: str, depth: int = 1) -> worlddb.Subgraph:
    return db.view().query(seeds=topics).traverse("contains", depth=depth).prefer_summaries().run()


def wrote(done: Consolidated) -> tuple[int, int, int, int, int]:
    return len(done.summaries), done.closed, done.retracted, done.conflicts, done.marked


# -- summaries


def test_a_world_gets_a_summary_of_its_own_sentences_that_leads_to_what_it_was_made_of(db: Database) -> None:
    trip, facts = topic(db)
    (made,) = db.consolidate(min_age=0).summaries
    summary = db.view().get(made)
    assert summary is not None and (summary.type, summary.author) == ("Summary", "worlddb.consolidate")
    assert summary.content.splitlines() == [f"2026-01-02: On day {day} we saw bridge {day}." for day in range(3)]
    assert summary.source == {"by": "worlddb.consolidate", "summarizer": "extractive/1"}
    assert [edge.target for edge in db.view().edges(made, type="derived_from", direction="out")] == facts
    assert db.view().containers(made) == [trip] and summary.properties["details"] == 3
    assert db.verify(deep=True).ok


def test_what_lies_beneath_a_summary_tells_of_conflicts_and_of_an_ended_world_in_every_read(db: Database) -> None:
    trip, facts = topic(db)
    db.consolidate(min_age=0)

    def read(times: int = 2) -> list[tuple[Any, ...]]:
        """The same by a second read, for which the first one may have kept what it found."""
        found = [[(db.view().get(fact), fact) for fact in facts] for _ in range(times)]
        told = [[(world.conflicts, world.in_ended) for world, _ in each if world is not None] for each in found]
        assert told[0] == told[1]
        return told[1]

    assert read() == [((), "")] * 3
    db.link(facts[0], "contradicts", facts[1])
    assert read() == [((facts[1],), ""), ((facts[0],), ""), ((), "")]
    db.retire(trip)
    assert [around for _, around in read()] == [trip] * 3


def test_a_summary_of_summaries_dates_each_sentence_once_and_is_proposed_as_nobody(db: Database) -> None:
    project = db.create("Project", "all", valid_from="2026-01-01").ref
    topic(db, 1, world=project)
    done = db.consolidate(min_age=0)
    told = [world.content for ref in done.summaries if (world := db.view().get(ref)) is not None]
    assert told == ["2026-01-02: On day 0 we saw bridge 0."] * 2 and done.proposals == ()


def test_a_second_run_writes_nothing_and_a_dry_one_leaves_the_root(db: Database) -> None:
    topic(db, name="one")
    trip, facts = topic(db, name="two")
    db.link(facts[0], "causes", facts[1])
    db.link(facts[1], "causes", facts[2])
    before = db.head()
    planned = db.consolidate(min_age=0, dry_run=True)
    assert db.head() == before and wrote(planned) == (2, 1, 0, 0, 0) and trip in planned.summaries
    assert wrote(db.consolidate(min_age=0)) == (2, 1, 0, 0, 0)
    before = db.head()
    again = db.consolidate(min_age=0)
    assert db.head() == before and (again.events, again.commits) == (0, 0)


def test_a_dry_run_counts_the_texts_that_would_get_vectors(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        topic(db, name="one")
        before = db.head()
        planned = db.consolidate(min_age=0, dry_run=True)
        assert planned.embedded and db.head() == before
        assert db.consolidate(min_age=0, sweep=False, dry_run=True).embedded == 0
        db.embed()
        assert db.consolidate(min_age=0, dry_run=True).embedded == 0
    with worlddb.open(tmp_path / "plain", embedder=None) as db:
        topic(db, name="one")
        assert db.consolidate(min_age=0, dry_run=True).embedded == 0


def test_only_worlds_of_an_age_inside_what_is_named_are_summed_up_and_so_many(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with worlddb.open(tmp_path / "store", embedder=None, clock=clock) as db:
        around = db.create("Project", "all").ref
        old, _ = topic(db, name="old", world=around)
        clock.advance(100 * SECOND)
        young, _ = topic(db, name="young")
        clock.advance(SECOND)
        assert db.consolidate(min_age=102, dry_run=True).summaries == ()
        assert set(db.consolidate(min_age=50, dry_run=True).summaries) == {old, around}
        assert db.consolidate(min_age=0, worlds=[young], dry_run=True).summaries == (young,)
        first = db.consolidate(min_age=0, limit=1)
        assert len(first.summaries) == 1 and first.left == 2
        assert len(db.consolidate(min_age=0).summaries) == 2


@pytest.mark.parametrize("change", ["add", "revise", "retire", "move", "in", "out", "hide", "deeper", "unlink"])
def test_whatever_changes_inside_makes_a_summary_stale_and_the_next_run_revises_it(db: Database, change: str) -> None:
    trip, facts = topic(db)
    day = db.create("Day", "first", world=trip, valid_from="2026-01-01").ref
    meal = db.create("Fact", "", content="We ate fish.", world=day, valid_from="2026-01-02").ref
    made = dict(zip(["day", "trip"], db.consolidate(min_age=0).summaries, strict=True))["trip"]
    assert short(db, trip).refs == (made,)
    match change:
        case "add":
            db.create("Fact", "", content="It rained.", world=trip, valid_from="2026-01-03")
        case "revise":
            db.revise(facts[0], content="We saw nothing.")
        case "retire":
            db.retire(facts[0])
        case "move":
            db.move(facts[0], db.create("Topic", "elsewhere").ref)
        case "in":
            db.move(facts[0], day)
        case "out":
            db.move(meal, trip)
        case "hide":
            db.deprecate(facts[0])
        case "deeper":
            db.retire(meal)
        case "unlink":
            other = db.create("Topic", "other", valid_from="2026-01-01").ref
            db.link(other, "contains", facts[0])
            (edge,) = [each for each in db.view().edges(facts[0], type="contains") if each.source == trip]
            db.unlink(edge)
    told = short(db, trip)
    assert made not in told.refs and "stale summaries left out" in told.stages[2].note
    hits = db.view().recall("bridge", prefer_summaries=True)
    assert made not in {hit.ref for hit in hits.hits} and "stale" in hits.note
    again = db.consolidate(min_age=0)
    assert made in again.summaries and short(db, trip).refs == (made,)
    assert len(db.view().history(made)) == 2
    assert db.consolidate(min_age=0).events == 0


def test_the_command_line_puts_summaries_in_the_place_of_hits_where_it_is_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = LocalRunner(capsys, tmp_path / "store")
    with worlddb.open(run.store, author="ada", embedder=None) as db:
        trip, facts = topic(db)
        db.consolidate(min_age=0)
        (made,) = short(db, trip).refs
        plain = [hit.ref for hit in db.view().recall("bridge", k=10)]
    assert [hit["ref"] for hit in run.json("recall", "bridge")["hits"]] == plain and set(facts) & set(plain)
    found = [hit["ref"] for hit in run.json("recall", "bridge", "--prefer-summaries")["hits"]]
    assert made in found and not set(facts) & set(found)


def test_a_summary_is_of_its_time_and_older_views_read_the_details(db: Database) -> None:
    trip, facts = topic(db)
    before = db.head()
    db.consolidate(min_age=0)
    then = db.view(valid="2026-02-01").query(seeds=trip).traverse("contains").prefer_summaries()
    assert set(then.run().refs) == set(facts)
    known = db.view(seq=before.seq).query(seeds=trip).traverse("contains").prefer_summaries()
    assert set(known.run().refs) == set(facts)


def test_an_erased_detail_takes_the_summary_with_it_and_the_next_is_of_what_is_left(db: Database) -> None:
    trip, facts = topic(db)
    (_made,) = db.consolidate(min_age=0).summaries
    db.erase(facts[1], reason="request 7")
    assert all(world.erased or world.type == "Fact" for world in short(db, trip).nodes)
    db.consolidate(min_age=0)
    (found,) = short(db, trip).nodes
    assert "bridge 1" not in found.content and "bridge 2" in found.content and db.consolidate(min_age=0).events == 0


@pytest.mark.parametrize("change", ["none", "retire", "move", "move around", "deprecate", "revise"])
def test_what_a_detail_said_is_erased_from_every_summary_that_ever_said_it(db: Database, change: str) -> None:
    user = db.create("Topic", "ana").ref
    trip = db.create("Topic", "zebra trip", world=user).ref
    hotel, facts = topic(db, name="hotel", world=trip)
    other, _ = topic(db, name="other", world=user)
    told = db.create("Fact", "", content="The zebra was in the garden.", world=hotel).ref
    db.consolidate(min_age=0)
    around = next(each.ref for each in db.view().find(name="Summary of ana"))
    assert {each.ref for each in db.view().impact(told).worlds} >= {around}
    assert {each.ref for each in db.view().withdrawal(told).rests_on_it} >= {around}
    match change:
        case "retire":
            db.retire(told)
        case "move":
            db.move(told, other, out_of=hotel)
        case "move around":
            db.move(hotel, other, out_of=trip)
        case "deprecate":
            db.deprecate(told)
        case "revise":
            db.revise(told, content="It was quiet.")
    db.consolidate(min_age=0)
    db.erase(told, reason="request 7")
    assert b"The zebra" not in b"".join(file.read_bytes() for file in db.path.rglob("*") if file.is_file())
    db.erase(trip, reason="request 8", members=False)
    assert b"zebra trip" not in b"".join(file.read_bytes() for file in db.path.rglob("*") if file.is_file())
    assert db.view().get(facts[0]) is not None and db.verify(deep=True).ok


def test_no_sentence_of_a_summary_ends_behind_a_short_form() -> None:
    """Each of these was cut in two behind "Dr." or "e.g.", by an expression of the summarizer's own."""
    told = "Dr. Silva sees her at 5 p.m. today. She likes fruit, e.g. pears."
    said = worlddb.ExtractiveSummarizer()(Member("w", "Topic", "w", "", 0), [Member("m", "Note", "", told, MIN_TIME)])
    assert said.splitlines() == ["Dr. Silva sees her at 5 p.m. today.", "She likes fruit, e.g. pears."]
    wide = [Member("m", "Note", "", "猫がいる。犬もいる。", MIN_TIME)]
    assert worlddb.ExtractiveSummarizer()(Member("w", "Topic", "w", "", 0), wide) == "猫がいる。\n犬もいる。"


def test_worlds_of_less_than_a_day_are_left_alone_if_no_age_is_given(db: Database) -> None:
    """The call without an age was a TypeError, while the command and the MCP tool take a day."""
    topic(db)
    assert db.consolidate().summaries == () != db.consolidate(min_age=0).summaries


def test_a_sentence_has_one_date_and_none_where_it_has_always_held(db: Database) -> None:
    around = db.create("Project", "all", valid_from="2026-01-01").ref
    kept = db.create("Space", "kept", content="It has always been.", world=around, valid_from="0001-01-01").ref
    topic(db, 1, world=kept)
    db.consolidate(min_age=0)
    told = [world.content.splitlines() for world in short(db, around).nodes]
    assert told == [["It has always been.", "2026-01-02: On day 0 we saw bridge 0."]]


def test_the_summary_of_what_was_emptied_ends_and_comes_back_as_one_that_was_retired_does(db: Database) -> None:
    trip, facts = topic(db, 1)
    (made,) = db.consolidate(min_age=0).summaries
    other = db.create("Topic", "elsewhere", valid_from="2026-01-01").ref
    db.move(facts[0], other)
    done = db.consolidate(min_age=0, worlds=[trip])
    assert (done.summaries, done.failed, done.left) == ((), (), 0) and db.view().get(made) is None
    assert db.consolidate(min_age=0, worlds=[trip]).events == 0
    db.move(facts[0], trip)
    for _ in range(2):
        assert db.consolidate(min_age=0, worlds=[trip]).summaries == (made,)
        assert short(db, trip).refs == (made,)
        db.retire(made)


# -- reading summaries first


def test_summaries_first_read_nothing_beneath_and_lead_to_the_same_leaves(db: Database) -> None:
    topics = [topic(db, 10, f"topic {number}") for number in range(4)]
    refs = [trip for trip, _ in topics]
    full = db.view().query(seeds=refs).traverse("contains").run()
    db.consolidate(min_age=0)
    short(db, *refs)
    told = short(db, *refs)
    assert {world.type for world in told.nodes} == {"Summary"} and len(told.nodes) == 4
    assert all(world.rests_on_more and not world.rests_on for world in told.nodes)
    assert told.records_read * 5 <= db.view().query(seeds=refs).traverse("contains").run().records_read
    reached = db.view().query(seeds=told.refs).traverse("derived_from").run()
    assert set(reached.refs) == set(full.refs)


def test_a_summary_that_came_with_a_bundle_hides_nothing_that_it_does_not_sum_up(tmp_path: Path, db: Database) -> None:
    trip, facts = topic(db)
    (made,) = db.consolidate(min_age=0).summaries
    db.export(trip, tmp_path / "trip.bundle")
    with worlddb.open(tmp_path / "other", embedder=None) as other:
        other.import_bundle(tmp_path / "trip.bundle")
        assert short(other, trip).refs == (made,)
        told = [*facts, other.create("Fact", "", content="On day 9 we left.", world=trip).ref]
        assert sorted(short(other, trip).refs) == sorted(told)
        (own,) = other.consolidate(min_age=0).summaries
        assert short(other, trip).refs == (own,)
        told.append(other.create("Fact", "", content="On day 10 we were back.", world=trip).ref)
        found = short(other, trip)
        assert sorted(found.refs) == sorted(told) and "2 stale summaries left out" in found.stages[2].note


def test_a_walk_inside_a_confined_view_is_cut_too_and_tells_nothing_from_outside(db: Database) -> None:
    around = db.create("Project", "all", valid_from="2026-01-01").ref
    trip, facts = topic(db, world=around)
    inner = dict(zip(["trip", "all"], db.consolidate(min_age=0).summaries, strict=True))["trip"]
    confined = db.view(world=around)
    assert confined.query(seeds=trip).traverse("contains").prefer_summaries().run().refs == (inner,)
    deeper = db.view(world=trip).query(seeds=facts).prefer_summaries().run()
    assert deeper.refs == (inner,)


def test_a_recall_gives_each_summary_once_for_all_that_it_sums_up(db: Database) -> None:
    _trip, _ = topic(db, 5)
    alone = db.create("Fact", "", content="A bridge by itself.").ref
    (made,) = db.consolidate(min_age=0).summaries
    found = db.view().recall("bridge", k=3, prefer_summaries=True)
    assert {hit.ref for hit in found.hits} == {made, alone} and "replaced by summaries" in found.note
    assert db.view().recall("bridge", k=3).note == ""
    with pytest.raises(InputError):
        db.view().recall("bridge", prefer_summaries=1)  # type: ignore[arg-type]


def test_what_is_kept_of_fresh_summaries_follows_every_change(db: Database, root_seed: int) -> None:
    draw = random.Random(root_seed)
    trips = [topic(db, 4, f"trip {number}") for number in range(3)]
    refs, facts = [trip for trip, _ in trips], [fact for _, some in trips for fact in some]
    for _ in range(12):
        db.consolidate(min_age=0, worlds=[draw.choice(refs)], sweep=False)
        match draw.randrange(4):
            case 0:
                db.retire(draw.choice(facts))
            case 1:
                db.create("Fact", "", content=str(draw.random()), world=draw.choice(refs), valid_from="2026-01-02")
            case 2:
                db.reassert(draw.choice(facts)) if draw.random() < 0.5 else db.deprecate(draw.choice(facts))
            case _:
                pass
        warm = short(db, *refs)
        with worlddb.open(db.path, create=False, embedder=None) as other:
            assert short(other, *refs).refs == warm.refs


# -- a summarizer of somebody's


def test_a_summarizer_that_fails_loses_nothing_and_is_not_asked_forever(db: Database) -> None:
    trips = [topic(db, 2, f"trip {number}")[0] for number in range(6)]
    asked: list[str] = []

    def failing(world: Member, members: Sequence[Member], /) -> str:
        asked.append(world.ref)
        raise ModelUnavailable("it is down")

    done = db.consolidate(min_age=0, summarizer=failing)
    assert (done.summaries, done.left, len(asked)) == ((), 6, 3) and [ref for ref, _ in done.failed] == asked
    assert set(asked) <= set(trips) and all("it is down" in why for _, why in done.failed)

    def bounded(world: Member, members: Sequence[Member], /) -> str:
        if len(asked) >= 5:
            raise LimitExceeded("spent")
        asked.append(world.ref)
        return f"{world.name}: {len(members)}"

    done = db.consolidate(min_age=0, summarizer=bounded)
    assert (len(done.summaries), done.left) == (2, 4)
    made = db.view().get(done.summaries[0])
    assert made is not None and made.content == "trip 0: 2" and made.source["summarizer"] == "bounded"
    assert len(db.consolidate(min_age=0).summaries) == 4


def test_a_summary_that_is_too_long_to_keep_is_a_failure_of_its_world_alone(db: Database) -> None:
    for number in range(3):
        topic(db, 1, f"trip {number}")

    def wordy(world: Member, members: Sequence[Member], /) -> str:
        return "x" * (worlddb.MAX_CONTENT_BYTES + 1) if world.name == "trip 0" else f"{world.name}: {len(members)}"

    done = db.consolidate(min_age=0, summarizer=wordy)
    assert (len(done.summaries), done.left) == (2, 1)
    ((failed, why),) = done.failed
    world = db.view().get(failed)
    assert world is not None and world.name == "trip 0" and f"{worlddb.MAX_CONTENT_BYTES:,}" in why


def test_what_a_summarizer_said_is_not_asked_again_by_a_replay_or_a_rebuild(db: Database, tmp_path: Path) -> None:
    _trip, _ = topic(db)
    (made,) = db.consolidate(min_age=0, summarizer=lambda world, members: "a model's words").summaries
    db.rebuild()
    assert db.replay(tmp_path / "again").matches_recorded
    with worlddb.open(tmp_path / "again", embedder=None) as again:
        found = again.view().get(made)
        assert found is not None and found.content == "a model's words"
    told = db.redecide()
    assert not told.differing and not told.undecidable


def test_others_write_while_a_summarizer_thinks_and_it_is_asked_of_what_is_there_then(db: Database) -> None:
    _trip, facts = topic(db)
    seen: list[int] = []

    def slow(world: Member, members: Sequence[Member], /) -> str:
        if not seen:
            db.revise(facts[0], content="We saw nothing.", valid_from="2026-01-02")
        seen.append(len(members))
        return " ".join(member.content for member in members)

    (made,) = db.consolidate(min_age=0, summarizer=slow).summaries
    found = db.view().get(made)
    assert found is not None and "We saw nothing." in found.content and len(seen) == 2


# -- the closure, beside a plain model


def drawn_graph(db: Database, draw: random.Random) -> list[str]:
    world = db.create("Topic", "all", valid_from="2000-01-01").ref
    nodes = [db.create("Event", str(at), world=world, valid_from="2000-01-01").ref for at in range(6)]
    for _ in range(draw.randrange(4, 11)):
        one, other = sorted(draw.sample(range(6), 2))
        start = draw.randrange(6)
        end = draw.choice([None, draw.randrange(start + 1, 8)])
        db.link(nodes[one], "causes", nodes[other], valid_from=start, valid_to=end)
    return nodes


def holding(db: Database, nodes: list[str], at: int) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The pairs that stated edges, and inferred ones, join at a time."""
    view = db.view(valid=at)
    found = [edge for node in nodes for edge in view.edges(node, type="causes", direction="out")]
    stated = {(edge.source, edge.target) for edge in found if not edge.properties.get("inferred")}
    inferred = [(edge.source, edge.target) for edge in found if edge.properties.get("inferred")]
    assert len(inferred) == len(set(inferred)), "one edge stands for two ends at a time"
    for edge in found:
        for part in edge.properties.get("via", ()):
            assert view.edge(part).valid.start <= at < view.edge(part).valid.end, "each part holds"
    return stated, set(inferred)


def closed(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """What follows from pairs by one step after another, and is not among them."""
    found = set(pairs)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found - pairs


def check_closure(folder: Path, seed: int) -> None:
    draw = random.Random(seed)
    with worlddb.open(folder, embedder=None) as db:
        nodes = drawn_graph(db, draw)
        for _ in range(3):
            db.consolidate(min_age=0, sweep=False, close=("causes",))
            for at in range(9):
                stated, inferred = holding(db, nodes, at)
                assert inferred == closed(stated), f"seed {seed}, time {at}"
            assert db.consolidate(min_age=0, sweep=False, close=("causes",)).events == 0
            some = [edge for node in nodes for edge in db.view().edges(node, type="causes", direction="out")]
            for edge in draw.sample(some, min(len(some), 2)):
                if draw.random() < 0.5:
                    db.unlink(edge)
                else:
                    db.retire(edge, at=draw.randrange(8))


def test_the_closure_is_that_of_a_plain_model_at_every_time(tmp_path: Path, root_seed: int) -> None:
    for seed in range(root_seed, root_seed + 2):
        check_closure(tmp_path / str(seed), seed)


@pytest.mark.soak
def test_the_closure_is_that_of_a_plain_model_on_many_graphs(memory: Path, root_seed: int) -> None:
    for seed in range(root_seed, root_seed + 300):
        check_closure(memory / str(seed), seed)
        shutil.rmtree(memory / str(seed))


def test_an_inferred_edge_is_at_home_where_all_its_parts_are_seen(db: Database) -> None:
    around = db.create("Project", "all", valid_from="2026-01-01").ref
    (one, here), (_, there) = topic(db, 2, "one", around), topic(db, 2, "two", around)
    db.link(here[0], "causes", there[0])
    db.link(there[0], "causes", here[1])
    assert db.consolidate(min_age=0).closed == 1
    assert [edge.home for edge in db.view().edges(here[0], type="causes") if edge.properties] == [around]
    assert db.view(world=one).edges(here[0], type="causes") == []


# -- the sweep


def test_edges_that_were_there_before_their_type_became_functional_are_judged_once(db: Database) -> None:
    ana, porto, riga = (db.create("Entity", name, valid_from="2026-01-01").ref for name in ("Ana", "Porto", "Riga"))
    db.register("implies")
    for place in (porto, riga):
        db.link(ana, "implies", place, valid_from="2026-01-02")
    assert db.consolidate(min_age=0).conflicts == 0
    db.register("implies", functional=True)
    assert db.consolidate(min_age=0).conflicts == 1
    (conflict,) = db.view().conflicts(porto)
    assert conflict.properties == {"functional": "implies"} and db.consolidate(min_age=0).events == 0
    db.unlink(conflict)
    assert db.consolidate(min_age=0).conflicts == 0, "what somebody decided stands"


def test_what_rests_on_something_that_has_ended_is_labelled_until_it_is_not(db: Database) -> None:
    ground = db.create("Fact", "", content="The office is in Porto.", valid_from="2026-01-01").ref
    plan = db.create("Plan", "", content="Meet in Porto.", valid_from="2026-01-02").ref
    mine = db.create("Plan", "", content="Mine.", labels=["stale"]).ref
    db.link(plan, "derived_from", ground)
    db.retire(ground)
    assert db.consolidate(min_age=0).marked == 1
    assert {world.ref for world in db.view().find(label="stale")} == {plan, mine}
    assert db.consolidate(min_age=0).events == 0
    db.reassert(ground)
    db.revise(plan, content="Meet in Porto again.")
    assert db.consolidate(min_age=0).unmarked == 1
    assert {world.ref for world in db.view().find(label="stale")} == {mine}


# -- killed, stopped, twice at once


def filled(path: Path) -> None:
    """A store with something for every step to do."""
    with worlddb.open(path, author="ada", embedder=None, clock=ManualClock(NOW - 1_000 * SECOND)) as db:
        for number in range(3):
            trip, facts = topic(db, 3, f"trip {number}")
            db.create("Day", "first", world=trip, valid_from="2026-01-01")
            db.link(facts[0], "causes", facts[1])
            db.link(facts[1], "causes", facts[2])
        day = db.view().find(name="first")[0]
        db.create("Fact", "", content="We ate fish.", world=day, valid_from="2026-01-02")
        for name in ("Anna Petrova", "Anna Petrowa"):
            db.create("Person", name, content="A physicist.", valid_from="2026-01-01")
        ends = [db.create("Place", name, valid_from="2026-01-01").ref for name in ("Ana", "Porto", "Riga")]
        db.link(ends[0], "implies", ends[1], valid_from="2026-01-02")
        db.link(ends[0], "implies", ends[2], valid_from="2026-01-02")
        db.register("implies", functional=True)
        plan = db.create("Plan", "", content="Go.", valid_from="2026-01-02").ref
        db.link(plan, "derived_from", ends[1])
        db.retire(ends[1], at="2026-06-01")
        for text in (
            "The shop by the old bridge is full of maps.",
            "The shop by the old bridge is really full of maps.",
        ):
            db.create("Note", "", content=text, valid_from="2026-01-02")


def slept(path: Path, points: Points) -> tuple[int, str]:
    with opened(path, points) as db:
        done = db.consolidate(
            min_age=0,
            summarizer=Said(points),
            progress=lambda what, step, total: points.passing(),
            stopped=points.passing,
        )
        assert not done.busy
        head = db.head()
        return head.seq, head.root


class Said:
    """A model that may be killed too; what it says follows from what it is shown."""

    name = "said"

    def __init__(self, points: Points) -> None:
        self.points = points

    def __call__(self, world: Member, members: Sequence[Member], /) -> str:
        self.points.passing()
        return f"{world.name}: {', '.join(sorted(member.content or member.name for member in members))}"


def check_kills(folder: Path, kills: int, draw: random.Random) -> None:
    filled(folder / "made")
    shutil.copytree(folder / "made", folder / "whole")
    points = Points()
    expected = slept(folder / "whole", points)
    assert points.passed > 60, "the run was not trivial"
    with opened(folder / "whole", Points()) as db:
        assert db.consolidate(min_age=0, summarizer=Said(Points())).events == 0
        assert (db.head().seq, db.head().root) == expected and len(db.proposals()) == 2
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
    for number in range(3):
        topic(db, 2, f"trip {number}")
    told: list[str] = []
    done = db.consolidate(
        min_age=0,
        summarizer=lambda world, members: world.name,
        progress=lambda what, step, total: told.append(what),
        stopped=lambda: "summing up" in told,
    )
    assert done.stopped and (len(done.summaries), done.left) == (1, 2)
    assert len(db.consolidate(min_age=0).summaries) == 2


def test_one_process_at_a_time_does_it(db: Database) -> None:
    topic(db)
    inner: list[Consolidated] = []

    def asks(world: Member, members: Sequence[Member], /) -> str:
        with worlddb.open(db.path, create=False, embedder=None) as other:
            inner.append(other.consolidate(min_age=0))
        return "short"

    assert len(db.consolidate(min_age=0, summarizer=asks).summaries) == 1
    assert inner[0].busy and inner[0].events == 0


def test_a_handle_with_a_thread_consolidates_behind_its_writes(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        worlddb.open(tmp_path / "other", consolidate=0)
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        trip, _ = topic(db)
    with worlddb.open(tmp_path / "store", embedder=None, background=True, consolidate=0) as db:
        db.create("Fact", "", content="It rained.", world=trip, valid_from="2026-01-02")
        assert db.keep_up(wait_seconds=30) and db.background_error is None
        assert [world.type for world in short(db, trip).nodes] == ["Summary"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_age": -1},
        {"min_age": True},
        {"min_age": 0, "close": ["contains"]},
        {"min_age": 0, "close": "causes"},
        {"min_age": 0, "close": ["nope"]},
        {"min_age": 0, "worlds": []},
        {"min_age": 0, "summarizer": "model"},
        {"min_age": 0, "limit": 0},
        {"min_age": 0, "dry_run": 1},
    ],
)
def test_wrong_arguments_are_told_and_write_nothing(db: Database, wrong: dict[str, Any]) -> None:
    topic(db)
    before = db.head()
    with pytest.raises(worlddb.WorldDBError):
        db.consolidate(**wrong)
    assert db.head() == before


def test_types_that_are_declared_are_closed_and_those_that_were_once(db: Database) -> None:
    one, two, three = (db.create("Thing", name).ref for name in ("one", "two", "three"))
    db.define_relation("leads_to")
    assert db.consolidate(min_age=0, close=["leads_to"]).closed == 0
    for ends in ((one, two), (two, three)):
        db.link(ends[0], "leads_to", ends[1])
    db.unregister("leads_to")
    assert db.consolidate(min_age=0, close=["leads_to"], dry_run=True).closed == 1


# -- near-duplicates


def noted(db: Database, *texts: str, world: Any = None, type: str = "Note", name: str = "") -> list[str]:
    return [db.create(type, name, content=text, world=world, resolve=False).ref for text in texts]


def proposed(db: Database) -> set[tuple[str, str]]:
    return {(each.source, each.target) for each in db.proposals()}


LATE = "The night train to Porto left late because of the snow on the bridge."


def test_texts_without_names_that_say_nearly_the_same_are_proposed_once_and_never_merged(db: Database) -> None:
    trip = db.create("Topic", "trip").ref
    first, *others = noted(db, LATE, f"{LATE} Again.", LATE.replace("late", "very late"), LATE, world=trip)
    wanted = {(other, first) for other in others}
    planned = db.consolidate(min_age=0, dry_run=True)
    assert (set(planned.pairs), planned.proposals, proposed(db)) == (wanted, (), set())
    assert len(db.consolidate(min_age=0).proposals) == 3 and proposed(db) == wanted
    assert db.proposals()[0].evidence["lane"] == "words" and db.view().equivalence_class(first) == [first]
    said = {(each.source_name, each.target_name) for each in db.proposals()}
    assert (LATE, LATE) in said and all(len(name) <= 80 for pair in said for name in pair), (
        "who decides reads the texts"
    )
    assert {each.because for each in db.proposals()} >= {"texts that say nearly the same: 1 of 1 by their words"}
    assert db.consolidate(min_age=0).events == 0 and db.consolidate(min_age=0, dry_run=True).pairs == ()
    db.reject(db.proposals()[0])
    assert db.consolidate(min_age=0).proposals == (), "what was decided stays decided"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LATE, LATE.replace("Porto", "Lisbon")),
        (LATE, LATE.replace("left", "never left")),
        ("Ana lives in Porto.", "Ana lives in Lisbon."),
        ("In room 12 the projector stands on the left shelf.", "In room 13 the projector stands on the left shelf."),
        ("The shop by the old bridge closes at six.", "The shop by the old bridge closes at eight."),
        ("Greta likes the sea.", "Greta likes baking."),
    ],
)
def test_what_differs_in_a_name_a_number_or_a_denial_or_competes_is_no_near_duplicate(
    db: Database, one: str, other: str
) -> None:
    noted(db, one, other)
    assert db.consolidate(min_age=0).proposals == ()


def test_what_is_joined_named_or_placed_apart_is_no_near_duplicate(db: Database) -> None:
    ana, bo, trip = (db.create("Person", name).ref for name in ("Ana", "Bo", "trip"))
    tea = noted(db, *["She drinks tea in the morning hours."] * 2)
    for person, note in zip((ana, bo), tea, strict=True):
        db.link(note, "refers_to", person)
    one, other = noted(db, LATE, LATE, type="Claim")
    db.link(one, "contradicts", other)
    noted(db, LATE, type="Remark")
    noted(db, LATE, world=ana)
    noted(db, LATE, world=bo)
    noted(db, "We talked about the weather of the week.", "We talked about the weather of the week.", type="Turn")
    for name in ("morning", "evening"):
        noted(db, LATE, world=trip, name=name)
    db.fork(trip, "another way")
    assert db.consolidate(min_age=0).proposals == ()


class Meaning:
    """An embedder to which two texts mean nearly the same if they are about the train."""

    model, dimension = "about-trains/1", 2

    def mean(self) -> list[float]:
        return [0.0, 0.0]

    def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        return [[1.0, 0.1] if "train" in text or "sleeper" in text else [0.1, 1.0] for text in texts]


def test_what_is_said_in_other_words_is_found_by_meaning_beside_what_is_found_by_words(tmp_path: Path) -> None:
    far = "It took the sleeper hours to get over the icy river."
    with worlddb.open(tmp_path / "store", author="ada", embedder=Meaning()) as db:
        first, other, again = noted(db, LATE, far, LATE)
        noted(db, "Ana drinks tea.", "The sleeper on track 3 had a dining car.")
        done = db.consolidate(min_age=0)
        lanes = {(each.source, each.target): each.evidence["lane"] for each in db.proposals()}
        assert lanes == {(other, first): "meaning", (again, first): "words"} and len(done.proposals) == 2


def test_a_summary_read_by_itself_tells_what_has_ended_beneath_and_not_what_was_added(db: Database) -> None:
    trip, facts = topic(db)
    (made,) = db.consolidate(min_age=0).summaries

    def told() -> list[tuple[str, str]]:
        summary = db.view().get(made)
        assert summary is not None
        return [(each.ref, each.why) for each in summary.stale]

    noted(db, "The room had a view.", world=trip)
    assert told() == [] and short(db, trip).stages[2].note == "1 stale summaries left out"
    db.retire(facts[1])
    assert told() == [(facts[1], "ended")]
    db.consolidate(min_age=0)
    assert told() == []
