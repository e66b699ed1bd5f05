"""Finds what somebody changed in the files, whichever hashes were made to fit."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

import worlddb
from tests.support.faults import forge
from worlddb.log.model import codec
from worlddb.log.model.blobs import Body
from worlddb.log.model.codec import chain_hash, events_hash
from worlddb.log.model.hashing import blob_id


@pytest.fixture
def suspect(whole: Path, tmp_path: Path) -> Path:
    return forge.copy_store(whole, tmp_path / "suspect")


def text_of(store: Path, wanted: str) -> tuple[bytes, bytes, str]:
    """Key and value of the blob with a text, and the world that it is the text of."""
    with worlddb.open(store) as db:
        entry = next(entry for entry in db.log() if entry.text == wanted)
    for key, value in forge.pairs(store):
        if key[0] == forge.BLOBS and forge.seq_of(key) == entry.seq:
            blob = codec.decode_blob(value, entry.seq)
            if isinstance(blob, Body) and blob.content == wanted:
                return key, value, entry.refs[0]
    raise AssertionError(wanted)


def forged_text(value: bytes, text: str) -> bytes:
    body = codec.decode_blob(value, 1)
    assert isinstance(body, Body)
    return codec.encode(msgspec.structs.replace(body, content=text))


def test_a_text_changed_in_the_file_is_named_with_both_texts_and_the_side_that_was_changed(
    whole: Path, suspect: Path
) -> None:
    key, value, ref = text_of(whole, "engineering lead")
    forge.rewrite(suspect, [(key, forged_text(value, "engineering fool"))])
    with worlddb.open(suspect) as db:
        assert db.verify().first_bad_seq == forge.seq_of(key)
    for pair, side in (((whole, suspect), "b"), ((suspect, whole), "a")):
        found = worlddb.diff(*pair)
        assert (found.equal, found.relation, found.deep, found.root_a) == (False, "same", True, found.root_b)
        (record,) = found.altered
        assert (record.seq, record.ref, record.side) == (forge.seq_of(key), ref, side)
        (change,) = found.worlds
        assert (change.ref, change.change) == (ref, "altered")
        texts = [(detail.field, detail.a, detail.b) for detail in change.changes]
        old, new = ("engineering lead", "engineering fool") if side == "b" else ("engineering fool", "engineering lead")
        assert texts == [("content", old, new)]
        assert {event["seq"] for event in change.events} == {record.seq}
    assert worlddb.diff(whole, suspect, deep=False).equal


def test_a_text_that_was_changed_is_found_in_a_store_that_has_gone_on_if_asked_for(whole: Path, suspect: Path) -> None:
    key, value, ref = text_of(whole, "engineering lead")
    with worlddb.open(suspect) as db:
        db.create("Note", "later")
    forge.rewrite(suspect, [(key, forged_text(value, "engineering fool"))])
    assert ref not in {change.ref for change in worlddb.diff(whole, suspect).worlds}
    found = worlddb.diff(whole, suspect, deep=True)
    assert {"altered", "added"} <= {change.change for change in found.worlds}
    assert next(change for change in found.worlds if change.change == "altered").ref == ref


def rewritten(store: Path, key: bytes, stored: bytes) -> None:
    """A forger who also recomputes every hash of the log, and leaves the tables as they are."""
    held = dict(forge.pairs(store))
    victim, place = forge.seq_of(key), int.from_bytes(key[9:], "big")
    last = max(map(forge.seq_of, held))
    changes: dict[bytes, bytes | None] = {key: stored}
    previous = b""
    for seq in range(victim, last + 1):
        commit, events_key = (bytes([kind]) + seq.to_bytes(8, "big") for kind in (forge.COMMIT, forge.EVENTS))
        header = codec.decode_header(held[commit][32:], seq)
        if seq == victim:
            events = codec.decode_events(held[events_key], seq)
            ids = events.blobs[: 32 * place] + blob_id(stored) + events.blobs[32 * place + 32 :]
            forged_events = codec.encode(msgspec.structs.replace(events, blobs=ids))
            changes[events_key] = forged_events
            header = msgspec.structs.replace(header, events_hash=events_hash(forged_events))
        else:
            header = msgspec.structs.replace(header, previous=previous)
        forged = codec.encode(header)
        previous = chain_hash(forged)
        changes[commit] = previous + forged
    changes[b"\x01head"] = previous + last.to_bytes(8, "big")
    forge.rewrite(store, changes.items())


def test_a_history_rewritten_with_fresh_hashes_parts_where_it_was_forged_and_the_world_is_named(
    whole: Path, suspect: Path
) -> None:
    key, value, ref = text_of(whole, "engineering lead")
    rewritten(suspect, key, forged_text(value, "engineering fool"))
    with worlddb.open(suspect) as db:
        assert not db.verify(deep=True).ok
    found = worlddb.diff(whole, suspect)
    assert (found.relation, found.parted) == ("relatives", forge.seq_of(key) - 1)
    (change,) = [change for change in found.worlds if change.ref == ref]
    assert (change.change, change.changes[0].a, change.changes[0].b) == (
        "altered",
        "engineering lead",
        "engineering fool",
    )
    assert {event["side"] for event in change.events} == {"a", "b"}


def test_an_author_changed_in_a_last_commit_with_fresh_hashes_is_told(whole: Path, suspect: Path) -> None:
    held = dict(forge.pairs(suspect))
    last = max(map(forge.seq_of, held))
    key = bytes([forge.COMMIT]) + last.to_bytes(8, "big")
    header = codec.decode_header(held[key][32:], last)
    forged = codec.encode(msgspec.structs.replace(header, author="somebody else"))
    chain = chain_hash(forged)
    forge.rewrite(suspect, [(key, chain + forged), (b"\x01head", chain + last.to_bytes(8, "big"))])
    found = worlddb.diff(whole, suspect)
    assert (found.equal, found.relation, found.parted) == (False, "relatives", last - 1)
    details = [detail for change in found.worlds for detail in change.changes if detail.kind == "provenance"]
    assert details and all("somebody else" in detail.b for detail in details)


def test_a_row_of_a_table_that_was_changed_is_named_with_the_world_that_it_belongs_to(
    whole: Path, suspect: Path
) -> None:
    table = forge.FIRST_TABLE + 3
    key, value = next(
        (key, value) for key, value in forge.pairs(suspect) if key[0] == table and key[1:9] == b"\0" * 7 + b"\2"
    )
    forge.rewrite(suspect, [(key, value[:40] + forge.flip_bit(value[40:48], 60) + value[48:])])
    found = worlddb.diff(whole, suspect)
    (change,) = found.worlds
    with worlddb.open(whole) as db:
        assert change.ref in {entry.refs[0] for entry in db.log() if entry.event == "created"}
    assert [detail.field for detail in change.changes] == ["valid_from (table versions)"]
    assert found.altered[0].where.startswith("table versions")


@pytest.mark.parametrize("kind", [forge.COMMIT, forge.EVENTS, forge.BLOBS])
def test_every_record_of_the_log_with_one_bit_turned_over_is_named_by_its_commit(
    kind: int, whole: Path, tmp_path: Path
) -> None:
    found_worlds = 0
    for number, (key, value) in enumerate([pair for pair in forge.pairs(whole) if pair[0][0] == kind][1:]):
        suspect = forge.copy_store(whole, tmp_path / str(number))
        forge.rewrite(suspect, [(key, forge.flip_bit(value, (977 * number) % (8 * len(value))))])
        try:
            found = worlddb.diff(whole, suspect)
        except worlddb.WorldDBError:
            continue
        assert not found.equal
        told = {record.seq for record in found.altered} | {
            event["seq"] for change in found.worlds for event in change.events
        }
        assert forge.seq_of(key) in told or found.problems, (number, key.hex())
        found_worlds += bool(found.worlds)
        shutil.rmtree(suspect)
    assert found_worlds > 3


@pytest.mark.parametrize("kind", [forge.COMMIT, forge.EVENTS, forge.BLOBS])
def test_a_missing_record_is_a_finding_or_a_typed_error(kind: int, whole: Path, tmp_path: Path) -> None:
    keys = [key for key, _ in forge.pairs(whole) if key[0] == kind]
    for number, key in enumerate(keys[1::3]):
        suspect = forge.copy_store(whole, tmp_path / str(number))
        forge.rewrite(suspect, [(key, None)])
        try:
            assert not worlddb.diff(whole, suspect).equal
        except worlddb.WorldDBError as error:
            assert error.remedy
        shutil.rmtree(suspect)


def test_damaged_tables_end_in_a_finding_and_never_in_a_traceback(whole: Path, tmp_path: Path) -> None:
    # The first table says how far the others are; tables that are not level with the log are derived anew.
    pairs = [pair for pair in forge.pairs(whole) if pair[0][0] > forge.FIRST_TABLE]
    for number, (key, value) in enumerate(pairs[7 :: len(pairs) // 60]):
        suspect = forge.copy_store(whole, tmp_path / str(number))
        cut = value[: len(value) // 2]
        forge.rewrite(suspect, [(key, cut + (b"\x02" if cut + b"\x01" == value else b"\x01"))])
        for asked in ({}, {"seq_a": 5}, {"by": "path"}):
            try:
                found = worlddb.diff(whole, suspect, **asked)
                assert asked or not found.equal
            except worlddb.WorldDBError as error:
                assert error.remedy
        shutil.rmtree(suspect)


def test_what_one_side_erased_is_told_as_erased_and_by_whom(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "memory") as db:
        secret = db.create("Note", "Her address", content="12 Canal Street")
        db.create("Note", "Her town", content="Lisbon")
    shutil.copytree(tmp_path / "memory", tmp_path / "erased")
    with worlddb.open(tmp_path / "erased", author="keeper") as db:
        db.erase(secret, reason="request 114")
        db.replay(tmp_path / "replayed", seq=3)
    found = worlddb.diff(tmp_path / "memory", tmp_path / "erased")
    (change,) = found.worlds
    assert (change.ref, change.change, found.relation) == (secret.ref, "erased", "behind")
    assert "request 114" in {detail.b for detail in change.changes}
    assert "12 Canal Street" in {detail.a for detail in change.changes}
    assert {(event["author"], event["event"]) for event in change.events} == {("keeper", "erased")}
    again = worlddb.diff(tmp_path / "memory", tmp_path / "erased", deep=True)
    assert {change.change for change in again.worlds} == {"erased"} and again.altered == ()
    replayed = worlddb.diff(tmp_path / "memory", tmp_path / "replayed")
    assert (replayed.relation, replayed.equal, replayed.altered, replayed.problems) == ("behind", False, (), ())
    (change,) = replayed.worlds
    assert (change.ref, change.change) == (secret.ref, "erased")
    assert [event["event"] for event in change.events] == ["erased_elsewhere"]
    assert ("content", "12 Canal Street", "(no text: erased)") in {(d.field, d.a, d.b) for d in change.changes}
