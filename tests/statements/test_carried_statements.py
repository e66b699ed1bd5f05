"""Statements go along: into a fork, back by a merge, and with a bundle."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

import worlddb
from tests.support.bundling import frames_of, write_frames
from tests.support.model.stores import refusal
from worlddb import Database, Iri, Literal
from worlddb.log.model import bundle as fr

A, B, C = (Iri(f"https://a.example/{name}") for name in "abc")
P, Q = (Iri(f"https://a.example/{name}") for name in "pq")
SPRING, FALL = "2024-04-01", "2024-10-01"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with worlddb.open(tmp_path / "store", create=True, embedder=None, author="ann") as opened:
        yield opened


def _texts(db: Database, world: str, valid: str | None = None) -> list[str]:
    return sorted(map(str, db.view(valid=valid).statements(world)))


def _told(db: Database) -> str:
    """A world with a member, of which both state: on both axes of time, in a graph, and with blank nodes."""
    world = db.create("Place", "Bar").ref
    room = db.create("Place", "Room", world=world).ref
    db.state(world, [(A, P, B), (A, Q, Literal("thé", language="fr")), ("_:x", P, A)], source={"file": "menu"})
    db.unstate(world, [(A, P, B)])
    db.state(world, [(A, P, B, Q), (A, P, C)], valid_from="2020-01-01", valid_to="2030-01-01")
    db.unstate(world, [(A, P, C)], at="2025-01-01")
    db.state(room, [(B, P, A)])
    return str(world)


def test_a_fork_has_what_held_at_its_moment_and_goes_its_own_way(db: Database) -> None:
    world = _told(db)
    then = db.view().seq
    db.state(world, [(C, P, C)])
    made = db.fork(world, seq=then)
    assert made.notes == ()
    for valid in ("2019-01-01", "2021-01-01", "2026-01-01", None):
        assert _texts(db, made.ref, valid) == sorted(map(str, db.view(seq=then, valid=valid).statements(world)))
    [room] = db.view().find(world=made.ref)
    assert _texts(db, room.ref) == [f"{B} {P} {A} ."]
    [french] = db.view().statements(made.ref, predicate=Q)
    assert (french.source["file"], french.source["imported"]["seq"]) == ("menu", 4)
    db.unstate(made.ref, predicate=Q)
    assert len(_texts(db, world)) == 4
    assert db.verify(deep=True).ok
    root = db.view().hash()
    db.rebuild()
    assert db.view().hash() == root


def test_an_erased_world_takes_its_statements_in_forks_too(db: Database, tmp_path: Path) -> None:
    world = db.create("Place", "Bar").ref
    db.state(world, [(A, P, Literal("zanzibar"))])
    fork = db.fork(world).ref
    db.state(fork, [(A, Q, Literal("zanzibar"))])
    db.erase(world, reason="asked for", members=True)
    assert b"zanzibar" not in b"".join(file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())
    assert db.view().count_statements() == 0
    assert db.merge(fork).changes == ()
    assert db.verify(deep=True).ok


def test_a_merge_brings_what_only_the_fork_changed_and_asks_about_the_rest(db: Database) -> None:
    world = db.create("Place", "Bar").ref
    db.state(world, [(A, P, B), (A, P, C), (B, P, C), (C, P, C)], valid_from=SPRING)
    fork = db.fork(world).ref
    db.unstate(fork, [(A, P, B)], at=FALL)
    db.state(fork, [(A, Q, "_:x")])
    db.create("Place", "Room", world=fork)
    [room] = db.view().find(world=fork)
    db.state(room.ref, [(B, Q, C)], valid_from=SPRING, valid_to=FALL)
    db.unstate(fork, [(B, P, C)])
    db.unstate(world, [(B, P, C)], at=FALL)
    db.unstate(world, [(C, P, C)])
    plan = db.merge(fork, plan=True)
    [conflict] = plan.undecided
    line = f"{B} {P} {C} ."
    assert (conflict.what, conflict.where, conflict.theirs) == ("statement", line, "not stated")
    assert db.merge(fork).receipt is None
    done = db.merge(fork, on_conflict="theirs")
    assert sorted(change.what for change in done.changes) == ["create", "state", "state", "state", "unstate"]
    assert [len(_texts(db, world, valid)) for valid in (SPRING, FALL, None)] == [2, 1, 2]
    [room] = db.view().find(world=world)
    assert _texts(db, room.ref, "2024-05-01") == [f"{B} {Q} {C} ."] and _texts(db, room.ref) == []
    again = db.merge(fork)
    assert (again.changes, again.conflicts, again.receipt) == ((), (), None)
    assert db.verify(deep=True).ok


def test_a_merge_never_undoes_an_erasure(db: Database) -> None:
    world = db.create("Place", "Bar").ref
    room = db.create("Place", "Room", world=world).ref
    db.state(room, [(A, P, Literal("zanzibar"))])
    fork = db.fork(world).ref
    [copy] = db.view().find(world=fork)
    db.state(copy.ref, [(A, Q, B)])
    db.erase(copy.ref, reason="asked for")
    assert [change.what for change in db.merge(fork).changes] == []
    assert _texts(db, room) == [f'{A} {P} "zanzibar" .']
    db.erase(room, reason="asked for")
    assert db.merge(fork).changes == ()
    assert db.view().count_statements() == 0


def test_a_bundle_has_the_statements_and_an_import_twice_is_one(db: Database, tmp_path: Path) -> None:
    world = _told(db)
    file = tmp_path / "bar.bundle"
    db.export(world, file)
    assert worlddb.check_bundle(file).world == world
    with worlddb.open(tmp_path / "other", create=True, embedder=None) as other:
        assert other.import_bundle(file).notes == ()
        assert other.view().hash(world) == db.view().hash(world)
        for valid in ("2019-01-01", "2021-01-01", "2026-01-01", None):
            assert _texts(other, world, valid) == _texts(db, world, valid)
        [french] = other.view().statements(world, predicate=Q)
        assert (french.source["file"], french.source["imported"]["author"]) == ("menu", "ann")
        head = other.head().seq
        other.import_bundle(file)
        assert other.head().seq == head
        other.unstate(world, predicate=Q)
        db.state(world, [(C, Q, C), (A, Q, Literal("thé", language="fr"))])
        db.export(world, tmp_path / "later.bundle")
        other.import_bundle(tmp_path / "later.bundle")
        assert _texts(other, world) == [each for each in _texts(db, world) if "thé" not in each]
        other.export(world, tmp_path / "back.bundle")
        assert other.verify(deep=True).ok
    head = db.head().seq
    db.import_bundle(tmp_path / "back.bundle")
    assert db.head().seq == head


@pytest.mark.parametrize("turn", range(4))
def test_what_its_store_takes_back_is_taken_back_by_an_import_whatever_else_was_stated(
    db: Database, tmp_path: Path, seed: int, turn: int
) -> None:
    random, world, file = Random(f"{seed} {turn}"), db.create("Place", "Bar").ref, tmp_path / "bar.bundle"
    quads, years = (
        [(A, P, B), (A, P, C), (B, P, Literal("thé", language="fr"))],
        [f"{year}-01-01" for year in range(2020, 2026)],
    )
    mine = [(C, Q, C)]
    with worlddb.open(tmp_path / "other", create=True, embedder=None) as other:
        for _ in range(6):
            for _ in range(random.randrange(4)):
                begins = random.randrange(5)
                ends = random.choice([None, *years[begins + 1 :]])
                if random.random() < 0.5:
                    db.state(world, random.sample(quads, 2), valid_from=years[begins], valid_to=ends)
                else:
                    db.unstate(world, [random.choice(quads)], at=random.choice([None, *years]))
            db.export(world, file, overwrite=True)
            other.import_bundle(file)
            other.state(world, mine, valid_from=years[0])
            for valid in (*years, None):
                expected = [*_texts(db, world, valid), f"{C} {Q} {C} ."]
                assert _texts(other, world, valid) == sorted(expected)
            head = other.head().seq
            other.import_bundle(file)
            assert other.head().seq == head, "a second import changes nothing"
        assert other.verify(deep=True).ok
        copy = tmp_path / "copy"
        assert other.replay(copy).matches_recorded


def test_an_import_takes_back_nothing_that_its_store_did_not_say_by_then(db: Database, tmp_path: Path) -> None:
    world = db.create("Place", "Bar").ref
    db.state(world, [(A, P, B), (A, P, C)], valid_from=SPRING)
    db.export(world, tmp_path / "early.bundle")
    db.unstate(world, [(A, P, B), (A, P, C)], at=FALL)
    db.export(world, tmp_path / "gone.bundle")
    db.state(world, [(B, P, C)], valid_from=SPRING)
    db.export(world, tmp_path / "late.bundle")
    with worlddb.open(tmp_path / "other", create=True, embedder=None) as other:
        other.import_bundle(tmp_path / "early.bundle")
        other.unstate(world, [(A, P, C)], at=FALL)
        other.state(world, [(A, P, C)], valid_from=FALL)  # Said here, of times at which it is not said there.
        other.import_bundle(tmp_path / "late.bundle")
        assert _texts(other, world) == [f"{A} {P} {C} .", f"{B} {P} {C} ."]
        before = other.head().seq
        for older in ("early", "gone", "late"):
            other.import_bundle(tmp_path / f"{older}.bundle")
            assert other.head().seq == before, "what is older changes nothing"
        other.export(world, tmp_path / "back.bundle")
    head = db.head().seq
    db.import_bundle(tmp_path / "back.bundle")
    assert _texts(db, world) == [f"{B} {P} {C} ."] and db.head().seq == head, "it was taken back here"


def test_a_bundle_of_an_erased_world_has_what_stands_for_its_statements(db: Database, tmp_path: Path) -> None:
    world = _told(db)
    db.erase(world, reason="asked for", members=False)
    file = tmp_path / "bar.bundle"
    db.export(world, file)
    assert "thé".encode() not in file.read_bytes()
    with worlddb.open(tmp_path / "other", create=True, embedder=None) as other:
        other.import_bundle(file)
        assert other.view().hash(world) == db.view().hash(world)
        assert other.view().count_statements(world) == 0
        assert other.verify(deep=True).ok


def test_a_changed_statement_is_caught_and_its_world_is_named(db: Database, tmp_path: Path) -> None:
    world = _told(db)
    file = tmp_path / "bar.bundle"
    db.export(world, file, proof=False)
    frames = frames_of(file)
    for kind, changed in (
        (fr.StatedFrame, lambda frame: {"quads": [frame.quads[2], *frame.quads[1:]]}),
        (fr.TermsFrame, lambda frame: {"places": [place + 1 for place in frame.places]}),
        (fr.StatedFrame, lambda frame: {"quads": frame.quads * 2}),
        (fr.StatedFrame, lambda frame: {"valid_to": frame.valid_from}),
        (fr.StatedFrame, lambda frame: {"quads": [99, *frame.quads[1:]]}),
        (fr.StatedFrame, lambda frame: {"quads": frame.quads[1:]}),
    ):
        at = max(at for at, frame in enumerate(frames) if type(frame) is kind)
        tampered = [*frames[:at], replace(frames[at], **changed(frames[at])), *frames[at + 1 :]]
        with pytest.raises(worlddb.InvalidBundle) as caught:
            worlddb.check_bundle(write_frames(tmp_path / "tampered.bundle", tampered))
        assert world[:8] in caught.value.message or kind is fr.TermsFrame
    assert worlddb.check_bundle(write_frames(tmp_path / "same.bundle", frames)).worlds == 2


def test_a_bundle_states_nothing_in_a_world_that_is_not_its_own(db: Database, tmp_path: Path) -> None:
    world = _told(db)
    db.export(world, tmp_path / "early.bundle")
    with worlddb.open(tmp_path / "other", create=True, embedder=None) as other:
        other.import_bundle(tmp_path / "early.bundle")
        other.revise(world, content="told here alone")
    db.state(world, [(C, P, C)])
    db.erase(world, reason="asked for", members=False)
    db.export(world, tmp_path / "late.bundle")
    with worlddb.open(tmp_path / "other", embedder=None) as other:
        assert refusal(other.import_bundle(tmp_path / "late.bundle")) == "reaches_outside"
        told = other.import_plan(tmp_path / "late.bundle").outside
        assert [(each.kind, each.world) for each in told] == [("states", world)]
