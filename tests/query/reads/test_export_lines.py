"""JSON Lines hold all that a view shows of a world, in a form that a short script can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import worlddb
from tests.support.bundling import SampleRefs, build_sample_store
from tests.support.model.stores import day
from worlddb import FOREVER, View, format_time


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SampleRefs]:
    folder = tmp_path_factory.mktemp("lines")
    return folder, build_sample_store(folder / "store")


def of_kind(lines: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {line["ref"]: line for line in lines if line["kind"] == kind}


def span(valid: worlddb.Valid) -> dict[str, str | None]:
    return {"from": format_time(valid.start), "to": None if valid.end == FOREVER else format_time(valid.end)}


def seen_inside(view: View, world: str) -> set[str]:
    return {world} | {found.ref for found in view.find(world=world, include_superseded=True)}


def check_lines(lines: list[dict[str, Any]], view: View, world: str) -> None:
    """Everything that the view shows of the world, field by field."""
    worlds, edges, proposals = (of_kind(lines, kind) for kind in ("world", "edge", "proposal"))
    inside = seen_inside(view, world)
    assert set(worlds) == inside
    for ref, line in worlds.items():
        seen = view.get(ref, include_superseded=True)
        assert seen is not None
        assert (line["hash"], tuple(line["aliases"]), line["ended"]) == (view.hash(ref), seen.aliases, seen.ended)
        history = view.history(ref)
        assert len(history) == len(line["versions"])
        for version, told in zip(history, line["versions"], strict=True):
            for name in ("version", "number", "type", "name", "content", "seq", "author", "why", "source"):
                assert told[name] == getattr(version, name)
            assert told["valid"] == span(version.valid)
            assert told["ingested_at"] == format_time(version.ingested_at)
    shown = {edge.ref: edge for ref in inside for edge in view.edges(ref, include_superseded=True)}
    assert set(edges) == {ref for ref, edge in shown.items() if edge.home in inside}
    for ref, line in edges.items():
        edge = shown[ref]
        for name in (
            "type",
            "source",
            "source_version",
            "target",
            "target_version",
            "home",
            "seq",
            "properties",
            "why",
        ):
            assert line[name] == getattr(edge, name)
        assert line["valid"] == span(edge.valid)
    for proposal in view.proposals(status=None):
        if {proposal.source, proposal.target} <= inside:
            line = proposals[proposal.ref]
            assert (line["status"], line["evidence"]) == (proposal.status, proposal.evidence)


def test_the_lines_of_a_world_hold_all_that_a_view_shows_of_it(made):
    folder, told = made
    with worlddb.open(folder / "store") as db:
        for ref in (told.team, told.inner, told.sarah):
            lines = list(db.export_lines(ref))
            assert (lines[0]["kind"], lines[0]["world"], lines[0]["hash"]) == ("export", ref, db.view().hash(ref))
            check_lines(lines, db.view(), ref)
            assert lines[-1] == {
                "kind": "end",
                "worlds": len(of_kind(lines, "world")),
                "edges": len(of_kind(lines, "edge")),
                "proposals": len(of_kind(lines, "proposal")),
            }
        assert {line["status"] for line in of_kind(list(db.export_lines()), "proposal").values()} == {
            "accepted",
            "rejected",
        }


def test_the_lines_of_an_earlier_moment_are_those_of_then(made):
    folder, told = made
    with worlddb.open(folder / "store") as db:
        for seq in range(2, db.head().seq):
            check_lines(list(db.export_lines(told.team, seq=seq)), db.view(seq=seq, valid=day(100)), told.team)


def test_the_lines_in_a_file_are_the_same_and_texts_are_readable(made, tmp_path):
    folder, told = made
    with worlddb.open(folder / "store") as db:
        summary = db.export_jsonl(told.team, tmp_path / "team.jsonl")
        text = (tmp_path / "team.jsonl").read_text("utf-8")
        assert [json.loads(line) for line in text.splitlines()] == list(db.export_lines(told.team))
    assert "VP 東京" in text
    assert summary["worlds"] == text.count('"kind":"world"')
    assert summary["world"] == told.team


def test_who_said_something_again_is_told_with_its_version(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="ada") as db:
        note = db.create("Note", "n", content="tea")
        db.as_author("ben").restate(note, source={"file": "b.md"}, why="he said so too")
        db.export_jsonl(note, tmp_path / "note.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "note.jsonl").read_text("utf-8").splitlines()]
        assert lines == list(db.export_lines(note))
    (again,) = lines[1]["versions"][0]["restated"]
    assert (again["author"], again["source"], again["why"]) == ("ben", {"file": "b.md"}, "he said so too")
    assert again["ingested_at"].endswith("Z") and "number" not in again
