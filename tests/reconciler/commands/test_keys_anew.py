"""What a key stands for once its world has ended, if another one is to begin under it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.model.stores import day, new_store
from worlddb import InputError, Receipt, Refused


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


def test_an_invalid_flag_is_reported() -> None:
    with new_store() as db, pytest.raises(InputError, match="anew is str, not a boolean"):
        db.create("Entity", "Rex", key="rex", anew="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("resolve", ["exact", "all"])
def test_a_key_that_counts_within_a_world_reaches_nothing_outside_of_it(resolve: str) -> None:
    """Keys are shared by the whole store: a tenant found, revised and was told of another's world under its key."""
    with new_store() as db:
        mine, other = (db.create("Tenant", name).ref for name in ("mine", "other"))
        theirs = db.create("Note", "k", key="k", content="theirs", world=other, valid_from=day(-9)).ref
        assert db.create("Note", "k", key="k", key_within=other, content="theirs", world=other).ref == theirs
        db.retire(theirs, at=day(-1))
        made = db.create("Note", "k", key="k", key_within=mine, content="mine", world=mine, resolve=resolve)
        assert made.ref != theirs and made.notes == () and made.proposals == ()
        again = db.create("Note", "k", key="k", key_within=mine, content="mine!", world=mine, resolve=resolve)
        assert again.ref == made.ref and [world.content for world in db.view(world=mine).children()] == ["mine!"]
        assert [note.code for note in db.create("Note", "k", key="k", world=other).notes] == ["not_revived"]
        db.move(made, other)
        moved = db.create("Note", "k", key="k", key_within=mine, content="new", world=mine, resolve=resolve, anew=True)
        assert moved.ref not in (theirs, made.ref) and moved.notes == ()
        assert [world.content for world in db.view(world=other).find(name="k")] == ["mine!"]
        with db.batch() as tx:
            tenant = tx.create("Tenant", "third")
            tx.create("Note", "k", key="k", key_within=tenant, content="third", world=tenant, resolve=resolve)
        assert tx.receipt.refs[1] not in (theirs, made.ref, moved.ref)
        found = db.redecide()
        assert found.differing == () and found.undecidable == ()
        for wrong in ("ffffffff", 7, ""):
            with pytest.raises(InputError):
                db.create("Note", "n", key="new", key_within=wrong, world=mine)


def test_a_key_that_counts_within_the_root_finds_what_was_made_there() -> None:
    with new_store() as db:
        root, mine = str(next(db.log(1, 1)).data["root"]), db.create("Tenant", "mine").ref
        first = db.create("Note", "k", key="k").ref
        db.move(first, mine)
        db.create("Note", "m", key="m", world=mine)
        assert db.create("Note", "k", key="k", key_within=root).ref == first, "it was only moved"
        other = db.create("Note", "m", key="m", key_within=root).ref
        assert db.view().containers(other) == [root]


@pytest.mark.parametrize("until", [None, day(90)])
def test_a_key_that_counts_within_a_world_leads_to_nothing_that_has_left_it(until: Any) -> None:
    """Nobody who looked inside found what was written under it then."""
    with new_store() as db:
        mine = db.create("Tenant", "mine").ref
        made = [db.create("Note", key, key=key, key_within=mine, content="1", world=mine).ref for key in "abc"]
        coming = db.create("Note", "d", key="d", key_within=mine, world=mine, valid_from=day(9)).ref
        said = db.link(made[0], "refers_to", mine, key="said", key_within=mine).ref
        for ref in (made[0], made[1]):
            (edge,) = [edge for edge in db.view().edges(ref, type="contains") if edge.target == ref]
            db.retire(edge.ref, valid_to=until)
        db.erase(made[1], reason="r")
        again = [db.create("Note", key, key=key, key_within=mine, content="2", world=mine) for key in "abc"]
        assert again[0].ref != made[0] and again[2].ref == made[2]
        assert again[1].ref == made[1] and [note.code for note in again[1].notes] == ["not_restored"]
        assert {world.content for world in db.view(world=mine).find(type="Note")} == {"2"}
        back = db.create("Note", "b", key="b", key_within=mine, content="2", world=mine, revive=True)
        assert back.ref != made[1] and db.view(world=mine).get(back.ref) is not None
        assert db.view(world=mine).keyed("a").ref == again[0].ref  # type: ignore[union-attr]
        assert db.create("Note", "d", key="d", key_within=mine, world=mine, valid_from=day(9)).ref == coming
        assert db.create("Note", "a", key="a", key_within=mine, content="3", world=mine).ref == again[0].ref
        assert db.link(again[0].ref, "refers_to", mine, key="said", key_within=mine).ref != said
        assert db.redecide().differing == ()


def test_an_edge_under_a_key_that_passed_another_one_over_is_decided_again_alike() -> None:
    with new_store() as db:
        mine, other = db.create("Tenant", "mine").ref, db.create("Tenant", "other").ref
        one, two = (db.create("Note", name, world=mine).ref for name in "ab")
        first = db.link(one, "refers_to", mine, key="said", key_within=mine)
        db.unlink(first)
        db.link(one, "refers_to", mine, key="said", key_within=mine)
        db.move(one, other)
        second = db.link(two, "refers_to", mine, key="said", key_within=mine)
        assert db.link(two, "refers_to", mine, key="said", key_within=mine).ref == second.ref
        db.unlink(second)
        assert db.link(two, "refers_to", mine, key="said", key_within=mine).ref != second.ref
        found = db.redecide()
        assert found.differing == () and found.undecidable == ()


def test_what_a_create_under_a_known_key_leaves_out_is_said() -> None:
    """Aliases, sources, ends and containers were dropped before without a word."""
    with new_store() as db:
        box, other = db.create("Box", "one").ref, db.create("Box", "two").ref
        stated: dict[str, Any] = {"key": "rex", "source": {"page": 1}, "aliases": ["Rexi"], "world": box}
        first = db.create("Entity", "Rex", valid_from=day(-9), valid_to=day(90), **stated)
        again = db.create("Entity", "Rex", valid_from=day(-9), valid_to=day(90), **stated)
        assert (again.ref, again.events, again.notes) == (first.ref, 0, ())
        cases: tuple[dict[str, Any], ...] = (
            {"source": {"page": 2}},
            {"aliases": ["Rexi", "Max"]},
            {"valid_to": day(91)},
            {"world": other},
        )
        for given in cases:
            (note,) = db.create("Entity", "Rex", key="rex", **given).notes
            assert (note.code, note.refs) == ("not_changed", (first.ref, *given))
            assert next(iter(given)) in str(note)
        revised = db.create("Entity", "Rex the second", key="rex", source={"page": 2}, aliases=["Max"])
        assert [note.refs for note in revised.notes] == [(first.ref, "aliases")]
        assert db.redecide().differing == ()


def test_a_text_that_is_said_again_where_nothing_holds_is_not_passed_over_in_silence() -> None:
    """It was taken for written: the text is there, but at the time that was asked for nothing holds."""
    with new_store() as db:
        cases: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
            ("a stated end", {"valid_from": day(-9), "valid_to": day(-5)}, ("not_changed", "valid_from")),
            ("still to come", {"valid_from": day(90)}, ("not_changed", "valid_from")),
            ("retired", {"valid_from": day(-9)}, ("not_revived",)),
            ("in a hole", {"valid_from": day(-9)}, ("not_revived",)),
            ("superseded", {"valid_from": day(-9)}, ("not_revived",)),
        ]
        for what, window, expected in cases:
            made = db.create("Entity", what, key=what, **window).ref
            if what == "retired":
                db.retire(made, valid_from=day(-1))
            elif what == "in a hole":
                db.retire(made, valid_from=day(-1), valid_to=day(90))
            elif what == "superseded":
                db.link(db.create("Entity", "other", valid_from=day(-1), resolve=False), "supersedes", made)
            assert db.view().get(made) is None
            receipt = db.create("Entity", what, key=what)
            (note,) = receipt.notes
            told = (note.code, *note.refs[1:])
            assert (receipt.events, note.refs[0], told) == (0, made, expected), what
            assert db.create("Entity", what, key=what, valid_from=day(-7)).notes == ()
        assert db.redecide().differing == ()


def test_an_empty_validity_is_reported_or_refused() -> None:
    with new_store() as db:
        one, other = (db.create("Entity", name, valid_from=day(-9)).ref for name in ("one", "other"))
        with db.batch() as batch:
            batch.create("Entity", "never", valid_from=day(1), valid_to=day(1), resolve=False)
            batch.link(one, "refers_to", other, valid_from=day(1), valid_to=day(1))
        assert [(note.code, note.refs) for note in batch.receipt.notes] == [
            ("never_valid", (ref,)) for ref in batch.receipt.refs
        ]
        moved = db.move(one, other, valid_from=day(1), valid_to=day(1))
        assert isinstance(moved.outcome, Refused) and moved.outcome.code == "empty_window"
        with pytest.raises(InputError, match="Both valid_to and replace_later"):
            db.revise(one, content="twice", valid_from=day(1), valid_to=day(2), replace_later=True)
        assert db.redecide().differing == ()
