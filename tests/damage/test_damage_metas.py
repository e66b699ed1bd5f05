"""A store that was rolled back is not opened: changed bits in LMDB's metas, and older files in place of newer ones.

LMDB takes one of two metas for the present state by the numbers in them. Half of the bits of these numbers, turned
over, made a store open as it was one commit before, which verified, and forked its history with the next write.
"""

from __future__ import annotations

import shutil
import struct
from collections import Counter
from pathlib import Path

import lmdb
import pytest

import worlddb
from tests.support.faults.children import start, wait_for_exit
from worlddb import DamagedStore
from worlddb.log.store.high_water import MARK_FILE, read_mark
from worlddb.reconciler.diagnostics import location

pytestmark = pytest.mark.usefixtures("untried")

PAGE, NUMBER_AT, TREES_AT = 4096, 144, 40
"""The size of a page, and where in a meta's page its number and its trees begin."""
U64 = struct.Struct("=Q")


def store_of(folder: Path, commits: int) -> Path:
    with worlddb.open(folder, author="a", embedder=None) as db:
        while db.head().seq < commits:
            db.create("Fact", f"commit {db.head().seq + 1}", content="x" * 200)
    return folder


def numbers(data: bytes) -> tuple[int, int]:
    """The numbers in both metas."""
    even, odd = (U64.unpack_from(data, page * PAGE + NUMBER_AT)[0] for page in (0, 1))
    return even, odd


def put(store: Path, stored: bytes) -> None:
    """Write the file anew in place, so that it stays the file that the mark is of."""
    with open(store / "data.mdb", "r+b") as file:
        file.write(stored)


def flipped(stored: bytes, at: int, bit: int) -> bytes:
    return stored[: at + bit // 8] + bytes([stored[at + bit // 8] ^ 1 << bit % 8]) + stored[at + bit // 8 + 1 :]


def lmdb_sees(stored: bytes, folder: Path) -> int:
    """The commit at which LMDB itself, asked alone, says that the log ends."""
    folder.mkdir()
    (folder / "data.mdb").write_bytes(stored)
    with lmdb.open(str(folder), map_size=1 << 30) as env, env.begin() as txn:
        head = txn.get(b"\x01head") or bytes(8)
    shutil.rmtree(folder)
    return int.from_bytes(head[-8:], "big")


def outcome(store: Path, commits: int) -> str:
    """What somebody who writes to the store sees, and that nothing was lost if that is nothing."""
    try:
        with worlddb.open(store, author="a", embedder=None) as db:
            assert db.head().seq == commits
            assert db.create("Fact", "after").seq == commits + 1
            assert db.verify().ok
    except DamagedStore as error:
        return "rolled back" if "rolled back" in error.message else "damaged"
    return "whole"


@pytest.mark.parametrize("mark", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize("commits", [*(pytest.param(each, marks=pytest.mark.soak) for each in (13, 14)), 15, 16])
def test_each_bit_of_the_metas_numbers_that_rolls_a_store_back_is_found_and_no_other_is_refused(
    memory: Path, commits: int, mark: bool
) -> None:
    store = store_of(memory / f"store-{commits}-{mark}", commits)
    whole, kept = (store / "data.mdb").read_bytes(), (store / MARK_FILE).read_bytes()
    assert numbers(whole) == (commits - commits % 2, commits - (commits + 1) % 2), "by turns, one a commit"
    expected: Counter[bool] = Counter()
    for page in (0, 1):
        for bit in range(64):
            changed = flipped(whole, page * PAGE + NUMBER_AT, bit)
            back = lmdb_sees(changed, store / "alone") < commits
            expected[back] += 1
            put(store, changed)
            (store / MARK_FILE).write_bytes(kept)
            if not mark:
                (store / MARK_FILE).unlink()
            found = outcome(store, commits)
            assert found == ("rolled back" if back else "whole"), f"bit {bit} of the meta in page {page}"
            put(store, whole)
    assert min(expected.values()) >= 60, "half of the bits roll it back"


def test_each_bit_of_the_other_fields_of_the_meta_in_use_is_found_and_those_of_the_older_one_harm_nobody(
    memory: Path,
) -> None:
    store = store_of(memory / "fields", 16)
    whole, kept = (store / "data.mdb").read_bytes(), (store / MARK_FILE).read_bytes()
    found: Counter[tuple[int, str]] = Counter()
    for page in (0, 1):
        # Page 0 is the last of 16 transactions. Every third bit will do, of the older meta every seventh; the size of
        # pages has all of its own below.
        for bit in range(32, (NUMBER_AT - TREES_AT) * 8, 3 if page == 0 else 7):
            put(store, flipped(whole, page * PAGE + TREES_AT, bit))
            (store / MARK_FILE).write_bytes(kept)
            found[page, outcome(store, 16)] += 1
    assert set(found) <= {(0, "damaged"), (0, "rolled back"), (1, "whole")}, found
    assert found[0, "damaged"] + found[0, "rolled back"] == 267
    for page in (0, 1):
        for bit in range(32):
            put(store, flipped(whole, page * PAGE + TREES_AT, bit))
            assert outcome(store, 16) == "damaged", f"bit {bit} of the size of pages in page {page}"


def test_an_older_file_in_the_place_of_the_store_s_is_refused_until_the_mark_is_deleted(memory: Path) -> None:
    store = store_of(memory / "store", 7)
    older = (store / "data.mdb").read_bytes()
    store_of(store, 12)
    (store / "data.mdb").write_bytes(older)
    with pytest.raises(DamagedStore, match="ends at commit 7, but commit 12 was acknowledged") as refused:
        worlddb.open(store)
    assert refused.value.remedy.endswith(f"To go on without commits 8 to 12, delete {store / MARK_FILE}")
    assert [each.where for each in worlddb.diagnose(store).symptoms if each.code == "damaged"] == [str(store)]
    (store / MARK_FILE).unlink()
    assert outcome(store, 7) == "whole"


def test_the_file_of_another_store_and_one_that_was_rolled_back_and_written_to_are_refused(memory: Path) -> None:
    store = store_of(memory / "store", 7)
    older = (store / "data.mdb").read_bytes()
    store_of(store, 12)
    other = store_of(memory / "other", 20)
    (memory / "forked").mkdir()
    (memory / "forked" / "data.mdb").write_bytes(older)
    for source in (other, store_of(memory / "forked", 15)):
        shutil.copyfile(source / "data.mdb", store / "data.mdb")
        with pytest.raises(DamagedStore, match="has another commit 12 than the one acknowledged here"):
            worlddb.open(store)


def test_a_mark_that_lags_is_missing_torn_or_changed_refuses_nothing_and_is_made_again(memory: Path) -> None:
    store = store_of(memory / "store", 7)
    data, lagging = (store / "data.mdb").read_bytes(), (store / MARK_FILE).read_bytes()
    store_of(store, 12)
    data, level = (store / "data.mdb").read_bytes(), (store / MARK_FILE).read_bytes()
    marks = [lagging, b"", level[:30], bytes(len(level)), level + b"x", lagging[:24] + level[24:]]
    marks += [flipped(level, 0, bit) for bit in range(0, len(level) * 8, 5)]
    for stored in marks:
        put(store, data)
        (store / MARK_FILE).write_bytes(stored)
        assert outcome(store, 12) == "whole", stored.hex()
        found = read_mark(store)
        assert found is not None and found.head.seq == 13


def test_a_copied_a_restored_a_compacted_and_a_rewritten_store_are_opened(memory: Path) -> None:
    store = store_of(memory / "store", 7)
    shutil.copytree(store, memory / "older")
    store_of(store, 12)
    with worlddb.open(store, author="a") as db:
        db.backup(memory / "backup")
    shutil.copytree(store, memory / "copied")
    (memory / "bare").mkdir()
    shutil.copyfile(store / "data.mdb", memory / "bare" / "data.mdb")
    shutil.copytree(store, memory / "compacted")
    with lmdb.open(str(store), map_size=1 << 30) as env:
        (memory / "compact").mkdir()
        env.copy(str(memory / "compact"), compact=True)
    shutil.copyfile(memory / "compact" / "data.mdb", memory / "compacted" / "data.mdb")
    worlddb.restore(memory / "backup", memory / "restored")
    for name, commits in {"older": 7, "copied": 12, "bare": 12, "compacted": 12, "restored": 12}.items():
        assert outcome(memory / name, commits) == "whole", name
    with worlddb.open(store, author="a") as db:
        ref = db.create("Fact", "", content="to go").ref
        db.erase(ref, reason="gone")
        db.rebuild("tables")
        head = db.head().seq
    assert outcome(store, head) == "whole"


def commit_and_erase(store: Path, count: int) -> None:
    with worlddb.open(store, author="writer", embedder=None, timeout_seconds=60) as db:
        for number in range(count):
            made = db.create("Fact", f"commit {number}", content="x" * 200)
            if number % 20 == 19:
                db.erase(made.ref, reason="so that the file is written anew")


def test_a_store_that_is_opened_while_others_write_to_it_is_never_taken_for_one_that_was_rolled_back(
    memory: Path,
) -> None:
    store = store_of(memory / "store", 2)
    writers = [start(commit_and_erase, store, 60) for _ in range(2)]
    seen = opened = 0
    with worlddb.open(store, author="held", embedder=None) as held:
        while any(writer.is_alive() for writer in writers):
            with worlddb.open(store, author="reader", embedder=None) as db:
                head = db.head().seq
            assert seen <= head <= held.head().seq
            seen, opened = head, opened + 1
    assert [wait_for_exit(writer) for writer in writers] == [0, 0]
    assert opened > 10 and outcome(store, 2 + 2 * 63) == "whole"


def test_a_commit_whose_mark_cannot_be_written_is_a_commit(memory: Path) -> None:
    store = store_of(memory / "store", 7)
    (store / MARK_FILE).unlink()
    (store / MARK_FILE).mkdir()
    assert outcome(store, 7) == "whole"


@pytest.mark.parametrize("harm", ["torn", "changed", "unreadable"])
def test_a_damaged_mark_is_told_by_the_doctor_and_a_verification_and_a_missing_one_is_not(
    memory: Path, harm: str
) -> None:
    """It switched the detection of a rollback off in silence."""
    store = store_of(memory / "store", 7)
    mark, stored = store / MARK_FILE, (store / MARK_FILE).read_bytes()
    mark.unlink()
    assert not list(location.mark(store))
    if harm == "unreadable":
        mark.mkdir()
    else:
        mark.write_bytes(stored[:30] if harm == "torn" else flipped(stored, 0, 77))
    assert [found.code for found in location.mark(store)] == ["mark_unreadable"]
    with worlddb.open(store, author="a") as db:
        found = db.verify()
        assert found.ok and any(str(mark) in remark for remark in found.remarks)
        db.create("Fact", "", content="the next write")
        told = any(str(mark) in remark for remark in db.verify().remarks)
        assert told == bool(list(location.mark(store))) == (harm == "unreadable")
