"""Nests worlds deeply: depth costs no stack, and each operation only its share of work."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import worlddb
from tests.query.reads.test_isolation_vectors import LetterCounts
from tests.support.model.stores import new_store, refusal
from worlddb import Database
from worlddb.log.model import hashing
from worlddb.log.model.hashing import world_hash
from worlddb.projections.tables.apply import log_marks
from worlddb.projections.tables.storage import schema
from worlddb.projections.tables.storage.rows import Tables
from worlddb.projections.tables.storage.write_buffer import Table

MANY_LEVELS = pytest.mark.parametrize("levels", [1_500, pytest.param(10_000, marks=pytest.mark.soak)])
SMALL, LARGE = 80, 320
"""Two sizes, four times apart."""
MEMBERS = 1_000


def nested(db: Database, levels: int, **given: Any) -> list[str]:
    """Worlds inside one another, outermost first, made in one commit."""
    with db.batch() as tx:
        inside = None
        for level in range(levels):
            inside = tx.create("Topic", f"level {level}", content=f"water {level} deep", world=inside, **given)
    return list(tx.receipt.refs)


class Work:
    """How often tables were asked."""

    def __init__(self) -> None:
        self.reads = 0


@contextmanager
def counted() -> Iterator[Work]:
    """Count gets, scanned pairs, and keys in memory that are gone over."""
    work = Work()
    with pytest.MonkeyPatch.context() as patch:
        get, scan_stored, scan_pending, group = Table.get, Table._scan_stored, Table._scan_pending, Table._group

        def counted_get(self: Table, key: bytes) -> bytes | None:
            work.reads += 1
            return get(self, key)

        def counted_scan(self: Table, *given: Any, **named: Any) -> Iterator[tuple[bytes, bytes]]:
            work.reads += 1
            for pair in scan_stored(self, *given, **named):
                work.reads += 1
                yield pair

        def counted_group(self: Table, prefix: bytes) -> Any:
            keys = group(self, prefix)
            work.reads += 1 + len(keys)
            return keys

        def counted_pending(self: Table, prefix: bytes, *given: Any, **named: Any) -> Any:
            if len(prefix) < self._prefix_bytes or not self._prefix_bytes:
                work.reads += len(self._pending)
            return scan_pending(self, prefix, *given, **named)

        patch.setattr(Table, "get", counted_get)
        patch.setattr(Table, "_scan_pending", counted_pending)
        patch.setattr(Table, "_scan_stored", counted_scan)
        patch.setattr(Table, "_group", counted_group)
        yield work


@MANY_LEVELS
def test_thousands_of_levels_are_written_read_moved_and_looked_into_from_inside(levels: int) -> None:
    assert sys.getrecursionlimit() < levels
    with new_store() as db:
        refs = nested(db, levels)
        outermost, innermost = refs[0], refs[-1]
        view = db.view()
        assert view.get(innermost).name == f"level {levels - 1}"  # type: ignore[union-attr]
        assert [found.ref for found in view.find(name=f"level {levels - 1}", world=outermost)] == [innermost]
        hits = view.recall(f"water {levels - 1}", world=outermost)
        assert hits.hits[0].ref == innermost
        before = view.hash(outermost)
        assert db.revise(innermost, content="the bottom")
        assert db.view().hash(outermost) != before
        assert view.containers(innermost) == [refs[-2]]
        assert refusal(db.move(outermost, innermost)) == "containment_cycle"
        other = db.create("Topic", "another place").ref
        moved = db.move(refs[1], other)
        assert moved.events == 2, "a world and its whole interior are one command and two events"
        assert len(db.view().find(world=other)) == levels - 1
        inside = db.view(world=other)
        assert inside.get(innermost).content == "the bottom"  # type: ignore[union-attr]
        assert inside.counts() == {"worlds": levels, "edges": levels - 1, "proposals": 0}
        assert inside.recall("bottom").hits[0].world == refs[-2]
        with pytest.raises(worlddb.UnknownReference):
            inside.get(outermost)
        assert db.retire(innermost)
        assert db.view().get(innermost) is None


OPERATIONS: dict[str, Callable[[Database, list[str]], object]] = {
    "get of the innermost": lambda db, levels: db.view().get(levels[-1]),
    "find in the outermost": lambda db, levels: db.view().find(name="level 1", world=levels[0]),
    "find by type in the outermost": lambda db, levels: db.view().find(type="Topic", world=levels[0]),
    "recall in the outermost": lambda db, levels: db.view().recall("water", world=levels[0], k=1_000),
    "a member of the innermost": lambda db, levels: db.create("Fact", "new", world=levels[-1]),
    "revising the innermost": lambda db, levels: db.revise(levels[-1], content="new"),
    "revising every level": lambda db, levels: _batch(db, lambda tx: [tx.revise(ref, content="x") for ref in levels]),
    "moving all levels": lambda db, levels: db.move(levels[1], db.create("Topic", "elsewhere", world=levels[0])),
    "a cycle through all levels": lambda db, levels: db.move(levels[0], levels[-1]),
    "retiring the innermost": lambda db, levels: db.retire(levels[-1]),
    "everything in a confined view": lambda db, levels: db.view(world=levels[0]).find(),
    "the innermost in a confined view": lambda db, levels: db.view(world=levels[0]).edges(levels[-1]),
    "recall in a confined view": lambda db, levels: db.view(world=levels[0]).recall("water", k=1_000),
    "the log of a confined view": lambda db, levels: list(db.view(world=levels[0]).log()),
}


def _batch(db: Database, fill: Callable[[worlddb.Batch], object]) -> None:
    with db.batch() as tx:
        fill(tx)


def work_of(levels: int, operation: Callable[[Database, list[str]], object]) -> int:
    with new_store() as db:
        made = nested(db, levels, resolve=False)
        db.catch_up()
        with counted() as work:
            operation(db, made)
        return work.reads


@pytest.mark.parametrize("name", OPERATIONS)
def test_work_grows_no_faster_than_depth(name: str) -> None:
    small, large = (work_of(levels, OPERATIONS[name]) for levels in (SMALL, LARGE))
    assert 0 < large <= 4.4 * small + 100, f"{small} reads at {SMALL} levels, {large} at {LARGE}"


WIDE: dict[str, Callable[[worlddb.Batch, str, list[str]], object]] = {
    "moving members one by one": lambda tx, to, refs: [tx.move(ref, to) for ref in refs],
    "moving a list of members": lambda tx, to, refs: tx.move(refs, to),
    "sharing members": lambda tx, to, refs: [tx.link(to, "contains", ref) for ref in refs],
    "edges to one": lambda tx, to, refs: [tx.link(ref, "refers_to", to) for ref in refs],
    "edges from one": lambda tx, to, refs: [tx.link(to, "refers_to", ref) for ref in refs],
    "retiring members": lambda tx, to, refs: [tx.retire(ref) for ref in refs],
    "revising one again and again": lambda tx, to, refs: [tx.revise(to, content=ref) for ref in refs],
}


@pytest.mark.parametrize("name", WIDE)
def test_work_of_a_batch_grows_no_faster_than_the_batch(name: str) -> None:
    """The first version went over everything in memory for each world that a batch moved."""
    found = []
    for count in (SMALL, LARGE):
        with new_store() as db:
            home, to = (db.create("Topic", text).ref for text in ("here", "there"))
            with db.batch() as tx:
                for number in range(count):
                    tx.create("Fact", f"fact {number}", world=home, resolve=False)
            with counted() as work, db.batch() as batch:
                WIDE[name](batch, to, list(tx.receipt.refs))
            found.append(work.reads)
    assert 0 < found[1] <= 4.4 * found[0] + 100, found


def test_counting_what_a_store_holds_now_takes_the_same_few_reads_at_any_size() -> None:
    taken = []
    for count in (SMALL, LARGE):
        with new_store() as db:
            with db.batch() as tx:
                made = [tx.create("Fact", f"fact {number}") for number in range(count)]
                edges = [tx.link(one, "refers_to", other) for one, other in itertools.pairwise(made)]
            before = db.view()
            assert db.unlink(tx.receipt.refs[edges[-1].position])
            for _ in range(2):
                with counted() as work:
                    told = db.view().counts(), db.stats()["counts"]
            taken.append(work.reads)
            assert told[0] == {"worlds": count + 1, "edges": 2 * count - 2, "proposals": 0}
            assert told[1] == {"commits": 3, "worlds": count + 1, "edges": 2 * count - 1, "proposals": 0}
            assert before.counts() == {**told[0], "edges": 2 * count - 1}
    assert 0 < taken[1] <= taken[0] + 10, taken


def test_totals_are_those_of_the_rows_after_every_commit_and_a_rebuild() -> None:
    def by_rows(db: Database) -> tuple[dict[str, int], int]:
        with db._reader.snapshot() as snapshot:
            tables, seq = snapshot.tables, snapshot.log.head().seq
            spans = [
                (row.seq, row.unlinked)
                for node in range(tables.progress().next_node)
                for _, row in tables.outgoing(node)
            ]
            known = {
                "worlds": tables.progress().next_node,
                "edges": sum(written <= seq < ended for written, ended in spans),
                "proposals": sum(1 for _ in tables.all_proposals()),
            }
            return known, sum(1 for _ in tables.vectors.scan(b""))

    with new_store(embedder=LetterCounts()) as db:
        here, there = (db.create("Topic", name).ref for name in ("here", "there"))
        one = db.create("Person", "Ann", content="a bee", world=here).ref
        writes: list[Callable[[], object]] = [
            lambda: db.create("Person", "Ann", content="a bee too", world=here),
            db.embed,
            lambda: db.move(one, there),
            lambda: db.unlink(db.link(one, "refers_to", here).ref),
            lambda: db.accept(db.view().proposals()[0].ref),
            lambda: db.undo(db.view().proposals(status="accepted")[0].ref),
            lambda: db.revise(one, content="a wasp"),
            db.embed,
            lambda: db.erase(one, reason="asked"),
            lambda: db.rebuild("tables"),
        ]
        seen = []
        for write in writes:
            write()
            expected, vectors = by_rows(db)
            assert db.view().counts() == expected
            assert sum(space.texts for space in db.spaces()) == vectors
            seen.append((db.head().seq, expected))
        assert seen[-1][1]["proposals"] == 1 and vectors == 3
        for seq, expected in seen:
            assert db.view(seq=seq).counts() == expected
        # Without the record all is counted row by row, and a deep check says that it is gone.
        db._env.write(lambda txn: txn.delete(bytes([schema.FIRST_TABLE_BYTE]) + log_marks.TOTALS))
        db.create("Fact", "later")
        assert db.view().counts() == by_rows(db)[0]
        assert sum(space.texts for space in db.spaces()) == vectors
        assert not db.verify(deep=True).ok
        with pytest.raises(worlddb.DamagedStore, match="rebuild"):
            db.create("Fact", "no more")
        db.rebuild("tables")
        db.create("Fact", "again")


def test_where_a_world_has_been_is_not_looked_at_when_it_is_moved_again() -> None:
    with new_store() as db:
        here, there = (db.create("Topic", text).ref for text in ("here", "there"))
        moved = db.create("Fact", "wanderer", world=here).ref
        reads = []
        for number in range(100):
            with counted() as work:
                db.move(moved, there if number % 2 == 0 else here)
            reads.append(work.reads)
        # Its former edges are still gone over by key, but no longer read.
        assert reads[-1] - reads[1] <= 10 * (len(reads) - 2), reads


def test_a_thousand_edits_in_one_commit_rehash_each_container_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with new_store() as db:
        levels = nested(db, 50)
        with db.batch() as tx:
            for number in range(MEMBERS):
                tx.create("Fact", f"fact {number}", world=levels[-1], resolve=False)
        facts = list(tx.receipt.refs)
        rehashed: list[bytes] = []

        def counting(body: bytes, members: bytes, edges: bytes, made: int) -> bytes:
            rehashed.append(body)
            return world_hash(body, members, edges, made)

        monkeypatch.setattr(hashing, "world_hash", counting)
        with db.batch() as edits:
            for fact in facts:
                edits.revise(fact, content="edited")
        assert len(rehashed) == MEMBERS + len(levels) + 1, "each fact, each level, and the root"
        assert len(set(rehashed)) == len(rehashed)


def test_whose_text_is_near_in_a_deep_structure_is_found_by_one_walk_up_and_not_by_one_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with new_store(embedder="static") as db:
        nested(db, SMALL)
        db.embed()
        reads, containers = 0, Tables.containers

        def counted(self: Tables, node: int) -> list[int]:
            nonlocal reads
            reads += 1
            return containers(self, node)

        monkeypatch.setattr(Tables, "containers", counted)
        assert db.recluster().looked_at >= SMALL
        assert SMALL < reads < SMALL * 4
