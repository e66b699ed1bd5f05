"""Sees identities as one, with the edges and members of all their worlds, at any moment."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model.stores import new_store, worlds
from worlddb import Database, InputError, UnknownReference, View


class Sarah(NamedTuple):
    """Two worlds that are one, and what is around them."""

    room: str
    one: str
    other: str
    same: str
    said: str


def told(db: Database) -> Sarah:
    room = db.create("Topic", "the team", resolve=False).ref
    one = db.create("Entity", "Sarah Chen", content="an engineer of search", world=room, resolve=False).ref
    other = db.create("Entity", "S. Chen", content="search and ranking", resolve=False).ref
    said = db.create("Note", "a letter", content="ranking is hard", world=other, resolve=False).ref
    db.link(said, "refers_to", other)
    same = db.link(other, "same_as", one).ref
    db.accept(same)
    return Sarah(room, one, other, same, said)


def refs(found: Any) -> list[str]:
    return [each.ref for each in found]


def test_each_identity_is_found_once_under_any_of_its_names() -> None:
    with new_store() as db:
        sarah = told(db)
        apart, one = db.view(), db.view(unify=True)
        assert refs(apart.find(type="Entity")) == [sarah.one, sarah.other]
        assert refs(one.find(type="Entity")) == [sarah.one]
        assert refs(one.find(name="S. Chen")) == refs(one.find(name="sarah chen")) == [sarah.one]
        assert refs(one.find(name="S. Chen", type="Note")) == []
        assert refs(one.find(type="Entity", world=sarah.room)) == [sarah.one]
        assert one.unify and not apart.unify and "identities as one" in str(one)


def test_the_edges_and_members_of_one_are_those_of_all_of_them() -> None:
    with new_store() as db:
        sarah = told(db)
        apart, one = db.view(), db.view(unify=True)
        for ref in (sarah.one, sarah.other):
            found = one.edges(ref)
            assert {(edge.type, edge.source, edge.target) for edge in found} == {
                ("contains", sarah.room, sarah.one),
                ("contains", db.view().get("root").ref, sarah.other),  # type: ignore[union-attr]
                ("contains", sarah.other, sarah.said),
                ("refers_to", sarah.said, sarah.other),
            }
            assert refs(one.children(ref)) == [sarah.said]
            assert refs(one.edges(ref, type="refers_to", direction="in")) == refs(
                apart.edges(sarah.other, type="refers_to")
            )
            assert one.edges(ref, type="same_as") == []
        assert refs(apart.children(sarah.one)) == []
        assert refs(one.children()) == [sarah.room, sarah.other]
        assert refs(db.view().edges(sarah.one, type="same_as")) == [sarah.same]


@pytest.mark.parametrize("exact", [False, True])
def test_a_recall_gives_each_identity_once_and_as_many_as_are_asked_for(exact: bool) -> None:
    with new_store(embedder=None) as db:
        sarah = told(db)
        with db.batch() as tx:
            copies = [
                tx.create("Entity", f"Copy {number}", content="ranking ranking", resolve=False) for number in range(12)
            ]
        twelve = [tx.receipt.refs[pending.position] for pending in copies]
        for ref in twelve[1:]:
            db.accept(db.link(ref, "same_as", twelve[0]))
        assert len(set(refs(db.view().recall("ranking", k=3, exact=exact).hits)) & set(twelve)) == 3
        found = refs(db.view(unify=True).recall("ranking", k=3, exact=exact).hits)
        assert len(found) == 3 and set(found[1:]) | set(found[:1]) >= {sarah.other, sarah.said}
        assert len(set(found) & set(twelve)) == 1


def test_what_is_one_is_a_matter_of_the_moment_and_undo_takes_it_apart() -> None:
    with new_store() as db:
        before = db.head().seq
        sarah = told(db)
        accepted = db.head().seq
        db.undo(sarah.same)
        assert refs(db.view(unify=True).find(type="Entity")) == [sarah.one, sarah.other]
        assert refs(db.view(unify=True, seq=accepted).find(type="Entity")) == [sarah.one]
        assert refs(db.view(unify=True, seq=accepted - 1).find(type="Entity")) == [sarah.one, sarah.other]
        assert refs(db.view(unify=True, seq=before).find()) == []


def test_a_confined_view_sees_as_one_what_lies_inside_and_nothing_of_the_rest() -> None:
    with new_store() as db:
        sarah = told(db)
        inside = db.view(unify=True, world=sarah.room)
        assert refs(inside.find()) == [sarah.one]
        assert inside.find(name="S. Chen") == [] and refs(inside.children(sarah.one)) == []
        assert refs(inside.recall("ranking").hits) == []
        with pytest.raises(UnknownReference):
            inside.children(sarah.other).__next__()
        assert db.view(unify=True).confined(sarah.room).unify


def test_one_name_of_one_identity_is_not_ambiguous() -> None:
    with new_store() as db:
        one = db.create("Entity", "Sarah Chen", resolve=False).ref
        other = db.create("Entity", "Sarah Chen").ref
        db.accept(db.proposals()[0])
        world = db.view(unify=True).get("Sarah Chen")
        assert world is not None and world.ref == one != other
        with pytest.raises(InputError):
            db.view().get("Sarah Chen")
        with pytest.raises(InputError, match="unify"):
            db.view(unify=1)  # type: ignore[arg-type]


@examples(6, deadline=None)
@given(joined=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=6))
def test_seen_as_one_the_worlds_are_the_first_of_each_class(joined: list[tuple[int, int]]) -> None:
    with new_store() as db:
        made = worlds(db, 6)
        for one, other in joined:
            if one != other and (staged := db.link(made[one], "same_as", made[other])):
                db.accept(staged)
        view: View = db.view()
        firsts = {min(view.equivalence_class(ref), key=made.index) for ref in made}
        unified = db.view(unify=True)
        assert refs(unified.find(type="Thing")) == sorted(firsts, key=made.index)
        assert set(refs(unified.children())) == firsts
        for ref in made:
            assert unified.edges(ref) == unified.edges(min(view.equivalence_class(ref), key=made.index))
