"""A bundle carries the resolver's thresholds; an import sets them where none hold."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.bundling import frames_of, write_frames
from worlddb import InvalidBundle, Thresholds
from worlddb.log.model import bundle as fr

FIRST, SECOND, THIRD = (Thresholds(fuzzy=fuzzy) for fuzzy in (0.91, 0.93, 0.95))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A world with thresholds set around it, for it, further in, and elsewhere."""
    with worlddb.open(tmp_path / "store") as db:
        team = db.create("Topic", "Team")
        inner = db.create("Topic", "Inner", world=team)
        db.create("Person", "Ann", world=inner)
        db.tune(FIRST, type="Person", why="for everybody")
        db.tune(FIRST, type="Place")
        db.tune(SECOND, world=team, type="Topic", why="our own")
        db.tune(THIRD, world=inner)
        db.tune(THIRD, world=db.create("Topic", "Elsewhere"))
        db.export(team, tmp_path / "team.bundle")
    return tmp_path / "team.bundle"


def tunings_of(db: worlddb.Database) -> list[tuple[str, str, float, str]]:
    view = db.view()
    named = {each.ref: each.name for each in view.find()}
    return sorted((named.get(each.world, "root"), each.type, each.fuzzy, each.why) for each in view.tunings())


def test_an_import_sets_what_holds_where_the_bundle_comes_from(bundle: Path, tmp_path: Path) -> None:
    stated = worlddb.check_bundle(bundle)
    with worlddb.open(tmp_path / "other") as db:
        receipt = db.import_bundle(bundle)
        here = [("Inner", "", 0.95, ""), ("Team", "Person", 0.91, ""), ("Team", "Topic", 0.93, "our own")]
        assert tunings_of(db) == here
        assert {name for name, world in stated.tunings if world == receipt.ref} == {"Person", "Topic"}
        (note,) = [note for note in receipt.notes if note.code == "tunings_set"]
        assert receipt.ref in note.refs and "thresholds now apply to" in str(note)
        assert db.import_bundle(bundle).events == 0
        assert db.verify(deep=True).ok
        db.export(receipt.ref, tmp_path / "again.bundle")
    assert set(worlddb.check_bundle(tmp_path / "again.bundle").tunings) == set(stated.tunings)
    assert worlddb.diff(tmp_path / "other", bundle).equal


def test_what_holds_here_stays_and_what_was_taken_back_is_not_set_again(bundle: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other") as db:
        db.tune(THIRD, type="Topic")
        receipt = db.import_bundle(bundle)
        assert [note.code for note in receipt.notes] == ["tunings_set", "tunings_differ"]
        assert ("Team", "Topic", 0.93, "our own") not in tunings_of(db)
        db.untune(world=receipt.ref, type="Person")
        again = db.import_bundle(bundle)
        assert (again.events, [note.code for note in again.notes]) == (0, ["tunings_differ"])
        assert tunings_of(db) == [("Inner", "", 0.95, ""), ("root", "Topic", 0.95, "")]


def test_a_comparison_names_thresholds_that_differ(bundle: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other") as db:
        team = db.import_bundle(bundle).ref
        db.tune(FIRST, world=team, type="Topic")
        found = worlddb.diff(tmp_path / "other", bundle)
    (change,) = [detail for world in found.worlds for detail in world.changes if detail.field.startswith("thresholds")]
    assert (change.kind, change.field) == ("registered", "thresholds for Topic")
    assert change.a.startswith("fuzzy 0.91,") and change.b.startswith("fuzzy 0.93,")


def test_a_comparison_of_two_stores_names_what_only_one_of_them_set(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "one") as db:
        team = db.create("Topic", "Team").ref
        db.backup(tmp_path / "kept")
        worlddb.restore(tmp_path / "kept", into=tmp_path / "other")
        db.tune(FIRST, world=team, why="two sisters")
    found = worlddb.diff(tmp_path / "one", tmp_path / "other")
    (detail,) = [detail for world in found.worlds if world.ref == team for detail in world.changes]
    assert (detail.kind, detail.field, detail.b) == ("registered", "tuned", "") and "two sisters" in detail.a


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (fr.TuningFrame("x", 2.0, 0.9, 0.9, 0.0, 3, b"", 0), "the threshold fuzzy is 2.0"),
        (fr.TuningFrame("x", 0.9, float("nan"), 0.9, 0.0, 3, b"", 0), "the threshold phonetic is nan"),
        (fr.TuningFrame("x", 0.9, 0.9, 0.9, 0.0, 0, b"", 0), "most is 0"),
        (fr.TuningFrame("x" * 300, 0.9, 0.9, 0.9, 0.0, 1, b"", 0), "a node type"),
        (fr.TuningFrame("x", 0.9, 0.9, 0.9, 0.0, 1, bytes(32), 0), "a reason but no commit"),
        (fr.TuningFrame("x", 0.9, 0.9, 0.9, 0.0, 1, b"", 99), "the commit 99 is missing"),
        (fr.TuningFrame("", 0.9, 0.9, 0.9, 0.0, 1, b"", 0), "are set for"),
    ],
)
def test_a_bundle_with_other_thresholds_than_a_command_could_set_is_refused(
    bundle: Path, tmp_path: Path, frame: fr.TuningFrame, why: str
) -> None:
    frames = frames_of(bundle)
    at = next(number for number, each in enumerate(frames) if isinstance(each, fr.TuningFrame))
    wrong = [*frames[: at + 1], frame, *frames[at + 1 :]]
    with pytest.raises((InvalidBundle, worlddb.InputError)) as raised:
        worlddb.check_bundle(write_frames(tmp_path / "wrong.bundle", wrong))
    assert why in str(raised.value)
