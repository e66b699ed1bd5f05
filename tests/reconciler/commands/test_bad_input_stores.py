"""Directories, formats and processes that cannot be used give typed errors, untouched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import lmdb
import msgspec
import pytest

import worlddb
from tests.support.model.stores import DAY, day
from worlddb import (
    ClockJump,
    Database,
    InputError,
    ManualClock,
    NewerFormat,
    NotAStore,
    PlaceTaken,
    SeededEntropy,
    StoreClosed,
    SystemEntropy,
    UnavailableError,
)
from worlddb.log.model.clock import RELEASED_AT
from worlddb.log.model.limits import MAX_AUTHOR_BYTES
from worlddb.log.store.shared_environment import DATA_FILE


def open_store(path: Path | str, **options: Any) -> Database:
    return worlddb.open(path, clock=ManualClock(), entropy=SeededEntropy(1), **options)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder; LMDB's table of readers is nobody's data."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != "lock.mdb")
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A closed store with one world in it."""
    with open_store(tmp_path / "store") as db:
        db.create("Thing", "t")
    return tmp_path / "store"


# -- what is no store


def test_a_directory_with_other_things_in_it_is_not_a_store_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader", "utf-8")
    before = contents(tmp_path)
    for create in (True, False):
        with pytest.raises(NotAStore):
            open_store(tmp_path, create=create)
    assert contents(tmp_path) == before


def test_a_file_is_not_a_store_and_neither_is_anything_below_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"bytes")
    with pytest.raises(NotAStore):
        open_store(file)
    with pytest.raises(worlddb.WorldDBError):
        open_store(file / "below")
    assert file.read_bytes() == b"bytes"


@pytest.mark.parametrize("path", ["", "  "])
def test_a_path_that_was_left_empty_makes_no_store_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"'\.' is the directory"):
        worlddb.open(path)
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_leads_nowhere_is_called_so(tmp_path: Path) -> None:
    link, loop = tmp_path / "link", tmp_path / "loop"
    link.symlink_to(tmp_path / "missing")
    loop.symlink_to(loop)
    for each in (link, loop):
        with pytest.raises(NotAStore, match="leads nowhere"):
            open_store(each)
    (tmp_path / "missing").mkdir()
    open_store(link).close()
    assert (tmp_path / "missing" / DATA_FILE).exists()


def test_a_missing_directory_is_made_only_if_that_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(NotAStore):
        open_store(tmp_path / "missing", create=False)
    assert list(tmp_path.iterdir()) == []
    open_store(tmp_path / "a" / "deep" / "one").close()
    assert (tmp_path / "a" / "deep" / "one" / DATA_FILE).exists()


def test_an_empty_directory_becomes_a_store_only_if_that_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(NotAStore):
        open_store(tmp_path, create=False)
    assert list(tmp_path.iterdir()) == []
    open_store(tmp_path).close()
    open_store(tmp_path, create=False).close()


@pytest.mark.parametrize("pairs", [{b"key": b"value"}, {b"\x01format": b"\xc1"}, {b"\x01format": b"\x92\xa5other\x01"}])
def test_an_lmdb_file_of_another_program_is_not_a_store_and_keeps_its_pairs(
    tmp_path: Path, pairs: dict[bytes, bytes], store: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with lmdb.open(str(other), map_size=1 << 20) as env, env.begin(write=True) as txn:
        for key, value in pairs.items():
            txn.put(key, value)
    for create in (True, False):
        with pytest.raises(NotAStore):
            open_store(other, create=create)
    with open_store(store) as db, pytest.raises(NotAStore):
        db.replay(other)
    with lmdb.open(str(other), map_size=1 << 20) as env, env.begin() as txn, txn.cursor() as cursor:
        assert dict(cursor.iternext()) == pairs


@pytest.mark.parametrize("data", [b"no LMDB at all" * 1000, b"\x00" * 16384], ids=["garbage", "zeros"])
def test_a_data_file_that_is_not_lmdbs_is_a_typed_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / DATA_FILE).write_bytes(data)
    with pytest.raises(worlddb.StoreError):
        open_store(tmp_path)
    assert (tmp_path / DATA_FILE).read_bytes() == data


def test_a_replay_goes_into_a_new_directory_and_into_nothing_else(tmp_path: Path, store: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear reader", "utf-8")
    other = tmp_path / "other"
    open_store(other).close()
    with open_store(store) as db:
        for into in (tmp_path / "full", tmp_path / "full" / "letter.txt"):
            with pytest.raises(NotAStore):
                db.replay(into)
        for into in (store, other):
            with pytest.raises(PlaceTaken, match="already holds a store"):
                db.replay(into)
        assert db.verify(deep=True).ok


def test_of_two_replays_into_one_directory_at_once_one_is_refused(tmp_path: Path, store: Path) -> None:
    """Both went on with what the other had begun, each up to its own moment, and both were acknowledged."""
    with open_store(store) as db:

        def once_more(done: int, total: int) -> None:
            with pytest.raises(PlaceTaken, match="Another replay is making"):
                db.replay(tmp_path / "new", seq=1)

        assert db.replay(tmp_path / "new", progress=once_more).seq == db.head().seq


@pytest.mark.parametrize("path", [None, 5, b"bytes", ["store"], object()], ids=lambda path: type(path).__name__)
def test_an_invalid_path_is_refused(path: Any) -> None:
    with pytest.raises(InputError):
        open_store(path)


@pytest.mark.parametrize(
    "path", ["zero\x00byte", "x" * 5000, "half \ud83d", "odd \udcff"], ids=["zero", "long", "surrogate", "no utf-8"]
)
def test_a_path_that_the_system_cannot_hold_is_a_typed_error(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for create in (True, False):
        with pytest.raises(worlddb.WorldDBError):
            open_store(path, create=create)
    with pytest.raises(worlddb.WorldDBError):
        worlddb.diff(path, path)
    with open_store(tmp_path / "store") as db:
        db.create("Note", "a")
        for use in (lambda p: db.export(None, p), lambda p: db.export_jsonl(None, p), db.backup, db.replay):
            with pytest.raises(InputError):
                use(path)
    with pytest.raises(InputError):
        worlddb.restore(tmp_path / "store", path)
    with pytest.raises(InputError):
        worlddb.upgrade(path)


@pytest.mark.parametrize(
    "options",
    [
        *({"author": ""}, {"author": None}, {"author": "a" * (MAX_AUTHOR_BYTES + 1)}, {"author": "\ud800"}),
        *({"timeout_seconds": value} for value in ("1", None, -1, float("nan"), float("inf"), True)),
        *({"max_clock_jump_days": value} for value in ("1", None, -1, float("nan"), float("inf"))),
    ],
    ids=repr,
)
def test_an_option_of_no_use_is_refused_before_anything_is_made(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        open_store(tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()


# -- newer formats


def set_format(store: Path, version: int) -> None:
    with lmdb.open(str(store), map_size=1 << 24) as env, env.begin(write=True) as txn:
        txn.put(b"\x01format", msgspec.msgpack.encode(("worlddb", version)))


def test_a_store_of_a_newer_format_is_not_opened_and_not_touched(store: Path) -> None:
    set_format(store, 3)
    before = contents(store)
    with pytest.raises(NewerFormat) as error:
        open_store(store)
    assert "Upgrade" in error.value.remedy
    assert contents(store) == before
    set_format(store, 1)
    open_store(store).close()


def test_a_store_that_becomes_newer_while_it_is_open_takes_no_write_from_this_release(store: Path) -> None:
    script = "import lmdb, msgspec, sys; env = lmdb.open(sys.argv[1], map_size=1 << 24); txn = env.begin(write=True)\n"
    script += "txn.put(b'\\x01format', msgspec.msgpack.encode(('worlddb', 3))); txn.commit(); env.close()"
    with open_store(store) as db:
        head = db.head()
        subprocess.run([sys.executable, "-c", script, str(store)], check=True)
        for write in (
            lambda: db.create("Thing", "late"),
            lambda: db.ingest([{"text": "late"}]),
            lambda: db.rebuild("tables"),
        ):
            with pytest.raises(NewerFormat):
                write()
        assert db.head() == head


# -- handles


def test_two_handles_on_one_path_in_one_process_are_one_store(store: Path) -> None:
    with open_store(store) as one, open_store(str(store) + "/./") as other:
        ref = one.create("Thing", "from one").ref
        assert other.view().get(ref) is not None
        assert other.revise(ref, content="from the other").seq == one.head().seq
        one.close()
        assert other.view().get(ref).content == "from the other"  # type: ignore[union-attr]
    with open_store(store) as again:
        assert again.view().get(ref) is not None


def test_a_closed_handle_says_that_it_was_closed(store: Path) -> None:
    db = open_store(store)
    view = db.view()
    (child,) = view.children()
    tx = db.batch()
    tx.__enter__()
    tx.create("Thing", "too late")
    db.close()
    db.close()
    calls = [
        *(lambda: db.create("Thing", "t"), lambda: db.retire(child), lambda: db.ingest([{"text": "t"}])),
        *(db.view, db.head, db.stats, db.verify, db.rebuild, db.catch_up, db.proposals, lambda: list(db.log())),
        *(lambda: db.replay(store.parent / "copy"), lambda: tx.__exit__(None)),
        *(lambda: view.get(child), lambda: list(view.children()), lambda: view.find(name="t"), view.hash),
        *(lambda: view.recall("t"), lambda: view.recall("t", exact=True), lambda: view.history(child)),
        *(lambda: view.edges(child), view.proposals, lambda: view.equivalence_class(child)),
    ]
    for call in calls:
        with pytest.raises(StoreClosed):
            call()
    assert not (store.parent / "copy").exists()
    with open_store(store) as again:
        assert again.head().seq == 2


def test_a_store_that_is_closed_while_somebody_writes_says_that_it_was_closed(tmp_path: Path) -> None:
    class Closing(SystemEntropy):
        closes: worlddb.Database | None = None

        def bytes(self, count: int) -> bytes:
            if self.closes is not None:
                self.closes.close()
            return super().bytes(count)

    entropy = Closing()
    db = worlddb.open(tmp_path / "store", entropy=entropy, embedder=None)
    db.create("Thing", "before")
    entropy.closes = db
    with pytest.raises(StoreClosed, match="during this call"):
        db.create("Thing", "at the end")
    with open_store(tmp_path / "store") as again:
        assert [world.name for world in again.view().children()] == ["before"]


def test_a_clock_far_ahead_makes_no_store(tmp_path: Path) -> None:
    clock = ManualClock(RELEASED_AT + 80 * 365 * DAY)
    with pytest.raises(ClockJump):
        worlddb.open(tmp_path / "store", clock=clock)
    clock.value = day(0)
    with worlddb.open(tmp_path / "store", clock=clock) as db:
        assert db.head().ingested_at == day(0)
    clock.value = RELEASED_AT + 80 * 365 * DAY
    with worlddb.open(tmp_path / "store", clock=clock, max_clock_jump_days=81 * 365) as db:
        assert db.create("Thing", "on purpose").ingest_time == clock.value


# -- processes

FORK = """
import os, sys, warnings
import worlddb
warnings.simplefilter("ignore")
path = sys.argv[1]
db = worlddb.open(path)
view = db.view()
ref = db.create("Thing", "before the fork").ref
tx = db.batch()
tx.__enter__()
tx.create("Thing", "never")
child = os.fork()
if child == 0:
    calls = [lambda: db.create("Thing", "t"), lambda: db.revise(ref, content="c"), db.view, db.head, db.verify,
             lambda: view.get(ref), lambda: list(view.children()), lambda: view.recall("fork"), db.stats,
             lambda: db.rebuild(), lambda: tx.__exit__(None, None, None), lambda: db.ingest([{"text": "t"}])]
    failed = 0
    for number, call in enumerate(calls):
        try:
            call()
        except worlddb.ForkedProcess as error:
            failed += "before a fork" in error.message
        except BaseException as error:
            print(number, repr(error), flush=True)
    db.close()
    try:
        worlddb.open(path)
    except worlddb.ForkedProcess as error:
        failed += bool(error.remedy)
    os._exit(0 if failed == len(calls) + 1 else 3)
_, status = os.waitpid(child, 0)
print("child", os.waitstatus_to_exitcode(status))
db.create("Thing", "after the fork")
assert [world.name for world in db.view().children()] == ["before the fork", "after the fork"]
assert db.verify(deep=True).ok
db.close()
print("parent 0")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_handle_from_before_a_fork_is_refused_in_the_child_and_works_on_in_the_parent(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORK, str(tmp_path / "store")], capture_output=True, text=True, timeout=180, check=False
    )
    assert (run.stdout.splitlines(), run.returncode) == (["child 0", "parent 0"], 0), run.stdout + run.stderr


def test_the_errors_here_are_chosen_by_what_the_caller_should_do() -> None:
    assert issubclass(StoreClosed, UnavailableError) and issubclass(NotAStore, worlddb.StoreError)
    assert (NotAStore.exit_code, NewerFormat.exit_code, StoreClosed.exit_code) == (2, 4, 5)
