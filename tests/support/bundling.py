"""Bundles for tests: their frames, unchecked files, and the visible state of a store."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import worlddb
from tests.support.model.stores import day
from worlddb import Database, ManualClock, SeededEntropy, View
from worlddb.log.model import bundle as fr
from worlddb.log.store.bundle_file import BundleWriter, open_bundle


class SampleRefs(NamedTuple):
    """The references in the small store of :func:`build_sample_store`."""

    team: str
    inner: str
    sarah: str
    note: str
    outer: str
    twin: str


def build_sample_store(folder: Path, seed: int = 3) -> SampleRefs:
    """Make a team with an inner world, a person of two versions, and edges in every state."""
    clock = ManualClock()
    with worlddb.open(folder, author="agent-7", clock=clock, entropy=SeededEntropy(seed)) as db:
        team = db.create("Topic", "Search team", valid_from=day(0)).ref
        inner = db.create("Topic", "On call", world=team, valid_from=day(0)).ref
        made = {"world": team, "valid_from": day(0)}
        sarah = db.create("Entity", "Sarah Chen", content="lead", aliases=["Sarah"], source={"page": 7}, **made).ref
        outer = db.create("Note", "Elsewhere", content="outside of it all", valid_from=day(0)).ref
        clock.advance(5_000)
        db.revise(sarah, content="VP 東京", valid_from=day(3), why="announced")
        db.alias(sarah, "Sal", why="said so")
        db.unalias(sarah, "Sal")
        note = db.create("Note", "", content="ask her", world=inner, valid_from=day(1)).ref
        db.link(note, "refers_to", sarah, properties={"role": "speaker"}, key="n1")
        db.link(note, "refers_to", outer, why="seen there")
        gone = db.link(note, "implies", sarah).ref
        db.unlink(gone)
        db.retire(db.link(sarah, "causes", inner, valid_to=day(90)).ref, at=day(30))
        db.move(db.create("Note", "moved", content="to and fro", **made), inner)
        twin = db.create("Entity", "sarah chen", **made)
        db.accept(twin.proposals[0], why="the same mail address")
        third = db.create("Entity", "SARAH CHEN", **made)
        db.reject(third.proposals[0], why="another one")
        db.link(third.ref, "supersedes", twin.ref, valid_from=day(40))
        db.retire(note, at=day(50), why="done")
        return SampleRefs(team, inner, sarah, note, outer, twin.ref)


def export_tiny_bundle(folder: Path, name: str) -> Path:
    """Export a world with one member and one edge: small enough to change each byte."""
    with worlddb.open(folder / "tiny", clock=ManualClock(), entropy=SeededEntropy(5)) as db:
        box = db.create("Box", "b").ref
        thing = db.create("Thing", "t", world=box).ref
        db.link(thing, "refers_to", box)
        db.export(box, folder / name)
    return folder / name


def frames_of(path: Path) -> list[fr.AnyFrame]:
    """Read all frames of a bundle, the last one included."""
    with open_bundle(path) as reader:
        return list(reader)


def write_frames(path: Path, frames: Iterable[fr.AnyFrame], *, counted: bool = True) -> Path:
    """Write a file of these frames with matching hashes, whatever their content."""
    with path.open("wb") as out:
        writer = BundleWriter(out)
        worlds = 0
        for frame in frames:
            if counted and isinstance(frame, fr.EndFrame):
                frame = fr.EndFrame(writer.frames, worlds)
            worlds += isinstance(frame, fr.WorldFrame)
            writer.write(frame)
    return path


def interior_of(view: View, world: str) -> list[str]:
    """A world and its interior, valid or not at the view's time."""
    inside = [world]
    for ref in inside:
        inside.extend(member.ref for member in view.children(ref, include_superseded=True) if member.ref not in inside)
    return inside


def visible_state(view: View, world: str, proposals: Collection[str]) -> dict[str, Any]:
    """The state that a view shows inside a world, without commits and ingest times."""

    def text(version: Any) -> tuple[Any, ...]:
        source = {name: value for name, value in version.source.items() if name != "imported"}
        return version.version, version.type, version.name, version.content, version.valid, version.why, source

    inside = interior_of(view, world)
    found = [each.ref for each in view.find(include_superseded=True)]
    told: dict[str, Any] = {"order": [ref for ref in found if ref in inside[1:]]}
    for ref in inside:
        shown = view.get(ref, include_superseded=True)
        assert shown is not None
        history = [text(version) for version in view.history(ref)]
        told[ref] = (view.hash(ref), shown.ended, shown.aliases, shown.erased, history)
        told[f"members of {ref}"] = [member.ref for member in view.children(ref, include_superseded=True)]
        for edge in view.edges(ref, include_superseded=True):
            if edge.home in inside:
                told[edge.ref] = (edge.type, edge.source, edge.source_version, edge.target, edge.target_version)
                told[edge.ref] += (edge.home, edge.valid, edge.properties, edge.why)
    for proposal in view.proposals(status=None):
        if {proposal.source, proposal.target} <= set(inside) and proposal.ref in proposals:
            told[proposal.ref] = (proposal.status, proposal.evidence, proposal.why)
    return told


def proposals_inside(db: Database, world: str) -> set[str]:
    """The proposals whose home is inside."""
    return {line["ref"] for line in db.export_lines(world) if line["kind"] == "proposal"}


def hashed(db: Database, ref: str) -> str:
    return db.view().hash(ref)
