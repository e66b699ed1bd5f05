"""A bundle proves that its world hash stands under a head of the exporting store."""

from __future__ import annotations

import json
import shutil
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.bundling import SampleRefs, build_sample_store, frames_of, write_frames
from tests.support.model.stores import new_store
from tests.support.running import LocalRunner
from worlddb import InputError, InvalidBundle, LimitExceeded, UnprovedBundle
from worlddb.log.model import bundle as fr
from worlddb.log.model import events as ev


@dataclass(frozen=True)
class Made:
    """A store, a bundle of its team, the head of that moment, and the references in it."""

    store: Path
    bundle: Path
    head: str
    told: SampleRefs


@pytest.fixture(scope="module")
def proved_bundle(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("proved")
    told = build_sample_store(folder / "store")
    with worlddb.open(folder / "store") as db:
        db.export(told.team, folder / "team.bundle")
        return Made(folder / "store", folder / "team.bundle", db.checkpoint(), told)


def test_a_bundle_holds_against_the_head_of_its_moment_and_so_does_that_of_every_world_and_moment(
    proved_bundle: Made, tmp_path: Path
) -> None:
    assert worlddb.check_bundle(proved_bundle.bundle, head=proved_bundle.head) == worlddb.check_bundle(
        proved_bundle.bundle
    )
    with worlddb.open(proved_bundle.store) as db:
        last = db.head().seq
        for seq in range(2, last + 1):
            # The root world, and one that lies deeper as soon as it is there.
            refs = [None, proved_bundle.told.inner] if seq > 3 else [None]
            for ref in refs:
                db.export(ref, tmp_path / "then.bundle", seq=seq, overwrite=True)
                stated = worlddb.check_bundle(tmp_path / "then.bundle", head=db.checkpoint(seq=seq))
                assert stated.proof_size == stated.seq == seq
                db.export(ref, tmp_path / "later.bundle", seq=seq, overwrite=True, head=last)
                assert worlddb.check_bundle(tmp_path / "later.bundle", head=proved_bundle.head).proof_size == last


def test_an_import_is_told_which_head_it_was_held_against_and_keeps_nothing_else(proved_bundle: Made) -> None:
    with new_store() as db:
        receipt = db.import_bundle(proved_bundle.bundle, head=proved_bundle.head)
        (event,) = (each for each in db.log() if each.event == "imported")
        origin, size, tree = proved_bundle.head.splitlines()[:3]
        (line,) = sources(db)
        assert line["head"] == {"origin": origin, "commits": int(size), "tree": b64decode(tree).hex()}
        assert (receipt.ref, event.data["world"]) == (proved_bundle.told.team, proved_bundle.told.team)
        assert db.verify(deep=True).ok
    with new_store() as db:
        db.import_bundle(proved_bundle.bundle)
        assert not any("head" in details for details in sources(db))


def sources(db: worlddb.Database) -> list[dict[str, Any]]:
    """The sources in the details of every ``imported`` event."""
    found = []
    with db._reader.snapshot() as snapshot:
        for seq in range(1, snapshot.log.head().seq + 1):
            for event in snapshot.log.events(seq).events:
                if isinstance(event, ev.Imported):
                    found.append(snapshot.details(seq, event.details).source)
    return found


def test_a_head_that_does_not_stand_for_the_bundle_is_refused_and_nothing_is_written(
    proved_bundle: Made, tmp_path: Path
) -> None:
    with worlddb.open(tmp_path / "other") as other:
        other.create("Note", "a stranger's")
        strangers = other.checkpoint()
    shutil.copytree(proved_bundle.store, tmp_path / "grown")
    with worlddb.open(tmp_path / "grown") as grown:
        grown.create("Note", "later")
        later = grown.checkpoint()
        size = grown.head().seq - 1
        earlier = grown.checkpoint(seq=size - 1)
        grown.export(proved_bundle.told.team, tmp_path / "bare.bundle", proof=False)
    forged = proved_bundle.head.replace(proved_bundle.head.splitlines()[2], strangers.splitlines()[2])
    with new_store() as db:
        before = db.head()
        for head, told in (
            (strangers, "the head belongs to another store"),
            (later, f"the proof is for a head of {size} commits"),
            (earlier, f"the proof is for a head of {size} commits"),
            (forged, "does not show that commit"),
        ):
            with pytest.raises(UnprovedBundle, match=told) as caught:
                worlddb.check_bundle(proved_bundle.bundle, head=head)
            assert (caught.value.code, caught.value.exit_code) == ("unproved_bundle", 1)
            with pytest.raises(UnprovedBundle, match=told):
                db.import_bundle(proved_bundle.bundle, head=head)
        with pytest.raises(UnprovedBundle, match="has no proof"):
            db.import_bundle(tmp_path / "bare.bundle", head=later)
        assert worlddb.check_bundle(tmp_path / "bare.bundle").proof_size == 0
        key = worlddb.new_key("example.com/ada")
        with pytest.raises(UnprovedBundle, match="no valid signature"):
            db.import_bundle(proved_bundle.bundle, head=proved_bundle.head, keys=[key.verifier])
        with pytest.raises(InputError, match="no head"):
            db.import_bundle(proved_bundle.bundle, keys=[key.verifier])
        with pytest.raises(worlddb.MalformedFile):
            db.import_bundle(proved_bundle.bundle, head="no head at all")
        assert db.head() == before
        assert db.import_bundle(
            proved_bundle.bundle, head=worlddb.sign_checkpoint(proved_bundle.head, key.signing), keys=[key.verifier]
        ).events


def test_a_proof_that_is_not_about_the_bundle_is_refused_without_any_head(proved_bundle: Made, tmp_path: Path) -> None:
    with worlddb.open(proved_bundle.store) as db:
        size = db.head().seq
        other_world = db.prove(proved_bundle.told.inner)
        other_moment = db.prove(proved_bundle.told.team, seq=size - 1, head=size)
        of_prefix = db.prove_consistency(2)
        edges = db.view().edges(proved_bundle.told.inner, include_superseded=True)
        edge = next(each.ref for each in edges if each.type != "contains")
        of_edge = db.prove(edge)
    shutil.copytree(proved_bundle.store, tmp_path / "fork")
    with worlddb.open(tmp_path / "fork") as fork:
        fork.create("Note", "unlike there")
        fork.export(proved_bundle.told.team, tmp_path / "fork.bundle")
    frames = frames_of(proved_bundle.bundle)
    own = next(frame.stored for frame in frames if isinstance(frame, fr.ProofFrame))
    wrong = json.loads(own)
    wrong["worlds"][-1]["created"] += 1
    cut = json.loads(own)
    cut["header"] = cut["header"][:-2]
    for proof, told in (
        (other_world.encode(), "a world hash other than"),
        (other_moment.encode(), "about commit"),
        (of_prefix.encode(), "not about a world"),
        (of_edge.encode(), "not about a world"),
        (json.dumps(wrong).encode(), "is not the one that its container states"),
        (json.dumps(cut).encode(), "the proof does not hold"),
        (b"\x00\xff", "is not a proof"),
        (b"", "is not a proof"),
    ):
        changed = [fr.ProofFrame(proof) if isinstance(frame, fr.ProofFrame) else frame for frame in frames]
        with pytest.raises(InvalidBundle, match=told):
            worlddb.check_bundle(write_frames(tmp_path / "wrong.bundle", changed))
    # The bundle of a forged store has a proof that holds in itself: it takes a head to find that.
    forked = worlddb.check_bundle(tmp_path / "fork.bundle")
    assert forked.proof_size == size + 1
    with pytest.raises(UnprovedBundle), worlddb.open(proved_bundle.store) as db:
        db.create("Note", "the true one")
        worlddb.check_bundle(tmp_path / "fork.bundle", head=db.checkpoint())


def test_a_heading_that_states_another_chain_than_the_proof_is_refused_and_so_is_a_second_proof(
    proved_bundle: Made, tmp_path: Path
) -> None:
    frames = frames_of(proved_bundle.bundle)
    heading = frames[0]
    assert isinstance(heading, fr.Heading)
    values = [getattr(heading, name) for name in heading.__struct_fields__]
    values[4] = bytes(32)
    with pytest.raises(InvalidBundle, match="chain hash"):
        worlddb.check_bundle(write_frames(tmp_path / "chain.bundle", [fr.Heading(*values), *frames[1:]]))
    with pytest.raises(InvalidBundle, match="something follows the proof"):
        worlddb.check_bundle(write_frames(tmp_path / "twice.bundle", [*frames[:-1], frames[-2], frames[-1]]))


def test_no_field_of_the_heading_and_of_its_commit_can_be_altered(proved_bundle: Made, tmp_path: Path) -> None:
    """The time of the bundle, and who made its commit, were not held against the proof."""
    frames = frames_of(proved_bundle.bundle)
    heading = frames[0]
    assert isinstance(heading, fr.Heading)
    last = next(at for at, frame in enumerate(frames) if isinstance(frame, fr.CommitFrame) and frame.seq == heading.seq)
    tried = 0
    for at in (0, last):
        values = {name: getattr(frames[at], name) for name in frames[at].__struct_fields__}
        for name, value in values.items():
            other = value + 1 if isinstance(value, int) else value[::-1] if value != value[::-1] else value[1:] + b"x"
            forged: Any = type(frames[at])(**values | {name: other})
            with pytest.raises(InvalidBundle):
                worlddb.check_bundle(
                    write_frames(tmp_path / "forged.bundle", [*frames[:at], forged, *frames[at + 1 :]])
                )
            tried += 1
    assert tried == 10


def test_unprovable_worlds_are_not_exported(
    proved_bundle: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with worlddb.open(proved_bundle.store) as db:
        for asked in ({"head": db.head().seq + 1}, {"head": 2}, {"head": 3, "proof": False}, {"head": "no head"}):
            with pytest.raises(InputError):
                db.export(proved_bundle.told.team, tmp_path / "no.bundle", **asked)
        monkeypatch.setattr("worlddb.log.model.limits.MAX_FRAME_BYTES", 1000)
        with pytest.raises(LimitExceeded, match="Export without a proof"):
            db.export(proved_bundle.told.team, tmp_path / "no.bundle")
    assert not list(tmp_path.iterdir())


def test_the_commands_make_and_check_the_proof(
    proved_bundle: Made, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = LocalRunner(capsys, proved_bundle.store)
    head, bundle = tmp_path / "now.head", tmp_path / "team.bundle"
    head.write_text(run("head").out, "utf-8")
    seq = run.json("head")["seq"]
    assert run.json("export", proved_bundle.told.team, "--out", bundle)["proof_size"] == seq
    told = run("import", bundle, "--check", "--head", head)
    assert (told.code, "proved  the head stands for this world hash" in told.out) == (0, True)
    assert "not checked against a head" in run("import", bundle, "--check").out
    assert run.json("import", bundle, "--check", "--head", head)["proved"] is True
    there = LocalRunner(capsys, tmp_path / "there")
    wrong = tmp_path / "wrong.head"
    wrong.write_text(run("head", "--ingested", seq - 1).out, "utf-8")
    refused = there("import", bundle, "--head", wrong)
    assert (refused.code, refused.error, there.store.exists()) == (1, "unproved_bundle", False)
    assert there.json("import", bundle, "--head", head)["proved"] is True
    assert run.json("export", proved_bundle.told.team, "--out", tmp_path / "bare", "--no-proof")["proof_size"] is None
    assert there("import", tmp_path / "bare", "--check", "--head", head).error == "unproved_bundle"
    past = run.json(
        "export", proved_bundle.told.team, "--out", tmp_path / "past", "--ingested", seq - 1, "--head", head
    )
    assert past["proof_size"] == seq
    assert run("import", tmp_path / "past", "--check", "--head", head).code == 0
    for asked in (("--no-proof", "--head", head), ("--format", "jsonl", "--no-proof")):
        assert run("export", proved_bundle.told.team, "--out", tmp_path / "no", *asked).error == "usage"
