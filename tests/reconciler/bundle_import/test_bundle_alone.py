"""A bundle tells no more of the rest of its store than the page on bundles names."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from tests.support.bundling import build_sample_store, frames_of, write_frames
from tests.support.model.stores import new_store
from tests.tools.mcp.isolation.test_mcp_confined import SECOND, Turns
from worlddb import Database, Extraction, ManualClock, Node
from worlddb.log.model import bundle as fr

COMMIT_NUMBERS = ("seq", "decided")


def grow_and_export(folder: Path, *, crowded: bool, say: Callable[[Database, Path], Any]) -> Any:
    """What is said of a world grown step by step; with ``crowded`` others write before each."""
    clock, turns = ManualClock(), Turns()
    made: dict[str, Any] = {}

    def link(db: Database) -> str:
        return str(db.link(made["sarah"], "refers_to", made["team"]).ref)

    def same(db: Database) -> str:
        return str(db.link(made["sarah"], "same_as", made["anna"]).ref)

    steps: dict[str, Callable[[Database], Any]] = {
        "team": lambda db: db.create("Topic", "team").ref,
        "sarah": lambda db: db.create("Entity", "Sarah Chen", content="lead", world=made["team"]).ref,
        "anna": lambda db: db.create("Entity", "Anna", aliases=["Anni"], world=made["team"]).ref,
        "twin": lambda db: db.create("Entity", "sarah chen", world=made["team"]).proposals[0],
        "other": lambda db: db.create("Entity", "anna", world=made["team"]).proposals[0],
        "link": link,
        "gone": lambda db: db.unlink(link(db)).seq,
        "accepted": lambda db: db.accept(made["twin"]).seq,
        "rejected": lambda db: db.reject(made["other"]).seq,
        "waiting": same,
        "revised": lambda db: db.revise(made["anna"], content="a guest").seq,
    }
    with worlddb.open(folder / "store", clock=clock, entropy=turns, embedder=None) as db:
        start = clock.value
        for turn, (name, step) in enumerate(steps.items(), start=1):
            if crowded:
                clock.value = start + turn * SECOND - SECOND // 2
                turns.turn(10**6 + turn)
                first = db.create("Entity", f"somebody {turn}")
                assert db.create("Entity", f"Somebody {turn}").proposals
                db.link(first, "refers_to", next(db.log(1, 1)).data["root"])
            clock.value = start + turn * SECOND
            turns.turn(turn)
            made[name] = step(db)
        return say(db, folder)


def frames(db: Database, folder: Path) -> list[dict[str, Any]]:
    """The frames of the bundle of the world, with places for the numbers of commits."""
    db.export(db.view().reference_of("team"), folder / "team.bundle", proof=False)
    made = frames_of(folder / "team.bundle")
    places = {seq: place for place, seq in enumerate(sorted(f.seq for f in made if isinstance(f, fr.CommitFrame)))}
    told = []
    for frame in made:
        fields = msgspec.structs.asdict(frame) | {"kind": type(frame).__name__}
        if isinstance(frame, fr.Heading):
            fields |= {"seq": 0, "chain": b""}
        elif "seq" in fields:
            fields["seq"] = places[fields["seq"]]
        if isinstance(frame, fr.ProposalFrame):
            fields["decisions"] = [(said, details, places[seq]) for said, details, seq in frame.decisions]
        told.append(fields)
    return told


def lines(db: Database, folder: Path) -> list[dict[str, Any]]:
    """The JSON Lines of the world, without the numbers of commits."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: bare(each) for name, each in value.items() if name not in COMMIT_NUMBERS}
        return [bare(each) for each in value] if isinstance(value, list) else value

    return [bare(line) for line in db.export_lines("team")]


@pytest.mark.parametrize("say", [frames, lines])
def test_others_in_the_store_change_nothing_but_numbers_of_commits(
    say: Callable[[Database, Path], list[dict[str, Any]]], tmp_path: Path
) -> None:
    alone, crowded = (
        grow_and_export(tmp_path / name, crowded=name == "crowded", say=say) for name in ("alone", "crowded")
    )
    assert len(alone) > 8
    assert crowded == alone


def test_worlds_edges_and_proposals_are_numbered_among_those_of_the_bundle(tmp_path: Path) -> None:
    told = build_sample_store(tmp_path / "store")
    with worlddb.open(tmp_path / "store") as db:
        db.export(told.inner, tmp_path / "inner.bundle")
        db.export(told.team, tmp_path / "team.bundle")
    for path, least in ((tmp_path / "inner.bundle", 0), (tmp_path / "team.bundle", 2)):
        numbered: dict[type, list[int]] = {fr.WorldFrame: [], fr.EdgeFrame: [], fr.ProposalFrame: []}
        for frame in frames_of(path):
            if isinstance(frame, fr.WorldFrame | fr.EdgeFrame | fr.ProposalFrame):
                numbered[type(frame)].append(frame.order)
        for found in numbered.values():
            assert sorted(found) == list(range(len(found))) and len(found) >= least


def test_a_bundle_with_the_numbers_of_the_whole_store_is_taken_in_as_before(tmp_path: Path) -> None:
    """Earlier releases wrote the numbers of nodes and edges, and the place among all proposals."""
    told = build_sample_store(tmp_path / "store")
    with worlddb.open(tmp_path / "store") as db:
        db.export(told.team, tmp_path / "new.bundle", proof=False)
    older = [
        msgspec.structs.replace(frame, order=1_000 + 17 * frame.order) if hasattr(frame, "order") else frame
        for frame in frames_of(tmp_path / "new.bundle")
    ]
    write_frames(tmp_path / "old.bundle", older)
    found = []
    for name, other in (("new", "old"), ("old", "new")):
        with new_store() as db:
            assert db.import_bundle(tmp_path / f"{name}.bundle").events
            assert db.import_bundle(tmp_path / f"{other}.bundle").events == 0
            shown = [(entry.event, entry.refs) for entry in db.log(2) if entry.event != "imported"]
            found.append((shown, [each.ref for each in db.proposals(status=None)], db.view().hash(told.team)))
    assert found[0] == found[1]


def test_what_was_looked_at_in_the_whole_store_is_in_no_export_and_no_confined_view() -> None:
    with new_store() as db, tempfile.TemporaryDirectory() as folder:
        team = db.create("Topic", "team")
        db.create("Entity", "Katharina Petersen", world=team)
        staged = db.create("Entity", "Katarina Peterson", world=team, resolve="all").proposals[0]
        assert "looked_at" in db.view().proposal(staged).evidence
        assert "looked_at" not in db.view(world=team).proposal(staged).evidence
        assert "considered" in db.view(world=team).proposal(staged).evidence
        db.export_jsonl(team, Path(folder) / "team.jsonl")
        told = (Path(folder) / "team.jsonl").read_text("utf-8")
        assert staged in told and "considered" in told and "looked_at" not in told


def _mention_person(db: Database, session: str, name: str, *, resolve: bool | str) -> str:
    """Somebody in a session, who is looked for in all of its conversation; the proposals are at home in the session."""
    found = Extraction(nodes=[Node(label="who", type="Entity", name=name, resolve=resolve)])
    receipt = db.ingest(
        [{"text": name}], conversation="talk", session=session, start=db.head().seq, extractor=lambda _: found
    )
    return receipt.refs[-1]


def _session(db: Database, name: str) -> str:
    (found,) = db.view().find(type="Session", name=name)
    return found.ref


@pytest.mark.parametrize("name", ["Sarah Chen", "Katharina Petersen"])
def test_a_verdict_is_told_as_it_would_be_had_nobody_outside_been_considered(name: str) -> None:
    """Of several that were as near those outside were hidden, and the verdict said that there were more."""
    near = "Katarina Petersen" if name.startswith("K") else name
    with new_store() as db:
        inside = _mention_person(db, "team", near, resolve=False)
        outside = _mention_person(db, "elsewhere", near if near != name else "sarah chen", resolve=False)
        _mention_person(db, "team", name, resolve="all")
        whole = {each.target: each.evidence for each in db.proposals()}
        assert whole.keys() == {inside, outside} and {each["decision"] for each in whole.values()} == {"ambiguous"}
        (seen,) = db.view(world=_session(db, "team")).proposals()
        with new_store() as alone:
            _mention_person(alone, "team", near, resolve=False)
            _mention_person(alone, "team", name, resolve="all")
            (expected,) = alone.view(world=_session(alone, "team")).proposals()
        by_itself = expected.evidence | {"considered": seen.evidence["considered"]}
        assert seen.evidence == by_itself and seen.evidence["decision"] == "resolved"


def test_evidence_that_looks_like_the_resolvers_and_is_not_breaks_no_view() -> None:
    with new_store() as db:
        team = db.create("Topic", "team").ref
        for number, scores in enumerate(("x", {"exact": "y"}, {}, None, {"exact": 1.0})):
            one, other = (db.create("Entity", f"{name} {number}", world=team).ref for name in ("a", "b"))
            forged = {
                "considered": [{"ref": one, "scores": scores}, {"ref": "f" * 32, "scores": scores}],
                "considered_in_all": 7,
                "decision": "ambiguous",
                "tier": ["exact"],
                "thresholds": {"margin": "wide"},
            }
            staged = db.link(one, "same_as", other, properties=forged).proposals[0]
            told = db.view(world=team).proposal(staged).evidence
            assert [each["ref"] for each in told["considered"]] == [one] and told["considered_in_all"] == 1
