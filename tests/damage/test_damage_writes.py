"""Writes to a damaged store: refused with what to do, before anything is added to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import worlddb
from tests.support.faults import forge
from worlddb.projections import check
from worlddb.projections.tables.storage import schema
from worlddb.reconciler import pipeline

pytestmark = pytest.mark.usefixtures("untried")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of thirty small commits."""
    with worlddb.open(tmp_path / "store", author="x") as db:
        for number in range(30):
            db.create("fact", f"Fact {number}", content=f"what fact {number} says", key=f"key {number}")
    return tmp_path / "store"


def flip(store: Path, key: bytes, bit: int) -> None:
    """Change a bit of a value, counted from its beginning or its end."""
    value = dict(forge.pairs(store))[key]
    forge.rewrite(store, [(key, forge.flip_bit(value, bit % (8 * len(value))))])


def rows_of(store: Path, table: str) -> list[bytes]:
    """The keys of a table, as they are stored."""
    first = bytes([schema.FIRST_TABLE_BYTE + list(schema.TABLES).index(table)])
    return [key for key, _ in forge.pairs(store) if key[:1] == first]


def last_of(store: Path, kind: int) -> bytes:
    return max(key for key, _ in forge.pairs(store) if key[0] == kind)


@pytest.mark.parametrize("kind", [forge.COMMIT, forge.EVENTS, forge.BLOBS])
def test_a_first_write_is_refused_where_the_last_commits_are_not_what_was_written(kind: int, store: Path) -> None:
    flip(store, last_of(store, kind), -60)
    with worlddb.open(store, author="x") as db:
        head = db.head().seq
        for _ in range(2):
            with pytest.raises(worlddb.DamagedStore) as told:
                db.create("fact", "New")
        assert told.value.details["seq"] == head
        assert db.head().seq == head, "nothing was written"


@pytest.mark.parametrize("table", ["lineages", "nodes", "versions", "hashes", "keys"])
def test_a_first_write_is_refused_where_the_tables_lost_what_the_last_commit_wrote(table: str, store: Path) -> None:
    with worlddb.open(store, author="x") as db:
        ref = db.create("fact", "Last", key="the last one", idempotency_key="asked once").ref
    lineage = bytes.fromhex(ref)
    key = {
        "lineages": lambda: next(each for each in rows_of(store, "lineages") if lineage in each),
        "nodes": lambda: rows_of(store, "nodes")[-1],
        "versions": lambda: rows_of(store, "versions")[-1],
        "hashes": lambda: rows_of(store, "hashes")[-1],
        "keys": lambda: rows_of(store, "keys")[-1],
    }[table]()
    forge.rewrite(store, [(key, None)])
    with worlddb.open(store, author="x") as db:
        with pytest.raises(worlddb.DamagedStore):
            db.create("fact", "Last, said again", key="the last one")
        db.rebuild("tables")
        db.create("fact", "Last, said again", key="the last one")
        assert db.verify(deep=True).ok
        assert len([each for each in db.view().children() if each.name.startswith("Last")]) == 1


def test_what_was_erased_retired_or_written_in_one_large_commit_is_no_damage(store: Path) -> None:
    with worlddb.open(store, author="x") as db:
        ref = db.create("fact", "Secret", content="to be erased").ref
        with db.batch() as batch:
            for number in range(600):
                batch.create("fact", f"One of many {number}")
    for change in (
        lambda db: db.erase(ref, reason="asked to"),
        lambda db: db.retire(db.create("fact", "Gone").ref),
        lambda db: db.rebuild(),
    ):
        with worlddb.open(store, author="x") as db:
            change(db)
    with worlddb.open(store, author="x") as db:
        db.create("fact", "New")
        assert db.verify(deep=True).ok


OTHER_PROCESS = """
import sys, worlddb
with worlddb.open(sys.argv[1], author="y") as db:
    print(len(list(db.view().children())))
    db.create("fact", "From elsewhere")
"""


def old_row(store: Path, table: str) -> bytes:
    """A row of a table that no first write looks at."""
    return rows_of(store, table)[3]


def test_once_found_damaged_nobody_writes_until_it_was_mended(store: Path) -> None:
    flip(store, old_row(store, "hashes"), 3)
    with worlddb.open(store, author="x") as db, worlddb.open(store, author="z") as other:
        db.create("fact", "Before it was found")
        assert not db.verify(deep=True).ok
        for handle in (db, other):
            with pytest.raises(worlddb.DamagedStore, match="worlddb rebuild"):
                handle.create("fact", "After")
        command = [sys.executable, "-c", OTHER_PROCESS, str(store)]
        elsewhere = subprocess.run(command, check=False, capture_output=True, text=True)
        assert elsewhere.stdout.strip() == "31", "reads go on"
        assert "DamagedStore" in elsewhere.stderr and "what is read may be wrong" in elsewhere.stderr
        assert "writes_refused" in {symptom.code for symptom in worlddb.diagnose(store).symptoms}
        assert db.verify().ok, "it looks at less than what found the damage"
        with pytest.raises(worlddb.DamagedStore):
            db.create("fact", "After")
        db.rebuild()
        for handle in (db, other):
            handle.create("fact", "After")
        assert db.verify(deep=True).ok
    assert worlddb.diagnose(store, deep=True).ok


def test_a_damaged_log_stays_refused_and_a_whole_file_in_its_place_is_written_to_once_verified(store: Path) -> None:
    whole = (store / "data.mdb").read_bytes()
    text = min(key for key, value in forge.pairs(store) if key[0] == forge.BLOBS and b"what fact 3 says" in value)
    flip(store, text, -12)
    with worlddb.open(store, author="x") as db:
        assert not db.verify().ok
        with pytest.raises(worlddb.DamagedStore):
            db.rebuild()
        with pytest.raises(worlddb.DamagedStore) as told:
            db.create("fact", "After")
        assert told.value.details["seq"] == forge.seq_of(text)
    (store / "data.mdb").write_bytes(whole)
    with worlddb.open(store, author="x") as db:
        with pytest.raises(worlddb.DamagedStore, match="verify"):
            db.create("fact", "After")
        assert db.verify().ok
        db.create("fact", "After")


def test_a_head_of_another_store_keeps_nobody_from_writing(store: Path, tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "other", author="x") as db:
        db.create("fact", "Elsewhere")
        head = db.checkpoint()
    with worlddb.open(store, author="x") as db:
        assert not db.verify(head=head).ok
        db.create("fact", "After")


def test_first_writes_come_to_look_at_all_of_the_log(store: Path) -> None:
    with worlddb.open(store, author="x") as db:
        for number in range(30):
            db.create("fact", f"Later {number}", resolve=False)
    text = min(key for key, value in forge.pairs(store) if key[0] == forge.BLOBS and b"what fact 3 says" in value)
    flip(store, text, -12)
    with worlddb.open(store, author="x") as held:
        for _ in range(200):
            try:
                with worlddb.open(store, author="x") as db:
                    db.create("fact", "One more", resolve=False)
            except worlddb.DamagedStore as told:
                assert told.details["seq"] == forge.seq_of(text)
                break
        else:
            pytest.fail("nobody has looked")
        with pytest.raises(worlddb.DamagedStore):
            held.create("fact", "Nobody else writes either")


def test_a_world_whose_number_is_lost_is_not_made_a_second_time(store: Path) -> None:
    with worlddb.open(store, author="x") as db:
        early = db.view().find(name="Fact 3")[0]
        lineage = bytes.fromhex(early.ref)
    forge.rewrite(store, [(next(each for each in rows_of(store, "lineages") if lineage in each), None)])
    with worlddb.open(store, author="x") as db:
        with pytest.raises(worlddb.DamagedStore, match="worlddb rebuild"):
            db.create("fact", "Fact 3", content="what fact 3 says now", key="key 3")
        db.rebuild("tables")
        assert db.create("fact", "Fact 3", content="what fact 3 says now", key="key 3").ref == early.ref
        assert db.verify(deep=True).ok


def test_an_edge_whose_key_is_lost_is_not_made_a_second_time(store: Path) -> None:
    with worlddb.open(store, author="x") as db:
        one, other = (db.view().find(name=name)[0].ref for name in ("Fact 3", "Fact 4"))
        db.link(one, "supports", other, key="an edge")
        for number in range(20):
            db.create("fact", f"Later {number}")
    forge.rewrite(store, [(rows_of(store, "edge_keys")[-1], None)])
    with worlddb.open(store, author="x") as db, pytest.raises(worlddb.DamagedStore, match="worlddb rebuild"):
        db.link(one, "supports", other, key="an edge")


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_lost_or_changed_node_of_what_a_world_holds_is_not_written_over(is_lost: bool, store: Path) -> None:
    with worlddb.open(store, author="x") as db, db.batch() as batch:
        for number in range(300):
            batch.create("fact", f"One of many {number}")
    held = dict(forge.pairs(store))
    inner = [key for key in rows_of(store, "tries") if len(held[key]) > 1][-8:]
    forge.rewrite(store, [(key, None if is_lost else forge.flip_bit(held[key], 100)) for key in inner])
    with worlddb.open(store, author="x") as db:
        head = db.head()
        with pytest.raises(worlddb.DamagedStore, match="worlddb rebuild"):
            for number in range(40):
                db.create("fact", f"New {number}")
        db.rebuild("tables")
        assert db.verify(deep=True).ok and db.head().seq >= head.seq


def test_a_text_that_is_lost_or_changed_is_not_taken_for_erased_by_a_write(store: Path) -> None:
    text = min(key for key, value in forge.pairs(store) if key[0] == forge.BLOBS and b"what fact 3 says" in value)
    for change in (None, forge.flip_bit(dict(forge.pairs(store))[text], -12 % 100)):
        damaged = forge.copy_store(store, store.with_name(f"damaged {change is None}"))
        forge.rewrite(damaged, [(text, change)])
        with worlddb.open(damaged, author="x") as db:
            with pytest.raises(worlddb.DamagedStore) as told:
                db.create("fact", "Fact 3", content="what fact 3 says now", key="key 3")
            assert told.value.details["seq"] == forge.seq_of(text)


@pytest.mark.parametrize("kind", [forge.BLOBS, forge.EVENTS])
def test_a_handle_that_goes_on_writing_comes_round_to_all_of_the_log(
    kind: int, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a first write does not look at was written on until somebody verified the store."""
    monkeypatch.setattr(check, "LAST_COMMITS", 0)  # One of the few that a first write looks at is drawn from its hash.
    monkeypatch.setattr(pipeline, "WRITES_PER_CHECK", 2)
    flip(store, sorted(key for key, _ in forge.pairs(store) if key[0] == kind)[9], -60)
    written = 0
    with worlddb.open(store, author="x", embedder=None) as db:
        with pytest.raises(worlddb.DamagedStore, match="nothing was added"):
            for written in range(60):
                db.create("fact", f"New {written}")
        with pytest.raises(worlddb.DamagedStore, match="found"):
            db.create("fact", "New")
    assert written < 30, "at most as many writes as looks go round the log"


def test_a_look_at_some_pages_at_a_time_comes_round_to_every_leaf(store: Path) -> None:
    """A page that no write touches was followed by whoever came to it first."""
    with worlddb.open(store, author="x", embedder=None) as db:

        def look_round() -> tuple[int, bool]:
            looks, key, found = 0, b"", False
            while not looks or (key and not found):
                problems, key = db._env.some_damaged_pages(key, 1)
                looks, found = looks + 1, bool(problems)
            return looks, found

        leaves, is_damaged = look_round()
        assert leaves > 3 and not is_damaged
        found, pages = 0, db.path / "data.mdb"
        for begin in range(2 * 4096, pages.stat().st_size, 4096):
            with open(pages, "r+b", buffering=0) as file:
                file.seek(begin + 10)
                flags, lower = file.read(2), file.read(2)
                if flags == b"\x02\x00":  # A leaf, perhaps one of before.
                    file.seek(begin + 12)
                    file.write(b"\xff\xff")
                    found += look_round()[1]
                    file.seek(begin + 12)
                    file.write(lower)
        assert found == leaves
