"""The files of worlds that are asked from inside: erased, damaged, shared, and out of reach."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb.log.store.log import LmdbLog
from worlddb.projections.indexes import kept_worlds, tail, text_index, text_snapshot, world_index
from worlddb.projections.tables.storage.rows import Tables

TEXTS = 40


@pytest.fixture(autouse=True)
def _small_worlds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_worlds, "WORTH_KEEPING", 1)


@pytest.fixture
def folder(memory: Path) -> Path:
    return memory / "store"


def filled(folder: Path) -> tuple[worlddb.Database, str, list[str]]:
    """A store with a world of some notes, embedded."""
    db = worlddb.open(folder, author="x")
    top = db.create("Tenant", "Acme", resolve=False).ref
    with db.batch() as tx:
        for number in range(TEXTS):
            tx.create("Note", f"note {number}", content=f"zqxword{number} tea with friends", world=top, resolve=False)
    db.embed()
    return db, top, list(tx.receipt.refs)


def world_files(folder: Path) -> list[Path]:
    return sorted((folder / "indexes" / "worlds").glob("*"))


def answer(db: worlddb.Database, top: str, text: str = "tea zqxword3", **how: Any) -> worlddb.Recall:
    return db.view(world=top, valid="2100-01-01").recall(text, **how)


def test_what_came_in_out_of_order_is_what_the_log_says(folder: Path) -> None:
    """The commits of vectors were compared in the order in which they arrived, which one made anew does not have."""
    with worlddb.memory(folder, user="ana", session="s") as mem:
        for number in range(6):
            mem.add(f"a statement {number} of tea", about=f"P{number % 2}")
            mem.add([{"role": "user", "content": f"a chat {number}"}])
            mem.correct(mem.add(f"an old one {number}", about="Ana"), f"a corrected one {number}")
            mem.recall("tea")
        assert len(world_files(folder)) == 1
        assert mem.db.verify(deep=True).ok


def test_no_word_of_an_erased_text_was_ever_in_a_file_and_the_file_goes(folder: Path) -> None:
    db, top, refs = filled(folder)
    with db:
        assert answer(db, top).hits[0].ref == refs[3]
        (file,) = world_files(folder)
        stored = file.read_bytes()
        assert b"zqxword" not in stored and b"friend" not in stored
        db.erase(refs[3], reason="r")
        assert world_files(folder) == []
        assert refs[3] not in {hit.ref for hit in answer(db, top, k=TEXTS).hits}
        (file,) = world_files(folder)
        (index,) = db._reader.worlds._kept.values()
        keys = set(index.segments[0].keys.tolist())
        assert index.keys.of(("plain", "zqxword3")) not in keys and index.keys.of(("plain", "zqxword4")) in keys


def test_an_erasure_by_another_process_reaches_what_is_in_memory_and_on_disk(folder: Path) -> None:
    db, top, refs = filled(folder)
    with db:
        assert answer(db, top).hits[0].ref == refs[3]
        script = "import sys, worlddb; db = worlddb.open(sys.argv[1]); db.erase(sys.argv[2], reason='r'); db.close()"
        subprocess.run([sys.executable, "-c", script, str(folder), refs[3]], check=True)
        assert world_files(folder) == []
        assert refs[3] not in {hit.ref for hit in answer(db, top, k=TEXTS).hits}


def test_an_erasure_elsewhere_takes_nothing_of_a_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, top, _ = filled(folder)
    with db:
        other = db.create("Tenant", "Globex", resolve=False).ref
        theirs = db.create("Note", "n", content="zqxtheirs tea", world=other, resolve=False).ref
        expected = answer(db, top)
        assert answer(db, other, "zqxtheirs").hits[0].ref == theirs
        before = dict(db._reader.worlds._kept)
        db.erase(theirs, reason="r")
        assert world_files(folder) == []
        assert answer(db, top).hits == expected.hits
        assert theirs not in {hit.ref for hit in answer(db, other, "zqxtheirs").hits}
        after = db._reader.worlds._kept
        assert [after[node] is before[node] for node in before] == [True, False]
        assert {file.stem for file in world_files(folder)} == {top, other}
        db.erase(top, reason="r")
        db.view().recall("tea")
        assert len(db._reader.worlds._kept) == 1


def test_composed_vectors_inside_are_made_once(folder: Path) -> None:
    db, top, refs = filled(folder)
    with db:

        def nearest() -> worlddb.Subgraph:
            return db.view(world=top, valid="2100-01-01").query(text="tea", composed="attention").run()

        db.move(refs[1], to=refs[0])
        first = nearest()
        (index,) = db._reader.worlds._kept.values()
        (rows,) = index._cached_views[0].seen.kept.values()
        again = nearest()
        assert again.refs == first.refs and set(first.refs) == {refs[0]}
        assert [kept is rows for kept in index._cached_views[0].seen.kept.values()] == [True]
        db.move(refs[3], to=refs[2])
        assert set(nearest().refs) == {refs[0], refs[2]}


def test_what_was_read_before_an_erasure_is_not_written_after_it(folder: Path) -> None:
    db, top, refs = filled(folder)
    with db:
        answer(db, top)
        worlds = db._reader.worlds
        (node,) = worlds._kept
        before = worlds._kept[node]
        before.unsaved = TEXTS
        db.erase(refs[3], reason="r")
        worlds.keep(node, db._reader.erasures)
        assert world_files(folder) == []


def test_a_file_that_somebody_altered_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, top, _ = filled(folder)
    with db:
        expected = answer(db, top, k=TEXTS)
    (file,) = world_files(folder)
    stored = file.read_bytes()
    loaded: list[bool] = []
    load = kept_worlds.load

    def counted(*given: Any) -> Any:
        found = load(*given)
        loaded.append(found is not None)
        return found

    monkeypatch.setattr(kept_worlds, "load", counted)
    cuts = [stored[:length] for length in (0, 1, 15, 64, len(stored) // 2, len(stored) - 1)]
    flips = [
        stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :] for at in range(7, len(stored), len(stored) // 40)
    ]
    for altered in (*cuts, *flips):
        file.write_bytes(altered)
        with worlddb.open(folder) as db:
            assert answer(db, top, k=TEXTS) == expected
    assert not any(loaded[: len(cuts)]) and sum(loaded) <= 1, "a zero of the padding may be flipped without a trace"
    file.write_bytes(stored)
    with worlddb.open(folder) as db:
        assert answer(db, top, k=TEXTS) == expected and loaded[-1]


def test_the_deep_check_tells_of_every_byte_of_a_file_that_was_changed(folder: Path) -> None:
    db, top, _ = filled(folder)
    with db:
        expected = answer(db, top, k=TEXTS)
        (file,) = world_files(folder)
        stored = file.read_bytes()
        step = len(stored) // 20
        flips = [stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :] for at in range(0, len(stored), step)]
        for altered in (b"", stored[:-1], stored + b"\0", b"{}", *flips):
            file.write_bytes(altered)
            with db._env.read() as txn:
                told = kept_worlds.find_faults(LmdbLog(txn), Tables(txn), file, db._reader._secret)
            assert told == ["was altered"]
        assert "rebuild text" in str(db.verify(deep=True).findings) and db.verify().ok
        file.rename(file.with_name("another.bin"))
        file.with_name("another.bin").write_bytes(stored)
        assert "belongs to another world" in str(db.verify(deep=True).findings)
        db.rebuild("text")
        assert db.verify(deep=True).ok and answer(db, top, k=TEXTS) == expected


def test_a_file_of_another_store_or_history_is_not_used(folder: Path, memory: Path) -> None:
    db, top, refs = filled(folder)
    with db:
        db.backup(memory / "copy")
        db.revise(refs[5], content="zqxrevised tea")
        answer(db, top)
    (file,) = world_files(folder)
    (memory / "copy" / "indexes" / "worlds").mkdir(parents=True, exist_ok=True)
    (memory / "copy" / "indexes" / "worlds" / file.name).write_bytes(file.read_bytes())
    with worlddb.open(memory / "copy") as copy:
        assert not answer(copy, top, "zqxrevised", lanes=["text"]).hits
        assert answer(copy, top, "zqxword5", lanes=["text"]).hits


def test_a_deep_check_finds_what_the_log_does_not_say(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, top, refs = filled(folder)
    with db:
        answer(db, top)
        db.revise(refs[1], content="zqxlater tea")
        db.move(refs[2], to=db.create("Tenant", "Globex", resolve=False).ref)
        assert db.verify(deep=True).ok
        tokens = tail.tokens
        monkeypatch.setattr(tail, "tokens", lambda given: [*tokens(given), ("plain", "smuggled")])
        db._reader.worlds.delete()
        answer(db, top)
        monkeypatch.undo()
        found = db.verify(deep=True)
        assert [each.problem for each in found.findings if "the index of the world" in each.problem]
        assert "in its words" in str(found.findings)
        db.rebuild("text")
        assert db.verify(deep=True).ok and world_files(folder) == []


def forged(file: Path, secret: bytes, store_id: bytes, name: str) -> None:
    """Write the file again under the store's secret, with one number of one array changed, or with no words at all."""
    stored = kept_worlds.load(file, secret)
    assert stored is not None
    arrays = {each: array.copy() for each, array in stored.arrays.items()}
    if name == "no words":
        arrays |= {each: arrays[each][:0] for each in ("keys", "ends", "places", "often")}
    else:
        flat = arrays[name].reshape(-1)
        flat[len(flat) // 2] = -flat[len(flat) // 2] + 1 if flat.dtype.kind == "f" else flat[len(flat) // 2] ^ 1
    index = world_index.WorldIndex(stored.told["node"], secret)
    stored._replace(arrays=arrays).restore(index)
    index.marker = stored.told["seq"], bytes.fromhex(stored.told["chain"])
    kept_worlds.write(file, index, store_id, secret)
    assert kept_worlds.load(file, secret) is not None, "only a comparison with the log can tell"


def test_a_deep_check_finds_every_array_that_was_forged_with_the_secret(folder: Path) -> None:
    db, top, refs = filled(folder)
    with db:
        answer(db, top)
        db.revise(refs[1], content="zqxlater tea")
        secret, store_id = db._reader._secret, db._reader.store_id
        (file,) = world_files(folder)
        whole, stored = file.read_bytes(), kept_worlds.load(file, secret)
        assert stored is not None and {"lengths", "codes", "keys", "holding", "vectors-1"} <= set(stored.arrays)
        for name in (*stored.arrays, "no words"):
            forged(file, secret, store_id, name)
            assert not db.verify(deep=True).ok, name
            file.write_bytes(whole)
        assert db.verify(deep=True).ok


def test_all_handles_of_a_process_share_what_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, top, _ = filled(folder)
    begun: list[int] = []
    begin = world_index.WorldIndex._begin

    def counted(index: Any, *given: Any) -> None:
        begun.append(1)
        begin(index, *given)

    monkeypatch.setattr(world_index.WorldIndex, "_begin", counted)
    with db, worlddb.open(folder) as other:
        expected = answer(db, top)
        assert answer(other, top) == expected and db._reader.worlds is other._reader.worlds
        db.create("Note", "one more", content="tea", world=top, resolve=False)
        assert len(answer(other, top, k=99, lanes=["text"]).hits) == TEXTS + 1
    assert len(begun) == 1
    with worlddb.open(folder) as db:
        answer(db, top)
    assert len(begun) == 1, "the next process, as it were, goes on from the file"


def test_where_nothing_can_be_written_memory_serves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, top, _ = filled(folder)
    with db:
        expected = answer(db, top)
        db._reader.worlds.delete()

        def unwritable(*_: object) -> Iterator[None]:
            raise text_snapshot.IndexUnwritable("read only")

        monkeypatch.setattr(text_index, "index_lock", unwritable)
        assert answer(db, top) == expected and answer(db, top) == expected
        assert world_files(folder) == []


def test_the_worlds_that_were_asked_last_are_kept_and_no_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_worlds, "MAX_WORLDS", 2)
    with worlddb.open(folder) as db:
        tops = [db.create("Tenant", f"tenant {number}", resolve=False).ref for number in range(4)]
        for top in tops:
            for number in range(6):
                db.create("Note", "", content=f"tea {number}", world=top, resolve=False)
        for top in tops:
            answer(db, top)
        assert len(db._reader.worlds._kept) == 2 and len(world_files(folder)) == 4
        size = sum(file.stat().st_size for file in world_files(folder))
        os.utime(world_files(folder)[0])
        monkeypatch.setattr(kept_worlds, "MAX_FILE_BYTES", size // 2)
        db.create("Note", "", content="tea", world=tops[0], resolve=False)
        answer(db, tops[0])
        assert 1 <= len(world_files(folder)) <= 2 and world_files(folder)[0].exists()


def test_threads_ask_while_others_write(folder: Path) -> None:
    db, top, refs = filled(folder)
    failed: list[BaseException] = []
    pinned = db.view(world=top)
    expected = pinned.recall("tea zqxword7", k=TEXTS)

    def ask() -> None:
        try:
            for _ in range(15):
                assert pinned.recall("tea zqxword7", k=TEXTS).hits == expected.hits
                assert db.view(world=top).recall("tea").hits
        except BaseException as error:
            failed.append(error)

    with db:
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(15):
            db.revise(refs[number], content=f"zqxnew{number} tea")
            db.create("Note", "", content=f"tea {number}", world=top, resolve=False)
        for thread in threads:
            thread.join()
    assert not failed, failed
