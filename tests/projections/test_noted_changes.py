"""Tries of which large commits note what they changed: read as if all were written, checked, erased from, upgraded."""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import lmdb
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import worlddb
from bench.made_up.workload import load
from tests.support.examples import examples
from tests.support.faults.children import call
from worlddb.log.model import trie
from worlddb.projections.tables.storage import packed_runs, schema, transaction
from worlddb.projections.tables.storage.rows import Tables

NODE = 7
SIZES = {schema.TRIE_MEMBERS: (16, 32), schema.TRIE_EDGES: (32, 0)}
APPLIED = bytes([schema.FIRST_TABLE_BYTE]) + b"applied"


@pytest.fixture
def small_note_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two buckets are many, a page has a few notes, a bucket a few entries, and each bucket is a stretch."""
    monkeypatch.setattr(transaction, "_stretch_of", zlib.crc32)
    monkeypatch.setattr(transaction, "MANY_BUCKETS", 2)
    monkeypatch.setattr(transaction, "_MANY_LOOKS", 3)
    monkeypatch.setattr(transaction, "MAX_NOTED", 100)
    monkeypatch.setattr(transaction, "MAX_OF_ONE", 150)
    monkeypatch.setattr(packed_runs, "PAGE_ROOM", 200)
    monkeypatch.setattr(trie, "BUCKET_ENTRIES", 4)


@contextmanager
def environment() -> Iterator[lmdb.Environment]:
    with (
        tempfile.TemporaryDirectory(prefix="worlddb-test-") as folder,
        lmdb.open(folder, map_size=1 << 22, sync=False) as env,
    ):
        yield env


def tries_in(tables: Tables) -> dict[bytes, trie.Trie]:
    return {schema.TRIE_MEMBERS: tables.members(NODE), schema.TRIE_EDGES: tables.interior_edges(NODE)}


def table_of(tables: Tables) -> transaction.TrieTable:
    assert isinstance(tables.tries, transaction.TrieTable)
    return tables.tries


def noted_in(txn: lmdb.Transaction) -> list[tuple[bytes, bytes]]:
    return [(bytes(key), bytes(value)) for key, value in txn.cursor() if key[:1] == transaction.TRIE_CHANGES]


def commits_in(pairs: list[tuple[bytes, bytes]]) -> int:
    return len({key[:5] for key, _ in pairs})


updates = st.dictionaries(st.integers(0, 40), st.none() | st.integers(0, 3), max_size=12)
commits = st.lists(
    st.tuples(st.lists(st.tuples(st.sampled_from([*SIZES]), updates, st.booleans()), max_size=3), st.booleans()),
    min_size=1,
    max_size=10,
)


def split_notes(txn: lmdb.Transaction) -> None:
    """Make several notes of one, with marks of what was written, and pages of several stretches."""
    if commits_in(noted_in(txn)) != 1:
        return
    page: dict[bytes, tuple[bytes, bytes]] = {}
    for row, value in noted_in(txn):
        txn.delete(row)
        page.update(transaction._NOTES.decode(value))
    marks = {key: gone if gone == transaction._OF_BRANCH else b"" for key, (_, gone) in page.items()}
    bytes_of = {
        key: trie.NOTED_CHILD_BYTES if mark else sum(transaction.ENTRY_BYTES[key[8:9]]) for key, mark in marks.items()
    }
    before = {key: (bytes(bytes_of[key]), mark) for key, mark in marks.items()}
    halves = {key: len(came) // bytes_of[key] // 2 * bytes_of[key] for key, (came, _) in page.items()}
    first = {key: (came[: halves[key]], marks[key]) for key, (came, _) in page.items() if halves[key]}
    rest = {key: (came[halves[key] :], gone) for key, (came, gone) in page.items()}
    number = max(1, int.from_bytes(row[1:5], "big"))
    for at, notes in enumerate((before, dict.fromkeys(page, (b"", b"")), first, rest)):
        if notes:
            key = transaction.TRIE_CHANGES + schema.U32.pack(number + at) + next(iter(notes))
            txn.put(key, transaction._ENCODER.encode(notes))


@pytest.mark.usefixtures("small_note_limits")
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commits=commits)
def test_tries_of_which_changes_are_noted_are_those_in_memory(commits: Any) -> None:
    memory = {kind: trie.MemoryNodes() for kind in SIZES}
    expected = {kind: trie.Trie(memory[kind], *size) for kind, size in SIZES.items()}
    before: list[tuple[bytes, bytes]] = []
    handed_on: transaction.AllNoted | None = None
    with environment() as env:
        for updates, several in commits:
            with env.begin() as earlier, env.begin(write=True) as txn:
                for kind, update, flushed in updates:
                    tables = Tables(txn)
                    table_of(tables).take(handed_on)
                    size, width = SIZES[kind]
                    told = {
                        hashlib.sha256(bytes([key])).digest()[:size]: None if value is None else bytes([value]) * width
                        for key, value in update.items()
                    }
                    half = dict(list(told.items())[: len(told) // 2])
                    found = tries_in(tables)[kind]
                    for part in (half, {}, told) if flushed else (half, told):
                        assert found.update(part) == expected[kind].update(part)
                        assert list(found.entries()) == list(expected[kind].entries())
                        if not part:
                            tables.tries.flush()
                    tables.tries.flush()
                    handed_on = table_of(tables).left()
                assert dict(Tables(earlier).tries.scan(b"")) == dict(before), "a reader's snapshot stays as it was"
            with env.begin() as txn:
                tables = Tables(txn)
                for kind, there in expected.items():
                    found = tries_in(tables)[kind]
                    assert trie.root_of(found.nodes) == trie.root_of(there.nodes)
                    assert list(found.entries()) == list(there.entries())
                    for key, value in there.entries():
                        assert tries_in(Tables(txn))[kind].get(key) == value, "by the first look of a transaction"
                before = list(tables.tries.scan(b""))
                place = schema.U64.pack(NODE)
                assert before == sorted(
                    (place + kind + path, node) for kind in SIZES for path, node in nodes(memory[kind])
                )
                assert before[::-1] == list(tables.tries.scan(b"", reverse=True))
                assert list(table_of(Tables(txn)).faults()) == []
                assert commits_in(noted_in(txn)) < transaction.MERGES + 5
            if several:
                with env.begin(write=True) as txn:
                    split_notes(txn)
                with env.begin() as txn:
                    assert before == list(Tables(txn).tries.scan(b""))
                    assert list(table_of(Tables(txn)).faults()) == []


def nodes(of: trie.MemoryNodes) -> list[tuple[bytes, bytes]]:
    return list(of._nodes.items())


def put(env: lmdb.Environment, keys: range, value: int) -> None:
    with env.begin(write=True) as txn:
        tables = Tables(txn)
        told = {hashlib.sha256(bytes([key])).digest()[:16]: bytes([value]) * 32 for key in keys}
        tables.members(NODE).update(told)
        tables.tries.flush()


@pytest.mark.usefixtures("small_note_limits")
@pytest.mark.parametrize("kept", [False, True])
def test_a_small_commit_takes_its_bucket_out_of_the_notes_and_each_large_one_writes_a_part(
    monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    monkeypatch.setattr(transaction, "MANY_BUCKETS", 3)
    for name in ("MAX_NOTED", "MAX_OF_ONE"):
        monkeypatch.setattr(transaction, name, 10_000 if kept else 0)
    with environment() as env:
        found: list[dict[bytes, bytes]] = []
        notes: list[list[tuple[bytes, bytes]]] = []
        for value, many in enumerate((40, 40, 40, 40, 1, *[40] * transaction.MERGES)):
            put(env, range(many), value)
            with env.begin() as txn:
                notes.append(noted_in(txn))
                found.append({key: value for key, value in txn.cursor() if key[:1] != transaction.TRIE_CHANGES})
        assert not notes[0], "new buckets are written"
        assert max(map(commits_in, notes)) == commits_in(notes[-1]) == transaction.MERGES - (not kept)
        written = found[-1].keys()
        assert any(map(trie.children, found[-1].values())), "the branches too"
        if kept:
            assert all(one[key] == other[key] for one, other in pairwise(found[4:]) for key in written)
            before, *pages = [[row for row, _ in each if row[:5] == transaction._MERGED] for each in notes[4:]]
            assert sum(map(len, pages[-1:])) == len(written) > len(before), "each has one note of what there was"
            return
        parts = [{key for key in written if one[key] != other[key]} for one, other in pairwise(found[4:])]
        assert sum(map(len, parts)) == len(written) == len(set().union(*parts)), "in as many commits each once"
        assert max(map(len, parts)) < len(written) / 2


@pytest.mark.usefixtures("small_note_limits")
def test_a_bucket_that_was_seen_to_be_right_is_told_by_its_crc_and_one_that_has_changed_since_is_damage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transaction, "MAX_NOTED", 10_000)
    monkeypatch.setattr(transaction, "MAX_OF_ONE", 10_000)
    keys = [hashlib.sha256(bytes([key])).digest()[:16] for key in range(40)]
    handed_on, root, expected = None, trie.EMPTY_ROOT, trie.Trie(trie.MemoryNodes(), 16, 32)
    whole, joined = trie.with_changes, list[bytes]()

    def joining(bucket: bytes, *rest: Any) -> Any:
        joined.extend([bucket] * (not trie.children(bucket)))
        return whole(bucket, *rest)

    monkeypatch.setattr(trie, "with_changes", joining)
    with environment() as env:
        for value in range(4):
            joined.clear()
            told: dict[bytes, bytes | None] = dict.fromkeys(keys, bytes([value]) * 32)
            with env.begin(write=True) as txn:
                tables = Tables(txn)
                table_of(tables).take(handed_on)
                root = tables.members(NODE).update(told, root)
                assert root == expected.update(told)
                tables.tries.flush()
                handed_on = table_of(tables).left()
        assert not joined, "of a bucket of which all is known nothing is put together but what is written"
        with env.begin(write=True) as txn:
            where, bucket = next((bytes(key), bytes(value)) for key, value in txn.cursor() if value[:1] == b"\0")
            txn.put(where, bucket[:1] + bytes([bucket[1] ^ 1]) + bucket[2:])
            tables = Tables(txn)
            table_of(tables).take(handed_on)
            with pytest.raises(worlddb.DamagedStore, match="not what was written"):
                tables.members(NODE).update(dict.fromkeys(keys, bytes(32)), root)


@pytest.mark.usefixtures("small_note_limits")
def test_what_is_noted_of_a_branch_is_no_larger_than_it_and_found_if_it_was_changed() -> None:
    with environment() as env:
        for value in range(3):
            put(env, range(40), value)
        with env.begin() as txn:
            noted = {row: transaction._NOTES.decode(page) for row, page in noted_in(txn)}
            row, key, came = next(
                (row, key, came)
                for row, page in reversed(noted.items())
                for key, (came, mark) in page.items()
                if mark == transaction._OF_BRANCH
            )
            assert 0 < len(came) <= trie.FANOUT * trie.NOTED_CHILD_BYTES
            whole = dict(Tables(txn).tries.scan(b""))
            root = trie.root_of(Tables(txn).members(NODE).nodes)
        for changed in (
            (came, b""),
            (came[:-1], transaction._OF_BRANCH),
            (came + came[: trie.NOTED_CHILD_BYTES], transaction._OF_BRANCH),
            (bytes([came[0] + trie.FANOUT]) + came[1:], transaction._OF_BRANCH),
        ):
            with env.begin(write=True) as txn:
                txn.put(row, transaction._ENCODER.encode({**noted[row], key: changed}))
                assert any("of no bucket" in fault for fault in table_of(Tables(txn)).faults()), changed
        with env.begin(write=True) as txn:
            other = came[:-1] + bytes([came[-1] ^ 1])
            txn.put(row, transaction._ENCODER.encode({**noted[row], key: (other, transaction._OF_BRANCH)}))
            assert dict(Tables(txn).tries.scan(b"")) != whole
            with pytest.raises(worlddb.DamagedStore, match="not what was written"):
                Tables(txn).members(NODE).update({bytes(16): bytes(32)}, root)


@pytest.mark.usefixtures("small_note_limits")
def test_of_a_member_that_changes_again_and_again_the_last_hash_is_noted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "MAX_NOTED", 10_000)
    monkeypatch.setattr(transaction, "MAX_OF_ONE", 10_000)
    keys = [hashlib.sha256(bytes([key])).digest()[:16] for key in range(40)]
    handed_on = None
    with environment() as env:
        for value in range(1, 2 * transaction.MERGES + 2):
            with env.begin(write=True) as txn:
                tables = Tables(txn)
                table_of(tables).take(handed_on)
                tables.members(NODE).update(dict.fromkeys(keys, bytes([value]) * 32))
                tables.tries.flush()
                handed_on = table_of(tables).left()
        assert handed_on is not None
        noted = [note[4:] for notes in handed_on.notes.values() for note in notes.values() if isinstance(note, bytes)]
        assert sum(map(len, noted)) == len(keys) * 48
        with env.begin() as txn:
            merged = [page for row, page in noted_in(txn) if row[:5] == transaction._MERGED]
            assert 0 < sum(map(len, merged)) < len(keys) * (48 + 40)
            assert set(dict(Tables(txn).members(NODE).entries()).values()) == {bytes([value]) * 32}


@pytest.mark.usefixtures("small_note_limits")
def test_no_bucket_is_held_that_will_be_noted_and_all_are_written_if_they_become_few(monkeypatch) -> None:
    monkeypatch.setattr(transaction, "MANY_BUCKETS", 8)
    every = range(30)
    with environment() as env:
        put(env, every, 1)
        with env.begin(write=True) as txn:
            tables = Tables(txn)
            table, members = table_of(tables), tries_in(tables)[schema.TRIE_MEMBERS]
            keys = [hashlib.sha256(bytes([key])).digest()[:16] for key in every]
            members.update({key: bytes(32) for key in keys})
            changed = dict(table._changes)
            assert len(changed) >= 8 and not any(table._pending[key] for key in changed)
            assert dict(members.entries()) == {key: bytes(32) for key in keys}
            members.update(dict.fromkeys(sorted(keys)[6:], None))
            assert 0 < len(table._changes) < 8
            tables.tries.flush()
            assert not noted_in(txn)
            assert dict(members.entries()) == {key: bytes(32) for key in sorted(keys)[:6]}


def tries_of(db: Any) -> dict[bytes, bytes]:
    with db._env.read() as txn:
        return dict(Tables(txn).tries.scan(b""))


def notes_of(db: Any) -> list[tuple[bytes, bytes]]:
    with db._env.read() as txn:
        return noted_in(txn)


@pytest.fixture
def noted_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store that has notes, and packed rows."""
    monkeypatch.setattr(transaction, "MANY_BUCKETS", 2)
    monkeypatch.setattr(transaction, "COUNTED_EVERY", 10)
    monkeypatch.setattr(packed_runs, "MAX_UNPACKED", 6)
    monkeypatch.setattr(packed_runs, "FEW", 2)
    monkeypatch.setattr(packed_runs, "PAGE_ROOM", 200)
    folder = tmp_path / "noted_store"
    with load(folder, 5, 40, 80, 40)[0] as db:
        assert notes_of(db)
        with db._env.read() as txn:
            assert set(Tables(txn).runs()) >= {"blocks", "edges", "out"}
    return folder


def proofs_of(store: Path) -> list[str]:
    """Proofs of all worlds and of the edges among them."""
    with worlddb.open(store, author="tests", embedder=None) as db:
        view = db.view()
        found = [db.prove(world.ref) for world in view.find(type="Entity")]
        edges = [edge for world in view.find(type="Entity") for edge in view.edges(world.ref)]
        inside = [edge for edge in edges if edge.type != "contains"]
        assert found and inside
        return found + [db.prove(edge.ref) for edge in inside]


def check_proofs(store: Path, expected: list[str]) -> None:
    assert proofs_of(store) == expected


def test_a_store_with_notes_has_the_roots_proofs_and_comparisons_of_one_without(
    noted_store: Path, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "MANY_BUCKETS", 1 << 20)
        with load(tmp_path / "plain", 5, 40, 80, 40)[0] as db:
            root, whole = db.head().root, tries_of(db)
            assert notes_of(db) == []
    with worlddb.open(noted_store, author="tests", embedder=None) as db:
        assert db.head().root == root and tries_of(db) == whole
        assert db.verify(deep=True).ok
        assert db.replay(tmp_path / "replayed").matches_recorded
        assert db.backup(tmp_path / "backup").root == root
    assert proofs_of(noted_store) == proofs_of(tmp_path / "plain")
    assert call(check_proofs, noted_store, proofs_of(noted_store)) == 0, "as another process reads it"
    assert worlddb.diff(noted_store, tmp_path / "plain").equal


def test_writes_and_forks_go_on_from_notes(noted_store: Path) -> None:
    with worlddb.open(noted_store, author="tests", embedder=None) as db:
        inner = next(
            world
            for world in db.view().find(type="Entity")
            if any(edge.type != "contains" for edge in db.view().edges(world.ref))
        )
        edge = next(edge for edge in db.view().edges(inner.ref) if edge.type != "contains")
        db.unlink(edge.ref)
        fork = db.fork(inner.ref, "another try")
        db.create("Note", "in the fork", world=fork.ref)
        db.create("Note", "in the original", world=inner.ref)
        root = db.head().root
        assert db.verify(deep=True).ok
        db.rebuild("tables")
        assert db.head().root == root and db.verify(deep=True).ok


def test_an_erasure_leaves_nothing_of_the_text_in_notes_or_anywhere_in_the_files(noted_store: Path) -> None:
    with worlddb.open(noted_store, author="tests", embedder=None) as db:
        worlds = db.view().find(type="Entity")
        gone = worlds[-1]
        assert in_files(noted_store, gone.name)
        db.erase(gone.ref, reason="asked for")
        assert db.verify(deep=True).ok
        assert not any(gone.name.encode() in key + value for key, value in notes_of(db))
    assert in_files(noted_store, worlds[0].name) and not in_files(noted_store, gone.name)


def in_files(store: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in store.rglob("*") if path.is_file())


def verify_problems(store: Path) -> str:
    with worlddb.open(store, author="tests", embedder=None) as db:
        try:
            return " ".join(finding.problem for finding in db.verify(deep=True).findings)
        except worlddb.DamagedStore as error:
            return str(error)


def change(store: Path, key: bytes, value: bytes | None) -> None:
    with worlddb.open(store, author="tests", embedder=None) as db:
        db._env.write(lambda txn: txn.delete(key) if value is None else txn.put(key, value))


def test_notes_that_are_changed_gone_or_of_nothing_are_found_and_go_with_a_rebuild(noted_store: Path) -> None:
    with worlddb.open(noted_store, author="tests", embedder=None) as db:
        root, pairs = db.head().root, notes_of(db)
    key, value = pairs[-1]
    assert sum(map(len, transaction._NOTES.decode(value).popitem()[1])) > 0
    for at in range(0, len(value), 7):
        change(noted_store, key, value[:at] + bytes([value[at] ^ 0x15]) + value[at + 1 :])
        assert verify_problems(noted_store), at
    change(noted_store, key, b"\xc1")
    assert "noted changes of tries" in verify_problems(noted_store)
    change(noted_store, key, None)
    assert "the table tries differs" in verify_problems(noted_store)
    change(noted_store, key, value)
    assert verify_problems(noted_store) == ""
    nobodys = schema.U64.pack(1 << 40) + schema.TRIE_EDGES
    for row, notes in (
        (key[:5] + nobodys, {nobodys: (bytes(32), b"")}),
        (key[:5] + nobodys, {nobodys: (b"", b"")}),
        (key[:5] + nobodys, {}),
        (key[:4], {}),
    ):
        change(noted_store, row, transaction._ENCODER.encode(notes))
        assert verify_problems(noted_store), notes
        change(noted_store, row, None)
    assert verify_problems(noted_store) == ""
    change(noted_store, key, b"\xc1")
    with worlddb.open(noted_store, author="tests", embedder=None) as db:
        db.rebuild("tables")
        assert db.verify(deep=True).ok and db.head().root == root


@pytest.mark.parametrize("layout", range(1, schema.LAYOUT))
def test_whatever_an_earlier_layout_has_in_the_place_of_tables_runs_and_notes_is_gone_with_an_upgrade(
    noted_store: Path, tmp_path: Path, layout: int
) -> None:
    with worlddb.open(noted_store, author="tests", embedder=None) as db:
        root, whole = db.head().root, tries_of(db)
    env = lmdb.open(str(noted_store), map_size=1 << 28)
    with env.begin(write=True) as txn:
        applied = bytes(txn.get(APPLIED) or b"")
        txn.put(APPLIED, applied[: -schema.LAYOUT_BYTES] + schema.U16.pack(layout))
        for key, value in list(txn.cursor()):
            if key[0] > schema.FIRST_TABLE_BYTE and key != packed_runs.RUNS_KEY:
                txn.put(key, value[:-1] + b"\xc1")
    env.close()
    with pytest.raises(worlddb.OlderTables, match=f"layout {layout}"):
        worlddb.open(noted_store, create=False)
    assert worlddb.upgrade(noted_store, backup=tmp_path / "before")[:2] == (layout, schema.LAYOUT)
    with worlddb.open(noted_store, author="tests", embedder=None) as db:
        assert db.head().root == root and tries_of(db) == whole and notes_of(db) == []
        assert db.verify(deep=True).ok
