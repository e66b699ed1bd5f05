"""Flips single bits anywhere in a store: each is found, and its commit is named."""

from __future__ import annotations

import random
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest

import worlddb
from tests.support.faults import forge
from tests.support.faults.answers import answers
from tests.support.faults.children import PATIENCE_SECONDS, Acknowledged, start, wait_for_exit
from tests.support.faults.damaged import reported_seq, use_everything, verify_or_error
from tests.support.faults.jobs import flip_raw_bits

HEAD_KEY = b"\x01head"
PLAIN_FLIPS, SOAK_FLIPS = 60, 1000


def flip_log_bits(whole: Path, folder: Path, seed: int, count: int) -> Counter[str]:
    """Flip bits of headers, events and blobs one at a time; each must be found and named."""
    rng = random.Random(seed)
    kinds = {0x02: "header", 0x03: "events", 0x04: "blob"}
    held = [(key, value) for key, value in forge.pairs(whole) if key[0] in kinds]
    hit: Counter[str] = Counter()
    for number in range(count):
        key, value = rng.choice(held)
        bit = rng.randrange(len(value) * 8)
        damaged = forge.copy_store(whole, folder / str(number))
        forge.rewrite(damaged, [(key, forge.flip_bit(value, bit))])
        found = verify_or_error(damaged)
        assert reported_seq(found) == forge.seq_of(key), f"bit {bit} of {key.hex()}: {found}"
        if number % 8 == 0:
            use_everything(damaged)
        hit[kinds[key[0]]] += 1
        shutil.rmtree(damaged)
    return hit


def test_each_flipped_bit_in_the_log_is_found_and_its_commit_named(whole: Path, tmp_path: Path, seed: int) -> None:
    hit = flip_log_bits(whole, tmp_path, seed, PLAIN_FLIPS)
    assert min(hit.values()) > 5 and len(hit) == 3


def test_each_flipped_bit_of_an_erasing_commit_is_found_and_no_other_commit_is_blamed(
    whole: Path, tmp_path: Path
) -> None:
    with worlddb.open(whole, author="x") as db:
        erasing = {entry.seq for entry in db.log() if entry.event == "erased"}
    events = [pair for pair in forge.pairs(whole) if pair[0][0] == forge.EVENTS and forge.seq_of(pair[0]) in erasing]
    assert events
    for key, value in events:
        for bit in range(5, len(value) * 8, 37):
            damaged = forge.copy_store(whole, tmp_path / f"{key.hex()} {bit}")
            forge.rewrite(damaged, [(key, forge.flip_bit(value, bit))])
            found = verify_or_error(damaged)
            assert reported_seq(found) == forge.seq_of(key), f"bit {bit} of {key.hex()}: {found}"
            shutil.rmtree(damaged)


def flip_table_bits(whole: Path, folder: Path, seed: int, count: int) -> set[int]:
    """Flip bits of table rows and return the tables hit; progress has a test of its own."""
    rng = random.Random(seed)
    held = [(key, value) for key, value in forge.pairs(whole) if key[0] > forge.FIRST_TABLE and value]
    hit = set()
    for number in range(count):
        key, value = rng.choice(held)
        damaged = forge.copy_store(whole, folder / str(number))
        forge.rewrite(damaged, [(key, forge.flip_bit(value, rng.randrange(len(value) * 8)))])
        found = verify_or_error(damaged, deep=True)
        assert isinstance(found, worlddb.Verified) and not found.ok, f"{key.hex()}: {found}"
        if number % 8 == 0:
            use_everything(damaged)
        hit.add(key[0])
        shutil.rmtree(damaged)
    return hit


def test_each_changed_table_row_is_found_by_a_deep_verification(whole: Path, tmp_path: Path, seed: int) -> None:
    assert len(flip_table_bits(whole, tmp_path, seed, 40)) >= 5


def test_a_table_pair_that_is_missing_or_too_many_is_found_by_a_deep_verification(whole: Path, tmp_path: Path) -> None:
    held = [pair for pair in forge.pairs(whole) if pair[0][0] > forge.FIRST_TABLE]
    for table in sorted({key[0] for key, _ in held}):
        key, value = next(pair for pair in held if pair[0][0] == table)
        for name, change in (("missing", (key, None)), ("too many", (key + b"\x00", value))):
            damaged = forge.copy_store(whole, tmp_path / f"{name} {table}")
            forge.rewrite(damaged, [change])
            found = verify_or_error(damaged, deep=True)
            assert isinstance(found, worlddb.Verified) and not found.ok, f"{name} in table {table:#x}"


def test_tables_that_say_they_are_elsewhere_than_the_log_are_made_anew(whole: Path, tmp_path: Path) -> None:
    key, value = next(pair for pair in forge.pairs(whole) if pair[0][0] == forge.FIRST_TABLE)
    with worlddb.open(whole, author="x") as db:
        expected = answers(db.view(valid="2027-01-01"))
    for bit in (56, 57, 58, 60, 63, 5, 0):
        damaged = forge.copy_store(whole, tmp_path / str(bit))
        forge.rewrite(damaged, [(key, forge.flip_bit(value, bit))])
        with worlddb.open(damaged, author="x") as db:
            assert answers(db.view(valid="2027-01-01")) == expected
            assert db.verify(deep=True).ok


@pytest.mark.parametrize("text", ["engineering lead", "the team sits in Bern", "for what is over", "a green lamp"])
def test_a_bit_flipped_in_the_file_where_a_text_lies_is_found_and_its_commit_named(text: str, store: Path) -> None:
    with worlddb.open(store, author="x") as db:
        written = {entry.seq for entry in db.log() if text in entry.text or text in entry.why}
    data = bytearray((store / "data.mdb").read_bytes())
    places = [at for at in range(len(data)) if data.startswith(text.encode(), at)]
    assert places and written
    for at in places:
        data[at + 3] ^= 0x01
    (store / "data.mdb").write_bytes(data)
    found = verify_or_error(store)
    assert isinstance(found, worlddb.Verified) and found.first_bad_seq in written
    assert "not what was written" in found.findings[0].problem


@pytest.mark.parametrize("kind", [forge.COMMIT, forge.EVENTS, forge.BLOBS, 0x01])
def test_a_bit_flipped_in_the_file_where_a_record_lies_is_found_and_its_commit_named(kind: int, store: Path) -> None:
    records = [pair for pair in forge.pairs(store) if pair[0][0] == kind and pair[0] != b"\x01format"]
    for key, value in records[:: max(1, len(records) // 6)]:
        data = bytearray((store / "data.mdb").read_bytes())
        places = [at for at in range(len(data)) if data.startswith(value, at)]
        assert places, key.hex()
        damaged = forge.copy_store(store, store.with_name(key.hex()))
        for at in places:
            data[at + len(value) // 2] ^= 0x10
        (damaged / "data.mdb").write_bytes(data)
        found = verify_or_error(damaged)
        assert not (isinstance(found, worlddb.Verified) and found.ok), key.hex()
        assert kind == 0x01 or reported_seq(found) == forge.seq_of(key)


def check_raw_flips(whole: Path, folder: Path, seed: int, count: int) -> Counter[str]:
    outcomes = Acknowledged(folder / "outcomes")
    # A flip takes a tenth of a second; a machine that is busy with other things has a second for each.
    flipping = start(flip_raw_bits, whole, folder / "stores", seed, count, outcomes.file)
    exit_code = wait_for_exit(flipping, PATIENCE_SECONDS + count)
    lines = outcomes.lines()
    assert exit_code == 0, f"ended by {signal.Signals(-exit_code).name if exit_code < 0 else exit_code} at {lines[-1]}"
    assert len(lines) == 2 * count
    return Counter(line.split()[-1] for line in lines[1::2])


def test_a_bit_flipped_anywhere_in_the_file_ends_in_a_typed_error_or_a_finding_or_does_nothing(
    whole: Path, tmp_path: Path, seed: int
) -> None:
    outcomes = check_raw_flips(whole, tmp_path, seed, 30)
    assert outcomes["found"] > 3
    assert set(outcomes) <= {"found", "harmless", "damaged_store", "newer_format", "not_a_store"}


@pytest.mark.soak
def test_a_thousand_flipped_bits_of_each_sort_are_found(
    whole: Path, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    log = flip_log_bits(whole, tmp_path / "log", seed, SOAK_FLIPS)
    tables = flip_table_bits(whole, tmp_path / "tables", seed, SOAK_FLIPS)
    raw = Counter[str]()
    for part in range(4):
        raw += check_raw_flips(whole, folder_of(tmp_path, part), seed + part, SOAK_FLIPS // 4)
    with capsys.disabled():
        print(f"\nflips: {dict(log)} in the log and {SOAK_FLIPS} in {len(tables)} tables all found; raw: {dict(raw)}")
    assert log.total() == SOAK_FLIPS


def folder_of(base: Path, part: int) -> Path:
    folder = base / f"raw-{part}"
    folder.mkdir()
    return folder
