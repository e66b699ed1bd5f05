"""A bundle carries registered edge types; an import registers those that are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.bundling import frames_of, write_frames
from tests.support.model.ontology import Showing, Tagged
from tests.support.model.stores import refusal
from tests.support.running import LocalRunner
from worlddb import InvalidBundle
from worlddb.log.model import bundle as fr


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A world with edges of two types, one with another version further in, and unused types."""
    types = [Tagged("knows", 1), Tagged("knows", 2), Showing("doubts", 3), Tagged("unused", 1)]
    with worlddb.open(tmp_path / "store", edge_types=types) as db:
        team = db.create("Topic", "Team")
        inner = db.create("Topic", "Inner", world=team)
        for number, world in ((0, None), (1, inner), (2, team), (3, None)):
            db.register(types[number], world=world)
        ann, bob = db.create("Person", "Ann", world=team), db.create("Person", "Bob", world=inner)
        eve = db.create("Person", "Eve", world=inner)
        db.link(ann, "knows", bob, home=team)
        db.link(bob, "knows", eve)
        db.link(eve, "knows", bob)
        db.link(ann, "doubts", eve, home=team)
        db.link(ann, "refers_to", eve)
        db.export(team, tmp_path / "team.bundle")
    return tmp_path / "team.bundle"


def test_a_bundle_names_the_registrations_that_its_edges_were_written_under_and_no_other(bundle: Path) -> None:
    stated = worlddb.check_bundle(bundle)
    assert sorted(each[:2] for each in stated.edge_types) == [("doubts", 3), ("knows", 1), ("knows", 2)]
    with worlddb.open(bundle.with_name("store")) as db:
        known = {(one.name, one.version, one.digest) for one in db.view().edge_types() if one.digest}
    assert set(stated.edge_types) < known


def test_an_import_registers_what_governs_the_edges_for_the_worlds_that_it_came_with(
    bundle: Path, tmp_path: Path
) -> None:
    stated = worlddb.check_bundle(bundle)
    with worlddb.open(bundle.with_name("store")) as source:
        there = {(one.name, one.version, one.digest, one.rewrites) for one in source.view().edge_types() if one.digest}
    with worlddb.open(tmp_path / "other") as db:
        receipt = db.import_bundle(bundle)
        team = receipt.ref
        (inner,) = (world.ref for world in db.view().children(team) if world.name == "Inner")
        assert db.view().hash(team) == stated.world_hash
        here = {one.name: one for one in db.view().edge_types(inner) if one.digest}
        assert {(one.version, one.world) for one in here.values()} == {(2, inner), (3, team)}
        assert here["knows"].name == "knows"
        assert {one.version: one.world for one in db.view().edge_types(team) if one.name == "knows"} == {1: team}
        listed = [one for one in db.view().edge_types() if one.digest]
        assert {(one.name, one.version, one.digest, one.rewrites) for one in listed} == {
            one for one in there if one[0] != "unused"
        }
        assert not [one for one in db.view().edge_types(db.view().containers(team)[0]) if one.digest]
        assert ("types_registered", ("knows", "doubts")) in [(note.code, note.refs) for note in receipt.notes]
        assert "the edge types knows, doubts now apply" in " ".join(map(str, receipt.notes))
        assert db.import_bundle(bundle).events == 0
        db.export(team, tmp_path / "again.bundle")
        assert db.verify(deep=True).ok
    again = worlddb.check_bundle(tmp_path / "again.bundle")
    assert set(again.edge_types) == set(stated.edge_types)
    assert set(again.registrations) == set(stated.registrations)
    assert worlddb.diff(tmp_path / "other", bundle).equal


def test_a_store_that_governs_a_type_otherwise_keeps_its_own_and_names_the_type(bundle: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other", edge_types=[Tagged("knows", 7)]) as db:
        db.register(Tagged("knows", 7))
        receipt = db.import_bundle(bundle)
        assert ("types_differ", ("knows",)) in [(note.code, note.refs) for note in receipt.notes]
        assert {one.version for one in db.view().edge_types() if one.name == "knows"} == {7}
        assert [one.world for one in db.view().edge_types() if one.name == "doubts"] == [receipt.ref]
        again = db.import_bundle(bundle)
        assert (again.events, [note.code for note in again.notes]) == (0, ["types_differ"])
        db.unregister("doubts", world=receipt.ref)
        assert db.import_bundle(bundle).events == 0, "what was taken back here is not made again"


def test_a_functional_relation_arrives_and_holds_for_what_is_written_next(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "a") as source, worlddb.open(tmp_path / "b") as db:
        team = source.create("Topic", "Team").ref
        ann, one, two = (source.create("Entity", name, world=team).ref for name in ("Ann", "One", "Two"))
        source.link(ann, "refers_to", one)
        source.export(team, tmp_path / "before.bundle")
        source.register("refers_to", functional=True, why="one reference each")
        source.export(team, tmp_path / "after.bundle")
        db.import_bundle(tmp_path / "before.bundle")
        assert not [edge.functional for edge in db.view().edge_types() if edge.functional]
        assert db.import_bundle(tmp_path / "after.bundle").events == 2
        (known,) = (each for each in db.view().edge_types() if each.functional)
        assert (known.name, known.world, known.why) == ("refers_to", team, ""), "around a world neither where nor why"
        receipt = db.link(ann, "refers_to", two)
        assert "functional_conflict" in [note.code for note in receipt.notes]
        assert db.verify(deep=True).ok


def test_a_reason_given_inside_comes_along_and_a_type_that_may_not_be_is_refused(bundle: Path, tmp_path: Path) -> None:
    with worlddb.open(bundle.with_name("store")) as source:
        team = next(one.world for one in source.view().edge_types() if one.name == "doubts")
        source.register("causes", functional=True, world=team, why="by decree")
        source.export(team, tmp_path / "reasons.bundle")
    with worlddb.open(tmp_path / "other") as db:
        db.import_bundle(tmp_path / "reasons.bundle")
        assert [one.why for one in db.view().edge_types() if one.functional] == ["by decree"]
        assert worlddb.diff(tmp_path / "other", tmp_path / "reasons.bundle").equal
        found = worlddb.diff(tmp_path / "other", bundle)
        details = [(change.ref, detail) for change in found.worlds for detail in change.changes]
        assert [(ref, each.kind, each.field, each.a, each.b) for ref, each in details] == [
            (team, "registered", "edge type causes", "built in, functional", "")
        ]
    frames = frames_of(bundle)
    at = next(number for number, frame in enumerate(frames) if isinstance(frame, fr.RegistrationFrame))
    for forged, code in (
        (fr.RegistrationFrame("crosses", 1, bytes(32), "name", ["cross_worlds"], False, b"", 0), "reserved_rewrite"),
        (fr.RegistrationFrame("contains", 1, b"", "built_in", [], True, b"", 0), "never_functional"),
        (fr.RegistrationFrame("refers_to", 1, bytes(32), "name", [], False, b"", 0), "built_in_type"),
    ):
        changed = write_frames(tmp_path / "forged.bundle", [*frames[: at + 1], forged, *frames[at + 1 :]])
        with worlddb.open(tmp_path / code) as db:
            assert refusal(db.import_bundle(changed)) == code
            assert db.head().seq == 1
    for bad, told in (
        (frames[at], "is registered for .* twice"),
        (fr.RegistrationFrame("x", 1, b"", "name", [], False, b"", 0), "a digest"),
        (fr.RegistrationFrame("x", 1, b"", "built_in", ["hide_closed"], False, b"", 0), "names a query rewrite twice"),
        (fr.RegistrationFrame("x", 1, bytes(32), "name", [], False, bytes(32), 1), "is missing"),
        (fr.RegistrationFrame("x", 1, bytes(32), "name", [], False, bytes(32), 0), "a reason but no commit"),
        (fr.RegistrationFrame("x", 1, bytes(32), "name", [], False, b"", 99), "the commit 99 is missing"),
    ):
        with pytest.raises(InvalidBundle, match=told):
            worlddb.check_bundle(write_frames(tmp_path / "bad.bundle", [*frames[: at + 1], bad, *frames[at + 1 :]]))


def test_a_registration_that_no_edge_needs_or_that_is_malformed_is_refused(bundle: Path, tmp_path: Path) -> None:
    frames = frames_of(bundle)
    at = next(number for number, frame in enumerate(frames) if isinstance(frame, fr.EdgeTypeFrame))
    for added, told in (
        (frames[at], "given twice"),
        (fr.EdgeTypeFrame("hates", 1, bytes(32), "name"), "no edge has the type"),
        (fr.EdgeTypeFrame("knows", 9, bytes(32), "name"), "no edge has the type"),
        (fr.EdgeTypeFrame("knows", -1, bytes(32), "name"), "a handler's version"),
        (fr.EdgeTypeFrame("knows", 1, bytes(3), "name"), "a digest"),
        (fr.EdgeTypeFrame("", 1, bytes(32), "name"), "an edge type"),
        (fr.EdgeTypeFrame("knows", 1, bytes(32), "built_in"), "the built-in edge type"),
    ):
        changed = [*frames[: at + 1], added, *frames[at + 1 :]]
        with pytest.raises(InvalidBundle, match=told):
            worlddb.check_bundle(write_frames(tmp_path / "changed.bundle", changed))


def test_the_check_of_a_bundle_shows_the_types(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = LocalRunner(capsys, tmp_path / "nowhere")
    assert "edge type doubts, version 3, digest " in run("import", bundle, "--check").out
    told = run.json("import", bundle, "--check")["bundle"]["edge_types"]
    assert {(each["name"], each["version"]) for each in told} == {("knows", 1), ("knows", 2), ("doubts", 3)}
    assert {len(each["digest"]) for each in told} == {64}
