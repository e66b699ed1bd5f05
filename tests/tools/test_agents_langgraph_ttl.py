"""Times to live of LangGraph's store: hidden when they have passed, refreshed by reads, swept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlddb
from worlddb import Database, InputError, ManualClock

pytest.importorskip("langgraph.store.base", reason="the extra langgraph is not installed")

from langgraph.store.base import GetOp, PutOp, SearchOp

from worlddb.tools.agents import AsyncWorldDBStore, WorldDBStore

SECOND = 1_000_000
NOTES = ("notes",)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(worlddb.parse_time("2025-06-01T12:00:00Z"))


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="graph", clock=clock, embedder=None) as opened:
        yield opened


def keys(found: Any) -> list[str]:
    return sorted(item.key for item in found)


def test_what_has_expired_is_nowhere_and_a_sweep_retires_it(db: Database, clock: ManualClock) -> None:
    store = WorldDBStore(db, ttl={"default_ttl": 1 / 60})
    assert store.supports_ttl
    store.put(NOTES, "short", {"text": "an apple"})
    store.put(NOTES, "long", {"text": "an apple too"}, ttl=3 / 60)
    store.put(("kept",), "for good", {"text": "an apple as well"}, ttl=None)
    assert keys(store.search((), limit=9, refresh_ttl=False)) == ["for good", "long", "short"]
    clock.advance(2 * SECOND)
    assert store.get(NOTES, "short") is None and store.get(("kept",), "for good") is not None
    for found in (store.search((), refresh_ttl=False), store.search((), query="apple", refresh_ttl=False)):
        assert keys(found) == ["for good", "long"]
    assert keys(store.search((), filter={"text": "an apple"}, refresh_ttl=False)) == []
    assert store.sweep_ttl() == 1 and store.sweep_ttl() == 0
    clock.advance(2 * SECOND)
    assert store.list_namespaces() == [("kept",)]
    assert store.sweep_ttl() == 1
    # Nothing is deleted: what it said is in its history, and the next one under the key is another item.
    (before,) = db.view().find(name="short", include_superseded=True)
    assert before.ended and "an apple" in before.content
    store.put(NOTES, "short", {"text": "a pear"})
    item = store.get(NOTES, "short")
    assert item is not None and item.value == {"text": "a pear"}
    assert db.verify(deep=True).ok


def test_reads_refresh_and_are_recorded_together(db: Database, clock: ManualClock) -> None:
    store = WorldDBStore(db, ttl={"default_ttl": 10 / 60})
    for number in range(20):
        store.put(NOTES, str(number), {"n": number})
    seq = db.head().seq
    clock.advance(5 * SECOND)
    for number in range(20):
        assert store.get(NOTES, str(number)) is not None
    assert db.head().seq == seq, "no commit for each read"
    clock.advance(6 * SECOND)
    assert keys(store.search(NOTES, limit=99, refresh_ttl=False)) == sorted(map(str, range(20)))
    assert db.head().seq == seq + 1, "one for all of them"
    clock.advance(5 * SECOND)
    assert store.sweep_ttl() == 20
    assert [entry.event for entry in db.log(seq + 1, seq + 1)] == ["expires"] * 20


def test_only_what_is_returned_is_refreshed_and_only_if_asked_for(db: Database, clock: ManualClock) -> None:
    store = WorldDBStore(db, ttl={"default_ttl": 4 / 60})
    for number in (1, 2, 3):
        store.put(NOTES, f"item{number}", {"id": number})
    clock.advance(3 * SECOND)
    assert keys(store.search(NOTES, filter={"id": 1}, refresh_ttl=True)) == ["item1"]
    assert store.get(NOTES, "item2", refresh_ttl=False) is not None
    clock.advance(2 * SECOND)
    assert store.sweep_ttl() == 2
    assert store.get(NOTES, "item1", refresh_ttl=False) is not None and store.get(NOTES, "item2") is None
    clock.advance(3 * SECOND)
    assert store.sweep_ttl() == 1 and store.get(NOTES, "item1") is None
    quiet = WorldDBStore(db, ttl={"default_ttl": 4 / 60, "refresh_on_read": False})
    quiet.put(NOTES, "quiet", {"id": 4})
    clock.advance(3 * SECOND)
    assert quiet.get(NOTES, "quiet") is not None
    clock.advance(2 * SECOND)
    assert quiet.get(NOTES, "quiet") is None


def test_a_put_sets_the_time_anew_lifts_it_and_brings_back_what_is_hidden(db: Database, clock: ManualClock) -> None:
    store = WorldDBStore(db)
    store.put(NOTES, "a", {"v": 1}, ttl=1)
    clock.advance(50 * SECOND)
    store.put(NOTES, "a", {"v": 1}, ttl=1)
    clock.advance(50 * SECOND)
    assert store.get(NOTES, "a", refresh_ttl=False) is not None
    clock.advance(50 * SECOND)
    assert store.get(NOTES, "a") is None
    store.put(NOTES, "a", {"v": 2})
    clock.advance(500 * SECOND)
    item = store.get(NOTES, "a")
    assert item is not None and item.value == {"v": 2} and store.sweep_ttl() == 0
    assert [version.content for version in db.view().history(db.view().find(name="a")[0])] == ['{"v":1}', '{"v":2}']
    store.put(NOTES, "b", {"v": 1}, ttl=1)
    clock.advance(90 * SECOND)
    store.delete(NOTES, "b")
    store.put(NOTES, "b", {"v": 3})
    assert [item.value for item in store.search(NOTES, filter={"v": 3})] == [{"v": 3}]


def test_a_batch_reads_before_it_writes_and_refreshes_what_it_read(db: Database, clock: ManualClock) -> None:
    store = WorldDBStore(db)
    store.batch([PutOp(NOTES, "a", {"v": 1}, ttl=1 / 6), PutOp(NOTES, "b", {"v": 1}, ttl=1 / 6)])
    clock.advance(6 * SECOND)
    found = store.batch([GetOp(NOTES, "a"), SearchOp(NOTES, limit=1, refresh_ttl=False), PutOp(NOTES, "c", {"v": 1})])
    assert found[0] is not None and found[2] is None
    clock.advance(6 * SECOND)
    assert keys(store.search(NOTES, refresh_ttl=False)) == ["a", "c"]


def test_pinned_worlds_are_not_swept(db: Database, clock: ManualClock) -> None:
    store = WorldDBStore(db)
    store.put(NOTES, "a", {"v": 1}, ttl=1)
    db.pin(db.view().find(name="a")[0])
    clock.advance(100 * SECOND)
    assert store.sweep_ttl() == 0 and store.get(NOTES, "a") is not None
    assert keys(store.search(NOTES)) == ["a"]
    db.unpin(db.view().find(name="a")[0])
    assert store.search(NOTES) == [] and store.sweep_ttl() == 1


def test_expired_items_are_returned_if_the_configuration_says_so(db: Database, clock: ManualClock) -> None:
    store = WorldDBStore(db, ttl={"default_ttl": 1, "omit_expired": False})
    store.put(NOTES, "a", {"v": 1})
    clock.advance(100 * SECOND)
    assert store.get(NOTES, "a", refresh_ttl=False) is not None
    assert keys(store.search(NOTES, refresh_ttl=False)) == ["a"] and store.list_namespaces() == [NOTES]
    assert store.sweep_ttl() == 1 and store.get(NOTES, "a") is None


def test_a_store_of_one_world_sweeps_nothing_else(db: Database, clock: ManualClock) -> None:
    tenants = [db.create("Tenant", name) for name in ("one", "two")]
    stores = [WorldDBStore(db, world=tenant) for tenant in tenants]
    for store in stores:
        store.put(NOTES, "a", {"v": 1}, ttl=1)
    db.create("Fact", "", content="of somebody else", world=tenants[0], ttl=1)
    clock.advance(100 * SECOND)
    assert stores[0].sweep_ttl() == 1
    assert len(db.view().expired()) == 2 and stores[1].sweep_ttl() == 1


def test_what_was_read_is_recorded_when_the_database_is_closed(tmp_path: Path, clock: ManualClock) -> None:
    with worlddb.open(tmp_path / "store", clock=clock, embedder=None) as db:
        WorldDBStore(db).put(NOTES, "a", {"v": 1}, ttl=1)
    clock.advance(50 * SECOND)
    with worlddb.open(tmp_path / "store", clock=clock, embedder=None) as db:
        assert WorldDBStore(db).get(NOTES, "a") is not None
    clock.advance(50 * SECOND)
    with worlddb.open(tmp_path / "store", clock=clock, embedder=None) as db:
        assert WorldDBStore(db).get(NOTES, "a") is not None


@pytest.mark.parametrize(
    "wrong", [{"default_ttl": 0}, {"default_ttl": "1"}, {"sweep_interval_minutes": -1}, {"lifetime": 3}]
)
def test_a_configuration_that_means_nothing_is_refused(db: Database, wrong: Any) -> None:
    with pytest.raises(InputError):
        WorldDBStore(db, ttl=wrong)
    with pytest.raises(InputError, match="The sweep interval is missing"):
        WorldDBStore(db).start_ttl_sweeper()
    with pytest.raises(InputError, match="is not a number of minutes"):
        WorldDBStore(db).put(NOTES, "a", {"v": 1}, ttl=-1)


def test_a_thread_sweeps_until_it_is_stopped(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        given: Any = {"default_ttl": 0.05 / 60, "sweep_interval_minutes": 0.02 / 60}
        store = WorldDBStore(db, ttl=given)
        assert store.stop_ttl_sweeper()
        future = store.start_ttl_sweeper()
        assert store.start_ttl_sweeper() is future
        store.put(NOTES, "a", {"v": 1})
        until = time.monotonic() + 20
        while not any(world.ended for world in db.view().find(name="a", include_superseded=True)):
            assert time.monotonic() < until
            time.sleep(0.01)
        assert store.stop_ttl_sweeper(timeout=20) and future.result(timeout=1) is None
        store.start_ttl_sweeper()
    assert store.stop_ttl_sweeper(timeout=0), "closing the database stops it"


def test_the_async_store_is_awaited(db: Database, clock: ManualClock) -> None:
    async def work() -> None:
        store = AsyncWorldDBStore(db, ttl={"default_ttl": 1 / 60, "sweep_interval_minutes": 5})
        await store.aput(NOTES, "a", {"v": 1})
        clock.advance(SECOND // 2)
        assert await store.aget(NOTES, "a", refresh_ttl=True) is not None
        clock.advance(SECOND * 3 // 4)
        assert await store.sweep_ttl() == 0
        clock.advance(SECOND)
        assert await store.sweep_ttl() == 1 and await store.aget(NOTES, "a") is None
        future = await store.start_ttl_sweeper()
        assert await store.stop_ttl_sweeper(5) and future.done()

    asyncio.run(work())


def test_whether_expired_items_are_omitted_can_be_set_later(db: Database, clock: ManualClock) -> None:
    store = WorldDBStore(db, ttl={"default_ttl": 1})
    store.put(NOTES, "a", {"v": 1})
    clock.advance(100 * SECOND)
    assert store.ttl_config is not None and store.get(NOTES, "a") is None
    store.ttl_config["omit_expired"] = False
    assert store.get(NOTES, "a", refresh_ttl=False) is not None and keys(store.search(NOTES)) == ["a"]
    store.ttl_config["omit_expired"] = True
    assert store.get(NOTES, "a") is None and store.list_namespaces() == []
