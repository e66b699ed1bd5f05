"""Registered edge types in a bundle: told to whoever reads it, and registered by no import."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.bundling import frames_of, written
from tests.model.ontology import Showing, Tagged
from tests.running import Here
from worlddb import InvalidBundle
from worlddb.log.model import bundle as fr


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A world with edges of two types, one of which another version holds for further in, and types that none is of."""
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


def test_an_import_registers_nothing_and_keeps_edges_and_hashes(bundle: Path, tmp_path: Path) -> None:
    stated = worlddb.check_bundle(bundle)
    with worlddb.open(tmp_path / "other") as db:
        team = db.import_bundle(bundle).ref
        assert db.view().hash(team) == stated.world_hash
        assert not [one for one in db.view().edge_types() if one.digest]
        assert len(db.view().find(world=team, type="Person")) == 3
        db.export(team, tmp_path / "again.bundle")
        assert db.verify(deep=True).ok
    assert worlddb.check_bundle(tmp_path / "again.bundle").edge_types == ()
    assert worlddb.diff(tmp_path / "other", bundle).equal


def test_a_registration_that_no_edge_needs_or_that_is_malformed_is_refused(bundle: Path, tmp_path: Path) -> None:
    frames = frames_of(bundle)
    at = next(number for number, frame in enumerate(frames) if isinstance(frame, fr.EdgeTypeFrame))
    for added, told in (
        (frames[at], "given twice"),
        (fr.EdgeTypeFrame("hates", 1, bytes(32), "name"), "no edge is of the type"),
        (fr.EdgeTypeFrame("knows", 9, bytes(32), "name"), "no edge is of the type"),
        (fr.EdgeTypeFrame("knows", -1, bytes(32), "name"), "a handler's version"),
        (fr.EdgeTypeFrame("knows", 1, bytes(3), "name"), "a digest"),
        (fr.EdgeTypeFrame("", 1, bytes(32), "name"), "an edge type"),
        (fr.EdgeTypeFrame("knows", 1, bytes(32), "built_in"), "said to be built in"),
    ):
        changed = [*frames[: at + 1], added, *frames[at + 1 :]]
        with pytest.raises(InvalidBundle, match=told):
            worlddb.check_bundle(written(tmp_path / "changed.bundle", changed))


def test_the_check_of_a_bundle_shows_the_types(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Here(capsys, tmp_path / "nowhere")
    assert "edge type doubts, version 3, digest " in run("import", bundle, "--check").out
    told = run.json("import", bundle, "--check")["edge_types"]
    assert {(each["name"], each["version"]) for each in told} == {("knows", 1), ("knows", 2), ("doubts", 3)}
    assert {len(each["digest"]) for each in told} == {64}
