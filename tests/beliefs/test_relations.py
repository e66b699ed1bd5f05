"""Relations that are declared by name: their laws are in the log, and every process keeps them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import worlddb
from tests.support.examples import examples
from tests.support.model.ontology import Tagged
from tests.support.model.stores import day, new_store, refusal, worlds
from worlddb import FOREVER, Database, View
from worlddb.log.model import events

LONG = "is the employer of " * 3
"""An inverse that goes beyond the 32 bytes of a digest."""


def targets(view: View, ref: str, relation: str, **how: Any) -> list[str]:
    """The far ends of a world's edges of a relation, in log order."""
    return [edge.source if edge.target == ref else edge.target for edge in view.edges(ref, type=relation, **how)]


def timeline(db: Database, ref: str, relation: str, days: range) -> list[str]:
    """Whom a relation leads to on each day."""
    return [",".join(targets(db.view(valid=day(number)), ref, relation)) for number in days]


def test_a_declared_relation_is_linked_by_name_in_any_process_and_in_a_batch(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        ann, acme, bolt = worlds(db, 3)
        with pytest.raises(worlddb.UnknownEdgeType):
            db.link(ann, "works_at", acme)
        receipt = db.define_relation("works_at", functional=True, inverse=LONG, why="staff list")
        assert receipt.events == 1 and db.define_relation("works_at", functional=True, inverse=LONG).events == 0
        with db.batch() as tx:
            tx.define_relation("knows", symmetric=True)
            tx.link(ann, "knows", tx.create("Person", "Bob"))
    with worlddb.open(tmp_path / "store") as db:
        view = db.view()
        assert view.missing_edge_types == ()
        known = {one.name: one for one in view.edge_types() if one.seq}
        told = known["works_at"]
        assert (told.functional, told.laws, told.inverse, told.digest_of) == (True, (), LONG, "laws")
        assert (told.available, told.digest, told.why) == (True, "", "staff list")
        assert known["knows"].laws == ("symmetric",)
        assert db.link(ann, "works_at", acme) and db.link(ann, "works_at", bolt)
        assert db.view().get(acme).conflicts == (bolt,)  # type: ignore[union-attr]
        assert db.rebuild().root == db.head().root and db.verify(deep=True).ok
        assert db.view().edge_types() == db.view().edge_types()
        assert db.replay(tmp_path / "again").matches_recorded


@pytest.mark.parametrize(
    "laws",
    [
        {"symmetric": True, "acyclic": True},
        {"symmetric": True, "succession": True},
        {"symmetric": True, "inverse": "other"},
        {"inverse": "related"},
        {"inverse": ""},
        {"inverse": 7},
        {"acyclic": "yes"},
    ],
)
def test_laws_that_do_not_go_together_are_told_before_anything_is_written(laws: dict[str, Any]) -> None:
    with new_store() as db:
        before = db.head()
        with pytest.raises(worlddb.InputError):
            db.define_relation("related", **laws)
        assert db.head() == before


def test_other_laws_are_refused_until_the_relation_was_taken_back() -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        db.define_relation("part_of", acyclic=True)
        edge = db.link(one, "part_of", other).ref
        refused = db.define_relation("part_of", functional=True)
        assert refusal(refused) == "other_laws"
        assert isinstance(refused.outcome, worlddb.Refused)
        assert "acyclic" in refused.outcome.reason and "functional" in refused.outcome.reason
        assert refusal(db.define_relation("causes")) == "built_in_type"
        assert refusal(db.define_relation("holds", inverse="causes")) == "inverse_taken"
        assert refusal(db.define_relation("holds", inverse="part_of")) == "inverse_taken"
        assert db.unregister("part_of") and db.define_relation("part_of", functional=True)
        assert [each.ref for each in db.view().edges(one, type="part_of")] == [edge]
        db.define_relation("has", inverse="held_by")
        assert refusal(db.define_relation("held_by")) == "inverse_taken"
        assert refusal(db.define_relation("owns", inverse="held_by")) == "inverse_taken"
        with pytest.raises(worlddb.UnknownEdgeType, match="is the inverse of 'has'"):
            db.link(one, "held_by", other)


def test_an_acyclic_relation_names_the_way_back_that_it_refuses() -> None:
    with new_store() as db:
        chain = worlds(db, 4)
        db.define_relation("part_of", acyclic=True)
        for one, other in pairwise(chain):
            db.link(one, "part_of", other)
        refused = db.link(chain[3], "part_of", chain[0])
        assert refusal(refused) == "part_of_cycle"
        assert isinstance(refused.outcome, worlddb.Refused)
        assert " -> ".join(ref[:12] for ref in chain) in refused.outcome.reason
        assert refusal(db.link(chain[0], "part_of", chain[0])) == "self_reference"


def test_the_way_back_names_nothing_outside_of_the_home_of_the_edge() -> None:
    with new_store() as db:
        db.define_relation("part_of", acyclic=True)
        room, hidden = worlds(db, 2)
        one, other = worlds(db, 2, world=room)
        secret = db.create("Thing", "secret", world=hidden).ref
        db.link(one, "part_of", secret)
        db.link(secret, "part_of", other)
        refused = db.link(other, "part_of", one)
        assert isinstance(refused.outcome, worlddb.Refused)
        assert f"{one[:12]} -> ... -> {other[:12]}" in refused.outcome.reason
        assert secret[:12] not in refused.outcome.reason


def test_reads_follow_an_inverse_backwards_and_a_symmetric_relation_both_ways() -> None:
    with new_store() as db:
        ann, bob, acme = worlds(db, 3)
        before = db.view()
        db.define_relation("works_at", inverse="employs")
        db.define_relation("knows", symmetric=True)
        for who in (ann, bob):
            db.link(who, "works_at", acme)
        db.link(ann, "knows", bob)
        view = db.view()
        assert targets(view, acme, "employs", direction="out") == [ann, bob]
        assert targets(view, acme, "employs", direction="in") == []
        assert (
            targets(view, ann, "employs", direction="in") == [acme] == targets(view, ann, "works_at", direction="out")
        )
        for one, other in ((ann, bob), (bob, ann)):
            for direction in ("out", "in", "both"):
                assert targets(view, one, "knows", direction=direction) == [other]
        everything = {edge.type for edge in view.edges(bob, direction="out")}
        assert everything == {"works_at", "knows"}
        assert [each.ref for each in view.traverse(acme, types=["employs"])] == [ann, bob]
        assert [each.ref for each in view.traverse(bob, types=["knows"])] == [ann]
        way = view.shortest_path(acme, bob, types=["employs"], direction="out")
        assert way is not None and way.path == (bob,)
        found = view.query(seeds=acme).traverse("employs", direction="out").run()
        assert {node.ref for node in found.nodes} == {ann, bob}
        assert before.edges(acme, type="employs") == [] == db.view(seq=before.seq).edges(ann, type="knows")


def test_the_targets_of_a_succession_follow_one_another_and_the_receipt_says_which_did() -> None:
    with new_store() as db:
        ann, york, london = worlds(db, 3)
        db.define_relation("lives_in", succession=True)
        first = db.link(ann, "lives_in", york, valid_from=day(1)).ref
        receipt = db.link(ann, "lives_in", london, valid_from=day(5))
        assert [(note.code, note.refs) for note in receipt.notes] == [("took_turns", (first, receipt.ref))]
        assert timeline(db, ann, "lives_in", range(7)) == ["", york, york, york, york, london, london]
        assert targets(db.view(seq=receipt.seq - 1, valid=day(6)), ann, "lives_in") == [york]
        db.link(ann, "lives_in", york, valid_from=day(2), valid_to=day(3))
        assert db.view().get(york).conflicts == ()  # type: ignore[union-attr]


spans = st.lists(st.tuples(st.integers(0, 7), st.none() | st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=5)


@examples(5)
@given(said=spans)
def test_of_a_succession_the_edge_that_begins_last_holds_whatever_the_order_of_arrival(
    said: list[tuple[int, int | None, int]],
) -> None:
    with new_store() as db:
        ann, *cities = worlds(db, 4)
        db.define_relation("lives_in", succession=True)
        held: list[tuple[int, int, int, str]] = []
        for place, (begins, lasts, city) in enumerate(said):
            ends = FOREVER if lasts is None else day(begins + lasts)
            db.link(ann, "lives_in", cities[city], valid_from=day(begins), valid_to=None if lasts is None else ends)
            held.append((day(begins), place, ends, cities[city]))
        for number in range(12):
            inside = [each for each in sorted(held) if each[0] <= day(number) < each[2]]
            found = targets(db.view(valid=day(number)), ann, "lives_in")
            # Who lost a time to another that ended by now has it again only if nobody else took it meanwhile.
            assert found == ([inside[-1][3]] if inside else [])


said_or_not = st.lists(
    st.tuples(st.integers(0, 7), st.none() | st.integers(1, 4), st.integers(0, 1), st.integers(0, 2))
    | st.integers(0, 5),
    min_size=2,
    max_size=7,
)


@examples(6)
@given(steps=said_or_not)
@example(steps=[(1, 2, 0, 0), (1, None, 0, 1), (2, None, 0, 0)])
@example(steps=[(1, 6, 0, 0), (2, 5, 0, 1), (5, None, 0, 0), 0])
def test_conflicts_of_a_functional_relation_are_told_for_all_of_the_time_of_the_edges_that_compete(
    steps: list[tuple[int, int | None, int, int] | int],
) -> None:
    with new_store() as db:
        ann, bob, *cities = worlds(db, 5)
        db.define_relation("lives_in", functional=True)
        held: dict[str, tuple[range, int, str]] = {}
        for step in steps:
            if not isinstance(step, int):
                begins, lasts, who, city = step
                ends = None if lasts is None else day(begins + lasts)
                made = db.link((ann, bob)[who], "lives_in", cities[city], valid_from=day(begins), valid_to=ends)
                held[made.ref] = (range(begins, 20 if lasts is None else begins + lasts), who, cities[city])
            elif step < len(held):
                gone = list(held)[step]
                del held[gone]
                assert db.unlink(gone)
        for number in range(12):
            now = [(who, city) for span, who, city in held.values() if number in span]
            competing = {frozenset((one[1], two[1])) for one in now for two in now if one[0] == two[0]}
            told = {frozenset((one.ref, two.ref)) for one, two in db.view(valid=day(number)).contradictions()}
            assert told == {pair for pair in competing if len(pair) == 2}


@examples(6)
@given(steps=said_or_not)
@example(steps=[(1, None, 0, 0), (2, None, 1, 0)])
@example(steps=[(1, 6, 0, 0), (2, 5, 0, 1), (5, None, 1, 0), 0])
def test_a_functional_symmetric_relation_joins_each_world_to_one_other_at_a_time(
    steps: list[tuple[int, int | None, int, int] | int],
) -> None:
    with new_store() as db:
        people = worlds(db, 5)
        db.define_relation("married_to", functional=True, symmetric=True)
        held: dict[str, tuple[range, frozenset[str]]] = {}
        for step in steps:
            if not isinstance(step, int):
                begins, lasts, who, other = step
                ends = None if lasts is None else day(begins + lasts)
                pair = [people[who], people[other + 2]][:: 1 if (begins + who) % 2 else -1]
                made = db.link(pair[0], "married_to", pair[1], valid_from=day(begins), valid_to=ends)
                held[made.ref] = range(begins, 20 if lasts is None else begins + lasts), frozenset(pair)
            elif step < len(held):
                gone = list(held)[step]
                del held[gone]
                assert db.unlink(gone)
        for number in range(12):
            now = [pair for span, pair in held.values() if number in span]
            rivals = {one ^ other for one in now for other in now if len(one & other) == 1}
            told = {frozenset((one.ref, two.ref)) for one, two in db.view(valid=day(number)).contradictions()}
            assert told == rivals
        assert refusal(db.link(people[0], "married_to", people[0])) == "self_reference"


def test_what_a_symmetric_relation_came_to_before_it_was_functional_is_judged_once() -> None:
    with new_store() as db:
        ann, bob, cay, dan = worlds(db, 4)
        db.define_relation("beside", symmetric=True)
        with db.batch() as tx:
            for one, other in ((ann, bob), (cay, ann), (dan, cay)):
                tx.link(one, "beside", other)
        db.unregister("beside")
        db.define_relation("beside", symmetric=True, functional=True)
        assert db.consolidate(min_age=0).conflicts == 2 and db.consolidate(min_age=0).events == 0
        told = {frozenset((one.ref, two.ref)) for one, two in db.view().contradictions()}
        assert told == {frozenset((bob, cay)), frozenset((ann, dan))}


def test_a_bundle_brings_a_second_partner_and_the_conflict_is_recorded(tmp_path: Path) -> None:
    bundle, later = tmp_path / "room.wdb", tmp_path / "later.wdb"
    with worlddb.open(tmp_path / "one", embedder=None) as db:
        db.define_relation("beside", symmetric=True, functional=True)
        room = db.create("Topic", "room").ref
        ann, bob, cay = worlds(db, 3, world=room)
        db.link(ann, "beside", bob)
        db.export(room, bundle)
        with worlddb.open(tmp_path / "two", embedder=None) as here:
            here.import_bundle(bundle)
            assert [(each.laws, each.functional) for each in here.view().edge_types() if each.name == "beside"] == [
                (("symmetric",), True)
            ]
            here.link(cay, "beside", ann)
            db.revise(bob, content="meanwhile")
            db.export(room, later)
            assert here.import_bundle(later)
            assert [{one.ref, two.ref} for one, two in here.view().contradictions()] == [{bob, cay}]
            assert here.verify(deep=True).ok and here.rebuild().root == here.head().root


def test_a_relation_that_is_declared_for_a_world_holds_inside_it_alone() -> None:
    with new_store() as db:
        room, hall = worlds(db, 2)
        one, other = worlds(db, 2, world=room)
        far, near = worlds(db, 2, world=hall)
        db.define_relation("beside", symmetric=True, world=room)
        assert db.link(one, "beside", other)
        with pytest.raises(worlddb.UnknownEdgeType, match="is registered for"):
            db.link(far, "beside", near)
        inside = db.view().confined(room)
        assert [known.name for known in inside.edge_types() if known.seq] == ["beside"]
        assert targets(inside, other, "beside", direction="out") == [one]
        assert [known.name for known in db.view().confined(hall).edge_types() if known.seq] == []


def test_a_bundle_carries_a_relation_with_its_laws(tmp_path: Path) -> None:
    bundle = tmp_path / "room.wdb"
    with worlddb.open(tmp_path / "from") as db:
        db.define_relation("lives_in", succession=True, inverse=LONG)
        db.define_relation("part_of", acyclic=True)
        room = db.create("Topic", "room").ref
        ann, york, london = worlds(db, 3, world=room)
        db.link(ann, "lives_in", york, valid_from=day(1))
        db.link(ann, "part_of", york)
        db.export(room, bundle)
    with worlddb.open(tmp_path / "into") as db:
        receipt = db.import_bundle(bundle)
        assert "types_registered" in [note.code for note in receipt.notes]
        [known] = [one for one in db.view().edge_types() if one.name == "lives_in"]
        assert (known.laws, known.inverse) == (("succession",), LONG)
        assert db.import_bundle(bundle).events == 0
        db.link(ann, "lives_in", london, valid_from=day(3))
        assert timeline(db, ann, "lives_in", range(5)) == ["", york, york, london, london]
        assert targets(db.view(valid=day(2)), york, LONG, direction="out") == [ann]
        assert refusal(db.link(york, "part_of", ann)) == "part_of_cycle"
        assert db.verify(deep=True).ok


def test_an_import_lets_edges_of_two_stores_take_turns_and_refuses_a_circle_of_both(tmp_path: Path) -> None:
    bundle, later = tmp_path / "room.wdb", tmp_path / "later.wdb"
    with worlddb.open(tmp_path / "one") as db:
        db.define_relation("lives_in", succession=True)
        db.define_relation("part_of", acyclic=True)
        room = db.create("Topic", "room").ref
        ann, york, london = worlds(db, 3, world=room)
        db.export(room, bundle)
        with worlddb.open(tmp_path / "two") as here:
            here.import_bundle(bundle)
            here.define_relation("lives_in", succession=True)
            here.define_relation("part_of", acyclic=True)
            here.link(ann, "lives_in", london, valid_from=day(4))
            here.link(york, "part_of", london)
            db.link(ann, "lives_in", york, valid_from=day(2))
            db.export(room, later)
            here.import_bundle(later)
            assert timeline(here, ann, "lives_in", range(6)) == ["", "", york, york, london, london]
            db.link(london, "part_of", york)
            db.export(room, later, overwrite=True)
            assert refusal(here.import_bundle(later)) == "part_of_cycle"


def test_what_if_decides_by_the_relations_of_the_log(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        ann, york, london = worlds(db, 3)
        db.define_relation("lives_in", succession=True)
        db.link(ann, "lives_in", york, valid_from=day(1))
        wrong = db.link(ann, "lives_in", london, valid_from=day(3))
        assert db.replay(tmp_path / "else", without=[wrong.seq])
        with worlddb.open(tmp_path / "else") as other:
            assert targets(other.view(valid=day(5)), ann, "lives_in") == [york]
        assert targets(db.view(valid=day(5)), ann, "lives_in") == [london]


# -- the built-in types that came later


def test_a_store_that_had_its_own_type_by_a_later_name_keeps_it(tmp_path: Path) -> None:
    own = Tagged("depends_on", 3)
    with worlddb.open(tmp_path / "store", edge_types=[own]) as db:
        one, other = worlds(db, 2)
        db.register(own)
        assert db.link(one, "depends_on", other) and db.link(other, "depends_on", one), "its own has no law"
        listed = [known for known in db.view().edge_types() if known.name == "depends_on"]
        assert [(known.version, known.digest_of) for known in listed] == [(3, "source")]
    with worlddb.open(tmp_path / "store") as db:
        assert refusal(db.link(one, "depends_on", one)) == "missing_handler"
        db.unregister("depends_on")
        assert refusal(db.link(one, "depends_on", one)) == "self_reference"
        assert db.rebuild().root == db.head().root and db.verify(deep=True).ok


def test_a_later_type_has_a_code_only_where_it_is_used() -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        assert db.link(one, "supports", other) and db.link(one, "depends_on", other)
        assert [each.ref for each in db.view().impact(other)] == [one]
        assert db.register("supports", functional=True)
        third = worlds(db, 1)[0]
        assert db.link(one, "supports", third).notes[0].code == "functional_conflict"


# -- edges between versions of one world


@pytest.mark.parametrize("relation", ["derived_from", "created_from", "refines", "supports", "replaces", "follows"])
def test_a_later_version_may_lead_to_an_earlier_one_of_the_same_world(relation: str, tmp_path: Path) -> None:
    bundle = tmp_path / "page.wdb"
    with worlddb.open(tmp_path / "store") as db:
        page = db.create("Page", "api-design", content="REST").ref
        for text in ("gRPC", "GraphQL"):
            db.revise(page, content=text)
        db.define_relation("replaces")
        db.define_relation("follows", acyclic=True, inverse="followed_by")
        db.define_relation("functional", functional=True)
        db.define_relation("succession", succession=True)
        db.define_relation("symmetric", symmetric=True)
        for laws in ("functional", "succession", "symmetric"):
            assert refusal(db.link(page, laws, page, versions=(2, 1))) == "self_reference"
        assert refusal(db.link(page, relation, page)) == "self_reference"
        assert refusal(db.link(page, relation, page, versions=(1, 2))) == "self_reference"
        assert refusal(db.link(page, relation, page, versions=(2, 2))) == "self_reference"
        with pytest.raises(worlddb.UnknownReference, match="no version 4"):
            db.link(page, relation, page, versions=(4, 1))
        for later in (2, 3):
            assert db.link(page, relation, page, versions=(later, later - 1), why="next")
        with db.batch() as tx:
            tx.link(page, relation, page, versions=(3, 1))
        view = db.view()
        edges = view.edges(page, type=relation)
        assert [(edge.source_version, edge.target_version) for edge in edges] == [(2, 1), (3, 2), (3, 1)]
        world = view.get(page)
        assert world is not None and world.stale == () and view.stale() == []
        walked = view.query(seeds=page).traverse(relation, direction="out").run()
        assert [edge.ref for edge in walked.edges] == [edge.ref for edge in edges]
        based = [(each.ref, each.steps) for each in view.provenance(page)]
        assert based == ([(page, 1), (page, 1)] if relation == "derived_from" else [])
        assert db.verify(deep=True).ok and db.rebuild().root == db.head().root
        assert db.replay(tmp_path / "again").matches_recorded
        db.export(page, bundle)
        root = db.view().hash(page)
        db.erase(page, reason="asked", members=False)
    with worlddb.open(tmp_path / "into") as db:
        assert db.import_bundle(bundle) and db.view().hash(page) == root


def test_an_edge_may_name_the_versions_of_two_worlds_too() -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        db.revise(one, content="later")
        edge = db.link(one, "refers_to", other, versions=(1, 1), key="k")
        assert db.link(one, "refers_to", other, versions=(1, 1), key="k").events == 0
        [seen] = db.view().edges(one, type="refers_to")
        assert (seen.ref, seen.source_version, seen.target_version) == (edge.ref, 1, 1)
        for wrong in ((1,), (-1, 1), ("a", 1), 3):
            with pytest.raises(worlddb.WorldDBError):
                db.link(one, "refers_to", other, versions=wrong)  # type: ignore[arg-type]


def test_a_kref_of_a_version_names_it_at_its_end_and_the_other_end_is_the_newest() -> None:
    page, base = "kref://p/s/page.decision", "kref://p/s/base.fact"
    with new_store() as db:
        for text in ("first", "second"):
            db.create_at(page, content=text)
            db.create_at(base, content=text)
        for ends, named in (
            ((page, f"{base}?r=1"), (2, 1)),
            ((f"{page}?r=1", base), (1, 2)),
            ((f"{page}?r=2", f"{page}?r=1"), (2, 1)),
        ):
            ref = db.link(ends[0], "derived_from", ends[1]).ref
            edge = db.view().edge(ref)
            assert (edge.source_version, edge.target_version) == named
        with db.batch() as tx:
            tx.link(worlddb.parse_kref(f"{page}?r=1"), "supports", base)
        assert db.view().edge(tx.receipt.refs[0]).source_version == 1
        with pytest.raises(worlddb.UnknownReference, match="no version 7"):
            db.link(page, "supports", f"{base}?r=7")
        with pytest.raises(worlddb.InputError, match="versions was given"):
            db.link(f"{page}?r=1", "supports", base, versions=(1, 1))
        with pytest.raises(worlddb.InvalidKref, match="a version or an artifact"):
            db.link(page, "supports", f"{base}?a=x")


def test_what_an_earlier_version_is_trusted_counts_for_the_later_one_that_was_made_of_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="stranger") as db:
        page = db.create("Page", "plan", content="first").ref
    with worlddb.open(tmp_path / "store", author="ann") as db:
        db.revise(page, content="second")
        db.trust("low", author="stranger")
        assert db.view().get(page).trust is None  # type: ignore[union-attr]
        db.link(page, "derived_from", page, versions=(2, 1))
        assert db.view().get(page).trust == "low"  # type: ignore[union-attr]


# -- how laws are packed


@given(laws=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.text(max_size=80)), beyond=st.binary(max_size=4))
def test_laws_come_back_from_their_bytes_whatever_follows(laws: tuple[bool, bool, bool, str], beyond: bytes) -> None:
    packed = events.Laws(*laws).packed()
    assert events.Laws.unpacked(packed + beyond) == events.Laws(*laws)
    for wrong in (b"", packed[:2], bytes([8]) + packed[1:]):
        with pytest.raises(ValueError):
            events.Laws.unpacked(wrong)


# -- states


def test_states_are_every_edge_that_was_said_with_what_became_of_it(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store", author="ann") as db:
        who, york, london = worlds(db, 3)
        db.define_relation("lives_in", succession=True, inverse="home_of")
        first = db.link(who, "lives_in", york, valid_from=day(1), why="work", properties={"rent": 9})
        slip = db.link(who, "lives_in", york, valid_from=day(0), valid_to=day(1))
        db.unlink(slip, why="wrong")
        context = {"alternatives": ["Leeds"], "optimises_for": "family", "sentiment": "glad", "evidence": "a talk"}
        second = db.link(who, "lives_in", london, valid_from=day(4), why="family", context=context)
        db.link(who, "supports", london)
        view = db.view(valid=day(5))
        one, mistaken, two = view.states(who, type="lives_in")
        assert [each.ref for each in (one, mistaken, two)] == [first.ref, slip.ref, second.ref]
        assert (one.valid.start, one.valid.end, one.holds, one.next) == (day(1), day(4), False, second.ref)
        assert (one.why, one.context, one.properties, one.author) == ("work", {}, {"rent": 9}, "ann")
        assert (two.holds, two.why, two.context, two.properties) == (True, "family", context, {})
        assert (mistaken.retracted, mistaken.holds) == (slip.seq + 1, False) and mistaken.retracted_at is not None
        assert (one.seq, one.ingested_at) == (first.seq, first.ingest_time) and one.retracted == 0
        assert view.states(who, london) == (two, view.states(who, london)[1])
        assert [each.type for each in view.states(who, london)] == ["lives_in", "supports"]
        assert view.states(london, type="home_of") == (two,) == view.states(london, who, type="home_of")
        assert view.states(london, who) == () == view.states(who, type="no_such")
        before = db.view(seq=slip.seq, valid=day(5))
        assert [(each.retracted, each.holds) for each in before.states(who)] == [(0, True), (0, False)]
        room, hall = (db.create("Topic", name).ref for name in ("room", "hall"))
        db.move([who, york], room)
        assert [each.target for each in db.view().confined(room).states(who)] == [york]
        db.move([who, york], hall)
        told = [(each.seq, each.retracted, each.why, each.valid, each.author) for each in view.states(who)]
        moved = db.view(valid=day(5)).states(who)
        assert [(each.seq, each.retracted, each.why, each.valid, each.author) for each in moved] == told
        [edge] = db.view(valid=day(2)).edges(who, type="lives_in", direction="out")
        assert moved[0].ref == edge.ref != first.ref
        db.erase(london, reason="asked")
        assert [each.why for each in db.view().states(who, london)] == ["", ""]
        assert db.view().states(who, london)[0].context == {}


@pytest.mark.parametrize("wrong", [{"mood": "glad"}, {"why": "x"}, ["alternatives"], "sentiment"])
def test_a_context_has_only_what_states_shows(wrong: Any) -> None:
    with new_store() as db:
        one, other = worlds(db, 2)
        with pytest.raises(worlddb.InputError, match="context"):
            db.link(one, "supports", other, context=wrong)
        with pytest.raises(worlddb.InputError, match="context"):
            db.link(one, "supports", other, context={"evidence": 1}, properties={"evidence": 2})


@pytest.mark.parametrize("relation", ["created_from", "depends_on", "relates_to", "derived_from"])
def test_a_member_that_a_built_in_relation_leads_to_goes_with_its_world_as_by_earlier_types(relation: str) -> None:
    with new_store() as db:
        room, outside = worlds(db, 2)
        inside = db.create("Thing", "inside", content="said", world=room).ref
        db.link(outside, relation, inside)
        with pytest.raises(worlddb.MembersNotSaid):
            db.erase(room, reason="request 114")
        db.erase(room, reason="request 114", members=True)
        assert db.view().get(inside, include_superseded=True).erased  # type: ignore[union-attr]


def test_a_member_that_a_type_of_the_callers_own_leads_to_stays_whatever_its_name() -> None:
    with new_store(edge_types=[Tagged("supports", 1)]) as db:
        room, outside = worlds(db, 2)
        inside = db.create("Thing", "inside", content="said", world=room).ref
        db.register(Tagged("supports", 1))
        db.link(outside, "supports", inside)
        db.erase(room, reason="request 114", members=True)
        assert not db.view().get(inside).erased  # type: ignore[union-attr]
