"""A bundle checks itself: any change, cut, forgery or omission names its frame."""

from __future__ import annotations

import errno
import io
import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import zstandard

import worlddb
from tests.house.test_docs import text_of
from tests.house.test_docs_facts import quoted, rows, section
from tests.support.bundling import SampleRefs, build_sample_store, export_tiny_bundle, frames_of, write_frames
from worlddb import InputError, InvalidBundle, NewerFormat, WorldDBError
from worlddb.log.model import bundle as fr
from worlddb.log.model import codec, limits
from worlddb.log.model.blobs import Body, Secret
from worlddb.log.model.bundle_values import identity_of
from worlddb.log.model.hashing import blob_id
from worlddb.log.store import bundle_file
from worlddb.log.store.bundle_contents import Bundle, CheckedFrames
from worlddb.log.store.bundle_file import BundleReader

Frames = list[fr.AnyFrame]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SampleRefs]:
    folder = tmp_path_factory.mktemp("bundle")
    told = build_sample_store(folder / "store")
    with worlddb.open(folder / "store") as db:
        db.export(told.team, folder / "team.bundle")
        db.export(told.team, folder / "bare.bundle", proof=False)
    return folder, told


@pytest.fixture
def frames(sample: tuple[Path, SampleRefs]) -> Frames:
    """The frames without a proof; ``test_bundle_proof.py`` has the checks of the proof."""
    return frames_of(sample[0] / "bare.bundle")


def refused(path: Path) -> InvalidBundle:
    with pytest.raises(InvalidBundle) as caught:
        worlddb.check_bundle(path)
    assert caught.value.remedy
    return caught.value


def checked(whole: bytes) -> Bundle:
    """As ``check_bundle``, without a file."""
    return CheckedFrames(BundleReader(io.BytesIO(whole), "in memory")).bundle()


def test_a_bundle_states_what_it_holds_and_is_the_same_bytes_every_time(sample, tmp_path):
    folder, told = sample
    with worlddb.open(folder / "store") as db:
        stated = worlddb.check_bundle(folder / "team.bundle")
        assert (stated.world, stated.world_hash) == (told.team, db.view().hash(told.team))
        assert (stated.store_id, stated.seq) == (db.head().store_id, db.head().seq)
        assert stated.worlds == 1 + len(db.view().find(world=told.team, include_superseded=True))
        assert stated.size == (folder / "team.bundle").stat().st_size
        assert db.export(told.team, tmp_path / "again.bundle") == stated
        assert (tmp_path / "again.bundle").read_bytes() == (folder / "team.bundle").read_bytes()
        packed = db.export(told.team, tmp_path / "packed.zst")
    assert packed == stated == worlddb.check_bundle(tmp_path / "packed.zst")
    assert (tmp_path / "packed.zst").stat().st_size < stated.size


def test_every_earlier_moment_can_be_exported_and_has_the_hash_of_then(sample, tmp_path):
    folder, told = sample
    with worlddb.open(folder / "store") as db:
        for seq in range(1, db.head().seq):
            assert db.export(None, tmp_path / f"{seq}.bundle", seq=seq).world_hash == db.view(seq=seq).hash()
        for seq in range(10, db.head().seq):
            assert db.export(told.inner, tmp_path / f"inner-{seq}", seq=seq).world_hash == db.view(seq=seq).hash(
                told.inner
            )


def test_a_file_that_is_there_is_not_overwritten_unless_that_was_asked_for(sample, tmp_path):
    folder, told = sample
    there = tmp_path / "there"
    there.write_text("precious")
    with worlddb.open(folder / "store") as db:
        with pytest.raises(InputError, match="exists already"):
            db.export(told.inner, there)
        assert there.read_text() == "precious"
        db.export(told.inner, there, overwrite=True)
        with pytest.raises(WorldDBError):
            db.export(told.inner, tmp_path / "no" / "such" / "folder")
    assert worlddb.check_bundle(there).world == told.inner
    assert [entry.name for entry in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize("can_link", [True, False])
def test_a_file_that_another_export_finished_meanwhile_is_not_overwritten(tmp_path, monkeypatch, can_link):
    """Two exports to one new name were both acknowledged, and the first was gone."""
    if not can_link:
        monkeypatch.setattr(os, "link", refuse_link)
    place = tmp_path / "one"
    write = partial(bundle_file.new_file, place, store=tmp_path, overwrite=False)
    with pytest.raises(InputError, match="exists already"), write() as late:
        late.write(b"late")
        with write() as early:
            early.write(b"early")
    assert place.read_bytes() == b"early"
    assert [entry.name for entry in tmp_path.iterdir()] == ["one"]


@pytest.mark.parametrize("is_full", ["target", "store"])
def test_a_full_disk_is_named_whether_it_is_the_stores_or_that_of_the_file(tmp_path, monkeypatch, is_full):
    """The file on another disk was blamed when the store's had no room for a note."""
    (tmp_path / "store").mkdir()
    (tmp_path / "target").mkdir()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(*((os, "fsync") if is_full == "target" else (Path, "write_bytes")), full)
    place = tmp_path / "target" / "one"
    write = partial(bundle_file.new_file, place, store=tmp_path / "store", overwrite=False)
    with pytest.raises(worlddb.DiskFull) as raised, write() as file:
        file.write(b"some")
    assert ("in the store" in raised.value.message) == (is_full == "store")
    assert (f"{str(place)!r} cannot be written" in raised.value.message) == (is_full == "target")
    assert not [*(tmp_path / "store").iterdir(), *(tmp_path / "target").iterdir()]


def refuse_link(*_):
    raise PermissionError(errno.EPERM, "no links here")


def test_an_export_replaces_nothing_of_a_store_also_through_links(sample, tmp_path):
    """It took the data file of another store, or of its own, for an older export and put itself in its place."""
    folder, _ = sample
    with worlddb.open(tmp_path / "other") as other:
        other.create("Note", "kept")
    (tmp_path / "folder").symlink_to(tmp_path / "other")
    (tmp_path / "soft.jsonl").symlink_to(tmp_path / "other" / "data.mdb")
    (tmp_path / "hard.wdb").hardlink_to(tmp_path / "other" / "data.mdb")
    (tmp_path / "other" / "notes").write_text("precious")
    before = (tmp_path / "other" / "data.mdb").read_bytes()
    with worlddb.open(folder / "store") as db:
        for place in ("other/data.mdb", "other/lock.mdb", "other/notes", "folder/data.mdb", "soft.jsonl", "hard.wdb"):
            for export in (db.export, db.export_jsonl):
                with pytest.raises(InputError, match="lies in a store"):
                    export(None, tmp_path / place, overwrite=True)
    assert (tmp_path / "other" / "data.mdb").read_bytes() == before
    assert (tmp_path / "other" / "notes").read_text() == "precious"
    with worlddb.open(tmp_path / "other") as other:
        assert other.verify(deep=True).ok


def test_every_changed_byte_is_refused(tmp_path):
    whole = export_tiny_bundle(tmp_path, "tiny.bundle").read_bytes()
    draw = random.Random(1)
    for at in range(len(whole)):
        forged = bytearray(whole)
        forged[at] ^= draw.randrange(1, 256)
        with pytest.raises((InvalidBundle, NewerFormat)):
            checked(bytes(forged))


def test_a_compressed_bundle_that_is_cut_anywhere_is_told_as_cut_short(tmp_path):
    whole = export_tiny_bundle(tmp_path, "tiny.zst").read_bytes()
    cut = tmp_path / "cut.zst"
    for length in (9, 20, len(whole) // 2, len(whole) - 10):
        cut.write_bytes(whole[:length])
        with pytest.raises(InvalidBundle, match="cut short"):
            worlddb.check_bundle(cut)


def test_a_changed_byte_of_a_compressed_bundle_is_refused_or_changes_nothing_that_was_compressed(tmp_path):
    whole = export_tiny_bundle(tmp_path, "tiny.zst").read_bytes()
    changed = tmp_path / "changed.zst"
    stated = worlddb.check_bundle(tmp_path / "tiny.zst")
    draw = random.Random(2)
    harmless = 0
    for at in range(len(whole)):
        forged = bytearray(whole)
        forged[at] ^= draw.randrange(1, 256)
        changed.write_bytes(forged)
        try:
            assert worlddb.check_bundle(changed) == stated
            harmless += 1
        except (InvalidBundle, NewerFormat):
            continue
    assert harmless < 10, "a few bits of the compression's own header are all that may change"


def test_a_truncated_bundle_is_refused_at_every_length(tmp_path):
    whole = export_tiny_bundle(tmp_path, "tiny.bundle").read_bytes()
    for length in range(len(whole)):
        with pytest.raises(InvalidBundle):
            checked(whole[:length])
    with pytest.raises(InvalidBundle, match="something follows"):
        checked(whole + b"\x00")
    assert checked(whole) == worlddb.check_bundle(tmp_path / "tiny.bundle")


def test_a_bundle_is_refused_without_any_of_the_frames_that_its_hashes_cover(sample, tmp_path):
    """An alias, an end, a retraction or an undecided proposal may be left out by a forger: that is what the bundle's
    own hash is for."""
    frames = frames_of(sample[0] / "bare.bundle")
    uncovered = (fr.AliasFrame, fr.EndedFrame, fr.RetractedFrame)
    left_out = 0
    for at, frame in enumerate(frames):
        pending = isinstance(frame, fr.ProposalFrame) and [name for name, _, _ in frame.decisions] != ["accepted"]
        if not pending and not isinstance(frame, uncovered):
            refused(write_frames(tmp_path / "cut.bundle", frames[:at] + frames[at + 1 :]))
            left_out += 1
    assert left_out > 60


def replace(frames: Frames, kind: type, change: Callable[..., fr.AnyFrame], which: int = 0) -> Frames:
    """The frames with the ``which``-th of a kind changed."""
    at = [number for number, frame in enumerate(frames) if isinstance(frame, kind)][which]
    return [*frames[:at], change(frames[at]), *frames[at + 1 :]]


def with_values(**values: object) -> Callable[..., fr.AnyFrame]:
    return lambda frame: msgspec.structs.replace(frame, **values)


def another_text(frame: fr.BlobFrame) -> fr.BlobFrame:
    blob = codec.decode_blob(frame.stored, 0)
    assert isinstance(blob, Body)
    return fr.BlobFrame(codec.encode(msgspec.structs.replace(blob, content=blob.content + "!")))


def undone(frame: fr.ProposalFrame) -> fr.AnyFrame:
    return msgspec.structs.replace(frame, decisions=[*frame.decisions, *frame.decisions])


FORGERIES: dict[str, tuple[type, Callable[..., fr.AnyFrame], str]] = {
    "another text under the same id": (fr.BlobFrame, another_text, "is missing"),
    "another world hash at the top": (
        fr.Heading,
        with_values(world_hash=bytes(32)),
        "is not the one that the bundle states",
    ),
    "another world": (fr.Heading, with_values(world=bytes(16)), "is not the one that the bundle states"),
    "a world hash of its own": (fr.WorldFrame, with_values(world_hash=bytes(32)), "states a hash that does not match"),
    "another time of creation": (fr.WorldFrame, with_values(t_create=1), "states a hash that does not match"),
    "an edge of another nonce": (fr.EdgeFrame, with_values(nonce=bytes(16)), "does not match its content"),
    "an edge to another version": (fr.EdgeFrame, with_values(target_body=bytes(32)), "that version is another"),
    "an edge of another ordinal": (fr.EdgeFrame, with_values(target_version=7), "as version 7"),
    "an edge of another type": (fr.EdgeFrame, with_values(type="implies"), "does not match its content"),
    "a proposal of another nonce": (fr.ProposalFrame, with_values(nonce=bytes(16)), "does not match its content"),
    "a proposal nobody accepted": (fr.ProposalFrame, with_values(decisions=[]), "no accepted proposal"),
    "a proposal undone twice": (fr.ProposalFrame, undone, "has impossible decisions"),
    "a validity that ends too early": (fr.VersionFrame, with_values(valid_to=-(2**62)), "a time is"),
    "a validity that was reopened": (fr.VersionFrame, with_values(born_to=0, valid_from=0), "later than its first"),
    "a version without a text": (fr.VersionFrame, with_values(body=bytes(32)), "is missing"),
    "details as a text": (fr.VersionFrame, lambda f: with_values(details=f.body)(f), "is not details"),
    "a commit that is not there": (fr.VersionFrame, with_values(seq=4711), "commit 4711 is missing"),
    "an alias that is not there": (fr.AliasFrame, with_values(position=9), "has no alias 9"),
    "an outside world with no versions": (fr.OutsideFrame, with_values(versions=[]), "has no version"),
    "another outside world": (fr.OutsideFrame, with_values(lineage=bytes(16)), "no edge leads there"),
    "a count of its own": (fr.EndFrame, with_values(worlds=1), "it counts"),
    "half an id": (fr.WorldFrame, with_values(lineage=b"half"), "has 4 bytes, not 16"),
    "a list cut short": (fr.RetractedFrame, with_values(edges=b"short"), "cut short"),
    "an author without a name": (fr.CommitFrame, with_values(author=""), "an author is empty"),
    "a store's secret": (fr.BlobFrame, lambda f: fr.BlobFrame(codec.encode(Secret(bytes(16), b""))), "neither"),
    "bytes that are no blob": (fr.BlobFrame, with_values(stored=b"\x93\x01"), "neither a body nor details"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forger_who_computes_all_frame_hashes_again_is_found(forgery, frames, tmp_path):
    kind, change, told = FORGERIES[forgery]
    error = refused(
        write_frames(tmp_path / "forged.bundle", replace(frames, kind, change), counted=kind is not fr.EndFrame)
    )
    assert told in error.message, error.message
    assert error.details["frame"] >= 1
    assert f"frame {error.details['frame']}" in error.message


def test_a_cycle_of_containment_cannot_be_written(frames, tmp_path):
    """A container stands behind its members, so one of the memberships of a cycle must lead to what has not come."""
    groups: list[Frames] = []
    for frame in frames:
        if isinstance(frame, fr.WorldFrame | fr.Heading | fr.EndFrame):
            groups.append([])
        groups[-1].append(frame)
    turned = [groups[0], *groups[-2:0:-1], groups[-1]]
    error = refused(write_frames(tmp_path / "turned.bundle", [frame for group in turned for frame in group]))
    assert "missing" in error.message or "cycle" in error.message
    contains = next(f for f in frames if isinstance(f, fr.EdgeFrame) and f.type == "contains")
    itself = msgspec.structs.replace(contains, target=contains.source, target_body=contains.source_body)
    itself = msgspec.structs.replace(itself, edge=identity_of(itself, "contains", itself.source))
    error = refused(write_frames(tmp_path / "itself.bundle", replace(frames, fr.EdgeFrame, lambda _: itself, 0)))
    assert "cycle" in error.message or "another world" in error.message


def test_unreferenced_records_in_a_bundle_are_refused(frames, tmp_path):
    stray = Body(bytes(16), "Note", "stray", "nobody asked for it")
    with_stray = [frames[0], fr.BlobFrame(codec.encode(stray)), *frames[1:]]
    error = refused(write_frames(tmp_path / "stray.bundle", with_stray))
    assert "a blob that no frame names" in error.message
    alone = [fr.WorldFrame(bytes(16), bytes(32), 0, 0)]
    assert (
        "has no version" in refused(write_frames(tmp_path / "alone.bundle", [*frames[:-1], *alone, frames[-1]])).message
    )
    assert refused(write_frames(tmp_path / "two.bundle", [frames[0], *frames])).details["frame"] == 2
    assert refused(write_frames(tmp_path / "none.bundle", frames[1:])).details["frame"] == 1
    assert blob_id(codec.encode(stray)).hex()[:12] in error.message


def test_each_world_gives_what_it_has_of_a_text_that_its_fork_has_not(tmp_path):
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        world = db.create("Topic", "world").ref
        note = db.create("Note", "note", content="kept", world=world, resolve=False).ref
        db.erase(db.fork(note).ref, reason="R-1")
        db.export(world, tmp_path / "world.bundle")
    frames = frames_of(tmp_path / "world.bundle")
    heading = frames[0]
    assert isinstance(heading, fr.Heading) and heading.format == fr.TWIN_FORMAT
    body = next(frame.body for frame in frames if isinstance(frame, fr.VersionFrame))
    places = [
        at
        for at, frame in enumerate(frames)
        if (isinstance(frame, fr.ErasedFrame) and frame.blob == body)
        or (isinstance(frame, fr.BlobFrame) and blob_id(frame.stored) == body)
    ]
    assert len(places) == 2 and len({type(frames[at]) for at in places}) == 2
    first, second = places
    stray = fr.BlobFrame(codec.encode(Body(bytes(16), "Note", "stray", "nobody asked for it")))
    as_before = [msgspec.structs.replace(heading, format=fr.BUNDLE_FORMAT), *frames[1:]]
    for changed, told in (
        ([*frames[: first + 1], *frames[first:]], "is given twice"),
        ([frames[0], frames[first], *frames[1:]], "is given twice"),
        ([frames[0], stray, *frames[1:]], "a blob that no frame names"),
        ([*frames[:second], *frames[second + 1 :]], "no blob occurs more than once"),
        ([*frames[: second + 1], *frames[first:second], *frames[second + 1 :]], "is given twice"),
        (as_before, "is given twice"),
    ):
        assert told in refused(write_frames(tmp_path / "bad.bundle", changed)).message


def test_lengths_nesting_and_amounts_have_bounds(sample, frames, tmp_path, monkeypatch):
    bad = tmp_path / "bad.bundle"
    bad.write_bytes(fr.MAGIC + b"\xff\xff\xff\xff" + b"x" * 100)
    assert "above the limit" in refused(bad).message
    deep = b"\x92\xa4blob" + b"\x91" * 200_000
    bad.write_bytes(fr.MAGIC + len(deep).to_bytes(4, "big") + deep + bytes(32))
    assert "hash" in refused(bad).message
    nested = b"\x96\xa7details\xc4\x10" + bytes(16) + b"\x90\xa0\x81\xa1a" + b"\x91" * 200_000 + b"\xc0\x80"
    assert refused(write_frames(bad, [frames[0], fr.BlobFrame(nested)])).details["frame"] == 2
    bomb = tmp_path / "bomb.zst"
    bomb.write_bytes(zstandard.compress(fr.MAGIC + bytes(300_000_000)))
    assert bomb.stat().st_size < 100_000
    assert refused(bomb).details["frame"] == 1
    monkeypatch.setattr(limits, "MAX_BUNDLE_BYTES", 1_000)
    assert "more than 1,000 bytes" in refused(sample[0] / "team.bundle").message
    monkeypatch.setattr(limits, "MAX_BUNDLE_BYTES", 10**9)
    monkeypatch.setattr(limits, "MAX_BUNDLE_FRAMES", 9)
    assert "more than 9 frames" in refused(sample[0] / "team.bundle").message
    with worlddb.open(sample[0] / "store") as db, pytest.raises(worlddb.LimitExceeded):
        db.export(sample[1].team, tmp_path / "large.bundle")
    assert not (tmp_path / "large.bundle").exists()


def test_other_files_are_distinguished_from_bundles(sample, tmp_path):
    for name, content in {
        "talk.jsonl": b'{"speaker": "Ann", "text": "hello"}\n',
        "empty": b"",
        "zip": b"PK\x03\x04",
    }.items():
        (tmp_path / name).write_bytes(content)
        error = refused(tmp_path / name)
        assert "is not a bundle" in error.message
        assert "worlddb ingest" in error.remedy
    (tmp_path / "newer").write_bytes((sample[0] / "team.bundle").read_bytes().replace(b"bundle 1\n", b"bundle 4\n", 1))
    with pytest.raises(NewerFormat, match="format 4"):
        worlddb.check_bundle(tmp_path / "newer")
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(InputError):
            worlddb.check_bundle(path)


def test_an_export_of_a_damaged_store_leaves_no_bundle(sample, tmp_path, monkeypatch):
    monkeypatch.setattr("worlddb.log.model.hashing.blob_id", lambda stored: bytes(32))
    with worlddb.open(sample[0] / "store") as db, pytest.raises(worlddb.DamagedStore):
        db.export(sample[1].team, tmp_path / "damaged.bundle")
    assert list(tmp_path.iterdir()) == []


def test_the_fields_of_every_frame_are_on_the_page_about_bundles():
    listed = rows(section(text_of("docs/bundles.md"), "## The file, byte by byte"))
    told = {quoted(row[0])[0]: tuple(quoted(row[1])) for row in listed}
    kinds = get_args(fr.AnyFrame)
    assert told == {str(kind.__struct_config__.tag): kind.__struct_fields__ for kind in kinds}
    assert set(kinds) == set(fr.Frame.__subclasses__())
