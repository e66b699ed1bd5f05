"""Changes the keys under which commits lie: what a check does is bounded by what is there, not by a number."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb
from tests.support.faults import forge
from worlddb.log.store import verify
from worlddb.log.store.environment import Environment
from worlddb.projections.check import verify_store

pytestmark = pytest.mark.usefixtures("untried")

FAR = 2**58


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """A check without an end fails after some seconds, before it fills the memory."""

    def late(*_: object) -> None:
        raise TimeoutError("no end")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def header_key(seq: int) -> bytes:
    return b"\x02" + seq.to_bytes(8, "big")


def five(folder: Path) -> tuple[Path, int, dict[bytes, bytes]]:
    """A store of a few commits, the number of the last, and its records."""
    with worlddb.open(folder, author="ada") as db:
        for number in range(5):
            db.create("Note", f"n{number}")
        last = db.head().seq
    return folder, last, dict(forge.pairs(folder))


def checked(store: Path, *, deep: bool = False) -> list[verify.Finding]:
    env = Environment(store, author="check", timeout_seconds=5.0)
    try:
        return verify_store(env, deep=deep)[1]
    finally:
        env.close()


def moved(folder: Path) -> tuple[Path, int]:
    """A store in whose commit 3's key one bit is turned."""
    store, last, held = five(folder)
    forge.rewrite(store, [(header_key(3), None), (header_key(FAR + 3), held[header_key(3)])])
    return store, last


def added(folder: Path, key: bytes = b"\x02" + b"\x0f" * 8) -> tuple[Path, int]:
    """A store with a header that is there twice, the second time far behind the last commit."""
    store, last, held = five(folder)
    forge.rewrite(store, [(key, held[header_key(3)])])
    return store, last


@pytest.mark.parametrize("deep", [False, True])
def test_a_commit_under_a_far_number_leaves_one_finding_of_the_gap_and_the_check_goes_on(
    deep: bool, tmp_path: Path
) -> None:
    store, last = moved(tmp_path / "store")
    found = checked(store, deep=deep)
    assert found[0].seq == 3 and "header of commit 3 is missing" in found[0].problem
    assert (last + 1, f"commits {last + 1} to {FAR + 2} are missing: they have no headers") in found
    assert (FAR + 3, "its header has the number 3") in found
    assert len(found) < 12


def test_a_header_added_under_the_last_number_that_a_key_can_hold_is_found(tmp_path: Path) -> None:
    for name, key in (("far", b"\x02" + b"\x0f" * 8), ("last", b"\x02" + b"\xff" * 8)):
        store, last = added(tmp_path / name, key)
        seq = int.from_bytes(key[1:], "big")
        assert (last + 1, f"commits {last + 1} to {seq - 1} are missing: they have no headers") in checked(store)


def test_commits_after_a_gap_are_checked(tmp_path: Path) -> None:
    store, last, held = five(tmp_path / "store")
    changed = header_key(last), forge.flip_bit(held[header_key(last)], 400)
    forge.rewrite(store, [(header_key(2), None), (header_key(3), None), changed])
    found = checked(store)
    assert found[0] == (2, "commits 2 to 3 are missing: they have no headers")
    assert any(each.seq == last for each in found)


def test_a_key_of_another_length_hides_no_commit(tmp_path: Path) -> None:
    store, _ = added(tmp_path / "store", b"\x02" + b"\xff" * 9)
    assert [each.seq for each in checked(store)] == [0], "the record is found, and every commit is"


@pytest.mark.parametrize("make", [moved, added])
def test_a_log_that_does_not_end_where_it_says_is_neither_opened_nor_written(make: object, tmp_path: Path) -> None:
    assert callable(make)
    store, last = make(tmp_path / "store")
    with pytest.raises(worlddb.DamagedStore, match=f"its end at {last}, but there is a commit"):
        worlddb.open(store, author="x", create=False)
    assert any(symptom.code == "damaged" for symptom in worlddb.diagnose(store, deep=True).symptoms)


def test_an_open_store_whose_log_gets_another_end_is_neither_counted_nor_written(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="x") as db:
        db.create("Note", "a")
        key = header_key(FAR)
        db._env.write(lambda txn: txn.put(key, bytes(40)))
        for use in (db.stats, lambda: db.create("Note", "b")):
            with pytest.raises(worlddb.DamagedStore, match="there is a commit"):
                use()
        assert not db.verify().ok
