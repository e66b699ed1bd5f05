"""Wrong values from callers give typed errors that name them, and write nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.support.model.bad_calls import (
    INTERVALS,
    LIMITS,
    NO_REFERENCES,
    REFERENCES,
    TEXTS,
    TIMES,
    VALUES,
    Call,
    Store,
)
from tests.support.model.stores import DAY, new_store, refusal, worlds
from worlddb import (
    AmbiguousReference,
    ClockJump,
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
    check_proof,
)
from worlddb.log.model.limits import (
    MAX_ALIASES,
    MAX_AUTHOR_BYTES,
    MAX_CONTENT_BYTES,
    MAX_KEY_BYTES,
    MAX_NAME_BYTES,
    MAX_REASON_BYTES,
    MAX_TYPE_BYTES,
)


@pytest.fixture
def store() -> Iterator[Store]:
    with new_store() as db:
        made = Store(db)
        yield made
        assert made.is_untouched()


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
def test_an_impossible_reference_is_refused(store: Store, call: Call) -> None:
    with pytest.raises(InputError) as error:
        call(store)
    assert not isinstance(error.value, UnknownReference)


@cases(TEXTS)
def test_what_is_not_a_text_that_can_be_stored_is_refused(store: Store, call: Call) -> None:
    with pytest.raises(InvalidText) as error:
        call(store)
    assert error.value.remedy


@cases(LIMITS)
def test_oversized_input_is_refused(store: Store, call: Call) -> None:
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
        named = db.create("Entity", "Ada").ref
        with db.batch() as tx:
            for number in range(MAX_ALIASES):
                tx.alias(named, f"alias {number}")
        assert refusal(db.alias(named, "one more")) == "too_many_aliases"


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
        pair = next(pair for pair in pairwise(refs) if pair[0][:4] == pair[1][:4])
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


def test_lists_without_end_are_refused_before_they_are_walked() -> None:
    endless: Any = range(10**18)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    given: Any = deep
    with new_store() as db:
        one = db.create("Note", "one")
        head = str(db.checkpoint())
        calls: list[Callable[[], object]] = [
            lambda: db.create("Note", "a", aliases=endless),
            lambda: db.create("Note", "a", aliases=given),
            lambda: db.create("Note", "a", source={"a": given}),
            lambda: db.link(one, "refers_to", one, properties={"a": given}),
            lambda: db.verify(head=head, keys=endless),
            lambda: db.verify(head=head, keys=given),
            lambda: db.checkpoint(sign_with=endless),
            lambda: db.retire(given),
            lambda: db.erase(given, reason="r"),
            lambda: db.move(given, one),
            lambda: db.alias(one, given),
            lambda: check_proof(b"x", keys=endless),
            lambda: db.erase(endless, reason="r"),
            lambda: db.view().query(vector=endless),
            lambda: db.trust("low", source={"file": given}),
            lambda: db.view().query(vector=itertools.repeat(0.5)),
        ]
        for call in calls:
            with pytest.raises(WorldDBError):
                call()
