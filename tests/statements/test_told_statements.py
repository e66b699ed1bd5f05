"""A comparison names the statements that differ; blame and the log say who stated what."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import worlddb
from worlddb import Database, Difference, Iri, Literal

A, B, C = (Iri(f"https://a.example/{name}") for name in "abc")
P = Iri("https://a.example/p")
SPRING, FALL = "2024-04-01", "2024-10-01"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", create=True, embedder=None, author="ann") as opened:
        yield opened


def _named(found: Difference, world: str) -> list[tuple[str, str]]:
    """The statements of a world that a comparison names."""
    details = [each for change in found.worlds if change.ref == world for each in change.changes]
    assert {each.kind for each in details} <= {"statements"}
    return [(each.a, each.b) for each in details]


def test_two_stores_and_two_moments_differ_in_named_statements(db: Database, tmp_path: Path) -> None:
    world = db.create("Place", "Bar").ref
    db.state(world, [(A, P, B), (A, P, C)], valid_from=SPRING)
    before = db.view().seq
    db.backup(tmp_path / "copy")
    db.unstate(world, [(A, P, B)])
    db.state(world, [(B, P, Literal("tea"))], valid_from=SPRING)
    db.unstate(world, [(A, P, C)], at=FALL)
    begins, ends = f"from {SPRING}T00:00:00Z", f"to {FALL}T00:00:00Z"
    told = [
        (f"{A} {P} {B} . ({begins})", ""),
        (f"{A} {P} {C} . ({begins})", f"{A} {P} {C} . ({begins} {ends})"),
        ("", f'{B} {P} "tea" . ({begins})'),
    ]
    store = tmp_path / "store"
    now = db.view().seq
    db.close()
    assert _named(worlddb.diff(tmp_path / "copy", store), world) == told
    assert _named(worlddb.diff(store, store, seq_a=before), world) == told
    assert _named(worlddb.diff(store, store, seq_a=now, seq_b=before), world) == [each[::-1] for each in told]
    assert worlddb.diff(store, store).equal


def test_a_window_that_differs_alone_is_named(db: Database, tmp_path: Path) -> None:
    world = db.create("Place", "Bar").ref
    db.state(world, [(A, P, B)], valid_from=SPRING)
    before = db.view().seq
    db.unstate(world, at=FALL)
    db.close()
    [(one, other)] = _named(worlddb.diff(tmp_path / "store", tmp_path / "store", seq_a=before), world)
    assert (FALL in one, FALL in other) == (False, True)


def test_a_bundle_and_a_store_differ_in_named_statements(db: Database, tmp_path: Path) -> None:
    world = db.create("Place", "Bar").ref
    db.state(world, [(A, P, B)], valid_from=SPRING)
    db.export(world, tmp_path / "bar.bundle")
    assert worlddb.diff(tmp_path / "bar.bundle", tmp_path / "store").equal
    db.state(world, [(A, P, C)], valid_from=SPRING)
    db.close()
    [(one, other)] = _named(worlddb.diff(tmp_path / "bar.bundle", tmp_path / "store"), world)
    assert one == "" and other.startswith(f"{A} {P} {C} .")


def test_what_was_erased_is_named_by_what_is_left_of_it(db: Database, tmp_path: Path) -> None:
    world = db.create("Place", "Bar").ref
    before = db.view().seq
    db.state(world, [(A, P, Literal("zanzibar"))])
    db.erase(world, reason="asked for", members=True)
    db.close()
    found = worlddb.diff(tmp_path / "store", tmp_path / "store", seq_a=before)
    told = [each.b for change in found.worlds for each in change.changes if each.kind == "statements"]
    assert len(told) == 1 and "its text was erased" in told[0] and "zanzibar" not in str(found)


def test_blame_and_the_log_name_the_authors_of_statements(db: Database, tmp_path: Path) -> None:
    world = db.create("Place", "Bar").ref
    db.state(world, [(A, P, B), (A, P, "_:x")])
    db.close()
    with worlddb.open(tmp_path / "store", embedder=None, author="bob") as other:
        other.state(world, [(B, P, C)])
        other.state(world, [(C, P, C)])
        other.unstate(world, [(C, P, C)])
        fields = [each for each in other.view().blame(world).fields if each.field == "statements"]
        assert [(each.value, each.author, each.seq) for each in fields] == [("2", "ann", 3), ("1", "bob", 4)]
        told = [entry.text for entry in other.view().log(ref=world) if entry.event == "stated"]
    assert told[1:] == [f"{B} {P} {C} .", f"{C} {P} {C} ."]
    first = told[0].splitlines()
    assert first[0] == f"{A} {P} {B} ." and first[1].startswith(f"{A} {P} _:")
