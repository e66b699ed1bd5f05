"""A batch decided in bulk equals the same commands decided one by one, byte for byte."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlddb
from bench.made_up.workload import Loader, Mix, load, open_seeded
from tests.support.examples import examples
from tests.support.model.stores import day, new_store
from worlddb import Database, Receipt
from worlddb.log.model import hashing
from worlddb.projections import runner
from worlddb.projections.tables.storage import rows, transaction
from worlddb.projections.tables.storage.schema import EDGE_TYPE_CODES
from worlddb.projections.tables.storage.transaction import MAX_KNOWN, CommitCache, EdgeEndpoint, KnownWorlds
from worlddb.reconciler import pipeline
from worlddb.reconciler.commands import commands as cmd
from worlddb.reconciler.decisions import bulk

FAR = 2**60
"""So many commands no batch has: all of them are decided one by one."""

ENDS = ("Committed", "Refused", "UnknownReference")
MAX_ROUNDS = 60

TYPES = (*EDGE_TYPE_CODES, "unknown_type")
times = st.sampled_from([None, None, None, day(0), day(3), day(-4)])
texts = st.sampled_from(["", "", "", "so it was said"])
refs = st.tuples(st.sampled_from(["here", "before", "before", "prefix", "edge"]), st.integers(0, 30))
creates = st.fixed_dictionaries(
    {"type": st.sampled_from(["Entity", "Turn"]), "name": st.sampled_from(["Ada", "Ben", "Ada Lane", "12", " "])},
    optional={
        "content": texts,
        "aliases": st.sampled_from([(), ("Addie",), ("Ben", "B.")]),
        "world": refs,
        "key": st.sampled_from([None, "k1", "k2", "k3"]),
        "valid_from": times,
        "valid_to": times,
        "source": st.sampled_from([{}, {"line": 4}]),
        "why": texts,
        "resolve": st.sampled_from([True, False, "exact", "all"]),
    },
)
links = st.fixed_dictionaries(
    {"source_ref": refs, "type": st.sampled_from(TYPES), "target_ref": refs},
    optional={
        "home": st.none() | refs,
        "key": st.sampled_from([None, None, "e1"]),
        "properties": st.sampled_from([{}, {"confidence": 0.5}]),
        "valid_from": times,
        "valid_to": times,
        "why": texts,
    },
)
steps = st.one_of(
    st.tuples(st.just(cmd.Create), creates),
    st.tuples(st.just(cmd.Link), links),
    st.tuples(st.just(cmd.Link), links),
    st.tuples(
        st.just(cmd.Revise), st.fixed_dictionaries({"ref": refs, "content": st.just("other"), "valid_from": times})
    ),
    st.tuples(st.just(cmd.Retire), st.fixed_dictionaries({"ref": refs})),
    st.tuples(st.just(cmd.Unlink), st.fixed_dictionaries({"edge": refs})),
    st.tuples(st.just(cmd.Move), st.fixed_dictionaries({"refs": refs.map(lambda ref: (ref,)), "to": refs})),
)
batches = st.lists(st.lists(steps, min_size=1, max_size=12), min_size=1, max_size=6)


def test_what_is_decided_in_one_go_is_what_would_be_decided_one_by_one(
    monkeypatch: pytest.MonkeyPatch, root_seed: int
) -> None:
    """How much of it is decided in one go hangs on the examples; further ones are drawn until it is enough."""
    seen: Counter[str] = Counter()

    @examples(6)
    @given(
        requests=batches, functional=st.booleans(), few_named=st.sampled_from([1, 64]), most=st.sampled_from([2, 99])
    )
    def compare(
        requests: list[list[tuple[type[cmd.Command], dict[str, Any]]]], functional: bool, few_named: int, most: int
    ) -> None:
        answers, pairs = [], []
        for least in (pipeline.MIN_BULK_COMMANDS, FAR):
            with monkeypatch.context() as patched, new_store() as db:
                patched.setattr(pipeline, "MIN_BULK_COMMANDS", least)
                patched.setattr(bulk, "MIN_PREFETCHED_WORLDS", few_named)
                patched.setattr(bulk, "MIN_NODES_TO_PREFETCH", 0)
                patched.setattr(transaction, "MAX_KNOWN", most)
                patched.setattr(transaction.LineageColumns, "MOST", 8)
                if functional:
                    db.register("causes", functional=True)
                known: list[str] = [db.create("Topic", "all", key="k1").ref, db.create("Entity", "Ada").ref]
                answers.append([_answer(db, request, known) for request in requests])
                with db._env.read() as txn:
                    pairs.append(list(txn.cursor()))
        assert answers[0] == answers[1]
        assert pairs[0] == pairs[1]
        seen.update(
            str(answer.outcome.__class__.__name__ if isinstance(answer, Receipt) else answer[0])
            for answer in answers[0]
        )

    decided = _count_decided(monkeypatch)
    for number in range(MAX_ROUNDS):
        hypothesis.seed(root_seed + number)(compare)()
        if min(*(seen[each] for each in ENDS), decided["link"], decided["create"]) > 10:
            return
    raise AssertionError((seen, decided))


def _answer(db: Database, request: list[tuple[type[cmd.Command], dict[str, Any]]], known: list[str]) -> Any:
    """The receipt of a batch, or what was raised; ``known`` grows by what was written."""
    commands: list[cmd.Command] = []
    for kind, fields in request:
        position = len(commands)
        told: dict[str, Any] = dict(fields)
        for name in _REFS.intersection(fields):
            told[name] = _resolve_ref(fields[name], known, position)
        commands.append(kind(**told))
    try:
        receipt = pipeline.execute(db._writer, commands)
    except worlddb.WorldDBError as error:
        return type(error).__name__, str(error), repr(error.details)
    known.extend(receipt.requested)
    return receipt


_REFS = {"source_ref", "target_ref", "home", "world", "ref", "refs", "to", "edge"}


def _resolve_ref(ref: Any, known: list[str], position: int) -> cmd.Ref | tuple[cmd.Ref, ...] | None:
    if ref is None:
        return None
    if isinstance(ref[0], tuple):
        return tuple(_resolve_ref(each, known, position) for each in ref)  # type: ignore[misc]
    what, number = ref
    if what == "here" and position:
        return int(number % (position + 1))
    wanted = [one for one in known if (len(one) == 64) == (what == "edge")] or known
    chosen = wanted[number % len(wanted)]
    return chosen[:10] if what == "prefix" else bytes.fromhex(chosen)


def _count_decided(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many commands of each kind were decided in one go."""
    counted: Counter[str] = Counter()
    decide = bulk.BulkDecider.decide

    def counting(decider: bulk.BulkDecider, command: cmd.Command) -> bool:
        found = decide(decider, command)
        counted[command.CODE] += found
        return found

    monkeypatch.setattr(bulk.BulkDecider, "decide", counting)
    return counted


def test_a_load_in_batches_is_the_same_store_decided_one_by_one(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    decided = _count_decided(monkeypatch)
    found = []
    for least in (pipeline.MIN_BULK_COMMANDS, FAR):
        monkeypatch.setattr(pipeline, "MIN_BULK_COMMANDS", least)
        with open_seeded(tmp_path / str(least), 7) as db:
            loader = Loader(db)
            for operations in Mix(7, 150, 600).batches(100):
                loader.commit(operations)
            with db._env.read() as txn:
                found.append(list(txn.cursor()))
    assert found[0] == found[1]
    assert decided["create"] > 100 and decided["link"] > 500


def test_what_a_writer_knows_is_forgotten_when_somebody_else_has_committed(tmp_path: Any) -> None:
    with open_seeded(tmp_path / "store", 1) as one, open_seeded(tmp_path / "store", 2) as other:
        with one.batch() as tx:
            tx.create("Entity", "Ada", valid_from=day(0))
            tx.create("Entity", "Ben", valid_from=day(0))
        ada, ben = tx.receipt.refs
        other.revise(ada, content="revised elsewhere", valid_from=day(5))
        with one.batch() as tx:
            tx.link(ada, "refers_to", ben)
            tx.link(ben, "refers_to", ada)
        edges = {edge.source: edge for edge in one.view(valid=day(6)).edges(ada, direction="both", type="refers_to")}
        assert edges[ada].valid.start == day(5)
        assert one.verify(deep=True).ok


def test_what_is_known_of_what_contains_a_world_follows_moves_and_unlinks(tmp_path: Any) -> None:
    with open_seeded(tmp_path / "store", 7) as db:
        first, second, inner = [db.create("Topic", name).refs[0] for name in ("one", "two", "inner")]
        for world in (first, second):
            db.link(world, "contains", inner)
        db.create("Fact", "deep", world=inner)
        held = [edge for edge in db.view().edges(inner, direction="in", type="contains") if edge.source == second]
        db.unlink(held[0].ref)
        db.create("Fact", "deeper", world=inner)
        db.move(inner, second, out_of=first)
        db.create("Fact", "deepest", world=inner)
        known = db._writer.memory._known.containers
        with db._env.read() as txn:
            tables = rows.Tables(txn)
            stored = {node: tables._stored_containers(node) for node in known}
        assert known == stored and len(known) == 4
        assert db.verify(deep=True).ok


def test_a_memory_keeps_what_is_true_after_one_commit_and_not_too_much_of_it() -> None:
    memory, known = CommitCache(), KnownWorlds()
    for number in range(MAX_KNOWN + 3):
        lineage = number.to_bytes(16, "big")
        known.endpoints[lineage] = EdgeEndpoint(number, lineage, 1, bytes(4) + lineage + bytes(36), 0, number, lineage)
    memory.put(known, b"chain")
    kept = memory.take(b"chain")
    assert len(kept.endpoints) == MAX_KNOWN and (2).to_bytes(16, "big") not in kept.endpoints
    assert not memory.take(b"chain").endpoints, "what was taken is kept again by the commit that took it"
    memory.put(kept, b"chain")
    assert not memory.take(b"another").endpoints


def test_what_is_known_of_many_worlds_is_kept_in_columns_until_it_changes() -> None:
    known, count = KnownWorlds(), MAX_KNOWN + 300
    numbers = [number.to_bytes(2, "big") for number in range(count)]
    ends = [hashing.edge_end(number * 8, number[::-1] * 16) for number in numbers]
    for number, end in enumerate(ends):
        home = number // 9
        found = number, end[4:20], number % 5 + 1, end, -number, home, ends[home][4:20]
        known.endpoints[end[4:20]] = EdgeEndpoint(*found)
    before = dict(known.endpoints)
    known.trim()
    gone = [end[4:20] for end in ends if end[4:20] not in known.endpoints]
    assert len(gone) == 300
    known.forget(gone[7], 7)
    known.recall([])
    assert len(known.endpoints) == MAX_KNOWN, "who asks for nothing, since all is known, is given nothing"
    known.recall([*gone, b"nobody has this."])
    assert [each for each in gone if each not in known.endpoints] == [gone[7]]
    assert all(before[each] == end for each, end in known.endpoints.items())


def test_of_very_many_worlds_fewer_are_kept_as_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "MAX_KNOWN", 100)
    known = KnownWorlds()
    for number in range(510):
        end = hashing.edge_end(number.to_bytes(16, "big"), number.to_bytes(32, "big"))
        known.endpoints[end[4:20]] = EdgeEndpoint(number, end[4:20], 1, end, number, number, end[4:20])
    before, sizes = dict(known.endpoints), list[int]()
    for _ in range(3):
        known.trim()
        sizes.append(len(known.endpoints))
    assert sizes == [100, 20, 20]
    known.recall([each for each in before if each not in known.endpoints])
    assert known.endpoints == before


@pytest.mark.parametrize("most", [1 << 20, 64])
def test_a_load_looks_few_worlds_up_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    asked: Counter[str] = Counter()
    recall = KnownWorlds.recall

    def counting(known: KnownWorlds, lineages: list[bytes]) -> None:
        recall(known, lineages)
        asked["asked"] += len(lineages)
        asked["unknown"] += sum(each not in known.endpoints for each in lineages)

    monkeypatch.setattr(KnownWorlds, "recall", counting)
    monkeypatch.setattr(bulk, "MIN_NODES_TO_PREFETCH", 0)
    monkeypatch.setattr(transaction, "MAX_KNOWN", 100)
    monkeypatch.setattr(transaction.LineageColumns, "MOST", most)
    with open_seeded(tmp_path / "store", 7) as db:
        loader = Loader(db)
        for operations in Mix(7, 400, 1_600).batches(200):
            loader.commit(operations)
    assert asked["asked"] > 500
    assert (asked["unknown"] < asked["asked"] / 10) == (most > 400)


@pytest.fixture
def thawed() -> Iterator[None]:
    """What the suite froze to be quick, back with the rest for a while."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("thawed")
@pytest.mark.parametrize("older_go", [False, True])
def test_a_pause_of_the_collector_leaves_it_nothing_to_go_through(older_go: bool):
    older = [[number] for number in range(50_000)]
    gc.collect()
    before = gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()
    looked: list[str] = []
    gc.callbacks.append(lambda phase, told: looked.append(phase))
    try:
        with runner.collector_paused(is_much=older_go):
            kept = [[number] for number in range(50_000)]
            if older_go:
                older.clear()
        few = [[number] for number in range(100)]
    finally:
        gc.callbacks.pop()
    assert looked == [], "the next object that was made had all of them gone through"
    assert (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()) == before
    assert before[0] and len(kept) == 500 * len(few)


@pytest.mark.usefixtures("thawed")
def test_a_rebuild_leaves_the_collector_nothing_to_go_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """However many older objects went meanwhile, by which Python counts the fewer that were made."""
    moved: list[bool] = []
    with load(tmp_path / "store", 1, 10, 20, 30)[0] as db:
        monkeypatch.setattr(gc, "get_count", lambda: (-1_000_000, 0, 0))
        monkeypatch.setattr(gc, "freeze", lambda: moved.append(True))
        db.rebuild("tables")
    assert moved


@pytest.mark.usefixtures("thawed")
def test_a_cycle_made_in_a_pause_of_the_collector_is_found_later():
    class Held:
        itself: Any = None

    with runner.collector_paused():
        held = Held()
        held.itself = held
        gone = weakref.ref(held)
        del held
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_what_a_program_has_frozen_stays_frozen():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with runner.collector_paused():
        kept = [[number] for number in range(50_000)]
    assert gc.get_freeze_count() == frozen > len(kept)


def test_what_a_program_has_frozen_is_not_counted_where_little_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python counts it object by object, which took longer than a small import."""
    monkeypatch.delattr(gc, "get_freeze_count")
    with runner.collector_paused():
        pass
    assert gc.isenabled()
