"""Wrong values from callers: each a typed error that names what is wrong, and nothing written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.model.stores import DAY, day, new_store, refusal, worlds
from worlddb import (
    AmbiguousReference,
    ClockJump,
    Database,
    Extraction,
    InputError,
    InvalidInterval,
    InvalidText,
    InvalidTime,
    LimitExceeded,
    ManualClock,
    Node,
    RefusedError,
    Relation,
    UnknownEdgeType,
    UnknownReference,
    WorldDBError,
)
from worlddb.log.model.limits import (
    MAX_ALIASES,
    MAX_AUTHOR_BYTES,
    MAX_CONTENT_BYTES,
    MAX_KEY_BYTES,
    MAX_NAME_BYTES,
    MAX_REASON_BYTES,
    MAX_RECORD_BYTES,
    MAX_TYPE_BYTES,
)


class Store:
    """An open store with two worlds and an edge, and whether anything was written since."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.one, self.other = worlds(db, 2)
        self.edge = db.link(self.one, "implies", self.other).ref
        self.head = db.head()

    def is_untouched(self) -> bool:
        return self.db.head() == self.head


@pytest.fixture
def store() -> Iterator[Store]:
    with new_store() as db:
        made = Store(db)
        yield made
        assert made.is_untouched()


def long(limit: int) -> str:
    return "x" * (limit + 1)


Call = Callable[[Store], Any]
NAIVE = datetime(2025, 1, 1)

TIMES: dict[str, Call] = {
    "create": lambda s: s.db.create("Thing", "t", valid_from=NAIVE),
    "create to": lambda s: s.db.create("Thing", "t", valid_to="2025-01-01T09:00:00"),
    "revise": lambda s: s.db.revise(s.one, content="c", valid_from="soon"),
    "retire": lambda s: s.db.retire(s.one, at=NAIVE),
    "retire an edge": lambda s: s.db.retire(s.edge, at=1.5),
    "reassert": lambda s: s.db.reassert(s.one, valid_to=True),
    "link": lambda s: s.db.link(s.one, "implies", s.other, valid_from=2**80),
    "move": lambda s: s.db.move(s.one, s.other, valid_from=b"2025-01-01"),
    "ingest": lambda s: s.db.ingest([{"text": "hello"}], at=NAIVE),
    "a turn": lambda s: s.db.ingest([{"text": "hello", "at": "2025-01-01T09:00"}]),
    "an extraction": lambda s: s.db.ingest(
        [{"text": "hello"}],
        extractor=lambda turns: Extraction(nodes=[Node(label="n", type="Fact", name="n", at=NAIVE)]),
    ),
    "a view": lambda s: s.db.view(valid=NAIVE),
    "a view's other axis": lambda s: s.db.view(ingested="yesterday"),
    "a replay": lambda s: s.db.replay("nowhere", until=NAIVE),
}

INTERVALS: dict[str, Call] = {
    "create": lambda s: s.db.create("Thing", "t", valid_from=day(2), valid_to=day(1)),
    "create that ends before now": lambda s: s.db.create("Thing", "t", valid_to=day(-1)),
    "revise": lambda s: s.db.revise(s.one, valid_from=day(2), valid_to=day(1)),
    "link": lambda s: s.db.link(s.one, "implies", s.other, valid_from=day(2), valid_to=day(1)),
    "link that ends before its source begins": lambda s: s.db.link(s.one, "implies", s.other, valid_to=day(-1)),
    "reassert": lambda s: s.db.reassert(s.one, valid_from=day(2), valid_to=day(1)),
}

REFERENCES: dict[str, Call] = {
    "revise": lambda s: s.db.revise("00000bad"),
    "retire": lambda s: s.db.retire("00" * 16),
    "link from": lambda s: s.db.link("00000bad", "implies", s.one),
    "link to": lambda s: s.db.link(s.one, "implies", bytes(16)),
    "link in": lambda s: s.db.link(s.one, "implies", s.other, home="00000bad"),
    "unlink": lambda s: s.db.unlink("00" * 32),
    "unlink a world": lambda s: s.db.unlink(s.one),
    "revise an edge": lambda s: s.db.revise(s.edge),
    "move": lambda s: s.db.move([s.one, "00000bad"], s.other),
    "move to": lambda s: s.db.move(s.one, "00000bad"),
    "move out of": lambda s: s.db.move(s.one, s.other, out_of="00000bad"),
    "alias": lambda s: s.db.alias("00000bad", "a"),
    "unalias": lambda s: s.db.unalias(s.one, "never given"),
    "accept": lambda s: s.db.accept("00000bad"),
    "accept an edge": lambda s: s.db.accept(s.edge),
    "reject": lambda s: s.db.reject(s.one),
    "undo": lambda s: s.db.undo("00" * 32),
    "reassert": lambda s: s.db.reassert("00000bad"),
    "create in": lambda s: s.db.create("Thing", "t", world="00000bad"),
    "ingest into": lambda s: s.db.ingest([{"text": "hello"}], into="00000bad"),
    "get": lambda s: s.db.view().get("00000bad"),
    "children": lambda s: list(s.db.view().children("00000bad")),
    "edges": lambda s: s.db.view().edges("00000bad"),
    "edge": lambda s: s.db.view().edge(s.one),
    "history": lambda s: s.db.view().history("00000bad"),
    "hash": lambda s: s.db.view().hash("00000bad"),
    "find": lambda s: s.db.view().find(world="00000bad"),
    "recall": lambda s: s.db.view().recall("thing", world="00000bad"),
    "log": lambda s: list(s.db.log(ref="00000bad")),
}

NO_REFERENCES: dict[str, Call] = {
    "a number": lambda s: s.db.retire(0),
    "a truth": lambda s: s.db.retire(True),
    "nothing": lambda s: s.db.retire(None),
    "three digits": lambda s: s.db.retire("abc"),
    "one byte": lambda s: s.db.retire(b"\x00"),
    "no bytes": lambda s: s.db.view().get(b""),
    "many bytes": lambda s: s.db.view().get(bytes(33)),
    "no digits": lambda s: s.db.retire("not hex"),
    "a list": lambda s: s.db.revise([s.one]),
    "a list in a list": lambda s: s.db.move([[s.one]], s.other),
    "a set": lambda s: s.db.move({s.one}, s.other),
    "nothing to move": lambda s: s.db.move([], s.other),
    "a number as world": lambda s: s.db.create("Thing", "t", world=0),
    "an object": lambda s: s.db.link(object(), "implies", s.one),
}

TEXTS: dict[str, Call] = {
    "no name": lambda s: s.db.create("Thing", None),
    "a number as name": lambda s: s.db.create("Thing", 5),
    "bytes as name": lambda s: s.db.create("Thing", b"name"),
    "a surrogate in the name": lambda s: s.db.create("Thing", "half \ud83d"),
    "a surrogate in the type": lambda s: s.db.create("\udfff", "t"),
    "a surrogate in the content": lambda s: s.db.create("Thing", "t", content="\ud800"),
    "a surrogate in an alias": lambda s: s.db.create("Thing", "t", aliases=["ok", "\ud800"]),
    "a surrogate in the key": lambda s: s.db.create("Thing", "t", key="\ud800"),
    "a surrogate in the reason": lambda s: s.db.retire(s.one, why="\ud800"),
    "a surrogate in the provenance": lambda s: s.db.create("Thing", "t", source={"file": "\udcff"}),
    "a surrogate in the idempotency key": lambda s: s.db.create("Thing", "t", idempotency_key="\ud800"),
    "no type": lambda s: s.db.create("", "t"),
    "an empty alias": lambda s: s.db.alias(s.one, " "),
    "an empty key": lambda s: s.db.create("Thing", "t", key=""),
    "an empty idempotency key": lambda s: s.db.create("Thing", "t", idempotency_key=""),
    "a number as content": lambda s: s.db.revise(s.one, content=7),
    "a number as type": lambda s: s.db.revise(s.one, type=7),
    "a number as reason": lambda s: s.db.link(s.one, "implies", s.other, why=7),
    "a number as alias": lambda s: s.db.alias(s.one, 7),
    "a number as idempotency key": lambda s: s.db.retire(s.one, idempotency_key=7),
    "no edge type": lambda s: s.db.link(s.one, None, s.other),
    "a list as edge type": lambda s: s.db.link(s.one, ["implies"], s.other),
    "a number as speech": lambda s: s.db.ingest([{"text": 5, "speaker": "Ada"}]),
    "a list as speaker": lambda s: s.db.ingest([{"text": "hello", "speaker": ["Ada"]}]),
    "a number as conversation": lambda s: s.db.ingest([{"text": "hello"}], conversation=5),
    "a number as session": lambda s: s.db.ingest([{"text": "hello"}], session=5),
    "a number as format": lambda s: s.db.ingest([{"text": "hello"}], format=5),
    "a number as name to find": lambda s: s.db.view().find(name=5),
    "a list as type to find": lambda s: s.db.view().find(type=["Thing"]),
    "a number as type of edges": lambda s: s.db.view().edges(s.one, type=5),
    "a surrogate as type of edges": lambda s: s.db.view().edges(s.one, type="\ud800"),
}

LIMITS: dict[str, Call] = {
    "name": lambda s: s.db.create("Thing", long(MAX_NAME_BYTES)),
    "name in bytes": lambda s: s.db.create("Thing", "€" * (MAX_NAME_BYTES // 3 + 1)),
    "type": lambda s: s.db.create(long(MAX_TYPE_BYTES), "t"),
    "content": lambda s: s.db.create("Thing", "t", content=long(MAX_CONTENT_BYTES)),
    "alias": lambda s: s.db.alias(s.one, long(MAX_NAME_BYTES)),
    "aliases": lambda s: s.db.create("Thing", "t", aliases=["a"] * (MAX_ALIASES + 1)),
    "reason": lambda s: s.db.retire(s.one, why=long(MAX_REASON_BYTES)),
    "key": lambda s: s.db.create("Thing", "t", key=long(MAX_KEY_BYTES)),
    "edge key": lambda s: s.db.link(s.one, "implies", s.other, key=long(MAX_KEY_BYTES)),
    "idempotency key": lambda s: s.db.create("Thing", "t", idempotency_key=long(MAX_KEY_BYTES)),
    "properties": lambda s: s.db.link(s.one, "implies", s.other, properties={"p": long(MAX_RECORD_BYTES)}),
    "provenance": lambda s: s.db.create("Thing", "t", source={"p": ["x" * 1000] * 300}),
    "edge type": lambda s: s.db.link(s.one, long(MAX_TYPE_BYTES), s.other),
    "edge type to read": lambda s: s.db.view().edges(s.one, type=long(600)),
    "conversation": lambda s: s.db.ingest([{"text": "hello"}], conversation=long(MAX_NAME_BYTES)),
}

RECURSIVE: dict[str, Any] = {}
RECURSIVE["itself"] = RECURSIVE

VALUES: dict[str, Call] = {
    "properties with a number as key": lambda s: s.db.link(s.one, "implies", s.other, properties={1: 2}),
    "properties with an object": lambda s: s.db.link(s.one, "implies", s.other, properties={"a": object()}),
    "properties with bytes": lambda s: s.db.link(s.one, "implies", s.other, properties={"a": b"x"}),
    "properties that are not a number": lambda s: s.db.link(s.one, "implies", s.other, properties={"a": math.nan}),
    "properties without end": lambda s: s.db.link(s.one, "implies", s.other, properties={"a": math.inf}),
    "properties that hold themselves": lambda s: s.db.link(s.one, "implies", s.other, properties=RECURSIVE),
    "a list of properties": lambda s: s.db.link(s.one, "implies", s.other, properties=[]),
    "a text as provenance": lambda s: s.db.create("Thing", "t", source="a file"),
    "provenance with a date": lambda s: s.db.create("Thing", "t", source={"at": NAIVE}),
    "one text as aliases": lambda s: s.db.create("Thing", "t", aliases="Ada"),
    "a number as aliases": lambda s: s.db.create("Thing", "t", aliases=5),
    "a text as a truth": lambda s: s.db.create("Thing", "t", resolve="yes"),
    "no turns": lambda s: s.db.ingest(None),
    "a text as turns": lambda s: s.db.ingest("hello"),
    "a number as turn": lambda s: s.db.ingest([5]),
    "a turn with another field": lambda s: s.db.ingest([{"text": "hello", 5: 6}]),
    "a turn without text": lambda s: s.db.ingest([{"speaker": "Ada"}]),
    "a start before the first": lambda s: s.db.ingest([{"text": "hello"}], start=-1),
    "a text as start": lambda s: s.db.ingest([{"text": "hello"}], start="0"),
    "a number as extractor": lambda s: s.db.ingest([{"text": "hello"}], extractor=5),
    "an extractor that gives nothing": lambda s: s.db.ingest([{"text": "hello"}], extractor=lambda turns: None),
    "an extractor that gives texts": lambda s: s.db.ingest(
        [{"text": "hello"}], extractor=lambda turns: Extraction(nodes=["n"])
    ),
    "an extractor that labels with a list": lambda s: s.db.ingest(
        [{"text": "hello"}], extractor=lambda turns: Extraction(nodes=[Node(label=[], type="Fact", name="n")])
    ),
    "an extractor that labels twice": lambda s: s.db.ingest(
        [{"text": "hello"}], extractor=lambda turns: Extraction(nodes=[Node(label="n", type="Fact", name="n")] * 2)
    ),
    "both axes by two names": lambda s: s.db.view(ingested="2030-01-01", seq=1),
    "a commit that is not there": lambda s: s.db.view(seq=99),
    "a text as commit": lambda s: s.db.view(seq="1"),
    "a fraction as commit": lambda s: s.db.view(seq=1.0),
    "a text as first commit": lambda s: list(s.db.log("1")),
    "a text as last commit": lambda s: list(s.db.log(1, "2")),
    "a direction": lambda s: s.db.view().edges(s.one, direction="sideways"),
    "a list as direction": lambda s: s.db.view().edges(s.one, direction=[]),
    "a status": lambda s: s.db.proposals(status="maybe"),
    "a list as status": lambda s: s.db.proposals(status=[]),
    "a limit below nothing": lambda s: s.db.view().find(limit=-1),
    "a text as limit": lambda s: s.db.view().find(limit="5"),
    "no hits": lambda s: s.db.view().recall("thing", k=0),
    "a text as number of hits": lambda s: s.db.view().recall("thing", k="5"),
    "a number to recall": lambda s: s.db.view().recall(5),
    "a projection": lambda s: s.db.rebuild("everything"),
    "a list as projection": lambda s: s.db.rebuild([]),
    "a number as directory": lambda s: s.db.replay(5),
    "a replay of nothing": lambda s: s.db.replay("nowhere", until="1999-01-01"),
    "an idempotency key inside a batch": lambda s: s.db.batch().create("Thing", "t", idempotency_key="k"),
}


def cases(calls: dict[str, Call]) -> Any:
    return pytest.mark.parametrize("call", list(calls.values()), ids=list(calls))


@cases(TIMES)
def test_a_time_that_would_have_to_be_guessed_is_refused(store: Store, call: Call) -> None:
    with pytest.raises(InvalidTime):
        call(store)


@cases(INTERVALS)
def test_an_interval_that_ends_before_it_begins_is_refused(store: Store, call: Call) -> None:
    with pytest.raises(InvalidInterval):
        call(store)


@cases(REFERENCES)
def test_a_reference_to_nothing_of_the_kind_is_refused(store: Store, call: Call) -> None:
    with pytest.raises(UnknownReference):
        call(store)


@cases(NO_REFERENCES)
def test_what_cannot_be_a_reference_is_refused(store: Store, call: Call) -> None:
    with pytest.raises(InputError) as error:
        call(store)
    assert not isinstance(error.value, UnknownReference)


@cases(TEXTS)
def test_what_is_not_a_text_that_can_be_stored_is_refused(store: Store, call: Call) -> None:
    with pytest.raises(InvalidText) as error:
        call(store)
    assert error.value.remedy


@cases(LIMITS)
def test_what_is_larger_than_the_limit_is_refused(store: Store, call: Call) -> None:
    with pytest.raises(LimitExceeded) as error:
        call(store)
    assert "limit of" in error.value.message


@cases(VALUES)
def test_what_is_of_a_wrong_type_or_outside_its_bounds_is_refused(store: Store, call: Call) -> None:
    with pytest.raises(InputError):
        call(store)


def test_texts_right_at_their_limits_are_stored_and_read_back() -> None:
    with new_store(author="a" * MAX_AUTHOR_BYTES) as db:
        name, kind, key = "n" * MAX_NAME_BYTES, "t" * MAX_TYPE_BYTES, "k" * MAX_KEY_BYTES
        ref = db.create(kind, name, content="c" * MAX_CONTENT_BYTES, key=key, idempotency_key=key, aliases=[name]).ref
        db.retire(ref, why="w" * MAX_REASON_BYTES)
        found = db.view(valid=db.head().ingested_at - 1).find(name=name.upper(), type=kind)
        assert [world.ref for world in found] == [ref]
        assert len(found[0].content) == MAX_CONTENT_BYTES
        with db.batch() as tx:
            for number in range(MAX_ALIASES - 1):
                tx.alias(ref, f"alias {number}")
        assert refusal(db.alias(ref, "one more")) == "too_many_aliases"


def test_an_unknown_edge_type_is_refused_with_those_that_there_are(store: Store) -> None:
    for type_name in ("knows", "", "Implies", " implies"):
        with pytest.raises(UnknownEdgeType) as error:
            store.db.link(store.one, type_name, store.other)
        assert "contradicts" in error.value.remedy


def test_an_ambiguous_prefix_lists_the_worlds_that_it_could_mean() -> None:
    with new_store() as db:
        with db.batch() as tx:
            for number in range(1500):
                tx.create("Thing", f"{number}", resolve=False)
        refs = sorted(tx.receipt.refs)
        pair = next(pair for pair in zip(refs, refs[1:], strict=False) if pair[0][:4] == pair[1][:4])
        head = db.head()
        for call in (db.view().get, db.retire, db.view().history):
            with pytest.raises(AmbiguousReference) as error:
                call(pair[0][:4])
            assert set(pair) <= set(error.value.details["candidates"])
        assert db.head() == head
        db.link(pair[0], "contains", pair[1])
        with pytest.raises(AmbiguousReference, match="2 worlds"):
            db.move(pair[1], refs[-1])


def test_a_refusal_is_a_value_whose_references_cannot_be_used(store: Store) -> None:
    receipt = store.db.link(store.one, "implies", store.one)
    assert not receipt
    assert refusal(receipt) == "self_reference"
    for use in (lambda: receipt.ref, lambda: receipt.refs, lambda: store.db.revise(receipt, content="c")):
        with pytest.raises(RefusedError) as error:
            use()
        assert error.value.details["reason"] == "self_reference"


def test_one_wrong_value_in_a_batch_takes_the_whole_batch_with_it(store: Store) -> None:
    for wrong in (lambda tx: tx.create("Thing", 5), lambda tx: tx.revise("00000bad", content="c")):
        with pytest.raises(InputError) as error, store.db.batch() as tx:
            tx.create("Thing", "first")
            wrong(tx)
        assert error.value.details["command"] == 1
    with pytest.raises(RefusedError) as refused, store.db.batch() as tx:
        made = tx.create("Thing", "first")
        tx.link(made, "contains", made)
    assert refused.value.details == {"reason": "containment_cycle", "command": 1}
    with pytest.raises(ZeroDivisionError), store.db.batch() as tx:
        tx.create("Thing", "first")
        1 / 0


def test_a_batch_takes_nothing_after_its_end_and_no_other_batchs_references(store: Store) -> None:
    with pytest.raises(InputError), store.db.batch() as tx, store.db.batch() as other:
        tx.link(other.create("Thing", "t"), "implies", store.one)
    with store.db.batch() as tx:
        pass
    with pytest.raises(InputError, match="ended"):
        tx.create("Thing", "too late")
    with pytest.raises(InputError, match="ended"), tx:
        pass
    with pytest.raises(RefusedError):
        tx.receipt.ref


def test_a_pending_reference_is_worth_nothing_outside_of_its_batch() -> None:
    with new_store() as db:
        with db.batch() as tx:
            pending = tx.create("Thing", "t")
        head = db.head()
        for use in (lambda: db.retire(pending), lambda: db.view().get(pending)):
            with pytest.raises(InputError):
                use()
        assert db.head() == head
        assert db.view().get(tx.receipt) is not None


def test_an_extraction_that_points_at_nothing_leaves_nothing_behind(store: Store) -> None:
    def extractor(turns: Any) -> Extraction:
        return Extraction(
            nodes=[Node(label="fact", type="Fact", name="f")],
            edges=[Relation(source="fact", type="implies", target="another")],
        )

    with pytest.raises(InputError):
        store.db.ingest([{"text": "hello"}], extractor=extractor)


def test_what_an_extractor_raises_comes_out_as_it_is_and_nothing_is_written(store: Store) -> None:
    def extractor(turns: Any) -> Extraction:
        raise KeyError("the extractor's own")

    with pytest.raises(KeyError, match="own"):
        store.db.ingest([{"text": "hello"}], extractor=extractor)


@pytest.mark.parametrize("years", [80, 5000])
def test_a_clock_set_far_ahead_is_refused_and_poisons_nothing(years: int) -> None:
    clock = ManualClock()
    with new_store(clock=clock, max_clock_jump_days=30) as db:
        (thing,) = worlds(db, 1)
        head = db.head()
        right = clock.value
        clock.value += years * 365 * DAY
        for write in (lambda: db.create("Thing", "t"), lambda: db.retire(thing), lambda: db.ingest([{"text": "t"}])):
            with pytest.raises(ClockJump):
                write()
        assert db.head() == head
        clock.value = right
        assert db.retire(thing).ingest_time == head.ingested_at + 1
        clock.value = right + 29 * DAY
        assert db.create("Thing", "t").ingest_time == clock.value


def test_a_clock_that_goes_back_does_not_take_ingest_time_with_it() -> None:
    clock = ManualClock()
    with new_store(clock=clock) as db:
        before = db.create("Thing", "t").ingest_time
        clock.value -= 1000 * DAY
        assert db.create("Thing", "t").ingest_time == before + 1


def test_every_error_that_a_caller_can_cause_has_a_code_for_scripts() -> None:
    codes = {error.code for error in (InvalidTime, InvalidInterval, InvalidText, LimitExceeded, UnknownReference)}
    assert codes == {"invalid_time", "invalid_interval", "invalid_text", "limit_exceeded", "unknown_reference"}
    assert issubclass(ClockJump, WorldDBError) and ClockJump.exit_code == 5
