"""A hostile bundle is refused with a typed error or leaves a store that verifies."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

import worlddb
from tests.support.bundling import SampleRefs, build_sample_store, frames_of, write_frames
from tests.support.examples import examples
from tests.support.model.nodes import Nodes
from tests.support.model.stores import day, new_store, refusal
from worlddb import ManualClock, SeededEntropy, WorldDBError
from worlddb.log.model import bundle as fr
from worlddb.log.model.bundle_values import identity_of
from worlddb.log.model.hashing import world_hash
from worlddb.log.model.ids import HASH_BYTES
from worlddb.log.model.trie import EMPTY_ROOT, Trie


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SampleRefs]:
    folder = tmp_path_factory.mktemp("bundle")
    told = build_sample_store(folder / "store")
    with worlddb.open(folder / "store") as db:
        # A proof would find every slip by the world hash, before what finds each of them by itself.
        db.export(told.team, folder / "team.bundle", proof=False)
    return folder, told


NUMBERS = st.sampled_from([0, 1, 2, -1, 2**16, 2**31, 2**32, 2**63 - 1, -(2**63), 1_795_219_200_000_000])
BYTES = st.sampled_from([b"", b"\x00", bytes(16), bytes(32), b"\xff" * 16, b"\xff" * 32, b"x" * 33])
TEXTS = st.sampled_from(["", "contains", "same_as", "../../etc/passwd", "x" * 300, "\u0000", "knows"])


slips = st.tuples(st.integers(0, 999), st.integers(0, 20), st.sampled_from(["set", "swap", "drop", "twice", "move"]))


def slipped(frames: list[fr.AnyFrame], slip: tuple[int, int, str], data: st.DataObject) -> list[fr.AnyFrame]:
    """The frames after one slip of whoever wrote them."""
    which, field, what = slip
    at = which % len(frames)
    frame = frames[at]
    if what == "drop":
        return frames[:at] + frames[at + 1 :]
    if what == "twice":
        return [*frames[: at + 1], frame, *frames[at + 1 :]]
    if what == "move":
        to = field * len(frames) // 21
        rest = frames[:at] + frames[at + 1 :]
        return [*rest[:to], frame, *rest[to:]]
    name = frame.__struct_fields__[field % len(frame.__struct_fields__)]
    value = getattr(frame, name)
    if what == "swap":
        others = [getattr(other, name) for other in frames if hasattr(other, name)]
        value = others[field % len(others)]
    elif isinstance(value, bool):
        value = not value
    elif isinstance(value, int):
        value = data.draw(NUMBERS)
    elif isinstance(value, bytes):
        value = data.draw(BYTES)
    elif isinstance(value, str):
        value = data.draw(TEXTS)
    else:
        value = value[:-1]
    return [*frames[:at], msgspec.structs.replace(frame, **{name: value}), *frames[at + 1 :]]


SEEN: Counter[str] = Counter()


@examples(75, phases=[Phase.generate])
@given(data=st.data(), chosen=st.lists(slips, min_size=1, max_size=2))
def check_slips(sample: tuple[Path, SampleRefs], data: st.DataObject, chosen: list[tuple[int, int, str]]) -> None:
    frames = frames_of(sample[0] / "team.bundle")
    for slip in chosen:
        frames = slipped(frames, slip, data)
    with tempfile.TemporaryDirectory(prefix="worlddb-test-") as top:
        file = write_frames(Path(top) / "hostile.bundle", frames)
        try:
            worlddb.check_bundle(file)
        except WorldDBError as error:
            assert error.remedy
            SEEN[type(error).__name__] += 1
            return
        with worlddb.open(Path(top) / "store", clock=ManualClock(), entropy=SeededEntropy(8)) as db:
            receipt = db.import_bundle(file)
            SEEN["imported" if receipt else "refused"] += 1
            assert receipt.events or not receipt
            found = db.verify(deep=True)
            assert found.ok, found
            assert db.import_bundle(file).events == 0


def test_whatever_is_made_of_a_bundle_is_refused_by_type_or_leaves_a_store_that_verifies(sample):
    SEEN.clear()
    check_slips(sample)
    assert SEEN["InvalidBundle"] > 50 and SEEN["imported"] > 5, SEEN


def test_a_bundle_of_a_strangers_edge_type_is_imported_without_its_handler(sample, tmp_path):
    """Here a store with another ontology is played by a forger, who makes a new edge and all hashes above it."""
    frames = frames_of(sample[0] / "team.bundle")
    inner = sample[1].inner
    at = max(i for i, f in enumerate(frames) if isinstance(f, fr.EdgeFrame) and f.type == "refers_to")
    edge = frames[at]
    assert isinstance(edge, fr.EdgeFrame)
    knows = msgspec.structs.replace(edge, type="knows", handler_version=7, details=b"", keyed=False)
    knows = msgspec.structs.replace(knows, edge=identity_of(knows, "knows", bytes.fromhex(inner)))
    frames = rehashed([*frames[: at + 1], knows, *frames[at + 1 :]])
    with new_store() as db:
        team = db.import_bundle(write_frames(tmp_path / "knows.bundle", frames)).ref
        [found] = db.view().edges(knows.source.hex(), type="knows", include_superseded=True)
        assert (found.ref, found.target) == (knows.edge.hex(), knows.target.hex())
        assert db.verify(deep=True).ok
        with pytest.raises(worlddb.UnknownEdgeType):
            db.link(team, "knows", inner)


def rehashed(frames: list[fr.AnyFrame]) -> list[fr.AnyFrame]:
    """The frames with the world hashes that belong to what they hold."""
    hashes: dict[bytes, bytes] = {}
    groups: list[list[fr.AnyFrame]] = [[]]
    for frame in frames:
        if isinstance(frame, fr.WorldFrame | fr.EndFrame):
            groups.append([])
        groups[-1].append(frame)
    for group in groups[1:-1]:
        opening = group[0]
        assert isinstance(opening, fr.WorldFrame)
        edges = [frame for frame in group if isinstance(frame, fr.EdgeFrame)]
        members: dict[bytes, bytes | None] = {e.target: hashes[e.target] for e in edges if e.type == "contains"}
        interior: dict[bytes, bytes | None] = {e.edge: b"" for e in edges if e.type != "contains"}
        body = [frame.body for frame in group if isinstance(frame, fr.VersionFrame)][-1]
        members_root = Trie(Nodes(), 16, HASH_BYTES).update(members) if members else EMPTY_ROOT
        edges_root = Trie(Nodes(), HASH_BYTES, 0).update(interior) if interior else EMPTY_ROOT
        hashes[opening.lineage] = world_hash(body, members_root, edges_root, opening.t_create)
        group[0] = msgspec.structs.replace(opening, world_hash=hashes[opening.lineage])
    heading = groups[0][0]
    assert isinstance(heading, fr.Heading)
    groups[0][0] = msgspec.structs.replace(heading, world_hash=hashes[heading.world])
    return [frame for group in groups for frame in group]


@pytest.mark.usefixtures("names_of_any_kind")
def test_names_that_look_like_paths_are_names_and_nothing_else(tmp_path):
    names = ["../../escape", "/etc/passwd", "..", "a b", "C:\\x"]
    with worlddb.open(tmp_path / "a", clock=ManualClock(), entropy=SeededEntropy(1)) as source, new_store() as db:
        box = source.create("Box", "../box").ref
        for name in names:
            source.create("Note", name, world=box, aliases=[f"../{name}"], source={"file": name})
        source.export(box, tmp_path / "out.bundle")
        source.export_jsonl(box, tmp_path / "out.jsonl")
        db.import_bundle(tmp_path / "out.bundle")
        assert [world.name for world in db.view(valid=day(10_000)).children(box)] == names
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "out.bundle", "out.jsonl"]


def test_an_edge_that_takes_the_key_of_another_is_refused(sample, tmp_path):
    folder, told = sample
    keyed = next(f for f in frames_of(folder / "team.bundle") if isinstance(f, fr.EdgeFrame) and f.keyed)
    frames = frames_of(folder / "team.bundle")
    at = frames.index(keyed)
    other = msgspec.structs.replace(keyed, valid_from=keyed.valid_from + 1)
    other = msgspec.structs.replace(other, edge=identity_of(other, other.type, bytes.fromhex(told.inner)))
    forged = rehashed([*frames[:at], other, *frames[at + 1 :]])
    with new_store() as db:
        db.import_bundle(folder / "team.bundle")
        assert refusal(db.import_bundle(write_frames(tmp_path / "forged.bundle", forged))) == "bundle_conflict"


# -- erasures


def test_a_world_that_was_erased_does_not_come_back_with_the_bundle_that_brought_it(sample, tmp_path):
    folder, told = sample
    with worlddb.open(folder / "store") as source, new_store() as db:
        db.import_bundle(folder / "team.bundle")
        db.erase(told.sarah, reason="request 114")
        again = db.import_bundle(folder / "team.bundle")
        assert again.events == 0
        assert [note.code for note in again.notes] == ["left_erased"]
        source.export(None, tmp_path / "all.bundle")
        db.import_bundle(tmp_path / "all.bundle")
        assert all(version.erased for version in db.view().history(told.sarah))
        assert db.view().find(name="Sarah Chen", include_superseded=True, world=told.team) != []
        erased = db.export(told.team, tmp_path / "erased.bundle")
        assert erased.world_hash == db.view().hash(told.team)
    whole = (tmp_path / "erased.bundle").read_bytes()
    assert "VP 東京".encode() not in whole
    with new_store() as third:
        third.import_bundle(tmp_path / "erased.bundle")
        assert third.view().hash(told.team) == erased.world_hash
        assert all(version.erased for version in third.view().history(told.sarah))
        filled = third.import_bundle(folder / "team.bundle")
        assert "texts_arrived" in [note.code for note in filled.notes]
        third.erase(told.sarah, reason="here too")


def test_a_text_that_may_not_be_written_again_does_not_come_with_a_bundle(sample):
    folder, _ = sample
    with new_store() as db:
        bad = db.create("Note", "words", content="VP 東京").ref
        db.erase(bad, reason="request 115", forbid=True)
        assert refusal(db.import_bundle(folder / "team.bundle")) == "forbidden_text"


def test_a_reference_whose_text_was_erased_before_it_came_is_not_filled(sample, tmp_path):
    folder, told = sample
    with worlddb.open(folder / "store") as source, new_store() as db:
        source.export(told.outer, tmp_path / "outer.bundle")
        db.import_bundle(folder / "team.bundle")
        db.erase(told.outer, reason="never wanted")
        db.import_bundle(tmp_path / "outer.bundle")
        assert all(version.erased for version in db.view().history(told.outer))
