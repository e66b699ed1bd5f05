"""What outlived an erasure: the index of a view that is held, a linked data file, and the receipt of other texts."""

import errno
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest

import worlddb
from worlddb import IdempotencyConflict, UnavailableError
from worlddb.log.store import environment
from worlddb.tools.cli.main import main

WORDS = ("knee", "operation", "friday")
ERASE = "import sys, worlddb; db = worlddb.open(sys.argv[1]); db.erase(sys.argv[2], reason='r'); db.close()"
ERASE_ALL = ERASE.replace("reason='r'", "reason='r', members=True")


@pytest.mark.parametrize("other", [False, True], ids=["here", "another process"])
def test_a_held_confined_view_forgets_erased_words(memory: Path, other: bool) -> None:
    with worlddb.open(memory / "store", author="ada") as db:
        top = db.create("Topic", "Alpha").ref
        gone = db.create("Person", "Ines", content="the knee operation is on friday", world=top).ref
        db.create("Note", "n", content="tea on friday", world=top)
        held = (db.view(world=top), db.view(world=top, seq=db.head().seq))
        for view in held:
            assert view.recall("knee operation").hits[0].ref == gone
        if other:
            subprocess.run([sys.executable, "-c", ERASE, str(memory / "store"), gone], check=True)
        else:
            db.erase(gone, reason="r")
        for view in held:
            fresh = db.view(world=top, seq=view.seq, valid=view.valid)
            for word in WORDS:
                for lanes in (("text",), ("vector",), ("text", "vector")):
                    hits = view.recall(word, lanes=lanes).hits
                    assert gone not in [hit.ref for hit in hits]
                    assert hits == fresh.recall(word, lanes=lanes).hits
            kept = dict(db._reader.worlds._kept)
            assert kept and view.recall("tea").hits and db._reader.worlds._kept == kept, "made anew each time"


def test_a_linked_data_file_is_refused_and_a_linked_folder_erased(memory: Path) -> None:
    store, disk = memory / "store", memory / "disk"
    disk.mkdir()
    with worlddb.open(store) as db:
        gone = db.create("Person", "Ines", content="zqxtwo knee").ref
    shutil.move(store / "data.mdb", disk / "data.mdb")
    (store / "data.mdb").symlink_to(disk / "data.mdb")
    with pytest.raises(UnavailableError, match="is a symbolic link"):
        worlddb.open(store)
    assert (store / "data.mdb").is_symlink()
    os.replace(disk / "data.mdb", store / "data.mdb")
    shutil.move(store, disk / "store")
    store.symlink_to(disk / "store")
    with worlddb.open(store) as db:
        db.erase(gone, reason="r")
    assert b"zqxtwo" not in (disk / "store" / "data.mdb").read_bytes()


def test_a_data_file_that_became_a_link_while_it_was_open_keeps_its_erasure_due(memory: Path) -> None:
    store, data = memory / "store", memory / "elsewhere.mdb"
    with worlddb.open(store) as db:
        gone = db.create("Person", "Ines", content="zqxtwo knee").ref
        os.rename(store / "data.mdb", data)
        (store / "data.mdb").symlink_to(data)
        receipt = db.erase(gone, reason="r")
        assert (store / "data.mdb").is_symlink() and not db.finish_erasures()
        assert not db.check_erasure(db.erasure_receipt(receipt)).ok
        (store / "data.mdb").unlink()
        os.rename(data, store / "data.mdb")
        assert db.finish_erasures() and b"zqxtwo" not in (store / "data.mdb").read_bytes()


def test_a_retry_whose_text_is_gone_says_that_nobody_can_tell_and_that_nothing_is_written(memory: Path) -> None:
    """Another text under the key of an erased one got the old receipt, as if it had been written."""
    with worlddb.open(memory / "store") as db:
        first = db.create("Note", "n", content="secret one", idempotency_key="k")
        with db.batch(idempotency_key="b") as batch:
            batch.create("Note", "a", content="aa")
            batch.create("Note", "b", content="bb")
        assert db.create("Note", "n", content="secret one", idempotency_key="k") == first
        db.erase([first.ref, batch.receipt.refs[0]], reason="r")
        head = db.head()
        for text in ("secret one", "other text"):
            again = db.create("Note", "n", content=text, idempotency_key="k")
            assert (again.ref, again.seq) == (first.ref, first.seq)
            assert again.notes == (worlddb.Note("retry_not_compared", (first.ref,)),)
            assert "nothing was written" in str(again.notes[0])
        for one, two in (("aa", "bb"), ("zz", "bb"), ("aa", "yy")):
            if two != "bb":
                with pytest.raises(IdempotencyConflict), db.batch(idempotency_key="b") as tx:
                    tx.create("Note", "a", content=one)
                    tx.create("Note", "b", content=two)
                continue
            with db.batch(idempotency_key="b") as tx:
                tx.create("Note", "a", content=one)
                tx.create("Note", "b", content=two)
            assert tx.receipt.notes == (worlddb.Note("retry_not_compared", batch.receipt.refs[:1]),)
        assert db.head() == head
        assert db.create("Note", "n", content="other text", idempotency_key="another").events


def test_a_retry_of_what_was_left_as_it_was_is_compared_with_what_was_there(memory: Path) -> None:
    """Of a command that changed nothing no text is kept, so that any text got the receipt of its batch."""
    with worlddb.open(memory / "store") as db:
        known = db.create("Note", "n", content="one", key="n").ref

        def ask(key: str, content: str, new: str = "new") -> worlddb.Receipt:
            with db.batch(idempotency_key=key) as tx:
                tx.create("Note", "n", content=content, key="n")
                tx.create("Note", "m", content=new)
            assert tx.receipt is not None
            return tx.receipt

        first = ask("k", "one")
        assert ask("k", "one") == first
        for content, new in (("two", "new"), ("one", "newer")):
            with pytest.raises(IdempotencyConflict):
                ask("k", content, new)
        db.revise(known, content="two")
        assert ask("k", "one") == first, "compared with what was there then"
        with pytest.raises(IdempotencyConflict):
            ask("k", "two")
        db.erase(known, reason="r")
        assert ask("k", "one").notes == (*first.notes, worlddb.Note("retry_not_compared", (known,)))
        assert ask("k", "two").seq == first.seq
        later = ask("later", "one")
        assert "not_restored" in {note.code for note in later.notes} and ask("later", "two") == later


@pytest.mark.parametrize("durability", ["commit", "group"])
def test_an_erasure_whose_bytes_cannot_be_removed_now_says_so_and_why(
    memory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], durability: str
) -> None:
    """On a full disk the receipt was that of an erasure which had done all that it promises."""

    def full(*given: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    store = memory / "store"
    with worlddb.open(store, durability=durability) as db:  # type: ignore[arg-type]
        gone, also = (db.create("Person", "Ines", content=f"zqxtwo knee {n}").ref for n in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(environment, "write_copy", full)
            receipt = db.erase(gone, reason="r")
            (note,) = receipt.notes
            assert note.code == "bytes_remain" and "No space left" in str(note) and "verify" in str(note)
            assert db.create("Note", "n").notes == (), "only who erased is told"
            assert main(["--store", str(store), "erase", also, "--reason", "r", "--yes"]) == 5
            assert "still in the files" in (told := capsys.readouterr().out) and "No space left" in told
            assert b"zqxtwo" in (store / "data.mdb").read_bytes()
        assert db.finish_erasures() and b"zqxtwo" not in (store / "data.mdb").read_bytes()
        assert db.check_erasure(db.erasure_receipt(receipt)).ok


def _reachable_texts(db: worlddb.Database, words: Iterable[str]) -> set[str]:
    """Return the texts with one of some words that are reached from a handle, or from a cache of any of our modules."""
    modules = [module for name, module in [*sys.modules.items()] if name.startswith("worlddb")]
    pending: list[Any] = [
        value for module in modules for value in vars(module).values() if hasattr(value, "cache_info")
    ]
    pending.append(db)
    seen: set[int] = set()
    found = set()
    while pending:
        each = pending.pop()
        if id(each) in seen or isinstance(each, ModuleType | type | CodeType | FrameType):
            continue
        seen.add(id(each))
        if isinstance(each, str) and any(word in each.casefold() for word in words):
            found.add(each)
        pending += (each.__closure__ or ()) if isinstance(each, FunctionType) else gc.get_referents(each)
    return found


@pytest.mark.parametrize("other", [False, True], ids=["here", "another process"])
def test_no_cache_keeps_a_word_of_what_was_erased(memory: Path, other: bool) -> None:
    """Words, names and questions stayed in caches as long as the process lived."""
    plain, accented = "zqxo" + "lotl", "zqё" + "лка"
    with worlddb.open(memory / "store", author="ada") as db:
        top = db.create("Topic", "Alpha").ref
        db.create("Person", f"Ann {plain}", content=f"Ann {plain} moved to {accented}.", world=top, resolve="all")
        for name in (accented.title(), "Bob " + plain[:-1]):
            text = f"Bob says {accented} likes {plain}."
            db.create(f"Kind of {plain}", name, content=text, aliases=[name[::-1]], world=top, resolve="all", key=name)
        for view in (db.view(), db.view(world=top)):
            view.recall(f"who moved to {plain} and {accented}", exact=True)
            view.recall(f"{plain} {accented}"), view.near(f"Ann {plain} stays in {accented}.")
            assert view.find(name=f"Ann {plain}") and view.find(type=f"Kind of {plain}")
        words = (plain, accented, plain[:-1], plain[::-1][1:])
        assert len(_reachable_texts(db, words)) > 20
        if other:
            subprocess.run([sys.executable, "-c", ERASE_ALL, str(memory / "store"), top], check=True)
            assert _reachable_texts(db, words), "it has not seen it yet"
            assert not db.view().recall("tea").hits
        else:
            db.erase(top, reason="r", members=True)
        assert _reachable_texts(db, words) == set()
