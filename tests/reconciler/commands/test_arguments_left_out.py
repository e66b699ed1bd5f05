"""No argument is dropped without a word: what a command cannot keep is refused, or named in a note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import worlddb
from tests.support.model.stores import day, new_store, worlds
from worlddb import HandledEdge, HandlerContext, Insert, PlainHandler


@pytest.fixture
def db() -> Iterator[worlddb.Database]:
    with new_store(edge_types=[Staging()]) as store:
        yield store


class Staging(PlainHandler):
    """Two that look alike are proposed as one."""

    name = "looks_like"

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        return Insert.STAGE


def refused(receipt: worlddb.Receipt) -> str:
    assert isinstance(receipt.outcome, worlddb.Refused), receipt
    return receipt.outcome.code


def test_a_proposal_takes_neither_a_key_nor_an_end(db: worlddb.Database) -> None:
    one, other = worlds(db, 2)
    db.register(Staging())
    head = db.head()
    ends: tuple[dict[str, Any], ...] = ({"key": "k"}, {"valid_to": day(9)})
    for given in ends:
        with pytest.raises(worlddb.InputError, match=f"{next(iter(given))} was given with same_as"):
            db.link(one, "same_as", other, **given)
        assert refused(db.link(one, "looks_like", other, **given)) == "not_staged"
    assert db.head() == head
    assert db.link(one, "looks_like", other, valid_from=day(-9), properties={"by": 1}, why="y").proposals


def test_the_home_of_a_containment_is_the_container(db: worlddb.Database) -> None:
    one, other, third = worlds(db, 3)
    assert refused(db.link(one, "contains", other, home=third)) == "container_is_home"
    with db.batch() as tx:
        made = tx.create("Thing", "made")
        tx.link(one, "contains", made, home=one)
    (edge,) = [edge for edge in db.view().edges(tx.receipt.refs[0], type="contains") if edge.source == one]
    assert edge.home == one


def test_options_that_need_a_key_require_one(db: worlddb.Database) -> None:
    (one,) = worlds(db, 1)
    given: tuple[dict[str, Any], ...] = ({"key_within": one}, {"revive": True}, {"anew": True})
    for each in given:
        with pytest.raises(worlddb.InputError, match=f"{next(iter(each))} was given without a key"):
            db.create("Note", "n", **each)
    with pytest.raises(worlddb.InputError, match="key_within was given without a key"):
        db.link(one, "refers_to", one, key_within=one)


def test_a_retry_is_of_the_same_key_in_the_same_world(db: worlddb.Database) -> None:
    """The world in which a key counts was not compared: a create in one tenant got the receipt of another's."""
    one, other = worlds(db, 2)
    calls: tuple[dict[str, Any], ...] = ({}, {"key_within": one}, {"key_within": other})
    for number, call in enumerate(calls):
        made = db.create("Note", "n", key="k", idempotency_key=f"i{number}", **call)
        assert db.create("Note", "n", key="k", idempotency_key=f"i{number}", **call).ref == made.ref
        for another in calls:
            if another != call:
                with pytest.raises(worlddb.IdempotencyConflict):
                    db.create("Note", "n", key="k", idempotency_key=f"i{number}", **another)
    found = db.redecide()
    assert found.differing == () and found.undecidable == ()


def test_an_alias_that_a_world_has_is_not_given_again(db: worlddb.Database) -> None:
    one = db.create("Person", "A", aliases=["Ada", "Ada"]).ref
    db.alias(one, "Countess", "Ada", "Countess")
    head = db.head()
    assert db.alias(one, "Ada").events == 0 and db.head() == head
    assert db.alias(one, "Ada", "Byron", why="her name before").events == 1
    assert db.view().get(one).aliases == ("Ada", "Countess", "Byron")  # type: ignore[union-attr]
    db.unalias(one, "Ada")
    db.alias(one, "Ada")
    assert db.view().get(one).aliases == ("Countess", "Byron", "Ada")  # type: ignore[union-attr]


def test_an_edge_that_loses_nothing_is_said_to(db: worlddb.Database) -> None:
    one, other = worlds(db, 2)
    edge = db.link(one, "refers_to", other, valid_from=day(0), valid_to=day(5))
    before = db.retire(edge.ref, valid_from=day(-5), valid_to=day(-1))
    assert [note.code for note in before.notes] == ["already_closed"] and before.events == 0
    assert [note.code for note in db.retire(edge.ref, valid_from=day(6)).notes] == ["already_closed"]
    assert db.retire(edge.ref, valid_from=day(3)).notes == ()
    assert refused(db.retire(edge.ref, valid_from=day(1), valid_to=day(1))) == "empty_window"
