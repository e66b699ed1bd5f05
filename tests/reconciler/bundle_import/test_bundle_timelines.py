"""Timelines with holes, ends that were resumed and late arrivals are the same wherever a bundle takes them."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import worlddb
from tests.support.bundling import frames_of, write_frames
from tests.support.model.stores import day
from worlddb import Database, ManualClock, SeededEntropy, Valid
from worlddb.log.model import bundle as fr

WORLDS, STEPS, RUNS, SOAK_RUNS = 5, 30, 3, 500
LATEST = 12
OF_A_STORE = ("seq", "details")
"""What an import gives anew."""


@contextmanager
def stores(folder: Path, seed: int, *names: str) -> Iterator[list[Database]]:
    opened = [
        worlddb.open(folder / name, clock=ManualClock(day(20)), entropy=SeededEntropy(seed * 10 + number))
        for number, name in enumerate(names)
    ]
    try:
        yield opened
    finally:
        for db in opened:
            db.close()


def window(draw: random.Random) -> dict[str, Any]:
    first = draw.randrange(LATEST)
    chosen = {"valid_from": day(first), "valid_to": day(draw.randrange(first + 1, LATEST + 2))}
    return {name: chosen[name] for name in draw.choice([("valid_from",), ("valid_from", "valid_to"), ()])}


def step(db: Database, draw: random.Random, refs: list[str], edges: list[str]) -> None:
    """Something that somebody says of when a world or an edge holds, be it refused."""
    one, other = draw.sample(refs, 2)
    match draw.randrange(10):
        case 0 | 1 | 2:
            text, later, given = f"text {draw.random()}", draw.random() < 0.2, window(draw)
            db.revise(one, content=text, replace_later=later and "valid_to" not in given, **given)
        case 3 | 4:
            db.retire(one, why=draw.choice(["", "a mistake"]), **window(draw))
        case 5 | 6:
            db.reassert(one, **window(draw))
        case 7:
            db.link(one, "supersedes", other, **window(draw))
        case 8:
            made = db.link(one, "refers_to", other, **window(draw))
            edges.extend([made.ref] if made else [])
        case _ if edges:
            db.retire(draw.choice(edges), **window(draw))


def grow_world(db: Database, draw: random.Random, folder: Path) -> tuple[str, list[Path]]:
    """A world, and bundles of it from its beginning to its end."""
    top = db.create("Topic", "top", valid_from=day(0)).ref
    starts: list[dict[str, Any]] = [{"valid_from": day(draw.randrange(LATEST))} for _ in range(WORLDS - 1)]
    refs = [db.create("Fact", f"f{at}", world=top, **given).ref for at, given in enumerate([*starts, {}])]
    edges: list[str] = []
    files = []
    for part in range(3):
        for _ in range(STEPS // 3):
            step(db, draw, refs, edges)
        files.append(folder / f"{part}.bundle")
        db.export(top, files[-1])
    return top, files


def exported_frames(db: Database, top: str, file: Path) -> list[Any]:
    """What an export says of everything, without what is of the store that it comes from."""
    db.export(top, file, overwrite=True)
    kinds = fr.VersionFrame | fr.EndedFrame | fr.VoidedFrame | fr.EdgeFrame
    return [
        (type(frame).__name__, [getattr(frame, name) for name in frame.__struct_fields__ if name not in OF_A_STORE])
        for frame in frames_of(file)
        if isinstance(frame, kinds)
    ]


def answers(db: Database, top: str) -> dict[str, Any]:
    """Which versions and edges hold on each day, what has ended, and what was stated."""
    found: dict[str, Any] = {}
    now = db.view(valid=day(40))
    members = [member.ref for member in now.children(top, include_superseded=True)]
    for ref in (top, *members):
        shown = now.get(ref, include_superseded=True)
        found[ref] = (
            shown and shown.ended,
            [(each.version, each.valid, each.spans, each.start) for each in now.history(ref)],
        )
        for edge in now.edges(ref, include_superseded=True) if ref != top else ():
            found[edge.ref] = edge.valid, edge.spans
    for at in range(LATEST + 3):
        view = db.view(valid=day(at))
        found[str(at)] = [world and (world.version, world.valid) for world in map(view.get, members)]
        for ref in members:
            found[f"{at} {ref}"] = sorted(edge.ref for edge in view.edges(ref))
    return found


def exchange(folder: Path, seed: int) -> None:
    draw = random.Random(seed)
    with stores(folder, seed, "source", "fresh", "older first", "newer first", "again") as opened:
        source, fresh, older_first, newer_first, again = opened
        top, files = grow_world(source, draw, folder)
        expected = exported_frames(source, top, folder / "told.bundle")
        assert fresh.import_bundle(files[-1])
        for file in files:
            assert older_first.import_bundle(file)
        assert newer_first.import_bundle(files[-1])
        for file in files:
            receipt = newer_first.import_bundle(file)
            assert receipt and receipt.events == 0, receipt
        fresh.export(top, folder / "handed on.bundle")
        assert again.import_bundle(folder / "handed on.bundle")
        for db in (fresh, older_first, newer_first, again):
            assert exported_frames(db, top, folder / "told.bundle") == expected
            assert answers(db, top) == answers(source, top)
            assert db.import_bundle(files[-1]).events == 0
            assert worlddb.diff(db.path, files[-1]).equal
            assert db.verify(deep=True).ok


def test_a_hole_that_one_store_made_contradicts_a_version_that_only_the_other_has_then(tmp_path: Path) -> None:
    with stores(tmp_path, 3, "there", "here") as (there, here):
        top = there.create("Topic", "top", valid_from=day(0)).ref
        ref = there.create("Fact", "rate", content="150", world=top, valid_from=day(0)).ref
        there.export(top, tmp_path / "first.bundle")
        assert here.import_bundle(tmp_path / "first.bundle")
        here.retire(ref, valid_from=day(4), valid_to=day(6))
        there.revise(ref, content="190", valid_from=day(8))
        there.export(top, tmp_path / "later.bundle")
        assert here.import_bundle(tmp_path / "later.bundle"), "it begins behind the hole"
        assert [version.spans for version in here.view().history(ref)] == [
            (Valid(day(0), day(4)), Valid(day(6), day(8))),
            (),
        ]
        there.revise(ref, content="170", valid_from=day(5), valid_to=day(7))
        there.export(top, tmp_path / "last.bundle")
        refused = here.import_bundle(tmp_path / "last.bundle").outcome
        assert isinstance(refused, worlddb.Refused) and refused.code == "bundle_conflict"
        assert "has no valid version from" in refused.reason and "the bundle has a newer version" in refused.reason
        here.export(top, tmp_path / "back.bundle")
        refused = there.import_bundle(tmp_path / "back.bundle").outcome
        assert isinstance(refused, worlddb.Refused) and "there is a newer version here" in refused.reason


def test_frames_of_the_first_release_say_nothing_of_spans_and_of_what_was_stated() -> None:
    body, lineage = bytes(32), bytes(16)
    for given, expected in (
        (["version", body, b"", 3, 5, 9, 7, b""], fr.VersionFrame(body, b"", 3, 5, 9, 7, b"", [], 0)),
        (["ended", 5, b"", lineage, 3], fr.EndedFrame(5, b"", lineage, 3, 0)),
        (["outside", lineage, 5, [(body, 5, 9)]], fr.OutsideFrame(lineage, 5, [(body, 5, 9)], [], [])),
    ):
        assert fr.decode_frame(msgspec.msgpack.encode(given)) == expected


HOSTILE: dict[str, tuple[type, dict[str, Any], str]] = {
    "spans that touch": (fr.VersionFrame, {"spans": [(day(0), day(1)), (day(1), day(2))]}, "touch"),
    "spans that end elsewhere": (fr.VersionFrame, {"spans": [(day(0), day(1))]}, "redundant, or do not reach"),
    "spans before the start": (fr.VersionFrame, {"spans": [(day(-1), day(1))]}, "outside of it"),
    "a start that nobody knows": (fr.VersionFrame, {"stated": 3}, "for the stated ends"),
    "a hole without an instant": (fr.VoidedFrame, {"valid_to": day(4)}, "a span without a valid version is empty"),
    "a hole after a version to come": (fr.VoidedFrame, {"after": 7}, "counts 7 versions"),
    "a hole before the first version": (fr.VoidedFrame, {"after": 0}, "the number of versions of a world"),
    "a hole after fewer than no versions": (fr.VoidedFrame, {"after": -1}, "the number of versions of a world"),
    "a hole that another world made": (fr.VoidedFrame, {"by": b"\1" * 16}, "names a superseding world"),
    "an end after a version to come": (fr.EndedFrame, {"after": 7}, "counts 7 versions"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_timeline_that_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    kind, values, why = HOSTILE[name]
    with stores(tmp_path, 4, "store") as (db,):
        ref = db.create("Fact", "rate", valid_from=day(0)).ref
        db.retire(ref, valid_from=day(4), valid_to=day(6))
        db.retire(ref, at=day(9))
        db.export(ref, tmp_path / "whole.bundle")
    frames = frames_of(tmp_path / "whole.bundle")
    assert any(isinstance(frame, kind) for frame in frames)
    changed = [msgspec.structs.replace(frame, **values) if isinstance(frame, kind) else frame for frame in frames]
    with pytest.raises(worlddb.InvalidBundle, match=why):
        worlddb.check_bundle(write_frames(tmp_path / "changed.bundle", changed))


def run(runs: int, seed: int) -> None:
    for number in range(runs):
        with tempfile.TemporaryDirectory(prefix="worlddb-test-") as folder:
            try:
                exchange(Path(folder), seed + number)
            except Exception as error:
                error.add_note(f"repeat it with exchange(folder, {seed + number})")
                raise


def test_any_timeline_is_the_same_in_every_store_whatever_the_order_in_which_its_bundles_come(seed: int) -> None:
    run(RUNS, seed % 2**32)


@pytest.mark.soak
def test_very_many_timelines_are_the_same_in_every_store(seed: int) -> None:
    run(SOAK_RUNS, seed % 2**32)
