"""Compares bundles with stores and bundles: what differs in their world, nothing else."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import worlddb
from tests.support.bundling import SampleRefs, build_sample_store, frames_of, write_frames
from tests.support.model import strategies as draw
from tests.support.model.session import Session
from tests.support.model.state import ROOT
from tests.support.model.stores import day, new_store
from tests.support.running import LocalRunner
from worlddb import InputError, ManualClock, SeededEntropy, UnknownReference
from worlddb.log.model import bundle as fr
from worlddb.log.model import codec
from worlddb.log.model.blobs import Body, Details
from worlddb.log.model.hashing import blob_id


@dataclass(frozen=True)
class Made:
    """A store, a bundle of its team, and the references in it."""

    store: Path
    bundle: Path
    told: SampleRefs


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("sides")
    told = build_sample_store(folder / "store")
    with worlddb.open(folder / "store") as db:
        db.export(told.team, folder / "team.bundle.zst")
    return Made(folder / "store", folder / "team.bundle.zst", told)


def test_a_store_and_its_bundle_are_equal_and_so_is_a_store_that_took_it_in(made: Made, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other", author="somebody else") as db:
        db.create("Note", "of its own")
        db.import_bundle(made.bundle, into=db.create("Archive", "Kept"))
    for sides in ((made.store, made.bundle), (made.bundle, made.store), (tmp_path / "other", made.bundle)):
        found = worlddb.diff(*sides)
        assert (found.equal, found.related, found.relation, found.worlds) == (True, True, "bundle", ())
        assert found.root_a == found.root_b == worlddb.check_bundle(made.bundle).world_hash
    assert worlddb.diff(made.bundle, made.bundle).equal


def test_what_a_store_did_since_is_told_by_its_log_as_between_two_of_its_moments(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.store, tmp_path / "store")
    with worlddb.open(tmp_path / "store", author="ann") as db:
        before = db.head().seq
        db.create("Note", "outside of it all")
        db.revise(made.told.sarah, content="CEO", valid_from=day(60), why="the board said so")
        db.alias(made.told.inner, "Nights")
        db.retire(db.create("Note", "new here", world=made.told.inner, valid_from=day(1)), at=day(9))
        (edge,) = (each for each in db.view().edges(made.told.inner, include_superseded=True) if each.type == "causes")
        db.retire(edge.ref, at=day(20), why="sooner")
    found = worlddb.diff(made.bundle, tmp_path / "store")
    expected = worlddb.diff(tmp_path / "store", world=made.told.team, seq_a=before)
    assert (found.parted, found.seq_a) == (before, before)
    assert [essence(change, within=True) for change in found.worlds] == [
        essence(change, within=True) for change in expected.worlds
    ]
    assert {change.change for change in found.worlds} == {"members", "revised", "added", "validity"}
    assert {event["author"] for change in found.worlds for event in change.events} == {"ann"}


def essence(change: worlddb.Change, *, within: bool) -> tuple[Any, ...]:
    """What is said of a world, with the last name of its path: a bundle has nothing above."""
    events = sorted((event["seq"], event["event"], event["why"]) for event in change.events) if within else []
    return change.ref, change.names[-1], change.change, sorted(map(repr, change.changes)), change.a, change.b, events


def test_two_bundles_are_compared_by_the_world_that_both_hold(made: Made, tmp_path: Path) -> None:
    with worlddb.open(made.store) as db:
        db.export(made.told.inner, tmp_path / "inner.bundle")
        db.export(made.told.outer, tmp_path / "outer.bundle")
        db.export(made.told.team, tmp_path / "then.bundle", seq=made_before_note(db, made.told))
        everything = tmp_path / "all.bundle"
        db.export(None, everything)
    assert worlddb.diff(made.bundle, tmp_path / "inner.bundle").root_a == hash_of(made, made.told.inner)
    assert worlddb.diff(everything, made.bundle).root_b == hash_of(made, made.told.team)
    with pytest.raises(UnknownReference, match="neither contains the other"):
        worlddb.diff(tmp_path / "inner.bundle", tmp_path / "outer.bundle")
    found = worlddb.diff(tmp_path / "then.bundle", made.bundle, world=made.told.inner[:8])
    assert [(change.change, change.names[-1]) for change in found.worlds[:2]] == [
        ("members", "On call"),
        ("added", made.told.note[:12]),
    ]
    assert {(event["side"], event["author"]) for event in found.worlds[1].events} == {("b", "agent-7")}
    assert "linked" in {event["event"] for event in found.worlds[1].events}


def made_before_note(db: worlddb.Database, told: SampleRefs) -> int:
    return db.view().history(told.note)[0].seq - 1


def hash_of(made: Made, ref: str) -> str:
    with worlddb.open(made.store) as db:
        return db.view().hash(ref)


# -- what no world hash covers


def retimed(frame: fr.AnyFrame) -> fr.AnyFrame:
    if isinstance(frame, fr.VersionFrame) and frame.valid_to == worlddb.FOREVER:
        return replaced(frame, valid_to=day(2_000))
    return frame


def other_author(frame: fr.AnyFrame) -> fr.AnyFrame:
    # That of the bundle's own commit is in the proof.
    earlier = isinstance(frame, fr.CommitFrame) and frame.seq < 20
    return replaced(frame, author="mallory") if earlier else frame


def edge_ends(frame: fr.AnyFrame) -> fr.AnyFrame:
    if isinstance(frame, fr.EdgeFrame) and frame.type == "causes":
        return replaced(frame, valid_to=frame.valid_from)
    return frame


def alias_back(frame: fr.AnyFrame) -> fr.AnyFrame:
    return replaced(frame, removed=not frame.removed) if isinstance(frame, fr.AliasFrame) else frame


def ended_later(frame: fr.AnyFrame) -> fr.AnyFrame:
    return replaced(frame, at=frame.at + 1) if isinstance(frame, fr.EndedFrame) else frame


def replaced(frame: Any, **fields: Any) -> fr.AnyFrame:
    values = {name: getattr(frame, name) for name in frame.__struct_fields__} | fields
    made: fr.AnyFrame = type(frame)(**values)
    return made


@pytest.mark.parametrize(
    ("forge", "kind", "field"),
    [
        (retimed, "validity", "valid"),
        (other_author, "provenance", "commit "),
        (edge_ends, "validity", "valid of Sarah Chen causes On call"),
        (alias_back, "names", "alias"),
        (ended_later, "validity", "ended at"),
    ],
)
def test_what_a_forger_changed_where_no_world_hash_looks_is_found(
    forge: Callable[[fr.AnyFrame], fr.AnyFrame], kind: str, field: str, made: Made, tmp_path: Path
) -> None:
    forged = write_frames(tmp_path / "forged.bundle", map(forge, frames_of(made.bundle)))
    assert worlddb.check_bundle(forged).world_hash == worlddb.check_bundle(made.bundle).world_hash
    for sides in ((made.store, forged), (made.bundle, forged)):
        found = worlddb.diff(*sides)
        assert not found.equal
        assert found.root_a == found.root_b
        details = [detail for change in found.worlds for detail in change.changes]
        assert {detail.kind for detail in details} == {kind}
        assert any(detail.field.startswith(field) for detail in details), details


@pytest.mark.parametrize(
    ("kind", "changed", "field", "wanted"),
    [
        (Body, {"content": "at dusk"}, "text of version 2", "at dusk"),
        (Details, {"why": "a rumour"}, "why of revised", "a rumour"),
        (Details, {"source": {"page": 8}}, "source of version 2", '{"page":8}'),
    ],
)
def test_what_was_said_with_an_older_version_is_compared_too(
    kind: type, changed: dict[str, Any], field: str, wanted: str, tmp_path: Path
) -> None:
    """The world hash covers the newest version, and edges the versions that they name."""
    with worlddb.open(tmp_path / "store") as db:
        thing = db.create("Thing", "Bell", content="at noon")
        db.revise(thing, content="at dawn", why="the priest asked", source={"page": 7})
        db.revise(thing, content="never")
        db.export(thing, tmp_path / "thing.bundle")
    frames = frames_of(tmp_path / "thing.bundle")
    second = [frame for frame in frames if isinstance(frame, fr.VersionFrame)][1]
    old = second.body if kind is Body else second.details
    stored = next(each.stored for each in frames if isinstance(each, fr.BlobFrame) and blob_id(each.stored) == old)
    new = codec.encode(replaced(codec.decode_blob(stored, 1), **changed))
    forged = write_frames(tmp_path / "forged.bundle", [swapped(frame, old, new) for frame in frames])
    for sides in ((tmp_path / "store", forged), (tmp_path / "thing.bundle", forged)):
        (change,) = worlddb.diff(*sides).worlds
        assert [(detail.field, wanted in detail.b) for detail in change.changes] == [(field, True)]


def swapped(frame: fr.AnyFrame, old: bytes, new: bytes) -> fr.AnyFrame:
    """The frame with other bytes for a blob, wherever it is named."""
    if isinstance(frame, fr.BlobFrame):
        return fr.BlobFrame(new) if blob_id(frame.stored) == old else frame
    names = [name for name in frame.__struct_fields__ if getattr(frame, name) == old]
    return replaced(frame, **dict.fromkeys(names, blob_id(new))) if names else frame


def test_an_erasure_since_the_bundle_was_made_is_told_as_one(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.store, tmp_path / "store")
    with worlddb.open(tmp_path / "store", author="privacy-desk") as db:
        db.erase(made.told.note, reason="request 114")
    found = worlddb.diff(made.bundle, tmp_path / "store")
    (change,) = (each for each in found.worlds if each.change == "erased")
    assert (change.ref, change.a == change.b) == (made.told.note, True)
    assert ("privacy-desk", "erased") in {(event["author"], event["event"]) for event in change.events}
    assert {"ask her"} == {detail.a for detail in change.changes if detail.field == "content"}


# -- any world of any store


lives = st.tuples(st.lists(draw.create, min_size=3, max_size=6), st.lists(draw.commands, min_size=5, max_size=25)).map(
    lambda parts: [*parts[0], *parts[1]]
)


@given(life=lives, more=st.lists(draw.commands, max_size=12), which=st.integers(0, 99), seed=st.integers(0, 99))
def any_bundle(life: list[draw.CommandTemplate], more: list[draw.CommandTemplate], which: int, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="worlddb-test-") as top:
        folder = Path(top)
        source = Session(folder / "source", seed, Counter())
        try:
            grown(source, life)
            numbers = [number for number in source.state.worlds if number != ROOT or which % 3 == 0]
            world = source.names.refs[numbers[which % len(numbers)]]
            before = source.db().head().seq
            source.db().export(world, folder / "first.bundle")
            grown(source, more)
            source.db().export(world, folder / "second.bundle")
            store = source.db().path
            with worlddb.open(folder / "other", clock=ManualClock(), entropy=SeededEntropy(seed + 1)) as other:
                other.import_bundle(folder / "first.bundle")
            assert worlddb.diff(folder / "other", folder / "first.bundle").worlds == ()
            assert worlddb.diff(store, folder / "second.bundle").equal
            assert worlddb.diff(store, folder / "first.bundle", seq_a=before).equal
            told = worlddb.diff(folder / "first.bundle", store)
            moments = worlddb.diff(store, seq_a=before, world=world)
            # A world that came from outside, or left for it, is added or removed as far as a bundle knows.
            stayed = inside(source.db(), world, before) & inside(source.db(), world, source.db().head().seq)
            assert hashes(told) == {each for each in hashes(moments) if each[0] in stayed}
            assert hashes(worlddb.diff(folder / "first.bundle", folder / "second.bundle")) == hashes(told)
            with worlddb.open(folder / "other", clock=ManualClock(), entropy=SeededEntropy(seed + 2)) as other:
                other.import_bundle(folder / "second.bundle")
            assert worlddb.diff(folder / "other", folder / "second.bundle").worlds == ()
        finally:
            source.close()


def grown(session: Session, recipes: list[draw.CommandTemplate]) -> None:
    for recipe in recipes:
        if recipe.is_possible(session.state):
            session.write([recipe.to_command(session.state)])
            session.clock.advance(draw.TICK)


def inside(db: worlddb.Database, world: str, seq: int) -> set[str]:
    return {line["ref"] for line in db.export_lines(world, seq=seq) if line["kind"] == "world"}


def hashes(found: worlddb.Difference) -> set[tuple[str, str, str]]:
    """The worlds on both sides whose hashes differ."""
    return {
        (change.ref, change.a, change.b) for change in found.worlds if change.a and change.b and change.a != change.b
    }


def test_any_bundle_is_equal_to_the_stores_that_hold_its_world_and_differs_from_later_ones_as_moments_do() -> None:
    settings(max_examples=6, phases=[Phase.generate], deadline=None)(any_bundle)()


@pytest.mark.soak
def test_very_many_bundles_are_equal_to_the_stores_that_hold_their_worlds() -> None:
    settings(max_examples=1000, phases=[Phase.generate], deadline=None)(any_bundle)()


def test_the_reason_of_an_identity_that_was_undone_goes_on_from_store_to_store(tmp_path: Path) -> None:
    """Found by the test above: an import accepts and undoes in one commit, and its export kept only the last reason."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        top = db.create("Topic", "people").ref
        for _ in range(2):
            db.create("Person", "Ada", world=top)
        (proposal,) = db.proposals()
        db.accept(proposal, why="one desk")
        db.undo(proposal, why="two birthdays")
        db.export(top, tmp_path / "first.bundle")
    with worlddb.open(tmp_path / "other", embedder=None) as other:
        other.import_bundle(tmp_path / "first.bundle")
        other.export(top, tmp_path / "second.bundle")
    assert worlddb.diff(tmp_path / "other", tmp_path / "first.bundle").worlds == ()
    with worlddb.open(tmp_path / "third", embedder=None) as third:
        third.import_bundle(tmp_path / "second.bundle")
        told = [(entry.data["decision"], entry.why) for entry in third.log() if entry.event == "decided"]
        assert told == [("accepted", "one desk"), ("undone", "two birthdays")]
        assert third.verify(deep=True).ok


# -- what cannot be asked for, and the command


def test_a_query_beyond_a_bundle_is_refused(made: Made, tmp_path: Path) -> None:
    with new_store() as db:
        db.create("Note", "of a stranger")
        stranger = db.path
        with pytest.raises(UnknownReference, match="does not have the bundle's world"):
            worlddb.diff(stranger, made.bundle)
    for asked in ({"by": "path"}, {"deep": True}, {"seq_b": 3}, {"at_b": "2026-01-01"}):
        with pytest.raises(InputError, match="bundle"):
            worlddb.diff(made.store, made.bundle, **asked)
    with pytest.raises(InputError, match="nothing to compare it with"):
        worlddb.diff(made.bundle)
    with pytest.raises(UnknownReference, match="Neither side has"):
        worlddb.diff(made.store, made.bundle, world=made.told.outer)
    with pytest.raises(UnknownReference, match="at commit 1"):
        worlddb.diff(made.store, made.bundle, seq_a=1)
    (tmp_path / "cut").write_bytes(made.bundle.read_bytes()[:-50])
    (tmp_path / "text").write_text("no bundle at all, but a file")
    for file in ("cut", "text"):
        with pytest.raises(worlddb.InvalidBundle):
            worlddb.diff(made.store, tmp_path / file)


def test_the_command_compares_a_store_with_a_bundle(
    made: Made, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copytree(made.store, tmp_path / "store")
    with worlddb.open(tmp_path / "store", author="ann") as db:
        db.revise(made.told.sarah, content="CEO", valid_from=day(60), why="the board said so")
    run = LocalRunner(capsys, tmp_path / "store")
    assert run("diff", made.store, made.bundle).out.startswith("equal")
    told = run("diff", made.bundle, tmp_path / "store", "--html", tmp_path / "report.html", "--world", "Search team")
    assert told.code == 1
    assert "one side is a bundle, which has one world and no log; it was made at commit" in told.out
    assert "+ CEO" in told.out
    assert "by ann" in told.out
    assert "hash of the world" in (tmp_path / "report.html").read_text("utf-8")
    document = run.json("diff", tmp_path / "store", made.bundle, "--world", "On call", code=0)
    assert (document["equal"], document["relation"]) == (True, "bundle")
    both = run("diff", made.bundle, made.bundle, "--world", made.told.inner, "--json")
    assert json.loads(both.out)["root_a"] == document["root_b"]
    for refused in (("--at-b", "3"), ("--deep",), ("--by", "key")):
        assert run("diff", tmp_path / "store", made.bundle, *refused).code == 2
