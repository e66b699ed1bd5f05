"""Changes that leave each page whole, and lead LMDB past rows or let it write over pages that are in use."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import lmdb
import pytest

import worlddb
from tests.support.faults import forge
from tests.support.faults.children import start, wait_for_exit
from worlddb.log.store import environment, pages

pytestmark = pytest.mark.usefixtures("untried")

PAGE_BYTES = 4096
META_BYTES = 40
TREE = struct.Struct("=IHHQQQQQ")
FORBIDDEN, TEXTS = b"\x56", b"\x04"


class Node(NamedTuple):
    """A node of a page: where its key lies in the file, its key, and what follows the two."""

    at: int
    key: bytes
    child: int
    size: int
    big: bool


class Raw:
    """The bytes of a data file, with the trees of its newest meta."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "data.mdb"
        self.bytes = bytearray(self.file.read_bytes())
        ends = META_BYTES + 2 * TREE.size
        newest = max((0, PAGE_BYTES), key=lambda at: self.number(at + ends + 8))
        self.last_page = self.number(newest + ends)
        self.free = TREE.unpack_from(self.bytes, newest + META_BYTES)
        self.main = TREE.unpack_from(self.bytes, newest + META_BYTES + TREE.size)

    def number(self, at: int) -> int:
        return int(struct.unpack_from("=Q", self.bytes, at)[0])

    def nodes(self, page: int) -> list[Node]:
        begin = page * PAGE_BYTES
        lower = struct.unpack_from("=H", self.bytes, begin + 12)[0]
        found = []
        for at in struct.unpack_from(f"={(lower - 16) // 2}H", self.bytes, begin + 16):
            low, high, flags, length = struct.unpack_from("=HHHH", self.bytes, begin + at)
            key_at, size = begin + at + 8, low | high << 16
            key = bytes(self.bytes[key_at : key_at + length])
            found.append(Node(key_at, key, size | flags << 32, size, flags == 1))
        return found

    def level(self, above_leaves: int) -> list[int]:
        """The pages of the tree of records that stand so many levels above the leaves."""
        found = [self.main[-1]]
        for _ in range(self.main[2] - 1 - above_leaves):
            found = [node.child for page in found for node in self.nodes(page)]
        return found

    def lists(self) -> Iterator[int]:
        """Where the lists of free pages begin."""
        assert self.free[2] == 1
        for node in self.nodes(self.free[-1]):
            place = node.at + len(node.key)
            yield self.number(place) * PAGE_BYTES + 16 if node.big else place

    def lower(self, table: bytes) -> list[bytes]:
        """Let a page of a table begin earlier than it does, and say which keys of the one before are hidden by it."""
        for page in reversed(self.level(1)):
            nodes = self.nodes(page)
            for before, node in reversed(list(pairwise(nodes[1:]))):
                held = [each.key for each in self.nodes(before.child)]
                begin = held[len(held) // 2][: len(node.key)].ljust(len(node.key), b"\0")
                if before.key[:1] == node.key[:1] == table and before.key < begin < node.key:
                    self.bytes[node.at : node.at + len(begin)] = begin
                    return [key for key in held if key >= begin]
        raise AssertionError("no such page")

    def write(self) -> None:
        self.file.write_bytes(self.bytes)


@pytest.fixture(scope="module")
def erased(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with many pages, with texts that must not come back, and its head."""
    folder = tmp_path_factory.mktemp("pages") / "store"
    with worlddb.open(folder, author="ada") as db:
        for batch in range(3):
            with db.batch() as tx:
                for number in range(200):
                    tx.create("Note", f"n{batch} {number}", content=f"text {batch} {number} " + "x" * 60, resolve=False)
        db.create("Note", "long", content="y" * 20_000)
        with db.batch() as tx:
            for number in range(400):
                tx.create("Note", f"s{number}", content=f"secret {number}", resolve=False)
        db.erase(list(tx.receipt.refs), reason="asked", forbid=True)
        for number in range(5):
            db.create("Note", f"later {number}")
        head = db.checkpoint()
        assert db.verify(deep=True, head=head).ok
    return folder, head


def refused(folder: Path, head: str, problem: str) -> None:
    """Every check finds the damage."""
    assert not worlddb.diagnose(folder, deep=True).ok
    with worlddb.open(folder, author="ada") as db:
        for deep in (False, True):
            found = db.verify(deep=deep, head=head)
            assert not found.ok and any(problem in each.problem for each in found.findings), found
        with pytest.raises(worlddb.DamagedStore, match=problem):
            db.rebuild()


@pytest.mark.parametrize("table", [FORBIDDEN, TEXTS])
def test_rows_that_a_changed_separator_hides_from_a_search_are_found(
    table: bytes, erased: tuple[Path, str], tmp_path: Path
) -> None:
    folder = forge.copy_store(erased[0], tmp_path / "store")
    raw = Raw(folder)
    hidden = raw.lower(table)
    raw.write()
    with lmdb.open(str(folder), readonly=True, lock=False) as env, env.begin() as txn:
        assert hidden and {txn.get(key) for key in hidden} == {None}
        assert set(hidden) <= set(txn.cursor().iternext(values=False))
        found = pages.damaged_pages(folder / "data.mdb", txn.id())
    assert found and len(found) == 1
    refused(folder, erased[1], "reach beyond the beginning of the next page")


def test_a_way_to_a_key_that_ends_in_a_page_with_keys_beyond_it_is_refused(
    erased: tuple[Path, str], tmp_path: Path
) -> None:
    folder = forge.copy_store(erased[0], tmp_path / "store")
    raw = Raw(folder)
    hidden = raw.lower(TEXTS)
    raw.write()
    before = next(
        node.key for page in raw.level(0) for node, after in pairwise(raw.nodes(page)) if after.key == hidden[0]
    )
    with lmdb.open(str(folder), readonly=True, lock=False) as env, env.begin() as txn:
        found = pages.damaged_pages(folder / "data.mdb", txn.id(), [before])
    assert found and "reach beyond" in found[0].problem
    metas = pages.read_metas(folder / "data.mdb", [before])
    assert metas is not None and None in {meta.values for meta in metas}


def long_value(raw: Raw) -> int:
    """The second page of a value that has several."""
    for page in raw.level(0):
        for node in raw.nodes(page):
            if node.big and node.size > 2 * PAGE_BYTES:
                return raw.number(node.at + len(node.key)) + 1
    raise AssertionError("no long value")


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("leaf", "is in use"),
        ("branch", "is in use"),
        ("list", "is in use"),
        ("long", "is in use"),
        ("beyond", "does not exist"),
        ("meta", "does not exist"),
        ("twice", "is listed as free twice"),
        ("order", "is not in order"),
        ("count", "is longer than its page"),
    ],
)
def test_a_list_of_free_pages_that_names_others_is_found(
    kind: str, problem: str, erased: tuple[Path, str], tmp_path: Path
) -> None:
    folder = forge.copy_store(erased[0], tmp_path / "store")
    raw = Raw(folder)
    taken = {
        "leaf": raw.level(0)[3],
        "branch": raw.main[-1],
        "list": raw.free[-1],
        "long": long_value(raw),
        "beyond": raw.last_page + 1,
        "meta": 1,
    }
    lists = [at for at in raw.lists() if raw.number(at)]
    at = max(lists, key=raw.number)
    count = raw.number(at)
    listed = list(struct.unpack_from(f"={count}Q", raw.bytes, at + 8))
    if kind in taken:
        listed = sorted([taken[kind], *listed[1:]], reverse=True)
    elif kind == "twice":
        other = raw.number(next(each for each in lists if each != at) + 8)
        listed = sorted([other, *listed[1:]], reverse=True)
    elif kind == "order":
        listed.reverse()
    else:
        struct.pack_into("=Q", raw.bytes, at, count + 1 | 1 << 20)
    struct.pack_into(f"={count}Q", raw.bytes, at + 8, *listed)
    raw.write()
    refused(folder, erased[1], problem)


def whole(env: lmdb.Environment, folder: Path) -> None:
    with env.begin() as txn:
        assert pages.damaged_pages(folder / "data.mdb", txn.id()) == []


def change(env: lmdb.Environment, rng: random.Random, held: set[bytes]) -> None:
    """One transaction that writes, deletes, gives up a part of itself, or is given up."""
    most = rng.choice((1, 30, 400))
    with env.begin(write=True) as txn:
        keys = sorted(held)
        for _ in range(rng.randrange(most)):
            key = rng.randbytes(rng.choice((4, 40, 300)))
            txn.put(key, bytes(rng.choice((0, 50, 1500, 5000, 40_000) if most < 400 else (50, 1500))))
            held.add(key)
        begin = rng.randrange(len(keys) + 1)
        gone = keys[begin : begin + rng.choice((0, 5, 200, len(keys)))]
        for key in gone:
            txn.delete(key)
        held.difference_update(gone)
        with env.begin(write=True, parent=txn) as child:
            for key in sorted(held)[:20]:
                child.put(key, bytes(3000))
            if rng.randrange(2):
                child.abort()
    if not rng.randrange(4):
        with env.begin(write=True) as txn:
            txn.put(b"given up", bytes(100_000))
            txn.abort()


def test_every_state_that_lmdb_leaves_is_called_whole(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    lists = 0
    with lmdb.open(str(tmp_path), map_size=1 << 30, sync=False) as env:
        held: set[bytes] = set()
        kept = None
        for number in range(60):
            if number % 15 == 5:  # A reader keeps what it reads from being used again: the lists grow.
                kept = env.begin()
            if number % 15 == 12 and kept is not None:
                assert pages.damaged_pages(tmp_path / "data.mdb", kept.id()) in ([], None)
                kept.abort()
            change(env, rng, held)
            whole(env, tmp_path)
            lists = max(lists, TREE.unpack_from((tmp_path / "data.mdb").read_bytes(), META_BYTES)[6])
        with env.begin(write=True) as txn:
            for key in list(held):
                txn.delete(key)
        whole(env, tmp_path)
        with env.begin(write=True) as txn:
            txn.put(b"one", b"")
        whole(env, tmp_path)
    assert lists > 3


def write_and_erase(folder: Path) -> None:
    """What another process does to a store meanwhile."""
    with worlddb.open(folder, author="other") as db:
        for number in range(30):
            made = [db.create("Note", f"w{number} {each}", content="z" * each * 900).ref for each in range(4)]
            if number % 10 == 0:
                db.erase(made[:2], reason="asked")


def test_a_store_that_another_process_writes_to_is_called_whole(erased: tuple[Path, str], tmp_path: Path) -> None:
    folder = forge.copy_store(erased[0], tmp_path / "store")
    seen: set[int] = set()
    env = environment.Environment(folder, author="check", timeout_seconds=5.0)
    process = start(write_and_erase, folder)
    try:
        while process.is_alive():
            with env.read() as txn:
                seen.add(txn.id())
                # Others commit while the pages of this transaction are read.
                assert pages.damaged_pages(folder / "data.mdb", txn.id()) in ([], None)
            assert env.damaged_pages() == []
    finally:
        env.close()
        assert wait_for_exit(process) == 0
    assert len(seen) > 3
    with worlddb.open(folder, author="ada") as db:
        assert db.verify(deep=True).ok
        db.erase([db.create("Note", "last").ref], reason="asked")  # The data file is written anew, without free pages.
        assert db.verify(deep=True).ok
        db.create("Note", "after")
        assert db.verify(deep=True).ok
