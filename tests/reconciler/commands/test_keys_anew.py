"""What a key stands for once its world has ended, if another one is to begin under it."""

from __future__ import annotations

import pytest

from tests.support.model.stores import day, new_store
from worlddb import InputError, Receipt


def test_a_key_whose_world_has_ended_is_handed_on_if_the_caller_says_so() -> None:
    with new_store() as db:
        first = db.create("Entity", "Rex", key="rex", valid_from=day(-9)).ref
        assert db.create("Entity", "Rex", key="rex", anew=True).ref == first, "it has not ended"
        db.retire(first, at=day(-1))
        left = db.create("Entity", "Rex the second", key="rex")
        assert left.ref == first and [note.code for note in left.notes] == ["not_revived"]
        begun = db.create("Entity", "Rex", key="rex", anew=True)
        assert begun.ref != first
        assert [(note.code, note.refs) for note in begun.notes] == [("begun_anew", (begun.ref, first))]
        assert db.create("Entity", "Rex", key="rex").ref == begun.ref, "the key stands for it from now on"
        assert db.create("Entity", "Rex", key="rex", anew=True).ref == begun.ref
        db.retire(begun, at=day(-1))
        third = db.create("Entity", "Rex", key="rex", anew=True).ref
        assert third not in (first, begun.ref)
        assert [world.ref for world in db.view().find(name="Rex")] == [third]
        assert db.redecide().differing == ()


def test_one_that_is_to_end_later_still_has_its_key() -> None:
    with new_store() as db:
        first = db.create("Entity", "Rex", key="rex").ref
        db.retire(first, at=day(9))
        assert db.create("Entity", "Rex", key="rex", anew=True).ref == first


def test_what_was_erased_does_not_come_back_by_beginning_anew() -> None:
    with new_store() as db:
        first = db.create("Entity", "Rex", key="rex", valid_from=day(-9)).ref
        db.retire(first, at=day(-1))
        db.erase(first, reason="request 1")
        again = db.create("Entity", "Rex", key="rex", anew=True)
        assert again.ref == first and [note.code for note in again.notes] == ["not_revived"]
        revived = db.create("Entity", "Rex", key="rex", anew=True, revive=True)
        assert revived.ref != first and db.view().get(revived).name == "Rex"  # type: ignore[union-attr]


def test_one_that_begins_anew_is_looked_for_among_those_of_its_name() -> None:
    with new_store() as db:
        first = db.create("Entity", "Rex", key="rex", valid_from=day(-9)).ref
        db.retire(first, at=day(-1))
        other = db.create("Entity", "Rex").ref
        begun = db.create("Entity", "Rex", key="rex", anew=True)
        (proposal,) = db.proposals()
        assert {proposal.source, proposal.target} == {begun.ref, other} and begun.proposals == (proposal.ref,)


def test_one_call_with_its_key_is_one_whatever_ended_since() -> None:
    with new_store() as db:

        def create() -> Receipt:
            made = db.create("Entity", "Rex", key="rex", valid_from=day(-9), anew=True, idempotency_key="call 1")
            assert isinstance(made, Receipt)
            return made

        first = create()
        db.retire(first, at=day(-1))
        assert create() == first


def test_what_is_no_flag_is_told() -> None:
    with new_store() as db, pytest.raises(InputError, match="anew is str, not a boolean"):
        db.create("Entity", "Rex", key="rex", anew="yes")  # type: ignore[arg-type]
