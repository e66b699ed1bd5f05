"""Temporary files of killed processes: what they leave is gone after the next opening and after an erasure."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import lmdb
import pytest

import worlddb
from tests.support.faults.children import call
from tests.support.faults.traces import find_traces
from worlddb.log.store import scratch
from worlddb.reconciler.diagnostics import location
from worlddb.tools.cli.main import main

NAME, TEXT = "Narwhal Quixote", "the tusk is in the cellar"
LEFT = ("**/.scratch-*", "**/.held-*", "**/.export-*", "**/.check-*", "**/.new-*", "**/.*.unfinished")


def make_store(base: Path) -> str:
    """A store with a world whose name and text nothing else has; every folder that a child may write to."""
    for name in ("out", "tmp"):
        (base / name).mkdir()
    with worlddb.open(base / "store") as db:
        db.create("Note", "kept", content="the walrus is patient")
        gone = db.create("Person", NAME, content=TEXT)
        for number in range(3):
            db.create("Note", f"note {number}", content=f"nothing about anybody, number {number}")
        db.view().recall("walrus")
    return str(gone.ref)


def left_files(base: Path) -> list[Path]:
    return sorted(path for pattern in LEFT for path in base.glob(pattern))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _at_the_end(base: Path) -> Callable[..., None]:
    """A progress that kills its process when all is done and nothing was cleaned up yet."""

    def progress(done: int, total: int, *_: object) -> None:
        if done == total and left_files(base):
            _die()

    return progress


def _verify(base: Path) -> None:
    with worlddb.open(base / "store") as db:
        db.verify(deep=True, progress=_at_the_end(base))


def _doctor(base: Path) -> None:
    worlddb.diagnose(base / "store", deep=True, progress=_at_the_end(base))


def _redecide(base: Path) -> None:
    with worlddb.open(base / "store") as db:
        db.redecide(progress=_at_the_end(base))


def _snapshot(base: Path) -> None:
    with worlddb.open(base / "store") as db:
        db.snapshot(progress=_at_the_end(base))


def _export(base: Path) -> None:
    os.link = lambda *_: _die()  # The file is whole and on the disk, and does not have its name yet.
    with worlddb.open(base / "store") as db:
        db.export(None, base / "out" / "all.bundle")


def _export_packed(base: Path) -> None:
    os.link = lambda *_: _die()
    with worlddb.open(base / "store") as db:
        db.export(None, base / "out" / "all.bundle.zst")


def _export_lines(base: Path) -> None:
    os.link = lambda *_: _die()
    with worlddb.open(base / "store") as db:
        db.export_jsonl(None, base / "out" / "all.jsonl")


def _standard_input(base: Path) -> None:
    given = f'{{"speaker": "{NAME}", "text": "{TEXT}"}}\n'.encode()
    sys.stdin = SimpleNamespace(buffer=io.BytesIO(given))
    setattr(worlddb.Database, "ingest", lambda *_, **__: _die())  # noqa: B010
    main(["--store", str(base / "store"), "ingest", "-", "--conversation", "chat"])


def run(job: Callable[[Path], None], base: Path) -> None:
    """What a child does: the system's temporary directory is one that the test looks through."""
    tempfile.tempdir = str(base / "tmp")
    os.environ["TMPDIR"] = tempfile.tempdir
    job(base)


JOBS = (_verify, _doctor, _redecide, _snapshot, _export, _export_packed, _export_lines, _standard_input)
each_job = pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__.lstrip("_"))


@each_job
def test_what_a_killed_process_leaves_is_gone_after_the_next_opening(
    tmp_path: Path, job: Callable[[Path], None]
) -> None:
    make_store(tmp_path)
    assert call(run, job, tmp_path) == -signal.SIGKILL
    assert left_files(tmp_path), "the process was killed where it left nothing"
    worlddb.open(tmp_path / "store").close()
    assert left_files(tmp_path) == [] == list((tmp_path / "tmp").iterdir()) == list((tmp_path / "out").iterdir())


@each_job
def test_what_a_killed_process_leaves_is_gone_after_an_erasure(tmp_path: Path, job: Callable[[Path], None]) -> None:
    """The eraser had the store open before, so that no opening comes in between."""
    gone = make_store(tmp_path)
    with worlddb.open(tmp_path / "store") as db:
        assert call(run, job, tmp_path) == -signal.SIGKILL
        db.erase(gone, reason="request 7")
        assert left_files(tmp_path) == [] == find_traces(tmp_path, [NAME, TEXT])
        assert db.verify(deep=True).ok


def test_an_opening_leaves_what_a_living_process_uses_and_an_erasure_takes_tables_from_it(tmp_path: Path) -> None:
    gone = make_store(tmp_path)
    with worlddb.open(tmp_path / "store") as db:
        with scratch.temporary_folder(tmp_path / "store") as held:
            (held / "input").write_text("what is on its way in")
            found: list[str] = []

            def work(folder: Path) -> str:
                found.append(folder.name)
                if len(found) == 1:
                    (folder / "rows").write_text(NAME)
                    worlddb.open(tmp_path / "store").close()
                    assert (folder / "rows").exists() and scratch.abandoned_folders(tmp_path / "store") == []
                    db.erase(gone, reason="request 8")
                    assert find_traces(tmp_path, [NAME, TEXT]) == []
                return (folder / "rows").read_text() if len(found) == 1 else "made again"

            assert scratch.run_with_tables(tmp_path / "store", work) == "made again" and len(set(found)) == 2
            assert (held / "input").exists()
        assert left_files(tmp_path) == []


def test_a_folder_is_not_kept_because_a_process_of_its_number_lives(tmp_path: Path) -> None:
    """Scratch tables were named by a process number alone: that of another process kept them through an erasure."""
    gone = make_store(tmp_path)
    store = tmp_path / "store"
    with worlddb.open(store) as db:
        for name in (f".check-{os.getpid()}-x", ".check-1-y"):
            (store / name).mkdir()
            (store / name / "data.mdb").write_text(NAME)
        assert [path.name for path in scratch.abandoned_folders(store)] == [".check-1-y", f".check-{os.getpid()}-x"]
        db.erase(gone, reason="request 9")
        assert find_traces(tmp_path, [NAME, TEXT]) == []


def test_only_files_of_its_own_are_removed_elsewhere(tmp_path: Path) -> None:
    make_store(tmp_path)
    folder = tmp_path / "store" / ".held-abc"
    folder.mkdir()
    (folder / "outside").write_bytes(scratch._outside_note(folder, tmp_path / "out"))
    kept = [tmp_path / "out" / name for name in ("mine.bundle", ".export-other-1", ".export-")]
    for path in kept:
        path.touch()
    (tmp_path / "out" / ".export-abc-1").touch()
    worlddb.open(tmp_path / "store").close()
    assert sorted((tmp_path / "out").iterdir()) == sorted(kept) and left_files(tmp_path / "store") == []


def test_opening_a_copy_leaves_what_the_original_is_writing(tmp_path: Path) -> None:
    """Nobody has the lock of the copy's folder, and the file that the folder names is the original's."""
    make_store(tmp_path)
    out = tmp_path / "out" / "all.bundle"
    seen: list[int] = []

    def progress(*_: object) -> None:
        if not seen:
            shutil.copytree(tmp_path / "store", tmp_path / "copy", ignore=shutil.ignore_patterns("lock.mdb"))
            assert left_files(tmp_path / "copy")
            worlddb.open(tmp_path / "copy").close()
            assert left_files(tmp_path / "copy") == []
            seen.append(len(left_files(tmp_path / "out")))

    with worlddb.open(tmp_path / "store") as db:
        db.export(None, out, progress=progress)
    assert seen == [1] and out.exists() and left_files(tmp_path) == []


def test_a_store_that_was_moved_takes_what_a_kill_left_elsewhere(tmp_path: Path) -> None:
    make_store(tmp_path)
    assert call(run, _export, tmp_path) == -signal.SIGKILL
    (tmp_path / "store").rename(tmp_path / "moved")
    worlddb.open(tmp_path / "moved").close()
    assert left_files(tmp_path) == []


def _replay(base: Path) -> None:
    with worlddb.open(base / "store") as db:
        db.replay(base / "out" / "then", progress=lambda *_: _die())


def test_a_replay_that_was_killed_is_among_the_copies_that_a_receipt_names(tmp_path: Path) -> None:
    gone = make_store(tmp_path)
    with worlddb.open(tmp_path / "store") as db:
        assert call(run, _replay, tmp_path) == -signal.SIGKILL
        receipt = db.erasure_receipt(db.erase(gone, reason="request 10"))
        place = str((tmp_path / "out" / "then").resolve())
        assert [line for line in receipt.not_reached if place in line] == [f"replay at {place}"]


def test_an_erasure_takes_whatever_a_kill_left_in_the_folders_of_a_store(tmp_path: Path) -> None:
    """Files that an index, a snapshot or a rewriting was about to put in place, at every place where they are made."""
    gone = make_store(tmp_path)
    store = tmp_path / "store"
    with worlddb.open(store) as db:
        for name in (
            *("indexes/text/passed.new", "indexes/vectors-1/current.json.new", "indexes/vectors-1/base-3/vectors"),
            *("indexes/composed-1-mean/composed.npz.new", "snapshots/2/data.mdb", ".scrub/data.mdb", ".new-x/data.mdb"),
        ):
            (store / name).parent.mkdir(parents=True, exist_ok=True)
            (store / name).write_text(NAME)
        db.erase(gone, reason="request 11")
        assert find_traces(tmp_path, [NAME, TEXT]) == []


def test_input_for_a_store_still_to_be_made_leaves_no_store_if_it_is_wrong(tmp_path: Path) -> None:
    store = tmp_path / "new" / "store"
    with worlddb.scratch_folder(store) as folder:
        (folder / "input").write_text("no turn")
        assert folder.parent == store
    assert not (tmp_path / "new").exists()
    with worlddb.scratch_folder(store) as folder, worlddb.open(store) as db:
        db.create("Note", "made meanwhile")
    assert left_files(tmp_path) == []
    worlddb.open(store, create=False).close()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    with pytest.raises(worlddb.NotAStore), worlddb.scratch_folder(tmp_path / "other"):
        pass


def test_an_erasure_takes_what_earlier_releases_left_in_the_systems_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They derived tables there, and a kill left them with clear names: no opening or erasure looked there."""
    ref = make_store(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    inside = {"worlddb-doctor-a1": ".check-77-b2", "worlddb-redecide-c3": "", "worlddb-redecide-held": ""}
    folders = {name: tmp_path / "tmp" / name / within for name, within in inside.items()}
    for tables in folders.values():
        tables.mkdir(parents=True)
        with lmdb.open(str(tables)) as env, env.begin(write=True) as txn:
            txn.put(b"name", NAME.encode())
    (tmp_path / "tmp" / "worlddb-doctor-of-another-kind").mkdir()
    (tmp_path / "tmp" / "worlddb-doctor-empty").mkdir()
    (tmp_path / "elsewhere").mkdir()
    with lmdb.open(str(tmp_path / "elsewhere")):
        (tmp_path / "tmp" / "worlddb-redecide-link").symlink_to(tmp_path / "elsewhere")
    held = folders.pop("worlddb-redecide-held")
    program = f"import lmdb; env = lmdb.open({str(held)!r}); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"open\n"
        told = [symptom.where for symptom in location.leftovers(tmp_path / "store")]
        assert told == [str(tmp_path / "tmp" / name) for name in folders]
        with worlddb.open(tmp_path / "store") as db:
            assert [folder.exists() for folder in folders.values()] == [True, True], (
                "an opening looks in its own folder"
            )
            db.erase(ref, reason="request 7")
        assert not any(folder.exists() for folder in folders.values()) and held.exists()
        other.communicate(b"\n", timeout=20)
    assert [symptom.where for symptom in location.leftovers(tmp_path / "store")] == [str(held)]
    with worlddb.open(tmp_path / "store") as db:
        db.erase(db.create("Note", "another"), reason="request 8")
    kept = {path.name for path in (tmp_path / "tmp").iterdir()}
    assert kept == {"worlddb-doctor-of-another-kind", "worlddb-doctor-empty", "worlddb-redecide-link"}
    assert (tmp_path / "elsewhere" / "data.mdb").exists()


def test_an_export_removes_what_a_killed_one_left_there_though_its_store_is_gone(tmp_path: Path) -> None:
    make_store(tmp_path)
    assert call(run, _export, tmp_path) == -signal.SIGKILL
    out = tmp_path / "out"
    shutil.rmtree(tmp_path / "store")
    others = [out / name for name in (".export-", ".export-other-1", ".export-notes.txt", ".exported")]
    for path in others:
        path.write_text("mine")
    (abandoned,) = set(out.glob(".export-*")) - set(others)
    assert abandoned.stat().st_size
    with worlddb.open(tmp_path / "another", embedder=None) as db:
        db.create("Note", "n")
        db.export(None, out / "another.bundle")
    assert sorted(out.iterdir()) == sorted([*others, out / "another.bundle"])


def test_an_export_leaves_what_another_process_is_writing(tmp_path: Path) -> None:
    make_store(tmp_path)
    out, seen = tmp_path / "out", list[list[str]]()

    def progress(*_: object) -> None:
        if not seen:
            with worlddb.open(tmp_path / "another", embedder=None) as other:
                other.create("Note", "n")
                other.export(None, out / "another.bundle")
            seen.append([path.name for path in out.glob(".export-*")])

    with worlddb.open(tmp_path / "store") as db:
        db.export(None, out / "all.bundle", progress=progress)
    assert len(seen[0]) == 1 and {path.name for path in out.iterdir()} == {"all.bundle", "another.bundle"}
    worlddb.check_bundle(out / "all.bundle")
