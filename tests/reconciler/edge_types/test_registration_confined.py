"""A confined view tells which edge types hold there, and not where they come from."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given

import worlddb
from tests.reconciler.edge_types.test_registration_scopes import WORLDS, Life, Structure, structures
from tests.support.model.ontology import Showing, Tagged, Widening, nearest


def registered_types(view: worlddb.View, world: Any = None) -> list[tuple[str, int, str, str]]:
    return [(one.name, one.version, one.world, one.why) for one in view.edge_types(world) if one.digest]


def test_what_holds_from_outside_is_told_without_the_place_and_the_reason(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        mine, other = (db.create("Topic", name).ref for name in ("mine", "other"))
        inner = db.create("Topic", "inner", world=mine).ref
        db.register(Tagged("shared", 1), why="for all tenants")
        db.register(Tagged("own", 1), world=inner, why="our own")
        db.register(Tagged("theirs", 1), world=other, why="a secret")
        view = db.view(world=mine)
        assert registered_types(view) == [("shared", 1, mine, ""), ("own", 1, inner, "our own")]
        assert registered_types(view, mine) == [("shared", 1, mine, "")]
        assert registered_types(view, inner) == [("shared", 1, mine, ""), ("own", 1, inner, "our own")]
        assert len(view.edge_types(include_ended=True)) == len(view.edge_types())
        assert {entry.event for entry in view.log(ref=inner)} >= {"registered"}
        assert not any(entry.data.get("type") == "theirs" for entry in view.log())
    with worlddb.open(tmp_path / "store") as db:
        assert db.view(world=mine).missing_edge_types == ("own", "shared")
        assert db.view(world=other).missing_edge_types == ("shared", "theirs")
        assert db.view().missing_edge_types == ("own", "shared", "theirs")
        assert db.view(world=mine).recall("inner").note == ""


def test_what_a_type_asks_of_queries_is_followed_in_a_confined_view_as_it_is_outside(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        mine, other = (db.create("Topic", name).ref for name in ("mine", "other"))
        one, two = (db.create("Note", name, world=mine).ref for name in ("one", "two"))
        kind = db.create("Type", "Kind", world=mine).ref
        db.register(Showing("disputes", 1))
        db.register(Tagged("disputes", 2), world=other)
        db.register(Widening("is_a", 1), world=mine)
        db.link(one, "disputes", two)
        db.link(one, "is_a", kind)
        for view in (db.view(), db.view(world=mine)):
            seen = view.get(one)
            assert seen is not None and seen.conflicts == (two,)
            assert [edge.type for edge in view.conflicts(one)] == ["disputes"]
            assert [found.ref for found in view.find(type="Kind", world=mine)] == [one]


def test_a_confined_view_has_types_of_what_is_inside_and_none_of_the_worlds_around(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        mine = db.create("Topic", "mine").ref
        animal, dog = db.create("Type", "Animal"), db.create("Type", "Dog")
        db.link(dog, "subtype_of", animal)
        rex = db.create("Dog", "Rex", world=mine)
        assert [found.ref for found in db.view().find(type="Animal", world=mine)] == [rex.ref]
        assert db.view(world=mine).find(type="Animal") == []


@given(structures())
def test_what_holds_in_a_confined_view_is_what_is_registered_inside_or_holds_for_its_world(
    structure: Structure,
) -> None:
    """Of a world that is also elsewhere, the elsewhere does not count."""
    with TemporaryDirectory() as folder:
        life = Life(Path(folder) / "store", structure)
        with life.db as db:
            for step in structure.steps:
                life.step(*step)
            for top in range(1, WORLDS + 1):
                view = db.view(world=life.refs[top])
                inside = {top, *(life.refs.index(found.ref) for found in view.find())}
                containers = {
                    world: above & inside if world in inside - {top} else above
                    for world, above in life.containers.items()
                }
                for home in inside:
                    expected = nearest(containers, life.known, home)
                    told = [one for one in view.edge_types(life.refs[home]) if one.name == "t"]
                    assert [(one.version, one.functional) for one in told] == (
                        [] if expected is None else [(expected.version, expected.functional)]
                    )
                    assert all(life.refs.index(one.world) in inside for one in told)
