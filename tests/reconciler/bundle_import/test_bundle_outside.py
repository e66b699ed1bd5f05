"""An import does nothing to worlds outside of the bundle unless the operator allows it.

The attacker works on a copy of the store, where everything is allowed, and knows no text of the victim's: where
a bundle has to hold a world of the victim's, its texts are left out of it, as an erased one's are.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import worlddb
from tests.support.bundling import frames_of, write_frames
from tests.support.model.stores import day, refusal
from worlddb import Database, ManualClock, SeededEntropy, Thresholds
from worlddb.log.model import bundle as fr
from worlddb.log.model.hashing import blob_id


class Town(NamedTuple):
    """Two tenants of one store: ours has a note, theirs a fact in a folder with an edge, a fact beside it."""

    ours: str
    note: str
    theirs: str
    folder: str
    fact: str
    other: str
    edge: str


def town(path: Path) -> Town:
    with open_store(path) as db:
        ours = db.create("Tenant", "ours", valid_from=day(0)).ref
        note = db.create("Note", "", content="what we say", world=ours, valid_from=day(1)).ref
        theirs = db.create("Tenant", "theirs", valid_from=day(0)).ref
        folder = db.create("Folder", "papers", world=theirs, valid_from=day(0)).ref
        fact = db.create("Fact", "rent", content="is 1,200", world=folder, valid_from=day(2)).ref
        other = db.create("Fact", "deposit", content="is 3,000", world=folder, valid_from=day(2)).ref
        edge = db.link(other, "refers_to", fact).ref
        return Town(ours, note, theirs, folder, fact, other, edge)


def open_store(path: Path, seed: int = 4) -> Database:
    return worlddb.open(path, author="operator", clock=ManualClock(day(60)), entropy=SeededEntropy(seed))


def move_folder(db: Database, one: Town) -> None:
    db.move(one.folder, one.ours)


def retracting(frames: list[fr.AnyFrame], one: Town) -> list[fr.AnyFrame]:
    """The list of what was unlinked names an edge of theirs; it is at the end of our own group."""
    at = max(number for number, frame in enumerate(frames) if isinstance(frame, fr.EdgeFrame))
    return [*frames[: at + 1], fr.RetractedFrame(bytes.fromhex(one.edge)), *frames[at + 1 :]]


class Attack(NamedTuple):
    """What is done in the copy before the export, which world suffers, and what it is called in the list."""

    act: Callable[[Database, Town], object]
    kind: str
    victim: str = "fact"
    forge: Callable[[list[fr.AnyFrame], Town], list[fr.AnyFrame]] | None = None


def after(*acts: Callable[[Database, Town], object]) -> Callable[[Database, Town], object]:
    return lambda db, one: [act(db, one) for act in acts]


ATTACKS = {
    "supersedes, dated before it": Attack(
        lambda db, one: db.link(one.note, "supersedes", one.fact, valid_from=day(1)), "ends"
    ),
    "supersedes, dated later": Attack(
        lambda db, one: db.link(one.note, "supersedes", one.fact, valid_from=day(9)), "ends"
    ),
    "superseded by theirs": Attack(
        lambda db, one: db.link(one.fact, "supersedes", one.note, valid_from=day(9), home=one.ours), "supersedes"
    ),
    "contradicts": Attack(lambda db, one: db.link(one.note, "contradicts", one.fact), "contradicts"),
    "same_as, accepted": Attack(
        lambda db, one: db.accept(db.link(one.note, "same_as", one.fact, home=one.ours).ref), "same_as"
    ),
    "said in its name": Attack(
        lambda db, one: db.link(one.fact, "derived_from", one.note, home=one.ours), "derived_from"
    ),
    "put into our world": Attack(move_folder, "contains", "folder"),
    "a member put into it": Attack(
        after(move_folder, lambda db, one: db.create("Note", "", content="smuggled", world=one.folder)),
        "contains",
        "folder",
    ),
    "revised": Attack(after(move_folder, lambda db, one: db.revise(one.fact, content="is 9,999")), "revises"),
    "retired": Attack(after(move_folder, lambda db, one: db.retire(one.fact, at=day(30))), "ends"),
    "named": Attack(after(move_folder, lambda db, one: db.alias(one.fact, "Miete")), "names"),
    "an edge in its interior": Attack(
        after(move_folder, lambda db, one: db.link(one.fact, "precedes", one.other, home=one.folder)),
        "precedes",
        "folder",
    ),
    "an edge closed": Attack(after(move_folder, lambda db, one: db.retire(one.edge, at=day(59))), "closes", "folder"),
    "an edge unlinked": Attack(after(move_folder, lambda db, one: db.unlink(one.edge)), "unlinks", "folder"),
    "an edge unlinked from afar": Attack(lambda db, one: None, "unlinks", "folder", retracting),
    "a type registered in it": Attack(
        after(move_folder, lambda db, one: db.register("causes", functional=True, world=one.folder)),
        "registers",
        "folder",
    ),
    "thresholds set in it": Attack(
        after(move_folder, lambda db, one: db.tune(Thresholds(fuzzy=0.91), world=one.folder)), "tunes", "folder"
    ),
}


def without_texts(frames: list[fr.AnyFrame], bodies: set[bytes]) -> list[fr.AnyFrame]:
    """The frames as one writes them who knows of some texts only their identifiers."""
    kept: list[fr.AnyFrame] = []
    for frame in frames:
        known = blob_id(frame.stored) if isinstance(frame, fr.BlobFrame) else b""
        kept.append(fr.ErasedFrame(known) if known in bodies else frame)
    return kept


class Attacked(NamedTuple):
    """The store, what is in it, and the bundle that somebody brings."""

    store: Path
    town: Town
    bundle: Path


def attacked(top: Path, attack: Attack) -> Attacked:
    one = town(top / "store")
    with open_store(top / "store") as db:
        theirs = [one.theirs, one.folder, one.fact, one.other]
        bodies = {bytes.fromhex(version.version) for ref in theirs for version in db.view().history(ref)}
    shutil.copytree(top / "store", top / "copy")
    with open_store(top / "copy", seed=5) as copy:
        attack.act(copy, one)
        copy.export(one.ours, top / "whole.bundle", proof=False)
    frames = without_texts(frames_of(top / "whole.bundle"), bodies)
    forged = attack.forge(frames, one) if attack.forge else frames
    return Attacked(top / "store", one, write_frames(top / "brought.bundle", forged))


@pytest.mark.parametrize("name", ATTACKS)
def test_what_a_bundle_does_to_worlds_outside_of_it_is_refused_listed_and_told_if_it_is_allowed(name, tmp_path):
    attack = ATTACKS[name]
    store, one, bundle = attacked(tmp_path, attack)
    victim = getattr(one, attack.victim)
    with open_store(store, seed=6) as db:
        before, shown = db.head(), db.view().get(one.fact)
        refused = db.import_bundle(bundle)
        assert refusal(refused) == "reaches_outside"
        assert isinstance(refused.outcome, worlddb.Refused)
        assert victim[:12] in refused.outcome.reason and "allow_outside" in refused.outcome.remedy
        plan = db.import_plan(bundle)
        assert (attack.kind, victim) in {(effect.kind, effect.world) for effect in plan.outside}
        assert plan.refused is None and plan.events > 0 and plan.world == one.ours
        assert db.head() == before and db.view().get(one.fact) == shown
        taken_in = db.import_bundle(bundle, allow_outside=True)
        [told] = [note.refs for note in taken_in.notes if note.code == "reached_outside"]
        assert victim in told and set(told) == {effect.world for effect in plan.outside}
        assert taken_in.events == plan.events
        assert db.import_plan(bundle).outside == (), "there is nothing left to do"
        assert db.verify(deep=True).ok


def test_a_bundle_may_name_what_lies_outside_and_say_whatever_it_likes_of_its_own(tmp_path):
    """Refused is what is done to others, not that they are referred to."""
    one = town(tmp_path / "store")
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    with open_store(tmp_path / "copy", seed=5) as copy:
        for type_name in ("refers_to", "derived_from", "precedes", "causes", "implies", "instance_of"):
            copy.link(one.note, type_name, one.fact)
        copy.revise(one.note, content="what we say now")
        newer = copy.create("Note", "", content="newer", world=one.ours, valid_from=day(3)).ref
        copy.link(newer, "supersedes", one.note)
        copy.export(one.ours, tmp_path / "ours.bundle")
    with open_store(tmp_path / "store", seed=6) as db:
        own = db.create("Note", "", content="ours alone", world=one.ours).ref
        plan = db.import_plan(tmp_path / "ours.bundle")
        assert (plan.outside, plan.refused) == ((), None) and plan.events > 5
        receipt = db.import_bundle(tmp_path / "ours.bundle")
        assert receipt.events == plan.events
        assert "reached_outside" not in [note.code for note in receipt.notes]
        assert db.view().get(one.fact) is not None and db.view().get(own) is not None


def test_what_lies_inside_of_the_bundles_own_world_is_its_own_too(tmp_path):
    """Here it ends what was written into its world by this store alone."""
    one = town(tmp_path / "store")
    with open_store(tmp_path / "store", seed=6) as db:
        ours = db.create("Note", "", content="ours alone", world=one.ours, valid_from=day(4)).ref
        db.link(one.note, "supersedes", ours, valid_from=day(10))
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    with open_store(tmp_path / "copy", seed=5) as copy:
        copy.move(ours, one.theirs)
        copy.link(one.note, "supersedes", ours, valid_from=day(5))
        copy.export(one.ours, tmp_path / "ours.bundle")
    assert not [
        f for f in frames_of(tmp_path / "ours.bundle") if isinstance(f, fr.WorldFrame) and f.lineage.hex() == ours
    ]
    with open_store(tmp_path / "store", seed=6) as db:
        assert db.import_bundle(tmp_path / "ours.bundle")
        assert db.view(valid=day(5) + 1).get(ours) is None


def test_a_text_that_comes_after_an_import_had_ended_its_world_is_told_of(tmp_path):
    one = town(tmp_path / "store")
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    with open_store(tmp_path / "store", seed=6) as db:
        db.export(one.theirs, tmp_path / "theirs.bundle")
    with open_store(tmp_path / "copy", seed=5) as copy:
        copy.link(one.note, "supersedes", one.fact, valid_from=day(1))
        copy.export(one.ours, tmp_path / "ours.bundle")
    with open_store(tmp_path / "third", seed=7) as db:
        assert db.import_bundle(tmp_path / "ours.bundle")
        receipt = db.import_bundle(tmp_path / "theirs.bundle")
        assert ("reference_ended", (one.fact,)) in [(note.code, note.refs) for note in receipt.notes]
