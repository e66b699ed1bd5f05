"""Filters by type see the types inside a place, then those of the worlds around it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import event, given
from hypothesis import strategies as st

import worlddb


def names_of_type(db: worlddb.Database, type_name: str, world: str | None = None) -> list[str]:
    return [one.name for one in db.view().find(type=type_name, world=world)]


def test_a_world_has_types_of_its_own_that_the_store_does_not_share(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        clinic, garage = (db.create("Topic", name).ref for name in ("clinic", "garage"))
        for world, narrow in ((clinic, "Nurse"), (garage, "Mechanic")):
            staff, subtype = (db.create("Type", name, world=world, resolve=False) for name in ("Staff", narrow))
            db.link(subtype, "subtype_of", staff)
            db.create("Nurse", f"a nurse in {narrow}'s place", world=world)
            db.create("Mechanic", f"a mechanic in {narrow}'s place", world=world)
        assert names_of_type(db, "Staff", clinic) == ["a nurse in Nurse's place"]
        assert names_of_type(db, "Staff", garage) == ["a mechanic in Mechanic's place"]
        assert len(names_of_type(db, "Staff")) == 4, "asked of the store, both are seen"


def test_the_types_of_the_worlds_around_are_seen_from_inside_and_nearer_ones_hide_them(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        outer = db.create("Topic", "outer").ref
        inner = db.create("Topic", "inner", world=outer).ref
        animal, dog = db.create("Type", "Animal"), db.create("Type", "Dog")
        db.link(dog, "subtype_of", animal)
        rex, tom = db.create("Dog", "Rex", world=inner), db.create("Cat", "Tom", world=inner)
        assert names_of_type(db, "Animal", inner) == names_of_type(db, "Animal", outer) == ["Rex"]

        nearer = db.create("Type", "Animal", world=outer, resolve=False)
        db.link(tom, "instance_of", nearer)
        assert names_of_type(db, "Animal", inner) == ["Tom"] and names_of_type(db, "Animal") == ["Rex", "Tom"]

        nearest = db.create("Type", "Animal", world=inner, resolve=False)
        assert names_of_type(db, "Animal", inner) == [] and names_of_type(db, "Animal", outer) == ["Tom"], (
            "inside, both stand for it"
        )
        db.link(rex, "instance_of", nearest)
        assert names_of_type(db, "Animal", inner) == ["Rex"]


def test_types_that_lie_in_a_neighbouring_world_are_not_seen(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        mine, other = (db.create("Topic", name).ref for name in ("mine", "other"))
        person = db.create("Type", "Person")
        spy = db.create("Type", "Spy", world=other)
        db.link(spy, "subtype_of", person)
        db.create("Spy", "a spy", world=mine)
        hidden = db.create("Type", "Secret", world=other)
        clerk = db.create("Clerk", "a clerk", world=mine)
        db.link(clerk, "instance_of", hidden)
        assert names_of_type(db, "Person", mine) == names_of_type(db, "Secret", mine) == []
        assert names_of_type(db, "Person") == ["a spy"] and names_of_type(db, "Secret") == ["a clerk"]


def test_a_schema_kept_in_a_world_holds_for_what_is_in_that_world(tmp_path: Path) -> None:
    with worlddb.open(tmp_path / "store") as db:
        firm = db.create("Topic", "firm").ref
        schema = {name: db.create("Type", name, world=firm) for name in ("Asset", "Vehicle", "Lorry", "Van")}
        for narrow, wide in (("Vehicle", "Asset"), ("Lorry", "Vehicle"), ("Van", "Vehicle")):
            db.link(schema[narrow], "subtype_of", schema[wide])
        yard = db.create("Topic", "yard", world=firm).ref
        db.create("Lorry", "L1", world=yard)
        db.create("Van", "V1", world=yard)
        desk = db.create("Desk", "D1", world=yard)
        db.link(desk, "instance_of", schema["Asset"])
        assert names_of_type(db, "Vehicle", yard) == ["L1", "V1"]
        assert (
            names_of_type(db, "Asset", yard)
            == names_of_type(db, "Asset", firm)
            == names_of_type(db, "Asset")
            == ["L1", "V1", "D1"]
        )
        assert names_of_type(db, "Lorry", yard) == ["L1"]
        before = db.view()
        db.retire(schema["Van"])
        assert names_of_type(db, "Vehicle", yard) == ["L1"]
        assert [one.name for one in before.find(type="Vehicle", world=yard)] == ["L1", "V1"]


# -- against a model

PLACES = 5
KINDS = ("A", "B", "C")

placed = st.tuples(st.integers(0, PLACES), st.sampled_from(KINDS))


@given(
    st.lists(st.integers(0, 4), min_size=PLACES, max_size=PLACES),
    st.lists(placed, min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5),
    st.lists(placed, min_size=1, max_size=6),
)
def test_a_filter_by_type_sees_what_a_walk_over_everything_says(
    parents: list[int], types: list[tuple[int, str]], below: list[tuple[int, int]], things: list[tuple[int, str]]
) -> None:
    """Places form a tree; types and things lie in places. What is seen from each place is worked out from scratch."""
    up = [0, *(parent % (place + 1) for place, parent in enumerate(parents))]
    chain = [_upwards(up, place) for place in range(PLACES + 1)]
    with TemporaryDirectory() as folder, worlddb.open(Path(folder) / "store") as db:
        refs = [next(db.log(1, 1)).data["root"]]
        for place in range(1, PLACES + 1):
            refs.append(db.create("Place", f"p{place}", world=refs[up[place]]).ref)
        made = [db.create("Type", kind, world=refs[at], resolve=False).ref for at, kind in types]
        written = set()
        for narrow, wide in below:
            if max(narrow, wide) < len(made) and db.link(made[narrow], "subtype_of", made[wide]):
                written.add((narrow, wide))
        for number, (at, kind) in enumerate(things):
            db.create(kind, f"thing {number}", world=refs[at], resolve=False)
        for here in range(PLACES + 1):
            for kind in KINDS:
                names = _names(types, written, chain, here, kind)
                expected = [
                    f"thing {number}" for number, (at, is_a) in enumerate(things) if is_a in names and here in chain[at]
                ]
                assert names_of_type(db, kind, refs[here] if here else None) == expected
                event(f"types that pass: {len(names)}")


def _upwards(up: list[int], place: int) -> list[int]:
    """A place and those around it, from the inside out."""
    found = [place]
    while found[-1]:
        found.append(up[found[-1]])
    return found


def _names(
    types: list[tuple[int, str]], below: set[tuple[int, int]], chain: list[list[int]], here: int, kind: str
) -> set[str]:
    """The types that pass a filter: the nearest worlds for it, then all visible ones below."""
    steps = {
        number: 0 if here in chain[at] else chain[here].index(at)
        for number, (at, _) in enumerate(types)
        if here in chain[at] or at in chain[here]
    }
    standing = {number: steps[number] for number, (_, name) in enumerate(types) if name == kind and number in steps}
    reached = {number for number, distance in standing.items() if distance == min(standing.values())}
    for _ in types:
        reached |= {narrow for narrow, wide in below if wide in reached and narrow in steps}
    return {kind} | {types[number][1] for number in reached}
