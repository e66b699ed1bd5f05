"""A fork is the world a second time, and goes its own way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.bundling import interior_of
from tests.support.model.stores import refusal
from worlddb import Database, World
from worlddb.tools.mcp import catalogue
from worlddb.tools.mcp.session import Call, Session


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="planner", embedder=None) as opened:
        yield opened


def _seen(db: Database, ref: str) -> World:
    found = db.view().get(ref)
    assert found is not None
    return found


def _inside(db: Database, world: str) -> dict[str, str]:
    return {each.name: each.ref for each in db.view().find(world=world)}


def _said(db: Database, world: str) -> list[tuple[str, str]]:
    return sorted((each.name, each.content) for each in db.view().find(world=world))


def _edges(db: Database, world: str) -> list[tuple[str, str]]:
    view = db.view()
    return sorted(
        (edge.type, _seen(db, edge.target).name)
        for each in view.find(world=world)
        for edge in view.edges(each.ref)
        if edge.source == each.ref
    )


@pytest.fixture
def trip(db: Database) -> str:
    world = str(db.create("Trip", "Lisbon").ref)
    hotel = db.create("Plan", "hotel", content="By the sea.", world=world, aliases=["bed"]).ref
    flight = db.create("Plan", "flight", content="On Monday.", world=world, valid_from="2026-01-01").ref
    db.create("Plan", "seat", content="12A", world=flight)
    outside = db.create("City", "Porto").ref
    db.link(hotel, "causes", flight)
    db.link(hotel, "refers_to", outside)
    db.link(hotel, "derived_from", outside)
    db.revise(flight, content="On Tuesday.", valid_from="2026-03-01")
    db.pin(hotel)
    db.label(flight, "booked")
    return world


def test_a_fork_says_what_the_world_says_and_has_its_edges_and_marks(db: Database, trip: str) -> None:
    made = db.fork(trip, "Lisbon again")
    fork = made.ref
    assert [note.code for note in made.notes] == ["edges_not_forked"]
    assert _said(db, fork) == _said(db, trip)
    assert [each for each in _edges(db, trip) if each[0] != "derived_from"] == _edges(db, fork)
    there, here = _inside(db, trip), _inside(db, fork)
    assert not set(there.values()) & set(here.values())
    view = db.view(valid="2026-02-01")
    then = view.get(here["flight"])
    assert then is not None and then.content == "On Monday."
    assert _seen(db, here["hotel"]).pinned and _seen(db, here["flight"]).labels == ("booked",)
    assert _seen(db, here["hotel"]).aliases == ("bed",)
    assert db.view().reference_of("Lisbon again") == fork
    assert db.verify(deep=True).ok


def test_what_is_written_on_one_side_is_not_on_the_other(db: Database, trip: str) -> None:
    fork = db.fork(trip).ref
    before = _said(db, trip)
    db.revise(_inside(db, fork)["seat"], content="1A")
    db.create("Plan", "bus", world=fork)
    assert _said(db, trip) == before != _said(db, fork)


def test_a_view_tells_forks_as_it_knows_them_and_a_confined_one_only_what_it_sees(db: Database, trip: str) -> None:
    seq = db.head().seq
    fork = db.fork(trip, why="what if").ref
    told = db.view().forked_from(fork)
    assert told is not None and (told.of, told.as_of, told.inside) == (trip, seq, False)
    assert [each.ref for each in db.view().forks(trip)] == [fork]
    assert db.view(seq=seq).forks(trip) == []
    hotel = db.view().forked_from(_inside(db, fork)["hotel"])
    assert hotel is not None and (hotel.of, hotel.inside) == (_inside(db, trip)["hotel"], True)
    assert db.view().confined(fork).forked_from(fork) is None
    assert db.view().confined(trip).forks(trip) == []


def test_a_fork_of_the_past_has_what_was_known_then(db: Database, trip: str) -> None:
    seq, said = db.head().seq, _said(db, trip)
    db.revise(_inside(db, trip)["hotel"], content="Uphill.")
    db.create("Plan", "bus", world=trip)
    assert _said(db, db.fork(trip, seq=seq).ref) == said


def test_a_retry_under_a_key_makes_one_fork(db: Database, trip: str) -> None:
    one, other = (db.fork(trip, idempotency_key="k") for _ in range(2))
    assert one.ref == other.ref and len(db.view().forks(trip)) == 1


def test_the_root_is_not_forked_nor_a_world_into_itself(db: Database, trip: str) -> None:
    assert refusal(db.fork(None)) == "root_is_permanent"
    assert refusal(db.fork(trip, into=_inside(db, trip)["hotel"])) == "containment_cycle"


def test_a_rebuilt_store_has_the_same_forks(db: Database, trip: str) -> None:
    fork = db.fork(trip).ref
    db.revise(_inside(db, fork)["seat"], content="1A")
    db.create("Plan", "bus", world=fork)
    db.merge(fork)
    before = db.head().root, db.view().forks(trip), _said(db, trip)
    db.rebuild()
    assert (db.head().root, db.view().forks(trip), _said(db, trip)) == before
    assert db.merge(fork).changes == ()


def test_an_erasure_reaches_forks_of_forks_and_one_in_a_fork_only_that(db: Database, trip: str) -> None:
    fork = db.fork(trip).ref
    again = db.fork(fork).ref
    names = [_inside(db, each)["hotel"] for each in (trip, fork, again)]
    seats = [_inside(db, each)["seat"] for each in (trip, fork, again)]
    db.erase(names[0], reason="asked for")
    assert [_seen(db, each).erased for each in names] == [True, True, True]
    db.erase(seats[1], reason="asked for")
    assert [_seen(db, each).erased for each in seats] == [False, True, True]
    assert db.verify(deep=True).ok


def test_a_world_with_erased_texts_can_be_forked(db: Database, trip: str) -> None:
    db.erase(_inside(db, trip)["hotel"], reason="asked for")
    fork = db.fork(trip).ref
    assert [name for name, _ in _said(db, fork) if name] == ["flight", "seat"]
    assert db.verify(deep=True).ok


def test_a_backup_has_forks_and_merges(db: Database, trip: str, tmp_path: Path) -> None:
    fork = db.fork(trip).ref
    db.create("Plan", "bus", world=fork)
    db.merge(fork)
    db.backup(tmp_path / "copy")
    worlddb.restore(tmp_path / "copy", tmp_path / "restored")
    with worlddb.open(tmp_path / "restored", embedder=None) as other:
        assert other.view().forks(trip) == db.view().forks(trip)
        assert other.merge(fork).changes == ()


def test_forks_and_merges_stand_in_a_bundle_as_plain_worlds(db: Database, trip: str, tmp_path: Path) -> None:
    fork = db.fork(trip).ref
    db.export(fork, tmp_path / "fork.bundle")
    with worlddb.open(tmp_path / "other", embedder=None) as other:
        other.import_bundle(tmp_path / "fork.bundle", allow_outside=True)
        assert _said(other, fork) == _said(db, fork)
        assert other.view().forked_from(fork) is None


def test_nobody_proposes_that_a_fork_is_one_with_its_original(db: Database, trip: str) -> None:
    first, second = db.fork(trip).ref, db.fork(trip).ref
    db.fork(first)
    db.merge(second)
    assert db.recluster().proposals == ()


def test_a_fork_of_a_fork_of_a_past_commit_is_as_it_was(db: Database, trip: str) -> None:
    seq, was = db.view().seq, _said(db, trip)
    db.create("Plan", "boat", world=trip)
    fork = db.fork(trip, seq=seq).ref
    assert _said(db, fork) == was
    again = db.fork(fork).ref
    assert [name for name, _ in _said(db, again)] == [name for name, _ in was]
    assert db.verify(deep=True).ok


def test_a_name_means_the_world_before_its_forks(db: Database, trip: str) -> None:
    [inner] = [each.ref for each in db.view().find(world=trip)][:1]
    name = _seen(db, inner).name
    forks = [str(db.fork(trip, "what if").ref), str(db.fork(trip, "what else").ref)]
    forks.append(str(db.fork(forks[0]).ref))
    view = db.view()
    assert (view.reference_of("Lisbon"), view.reference_of(name)) == (trip, inner)
    assert view.reference_of("what else") == forks[1]
    assert view.reference_of("what if") == forks[0], "a fork of a fork has its names, too"
    assert view.confined(forks[1]).reference_of(name) in _inside(db, forks[1]).values()
    other = str(db.create("Trip", "Lisbon").ref)
    with pytest.raises(worlddb.AmbiguousReference) as refused:
        db.view().reference_of("Lisbon")
    assert refused.value.details["candidates"] == [trip, other]
    db.retire(trip)
    db.retire(other)
    with pytest.raises(worlddb.AmbiguousReference):
        db.view().reference_of("Lisbon")


def test_a_name_stands_for_a_world_that_has_ended_before_its_fork(db: Database, trip: str) -> None:
    """What was sent to the name of an ended world changed what goes on from it in a fork."""
    inner = db.view().find(world=trip)[0]
    fork = str(db.fork(trip, "what if").ref)
    db.retire(inner.ref)
    assert db.view().reference_of(inner.name) == inner.ref
    assert db.view().confined(fork).reference_of(inner.name) in _inside(db, fork).values()
    again = str(db.create("Plan", inner.name, resolve=False).ref)
    assert db.view().reference_of(inner.name) == again, "what holds comes before what has ended"


@pytest.mark.parametrize("exact", [False, True])
def test_what_is_tried_in_a_fork_is_recalled_only_there(db: Database, trip: str, exact: bool) -> None:
    """A recall showed what was only tried beside what is known, and all the rest of the fork a second time."""
    note = str(db.create("Plan", "dinner", content="Dinner by the river.", world=trip).ref)
    fork = str(db.fork(trip, "cheaper").ref)
    tried = _inside(db, fork)["dinner"]
    db.revise(tried, content="Dinner from a stall by the river.")
    new = str(db.create("Plan", "picnic", content="A picnic by the river.", world=fork).ref)

    def found(view: worlddb.View, **asked: Any) -> set[str]:
        return {hit.ref for hit in view.recall("dinner or picnic by the river", k=50, exact=exact, **asked)}

    view = db.view()
    assert note in found(view) and found(view).isdisjoint({tried, new, fork})
    assert found(view, type="Plan") == found(view.confined(trip), type="Plan")
    assert found(view, world=fork) >= {tried, new} and note not in found(view, world=fork)
    assert found(view, world=fork) == found(view.confined(fork))
    assert "forks" in view.recall("river", exact=exact).note and not view.recall("river", world=fork).note
    assert "fork" in view.why_not(tried, "dinner").reason
    assert [near.ref for near in view.near("Dinner by the river.")] == [note]
    elsewhere = str(db.create("Topic", "templates").ref)
    copy = str(db.fork(trip, "a trip as that was", into=elsewhere).ref)
    assert _inside(db, copy)["dinner"] in found(db.view(), world=elsewhere), "there it is what is known"
    db.link(elsewhere, "contains", new)
    assert new in found(db.view()), "it lies outside of the fork, too"
    db.merge(fork)
    assert found(db.view(), type="Plan").isdisjoint({tried})


def test_a_fork_that_went_on_alone_is_what_is_known(db: Database, trip: str) -> None:
    fork = str(db.fork(trip, "cheaper").ref)
    inside = set(_inside(db, fork).values())
    db.retire(trip)
    assert inside & {hit.ref for hit in db.view().recall("trip plan hotel flight", k=50)}


def test_what_is_tried_in_a_fork_is_listed_and_summed_up_only_there(db: Database) -> None:
    """``find``, a profile and a consolidation took what was only tried for what is known; recall did not."""
    travel = str(db.create("Topic", "travel").ref)
    trip = str(db.create("Trip", "Lisbon", world=travel).ref)
    dinner = str(db.create("Plan", "dinner", content="Dinner by the river.", world=trip).ref)
    db.pin(dinner)
    fork = str(db.fork(trip, "cheaper").ref)
    tried = _inside(db, fork)["dinner"]
    db.revise(tried, content="Dinner from a stall.")
    new = str(db.create("Plan", "picnic", content="A picnic in the park.", world=fork).ref)
    view = db.view()
    assert {each.ref for each in view.find()} == {travel, trip, dinner}
    assert {each.ref for each in view.find(world=travel)} == {trip, dinner}
    assert [each.ref for each in view.find(type="Plan", include_superseded=True)] == [dinner]
    assert [each.ref for each in view.find(name="dinner")] == [dinner]
    assert [each.ref for each in view.find(name="picnic")] == [new], "nothing else is called so"
    assert [each.ref for each in view.find(name="cheaper")] == [fork]
    assert {each.ref for each in view.find(world=fork)} == {tried, new}
    assert [each.ref for each in view.pinned()] == [dinner] and [each.ref for each in view.pinned(fork)] == [tried]

    done = db.consolidate(min_age=0)
    said = {_seen(db, ref).content for ref in done.summaries}
    assert len(done.summaries) == 2 and not any("stall" in text or "picnic" in text for text in said)
    assert db.consolidate(min_age=0).events == 0
    short = db.view().query(seeds=travel).traverse("contains").prefer_summaries().run()
    assert [world.type for world in short.nodes] == ["Summary"], "it is fresh, whatever is tried"
    db.create("Plan", "bus", content="A bus.", world=fork)
    assert db.consolidate(min_age=0).events == 0
    [own] = db.consolidate(min_age=0, worlds=[fork]).summaries
    assert "picnic" in _seen(db, own).content, "a fork that is named is summed up"
    db.retire(trip)
    assert len(db.consolidate(min_age=0).summaries) == 1, "it went on alone, and is what travel contains"


def test_a_profile_leaves_out_what_is_tried_in_a_fork(tmp_path: Path) -> None:
    with worlddb.memory(tmp_path / "memory", user="ana", embedder=None) as mem:
        mem.add("Ana lives in Lisbon.", about="Ana")
        [scope] = mem.db.view().find(name="user:ana")
        topic = mem.db.create("Topic", "moving", world=scope.ref).ref
        mem.db.create("Fact", "", content="Ana packs on Monday.", world=topic)
        fork = mem.db.fork(topic, "moving later").ref
        mem.pin(mem.db.create("Fact", "", content="Ana packs on Friday.", world=fork).ref)
        told = str(mem.profile())
        assert told.count("packs on Monday") == 1 and "Friday" not in told


def test_a_model_forks_amends_and_merges_by_tools(db: Database, trip: str) -> None:
    """A client of MCP could not try anything beside what is known."""
    [fork, forks, merge] = catalogue.tools_in_sets("forks")
    [amend] = [tool for tool in catalogue.tools_in_sets("core") if tool.name == "memory_amend"]
    session = Session(db)

    def call(tool: catalogue.Tool, on: Session = session, **given: Any) -> Any:
        return tool.run(on, tool.takes.parse(given), Call("test", tool.name))

    hotel = str(db.create("Plan", "bed", content="A room by the station.", world=trip).ref)
    begun = call(fork, id=trip, name="cheaper", why="tried")
    [inside] = [each for each in begun.inside if each.text == "A room by the station."]
    told = call(forks, id=trip)
    assert [(each.id, each.why, each.merged) for each in told.forks] == [(begun.id, "tried", False)]
    assert call(forks, id=begun.id).forked_from.of == trip and inside in call(forks, id=begun.id).inside
    call(amend, id=inside.id, text="A hostel.", valid_from="2026-01-01", replace_later=True)
    assert "A hostel." not in [hit.content for hit in db.view().recall("hostel or room?")]
    planned = call(merge, id=begun.id, plan=True)
    assert (planned.outcome, planned.seq) == ("planned", None)
    # What it says, and that it lies in the trip from then on.
    assert {(each.id, each.what) for each in planned.changes} == {(hotel, "say"), (trip, "member")}
    assert call(merge, id=begun.id).outcome == "merged"
    assert _seen(db, hotel).content == "A hostel." and call(merge, id=begun.id).outcome == "unchanged"
    other = str(db.create("Trip", "Rome").ref)
    with pytest.raises(worlddb.UnknownReference):
        call(merge, Session(db, other), id=begun.id)
    guest = call(fork, Session(db, trip), id=hotel, name="mine")
    assert db.view().containers(guest.id) == [trip]


def test_an_erasure_takes_no_text_of_the_other_where_a_world_and_its_fork_were_forked_or_imported_together(
    tmp_path: Path,
) -> None:
    """Both stood in one blob there: the other lost its text too, and the tables were not what the log says."""
    with (
        worlddb.open(tmp_path / "here", embedder=None) as db,
        worlddb.open(tmp_path / "there", embedder=None) as there,
    ):
        world = str(db.create("Topic", "world").ref)
        note = str(db.create("Note", "note", content="kept", aliases=["n"], world=world, resolve=False).ref)
        tried = str(db.fork(note, "tried").ref)
        whole = str(db.fork(world, "whole").ref)
        db.export(world, tmp_path / "world.bundle")
        there.import_bundle(tmp_path / "world.bundle")
        for store, within in ((db, world), (db, whole), (there, world)):
            store.erase(tried, reason="R-1")
            members = list(store.view().children(within, include_superseded=True))
            assert [(each.content, each.erased, "n" in each.aliases) for each in members] == [
                ("kept", False, True),
                ("", True, False),
            ]
            assert store.verify(deep=True).ok


@pytest.mark.parametrize("erased", ["the first", "the second"])
def test_of_a_world_and_its_fork_that_come_together_each_keeps_what_was_erased_in_the_other_alone(
    tmp_path: Path, erased: str
) -> None:
    """Their texts had one place in a bundle. The one that stood first in it had the say: the world lost its text in
    every copy, or what was erased in its fork was there again."""
    with (
        worlddb.open(tmp_path / "here", embedder=None) as db,
        worlddb.open(tmp_path / "there", embedder=None) as there,
    ):
        world = str(db.create("Topic", "world").ref)
        rooms = [str(db.create("Topic", name, world=world).ref) for name in ("red", "blue")]
        if erased == "the first":
            rooms.reverse()
        note = str(db.create("Note", "note", content="kept", aliases=["n"], world=rooms[0], resolve=False).ref)
        tried = str(db.fork(note, "tried", into=rooms[1]).ref)
        db.erase(tried, reason="R-1")
        whole = str(db.fork(world, "whole").ref)
        db.export(world, tmp_path / "world.bundle")
        assert there.import_bundle(tmp_path / "world.bundle")
        again = str(there.fork(world, "again").ref)
        for store, within in ((db, world), (db, whole), (there, world), (there, again)):
            found = [_seen(store, ref) for ref in interior_of(store.view(), within)]
            told = sorted((each.content, each.erased, "n" in each.aliases) for each in found if each.type != "Topic")
            assert told == [("", True, False), ("kept", False, True)]
            assert store.verify(deep=True).ok
        assert there.import_bundle(tmp_path / "world.bundle").events == 0
        assert worlddb.diff(tmp_path / "world.bundle", tmp_path / "there").worlds == ()
        done = there.merge(again)
        assert (done.changes, done.conflicts) == ((), ())
