"""Forges records with knowledge of the format: it is found, and its commit is named."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import lmdb
import msgspec
import pytest

import worlddb
from tests.support.faults import forge
from tests.support.faults.damaged import reported_seq, use_everything, verify_or_error
from worlddb.log.model import codec
from worlddb.log.model.blobs import Body
from worlddb.log.model.codec import chain_hash, events_hash
from worlddb.log.model.events import Created
from worlddb.log.model.hashing import blob_id
from worlddb.log.store.log import Head, LmdbLog

HEAD_KEY = b"\x01head"
PLAIN_FLIPS, SOAK_FLIPS = 120, 1000


def test_a_rewritten_commit_with_a_hash_that_fits_breaks_the_link_to_the_next(store: Path) -> None:
    held = dict(forge.pairs(store))
    key = bytes([forge.COMMIT]) + (9).to_bytes(8, "big")
    header = codec.decode_header(held[key][32:], 9)
    forged = codec.encode(msgspec.structs.replace(header, author="somebody else"))
    forge.rewrite(store, [(key, chain_hash(forged) + forged)])
    found = verify_or_error(store)
    assert isinstance(found, worlddb.Verified)
    assert found.first_bad_seq == 10
    assert "does not follow commit 9" in found.findings[0].problem


def test_a_history_rewritten_to_its_end_is_found_by_a_deep_verification_and_by_a_noted_head(store: Path) -> None:
    """A forger who changes a text and every hash after it leaves a sound chain, but not the worlds' hashes.

    One who leaves the tables alone is betrayed by their tree over the commits; see test_head.py for one who does not.
    """
    with worlddb.open(store, author="x") as db:
        noted = db.head()
        victim = next(entry.seq for entry in db.log() if entry.text == "engineering lead")
    held = dict(forge.pairs(store))
    changes: dict[bytes, bytes | None] = {}
    previous = b""
    for seq in range(victim, noted.seq + 1):
        commit, events_key = (bytes([kind]) + seq.to_bytes(8, "big") for kind in (forge.COMMIT, forge.EVENTS))
        header = codec.decode_header(held[commit][32:], seq)
        if seq == victim:
            events = codec.decode_events(held[events_key], seq)
            place = next(
                position
                for position in range(events.blob_count)
                if isinstance(body := codec.decode_blob(held[blob_key(seq, position)], seq), Body)
                and body.content == "engineering lead"
            )
            body = codec.decode_blob(held[blob_key(seq, place)], seq)
            stored = codec.encode(msgspec.structs.replace(body, content="engineering fool"))
            ids = events.blobs[: 32 * place] + blob_id(stored) + events.blobs[32 * place + 32 :]
            forged_events = codec.encode(msgspec.structs.replace(events, blobs=ids))
            changes |= {blob_key(seq, place): stored, events_key: forged_events}
            header = msgspec.structs.replace(header, events_hash=events_hash(forged_events))
        else:
            header = msgspec.structs.replace(header, previous=previous)
        forged = codec.encode(header)
        previous = chain_hash(forged)
        changes[commit] = previous + forged
    changes[HEAD_KEY] = previous + noted.seq.to_bytes(8, "big")
    forge.rewrite(store, changes.items())
    shallow, deep = verify_or_error(store), verify_or_error(store, deep=True)
    assert isinstance(shallow, worlddb.Verified) and shallow.first_bad_seq == noted.seq
    assert "tree over the commits" in shallow.findings[0].problem
    assert isinstance(deep, worlddb.Verified) and deep.first_bad_seq == victim
    with worlddb.open(store, author="x") as db:
        assert db.head().chain != noted.chain


def blob_key(seq: int, position: int) -> bytes:
    return bytes([forge.BLOBS]) + seq.to_bytes(8, "big") + position.to_bytes(4, "big")


@pytest.mark.parametrize("kind", [forge.COMMIT, forge.EVENTS, forge.BLOBS])
@pytest.mark.parametrize("seq", [1, 2, 9, 15, "last"])
def test_what_is_deleted_from_a_commit_is_missed_and_named(kind: int, seq: int | str, store: Path) -> None:
    number = seq if isinstance(seq, int) else max(forge.seq_of(key) for key, _ in forge.pairs(store))
    assert forge.delete(store, lambda key: key[0] == kind and forge.seq_of(key) == number)
    assert reported_seq(verify_or_error(store)) == number
    use_everything(store)


def test_every_single_deleted_blob_is_missed_and_named(whole: Path, tmp_path: Path) -> None:
    blobs = [key for key, _ in forge.pairs(whole) if key[0] == forge.BLOBS]
    for key in blobs:
        damaged = forge.copy_store(whole, tmp_path / key.hex())
        forge.rewrite(damaged, [(key, None)])
        found = verify_or_error(damaged)
        assert reported_seq(found) == forge.seq_of(key), key.hex()
        shutil.rmtree(damaged)
    assert len(blobs) > 40


def test_commits_deleted_whole_are_missed_in_the_middle_and_at_the_end(whole: Path, tmp_path: Path) -> None:
    last = max(forge.seq_of(key) for key, _ in forge.pairs(whole))
    for gone in ([7], [7, 8, 9], [last], [last - 1, last]):
        damaged = forge.copy_store(whole, tmp_path / str(gone))
        assert forge.delete(damaged, partial(_is_in, gone))
        assert reported_seq(verify_or_error(damaged)) == gone[0], gone


def _is_in(seqs: list[int], key: bytes) -> bool:
    return forge.seq_of(key) in seqs


def test_a_head_that_was_set_back_is_found_and_nothing_is_written_over(store: Path) -> None:
    held = dict(forge.pairs(store))
    last = max(forge.seq_of(key) for key in held)
    before = bytes([forge.COMMIT]) + (last - 1).to_bytes(8, "big")
    forge.rewrite(store, [(HEAD_KEY, held[before][:32] + (last - 1).to_bytes(8, "big"))])
    assert reported_seq(verify_or_error(store)) == last
    with pytest.raises(worlddb.DamagedStore, match=f"there was a commit {last}"):
        worlddb.open(store, author="x")
    # Even without the tables, which know better, the last commit is not written over.
    forge.delete(store, lambda key: key[0] >= forge.FIRST_TABLE)
    with pytest.raises(worlddb.DamagedStore, match=f"there was a commit {last}"):
        worlddb.open(store, author="x")
    assert dict(forge.pairs(store)).items() >= {pair for pair in held.items() if forge.seq_of(pair[0])}


def test_a_log_cut_short_with_its_head_is_betrayed_by_the_tables(store: Path) -> None:
    held = dict(forge.pairs(store))
    last = max(forge.seq_of(key) for key in held)
    before = bytes([forge.COMMIT]) + (last - 1).to_bytes(8, "big")
    forge.delete(store, lambda key: forge.seq_of(key) == last)
    forge.rewrite(store, [(HEAD_KEY, held[before][:32] + (last - 1).to_bytes(8, "big"))])
    with pytest.raises(worlddb.DamagedStore, match=f"there was a commit {last}") as caught:
        worlddb.open(store, author="x")
    assert caught.value.details["seq"] == last


def test_a_log_that_says_it_ends_too_early_is_never_appended_to(store: Path) -> None:
    with worlddb.open(store, author="x") as db:
        head = db.head()

        def append_again(txn: lmdb.Transaction) -> None:
            log = LmdbLog(txn)
            record = next(log.read(head.seq, head.seq))[1]
            before = Head(head.seq - 1, log.chain(head.seq - 1))
            txn.put(HEAD_KEY, before.chain + before.seq.to_bytes(8, "big"))
            log.append(record, head.seq, before)

        with pytest.raises(worlddb.DamagedStore, match=f"there is a commit {head.seq}"):
            db._env.write(append_again)
        assert db.head() == head


def test_a_head_that_is_gone_or_cut_short_is_found_and_nothing_is_written_over(whole: Path, tmp_path: Path) -> None:
    held = dict(forge.pairs(whole))
    for name, value in (("gone", None), ("short", held[HEAD_KEY][:20]), ("beyond", b"x" * 32 + b"\xff" * 8)):
        damaged = forge.copy_store(whole, tmp_path / name)
        forge.rewrite(damaged, [(HEAD_KEY, value)])
        found = verify_or_error(damaged)
        assert not (isinstance(found, worlddb.Verified) and found.ok), name
        use_everything(damaged)
        kept = dict(forge.pairs(damaged))
        assert all(kept[key] == value for key, value in held.items() if forge.seq_of(key)), name


def test_a_verification_beside_a_writer_finds_nothing(tmp_path: Path) -> None:
    """Commits that arrive between its steps were taken for damage once."""
    with worlddb.open(tmp_path / "store", author="x") as db:
        for number in range(5):
            db.create("Fact", str(number))
        told: list[tuple[int, int]] = []

        def write_meanwhile(done: int, of: int) -> None:
            told.append((done, of))
            db.create("Fact", f"meanwhile {len(told)}")

        assert db.verify(progress=write_meanwhile).ok
        assert db.verify(deep=True, progress=write_meanwhile).ok
        assert len(told) >= 3


def test_the_log_names_a_record_that_cannot_be_decoded(store: Path) -> None:
    key, value = next(pair for pair in forge.pairs(store) if pair[0][0] == forge.EVENTS and forge.seq_of(pair[0]) == 5)
    forge.rewrite(store, [(key, b"\xc1" * len(value))])
    with (
        worlddb.open(store, author="x") as db,
        db._env.read() as txn,
        pytest.raises(worlddb.DamagedStore) as caught,
    ):
        LmdbLog(txn).events(5)
    assert caught.value.details["seq"] == 5


def test_an_event_that_fits_into_no_row_is_damage_that_names_its_commit(store: Path) -> None:
    """A flipped bit had made a time of 64 bits without a sign, and a rebuild ended in the error of packing it."""
    for seq in range(2, 6):
        key = bytes([forge.EVENTS]) + seq.to_bytes(8, "big")
        events = codec.decode_events(dict(forge.pairs(store))[key], seq)
        if isinstance(events.events[0], Created):
            changed = msgspec.structs.replace(events.events[0], valid_to=2**64 - 1)
            whole = msgspec.structs.replace(events, events=[changed, *events.events[1:]])
            forge.rewrite(store, [(key, codec.encode(whole))])
            break
    with worlddb.open(store, author="x") as db, pytest.raises(worlddb.DamagedStore) as caught:
        db.rebuild("tables")
    assert caught.value.details["seq"] == seq
