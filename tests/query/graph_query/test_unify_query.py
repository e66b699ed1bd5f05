"""Queries of a unified view equal its other reads and the operator ``unify``."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.model.stores import new_store
from worlddb import Database, View

TYPES = ("Person", "Entity", "Place")
NUMBER = 6
numbers = st.integers(0, NUMBER - 1)
PAIRS = st.lists(st.tuples(numbers, numbers), max_size=6)


def refs(found: Any) -> list[str]:
    return [each.ref for each in found]


def made(db: Database, kinds: list[int], inside: list[tuple[int, int]], causes: list[tuple[int, int]]) -> list[str]:
    """Worlds of some types, some of them inside others, with edges between them."""
    found: list[str] = []
    for number, kind in enumerate(kinds):
        found.append(db.create(TYPES[kind], f"world {number}", resolve=False).ref)
    for one, other in inside:
        db.link(found[one], "contains", found[other])
    for one, other in causes:
        if one != other:
            db.link(found[one], "causes", found[other])
    return found


def agree(view: View, apart: View, worlds: list[str]) -> None:
    """The reads of a unified view, and queries of it and of the same view apart."""
    assert refs(view.query().run().nodes) == refs(view.find()) == refs(apart.query().unify().run().nodes)
    for kind in TYPES:
        found = set(refs(view.find(type=kind)))
        assert set(view.query().filter_type(kind).run().refs) == found
        assert set(apart.query().filter_type(kind).unify().run().refs) == found
        assert set(apart.query().unify().filter_type(kind).run().refs) == found
    for ref in worlds:
        if apart.get(ref) is None:
            continue
        (only,) = view.query(seeds=ref).run().refs
        assert only == ref
        members = view.query(seeds=ref).traverse("contains").run().refs
        assert set(members) == set(refs(view.children(ref)))
        assert members == apart.query(seeds=ref).unify().traverse("contains").run().refs
        for direction in ("out", "in"):
            walked = view.query(seeds=ref).traverse(direction=direction).run()
            edges = [edge for edge in view.edges(ref, direction=direction) if edge.type != "contains"]
            assert set(refs(walked.edges)) == set(refs(edges))
        connected = view.query(seeds=ref).where_connected("causes").run().refs
        assert bool(connected) == bool(view.edges(ref, type="causes", direction="out"))


@examples(10, deadline=None)
@given(
    kinds=st.lists(st.integers(0, len(TYPES) - 1), min_size=NUMBER, max_size=NUMBER),
    inside=PAIRS,
    causes=PAIRS,
    joined=PAIRS,
    undone=st.integers(0, 3),
)
def test_queries_of_a_unified_view_are_its_other_reads(
    kinds: list[int],
    inside: list[tuple[int, int]],
    causes: list[tuple[int, int]],
    joined: list[tuple[int, int]],
    undone: int,
) -> None:
    with new_store(embedder=None) as db:
        worlds = made(db, kinds, inside, causes)
        accepted = []
        for one, other in joined:
            if one == other:
                continue
            staged = db.link(worlds[one], "same_as", worlds[other])
            if staged and db.accept(staged):
                accepted.append(staged.ref)
        before = db.head().seq
        for proposal in accepted[:undone]:
            db.undo(proposal)
        for seq in (db.head().seq, before):
            agree(db.view(seq=seq, unify=True), db.view(seq=seq), worlds)
            inner = db.view(seq=seq, unify=True, world=worlds[0])
            agree(inner, db.view(seq=seq, world=worlds[0]), refs(inner.find(include_superseded=True)))


def test_a_query_of_a_unified_view_is_unified_at_an_earlier_moment_and_takes_a_shared_name() -> None:
    with new_store(embedder=None) as db:
        one = db.create("Person", "Sarah Chen", resolve=False).ref
        other = db.create("Person", "Sarah Chen", resolve=False).ref
        note = db.create("Note", "a letter").ref
        db.link(note, "refers_to", other)
        db.accept(db.link(other, "same_as", one))
        accepted = db.head().seq
        db.create("Person", "Bob")
        view = db.view(unify=True)
        assert view.query(seeds="Sarah Chen").traverse("refers_to", direction="in").run().refs == (note,)
        assert view.query(seeds=note).where_connected("refers_to", to="Sarah Chen").run().refs == (note,)
        assert view.query().as_of(seq=accepted).filter_type("Person").run().refs == (one,)
        assert view.query().filter_type("Person").run().identities == {one: (other,)}
        assert len(db.view().query().filter_type("Person").run().refs) == 3
