"""Tries to break each law of the built-in edge types, as their handlers state them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.made_up.workload import SHARES
from tests.support.examples import examples
from tests.support.model.rules.edge_rules import ORDERS, PLAIN, TYPES
from tests.support.model.stores import day, new_store, refusal, state_of, worlds
from worlddb import FOREVER, Database, Valid, View
from worlddb.projections.tables.storage.schema import CONTAINS, EDGE_TYPE_CODES, LATER_BUILT_IN
from worlddb.reconciler.edge_types.builtin_types import DEFAULT_ONTOLOGY
from worlddb.tools.cli.read.show_commands import EDGE_TYPES

SIZE = 5
ends = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
graphs = st.lists(ends, max_size=14)
few = examples(6)
INERT = sorted({*PLAIN, *ORDERS, "contradicts"} - {"supersedes"})
"""Edge types that change neither of their ends."""


def test_every_handler_states_its_laws_and_the_ontology_is_the_papers() -> None:
    assert {handler.name for handler in DEFAULT_ONTOLOGY} == set(TYPES)
    assert len(DEFAULT_ONTOLOGY) == 16
    for handler in DEFAULT_ONTOLOGY:
        assert "Laws:" in (type(handler).__doc__ or ""), handler.name


def test_every_list_of_the_built_in_types_names_the_same_types() -> None:
    """The format's codes, the order of ``worlddb show`` and the mix that benchmarks load.

    Later types have no codes of their own, and no share in a mix that is compared with that of earlier releases.
    """
    names = {handler.name for handler in DEFAULT_ONTOLOGY}
    assert set(EDGE_TYPE_CODES) | LATER_BUILT_IN == names and not LATER_BUILT_IN & set(EDGE_TYPE_CODES)
    assert set(EDGE_TYPES) | {CONTAINS} == names
    assert set(SHARES) == set(EDGE_TYPE_CODES) and sum(SHARES.values()) == 100


# -- what several have in common


@few
@given(type_name=st.sampled_from(INERT), edges=graphs, start=st.none() | st.integers(-3, 3))
def test_an_edge_that_only_says_something_changes_neither_end(
    type_name: str, edges: list[tuple[int, int]], start: int | None
) -> None:
    with new_store() as db:
        things = worlds(db, SIZE)
        before = [history for _, history in state_of(db, *things)]
        for one, other in edges:
            db.link(things[one], type_name, things[other], valid_from=None if start is None else day(start))
        assert [history for _, history in state_of(db, *things)] == before
        assert all(not found.ended and not found.closed for found, _ in state_of(db, *things))


@pytest.mark.parametrize("type_name", sorted({*INERT, "supersedes", "same_as"}))
def test_nothing_has_an_edge_of_this_type_to_itself(type_name: str) -> None:
    with new_store() as db:
        (thing,) = worlds(db, 1)
        assert refusal(db.link(thing, type_name, thing)) == "self_reference"
        assert db.view().edges(thing, type=type_name) == []


@few
@given(type_name=st.sampled_from(ORDERS), edges=graphs)
def test_an_order_never_leads_back_at_any_remove(type_name: str, edges: list[tuple[int, int]]) -> None:
    with new_store() as db:
        things = worlds(db, SIZE)
        after: dict[int, set[int]] = {number: {number} for number in range(SIZE)}
        for one, other in edges:
            receipt = db.link(things[one], type_name, things[other])
            if one == other:
                assert refusal(receipt) == "self_reference"
            elif one in after[other]:
                assert refusal(receipt) == f"{type_name}_cycle"
            else:
                assert receipt
                for reached in after.values():
                    if one in reached:
                        reached |= after[other]


@pytest.mark.parametrize("type_name", ORDERS)
def test_an_order_may_be_turned_round_once_the_edge_was_unlinked(type_name: str) -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        edge = db.link(one, type_name, other)
        assert refusal(db.link(other, type_name, one)) == f"{type_name}_cycle"
        assert db.unlink(edge)
        assert db.link(other, type_name, one)


@few
@given(length=st.integers(1, 150), type_name=st.sampled_from(ORDERS))
def test_a_long_chain_costs_no_stack(length: int, type_name: str) -> None:
    with new_store() as db:
        with db.batch() as tx:
            chain = [tx.create("Thing", f"{number}", resolve=False) for number in range(length + 1)]
            for one, other in pairwise(chain):
                tx.link(one, type_name, other)
        refs = tx.receipt.refs
        assert refusal(db.link(refs[length], type_name, refs[0])) == f"{type_name}_cycle"


@few
@given(type_name=st.sampled_from([*PLAIN, "causes"]), begins=st.integers(-5, 5), told=st.none() | st.integers(-5, 5))
def test_an_edge_is_valid_from_when_its_source_is_unless_told_otherwise(
    type_name: str, begins: int, told: int | None
) -> None:
    with new_store() as db:
        source = db.create("Thing", "source", valid_from=day(begins)).ref
        target = db.create("Thing", "target", valid_from=day(-9)).ref
        edge = db.link(source, type_name, target, valid_from=None if told is None else day(told))
        assert db.view().edge(edge).valid == Valid(day(begins if told is None else told), FOREVER)


# -- contains


@few
@given(edges=graphs)
def test_containment_has_no_cycles_and_membership_is_single(edges: list[tuple[int, int]]) -> None:
    with new_store() as db:
        things = worlds(db, SIZE)
        inside: dict[int, set[int]] = {number: set() for number in range(SIZE)}

        def holds(world: int, other: int) -> bool:
            return world == other or any(holds(member, other) for member in inside[world])

        for one, other in edges:
            receipt = db.link(things[one], "contains", things[other])
            if holds(other, one):
                assert refusal(receipt) == "containment_cycle"
            elif other in inside[one]:
                assert refusal(receipt) == "already_member"
            else:
                assert receipt
                inside[one].add(other)
        view = db.view()
        for number, members in inside.items():
            assert {member.ref for member in view.children(things[number])} == {things[member] for member in members}


def test_nothing_contains_the_root_world() -> None:
    with new_store() as db:
        (thing,) = worlds(db, 1)
        root = db.view().containers(thing)[0]
        assert refusal(db.link(thing, "contains", root)) == "containment_cycle"
        assert refusal(db.link(root, "contains", root)) == "containment_cycle"
        assert refusal(db.move(root, thing)) == "root_is_permanent"


def test_a_world_may_be_a_member_of_several_and_of_each_once() -> None:
    with new_store() as db:
        one, other, member = worlds(db, 3)
        root = db.view().containers(member)[0]
        assert db.link(one, "contains", member) and db.link(other, "contains", member)
        assert refusal(db.link(one, "contains", member)) == "already_member"
        assert db.view().containers(member) == [root, one, other]


@few
@given(order=st.permutations(range(3)))
def test_a_world_that_loses_its_last_container_is_adopted_by_the_root(order: list[int]) -> None:
    with new_store() as db:
        homes = worlds(db, 3)
        member = db.create("Thing", "member", world=homes[0], valid_from=day(2)).ref
        memberships = [db.view().edges(member, type="contains", direction="in", include_superseded=True)[0].ref]
        memberships += [db.link(home, "contains", member).ref for home in homes[1:]]
        root = db.view().containers(homes[0])[0]
        db._writer.clock.value = day(3)  # type: ignore[attr-defined]
        for left, number in enumerate(order, 1):
            receipt = db.unlink(memberships[number])
            adopted = [note.refs for note in receipt.notes if note.code == "adopted_by_root"]
            assert adopted == ([(member,)] if left == 3 else [])
        (last,) = db.view().edges(member, type="contains", direction="in")
        assert (last.source, last.valid.start) == (root, day(2))
        assert refusal(db.unlink(last)) == "last_container"


@few
@given(begins=st.integers(-5, 5), told=st.none() | st.integers(-5, 5))
def test_membership_is_valid_from_when_the_member_is_unless_told_otherwise(begins: int, told: int | None) -> None:
    with new_store() as db:
        home, _ = worlds(db, 2)
        member = db.create("Thing", "member", valid_from=day(begins)).ref
        edge = db.link(home, "contains", member, valid_from=None if told is None else day(told))
        starts = begins if told is None else told
        assert db.view().edge(edge).valid == Valid(day(starts), FOREVER)
        assert list(db.view(valid=day(starts) - 1).children(home)) == []


# -- supersedes


@few
@given(
    closed=st.none() | st.integers(-4, 8),
    begins=st.integers(-4, 4),
    source_begins=st.integers(-4, 8),
    told=st.none() | st.integers(-6, 10),
)
def test_superseding_only_tightens_and_never_before_the_targets_own_beginning(
    closed: int | None, begins: int, source_begins: int, told: int | None
) -> None:
    end = FOREVER if closed is None else day(max(closed, begins))
    with new_store() as db:
        source = db.create("Thing", "new", valid_from=day(source_begins)).ref
        target = db.create("Thing", "old", valid_from=day(begins), valid_to=None if closed is None else end).ref
        edge = db.link(source, "supersedes", target, valid_from=None if told is None else day(told))
        at = day(source_begins if told is None else told)
        (version,) = db.view().history(target)
        assert version.valid == Valid(day(begins), max(day(begins), min(end, at)))
        assert db.view().edge(edge).valid.start == at
        assert db.view().history(source)[0].valid == Valid(day(source_begins), FOREVER)
        before = db.view(seq=db.head().seq - 1)
        assert before.history(target)[0].valid == Valid(day(begins), end)


def test_a_target_that_was_closed_earlier_stays_as_it_is_and_the_edge_is_recorded() -> None:
    with new_store() as db:
        new, old = worlds(db, 2)
        assert db.retire(old, at=day(1))
        receipt = db.link(new, "supersedes", old, valid_from=day(5))
        assert [note.code for note in receipt.notes] == ["already_closed"]
        assert db.view().history(old)[0].valid == Valid(day(0), day(1))
        assert [edge.ref for edge in db.view(valid=day(6)).edges(old, type="supersedes")] == [receipt.ref]


@pytest.mark.parametrize("how", ["supersedes", "retire"])
def test_what_has_ended_is_revised_before_its_end_only_and_is_resumed_by_reasserting_it(how: str) -> None:
    with new_store() as db:
        new, old = worlds(db, 2)
        assert db.link(new, "supersedes", old, valid_from=day(2)) if how == "supersedes" else db.retire(old, at=day(2))
        assert refusal(db.revise(old, content="again", valid_from=day(2))) == "ended"
        assert db.revise(old, content="corrected", valid_from=day(1))
        view = db.view(valid=day(4))
        ended = view.get(old, include_superseded=True)
        assert ended is not None and ended.ended and view.get(old) is None
        assert db.reassert(old, content="again", valid_from=day(3)).ref == old
        shown = {number: db.view(valid=day(number)).get(old) for number in (1, 2, 4)}
        assert [world and (world.content, world.ended) for world in shown.values()] == [
            ("corrected", False),
            None,
            ("again", False),
        ]
        assert view.get(old) is None, "a view of the moment before goes on saying that it had ended"
        assert refusal(db.reassert(old, at=day(5))) == refusal(db.reassert(new)) == "not_ended"
        if how == "supersedes":
            assert db.view().history(new)[0].valid == Valid(day(0), day(3)), "what had replaced it holds no more"


def test_unlinking_a_supersedes_reopens_nothing_and_says_so() -> None:
    with new_store() as db:
        new, old = worlds(db, 2)
        edge = db.link(new, "supersedes", old, valid_from=day(2))
        closed = state_of(db, old)
        receipt = db.unlink(edge)
        assert [(note.code, note.refs) for note in receipt.notes] == [("nothing_reopened", (old,))]
        assert "reassert" in str(receipt.notes[0])
        assert state_of(db, old) == closed
        assert refusal(db.revise(old, content="again", valid_from=day(2))) == "ended"


def test_the_root_world_is_not_superseded_revised_or_retired() -> None:
    with new_store() as db:
        (thing,) = worlds(db, 1)
        root = db.view().containers(thing)[0]
        assert refusal(db.link(thing, "supersedes", root)) == "root_is_permanent"
        assert refusal(db.revise(root, name="another")) == "root_is_permanent"
        assert refusal(db.retire(root)) == "root_is_permanent"


# -- contradicts


def test_a_contradiction_keeps_both_sides_is_recorded_once_and_shown_by_every_read() -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        edge = db.link(one, "contradicts", other, why="two witnesses")
        assert refusal(db.link(one, "contradicts", other)) == refusal(db.link(other, "contradicts", one))
        assert refusal(db.link(other, "contradicts", one)) == "already_in_conflict"
        view = db.view()
        for side, against in ((one, other), (other, one)):
            shown = [view.get(side), *view.find(type="Thing"), *view.children(), *view.recall("thing").hits]
            mine = [record for record in shown if record is not None and record.ref == side]
            assert len(mine) == 4
            assert all(record.conflicts == (against,) for record in mine)
            assert [found.ref for found in view.conflicts(side)] == [edge.ref]
        assert db.unlink(edge)
        assert db.view().get(one).conflicts == ()  # type: ignore[union-attr]
        assert view.get(one).conflicts == (other,)  # type: ignore[union-attr]
        assert db.link(other, "contradicts", one)


@pytest.mark.parametrize("how", ["retire", "supersede"])
def test_a_conflict_is_shown_while_both_sides_are_valid_and_views_of_earlier_moments_go_on_showing_it(how: str) -> None:
    with new_store() as db:
        one, other, newer = worlds(db, 3)
        edge = db.link(one, "contradicts", other).ref
        before = db.view()
        assert (
            db.retire(other, at=day(2)) if how == "retire" else db.link(newer, "supersedes", other, valid_from=day(2))
        )

        def shown(view: View) -> list[object]:
            hits = [hit for hit in view.recall("thing") if hit.ref == one]
            found = [view.get(one), view.get(other, include_superseded=True), *hits]
            return [len(view.conflicts(one)), len(view.conflicts(other)), *(bool(each.conflicts) for each in found)]

        assert shown(db.view(valid=day(3))) == [0, 0, False, False, False]
        assert shown(db.view(valid=day(1))) == shown(before) == [1, 1, True, True, True]
        late = db.view(valid=day(3))
        assert [found.ref for found in late.edges(one, type="contradicts")] == [edge], "the edge itself is not closed"
        spans = {(1, 2): (1, 1), (1, 3): (0, 1), (2, 3): (0, 0)}
        for (start, end), expected in spans.items():
            span = (day(start), day(end))
            assert (len(late.conflicts(one, during=span)), len(late.conflicts(one, overlaps=span))) == expected
            assert len(late.get(one, overlaps=span).conflicts) == expected[1]  # type: ignore[union-attr]


def test_a_revision_of_one_side_in_the_midst_of_a_span_does_not_interrupt_a_conflict() -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        edge = db.link(one, "contradicts", other).ref
        assert db.revise(other, content="again", valid_from=day(2))
        assert [found.ref for found in db.view().conflicts(one, during=(day(1), day(3)))] == [edge]


# -- implies, derived_from, refers_to


def test_two_statements_may_imply_each_other() -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        assert db.link(one, "implies", other) and db.link(other, "implies", one)


def test_something_may_be_derived_from_what_has_ended() -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        assert db.retire(other, at=day(1))
        before = state_of(db, one, other)
        assert db.link(one, "derived_from", other)
        (found, _), _ = after = state_of(db, one, other)
        assert [basis.ref for basis in found.rests_on] == [other]
        assert [(msgspec.structs.replace(world, rests_on=()), *rest) for world, *rest in after] == [
            (world, *rest) for world, *rest in before
        ]


def test_a_reference_may_cross_from_one_world_into_another_and_is_the_only_one_that_a_query_may_follow_out() -> None:
    with new_store() as db:
        here, there = worlds(db, 2)
        one = db.create("Thing", "one", world=here).ref
        other = db.create("Thing", "other", world=there).ref
        assert db.link(one, "refers_to", other)
        assert db.view().spec.crossing_types == {"refers_to"}
        assert [found.ref for found in db.view().find(world=here)] == [one]


# -- instance_of, subtype_of


def create_lattice(db: Database) -> dict[str, str]:
    """A little lattice: a dog is an animal, and Rex stands for nothing but himself."""
    refs = {name: db.create("Type", name, valid_from=day(0)).ref for name in ("Animal", "Dog", "Robot")}
    refs["Rex"] = db.create("Thing", "Rex", valid_from=day(0)).ref
    refs["Fido"] = db.create("Dog", "Fido", valid_from=day(0)).ref
    return refs


def names_of(found: Any) -> set[str]:
    return {world.name for world in found}


def test_a_filter_by_type_sees_subtypes_and_the_instances_of_all_of_them() -> None:
    with new_store() as db:
        refs = create_lattice(db)
        assert names_of(db.view().find(type="Animal")) == set()
        sub = db.link(refs["Dog"], "subtype_of", refs["Animal"], valid_from=day(1))
        db.link(refs["Rex"], "instance_of", refs["Dog"], valid_from=day(2))
        assert names_of(db.view(valid=day(1)).find(type="Animal")) == {"Fido"}
        assert names_of(db.view(valid=day(2)).find(type="Animal")) == {"Fido", "Rex"}
        assert names_of(db.view(valid=day(2)).find(type="Dog")) == {"Fido", "Rex"}
        assert names_of(db.view(valid=day(2)).find(type="Robot")) == set()
        then = db.view(valid=day(2))
        db.unlink(sub)
        assert names_of(db.view(valid=day(2)).find(type="Animal")) == set()
        assert names_of(then.find(type="Animal")) == {"Fido", "Rex"}


def test_a_type_that_is_an_instance_and_a_subtype_of_another_is_seen_as_both() -> None:
    """The answer once depended on which of the two edges was met first, and so on the process's string hashes."""
    with new_store() as db:
        refs = create_lattice(db)
        db.link(refs["Dog"], "instance_of", refs["Animal"])
        db.link(refs["Dog"], "subtype_of", refs["Animal"])
        assert names_of(db.view().find(type="Animal")) == {"Dog", "Fido"}
