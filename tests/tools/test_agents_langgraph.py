"""The memory as LangGraph's store does what its in-memory store does, and keeps the past."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from worlddb import Database, InputError, View
from worlddb.projections.tables.storage.rows import Tables

memory = pytest.importorskip("langgraph.store.memory", reason="the extra langgraph is not installed")

from langgraph.store import base  # noqa: E402

from worlddb.tools.agents import ResultList, WorldDBStore  # noqa: E402


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", author="graph") as opened:
        yield opened


def plain(item: Any) -> Any:
    return None if item is None else (item.namespace, item.key, item.value)


def test_values_are_put_got_changed_and_deleted_and_their_past_stays(db: Database) -> None:
    store = WorldDBStore(db)
    assert store.get(("users", "ana"), "home") is None
    store.put(("users", "ana"), "home", {"city": "Lisbon"})
    first = store.get(("users", "ana"), "home")
    seq = db.head().seq
    store.put(("users", "ana"), "home", {"city": "Porto"})
    second = store.get(("users", "ana"), "home")
    assert first is not None and second is not None
    assert (first.value, second.value) == ({"city": "Lisbon"}, {"city": "Porto"})
    assert first.created_at == second.created_at == first.updated_at < second.updated_at
    head = db.head()
    store.put(("users", "ana"), "home", {"city": "Porto"})
    assert db.head() == head, "the same value again is no commit"
    store.delete(("users", "ana"), "home")
    assert store.get(("users", "ana"), "home") is None
    store.delete(("users", "ana"), "home")
    store.put(("users", "ana"), "home", {"city": "Faro"})
    assert plain(store.get(("users", "ana"), "home")) == (("users", "ana"), "home", {"city": "Faro"})
    (before,) = db.view(seq=seq).find(name="home")
    assert "Lisbon" in before.content
    assert db.verify(deep=True).ok


def test_search_is_by_meaning_by_namespace_and_by_filter(db: Database) -> None:
    store = WorldDBStore(db)
    store.put(("users", "ana"), "a", {"text": "She plays the violin.", "score": 3})
    store.put(("users", "ben"), "b", {"text": "He repairs bicycles.", "score": 5})
    store.put(("apps",), "c", {"text": "The violin shop opens at nine.", "score": 7})
    found = store.search(("users",), query="who makes music on a violin?")
    assert found[0].key == "a" and found[0].score is not None
    assert {item.key for item in found} <= {"a", "b"}
    assert [item.key for item in store.search(("users",), filter={"score": {"$gte": 4}})] == ["b"]
    assert [item.key for item in store.search((), limit=2, offset=1)] == ["b", "c"]
    assert store.search(("nobody",), query="violin") == []


def test_what_a_search_may_have_missed_is_said_beside_its_list(db: Database) -> None:
    store = WorldDBStore(db)

    def notes(*namespace: str, query: str | None = None) -> Any:
        found = store.search(namespace, query=query)
        assert isinstance(found, ResultList) and isinstance(found, list)
        return found.notes

    assert notes("nobody", query="violin") == ()
    store.put(("users", "ana"), "a", {"text": "She plays the violin."})
    assert notes("users") == () == notes("users", query="who plays the violin?")
    (note,) = notes("users", query="how do I configure a printer the week after Easter?")
    assert "perhaps nothing here is about that" in note and '"the week after Easter"' in note


@pytest.mark.parametrize("deleted", [False, True])
def test_what_is_put_after_an_erasure_is_there(db: Database, deleted: bool) -> None:
    """It was taken for the erased text, which stays out, and was lost without a word."""
    store = WorldDBStore(db)
    for number in range(3):
        store.put(("users", "ana"), "food", {"likes": f"fish {number}"})
        assert plain(store.get(("users", "ana"), "food")) == (("users", "ana"), "food", {"likes": f"fish {number}"})
        (item,) = db.view().find(name="food")
        if deleted:
            store.delete(("users", "ana"), "food")
        db.erase([item.ref, db.view().find(name="ana")[0].ref], reason="request 7")
        assert store.get(("users", "ana"), "food") is None and store.search(("users", "ana")) == []
    store.put(("users", "ana"), "food", {"likes": "nuts"})
    assert [plain(found) for found in store.search(("users", "ana"))] == [(("users", "ana"), "food", {"likes": "nuts"})]
    assert "fish" not in str([version.content for world in db.view().find() for version in db.view().history(world)])
    assert db.verify(deep=True).ok


@pytest.mark.parametrize("name", ["", " ", "\u200b", "\u3164", "\n\t"])
def test_a_key_or_namespace_that_shows_nothing_is_refused_and_not_lost(db: Database, name: str) -> None:
    store, head = WorldDBStore(db), db.head()
    with pytest.raises(InputError, match="has no visible characters"):
        store.put(("users",), name, {"v": 1})
    if name:
        with pytest.raises(InputError, match="has no visible characters"):
            store.put(("users", name), "k", {"v": 1})
    assert db.head() == head


def test_two_stores_in_two_worlds_see_nothing_of_each_other(db: Database) -> None:
    one, two = (WorldDBStore(db, world=db.create("Topic", name)) for name in ("one", "two"))
    one.put(("n",), "k", {"v": 1})
    assert two.get(("n",), "k") is None and two.search(()) == [] and two.list_namespaces() == []
    two.put(("n",), "k", {"v": 2})
    assert [plain(each.get(("n",), "k"))[2] for each in (one, two)] == [{"v": 1}, {"v": 2}]


@pytest.mark.parametrize("order", [1, -1])
def test_an_item_and_a_namespace_that_are_called_like_its_key_are_two(db: Database, order: int) -> None:
    """They had one key, so that the item was made the namespace, and neither was there."""
    store = WorldDBStore(db)
    for namespace, key in [(("users",), "42"), (("users", "42", "0"), "note"), (("users", "42"), "0")][::order]:
        store.put(namespace, key, {"at": [*namespace, key]})
    found = {(item.namespace, item.key): item.value["at"] for item in store.search(("users",))}
    assert found == {(tuple(path[:-1]), path[-1]): path for path in found.values()} and len(found) == 3
    assert all(plain(store.get(*place)) == (*place, {"at": path}) for place, path in found.items())


def of_an_earlier_release(db: Database, *path: str, key: str) -> str:
    """Write an item as it was written when the parts of a key were one flat list."""
    with db.batch() as tx:
        where = None
        for depth, name in enumerate(("langgraph", *path)):
            flat = json.dumps(["langgraph", None, *path[:depth]], separators=(",", ":"))
            where = tx.create("Namespace", name, key=flat, world=where, resolve=False, revive=True)
        flat = json.dumps(["langgraph", None, *path, key, "0"], separators=(",", ":"))
        tx.create("Item", key, content='{"v":"old"}', key=flat, world=where, resolve=False, revive=True)
    return str(tx.receipt.refs[-1])


def test_what_an_earlier_release_put_is_found_revised_and_not_run_into(db: Database) -> None:
    item = of_an_earlier_release(db, "users", key="42")
    deep = of_an_earlier_release(db, "users", "7", key="k")
    store = WorldDBStore(db)
    assert plain(store.get(("users",), "42")) == (("users",), "42", {"v": "old"})
    for path in (("users", "42", "0"), ("users", "42", "0", "x"), ("users", "7"), ("users",)):
        store.put(path, "42" if path == ("users",) else "k", {"v": "new"})
    assert [world.ref for world in db.view().find(name="42", type="Item")] == [item]
    assert deep in {world.ref for world in db.view().find(name="k", type="Item")}
    assert {(found.namespace, found.key, found.value["v"]) for found in store.search(())} == {
        (("users",), "42", "new"),
        (("users", "7"), "k", "new"),
        (("users", "42", "0"), "k", "new"),
        (("users", "42", "0", "x"), "k", "new"),
    }
    assert len(db.view().history(item)) == len(db.view().history(deep)) == 2
    db.erase(db.view().find(name="users", type="Namespace"), reason="request 8", members=False)
    store.put(("users", "7"), "k", {"v": "newer"})
    assert plain(store.get(("users", "7"), "k")) == (("users", "7"), "k", {"v": "newer"})
    assert len(db.view().history(deep)) == 3, "the namespace of its key is the same one"


@pytest.mark.parametrize("first", ["tenant", "whole"])
def test_a_store_for_everything_beside_one_of_a_world_has_its_own_items(db: Database, first: str) -> None:
    """It read and changed those of the first world that had any."""
    tenant = db.create("Topic", "tenant")
    inner = db.create("Topic", "inner", world=tenant)
    stores = {
        "tenant": WorldDBStore(db, world=tenant),
        "inner": WorldDBStore(db, world=inner),
        "whole": WorldDBStore(db),
    }
    for name in sorted(stores, key=lambda each: each != first):
        stores[name].put(("memories",), "k", {"of": name})
        stores[name].put((name,), "k", {"of": name})
    for name, store in stores.items():
        assert plain(store.get(("memories",), "k")) == (("memories",), "k", {"of": name})
        assert {plain(found)[0] for found in store.search(())} == {("memories",), (name,)} == {*store.list_namespaces()}
    root = db.view().reference_of("root")
    WorldDBStore(db, world=root).put(("memories",), "k", {"of": "root"})
    assert plain(stores["whole"].get(("memories",), "k"))[2] == {"of": "root"}, "the root is everything"
    assert plain(WorldDBStore(db, world=root).get(("whole",), "k"))[2] == {"of": "whole"}


def test_a_value_that_json_cannot_hold_is_refused_and_nothing_of_the_batch_is_written(db: Database) -> None:
    store, head = WorldDBStore(db), db.head()
    with pytest.raises(InputError, match="cannot be kept"):
        store.put(("n",), "k", {"v": object()})
    assert db.head() == head


def test_it_is_asynchronous_too(db: Database) -> None:
    store = WorldDBStore(db)

    async def use() -> Any:
        await store.aput(("n",), "k", {"v": 1})
        return await store.aget(("n",), "k")

    assert plain(asyncio.run(use())) == (("n",), "k", {"v": 1})


NAMES = st.sampled_from(["a", "B", "b", "k 1"])
NAMESPACES = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
STEPS = st.lists(
    st.tuples(st.just("put"), NAMESPACES, NAMES, st.dictionaries(NAMES, st.integers(0, 3), max_size=2))
    | st.tuples(st.just("delete"), NAMESPACES, NAMES, st.none()),
    max_size=12,
)


@examples(8, deadline=None)
@given(steps=STEPS)
def test_it_agrees_with_the_store_in_memory(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    oracle = memory.InMemoryStore()
    with worlddb.open(tmp_path_factory.mktemp("graph") / "store", author="graph") as db:
        store = WorldDBStore(db)
        for step, namespace, key, value in steps:
            for each in (oracle, store):
                each.put(namespace, key, value) if step == "put" else each.delete(namespace, key)
        for _, namespace, key, _ in steps:
            assert plain(store.get(namespace, key)) == plain(oracle.get(namespace, key))
            found = {(item.namespace, item.key) for item in store.search(namespace[:1], limit=100)}
            assert found == {(item.namespace, item.key) for item in oracle.search(namespace[:1], limit=100)}
        # A namespace that was emptied is none here; the store in memory goes on listing it.
        held = {item.namespace for item in oracle.search((), limit=100)}
        assert set(store.list_namespaces()) == held
        deep = {path for path in oracle.list_namespaces(max_depth=2) if any(each[:2] == path for each in held)}
        assert set(store.list_namespaces(max_depth=2)) == deep
        assert set(store.list_namespaces(prefix=("a", "*"))) == {
            path for path in oracle.list_namespaces(prefix=("a", "*")) if path in held
        }


def test_a_store_of_one_world_answers_as_if_nothing_else_were_there(tmp_path: Path) -> None:
    def answers(name: str, their_word: str | None) -> Any:
        with worlddb.open(tmp_path / name, embedder=None) as db:
            mine, theirs = db.create("Tenant", "Acme"), db.create("Tenant", "Globex")
            store, other = WorldDBStore(db, world=mine.ref), WorldDBStore(db, world=theirs.ref)
            store.put(("m",), "a", {"t": "merger with the bank is planned"})
            store.put(("m",), "b", {"t": "lunch with the bank on friday"})
            if their_word is not None:
                for number in range(40):
                    other.put(("m",), f"k{number}", {"t": f"{their_word} {number}"})
                secret = db.create("Note", "their plan", content="a secret", world=theirs)
                for item in db.view().find(type="Item", world=mine):
                    db.link(item.ref, "derived_from", secret)
            found = store.search(("m",), query="merger friday")
            got = store.get(("m",), "a")
            listed = store.search(())
            rested = [item.rests_on for item in (*found, got, *listed)]  # type: ignore[union-attr]
            assert isinstance(found, ResultList) and len(found) == len(listed) == 2
            return [(item.key, item.score) for item in found], found.notes, rested, store.list_namespaces()

    alone = answers("alone", None)
    assert answers("merger", "merger") == answers("friday", "friday") == alone


@pytest.mark.parametrize("moved", ["Namespace", "Item"])
def test_what_an_operator_moved_to_a_tenant_is_not_written_to_from_the_whole_store(tmp_path: Path, moved: str) -> None:
    """Keys counted wherever their worlds were: what was put landed in the tenant's world, and was not found again."""
    with worlddb.open(tmp_path / "store", embedder=None) as db:
        tenant = db.create("Tenant", "T").ref
        store = WorldDBStore(db)
        store.put(("users", "eva"), "k", {"a": "one"})
        (record,) = [world for world in db.view().find(type=moved) if world.name in ("eva", "k")]
        (around,) = db.view().containers(record)
        db.move(record, tenant, out_of=around)
        before = db.view().hash(tenant)
        for key, text in (("k", "two"), ("k2", "three"), ("k", "four")):
            store.put(("users", "eva"), key, {"a": text})
        assert db.view().hash(tenant) == before
        found = [store.get(("users", "eva"), key) for key in ("k", "k2")]
        assert [item and item.value for item in found] == [{"a": "four"}, {"a": "three"}]
        assert store.get(("users",), "k") is None


def letters(texts: list[str]) -> list[list[float]]:
    """A model for these tests: how often each of some letters occurs."""
    return [[float(text.count(letter)) for letter in "abcdefgh"] for text in texts]


PUTS: list[tuple[tuple[str, ...], str, dict[str, Any], Any]] = [
    (("docs", "one"), "a", {"text": "aab", "other": "hh", "meta": {"size": 1, "tags": ["x"]}}, None),
    (("docs", "one"), "b", {"text": "abb", "other": "gg", "meta": {"size": 2, "tags": ["y"]}}, None),
    (("docs", "two"), "c", {"text": "cc", "other": "aa", "meta": {"size": 3}}, ["other"]),
    (("docs", "two"), "d", {"text": "aaa", "other": "aaa"}, False),
    (("else",), "e", {"text": "aa", "list": ["a", "bb"]}, ["list[*]"]),
]


@pytest.mark.parametrize("fields", [None, ["text"], ["text", "other"], ["$"]])
def test_with_an_index_the_answers_are_those_of_the_store_in_memory(db: Database, fields: list[str] | None) -> None:
    index: Any = {"embed": letters, "dims": 8} | ({"fields": fields} if fields else {})
    ours, theirs = WorldDBStore(db, index=index), memory.InMemoryStore(index=index)
    for store in (ours, theirs):
        for namespace, key, value, of in PUTS:
            store.put(namespace, key, value, index=of)
    filters: list[Any] = [None, {"meta": {"size": 2}}, {"meta": {"size": {"$gte": 2}}}, {"other": {"$ne": "gg"}}]
    for prefix in ((), ("docs",), ("docs", "two"), ("nothing",)):
        for query in ("aab", "cc", "h"):
            for wanted in filters[:2]:
                asked = [s.search(prefix, query=query, filter=wanted, limit=9) for s in (ours, theirs)]
                found = [[(plain(item), round(item.score or 0, 9), item.score is None) for item in a] for a in asked]
                assert sorted(found[0], key=repr) == sorted(found[1], key=repr), (prefix, query, wanted)
                assert [each[1:] for each in found[0]] == [each[1:] for each in found[1]]
        assert ours.list_namespaces(prefix=prefix) == theirs.list_namespaces(prefix=prefix)
    ours.put(("docs", "one"), "a", {"text": "hhh"})
    assert ours.search(("docs",), query="h", limit=1)[0].key == "a"


def test_a_value_that_was_put_without_an_index_is_not_found_by_a_question(db: Database) -> None:
    store = WorldDBStore(db)
    store.put(("n",), "shown", {"text": "a violin"})
    store.put(("n",), "hidden", {"text": "a violin"}, index=False)
    assert [item.key for item in store.search(("n",), query="violin")] == ["shown"]
    assert {item.key for item in store.search(("n",))} == {"shown", "hidden"}


def test_a_filter_leads_into_what_a_value_holds(db: Database) -> None:
    store = WorldDBStore(db)
    store.put(("n",), "a", {"meta": {"place": {"city": "Porto", "zip": 4000}}})
    store.put(("n",), "b", {"meta": {"place": {"city": "Faro"}}, "meta.place.city": "Porto"})
    store.put(("n",), "c", {"meta": 5})
    asked: list[tuple[Any, list[str]]] = [
        ({"meta.place.city": "Porto"}, ["a", "b"]),
        ({"meta.place.zip": {"$gt": 3999}}, ["a"]),
        ({"meta": {"place": {"city": "Faro"}}}, ["b"]),
        ({"meta.place.city.street": "x"}, []),
    ]
    for wanted, keys in asked:
        assert [item.key for item in store.search(("n",), filter=wanted)] == keys, wanted


def test_namespaces_follow_what_others_do_to_the_store(db: Database) -> None:
    store, other = WorldDBStore(db), WorldDBStore(db)
    for name in ("ana", "ben"):
        store.put(("users", name), "k", {"name": name})
    assert store.list_namespaces() == [("users", "ana"), ("users", "ben")]
    other.put(("users", "cleo"), "k", {"name": "cleo"})
    other.delete(("users", "ben"), "k")
    assert store.list_namespaces() == other.list_namespaces() == [("users", "ana"), ("users", "cleo")]
    (ana,) = db.view().find(name="ana", type="Namespace")
    outside = db.create("Topic", "outside")
    db.move(ana, outside)
    assert store.list_namespaces() == [("users", "cleo")] and store.search(("users", "ana")) == []
    (item,) = [world for world in db.view().find(type="Item") if "cleo" in world.content]
    db.retire(item, at="9998-01-01")
    assert [found.key for found in store.search(("users",))] == ["k"]
    db.erase(item, reason="request 7")
    db.create("Note", "n")
    assert store.list_namespaces() == WorldDBStore(db).list_namespaces()


def test_what_tasks_ask_for_at_once_is_one_commit_and_one_fails_for_itself(db: Database) -> None:
    store = WorldDBStore(db)

    async def many() -> list[Any]:
        before = db.head().seq
        await asyncio.gather(*(store.aput(("n",), str(number), {"number": number}) for number in range(20)))
        assert db.head().seq - before <= 4, "the first commit, and the vectors"
        odd = store.aput(("n",), "odd", {"number": float("nan")})
        fine, same = store.aput(("n",), "fine", {"a": 1}), store.aput(("n",), "fine", {"a": 2})
        asked = odd, fine, same, store.asearch(("n",), limit=50)
        return list(await asyncio.gather(*asked, return_exceptions=True))

    odd, fine, same, found = asyncio.run(many())
    assert isinstance(odd, InputError) and fine is None and same is None and len(found) >= 20
    ours = store.get(("n",), "fine")
    assert ours is not None and ours.value == {"a": 2}
    (world,) = db.view().find(name="fine")
    assert [json.loads(version.content) for version in db.view().history(world.ref)] == [{"a": 1}, {"a": 2}]
    assert asyncio.run(store.aget(("n",), "3")) is not None


@pytest.mark.parametrize("until", [None, "9998-01-01"])
@pytest.mark.parametrize("name", ["langgraph", "users", "ana"])
def test_what_is_put_where_a_namespace_has_ended_is_there(db: Database, name: str, until: str | None) -> None:
    """It was written into the world that had ended, where nobody could get it."""
    store = WorldDBStore(db)
    store.put(("users", "ana"), "before", {"a": 1})
    (world,) = db.view().find(name=name, type="Namespace")
    db.retire(world, valid_from="2020-01-01", valid_to=until)
    for number in range(2):
        store.put(("users", "ana"), "k", {"number": number})
        assert plain(store.get(("users", "ana"), "k")) == (("users", "ana"), "k", {"number": number})
    assert [item.key for item in store.search(("users",))] == ["k"]
    assert store.list_namespaces() == [("users", "ana")]


def test_what_is_no_value_in_a_namespace_is_passed_over(db: Database) -> None:
    store = WorldDBStore(db)
    store.put(("n",), "k", {"a": 1})
    (world,) = db.view().find(name="n", type="Namespace")
    for content in ("no json", "[1, 2]", "7", "{"):
        db.create("Item", f"odd {content}", content=content, world=world)
    assert [item.key for item in store.search(("n",))] == ["k"] == [i.key for i in store.search(("n",), query="k a 1")]
    assert store.get(("n",), "odd 7") is None


WRONG_INDEXES: list[Any] = [
    5,
    {},
    {"embed": letters},
    {"embed": letters, "dims": 9},
    {"embed": lambda texts: 5, "dims": 8},
    {"embed": letters, "dims": 8, "distance_type": "hamming"},
]


KINDS = ["number", "nothing", "no dims", "other dims", "no vectors", "distance"]


@pytest.mark.parametrize("index", WRONG_INDEXES, ids=KINDS)
def test_an_invalid_index_is_refused(db: Database, index: Any) -> None:
    with pytest.raises(InputError):
        store = WorldDBStore(db, index=index)
        store.put(("n",), "k", {"text": "x"})
        store.search(("n",), query="x")


OPERATIONS: list[Any] = [
    lambda path: base.GetOp(path, "key"),
    lambda path: base.PutOp(path, "key", {"v": 2}),
    lambda path: base.PutOp(path, "key", None),
    base.SearchOp,
    lambda path: base.ListNamespacesOp((base.MatchCondition("prefix", path),)),
]


@pytest.mark.parametrize("path", [("foo.bar",), ("foo", ""), ("foo", 1), ("foo", "a\0"), "foo.bar"])
def test_a_batch_with_a_namespace_that_is_none_is_refused_whole(db: Database, path: Any) -> None:
    """As LangGraph's own stores do, with its error and with ours."""
    store, head = WorldDBStore(db), db.head()
    for operation in OPERATIONS:
        given = [base.PutOp(("valid",), "key", {"v": 1}), operation(path)]
        with pytest.raises(InputError) as refused:
            store.batch(given)
        assert isinstance(refused.value, base.InvalidNamespaceError)
        with pytest.raises(base.InvalidNamespaceError):
            asyncio.run(asyncio.wait_for(store.abatch(given), 20))
    assert db.head() == head


def test_a_namespace_may_be_a_list_and_a_key_has_to_be_text(db: Database) -> None:
    store = WorldDBStore(db)
    path: Any = ["users", "ana"]
    asyncio.run(asyncio.wait_for(store.abatch([base.PutOp(path, "a", {"v": 1})]), 20))
    store.put(path, "b", {"v": 2})
    assert plain(store.get(path, "a")) == (("users", "ana"), "a", {"v": 1})
    for prefix in (path, path[:1]):
        assert [plain(item)[:2] for item in store.search(prefix)] == [(("users", "ana"), "a"), (("users", "ana"), "b")]
        assert len(store.search(prefix, filter={"v": 1})) == 1
    last: Any = "ana"
    assert store.batch([base.ListNamespacesOp((base.MatchCondition("suffix", last),))]) == [[("users", "ana")]]
    key: Any = 3
    with pytest.raises(InputError, match="A key is int"):
        store.batch([base.PutOp(("users",), key, {"v": 1})])


def test_a_filter_compares_with_any_number(db: Database) -> None:
    store = WorldDBStore(db)
    for price in (10, 20, -10):
        store.put(("items",), str(price), {"price": price})
    for wanted, count in (
        ({"$lt": math.inf}, 3),
        ({"$gt": -math.inf, "$lt": 10**100}, 3),
        ({"$eq": math.nan}, 0),
        ({"$lt": 0}, 1),
    ):
        assert len(store.search(("items",), filter={"price": wanted})) == count, wanted
    for kept_out in ({"price": math.inf}, {"price": {"$eq": b"10"}}):
        with pytest.raises(InputError, match="A value"):
            store.search(("items",), filter=kept_out)


@pytest.mark.parametrize(("distance", "best"), [("cosine", 1.0), ("inner_product", 5 / 3), ("l2", -(2 / 3))])
def test_the_score_is_by_the_distance_that_an_index_names(db: Database, distance: str, best: float) -> None:
    index: Any = {
        "embed": lambda texts: [{"ask": [1.0, 0.0], "a": [5 / 3, 0.0], "b": [0.0, 9.0]}[text] for text in texts],
        "dims": 2,
        "fields": ["text"],
        "distance_type": distance,
    }
    store = WorldDBStore(db, index=index)
    assert store.index_config is index and store.embeddings is not None
    store.put(("docs",), "b", {"text": "b"})
    store.put(("docs",), "a", {"text": "a"})
    found = store.search(("docs",), query="ask")
    assert [item.key for item in found] == ["a", "b"]
    assert found[0].score == pytest.approx(best)


@pytest.mark.parametrize("users", [6, 60])
def test_a_put_reads_as_much_however_many_namespaces_are_called_alike(
    db: Database, users: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each looked up the path of its namespace several times, among all namespaces of the same last name."""
    store = WorldDBStore(db)
    store.batch([base.PutOp((f"user {n}", "memories"), key, {"n": n}) for n in range(users) for key in ("a", "b")])
    store.get(("user 1", "memories"), "a")
    read, whole = list[int](), Tables.incoming

    def counted(self: Tables, node: int, *args: Any, **how: Any) -> Any:
        read.append(node)
        return whole(self, node, *args, **how)

    monkeypatch.setattr(Tables, "incoming", counted)
    store.put(("user 2", "memories"), "c", {"n": 2})
    of_put = len(read)
    fresh = WorldDBStore(db)
    assert plain(fresh.get(("user 3", "memories"), "b")) == (("user 3", "memories"), "b", {"n": 3})
    assert (of_put, len(read) - of_put) < (150, 150)
    assert plain(store.get(("user 2", "memories"), "c"))[2] == {"n": 2}


def test_a_batch_looks_a_namespace_up_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    store = WorldDBStore(db)
    looked, whole = list[Any](), View.find

    def counted(self: View, **how: Any) -> Any:
        looked.append(how.get("name"))
        return whole(self, **how)

    monkeypatch.setattr(View, "find", counted)
    path = ("org", "team", "ana", "memories")
    seq = db.head().seq
    store.batch([base.PutOp(path, str(number), {"n": number}) for number in range(20)])
    assert max(looked.count(name) for name in path) <= 3 and len(looked) <= 20 + 12
    assert [entry.event for entry in db.log(seq + 1) if entry.event == "created"] == ["created"] * 25
    looked.clear()
    store.batch([base.PutOp(path, str(number), {"n": number + 1}) for number in range(20)])
    assert looked.count("memories") == 0 and len(looked) <= 45
    assert [item.value["n"] for item in store.search(path, limit=30)] == list(range(1, 21))


def test_namespaces_that_may_be_hidden_or_are_twice_are_looked_up(db: Database) -> None:
    """What is kept of namespaces answers only where it is sure to say what the database does."""
    store = WorldDBStore(db)
    store.put(("users", "ana"), "k", {"a": 1})
    (users,) = db.view().find(name="users", type="Namespace")
    twin = db.create("Namespace", "ana", world=users, resolve=False)
    db.create("Item", "k", content='{"a":2}', world=twin, resolve=False)
    assert (
        plain(store.get(("users", "ana"), "k"))[2] == {"a": 1} == plain(WorldDBStore(db).get(("users", "ana"), "k"))[2]
    )
    db.expire(users, expires_at="2020-01-01")
    assert [each.get(("users", "ana"), "k") for each in (store, WorldDBStore(db))] == [None, None]
    db.unexpire(users)
    assert plain(store.get(("users", "ana"), "k"))[2] == {"a": 1}
