"""What outlived an erasure: the index of a view that is held, and the target of a linked data file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import worlddb
from worlddb import UnavailableError

WORDS = ("knee", "operation", "friday")
ERASE = "import sys, worlddb; db = worlddb.open(sys.argv[1]); db.erase(sys.argv[2], reason='r'); db.close()"


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
            kept = view._window._kept
            assert kept is not None and view.recall("tea").hits and view._window._kept is kept, "made anew each time"


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
