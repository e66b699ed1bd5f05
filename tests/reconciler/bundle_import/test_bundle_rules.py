"""A bundle carries profiles and what counts as believed; nothing of it is taken over in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlddb
from tests.support.bundling import frames_of, write_frames
from worlddb import InvalidBundle
from worlddb.log.model import bundle as fr
from worlddb.log.model import codec


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A world with a profile, one with another further in, and settings of beliefs within it and elsewhere."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        team = db.create("Topic", "Team")
        inner = db.create("Topic", "Inner", world=team)
        fact = db.create("Fact", "f", properties={"status": "open"}, world=inner)
        db.tag(fact, "published")
        elsewhere = db.create("Secret", "Elsewhere", properties={"salary": 1})
        db.tag(elsewhere, "leaked")
        db.set_profile(team, node_types=["Topic", "Fact"], relations=["supports"], why="only facts")
        db.set_profile(inner, "arbiter")
        db.set_profile(elsewhere, node_types=["Secret"])
        db.set_beliefs(tags=["published", "leaked"], single=["status", "salary"], entrenchment={"Secret": "recency"})
        db.set_beliefs(entrenchment={"Fact": "confidence"})
        db.export(team, tmp_path / "team.bundle")
    return tmp_path / "team.bundle"


def profiles(db: worlddb.Database) -> list[tuple[str, str, str]]:
    view = db.view()
    named = {each.ref: each.name for each in view.find()}
    return sorted((named[each.world], each.name, each.why) for each in view.profiles())


def notes(receipt: worlddb.Receipt) -> list[str]:
    return [note.code for note in receipt.notes]


SET = [("Inner", "arbiter", ""), ("Team", "own", "only facts")]
BELIEFS = (("predicate", "status", "single"), ("tag", "published", "bearing"), ("kind", "fact", "confidence"))


def test_an_import_sets_what_holds_where_the_bundle_comes_from_and_says_so(bundle: Path, tmp_path: Path) -> None:
    stated = worlddb.check_bundle(bundle)
    assert sorted(stated.beliefs) == sorted(BELIEFS) and {name for name, _ in stated.profiles} == {"own", "arbiter"}
    with worlddb.open(tmp_path / "other", embedder=None) as db:
        receipt = db.import_bundle(bundle)
        assert profiles(db) == SET and notes(receipt) == ["profiles_set", "beliefs_set"]
        known = db.view().belief_settings()
        assert known.tags == ("current", "published") and "status" in known.single and "salary" not in known.single
        assert db.create("memo", "m", world=receipt.ref).outcome.code == "not_in_profile"
        assert db.import_bundle(bundle).events == 0 and db.verify(deep=True).ok
        db.export(receipt.ref, tmp_path / "again.bundle")
        assert worlddb.diff(tmp_path / "other", bundle).equal
    again = worlddb.check_bundle(tmp_path / "again.bundle")
    assert (set(again.profiles), set(again.beliefs)) == (set(stated.profiles), set(stated.beliefs))


def test_what_holds_here_stays_and_what_was_taken_back_is_not_set_again(bundle: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other", embedder=None) as db:
        receipt = db.import_bundle(bundle)
        inner = db.view().reference_of("Inner")
        db.lift_profile(receipt.ref)
        db.set_profile(inner, node_types=["Fact"], why="ours")
        db.set_beliefs(plain_tags=["published"], entrenchment={"Fact": "recency"})
        again = db.import_bundle(bundle)
        assert (again.events, notes(again)) == (0, ["profiles_differ", "beliefs_differ"])
        assert profiles(db) == [("Inner", "own", "ours")] and db.view().belief_settings().tags == ("current",)
        found = worlddb.diff(tmp_path / "other", bundle)
    fields = sorted(detail.field for world in found.worlds for detail in world.changes)
    assert fields == ["beliefs of the kind fact", "beliefs of the tag published", "profile", "profile"]


def test_what_the_whole_store_believes_changes_only_where_the_caller_allows_it(bundle: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other", embedder=None) as db:
        db.create("Note", "ours")
        before = db.view().belief_settings()
        receipt = db.import_bundle(bundle)
        assert notes(receipt) == ["profiles_set", "beliefs_differ"] and db.view().belief_settings() == before
        assert "set_beliefs" in str(receipt.notes[-1]) and "published" in str(receipt.notes[-1])
        allowed = db.import_bundle(bundle, allow_outside=True)
        assert notes(allowed) == ["beliefs_set"] and db.view().belief_settings().tags == ("current", "published")


def test_a_profile_for_a_world_outside_of_the_bundle_is_an_effect_outside(bundle: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other", embedder=None) as db:
        ours = db.create("Topic", "ours").ref
        frames = frames_of(bundle)
        # A bundle that claims to hold our world: it knows its reference and none of its texts.
        team = next(frame for frame in frames if isinstance(frame, fr.Heading)).world
        changed = [_of(frame, team, bytes.fromhex(ours)) for frame in frames]
        with pytest.raises((InvalidBundle, worlddb.RefusedError)):
            db.import_bundle(write_frames(tmp_path / "forged.bundle", changed)).raise_if_refused()
        assert profiles(db) == []


def _of(frame: fr.AnyFrame, old: bytes, new: bytes) -> fr.AnyFrame:
    return fr.decode_frame(codec.encode(frame).replace(old, new))


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (fr.ProfileFrame("own", [], [], b"", 1), "has no node types"),
        (fr.ProfileFrame("own", ["A", "A"], [], b"", 1), "names a node type twice"),
        (fr.ProfileFrame("own", ["A"], [], b"", 99), "the commit 99 is missing"),
        (fr.BeliefFrame("tag", "x", "single"), "is set to 'single'"),
        (fr.BeliefFrame("predicate", "status", "single"), "is set twice"),
        (fr.BeliefFrame("kind", "", "recency"), "a kind"),
    ],
)
def test_a_bundle_with_other_rules_than_a_command_could_set_is_refused(
    bundle: Path, tmp_path: Path, frame: fr.AnyFrame, why: str
) -> None:
    frames = frames_of(bundle)
    at = next(number for number, each in enumerate(frames) if isinstance(each, fr.BeliefFrame))
    with pytest.raises((InvalidBundle, worlddb.InputError)) as raised:
        worlddb.check_bundle(write_frames(tmp_path / "wrong.bundle", [*frames[: at + 1], frame, *frames[at + 1 :]]))
    assert why in str(raised.value)


def test_a_world_is_closed_once_and_beliefs_stand_with_the_exported_world(bundle: Path, tmp_path: Path) -> None:
    frames = frames_of(bundle)
    profile = next(frame for frame in frames if isinstance(frame, fr.ProfileFrame))
    at = frames.index(profile)
    belief = next(frame for frame in frames if isinstance(frame, fr.BeliefFrame))
    for extra, why in ((profile, "has a second profile"), (belief, "only the exported world")):
        with pytest.raises(InvalidBundle, match=why):
            worlddb.check_bundle(write_frames(tmp_path / "wrong.bundle", [*frames[: at + 1], extra, *frames[at + 1 :]]))
