"""The work of the processes in fault tests."""

from __future__ import annotations

import itertools
import os
import random
import resource
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import worlddb
from tests.support.faults.answers import QUERIES, answers
from tests.support.faults.children import Acknowledged
from tests.support.faults.points import Cut, install
from tests.support.faults.script import Run
from worlddb.projections.indexes import tail
from worlddb.reconciler.backup import commit_copier


def cut_run(folder: Path, acknowledgements: Path, at: int, how: str) -> None:
    """Run the script to its ``at``-th point, or with 0 to its end and write the points passed."""
    cut = Cut(at, how)
    # Few texts are searched without an index, and the points in which one is written are to be passed.
    tail.STRETCH_DOCUMENTS = 4  # type: ignore[misc]
    install(cut)
    Run(folder, Acknowledged(acknowledgements)).whole()
    acknowledgements.with_suffix(".points").write_text("\n".join(cut.passed), "utf-8")


def write_and_read(folder: Path, acknowledgements: Path, author: str, count: int, together: Barrier) -> None:
    """Open the store when all others do, then write ``count`` worlds and read after each, acknowledging every write.

    A line is ``name seq ingest_time ref``.
    """
    acknowledge = Acknowledged(acknowledgements)
    together.wait()
    with worlddb.open(folder, author=author, timeout_seconds=60) as db:
        seen = 0
        for number in range(count):
            name = f"{author}-{number}"
            receipt = db.create("Fact", name, content=f"{author} wrote number {number}")
            acknowledge(f"{name} {receipt.seq} {receipt.ingest_time} {receipt.ref}")
            view = db.view()
            assert view.seq >= receipt.seq
            here = {world.name for world in view.children()}
            assert {f"{author}-{before}" for before in range(number + 1)} <= here
            assert len(here) >= seen
            seen = len(here)
            if number % 8 == 0:
                assert name in [hit.name for hit in view.recall(f"{author} wrote number {number}", k=100)]


def race(folder: Path, acknowledgements: Path, kind: str, count: int, together: Barrier) -> None:
    """Open the store with all others and repeat one kind of thing, a write after each."""
    acknowledge = Acknowledged(acknowledgements)
    together.wait()
    with worlddb.open(folder, author=kind, timeout_seconds=60) as db:
        for number in range(count):
            if kind == "rebuild":
                db.rebuild()
            if kind == "erase":
                db.erase(db.create("Note", "perishable", content="perishable", resolve=False), reason="request 1")
            name = f"{acknowledgements.name}-{number}"
            db.create("Fact", name, content=f"{name} is kept")
            acknowledge(name)
            assert name in [hit.name for hit in db.view().recall(f"{name} is kept", k=100)]


def write_and_find(folder: Path, acknowledgements: Path, author: str, stop: Path) -> None:
    """Write and search until ``stop`` is there, acknowledging the name of every world."""
    acknowledge = Acknowledged(acknowledgements)
    with worlddb.open(folder, author=author, timeout_seconds=60) as db:
        for number in itertools.count():
            name = f"{author}-{number}"
            receipt = db.create("Fact", name, content=f"lasting words {name}")
            acknowledge(name)
            found = db.view().get(receipt)
            assert found is not None and found.name == name
            assert name in [hit.name for hit in db.view().recall(name, k=100)]
            assert [world.ref for world in db.view().find(name=name)] == [receipt.ref]
            if stop.exists():
                return


def write_together(folder: Path, acknowledgements: Path, threads: int) -> None:
    """Write without end from threads that share transactions, acknowledging every world."""
    acknowledge = Acknowledged(acknowledgements)
    with worlddb.open(folder, durability="group", timeout_seconds=60) as db:

        def write(thread: int) -> None:
            for number in itertools.count():
                name = f"{os.getpid()}-{thread}-{number}"
                db.create("Fact", name, content=f"lasting words {name}", resolve=False)
                acknowledge(name)

        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(write, thread) for thread in range(threads)]:
                done.result()


def fork_and_use(folder: Path) -> None:
    """Fork with a store open: the child can neither use nor reopen it, and disturbs nobody."""
    db = worlddb.open(folder, author="parent")
    db.create("Fact", "before the fork")
    view = db.view()
    for way_out in (os._exit, sys.exit):
        child = os.fork()
        if not child:
            way_out(_in_the_fork(db, view, folder))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [world.name for world in view.children()] == ["before the fork"]
        assert db.create("Fact", "after the fork")
    assert db.verify(deep=True).ok
    db.close()
    child = os.fork()
    if not child:
        with worlddb.open(folder, author="child") as own:
            own.create("Fact", "by the child")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with worlddb.open(folder, author="parent") as db:
        names = [world.name for world in db.view().children()]
        assert names == ["before the fork", "after the fork", "after the fork", "by the child"]


def _in_the_fork(db: worlddb.Database, view: worlddb.View, folder: Path) -> int:
    """The number of uses of the store that were not refused."""
    forbidden: list[Callable[[], object]] = [
        db.head,
        db.view,
        lambda: list(view.children()),
        lambda: db.create("Fact", "never"),
        lambda: view.recall("anything"),
        db.verify,
        db.stats,
        lambda: worlddb.open(folder, author="child"),
    ]
    allowed = 0
    for use in forbidden:
        try:
            use()
            allowed += 1
        except worlddb.ForkedProcess:
            pass
    db.close()
    return allowed


def flip_raw_bits(whole: Path, folder: Path, seed: int, count: int, outcomes: Path) -> None:
    """Turn single bits of the data file over, anywhere in it, and do with the store what a user would.

    A line of ``outcomes`` is ``number byte bit outcome``; it is written in two halves, so that a process that dies of
    a flip leaves its place behind. No error but a typed one may come out.
    """
    rng = random.Random(seed)
    data = (whole / "data.mdb").read_bytes()
    told = Acknowledged(outcomes)
    for number in range(count):
        # Every other flip goes to the beginning of a page, where LMDB keeps what it follows.
        span = 4096 if number % 2 else 48
        at, bit = rng.randrange(len(data) // 4096) * 4096 + rng.randrange(span), rng.randrange(8)
        store = folder / str(number)
        store.mkdir(parents=True)
        (store / "writer.json").write_bytes((whole / "writer.json").read_bytes())
        (store / "data.mdb").write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
        told(f"{number} {at} {bit} begun")
        told(f"{number} {at} {bit} {_used_after_damage(store)}")
        shutil.rmtree(store)


def _used_after_damage(store: Path) -> str:
    try:
        with worlddb.open(store, author="x", create=False) as db:
            verified = db.verify(deep=True)
            if not verified.ok:
                return "found"
            answers(db.view(), queries=("office",))
            db.create("Entity", "after the flip")
            return "harmless"
    except worlddb.WorldDBError as error:
        return error.code


def open_truncated(whole: Path, folder: Path, lengths: list[int], outcomes: Path) -> None:
    """Open the store with its file cut to each length; a line is ``length outcome``."""
    data = (whole / "data.mdb").read_bytes()
    told = Acknowledged(outcomes)
    for length in lengths:
        store = folder / str(length)
        store.mkdir(parents=True)
        (store / "writer.json").write_bytes((whole / "writer.json").read_bytes())
        (store / "data.mdb").write_bytes(data[:length])
        told(f"{length} {_used_after_damage(store)}")
        shutil.rmtree(store)


def write_without_room(folder: Path, room_bytes: int) -> None:
    """Write with no room for the file: a typed error each time, and all well with room again."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    db = worlddb.open(folder, author="full")
    written = [db.create("Fact", f"before {number}") for number in range(3)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "data.mdb").stat().st_size + room_bytes, hard))
    failures = 0
    for number in range(20):
        try:
            written.append(db.create("Fact", f"large {number}", content="z" * 20_000))
        except (worlddb.UnavailableError, worlddb.DamagedStore):
            failures += 1
    assert failures
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    db.close()
    with worlddb.open(folder, author="roomy") as again:
        assert again.head().seq == written[-1].seq
        assert [world.ref for world in again.view().children()] == [receipt.ref for receipt in written]
        assert again.create("Fact", "after").seq == written[-1].seq + 1
        assert again.verify(deep=True).ok


def write_without_files(folder: Path) -> None:
    """Use a store with no file handle left: a typed error, and all well afterwards."""
    db = worlddb.open(folder, author="starved")
    receipt = db.create("Fact", "before", content="the text before")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, hard))
    for use in (lambda: db.create("Fact", "never"), lambda: worlddb.open(folder.with_name("other"), author="x")):
        try:
            use()
        except worlddb.UnavailableError:
            continue
        raise AssertionError("it was not refused")
    found = db.view().get(receipt)
    assert found is not None and found.name == "before"
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert db.create("Fact", "after").seq == receipt.seq + 1
    assert db.verify(deep=True).ok


def read_under_audit(store: Path, events: Path) -> None:
    """Read everything while the interpreter reports network, processes and written files."""
    told = Acknowledged(events)
    db = worlddb.open(store, author="x")
    view = db.view()
    for text in QUERIES:
        view.recall(text)
    db.catch_up()
    watching = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal watching
        if watching and event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.system", "urllib.")):
            watching = False
            told(f"canary {event}")

    sys.addaudithook(hook)
    socket.socket().close()
    watching = True
    answers(view)
    for text in QUERIES:
        view.recall(text)
    list(db.log())
    db.stats()
    watching = False
    told("done")


def write_until_killed(folder: Path, acknowledgements: Path, author: str, begin: int) -> None:
    """Write varied commits without end, acknowledging each with what it wrote, and begin again where the last left off.

    A line is ``number seq ingest_time root ref``. Every commit is first tried under the key of its number, so what an
    earlier process committed and could not acknowledge is acknowledged now.
    """
    acknowledge = Acknowledged(acknowledgements)
    with worlddb.open(folder, author=author, timeout_seconds=60) as db:
        for number in itertools.count(begin):
            key = f"{author}-{number}"
            receipt = _varied(db, author, number, key)
            acknowledge(f"{number} {receipt.seq} {receipt.ingest_time} {receipt.root} {receipt.ref}")
            if number % 16 == 0:
                assert any(hit.ref == receipt.ref for hit in db.view().recall(f"{author} {number}", k=200))
            if number % 50 == 49:
                db.rebuild()
            if number % 20 == 19:
                db.catch_up()


def count_until_killed(folder: Path, acknowledgements: Path) -> None:
    """Count requests of a key without end, acknowledging each that is written."""
    acknowledge = Acknowledged(acknowledgements)
    with worlddb.open(folder, embedder=None) as db:
        for number in itertools.count():
            db.accounts.meter.count("key", bytes_in=number)
            db.accounts.meter.flush()
            assert not db.accounts.meter.trouble
            acknowledge(str(number))


def _varied(db: worlddb.Database, author: str, number: int, key: str) -> worlddb.Receipt:
    """Write one commit: mostly a world, sometimes a revision, link, batch or erasure."""
    name, text = f"{author} {number}", f"{author} wrote number {number} " * (1 + number % 40)
    if number % 4 == 3:
        with db.batch(idempotency_key=key) as tx:
            world = tx.create("Topic", name, content=text, key=key)
            for part in range(number % 20):
                tx.link(tx.create("Fact", f"{name} part {part}", world=world, content=text), "refers_to", world)
        return tx.receipt
    made = db.create("Fact", name, content=text, key=key, idempotency_key=key)
    if number % 12 == 2:
        gone = db.create("Note", f"{name} is to go", key=f"{key}-gone", idempotency_key=f"{key}-gone")
        db.erase(gone, reason=name, idempotency_key=f"{key}-erased")
    if number % 4 == 1:
        db.revise(made, content=f"{text} revised", idempotency_key=f"{key}-revised")
    if number % 4 == 2:
        db.link(made, "refers_to", made, why=name, idempotency_key=f"{key}-linked")
    receipt: worlddb.Receipt = made
    return receipt


def overwrite_pages(whole: Path, folder: Path, outcomes: Path) -> None:
    """Overwrite each page with zeros, its neighbour and noise; a line is ``page what outcome``."""
    data = (whole / "data.mdb").read_bytes()
    told = Acknowledged(outcomes)
    noise = random.Random(1).randbytes(4096)
    for at in range(0, len(data), 4096):
        neighbour = data[at - 4096 : at] if at else data[4096:8192]
        for what, page in (("zeros", bytes(4096)), ("neighbour", neighbour), ("noise", noise)):
            store = folder / f"{at}-{what}"
            store.mkdir(parents=True)
            (store / "writer.json").write_bytes((whole / "writer.json").read_bytes())
            (store / "data.mdb").write_bytes(data[:at] + page + data[at + 4096 :])
            told(f"{at // 4096} {what} {_used_after_damage(store)}")
            shutil.rmtree(store)


def cut_backup(folder: Path, into: Path, points: Path, at: int, how: str) -> None:
    """Back a store up to the ``at``-th point, or with 0 to the end and write the points passed."""
    with worlddb.open(folder, create=False) as db:
        cut = Cut(at, how)
        install(cut)
        commit_copier.CHUNK_COMMITS = 3  # type: ignore[misc]
        db.backup(into)
    points.write_text("\n".join(cut.passed), "utf-8")


def cut_upgrade(folder: Path, points: Path, at: int, how: str) -> None:
    """Upgrade a store to the ``at``-th point, or with 0 to the end and write the points passed."""
    cut = Cut(at, how)
    install(cut)
    worlddb.upgrade(folder)
    points.write_text("\n".join(cut.passed), "utf-8")
