"""What registered types ask of queries: each of the five, where the registration holds and nowhere else."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import worlddb
from tests.reconciler.edge_types.test_registration import refusal
from tests.support.model.ontology import Showing, Tagged, Widening
from worlddb import HandledEdge, HandlerContext, Insert

HISTORIES = 12
STEPS = 16


class Piercing(Tagged):
    """A traversal may follow its edges out of a world."""

    def on_query_rewrite(self, query: Any) -> Any:
        return query.cross_worlds(self.name)


class Uniting(Tagged):
    """Its edges make their ends one."""

    def on_query_rewrite(self, query: Any) -> Any:
        return query.hide_closed().unify_identities(self.name)


class Passing(Tagged):
    """Its edges are followed by one of another type between the same ends."""

    def on_insert(self, ctx: HandlerContext, edge: HandledEdge) -> Insert:
        ctx.link(edge.source, "unites", edge.target)
        return Insert.WRITE


def test_all_five_are_registered_and_listed(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        for handler in (Showing("a", 1), Widening("b", 1), Piercing("c", 1), Uniting("d", 1)):
            assert db.register(handler)
        told = {one.name: one.rewrites for one in db.view().edge_types() if one.seq}
    assert told == {
        "a": ("show_conflicts",),
        "b": ("widen_types",),
        "c": ("cross_worlds",),
        "d": ("hide_closed", "unify_identities"),
    }


def test_an_edge_of_a_type_that_crosses_worlds_leads_out_of_a_search_and_never_out_of_a_confined_view(
    tmp_path: Path,
) -> None:
    with worlddb.open(tmp_path / "store") as db:
        mine, theirs = (db.create("Topic", name).ref for name in ("mine", "theirs"))
        note, cited = db.create("Note", "note", world=mine).ref, db.create("Note", "cited", world=theirs).ref
        back = db.create("Note", "back", world=theirs).ref
        db.register(Piercing("cites", 1), world=mine)
        for source, target in ((note, cited), (back, note)):
            db.register(Tagged("cites", 1), world=theirs)
            assert db.link(source, "cites", target)

        def reached(view: worlddb.View, *, inside: str, start: str = note) -> set[str]:
            query = view.query(seeds=[start]).in_world(inside).traverse("cites", direction="both")
            return set(query.run().refs)

        assert reached(db.view(), inside=mine) == {cited}, "in its own direction alone"
        assert reached(db.view(world=mine), inside=mine) == set()
        assert reached(db.view(), inside=theirs, start=back) == set(), "there another registration holds"
        db.unregister("cites", world=mine)
        assert reached(db.view(), inside=mine) == set()
        assert reached(db.view(seq=db.head().seq - 1), inside=mine) == {cited}


def test_an_edge_of_a_type_that_unifies_makes_its_ends_one_until_it_is_unlinked(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register(Uniting("unites", 1))
        ann, anna, cat = (db.create("Person", name).ref for name in ("Ann", "Anna", "Cat"))
        note = db.create("Note", "about Anna").ref
        db.link(note, "refers_to", anna)
        edge = db.link(ann, "unites", anna)
        linked = db.view(unify=True)
        assert db.view().equivalence_class(anna) == [ann, anna]
        assert [each.ref for each in linked.find(type="Person")] == [ann, cat]
        assert {each.type for each in linked.edges(ann)} == {"contains", "refers_to"}
        assert [each.ref for each in db.view().export_identity(ann).links] == [edge.ref]
        assert not db.create("Person", "Ann").raise_if_refused()
        db.unlink(edge)
        assert db.view().equivalence_class(anna) == [anna]
        assert linked.equivalence_class(anna) == [ann, anna], "an earlier view goes on seeing it"


def test_nothing_that_was_rejected_becomes_one_by_an_edge_a_handler_or_a_registration(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        db.register(Uniting("unites", 1))
        db.register(Passing("passes", 1))
        one, two, three = (db.create("Person", name).ref for name in ("One", "Two", "Three"))
        rejected = db.link(one, "same_as", three)
        db.reject(rejected.ref)
        first = db.link(one, "unites", two)
        before = db.head()
        assert refusal(db.link(two, "unites", three)) == "joins_rejected_pair"
        assert refusal(db.link(one, "unites", three)) == "joins_rejected_pair"
        assert refusal(db.link(two, "passes", three)) == "joins_rejected_pair"
        assert db.head() == before
        staged = db.link(two, "same_as", three)
        assert refusal(db.accept(staged.ref)) == "joins_rejected_pair"
        db.unlink(first)
        db.accept(staged.ref)
        db.unregister("unites")
        db.register(Tagged("unites", 2))
        assert db.link(one, "unites", two)
        assert refusal(db.register(Uniting("unites", 3))) == "joins_rejected_pair"
        pending = db.link(db.create("Person", "Four").ref, "same_as", one)
        db.register(Uniting("also", 1))
        db.link(pending.ref and db.view().find(name="Four")[0].ref, "also", one)
        assert refusal(db.reject(pending.ref)) == "joined_by_others"
        assert db.verify(deep=True).ok


def classes(worlds: list[str], edges: list[tuple[str, str]], start: str) -> list[str]:
    """The class of a world, relaxed to a fixed point."""
    found = {start}
    while more := {b for a, b in [*edges, *((b, a) for a, b in edges)] if a in found} - found:
        found |= more
    return [world for world in worlds if world in found]


def test_classes_are_those_of_a_plain_model_at_every_moment_and_from_inside(tmp_path: Path, seed: int) -> None:
    joined = 0
    for number in range(HISTORIES):
        rng = random.Random(f"{seed} {number}")
        with worlddb.open(tmp_path / f"store-{number}") as db:
            scopes = [db.create("Topic", name).ref for name in "ST"]
            db.register(Uniting("unites", 1), world=scopes[0])
            db.register(Tagged("unites", 2), world=scopes[1])
            at = {db.create("Person", str(each), resolve=False, world=rng.choice(scopes)).ref: 0 for each in range(6)}
            people = list(at)
            home = {each: db.view().containers(each)[0] for each in people}
            live: dict[str, tuple[str, str]] = {}
            moments: list[tuple[int, list[tuple[str, str]]]] = []
            on = True
            for _ in range(STEPS):
                act = rng.randrange(6)
                if act <= 3:
                    one, other = rng.sample(people, 2)
                    if on or home[one] == scopes[1]:
                        live[db.link(one, "unites", other).ref] = (one, other)
                elif act == 4 and live:
                    edge = rng.choice(sorted(live))
                    if on or home[live[edge][0]] == scopes[1]:
                        db.unlink(edge)
                        del live[edge]
                elif on:
                    db.unregister("unites", world=scopes[0])
                    on = False
                else:
                    db.register(Uniting("unites", 1), world=scopes[0])
                    on = True
                counted = [ends for ends in live.values() if on and home[ends[0]] == scopes[0]]
                moments.append((db.head().seq, counted))
            for seq, counted in moments:
                for person in people:
                    expected = classes(people, counted, person)
                    joined += len(expected) > 1
                    assert db.view(seq=seq).equivalence_class(person) == expected, (seed, number, seq)
                    inside = {each for each in people if home[each] == home[person]}
                    within = [ends for ends in counted if inside.issuperset(ends)]
                    seen = db.view(seq=seq, world=home[person]).equivalence_class(person)
                    assert seen == classes(people, within, person), (seed, number, seq)
            assert not db.redecide().differing and db.verify(deep=True).ok
    assert joined > 10 * HISTORIES, "the run was not trivial"
