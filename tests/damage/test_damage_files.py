"""Cuts, empties, deletes and overwrites files: a typed error or no effect, never a crash."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import lmdb
import pytest

import worlddb
from tests.support.faults import forge
from tests.support.faults.answers import answers
from tests.support.faults.children import Acknowledged, call
from tests.support.faults.jobs import open_truncated, overwrite_pages, write_without_files, write_without_room
from worlddb.log.store import durable, pages
from worlddb.log.store.environment import Environment
from worlddb.log.store.shared_environment import translate_error
from worlddb.projections.indexes import tail

HEAD_KEY = b"\x01head"
PLAIN_FLIPS, SOAK_FLIPS = 120, 1000


def test_a_data_file_cut_short_anywhere_is_a_typed_error_and_never_the_end_of_the_process(
    whole: Path, tmp_path: Path, seed: int
) -> None:
    size = (whole / "data.mdb").stat().st_size
    rng = random.Random(seed)
    lengths = sorted({0, 1, 100, 4095, 4096, 5000, 8191, 8192, 8193, 12288, size // 2, size - 4096, size - 1})
    lengths += sorted(rng.sample(range(size), 12))
    outcomes = Acknowledged(tmp_path / "outcomes")
    assert call(open_truncated, whole, tmp_path / "stores", lengths, outcomes.file) == 0
    found = dict(line.split() for line in outcomes.lines())
    assert len(found) == len(set(lengths))
    assert set(found.values()) <= {"damaged_store", "harmless"}
    # LMDB may keep unused pages at the end of the file; without them, the store is whole.
    assert all(outcome == "damaged_store" for length, outcome in found.items() if int(length) < size // 2)


def use_while_cut(folder: str) -> None:
    """In a process of its own, which a missing page would end: use a store whose files are cut short meanwhile."""
    data, recent = Path(folder, "data.mdb"), Path(folder, "working", "1", "data.mdb")
    with worlddb.open(folder, author="a", embedder=None) as db:
        memory = worlddb.memory(db, user="ana", session="s")
        assert memory.working.add("hello") == 1
        os.truncate(recent, 0)
        # Without a sync anything may be lost, and what cannot be read goes.
        assert memory.working.get() == () and memory.working.add("again") == 1
        os.truncate(recent.parents[1] / "2" / "data.mdb", 4096)
        assert memory.working.add("and again") == 1
        for length in (data.stat().st_size // 2, 0):
            os.truncate(data, length)
            for use in (lambda: memory.recall("tea"), lambda: memory.add("I like tea."), db.head, db.verify):
                with pytest.raises(worlddb.DamagedStore, match=f"has {length:,}: it was cut short"):
                    use()


def test_a_file_cut_short_while_it_is_open_is_a_typed_error_and_not_the_end_of_the_process(store: Path) -> None:
    """The process ended without a word, by SIGBUS."""
    code = f"from {__name__} import use_while_cut; use_while_cut({str(store)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


def take_and_give_back(txn: lmdb.Transaction) -> None:
    for size in (3_000_000, 4_000_000):
        txn.put(b"\x01other", b"x" * size)
        txn.put(b"\x01another", b"x" * size)
        txn.delete(b"\x01other")
        txn.delete(b"\x01another")


def counted_beyond(store: Path, env: Environment) -> int:
    """How many bytes the counted pages of a data file take beyond its end."""
    return (env._shared.env.info()["last_pgno"] + 1) * env._shared._page_bytes - (store / "data.mdb").stat().st_size


def test_a_file_without_the_unused_pages_at_its_end_is_whole_and_a_write_gives_it_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LMDB does not write pages that a transaction took and gave back, so its page count may go beyond the file."""
    store = tmp_path / "store"
    with worlddb.open(store, author="x") as db:
        receipt = db.create("Fact", "kept")
    env = Environment(store, author="x", timeout_seconds=1)
    for _ in range(10):
        with env._shared.env.begin(write=True) as txn:
            take_and_give_back(txn)
        if counted_beyond(store, env) > 0:
            break
    assert counted_beyond(store, env) > 0
    env.close()
    with worlddb.open(store, author="x") as db:
        assert db.view().get(receipt) is not None
        assert db.verify(deep=True).ok
        db.create("Fact", "another")
        assert counted_beyond(store, db._env) <= 0
        # To look through all pages at every opening takes the longer the larger the store is.
        for _ in range(10):
            db._env.write(take_and_give_back)
            assert counted_beyond(store, db._env) <= 0
    monkeypatch.setattr(pages, "damaged_pages", lambda *_: pytest.fail("all pages were looked through"))
    with worlddb.open(store, author="x") as db:
        assert db.view().get(receipt) is not None


def test_a_page_that_was_overwritten_is_found_wherever_it_lies_and_never_the_end_of_the_process(
    whole: Path, tmp_path: Path
) -> None:
    outcomes = Acknowledged(tmp_path / "outcomes")
    assert call(overwrite_pages, whole, tmp_path / "stores", outcomes.file) == 0
    lines = [line.split() for line in outcomes.lines()]
    assert len(lines) == 3 * (whole / "data.mdb").stat().st_size // 4096
    found = {(page, what) for page, what, outcome in lines if outcome != "harmless"}
    assert {outcome for _, _, outcome in lines} <= {"harmless", "found", "damaged_store", "not_a_store"}
    # Pages that are in use are missed, whatever stands in their place; the others are LMDB's free ones.
    in_use = {page for page, _ in found} - {"0", "1"}
    assert len(in_use) >= 10
    assert {(page, what) for page in in_use for what in ("zeros", "neighbour", "noise")} <= found


def test_reads_that_give_less_than_was_asked_for_are_no_damage(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system may give a part of what it has, and the rest at the next call."""
    pread = os.pread
    short: list[bool] = []

    def give_less(descriptor: int, count: int, at: int) -> bytes:
        found = pread(descriptor, min(count, 100), at)
        short.append(len(found) < count)
        return found

    monkeypatch.setattr("os.pread", give_less)
    with worlddb.open(store, author="x") as db:
        assert db.verify(deep=True).ok
        erased = db.create("Note", "short lived")
        db.erase(erased, reason="request 1")
        assert db.verify(deep=True).ok
    assert any(short)


def test_a_store_on_a_file_system_that_is_read_only_is_a_typed_error_and_whole_afterwards(tmp_path: Path) -> None:
    """Mounted in a name space of its own, which a user may not be allowed to make."""
    program = [sys.executable, "-m", "tests.support.faults.read_only", str(tmp_path)]
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", *program],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    if "unshare failed" in done.stderr or "cannot be mounted" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()[-100:]}")
    assert (done.returncode, done.stdout.split()) == (0, ["mounted", "told", "told", "written"]), done.stderr


@pytest.mark.soak
def test_a_store_on_a_file_system_that_nobody_can_write_to_is_read_without_a_lock(tmp_path: Path) -> None:
    """It could not be read at all, since readers enter themselves in a file; root alone may mount it so."""
    program = [sys.executable, "-m", "tests.support.faults.read_only", str(tmp_path), "frozen"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        ["unshare", "--mount", *program], capture_output=True, text=True, timeout=240, check=False, cwd=root
    )
    if "unshare failed" in done.stderr or "cannot be mounted" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()[-100:]}")
    assert (done.returncode, done.stdout.split()) == (0, ["mounted", "read", *["told"] * 3, "written"]), done.stderr


def test_a_frozen_store_is_opened_anew_with_a_lock_once_it_can_be_written_to(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = [True]
    monkeypatch.setattr(durable, "is_mounted_read_only", lambda folder: frozen[0])
    monkeypatch.setattr(durable, "is_frozen", lambda folder: frozen[0])
    (store / "lock.mdb").unlink(missing_ok=True)
    before = {path.name: path.read_bytes() for path in store.iterdir() if path.is_file()}
    with worlddb.open(store, author="x", embedder=None) as db:
        assert list(db.view().find()) and db.verify().ok
        assert {path.name: path.read_bytes() for path in store.iterdir() if path.is_file()} == before
        frozen[0] = False
        assert list(db.view().find()) and (store / "lock.mdb").exists()
        assert db.create("Note", "after").events == 2 and db.verify(deep=True).ok


def test_a_mount_that_is_read_only_is_told_from_a_file_system_that_is(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "31 22 8:1 /store /store ro,relatime shared:2 - ext4 /dev/sda1 rw,errors=remount-ro\n"
        "32 22 8:2 / /image ro - squashfs /dev/loop0 ro,errors=continue\n",
        "utf-8",
    )
    told = [durable.mount_of(Path(each), mounts) for each in ("/store/a", "/image/a", "/other")]
    assert [(mount.kind, mount.is_frozen) for mount in told] == [("ext4", False), ("squashfs", True), ("ext4", False)]


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 8192, b"garbage " * 4096])
def test_a_data_file_that_is_empty_or_something_else_is_a_typed_error(content: bytes, store: Path) -> None:
    (store / "data.mdb").write_bytes(content)
    with pytest.raises(worlddb.DamagedStore):
        worlddb.open(store, author="x")
    assert (store / "data.mdb").read_bytes() == content
    if content:
        (store / "writer.json").unlink()
        with pytest.raises(worlddb.NotAStore):
            worlddb.open(store, author="x")
        assert (store / "data.mdb").read_bytes() == content


def test_an_lmdb_file_of_another_program_is_not_a_store_and_stays_as_it_is(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path / "other"), map_size=1 << 20) as env, env.begin(write=True) as txn:
        txn.put(b"theirs", b"precious")
    before = (tmp_path / "other" / "data.mdb").read_bytes()
    with pytest.raises(worlddb.NotAStore):
        worlddb.open(tmp_path / "other", author="x")
    assert (tmp_path / "other" / "data.mdb").read_bytes() == before


@pytest.mark.parametrize("which", ["all", "progress", "nodes"])
def test_tables_deleted_behind_the_engine_come_back_without_a_word(which: str, whole: Path, store: Path) -> None:
    with worlddb.open(whole, author="x") as db:
        at = db.head().ingested_at
        expected = [answers(db.view(seq=seq, valid=at)) for seq in (4, 12, db.head().seq)]
    tables = {"all": range(forge.FIRST_TABLE, 0x100), "progress": [forge.FIRST_TABLE]}.get(
        which, [forge.FIRST_TABLE, forge.FIRST_TABLE + 1]
    )
    assert forge.delete(store, lambda key: key[0] in tables)
    with worlddb.open(store, author="x") as db:
        assert [answers(db.view(seq=seq, valid=at)) for seq in (4, 12, db.head().seq)] == expected
        assert db.verify(deep=True).ok


def test_tables_deleted_under_an_open_handle_come_back_for_reads_and_for_writes(store: Path) -> None:
    with worlddb.open(store, author="x") as db:
        at = db.head().ingested_at
        expected = answers(db.view(valid=at))
        clear = [key for key, _ in every_pair(db) if key[0] >= forge.FIRST_TABLE]
        db._env.write(lambda txn: [txn.delete(key) for key in clear])
        assert answers(db.view(valid=at)) == expected
        db._env.write(lambda txn: [txn.delete(key) for key in clear])
        assert db.create("Entity", "after").seq == db.head().seq
        assert db.verify(deep=True).ok


def every_pair(db: worlddb.Database) -> list[tuple[bytes, bytes]]:
    with db._env.read() as txn:
        return [(bytes(key), bytes(value)) for key, value in txn.cursor()]


@pytest.mark.parametrize("damage", ["deleted", "emptied", "torn", "a file"])
def test_an_index_that_is_deleted_or_torn_while_open_changes_no_answer(
    damage: str, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 1)
    text = store / "indexes" / "text"
    with worlddb.open(store, author="x") as db, worlddb.open(store, author="y") as other:
        assert db.catch_up()
        expected = [answers(each.view(valid="2027-01-01"), exact=False) for each in (db, other)]
        assert expected[0] == expected[1] and any(expected[0]["recall"].values())
        if damage == "torn":
            for file in text.iterdir():
                file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        else:
            shutil.rmtree(text)
            if damage == "emptied":
                text.mkdir()
            if damage == "a file":
                text.write_text("not a folder")
        assert answers(db.view(valid="2027-01-01"), exact=False) == expected[0]
        db.create("Fact", "a fact of its own", content="that the office has moved")
        assert db.view().recall("office has moved").hits[0].name == "a fact of its own"
        assert db.catch_up()
        assert other.view().recall("office has moved").hits[0].name == "a fact of its own"
        assert db.verify(deep=True).ok


@pytest.mark.parametrize("kind", ["pipe", "folder", "file"])
@pytest.mark.parametrize("name", ["text", "text/meta.json", "worlds"])
def test_whatever_lies_where_an_index_was_keeps_no_search_waiting_and_no_erasure_from_its_end(
    store: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe kept the first search waiting for ever, and after an erasure the store could not be opened any more."""
    monkeypatch.setattr(tail, "STRETCH_DOCUMENTS", 1)
    with worlddb.open(store, author="x") as db:
        gone = db.create("Fact", "Ines", content="the knee operation").ref
        assert db.catch_up()
        expected = answers(db.view(valid="2027-01-01"), exact=False)
    place = store / "indexes" / name
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.touch()
    with worlddb.open(store, author="x") as db:
        assert answers(db.view(valid="2027-01-01"), exact=False) == expected
        assert "bytes_remain" not in {note.code for note in db.erase(gone, reason="r").notes}
    with worlddb.open(store, author="x") as db:
        assert not db.view().recall("knee operation").hits and db.verify(deep=True).ok


def test_lock_files_deleted_between_opens_are_made_again(store: Path) -> None:
    for number in range(3):
        with worlddb.open(store, author="x") as db:
            assert db.create("Fact", f"number {number}")
            assert db.verify(deep=True).ok
        for name in ("lock.mdb", "writer.lock", "writer.json"):
            (store / name).unlink(missing_ok=True)


def test_a_directory_in_which_no_lock_can_be_taken_can_be_read_and_says_why_it_cannot_be_written(store: Path) -> None:
    (store / "writer.lock").mkdir()
    with worlddb.open(store, author="x") as db:
        assert len(list(db.view().children())) >= 2
        with pytest.raises(worlddb.UnavailableError, match="cannot be locked for writing"):
            db.create("Fact", "never")
        (store / "writer.lock").rmdir()
        assert db.create("Fact", "now")


def test_a_full_disk_is_a_typed_error_and_loses_nothing(tmp_path: Path) -> None:
    assert call(write_without_room, tmp_path / "store", 65536) == 0


@pytest.mark.parametrize(("number", "free"), [(errno.ENOSPC, 1 << 40), (errno.EDQUOT, 1 << 40), (errno.EIO, 4096)])
def test_an_error_for_want_of_room_is_told_as_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, free: int
) -> None:
    """LMDB has an input or output error where a part of its pages had room, as on a tmpfs: "unavailable" was told."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
    told = translate_error(lmdb.Error(f"mdb_txn_commit: {os.strerror(number)}"), tmp_path)
    assert isinstance(told, worlddb.DiskFull) and "Free some space" in told.remedy
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 40))
    other = translate_error(lmdb.Error(f"mdb_txn_commit: {os.strerror(errno.EIO)}"), tmp_path)
    assert type(other) is worlddb.UnavailableError


def test_a_process_without_free_file_handles_gets_a_typed_error_and_goes_on_later(tmp_path: Path) -> None:
    assert call(write_without_files, tmp_path / "store") == 0


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_store_that_cannot_be_entered_says_to_copy_it(tmp_path: Path, number: int) -> None:
    """LMDB, and not the system, says so where the file of readers is there already."""
    told = translate_error(lmdb.Error(f"{tmp_path}: {os.strerror(number)}"), tmp_path)
    assert isinstance(told, worlddb.UnavailableError) and "and open the copy" in told.remedy


LINKED = [
    *("data.mdb", "lock.mdb", "writer.lock", "writer.json", "high-water", "copies.jsonl", "indexes", "snapshots"),
    *("working", "indexes/text", "indexes/text.lock", "indexes/text/meta.json", "working/1", "working/1/lock.mdb"),
]


@pytest.mark.parametrize("name", LINKED)
def test_nothing_that_a_link_in_a_store_leads_to_is_changed_or_deleted(tmp_path: Path, name: str) -> None:
    """An erasure deleted all that lay where ``indexes`` led, and an opening overwrote files, whoever made the link."""
    store, victim = tmp_path / "store", tmp_path / "victim"
    with worlddb.open(store, embedder=None) as db:
        worlddb.memory(db, user="ana", session="s").working.add("hello")
        db.create("Note", "Ines", content="knee")
        db.backup(tmp_path / "copy")
        db.rebuild("text")
    place = store / name
    place.parent.mkdir(exist_ok=True)
    if place.is_dir() or name == "snapshots":
        shutil.rmtree(place, ignore_errors=True)
        victim.mkdir()
    else:
        place.unlink(missing_ok=True)
    letter = victim / "letter" if victim.is_dir() else victim
    letter.write_text("precious")
    place.symlink_to(victim)
    with pytest.raises(worlddb.UnavailableError, match=f"{name} is a symbolic link"):
        worlddb.open(store, embedder=None)
    assert letter.read_text() == "precious" and place.is_symlink()
    assert not victim.is_dir() or [*victim.iterdir()] == [letter]


def test_an_erasure_deletes_nothing_where_a_link_leads_that_was_made_meanwhile(tmp_path: Path) -> None:
    store, victim = tmp_path / "store", tmp_path / "victim"
    (victim / "text").mkdir(parents=True)
    with worlddb.open(store, embedder=None) as db:
        gone = db.create("Note", "Ines", content="knee")
        shutil.rmtree(store / "indexes", ignore_errors=True)
        (store / "indexes").symlink_to(victim)
        receipt = db.erase(gone, reason="r")
        assert "bytes_remain" in {note.code for note in receipt.notes} and [*victim.iterdir()] == [victim / "text"]
        (store / "indexes").unlink()
        assert db.finish_erasures()


def test_links_to_a_store_and_of_others_in_it_are_left_alone(tmp_path: Path) -> None:
    store = tmp_path / "store"
    worlddb.open(store, embedder=None).close()
    (store / "notes").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to(store)
    with worlddb.open(tmp_path / "link", embedder=None) as db:
        assert db.erase(db.create("Note", "Ines"), reason="r").notes == ()
    assert (store / "notes").is_symlink()
