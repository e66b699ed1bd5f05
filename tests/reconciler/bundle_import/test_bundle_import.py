"""Imports a bundle once: the same hashes and answers, whatever is there already."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.bundling import SampleRefs, build_sample_store, hashed, proposals_inside, visible_state
from tests.support.model.stores import day, new_store, refusal
from worlddb import Database, ManualClock, SeededEntropy

ALL_OF_TIME = day(10_000)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SampleRefs]:
    folder = tmp_path_factory.mktemp("bundle")
    told = build_sample_store(folder / "store")
    with worlddb.open(folder / "store") as db:
        db.export(told.team, folder / "team.bundle")
    return folder, told


def test_a_world_arrives_with_its_hashes_its_history_and_where_it_came_from(sample, tmp_path):
    folder, told = sample
    with worlddb.open(folder / "store") as source, new_store() as db:
        receipt = db.import_bundle(folder / "team.bundle", why="a move")
        assert receipt.ref == told.team
        staged = proposals_inside(source, told.team)
        assert visible_state(db.view(valid=ALL_OF_TIME), told.team, staged) == visible_state(
            source.view(valid=ALL_OF_TIME), told.team, staged
        )
        assert db.head().seq == receipt.seq == 2
        sarah = db.view().history(told.sarah)[0]
        assert sarah.author == "tester"
        then = source.view().history(told.sarah)[0]
        assert sarah.source["page"] == 7
        assert sarah.source["imported"] == {
            "store": source.head().store_id,
            "seq": then.seq,
            "ingested_at": worlddb.format_time(then.ingested_at),
            "author": "agent-7",
        }
        assert db.view(valid=ALL_OF_TIME).recall("VP 東京", exact=True).hits[0].ref == told.sarah
        assert db.view(valid=ALL_OF_TIME).recall("VP 東京").hits[0].ref == told.sarah
        again = db.export(told.team, tmp_path / "again.bundle")
        assert again.world_hash == worlddb.check_bundle(folder / "team.bundle").world_hash
        replayed = db.replay(tmp_path / "replayed")
        assert replayed.matches_recorded
        event = next(entry for entry in db.log() if entry.event == "imported")
        assert (event.why, event.data["world"], event.data["seq"]) == ("a move", told.team, source.head().seq)
        assert next(db.log(ref=told.inner)).event == "created"


def test_the_same_bundle_again_changes_nothing(sample):
    folder, told = sample
    with new_store() as db:
        first = db.import_bundle(folder / "team.bundle", idempotency_key="move")
        for key in (None, "another"):
            again = db.import_bundle(folder / "team.bundle", idempotency_key=key)
            assert (again.events, again.seq, again.ref) == (0, first.seq, told.team)
        assert db.import_bundle(folder / "team.bundle", idempotency_key="move") == first
        with pytest.raises(worlddb.IdempotencyConflict):
            db.create("Note", "other", idempotency_key="move")
        with pytest.raises(worlddb.IdempotencyConflict):
            db.import_bundle(folder / "team.bundle", into=told.team, idempotency_key="move")


def test_a_bundle_goes_where_it_is_told_to_and_stays_where_it_is_if_it_is_not_told(sample):
    folder, told = sample
    with new_store() as db:
        shelf, other = (db.create("Shelf", name).ref for name in ("one", "two"))
        db.import_bundle(folder / "team.bundle", into=shelf)
        assert db.view().containers(told.team) == [shelf]
        assert db.import_bundle(folder / "team.bundle", into=shelf).events == 0
        assert db.import_bundle(folder / "team.bundle").events == 0
        db.import_bundle(folder / "team.bundle", into=other)
        assert db.view().containers(told.team) == [shelf, other]
        for inside in (told.team, told.inner, told.sarah):
            assert refusal(db.import_bundle(folder / "team.bundle", into=inside)) == "containment_cycle"
        with pytest.raises(worlddb.UnknownReference):
            db.import_bundle(folder / "team.bundle", into="ffff")


def test_what_lies_outside_is_known_by_reference_until_it_comes(sample, tmp_path):
    folder, told = sample
    with worlddb.open(folder / "store") as source, new_store() as db:
        source.export(told.outer, tmp_path / "outer.bundle")
        shelf = db.create("Shelf", "shelf").ref
        receipt = db.import_bundle(folder / "team.bundle", into=shelf)
        assert [note.refs for note in receipt.notes if note.code == "known_by_reference"] == [(told.outer,)]
        stub = db.view().get(told.outer, include_superseded=True)
        assert stub is not None and (stub.erased, stub.content, stub.name) == (True, "", "")
        assert stub.version == source.view().history(told.outer)[0].version
        assert db.verify(deep=True).ok
        before = db.view()
        arrived = db.import_bundle(tmp_path / "outer.bundle", into=shelf)
        assert [note.refs for note in arrived.notes if note.code == "texts_arrived"] == [(told.outer,)]
        assert db.verify(deep=True).findings == ()
        found = db.view().get(told.outer)
        assert found is not None and (found.content, found.erased) == ("outside of it all", False)
        assert db.view().find(name="elsewhere") == [found]
        assert hashed(db, told.outer) == hashed(source, told.outer)
        assert [hit.ref for hit in db.view().recall("outside of it all")] == [told.outer]
        assert [hit.ref for hit in db.view().recall("outside of it all", exact=True)] == [told.outer]
        db.rebuild()
        assert [hit.ref for hit in db.view().recall("outside of it all")] == [told.outer]
        assert before.hash(told.outer) == hashed(db, told.outer)
        assert db.import_bundle(tmp_path / "outer.bundle", into=shelf).events == 0
        assert db.view().containers(told.outer) == [shelf]


def test_a_reference_leaves_its_place_when_the_world_comes_into_another(sample, tmp_path):
    folder, told = sample
    with worlddb.open(folder / "store") as source, new_store() as db:
        source.export(None, tmp_path / "all.bundle")
        db.import_bundle(folder / "team.bundle")
        root = source.export(None, tmp_path / "again.bundle").world
        db.import_bundle(tmp_path / "all.bundle")
        assert db.view().containers(told.outer) == [root]
        assert hashed(db, root) == source.head().root
        assert db.view().containers(told.team)[-1] == root


def test_a_later_bundle_adds_what_is_new(tmp_path):
    told = build_sample_store(tmp_path / "store", seed=9)
    with worlddb.open(tmp_path / "store", clock=ManualClock(day(60))) as source, new_store() as db:
        source.export(told.team, tmp_path / "one.bundle")
        db.import_bundle(tmp_path / "one.bundle")
        source.revise(told.sarah, content="CEO", valid_from=day(55))
        source.alias(told.sarah, "Boss")
        source.unalias(told.sarah, "Sarah")
        source.move(told.sarah, told.inner)
        source.undo(source.proposals(status="accepted")[0])
        [edge] = (
            source.view().edges(told.note, type="refers_to")[:1]
            or source.view(valid=day(20)).edges(told.note, type="refers_to")[:1]
        )
        source.unlink(edge)
        source.create("Note", "new", world=told.inner)
        source.retire(told.inner, at=day(58))
        source.export(told.team, tmp_path / "two.bundle")
        receipt = db.import_bundle(tmp_path / "two.bundle")
        assert receipt.events and not [note for note in receipt.notes if note.code == "knows_more"]
        assert hashed(db, told.team) == hashed(source, told.team)
        staged = proposals_inside(source, told.team)
        assert len(staged) == 2
        assert visible_state(db.view(valid=ALL_OF_TIME), told.team, staged) == visible_state(
            source.view(valid=ALL_OF_TIME), told.team, staged
        )
        older = db.import_bundle(tmp_path / "one.bundle")
        assert older.events == 0, "an older bundle of the same world has nothing new"


def test_an_identity_that_was_undone_after_an_end_had_left_the_world_is_undone_by_a_later_bundle(tmp_path):
    """The later bundle had the edge among the retracted and no proposal, and the edge was left for its decision."""
    with worlddb.open(tmp_path / "store") as source, new_store() as db:
        team = source.create("Topic", "team").ref
        ada = source.create("Entity", "Ada", world=team).ref
        countess = source.create("Entity", "Countess of Lovelace", world=team).ref
        proposal = source.link(ada, "same_as", countess, home=team).ref
        source.accept(proposal)
        source.export(team, tmp_path / "first.bundle")
        db.import_bundle(tmp_path / "first.bundle")
        assert countess in db.view().equivalence_class(ada)
        [membership] = source.view().edges(countess, type="contains")
        source.unlink(membership)
        source.undo(proposal)
        source.export(team, tmp_path / "second.bundle")
        db.import_bundle(tmp_path / "second.bundle")
        assert hashed(db, team) == hashed(source, team)
        assert countess not in db.view().equivalence_class(ada)
        assert [found.status for found in db.view().proposals(status=None)] == ["undone"]
        assert db.verify(deep=True).ok


def test_an_alias_that_was_given_twice_and_taken_back_is_taken_back_as_often(tmp_path):
    """A later bundle took back only the last of several aliases that are one name but for their case."""
    with worlddb.open(tmp_path / "store") as source, new_store() as db:
        ada = source.create("Entity", "Ada", aliases=["Lovelace", "Byron"]).ref
        source.alias(ada, "lovelace")
        source.export(ada, tmp_path / "first.bundle")
        db.import_bundle(tmp_path / "first.bundle")
        assert aliases_of(db, ada) == ("Lovelace", "Byron", "lovelace")
        source.unalias(ada, "LOVELACE")
        source.alias(ada, "Lovelace")
        source.export(ada, tmp_path / "second.bundle")
        db.import_bundle(tmp_path / "second.bundle")
        assert aliases_of(db, ada) == aliases_of(source, ada) == ("Byron", "Lovelace")
        assert db.verify(deep=True).ok


def aliases_of(db: Database, ref: str) -> tuple[str, ...]:
    shown = db.view().get(ref, include_superseded=True)
    assert shown is not None
    return shown.aliases


def test_a_bundle_that_contradicts_what_is_here_is_refused_with_the_list(tmp_path):
    told = build_sample_store(tmp_path / "store", seed=9)
    with worlddb.open(tmp_path / "store", clock=ManualClock(day(60))) as source, new_store() as db:
        source.export(told.team, tmp_path / "one.bundle")
        db.import_bundle(tmp_path / "one.bundle")
        source.revise(told.sarah, content="CEO")
        db.revise(told.sarah, content="gone fishing")
        source.revise(told.inner, content="there")
        db.revise(told.inner, content="here")
        source.export(told.team, tmp_path / "two.bundle")
        refused = db.import_bundle(tmp_path / "two.bundle")
        assert refusal(refused) == "bundle_conflict"
        assert isinstance(refused.outcome, worlddb.Refused)
        for told_of in (told.sarah[:12], told.inner[:12], "version 3"):
            assert told_of in refused.outcome.reason
        assert db.view().history(told.sarah)[-1].content == "gone fishing"


def test_what_this_store_knows_beside_a_bundle_stays_and_is_told(sample):
    folder, told = sample
    with new_store() as db:
        db.import_bundle(folder / "team.bundle")
        own = db.create("Note", "ours", world=told.inner).ref
        assert db.import_bundle(folder / "team.bundle").events == 0
        shelf = db.create("Shelf", "shelf").ref
        receipt = db.import_bundle(folder / "team.bundle", into=shelf)
        assert [note.code for note in receipt.notes] == ["knows_more"]
        assert own in {world.ref for world in db.view().find(world=told.team)}


def test_two_stores_that_turned_a_containment_round_cannot_be_put_together(tmp_path):
    clock = ManualClock(day(0))
    with worlddb.open(tmp_path / "a", clock=clock, entropy=SeededEntropy(1)) as source, new_store() as db:
        top = source.create("Box", "top").ref
        one = source.create("Box", "one", world=top).ref
        two = source.create("Box", "two", world=top).ref
        source.export(top, tmp_path / "one.bundle")
        db.import_bundle(tmp_path / "one.bundle")
        source.move(one, two)
        db.move(two, one)
        source.export(top, tmp_path / "two.bundle")
        refused = db.import_bundle(tmp_path / "two.bundle")
        assert refusal(refused) in ("containment_cycle", "bundle_conflict")
        assert db.view(valid=ALL_OF_TIME).containers(two) == [one]


def test_a_world_that_left_for_outside_of_the_bundle_is_adopted_by_the_root(tmp_path):
    with worlddb.open(tmp_path / "a", clock=ManualClock(), entropy=SeededEntropy(1)) as source, new_store() as db:
        top = source.create("Box", "top").ref
        one = source.create("Box", "one", world=top).ref
        source.export(top, tmp_path / "one.bundle")
        db.import_bundle(tmp_path / "one.bundle")
        source.move(one, source.create("Box", "elsewhere"))
        source.export(top, tmp_path / "two.bundle")
        receipt = db.import_bundle(tmp_path / "two.bundle")
        assert ("adopted_by_root", (one,)) in [(note.code, note.refs) for note in receipt.notes]
        assert hashed(db, top) == hashed(source, top)


def test_nothing_is_written_for_a_bundle_that_does_not_hold(sample, tmp_path):
    folder, _ = sample
    whole = (folder / "team.bundle").read_bytes()
    with new_store() as db:
        before = db.head()
        for cut in (0, 10, len(whole) // 2, len(whole) - 1):
            (tmp_path / "cut.bundle").write_bytes(whole[:cut])
            with pytest.raises(worlddb.InvalidBundle):
                db.import_bundle(tmp_path / "cut.bundle")
        assert db.head() == before
